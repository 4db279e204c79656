//! Assigns nodes to parts: leaves with their hosts, in the order of hosts, so that pods stay together. Switches above join the part of most
//! of their neighbours, but each part gets as many switches of a tier.

use crate::model::part::Ownership;
use crate::model::port::Facts;
use crate::model::world::Fabric;
use crate::topology::NodeKind;
use backwater_engine::Time;
use std::collections::BTreeMap;

const NOBODY: u16 = u16::MAX;

/// Splits a network into at most `parts` parts; into fewer if it has fewer switches with hosts.
pub(super) fn partition(fabric: &Fabric, parts: usize) -> (Ownership, usize) {
    let mut nodes = vec![NOBODY; fabric.neighbours.len()];
    // Hosts by the switch to which they are attached, in the order of the first of them.
    let mut order: Vec<u32> = Vec::new();
    let mut under: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for host in fabric.host_node.iter() {
        let peer = fabric.neighbours[*host as usize].first().map_or(*host, |(peer, _)| *peer);
        let group = if fabric.graph.nodes[peer as usize].kind == NodeKind::Switch { peer } else { peer.min(*host) };
        let hosts = under.entry(group).or_default();
        if hosts.is_empty() {
            order.push(group);
        }
        hosts.push(*host);
    }
    let parts = parts.clamp(1, order.len().max(1)).min(usize::from(NOBODY));
    let all = fabric.host_node.len();
    let (mut before, mut last) = (0, 0);
    for (number, group) in order.iter().enumerate() {
        let hosts = &under[group];
        // By the middle of its hosts among all hosts; no part stays empty.
        let wanted = (2 * before + hosts.len()) * parts / (2 * all.max(1));
        let part = wanted.clamp(last, last + usize::from(number > 0)).max((parts + number).saturating_sub(order.len()));
        let part = part.min(parts - 1);
        last = part;
        before += hosts.len();
        nodes[*group as usize] = part as u16;
        hosts.iter().for_each(|host| nodes[*host as usize] = part as u16);
    }
    spread(fabric, parts, &mut nodes);
    let of = |node: u32| nodes[node as usize];
    let mut of_ports = Vec::new();
    for (node, ends) in fabric.neighbours.iter().enumerate() {
        of_ports.extend(ends.iter().map(|_| nodes[node]));
    }
    let switches = fabric.graph.switches().map(|node| of(node.0)).collect();
    let hosts = fabric.host_node.iter().map(|node| of(*node)).collect();
    (Ownership { ports: of_ports, switches, hosts, nodes }, parts)
}

/// Returns why a network comes out as one part.
pub(super) fn undivided(fabric: &Fabric) -> &'static str {
    if fabric.graph.switches().next().is_some() {
        "all hosts are attached to one switch"
    } else {
        "the hosts are cabled to one another, without a switch"
    }
}

/// Assigns switches without hosts to parts, beginning next to the assigned ones. Among the switches of one step each part gets as many:
/// otherwise, in a fat tree with an odd number of pods, one part would get all core switches.
fn spread(fabric: &Fabric, parts: usize, nodes: &mut [u16]) {
    let mut given = vec![0u32; parts];
    let mut front: Vec<usize> = (0..nodes.len()).filter(|node| nodes[*node] != NOBODY).collect();
    loop {
        let mut next: Vec<usize> =
            front.iter().flat_map(|node| &fabric.neighbours[*node]).map(|(to, _)| *to as usize).collect();
        next.retain(|node| nodes[*node] == NOBODY);
        next.sort_unstable();
        next.dedup();
        if next.is_empty() {
            break;
        }
        let most = next.len().div_ceil(parts);
        let mut here = vec![0; parts];
        let mut chosen = Vec::with_capacity(next.len());
        for node in &next {
            let mut links = vec![0u32; parts];
            let owners = fabric.neighbours[*node].iter().map(|(to, _)| nodes[*to as usize]);
            owners.filter(|owner| *owner != NOBODY).for_each(|owner| links[usize::from(owner)] += 1);
            let free = (0..parts).filter(|part| here[*part] < most);
            let part = free.min_by_key(|part| (std::cmp::Reverse(links[*part]), given[*part])).unwrap_or(0);
            (given[part], here[part]) = (given[part] + 1, here[part] + 1);
            chosen.push(part as u16);
        }
        next.iter().zip(chosen).for_each(|(node, part)| nodes[*node] = part);
        front = next;
    }
    nodes.iter_mut().filter(|owner| **owner == NOBODY).for_each(|owner| *owner = 0);
}

/// Between parts, the least time of anything that one sends to the other, over any parts in between; for a part and itself, by way of
/// another. Jobs notify each other of completions, which takes `start_latency`. `None`: a link between parts takes no time.
pub(super) fn distances(
    ports: &[Facts],
    owners: &Ownership,
    parts: usize,
    start_latency: Option<Time>,
) -> Option<Vec<Vec<Time>>> {
    let mut least = vec![vec![start_latency.unwrap_or(Time::NEVER); parts]; parts];
    for (number, port) in (0u32..).zip(ports) {
        let (from, to) = (owners.of_port(number), owners.of_port(port.peer));
        if from != to {
            if port.delay == Time::ZERO {
                return None;
            }
            let least = &mut least[from][to];
            *least = (*least).min(port.delay);
        }
    }
    for by in 0..parts {
        for from in 0..parts {
            for to in 0..parts {
                let ecmp_path = least[from][by].after(least[by][to]);
                let least = &mut least[from][to];
                *least = (*least).min(ecmp_path);
            }
        }
    }
    Some(least)
}
