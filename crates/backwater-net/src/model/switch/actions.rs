//! Carries out the actions that a switch's mechanisms requested: control frames, gates, pauses and timers.

use super::{Switch, cx};
use crate::model::event::Event;
use crate::model::hooks::{Gate, MechanismId, SwitchAction, SwitchSide, reuse_memory};
use crate::model::node::{Node, NodeCx};
use crate::model::packet::{CLASSES, Class, Control, HostId, PathRef, Port as PortNo};
use crate::model::port::pause::bit;
use crate::model::slab::Ix;
use backwater_engine::fingerprint::mix;

impl<S: SwitchSide> NodeCx<'_, &mut Switch<S>> {
    /// Carries out the actions that a switch's mechanisms requested.
    #[inline(always)]
    pub(crate) fn act_switch(&mut self) {
        if !self.world.actions.switch.is_empty() {
            self.carry_out_switch();
        }
    }

    #[cold]
    fn carry_out_switch(&mut self) {
        let actions = std::mem::take(&mut self.world.actions.switch);
        for action in &actions {
            match *action {
                SwitchAction::Emit(port, class, frame) => {
                    self.log(Some(port.0), Some(class), None, frame.kind, frame.value);
                    let pkt = self.carry(None, class, &frame, PathRef::NONE, 0);
                    let ix = self.world.slab.insert(pkt);
                    self.originate(port, ix);
                }
                SwitchAction::Signal(port, frame) => self.signal_peer(port.0, frame),
                SwitchAction::Route(to, class, frame) => {
                    self.log(None, Some(class), Some(to), frame.kind, frame.value);
                    self.route_from_switch(to, class, &frame);
                }
                SwitchAction::PausePeer(owner, port, class, until, style) => {
                    let classes = self.carrying(port.0, class);
                    self.pause_peer(port.0, owner, classes, until, style);
                }
                SwitchAction::ResumePeer(owner, port, class) => {
                    let classes = self.carrying(port.0, class);
                    self.resume_peer(port.0, owner, classes);
                }
                SwitchAction::PauseQueue(owner, port, priority, until, style) => {
                    self.pause_peer(port.0, owner, bit(Some(priority)), until, style);
                }
                SwitchAction::ResumeQueue(owner, port, priority) => {
                    self.resume_peer(port.0, owner, bit(Some(priority)));
                }
                SwitchAction::Shut(owner, gate) => self.set_gate(owner, gate, true),
                SwitchAction::Open(owner, gate) => self.set_gate(owner, gate, false),
                SwitchAction::DiscardBefore(port, before) => self.discard_before(port.0, before),
                SwitchAction::ReplayFrom(port, from) => self.replay_from(port.0, from),
                SwitchAction::Disobey(port, queue) => self.pause_over(port.0, Some(Class(queue.0))),
                SwitchAction::Flush(port, queue) => self.flush(port, queue),
                SwitchAction::Report(kind, port, class, value) => {
                    self.log(Some(port.0), Some(class), None, kind, value);
                }
                SwitchAction::Arm(owner, at, token) => {
                    let switch = self.node.number;
                    self.world.push(at.max(self.world.now), Event::SwitchTimer { switch, owner: owner.0, token });
                }
            }
        }
        reuse_memory(&mut self.world.actions.switch, actions);
    }

    /// Sends a control frame to a host. It takes the path of the acknowledgements of the flow that it names, if that passes here.
    fn route_from_switch(&mut self, to: HostId, class: Class, frame: &Control) {
        let (node, switch) = (self.node.home.shape.node, self.node.number);
        let (path, at) = frame.flow.and_then(|flow| self.on_way_back(flow)).unwrap_or((PathRef::NONE, 0));
        let hash = mix(u64::from(node.0) << 32 | u64::from(to.0));
        self.world.fabric.find_routes(to);
        let egress = if path == PathRef::NONE {
            self.world.fabric.routes.pick(switch, self.world.fabric.routes.candidates(switch, to), hash)
        } else {
            Some(self.world.fabric.paths.port(path, at))
        };
        let Some(egress) = egress else { return };
        let pkt = self.carry(Some(to), class, frame, path, at + 1);
        let ix = self.world.slab.insert(pkt);
        self.originate(PortNo(egress), ix);
    }

    /// A frame that the switch itself sends joins an egress queue after the switch's latency. No ingress account is charged: a pause stops
    /// a neighbour, which has not sent this frame and cannot make it leave.
    fn originate(&mut self, egress: PortNo, pkt: Ix) {
        let slot = &mut self.world.slab[pkt];
        let class = slot.pkt.class;
        let queue = crate::model::packet::Queue(class.0);
        slot.place = crate::model::hooks::Place { ingress: egress, egress, class, queue, own: true };
        let s = &mut *self.node;
        s.stack.steer(&mut cx!(self, s), &mut slot.place, &mut slot.pkt);
        if s.latency_at == crate::config::LatencyAt::Input {
            slot.ready = self.world.now + s.latency;
        }
        self.pass_on(pkt);
    }

    fn set_gate(&mut self, owner: MechanismId, gate: Gate, shut: bool) {
        let (port, queue) = match gate {
            Gate::Port(port) => (port.0, CLASSES),
            Gate::Egress(port, queue) => (port.0, usize::from(queue.0)),
            Gate::IsolationQueue(isolation_queue) => return self.set_isolation_queue(isolation_queue, shut),
        };
        if self.world.probes.waits.is_some() {
            self.account_waits(port);
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

    /// The priorities on which the neighbour carries a class, or (`None`) the link, to a port: bits as in [`bit`].
    fn carrying(&self, port: u16, class: Option<Class>) -> u16 {
        let queues = &self.ports[usize::from(port)].rest.peer_queues;
        class.map_or(bit(None), |class| u16::from(queues.carrying(1 << class.0)))
    }
}
