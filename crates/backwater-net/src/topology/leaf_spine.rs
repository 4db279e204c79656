//! Leaf-spine: the two-layer Clos network of the data centre.
//!
//! ```text
//!      spine0   spine1
//!      ╱    ╲  ╱    ╲      every leaf to every spine
//!   leaf0    leaf1
//!   │  │     │  │
//!   h0 h1    h2 h3
//! ```
//!
//! Hosts may have several links: to each of several networks without a common switch (planes), and to several leaves of one network. With
//! `host_rate` these belong to a switch in the interface of each host, so that each packet may take another one.

use super::limits::{MOST, count};
use super::{Graph, GraphError, NodeKind, NvLink};
use crate::model::packet::NodeId;
use crate::units::Rate;
use backwater_derive::parameters;
use backwater_engine::Time;

/// A two-layer Clos network, or several `planes` of such networks: every `leaf` is joined to every `spine`; hosts are numbered leaf by
/// leaf, or with `rails` server by server. It is oversubscribed if `hosts_per_leaf` x `rate` is more than `spines` x `links_per_pair` x
/// `fabric_rate`.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct LeafSpine {
    /// Number of leaf switches in a plane: `leaf0`, `leaf1`, …, numbered plane by plane.
    #[param(bounds = 1..=65_535, source = "Backwater's own")]
    pub leaves: u32,
    /// Number of spine switches in a plane: `spine0`, `spine1`, …, numbered plane by plane.
    #[param(bounds = 1..=65_535, source = "Backwater's own")]
    pub spines: u32,
    /// Number of hosts at each leaf: `h0`, `h1`, …
    #[param(bounds = 1..=65_535, source = "Backwater's own")]
    pub hosts_per_leaf: u32,
    /// Number of leaves in a plane that each host has a link to. With 2, pairs of ToRs share their hosts (dual-ToR). With `rails` it
    /// divides `leaves` / `rails`.
    #[param(default = 1, bounds = 1..=64, source = "Qian et al., Alibaba HPN, SIGCOMM 2024: dual-ToR, 2; 1: choice")]
    pub leaves_per_host: u32,
    /// Number of interfaces of each server; each interface is a host, numbered server by server. Rail-optimised: a group has
    /// `hosts_per_leaf` servers and `rails` leaves, and interface i of its servers is attached to leaf i of the group. Divides `leaves`.
    #[param(default = 1, bounds = 1..=65_535, source = "NVIDIA DGX SuperPOD reference architecture: rail-optimised, 8; 1: choice")]
    pub rails: u32,
    /// Number of networks without a common switch, each with `leaves` and `spines`. Each host has a link to each plane, or
    /// `leaves_per_host` links; its links are numbered plane by plane.
    #[param(default = 1, bounds = 1..=64, source = "Qian et al., Alibaba HPN, SIGCOMM 2024: dual-plane, 2; 1: choice")]
    pub planes: u32,
    /// Rate of each host's link.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub rate: Rate,
    /// Rate of an interface whose packets each take one of its links to leaves. A switch in it, `nic0`, `nic1`, …, has these links, and one
    /// of this rate to its host. Absent: a flow keeps to one of its host's links.
    #[param(bounds = Rate(1).., source = "arXiv 2605.04333, 2: 800 Gb/s as 8 links of 100 Gb/s or 4 of 200 Gb/s")]
    pub host_rate: Option<Rate>,
    /// Propagation delay between a host and the switch in its interface, with `host_rate`.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "choice: both are one device")]
    pub host_delay: Time,
    /// Rate of each link between a leaf and a spine. Absent: `rate`.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub fabric_rate: Option<Rate>,
    /// Propagation delay of each host's link.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub link_delay: Time,
    /// Propagation delay of each link between a leaf and a spine. Absent: `link_delay`.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub fabric_delay: Option<Time>,
    /// Number of parallel links between each leaf and each spine; in a fat tree between each ToR and each aggregation switch of its pod.
    #[param(default = 1, bounds = 1..=1_024, source = "Backwater's own; 1: choice")]
    pub links_per_pair: u32,
    /// NVLink domains: each host is a GPU, and has a link to the NVLink switch of its server besides those to the network.
    #[serde(default)]
    pub nvlink: Option<NvLink>,
}

impl Default for LeafSpine {
    /// 128 hosts without oversubscription, as in the SFC-AIDC study of 2025 (contribution on IEEE P802.1Qdw).
    fn default() -> Self {
        let (rate, link_delay) = (Rate::gbps(200), Time::ns(150));
        LeafSpine {
            leaves: 16,
            spines: 8,
            hosts_per_leaf: 8,
            leaves_per_host: 1,
            rails: 1,
            planes: 1,
            rate,
            host_rate: None,
            host_delay: Time::ZERO,
            link_delay,
            fabric_rate: None,
            fabric_delay: None,
            links_per_pair: 1,
            nvlink: None,
        }
    }
}

impl LeafSpine {
    /// Returns the number of hosts.
    pub(super) fn hosts(&self) -> u64 {
        u64::from(self.leaves) * u64::from(self.hosts_per_leaf) / u64::from(self.leaves_per_host.max(1))
    }

    /// The graph: hosts, leaves, spines, switches of interfaces. A host's ports, or those of its interface's switch after the host's: plane
    /// by plane its leaves. A leaf's: its hosts, then spine by spine the parallel links.
    /// A spine's: leaf by leaf.
    ///
    /// # Errors
    /// Counts of 0 or too large ones; leaves that cannot be distributed evenly.
    pub fn build(&self) -> Result<Graph, GraphError> {
        let [leaves, spines, planes] = [self.leaves, self.spines, self.planes].map(u64::from);
        count("leaves", leaves, MOST)?;
        count("spines", spines, MOST)?;
        count("hosts per leaf", self.hosts_per_leaf.into(), MOST)?;
        count("links per pair", self.links_per_pair.into(), MOST)?;
        count("planes", planes, MOST)?;
        count("leaves of all planes", leaves * planes, MOST)?;
        count("spines of all planes", spines * planes, MOST)?;
        count("leaves per host", self.leaves_per_host.into(), MOST)?;
        count("rails", self.rails.into(), MOST)?;
        self.shares()?;
        let at_leaves = leaves * u64::from(self.hosts_per_leaf);
        count("hosts", at_leaves / u64::from(self.leaves_per_host), MOST)?;
        count("links of hosts", at_leaves.saturating_mul(planes), MOST)?;
        let pairs = (leaves * spines).saturating_mul(planes);
        count("links between leaves and spines", pairs.saturating_mul(self.links_per_pair.into()), MOST)?;
        let (fabric_rate, fabric_delay) =
            (self.fabric_rate.unwrap_or(self.rate), self.fabric_delay.unwrap_or(self.link_delay));
        let mut graph = Graph::default();
        let mut tier = |name: &str, tier: &str, kind, number: u32| -> Vec<NodeId> {
            (0..number).map(|n| graph.add(format!("{name}{n}"), tier, kind)).collect()
        };
        let hosts = tier("h", "host", NodeKind::Host, self.leaves / self.leaves_per_host * self.hosts_per_leaf);
        let leaves = tier("leaf", "leaf", NodeKind::Switch, self.planes * self.leaves);
        let spines = tier("spine", "spine", NodeKind::Switch, self.planes * self.spines);
        // Last among the nodes, so that all others keep their numbers.
        let nics = tier("nic", "nic", NodeKind::Switch, if self.host_rate.is_some() { hosts.len() as u32 } else { 0 });
        for (rate, (&host, &nic)) in
            self.host_rate.iter().flat_map(|rate| hosts.iter().zip(&nics).map(move |of| (rate, of)))
        {
            graph.link(host, nic, *rate, self.host_delay);
        }
        let ends = if nics.is_empty() { &hosts } else { &nics };
        let planes = || leaves.chunks(self.leaves as usize).zip(spines.chunks(self.spines as usize));
        for (h, &host) in ends.iter().enumerate() {
            let (server, rail) = (h / self.rails as usize, h % self.rails as usize);
            let group = server / self.hosts_per_leaf as usize;
            let first = (group * self.rails as usize + rail) * self.leaves_per_host as usize;
            for (leaves, _) in planes() {
                let own = &leaves[first..first + self.leaves_per_host as usize];
                own.iter().for_each(|&leaf| graph.link(host, leaf, self.rate, self.link_delay));
            }
        }
        for (leaves, spines) in planes() {
            for (&leaf, &spine) in leaves.iter().flat_map(|leaf| spines.iter().map(move |spine| (leaf, spine))) {
                graph.bundle(self.links_per_pair, leaf, spine, fabric_rate, fabric_delay);
            }
        }
        graph.validate()?;
        NvLink::join_all(self.nvlink.as_ref(), &mut graph)?;
        Ok(graph)
    }

    /// Checks that the leaves are whole groups of rails, and that these are whole sets of a host's leaves.
    fn shares(&self) -> Result<(), GraphError> {
        let of_rail = self.leaves / self.rails;
        let uneven = |what: &str, got: u32, among: &str, by: u32| {
            let (got, by) = (got.into(), by.into());
            Err(GraphError::Uneven { what: what.into(), got, among: among.into(), by })
        };
        if !self.leaves.is_multiple_of(self.rails) {
            return uneven("leaves", self.leaves, "rails", self.rails);
        }
        if !of_rail.is_multiple_of(self.leaves_per_host) {
            let what = if self.rails == 1 { "leaves" } else { "leaves of a rail" };
            return uneven(what, of_rail, "leaves of a host", self.leaves_per_host);
        }
        Ok(())
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
            let node = index.node_of(crate::model::packet::HostId(host)).unwrap();
            let link = graph.links.iter().find(|link| link.a == node).unwrap();
            graph.nodes[link.b.0 as usize].name.clone()
        };
        let leaves: Vec<String> = (0..12).map(leaf).collect();
        let named = [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3].map(|l| format!("leaf{l}"));
        assert_eq!(leaves, named);
        let uneven = LeafSpine { leaves: 4, rails: 3, ..LeafSpine::default() }.build();
        assert!(matches!(uneven, Err(GraphError::Uneven { got: 4, by: 3, .. })));
    }

    fn peers(graph: &Graph, node: &str) -> Vec<String> {
        let ports = graph.ports().unwrap();
        let list = &ports[graph.node(node).unwrap().0 as usize];
        list.iter().map(|p| graph.nodes[p.peer.0 as usize].name.clone()).collect()
    }

    /// Three planes of two leaves and two spines: six leaves with two hosts each, for four hosts with a link to each plane.
    #[test]
    fn planes_have_no_switch_in_common() {
        let shape = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, planes: 3, ..LeafSpine::default() };
        let graph = shape.build().unwrap();
        assert_eq!((graph.hosts().count(), graph.switches().count(), graph.links.len()), (4, 12, 4 * 3 + 3 * 4));
        assert_eq!(peers(&graph, "h3"), ["leaf1", "leaf3", "leaf5"]);
        assert_eq!(peers(&graph, "leaf3"), ["h2", "h3", "spine2", "spine3"]);
        assert_eq!(peers(&graph, "spine4"), ["leaf4", "leaf5"]);
        let islands = graph.islands();
        let of = |name: &str| islands[graph.node(name).unwrap().0 as usize];
        assert_eq!(of("leaf2"), of("spine3"));
        assert!(of("leaf1") != of("leaf2") && of("spine3") != of("spine4"));
    }

    /// The same planes; each host has one link, to the switch in its interface.
    #[test]
    fn an_interface_with_a_switch_has_the_links_of_its_host() {
        let shape = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, planes: 3, ..LeafSpine::default() };
        let shape = LeafSpine { host_rate: Some(Rate::gbps(600)), host_delay: Time::ns(10), ..shape };
        let graph = shape.build().unwrap();
        assert_eq!((graph.hosts().count(), graph.switches().count(), graph.links.len()), (4, 16, 4 + 4 * 3 + 3 * 4));
        assert_eq!((peers(&graph, "h3"), graph.has_several_links()), (vec!["nic3".to_owned()], false));
        assert_eq!(peers(&graph, "nic3"), ["h3", "leaf1", "leaf3", "leaf5"]);
        assert_eq!(peers(&graph, "leaf3"), ["nic2", "nic3", "spine2", "spine3"]);
        let own = &graph.links[0];
        assert_eq!((own.rates[0], own.delay), (Rate::gbps(600), Time::ns(10)));
        // All other nodes keep their numbers.
        let plain = LeafSpine { host_rate: None, ..shape }.build().unwrap();
        assert!(plain.nodes.iter().zip(&graph.nodes).all(|(a, b)| a.name == b.name));
    }

    /// Pairs of leaves with three hosts each: those of the second pair are h3 to h5.
    #[test]
    fn hosts_are_on_a_pair_of_leaves() {
        let shape = LeafSpine { leaves: 4, spines: 1, hosts_per_leaf: 3, leaves_per_host: 2, ..LeafSpine::default() };
        let graph = shape.build().unwrap();
        assert_eq!((graph.hosts().count(), graph.links.len()), (6, 12 + 4));
        assert_eq!(
            (peers(&graph, "h2"), peers(&graph, "h3")),
            (vec!["leaf0".to_owned(), "leaf1".to_owned()], vec!["leaf2".to_owned(), "leaf3".to_owned()],)
        );
        assert_eq!(peers(&graph, "leaf3"), ["h3", "h4", "h5", "spine0"]);
        // With two rails, interface 1 of both servers is on the second pair; in the second plane leaves begin with leaf4.
        let graph = LeafSpine { rails: 2, planes: 2, hosts_per_leaf: 2, ..shape.clone() }.build().unwrap();
        assert_eq!(graph.hosts().count(), 4);
        assert_eq!(peers(&graph, "h3"), ["leaf2", "leaf3", "leaf6", "leaf7"]);
        assert_eq!(peers(&graph, "leaf5"), ["h0", "h2", "spine1"]);
        let uneven = LeafSpine { rails: 2, leaves: 6, ..shape.clone() }.build().unwrap_err();
        assert_eq!(uneven.to_string(), "3 leaves of a rail cannot be shared out evenly among 2 leaves of a host");
        for shape in [LeafSpine { planes: 0, ..shape.clone() }, LeafSpine { leaves_per_host: 0, ..shape.clone() }] {
            assert!(matches!(shape.build(), Err(GraphError::None { .. })), "{shape:?}");
        }
        let many = LeafSpine { planes: 1 << 17, ..shape }.build();
        assert!(matches!(many, Err(GraphError::TooMany { got: 1_572_864, .. })), "{many:?}");
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

    /// A network that would not fit into memory is refused before it is built, with the limit in the message.
    #[test]
    fn too_many_links() {
        let error = LeafSpine { leaves: 2_000, spines: 2_000, ..LeafSpine::default() }.build().unwrap_err();
        let what = "links between leaves and spines".to_owned();
        assert_eq!(error, GraphError::TooMany { what, got: 4_000_000, most: 1 << 20 });
        // Together with the hosts' links they exceed the limit that counts for each kind.
        let all = LeafSpine { leaves: 1, spines: 2, links_per_pair: 1 << 19, ..LeafSpine::default() }.build();
        assert_eq!(all, Err(GraphError::TooMany { what: "links".into(), got: (1 << 20) + 8, most: 1 << 20 }));
    }
}
