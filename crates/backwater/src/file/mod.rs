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

pub use fault::{Between, DropNth, FaultEntry, Frames, Loss, PauseStorm, Paused, RateChange, SlowReceiver};
pub use flow::{Arrivals, FlowGroup, LoadCounts, LoadOf, Pattern, Places, Share, Slots, Waypoints};
pub use hosts::{Host, Hosts};
pub use job::{
    AlgorithmName, ChoiceName, CompleteAt, CopiesTo, JobEntry, PipelineEntry, Placement, RankPairs, ScheduleName,
    SizeMatrix, SizeOf, StepEntry, StepKind,
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
    /// What results and reports call the run.
    #[param(default = String::new(), range_text = "any text", source = "Backwater's own")]
    pub title: String,
    /// What the scenario is for, in a sentence or a paragraph.
    #[param(default = String::new(), range_text = "any text", source = "Backwater's own")]
    pub description: String,
    /// Seed of all random streams.
    #[param(default = 1, range_text = "0 to 2^63 - 1", source = "Backwater's own; 1: choice")]
    pub seed: u64,
    /// Whether the run promises not to drop a frame of a flow for want of memory; a drop then ends it, and too little PFC headroom is an error. A message of a mechanism that is dropped is counted.
    #[param(default = false, source = "Backwater's own; what IEEE 802.1Q clause 36 (PFC) is there to keep")]
    pub lossless: bool,
    /// When the run ends.
    #[serde(default)]
    pub stop: Stop,
    /// Nodes and links.
    pub topology: Topology,
    /// Links that differ from what the topology says of them.
    #[serde(default, skip_serializing_if = "Links::is_empty")]
    pub link: Links,
    /// Sizes on the wire.
    #[serde(default)]
    pub packet: PacketParams,
    /// Acknowledgements.
    #[serde(default)]
    pub ack: AckParams,
    /// Connections: what is retransmitted, and how much may be unacknowledged.
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
    /// What goes wrong or changes during the run, a `[[fault]]` each.
    #[serde(default)]
    pub fault: Vec<FaultEntry>,
    /// What is recorded beside flows, ports and control messages.
    #[serde(default)]
    pub output: Output,
}

/// When the run ends.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// End of the run, finished flows or not. Absent: when every flow is complete and no fault is to come.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub at: Option<Time>,
    /// Whether a deadlock, pauses of switches that wait for each other in a cycle, ends the run as failed. With `false` it is only recorded.
    #[param(default = true, source = "Backwater's own; true: choice, frames in it wait for ever")]
    pub deadlock: bool,
    /// Time after which a run fails whose flows time out again and again while none gets further, or in which pauses are refreshed and no other frame leaves (then at least what it is when absent). Absent: 100 times `transport.timeout`, at least 100 ms.
    #[param(bounds = Time(1).., source = "Backwater's own; absent: choice")]
    pub stall: Option<Time>,
    /// Labels of groups of flows: the run ends when all their flows have ended, others still in progress or not. Absent: when every flow is complete.
    #[param(range_text = "labels of `[[flow]]` groups", source = "Backwater's own")]
    pub when: Option<Vec<String>>,
}
