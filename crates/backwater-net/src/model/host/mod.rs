//! A host at work, by each of its links: `nic` is the interface there, `tables` what it finds of flows, `send` and `receive` what it
//! does, `transport` what it does for flows that retransmit ([`crate::transport`] says what that is).

mod actions;
pub mod flow;
mod messages;
mod nic;
mod observe;
mod receive;
mod send;
mod tables;
mod transport;
mod window;

use crate::model::hooks::{Departure, Fate, FlowSide, MechanismId, MechanismSet, NicCx, NicSide};
use crate::model::node::{Node, NodeCx};
use crate::model::packet::{Control, NodeId, Packet, Port as PortNo, Queue};
use crate::model::slab::Ix;
pub(crate) use nic::{Host, Limit};
pub(crate) use tables::{Controllers, Flows, Interface, Tables};

/// The context of a NIC's hook: `$h` is the interface, borrowed apart from the rest of the network.
macro_rules! cx {
    ($network:ident, $h:ident) => {
        crate::model::hooks::NicCx {
            now: $network.world.now,
            owner: crate::model::hooks::MechanismId(0),
            shape: &$h.shape,
            left: 0,
            over: false,
            actions: &mut $network.world.actions.nic,
        }
    };
}

/// The port of an interface: it has one.
pub(crate) const PORT: u16 = 0;

impl<N: NicSide, F: FlowSide> Node for NodeCx<'_, Interface<'_, N, F>> {
    fn id(&self) -> NodeId {
        NodeId(self.world.fabric.host_node[self.node.host.shape.host.0 as usize])
    }

    #[inline(always)]
    fn first(&self) -> u32 {
        self.node.host.port
    }

    #[inline(always)]
    fn serve(&mut self, port: u16) {
        self.serve_host(port);
    }

    #[inline(always)]
    fn waits(&self, port: u16) -> bool {
        let h = &*self.node.host;
        let p = &self.ports[usize::from(port)];
        // What is staged stands in the port's queues.
        h.ready_mask != 0 || p.may_have_work() || p.holds_some() && h.staged(u32::MAX) != 0
    }

    fn may_transmit(&self, port: u16, queue: Queue, pkt: &Packet) -> bool {
        self.node.host.stack.may_transmit(PortNo(port), queue, pkt)
    }

    /// A host has no counters.
    #[inline(always)]
    fn depart(&mut self, _: u16, _: Ix) {}

    fn queue_of(&self, pkt: Ix) -> Queue {
        self.world.slab[pkt].pkt.nic_queue()
    }

    fn notify_start(&mut self, from: &Departure, pkt: Ix) {
        let header = self.world.slab[pkt].pkt;
        let carried = self.world.attachments.get_mut(pkt, header.uid);
        let h = &mut *self.node.host;
        h.stack.on_start(&mut cx!(self, h), from, &header, carried);
        self.act_nic();
    }

    fn notify_arrived(&mut self, _: u16, pkt: Ix) {
        let header = self.world.slab[pkt].pkt;
        let taken = self.node.host.rx.is_none();
        self.at_nic(|stack, cx| {
            stack.on_arrive(cx, &header);
            if taken {
                stack.on_consumed(cx, &header);
            }
        });
        self.act_nic();
    }

    fn notify_leaving(&mut self, _: u16, number: u64, size: u32) -> bool {
        let retains = self.at_nic(|stack, cx| stack.retains(cx, number, size));
        self.act_nic();
        retains
    }

    fn notify_numbered(&mut self, _: u16, number: u64, size: u32) -> bool {
        let accepts = self.at_nic(|stack, cx| stack.accepts(cx, number, size));
        self.act_nic();
        accepts
    }

    fn notify_damaged(&mut self, _: u16) {
        self.at_nic(|stack, cx| stack.on_damaged(cx));
        self.act_nic();
    }

    fn notify_link(&mut self, _: u16, up: bool) {
        self.at_nic(|stack, cx| stack.on_link(cx, up));
        self.act_nic();
    }

    fn notify_mac_control(&mut self, _: u16, frame: &Control) -> Fate {
        let fate = self.at_nic(|stack, cx| stack.on_control(cx, frame));
        self.act_nic();
        fate
    }

    fn account_waits(&mut self, port: u16) {
        self.account_standing(port, |at, stand| at.cause_at_source(stand));
    }

    fn observe_joins(&mut self) {}

    fn record_pause_request(&mut self, port: u16, owner: MechanismId, classes: u16) {
        self.record_own_pause_request(port, owner, classes, |at, _| {
            (at.node.host.rx.as_ref().map_or(0, |rx| rx.bytes), None)
        });
    }
}

impl<N: NicSide, F: FlowSide> NodeCx<'_, Interface<'_, N, F>> {
    /// Calls a hook of a NIC's stack.
    #[inline(always)]
    pub(crate) fn at_nic<R>(&mut self, f: impl FnOnce(&mut N, &mut NicCx<'_>) -> R) -> R {
        self.at_nic_of(0, f)
    }

    /// The same about a flow that some mechanisms leave alone.
    #[inline(always)]
    pub(crate) fn at_nic_of<R>(&mut self, left: MechanismSet, f: impl FnOnce(&mut N, &mut NicCx<'_>) -> R) -> R {
        let h = &mut *self.node.host;
        f(&mut h.stack, &mut NicCx { left, ..cx!(self, h) })
    }
}
