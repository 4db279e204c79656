//! What a flow's controller and the transport have to say to each other of packets that may be lost, where packets are acknowledged one by one
//! ([`super::rud`]): probes and their answers, packets that the controller takes for lost, and packets whose time is over and that it
//! keeps under way.

use crate::hooks::{FlowHooks, FlowSide, NicSide};
use crate::host::flow::NO_CONTROLLER;
use crate::host::transport::Answer;
use crate::host::{Interface, PORT};
use crate::node::{At, Node};
use crate::packet::{Body, Control, ControlHeader, DataHeader, FlowRef, Gap, HostId, Packet};
use crate::slab::NIL;
use backwater_engine::Time;

impl<N: NicSide, F: FlowSide> At<'_, Interface<'_, N, F>> {
    /// A flow that ends here is acknowledged because its sender has asked by a probe.
    #[cold]
    pub(super) fn answer_probe(&mut self, to: HostId, flow: FlowRef, probe: u64) {
        let Some(at) = self.node.find_receiving(flow) else { return };
        let (step, uid) = (self.step(), self.control_uid(PORT));
        let (host, class) = (self.node.host.shape.host, self.node.receiving(at).class);
        let Some(receiver) = self.node.receiving_mut(at).recovery.as_mut() else { return };
        receiver.report = receiver.report_from(receiver.expected.div_ceil(step) + 1, step);
        receiver.gap = Some(Gap::Map { at: probe, ev: 0, flags: DataHeader::PROBE });
        let upto = receiver.expected;
        // What is answered stands for a packet of the flow that has just come.
        let data = DataHeader { src: to, payload: 0, offset: probe, ev: 0, flags: DataHeader::PROBE };
        let frame = Control { flow: Some(flow), ..Control::carrying("", 0, 0, &()) };
        let header = ControlHeader { from: self.id(), to: Some(host), content: 0 };
        let packet =
            Packet { body: Body::Data(data), sent: self.world.now, ..Packet::control(&frame, header, class, uid) };
        self.answer(at, NIL, &packet, data, Answer::Reported(upto), false);
    }

    /// A flow's controller takes a packet for lost.
    #[cold]
    pub(super) fn give_up(&mut self, flow: FlowRef, number: u64) {
        let step = self.step();
        let Some(at) = self.node.find_sending(flow) else { return };
        let Some(sender) = self.node.sending_mut(at).recovery.as_mut() else { return };
        if sender.outstanding.as_mut().is_some_and(|all| all.lose(number).is_some()) {
            sender.infer(number * step, step);
        }
    }

    /// Whether a packet is lost whose timer, started at `since`, has expired.
    pub(super) fn is_given_up(&mut self, controller: u32, number: u64, again: bool, since: Time) -> bool {
        if controller == NO_CONTROLLER || !self.world.rules.hooks.flow.has(FlowHooks::GIVES_UP) {
            return true;
        }
        self.node.controller_mut(controller).is_none_or(|c| c.side.gives_up(number, again, since))
    }

    /// Whether a full window does not hold what a flow has to send again.
    #[cold]
    pub(super) fn goes_again(&self, slot: u32) -> bool {
        let flow = self.node.sending(slot as usize);
        if !flow.owes() {
            return false;
        }
        let Some(c) = self.node.controller(flow.controller) else { return false };
        let window = c.side.window_again().map_or(u64::MAX, |window| window.0);
        flow.away(self.step()) < window.min(self.flow_window(slot))
    }
}
