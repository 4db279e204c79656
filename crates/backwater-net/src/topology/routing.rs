//! Shortest paths, all of equal length kept (ECMP), and pinned paths.

use crate::model::packet::{FlowRef, HostId, NodeId, PathRef, Port};
use crate::topology::Graph;
use backwater_engine::fingerprint::mix;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Not a path word.
pub(crate) const NO_PATH: u64 = u64::MAX;

/// Paths as ECMP gives them, a word each: the egress port of the first switch in the lowest bits, then that of the next. If no mechanism
/// chooses and no link's state changes, every switch decides alike for all packets of a flow. Then the path is found once, and a packet
/// that carries it needs none of the tables that are spread over all switches.
#[derive(Clone, Copy, Default)]
pub(crate) struct EcmpPaths {
    /// Bits of a port; 0: switches decide for each packet.
    bits: u32,
}

impl EcmpPaths {
    /// For switches with so many ports at most.
    pub fn new(most_ports: usize) -> EcmpPaths {
        EcmpPaths { bits: most_ports.saturating_sub(1).checked_ilog2().unwrap_or(0) + 1 }
    }

    /// Returns whether paths are found once.
    pub fn are_known(self) -> bool {
        self.bits != 0
    }

    /// The path with one more port, which is number `hop`; `None`: it does not fit. A word is never full, so none is `NO_PATH`.
    pub fn with(self, ecmp_path: u64, hop: u32, port: u16) -> Option<u64> {
        let at = hop * self.bits;
        (at + self.bits < u64::BITS).then(|| ecmp_path | u64::from(port) << at)
    }

    /// The egress port at the switch number `hop` of the path.
    #[inline(always)]
    pub fn port(self, ecmp_path: u64, hop: u8) -> u16 {
        (ecmp_path >> (u32::from(hop) * self.bits) & ((1 << self.bits) - 1)) as u16
    }
}

/// For each switch with hosts that are destinations: every switch's ports on shortest paths to it. Routes are found on first use, since
/// traffic never goes to all the hosts of a large network.
#[derive(Clone)]
pub(crate) struct EcmpTable {
    attach: Vec<Attach>,
    /// Per switch with hosts: its node, and its row. A host with several links has a row of its own.
    edges: Vec<(u32, u32)>,
    /// Ranges into `ports`, row by row, of each switch.
    ranges: Vec<(u32, u16)>,
    /// Lists of ports, each once.
    ports: Vec<Port>,
    lists: HashMap<Vec<Port>, u32>,
    switches: usize,
    salts: Vec<u64>,
    /// Links examined since [`EcmpTable::take_work`].
    work: u64,
    /// Indexed like `ranges`: links from each switch to the row's switch. Kept only if a host has several links.
    depths: Option<Vec<u32>>,
    /// Per node and port, the cost of the link. Kept only if some link does not cost 1.
    costs: Option<Vec<Vec<u32>>>,
    seed: u64,
}

/// The attachment of a host.
#[derive(Clone)]
struct Attach {
    /// The row of its switch, or [`NO_ROW`].
    row: u32,
    /// Its switch: the number among those with hosts, or `u32::MAX` without one, the number among all, and the switch's port to the host.
    edge: u32,
    at: u32,
    port: Port,
}

const NO_ROW: u32 = u32::MAX;

/// The ports of each node: the peer and whether the link is up, in port order.
pub(crate) type Neighbours = Vec<Vec<(u32, bool)>>;

impl EcmpTable {
    /// Routes over links that are up, all still unknown. `switch_of[node]` numbers switches.
    pub fn new(graph: &Graph, neighbours: &Neighbours, switch_of: &[u32], seed: u64) -> EcmpTable {
        let mut edge_of: HashMap<u32, u32> = HashMap::new();
        let mut edges = Vec::new();
        let mut several = false;
        let attached = |host: u32| {
            if neighbours[host as usize].len() > 1 {
                several = true;
                edges.push((host, NO_ROW));
                return Attach { row: NO_ROW, edge: edges.len() as u32 - 1, at: u32::MAX, port: Port(0) };
            }
            let to = neighbours[host as usize].first().map_or(u32::MAX, |(peer, _)| *peer);
            if to == u32::MAX || switch_of[to as usize] == u32::MAX {
                return Attach { row: NO_ROW, edge: u32::MAX, at: u32::MAX, port: Port(0) };
            }
            let edge = *edge_of.entry(to).or_insert_with(|| {
                edges.push((to, NO_ROW));
                edges.len() as u32 - 1
            });
            Attach { row: NO_ROW, edge, at: switch_of[to as usize], port: Port(0) }
        };
        let mut attach: Vec<Attach> = graph.hosts().map(|host| host.0).map(attached).collect();
        // The ports of a switch in one pass: it may have all the hosts.
        let host_of: HashMap<u32, usize> = graph.hosts().enumerate().map(|(number, node)| (node.0, number)).collect();
        for (node, _) in edges.iter().filter(|(node, _)| switch_of[*node as usize] != u32::MAX) {
            for (port, (peer, _)) in neighbours[*node as usize].iter().enumerate() {
                if let Some(host) = host_of.get(peer) {
                    attach[*host].port = Port(port as u16);
                }
            }
        }
        let salts = graph.switches().map(|n| salt(seed, n.0)).collect();
        let depths = several.then(Vec::new);
        let costs = graph.links.iter().any(|link| link.cost != 1).then(|| {
            let ports = graph.ports().unwrap_or_default().into_iter();
            ports.map(|ends| ends.iter().map(|end| graph.links[end.link as usize].cost).collect()).collect()
        });
        let (ranges, ports, lists, switches) = (Vec::new(), Vec::new(), HashMap::new(), graph.switches().count());
        EcmpTable { attach, edges, ranges, ports, lists, switches, salts, work: 0, depths, costs, seed }
    }

    /// Returns whether the routes to a host are known, or no route is possible.
    #[inline]
    pub fn knows(&self, host: HostId) -> bool {
        let to = &self.attach[host.0 as usize];
        to.row != NO_ROW || to.edge == u32::MAX
    }

    /// Finds the routes to a host.
    #[cold]
    pub fn learn(&mut self, neighbours: &Neighbours, switch_of: &[u32], host: HostId) {
        let edge = self.attach[host.0 as usize].edge;
        let Some((start, row)) = self.edges.get(edge as usize).copied() else { return };
        self.attach[host.0 as usize].row = row;
        if row != NO_ROW {
            return;
        }
        // Without switches a row is empty, and only records that the host was looked up.
        let row = self.ranges.len().checked_div(self.switches).unwrap_or(0) as u32;
        (self.edges[edge as usize].1, self.attach[host.0 as usize].row) = (row, row);
        let begin = self.ranges.len();
        self.ranges.resize(begin + self.switches, (0, 0));
        let distance = match &self.costs {
            None => distances(neighbours, switch_of, start),
            Some(costs) => lengths(neighbours, switch_of, costs, start),
        };
        let cost = |node: usize, port: usize| self.costs.as_ref().map_or(1, |costs| costs[node][port]);
        if let Some(depths) = &mut self.depths {
            let of_switches = switch_of.iter().zip(&distance).filter(|(switch, _)| **switch != u32::MAX);
            depths.extend(of_switches.map(|(_, distance)| *distance));
        }
        let mut list = Vec::new();
        for (node, switch) in switch_of.iter().enumerate().filter(|(_, switch)| **switch != u32::MAX) {
            let here = distance[node];
            self.work += neighbours[node].len() as u64;
            if here == u32::MAX || here == 0 {
                continue;
            }
            // Hosts have no distance, except one from which distances are counted.
            let closer = neighbours[node]
                .iter()
                .enumerate()
                .filter(|(port, (to, up))| *up && distance[*to as usize].checked_add(cost(node, *port)) == Some(here));
            list.clear();
            list.extend(closer.map(|(port, _)| Port(port as u16)));
            let at = match self.lists.get(&list) {
                Some(at) => *at,
                None => {
                    let at = self.ports.len() as u32;
                    self.ports.extend(&list);
                    self.lists.insert(list.clone(), at);
                    at
                }
            };
            self.ranges[begin + *switch as usize] = (at, list.len() as u16);
        }
    }

    /// Forgets all routes after a change of a link's state: they are found anew on the next use.
    pub fn forget(&mut self) {
        (self.ranges, self.ports, self.lists) = (Vec::new(), Vec::new(), HashMap::new());
        self.depths.iter_mut().for_each(Vec::clear);
        self.edges.iter_mut().for_each(|(_, row)| *row = NO_ROW);
        self.attach.iter_mut().for_each(|attach| attach.row = NO_ROW);
    }

    /// The hosts with known routes.
    pub fn known(&self) -> impl Iterator<Item = HostId> + '_ {
        let attached = (0u32..).zip(&self.attach);
        attached.filter(|(_, attach)| attach.row != NO_ROW).map(|(host, _)| HostId(host))
    }

    /// Returns whether at least so many links have been examined since the last [`EcmpTable::take_work`].
    pub fn has_worked(&self, links: u64) -> bool {
        self.work >= links
    }

    /// Returns how many links have been examined since the last call.
    pub fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    /// Bytes of the tables.
    #[cfg(test)]
    fn size(&self) -> usize {
        let lists: usize = self.lists.keys().map(|list| 2 * size_of_val(&list[..])).sum();
        size_of_val(&self.ranges[..]) + lists
    }

    /// Ports of `switch` on shortest paths to `host`; empty: unreachable, or unknown.
    #[inline]
    pub fn candidates(&self, switch: u32, host: HostId) -> &[Port] {
        let to = &self.attach[host.0 as usize];
        if to.at == switch {
            return std::slice::from_ref(&to.port);
        }
        if to.row == NO_ROW {
            return &[];
        }
        let (begin, len) = self.ranges[to.row as usize * self.switches + switch as usize];
        &self.ports[begin as usize..begin as usize + usize::from(len)]
    }

    /// Links from `switch` to `host`, or to the host's switch if it has one; `None`: unreachable, or unknown.
    fn depth(&self, switch: u32, host: HostId) -> Option<u32> {
        let row = self.attach[host.0 as usize].row;
        let depths = self.depths.as_ref().filter(|_| row != NO_ROW)?;
        Some(depths[row as usize * self.switches + switch as usize]).filter(|depth| *depth != u32::MAX)
    }

    /// The numbers of a node's links that are up and on a shortest path to `host`, whose node is `to`. A host at the other end of a link
    /// does not forward.
    pub fn links_towards(&self, links: &[(u32, bool)], switch_of: &[u32], host: HostId, to: u32) -> Vec<u16> {
        let far = |(peer, up): &(u32, bool)| match (*up, switch_of[*peer as usize]) {
            (false, _) => None,
            (true, u32::MAX) => (*peer == to).then_some(0),
            (true, switch) => self.depth(switch, host).map(|depth| depth + 1),
        };
        let Some(least) = links.iter().filter_map(far).min() else { return Vec::new() };
        let numbered = (0u16..).zip(links);
        numbered.filter(|(_, link)| far(link) == Some(least)).map(|(number, _)| number).collect()
    }

    /// Returns whether a link of a node leads to `host`, by any path.
    pub fn leads(&self, (peer, up): (u32, bool), switch_of: &[u32], host: HostId, to: u32) -> bool {
        let switch = switch_of[peer as usize];
        up && if switch == u32::MAX { peer == to } else { self.depth(switch, host).is_some() }
    }

    /// Returns which of so many equal links of a host's node a flow with this hash takes.
    pub fn pick_link(&self, node: u32, links: usize, hash: u64) -> usize {
        share(hash, salt(self.seed, node), links)
    }

    /// ECMP: the candidate that a flow with this hash takes at `switch`.
    #[inline]
    pub fn pick(&self, switch: u32, candidates: &[Port], hash: u64) -> Option<u16> {
        match candidates {
            [] => None,
            [only] => Some(only.0),
            _ => Some(candidates[share(hash, self.salts[switch as usize], candidates.len())].0),
        }
    }
}

/// Returns the salt of a node for the hashes of flows.
fn salt(seed: u64, node: u32) -> u64 {
    mix(mix(seed ^ 0x0EC3) ^ u64::from(node))
}

/// Returns which of `of` equal paths a hash selects.
#[inline(always)]
fn share(hash: u64, salt: u64, of: usize) -> usize {
    (((mix(hash ^ salt) >> 32) * of as u64) >> 32) as usize
}

fn distances(neighbours: &Neighbours, switch_of: &[u32], start: u32) -> Vec<u32> {
    let mut distance = vec![u32::MAX; neighbours.len()];
    distance[start as usize] = 0;
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for (peer, up) in &neighbours[node as usize] {
            let unseen = distance[*peer as usize] == u32::MAX;
            if *up && unseen && switch_of[*peer as usize] != u32::MAX {
                distance[*peer as usize] = distance[node as usize] + 1;
                queue.push_back(*peer);
            }
        }
    }
    distance
}

/// As [`distances`], over links that do not all cost 1.
fn lengths(neighbours: &Neighbours, switch_of: &[u32], costs: &[Vec<u32>], start: u32) -> Vec<u32> {
    let mut length = vec![u32::MAX; neighbours.len()];
    length[start as usize] = 0;
    let mut next = BinaryHeap::from([Reverse((0, start))]);
    while let Some(Reverse((here, node))) = next.pop() {
        if here > length[node as usize] {
            continue;
        }
        let links = neighbours[node as usize].iter().zip(&costs[node as usize]);
        for ((peer, up), cost) in links {
            let there = here.saturating_add(*cost);
            if *up && there < length[*peer as usize] && switch_of[*peer as usize] != u32::MAX {
                length[*peer as usize] = there;
                next.push(Reverse((there, *peer)));
            }
        }
    }
    length
}

/// Pinned paths: entries in switches for single flows, removed when the flows end.
#[derive(Clone, Default, backwater_derive::State)]
pub(crate) struct Paths {
    /// Egress ports. A path is its length, followed by its ports.
    words: Vec<u16>,
    #[state(sorted)]
    free: HashMap<u16, Vec<u32>>,
    /// By the slot of the flow.
    flows: Vec<Pinned>,
}

/// The paths of a flow.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
struct Pinned {
    /// `None`: nothing is pinned.
    tag: Option<u32>,
    /// The paths of its data and of its acknowledgements, or [`PathRef::NONE`].
    forward: PathRef,
    back: PathRef,
    /// The first node after the receiver on the path of its acknowledgements.
    behind: NodeId,
}

impl Paths {
    /// Pins these paths of a flow, each of which may be [`PathRef::NONE`]; `behind` is the first node after its receiver on the path back.
    pub fn put_in(&mut self, flow: FlowRef, behind: NodeId, forward: PathRef, back: PathRef) {
        if forward == PathRef::NONE && back == PathRef::NONE {
            return;
        }
        let slot = flow.slot as usize;
        if self.flows.len() <= slot {
            let nothing = Pinned { tag: None, behind, forward: PathRef::NONE, back: PathRef::NONE };
            self.flows.resize(slot + 1, nothing);
        }
        self.flows[slot] = Pinned { tag: Some(flow.tag), behind, forward, back };
    }

    /// A flow has ended: its paths may be reused.
    pub fn take_out(&mut self, flow: FlowRef) {
        if self.is_pinned(flow) {
            let Pinned { forward, back, .. } = self.flows[flow.slot as usize];
            self.flows[flow.slot as usize].tag = None;
            self.remove(forward);
            self.remove(back);
        }
    }

    /// The same for the flow of a slot.
    pub fn take_out_of(&mut self, slot: u32) {
        if let Some(tag) = self.flows.get(slot as usize).and_then(|pinned| pinned.tag) {
            self.take_out(FlowRef { slot, tag });
        }
    }

    /// Returns whether a path of this flow is pinned.
    #[inline(always)]
    pub fn is_pinned(&self, flow: FlowRef) -> bool {
        self.flows.get(flow.slot as usize).is_some_and(|pinned| pinned.tag == Some(flow.tag))
    }

    /// The path of a flow's acknowledgements, and its first node after the receiver.
    pub fn back(&self, flow: FlowRef) -> Option<(PathRef, NodeId)> {
        let pinned = self.flows.get(flow.slot as usize).filter(|pinned| pinned.tag == Some(flow.tag))?;
        (pinned.back != PathRef::NONE).then_some((pinned.back, pinned.behind))
    }

    pub fn insert(&mut self, ports: &[u16]) -> PathRef {
        let len = ports.len() as u16;
        let at = self.free.get_mut(&len).and_then(Vec::pop).unwrap_or_else(|| {
            let at = self.words.len() as u32;
            self.words.resize(self.words.len() + ports.len() + 1, 0);
            at
        });
        self.words[at as usize] = len;
        self.words[at as usize + 1..][..ports.len()].copy_from_slice(ports);
        PathRef(at)
    }

    fn remove(&mut self, path: PathRef) {
        if path != PathRef::NONE {
            self.free.entry(self.words[path.0 as usize]).or_default().push(path.0);
        }
    }

    /// The egress port at the switch number `hop` of the path.
    #[inline(always)]
    pub fn port(&self, path: PathRef, hop: u8) -> u16 {
        self.words[path.0 as usize + 1 + usize::from(hop)]
    }

    /// Number of switches on the path.
    pub fn len(&self, path: PathRef) -> u8 {
        self.words[path.0 as usize] as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{FatTree, NodeKind};
    use crate::units::Rate;
    use backwater_engine::Time;

    fn of(graph: &Graph) -> (EcmpTable, Neighbours, Vec<u32>) {
        let ends = graph.ports().unwrap();
        let neighbours: Neighbours =
            ends.iter().map(|ports| ports.iter().map(|end| (end.peer.0, true)).collect()).collect();
        let mut switch_of = vec![u32::MAX; graph.nodes.len()];
        graph.switches().enumerate().for_each(|(number, node)| switch_of[node.0 as usize] = number as u32);
        (EcmpTable::new(graph, &neighbours, &switch_of, 1), neighbours, switch_of)
    }

    fn tree() -> Graph {
        let (pods, tors_per_pod, aggs_per_pod, cores, hosts_per_tor) = (4, 2, 2, 4, 2);
        FatTree { pods, tors_per_pod, aggs_per_pod, cores, hosts_per_tor, ..FatTree::default() }.build().unwrap()
    }

    /// A packet that follows any candidate at any switch comes one step closer, and arrives; the number of paths in a fat tree is known.
    #[test]
    fn candidates_lead_to_the_host() {
        let graph = tree();
        let (mut routes, neighbours, switch_of) = of(&graph);
        let hosts: Vec<u32> = graph.hosts().map(|node| node.0).collect();
        for (host, node) in (0u32..).zip(&hosts) {
            routes.learn(&neighbours, &switch_of, HostId(host));
            for (from, first) in (0u32..).zip(&hosts).filter(|(from, _)| *from != host) {
                let mut at = vec![neighbours[*first as usize][0].0];
                let mut steps = 1;
                while at.iter().any(|n| n != node) {
                    let step = |n: &u32| {
                        let here = &neighbours[*n as usize];
                        let ports = routes.candidates(switch_of[*n as usize], HostId(host)).iter();
                        ports.map(|port| here[usize::from(port.0)].0).collect::<Vec<_>>()
                    };
                    at = at.iter().flat_map(step).collect();
                    steps += 1;
                }
                // Same ToR: one path of 2 links; same pod: 2 of 4; elsewhere: 2 aggregation switches with 2 cores each, 6 links.
                let far = (from / 2 != host / 2, from / 4 != host / 4);
                let expected = match far {
                    (false, _) => (1, 2),
                    (true, false) => (2, 4),
                    (true, true) => (4, 6),
                };
                assert_eq!((at.len(), steps), expected, "h{from} to h{host}");
            }
        }
    }

    /// The tables grow with the number of destination switches, not with all pairs of switches.
    #[test]
    fn tables_grow_with_the_destinations() {
        let mut graph = Graph::default();
        let switches: Vec<_> = (0..2_000).map(|n| graph.add(format!("s{n}"), "switch", NodeKind::Switch)).collect();
        for (number, &switch) in switches.iter().enumerate() {
            let host = graph.add(format!("h{number}"), "host", NodeKind::Host);
            graph.link(host, switch, Rate::gbps(10), Time::ZERO);
            graph.link(switch, switches[(number + 1) % switches.len()], Rate::gbps(10), Time::ZERO);
        }
        let (mut routes, neighbours, switch_of) = of(&graph);
        assert_eq!(routes.size(), 0);
        for host in 0..3 {
            routes.learn(&neighbours, &switch_of, HostId(host));
            assert!(routes.knows(HostId(host)) && !routes.knows(HostId(host + 1)));
            assert!(routes.size() <= (host as usize + 1) * 8 * 2_000 + 1_000, "{}", routes.size());
        }
        // Along the ring the shorter way; to the farthest switch both ways.
        let candidates = |switch: u32| routes.candidates(switch, HostId(0)).len();
        assert_eq!([candidates(1), candidates(1_999), candidates(1_000)], [1, 1, 2]);
    }

    /// A word returns the ports that were put into it, up to its last bit but one.
    #[test]
    fn a_way_holds_as_many_ports_as_fit() {
        for (most_ports, hops) in [(1, 63), (2, 63), (3, 31), (16, 15), (17, 12), (64, 10), (4096, 5), (65_536, 3)] {
            let ecmp_paths = EcmpPaths::new(most_ports);
            let port =
                |hop: u32| ((most_ports - 1) as u32).wrapping_sub(hop % 2) as u16 % most_ports.min(65_535) as u16;
            let mut ecmp_path = 0;
            for hop in 0..hops {
                ecmp_path = ecmp_paths.with(ecmp_path, hop, port(hop)).unwrap_or(NO_PATH);
            }
            assert_ne!(ecmp_path, NO_PATH, "{most_ports} ports");
            assert_eq!(ecmp_paths.with(ecmp_path, hops, 0), None, "{most_ports} ports");
            (0..hops).for_each(|hop| {
                assert_eq!(ecmp_paths.port(ecmp_path, hop as u8), port(hop), "{most_ports} ports, hop {hop}")
            });
        }
        assert!(!EcmpPaths::default().are_known());
    }

    /// A ring of five switches with a host each: from s0 to s2 two links and three links are equally long if the links cost 3, 2, 1, 2, 2.
    #[test]
    fn ways_are_as_long_as_their_links_cost() {
        let mut graph = crate::topology::Graph::default();
        let hosts: Vec<NodeId> = (0..5).map(|i| graph.add(format!("h{i}"), "host", NodeKind::Host)).collect();
        let ring: Vec<NodeId> = (0..5).map(|i| graph.add(format!("s{i}"), "switch", NodeKind::Switch)).collect();
        let (rate, delay) = (crate::units::Rate::gbps(1), backwater_engine::Time::ZERO);
        hosts.iter().zip(&ring).for_each(|(host, switch)| graph.link(*host, *switch, rate, delay));
        for (i, cost) in [3, 2, 1, 2, 2].into_iter().enumerate() {
            graph.link(ring[i], ring[(i + 1) % 5], rate, delay);
            graph.links.last_mut().unwrap().cost = cost;
        }
        let (mut routes, mut neighbours, switch_of) = of(&graph);
        routes.learn(&neighbours, &switch_of, HostId(2));
        // Ports of s0: its host, to s1, to s4. Ports of s1: its host, to s0, to s2.
        assert_eq!(routes.candidates(0, HostId(2)), [Port(1), Port(2)]);
        assert_eq!(routes.candidates(1, HostId(2)), [Port(2)]);
        assert_eq!(routes.candidates(4, HostId(2)), [Port(1)]);
        // Without the link from s3 to s2 the more expensive path is left.
        neighbours[8].iter_mut().filter(|(peer, _)| *peer == 7).for_each(|(_, up)| *up = false);
        neighbours[7].iter_mut().filter(|(peer, _)| *peer == 8).for_each(|(_, up)| *up = false);
        routes.forget();
        routes.learn(&neighbours, &switch_of, HostId(2));
        assert_eq!(routes.candidates(0, HostId(2)), [Port(1)]);
        assert_eq!(routes.candidates(3, HostId(2)), [Port(2)]);
    }

    /// A link that fails leaves the other paths, and returns.
    #[test]
    fn routes_are_found_anew() {
        let graph = tree();
        let (mut routes, mut neighbours, switch_of) = of(&graph);
        routes.learn(&neighbours, &switch_of, HostId(15));
        let tor = graph.node("tor0").unwrap_or_else(|| graph.switches().next().unwrap()).0;
        let here = switch_of[tor as usize];
        let before = routes.candidates(here, HostId(15)).to_vec();
        assert_eq!(before.len(), 2);
        neighbours[tor as usize][usize::from(before[0].0)].1 = false;
        routes.forget();
        assert!(!routes.knows(HostId(15)));
        routes.learn(&neighbours, &switch_of, HostId(15));
        assert_eq!(routes.candidates(here, HostId(15)), &before[1..]);
        assert!(!routes.knows(HostId(0)));
        neighbours[tor as usize][usize::from(before[0].0)].1 = true;
        routes.forget();
        routes.learn(&neighbours, &switch_of, HostId(15));
        assert_eq!(routes.candidates(here, HostId(15)), before);
    }
}
