//! A mechanism empties a queue: its frames are dropped, wherever the architecture keeps them.

use super::Switch;
use crate::model::hooks::SwitchSide;
use crate::model::node::NodeCx;
use crate::model::packet::{Port as PortNo, Queue};
use crate::model::slab::Ix;

impl<S: SwitchSide> NodeCx<'_, &mut Switch<S>> {
    /// Drops everything that waits for a queue of a switch. The frame on the wire continues.
    #[cold]
    pub(crate) fn flush(&mut self, port: PortNo, queue: Queue) {
        let fifo = self.port(port.0).take_queue(usize::from(queue.0));
        let crossed: Vec<Ix> = fifo.iter(&self.world.slab).collect();
        let crossbar = self.node.crossbar.as_mut();
        let waiting = crossbar.map_or_else(Vec::new, |crossbar| crossbar.take(&mut self.world.slab, port.0, queue.0));
        let dropped: Vec<Ix> = crossed.iter().chain(&waiting).copied().collect();
        self.ports[usize::from(port.0)].line_up_without(&self.world.slab, usize::from(queue.0), &dropped);
        let s = &*self.node;
        let (frames, crosses) = (crossed.len() + waiting.len(), s.crossbar.is_some());
        for pkt in crossed {
            if self.leave(port.0, pkt) {
                self.make_room(pkt);
            }
            self.discard(pkt);
        }
        for pkt in waiting {
            self.leave(port.0, pkt);
            self.left_queue(pkt);
            self.discard(pkt);
        }
        if crosses {
            // Frames behind them may cross.
            self.match_at(self.world.now);
        }
        // Other packets of their flows, in other queues, may have waited for them.
        self.kick(port.0);
        self.port(port.0).rest.stats.flushed_frames += frames as u64;
        self.world.totals.progress.flushed += frames as u64;
        if frames > 0 && self.world.rules.lossless {
            let name = &self.node.home.shape.name;
            self.world.broken(
                format!(
                    "the scenario is lossless, but {name} gave up waiting for its neighbour and dropped the {frames} frames that \
                     waited for port {} in queue {}",
                    port.0, queue.0
                ),
                "a watchdog that drops cannot keep that promise: let it wait longer, or give up `lossless`",
            );
        }
        self.act_switch();
    }
}
