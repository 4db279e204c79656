//! Flows that arrive over time: periodically, or as a Poisson process, at each sender independently.
//!
//! Every sender has three streams, for times, receivers and sizes, named by the group and the sender. Another size distribution therefore
//! changes no arrival, and another sender changes no draw.

use super::{FlowSource, Group, Sizes, WorkloadError};
use crate::model::packet::HostId;
use crate::workload::flow_spec::{FlowSpec, Way};
use backwater_engine::rng::stream;
use backwater_engine::{Rng, Time};
use rand::RngExt as _;
use rand_distr::{Distribution as _, Exp1};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The gaps between the flows of one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Always the same; the first flow comes at the start.
    Periodic(Time),
    /// Exponentially distributed with this mean; the first flow comes one gap after the start.
    Poisson(Time),
}

/// The times of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// When arrivals begin.
    pub start: Time,
    /// The gaps between them.
    pub gaps: Gaps,
    /// No flow starts at or after this time.
    pub until: Option<Time>,
    /// Most flows per sender.
    pub count: Option<u64>,
}

/// The receivers.
#[derive(Clone, Debug, PartialEq)]
pub enum To {
    /// Always this host.
    One(HostId),
    /// For each flow one of these, drawn anew, all equally likely, never the sender. No host occurs twice.
    Any(Arc<[HostId]>),
    /// For each flow one of these, drawn anew by weight; each entry has the sum of the weights so far. It contains neither the sender nor
    /// hosts without weight.
    Weighted(Arc<[(HostId, f64)]>),
}

/// A sender with its receivers.
#[derive(Clone, Debug, PartialEq)]
pub struct Sender {
    /// The host.
    pub src: HostId,
    /// Its receivers.
    pub to: To,
    /// Nodes from source to destination, both included, or `None` for ECMP.
    pub way: Way,
}

/// A sender with its state.
struct Process {
    sender: Sender,
    /// The sender's own position among the receivers.
    own: Option<usize>,
    sent: u64,
    times: Rng,
    receivers: Rng,
    sizes: Rng,
}

/// Arrivals at all senders of a group, merged by time.
pub struct Arrivals {
    group: Group,
    timing: Timing,
    sizes: Sizes,
    processes: Vec<Process>,
    /// Next arrival and number of its process.
    due: BinaryHeap<Reverse<(Time, u32)>>,
    number: u64,
}

impl Arrivals {
    /// Arrivals of `senders` (no two with the same hosts) in the run with `seed`.
    pub fn new(
        seed: u64,
        group: Group,
        senders: Vec<Sender>,
        timing: Timing,
        sizes: Sizes,
    ) -> Result<Arrivals, WorkloadError> {
        let (Gaps::Periodic(gap) | Gaps::Poisson(gap)) = timing.gaps;
        if gap == Time::ZERO {
            return Err(WorkloadError::NoGap);
        }
        let mut processes = Vec::with_capacity(senders.len());
        for sender in senders {
            processes.push(Process::new(seed, &group.stream, sender)?);
        }
        let mut arrivals = Arrivals { group, timing, sizes, processes, due: BinaryHeap::new(), number: 0 };
        for process in 0..arrivals.processes.len() as u32 {
            let first = match timing.gaps {
                Gaps::Periodic(_) => timing.start,
                Gaps::Poisson(_) => arrivals.after(process, timing.start),
            };
            arrivals.schedule(process, first);
        }
        Ok(arrivals)
    }

    /// Number of flows in all, if it does not depend on time.
    pub fn total(&self) -> Option<u64> {
        match (self.timing.until, self.timing.count) {
            (None, Some(count)) => count.checked_mul(self.processes.len() as u64),
            _ => None,
        }
    }

    fn after(&mut self, process: u32, now: Time) -> Time {
        match self.timing.gaps {
            Gaps::Periodic(gap) => now.after(gap),
            Gaps::Poisson(mean) => {
                let gap: f64 = Exp1.sample(&mut self.processes[process as usize].times);
                now.after(Time((gap * mean.as_ps() as f64).round() as u64))
            }
        }
    }

    fn schedule(&mut self, process: u32, at: Time) {
        let more = self.timing.count.is_none_or(|count| self.processes[process as usize].sent < count);
        if more && at < self.timing.until.unwrap_or(Time::NEVER) && at < Time::NEVER {
            self.due.push(Reverse((at, process)));
        }
    }
}

impl Process {
    fn new(seed: u64, name: &str, sender: Sender) -> Result<Process, WorkloadError> {
        let src = sender.src;
        let (own, to) = match &sender.to {
            To::One(dst) if *dst == src => return Err(WorkloadError::OnlyItself { host: src.0 }),
            To::One(dst) => (None, dst.0),
            To::Any(hosts) => {
                let own = hosts.iter().position(|&host| host == src);
                if hosts.len() <= usize::from(own.is_some()) {
                    return Err(WorkloadError::OnlyItself { host: src.0 });
                }
                (own, u32::MAX)
            }
            To::Weighted(hosts) if hosts.iter().all(|(host, _)| *host == src) => {
                return Err(WorkloadError::OnlyItself { host: src.0 });
            }
            To::Weighted(_) => (None, u32::MAX),
        };
        let place = u64::from(src.0) << 32 | u64::from(to);
        let [times, receivers, sizes] =
            ["times", "receivers", "sizes"].map(|what| stream(seed, &format!("flow {what}/{name}"), place));
        Ok(Process { sender, own, sent: 0, times, receivers, sizes })
    }

    fn receiver(&mut self) -> HostId {
        match &self.sender.to {
            To::One(host) => *host,
            To::Any(hosts) => {
                // One draw among the others, skipping the sender, serves every sender.
                let others = hosts.len() - usize::from(self.own.is_some());
                let drawn = self.receivers.random_range(0..others as u64) as usize;
                hosts[drawn + usize::from(self.own.is_some_and(|own| drawn >= own))]
            }
            To::Weighted(hosts) => {
                let (last, sum) = hosts[hosts.len() - 1];
                let drawn = self.receivers.random::<f64>() * sum;
                // Rounding may raise the product to the sum itself.
                hosts.get(hosts.partition_point(|(_, upto)| *upto <= drawn)).map_or(last, |(host, _)| *host)
            }
        }
    }
}

impl FlowSource for Arrivals {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let Reverse((start, at)) = self.due.pop()?;
        let process = &mut self.processes[at as usize];
        process.sent += 1;
        let flow = FlowSpec {
            id: self.group.flow_id(self.number),
            group: self.group.index,
            src: process.sender.src,
            dst: process.receiver(),
            bytes: self.sizes.draw(&mut process.sizes),
            start,
            class: self.group.class,
            ect: self.group.ect,
            path: process.sender.way.data.clone(),
            ack_path: process.sender.way.acks.clone(),
            link: process.sender.way.link,
            stream: None,
        };
        self.number += 1;
        let next = self.after(at, start);
        self.schedule(at, next);
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::packet::Class;
    use crate::units::Bytes;

    fn group() -> Group {
        Group { index: 1, stream: "g".into(), class: Class(3), ect: false }
    }

    fn poisson(until: Time) -> Timing {
        Timing { start: Time::ZERO, gaps: Gaps::Poisson(Time::us(10)), until: Some(until), count: None }
    }

    fn random(hosts: u32) -> Vec<Sender> {
        let all: Arc<[HostId]> = (0..hosts).map(HostId).collect();
        (0..hosts).map(|h| Sender { src: HostId(h), to: To::Any(Arc::clone(&all)), way: Way::default() }).collect()
    }

    fn flows(seed: u64, senders: Vec<Sender>, timing: Timing) -> Vec<FlowSpec> {
        let mut source = Arrivals::new(seed, group(), senders, timing, Sizes::Fixed(Bytes(1000))).unwrap();
        std::iter::from_fn(|| source.next_flow()).collect()
    }

    #[test]
    fn periodic_flows_are_exact() {
        let one = vec![Sender { src: HostId(0), to: To::One(HostId(1)), way: Way::default() }];
        let timing =
            Timing { start: Time::us(5), gaps: Gaps::Periodic(Time::us(2)), until: Some(Time::us(11)), count: None };
        let starts: Vec<Time> = flows(1, one.clone(), timing).iter().map(|f| f.start).collect();
        assert_eq!(starts, [Time::us(5), Time::us(7), Time::us(9)]);
        let counted = Timing { until: None, count: Some(2), ..timing };
        assert_eq!(flows(1, one.clone(), counted).len(), 2);
        let source = Arrivals::new(1, group(), one, counted, Sizes::Fixed(Bytes(1))).unwrap();
        assert_eq!(source.total(), Some(2));
    }

    #[test]
    fn poisson_mean_and_variance() {
        // 16 senders for 10 ms at one flow per 10 us: 16 000 expected, standard deviation 126.
        let all = flows(7, random(16), poisson(Time::ms(10)));
        assert!((all.len() as f64 - 16_000.0).abs() < 4.0 * 126.5, "{}", all.len());
        let mut last = [0; 16];
        let mut gaps = Vec::new();
        for flow in &all {
            let from = &mut last[flow.src.0 as usize];
            gaps.push((flow.start.as_ps() - *from) as f64 / 1e7);
            *from = flow.start.as_ps();
        }
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        // An exponential of mean 1 has variance 1, and its sample variance has variance 8 / n.
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n;
        assert!((mean - 1.0).abs() < 4.0 / n.sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 4.0 * (8.0 / n).sqrt(), "{variance}");
        assert!(all.windows(2).all(|w| w[0].start <= w[1].start && w[0].id < w[1].id));
    }

    #[test]
    fn receivers_are_uniform_and_never_the_sender() {
        let all = flows(3, random(5), poisson(Time::ms(40)));
        let mut seen = [[0u32; 5]; 5];
        for flow in &all {
            seen[flow.src.0 as usize][flow.dst.0 as usize] += 1;
        }
        for (src, row) in seen.iter().enumerate() {
            let total = f64::from(row.iter().sum::<u32>());
            for (dst, &n) in row.iter().enumerate() {
                if src == dst {
                    assert_eq!(n, 0);
                } else {
                    let sigma = (total * 0.25 * 0.75).sqrt();
                    assert!((f64::from(n) - total / 4.0).abs() < 4.0 * sigma, "{src} -> {dst}: {n} of {total}");
                }
            }
        }
    }

    #[test]
    fn weighted_receivers_come_by_their_weights() {
        let to: Arc<[(HostId, f64)]> = vec![(HostId(4), 1.0), (HostId(7), 4.0), (HostId(9), 4.5)].into();
        let all = flows(
            3,
            vec![Sender { src: HostId(0), to: To::Weighted(to), way: Way::default() }],
            poisson(Time::ms(100)),
        );
        let n = all.len() as f64;
        for (host, share) in [(4, 1.0 / 4.5), (7, 3.0 / 4.5), (9, 0.5 / 4.5)] {
            let got = all.iter().filter(|f| f.dst == HostId(host)).count() as f64;
            let sigma = (n * share * (1.0 - share)).sqrt();
            assert!((got - n * share).abs() < 4.0 * sigma, "h{host}: {got} of {n}");
        }
        let none = vec![Sender { src: HostId(0), to: To::Weighted(Arc::new([])), way: Way::default() }];
        let source = Arrivals::new(1, group(), none, poisson(Time::ms(1)), Sizes::Fixed(Bytes(1)));
        assert_eq!(source.err(), Some(WorkloadError::OnlyItself { host: 0 }));
    }

    #[test]
    fn a_receiver_outside_the_list_of_receivers_may_get_all() {
        let to: Arc<[HostId]> = vec![HostId(4), HostId(9)].into();
        let sender = Sender { src: HostId(0), to: To::Any(to), way: Way::default() };
        let all = flows(3, vec![sender], poisson(Time::ms(1)));
        assert!(all.iter().any(|f| f.dst == HostId(4)) && all.iter().any(|f| f.dst == HostId(9)));
    }

    #[test]
    fn another_sender_moves_no_draw() {
        let few = flows(1, random(8)[..3].to_vec(), poisson(Time::ms(1)));
        let many = flows(1, random(8), poisson(Time::ms(1)));
        let of = |list: &[FlowSpec], host| {
            let own = list.iter().filter(|f| f.src == HostId(host));
            own.map(|f| (f.start, f.dst)).collect::<Vec<_>>()
        };
        for host in 0..3 {
            assert_eq!(of(&few, host), of(&many, host));
        }
        assert_ne!(of(&many, 0), of(&many, 1));
        assert_eq!(flows(1, random(8), poisson(Time::ms(1))), many);
        assert_ne!(flows(2, random(8), poisson(Time::ms(1))), many);
    }

    #[test]
    fn what_is_refused() {
        let make = |senders, timing| Arrivals::new(1, group(), senders, timing, Sizes::Fixed(Bytes(1))).err();
        let still = Timing { gaps: Gaps::Poisson(Time::ZERO), ..poisson(Time::ms(1)) };
        assert_eq!(make(random(2), still), Some(WorkloadError::NoGap));
        assert_eq!(make(random(1), poisson(Time::ms(1))), Some(WorkloadError::OnlyItself { host: 0 }));
        let own = vec![Sender { src: HostId(2), to: To::One(HostId(2)), way: Way::default() }];
        assert_eq!(make(own, poisson(Time::ms(1))), Some(WorkloadError::OnlyItself { host: 2 }));
    }

    #[test]
    fn the_end_of_time_ends_arrivals() {
        let one = vec![Sender { src: HostId(0), to: To::One(HostId(1)), way: Way::default() }];
        let late = Timing { start: Time(u64::MAX - 5), gaps: Gaps::Periodic(Time(2)), until: None, count: None };
        assert_eq!(flows(1, one, late).len(), 3);
    }
}
