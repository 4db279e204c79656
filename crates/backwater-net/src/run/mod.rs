//! A network and its event loop.
//!
//! `build` makes it, and this file runs it. `links` handles arrivals, `start` begins flows, `outcome` carries out effects of nodes and ends
//! flows, `messages` splits a message over several flows, `jobs` begins flows that wait for others, `caller` those of the program
//! that runs the network, `ideal` computes the time of a flow
//! alone. `deadlock` and `stall` detect runs that cannot continue, `faults` injects faults, `ending` writes the last rows, `saved` saves
//! and resumes a run, and `fetch` only makes large networks faster.

mod build;
mod caller;
mod connections;
mod deadlock;
mod ending;
mod faults;
mod fetch;
mod ideal;
mod interfaces;
mod jobs;
mod links;
mod messages;
mod observe;
mod outcome;
pub(crate) mod parallel;
mod sample;
mod saved;
mod stall;
mod start;
mod view;

use crate::model::event::Event;
use crate::model::hooks::{
    FlowShape, FlowSide, Hooks, MechanismId, MechanismSet, NicShape, NicSide, Overhead, RateKey, Steering, SwitchShape,
    SwitchSide,
};
use crate::model::host::{Host, Interface, Tables};
use crate::model::node::NodeCx;
use crate::model::own::Own;
use crate::model::packet::{Class, FlowRef, NodeId};
use crate::model::port::{Facts, Port};
use crate::model::switch::Switch;
use crate::model::world::World;
use crate::record::{Broken, Deadlock, FirstDrop, Progress, Sink};
use crate::spec::{Fault, FlowSpec, SeriesSpec};
use crate::units::Rate;
use crate::workload::{FlowSource, Group};
use backwater_engine::Time;
use jobs::Jobs;
use messages::Messages;
use std::any::TypeId;
use view::View;

/// The mechanisms of a run; creates their sides. `backwater-mech` generates the only implementation outside of tests.
pub trait Actors {
    /// Sides at a switch.
    type Switch: SwitchSide;
    /// Sides at a NIC.
    type Nic: NicSide;
    /// Sides at a flow.
    type Flow: FlowSide;
    /// State that all nodes share.
    type Shared;
    /// Number of mechanisms, at most 63.
    const OWNERS: usize;
    /// The hooks that mechanisms of this run have.
    fn hooks(&self) -> Hooks;
    /// Returns whether some mechanism may choose among several paths of a packet.
    fn chooses(&self) -> bool {
        false
    }
    /// A mechanism by which an action at one node is known to another at the same instant: its name, and why.
    fn couples(&self) -> Option<(&'static str, &'static str)> {
        None
    }
    /// Returns whether mechanisms send frames beside MAC control.
    fn sends_messages(&self) -> bool {
        true
    }
    /// The types of the messages in mechanisms' frames.
    fn messages(&self) -> Vec<TypeId> {
        Vec::new()
    }
    /// The queues between which mechanisms move flows anywhere in the network.
    fn steering(&self) -> Option<Steering> {
        None
    }
    /// The mechanisms that are on: each with its number, its name, and what it has not done if it never acted.
    fn on(&self) -> Vec<(MechanismId, &'static str, &'static str)> {
        Vec::new()
    }
    /// Returns the state that all nodes share.
    fn shared(&self) -> Self::Shared;
    /// Sides at this switch.
    fn switch(&self, shape: &SwitchShape) -> Self::Switch;
    /// Sides at this NIC.
    fn nic(&self, shape: &NicShape) -> Self::Nic;
    /// Returns whether some mechanism is confined to some flows.
    fn confines(&self) -> bool {
        false
    }
    /// Mechanisms that leave flows of this class, in groups of this label, alone.
    fn leaves(&self, _class: Class, _group: &str) -> MechanismSet {
        0
    }
    /// Octets that these mechanisms add to every data packet and acknowledgement of their flows.
    fn overhead(&self, _of: MechanismSet) -> Overhead {
        Overhead::default()
    }
    /// Sides at this flow, if any, without those of mechanisms that leave it alone.
    fn flow(&self, shape: &FlowShape, left: MechanismSet, shared: &Self::Shared) -> Option<Self::Flow>;
    /// Returns the key of the controller that a flow shares, by the mechanisms that do not leave it alone. Flows that different mechanisms
    /// leave alone never share one.
    fn rate_key(&self, shape: &FlowShape, left: MechanismSet) -> RateKey;
    /// Classes that are never to be dropped at the node of this name and tier, a bit each.
    fn lossless_classes(&self, name: &str, tier: &str) -> u8;
}

/// Does something at the node of a port (its number among all ports), whose number there is `$local`. At a host it is the only port of an
/// interface.
macro_rules! on_node {
    ($network:expr, $port:expr, |$at:ident, $local:ident| $do:expr) => {{
        let (belongs, $local) = {
            let p = &$network.ports[$port as usize];
            (p.belongs, p.local)
        };
        match belongs {
            crate::model::port::Belongs::Switch(switch) => {
                let mut $at = $network.switch_at(switch);
                $do
            }
            crate::model::port::Belongs::Host(nic) => {
                let (mut $at, $local) = ($network.host_at(nic), crate::model::host::PORT);
                $do
            }
        }
    }};
}
use on_node;

/// Handles an event and its effects, and returns whether it is of a rare kind. A function would copy the event.
macro_rules! handle {
    ($network:expr, $time:expr, $order:expr, $event:expr) => {{
        let before = std::mem::replace(&mut $network.world.now, $time);
        $network.world.order = $order;
        let mut rare = false;
        match $event {
            crate::model::event::Event::Sent { port } => {
                crate::run::on_node!($network, port, |at, local| at.sent(local))
            }
            crate::model::event::Event::Arrive { port, pkt, .. } => $network.arrive(port, pkt),
            crate::model::event::Event::Wake { port } => {
                crate::run::on_node!($network, port, |at, local| at.recheck(local))
            }
            _ => {
                $network.rare($event, before);
                rare = true;
            }
        }
        if !$network.world.effects.is_empty() {
            $network.settle();
        }
        rare
    }};
}
use handle;

/// Events between two deliveries of rows.
const SLICE: u64 = 4096;

/// Links that the search for routes examines in about the time of an event.
const LINKS_PER_EVENT: u64 = 16;

/// The flows that a run waits for.
#[derive(Default)]
struct Awaited {
    /// Per group: whether its flows are awaited; empty: all are.
    groups: Vec<bool>,
    /// The number of awaited flows in progress.
    active: u64,
}

impl Awaited {
    fn includes(&self, group: u32) -> bool {
        self.groups.get(group as usize).copied().unwrap_or(false)
    }
}

/// A network under simulation.
pub struct Network<A: Actors> {
    world: World,
    /// Labels of the flow groups.
    labels: Vec<String>,
    actors: A,
    shared: A::Shared,
    ports: Own<Port>,
    switches: Own<Switch<A::Switch>>,
    /// Interfaces of hosts, host by host: one for each link.
    hosts: Own<Host<A::Nic>>,
    tables: Tables<A::Flow>,
    sources: Vec<Box<dyn FlowSource>>,
    /// By source: the number of flows that it has yielded.
    drawn: Vec<u64>,
    coming: Vec<Option<FlowSpec>>,
    jobs: Jobs,
    messages: Messages,
    awaited: Awaited,
    faults: Vec<Fault>,
    convergence: Time,
    /// When the last fault acts, or routes have followed it.
    last_fault: Time,
    series: Option<SeriesSpec>,
    sampled_bytes: Vec<u64>,
    deadlock_ends: bool,
    stall: Time,
    /// It is too large for a processor's cache.
    wide: bool,
}
impl<A: Actors> Network<A> {
    fn flow_name(&self, id: u64) -> String {
        Group::flow_name(id, |group| self.labels.get(group as usize).map_or("", String::as_str))
    }

    /// Calls mechanisms for every frame at switches, whatever levels of accounts they state: to test that the levels omit nothing.
    pub fn call_for_every_frame(&mut self) {
        for switch in self.switches.iter_mut() {
            switch.occupancy.pass_every_frame();
            switch.ask_all_levels();
        }
    }

    /// Handles up to `budget` events. A broken promise ends the run.
    pub fn run(&mut self, budget: u64, sink: &mut dyn Sink) -> Result<Progress, Broken> {
        let mut left = budget;
        while left > 0 && !self.world.totals.stopped {
            let slice = left.min(SLICE);
            left -= slice;
            self.run_slice(slice);
            // Finding routes in a large network takes as long as many events.
            left = left.saturating_sub(self.world.fabric.routes.take_work() / LINKS_PER_EVENT);
            self.world.rows.emit(sink);
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
            let Some((time, order, event)) = self.world.queue.take() else {
                self.nothing_pending();
                self.world.totals.progress.events += handled;
                return;
            };
            let rare = handle!(self, time, order, event);
            // A flow that begins finds routes, and many flows may begin within one batch of events.
            if self.world.totals.stopped || rare && self.enough_routes() {
                self.world.totals.progress.events += handled + 1;
                return;
            }
        }
        self.world.totals.progress.events += slice;
    }

    /// Returns whether finding routes has taken as long as a slice of events.
    fn enough_routes(&self) -> bool {
        self.world.fabric.routes.has_worked(SLICE * LINKS_PER_EVENT)
    }

    #[inline(never)]
    fn rare(&mut self, event: Event, before: Time) {
        self.world.totals.keepalive_events -= u64::from(event.idles());
        if event.is_observer() {
            self.world.totals.observer_events -= 1;
            self.world.totals.observed.look(before, self.world.now);
        }
        if !event.is_timer() {
            self.world.totals.last_progress = self.world.now;
        }
        match event {
            Event::Crossed { switch, ingress, egress } => self.switch_at(switch).crossed(ingress, egress),
            Event::Match { switch } => self.switch_at(switch).match_crossbar(),
            Event::Pace { controller, tag } => {
                if let Some(mut host) = self.controller_at(controller, tag) {
                    host.pace(controller);
                }
            }
            Event::Signal { port, control, .. } => self.signal(port, control),
            Event::Refresh { port, class, others, .. } => self.refresh(port, 1 << class | u16::from(others)),
            Event::SwitchTimer { switch, owner, token } => self.switch_at(switch).timer(MechanismId(owner), token),
            Event::NicTimer { host, owner, token } => self.host_at(host).timer(MechanismId(owner), token),
            Event::FlowTimer { controller, tag, owner, token } => {
                let Some(mut host) = self.controller_at(controller, tag) else { return };
                host.flow_timer(controller, MechanismId(owner), token);
                // Timers that rearm themselves do not keep a run alive in which nothing else is pending.
                if !self.lives() {
                    if self.world.part.is_some() {
                        return self.may_have_ended();
                    }
                    self.nothing_pending();
                }
            }
            Event::ControlDue { host, pkt } => {
                let nic = self.interface_for(host, pkt);
                self.host_at(nic).act_on_control(pkt);
            }
            Event::Drain { host } => self.host_at(host).drain(),
            Event::Source { source } => self.start_flows(source as usize),
            Event::Job { job } => self.ask_job(job),
            Event::Call { .. } => self.ask_caller(),
            Event::Stream { slot, tag, ends } => self.stream(slot, tag, ends),
            Event::Begin { slot, tag } => self.posted(slot, tag),
            Event::Timeout { slot, tag } => {
                let Some(at) = self.tables.flows.find(FlowRef { slot, tag }) else {
                    self.world.totals.keepalive_events -= 1;
                    return;
                };
                self.world.totals.keepalive_events -= u64::from(self.tables.flows.send[at].use_timer());
                let nic = self.tables.flows.send[at].nic;
                self.host_at(nic).timed_out(at);
            }
            Event::Fault { fault } => self.apply_fault(fault as usize),
            Event::Reroute { fault } => self.converge(fault as usize),
            Event::Sample => self.sample(),
            Event::Stop => self.world.totals.stopped = true,
            Event::Look => self.look(),
            Event::Over { slot } => self.over(slot),
            Event::Enqueue { switch, pkt } => self.switch_at(switch).enqueue(pkt),
            Event::Sent { .. } | Event::Arrive { .. } | Event::Wake { .. } => unreachable!("handled in the loop"),
        }
    }

    /// A flow of this group has ended. The run ends with the last awaited flow, if no other is to come.
    fn one_ended(&mut self, group: u32) {
        if self.awaited.includes(group) {
            self.awaited.active -= 1;
            self.world.totals.stopped |= self.awaits_nothing();
        }
    }

    fn awaits_nothing(&self) -> bool {
        self.awaited.active == 0 && !self.coming.iter().flatten().any(|flow| self.awaited.includes(flow.group))
    }

    /// Returns the time of the last event but observers.
    fn last_happened(&self) -> Time {
        self.world.totals.observed.last_event(self.world.now, self.world.totals.last_progress)
    }

    /// Returns whether any event is pending that is not merely self-sustaining.
    fn lives(&self) -> bool {
        self.world.queue.len() as u64 > self.world.totals.keepalive_events
    }

    /// The deadlock that was found, if any.
    pub fn deadlock(&self) -> Option<&Deadlock> {
        self.world.totals.deadlock.as_ref()
    }

    /// The first frame that was dropped for want of memory, if any.
    pub fn first_drop(&self) -> Option<&FirstDrop> {
        self.world.totals.first_drop.as_ref()
    }

    /// Name of a node.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.world.fabric.graph.nodes[node.0 as usize].name
    }

    /// The node at which a port sits.
    fn node_of(&self, port: &Port) -> u32 {
        self.world.fabric.node_of(port.belongs)
    }

    /// The facts about a port, in this part or another.
    #[inline]
    fn facts(&self, port: u32) -> Facts {
        match (self.ports.get(port as usize), &self.world.part) {
            (None, Some(part)) => part.facts[port as usize],
            _ => Facts::of(&self.ports[port as usize]),
        }
    }

    /// The latency of a switch, in this part or another.
    fn latency_of(&self, switch: u32) -> Time {
        match &self.world.part {
            Some(part) => part.latencies[switch as usize],
            None => self.switches[switch as usize].latency,
        }
    }

    /// Returns a view of it, as a single part.
    fn view(&self) -> View<'_, A> {
        View::of_one(self)
    }

    /// A switch at work.
    #[inline(always)]
    fn switch_at(&mut self, switch: u32) -> NodeCx<'_, &mut Switch<A::Switch>> {
        let node = &mut self.switches[switch as usize];
        let ports = self.ports.of_node(node.first_port..node.first_port + node.ports);
        NodeCx { node, ports, world: &mut self.world }
    }

    /// A host at work, by one of its interfaces.
    #[inline(always)]
    fn host_at(&mut self, nic: u32) -> NodeCx<'_, Interface<'_, A::Nic, A::Flow>> {
        let host = &mut self.hosts[nic as usize];
        let ports = std::slice::from_mut(&mut self.ports[host.port as usize]);
        NodeCx { node: Interface::new(host, &mut self.tables), ports, world: &mut self.world }
    }

    /// The interface of the controller with this tag, if it still exists.
    fn controller_at(&mut self, controller: u32, tag: u16) -> Option<NodeCx<'_, Interface<'_, A::Nic, A::Flow>>> {
        let there = self.tables.controllers.list[controller as usize].as_ref().filter(|c| c.tag == tag)?;
        let nic = there.nic;
        Some(self.host_at(nic))
    }

    /// A pause signal without a frame takes effect.
    #[cold]
    fn signal(&mut self, port: u32, control: u32) {
        let frame = self.world.slab.take_control(control);
        let p = &self.ports[port as usize];
        if p.up {
            if p.rest.captured {
                let from = NodeId(self.node_of(&self.ports[p.peer as usize]));
                on_node!(self, port, |at, local| at.capture_signal(local, frame, from, false));
            }
            on_node!(self, port, |at, local| at.mac_control(local, &frame));
        }
    }

    /// A paused neighbour may need another frame.
    fn refresh(&mut self, port: u32, classes: u16) {
        on_node!(self, port, |at, local| at.refresh(local, classes));
        self.end_if_pauses_alone_go_on();
    }

    /// The line rate of an interface.
    fn nic_rate(&self, nic: u32) -> Rate {
        self.ports[self.hosts[nic as usize].port as usize].serialiser.rate()
    }
}
