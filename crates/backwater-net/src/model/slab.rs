//! Packets in flight, and the queues that they form: lists through the slab, without allocation per packet.

use crate::model::hooks::place::Place;
use crate::model::packet::{Class, Control, Packet, Port, Queue};
use crate::model::switch::occupancy::Pool;
use backwater_engine::memory::optional;
use backwater_engine::{Time, fetch};

/// Index of a packet.
pub(crate) type Ix = u32;
pub(crate) const NIL: Ix = u32::MAX;

/// A packet and its place. The fields that a switch needs lie in the first cache line.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[repr(C, align(128))]
pub(crate) struct Slot {
    /// Earliest time of its transmission.
    pub ready: Time,
    pub place: Place,
    /// \[bytes\] of it in the switch's accounts: its whole cells when it was admitted, or else joined its egress queue.
    pub counted: u32,
    pub pool: Pool,
    /// It is in the ingress account.
    pub charged: bool,
    /// It came to this switch with its mark, or a port has counted the mark.
    mark_counted: bool,
    pub pkt: Packet,
}

const _: () = assert!(size_of::<Slot>() == 128, "two cache lines");
const _: () =
    assert!(std::mem::offset_of!(Slot, pkt) + crate::model::packet::BODY_AT < 64, "what it is is in the first");

impl Slot {
    /// The packet has arrived at one more switch, where it will wait in the queue of its class.
    #[inline(always)]
    pub fn enter(&mut self, ingress: u16, egress: u16) {
        self.pkt.hop = self.pkt.hop.wrapping_add(1);
        let class = self.pkt.class;
        self.mark_counted = self.pkt.is_marked();
        let queue = Queue(class.0);
        self.place = Place { ingress: Port(ingress), egress: Port(egress), class, queue, own: false };
    }

    /// \[bytes\] of it in the ingress account, before it joins its egress queue.
    pub fn admitted(&self) -> u64 {
        if self.charged { u64::from(self.counted) } else { 0 }
    }

    /// Returns whether it has been newly marked in this switch since the last call: this counts every mark, whichever hook has set it.
    #[inline(always)]
    pub fn newly_marked(&mut self) -> bool {
        let marked = self.pkt.is_marked() && !self.mark_counted;
        self.mark_counted |= marked;
        marked
    }
}

const NOWHERE: Place = Place { ingress: Port(0), egress: Port(0), class: Class(0), queue: Queue(0), own: false };

/// Packets in flight, 134 MB of them, from which on growth in steps would cost much memory.
const MANY: usize = 1 << 20;
/// Packets for which addresses are then reserved, 8.6 GB.
const AHEAD: usize = 1 << 26;

/// All packets in flight. Memory is bounded by their number.
#[derive(Default, backwater_derive::State)]
pub(crate) struct Slab {
    slots: Vec<Slot>,
    /// The next packet behind each packet in its list. Separate from the slots: joining a list then does not touch the packet before, whose
    /// cache line is no longer cached.
    links: Vec<Ix>,
    /// The free slots, as a list.
    free: Fifo,
    used: usize,
    #[state(within)]
    controls: Controls,
}

/// Contents of control frames.
#[derive(Default, backwater_derive::State)]
struct Controls {
    #[state(with = crate::model::packet::controls)]
    frames: Vec<Control>,
    free: Vec<u32>,
}

impl Slab {
    #[inline]
    pub fn insert(&mut self, pkt: Packet) -> Ix {
        let (ready, pool) = (Time::ZERO, Pool::Shared);
        let slot = Slot { pkt, ready, place: NOWHERE, counted: 0, pool, charged: false, mark_counted: false };
        self.used += 1;
        if let Some(ix) = self.free.head() {
            self.free.head = self.links[ix as usize];
            self.slots[ix as usize] = slot;
            ix
        } else {
            if self.slots.len() == self.slots.capacity() && (MANY..AHEAD).contains(&self.slots.len()) {
                self.reserve_addresses();
            }
            self.slots.push(slot);
            self.links.push(NIL);
            self.slots.len() as Ix - 1
        }
    }

    /// Reserves addresses for far more packets, or none if the system refuses: a list that grows step by step is copied each time, and
    /// needs memory for both copies. The system gives memory to addresses when they are used.
    #[cold]
    fn reserve_addresses(&mut self) {
        let more = AHEAD - self.slots.len();
        let _refused = optional(|| self.slots.try_reserve_exact(more));
    }

    #[inline]
    pub fn remove(&mut self, ix: Ix) {
        self.used -= 1;
        self.links[ix as usize] = self.free.head;
        self.free.head = ix;
    }

    #[inline(always)]
    pub fn get(&self, ix: Ix) -> Option<&Slot> {
        self.slots.get(ix as usize)
    }

    /// Prefetches the part of a packet that a switch needs.
    #[inline(always)]
    pub fn fetch(&self, ix: Ix) {
        if let Some(slot) = self.get(ix) {
            fetch(&slot.ready);
        }
    }

    /// Prefetches the part of a packet that only its host needs.
    #[inline(always)]
    pub fn fetch_whole(&self, ix: Ix) {
        if let Some(slot) = self.get(ix) {
            fetch(&slot.pkt.flow);
        }
    }

    /// Prefetches the word that names the packet behind this one.
    #[inline(always)]
    pub fn fetch_link(&self, ix: Ix) {
        if let Some(link) = self.links.get(ix as usize) {
            fetch(link);
        }
    }

    /// All packets in flight.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        let mut free = vec![false; self.slots.len()];
        self.free.iter(self).for_each(|ix| free[ix as usize] = true);
        self.slots.iter().zip(free).filter(|(_, free)| !free).map(|(slot, _)| &slot.pkt)
    }

    /// Packets in flight.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Stores the content of a control frame; returns its index.
    pub fn insert_control(&mut self, frame: Control) -> u32 {
        let Controls { frames, free } = &mut self.controls;
        if let Some(at) = free.pop() {
            frames[at as usize] = frame;
            return at;
        }
        frames.push(frame);
        frames.len() as u32 - 1
    }

    /// The content of a control frame.
    pub fn control(&self, at: u32) -> Control {
        self.controls.frames[at as usize]
    }

    /// Removes and returns it.
    pub fn take_control(&mut self, at: u32) -> Control {
        self.controls.free.push(at);
        self.controls.frames[at as usize]
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
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
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

    /// All packets, from the first on.
    pub fn iter<'a>(&self, slab: &'a Slab) -> impl Iterator<Item = Ix> + use<'a> {
        let following = |ix: &Ix| Some(slab.links[*ix as usize]).filter(|next| *next != NIL);
        std::iter::successors(self.head(), following)
    }

    #[inline(always)]
    pub fn push(&mut self, slab: &mut Slab, ix: Ix) {
        slab.links[ix as usize] = NIL;
        if self.head == NIL {
            self.head = ix;
        } else {
            slab.links[self.tail as usize] = ix;
        }
        self.tail = ix;
    }

    #[inline(always)]
    pub fn pop(&mut self, slab: &Slab) -> Option<Ix> {
        let head = self.head()?;
        self.head = slab.links[head as usize];
        Some(head)
    }

    /// Removes the first packet, which is `head`. Returns whether the queue is empty now.
    #[inline(always)]
    pub fn drop_head(&mut self, slab: &Slab, head: Ix) -> bool {
        self.head = slab.links[head as usize];
        self.head == NIL
    }

    /// Removes the last packet. The list leads forwards only, so the packet before it is searched from the first on.
    #[cold]
    pub fn pop_last(&mut self, slab: &mut Slab) -> Option<Ix> {
        let last = self.tail()?;
        let before = self.iter(slab).find(|ix| slab.links[*ix as usize] == last);
        match before {
            Some(before) => (self.tail, slab.links[before as usize]) = (before, NIL),
            None => self.head = NIL,
        }
        Some(last)
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::data;
    use crate::model::packet::HostId;

    /// The last of three packets leaves, then the last of two, then the only one; a new packet joins behind those that are left.
    #[test]
    fn the_last_of_a_queue_leaves_it() {
        let (mut slab, mut fifo) = (Slab::default(), Fifo::default());
        let [a, b, c] = [0, 1, 2].map(|flow| slab.insert(data(HostId(0), HostId(1), flow, Class(3), 1000)));
        [a, b, c].iter().for_each(|ix| fifo.push(&mut slab, *ix));
        assert_eq!(fifo.pop_last(&mut slab), Some(c));
        assert_eq!(fifo.pop_last(&mut slab), Some(b));
        fifo.push(&mut slab, c);
        assert_eq!(fifo.iter(&slab).collect::<Vec<_>>(), [a, c]);
        assert_eq!((fifo.pop_last(&mut slab), fifo.tail()), (Some(c), Some(a)));
        assert_eq!((fifo.pop_last(&mut slab), fifo.pop_last(&mut slab)), (Some(a), None));
        assert!(fifo.is_empty());
        fifo.push(&mut slab, b);
        assert_eq!((fifo.head(), fifo.tail()), (Some(b), Some(b)));
    }
}
