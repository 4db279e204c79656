//! Result rows, as a run hands them out. The struct of a row declares the columns of its table ([`Table`](macro@backwater_derive::Table)):
//! each field's doc comment is the description in every batch, in every Parquet file, and in docs/results.md.

use crate::config::BufferPer;
use crate::model::hooks::activity::Activity;
use crate::model::hooks::place::MechanismId;
use crate::model::packet::{Class, Control, DsField, HostId, NodeId, Packet, Port, Queue, Report};
use backwater_derive::{Columns, Table};
use backwater_engine::Time;

pub use jobs::{CollectiveRow, Computed, InstanceRow, LoadRow, Release, RoundRow, TransferRow};
pub use rows::{Row, Rows, Sink, TABLES, TableInfo};
pub use table::{Asker, Cell, Column, Columns, Group, Kind, Table, Tier, Value};

mod jobs;
mod rows;
mod table;

/// A frame at a captured port, or a pause signal without a frame, which takes no time on the link.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameRow {
    /// Outbound: when its last bit had left. Inbound: when its last bit had arrived.
    pub time: Time,
    /// The node.
    pub node: NodeId,
    /// Its port.
    pub port: Port,
    /// True if it left.
    pub outbound: bool,
    /// Its header at that time.
    pub packet: Packet,
    /// The control frame in it.
    pub control: Option<Control>,
    /// The report of an acknowledgement on single packets, if it has one.
    pub report: Option<Report>,
    /// The flow that it belongs to or names, while that is in progress.
    pub flow: Option<FlowIdentity>,
}

/// The identity of a frame's flow.
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
    /// \[bytes\] Payload made available so far; without a stream, its size.
    pub bytes: u64,
    /// \[bytes\] Offset of its first packet: above 0 for a message on a connection that has carried others.
    pub from: u64,
}

/// One row per queue pair of a message that uses several queue pairs, written when its part of the message is complete or the run ends.
#[derive(Clone, Debug, PartialEq, Table)]
#[table("queue_pairs")]
pub struct QueuePairRow {
    /// The message: its flow_id in the table flows.
    #[column(name = "flow_id")]
    pub id: u64,
    /// Number of the queue pair, from 0.
    #[column(name = "queue_pair")]
    pub pair: u32,
    /// Segments of the message that this queue pair carried.
    #[column(unit = "segments")]
    pub segments: u64,
    /// Payload of these segments.
    #[column(unit = "B")]
    pub bytes: u64,
    /// Time from the start of the message until the last of these bytes was received; null: not received.
    pub fct_last_byte: Option<Time>,
    /// Time from the start of the message until the sender received the last acknowledgement of these bytes; null: not received, or
    /// receivers do not acknowledge.
    pub fct_last_ack: Option<Time>,
    /// Data packets sent.
    #[column(unit = "packets")]
    pub packets: u64,
    /// Payload received.
    #[column(unit = "B")]
    pub received: u64,
    /// Data packets that arrived after a later packet of this queue pair.
    #[column(unit = "packets")]
    pub reordered: u64,
    /// Data packets that arrived with an ECN mark (congestion experienced).
    #[column(unit = "packets")]
    pub marked: u64,
    /// Data packets retransmitted.
    #[column(unit = "packets")]
    pub retransmitted: u64,
    /// Data packets that the sender assumed lost because later packets, or the response to a probe, had arrived; always 0 with go-back-n,
    /// which retransmits from the gap on.
    #[column(name = "inferred_lost", unit = "packets")]
    pub inferred: u64,
    /// Retransmission timeouts, counted as in the table flows.
    pub timeouts: u32,
    /// complete, failed or unfinished, as in the table flows.
    pub state: State,
}

impl QueuePairRow {
    /// Returns the share of the queue pair of this number, which is the given flow.
    pub(crate) fn new(pair: u32, segments: u64, flow: &FlowRow) -> QueuePairRow {
        QueuePairRow {
            id: flow.id,
            pair,
            segments,
            bytes: flow.bytes,
            fct_last_byte: flow.fct_last_byte,
            fct_last_ack: flow.fct_last_ack,
            packets: flow.packets,
            received: flow.received,
            reordered: flow.reordered,
            marked: flow.marked,
            retransmitted: flow.retransmitted,
            inferred: flow.inferred,
            timeouts: flow.timeouts,
            state: flow.state.clone(),
        }
    }
}

/// One row per flow, written when the flow or the run ends.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, Table)]
#[table("flows")]
pub struct FlowRow {
    /// Number of the flow, unique in the run; a message over several queue pairs is one flow.
    #[column(name = "flow_id")]
    pub id: u64,
    /// Label of the flow's group in the scenario.
    #[column(as = Group)]
    pub group: u32,
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Class (802.1Q priority) of the flow's data.
    pub class: Class,
    /// Payload of the flow; for a stream: payload made available so far.
    #[column(unit = "B")]
    pub bytes: u64,
    /// When the flow started.
    pub start: Time,
    /// Time from the start until the last payload byte was received; null: not received.
    pub fct_last_byte: Option<Time>,
    /// Time from the start until the sender received the last acknowledgement; null: not received, or receivers do not acknowledge.
    pub fct_last_ack: Option<Time>,
    /// Data packets sent.
    #[column(unit = "packets")]
    pub packets: u64,
    /// Payload received.
    #[column(unit = "B")]
    pub received: u64,
    /// Data packets that arrived after a later packet of the flow.
    #[column(unit = "packets")]
    pub reordered: u64,
    /// Data packets that arrived with an ECN mark (congestion experienced).
    #[column(unit = "packets")]
    pub marked: u64,
    /// Payload of a stream that was never sent, because the queue at its source was full; not part of bytes.
    #[column(name = "blocked_bytes", unit = "B")]
    pub blocked: u64,
    /// Data packets retransmitted.
    #[column(unit = "packets")]
    pub retransmitted: u64,
    /// Data packets that the sender assumed lost because later packets, or the response to a probe, had arrived; always 0 with go-back-n,
    /// which retransmits from the gap on.
    #[column(name = "inferred_lost", unit = "packets")]
    pub inferred: u64,
    /// Retransmission timeouts: how often the flow made no progress for transport.timeout; with transport.recovery = rud: packets that were
    /// not acknowledged in that time.
    pub timeouts: u32,
    /// Exact value of fct_last_byte_ps in an idle network; null for a stream, for a message over several queue pairs, and beyond 2^63 ps.
    #[column(name = "ideal_fct_ps")]
    #[computed(
        slowdown: Option<f64> = self.fct_last_byte.zip(self.ideal).map(|(fct, ideal)| fct.0 as f64 / ideal.0 as f64),
        "fct_last_byte_ps / ideal_fct_ps, for each flow whose last byte arrived, complete or not"
    )]
    pub ideal: Option<Time>,
    /// complete: the sender received the last acknowledgement (without acknowledgements: the receiver got the last byte); failed: more than
    /// transport.retries timeouts in a row, or requests for credit without a response; unfinished: the run ended first.
    #[computed(
        waits_for: Option<&str> = self.state.waits_for(),
        "cause and place of an unfinished flow's wait at the end of the run"
    )]
    pub state: State,
}

/// How a flow ended.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum State {
    /// Its last acknowledgement (without acknowledgements: its last byte) was received.
    Complete,
    /// It timed out too often.
    Failed,
    /// The run ended first; the text names what the flow waited for, and where.
    Unfinished(String),
}

impl State {
    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            State::Complete => "complete",
            State::Failed => "failed",
            State::Unfinished(_) => "unfinished",
        }
    }

    fn waits_for(&self) -> Option<&str> {
        if let State::Unfinished(why) = self { Some(why) } else { None }
    }
}

/// One row per control message of a mechanism, written when it is sent.
#[derive(Clone, Debug, PartialEq, Table)]
#[table("control")]
pub struct ControlRow {
    /// When the message was sent.
    pub time: Time,
    /// Kind of message: mac-control.
    pub kind: &'static str,
    /// Name of the node that sent it.
    pub node: NodeId,
    /// Port to whose neighbour it is addressed; null: it is addressed to a host.
    pub port: Option<Port>,
    /// Class that the message controls or travels in, the lowest of several; null: the whole link.
    pub class: Option<Class>,
    /// Host to which it is addressed; null: the neighbour.
    pub to: Option<HostId>,
    /// Content of the message, which depends on its kind: of MAC control the pause time in quanta of 512 bit times.
    #[column(unit = "see kind")]
    pub value: u64,
}

/// One row per sample of a time series that `output` requests.
#[derive(Clone, Debug, PartialEq, Table)]
#[table("series")]
pub struct SeriesRow {
    /// When the sample was taken.
    pub time: Time,
    /// Name of the node.
    pub node: NodeId,
    /// Port; null: the quantity belongs to no single port.
    pub port: Option<Port>,
    /// Queue or class; null: the quantity belongs to no single queue.
    #[column(unit = "0 to 7")]
    pub queue: Option<u8>,
    /// Its flow_id; null: the quantity belongs to no single flow.
    pub flow: Option<u64>,
    /// Sampled quantity: queue_bytes, held_bytes, sent_bytes, paused, flow_rate_bps, flow_received_bytes, or backlog_ with mean_bytes,
    /// mean_square_bytes2, max_bytes, empty_ps.
    pub quantity: &'static str,
    /// queue_bytes: B in the egress queue; held_bytes: B that wait in the switch's isolation queues; sent_bytes: B since the last
    /// sample; paused: 1; flow_rate_bps: b/s of payload sent since the last sample, retransmissions included; flow_received_bytes: B of payload
    /// received since the flow's start; backlog_*: since the last sample, weighted by time, B, B², B and ps.
    #[column(unit = "see quantity")]
    pub value: u64,
}

/// One row per port of a switch or host: totals of the run.
#[derive(Clone, Debug, PartialEq, Table)]
#[table("ports")]
pub struct PortRow {
    /// Name of the node.
    pub node: NodeId,
    /// Number of the port, from 0.
    pub port: Port,
    /// Name of the node at the other end of the link.
    #[computed(tier: Tier = Tier(self.node), "tier of the node")]
    pub peer: NodeId,
    /// Rate of the link at the end of the run.
    #[column(unit = "b/s")]
    pub rate_bps: u64,
    /// The counters.
    #[column(flatten)]
    pub stats: PortStats,
}

/// Counters of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, Columns)]
pub struct PortStats {
    /// Frames put on the link, MAC control included.
    #[column(unit = "frames")]
    pub tx_frames: u64,
    /// Data frames put on the link, without the trimmed packets in tx_cut_frames.
    #[column(unit = "frames")]
    pub tx_data_frames: u64,
    /// Trimmed packets put on the link: data packets whose payload a switch has removed.
    #[column(unit = "frames")]
    pub tx_cut_frames: u64,
    /// Bytes put on the link, with headers, without preamble and gap.
    #[column(unit = "B")]
    pub tx_bytes: u64,
    /// Pauses that this port requested from its neighbour, without refreshes and resumes.
    #[column(unit = "pauses")]
    pub pauses_sent: u64,
    /// Pauses that the neighbour requested from this port, without refreshes and resumes.
    #[column(unit = "pauses")]
    pub pauses_received: u64,
    /// Time during which the neighbour paused at least one class.
    #[column(name = "paused_ps", as = Time)]
    pub paused_ps: u64,
    /// Frames that arrived at this port and were dropped for want of memory.
    #[column(unit = "frames")]
    pub drop_frames: u64,
    /// Bytes of these frames.
    #[column(unit = "B")]
    pub drop_bytes: u64,
    /// Frames that a mechanism dropped from the queues of this port.
    #[column(unit = "frames")]
    pub flushed_frames: u64,
    /// Frames that this port sent and a fault of the link lost.
    #[column(unit = "frames")]
    pub fault_frames: u64,
    /// Data frames that were marked (ECN) as they left by this port.
    #[column(unit = "frames")]
    pub marked_frames: u64,
    /// Largest number of bytes that waited for this port at once.
    #[column(unit = "B")]
    pub max_egress_bytes: u64,
    /// Largest number of bytes in the node at once that had arrived at this port.
    #[column(unit = "B")]
    pub max_ingress_bytes: u64,
}

/// One row per switch: frames that waited in isolation queues before their egress queues, over the whole run.
#[derive(Clone, Debug, PartialEq, Table)]
#[table("switches")]
pub struct SwitchRow {
    /// Name of the switch.
    #[computed(tier: Tier = Tier(self.node), "tier of the switch")]
    pub node: NodeId,
    /// The frames that waited in its isolation queues.
    #[column(flatten)]
    pub isolated: IsolationStats,
}

/// The frames that waited in the isolation queues of a switch, over the whole run and weighted by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Columns)]
pub struct IsolationStats {
    /// Frames that waited in an isolation queue before their egress queue.
    #[column(name = "held_frames", unit = "frames")]
    pub frames: u64,
    /// Largest number of bytes in isolation queues at once.
    #[column(name = "held_max_bytes", unit = "B")]
    pub max_bytes: u64,
    /// Bytes in isolation queues, mean over the run's time.
    #[column(name = "held_mean_bytes", unit = "B")]
    pub mean_bytes: f64,
    /// Bytes in isolation queues, 99th percentile over the run's time, rounded up by less than 1 %.
    #[column(name = "held_p99_bytes", unit = "B")]
    pub p99_bytes: u64,
    /// Bytes in isolation queues, 99.9th percentile over the run's time, rounded up by less than 1 %.
    #[column(name = "held_p999_bytes", unit = "B")]
    pub p999_bytes: u64,
    /// Time during which any frame waited in an isolation queue.
    #[column(name = "held_ps", as = Time)]
    pub time_ps: u64,
}

/// One row per counter of a mechanism at a port, for counters that are not zero at the end of the run.
#[derive(Clone, Debug, PartialEq, Table)]
#[table("counters")]
pub struct CounterRow {
    /// Name of the node.
    pub node: NodeId,
    /// Number of the port, from 0.
    pub port: Port,
    /// Name of the mechanism (its table in the scenario).
    pub mechanism: &'static str,
    /// Name of the counter.
    pub counter: &'static str,
    /// Its value at the end of the run.
    pub value: u64,
}

/// The activity of a mechanism in the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivityRow {
    /// Its mechanism.
    pub mechanism: &'static str,
    /// The text for a mechanism that never acted, as in "never paused a neighbour".
    pub idle: &'static str,
    /// How often it acted, and how near it came at its nearest.
    pub activity: Activity,
    /// The node where it was nearest; `None`: no node can be named.
    pub node: Option<NodeId>,
}

/// Another flow, whose frames delayed a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, Columns)]
pub struct FlowTag {
    /// flow_id of the flow whose data the port sent meanwhile, for the cause behind; null: another cause, or one of further flows that are not named.
    #[column(name = "behind_flow")]
    pub id: u64,
    /// Label of the group of that flow.
    #[column(name = "behind_group", as = Group)]
    pub group: u32,
}

/// One row per flow of `output.waits`, port and cause: time that the flow waited there before its last byte arrived.
#[derive(Clone, Debug, PartialEq, Eq, Table)]
#[table("waits")]
pub struct WaitRow {
    /// flow_id of the waiting flow.
    #[column(name = "flow_id")]
    pub flow: u64,
    /// Label of its group.
    #[column(as = Group)]
    pub group: u32,
    /// Name of the node where the flow waited.
    pub node: NodeId,
    /// Port for which the flow waited.
    pub port: Port,
    /// Name of the node at the other end of the link.
    pub peer: NodeId,
    /// paused: by the peer; behind: the port sent another flow's data; control-frames: the port sent acknowledgements or control
    /// frames; gate: closed by a mechanism; credit: a mechanism let no frame of the queue start; lane: in an isolation queue; fabric: before a
    /// crossbar; receiver: in a slow receiver's buffer; sent-again: retransmitted on the link after damage, or behind such a frame; at the
    /// source: issue (the interface issued messages posted before it), memory (it fetched the frame before), rate-limit, window,
    /// held-at-source, acknowledgements (all data was sent).
    pub cause: &'static str,
    /// Mechanism (its table in the scenario) that closed the gate or isolated the frames.
    #[column(name = "mechanism")]
    pub owner: Option<MechanismId>,
    /// The flow whose packets were sent meanwhile, for the cause `behind` if one flow can be named.
    #[column(flatten)]
    pub behind: Option<FlowTag>,
    /// Total time of these waits.
    #[column(name = "wait_ps")]
    pub time: Time,
}

/// One row per pause that a port obeyed, with `output.pause_causes`, written when the pause or the run ends.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, Table)]
#[table("pauses")]
pub struct PauseRow {
    /// When the node requested the pause.
    pub asked: Time,
    /// When the request reached the neighbour.
    pub start: Time,
    /// When the pause ended; null: it lasted until the end of the run.
    pub end: Option<Time>,
    /// Name of the node that requested the pause.
    pub node: NodeId,
    /// Port by which it requested the pause.
    pub port: Port,
    /// Name of the node that was paused.
    pub peer: NodeId,
    /// Port of that node that was paused.
    pub peer_port: Port,
    /// Class that was paused; null: the whole link.
    pub class: Option<Class>,
    /// Mechanism (its name) or fault (slow-receiver, pause-storm) that requested the pause.
    #[column(name = "cause", as = Asker)]
    pub owner: MechanismId,
    /// Bytes in the node that had arrived at the port in that class, at the time of the request; at a host: bytes in its receive buffer.
    #[column(unit = "B")]
    pub ingress_bytes: u64,
    /// The egress queue of the node with most of the bytes that must leave before the pause ends.
    #[column(flatten)]
    pub behind: Option<Behind>,
}

/// The queue that caused a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, Columns)]
pub struct Behind {
    /// Egress port of the node that held most of the queued bytes that must leave before the pause ends; null: none were queued.
    #[column(name = "behind_port")]
    pub port: Port,
    /// Queue of that port with most of these bytes.
    #[column(name = "behind_queue")]
    pub queue: Queue,
    /// Name of the node at the other end of that port's link.
    #[column(name = "behind_peer")]
    pub to: NodeId,
    /// Bytes that waited there.
    #[column(name = "behind_bytes", unit = "B")]
    pub bytes: u64,
    /// Time since which frames had waited for that port without a break.
    #[column(name = "behind_since_ps")]
    pub since: Time,
    /// 1: the neighbour of that port had paused the queue at that time.
    #[column(name = "behind_paused")]
    pub paused: bool,
}

/// The first frame that was dropped for want of memory.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FirstDrop {
    /// When.
    pub time: Time,
    /// Where.
    pub node: NodeId,
    /// The port at which it arrived.
    pub port: Port,
    /// Its class.
    pub class: Class,
    /// The port by which it was to leave.
    pub egress: Port,
    /// The queue of that port.
    pub queue: Queue,
    /// The node at the other end of that port.
    pub to: NodeId,
    /// The unit whose memory was full.
    pub memory: BufferPer,
    /// \[bytes\] Its length.
    pub size: u64,
    /// \[bytes\] in the node that had arrived at that port.
    pub ingress: u64,
    /// \[bytes\] in the node that waited for its queue; if all queues of a port share memory, for its port.
    pub waiting: u64,
    /// \[bytes\] in the node.
    pub total: u64,
    /// True if the neighbour had been asked to pause that class, or the link.
    pub asked: bool,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Progress {
    /// True if it has ended.
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
    /// Flows in progress.
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
    /// The promise or state, and where.
    pub reason: String,
    /// A hint.
    pub hint: String,
}

#[cfg(test)]
mod tests;
