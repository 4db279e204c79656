//! The event queue: a timing wheel that is sorted batch by batch, with a heap for far events.
//!
//! Events are ordered by `(time, order)`, where `order` is a word of the event's *content* (its kind, its place, a hash
//! of what arrives). The queue never numbers its events, so the order of a run does not depend on the order of insertion.
//! Two events with equal keys leave in an unspecified but repeatable order; a model makes its keys differ.
//!
//! A bucket holds the events of 2^shift ps, in the order in which they were pushed, in chunks that are filled one after the other. A bucket
//! is taken out at a time and sorted. So a push writes behind the one before it, and a bucket is read in the order of memory. The width
//! follows the density of events; it decides speed only, never order. A pop takes the end of a short sorted vector.

mod sort;

use crate::state::{Loader, Saver, State, Unfit};
use crate::{Time, fetch};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sort::{begins, insert, sort_pieces};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const BUCKETS: usize = 1 << 12;
const WORDS: usize = BUCKETS / 64;
/// Events of a chunk.
const CHUNK: usize = 8;
const NIL: u32 = u32::MAX;
/// Chunks that certainly fit into a processor's cache.
const FITS: usize = 1 << 10;
/// Reviews after which narrower buckets are tried again, once they were too narrow.
const PATIENCE: u32 = 32;
/// Events between two reviews of the density.
const REVIEW: u64 = 1 << 16;
/// log2 of the widest buckets, in ps.
const WIDEST: u32 = 44;
/// Most events that are taken out of a bucket at once. The model fetches for all of them, and the last must still be cached when it is
/// handled.
const AT_HAND: usize = 64;
/// Events of a bucket that are sorted as they are taken out.
const FEW: usize = 12;
/// Mean events per bucket that leave the width as it is.
const DENSITY: std::ops::RangeInclusive<u64> = 20..=60;

/// A pending event. With 12 bytes of data it is half a cache line, and never in two.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Slot<T> {
    time: u64,
    order: u64,
    data: T,
}

impl<T> Slot<T> {
    #[inline(always)]
    fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.order)
    }
}

/// The events of a bucket: those of its last chunk, which is being filled, and of the full chunks before it.
#[derive(Clone, Copy)]
struct Bucket {
    chunk: u32,
    events: u32,
}

const EMPTY: Bucket = Bucket { chunk: NIL, events: 0 };

impl Bucket {
    /// Events in the last chunk.
    #[inline(always)]
    fn in_last(self) -> usize {
        (self.events as usize).wrapping_sub(1) % CHUNK + 1
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
    /// Events of the current bucket, the next one last: the first `left` slots.
    current: Vec<Slot<T>>,
    left: usize,
    /// Events of the current bucket that come after `current`, the next one last. Simultaneous events share a bucket, however narrow it is.
    rest: Vec<Slot<T>>,
    /// Memory for sorting.
    spare: Vec<Slot<T>>,
    buckets: Box<[Bucket; BUCKETS]>,
    /// The buckets that are not empty, a bit each, and the words of this that are not zero.
    occupied: [u64; WORDS],
    summary: u64,
    chunks: Vec<[Slot<T>; CHUNK]>,
    /// For each chunk: the one before it in its bucket, or the next free one.
    before: Vec<u32>,
    /// The chunk that is used next: the one freed last, which the cache still holds.
    free: u32,
    wheel_len: usize,
    far: BinaryHeap<Reverse<Far<T>>>,
    /// Time of the heap's first event.
    far_next: u64,
    /// Events since the density was reviewed.
    since_review: u64,
    /// Buckets among these, and their events, without those of many simultaneous events.
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

impl<T: Copy> EventQueue<T> {
    /// An empty queue at time zero.
    pub fn new() -> Self {
        let buckets = vec![EMPTY; BUCKETS].into_boxed_slice().try_into();
        EventQueue {
            shift: 11,
            bucket: 0,
            current: Vec::new(),
            left: 0,
            rest: Vec::new(),
            spare: Vec::new(),
            buckets: buckets.unwrap_or_else(|_| unreachable!("it has so many elements")),
            occupied: [0; WORDS],
            summary: 0,
            chunks: Vec::new(),
            before: Vec::new(),
            free: NIL,
            wheel_len: 0,
            far: BinaryHeap::new(),
            far_next: u64::MAX,
            since_review: 0,
            drains: 0,
            drained: 0,
            far_pushes: 0,
            least_shift: 0,
            refused: 0,
        }
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.left + self.rest.len() + self.wheel_len + self.far.len()
    }

    /// Returns whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event at `time`, which must not lie before the event popped last, and is not [`Time::NEVER`].
    #[inline(always)]
    pub fn push(&mut self, time: Time, order: u64, data: T) {
        let slot = Slot { time: time.0, order, data };
        let number = time.0 >> self.shift;
        // Buckets up to the current one wrap round to huge numbers.
        if number.wrapping_sub(self.bucket).wrapping_sub(1) < BUCKETS as u64 - 1 {
            let at = number as usize % BUCKETS;
            let bucket = &mut self.buckets[at];
            let within = bucket.events as usize % CHUNK;
            if within != 0
                && let Some(chunk) = self.chunks.get_mut(bucket.chunk as usize)
            {
                chunk[within] = slot;
                bucket.events += 1;
                self.wheel_len += 1;
            } else {
                self.begin_chunk(at, slot);
            }
        } else {
            self.push_otherwise(slot);
        }
    }

    /// Adds an event to a bucket that is empty, or whose chunks are full.
    #[inline(never)]
    fn begin_chunk(&mut self, at: usize, slot: Slot<T>) {
        let chunk = self.free;
        let chunk = if let Some(free) = self.chunks.get_mut(chunk as usize) {
            self.free = self.before[chunk as usize];
            free[0] = slot;
            chunk
        } else {
            self.chunks.push([slot; CHUNK]);
            self.before.push(NIL);
            u32::try_from(self.chunks.len() - 1).expect("fewer than 2^32 chunks of pending events")
        };
        let bucket = &mut self.buckets[at];
        self.before[chunk as usize] = std::mem::replace(&mut bucket.chunk, chunk);
        bucket.events += 1;
        self.wheel_len += 1;
        self.occupied[at / 64] |= 1 << (at % 64);
        self.summary |= 1 << (at / 64);
    }

    /// Adds an event of the current bucket, or one far ahead.
    #[cold]
    #[inline(never)]
    fn push_otherwise(&mut self, slot: Slot<T>) {
        if slot.time >> self.shift <= self.bucket {
            if self.rest.last().is_some_and(|next| slot.key() > next.key()) {
                self.rest.insert(self.rest.partition_point(|s| s.key() > slot.key()), slot);
            } else {
                insert(&mut self.current, &mut self.left, slot);
            }
        } else {
            self.far_pushes += 1;
            self.far_next = self.far_next.min(slot.time);
            self.far.push(Reverse(Far(slot)));
        }
    }

    /// A lower bound of the next event's key, found without a search. An event pushed later may still come before it. `None`: nothing is
    /// pending.
    pub fn at_least(&self) -> Option<(Time, u64)> {
        if let Some(next) = self.current[..self.left].last().or(self.rest.last()) {
            return Some((Time(next.time), next.order));
        }
        let near = self.next_occupied().map_or(u64::MAX, |bucket| bucket.saturating_mul(1 << self.shift));
        let first = near.min(self.far_next);
        (first != u64::MAX).then_some((Time(first), 0))
    }

    /// Time of the next event.
    pub fn peek(&mut self) -> Option<Time> {
        self.fill();
        self.current[..self.left].last().map(|s| Time(s.time))
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
        self.left = self.left.checked_sub(1)?;
        let s = self.current.get(self.left)?;
        Some((Time(s.time), s.order, s.data))
    }

    /// Prepares the next events. Returns whether events have just been fetched: [`Self::at_hand`] then has new ones.
    #[inline(always)]
    pub fn fill(&mut self) -> bool {
        self.left == 0 && self.refill()
    }

    /// The key of the next prepared event; `None`: all have been taken.
    #[inline(always)]
    pub fn first_at_hand(&self) -> Option<(Time, u64)> {
        self.current[..self.left].last().map(|s| (Time(s.time), s.order))
    }

    /// The next few events, in no particular order. A model prefetches the memory that they need.
    pub fn at_hand(&self) -> impl Iterator<Item = &T> {
        self.current[..self.left].iter().map(|s| &s.data)
    }

    /// Moves the events of the next bucket into `current`.
    #[inline(never)]
    fn refill(&mut self) -> bool {
        if !self.rest.is_empty() {
            self.take_next();
            return true;
        }
        if self.since_review >= REVIEW.max(4 * self.wheel_len as u64) {
            self.review();
            // A wider bucket reaches further, in the heap, too.
            if self.far_next >> self.shift <= self.bucket {
                self.drain_far();
            }
            if self.left == 0 && !self.rest.is_empty() {
                self.take_next();
            }
            if self.left != 0 {
                return true;
            }
        }
        let near = self.next_occupied().unwrap_or(u64::MAX);
        let far = self.far_next >> self.shift;
        if near == u64::MAX && self.far.is_empty() {
            return false;
        }
        self.bucket = near.min(far);
        if near == self.bucket {
            self.drain();
        }
        if far == self.bucket {
            self.drain_far();
        }
        let events = self.left + self.rest.len();
        self.since_review += events as u64;
        // Simultaneous events share a bucket of any width.
        if events <= AT_HAND || self.rest.first().map(|slot| slot.time) != self.rest.last().map(|slot| slot.time) {
            self.drains += 1;
            self.drained += events as u64;
        }
        if self.left == 0 {
            self.take_next();
        }
        true
    }

    /// Takes the next events out of the rest of the current bucket.
    fn take_next(&mut self) {
        let from = self.rest.len().saturating_sub(AT_HAND);
        self.left = self.rest.len() - from;
        self.current.clear();
        self.current.extend(self.rest.drain(from..));
    }

    /// Takes out the wheel's part of the current bucket, sorted.
    #[inline(always)]
    fn drain(&mut self) {
        let at = self.bucket as usize % BUCKETS;
        let bucket = std::mem::replace(&mut self.buckets[at], EMPTY);
        self.occupied[at / 64] ^= 1 << (at % 64);
        if self.occupied[at / 64] == 0 {
            self.summary ^= 1 << (at / 64);
        }
        self.wheel_len -= bucket.events as usize;
        match bucket.events as usize {
            ..=FEW => {
                let (mut current, mut left) = (std::mem::take(&mut self.current), self.left);
                self.take_out(bucket, |slot| insert(&mut current, &mut left, *slot));
                (self.current, self.left) = (current, left);
            }
            events @ ..=AT_HAND => {
                let mut current = std::mem::take(&mut self.current);
                if events <= AT_HAND / 2 {
                    self.distribute::<32>(bucket, &mut current);
                } else {
                    self.distribute::<64>(bucket, &mut current);
                }
                (self.current, self.left) = (current, events);
            }
            _ => {
                let mut rest = std::mem::take(&mut self.rest);
                self.distribute::<256>(bucket, &mut rest);
                self.rest = rest;
            }
        }
        if self.chunks.len() > FITS
            && let Some(next) = self.next_occupied()
        {
            self.fetch(next);
        }
    }

    /// Takes out the events of a bucket one by one, the one pushed last first.
    #[inline(always)]
    fn take_out(&mut self, bucket: Bucket, mut take: impl FnMut(&Slot<T>)) {
        let (mut chunk, mut within) = (bucket.chunk, bucket.in_last());
        while let Some(slots) = self.chunks.get(chunk as usize) {
            slots[..within].iter().rev().for_each(&mut take);
            within = CHUNK;
            let before = std::mem::replace(&mut self.before[chunk as usize], self.free);
            (self.free, chunk) = (chunk, before);
        }
    }

    /// Moves the events of a bucket to the beginning of `sorted`. Their times are spread about evenly: they are distributed over pieces of
    /// the bucket, and then are nearly sorted.
    #[inline(never)]
    fn distribute<const PIECES: usize>(&mut self, bucket: Bucket, sorted: &mut Vec<Slot<T>>) {
        let low = self.shift.saturating_sub(PIECES.ilog2());
        // The latest piece first.
        let piece = |slot: &Slot<T>| !((slot.time >> low) as usize) % PIECES;
        let mut ends = [0u32; PIECES];
        let (mut chunk, mut within) = (bucket.chunk, bucket.in_last());
        while let Some(slots) = self.chunks.get(chunk as usize) {
            slots[..within].iter().for_each(|slot| ends[piece(slot)] += 1);
            (within, chunk) = (CHUNK, self.before[chunk as usize]);
        }
        let (sum, largest) = begins(&mut ends);
        if sorted.len() < sum as usize {
            sorted.resize(sum as usize, self.chunks[bucket.chunk as usize][0]);
        }
        let to = &mut sorted[..sum as usize];
        self.take_out(bucket, |slot| {
            let end = &mut ends[piece(slot)];
            to[*end as usize] = *slot;
            *end += 1;
        });
        sort_pieces(to, &ends, largest, &mut self.spare);
    }

    /// Prefetches the events of a bucket, while the one before it is handled.
    #[inline(always)]
    fn fetch(&self, bucket: u64) {
        let Bucket { mut chunk, .. } = self.buckets[bucket as usize % BUCKETS];
        while let Some(slots) = self.chunks.get(chunk as usize) {
            slots.iter().step_by(2).for_each(fetch);
            chunk = self.before[chunk as usize];
        }
    }

    /// Takes out the heap's part of the current bucket.
    #[cold]
    fn drain_far(&mut self) {
        let mut number = 0;
        while self.far.peek().is_some_and(|Reverse(Far(s))| s.time >> self.shift <= self.bucket) {
            let Some(Reverse(Far(slot))) = self.far.pop() else { break };
            number += 1;
            if number <= FEW && self.rest.is_empty() {
                insert(&mut self.current, &mut self.left, slot);
                continue;
            }
            if self.left != 0 {
                self.rest.extend_from_slice(&self.current[..self.left]);
                self.left = 0;
            }
            self.rest.push(slot);
        }
        if self.left == 0 {
            self.rest.sort_by_key(|slot| Reverse(slot.key()));
        }
        self.far_next = self.far.peek().map_or(u64::MAX, |Reverse(Far(s))| s.time);
    }

    /// The next bucket with an event in the wheel.
    #[inline(always)]
    fn next_occupied(&self) -> Option<u64> {
        // The first one behind the current bucket; behind the end of the wheel the search goes on at its beginning.
        let start = (self.bucket + 1) as usize % BUCKETS;
        let found = self.occupied_from(start).or_else(|| self.occupied_from(0))?;
        Some(self.bucket + 1 + ((found + BUCKETS - start) % BUCKETS) as u64)
    }

    #[inline(always)]
    fn occupied_from(&self, start: usize) -> Option<usize> {
        let bits = self.occupied[start / 64] & (u64::MAX << (start % 64));
        if bits != 0 {
            return Some(start / 64 * 64 + bits.trailing_zeros() as usize);
        }
        let words = self.summary & (u64::MAX << (start / 64)) & !(1 << (start / 64));
        if words == 0 {
            return None;
        }
        let word = words.trailing_zeros() as usize;
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
    }

    /// The width for this mean of events a bucket, unless the wheel would then not reach the next events: simultaneous events share a bucket
    /// of any width. Every [`PATIENCE`] reviews it is tried all the same.
    fn narrower(&mut self, mean: u64) -> u32 {
        if self.shift > self.least_shift {
            return self.shift.saturating_sub((mean / 32).ilog2().max(1)).max(self.least_shift);
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
        let mean = self.drained.checked_div(self.drains.into()).unwrap_or(*DENSITY.start());
        let far_share = self.far_pushes * 16 > self.since_review;
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
        (self.since_review, self.drains, self.drained, self.far_pushes) = (0, 0, 0, 0);
        if shift == self.shift {
            return;
        }
        let pending: Vec<Slot<T>> = self.wheel().collect();
        *self.buckets = [EMPTY; BUCKETS];
        self.occupied.fill(0);
        self.summary = 0;
        self.chunks.clear();
        self.before.clear();
        self.free = NIL;
        self.wheel_len = 0;
        // `current` is empty here, so the clock may stand at the old bucket's last instant.
        let reached = (self.bucket << self.shift) + ((1 << self.shift) - 1);
        self.shift = shift;
        self.bucket = reached >> shift;
        for s in pending.into_iter().rev() {
            if s.time >> shift <= self.bucket {
                self.rest.push(s);
            } else {
                self.push(Time(s.time), s.order, s.data);
            }
        }
        self.rest.sort_by_key(|slot| Reverse(slot.key()));
    }

    /// The events in the wheel, bucket by bucket, each time the event pushed last first.
    fn wheel(&self) -> impl Iterator<Item = Slot<T>> + '_ {
        self.buckets.iter().flat_map(|bucket| {
            let before = |chunk: &u32| Some(self.before[*chunk as usize]).filter(|before| *before != NIL);
            let chunks = std::iter::successors(Some(bucket.chunk).filter(|chunk| *chunk != NIL), before);
            let unused = CHUNK - bucket.in_last();
            chunks.flat_map(|chunk| self.chunks[chunk as usize].iter().rev()).skip(unused).copied()
        })
    }
}

/// Loading keeps the order of equal events: each returns to its place.
impl<T: Copy + Serialize + DeserializeOwned> State for EventQueue<T> {
    fn save(&self, to: &mut Saver) {
        to.put(&(self.shift, self.bucket, self.least_shift, self.refused));
        to.put(&(self.since_review, self.drains, self.drained, self.far_pushes));
        let saved = |slot: &Slot<T>| (slot.time, slot.order, slot.data);
        for sorted in [&self.current[..self.left], &self.rest] {
            to.put(&sorted.iter().map(saved).collect::<Vec<_>>());
        }
        to.put(&self.wheel().map(|slot| saved(&slot)).collect::<Vec<_>>());
        to.put(&self.far.iter().map(|Reverse(Far(slot))| saved(slot)).collect::<Vec<_>>());
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        *self = EventQueue::new();
        (self.shift, self.bucket, self.least_shift, self.refused) = from.take()?;
        (self.since_review, self.drains, self.drained, self.far_pushes) = from.take()?;
        if self.shift > WIDEST {
            return Err(Unfit::new("buckets of events are wider than any"));
        }
        for sorted in [&mut self.current, &mut self.rest] {
            let saved: Vec<(u64, u64, T)> = from.take()?;
            sorted.extend(saved.into_iter().map(|(time, order, data)| Slot { time, order, data }));
        }
        self.left = self.current.len();
        let wheel: Vec<(u64, u64, T)> = from.take()?;
        for (time, order, data) in wheel.into_iter().rev() {
            self.push(Time(time), order, data);
        }
        let far: Vec<(u64, u64, T)> = from.take()?;
        for (time, order, data) in far {
            self.far_next = self.far_next.min(time);
            self.far.push(Reverse(Far(Slot { time, order, data })));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
