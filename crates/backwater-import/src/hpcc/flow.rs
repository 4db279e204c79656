//! A list of flows.
//!
//! ```text
//! file = count { src dst pg dport bytes start }    (HPCC)
//!      | count { src dst pg bytes start }          (conweave-ns3)
//! ```
//!
//! Only `count` flows are read; the rest is ignored. `pg` is the priority group, `start` is in seconds.

use crate::error::ImportError;
use crate::graph::quantity;
use crate::note::Notes;
use crate::source::Head;
use crate::units::MOST_OCTETS;
use crate::words::Words;

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its line.
    pub line: u64,
    /// Number of the sending node.
    pub src: u32,
    /// Number of the receiving node.
    pub dst: u32,
    /// Priority group, 0 to 7.
    pub class: u8,
    /// Payload, at least 1 B.
    pub bytes: u64,
    /// Start, in ps.
    pub start_ps: u64,
}

/// A list of flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// In the order of the file.
    pub rows: Vec<Row>,
    /// True if there are destination ports.
    pub ports: bool,
}

/// Latest start: two hours, in ps.
const LATEST_PS: u64 = 7_200_000_000_000_000;

/// Returns whether a file is a list of flows: a count, and then lines of five or six numbers; only the last may be a fraction.
pub fn recognise(head: &Head) -> bool {
    let lines = head.lines();
    let mut lines = lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(|w| !w.is_empty());
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else { return false };
    let flow = |words: &[&str]| {
        let [whole @ .., start] = words else { return false };
        matches!(words.len(), 5 | 6)
            && whole.iter().all(|word| word.parse::<u64>().is_ok())
            && quantity::decimal(start, 12).is_some()
    };
    matches!(first.as_slice(), [count] if count.parse::<u64>().is_ok()) && flow(&second)
}

/// Reads a list of flows; messages call it `file`.
pub fn parse(file: &str, text: &str, notes: &mut Notes) -> Result<List, ImportError> {
    let mut words = Words::new(file, text);
    let count: u64 = words.number("a number of flows")?;
    let mut lines = text.lines().map(|line| line.split_whitespace().count()).filter(|count| *count > 0);
    let ports = lines.nth(1).is_none_or(|columns| columns != 5);
    let mut list = List { rows: Vec::new(), ports };
    for _ in 0..count {
        let src = words.number("the number of a sender")?;
        let line = words.line();
        let dst = words.number("the number of a receiver")?;
        let class: u8 = words.number("a priority group")?;
        if class > 7 {
            return Err(words.error(words.line(), format!("priority group {class} is none of 0 to 7")));
        }
        if ports {
            words.number::<u32>("a destination port")?;
        }
        let bytes: u64 = words.number("a number of octets")?;
        if bytes > MOST_OCTETS {
            return Err(words.error(words.line(), format!("{bytes} B are more than a flow may have, {MOST_OCTETS}")));
        }
        let start = words.word("a start in seconds")?;
        let start_ps = quantity::decimal(start.text, 12).filter(|ps| *ps <= LATEST_PS);
        let Some(start_ps) = start_ps else {
            let hint = "seconds, as in 2.000001, two hours at most";
            return Err(words.error(start.line, "is not a start").value(start.text).hint(hint));
        };
        if src == dst {
            return Err(words.error(line, format!("node {src} sends to itself")));
        }
        if bytes == 0 {
            notes.differs(file, Some(line), "a flow of 0 B: here it has 1 B, as that code has it");
        }
        list.rows.push(Row { line, src, dst, class, bytes: bytes.max(1), start_ps });
    }
    if let Some(word) = words.next_word() {
        let text = format!("what follows the {count} flows that the first line counts, as that code does");
        notes.ignored(file, Some(word.line), text);
    }
    Ok(list)
}
