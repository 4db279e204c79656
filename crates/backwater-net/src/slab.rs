//! Packets in flight, and the queues that they form: lists through the slab, without allocation per packet.

use crate::occupancy::Pool;
use crate::packet::{Class, Control, Ecn, Packet, Port, Queue};
use crate::place::Place;
use backwater_engine::Time;

/// Index of a packet.
pub(crate) type Ix = u32;
pub(crate) const NIL: Ix = u32::MAX;

/// A packet and where it stands. All that a switch needs of it lies in the first cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub(crate) struct Slot {
    /// It may not be transmitted before.
    pub ready: Time,
    pub place: Place,
    pub pool: Pool,
    /// \[bytes\] charged to the ingress account; 0 once released, and for a frame of the switch's own.
    pub charged: u32,
    /// \[bytes\] charged to the egress account.
    pub queued: u32,
    next: Ix,
    /// It came to this switch with its mark, or a port has counted it.
    mark_counted: bool,
    pub pkt: Packet,
}

impl Slot {
    /// The packet has arrived at one more switch, where it will wait in the queue of its class.
    #[inline(always)]
    pub fn enter(&mut self, ingress: u16, egress: u16) {
        self.pkt.hop = self.pkt.hop.wrapping_add(1);
        let class = self.pkt.class;
        self.mark_counted = self.pkt.ecn() == Ecn::Ce;
        let queue = Queue(class.0);
        self.place = Place { ingress: Port(ingress), egress: Port(egress), class, queue, own: false };
    }

    /// Whether it has been marked in this switch since this was last asked: every mark is counted here, whichever hook has set it.
    #[inline(always)]
    pub fn newly_marked(&mut self) -> bool {
        let marked = self.pkt.ecn() == Ecn::Ce && !self.mark_counted;
        self.mark_counted |= marked;
        marked
    }
}

const NOWHERE: Place = Place { ingress: Port(0), egress: Port(0), class: Class(0), queue: Queue(0), own: false };

/// All packets in flight. Memory is bounded by their number.
#[derive(Default)]
pub(crate) struct Slab {
    slots: Vec<Slot>,
    free: Option<Ix>,
    used: usize,
    /// Contents of control frames, indexed by the packet's `seq`.
    controls: Vec<Control>,
    free_controls: Vec<u32>,
}

impl Slab {
    #[inline]
    pub fn insert(&mut self, pkt: Packet) -> Ix {
        let (ready, pool, next) = (Time::ZERO, Pool::Shared, NIL);
        let slot = Slot { pkt, ready, place: NOWHERE, charged: 0, queued: 0, pool, next, mark_counted: false };
        self.used += 1;
        if let Some(ix) = self.free {
            let old = std::mem::replace(&mut self.slots[ix as usize], slot);
            self.free = (old.next != NIL).then_some(old.next);
            ix
        } else {
            self.slots.push(slot);
            self.slots.len() as Ix - 1
        }
    }

    #[inline]
    pub fn remove(&mut self, ix: Ix) {
        self.used -= 1;
        self.slots[ix as usize].next = self.free.unwrap_or(NIL);
        self.free = Some(ix);
    }

    #[inline(always)]
    pub fn get(&self, ix: Ix) -> Option<&Slot> {
        self.slots.get(ix as usize)
    }

    /// Reads a word of the packet, for no other purpose than to have it in the cache.
    #[inline(always)]
    pub fn touch(&self, ix: Ix) -> u64 {
        self.get(ix).map_or(0, |slot| slot.ready.0)
    }

    /// All packets in flight.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        let mut free = vec![false; self.slots.len()];
        let mut next = self.free.unwrap_or(NIL);
        while next != NIL {
            free[next as usize] = true;
            next = self.slots[next as usize].next;
        }
        self.slots.iter().zip(free).filter(|(_, free)| !free).map(|(slot, _)| &slot.pkt)
    }

    /// Packets in flight.
    pub fn len(&self) -> usize {
        self.used
    }

    pub fn insert_control(&mut self, frame: Control) -> u64 {
        if let Some(at) = self.free_controls.pop() {
            self.controls[at as usize] = frame;
            return u64::from(at);
        }
        self.controls.push(frame);
        self.controls.len() as u64 - 1
    }

    /// The content of a control frame; `at` is its `seq`, whose upper half says who sent it.
    pub fn control(&self, at: u64) -> Control {
        self.controls[at as u32 as usize]
    }

    pub fn take_control(&mut self, at: u64) -> Control {
        self.free_controls.push(at as u32);
        self.controls[at as u32 as usize]
    }
}

impl std::ops::Index<Ix> for Slab {
    type Output = Slot;
    #[inline(always)]
    fn index(&self, ix: Ix) -> &Slot {
        &self.slots[ix as usize]
    }
}

impl std::ops::IndexMut<Ix> for Slab {
    #[inline(always)]
    fn index_mut(&mut self, ix: Ix) -> &mut Slot {
        &mut self.slots[ix as usize]
    }
}

/// A first-in first-out queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fifo {
    head: Ix,
    tail: Ix,
}

impl Default for Fifo {
    fn default() -> Self {
        Fifo { head: NIL, tail: NIL }
    }
}

impl Fifo {
    #[inline(always)]
    pub fn tail(&self) -> Option<Ix> {
        (self.head != NIL).then_some(self.tail)
    }

    #[inline(always)]
    pub fn head(&self) -> Option<Ix> {
        (self.head != NIL).then_some(self.head)
    }

    /// All packets, the first first.
    pub fn iter<'a>(&self, slab: &'a Slab) -> impl Iterator<Item = Ix> + use<'a> {
        let following = |ix: &Ix| Some(slab[*ix].next).filter(|next| *next != NIL);
        std::iter::successors(self.head(), following)
    }

    #[inline(always)]
    pub fn push(&mut self, slab: &mut Slab, ix: Ix) {
        slab[ix].next = NIL;
        if self.head == NIL {
            self.head = ix;
        } else {
            slab[self.tail].next = ix;
        }
        self.tail = ix;
    }

    #[inline(always)]
    pub fn pop(&mut self, slab: &Slab) -> Option<Ix> {
        let head = self.head()?;
        self.head = slab[head].next;
        Some(head)
    }

    /// Takes out the first packet, whose slot this is. Returns whether the queue is empty now.
    #[inline(always)]
    pub fn drop_head(&mut self, slot: &Slot) -> bool {
        self.head = slot.next;
        self.head == NIL
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }
}
