//! The hook interface: what a mechanism may see and do. Read this file first, then the hooks (`hooks/sides.rs`) and their contexts
//! (`hooks/context.rs`).
//!
//! Every scheme acts at a *switch*, at a *NIC*, or on a *flow's rate*. A [`Mechanism`] bundles up to three sides: [`SwitchSide`],
//! [`NicSide`], [`FlowSide`]. The first two have their link functions in common: a [`LinkSide`]. Hooks receive a context with the time, the
//! counters and a list of actions. An action is not a callback: the stage carries actions out after the last hook has returned, in the
//! order in which they were requested.
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
//! A mechanism's hooks are the methods that its sides define. `#[hooks]` on the `impl` reads them; a hook that no mechanism of a run
//! defines is not called. Hooks at a switch that follow its counters (`on_admit`, `on_enqueue`, `on_dequeue`, `on_release`, `on_depart`)
//! are called beyond the levels that mechanisms state ([`SwitchSide::levels`]), or for every frame if they state no levels.
//!
//! Two hooks were split since the first sketch of this interface. `on_admit` is apart from `on_enqueue`: with `switch.latency_at =
//! "fabric"` a frame is in the ingress account before the switch's latency and in the egress account after it, and a scheme that watches
//! the ingress must not learn of the frame late. `on_depart` is apart from `on_release`: behind a crossbar a frame leaves the ingress
//! account when it crosses, and the egress account when it has left.

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

/// How a port keeps the order of a flow whose packets wait in several of its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowOrder {
    /// By counts for each flow: a packet waits for earlier packets of its own flow.
    Counters,
    /// By a marker at the tail of the queue that the flow leaves: a packet waits for all packets that were there.
    Markers,
}

/// The queues between which a mechanism moves flows. Every port of the network then keeps flows in order across these queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steering {
    /// The queues, a bit each.
    pub queues: u8,
    /// How order is kept.
    pub order: FlowOrder,
    /// True if hosts move flows too.
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

/// The result of a control frame's hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The mechanism has consumed it: nobody else sees it; a routed frame ends here.
    Consumed,
    /// The next mechanism may look; a routed frame goes on.
    Passed,
}

/// The fate of a packet for which there is no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// It is lost.
    Drop,
    /// Its payload is trimmed to so many bytes or to its headers, whichever is more; the rest is admitted if there is room for it.
    Trim(u32),
    /// The same, but the rest becomes a NACK of the packet's own flow ([`Gap::Returned`](crate::model::packet::Gap::Returned)) and goes to
    /// the source. It is steered and admitted like a frame that arrived at the packet's port. Without a path back the packet is lost.
    Return(u32),
}

/// How a pause of the neighbour is signalled (IEEE 802.3 annexes 31B and 31D).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PauseStyle {
    /// Pause time carried in each frame, in quanta of 512 bit times, or `None` for an on/off signal that never expires.
    pub quanta: Option<u16>,
    /// True if the signal is a frame that waits for the one on the wire and takes its time there. Otherwise it is ideal: it takes the
    /// propagation delay only.
    pub framed: bool,
}

impl PauseStyle {
    /// The stage's own pauses: frames, each with the longest pause time.
    pub(crate) const FRAMED: PauseStyle = PauseStyle { quanta: Some(u16::MAX), framed: true };
}

/// A word that a mechanism gives to its timer and gets back.
pub type Token = u32;

/// The frames that must leave a switch before a pause of a neighbour ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// Frames that arrived by the paused link in its class, or in any class for a pause of the link.
    Ingress,
    /// Frames of each of these ports, restricted to a queue if one is named.
    Egress(Vec<(Port, Option<Queue>)>),
    /// Unknown: such a pause is never part of a deadlock.
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
    /// The host at the other end, if it is a host.
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
    /// \[bytes\] The longest data frame of the run; during a check, the longest frame of any kind that may pass.
    pub max_frame: Bytes,
    /// Fixed processing delay.
    pub latency: Time,
    /// \[bytes\] Most bytes that may wait for one egress port, at least for each of its queues, if the switch limits them (`buffer_per` is
    /// `egress` or `queue`).
    pub port_buffer: Option<Bytes>,
}

/// A host's interface as a mechanism sees it at start.
#[derive(Clone, Debug)]
pub struct NicShape {
    /// The host.
    pub host: HostId,
    /// Rate of its link.
    pub rate: Rate,
    /// Its queues, if a class has several.
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
    /// Switches on its path; 0 if it has no path at its start.
    pub hops: u32,
}
