//! Accounts of a port: per class as an ingress, per queue as an egress, each with its total and its own memory.

use crate::model::hooks::levels::Levels;
use crate::model::packet::{CLASSES, among_others};
use crate::units::Bytes;
use backwater_engine::state::{Loader, Saver, Unfit};
use backwater_engine::{State, fetch};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// One account, and the levels beside its counter: counting a frame touches both anyway.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counter {
    pub bytes: u64,
    /// See [`Levels`].
    #[serde(skip)]
    above: u64,
    #[serde(skip)]
    below: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ingress {
    pub all: Counter,
    /// The bytes in headroom, out of all bytes.
    pub headroom: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Egress {
    pub all: Counter,
    /// See [`Levels`].
    #[serde(skip)]
    pub left: u64,
}

/// \[bytes\] of a whole port, and a level above which something looks: a mechanism's level, or the largest value so far.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Total {
    pub bytes: u64,
    #[serde(skip)]
    above: u64,
}

/// The values that decide about [`Total::above`].
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Most {
    pub most: u64,
    #[serde(skip)]
    level: u64,
}

/// A port as an ingress, with an account for each class, or as an egress, with one for each queue. The first cache line is all that a frame
/// of the usual class touches.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[repr(C, align(64))]
pub(super) struct Side<A> {
    pub total: Total,
    /// Its memory, if each ingress, or each egress, has its own.
    pub own: Shared,
    usual: A,
    /// The accounts of the other classes.
    others: [A; CLASSES - 1],
    pub most: Most,
}

impl<A> Side<A> {
    /// The account of a class or a queue.
    #[inline(always)]
    pub fn of(&self, number: u8) -> &A {
        self.others.get(among_others(usize::from(number))).unwrap_or(&self.usual)
    }

    #[inline(always)]
    pub fn of_mut(&mut self, number: u8) -> &mut A {
        self.others.get_mut(among_others(usize::from(number))).unwrap_or(&mut self.usual)
    }

    /// Prefetches what a frame of a class or a queue touches.
    #[inline(always)]
    pub fn fetch(&self, number: u8) {
        fetch(self);
        if let Some(other) = self.others.get(among_others(usize::from(number))) {
            fetch(other);
        }
    }

    /// From now on a mechanism looks at the total above this level.
    pub fn set_level(&mut self, level: u64) {
        self.most.level = level;
        self.total.set(self.most);
    }

    /// Records the most that it has held.
    #[inline]
    pub fn keep_most(&mut self) {
        self.total.keep_most(&mut self.most);
    }

    fn is_empty(&self, is_zero: impl Fn(&A) -> bool) -> bool {
        self.own.used == 0 && (0..CLASSES as u8).all(|number| is_zero(self.of(number)))
    }
}

const _: () = assert!(std::mem::offset_of!(Side<Ingress>, others) == 64, "the usual class is in the first cache line");
const _: () = assert!(std::mem::offset_of!(Side<Egress>, others) == 64, "the usual class is in the first cache line");

/// Counters of one port.
#[derive(Clone, Copy, Debug, Default, backwater_derive::State)]
pub(super) struct Counts {
    #[state(within)]
    pub ingress: Side<Ingress>,
    #[state(within)]
    pub egress: Side<Egress>,
}

impl Counts {
    pub fn is_empty(&self) -> bool {
        self.ingress.is_empty(|account| account.all.bytes == 0 && account.headroom == 0)
            && self.egress.is_empty(|account| account.all.bytes == 0)
    }
}

/// \[bytes\] Shared memory of one unit of `buffer_per`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Shared {
    pub used: u64,
    pub size: u64,
}

impl Shared {
    #[inline(always)]
    pub fn free(self) -> u64 {
        self.size.saturating_sub(self.used)
    }

    /// This memory, whose size may be new, with what was saved in it.
    fn with(self, saved: Shared) -> Result<Shared, Unfit> {
        let loaded = Shared { used: saved.used, ..self };
        // A memory of the same size may hold as much as before, including frames to which others gave way.
        if loaded.used <= loaded.size || saved.size == loaded.size {
            return Ok(loaded);
        }
        Err(Unfit::new(format!("{} are in use, and there would be {}", Bytes(loaded.used), Bytes(loaded.size))))
    }
}

impl State for Shared {
    fn save(&self, to: &mut Saver) {
        to.put(self);
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        *self = self.with(from.take()?)?;
        Ok(())
    }
}

impl<A: Copy + Serialize + DeserializeOwned> State for Side<A> {
    fn save(&self, to: &mut Saver) {
        to.put(self);
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        let saved: Side<A> = from.take()?;
        *self = Side { own: self.own.with(saved.own)?, ..saved };
        Ok(())
    }
}

impl Counter {
    /// Adds bytes. Returns whether something looks at it.
    #[inline(always)]
    pub fn add(&mut self, size: u64) -> bool {
        self.bytes += size;
        self.bytes > self.above
    }

    /// Removes bytes. Returns whether something looks at it.
    #[inline(always)]
    pub fn take(&mut self, size: u64) -> bool {
        self.bytes -= size;
        self.bytes < self.below
    }

    pub fn set(&mut self, levels: Levels) {
        (self.above, self.below) = (levels.above.0, levels.below.0);
    }
}

impl Total {
    #[inline(always)]
    pub fn add(&mut self, size: u64) -> bool {
        self.bytes += size;
        self.bytes > self.above
    }

    fn set(&mut self, most: Most) {
        self.above = most.level.min(most.most);
    }

    /// Records the most that it has held.
    fn keep_most(&mut self, most: &mut Most) {
        if self.bytes > most.most {
            most.most = self.bytes;
            self.set(*most);
        }
    }
}
