//! Hosts: sending by per-flow round robin, pacing and gates; receiving, acknowledging, completing.

use super::transport::{Answer, BEYOND, TRIMMED};
use super::{Actors, Event, Network, controller_order, order};
use crate::flow::{Controller, NO_CONTROLLER, Status};
use crate::hooks::{Ack, FlowCx, FlowSide, Loss, NicCx, NicSide, Owner};
use crate::packet::{DsField, Ecn, Kind, Packet};
use crate::port::Next;
use crate::record::{Broken, FlowRow, State};
use crate::slab::Ix;
use crate::units::Bytes;
use crate::workload::job::Moment;
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;

impl<A: Actors> Network<A> {
    /// A flow may send, again or at last.
    pub(super) fn ready(&mut self, slot: u32) {
        if self.waits.is_some() {
            self.pass_waits(self.hosts[self.flows.send[slot as usize].src.0 as usize].port);
        }
        self.line_up(slot);
    }

    /// Puts a flow into its NIC's ring.
    fn line_up(&mut self, slot: u32) {
        let flow = &mut self.flows.send[slot as usize];
        flow.status = Status::Ready;
        let (src, class) = (flow.src.0 as usize, flow.class);
        self.hosts[src].ring_push(class, slot, &mut self.flows);
    }

    /// Flows of a host that were parked look again.
    pub(super) fn unpark(&mut self, host: u32) {
        for slot in std::mem::take(&mut self.hosts[host as usize].parked) {
            self.ready(slot);
        }
    }

    /// Starts the next transmission of a host's idle port.
    pub(super) fn kick_host(&mut self, host: u32, port: u32) {
        let open = self.ports[port as usize].open;
        let h = &mut self.hosts[host as usize];
        let mask = h.express_mask & open;
        if mask != 0 {
            let queue = 7 - mask.leading_zeros() as usize;
            let Some(pkt) = h.express[queue].pop(&self.world.slab) else { return };
            if h.express[queue].is_empty() {
                h.express_mask &= !(1 << queue);
            }
            return self.transmit(port, pkt);
        }
        while self.hosts[host as usize].staged(open) < self.world.rules.nic.tx_queue.max(1) {
            let Some(slot) = self.next_flow(host, open) else { break };
            let pkt = self.send(slot);
            let (slab, h) = (&mut self.world.slab, &mut self.hosts[host as usize]);
            let header = &slab[pkt].pkt;
            let (class, queue) = (header.class, header.ds.dscp().priority());
            if self.world.rules.nic.weights.is_some() {
                h.took_turn(usize::from(class.0));
            }
            h.stage(queue);
            self.ports[port as usize].enqueue(slab, usize::from(queue.0), pkt);
        }
        match self.ports[port as usize].next(&self.world.slab, self.world.now) {
            Next::Packet(pkt) => {
                if self.world.slab[pkt].pkt.kind == Kind::Data {
                    self.hosts[host as usize].unstage(self.world.slab[pkt].pkt.ds.dscp().priority());
                }
                self.transmit(port, pkt);
            }
            Next::Wait(until) => self.wake(port, until),
            Next::Nothing => {}
        }
    }

    /// The flow whose turn it is: round robin within the highest class of which a queue is open, or within the one whose turn it is by
    /// weight, passing over flows of others.
    fn next_flow(&mut self, host: u32, open: u8) -> Option<u32> {
        loop {
            let h = &mut self.hosts[host as usize];
            let mask = h.ring_mask & h.classes_open(open);
            if mask == 0 {
                return None;
            }
            let class = match &self.world.rules.nic.weights {
                None => 7 - mask.leading_zeros() as usize,
                Some(weights) => h.weighted_turn(mask, weights),
            };
            let slot = h.ring_pop(class, &self.flows);
            let flow = &mut self.flows.send[slot as usize];
            if !flow.live {
                self.flows.exhume(slot);
                continue;
            }
            if usize::from(flow.class.0) != class {
                // It sends in another class since.
                self.ready(slot);
                continue;
            }
            if flow.recovery.is_some() && !flow.has_more() {
                // What it was to send again has been acknowledged meanwhile.
                flow.status = Status::Idle;
                continue;
            }
            if flow.shut != 0 || h.is_shut(flow.dst, flow.ds.dscp().priority(), open) {
                flow.status = Status::Parked;
                h.parked.push(slot);
                continue;
            }
            if flow.controller == NO_CONTROLLER {
                if flow.away(u64::from(self.world.rules.payload)) >= flow.window {
                    flow.status = Status::Windowed;
                    continue;
                }
                return Some(slot);
            }
            let Some(c) = self.controllers[flow.controller as usize].as_mut() else { return Some(slot) };
            if c.next > self.world.now {
                flow.status = Status::Pacing;
                c.waiting.push(slot);
                // With a rate of zero nothing is due.
                if c.armed == Time::NEVER && c.next != Time::NEVER {
                    c.armed = c.next;
                    let event = Event::Pace { controller: flow.controller, tag: c.tag };
                    self.world.queue.push(c.next, controller_order(event, c.key), event);
                }
                continue;
            }
            let asked = c.side.window();
            let (controller, away) = (flow.controller, flow.away(u64::from(self.world.rules.payload)));
            let asked = match asked {
                None => u64::MAX,
                Some(Bytes(0)) => 0,
                Some(window) => window.0.max(self.least_window()),
            };
            if away >= asked.min(self.flow_window(slot)) {
                self.flows.send[slot as usize].status = Status::Windowed;
                if let Some(c) = self.controllers[controller as usize].as_mut() {
                    c.windowed.push(slot);
                }
                continue;
            }
            return Some(slot);
        }
    }

    /// Makes the next packet of a flow.
    fn send(&mut self, slot: u32) -> Ix {
        let reference = self.flows.reference(slot);
        let offset = self.next_offset(slot as usize);
        let flow = &mut self.flows.send[slot as usize];
        let payload = (flow.available - offset).min(u64::from(self.world.rules.payload)) as u32;
        let mut pkt = Packet {
            src: flow.src,
            dst: flow.dst,
            entropy: flow.hash,
            flow: reference,
            size: payload + self.world.rules.header,
            payload,
            seq: offset,
            sent: self.world.now,
            uid: mix(flow.hash ^ flow.packets.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
            tag: 0,
            path: flow.path,
            hop: 0,
            kind: Kind::Data,
            class: flow.class,
            ds: flow.ds,
        };
        flow.sent = flow.sent.max(offset + u64::from(payload));
        flow.packets += 1;
        let (more, controller) = (flow.has_more(), flow.controller);
        if flow.recovery.is_some() {
            self.note_sent(slot, offset, payload);
        }
        if controller != NO_CONTROLLER {
            self.at_controller(controller, |side, cx| side.on_send(cx, &mut pkt));
            self.pace_after(controller, pkt.size);
        }
        if more {
            self.line_up(slot);
        } else {
            self.flows.send[slot as usize].status = Status::Idle;
        }
        self.world.slab.insert(pkt)
    }

    /// Calls a hook of a flow's stack, and acts on its timers.
    #[inline(always)]
    pub(super) fn at_controller<R>(
        &mut self,
        controller: u32,
        f: impl FnOnce(&mut A::Flow, &mut FlowCx<'_>) -> R,
    ) -> Option<R> {
        let before = self.world.notes.len();
        let c = self.controllers[controller as usize].as_mut()?;
        let mut cx = FlowCx { now: self.world.now, owner: Owner(0), shape: &c.shape, notes: &mut self.world.notes };
        let result = f(&mut c.side, &mut cx);
        if self.world.notes.len() > before {
            self.arm_flow_timers(controller, before);
        }
        Some(result)
    }

    fn pace_after(&mut self, controller: u32, size: u32) {
        let (now, gap) = (self.world.now, self.world.rules.gap);
        let Some(c) = self.controllers[controller as usize].as_mut() else { return };
        (c.last, c.last_size) = (now, size + gap);
        c.next = c.due(now);
    }

    /// The rate may have changed: moves the next packet's time, and wakes those who wait if it has come nearer.
    pub(super) fn repace(&mut self, controller: u32) {
        let now = self.world.now;
        let Some(c) = self.controllers[controller as usize].as_mut() else { return };
        if !c.windowed.is_empty() {
            self.look_at_window(controller);
        }
        let Some(c) = self.controllers[controller as usize].as_mut() else { return };
        let next = c.due(c.last);
        if next == c.next {
            return;
        }
        c.next = next;
        if !c.waiting.is_empty() {
            let event = Event::Pace { controller, tag: c.tag };
            let at = next.max(now);
            c.armed = at;
            if at == Time::NEVER {
                return;
            }
            if at == now {
                return self.pace(controller, self.controllers[controller as usize].as_ref().map_or(0, |c| c.tag));
            }
            self.world.queue.push(at, controller_order(event, c.key), event);
        }
    }

    /// The window may have opened, or bytes have been acknowledged: flows that it has stopped look again.
    #[cold]
    pub(super) fn look_at_window(&mut self, controller: u32) {
        let Some(c) = self.controllers[controller as usize].as_mut() else { return };
        let src = c.shape.src.0 as usize;
        for slot in std::mem::take(&mut c.windowed) {
            self.ready(slot);
        }
        self.kick(self.hosts[src].port);
    }

    pub(super) fn pace(&mut self, controller: u32, tag: u16) {
        let now = self.world.now;
        // Armed anew since, the rate having changed: the later event counts.
        let valid = |c: &&mut Controller<A::Flow>| c.tag == tag && c.armed == now;
        let Some(c) = self.controllers[controller as usize].as_mut().filter(valid) else { return };
        c.armed = Time::NEVER;
        if c.next > now {
            // Another flow of this controller has sent since this was armed.
            if !c.waiting.is_empty() && c.next != Time::NEVER {
                c.armed = c.next;
                let event = Event::Pace { controller, tag };
                self.world.queue.push(c.next, controller_order(event, c.key), event);
            }
            return;
        }
        let src = c.shape.src.0 as usize;
        for slot in std::mem::take(&mut c.waiting) {
            self.ready(slot);
        }
        self.kick(self.hosts[src].port);
    }

    #[inline]
    pub(super) fn arrive_at_host(&mut self, host: u32, pkt: Ix) {
        if self.hosts[host as usize].rx.is_some() {
            return self.buffer(host, pkt);
        }
        self.take(host, pkt);
    }

    /// The host takes a packet from its receive buffer.
    #[inline]
    pub(super) fn take(&mut self, host: u32, pkt: Ix) {
        let header = self.world.slab[pkt].pkt;
        match header.kind {
            Kind::Data => self.take_data(host, pkt, header),
            Kind::Ack | Kind::Nack => {
                self.world.slab.remove(pkt);
                self.take_ack(header);
            }
            Kind::Control | Kind::Mac => {
                let delay = self.hosts[host as usize].control_delay;
                if delay > Time::ZERO && header.dst.0 == host {
                    let event = Event::Heed { host, pkt };
                    return self.world.queue.push(self.world.now + delay, order(20, header.uid), event);
                }
                self.heed(host, pkt);
            }
        }
    }

    /// The host acts on a control frame.
    pub(super) fn heed(&mut self, host: u32, pkt: Ix) {
        let (at, tag) = (self.world.slab[pkt].pkt.seq, self.world.slab[pkt].pkt.tag);
        let frame = self.world.slab.take_control(at);
        self.world.slab.remove(pkt);
        self.take_control(host, &frame, tag);
    }

    #[inline]
    fn take_data(&mut self, host: u32, pkt: Ix, header: Packet) {
        self.at_nic(host, |stack, cx| stack.on_receive(cx, &header));
        self.world.slab.remove(pkt);
        if let Some(at) = self.flows.find(header.flow) {
            let recv = &mut self.flows.recv[at];
            recv.reordered += u64::from(header.seq < recv.furthest);
            recv.furthest = recv.furthest.max(header.seq + u64::from(header.payload));
            recv.marked += u64::from(header.ecn() == Ecn::Ce);
            let answer = if recv.recovery.is_some() {
                self.receive_reliably(at, &header)
            } else {
                recv.received += u64::from(header.payload);
                Answer::Ack(recv.received)
            };
            let (flow, recv) = (&self.flows.send[at], &mut self.flows.recv[at]);
            let whole = recv.received >= flow.available;
            if whole && flow.ended() && recv.last_byte == Time::NEVER {
                recv.last_byte = self.world.now;
                self.tell_job(at, Moment::LastByte);
            }
            if self.world.rules.ack.enabled {
                self.answer(host, at, &header, answer, whole);
            } else {
                self.flows.send[at].acked = self.flows.recv[at].received;
                self.maybe_complete(at);
            }
        }
        self.act_nic(host);
    }

    /// Acknowledges, unless there is another packet to be acknowledged with this one.
    #[inline(always)]
    fn answer(&mut self, host: u32, at: usize, data: &Packet, answer: Answer, whole: bool) {
        let recv = &mut self.flows.recv[at];
        recv.pending += 1;
        recv.pending_mark |= data.ecn() == Ecn::Ce;
        let (kind, upto) = match answer {
            Answer::Nothing => return,
            Answer::Ack(_) if recv.pending < self.world.rules.ack.every && !whole => return,
            Answer::Ack(upto) | Answer::Again(upto) => (Kind::Ack, upto),
            Answer::Nack(upto) | Answer::Beyond(upto) | Answer::Trimmed(upto) => (Kind::Nack, upto),
        };
        let sign = match answer {
            Answer::Trimmed(_) => TRIMMED,
            Answer::Beyond(_) => BEYOND,
            _ => 0,
        };
        recv.pending = 0;
        let marked = std::mem::take(&mut recv.pending_mark);
        let class = self.world.rules.ack.class.map_or(self.flows.send[at].own_class, crate::packet::Class);
        let dscp = self.hosts[host as usize].answers(class, data.ds.dscp());
        let pkt = Packet {
            src: data.dst,
            dst: data.src,
            entropy: Packet::entropy_of(data.dst, data.src, data.flow),
            size: self.world.rules.ack.size.0 as u32,
            payload: 0,
            seq: upto,
            uid: mix(data.uid),
            path: self.flows.send[at].back,
            hop: 0,
            kind,
            class,
            tag: if kind == Kind::Nack { data.seq | sign } else { 0 },
            // Echoes a mark; is not ECN-capable itself.
            ds: DsField::new(dscp, if marked { Ecn::Ce } else { Ecn::NotEct }),
            ..*data
        };
        self.express(host, pkt);
    }

    /// Queues an acknowledgement or a control frame at a host.
    pub(super) fn express(&mut self, host: u32, pkt: Packet) {
        let queue = usize::from(pkt.ds.dscp().priority().0);
        let ix = self.world.slab.insert(pkt);
        let (slab, h) = (&mut self.world.slab, &mut self.hosts[host as usize]);
        let port = h.port;
        if self.world.rules.ack.first_at_nic {
            h.express[queue].push(slab, ix);
            h.express_mask |= 1 << queue;
        } else {
            self.ports[port as usize].enqueue(slab, queue, ix);
        }
        self.kick(port);
    }

    fn take_ack(&mut self, header: Packet) {
        let Some(at) = self.flows.find(header.flow) else { return };
        let now = self.world.now;
        let flow = &mut self.flows.send[at];
        let further = header.seq > flow.acked;
        flow.acked = flow.acked.max(header.seq);
        let (controller, recovers) = (flow.controller, flow.recovery.is_some());
        let mut lost = false;
        if recovers {
            lost = self.learn(at, &header, further);
        } else if flow.status == Status::Windowed && controller == NO_CONTROLLER {
            self.ready(at as u32);
            self.kick(self.hosts[header.dst.0 as usize].port);
        }
        if controller != NO_CONTROLLER {
            let ack = Ack { received: header.seq, rtt: now - header.sent, marked: header.ecn() == Ecn::Ce };
            if lost {
                self.at_controller(controller, |side, cx| side.on_loss(cx, Loss::Gap));
            }
            self.at_controller(controller, |side, cx| side.on_ack(cx, &ack));
            self.repace(controller);
        }
        self.maybe_complete(at);
    }

    pub(super) fn maybe_complete(&mut self, at: usize) {
        let flow = &self.flows.send[at];
        if flow.acked < flow.available || !flow.ended() {
            return;
        }
        if self.flows.recv[at].last_byte == Time::NEVER {
            // A stream that ended after its last packet had been received.
            self.flows.recv[at].last_byte = self.world.now;
        }
        self.world.totals.progress.flows_done += 1;
        self.tell_job(at, Moment::LastAck);
        self.end_flow(at, State::Complete);
    }

    /// A flow is over: hands out its row, and gives back what it has held.
    pub(super) fn end_flow(&mut self, at: usize, state: State) {
        let row = self.flow_row(at, state);
        let group = row.group;
        self.world.rows.flows.push(row);
        self.end_waits(at);
        let listed = self.flows.send[at].status != Status::Idle && self.leave_lists(at);
        let flow = &self.flows.send[at];
        let controller = flow.controller;
        self.fabric.paths.take_out(self.flows.reference(at as u32));
        if controller != NO_CONTROLLER
            && let Some(gone) = self.controllers[controller as usize].take_if(|c| !c.kept)
        {
            let reach = &mut self.reach;
            A::flow_reach(&gone.side, &mut |owner, done| {
                reach[usize::from(owner.0)].join(done);
            });
            self.free_controllers.push(controller);
        }
        if listed {
            self.flows.bury(at as u32);
        } else {
            self.flows.remove(at as u32);
        }
        self.world.totals.last_deed = self.world.now;
        self.one_ended(group);
    }

    /// The row of a flow.
    pub(super) fn flow_row(&self, at: usize, state: State) -> FlowRow {
        let (flow, recv) = (&self.flows.send[at], &self.flows.recv[at]);
        let acknowledged = state == State::Complete && self.world.rules.ack.enabled;
        let sender = flow.recovery.as_ref();
        FlowRow {
            id: flow.id,
            group: flow.group,
            src: flow.src,
            dst: flow.dst,
            class: flow.own_class,
            bytes: flow.available,
            start: flow.start,
            fct_last_byte: (recv.last_byte != Time::NEVER).then(|| recv.last_byte - flow.start),
            fct_last_ack: acknowledged.then(|| self.world.now - flow.start),
            packets: flow.packets,
            received: recv.received,
            reordered: recv.reordered,
            marked: recv.marked,
            blocked: flow.stream.as_ref().map_or(0, |stream| stream.blocked),
            retransmitted: sender.map_or(0, |sender| sender.retransmitted),
            timeouts: sender.map_or(0, |sender| sender.timeouts),
            ideal: flow.ideal,
            state,
        }
    }

    /// Calls a hook of a NIC's stack.
    #[inline(always)]
    pub(super) fn at_nic<R>(&mut self, host: u32, f: impl FnOnce(&mut A::Nic, &mut NicCx<'_>) -> R) -> R {
        let h = &mut self.hosts[host as usize];
        let mut cx = NicCx { now: self.world.now, owner: Owner(0), shape: &h.shape, notes: &mut self.world.notes };
        f(&mut h.stack, &mut cx)
    }

    /// A promise that only the builder could have kept.
    #[cold]
    pub(super) fn broken(&mut self, reason: String, hint: &str) {
        self.world.totals.stopped = true;
        self.world.totals.broken = Some(Broken { time: self.world.now, reason, hint: hint.into() });
    }
}

impl<F: FlowSide> Controller<F> {
    /// When the packet after one sent at `sent` may go.
    fn due(&self, sent: Time) -> Time {
        let paced = match self.side.rate() {
            Some(rate) if rate < self.shape.line => sent.after(rate.time_for(Bytes(u64::from(self.last_size)))),
            _ => sent,
        };
        paced.max(self.side.stopped_until())
    }
}
