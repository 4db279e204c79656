//! The counters of one switch, and admission to its memory.
//!
//! Every frame is counted at its ingress (port, class) from admission until it has left (or crossed) the switch, and at its
//! egress (port, queue) from the moment it joins that queue until it leaves. Memory is charged once, to the first of
//! reserve, shared pool and headroom that takes the frame. Of a class that has headroom the three are one account for each
//! (ingress, class), whose headroom drains first, whichever frame leaves; otherwise exactly a frame's own charge is released.

use crate::config::{Architecture, BufferPer, SwitchParams};
use crate::held::Held;
use crate::hooks::{Lane, Place};
use crate::packet::{CLASSES, Class, Port, Queue};
use crate::units::Bytes;

/// Which memory a frame was charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pool {
    Reserve,
    Shared,
    /// To reserve, shared memory and headroom together: a class that has headroom.
    Aggregate,
}

/// \[bytes\] counters of one port, in one cache line because a frame touches them together. 32 bits are enough: see
/// [`LARGEST`]. The counters of the whole port are sums, of eight words that are at hand anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
struct Counts {
    ingress: [u32; CLASSES],
    egress: [u32; CLASSES],
}

/// \[bytes\] No switch holds more than this, however large its buffer is said to be.
const LARGEST: u64 = u32::MAX as u64;

#[inline(always)]
fn sum(counts: &[u32; CLASSES]) -> u64 {
    // No overflow: all of them are in one switch.
    u64::from(counts.iter().sum::<u32>())
}

/// \[bytes\] counters of one switch.
#[derive(Clone, Debug)]
pub struct Occupancy {
    per: BufferPer,
    dynamic: Option<(f64, f64)>,
    /// See [`SwitchParams::headroom_above`].
    headroom_above: Option<f64>,
    reserve: u64,
    headroom: u64,
    /// Classes that have headroom and are exempt from dynamic limits, a bit each.
    lossless: u8,
    /// Shared memory of one unit of `per`.
    shared: u64,
    /// Nothing but the shared memory decides: no reserves, no headroom, no dynamic limits.
    plain: bool,
    ports: Vec<Counts>,
    total: u64,
    /// Bytes in reserves (of classes without headroom) and headrooms, by (ingress, class); empty when the switch has none.
    reserved: Vec<u64>,
    in_headroom: Vec<u64>,
    /// Bytes in shared memory, one entry per unit of `per`.
    pools: Vec<u64>,
    /// Bytes that wait before their egress queue.
    held: Held,
}

impl Occupancy {
    /// Counters of a switch with `ports` ports, all zero.
    pub(crate) fn new(params: &SwitchParams, ports: usize, lossless: u8) -> Occupancy {
        let queues = ports * CLASSES;
        let units = match params.buffer_per {
            BufferPer::Switch | BufferPer::None => 1,
            BufferPer::Ingress | BufferPer::Egress => ports,
            BufferPer::Queue => queues,
        };
        let (shared, partitioned) = shared_memory(params, ports, lossless);
        let dynamic = params.architecture == Architecture::SharedMemory;
        Occupancy {
            per: params.buffer_per,
            dynamic: dynamic.then_some((params.alpha_ingress, params.alpha_egress)),
            headroom_above: params.headroom_above.filter(|_| dynamic && partitioned),
            plain: !(dynamic || partitioned),
            reserve: if partitioned { params.reserve.0 } else { 0 },
            headroom: if partitioned { params.headroom.0 } else { 0 },
            lossless,
            shared: if params.buffer_per == BufferPer::None { u64::MAX / 2 } else { shared.unwrap_or(0) },
            ports: vec![Counts::default(); ports],
            total: 0,
            reserved: vec![0; if partitioned { queues } else { 0 }],
            in_headroom: vec![0; if partitioned { queues } else { 0 }],
            pools: vec![0; units],
            held: Held::default(),
        }
    }

    /// Bytes that came in through `port` in `class` and have not left.
    #[inline(always)]
    pub fn ingress(&self, port: Port, class: Class) -> Bytes {
        Bytes(u64::from(self.counts(port).ingress[within(class.0)]))
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
        Bytes(u64::from(self.counts(port).egress[within(queue.0)]))
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
        Bytes(self.in_headroom.get(slot(port, class.0)).copied().unwrap_or(0))
    }
    /// Whether (port, class), or any class of the port, has nothing in its headroom, while the pool before that has `room`
    /// again. Without headroom: always.
    #[inline]
    pub fn headroom_rests(&self, port: Port, class: Option<Class>, room: Bytes) -> bool {
        let uses = |class: u8| self.in_headroom(port, Class(class)) > Bytes::ZERO;
        self.headroom == 0 || self.free(port) >= room && !class.map_or_else(|| (0..8).any(uses), |class| uses(class.0))
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
        Bytes(self.shared - self.pools[pool])
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

    /// Charges `size` bytes at `at`, or refuses.
    #[inline]
    pub(crate) fn admit(&mut self, at: &Place, size: u64) -> Option<Pool> {
        let unit = self.pool(at);
        let used = &mut self.pools[unit];
        let pool = if self.plain && *used + size <= self.shared && self.total + size <= LARGEST {
            *used += size;
            Pool::Shared
        } else {
            self.admit_scarce(at, size, unit)?
        };
        self.ports[usize::from(at.ingress.0)].ingress[within(at.class.0)] += size as u32;
        self.total += size;
        Some(pool)
    }

    /// Where there is a choice of memory, or too little of it.
    #[cold]
    fn admit_scarce(&mut self, at: &Place, size: u64, unit: usize) -> Option<Pool> {
        if self.total + size > LARGEST {
            return None;
        }
        if self.headroom != 0 && self.is_lossless(at.class) {
            return self.admit_with_headroom(at, size, unit);
        }
        let pool = self.pick(at, size, self.pools[unit])?;
        match pool {
            Pool::Reserve => self.reserved[slot(at.ingress, at.class.0)] += size,
            Pool::Shared | Pool::Aggregate => self.pools[unit] += size,
        }
        Some(pool)
    }

    fn is_lossless(&self, class: Class) -> bool {
        self.lossless & (1 << class.0) != 0
    }

    /// Reserve first, then shared memory while it lasts, or up to `headroom_above` times what is free of it as HPCC's `switch-mmu`
    /// has it; the rest headroom.
    fn admit_with_headroom(&mut self, at: &Place, size: u64, unit: usize) -> Option<Pool> {
        let slot = slot(at.ingress, at.class.0);
        let below = self.below_headroom(at) + size;
        let free = self.shared - self.pools[unit];
        if below <= self.reserve {
            return Some(Pool::Aggregate);
        }
        let taken = size.min(below - self.reserve);
        let within = self.headroom_above.is_none_or(|alpha| below - self.reserve <= (alpha * free as f64) as u64);
        // Of more than one times what is free only that is there.
        if within && taken <= free {
            self.pools[unit] += taken;
            return Some(Pool::Aggregate);
        }
        if self.in_headroom[slot] + size > self.headroom {
            return None;
        }
        self.in_headroom[slot] += size;
        Some(Pool::Aggregate)
    }

    /// \[bytes\] of (port, class) that are not in headroom.
    fn below_headroom(&self, at: &Place) -> u64 {
        self.ingress(at.ingress, at.class).0 - self.in_headroom[slot(at.ingress, at.class.0)]
    }

    /// Headroom drains first, whichever frame leaves.
    fn release_aggregate(&mut self, at: &Place, size: u64) {
        let unit = self.pool(at);
        let below = self.below_headroom(at);
        let headroom = &mut self.in_headroom[slot(at.ingress, at.class.0)];
        let drained = size.min(*headroom);
        *headroom -= drained;
        let shared = |below: u64| below.saturating_sub(self.reserve);
        self.pools[unit] -= shared(below) - shared(below - (size - drained));
    }

    fn pick(&self, at: &Place, size: u64, used: u64) -> Option<Pool> {
        let ingress = slot(at.ingress, at.class.0);
        if self.reserve != 0 && self.reserved[ingress] + size <= self.reserve {
            return Some(Pool::Reserve);
        }
        let within = self.is_lossless(at.class) || self.within_dynamic_limits(at, size, self.shared - used);
        (used + size <= self.shared && within).then_some(Pool::Shared)
    }

    /// Choudhury and Hahne: a queue may hold alpha times the free memory.
    fn within_dynamic_limits(&self, at: &Place, size: u64, free: u64) -> bool {
        self.dynamic.is_none_or(|(alpha_ingress, alpha_egress)| {
            let limit = |alpha: f64| (alpha * free as f64) as u64;
            self.ingress(at.ingress, at.class).0 + size <= limit(alpha_ingress)
                && self.egress(at.egress, at.queue).0 + size <= limit(alpha_egress)
        })
    }

    #[cold]
    pub(crate) fn hold(&mut self, at: &Place, lane: Lane, size: u64) {
        self.held.add(at, lane, size);
    }

    #[cold]
    pub(crate) fn let_go(&mut self, at: &Place, lane: Lane, size: u64) {
        self.held.take(at, lane, size);
    }

    #[inline]
    pub(crate) fn join_egress(&mut self, at: &Place, size: u64) -> u64 {
        let counts = &mut self.ports[usize::from(at.egress.0)];
        counts.egress[within(at.queue.0)] += size as u32;
        sum(&counts.egress)
    }

    #[inline]
    pub(crate) fn leave_egress(&mut self, at: &Place, size: u64) {
        let counts = &mut self.ports[usize::from(at.egress.0)];
        counts.egress[within(at.queue.0)] -= size as u32;
    }

    #[inline]
    pub(crate) fn release(&mut self, at: &Place, size: u64, pool: Pool) {
        match pool {
            Pool::Shared => {
                let unit = self.pool(at);
                self.pools[unit] -= size;
            }
            Pool::Reserve => self.reserved[slot(at.ingress, at.class.0)] -= size,
            Pool::Aggregate => self.release_aggregate(at, size),
        }
        let counts = &mut self.ports[usize::from(at.ingress.0)];
        counts.ingress[within(at.class.0)] -= size as u32;
        self.total -= size;
    }

    /// Whether every counter is zero: nothing is in the switch.
    pub fn is_empty(&self) -> bool {
        let zero = |v: &[u64]| v.iter().all(|&x| x == 0);
        self.total == 0
            && self.held.total() == 0
            && self.ports.iter().all(|counts| *counts == Counts::default())
            && zero(&self.reserved)
            && zero(&self.in_headroom)
            && zero(&self.pools)
    }
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

/// Shared memory of one unit of `buffer_per` after reserves and headrooms (`None` when they exceed the buffer), and whether
/// reserves and headrooms are carved out of it at all.
pub fn shared_memory(params: &SwitchParams, ports: usize, lossless: u8) -> (Option<u64>, bool) {
    let ports_per_unit = match params.buffer_per {
        BufferPer::Switch => ports as u64,
        BufferPer::Ingress => 1,
        BufferPer::Egress | BufferPer::Queue | BufferPer::None => return (Some(params.buffer.0), false),
    };
    let per_port = params.reserve.0 * CLASSES as u64 + params.headroom.0 * u64::from(lossless.count_ones());
    (params.buffer.0.checked_sub(per_port * ports_per_unit), per_port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ingress: u16, egress: u16, class: u8) -> Place {
        Place { ingress: Port(ingress), egress: Port(egress), class: Class(class), queue: Queue(class) }
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
        let mut o = Occupancy::new(&params, 2, 1 << 3);
        let here = at(0, 1, 3);
        let mut admitted = 0;
        while o.admit(&here, 100).is_some() {
            admitted += 100;
        }
        assert_eq!((admitted, o.in_headroom(Port(0), Class(3))), (100 + 6_400 + 1_000, Bytes(1_000)));
        assert_eq!(o.free(Port(0)), Bytes::ZERO);
        assert_eq!(o.admit(&at(1, 0, 0), 100), Some(Pool::Reserve), "another class still has its reserve");
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
        let mut o = Occupancy::new(&params, 2, 1 << 3);
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
        let mut o = Occupancy::new(&params, 16, 1 << 3);
        let mut admitted = 0;
        for n in 0..16 * 1_000u32 {
            admitted += o.admit(&at((n % 16) as u16, 15, 3), 130).map_or(0, |_| 130);
            assert!(o.free(Port(0)).0 <= 6_400, "after {admitted} B: {}", o.free(Port(0)));
        }
        assert!((12_000..=16 * 600 + 6_400).contains(&admitted), "{admitted}");
    }

    #[test]
    fn dynamic_limit_leaves_room() {
        let params = SwitchParams {
            architecture: Architecture::SharedMemory,
            buffer: Bytes(9_000),
            alpha_egress: 1.0,
            ..SwitchParams::default()
        };
        let mut o = Occupancy::new(&params, 4, 0);
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
