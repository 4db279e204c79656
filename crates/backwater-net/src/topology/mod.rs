//! Nodes and links, and the builders of the usual shapes.
//!
//! A builder is a table of a scenario with `build(&self) -> Result<Graph, GraphError>`; it numbers hosts, ports and nodes in a documented
//! order, because paths, hashes and random streams depend on the numbers. [`index::Index`] looks things up in a graph by name. Routing is
//! elsewhere.

pub mod address;
pub mod dragonfly;
pub mod dragonfly_plus;
pub mod dumbbell;
mod error;
pub mod explicit;
pub mod fat_tree;
mod groups;
pub mod index;
pub mod leaf_spine;
mod limits;
pub mod nvlink;
pub mod parking_lot;
pub(crate) mod routing;
pub mod star;

pub use dragonfly::Dragonfly;
pub use dragonfly_plus::DragonflyPlus;
pub use dumbbell::Dumbbell;
pub use error::{GraphError, PathError};
pub use explicit::{Explicit, ExplicitLink, ExplicitNode, PerDirection};
pub use fat_tree::{CoreWiring, FatTree};
pub use index::Index;
pub use leaf_spine::LeafSpine;
pub use limits::MOST;
pub use nvlink::NvLink;
pub use parking_lot::ParkingLot;
pub use star::Star;

use crate::model::packet::{HostId, NodeId, Port};
use crate::units::Rate;
use backwater_engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nodes and links: the table `[topology]` of a scenario. Each kind is declared at its struct.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Topology {
    Star(Star),
    Dumbbell(Dumbbell),
    ParkingLot(ParkingLot),
    LeafSpine(LeafSpine),
    FatTree(FatTree),
    Dragonfly(Dragonfly),
    DragonflyPlus(DragonflyPlus),
    Explicit(Explicit),
}

/// Does the same with a topology of each kind.
macro_rules! of_each_kind {
    ($topology:expr, $of:ident => $same:expr) => {
        match $topology {
            Topology::Star($of) => $same,
            Topology::Dumbbell($of) => $same,
            Topology::ParkingLot($of) => $same,
            Topology::LeafSpine($of) => $same,
            Topology::FatTree($of) => $same,
            Topology::Dragonfly($of) => $same,
            Topology::DragonflyPlus($of) => $same,
            Topology::Explicit($of) => $same,
        }
    };
}

impl Topology {
    /// Most hosts.
    const MOST_HOSTS: u64 = 1_000_000;

    /// Its graph.
    ///
    /// # Errors
    /// The topology cannot be built.
    pub fn build(&self) -> Result<Graph, GraphError> {
        let hosts = of_each_kind!(self, of => of.hosts());
        if hosts > Self::MOST_HOSTS {
            return Err(GraphError::TooMany { what: "hosts".into(), got: hosts, most: Self::MOST_HOSTS });
        }
        of_each_kind!(self, of => of.build())
    }

    /// Its NVLink domains.
    pub fn nvlink(&self) -> Option<&NvLink> {
        match self {
            Topology::LeafSpine(of) => of.nvlink.as_ref(),
            Topology::FatTree(of) => of.nvlink.as_ref(),
            Topology::Dragonfly(of) => of.nvlink.as_ref(),
            Topology::DragonflyPlus(of) => of.nvlink.as_ref(),
            _ => None,
        }
    }
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Sends and receives flows over one link or several, and forwards nothing.
    Host,
    /// Forwards frames.
    Switch,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Unique name: `h0`, `leaf3`, `spine1`.
    pub name: String,
    /// Tier, by which parameters can be overridden: `host`, `leaf`, `spine`, …
    pub tier: String,
    /// Host or switch.
    pub kind: NodeKind,
}

/// A full-duplex link; several may join the same two nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Rate from `a` to `b`, and from `b` to `a`.
    pub rates: [Rate; 2],
    /// Propagation delay in each direction.
    pub delay: Time,
    /// Port numbers demanded at `a` and at `b`. See [`Graph::ports`].
    pub demanded: [Option<Port>; 2],
    /// Loss ratios of frames from `a` to `b`, and from `b` to `a`, 0 to 1.
    pub losses: [f64; 2],
    /// True if it carries frames at the start. ECMP omits a link that does not.
    pub up: bool,
    /// Its share in the length of a path, at least 1; ECMP takes the shortest. Unused for a host's link.
    pub cost: u32,
}

impl Link {
    /// A link that is the same in both directions, is up and loses nothing.
    pub fn new(a: NodeId, b: NodeId, rate: Rate, delay: Time) -> Link {
        Link { a, b, rates: [rate; 2], delay, demanded: [None, None], losses: [0.0; 2], up: true, cost: 1 }
    }

    /// Rate at which `node`, one of its ends, sends.
    pub fn rate_from(&self, node: NodeId) -> Rate {
        self.rates[usize::from(node != self.a)]
    }

    /// Loss ratio of the frames that `node`, one of its ends, sends.
    pub fn loss_from(&self, node: NodeId) -> f64 {
        self.losses[usize::from(node != self.a)]
    }

    /// The lower of its two rates.
    pub fn slowest(&self) -> Rate {
        self.rates[0].min(self.rates[1])
    }

    /// The higher of its two rates.
    pub fn fastest(&self) -> Rate {
        self.rates[0].max(self.rates[1])
    }

    /// Returns whether it loses frames in a direction.
    pub fn loses(&self) -> bool {
        self.losses.iter().any(|share| *share > 0.0)
    }
}

/// One port of a node, with its link and peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortEnd {
    /// Index into [`Graph::links`].
    pub link: u32,
    /// The node at the other end.
    pub peer: NodeId,
    /// The port at that node.
    pub peer_port: Port,
}

/// A topology. A node's ports are numbered from 0 in the order of its links, except where a link demands a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Nodes by number.
    pub nodes: Vec<Node>,
    /// Links.
    pub links: Vec<Link>,
}

impl Graph {
    /// Adds a node.
    pub fn add(&mut self, name: impl Into<String>, tier: &str, kind: NodeKind) -> NodeId {
        self.nodes.push(Node { name: name.into(), tier: tier.to_owned(), kind });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a link.
    pub fn link(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Time) {
        self.links.push(Link::new(a, b, rate, delay));
    }

    /// Adds so many parallel links.
    pub fn bundle(&mut self, links: u32, a: NodeId, b: NodeId, rate: Rate, delay: Time) {
        (0..links).for_each(|_| self.link(a, b, rate, delay));
    }

    /// Nodes that are hosts; host `i` is the i-th.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> {
        self.of_kind(NodeKind::Host)
    }

    /// Nodes that are switches.
    pub fn switches(&self) -> impl Iterator<Item = NodeId> {
        self.of_kind(NodeKind::Switch)
    }

    fn of_kind(&self, kind: NodeKind) -> impl Iterator<Item = NodeId> {
        let numbered = self.nodes.iter().enumerate();
        numbered.filter(move |(_, n)| n.kind == kind).map(|(i, _)| NodeId(i as u32))
    }

    /// Returns whether some host has several links.
    pub fn has_several_links(&self) -> bool {
        self.several().contains(&true)
    }

    /// Per node: whether it is a host with several links.
    fn several(&self) -> Vec<bool> {
        let mut number = vec![0u32; self.nodes.len()];
        for node in self.links.iter().flat_map(|link| [link.a, link.b]) {
            number.get_mut(node.0 as usize).into_iter().for_each(|number| *number += 1);
        }
        let nodes = self.nodes.iter().zip(number);
        nodes.map(|(node, links)| node.kind == NodeKind::Host && links > 1).collect()
    }

    /// The node of a name. A linear search; for many names use [`Index`].
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|n| n.name == name).map(|i| NodeId(i as u32))
    }

    /// The host number of a node. A linear search; for many nodes use [`Index`].
    pub fn host_of(&self, node: NodeId) -> Option<HostId> {
        self.hosts().position(|n| n == node).map(|i| HostId(i as u32))
    }

    /// The ports of every node, by node and port number.
    ///
    /// Links that demand a number at a node get it; the others take the remaining numbers in the order of the links. Numbers have no gaps:
    /// a node with three links has the ports 0, 1 and 2.
    pub fn ports(&self) -> Result<Vec<Vec<PortEnd>>, GraphError> {
        let mut numbers = vec![[Port(0); 2]; self.links.len()];
        let mut taken: Vec<Vec<Option<u32>>> = self.degrees()?.into_iter().map(|d| vec![None; d as usize]).collect();
        for (at, link) in self.links.iter().enumerate() {
            for (end, node) in [link.a, link.b].into_iter().enumerate() {
                let Some(port) = link.demanded[end] else { continue };
                let slots = &mut taken[node.0 as usize];
                let ports = slots.len();
                let name = || self.nodes[node.0 as usize].name.clone();
                let Some(slot) = slots.get_mut(usize::from(port.0)) else {
                    return Err(GraphError::PortBeyond { node: name(), port: port.0, links: ports, link: at });
                };
                if let Some(first) = *slot {
                    return Err(GraphError::PortTwice { node: name(), port: port.0, links: [first as usize, at] });
                }
                *slot = Some(at as u32);
                numbers[at][end] = port;
            }
        }
        let mut next = vec![0usize; self.nodes.len()];
        for (at, link) in self.links.iter().enumerate() {
            for (end, node) in [link.a, link.b].into_iter().enumerate() {
                if link.demanded[end].is_some() {
                    continue;
                }
                let (slots, free) = (&mut taken[node.0 as usize], &mut next[node.0 as usize]);
                while slots[*free].is_some() {
                    *free += 1;
                }
                slots[*free] = Some(at as u32);
                numbers[at][end] = Port(*free as u16);
            }
        }
        let nodes = taken.into_iter().enumerate();
        let end = |node: usize, port: usize, at: Option<u32>| {
            let at = at.expect("as many slots as links were made");
            let (link, number) = (&self.links[at as usize], numbers[at as usize]);
            let here = (NodeId(node as u32), Port(port as u16));
            let (peer, peer_port) = if (link.a, number[0]) == here { (link.b, number[1]) } else { (link.a, number[0]) };
            PortEnd { link: at, peer, peer_port }
        };
        Ok(nodes
            .map(|(node, slots)| slots.into_iter().enumerate().map(|(port, at)| end(node, port, at)).collect())
            .collect())
    }

    /// Links per node.
    fn degrees(&self) -> Result<Vec<u32>, GraphError> {
        let mut degrees = vec![0u32; self.nodes.len()];
        for (at, link) in self.links.iter().enumerate() {
            for node in [link.a, link.b] {
                let degree = degrees.get_mut(node.0 as usize);
                *degree.ok_or(GraphError::UnknownNode { link: at, name: format!("number {}", node.0) })? += 1;
            }
        }
        let full = degrees.iter().position(|&d| d > u32::from(u16::MAX));
        match full {
            Some(n) => {
                let what = format!("links of {}", self.nodes[n].name);
                Err(GraphError::TooMany { what, got: degrees[n].into(), most: u16::MAX.into() })
            }
            None => Ok(degrees),
        }
    }

    /// Checks that links are not too many, that names are unique, that each host has a link, that links have a rate and two ends, and that
    /// port numbers fit. Reachability is checked with [`Graph::islands`]: only the flows determine which hosts must reach each other.
    pub fn validate(&self) -> Result<(), GraphError> {
        if self.links.len() as u64 > MOST {
            return Err(GraphError::TooMany { what: "links".to_owned(), got: self.links.len() as u64, most: MOST });
        }
        let mut names = std::collections::HashSet::with_capacity(self.nodes.len());
        for node in &self.nodes {
            if !names.insert(node.name.as_str()) {
                return Err(GraphError::NameTwice { name: node.name.clone() });
            }
        }
        for (at, link) in self.links.iter().enumerate() {
            if link.a == link.b {
                let name = self.nodes.get(link.a.0 as usize).map_or_else(String::new, |n| n.name.clone());
                return Err(GraphError::Loop { link: at, name });
            }
            if link.slowest() == Rate(0) {
                return Err(GraphError::NoRate { link: at });
            }
        }
        let degrees = self.degrees()?;
        for (node, links) in self.nodes.iter().zip(degrees) {
            if node.kind == NodeKind::Host && links == 0 {
                return Err(GraphError::HostLinks { name: node.name.clone() });
            }
        }
        self.ports().map(|_| ())
    }

    /// For each node the number of its part of the network, where links that are up connect a part; hosts of different parts never reach
    /// each other. A host with several links connects nothing, since it does not forward: it is a part by itself.
    pub fn islands(&self) -> Vec<u32> {
        let mut root: Vec<u32> = (0..self.nodes.len() as u32).collect();
        let several = self.several();
        let apart = |link: &&Link| [link.a, link.b].into_iter().any(|end| several[end.0 as usize]);
        for link in self.links.iter().filter(|link| link.up && !apart(link)) {
            let (a, b) = (find(&mut root, link.a.0), find(&mut root, link.b.0));
            root[a.max(b) as usize] = a.min(b);
        }
        (0..root.len() as u32).map(|n| find(&mut root, n)).collect()
    }
}

/// The root of `n`, with path halving.
fn find(root: &mut [u32], mut n: u32) -> u32 {
    while root[n as usize] != n {
        root[n as usize] = root[root[n as usize] as usize];
        n = root[n as usize];
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> Graph {
        let mut graph = Graph::default();
        let (a, b) = (graph.add("a", "switch", NodeKind::Switch), graph.add("b", "switch", NodeKind::Switch));
        for _ in 0..3 {
            graph.link(a, b, Rate::gbps(1), Time::ZERO);
        }
        graph
    }

    #[test]
    fn demanded_ports_come_first_and_the_others_fill_up() {
        let mut graph = pair();
        graph.links[0].demanded = [Some(Port(1)), None];
        graph.links[2].demanded = [None, Some(Port(0))];
        let ports = graph.ports().unwrap();
        let links = |n: usize| ports[n].iter().map(|p| p.link).collect::<Vec<_>>();
        assert_eq!(links(0), [1, 0, 2]);
        assert_eq!(links(1), [2, 0, 1]);
        assert_eq!(ports[0][0], PortEnd { link: 1, peer: NodeId(1), peer_port: Port(2) });
        for (node, list) in ports.iter().enumerate() {
            for (port, end) in list.iter().enumerate() {
                let back = ports[end.peer.0 as usize][usize::from(end.peer_port.0)];
                assert_eq!((back.peer, back.peer_port, back.link), (NodeId(node as u32), Port(port as u16), end.link));
            }
        }
    }

    #[test]
    fn ports_without_a_link_or_with_two_are_refused() {
        let mut graph = pair();
        graph.links[0].demanded = [Some(Port(2)), None];
        graph.links[1].demanded = [Some(Port(2)), None];
        assert_eq!(graph.ports(), Err(GraphError::PortTwice { node: "a".into(), port: 2, links: [0, 1] }));
        graph.links[1].demanded = [Some(Port(3)), None];
        assert_eq!(graph.validate(), Err(GraphError::PortBeyond { node: "a".into(), port: 3, links: 3, link: 1 }));
    }

    #[test]
    fn islands_tell_who_is_cut_off() {
        let mut graph = pair();
        let c = graph.add("c", "switch", NodeKind::Switch);
        assert_eq!(graph.islands(), [0, 0, 2]);
        graph.link(c, NodeId(1), Rate::gbps(1), Time::ZERO);
        assert_eq!(graph.islands(), [0, 0, 0]);
        graph.links[3].up = false;
        assert_eq!(graph.islands(), [0, 0, 2]);
    }

    #[test]
    fn what_validate_refuses() {
        let mut graph = pair();
        let host = graph.add("a", "host", NodeKind::Host);
        assert_eq!(graph.validate(), Err(GraphError::NameTwice { name: "a".into() }));
        graph.nodes[2].name = "h".into();
        assert_eq!(graph.validate(), Err(GraphError::HostLinks { name: "h".into() }));
        graph.link(host, host, Rate::gbps(1), Time::ZERO);
        assert_eq!(graph.validate(), Err(GraphError::Loop { link: 3, name: "h".into() }));
        graph.links[3] = Link { a: NodeId(0), rates: [Rate::gbps(1), Rate(0)], ..graph.links[3] };
        assert_eq!(graph.validate(), Err(GraphError::NoRate { link: 3 }));
        graph.links[3].rates = [Rate::gbps(1); 2];
        assert_eq!(graph.validate(), Ok(()));
    }
}
