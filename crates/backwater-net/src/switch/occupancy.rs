//! The counters of one switch, and admission to its memory.
//!
//! Every frame is counted at its ingress (port, class) from admission until it has left (or crossed) the switch, and at its
//! egress (port, queue) from the moment it joins that queue until it leaves. Memory is charged once, to the first of
//! reserve, shared pool and headroom that takes the frame. Frames that the switch itself sends are charged to none: they came in at
//! no port, and stand, as MAC control does, in memory of its own. Of a class that has headroom the three are one account for each
//! (ingress, class), whose headroom drains first, whichever frame leaves; otherwise exactly a frame's own charge is released.

use super::held::Held;
use crate::config::{Architecture, BufferPer, SwitchParams};
use crate::packet::{CLASSES, Class, Port, Queue};
use crate::place::{Lane, Place};
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
    pub(crate) held: Held,
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
            held: Held::default(),
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
    /// Bytes that came in through `port` in `class` and wait in held lanes. [`Occupancy::ingress`] includes them.
    pub fn held(&self, port: Port, class: Class) -> Bytes {
        self.held.at(port, class)
    }
    /// Bytes that wait in a held lane, whatever their egress.
    pub fn held_in(&self, lane: Lane) -> Bytes {
        self.held.of(lane)
    }
    /// Bytes that wait in held lanes.
    pub fn held_total(&self) -> Bytes {
        Bytes(self.held.total())
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
    pub(crate) fn take_over(&mut self, at: &Place, size: u64) -> (Pool, u64) {
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
            && self.held.total() == 0
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
mod tests {
    use super::*;

    const RATE: Rate = Rate::gbps(100);

    fn at(ingress: u16, egress: u16, class: u8) -> Place {
        let (ingress, egress) = (Port(ingress), Port(egress));
        Place { ingress, egress, class: Class(class), queue: Queue(class), own: false }
    }

    #[test]
    fn reserve_then_shared_then_headroom_then_nothing() {
        let params = SwitchParams {
            buffer: Bytes(10_000),
            reserve: Bytes(100),
            headroom: Bytes(1_000),
            ..SwitchParams::default()
        };
        // 2 ports: 2 x (8 x 100 + 1 x 1000) = 3600 carved out, 6400 shared.
        let mut o = Occupancy::new(&params, &[RATE; 2], 1 << 3);
        let here = at(0, 1, 3);
        let mut admitted = 0;
        while o.admit(&here, 100).is_some() {
            admitted += 100;
        }
        assert_eq!((admitted, o.in_headroom(Port(0), Class(3))), (100 + 6_400 + 1_000, Bytes(1_000)));
        assert_eq!(o.free(Port(0)), Bytes::ZERO);
        assert_eq!(o.admit(&at(1, 0, 0), 100), Some((Pool::Reserve, 100)), "another class still has its reserve");
        assert_eq!(o.admit(&at(1, 0, 0), 100), None, "and no headroom");
        o.release(&at(1, 0, 0), 100, Pool::Reserve);
        for left in (0..10).rev() {
            o.release(&here, 100, Pool::Aggregate);
            assert_eq!((o.in_headroom(Port(0), Class(3)), o.free(Port(0))), (Bytes(100 * left), Bytes::ZERO));
        }
        (0..65).for_each(|_| o.release(&here, 100, Pool::Aggregate));
        assert!(o.is_empty());
    }

    /// HPCC's `switch-mmu`: 9000 B less 2 x (8 x 100 + 500) leave 6400 B; one class may hold a quarter of what is free of them.
    #[test]
    fn headroom_above_the_threshold_drains_first() {
        let params = SwitchParams {
            architecture: Architecture::SharedMemory,
            buffer: Bytes(9_000),
            reserve: Bytes(100),
            headroom: Bytes(500),
            headroom_above: Some(0.25),
            ..SwitchParams::default()
        };
        let mut o = Occupancy::new(&params, &[RATE; 2], 1 << 3);
        let here = at(0, 1, 3);
        // Reserve 100, then shared while s + 100 <= (6400 - s) / 4: 1300; then 500 of headroom.
        let mut admitted = 0;
        while o.admit(&here, 100).is_some() {
            admitted += 100;
        }
        assert_eq!((admitted, o.in_headroom(Port(0), Class(3))), (100 + 1_300 + 500, Bytes(500)));
        assert_eq!(o.free(Port(0)), Bytes(5_100));
        for left in [400, 300, 200, 100, 0, 0] {
            o.release(&here, 100, Pool::Aggregate);
            assert_eq!(o.in_headroom(Port(0), Class(3)), Bytes(left));
        }
        assert_eq!(o.free(Port(0)), Bytes(5_200), "headroom has drained, and then one frame of shared memory");
        (0..13).for_each(|_| o.release(&here, 100, Pool::Aggregate));
        assert!(o.is_empty());
    }

    /// With a factor above one what is free runs out before the threshold of a queue that holds little is reached: 16 queues share
    /// 6400 B, and have their reserves and headrooms.
    #[test]
    fn a_threshold_above_all_memory_gives_what_there_is() {
        let params = SwitchParams {
            architecture: Architecture::SharedMemory,
            buffer: Bytes(16 * (8 * 100 + 500) + 6_400),
            reserve: Bytes(100),
            headroom: Bytes(500),
            headroom_above: Some(8.0),
            ..SwitchParams::default()
        };
        let mut o = Occupancy::new(&params, &[RATE; 16], 1 << 3);
        let mut admitted = 0;
        for n in 0..16 * 1_000u32 {
            admitted += o.admit(&at((n % 16) as u16, 15, 3), 130).map_or(0, |_| 130);
            assert!(o.free(Port(0)).0 <= 6_400, "after {admitted} B: {}", o.free(Port(0)));
        }
        assert!((12_000..=16 * 600 + 6_400).contains(&admitted), "{admitted}");
    }

    /// The fabrics that the ns-3 code of HPCC configures: 37.5 KB behind 1/8 of what is free at ports of 100 Gb/s, 150 KB behind 1/2 at 400 Gb/s.
    #[test]
    fn headroom_is_in_proportion_to_the_rate_of_the_port() {
        let params = SwitchParams {
            architecture: Architecture::SharedMemory,
            buffer: Bytes(2 * 37_500 + 150_000 + 900_000),
            headroom: Bytes(37_500),
            headroom_above: Some(0.125),
            reference_rate: Some(RATE),
            ..SwitchParams::default()
        };
        let rates = [RATE, RATE, Rate::gbps(400)];
        assert_eq!(shared_memory(&params, &rates, 1 << 3), Some(vec![900_000]));
        // s <= a (900 000 - s): 100 000 B at a = 1/8, and 300 000 B at 1/2; and the headroom.
        for (port, shared, headroom) in [(0, 100_000, 37_500), (2, 300_000, 150_000)] {
            let mut o = Occupancy::new(&params, &rates, 1 << 3);
            let mut admitted = 0;
            while o.admit(&at(port, 1, 3), 100).is_some() {
                admitted += 100;
            }
            assert_eq!((admitted, o.in_headroom(Port(port), Class(3))), (shared + headroom, Bytes(headroom)));
        }
        let ingress = SwitchParams { buffer_per: BufferPer::Ingress, buffer: Bytes(200_000), ..params.clone() };
        assert_eq!(shared_memory(&ingress, &rates, 1 << 3), Some(vec![162_500, 162_500, 50_000]));
        let scarce = SwitchParams { buffer: Bytes(149_999), ..ingress };
        assert_eq!(shared_memory(&scarce, &rates, 1 << 3), None);
        let beyond_counting = SwitchParams { headroom: Bytes(u64::MAX / 2), ..params };
        assert_eq!(shared_memory(&beyond_counting, &rates, 1 << 3), None);
    }

    /// 10 GB in frames of 1 MB: more than 32 bits count, at every counter.
    #[test]
    fn memory_without_end_has_none() {
        let params = SwitchParams { buffer_per: BufferPer::None, ..SwitchParams::default() };
        let mut o = Occupancy::new(&params, &[RATE; 2], 0);
        let here = at(0, 1, 3);
        let mut last = 0;
        for n in 1..=10_000u64 {
            assert_eq!(o.admit(&here, 1_000_000), Some((Pool::Shared, n * 1_000_000)), "frame {n}");
            last = o.join_egress(&here, 1_000_000);
        }
        let all = Bytes(10_000_000_000);
        assert_eq!((o.total(), o.ingress(Port(0), Class(3)), o.ingress_port(Port(0))), (all, all, all));
        assert_eq!((o.egress(Port(1), Queue(3)), o.egress_port(Port(1)), last), (all, all, all.0));
    }

    /// 43 packets of 4150 B at 100 Gb/s are 10 packets and three quarters at 25 Gb/s, of which ten fit.
    #[test]
    fn memory_of_queues_and_egress_ports_follows_the_rate() {
        for buffer_per in [BufferPer::Queue, BufferPer::Egress] {
            let (buffer, reference_rate) = (Bytes(43 * 4150), Some(RATE));
            let params = SwitchParams { buffer, buffer_per, reference_rate, ..SwitchParams::default() };
            let mut o = Occupancy::new(&params, &[RATE, Rate::gbps(25)], 0);
            let mut fit = |egress| (0..100).filter(|_| o.admit(&at(0, egress, 3), 4150).is_some()).count();
            assert_eq!((fit(0), fit(1)), (43, 10), "{buffer_per:?}");
            let rates = || [RATE, Rate::gbps(25)].into_iter();
            assert_eq!(params.port_buffer(rates()), Some(Bytes(44_612)));
            assert_eq!(SwitchParams { reference_rate: None, ..params }.port_buffer(rates()), Some(buffer));
        }
    }

    /// A queue of 1000 B is full when 600 B give way to 900 B: it holds 1300 B, nothing more is admitted before it has fallen below its
    /// size, and it is saved as it is.
    #[test]
    fn what_others_give_way_to_may_exceed_a_queue() {
        let of = |size| {
            let (buffer_per, queue_buffers) = (BufferPer::Queue, Some([Bytes(size); CLASSES]));
            let params = SwitchParams { buffer_per, queue_buffers, ..SwitchParams::default() };
            Occupancy::new(&params, &[RATE; 2], 0)
        };
        let (mut o, here) = (of(1_000), at(0, 1, 3));
        assert!(o.is_of_egress() && o.admit(&here, 400).is_some() && o.admit(&here, 600).is_some());
        assert_eq!(o.admit(&here, 1), None);
        o.release(&here, 600, Pool::Shared);
        assert_eq!(o.take_over(&here, 900), (Pool::Shared, 1_300));
        assert_eq!(o.admit(&here, 1), None);
        assert_eq!(o.admit(&at(0, 1, 4), 1_000), Some((Pool::Shared, 2_300)), "the next queue has its own");
        let mut saver = Saver::new(Vec::new());
        o.save(&mut saver);
        let saved = saver.finish().expect("counters are saved");
        let load = |size| of(size).load(&mut Loader::new(&saved, Vec::new()));
        assert_eq!((load(1_000), load(1_300)), (Ok(()), Ok(())));
        assert!(load(1_299).is_err_and(|unfit| unfit.reason.contains("are in use, and there would be")));
        o.release(&here, 400, Pool::Shared);
        assert_eq!(o.admit(&here, 101), None);
        assert_eq!(o.admit(&here, 100), Some((Pool::Shared, 2_000)));
    }

    #[test]
    fn dynamic_limit_leaves_room() {
        let params = SwitchParams {
            architecture: Architecture::SharedMemory,
            buffer: Bytes(9_000),
            alpha_egress: 1.0,
            ..SwitchParams::default()
        };
        let mut o = Occupancy::new(&params, &[RATE; 4], 0);
        let here = at(0, 1, 0);
        let mut n = 0;
        while o.admit(&here, 100).is_some() {
            o.join_egress(&here, 100);
            n += 1;
        }
        // q <= 1 x (B - q): one queue alone may take half of the memory.
        assert_eq!(n, 45);
    }
}
