//! The round-trip time of a packet and its acknowledgement in the idle network.

use crate::resolved::Resolved;
use backwater_engine::Time;
use backwater_net::hooks::{LongestWay, RoundTrip};
use backwater_net::packet::NodeId;
use backwater_net::topology::{Graph, NodeKind};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A full packet's path to the farthest host, and its acknowledgement's path back, with nothing else on the links: from the host that is
/// farthest from the first one, which in trees is an end of the longest path.
pub(super) fn longest<'g>(resolved: &Resolved, graph: &'g Graph) -> Option<RoundTrip<'g>> {
    let (packet, ack) = (&resolved.file.packet, &resolved.file.ack);
    let (data, back) = (packet.payload + packet.header + packet.gap, ack.size + packet.gap);
    let mut links = vec![Vec::new(); graph.nodes.len()];
    for link in graph.links.iter().filter(|link| link.up) {
        for (from, to) in [(link.a, link.b), (link.b, link.a)] {
            let sent = link.rate_from(from).time_for(data).after(link.rate_from(to).time_for(back));
            links[from.0 as usize].push((to, sent.after(link.delay).after(link.delay)));
        }
    }
    let latency = |node: NodeId| {
        let about = &graph.nodes[node.0 as usize];
        let switch = (about.kind == NodeKind::Switch).then(|| resolved.switch.of(&about.name, &about.tier).latency);
        switch.map_or(Time::ZERO, |latency| latency.after(latency))
    };
    let furthest = |from: NodeId| {
        let mut least = vec![Time::NEVER; graph.nodes.len()];
        let mut next = BinaryHeap::from([Reverse((Time::ZERO, from))]);
        least[from.0 as usize] = Time::ZERO;
        while let Some(Reverse((time, node))) = next.pop() {
            let ends = node != from && graph.nodes[node.0 as usize].kind == NodeKind::Host;
            if time > least[node.0 as usize] || ends {
                continue;
            }
            for (to, link) in &links[node.0 as usize] {
                let then = time.after(*link).after(latency(*to));
                if then < least[to.0 as usize] {
                    least[to.0 as usize] = then;
                    next.push(Reverse((then, *to)));
                }
            }
        }
        let reached = graph.hosts().filter(|host| least[host.0 as usize] != Time::NEVER);
        reached.map(|host| (least[host.0 as usize], host)).max()
    };
    let (_, from) = furthest(graph.hosts().next()?)?;
    let (time, to) = furthest(from)?;
    let name = |node: NodeId| graph.nodes[node.0 as usize].name.as_str();
    Some(RoundTrip { time, between: (name(from), name(to)) })
}

/// The path through the most switches, as seen from the host that is farthest from the first: in trees the longest of all.
pub(super) fn most_switches(graph: &Graph) -> Option<LongestWay<'_>> {
    let mut next_to = vec![Vec::new(); graph.nodes.len()];
    for link in graph.links.iter().filter(|link| link.up) {
        next_to[link.a.0 as usize].push(link.b);
        next_to[link.b.0 as usize].push(link.a);
    }
    let is_host = |node: NodeId| graph.nodes[node.0 as usize].kind == NodeKind::Host;
    let furthest = |from: NodeId| {
        let mut links = vec![usize::MAX; graph.nodes.len()];
        links[from.0 as usize] = 0;
        let mut next = VecDeque::from([from]);
        while let Some(node) = next.pop_front() {
            for to in next_to[node.0 as usize].iter().filter(|_| node == from || !is_host(node)) {
                if links[to.0 as usize] == usize::MAX {
                    links[to.0 as usize] = links[node.0 as usize] + 1;
                    next.push_back(*to);
                }
            }
        }
        graph.hosts().map(|host| (links[host.0 as usize], host)).filter(|(far, _)| *far != usize::MAX).max()
    };
    let (_, from) = furthest(graph.hosts().next()?)?;
    let (links, to) = furthest(from)?;
    let name = |node: NodeId| graph.nodes[node.0 as usize].name.as_str();
    Some(LongestWay { switches: links.saturating_sub(1), between: (name(from), name(to)) })
}
