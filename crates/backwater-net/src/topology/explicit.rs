//! Explicit: nodes and links by name, as a study's own figure has them.

use super::limits::{MOST, count};
use super::{Graph, GraphError, Link, NodeKind};
use crate::model::packet::Port;
use crate::units::Rate;
use backwater_engine::Time;
use std::collections::HashMap;

/// Nodes and links by name. Hosts are numbered in the order in which they are listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explicit {
    /// The nodes.
    pub nodes: Vec<ExplicitNode>,
    /// The links; several may join the same two nodes.
    pub links: Vec<ExplicitLink>,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplicitNode {
    /// Unique name.
    pub name: String,
    /// `host` or `switch`.
    pub kind: NodeKind,
    /// Tier, by which parameters can be overridden; absent: `host` or `switch`.
    pub tier: Option<String>,
}

/// A full-duplex link.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplicitLink {
    /// Name of one end.
    pub a: String,
    /// Name of the other end.
    pub b: String,
    /// Rate from `a` to `b`, and from `b` to `a`.
    pub rates: [Rate; 2],
    /// Propagation delay in each direction.
    pub delay: Time,
    /// Port number at `a`; absent: the lowest that is left.
    pub a_port: Option<u16>,
    /// Port number at `b`; absent: the lowest that is left.
    pub b_port: Option<u16>,
}

impl Explicit {
    /// The graph, nodes and links in the order in which they are listed.
    pub fn build(&self) -> Result<Graph, GraphError> {
        count("nodes", self.nodes.len() as u64, MOST)?;
        count("links", self.links.len() as u64, MOST)?;
        let mut graph = Graph::default();
        let mut names = HashMap::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let usual = match node.kind {
                NodeKind::Host => "host",
                NodeKind::Switch => "switch",
            };
            let id = graph.add(node.name.as_str(), node.tier.as_deref().unwrap_or(usual), node.kind);
            names.insert(node.name.as_str(), id);
        }
        for (at, link) in self.links.iter().enumerate() {
            let end = |name: &str| {
                names.get(name).copied().ok_or_else(|| GraphError::UnknownNode { link: at, name: name.to_owned() })
            };
            let demanded = [link.a_port.map(Port), link.b_port.map(Port)];
            let same = Link::new(end(&link.a)?, end(&link.b)?, link.rates[0], link.delay);
            graph.links.push(Link { rates: link.rates, demanded, ..same });
        }
        graph.validate()?;
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, kind: NodeKind) -> ExplicitNode {
        ExplicitNode { name: name.into(), kind, tier: None }
    }

    fn link(a: &str, b: &str) -> ExplicitLink {
        let (rates, delay) = ([Rate::gbps(10); 2], Time::ns(500));
        ExplicitLink { a: a.into(), b: b.into(), rates, delay, a_port: None, b_port: None }
    }

    fn line() -> Explicit {
        Explicit {
            nodes: vec![node("a", NodeKind::Host), node("core", NodeKind::Switch), node("b", NodeKind::Host)],
            links: vec![link("a", "core"), link("core", "b")],
        }
    }

    #[test]
    fn numbers_follow_the_lists() {
        let mut shape = line();
        shape.nodes[1].tier = Some("core".into());
        shape.links[1].a_port = Some(0);
        let graph = shape.build().unwrap();
        assert_eq!(graph.nodes[1].tier, "core");
        assert_eq!(graph.nodes[0].tier, "host");
        let peers: Vec<_> = graph.ports().unwrap()[1].iter().map(|p| p.peer.0).collect();
        assert_eq!(peers, [2, 0]);
    }

    #[test]
    fn what_is_refused() {
        let with = |change: fn(&mut Explicit)| {
            let mut shape = line();
            change(&mut shape);
            shape.build().unwrap_err()
        };
        let unknown = with(|s| s.links[1].b = "c".into());
        assert_eq!(unknown, GraphError::UnknownNode { link: 1, name: "c".into() });
        let twice = with(|s| {
            s.links[0].b_port = Some(1);
            s.links[1].a_port = Some(1);
        });
        assert_eq!(twice.to_string(), "port 1 of `core` is used twice, by link 0 and by link 1");
        let none = with(|s| s.nodes.push(node("c", NodeKind::Host)));
        assert_eq!(none.to_string(), "host `c` has no link");
        let twin = with(|s| s.nodes.push(node("a", NodeKind::Switch)));
        assert_eq!(twin, GraphError::NameTwice { name: "a".into() });
    }
}
