//! Hosts: sending by per-flow round robin, pacing and gates; receiving, acknowledging, completing.

use super::{Actors, Event, Network, controller_order};
use crate::flow::{Controller, NO_CONTROLLER, Status};
use crate::hooks::{Ack, FlowCx, FlowSide, NicCx, NicShape, NicSide, Owner};
use crate::packet::{CLASSES, Ecn, HostId, Kind, Packet};
use crate::port::Next;
use crate::record::{Broken, FlowRow};
use crate::slab::{Fifo, Ix, Slab};
use crate::units::Bytes;
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;
use std::collections::VecDeque;

/// A host's interface.
pub(super) struct Host<N> {
    pub port: u32,
    pub shape: NicShape,
    pub stack: N,
    /// Flows that may send, per class.
    ring: [VecDeque<u32>; CLASSES],
    ring_mask: u8,
    /// Acknowledgements and control frames that go before data, per class.
    express: [Fifo; CLASSES],
    express_mask: u8,
    /// Data frames in the transmit queue, per class.
    staged: [u32; CLASSES],
    /// Flows for which a gate is shut.
    parked: Vec<u32>,
    /// Owners that hold flows to a host shut, a bit each.
    dest_shut: Vec<(HostId, u16)>,
    pub rx: Option<Box<SlowReceiver>>,
}

/// What a host will probably send next.
pub(super) enum NextUp {
    Packet(Ix),
    Flow(u32),
    Nothing,
}

/// A receive buffer that is emptied too slowly.
pub(super) struct SlowReceiver {
    pub rate: crate::units::Rate,
    pub xoff: u64,
    pub xon: u64,
    pub class: crate::packet::Class,
    pub fifo: Fifo,
    pub bytes: u64,
    pub holding: bool,
    pub draining: bool,
}

impl<N> Host<N> {
    pub fn new(port: u32, shape: NicShape, stack: N) -> Host<N> {
        Host {
            port,
            shape,
            stack,
            ring: Default::default(),
            ring_mask: 0,
            express: [Fifo::default(); CLASSES],
            express_mask: 0,
            staged: [0; CLASSES],
            parked: Vec::new(),
            dest_shut: Vec::new(),
            rx: None,
        }
    }

    /// Data frames in the transmit queue that may leave: those of a paused class must not keep others from it.
    #[inline(always)]
    fn staged(&self, open: u8) -> u32 {
        if open == u8::MAX {
            return self.staged.iter().sum();
        }
        let classes = self.staged.iter().enumerate();
        classes.map(|(class, staged)| if open & (1 << class) != 0 { *staged } else { 0 }).sum()
    }

    fn ring_push(&mut self, class: usize, slot: u32) {
        self.ring[class].push_back(slot);
        self.ring_mask |= 1 << class;
    }

    /// What it will probably send next.
    #[inline(always)]
    pub fn next_up(&self) -> NextUp {
        if let Some(class) = self.express_mask.checked_ilog2() {
            return self.express[class as usize].head().map_or(NextUp::Nothing, NextUp::Packet);
        }
        let flow = self.ring_mask.checked_ilog2().and_then(|class| self.ring[class as usize].front());
        flow.map_or(NextUp::Nothing, |slot| NextUp::Flow(*slot))
    }

    pub fn set_dest(&mut self, dest: HostId, owner: Owner, shut: bool) {
        let bit = 1u16 << owner.0;
        match self.dest_shut.iter_mut().find(|(d, _)| *d == dest) {
            Some((_, owners)) if shut => *owners |= bit,
            Some((_, owners)) => *owners &= !bit,
            None if shut => self.dest_shut.push((dest, bit)),
            None => {}
        }
        self.dest_shut.retain(|(_, owners)| *owners != 0);
    }
}

impl<A: Actors> Network<A> {
    /// Puts a flow into its NIC's ring.
    pub(super) fn ready(&mut self, slot: u32) {
        let flow = &mut self.flows.send[slot as usize];
        flow.status = Status::Ready;
        self.hosts[flow.src.0 as usize].ring_push(usize::from(flow.class.0), slot);
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
            let class = 7 - mask.leading_zeros() as usize;
            let Some(pkt) = h.express[class].pop(&self.slab) else { return };
            if h.express[class].is_empty() {
                h.express_mask &= !(1 << class);
            }
            return self.transmit(port, pkt);
        }
        while self.hosts[host as usize].staged(open) < self.nic.tx_queue.max(1) {
            let Some(slot) = self.next_flow(host, open) else { break };
            let pkt = self.send(slot);
            let (slab, h) = (&mut self.slab, &mut self.hosts[host as usize]);
            let class = usize::from(slab[pkt].pkt.class.0);
            h.staged[class] += 1;
            self.ports[port as usize].push(slab, class, pkt);
        }
        match self.ports[port as usize].next(&self.slab, self.now) {
            Next::Packet(pkt) => {
                if self.slab[pkt].pkt.kind == Kind::Data {
                    let class = usize::from(self.slab[pkt].pkt.class.0);
                    self.hosts[host as usize].staged[class] -= 1;
                }
                self.transmit(port, pkt);
            }
            Next::Wait(until) => self.wake(port, until),
            Next::Nothing => {}
        }
    }

    /// The flow whose turn it is: round robin within the highest class whose gate is open.
    fn next_flow(&mut self, host: u32, open: u8) -> Option<u32> {
        let h = &mut self.hosts[host as usize];
        loop {
            let mask = h.ring_mask & open;
            if mask == 0 {
                return None;
            }
            let class = 7 - mask.leading_zeros() as usize;
            let slot = h.ring[class].pop_front()?;
            if h.ring[class].is_empty() {
                h.ring_mask &= !(1 << class);
            }
            let flow = &mut self.flows.send[slot as usize];
            let dest_shut = !h.dest_shut.is_empty() && h.dest_shut.iter().any(|(d, _)| *d == flow.dst);
            if flow.shut != 0 || dest_shut {
                flow.status = Status::Parked;
                h.parked.push(slot);
                continue;
            }
            if flow.controller == NO_CONTROLLER {
                return Some(slot);
            }
            let Some(c) = self.controllers[flow.controller as usize].as_mut() else { return Some(slot) };
            if c.next > self.now {
                flow.status = Status::Pacing;
                c.waiting.push(slot);
                if c.armed == Time::NEVER {
                    c.armed = c.next;
                    let event = Event::Pace { controller: flow.controller, tag: c.tag };
                    self.queue.push(c.next, controller_order(event, c.key), event);
                }
                continue;
            }
            if c.side.window().is_some_and(|w| flow.sent - flow.acked >= w.0) {
                flow.status = Status::Windowed;
                c.windowed.push(slot);
                continue;
            }
            return Some(slot);
        }
    }

    /// Makes the next packet of a flow.
    fn send(&mut self, slot: u32) -> Ix {
        let reference = self.flows.reference(slot);
        let flow = &mut self.flows.send[slot as usize];
        let payload = (flow.available - flow.sent).min(u64::from(self.payload)) as u32;
        let mut pkt = Packet {
            src: flow.src,
            dst: flow.dst,
            flow: reference,
            size: payload + self.header,
            payload,
            seq: flow.sent,
            sent: self.now,
            uid: mix(flow.hash ^ flow.packets.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
            tag: 0,
            path: flow.path,
            hop: 0,
            kind: Kind::Data,
            class: flow.class,
            ecn: if flow.ect { Ecn::Ect } else { Ecn::NotEct },
        };
        flow.sent += u64::from(payload);
        flow.packets += 1;
        let (more, controller) = (flow.sent < flow.available, flow.controller);
        if controller != NO_CONTROLLER {
            self.at_controller(controller, |side, cx| side.on_send(cx, &mut pkt));
            self.pace_after(controller, pkt.size);
        }
        if more {
            self.ready(slot);
        } else {
            self.flows.send[slot as usize].status = Status::Idle;
        }
        self.slab.insert(pkt)
    }

    /// Calls a hook of a flow's stack, and acts on its timers.
    #[inline(always)]
    pub(super) fn at_controller<R>(
        &mut self,
        controller: u32,
        f: impl FnOnce(&mut A::Flow, &mut FlowCx<'_>) -> R,
    ) -> Option<R> {
        let before = self.notes.len();
        let c = self.controllers[controller as usize].as_mut()?;
        let mut cx = FlowCx { now: self.now, owner: Owner(0), shape: &c.shape, notes: &mut self.notes };
        let result = f(&mut c.side, &mut cx);
        if self.notes.len() > before {
            self.arm_flow_timers(controller, before);
        }
        Some(result)
    }

    fn pace_after(&mut self, controller: u32, size: u32) {
        let (now, gap) = (self.now, self.gap);
        let Some(c) = self.controllers[controller as usize].as_mut() else { return };
        (c.last, c.last_size) = (now, size + gap);
        c.next = c.due(now);
    }

    /// The rate may have changed: moves the next packet's time, and wakes those who wait if it has come nearer.
    pub(super) fn repace(&mut self, controller: u32) {
        let now = self.now;
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
            if at == now {
                return self.pace(controller, self.controllers[controller as usize].as_ref().map_or(0, |c| c.tag));
            }
            self.queue.push(at, controller_order(event, c.key), event);
        }
    }

    /// The window may have opened, or bytes have been acknowledged: flows that it has stopped look again.
    #[cold]
    fn look_at_window(&mut self, controller: u32) {
        let Some(c) = self.controllers[controller as usize].as_mut() else { return };
        let src = c.shape.src.0 as usize;
        for slot in std::mem::take(&mut c.windowed) {
            self.ready(slot);
        }
        self.kick(self.hosts[src].port);
    }

    pub(super) fn pace(&mut self, controller: u32, tag: u16) {
        let now = self.now;
        // Armed anew since, the rate having changed: the later event counts.
        let valid = |c: &&mut Controller<A::Flow>| c.tag == tag && c.armed == now;
        let Some(c) = self.controllers[controller as usize].as_mut().filter(valid) else { return };
        c.armed = Time::NEVER;
        if c.next > now {
            // Another flow of this controller has sent since this was armed.
            if !c.waiting.is_empty() {
                c.armed = c.next;
                let event = Event::Pace { controller, tag };
                self.queue.push(c.next, controller_order(event, c.key), event);
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
        let header = self.slab[pkt].pkt;
        match header.kind {
            Kind::Data => self.take_data(host, pkt, header),
            Kind::Ack => {
                self.slab.remove(pkt);
                self.take_ack(header);
            }
            Kind::Control | Kind::Mac => {
                let frame = self.slab.take_control(header.seq);
                self.slab.remove(pkt);
                self.take_control(host, &frame);
            }
        }
    }

    #[inline]
    fn take_data(&mut self, host: u32, pkt: Ix, header: Packet) {
        self.at_nic(host, |stack, cx| stack.on_receive(cx, &header));
        self.slab.remove(pkt);
        if let Some(at) = self.flows.find(header.flow) {
            let recv = &mut self.flows.recv[at];
            recv.received += u64::from(header.payload);
            recv.reordered += u64::from(header.seq < recv.furthest);
            recv.furthest = recv.furthest.max(header.seq + u64::from(header.payload));
            recv.marked += u64::from(header.ecn == Ecn::Ce);
            let received = recv.received;
            let flow = &self.flows.send[at];
            if received >= flow.available && flow.ended() {
                recv.last_byte = Some(self.now);
            }
            if self.ack.enabled {
                self.acknowledge(host, at, &header, received);
            } else {
                self.flows.send[at].acked = received;
                self.maybe_complete(at);
            }
        }
        self.act_nic(host);
    }

    fn acknowledge(&mut self, host: u32, at: usize, data: &Packet, received: u64) {
        let class = self.ack.class.map_or(data.class, crate::packet::Class);
        let pkt = Packet {
            src: data.dst,
            dst: data.src,
            size: self.ack.size.0 as u32,
            payload: 0,
            seq: received,
            uid: mix(data.uid),
            path: self.flows.send[at].back,
            hop: 0,
            kind: Kind::Ack,
            class,
            tag: 0,
            // Echoes a mark; is not ECN-capable itself.
            ecn: if data.ecn == Ecn::Ce { Ecn::Ce } else { Ecn::NotEct },
            ..*data
        };
        self.express(host, pkt);
    }

    /// Queues an acknowledgement or a control frame at a host.
    pub(super) fn express(&mut self, host: u32, pkt: Packet) {
        let class = usize::from(pkt.class.0);
        let ix = self.slab.insert(pkt);
        let (slab, h) = (&mut self.slab, &mut self.hosts[host as usize]);
        let port = h.port;
        if self.ack.first_at_nic {
            h.express[class].push(slab, ix);
            h.express_mask |= 1 << class;
        } else {
            self.ports[port as usize].push(slab, class, ix);
        }
        self.kick(port);
    }

    fn take_ack(&mut self, header: Packet) {
        let Some(at) = self.flows.find(header.flow) else { return };
        let now = self.now;
        let flow = &mut self.flows.send[at];
        flow.acked = flow.acked.max(header.seq);
        let controller = flow.controller;
        if controller != NO_CONTROLLER {
            let ack = Ack { received: header.seq, rtt: now - header.sent, marked: header.ecn == Ecn::Ce };
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
        if self.flows.recv[at].last_byte.is_none() {
            // A stream that ended after its last packet had been received.
            self.flows.recv[at].last_byte = Some(self.now);
        }
        let row = self.flow_row(at, Some(self.now));
        self.rows.flows.push(row);
        self.totals.progress.flows_done += 1;
        let flow = &self.flows.send[at];
        let (path, back, controller) = (flow.path, flow.back, flow.controller);
        self.paths.remove(path);
        self.paths.remove(back);
        if controller != NO_CONTROLLER && self.controllers[controller as usize].as_ref().is_some_and(|c| !c.kept) {
            self.controllers[controller as usize] = None;
            self.free_controllers.push(controller);
        }
        self.flows.remove(at as u32);
    }

    /// The row of a flow; `last_ack`: when it completed.
    pub(super) fn flow_row(&self, at: usize, last_ack: Option<Time>) -> FlowRow {
        let (flow, recv) = (&self.flows.send[at], &self.flows.recv[at]);
        FlowRow {
            id: flow.id,
            group: flow.group,
            src: flow.src,
            dst: flow.dst,
            class: flow.class,
            bytes: flow.available,
            start: flow.start,
            fct_last_byte: recv.last_byte.map(|t| t - flow.start),
            fct_last_ack: last_ack.filter(|_| self.ack.enabled).map(|t| t - flow.start),
            packets: flow.packets,
            received: recv.received,
            reordered: recv.reordered,
            marked: recv.marked,
            blocked: flow.stream.as_ref().map_or(0, |stream| stream.blocked),
        }
    }

    /// The hash by which a packet without a pinned path is spread.
    #[inline]
    pub(super) fn path_hash(&self, pkt: Ix) -> u64 {
        let header = &self.slab[pkt].pkt;
        let own = mix(u64::from(header.src.0) << 32 | u64::from(header.dst.0)) ^ u64::from(header.flow.tag);
        match (header.kind, self.flows.find(header.flow)) {
            (Kind::Data, Some(at)) => self.flows.send[at].hash,
            _ => own,
        }
    }

    /// Calls a hook of a NIC's stack.
    #[inline(always)]
    pub(super) fn at_nic<R>(&mut self, host: u32, f: impl FnOnce(&mut A::Nic, &mut NicCx<'_>) -> R) -> R {
        let h = &mut self.hosts[host as usize];
        let mut cx = NicCx { now: self.now, owner: Owner(0), shape: &h.shape, notes: &mut self.notes };
        f(&mut h.stack, &mut cx)
    }

    /// A promise that only the builder could have kept.
    #[cold]
    pub(super) fn broken(&mut self, reason: String, hint: &str) {
        self.totals.stopped = true;
        self.totals.broken = Some(Broken { time: self.now, reason, hint: hint.into() });
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

impl SlowReceiver {
    /// Takes the next packet out.
    pub fn pop(&mut self, slab: &Slab) -> Option<Ix> {
        let pkt = self.fifo.pop(slab)?;
        self.bytes -= u64::from(slab[pkt].pkt.size);
        Some(pkt)
    }
}
