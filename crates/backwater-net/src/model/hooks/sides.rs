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

/// What a mechanism does at the ends of links, at switches and at NICs alike.
#[backwater_derive::hooks]
pub trait LinkSide {
    /// A frame other than MAC control has come in whole over the link at `from`, in `pkt.class`, before anything else is done with it: it
    /// may yet be consumed or lost.
    #[hook(each)]
    fn on_arrive(&mut self, cx: &mut LinkCx<'_>, from: Port, pkt: &Packet) {}
    /// Whether a packet may be put on the wire now. Asked of the first of each queue that could be next; a refused one is asked about again whenever the port looks for work, at the latest when a gate of it is opened
    /// ([`LinkCx::open`]). Not asked of MAC control.
    #[hook(until = true)]
    fn may_transmit(&self, port: Port, queue: Queue, pkt: &Packet) -> bool {
        true
    }
    /// The packet's first bit leaves; the egress accounts include it. `carried` is what it carries for this mechanism. Not
    /// called of MAC control.
    #[hook(each)]
    fn on_start(
        &mut self,
        cx: &mut LinkCx<'_>,
        from: &Departure,
        pkt: &Packet,
        #[attached] carried: Option<&mut Attachment>,
    ) {
    }
    /// A frame of `size` bytes begins to leave at `port`, MAC control included, ordered sets not. Whether the port keeps it, under `number`,
    /// until [`LinkCx::discard_before`]. What is kept can be replayed ([`LinkCx::replay_from`]), and a fault of the link does not
    /// make it vanish, but come damaged. Comes after `on_start`, which is not called when it is replayed.
    #[hook(any)]
    fn retains(&mut self, cx: &mut LinkCx<'_>, port: Port, number: u64, size: u32) -> bool {
        false
    }
    /// A frame has come whole over the link at `from` that its sender keeps under `number`. `false`: it goes no further, and no other hook
    /// hears of it. All must take it.
    #[hook(all)]
    fn accepts(&mut self, cx: &mut LinkCx<'_>, from: Port, number: u64, size: u32) -> bool {
        true
    }
    /// A frame has come damaged over the link at `from` that its sender keeps. What it was cannot be told.
    #[hook(each)]
    fn on_damaged(&mut self, cx: &mut LinkCx<'_>, from: Port) {}
    /// The link at a port has gone down, or come up again. What is sent meanwhile is lost.
    #[hook(each)]
    fn on_link(&mut self, cx: &mut LinkCx<'_>, port: Port, up: bool) {}
    /// A frame of MAC control has come over the link at `from`, or a mechanism's in its place ([`LinkCx::signal`]). Of a pause each class is told by
    /// itself. Unless it is consumed, it is as if it had not come.
    #[hook(until = Fate::Passed)]
    fn on_mac_control(&mut self, cx: &mut LinkCx<'_>, from: Port, frame: &Control) -> Fate {
        Fate::Passed
    }
    /// A timer has run out, of a mechanism whose timers are those of links. Others have the `on_timer` of a switch or of a NIC.
    #[hook(own(cx.owner(), ()))]
    fn on_link_timer(&mut self, cx: &mut LinkCx<'_>, token: Token) {}
    /// What it has counted, for the results, where it counts nothing but links.
    #[hook(report)]
    fn link_counts(&self, now: Time) -> Vec<Count> {
        Vec::new()
    }
    /// What it has done, and how near it came, where it does nothing but at links.
    #[hook(report)]
    fn link_activity(&self) -> Activity {
        Activity::default()
    }
}

/// What a mechanism does at a switch.
#[backwater_derive::hooks]
pub trait SwitchSide: LinkSide {
    /// Between which levels of an account it has nothing to do. `on_admit` is called above those of what came in by the port and by its
    /// class, and whenever the class has bytes in headroom, `on_release` below those of the class; `on_enqueue` above those of what waits
    /// for the port and for the queue, `on_dequeue` where enough is left in the queue, `on_depart` below those of the queue. They may be
    /// called where there is nothing to do: a level of another mechanism has been passed. Asked at the start, and again when
    /// [`SwitchCx::watch`] says so. A mechanism without it is called for every frame.
    #[hook(levels)]
    fn levels(&self, seen: &Occupancy, of: Account) -> Levels {
        Levels::ALL
    }
    /// Load balancing: picks one of `candidates` (two or more) for a packet whose path is not pinned; `None` leaves it to the next opinion,
    /// in the end to ECMP. Called for mechanisms that claim the path ([`super::Claims`]) only.
    #[hook(until = None)]
    fn choose(&mut self, cx: &mut SwitchCx<'_>, candidates: &[Port], pkt: &Packet) -> Option<Port> {
        None
    }
    /// After routing, before admission: may change the queue, and the packet's class, which is that on the next link. The class on
    /// the link of arrival, by which the ingress counts, stays in `at`. Order within flows: [`super::Profile::steering`].
    #[hook(each, hot)]
    fn steer(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) {}
    /// Whether `last`, the newest packet that waits in the queue of `pkt`, gives way to that, for which there is no memory. Asked where
    /// none but the memory of its egress counts (`switch.buffer_per` is `egress` or `queue`, and the switch has no crossbar). `last` leaves the queue
    /// (`on_dequeue`, `on_release`, `on_depart`; it is not marked by that), there is no memory for it (`on_full`), and `pkt` is
    /// admitted. The packet on the wire never gives way.
    #[hook(until = false)]
    fn push_out(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet, last: &Packet) -> bool {
        false
    }
    /// What becomes of a packet for which there is no memory. What is trimmed or turned round is steered again, and goes on in the queue and the class that are
    /// left here: a header may have a queue of its own.
    #[hook(until = Full::Drop)]
    fn on_full(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) -> Full {
        Full::Drop
    }
    /// The packet has been admitted; the ingress account includes it, the egress account perhaps not yet.
    #[hook(each, hot)]
    fn on_admit(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {}
    /// The packet is about to join its egress queue. Where it is to wait, the isolation queue in which; that is shut until its mechanism
    /// opens it by [`super::Gate::IsolationQueue`], and then served beside the queue. As long as an isolation queue holds packets ([`crate::model::switch::occupancy::Occupancy::isolated_in`]), answer
    /// it for whatever must not pass them; where flows move between queues, what is of a flow with packets there follows them in any case, in
    /// their queue and class. The ingress account includes what waits, the egress account does not; what the switch
    /// itself sends is in no ingress account, and does not wait.
    #[hook(until = None, hot)]
    fn divert(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) -> Option<IsolationQueue> {
        None
    }
    /// The packet has joined its egress queue; all accounts include it.
    #[hook(each, hot)]
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {}
    /// The packet leaves the accounts, or is dropped from its queue or gives way to another; all egress accounts still include it, its
    /// header can still be written.
    #[hook(each, hot)]
    fn on_dequeue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {}
    /// A packet's bytes, so many as it had when it joined its queue, have left the ingress account: it has left the switch or, behind a crossbar,
    /// crossed the fabric.
    #[hook(each, hot)]
    fn on_release(&mut self, cx: &mut SwitchCx<'_>, at: &Place, size: u32) {}
    /// A packet's bytes have left the egress account: it is on the wire or, by `switch.release_at`, has left it.
    #[hook(each, hot)]
    fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {}
    /// A control frame came in at `from`, for this switch (`to` is `None`) or passing by on its way to a host. The flow that it
    /// names may be over: a switch does not know.
    #[hook(until = Fate::Passed)]
    fn on_control(&mut self, cx: &mut SwitchCx<'_>, from: Port, to: Option<HostId>, frame: &Control) -> Fate {
        Fate::Passed
    }
    /// A timer has run out.
    #[hook(own(cx.owner(), ()))]
    fn on_timer(&mut self, cx: &mut SwitchCx<'_>, token: Token) {}
    /// What must leave before a pause ends that `owner` (for stacks; itself) asks of the neighbour at `port` without an end. Asked
    /// when the run looks for a deadlock.
    #[hook(own(owner, Awaits::Unknown))]
    fn awaits(&self, owner: MechanismId, port: Port, class: Option<Class>) -> Awaits {
        Awaits::Unknown
    }
    /// Whether it opens or empties, after a time of its own, queues of `port` that it keeps shut for the neighbour.
    #[hook(until = false)]
    fn overrides_pause(&self, port: Port) -> bool {
        false
    }
    /// What it has counted, for the results.
    #[hook(report)]
    fn counts(&self, now: Time) -> Vec<Count> {
        self.link_counts(now)
    }
    /// What it has done, and how near it came. What a port has held at most is known to the accounts ([`Occupancy::most_ingress_port`],
    /// [`Occupancy::most_egress_port`]), and no mechanism need note it.
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
    /// \[bytes\] Payload in all; of a stream, that there is so far.
    pub bytes: Bytes,
}

/// What a mechanism does at a NIC.
#[backwater_derive::hooks]
pub trait NicSide: LinkSide {
    /// The host takes a frame other than MAC control out of its receive buffer: as soon as it has come, unless the host is slow.
    #[hook(each)]
    fn on_consumed(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {}
    /// The first packet of a flow has arrived for this host. Comes before its `on_receive`.
    #[hook(each_of_flow)]
    fn on_flow_start(&mut self, cx: &mut NicCx<'_>, incoming: &Incoming) {}
    /// A data packet has arrived for this host.
    #[hook(each_of_flow)]
    fn on_receive(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {}
    /// The last byte of a flow has arrived that has begun, or its sender has given up.
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
    /// A timer has run out.
    #[hook(own(cx.owner(), ()))]
    fn on_timer(&mut self, cx: &mut NicCx<'_>, token: Token) {}
    /// What it has counted, for the results.
    #[hook(report)]
    fn counts(&self, now: Time) -> Vec<Count> {
        self.link_counts(now)
    }
    /// What it has done, and how near it came.
    #[hook(report)]
    fn activity(&self) -> Activity {
        self.link_activity()
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
    /// What it tells of single packets, where the transport acknowledges these.
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

/// What an acknowledgement tells of single packets (`transport.recovery = "rud"`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// \[bytes\] of frames that have come since the acknowledgement before.
    pub bytes: u64,
    /// \[bytes\] of frames in flight, what is acknowledged taken off.
    pub in_flight: u64,
    /// Whether the round trip is surely that of the sending that it answers.
    pub timed: bool,
    /// Entropy value of the packet that it answers; 0 where that is a probe.
    pub ev: u16,
    /// What it answers is no packet of the flow, but the probe of this number ([`NicCx::acknowledge`]). The round trip is then not known.
    pub probe: Option<u64>,
    /// Number of the first packet that has not come.
    pub cumulative: u64,
    /// Number of the packet that is to be sent next for the first time.
    pub next: u64,
    /// Packets that have come beyond the first that has not.
    pub beyond: u64,
    /// Whether packets wait to be retransmitted.
    pub has_retransmissions: bool,
    /// Whether something has never been sent.
    pub unsent: bool,
}

/// A packet that was cut, as its sender learns of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// \[bytes\] The whole frame.
    pub bytes: u64,
    /// Time since it was sent.
    pub rtt: Time,
    /// \[bytes\] of frames in flight, this one still among them.
    pub in_flight: u64,
    /// Whether it was cut at the port to its receiver.
    pub last_hop: bool,
    /// Whether it had been marked.
    pub marked: bool,
    /// Its entropy value.
    pub ev: u16,
    /// Whether the switch has told: the time since it was sent is no round trip to the receiver.
    pub returned: bool,
}

/// How the transport has come to know that packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The receiver has reported a gap, or a switch has sent a packet back.
    Gap,
    /// A packet has been cut, and the transport knows which.
    Trimmed(Cut),
    /// Nothing has come back for too long.
    Timeout {
        /// \[bytes\] that are given up: a frame, where packets are acknowledged one by one; otherwise all payload that is not acknowledged.
        bytes: u64,
    },
}

/// What a mechanism does to a flow's rate. One per [`super::RateKey`].
#[backwater_derive::hooks]
pub trait FlowSide {
    /// The rate at which the flow may send now. An answer, not a command: the NIC paces and asks again after every hook. A packet
    /// that waits for its time is moved at once. Where one hook also opens the window, what the window stopped goes by the time of
    /// the rate before, and the new rate is in force from the packet after; [`FlowSide::stopped_until`] holds for that packet, too.
    #[hook(least)]
    fn rate(&self) -> Option<Rate> {
        None
    }
    /// No packet goes before this time. Unlike a rate of zero it has an end, so that a run can wait for it.
    #[hook(latest)]
    fn stopped_until(&self) -> Time {
        Time::ZERO
    }
    /// Most unacknowledged bytes; 0 stops the flow, and what is above it is not taken for less than what is acknowledged at a time.
    #[hook(least)]
    fn window(&self) -> Option<Bytes> {
        None
    }
    /// Most unacknowledged bytes for what is retransmitted.
    #[hook(least, or = window)]
    fn retransmission_window(&self) -> Option<Bytes> {
        self.window()
    }
    /// Whether the next frame, of `next` bytes and sent before or not, may go with so many bytes of frames in flight. Asked
    /// beside [`FlowSide::window`].
    #[hook(until = true)]
    fn may_send(&self, in_flight: Bytes, next: Bytes, retransmission: bool) -> bool {
        true
    }
    /// A flow begins. Of a controller that several flows share, the others hear of a new rate or window at once, as after every hook.
    #[hook(each)]
    fn on_start(&mut self, cx: &mut FlowCx<'_>) {}
    /// A packet is handed to the wire.
    #[hook(each)]
    fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {}
    /// A packet is handed to the wire, for a mechanism that asks how the flow and its interface stand then. It is called in place of `on_send`.
    #[hook(each, or = on_send)]
    fn on_turn(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet, turn: &Turn) {
        self.on_send(cx, pkt);
    }
    /// What the packet that is handed to the wire carries. Asked after `on_send`.
    #[hook(until = None)]
    fn attach(&mut self, pkt: &Packet) -> Option<Attachment> {
        None
    }
    /// An acknowledgement has arrived.
    #[hook(each)]
    fn on_ack(&mut self, cx: &mut FlowCx<'_>, #[attached] ack: &Ack<'_>) {}
    /// The flow is over: all is acknowledged, or its sender gives up. A controller of one flow goes with it.
    #[hook(each)]
    fn on_end(&mut self, cx: &mut FlowCx<'_>) {}
    /// Packets are lost and will be retransmitted. Comes before the `on_ack` of the answer that told it, and may come for each of
    /// the packets lost.
    #[hook(each)]
    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {}
    /// Whether packet `number` is lost, whose retransmission timer, started at `since`, has expired. `retransmission` says whether the packet had
    /// been sent more than once. `true` declares it lost. `false` starts its timer anew: it stays in flight until [`FlowCx::give_up`], an
    /// acknowledgement, or that timer. Called where packets are acknowledged one by one; all mechanisms must agree.
    #[hook(all)]
    fn timeout_is_loss(&mut self, number: u64, retransmission: bool, since: Time) -> bool {
        true
    }
    /// Nothing of the flow is in flight, something is left to be sent, and [`FlowSide::may_send`] lets none of it go. Comes when the timeout of what
    /// was sent last is over, and after each timeout from then on, where packets are acknowledged one by one.
    #[hook(each)]
    fn on_starved(&mut self, cx: &mut FlowCx<'_>) {}
    /// A control frame that names this flow has arrived.
    #[hook(until = Fate::Passed)]
    fn on_control(&mut self, cx: &mut FlowCx<'_>, frame: &Control) -> Fate {
        Fate::Passed
    }
    /// A timer has run out.
    #[hook(own(cx.owner(), ()))]
    fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {}
    /// What it has done, and how near it came; asked when its flow is over, or the run.
    #[hook(report)]
    fn activity(&self) -> Activity {
        Activity::default()
    }
}

/// The side that a mechanism does not have.
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
