//! Members of collectives: `{"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}`, as in astra-sim's `--comm-group-configuration` (`Workload.cc`, commit
//! 518bd51). Group `0`, or no group, means all ranks.

use crate::error::ImportError;
use crate::source::{Head, Source};
use std::collections::BTreeMap;

/// Returns whether a file has this kind: an object of lists of numbers, and nothing else.
pub fn recognise(head: &Head) -> bool {
    if head.whole {
        return parsed(&head.octets).is_ok_and(|groups| !groups.is_empty());
    }
    // The first group, as far as the head contains it: quotes, a name, quotes, a colon, a bracket, a digit.
    let text = String::from_utf8_lossy(&head.octets);
    let Some((name, list)) = text.trim_start().strip_prefix('{').and_then(|rest| rest.split_once(':')) else {
        return false;
    };
    let name = name.trim();
    let digit = |list: &str| list.trim_start().starts_with(|c: char| c.is_ascii_digit());
    name.len() > 2
        && name.starts_with('"')
        && name.ends_with('"')
        && list.trim_start().strip_prefix('[').is_some_and(digit)
}

fn parsed(octets: &[u8]) -> Result<BTreeMap<String, Vec<u32>>, serde_json::Error> {
    serde_json::from_slice(octets)
}

/// The members of each group, by its name, among `ranks` ranks.
pub fn read(source: &Source, ranks: u32) -> Result<BTreeMap<String, Vec<u32>>, ImportError> {
    let groups = parsed(&source.read()?).map_err(|error| {
        let hint = "groups are written as {\"1\": [0, 1], \"2\": [2, 3]}";
        source.error(error.to_string()).line(error.line() as u64).hint(hint)
    })?;
    for (name, members) in &groups {
        let mut sorted = members.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(source.error(format!("group {name} has rank {} twice", pair[0])));
        }
        if let Some(rank) = sorted.last().filter(|rank| **rank >= ranks) {
            return Err(source.error(format!("group {name} has rank {rank}, and there are {ranks} traces")));
        }
        if sorted.is_empty() {
            return Err(source.error(format!("group {name} has no members")));
        }
    }
    Ok(groups)
}
