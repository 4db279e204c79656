//! A flow that is to be: from whom to whom, how much, when and by which way.

use crate::packet::{Class, HostId, NodeId};
use backwater_engine::Time;
use std::sync::Arc;

/// One flow to be started.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Identity: result rows, ECMP hash and random tie-breaks depend on it. Unique in a run.
    pub id: u64,
    /// Index into [`crate::spec::Spec::groups`].
    pub group: u32,
    /// Sending host.
    pub src: HostId,
    /// Receiving host, not `src`.
    pub dst: HostId,
    /// \[bytes\] Payload; 0 for a stream that ends by time only.
    pub bytes: u64,
    /// When it starts.
    pub start: Time,
    /// Class of its data.
    pub class: Class,
    /// Whether its packets are ECN-capable.
    pub ect: bool,
    /// Nodes from source to destination, both included, or `None` for ECMP.
    pub path: Option<Arc<[NodeId]>>,
    /// Nodes from destination to source of its acknowledgements, both included, or `None` for the way that [`crate::config::AckParams::path`] says.
    pub ack_path: Option<Arc<[NodeId]>>,
    /// Number of the link by which it leaves a host with several, from 0, where [`crate::config::LinkChoice::Index`] asks for it.
    pub link: Option<u16>,
    /// Payload that becomes available over time instead of all at the start.
    pub stream: Option<Stream>,
}

/// Where a flow is pinned to, or its data at its source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Way {
    /// See [`FlowSpec::path`].
    pub data: Option<Arc<[NodeId]>>,
    /// See [`FlowSpec::ack_path`].
    pub acks: Option<Arc<[NodeId]>>,
    /// See [`FlowSpec::link`].
    pub link: Option<u16>,
}

/// A Bernoulli source: in each slot a full packet becomes available with a probability.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Stream {
    /// Length of a slot.
    pub slot: Time,
    /// Probability of a packet per slot, 0 to 1.
    pub probability: f64,
    /// No packet becomes available from here on.
    pub until: Time,
    /// Packets that may wait in the source's queue, the one on the wire not counted; one that finds it full is never sent. `None`: any number.
    pub queue: Option<u32>,
    /// Whether the slots of each source begin at a time of its own, drawn by the run's seed within the first slot, rather than all together.
    pub own_phase: bool,
}
