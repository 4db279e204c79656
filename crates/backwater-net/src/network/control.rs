//! Acting on notes: control frames, gates, holds and timers.

use super::{Actors, Event, Network, controller_order, cx};
use crate::flow::NO_CONTROLLER;
use crate::hold::{Act, Hold, bit};
use crate::hooks::{Fate, FlowSide, Gate, HoldStyle, NicSide, Note, Owner, RateKey, SwitchSide, Token};
use crate::packet::{CLASSES, Class, Control, DsField, Dscp, FlowRef, HostId, Kind, NodeId, Packet, Port as PortNo};
use crate::port::{Belongs, Port};
use crate::record::ControlRow;
use crate::routing::NO_PATH;
use crate::slab::Ix;
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;

impl<A: Actors> Network<A> {
    /// Acts on what a switch's mechanisms have noted.
    #[inline(always)]
    pub(super) fn act_switch(&mut self, switch: u32) {
        if !self.world.notes.is_empty() {
            self.act_on_switch_notes(switch);
        }
    }

    #[cold]
    fn act_on_switch_notes(&mut self, switch: u32) {
        let (first, node) = (self.switches[switch as usize].first_port, self.switches[switch as usize].home.shape.node);
        for note in std::mem::take(&mut self.world.notes) {
            let global = |port: PortNo| first + u32::from(port.0);
            match note {
                Note::Send(port, frame) => {
                    self.log(node, Some(port), Some(Class(7)), None, &frame);
                    self.ports[global(port) as usize].push_mac(frame);
                    self.kick(global(port));
                }
                Note::Emit(port, class, frame) => {
                    self.log(node, Some(port), Some(class), None, &frame);
                    let pkt = self.routed(node, HostId(u32::MAX), class, &frame, NO_PATH, 0);
                    let ix = self.world.slab.insert(pkt);
                    self.originate(switch, port, ix);
                }
                Note::Route(to, class, frame) => {
                    self.log(node, None, Some(class), Some(to), &frame);
                    self.route_from_switch(switch, to, class, &frame);
                }
                Note::HoldPeer(owner, port, class, until, style) => {
                    let classes = self.carrying(global(port), class);
                    self.hold_peer(global(port), owner, classes, until, style);
                }
                Note::ReleasePeer(owner, port, class) => {
                    let classes = self.carrying(global(port), class);
                    self.release_peer(global(port), owner, classes);
                }
                Note::HoldQueue(owner, port, priority, until, style) => {
                    self.hold_peer(global(port), owner, bit(Some(priority)), until, style);
                }
                Note::ReleaseQueue(owner, port, priority) => {
                    self.release_peer(global(port), owner, bit(Some(priority)));
                }
                Note::Shut(owner, gate) => self.set_switch_gate(switch, owner, gate, true),
                Note::Open(owner, gate) => self.set_switch_gate(switch, owner, gate, false),
                Note::Flush(port, queue) => self.flush(switch, port, queue),
                Note::Report(kind, port, class, value) => {
                    let frame = Control { kind, size: 0, flow: None, about: None, words: [value, 0, 0, 0, 0, 0] };
                    self.log(node, Some(port), Some(class), None, &frame);
                }
                Note::SendIn(flow, class) => self.send_in(flow, class),
                Note::Arm(owner, at, token) => {
                    self.world.push(at.max(self.world.now), Event::SwitchTimer { switch, owner: owner.0, token });
                }
            }
        }
    }

    /// Acts on what a host's mechanisms have noted.
    #[inline(always)]
    pub(super) fn act_nic(&mut self, host: u32) {
        if !self.world.notes.is_empty() {
            self.act_on_nic_notes(host);
        }
    }

    #[cold]
    fn act_on_nic_notes(&mut self, host: u32) {
        let (port, node) = (self.hosts[host as usize].port, NodeId(self.fabric.host_node[host as usize]));
        for note in std::mem::take(&mut self.world.notes) {
            match note {
                Note::Send(_, frame) => {
                    self.log(node, Some(PortNo(0)), Some(Class(7)), None, &frame);
                    self.ports[port as usize].push_mac(frame);
                    self.kick(port);
                }
                Note::Emit(_, class, frame) => {
                    self.log(node, Some(PortNo(0)), Some(class), None, &frame);
                    let pkt = self.routed(node, HostId(u32::MAX), class, &frame, NO_PATH, 0);
                    self.express(host, pkt);
                }
                Note::Route(to, class, frame) => {
                    self.log(node, None, Some(class), Some(to), &frame);
                    let found = frame.flow.and_then(|f| self.flows.find(f));
                    let path = found.map_or(NO_PATH, |at| self.flows.send[at].back);
                    let pkt = self.routed(node, to, class, &frame, path, 0);
                    self.express(host, pkt);
                }
                Note::HoldPeer(owner, _, class, until, style) => {
                    self.hold_peer(port, owner, bit(class), until, style);
                }
                Note::ReleasePeer(owner, _, class) => self.release_peer(port, owner, bit(class)),
                Note::HoldQueue(..) | Note::ReleaseQueue(..) => {
                    self.broken("a NIC's neighbour has no queues of its own".into(), "this is an error in a mechanism");
                }
                Note::Shut(owner, gate) => self.set_nic_gate(host, owner, gate, true),
                Note::Open(owner, gate) => self.set_nic_gate(host, owner, gate, false),
                Note::Flush(..) | Note::Report(..) => {} // a switch's
                Note::SendIn(flow, class) => self.send_in(flow, class),
                Note::Arm(owner, at, token) => {
                    self.world.push(at.max(self.world.now), Event::NicTimer { host, owner: owner.0, token });
                }
            }
        }
    }

    /// Arms the timers that a flow's hook has noted after the first `before` notes.
    #[cold]
    pub(super) fn arm_flow_timers(&mut self, controller: u32, before: usize) {
        let (tag, key) = self.controllers[controller as usize].as_ref().map_or((0, 0), |c| (c.tag, c.key));
        for note in self.world.notes.split_off(before) {
            if let Note::Arm(owner, at, token) = note {
                let at = at.max(self.world.now);
                let event = Event::FlowTimer { controller, tag, owner: owner.0, token: token as u16 };
                self.world.totals.idling += 1;
                self.world.queue.push(at, controller_order(event, key), event);
            }
        }
    }

    fn log(&mut self, node: NodeId, port: Option<PortNo>, class: Option<Class>, to: Option<HostId>, frame: &Control) {
        let row = ControlRow { time: self.world.now, kind: frame.kind, node, port, class, to, value: frame.words[0] };
        self.world.rows.control.push(row);
    }

    fn routed(&mut self, node: NodeId, to: HostId, class: Class, frame: &Control, path: u32, hop: u8) -> Packet {
        let uid = self.control_uid(self.fabric.first_port[node.0 as usize]);
        let mut pkt = Packet::control(frame, HostId(u32::MAX), to, class, uid);
        (pkt.path, pkt.hop, pkt.sent) = (path, hop, self.world.now);
        pkt.seq = u64::from(node.0) << 32 | self.world.slab.insert_control(*frame);
        pkt.tag = frame.about.map_or(0, |(dst, class)| spoken_of(dst, class));
        pkt
    }

    /// Sends a control frame on its way to a host; along the way of the acknowledgements of the flow that it names, where that passes here.
    fn route_from_switch(&mut self, switch: u32, to: HostId, class: Class, frame: &Control) {
        let node = self.switches[switch as usize].home.shape.node;
        let back = frame.flow.and_then(|flow| self.fabric.paths.back(flow));
        let on_it = back.and_then(|(back, dst)| Some((back, self.position(back, dst, switch)?)));
        let (path, at) = on_it.unwrap_or((NO_PATH, 0));
        let hash = mix(u64::from(node.0) << 32 | u64::from(to.0));
        self.find_routes(to);
        let egress = if path == NO_PATH {
            self.fabric.routes.pick(switch, self.fabric.routes.candidates(switch, to), hash)
        } else {
            Some(self.fabric.paths.port(path, at))
        };
        let Some(egress) = egress else { return };
        let pkt = self.routed(node, to, class, frame, path, at + 1);
        let ix = self.world.slab.insert(pkt);
        self.originate(switch, PortNo(egress), ix);
    }

    /// Which switch of a pinned path that begins at `host` this one is, from 0.
    fn position(&self, path: u32, host: HostId, switch: u32) -> Option<u8> {
        let mut node = self.fabric.neighbours[self.fabric.host_node[host.0 as usize] as usize].first()?.0;
        for hop in 0..self.fabric.paths.len(path) {
            if self.fabric.switch_of[node as usize] == switch {
                return Some(hop);
            }
            node = self.fabric.neighbours[node as usize][usize::from(self.fabric.paths.port(path, hop))].0;
        }
        None
    }

    /// A frame that the switch itself sends joins an egress queue, the switch's latency counted. No ingress account is charged for
    /// it: a pause stops a neighbour, who has not sent it and cannot bring it to leave.
    fn originate(&mut self, switch: u32, egress: PortNo, pkt: Ix) {
        let slot = &mut self.world.slab[pkt];
        let class = slot.pkt.class;
        let queue = crate::packet::Queue(class.0);
        slot.place = crate::hooks::Place { ingress: egress, egress, class, queue, own: true };
        let s = &mut self.switches[switch as usize];
        s.stack.steer(&mut cx!(self, s), &mut slot.place, &mut slot.pkt);
        if s.latency_at == crate::config::LatencyAt::Input {
            slot.ready = self.world.now + s.latency;
        }
        self.enter_fabric(switch, pkt);
    }

    fn set_switch_gate(&mut self, switch: u32, owner: Owner, gate: Gate, shut: bool) {
        let first = self.switches[switch as usize].first_port;
        let (port, queue) = match gate {
            Gate::Port(port) => (first + u32::from(port.0), CLASSES),
            Gate::Egress(port, queue) => (first + u32::from(port.0), usize::from(queue.0)),
            Gate::Lane(lane) => return self.set_lane(switch, lane, shut),
            Gate::Class(_) | Gate::Dest(_) | Gate::Flow(_) => {
                return self.broken(
                    format!("{gate:?} is a gate of a NIC, not of a switch"),
                    "this is an error in a mechanism",
                );
            }
        };
        if self.waits.is_some() {
            self.pass_waits(port);
        }
        let p = &mut self.ports[port as usize];
        if shut {
            return p.shut(queue, owner);
        }
        p.open(queue, owner);
        if self.switches[switch as usize].crossbar.is_some() {
            self.match_at(switch, self.world.now);
        }
        self.kick(port);
    }

    /// A flow's packets are of another class from now on. One that has its turn in the ring of the old class moves then.
    fn send_in(&mut self, flow: FlowRef, class: Option<Class>) {
        if let Some(at) = self.flows.find(flow) {
            let flow = &mut self.flows.send[at];
            flow.class = class.unwrap_or(flow.own_class);
            let host = &self.hosts[flow.src.0 as usize];
            let queue = host.shape.queues.pick(flow.class, self.ports[host.port as usize].open);
            flow.ds = DsField::new(Dscp::of(queue), flow.ds.ecn());
        }
    }

    fn set_nic_gate(&mut self, host: u32, owner: Owner, gate: Gate, shut: bool) {
        let port = self.hosts[host as usize].port;
        if self.waits.is_some() {
            self.pass_waits(port);
        }
        let queue = match gate {
            Gate::Port(_) => Some(CLASSES),
            Gate::Class(class) => Some(usize::from(class.0)),
            Gate::Egress(_, queue) => Some(usize::from(queue.0)),
            Gate::Lane(lane) => {
                let reason = format!("{lane:?} is a gate of a switch, not of a NIC");
                return self.broken(reason, "this is an error in a mechanism");
            }
            Gate::Dest(dest) => {
                self.hosts[host as usize].set_dest(dest, owner, shut);
                None
            }
            Gate::Flow(flow) => {
                if let Some(at) = self.flows.find(flow) {
                    let owners = &mut self.flows.send[at].shut;
                    *owners = if shut { *owners | 1 << owner.0 } else { *owners & !(1 << owner.0) };
                }
                None
            }
        };
        match (queue, shut) {
            (Some(queue), true) => self.ports[port as usize].shut(queue, owner),
            (Some(queue), false) => {
                self.ports[port as usize].open(queue, owner);
                if self.hosts[host as usize].shape.queues.several() {
                    self.unpark(host);
                }
            }
            (None, true) => {}
            (None, false) => self.unpark(host),
        }
        if !shut {
            self.kick(port);
        }
    }

    /// On which priorities a class, or (`None`) the link, is carried to a port from its neighbour: bits as in [`bit`].
    fn carrying(&self, port: u32, class: Option<Class>) -> u16 {
        let queues = &self.ports[port as usize].rest.peer_queues;
        class.map_or(bit(None), |class| u16::from(queues.carrying(1 << class.0)))
    }

    pub(super) fn hold_peer(&mut self, port: u32, owner: Owner, classes: u16, until: Time, style: HoldStyle) {
        let now = self.world.now;
        let mut asked = 0;
        self.tell(port, classes, |p, class| {
            let rate = p.serialiser.rate();
            let held = p.rest.holds.is_told(class, now);
            let act = p.rest.holds.hold(owner, class, now, until, style, rate);
            if !held && act != Act::Nothing {
                p.rest.stats.pauses_sent += 1;
                asked |= bit(class);
            }
            act
        });
        if self.pauses.is_some() {
            self.note_asked(port, owner, asked);
        }
        if until == Time::NEVER {
            self.suspect_pause();
        }
    }

    pub(super) fn release_peer(&mut self, port: u32, owner: Owner, classes: u16) {
        let now = self.world.now;
        self.tell(port, classes, |p, class| p.rest.holds.release(owner, class, now, p.serialiser.rate()));
    }

    pub(super) fn refresh(&mut self, port: u32, classes: u16) {
        let now = self.world.now;
        self.tell(port, classes, |p, class| p.rest.holds.review(class, now, p.serialiser.rate()));
        self.watch_silence();
    }

    /// Does what is to be done for each of these classes. What is to be said of several in the same words is one frame.
    fn tell(&mut self, port: u32, classes: u16, mut act: impl FnMut(&mut Port, Option<Class>) -> Act) {
        let mut said: Vec<(Hold, Time, u8)> = Vec::new();
        for number in (0..=CLASSES as u8).filter(|n| classes & (1 << n) != 0) {
            let class = (usize::from(number) != CLASSES).then_some(Class(number));
            match act(&mut self.ports[port as usize], class) {
                Act::Nothing => {}
                Act::Look(at) => {
                    let lifts = self.ports[port as usize].rest.holds.lifts(class);
                    self.world.push(at, Event::Refresh { port, class: number, others: 0, lifts });
                }
                Act::Tell(hold, again) => {
                    let same =
                        |(other, at, _): &&mut (Hold, Time, u8)| Hold { class, ..*other } == hold && *at == again;
                    match said.iter_mut().find(same) {
                        Some((.., others)) => *others |= 1 << number,
                        None => said.push((hold, again, 0)),
                    }
                }
            }
        }
        for (hold, again, others) in said {
            self.say(port, hold, others, again);
        }
    }

    /// Sends what is said of a class, and of others as well, and looks again at a time.
    fn say(&mut self, port: u32, hold: Hold, others: u8, again: Time) {
        let p = &self.ports[port as usize];
        let (peer, delay, framed, local) = (p.peer, p.delay, p.rest.holds.framed(), p.local);
        let node = NodeId(self.node_of(p));
        let mut frame = hold.frame_with(others);
        if !self.ports[port as usize].up {
            return;
        }
        self.log(node, Some(PortNo(local)), hold.class, None, &Control { words: [u64::from(hold.quanta); 6], ..frame });
        if framed {
            // MAC control that waits is overtaken by what is newer for the same class.
            let p = &mut self.ports[port as usize];
            p.keep_mac(|f| Hold::strike(f, bit(hold.class) | u16::from(others)));
            p.push_mac(frame);
            self.kick(port);
        } else {
            if self.ports[port as usize].rest.captured {
                self.capture_signal(port, frame, true);
            }
            frame.size = 0;
            let control = self.world.slab.insert_control(frame) as u32;
            let number = self.ports[port as usize].rest.holds.number();
            self.world.push(self.world.now + delay, Event::Signal { port: peer, control, number });
        }
        if again != Time::NEVER {
            let class = hold.class.map_or(CLASSES as u8, |c| c.0);
            self.world.push(again, Event::Refresh { port, class, others, lifts: hold.lasting });
        }
    }

    /// MAC control, or a mechanism's frame in its place, has arrived at a port.
    pub(super) fn mac_control(&mut self, port: u32, frame: &Control) {
        let p = &self.ports[port as usize];
        let (belongs, local, rate) = (p.belongs, p.local, p.serialiser.rate());
        self.ports[port as usize]
            .lane
            .fold(self.world.now.0, mix(frame.words[0] ^ frame.words[1] << 20 ^ frame.words[3] << 40));
        let fate = match belongs {
            Belongs::Switch(switch) => {
                let from = PortNo(local);
                let fate = self.at_switch(switch, |stack, cx, _| stack.on_control(cx, from, None, frame));
                self.act_switch(switch);
                fate
            }
            Belongs::Host(host) => {
                let fate = self.at_nic(host, |stack, cx| stack.on_control(cx, frame));
                self.act_nic(host);
                fate
            }
        };
        for hold in Hold::each(frame).filter(|_| fate == Fate::Consumed) {
            let until = if hold.quanta == 0 { Time::ZERO } else { hold.until(self.world.now, rate) };
            if self.pauses.is_some() {
                self.note_obeyed(port, hold.class, until);
            }
            self.ports[port as usize].held_by_peer(hold.class, self.world.now, until);
        }
    }

    /// A routed control frame has arrived at its host: for the NIC, else for the controller of the flow that it names. That may
    /// outlive the flow: `tag` then still says which it is.
    pub(super) fn take_control(&mut self, host: u32, frame: &Control, tag: u64) {
        let fate = self.at_nic(host, |stack, cx| stack.on_control(cx, frame));
        self.act_nic(host);
        if fate == Fate::Consumed {
            return;
        }
        let controller = match frame.flow.and_then(|f| self.flows.find(f)) {
            Some(at) => self.flows.send[at].controller,
            None => self.kept_controller(HostId(host), tag),
        };
        if controller != NO_CONTROLLER {
            self.at_controller(controller, |side, cx| side.on_control(cx, frame));
            self.repace(controller);
        }
    }

    /// The controller that a host keeps for flows like the one that a frame spoke of.
    fn kept_controller(&self, host: HostId, tag: u64) -> u32 {
        let Some((dst, class)) = read_spoken_of(tag) else { return NO_CONTROLLER };
        let kept = [RateKey::Dest(dst), RateKey::Class(class)].map(|key| self.kept_controllers.get(&(host, key)));
        kept.into_iter().flatten().next().copied().unwrap_or(NO_CONTROLLER)
    }

    pub(super) fn switch_timer(&mut self, switch: u32, owner: Owner, token: Token) {
        self.at_switch(switch, |stack, cx, _| stack.on_timer(&mut cx.owned_by(owner), token));
        self.act_switch(switch);
    }

    pub(super) fn nic_timer(&mut self, host: u32, owner: Owner, token: Token) {
        self.at_nic(host, |stack, cx| stack.on_timer(&mut cx.owned_by(owner), token));
        self.act_nic(host);
    }

    pub(super) fn flow_timer(&mut self, controller: u32, tag: u16, owner: Owner, token: u16) {
        if self.controllers[controller as usize].as_ref().is_none_or(|c| c.tag != tag) {
            return;
        }
        self.at_controller(controller, |side, cx| side.on_timer(&mut cx.owned_by(owner), token));
        self.repace(controller);
        // Timers that arm themselves anew do not keep a run alive in which nothing else is left to happen.
        if !self.lives() {
            self.nothing_left();
        }
    }

    /// A frame arrives at a host with a slow receive buffer.
    pub(super) fn buffer(&mut self, host: u32, pkt: Ix) {
        let size = u64::from(self.world.slab[pkt].pkt.size);
        if self.world.slab[pkt].pkt.kind == Kind::Mac {
            return self.take(host, pkt);
        }
        let now = self.world.now;
        let h = &mut self.hosts[host as usize];
        let port = h.port;
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
            self.hold_peer(port, Owner::STAGE, bit(Some(class)), Time::NEVER, style);
        }
    }

    pub(super) fn drain(&mut self, host: u32) {
        let h = &mut self.hosts[host as usize];
        let (port, Some(rx)) = (h.port, h.rx.as_mut()) else { return };
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
            self.release_peer(port, Owner::STAGE, bit(Some(class)));
        }
        if self.waits.is_some() {
            self.receive_waits(host, pkt);
        }
        self.take(host, pkt);
    }
}

/// The tag of a control packet: destination and class of the flow that it speaks of.
fn spoken_of(dst: HostId, class: Class) -> u64 {
    1 << 63 | u64::from(class.0) << 32 | u64::from(dst.0)
}

fn read_spoken_of(tag: u64) -> Option<(HostId, Class)> {
    (tag >> 63 == 1).then_some((HostId(tag as u32), Class((tag >> 32) as u8)))
}
