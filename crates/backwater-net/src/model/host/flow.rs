//! Flows in progress. The sender's half and the receiver's half are separate, so that a run can be split by node.

use crate::model::hooks::{FlowShape, MechanismSet, Unsent};
use crate::model::packet::{Class, DsField, HostId, PathRef};
use crate::model::transport::messages::{Incoming, Outgoing};
use crate::model::transport::{Offsets, Receiver, Sender, Span};
use crate::spec::{FlowSpec, Stream};
use crate::topology::routing::NO_PATH;
use crate::units::{Bytes, Rate};
use backwater_engine::{Rng, Time};

/// State of the sender's half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Status {
    /// Waits for its turn at its NIC.
    Ready,
    /// Waits for its controller's pacing.
    Pacing,
    /// One of its gates is shut.
    GateClosed,
    /// Its window is full.
    WindowLimited,
    /// Has nothing to send (yet).
    Idle,
    /// Its interface has not yet issued it, or not yet fetched its first frame: it has not begun.
    NotIssued,
}

/// The sender's half. The fields that every packet needs come first, in two cache lines.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[repr(C, align(64))]
pub(crate) struct SendFlow {
    pub tag: u32,
    pub src: HostId,
    pub dst: HostId,
    /// The interface that sends it.
    pub nic: u32,
    /// Class in which it sends now, and its original class.
    pub class: Class,
    pub own_class: Class,
    /// For its packets: the queue of its NIC, and whether they are ECN-capable.
    pub ds: DsField,
    pub status: Status,
    pub live: bool,
    /// The mechanisms that leave it alone: [`crate::model::confinement::Confinement::at`].
    pub left: u8,
    /// For its packets: the step of a job to which they count.
    pub step: u8,
    /// Hash of the identity: path and tie-breaks follow from it.
    pub hash: u64,
    /// \[bytes\] payload made available, sent, acknowledged
    pub available: u64,
    pub sent: u64,
    pub acked: u64,
    /// Its controller, or `NO_CONTROLLER`.
    pub controller: u32,
    /// Pinned path of data, or [`PathRef::NONE`]; then `ecmp_path` is what ECMP gives it, or `NO_PATH`.
    pub path: PathRef,
    /// The next flow in the NIC's order of turns, or `NO_FLOW`.
    pub behind: u32,
    /// Mechanisms that keep it shut, a bit each.
    pub shut: MechanismSet,
    pub packets: u64,
    /// \[bytes\] that it may leave unacknowledged
    pub window: u64,
    /// State of its transport; `None`: it is unreliable.
    pub transport: Option<Box<Sender>>,
    pub ecmp_path: u64,
    pub group: u32,
    /// Switches on its path at its start.
    pub hops: u32,
    pub id: u64,
    pub start: Time,
    pub stream: Option<Box<StreamState>>,
    /// Time from its start until its last byte arrives in an idle network.
    pub ideal: Option<Time>,
    /// \[bytes\] sent at the last sample of the time series, retransmissions included
    pub sampled: u64,
    /// A connection that messages share ([`super::messages`]): it continues when they are complete, and each posted message makes bytes
    /// available.
    pub kept: bool,
    /// The message over several queue pairs to which it belongs, or `NO_MESSAGE`, and the number of its queue pair.
    pub message: u32,
    pub pair: u32,
}

/// A Bernoulli source.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct StreamState {
    pub spec: Stream,
    pub rng: Rng,
    /// No more bytes become available.
    pub ended: bool,
    /// \[bytes\] of packets that found the source's queue full
    pub blocked: u64,
}

/// The receiver's half, in one cache line. It learns `total`, `ended`, `class`, `left` and `back` from the sender's half when the
/// connection is set up; for a stream, whenever the source makes a packet.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[repr(C, align(64))]
pub(crate) struct RecvFlow {
    /// \[bytes\]
    pub received: u64,
    /// \[bytes\] end of the furthest packet so far
    pub furthest: u64,
    /// \[bytes\] to arrive in all, as far as known
    pub total: u64,
    /// When its last byte arrived; `NEVER`: it has not arrived.
    pub last_byte: Time,
    /// State of its transport; `None`: it is unreliable.
    pub transport: Option<Box<Receiver>>,
    /// Packets; the counter stops at its largest value.
    pub reordered: u32,
    pub marked: u32,
    /// Pinned path of acknowledgements, or [`PathRef::NONE`].
    pub back: PathRef,
    pub tag: u32,
    /// Data packets not yet acknowledged, and whether one of them was marked.
    pub pending: u16,
    pub pending_mark: bool,
    /// A first packet has arrived.
    pub begun: bool,
    /// Class of its data. Acknowledgements use it unless the scenario names another.
    pub class: Class,
    /// `total` is final.
    pub ended: bool,
    pub live: bool,
    /// As in the sender's half.
    pub left: u8,
}

impl RecvFlow {
    /// The receiver's half of a flow before its first packet. Its acknowledgements take the path `back`, unless that is [`PathRef::NONE`];
    /// `pending` is the initial count of packets that wait for an acknowledgement.
    pub fn of(flow: &SendFlow, back: PathRef, pending: u16) -> RecvFlow {
        RecvFlow {
            received: 0,
            furthest: 0,
            total: flow.available,
            last_byte: Time::NEVER,
            transport: flow.transport.as_ref().map(|sender| Box::new(sender.receiver())),
            reordered: 0,
            marked: 0,
            back,
            tag: flow.tag,
            pending,
            pending_mark: false,
            begun: false,
            class: flow.own_class,
            ended: flow.ended(),
            live: true,
            left: flow.left,
        }
    }

    /// The messages in progress on a connection that messages share; `None`: it is no such connection.
    pub fn messages(&self) -> Option<&Incoming> {
        self.transport.as_ref()?.common.messages.as_deref()
    }

    /// The same, mutably.
    pub fn messages_mut(&mut self) -> Option<&mut Incoming> {
        self.transport.as_mut()?.common.messages.as_deref_mut()
    }

    /// Returns whether all bytes have arrived.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        self.received >= self.total
    }
}

const _: () = assert!(size_of::<RecvFlow>() == 64, "one cache line");

impl SendFlow {
    /// A flow that starts now at an interface: nothing sent, no pinned path, no controller, no window. `hash` is that of its identity.
    #[inline]
    pub fn new(
        spec: &FlowSpec,
        nic: u32,
        hash: u64,
        ds: DsField,
        now: Time,
        transport: Option<Box<Sender>>,
    ) -> SendFlow {
        SendFlow {
            id: spec.id,
            group: spec.group,
            hops: 0,
            src: spec.src,
            dst: spec.dst,
            nic,
            class: spec.class,
            own_class: spec.class,
            ds,
            status: Status::Idle,
            live: true,
            left: 0,
            step: 0,
            behind: NO_FLOW,
            tag: (hash >> 16) as u32,
            hash,
            available: if spec.stream.is_some() { 0 } else { spec.bytes },
            sent: 0,
            acked: 0,
            packets: 0,
            start: now,
            shut: 0,
            controller: NO_CONTROLLER,
            path: PathRef::NONE,
            ecmp_path: NO_PATH,
            stream: None,
            window: u64::MAX,
            transport,
            ideal: None,
            sampled: 0,
            kept: false,
            message: NO_MESSAGE,
            pair: 0,
        }
    }

    /// The flow as mechanisms see it; `of` is another flow of its host.
    #[cold]
    pub fn shape(&self, of: &FlowShape) -> FlowShape {
        FlowShape { src: self.src, dst: self.dst, class: self.own_class, hops: self.hops, ..*of }
    }

    /// Returns a key that orders all flows of a run: its identity, and its queue pair.
    pub fn order(&self) -> (u64, u32) {
        (self.id, self.pair)
    }

    /// Returns whether no more payload will become available.
    pub fn ended(&self) -> bool {
        self.stream.as_ref().is_none_or(|s| s.ended) && !self.kept
    }

    /// Its transport, if it is reliable, and the offsets that the transport moves.
    #[inline(always)]
    pub fn reliable(&mut self) -> Option<(&mut Sender, Offsets<'_>)> {
        let empty = self.is_empty();
        let SendFlow { transport, available, sent, acked, packets, .. } = self;
        let flow = Offsets { available: *available, sent, acked, packets: *packets, empty };
        Some((transport.as_deref_mut()?, flow))
    }

    /// The messages in progress on a connection that messages share; `None`: it is no such connection.
    pub fn messages(&self) -> Option<&Outgoing> {
        self.transport.as_ref()?.common.messages.as_deref()
    }

    /// The same, mutably.
    pub fn messages_mut(&mut self) -> Option<&mut Outgoing> {
        self.transport.as_mut()?.common.messages.as_deref_mut()
    }

    /// Returns whether it is a connection without messages in progress.
    pub fn rests(&self) -> bool {
        self.messages().is_some_and(|messages| messages.is_empty())
    }

    /// Marks its timer as having nothing to time. Returns whether this is new, for a pending timer.
    pub fn idle_timer(&mut self) -> bool {
        self.transport.as_mut().is_some_and(|sender| sender.common.idle_timer())
    }

    /// Marks its timer as having something to time, or as expired. Returns whether it had nothing to time.
    pub fn use_timer(&mut self) -> bool {
        self.transport.as_mut().is_some_and(|sender| sender.common.use_timer())
    }

    /// Sets when the message that was posted last is issued.
    pub fn issued_at(&mut self, due: Time) {
        if let Some(messages) = self.messages_mut() {
            messages.due = due;
        }
    }

    /// Returns whether it is a connection with a message that its interface still has to issue.
    pub fn waits_for_issue(&self) -> bool {
        self.messages().is_some_and(|messages| messages.next_posted().is_some())
    }

    /// \[bytes\] of payload known to belong to it, sent or unsent, until all of it is complete
    pub fn unfinished(&self) -> u64 {
        match self.messages() {
            Some(messages) => messages.iter().map(|message| message.bytes).sum(),
            None if self.stream.is_some() => 0,
            None => self.available,
        }
    }

    /// Returns whether it consists of one packet without payload.
    pub fn is_empty(&self) -> bool {
        self.available == 0 && self.stream.is_none() && !self.kept
    }

    /// Offset of its next packet, which it sends now: lost packets go before new ones.
    #[inline(always)]
    pub fn next_offset(&mut self) -> u64 {
        match &mut self.transport {
            None => self.sent,
            Some(sender) => sender.common.next_offset(self.sent),
        }
    }

    /// \[bytes\] that count against its window, in packets of `step` bytes
    #[inline(always)]
    pub fn in_flight(&self, step: u64) -> u64 {
        match &self.transport {
            None => self.sent.saturating_sub(self.acked),
            Some(sender) => sender.in_flight(Span { acked: self.acked, sent: self.sent, step }),
        }
    }

    /// Returns whether it has something to send, new or to be retransmitted.
    #[inline(always)]
    pub fn has_more(&self) -> bool {
        self.sent < self.available || self.has_retransmissions()
    }

    /// Returns whether its turn is void: what it had to retransmit has been acknowledged in the meantime.
    #[inline(always)]
    pub fn turn_is_stale(&self) -> bool {
        self.transport.is_some() && !self.has_more()
    }

    /// Returns whether something waits to be retransmitted.
    #[inline(always)]
    pub fn has_retransmissions(&self) -> bool {
        self.transport.as_ref().is_some_and(|sender| sender.common.has_retransmissions())
    }

    /// \[bytes\] of unsent payload, and its number of packets; then the same of what must be retransmitted.
    pub fn unsent(&self, step: u64) -> ((u64, u64), (u64, u64)) {
        let new = self.available.saturating_sub(self.sent);
        let retransmission =
            self.transport.as_ref().map_or((0, 0), |sender| sender.common.retransmissions(self.available, step));
        let Some(messages) = self.messages() else { return ((new, new.div_ceil(step)), retransmission) };
        let bytes = new - messages.shortness(self.sent, self.available, step).min(new);
        ((bytes, new / step), retransmission)
    }
}

impl Unsent for SendFlow {
    fn backlog(&self, Bytes(step): Bytes) -> Bytes {
        let ((new, _), (retransmission, _)) = self.unsent(step);
        Bytes(new + retransmission)
    }
    fn is_in_flight(&self, number: u64) -> bool {
        self.transport.as_ref().is_some_and(|sender| sender.is_in_flight(number))
    }
}

pub(crate) const NO_CONTROLLER: u32 = u32::MAX;
pub(crate) const NO_FLOW: u32 = u32::MAX;
pub(crate) const NO_MESSAGE: u32 = u32::MAX;

/// A rate controller and the flows that wait for its pacing.
#[derive(backwater_derive::State)]
pub(crate) struct Controller<F> {
    #[state(within)]
    pub side: F,
    /// Shape of its flow, or of its first flow.
    #[state(fixed)]
    pub shape: FlowShape,
    /// The interface of its flows.
    pub nic: u32,
    pub tag: u16,
    /// Hash of the controlled flow or key: its events are ordered by it.
    pub key: u32,
    /// Its flow; `NO_FLOW`: the controller is kept between flows, under its key.
    pub slot: u32,
    /// Earliest time of the next packet.
    pub next: Time,
    /// When the last packet went, and its length on the wire \[bytes\].
    pub last: Time,
    pub last_size: u32,
    /// The time of a packet of some length at some rate, cached: most packets are as long as the one before, and use the same rate.
    pub gap_of: (Rate, u32),
    pub gap: Time,
    /// Flows that wait for `next`.
    pub waiting: Vec<u32>,
    /// Flows whose window is full.
    pub window_limited: Vec<u32>,
    /// When its valid pace event is due; `NEVER`: no event is valid.
    pub armed: Time,
}

impl<F> Controller<F> {
    /// A controller of an interface, without waiting flows. Its events are ordered by `key`; `slot` is its only flow's, or `NO_FLOW`.
    pub fn new(side: F, shape: FlowShape, nic: u32, tag: u16, key: u32, slot: u32) -> Controller<F> {
        Controller {
            side,
            shape,
            nic,
            tag,
            key,
            slot,
            next: Time::ZERO,
            last: Time::ZERO,
            last_size: 0,
            gap_of: (Rate(0), 0),
            gap: Time::NEVER,
            waiting: Vec::new(),
            window_limited: Vec::new(),
            armed: Time::NEVER,
        }
    }
}
