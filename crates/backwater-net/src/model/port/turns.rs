//! The choice of a port's next queue, where it is not simply the one with the highest number.

use super::queues::HostQueues;
use crate::model::packet::CLASSES;

/// The highest queue in a mask that is not empty.
#[inline(always)]
pub(crate) fn highest(mask: u32) -> usize {
    mask.ilog2() as usize
}

/// The order of turns.
#[derive(Clone, Debug, backwater_derive::State)]
pub(super) enum Turns {
    /// Among all classes, by their weights.
    ByWeight(#[state(within)] Deficit),
    /// Among the queues of one class, frame by frame; classes by strict priority. With the queue that last had a turn.
    Within(#[state(fixed)] HostQueues, u8),
}

/// Deficit weighted round robin (Shreedhar and Varghese, SIGCOMM 1995).
#[derive(Clone, Debug, backwater_derive::State)]
pub(super) struct Deficit {
    #[state(fixed)]
    pub weights: [u32; CLASSES],
    pub deficit: [u64; CLASSES],
    /// \[bytes\] added per unit of weight and round: no frame is longer.
    #[state(fixed)]
    pub quantum: u64,
    pub turn: usize,
}

impl Turns {
    /// Returns the queue that is served next among `mask`, which is not empty; `size` gives the length of a queue's head.
    pub fn choose(&mut self, mask: u32, size: impl Fn(usize) -> u64) -> usize {
        let d = match self {
            Turns::ByWeight(deficit) => deficit,
            Turns::Within(queues, last) => {
                *last = queues.next(mask, *last);
                return usize::from(*last);
            }
        };
        let strict = (0..CLASSES).fold(0u32, |m, q| if d.weights[q] == 0 { m | 1 << q } else { m });
        if mask & strict != 0 {
            return highest(mask & strict);
        }
        loop {
            let q = d.turn;
            if mask & (1 << q) != 0 {
                let size = size(q);
                if d.deficit[q] >= size {
                    return q;
                }
                d.deficit[q] += u64::from(d.weights[q]) * d.quantum;
                if d.deficit[q] >= size {
                    return q;
                }
            }
            d.turn = (q + 1) % CLASSES;
        }
    }

    /// `size` bytes of a queue have been taken, and `next` is the size of its head now.
    pub fn served(&mut self, queue: usize, size: u64, next: Option<u64>) {
        let Turns::ByWeight(d) = self else { return };
        if d.weights[queue] == 0 {
            return;
        }
        d.deficit[queue] -= size.min(d.deficit[queue]);
        match next {
            None => d.deficit[queue] = 0,
            Some(next) if d.deficit[queue] >= next => return,
            Some(_) => {}
        }
        d.turn = (queue + 1) % CLASSES;
    }

    /// A queue has been emptied.
    pub fn emptied(&mut self, queue: usize) {
        if let Turns::ByWeight(d) = self {
            d.deficit[queue] = 0;
        }
    }
}
