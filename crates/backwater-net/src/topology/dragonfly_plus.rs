//! Dragonfly+: groups of two tiers, joined all to all by links between their upper tiers.
//!
//! ```text
//!   spine0 ── spine2      global links: every group to every other
//!   spine1 ── spine4
//!     │╲╱│                 within a group every leaf to every spine
//!   leaf0 leaf1
//!    │     │
//!    h0    h1
//! ```
//!
//! Shpiner et al., "Dragonfly+: Low Cost Topology for Scaling Datacenters", HiPINEB 2017. With switches of 2 r ports it has r leaves and r
//! spines a group, r hosts at each leaf and at most r² + 1 groups, so r² (r² + 1) hosts. A shortest path between two groups is leaf, spine,
//! spine, leaf: over a third group it would be one link longer.

use super::groups::Groups;
use super::limits::{MOST, count};
use super::{Graph, GraphError, NodeKind, NvLink};
use crate::model::packet::NodeId;
use crate::units::Rate;
use backwater_derive::parameters;
use backwater_engine::Time;

/// Groups of two layers, joined all to all: in a group every `leaf` is joined to every `spine`, and spines are joined to spines of other
/// groups; hosts are numbered leaf by leaf. A shortest path between groups is leaf, spine, spine, leaf.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct DragonflyPlus {
    /// Number of groups. All pairs of groups have equally many links: `groups` - 1 divides `spines_per_group` x `global_links_per_spine`.
    #[param(bounds = 2..=65_535, source = "Shpiner et al., Dragonfly+, HiPINEB 2017")]
    pub groups: u32,
    /// Number of leaf switches in each group: `leaf0`, `leaf1`, …, numbered group by group.
    #[param(bounds = 1..=65_535, source = "Shpiner et al., Dragonfly+, HiPINEB 2017")]
    pub leaves_per_group: u32,
    /// Number of spine switches in each group: `spine0`, `spine1`, …, numbered group by group.
    #[param(bounds = 1..=65_535, source = "Shpiner et al., Dragonfly+, HiPINEB 2017")]
    pub spines_per_group: u32,
    /// Number of hosts at each leaf: `h0`, `h1`, …
    #[param(bounds = 1..=65_535, source = "Backwater's own")]
    pub hosts_per_leaf: u32,
    /// Links of each spine to spines of other groups. Port p of a group, counted spine by spine from 0, leads to number p modulo (`groups` - 1) of
    /// the other groups.
    #[param(bounds = 1..=65_535, source = "Hastings et al., CLUSTER 2015: absolute arrangement")]
    pub global_links_per_spine: u32,
    /// Rate of each host's link.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub rate: Rate,
    /// Rate of each link between a leaf and a spine. Absent: `rate`.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub fabric_rate: Option<Rate>,
    /// Rate of each link between groups. Absent: `fabric_rate`.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub global_rate: Option<Rate>,
    /// Propagation delay of each host's link.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub link_delay: Time,
    /// Propagation delay of each link between a leaf and a spine. Absent: `link_delay`.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub fabric_delay: Option<Time>,
    /// Propagation delay of each link between groups. Absent: `fabric_delay`.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub global_delay: Option<Time>,
    /// Parallel links between each leaf and each spine of a group.
    #[param(default = 1, bounds = 1..=1_024, source = "Backwater's own; 1: choice")]
    pub links_per_pair: u32,
    /// NVLink domains: each host is a GPU, and has a link to the NVLink switch of its server besides those to the network.
    #[serde(default)]
    pub nvlink: Option<NvLink>,
}

impl DragonflyPlus {
    /// Returns the number of hosts.
    pub(super) fn hosts(&self) -> u64 {
        (u64::from(self.groups) * u64::from(self.leaves_per_group)).saturating_mul(self.hosts_per_leaf.into())
    }

    /// The graph: hosts, leaves, spines. A leaf's ports: its hosts, then spine by spine the parallel links. A spine's: leaf by leaf, then
    /// its links to other groups.
    ///
    /// # Errors
    /// Counts of 0 or too large ones; links to other groups that cannot be distributed evenly.
    pub fn build(&self) -> Result<Graph, GraphError> {
        let [groups, leaves, spines] = [self.groups, self.leaves_per_group, self.spines_per_group].map(u64::from);
        count("leaves per group", leaves, MOST)?;
        count("spines per group", spines, MOST)?;
        count("hosts per leaf", self.hosts_per_leaf.into(), MOST)?;
        count("links per pair", self.links_per_pair.into(), MOST)?;
        count("leaves", groups * leaves, MOST)?;
        count("spines", groups * spines, MOST)?;
        count("hosts", (groups * leaves).saturating_mul(self.hosts_per_leaf.into()), MOST)?;
        let links = (groups * leaves).saturating_mul(spines).saturating_mul(self.links_per_pair.into());
        count("links between leaves and spines", links, MOST)?;
        let all = Groups { groups: self.groups, switches: self.spines_per_group, links: self.global_links_per_spine };
        all.check()?;
        let (fabric_rate, fabric_delay) =
            (self.fabric_rate.unwrap_or(self.rate), self.fabric_delay.unwrap_or(self.link_delay));
        let (global_rate, global_delay) =
            (self.global_rate.unwrap_or(fabric_rate), self.global_delay.unwrap_or(fabric_delay));
        let mut graph = Graph::default();
        let mut tier = |name: &str, tier: &str, kind, number: u32| -> Vec<NodeId> {
            (0..number).map(|n| graph.add(format!("{name}{n}"), tier, kind)).collect()
        };
        let number_of_leaves = self.groups * self.leaves_per_group;
        let hosts = tier("h", "host", NodeKind::Host, number_of_leaves * self.hosts_per_leaf);
        let leaves = tier("leaf", "leaf", NodeKind::Switch, number_of_leaves);
        let spines = tier("spine", "spine", NodeKind::Switch, self.groups * self.spines_per_group);
        for (hosts, &leaf) in hosts.chunks(self.hosts_per_leaf as usize).zip(&leaves) {
            hosts.iter().for_each(|&host| graph.link(host, leaf, self.rate, self.link_delay));
        }
        let groups = leaves.chunks(self.leaves_per_group as usize).zip(spines.chunks(self.spines_per_group as usize));
        for (leaves, spines) in groups {
            for (&leaf, &spine) in leaves.iter().flat_map(|leaf| spines.iter().map(move |spine| (leaf, spine))) {
                graph.bundle(self.links_per_pair, leaf, spine, fabric_rate, fabric_delay);
            }
        }
        for [a, b] in all.links() {
            graph.link(spines[a as usize], spines[b as usize], global_rate, global_delay);
        }
        graph.validate()?;
        NvLink::join_all(self.nvlink.as_ref(), &mut graph)?;
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::groups::tests::{farthest, pairs_of_groups};

    fn shape(groups: u32, r: u32) -> DragonflyPlus {
        DragonflyPlus {
            groups,
            leaves_per_group: r,
            spines_per_group: r,
            hosts_per_leaf: r,
            global_links_per_spine: r,
            rate: Rate::gbps(100),
            link_delay: Time::ns(100),
            fabric_rate: None,
            fabric_delay: None,
            links_per_pair: 1,
            global_rate: Some(Rate::gbps(400)),
            global_delay: Some(Time::us(1)),
            nvlink: None,
        }
    }

    /// The largest of switches with 2 r ports: r² (r² + 1) hosts, 2 r switches in each of r² + 1 groups, one link between any two groups.
    #[test]
    fn the_largest_of_a_radix() {
        for r in [1, 2, 3, 4] {
            let groups = r * r + 1;
            let graph = shape(groups, r).build().unwrap();
            assert_eq!(graph.hosts().count() as u32, r * r * groups);
            assert_eq!(graph.switches().count() as u32, 2 * r * groups);
            assert_eq!(graph.links.len() as u32, groups * (r * r + r * r) + groups * (groups - 1) / 2);
            let ports = graph.ports().unwrap();
            assert!(graph.switches().all(|switch| ports[switch.0 as usize].len() as u32 == 2 * r));
            let tier = |n: NodeId| graph.nodes[n.0 as usize].tier.as_str();
            let global: Vec<_> = graph.links.iter().filter(|l| tier(l.a) == "spine" && tier(l.b) == "spine").collect();
            assert!(global.iter().all(|l| (l.rates, l.delay) == ([Rate::gbps(400); 2], Time::us(1))));
            let pairs = pairs_of_groups(&graph, "spine", r);
            assert_eq!(pairs.len() as u32, groups * (groups - 1) / 2);
            assert!(pairs.values().all(|links| *links == 1));
            // Host, leaf, spine, spine, leaf, host.
            assert_eq!(farthest(&graph), 5);
        }
    }

    /// Three groups, each with four links to the others: every spine has one link to each other group. With two groups every spine has two
    /// links to the other.
    #[test]
    fn fewer_groups_have_several_links() {
        let graph = shape(3, 2).build().unwrap();
        assert!(pairs_of_groups(&graph, "spine", 2).values().all(|links| *links == 2));
        let ports = graph.ports().unwrap();
        let peers = |node: &str| {
            let list = &ports[graph.node(node).unwrap().0 as usize];
            list.iter().map(|port| graph.nodes[port.peer.0 as usize].name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(peers("leaf3"), ["h6", "h7", "spine2", "spine3"]);
        assert_eq!(peers("spine3"), ["leaf2", "leaf3", "spine1", "spine5"]);
        assert_eq!(farthest(&graph), 5);
        let bundles = DragonflyPlus { links_per_pair: 3, ..shape(3, 2) }.build().unwrap();
        assert_eq!(bundles.links.len(), graph.links.len() + 2 * 12);
    }

    #[test]
    fn sizes_that_cannot_be() {
        let uneven = shape(4, 2).build().unwrap_err();
        assert_eq!(uneven.to_string(), "4 global links of a group cannot be shared out evenly among 3 other groups");
        assert!(matches!(shape(1, 2).build(), Err(GraphError::None { .. })));
        assert!(matches!(shape(0, 2).build(), Err(GraphError::None { .. })));
        assert!(matches!(DragonflyPlus { hosts_per_leaf: 0, ..shape(5, 2) }.build(), Err(GraphError::None { .. })));
        for shape in [
            DragonflyPlus { groups: u32::MAX, ..shape(5, 2) },
            DragonflyPlus { leaves_per_group: 1 << 19, ..shape(5, 2) },
            DragonflyPlus { spines_per_group: 1 << 18, leaves_per_group: 8, ..shape(5, 2) },
            DragonflyPlus { global_links_per_spine: 1 << 18, spines_per_group: 4, ..shape(5, 2) },
            DragonflyPlus { links_per_pair: u32::MAX, ..shape(5, 2) },
        ] {
            assert!(matches!(shape.build(), Err(GraphError::TooMany { .. })), "{shape:?}");
        }
    }
}
