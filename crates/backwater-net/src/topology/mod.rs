//! Nodes and links.

use crate::packet::{HostId, NodeId};
use crate::units::Rate;
use backwater_engine::Time;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Sends and receives flows; has exactly one link.
    Host,
    /// Forwards.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Rate in each direction.
    pub rate: Rate,
    /// Propagation delay in each direction.
    pub delay: Time,
}

/// A topology. A node's ports are numbered from 0 in the order of its links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
        self.links.push(Link { a, b, rate, delay });
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

    /// The node of a name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|n| n.name == name).map(|i| NodeId(i as u32))
    }

    /// The host number of a node.
    pub fn host_of(&self, node: NodeId) -> Option<HostId> {
        self.hosts().position(|n| n == node).map(|i| HostId(i as u32))
    }
}
