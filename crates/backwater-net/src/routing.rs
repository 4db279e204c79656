//! Shortest paths, all of equal length kept (ECMP), and pinned paths.

use crate::packet::{HostId, Port};
use crate::topology::{Graph, NodeKind};
use backwater_engine::fingerprint::mix;
use std::collections::HashMap;

pub(crate) const NO_PATH: u32 = u32::MAX;

/// For each switch and each switch that has hosts: the ports on shortest paths.
pub(crate) struct Routes {
    /// Per host: index of the switch that it hangs on among switches with hosts, and that switch's port to it.
    attach: Vec<(u32, u32, Port)>,
    /// Ranges into `ports`, by switch and edge switch.
    ranges: Vec<(u32, u16)>,
    ports: Vec<Port>,
    edges: usize,
    salts: Vec<u64>,
}

/// The ports of each node: the far node and whether the link is up, in port order.
pub(crate) type Neighbours = Vec<Vec<(u32, bool)>>;

impl Routes {
    /// Computes all routes over links that are up. `switch_of[node]` numbers switches; `hosts` are node numbers.
    pub fn new(graph: &Graph, neighbours: &Neighbours, switch_of: &[u32], seed: u64) -> Routes {
        let hosts: Vec<u32> = graph.hosts().map(|n| n.0).collect();
        let switches = graph.switches().count();
        let mut edge_of: HashMap<u32, u32> = HashMap::new();
        let mut edge_nodes = Vec::new();
        let mut attach = Vec::with_capacity(hosts.len());
        for host in &hosts {
            let to = neighbours[*host as usize].first().map_or(u32::MAX, |(peer, _)| *peer);
            if to == u32::MAX || graph.nodes[to as usize].kind == NodeKind::Host {
                attach.push((u32::MAX, u32::MAX, Port(0)));
                continue;
            }
            let edge = *edge_of.entry(to).or_insert_with(|| {
                edge_nodes.push(to);
                edge_nodes.len() as u32 - 1
            });
            let port = neighbours[to as usize].iter().position(|(peer, _)| peer == host).unwrap_or(0);
            attach.push((edge, switch_of[to as usize], Port(port as u16)));
        }
        let edges = edge_nodes.len();
        let mut ranges = vec![(0, 0); switches * edges];
        let mut ports = Vec::new();
        for (edge, start) in edge_nodes.iter().enumerate() {
            let distance = distances(graph, neighbours, *start);
            for node in graph.switches() {
                let here = distance[node.0 as usize];
                let begin = ports.len() as u32;
                if here != u32::MAX && here != 0 {
                    let closer = neighbours[node.0 as usize].iter().enumerate().filter(|(_, (peer, up))| {
                        *up && graph.nodes[*peer as usize].kind == NodeKind::Switch
                            && distance[*peer as usize] == here - 1
                    });
                    ports.extend(closer.map(|(p, _)| Port(p as u16)));
                }
                ranges[switch_of[node.0 as usize] as usize * edges + edge] =
                    (begin, (ports.len() as u32 - begin) as u16);
            }
        }
        let salts = graph.switches().map(|n| mix(mix(seed ^ 0x0EC3) ^ u64::from(n.0))).collect();
        Routes { attach, ranges, ports, edges, salts }
    }

    /// Ports of `switch` on shortest paths to `host`; empty: unreachable.
    #[inline]
    pub fn candidates(&self, switch: u32, host: HostId) -> &[Port] {
        let (edge, at, port) = &self.attach[host.0 as usize];
        if *at == switch {
            return std::slice::from_ref(port);
        }
        if *edge == u32::MAX {
            return &[];
        }
        let (begin, len) = self.ranges[switch as usize * self.edges + *edge as usize];
        &self.ports[begin as usize..begin as usize + usize::from(len)]
    }

    /// ECMP: the candidate that a flow with this hash takes at `switch`.
    #[inline]
    pub fn pick(&self, switch: u32, candidates: &[Port], hash: u64) -> Option<u16> {
        match candidates {
            [] => None,
            [only] => Some(only.0),
            _ => {
                let h = mix(hash ^ self.salts[switch as usize]) >> 32;
                Some(candidates[((h * candidates.len() as u64) >> 32) as usize].0)
            }
        }
    }
}

fn distances(graph: &Graph, neighbours: &Neighbours, start: u32) -> Vec<u32> {
    let mut distance = vec![u32::MAX; graph.nodes.len()];
    distance[start as usize] = 0;
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for (peer, up) in &neighbours[node as usize] {
            let unseen = distance[*peer as usize] == u32::MAX;
            if *up && unseen && graph.nodes[*peer as usize].kind == NodeKind::Switch {
                distance[*peer as usize] = distance[node as usize] + 1;
                queue.push_back(*peer);
            }
        }
    }
    distance
}

/// Egress ports at the switches of pinned paths. An entry is its length, then its ports.
#[derive(Default)]
pub(crate) struct Paths {
    words: Vec<u16>,
    free: HashMap<u16, Vec<u32>>,
}

impl Paths {
    pub fn insert(&mut self, ports: &[u16]) -> u32 {
        let len = ports.len() as u16;
        let at = self.free.get_mut(&len).and_then(Vec::pop).unwrap_or_else(|| {
            let at = self.words.len() as u32;
            self.words.resize(self.words.len() + ports.len() + 1, 0);
            at
        });
        self.words[at as usize] = len;
        self.words[at as usize + 1..][..ports.len()].copy_from_slice(ports);
        at
    }

    pub fn remove(&mut self, at: u32) {
        if at != NO_PATH {
            self.free.entry(self.words[at as usize]).or_default().push(at);
        }
    }

    /// The egress port at the switch number `hop` of the path.
    #[inline(always)]
    pub fn port(&self, at: u32, hop: u8) -> u16 {
        self.words[at as usize + 1 + usize::from(hop)]
    }

    /// Number of switches on the path.
    pub fn len(&self, at: u32) -> u8 {
        self.words[at as usize] as u8
    }
}
