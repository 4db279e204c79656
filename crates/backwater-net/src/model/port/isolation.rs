//! Isolation queues: sub-queues that stand before a queue of a port and feed it.
//!
//! An isolation queue is first in, first out for each queue to which its frames go. The open isolation queues of a queue feed it in turn,
//! frame by frame, with as many bytes as others have in it, and with one frame if others have none. So released frames neither burst into
//! the queue before others' frames, nor starve behind them: together they are served like a second queue of equal weight. An isolation
//! queue is opened for the whole node: its frames may wait for several ports.

use crate::model::hooks::place::IsolationQueue;
use crate::model::slab::{Fifo, Ix, Slab, Slot};
use std::collections::{BTreeMap, VecDeque};

/// The isolation queues of a port, by the queue that they feed.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct IsolationQueues(BTreeMap<u8, Feeding>);

/// The isolation queues of one queue.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Feeding {
    /// Each holds a frame at least.
    isolation_queues: Vec<Waiting>,
    /// The next one to be served.
    turn: usize,
    /// Frames from isolation queues that are in the queue now.
    fed: Vec<Ix>,
    /// \[bytes\] of them
    fed_bytes: u64,
    /// One of their frames is joining the queue, which may make room at once: one at a time.
    joining: bool,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Waiting {
    isolation_queue: IsolationQueue,
    fifo: Fifo,
    /// The arrival numbers of its frames.
    numbers: VecDeque<u64>,
}

impl Feeding {
    fn push(&mut self, slab: &mut Slab, isolation_queue: IsolationQueue, pkt: Ix, number: u64) {
        let at =
            self.isolation_queues.iter().position(|waiting| waiting.isolation_queue == isolation_queue).unwrap_or_else(
                || {
                    self.isolation_queues.push(Waiting {
                        isolation_queue,
                        fifo: Fifo::default(),
                        numbers: VecDeque::new(),
                    });
                    self.isolation_queues.len() - 1
                },
            );
        self.isolation_queues[at].fifo.push(slab, pkt);
        self.isolation_queues[at].numbers.push_back(number);
    }

    fn next(
        &mut self,
        slab: &Slab,
        queued: u64,
        open: impl Fn(IsolationQueue) -> bool,
    ) -> Option<(IsolationQueue, Ix)> {
        if self.joining || self.fed_bytes != 0 && 2 * self.fed_bytes >= queued {
            return None;
        }
        let isolation_queues = self.isolation_queues.len();
        let at = (0..isolation_queues)
            .map(|i| (self.turn + i) % isolation_queues)
            .find(|at| open(self.isolation_queues[*at].isolation_queue))?;
        let waiting = &mut self.isolation_queues[at];
        let (isolation_queue, pkt) = (waiting.isolation_queue, waiting.fifo.pop(slab)?);
        waiting.numbers.pop_front();
        self.turn = at + 1;
        if waiting.fifo.is_empty() {
            self.isolation_queues.remove(at);
            self.turn = at;
        }
        self.fed.push(pkt);
        self.fed_bytes += u64::from(slab[pkt].counted);
        self.joining = true;
        Some((isolation_queue, pkt))
    }

    fn leave(&mut self, pkt: Ix, size: u32) {
        if let Some(fed) = self.fed.iter().position(|fed| *fed == pkt) {
            self.fed.remove(fed);
            self.fed_bytes -= u64::from(size);
        }
    }

    fn is_over(&self) -> bool {
        self.isolation_queues.is_empty() && self.fed.is_empty() && !self.joining
    }
}

impl IsolationQueues {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A frame begins to wait for a queue; its number is unique among all that wait in isolation queues.
    pub fn park(&mut self, slab: &mut Slab, queue: u8, isolation_queue: IsolationQueue, pkt: Ix, number: u64) {
        self.0.entry(queue).or_default().push(slab, isolation_queue, pkt, number);
    }

    /// Returns the frame that joins a queue now, if one may; the queue holds `queued` bytes. No other may join until this one has
    /// [joined](IsolationQueues::joined).
    pub fn feed(
        &mut self,
        slab: &Slab,
        queue: u8,
        queued: u64,
        open: impl Fn(IsolationQueue) -> bool,
    ) -> Option<(IsolationQueue, Ix)> {
        let feeding = self.0.get_mut(&queue)?;
        let next = feeding.next(slab, queued, open);
        if feeding.is_over() {
            self.0.remove(&queue);
        }
        next
    }

    /// The isolation queue that holds packets of the same flow from the same ingress, and the last of them.
    pub fn last_of_flow(&self, slab: &Slab, of: &Slot) -> Option<(IsolationQueue, Ix)> {
        let same = |ix: &Ix| {
            let slot = &slab[*ix];
            slot.pkt.is_of_flow() && slot.pkt.flow == of.pkt.flow && slot.place.ingress == of.place.ingress
        };
        let isolation_queues =
            self.0.values().flat_map(|feeding| &feeding.isolation_queues).filter(|_| of.pkt.is_of_flow());
        isolation_queues
            .filter_map(|waiting| Some((waiting.isolation_queue, waiting.fifo.iter(slab).filter(same).last()?)))
            .next()
    }

    /// The frame that was to join a queue has joined it.
    pub fn joined(&mut self, queue: u8) {
        if let Some(feeding) = self.0.get_mut(&queue) {
            feeding.joining = false;
        }
    }

    /// A frame of so many bytes has left a queue; it may have come from an isolation queue.
    pub fn left(&mut self, queue: u8, pkt: Ix, size: u32) {
        if let Some(feeding) = self.0.get_mut(&queue) {
            feeding.leave(pkt, size);
        }
    }

    /// The queues for which frames of an isolation queue wait, each with the number of the first.
    pub fn waiting_in(&self, isolation_queue: IsolationQueue) -> impl Iterator<Item = (u64, u8)> {
        self.0.iter().filter_map(move |(queue, feeding)| {
            let waiting = feeding.isolation_queues.iter().find(|waiting| waiting.isolation_queue == isolation_queue)?;
            Some((*waiting.numbers.front()?, *queue))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::data;
    use crate::model::hooks::MechanismId;
    use crate::model::packet::{Class, HostId};

    fn isolation_queue(number: u32) -> IsolationQueue {
        IsolationQueue { owner: MechanismId(0), number }
    }

    /// A frame with so much payload, which the switch's accounts count as `size`.
    fn counted(slab: &mut Slab, flow: u32, payload: u32, size: u32) -> Ix {
        let ix = slab.insert(data(HostId(0), HostId(1), flow, Class(3), payload));
        slab[ix].counted = size;
        ix
    }

    fn next(feeding: &mut Feeding, slab: &Slab, queued: u64) -> Option<(IsolationQueue, Ix)> {
        let next = feeding.next(slab, queued, |_| true);
        feeding.joining = false;
        next
    }

    /// Two frames of 1000 B in isolation queue 1 and one in isolation queue 2; others have 2500 B in the queue.
    #[test]
    fn open_lanes_feed_in_turn_as_much_as_others_have() {
        let (mut slab, mut feeding) = (Slab::default(), Feeding::default());
        let mut frame = |flow| counted(&mut slab, flow, 936, 1_000);
        let [a, b, c] = [0, 1, 2].map(&mut frame);
        for (number, pkt) in [(1, a), (1, b), (2, c)] {
            feeding.push(&mut slab, isolation_queue(number), pkt, 0);
        }
        assert_eq!(feeding.next(&slab, 2_500, |_| false), None, "shut");
        let mut next = |queued| next(&mut feeding, &slab, queued);
        assert_eq!(next(2_500), Some((isolation_queue(1), a)), "an egress queue without a frame from lanes takes one");
        assert_eq!(next(3_500), Some((isolation_queue(2), c)), "1000 B are less than the others' 2500 B");
        assert_eq!(next(4_500), Some((isolation_queue(1), b)));
        assert_eq!(next(5_500), None);
        assert!(feeding.isolation_queues.is_empty() && feeding.fed == [a, c, b]);
        [a, b, c].iter().for_each(|pkt| feeding.leave(*pkt, 1_000));
        assert!(feeding.is_over() && feeding.fed_bytes == 0);
    }

    /// Frames of 164 B in cells of 208 B: what joins a queue is counted as what leaves it.
    #[test]
    fn frames_in_cells_leave_as_they_came() {
        let (mut slab, mut feeding) = (Slab::default(), Feeding::default());
        let pkt = counted(&mut slab, 0, 100, 208);
        feeding.push(&mut slab, isolation_queue(1), pkt, 0);
        assert_eq!(next(&mut feeding, &slab, 0), Some((isolation_queue(1), pkt)));
        feeding.leave(pkt, 208);
        assert!(feeding.is_over() && feeding.fed_bytes == 0);
    }

    #[test]
    fn one_frame_at_a_time_where_nobody_else_waits() {
        let (mut slab, mut feeding) = (Slab::default(), Feeding::default());
        let pkts = [0, 1].map(|flow| counted(&mut slab, flow, 936, 1_000));
        pkts.iter().for_each(|pkt| feeding.push(&mut slab, isolation_queue(1), *pkt, 0));
        assert_eq!(next(&mut feeding, &slab, 0), Some((isolation_queue(1), pkts[0])));
        assert_eq!(next(&mut feeding, &slab, 1_000), None);
    }
}
