//! Packets without memory that a mechanism returns to their source ([`Full::Return`](crate::model::hooks::Full::Return)).

use super::Switch;
use crate::model::hooks::SwitchSide;
use crate::model::node::NodeCx;
use crate::model::packet::{FlowRef, Packet, PathRef, Port as PortNo};
use crate::model::slab::Ix;

impl<S: SwitchSide> NodeCx<'_, &mut Switch<S>> {
    /// A data packet becomes a NACK of its flow, as long as its headers or `least`, which goes to the source like an acknowledgement that
    /// passes here. It keeps the packet's place in the ingress accounts. Returns `false`, and leaves the packet as it is, if it has no
    /// payload or there is no path back.
    #[cold]
    pub(super) fn return_to_sender(&mut self, pkt: Ix, least: u32) -> bool {
        let packet = self.world.slab[pkt].pkt;
        let Some(nack) = packet.as_returned(least) else { return false };
        let (path, before) = self.on_way_back(packet.flow).unwrap_or((PathRef::NONE, 0));
        self.world.slab[pkt].pkt = Packet { path, hop: before, ..nack };
        let Some(egress) = self.route(pkt).or_else(|| self.route_anew(pkt)) else {
            self.world.slab[pkt].pkt = packet;
            return false;
        };
        self.forget_in_probes(&packet, pkt);
        let slot = &mut self.world.slab[pkt];
        slot.pkt.hop = before + 1;
        slot.place.egress = PortNo(egress);
        self.admit(pkt);
        true
    }

    /// The pinned path of a flow's acknowledgements, if it passes here, and the number of switches before this one.
    pub(super) fn on_way_back(&self, flow: FlowRef) -> Option<(PathRef, u8)> {
        let (back, first) = self.world.fabric.paths.back(flow)?;
        Some((back, self.world.fabric.position(back, first, self.node.number)?))
    }
}
