//! The entropy value of a flow's next packet, apart from any run.
//!
//! Rules and names are those of `htsim_uec` (ultraethernet/uet-htsim, commit 40ccb052). P is the number of values, a power of two.
//!
//! ```text
//! oblivious  value i xor x for i = 0..P-1; x is drawn anew after each P packets
//! bitmap     the same, but a value with a penalty is passed over, which takes 1 off the first such penalty of a packet; at most P + 1 are.
//!            penalty += 1 for a mark, 4 for a trim, 15 for a timeout; 15 at most
//! reps       a ring of 8: the oldest value that has not been used again; none: any of P by chance
//!            unmarked answer: its value takes the place of the oldest
//!            timeout: frozen for 10 ms, in which all 8 are used in turns; then the ring is empty, and 16 are drawn by chance
//! recycled   the first min(window, P) packets: 1, 2, ...; then what unmarked answers bring back, in their order; nothing there: by chance
//! mixed      what unmarked answers have brought back; nothing there: bitmap
//! ```
//!
//! A value has 16 bits. Those that P does not need are drawn once for a flow (`oblivious`, `bitmap`), or are zero.

use backwater_engine::Time;
use rand::{Rng, RngExt};
use std::collections::VecDeque;

/// The feedback of an answer on the packet's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Feedback {
    /// It came through unmarked.
    Good,
    /// It was marked.
    Marked,
    /// It was trimmed, before the last hop.
    Trimmed,
    /// Nothing has come back. The value is unknown, and 0 stands for it.
    Timeout,
}

/// Penalty that no value exceeds.
const MOST_PENALTY: u8 = 15;

impl Feedback {
    fn penalty(self) -> u8 {
        match self {
            Feedback::Good => 0,
            Feedback::Marked => 1,
            Feedback::Trimmed => 4,
            Feedback::Timeout => MOST_PENALTY,
        }
    }
}

/// All values in an order that changes after each pass.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Oblivious {
    /// P - 1
    mask: u16,
    high: u16,
    at: u16,
    order: u16,
}

impl Oblivious {
    /// Generates 2^`bits` values, 16 bits at most.
    pub fn new(bits: u32, rng: &mut impl Rng) -> Oblivious {
        let mask = u16::MAX.checked_shr(16 - bits.min(16)).unwrap_or(0);
        Oblivious { mask, high: rng.random::<u16>() & !mask, at: 0, order: rng.random::<u16>() & mask }
    }

    /// The next value.
    pub fn next(&mut self, rng: &mut impl Rng) -> u16 {
        let value = self.high | (self.at ^ self.order);
        self.at = self.at.wrapping_add(1) & self.mask;
        if self.at == 0 {
            self.order = rng.random::<u16>() & self.mask;
        }
        value
    }
}

/// The same, without values that have a penalty.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Bitmap {
    order: Oblivious,
    penalties: Vec<u8>,
}

impl Bitmap {
    /// For 2^`bits` values.
    pub fn new(bits: u32, rng: &mut impl Rng) -> Bitmap {
        let order = Oblivious::new(bits, rng);
        Bitmap { penalties: vec![0; usize::from(order.mask) + 1], order }
    }

    /// The next value.
    pub fn next(&mut self, rng: &mut impl Rng) -> u16 {
        let mut value = self.order.next(rng);
        for passed in 0..=self.penalties.len() {
            let penalty = &mut self.penalties[usize::from(value & self.order.mask)];
            if *penalty == 0 {
                break;
            }
            if passed == 0 {
                *penalty -= 1;
            }
            value = self.order.next(rng);
        }
        value
    }

    /// Applies the feedback on a value.
    pub fn feedback(&mut self, value: u16, feedback: Feedback) {
        let penalty = &mut self.penalties[usize::from(value & self.order.mask)];
        *penalty = (*penalty + feedback.penalty()).min(MOST_PENALTY);
    }
}

/// Values in REPS' ring.
const RING: usize = 8;
/// How long it stays frozen.
const FROZEN: Time = Time::us(10_000);
/// Values drawn by chance after that.
const EXPLORED: u32 = 16;

/// REPS: good values are reused once.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Reps {
    mask: u16,
    /// Values, and whether they are still to be reused. The oldest is at `head`, once the ring is full.
    ring: Vec<(u16, bool)>,
    head: usize,
    fresh: u32,
    frozen_until: Option<Time>,
    turn: usize,
    explore: u32,
}

impl Reps {
    /// For 2^`bits` values.
    pub fn new(bits: u32) -> Reps {
        let mask = u16::MAX.checked_shr(16 - bits.min(16)).unwrap_or(0);
        Reps { mask, ring: Vec::with_capacity(RING), head: 0, fresh: 0, frozen_until: None, turn: 0, explore: 0 }
    }

    /// The value that is reused next, if any.
    pub fn reuse(&mut self, now: Time) -> Option<u16> {
        if let Some(until) = self.frozen_until {
            if now < until {
                self.turn += 1;
                return self.ring.get((self.turn - 1) % self.ring.len().max(1)).map(|(value, _)| *value);
            }
            self.ring.clear();
            (self.frozen_until, self.head, self.fresh, self.explore) = (None, 0, 0, EXPLORED);
        }
        if self.explore > 0 {
            self.explore -= 1;
            return None;
        }
        if self.fresh == 0 {
            return None;
        }
        let n = self.ring.len();
        let oldest = (0..n).map(|i| (self.head + i) % n).find(|i| self.ring[*i].1)?;
        self.ring[oldest].1 = false;
        self.fresh -= 1;
        Some(self.ring[oldest].0)
    }

    /// The next value.
    pub fn next(&mut self, now: Time, rng: &mut impl Rng) -> u16 {
        self.reuse(now).unwrap_or_else(|| self.draw(rng))
    }

    /// A random value.
    pub fn draw(&self, rng: &mut impl Rng) -> u16 {
        rng.random::<u16>() & self.mask
    }

    /// Applies the feedback on a value.
    pub fn feedback(&mut self, now: Time, value: u16, feedback: Feedback) {
        match feedback {
            Feedback::Good => self.keep(value),
            Feedback::Timeout => self.frozen_until = Some(now + FROZEN),
            Feedback::Marked | Feedback::Trimmed => {}
        }
    }

    fn keep(&mut self, value: u16) {
        if self.ring.len() < RING {
            self.ring.push((value, true));
        } else {
            let replaced = std::mem::replace(&mut self.ring[self.head], (value, true));
            self.head = (self.head + 1) % RING;
            self.fresh -= u32::from(replaced.1);
        }
        self.fresh += 1;
    }
}

/// Values that came back unmarked, in their order; each is reused once.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Recycled {
    mask: u16,
    kept: VecDeque<u16>,
}

impl Recycled {
    /// For 2^`bits` values.
    pub fn new(bits: u32) -> Recycled {
        Recycled { mask: u16::MAX.checked_shr(16 - bits.min(16)).unwrap_or(0), kept: VecDeque::new() }
    }

    /// The value of packet number `sent` if none is reused; `window` \[packets\], if given.
    pub fn draw(&self, sent: u64, window: Option<u64>, rng: &mut impl Rng) -> u16 {
        let first = window.unwrap_or(u64::MAX).min(u64::from(self.mask) + 1);
        if sent < first { (sent + 1) as u16 & self.mask } else { rng.random::<u16>() & self.mask }
    }

    /// The value that is reused next, if any.
    pub fn reuse(&mut self) -> Option<u16> {
        self.kept.pop_front()
    }

    /// Applies the feedback on a value.
    pub fn feedback(&mut self, value: u16, feedback: Feedback) {
        if feedback == Feedback::Good {
            self.kept.push_back(value);
        }
    }
}

/// Values that came back; without any, those of a bitmap.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Mixed {
    recycled: Recycled,
    bitmap: Bitmap,
}

impl Mixed {
    /// For 2^`bits` values.
    pub fn new(bits: u32, rng: &mut impl Rng) -> Mixed {
        Mixed { recycled: Recycled::new(bits), bitmap: Bitmap::new(bits, rng) }
    }

    /// The value that is reused next, if any.
    pub fn reuse(&mut self) -> Option<u16> {
        self.recycled.reuse()
    }

    /// The next value.
    pub fn next(&mut self, rng: &mut impl Rng) -> u16 {
        self.reuse().unwrap_or_else(|| self.draw(rng))
    }

    /// The bitmap's next value.
    pub fn draw(&mut self, rng: &mut impl Rng) -> u16 {
        self.bitmap.next(rng)
    }

    /// Applies the feedback on a value.
    pub fn feedback(&mut self, value: u16, feedback: Feedback) {
        self.recycled.feedback(value, feedback);
        self.bitmap.feedback(value, feedback);
    }
}
