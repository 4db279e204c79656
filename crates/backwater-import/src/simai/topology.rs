//! A topology.
//!
//! ```text
//! file = nodes gpus_per_server nvswitches switches links gpu { nvswitch } { switch } { a b rate delay loss }
//! ```
//!
//! All nodes except switches are GPUs. GPUs have links to the NVLink switches of their server and to the network, perhaps several.

use crate::error::ImportError;
use crate::graph::nvlink::{NVLINK, two_ways};
use crate::graph::{Graph, Link, MOST_LINKS};
use crate::note::Notes;
use crate::source::Head;
use crate::words::Words;

/// The content of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Servers {
    /// GPUs, NVLink switches, and the switches of the network.
    pub graph: Graph,
    /// GPUs.
    pub gpus: u32,
    /// GPUs of a server.
    pub per_server: u32,
    /// A GPU that reaches another both by NVLink and by one switch of the network, with the line of that link.
    pub two_ways: Option<(u32, u64)>,
}

/// Returns whether a file is a topology: five counts and the name of a GPU, and numbers below.
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
    let unused = "gpus_per_server and gpu_type: the links say which GPUs a server has, and how fast they are";
    notes.ignored(file, Some(line), unused);
    let fail = |reason: String| Err(ImportError::new(reason).file(file).line(line));
    // A link has five words, and a node at least one link: larger counts are wrong.
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
    graph.tiers = graph.switches().map(|node| (node, NVLINK)).collect();
    graph.read_switches(switches, &mut words)?;
    graph.read_links(links, &mut words, notes)?;
    if let Some(word) = words.next_word() {
        notes.ignored(file, Some(word.line), format!("what follows the {links} links that the first line counts"));
    }
    links_of_gpus(file, &graph)?;
    let two_ways = two_ways(&graph);
    if two_ways.is_some() {
        let (mut first, then): (Vec<Link>, Vec<Link>) =
            graph.links.iter().partition(|link| graph.is_nvlink(link.a) || graph.is_nvlink(link.b));
        first.extend(then);
        graph.links = first;
    }
    Ok(Servers { graph, gpus, per_server, two_ways })
}

/// Checks that GPUs have links to switches only, and each one to the network if there is one.
fn links_of_gpus(file: &str, graph: &Graph) -> Result<(), ImportError> {
    let fail = |line: u64, reason: String| Err(ImportError::new(reason).file(file).line(line));
    // For each GPU the links to NVLink switches and to the network.
    let mut links = vec![[0u32; 2]; graph.switch.len()];
    for link in &graph.links {
        let (gpu, switch) = link.ends(graph);
        if !graph.is_switch(switch) {
            return fail(link.line, format!("a link between the GPUs {} and {}", link.a, link.b));
        }
        let own = &mut links[gpu as usize][usize::from(!graph.is_nvlink(switch))];
        *own += 1;
        if *own > MOST_LINKS && !graph.is_switch(gpu) {
            return fail(link.line, format!("GPU {gpu} has more than {MOST_LINKS} links of a kind"));
        }
    }
    let network = graph.hosts().any(|gpu| links[gpu as usize][1] > 0);
    match graph.hosts().find(|gpu| links[*gpu as usize][usize::from(network)] == 0) {
        Some(gpu) => fail(1, format!("GPU {gpu} has no link to the network")),
        None => Ok(()),
    }
}
