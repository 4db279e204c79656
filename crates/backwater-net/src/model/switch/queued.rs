//! The places of the frames in a switch.

use super::Switch;
use crate::model::packet::CLASSES;
use crate::model::port::Port;
use crate::model::slab::{Ix, Slab};

/// Calls `add` for every frame in a switch, with its own queue or, before a crossbar, with the queue for which the head of its input queue
/// is meant.
pub(crate) fn each_queued<S>(s: &Switch<S>, ports: &[Port], slab: &Slab, mut add: impl FnMut(Ix, (u16, u8))) {
    for (port, p) in (0u16..).zip(ports) {
        for queue in 0..CLASSES as u8 {
            let fifo = p.queue(usize::from(queue));
            let Some(head) = fifo.head() else { continue };
            let behind = queue_behind(p, slab, queue, head);
            fifo.iter(slab).for_each(|ix| add(ix, (port, behind)));
        }
    }
    for input in s.crossbar.iter().flat_map(|crossbar| crossbar.inputs()) {
        let Some(head) = input.head() else { continue };
        let place = &slab[head].place;
        let behind = queue_behind(&ports[usize::from(place.egress.0)], slab, place.queue.0, head);
        input.iter(slab).for_each(|ix| add(ix, (place.egress.0, behind)));
    }
}

/// The queue that delays `head`: its own, or the one with earlier frames of its flow.
fn queue_behind(p: &Port, slab: &Slab, mut queue: u8, head: Ix) -> u8 {
    let mut head = Some(head);
    while let Some(ix) = head.filter(|_| p.gates() & (1 << queue) != 0) {
        let Some(first) = p.waits_for(&slab[ix], queue) else { break };
        (queue, head) = (first, p.queue(usize::from(first)).head());
    }
    queue
}
