//! Service of a port's queues: how packets join, how flows keep their order, and which packet goes next.

use super::turns::highest;
use super::{Next, Port, SUB_QUEUES};
use crate::model::packet::{CLASSES, Packet, Queue};
use crate::model::slab::{Ix, Slab, Slot};
use backwater_engine::{Time, fetch};

impl Port {
    /// A packet joins a queue.
    #[inline(always)]
    pub fn enqueue(&mut self, slab: &mut Slab, queue: usize, ix: Ix) {
        self.push(slab, queue, ix);
        if self.ordered {
            self.line_up(slab, queue, ix);
        }
    }

    /// A packet waits for this port; if it does not wait in the queue itself, it is pushed there once it may go.
    #[cold]
    pub fn line_up(&mut self, slab: &Slab, queue: usize, ix: Ix) {
        let first = self.queue(queue).head() == Some(ix);
        let Some(in_order) = &mut self.rest.in_order else { return };
        in_order.join(&slab[ix], queue);
        if first && !in_order.may_go(&slab[ix], queue) {
            self.rest.waits |= 1 << queue;
            self.set_open();
        }
    }

    /// A packet has left its queue: others of its flow may go now, and the next head of the queue may not.
    #[cold]
    fn passed(&mut self, slab: &Slab, queue: usize, slot: &Slot) {
        let Some(in_order) = &mut self.rest.in_order else { return };
        let mattered = in_order.matters();
        in_order.leave(slot, queue);
        if mattered {
            self.review_order(slab);
        }
    }

    /// All packets that waited for a queue of this port, here or elsewhere, have been dropped.
    #[cold]
    pub fn line_up_without(&mut self, slab: &Slab, queue: usize, dropped: &[Ix]) {
        let Some(in_order) = &mut self.rest.in_order else { return };
        dropped.iter().for_each(|ix| in_order.lose(&slab[*ix], queue));
        self.review_order(slab);
    }

    /// The last packet of a queue has left it without being sent.
    #[cold]
    pub(super) fn line_up_back(&mut self, slab: &Slab, queue: usize, last: Ix) {
        let Some(in_order) = &mut self.rest.in_order else { return };
        in_order.take_back(&slab[last], queue);
        self.review_order(slab);
    }

    fn review_order(&mut self, slab: &Slab) {
        let Some(in_order) = &self.rest.in_order else { return };
        let waits = |queue: usize| {
            let head = self.queue(queue).head();
            head.is_some_and(|head| !in_order.may_go(&slab[head], queue))
        };
        self.rest.waits = (0..CLASSES).fold(0, |mask, queue| if waits(queue) { mask | 1 << queue } else { mask });
        self.set_open();
    }

    /// Returns whether a packet that waits elsewhere may go before everything else of its flow.
    pub fn may_go(&self, slot: &Slot, queue: usize) -> bool {
        self.rest.in_order.as_ref().is_none_or(|in_order| in_order.may_go(slot, queue))
    }

    /// The queue of this port whose packets must leave before a packet that would be next in `queue`, to keep its flow in order.
    pub fn waits_for(&self, slot: &Slot, queue: u8) -> Option<u8> {
        self.rest.in_order.as_ref().and_then(|in_order| in_order.waits_for(slot, usize::from(queue)))
    }

    /// Prefetches its state, its queues and its counters.
    #[inline(always)]
    pub fn fetch(&self) {
        fetch(&self.backlog);
        fetch(&self.tx_frames);
    }

    /// Prefetches what an arriving frame touches.
    #[inline(always)]
    pub fn fetch_arrival(&self) {
        fetch(&self.backlog);
    }

    /// Prefetches what only a host needs.
    #[inline(always)]
    pub fn fetch_express(&self) {
        fetch(&self.usual_express);
    }

    /// The packet that will probably be served next.
    #[inline(always)]
    pub fn head(&self) -> Option<Ix> {
        self.backlog.checked_ilog2().and_then(|queue| self.queue(queue as usize).head())
    }

    /// Takes the packet that the scheduler serves next, or returns when to look again.
    #[inline(always)]
    pub fn next(&mut self, slab: &Slab, now: Time) -> Next {
        self.next_of(slab, now, |_, _| true)
    }

    /// The same, where a packet may start only if `may_transmit` returns true for it and its queue.
    #[inline(always)]
    pub fn next_of(&mut self, slab: &Slab, now: Time, may_transmit: impl Fn(Queue, &Packet) -> bool) -> Next {
        self.next_among(u32::MAX, slab, now, may_transmit)
    }

    /// The same for these queues only, a bit each.
    #[inline(always)]
    pub fn next_among(
        &mut self,
        queues: u32,
        slab: &Slab,
        now: Time,
        may_transmit: impl Fn(Queue, &Packet) -> bool,
    ) -> Next {
        let mut mask = self.backlog & self.open & queues;
        let mut earliest = Time::NEVER;
        while mask != 0 {
            let queue = if self.in_turn { self.choose(slab, mask) } else { highest(mask) };
            let fifo = self.fifo(queue);
            let Some(head) = fifo.head() else { break };
            let slot = &slab[head];
            if slot.ready <= now && !may_transmit(Queue((queue % CLASSES) as u8), &slot.pkt) {
                mask &= !(1 << queue);
                continue;
            }
            if slot.ready <= now {
                if fifo.drop_head(slab, head) {
                    self.backlog &= !(1 << queue);
                }
                if self.in_turn {
                    self.served(slab, queue, u64::from(slot.pkt.size));
                }
                if self.ordered {
                    self.passed(slab, queue, slot);
                }
                return Next::Packet(head);
            }
            earliest = earliest.min(slot.ready);
            mask &= !(1 << queue);
        }
        if earliest == Time::NEVER { Next::Nothing } else { Next::Wait(earliest) }
    }

    #[cold]
    fn choose(&mut self, slab: &Slab, mask: u32) -> usize {
        let heads: [Option<Ix>; CLASSES] = std::array::from_fn(|queue| self.queue(queue).head());
        let size = |queue: usize| heads[queue].map_or(0, |head| u64::from(slab[head].pkt.size));
        match &mut self.rest.turns {
            Some(turns) if mask & SUB_QUEUES == 0 => turns.choose(mask, size),
            _ => highest(mask),
        }
    }

    #[cold]
    fn served(&mut self, slab: &Slab, queue: usize, size: u64) {
        if queue >= CLASSES {
            return;
        }
        let next = self.queue(queue).head().map(|head| u64::from(slab[head].pkt.size));
        if let Some(turns) = &mut self.rest.turns {
            turns.served(queue, size, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::data;
    use crate::model::hooks::MechanismId;
    use crate::model::packet::{Class, HostId};
    use crate::model::port::queues::HostQueues;
    use crate::model::port::{Belongs, Facts, express};
    use crate::model::slab::Fifo;
    use crate::units::{Rate, Serialiser};

    fn nic() -> Port {
        let serialiser = Serialiser::new(Rate::gbps(100), None);
        Port::new(Facts { belongs: Belongs::Host(0), peer: 1, delay: Time::ZERO, serialiser }, 0)
    }

    /// One packet in each of 32 queues: they leave by falling numbers, and the four of the class whose gate is shut stay.
    #[test]
    fn sub_queues_go_first_behind_the_gate_of_their_class() {
        let (mut slab, mut port) = (Slab::default(), nic());
        port.rest.sub_queues = vec![Fifo::default(); 3 * CLASSES];
        let all: Vec<Ix> =
            (0..32).map(|flow| slab.insert(data(HostId(0), HostId(1), flow, Class(flow as u8 % 8), 1000))).collect();
        all.iter().enumerate().for_each(|(queue, ix)| port.enqueue(&mut slab, queue, *ix));
        port.shut(3, MechanismId(0));
        let mut left = Vec::new();
        while let Next::Packet(ix) = port.next(&slab, Time::ZERO) {
            left.push(ix);
        }
        assert_eq!(left, all.iter().rev().filter(|ix| *ix % 8 != 3).copied().collect::<Vec<_>>());
        assert_eq!((port.backlog, port.has_work(), port.is_drained(Time::ZERO)), (0x0808_0808, false, false));
        port.open(3, MechanismId(0));
        assert_eq!((port.next(&slab, Time::ZERO), port.open), (Next::Packet(all[27]), u32::MAX));
    }

    /// At a NIC whose queues take turns, express frames precede all of them.
    #[test]
    fn what_is_express_takes_no_turn() {
        let (mut slab, mut port) = (Slab::default(), nic());
        port.set_queues(HostQueues::new(Class(3), &[Class(3), Class(5)]).expect("two priorities"));
        let mut frame = |flow| slab.insert(data(HostId(0), HostId(1), flow, Class(3), 1000));
        let [three, five, ack] = [0, 1, 2].map(&mut frame);
        for (queue, ix) in [(3, three), (5, five), (express(0), ack)] {
            port.enqueue(&mut slab, queue, ix);
        }
        assert!(port.has_express(port.open));
        let left = [(); 3].map(|()| port.next(&slab, Time::ZERO));
        assert_eq!(left, [ack, three, five].map(Next::Packet));
        assert!(!port.has_express(port.open) && port.is_drained(Time::ZERO));
    }
}
