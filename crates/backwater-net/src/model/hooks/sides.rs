//! The hooks: what a mechanism does at links, at a switch, at a NIC, and to a flow's rate.

use super::context::{FlowCx, LinkCx, NicCx, SwitchCx, Turn};
use super::port::Departure;
use super::{Account, Awaits, Count, Fate, Full, Levels, Token};
use crate::model::hooks::activity::Activity;
use crate::model::hooks::attachment::Attachment;
use crate::model::hooks::place::{IsolationQueue, MechanismId, Place};
use crate::model::packet::{Class, Control, FlowRef, HostId, Packet, Port, Queue};
use crate::model::switch::occupancy::Occupancy;
use crate::units::{Bytes, Rate};
use backwater_engine::Time;

/// The hooks of a mechanism at the ends of links, at switches and at NICs alike.
#[backwater_derive::hooks]
pub trait LinkSide {
    /// A frame other than MAC control has arrived completely over the link at `from`, in `pkt.class`. Nothing has been done with it yet: it
    /// may still be consumed or lost.
    #[hook(each)]
    fn on_arrive(&mut self, cx: &mut LinkCx<'_>, from: Port, pkt: &Packet) {}
    /// Returns whether a packet may be put on the wire now. Called for the first packet of each queue that could be next. A refused packet
    /// is tried again whenever the port looks for work, at the latest when one of its gates opens ([`LinkCx::open`]). Not called for MAC
    /// control.
    #[hook(until = true)]
    fn may_transmit(&self, port: Port, queue: Queue, pkt: &Packet) -> bool {
        true
    }
    /// The packet's first bit leaves; the egress accounts include it. `carried` is its attachment of this mechanism. Not called for MAC
    /// control.
    #[hook(each)]
    fn on_start(
        &mut self,
        cx: &mut LinkCx<'_>,
        from: &Departure,
        pkt: &Packet,
        #[attached] carried: Option<&mut Attachment>,
    ) {
    }
    /// A frame of `size` bytes begins to leave at `port`; MAC control is included, ordered sets are not. Returns whether the port keeps it,
    /// under `number`, until [`LinkCx::discard_before`]. A kept frame can be replayed ([`LinkCx::replay_from`]), and a fault of the link
    /// damages it instead of losing it. Called after `on_start`, which is not called for a replay.
    #[hook(any)]
    fn retains(&mut self, cx: &mut LinkCx<'_>, port: Port, number: u64, size: u32) -> bool {
        false
    }
    /// A frame that its sender keeps under `number` has arrived completely over the link at `from`. Returns whether it is accepted, by all
    /// mechanisms; a refused frame ends here, and no other hook sees it.
    #[hook(all)]
    fn accepts(&mut self, cx: &mut LinkCx<'_>, from: Port, number: u64, size: u32) -> bool {
        true
    }
    /// A frame that its sender keeps has arrived damaged over the link at `from`. Its content is unknown.
    #[hook(each)]
    fn on_damaged(&mut self, cx: &mut LinkCx<'_>, from: Port) {}
    /// The link at a port has gone down, or come up again. Frames sent in between are lost.
    #[hook(each)]
    fn on_link(&mut self, cx: &mut LinkCx<'_>, port: Port, up: bool) {}
    /// A frame of MAC control has arrived over the link at `from`, or a frame that a mechanism sends in its place ([`LinkCx::signal`]). A
    /// pause is passed class by class. If the frame is not consumed it has no effect.
    #[hook(until = Fate::Passed)]
    fn on_mac_control(&mut self, cx: &mut LinkCx<'_>, from: Port, frame: &Control) -> Fate {
        Fate::Passed
    }
    /// A timer has expired, for a mechanism whose timers belong to links. Other mechanisms use the `on_timer` of a switch or of a NIC.
    #[hook(own(cx.owner(), ()))]
    fn on_link_timer(&mut self, cx: &mut LinkCx<'_>, token: Token) {}
    /// Returns its counters for the results, if it counts at links only.
    #[hook(report)]
    fn link_counts(&self, now: Time) -> Vec<Count> {
        Vec::new()
    }
    /// Returns what it did and how near it came to acting, if it acts at links only.
    #[hook(report)]
    fn link_activity(&self) -> Activity {
        Activity::default()
    }
}

/// The hooks of a mechanism at a switch.
#[backwater_derive::hooks]
pub trait SwitchSide: LinkSide {
    /// Returns the levels of an account between which it has nothing to do. `on_admit` is called above the levels of the ingress port and
    /// of its class, and whenever the class has bytes in headroom; `on_release` below those of the class. `on_enqueue` is called above the
    /// levels of the egress port and of its queue, `on_dequeue` if enough is left in the queue, `on_depart` below the levels of the queue.
    /// A hook may also be called between its levels, because another mechanism's level was passed. Called at the start, and again after
    /// [`SwitchCx::watch`]. A mechanism without this hook is called for every frame.
    #[hook(levels)]
    fn levels(&self, seen: &Occupancy, of: Account) -> Levels {
        Levels::ALL
    }
    /// Load balancing: picks one of `candidates` (two or more) for a packet whose path is not pinned. `None` leaves the choice to the next
    /// mechanism, in the end to ECMP. Called only for mechanisms that claim the path ([`super::Claims`]).
    #[hook(until = None)]
    fn choose(&mut self, cx: &mut SwitchCx<'_>, candidates: &[Port], pkt: &Packet) -> Option<Port> {
        None
    }
    /// Called after routing, before admission: may change the queue, and the packet's class on the next link. `at` keeps the class on the
    /// link of arrival, by which the ingress counts. Order within flows: [`super::Profile::steering`].
    #[hook(each, hot)]
    fn steer(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) {}
    /// Returns whether `last`, the newest packet in the queue of `pkt`, gives way to `pkt`, for which there is no memory. Called only where
    /// the memory of the egress alone decides (`switch.buffer_per` is `egress` or `queue`, and the switch has no crossbar). If so, `last`
    /// leaves the queue (`on_dequeue`, `on_release`, `on_depart`; this marks nothing), goes to `on_full`, and `pkt` is admitted. The packet
    /// on the wire never gives way.
    #[hook(until = false)]
    fn push_out(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet, last: &Packet) -> bool {
        false
    }
    /// Decides on a packet for which there is no memory. A trimmed or returned packet is steered again, and continues in the queue and
    /// class that this hook sets: a header may have its own queue.
    #[hook(until = Full::Drop)]
    fn on_full(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) -> Full {
        Full::Drop
    }
    /// The packet has been admitted. The ingress account includes it, the egress account perhaps not yet.
    #[hook(each, hot)]
    fn on_admit(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {}
    /// The packet is about to join its egress queue. Returns the isolation queue in which it must wait, if any. That queue is shut until
    /// its mechanism opens it by [`super::Gate::IsolationQueue`]; then it is served beside the egress queue. While an isolation queue holds
    /// packets ([`crate::model::switch::occupancy::Occupancy::isolated_in`]), return it for every packet that must not overtake them. Where
    /// flows move between queues, later packets of a flow follow those that wait there in any case, in their queue and class. The ingress
    /// account includes waiting packets, the egress account does not. A frame that the switch itself sends is in no ingress account, and
    /// does not wait.
    #[hook(until = None, hot)]
    fn divert(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) -> Option<IsolationQueue> {
        None
    }
    /// The packet has joined its egress queue; all accounts include it.
    #[hook(each, hot)]
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {}
    /// The packet leaves the accounts, is dropped from its queue, or gives way to another. All egress accounts still include it, and its
    /// header can still be written.
    #[hook(each, hot)]
    fn on_dequeue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {}
    /// A packet's bytes have left the ingress account, as many as it had when it joined its queue. The packet has left the switch or,
    /// behind a crossbar, crossed the fabric.
    #[hook(each, hot)]
    fn on_release(&mut self, cx: &mut SwitchCx<'_>, at: &Place, size: u32) {}
    /// A packet's bytes have left the egress account: it is on the wire or, by `switch.release_at`, has left.
    #[hook(each, hot)]
    fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {}
    /// A control frame has arrived at `from`, for this switch (`to` is `None`) or in transit to a host. The flow that it names may have
    /// ended: a switch does not know.
    #[hook(until = Fate::Passed)]
    fn on_control(&mut self, cx: &mut SwitchCx<'_>, from: Port, to: Option<HostId>, frame: &Control) -> Fate {
        Fate::Passed
    }
    /// A timer has expired.
    #[hook(own(cx.owner(), ()))]
    fn on_timer(&mut self, cx: &mut SwitchCx<'_>, token: Token) {}
    /// Returns what must leave before a pause ends that `owner` (for stacks; itself) requested from the neighbour at `port` without an end.
    /// Called when the run looks for a deadlock.
    #[hook(own(owner, Awaits::Unknown))]
    fn awaits(&self, owner: MechanismId, port: Port, class: Option<Class>) -> Awaits {
        Awaits::Unknown
    }
    /// Returns whether it opens or empties, after a time of its own, queues of `port` that the neighbour's pause keeps shut.
    #[hook(until = false)]
    fn overrides_pause(&self, port: Port) -> bool {
        false
    }
    /// Returns its counters for the results.
    #[hook(report)]
    fn counts(&self, now: Time) -> Vec<Count> {
        self.link_counts(now)
    }
    /// Returns what it did, and how near it came to acting. The accounts know the most that a port held ([`Occupancy::most_ingress_port`],
    /// [`Occupancy::most_egress_port`]), so no mechanism has to record it.
    #[hook(report)]
    fn activity(&self, seen: &Occupancy) -> Activity {
        self.link_activity()
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
    /// \[bytes\] Payload in all; for a stream, the payload so far.
    pub bytes: Bytes,
}

/// The hooks of a mechanism at a NIC.
#[backwater_derive::hooks]
pub trait NicSide: LinkSide {
    /// The host takes a frame other than MAC control out of its receive buffer: on arrival, unless the host is slow.
    #[hook(each)]
    fn on_consumed(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {}
    /// The first packet of a flow has arrived for this host. Called before its `on_receive`.
    #[hook(each_of_flow)]
    fn on_flow_start(&mut self, cx: &mut NicCx<'_>, incoming: &Incoming) {}
    /// A data packet has arrived for this host.
    #[hook(each_of_flow)]
    fn on_receive(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {}
    /// The last byte of a begun flow has arrived, or its sender has given up.
    #[hook(each_of_flow)]
    fn on_flow_end(&mut self, cx: &mut NicCx<'_>, flow: FlowRef) {}
    /// A packet has joined a queue of the interface.
    #[hook(each)]
    fn on_enqueue(&mut self, cx: &mut NicCx<'_>, queue: Queue, pkt: &Packet) {}
    /// A control frame has arrived for this host.
    #[hook(until = Fate::Passed)]
    fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
        Fate::Passed
    }
    /// A timer has expired.
    #[hook(own(cx.owner(), ()))]
    fn on_timer(&mut self, cx: &mut NicCx<'_>, token: Token) {}
    /// Returns its counters for the results.
    #[hook(report)]
    fn counts(&self, now: Time) -> Vec<Count> {
        self.link_counts(now)
    }
    /// Returns what it did, and how near it came to acting.
    #[hook(report)]
    fn activity(&self) -> Activity {
        self.link_activity()
    }
}

/// The content of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// \[bytes\] Payload received so far.
    pub received: u64,
    /// Time since the data packet was sent.
    pub rtt: Time,
    /// True if the data packet was marked.
    pub marked: bool,
    /// The attachment of the data packet for this mechanism; of the last one, if the acknowledgement answers several.
    pub carried: Option<&'a Attachment>,
    /// Its content about single packets, where the transport acknowledges these.
    pub counted: Option<&'a Counted>,
}

impl Ack<'_> {
    /// The same without what the packet carried, unless the mechanism `attaches` something.
    #[inline(always)]
    #[must_use]
    pub fn only_if(&self, attaches: bool) -> Self {
        Ack { carried: self.carried.filter(|_| attaches), ..*self }
    }
}

/// The content of an acknowledgement about single packets (`transport.recovery = "rud"`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// \[bytes\] of frames that have arrived since the previous acknowledgement.
    pub bytes: u64,
    /// \[bytes\] of frames in flight, without what is acknowledged.
    pub in_flight: u64,
    /// True if the round trip is certainly that of the transmission that it answers.
    pub timed: bool,
    /// Entropy value of the packet that it answers; 0 if it answers a probe.
    pub ev: u16,
    /// It answers the probe of this number ([`NicCx::acknowledge`]), and no packet of the flow. The round trip is then unknown.
    pub probe: Option<u64>,
    /// Number of the first packet that has not arrived.
    pub cumulative: u64,
    /// Number of the packet that is to be sent next for the first time.
    pub next: u64,
    /// Packets that have arrived beyond the first missing one.
    pub beyond: u64,
    /// True if packets wait to be retransmitted.
    pub has_retransmissions: bool,
    /// True if something has never been sent.
    pub unsent: bool,
}

/// A trimmed packet, as its sender learns of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// \[bytes\] The whole frame.
    pub bytes: u64,
    /// Time since it was sent.
    pub rtt: Time,
    /// \[bytes\] of frames in flight, this one included.
    pub in_flight: u64,
    /// True if it was trimmed at the port to its receiver.
    pub last_hop: bool,
    /// True if it had been marked.
    pub marked: bool,
    /// Its entropy value.
    pub ev: u16,
    /// True if the switch reported it: the time since it was sent is then no round trip to the receiver.
    pub returned: bool,
}

/// The reason why the transport takes packets for lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The receiver has reported a gap, or a switch has sent a packet back.
    Gap,
    /// A packet has been trimmed, and the transport knows which.
    Trimmed(Cut),
    /// Nothing has come back for too long.
    Timeout {
        /// \[bytes\] that are given up: one frame if packets are acknowledged one by one, otherwise all unacknowledged payload.
        bytes: u64,
    },
}

/// The hooks of a mechanism for a flow's rate. One side per [`super::RateKey`].
#[backwater_derive::hooks]
pub trait FlowSide {
    /// Returns the rate at which the flow may send now. The NIC paces, and calls this again after every hook; a waiting packet is
    /// rescheduled at once. If a hook also opens the window, packets that the window stopped leave at the old rate's time. The new rate
    /// applies from the packet after; [`FlowSide::stopped_until`] applies to that packet, too.
    #[hook(least)]
    fn rate(&self) -> Option<Rate> {
        None
    }
    /// Returns a time before which no packet leaves. Unlike a rate of zero it has an end, so a run can wait for it.
    #[hook(latest)]
    fn stopped_until(&self) -> Time {
        Time::ZERO
    }
    /// Returns the most unacknowledged bytes. 0 stops the flow; any larger value counts as at least what is acknowledged at a time.
    #[hook(least)]
    fn window(&self) -> Option<Bytes> {
        None
    }
    /// Returns the most unacknowledged bytes for retransmissions.
    #[hook(least, or = window)]
    fn retransmission_window(&self) -> Option<Bytes> {
        self.window()
    }
    /// Returns whether the next frame may leave: `next` bytes, new or retransmitted, with so many bytes of frames in flight. Called in
    /// addition to [`FlowSide::window`].
    #[hook(until = true)]
    fn may_send(&self, in_flight: Bytes, next: Bytes, retransmission: bool) -> bool {
        true
    }
    /// A flow begins. Flows that share its controller see a new rate or window at once, as after every hook.
    #[hook(each)]
    fn on_start(&mut self, cx: &mut FlowCx<'_>) {}
    /// A packet is handed to the wire.
    #[hook(each)]
    fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {}
    /// A packet is handed to the wire, for a mechanism that needs the state of the flow and its interface at that time. Called instead of
    /// `on_send`.
    #[hook(each, or = on_send)]
    fn on_turn(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet, turn: &Turn) {
        self.on_send(cx, pkt);
    }
    /// Returns the attachment of the packet that is handed to the wire. Called after `on_send`.
    #[hook(until = None)]
    fn attach(&mut self, pkt: &Packet) -> Option<Attachment> {
        None
    }
    /// An acknowledgement has arrived.
    #[hook(each)]
    fn on_ack(&mut self, cx: &mut FlowCx<'_>, #[attached] ack: &Ack<'_>) {}
    /// The flow has ended: all is acknowledged, or its sender gives up. A controller of one flow ends with it.
    #[hook(each)]
    fn on_end(&mut self, cx: &mut FlowCx<'_>) {}
    /// Packets are lost and will be retransmitted. Called before the `on_ack` of the acknowledgement that reported it; may be called for
    /// each lost packet.
    #[hook(each)]
    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {}
    /// Returns whether packet `number` is lost, whose retransmission timer, started at `since`, has expired. `retransmission` says whether
    /// the packet had been sent more than once. `true` declares it lost. `false` starts its timer anew: it stays in flight until
    /// [`FlowCx::give_up`], an acknowledgement, or that timer. Called where packets are acknowledged one by one; all mechanisms must agree.
    #[hook(all)]
    fn timeout_is_loss(&mut self, number: u64, retransmission: bool, since: Time) -> bool {
        true
    }
    /// Nothing of the flow is in flight, something is left to be sent, and [`FlowSide::may_send`] refuses it. Called when the timeout of
    /// the last transmission expires, and after each further timeout, where packets are acknowledged one by one.
    #[hook(each)]
    fn on_starved(&mut self, cx: &mut FlowCx<'_>) {}
    /// A control frame that names this flow has arrived.
    #[hook(until = Fate::Passed)]
    fn on_control(&mut self, cx: &mut FlowCx<'_>, frame: &Control) -> Fate {
        Fate::Passed
    }
    /// A timer has expired.
    #[hook(own(cx.owner(), ()))]
    fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {}
    /// Returns what it did, and how near it came to acting. Called when its flow or the run ends.
    #[hook(report)]
    fn activity(&self) -> Activity {
        Activity::default()
    }
}

/// The side of a mechanism that has no such side.
#[derive(Clone, Copy, Debug, Default, backwater_derive::State)]
pub struct Absent;

#[backwater_derive::hooks]
impl LinkSide for Absent {}
#[backwater_derive::hooks(link)]
impl SwitchSide for Absent {}
#[backwater_derive::hooks(link)]
impl NicSide for Absent {}
#[backwater_derive::hooks]
impl FlowSide for Absent {}
