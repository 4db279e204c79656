//! The hook interface: what a mechanism may see and do. Read this file first.
//!
//! Every scheme acts at a *switch*, at a *NIC*, or on a *flow's rate*. A [`Mechanism`] bundles up to three sides of itself:
//! [`SwitchSide`], [`NicSide`], [`FlowSide`]. Hooks receive a context with the time, the counters and a pad for notes. A note
//! is not a callback: the stage acts on it after the last hook has returned, in the order in which the notes were made.
//!
//! ```text
//!            arrival            egress queue                       wire
//!  frame ──▶ route ▶ choose ▶ steer ▶ admit ─ latency ─▶ hold ▶ enqueue ─▶ may_start ▶ start ────────▶ sent ──▶ next node
//!                                    │                          │                        │              │
//!                             on_admit, on_full             on_enqueue               on_start        on_sent
//!                                                on_dequeue, on_release, on_depart: at either, as `switch.release_at` says
//!
//!  flow ──▶ on_start ▶ rate, window ▶ on_send, attach ──▶ NIC: on_enqueue ▶ may_start ▶ on_start ▶ on_sent ──▶
//!       on_end ◀── on_ack, on_loss ◀── acknowledgement ◀── on_flow_start, on_receive, on_flow_end at the receiver
//! ```
//!
//! What is called for every packet and only few mechanisms have, is asked for by [`Mechanism::EXTRA`].
//!
//! What differs from the first sketch of this interface: `on_admit` is apart from `on_enqueue`, because a frame is in the
//! ingress account before the switch's latency and in the egress account after it (`switch.latency_at = "fabric"`), and a
//! scheme that watches the ingress must not learn of the frame late; `on_depart` is apart from `on_release`, because behind a
//! crossbar a frame leaves the ingress account when it crosses and the egress account when it is gone.

use crate::attachment::Attachment;
use crate::occupancy::Occupancy;
use crate::packet::{Class, Control, FlowRef, HostId, NodeId, Packet, Port, Queue};
use crate::queues::HostQueues;
use crate::units::{Bytes, Rate};
use backwater_engine::{Rng, Time};

pub(crate) use crate::place::Owners;
pub use crate::place::{Lane, Owner, Place};
pub use crate::reach::{Margin, Reach, Unit};

mod advice;
mod mechanism;
mod notes;
mod port;

pub use crate::parameters::Finding;
pub use advice::{
    Advice, AdviceError, AdviceForm, AdviceOption, AdviceRow, Hop, Incast, Incasts, Paths, Question, Situation, needed,
};
pub use mechanism::{
    Carrier, CheckCx, Claims, Mechanism, MemoryCx, Needs, Overhead, Preset, Profile, RateKey, Unread, WireCx,
};
pub(crate) use notes::Notes;
pub use notes::{FlowNote, FlowTimer, Gate, NicGate, NicNote, Note};
pub use port::{Departure, Extra};

/// How a port keeps a flow in order whose packets stand in several of its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
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
    pub order: Order,
    /// Whether hosts move flows too.
    pub hosts: bool,
}

impl Steering {
    /// Both of two: where they differ, the stricter.
    pub fn and(self, other: Option<Steering>) -> Steering {
        let Some(other) = other else { return self };
        let order = if self.order == Order::Markers { Order::Markers } else { other.order };
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
    /// Its payload is cut off; the header is admitted if there is room for that.
    Trim,
}

/// How a pause of the neighbour is signalled (IEEE 802.3 annexes 31B and 31D).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldStyle {
    /// Pause time carried in each frame, in quanta of 512 bit times, or `None` for an on/off signal that never expires.
    pub quanta: Option<u16>,
    /// Whether the signal is a frame that waits for the one on the wire and takes its time there, or ideal: it only takes the propagation delay.
    pub framed: bool,
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
    /// \[bytes\] What may wait for one egress port, where the switch limits that (`buffer_per` is `egress` or `queue`).
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
#[derive(Clone, Copy, Debug)]
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
    /// Switches on its way; 0 where it has none at its start.
    pub hops: u32,
}

/// What does not change at a switch, and its mechanisms' random streams.
#[derive(Debug)]
pub(crate) struct Home {
    pub shape: SwitchShape,
    pub rngs: Vec<Option<Rng>>,
    pub seed: u64,
}

impl Home {
    /// Of so many mechanisms, none of which has drawn a number yet.
    pub fn new(shape: SwitchShape, owners: usize, seed: u64) -> Home {
        Home { shape, rngs: vec![None; owners], seed }
    }
}

/// What a switch-side hook sees and may do.
pub struct SwitchCx<'a> {
    pub(crate) now: Time,
    pub(crate) owner: Owner,
    pub(crate) seen: &'a Occupancy,
    pub(crate) home: &'a mut Home,
    pub(crate) notes: &'a mut Vec<Note>,
}

impl SwitchCx<'_> {
    /// The time.
    #[inline(always)]
    pub fn now(&self) -> Time {
        self.now
    }
    /// The counters.
    #[inline(always)]
    pub fn seen(&self) -> &Occupancy {
        self.seen
    }
    /// The switch.
    #[inline(always)]
    pub fn shape(&self) -> &SwitchShape {
        &self.home.shape
    }
    /// For stacks only: which mechanism is called.
    #[inline(always)]
    pub fn owner(&self) -> Owner {
        self.owner
    }
    /// For stacks only: the context of one mechanism. A new one, which costs nothing where a hook does nothing, while a word that
    /// is written into this one would be written for every mechanism there is.
    #[inline(always)]
    pub fn owned_by(&mut self, owner: Owner) -> SwitchCx<'_> {
        SwitchCx { now: self.now, owner, seen: self.seen, home: self.home, notes: self.notes }
    }
    /// This mechanism's own random stream on this switch.
    pub fn rng(&mut self) -> &mut Rng {
        let (seed, owner, node) = (self.home.seed, self.owner, self.home.shape.node);
        self.home.rngs[usize::from(owner.0)].get_or_insert_with(|| {
            backwater_engine::rng::stream(seed, "switch mechanism", u64::from(node.0) << 8 | u64::from(owner.0))
        })
    }
    /// A lane of this mechanism's own, by a number that the mechanism chooses.
    pub fn lane(&self, number: u32) -> Lane {
        Lane { owner: self.owner, number }
    }
    /// The port to which `host` is attached, where it is attached here.
    pub fn attached(&self, host: HostId) -> Option<Port> {
        let at = self.home.shape.ports.iter().position(|p| p.host == Some(host))?;
        Some(Port(at as u16))
    }
    /// Queues a frame for the neighbour at `port` in `class`.
    pub fn emit(&mut self, port: Port, class: Class, frame: Control) {
        self.notes.push(Note::Emit(port, class, frame));
    }
    /// Queues a frame for a host in `class`; it is forwarded, delayed and gated like any other. If it names a flow whose path
    /// is pinned and passes this switch, and whose acknowledgements take that path backwards, so does the frame.
    pub fn route(&mut self, to: HostId, class: Class, frame: Control) {
        self.notes.push(Note::Route(to, class, frame));
    }
    /// Pauses the neighbour at `port`, for one class or (`None`) the whole link, until `until` ([`Time::NEVER`]: until
    /// released). The port merges all owners into one state: the latest end wins, the neighbour resumes when all let go.
    /// A host that has several queues for the class is to pause all of them.
    pub fn hold_peer(&mut self, port: Port, class: Option<Class>, until: Time, style: HoldStyle) {
        self.notes.push(Note::HoldPeer(self.owner, port, class, until, style));
    }
    /// Lets go of [`SwitchCx::hold_peer`].
    pub fn release_peer(&mut self, port: Port, class: Option<Class>) {
        self.notes.push(Note::ReleasePeer(self.owner, port, class));
    }
    /// As [`SwitchCx::hold_peer`], for one queue only of a host that may have several for a class: the one of that priority.
    pub fn hold_queue(&mut self, port: Port, priority: Class, until: Time, style: HoldStyle) {
        self.notes.push(Note::HoldQueue(self.owner, port, priority, until, style));
    }
    /// Lets go of [`SwitchCx::hold_queue`].
    pub fn release_queue(&mut self, port: Port, priority: Class) {
        self.notes.push(Note::ReleaseQueue(self.owner, port, priority));
    }
    /// Shuts a gate of this switch.
    pub fn shut(&mut self, gate: Gate) {
        self.notes.push(Note::Shut(self.owner, gate));
    }
    /// Opens it again; what waits behind it is looked at anew, also where [`SwitchSide::may_start`] kept it from starting.
    pub fn open(&mut self, gate: Gate) {
        self.notes.push(Note::Open(self.owner, gate));
    }
    /// Drops everything that waits in the switch for `queue` of `port`, but for the frame on the wire. Hooks see each frame leave
    /// (`on_dequeue`, `on_release`, `on_depart`). In a lossless scenario the first drop ends the run.
    pub fn flush(&mut self, port: Port, queue: Queue) {
        self.notes.push(Note::Flush(port, queue));
    }
    /// Puts a row into the table of control messages, of a `kind` of its own, though nothing is sent.
    pub fn report(&mut self, kind: &'static str, port: Port, class: Class, value: u64) {
        self.notes.push(Note::Report(kind, port, class, value));
    }
    /// Calls `on_timer` with `token` at `at`. Timers are never cancelled: compare with your own deadline.
    pub fn arm(&mut self, at: Time, token: Token) {
        self.notes.push(Note::Arm(self.owner, at, token));
    }
}

/// What a NIC-side hook sees and may do.
pub struct NicCx<'a> {
    pub(crate) now: Time,
    pub(crate) owner: Owner,
    pub(crate) shape: &'a NicShape,
    pub(crate) notes: &'a mut Vec<NicNote>,
}

impl NicCx<'_> {
    /// The time.
    #[inline(always)]
    pub fn now(&self) -> Time {
        self.now
    }
    /// The interface.
    pub fn shape(&self) -> &NicShape {
        self.shape
    }
    /// For stacks only: which mechanism is called.
    #[inline(always)]
    pub fn owner(&self) -> Owner {
        self.owner
    }
    /// For stacks only: the context of one mechanism.
    #[inline(always)]
    pub fn owned_by(&mut self, owner: Owner) -> NicCx<'_> {
        NicCx { now: self.now, owner, shape: self.shape, notes: self.notes }
    }
    /// Queues a frame for a host in `class`; if it names a flow that ends here, it goes to that flow's source along the
    /// way of the acknowledgements.
    pub fn reply(&mut self, to: HostId, class: Class, frame: Control) {
        self.notes.push(NicNote::Route(to, class, frame));
    }
    /// Queues a frame for the neighbour in `class`.
    pub fn emit(&mut self, class: Class, frame: Control) {
        self.notes.push(NicNote::Emit(class, frame));
    }
    /// Sends a flow of this host in `class` (`None`: its own) from now on, in the order of its packets if the mechanism says that it moves flows at
    /// hosts ([`Mechanism::steering`]).
    pub fn send_in(&mut self, flow: FlowRef, class: Option<Class>) {
        self.notes.push(NicNote::SendIn(flow, class));
    }
    /// Shuts a gate of this NIC.
    pub fn shut(&mut self, gate: NicGate) {
        self.notes.push(NicNote::Shut(self.owner, gate));
    }
    /// Opens it again; what waits behind it is looked at anew, also where [`NicSide::may_start`] kept it from starting.
    pub fn open(&mut self, gate: NicGate) {
        self.notes.push(NicNote::Open(self.owner, gate));
    }
    /// Calls `on_timer` with `token` at `at`.
    pub fn arm(&mut self, at: Time, token: Token) {
        self.notes.push(NicNote::Arm(self.owner, at, token));
    }
}

/// What a flow-side hook sees and may do.
pub struct FlowCx<'a> {
    pub(crate) now: Time,
    pub(crate) owner: Owner,
    pub(crate) shape: &'a FlowShape,
    pub(crate) flow: Option<FlowRef>,
    pub(crate) of: Option<&'a dyn Unsent>,
    pub(crate) notes: &'a mut Vec<FlowNote>,
}

/// A flow of which something may be unsent.
pub(crate) trait Unsent {
    /// What has not been sent, or is to be sent again, in packets of so much payload.
    fn backlog(&self, payload: Bytes) -> Bytes;
}

impl FlowCx<'_> {
    /// The time.
    #[inline(always)]
    pub fn now(&self) -> Time {
        self.now
    }
    /// The flow that the call is about (of a controller that several flows share, where it is about none: the first of them).
    pub fn shape(&self) -> &FlowShape {
        self.shape
    }
    /// For stacks only: which mechanism is called.
    #[inline(always)]
    pub fn owner(&self) -> Owner {
        self.owner
    }
    /// For stacks only: the context of one mechanism.
    #[inline(always)]
    pub fn owned_by(&mut self, owner: Owner) -> FlowCx<'_> {
        FlowCx { now: self.now, owner, shape: self.shape, flow: self.flow, of: self.of, notes: self.notes }
    }
    /// The flow that the call is about. `None`: a timer of a controller that several flows share, or a frame about a flow that is over.
    pub fn flow(&self) -> Option<FlowRef> {
        self.flow
    }
    /// \[bytes\] Payload of that flow that has not been sent, or is to be sent again; 0 where there is none.
    pub fn backlog(&self) -> Bytes {
        self.of.map_or(Bytes::ZERO, |flow| flow.backlog(self.shape.payload))
    }
    /// Queues a frame for a host in `class`, mostly for the other end ([`FlowShape::dst`]). If it names a flow of this host that goes there,
    /// it takes the way of the flow's data.
    pub fn send(&mut self, to: HostId, class: Class, frame: Control) {
        self.notes.push(FlowNote::Send(to, class, frame));
    }
    /// Calls `on_timer` with `token` at `at`.
    pub fn arm(&mut self, at: Time, token: u16) {
        self.notes.push(FlowNote::Arm(FlowTimer { owner: self.owner, at, token }));
    }
}

/// What a mechanism does at a switch.
#[allow(unused_variables)]
pub trait SwitchSide {
    /// Load balancing: picks one of `candidates` (two or more) for a packet whose path is not pinned; `None` leaves it to the next opinion,
    /// in the end to ECMP. Called for mechanisms that claim the path ([`Claims`]) only.
    #[inline(always)]
    fn choose(&mut self, cx: &mut SwitchCx<'_>, candidates: &[Port], pkt: &Packet) -> Option<Port> {
        None
    }
    /// After routing, before admission: may change the queue, and the packet's class, which is that on the next link. The class on
    /// the link of arrival, by which the ingress counts, stays in `at`. Order within flows: [`Mechanism::steering`].
    #[inline(always)]
    fn steer(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) {}
    /// There is no memory for the packet. What is trimmed is steered again, and goes on in the queue and the class that are left here: a
    /// header may have a queue of its own.
    #[inline(always)]
    fn on_full(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) -> Full {
        Full::Drop
    }
    /// The packet has been admitted; the ingress account includes it, the egress account perhaps not yet.
    #[inline(always)]
    fn on_admit(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {}
    /// The packet is about to join its egress queue. Where it is to wait, the lane in which; that is shut until its mechanism
    /// opens it by [`Gate::Lane`], and then served beside the queue. As long as a lane holds packets ([`Occupancy::held_in`]), answer
    /// it for whatever must not pass them; where flows move between queues, what is of a flow with packets there follows them in any case, in
    /// their queue and class. The ingress account includes what waits, the egress account does not; what the switch
    /// itself sends is in no ingress account, and does not wait.
    #[inline(always)]
    fn hold(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) -> Option<Lane> {
        None
    }
    /// The packet has joined its egress queue; all accounts include it.
    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {}
    /// Whether a packet may be put on the wire now. Asked of the first of each queue that could be next, where [`Extra::may_start`] is
    /// named; a refused one is asked about again whenever the port looks for work, at the latest when a gate of it is opened
    /// ([`SwitchCx::open`]). Not asked of MAC control.
    #[inline(always)]
    fn may_start(&self, port: Port, queue: Queue, pkt: &Packet) -> bool {
        true
    }
    /// The packet's first bit leaves; the egress accounts include it. `carried` is what it carries for this mechanism. Called, like
    /// `on_sent`, where [`Extra::port_events`] is named, and not of MAC control.
    #[inline(always)]
    fn on_start(&mut self, cx: &mut SwitchCx<'_>, from: &Departure, pkt: &Packet, carried: Option<&mut Attachment>) {}
    /// Its last bit has left.
    #[inline(always)]
    fn on_sent(&mut self, cx: &mut SwitchCx<'_>, from: &Departure, pkt: &Packet) {}
    /// The packet leaves the accounts, or is dropped from its queue; all egress accounts still include it, its header can still be written.
    #[inline(always)]
    fn on_dequeue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {}
    /// Its bytes have left the ingress account: it has left the switch or, behind a crossbar, crossed the fabric.
    #[inline(always)]
    fn on_release(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {}
    /// Its bytes have left the egress account: it is on the wire or, by `switch.release_at`, has left it.
    #[inline(always)]
    fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {}
    /// A control frame came in at `from`, for this switch (`to` is `None`) or passing by on its way to a host. The flow that it
    /// names may be over: a switch does not know.
    #[inline(always)]
    fn on_control(&mut self, cx: &mut SwitchCx<'_>, from: Port, to: Option<HostId>, frame: &Control) -> Fate {
        Fate::Passed
    }
    /// A timer has run out.
    #[inline(always)]
    fn on_timer(&mut self, cx: &mut SwitchCx<'_>, token: Token) {}
    /// What must leave before a pause ends that `owner` (for stacks; itself) asks of the neighbour at `port` without an end. Asked
    /// when the run looks for a deadlock.
    fn awaits(&self, owner: Owner, port: Port, class: Option<Class>) -> Awaits {
        Awaits::Unknown
    }
    /// Whether it opens or empties, after a time of its own, queues of `port` that it keeps shut for the neighbour.
    fn gives_up(&self, port: Port) -> bool {
        false
    }
    /// What it has counted, for the results.
    fn counts(&self, now: Time) -> Vec<Count> {
        Vec::new()
    }
    /// What it has done, and how near it came.
    fn reach(&self) -> Reach {
        Reach::default()
    }
}

/// A flow as its receiver knows it from the connection's setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The flow.
    pub flow: FlowRef,
    /// Its sender.
    pub src: HostId,
    /// Class of its data.
    pub class: Class,
    /// \[bytes\] Payload in all; of a stream, that there is so far.
    pub bytes: Bytes,
}

/// What a mechanism does at a NIC.
#[allow(unused_variables)]
pub trait NicSide {
    /// The first packet of a flow has arrived for this host. Comes before its `on_receive`.
    #[inline(always)]
    fn on_flow_start(&mut self, cx: &mut NicCx<'_>, incoming: &Incoming) {}
    /// A data packet has arrived for this host.
    #[inline(always)]
    fn on_receive(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {}
    /// The last byte of a flow has arrived that has begun, or its sender has given up.
    #[inline(always)]
    fn on_flow_end(&mut self, cx: &mut NicCx<'_>, flow: FlowRef) {}
    /// A packet has joined a queue of the interface. Called, like `on_start` and `on_sent`, where [`Extra::port_events`] is named.
    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut NicCx<'_>, queue: Queue, pkt: &Packet) {}
    /// As [`SwitchSide::may_start`].
    #[inline(always)]
    fn may_start(&self, port: Port, queue: Queue, pkt: &Packet) -> bool {
        true
    }
    /// As [`SwitchSide::on_start`].
    #[inline(always)]
    fn on_start(&mut self, cx: &mut NicCx<'_>, from: &Departure, pkt: &Packet, carried: Option<&mut Attachment>) {}
    /// As [`SwitchSide::on_sent`].
    #[inline(always)]
    fn on_sent(&mut self, cx: &mut NicCx<'_>, from: &Departure, pkt: &Packet) {}
    /// A control frame has arrived for this host.
    #[inline(always)]
    fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
        Fate::Passed
    }
    /// A timer has run out.
    #[inline(always)]
    fn on_timer(&mut self, cx: &mut NicCx<'_>, token: Token) {}
    /// What it has counted, for the results.
    fn counts(&self, now: Time) -> Vec<Count> {
        Vec::new()
    }
    /// What it has done, and how near it came.
    fn reach(&self) -> Reach {
        Reach::default()
    }
}

/// What an acknowledgement tells.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// \[bytes\] Payload received so far.
    pub received: u64,
    /// Time since the data packet was sent.
    pub rtt: Time,
    /// Whether the data packet was marked.
    pub marked: bool,
    /// What the data packet carried for this mechanism; where one acknowledgement answers several, the last of them.
    pub carried: Option<&'a Attachment>,
}

/// How the transport has come to know that packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The receiver has reported a gap.
    Gap,
    /// Nothing has come back for too long.
    Timeout,
}

/// What a mechanism does to a flow's rate. One per [`RateKey`].
#[allow(unused_variables)]
pub trait FlowSide {
    /// The rate at which the flow may send now. An answer, not a command: the NIC paces and asks again after every hook.
    #[inline(always)]
    fn rate(&self) -> Option<Rate> {
        None
    }
    /// No packet goes before this time. Unlike a rate of zero it has an end, so that a run can wait for it.
    #[inline(always)]
    fn stopped_until(&self) -> Time {
        Time::ZERO
    }
    /// Most unacknowledged bytes; 0 stops the flow, and what is above it is not taken for less than what is acknowledged at a time.
    #[inline(always)]
    fn window(&self) -> Option<Bytes> {
        None
    }
    /// A flow begins. Of a controller that several flows share, the others hear of a new rate or window at once, as after every hook.
    #[inline(always)]
    fn on_start(&mut self, cx: &mut FlowCx<'_>) {}
    /// A packet is handed to the wire.
    #[inline(always)]
    fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {}
    /// What the packet that is handed to the wire carries. Asked after `on_send`, where [`Extra::attachment`] is named.
    #[inline(always)]
    fn attach(&mut self, pkt: &Packet) -> Option<Attachment> {
        None
    }
    /// An acknowledgement has arrived.
    #[inline(always)]
    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {}
    /// The flow is over: all is acknowledged, or its sender gives up. A controller of one flow goes with it.
    #[inline(always)]
    fn on_end(&mut self, cx: &mut FlowCx<'_>) {}
    /// Packets are lost and will be sent again. Comes before the `on_ack` of the answer that told it, and may come for each of
    /// the packets lost.
    #[inline(always)]
    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {}
    /// A control frame that names this flow has arrived.
    #[inline(always)]
    fn on_control(&mut self, cx: &mut FlowCx<'_>, frame: &Control) -> Fate {
        Fate::Passed
    }
    /// A timer has run out.
    #[inline(always)]
    fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {}
    /// What it has done, and how near it came; asked when its flow is over, or the run.
    fn reach(&self) -> Reach {
        Reach::default()
    }
}

/// The side that a mechanism does not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Absent;

impl SwitchSide for Absent {}
impl NicSide for Absent {}
impl FlowSide for Absent {}
