//! Follows recorded flows through the network and says what they waited for ([`crate::waits`]). Costs nothing where no flow is recorded:
//! every port is then as special as one that is captured, and all begins there.
//!
//! What a port does between two events stays the same, so whoever waits there is told before each of them (`pass_waits`): a frame
//! begins or ends on the wire, a gate moves, a packet leaves its lane, a flow becomes ready.

use super::Probes;
use super::account::{Account, Cause, Stand};
use crate::hooks::{FlowSide, NicSide, Owner, SwitchSide};
use crate::host::flow::Status;
use crate::host::{Interface, PORT};
use crate::node::{At, Node};
use crate::packet::{CLASSES, FlowRef, Packet, Port as PortNo};
use crate::slab::Ix;
use crate::switch::Switch;
use backwater_engine::Time;
use std::collections::HashMap;

/// What a port has on the wire.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Wire {
    pkt: Ix,
    flow: FlowRef,
    cause: Cause,
}

/// The recorded flows of a run.
#[derive(backwater_derive::State)]
pub(crate) struct Waits {
    /// Per group: whether it is recorded.
    #[state(fixed)]
    pub(crate) groups: Vec<bool>,
    /// Per port: where something of recorded flows waits.
    pub(crate) stands: Vec<Vec<Stand>>,
    wire: Vec<Option<Wire>>,
    /// Per port: queues whose first packets a mechanism did not let start when the port last looked for work, a bit each.
    refused: Vec<u32>,
    /// Of packets between two ports, and when a slow receiver got them.
    #[state(sorted)]
    carried: HashMap<Ix, (Account, Time)>,
    /// What the last packet to arrive of a flow had waited for, and when it came.
    #[state(sorted)]
    pub(crate) latest: HashMap<FlowRef, (Account, Time)>,
}

impl Waits {
    pub fn new(groups: Vec<bool>, ports: usize) -> Option<Box<Waits>> {
        let (carried, latest) = (HashMap::new(), HashMap::new());
        let stands = std::iter::repeat_with(Vec::new).take(ports).collect();
        let waits = Waits { groups, stands, wire: vec![None; ports], refused: vec![0; ports], carried, latest };
        waits.groups.contains(&true).then(|| Box::new(waits))
    }

    /// What a packet between two ports had waited for, and when it left.
    pub(crate) fn between(&self, pkt: Ix) -> Option<(Account, Time)> {
        self.carried.get(&pkt).cloned()
    }

    fn stand(&mut self, port: u32, flow: FlowRef) -> Option<&mut Stand> {
        self.stands[port as usize].iter_mut().find(|stand| stand.flow == flow)
    }
}

/// What keeps a flow at its source, if that is not its port, and the queue that its next packet will join.
#[derive(Clone, Copy)]
pub(crate) struct AtSource {
    cause: Option<Cause>,
    queue: u8,
}

impl<N> At<'_, N>
where
    Self: Node,
{
    /// Whoever waits at a port has done so until now, for what it now is that keeps them; `at_source` says what keeps a flow, and not
    /// its port, from sending.
    pub(crate) fn pass_stands(&mut self, port: u16, at_source: impl Fn(&Self, &Stand) -> Option<AtSource>) {
        let (global, now) = (self.global(port), self.world.now);
        let Some(waits) = &mut self.world.probes.waits else { return };
        let mut stands = std::mem::take(&mut waits.stands[global as usize]);
        for stand in stands.iter_mut().filter(|stand| stand.waits(now)) {
            let source = if stand.source { at_source(self, stand) } else { None };
            if let Some(cause) = self.cause(port, stand, source) {
                stand.pass(global, cause, now);
            }
        }
        if let Some(waits) = &mut self.world.probes.waits {
            waits.stands[global as usize] = stands;
        }
    }

    /// What keeps a flow's first packet from leaving a port.
    fn cause(&self, port: u16, stand: &Stand, source: Option<AtSource>) -> Option<Cause> {
        let p = &self.ports[usize::from(port)];
        let queue = stand.queue().or(source.map(|source| source.queue))? % CLASSES as u8;
        let closed = p.open & (1 << queue) == 0;
        let (waits, global) = (self.world.probes.waits.as_ref()?, self.global(port) as usize);
        let on_wire = waits.wire[global];
        let at_source = source.and_then(|source| source.cause);
        if let (None, Some(owner)) = (at_source, stand.lane()) {
            return Some(Cause::Lane(owner));
        }
        Some(match (at_source, on_wire) {
            (Some(cause), _) => cause,
            _ if closed && p.held_until(queue, self.world.now) => Cause::Paused,
            _ if closed => Cause::Shut(p.shut_by(queue)),
            _ if waits.refused[global] & (1 << queue) != 0 => Cause::Credit,
            (_, Some(wire)) => wire.cause,
            _ => Cause::Fabric,
        })
    }

    /// A port looks for work, and mechanisms do not let the first packets of these queues start, a bit each.
    pub(crate) fn note_refused(&mut self, port: u16, refused: u32) {
        let global = self.global(port) as usize;
        if self.world.probes.waits.as_ref().is_none_or(|waits| waits.refused[global] == refused) {
            return;
        }
        self.pass_waits(port);
        if let Some(waits) = &mut self.world.probes.waits {
            waits.refused[global] = refused;
        }
    }

    /// A frame begins on the wire of a port.
    #[cold]
    pub(crate) fn wire_begins(&mut self, port: u16, pkt: Ix) {
        let global = self.global(port) as usize;
        if let Some(before) = self.world.probes.waits.as_ref().and_then(|waits| waits.wire[global]) {
            // It has left, and a mechanism that saw it go has sent this one at once.
            self.wire_ends(port, before.pkt);
        }
        self.pass_waits(port);
        let header = self.world.slab[pkt].pkt;
        let cause =
            if header.is_data() { Cause::Behind(self.world.probes.who.find(header.flow)) } else { Cause::Control };
        let Some(waits) = &mut self.world.probes.waits else { return };
        waits.wire[global] = Some(Wire { pkt, flow: header.flow, cause });
        if header.is_data()
            && let Some(stand) = waits.stand(global as u32, header.flow)
        {
            let account = stand.begin(pkt);
            waits.carried.insert(pkt, (account, self.world.now));
        }
    }

    /// A frame begins there that is sent again: with what it had waited for until then.
    #[cold]
    pub(crate) fn wire_begins_again(&mut self, port: u16, pkt: Ix, waited: Option<(Account, Time)>) {
        let global = self.global(port) as usize;
        if let Some(before) = self.world.probes.waits.as_ref().and_then(|waits| waits.wire[global]) {
            self.wire_ends(port, before.pkt);
        }
        self.pass_waits(port);
        let flow = self.world.slab[pkt].pkt.flow;
        let Some(waits) = &mut self.world.probes.waits else { return };
        waits.wire[global] = Some(Wire { pkt, flow, cause: Cause::Again });
        if let Some(waited) = waited {
            waits.carried.insert(pkt, waited);
        }
    }

    /// A frame has left.
    #[cold]
    pub(crate) fn wire_ends(&mut self, port: u16, pkt: Ix) {
        let global = self.global(port) as usize;
        let on_wire = |waits: &Waits| waits.wire[global].filter(|wire| wire.pkt == pkt);
        let Some(wire) = self.world.probes.waits.as_deref().and_then(on_wire) else { return };
        self.pass_waits(port);
        let Some(waits) = &mut self.world.probes.waits else { return };
        waits.wire[global] = None;
        if let Some(stand) = waits.stand(global as u32, wire.flow) {
            stand.end(pkt, self.world.now);
        }
        waits.stands[global].retain(|stand| !stand.is_over());
    }
}

impl<S: SwitchSide> At<'_, &mut Switch<S>> {
    /// Packets that have joined queues of a switch come to wait there.
    pub(crate) fn enter_joined(&mut self) {
        let Some(watch) = &mut self.node.watch else { return };
        for (port, pkt, ready) in std::mem::take(&mut watch.joined) {
            self.enter_waits(port, pkt, ready, None);
        }
    }

    fn enter_waits(&mut self, port: PortNo, pkt: Ix, ready: Time, lane: Option<Owner>) {
        let (port, slot) = (self.global(port.0), &self.world.slab[pkt]);
        let (flow, queue) = (slot.pkt.flow, slot.place.queue.0);
        let Some(waits) = &mut self.world.probes.waits else { return };
        if !slot.pkt.is_data() {
            return;
        }
        let Some((account, _)) = waits.carried.remove(&pkt) else { return };
        if let Some(stand) = waits.stand(port, flow) {
            return stand.enter(pkt, queue, ready, account, lane);
        }
        let mut stand = Stand::new(flow, false, ready);
        stand.enter(pkt, queue, ready, account, lane);
        waits.stands[port as usize].push(stand);
    }

    /// A packet comes to wait in a lane.
    pub(crate) fn lane_waits(&mut self, owner: Owner, pkt: Ix) {
        if self.world.probes.waits.is_some() {
            self.enter_joined();
            let slot = &self.world.slab[pkt];
            self.enter_waits(slot.place.egress, pkt, slot.ready.max(self.world.now), Some(owner));
        }
    }

    /// A packet leaves its queue without being sent, and will wait in another.
    pub(crate) fn queue_again_waits(&mut self, pkt: Ix) {
        if self.world.probes.waits.is_none() {
            return;
        }
        let (egress, flow) = (self.world.slab[pkt].place.egress, self.world.slab[pkt].pkt.flow);
        self.pass_waits(egress.0);
        let (port, now) = (self.global(egress.0), self.world.now);
        let Some(waits) = &mut self.world.probes.waits else { return };
        if let Some(account) = waits.stand(port, flow).and_then(|stand| stand.take_back(pkt)) {
            waits.carried.insert(pkt, (account, now));
        }
        waits.stands[port as usize].retain(|stand| !stand.is_over());
    }

    /// A packet leaves its lane.
    pub(crate) fn leave_lane_waits(&mut self, pkt: Ix) {
        if self.world.probes.waits.is_some() {
            let (egress, flow) = (self.world.slab[pkt].place.egress, self.world.slab[pkt].pkt.flow);
            self.pass_waits(egress.0);
            let port = self.global(egress.0);
            self.world
                .probes
                .waits
                .as_mut()
                .and_then(|waits| waits.stand(port, flow))
                .into_iter()
                .for_each(|stand| stand.leave_lane(pkt));
        }
    }
}

impl<N: NicSide, F: FlowSide> At<'_, Interface<'_, N, F>> {
    /// A flow begins at its source, for which it has waited while others were issued.
    #[cold]
    pub(crate) fn begin_waits(&mut self, slot: u32, waited: Time) {
        let (group, reference) = (self.node.sending(slot as usize).group, self.node.reference(slot));
        let port = self.global(PORT);
        let Some(waits) = &mut self.world.probes.waits else { return };
        if waits.groups.get(group as usize) == Some(&true) {
            let mut stand = Stand::new(reference, true, self.world.now.since(waited));
            if waited > Time::ZERO {
                stand.pass(port, Cause::Issue, self.world.now);
            }
            waits.stands[port as usize].push(stand);
        }
    }

    /// What keeps a flow, and not its port, from sending; and the queue of its interface that its next packet will join.
    pub(crate) fn cause_at_source(&self, stand: &Stand) -> Option<AtSource> {
        let flow = self.node.sending(self.node.find_sending(stand.flow)?);
        let queue = flow.ds.dscp().priority().0;
        let cause = match flow.status {
            Status::Pacing => Some(Cause::Rate),
            Status::Windowed => Some(Cause::Window),
            Status::Parked if self.ports[usize::from(PORT)].open & (1 << (queue % CLASSES as u8)) != 0 => {
                Some(Cause::Held(crate::port::first_owner(flow.shut)))
            }
            Status::Idle if stand.sent == flow.packets => Some(Cause::Acknowledgements),
            Status::Ready | Status::Parked | Status::Idle | Status::Posted => None,
        };
        Some(AtSource { cause, queue })
    }

    /// A frame has arrived at a host. A slow receiver takes it later.
    #[cold]
    pub(crate) fn arrive_waits(&mut self, pkt: Ix) {
        let Some(waits) = &mut self.world.probes.waits else { return };
        let Some((account, since)) = waits.carried.remove(&pkt) else { return };
        if self.node.host.rx.is_some() && since != self.world.now {
            waits.carried.insert(pkt, (account, self.world.now));
            return;
        }
        let flow = self.world.slab[pkt].pkt.flow;
        if let Some(at) = self.node.find_delivered(flow)
            && self.node.receiving(at).last_byte == Time::NEVER
        {
            waits.latest.insert(flow, (account, self.world.now));
        }
    }

    /// A slow receiver takes a frame.
    pub(crate) fn receive_waits(&mut self, pkt: Ix) {
        let from = self.ports[usize::from(PORT)].peer;
        let Some(waits) = &mut self.world.probes.waits else { return };
        if let Some((account, since)) = waits.carried.get_mut(&pkt) {
            account.add(from, Cause::Receiver, self.world.now - *since);
            *since = self.world.now;
            self.arrive_waits(pkt);
        }
    }
}

impl Probes {
    /// A packet is lost. The switch in which it was has entered what had joined its queues.
    #[cold]
    pub(crate) fn lose_waits(&mut self, header: &Packet, pkt: Ix) {
        let group = self.who.find(header.flow).map(|met| met.group as usize);
        let Some(waits) = &mut self.waits else { return };
        let between = waits.carried.remove(&pkt).is_some();
        let recorded = group.is_none_or(|group| waits.groups.get(group) == Some(&true));
        if between || !header.is_data() || !recorded {
            return;
        }
        // It has waited somewhere.
        let flow = header.flow;
        for stands in &mut waits.stands {
            stands.iter_mut().filter(|stand| stand.flow == flow).for_each(|stand| stand.lose(pkt));
            stands.retain(|stand| !stand.is_over());
        }
    }
}
