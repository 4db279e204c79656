//! A port: the sending side of a link, with its queues, gates, scheduler, pause state and counters.

use crate::hold::Holds;
use crate::hooks::Owner;
use crate::packet::{CLASSES, Class, Control};
use crate::record::PortStats;
use crate::slab::{Fifo, Ix, NIL, Slab};
use crate::units::{Rate, Serialiser};
use backwater_engine::{Fingerprint, Rng, Time};
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

pub(crate) struct Port {
    /// Queues that hold a packet, a bit each.
    backlog: u8,
    /// Queues whose gates are all open, a bit each.
    pub open: u8,
    pub busy: bool,
    pub release_at_end: bool,
    /// The link carries frames.
    pub up: bool,
    /// The packet on the wire.
    pub current: Ix,
    /// Global number of the port at the other end.
    pub peer: u32,
    pub belongs: Belongs,
    /// Number within its node.
    pub local: u16,
    pub serialiser: Serialiser,
    pub delay: Time,
    /// Latency that a frame spends at the other end before any counter sees it.
    pub peer_latency: Time,
    queues: [Fifo; CLASSES],
    weights: Option<Box<Deficit>>,
    /// Earliest pending wake-up.
    pub wake_at: Time,
    /// Frames that wait to go before everything else.
    pub mac: VecDeque<Control>,
    /// Owners that hold each queue shut, a bit each; the last entry is the whole port.
    shut: [u16; CLASSES + 1],
    pub holds: Holds,
    held: Held,
    pub faults: Option<Box<LinkFaults>>,
    pub stats: PortStats,
    /// What has arrived here, and when.
    pub lane: Fingerprint,
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
    pub loss: f64,
    pub rng: Rng,
    /// What to count, and how many until the one that is lost.
    pub drop_nth: Vec<(crate::spec::FrameKind, u64)>,
}

/// What the neighbour holds, for the statistics.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    until: [Time; CLASSES + 1],
    from: Time,
    to: Time,
    total: u64,
}

impl Port {
    pub fn new(belongs: Belongs, local: u16, peer: u32, rate: Rate, delay: Time) -> Port {
        Port {
            backlog: 0,
            open: u8::MAX,
            busy: false,
            release_at_end: false,
            up: true,
            current: NIL,
            peer,
            belongs,
            local,
            serialiser: Serialiser::new(rate),
            delay,
            peer_latency: Time::ZERO,
            queues: [Fifo::default(); CLASSES],
            weights: None,
            wake_at: Time::NEVER,
            mac: VecDeque::new(),
            shut: [0; CLASSES + 1],
            holds: Holds::default(),
            held: Held::default(),
            faults: None,
            stats: PortStats::default(),
            lane: Fingerprint::default(),
        }
    }

    pub fn set_weights(&mut self, weights: [u32; CLASSES], max_frame: u64) {
        let deficit = Deficit { weights, deficit: [0; CLASSES], quantum: max_frame.max(1), turn: 0 };
        self.weights = Some(Box::new(deficit));
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

    /// Takes the packet that the scheduler serves next, or says when to look again.
    #[inline]
    pub fn next(&mut self, slab: &Slab, now: Time) -> Next {
        let mut mask = self.backlog & self.open;
        let mut earliest = Time::NEVER;
        while mask != 0 {
            let queue = self.choose(slab, mask);
            let head = self.queues[queue].head().unwrap_or(NIL);
            let ready = slab[head].ready;
            if ready <= now {
                self.queues[queue].pop(slab);
                if self.queues[queue].is_empty() {
                    self.backlog &= !(1 << queue);
                }
                self.served(slab, queue, u64::from(slab[head].pkt.size));
                return Next::Packet(head);
            }
            earliest = earliest.min(ready);
            mask &= !(1 << queue);
        }
        if earliest == Time::NEVER { Next::Nothing } else { Next::Wait(earliest) }
    }

    #[inline(always)]
    fn choose(&mut self, slab: &Slab, mask: u8) -> usize {
        let highest = |mask: u8| 7 - mask.leading_zeros() as usize;
        let Some(d) = &mut self.weights else { return highest(mask) };
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

    #[inline(always)]
    fn served(&mut self, slab: &Slab, queue: usize, size: u64) {
        let Some(d) = &mut self.weights else { return };
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

    /// Whether nothing waits in any queue.
    pub fn is_drained(&self) -> bool {
        self.backlog == 0 && self.mac.is_empty() && !self.busy
    }

    pub fn shut(&mut self, queue: usize, owner: Owner) {
        self.shut[queue] |= 1 << owner.0;
        self.set_open();
    }

    pub fn open(&mut self, queue: usize, owner: Owner) {
        self.shut[queue] &= !(1 << owner.0);
        self.set_open();
    }

    /// Whether every gate is open.
    pub fn all_open(&self) -> bool {
        self.shut.iter().all(|owners| *owners == 0)
    }

    fn set_open(&mut self) {
        let whole = self.shut[CLASSES] == 0;
        self.open = (0..CLASSES).fold(0, |m, q| if whole && self.shut[q] == 0 { m | 1 << q } else { m });
    }

    /// The neighbour's pause has arrived and will last until `until` (`ZERO`: it has resumed).
    pub fn held_by_peer(&mut self, class: Option<Class>, now: Time, until: Time) {
        let i = class.map_or(CLASSES, |c| usize::from(c.0));
        if until == Time::ZERO {
            self.held.until[i] = Time::ZERO;
        } else {
            if self.held.until[i] <= now {
                self.stats.pauses_received += 1;
            }
            if self.held.to <= now {
                self.held.total += self.held.to.since(self.held.from).0;
                self.held.from = now;
            }
            self.held.until[i] = until;
        }
        let end = self.held.until.iter().copied().max().unwrap_or(Time::ZERO);
        if end > now {
            self.held.to = end;
        } else {
            self.held.to = self.held.to.min(now);
        }
    }

    /// Classes (bits 0 to 7) and link (bit 8) that the neighbour holds now.
    pub fn held_now(&self, now: Time) -> u16 {
        (0..=CLASSES).fold(0, |m, i| if self.held.until[i] > now { m | 1 << i } else { m })
    }

    /// ps until `now` during which the neighbour held at least one class.
    pub fn paused_ps(&self, now: Time) -> u64 {
        self.held.total + self.held.to.min(now).since(self.held.from).0
    }
}
