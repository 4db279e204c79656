//! The event queue: a timing wheel that is sorted bucket by bucket, with a heap for far events.
//!
//! Events are ordered by `(time, order)`, where `order` is a word of the event's *content* (its kind, its place, a hash
//! of what arrives). The queue never numbers its events, so the order of a run does not depend on the order of insertion.
//! Two events with equal keys leave in an unspecified but repeatable order; a model makes its keys differ.
//!
//! Buckets are 2^shift ps wide; the width follows the density of events so that a bucket holds a handful. The width
//! decides speed only, never order. Pushing is a list insertion, popping the end of a short sorted vector.

use crate::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const BUCKETS: usize = 1 << 14;
const WORDS: usize = BUCKETS / 64;
const NIL: u32 = u32::MAX;
/// Most events that are sorted by insertion.
const SHORT: usize = 16;
/// Drained buckets between two looks at the density.
const REVIEW: u32 = 1 << 13;
/// Mean events per drained bucket outside of which the width changes.
const DENSITY: std::ops::RangeInclusive<u64> = 3..=12;

#[derive(Clone, Copy)]
struct Slot<T> {
    time: u64,
    order: u64,
    data: T,
    next: u32,
}

impl<T> Slot<T> {
    #[inline(always)]
    fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.order)
    }
}

struct Far<T>(Slot<T>);

impl<T> PartialEq for Far<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key() == other.0.key()
    }
}
impl<T> Eq for Far<T> {}
impl<T> PartialOrd for Far<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Far<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.key().cmp(&other.0.key())
    }
}

/// Pending events, each a small `Copy` value, popped in the order of `(time, order)`.
pub struct EventQueue<T> {
    /// log2 of the bucket width in ps.
    shift: u32,
    /// Number of the bucket that `current` holds.
    bucket: u64,
    /// Events of the current bucket, the next one last.
    current: Vec<Slot<T>>,
    heads: Box<[u32]>,
    occupied: Box<[u64; WORDS]>,
    /// Which words of `occupied` are not zero.
    summary: [u64; WORDS / 64],
    slots: Vec<Slot<T>>,
    free: u32,
    wheel_len: usize,
    far: BinaryHeap<Reverse<Far<T>>>,
    /// Time of the heap's first event.
    far_next: u64,
    drains: u32,
    drained: u64,
    far_pushes: u64,
}

impl<T: Copy> Default for EventQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy> EventQueue<T> {
    /// An empty queue at time zero.
    pub fn new() -> Self {
        EventQueue {
            shift: 10,
            bucket: 0,
            current: Vec::with_capacity(64),
            heads: vec![NIL; BUCKETS].into_boxed_slice(),
            occupied: Box::new([0; WORDS]),
            summary: [0; WORDS / 64],
            slots: Vec::new(),
            free: NIL,
            wheel_len: 0,
            far: BinaryHeap::new(),
            far_next: u64::MAX,
            drains: 0,
            drained: 0,
            far_pushes: 0,
        }
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.current.len() + self.wheel_len + self.far.len()
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event at `time`, which must not lie before the event popped last.
    #[inline(always)]
    pub fn push(&mut self, time: Time, order: u64, data: T) {
        let slot = Slot { time: time.0, order, data, next: NIL };
        let ahead = (time.0 >> self.shift).wrapping_sub(self.bucket);
        // Buckets up to the current one wrap round to huge numbers.
        if ahead.wrapping_sub(1) < BUCKETS as u64 - 1 && self.free != NIL {
            let at = self.free;
            let place = &mut self.slots[at as usize];
            self.free = place.next;
            *place = slot;
            self.link((time.0 >> self.shift) as usize % BUCKETS, at);
        } else {
            self.push_otherwise(slot);
        }
    }

    #[inline(always)]
    fn link(&mut self, b: usize, at: u32) {
        self.slots[at as usize].next = std::mem::replace(&mut self.heads[b], at);
        self.occupied[b / 64] |= 1 << (b % 64);
        self.summary[b / 64 / 64] |= 1 << (b / 64 % 64);
        self.wheel_len += 1;
    }

    /// An event of the current bucket, or far ahead, or one more than there ever were.
    #[cold]
    #[inline(never)]
    fn push_otherwise(&mut self, slot: Slot<T>) {
        let bucket = slot.time >> self.shift;
        if bucket <= self.bucket {
            let at = self.current.partition_point(|s| s.key() > slot.key());
            self.current.insert(at, slot);
        } else if bucket - self.bucket < BUCKETS as u64 {
            let at = u32::try_from(self.slots.len()).expect("fewer than 2^32 pending events");
            self.slots.push(slot);
            self.link(bucket as usize % BUCKETS, at);
        } else {
            self.far_pushes += 1;
            self.far_next = self.far_next.min(slot.time);
            self.far.push(Reverse(Far(slot)));
        }
    }

    /// Time of the next event.
    pub fn peek(&mut self) -> Option<Time> {
        if self.current.is_empty() && !self.refill() {
            return None;
        }
        self.current.last().map(|s| Time(s.time))
    }

    /// Takes the next event: its time, its order word and its data.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, u64, T)> {
        if self.current.is_empty() && !self.refill() {
            return None;
        }
        let s = self.current.pop()?;
        Some((Time(s.time), s.order, s.data))
    }

    /// Moves the next non-empty bucket into `current`.
    #[inline(never)]
    fn refill(&mut self) -> bool {
        if self.drains >= REVIEW {
            self.review();
            if !self.current.is_empty() {
                return true; // a wider bucket reaches further
            }
        }
        let near = self.next_occupied().unwrap_or(u64::MAX);
        let far = self.far_next >> self.shift;
        if near == u64::MAX && self.far.is_empty() {
            return false;
        }
        self.bucket = near.min(far);
        if near == self.bucket {
            self.drain(near as usize % BUCKETS);
        }
        if far == self.bucket {
            self.drain_far();
        }
        self.drains += 1;
        self.drained += self.current.len() as u64;
        if self.current.len() > SHORT {
            self.current.sort_unstable_by_key(|s| Reverse(s.key()));
        } else {
            // Insertion beats the library's sort on a handful.
            for i in 1..self.current.len() {
                let mut at = i;
                while at > 0 && self.current[at - 1].key() < self.current[at].key() {
                    self.current.swap(at - 1, at);
                    at -= 1;
                }
            }
        }
        true
    }

    #[inline(always)]
    fn drain(&mut self, b: usize) {
        let mut at = std::mem::replace(&mut self.heads[b], NIL);
        self.occupied[b / 64] &= !(1 << (b % 64));
        if self.occupied[b / 64] == 0 {
            self.summary[b / 64 / 64] &= !(1 << (b / 64 % 64));
        }
        let before = self.current.len();
        while at != NIL {
            let slot = &mut self.slots[at as usize];
            self.current.push(*slot);
            let next = std::mem::replace(&mut slot.next, self.free);
            self.free = at;
            at = next;
        }
        self.wheel_len -= self.current.len() - before;
    }

    #[cold]
    fn drain_far(&mut self) {
        while self.far.peek().is_some_and(|Reverse(Far(s))| s.time >> self.shift == self.bucket) {
            let Some(Reverse(Far(slot))) = self.far.pop() else { break };
            self.current.push(slot);
        }
        self.far_next = self.far.peek().map_or(u64::MAX, |Reverse(Far(s))| s.time);
    }

    fn next_occupied(&self) -> Option<u64> {
        if self.wheel_len == 0 {
            return None;
        }
        // The first occupied bucket from `start` on, or, round the wheel, from its beginning.
        let start = (self.bucket + 1) as usize % BUCKETS;
        let found = self.occupied_from(start).or_else(|| self.occupied_from(0))?;
        Some(self.bucket + 1 + ((found + BUCKETS - start) % BUCKETS) as u64)
    }

    fn occupied_from(&self, start: usize) -> Option<usize> {
        let word = start / 64;
        let bits = self.occupied[word] & (u64::MAX << (start % 64));
        if bits != 0 {
            return Some(word * 64 + bits.trailing_zeros() as usize);
        }
        let next = word + 1;
        let mut mask = if next.is_multiple_of(64) { u64::MAX } else { u64::MAX << (next % 64) };
        for at in next / 64..WORDS / 64 {
            let words = self.summary[at] & mask;
            if words != 0 {
                let word = at * 64 + words.trailing_zeros() as usize;
                return Some(word * 64 + self.occupied[word].trailing_zeros() as usize);
            }
            mask = u64::MAX;
        }
        None
    }

    /// Fits the bucket width to the density of events seen since the last review.
    #[cold]
    fn review(&mut self) {
        let mean = self.drained / u64::from(self.drains.max(1));
        let far_share = self.far_pushes * 4 > self.drained;
        let shift = if far_share && mean < 64 {
            self.shift + 1
        } else if mean > *DENSITY.end() {
            self.shift.saturating_sub((mean / 6).ilog2().max(1))
        } else if mean < *DENSITY.start() {
            self.shift + 1
        } else {
            self.shift
        }
        .min(40);
        (self.drains, self.drained, self.far_pushes) = (0, 0, 0);
        if shift == self.shift {
            return;
        }
        let mut pending = Vec::with_capacity(self.wheel_len);
        for head in &mut self.heads {
            let mut at = std::mem::replace(head, NIL);
            while at != NIL {
                pending.push(self.slots[at as usize]);
                at = self.slots[at as usize].next;
            }
        }
        self.occupied.fill(0);
        self.summary.fill(0);
        self.slots.clear();
        self.free = NIL;
        self.wheel_len = 0;
        // `current` is empty here, so the clock may stand at the start of the old bucket's last instant.
        let reached = (self.bucket << self.shift) + ((1 << self.shift) - 1);
        self.shift = shift;
        self.bucket = reached >> shift;
        for s in pending {
            self.push(Time(s.time), s.order, s.data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the spacing, events leave as a sorted list would give them, also when new ones come in between.
        #[test]
        fn pops_in_order(steps in prop::collection::vec((0u64..4, 0u64..1u64 << 34, any::<u64>()), 1..600), scale in 0u32..34) {
            let mut queue = EventQueue::new();
            let mut model: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
            let mut now = 0;
            for (pops, delay, order) in steps {
                let time = now + (delay >> scale);
                queue.push(Time(time), order, ());
                model.push(Reverse((time, order)));
                for _ in 0..pops.saturating_sub(1) {
                    let got = queue.pop().map(|(t, o, ())| (t.0, o));
                    prop_assert_eq!(got, model.pop().map(|Reverse(k)| k));
                    now = got.map_or(now, |k| k.0);
                }
            }
            while let Some(Reverse(want)) = model.pop() {
                prop_assert_eq!(queue.pop().map(|(t, o, ())| (t.0, o)), Some(want));
            }
            prop_assert!(queue.is_empty() && queue.pop().is_none());
        }
    }

    /// The width adapts in both directions without losing or reordering an event.
    #[test]
    fn adapts_to_density() {
        for gap in [1u64, 7, 40_000, 900_000_000] {
            let mut queue = EventQueue::new();
            for i in 0..64 {
                queue.push(Time(i * gap), i, ());
            }
            let mut last = (0, 0);
            for n in 0..400_000u64 {
                let (t, o, ()) = queue.pop().unwrap();
                assert!((t.0, o) >= last, "gap {gap}");
                last = (t.0, o);
                queue.push(Time(t.0 + 64 * gap), 64 + n, ());
            }
            assert_eq!(queue.len(), 64);
        }
    }
}
