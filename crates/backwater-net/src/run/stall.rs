//! Flows without progress: when a run with them ends, and what each of them waits for.
//!
//! A sender that times out tries again; with unlimited `transport.retries` it does so forever. From the first timeouts in a row on the run
//! watches whether any flow makes progress: a byte received for the first time, a flow that begins or ends. If none has for the run's
//! patience ([`patience`]) and nothing else is pending (a flow, a fault, a paced packet, a slow receiver at work), the run ends and reports
//! it. It also ends if pauses are refreshed and no other frame has left for as long.

use super::view::View;
use super::{Actors, Network};
use crate::model::hooks::{FlowSide, LinkSide};
use crate::model::host::PORT;
use crate::model::host::flow::{NO_CONTROLLER, SendFlow, Status};
use crate::model::packet::{CLASSES, Class, HostId, NodeId, Packet, PathRef, Port as PortNo, Queue};
use crate::model::port::{Belongs, Port};
use crate::model::slab::Ix;
use crate::model::world::Watched;
use crate::record::Broken;
use backwater_engine::Time;
use std::collections::{HashMap, HashSet};

/// Timeouts in a row after which a sender is watched.
const TRIES: u32 = 8;

/// Returns how long flows may be without progress unless the scenario sets it: 100 timeouts, at least 100 ms.
pub(super) fn patience(timeout: Time) -> Time {
    Time(timeout.0.saturating_mul(100)).max(Time::ms(100))
}

/// The places of flows' frames.
#[derive(Default)]
pub(super) struct Whereabouts {
    /// The place of a flow's first frame in a queue: a port, its queue, and the number of its frames there.
    queued: HashMap<u32, (u32, u8, u64)>,
    /// Flows with anything in progress, on a link or in a fabric.
    in_flight: HashSet<u32>,
}

impl<A: Actors> Network<A> {
    /// A sender has timed out so many times in a row.
    pub(super) fn schedule_deadlock_check(&mut self, tries: u32) {
        if tries < TRIES {
            return;
        }
        if self.world.part.is_some() {
            return self.world.doubt("a sender times out again and again, and the whole run is watched");
        }
        if self.world.totals.watched.is_none() {
            self.world.totals.watched = Some(Watched { far: self.how_far(), since: self.world.now });
            self.world.arm_look(self.world.now.after(self.stall));
        }
    }

    fn how_far(&self) -> [u64; 4] {
        let received = self.tables.flows.slots().map(|slot| self.tables.flows.recv[slot as usize].received).sum();
        let progress = &self.world.totals.progress;
        [progress.flows_done, progress.flows_failed, self.tables.flows.active, received]
    }

    /// Ends a run whose flows have not made progress for too long. Otherwise returns when to check again, if flows are still watched.
    pub(super) fn watch_stall(&mut self) -> Option<Time> {
        let watched = self.world.totals.watched?;
        let due = watched.since.after(self.stall);
        if self.world.now < due {
            return Some(due);
        }
        let far = self.how_far();
        if far != watched.far || self.something_comes() {
            // The next sender with repeated timeouts starts anew.
            self.world.totals.watched = None;
            return None;
        }
        self.fail_by_stall();
        None
    }

    /// Called when a pause has been refreshed. Endless refreshes of pauses keep no run going: it ends when all flows have ended, or when no
    /// frame but MAC control has left for the run's patience and nothing else is pending. Flows that are paused then have stalled, unless a
    /// deadlock is the reason.
    pub(super) fn end_if_pauses_alone_go_on(&mut self) {
        // A sender may meanwhile wait for its timer, which can exceed `stop.stall`.
        let most = self.stall.max(patience(self.world.rules.transport.timeout));
        let is_silent = self.world.now.since(self.world.totals.last_frame) > most;
        if self.world.part.is_some() {
            if is_silent {
                self.world.doubt("links of one part are silent while pauses are refreshed");
            }
        } else if self.is_over_but_for_pauses() {
            (self.world.totals.stopped, self.world.totals.at_rest) = (true, true);
            // Pauses are counted until then, too.
            self.world.now = self.end();
        } else if is_silent && !self.something_comes() {
            self.world.totals.stopped = true;
            if self.world.totals.deadlock.is_none() && self.some_are_paused() {
                self.fail_by_stall();
            }
        }
    }

    /// Returns whether no flow is in progress or to come, only MAC control frames exist, and pauses are requested, all without an end.
    fn is_over_but_for_pauses(&self) -> bool {
        self.tables.flows.active == self.messages.extra
            && !self.something_comes()
            && self.world.slab.packets().all(Packet::is_mac)
            && self.ports.iter().any(|port| port.rest.pause_requests.any(self.world.now))
            && self.ports.iter().all(|port| port.rest.pause_requests.has_no_end(self.world.now))
    }

    /// Returns whether frames wait somewhere, or a flow at a host whose port is paused. Flows whose frames were lost do not wait for
    /// pauses.
    fn some_are_paused(&self) -> bool {
        let is_paused = |slot: u32| {
            let host = &self.hosts[self.tables.flows.send[slot as usize].nic as usize];
            self.ports[host.port as usize].held_now(self.world.now) != 0
        };
        self.world.slab.packets().any(|pkt| !pkt.is_mac()) || self.open_flows().any(is_paused)
    }

    /// Ends the run as failed, if a flow waits, and names what the first of them waits for.
    fn fail_by_stall(&mut self) {
        let Some(slot) = self.open_flows().min_by_key(|slot| self.tables.flows.send[*slot as usize].id) else { return };
        self.world.fabric.find_routes(self.tables.flows.send[slot as usize].dst);
        let (flow, view) = (&self.tables.flows.send[slot as usize], self.view());
        let found = view.whereabouts();
        let (src, dst) = (view.host_name(flow.src), view.host_name(flow.dst));
        let others = match self.tables.flows.active - 1 {
            0 => String::new(),
            1 => "; another one waits, too".into(),
            n => format!("; {n} others wait, too"),
        };
        let reason = format!(
            "no flow has got further for {}: {} from {src} to {dst} waits for {}{others}",
            self.stall,
            self.flow_name(flow.id),
            view.waits_for(slot, &found)
        );
        let hint = "transport.retries ends such flows, stop.at the run; stop.stall is how long it waits".into();
        self.world.totals.stopped = true;
        self.world.totals.broken = Some(Broken { time: self.world.now, reason, hint });
    }

    /// Slots of flows that are not complete, without idle connections.
    pub(super) fn open_flows(&self) -> impl Iterator<Item = u32> + '_ {
        self.tables.flows.slots().filter(|slot| !self.tables.flows.send[*slot as usize].rests())
    }

    /// Returns whether something is pending that does not depend on frames, acknowledgements and pauses.
    pub(super) fn something_comes(&self) -> bool {
        self.flows_to_come()
            || self.jobs.wait()
            || self.last_fault > self.world.now
            || self.tables.flows.slots().any(|slot| {
                let flow = &self.tables.flows.send[slot as usize];
                !flow.ended() && !flow.kept || flow.status == Status::NotIssued || flow.waits_for_issue()
            })
            || self.hosts.iter().any(|host| host.rx.as_ref().is_some_and(|rx| rx.draining))
            || self.tables.controllers.list.iter().flatten().any(|c| !c.waiting.is_empty() && c.next != Time::NEVER)
    }
}

impl<A: Actors> View<'_, A> {
    /// Finds the flows with frames in queues of switches and hosts.
    pub(super) fn whereabouts(&self) -> Whereabouts {
        let mut found = Whereabouts::default();
        for part in self.parts {
            let of_flows = part.world.slab.packets().filter(|pkt| pkt.is_of_flow());
            found.in_flight.extend(of_flows.filter_map(|pkt| self.find(pkt.flow)));
        }
        let mut action = |part: &Network<A>, ix: Ix, port: u32, queue: u8| {
            let pkt = &part.world.slab[ix].pkt;
            if pkt.is_of_flow()
                && let Some(slot) = self.find(pkt.flow)
            {
                found.queued.entry(slot).or_insert((port, queue, 0)).2 += 1;
            }
        };
        for (number, port) in self.ports() {
            let part = self.part_of_port(number);
            for queue in 0..CLASSES as u8 {
                port.queue(usize::from(queue)).iter(&part.world.slab).for_each(|ix| action(part, ix, number, queue));
            }
        }
        for (number, port) in self.ports() {
            let part = self.part_of_port(number);
            for (class, fifo) in port.sub_queues() {
                fifo.iter(&part.world.slab).for_each(|ix| action(part, ix, number, class));
            }
        }
        for (part, s) in self.switches() {
            for input in s.crossbar.iter().flat_map(|crossbar| crossbar.inputs()) {
                input.iter(&part.world.slab).for_each(|ix| {
                    let place = &part.world.slab[ix].place;
                    action(part, ix, s.first_port + u32::from(place.egress.0), place.queue.0);
                });
            }
        }
        found
    }

    /// Returns what a flow that is not complete waits for, and where.
    pub(super) fn waits_for(&self, slot: u32, found: &Whereabouts) -> String {
        let flow = self.flow(slot);
        let port = self.part_of_host(flow.src).hosts[flow.nic as usize].port;
        let tries = flow.transport.as_ref().map_or(0, |sender| sender.common.tries);
        match flow.status {
            Status::Ready => match self.who_closed(port, flow.class.0) {
                Some(why) => format!("its turn at {}, {why}", self.host_name(flow.src)),
                None if tries > 0 => format!("acknowledgements of what it has sent{}", self.trail(slot, found)),
                None => format!("its turn at {}, which is busy", self.host_name(flow.src)),
            },
            Status::Pacing => format!("its rate limiter{}", self.limit(flow)),
            Status::GateClosed if flow.shut != 0 => "a pause of its own".into(),
            Status::GateClosed => {
                let why = self.who_closed(port, flow.ds.dscp().priority().0).unwrap_or_else(|| "which is busy".into());
                format!("its turn at {}, {why}", self.host_name(flow.src))
            }
            Status::WindowLimited => format!("acknowledgements: its window is full{}", self.trail(slot, found)),
            Status::NotIssued => format!("{} to issue it", self.host_name(flow.src)),
            Status::Idle if flow.sent == flow.acked => "payload".into(),
            Status::Idle => format!("acknowledgements of what it has sent{}", self.trail(slot, found)),
        }
    }

    /// The limit of a paced flow with rate zero.
    fn limit(&self, flow: &SendFlow) -> &'static str {
        if flow.controller == NO_CONTROLLER {
            return "";
        }
        let rate = self.part_of_host(flow.src).tables.controllers.list[flow.controller as usize]
            .as_ref()
            .and_then(|c| c.side.rate());
        if rate.is_some_and(|rate| rate.0 == 0) { ", whose rate is 0" } else { "" }
    }

    /// Returns what happened to the bytes that a flow has sent.
    fn trail(&self, slot: u32, found: &Whereabouts) -> String {
        if let Some(down) = self.break_on_way(slot) {
            return format!("; {down}");
        }
        if let Some((port, queue, frames)) = found.queued.get(&slot) {
            let why = self.who_closed(*port, *queue).map_or_else(String::new, |why| format!(", {why}"));
            let frames = if *frames == 1 { "1 frame waits".into() } else { format!("{frames} frames wait") };
            return format!("; {frames} at {}{why}", self.name_queue(*port, Some(Class(*queue))));
        }
        // A receiver may still hold back an acknowledgement for several packets.
        let lost = !found.in_flight.contains(&slot) && self.recv(slot).pending == 0;
        if lost { "; nothing of it is under way: frames were lost".into() } else { String::new() }
    }

    /// The link on a flow's path that is down, or the switch without a route.
    fn break_on_way(&self, slot: u32) -> Option<String> {
        let flow = self.flow(slot);
        if let Some(ecmp_path) = self.part_of_host(flow.src).path_of(slot) {
            let down = ecmp_path.iter().find(|port| !self.port(**port).up)?;
            let port = self.port(*down);
            let (from, to) = (self.graph_name(port), self.graph_name(self.port(port.peer)));
            return Some(format!("the link from {from} to {to} is down"));
        }
        (flow.path == PathRef::NONE).then(|| format!("there is no way to {} any more", self.host_name(flow.dst)))
    }

    /// Returns why a queue does not send, if one of its gates is shut.
    fn who_closed(&self, port: u32, queue: u8) -> Option<String> {
        let p = self.port(port);
        if p.open & (1 << queue) != 0 {
            return self.refuses(port, queue).then(|| "of which a mechanism lets no frame start".into());
        }
        let paused = p.held_now(self.now) & (1 << queue | 1 << CLASSES) != 0;
        let by = self.graph_name(self.port(p.peer));
        Some(if paused { format!("paused by {by}") } else { "whose gate is shut".into() })
    }

    /// Returns whether a mechanism refuses to start the first packet of a queue.
    fn refuses(&self, port: u32, queue: u8) -> bool {
        let (p, part) = (self.port(port), self.part_of_port(port));
        let Some(first) = p.first_of(usize::from(queue)).filter(|_| part.world.rules.hooks.may_transmit()) else {
            return false;
        };
        let (local, queue, pkt) = (PortNo(p.local), Queue(queue), &part.world.slab[first].pkt);
        !match p.belongs {
            Belongs::Switch(switch) => part.switches[switch as usize].stack.may_transmit(local, queue, pkt),
            Belongs::Host(nic) => part.hosts[nic as usize].stack.may_transmit(PortNo(PORT), queue, pkt),
        }
    }

    /// A readable name of a queue of a port, or of a whole port.
    pub(super) fn name_queue(&self, port: u32, class: Option<Class>) -> String {
        let p = self.port(port);
        let class = class.map_or_else(String::new, |class| format!(" class {}", class.0));
        format!("{} port {} (to {}){class}", self.graph_name(p), p.local, self.graph_name(self.port(p.peer)))
    }

    fn graph_name(&self, port: &Port) -> &str {
        self.parts[0].node_name(NodeId(self.parts[0].node_of(port)))
    }

    fn host_name(&self, host: HostId) -> &str {
        self.parts[0].node_name(NodeId(self.parts[0].world.fabric.host_node[host.0 as usize]))
    }
}
