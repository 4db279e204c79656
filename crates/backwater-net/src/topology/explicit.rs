//! Explicit: nodes and links by name, as in a figure of a study.

use super::limits::{MOST, count};
use super::{Graph, GraphError, Link, NodeKind};
use crate::model::packet::Port;
use crate::units::Rate;
use backwater_derive::parameters;
use backwater_engine::Time;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A list of all nodes and links.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct Explicit {
    /// The nodes, a `[[topology.node]]` each; hosts are numbered in this order.
    pub node: Vec<ExplicitNode>,
    /// The links, a `[[topology.link]]` each; a node's ports are numbered in this order unless `a` and `b` name ports.
    pub link: Vec<ExplicitLink>,
}

/// A node.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct ExplicitNode {
    /// Name of the node; each name is unique.
    #[param(range_text = "any text without blanks, commas and colons", source = "Backwater's own")]
    pub name: String,
    /// Kind of the node: `host` or `switch`.
    #[param(source = "Backwater's own")]
    pub kind: NodeKind,
    /// Tier of the node, by which overrides select it. Absent: its kind.
    #[param(range_text = "any text", source = "Backwater's own")]
    pub tier: Option<String>,
}

/// A full-duplex link; several may join the same two nodes.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct ExplicitLink {
    /// One end of the link: the name of a node, or of a node and its port as in `leaf0:3`.
    #[param(range_text = "NODE or NODE:PORT", source = "Backwater's own")]
    pub a: String,
    /// The other end of the link.
    #[param(range_text = "NODE or NODE:PORT", source = "Backwater's own")]
    pub b: String,
    /// Rate in each direction.
    #[schemars(with = "Rate")]
    #[param(per_direction, bounds = Rate(1).., source = "IEEE 802.3: full duplex")]
    pub rate: PerDirection<Rate>,
    /// Propagation delay, the same in each direction.
    #[schemars(with = "Time")]
    #[param(per_direction, range_text = "0 s and more", source = "Backwater's own")]
    pub delay: PerDirection<Time>,
}

impl Explicit {
    /// Returns the number of hosts.
    pub(super) fn hosts(&self) -> u64 {
        self.node.iter().filter(|node| node.kind == NodeKind::Host).count() as u64
    }

    /// The graph, nodes and links in the order in which they are listed.
    pub fn build(&self) -> Result<Graph, GraphError> {
        if let Some(node) =
            self.node.iter().position(|node| node.name.is_empty() || node.name.contains([':', ' ', ',']))
        {
            return Err(GraphError::NoName { node, name: self.node[node].name.clone() });
        }
        let wires = self.link.iter().enumerate().map(|(at, link)| link.ends(at)).collect::<Result<Vec<_>, _>>()?;
        count("nodes", self.node.len() as u64, MOST)?;
        count("links", self.link.len() as u64, MOST)?;
        let mut graph = Graph::default();
        let mut names = HashMap::with_capacity(self.node.len());
        for node in &self.node {
            let usual = match node.kind {
                NodeKind::Host => "host",
                NodeKind::Switch => "switch",
            };
            let id = graph.add(node.name.as_str(), node.tier.as_deref().unwrap_or(usual), node.kind);
            names.insert(node.name.as_str(), id);
        }
        for (at, (link, [a, b])) in self.link.iter().zip(wires).enumerate() {
            let end = |name: &str| {
                names.get(name).copied().ok_or_else(|| GraphError::UnknownNode { link: at, name: name.to_owned() })
            };
            let (rates, [delay, _]) = (link.rate.each(), link.delay.each());
            let same = Link::new(end(a.0)?, end(b.0)?, rates[0], delay);
            graph.links.push(Link { rates, demanded: [a.1, b.1], ..same });
        }
        graph.validate()?;
        Ok(graph)
    }
}

impl ExplicitLink {
    /// Its ends, each with the port that it demands.
    fn ends(&self, number: usize) -> Result<[(&str, Option<Port>); 2], GraphError> {
        let [delay, back] = self.delay.each();
        if delay != back {
            return Err(GraphError::DelaysDiffer { link: number });
        }
        Ok([parse_end(number, 'a', &self.a)?, parse_end(number, 'b', &self.b)?])
    }
}

/// The node that an end of a link names, and the port.
fn parse_end(link: usize, end: char, text: &str) -> Result<(&str, Option<Port>), GraphError> {
    let Some((node, port)) = text.split_once(':') else { return Ok((text.trim(), None)) };
    match port.trim().parse() {
        Ok(number) => Ok((node.trim(), Some(Port(number)))),
        Err(_) => Err(GraphError::NoPort { link, end, port: port.trim().to_owned() }),
    }
}

/// One value for both directions of a link, or one for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum PerDirection<T> {
    /// Both.
    Both(T),
    /// From `a` to `b`, and from `b` to `a`.
    Each {
        /// From `a` to `b`.
        ab: T,
        /// From `b` to `a`.
        ba: T,
    },
}

impl<T: Copy> PerDirection<T> {
    /// The value from `a` to `b`, and from `b` to `a`.
    pub fn each(&self) -> [T; 2] {
        match *self {
            PerDirection::Both(value) => [value; 2],
            PerDirection::Each { ab, ba } => [ab, ba],
        }
    }
}

// By hand, since an untagged enum would hide why a quantity is invalid.
impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for PerDirection<T> {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let value = serde_json::Value::deserialize(d)?;
        let read = |value: serde_json::Value| serde_json::from_value::<T>(value).map_err(D::Error::custom);
        match value {
            serde_json::Value::Object(mut each) => {
                let (ab, ba) = (each.shift_remove("ab"), each.shift_remove("ba"));
                match (ab, ba, each.keys().next()) {
                    (Some(ab), Some(ba), None) => Ok(PerDirection::Each { ab: read(ab)?, ba: read(ba)? }),
                    _ => Err(D::Error::custom("a value per direction is written { ab = \"…\", ba = \"…\" }")),
                }
            }
            other => Ok(PerDirection::Both(read(other)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, kind: NodeKind) -> ExplicitNode {
        ExplicitNode { name: name.into(), kind, tier: None }
    }

    fn link(a: &str, b: &str) -> ExplicitLink {
        let (rate, delay) = (PerDirection::Both(Rate::gbps(10)), PerDirection::Both(Time::ns(500)));
        ExplicitLink { a: a.into(), b: b.into(), rate, delay }
    }

    fn line() -> Explicit {
        Explicit {
            node: vec![node("a", NodeKind::Host), node("core", NodeKind::Switch), node("b", NodeKind::Host)],
            link: vec![link("a", "core"), link("core", "b")],
        }
    }

    #[test]
    fn numbers_follow_the_lists() {
        let mut shape = line();
        shape.node[1].tier = Some("core".into());
        shape.link[1].a = "core:0".into();
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
        let unknown = with(|s| s.link[1].b = "c".into());
        assert_eq!(unknown, GraphError::UnknownNode { link: 1, name: "c".into() });
        let twice = with(|s| {
            s.link[0].b = "core:1".into();
            s.link[1].a = "core: 1".into();
        });
        assert_eq!(twice.to_string(), "port 1 of `core` is used twice, by link 0 and by link 1");
        let none = with(|s| s.node.push(node("c", NodeKind::Host)));
        assert_eq!(none.to_string(), "host `c` has no link");
        let twin = with(|s| s.node.push(node("a", NodeKind::Switch)));
        assert_eq!(twin, GraphError::NameTwice { name: "a".into() });
        let port = with(|s| s.link[1].b = "b:one".into());
        assert_eq!(port, GraphError::NoPort { link: 1, end: 'b', port: "one".into() });
        let name = with(|s| s.node[2].name = "b:1".into());
        assert_eq!(name, GraphError::NoName { node: 2, name: "b:1".into() });
        let delays = with(|s| s.link[0].delay = PerDirection::Each { ab: Time::ns(1), ba: Time::ns(2) });
        assert_eq!(delays, GraphError::DelaysDiffer { link: 0 });
    }
}
