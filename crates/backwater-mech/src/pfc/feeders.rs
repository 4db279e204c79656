//! Pauses by egress queues: only the neighbours whose frames join a queue above the threshold are paused. Simulations do this; 802.1Q,
//! clause 36, counts arrivals instead.
//!
//! ```text
//! frame from (ingress i, class c) joins egress queue Q, Q > xoff:    pause c at i, for Q
//! Q < xon:                                                           i resumes c, unless another queue has paused it
//! ```
//!
//! The paused class is that of the frame on arrival, whatever the queue: where flows are moved between queues this stops those that fill
//! it. No other neighbour is paused, so pauses follow the frames' paths, which go up and then down.

use backwater_net::hooks::{Awaits, Place};
use backwater_net::packet::{Class, Port, Queue};
use std::collections::BTreeMap;

/// The egress queues above the threshold, and the neighbours that each has paused.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Feeders {
    by_queue: BTreeMap<(Port, Queue), Vec<(Port, Class)>>,
}

impl Feeders {
    fn is_paused(&self, feeder: (Port, Class)) -> bool {
        self.by_queue.values().any(|feeders| feeders.contains(&feeder))
    }

    /// A frame has joined a queue above the threshold. Returns whether its neighbour must now pause its class.
    pub(super) fn joined(&mut self, at: &Place) -> bool {
        let feeder = (at.ingress, at.class);
        let known = self.by_queue.get(&(at.egress, at.queue)).is_some_and(|feeders| feeders.contains(&feeder));
        if known {
            return false;
        }
        // 802.1Q 36.1: a priority of a port is paused as a whole, whichever queue requests it.
        let paused = self.is_paused(feeder);
        self.by_queue.entry((at.egress, at.queue)).or_default().push(feeder);
        !paused
    }

    /// Returns whether a queue has paused a neighbour.
    pub(super) fn are_paused(&self, port: Port, queue: Queue) -> bool {
        self.by_queue.contains_key(&(port, queue))
    }

    /// A queue is below the resume threshold. Returns the ports and classes that are not paused any more.
    pub(super) fn relieved(&mut self, at: &Place) -> Vec<(Port, Class)> {
        let mut feeders = self.by_queue.remove(&(at.egress, at.queue)).unwrap_or_default();
        // 802.1Q 36.1, as above: it resumes once no queue requests the pause.
        feeders.retain(|feeder| !self.is_paused(*feeder));
        feeders
    }

    /// Returns what must leave before the neighbour at `port` resumes `class`.
    pub(super) fn awaits(&self, port: Port, class: Class) -> Awaits {
        let queues = self.by_queue.iter().filter(|(_, feeders)| feeders.contains(&(port, class)));
        Awaits::Egress(queues.map(|((egress, queue), _)| (*egress, Some(*queue))).collect())
    }
}
