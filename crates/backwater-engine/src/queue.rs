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
/// Drained buckets between two looks at the density.
const REVIEW: u32 = 1 << 13;
/// Mean events per drained bucket outside of which the width changes.
const DENSITY: std::ops::RangeInclusive<u64> = 3..=14;

#[derive(Clone, Copy)]
struct Slot<T> {
    time: u64,
    order: u64,
    data: T,
    next: u32,
}

impl<T> Slot<T> {
    #[inline(always)]
    fn key(&self) -> (u64, u64) {
        (self.time, self.order)
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
    slots: Vec<Slot<T>>,
    free: u32,
    wheel_len: usize,
    far: BinaryHeap<Reverse<Far<T>>>,
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
            slots: Vec::new(),
            free: NIL,
            wheel_len: 0,
            far: BinaryHeap::new(),
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
    #[inline]
    pub fn push(&mut self, time: Time, order: u64, data: T) {
        let slot = Slot { time: time.0, order, data, next: NIL };
        let bucket = time.0 >> self.shift;
        if bucket <= self.bucket {
            let at = self.current.partition_point(|s| s.key() > slot.key());
            self.current.insert(at, slot);
        } else if bucket - self.bucket < BUCKETS as u64 {
            self.push_wheel(bucket, slot);
        } else {
            self.far_pushes += 1;
            self.far.push(Reverse(Far(slot)));
        }
    }

    #[inline]
    fn push_wheel(&mut self, bucket: u64, mut slot: Slot<T>) {
        let b = bucket as usize % BUCKETS;
        slot.next = self.heads[b];
        let at = self.free;
        if at == NIL {
            self.heads[b] = u32::try_from(self.slots.len()).expect("fewer than 2^32 pending events");
            self.slots.push(slot);
        } else {
            self.free = self.slots[at as usize].next;
            self.slots[at as usize] = slot;
            self.heads[b] = at;
        }
        self.occupied[b / 64] |= 1 << (b % 64);
        self.wheel_len += 1;
    }

    /// Time of the next event.
    pub fn peek(&mut self) -> Option<Time> {
        if self.current.is_empty() && !self.refill() {
            return None;
        }
        self.current.last().map(|s| Time(s.time))
    }

    /// Takes the next event: its time, its order word and its data.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, u64, T)> {
        if self.current.is_empty() && !self.refill() {
            return None;
        }
        let s = self.current.pop()?;
        Some((Time(s.time), s.order, s.data))
    }

    /// Moves the next non-empty bucket into `current`.
    fn refill(&mut self) -> bool {
        if self.drains >= REVIEW {
            self.review();
            if !self.current.is_empty() {
                return true; // a wider bucket reaches further
            }
        }
        let near = self.next_occupied();
        let far = self.far.peek().map(|Reverse(Far(s))| s.time >> self.shift);
        let Some(bucket) = [near, far].into_iter().flatten().min() else { return false };
        self.bucket = bucket;
        if near == Some(bucket) {
            let b = bucket as usize % BUCKETS;
            let mut at = std::mem::replace(&mut self.heads[b], NIL);
            self.occupied[b / 64] &= !(1 << (b % 64));
            while at != NIL {
                let slot = &mut self.slots[at as usize];
                self.current.push(*slot);
                let next = std::mem::replace(&mut slot.next, self.free);
                self.free = at;
                at = next;
            }
            self.wheel_len -= self.current.len();
        }
        while self.far.peek().is_some_and(|Reverse(Far(s))| s.time >> self.shift == bucket) {
            let Some(Reverse(Far(slot))) = self.far.pop() else { break };
            self.current.push(slot);
        }
        self.drains += 1;
        self.drained += self.current.len() as u64;
        self.current.sort_unstable_by_key(|s| Reverse(s.key()));
        true
    }

    fn next_occupied(&self) -> Option<u64> {
        if self.wheel_len == 0 {
            return None;
        }
        let start = (self.bucket + 1) as usize % BUCKETS;
        let distance = |b: usize| (b + BUCKETS - start) % BUCKETS;
        let found = |word: usize, bits: u64| {
            (bits != 0).then(|| self.bucket + 1 + distance(word * 64 + bits.trailing_zeros() as usize) as u64)
        };
        let first = start / 64;
        if let Some(b) = found(first, self.occupied[first] & (u64::MAX << (start % 64))) {
            return Some(b);
        }
        (1..=WORDS).find_map(|i| {
            let word = (first + i) % WORDS;
            // Back at the first word only the bits before `start` are left.
            let bits = self.occupied[word];
            found(word, if i == WORDS { bits & !(u64::MAX << (start % 64)) } else { bits })
        })
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
