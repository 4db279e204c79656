//! The hook interface: what a mechanism may see and do. Read this file first, then the hooks (`hooks/sides.rs`) and what they see and
//! may do (`hooks/context.rs`).
//!
//! Every scheme acts at a *switch*, at a *NIC*, or on a *flow's rate*. A [`Mechanism`] bundles up to three sides of itself:
//! [`SwitchSide`], [`NicSide`], [`FlowSide`]. What the first two do at their links is alike, and is a [`LinkSide`] in either.
//! Hooks receive a context with the time, the counters and a list of actions. An action is not a callback: the stage carries it out after the last hook has returned, in the order in which they were asked for.
//!
//! ```text
//!            arrival            egress queue                       wire
//!  frame ──▶ route ▶ choose ▶ steer ▶ admit ─ latency ─▶ hold ▶ enqueue ─▶ may_transmit ▶ start ──────────────────▶ next node
//!                                    │                          │                        │
//!                  on_admit, push_out, on_full             on_enqueue               on_start
//!                                                on_dequeue, on_release, on_depart: at either, as `switch.release_at` says
//!
//!  flow ──▶ on_start ▶ rate, window ▶ on_send, attach ──▶ NIC: on_enqueue ▶ may_transmit ▶ on_start ──▶
//!       on_end ◀── on_ack, on_loss ◀── acknowledgement ◀── on_flow_start, on_receive, on_flow_end at the receiver
//! ```
//!
//! A mechanism's hooks are the methods that its sides define: `#[hooks]` on the `impl` reads them, and what no mechanism of a run has is not called.
//! Those at a switch that follow its counters (`on_admit`, `on_enqueue`, `on_dequeue`, `on_release`, `on_depart`) are called beyond the levels that
//! mechanisms state ([`SwitchSide::levels`]), or for every frame where they state none.
//!
//! What differs from the first sketch of this interface: `on_admit` is apart from `on_enqueue`, because a frame is in the
//! ingress account before the switch's latency and in the egress account after it (`switch.latency_at = "fabric"`), and a
//! scheme that watches the ingress must not learn of the frame late; `on_depart` is apart from `on_release`, because behind a
//! crossbar a frame leaves the ingress account when it crosses and the egress account when it is gone.

use crate::model::packet::{Class, HostId, NodeId, Port, Queue};
use crate::model::port::queues::HostQueues;
use crate::units::{Bytes, Rate};
use backwater_engine::Time;

pub use crate::model::hooks::activity::{Activity, Margin, Unit};
pub use crate::model::hooks::levels::{Account, Levels};
pub use crate::model::hooks::place::{IsolationQueue, MechanismId, MechanismSet, Place};

mod actions;
pub(crate) mod activity;
mod advice;
pub mod attachment;
mod context;
pub(crate) mod levels;
mod mechanism;
pub(crate) mod place;
mod port;
mod sides;
mod stack;

pub use crate::parameters::Finding;
pub(crate) use actions::{Actions, reuse_memory};
pub use actions::{FlowAction, FlowTimer, Gate, NicAction, NicGate, SwitchAction};
pub use advice::{
    Advice, AdviceError, AdviceForm, AdviceOption, AdviceProof, AdviceRow, Hop, Incast, Incasts, LargestIncast, Paths,
    Question, Situation, WRITTEN, needed,
};
pub use context::{FlowCx, LinkCx, NicCx, SwitchCx, Turn};
pub(crate) use context::{Home, Unsent};
pub use mechanism::{
    Carrier, CheckCx, Claims, Ineffective, LongestWay, Mechanism, MemoryCx, Needs, Overhead, Preset, Profile, RateKey,
    RoundTrip, WireCx,
};
pub use port::Departure;
pub use sides::{
    Absent, Ack, Counted, Cut, FlowHooks, FlowSide, Incoming, LinkHooks, LinkSide, Loss, NicHooks, NicSide,
    SwitchHooks, SwitchSide,
};
pub use stack::{Defines, Hooks};

/// How a port keeps a flow in order whose packets stand in several of its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowOrder {
    /// By counts for each flow: a packet waits for those of its own flow that came before it.
    Counters,
    /// By a marker at the tail of the queue that the flow leaves: a packet waits for all that stood there.
    Markers,
}

/// Between which queues a mechanism moves flows. Every port of the network then keeps flows in order across these queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steering {
    /// The queues, a bit each.
    pub queues: u8,
    /// How order is kept.
    pub order: FlowOrder,
    /// Whether hosts move flows too.
    pub hosts: bool,
}

impl Steering {
    /// Both of two: where they differ, the stricter.
    pub fn and(self, other: Option<Steering>) -> Steering {
        let Some(other) = other else { return self };
        let order = if self.order == FlowOrder::Markers { FlowOrder::Markers } else { other.order };
        Steering { queues: self.queues | other.queues, order, hosts: self.hosts || other.hosts }
    }
}

/// One counter of a mechanism at a port, at the end of a run: the port, the counter's name, its value.
pub type Count = (Port, &'static str, u64);

/// Whether a mechanism has taken a control frame for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nobody else sees it; a routed frame ends here.
    Consumed,
    /// The next mechanism may look; a routed frame goes on.
    Passed,
}

/// What happens to a packet for which there is no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// It is lost.
    Drop,
    /// Its payload is cut off, down to so many bytes or to its headers, whichever is more; what is left is admitted if there is room
    /// for that.
    Trim(u32),
    /// The same, but what is left is a NACK of the packet's own flow ([`Gap::Returned`](crate::model::packet::Gap::Returned)), and goes to the source:
    /// steered and admitted like any frame that came in where the packet did. Without a way back the packet is lost.
    Return(u32),
}

/// How a pause of the neighbour is signalled (IEEE 802.3 annexes 31B and 31D).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PauseStyle {
    /// Pause time carried in each frame, in quanta of 512 bit times, or `None` for an on/off signal that never expires.
    pub quanta: Option<u16>,
    /// Whether the signal is a frame that waits for the one on the wire and takes its time there, or ideal: it only takes the propagation delay.
    pub framed: bool,
}

impl PauseStyle {
    /// The stage's own: frames, each with the longest pause time.
    pub(crate) const FRAMED: PauseStyle = PauseStyle { quanta: Some(u16::MAX), framed: true };
}

/// A word that a mechanism gives to its timer and gets back.
pub type Token = u32;

/// What must leave a switch before a pause ends that it has asked of a neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// Frames that came in where the pause is asked for, in its class, or for the link in any.
    Ingress,
    /// Frames of each of these ports, and of this queue of it where one is named.
    Egress(Vec<(Port, Option<Queue>)>),
    /// Nobody can say; such a pause is never part of a deadlock.
    Unknown,
}

/// One port as a mechanism sees it at start.
#[derive(Clone, Debug)]
pub struct PortShape {
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Time,
    /// The node at the other end.
    pub peer: NodeId,
    /// The host at the other end, where it is one.
    pub host: Option<HostId>,
}

/// A switch as a mechanism sees it at start.
#[derive(Clone, Debug)]
pub struct SwitchShape {
    /// Its node number.
    pub node: NodeId,
    /// Its name, such as `leaf3`.
    pub name: String,
    /// Its tier, such as `leaf`.
    pub tier: String,
    /// Its ports, by number.
    pub ports: Vec<PortShape>,
    /// \[bytes\] The longest data frame of the run; while a scenario is checked, the longest of all frames that may come through.
    pub max_frame: Bytes,
    /// Fixed processing delay.
    pub latency: Time,
    /// \[bytes\] What may wait for one egress port, where the switch limits that (`buffer_per` is `egress` or `queue`): for each of its
    /// queues at least.
    pub port_buffer: Option<Bytes>,
}

/// A host's interface as a mechanism sees it at start.
#[derive(Clone, Debug)]
pub struct NicShape {
    /// The host.
    pub host: HostId,
    /// Rate of its link.
    pub rate: Rate,
    /// Its queues, where a class has several.
    pub queues: HostQueues,
}

/// A flow as a mechanism sees it at start.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct FlowShape {
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Class of its data.
    pub class: Class,
    /// Line rate of the sender's link.
    pub line: Rate,
    /// \[bytes\] Most payload in one of its packets.
    pub payload: Bytes,
    /// \[bytes\] of such a packet with its headers, as buffers count it.
    pub frame: Bytes,
    /// Switches on its way; 0 where it has none at its start.
    pub hops: u32,
}
