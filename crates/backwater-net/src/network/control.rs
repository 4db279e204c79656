//! Acting on notes: control frames, gates, holds and timers.

use super::at::{At, Node};
use super::nic::{Interface, PORT};
use super::{Event, Switch, controller_order, cx};
use crate::flow::NO_CONTROLLER;
use crate::hold::bit;
use crate::hooks::{Fate, FlowSide, Gate, HoldStyle, NicSide, Note, Owner, RateKey, SwitchSide, Token};
use crate::packet::{CLASSES, Class, Control, DsField, Dscp, FlowRef, HostId, Kind, Port as PortNo};
use crate::routing::NO_PATH;
use crate::slab::Ix;
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;

/// Why a promise between stage and mechanisms may be broken.
const MECHANISM: &str = "this is an error in a mechanism";

impl<S: SwitchSide> At<'_, &mut Switch<S>> {
    /// Acts on what a switch's mechanisms have noted.
    #[inline(always)]
    pub(super) fn act_switch(&mut self) {
        if !self.world.notes.is_empty() {
            self.act_on_switch_notes();
        }
    }

    #[cold]
    fn act_on_switch_notes(&mut self) {
        for note in std::mem::take(&mut self.world.notes) {
            match note {
                Note::Send(port, frame) => {
                    self.log(Some(port.0), Some(Class(7)), None, &frame);
                    self.port(port.0).push_mac(frame);
                    self.kick(port.0);
                }
                Note::Emit(port, class, frame) => {
                    self.log(Some(port.0), Some(class), None, &frame);
                    let pkt = self.routed(HostId(u32::MAX), class, &frame, NO_PATH, 0);
                    let ix = self.world.slab.insert(pkt);
                    self.originate(port, ix);
                }
                Note::Route(to, class, frame) => {
                    self.log(None, Some(class), Some(to), &frame);
                    self.route_from_switch(to, class, &frame);
                }
                Note::HoldPeer(owner, port, class, until, style) => {
                    let classes = self.carrying(port.0, class);
                    self.hold_peer(port.0, owner, classes, until, style);
                }
                Note::ReleasePeer(owner, port, class) => {
                    let classes = self.carrying(port.0, class);
                    self.release_peer(port.0, owner, classes);
                }
                Note::HoldQueue(owner, port, priority, until, style) => {
                    self.hold_peer(port.0, owner, bit(Some(priority)), until, style);
                }
                Note::ReleaseQueue(owner, port, priority) => {
                    self.release_peer(port.0, owner, bit(Some(priority)));
                }
                Note::Shut(owner, gate) => self.set_gate(owner, gate, true),
                Note::Open(owner, gate) => self.set_gate(owner, gate, false),
                Note::Flush(port, queue) => self.flush(port, queue),
                Note::Report(kind, port, class, value) => {
                    let frame = Control { kind, size: 0, flow: None, about: None, words: [value, 0, 0, 0, 0, 0] };
                    self.log(Some(port.0), Some(class), None, &frame);
                }
                Note::SendIn(..) => self.world.broken("a switch sends no flows".into(), MECHANISM),
                Note::Arm(owner, at, token) => {
                    let switch = self.node.number;
                    self.world.push(at.max(self.world.now), Event::SwitchTimer { switch, owner: owner.0, token });
                }
            }
        }
    }

    /// Sends a control frame on its way to a host; along the way of the acknowledgements of the flow that it names, where that passes here.
    fn route_from_switch(&mut self, to: HostId, class: Class, frame: &Control) {
        let (node, switch) = (self.node.home.shape.node, self.node.number);
        let back = frame.flow.and_then(|flow| self.fabric.paths.back(flow));
        let on_it = back.and_then(|(back, dst)| Some((back, self.fabric.position(back, dst, switch)?)));
        let (path, at) = on_it.unwrap_or((NO_PATH, 0));
        let hash = mix(u64::from(node.0) << 32 | u64::from(to.0));
        self.fabric.find_routes(to);
        let egress = if path == NO_PATH {
            self.fabric.routes.pick(switch, self.fabric.routes.candidates(switch, to), hash)
        } else {
            Some(self.fabric.paths.port(path, at))
        };
        let Some(egress) = egress else { return };
        let pkt = self.routed(to, class, frame, path, at + 1);
        let ix = self.world.slab.insert(pkt);
        self.originate(PortNo(egress), ix);
    }

    /// A frame that the switch itself sends joins an egress queue, the switch's latency counted. No ingress account is charged for
    /// it: a pause stops a neighbour, who has not sent it and cannot bring it to leave.
    fn originate(&mut self, egress: PortNo, pkt: Ix) {
        let slot = &mut self.world.slab[pkt];
        let class = slot.pkt.class;
        let queue = crate::packet::Queue(class.0);
        slot.place = crate::hooks::Place { ingress: egress, egress, class, queue, own: true };
        let s = &mut *self.node;
        s.stack.steer(&mut cx!(self, s), &mut slot.place, &mut slot.pkt);
        if s.latency_at == crate::config::LatencyAt::Input {
            slot.ready = self.world.now + s.latency;
        }
        self.enter_fabric(pkt);
    }

    fn set_gate(&mut self, owner: Owner, gate: Gate, shut: bool) {
        let (port, queue) = match gate {
            Gate::Port(port) => (port.0, CLASSES),
            Gate::Egress(port, queue) => (port.0, usize::from(queue.0)),
            Gate::Lane(lane) => return self.set_lane(lane, shut),
            Gate::Class(_) | Gate::Dest(_) | Gate::Flow(_) => {
                return self.world.broken(format!("{gate:?} is a gate of a NIC, not of a switch"), MECHANISM);
            }
        };
        if self.probes.waits.is_some() {
            self.pass_waits(port);
        }
        let p = self.port(port);
        if shut {
            return p.shut(queue, owner);
        }
        p.open(queue, owner);
        if self.node.crossbar.is_some() {
            self.match_at(self.world.now);
        }
        self.kick(port);
    }

    /// On which priorities a class, or (`None`) the link, is carried to a port from its neighbour: bits as in [`bit`].
    fn carrying(&self, port: u16, class: Option<Class>) -> u16 {
        let queues = &self.ports[usize::from(port)].rest.peer_queues;
        class.map_or(bit(None), |class| u16::from(queues.carrying(1 << class.0)))
    }
}

impl<N: NicSide, F: FlowSide> At<'_, Interface<'_, N, F>> {
    /// Acts on what a host's mechanisms have noted.
    #[inline(always)]
    pub(super) fn act_nic(&mut self) {
        if !self.world.notes.is_empty() {
            self.act_on_nic_notes();
        }
    }

    #[cold]
    fn act_on_nic_notes(&mut self) {
        for note in std::mem::take(&mut self.world.notes) {
            match note {
                Note::Send(_, frame) => {
                    self.log(Some(PORT), Some(Class(7)), None, &frame);
                    self.ports[usize::from(PORT)].push_mac(frame);
                    self.kick(PORT);
                }
                Note::Emit(_, class, frame) => {
                    self.log(Some(PORT), Some(class), None, &frame);
                    let pkt = self.routed(HostId(u32::MAX), class, &frame, NO_PATH, 0);
                    self.express(pkt);
                }
                Note::Route(to, class, frame) => {
                    self.log(None, Some(class), Some(to), &frame);
                    let found = frame.flow.and_then(|f| self.node.flows.find_received(f));
                    let path = found.map_or(NO_PATH, |at| self.node.flows.recv[at].back);
                    let pkt = self.routed(to, class, &frame, path, 0);
                    self.express(pkt);
                }
                Note::HoldPeer(owner, _, class, until, style) => {
                    self.hold_peer(PORT, owner, bit(class), until, style);
                }
                Note::ReleasePeer(owner, _, class) => self.release_peer(PORT, owner, bit(class)),
                Note::HoldQueue(..) | Note::ReleaseQueue(..) => {
                    self.world.broken("a NIC's neighbour has no queues of its own".into(), MECHANISM);
                }
                Note::Shut(owner, gate) => self.set_gate(owner, gate, true),
                Note::Open(owner, gate) => self.set_gate(owner, gate, false),
                Note::Flush(..) | Note::Report(..) => {} // a switch's
                Note::SendIn(flow, class) => self.send_in(flow, class),
                Note::Arm(owner, at, token) => {
                    let host = self.node.number;
                    self.world.push(at.max(self.world.now), Event::NicTimer { host, owner: owner.0, token });
                }
            }
        }
    }

    /// Arms the timers that a flow's hook has noted after the first `before` notes.
    #[cold]
    pub(super) fn arm_flow_timers(&mut self, controller: u32, before: usize) {
        let (tag, key) = self.node.controllers.list[controller as usize].as_ref().map_or((0, 0), |c| (c.tag, c.key));
        for note in self.world.notes.split_off(before) {
            if let Note::Arm(owner, at, token) = note {
                let at = at.max(self.world.now);
                let event = Event::FlowTimer { controller, tag, owner: owner.0, token: token as u16 };
                self.world.totals.idling += 1;
                self.world.queue.push(at, controller_order(event, key), event);
            }
        }
    }

    /// A flow's packets are of another class from now on. One that has its turn in the ring of the old class moves then.
    fn send_in(&mut self, flow: FlowRef, class: Option<Class>) {
        if let Some(at) = self.node.flows.find(flow) {
            let flow = &mut self.node.flows.send[at];
            flow.class = class.unwrap_or(flow.own_class);
            let queue = self.node.host.shape.queues.pick(flow.class, self.ports[usize::from(PORT)].open);
            flow.ds = DsField::new(Dscp::of(queue), flow.ds.ecn());
        }
    }

    fn set_gate(&mut self, owner: Owner, gate: Gate, shut: bool) {
        if self.probes.waits.is_some() {
            self.pass_waits(PORT);
        }
        let queue = match gate {
            Gate::Port(_) => Some(CLASSES),
            Gate::Class(class) => Some(usize::from(class.0)),
            Gate::Egress(_, queue) => Some(usize::from(queue.0)),
            Gate::Lane(lane) => {
                let reason = format!("{lane:?} is a gate of a switch, not of a NIC");
                return self.world.broken(reason, MECHANISM);
            }
            Gate::Dest(dest) => {
                self.node.host.set_dest(dest, owner, shut);
                None
            }
            Gate::Flow(flow) => {
                if let Some(at) = self.node.flows.find(flow) {
                    let owners = &mut self.node.flows.send[at].shut;
                    *owners = if shut { *owners | 1 << owner.0 } else { *owners & !(1 << owner.0) };
                }
                None
            }
        };
        match (queue, shut) {
            (Some(queue), true) => self.ports[usize::from(PORT)].shut(queue, owner),
            (Some(queue), false) => {
                self.ports[usize::from(PORT)].open(queue, owner);
                if self.node.host.shape.queues.several() {
                    self.unpark();
                }
            }
            (None, true) => {}
            (None, false) => self.unpark(),
        }
        if !shut {
            self.kick(PORT);
        }
    }

    /// A routed control frame has arrived at its host: for the NIC, else for the controller of the flow that it names. That may
    /// outlive the flow: `tag` then still says which it is.
    pub(super) fn take_control(&mut self, frame: &Control, tag: u64) {
        let fate = self.at_nic(|stack, cx| stack.on_control(cx, frame));
        self.act_nic();
        if fate == Fate::Consumed {
            return;
        }
        let controller = match frame.flow.and_then(|f| self.node.flows.find(f)) {
            Some(at) => self.node.flows.send[at].controller,
            None => self.kept_controller(tag),
        };
        if controller != NO_CONTROLLER {
            self.at_controller(controller, |side, cx| side.on_control(cx, frame));
            self.repace(controller);
        }
    }

    /// The controller that a host keeps for flows like the one that a frame spoke of.
    fn kept_controller(&self, tag: u64) -> u32 {
        let host = HostId(self.node.number);
        let Some((dst, class)) = read_spoken_of(tag) else { return NO_CONTROLLER };
        let kept = [RateKey::Dest(dst), RateKey::Class(class)].map(|key| self.node.controllers.kept.get(&(host, key)));
        kept.into_iter().flatten().next().copied().unwrap_or(NO_CONTROLLER)
    }

    pub(super) fn timer(&mut self, owner: Owner, token: Token) {
        self.at_nic(|stack, cx| stack.on_timer(&mut cx.owned_by(owner), token));
        self.act_nic();
    }

    pub(super) fn flow_timer(&mut self, controller: u32, owner: Owner, token: u16) {
        self.at_controller(controller, |side, cx| side.on_timer(&mut cx.owned_by(owner), token));
        self.repace(controller);
    }

    /// A frame arrives at a host with a slow receive buffer.
    pub(super) fn buffer(&mut self, pkt: Ix) {
        let size = u64::from(self.world.slab[pkt].pkt.size);
        if self.world.slab[pkt].pkt.kind == Kind::Mac {
            return self.take(pkt);
        }
        let now = self.world.now;
        let (host, h) = (self.node.number, &mut *self.node.host);
        let Some(rx) = h.rx.as_mut() else { return };
        rx.fifo.push(&mut self.world.slab, pkt);
        rx.bytes += size;
        let class = rx.class;
        let hold = rx.bytes > rx.xoff && !rx.holding;
        rx.holding |= hold;
        let start = !std::mem::replace(&mut rx.draining, true);
        if start {
            let at = now + rx.rate.time_for(crate::units::Bytes(size));
            self.world.push(at, Event::Drain { host });
        }
        if hold {
            let style = HoldStyle { quanta: Some(u16::MAX), framed: true };
            self.hold_peer(PORT, Owner::STAGE, bit(Some(class)), Time::NEVER, style);
        }
    }

    pub(super) fn drain(&mut self) {
        let host = self.node.number;
        let Some(rx) = self.node.host.rx.as_mut() else { return };
        let Some(pkt) = rx.pop(&self.world.slab) else { return };
        let resume = rx.holding && (rx.bytes < rx.xon || rx.bytes == 0);
        if resume {
            rx.holding = false;
        }
        let class = rx.class;
        match rx.fifo.head() {
            Some(next) => {
                let size = crate::units::Bytes(u64::from(self.world.slab[next].pkt.size));
                let at = self.world.now + rx.rate.time_for(size);
                self.world.push(at, Event::Drain { host });
            }
            None => rx.draining = false,
        }
        if resume {
            self.release_peer(PORT, Owner::STAGE, bit(Some(class)));
        }
        if self.probes.waits.is_some() {
            self.receive_waits(pkt);
        }
        self.take(pkt);
    }
}

/// The tag of a control packet: destination and class of the flow that it speaks of.
pub(super) fn spoken_of(dst: HostId, class: Class) -> u64 {
    1 << 63 | u64::from(class.0) << 32 | u64::from(dst.0)
}

fn read_spoken_of(tag: u64) -> Option<(HostId, Class)> {
    (tag >> 63 == 1).then_some((HostId(tag as u32), Class((tag >> 32) as u8)))
}
