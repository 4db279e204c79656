//! Counters of one end of a link: what it may send, and what it has received and freed. Internally they do not wrap; messages carry 20
//! bits.

use super::wire::Word;
use backwater_engine::Time;
use backwater_net::hooks::Count;
use backwater_net::packet::{CLASSES, Class, Control, Port};
use serde::{Deserialize, Serialize};

/// CC_Updates in a row that a sender sends without any freed credit: about a second of the default timer.
pub const PATIENCE: u32 = 4_096;

/// The part of a counter that a message carries: its last 20 bits.
const SAID: u64 = (1 << 20) - 1;

/// An action after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Act {
    Nothing,
    Say(Control),
    Look(Time),
    Synchronise(Time),
}

const NOTHING: [Act; 2] = [Act::Nothing, Act::Nothing];

/// The constants of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rates {
    /// VCs under credit, a bit each
    pub classes: u8,
    /// CL
    pub limit: u64,
    /// CL_p
    pub port_limit: u64,
    /// \[bytes\] credit_size
    pub credit: u64,
    /// \[bytes\]
    pub overhead: u64,
    /// CF_MIN_SPACING as a time
    pub least: Time,
    /// CF_MAX_SPACING as a time
    pub most: Time,
    /// CC_MESSAGE_TIMER
    pub timer: Time,
}

/// The sending side of one VC.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Sends {
    /// CC
    consumed: u64,
    /// CF
    freed: u64,
    /// c of the packet that was sent last
    last: u64,
}

impl Sends {
    /// CU
    fn used(self) -> u64 {
        self.consumed - self.freed
    }
}

/// The receiving side of one VC.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Receives {
    /// CC
    consumed: u64,
    /// credits of the frames in the ingress buffer
    held: u64,
    /// CF
    freed: u64,
    /// CF that the other end was last notified of
    notified: u64,
    /// When the notification is repeated
    again: Time,
}

/// The end of a link.
#[derive(Clone, Debug, backwater_derive::State)]
pub(super) struct Link {
    #[state(fixed)]
    rates: Rates,
    sends: [Sends; CLASSES],
    receives: [Receives; CLASSES],
    /// The earliest time of the next CF_Update.
    spaced: Time,
    /// When a requested check is due; `NEVER`: none is.
    looks: Time,
    /// The VC of the last notification.
    turn: usize,
    /// True if a CC_Update is due.
    synchronises: bool,
    /// Frames are lost while the link is down, and take no credits.
    down: bool,
    /// CC_Updates since anything was last sent or freed.
    vain: u32,
    waits: u64,
    most_used: u64,
    cf_updates: u64,
    cc_updates: u64,
    repaired: u64,
}

impl Link {
    pub fn new(rates: Rates) -> Link {
        let receives = Receives { consumed: 0, held: 0, freed: 0, notified: 0, again: Time::NEVER };
        Link {
            rates,
            sends: [Sends::default(); CLASSES],
            receives: [receives; CLASSES],
            spaced: Time::ZERO,
            looks: Time::NEVER,
            turn: 0,
            synchronises: false,
            down: false,
            vain: 0,
            waits: 0,
            most_used: 0,
            cf_updates: 0,
            cc_updates: 0,
            repaired: 0,
        }
    }

    fn counts_of(&self, class: Class) -> Option<usize> {
        (self.rates.classes & 1 << class.0 != 0).then_some(usize::from(class.0))
    }

    /// c(p)
    fn cost(&self, size: u32) -> u64 {
        // SAI: c(p) = ceil((size + overhead) / credit_size).
        (u64::from(size) + self.rates.overhead).div_ceil(self.rates.credit)
    }

    /// CU_p
    fn used(&self) -> u64 {
        self.sends.iter().map(|vc| vc.used()).sum()
    }

    /// UEC 1.0 5.2 (SAI): CU_i + c <= CL_i, and CU_p + c <= CL_p.
    pub fn may_send(&self, class: Class, size: u32) -> bool {
        let Some(vc) = self.counts_of(class).filter(|_| !self.down) else { return true };
        let cost = self.cost(size);
        self.sends[vc].used() + cost <= self.rates.limit
            && (self.rates.port_limit == u64::MAX || self.used() + cost <= self.rates.port_limit)
    }

    /// A packet begins to leave.
    pub fn sent(&mut self, class: Class, size: u32, now: Time) -> [Act; 2] {
        let Some(vc) = self.counts_of(class).filter(|_| !self.down) else { return NOTHING };
        let cost = self.cost(size);
        // SAI: CC_i += c(p).
        self.sends[vc].consumed += cost;
        self.sends[vc].last = cost;
        self.most_used = self.most_used.max(self.sends[vc].used());
        self.vain = 0;
        if std::mem::replace(&mut self.synchronises, true) {
            return NOTHING;
        }
        [Act::Synchronise(now + self.rates.timer), Act::Nothing]
    }

    /// A CF_Update has arrived.
    pub fn freed(&mut self, class: usize, reported: u32) -> [Act; 2] {
        let Some(vc) = self.sends.get_mut(class) else { return NOTHING };
        let more = u64::from(reported).wrapping_sub(vc.freed) & SAID;
        // SAI: CF_i += (CF_rx - CF_i) mod 2^20. Only credits in use can be freed.
        if more > 0 && more <= vc.used() {
            self.waits += u64::from(vc.used() + vc.last > self.rates.limit);
            vc.freed += more;
            self.vain = 0;
        }
        NOTHING
    }

    /// CC_MESSAGE_TIMER has expired.
    pub fn synchronise(&mut self, now: Time) -> [Act; 2] {
        // SAI: CC_Update(CC of all VCs), every CC_MESSAGE_TIMER. Stopping after several without effect is our choice.
        self.synchronises = self.used() > 0 && self.vain < PATIENCE;
        if !self.synchronises {
            return NOTHING;
        }
        self.vain += 1;
        self.cc_updates += 1;
        let reported = self.sends.map(|vc| (vc.consumed & SAID) as u32);
        [Act::Say(Word::consumed(reported)), Act::Synchronise(now + self.rates.timer)]
    }

    /// The link goes down, or is up again: the receiver then learns at once what was used, and credits of lost frames are free.
    pub fn is_up(&mut self, up: bool, now: Time) -> [Act; 2] {
        self.down = !up;
        if self.down || self.used() == 0 {
            return NOTHING;
        }
        self.vain = 0;
        let due = std::mem::replace(&mut self.synchronises, true);
        let [reported, again] = self.synchronise(now);
        [reported, if due { Act::Nothing } else { again }]
    }

    /// A packet has arrived. If it is not stored, its credits are free at the end of this instant.
    pub fn came(&mut self, class: Class, size: u32, now: Time) -> [Act; 2] {
        let Some(vc) = self.counts_of(class) else { return NOTHING };
        // SAI: CC_i += c(p) as p comes.
        self.receives[vc].consumed += self.cost(size);
        self.look_at(now)
    }

    /// It is stored in the ingress buffer.
    pub fn stored(&mut self, class: Class, size: u32) {
        if let Some(vc) = self.counts_of(class) {
            self.receives[vc].held += self.cost(size);
        }
    }

    /// A packet has left the ingress buffer.
    pub fn left(&mut self, class: Class, size: u32, now: Time) -> [Act; 2] {
        let Some(vc) = self.counts_of(class) else { return NOTHING };
        self.receives[vc].held = self.receives[vc].held.saturating_sub(self.cost(size));
        self.look_at(now)
    }

    /// A CC_Update has arrived.
    pub fn consumed(&mut self, reported: [u32; CLASSES], now: Time) -> [Act; 2] {
        for (vc, reported) in self.receives.iter_mut().zip(reported) {
            let missing = u64::from(reported).wrapping_sub(vc.consumed) & SAID;
            // SAI: m = (CC_rx - CC_i) mod 2^20; CC_i += m; CF_i += m. At half the circle and more, the message is older than the arrived
            // packets.
            if missing <= SAID / 2 {
                vc.consumed += missing;
                self.repaired += missing;
            }
            if vc.consumed > 0 {
                vc.again = now;
            }
        }
        self.look_at(now)
    }

    /// Checks whether a VC must be notified, at `at` or when spacing allows it.
    fn look_at(&mut self, at: Time) -> [Act; 2] {
        let at = at.max(self.spaced);
        if self.looks <= at {
            return NOTHING;
        }
        self.looks = at;
        [Act::Look(at), Act::Nothing]
    }

    /// A check is due.
    pub fn look(&mut self, now: Time) -> [Act; 2] {
        if self.looks > now {
            return NOTHING;
        }
        self.looks = Time::NEVER;
        for vc in &mut self.receives {
            // SAI: CF_i += c(p) of packets that have left. A packet stored in another class than it arrived in is held there: CF waits, and
            // never falls.
            vc.freed = vc.freed.max(vc.consumed.saturating_sub(vc.held));
        }
        // SAI: CF_MIN_SPACING since the last CF_Update.
        if now < self.spaced {
            return self.next_look(Act::Nothing);
        }
        let due = |vc: &Receives| vc.freed != vc.notified || vc.again <= now;
        let turns = (1..=CLASSES).map(|step| (self.turn + step) % CLASSES);
        let Some(vc) = turns.into_iter().find(|vc| due(&self.receives[*vc])) else {
            return self.next_look(Act::Nothing);
        };
        let one = &mut self.receives[vc];
        // SAI: CF_MAX_SPACING since the last CF_Update of the VC.
        let news = one.freed != one.notified;
        (one.notified, one.again) = (one.freed, if news { now + self.rates.most } else { Time::NEVER });
        let reported = (one.freed & SAID) as u32;
        self.turn = vc;
        self.spaced = now + self.rates.least;
        self.cf_updates += 1;
        self.next_look(Act::Say(Word::freed(vc, reported)))
    }

    /// Returns the times of the next events, beside the action that is due now.
    fn next_look(&mut self, now: Act) -> [Act; 2] {
        let due = |vc: &Receives| if vc.freed != vc.notified { Time::ZERO } else { vc.again };
        let next = self.receives.iter().map(due).min().unwrap_or(Time::NEVER);
        if next == Time::NEVER {
            return [now, Act::Nothing];
        }
        let [look, _] = self.look_at(next);
        [now, look]
    }

    /// Number of times that credits were short for an arriving packet, most credits of a VC in use, and CL.
    pub fn nearest(&self) -> (u64, u64, u64) {
        (self.waits, self.most_used, self.rates.limit)
    }

    pub fn counts(&self, port: Port) -> Vec<Count> {
        let all = [
            ("cf_updates", self.cf_updates),
            ("cc_updates", self.cc_updates),
            ("credits_used_max", self.most_used),
            ("credits_repaired", self.repaired),
        ];
        all.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (port, name, n)).collect()
    }
}
