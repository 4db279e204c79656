//! The contexts of hooks, with what they may see and do: at a link, at a switch, at a NIC, and about a flow.

use super::actions::{FlowAction, FlowTimer, Gate, NicAction, NicGate, SwitchAction};
use super::{FlowShape, NicShape, PauseStyle, SwitchShape, Token};
use crate::model::hooks::levels::Account;
use crate::model::hooks::place::{IsolationQueue, MechanismId, MechanismSet};
use crate::model::packet::{Class, Control, FlowRef, HostId, Port, Queue};
use crate::model::switch::occupancy::Occupancy;
use crate::units::{Bytes, Rate};
use backwater_engine::{Rng, Time};

/// The constant data of a switch, and its mechanisms' random streams.
#[derive(Debug, backwater_derive::State)]
pub(crate) struct Home {
    #[state(fixed)]
    pub shape: SwitchShape,
    pub rngs: Vec<Option<Rng>>,
    #[state(fixed)]
    pub seed: u64,
    /// Accounts for which mechanisms have new levels.
    #[state(fixed)]
    pub watched: Vec<Account>,
}

impl Home {
    /// The state for so many mechanisms, before any random number is drawn.
    pub fn new(shape: SwitchShape, owners: usize, seed: u64) -> Home {
        Home { shape, rngs: vec![None; owners], seed, watched: Vec::new() }
    }
}

/// The context of a switch-side hook.
pub struct SwitchCx<'a> {
    pub(crate) now: Time,
    pub(crate) owner: MechanismId,
    pub(crate) seen: &'a Occupancy,
    pub(crate) home: &'a mut Home,
    pub(crate) actions: &'a mut Vec<SwitchAction>,
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
    /// For stacks only: the mechanism that is called.
    #[inline(always)]
    pub fn owner(&self) -> MechanismId {
        self.owner
    }
    /// For stacks only: the context of one mechanism. A new context costs nothing where a hook does nothing; a word written into this one
    /// would be written for every mechanism.
    #[inline(always)]
    pub fn owned_by(&mut self, owner: MechanismId) -> SwitchCx<'_> {
        SwitchCx { now: self.now, owner, seen: self.seen, home: self.home, actions: self.actions }
    }
    /// The same context for a hook of links.
    #[inline(always)]
    pub fn links(&mut self) -> LinkCx<'_> {
        LinkCx::Switch(self.owned_by(self.owner))
    }
    /// This mechanism's own random stream on this switch.
    pub fn rng(&mut self) -> &mut Rng {
        let (seed, owner, node) = (self.home.seed, self.owner, self.home.shape.node);
        self.home.rngs[usize::from(owner.0)].get_or_insert_with(|| {
            backwater_engine::rng::stream(seed, "switch mechanism", u64::from(node.0) << 8 | u64::from(owner.0))
        })
    }
    /// One of this mechanism's isolation queues, by a number that the mechanism chooses.
    pub fn isolation_queue(&self, number: u32) -> IsolationQueue {
        IsolationQueue { owner: self.owner, number }
    }
    /// The port to which `host` is attached, if it is attached to this switch.
    pub fn attached(&self, host: HostId) -> Option<Port> {
        let at = self.home.shape.ports.iter().position(|p| p.host == Some(host))?;
        Some(Port(at as u16))
    }
    /// Queues a frame for the neighbour at `port` in `class`.
    pub fn emit(&mut self, port: Port, class: Class, frame: Control) {
        self.actions.push(SwitchAction::Emit(port, class, frame));
    }
    /// Queues a frame for a host in `class`; it is forwarded, delayed and gated like any other. The frame takes the pinned path of the flow
    /// that it names, if that path passes this switch and the flow's acknowledgements take it backwards.
    pub fn route(&mut self, to: HostId, class: Class, frame: Control) {
        self.actions.push(SwitchAction::Route(to, class, frame));
    }
    /// Pauses the neighbour at `port`, for one class or (`None`) the whole link, until `until` ([`Time::NEVER`]: until released). The port
    /// merges all owners into one state: the latest end wins, and the neighbour resumes when all have released it. A host with several
    /// queues for the class pauses all of them.
    pub fn pause_peer(&mut self, port: Port, class: Option<Class>, until: Time, style: PauseStyle) {
        self.actions.push(SwitchAction::PausePeer(self.owner, port, class, until, style));
    }
    /// Ends [`SwitchCx::pause_peer`].
    pub fn resume_peer(&mut self, port: Port, class: Option<Class>) {
        self.actions.push(SwitchAction::ResumePeer(self.owner, port, class));
    }
    /// As [`SwitchCx::pause_peer`], but a host with several queues for a class pauses only the one of that priority.
    pub fn pause_queue(&mut self, port: Port, priority: Class, until: Time, style: PauseStyle) {
        self.actions.push(SwitchAction::PauseQueue(self.owner, port, priority, until, style));
    }
    /// Ends [`SwitchCx::pause_queue`].
    pub fn resume_queue(&mut self, port: Port, priority: Class) {
        self.actions.push(SwitchAction::ResumeQueue(self.owner, port, priority));
    }
    /// Shuts a gate of this switch.
    pub fn shut(&mut self, gate: Gate) {
        self.actions.push(SwitchAction::Shut(self.owner, gate));
    }
    /// Opens it again. Frames behind it are considered anew, including those that [`super::LinkSide::may_transmit`] refused.
    pub fn open(&mut self, gate: Gate) {
        self.actions.push(SwitchAction::Open(self.owner, gate));
    }
    /// Drops everything that waits in the switch for `queue` of `port`, except the frame on the wire. Hooks see each frame leave
    /// (`on_dequeue`, `on_release`, `on_depart`). In a lossless scenario the first drop ends the run.
    pub fn flush(&mut self, port: Port, queue: Queue) {
        self.actions.push(SwitchAction::Flush(port, queue));
    }
    /// Ignores the neighbour's pause of `queue` of `port` from now on: in the results the pause ends. Frames that extend it must be passed
    /// over ([`super::Fate::Passed`]).
    pub fn disobey(&mut self, port: Port, queue: Queue) {
        self.actions.push(SwitchAction::Disobey(port, queue));
    }
    /// Writes a row of its own `kind` into the table of control messages, without sending anything.
    pub fn report(&mut self, kind: &'static str, port: Port, class: Class, value: u64) {
        self.actions.push(SwitchAction::Report(kind, port, class, value));
    }
    /// Calls `on_timer` with `token` at `at`. Timers are never cancelled: compare with your own deadline.
    pub fn arm(&mut self, at: Time, token: Token) {
        self.actions.push(SwitchAction::Arm(self.owner, at, token));
    }
    /// Announces new levels of an account: [`super::SwitchSide::levels`] is called once the hook has returned. Not available in `steer`,
    /// `divert`, `choose` and `push_out`.
    pub fn watch(&mut self, of: Account) {
        self.home.watched.push(of);
    }
}

/// The context of a NIC-side hook.
pub struct NicCx<'a> {
    pub(crate) now: Time,
    pub(crate) owner: MechanismId,
    pub(crate) shape: &'a NicShape,
    /// Mechanisms that leave alone the flow of this call.
    pub(crate) left: MechanismSet,
    /// The control frame names a flow that has arrived completely.
    pub(crate) over: bool,
    pub(crate) actions: &'a mut Vec<NicAction>,
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
    /// For stacks only: the mechanism that is called.
    #[inline(always)]
    pub fn owner(&self) -> MechanismId {
        self.owner
    }
    /// For stacks only: the context of one mechanism.
    #[inline(always)]
    pub fn owned_by(&mut self, owner: MechanismId) -> NicCx<'_> {
        NicCx { now: self.now, owner, shape: self.shape, left: self.left, over: self.over, actions: self.actions }
    }
    /// As a hook of links sees it.
    #[inline(always)]
    pub fn links(&mut self) -> LinkCx<'_> {
        LinkCx::Nic(self.owned_by(self.owner))
    }
    /// For stacks only: returns whether a mechanism leaves alone the flow of this call.
    #[inline(always)]
    pub fn leaves(&self, owner: MechanismId) -> bool {
        self.left & owner.bit() != 0
    }
    /// In `on_control`: returns whether the frame names a flow to this host that has arrived completely, or whose sender has finished it.
    pub fn is_over(&self) -> bool {
        self.over
    }
    /// Queues a frame for a host in `class`; if it names a flow that ends here, the frame takes the path of its acknowledgements to the
    /// flow's source.
    pub fn reply(&mut self, to: HostId, class: Class, frame: Control) {
        self.actions.push(NicAction::Route(to, class, frame));
    }
    /// Acknowledges a flow that ends here, in answer to a probe: the acknowledgement carries the state of the transport and the probe's
    /// number, and goes to `to`. Nothing is sent for a forgotten flow, or where packets are not acknowledged one by one.
    pub fn acknowledge(&mut self, to: HostId, flow: FlowRef, probe: u64) {
        self.actions.push(NicAction::Acknowledge(to, flow, probe));
    }
    /// Queues a frame for the neighbour in `class`.
    pub fn emit(&mut self, class: Class, frame: Control) {
        self.actions.push(NicAction::Emit(class, frame));
    }
    /// Sends a flow of this host in `class` (`None`: its own) from now on, in the order of its packets if the mechanism says that it moves flows at
    /// hosts ([`super::Profile::steering`]).
    pub fn send_in(&mut self, flow: FlowRef, class: Option<Class>) {
        self.actions.push(NicAction::SendIn(flow, class));
    }
    /// Shuts a gate of this NIC.
    pub fn shut(&mut self, gate: NicGate) {
        self.actions.push(NicAction::Shut(self.owner, gate));
    }
    /// Opens it again. Frames behind it are considered anew, including those that [`super::LinkSide::may_transmit`] refused.
    pub fn open(&mut self, gate: NicGate) {
        self.actions.push(NicAction::Open(self.owner, gate));
    }
    /// A random stream of this mechanism for a flow that ends here; it is the same at every call.
    pub fn stream(&self, purpose: &str, flow: FlowRef) -> Rng {
        // The flow's name includes the run's seed.
        backwater_engine::rng::stream(u64::from(self.owner.0), purpose, u64::from(flow.tag))
    }
    /// Calls `on_timer` with `token` at `at`.
    pub fn arm(&mut self, at: Time, token: Token) {
        self.actions.push(NicAction::Arm(self.owner, at, token));
    }
}

/// The context of a hook of links: the parts that switches and NICs have in common. The only port of a NIC is 0. It contains the context of
/// the switch or NIC, for mechanisms that do more at one of them.
pub enum LinkCx<'a> {
    /// At a switch.
    Switch(SwitchCx<'a>),
    /// At a NIC.
    Nic(NicCx<'a>),
}

impl LinkCx<'_> {
    /// The time.
    #[inline(always)]
    pub fn now(&self) -> Time {
        match self {
            LinkCx::Switch(cx) => cx.now,
            LinkCx::Nic(cx) => cx.now,
        }
    }
    /// For stacks only: the mechanism that is called.
    #[inline(always)]
    pub fn owner(&self) -> MechanismId {
        match self {
            LinkCx::Switch(cx) => cx.owner,
            LinkCx::Nic(cx) => cx.owner,
        }
    }
    /// For stacks only: the context of one mechanism.
    #[inline(always)]
    pub fn owned_by(&mut self, owner: MechanismId) -> LinkCx<'_> {
        match self {
            LinkCx::Switch(cx) => LinkCx::Switch(cx.owned_by(owner)),
            LinkCx::Nic(cx) => LinkCx::Nic(cx.owned_by(owner)),
        }
    }
    /// Rate of the link at `port`, as it was at the start.
    pub fn rate(&self, port: Port) -> Rate {
        match self {
            LinkCx::Switch(cx) => cx.home.shape.ports[usize::from(port.0)].rate,
            LinkCx::Nic(cx) => cx.shape.rate,
        }
    }
    /// Puts a frame on the link to the neighbour at `port` before everything else, like MAC control: it waits only for the frame on the
    /// wire. No gate stops it, and no account counts it.
    pub fn signal(&mut self, port: Port, frame: Control) {
        match self {
            LinkCx::Switch(cx) => cx.actions.push(SwitchAction::Signal(port, frame)),
            LinkCx::Nic(cx) => cx.actions.push(NicAction::Signal(frame)),
        }
    }
    /// Shuts the gate of a queue of `port` (at a NIC: of that priority), or (`None`) of everything but MAC control.
    pub fn shut(&mut self, port: Port, queue: Option<Queue>) {
        match self {
            LinkCx::Switch(cx) => cx.shut(queue.map_or(Gate::Port(port), |queue| Gate::Egress(port, queue))),
            LinkCx::Nic(cx) => cx.shut(queue.map_or(NicGate::Link, |queue| NicGate::Class(queue.into()))),
        }
    }
    /// Opens it again. Frames behind it are considered anew, including those that [`super::LinkSide::may_transmit`] refused.
    pub fn open(&mut self, port: Port, queue: Option<Queue>) {
        match self {
            LinkCx::Switch(cx) => cx.open(queue.map_or(Gate::Port(port), |queue| Gate::Egress(port, queue))),
            LinkCx::Nic(cx) => cx.open(queue.map_or(NicGate::Link, |queue| NicGate::Class(queue.into()))),
        }
    }
    /// The port may discard kept frames with numbers below `before` ([`super::LinkSide::retains`]).
    pub fn discard_before(&mut self, port: Port, before: u64) {
        match self {
            LinkCx::Switch(cx) => cx.actions.push(SwitchAction::DiscardBefore(port, before)),
            LinkCx::Nic(cx) => cx.actions.push(NicAction::DiscardBefore(before)),
        }
    }
    /// The port retransmits all that it keeps from number `from` on, in the order of the numbers. These frames precede all new ones except
    /// ordered sets ([`LinkCx::signal`] of less than [`Control::MIN_FRAME`]). No gate stops them, and no account counts them. A replay in
    /// progress begins anew.
    pub fn replay_from(&mut self, port: Port, from: u64) {
        match self {
            LinkCx::Switch(cx) => cx.actions.push(SwitchAction::ReplayFrom(port, from)),
            LinkCx::Nic(cx) => cx.actions.push(NicAction::ReplayFrom(from)),
        }
    }
    /// Calls `on_link_timer` with `token` at `at`. Timers are never cancelled: compare with your own deadline.
    pub fn arm(&mut self, at: Time, token: Token) {
        match self {
            LinkCx::Switch(cx) => cx.arm(at, token),
            LinkCx::Nic(cx) => cx.arm(at, token),
        }
    }
}

/// The context of a flow-side hook.
pub struct FlowCx<'a> {
    pub(crate) now: Time,
    pub(crate) owner: MechanismId,
    pub(crate) shape: &'a FlowShape,
    pub(crate) flow: Option<FlowRef>,
    pub(crate) of: Option<&'a dyn Unsent>,
    pub(crate) actions: &'a mut Vec<FlowAction>,
}

/// The state of a flow and its interface when one of its packets leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// \[bytes\] of frames that remain after this packet and have never been sent.
    pub backlog: u64,
    /// \[bytes\] of frames that remain after this packet and wait to be retransmitted.
    pub retransmissions: u64,
    /// \[bytes\] The flow's window, where it has one.
    pub window: Option<Bytes>,
    /// Flows of the interface that wait for their turn, this one among them.
    pub waiting: u32,
}

/// A flow that may have something to send.
pub(crate) trait Unsent {
    /// Returns the bytes that have not been sent or must be retransmitted, in packets of so much payload.
    fn backlog(&self, payload: Bytes) -> Bytes;
    /// Returns whether the packet of this number is in flight: sent, and neither acknowledged nor declared lost.
    fn is_in_flight(&self, number: u64) -> bool;
}

impl FlowCx<'_> {
    /// The time.
    #[inline(always)]
    pub fn now(&self) -> Time {
        self.now
    }
    /// The flow of this call. For a call that concerns no flow of a shared controller: the controller's first flow.
    pub fn shape(&self) -> &FlowShape {
        self.shape
    }
    /// For stacks only: the mechanism that is called.
    #[inline(always)]
    pub fn owner(&self) -> MechanismId {
        self.owner
    }
    /// For stacks only: the context of one mechanism.
    #[inline(always)]
    pub fn owned_by(&mut self, owner: MechanismId) -> FlowCx<'_> {
        FlowCx { now: self.now, owner, shape: self.shape, flow: self.flow, of: self.of, actions: self.actions }
    }
    /// The flow of this call. `None`: the call is a timer of a shared controller, or a frame about a flow that has ended.
    pub fn flow(&self) -> Option<FlowRef> {
        self.flow
    }
    /// \[bytes\] Payload of that flow that has not been sent or must be retransmitted; 0 without a flow.
    pub fn backlog(&self) -> Bytes {
        self.of.map_or(Bytes::ZERO, |flow| flow.backlog(self.shape.payload))
    }
    /// Returns whether the packet of this number of that flow is in flight: sent, and neither acknowledged nor declared lost. `false` where
    /// packets are not acknowledged one by one.
    pub fn is_in_flight(&self, number: u64) -> bool {
        self.of.is_some_and(|flow| flow.is_in_flight(number))
    }
    /// Declares the packet of this number lost, if it is in flight: it is retransmitted before anything new.
    pub fn give_up(&mut self, number: u64) {
        self.actions.extend(self.flow.map(|flow| FlowAction::GiveUp(flow, number)));
    }
    /// A random stream of this mechanism for the flow; it is the same at every call.
    pub fn stream(&self, purpose: &str) -> Rng {
        // The flow's name includes the run's seed.
        backwater_engine::rng::stream(u64::from(self.owner.0), purpose, self.flow.map_or(0, |flow| u64::from(flow.tag)))
    }
    /// Queues a frame for a host in `class`, mostly for the other end ([`FlowShape::dst`]). If it names a flow of this host to that host,
    /// it takes the path of the flow's data.
    pub fn send(&mut self, to: HostId, class: Class, frame: Control) {
        self.actions.push(FlowAction::Send(to, class, frame));
    }
    /// Reports that so many of the flow's requests in a row have not been answered: each counts as a timeout. After more than
    /// `transport.retries` of them the sender gives up.
    pub fn unanswered(&mut self, requests: u32) {
        self.actions.extend(self.flow.map(|flow| FlowAction::Unanswered(flow, requests)));
    }
    /// Calls `on_timer` with `token` at `at`.
    pub fn arm(&mut self, at: Time, token: u16) {
        self.actions.push(FlowAction::Arm(FlowTimer { owner: self.owner, at, token }));
    }
}
