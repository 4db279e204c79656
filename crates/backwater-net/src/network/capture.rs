//! Frames as they pass a port, for whoever wants to look at them. Costs nothing at ports that are not captured.

use super::at::{At, Node};
use super::{Actors, Network};
use crate::packet::{Class, Control, HostId, Kind, NodeId, Packet, Port};
use crate::record::{FlowIdentity, FrameRow};
use crate::slab::Ix;
use backwater_engine::Time;

impl<A: Actors> Network<A> {
    /// From now on every frame that leaves by a port, or has come in there, is handed out ([`crate::record::Sink::frame`]), and so is a
    /// pause signal without a frame: as the frame that would say the same, when it is given and when it is heard. Returns whether there
    /// is such a port.
    pub fn capture_at(&mut self, node: NodeId, port: Port) -> bool {
        let Some(neighbours) = self.fabric.neighbours.get(node.0 as usize) else { return false };
        if usize::from(port.0) >= neighbours.len() {
            return false;
        }
        self.ports[(self.fabric.first_port[node.0 as usize] + u32::from(port.0)) as usize].capture();
        true
    }

    /// Hands out a frame.
    #[cold]
    pub(super) fn capture(&mut self, port: u32, pkt: Ix, time: Time, outbound: bool) {
        let p = &self.ports[port as usize];
        let packet = self.world.slab[pkt].pkt;
        let control = matches!(packet.kind, Kind::Control | Kind::Mac)
            .then(|| (self.world.slab.control(packet.seq), NodeId((packet.seq >> 32) as u32)));
        let named = control.map_or(Some(packet.flow), |(frame, _)| frame.flow);
        let flow = named.and_then(|flow| self.flows.find(flow)).map(|slot| {
            let send = &self.flows.send[slot];
            FlowIdentity { id: send.id, src: send.src, dst: send.dst, ds: send.ds, bytes: send.available }
        });
        let node = NodeId(self.node_of(p));
        self.world.rows.frames.push(FrameRow { time, node, port: Port(p.local), outbound, packet, control, flow });
    }
}

impl<N> At<'_, N>
where
    Self: Node,
{
    /// Hands out a pause signal of `from` that is no frame on the link.
    #[cold]
    pub(super) fn capture_signal(&mut self, port: u16, frame: Control, from: NodeId, outbound: bool) {
        let nobody = HostId(u32::MAX);
        let packet = Packet { kind: Kind::Mac, ..Packet::control(&frame, nobody, nobody, Class(7), 0) };
        let (time, node, port, control) = (self.world.now, self.id(), Port(port), Some((frame, from)));
        self.world.rows.frames.push(FrameRow { time, node, port, outbound, packet, control, flow: None });
    }
}
