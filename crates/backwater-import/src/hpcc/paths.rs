//! The paths of flows. The other files of that code do not determine them, since its choice among equal paths depends on memory addresses
//! of the program.
//!
//! ```text
//! file = { flow [ sport [ dport ] ] "data" { node } [ "ack" { node } ] }      (a line each)
//! ```
//!
//! `flow` counts the flows of the list from 0. The path of the data leads from sender to receiver, that of acknowledgements back; both name
//! all nodes.

use crate::error::ImportError;
use crate::note::Notes;
use crate::source::Head;
use std::collections::BTreeMap;

/// The paths of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// Its line.
    pub line: u64,
    /// Nodes from sender to receiver.
    pub data: Vec<u32>,
    /// Nodes from receiver to sender; absent: not given.
    pub ack: Option<Vec<u32>>,
}

/// Returns whether a file lists paths: a number, perhaps others, and `data`.
pub fn recognise(head: &Head) -> bool {
    let lines = head.lines();
    let Some(line) = lines.iter().find(|line| !line.trim().is_empty()) else { return false };
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(at) = words.iter().position(|word| *word == "data") else { return false };
    (1..=3).contains(&at) && words.iter().all(|word| matches!(*word, "data" | "ack") || word.parse::<u32>().is_ok())
}

/// Reads paths, by flow; messages call the file `file`.
pub fn parse(file: &str, text: &str, notes: &mut Notes) -> Result<BTreeMap<u64, Ways>, ImportError> {
    let mut all: BTreeMap<u64, Ways> = BTreeMap::new();
    for (number, line) in (1u64..).zip(text.lines()) {
        let fail = |reason: String| ImportError::new(reason).file(file).line(number);
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first() else { continue };
        let flow: u64 = first.parse().map_err(|_| fail("is not the number of a flow".into()).value(first))?;
        let nodes = |words: &[&str]| -> Result<Vec<u32>, ImportError> {
            words.iter().map(|word| word.parse().map_err(|_| fail("is no node".into()).value(word))).collect()
        };
        let Some(data) = words.iter().position(|word| *word == "data").filter(|at| *at <= 3) else {
            return Err(fail("the word `data` is missing".into()).hint("as in: 0 data 8 129 148 128 0"));
        };
        if data > 1 {
            notes.ignored(file, Some(number), "sport and dport of a path: the number of a flow says which it is");
        }
        let ack = words.iter().position(|word| *word == "ack").filter(|at| *at > data);
        let ways = Ways {
            line: number,
            data: nodes(&words[data + 1..ack.unwrap_or(words.len())])?,
            ack: ack.map(|at| nodes(&words[at + 1..])).transpose()?,
        };
        if all.insert(flow, ways).is_some() {
            return Err(fail(format!("flow {flow} stands twice")));
        }
    }
    Ok(all)
}
