//! Gates of a port's queues, and how long its neighbour has paused them.

use super::{Port, Rest};
use crate::model::hooks::{MechanismId, MechanismSet};
use crate::model::packet::{CLASSES, Class};
use backwater_engine::Time;

/// The pauses by the neighbour, for the statistics.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct PausedByPeer {
    until: [Time; CLASSES + 1],
    pub from: Time,
    pub to: Time,
    pub total: u64,
}

impl Port {
    pub fn shut(&mut self, queue: usize, owner: MechanismId) {
        self.rest.shut[queue] |= 1 << owner.0;
        self.set_open();
    }

    pub fn open(&mut self, queue: usize, owner: MechanismId) {
        self.rest.shut[queue] &= !(1 << owner.0);
        self.set_open();
    }

    /// The first of the owners that have shut a queue, or the whole port.
    pub fn shut_by(&self, queue: u8) -> Option<MechanismId> {
        first_owner(self.rest.shut[usize::from(queue) % CLASSES] | self.rest.shut[CLASSES])
    }

    /// Returns whether every gate is open.
    pub fn all_open(&self) -> bool {
        self.rest.shut.iter().all(|owners| *owners == 0)
    }

    pub(super) fn set_open(&mut self) {
        self.open = self.gates() & !self.rest.waits;
    }

    /// Queues whose gates are all open, a bit each.
    pub fn gates(&self) -> u32 {
        let whole = self.rest.shut[CLASSES] == 0;
        let classes = (0..CLASSES).fold(0, |m, q| if whole && self.rest.shut[q] == 0 { m | 1 << q } else { m });
        // A class's gate applies to all its queues.
        0x0101_0101 * classes
    }

    /// The neighbour's pause has arrived and will last until `until` (`ZERO`: it has resumed).
    pub fn paused_by_peer(&mut self, class: Option<Class>, now: Time, until: Time) {
        let i = class.map_or(CLASSES, |c| usize::from(c.0));
        let Rest { paused, stats, .. } = &mut *self.rest;
        if until == Time::ZERO {
            paused.until[i] = Time::ZERO;
        } else {
            if paused.until[i] <= now {
                stats.pauses_received += 1;
            }
            if paused.to <= now {
                paused.total += paused.to.since(paused.from).0;
                paused.from = now;
            }
            paused.until[i] = until;
        }
        let end = paused.until.iter().copied().max().unwrap_or(Time::ZERO);
        paused.to = if end > now { end } else { paused.to.min(now) };
    }

    /// Returns whether the neighbour has paused a queue until now.
    pub fn held_until(&self, queue: u8, now: Time) -> bool {
        [usize::from(queue) % CLASSES, CLASSES].into_iter().any(|i| self.rest.paused.until[i] >= now)
    }

    /// Classes (bits 0 to 7) and link (bit 8) that the neighbour pauses now.
    pub fn held_now(&self, now: Time) -> u16 {
        (0..=CLASSES).fold(0, |m, i| if self.rest.paused.until[i] > now { m | 1 << i } else { m })
    }
}

/// The first of the owners whose bits are set.
pub(crate) fn first_owner(owners: MechanismSet) -> Option<MechanismId> {
    (owners != 0).then(|| MechanismId(owners.trailing_zeros() as u8))
}
