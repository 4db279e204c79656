//! A host at work, by each of its links: `nic` is the interface there, `tables` finds flows, `send` and `receive` act, `transport` acts for
//! flows that retransmit ([`crate::transport`] defines transports).

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

use crate::model::hooks::attachment::{Attachment, Carried};
use crate::model::hooks::{FlowSide, LinkCx, MechanismId, MechanismSet, NicCx, NicSide};
use crate::model::node::{Node, NodeCx};
use crate::model::packet::{NodeId, Packet, Queue};
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

/// The port of an interface. It has one only.
pub(crate) const PORT: u16 = 0;

impl<N: NicSide, F: FlowSide> Node for NodeCx<'_, Interface<'_, N, F>> {
    type Side = N;

    fn side(&self) -> &N {
        &self.node.host.stack
    }

    #[inline(always)]
    fn links(&mut self) -> (&mut N, LinkCx<'_>, &mut Carried<Attachment>) {
        let h = &mut *self.node.host;
        (&mut h.stack, LinkCx::Nic(cx!(self, h)), &mut self.world.attachments)
    }

    fn act(&mut self) {
        self.act_nic();
    }

    fn notify_consumed(&mut self, header: &Packet) {
        if self.node.host.rx.is_none() {
            self.at_nic(|stack, cx| stack.on_consumed(cx, header));
        }
    }

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
        // Staged frames stand in the port's queues.
        h.ready_mask != 0 || p.may_have_work() || p.holds_some() && h.staged(u32::MAX) != 0
    }

    /// A host has no counters.
    #[inline(always)]
    fn depart(&mut self, _: u16, _: Ix) {}

    fn queue_of(&self, pkt: Ix) -> Queue {
        self.world.slab[pkt].pkt.nic_queue()
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

    /// The same for a flow that some mechanisms leave alone.
    #[inline(always)]
    pub(crate) fn at_nic_of<R>(&mut self, left: MechanismSet, f: impl FnOnce(&mut N, &mut NicCx<'_>) -> R) -> R {
        let h = &mut *self.node.host;
        f(&mut h.stack, &mut NicCx { left, ..cx!(self, h) })
    }
}
