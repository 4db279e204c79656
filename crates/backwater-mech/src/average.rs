//! Average queue length of Random Early Detection — Floyd and Jacobson, IEEE/ACM Transactions on Networking 1 (4), 1993, section IV.
//!
//! ```text
//! on arrival, q bytes before it:   q > 0:  avg = (1 - w) avg + w q
//!                                  q = 0:  avg = (1 - w)^m (1 - w) avg      m = whole s since the queue became empty
//! ```
//!
//! | symbol | what | unit |
//! |---|---|---|
//! | w | weight of one arrival, 0.002 in the paper | – |
//! | s | what the longest frame takes at the port's rate: the paper's "typical transmission time for a small packet" would forget faster | time |
//!
//! The arrival that finds an empty queue counts as one of zero bytes, beside the m that could have come before it. Otherwise an average
//! would never fall on a link that is busy for more than half of the time and yet never has a queue.
//!
//! **Not modelled:** the paper's even spacing of marks (`count`).

use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::SwitchShape;
use backwater_net::packet::{CLASSES, Port, Queue};

#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Average {
    /// \[bytes\]
    avg: f64,
    /// since when the queue has been empty
    empty: Time,
}

/// The averages of all egress queues of one switch.
#[derive(backwater_derive::State)]
pub(crate) struct Averages {
    #[state(fixed)]
    w: f64,
    /// s of each port
    #[state(fixed)]
    s: Vec<Time>,
    queues: Vec<Average>,
}

impl Averages {
    pub(crate) fn new(w: f64, shape: &SwitchShape) -> Averages {
        let s: Vec<Time> = shape.ports.iter().map(|port| port.rate.time_for(shape.max_frame)).collect();
        Averages { w, queues: vec![Average::default(); s.len() * CLASSES], s }
    }

    fn at(port: Port, queue: Queue) -> usize {
        usize::from(port.0) * CLASSES + usize::from(queue.0) % CLASSES
    }

    /// A packet arrives for a queue with `q` bytes before it. Returns the average.
    pub(crate) fn arrival(&mut self, port: Port, queue: Queue, q: Bytes, now: Time) -> Bytes {
        let average = &mut self.queues[Self::at(port, queue)];
        if q == Bytes::ZERO {
            let m = now.since(average.empty).0 / self.s[usize::from(port.0)].0.max(1);
            average.avg *= power(1.0 - self.w, m.saturating_add(1));
            // Idle time that has been forgotten counts once, even if the next packet also finds an empty queue.
            average.empty = now;
        } else {
            average.avg += self.w * (q.0 as f64 - average.avg);
        }
        Bytes(average.avg as u64)
    }

    /// The queue has become empty.
    pub(crate) fn emptied(&mut self, port: Port, queue: Queue, now: Time) {
        self.queues[Self::at(port, queue)].empty = now;
    }

    /// The average after the last arrival.
    pub(crate) fn of(&self, port: Port, queue: Queue) -> Bytes {
        Bytes(self.queues[Self::at(port, queue)].avg as u64)
    }
}

/// `base` to the power of `exponent`, by multiplications alone: the same on every machine.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut power = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_net::Rate;
    use backwater_net::bench::SwitchBench;
    use backwater_net::config::SwitchParams;

    const AT: (Port, Queue) = (Port(1), Queue(3));

    /// At 8.512 Gb/s the longest frame, 4064 B, takes 3.8195 us.
    fn averages(w: f64) -> Averages {
        let bench = SwitchBench::new(&SwitchParams::default(), 2, Rate(8_512_000_000), 0);
        Averages::new(w, bench.shape())
    }

    #[test]
    fn an_arrival_moves_the_average_by_its_weight() {
        let mut averages = averages(0.25);
        assert_eq!(averages.arrival(AT.0, AT.1, Bytes(1000), Time::us(1)), Bytes(250));
        assert_eq!(averages.arrival(AT.0, AT.1, Bytes(1000), Time::us(1)), Bytes(437));
        assert_eq!(averages.of(AT.0, AT.1), Bytes(437));
        assert_eq!(averages.of(AT.0, Queue(2)), Bytes::ZERO, "of this queue");
        assert_eq!(averages.of(Port(0), AT.1), Bytes::ZERO, "of this port");
    }

    #[test]
    fn an_empty_queue_is_forgotten_as_if_packets_had_come() {
        let mut averages = averages(0.5);
        assert_eq!(averages.arrival(AT.0, AT.1, Bytes(8000), Time::us(1)), Bytes(4000));
        averages.emptied(AT.0, AT.1, Time::us(10));
        assert_eq!(averages.arrival(AT.0, AT.1, Bytes::ZERO, Time::us(13)), Bytes(2000), "this one alone");
        averages.emptied(AT.0, AT.1, Time::us(20));
        assert_eq!(averages.arrival(AT.0, AT.1, Bytes::ZERO, Time::us(28)), Bytes(250), "this one, and two before");
        assert_eq!(averages.arrival(AT.0, AT.1, Bytes::ZERO, Time::us(29)), Bytes(125), "these have been counted");
        assert_eq!(averages.arrival(AT.0, AT.1, Bytes::ZERO, Time::ms(900)), Bytes::ZERO);
    }

    #[test]
    fn a_weight_of_one_is_the_queue_itself() {
        let mut averages = averages(1.0);
        for q in [700, 30, 0, 12_345, 0] {
            assert_eq!(averages.arrival(AT.0, AT.1, Bytes(q), Time::us(1)), Bytes(q));
        }
    }

    /// Frames evenly spaced at nine tenths of the link never meet a queue: the average of an earlier queue decays within 5000 of them.
    #[test]
    fn a_busy_link_without_a_queue_has_an_average_of_zero() {
        let mut averages = averages(0.002);
        (0..5000).for_each(|_| _ = averages.arrival(AT.0, AT.1, Bytes(250_000), Time::ZERO));
        assert!(averages.of(AT.0, AT.1) > Bytes(249_000));
        for frame in 0..5000 {
            let now = Time::ns(4_244 * frame);
            averages.arrival(AT.0, AT.1, Bytes::ZERO, now);
            averages.emptied(AT.0, AT.1, now.after(Time::ns(3_820)));
        }
        assert!(averages.of(AT.0, AT.1) < Bytes(20));
    }

    #[test]
    fn power_is_a_product() {
        assert_eq!([0, 1, 2, 3, 10].map(|n| power(0.5, n)), [1.0, 0.5, 0.25, 0.125, 1.0 / 1024.0]);
        assert_eq!((power(0.998, u64::MAX), power(0.0, 1)), (0.0, 0.0));
    }
}
