//! For tests of mechanisms: contexts without a network. Set counters, call a hook, read the actions.
//!
//! Counters are set as a whole: `set_ingress` charges one (port, class) with that many bytes in one piece, as one frame would, so it
//! applies the switch's memory limits and pools.

#[cfg(test)]
mod alone;
pub mod network;

use crate::config::SwitchParams;
use crate::model::hooks::{
    FlowAction, FlowCx, FlowShape, FlowTimer, Home, IsolationQueue, MechanismId, NicAction, NicCx, NicShape, Place,
    PortShape, SwitchAction, SwitchCx, SwitchShape, Unsent,
};
use crate::model::packet::{
    AckHeader, Body, Class, Control, ControlHeader, DataHeader, DsField, Dscp, Ecn, FlowRef, HostId, NodeId, Packet,
    Port, Queue,
};
use crate::model::port::queues::HostQueues;
use crate::model::switch::occupancy::{Occupancy, Pool};
use crate::units::{Bytes, Rate};
use backwater_engine::Time;
use std::collections::BTreeMap;

/// The mechanism under test has this number.
pub const OWNER: MechanismId = MechanismId(0);

/// A switch that consists of counters and a list of actions only. Port i leads to host i.
pub struct SwitchBench {
    /// The time that hooks see.
    pub now: Time,
    home: Home,
    occupancy: Occupancy,
    charged: BTreeMap<(Port, Class), (u64, Pool)>,
    actions: Vec<SwitchAction>,
}

impl SwitchBench {
    /// A switch with `ports` links of `rate`, 150 ns long, to hosts; `lossless` has a bit for each class with headroom.
    pub fn new(params: &SwitchParams, ports: u16, rate: Rate, lossless: u8) -> SwitchBench {
        SwitchBench::of_rates(params, &vec![rate; usize::from(ports)], lossless)
    }

    /// A switch with a link of each of these rates.
    pub fn of_rates(params: &SwitchParams, rates: &[Rate], lossless: u8) -> SwitchBench {
        let ports = rates.len() as u16;
        let port = |p: u16| PortShape {
            rate: rates[usize::from(p)],
            delay: Time::ns(150),
            peer: NodeId(u32::from(p)),
            host: Some(HostId(u32::from(p))),
        };
        let shape = SwitchShape {
            node: NodeId(u32::from(ports)),
            name: "s0".into(),
            tier: "switch".into(),
            ports: (0..ports).map(port).collect(),
            max_frame: Bytes(4064),
            latency: params.latency,
            port_buffer: params.port_buffer(rates.iter().copied()),
        };
        SwitchBench {
            now: Time::ZERO,
            home: Home::new(shape, 1, 1),
            occupancy: Occupancy::new(params, rates, lossless),
            charged: BTreeMap::new(),
            actions: Vec::new(),
        }
    }

    /// Returns the switch's shape as a mechanism sees it at start.
    pub fn shape(&self) -> &SwitchShape {
        &self.home.shape
    }

    /// Puts a switch, not a host, at the other end of `port`.
    pub fn lead_to_switch(&mut self, port: Port) {
        self.home.shape.ports[usize::from(port.0)].host = None;
    }

    /// Sets the bytes of `class` in the switch that arrived at `port`.
    pub fn set_ingress(&mut self, port: Port, class: Class, bytes: u64) {
        let at = place(port, port, class);
        if let Some((old, pool)) = self.charged.remove(&(port, class)) {
            self.occupancy.release(&at, old, pool);
        }
        let (pool, _) = self.occupancy.admit(&at, bytes).expect("the test's switch has the memory");
        self.occupancy.admitted(port);
        self.charged.insert((port, class), (bytes, pool));
    }

    /// Sets the bytes that wait in `queue` of `port`.
    pub fn set_egress(&mut self, port: Port, queue: Queue, bytes: u64) {
        let at = place(port, port, Class(queue.0));
        let old = self.occupancy.egress(port, queue).0;
        self.occupancy.leave_egress(&at, old);
        self.occupancy.join_egress(&at, bytes);
        self.occupancy.joined(port);
    }

    /// The switch's counters.
    pub fn seen(&self) -> &Occupancy {
        &self.occupancy
    }

    /// Adds `bytes` of `class` that arrived at `port` to an isolation queue of the mechanism.
    pub fn divert(&mut self, port: Port, class: Class, number: u32, bytes: u64) {
        self.occupancy.isolated.add(
            &place(port, port, class),
            IsolationQueue { owner: OWNER, number },
            bytes,
            self.now,
        );
    }

    /// Removes `bytes` from the isolation queue.
    pub fn discard_before(&mut self, port: Port, class: Class, number: u32, bytes: u64) {
        self.occupancy.isolated.take(
            &place(port, port, class),
            IsolationQueue { owner: OWNER, number },
            bytes,
            self.now,
        );
    }

    /// The context of a hook.
    pub fn cx(&mut self) -> SwitchCx<'_> {
        SwitchCx {
            now: self.now,
            owner: OWNER,
            seen: &self.occupancy,
            home: &mut self.home,
            actions: &mut self.actions,
        }
    }

    /// The actions that hooks have requested since the last call.
    pub fn actions(&mut self) -> Vec<SwitchAction> {
        std::mem::take(&mut self.actions)
    }
}

/// A NIC that consists of a list of actions only.
pub struct NicBench {
    /// The time that hooks see.
    pub now: Time,
    shape: NicShape,
    actions: Vec<NicAction>,
}

impl NicBench {
    /// A NIC of `host` with a link of `rate`.
    pub fn new(host: HostId, rate: Rate) -> NicBench {
        NicBench { now: Time::ZERO, shape: NicShape { host, rate, queues: HostQueues::default() }, actions: Vec::new() }
    }

    /// With these queues.
    pub fn with_queues(mut self, queues: HostQueues) -> NicBench {
        self.shape.queues = queues;
        self
    }

    /// Returns the NIC's shape as a mechanism sees it at start.
    pub fn shape(&self) -> &NicShape {
        &self.shape
    }

    /// The context of a hook.
    pub fn cx(&mut self) -> NicCx<'_> {
        NicCx { now: self.now, owner: OWNER, shape: &self.shape, left: 0, over: false, actions: &mut self.actions }
    }

    /// The actions that hooks have requested since the last call.
    pub fn actions(&mut self) -> Vec<NicAction> {
        std::mem::take(&mut self.actions)
    }
}

/// A flow that consists of a list of actions only.
pub struct FlowBench {
    /// The time that hooks see.
    pub now: Time,
    shape: FlowShape,
    /// \[bytes\] left to be sent, as hooks see it.
    pub backlog: Bytes,
    actions: Vec<FlowAction>,
}

impl FlowBench {
    /// A flow from host 0 to host 1 in class 3, over a link of `line` and three switches, in packets of 1000 bytes.
    pub fn new(line: Rate) -> FlowBench {
        let (payload, frame) = (Bytes(1000), Bytes(1064));
        let shape = FlowShape { src: HostId(0), dst: HostId(1), class: Class(3), line, payload, frame, hops: 3 };
        FlowBench { now: Time::ZERO, shape, backlog: Bytes::ZERO, actions: Vec::new() }
    }

    /// Returns the flow's shape as a mechanism sees it at start.
    pub fn shape(&self) -> &FlowShape {
        &self.shape
    }

    /// The context of a hook.
    pub fn cx(&mut self) -> FlowCx<'_> {
        let flow = Some(FlowRef { slot: 0, tag: 0 });
        FlowCx {
            now: self.now,
            owner: OWNER,
            shape: &self.shape,
            flow,
            of: Some(&self.backlog),
            actions: &mut self.actions,
        }
    }

    /// The timers that hooks have armed since the last call.
    pub fn timers(&mut self) -> Vec<(Time, u16)> {
        let timer = |action| match action {
            FlowAction::Arm(FlowTimer { at, token, .. }) => Some((at, token)),
            FlowAction::Send(..) | FlowAction::Unanswered(..) | FlowAction::GiveUp(..) => None,
        };
        self.actions.drain(..).filter_map(timer).collect()
    }
}

impl Unsent for Bytes {
    fn backlog(&self, _: Bytes) -> Bytes {
        *self
    }
    fn is_in_flight(&self, _: u64) -> bool {
        false
    }
}

/// A place whose queue has the number of the class.
pub fn place(ingress: Port, egress: Port, class: Class) -> Place {
    Place { ingress, egress, class, queue: Queue(class.0), own: false }
}

/// An ECN-capable data packet of `payload` and 64 bytes of header, of the flow `flow`.
pub fn data(src: HostId, dst: HostId, flow: u32, class: Class, payload: u32) -> Packet {
    let flow = FlowRef { slot: flow, tag: flow };
    let frame = Control { flow: Some(flow), ..Control::carrying("", payload + 64, 0, &()) };
    let header = ControlHeader { from: NodeId(0), to: Some(dst), content: 0, ev: 0 };
    Packet {
        body: Body::Data(DataHeader { src, payload, offset: 0, ev: 0, flags: 0 }),
        ds: DsField::new(Dscp::of(class), Ecn::Ect),
        ..Packet::control(&frame, header, class, u64::from(flow.tag))
    }
}

/// The same data packet at another offset of its flow.
pub fn at_offset(packet: Packet, offset: u64) -> Packet {
    let body = packet.data().map_or(packet.body, |data| Body::Data(DataHeader { offset, ..*data }));
    Packet { body, ..packet }
}

/// The acknowledgement of a data packet, with the packet's length.
pub fn ack(packet: Packet) -> Packet {
    let src = packet.data().map_or(HostId(0), |data| data.src);
    Packet { body: Body::Ack(AckHeader { src: packet.dst, received: 0, gap: None }), dst: src, ..packet }
}

/// A control frame to the host of a data packet, with the packet's length.
pub fn control(packet: Packet) -> Packet {
    Packet { body: Body::Control(ControlHeader { from: NodeId(0), to: Some(packet.dst), content: 0, ev: 0 }), ..packet }
}
