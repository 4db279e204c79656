//! `[[flow]]`: groups of flows.

use super::hosts::Hosts;
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;

/// A group of flows.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct FlowGroup {
    /// Name of the group in results. Groups with the same label are one group there. Variants and `--set` use it, too: `flow.LABEL.size`.
    #[param(default = "flows".into(), range_text = "any text", source = "Backwater's own")]
    pub label: String,
    /// Pairs of senders and receivers: `pairs`, `all-to-all`, `permutation`, `random`, `clusters`, `gather`, `matrix` or `incast`.
    #[param(default = Pattern::Pairs, source = "Dally and Towles, Principles and Practices of Interconnection Networks, 2004, section 3.2; default: choice")]
    pub pattern: Pattern,
    /// Senders. Absent: all hosts.
    #[param(source = "Backwater's own")]
    pub from: Option<Hosts>,
    /// Receivers. Absent: all hosts.
    #[param(source = "Backwater's own")]
    pub to: Option<Hosts>,
    /// Number of senders in each event of an `incast`, drawn anew from `from` without the receiver.
    #[param(bounds = 1..=1_000_000, source = "Backwater's own")]
    pub fan_in: Option<u32>,
    /// Number of hosts in each cluster, for `clusters` and `gather`: the first ones of `from` are a cluster, the next ones another.
    #[param(bounds = 2..=1_000_000, source = "Backwater's own")]
    pub cluster: Option<u32>,
    /// Hosts that the numbers in `from` and `to` stand for: the hosts with these numbers (`named`), or those at these places of an order of
    /// all hosts that the seed draws (`random`). All groups with `random` share the order: different numbers are different hosts in all of them.
    #[param(default = Places::Named, source = "Backwater's own; default: choice")]
    pub placement: Places,
    /// File with the weights of receivers for `matrix`, relative to the scenario: CSV with the columns src, dst and weight, where src and dst are sets of hosts as in `from`.
    #[param(range_text = "a file", source = "Backwater's own; CSV: RFC 4180")]
    pub matrix: Option<String>,
    /// Payload of each flow. Not for tables and for `bernoulli`, whose streams end only at `until`.
    #[param(bounds = Bytes(1).., source = "Backwater's own")]
    pub size: Option<Bytes>,
    /// Distribution of the payload of flows, instead of `size`, for `periodic` and `poisson`: `google-rpc`, `web-search`, `hadoop`,
    /// `storage`, `data-mining`, or a file of lines `BYTES PERCENT`, relative to the scenario.
    #[param(
        range_text = "a name of the list, or a file",
        source = "each distribution names its own: `backwater list workloads`"
    )]
    pub sizes: Option<String>,
    /// Start of the flows, or of the arrivals of flows.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own; 0: choice")]
    pub start: Time,
    /// Class of the data, 0 to 7.
    #[param(default = 3, bounds = 0..=7, source = "IEEE 802.1Q clause 6.9.3 (priority); 3: choice, RoCEv2 deployments commonly use it")]
    pub class: u8,
    /// Classes, each 0 to 7, instead of `class`: a hash of a flow's destination chooses its class. Absent: `class`.
    #[param(
        source = "IEEE P802.1Qcz simulation, IETF 101 (2018): flows are mapped to queues by hash of destination IP"
    )]
    pub classes: Option<Vec<u8>>,
    /// Size below which flows are in `small_class`: the sender knows their size.
    #[param(bounds = Bytes(1).., source = "IEEE P802.1Qcz simulation, IETF 101 (2018): mice prioritisation; the size: choice")]
    pub small_below: Option<Bytes>,
    /// Class of flows of fewer bytes than `small_below`, 0 to 7.
    #[param(bounds = 0..=7, source = "IEEE 802.1Q clause 6.9.3 (priority); choice")]
    pub small_class: Option<u8>,
    /// Whether the packets are ECN-capable.
    #[param(default = true, source = "RFC 3168 section 5 (ECT); on: choice, as DCQCN needs it")]
    pub ect: bool,
    /// All nodes of the path, both hosts included; a list of lists has one path for each pair. Absent: ECMP.
    #[param(range_text = "a path along links", source = "Backwater's own")]
    pub path: Option<Waypoints>,
    /// Nodes that the path must pass in this order, with the shortest path between them; a list of lists has one for each pair. Absent:
    /// ECMP.
    #[param(range_text = "nodes with one shortest path from each to the next", source = "Backwater's own")]
    pub via: Option<Waypoints>,
    /// All nodes of the acknowledgements' path, from the receiver to the sender; a list of lists has one path for each pair. Absent: as
    /// `ack.path` specifies.
    #[param(range_text = "a path along links", source = "Backwater's own")]
    pub ack_path: Option<Waypoints>,
    /// Number of the link, from 0, by which the flows leave a host with several links, for `nic.link = "index"`. Absent: number of the flow
    /// modulo number of links.
    #[param(source = "Backwater's own")]
    pub link: Option<u16>,
    /// Number of queue pairs for each message. Each has its own ECMP hash, rate control and recovery.
    #[param(default = 1, bounds = 1..=128, source = "NCCL: NCCL_IB_QPS_PER_CONNECTION, 1 to 128; 1: choice")]
    pub queue_pairs: u32,
    /// Payload of the segments into which a message is divided. They go to its `queue_pairs` in turn. Absent: one segment for each queue
    /// pair, of equal length.
    #[param(
        range_text = "multiples of packet.payload",
        source = "Backwater's own; NCCL: NCCL_IB_SPLIT_DATA_ON_QPS is absent where it is 1"
    )]
    pub segment: Option<Bytes>,
    /// Whether messages from one host to another share queue pairs one after the other, with one sequence of packet numbers, one window and
    /// one rate. `false`: each message has new queue pairs. Needs `transport.recovery`.
    #[param(
        default = false,
        source = "InfiniBand specification, volume 1, chapter 9 (queue pairs); UEC 1.0 (PDCs); false: choice"
    )]
    pub keep_queue_pairs: bool,
    /// When flows start: `once`, `periodic`, `poisson`, or, as a stream of packets, `bernoulli`.
    #[param(default = Arrivals::Once, source = "Backwater's own; default: choice")]
    pub arrivals: Arrivals,
    /// Share of a capacity (`load_of`) that the group offers while flows arrive, in bytes as `load_counts` specifies. Each source offers
    /// this share of its own link, over all its pairs together. For `periodic`, `poisson` and `bernoulli`.
    #[param(source = "Backwater's own")]
    pub load: Option<Share>,
    /// Bytes that `load` counts: all on the `wire`, with headers, preamble and gap, or `payload` alone.
    #[param(default = LoadCounts::Wire, source = "choice: what fills a link are bytes on the wire; the traffic generator of HPCC (Li et al., SIGCOMM 2019) counts payload")]
    pub load_counts: LoadCounts,
    /// Capacity of which `load` is a share: the links of the group's `sources`, or the links of all hosts of the `network`; each source
    /// offers in proportion to its link.
    #[param(default = LoadOf::Sources, source = "choice; network: SFC proxy contribution 2025")]
    pub load_of: LoadOf,
    /// Time between two flows of one source, or between two events of an incast, instead of `load`; for `poisson` the mean.
    #[param(bounds = Time(1).., source = "Backwater's own")]
    pub interval: Option<Time>,
    /// Time from which no flow starts. Absent: `stop.at`.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub until: Option<Time>,
    /// Number of flows of each pair (`random`, `matrix`: of each sender), or number of events of an incast. Absent: 1 for `once`, otherwise
    /// as many as begin before `until`.
    #[param(bounds = 1..=1_000_000_000, source = "Backwater's own")]
    pub count: Option<u64>,
    /// Packets of a `bernoulli` stream that may wait at its source, without the one on the wire. If so many wait, a further packet is never
    /// sent, and counts in `blocked_bytes`. Absent: no limit.
    #[param(bounds = 1..=1_000_000, source = "choice; 4 is fitted to BCN + Pause Simulation Results, October 2006")]
    pub queue: Option<u32>,
    /// Start of the slots of `bernoulli` streams: `together` or `apart`. Absent: `together`.
    #[param(source = "choice; independent end stations share no clock")]
    pub slots: Option<Slots>,
    /// Mean number of packets that a `bernoulli` stream makes in consecutive slots: on/off traffic. Bursts, and the gaps between them, have
    /// geometrically distributed lengths, and `load` stays the mean. Absent: each slot is drawn by itself, as with 1.
    #[param(bounds = 1.0..=1e6, source = "Backwater's own; absent: choice")]
    pub burst: Option<f64>,
    /// File with one flow per row, relative to the scenario: `.csv` or `.parquet` with the columns id, src, dst, bytes and start (ps, or in
    /// CSV with a unit). Optional columns: class (missing or empty: the group's), path and ack_path (node names with blanks between), and
    /// link.
    #[param(
        range_text = "a file whose name ends in .csv or .parquet",
        source = "Backwater's own; CSV: RFC 4180, Parquet: Apache Parquet"
    )]
    pub table: Option<String>,
}

/// Pairs of senders and receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// The n-th sender to the n-th receiver. If one side has a single host, that host is in all pairs: an incast has one receiver.
    Pairs,
    /// Each sender to each receiver except itself.
    AllToAll,
    /// Each sender to one receiver and each receiver from one sender, at random by the seed, no host to itself. `from` and `to` are the
    /// same set.
    Permutation,
    /// Each flow to a randomly drawn receiver, never the sender itself.
    Random,
    /// Each flow to a randomly drawn receiver of the sender's cluster, never the sender itself.
    Clusters,
    /// All hosts of each cluster to its first host.
    Gather,
    /// Each flow to a receiver drawn by the weights of a traffic matrix, never the sender itself.
    Matrix,
    /// Events: `fan_in` randomly drawn senders send at once to one randomly drawn receiver.
    Incast,
}

/// Hosts that a group's numbers stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Places {
    /// The hosts with these numbers.
    Named,
    /// The hosts at these places of an order of all hosts that the seed draws.
    Random,
}

/// Bytes that a load counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadCounts {
    /// All bytes that take time on a link: payload, headers, preamble and gap.
    Wire,
    /// Payload alone.
    Payload,
}

/// Capacity of which a load is a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadOf {
    /// The sum of the rates of the links of the group's sources.
    Sources,
    /// The sum of the rates of the links of all hosts.
    Network,
}

/// When flows start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At `start`.
    Once,
    /// At `start` and then every `interval`.
    Periodic,
    /// With exponentially distributed intervals.
    Poisson,
    /// One stream per pair: in each slot, the time of a full packet, one packet becomes available with probability `load`.
    Bernoulli,
}

/// Start of the slots of Bernoulli streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Slots {
    /// All at `start`.
    Together,
    /// Each within one slot after `start`, uniformly drawn by the seed: the sources do not share a clock.
    Apart,
}

/// A share, written as a percentage: `"40 %"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(pub f64);

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 1e-9 of a percent is far below any visible effect, and hides that 0.07 x 100 is not 7 in binary.
        write!(f, "{} %", (self.0 * 1e11).round() / 1e9)
    }
}

impl std::str::FromStr for Share {
    type Err = String;
    fn from_str(text: &str) -> Result<Share, String> {
        let hint = "a share is a percentage, as in \"40 %\"";
        let Some(number) = text.trim().strip_suffix('%') else {
            return Err(format!("`{text}` has no unit (hint: {hint})"));
        };
        match number.trim().parse::<f64>() {
            Ok(percent) if percent.is_finite() && percent > 0.0 => Ok(Share(percent / 100.0)),
            _ => Err(format!("`{text}` is not a share above 0 % (hint: {hint})")),
        }
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Share, D::Error> {
        String::deserialize(d)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "x-unit": "share (%)", "x-range": "above 0 %; all groups of a source at most 100 % together",
            "examples": ["40 %"], "pattern": r"^\s*[0-9]*\.?[0-9]+\s*%\s*$" })
    }
    fn inline_schema() -> bool {
        true
    }
}

/// Node names: one list for all pairs, or one list for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Waypoints {
    /// For all pairs.
    All(Vec<String>),
    /// For each pair its own.
    Each(Vec<Vec<String>>),
}

impl Waypoints {
    /// The names of a pair, by its number.
    pub fn of(&self, pair: usize) -> Option<&[String]> {
        match self {
            Waypoints::All(names) => Some(names),
            Waypoints::Each(lists) => lists.get(pair).map(Vec::as_slice),
        }
    }
}

impl<'de> Deserialize<'de> for Waypoints {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Waypoints, D::Error> {
        let value = serde_json::Value::deserialize(d)?;
        let wrong = |_| {
            de::Error::custom(
                "not a list of node names (hint: as in [\"spine6\"], or a list of lists, one for each pair)",
            )
        };
        let nested = value.as_array().is_some_and(|list| list.first().is_some_and(serde_json::Value::is_array));
        if nested {
            serde_json::from_value(value).map(Waypoints::Each).map_err(wrong)
        } else {
            serde_json::from_value(value).map(Waypoints::All).map_err(wrong)
        }
    }
}

impl JsonSchema for Waypoints {
    fn schema_name() -> Cow<'static, str> {
        "Waypoints".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": { "type": ["string", "array"] }, "x-unit": "node names",
            "examples": [["spine6"], [["spine0"], ["spine1"]]] })
    }
    fn inline_schema() -> bool {
        true
    }
}
