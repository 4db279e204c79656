//! Carries out the actions that a host's mechanisms requested: control frames, gates, pauses and timers.

use super::{Interface, PORT};
use crate::model::event::{Event, controller_order};
use crate::model::hooks::{
    Fate, FlowAction, FlowSide, FlowTimer, MechanismId, NicAction, NicGate, NicSide, PauseStyle, RateKey, Token,
    reuse_memory,
};
use crate::model::host::flow::{NO_CONTROLLER, NO_FLOW, SendFlow};
use crate::model::node::{Node, NodeCx};
use crate::model::packet::{CLASSES, Class, Control, DsField, Dscp, FlowRef, Packet, PathRef};
use crate::model::slab::Ix;
use crate::model::world::RunEffect;
use backwater_engine::Time;

impl<N: NicSide, F: FlowSide> NodeCx<'_, Interface<'_, N, F>> {
    /// Carries out the actions that a host's mechanisms requested.
    #[inline(always)]
    pub(crate) fn act_nic(&mut self) {
        if !self.world.actions.nic.is_empty() {
            self.carry_out_nic();
        }
    }

    #[cold]
    fn carry_out_nic(&mut self) {
        let actions = std::mem::take(&mut self.world.actions.nic);
        for action in &actions {
            match *action {
                NicAction::Route(to, class, frame) => {
                    self.log(None, Some(class), Some(to), frame.kind, frame.value);
                    let found = frame.flow.and_then(|f| self.node.find_receiving(f));
                    let path = found.map_or(PathRef::NONE, |at| self.node.receiving(at).back);
                    let pkt = self.carry(Some(to), class, &frame, path, 0);
                    // As acknowledgements of the flow.
                    let entropy = Packet::entropy_of(self.node.host.shape.host, to, pkt.flow);
                    self.express(pkt.valued(entropy));
                }
                NicAction::Acknowledge(to, flow, probe) => self.answer_probe(to, flow, probe),
                NicAction::Emit(class, frame) => {
                    self.log(Some(PORT), Some(class), None, frame.kind, frame.value);
                    let pkt = self.carry(None, class, &frame, PathRef::NONE, 0);
                    self.express(pkt);
                }
                NicAction::Signal(frame) => self.signal_peer(PORT, frame),
                NicAction::Shut(owner, gate) => self.set_gate(owner, gate, true),
                NicAction::Open(owner, gate) => self.set_gate(owner, gate, false),
                NicAction::DiscardBefore(before) => self.discard_before(PORT, before),
                NicAction::ReplayFrom(from) => self.replay_from(PORT, from),
                NicAction::SendIn(flow, class) => self.send_in(flow, class),
                NicAction::Arm(owner, at, token) => {
                    let host = self.node.host.number;
                    self.world.push(at.max(self.world.now), Event::NicTimer { host, owner: owner.0, token });
                }
            }
        }
        reuse_memory(&mut self.world.actions.nic, actions);
    }

    /// Carries out the actions that a flow's hook requested.
    #[cold]
    pub(crate) fn carry_out_flow(&mut self, controller: u32) {
        let (tag, key) = self.node.controller(controller).map_or((0, 0), |c| (c.tag, c.key));
        let actions = std::mem::take(&mut self.world.actions.flow);
        for action in &actions {
            match *action {
                FlowAction::Arm(FlowTimer { owner, at, token }) => {
                    let event = Event::FlowTimer { controller, tag, owner: owner.0, token };
                    self.world.totals.keepalive_events += 1;
                    self.world.queue.push(at.max(self.world.now), controller_order(event, key), event);
                }
                FlowAction::Send(to, class, frame) => {
                    self.log(None, Some(class), Some(to), frame.kind, frame.value);
                    let own = frame.flow.and_then(|flow| self.own_flow(flow)).filter(|flow| flow.dst == to);
                    // As data of the flow.
                    let (path, entropy) = own.map_or((PathRef::NONE, 0), |flow| (flow.path, flow.hash));
                    let pkt = self.carry(Some(to), class, &frame, path, 0);
                    self.express(pkt.valued(entropy));
                }
                FlowAction::Unanswered(flow, requests) => self.count_unanswered(flow, requests),
                FlowAction::GiveUp(flow, number) => self.declare_lost(flow, number),
            }
        }
        reuse_memory(&mut self.world.actions.flow, actions);
    }

    fn count_unanswered(&mut self, flow: FlowRef, requests: u32) {
        if self.own_flow(flow).is_none() {
            return;
        }
        let failed = self.world.rules.transport.retries.is_some_and(|most| requests > most);
        let outcome =
            if failed { RunEffect::Failed { slot: flow.slot } } else { RunEffect::TimedOut { tries: requests } };
        self.world.effects.push(outcome);
    }

    /// A flow that this host sends, if it is still in progress.
    fn own_flow(&self, flow: FlowRef) -> Option<&SendFlow> {
        Some(self.node.sending(self.node.find_sending(flow)?))
    }

    /// Changes the class of a flow's packets from now on. A flow that waits for its turn in the old class moves when that turn comes.
    fn send_in(&mut self, flow: FlowRef, class: Option<Class>) {
        if let Some(at) = self.node.find_sending(flow) {
            let (host, flow, _) = self.node.with_flow(at as u32);
            flow.class = class.unwrap_or(flow.own_class);
            let queue = host.shape.queues.pick(flow.class, self.ports[usize::from(PORT)].open);
            flow.ds = DsField::new(Dscp::of(queue), flow.ds.ecn());
        }
    }

    fn set_gate(&mut self, owner: MechanismId, gate: NicGate, shut: bool) {
        if self.world.probes.waits.is_some() {
            self.account_waits(PORT);
        }
        let queue = match gate {
            NicGate::Link => Some(CLASSES),
            NicGate::Class(class) => Some(usize::from(class.0)),
            NicGate::Flow(flow) => {
                if let Some(at) = self.node.find_sending(flow) {
                    let owners = &mut self.node.sending_mut(at).shut;
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
                    self.open_gate_of_flow();
                }
            }
            (None, true) => {}
            (None, false) => self.open_gate_of_flow(),
        }
        if !shut {
            self.kick(PORT);
        }
    }

    /// Delivers a routed control frame that has arrived at its host: to the NIC, else to the controller of the flow that it names. A
    /// controller may outlive its flow; it is then found by the header fields that the frame repeats.
    pub(crate) fn take_control(&mut self, frame: &Control) {
        let comes_here = frame.flow.filter(|flow| self.own_flow(*flow).is_none());
        let over = comes_here.is_some_and(|flow| {
            let receiving = self.node.find_receiving(flow);
            receiving.is_none_or(|at| self.node.receiving(at).last_byte != Time::NEVER)
        });
        let fate = self.at_nic(|stack, cx| {
            cx.over = over;
            stack.on_control(cx, frame)
        });
        self.act_nic();
        if fate == Fate::Consumed {
            return;
        }
        let flow = frame.flow.filter(|flow| self.own_flow(*flow).is_some());
        let Some(flow) = flow else { return self.notify_shared(frame) };
        let controller = self.node.sending(flow.slot as usize).controller;
        if controller != NO_CONTROLLER {
            self.at_controller(controller, flow.slot, |side, cx| side.on_control(cx, frame));
            self.repace(controller);
        }
    }

    /// Delivers a frame to a controller that a host keeps for several flows: to the one whose mechanism takes it.
    #[cold]
    fn notify_shared(&mut self, frame: &Control) {
        let Some((dst, class)) = frame.about else { return };
        let keys = [RateKey::Dest(dst), RateKey::Class(class)].into_iter();
        let all = keys.flat_map(|key| self.world.rules.confinement.places().map(move |left| (key, left)));
        for controller in self.node.kept(all).collect::<Vec<_>>() {
            let fate = self.at_controller(controller, NO_FLOW, |side, cx| side.on_control(cx, frame));
            self.repace(controller);
            if fate == Some(Fate::Consumed) {
                return;
            }
        }
    }

    pub(crate) fn timer(&mut self, owner: MechanismId, token: Token) {
        self.at_nic(|stack, cx| {
            stack.on_link_timer(&mut cx.owned_by(owner).links(), token);
            stack.on_timer(&mut cx.owned_by(owner), token);
        });
        self.act_nic();
    }

    pub(crate) fn flow_timer(&mut self, controller: u32, owner: MechanismId, token: u16) {
        let slot = self.node.controller(controller).map_or(NO_FLOW, |c| c.slot);
        self.at_controller(controller, slot, |side, cx| side.on_timer(&mut cx.owned_by(owner), token));
        self.repace(controller);
    }

    /// A frame arrives at a host with a slow receive buffer.
    pub(crate) fn buffer(&mut self, pkt: Ix) {
        let size = u64::from(self.world.slab[pkt].pkt.size);
        if self.world.slab[pkt].pkt.is_mac() {
            return self.take(pkt);
        }
        let now = self.world.now;
        let (host, h) = (self.node.host.number, &mut *self.node.host);
        let Some(rx) = h.rx.as_mut() else { return };
        let hold = rx.push(&mut self.world.slab, pkt, size);
        let start = !std::mem::replace(&mut rx.draining, true);
        if start {
            let at = now + rx.time_for(size);
            self.world.push(at, Event::Drain { host });
        }
        if hold != 0 {
            self.pause_peer(PORT, MechanismId::STAGE, hold, Time::NEVER, PauseStyle::FRAMED);
        }
    }

    pub(crate) fn drain(&mut self) {
        let host = self.node.host.number;
        let Some(rx) = self.node.host.rx.as_mut() else { return };
        let Some((pkt, resumed)) = rx.pop(&self.world.slab) else { return };
        match rx.fifo.head() {
            Some(next) => {
                let at = self.world.now + rx.time_for(u64::from(self.world.slab[next].pkt.size));
                self.world.push(at, Event::Drain { host });
            }
            None => rx.draining = false,
        }
        if resumed != 0 {
            self.resume_peer(PORT, MechanismId::STAGE, resumed);
        }
        if self.world.probes.waits.is_some() {
            self.receive_waits(pkt);
        }
        if self.world.rules.hooks.port_events() {
            let header = self.world.slab[pkt].pkt;
            self.at_nic(|stack, cx| stack.on_consumed(cx, &header));
            self.act_nic();
        }
        self.take(pkt);
    }
}
