//! What a hook sees and may do: the context of a call at a link, at a switch, at a NIC, and about a flow.

use super::actions::{FlowAction, FlowTimer, Gate, NicAction, NicGate, SwitchAction};
use super::{FlowShape, NicShape, PauseStyle, SwitchShape, Token};
use crate::model::hooks::levels::Account;
use crate::model::hooks::place::{IsolationQueue, MechanismId, MechanismSet};
use crate::model::packet::{Class, Control, FlowRef, HostId, Port, Queue};
use crate::model::switch::occupancy::Occupancy;
use crate::units::{Bytes, Rate};
use backwater_engine::{Rng, Time};

/// What does not change at a switch, and its mechanisms' random streams.
#[derive(Debug, backwater_derive::State)]
pub(crate) struct Home {
    #[state(fixed)]
    pub shape: SwitchShape,
    pub rngs: Vec<Option<Rng>>,
    #[state(fixed)]
    pub seed: u64,
    /// Accounts of which mechanisms have other levels now.
    #[state(fixed)]
    pub watched: Vec<Account>,
}

impl Home {
    /// Of so many mechanisms, none of which has drawn a number yet.
    pub fn new(shape: SwitchShape, owners: usize, seed: u64) -> Home {
        Home { shape, rngs: vec![None; owners], seed, watched: Vec::new() }
    }
}

/// What a switch-side hook sees and may do.
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
    /// For stacks only: which mechanism is called.
    #[inline(always)]
    pub fn owner(&self) -> MechanismId {
        self.owner
    }
    /// For stacks only: the context of one mechanism. A new one, which costs nothing where a hook does nothing, while a word that
    /// is written into this one would be written for every mechanism there is.
    #[inline(always)]
    pub fn owned_by(&mut self, owner: MechanismId) -> SwitchCx<'_> {
        SwitchCx { now: self.now, owner, seen: self.seen, home: self.home, actions: self.actions }
    }
    /// As a hook of links sees it.
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
    /// An isolation queue of this mechanism's own, by a number that the mechanism chooses.
    pub fn isolation_queue(&self, number: u32) -> IsolationQueue {
        IsolationQueue { owner: self.owner, number }
    }
    /// The port to which `host` is attached, where it is attached here.
    pub fn attached(&self, host: HostId) -> Option<Port> {
        let at = self.home.shape.ports.iter().position(|p| p.host == Some(host))?;
        Some(Port(at as u16))
    }
    /// Queues a frame for the neighbour at `port` in `class`.
    pub fn emit(&mut self, port: Port, class: Class, frame: Control) {
        self.actions.push(SwitchAction::Emit(port, class, frame));
    }
    /// Queues a frame for a host in `class`; it is forwarded, delayed and gated like any other. If it names a flow whose path
    /// is pinned and passes this switch, and whose acknowledgements take that path backwards, so does the frame.
    pub fn route(&mut self, to: HostId, class: Class, frame: Control) {
        self.actions.push(SwitchAction::Route(to, class, frame));
    }
    /// Pauses the neighbour at `port`, for one class or (`None`) the whole link, until `until` ([`Time::NEVER`]: until
    /// released). The port merges all owners into one state: the latest end wins, the neighbour resumes when all let go.
    /// A host that has several queues for the class is to pause all of them.
    pub fn pause_peer(&mut self, port: Port, class: Option<Class>, until: Time, style: PauseStyle) {
        self.actions.push(SwitchAction::PausePeer(self.owner, port, class, until, style));
    }
    /// Lets go of [`SwitchCx::pause_peer`].
    pub fn resume_peer(&mut self, port: Port, class: Option<Class>) {
        self.actions.push(SwitchAction::ResumePeer(self.owner, port, class));
    }
    /// As [`SwitchCx::pause_peer`], for one queue only of a host that may have several for a class: the one of that priority.
    pub fn pause_queue(&mut self, port: Port, priority: Class, until: Time, style: PauseStyle) {
        self.actions.push(SwitchAction::PauseQueue(self.owner, port, priority, until, style));
    }
    /// Lets go of [`SwitchCx::pause_queue`].
    pub fn resume_queue(&mut self, port: Port, priority: Class) {
        self.actions.push(SwitchAction::ResumeQueue(self.owner, port, priority));
    }
    /// Shuts a gate of this switch.
    pub fn shut(&mut self, gate: Gate) {
        self.actions.push(SwitchAction::Shut(self.owner, gate));
    }
    /// Opens it again; what waits behind it is looked at anew, also where [`super::LinkSide::may_transmit`] kept it from starting.
    pub fn open(&mut self, gate: Gate) {
        self.actions.push(SwitchAction::Open(self.owner, gate));
    }
    /// Drops everything that waits in the switch for `queue` of `port`, but for the frame on the wire. Hooks see each frame leave
    /// (`on_dequeue`, `on_release`, `on_depart`). In a lossless scenario the first drop ends the run.
    pub fn flush(&mut self, port: Port, queue: Queue) {
        self.actions.push(SwitchAction::Flush(port, queue));
    }
    /// What the neighbour has paused of `queue` of `port` is obeyed no longer: for the results, its pause is over. Frames that pause it further
    /// are to be passed over ([`super::Fate::Passed`]).
    pub fn disobey(&mut self, port: Port, queue: Queue) {
        self.actions.push(SwitchAction::Disobey(port, queue));
    }
    /// Puts a row into the table of control messages, of a `kind` of its own, though nothing is sent.
    pub fn report(&mut self, kind: &'static str, port: Port, class: Class, value: u64) {
        self.actions.push(SwitchAction::Report(kind, port, class, value));
    }
    /// Calls `on_timer` with `token` at `at`. Timers are never cancelled: compare with your own deadline.
    pub fn arm(&mut self, at: Time, token: Token) {
        self.actions.push(SwitchAction::Arm(self.owner, at, token));
    }
    /// This mechanism has other levels of an account from now on: [`super::SwitchSide::levels`] is asked once the hook has returned. Not for
    /// `steer`, `divert`, `choose` and `push_out`.
    pub fn watch(&mut self, of: Account) {
        self.home.watched.push(of);
    }
}

/// What a NIC-side hook sees and may do.
pub struct NicCx<'a> {
    pub(crate) now: Time,
    pub(crate) owner: MechanismId,
    pub(crate) shape: &'a NicShape,
    /// Mechanisms that leave the flow alone that the call is about.
    pub(crate) left: MechanismSet,
    /// The control frame names a flow of which all has come.
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
    /// For stacks only: which mechanism is called.
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
    /// For stacks only: whether a mechanism leaves the flow alone that the call is about.
    #[inline(always)]
    pub fn leaves(&self, owner: MechanismId) -> bool {
        self.left & owner.bit() != 0
    }
    /// In `on_control`: whether the frame names a flow to this host of which all has come, or whose sender is done with it.
    pub fn is_over(&self) -> bool {
        self.over
    }
    /// Queues a frame for a host in `class`; if it names a flow that ends here, it goes to that flow's source along the
    /// way of the acknowledgements.
    pub fn reply(&mut self, to: HostId, class: Class, frame: Control) {
        self.actions.push(NicAction::Route(to, class, frame));
    }
    /// Acknowledges a flow that ends here, with all that its transport has to say, in answer to a probe: the acknowledgement has the probe's
    /// number and goes to `to`. Of a flow that is forgotten nothing is said, nor where packets are not acknowledged one by one.
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
    /// Opens it again; what waits behind it is looked at anew, also where [`super::LinkSide::may_transmit`] kept it from starting.
    pub fn open(&mut self, gate: NicGate) {
        self.actions.push(NicAction::Open(self.owner, gate));
    }
    /// A random stream for this mechanism, the same whenever it is asked for: that of a flow which ends here.
    pub fn stream(&self, purpose: &str, flow: FlowRef) -> Rng {
        // The flow's name has the run's seed in it.
        backwater_engine::rng::stream(u64::from(self.owner.0), purpose, u64::from(flow.tag))
    }
    /// Calls `on_timer` with `token` at `at`.
    pub fn arm(&mut self, at: Time, token: Token) {
        self.actions.push(NicAction::Arm(self.owner, at, token));
    }
}

/// What a hook of links sees and may do: what is alike at a switch and at a NIC, whose only port is 0. Where a mechanism does more at one of
/// them, that one's own context is in it.
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
    /// For stacks only: which mechanism is called.
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
    /// Puts a frame on the link to the neighbour at `port` before everything else, as MAC control goes: only the frame on the wire is
    /// waited for, no gate shuts it in, and no account has it.
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
    /// Opens it again; what waits behind it is looked at anew, also where [`super::LinkSide::may_transmit`] kept it from starting.
    pub fn open(&mut self, port: Port, queue: Option<Queue>) {
        match self {
            LinkCx::Switch(cx) => cx.open(queue.map_or(Gate::Port(port), |queue| Gate::Egress(port, queue))),
            LinkCx::Nic(cx) => cx.open(queue.map_or(NicGate::Link, |queue| NicGate::Class(queue.into()))),
        }
    }
    /// The port need not keep what has a number below `before` ([`super::LinkSide::retains`]).
    pub fn discard_before(&mut self, port: Port, before: u64) {
        match self {
            LinkCx::Switch(cx) => cx.actions.push(SwitchAction::DiscardBefore(port, before)),
            LinkCx::Nic(cx) => cx.actions.push(NicAction::DiscardBefore(before)),
        }
    }
    /// The port sends all that it keeps again from number `from` on, in the order of the numbers, before all that is new but for ordered sets
    /// ([`LinkCx::signal`] of less than [`Control::MIN_FRAME`]). No gate shuts it in, no account has it. What it is sending
    /// again is begun anew.
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

/// What a flow-side hook sees and may do.
pub struct FlowCx<'a> {
    pub(crate) now: Time,
    pub(crate) owner: MechanismId,
    pub(crate) shape: &'a FlowShape,
    pub(crate) flow: Option<FlowRef>,
    pub(crate) of: Option<&'a dyn Unsent>,
    pub(crate) actions: &'a mut Vec<FlowAction>,
}

/// How a flow and its interface stand when one of its packets leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// \[bytes\] of frames that have never been sent, left behind it.
    pub backlog: u64,
    /// \[bytes\] of frames that wait to be retransmitted, left behind it.
    pub retransmissions: u64,
    /// \[bytes\] The flow's window, where it has one.
    pub window: Option<Bytes>,
    /// Flows of the interface that wait for their turn, this one among them.
    pub waiting: u32,
}

/// A flow of which something may be unsent.
pub(crate) trait Unsent {
    /// What has not been sent, or is to be retransmitted, in packets of so much payload.
    fn backlog(&self, payload: Bytes) -> Bytes;
    /// Whether the packet of this number has been sent, and is neither known to have come nor taken for lost.
    fn is_in_flight(&self, number: u64) -> bool;
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
    pub fn owner(&self) -> MechanismId {
        self.owner
    }
    /// For stacks only: the context of one mechanism.
    #[inline(always)]
    pub fn owned_by(&mut self, owner: MechanismId) -> FlowCx<'_> {
        FlowCx { now: self.now, owner, shape: self.shape, flow: self.flow, of: self.of, actions: self.actions }
    }
    /// The flow that the call is about. `None`: a timer of a controller that several flows share, or a frame about a flow that is over.
    pub fn flow(&self) -> Option<FlowRef> {
        self.flow
    }
    /// \[bytes\] Payload of that flow that has not been sent, or is to be retransmitted; 0 where there is none.
    pub fn backlog(&self) -> Bytes {
        self.of.map_or(Bytes::ZERO, |flow| flow.backlog(self.shape.payload))
    }
    /// Whether the packet of this number of that flow has been sent, and is neither known to have come nor taken for lost. `false` where
    /// packets are not acknowledged one by one.
    pub fn is_in_flight(&self, number: u64) -> bool {
        self.of.is_some_and(|flow| flow.is_in_flight(number))
    }
    /// Takes the packet of this number for lost, if it is in flight: it is retransmitted before anything new.
    pub fn give_up(&mut self, number: u64) {
        self.actions.extend(self.flow.map(|flow| FlowAction::GiveUp(flow, number)));
    }
    /// A random stream of the flow's own for this mechanism, the same whenever it is asked for.
    pub fn stream(&self, purpose: &str) -> Rng {
        // The flow's name has the run's seed in it.
        backwater_engine::rng::stream(u64::from(self.owner.0), purpose, self.flow.map_or(0, |flow| u64::from(flow.tag)))
    }
    /// Queues a frame for a host in `class`, mostly for the other end ([`FlowShape::dst`]). If it names a flow of this host that goes there,
    /// it takes the way of the flow's data.
    pub fn send(&mut self, to: HostId, class: Class, frame: Control) {
        self.actions.push(FlowAction::Send(to, class, frame));
    }
    /// So many of the flow's requests have not been answered, one after the other: each is a try like a timeout. After more than
    /// `transport.retries` of them the sender gives up.
    pub fn unanswered(&mut self, requests: u32) {
        self.actions.extend(self.flow.map(|flow| FlowAction::Unanswered(flow, requests)));
    }
    /// Calls `on_timer` with `token` at `at`.
    pub fn arm(&mut self, at: Time, token: u16) {
        self.actions.push(FlowAction::Arm(FlowTimer { owner: self.owner, at, token }));
    }
}
