//! Which incasts a scenario is known to have: flows that start at once from several hosts into one.
//!
//! Known are the groups of pairs with `arrivals = "once"`. Random arrivals, permutations, drawn events, tables and jobs are not: to a host to
//! which they may send, there may be more senders than are known, and the incast there is *open*. So are the others that
//! send to it at another time or in another class, or over a slower link of their own.

use crate::advise::Way;
use crate::error::ScenarioError;
use crate::file::Arrivals;
use crate::plan::{Place, Plan, Who};
use backwater_engine::Time;
use backwater_net::packet::{HostId, NodeId};
use backwater_net::topology::NodeKind;
use backwater_net::{Bytes, Rate};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// A flow of a pair: which plan, which pair of it.
type Flow = (u32, u32);

/// Flows that start at once into one host.
pub(crate) struct Incast {
    pub receiver: HostId,
    pub class: u8,
    /// Rate of the receiver's link.
    pub rate: Rate,
    pub senders: Vec<(HostId, Flow)>,
    /// Everything that they send, headers included.
    pub bytes: u64,
    /// Whether others may send there as well.
    pub open: bool,
}

/// How an incast comes to its receiver's switch.
pub(crate) struct Ways {
    /// Links of the way with the most.
    pub links: u64,
    pub shortest: Way,
    pub longest: Way,
    /// Longest propagation delay of a link, longest latency of a switch, on any of the ways.
    pub link_delay: Time,
    pub latency: Time,
    /// Senders whose data the links on the way can bring at once, at the rate of the receiver's link.
    pub carried: u64,
}

/// Every known incast of at least two senders, by receiver: of several at one host the largest.
pub(crate) fn incasts(place: &Place<'_>, plans: &[Plan<'_>]) -> Vec<Incast> {
    let file = &place.resolved.file;
    let packet = &file.packet;
    let tables =
        file.flow.iter().any(|g| g.table.is_some()) || !place.resolved.tables.is_empty() || !file.job.is_empty();
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
    // What begins together: receiver, class, start.
    let event = |flow: &(HostId, HostId, u32, u32)| {
        let group = plans[flow.2 as usize].group;
        (flow.0, group.class, group.start)
    };
    let bytes = |plan: &Plan<'_>| {
        let size = plan.group.size.unwrap_or_default().0;
        let headers = size.div_ceil(packet.payload.0.max(1)).saturating_mul(packet.header.0);
        size.saturating_add(headers).saturating_mul(plan.group.count.unwrap_or(1))
    };
    known.sort_unstable_by_key(|flow| (event(flow), *flow));
    let mut found: Vec<Incast> = Vec::new();
    for at_once in known.chunk_by(|a, b| event(a) == event(b)) {
        let Some((receiver, class, _)) = at_once.first().map(event) else { continue };
        let rate = place.rates[receiver.0 as usize];
        let mut one =
            Incast { receiver, class, rate, senders: Vec::new(), bytes: 0, open: tables || open.contains(&receiver) };
        for &(_, from, plan, pair) in at_once {
            let fast = place.rates[from.0 as usize] >= rate;
            one.bytes = one.bytes.saturating_add(bytes(&plans[plan as usize]));
            one.open |= !fast;
            if fast && one.senders.last().is_none_or(|(last, _)| *last != from) {
                one.senders.push((from, (plan, pair)));
            }
        }
        match found.last_mut().filter(|last| last.receiver == receiver) {
            Some(last) if last.senders.len() >= one.senders.len() => last.open = true,
            Some(last) => *last = Incast { open: true, ..one },
            None => found.push(one),
        }
    }
    found.retain(|one| one.senders.len() >= 2);
    found
}

/// The network as ways are measured in it.
pub(crate) struct Measure<'p> {
    place: &'p Place<'p>,
    /// Between neighbours: the rate of one link, of all together, and the propagation delay.
    links: HashMap<(NodeId, NodeId), (Rate, u64, Time)>,
    neighbours: HashMap<NodeId, Vec<NodeId>>,
    message: Bytes,
}

impl<'p> Measure<'p> {
    pub(crate) fn new(place: &'p Place<'p>, message: Bytes) -> Measure<'p> {
        let mut links: HashMap<(NodeId, NodeId), (Rate, u64, Time)> = HashMap::new();
        let mut neighbours: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for link in &place.index.graph().links {
            for (a, b) in [(link.a, link.b), (link.b, link.a)] {
                let entry = links.entry((a, b)).or_insert_with(|| {
                    neighbours.entry(a).or_default().push(b);
                    (link.rate, 0, link.delay)
                });
                entry.1 = entry.1.saturating_add(link.rate.0);
            }
        }
        Measure { place, links, neighbours, message }
    }

    fn kind(&self, node: NodeId) -> NodeKind {
        self.place.index.graph().nodes[node.0 as usize].kind
    }

    /// From every node the next one on a shortest way to `host`.
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

    /// The nodes from `from` to where `next` leads, both included.
    fn follow(next: &HashMap<NodeId, NodeId>, from: NodeId) -> Vec<NodeId> {
        let mut way = vec![from];
        while let Some(&node) = way.last().and_then(|last| next.get(last)).filter(|n| way.last() != Some(*n)) {
            way.push(node);
        }
        way
    }

    /// How the senders reach the receiver's switch; `None` where one does not.
    pub(crate) fn ways(&self, incast: &Incast, plans: &[Plan<'_>]) -> Result<Option<Ways>, ScenarioError> {
        let index = self.place.index;
        let Some(receiver) = index.node_of(incast.receiver) else { return Ok(None) };
        let next = self.towards(receiver);
        let mut all = Vec::with_capacity(incast.senders.len());
        for &(host, (plan, pair)) in &incast.senders {
            let pinned = match &plans[plan as usize].who {
                Who::Pairs(_, ways) => ways.get(pair as usize).and_then(|way| way.data.as_ref()),
                _ => None,
            };
            let way = match (pinned, index.node_of(host)) {
                (Some(way), _) => way.to_vec(),
                (None, Some(host)) => Measure::follow(&next, host),
                (None, None) => return Ok(None),
            };
            if way.last() != Some(&receiver) || way.len() < 3 {
                return Ok(None);
            }
            all.push((way, pinned.is_some()));
        }
        self.measured(&all, incast.rate)
    }

    /// The way from the host that is farthest from the first one.
    pub(crate) fn longest_from_first_host(&self) -> Result<Option<Ways>, ScenarioError> {
        let index = self.place.index;
        let Some(receiver) = index.node_of(HostId(0)) else { return Ok(None) };
        let next = self.towards(receiver);
        let hosts = (1..index.hosts()).filter_map(|host| index.node_of(HostId(host)));
        let ways = hosts.map(|host| Measure::follow(&next, host)).filter(|way| way.len() > 2);
        match ways.max_by_key(Vec::len) {
            Some(way) => self.measured(&[(way, false)], self.place.rates[0]),
            None => Ok(None),
        }
    }

    fn measured(&self, all: &[(Vec<NodeId>, bool)], rate: Rate) -> Result<Option<Ways>, ScenarioError> {
        let graph = self.place.index.graph();
        let packet = &self.place.resolved.file.packet;
        let frame = packet.payload + packet.header;
        let (mut links, mut link_delay, mut latency) = (0, Time::ZERO, Time::ZERO);
        let mut ends: Option<(Way, Way)> = None;
        for (nodes, _) in all {
            let hops = nodes.len() - 2;
            let mut way = Way::default();
            for step in nodes[..=hops].windows(2) {
                let Some(&(rate, _, delay)) = self.links.get(&(step[0], step[1])) else { return Ok(None) };
                let about = &graph.nodes[step[1].0 as usize];
                let switch = self.place.resolved.switch.of(&about.name, &about.tier).latency;
                way.links = Time(way.links.0.saturating_add(delay.0));
                way.switches = Time(way.switches.0.saturating_add(switch.0));
                way.frames = Time(way.frames.0.saturating_add(rate.time_for(frame).0));
                way.messages = Time(way.messages.0.saturating_add(rate.time_for(self.message).0));
                way.congested = switch;
                (link_delay, latency) = (link_delay.max(delay), latency.max(switch));
            }
            links = links.max(hops as u64);
            let time = way.loops()?.1;
            ends = Some(match ends {
                None => (way, way),
                Some((short, long)) => {
                    (if time < short.loops()?.1 { way } else { short }, if time > long.loops()?.1 { way } else { long })
                }
            });
        }
        let carried = self.carried(all, rate);
        Ok(ends.map(|(shortest, longest)| Ways { links, shortest, longest, link_delay, latency, carried }))
    }

    /// Senders that the links out of their first switch, and then those into the last, can carry at `rate`.
    fn carried(&self, all: &[(Vec<NodeId>, bool)], rate: Rate) -> u64 {
        let room = |switch: NodeId, used: &[(NodeId, bool)]| {
            // Where one is left to ECMP, any link to another switch may take it.
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
