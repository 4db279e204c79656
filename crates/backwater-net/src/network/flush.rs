//! A mechanism empties a queue: what waits for it is dropped, wherever the architecture keeps it.

use super::{Actors, Network};
use crate::packet::{Port as PortNo, Queue};
use crate::record::Broken;
use crate::slab::Ix;

impl<A: Actors> Network<A> {
    /// Drops everything that waits for a queue of a switch. The frame on the wire goes on.
    #[cold]
    pub(super) fn flush(&mut self, switch: u32, port: PortNo, queue: Queue) {
        let global = self.switches[switch as usize].first_port + u32::from(port.0);
        let fifo = self.ports[global as usize].take_queue(usize::from(queue.0));
        let crossed: Vec<Ix> = fifo.iter(&self.world.slab).collect();
        let crossbar = self.switches[switch as usize].crossbar.as_mut();
        let waiting = crossbar.map_or_else(Vec::new, |crossbar| crossbar.take(&mut self.world.slab, port.0, queue.0));
        let dropped: Vec<Ix> = crossed.iter().chain(&waiting).copied().collect();
        self.ports[global as usize].line_up_without(&self.world.slab, usize::from(queue.0), &dropped);
        let s = &self.switches[switch as usize];
        let (frames, crosses, held) = (crossed.len() + waiting.len(), s.crossbar.is_some(), s.lanes.is_some());
        for pkt in crossed {
            if self.leave(switch, global, pkt) {
                self.make_room(switch, pkt);
            }
            self.discard(pkt);
        }
        for pkt in waiting {
            self.leave(switch, global, pkt);
            if held {
                self.left_queue(switch, pkt);
            }
            self.discard(pkt);
        }
        if crosses {
            // Those that stood behind them may cross.
            self.match_at(switch, self.world.now);
        }
        self.ports[global as usize].rest.stats.flushed_frames += frames as u64;
        self.world.totals.progress.flushed += frames as u64;
        if frames > 0 && self.world.rules.lossless {
            let name = &self.switches[switch as usize].home.shape.name;
            self.world.totals.stopped = true;
            self.world.totals.broken = Some(Broken {
                time: self.world.now,
                reason: format!(
                    "the scenario is lossless, but {name} gave up waiting for its neighbour and dropped the {frames} frames that \
                     waited for port {} in queue {}",
                    port.0, queue.0
                ),
                hint: "a watchdog that drops cannot keep that promise: let it wait longer, or give up `lossless`"
                    .into(),
            });
        }
        self.act_switch(switch);
    }
}
