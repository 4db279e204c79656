//! A port: the sending side of a link, with its queues, gates, scheduler, pause state and counters.

mod faults;
mod gates;
pub mod in_order;
mod isolation;
pub mod pause;
pub mod queues;
mod replay;
mod service;
mod turns;

pub(crate) use faults::LinkFaults;
pub(crate) use gates::first_owner;
pub(crate) use replay::{Numbered, Sent};
pub(crate) use turns::highest;

use crate::model::event::NO_PORT;
use crate::model::hooks::MechanismSet;
use crate::model::packet::{CLASSES, Control, USUAL, among_others};
use crate::model::slab::{Fifo, Ix, NIL, Slab};
use crate::record::PortStats;
use crate::units::Serialiser;
use backwater_engine::{Fingerprint, Time};
use gates::PausedByPeer;
use in_order::InOrder;
use isolation::IsolationQueues;
use pause::PauseRequests;
use queues::HostQueues;
use replay::ReplayBuffer;
use std::collections::VecDeque;
use turns::{Deficit, Turns};

/// The owner of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Belongs {
    Switch(u32),
    Host(u32),
}

/// The facts about a port that every part knows.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    pub belongs: Belongs,
    pub peer: u32,
    pub delay: Time,
    pub serialiser: Serialiser,
}

impl Facts {
    /// Returns those of a port.
    #[inline]
    pub fn of(port: &Port) -> Facts {
        Facts { belongs: port.belongs, peer: port.peer, delay: port.delay, serialiser: port.serialiser }
    }
}

/// The next transmission of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Packet(Ix),
    /// Nothing before this time.
    Wait(Time),
    Nothing,
}

/// The sub-queue of a class at a NIC for frames that precede all data.
#[inline(always)]
pub(crate) fn express(class: usize) -> usize {
    class + CLASSES
}

/// The sub-queues among up to 32 queues, a bit each. Queue `q` is that of class `q`; `q + 8`, `q + 16` and `q + 24` are its sub-queues, if
/// the port has them: behind the same gate, and served before all queues of smaller numbers.
const SUB_QUEUES: u32 = !0xFF;

/// The queues of data, and of control if that does not precede it.
pub(crate) const OWN_QUEUES: u32 = !SUB_QUEUES;

/// The fields that every frame touches, in two cache lines: what an arrival reads, and what a departure writes. Then those of frames in
/// other classes, and of hosts. [`Rest`] has all others.
#[derive(backwater_derive::State)]
#[repr(C, align(128))]
pub(crate) struct Port {
    /// Queues that hold a packet, a bit each.
    backlog: u32,
    /// Queues whose gates are all open, and whose heads need not wait for other packets of their flows, a bit each.
    pub open: u32,
    /// A frame is on the wire, and its end has an event.
    pub busy: bool,
    #[state(fixed)]
    pub release_at_end: bool,
    /// Frames here get special treatment: the link is down or has faults, or frames are captured.
    pub special: bool,
    /// Frames of MAC control wait in `rest.mac`.
    pub mac_waits: bool,
    /// Some of its queues are served in turn.
    #[state(fixed)]
    in_turn: bool,
    /// Flows move between its queues, and are kept in order.
    #[state(fixed)]
    pub ordered: bool,
    /// Frames wait in isolation queues, or came into its queues from there.
    pub has_isolation_queues: bool,
    /// The link carries frames.
    pub up: bool,
    /// The packet on the wire.
    pub current: Ix,
    /// Global number of the port at the other end.
    #[state(fixed)]
    pub peer: u32,
    #[state(fixed)]
    pub belongs: Belongs,
    /// Number within its node.
    #[state(fixed)]
    pub local: u16,
    /// Flags for the end of the packet on the wire; 0: no special treatment.
    pub wire: u8,
    /// The node at the other end belongs to another part.
    #[state(fixed)]
    pub leads_away: bool,
    /// In a large network: the first port of the switch at the other end, for prefetching. Otherwise [`NO_PORT`].
    #[state(fixed)]
    pub peer_first: u32,
    #[state(fixed)]
    pub delay: Time,
    /// Latency that a frame spends at the other end before any counter sees it.
    #[state(fixed)]
    pub peer_latency: Time,
    /// Fingerprint of the arrivals here, with their times.
    pub arrivals: Fingerprint,
    /// Earliest pending wake-up.
    pub wake_at: Time,
    /// When the last frame without an event for its end has left, or will have left.
    pub free_at: Time,
    pub serialiser: Serialiser,
    /// The queue of the usual class.
    usual: Fifo,
    pub tx_frames: u64,
    pub tx_data_frames: u64,
    pub tx_bytes: u64,
    /// The queues of the other classes.
    others: [Fifo; CLASSES - 1],
    /// The first sub-queue of the usual class.
    usual_express: Fifo,
    pub marked_frames: u64,
    #[state(within)]
    pub rest: Box<Rest>,
}

const _: () = assert!(std::mem::offset_of!(Port, arrivals) < 64, "what an arrival reads is in the first cache line");
const _: () = assert!(std::mem::offset_of!(Port, tx_bytes) < 128, "what a departure writes is in the second one");

/// The fields that few frames touch.
#[derive(backwater_derive::State)]
pub(crate) struct Rest {
    /// From queue 8 on: the sub-queues of this port. That of the usual class is elsewhere ([`Port`]), and empty here.
    sub_queues: Vec<Fifo>,
    #[state(within)]
    turns: Option<Turns>,
    /// The queues of the host at the other end.
    #[state(fixed)]
    pub peer_queues: HostQueues,
    #[state(within)]
    in_order: Option<Box<InOrder>>,
    pub isolation_queues: IsolationQueues,
    /// Queues whose heads wait for other packets of their flows, a bit each.
    waits: u32,
    /// Frames that wait before everything else.
    #[state(with = crate::model::packet::controls)]
    mac: VecDeque<Control>,
    /// Mechanisms that keep each queue shut, a bit each; the last entry is the whole port.
    shut: [MechanismSet; CLASSES + 1],
    pub pause_requests: PauseRequests,
    paused: PausedByPeer,
    pub faults: Option<LinkFaults>,
    /// Sent frames that may have to be replayed, if a mechanism retains them.
    #[state(within)]
    pub replay: Option<Box<ReplayBuffer>>,
    /// Every frame that is sent or arrives here is captured.
    #[state(fixed)]
    pub captured: bool,
    /// Recorded flows are followed through it.
    #[state(fixed)]
    pub watched: bool,
    /// Mechanisms are notified when a frame begins to leave, and when it has left.
    #[state(fixed)]
    pub tells: bool,
    /// It is one of several ports of a host.
    #[state(fixed)]
    pub shares_host: bool,
    /// Control frames that began here.
    pub control_frames: u64,
    /// Counters of rare events; the other fields are zero here.
    pub stats: PortStats,
}

impl Port {
    /// The idle port of this number within its node.
    pub fn new(Facts { belongs, peer, delay, serialiser }: Facts, local: u16) -> Port {
        let sub_queues = match belongs {
            Belongs::Switch(_) => 0,
            Belongs::Host(_) => CLASSES,
        };
        let rest = Rest {
            sub_queues: vec![Fifo::default(); sub_queues],
            turns: None,
            peer_queues: HostQueues::default(),
            in_order: None,
            isolation_queues: IsolationQueues::default(),
            waits: 0,
            mac: VecDeque::new(),
            shut: [0; CLASSES + 1],
            pause_requests: PauseRequests::at(serialiser.rate()),
            paused: PausedByPeer::default(),
            faults: None,
            replay: None,
            captured: false,
            watched: false,
            tells: false,
            shares_host: false,
            control_frames: 0,
            stats: PortStats::default(),
        };
        Port {
            backlog: 0,
            open: u32::MAX,
            busy: false,
            release_at_end: false,
            special: false,
            leads_away: false,
            mac_waits: false,
            in_turn: false,
            ordered: false,
            has_isolation_queues: false,
            up: true,
            current: NIL,
            peer,
            belongs,
            local,
            wire: 0,
            peer_first: NO_PORT,
            delay,
            peer_latency: Time::ZERO,
            arrivals: Fingerprint::default(),
            rest: Box::new(rest),
            usual: Fifo::default(),
            others: [Fifo::default(); CLASSES - 1],
            usual_express: Fifo::default(),
            serialiser,
            tx_frames: 0,
            tx_data_frames: 0,
            tx_bytes: 0,
            marked_frames: 0,
            wake_at: Time::NEVER,
            free_at: Time::ZERO,
        }
    }

    /// Serves its own queues in turn by these weights; those of weight 0 go before all others.
    pub fn set_weights(&mut self, weights: [u32; CLASSES], max_frame: u64) {
        let deficit = Deficit { weights, deficit: [0; CLASSES], quantum: max_frame.max(1), turn: 0 };
        self.set_turns(Turns::ByWeight(deficit));
    }

    /// Serves queues of one class in turn, frame by frame; classes by strict priority.
    pub fn set_queues(&mut self, queues: HostQueues) {
        if queues.several() {
            self.set_turns(Turns::Within(queues, 0));
        }
    }

    fn set_turns(&mut self, turns: Turns) {
        self.rest.turns = Some(turns);
        self.in_turn = true;
    }

    /// Keeps flows that move between queues in order.
    pub fn keep_in_order(&mut self, in_order: InOrder) {
        self.rest.in_order = Some(Box::new(in_order));
        self.ordered = true;
    }

    /// Adds a frame that goes before everything else.
    pub fn push_mac(&mut self, frame: Control) {
        self.rest.mac.push_back(frame);
        self.mac_waits = true;
    }

    pub fn pop_mac(&mut self) -> Option<Control> {
        let frame = self.rest.mac.pop_front();
        self.set_mac_waits();
        frame
    }

    /// Keeps the waiting frames for which `left` returns true.
    pub fn keep_mac(&mut self, left: impl FnMut(&mut Control) -> bool) {
        self.rest.mac.retain_mut(left);
        self.set_mac_waits();
    }

    /// Replayed frames go before all new ones: they wait in the place of MAC control.
    fn set_mac_waits(&mut self) {
        self.mac_waits = !self.rest.mac.is_empty() || self.resends();
    }

    /// Returns whether a replay is in progress.
    pub fn resends(&self) -> bool {
        self.rest.replay.as_ref().is_some_and(|replay| replay.resends())
    }

    /// Takes the first waiting ordered set, which is shorter than a frame.
    pub fn pop_ordered_set(&mut self) -> Option<Control> {
        let at = self.rest.mac.iter().position(|frame| frame.size < Control::MIN_FRAME)?;
        self.rest.mac.remove(at)
    }

    /// Changes the kept frames, if the port keeps any.
    pub fn change_kept<R>(&mut self, change: impl FnOnce(&mut ReplayBuffer) -> R) -> Option<R> {
        let changed = self.rest.replay.as_deref_mut().map(change);
        self.set_mac_waits();
        changed
    }

    /// From now on mechanisms decide which sent frames are kept.
    pub fn retain_sent(&mut self) {
        self.rest.replay = Some(Box::default());
        self.special = true;
    }

    pub fn set_up(&mut self, up: bool) {
        self.up = up;
        let rest = &self.rest;
        self.special = !up
            || rest.faults.is_some()
            || rest.captured
            || rest.watched
            || rest.tells
            || rest.replay.is_some()
            || rest.shares_host;
    }

    /// Its host has other links, too: an arriving frame may be for another interface.
    pub fn share_host(&mut self) {
        self.rest.shares_host = true;
        self.special = true;
    }

    /// From now on frames here are captured.
    pub fn capture(&mut self) {
        self.rest.captured = true;
        self.special = true;
    }

    /// From now on flows that wait here are recorded.
    pub fn watch(&mut self) {
        self.rest.watched = true;
        self.special = true;
    }

    /// Frames sent here go to another part of the network.
    pub fn mark_leaving_part(&mut self) {
        self.leads_away = true;
    }

    /// From now on mechanisms are notified of departures here.
    pub fn report_events(&mut self) {
        self.rest.tells = true;
        self.special = true;
    }

    /// The faults of the link out of this port; created by `new` if there were none.
    pub fn faults(&mut self, new: impl FnOnce() -> LinkFaults) -> &mut LinkFaults {
        self.special = true;
        self.rest.faults.get_or_insert_with(new)
    }

    /// Returns whether a frame that is sent now, or later, may be lost on the link.
    pub fn may_lose(&self) -> bool {
        let faults = self.rest.faults.as_ref();
        !self.up
            || faults.is_some_and(|f| {
                f.loss.iter().any(|(_, share)| *share > 0.0) || f.drop_nth.iter().any(|(_, left)| *left > 0)
            })
    }

    /// All counters at `now`, except those of its node's memory.
    pub fn stats(&self, now: Time) -> PortStats {
        PortStats {
            tx_frames: self.tx_frames,
            tx_data_frames: self.tx_data_frames,
            tx_bytes: self.tx_bytes,
            marked_frames: self.marked_frames,
            paused_ps: self.rest.paused.total + self.rest.paused.to.min(now).since(self.rest.paused.from).0,
            ..self.rest.stats
        }
    }

    #[inline(always)]
    pub fn push(&mut self, slab: &mut Slab, queue: usize, ix: Ix) {
        self.fifo(queue).push(slab, ix);
        self.backlog |= 1 << queue;
    }

    #[inline(always)]
    fn fifo(&mut self, queue: usize) -> &mut Fifo {
        if queue < CLASSES {
            self.others.get_mut(among_others(queue)).unwrap_or(&mut self.usual)
        } else if queue == express(USUAL) {
            &mut self.usual_express
        } else {
            &mut self.rest.sub_queues[queue - CLASSES]
        }
    }

    /// Returns whether a queue holds a packet and its gates are open.
    #[inline(always)]
    pub fn has_work(&self) -> bool {
        self.backlog & self.open != 0
    }

    /// Returns whether a queue holds a packet.
    #[inline(always)]
    pub fn holds_some(&self) -> bool {
        self.backlog != 0
    }

    /// Returns whether a queue holds a packet and its gates are open, or a sub-queue holds one.
    #[inline(always)]
    pub fn may_have_work(&self) -> bool {
        self.backlog & (self.open | SUB_QUEUES) != 0
    }

    /// Returns whether a sub-queue that is `open` holds a packet.
    #[inline(always)]
    pub fn has_express(&self, open: u32) -> bool {
        self.backlog & open & SUB_QUEUES != 0
    }

    /// The packet behind which the next one of this queue will wait.
    #[inline(always)]
    pub fn tail(&self, queue: usize) -> Option<Ix> {
        self.queue(queue % CLASSES).tail()
    }

    /// One of its queues.
    #[inline(always)]
    pub fn queue(&self, queue: usize) -> &Fifo {
        if queue < CLASSES {
            self.others.get(among_others(queue)).unwrap_or(&self.usual)
        } else if queue == express(USUAL) {
            &self.usual_express
        } else {
            &self.rest.sub_queues[queue - CLASSES]
        }
    }

    /// All sub-queues, with their classes.
    pub fn sub_queues(&self) -> impl Iterator<Item = (u8, &Fifo)> {
        let all = CLASSES..CLASSES + self.rest.sub_queues.len();
        (0..CLASSES as u8).cycle().zip(all.map(|queue| self.queue(queue)))
    }

    /// The first packet of a class, sub-queues included.
    pub fn first_of(&self, class: usize) -> Option<Ix> {
        let sub_queues = (class..self.rest.sub_queues.len()).step_by(CLASSES).rev();
        let first = sub_queues.filter_map(|at| self.queue(CLASSES + at).head()).next();
        first.or_else(|| self.queue(class).head())
    }

    /// Takes all packets out of a queue.
    pub fn take_queue(&mut self, queue: usize) -> Fifo {
        self.backlog &= !(1 << queue);
        if let Some(turns) = &mut self.rest.turns {
            turns.emptied(queue);
        }
        std::mem::take(self.fifo(queue))
    }

    /// Takes the last packet out of a queue. It follows all other packets of its flow.
    #[cold]
    pub fn take_last(&mut self, slab: &mut Slab, queue: usize) -> Option<Ix> {
        let last = self.fifo(queue).pop_last(slab)?;
        if self.queue(queue).is_empty() {
            self.backlog &= !(1 << queue);
            if let Some(turns) = &mut self.rest.turns {
                turns.emptied(queue);
            }
        }
        self.line_up_back(slab, queue, last);
        Some(last)
    }

    /// Returns whether a frame is on the wire after `now`.
    pub fn sends_after(&self, now: Time) -> bool {
        self.busy || self.free_at > now
    }

    /// Returns whether a class's own queue is empty, and none of its frames is on the wire.
    pub fn is_drained(&self, now: Time) -> bool {
        let ready_count = self.rest.in_order.as_ref().is_some_and(|in_order| !in_order.is_empty());
        self.backlog & !SUB_QUEUES == 0 && !self.mac_waits && !self.sends_after(now) && !ready_count
    }
}
