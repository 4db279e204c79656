//! A frame's way through a switch.

use super::{Actors, Event, Network, order};
use crate::config::LatencyAt;
use crate::hooks::{Fate, Full, NO_HOP, Place, SwitchSide};
use crate::packet::{Ecn, HostId, Kind, Port as PortNo, Queue};
use crate::record::{Broken, Sink};
use crate::routing::NO_PATH;
use crate::slab::Ix;
use backwater_engine::Time;

impl<A: Actors> Network<A> {
    #[inline]
    pub(super) fn arrive_at_switch(&mut self, switch: u32, ingress: u16, pkt: Ix, sink: &mut dyn Sink) {
        let header = self.slab[pkt].pkt;
        if header.kind == Kind::Control && !self.pass_control(switch, ingress, pkt, sink) {
            return;
        }
        let Some(egress) = self.route(switch, pkt) else {
            return self.no_route(switch, pkt);
        };
        let slot = &mut self.slab[pkt];
        slot.pkt.hop = header.hop.wrapping_add(1);
        slot.place = Place {
            ingress: PortNo(ingress),
            egress: PortNo(egress),
            class: header.class,
            queue: Queue(header.class.0),
        };
        self.admit(switch, pkt, sink);
    }

    /// The egress port: pinned, chosen by a mechanism, or by ECMP.
    #[inline]
    fn route(&mut self, switch: u32, pkt: Ix) -> Option<u16> {
        let header = &self.slab[pkt].pkt;
        if header.path != NO_PATH {
            return Some(self.paths.port(header.path, header.hop));
        }
        let candidates = self.routes.candidates(switch, header.dst);
        if candidates.len() > 1 {
            let (dst, hop) = (header.dst, header.hop);
            let hash = self.path_hash(pkt);
            let list: Vec<PortNo>;
            let wanted = if A::CHOOSES {
                list = candidates.iter().map(|p| PortNo(*p)).collect();
                self.at_switch(switch, hop, |stack, cx, slab| stack.choose(cx, &list, &slab[pkt].pkt))
            } else {
                None
            };
            return match wanted {
                Some(port) => Some(port.0),
                None => self.routes.pick(switch, self.routes.candidates(switch, dst), hash),
            };
        }
        candidates.first().copied()
    }

    /// Shows a control frame that passes by to the mechanisms. Returns whether it goes on.
    #[cold]
    fn pass_control(&mut self, switch: u32, from: u16, pkt: Ix, sink: &mut dyn Sink) -> bool {
        let header = self.slab[pkt].pkt;
        let frame = self.slab.control(header.seq);
        let to = (header.dst != HostId(u32::MAX)).then_some(header.dst);
        let fate = self.at_switch(switch, NO_HOP, |stack, cx, _| stack.on_control(cx, PortNo(from), to, &frame));
        let ends = fate == Fate::Consumed || to.is_none();
        if ends {
            self.slab.take_control(header.seq);
            self.slab.remove(pkt);
        }
        self.act_switch(switch, sink);
        !ends
    }

    #[cold]
    fn no_route(&mut self, switch: u32, pkt: Ix) {
        let dst = self.slab[pkt].pkt.dst;
        let any_down = self.neighbours.iter().flatten().any(|(_, up)| !up);
        self.discard(pkt);
        self.totals.progress.fault_losses += 1;
        if !any_down {
            self.totals.broken = Some(Broken {
                time: self.now,
                reason: format!("{} has no way to h{}", self.switches[switch as usize].shape.name, dst.0),
                hint: "every host must be reachable from every other".into(),
            });
        }
    }

    /// Forgets a packet and the control frame in it.
    pub(super) fn discard(&mut self, pkt: Ix) {
        let header = self.slab[pkt].pkt;
        if matches!(header.kind, Kind::Control | Kind::Mac) {
            self.slab.take_control(header.seq);
        }
        self.slab.remove(pkt);
    }

    /// Steers, admits and passes on a frame whose place is known.
    #[inline]
    pub(super) fn admit(&mut self, switch: u32, pkt: Ix, sink: &mut dyn Sink) {
        let hop = self.slab[pkt].pkt.hop;
        self.at_switch(switch, hop, |stack, cx, slab| {
            let slot = &mut slab[pkt];
            stack.steer(cx, &mut slot.place, &mut slot.pkt);
        });
        let slot = &mut self.slab[pkt];
        let (place, size) = (slot.place, slot.pkt.size);
        let s = &mut self.switches[switch as usize];
        let Some(pool) = s.occupancy.admit(&place, u64::from(size)) else {
            return self.full(switch, pkt, sink);
        };
        (slot.pool, slot.charged) = (pool, size);
        let ingress = s.occupancy.ingress_port(place.ingress).0;
        let stats = &mut self.ports[(s.first_port + u32::from(place.ingress.0)) as usize].stats;
        stats.max_ingress_bytes = stats.max_ingress_bytes.max(ingress);
        let (latency, latency_at) = (s.latency, s.latency_at);
        self.at_switch(switch, hop, |stack, cx, slab| stack.on_admit(cx, &place, &mut slab[pkt].pkt));
        match latency_at {
            LatencyAt::Fabric if latency != Time::ZERO => {
                let uid = self.slab[pkt].pkt.uid;
                self.queue.push(self.now + latency, order(3, uid), Event::Enqueue { switch, pkt });
                self.act_switch(switch, sink);
            }
            LatencyAt::Output => {
                self.slab[pkt].ready = self.now + latency;
                self.enqueue(switch, pkt, sink);
            }
            LatencyAt::Fabric | LatencyAt::Input => self.enqueue(switch, pkt, sink),
        }
    }

    #[cold]
    fn full(&mut self, switch: u32, pkt: Ix, sink: &mut dyn Sink) {
        let (place, hop) = (self.slab[pkt].place, self.slab[pkt].pkt.hop);
        let full = self.at_switch(switch, hop, |stack, cx, slab| stack.on_full(cx, &place, &mut slab[pkt].pkt));
        self.act_switch(switch, sink);
        let size = self.slab[pkt].pkt.size;
        if full == Full::Trim && self.slab[pkt].pkt.payload > 0 {
            let slot = &mut self.slab[pkt].pkt;
            slot.size -= slot.payload;
            slot.payload = 0;
            return self.admit(switch, pkt, sink);
        }
        let s = &self.switches[switch as usize];
        let stats = &mut self.ports[(s.first_port + u32::from(place.ingress.0)) as usize].stats;
        stats.drop_frames += 1;
        stats.drop_bytes += u64::from(size);
        self.totals.progress.drops += 1;
        if self.lossless {
            self.totals.broken = Some(Broken {
                time: self.now,
                reason: format!(
                    "the scenario is lossless, but {} dropped a frame of {size} B that came in at port {} in class {}: \
                     {} were in the switch, {} of them from that port",
                    s.shape.name,
                    place.ingress.0,
                    place.class.0,
                    s.occupancy.total(),
                    s.occupancy.ingress_port(place.ingress)
                ),
                hint: "leave more headroom above the pause threshold; `backwater advise pfc` itemises it".into(),
            });
        }
        self.discard(pkt);
    }

    /// A frame joins its egress queue.
    #[inline]
    pub(super) fn enqueue(&mut self, switch: u32, pkt: Ix, sink: &mut dyn Sink) {
        let slot = &mut self.slab[pkt];
        let (place, size, hop, ecn) = (slot.place, slot.pkt.size, slot.pkt.hop, slot.pkt.ecn);
        slot.queued = size;
        let s = &mut self.switches[switch as usize];
        let port = s.first_port + u32::from(place.egress.0);
        let waiting = s.occupancy.join_egress(&place, u64::from(size));
        let crossbar = s.crossbar.is_some();
        let p = &mut self.ports[port as usize];
        p.stats.max_egress_bytes = p.stats.max_egress_bytes.max(waiting);
        self.at_switch(switch, hop, |stack, cx, slab| stack.on_enqueue(cx, &place, &mut slab[pkt].pkt));
        self.count_mark(port, pkt, ecn);
        if crossbar {
            self.enter_crossbar(switch, pkt);
        } else {
            self.ports[port as usize].push(&mut self.slab, usize::from(place.queue.0), pkt);
            self.kick(port, sink);
        }
        self.act_switch(switch, sink);
    }

    #[inline(always)]
    fn count_mark(&mut self, port: u32, pkt: Ix, before: Ecn) {
        if self.slab[pkt].pkt.ecn != before {
            self.ports[port as usize].stats.marked_frames += 1;
        }
    }

    /// A frame leaves its node's counters.
    #[inline]
    pub(super) fn depart(&mut self, port: u32, pkt: Ix, sink: &mut dyn Sink) {
        let crate::port::Belongs::Switch(switch) = self.ports[port as usize].belongs else { return };
        let slot = &mut self.slab[pkt];
        let (place, hop, ecn, queued, pool) = (slot.place, slot.pkt.hop, slot.pkt.ecn, slot.queued, slot.pool);
        let charged = std::mem::take(&mut slot.charged);
        self.at_switch(switch, hop, |stack, cx, slab| stack.on_dequeue(cx, &place, &mut slab[pkt].pkt));
        self.count_mark(port, pkt, ecn);
        let s = &mut self.switches[switch as usize];
        s.occupancy.leave_egress(&place, u64::from(queued));
        if charged != 0 {
            s.occupancy.release(&place, u64::from(charged), pool);
            self.at_switch(switch, hop, |stack, cx, _| stack.on_release(cx, &place));
        }
        self.at_switch(switch, hop, |stack, cx, _| stack.on_depart(cx, &place));
        if self.switches[switch as usize].crossbar.is_some() {
            self.left_crossbar(switch, place.egress.0, queued);
        }
        self.act_switch(switch, sink);
    }
}
