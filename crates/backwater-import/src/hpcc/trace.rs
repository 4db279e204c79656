//! A list of the nodes whose packets that code writes into its trace: a count and as many numbers.

use crate::error::ImportError;
use crate::source::Head;
use crate::words::Words;

/// Returns whether a file is such a list: a count and as many numbers, and nothing else.
pub fn recognise(head: &Head) -> bool {
    let lines = head.lines();
    let mut words = lines.iter().flat_map(|line| line.split_whitespace());
    let Some(count) = words.next().and_then(|word| word.parse::<usize>().ok()) else { return false };
    let mut found = 0;
    let whole = words.all(|word| {
        found += 1;
        word.parse::<u32>().is_ok()
    });
    // Two columns with 100 at the end of the second are a distribution.
    head.whole && whole && found == count && !super::cdf::recognise(head)
}

/// Reads a list of nodes; messages call it `file`.
pub fn parse(file: &str, text: &str) -> Result<Vec<u32>, ImportError> {
    let mut words = Words::new(file, text);
    let count: u64 = words.number("a number of nodes")?;
    let mut nodes = Vec::new();
    for _ in 0..count {
        nodes.push(words.number("the number of a node")?);
    }
    Ok(nodes)
}
