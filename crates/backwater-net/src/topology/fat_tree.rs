//! Fat tree: the three-layer Clos network of pods.
//!
//! ```text
//!   core0 core1   core2 core3      core_wiring = "groups": agg j of every pod to the j-th group of cores
//!     │ ╲   ╲ ╲     │                        here agg0 and agg2 to core0 and core1, agg1 and agg3 to core2 and core3
//!   agg0 agg1     agg2 agg3
//!     │╲╱│          │╲╱│           within a pod every ToR to every aggregation switch
//!   tor0 tor1     tor2 tor3
//!    │    │        │    │
//!    h0   h1       h2   h3
//! ```
//!
//! The k-ary fat tree (Al-Fares et al., SIGCOMM 2008) has k pods of k/2 ToR and k/2 aggregation switches, k/2 hosts at each
//! ToR, and (k/2)² cores: [`FatTree::k_ary`].

use super::limits::{MOST, count};
use super::{Graph, GraphError, NodeKind, NvLink};
use crate::model::packet::NodeId;
use crate::units::Rate;
use backwater_derive::parameters;
use backwater_engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cores that an aggregation switch of a fat tree is joined to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CoreWiring {
    /// The j-th aggregation switch of every pod is joined to the j-th group of `cores` / `aggs_per_pod` cores.
    Groups,
    /// Every aggregation switch is joined to every core.
    All,
}

/// A three-layer Clos network of pods: in a pod every `tor` is joined to every `agg`, and `core` switches join the pods; hosts are numbered
/// ToR by ToR. ToRs are oversubscribed if `hosts_per_tor` x `rate` is more than `aggs_per_pod` x `links_per_pair` x `fabric_rate`. A k-ary
/// fat tree has k pods of k/2 ToRs and k/2 aggregation switches, k/2 hosts at each ToR and (k/2)^2 cores.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct FatTree {
    /// Number of pods.
    #[param(bounds = 1..=65_535, source = "Backwater's own")]
    pub pods: u32,
    /// Number of top-of-rack switches in each pod: `tor0`, `tor1`, …, numbered pod by pod.
    #[param(bounds = 1..=65_535, source = "Backwater's own")]
    pub tors_per_pod: u32,
    /// Number of aggregation switches in each pod: `agg0`, `agg1`, …, numbered pod by pod.
    #[param(bounds = 1..=65_535, source = "Backwater's own")]
    pub aggs_per_pod: u32,
    /// Number of core switches: `core0`, `core1`, … With `core_wiring = "groups"` a multiple of `aggs_per_pod`.
    #[param(bounds = 1..=65_535, source = "Backwater's own")]
    pub cores: u32,
    /// Number of hosts at each ToR: `h0`, `h1`, …
    #[param(bounds = 1..=65_535, source = "Backwater's own")]
    pub hosts_per_tor: u32,
    /// Cores that an aggregation switch is joined to: those of its group (`groups`), or `all`.
    #[param(default = CoreWiring::Groups, source = "Al-Fares et al., SIGCOMM 2008, section 3: groups")]
    pub core_wiring: CoreWiring,
    /// Rate of each host's link.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub rate: Rate,
    /// Rate of each link between a ToR and an aggregation switch. Absent: `rate`.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub fabric_rate: Option<Rate>,
    /// Rate of each link between an aggregation switch and a core. Absent: `fabric_rate`.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub core_rate: Option<Rate>,
    /// Propagation delay of each host's link.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub link_delay: Time,
    /// Propagation delay of each link between a ToR and an aggregation switch. Absent: `link_delay`.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub fabric_delay: Option<Time>,
    /// Propagation delay of each link between an aggregation switch and a core. Absent: `fabric_delay`.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub core_delay: Option<Time>,
    /// Number of parallel links between each ToR and each aggregation switch of its pod.
    #[param(default = 1, bounds = 1..=1_024, source = "Backwater's own; 1: choice")]
    pub links_per_pair: u32,
    /// Number of parallel links between each aggregation switch and each of its cores.
    #[param(default = 1, bounds = 1..=1_024, source = "Backwater's own; 1: choice")]
    pub core_links_per_pair: u32,
    /// NVLink domains: each host is a GPU, and has a link to the NVLink switch of its server besides those to the network.
    #[serde(default)]
    pub nvlink: Option<NvLink>,
}

impl Default for FatTree {
    /// The 320 hosts of HPCC's public ns-3 code (Li et al., SIGCOMM 2019), which the SFC proxy contribution of 2025 uses.
    fn default() -> Self {
        FatTree {
            pods: 5,
            tors_per_pod: 4,
            aggs_per_pod: 4,
            cores: 16,
            hosts_per_tor: 16,
            core_wiring: CoreWiring::Groups,
            rate: Rate::gbps(100),
            fabric_rate: Some(Rate::gbps(400)),
            core_rate: None,
            link_delay: Time::us(1),
            fabric_delay: None,
            core_delay: None,
            links_per_pair: 1,
            core_links_per_pair: 1,
            nvlink: None,
        }
    }
}

impl FatTree {
    /// Returns the number of hosts.
    pub(super) fn hosts(&self) -> u64 {
        (u64::from(self.pods) * u64::from(self.tors_per_pod)).saturating_mul(self.hosts_per_tor.into())
    }

    /// The k-ary fat tree, all links alike; k is even.
    pub fn k_ary(k: u32, rate: Rate, link_delay: Time) -> FatTree {
        let half = k / 2;
        FatTree {
            pods: k,
            tors_per_pod: half,
            aggs_per_pod: half,
            cores: half.saturating_mul(half),
            hosts_per_tor: half,
            core_wiring: CoreWiring::Groups,
            rate,
            fabric_rate: None,
            link_delay,
            ..FatTree::default()
        }
    }

    /// The graph: hosts, ToRs, aggregation switches, cores. A ToR's ports: its hosts, then its pod's aggregation switches. An
    /// aggregation switch's: its pod's ToRs, then its cores. A core's: pod by pod. Parallel links lie side by side.
    pub fn build(&self) -> Result<Graph, GraphError> {
        let [pods, tors, aggs] = [self.pods, self.tors_per_pod, self.aggs_per_pod].map(u64::from);
        count("pods", pods, MOST)?;
        count("ToR switches per pod", tors, MOST)?;
        count("aggregation switches per pod", aggs, MOST)?;
        count("cores", self.cores.into(), MOST)?;
        count("hosts per ToR", self.hosts_per_tor.into(), MOST)?;
        count("links per pair", self.links_per_pair.into(), MOST)?;
        count("links per pair of an aggregation switch and a core", self.core_links_per_pair.into(), MOST)?;
        count("ToR switches", pods * tors, MOST)?;
        count("aggregation switches", pods * aggs, MOST)?;
        count("hosts", (pods * tors).saturating_mul(self.hosts_per_tor.into()), MOST)?;
        if self.core_wiring == CoreWiring::Groups && !self.cores.is_multiple_of(self.aggs_per_pod) {
            return Err(GraphError::Uneven {
                what: "cores".into(),
                got: self.cores.into(),
                among: "aggregation switches of a pod".into(),
                by: aggs,
            });
        }
        let ups = match self.core_wiring {
            CoreWiring::Groups => self.cores / self.aggs_per_pod,
            CoreWiring::All => self.cores,
        };
        let links = |switches: u64, up: u64, parallel: u32| switches.saturating_mul(up).saturating_mul(parallel.into());
        count("links between ToR and aggregation switches", links(pods * tors, aggs, self.links_per_pair), MOST)?;
        let core_links = links(pods * aggs, ups.into(), self.core_links_per_pair);
        count("links between aggregation switches and cores", core_links, MOST)?;
        self.wire(ups)
    }

    fn wire(&self, ups: u32) -> Result<Graph, GraphError> {
        let (fabric_rate, fabric_delay) =
            (self.fabric_rate.unwrap_or(self.rate), self.fabric_delay.unwrap_or(self.link_delay));
        let (core_rate, core_delay) = (self.core_rate.unwrap_or(fabric_rate), self.core_delay.unwrap_or(fabric_delay));
        let mut graph = Graph::default();
        let mut tier = |name: &str, tier: &str, kind, number: u32| -> Vec<NodeId> {
            (0..number).map(|n| graph.add(format!("{name}{n}"), tier, kind)).collect()
        };
        let (number_of_tors, number_of_aggs) = (self.pods * self.tors_per_pod, self.pods * self.aggs_per_pod);
        let hosts = tier("h", "host", NodeKind::Host, number_of_tors * self.hosts_per_tor);
        let tors = tier("tor", "tor", NodeKind::Switch, number_of_tors);
        let aggs = tier("agg", "agg", NodeKind::Switch, number_of_aggs);
        let cores = tier("core", "core", NodeKind::Switch, self.cores);
        for (hosts, &tor) in hosts.chunks(self.hosts_per_tor as usize).zip(&tors) {
            hosts.iter().for_each(|&host| graph.link(host, tor, self.rate, self.link_delay));
        }
        let pods = || aggs.chunks(self.aggs_per_pod as usize);
        for (tors, aggs) in tors.chunks(self.tors_per_pod as usize).zip(pods()) {
            for (&tor, &agg) in tors.iter().flat_map(|tor| aggs.iter().map(move |agg| (tor, agg))) {
                graph.bundle(self.links_per_pair, tor, agg, fabric_rate, fabric_delay);
            }
        }
        for aggs in pods() {
            for (j, &agg) in aggs.iter().enumerate() {
                let first = if self.core_wiring == CoreWiring::Groups { j * ups as usize } else { 0 };
                for &core in &cores[first..first + ups as usize] {
                    graph.bundle(self.core_links_per_pair, agg, core, core_rate, core_delay);
                }
            }
        }
        graph.validate()?;
        NvLink::join_all(self.nvlink.as_ref(), &mut graph)?;
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(graph: &Graph, node: &str) -> Vec<String> {
        let ports = graph.ports().unwrap();
        let list = &ports[graph.node(node).unwrap().0 as usize];
        list.iter().map(|p| graph.nodes[p.peer.0 as usize].name.clone()).collect()
    }

    /// `mix/fat.txt` of HPCC's public ns-3 code: 376 nodes, the last 56 of them switches, and 480 links. `LINKS` is the
    /// FNV-1a hash (64 bit) over its links in their order, of each the two nodes, the rate in Gb/s and the delay in ns as
    /// little-endian words of 32 bit.
    #[test]
    fn hpcc_fabric_of_320_hosts() {
        const LINKS: u64 = 0xfbf3_b587_abaf_0765;
        let graph = FatTree::default().build().unwrap();
        assert_eq!((graph.nodes.len(), graph.switches().count(), graph.links.len()), (376, 56, 480));
        assert!(graph.switches().eq((320..376).map(NodeId)));
        let of = |link: &super::super::Link| {
            [link.a.0, link.b.0, (link.rates[0].0 / 1_000_000_000) as u32, (link.delay.0 / 1_000) as u32]
        };
        let bytes = graph.links.iter().flat_map(of).flat_map(u32::to_le_bytes);
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        assert_eq!(hash, LINKS);
        // Some of them in words: h16 at switch 321, switch 324 to 347, 345 to 365.
        let has = |a, b| graph.links.iter().any(|l| (l.a, l.b) == (NodeId(a), NodeId(b)));
        assert!(has(16, 321) && has(324, 347) && has(345, 365) && !has(323, 344) && !has(345, 363));
        assert_eq!(peers(&graph, "tor19").len(), 20, "the document's switch radix");
        assert_eq!(peers(&graph, "core5"), ["agg1", "agg5", "agg9", "agg13", "agg17"]);
    }

    /// Al-Fares et al. 2008, figure 3: k = 4 has 16 hosts and 20 switches of 4 ports each.
    #[test]
    fn k_ary_fat_tree() {
        let graph = FatTree::k_ary(4, Rate::gbps(10), Time::us(1)).build().unwrap();
        assert_eq!((graph.hosts().count(), graph.switches().count(), graph.links.len()), (16, 20, 48));
        for switch in graph.switches() {
            assert_eq!(peers(&graph, &graph.nodes[switch.0 as usize].name).len(), 4);
        }
        assert_eq!(peers(&graph, "tor3"), ["h6", "h7", "agg2", "agg3"]);
        assert_eq!(peers(&graph, "agg3"), ["tor2", "tor3", "core2", "core3"]);
        assert_eq!(peers(&graph, "core1"), ["agg0", "agg2", "agg4", "agg6"]);
        assert_eq!(graph.islands().iter().max(), Some(&0));
    }

    #[test]
    fn every_aggregation_switch_to_every_core() {
        let shape =
            FatTree { cores: 3, core_wiring: CoreWiring::All, ..FatTree::k_ary(4, Rate::gbps(10), Time::us(1)) };
        let graph = shape.build().unwrap();
        assert_eq!(peers(&graph, "agg5"), ["tor4", "tor5", "core0", "core1", "core2"]);
        assert_eq!(peers(&graph, "core2").len(), 8);
    }

    #[test]
    fn tiers_have_rates_and_delays_of_their_own() {
        let (fabric_rate, core_rate) = (Rate::gbps(200), Rate::gbps(800));
        let (fabric_delay, core_delay) = (Time::ns(2), Time::ns(3));
        let shape = FatTree {
            fabric_rate: Some(fabric_rate),
            core_rate: Some(core_rate),
            fabric_delay: Some(fabric_delay),
            core_delay: Some(core_delay),
            ..FatTree::default()
        };
        let graph = shape.build().unwrap();
        for link in &graph.links {
            let expected = match graph.nodes[link.b.0 as usize].tier.as_str() {
                "tor" => (shape.rate, shape.link_delay),
                "agg" => (fabric_rate, fabric_delay),
                tier => {
                    assert_eq!(tier, "core");
                    (core_rate, core_delay)
                }
            };
            assert_eq!((link.rates, link.delay), ([expected.0; 2], expected.1));
        }
    }

    /// Two links to each aggregation switch and three to each core: 8 ToRs x 2 x 2 and 8 aggregation switches x 2 x 3 links, beside
    /// those of the 16 hosts.
    #[test]
    fn parallel_links_are_kept_side_by_side() {
        let plain = FatTree::k_ary(4, Rate::gbps(10), Time::us(1));
        let graph = FatTree { links_per_pair: 2, core_links_per_pair: 3, ..plain.clone() }.build().unwrap();
        assert_eq!(graph.links.len(), 16 + 8 * 2 * 2 + 8 * 2 * 3);
        assert_eq!(peers(&graph, "tor3"), ["h6", "h7", "agg2", "agg2", "agg3", "agg3"]);
        assert_eq!(peers(&graph, "agg2")[..4], ["tor2", "tor2", "tor3", "tor3"]);
        assert_eq!(peers(&graph, "agg2")[4..], ["core0", "core0", "core0", "core1", "core1", "core1"]);
        let none = FatTree { core_links_per_pair: 0, ..plain.clone() }.build();
        assert!(matches!(none, Err(GraphError::None { .. })));
        // 16 pairs in each tier.
        for (links_per_pair, core_links_per_pair) in [(u32::MAX, 1), (1, 1 << 17)] {
            let many = FatTree { links_per_pair, core_links_per_pair, ..plain.clone() }.build();
            assert!(matches!(many, Err(GraphError::TooMany { .. })), "{many:?}");
        }
    }

    #[test]
    fn sizes_that_cannot_be() {
        let uneven = FatTree { cores: 15, ..FatTree::default() }.build().unwrap_err();
        assert_eq!(uneven.to_string(), "15 cores cannot be shared out evenly among 4 aggregation switches of a pod");
        for shape in [
            FatTree { pods: u32::MAX, tors_per_pod: u32::MAX, hosts_per_tor: u32::MAX, ..FatTree::default() },
            FatTree { aggs_per_pod: 4_000_000, cores: 4_000_000, ..FatTree::default() },
            FatTree { pods: 2048, cores: 2048, core_wiring: CoreWiring::All, ..FatTree::default() },
        ] {
            assert!(matches!(shape.build(), Err(GraphError::TooMany { .. })), "{shape:?}");
        }
        assert!(matches!(FatTree { pods: 0, ..FatTree::default() }.build(), Err(GraphError::None { .. })));
        assert!(matches!(FatTree::k_ary(1, Rate::gbps(1), Time::ZERO).build(), Err(GraphError::None { .. })));
    }
}
