//! Reports of a switch to probes: the frames behind a pause, the first drop, and the frames that wait in its queues.

use super::Switch;
use super::queued::each_queued;
use crate::model::hooks::{Awaits, MechanismId, Place, SwitchSide};
use crate::model::node::{Node, NodeCx};
use crate::model::packet::{CLASSES, Class, Port as PortNo, Queue};
use crate::model::probe::account::Stand;
use crate::model::slab::Ix;
use crate::record::{Behind, FirstDrop};
use backwater_engine::Time;
use std::collections::BTreeMap;

impl<S: SwitchSide> NodeCx<'_, &mut Switch<S>> {
    /// The egress queue with most of the frames that a pause of a neighbour awaits.
    pub(crate) fn behind(&self, owner: MechanismId, local: PortNo, class: Option<Class>) -> Option<Behind> {
        let s = &*self.node;
        let awaits = s.stack.awaits(owner, local, class);
        let counts = |place: &Place| match &awaits {
            Awaits::Egress(queues) => queues
                .iter()
                .any(|(port, queue)| *port == place.egress && queue.is_none_or(|queue| queue == place.queue)),
            Awaits::Ingress | Awaits::Unknown => {
                !place.own && place.ingress == local && class.is_none_or(|class| class == place.class)
            }
        };
        let mut standing: BTreeMap<(u16, u8), u64> = BTreeMap::new();
        each_queued(s, self.ports, &self.world.slab, |ix: Ix, queue: (u16, u8)| {
            let slot = &self.world.slab[ix];
            if counts(&slot.place) {
                *standing.entry(queue).or_default() += u64::from(slot.counted);
            }
        });
        // The first of equal queues, so that the result does not depend on the order of frames.
        let (fullest, bytes) = standing.into_iter().min_by_key(|(_, bytes)| std::cmp::Reverse(*bytes))?;
        let p = &self.ports[usize::from(fullest.0)];
        Some(Behind {
            port: PortNo(p.local),
            queue: Queue(fullest.1),
            to: self.world.fabric.peer(self.id(), fullest.0),
            bytes,
            since: s.watch.as_ref().and_then(|watch| watch.busy_since(PortNo(p.local))).unwrap_or(self.world.now),
            paused: p.held_now(self.world.now) & (1 << fullest.1 | 1 << CLASSES) != 0,
        })
    }

    /// A frame is dropped for want of memory; `place` is where memory was missing.
    pub(crate) fn record_drop(&mut self, pkt: Ix, place: &Place) {
        if self.world.totals.first_drop.is_some() {
            return;
        }
        let (s, slot) = (&*self.node, &self.world.slab[pkt]);
        let (port, class) = (place.ingress, place.class);
        let pause_requests = &self.ports[usize::from(port.0)].rest.pause_requests;
        self.world.totals.first_drop_order = self.world.part.as_ref().map_or(self.world.order, |part| part.reached.1);
        self.world.totals.first_drop = Some(FirstDrop {
            time: self.world.now,
            node: s.home.shape.node,
            port,
            class,
            egress: place.egress,
            queue: place.queue,
            to: self.world.fabric.peer(self.id(), place.egress.0),
            memory: s.occupancy.memory(),
            size: u64::from(slot.pkt.size),
            ingress: s.occupancy.ingress_port(port).0,
            waiting: s.occupancy.waiting(place.egress, place.queue).0,
            total: s.occupancy.total().0,
            asked: pause_requests.is_signalled(Some(class), self.world.now)
                || pause_requests.is_signalled(None, self.world.now),
        });
    }

    /// Packets that have joined queues of a switch begin to wait there.
    pub(crate) fn enter_joined(&mut self) {
        let Some(watch) = &mut self.node.watch else { return };
        for (port, pkt, ready) in std::mem::take(&mut watch.joined) {
            self.enter_waits(port, pkt, ready, None);
        }
    }

    fn enter_waits(&mut self, port: PortNo, pkt: Ix, ready: Time, isolation_queue: Option<MechanismId>) {
        let (port, slot) = (self.global(port.0), &self.world.slab[pkt]);
        let (flow, queue) = (slot.pkt.flow, slot.place.queue.0);
        let Some(waits) = &mut self.world.probes.waits else { return };
        if !slot.pkt.is_data() {
            return;
        }
        let Some((account, _)) = waits.carried.remove(&pkt) else { return };
        if let Some(stand) = waits.stand(port, flow) {
            return stand.enter(pkt, queue, ready, account, isolation_queue);
        }
        let mut stand = Stand::new(flow, false, ready);
        stand.enter(pkt, queue, ready, account, isolation_queue);
        waits.stands[port as usize].push(stand);
    }

    /// A packet begins to wait in an isolation queue.
    pub(crate) fn isolated_waits(&mut self, owner: MechanismId, pkt: Ix) {
        if self.world.probes.waits.is_some() {
            self.enter_joined();
            let slot = &self.world.slab[pkt];
            self.enter_waits(slot.place.egress, pkt, slot.ready.max(self.world.now), Some(owner));
        }
    }

    /// A packet leaves its queue without being sent, and will wait in another one.
    pub(crate) fn queue_again_waits(&mut self, pkt: Ix) {
        if self.world.probes.waits.is_none() {
            return;
        }
        let (egress, flow) = (self.world.slab[pkt].place.egress, self.world.slab[pkt].pkt.flow);
        self.account_waits(egress.0);
        let (port, now) = (self.global(egress.0), self.world.now);
        let Some(waits) = &mut self.world.probes.waits else { return };
        if let Some(account) = waits.stand(port, flow).and_then(|stand| stand.take_back(pkt)) {
            waits.carried.insert(pkt, (account, now));
        }
        waits.stands[port as usize].retain(|stand| !stand.is_over());
    }

    /// A packet leaves its isolation queue.
    pub(crate) fn leave_isolated_waits(&mut self, pkt: Ix) {
        if self.world.probes.waits.is_some() {
            let (egress, flow) = (self.world.slab[pkt].place.egress, self.world.slab[pkt].pkt.flow);
            self.account_waits(egress.0);
            let port = self.global(egress.0);
            self.world
                .probes
                .waits
                .as_mut()
                .and_then(|waits| waits.stand(port, flow))
                .into_iter()
                .for_each(|stand| stand.leave_isolation_queue(pkt));
        }
    }
}
