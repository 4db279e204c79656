//! A network and its event loop.
//!
//! What belongs to which file: `build` makes it, this one runs it; `event` says what happens and in which order; `switching` takes a frame through a switch; `crossbar` matches
//! ingresses to egresses; `start` begins flows, `jobs` those that wait for others, `transport` sends again what was lost, `ideal` says what a flow would take alone, `nic` sends and receives them, `host` is what a NIC has to send; `control` acts on notes, gates, holds and timers; `flush` empties queues; `lanes` holds frames before their egress queue; `deadlock` and `stall` notice what will never go on; `waits` and `pauses` record why what happened took so long; `faults` and
//! `sample` do what their names say; `fetch` only makes large networks faster.
//!
//! A frame's time on a link: it occupies the sender for `8 (size + gap) / R`, and arrives when that and the propagation delay
//! have passed. Switches and NICs store a frame before they look at it.

mod backlog;
mod build;
mod capture;
mod control;
mod crossbar;
mod deadlock;
mod event;
mod faults;
mod fetch;
mod flush;
mod host;
mod ideal;
mod jobs;
mod lanes;
mod nic;
mod pauses;
mod sample;
mod stall;
mod start;
mod switching;
pub(crate) mod transport;
mod waits;

use crate::config::{AckParams, LatencyAt, NicParams, TransportParams};
use crate::flow::{Controller, Flows};
use crate::hooks::{
    Count, FlowShape, FlowSide, Home, NicShape, NicSide, Notes, Owner, RateKey, Steering, SwitchCx, SwitchShape,
    SwitchSide,
};
use crate::occupancy::Occupancy;
use crate::packet::{Control, HostId, Kind, NodeId, Packet};
use crate::port::{Belongs, Next, Port};
use crate::record::{
    Broken, CollectiveRow, ControlRow, CounterRow, Deadlock, FirstDrop, FlowRow, FrameRow, PauseRow, PortRow, Progress,
    SeriesRow, Sink, State, SwitchRow, WaitRow,
};
use crate::routing::{Neighbours, Paths, Routes};
use crate::slab::{Ix, NIL, Slab};
use crate::spec::{Fault, FlowSpec, SeriesSpec};
use crate::topology::Graph;
use crate::units::Rate;
use crate::workload::FlowSource;
use backwater_engine::fingerprint::mix;
use backwater_engine::{EventQueue, Fingerprint, Time};
use crossbar::Crossbar;
use event::{Event, controller_order, order};
use host::Host;
use jobs::Jobs;
use std::collections::HashMap;

/// The mechanisms of a run: makes their sides. `backwater-mech` generates the only implementation outside of tests.
pub trait Actors {
    /// Sides at a switch.
    type Switch: SwitchSide;
    /// Sides at a NIC.
    type Nic: NicSide;
    /// Sides at a flow.
    type Flow: FlowSide;
    /// What all nodes share.
    type Shared;
    /// Number of mechanisms, at most 15.
    const OWNERS: usize;
    /// Whether some mechanism has an opinion on which of several paths a packet takes.
    fn chooses(&self) -> bool {
        false
    }
    /// Between which queues mechanisms move flows anywhere in the network.
    fn steering(&self) -> Option<Steering> {
        None
    }
    /// What mechanisms have counted at a switch, each with its mechanism's name.
    fn switch_counts(_side: &Self::Switch, _now: Time) -> Vec<(&'static str, Count)> {
        Vec::new()
    }
    /// What mechanisms have counted at a NIC.
    fn nic_counts(_side: &Self::Nic, _now: Time) -> Vec<(&'static str, Count)> {
        Vec::new()
    }
    /// What all nodes share.
    fn shared(&self) -> Self::Shared;
    /// Sides at this switch.
    fn switch(&self, shape: &SwitchShape) -> Self::Switch;
    /// Sides at this NIC.
    fn nic(&self, shape: &NicShape) -> Self::Nic;
    /// Sides at this flow, if any.
    fn flow(&self, shape: &FlowShape, shared: &Self::Shared) -> Option<Self::Flow>;
    /// Which flows share a controller.
    fn rate_key(&self, shape: &FlowShape) -> RateKey;
    /// Classes that are never to be dropped at the node of this name and tier, a bit each.
    fn lossless_classes(&self, name: &str, tier: &str) -> u8;
}

/// The stage itself as owner of gates and holds (a slow receiver).
const STAGE: Owner = Owner(15);

/// A run whose links have been silent for this long, while pauses are refreshed and nothing else is to come, has stalled.
const SILENCE: Time = Time::ms(1_000);

/// The context of a switch's hook: `$s` is the switch, borrowed apart from the rest of the network.
macro_rules! cx {
    ($network:ident, $s:ident) => {
        crate::hooks::SwitchCx {
            now: $network.now,
            owner: crate::hooks::Owner(0),
            seen: &$s.occupancy,
            home: &mut $s.home,
            notes: &mut $network.notes,
        }
    };
}
use cx;

struct Switch<S> {
    home: Home,
    first_port: u32,
    latency: Time,
    latency_at: LatencyAt,
    occupancy: Occupancy,
    stack: S,
    crossbar: Option<Box<Crossbar>>,
    /// For those who look on at what waits for its ports, where somebody does.
    watch: Option<Box<waits::Watch>>,
    /// From the first frame on that was ever held.
    lanes: Option<Box<lanes::Lanes>>,
}

/// Events between two deliveries of rows.
const SLICE: u64 = 4096;

/// Rows since the last delivery.
#[derive(Default)]
struct Rows {
    flows: Vec<FlowRow>,
    control: Vec<ControlRow>,
    series: Vec<SeriesRow>,
    collectives: Vec<CollectiveRow>,
    frames: Vec<FrameRow>,
    waits: Vec<WaitRow>,
    pauses: Vec<PauseRow>,
}

impl Rows {
    fn hand_out(&mut self, sink: &mut dyn Sink) {
        self.flows.drain(..).for_each(|row| sink.flow(&row));
        self.control.drain(..).for_each(|row| sink.control(&row));
        self.series.drain(..).for_each(|row| sink.series(&row));
        self.collectives.drain(..).for_each(|row| sink.collective(&row));
        self.frames.drain(..).for_each(|row| sink.frame(&row));
        self.waits.drain(..).for_each(|row| sink.wait(&row));
        self.pauses.drain(..).for_each(|row| sink.pause(&row));
    }
}

/// What runs beside the model: rows, counters and the end.
struct Totals {
    progress: Progress,
    /// When a frame other than MAC control was last put on a link.
    last_frame: Time,
    broken: Option<Broken>,
    stopped: bool,
    /// Pending events that only keep themselves going.
    idling: u64,
    /// When the last event happened that was neither a frame's nor a timer.
    last_deed: Time,
    /// Nothing is left to happen.
    at_rest: bool,
    /// When the next look is due; `NEVER`: none is.
    look_at: Time,
    deadlock: Option<Deadlock>,
    first_drop: Option<FirstDrop>,
    /// How far flows were when they had last got further, once something gave reason to watch.
    watched: Option<stall::Watched>,
}

/// Flows with the last of which a run ends.
#[derive(Default)]
struct Awaited {
    /// Per group: whether its flows are awaited; empty: nobody waits for some of them only.
    groups: Vec<bool>,
    /// How many of them are under way.
    active: u64,
}

impl Awaited {
    fn holds(&self, group: u32) -> bool {
        self.groups.get(group as usize).copied().unwrap_or(false)
    }
}

/// A network under simulation.
pub struct Network<A: Actors> {
    seed: u64,
    graph: Graph,
    clock: Option<Time>,
    /// \[bytes\] of payload and header of a full packet, header, gap
    payload: u32,
    header: u32,
    gap: u32,
    ack: AckParams,
    transport: TransportParams,
    nic: NicParams,
    actors: A,
    /// See [`Actors::chooses`].
    chooses: bool,
    shared: A::Shared,
    queue: EventQueue<Event>,
    now: Time,
    slab: Slab,
    ports: Vec<Port>,
    switches: Vec<Switch<A::Switch>>,
    hosts: Vec<Host<A::Nic>>,
    /// Per node: its first port.
    first_port: Vec<u32>,
    switch_of: Vec<u32>,
    host_node: Vec<u32>,
    neighbours: Neighbours,
    routes: Routes,
    paths: Paths,
    flows: Flows,
    controllers: Vec<Option<Controller<A::Flow>>>,
    free_controllers: Vec<u32>,
    kept_controllers: HashMap<(HostId, RateKey), u32>,
    controller_tag: u16,
    sources: Vec<Box<dyn FlowSource>>,
    coming: Vec<Option<FlowSpec>>,
    jobs: Jobs,
    awaited: Awaited,
    faults: Vec<Fault>,
    series: Option<SeriesSpec>,
    /// Recorded flows, if any are.
    waits: Option<Box<waits::Waits>>,
    /// Recorded pauses, if they are.
    pauses: Option<Box<pauses::Pauses>>,
    sampled_bytes: Vec<u64>,
    lossless: bool,
    deadlock_ends: bool,
    stall: Time,
    notes: Notes,
    /// It is too large for a processor's cache.
    wide: bool,
    totals: Totals,
    rows: Rows,
}
impl<A: Actors> Network<A> {
    /// Handles up to `budget` events. A broken promise ends the run.
    pub fn run(&mut self, budget: u64, sink: &mut dyn Sink) -> Result<Progress, Broken> {
        let mut left = budget;
        while left > 0 && !self.totals.stopped {
            let slice = left.min(SLICE);
            left -= slice;
            self.run_slice(slice);
            self.rows.hand_out(sink);
        }
        match self.totals.broken.take() {
            Some(broken) => Err(broken),
            None => Ok(self.progress()),
        }
    }

    fn run_slice(&mut self, slice: u64) {
        for handled in 0..slice {
            if self.queue.fill() && self.wide {
                self.fetch_ahead();
            }
            let Some((time, _, event)) = self.queue.pop() else {
                self.nothing_left();
                self.totals.progress.events += handled;
                return;
            };
            let before = std::mem::replace(&mut self.now, time);
            match event {
                Event::Sent { port } => self.sent(port),
                Event::Arrive { port, pkt } => self.arrive(port, pkt),
                Event::Wake { port } => self.woken(port),
                _ => self.rare(event, before),
            }
            if self.totals.stopped {
                self.totals.progress.events += handled + 1;
                return;
            }
        }
        self.totals.progress.events += slice;
    }

    #[inline(never)]
    fn rare(&mut self, event: Event, before: Time) {
        self.totals.idling -= u64::from(event.idles());
        if !event.is_timer() {
            self.totals.last_deed = self.now;
        }
        match event {
            Event::Crossed { switch, ingress, egress } => self.crossed(switch, ingress, egress),
            Event::Match { switch } => self.match_crossbar(switch),
            Event::Pace { controller, tag } => self.pace(controller, tag),
            Event::Signal { port, control, .. } => {
                let frame = self.slab.take_control(u64::from(control));
                if self.ports[port as usize].up {
                    if self.ports[port as usize].rest.captured {
                        self.capture_signal(port, frame, false);
                    }
                    self.mac_control(port, &frame);
                }
            }
            Event::Refresh { port, class, others, .. } => self.refresh(port, 1 << class | u16::from(others)),
            Event::SwitchTimer { switch, owner, token } => self.switch_timer(switch, Owner(owner), token),
            Event::NicTimer { host, owner, token } => self.nic_timer(host, Owner(owner), token),
            Event::FlowTimer { controller, tag, owner, token } => {
                self.flow_timer(controller, tag, Owner(owner), token);
            }
            Event::Heed { host, pkt } => self.heed(host, pkt),
            Event::Drain { host } => self.drain(host),
            Event::Source { source } => self.start_flows(source as usize),
            Event::Job { job } => self.ask_job(job),
            Event::Stream { slot, tag, ends } => self.stream(slot, tag, ends),
            Event::Fetched { slot, tag } => self.fetched(slot, tag),
            Event::Timeout { slot, tag } => self.timed_out(slot, tag),
            Event::Fault { fault } => self.apply_fault(fault as usize),
            Event::Sample => self.sample(),
            Event::Stop => self.totals.stopped = true,
            Event::Look => self.look(before),
            Event::Enqueue { switch, pkt } => self.enqueue(switch, pkt),
            Event::Sent { .. } | Event::Arrive { .. } | Event::Wake { .. } => unreachable!("handled in the loop"),
        }
    }

    #[inline(always)]
    fn push(&mut self, at: Time, event: Event) {
        self.totals.idling += u64::from(event.idles());
        self.queue.push(at, event.order(), event);
    }

    /// A flow of this group has ended: with the last that is awaited, and none to come, so does the run.
    fn one_ended(&mut self, group: u32) {
        if self.awaited.holds(group) {
            self.awaited.active -= 1;
            self.totals.stopped |= self.awaits_nothing();
        }
    }

    fn awaits_nothing(&self) -> bool {
        self.awaited.active == 0 && !self.coming.iter().flatten().any(|flow| self.awaited.holds(flow.group))
    }

    /// Whether anything is pending but events that only keep themselves going.
    fn lives(&self) -> bool {
        self.queue.len() as u64 > self.totals.idling
    }

    /// Ends a run in which pauses hold each other: they are refreshed for ever, and nothing else will come.
    fn watch_silence(&mut self) {
        if self.now.since(self.totals.last_frame) <= SILENCE {
            return;
        }
        self.totals.stopped |= !self.something_comes();
    }

    /// The deadlock that was found, if any.
    pub fn deadlock(&self) -> Option<&Deadlock> {
        self.totals.deadlock.as_ref()
    }

    /// The first frame that was dropped for want of memory, if any was.
    pub fn first_drop(&self) -> Option<&FirstDrop> {
        self.totals.first_drop.as_ref()
    }

    /// How far it is; of a run that has come to rest, when the last thing happened that was no mere timer.
    pub fn progress(&self) -> Progress {
        Progress {
            done: self.totals.stopped,
            time: self.end(),
            flows_active: self.flows.active,
            hops: self.ports.iter().map(|p| p.tx_frames).sum(),
            data_hops: self.ports.iter().map(|p| p.tx_data_frames).sum(),
            ..self.totals.progress
        }
    }

    /// Until when time counts: timers that run out after the last flow has ended, with nothing left to do, are no part of a run.
    fn end(&self) -> Time {
        if self.totals.at_rest && self.flows.active == 0 {
            self.totals.last_frame.max(self.totals.last_deed)
        } else {
            self.now
        }
    }

    /// Fingerprint of the trajectory so far.
    pub fn fingerprint(&self) -> u64 {
        Fingerprint::of(self.ports.iter().map(|port| port.lane))
    }

    /// Ends the run here: hands out the rows of unfinished flows and of all ports.
    pub fn finish(&mut self, sink: &mut dyn Sink) {
        self.totals.stopped = true;
        let mut slots: Vec<u32> = self.flows.slots().collect();
        slots.sort_by_key(|s| self.flows.send[*s as usize].id);
        let found = self.whereabouts();
        for slot in slots {
            let row = self.flow_row(slot as usize, State::Unfinished(self.waits_for(slot, &found)));
            self.rows.flows.push(row);
            self.end_waits(slot as usize);
        }
        self.close_pauses();
        self.rows.collectives.extend(self.jobs.unfinished());
        self.rows.hand_out(sink);
        for (node, first) in self.first_port.iter().enumerate() {
            for (local, (peer, _)) in self.neighbours[node].iter().enumerate() {
                let port = &self.ports[*first as usize + local];
                sink.port(&PortRow {
                    node: NodeId(node as u32),
                    port: crate::packet::Port(local as u16),
                    peer: NodeId(*peer),
                    rate_bps: port.serialiser.rate().0,
                    stats: port.stats(self.now),
                });
            }
        }
        for switch in &self.switches {
            let held = switch.lanes.as_ref().map_or_else(Default::default, |lanes| lanes.depth.stats(self.end()));
            sink.switch(&SwitchRow { node: switch.home.shape.node, held });
        }
        self.hand_out_counts(sink);
    }

    /// Hands out what mechanisms have counted.
    fn hand_out_counts(&self, sink: &mut dyn Sink) {
        let at_switches = self.switches.iter().map(|s| (s.home.shape.node, A::switch_counts(&s.stack, self.now)));
        let at_hosts = self.hosts.iter().zip(&self.host_node);
        let at_hosts = at_hosts.map(|(host, node)| (NodeId(*node), A::nic_counts(&host.stack, self.now)));
        for (node, counts) in at_switches.chain(at_hosts) {
            for (mechanism, (port, counter, value)) in counts.into_iter().filter(|(_, (.., value))| *value != 0) {
                sink.counter(&CounterRow { node, port, mechanism, counter, value });
            }
        }
    }

    /// What is not at rest: nothing, after a run in which no frame was lost to a fault and that was not cut short.
    pub fn unrest(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.slab.len() != 0 {
            found.push(format!("{} packets are still in flight", self.slab.len()));
        }
        for switch in &self.switches {
            if !switch.occupancy.is_empty() {
                found.push(format!("counters of {} are not zero", switch.home.shape.name));
            }
        }
        for port in &self.ports {
            if !port.all_open() {
                found.push(format!("a gate of port {} of {:?} is shut", port.local, port.belongs));
            }
            if !port.is_drained() {
                found.push(format!("port {} of {:?} has something to send", port.local, port.belongs));
            }
            if port.rest.holds.any(self.now) {
                found.push(format!("port {} of {:?} holds its neighbour", port.local, port.belongs));
            }
        }
        found
    }

    /// Name of a node.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.graph.nodes[node.0 as usize].name
    }

    /// The node at which a port sits.
    fn node_of(&self, port: &Port) -> u32 {
        match port.belongs {
            Belongs::Switch(s) => self.switches[s as usize].home.shape.node.0,
            Belongs::Host(h) => self.host_node[h as usize],
        }
    }

    /// Calls a hook of a switch's stack.
    #[inline(always)]
    fn at_switch<R>(&mut self, switch: u32, f: impl FnOnce(&mut A::Switch, &mut SwitchCx<'_>, &mut Slab) -> R) -> R {
        let s = &mut self.switches[switch as usize];
        f(&mut s.stack, &mut cx!(self, s), &mut self.slab)
    }

    /// Starts the next transmission of an idle port, if there is one.
    #[inline(always)]
    fn kick(&mut self, port: u32) {
        let p = &mut self.ports[port as usize];
        if p.busy {
            return;
        }
        if p.mac_waits {
            return self.kick_mac(port);
        }
        if let Belongs::Host(host) = p.belongs {
            return self.kick_host(host, port);
        }
        if !p.has_work() {
            return;
        }
        match p.next(&self.slab, self.now) {
            Next::Packet(pkt) => self.transmit(port, pkt),
            Next::Wait(until) => self.wake(port, until),
            Next::Nothing => {}
        }
    }

    #[cold]
    #[inline(never)]
    fn kick_mac(&mut self, port: u32) {
        if let Some(frame) = self.ports[port as usize].pop_mac() {
            let pkt = self.mac_packet(port, frame);
            self.transmit(port, pkt);
        }
    }

    #[inline(always)]
    fn wake(&mut self, port: u32, at: Time) {
        let p = &mut self.ports[port as usize];
        if p.wake_at > at || p.wake_at <= self.now {
            p.wake_at = at;
            self.push(at, Event::Wake { port });
        }
    }

    /// The identity of a control frame: the port that sends it, or the first of its node, and a number of that port's own.
    fn control_uid(&mut self, port: u32) -> u64 {
        let rest = &mut self.ports[port as usize].rest;
        rest.control_frames += 1;
        mix(mix(u64::from(port)) ^ rest.control_frames)
    }

    fn mac_packet(&mut self, port: u32, frame: Control) -> Ix {
        let uid = self.control_uid(port);
        let mut pkt = Packet::control(&frame, HostId(u32::MAX), HostId(u32::MAX), crate::packet::Class(7), uid);
        pkt.kind = Kind::Mac;
        let node = self.node_of(&self.ports[port as usize]);
        pkt.seq = u64::from(node) << 32 | self.slab.insert_control(frame);
        self.slab.insert(pkt)
    }

    /// Puts a packet on the wire of an idle port.
    #[inline(always)]
    fn transmit(&mut self, port: u32, pkt: Ix) {
        let (p, header) = (&mut self.ports[port as usize], &self.slab[pkt].pkt);
        let (size, kind, uid) = (header.size, header.kind, header.uid);
        let sent = self.now + p.serialiser.time(size + self.gap);
        p.busy = true;
        p.current = pkt;
        p.tx_frames += 1;
        p.tx_bytes += u64::from(size);
        p.tx_data_frames += u64::from(kind == Kind::Data);
        let mut arrival = sent + p.delay;
        if kind != Kind::Mac {
            arrival += p.peer_latency;
            self.totals.last_frame = self.now;
        }
        let (peer, at_end, belongs) = (p.peer, p.release_at_end, p.belongs);
        let fate = if p.special { self.fate(port, pkt) } else { 0 };
        if !at_end && kind != Kind::Mac {
            self.depart_at_start(belongs, port, pkt);
        }
        self.push(sent, Event::Sent { port });
        if fate != 0 {
            self.ports[port as usize].fate = fate;
        }
        if fate & faults::LOST == 0 {
            self.queue.push(arrival, order(2, uid), Event::Arrive { port: peer, pkt });
        }
    }

    /// A frame that was not ready when the port last looked may be now.
    #[inline(always)]
    fn woken(&mut self, port: u32) {
        let p = &mut self.ports[port as usize];
        if p.wake_at == self.now {
            p.wake_at = Time::NEVER;
            self.kick(port);
        }
    }

    #[inline(always)]
    fn sent(&mut self, port: u32) {
        let p = &mut self.ports[port as usize];
        p.busy = false;
        let (pkt, at_end, belongs) = (std::mem::replace(&mut p.current, NIL), p.release_at_end, p.belongs);
        let fate = std::mem::take(&mut p.fate);
        if at_end {
            self.depart(belongs, port, pkt);
        }
        if fate != 0 {
            self.meet(port, pkt, fate);
        }
        self.kick(port);
    }

    #[inline(always)]
    fn arrive(&mut self, port: u32, pkt: Ix) {
        if self.ports[port as usize].special {
            return self.arrive_specially(port, pkt);
        }
        self.arrived(port, pkt);
    }

    #[cold]
    #[inline(never)]
    fn arrive_specially(&mut self, port: u32, pkt: Ix) {
        if self.comes_through(port, pkt) {
            self.arrived(port, pkt);
        }
    }

    #[inline(always)]
    fn arrived(&mut self, port: u32, pkt: Ix) {
        let (p, header) = (&mut self.ports[port as usize], &self.slab[pkt].pkt);
        p.lane.fold(self.now.0, header.uid);
        let (belongs, local, kind, seq) = (p.belongs, p.local, header.kind, header.seq);
        match (kind, belongs) {
            (Kind::Mac, _) => {
                let frame = self.slab.take_control(seq);
                self.slab.remove(pkt);
                self.mac_control(port, &frame);
            }
            (_, Belongs::Switch(s)) => self.arrive_at_switch(s, local, pkt),
            (_, Belongs::Host(h)) => self.arrive_at_host(h, pkt),
        }
    }

    /// The line rate of a host's link.
    fn host_rate(&self, host: u32) -> Rate {
        self.ports[self.hosts[host as usize].port as usize].serialiser.rate()
    }
}
