//! A topology.
//!
//! ```text
//! file = nodes gpus_per_server nvswitches switches links gpu { nvswitch } { switch } { a b rate delay loss }
//! ```
//!
//! All that is no switch is a GPU. GPUs have links to the NVLink switches of their server and to the network.

use crate::error::ImportError;
use crate::graph::{Graph, Link};
use crate::note::Notes;
use crate::source::Head;
use crate::units::rate;
use crate::words::Words;

/// What a file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Servers {
    /// GPUs and the switches of the network, or, where GPUs have no other link, the NVLink switches.
    pub graph: Graph,
    /// GPUs.
    pub gpus: u32,
    /// GPUs of a server.
    pub per_server: u32,
    /// Whether the GPUs of a server are joined by NVLink, beside the network.
    pub by_nvlink: bool,
}

/// Whether a file is a topology: five counts and the name of a GPU, and numbers below.
pub fn recognise(head: &Head) -> bool {
    let lines = head.lines();
    let mut lines = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| line.split_whitespace());
    let Some(words) = lines.next().map(Iterator::collect::<Vec<&str>>) else { return false };
    let whole = |word: &str| word.parse::<u32>().is_ok();
    let [counts @ .., gpu] = words.as_slice() else { return false };
    counts.len() == 5
        && counts.iter().all(|word| whole(word))
        && gpu.parse::<f64>().is_err()
        && lines.next().is_some_and(|mut words| words.all(whole))
}

/// Reads a topology; messages call it `file`.
pub fn parse(file: &str, text: &str, notes: &mut Notes) -> Result<Servers, ImportError> {
    let mut words = Words::new(file, text);
    let nodes: u32 = words.number("a number of nodes")?;
    let line = words.line();
    let per_server: u32 = words.number("a number of GPUs of a server")?;
    let nvlink: u32 = words.number("a number of NVLink switches")?;
    let switches: u32 = words.number("a number of switches")?;
    let links: u32 = words.number("a number of links")?;
    words.word("the name of a GPU")?;
    let fail = |reason: String| Err(ImportError::new(reason).file(file).line(line));
    // A link has five words, and a node at least one link: what says more lies.
    if u64::from(nodes.max(links)) * 4 > text.len() as u64 {
        return fail(format!("says {nodes} nodes and {links} links, and is too short for that"));
    }
    let Some(gpus) = nodes.checked_sub(nvlink.saturating_add(switches)).filter(|gpus| *gpus > 0) else {
        return fail(format!("{nvlink} and {switches} of {nodes} nodes are switches: there is no GPU"));
    };
    if per_server == 0 || !gpus.is_multiple_of(per_server) {
        return fail(format!("{gpus} GPUs do not fill servers of {per_server}"));
    }
    let mut graph = Graph::new(nodes);
    graph.read_switches(nvlink, &mut words)?;
    let is_nvlink = graph.switch.clone();
    graph.read_switches(switches, &mut words)?;
    graph.read_links(links, &mut words)?;
    if let Some(word) = words.next_word() {
        notes.ignored(file, Some(word.line), format!("what follows the {links} links that the first line counts"));
    }
    let inside = |link: &Link| [link.a, link.b].iter().any(|node| is_nvlink.get(*node as usize) == Some(&true));
    let outside: Vec<Link> = graph.links.iter().filter(|link| !inside(link)).copied().collect();
    let by_nvlink = !outside.is_empty() && outside.len() < graph.links.len();
    if by_nvlink {
        if let Some(link) = graph.links.iter().find(|link| inside(link)) {
            let text = format!(
                "NVLink, {} a GPU: transfers within a server take no time here, and all others use the network",
                rate(link.bps)
            );
            notes.differs(file, Some(link.line), text);
        }
        graph.links = outside;
        graph = without(&graph, &is_nvlink);
    }
    if let Some(link) = graph.links.iter().find(|link| link.loss > 0.0) {
        notes.ignored(file, Some(link.line), "the share of lost frames of links: `[[fault]]` can have it");
    }
    one_link_each(file, &graph)?;
    Ok(Servers { graph, gpus, per_server, by_nvlink })
}

/// The graph without some of its nodes, which have no links; the others are numbered anew.
fn without(graph: &Graph, left_out: &[bool]) -> Graph {
    let mut number = 0;
    let numbers: Vec<u32> = left_out
        .iter()
        .map(|out| {
            number += u32::from(!out);
            number.saturating_sub(1)
        })
        .collect();
    let of = |node: u32| numbers.get(node as usize).copied().unwrap_or(node);
    let kept = graph.switch.iter().zip(left_out).filter(|(_, out)| !**out);
    let links = graph.links.iter().map(|link| Link { a: of(link.a), b: of(link.b), ..*link });
    Graph { switch: kept.map(|(switch, _)| *switch).collect(), links: links.collect() }
}

/// A GPU has one link to the network.
fn one_link_each(file: &str, graph: &Graph) -> Result<(), ImportError> {
    let mut links = vec![0u32; graph.switch.len()];
    let fail = |line: u64, reason: String| ImportError::new(reason).file(file).line(line);
    for link in &graph.links {
        if !graph.is_switch(link.a) && !graph.is_switch(link.b) {
            return Err(fail(link.line, format!("a link between the GPUs {} and {}", link.a, link.b)));
        }
        for node in [link.a, link.b] {
            let Some(count) = links.get_mut(node as usize).filter(|_| !graph.is_switch(node)) else { continue };
            *count += 1;
            if *count > 1 {
                let hint = "leave one link of each GPU, with the rate of them all; or take a fabric of yours with --fabric FILE";
                return Err(fail(link.line, format!("GPU {node} has several links to the network")).hint(hint));
            }
        }
    }
    match (0u32..).zip(&links).find(|(node, count)| **count == 0 && !graph.is_switch(*node)) {
        Some((node, _)) => Err(fail(1, format!("GPU {node} has no link to the network"))),
        None => Ok(()),
    }
}
