//! Dragonfly: groups of routers that are joined all to all, within a group and between groups.
//!
//! ```text
//!   router0 ── router2        global links: every group to every other
//!   router1 ── router4
//!      │                      within a group every router to every other
//!   router0 ── router1
//!    │  │       │  │
//!    h0 h1      h2 h3
//! ```
//!
//! Kim et al., "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008. With p hosts and h global links a router and a routers a
//! group there are at most a h + 1 groups, so a p (a h + 1) hosts; balanced is a = 2 p = 2 h. Minimal paths have one global link, and at
//! most one link within either group. Two global links over a third group may be fewer links than these three, so a global link *costs* 3:
//! 1 + 3 + 1 is less than 3 + 3.

use super::groups::Groups;
use super::limits::{MOST, count};
use super::{Graph, GraphError, Link, NodeKind, NvLink};
use crate::model::packet::NodeId;
use crate::units::Rate;
use backwater_derive::parameters;
use backwater_engine::Time;

/// The cost of a global link in the length of a path; other links cost 1.
const GLOBAL_COST: u32 = 3;

/// Groups of routers, joined all to all within a group and between groups; hosts are numbered router by router. A path has one link between
/// groups, and at most one within either group.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct Dragonfly {
    /// Number of groups. All pairs of groups have equally many links: `groups` - 1 divides the number of links from a group to others.
    #[param(symbol = "g", bounds = 2..=65_535, source = "Kim et al., Dragonfly, ISCA 2008")]
    pub groups: u32,
    /// Number of routers in each group, joined all to all: `router0`, `router1`, …, numbered group by group.
    #[param(symbol = "a", bounds = 1..=65_535, source = "Kim et al., Dragonfly, ISCA 2008")]
    pub routers_per_group: u32,
    /// Number of hosts at each router: `h0`, `h1`, …
    #[param(symbol = "p", bounds = 1..=65_535, source = "Kim et al., Dragonfly, ISCA 2008")]
    pub hosts_per_router: u32,
    /// Links of each router to routers of other groups. Port p of a group, counted router by router from 0, leads to number p modulo
    /// (`groups` - 1) of the other groups.
    #[param(symbol = "h", bounds = 1..=65_535, source = "Kim et al., Dragonfly, ISCA 2008; Hastings et al., CLUSTER 2015: absolute arrangement")]
    pub global_links_per_router: u32,
    /// Rate of each host's link.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub rate: Rate,
    /// Rate of each link between routers of a group. Absent: `rate`.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub fabric_rate: Option<Rate>,
    /// Rate of each link between groups. Absent: `fabric_rate`.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub global_rate: Option<Rate>,
    /// Propagation delay of each host's link.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub link_delay: Time,
    /// Propagation delay of each link between routers of a group. Absent: `link_delay`.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub fabric_delay: Option<Time>,
    /// Propagation delay of each link between groups. Absent: `fabric_delay`.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub global_delay: Option<Time>,
    /// NVLink domains: each host is a GPU, and has a link to the NVLink switch of its server besides those to the network.
    #[serde(default)]
    pub nvlink: Option<NvLink>,
}

impl Dragonfly {
    /// Returns the number of hosts.
    pub(super) fn hosts(&self) -> u64 {
        (u64::from(self.groups) * u64::from(self.routers_per_group)).saturating_mul(self.hosts_per_router.into())
    }

    /// The graph: hosts, routers. A router's ports: its hosts, the other routers of its group, its links to other groups.
    ///
    /// # Errors
    /// Counts of 0 or too large ones; links to other groups that cannot be distributed evenly.
    pub fn build(&self) -> Result<Graph, GraphError> {
        let [groups, routers] = [self.groups, self.routers_per_group].map(u64::from);
        count("routers per group", routers, MOST)?;
        count("hosts per router", self.hosts_per_router.into(), MOST)?;
        count("routers", groups * routers, MOST)?;
        count("hosts", (groups * routers).saturating_mul(self.hosts_per_router.into()), MOST)?;
        let all = Groups { groups: self.groups, switches: self.routers_per_group, links: self.global_links_per_router };
        all.check()?;
        let within = (groups * routers).saturating_mul(routers - 1) / 2;
        if within > MOST {
            let what = "links between routers of a group".into();
            return Err(GraphError::TooMany { what, got: within, most: MOST });
        }
        let (fabric_rate, fabric_delay) =
            (self.fabric_rate.unwrap_or(self.rate), self.fabric_delay.unwrap_or(self.link_delay));
        let (global_rate, global_delay) =
            (self.global_rate.unwrap_or(fabric_rate), self.global_delay.unwrap_or(fabric_delay));
        let mut graph = Graph::default();
        let mut tier = |name: &str, tier: &str, kind, number: u32| -> Vec<NodeId> {
            (0..number).map(|n| graph.add(format!("{name}{n}"), tier, kind)).collect()
        };
        let number_of_routers = self.groups * self.routers_per_group;
        let hosts = tier("h", "host", NodeKind::Host, number_of_routers * self.hosts_per_router);
        let routers = tier("router", "router", NodeKind::Switch, number_of_routers);
        for (hosts, &router) in hosts.chunks(self.hosts_per_router as usize).zip(&routers) {
            hosts.iter().for_each(|&host| graph.link(host, router, self.rate, self.link_delay));
        }
        for group in routers.chunks(self.routers_per_group as usize) {
            for (i, &a) in group.iter().enumerate() {
                group[i + 1..].iter().for_each(|&b| graph.link(a, b, fabric_rate, fabric_delay));
            }
        }
        for [a, b] in all.links() {
            let link = Link::new(routers[a as usize], routers[b as usize], global_rate, global_delay);
            graph.links.push(Link { cost: GLOBAL_COST, ..link });
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

    fn shape(groups: u32, [a, p, h]: [u32; 3]) -> Dragonfly {
        Dragonfly {
            groups,
            routers_per_group: a,
            hosts_per_router: p,
            global_links_per_router: h,
            rate: Rate::gbps(100),
            link_delay: Time::ns(100),
            fabric_rate: None,
            fabric_delay: None,
            global_rate: Some(Rate::gbps(400)),
            global_delay: Some(Time::us(1)),
            nvlink: None,
        }
    }

    /// Kim et al. 2008, section 3.1: N = a p (a h + 1) hosts and a h + 1 groups, routers of p + (a - 1) + h ports. Theirs of figure 6 has
    /// p = h = 2 and a = 4: 72 hosts.
    #[test]
    fn the_largest_of_each_size() {
        for (p, a, h, hosts) in [(2, 4, 2, 72), (1, 2, 1, 6), (3, 6, 3, 342), (2, 3, 1, 24)] {
            let groups = a * h + 1;
            let graph = shape(groups, [a, p, h]).build().unwrap();
            assert_eq!((graph.hosts().count() as u32, a * p * groups), (hosts, hosts));
            let within = groups * a * (a - 1) / 2;
            assert_eq!(graph.links.len() as u32, hosts + within + groups * (groups - 1) / 2);
            let ports = graph.ports().unwrap();
            assert!(graph.switches().all(|router| ports[router.0 as usize].len() as u32 == p + a - 1 + h));
            let pairs = pairs_of_groups(&graph, "router", a);
            assert_eq!(pairs.len() as u32, groups * (groups - 1) / 2);
            assert!(pairs.values().all(|links| *links == 1));
            // Host, router, router, router, router, host.
            assert_eq!(farthest(&graph), 5);
            let global = graph.links.iter().filter(|link| link.cost != 1);
            assert_eq!(global.clone().count() as u32, groups * (groups - 1) / 2);
            assert!(global.into_iter().all(|link| (link.cost, link.delay) == (3, Time::us(1))));
        }
    }

    /// Three groups with four links each to the others: two between any two, and a full mesh of four in each.
    #[test]
    fn fewer_groups_have_several_links() {
        let graph = shape(3, [4, 1, 1]).build().unwrap();
        assert!(pairs_of_groups(&graph, "router", 4).values().all(|links| *links == 2));
        let ports = graph.ports().unwrap();
        let peers = |node: &str| {
            let list = &ports[graph.node(node).unwrap().0 as usize];
            list.iter().map(|port| graph.nodes[port.peer.0 as usize].name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(peers("router1"), ["h1", "router0", "router2", "router3", "router8"]);
        assert_eq!(peers("router4"), ["h4", "router5", "router6", "router7", "router0"]);
    }

    #[test]
    fn sizes_that_cannot_be() {
        let uneven = shape(4, [4, 1, 1]).build().unwrap_err();
        assert_eq!(uneven.to_string(), "4 global links of a group cannot be shared out evenly among 3 other groups");
        assert!(matches!(shape(1, [4, 1, 1]).build(), Err(GraphError::None { .. })));
        assert!(matches!(shape(3, [4, 0, 1]).build(), Err(GraphError::None { .. })));
        for (groups, size) in [(u32::MAX, [4, 1, 1]), (3, [1 << 19, 1, 1]), (3, [4, 1 << 20, 1]), (2, [4, 1, u32::MAX])]
        {
            assert!(matches!(shape(groups, size).build(), Err(GraphError::TooMany { .. })), "{groups} {size:?}");
        }
    }
}
