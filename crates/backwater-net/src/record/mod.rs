//! Result rows, as a run hands them out. Units are in the names.

use crate::config::BufferPer;
use crate::model::hooks::activity::Activity;
use crate::model::hooks::place::MechanismId;
use crate::model::packet::{Class, Control, DsField, HostId, NodeId, Packet, Port, Queue, Report};
use backwater_engine::Time;
use std::sync::Arc;

pub use jobs::{Computed, InstanceRow, JobRows, LoadRow, Release, RoundRow, TransferRow};

mod jobs;

/// Takes rows as they come; a run never keeps them.
pub trait Sink {
    /// A flow is complete, or the run is over.
    fn flow(&mut self, row: &FlowRow);
    /// What a queue pair has carried of a message is complete, or the run is over. The message's row comes with the last of them.
    fn queue_pair(&mut self, _row: &QueuePairRow) {}
    /// A mechanism has sent a control frame.
    fn control(&mut self, row: &ControlRow);
    /// A sample of a time series.
    fn series(&mut self, row: &SeriesRow);
    /// A collective of a job is complete, or the run is over.
    fn collective(&mut self, _row: &CollectiveRow) {}
    /// A transfer of a job is complete, or the run is over.
    fn transfer(&mut self, _row: &TransferRow) {}
    /// A round of an instance of a job is complete, or the run is over.
    fn round(&mut self, _row: &RoundRow) {}
    /// An instance of a job is complete, or the run is over.
    fn instance(&mut self, _row: &InstanceRow) {}
    /// What a step of a job put on a link, at the end.
    fn load(&mut self, _row: &LoadRow) {}
    /// Totals of a port, at the end.
    fn port(&mut self, row: &PortRow);
    /// A frame has passed a captured port ([`crate::Network::capture_at`]).
    fn frame(&mut self, _row: &FrameRow) {}
    /// Totals of a switch, at the end.
    fn switch(&mut self, _row: &SwitchRow) {}
    /// A counter of a mechanism, at the end.
    fn counter(&mut self, _row: &CounterRow) {}
    /// What a mechanism has done in all, at the end.
    fn activity(&mut self, _row: &ActivityRow) {}
    /// A recorded flow is over, or the run: one of the things that it waited for.
    fn wait(&mut self, _row: &WaitRow) {}
    /// A recorded pause is over, or the run.
    fn pause(&mut self, _row: &PauseRow) {}
}

/// A frame at a captured port, or a pause signal without a frame, which takes no time on the link.
#[derive(Clone, Debug)]
pub struct FrameRow {
    /// Outbound: when its last bit had left. Inbound: when its last bit had come.
    pub time: Time,
    /// The node.
    pub node: NodeId,
    /// Its port.
    pub port: Port,
    /// Whether it left.
    pub outbound: bool,
    /// Its header, as it is there.
    pub packet: Packet,
    /// The control frame in it.
    pub control: Option<Control>,
    /// What an acknowledgement says of single packets, where it does.
    pub report: Option<Report>,
    /// The flow that it belongs to or speaks of, while that lives.
    pub flow: Option<FlowIdentity>,
}

/// What a frame's flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowIdentity {
    /// Identity.
    pub id: u64,
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// DS field with which its data leaves its source.
    pub ds: DsField,
    /// \[bytes\] Payload made available so far; of a flow that is no stream, its size.
    pub bytes: u64,
    /// \[bytes\] Offset of its first packet: above 0 for a message on a connection that has carried others.
    pub from: u64,
}

/// What one of several queue pairs has carried of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuePairRow {
    /// Its number, from 0.
    pub pair: u32,
    /// Segments that it carried.
    pub segments: u64,
    /// Its flow, with the identity of the message.
    pub row: FlowRow,
}

/// One flow; of several queue pairs: a message, what they have carried together.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
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
    /// Data packets that the sender took for lost because later ones, or an answer to a probe, had come.
    pub inferred: u64,
    /// Timers of the transport that ran out.
    pub timeouts: u32,
    /// Start until its last payload byte would have been received in an idle network; not for streams.
    pub ideal: Option<Time>,
    /// How it ended.
    pub state: State,
}

/// How a flow ended.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum State {
    /// Its last acknowledgement (without acknowledgements: its last byte) was received.
    Complete,
    /// It timed out too often.
    Failed,
    /// The run ended first, when the flow waited for what this says, and where.
    Unfinished(String),
}

/// A collective or a transfer of a job, done once by one communicator.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveRow {
    /// Label of the job.
    pub job: Arc<str>,
    /// Label of the step.
    pub step: Arc<str>,
    /// What was done, such as `all-reduce`.
    pub kind: &'static str,
    /// How, such as `ring`.
    pub algorithm: &'static str,
    /// Index of the group of its flows.
    pub group: u32,
    /// Instance of the job.
    pub instance: u32,
    /// Round of the instance.
    pub round: u64,
    /// Number of the communicator within the step.
    pub communicator: u32,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// When it began.
    pub start: Time,
    /// When its last transfer was complete; `None`: the run ended first.
    pub end: Option<Time>,
    /// Transfers over the network (of one that is not complete: so far).
    pub transfers: u64,
    /// Payload bytes of these.
    pub bytes: u64,
    /// \[bytes\] Size of which the algorithm bandwidth is quoted.
    pub size_bytes: f64,
    /// \[bytes\] What counts for the bus bandwidth.
    pub bus_bytes: f64,
    /// What the busiest link of a host needs for its frames.
    pub bound: Time,
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
    /// What the frame declares ([`Control::value`]), whose meaning is the kind's: of MAC control the pause time in quanta.
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
    /// `queue_bytes`, `held_bytes`, `sent_bytes`, `paused`, `flow_rate_bps`, `flow_received_bytes`, `backlog_mean_bytes`,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PortStats {
    /// Frames put on the link, MAC control included.
    pub tx_frames: u64,
    /// Data frames among them, those apart of which only headers are left.
    pub tx_data_frames: u64,
    /// What is left of data frames whose payload a switch has cut off, among them.
    pub tx_cut_frames: u64,
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
    /// Frames that waited for this port when a mechanism dropped all that did.
    pub flushed_frames: u64,
    /// Frames lost on the link out of this port by a fault.
    pub fault_frames: u64,
    /// Data frames marked on their way out of this port.
    pub marked_frames: u64,
    /// Most bytes that waited for this port.
    pub max_egress_bytes: u64,
    /// Most bytes in the node that had come in here.
    pub max_ingress_bytes: u64,
}

/// Totals of one switch.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchRow {
    /// Node.
    pub node: NodeId,
    /// What waited in its held lanes.
    pub isolated: IsolationStats,
}

/// What waited in the held lanes of a switch, over the whole run and weighted by time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IsolationStats {
    /// Frames that came to wait.
    pub frames: u64,
    /// Most bytes at once.
    pub max_bytes: u64,
    /// Mean.
    pub mean_bytes: f64,
    /// Bytes that were exceeded during 1 % of the run at most, rounded up by less than 1 %.
    pub p99_bytes: u64,
    /// Bytes that were exceeded during 0.1 % of the run at most, rounded up by less than 1 %.
    pub p999_bytes: u64,
    /// ps during which anything waited.
    pub time_ps: u64,
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

/// What a mechanism has done in the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivityRow {
    /// Its mechanism.
    pub mechanism: &'static str,
    /// What it has not done where it never acted, as in "never paused a neighbour".
    pub idle: &'static str,
    /// How often it acted, and how near it came where it was nearest.
    pub activity: Activity,
    /// Where that was; `None`: at no node that can be named.
    pub node: Option<NodeId>,
}

/// A flow that another one met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FlowTag {
    /// Its identity.
    pub id: u64,
    /// Index of its group.
    pub group: u32,
}

/// Something that a flow waited for, along the path that ended with its last byte (`waits.rs`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRow {
    /// Identity of the flow.
    pub flow: u64,
    /// Index of its group.
    pub group: u32,
    /// Where it waited.
    pub node: NodeId,
    /// For which port.
    pub port: Port,
    /// Node at the other end of the link.
    pub peer: NodeId,
    /// For what.
    pub cause: &'static str,
    /// The mechanism whose gate or lane was the cause.
    pub owner: Option<MechanismId>,
    /// The flow whose packets were sent meanwhile, where that is the cause and it can be named.
    pub behind: Option<FlowTag>,
    /// How long.
    pub time: Time,
}

/// A pause that a neighbour has obeyed, and what stood behind it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PauseRow {
    /// When it was asked for.
    pub asked: Time,
    /// When it reached the neighbour.
    pub start: Time,
    /// When the neighbour went on; `None`: not before the run was over.
    pub end: Option<Time>,
    /// Node that asked.
    pub node: NodeId,
    /// The port at which it asked.
    pub port: Port,
    /// Node that was paused.
    pub peer: NodeId,
    /// The port of it that was.
    pub peer_port: Port,
    /// The class; `None`: the whole link.
    pub class: Option<Class>,
    /// The mechanism that asked, or a fault.
    pub owner: MechanismId,
    /// Bytes in the node that had come in at the port, when it asked.
    pub ingress_bytes: u64,
    /// The egress queue of the node at which most of what the pause waits for stood.
    pub behind: Option<Behind>,
}

/// What stood behind a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Behind {
    /// Egress port.
    pub port: Port,
    /// Its queue.
    pub queue: Queue,
    /// Node at the other end of that link.
    pub to: NodeId,
    /// Bytes that stood there of what the pause waits for.
    pub bytes: u64,
    /// Since when something had waited for the port without a break.
    pub since: Time,
    /// Whether its neighbour held that queue then.
    pub paused: bool,
}

/// The first frame that was dropped for want of memory.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FirstDrop {
    /// When.
    pub time: Time,
    /// Where.
    pub node: NodeId,
    /// The port at which it came in.
    pub port: Port,
    /// Its class.
    pub class: Class,
    /// The port by which it was to leave.
    pub egress: Port,
    /// The queue of that port.
    pub queue: Queue,
    /// What that port leads to.
    pub to: NodeId,
    /// Whose memory was full.
    pub memory: BufferPer,
    /// \[bytes\] Its length.
    pub size: u64,
    /// \[bytes\] in the node that had come in at that port.
    pub ingress: u64,
    /// \[bytes\] in the node that waited for its queue; where all queues of a port share memory, for its port.
    pub waiting: u64,
    /// \[bytes\] in the node.
    pub total: u64,
    /// Whether the neighbour had been asked to pause that class, or the link.
    pub asked: bool,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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
    /// Frames that mechanisms dropped from their queues.
    pub flushed: u64,
}

/// Pauses that wait for each other in a cycle.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Deadlock {
    /// When it was found.
    pub time: Time,
    /// The paused queues, such as `s0 port 2 (to s1) class 3`: each waits for the next, the last for the first.
    pub cycle: Vec<String>,
    /// \[bytes\] that wait in them.
    pub waiting: u64,
}

/// A promise that the run could not keep, or a state that it cannot leave.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Broken {
    /// When.
    pub time: Time,
    /// What and where.
    pub reason: String,
    /// What may help.
    pub hint: String,
}
