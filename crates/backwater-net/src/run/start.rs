//! Starts flows: draws them from their sources, pins their paths, finds their controllers, makes their payload available.

use super::{Actors, Network};
use crate::config::AckPath;
use crate::model::event::Event;
use crate::model::hooks::{FlowShape, RateKey};
use crate::model::host::flow::{Controller, NO_CONTROLLER, NO_FLOW, NO_MESSAGE, SendFlow, Status, StreamState};
use crate::model::packet::{DsField, Dscp, Ecn, FlowRef, HostId, NodeId, Packet, PathRef};
use crate::model::port::Belongs;
use crate::model::transport::Sender;
use crate::record::FlowTag;
use crate::spec::FlowSpec;
use crate::topology::routing::NO_PATH;
use crate::units::Bytes;
use crate::workload::Exhausted;
use backwater_engine::fingerprint::mix;
use backwater_engine::{Time, rng};
use rand::RngExt;
use rand_distr::{Distribution, Geometric};

/// Most nodes on a pinned path: a packet counts its hops in 8 bits.
const LONGEST: usize = 250;

/// The pinned paths of a flow.
struct Pins {
    /// The paths of its data and of its acknowledgements, or [`PathRef::NONE`].
    forward: PathRef,
    back: PathRef,
    /// The first node after the receiver on the path back, if that is pinned.
    behind: NodeId,
}

impl<A: Actors> Network<A> {
    /// Takes the next flow of a source and schedules its start.
    pub(super) fn draw(&mut self, source: usize) {
        let Some(flow) = self.sources[source].next_flow() else {
            // Its list of flows is not needed any more.
            self.sources[source] = Box::new(Exhausted);
            return;
        };
        self.drawn[source] += 1;
        let at = flow.start.max(self.world.now);
        self.coming[source] = Some(flow);
        self.world.push(at, Event::Source { source: source as u32 });
    }

    /// Returns whether flows are still to start.
    pub fn flows_to_come(&self) -> bool {
        self.coming.iter().any(Option::is_some)
    }

    pub(super) fn start_flows(&mut self, source: usize) {
        if let Some(flow) = self.coming[source].take() {
            self.start_flow(&flow);
        }
        self.draw(source);
    }

    pub(super) fn start_flow(&mut self, spec: &FlowSpec) {
        let pins = self.world.rules.ack.path == AckPath::Reverse;
        if pins || !self.is_unknown(spec) {
            [spec.dst, spec.src].into_iter().for_each(|host| self.world.fabric.find_routes(host));
        }
        let hash =
            mix(mix(self.world.rules.seed) ^ mix(spec.id) ^ (u64::from(spec.src.0) << 32 | u64::from(spec.dst.0)));
        self.awaited.active += u64::from(self.awaited.includes(spec.group));
        match self.messages.pairs_of(spec) {
            Some(pairs) => self.start_message(spec, pairs, hash),
            None => _ = self.start_on(spec, hash, (NO_MESSAGE, 0)),
        }
    }

    /// Starts a flow, which is part of a message if it has a number of a queue pair. Returns the interface that sends it.
    pub(super) fn start_on(&mut self, spec: &FlowSpec, hash: u64, (message, pair): (u32, u32)) -> u32 {
        if self.messages.is_kept(spec) {
            return self.post_on_connection(spec, (message, pair));
        }
        let slot = self.open(spec, hash, false);
        if !self.is_here(spec.src) {
            return self.world.fabric.nics(spec.src).start;
        }
        let flow = &mut self.tables.flows.send[slot as usize];
        (flow.message, flow.pair) = (message, pair);
        let nic = flow.nic;
        if let Some(stream) = spec.stream {
            let tag = self.tables.flows.send[slot as usize].tag;
            self.world.push(stream.until.max(self.world.now), Event::Stream { slot, tag, ends: true });
            self.host_at(nic).notify_begin(slot);
            self.next_slot(slot, true);
        } else {
            self.post(slot);
        }
        nic
    }

    /// Gives a flow or a connection its slot, its paths and its controller. Returns its slot.
    pub(super) fn open(&mut self, spec: &FlowSpec, hash: u64, kept: bool) -> u32 {
        let nic = self.nic_of(spec, hash);
        let Pins { forward: path, back, behind } = self.pin(spec, hash, nic);
        let stream = spec.stream.map(|stream| {
            let rng = rng::stream(self.world.rules.seed, "bernoulli source", spec.id);
            Box::new(StreamState { spec: stream, rng, ended: false, blocked: 0 })
        });
        let queue = match self.hosts.get(nic as usize) {
            Some(host) => host.shape.queues.pick(spec.class, self.ports[host.port as usize].open),
            None => spec.class,
        };
        let ds = DsField::new(Dscp::of(queue), if spec.ect { Ecn::Ect } else { Ecn::NotEct });
        let transport = Sender::new(self.world.rules.transport.recovery, kept);
        let left = self.world.rules.confinement.place(spec.group, spec.class);
        let step = self.world.probes.loads.mark(spec.group);
        let mut flow = SendFlow {
            path,
            stream,
            left,
            kept,
            step,
            ..SendFlow::new(spec, nic, hash, ds, self.world.now, transport)
        };
        if flow.is_empty()
            && let Some(sender) = &mut flow.transport
        {
            // Its packet has no offset that would show it as unsent.
            sender.common.mark_lost(0);
        }
        let recv_nic = self.world.fabric.nics(spec.dst).start;
        let (tag, unknown) = (flow.tag, self.is_unknown(spec));
        let slot = self.tables.flows.insert(flow, recv_nic, back, self.world.rules.ack.pending_at_first(), unknown);
        self.note_begin(spec);
        let reference = FlowRef { slot, tag };
        self.world.fabric.paths.put_in(reference, behind, path, back);
        if self.world.probes.needs_owner() {
            self.world.probes.flow_index.begin(reference, FlowTag { id: spec.id, group: spec.group });
        }
        if unknown {
            return slot;
        }
        self.choose_recv_nic(slot, behind);
        self.count_in(slot as usize);
        self.ask_once(slot, hash);
        if !self.is_here(spec.src) {
            return slot;
        }
        let ecmp_path = self.path_of(slot);
        let shape = FlowShape {
            src: spec.src,
            dst: spec.dst,
            class: spec.class,
            line: self.nic_rate(nic),
            payload: Bytes(u64::from(self.world.rules.payload)),
            frame: Bytes(u64::from(self.world.rules.payload + self.world.rules.header(left))),
            hops: ecmp_path.as_ref().map_or(0, |ecmp_path| ecmp_path.len() as u32 - 1),
        };
        self.tables.flows.send[slot as usize].hops = shape.hops;
        self.tables.flows.send[slot as usize].controller = self.controller(&shape, nic, left, slot, hash);
        self.tables.flows.send[slot as usize].window = self.window_of(ecmp_path.as_deref(), left);
        if spec.stream.is_none() {
            self.tables.flows.send[slot as usize].ideal =
                ecmp_path.and_then(|ecmp_path| self.ideal(&ecmp_path, spec.bytes, left));
        }
        slot
    }

    /// Returns whether a flow neither begins nor ends in this part.
    fn is_unknown(&self, spec: &FlowSpec) -> bool {
        !self.is_here(spec.src) && !self.is_here(spec.dst)
    }

    /// Posts a message: it begins when its interface has issued those before it and then itself, and has fetched its first frame if it does
    /// that.
    fn post(&mut self, slot: u32) {
        let flow = &self.tables.flows.send[slot as usize];
        let (nic, tag) = (flow.nic, flow.tag);
        let fetch = self.fetch_time(nic, flow.available, flow.left);
        let at = self.hosts[nic as usize].issue_at(self.world.now).after(fetch);
        if at == self.world.now {
            return self.begin(slot, Time::ZERO);
        }
        self.tables.flows.send[slot as usize].status = Status::NotIssued;
        self.world.push(at, Event::Begin { slot, tag });
    }

    /// Returns the time in which an interface fetches the first frame of a flow of so many bytes that mechanisms leave alone by `left`.
    pub(super) fn fetch_time(&self, nic: u32, bytes: u64, left: u8) -> Time {
        let rules = &self.world.rules;
        if !rules.nic.store_and_forward {
            return Time::ZERO;
        }
        let first = bytes.min(u64::from(rules.payload)) + u64::from(rules.header(left) + rules.gap);
        self.nic_rate(nic).time_for(Bytes(first))
    }

    /// Returns the time from posting a flow until it may send, if nothing is posted before it.
    pub(super) fn post_time(&self, nic: u32, bytes: u64, left: u8) -> Time {
        self.hosts[nic as usize].issue + self.fetch_time(nic, bytes, left)
    }

    /// A part counts flows, and checks whether it supports one that begins.
    fn note_begin(&mut self, spec: &FlowSpec) {
        let Some(part) = &mut self.world.part else { return };
        part.begun += 1;
        if let Some(why) = self.why_not_split(spec) {
            self.world.doubt(why);
        }
    }

    /// A flow begins after others have kept it from being issued for the time `waited`.
    fn begin(&mut self, slot: u32, waited: Time) {
        let nic = self.tables.flows.send[slot as usize].nic;
        self.host_at(nic).begin(slot, waited);
    }

    pub(super) fn posted(&mut self, slot: u32, tag: u32) {
        if let Some(at) = self.tables.flows.find(FlowRef { slot, tag }) {
            let flow = &self.tables.flows.send[at];
            if flow.kept {
                return self.message_issued(at);
            }
            let own = self.post_time(flow.nic, flow.available, flow.left);
            self.begin(slot, self.world.now.since(flow.start.after(own)));
        }
    }

    /// Pins the paths of data and acknowledgements, if they are prescribed.
    fn pin(&mut self, spec: &FlowSpec, hash: u64, nic: u32) -> Pins {
        let pins = self.pin_data(spec, hash, nic);
        let Some(nodes) = &spec.ack_path else { return pins };
        if nodes.len() > LONGEST {
            self.too_long(spec.id, "the acknowledgements' path", nodes.len());
            return pins;
        }
        let ports = self.ports_along(nodes, hash);
        Pins { back: self.world.fabric.paths.insert(&ports), behind: nodes[1], ..pins }
    }

    /// Finds the routes of a flow's data and acknowledgements once, if switches would always choose the same.
    fn ask_once(&mut self, slot: u32, hash: u64) {
        if !self.world.fabric.ecmp_paths.are_known() {
            return;
        }
        let flows = &self.tables.flows;
        let (flow, reference) = (&flows.send[slot as usize], flows.reference(slot));
        let (src, dst) = (flow.src, flow.dst);
        let (nic, recv_nic) = (flow.nic, flows.returns[slot as usize].nic);
        // Packets are routed from their sender.
        let ecmp_path =
            if self.is_here(src) && flow.path == PathRef::NONE { self.ecmp_path_of(nic, dst, hash) } else { NO_PATH };
        let back =
            if self.is_here(dst) && self.world.rules.ack.enabled && flows.recv[slot as usize].back == PathRef::NONE {
                self.ecmp_path_of(recv_nic, src, Packet::entropy_of(dst, src, reference))
            } else {
                NO_PATH
            };
        self.tables.flows.send[slot as usize].ecmp_path = ecmp_path;
        self.tables.flows.returns[slot as usize].path = back;
    }

    /// ECMP's path for packets with this entropy out of an interface; `NO_PATH`: there is no route, or it is too long for a word.
    fn ecmp_path_of(&self, from: u32, to: HostId, entropy: u64) -> u64 {
        let fabric = &self.world.fabric;
        let (mut ecmp_path, mut hop, mut port) = (0, 0, self.hosts[from as usize].port);
        while let Belongs::Switch(switch) = self.facts(self.facts(port).peer).belongs {
            let egress = fabric.routes.pick(switch, fabric.routes.candidates(switch, to), entropy);
            let Some(egress) = egress else { return NO_PATH };
            let Some(longer) = fabric.ecmp_paths.with(ecmp_path, hop, egress) else { return NO_PATH };
            (ecmp_path, hop) = (longer, hop + 1);
            port = fabric.first_port_of(switch) + u32::from(egress);
        }
        ecmp_path
    }

    #[cold]
    fn too_long(&mut self, id: u64, what: &str, nodes: usize) {
        let reason = format!("{what} of {} has {nodes} nodes, the longest has {LONGEST}", self.flow_name(id));
        self.world.broken(reason, "leave it out: ECMP has no such limit");
    }

    /// The path of data, and of acknowledgements by [`AckPath`]. If switches choose a path for each packet, acknowledgements that return on
    /// the data's path take the one that ECMP would have given it.
    fn pin_data(&mut self, spec: &FlowSpec, hash: u64, nic: u32) -> Pins {
        let none = Pins { forward: PathRef::NONE, back: PathRef::NONE, behind: NodeId(u32::MAX) };
        let nodes: Option<Vec<NodeId>> = match &spec.path {
            Some(path) => Some(path.to_vec()),
            None if self.world.rules.ack.path == AckPath::Reverse && self.world.rules.ack.enabled => {
                self.ecmp_nodes(nic, spec.dst, hash)
            }
            None => None,
        };
        let Some(nodes) = nodes else { return none };
        if nodes.len() > LONGEST {
            if spec.path.is_some() {
                self.too_long(spec.id, "the path", nodes.len());
            }
            return none;
        }
        let forward = if self.world.rules.chooses && spec.path.is_none() {
            PathRef::NONE
        } else {
            let ports = self.ports_along(&nodes, hash);
            self.world.fabric.paths.insert(&ports)
        };
        if self.world.rules.ack.path == AckPath::Ecmp {
            return Pins { forward, ..none };
        }
        let mut back_nodes = nodes;
        back_nodes.reverse();
        let back = self.ports_along(&back_nodes, hash);
        Pins { forward, back: self.world.fabric.paths.insert(&back), behind: back_nodes[1] }
    }

    fn ecmp_nodes(&self, nic: u32, dst: HostId, hash: u64) -> Option<Vec<NodeId>> {
        let first = self.facts(self.world.fabric.port_of_nic(nic));
        let last = self.world.fabric.host_node[dst.0 as usize];
        let mut nodes = vec![NodeId(self.world.fabric.node_of(first.belongs))];
        let mut node = self.world.fabric.node_of(self.facts(first.peer).belongs);
        while node != last {
            nodes.push(NodeId(node));
            let switch = self.world.fabric.switch_of[node as usize];
            let port = self.world.fabric.routes.pick(switch, self.world.fabric.routes.candidates(switch, dst), hash)?;
            node = self.world.fabric.neighbours[node as usize][usize::from(port)].0;
        }
        nodes.push(NodeId(last));
        Some(nodes)
    }

    /// Egress ports of the switches along `nodes`; among parallel links that are up, or all if none is, the hash decides.
    fn ports_along(&self, nodes: &[NodeId], hash: u64) -> Vec<u16> {
        let hop = |pair: &[NodeId]| {
            let all = &self.world.fabric.neighbours[pair[0].0 as usize];
            let joining = || (0u16..).zip(all).filter(|(_, (peer, _))| *peer == pair[1].0);
            let mut links: Vec<u16> = joining().filter(|(_, (_, up))| *up).map(|(port, _)| port).collect();
            if links.is_empty() {
                links = joining().map(|(port, _)| port).collect();
            }
            // The scenario's check guarantees that every step is a link.
            links.get(mix(hash) as usize % links.len().max(1)).copied().unwrap_or(0)
        };
        nodes[1..].windows(2).map(hop).collect()
    }

    /// Finds or makes the controller of a flow of an interface that mechanisms leave alone by `left`.
    pub(super) fn controller(&mut self, shape: &FlowShape, nic: u32, left: u8, slot: u32, hash: u64) -> u32 {
        let owners = self.world.rules.confinement.at(left).owners;
        let key = self.actors.rate_key(shape, owners);
        let kept = self.tables.controllers.kept.get(&(nic, key, left));
        if let (false, Some(found)) = (key == RateKey::Flow, kept) {
            return *found;
        }
        let Some(side) = self.actors.flow(shape, owners, &self.shared) else { return NO_CONTROLLER };
        self.tables.controllers.tag = self.tables.controllers.tag.wrapping_add(1);
        let (tag, hash) = (self.tables.controllers.tag, controller_key(nic, key, left, hash));
        let of = if key == RateKey::Flow { slot } else { NO_FLOW };
        let controller = Controller::new(side, *shape, nic, tag, hash, of);
        let at = match self.tables.controllers.free.pop() {
            Some(at) => {
                self.tables.controllers.list[at as usize] = Some(controller);
                at
            }
            None => {
                self.tables.controllers.list.push(Some(controller));
                self.tables.controllers.list.len() as u32 - 1
            }
        };
        if key != RateKey::Flow {
            self.tables.controllers.kept.insert((nic, key, left), at);
        }
        at
    }

    /// Schedules the next packet of a Bernoulli source: in the next slot within a burst, or else a geometric number of slots ahead.
    fn next_slot(&mut self, slot: u32, first: bool) {
        let now = self.world.now;
        let flow = &mut self.tables.flows.send[slot as usize];
        let tag = flow.tag;
        let Some(stream) = flow.stream.as_mut() else { return };
        let Ok(distribution) = Geometric::new(stream.spec.begins()) else { return };
        let within = !first && stream.spec.burst > 1.0 && !stream.rng.random_bool(1.0 / stream.spec.burst);
        let skipped = if within { 0 } else { distribution.sample(&mut stream.rng) };
        let slots = skipped.saturating_add(u64::from(!first));
        let phase = if first && stream.spec.own_phase {
            // A separate stream, so that arrivals are the same packets of the same slots with and without it.
            rng::stream(self.world.rules.seed, "bernoulli phase", flow.id).random_range(0..stream.spec.slot.0.max(1))
        } else {
            0
        };
        let at = now.after(Time(stream.spec.slot.0.saturating_mul(slots).saturating_add(phase)));
        if at < stream.spec.until {
            self.world.push(at, Event::Stream { slot, tag, ends: false });
        }
    }

    pub(super) fn stream(&mut self, slot: u32, tag: u32, ends: bool) {
        let Some(at) = self.tables.flows.find(FlowRef { slot, tag }) else { return };
        let flow = &mut self.tables.flows.send[at];
        if ends {
            if let Some(stream) = &mut flow.stream {
                stream.ended = true;
            }
            self.tables.flows.recv[at].ended = true;
            let nic = flow.nic;
            return self.host_at(nic).maybe_complete(at);
        }
        let (payload, waiting) = (u64::from(self.world.rules.payload), flow.available - flow.sent);
        let full = |stream: &StreamState| stream.spec.queue.is_some_and(|most| waiting >= payload * u64::from(most));
        if let Some(stream) = flow.stream.as_mut().filter(|stream| full(stream)) {
            stream.blocked += payload;
            return self.next_slot(slot, false);
        }
        flow.available += payload;
        self.tables.flows.recv[at].total = flow.available;
        let nic = flow.nic;
        self.next_slot(slot, false);
        if self.tables.flows.send[at].status == Status::Idle {
            self.host_at(nic).send_on(slot);
        }
    }
}

/// A hash of what a controller controls: a flow, or all flows of an interface with one key and the same mechanisms that leave them alone.
fn controller_key(nic: u32, key: RateKey, left: u8, flow: u64) -> u32 {
    let left = u64::from(left) << 16;
    let of = match key {
        RateKey::Flow => flow,
        RateKey::Dest(host) => mix(u64::from(nic) << 32 | u64::from(host.0)) ^ left,
        RateKey::Class(class) => mix(mix(u64::from(nic)) ^ u64::from(class.0)) ^ left,
    };
    (of >> 16) as u32
}
