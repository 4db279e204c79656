//! Jobs with a table of operations.

use super::super::case::Case;
use super::workload::Network;
use serde_json::{Map, Value as Json, json};
use std::fmt::Write as _;

impl Network<'_> {
    /// A job whose operations wait for some of those before them.
    pub(super) fn graph(&mut self, case: &mut Case, number: u64) -> Map<String, Json> {
        let (mut job, ranks) = self.members(number);
        let file = format!("operations{number}.csv");
        case.files.insert(file.clone(), self.table(ranks));
        job.insert("operations".into(), json!(file));
        job
    }

    fn table(&mut self, ranks: u64) -> String {
        let dice = &mut *self.dice;
        let mut text = String::from("id,rank,kind,peer,bytes,time,after,after_ack,needs,start,class,label,stream\n");
        let (mut all, mut sends): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
        for n in 0..dice.between(1, 30) {
            let id = n * 3 + dice.between(0, 2);
            let rank = dice.between(0, ranks - 1);
            let mut some = |of: &[u64]| match of.is_empty() || dice.chance(0.4) {
                true => Vec::new(),
                false => dice.some(&of[of.len().saturating_sub(6)..], 0.2),
            };
            let (after, after_ack) = (some(&all), some(&sends));
            let waits = (after.len() + after_ack.len()) as u64;
            let named = |ids: &[u64]| ids.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
            let needs = if waits > 0 && dice.chance(0.2) { dice.between(1, waits).to_string() } else { String::new() };
            let start = if dice.chance(0.1) { dice.between(0, 20_000_000).to_string() } else { String::new() };
            let label = dice.pick(&["", "a", "b"]);
            let (after, after_ack) = (named(&after), named(&after_ack));
            let waits = format!("{after},{after_ack},{needs},{start}");
            let _ = if ranks > 1 && dice.chance(0.6) {
                let peer = (rank + dice.between(1, ranks - 1)) % ranks;
                let class = if dice.chance(0.1) { dice.between(0, 7).to_string() } else { String::new() };
                let bytes = dice.log_whole(1, 100_000);
                sends.push(id);
                writeln!(text, "{id},{rank},send,{peer},{bytes},,{waits},{class},{label},")
            } else {
                let time = dice.one(&[0, 0, 1]) * dice.between(0, 5_000_000);
                let stream = dice.pick(&["", "0", "1"]);
                writeln!(text, "{id},{rank},compute,,,{time},{waits},,{label},{stream}")
            };
            all.push(id);
        }
        text
    }
}
