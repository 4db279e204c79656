//! A topology: nodes, switches and links.
//!
//! ```text
//! file = nodes switches links                  (HPCC, conweave-ns3)
//!      | nodes switches tors links [ Gbps Gbps ]   (ns3-datacenter; tors are among the switches)
//!        { switch } { a b rate delay loss }
//! ```
//!
//! Words are separated by any blanks, as read by C++ with `>>`; text after the last link is not read. A host may have several links, each a
//! separate device: `GetNicIdxOfQp` of `rdma-hw.cc` hashes a flow over those towards its receiver. Read from `third.cc` of HPCC (commit
//! 9f4be2a), `network-load-balance.cc` of conweave-ns3 (236a801) and the examples of ns3-datacenter.

use crate::error::ImportError;
use crate::graph::{Graph, Link, MOST_LINKS, quantity};
use crate::note::Notes;
use crate::source::Head;
use crate::words::Words;
use std::collections::HashMap;

/// Most nodes.
const MOST_NODES: u32 = 1_000_000;

/// Returns whether a file is a topology: three counts, or four, or four and two rates, as many switches, and then a link.
pub fn recognise(head: &Head) -> bool {
    let lines = head.lines();
    let Some(first) = lines.iter().position(|line| !line.trim().is_empty()) else { return false };
    let counts: Vec<&str> = lines[first].split_whitespace().collect();
    let whole = |word: &&str| word.parse::<u32>().is_ok();
    if !matches!(counts.len(), 3 | 4 | 6) || !counts.iter().take(4).all(whole) {
        return false;
    }
    if counts.len() == 6 && !counts.iter().skip(4).all(|word| word.parse::<f64>().is_ok()) {
        return false;
    }
    let switches = match counts.as_slice() {
        [_, switches, _] => switches.parse().ok(),
        [_, a, b, ..] => a.parse().ok().max(b.parse().ok()),
        _ => None,
    };
    let Some(switches) = switches.map(|count: u32| count as usize) else { return false };
    let mut rest = lines[first + 1..].iter().flat_map(|line| line.split_whitespace());
    if rest.by_ref().take(switches).filter(whole).count() < switches {
        // The numbers of the switches may continue beyond the head.
        return !head.whole && rest.next().is_none();
    }
    let link: Vec<&str> = rest.take(5).collect();
    let [a, b, rate, delay, loss] = link.as_slice() else { return false };
    whole(a)
        && whole(b)
        && quantity::rate(rate).is_some()
        && quantity::time(delay).is_some()
        && quantity::share(loss).is_some()
}

/// Reads a topology; messages call it `file`.
pub fn parse(file: &str, text: &str, notes: &mut Notes) -> Result<Graph, ImportError> {
    let mut words = Words::new(file, text);
    // The number of words in the first line distinguishes the three forms.
    let head = text.lines().map(|line| line.split_whitespace().count()).find(|count| *count > 0).unwrap_or(0);
    let nodes: u32 = words.number("a number of nodes")?;
    let line = words.line();
    let mut switches: u32 = words.number("a number of switches")?;
    if matches!(head, 4 | 6) {
        // Both orders occur; ToRs are switches, so their number is not larger.
        switches = switches.max(words.number("a number of ToRs")?);
        notes.ignored(
            file,
            Some(line),
            "of switches and tors of the first line the smaller one: tors are among the switches",
        );
    }
    let links: u32 = words.number("a number of links")?;
    if head == 6 {
        for _ in 0..2 {
            let word = words.word("a capacity")?;
            notes.ignored(file, Some(word.line), "the capacities of the first line: each link has its own");
        }
    }
    if nodes > MOST_NODES {
        return Err(words.error(line, format!("{nodes} nodes are more than {MOST_NODES}")));
    }
    // A link has five words, and a node at least one link: larger counts are wrong.
    if u64::from(nodes.max(links)) * 4 > text.len() as u64 {
        return Err(words.error(line, format!("says {nodes} nodes and {links} links, and is too short for that")));
    }
    if switches >= nodes {
        return Err(words.error(line, format!("{switches} of {nodes} nodes are switches: there is no host")));
    }
    let mut graph = Graph::new(nodes);
    graph.read_switches(switches, &mut words)?;
    graph.read_links(links, &mut words, notes)?;
    if let Some(word) = words.next_word() {
        notes.ignored(file, Some(word.line), format!("what follows the {links} links that the first line counts"));
    }
    links_of_hosts(&graph, &words)?;
    parallel(&graph, file, notes);
    Ok(graph)
}

/// Checks that each host has a link, and not too many.
fn links_of_hosts(graph: &Graph, words: &Words<'_>) -> Result<(), ImportError> {
    let mut links = vec![0u32; graph.switch.len()];
    for link in &graph.links {
        for node in [link.a, link.b] {
            let Some(count) = links.get_mut(node as usize).filter(|_| !graph.is_switch(node)) else { continue };
            *count += 1;
            if *count > MOST_LINKS {
                return Err(words.error(link.line, format!("host {node} has more than {MOST_LINKS} links")));
            }
        }
    }
    match (0u32..).zip(&links).find(|(node, count)| **count == 0 && !graph.is_switch(*node)) {
        Some((node, _)) => Err(words.error(1, format!("host {node} has no link"))),
        None => Ok(()),
    }
}

/// Notes parallel links. `nbr2if` of that code has one entry for two nodes, which the last link overwrites.
fn parallel(graph: &Graph, file: &str, notes: &mut Notes) {
    let pair = |link: &Link| (link.a.min(link.b), link.a.max(link.b));
    let last: HashMap<(u32, u32), u64> = graph.links.iter().map(|link| (pair(link), link.line)).collect();
    for link in graph.links.iter().filter(|link| last.get(&pair(link)).is_some_and(|line| *line > link.line)) {
        let text =
            "a link beside a later one of the same two nodes: that code sends by the last of them alone; here by all";
        notes.differs(file, Some(link.line), text);
    }
}
