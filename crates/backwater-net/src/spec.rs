//! The input of a run.

use crate::config::{AckParams, NicParams, NicTimes, PacketParams, SwitchParams, TransportParams};
use crate::model::packet::{Class, HostId, NodeId};
use crate::model::port::queues::HostQueues;
use crate::topology::Graph;
use crate::units::{Bytes, Rate};
use crate::workload::Dependent;
use crate::workload::FlowSource;
use backwater_engine::Time;

pub use crate::workload::flow_spec::{FlowSpec, QueuePairs, Share, Stream, Way};

/// An event of the scenario at a given time: a failure, or a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// When it begins.
    pub at: Time,
    /// The event.
    pub kind: FaultKind,
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// From now on frames on links are lost at random.
    Loss {
        /// Sending end; none: any.
        from: Option<NodeId>,
        /// Receiving end; none: any.
        to: Option<NodeId>,
        /// The number of one of the links between two nodes, in the order of the graph; `None`: all.
        number: Option<u32>,
        /// The kind of frames; none: all. A later fault for the same frames of a link replaces this one.
        what: Option<FrameKind>,
        /// Probability of loss of each frame, 0 to 1.
        probability: f64,
    },
    /// One frame of a kind is lost on a link.
    DropNth {
        /// Sending end.
        from: NodeId,
        /// Receiving end.
        to: NodeId,
        /// The kind of frames that is counted.
        what: FrameKind,
        /// The number of the frame that is lost, counted from now on, from 1.
        nth: u64,
    },
    /// Links between two nodes carry nothing, in both directions; frames in flight are lost.
    LinkDown(LinkEnds),
    /// They carry frames again.
    LinkUp(LinkEnds),
    /// A node sends to another at a new rate.
    RateChange {
        /// Sending end.
        from: NodeId,
        /// Receiving end.
        to: NodeId,
        /// The number of one of their links, in the order of the graph; `None`: all.
        number: Option<u32>,
        /// The new rate.
        rate: Rate,
    },
    /// A host takes frames from its receive buffer slowly, and pauses a class of its link, or the whole link, while the buffer is too full.
    /// A host has one buffer, for frames of all classes: faults of several classes all act, and the lowest of their rates empties the
    /// buffer. A later fault of the same class replaces this one.
    SlowReceiver {
        /// The host.
        host: HostId,
        /// Rate at which it takes frames.
        rate: Rate,
        /// \[bytes\] waiting above which it pauses.
        xoff: Bytes,
        /// \[bytes\] waiting below which its neighbour resumes.
        xon: Bytes,
        /// Class that it pauses; `None`: the whole link.
        class: Option<Class>,
    },
    /// A host pauses classes of all its links, regardless of its buffer, until as many storms of a class have ended as have begun.
    PauseStorm {
        /// The host.
        host: HostId,
        /// A bit for each class, then one for the whole link.
        classes: u16,
    },
    /// A pause storm ends.
    PauseStormEnd {
        /// The host.
        host: HostId,
        /// A bit for each class, then one for the whole link.
        classes: u16,
    },
}

impl Fault {
    /// Returns when it has had all its effect on the state of links and routes, if these follow after `convergence`.
    pub(crate) fn settles(&self, convergence: Time) -> Time {
        match self.kind {
            FaultKind::LinkDown(_) | FaultKind::LinkUp(_) => self.at.after(convergence),
            _ => self.at,
        }
    }
}

impl FaultKind {
    /// All links between two nodes go down.
    pub fn link_down(a: NodeId, b: NodeId) -> FaultKind {
        FaultKind::LinkDown(LinkEnds { a, b, number: None })
    }

    /// They come up again.
    pub fn link_up(a: NodeId, b: NodeId) -> FaultKind {
        FaultKind::LinkUp(LinkEnds { a, b, number: None })
    }
}

/// Links between two nodes: all, or one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEnds {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// The number of one of their links, in the order of the graph; `None`: all.
    pub number: Option<u32>,
}

/// Kinds of frames that a fault can pick.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FrameKind {
    /// Payload.
    Data,
    /// Acknowledgements.
    Ack,
    /// Control frames of this kind name (`mac-control`, `cnp`, `sfc-pause`, …).
    Control(String),
}

/// Time series to be recorded beside flows, ports and control messages.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesSpec {
    /// Time between two samples.
    pub interval: Time,
    /// Record the egress depth of every queue that is not empty, and the bytes in a switch's isolation queues \[bytes\].
    pub queues: bool,
    /// Record bytes sent since the last sample by every port that sent \[bytes\].
    pub links: bool,
    /// Record every class of every port that its neighbour pauses (1 = paused).
    pub pauses: bool,
    /// Record for every active flow the rate at which it sent payload since the last sample, including retransmissions \[b/s\], and the
    /// payload received \[bytes\].
    pub flows: bool,
    /// Record statistics of the bytes that waited for every switch port since the last sample.
    pub backlogs: bool,
    /// Nodes to record; empty: all.
    pub nodes: Vec<NodeId>,
}

impl SeriesSpec {
    /// Returns whether a node is recorded.
    pub fn records(&self, node: NodeId) -> bool {
        self.nodes.is_empty() || self.nodes.contains(&node)
    }
}

/// A run.
pub struct Spec<A> {
    /// Seed of all random streams.
    pub seed: u64,
    /// Nodes and links.
    pub graph: Graph,
    /// Frame sizes.
    pub packet: PacketParams,
    /// Acknowledgements.
    pub ack: AckParams,
    /// Connections.
    pub transport: TransportParams,
    /// Parameters of each switch, by the order of switches in the graph.
    pub switches: Vec<SwitchParams>,
    /// Parameters of all NICs.
    pub nic: NicParams,
    /// Classes that have several queues at each host.
    pub queues: HostQueues,
    /// Hosts whose interfaces have other times than `nic`; if a host has several entries, the last given value counts.
    pub nics_at: Vec<(HostId, NicTimes)>,
    /// The mechanisms.
    pub actors: A,
    /// Labels of the flow groups.
    pub groups: Vec<String>,
    /// Per group: the queue pairs of its messages. `None`, and groups beyond its end: each message is one flow.
    pub queue_pairs: Vec<Option<QueuePairs>>,
    /// Groups whose flows the run waits for: it ends with the last of them. Empty: it waits for all. The flows of a source then belong to
    /// one group, so the next flow of a source is awaited if and only if its later flows are.
    pub awaited: Vec<u32>,
    /// The sources of flows; each yields its flows by ascending start.
    pub sources: Vec<Box<dyn FlowSource>>,
    /// Sources of flows that wait for each other.
    pub jobs: Vec<Box<dyn Dependent>>,
    /// Number of flows that the sources yield in all, where it is known.
    pub flows_total: Option<u64>,
    /// Faults, in any order.
    pub faults: Vec<Fault>,
    /// Time from a change of a link's state until routes follow.
    pub convergence: Time,
    /// End of the run; `None`: when every flow is complete.
    pub stop_at: Option<Time>,
    /// A deadlock ends the run; otherwise it is recorded only.
    pub deadlock_ends: bool,
    /// The run ends when no flow has made progress for so long and nothing else is pending. `None`: 100 timeouts, at least 100 ms.
    pub stall: Option<Time>,
    /// A drop breaks the run's promise and ends it.
    pub lossless: bool,
    /// Time series, if any.
    pub series: Option<SeriesSpec>,
    /// Recording of causes.
    pub causes: CausesSpec,
}

/// Recording of the causes for which flows took their time. If it is off, it costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CausesSpec {
    /// Per group, whether the waits of its flows are recorded; groups beyond the end are not recorded. Streams are never recorded.
    pub waits: Vec<bool>,
    /// True if every pause is recorded, with the frames behind it.
    pub pauses: bool,
}
