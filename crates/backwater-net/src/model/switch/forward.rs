//! The path of a frame through a switch.

use super::{Switch, cx};
use crate::config::LatencyAt;
use crate::model::event::{Event, order};
use crate::model::hooks::{Fate, IsolationQueue, SwitchHooks, SwitchSide};
use crate::model::node::NodeCx;
use crate::model::packet::{Body, ControlHeader, PathRef, Port as PortNo};
use crate::model::slab::Ix;
use crate::model::world::RunEffect;
use backwater_engine::Time;

impl<S: SwitchSide> NodeCx<'_, &mut Switch<S>> {
    #[inline(always)]
    pub(crate) fn arrive(&mut self, ingress: u16, pkt: Ix) {
        let slot = &mut self.world.slab[pkt];
        let header = &slot.pkt;
        let egress = if header.path == PathRef::KNOWN {
            self.world.fabric.ecmp_paths.port(header.entropy, header.hop)
        } else {
            if header.path == PathRef::NONE || matches!(header.body, Body::Control(_)) {
                return self.arrive_unpinned(ingress, pkt);
            }
            if self.world.rules.transport.retransmits() && !self.world.fabric.paths.is_pinned(header.flow) {
                // It is a duplicate whose flow has ended with the other copy: its path may by now belong to another flow.
                slot.pkt.path = PathRef::NONE;
                return self.arrive_unpinned(ingress, pkt);
            }
            self.world.fabric.paths.port(header.path, header.hop)
        };
        slot.enter(ingress, egress);
        self.admit(pkt);
    }

    /// Handles a control frame, which mechanisms may take, or a packet that is routed here.
    #[inline(never)]
    fn arrive_unpinned(&mut self, ingress: u16, pkt: Ix) {
        if let Body::Control(header) = self.world.slab[pkt].pkt.body
            && !self.pass_control(ingress, pkt, header)
        {
            return;
        }
        let Some(egress) = self.route(pkt).or_else(|| self.route_anew(pkt)) else {
            return self.no_route(ingress, pkt);
        };
        self.world.slab[pkt].enter(ingress, egress);
        self.admit(pkt);
    }

    /// The egress port: pinned, chosen by a mechanism, or by ECMP.
    #[inline(always)]
    pub(super) fn route(&mut self, pkt: Ix) -> Option<u16> {
        let header = &self.world.slab[pkt].pkt;
        if header.path != PathRef::NONE {
            return Some(self.world.fabric.paths.port(header.path, header.hop));
        }
        let candidates = self.world.fabric.routes.candidates(self.node.number, header.dst);
        if candidates.len() > 1 {
            if self.world.rules.chooses {
                let s = &mut *self.node;
                if let Some(port) = s.stack.choose(&mut cx!(self, s), candidates, &self.world.slab[pkt].pkt) {
                    return Some(port.0);
                }
            }
            return self.world.fabric.routes.pick(self.node.number, candidates, self.world.slab[pkt].pkt.entropy);
        }
        candidates.first().map(|port| port.0)
    }

    /// The egress port to a host without a flow to it, as for messages, or without a new flow since a link's state changed.
    #[cold]
    pub(super) fn route_anew(&mut self, pkt: Ix) -> Option<u16> {
        let host = self.world.slab[pkt].pkt.dst;
        if self.world.fabric.routes.knows(host) {
            return None;
        }
        self.world.fabric.find_routes(host);
        self.route(pkt)
    }

    /// Shows a control frame in transit to the mechanisms. Returns whether it goes on.
    #[cold]
    fn pass_control(&mut self, from: u16, pkt: Ix, ControlHeader { to, content, .. }: ControlHeader) -> bool {
        let header = &mut self.world.slab[pkt].pkt;
        if header.path != PathRef::NONE && !self.world.fabric.paths.is_pinned(header.flow) {
            // The flow has ended, and its path may by now belong to another flow.
            header.path = PathRef::NONE;
        }
        let frame = self.world.slab.control(content);
        let fate = self.at_switch(|stack, cx, _| stack.on_control(cx, PortNo(from), to, &frame));
        let ends = fate == Fate::Consumed || to.is_none();
        if ends {
            self.world.slab.take_control(content);
            self.world.slab.remove(pkt);
        }
        self.act_switch();
        !ends
    }

    #[cold]
    fn no_route(&mut self, ingress: u16, pkt: Ix) {
        let dst = self.world.slab[pkt].pkt.dst;
        let any_down = self.world.fabric.neighbours.iter().flatten().any(|(_, up)| !up);
        // Counted where it was sent: it might as well have been lost on its way here.
        let from = self.port(ingress).peer;
        self.world.effects.push(RunEffect::LostFrom(from));
        self.discard(pkt);
        if !any_down {
            let reason = format!("{} has no way to h{}", self.node.home.shape.name, dst.0);
            self.world.broken(reason, "every host must be reachable from every other");
        }
    }

    /// Steers, admits and passes on a frame whose place is known.
    #[inline]
    pub(crate) fn admit(&mut self, pkt: Ix) {
        let (s, slot) = (&mut *self.node, &mut self.world.slab[pkt]);
        if self.world.rules.hooks.switch.has(SwitchHooks::STEER) {
            s.stack.steer(&mut cx!(self, s), &mut slot.place, &mut slot.pkt);
        }
        let (place, counted) = (slot.place, s.occupancy.in_cells(slot.pkt.size));
        let Some((pool, looked_at)) = s.occupancy.admit(&place, u64::from(counted)) else {
            return self.full(pkt);
        };
        (slot.pool, slot.charged, slot.counted) = (pool, true, counted);
        debug_assert!(looked_at || !s.looks_at_admitted(&place), "a level was missed: `SwitchCx::watch`");
        if looked_at {
            return self.admit_above(pkt);
        }
        self.enter_fabric(pkt);
    }

    /// The same for a frame that mechanisms look at. A separate function, so that the path without mechanisms keeps its registers.
    #[inline(never)]
    fn admit_above(&mut self, pkt: Ix) {
        self.show_admitted(pkt);
        self.pass_on(pkt);
    }

    /// Passes on a frame that did not come in just now, or that mechanisms have seen.
    #[inline(never)]
    pub(crate) fn pass_on(&mut self, pkt: Ix) {
        self.enter_fabric(pkt);
    }

    /// A frame heads for its egress queue, wherever the switch's latency lies.
    #[inline(always)]
    fn enter_fabric(&mut self, pkt: Ix) {
        let (s, slot) = (&mut *self.node, &mut self.world.slab[pkt]);
        match s.latency_at {
            LatencyAt::Fabric if s.latency != Time::ZERO => {
                let at = self.world.now + s.latency;
                self.world.queue.push(at, order(3, slot.pkt.uid), Event::Enqueue { switch: self.node.number, pkt });
                self.act_switch();
            }
            at => {
                // With latency at the input it has already passed, except for the switch's own frames (`originate`).
                if at == LatencyAt::Output {
                    slot.ready = self.world.now + s.latency;
                }
                self.enqueue(pkt);
            }
        }
    }

    /// A frame joins its egress queue, unless a mechanism lets it wait.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, pkt: Ix) {
        self.join::<true>(pkt);
    }

    /// A frame that has waited in an isolation queue joins its egress queue.
    #[inline(never)]
    pub(crate) fn join_from_isolation(&mut self, pkt: Ix) {
        self.leave_isolated_waits(pkt);
        self.join::<false>(pkt);
    }

    /// Joins the egress queue, unless the frame must wait in an isolation queue: behind packets of its flow there, or because a mechanism
    /// chose it.
    #[cold]
    fn join_or_wait(&mut self, isolation_queue: Option<IsolationQueue>, pkt: Ix) {
        let has_isolation_queues = self.ports[usize::from(self.world.slab[pkt].place.egress.0)].has_isolation_queues;
        match if has_isolation_queues { self.follow(pkt).or(isolation_queue) } else { isolation_queue } {
            Some(isolation_queue) => self.park(isolation_queue, pkt),
            None => self.join::<false>(pkt),
        }
    }

    #[inline(always)]
    fn join<const MAY_WAIT: bool>(&mut self, pkt: Ix) {
        let (s, slot) = (&mut *self.node, &mut self.world.slab[pkt]);
        if MAY_WAIT && self.world.rules.hooks.switch.has(SwitchHooks::DIVERT) {
            let isolation_queue = s.stack.divert(&mut cx!(self, s), &slot.place, &slot.pkt);
            if isolation_queue.is_some() || self.ports[usize::from(slot.place.egress.0)].has_isolation_queues {
                return self.join_or_wait(isolation_queue, pkt);
            }
        }
        let place = slot.place;
        slot.counted = s.occupancy.in_cells(slot.pkt.size);
        let looked_at = s.occupancy.join_egress(&place, u64::from(slot.counted));
        if let Some(watch) = &mut s.watch {
            watch.join(place.egress, &s.occupancy, self.world.now, pkt, slot.ready);
        }
        debug_assert!(looked_at || !s.looks_at_joined(&place), "a level was missed: `SwitchCx::watch`");
        if looked_at {
            return self.join_above(pkt);
        }
        self.joined(pkt);
    }

    /// The same for a frame that mechanisms look at.
    #[inline(never)]
    fn join_above(&mut self, pkt: Ix) {
        self.show_joined(pkt);
        self.joined(pkt);
    }

    /// A frame is in its egress queue's account, and now begins to wait.
    #[inline(always)]
    fn joined(&mut self, pkt: Ix) {
        let place = self.world.slab[pkt].place;
        if self.node.crossbar.is_some() && !place.own {
            self.enter_crossbar(pkt);
        } else {
            let port = place.egress.0;
            let p = &mut self.ports[usize::from(port)];
            p.enqueue(&mut self.world.slab, usize::from(place.queue.0), pkt);
            if !p.busy {
                self.kick(port);
            }
        }
        self.act_switch();
    }

    /// A frame has left a switch in which others may wait before the egress queue.
    #[cold]
    #[inline(never)]
    pub(crate) fn make_room(&mut self, pkt: Ix) {
        if self.node.crossbar.is_some() {
            self.left_crossbar(pkt);
        }
        self.left_queue(pkt);
    }

    /// A frame leaves a switch's counters, and mechanisms see it leave. Returns whether frames of that switch may wait before their egress
    /// queue.
    #[inline(always)]
    pub(crate) fn leave(&mut self, port: u16, pkt: Ix) -> bool {
        let (s, slot) = (&mut *self.node, &mut self.world.slab[pkt]);
        let (place, queued, pool) = (slot.place, slot.counted, slot.pool);
        let charged = std::mem::take(&mut slot.charged);
        let looked_at = s.occupancy.leaves_behind(&place, u64::from(queued));
        debug_assert!(looked_at || !s.looks_at_leaving(&place, queued), "a level was missed: `SwitchCx::watch`");
        if looked_at {
            self.show_leaving(pkt);
        }
        let s = &mut *self.node;
        let mut looked_at = s.occupancy.leave_egress(&place, u64::from(queued));
        if let Some(watch) = &mut s.watch {
            watch.change(place.egress, &s.occupancy, self.world.now);
        }
        if charged {
            looked_at |= s.occupancy.release(&place, u64::from(queued), pool);
        }
        debug_assert!(looked_at || !s.looks_at_gone(&place, charged), "a level was missed: `SwitchCx::watch`");
        if looked_at {
            self.show_gone(&place, queued, charged);
        }
        self.node.crossbar.is_some()
            || self.world.rules.hooks.switch.has(SwitchHooks::DIVERT)
                && self.ports[usize::from(port)].has_isolation_queues
    }
}
