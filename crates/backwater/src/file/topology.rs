//! `[topology]`.

use backwater_engine::Time;
use backwater_net::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nodes and links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// Hosts around one switch, `s0`.
    Star {
        /// Number of hosts: `h0`, `h1`, …
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        hosts: u32,
        /// Rate of each link.
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        rate: Rate,
        /// Propagation delay of each link.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        link_delay: Time,
    },
    /// Two switches, `left` and `right`, joined by a trunk, with hosts on both sides: the left ones are numbered first.
    Dumbbell {
        /// Number of hosts on the left.
        #[schemars(range(min = 1, max = 65_534))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        left_hosts: u32,
        /// Number of hosts on the right.
        #[schemars(range(min = 1, max = 65_534))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        right_hosts: u32,
        /// Rate of each host's link.
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        rate: Rate,
        /// Rate of each link between the switches. Absent: `rate`.
        #[serde(default)]
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        trunk_rate: Option<Rate>,
        /// Propagation delay of each host's link.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        link_delay: Time,
        /// Propagation delay of the links between the switches. Absent: `link_delay`.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        trunk_delay: Option<Time>,
        /// Parallel links between the switches.
        #[serde(default = "one_link")]
        #[schemars(range(min = 1, max = 1_024))]
        #[schemars(extend("x-source" = "Backwater's own; 1: choice"))]
        trunk_links: u32,
    },
    /// A chain of switches `s0`, `s1`, … with the same number of hosts at each, numbered switch by switch: the last host is at the end of the chain.
    ParkingLot {
        /// Number of switches.
        #[schemars(range(min = 2, max = 10_000))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        switches: u32,
        /// Number of hosts at each switch.
        #[serde(default = "default_hosts_per_switch")]
        #[schemars(range(min = 1, max = 65_533))]
        #[schemars(extend("x-source" = "Backwater's own; 1: choice"))]
        hosts_per_switch: u32,
        /// Rate of each host's link.
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        rate: Rate,
        /// Rate of the links between switches. Absent: `rate`.
        #[serde(default)]
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        trunk_rate: Option<Rate>,
        /// Propagation delay of each host's link.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        link_delay: Time,
        /// Propagation delay of the links between switches. Absent: `link_delay`.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        trunk_delay: Option<Time>,
    },
    /// A two-layer Clos network, or several `planes` of them: every `leaf` joined to every `spine`; hosts are numbered leaf by leaf, or on `rails` server by server. It is oversubscribed if `hosts_per_leaf` x `rate` is more than `spines` x `links_per_pair` x `fabric_rate`.
    LeafSpine {
        /// Number of leaf switches of a plane: `leaf0`, `leaf1`, …, numbered plane by plane.
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        leaves: u32,
        /// Number of spine switches of a plane: `spine0`, `spine1`, …, numbered plane by plane.
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        spines: u32,
        /// Number of hosts at each leaf: `h0`, `h1`, …
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        hosts_per_leaf: u32,
        /// Leaves of a plane to which each host has a link: with 2 a pair of ToRs that has its hosts in common. With `rails` a divisor of `leaves` / `rails`.
        #[serde(default = "one_link")]
        #[schemars(range(min = 1, max = 64))]
        #[schemars(extend("x-source" = "Qian et al., Alibaba HPN, SIGCOMM 2024: dual-ToR, 2; 1: choice"))]
        leaves_per_host: u32,
        /// Interfaces of each server, each of them a host, numbered server by server: rail-optimised, interface i of the `hosts_per_leaf` servers of a group is attached to leaf i of that group of `rails` leaves. A divisor of `leaves`.
        #[serde(default = "one_link")]
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "NVIDIA DGX SuperPOD reference architecture: rail-optimised, 8; 1: choice"))]
        rails: u32,
        /// Networks without a switch in common, each of `leaves` and `spines`, to each of which every host has a link, or `leaves_per_host` of them; its links are numbered plane by plane.
        #[serde(default = "one_link")]
        #[schemars(range(min = 1, max = 64))]
        #[schemars(extend("x-source" = "Qian et al., Alibaba HPN, SIGCOMM 2024: dual-plane, 2; 1: choice"))]
        planes: u32,
        /// Rate of each host's link.
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        rate: Rate,
        /// Rate of each link between a leaf and a spine. Absent: `rate`.
        #[serde(default)]
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        fabric_rate: Option<Rate>,
        /// Propagation delay of each host's link.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        link_delay: Time,
        /// Propagation delay of each link between a leaf and a spine. Absent: `link_delay`.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        fabric_delay: Option<Time>,
        /// Parallel links between each leaf and each spine; in a fat tree between each ToR and each aggregation switch of its pod.
        #[serde(default = "one_link")]
        #[schemars(range(min = 1, max = 1_024))]
        #[schemars(extend("x-source" = "Backwater's own; 1: choice"))]
        links_per_pair: u32,
        /// NVLink domains: each host a GPU with a link to the NVLink switch of its server, beside those to the network.
        #[serde(default)]
        nvlink: Option<NvLink>,
    },
    /// A three-layer Clos network of pods: in a pod every `tor` joined to every `agg`, and the pods joined by every `core`; hosts are numbered ToR by ToR. ToRs are oversubscribed if `hosts_per_tor` x `rate` is more than `aggs_per_pod` x `links_per_pair` x `fabric_rate`. A k-ary fat tree has k pods of k/2 ToRs and k/2 aggregation switches, k/2 hosts at each ToR and (k/2)^2 cores.
    FatTree {
        /// Number of pods.
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        pods: u32,
        /// Number of top-of-rack switches in each pod: `tor0`, `tor1`, …, numbered pod by pod.
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        tors_per_pod: u32,
        /// Number of aggregation switches in each pod: `agg0`, `agg1`, …, numbered pod by pod.
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        aggs_per_pod: u32,
        /// Number of core switches: `core0`, `core1`, … With `core_wiring = "groups"` a multiple of `aggs_per_pod`.
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        cores: u32,
        /// Number of hosts at each ToR: `h0`, `h1`, …
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        hosts_per_tor: u32,
        /// Which cores an aggregation switch is joined to: those of its group (`groups`), or `all`.
        #[serde(default = "default_core_wiring")]
        #[schemars(extend("x-source" = "Al-Fares et al., SIGCOMM 2008, section 3: groups"))]
        core_wiring: CoreWiring,
        /// Rate of each host's link.
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        rate: Rate,
        /// Rate of each link between a ToR and an aggregation switch. Absent: `rate`.
        #[serde(default)]
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        fabric_rate: Option<Rate>,
        /// Rate of each link between an aggregation switch and a core. Absent: `fabric_rate`.
        #[serde(default)]
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        core_rate: Option<Rate>,
        /// Propagation delay of each host's link.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        link_delay: Time,
        /// Propagation delay of each link between a ToR and an aggregation switch. Absent: `link_delay`.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        fabric_delay: Option<Time>,
        /// Propagation delay of each link between an aggregation switch and a core. Absent: `fabric_delay`.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        core_delay: Option<Time>,
        /// Parallel links between each ToR and each aggregation switch of its pod.
        #[serde(default = "one_link")]
        #[schemars(range(min = 1, max = 1_024))]
        #[schemars(extend("x-source" = "Backwater's own; 1: choice"))]
        links_per_pair: u32,
        /// Parallel links between each aggregation switch and each of its cores.
        #[serde(default = "one_link")]
        #[schemars(range(min = 1, max = 1_024))]
        #[schemars(extend("x-source" = "Backwater's own; 1: choice"))]
        core_links_per_pair: u32,
        /// NVLink domains: each host a GPU with a link to the NVLink switch of its server, beside those to the network.
        #[serde(default)]
        nvlink: Option<NvLink>,
    },
    /// Groups of routers, joined all to all within a group and between groups; hosts are numbered router by router. Ways have one link between groups, and at most one within either group.
    Dragonfly {
        /// Number of groups. Each has as many links to every other: `groups` - 1 divides the links of a group to others.
        #[schemars(range(min = 2, max = 65_535))]
        #[schemars(extend("x-symbol" = "g", "x-source" = "Kim et al., Dragonfly, ISCA 2008"))]
        groups: u32,
        /// Number of routers in each group, each joined to every other: `router0`, `router1`, …, numbered group by group.
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-symbol" = "a", "x-source" = "Kim et al., Dragonfly, ISCA 2008"))]
        routers_per_group: u32,
        /// Number of hosts at each router: `h0`, `h1`, …
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-symbol" = "p", "x-source" = "Kim et al., Dragonfly, ISCA 2008"))]
        hosts_per_router: u32,
        /// Links of each router to routers of other groups. Port p of a group, counted router by router, leads to group p modulo (`groups` - 1), its own left out.
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-symbol" = "h", "x-source" = "Kim et al., Dragonfly, ISCA 2008; Hastings et al., CLUSTER 2015: absolute arrangement"))]
        global_links_per_router: u32,
        /// Rate of each host's link.
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        rate: Rate,
        /// Rate of each link between routers of a group. Absent: `rate`.
        #[serde(default)]
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        fabric_rate: Option<Rate>,
        /// Rate of each link between groups. Absent: `fabric_rate`.
        #[serde(default)]
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        global_rate: Option<Rate>,
        /// Propagation delay of each host's link.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        link_delay: Time,
        /// Propagation delay of each link between routers of a group. Absent: `link_delay`.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        fabric_delay: Option<Time>,
        /// Propagation delay of each link between groups. Absent: `fabric_delay`.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        global_delay: Option<Time>,
        /// NVLink domains: each host a GPU with a link to the NVLink switch of its server, beside those to the network.
        #[serde(default)]
        nvlink: Option<NvLink>,
    },
    /// Groups of two layers, joined all to all: in a group every `leaf` joined to every `spine`, and each spine to spines of other groups; hosts are numbered leaf by leaf. A shortest way between groups is leaf, spine, spine, leaf.
    DragonflyPlus {
        /// Number of groups. Each has as many links to every other: `groups` - 1 divides `spines_per_group` x `global_links_per_spine`.
        #[schemars(range(min = 2, max = 65_535))]
        #[schemars(extend("x-source" = "Shpiner et al., Dragonfly+, HiPINEB 2017"))]
        groups: u32,
        /// Number of leaf switches in each group: `leaf0`, `leaf1`, …, numbered group by group.
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "Shpiner et al., Dragonfly+, HiPINEB 2017"))]
        leaves_per_group: u32,
        /// Number of spine switches in each group: `spine0`, `spine1`, …, numbered group by group.
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "Shpiner et al., Dragonfly+, HiPINEB 2017"))]
        spines_per_group: u32,
        /// Number of hosts at each leaf: `h0`, `h1`, …
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        hosts_per_leaf: u32,
        /// Links of each spine to spines of other groups. Port p of a group, counted spine by spine, leads to group p modulo (`groups` - 1), its own left out.
        #[schemars(range(min = 1, max = 65_535))]
        #[schemars(extend("x-source" = "Hastings et al., CLUSTER 2015: absolute arrangement"))]
        global_links_per_spine: u32,
        /// Rate of each host's link.
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        rate: Rate,
        /// Rate of each link between a leaf and a spine. Absent: `rate`.
        #[serde(default)]
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        fabric_rate: Option<Rate>,
        /// Rate of each link between groups. Absent: `fabric_rate`.
        #[serde(default)]
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        global_rate: Option<Rate>,
        /// Propagation delay of each host's link.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        link_delay: Time,
        /// Propagation delay of each link between a leaf and a spine. Absent: `link_delay`.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        fabric_delay: Option<Time>,
        /// Propagation delay of each link between groups. Absent: `fabric_delay`.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        global_delay: Option<Time>,
        /// Parallel links between each leaf and each spine of a group.
        #[serde(default = "one_link")]
        #[schemars(range(min = 1, max = 1_024))]
        #[schemars(extend("x-source" = "Backwater's own; 1: choice"))]
        links_per_pair: u32,
        /// NVLink domains: each host a GPU with a link to the NVLink switch of its server, beside those to the network.
        #[serde(default)]
        nvlink: Option<NvLink>,
    },
    /// Every node and link written out.
    Explicit {
        /// The nodes, a `[[topology.node]]` each; hosts are numbered in this order.
        node: Vec<ExplicitNode>,
        /// The links, a `[[topology.link]]` each; a node's ports are numbered in this order unless they are named.
        link: Vec<ExplicitLink>,
    },
}

fn default_hosts_per_switch() -> u32 {
    1
}

fn one_link() -> u32 {
    1
}

fn default_core_wiring() -> CoreWiring {
    CoreWiring::Groups
}

/// Which cores an aggregation switch of a fat tree is joined to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CoreWiring {
    /// The j-th aggregation switch of every pod is joined to the j-th group of `cores` / `aggs_per_pod` cores.
    Groups,
    /// Every aggregation switch is joined to every core.
    All,
}

/// Servers of GPUs, each of them a host, which are numbered server by server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NvLink {
    /// GPUs of a server, a divisor of the number of hosts. They share a switch: `nvlink0`, `nvlink1`, …, one a server.
    #[schemars(range(min = 1, max = 65_535))]
    #[schemars(extend("x-source" = "Backwater's own"))]
    pub gpus: u32,
    /// Rate of each GPU's link to the switch of its server, its last link.
    #[schemars(extend("x-min" = "1 b/s", "x-source" = "NVIDIA H100: 900 GB/s in both directions together are 3.6 Tb/s"))]
    pub rate: Rate,
    /// Propagation delay of these links.
    #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
    pub delay: Time,
}

impl Topology {
    /// Its NVLink domains.
    pub fn nvlink(&self) -> Option<&NvLink> {
        match self {
            Topology::LeafSpine { nvlink, .. }
            | Topology::FatTree { nvlink, .. }
            | Topology::Dragonfly { nvlink, .. }
            | Topology::DragonflyPlus { nvlink, .. } => nvlink.as_ref(),
            _ => None,
        }
    }
}

/// What an explicit node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeRole {
    /// Sends and receives flows; has one link or several, and forwards nothing.
    Host,
    /// Forwards.
    Switch,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplicitNode {
    /// Its name, used nowhere else.
    #[schemars(extend("x-source" = "Backwater's own", "x-range" = "any text without blanks, commas and colons"))]
    pub name: String,
    /// `host` or `switch`.
    #[schemars(extend("x-source" = "Backwater's own"))]
    pub kind: NodeRole,
    /// Tier, by which parameters can be overridden. Absent: its kind.
    #[serde(default)]
    #[schemars(extend("x-source" = "Backwater's own", "x-range" = "any text"))]
    pub tier: Option<String>,
}

/// A full-duplex link; several may join the same two nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplicitLink {
    /// One end: the name of a node, or of a node and its port as in `leaf0:3`.
    #[schemars(extend("x-source" = "Backwater's own", "x-range" = "NODE or NODE:PORT"))]
    pub a: String,
    /// The other end.
    #[schemars(extend("x-source" = "Backwater's own", "x-range" = "NODE or NODE:PORT"))]
    pub b: String,
    /// Rate in each direction.
    #[schemars(with = "Rate", extend("x-min" = "1 b/s", "x-per-direction" = true, "x-source" = "IEEE 802.3: full duplex"))]
    pub rate: PerDirection<Rate>,
    /// Propagation delay, the same in each direction.
    #[schemars(with = "Time", extend("x-per-direction" = true, "x-source" = "Backwater's own", "x-range" = "0 s and more"))]
    pub delay: PerDirection<Time>,
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

// By hand, since an untagged enum would hide why a quantity is wrong.
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
