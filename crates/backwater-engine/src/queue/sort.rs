//! Sorts events, latest first. Equal events keep their places: the one pushed first leaves first.

use super::Slot;
use std::cmp::Reverse;

/// Most events of a piece that are sorted by insertion, which is faster than the library's sort for so few.
const MOST: u32 = 16;
/// Number of further pieces.
const PIECES: usize = 256;

/// Adds an event to the first `len` events, which are sorted.
#[inline(always)]
pub(super) fn insert<T: Copy>(sorted: &mut Vec<Slot<T>>, len: &mut usize, slot: Slot<T>) {
    if let Some(end) = sorted.get_mut(*len) {
        *end = slot;
    } else {
        sorted.push(slot);
    }
    sort_in(sorted, *len);
    *len += 1;
}

/// Moves the event at `from` among the sorted ones before it.
#[inline(always)]
fn sort_in<T: Copy>(events: &mut [Slot<T>], from: usize) {
    let (slot, mut at) = (events[from], from);
    while at > 0 && events[at - 1].key() < slot.key() {
        events[at] = events[at - 1];
        at -= 1;
    }
    if at != from {
        events[at] = slot;
    }
}

/// Turns the sizes of pieces into where they begin. Returns the sum and the largest of the sizes.
#[inline(always)]
pub(super) fn begins(sizes: &mut [u32]) -> (u32, u32) {
    let (mut sum, mut largest) = (0, 0);
    for size in sizes {
        largest = largest.max(*size);
        sum += std::mem::replace(size, sum);
    }
    (sum, largest)
}

/// Sorts events that lie in the right pieces, which end at `ends`; the largest has so many events. `spare` is memory for it.
#[inline(always)]
pub(super) fn sort_pieces<T: Copy>(events: &mut [Slot<T>], ends: &[u32], largest: u32, spare: &mut Vec<Slot<T>>) {
    if largest <= MOST {
        return (1..events.len()).for_each(|at| sort_in(events, at));
    }
    let mut begin = 0;
    for end in ends {
        sort(&mut events[begin..*end as usize], spare);
        begin = *end as usize;
    }
}

/// Sorts events of which many may be simultaneous: then by their order words, which are spread about evenly.
fn sort<T: Copy>(events: &mut [Slot<T>], spare: &mut Vec<Slot<T>>) {
    let simultaneous = events.iter().all(|slot| slot.time == events[0].time);
    if events.len() <= PIECES || !simultaneous {
        return events.sort_by_key(|slot| Reverse(slot.key()));
    }
    let most = events.iter().map(|slot| slot.order).max().unwrap_or(0);
    let least = events.iter().map(|slot| slot.order).min().unwrap_or(0);
    let width = (u64::BITS - (most - least).leading_zeros()).saturating_sub(PIECES.ilog2());
    // The latest piece first.
    let piece = |slot: &Slot<T>| PIECES - 1 - ((slot.order - least) >> width) as usize % PIECES;
    let mut ends = [0u32; PIECES];
    events.iter().for_each(|slot| ends[piece(slot)] += 1);
    begins(&mut ends);
    spare.clear();
    spare.extend_from_slice(events);
    for slot in spare.iter() {
        let end = &mut ends[piece(slot)];
        events[*end as usize] = *slot;
        *end += 1;
    }
    let mut begin = 0;
    for end in ends {
        events[begin..end as usize].sort_by_key(|slot| Reverse(slot.order));
        begin = end as usize;
    }
}
