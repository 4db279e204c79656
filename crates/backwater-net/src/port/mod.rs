//! A port: the sending side of a link, with its queues, gates, scheduler, pause state and counters.

pub mod hold;
pub mod lineup;
pub mod queues;

use crate::hooks::{Owner, Owners};

use crate::packet::{CLASSES, Class, Control, Packet, Queue};

use crate::record::PortStats;
use crate::slab::{Fifo, Ix, NIL, Slab, Slot};
use crate::units::{Rate, Serialiser};
use backwater_engine::{Fingerprint, Rng, Time};
use hold::Holds;
use lineup::Lineup;
use queues::HostQueues;
use std::collections::VecDeque;

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

/// What every frame touches, in three cache lines: state, queues, counters. All else is in [`Rest`].
#[repr(C, align(128))]
pub(crate) struct Port {
    /// Queues that hold a packet, a bit each.
    backlog: u8,
    /// Queues whose gates are all open, and whose heads need not wait for others of their flows, a bit each.
    pub open: u8,
    /// A frame is on the wire, and an event will say when that has left.
    pub busy: bool,
    pub release_at_end: bool,
    /// Something is done to frames here that is not done elsewhere: the link is down or has faults, or frames are captured.
    pub special: bool,
    /// Frames of MAC control wait in `rest.mac`.
    pub mac_waits: bool,
    weighted: bool,
    /// Flows move between its queues, and are kept in order.
    pub ordered: bool,
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
    weights: Option<Deficit>,
    /// Where one class has several queues: which, and whose turn was last.
    turns: Option<(HostQueues, u8)>,
    /// The queues of the host at the other end.
    pub peer_queues: HostQueues,
    lineup: Option<Box<Lineup>>,
    /// Queues whose heads wait for others of their flows, a bit each.
    waits: u8,
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

/// Deficit weighted round robin (Shreedhar and Varghese, SIGCOMM 1995).
#[derive(Clone, Debug)]
struct Deficit {
    weights: [u32; CLASSES],
    deficit: [u64; CLASSES],
    /// \[bytes\] added per unit of weight and round: no frame is longer.
    quantum: u64,
    turn: usize,
}

/// Faults of the link out of a port.
#[derive(Clone, Debug)]
pub(crate) struct LinkFaults {
    /// Which frames, or all, are lost with which probability.
    pub loss: Vec<(Option<crate::spec::FrameKind>, f64)>,
    pub rng: Rng,
    /// What to count, and how many until the one that is lost.
    pub drop_nth: Vec<(crate::spec::FrameKind, u64)>,
    /// When the link last went down.
    pub down_at: Option<Time>,
    /// Rates that the link had, and until when frames left at each; `NEVER`, of the last only: one is still on its way out.
    former: Vec<(Time, Serialiser)>,
}

impl LinkFaults {
    /// No faults yet.
    pub fn new(rng: Rng) -> LinkFaults {
        LinkFaults { loss: Vec::new(), rng, drop_nth: Vec::new(), down_at: None, former: Vec::new() }
    }

    /// The rate changes at `now`, `busy` while a frame is on its way out. What left a `delay` ago has arrived, and been looked at.
    pub fn changes(&mut self, before: Serialiser, busy: bool, now: Time, delay: Time) {
        self.former.retain(|(until, _)| until.after(delay) >= now);
        // The frame that is still on its way out began before `before` was the rate: nothing was sent at it.
        if self.former.last().is_none_or(|(until, _)| *until != Time::NEVER) {
            self.former.push((if busy { Time::NEVER } else { now }, before));
        }
    }

    /// A frame begins at `now`: what was sent at a former rate has left.
    pub fn begins(&mut self, now: Time) {
        if let Some((until, _)) = self.former.last_mut() {
            *until = now.min(*until);
        }
    }

    /// How a frame was sent that had left at `end`, where the rate is `current` now.
    pub fn sent_by(&self, end: Time, current: Serialiser) -> Serialiser {
        self.former.iter().find(|(until, _)| end <= *until).map_or(current, |(_, former)| *former)
    }
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
        let rest = Rest {
            weights: None,
            turns: None,
            peer_queues: HostQueues::default(),
            lineup: None,
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
            open: u8::MAX,
            busy: false,
            release_at_end: false,
            special: false,
            mac_waits: false,
            weighted: false,
            ordered: false,
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

    pub fn set_weights(&mut self, weights: [u32; CLASSES], max_frame: u64) {
        let deficit = Deficit { weights, deficit: [0; CLASSES], quantum: max_frame.max(1), turn: 0 };
        self.rest.weights = Some(deficit);
        self.weighted = true;
    }

    /// Queues of one class are served in turn, frame by frame; classes by strict priority.
    pub fn set_queues(&mut self, queues: HostQueues) {
        self.rest.turns = queues.several().then_some((queues, 0));
        self.weighted |= queues.several();
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
        self.queues[queue].push(slab, ix);
        self.backlog |= 1 << queue;
    }

    /// Whether a queue holds a packet and its gates are open.
    #[inline(always)]
    pub fn has_work(&self) -> bool {
        self.backlog & self.open != 0
    }

    /// The packet behind which the next one of this queue will wait.
    #[inline(always)]
    pub fn tail(&self, queue: usize) -> Option<Ix> {
        self.queues[queue % CLASSES].tail()
    }

    /// One of its queues.
    pub fn queue(&self, queue: usize) -> &Fifo {
        &self.queues[queue]
    }

    /// Takes all packets out of a queue.
    pub fn take_queue(&mut self, queue: usize) -> Fifo {
        self.backlog &= !(1 << queue);
        if let Some(d) = &mut self.rest.weights {
            d.deficit[queue] = 0;
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
        self.backlog.checked_ilog2().and_then(|queue| self.queues[queue as usize].head())
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
            let queue = if self.weighted { self.choose_weighted(slab, mask) } else { highest(mask) };
            let fifo = &mut self.queues[queue % CLASSES];
            let Some(head) = fifo.head() else { break };
            let slot = &slab[head];
            if slot.ready <= now && !may_start(Queue(queue as u8), &slot.pkt) {
                mask &= !(1 << queue);
                continue;
            }
            if slot.ready <= now {
                if fifo.drop_head(slab, head) {
                    self.backlog &= !(1 << queue);
                }
                if self.weighted {
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
    fn choose_weighted(&mut self, slab: &Slab, mask: u8) -> usize {
        if let Some((queues, last)) = &mut self.rest.turns {
            *last = queues.next(mask, *last);
            return usize::from(*last);
        }
        let Some(d) = &mut self.rest.weights else { return highest(mask) };
        let strict = (0..CLASSES).fold(0u8, |m, q| if d.weights[q] == 0 { m | 1 << q } else { m });
        if mask & strict != 0 {
            return highest(mask & strict);
        }
        loop {
            let q = d.turn;
            if mask & (1 << q) != 0 {
                let size = self.queues[q].head().map_or(0, |head| u64::from(slab[head].pkt.size));
                if d.deficit[q] >= size {
                    return q;
                }
                d.deficit[q] += u64::from(d.weights[q]) * d.quantum;
                if d.deficit[q] >= size {
                    return q;
                }
            }
            d.turn = (q + 1) % CLASSES;
        }
    }

    #[cold]
    fn served(&mut self, slab: &Slab, queue: usize, size: u64) {
        let Some(d) = &mut self.rest.weights else { return };
        if d.weights[queue] == 0 {
            return;
        }
        d.deficit[queue] -= size.min(d.deficit[queue]);
        match self.queues[queue].head() {
            None => d.deficit[queue] = 0,
            Some(head) if d.deficit[queue] >= u64::from(slab[head].pkt.size) => return,
            Some(_) => {}
        }
        d.turn = (queue + 1) % CLASSES;
    }

    /// Whether a frame is on the wire after `now`.
    pub fn sends_after(&self, now: Time) -> bool {
        self.busy || self.free_at > now
    }

    /// Whether nothing waits in any queue, or is on the wire.
    pub fn is_drained(&self, now: Time) -> bool {
        let in_line = self.rest.lineup.as_ref().is_some_and(|lineup| !lineup.is_empty());
        self.backlog == 0 && !self.mac_waits && !self.sends_after(now) && !in_line
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
    pub fn gates(&self) -> u8 {
        let whole = self.rest.shut[CLASSES] == 0;
        (0..CLASSES).fold(0, |m, q| if whole && self.rest.shut[q] == 0 { m | 1 << q } else { m })
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

/// The highest class in a mask that is not empty.
#[inline(always)]
pub(crate) fn highest(mask: u8) -> usize {
    mask.ilog2() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link whose rate flaps 10,000 times keeps what may still be on it: 1 us holds 10 changes that are 100 ns apart.
    #[test]
    fn rates_are_kept_while_frames_may_be_under_way() {
        let mut faults = LinkFaults::new(backwater_engine::rng::stream(1, "link loss", 0));
        let rate = |n: u64| Serialiser::new(Rate::gbps(1 + n % 2), None);
        let at = |n: u64| Time::ns(100 * n);
        for n in 0..10_000 {
            faults.begins(at(n));
            faults.changes(rate(n), false, at(n), Time::us(1));
        }
        assert!(faults.former.len() <= 12, "{}", faults.former.len());
        // What left between two changes left at the rate between them; what leaves after the last one, at that of now.
        assert_eq!(faults.sent_by(Time::ns(999_650), rate(0)).rate(), rate(9_997).rate());
        assert_eq!(faults.sent_by(Time::ns(999_750), rate(0)).rate(), rate(9_998).rate());
        faults.begins(at(10_000));
        assert_eq!(faults.sent_by(at(10_001), Serialiser::new(Rate::gbps(7), None)).rate(), Rate::gbps(7));
    }

    /// Of two changes while one frame leaves, the first says how it is sent.
    #[test]
    fn a_frame_leaves_at_the_rate_at_which_it_began() {
        let mut faults = LinkFaults::new(backwater_engine::rng::stream(1, "link loss", 0));
        let rate = |gbps| Serialiser::new(Rate::gbps(gbps), None);
        faults.changes(rate(1), true, Time::us(1), Time::us(1));
        faults.changes(rate(2), true, Time::us(2), Time::us(1));
        assert_eq!(faults.sent_by(Time::us(9), rate(3)).rate(), Rate::gbps(1));
        faults.begins(Time::us(9));
        assert_eq!(faults.sent_by(Time::us(10), rate(3)).rate(), Rate::gbps(3));
    }
}
