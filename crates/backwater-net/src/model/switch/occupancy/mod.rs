//! The counters of one switch, and admission to its memory.
//!
//! Every frame is counted at its ingress (port, class) from admission until it has left (or crossed) the switch, and at its
//! egress (port, queue) from the moment it joins that queue until it leaves. Memory is charged once, to the first of
//! reserve, shared pool and headroom that takes the frame. Frames that the switch itself sends are charged to none: they came in at
//! no port, and stand, as MAC control does, in memory of its own. Of a class that has headroom the three are one account for each
//! (ingress, class), whose headroom drains first, whichever frame leaves; otherwise exactly a frame's own charge is released.

use super::isolated::IsolatedBytes;
use crate::config::{Architecture, BufferPer, SwitchParams};
use crate::model::hooks::place::{IsolationQueue, Place};
use crate::model::packet::{CLASSES, Class, Port, Queue};
use crate::units::{Bytes, Rate};
use backwater_engine::state::{Loader, Saver, Unfit};
use backwater_engine::{State, fetch};

/// Which memory a frame was charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Pool {
    Reserve,
    Shared,
    /// To reserve, shared memory and headroom together: a class that has headroom.
    Aggregate,
}

/// \[bytes\] counters of one port. A frame touches those of its ingress and those of its egress, a cache line each, and of a class
/// that has headroom a third. The counters of the whole port are sums, of eight words that are at hand anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(align(64))]
struct Counts {
    ingress: [u64; CLASSES],
    egress: [u64; CLASSES],
    /// Of `ingress`, those in headroom.
    headroom: [u64; CLASSES],
}

const _: () = assert!(size_of::<Counts>() == 192, "three cache lines");

/// What a class of a port has that is exempt from dynamic limits.
#[derive(Clone, Copy, Debug)]
struct Lossless {
    /// \[bytes\]
    headroom: u64,
    /// See [`SwitchParams::headroom_above`]; infinite where there is none.
    above: f64,
}

#[inline(always)]
fn sum(counts: &[u64; CLASSES]) -> u64 {
    counts.iter().sum()
}

/// \[bytes\] Shared memory of one unit of `buffer_per`.
#[derive(Clone, Copy, Debug)]
struct Shared {
    used: u64,
    size: u64,
}

impl State for Shared {
    fn save(&self, to: &mut Saver) {
        to.put(&(self.used, self.size));
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        let (used, size): (u64, u64) = from.take()?;
        self.used = used;
        // In a memory of the same size there may be as much as there was, that of frames which others gave way to included.
        if self.used <= self.size || size == self.size {
            return Ok(());
        }
        Err(Unfit::new(format!("{} are in use, and there would be {}", Bytes(self.used), Bytes(self.size))))
    }
}

/// \[bytes\] counters of one switch.
#[derive(Clone, Debug, backwater_derive::State)]
pub struct Occupancy {
    #[state(fixed)]
    per: BufferPer,
    #[state(fixed)]
    dynamic: Option<(f64, f64)>,
    #[state(fixed)]
    reserve: u64,
    /// By port; empty where there is no headroom.
    #[state(fixed)]
    limits: Vec<Lossless>,
    /// Classes that have headroom and are exempt from dynamic limits, a bit each.
    #[state(fixed)]
    lossless: u8,
    /// Nothing but the shared memory decides: no reserves, no headroom, no dynamic limits.
    #[state(fixed)]
    plain: bool,
    ports: Vec<Counts>,
    total: u64,
    /// Bytes in reserves of classes without headroom, by (ingress, class); empty when the switch has none.
    reserved: Vec<u64>,
    /// One for each unit of `per`.
    #[state(within)]
    pools: Vec<Shared>,
    /// Bytes that wait before their egress queue.
    pub(crate) isolated: IsolatedBytes,
}

impl Shared {
    #[inline(always)]
    fn free(self) -> u64 {
        self.size.saturating_sub(self.used)
    }
}

impl Occupancy {
    /// Counters of a switch whose ports have these rates, all zero.
    pub(crate) fn new(params: &SwitchParams, rates: &[Rate], lossless: u8) -> Occupancy {
        let (ports, queues) = (rates.len(), rates.len() * CLASSES);
        // The reader of scenarios refuses to set aside more than there is; who does so all the same shares nothing.
        let sizes = shared_memory(params, rates, lossless).unwrap_or_else(|| vec![0; ports.max(1)]);
        let dynamic = params.architecture == Architecture::SharedMemory;
        let carved = params.buffer_per.is_carved();
        let has_headroom = carved && lossless != 0 && params.headroom.0 != 0;
        let partitioned = has_headroom || carved && params.reserve.0 != 0;
        let limits = rates.iter().filter(|_| has_headroom).map(|rate| Lossless {
            headroom: params.headroom_at(*rate).0,
            above: params.headroom_above_at(*rate).filter(|_| dynamic).unwrap_or(f64::INFINITY),
        });
        Occupancy {
            per: params.buffer_per,
            dynamic: dynamic.then_some((params.alpha_ingress, params.alpha_egress)),
            plain: !(dynamic || partitioned),
            reserve: if partitioned { params.reserve.0 } else { 0 },
            limits: limits.collect(),
            lossless,
            ports: vec![Counts::default(); ports],
            total: 0,
            reserved: vec![0; if partitioned { queues } else { 0 }],
            pools: sizes.into_iter().map(|size| Shared { used: 0, size }).collect(),
            isolated: IsolatedBytes::default(),
        }
    }

    /// Bytes that came in through `port` in `class` and have not left.
    #[inline(always)]
    pub fn ingress(&self, port: Port, class: Class) -> Bytes {
        Bytes(self.counts(port).ingress[within(class.0)])
    }
    /// Bytes that came in through `port` and have not left.
    #[inline(always)]
    pub fn ingress_port(&self, port: Port) -> Bytes {
        Bytes(sum(&self.counts(port).ingress))
    }
    /// Bytes that wait for `queue` of `port` (wherever the architecture keeps them), the frame on the wire included until
    /// counters fall.
    #[inline(always)]
    pub fn egress(&self, port: Port, queue: Queue) -> Bytes {
        Bytes(self.counts(port).egress[within(queue.0)])
    }
    /// Bytes that wait for `port`.
    #[inline(always)]
    pub fn egress_port(&self, port: Port) -> Bytes {
        Bytes(sum(&self.counts(port).egress))
    }
    /// Bytes that wait for `queue` of `port`; where all queues of a port share memory, for all of them.
    pub(crate) fn waiting(&self, port: Port, queue: Queue) -> Bytes {
        if self.per == BufferPer::Egress { self.egress_port(port) } else { self.egress(port, queue) }
    }
    /// What has memory of its own.
    pub(crate) fn memory(&self) -> BufferPer {
        self.per
    }
    /// Bytes in the switch.
    #[inline(always)]
    pub fn total(&self) -> Bytes {
        Bytes(self.total)
    }
    /// Headroom in use at (port, class).
    #[inline(always)]
    pub fn in_headroom(&self, port: Port, class: Class) -> Bytes {
        Bytes(self.counts(port).headroom[within(class.0)])
    }
    /// Whether (port, class), or any class of the port, has nothing in its headroom, while the pool before that has `room`
    /// again. Without headroom: always.
    #[inline]
    pub fn headroom_rests(&self, port: Port, class: Option<Class>, room: Bytes) -> bool {
        let uses = |class: u8| self.in_headroom(port, Class(class)) > Bytes::ZERO;
        self.limits.is_empty()
            || self.free(port) >= room && !class.map_or_else(|| (0..8).any(uses), |class| uses(class.0))
    }
    /// Free shared memory of the pool that a frame at `port` would be charged to, as seen from its ingress; for buffers per
    /// egress port or queue, which an ingress cannot know, and for unlimited buffers: [`Bytes::MAX`].
    #[inline(always)]
    pub fn free(&self, port: Port) -> Bytes {
        let pool = match self.per {
            BufferPer::Switch => 0,
            BufferPer::Ingress => usize::from(port.0),
            BufferPer::Egress | BufferPer::Queue | BufferPer::None => return Bytes::MAX,
        };
        Bytes(self.pools[pool].free())
    }
    /// Bytes of (port, class) beyond its reserve.
    #[inline(always)]
    pub fn beyond_reserve(&self, port: Port, class: Class) -> Bytes {
        self.ingress(port, class).saturating_sub(Bytes(self.reserve))
    }
    /// Bytes that came in through `port` in `class` and wait in held isolation queues. [`Occupancy::ingress`] includes them.
    pub fn isolated(&self, port: Port, class: Class) -> Bytes {
        self.isolated.at(port, class)
    }
    /// Bytes that wait in a held isolation queue, whatever their egress.
    pub fn isolated_in(&self, isolation_queue: IsolationQueue) -> Bytes {
        self.isolated.of(isolation_queue)
    }
    /// Bytes that wait in held isolation queues.
    pub fn isolated_total(&self) -> Bytes {
        Bytes(self.isolated.total())
    }
    /// Number of ports.
    pub fn ports(&self) -> usize {
        self.ports.len()
    }

    /// Asks the memory for the counters of a port's egress.
    #[inline(always)]
    pub(crate) fn fetch_egress(&self, port: Port) {
        if let Some(counts) = self.ports.get(usize::from(port.0)) {
            fetch(&counts.egress);
        }
    }

    /// Asks the memory for the counters of a port's ingress, and for its memory if it has its own.
    #[inline(always)]
    pub(crate) fn fetch_ingress(&self, port: Port) {
        if let Some(counts) = self.ports.get(usize::from(port.0)) {
            fetch(&counts.ingress);
        }
        if let Some(pool) = self.pools.get(usize::from(port.0)) {
            fetch(pool);
        }
    }

    #[inline(always)]
    fn counts(&self, port: Port) -> &Counts {
        &self.ports[usize::from(port.0)]
    }

    #[inline(always)]
    fn pool(&self, at: &Place) -> usize {
        match self.per {
            BufferPer::Switch | BufferPer::None => 0,
            BufferPer::Ingress => usize::from(at.ingress.0),
            BufferPer::Egress => usize::from(at.egress.0),
            BufferPer::Queue => slot(at.egress, at.queue.0),
        }
    }

    /// Charges `size` bytes at `at`, or refuses. Returns to which memory, and the bytes of the whole ingress port.
    #[inline(always)]
    pub(crate) fn admit(&mut self, at: &Place, size: u64) -> Option<(Pool, u64)> {
        let unit = self.pool(at);
        let shared = &mut self.pools[unit];
        let pool = if self.plain && shared.used + size <= shared.size {
            shared.used += size;
            Pool::Shared
        } else if !self.limits.is_empty() && self.is_lossless(at.class) {
            self.admit_with_headroom(at, size, unit)?
        } else {
            self.admit_scarce(at, size, unit)?
        };
        Some((pool, self.came_in(at, size)))
    }

    /// Whether nothing but the memory of an egress, or of one of its queues, decides what is admitted.
    pub(crate) fn is_of_egress(&self) -> bool {
        self.plain && matches!(self.per, BufferPer::Egress | BufferPer::Queue)
    }

    /// Charges `size` bytes at `at` whatever is there, where a frame of the same memory has given way and [`Occupancy::is_of_egress`].
    /// Returns to which memory, and the bytes of the whole ingress port.
    pub(crate) fn transfer_charge(&mut self, at: &Place, size: u64) -> (Pool, u64) {
        let unit = self.pool(at);
        self.pools[unit].used += size;
        (Pool::Shared, self.came_in(at, size))
    }

    /// What has been admitted for one queue will wait for another: its bytes count in the memory of that one, whatever is there.
    #[cold]
    pub(crate) fn move_charge(&mut self, from: &Place, to: &Place, size: u64, pool: Pool) {
        if pool == Pool::Shared {
            let units = [from, to].map(|at| self.pool(at));
            self.pools[units[0]].used -= size;
            self.pools[units[1]].used += size;
        }
    }

    /// Counts `size` bytes at the ingress, and returns those of the whole port.
    #[inline(always)]
    fn came_in(&mut self, at: &Place, size: u64) -> u64 {
        let counts = &mut self.ports[usize::from(at.ingress.0)];
        counts.ingress[within(at.class.0)] += size;
        self.total += size;
        sum(&counts.ingress)
    }

    /// Where there is a choice of memory, or too little of it, and no headroom.
    #[cold]
    fn admit_scarce(&mut self, at: &Place, size: u64, unit: usize) -> Option<Pool> {
        let pool = self.pick(at, size, self.pools[unit])?;
        match pool {
            Pool::Reserve => self.reserved[slot(at.ingress, at.class.0)] += size,
            Pool::Shared | Pool::Aggregate => self.pools[unit].used += size,
        }
        Some(pool)
    }

    #[inline(always)]
    fn is_lossless(&self, class: Class) -> bool {
        self.lossless & (1 << class.0) != 0
    }

    /// Reserve first, then shared memory while it lasts, or up to `headroom_above` times what is free of it as HPCC's `switch-mmu`
    /// has it; the rest headroom.
    #[inline(always)]
    fn admit_with_headroom(&mut self, at: &Place, size: u64, unit: usize) -> Option<Pool> {
        let (port, class) = (usize::from(at.ingress.0), within(at.class.0));
        let counts = &mut self.ports[port];
        let below = counts.ingress[class] - counts.headroom[class] + size;
        if below <= self.reserve {
            return Some(Pool::Aggregate);
        }
        let beyond = below - self.reserve;
        let (taken, limits) = (size.min(beyond), &self.limits[port]);
        let free = self.pools[unit].free();
        // Of more than one times what is free only that is there.
        if taken <= free && real(beyond) <= limits.above * real(free) {
            self.pools[unit].used += taken;
            return Some(Pool::Aggregate);
        }
        if counts.headroom[class] + size > limits.headroom {
            return None;
        }
        counts.headroom[class] += size;
        Some(Pool::Aggregate)
    }

    fn pick(&self, at: &Place, size: u64, shared: Shared) -> Option<Pool> {
        let ingress = slot(at.ingress, at.class.0);
        if self.reserve != 0 && self.reserved[ingress] + size <= self.reserve {
            return Some(Pool::Reserve);
        }
        let within = self.is_lossless(at.class) || self.within_dynamic_limits(at, size, shared.free());
        (size <= shared.free() && within).then_some(Pool::Shared)
    }

    /// Choudhury and Hahne: a queue may hold alpha times the free memory.
    fn within_dynamic_limits(&self, at: &Place, size: u64, free: u64) -> bool {
        self.dynamic.is_none_or(|(alpha_ingress, alpha_egress)| {
            let limit = |alpha: f64| Bytes(free).times(alpha).0;
            self.ingress(at.ingress, at.class).0 + size <= limit(alpha_ingress)
                && self.egress(at.egress, at.queue).0 + size <= limit(alpha_egress)
        })
    }

    #[inline]
    pub(crate) fn join_egress(&mut self, at: &Place, size: u64) -> u64 {
        let counts = &mut self.ports[usize::from(at.egress.0)];
        counts.egress[within(at.queue.0)] += size;
        sum(&counts.egress)
    }

    #[inline]
    pub(crate) fn leave_egress(&mut self, at: &Place, size: u64) {
        let counts = &mut self.ports[usize::from(at.egress.0)];
        counts.egress[within(at.queue.0)] -= size;
    }

    /// Gives back what was charged to `pool`. Headroom drains first, whichever frame leaves.
    #[inline(always)]
    pub(crate) fn release(&mut self, at: &Place, size: u64, pool: Pool) {
        let (unit, class) = (self.pool(at), within(at.class.0));
        let counts = &mut self.ports[usize::from(at.ingress.0)];
        let before = counts.ingress[class];
        counts.ingress[class] = before - size;
        self.total -= size;
        match pool {
            Pool::Shared => self.pools[unit].used -= size,
            Pool::Reserve => self.reserved[slot(at.ingress, at.class.0)] -= size,
            Pool::Aggregate => {
                let below = before - counts.headroom[class];
                let drained = size.min(counts.headroom[class]);
                counts.headroom[class] -= drained;
                let shared = |below: u64| below.saturating_sub(self.reserve);
                self.pools[unit].used -= shared(below) - shared(below - (size - drained));
            }
        }
    }

    /// Whether every counter is zero: nothing is in the switch.
    pub fn is_empty(&self) -> bool {
        let zero = |v: &[u64]| v.iter().all(|&x| x == 0);
        self.total == 0
            && self.isolated.total() == 0
            && self.ports.iter().all(|counts| *counts == Counts::default())
            && zero(&self.reserved)
            && self.pools.iter().all(|shared| shared.used == 0)
    }
}

/// Bytes as a real number: exact below 2^53, as all are that fit a memory.
#[inline(always)]
fn real(bytes: u64) -> f64 {
    bytes as i64 as f64
}

/// A class or queue number as an index that needs no check.
#[inline(always)]
fn within(number: u8) -> usize {
    usize::from(number) % CLASSES
}

#[inline(always)]
fn slot(port: Port, within: u8) -> usize {
    usize::from(port.0) * CLASSES + usize::from(within)
}

/// \[bytes\] Shared memory of each unit of `buffer_per` after reserves and headrooms; `None` where they exceed the buffer.
pub fn shared_memory(params: &SwitchParams, rates: &[Rate], lossless: u8) -> Option<Vec<u64>> {
    let set_aside = |rate: &Rate| {
        let headroom = params.headroom_at(*rate).0.checked_mul(u64::from(lossless.count_ones()))?;
        params.reserve.0.checked_mul(CLASSES as u64)?.checked_add(headroom)
    };
    let buffer = params.buffer.0;
    match params.buffer_per {
        // Half of what can be counted: nothing that is added to it overflows.
        BufferPer::None => Some(vec![u64::MAX / 2]),
        BufferPer::Egress => {
            Some(rates.iter().map(|rate| params.buffer.at_rate(*rate, params.reference_rate).0).collect())
        }
        BufferPer::Queue => {
            let sizes = params.queue_buffers.unwrap_or([params.buffer; CLASSES]);
            let at = |rate: &Rate| sizes.map(|size| size.at_rate(*rate, params.reference_rate).0);
            Some(rates.iter().flat_map(at).collect())
        }
        BufferPer::Ingress => rates.iter().map(|rate| buffer.checked_sub(set_aside(rate)?)).collect(),
        BufferPer::Switch => {
            let all = rates.iter().try_fold(0u64, |sum, rate| sum.checked_add(set_aside(rate)?))?;
            Some(vec![buffer.checked_sub(all)?])
        }
    }
}

#[cfg(test)]
mod tests;
