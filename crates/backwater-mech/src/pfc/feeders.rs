//! Pauses by egress queues: of those, and only those, whose frames join a queue that is over the threshold. That is of
//! simulations, not of 802.1Q, whose clause 36 counts what came in.
//!
//! ```text
//! frame from (ingress i, class c) joins egress queue Q, Q > xoff:    pause c at i, for Q
//! Q < xon:                                                           i resumes c, unless another queue has paused it
//! ```
//!
//! The class that is paused is the one in which the frame came, whatever the queue: where flows are moved between queues this
//! stops those that fill it. Nobody else is paused, so that pauses follow the frames' ways, up and then down as these do.

use backwater_net::hooks::{Awaits, Place};
use backwater_net::packet::{Class, Port, Queue};
use std::collections::BTreeMap;

/// The egress queues that are over the threshold, and whom each has paused.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Feeders {
    by_queue: BTreeMap<(Port, Queue), Vec<(Port, Class)>>,
}

impl Feeders {
    fn is_paused(&self, feeder: (Port, Class)) -> bool {
        self.by_queue.values().any(|feeders| feeders.contains(&feeder))
    }

    /// A frame has joined a queue that is over the threshold. Returns whether its neighbour is to pause its class, and has not yet.
    pub(super) fn joined(&mut self, at: &Place) -> bool {
        let feeder = (at.ingress, at.class);
        let known = self.by_queue.get(&(at.egress, at.queue)).is_some_and(|feeders| feeders.contains(&feeder));
        if known {
            return false;
        }
        // 802.1Q 36.1: a priority of a port is paused as a whole, whichever queue asks.
        let paused = self.is_paused(feeder);
        self.by_queue.entry((at.egress, at.queue)).or_default().push(feeder);
        !paused
    }

    /// Whether a queue has paused somebody.
    pub(super) fn are_paused(&self, port: Port, queue: Queue) -> bool {
        self.by_queue.contains_key(&(port, queue))
    }

    /// A queue is below the resume threshold. Returns the ports and classes that nothing pauses any more.
    pub(super) fn relieved(&mut self, at: &Place) -> Vec<(Port, Class)> {
        let mut feeders = self.by_queue.remove(&(at.egress, at.queue)).unwrap_or_default();
        // 802.1Q 36.1, as above: it resumes once no queue asks any more.
        feeders.retain(|feeder| !self.is_paused(*feeder));
        feeders
    }

    /// What must leave before the neighbour at `port` resumes `class`.
    pub(super) fn awaits(&self, port: Port, class: Class) -> Awaits {
        let queues = self.by_queue.iter().filter(|(_, feeders)| feeders.contains(&(port, class)));
        Awaits::Egress(queues.map(|((egress, queue), _)| (*egress, Some(*queue))).collect())
    }
}
