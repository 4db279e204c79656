//! Receiving: data is acknowledged, acknowledgements and control frames reach controllers, flows become complete.

use super::{Interface, PORT};
use crate::model::event::{Event, order};
use crate::model::hooks::{Ack, FlowHooks, FlowSide, Incoming, MechanismSet, NicHooks, NicSide};
use crate::model::host::flow::{NO_CONTROLLER, Status};
use crate::model::node::NodeCx;
use crate::model::packet::{
    AckHeader, Body, ControlHeader, DataHeader, DsField, Ecn, FlowRef, Gap, HostId, Packet, PathRef,
};
use crate::model::port::express;
use crate::model::slab::Ix;
use crate::model::transport::Answer;
use crate::model::world::RunEffect;
use crate::topology::routing::NO_PATH;
use crate::units::Bytes;
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;

impl<N: NicSide, F: FlowSide> NodeCx<'_, Interface<'_, N, F>> {
    #[inline]
    pub(crate) fn arrive(&mut self, pkt: Ix) {
        if self.node.host.rx.is_some() {
            return self.buffer(pkt);
        }
        self.take(pkt);
    }

    /// The host takes a packet from its receive buffer.
    #[inline]
    pub(crate) fn take(&mut self, pkt: Ix) {
        let header = self.world.slab[pkt].pkt;
        match header.body {
            Body::Data(data) => self.take_data(pkt, &header, data),
            Body::Ack(ack) => {
                self.world.slab.remove(pkt);
                self.take_ack(pkt, &header, ack);
            }
            Body::Control(ControlHeader { to, .. }) | Body::Mac(ControlHeader { to, .. }) => {
                let (delay, host) = (self.node.host.control_delay, self.node.host.shape.host);
                if delay > Time::ZERO && to == Some(host) {
                    let host = self.node.host.number;
                    let event = Event::ControlDue { host, pkt };
                    return self.world.queue.push(self.world.now + delay, order(20, header.uid), event);
                }
                self.act_on_control(pkt);
            }
        }
    }

    /// The host acts on a control frame.
    pub(crate) fn act_on_control(&mut self, pkt: Ix) {
        let Some(header) = self.world.slab[pkt].pkt.control_header() else { return };
        let frame = self.world.slab.take_control(header.content);
        self.world.slab.remove(pkt);
        self.take_control(&frame);
    }

    #[inline]
    fn take_data(&mut self, pkt: Ix, header: &Packet, data: DataHeader) {
        let found = self.node.find_delivered(header.flow);
        if let Some(at) = found
            && !self.node.receiving(at).begun
        {
            self.notify_flow_start(at, header.flow, data.src);
        }
        let left = self.left(found);
        if self.world.rules.hooks.nic.has(NicHooks::ON_RECEIVE) {
            self.at_nic_of(left, |stack, cx| stack.on_receive(cx, header));
        }
        self.world.slab.remove(pkt);
        if let Some(at) = found {
            let recv = self.node.receiving_mut(at);
            recv.reordered = recv.reordered.saturating_add(u32::from(data.offset < recv.furthest));
            recv.furthest = recv.furthest.max(data.end());
            recv.marked = recv.marked.saturating_add(u32::from(header.is_marked()));
            let answer = if recv.transport.is_some() {
                self.receive_reliably(at, header, data)
            } else {
                recv.received += u64::from(data.payload);
                Answer::Ack(recv.received)
            };
            let recv = self.node.receiving_mut(at);
            let whole = recv.is_whole();
            if whole && recv.ended && recv.last_byte == Time::NEVER {
                recv.last_byte = self.world.now;
                self.world.effects.push(RunEffect::LastByte { slot: at as u32 });
                self.at_nic_of(left, |stack, cx| stack.on_flow_end(cx, header.flow));
            }
            if self.world.rules.ack.enabled {
                self.answer(at, pkt, header, data, answer, whole);
            } else {
                self.world.effects.push(RunEffect::Received { slot: at as u32 });
            }
        }
        self.act_nic();
    }

    /// The first packet of a flow has arrived.
    #[cold]
    fn notify_flow_start(&mut self, at: usize, flow: FlowRef, src: HostId) {
        let recv = self.node.receiving_mut(at);
        recv.begun = true;
        let incoming = Incoming { flow, src, class: recv.class, bytes: Bytes(recv.total) };
        let left = self.left(Some(at));
        self.at_nic_of(left, |stack, cx| stack.on_flow_start(cx, &incoming));
    }

    /// The mechanisms that leave alone a flow that arrives here. For a flow that has ended they are unknown.
    #[inline(always)]
    fn left(&self, received: Option<usize>) -> MechanismSet {
        match received {
            Some(at) => self.world.rules.confinement.at(self.node.receiving(at).left).owners,
            None => self.world.rules.confinement.any(),
        }
    }

    /// No more packets of a flow will arrive, though its last byte did not show it: its sender has given up, or its stream has ended since.
    #[cold]
    pub(crate) fn notify_flow_end(&mut self, flow: FlowRef) {
        let left = self.left(self.node.find_delivered(flow));
        self.at_nic_of(left, |stack, cx| stack.on_flow_end(cx, flow));
        self.act_nic();
    }

    /// Acknowledges a packet, unless it will be acknowledged together with a later one.
    #[inline(always)]
    pub(super) fn answer(
        &mut self,
        at: usize,
        pkt: Ix,
        packet: &Packet,
        data: DataHeader,
        answer: Answer,
        whole: bool,
    ) {
        let recv = self.node.receiving_mut(at);
        recv.pending = recv.pending.saturating_add(1);
        recv.pending_mark |= packet.is_marked();
        let (received, gap) = match answer {
            Answer::Nothing => return,
            Answer::Ack(_) if u32::from(recv.pending) < self.world.rules.ack.every && !whole => return,
            Answer::Ack(upto) | Answer::Again(upto) => (upto, None),
            Answer::Nack(upto) => (upto, Some(Gap::Before(data.offset))),
            Answer::Beyond(upto) => (upto, Some(Gap::Beyond(data.offset))),
            Answer::Trimmed(upto) => (upto, Some(Gap::Trimmed(data.offset))),
            Answer::Reported(upto) => (upto, recv.transport.as_ref().and_then(|receiver| Some(receiver.report()?.0))),
        };
        recv.pending = 0;
        let marked = std::mem::take(&mut recv.pending_mark);
        let (own_class, back, left) = (recv.class, recv.back, recv.left);
        let class = self.world.rules.ack.class.map_or(own_class, crate::model::packet::Class);
        let dscp = self.node.host.answers(class, packet.ds.dscp());
        let (path, entropy) = match self.node.return_path(at) {
            NO_PATH => (back, Packet::entropy_with(Packet::entropy_of(packet.dst, data.src, packet.flow), data.ev)),
            ecmp_path => (PathRef::KNOWN, ecmp_path),
        };
        let ack = Packet {
            dst: data.src,
            entropy,
            size: self.world.rules.ack_size(left),
            uid: mix(packet.uid),
            path,
            hop: 0,
            class,
            body: Body::Ack(AckHeader { src: packet.dst, received, gap }),
            tag: 0,
            // Echoes a mark; is not ECN-capable itself.
            ds: DsField::new(dscp, if marked { Ecn::Ce } else { Ecn::NotEct }),
            ..*packet
        };
        let carried = if self.world.rules.hooks.flow.has(FlowHooks::ATTACH) {
            self.world.attachments.get(pkt, packet.uid)
        } else {
            None
        };
        let ix = self.world.slab.insert(ack);
        if gap.is_some() {
            self.put_report(at, ix);
        }
        if let Some(carried) = carried {
            self.world.attachments.put(ix, ack.uid, carried);
        }
        self.queue_express(ix, usize::from(dscp.priority().0));
    }

    /// Adds the receiver's report on single packets to an acknowledgement.
    #[cold]
    #[inline(never)]
    fn put_report(&mut self, at: usize, ix: Ix) {
        let uid = self.world.slab[ix].pkt.uid;
        let report = self.node.receiving(at).transport.as_ref().and_then(|receiver| receiver.report());
        if let Some((_, report)) = report {
            self.world.reports.put(ix, uid, report);
        }
    }

    /// Queues a control frame at a host.
    pub(crate) fn express(&mut self, pkt: Packet) {
        let ix = self.world.slab.insert(pkt);
        self.queue_express(ix, usize::from(pkt.nic_queue().0));
    }

    /// Queues an acknowledgement or a control frame at a host.
    #[inline(always)]
    fn queue_express(&mut self, ix: Ix, queue: usize) {
        let (slab, p) = (&mut self.world.slab, &mut self.ports[usize::from(PORT)]);
        if self.world.rules.ack.first_at_nic {
            p.push(slab, express(queue), ix);
        } else {
            p.enqueue(slab, queue, ix);
        }
        if self.world.rules.hooks.port_events() {
            self.notify_enqueued(ix);
        }
        self.kick(PORT);
    }

    fn take_ack(&mut self, pkt: Ix, header: &Packet, ack: AckHeader) {
        // Before any retransmission, which may reuse the place of this acknowledgement.
        let carried = if self.world.rules.hooks.flow.has(FlowHooks::ATTACH) {
            self.world.attachments.get(pkt, header.uid)
        } else {
            None
        };
        debug_assert_eq!(header.dst, self.node.host.shape.host, "it was delivered to another host");
        let Some(at) = self.node.find_sending(header.flow) else { return };
        let now = self.world.now;
        let flow = self.node.sending_mut(at);
        if flow.transport.is_some() {
            let report = self.world.reports.get(pkt, header.uid).unwrap_or_default();
            return self.take_reliable_ack(at, header, ack, report, carried);
        }
        flow.acked = flow.acked.max(ack.received);
        let controller = flow.controller;
        if flow.status == Status::WindowLimited && controller == NO_CONTROLLER {
            self.ready(at as u32);
            self.kick(PORT);
        }
        if controller != NO_CONTROLLER {
            let slot = at as u32;
            if !ack.is_returned() {
                let (received, rtt, marked) = (ack.received, now - header.sent, header.is_marked());
                let ack = Ack { received, rtt, marked, carried: carried.as_ref(), counted: None };
                self.at_controller(controller, slot, |side, cx| side.on_ack(cx, &ack));
            }
            self.repace(controller);
        }
        self.maybe_complete(at);
    }

    pub(crate) fn maybe_complete(&mut self, at: usize) {
        let flow = self.node.sending(at);
        if flow.acked < flow.available || !flow.ended() {
            return;
        }
        self.world.effects.push(RunEffect::Complete { slot: at as u32 });
    }
}
