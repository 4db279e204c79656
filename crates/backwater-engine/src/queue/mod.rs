//! The event queue: a timing wheel that is sorted batch by batch, with a heap for far events.
//!
//! Events are ordered by `(time, order)`, where `order` is a word of the event's *content* (its kind, its place, a hash
//! of what arrives). The queue never numbers its events, so the order of a run does not depend on the order of insertion.
//! Two events with equal keys leave in an unspecified but repeatable order; a model makes its keys differ.
//!
//! Buckets are 2^shift ps wide, and a batch of neighbours is taken out at a time. A bucket holds about one event, so a batch comes out
//! nearly sorted. Its events lie all over the memory; they are fetched at once, not one after the other along a list. The width follows the
//! density of events; it decides speed only, never order. A push inserts into a list; a pop takes the end of a short sorted vector.

use crate::state::{Loader, Saver, State, Unfit};
use crate::{Time, fetch};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const BUCKETS: usize = 1 << 16;
/// Neighbouring buckets that are taken out together; divides 64, so that they share a word of `occupied`.
const BATCH: usize = 16;
const BATCHES: u64 = (BUCKETS / BATCH) as u64;
const WORDS: usize = BUCKETS / 64;
const NIL: u32 = u32::MAX;
/// Time of a slot without an event.
const FREE: u64 = u64::MAX;
/// Reviews after which narrower buckets are tried again, once they were too narrow.
const PATIENCE: u32 = 32;
/// Pending events that certainly fit into a processor's cache.
const FITS: usize = 1 << 13;
/// Events between two reviews of the density.
const REVIEW: u64 = 1 << 16;
/// log2 of the widest buckets, in ps.
const WIDEST: u32 = 40;
/// Most events that are taken out of a batch at once. The model fetches for all of them, and the last must still be cached when it is
/// handled.
const AT_HAND: usize = 64;
/// Mean events per batch that leave the width as it is.
const DENSITY: std::ops::RangeInclusive<u64> = 3..=31;

/// A pending event. With 12 bytes of data it is half a cache line, and never in two.
#[derive(Clone, Copy)]
#[repr(align(32))]
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
    /// Number of the batch that `current` holds.
    batch: u64,
    /// Events of the current batch, the next one last.
    current: Vec<Slot<T>>,
    /// Events of the current batch that come after `current`, the next one last. Simultaneous events share a batch, however narrow it is.
    rest: Vec<Slot<T>>,
    heads: Box<[u32; BUCKETS]>,
    occupied: Box<[u64; WORDS]>,
    /// The words of `occupied` that are not zero, a bit each.
    summary: [u64; WORDS / 64],
    slots: Vec<Slot<T>>,
    /// List of the slots that are used next. In a small queue: those freed last, which the cache still holds. In a large queue: all that
    /// were free when the list was made, in the order of memory.
    free: u32,
    wheel_len: usize,
    far: BinaryHeap<Reverse<Far<T>>>,
    /// Time of the heap's first event.
    far_next: u64,
    drains: u32,
    drained: u64,
    far_pushes: u64,
    /// A narrower shift than this failed: the wheel did not reach far enough ahead.
    least_shift: u32,
    /// Reviews since then that wanted narrower buckets.
    refused: u32,
}

impl<T: Copy> Default for EventQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// An array too large for the stack.
fn boxed<E: Copy, const N: usize>(fill: E) -> Box<[E; N]> {
    vec![fill; N].into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!("it has N elements"))
}

impl<T: Copy> EventQueue<T> {
    /// An empty queue at time zero.
    pub fn new() -> Self {
        EventQueue {
            shift: 7,
            batch: 0,
            current: Vec::with_capacity(AT_HAND),
            rest: Vec::new(),
            heads: boxed(NIL),
            occupied: boxed(0),
            summary: [0; WORDS / 64],
            slots: Vec::new(),
            free: NIL,
            wheel_len: 0,
            far: BinaryHeap::new(),
            far_next: u64::MAX,
            drains: 0,
            drained: 0,
            far_pushes: 0,
            least_shift: 0,
            refused: 0,
        }
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.current.len() + self.rest.len() + self.wheel_len + self.far.len()
    }

    /// Returns whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event at `time`, which must not lie before the event popped last, and is not [`Time::NEVER`].
    #[inline(always)]
    pub fn push(&mut self, time: Time, order: u64, data: T) {
        let bucket = time.0 >> self.shift;
        let ahead = (bucket / BATCH as u64).wrapping_sub(self.batch);
        // Batches up to the current one wrap round to huge numbers.
        if ahead.wrapping_sub(1) < BATCHES - 1
            && let Some(place) = self.slots.get_mut(self.free as usize)
        {
            let at = std::mem::replace(&mut self.free, place.next);
            let b = bucket as usize % BUCKETS;
            *place = Slot { time: time.0, order, data, next: std::mem::replace(&mut self.heads[b], at) };
            self.occupy(b);
        } else {
            self.push_otherwise(Slot { time: time.0, order, data, next: NIL });
        }
    }

    #[inline(always)]
    fn occupy(&mut self, b: usize) {
        let word = &mut self.occupied[b / 64];
        if *word == 0 {
            self.summary[b / 64 / 64] |= 1 << (b / 64 % 64);
        }
        *word |= 1 << (b % 64);
        self.wheel_len += 1;
    }

    /// Adds an event of the current batch, one far ahead, or one that needs a new slot.
    #[cold]
    #[inline(never)]
    fn push_otherwise(&mut self, mut slot: Slot<T>) {
        let bucket = slot.time >> self.shift;
        let batch = bucket / BATCH as u64;
        if batch <= self.batch {
            let later = self.rest.last().is_some_and(|next| slot.key() > next.key());
            let sorted = if later { &mut self.rest } else { &mut self.current };
            sorted.insert(sorted.partition_point(|s| s.key() > slot.key()), slot);
        } else if batch - self.batch < BATCHES {
            let at = u32::try_from(self.slots.len()).ok().filter(|at| *at != NIL);
            if self.slots.len() > FITS && self.slots.len() >= 2 * self.wheel_len {
                self.sweep();
                return self.push(Time(slot.time), slot.order, slot.data);
            }
            let b = bucket as usize % BUCKETS;
            slot.next = std::mem::replace(&mut self.heads[b], at.expect("fewer than 2^32 pending events"));
            self.slots.push(slot);
            self.occupy(b);
        } else {
            self.far_pushes += 1;
            self.far_next = self.far_next.min(slot.time);
            self.far.push(Reverse(Far(slot)));
        }
    }

    /// A lower bound of the next event's key, found without a search. An event pushed later may still come before it. `None`: nothing is
    /// pending.
    pub fn at_least(&self) -> Option<(Time, u64)> {
        if let Some(next) = self.current.last().or(self.rest.last()) {
            return Some((Time(next.time), next.order));
        }
        let batch = |number: u64| number.saturating_mul(BATCH as u64).saturating_mul(1 << self.shift);
        let near = self.next_occupied().map_or(u64::MAX, batch);
        let first = near.min(self.far_next);
        (first != u64::MAX).then_some((Time(first), 0))
    }

    /// Time of the next event.
    pub fn peek(&mut self) -> Option<Time> {
        self.fill();
        self.current.last().map(|s| Time(s.time))
    }

    /// Takes the next event: its time, its order word and its data.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, u64, T)> {
        self.fill();
        self.take()
    }

    /// Takes the next event that [`Self::fill`] has prepared; `None`: nothing is pending.
    #[inline(always)]
    pub fn take(&mut self) -> Option<(Time, u64, T)> {
        let s = self.current.pop()?;
        Some((Time(s.time), s.order, s.data))
    }

    /// Prepares the next events. Returns whether events have just been fetched: [`Self::at_hand`] then has new ones.
    #[inline(always)]
    pub fn fill(&mut self) -> bool {
        self.current.is_empty() && self.refill()
    }

    /// The key of the next prepared event; `None`: all have been taken.
    #[inline(always)]
    pub fn first_at_hand(&self) -> Option<(Time, u64)> {
        self.current.last().map(|s| (Time(s.time), s.order))
    }

    /// The next few events, in no particular order. A model prefetches the memory that they need.
    pub fn at_hand(&self) -> impl Iterator<Item = &T> {
        self.current.iter().map(|s| &s.data)
    }

    /// Moves the next non-empty batch into `current`.
    #[inline(never)]
    fn refill(&mut self) -> bool {
        if !self.rest.is_empty() {
            self.take_next();
            return true;
        }
        if self.drained >= REVIEW {
            self.review();
            if !self.current.is_empty() {
                return true; // a wider batch reaches further
            }
        }
        let near = self.next_occupied().unwrap_or(u64::MAX);
        let far = self.far_next >> self.shift >> BATCH.ilog2();
        if near == u64::MAX && self.far.is_empty() {
            return false;
        }
        self.batch = near.min(far);
        if near == self.batch {
            self.drain();
        }
        if far == self.batch {
            self.drain_far();
        }
        self.drains += 1;
        self.drained += self.current.len() as u64;
        sort(&mut self.current);
        if self.current.len() > AT_HAND {
            std::mem::swap(&mut self.current, &mut self.rest);
            self.take_next();
        }
        true
    }

    /// Takes the next events out of the rest of the current batch.
    fn take_next(&mut self) {
        let from = self.rest.len().saturating_sub(AT_HAND);
        self.current.extend(self.rest.drain(from..));
    }

    /// Takes out the wheel's part of the current batch, later buckets first.
    #[inline(always)]
    fn drain(&mut self) {
        let first = self.batch as usize * BATCH % BUCKETS;
        let (word, from) = (first / 64, first % 64);
        let mut bits = self.occupied[word] & BATCH_BITS << from;
        self.occupied[word] ^= bits;
        if self.occupied[word] == 0 {
            self.summary[word / 64] &= !(1 << (word % 64));
        }
        let (slots, current) = (&mut self.slots[..], &mut self.current);
        let (mut free, before) = (self.free, current.len());
        while bits != 0 {
            let bit = bits.ilog2() as usize;
            bits ^= 1 << bit;
            let mut at = std::mem::replace(&mut self.heads[word * 64 + bit], NIL);
            while let Some(slot) = slots.get_mut(at as usize) {
                current.push(*slot);
                slot.time = FREE;
                (at, slot.next, free) = (slot.next, free, at);
            }
        }
        self.wheel_len -= current.len() - before;
        if self.slots.len() <= FITS {
            self.free = free;
        } else if let Some(next) = self.next_occupied() {
            self.fetch(next);
        }
    }

    /// Lists what is free in the order of memory. Events that are pushed one after the other then lie one behind the other, and so a
    /// bucket's list is read. If slots were used again as they come, lists would lead all over the memory, and each event would be
    /// waited for before the next could be asked for.
    #[cold]
    fn sweep(&mut self) {
        self.free = NIL;
        for (at, slot) in self.slots.iter_mut().enumerate().rev() {
            if slot.time == FREE {
                slot.next = std::mem::replace(&mut self.free, at as u32);
            }
        }
    }

    /// Prefetches the first event of each bucket of a batch, while this batch is handled.
    #[inline(never)]
    fn fetch(&self, batch: u64) {
        let first = batch as usize * BATCH % BUCKETS;
        let (word, from) = (first / 64, first % 64);
        let mut bits = self.occupied[word] & BATCH_BITS << from;
        while bits != 0 {
            let head = self.heads[word * 64 + bits.trailing_zeros() as usize];
            if let Some(slot) = self.slots.get(head as usize) {
                fetch(slot);
            }
            bits &= bits - 1;
        }
    }

    #[cold]
    fn drain_far(&mut self) {
        let reach = |time: u64| time >> self.shift >> BATCH.ilog2();
        while self.far.peek().is_some_and(|Reverse(Far(s))| reach(s.time) == self.batch) {
            let Some(Reverse(Far(slot))) = self.far.pop() else { break };
            self.current.push(slot);
        }
        self.far_next = self.far.peek().map_or(u64::MAX, |Reverse(Far(s))| s.time);
    }

    /// The next batch with an event in the wheel.
    #[inline(always)]
    fn next_occupied(&self) -> Option<u64> {
        if self.wheel_len == 0 {
            return None;
        }
        // The first occupied bucket from `start` on; if there is no such bucket, the search wraps to the beginning of the wheel.
        let start = (self.batch + 1) as usize * BATCH % BUCKETS;
        let found = self.occupied_from(start).or_else(|| self.occupied_from(0))?;
        Some(self.batch + 1 + ((found + BUCKETS - start) % BUCKETS / BATCH) as u64)
    }

    #[inline(always)]
    fn occupied_from(&self, start: usize) -> Option<usize> {
        let word = start / 64;
        let bits = self.occupied[word] & (u64::MAX << (start % 64));
        if bits != 0 {
            return Some(word * 64 + bits.trailing_zeros() as usize);
        }
        self.occupied_word_from(word + 1)
    }

    #[inline(never)]
    fn occupied_word_from(&self, start: usize) -> Option<usize> {
        let mut mask = u64::MAX << (start % 64);
        for at in start / 64..WORDS / 64 {
            let words = self.summary[at] & mask;
            if words != 0 {
                let word = at * 64 + words.trailing_zeros() as usize;
                return Some(word * 64 + self.occupied[word].trailing_zeros() as usize);
            }
            mask = u64::MAX;
        }
        None
    }

    /// The width for this mean of events a batch, unless the wheel would then not reach the next events: simultaneous events share a bucket
    /// of any width. Every [`PATIENCE`] reviews it is tried all the same.
    fn narrower(&mut self, mean: u64) -> u32 {
        if self.shift > self.least_shift {
            return self.shift.saturating_sub((mean / 16).ilog2().max(1)).max(self.least_shift);
        }
        self.refused += 1;
        if self.refused < PATIENCE || self.shift == 0 {
            return self.shift;
        }
        (self.least_shift, self.refused) = (self.shift - 1, 0);
        self.shift - 1
    }

    /// Fits the bucket width to the density of events since the last review.
    #[cold]
    fn review(&mut self) {
        let mean = self.drained / u64::from(self.drains.max(1));
        let far_share = self.far_pushes * 4 > self.drained;
        let shift = if far_share {
            (self.least_shift, self.refused) = (self.shift + 1, 0);
            self.shift + 1
        } else if mean > *DENSITY.end() {
            self.narrower(mean)
        } else if mean < *DENSITY.start() {
            self.shift + 1
        } else {
            self.shift
        }
        .min(WIDEST);
        (self.drains, self.drained, self.far_pushes) = (0, 0, 0);
        if shift == self.shift {
            return;
        }
        let mut pending = Vec::with_capacity(self.wheel_len);
        for head in self.heads.iter_mut() {
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
        // `current` is empty here, so the clock may stand at the old batch's last instant.
        let width = self.shift + BATCH.ilog2();
        let reached = (self.batch << width) + ((1 << width) - 1);
        self.shift = shift;
        self.batch = reached >> shift >> BATCH.ilog2();
        for s in pending {
            self.push(Time(s.time), s.order, s.data);
        }
    }
}

/// Loading keeps the order of equal events: each returns to its place.
impl<T: Copy + Serialize + DeserializeOwned> State for EventQueue<T> {
    fn save(&self, to: &mut Saver) {
        to.put(&(self.shift, self.batch, self.drains, self.drained, self.far_pushes, self.least_shift, self.refused));
        let saved = |slot: &Slot<T>| (slot.time, slot.order, slot.data);
        for sorted in [&self.current, &self.rest] {
            to.put(&sorted.iter().map(saved).collect::<Vec<_>>());
        }
        let mut wheel = Vec::with_capacity(self.wheel_len);
        for head in self.heads.iter() {
            let following = |slot: &&Slot<T>| self.slots.get(slot.next as usize);
            wheel.extend(std::iter::successors(self.slots.get(*head as usize), following).map(saved));
        }
        to.put(&wheel);
        to.put(&self.far.iter().map(|Reverse(Far(slot))| saved(slot)).collect::<Vec<_>>());
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        *self = EventQueue::new();
        (self.shift, self.batch, self.drains, self.drained, self.far_pushes, self.least_shift, self.refused) =
            from.take()?;
        if self.shift > WIDEST {
            return Err(Unfit::new("buckets of events are wider than any"));
        }
        for sorted in [&mut self.current, &mut self.rest] {
            let saved: Vec<(u64, u64, T)> = from.take()?;
            sorted.extend(saved.into_iter().map(|(time, order, data)| Slot { time, order, data, next: NIL }));
        }
        let wheel: Vec<(u64, u64, T)> = from.take()?;
        // The one that was pushed last heads its bucket.
        for (time, order, data) in wheel.into_iter().rev() {
            self.push(Time(time), order, data);
        }
        let far: Vec<(u64, u64, T)> = from.take()?;
        for (time, order, data) in far {
            self.far_next = self.far_next.min(time);
            self.far.push(Reverse(Far(Slot { time, order, data, next: NIL })));
        }
        Ok(())
    }
}

const BATCH_BITS: u64 = (1 << BATCH) - 1;

/// Sorts events, latest first. They are few and nearly sorted: insertion is much faster than the library's sort.
#[inline(always)]
fn sort<T: Copy>(events: &mut [Slot<T>]) {
    if events.len() > 4 * BATCH {
        return events.sort_unstable_by_key(|s| Reverse(s.key()));
    }
    for i in 1..events.len() {
        let mut at = i;
        while at > 0 && events[at - 1].key() < events[at].key() {
            events.swap(at - 1, at);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
