//! Copies of frames that pass a port. Ports that are not captured pay nothing for it.

use crate::model::node::{Node, NodeCx};
use crate::model::packet::{Body, Class, Control, ControlHeader, NodeId, Packet, Port};
use crate::record::FrameRow;

impl<N> NodeCx<'_, N>
where
    Self: Node,
{
    /// Hands out a pause signal of `from` that is no frame on the link.
    #[cold]
    pub(crate) fn capture_signal(&mut self, port: u16, frame: Control, from: NodeId, outbound: bool) {
        let header = ControlHeader { from, to: None, content: 0, ev: 0 };
        let packet = Packet { body: Body::Mac(header), ..Packet::control(&frame, header, Class(7), 0) };
        let port = Port(self.ports[usize::from(port)].local);
        let (time, node, control) = (self.world.now, self.id(), Some(frame));
        self.world.rows.frames.push(FrameRow { time, node, port, outbound, packet, control, report: None, flow: None });
    }
}
