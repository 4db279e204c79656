//! The counters of one switch, and admission to its memory.
//!
//! Every frame is counted at its ingress (port, class) from admission until it has left (or crossed) the switch, and at its egress (port,
//! queue) from the moment it joins that queue until it leaves. Memory is charged once, to the first of reserve, shared pool and headroom
//! that takes the frame. Frames that the switch itself sends are not charged: they arrived by no port and, like MAC control, have memory of
//! their own. For a class with headroom the three are one account for each (ingress, class), whose headroom drains first, whichever frame
//! leaves; otherwise exactly a frame's own charge is released.

mod counts;

use super::isolated::IsolatedBytes;
use crate::config::{Architecture, BufferPer, SwitchParams};
use crate::model::hooks::levels::{Account, Levels};
use crate::model::hooks::place::{IsolationQueue, Place};
use crate::model::packet::{CLASSES, Class, Packet, Port, Queue};
use crate::units::{Bytes, Rate};
use counts::{Counts, Shared};

/// The memory to which a frame was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Pool {
    Reserve,
    Shared,
    /// Reserve, shared memory and headroom together, for a class that has headroom.
    Aggregate,
}

/// The limits of a port's class that is exempt from dynamic limits.
#[derive(Clone, Copy, Debug)]
struct Lossless {
    /// \[bytes\]
    headroom: u64,
    /// See [`SwitchParams::headroom_above`]; infinite without it.
    above: f64,
}

/// Limits that follow the free memory, see [`SwitchParams`].
#[derive(Clone, Copy, Debug)]
struct Dynamic {
    alpha_ingress: f64,
    alpha_egress: f64,
    alpha_port: Option<f64>,
    queue_reserve: Bytes,
    queue_limit: Bytes,
}

impl Dynamic {
    /// Choudhury and Hahne: a queue may hold alpha times the free memory.
    #[inline(always)]
    fn of_queue(&self, memory: Shared) -> Bytes {
        let of_free = Bytes(memory.free()).times(self.alpha_egress);
        Bytes(of_free.0.saturating_add(self.queue_reserve.0)).min(self.queue_limit)
    }
}

/// \[bytes\] counters of one switch.
#[derive(Clone, Debug, backwater_derive::State)]
pub struct Occupancy {
    #[state(fixed)]
    per: BufferPer,
    /// Every account counts a frame as whole cells of this size.
    #[state(fixed)]
    cell: Bytes,
    /// The slice of each port; empty: the memory has no slices.
    #[state(fixed)]
    slices: Vec<u8>,
    #[state(fixed)]
    dynamic: Option<Dynamic>,
    #[state(fixed)]
    reserve: u64,
    /// Classes that have a reserve, a bit each.
    #[state(fixed)]
    with_reserve: u8,
    /// By port; empty without headroom.
    #[state(fixed)]
    limits: Vec<Lossless>,
    /// Classes that have headroom and are exempt from dynamic limits, a bit each.
    #[state(fixed)]
    lossless: u8,
    /// Only the shared memory decides: no reserves, no headroom, no dynamic limits.
    #[state(fixed)]
    plain: bool,
    /// Every frame passes the levels, whatever they are.
    #[state(fixed)]
    every_frame: bool,
    /// \[bytes\] See [`Levels::free`].
    #[state(fixed)]
    calm: u64,
    #[state(within)]
    ports: Vec<Counts>,
    total: u64,
    /// Bytes in reserves of classes without headroom, by (ingress, class); empty when the switch has none.
    reserved: Vec<u64>,
    /// One for the switch or each of its slices, or one for each queue; otherwise the memories lie at their ports.
    #[state(within)]
    pools: Vec<Shared>,
    /// Memory that headrooms share, one for each slice; empty if each has its own.
    #[state(within)]
    headroom_pools: Vec<Shared>,
    /// Bytes that wait before their egress queue.
    pub(crate) isolated: IsolatedBytes,
}

impl Occupancy {
    /// Counters of a switch whose ports have these rates, all zero.
    pub(crate) fn new(params: &SwitchParams, rates: &[Rate], lossless: u8) -> Occupancy {
        let (ports, queues) = (rates.len(), rates.len() * CLASSES);
        // The reader of scenarios refuses to reserve more than the buffer; a caller that does so shares nothing.
        let sizes = shared_memory(params, rates, lossless).unwrap_or_else(|| vec![0; ports.max(1)]);
        let dynamic = params.architecture == Architecture::SharedMemory;
        let carved = params.buffer_per.is_carved();
        let has_headroom = carved && lossless != 0 && params.headroom.0 != 0;
        let partitioned = has_headroom || carved && params.reserve.0 != 0;
        let limits = rates.iter().filter(|_| has_headroom).map(|rate| Lossless {
            headroom: params.headroom_at(*rate).0,
            above: params.headroom_above_at(*rate).filter(|_| dynamic).unwrap_or(f64::INFINITY),
        });
        let mut counts = vec![Counts::default(); ports];
        let mut pools = Vec::new();
        for (unit, size) in sizes.into_iter().enumerate() {
            let memory = Shared { used: 0, size };
            match params.buffer_per {
                BufferPer::Ingress if unit < ports => counts[unit].ingress.own = memory,
                BufferPer::Egress if unit < ports => counts[unit].egress.own = memory,
                BufferPer::Ingress | BufferPer::Egress => {}
                BufferPer::Switch | BufferPer::Queue | BufferPer::None => pools.push(memory),
            }
        }
        Occupancy {
            per: params.buffer_per,
            cell: params.cell,
            slices: match params.slices {
                0 | 1 => Vec::new(),
                _ => (0..ports).map(|port| params.slice_of(port, ports) as u8).collect(),
            },
            dynamic: dynamic.then_some(Dynamic {
                alpha_ingress: params.alpha_ingress,
                alpha_egress: params.alpha_egress,
                alpha_port: params.alpha_port,
                queue_reserve: params.queue_reserve,
                queue_limit: params.queue_limit.unwrap_or(Bytes::MAX),
            }),
            plain: !(dynamic || partitioned),
            reserve: if partitioned { params.reserve.0 } else { 0 },
            with_reserve: params.reserved_classes(),
            limits: limits.collect(),
            lossless,
            calm: 0,
            // Levels rest on the free memory, and what is left of a port's share may be less.
            every_frame: dynamic && params.alpha_port.is_some(),
            ports: counts,
            total: 0,
            reserved: vec![0; if partitioned { queues } else { 0 }],
            pools,
            headroom_pools: match params.slice_headroom().filter(|_| has_headroom) {
                Some(Bytes(size)) => vec![Shared { used: 0, size }; params.slices.max(1) as usize],
                None => Vec::new(),
            },
            isolated: IsolatedBytes::default(),
        }
    }

    /// \[bytes\] that accounts count for a frame of this length: its whole cells.
    #[inline(always)]
    pub(crate) fn in_cells(&self, size: u32) -> u32 {
        self.in_whole_cells(Bytes(size.into())).0 as u32
    }

    /// Bytes that accounts count for a frame of this length.
    #[inline(always)]
    pub fn in_whole_cells(&self, size: Bytes) -> Bytes {
        size.in_cells(self.cell)
    }

    /// Bytes that accounts count for a packet: its whole cells.
    #[inline(always)]
    pub fn counted(&self, pkt: &Packet) -> Bytes {
        self.in_whole_cells(pkt.bytes())
    }

    /// Bytes that arrived by `port` in `class` and have not left.
    #[inline(always)]
    pub fn ingress(&self, port: Port, class: Class) -> Bytes {
        Bytes(self.counts(port).ingress.of(class.0).all.bytes)
    }
    /// Bytes that arrived by `port` and have not left.
    #[inline(always)]
    pub fn ingress_port(&self, port: Port) -> Bytes {
        Bytes(self.counts(port).ingress.total.bytes)
    }
    /// Bytes that wait for `queue` of `port` (wherever the architecture keeps them), the frame on the wire included until
    /// counters fall.
    #[inline(always)]
    pub fn egress(&self, port: Port, queue: Queue) -> Bytes {
        Bytes(self.counts(port).egress.of(queue.0).all.bytes)
    }
    /// Bytes that wait for `port`.
    #[inline(always)]
    pub fn egress_port(&self, port: Port) -> Bytes {
        Bytes(self.counts(port).egress.total.bytes)
    }
    /// The most that [`Occupancy::ingress_port`] was when a frame was admitted.
    pub fn most_ingress_port(&self, port: Port) -> Bytes {
        Bytes(self.counts(port).ingress.most.most)
    }
    /// The most that [`Occupancy::egress_port`] was when a frame joined a queue.
    pub fn most_egress_port(&self, port: Port) -> Bytes {
        Bytes(self.counts(port).egress.most.most)
    }
    /// Bytes that wait for `queue` of `port`; if all queues of a port share memory, for all of them.
    pub(crate) fn waiting(&self, port: Port, queue: Queue) -> Bytes {
        if self.per == BufferPer::Egress { self.egress_port(port) } else { self.egress(port, queue) }
    }
    /// Returns which units have memory of their own.
    pub(crate) fn memory(&self) -> BufferPer {
        self.per
    }
    /// Bytes in the switch.
    #[inline(always)]
    pub fn total(&self) -> Bytes {
        Bytes(self.total)
    }
    /// Returns whether there is headroom for lossless classes beside the shared memory.
    #[inline(always)]
    pub fn has_headroom(&self) -> bool {
        !self.limits.is_empty()
    }
    /// Headroom in use at (port, class).
    #[inline(always)]
    pub fn in_headroom(&self, port: Port, class: Class) -> Bytes {
        Bytes(self.counts(port).ingress.of(class.0).headroom)
    }
    /// Returns whether the headroom of (port, class), or of any class of the port, is empty, while the pool before it has `room` again.
    /// Without headroom: always true.
    #[inline]
    pub fn headroom_rests(&self, port: Port, class: Option<Class>, room: Bytes) -> bool {
        let uses = |class: u8| self.in_headroom(port, Class(class)) > Bytes::ZERO;
        self.limits.is_empty()
            || self.of_ingress(port).is_none_or(|memory| Bytes(memory.free()) >= room)
                && !class.map_or_else(|| (0..8).any(uses), |class| uses(class.0))
    }
    /// Free shared memory of the pool to which a frame at `port` would be charged, as seen from its ingress; with `alpha_port`, what is left
    /// of the port's share. [`Bytes::MAX`] for unlimited
    /// buffers, and for buffers per egress port or queue, which an ingress cannot know.
    #[inline(always)]
    pub fn free(&self, port: Port) -> Bytes {
        self.of_ingress(port).map_or(Bytes::MAX, |memory| self.of_port(port, memory))
    }
    /// The bytes of which dynamic thresholds at a port are shares: all that is free, or `alpha_port` times that less what the port holds. (Then a class gets
    /// `aq (ap (P - all) - own)` in the symbols of sonic-mgmt's `qos_params`.)
    #[inline(always)]
    fn of_port(&self, port: Port, memory: Shared) -> Bytes {
        match self.dynamic.and_then(|dynamic| dynamic.alpha_port) {
            None => Bytes(memory.free()),
            Some(alpha) => Bytes(memory.free()).times(alpha).saturating_sub(self.shared_by(port)),
        }
    }
    /// Shared memory that frames of an ingress port use.
    #[cold]
    fn shared_by(&self, port: Port) -> Bytes {
        let ingress = &self.counts(port).ingress;
        let beyond = |class: u8| {
            let account = ingress.of(class);
            let below = account.all.bytes - account.headroom;
            // With headroom the three memories are one account; otherwise each frame has its own.
            let aggregate = !self.limits.is_empty() && self.is_lossless(Class(class));
            match self.reserved.get(slot(port, class)) {
                Some(reserved) if !aggregate => below - reserved,
                _ => below.saturating_sub(self.reserve_of(Class(class))),
            }
        };
        Bytes((0..CLASSES as u8).map(beyond).sum())
    }
    /// Shared memory in all, free or not, as [`Occupancy::free`] counts it.
    pub fn shared(&self, port: Port) -> Bytes {
        self.of_ingress(port).map_or(Bytes::MAX, |memory| Bytes(memory.size))
    }
    /// The most that the queue of a place may hold at the moment, as lossy frames that come from its ingress are admitted to it. `None`: no
    /// limit of the queue follows the free memory.
    pub fn queue_limit(&self, at: &Place) -> Option<Bytes> {
        self.dynamic.map(|dynamic| dynamic.of_queue(self.memory_at(at)))
    }
    /// The memory that a frame at `port` would be charged to, if the ingress knows it.
    #[inline(always)]
    fn of_ingress(&self, port: Port) -> Option<Shared> {
        match self.per {
            BufferPer::Switch => Some(self.pools[self.slice(port)]),
            BufferPer::Ingress => Some(self.counts(port).ingress.own),
            BufferPer::Egress | BufferPer::Queue | BufferPer::None => None,
        }
    }
    /// Reserve that every class has at each port.
    pub fn least_reserve(&self) -> Bytes {
        Bytes(if self.with_reserve == u8::MAX { self.reserve } else { 0 })
    }
    /// \[bytes\] Reserve of a class at each port.
    #[inline(always)]
    fn reserve_of(&self, class: Class) -> u64 {
        if self.with_reserve & (1 << class.0) == 0 { 0 } else { self.reserve }
    }
    /// Returns whether the reserve of (port, class) has room for a frame of this length.
    #[inline(always)]
    pub fn within_reserve(&self, port: Port, class: Class, frame: Bytes) -> bool {
        (self.ingress(port, class) + self.in_whole_cells(frame)).0 <= self.reserve_of(class)
    }
    /// Bytes of (port, class) beyond its reserve.
    #[inline(always)]
    pub fn beyond_reserve(&self, port: Port, class: Class) -> Bytes {
        self.ingress(port, class).saturating_sub(Bytes(self.reserve_of(class)))
    }
    /// Bytes that arrived by `port` in `class` and wait in held isolation queues. [`Occupancy::ingress`] includes them.
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

    /// Prefetches the counters of an egress queue and its port.
    #[inline(always)]
    pub(crate) fn fetch_egress(&self, port: Port, queue: Queue) {
        if let Some(counts) = self.ports.get(usize::from(port.0)) {
            counts.egress.fetch(queue.0);
        }
    }

    /// Prefetches the counters of a class at its ingress and of the port.
    #[inline(always)]
    pub(crate) fn fetch_ingress(&self, port: Port, class: Class) {
        if let Some(counts) = self.ports.get(usize::from(port.0)) {
            counts.ingress.fetch(class.0);
        }
    }

    #[inline(always)]
    fn counts(&self, port: Port) -> &Counts {
        &self.ports[usize::from(port.0)]
    }

    #[inline(always)]
    fn counts_mut(&mut self, port: Port) -> &mut Counts {
        &mut self.ports[usize::from(port.0)]
    }

    /// The slice of an ingress port.
    #[inline(always)]
    fn slice(&self, ingress: Port) -> usize {
        self.slices.get(usize::from(ingress.0)).map_or(0, |slice| usize::from(*slice))
    }

    /// The memory to which frames at this place are charged.
    #[inline(always)]
    fn memory_at(&self, at: &Place) -> Shared {
        match self.per {
            BufferPer::Switch => self.pools[self.slice(at.ingress)],
            BufferPer::None => self.pools[0],
            BufferPer::Ingress => self.counts(at.ingress).ingress.own,
            BufferPer::Egress => self.counts(at.egress).egress.own,
            BufferPer::Queue => self.pools[slot(at.egress, at.queue.0)],
        }
    }

    #[inline(always)]
    fn memory_at_mut(&mut self, at: &Place) -> &mut Shared {
        match self.per {
            BufferPer::Switch => {
                let slice = self.slice(at.ingress);
                &mut self.pools[slice]
            }
            BufferPer::None => &mut self.pools[0],
            BufferPer::Ingress => &mut self.counts_mut(at.ingress).ingress.own,
            BufferPer::Egress => &mut self.counts_mut(at.egress).egress.own,
            BufferPer::Queue => &mut self.pools[slot(at.egress, at.queue.0)],
        }
    }

    /// Charges `size` bytes at `at`, or refuses. Returns the charged memory, and whether something looks at it.
    #[inline(always)]
    pub(crate) fn admit(&mut self, at: &Place, size: u64) -> Option<(Pool, bool)> {
        let plain = self.plain;
        let shared = self.memory_at_mut(at);
        if plain && shared.used + size <= shared.size {
            shared.used += size;
            return Some((Pool::Shared, self.came_in(at, size)));
        }
        let pool = if !self.limits.is_empty() && self.is_lossless(at.class) {
            self.admit_with_headroom(at, size)?
        } else {
            self.admit_scarce(at, size)?
        };
        let passes = self.came_in(at, size);
        Some((pool, passes | self.is_scarce(at)))
    }

    /// Returns whether every counted frame is looked at, whatever its account holds: less memory is free than levels rest on, or headroom
    /// is in use.
    #[inline(always)]
    fn is_scarce(&self, at: &Place) -> bool {
        self.memory_at(at).free() < self.calm || self.counts(at.ingress).ingress.of(at.class.0).headroom != 0
    }

    /// Returns whether the memory of an egress, or of one of its queues, alone decides on admission.
    pub(crate) fn is_of_egress(&self) -> bool {
        self.plain && matches!(self.per, BufferPer::Egress | BufferPer::Queue)
    }

    /// Charges `size` bytes at `at` unconditionally, after a frame of the same memory has given way; requires [`Occupancy::is_of_egress`].
    /// Returns the charged memory, and whether something looks at it.
    pub(crate) fn transfer_charge(&mut self, at: &Place, size: u64) -> (Pool, bool) {
        self.memory_at_mut(at).used += size;
        (Pool::Shared, self.came_in(at, size))
    }

    /// A frame admitted for one queue will wait for another: its bytes move to the memory of that queue, unconditionally.
    #[cold]
    pub(crate) fn move_charge(&mut self, from: &Place, to: &Place, size: u64, pool: Pool) {
        if pool == Pool::Shared {
            self.memory_at_mut(from).used -= size;
            self.memory_at_mut(to).used += size;
        }
    }

    /// Counts `size` bytes at the ingress. Returns whether something looks at it.
    #[inline(always)]
    fn came_in(&mut self, at: &Place, size: u64) -> bool {
        self.total += size;
        let counts = self.counts_mut(at.ingress);
        counts.ingress.of_mut(at.class.0).all.add(size) | counts.ingress.total.add(size)
    }

    /// Admission without headroom where a choice of memory exists, or too little of it.
    #[cold]
    fn admit_scarce(&mut self, at: &Place, size: u64) -> Option<Pool> {
        let pool = self.pick(at, size, self.memory_at(at))?;
        match pool {
            Pool::Reserve => self.reserved[slot(at.ingress, at.class.0)] += size,
            Pool::Shared | Pool::Aggregate => self.memory_at_mut(at).used += size,
        }
        Some(pool)
    }

    #[inline(always)]
    fn is_lossless(&self, class: Class) -> bool {
        self.lossless & (1 << class.0) != 0
    }

    /// Reserve first, then shared memory while it lasts, or up to `headroom_above` times its free part as in HPCC's `switch-mmu`; the rest
    /// is headroom.
    #[inline(always)]
    fn admit_with_headroom(&mut self, at: &Place, size: u64) -> Option<Pool> {
        let account = self.counts(at.ingress).ingress.of(at.class.0);
        let below = account.all.bytes - account.headroom + size;
        let reserve = self.reserve_of(at.class);
        if below <= reserve {
            return Some(Pool::Aggregate);
        }
        let beyond = below - reserve;
        let (taken, limits) = (size.min(beyond), &self.limits[usize::from(at.ingress.0)]);
        let memory = self.memory_at(at);
        // With a factor above one, the free memory itself is the limit.
        let within =
            |limit: f64| limit.is_infinite() || real(beyond) <= limit * real(self.of_port(at.ingress, memory).0);
        if taken <= memory.free() && within(limits.above) {
            self.memory_at_mut(at).used += taken;
            return Some(Pool::Aggregate);
        }
        if account.headroom + size > limits.headroom {
            return None;
        }
        let slice = self.slice(at.ingress);
        if let Some(pool) = self.headroom_pools.get_mut(slice) {
            if pool.free() < size {
                return None;
            }
            pool.used += size;
        }
        self.counts_mut(at.ingress).ingress.of_mut(at.class.0).headroom += size;
        Some(Pool::Aggregate)
    }

    fn pick(&self, at: &Place, size: u64, shared: Shared) -> Option<Pool> {
        let ingress = slot(at.ingress, at.class.0);
        let reserve = self.reserve_of(at.class);
        if reserve != 0 && self.reserved[ingress] + size <= reserve {
            return Some(Pool::Reserve);
        }
        let within = self.is_lossless(at.class) || self.within_dynamic_limits(at, size, shared);
        (size <= shared.free() && within).then_some(Pool::Shared)
    }

    fn within_dynamic_limits(&self, at: &Place, size: u64, shared: Shared) -> bool {
        self.dynamic.is_none_or(|dynamic| {
            let (ingress, egress) = (self.ingress(at.ingress, at.class).0, self.egress(at.egress, at.queue).0);
            ingress + size <= self.of_port(at.ingress, shared).times(dynamic.alpha_ingress).0
                && egress + size <= dynamic.of_queue(shared).0
        })
    }

    /// Counts a frame that joins an egress queue. Returns whether something looks at it.
    #[inline(always)]
    pub(crate) fn join_egress(&mut self, at: &Place, size: u64) -> bool {
        let counts = self.counts_mut(at.egress);
        counts.egress.of_mut(at.queue.0).all.add(size) | counts.egress.total.add(size)
    }

    /// Returns whether something looks at a frame that is about to leave an egress queue.
    #[inline(always)]
    pub(crate) fn leaves_behind(&self, at: &Place, size: u64) -> bool {
        let account = self.counts(at.egress).egress.of(at.queue.0);
        account.all.bytes - size >= account.left
    }

    /// Removes a frame that leaves an egress queue. Returns whether something looks at it.
    #[inline(always)]
    pub(crate) fn leave_egress(&mut self, at: &Place, size: u64) -> bool {
        let counts = self.counts_mut(at.egress);
        counts.egress.total.bytes -= size;
        counts.egress.of_mut(at.queue.0).all.take(size)
    }

    /// Releases bytes charged to `pool`. Headroom drains first, whichever frame leaves. Returns whether something looks at it.
    #[inline(always)]
    pub(crate) fn release(&mut self, at: &Place, size: u64, pool: Pool) -> bool {
        let reserve = self.reserve_of(at.class);
        let counts = self.counts_mut(at.ingress);
        counts.ingress.total.bytes -= size;
        let account = counts.ingress.of_mut(at.class.0);
        let before = account.all.bytes;
        let passes = account.all.take(size);
        match pool {
            Pool::Shared => self.memory_at_mut(at).used -= size,
            Pool::Reserve => self.reserved[slot(at.ingress, at.class.0)] -= size,
            Pool::Aggregate => {
                let below = before - account.headroom;
                let drained = size.min(account.headroom);
                account.headroom -= drained;
                let shared = |below: u64| below.saturating_sub(reserve);
                let freed = shared(below) - shared(below - (size - drained));
                self.memory_at_mut(at).used -= freed;
                let slice = self.slice(at.ingress);
                if let Some(pool) = self.headroom_pools.get_mut(slice) {
                    pool.used -= drained;
                }
            }
        }
        self.total -= size;
        passes
    }

    /// An admitted frame has been looked at.
    #[inline]
    pub(crate) fn admitted(&mut self, port: Port) {
        self.counts_mut(port).ingress.keep_most();
    }

    /// A frame that joined an egress queue has been looked at.
    #[inline]
    pub(crate) fn joined(&mut self, port: Port) {
        self.counts_mut(port).egress.keep_most();
    }

    /// From now on every frame passes the levels that are set.
    pub(crate) fn pass_every_frame(&mut self) {
        self.every_frame = true;
    }

    /// From now on these levels of an account count.
    pub(crate) fn set_levels(&mut self, of: Account, levels: Levels) {
        let levels = if self.every_frame { Levels::ALL } else { self.seen_from(of, levels) };
        self.calm = self.calm.max(levels.free.0);
        match of {
            Account::Ingress(port, class) => self.counts_mut(port).ingress.of_mut(class.0).all.set(levels),
            Account::Egress(port, queue) => {
                let account = self.counts_mut(port).egress.of_mut(queue.0);
                account.left = levels.left.0;
                account.all.set(levels);
            }
            Account::IngressPort(port) => self.counts_mut(port).ingress.set_level(levels.above.0),
            Account::EgressPort(port) => self.counts_mut(port).egress.set_level(levels.above.0),
        }
    }

    /// A plain memory and an egress account do not know how much of the shared memory is free: if levels depend on that, every frame
    /// passes.
    fn seen_from(&self, of: Account, levels: Levels) -> Levels {
        let is_egress = matches!(of, Account::Egress(..) | Account::EgressPort(_));
        if levels.free > Bytes::ZERO && (self.plain || is_egress) {
            levels.or(Levels::above(Bytes::ZERO))
        } else {
            levels
        }
    }

    /// Returns whether a frame that an account has just counted, or that has just left it, passes these levels.
    pub(crate) fn passes(&self, of: Account, levels: Levels, leaves: bool) -> bool {
        let levels = self.seen_from(of, levels);
        let (bytes, free) = match of {
            Account::Ingress(port, class) => (self.ingress(port, class), self.free(port)),
            Account::IngressPort(port) => (self.ingress_port(port), self.free(port)),
            Account::Egress(port, queue) => (self.egress(port, queue), Bytes::MAX),
            Account::EgressPort(port) => (self.egress_port(port), Bytes::MAX),
        };
        if leaves { bytes < levels.below } else { bytes > levels.above || free < levels.free }
    }

    /// Returns whether every counter is zero: nothing is in the switch.
    pub fn is_empty(&self) -> bool {
        let zero = |v: &[u64]| v.iter().all(|&x| x == 0);
        self.total == 0
            && self.isolated.total() == 0
            && self.ports.iter().all(Counts::is_empty)
            && zero(&self.reserved)
            && self.pools.iter().chain(&self.headroom_pools).all(|shared| shared.used == 0)
    }
}

/// Bytes as a real number: exact below 2^53, which includes all that fit a memory.
#[inline(always)]
fn real(bytes: u64) -> f64 {
    bytes as i64 as f64
}

#[inline(always)]
fn slot(port: Port, within: u8) -> usize {
    usize::from(port.0) * CLASSES + usize::from(within)
}

/// \[bytes\] Shared memory of each unit of `buffer_per`, or of each slice, after reserves and headrooms; `None` if they exceed the buffer.
pub fn shared_memory(params: &SwitchParams, rates: &[Rate], lossless: u8) -> Option<Vec<u64>> {
    let set_aside = |rate: &Rate| {
        let headroom = params.own_headroom_at(*rate).0.checked_mul(u64::from(lossless.count_ones()))?;
        params.reserves(1).0.checked_add(headroom)
    };
    let buffer = params.buffer.0;
    match params.buffer_per {
        // Half of the largest number: sums cannot overflow.
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
            let all = |slice: usize| {
                let own = rates.iter().enumerate().filter(|(port, _)| params.slice_of(*port, rates.len()) == slice);
                own.map(|(_, rate)| rate).try_fold(0u64, |sum, rate| sum.checked_add(set_aside(rate)?))
            };
            let pool = params.slice_headroom().filter(|_| lossless != 0).unwrap_or(Bytes::ZERO).0;
            let slices = 0..params.slices.max(1) as usize;
            slices.map(|slice| params.slice_buffer().0.checked_sub(all(slice)?)?.checked_sub(pool)).collect()
        }
    }
}

#[cfg(test)]
mod tests;
