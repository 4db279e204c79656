//! Host-side handling of flows that retransmit, alike for all transports ([`crate::transport`]): packets, acknowledgements and timers go to
//! the transport, and its results are carried out.

use crate::model::event::Event;
use crate::model::hooks::attachment::Attachment;
use crate::model::hooks::{Ack, FlowHooks, FlowSide, Loss, NicSide};
use crate::model::host::flow::{NO_CONTROLLER, Status};
use crate::model::host::{Interface, PORT};
use crate::model::node::{Node, NodeCx};
use crate::model::packet::{AckHeader, Body, Control, ControlHeader, DataHeader, FlowRef, HostId, Packet, Report};
use crate::model::slab::NIL;
use crate::model::transport::{Answer, Then, Timed};
use crate::model::world::RunEffect;

impl<N: NicSide, F: FlowSide> NodeCx<'_, Interface<'_, N, F>> {
    /// A data packet is sent.
    #[cold]
    pub(super) fn note_sent(&mut self, slot: u32, packet: &mut Packet) {
        let flow = self.node.sending_mut(slot as usize);
        let tag = flow.tag;
        let Some((sender, offsets)) = flow.reliable() else { return };
        let sent = sender.on_send(offsets, self.world.moment(), packet);
        if sent.retransmission && self.world.probes.loads.count() {
            // Such a frame counts for a job as long as its flow is in progress.
            self.world
                .doubt("data of a job are retransmitted, and may be on a link when their flow has ended elsewhere");
        }
        if let Some(due) = sent.timer {
            self.world.push(due, Event::Timeout { slot, tag });
        }
        if self.world.rules.tells_sent && !sent.retransmission {
            self.tell_sent(slot, packet);
        }
    }

    /// A packet has been sent for the first time, which may be the last one of its message.
    fn tell_sent(&mut self, slot: u32, packet: &Packet) {
        let Body::Data(DataHeader { offset, payload, .. }) = packet.body else { return };
        let flow = self.node.sending(slot as usize);
        let (end, step) = (offset + u64::from(payload), u64::from(self.world.rules.payload));
        let from = match flow.messages() {
            None => (end >= flow.available).then_some(0),
            Some(messages) => {
                let of = messages.of(offset, step).filter(|message| end >= message.from + message.bytes);
                of.map(|message| message.from)
            }
        };
        if let Some(from) = from {
            self.world.effects.push(RunEffect::AllSent { slot, from });
        }
    }

    /// Requests an acknowledgement with a packet after its controller has seen it leave, if no packet may follow it or it is a
    /// retransmission.
    #[cold]
    pub(super) fn request_ack(&mut self, slot: u32, packet: &mut Packet) {
        let flow = self.node.sending(slot as usize);
        if !flow.transport.as_ref().is_some_and(|sender| sender.requests_acks()) {
            return;
        }
        let last = flow.sent >= flow.available;
        // One byte more: a request is also needed when the permission is just used up.
        let stops = !self.may_send(slot, u64::from(packet.size) + 1, false) || self.is_full(slot);
        if let Body::Data(data) = &mut packet.body
            && (stops || last || data.is(DataHeader::RETRANSMISSION))
        {
            data.flags |= DataHeader::ACK_REQUEST;
        }
    }

    /// The receiver takes a data packet. Returns the answer.
    #[cold]
    pub(super) fn receive_reliably(&mut self, at: usize, packet: &Packet, data: DataHeader) -> Answer {
        let recv = self.node.receiving_mut(at);
        let Some(receiver) = recv.transport.as_mut() else { return Answer::Nothing };
        let before = receiver.common.taken();
        let answer = receiver.on_data(&mut recv.received, self.world.moment(), packet, data);
        if receiver.common.messages.is_none() {
            return answer;
        }
        let news = receiver.common.taken() != before;
        self.packet_of_message_arrived(at, packet, data, news, answer)
    }

    /// Acknowledges a flow that ends here, because its sender has probed it.
    #[cold]
    pub(super) fn answer_probe(&mut self, to: HostId, flow: FlowRef, probe: u64) {
        let Some(at) = self.node.find_receiving(flow) else { return };
        let recv = self.node.receiving_mut(at);
        let class = recv.class;
        let Some(receiver) = recv.transport.as_mut() else { return };
        let Some(answer) = receiver.on_probe(&mut recv.received, self.world.moment(), probe) else { return };
        let (uid, host) = (self.control_uid(PORT), self.node.host.shape.host);
        // The answered probe stands for a packet of the flow that has just arrived.
        let data = DataHeader { src: to, payload: 0, offset: probe, ev: 0, flags: DataHeader::PROBE };
        let frame = Control { flow: Some(flow), ..Control::carrying("", 0, 0, &()) };
        let header = ControlHeader { from: self.id(), to: Some(host), content: 0, ev: 0 };
        let packet =
            Packet { body: Body::Data(data), sent: self.world.now, ..Packet::control(&frame, header, class, uid) };
        self.answer(at, NIL, &packet, data, answer, false);
    }

    /// The sender takes an acknowledgement or NACK, with the data beside it.
    #[cold]
    pub(super) fn take_reliable_ack(
        &mut self,
        at: usize,
        packet: &Packet,
        ack: AckHeader,
        report: Report,
        carried: Option<Attachment>,
    ) {
        let flow = self.node.sending_mut(at);
        let (slot, controller) = (at as u32, flow.controller);
        let Some((sender, offsets)) = flow.reliable() else { return };
        let learned = sender.on_ack(offsets, self.world.moment(), packet, ack, report);
        let sends_first = sender.sends_before_control();
        if sends_first {
            self.continue_flow(at);
        }
        if controller != NO_CONTROLLER {
            if let Some(loss) = learned.loss {
                self.at_controller(controller, slot, |side, cx| side.on_loss(cx, loss));
            }
            if learned.acknowledges {
                let (received, rtt, marked) = (ack.received, self.world.now - packet.sent, packet.is_marked());
                let (carried, counted) = (carried.as_ref(), learned.counted.as_ref());
                let ack = Ack { received, rtt, marked, carried, counted };
                self.at_controller(controller, slot, |side, cx| side.on_ack(cx, &ack));
            }
        }
        if !sends_first {
            self.continue_flow(at);
        }
        if controller != NO_CONTROLLER {
            self.repace(controller);
        }
        self.maybe_complete(at);
    }

    /// The flow may have something to send, and its messages may be complete.
    fn continue_flow(&mut self, at: usize) {
        self.wake_flow(at);
        if self.node.sending(at).kept {
            self.complete_messages(at);
        }
    }

    /// The flow may have something to send.
    fn wake_flow(&mut self, at: usize) {
        let flow = self.node.sending(at);
        let idle = flow.status == Status::Idle && flow.has_more();
        let unwindowed = flow.status == Status::WindowLimited && flow.controller == NO_CONTROLLER;
        if idle || unwindowed {
            self.ready(at as u32);
            self.kick(PORT);
        }
    }

    /// A flow's controller declares a packet lost.
    #[cold]
    pub(super) fn declare_lost(&mut self, flow: FlowRef, number: u64) {
        let step = u64::from(self.world.rules.payload);
        let Some(at) = self.node.find_sending(flow) else { return };
        if let Some(sender) = &mut self.node.sending_mut(at).transport {
            sender.declare_lost(number, step);
        }
    }

    /// The retransmission timer of a flow expires.
    pub(crate) fn timed_out(&mut self, at: usize) {
        let (slot, asks) = (at as u32, self.world.rules.hooks.flow.has(FlowHooks::TIMEOUT_IS_LOSS));
        let controller = self.node.sending(at).controller;
        loop {
            let (_, flow, side) = self.node.with_flow(slot);
            let (tag, mut side) = (flow.tag, side.filter(|_| asks));
            let Some((sender, offsets)) = flow.reliable() else { return };
            let expiry =
                sender.on_timeout(offsets, self.world.moment(), &mut |Timed { number, retransmission, since }| {
                    side.as_mut().is_none_or(|c| c.side.timeout_is_loss(number, retransmission, since))
                });
            if let Some(due) = expiry.timer {
                self.world.push(due, Event::Timeout { slot, tag });
            }
            if let Some(tries) = expiry.tries {
                self.world.effects.push(RunEffect::TimedOut { tries });
            }
            if let Some(bytes) = expiry.lost
                && controller != NO_CONTROLLER
            {
                self.at_controller(controller, slot, |side, cx| side.on_loss(cx, Loss::Timeout { bytes }));
            }
            match expiry.then {
                Then::Nothing => return,
                Then::Fail => return self.world.effects.push(RunEffect::Failed { slot }),
                Then::Wake => break,
                Then::Repeat => {}
            }
        }
        self.wake_flow(at);
        if controller != NO_CONTROLLER {
            self.repace(controller);
            self.notify_starved(at, controller);
        }
    }

    /// A connection has another message to send, but may not, and its receiver may not know of it.
    pub(super) fn check_starved(&mut self, slot: u32) {
        let flow = self.node.sending(slot as usize);
        let (controller, armed) = (flow.controller, flow.transport.as_ref().is_some_and(|sender| sender.common.armed));
        if controller == NO_CONTROLLER || !flow.has_more() || self.may_send_next(slot) {
            return;
        }
        if armed {
            self.at_controller(controller, slot, |side, cx| side.on_starved(cx));
        } else {
            self.notify_starved(slot as usize, controller);
        }
    }

    /// A sender has nothing in flight and may send nothing, so nothing will be acknowledged. It checks again after a timeout, which keeps
    /// the run going.
    fn notify_starved(&mut self, at: usize, controller: u32) {
        let slot = at as u32;
        if !self.node.sending(at).has_more() || self.may_send_next(slot) {
            return;
        }
        let due = self.world.now + self.world.rules.transport.timeout;
        let flow = self.node.sending_mut(at);
        let tag = flow.tag;
        let Some(due) = flow.transport.as_mut().and_then(|sender| sender.common.arm(due)) else { return };
        self.world.push(due, Event::Timeout { slot, tag });
        self.at_controller(controller, slot, |side, cx| side.on_starved(cx));
    }
}
