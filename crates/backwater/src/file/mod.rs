//! The structure of a scenario file. `backwater explain` and the JSON Schema use the texts of these fields.
//!
//! The stage defines the tables that mechanisms and switches share with it (`[packet]`, `[switch]`, `[pfc]`, …); `preset`, `[[X.at]]` and
//! `[variant.NAME]` are merged before these types are read.

mod fault;
mod flow;
mod hosts;
mod job;
mod link;
mod nic;
mod output;

pub use fault::{Between, DropNth, FaultEntry, Frames, LinkFlap, Loss, PauseStorm, Paused, RateChange, SlowReceiver};
pub use flow::{Arrivals, FlowGroup, LoadCounts, LoadOf, Pattern, Places, Share, Slots, Waypoints};
pub use hosts::{Host, Hosts};
pub use job::{
    AlgorithmName, ChoiceName, CompleteAt, CopiesTo, JobEntry, PipelineEntry, Placement, Protocol, RankPairs,
    ScheduleName, SizeMatrix, SizeOf, StepEntry, StepKind,
};
pub use link::{LinkAt, Links, Nodes};
pub use nic::{Nic, NicAt, RateLimiters};
pub use output::Output;

use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::config::{AckParams, PacketParams, TransportParams};
use backwater_net::topology::Topology;

/// A scenario file without its mechanisms, switches and variants.
#[parameters]
#[derive(Clone, Debug)]
pub struct File {
    /// Name of the run in results and reports.
    #[param(default = String::new(), range_text = "any text", source = "Backwater's own")]
    pub title: String,
    /// Purpose of the scenario, in a sentence or a paragraph.
    #[param(default = String::new(), range_text = "any text", source = "Backwater's own")]
    pub description: String,
    /// Seed of all random streams.
    #[param(default = 1, range_text = "0 to 2^63 - 1", source = "Backwater's own; 1: choice")]
    pub seed: u64,
    /// Whether the run must not drop a frame of a flow for want of memory. If one is dropped the run ends, and too little PFC headroom is
    /// an error. Dropped control messages of mechanisms are only counted.
    #[param(default = false, source = "Backwater's own; what IEEE 802.1Q clause 36 (PFC) is there to keep")]
    pub lossless: bool,
    /// When the run ends.
    #[serde(default)]
    pub stop: Stop,
    /// Nodes and links.
    pub topology: Topology,
    /// Links with other values than those of the topology.
    #[serde(default, skip_serializing_if = "Links::is_empty")]
    pub link: Links,
    /// Sizes on the wire.
    #[serde(default)]
    pub packet: PacketParams,
    /// Acknowledgements.
    #[serde(default)]
    pub ack: AckParams,
    /// Connections: their loss recovery, and how much they may leave unacknowledged.
    #[serde(default)]
    pub transport: TransportParams,
    /// Network interfaces of the hosts.
    #[serde(default)]
    pub nic: Nic,
    /// Groups of flows, a `[[flow]]` each.
    #[serde(default)]
    pub flow: Vec<FlowGroup>,
    /// Computations and transfers that wait for each other, a `[[job]]` each.
    #[serde(default)]
    pub job: Vec<JobEntry>,
    /// Faults and changes during the run, a `[[fault]]` each.
    #[serde(default)]
    pub fault: Vec<FaultEntry>,
    /// Recorded data besides flows, ports and control messages.
    #[serde(default)]
    pub output: Output,
}

/// When the run ends.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// Time at which the run ends, even with unfinished flows. Absent: when every flow is complete and no fault is pending.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub at: Option<Time>,
    /// Whether a deadlock (pauses of switches that wait for each other in a cycle) ends the run as failed. `false`: it is only recorded.
    #[param(default = true, source = "Backwater's own; true: choice, frames in it wait for ever")]
    pub deadlock: bool,
    /// Time without progress after which a run fails: flows time out again and again and none progresses, or no frames leave except
    /// refreshes of pauses. The second case takes at least the default time. Absent: 100 times `transport.timeout`, at least 100 ms.
    #[param(bounds = Time(1).., source = "Backwater's own; absent: choice")]
    pub stall: Option<Time>,
    /// Labels of groups of flows: the run ends when all flows of these groups have ended, even with other flows in progress. Absent: when
    /// every flow is complete.
    #[param(range_text = "labels of `[[flow]]` groups", source = "Backwater's own")]
    pub when: Option<Vec<String>>,
}
