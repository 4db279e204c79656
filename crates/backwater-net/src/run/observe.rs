//! Data for probes that only the whole run knows: the flow of a captured frame, and the sum of a flow's waits.

use super::{Actors, Network, on_node};
use crate::model::node::Node;
use crate::model::packet::{FlowRef, NodeId, Port as PortNo};
use crate::model::probe::account::{Account, Cause, Stand};
use crate::model::slab::Ix;
use crate::record::{FlowIdentity, FlowRow, FrameRow, WaitRow};
use backwater_engine::Time;

impl<A: Actors> Network<A> {
    /// From now on every frame that leaves by a port, or has arrived there, is handed out ([`crate::record::Row::Frame`]). A pause signal
    /// without a frame is handed out as the equivalent frame, when it is sent and when it takes effect. Returns whether the port exists.
    pub fn capture_at(&mut self, node: NodeId, port: PortNo) -> bool {
        let Some(neighbours) = self.world.fabric.neighbours.get(node.0 as usize) else { return false };
        if usize::from(port.0) >= neighbours.len() {
            return false;
        }
        self.ports[(self.world.fabric.first_port[node.0 as usize] + u32::from(port.0)) as usize].capture();
        true
    }

    /// Hands out a frame.
    #[cold]
    pub(crate) fn capture(&mut self, port: u32, pkt: Ix, time: Time, outbound: bool) {
        let p = &self.ports[port as usize];
        let packet = self.world.slab[pkt].pkt;
        let control = packet.control_header().map(|header| self.world.slab.control(header.content));
        let named = control.map_or(Some(packet.flow), |frame| frame.flow);
        let flow = named.and_then(|flow| self.tables.flows.find(flow)).and_then(|slot| {
            let send = &self.tables.flows.send[slot];
            let (id, src, dst, ds, bytes) = (send.id, send.src, send.dst, send.ds, send.available);
            let whole = FlowIdentity { id, src, dst, ds, bytes, from: 0 };
            let Some((data, messages)) = packet.data().zip(send.messages()) else { return Some(whole) };
            let message = messages.of(data.offset, u64::from(self.world.rules.payload))?;
            Some(FlowIdentity { id: message.id, bytes: message.bytes, from: message.from, ..whole })
        });
        let report = self.world.reports.get(pkt, packet.uid);
        let (node, port) = (NodeId(self.node_of(p)), PortNo(p.local));
        self.world.rows.frames.push(FrameRow { time, node, port, outbound, packet, control, report, flow });
    }

    /// A flow or the run has ended: returns the waits of the flow until its last byte arrived, or until now if it has not arrived. `None`:
    /// they are not recorded.
    #[cold]
    pub(super) fn end_waits(&mut self, at: usize) -> Option<Account> {
        let (reference, last_byte) = (self.tables.flows.reference(at as u32), self.tables.flows.recv[at].last_byte);
        let waits = self.world.probes.waits.as_mut()?;
        if waits.groups.get(self.tables.flows.send[at].group as usize) != Some(&true) {
            return None;
        }
        let came = waits.latest.remove(&reference).filter(|(_, when)| *when == last_byte);
        let account = came.map(|(account, _)| account).or_else(|| self.account_of_unfinished(reference));
        for stands in &mut self.world.probes.waits.as_mut()?.stands {
            stands.retain(|stand| !(stand.source && stand.flow == reference));
        }
        account
    }

    /// Hands out the waits of a flow.
    #[cold]
    pub(super) fn emit_waits(&mut self, flow: &FlowRow, account: &Account) {
        for item in account.items() {
            let port = &self.ports[item.port as usize];
            let behind = if let Cause::Behind(met) = item.cause { met } else { None };
            let (node, peer) = (NodeId(self.node_of(port)), NodeId(self.node_of(&self.ports[port.peer as usize])));
            let port = PortNo(port.local);
            let (flow, group, time) = (flow.id, flow.group, item.time);
            let (cause, owner) = (item.cause.name(), item.cause.owner());
            self.world.rows.waits.push(WaitRow { flow, group, node, port, peer, cause, owner, behind, time });
        }
    }

    /// For a flow that has not arrived completely: the waits of its first byte in flight, or of its source.
    fn account_of_unfinished(&mut self, flow: FlowRef) -> Option<Account> {
        for port in 0..self.ports.len() as u32 {
            on_node!(self, port, |at, local| at.account_waits(local));
        }
        let stands = self.world.probes.waits.as_ref()?.stands.iter().flatten().filter(|stand| stand.flow == flow);
        let offset = |pkt: Ix| self.world.slab[pkt].pkt.data().map(|data| data.offset);
        let first = |stand: &&Stand| stand.front().and_then(offset).unwrap_or(u64::MAX);
        stands.min_by_key(first).map(|stand| stand.account().clone())
    }
}
