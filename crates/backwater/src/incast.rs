//! The known incasts of a scenario: flows that start at once from several hosts into one.
//!
//! Groups of pairs with `arrivals = "once"` are known. Random arrivals, permutations, drawn events, tables and jobs are not: if they may
//! send to a host, it may have more senders than are known, and the incast there is *open*. So is an incast whose receiver gets other flows
//! at another time or in another class, or over a slower link of their sender.

use crate::file::Arrivals;
use crate::plan::{Plan, Who};
use crate::planned::Planned;
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::hooks::{Hop, Paths};
use backwater_net::packet::{HostId, NodeId};
use backwater_net::topology::NodeKind;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

/// A flow of a pair: the plan, and the pair in it.
type Flow = (u32, u32);

/// Flows that start at once into one host.
pub(crate) struct KnownIncast {
    pub receiver: HostId,
    pub class: u8,
    /// Rate of the receiver's link.
    pub rate: Rate,
    pub senders: Vec<(HostId, Flow)>,
    /// Everything that they send, headers included.
    pub bytes: u64,
    /// True if others may send there as well.
    pub open: bool,
}

/// Every known incast of at least two senders, by receiver: the largest of several at one host.
pub(crate) fn incasts(planned: &Planned) -> Vec<KnownIncast> {
    let (file, plans) = (&planned.resolved().file, &planned.plans);
    let packet = &file.packet;
    let tables =
        file.flow.iter().any(|g| g.table.is_some()) || !planned.resolved().tables.is_empty() || !file.job.is_empty();
    let mut open: HashSet<HostId> = HashSet::new();
    // Small, since all-to-all may have 20 million: receiver, sender, plan and pair.
    let mut known: Vec<(HostId, HostId, u32, u32)> = Vec::new();
    for (number, plan) in (0u32..).zip(plans) {
        match &plan.who {
            Who::Pairs(pairs, _) if plan.group.arrivals == Arrivals::Once => {
                known.extend((0u32..).zip(pairs).map(|(i, (from, to))| (*to, *from, number, i)));
            }
            Who::Pairs(pairs, _) => open.extend(pairs.iter().map(|(_, to)| *to)),
            Who::Permutation(hosts) => open.extend(hosts),
            Who::Random(sets) => open.extend(sets.iter().flat_map(|(_, to)| to.iter())),
            Who::Matrix(_, matrix) => open.extend(matrix.values().flat_map(|row| row.iter().map(|(to, _)| *to))),
            Who::Incast(crowd) => open.extend(crowd.to.iter()),
        }
    }
    // The key of flows that begin together: receiver, class, start.
    let event = |flow: &(HostId, HostId, u32, u32)| {
        let group = &plans[flow.2 as usize].group;
        (flow.0, group.class, group.start)
    };
    let bytes = |plan: &Plan| {
        let size = plan.group.size.unwrap_or_default().0;
        let headers = size.div_ceil(packet.payload.0.max(1)).saturating_mul(packet.header.0);
        size.saturating_add(headers).saturating_mul(plan.group.count.unwrap_or(1))
    };
    known.sort_unstable_by_key(|flow| (event(flow), *flow));
    let mut found: Vec<KnownIncast> = Vec::new();
    for at_once in known.chunk_by(|a, b| event(a) == event(b)) {
        let Some((receiver, class, _)) = at_once.first().map(event) else { continue };
        let rate = planned.layout.arriving[receiver.0 as usize];
        let mut one = KnownIncast {
            receiver,
            class,
            rate,
            senders: Vec::new(),
            bytes: 0,
            open: tables || open.contains(&receiver),
        };
        for &(_, from, plan, pair) in at_once {
            let fast = planned.layout.rates[from.0 as usize] >= rate;
            one.bytes = one.bytes.saturating_add(bytes(&plans[plan as usize]));
            one.open |= !fast;
            if fast && one.senders.last().is_none_or(|(last, _)| *last != from) {
                one.senders.push((from, (plan, pair)));
            }
        }
        match found.last_mut().filter(|last| last.receiver == receiver) {
            Some(last) if last.senders.len() >= one.senders.len() => last.open = true,
            Some(last) => *last = KnownIncast { open: true, ..one },
            None => found.push(one),
        }
    }
    found.retain(|one| one.senders.len() >= 2);
    found
}

/// The network for measuring paths.
pub(crate) struct Measure<'p> {
    planned: &'p Planned,
    /// Between neighbours: the rate of one link, of all together, and the propagation delay.
    links: HashMap<(NodeId, NodeId), (Rate, u64, Time)>,
    neighbours: HashMap<NodeId, Vec<NodeId>>,
}

impl<'p> Measure<'p> {
    pub(crate) fn new(planned: &'p Planned) -> Measure<'p> {
        let mut links: HashMap<(NodeId, NodeId), (Rate, u64, Time)> = HashMap::new();
        let mut neighbours: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for link in planned.layout.graph.links.iter().filter(|link| link.up) {
            for (a, b) in [(link.a, link.b), (link.b, link.a)] {
                let entry = links.entry((a, b)).or_insert_with(|| {
                    neighbours.entry(a).or_default().push(b);
                    (link.rate_from(a), 0, link.delay)
                });
                entry.1 = entry.1.saturating_add(link.rate_from(a).0);
            }
        }
        Measure { planned, links, neighbours }
    }

    fn kind(&self, node: NodeId) -> NodeKind {
        self.planned.layout.graph.nodes[node.0 as usize].kind
    }

    /// From every node the next one on a shortest path to `host`.
    fn towards(&self, host: NodeId) -> HashMap<NodeId, NodeId> {
        let mut next = HashMap::from([(host, host)]);
        let mut queue = VecDeque::from([host]);
        while let Some(node) = queue.pop_front() {
            if node != host && self.kind(node) == NodeKind::Host {
                continue;
            }
            for &peer in self.neighbours.get(&node).into_iter().flatten() {
                next.entry(peer).or_insert_with(|| {
                    queue.push_back(peer);
                    node
                });
            }
        }
        next
    }

    /// The nodes from `from` to the end of `next`, both included.
    fn follow(next: &HashMap<NodeId, NodeId>, from: NodeId) -> Vec<NodeId> {
        let mut way = vec![from];
        while let Some(&node) = way.last().and_then(|last| next.get(last)).filter(|n| way.last() != Some(*n)) {
            way.push(node);
        }
        way
    }

    /// Returns the paths of the senders to the receiver's switch; `None` if one does not reach it.
    pub(crate) fn paths(&self, incast: &KnownIncast) -> Option<Paths> {
        let index = &self.planned.layout.index;
        let receiver = index.node_of(incast.receiver)?;
        let next = self.towards(receiver);
        let mut all = Vec::with_capacity(incast.senders.len());
        for &(host, (plan, pair)) in &incast.senders {
            let pinned = match &self.planned.plans[plan as usize].who {
                Who::Pairs(_, ways) => ways.get(pair as usize).and_then(|way| way.data.as_ref()),
                _ => None,
            };
            let way = match pinned {
                Some(way) => way.to_vec(),
                None => Measure::follow(&next, index.node_of(host)?),
            };
            if way.last() != Some(&receiver) || way.len() < 3 {
                return None;
            }
            all.push((way, pinned.is_some()));
        }
        self.measured(&all, incast.rate)
    }

    /// The path from the host that is farthest from the first one.
    pub(crate) fn longest_from_first_host(&self) -> Option<Paths> {
        let index = &self.planned.layout.index;
        let next = self.towards(index.node_of(HostId(0))?);
        let hosts = (1..index.hosts()).filter_map(|host| index.node_of(HostId(host)));
        let ways = hosts.map(|host| Measure::follow(&next, host)).filter(|way| way.len() > 2);
        self.measured(&[(ways.max_by_key(Vec::len)?, false)], self.planned.layout.rates[0])
    }

    fn measured(&self, all: &[(Vec<NodeId>, bool)], rate: Rate) -> Option<Paths> {
        let graph = &self.planned.layout.graph;
        let hop = |step: &[NodeId]| {
            let &(rate, _, delay) = self.links.get(&(step[0], step[1]))?;
            let about = &graph.nodes[step[1].0 as usize];
            Some(Hop { rate, delay, latency: self.planned.resolved().switch.of(&about.name, &about.tier).latency })
        };
        let mut different = HashSet::new();
        for (nodes, _) in all {
            different.insert(nodes[..nodes.len() - 1].windows(2).map(hop).collect::<Option<Vec<Hop>>>()?);
        }
        let through: BTreeSet<NodeId> = all.iter().flat_map(|(nodes, _)| &nodes[1..nodes.len() - 1]).copied().collect();
        Some(Paths {
            different: different.into_iter().collect(),
            through: through.into_iter().collect(),
            carried: self.carried(all, rate),
            pause_threshold: None,
        })
    }

    /// Senders that the links out of their first switch, and then those into the last, can carry at `rate`.
    fn carried(&self, all: &[(Vec<NodeId>, bool)], rate: Rate) -> u64 {
        let room = |switch: NodeId, used: &[(NodeId, bool)]| {
            // If one path is left to ECMP, any link to another switch may be used.
            let free = used.iter().any(|(_, pinned)| !pinned);
            let any = self.neighbours.get(&switch).into_iter().flatten().copied();
            let peers: HashSet<NodeId> = match free {
                true => any.filter(|peer| self.kind(*peer) == NodeKind::Switch).collect(),
                false => used.iter().map(|(peer, _)| *peer).collect(),
            };
            let sum = peers.iter().filter_map(|peer| self.links.get(&(switch, *peer))).map(|(_, all, _)| *all);
            sum.fold(0u64, u64::saturating_add) / rate.0.max(1)
        };
        let mut local = 0;
        let mut first: BTreeMap<NodeId, Vec<(NodeId, bool)>> = BTreeMap::new();
        let mut last: BTreeMap<NodeId, Vec<(NodeId, bool)>> = BTreeMap::new();
        for (nodes, pinned) in all {
            match nodes.len() {
                3 => local += 1,
                n => {
                    first.entry(nodes[1]).or_default().push((nodes[2], *pinned));
                    last.entry(nodes[n - 2]).or_default().push((nodes[n - 3], *pinned));
                }
            }
        }
        let through = |side: &BTreeMap<NodeId, Vec<(NodeId, bool)>>| -> u64 {
            side.iter().map(|(switch, used)| room(*switch, used).min(used.len() as u64)).sum()
        };
        local + through(&first).min(through(&last))
    }
}
