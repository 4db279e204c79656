//! Sets of hosts, ways through the network.

use crate::error::nearest;
use crate::file::{Host, Hosts};
use backwater_net::packet::{HostId, NodeId};
use backwater_net::topology::{Graph, Index, NodeKind};
use std::collections::VecDeque;

/// Most flows, pairs or hosts that one group may list: what is more belongs in a table or arrives over time.
pub(crate) const MOST: usize = 20_000_000;

/// The hosts of a set, in its order; an error is a reason and a hint.
pub(crate) fn expand(hosts: &Hosts, index: &Index<'_>) -> Result<Vec<HostId>, (String, String)> {
    let mut out = Vec::new();
    for entry in hosts.entries() {
        let (first, last) = range(entry, index)?;
        if out.len() + (last - first) as usize >= MOST {
            return Err((format!("more than {MOST} hosts"), "a set names each host once".into()));
        }
        out.extend((first..=last).map(HostId));
    }
    Ok(out)
}

/// One host.
pub(crate) fn one(host: &Host, index: &Index<'_>) -> Result<HostId, (String, String)> {
    match range(host, index)? {
        (first, last) if first == last => Ok(HostId(first)),
        _ => Err(("needs one host".into(), "as in \"h3\"".into())),
    }
}

/// Whether the set is all hosts, without naming any.
pub(crate) fn is_all(hosts: Option<&Hosts>) -> bool {
    match hosts {
        None => true,
        Some(Hosts::One(Host::Text(text))) => text.trim() == "all",
        Some(_) => false,
    }
}

fn range(entry: &Host, index: &Index<'_>) -> Result<(u32, u32), (String, String)> {
    let last = index.hosts().saturating_sub(1);
    let known = || {
        let name = |h: u32| index.node_of(HostId(h)).map_or("", |n| index.graph().nodes[n.0 as usize].name.as_str());
        match index.hosts() {
            0 => "the topology has no hosts".to_owned(),
            _ => format!("hosts are 0 to {last}, called {} to {}", name(0), name(last)),
        }
    };
    let single =
        |text: &str| index.host(text.trim()).ok_or_else(|| (format!("there is no host `{}`", text.trim()), known()));
    match entry {
        Host::Number(n) => single(&n.to_string()).map(|h| (h.0, h.0)),
        Host::Text(text) if text.trim() == "all" => match index.hosts() {
            0 => Err(("there are no hosts".into(), known())),
            _ => Ok((0, last)),
        },
        Host::Text(text) => match text.split_once("..") {
            None => single(text).map(|h| (h.0, h.0)),
            Some((a, b)) => {
                let (a, b) = (single(a)?, single(b)?);
                if a > b {
                    let reason = format!("the range `{text}` ends before it begins");
                    return Err((reason, format!("write \"{}..{}\"", b.0, a.0)));
                }
                Ok((a.0, b.0))
            }
        },
    }
}

/// What may be meant by the name of a node that does not exist.
pub(crate) fn node_hint(name: &str, graph: &Graph) -> String {
    const SHOWN: usize = 12;
    let names = || graph.nodes.iter().map(|n| n.name.as_str());
    let more = if graph.nodes.len() > SHOWN { ", …" } else { "" };
    match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are: {}{more}", names().take(SHOWN).collect::<Vec<_>>().join(", ")),
    }
}

/// Neighbours of every node, each once.
pub(crate) struct Neighbours(Vec<Vec<NodeId>>);

impl Neighbours {
    pub(crate) fn of(graph: &Graph) -> Neighbours {
        let mut all = vec![Vec::new(); graph.nodes.len()];
        for link in &graph.links {
            all[link.a.0 as usize].push(link.b);
            all[link.b.0 as usize].push(link.a);
        }
        for list in &mut all {
            list.sort_unstable();
            list.dedup();
        }
        Neighbours(all)
    }

    /// Whether a link joins the two.
    pub(crate) fn joined(&self, a: NodeId, b: NodeId) -> bool {
        self.0[a.0 as usize].binary_search(&b).is_ok()
    }

    /// The one shortest way through switches, both ends included; `Err(true)`: there are several, `Err(false)`: none.
    pub(crate) fn way(&self, graph: &Graph, from: NodeId, to: NodeId) -> Result<Vec<NodeId>, bool> {
        const FAR: u32 = u32::MAX;
        let mut distance = vec![FAR; self.0.len()];
        let mut before: Vec<Option<NodeId>> = vec![None; self.0.len()];
        let mut several = vec![false; self.0.len()];
        distance[from.0 as usize] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                break;
            }
            if node != from && graph.nodes[node.0 as usize].kind == NodeKind::Host {
                continue;
            }
            let next = distance[node.0 as usize] + 1;
            for &peer in &self.0[node.0 as usize] {
                let p = peer.0 as usize;
                if distance[p] == FAR {
                    distance[p] = next;
                    before[p] = Some(node);
                    several[p] = several[node.0 as usize];
                    queue.push_back(peer);
                } else if distance[p] == next {
                    several[p] = true;
                }
            }
        }
        if distance[to.0 as usize] == FAR {
            return Err(false);
        }
        if several[to.0 as usize] {
            return Err(true);
        }
        let mut way = vec![to];
        let mut at = to;
        while let Some(previous) = before[at.0 as usize] {
            way.push(previous);
            at = previous;
        }
        way.reverse();
        Ok(way)
    }
}
