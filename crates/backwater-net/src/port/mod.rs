//! A port: the sending side of a link, with its queues, gates, scheduler, pause state and counters.

mod faults;
pub mod hold;
mod lanes;
pub mod lineup;
pub mod queues;
mod turns;

pub(crate) use faults::LinkFaults;
pub(crate) use turns::highest;

use crate::hooks::{Owner, Owners};

use crate::packet::{CLASSES, Class, Control, Packet, Queue};

use crate::record::PortStats;
use crate::slab::{Fifo, Ix, NIL, Slab, Slot};
use crate::units::{Rate, Serialiser};
use backwater_engine::{Fingerprint, Time};
use hold::Holds;
use lanes::Lanes;
use lineup::Lineup;
use queues::HostQueues;
use std::collections::VecDeque;
use turns::{Deficit, Turns};

/// Whose port it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Belongs {
    Switch(u32),
    Host(u32),
}

/// What a port may send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Packet(Ix),
    /// Nothing before this time.
    Wait(Time),
    Nothing,
}

/// The sub-queue of a class at a NIC that holds what goes before all data.
#[inline(always)]
pub(crate) fn express(class: usize) -> usize {
    class + CLASSES
}

/// Of up to 32 queues, a bit each, all but the classes' own. Queue `q` is the own one of class `q`; `q + 8`, `q + 16` and `q + 24` are
/// sub-queues of it, where the port has them: behind the same gate, and served before all queues of smaller numbers.
const SUB_QUEUES: u32 = !0xFF;

/// What every frame touches, in three cache lines: state, queues, counters. All else is in [`Rest`].
#[repr(C, align(128))]
pub(crate) struct Port {
    /// Queues that hold a packet, a bit each.
    backlog: u32,
    /// Queues whose gates are all open, and whose heads need not wait for others of their flows, a bit each.
    pub open: u32,
    /// A frame is on the wire, and an event will say when that has left.
    pub busy: bool,
    pub release_at_end: bool,
    /// Something is done to frames here that is not done elsewhere: the link is down or has faults, or frames are captured.
    pub special: bool,
    /// Frames of MAC control wait in `rest.mac`.
    pub mac_waits: bool,
    /// Some of its queues are served in turn.
    in_turn: bool,
    /// Flows move between its queues, and are kept in order.
    pub ordered: bool,
    /// Frames wait in lanes, or came into its queues from there.
    pub has_lanes: bool,
    /// The link carries frames.
    pub up: bool,
    /// The packet on the wire.
    pub current: Ix,
    /// Global number of the port at the other end.
    pub peer: u32,
    pub belongs: Belongs,
    /// Number within its node.
    pub local: u16,
    /// What will be done to the packet on the wire once it is sent; 0 = nothing special.
    pub wire: u8,
    pub delay: Time,
    /// Latency that a frame spends at the other end before any counter sees it.
    pub peer_latency: Time,
    /// What has arrived here, and when.
    pub arrivals: Fingerprint,
    pub max_egress_bytes: u64,
    pub max_ingress_bytes: u64,
    queues: [Fifo; CLASSES],
    pub serialiser: Serialiser,
    pub tx_frames: u64,
    pub tx_data_frames: u64,
    pub tx_bytes: u64,
    pub marked_frames: u64,
    /// Earliest pending wake-up.
    pub wake_at: Time,
    /// When the last frame had left, or will have, for which nothing waited: no event says so.
    pub free_at: Time,
    pub rest: Box<Rest>,
}

/// What few frames touch.
pub(crate) struct Rest {
    /// From queue 8 on: sub-queues, as many as this port has.
    sub_queues: Vec<Fifo>,
    turns: Option<Turns>,
    /// The queues of the host at the other end.
    pub peer_queues: HostQueues,
    lineup: Option<Box<Lineup>>,
    pub lanes: Lanes,
    /// Queues whose heads wait for others of their flows, a bit each.
    waits: u32,
    /// Frames that wait to go before everything else.
    mac: VecDeque<Control>,
    /// Owners that hold each queue shut, a bit each; the last entry is the whole port.
    shut: [Owners; CLASSES + 1],
    pub holds: Holds,
    paused: PausedByPeer,
    pub faults: Option<LinkFaults>,
    /// Every frame that is sent or has arrived here is handed out.
    pub captured: bool,
    /// Recorded flows are followed through it.
    pub watched: bool,
    /// Mechanisms are told when a frame begins to leave, and when it has left.
    pub tells: bool,
    /// Control frames that began here.
    pub control_frames: u64,
    /// Counters of what is rare; the others are zero here.
    pub stats: PortStats,
}

/// What the neighbour holds, for the statistics.
#[derive(Clone, Copy, Debug, Default)]
struct PausedByPeer {
    until: [Time; CLASSES + 1],
    from: Time,
    to: Time,
    total: u64,
}

impl Port {
    pub fn new(belongs: Belongs, local: u16, peer: u32, rate: Rate, delay: Time, clock: Option<Time>) -> Port {
        let sub_queues = match belongs {
            Belongs::Switch(_) => 0,
            Belongs::Host(_) => CLASSES,
        };
        let rest = Rest {
            sub_queues: vec![Fifo::default(); sub_queues],
            turns: None,
            peer_queues: HostQueues::default(),
            lineup: None,
            lanes: Lanes::default(),
            waits: 0,
            mac: VecDeque::new(),
            shut: [0; CLASSES + 1],
            holds: Holds::default(),
            paused: PausedByPeer::default(),
            faults: None,
            captured: false,
            watched: false,
            tells: false,
            control_frames: 0,
            stats: PortStats::default(),
        };
        Port {
            backlog: 0,
            open: u32::MAX,
            busy: false,
            release_at_end: false,
            special: false,
            mac_waits: false,
            in_turn: false,
            ordered: false,
            has_lanes: false,
            up: true,
            current: NIL,
            peer,
            belongs,
            local,
            wire: 0,
            delay,
            peer_latency: Time::ZERO,
            arrivals: Fingerprint::default(),
            rest: Box::new(rest),
            queues: [Fifo::default(); CLASSES],
            serialiser: Serialiser::new(rate, clock),
            tx_frames: 0,
            tx_data_frames: 0,
            tx_bytes: 0,
            marked_frames: 0,
            max_egress_bytes: 0,
            max_ingress_bytes: 0,
            wake_at: Time::NEVER,
            free_at: Time::ZERO,
        }
    }

    /// Its own queues are served in turn by these weights, those of weight 0 before all others.
    pub fn set_weights(&mut self, weights: [u32; CLASSES], max_frame: u64) {
        let deficit = Deficit { weights, deficit: [0; CLASSES], quantum: max_frame.max(1), turn: 0 };
        self.set_turns(Turns::ByWeight(deficit));
    }

    /// Queues of one class are served in turn, frame by frame; classes by strict priority.
    pub fn set_queues(&mut self, queues: HostQueues) {
        if queues.several() {
            self.set_turns(Turns::Within(queues, 0));
        }
    }

    fn set_turns(&mut self, turns: Turns) {
        self.rest.turns = Some(turns);
        self.in_turn = true;
    }

    /// Keeps flows in order that move between queues.
    pub fn keep_in_order(&mut self, lineup: Lineup) {
        self.rest.lineup = Some(Box::new(lineup));
        self.ordered = true;
    }

    /// A frame that goes before everything else.
    pub fn push_mac(&mut self, frame: Control) {
        self.rest.mac.push_back(frame);
        self.mac_waits = true;
    }

    pub fn pop_mac(&mut self) -> Option<Control> {
        let frame = self.rest.mac.pop_front();
        self.mac_waits = !self.rest.mac.is_empty();
        frame
    }

    /// Keeps those of the waiting frames of which something is `left`.
    pub fn keep_mac(&mut self, left: impl FnMut(&mut Control) -> bool) {
        self.rest.mac.retain_mut(left);
        self.mac_waits = !self.rest.mac.is_empty();
    }

    pub fn set_up(&mut self, up: bool) {
        self.up = up;
        let rest = &self.rest;
        self.special = !up || rest.faults.is_some() || rest.captured || rest.watched || rest.tells;
    }

    /// From now on frames here are captured.
    pub fn capture(&mut self) {
        self.rest.captured = true;
        self.special = true;
    }

    /// From now on whoever waits here is told of what happens here.
    pub fn watch(&mut self) {
        self.rest.watched = true;
        self.special = true;
    }

    /// From now on mechanisms are told what leaves here.
    pub fn tell_events(&mut self) {
        self.rest.tells = true;
        self.special = true;
    }

    /// The faults of the link out of this port, made by `new` if there were none.
    pub fn faults(&mut self, new: impl FnOnce() -> LinkFaults) -> &mut LinkFaults {
        self.special = true;
        self.rest.faults.get_or_insert_with(new)
    }

    /// Whether a frame that is sent now, or later, may be lost on the link.
    pub fn may_lose(&self) -> bool {
        let faults = self.rest.faults.as_ref();
        !self.up
            || faults.is_some_and(|f| {
                f.loss.iter().any(|(_, share)| *share > 0.0) || f.drop_nth.iter().any(|(_, left)| *left > 0)
            })
    }

    /// All counters at `now`.
    pub fn stats(&self, now: Time) -> PortStats {
        PortStats {
            tx_frames: self.tx_frames,
            tx_data_frames: self.tx_data_frames,
            tx_bytes: self.tx_bytes,
            marked_frames: self.marked_frames,
            max_egress_bytes: self.max_egress_bytes,
            max_ingress_bytes: self.max_ingress_bytes,
            paused_ps: self.rest.paused.total + self.rest.paused.to.min(now).since(self.rest.paused.from).0,
            ..self.rest.stats
        }
    }

    /// A packet comes to wait in a queue.
    #[inline(always)]
    pub fn enqueue(&mut self, slab: &mut Slab, queue: usize, ix: Ix) {
        self.push(slab, queue, ix);
        if self.ordered {
            self.line_up(slab, queue, ix);
        }
    }

    /// A packet has come to wait for this port; where that is not in the queue, it is pushed there once it may go.
    #[cold]
    pub fn line_up(&mut self, slab: &Slab, queue: usize, ix: Ix) {
        let Some(lineup) = &mut self.rest.lineup else { return };
        lineup.join(&slab[ix], queue);
        if self.queues[queue].head() == Some(ix) && !lineup.may_go(&slab[ix], queue) {
            self.rest.waits |= 1 << queue;
            self.set_open();
        }
    }

    /// A packet has left its queue: others of its flow may go now, and the next head of the queue may not.
    #[cold]
    fn passed(&mut self, slab: &Slab, queue: usize, slot: &Slot) {
        let Some(lineup) = &mut self.rest.lineup else { return };
        let mattered = lineup.matters();
        lineup.leave(slot, queue);
        if mattered {
            self.look_who_waits(slab);
        }
    }

    /// All that waited for a queue of this port, here or elsewhere, has been dropped.
    #[cold]
    pub fn line_up_without(&mut self, slab: &Slab, queue: usize, dropped: &[Ix]) {
        let Some(lineup) = &mut self.rest.lineup else { return };
        dropped.iter().for_each(|ix| lineup.lose(&slab[*ix], queue));
        self.look_who_waits(slab);
    }

    fn look_who_waits(&mut self, slab: &Slab) {
        let Some(lineup) = &self.rest.lineup else { return };
        let waits = |queue: usize| {
            let head = self.queues[queue].head();
            head.is_some_and(|head| !lineup.may_go(&slab[head], queue))
        };
        self.rest.waits = (0..CLASSES).fold(0, |mask, queue| if waits(queue) { mask | 1 << queue } else { mask });
        self.set_open();
    }

    /// Whether a packet that waits elsewhere may go before everything else of its flow.
    pub fn may_go(&self, slot: &Slot, queue: usize) -> bool {
        self.rest.lineup.as_ref().is_none_or(|lineup| lineup.may_go(slot, queue))
    }

    #[inline(always)]
    pub fn push(&mut self, slab: &mut Slab, queue: usize, ix: Ix) {
        self.fifo(queue).push(slab, ix);
        self.backlog |= 1 << queue;
    }

    #[inline(always)]
    fn fifo(&mut self, queue: usize) -> &mut Fifo {
        if queue < CLASSES { &mut self.queues[queue] } else { &mut self.rest.sub_queues[queue - CLASSES] }
    }

    /// Whether a queue holds a packet and its gates are open.
    #[inline(always)]
    pub fn has_work(&self) -> bool {
        self.backlog & self.open != 0
    }

    /// Whether that is so, or a sub-queue holds a packet.
    #[inline(always)]
    pub fn may_have_work(&self) -> bool {
        self.backlog & (self.open | SUB_QUEUES) != 0
    }

    /// Whether a sub-queue that is `open` holds a packet.
    #[inline(always)]
    pub fn has_express(&self, open: u32) -> bool {
        self.backlog & open & SUB_QUEUES != 0
    }

    /// The packet behind which the next one of this queue will wait.
    #[inline(always)]
    pub fn tail(&self, queue: usize) -> Option<Ix> {
        self.queues[queue % CLASSES].tail()
    }

    /// One of its queues.
    #[inline(always)]
    pub fn queue(&self, queue: usize) -> &Fifo {
        if queue < CLASSES { &self.queues[queue] } else { &self.rest.sub_queues[queue - CLASSES] }
    }

    /// All sub-queues, with their classes.
    pub fn sub_queues(&self) -> impl Iterator<Item = (u8, &Fifo)> {
        (0..CLASSES as u8).cycle().zip(&self.rest.sub_queues)
    }

    /// The packet of a class that would go first, sub-queues included.
    pub fn first_of(&self, class: usize) -> Option<Ix> {
        let sub_queues = (class..self.rest.sub_queues.len()).step_by(CLASSES).rev();
        let first = sub_queues.filter_map(|at| self.rest.sub_queues[at].head()).next();
        first.or_else(|| self.queues[class].head())
    }

    /// Takes all packets out of a queue.
    pub fn take_queue(&mut self, queue: usize) -> Fifo {
        self.backlog &= !(1 << queue);
        if let Some(turns) = &mut self.rest.turns {
            turns.emptied(queue);
        }
        std::mem::take(&mut self.queues[queue])
    }

    #[inline(always)]
    pub fn touch(&self) -> u64 {
        u64::from(self.peer) ^ self.tx_frames
    }

    /// The packet that will probably be served next.
    #[inline(always)]
    pub fn head(&self) -> Option<Ix> {
        self.backlog.checked_ilog2().and_then(|queue| self.queue(queue as usize).head())
    }

    /// Takes the packet that the scheduler serves next, or says when to look again.
    #[inline(always)]
    pub fn next(&mut self, slab: &Slab, now: Time) -> Next {
        self.next_of(slab, now, |_, _| true)
    }

    /// The same, where a packet may start only if `may_start` says so of it and its queue.
    #[inline(always)]
    pub fn next_of(&mut self, slab: &Slab, now: Time, may_start: impl Fn(Queue, &Packet) -> bool) -> Next {
        let mut mask = self.backlog & self.open;
        let mut earliest = Time::NEVER;
        while mask != 0 {
            let queue = if self.in_turn { self.choose(slab, mask) } else { highest(mask) };
            let fifo = self.fifo(queue);
            let Some(head) = fifo.head() else { break };
            let slot = &slab[head];
            if slot.ready <= now && !may_start(Queue((queue % CLASSES) as u8), &slot.pkt) {
                mask &= !(1 << queue);
                continue;
            }
            if slot.ready <= now {
                if fifo.drop_head(slab, head) {
                    self.backlog &= !(1 << queue);
                }
                if self.in_turn {
                    self.served(slab, queue, u64::from(slot.pkt.size));
                }
                if self.ordered {
                    self.passed(slab, queue, slot);
                }
                return Next::Packet(head);
            }
            earliest = earliest.min(slot.ready);
            mask &= !(1 << queue);
        }
        if earliest == Time::NEVER { Next::Nothing } else { Next::Wait(earliest) }
    }

    #[cold]
    fn choose(&mut self, slab: &Slab, mask: u32) -> usize {
        let queues = &self.queues;
        let size = |queue: usize| queues[queue].head().map_or(0, |head| u64::from(slab[head].pkt.size));
        match &mut self.rest.turns {
            Some(turns) if mask & SUB_QUEUES == 0 => turns.choose(mask, size),
            _ => highest(mask),
        }
    }

    #[cold]
    fn served(&mut self, slab: &Slab, queue: usize, size: u64) {
        if queue < CLASSES
            && let Some(turns) = &mut self.rest.turns
        {
            let next = self.queues[queue].head().map(|head| u64::from(slab[head].pkt.size));
            turns.served(queue, size, next);
        }
    }

    /// Whether a frame is on the wire after `now`.
    pub fn sends_after(&self, now: Time) -> bool {
        self.busy || self.free_at > now
    }

    /// Whether nothing waits in a class's own queue, or is on the wire.
    pub fn is_drained(&self, now: Time) -> bool {
        let in_line = self.rest.lineup.as_ref().is_some_and(|lineup| !lineup.is_empty());
        self.backlog & !SUB_QUEUES == 0 && !self.mac_waits && !self.sends_after(now) && !in_line
    }

    pub fn shut(&mut self, queue: usize, owner: Owner) {
        self.rest.shut[queue] |= 1 << owner.0;
        self.set_open();
    }

    pub fn open(&mut self, queue: usize, owner: Owner) {
        self.rest.shut[queue] &= !(1 << owner.0);
        self.set_open();
    }

    /// The first of those who have shut a queue, or the whole port.
    pub fn shut_by(&self, queue: u8) -> Option<Owner> {
        first_owner(self.rest.shut[usize::from(queue) % CLASSES] | self.rest.shut[CLASSES])
    }

    /// Whether every gate is open.
    pub fn all_open(&self) -> bool {
        self.rest.shut.iter().all(|owners| *owners == 0)
    }

    fn set_open(&mut self) {
        self.open = self.gates() & !self.rest.waits;
    }

    /// Queues whose gates are all open, a bit each.
    pub fn gates(&self) -> u32 {
        let whole = self.rest.shut[CLASSES] == 0;
        let classes = (0..CLASSES).fold(0, |m, q| if whole && self.rest.shut[q] == 0 { m | 1 << q } else { m });
        // A class's gate is that of all its queues.
        0x0101_0101 * classes
    }

    /// The queue of this port in which those are for which a packet that would be next in `queue` has to wait, to keep its flow in order.
    pub fn waits_for(&self, slot: &Slot, queue: u8) -> Option<u8> {
        self.rest.lineup.as_ref().and_then(|lineup| lineup.waits_for(slot, usize::from(queue)))
    }

    /// The neighbour's pause has arrived and will last until `until` (`ZERO`: it has resumed).
    pub fn held_by_peer(&mut self, class: Option<Class>, now: Time, until: Time) {
        let i = class.map_or(CLASSES, |c| usize::from(c.0));
        let Rest { paused: held, stats, .. } = &mut *self.rest;
        if until == Time::ZERO {
            held.until[i] = Time::ZERO;
        } else {
            if held.until[i] <= now {
                stats.pauses_received += 1;
            }
            if held.to <= now {
                held.total += held.to.since(held.from).0;
                held.from = now;
            }
            held.until[i] = until;
        }
        let end = held.until.iter().copied().max().unwrap_or(Time::ZERO);
        held.to = if end > now { end } else { held.to.min(now) };
    }

    /// Whether the neighbour has held a queue until now.
    pub fn held_until(&self, queue: u8, now: Time) -> bool {
        [usize::from(queue) % CLASSES, CLASSES].into_iter().any(|i| self.rest.paused.until[i] >= now)
    }

    /// Classes (bits 0 to 7) and link (bit 8) that the neighbour holds now.
    pub fn held_now(&self, now: Time) -> u16 {
        (0..=CLASSES).fold(0, |m, i| if self.rest.paused.until[i] > now { m | 1 << i } else { m })
    }
}

/// The first of the owners whose bits are set.
pub(crate) fn first_owner(owners: Owners) -> Option<Owner> {
    (owners != 0).then(|| Owner(owners.trailing_zeros() as u8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::data;
    use crate::packet::HostId;

    fn nic() -> Port {
        Port::new(Belongs::Host(0), 0, 1, Rate::gbps(100), Time::ZERO, None)
    }

    /// One packet in each of 32 queues: they leave by falling numbers, and those of a class whose gate is shut stay, all four of them.
    #[test]
    fn sub_queues_go_first_behind_the_gate_of_their_class() {
        let (mut slab, mut port) = (Slab::default(), nic());
        port.rest.sub_queues = vec![Fifo::default(); 3 * CLASSES];
        let all: Vec<Ix> =
            (0..32).map(|flow| slab.insert(data(HostId(0), HostId(1), flow, Class(flow as u8 % 8), 1000))).collect();
        all.iter().enumerate().for_each(|(queue, ix)| port.enqueue(&mut slab, queue, *ix));
        port.shut(3, Owner(0));
        let mut left = Vec::new();
        while let Next::Packet(ix) = port.next(&slab, Time::ZERO) {
            left.push(ix);
        }
        assert_eq!(left, all.iter().rev().filter(|ix| *ix % 8 != 3).copied().collect::<Vec<_>>());
        assert_eq!((port.backlog, port.has_work(), port.is_drained(Time::ZERO)), (0x0808_0808, false, false));
        port.open(3, Owner(0));
        assert_eq!((port.next(&slab, Time::ZERO), port.open), (Next::Packet(all[27]), u32::MAX));
    }

    /// At a NIC whose queues take turns, what is express goes before all of them.
    #[test]
    fn what_is_express_takes_no_turn() {
        let (mut slab, mut port) = (Slab::default(), nic());
        port.set_queues(HostQueues::new(Class(3), &[Class(3), Class(5)]).expect("two priorities"));
        let mut frame = |flow| slab.insert(data(HostId(0), HostId(1), flow, Class(3), 1000));
        let [three, five, ack] = [0, 1, 2].map(&mut frame);
        for (queue, ix) in [(3, three), (5, five), (express(0), ack)] {
            port.enqueue(&mut slab, queue, ix);
        }
        assert!(port.has_express(port.open));
        let left = [(); 3].map(|()| port.next(&slab, Time::ZERO));
        assert_eq!(left, [ack, three, five].map(Next::Packet));
        assert!(!port.has_express(port.open) && port.is_drained(Time::ZERO));
    }
}
