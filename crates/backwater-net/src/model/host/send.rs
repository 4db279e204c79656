//! Sending: flows take turns, as far as gates, pacing and windows allow.

use super::{Interface, PORT};
use crate::config::NicTurn;
use crate::model::event::{Event, controller_order};
use crate::model::hooks::{FlowCx, FlowHooks, FlowSide, LinkHooks, MechanismId, NicSide, Turn, Unsent};
use crate::model::host::flow::{Controller, NO_CONTROLLER, NO_FLOW, Status};
use crate::model::node::{Node, NodeCx};
use crate::model::packet::{Body, DataHeader, FlowRef, Packet, PathRef, Port as PortNo};
use crate::model::port::{Next, OWN_QUEUES, highest};
use crate::model::slab::Ix;
use crate::model::world::RunEffect;
use crate::topology::routing::NO_PATH;
use crate::units::Bytes;
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;

impl<N: NicSide, F: FlowSide> NodeCx<'_, Interface<'_, N, F>> {
    /// A flow may send (again).
    pub(crate) fn ready(&mut self, slot: u32) {
        if self.world.probes.waits.is_some() {
            self.account_waits(PORT);
        }
        self.node.line_up(slot);
    }

    /// A flow begins. Its interface has issued others for the time `waited`.
    pub(crate) fn begin(&mut self, slot: u32, waited: Time) {
        self.notify_begin(slot);
        self.ready(slot);
        if !self.node.sending(slot as usize).kept {
            self.begin_waits(slot, waited);
        }
        self.kick(PORT);
    }

    /// Notifies a flow's controller that the flow begins.
    pub(crate) fn notify_begin(&mut self, slot: u32) {
        let controller = self.node.sending(slot as usize).controller;
        if controller != NO_CONTROLLER {
            self.at_controller(controller, slot, |side, cx| side.on_start(cx));
            match self.node.controller_mut(controller) {
                Some(c) if c.slot == slot => c.next = c.side.stopped_until(),
                // Others may wait for its new rate.
                _ => self.repace(controller),
            }
        }
    }

    /// Notifies a flow's controller that the flow has ended.
    pub(crate) fn notify_end(&mut self, slot: u32) {
        let controller = self.node.sending(slot as usize).controller;
        if controller != NO_CONTROLLER {
            self.at_controller(controller, slot, |side, cx| side.on_end(cx));
        }
    }

    /// An idle flow has something to send.
    pub(crate) fn send_on(&mut self, slot: u32) {
        self.ready(slot);
        self.kick(PORT);
    }

    /// Takes a flow that ends out of the lists in which it waits. Returns whether its slot still stands in the list of ready flows: nothing
    /// can be removed from the middle of that list, so the slot is freed when its turn comes. Only flows that retransmit end like this.
    #[cold]
    pub(crate) fn leave_lists(&mut self, at: usize) -> bool {
        let slot = at as u32;
        let (host, flow, controller) = self.node.with_flow(slot);
        let list = match (flow.status, controller) {
            (Status::Ready, _) => return true,
            (Status::GateClosed, _) => &mut host.parked,
            (Status::Pacing, Some(c)) => &mut c.waiting,
            (Status::WindowLimited, Some(c)) => &mut c.window_limited,
            _ => return false,
        };
        list.retain(|listed| *listed != slot);
        false
    }

    /// Parked flows of a host try again.
    pub(crate) fn open_gate_of_flow(&mut self) {
        for slot in std::mem::take(&mut self.node.host.parked) {
            self.ready(slot);
        }
    }

    /// Starts the next transmission of a host's idle port.
    pub(super) fn serve_host(&mut self, port: u16) {
        if self.world.rules.nic.control_turns.is_some() || self.world.rules.nic.feed_rate.is_some() {
            return self.serve_slowly(port);
        }
        self.serve_with::<false>(port);
    }

    /// The same, if data takes turns with control, or waits for memory.
    #[cold]
    #[inline(never)]
    fn serve_slowly(&mut self, port: u16) {
        self.serve_with::<true>(port);
    }

    #[inline(always)]
    fn serve_with<const SLOW: bool>(&mut self, port: u16) {
        let mut open = self.ports[usize::from(port)].open;
        if self.world.rules.hooks.nic_links.has(LinkHooks::MAY_TRANSMIT) {
            open &= !self.refused(port);
        }
        // Frames that precede data do not wait for data to be made. Frames that a hook sends in the meantime wait: this turn belongs to the
        // frame found here.
        let mut first = self.ports[usize::from(port)].has_express(open);
        self.ports[usize::from(port)].busy = true;
        let mut queues = u32::MAX;
        if SLOW
            && first
            && let Some(turns) = self.world.rules.nic.control_turns
            && self.has_data(open)
            && self.node.host.is_turn_of_data(turns)
        {
            (first, queues) = (false, OWN_QUEUES);
        }
        while !first
            && self.node.host.ready_mask != 0
            && self.node.host.staged(open) < self.world.rules.nic.tx_queue.max(1)
            && !(SLOW && self.node.host.fetches_until > self.world.now)
        {
            let Some(slot) = self.next_flow(open) else { break };
            let pkt = self.send(slot);
            let (slab, h) = (&mut self.world.slab, &mut *self.node.host);
            let header = &slab[pkt].pkt;
            if SLOW && let (Some(rate), Body::Data(data)) = (self.world.rules.nic.feed_rate, &header.body) {
                h.fetches_until = self.world.now.after(rate.time_for(Bytes(u64::from(data.payload))));
            }
            let (class, queue) = (header.class, header.ds.dscp().priority());
            if self.world.rules.nic.weights.is_some() {
                h.took_turn(usize::from(class.0));
            }
            h.stage(queue);
            self.ports[usize::from(port)].enqueue(slab, usize::from(queue.0), pkt);
            if self.world.rules.hooks.port_events() {
                self.notify_enqueued(pkt);
            }
            if self.world.rules.hooks.nic_links.has(LinkHooks::MAY_TRANSMIT) {
                open &= !self.refused(port);
            }
        }
        self.ports[usize::from(port)].busy = false;
        if self.world.rules.hooks.nic_links.has(LinkHooks::MAY_TRANSMIT) {
            for slot in std::mem::take(&mut self.node.host.passed_over) {
                self.node.line_up(slot);
            }
        }
        let mut next = self.next_among(port, if SLOW { queues } else { u32::MAX });
        if SLOW && next == Next::Nothing && queues == OWN_QUEUES {
            next = self.next_after_all(port);
        }
        match next {
            Next::Packet(pkt) => {
                if self.world.slab[pkt].pkt.is_data() {
                    self.node.host.unstage(self.world.slab[pkt].pkt.ds.dscp().priority());
                }
                self.transmit(port, pkt);
            }
            Next::Wait(until) => {
                let fetched = self.node.host.fetches_until;
                self.wake(port, if SLOW && fetched > self.world.now { until.min(fetched) } else { until });
            }
            Next::Nothing
                if SLOW && self.node.host.ready_mask != 0 && self.node.host.fetches_until > self.world.now =>
            {
                self.wake(port, self.node.host.fetches_until);
            }
            Next::Nothing => {}
        }
    }

    /// Data that had its turn may not start: whatever waits beside it goes instead.
    #[cold]
    #[inline(never)]
    fn next_after_all(&mut self, port: u16) -> Next {
        self.next_among(port, u32::MAX)
    }

    /// Takes the next packet out of these queues of a port, a bit each.
    #[inline(always)]
    fn next_among(&mut self, port: u16, queues: u32) -> Next {
        let (slab, now) = (&self.world.slab, self.world.now);
        if self.world.rules.hooks.nic_links.has(LinkHooks::MAY_TRANSMIT) {
            let stack = &self.node.host.stack;
            let may_transmit = |queue, pkt: &Packet| stack.may_transmit(PortNo(port), queue, pkt);
            self.ports[usize::from(port)].next_among(queues, slab, now, may_transmit)
        } else {
            self.ports[usize::from(port)].next_among(queues, slab, now, |_, _| true)
        }
    }

    /// Returns whether a packet of data waits in an open queue, or a flow could make one.
    #[cold]
    #[inline(never)]
    fn has_data(&mut self, open: u32) -> bool {
        if self.node.host.staged(open) > 0 {
            return true;
        }
        let next = self.next_flow(open);
        if let Some(slot) = next {
            self.node.return_turn(slot);
        }
        next.is_some()
    }

    /// Mechanisms see a packet join a queue of the interface.
    #[cold]
    pub(super) fn notify_enqueued(&mut self, pkt: Ix) {
        let header = self.world.slab[pkt].pkt;
        self.at_nic(|stack, cx| stack.on_enqueue(cx, header.nic_queue(), &header));
        self.act_nic();
    }

    /// The flow that has the turn: round robin within the highest class with an open queue, or within the class whose turn it is by weight.
    /// Flows of other queues are passed over.
    #[inline(always)]
    fn next_flow(&mut self, open: u32) -> Option<u32> {
        loop {
            let h = &mut *self.node.host;
            let mask = h.ready_mask & h.classes_open(open);
            if mask == 0 {
                return None;
            }
            let class = match &self.world.rules.nic.weights {
                None => highest(mask),
                Some(weights) => h.weighted_turn(mask, weights),
            };
            let slot = self.node.pop_ready(class);
            let (h, flow, controller) = self.node.with_flow(slot);
            if !flow.live {
                self.node.free_slot(slot);
                continue;
            }
            if usize::from(flow.class.0) != class {
                // It has changed its class.
                self.ready(slot);
                continue;
            }
            if flow.turn_is_stale() {
                flow.status = Status::Idle;
                continue;
            }
            let queue = flow.ds.dscp().priority();
            if flow.shut != 0 || h.is_shut(queue, open) {
                if flow.shut == 0 && !h.is_shut(queue, self.ports[usize::from(PORT)].open) {
                    // Its gates are open: only the mechanism at its queue refuses it now.
                    h.passed_over.push(slot);
                    continue;
                }
                flow.status = Status::GateClosed;
                h.parked.push(slot);
                continue;
            }
            let Some(c) = controller else {
                if flow.in_flight(u64::from(self.world.rules.payload)) >= flow.window {
                    flow.status = Status::WindowLimited;
                    continue;
                }
                return Some(slot);
            };
            if c.next > self.world.now {
                flow.status = Status::Pacing;
                c.waiting.push(slot);
                // With a rate of zero no packet is due.
                if c.armed == Time::NEVER && c.next != Time::NEVER {
                    c.armed = c.next;
                    let event = Event::Pace { controller: flow.controller, tag: c.tag };
                    self.world.queue.push(c.next, controller_order(event, c.key), event);
                }
                continue;
            }
            let asked = c.side.window();
            let (controller, in_flight) = (flow.controller, flow.in_flight(u64::from(self.world.rules.payload)));
            let asked = match asked {
                None => u64::MAX,
                Some(Bytes(0)) => 0,
                Some(window) => window.0.max(self.world.rules.least_window()),
            };
            if in_flight >= asked.min(self.flow_window(slot))
                && !(self.world.rules.hooks.flow.has(FlowHooks::RETRANSMISSION_WINDOW) && self.may_retransmit(slot))
                || !self.may_send_next(slot)
            {
                self.node.sending_mut(slot as usize).status = Status::WindowLimited;
                if let Some(c) = self.node.controller_mut(controller) {
                    c.window_limited.push(slot);
                }
                continue;
            }
            return Some(slot);
        }
    }

    /// Makes the next packet of a flow.
    fn send(&mut self, slot: u32) -> Ix {
        let reference = self.node.reference(slot);
        let flow = self.node.sending_mut(slot as usize);
        let offset = flow.next_offset();
        let payload = (flow.available - offset).min(u64::from(self.world.rules.payload)) as u32;
        let (path, entropy) =
            if flow.ecmp_path == NO_PATH { (flow.path, flow.hash) } else { (PathRef::KNOWN, flow.ecmp_path) };
        let mut pkt = Packet {
            dst: flow.dst,
            entropy,
            flow: reference,
            size: payload + self.world.rules.header(flow.left),
            sent: self.world.now,
            uid: mix(flow.hash ^ flow.packets.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
            tag: 0,
            path,
            hop: 0,
            body: Body::Data(DataHeader { src: flow.src, payload, offset, ev: 0, flags: 0 }),
            class: flow.class,
            ds: flow.ds,
            step: flow.step,
        };
        flow.sent = flow.sent.max(offset + u64::from(payload));
        flow.packets += 1;
        let (more, controller, class) = (flow.has_more(), flow.controller, flow.class);
        let special = flow.transport.is_some() || self.world.rules.hooks.flow.has(FlowHooks::ON_TURN);
        if controller != NO_CONTROLLER && !special {
            self.at_controller(controller, slot, |side, cx| side.on_send(cx, &mut pkt));
            self.pace_after(controller, pkt.size);
        }
        let ix = self.world.slab.insert(pkt);
        if special {
            self.send_watched(controller, slot, ix);
        }
        if more && self.world.rules.nic.turn == NicTurn::Message && self.node.sending(slot as usize).class == class {
            self.node.return_turn(slot);
        } else if more {
            self.node.line_up(slot);
        } else {
            self.node.sending_mut(slot as usize).status = Status::Idle;
            if self.world.rules.tells_sent && self.node.sending(slot as usize).transport.is_none() {
                self.world.effects.push(RunEffect::AllSent { slot, from: 0 });
            }
        }
        if self.world.rules.hooks.flow.has(FlowHooks::ATTACH) {
            self.attach(controller, ix);
        }
        ix
    }

    /// Sends a packet of a flow that retransmits, or whose controller permits each packet. This path is separate from that of other flows,
    /// and works on the packet in place, so that other packets are assembled in their place only.
    #[cold]
    #[inline(never)]
    fn send_watched(&mut self, controller: u32, slot: u32, ix: Ix) {
        let mut pkt = self.world.slab[ix].pkt;
        self.note_sent(slot, &mut pkt);
        if controller != NO_CONTROLLER {
            if self.world.rules.hooks.flow.has(FlowHooks::ON_TURN) {
                self.notify_turn(controller, slot, &mut pkt);
            } else {
                self.at_controller(controller, slot, |side, cx| side.on_send(cx, &mut pkt));
            }
            self.pace_after(controller, pkt.size);
        }
        self.request_ack(slot, &mut pkt);
        self.world.slab[ix].pkt = pkt;
    }

    /// A packet sets out with what its flow's controller attaches.
    #[cold]
    fn attach(&mut self, controller: u32, pkt: Ix) {
        let Some(c) = self.node.controller_mut(controller) else { return };
        let header = &self.world.slab[pkt].pkt;
        if let Some(attachment) = c.side.attach(header) {
            self.world.attachments.put(pkt, header.uid, attachment);
        }
    }

    /// Calls a hook of a flow's stack, about the flow of this slot (`NO_FLOW`: about none), and carries out its actions.
    #[inline(always)]
    pub(crate) fn at_controller<R>(
        &mut self,
        controller: u32,
        slot: u32,
        f: impl FnOnce(&mut F, &mut FlowCx<'_>) -> R,
    ) -> Option<R> {
        let (c, of) = self.node.controller_with(controller, slot)?;
        let own;
        let shape = match of {
            Some(flow) if c.slot == NO_FLOW => {
                own = flow.shape(&c.shape);
                &own
            }
            _ => &c.shape,
        };
        let mut cx = FlowCx {
            now: self.world.now,
            owner: MechanismId(0),
            shape,
            flow: of.map(|flow| FlowRef { slot, tag: flow.tag }),
            of: of.map(|flow| flow as &dyn Unsent),
            actions: &mut self.world.actions.flow,
        };
        let result = f(&mut c.side, &mut cx);
        if !self.world.actions.flow.is_empty() {
            self.carry_out_flow(controller);
        }
        Some(result)
    }

    /// Notifies a flow's controller that one of its packets leaves, and what remains after it.
    #[cold]
    fn notify_turn(&mut self, controller: u32, slot: u32, pkt: &mut Packet) {
        let left = self.node.sending(slot as usize).left;
        let (step, header) = (u64::from(self.world.rules.payload), u64::from(self.world.rules.header(left)));
        let (waiting, window) =
            (self.node.ready_count() + 1, self.node.controller(controller).and_then(|c| c.side.window()));
        let Some((c, Some(flow))) = self.node.controller_with(controller, slot) else { return };
        let (new, retransmission) = flow.unsent(step);
        let frames = |(bytes, packets): (u64, u64)| bytes + packets * header;
        let turn = Turn { backlog: frames(new), retransmissions: frames(retransmission), window, waiting };
        let own = flow.shape(&c.shape);
        let mut cx = FlowCx {
            now: self.world.now,
            owner: MechanismId(0),
            shape: &own,
            flow: Some(FlowRef { slot, tag: flow.tag }),
            of: Some(flow as &dyn Unsent),
            actions: &mut self.world.actions.flow,
        };
        c.side.on_turn(&mut cx, pkt, &turn);
        if !self.world.actions.flow.is_empty() {
            self.carry_out_flow(controller);
        }
    }

    fn pace_after(&mut self, controller: u32, size: u32) {
        let (now, gap) = (self.world.now, self.world.rules.gap);
        let Some(c) = self.node.controller_mut(controller) else { return };
        (c.last, c.last_size) = (now, size + gap);
        c.next = c.due(now);
    }

    /// The rate may have changed: moves the next packet's time, and wakes waiting flows if that time is now nearer.
    pub(crate) fn repace(&mut self, controller: u32) {
        let now = self.world.now;
        let Some(mut c) = self.node.controller_mut(controller) else { return };
        if !c.window_limited.is_empty() {
            // Flows that the window releases wait for the time that a hook forbids, not for the time of the new rate. The new rate applies
            // from the packet after. This order was chosen by its outcome: HPCC's ns-3 code applies the rate first (ChangeRate), and with
            // that order one case of the comparison with it was 2 to 3 % farther off (docs/design/hosts.md, "Rates and windows").
            c.next = c.next.max(c.side.stopped_until());
            self.check_window(controller);
            let Some(same) = self.node.controller_mut(controller) else { return };
            c = same;
        }
        let next = c.due(c.last);
        if next == c.next {
            return;
        }
        c.next = next;
        if c.waiting.is_empty() {
            return;
        }
        let event = Event::Pace { controller, tag: c.tag };
        let at = next.max(now);
        c.armed = at;
        if at == Time::NEVER {
            return;
        }
        if at == now {
            return self.pace(controller);
        }
        self.world.queue.push(at, controller_order(event, c.key), event);
    }

    /// The window may have opened, or bytes have been acknowledged: flows that it has stopped try again.
    #[cold]
    pub(crate) fn check_window(&mut self, controller: u32) {
        let Some(c) = self.node.controller_mut(controller) else { return };
        for slot in std::mem::take(&mut c.window_limited) {
            self.ready(slot);
        }
        self.kick(PORT);
    }

    /// Flows of a controller may be due.
    pub(crate) fn pace(&mut self, controller: u32) {
        let now = self.world.now;
        // The rate has changed since, and a later event is armed: that one counts.
        let valid = |c: &&mut Controller<F>| c.armed == now;
        let Some(c) = self.node.controller_mut(controller).filter(valid) else { return };
        c.armed = Time::NEVER;
        if c.next > now {
            // Another flow of this controller has sent since this was armed.
            if !c.waiting.is_empty() && c.next != Time::NEVER {
                c.armed = c.next;
                let event = Event::Pace { controller, tag: c.tag };
                self.world.queue.push(c.next, controller_order(event, c.key), event);
            }
            return;
        }
        for slot in std::mem::take(&mut c.waiting) {
            self.ready(slot);
        }
        self.kick(PORT);
    }
}

impl<F: FlowSide> Controller<F> {
    /// Returns the earliest time of the packet after one sent at `sent`.
    fn due(&mut self, sent: Time) -> Time {
        let paced = match self.side.rate() {
            Some(rate) if rate < self.shape.line => {
                if self.gap_of != (rate, self.last_size) {
                    self.gap_of = (rate, self.last_size);
                    self.gap = rate.time_for(Bytes(u64::from(self.last_size)));
                }
                sent.after(self.gap)
            }
            _ => sent,
        };
        paced.max(self.side.stopped_until())
    }
}
