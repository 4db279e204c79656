//! The shape of a scenario file. What `backwater explain` prints and the JSON Schema holds is the text of these fields.
//!
//! Tables that mechanisms and switches share with the stage (`[packet]`, `[switch]`, `[pfc]`, …) have their shape there;
//! `preset`, `[[X.at]]` and `[variant.NAME]` are merged before anything here is read.

mod fault;
mod flow;
mod hosts;
mod job;
mod link;
mod nic;
mod output;
mod topology;

pub use fault::{FaultEntry, Frames, Paused};
pub use flow::{Arrivals, FlowGroup, LoadCounts, LoadOf, Pattern, Places, Share, Slots, Waypoints};
pub use hosts::{Host, Hosts};
pub use job::{
    AlgorithmName, ChoiceName, CompleteAt, CopiesTo, JobEntry, PipelineEntry, Placement, RankPairs, ScheduleName,
    SizeMatrix, SizeOf, StepEntry, StepKind,
};
pub use link::{LinkAt, Links, Nodes};
pub use nic::{Nic, NicAt, RateLimiters};
pub use output::Output;
pub use topology::{CoreWiring, ExplicitLink, ExplicitNode, NodeRole, PerDirection, Topology};

use backwater_engine::Time;
use backwater_net::config::{AckParams, PacketParams, TransportParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scenario file without its mechanisms, switches and variants.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// What results and reports call the run.
    #[serde(default)]
    #[schemars(extend("x-source" = "Backwater's own", "x-range" = "any text"))]
    pub title: String,
    /// What the scenario is for, in a sentence or a paragraph.
    #[serde(default)]
    #[schemars(extend("x-source" = "Backwater's own", "x-range" = "any text"))]
    pub description: String,
    /// Seed of all random streams.
    #[serde(default = "one")]
    #[schemars(extend("x-source" = "Backwater's own; 1: choice", "x-range" = "0 to 2^63 - 1"))]
    pub seed: u64,
    /// Whether the run promises not to drop a frame of a flow for want of memory; a drop then ends it, and too little PFC headroom is an error. A message of a mechanism that is dropped is counted.
    #[serde(default)]
    #[schemars(extend("x-source" = "Backwater's own; what IEEE 802.1Q clause 36 (PFC) is there to keep"))]
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
    /// Connections: what is sent again, and how much may be unacknowledged.
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

fn one() -> u64 {
    1
}

/// When the run ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    /// End of the run, finished flows or not. Absent: when every flow is complete.
    #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
    pub at: Option<Time>,
    /// Whether a deadlock, pauses of switches that wait for each other in a cycle, ends the run as failed. With `false` it is only recorded.
    #[schemars(extend("x-source" = "Backwater's own; true: choice, frames in it wait for ever"))]
    pub deadlock: bool,
    /// Time after which a run fails whose flows time out again and again while none gets further. Absent: 100 times `transport.timeout`, at least 100 ms.
    #[schemars(extend("x-min" = "1 ps", "x-source" = "Backwater's own; absent: choice"))]
    pub stall: Option<Time>,
    /// Labels of groups of flows: the run ends when all their flows have ended, others still under way or not. Absent: when every flow is complete.
    #[schemars(extend("x-source" = "Backwater's own", "x-range" = "labels of `[[flow]]` groups"))]
    pub when: Option<Vec<String>>,
}

impl Default for Stop {
    fn default() -> Self {
        Stop { at: None, deadlock: true, stall: None, when: None }
    }
}
