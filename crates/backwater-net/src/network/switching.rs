//! A frame's way through a switch.

use super::{Actors, Event, Network, cx, order};
use crate::config::{LatencyAt, Recovery};
use crate::hooks::{Fate, Full, SwitchSide};
use crate::packet::{HostId, Kind, Port as PortNo};
use crate::port::Belongs;
use crate::record::Broken;
use crate::routing::NO_PATH;
use crate::slab::Ix;
use backwater_engine::Time;

impl<A: Actors> Network<A> {
    #[inline(always)]
    pub(super) fn arrive_at_switch(&mut self, switch: u32, ingress: u16, pkt: Ix) {
        let slot = &mut self.world.slab[pkt];
        let header = &slot.pkt;
        if header.path == NO_PATH || header.kind == Kind::Control {
            return self.arrive_unpinned(switch, ingress, pkt);
        }
        if self.world.rules.transport.recovery != Recovery::None && !self.fabric.paths.is_pinned(header.flow) {
            // Sent twice, and the flow has ended with the other: its path may by now be another flow's.
            slot.pkt.path = NO_PATH;
            return self.arrive_unpinned(switch, ingress, pkt);
        }
        let egress = self.fabric.paths.port(header.path, header.hop);
        slot.enter(ingress, egress);
        self.admit(switch, pkt);
    }

    /// A control frame, which mechanisms may take, or a packet whose way is decided here.
    #[inline(never)]
    fn arrive_unpinned(&mut self, switch: u32, ingress: u16, pkt: Ix) {
        if self.world.slab[pkt].pkt.kind == Kind::Control && !self.pass_control(switch, ingress, pkt) {
            return;
        }
        let Some(egress) = self.route(switch, pkt).or_else(|| self.route_anew(switch, pkt)) else {
            return self.no_route(switch, ingress, pkt);
        };
        self.world.slab[pkt].enter(ingress, egress);
        self.admit(switch, pkt);
    }

    /// The egress port: pinned, chosen by a mechanism, or by ECMP.
    #[inline(always)]
    fn route(&mut self, switch: u32, pkt: Ix) -> Option<u16> {
        let header = &self.world.slab[pkt].pkt;
        if header.path != NO_PATH {
            return Some(self.fabric.paths.port(header.path, header.hop));
        }
        let candidates = self.fabric.routes.candidates(switch, header.dst);
        if candidates.len() > 1 {
            if self.world.rules.chooses {
                let s = &mut self.switches[switch as usize];
                if let Some(port) = s.stack.choose(&mut cx!(self, s), candidates, &self.world.slab[pkt].pkt) {
                    return Some(port.0);
                }
            }
            return self.fabric.routes.pick(switch, candidates, self.world.slab[pkt].pkt.entropy);
        }
        candidates.first().map(|port| port.0)
    }

    /// The egress port to a host to which no flow goes, as where messages do, or to which none has begun since a link's state changed.
    #[cold]
    fn route_anew(&mut self, switch: u32, pkt: Ix) -> Option<u16> {
        let host = self.world.slab[pkt].pkt.dst;
        if self.fabric.routes.knows(host) {
            return None;
        }
        self.find_routes(host);
        self.route(switch, pkt)
    }

    /// Shows a control frame that passes by to the mechanisms. Returns whether it goes on.
    #[cold]
    fn pass_control(&mut self, switch: u32, from: u16, pkt: Ix) -> bool {
        let header = self.world.slab[pkt].pkt;
        if header.path != NO_PATH && !self.fabric.paths.is_pinned(header.flow) {
            // The flow has ended, and its path may by now be another flow's.
            self.world.slab[pkt].pkt.path = NO_PATH;
        }
        let frame = self.world.slab.control(header.seq);
        let to = (header.dst != HostId(u32::MAX)).then_some(header.dst);
        let fate = self.at_switch(switch, |stack, cx, _| stack.on_control(cx, PortNo(from), to, &frame));
        let ends = fate == Fate::Consumed || to.is_none();
        if ends {
            self.world.slab.take_control(header.seq);
            self.world.slab.remove(pkt);
        }
        self.act_switch(switch);
        !ends
    }

    #[cold]
    fn no_route(&mut self, switch: u32, ingress: u16, pkt: Ix) {
        let dst = self.world.slab[pkt].pkt.dst;
        let any_down = self.fabric.neighbours.iter().flatten().any(|(_, up)| !up);
        // Counted where it came from: it might as well have been lost on its way here.
        let from = self.ports[(self.switches[switch as usize].first_port + u32::from(ingress)) as usize].peer;
        self.lose(from, pkt);
        if !any_down {
            self.world.totals.stopped = true;
            self.world.totals.broken = Some(Broken {
                time: self.world.now,
                reason: format!("{} has no way to h{}", self.switches[switch as usize].home.shape.name, dst.0),
                hint: "every host must be reachable from every other".into(),
            });
        }
    }

    /// Forgets a packet and the control frame in it.
    pub(super) fn discard(&mut self, pkt: Ix) {
        if self.waits.is_some() {
            self.lose_waits(pkt);
        }
        let header = self.world.slab[pkt].pkt;
        if matches!(header.kind, Kind::Control | Kind::Mac) {
            self.world.slab.take_control(header.seq);
        }
        self.world.slab.remove(pkt);
    }

    /// Steers, admits and passes on a frame whose place is known.
    #[inline]
    pub(super) fn admit(&mut self, switch: u32, pkt: Ix) {
        let (s, slot) = (&mut self.switches[switch as usize], &mut self.world.slab[pkt]);
        s.stack.steer(&mut cx!(self, s), &mut slot.place, &mut slot.pkt);
        let (place, size) = (slot.place, slot.pkt.size);
        let Some(pool) = s.occupancy.admit(&place, u64::from(size)) else {
            return self.full(switch, pkt);
        };
        (slot.pool, slot.charged) = (pool, size);
        let p = &mut self.ports[(s.first_port + u32::from(place.ingress.0)) as usize];
        p.max_ingress_bytes = p.max_ingress_bytes.max(s.occupancy.ingress_port(place.ingress).0);
        s.stack.on_admit(&mut cx!(self, s), &place, &mut slot.pkt);
        self.enter_fabric(switch, pkt);
    }

    /// A frame is on its way to its egress queue, wherever the switch's latency is.
    #[inline(always)]
    pub(super) fn enter_fabric(&mut self, switch: u32, pkt: Ix) {
        let (s, slot) = (&mut self.switches[switch as usize], &mut self.world.slab[pkt]);
        match s.latency_at {
            LatencyAt::Fabric if s.latency != Time::ZERO => {
                let at = self.world.now + s.latency;
                self.world.queue.push(at, order(3, slot.pkt.uid), Event::Enqueue { switch, pkt });
                self.act_switch(switch);
            }
            at => {
                // At the input the latency has passed, but for frames of the switch's own (`originate`).
                if at == LatencyAt::Output {
                    slot.ready = self.world.now + s.latency;
                }
                self.enqueue(switch, pkt);
            }
        }
    }

    #[cold]
    fn full(&mut self, switch: u32, pkt: Ix) {
        let place = self.world.slab[pkt].place;
        let full = self.at_switch(switch, |stack, cx, slab| stack.on_full(cx, &place, &mut slab[pkt].pkt));
        self.act_switch(switch);
        let size = self.world.slab[pkt].pkt.size;
        if full == Full::Trim && self.world.slab[pkt].pkt.payload > 0 {
            let slot = &mut self.world.slab[pkt].pkt;
            slot.size -= slot.payload;
            slot.payload = 0;
            return self.admit(switch, pkt);
        }
        let s = &self.switches[switch as usize];
        let stats = &mut self.ports[(s.first_port + u32::from(place.ingress.0)) as usize].rest.stats;
        stats.drop_frames += 1;
        stats.drop_bytes += u64::from(size);
        self.world.totals.progress.drops += 1;
        self.note_drop(switch, pkt);
        let s = &self.switches[switch as usize];
        // A message of a mechanism may be lost: its sender counts with that, and no pause is promised for its class.
        if self.world.rules.lossless && self.world.slab[pkt].pkt.kind != Kind::Control {
            self.world.totals.stopped = true;
            self.world.totals.broken = Some(Broken {
                time: self.world.now,
                reason: format!(
                    "the scenario is lossless, but {} dropped a frame of {size} B that came in at port {} in class {}: \
                     {} were in the switch, {} of them from that port",
                    s.home.shape.name,
                    place.ingress.0,
                    place.class.0,
                    s.occupancy.total(),
                    s.occupancy.ingress_port(place.ingress)
                ),
                hint: "leave more headroom above the pause threshold; `backwater advise` itemises it".into(),
            });
        }
        self.discard(pkt);
    }

    /// A frame joins its egress queue, unless a mechanism lets it wait.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, switch: u32, pkt: Ix) {
        self.join::<true>(switch, pkt);
    }

    /// A frame that has waited in a lane joins its egress queue.
    #[inline(never)]
    pub(super) fn join_late(&mut self, switch: u32, pkt: Ix) {
        self.leave_lane_waits(switch, pkt);
        self.join::<false>(switch, pkt);
    }

    #[inline(always)]
    fn join<const MAY_WAIT: bool>(&mut self, switch: u32, pkt: Ix) {
        let (s, slot) = (&mut self.switches[switch as usize], &mut self.world.slab[pkt]);
        if MAY_WAIT && let Some(lane) = s.stack.hold(&mut cx!(self, s), &slot.place, &slot.pkt) {
            return self.park(switch, lane, pkt);
        }
        let place = slot.place;
        slot.queued = slot.pkt.size;
        let port = s.first_port + u32::from(place.egress.0);
        let waiting = s.occupancy.join_egress(&place, u64::from(slot.queued));
        if let Some(watch) = &mut s.watch {
            watch.join(place.egress, &s.occupancy, self.world.now, pkt, slot.ready);
        }
        s.stack.on_enqueue(&mut cx!(self, s), &place, &mut slot.pkt);
        let p = &mut self.ports[port as usize];
        p.max_egress_bytes = p.max_egress_bytes.max(waiting);
        p.marked_frames += u64::from(slot.newly_marked());
        if s.crossbar.is_some() && !place.own {
            self.enter_crossbar(switch, pkt);
        } else {
            p.enqueue(&mut self.world.slab, usize::from(place.queue.0), pkt);
            if !p.busy {
                self.kick(port);
            }
        }
        self.act_switch(switch);
    }

    #[inline(never)]
    pub(super) fn depart_at_start(&mut self, belongs: Belongs, port: u32, pkt: Ix) {
        self.depart(belongs, port, pkt);
    }

    /// A frame leaves its node's counters.
    #[inline(always)]
    pub(super) fn depart(&mut self, belongs: Belongs, port: u32, pkt: Ix) {
        let Belongs::Switch(switch) = belongs else { return };
        if self.world.slab[pkt].pkt.kind == Kind::Mac {
            return; // in no counter
        }
        if self.leave(switch, port, pkt) {
            self.make_room(switch, pkt);
        }
        self.act_switch(switch);
    }

    /// A frame has left a switch in which others may wait before the egress queue.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room(&mut self, switch: u32, pkt: Ix) {
        if self.switches[switch as usize].crossbar.is_some() {
            self.left_crossbar(switch, pkt);
        }
        if self.switches[switch as usize].lanes.is_some() {
            self.left_queue(switch, pkt);
        }
    }

    /// A frame leaves the counters of a switch, and mechanisms see it go. Returns whether frames of that switch may wait before their
    /// egress queue.
    #[inline(always)]
    pub(super) fn leave(&mut self, switch: u32, port: u32, pkt: Ix) -> bool {
        let (s, slot) = (&mut self.switches[switch as usize], &mut self.world.slab[pkt]);
        let (place, queued) = (slot.place, slot.queued);
        let charged = std::mem::take(&mut slot.charged);
        s.stack.on_dequeue(&mut cx!(self, s), &place, &mut slot.pkt);
        if slot.newly_marked() {
            self.ports[port as usize].marked_frames += 1;
        }
        s.occupancy.leave_egress(&place, u64::from(queued));
        if let Some(watch) = &mut s.watch {
            watch.change(place.egress, &s.occupancy, self.world.now);
        }
        if charged != 0 {
            s.occupancy.release(&place, u64::from(charged), slot.pool);
        }
        let mut cx = cx!(self, s);
        if charged != 0 {
            s.stack.on_release(&mut cx, &place);
        }
        s.stack.on_depart(&mut cx, &place);
        s.crossbar.is_some() || s.lanes.is_some()
    }
}
