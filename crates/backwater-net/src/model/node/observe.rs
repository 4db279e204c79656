//! Reports of every node to probes: the loads of jobs, pauses, and the causes for which recorded flows wait.

use super::{Node, NodeCx};
use crate::model::hooks::MechanismId;
use crate::model::packet::{CLASSES, Class, Port as PortNo};
use crate::model::probe::account::{Account, Cause, Stand};
use crate::model::probe::pauses::number;
use crate::model::probe::waits::{AtSource, Waits, Wire};
use crate::model::slab::Ix;
use crate::record::{Behind, PauseRow};
use backwater_engine::Time;

impl<N> NodeCx<'_, N>
where
    Self: Node,
{
    /// A data frame is put on a link: if its flow belongs to a job and is in progress, it counts for its step.
    #[inline(never)]
    pub(crate) fn count_load(&mut self, port: u16, pkt: Ix) {
        let global = self.global(port) as usize;
        let (header, probes) = (&self.world.slab[pkt].pkt, &mut self.world.probes);
        let group = || probes.flow_index.find(header.flow).map(|met| met.group);
        let Some(load) = probes.loads.load(global, header.step, group) else { return };
        load.frames += 1;
        load.bytes += u64::from(header.size);
        load.payload += header.data().map_or(0, |data| u64::from(data.payload));
    }

    /// A port has newly asked its neighbour to pause these classes, bits as in [`crate::model::port::pause::bit`]. `stands` gives the bytes
    /// behind it at its ingress, and the queue that holds most of what it waits for.
    #[cold]
    pub(crate) fn record_own_pause_request(
        &mut self,
        port: u16,
        owner: MechanismId,
        classes: u16,
        stands: impl Fn(&Self, Option<Class>) -> (u64, Option<Behind>),
    ) {
        for index in (0..=CLASSES as u8).filter(|index| classes & (1 << index) != 0) {
            let class = (usize::from(index) != CLASSES).then_some(Class(index));
            let (ingress_bytes, behind) = stands(self, class);
            let now = self.world.now;
            let (local, far) = (self.ports[usize::from(port)].local, self.ports[usize::from(port)].peer);
            let peer = self.world.fabric.peer(self.id(), local);
            let peer_port = PortNo((far - self.world.fabric.first_port[peer.0 as usize]) as u16);
            let row = PauseRow {
                asked: now,
                start: now,
                end: None,
                node: self.id(),
                port: PortNo(local),
                peer,
                peer_port,
                class,
                owner,
                ingress_bytes,
                behind,
            };
            let paused = (far, index);
            self.world.probes.pauses.as_mut().and_then(|pauses| pauses.asked.insert(paused, row));
        }
    }

    /// A pause has reached a port that obeys it and lasts until `until` (`ZERO`: it is lifted).
    #[cold]
    pub(crate) fn record_obeyed_pause(&mut self, port: u16, class: Option<Class>, until: Time) {
        let (now, paused) = (self.world.now, (self.global(port), number(class)));
        let Some(pauses) = &mut self.world.probes.pauses else { return };
        if let Some((row, end)) = pauses.obeyed.get_mut(&paused) {
            if *end > now && until != Time::ZERO {
                *end = until;
                pauses.asked.remove(&paused);
                return;
            }
            let end = Some((*end).min(now));
            self.world.rows.pauses.push(PauseRow { end, ..row.clone() });
            pauses.obeyed.remove(&paused);
        }
        if until != Time::ZERO
            && let Some(row) = pauses.asked.remove(&paused)
        {
            pauses.obeyed.insert(paused, (PauseRow { start: now, ..row }, until));
        }
    }

    /// Adds the time since the last call to the wait accounts of all recorded flows at a port, under the cause that holds now; `at_source`
    /// gives the cause where the flow, not its port, is kept from sending.
    pub(crate) fn account_standing(&mut self, port: u16, at_source: impl Fn(&Self, &Stand) -> Option<AtSource>) {
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

    /// Returns the cause that keeps a flow's first packet from leaving a port.
    fn cause(&self, port: u16, stand: &Stand, source: Option<AtSource>) -> Option<Cause> {
        let p = &self.ports[usize::from(port)];
        let queue = stand.queue().or(source.map(|source| source.queue))? % CLASSES as u8;
        let closed = p.open & (1 << queue) == 0;
        let (waits, global) = (self.world.probes.waits.as_ref()?, self.global(port) as usize);
        let on_wire = waits.wire[global];
        let at_source = source.and_then(|source| source.cause);
        if let (None, Some(owner)) = (at_source, stand.isolation_queue()) {
            return Some(Cause::IsolationQueue(owner));
        }
        Some(match (at_source, on_wire) {
            (Some(cause), _) => cause,
            _ if closed && p.held_until(queue, self.world.now) => Cause::Paused,
            _ if closed => Cause::Shut(p.shut_by(queue)),
            _ if waits.refused[global] & (1 << queue) != 0 => Cause::Credit,
            (_, Some(wire)) => wire.cause,
            _ if source.is_some_and(|source| source.fetching) => Cause::Memory,
            _ => Cause::Fabric,
        })
    }

    /// A port looks for work, and mechanisms refuse to start the first packets of these queues, a bit each.
    pub(crate) fn count_refused(&mut self, port: u16, refused: u32) {
        let global = self.global(port) as usize;
        if self.world.probes.waits.as_ref().is_none_or(|waits| waits.refused[global] == refused) {
            return;
        }
        self.account_waits(port);
        if let Some(waits) = &mut self.world.probes.waits {
            waits.refused[global] = refused;
        }
    }

    /// A frame begins on the wire of a port.
    #[cold]
    pub(crate) fn wire_begins(&mut self, port: u16, pkt: Ix) {
        let global = self.global(port) as usize;
        if let Some(before) = self.world.probes.waits.as_ref().and_then(|waits| waits.wire[global]) {
            // It has left, and a mechanism that saw it leave has sent this one at once.
            self.wire_ends(port, before.pkt);
        }
        self.account_waits(port);
        let header = self.world.slab[pkt].pkt;
        let cause = if header.is_data() {
            Cause::Behind(self.world.probes.flow_index.find(header.flow))
        } else {
            Cause::Control
        };
        let Some(waits) = &mut self.world.probes.waits else { return };
        waits.wire[global] = Some(Wire { pkt, flow: header.flow, cause });
        if header.is_data()
            && let Some(stand) = waits.stand(global as u32, header.flow)
        {
            let account = stand.begin(pkt);
            waits.carried.insert(pkt, (account, self.world.now));
        }
    }

    /// A retransmitted frame begins, with its wait accounts so far.
    #[cold]
    pub(crate) fn wire_begins_again(&mut self, port: u16, pkt: Ix, waited: Option<(Account, Time)>) {
        let global = self.global(port) as usize;
        if let Some(before) = self.world.probes.waits.as_ref().and_then(|waits| waits.wire[global]) {
            self.wire_ends(port, before.pkt);
        }
        self.account_waits(port);
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
        self.account_waits(port);
        let Some(waits) = &mut self.world.probes.waits else { return };
        waits.wire[global] = None;
        if let Some(stand) = waits.stand(global as u32, wire.flow) {
            stand.end(pkt, self.world.now);
        }
        waits.stands[global].retain(|stand| !stand.is_over());
    }
}
