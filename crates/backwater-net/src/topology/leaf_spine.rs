//! Leaf-spine: the two-layer Clos network of the data centre.
//!
//! ```text
//!      spine0   spine1
//!      ╱    ╲  ╱    ╲      every leaf to every spine
//!   leaf0    leaf1
//!   │  │     │  │
//!   h0 h1    h2 h3
//! ```

use super::{Graph, GraphError, MOST, NodeKind, count};
use crate::units::Rate;
use backwater_engine::Time;

/// Switches `leaf0`… of tier `leaf` with hosts, each joined to every switch `spine0`… of tier `spine`.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafSpine {
    /// Number of leaves.
    pub leaves: u32,
    /// Number of spines.
    pub spines: u32,
    /// Hosts on each leaf.
    pub hosts_per_leaf: u32,
    /// Hosts (interfaces) of a server, each on a leaf of its own; a divisor of `leaves`. Hosts are numbered server by server, `hosts_per_leaf` servers
    /// in each group of `rails` leaves: interface i of a server is on leaf i of its group. With 1 host h is on leaf h / hosts_per_leaf.
    pub rails: u32,
    /// Rate of the hosts' links.
    pub rate: Rate,
    /// Propagation delay of the hosts' links.
    pub delay: Time,
    /// Rate of each link between a leaf and a spine.
    pub fabric_rate: Rate,
    /// Propagation delay of the links between leaves and spines.
    pub fabric_delay: Time,
    /// Parallel links between each leaf and each spine.
    pub links_per_pair: u32,
}

impl Default for LeafSpine {
    /// 128 hosts without oversubscription, as in the SFC-AIDC study of 2025 (contribution on IEEE P802.1Qdw).
    fn default() -> Self {
        let (rate, delay) = (Rate::gbps(200), Time::ns(150));
        LeafSpine {
            leaves: 16,
            spines: 8,
            hosts_per_leaf: 8,
            rails: 1,
            rate,
            delay,
            fabric_rate: rate,
            fabric_delay: delay,
            links_per_pair: 1,
        }
    }
}

impl LeafSpine {
    /// The graph: hosts, leaves, spines. A leaf's ports: its hosts, then spine by spine the parallel links. A spine's: leaf by leaf.
    pub fn build(&self) -> Result<Graph, GraphError> {
        let [leaves, spines] = [u64::from(self.leaves), u64::from(self.spines)];
        count("leaves", leaves, MOST)?;
        count("spines", spines, MOST)?;
        count("hosts per leaf", self.hosts_per_leaf.into(), MOST)?;
        count("links per pair", self.links_per_pair.into(), MOST)?;
        count("hosts", leaves * u64::from(self.hosts_per_leaf), MOST)?;
        count("links between leaves and spines", (leaves * spines).saturating_mul(self.links_per_pair.into()), MOST)?;
        count("rails", self.rails.into(), MOST)?;
        if !self.leaves.is_multiple_of(self.rails) {
            let (what, among) = ("leaves".into(), "rails".into());
            return Err(GraphError::Uneven { what, got: leaves, among, by: self.rails.into() });
        }
        let mut graph = Graph::default();
        let hosts = self.leaves * self.hosts_per_leaf;
        let hosts: Vec<_> = (0..hosts).map(|h| graph.add(format!("h{h}"), "host", NodeKind::Host)).collect();
        let leaves: Vec<_> =
            (0..self.leaves).map(|l| graph.add(format!("leaf{l}"), "leaf", NodeKind::Switch)).collect();
        let spines: Vec<_> =
            (0..self.spines).map(|s| graph.add(format!("spine{s}"), "spine", NodeKind::Switch)).collect();
        for (h, &host) in hosts.iter().enumerate() {
            let (server, rail) = (h / self.rails as usize, h % self.rails as usize);
            let group = server / self.hosts_per_leaf as usize;
            graph.link(host, leaves[group * self.rails as usize + rail], self.rate, self.delay);
        }
        for &leaf in &leaves {
            for &spine in &spines {
                for _ in 0..self.links_per_pair {
                    graph.link(leaf, spine, self.fabric_rate, self.fabric_delay);
                }
            }
        }
        graph.validate()?;
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_study_network() {
        let graph = LeafSpine::default().build().unwrap();
        assert_eq!((graph.hosts().count(), graph.switches().count(), graph.links.len()), (128, 24, 128 + 128));
        let ports = graph.ports().unwrap();
        let peers = |node: &str| {
            let list = &ports[graph.node(node).unwrap().0 as usize];
            list.iter().map(|p| graph.nodes[p.peer.0 as usize].name.clone()).collect::<Vec<_>>()
        };
        let leaf1 = peers("leaf1");
        assert_eq!((leaf1[0].as_str(), leaf1[7].as_str(), leaf1[8].as_str()), ("h8", "h15", "spine0"));
        assert_eq!(peers("spine3"), (0..16).map(|l| format!("leaf{l}")).collect::<Vec<_>>());
        assert_eq!(graph.islands().iter().max(), Some(&0));
    }

    #[test]
    fn on_rails_each_interface_of_a_server_has_a_leaf_of_its_own() {
        let graph = LeafSpine { leaves: 4, spines: 1, hosts_per_leaf: 3, rails: 2, ..LeafSpine::default() };
        let graph = graph.build().unwrap();
        let index = crate::topology::Index::new(graph.clone().into());
        let leaf = |host: u32| {
            let node = index.node_of(crate::packet::HostId(host)).unwrap();
            let link = graph.links.iter().find(|link| link.a == node).unwrap();
            graph.nodes[link.b.0 as usize].name.clone()
        };
        let leaves: Vec<String> = (0..12).map(leaf).collect();
        let named = [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3].map(|l| format!("leaf{l}"));
        assert_eq!(leaves, named);
        let uneven = LeafSpine { leaves: 4, rails: 3, ..LeafSpine::default() }.build();
        assert!(matches!(uneven, Err(GraphError::Uneven { got: 4, by: 3, .. })));
    }

    #[test]
    fn parallel_links_are_kept_side_by_side() {
        let graph = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 1, links_per_pair: 2, ..LeafSpine::default() };
        let graph = graph.build().unwrap();
        let ports = graph.ports().unwrap();
        let peers = |node: &str| {
            let list = &ports[graph.node(node).unwrap().0 as usize];
            list.iter().map(|p| graph.nodes[p.peer.0 as usize].name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(peers("leaf0"), ["h0", "spine0", "spine0", "spine1", "spine1"]);
        assert_eq!(peers("spine1"), ["leaf0", "leaf0", "leaf1", "leaf1"]);
    }

    #[test]
    fn sizes_that_cannot_be() {
        for shape in [
            LeafSpine { leaves: u32::MAX, spines: u32::MAX, links_per_pair: u32::MAX, ..LeafSpine::default() },
            LeafSpine { leaves: 4_000_000, hosts_per_leaf: 4_000_000, ..LeafSpine::default() },
            LeafSpine { leaves: 4096, spines: 4096, ..LeafSpine::default() },
        ] {
            assert!(matches!(shape.build(), Err(GraphError::TooMany { .. })), "{shape:?}");
        }
        assert!(matches!(LeafSpine { spines: 0, ..LeafSpine::default() }.build(), Err(GraphError::None { .. })));
    }

    /// What would not fit into memory is refused before it is built, and the limit is named.
    #[test]
    fn too_many_links() {
        let error = LeafSpine { leaves: 2_000, spines: 2_000, ..LeafSpine::default() }.build().unwrap_err();
        let what = "links between leaves and spines".to_owned();
        assert_eq!(error, GraphError::TooMany { what, got: 4_000_000, most: 1 << 20 });
        // With those of the hosts they are more than what counts for each kind.
        let all = LeafSpine { leaves: 1, spines: 2, links_per_pair: 1 << 19, ..LeafSpine::default() }.build();
        assert_eq!(all, Err(GraphError::TooMany { what: "links".into(), got: (1 << 20) + 8, most: 1 << 20 }));
    }
}
