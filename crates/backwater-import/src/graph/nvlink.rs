//! NVLink switches of servers, beside a fabric.

use super::quantity::Tier;
use super::{Graph, Link};
use std::collections::BTreeMap;

/// Tier of NVLink switches: `nvlink0`, `nvlink1`, ….
pub const NVLINK: &str = "nvlink";

/// Servers of GPUs, as in `[topology.nvlink]`: so many consecutive hosts at each NVLink switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Servers {
    /// GPUs of a server.
    pub gpus: u32,
    /// Their links.
    pub link: Tier,
}

/// The servers, and the graph without their switches, whose other nodes are renumbered. `None`: there are no such servers, or no other
/// links, or a server's GPUs also share a switch of the network: then a scenario cannot express which of the two is first.
pub fn apart(graph: &Graph) -> Option<(Servers, Graph)> {
    let switches: Vec<u32> = graph.switches().filter(|node| graph.is_nvlink(*node)).collect();
    let (inside, outside): (Vec<&Link>, Vec<&Link>) =
        graph.links.iter().partition(|link| graph.is_nvlink(link.a) || graph.is_nvlink(link.b));
    let first = inside.first()?;
    let hosts = graph.hosts().count();
    let gpus = hosts / switches.len();
    let servers = Servers { gpus: gpus as u32, link: (first.bps, first.delay_ps) };
    let mut joined: Vec<(u32, u32)> =
        inside.iter().filter(|link| (link.bps, link.delay_ps) == servers.link).map(|link| link.ends(graph)).collect();
    joined.sort_unstable();
    let expected = graph.hosts().zip(switches.iter().flat_map(|switch| std::iter::repeat_n(*switch, gpus)));
    if outside.is_empty() || inside.len() != hosts || !joined.into_iter().eq(expected) || two_ways(graph).is_some() {
        return None;
    }
    let number = |node: u32| node - switches.partition_point(|switch| *switch < node) as u32;
    let links = outside.into_iter().map(|link| Link { a: number(link.a), b: number(link.b), ..*link });
    let kept = (0..graph.nodes()).filter(|node| !graph.is_nvlink(*node));
    let rest =
        Graph { switch: kept.map(|node| graph.is_switch(node)).collect(), links: links.collect(), ..Graph::default() };
    Some((servers, rest))
}

/// A GPU that reaches another both by an NVLink switch and by one switch of the network, with the line of its link there.
pub fn two_ways(graph: &Graph) -> Option<(u32, u64)> {
    let mut nvlinks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let of_hosts = || graph.links.iter().filter(|link| graph.is_switch(link.a) != graph.is_switch(link.b));
    for (host, switch) in of_hosts().map(|link| link.ends(graph)).filter(|(_, switch)| graph.is_nvlink(*switch)) {
        nvlinks.entry(host).or_default().push(switch);
    }
    // The first GPU found at both an NVLink switch and a switch.
    let mut met = BTreeMap::new();
    for link in of_hosts() {
        let (host, switch) = link.ends(graph);
        let own = nvlinks.get(&host).filter(|_| !graph.is_nvlink(switch));
        for nvlink in own.into_iter().flatten() {
            if *met.entry((*nvlink, switch)).or_insert(host) != host {
                return Some((host, link.line));
            }
        }
    }
    None
}
