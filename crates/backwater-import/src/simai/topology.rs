//! A topology.
//!
//! ```text
//! file = nodes gpus_per_server nvswitches switches links gpu { nvswitch } { switch } { a b rate delay loss }
//! ```
//!
//! All that is no switch is a GPU. GPUs have links to the NVLink switches of their server and to the network, perhaps several.

use crate::error::ImportError;
use crate::graph::Graph;
use crate::note::Notes;
use crate::source::Head;
use crate::words::Words;
use std::collections::BTreeMap;

/// Most links of a GPU to NVLink switches; there are 18 NVLinks at most.
const MOST_NVLINKS: usize = 64;

/// What a file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Servers {
    /// GPUs, NVLink switches, and the switches of the network.
    pub graph: Graph,
    /// GPUs.
    pub gpus: u32,
    /// A GPU that reaches another by NVLink and by one switch of the network alike, with the line of that link.
    pub two_ways: Option<(u32, u64)>,
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
    graph.tiers = graph.switches().map(|node| (node, "nvswitch")).collect();
    graph.read_switches(switches, &mut words)?;
    graph.read_links(links, &mut words)?;
    if let Some(word) = words.next_word() {
        notes.ignored(file, Some(word.line), format!("what follows the {links} links that the first line counts"));
    }
    if let Some(link) = graph.links.iter().find(|link| link.loss > 0.0) {
        notes.ignored(file, Some(link.line), "the share of lost frames of links: `[[fault]]` can have it");
    }
    let two_ways = links_of_gpus(file, &graph)?;
    if two_ways.is_some() {
        graph.links.sort_by_key(|link| ![link.a, link.b].iter().any(|node| graph.tiers.contains_key(node)));
    }
    Ok(Servers { graph, gpus, two_ways })
}

/// Sees that GPUs have links to switches alone, and each one to the network if there is one. Gives what [`Servers::two_ways`] is.
fn links_of_gpus(file: &str, graph: &Graph) -> Result<Option<(u32, u64)>, ImportError> {
    let fail = |line: u64, reason: String| ImportError::new(reason).file(file).line(line);
    // Of each GPU the NVLink switches, and the switches of the network with their lines.
    let mut nvlinks = vec![Vec::new(); graph.switch.len()];
    let mut network = vec![Vec::new(); graph.switch.len()];
    for link in &graph.links {
        let (gpu, switch) = match (graph.is_switch(link.a), graph.is_switch(link.b)) {
            (false, false) => {
                return Err(fail(link.line, format!("a link between the GPUs {} and {}", link.a, link.b)));
            }
            (true, true) => continue,
            (false, true) => (link.a, link.b),
            (true, false) => (link.b, link.a),
        };
        match graph.tiers.contains_key(&switch) {
            true => {
                let own: &mut Vec<u32> = &mut nvlinks[gpu as usize];
                own.push(switch);
                if own.len() > MOST_NVLINKS {
                    return Err(fail(link.line, format!("GPU {gpu} has more than {MOST_NVLINKS} NVLinks")));
                }
            }
            false => network[gpu as usize].push((switch, link.line)),
        }
    }
    let other_than_nvlink = network.iter().any(|links| !links.is_empty());
    if let Some(gpu) = graph.hosts().find(|gpu| {
        let gpu = *gpu as usize;
        network[gpu].is_empty() && (other_than_nvlink || nvlinks[gpu].is_empty())
    }) {
        return Err(fail(1, format!("GPU {gpu} has no link to the network")));
    }
    // Whoever was met first at both an NVLink switch and a switch.
    let mut met = BTreeMap::new();
    for gpu in graph.hosts() {
        for nvlink in &nvlinks[gpu as usize] {
            for (switch, line) in &network[gpu as usize] {
                if *met.entry((*nvlink, *switch)).or_insert(gpu) != gpu {
                    return Ok(Some((gpu, *line)));
                }
            }
        }
    }
    Ok(None)
}
