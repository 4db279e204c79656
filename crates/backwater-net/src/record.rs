//! Result rows, as a run hands them out. Units are in the names.

use crate::packet::{Class, HostId, NodeId, Port};
use backwater_engine::Time;

/// Takes rows as they come; a run never keeps them.
pub trait Sink {
    /// A flow is complete, or the run is over.
    fn flow(&mut self, row: &FlowRow);
    /// A mechanism has sent a control frame.
    fn control(&mut self, row: &ControlRow);
    /// A sample of a time series.
    fn series(&mut self, row: &SeriesRow);
    /// Totals of a port, at the end.
    fn port(&mut self, row: &PortRow);
    /// A counter of a mechanism, at the end.
    fn counter(&mut self, _row: &CounterRow) {}
}

/// One flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRow {
    /// Identity of the flow.
    pub id: u64,
    /// Index of its group.
    pub group: u32,
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Class of its data.
    pub class: Class,
    /// Payload bytes (of a stream: made available).
    pub bytes: u64,
    /// Start.
    pub start: Time,
    /// Start until its last payload byte was received.
    pub fct_last_byte: Option<Time>,
    /// Start until its last acknowledgement was received.
    pub fct_last_ack: Option<Time>,
    /// Data packets sent.
    pub packets: u64,
    /// Payload bytes received.
    pub received: u64,
    /// Data packets that arrived after a later one.
    pub reordered: u64,
    /// Data packets that arrived with congestion experienced.
    pub marked: u64,
    /// Payload bytes of a stream that found its source's queue full and were never sent.
    pub blocked: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Times that it made no progress for the transport's timeout.
    pub timeouts: u32,
    /// Start until its last payload byte would have been received in an idle network; not for streams.
    pub ideal: Option<Time>,
    /// How it ended.
    pub state: State,
}

/// How a flow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its last acknowledgement (without acknowledgements: its last byte) was received.
    Complete,
    /// It timed out too often.
    Failed,
    /// The run ended first, when the flow waited for what this says.
    Unfinished(&'static str),
}

/// One control frame, when it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlRow {
    /// When.
    pub time: Time,
    /// Kind, such as `cnp`, `sfc-pause`, `mac-control`.
    pub kind: &'static str,
    /// Node that sent it.
    pub node: NodeId,
    /// Port that it concerns, for frames to a neighbour.
    pub port: Option<Port>,
    /// Class that it concerns (of MAC control: `None` is the whole link) or travels in.
    pub class: Option<Class>,
    /// Host that it is for.
    pub to: Option<HostId>,
    /// First word of the content, whose meaning is the kind's: of MAC control the pause time in quanta.
    pub value: u64,
}

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesRow {
    /// When.
    pub time: Time,
    /// Node.
    pub node: NodeId,
    /// Port, where the quantity belongs to one.
    pub port: Option<Port>,
    /// Queue or class, where the quantity belongs to one.
    pub queue: Option<u8>,
    /// Flow, where the quantity belongs to one.
    pub flow: Option<u64>,
    /// `queue_bytes`, `sent_bytes`, `paused`, `flow_rate_bps`, `flow_received_bytes`, `backlog_mean_bytes`,
    /// `backlog_mean_square_bytes2`, `backlog_max_bytes`, `backlog_empty_ps`.
    pub quantity: &'static str,
    /// Value in the quantity's unit.
    pub value: u64,
}

/// Totals of one port.
#[derive(Clone, Debug, PartialEq)]
pub struct PortRow {
    /// Node.
    pub node: NodeId,
    /// Port.
    pub port: Port,
    /// Node at the other end.
    pub peer: NodeId,
    /// Rate at the end of the run, b/s.
    pub rate_bps: u64,
    /// The counters.
    pub stats: PortStats,
}

/// Counters of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    /// Frames put on the link, MAC control included.
    pub tx_frames: u64,
    /// Data frames among them.
    pub tx_data_frames: u64,
    /// Bytes put on the link, without preamble and gap.
    pub tx_bytes: u64,
    /// Pauses asked of the neighbour (resumes and refreshes not counted).
    pub pauses_sent: u64,
    /// Pauses asked by the neighbour (resumes and refreshes not counted).
    pub pauses_received: u64,
    /// ps during which at least one class was held by the neighbour.
    pub paused_ps: u64,
    /// Frames that came in here and were dropped for want of memory.
    pub drop_frames: u64,
    /// Bytes of them.
    pub drop_bytes: u64,
    /// Frames lost on the link out of this port by a fault.
    pub fault_frames: u64,
    /// Data frames marked on their way out of this port.
    pub marked_frames: u64,
    /// Most bytes that waited for this port.
    pub max_egress_bytes: u64,
    /// Most bytes in the node that had come in here.
    pub max_ingress_bytes: u64,
}

/// What a mechanism has counted at a port.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterRow {
    /// Node.
    pub node: NodeId,
    /// Port.
    pub port: Port,
    /// Its mechanism.
    pub mechanism: &'static str,
    /// Name of the counter, whose meaning is the mechanism's.
    pub counter: &'static str,
    /// Value at the end of the run.
    pub value: u64,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Whether it is over.
    pub done: bool,
    /// Simulated time.
    pub time: Time,
    /// Events handled.
    pub events: u64,
    /// Frames put on a link.
    pub hops: u64,
    /// Data frames put on a link.
    pub data_hops: u64,
    /// Flows complete.
    pub flows_done: u64,
    /// Flows that timed out too often.
    pub flows_failed: u64,
    /// Flows under way.
    pub flows_active: u64,
    /// Frames dropped for want of memory.
    pub drops: u64,
    /// Frames lost by a fault.
    pub fault_losses: u64,
}

/// A promise that the run could not keep, or a state that it cannot leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// When.
    pub time: Time,
    /// What and where.
    pub reason: String,
    /// What may help.
    pub hint: String,
}
