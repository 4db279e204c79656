//! Isolated frames: a frame that a mechanism keeps from its egress queue waits in an isolation queue of the port.
//!
//! The decision is made when a frame would join its queue, after the switch's latency. A frame that is still in the fabric when an
//! isolation queue is shut is then treated like a later arrival, and no frame of the isolated flow can overtake another. A waiting frame
//! stays in the ingress account and in the memory that was charged for it, so every count of arrived frames includes it; the egress account
//! includes it once it joins its queue. While an isolation queue holds a frame, new frames for it join behind.

use super::Switch;
use crate::model::hooks::{IsolationQueue, SwitchSide};
use crate::model::node::NodeCx;
use crate::model::packet::{Port, Queue};
use crate::model::slab::Ix;

impl<S: SwitchSide> NodeCx<'_, &mut Switch<S>> {
    /// A frame that would join its egress queue begins to wait in an isolation queue.
    #[cold]
    #[inline(never)]
    pub(crate) fn park(&mut self, isolation_queue: IsolationQueue, pkt: Ix) {
        let (place, size) = (self.world.slab[pkt].place, self.world.slab[pkt].admitted());
        if place.own {
            return self.join_from_isolation(pkt);
        }
        self.isolated_waits(isolation_queue.owner, pkt);
        let number = self.node.occupancy.isolated.add(&place, isolation_queue, size, self.world.now);
        let port = &mut self.ports[usize::from(place.egress.0)];
        port.rest.isolation_queues.park(&mut self.world.slab, place.queue.0, isolation_queue, pkt, number);
        port.has_isolation_queues = true;
        self.serve_isolation_queues(place.egress, place.queue);
        self.act_switch();
    }

    /// Returns the isolation queue in which packets of this one's flow wait, where flows move between queues. The packet stays behind them,
    /// in their queue and on their priority, until the isolation queue has released them. `InOrder` learns of a packet when it joins its
    /// queue, so it sees each flow in order.
    #[cold]
    pub(crate) fn follow(&mut self, pkt: Ix) -> Option<IsolationQueue> {
        let slot = &self.world.slab[pkt];
        let port = &self.ports[usize::from(slot.place.egress.0)];
        if !port.ordered || slot.place.own {
            return None;
        }
        let (isolation_queue, before) = port.rest.isolation_queues.last_of_flow(&self.world.slab, slot)?;
        let (queue, class) = (self.world.slab[before].place.queue, self.world.slab[before].pkt.class);
        let slot = &mut self.world.slab[pkt];
        let admitted = slot.place;
        (slot.place.queue, slot.pkt.class) = (queue, class);
        let size = slot.admitted();
        if size > 0 {
            self.node.occupancy.move_charge(&admitted, &slot.place, size, slot.pool);
        }
        Some(isolation_queue)
    }

    /// A mechanism shuts or opens one of its isolation queues. An empty one has no state: it is shut when a frame begins to wait in it.
    #[cold]
    pub(crate) fn set_isolation_queue(&mut self, isolation_queue: IsolationQueue, shut: bool) {
        if !self.node.occupancy.isolated.set(isolation_queue, !shut) || shut {
            return;
        }
        // A mechanism that releases one frame at a time means the first of the isolation queue, whichever uplink that takes.
        let with_lanes = (0u16..).zip(self.ports.iter()).filter(|(_, port)| port.has_isolation_queues);
        let waiting = with_lanes.flat_map(|(at, port)| {
            port.rest.isolation_queues.waiting_in(isolation_queue).map(move |(first, queue)| (first, at, queue))
        });
        let mut waiting: Vec<(u64, u16, u8)> = waiting.collect();
        waiting.sort_unstable();
        for (_, port, queue) in waiting {
            self.serve_isolation_queues(Port(port), Queue(queue));
        }
    }

    /// A frame has left an egress queue: a frame of an isolation queue may take its place.
    #[cold]
    #[inline(never)]
    pub(crate) fn left_queue(&mut self, pkt: Ix) {
        let (at, size) = (self.world.slab[pkt].place, self.world.slab[pkt].counted);
        let port = &mut self.ports[usize::from(at.egress.0)];
        if port.has_isolation_queues {
            port.rest.isolation_queues.left(at.queue.0, pkt, size);
            self.serve_isolation_queues(at.egress, at.queue);
        }
    }

    fn serve_isolation_queues(&mut self, port: Port, queue: Queue) {
        loop {
            let (s, p) = (&mut *self.node, &mut self.ports[usize::from(port.0)]);
            let (queued, open) =
                (s.occupancy.egress(port, queue).0, |isolation_queue| s.occupancy.isolated.is_open(isolation_queue));
            let next = p.rest.isolation_queues.feed(&self.world.slab, queue.0, queued, open);
            p.has_isolation_queues = !p.rest.isolation_queues.is_empty();
            let Some((isolation_queue, pkt)) = next else { return };
            let slot = &self.world.slab[pkt];
            s.occupancy.isolated.take(&slot.place, isolation_queue, slot.admitted(), self.world.now);
            // If a frame leaves its queue's count when it starts, it does so while joining, before the mechanism's actions are carried out.
            self.join_from_isolation(pkt);
            self.ports[usize::from(port.0)].rest.isolation_queues.joined(queue.0);
        }
    }
}
