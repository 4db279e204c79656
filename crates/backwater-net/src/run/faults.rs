//! Faults: frames lost on a link, links that fail, rates that change, slow receivers, pause storms.

use super::{Actors, Network, on_node};
use crate::model::event::{Event, NO_PORT, order};
use crate::model::hooks::{LinkSide, MechanismId, PauseStyle};
use crate::model::host::{Limit, PORT};
use crate::model::node::{CAPTURED, LOST, WATCHED};
use crate::model::packet::{CLASSES, Class, HostId, NodeId, Port};
use crate::model::port::pause::{PauseRequest, bit};
use crate::model::port::{Belongs, LinkFaults, Numbered};
use crate::model::slab::Ix;
use crate::model::world::LINK_LOSS;
use crate::spec::{FaultKind, LinkEnds};
use backwater_engine::{Time, rng};
use std::sync::Arc;

impl<A: Actors> Network<A> {
    /// Ports from one node to another; a missing end means all nodes.
    fn ports_of_ends(&self, from: Option<NodeId>, to: Option<NodeId>) -> Vec<u32> {
        let senders = from.map_or(0..self.world.fabric.neighbours.len() as u32, |from| from.0..from.0 + 1);
        senders
            .flat_map(|node| {
                let first = self.world.fabric.first_port[node as usize];
                let ends = self.world.fabric.neighbours[node as usize].iter().enumerate();
                ends.filter(|(_, (peer, _))| to.is_none_or(|to| to.0 == *peer)).map(move |(i, _)| first + i as u32)
            })
            .collect()
    }

    /// Ports of `from` that lead to `to`: all, or that of the link with this number, in the order of the graph.
    fn ports_between(&self, from: NodeId, to: NodeId, number: Option<u32>) -> Vec<u32> {
        let Some(number) = number else { return self.ports_of_ends(Some(from), Some(to)) };
        let ends = self.world.fabric.graph.ports().unwrap_or_default().swap_remove(from.0 as usize);
        let mut joining: Vec<(u32, u32)> =
            (0u32..).zip(&ends).filter(|(_, end)| end.peer == to).map(|(local, end)| (end.link, local)).collect();
        joining.sort_unstable();
        let first = self.world.fabric.first_port[from.0 as usize];
        joining.get(number as usize).map(|(_, local)| first + local).into_iter().collect()
    }

    fn link_faults(&mut self, port: u32) -> &mut LinkFaults {
        let seed = self.world.rules.seed;
        self.ports[port as usize].faults(|| {
            let rng = rng::stream(seed, LINK_LOSS, u64::from(port));
            LinkFaults::new(rng)
        })
    }

    pub(super) fn apply_fault(&mut self, fault: usize) {
        match self.faults[fault].kind.clone() {
            FaultKind::Loss { from, to, number, what, probability } => {
                let ports = match (from, to) {
                    (Some(from), Some(to)) => self.ports_between(from, to, number),
                    _ => self.ports_of_ends(from, to),
                };
                for port in ports {
                    let rules = &mut self.link_faults(port).loss;
                    rules.retain(|(of, _)| *of != what);
                    rules.push((what.clone(), probability));
                }
            }
            FaultKind::DropNth { from, to, what, nth } => {
                for port in self.ports_between(from, to, None) {
                    self.link_faults(port).drop_nth.push((what.clone(), nth));
                }
            }
            FaultKind::LinkDown(ends) => self.set_link(fault, ends, false),
            FaultKind::LinkUp(ends) => self.set_link(fault, ends, true),
            FaultKind::RateChange { from, to, number, rate } => {
                let (clock, now) = (self.world.rules.clock, self.world.now);
                for port in self.ports_between(from, to, number) {
                    let p = &mut self.ports[port as usize];
                    let (busy, delay) = (p.sends_after(self.world.now), p.delay.after(p.peer_latency));
                    let before = std::mem::replace(&mut p.serialiser, crate::units::Serialiser::new(rate, clock));
                    let peer = p.peer;
                    self.link_faults(port).changes(before, busy, now, delay);
                    self.ports[peer as usize].rest.pause_requests.count_at(rate);
                    for class in 0..=CLASSES {
                        on_node!(self, peer, |at, local| at.refresh(local, 1 << class));
                    }
                }
            }
            FaultKind::SlowReceiver { host, rate, xoff, xon, class } => {
                // A host with several links has no slow receiver: `check` refuses it.
                let h = &mut self.hosts[self.world.fabric.nics(host).start as usize];
                let (port, limit) = (h.port, Limit { class, rate, xoff, xon, holding: false });
                if h.rx.get_or_insert_default().limit(limit) {
                    on_node!(self, port, |at, local| at.resume_peer(local, MechanismId::STAGE, bit(class)));
                }
            }
            FaultKind::PauseStorm { host, classes } => self.storm(host, classes, true),
            FaultKind::PauseStormEnd { host, classes } => self.storm(host, classes, false),
        }
    }

    /// A host begins, or ends, a pause of these classes of all its links regardless of its buffer.
    fn storm(&mut self, host: HostId, classes: u16, begins: bool) {
        for nic in self.world.fabric.nics(host) {
            let mut at = self.host_at(nic);
            let changed = at.node.host.storm(classes, begins);
            match begins {
                true => at.pause_peer(PORT, MechanismId::STORM, changed, Time::NEVER, PauseStyle::FRAMED),
                false => at.resume_peer(PORT, MechanismId::STORM, changed),
            }
        }
    }

    fn set_link(&mut self, fault: usize, ends: LinkEnds, up: bool) {
        let (ports, now) = (self.ports_of_links(ends), self.world.now);
        for port in &ports {
            self.ports[*port as usize].set_up(up);
            self.link_faults(*port).changed_at = Some(now);
            if !up {
                self.link_faults(*port).down_at = Some(now);
                self.lift_pauses(*port);
            } else {
                // Signals that were sent while the link was down were lost.
                self.ports[*port as usize].rest.pause_requests.forget();
            }
        }
        match self.convergence {
            Time::ZERO => self.reroute(&ports),
            convergence => self.world.push(now.after(convergence), Event::Reroute { fault: fault as u32 }),
        }
        for port in ports {
            // Both ends begin anew: lasting pauses are signalled again.
            for class in 0..=CLASSES {
                self.refresh(port, 1 << class);
            }
            on_node!(self, port, |at, local| at.at_links(|side, cx, _| side.on_link(cx, Port(local), up)));
            on_node!(self, port, |at, local| at.kick(local));
        }
    }

    /// Routes follow the links of a fault, unless they have changed again since.
    pub(super) fn converge(&mut self, fault: usize) {
        let (FaultKind::LinkDown(ends) | FaultKind::LinkUp(ends)) = self.faults[fault].kind else { return };
        let changed_at = self.world.now.since(self.convergence);
        let mut ports = self.ports_of_links(ends);
        ports.retain(|port| {
            let faults = self.ports[*port as usize].rest.faults.as_ref();
            faults.is_some_and(|faults| faults.changed_at == Some(changed_at))
        });
        self.reroute(&ports);
    }

    /// The ports at both ends of links.
    fn ports_of_links(&self, LinkEnds { a, b, number }: LinkEnds) -> Vec<u32> {
        [(a, b), (b, a)].map(|(from, to)| self.ports_between(from, to, number)).concat()
    }

    /// Routes follow the present states of the links at these ports.
    fn reroute(&mut self, ports: &[u32]) {
        if ports.is_empty() {
            return;
        }
        for port in ports {
            let p = &self.ports[*port as usize];
            let (node, local, up) = (self.world.fabric.node_of(p.belongs), p.local, p.up);
            Arc::make_mut(&mut self.world.fabric.neighbours)[node as usize][usize::from(local)].1 = up;
        }
        self.world.fabric.routes.forget();
        self.move_flows();
    }

    /// A link fails, so no one can lift its pauses any more: both ends forget the pauses that they have signalled and received.
    fn lift_pauses(&mut self, port: u32) {
        let p = &mut self.ports[port as usize];
        p.rest.pause_requests.forget();
        let paused = p.held_now(self.world.now);
        for class in (0..=CLASSES as u8).filter(|c| paused & (1 << c) != 0) {
            let class = (usize::from(class) != CLASSES).then_some(Class(class));
            let frame = PauseRequest { class, quanta: 0, lasting: false }.frame();
            on_node!(self, port, |at, local| at.mac_control(local, &frame));
        }
    }

    /// Acts on the flags of a frame whose last bit has left.
    #[cold]
    pub(super) fn after_sent(&mut self, port: u32, pkt: Ix, wire: u8) {
        if wire & WATCHED != 0 {
            on_node!(self, port, |at, local| at.wire_ends(local, pkt));
        }
        if wire & CAPTURED != 0 {
            self.capture(port, pkt, self.world.now, true);
        }
        if wire & LOST != 0 {
            self.lose(port, pkt);
        }
        on_node!(self, port, |at, local| at.kick(local));
    }

    /// Returns whether a frame that is due at a special port survives the link's faults.
    #[cold]
    pub(super) fn survives_faults(&mut self, port: u32, pkt: Ix) -> bool {
        let from = self.ports[port as usize].peer;
        let waited = if self.world.slab[pkt].pkt.is_mac() { Time::ZERO } else { self.latency_behind(port) };
        if self.is_cut(port, pkt, waited) {
            self.lose(from, pkt);
            return false;
        }
        if self.ports[port as usize].rest.captured {
            self.capture(port, pkt, self.world.now.since(waited), false);
        }
        if let Belongs::Host(host) = self.ports[port as usize].belongs {
            self.host_at(host).arrive_waits(pkt);
        }
        true
    }

    /// Returns whether the receiving node accepts a frame that the sender may keep. The frame is examined when it reaches the end of the
    /// link, and visible once the latency there has passed.
    #[cold]
    pub(super) fn accepts(&mut self, port: u32, pkt: Ix) -> bool {
        let header = self.world.slab[pkt].pkt;
        let Some(Numbered { number, damaged }) = self.world.numbers.take(pkt, header.uid) else { return true };
        let from = self.ports[port as usize].peer;
        if self.is_cut(port, pkt, Time::ZERO) {
            self.lose(from, pkt);
            return false;
        }
        if damaged {
            self.lose(from, pkt);
            on_node!(self, port, |at, local| at.at_links(|side, cx, _| side.on_damaged(cx, Port(local))));
            return false;
        }
        if !on_node!(self, port, |at, local| at.at_links(|side, cx, _| side.accepts(
            cx,
            Port(local),
            number,
            header.size
        ))) {
            self.lose(from, pkt);
            return false;
        }
        let latency = self.latency_behind(port);
        if header.is_mac() || latency == Time::ZERO {
            return true;
        }
        self.world.queue.push(
            self.world.now + latency,
            order(2, header.uid),
            Event::Arrive { port, pkt, egress: NO_PORT },
        );
        false
    }

    /// The latency that a frame spends behind a port before any counter sees it ([`Port::peer_latency`] of the sender).
    fn latency_behind(&self, port: u32) -> Time {
        match self.ports[port as usize].belongs {
            Belongs::Switch(switch) => {
                let switch = &self.switches[switch as usize];
                switch.latency_at.before_counters(switch.latency)
            }
            Belongs::Host(_) => Time::ZERO,
        }
    }

    /// Returns whether the link to `port` went down while this frame, which reached its end a `latency` ago, was on it.
    fn is_cut(&self, port: u32, pkt: Ix, latency: Time) -> bool {
        let p = &self.ports[port as usize];
        let Some(down) = p.rest.faults.as_ref().and_then(|faults| faults.down_at) else { return false };
        let (sender, header) = (&self.ports[p.peer as usize], &self.world.slab[pkt].pkt);
        let arrived = self.world.now.since(latency);
        let left = arrived.since(sender.delay);
        let by = sender.rest.faults.as_ref().map_or(sender.serialiser, |f| f.sent_by(left, sender.serialiser));
        let began = left.since(by.time(header.size + self.world.rules.gap));
        began <= down && down <= arrived
    }

    /// A frame sent from `port` has been destroyed on the wire.
    #[cold]
    pub(super) fn lose(&mut self, port: u32, pkt: Ix) {
        self.lost_from(port);
        on_node!(self, port, |at, _local| at.discard(pkt));
    }

    /// A frame that `port` sent has been lost to a fault.
    #[cold]
    pub(super) fn lost_from(&mut self, port: u32) {
        if self.ports.get(port as usize).is_none() {
            return self.world.doubt("a frame of another part is lost");
        }
        self.ports[port as usize].rest.stats.fault_frames += 1;
        self.world.totals.progress.fault_losses += 1;
    }
}
