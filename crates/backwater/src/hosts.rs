//! Sets of hosts, and paths through the network.

use crate::error::nearest;
use crate::file::{Host, Hosts};
use backwater_net::packet::{HostId, NodeId};
use backwater_net::topology::{Graph, Index, Link, NodeKind};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

/// Most flows, pairs or hosts that one group may list: larger sets belong in a table or arrive over time.
pub(crate) const MOST: usize = 20_000_000;

/// The hosts of a set, in its order; an error is a reason and a hint.
pub(crate) fn expand(hosts: &Hosts, index: &Index) -> Result<Vec<HostId>, (String, String)> {
    let mut out = Vec::new();
    for entry in hosts.entries() {
        out.extend(members(entry, index)?);
        if out.len() > MOST {
            return Err((format!("more than {MOST} hosts"), "a set names each host once".into()));
        }
    }
    Ok(out)
}

/// One host.
pub(crate) fn one(host: &Host, index: &Index) -> Result<HostId, (String, String)> {
    match members(host, index)?[..] {
        [host] => Ok(host),
        _ => Err(("needs one host".into(), "as in \"h3\"".into())),
    }
}

/// Returns whether the set is all hosts, without naming any.
pub(crate) fn is_all(hosts: Option<&Hosts>) -> bool {
    match hosts {
        None => true,
        Some(Hosts::One(Host::Text(text))) => text.trim() == "all",
        Some(_) => false,
    }
}

/// Returns the text before `step N`, and N; 1 without it. `hint` explains a step.
pub(crate) fn stepped<'t>(text: &'t str, hint: &str) -> Result<(&'t str, usize), (String, String)> {
    let Some((what, step)) = text.rsplit_once(" step ") else { return Ok((text, 1)) };
    match step.trim().parse::<usize>() {
        Ok(step) if step > 0 => Ok((what.trim(), step)),
        _ => Err((format!("`{}` is no step", step.trim()), hint.to_owned())),
    }
}

/// The hosts of one entry: `[at] FIRST[..LAST] [step N]`, or `all [step N]`.
fn members(entry: &Host, index: &Index) -> Result<Vec<HostId>, (String, String)> {
    let text = match entry {
        Host::Number(n) => return Ok(vec![single(&n.to_string(), index)?]),
        Host::Text(text) => text.trim(),
    };
    let (what, step) = stepped(text, "a number from 1, as in \"0..7 step 2\"")?;
    if let Some(switches) = what.strip_prefix("at ") {
        return attached(switches.trim(), step, index);
    }
    let (first, last) = match (what, what.split_once("..")) {
        ("all", _) if index.hosts() == 0 => return Err(("there are no hosts".into(), known(index))),
        ("all", _) => (0, index.hosts() - 1),
        (_, None) => {
            let host = single(what, index)?;
            (host.0, host.0)
        }
        (_, Some((a, b))) => (single(a, index)?.0, single(b, index)?.0),
    };
    if first > last {
        return Err((format!("the range `{what}` ends before it begins"), format!("write \"{last}..{first}\"")));
    }
    Ok((first..=last).step_by(step).map(HostId).collect())
}

/// The hosts at a switch, or at every `step`-th of a range of switches, switch by switch.
fn attached(text: &str, step: usize, index: &Index) -> Result<Vec<HostId>, (String, String)> {
    let graph = index.graph();
    let switch = |name: &str| {
        let name = name.trim();
        let node = index.node(name).filter(|node| graph.nodes[node.0 as usize].kind == NodeKind::Switch);
        node.ok_or_else(|| (format!("there is no switch `{name}`"), node_hint(name, graph)))
    };
    let (a, b) = text.split_once("..").unwrap_or((text, text));
    let (first, last) = (switch(a)?, switch(b)?);
    if first > last {
        return Err((
            format!("the range `{text}` ends before it begins"),
            "switches are in the order of the topology".into(),
        ));
    }
    let chosen = |node: NodeId| {
        let at = node.0.checked_sub(first.0).filter(|_| node <= last)?;
        let switch = graph.nodes[node.0 as usize].kind == NodeKind::Switch;
        (switch && (at as usize).is_multiple_of(step)).then_some(at)
    };
    let links = graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
    let mut hosts: Vec<(u32, HostId)> =
        links.filter_map(|(host, switch)| Some((chosen(switch)?, index.host_of(host)?))).collect();
    hosts.sort_unstable();
    // A host with links to several of them counts at the first.
    let mut met = HashSet::new();
    hosts.retain(|(_, host)| met.insert(*host));
    match hosts.is_empty() {
        true => Err((format!("no host is attached to `{text}`"), "hosts are attached to the lowest tier".into())),
        false => Ok(hosts.into_iter().map(|(_, host)| host).collect()),
    }
}

fn single(text: &str, index: &Index) -> Result<HostId, (String, String)> {
    index.host(text.trim()).ok_or_else(|| (format!("there is no host `{}`", text.trim()), known(index)))
}

fn known(index: &Index) -> String {
    let name = |h: u32| index.node_of(HostId(h)).map_or("", |n| index.graph().nodes[n.0 as usize].name.as_str());
    match index.hosts().checked_sub(1) {
        None => "the topology has no hosts".to_owned(),
        Some(last) => format!("hosts are 0 to {last}, called {} to {}", name(0), name(last)),
    }
}

/// Returns a suggestion for the name of a node that does not exist.
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
pub(crate) struct Neighbours {
    all: Vec<Vec<NodeId>>,
    /// Neighbours behind a link that is up, with the cost of the cheapest such link.
    reached: Vec<Vec<(NodeId, u32)>>,
}

impl Neighbours {
    pub(crate) fn of(graph: &Graph) -> Neighbours {
        let of = |counts: fn(&Link) -> bool| {
            let mut all = vec![Vec::new(); graph.nodes.len()];
            for link in graph.links.iter().filter(|link| counts(link)) {
                all[link.a.0 as usize].push((link.b, link.cost));
                all[link.b.0 as usize].push((link.a, link.cost));
            }
            for list in &mut all {
                list.sort_unstable();
                list.dedup_by_key(|(node, _)| *node);
            }
            all
        };
        let nodes = |list: Vec<(NodeId, u32)>| list.into_iter().map(|(node, _)| node).collect();
        Neighbours { all: of(|_| true).into_iter().map(nodes).collect(), reached: of(|link| link.up) }
    }

    /// Returns whether a link joins the two.
    pub(crate) fn joined(&self, a: NodeId, b: NodeId) -> bool {
        self.all[a.0 as usize].binary_search(&b).is_ok()
    }

    /// The only shortest path through switches, both ends included; `Err(true)`: there are several, `Err(false)`: there is no path.
    pub(crate) fn way(&self, graph: &Graph, from: NodeId, to: NodeId) -> Result<Vec<NodeId>, bool> {
        const FAR: u32 = u32::MAX;
        let mut distance = vec![FAR; self.all.len()];
        let mut before: Vec<Option<NodeId>> = vec![None; self.all.len()];
        let mut several = vec![false; self.all.len()];
        distance[from.0 as usize] = 0;
        let mut next = BinaryHeap::from([Reverse((0, from))]);
        while let Some(Reverse((here, node))) = next.pop() {
            if node == to {
                break;
            }
            let ends = node != from && graph.nodes[node.0 as usize].kind == NodeKind::Host;
            if ends || here > distance[node.0 as usize] {
                continue;
            }
            for &(peer, cost) in &self.reached[node.0 as usize] {
                let (p, there) = (peer.0 as usize, here + cost);
                if there < distance[p] {
                    distance[p] = there;
                    before[p] = Some(node);
                    several[p] = several[node.0 as usize];
                    next.push(Reverse((there, peer)));
                } else if distance[p] == there {
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
