//! A network and its event loop.
//!
//! What belongs to which file: `build` makes it, this one runs it; `event` says what happens and in which order; `links` sends frames and receives them; `switching` takes a frame through a switch; `crossbar` matches
//! ingresses to egresses; `start` begins flows, `jobs` those that wait for others, `transport` sends again what was lost, `ideal` says what a flow would take alone, `nic` sends and receives them, `host` is what a NIC has to send; `control` acts on notes, gates, holds and timers; `flush` empties queues; `lanes` holds frames before their egress queue; `deadlock` and `stall` notice what will never go on; `waits` and `pauses` record why what happened took so long; `faults` and
//! `sample` do what their names say; `ending` says what is left at the end; `fetch` only makes large networks faster.

mod at;
mod backlog;
mod build;
mod capture;
mod control;
mod crossbar;
mod deadlock;
mod ending;
mod event;
mod faults;
mod fetch;
mod flush;
mod host;
mod ideal;
mod jobs;
mod lanes;
mod links;
mod nic;
mod outcome;
mod pauses;
mod probes;
mod sample;
mod stall;
mod start;
mod switching;
pub(crate) mod transport;
mod waits;

use crate::config::{AckParams, LatencyAt, NicParams, TransportParams};
use crate::flow::{Controllers, Flows};
use crate::hooks::{
    Count, FlowShape, FlowSide, Home, NicShape, NicSide, Notes, Owner, RateKey, Reach, Steering, SwitchShape,
    SwitchSide,
};
use crate::occupancy::Occupancy;
use crate::packet::{FlowRef, HostId, Kind, NodeId, Port as PortNo};
use crate::port::{Belongs, Port};
use crate::record::{
    Broken, ControlRow, Deadlock, FirstDrop, FlowRow, FrameRow, JobRows, PauseRow, Progress, SeriesRow, Sink, WaitRow,
};
use crate::routing::{Neighbours, Paths, Routes};
use crate::slab::{Ix, Slab};
use crate::spec::{Fault, FlowSpec, SeriesSpec};
use crate::topology::Graph;
use crate::units::{Bytes, Rate};
use crate::workload::FlowSource;
use at::At;
use backwater_engine::{EventQueue, Time};
use crossbar::Crossbar;
use event::{Event, controller_order, order};
use host::Host;
use jobs::Jobs;
use nic::Interface;
use outcome::Outcome;
use probes::Probes;

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
    /// Number of mechanisms, at most 63.
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
    /// The mechanisms that are on: each with its number.
    fn on(&self) -> Vec<(Owner, &'static str)> {
        Vec::new()
    }
    /// What mechanisms have done at a switch, by number, where they have a side there.
    fn switch_reach(_side: &Self::Switch, _tell: &mut dyn FnMut(Owner, Reach)) {}
    /// What they have done at a NIC.
    fn nic_reach(_side: &Self::Nic, _tell: &mut dyn FnMut(Owner, Reach)) {}
    /// What they have done at a flow.
    fn flow_reach(_side: &Self::Flow, _tell: &mut dyn FnMut(Owner, Reach)) {}
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

/// A run whose links have been silent for this long, while pauses are refreshed and nothing else is to come, has stalled.
const SILENCE: Time = Time::ms(1_000);

/// The context of a switch's hook: `$s` is the switch, borrowed apart from the rest of the network.
macro_rules! cx {
    ($network:ident, $s:ident) => {
        crate::hooks::SwitchCx {
            now: $network.world.now,
            owner: crate::hooks::Owner(0),
            seen: &$s.occupancy,
            home: &mut $s.home,
            notes: &mut $network.world.notes,
        }
    };
}
use cx;

/// Does something at the node of a port (its number among all ports), which is `$local` there.
macro_rules! on_node {
    ($network:expr, $port:expr, |$at:ident, $local:ident| $do:expr) => {{
        let (belongs, $local) = {
            let p = &$network.ports[$port as usize];
            (p.belongs, p.local)
        };
        match belongs {
            crate::port::Belongs::Switch(switch) => {
                let mut $at = $network.switch_at(switch);
                $do
            }
            crate::port::Belongs::Host(host) => {
                let mut $at = $network.host_at(host);
                $do
            }
        }
    }};
}
use on_node;

struct Switch<S> {
    /// Among switches.
    number: u32,
    home: Home,
    first_port: u32,
    ports: u32,
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

/// Links that are looked at for routes in about the time of an event.
const LINKS_PER_EVENT: u64 = 16;

/// Rows since the last delivery.
#[derive(Default)]
struct Rows {
    flows: Vec<FlowRow>,
    control: Vec<ControlRow>,
    series: Vec<SeriesRow>,
    jobs: JobRows,
    frames: Vec<FrameRow>,
    waits: Vec<WaitRow>,
    pauses: Vec<PauseRow>,
}

impl Rows {
    fn hand_out(&mut self, sink: &mut dyn Sink) {
        self.flows.drain(..).for_each(|row| sink.flow(&row));
        self.control.drain(..).for_each(|row| sink.control(&row));
        self.series.drain(..).for_each(|row| sink.series(&row));
        self.jobs.hand_out(sink);
        self.frames.drain(..).for_each(|row| sink.frame(&row));
        self.waits.drain(..).for_each(|row| sink.wait(&row));
        self.pauses.drain(..).for_each(|row| sink.pause(&row));
    }
}

/// What runs beside the model: counters and the end.
struct Totals {
    pub progress: Progress,
    /// When a frame other than MAC control was last put on a link.
    pub last_frame: Time,
    pub broken: Option<Broken>,
    pub stopped: bool,
    /// Pending events that only keep themselves going.
    pub idling: u64,
    /// When the last event happened that was neither a frame's nor a timer.
    pub last_deed: Time,
    /// Pending events that only look on.
    pub looks: u64,
    /// When one of these last was, and when anything else had last happened by then.
    pub looked: Time,
    pub happened: Time,
    /// Nothing is left to happen.
    pub at_rest: bool,
    /// When the next look is due; `NEVER`: none is.
    pub look_at: Time,
    pub deadlock: Option<Deadlock>,
    pub first_drop: Option<FirstDrop>,
    /// How far flows were when they had last got further, once something gave reason to watch.
    pub watched: Option<stall::Watched>,
}

impl Default for Totals {
    fn default() -> Totals {
        Totals {
            progress: Progress::default(),
            last_frame: Time::ZERO,
            broken: None,
            stopped: false,
            idling: 0,
            last_deed: Time::ZERO,
            looks: 0,
            looked: Time::ZERO,
            happened: Time::ZERO,
            at_rest: false,
            look_at: Time::NEVER,
            deadlock: None,
            first_drop: None,
            watched: None,
        }
    }
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

/// What every node may see and change: the time, what is to come, what is in flight, and what is left to be done or handed out.
struct World {
    pub now: Time,
    pub queue: EventQueue<Event>,
    pub slab: Slab,
    pub notes: Notes,
    pub totals: Totals,
    pub rows: Rows,
    pub rules: Rules,
    pub outcomes: Vec<Outcome>,
}

impl World {
    #[inline(always)]
    pub fn push(&mut self, at: Time, event: Event) {
        self.totals.idling += u64::from(event.idles());
        self.totals.looks += u64::from(event.looks_on());
        self.queue.push(at, event.order(), event);
    }

    /// Takes a packet out of the world, and the control frame in it.
    fn forget(&mut self, pkt: Ix) {
        let header = self.slab[pkt].pkt;
        if matches!(header.kind, Kind::Control | Kind::Mac) {
            self.slab.take_control(header.seq);
        }
        self.slab.remove(pkt);
    }

    /// A promise is broken: the run ends.
    #[cold]
    fn broken(&mut self, reason: String, hint: &str) {
        self.totals.stopped = true;
        self.totals.broken = Some(Broken { time: self.now, reason, hint: hint.into() });
    }
}

impl Rules {
    /// \[bytes\] Narrower a window must not be.
    fn least_window(&self) -> u64 {
        self.ack.together(Bytes(u64::from(self.payload))).0
    }
}

/// What does not change in a run, and holds for every node.
struct Rules {
    pub seed: u64,
    pub clock: Option<Time>,
    /// \[bytes\] of payload and header of a full packet, header, gap
    pub payload: u32,
    pub header: u32,
    pub gap: u32,
    pub ack: AckParams,
    pub transport: TransportParams,
    pub nic: NicParams,
    pub lossless: bool,
    /// See [`Actors::chooses`].
    pub chooses: bool,
}

/// Where nodes are, and the ways between them.
struct Fabric {
    pub graph: Graph,
    /// Per node: its first port.
    pub first_port: Vec<u32>,
    pub switch_of: Vec<u32>,
    pub host_node: Vec<u32>,
    pub neighbours: Neighbours,
    pub routes: Routes,
    pub paths: Paths,
}

impl Fabric {
    /// Finds the routes to a host, where nothing has gone to it yet.
    fn find_routes(&mut self, host: HostId) {
        if !self.routes.knows(host) {
            self.routes.learn(&self.neighbours, &self.switch_of, host);
        }
    }

    /// The node at the other end of a link, and its port.
    fn peer(&self, node: NodeId, port: u16) -> (NodeId, PortNo) {
        let (peer, _) = self.neighbours[node.0 as usize][usize::from(port)];
        let links =
            |of: u32, to: u32| (0u16..).zip(&self.neighbours[of as usize]).filter(move |(_, (at, _))| *at == to);
        // Of parallel links the n-th of one end is the n-th of the other.
        let nth = links(node.0, peer).position(|(local, _)| local == port).unwrap_or(0);
        let back = links(peer, node.0).nth(nth).map_or(0, |(local, _)| local);
        (NodeId(peer), PortNo(back))
    }

    /// Which switch of a pinned path that begins at `host` this one is, from 0.
    pub(super) fn position(&self, path: u32, host: HostId, switch: u32) -> Option<u8> {
        let mut node = self.neighbours[self.host_node[host.0 as usize] as usize].first()?.0;
        for hop in 0..self.paths.len(path) {
            if self.switch_of[node as usize] == switch {
                return Some(hop);
            }
            node = self.neighbours[node as usize][usize::from(self.paths.port(path, hop))].0;
        }
        None
    }
}

/// A network under simulation.
pub struct Network<A: Actors> {
    world: World,
    fabric: Fabric,
    actors: A,
    shared: A::Shared,
    ports: Vec<Port>,
    switches: Vec<Switch<A::Switch>>,
    hosts: Vec<Host<A::Nic>>,
    flows: Flows,
    controllers: Controllers<A::Flow>,
    probes: Probes,
    sources: Vec<Box<dyn FlowSource>>,
    coming: Vec<Option<FlowSpec>>,
    jobs: Jobs,
    awaited: Awaited,
    faults: Vec<Fault>,
    series: Option<SeriesSpec>,
    sampled_bytes: Vec<u64>,
    deadlock_ends: bool,
    stall: Time,
    /// It is too large for a processor's cache.
    wide: bool,
}
impl<A: Actors> Network<A> {
    /// Handles up to `budget` events. A broken promise ends the run.
    pub fn run(&mut self, budget: u64, sink: &mut dyn Sink) -> Result<Progress, Broken> {
        let mut left = budget;
        while left > 0 && !self.world.totals.stopped {
            let slice = left.min(SLICE);
            left -= slice;
            self.run_slice(slice);
            // Finding routes in a large network takes as long as many events.
            left = left.saturating_sub(self.fabric.routes.take_work() / LINKS_PER_EVENT);
            self.world.rows.hand_out(sink);
        }
        match self.world.totals.broken.take() {
            Some(broken) => Err(broken),
            None => Ok(self.progress()),
        }
    }

    fn run_slice(&mut self, slice: u64) {
        if self.jobs_are_starting() && !self.start_jobs_flows() {
            return;
        }
        for handled in 0..slice {
            if self.world.queue.fill() {
                if self.wide {
                    self.fetch_ahead();
                }
                if self.enough_routes() {
                    self.world.totals.progress.events += handled;
                    return;
                }
            }
            let Some((time, _, event)) = self.world.queue.pop() else {
                self.nothing_left();
                self.world.totals.progress.events += handled;
                return;
            };
            let before = std::mem::replace(&mut self.world.now, time);
            match event {
                Event::Sent { port } => on_node!(self, port, |at, local| at.sent(local)),
                Event::Arrive { port, pkt } => self.arrive(port, pkt),
                Event::Wake { port } => on_node!(self, port, |at, local| at.woken(local)),
                _ => {
                    self.rare(event, before);
                    // A flow that begins finds routes, and so many begin within one batch of events.
                    if self.enough_routes() {
                        self.settle();
                        self.world.totals.progress.events += handled + 1;
                        return;
                    }
                }
            }
            if !self.world.outcomes.is_empty() {
                self.settle();
            }
            if self.world.totals.stopped {
                self.world.totals.progress.events += handled + 1;
                return;
            }
        }
        self.world.totals.progress.events += slice;
    }

    /// Whether finding routes has taken as long as a slice of events.
    fn enough_routes(&self) -> bool {
        self.fabric.routes.has_worked(SLICE * LINKS_PER_EVENT)
    }

    #[inline(never)]
    fn rare(&mut self, event: Event, before: Time) {
        self.world.totals.idling -= u64::from(event.idles());
        if event.looks_on() {
            self.looks_on(before);
        }
        if !event.is_timer() {
            self.world.totals.last_deed = self.world.now;
        }
        match event {
            Event::Crossed { switch, ingress, egress } => self.switch_at(switch).crossed(ingress, egress),
            Event::Match { switch } => self.switch_at(switch).match_crossbar(),
            Event::Pace { controller, tag } => {
                if let Some(mut host) = self.controller_at(controller) {
                    host.pace(controller, tag);
                }
            }
            Event::Signal { port, control, .. } => self.signal(port, control),
            Event::Refresh { port, class, others, .. } => self.refresh(port, 1 << class | u16::from(others)),
            Event::SwitchTimer { switch, owner, token } => self.switch_at(switch).timer(Owner(owner), token),
            Event::NicTimer { host, owner, token } => self.host_at(host).timer(Owner(owner), token),
            Event::FlowTimer { controller, tag, owner, token } => {
                let Some(mut host) =
                    self.controller_at(controller).filter(|at| at.node.controllers.is(controller, tag))
                else {
                    return;
                };
                host.flow_timer(controller, Owner(owner), token);
                // Timers that arm themselves anew do not keep a run alive in which nothing else is left to happen.
                if !self.lives() {
                    self.nothing_left();
                }
            }
            Event::Heed { host, pkt } => self.host_at(host).heed(pkt),
            Event::Drain { host } => self.host_at(host).drain(),
            Event::Source { source } => self.start_flows(source as usize),
            Event::Job { job } => self.ask_job(job),
            Event::Stream { slot, tag, ends } => self.stream(slot, tag, ends),
            Event::Fetched { slot, tag } => self.fetched(slot, tag),
            Event::Timeout { slot, tag } => {
                if self.flows.find(FlowRef { slot, tag }).is_some() {
                    let src = self.flows.send[slot as usize].src.0;
                    self.host_at(src).timed_out(slot, tag);
                }
            }
            Event::Fault { fault } => self.apply_fault(fault as usize),
            Event::Sample => self.sample(),
            Event::Stop => self.world.totals.stopped = true,
            Event::Look => self.look(),
            Event::Enqueue { switch, pkt } => self.switch_at(switch).enqueue(pkt),
            Event::Sent { .. } | Event::Arrive { .. } | Event::Wake { .. } => unreachable!("handled in the loop"),
        }
    }

    /// A flow of this group has ended: with the last that is awaited, and none to come, so does the run.
    fn one_ended(&mut self, group: u32) {
        if self.awaited.holds(group) {
            self.awaited.active -= 1;
            self.world.totals.stopped |= self.awaits_nothing();
        }
    }

    fn awaits_nothing(&self) -> bool {
        self.awaited.active == 0 && !self.coming.iter().flatten().any(|flow| self.awaited.holds(flow.group))
    }

    /// What only looks on is no part of what happens: a run ends when it would have ended without.
    fn looks_on(&mut self, before: Time) {
        self.world.totals.looks -= 1;
        if before > self.world.totals.looked {
            self.world.totals.happened = before;
        }
        self.world.totals.looked = self.world.now;
    }

    /// When something last happened. What happens at the moment of a look comes before it, or is no mere timer.
    fn last_happened(&self) -> Time {
        let looked_last = self.world.now == self.world.totals.looked;
        if looked_last { self.world.totals.happened.max(self.world.totals.last_deed) } else { self.world.now }
    }

    /// Whether anything is pending but events that only keep themselves going.
    fn lives(&self) -> bool {
        self.world.queue.len() as u64 > self.world.totals.idling
    }

    /// Ends a run in which pauses hold each other: they are refreshed for ever, and nothing else will come.
    fn watch_silence(&mut self) {
        if self.world.now.since(self.world.totals.last_frame) <= SILENCE {
            return;
        }
        self.world.totals.stopped |= !self.something_comes();
    }

    /// The deadlock that was found, if any.
    pub fn deadlock(&self) -> Option<&Deadlock> {
        self.world.totals.deadlock.as_ref()
    }

    /// The first frame that was dropped for want of memory, if any was.
    pub fn first_drop(&self) -> Option<&FirstDrop> {
        self.world.totals.first_drop.as_ref()
    }

    /// Name of a node.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.fabric.graph.nodes[node.0 as usize].name
    }

    /// The node at which a port sits.
    fn node_of(&self, port: &Port) -> u32 {
        match port.belongs {
            Belongs::Switch(s) => self.switches[s as usize].home.shape.node.0,
            Belongs::Host(h) => self.fabric.host_node[h as usize],
        }
    }

    /// A switch at work.
    #[inline(always)]
    fn switch_at(&mut self, switch: u32) -> At<'_, &mut Switch<A::Switch>> {
        let node = &mut self.switches[switch as usize];
        let first = node.first_port;
        let ports = &mut self.ports[first as usize..(first + node.ports) as usize];
        At { node, ports, first, world: &mut self.world, fabric: &mut self.fabric, probes: &mut self.probes }
    }

    /// A host at work.
    #[inline(always)]
    fn host_at(&mut self, host: u32) -> At<'_, Interface<'_, A::Nic, A::Flow>> {
        let at = &mut self.hosts[host as usize];
        let first = at.port;
        let ports = std::slice::from_mut(&mut self.ports[first as usize]);
        let node = Interface { number: host, host: at, flows: &mut self.flows, controllers: &mut self.controllers };
        At { node, ports, first, world: &mut self.world, fabric: &mut self.fabric, probes: &mut self.probes }
    }

    /// The host of a controller that is still there.
    fn controller_at(&mut self, controller: u32) -> Option<At<'_, Interface<'_, A::Nic, A::Flow>>> {
        let host = self.controllers.list[controller as usize].as_ref()?.shape.src.0;
        Some(self.host_at(host))
    }

    /// A pause signal without a frame is heard.
    #[cold]
    fn signal(&mut self, port: u32, control: u32) {
        let frame = self.world.slab.take_control(u64::from(control));
        let p = &self.ports[port as usize];
        if p.up {
            if p.rest.captured {
                let from = NodeId(self.node_of(&self.ports[p.peer as usize]));
                on_node!(self, port, |at, local| at.capture_signal(local, frame, from, false));
            }
            on_node!(self, port, |at, local| at.mac_control(local, &frame));
        }
    }

    /// A neighbour that is to be held may need another frame.
    fn refresh(&mut self, port: u32, classes: u16) {
        on_node!(self, port, |at, local| at.refresh(local, classes));
        self.watch_silence();
    }

    /// The line rate of a host's link.
    fn host_rate(&self, host: u32) -> Rate {
        self.ports[self.hosts[host as usize].port as usize].serialiser.rate()
    }
}
