//! A frame for which there is no memory, and the frame that gives way to it.
//!
//! If mechanisms decide so, or a draw with `switch.victim = "either"`, the newest frame of the queue gives way. It leaves its queue and
//! every account as if it had been sent, and is then treated as a frame without memory. The new frame takes its memory, which may be
//! smaller than needed: an account exceeds its size by less than a frame, and counts as full until it has fallen below its size. The frame
//! on the wire never gives way: it has left its queue, though the accounts include it until `switch.release_at`.

use super::{Switch, cx};
use crate::config::BufferPer;
use crate::model::hooks::{Full, SwitchSide};
use crate::model::node::NodeCx;
use crate::model::packet::{Body, DataHeader, DsField, Ecn};
use crate::model::slab::Ix;
use crate::model::switch::occupancy::Pool;
use rand::RngExt;

impl<S: SwitchSide> NodeCx<'_, &mut Switch<S>> {
    /// There is no memory for a frame that has arrived.
    #[cold]
    #[inline(never)]
    pub(super) fn full(&mut self, pkt: Ix) {
        let Some(last) = self.push_out(pkt) else {
            if self.cut(pkt) {
                self.admit(pkt);
            }
            return;
        };
        self.take_back(last);
        self.readmit(last);
        let slot = &mut self.world.slab[pkt];
        slot.counted = self.node.occupancy.in_cells(slot.pkt.size);
        let charged = self.node.occupancy.transfer_charge(&slot.place, u64::from(slot.counted));
        self.charged(pkt, charged);
        self.pass_on(pkt);
    }

    /// A frame that gave way has been trimmed, and joins its queue if there is memory for it. Its latency has passed, or will pass at the
    /// time that was set on its arrival; so has the decision on an isolation queue.
    fn readmit(&mut self, pkt: Ix) {
        while self.cut(pkt) {
            let (s, slot) = (&mut *self.node, &mut self.world.slab[pkt]);
            s.stack.steer(&mut cx!(self, s), &mut slot.place, &mut slot.pkt);
            slot.counted = s.occupancy.in_cells(slot.pkt.size);
            if let Some(charged) = s.occupancy.admit(&slot.place, u64::from(slot.counted)) {
                self.charged(pkt, charged);
                return self.join_from_isolation(pkt);
            }
        }
    }

    /// A frame has been charged to a memory; `looked_at` if something looks at it.
    fn charged(&mut self, pkt: Ix, (pool, looked_at): (Pool, bool)) {
        let slot = &mut self.world.slab[pkt];
        (slot.pool, slot.charged) = (pool, true);
        debug_assert!(looked_at || !self.node.looks_at_admitted(&slot.place), "a level was missed: `SwitchCx::watch`");
        if looked_at {
            self.show_admitted(pkt);
        }
    }

    /// Removes the newest frame of its queue, if that gives way to `pkt`.
    fn push_out(&mut self, pkt: Ix) -> Option<Ix> {
        let (s, slot) = (&mut *self.node, &self.world.slab[pkt]);
        if s.crossbar.is_some() || !s.occupancy.is_of_egress() {
            return None;
        }
        let last = self.ports[usize::from(slot.place.egress.0)].tail(usize::from(slot.place.queue.0))?;
        let newest = &self.world.slab[last];
        // Actions noted here are carried out when that frame is in no queue any more, so that no mechanism can drop it from one.
        let gives = newest.charged
            && (s.stack.push_out(&mut cx!(self, s), &slot.place, &slot.pkt, &newest.pkt)
                || s.tosses.as_mut().is_some_and(|rng| rng.random()));
        gives.then_some(last)
    }

    /// The newest frame of a queue leaves the queue and the accounts.
    fn take_back(&mut self, pkt: Ix) {
        self.queue_again_waits(pkt);
        let place = self.world.slab[pkt].place;
        let (port, queue) = (place.egress.0, usize::from(place.queue.0));
        self.ports[usize::from(port)].take_last(&mut self.world.slab, queue);
        // A hook that marks leaving packets does not mark this one: it has not been sent.
        let ds = self.world.slab[pkt].pkt.ds;
        self.world.slab[pkt].pkt.ds = DsField::new(ds.dscp(), Ecn::NotEct);
        let others_wait = self.leave(port, pkt);
        self.world.slab[pkt].pkt.ds = ds;
        if others_wait {
            self.make_room(pkt);
        }
        self.act_switch();
    }

    /// There is no memory for a frame: it is trimmed, returned, or lost. Returns whether it was trimmed, and continues if there is memory
    /// for its rest.
    fn cut(&mut self, pkt: Ix) -> bool {
        let place = self.world.slab[pkt].place;
        let full = self.at_switch(|stack, cx, slab| {
            let slot = &mut slab[pkt];
            stack.on_full(cx, &mut slot.place, &mut slot.pkt)
        });
        self.act_switch();
        let size = self.world.slab[pkt].pkt.size;
        match full {
            Full::Trim(least) if self.world.slab[pkt].pkt.trim(least) => {
                self.mark_last_hop(pkt);
                return true;
            }
            Full::Return(least) if self.return_to_sender(pkt, least) => return false,
            Full::Drop | Full::Trim(_) | Full::Return(_) => {}
        }
        let stats = &mut self.ports[usize::from(place.ingress.0)].rest.stats;
        stats.drop_frames += 1;
        stats.drop_bytes += u64::from(size);
        self.world.totals.progress.drops += 1;
        self.record_drop(pkt, &place);
        let s = &*self.node;
        // A message of a mechanism may be lost: its sender expects that, and no mechanism promises a pause for its class.
        if self.world.rules.lossless && !matches!(self.world.slab[pkt].pkt.body, Body::Control(_)) {
            let most = match s.occupancy.memory() {
                BufferPer::Egress => {
                    format!("{} of them for port {}", s.occupancy.egress_port(place.egress), place.egress.0)
                }
                BufferPer::Queue => {
                    let waiting = s.occupancy.egress(place.egress, place.queue);
                    format!("{waiting} of them for queue {} of port {}", place.queue.0, place.egress.0)
                }
                BufferPer::Switch | BufferPer::Ingress | BufferPer::None => {
                    format!("{} of them from that port", s.occupancy.ingress_port(place.ingress))
                }
            };
            self.world.broken(
                format!(
                    "the scenario is lossless, but {} dropped a frame of {size} B that came in at port {} in class {}: \
                     {} were in the switch, {most}",
                    s.home.shape.name,
                    place.ingress.0,
                    place.class.0,
                    s.occupancy.total(),
                ),
                "leave more headroom above the pause threshold; `backwater advise` itemises it",
            );
        }
        self.discard(pkt);
        false
    }

    /// Flags a trimmed packet if it was trimmed at the port to its receiver.
    fn mark_last_hop(&mut self, pkt: Ix) {
        let slot = &mut self.world.slab[pkt];
        let leads_to = self.node.home.shape.ports[usize::from(slot.place.egress.0)].host;
        if let Body::Data(data) = &mut slot.pkt.body
            && leads_to == Some(slot.pkt.dst)
        {
            data.flags |= DataHeader::LAST_HOP;
        }
    }
}
