//! A view of a network, whole or in parts: each node is seen in its own part.

use super::{Actors, Network};
use crate::model::host::Host;
use crate::model::host::flow::{RecvFlow, SendFlow};
use crate::model::packet::{FlowRef, HostId, NodeId};
use crate::model::part::Ownership;
use crate::model::port::Port;
use crate::model::switch::Switch;
use backwater_engine::Time;

pub(super) struct View<'a, A: Actors> {
    pub parts: &'a [Network<A>],
    pub owners: &'a Ownership,
    pub now: Time,
}

static WHOLE: Ownership = Ownership::WHOLE;

impl<'a, A: Actors> View<'a, A> {
    /// A view of a network without parts.
    pub fn of_one(network: &'a Network<A>) -> View<'a, A> {
        View { parts: std::slice::from_ref(network), owners: &WHOLE, now: network.world.now }
    }

    pub fn part_of_port(&self, port: u32) -> &'a Network<A> {
        &self.parts[self.owners.of_port(port)]
    }

    pub fn part_of_switch(&self, switch: u32) -> &'a Network<A> {
        &self.parts[self.owners.of_switch(switch)]
    }

    pub fn part_of_host(&self, host: HostId) -> &'a Network<A> {
        &self.parts[self.owners.of_host(host)]
    }

    pub fn port(&self, port: u32) -> &'a Port {
        &self.part_of_port(port).ports[port as usize]
    }

    pub fn switch(&self, switch: u32) -> &'a Switch<A::Switch> {
        &self.part_of_switch(switch).switches[switch as usize]
    }

    /// All ports with their numbers.
    pub fn ports(&self) -> impl Iterator<Item = (u32, &'a Port)> + '_ {
        (0..self.parts[0].ports.len() as u32).map(|port| (port, self.port(port)))
    }

    pub fn switches(&self) -> impl Iterator<Item = (&'a Network<A>, &'a Switch<A::Switch>)> + '_ {
        (0..self.parts[0].switches.len() as u32).map(|switch| (self.part_of_switch(switch), self.switch(switch)))
    }

    /// All interfaces of hosts with their nodes.
    pub fn hosts(&self) -> impl Iterator<Item = (&'a Host<A::Nic>, NodeId)> + '_ {
        let fabric = &self.parts[0].world.fabric;
        let hosts = (0u32..).map(HostId).zip(fabric.host_node.iter());
        hosts.flat_map(move |(host, node)| {
            let part = self.part_of_host(host);
            fabric.nics(host).map(|nic| (&part.hosts[nic as usize], NodeId(*node)))
        })
    }

    /// A flow as one of the parts knows it in which it begins or ends. `None`: no flow has this slot.
    pub fn known(&self, slot: u32) -> Option<&'a SendFlow> {
        self.parts.iter().find_map(|part| part.tables.flows.send.get(slot as usize))
    }

    /// A flow's sender.
    pub fn flow(&self, slot: u32) -> &'a SendFlow {
        let src = self.known(slot).map_or(HostId(0), |flow| flow.src);
        &self.part_of_host(src).tables.flows.send[slot as usize]
    }

    /// Its receiver.
    pub fn recv(&self, slot: u32) -> &'a RecvFlow {
        let dst = self.known(slot).map_or(HostId(0), |flow| flow.dst);
        &self.part_of_host(dst).tables.flows.recv[slot as usize]
    }

    /// The slot of a flow, if it is still in progress.
    pub fn find(&self, flow: FlowRef) -> Option<u32> {
        self.known(flow.slot)?;
        let send = self.flow(flow.slot);
        (send.live && send.tag == flow.tag).then_some(flow.slot)
    }

    /// The oldest message in flight of a connection, and its received bytes; for a flow, its own. `None`: the connection is idle.
    pub fn oldest_message(&self, slot: u32) -> Option<(u64, u64)> {
        let (send, recv) = (self.flow(slot), self.recv(slot));
        if !send.kept {
            return Some((send.id, recv.received));
        }
        let first = send.messages()?.iter().next()?;
        Some((first.id, recv.messages()?.look(first.from)?.received))
    }
}
