//! Flows in progress. The sender's half and the receiver's half are apart, so that a run can be split by node.

use crate::model::hooks::{FlowShape, MechanismSet, Unsent};
use crate::model::packet::{Class, DsField, HostId, PathRef};
use crate::model::transport::messages::{Incoming, Outgoing};
use crate::model::transport::{Offsets, Receiver, Sender, Span};
use crate::spec::{FlowSpec, Stream};
use crate::topology::routing::NO_PATH;
use crate::units::{Bytes, Rate};
use backwater_engine::{Rng, Time};

/// Where the sender's half stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Status {
    /// Waits for its turn at its NIC.
    Ready,
    /// Waits for its controller's pacing.
    Pacing,
    /// A gate for it is shut.
    GateClosed,
    /// Its window is full.
    WindowLimited,
    /// Has nothing to send (yet).
    Idle,
    /// Its interface has still to issue it, or to fetch its first frame: it has not begun.
    NotIssued,
}

/// The sender's half. What every packet needs comes first, in two cache lines.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[repr(C, align(64))]
pub(crate) struct SendFlow {
    pub tag: u32,
    pub src: HostId,
    pub dst: HostId,
    /// The interface by which it sends.
    pub nic: u32,
    /// Class in which it sends now, and the one that it was given.
    pub class: Class,
    pub own_class: Class,
    /// Of its packets: the queue of its NIC that it has chosen, and whether they are ECN-capable.
    pub ds: DsField,
    pub status: Status,
    pub live: bool,
    /// Which mechanisms leave it alone: [`crate::model::confinement::Confinement::at`].
    pub left: u8,
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
    /// The flow whose turn at the NIC is next, or `NO_FLOW`.
    pub behind: u32,
    /// Mechanisms that hold it shut, a bit each.
    pub shut: MechanismSet,
    pub packets: u64,
    /// \[bytes\] that it may leave unacknowledged
    pub window: u64,
    /// What its transport keeps; `None`: it is unreliable.
    pub transport: Option<Box<Sender>>,
    pub ecmp_path: u64,
    pub group: u32,
    /// Switches on its way at its start.
    pub hops: u32,
    pub id: u64,
    pub start: Time,
    pub stream: Option<Box<StreamState>>,
    /// Start until the last byte's arrival, had the network been idle.
    pub ideal: Option<Time>,
    /// \[bytes\] sent at the last sample of the time series, retransmissions included
    pub sampled: u64,
    /// Messages share it ([`super::messages`]): it goes on when they are complete. It makes available what they are posted with.
    pub kept: bool,
    /// The message over several queue pairs that it is part of, or `NO_MESSAGE`, and the number of its queue pair.
    pub message: u32,
    pub pair: u32,
}

/// A Bernoulli source.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct StreamState {
    pub spec: Stream,
    pub rng: Rng,
    /// Nothing more becomes available.
    pub ended: bool,
    /// \[bytes\] of packets that found the source's queue full
    pub blocked: u64,
}

/// The receiver's half, in one cache line. What it has of the sender's half, `total`, `ended`, `class`, `left` and `back`, it was told when the
/// connection was set up; of a stream, whenever its source makes a packet.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[repr(C, align(64))]
pub(crate) struct RecvFlow {
    /// \[bytes\]
    pub received: u64,
    /// \[bytes\] end of the furthest packet so far
    pub furthest: u64,
    /// \[bytes\] that there are to come in all, as far as is known
    pub total: u64,
    /// When its last byte arrived; `NEVER`: it has not.
    pub last_byte: Time,
    /// What its transport keeps; `None`: it is unreliable.
    pub transport: Option<Box<Receiver>>,
    /// Packets; four thousand million and more count as that many.
    pub reordered: u32,
    pub marked: u32,
    /// Pinned path of acknowledgements, or [`PathRef::NONE`].
    pub back: PathRef,
    pub tag: u32,
    /// Data packets not yet acknowledged, and whether one of them was marked.
    pub pending: u16,
    pub pending_mark: bool,
    /// Something of it has come.
    pub begun: bool,
    /// Class of its data, in which it is acknowledged unless the scenario names another.
    pub class: Class,
    /// `total` does not grow any more.
    pub ended: bool,
    pub live: bool,
    /// As the sender's.
    pub left: u8,
}

impl RecvFlow {
    /// The receiver's half of a flow, nothing of which has come yet. Its acknowledgements take the path `back`, unless that is [`PathRef::NONE`]; as `pending`
    /// it counts packets that wait for an acknowledgement.
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

    /// The messages in progress of a connection that they share; `None`: this is none.
    pub fn messages(&self) -> Option<&Incoming> {
        self.transport.as_ref()?.common.messages.as_deref()
    }

    /// The same, to be changed.
    pub fn messages_mut(&mut self) -> Option<&mut Incoming> {
        self.transport.as_mut()?.common.messages.as_deref_mut()
    }

    /// Whether all that there is has come.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        self.received >= self.total
    }
}

const _: () = assert!(size_of::<RecvFlow>() == 64, "one cache line");

impl SendFlow {
    /// A flow that starts now by an interface and has not sent anything, by no pinned path, without a controller or a window. `hash` is
    /// its identity's.
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

    /// It as mechanisms see it, where `of` is another one of its host's.
    #[cold]
    pub fn shape(&self, of: &FlowShape) -> FlowShape {
        FlowShape { src: self.src, dst: self.dst, class: self.own_class, hops: self.hops, ..*of }
    }

    /// What tells it from all others of a run, for an order of them: its identity, and its queue pair.
    pub fn order(&self) -> (u64, u32) {
        (self.id, self.pair)
    }

    /// Whether no more payload will become available.
    pub fn ended(&self) -> bool {
        self.stream.as_ref().is_none_or(|s| s.ended) && !self.kept
    }

    /// Its transport, if it is reliable, and its offsets, which that moves.
    #[inline(always)]
    pub fn reliable(&mut self) -> Option<(&mut Sender, Offsets<'_>)> {
        let empty = self.is_empty();
        let SendFlow { transport, available, sent, acked, packets, .. } = self;
        let flow = Offsets { available: *available, sent, acked, packets: *packets, empty };
        Some((transport.as_deref_mut()?, flow))
    }

    /// The messages in progress of a connection that they share; `None`: this is none.
    pub fn messages(&self) -> Option<&Outgoing> {
        self.transport.as_ref()?.common.messages.as_deref()
    }

    /// The same, to be changed.
    pub fn messages_mut(&mut self) -> Option<&mut Outgoing> {
        self.transport.as_mut()?.common.messages.as_deref_mut()
    }

    /// A connection none of whose messages is in progress.
    pub fn rests(&self) -> bool {
        self.messages().is_some_and(|messages| messages.is_empty())
    }

    /// Its timer has nothing to time any more. Whether that is news, of a timer that is pending.
    pub fn idle_timer(&mut self) -> bool {
        self.transport.as_mut().is_some_and(|sender| sender.common.idle_timer())
    }

    /// Its timer has something to time again, or has expired. Whether it had nothing.
    pub fn use_timer(&mut self) -> bool {
        self.transport.as_mut().is_some_and(|sender| sender.common.use_timer())
    }

    /// When the message that was posted last is issued.
    pub fn issued_at(&mut self, due: Time) {
        if let Some(messages) = self.messages_mut() {
            messages.due = due;
        }
    }

    /// A connection with a message that its interface has still to issue.
    pub fn waits_for_issue(&self) -> bool {
        self.messages().is_some_and(|messages| messages.next_posted().is_some())
    }

    /// \[bytes\] of payload of which it is known that they are to be sent, or were, until all of it is over
    pub fn unfinished(&self) -> u64 {
        match self.messages() {
            Some(messages) => messages.iter().map(|message| message.bytes).sum(),
            None if self.stream.is_some() => 0,
            None => self.available,
        }
    }

    /// Whether all it says is that it is there: one packet without payload.
    pub fn is_empty(&self) -> bool {
        self.available == 0 && self.stream.is_none() && !self.kept
    }

    /// Offset of its next packet, which it sends now: what is lost goes before what is new.
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

    /// Whether it has something to send, new or to be retransmitted.
    #[inline(always)]
    pub fn has_more(&self) -> bool {
        self.sent < self.available || self.has_retransmissions()
    }

    /// Whether its turn comes to nothing: what it was to retransmit has been acknowledged meanwhile.
    #[inline(always)]
    pub fn turn_is_stale(&self) -> bool {
        self.transport.is_some() && !self.has_more()
    }

    /// Whether something waits to be retransmitted.
    #[inline(always)]
    pub fn has_retransmissions(&self) -> bool {
        self.transport.as_ref().is_some_and(|sender| sender.common.has_retransmissions())
    }

    /// \[bytes\] of payload that has not been sent, and how many packets that makes; the same of what is to be retransmitted.
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

/// A rate controller and what waits for its pacing.
#[derive(backwater_derive::State)]
pub(crate) struct Controller<F> {
    #[state(within)]
    pub side: F,
    /// Of its flow, or of the first of them.
    #[state(fixed)]
    pub shape: FlowShape,
    /// The interface of its flows.
    pub nic: u32,
    pub tag: u16,
    /// Hash of what it controls: its events are ordered by it.
    pub key: u32,
    /// The flow that it controls; `NO_FLOW`: it is kept between flows, under its key.
    pub slot: u32,
    /// The next packet may go then.
    pub next: Time,
    /// When the last packet went, and its length on the wire \[bytes\].
    pub last: Time,
    pub last_size: u32,
    /// What a packet of some length takes at some rate: most packets are as long as the one before, and at its rate.
    pub gap_of: (Rate, u32),
    pub gap: Time,
    /// Flows that wait for `next`.
    pub waiting: Vec<u32>,
    /// Flows whose window is full.
    pub window_limited: Vec<u32>,
    /// When the pace event that counts is due; `NEVER`: none is.
    pub armed: Time,
}

impl<F> Controller<F> {
    /// A controller of an interface that nothing waits for. Its events are ordered by `key`; `slot` is its only flow's, or `NO_FLOW`.
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
