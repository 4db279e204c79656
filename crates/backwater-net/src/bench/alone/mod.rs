//! A switch, a host or a link alone: built from the parts of a network, and stepped by its own events. At the other end of each of its
//! links is an [`End`], which sends a test's frames and keeps arriving ones.
//!
//! Mechanisms decide whether to obey a pause: an end obeys the pause of a class as in 802.1Qbb.
//!
//! A byte takes 80 ps on a link (100 Gb/s), a link is 150 ns long, and a gap of 20 B follows each frame: a frame of `s` bytes that
//! begins at `t` has arrived at `t + 80 (s + 20) ps + 150 ns`.

mod host;
mod link;
mod rud;
mod switch;

use crate::config::{AckParams, NicParams, PacketParams, TransportParams};
use crate::model::event::Event;
use crate::model::hooks::attachment::{Attachment, Carried};
use crate::model::hooks::{Fate, LinkCx, LinkSide, MechanismId, NicCx, NicShape};
use crate::model::node::{Node, NodeCx};
use crate::model::packet::{
    Body, Class, Control, ControlHeader, DataHeader, HostId, NodeId, Packet, Port as PortNo, Queue,
};
use crate::model::port::pause::PauseRequest;
use crate::model::port::queues::HostQueues;
use crate::model::port::{Next, Port};
use crate::model::slab::Ix;
use crate::model::world::{Fabric, Rules, World};
use crate::topology::Graph;
use crate::units::{Bytes, Rate};
use backwater_engine::Time;
use std::collections::BTreeMap;

const RATE: Rate = Rate(100_000_000_000);
const DELAY: Time = Time::ns(150);
const GAP: u64 = 20;
const PAYLOAD: u64 = 1000;
const HEADER: u64 = 60;

/// The owner of pauses and gates.
const OWNER: MechanismId = MechanismId(0);

/// Time on a link of [`RATE`], its gap included.
fn wire(size: u64) -> Time {
    Time(80 * (size + GAP))
}

/// The arrival of a frame or of MAC control at an end of a link.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Time,
    /// The number of the link.
    link: usize,
    kind: Kind,
    /// \[bytes\] The offset of data, or the cumulative offset of an answer.
    bytes: u64,
}

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Data,
    Ack,
    Nack,
    Control,
}

/// Returns the kind of a packet, and its bytes ([`Arrival::bytes`]).
fn read(packet: &Packet) -> (Kind, u64) {
    match packet.body {
        Body::Data(data) => (Kind::Data, data.offset),
        Body::Ack(ack) => (if ack.is_nack() { Kind::Nack } else { Kind::Ack }, ack.received),
        Body::Control(_) | Body::Mac(_) => (Kind::Control, 0),
    }
}

/// The other end of a link: only a queue for each class.
struct End {
    node: NodeId,
    port: u32,
    shape: NicShape,
    side: Obeys,
}

/// Takes every frame of MAC control.
struct Obeys;

#[backwater_derive::hooks]
impl LinkSide for Obeys {
    fn on_mac_control(&mut self, _: &mut LinkCx<'_>, _: PortNo, _: &Control) -> Fate {
        Fate::Consumed
    }
}

impl Node for NodeCx<'_, End> {
    type Side = Obeys;
    fn side(&self) -> &Obeys {
        &self.node.side
    }
    fn links(&mut self) -> (&mut Obeys, LinkCx<'_>, &mut Carried<Attachment>) {
        let (shape, actions) = (&self.node.shape, &mut self.world.actions.nic);
        let cx = NicCx { now: self.world.now, owner: OWNER, shape, left: 0, over: false, actions };
        (&mut self.node.side, LinkCx::Nic(cx), &mut self.world.attachments)
    }
    fn act(&mut self) {}
    fn id(&self) -> NodeId {
        self.node.node
    }
    fn first(&self) -> u32 {
        self.node.port
    }
    fn serve(&mut self, port: u16) {
        let now = self.world.now;
        let p = &mut self.ports[usize::from(port)];
        if !p.has_work() {
            return;
        }
        match p.next(&self.world.slab, now) {
            Next::Packet(pkt) => self.transmit(port, pkt),
            Next::Wait(until) => self.wake(port, until),
            Next::Nothing => {}
        }
    }
    fn waits(&self, port: u16) -> bool {
        self.ports[usize::from(port)].has_work()
    }
    fn depart(&mut self, _: u16, _: Ix) {}
    fn queue_of(&self, pkt: Ix) -> Queue {
        Queue(self.world.slab[pkt].pkt.class.0)
    }
    fn account_waits(&mut self, _: u16) {}
    fn observe_joins(&mut self) {}
    fn record_pause_request(&mut self, _: u16, _: MechanismId, _: u16) {}
}

/// A node that is alone; it has the first of the ports.
trait Alone {
    /// A frame arrives.
    fn arrive(&mut self, ports: &mut [Port], world: &mut World, port: u16, pkt: Ix);
    /// The last bit of a frame has left.
    fn sent(&mut self, ports: &mut [Port], world: &mut World, port: u16);
    /// Any other event.
    fn happen(&mut self, ports: &mut [Port], world: &mut World, event: Event);
}

/// The node, its links with their ends, and arrivals at these.
struct Lone<N> {
    node: N,
    /// Its own, then one of each end.
    ports: Vec<Port>,
    own: usize,
    world: World,
    /// Frames that ends will send.
    coming: Vec<(u32, Ix)>,
    /// Until when an end is paused, by port and class.
    paused: BTreeMap<(u32, u8), Time>,
    arrived: Vec<Arrival>,
}

/// The rules of a world with frames of [`PAYLOAD`], [`HEADER`] and [`GAP`].
fn rules(packet: PacketParams, ack: AckParams, transport: TransportParams, nic: NicParams) -> Rules {
    let packet = PacketParams { payload: Bytes(PAYLOAD), header: Bytes(HEADER), gap: Bytes(GAP), ..packet };
    Rules::new(1, &packet, ack, transport, nic).expect("short packets")
}

impl<N: Alone> Lone<N> {
    /// Built from the first node of a graph, which has `own` ports.
    fn new(graph: Graph, own: usize, rules: Rules, node: impl FnOnce(&Fabric, &mut [Port]) -> N) -> Lone<N> {
        let fabric = Fabric::new(graph, rules.seed).expect("a valid graph");
        let mut ports: Vec<Port> =
            fabric.ports(rules.seed, rules.clock, |_| true).into_iter().map(|(_, port)| port).collect();
        let node = node(&fabric, &mut ports);
        let world = World::new(rules, fabric);
        Lone { node, own, ports, world, coming: Vec::new(), paused: BTreeMap::new(), arrived: Vec::new() }
    }

    /// From `at` on a frame waits at the end of a link to be sent.
    fn send(&mut self, at: Time, link: usize, frame: Packet) {
        let source = self.coming.len() as u32;
        self.coming.push(((self.own + link) as u32, self.world.slab.insert(frame)));
        let event = Event::Source { source };
        self.world.queue.push(at, event.order(), event);
    }

    fn end(&mut self, port: u32) -> NodeCx<'_, End> {
        let node = NodeId(self.world.fabric.host_node[port as usize - self.own]);
        let ports = std::slice::from_mut(&mut self.ports[port as usize]);
        let shape = NicShape { host: HostId(0), rate: RATE, queues: HostQueues::default() };
        NodeCx { node: End { node, port, shape, side: Obeys }, ports, world: &mut self.world }
    }

    /// Handles all events up to `end`, inclusive.
    fn run_until(&mut self, end: Time) {
        while self.world.queue.peek().is_some_and(|next| next <= end) {
            self.step();
        }
    }

    fn run(&mut self) {
        while self.step() {}
    }

    /// Handles one event, if there is one.
    fn step(&mut self) -> bool {
        let Some((now, order, event)) = self.world.queue.pop() else { return false };
        (self.world.now, self.world.order) = (now, order);
        let own = self.own as u32;
        match event {
            Event::Sent { port } if port < own => {
                self.node.sent(&mut self.ports[..self.own], &mut self.world, port as u16)
            }
            Event::Sent { port } => self.end(port).sent(0),
            Event::Arrive { port, pkt, .. } if self.world.slab[pkt].pkt.is_mac() || port >= own => self.come(port, pkt),
            Event::Arrive { port, pkt, .. } => {
                self.node.arrive(&mut self.ports[..self.own], &mut self.world, port as u16, pkt);
            }
            Event::Wake { port } if port >= own => self.end(port).recheck(0),
            Event::Refresh { port, class, others, .. } if port >= own => {
                self.end(port).refresh(0, 1 << class | u16::from(others));
            }
            Event::NicTimer { host: port, owner: class, .. } if port >= own => self.resume(port, class),
            Event::Source { source } => {
                let (port, pkt) = self.coming[source as usize];
                let class = usize::from(self.world.slab[pkt].pkt.class.0);
                let mut end = self.end(port);
                end.ports[0].enqueue(&mut end.world.slab, class, pkt);
                end.kick(0);
            }
            other => self.node.happen(&mut self.ports[..self.own], &mut self.world, other),
        }
        true
    }

    /// A frame arrives at an end, or MAC control at any port.
    fn come(&mut self, port: u32, pkt: Ix) {
        let packet = self.world.slab[pkt].pkt;
        let (kind, bytes) = read(&packet);
        let frame = packet.control_header().map(|header| self.world.slab.take_control(header.content));
        self.world.slab.remove(pkt);
        if port as usize >= self.own {
            let link = port as usize - self.own;
            self.arrived.push(Arrival { at: self.world.now, link, kind, bytes });
            if let Some(frame) = frame {
                self.end(port).mac_control(0, &frame);
                PauseRequest::each(&frame).for_each(|request| self.obey(port, request));
            }
        }
    }

    fn obey(&mut self, port: u32, request: PauseRequest) {
        let Class(class) = request.class.expect("tests pause classes");
        let p = &mut self.ports[port as usize];
        let until = request.until(self.world.now, p.serialiser.rate());
        self.paused.insert((port, class), until);
        if request.quanta == 0 {
            return self.resume(port, class);
        }
        p.shut(class.into(), OWNER);
        let event = Event::NicTimer { host: port, owner: class, token: 0 };
        self.world.queue.push(until, event.order(), event);
    }

    fn resume(&mut self, port: u32, class: u8) {
        if self.paused[&(port, class)] <= self.world.now {
            self.ports[port as usize].open(class.into(), OWNER);
            self.end(port).kick(0);
        }
    }

    /// Returns the arrival times at the end of a link.
    fn times(&self, link: usize) -> Vec<Time> {
        self.arrived.iter().filter(|arrival| arrival.link == link).map(|arrival| arrival.at).collect()
    }
}

/// A data frame of `size` bytes, identified by its number.
fn frame(dst: u32, class: u8, size: u64, number: u64) -> Packet {
    let control = Control::carrying("test", size as u32, 0, &());
    let header = ControlHeader { from: NodeId(0), to: Some(HostId(dst)), content: 0, ev: 0 };
    let data = DataHeader { src: HostId(1), payload: (size - HEADER) as u32, offset: number, ev: 0, flags: 0 };
    Packet { body: Body::Data(data), ..Packet::control(&control, header, Class(class), number << 6) }
}
