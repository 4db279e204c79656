//! Frames as they pass a port, for whoever wants to look at them. Costs nothing at ports that are not captured.

use super::{Actors, Network};
use crate::packet::{Kind, NodeId, Port};
use crate::record::{FlowIdentity, FrameRow};
use crate::slab::Ix;
use backwater_engine::Time;

impl<A: Actors> Network<A> {
    /// From now on every frame that leaves by a port, or has come in there, is handed out ([`crate::record::Sink::frame`]). Signals
    /// without a frame, such as ideal pauses, are none. Returns whether there is such a port.
    pub fn capture_at(&mut self, node: NodeId, port: Port) -> bool {
        let Some(neighbours) = self.neighbours.get(node.0 as usize) else { return false };
        if usize::from(port.0) >= neighbours.len() {
            return false;
        }
        self.ports[(self.first_port[node.0 as usize] + u32::from(port.0)) as usize].capture();
        true
    }

    /// Hands out a frame.
    #[cold]
    pub(super) fn capture(&mut self, port: u32, pkt: Ix, time: Time, outbound: bool) {
        let p = &self.ports[port as usize];
        let packet = self.slab[pkt].pkt;
        let control = matches!(packet.kind, Kind::Control | Kind::Mac)
            .then(|| (self.slab.control(packet.seq), NodeId((packet.seq >> 32) as u32)));
        let named = control.map_or(Some(packet.flow), |(frame, _)| frame.flow);
        let flow = named.and_then(|flow| self.flows.find(flow)).map(|slot| {
            let send = &self.flows.send[slot];
            FlowIdentity { id: send.id, src: send.src, dst: send.dst, class: send.class, bytes: send.available }
        });
        let node = NodeId(self.node_of(p));
        self.rows.frames.push(FrameRow { time, node, port: Port(p.local), outbound, packet, control, flow });
    }
}
