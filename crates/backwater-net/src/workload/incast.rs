//! Incast events: at each event, senders drawn anew send at once to one receiver drawn anew.
//!
//! The group has four streams, for times, receivers, senders and sizes: another size distribution changes no event.

use super::{FlowSource, Gaps, Group, Sizes, Timing, WorkloadError};
use crate::model::packet::HostId;
use crate::workload::flow_spec::FlowSpec;
use backwater_engine::rng::stream;
use backwater_engine::{Rng, Time};
use rand::RngExt as _;
use rand_distr::{Distribution as _, Exp1};
use std::collections::HashSet;
use std::sync::Arc;

/// The possible participants in the events of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Possible senders. No host occurs twice.
    pub from: Arc<[HostId]>,
    /// Possible receivers, all equally likely. No host occurs twice.
    pub to: Arc<[HostId]>,
    /// Senders of each event: any so many of `from` except the receiver, all choices equally likely.
    pub fan_in: u32,
}

impl Crowd {
    /// A receiver without enough senders, if there is one.
    pub fn short(&self) -> Option<HostId> {
        // The receiver matters only if the event needs all senders, or all but one.
        match self.from.len().checked_sub(self.fan_in as usize) {
            None => self.to.first().copied(),
            Some(0) => {
                let from: HashSet<&HostId> = self.from.iter().collect();
                self.to.iter().copied().find(|to| from.contains(to))
            }
            Some(_) => None,
        }
    }
}

/// Incast events, one after the other.
pub struct Incasts {
    group: Group,
    crowd: Crowd,
    timing: Timing,
    sizes: Sizes,
    times: Rng,
    receivers: Rng,
    senders: Rng,
    lengths: Rng,
    /// When the next event comes; `NEVER`: there is no next event.
    next: Time,
    events: u64,
    number: u64,
    /// Positions in `from` of the event's senders that have not begun, the last first, and its receiver.
    left: Vec<usize>,
    receiver: HostId,
    start: Time,
}

impl Incasts {
    /// Events of the run with `seed`. `timing.count` counts events; with a count the time between them may be 0.
    pub fn new(seed: u64, group: Group, crowd: Crowd, timing: Timing, sizes: Sizes) -> Result<Incasts, WorkloadError> {
        if let Some(host) = crowd.short() {
            return Err(WorkloadError::TooFewSenders { fan_in: crowd.fan_in, host: host.0 });
        }
        let (Gaps::Periodic(gap) | Gaps::Poisson(gap)) = timing.gaps;
        if gap == Time::ZERO && timing.count.is_none() {
            return Err(WorkloadError::NoGap);
        }
        let [times, receivers, senders, lengths] = ["times", "receivers", "senders", "sizes"]
            .map(|what| stream(seed, &format!("incast {what}/{}", group.stream), 0));
        let (receiver, left, start) = (HostId(0), Vec::new(), timing.start);
        let (events, number, next) = (0, 0, timing.start);
        let mut incasts = Incasts {
            group,
            crowd,
            timing,
            sizes,
            times,
            receivers,
            senders,
            lengths,
            next,
            events,
            number,
            left,
            receiver,
            start,
        };
        if let Gaps::Poisson(_) = timing.gaps {
            incasts.advance();
        }
        Ok(incasts)
    }

    /// Number of flows in all, if it does not depend on time.
    pub fn total(&self) -> Option<u64> {
        match (self.timing.until, self.timing.count) {
            (None, Some(count)) if !self.crowd.to.is_empty() => count.checked_mul(self.crowd.fan_in.into()),
            _ => None,
        }
    }

    fn advance(&mut self) {
        let gap = match self.timing.gaps {
            Gaps::Periodic(gap) => gap,
            Gaps::Poisson(mean) => {
                let gap: f64 = Exp1.sample(&mut self.times);
                Time((gap * mean.as_ps() as f64).round() as u64)
            }
        };
        self.next = self.next.after(gap);
    }

    /// Draws the next event. Returns whether there is one.
    fn event(&mut self) -> bool {
        let more = self.timing.count.is_none_or(|count| self.events < count);
        let in_time = self.next < self.timing.until.unwrap_or(Time::NEVER) && self.next < Time::NEVER;
        let (from, to) = (&self.crowd.from, &self.crowd.to);
        if !more || !in_time || to.is_empty() {
            return false;
        }
        self.receiver = to[self.receivers.random_range(0..to.len() as u64) as usize];
        self.start = self.next;
        let own = from.iter().position(|host| *host == self.receiver);
        let others = from.len() - usize::from(own.is_some());
        let drawn = rand::seq::index::sample(&mut self.senders, others, self.crowd.fan_in as usize);
        // Drawn among the others, skipping the receiver.
        self.left = drawn.into_iter().map(|i| i + usize::from(own.is_some_and(|own| i >= own))).collect();
        self.left.sort_unstable_by(|a, b| b.cmp(a));
        self.events += 1;
        self.advance();
        true
    }
}

impl FlowSource for Incasts {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let at = loop {
            match self.left.pop() {
                Some(at) => break at,
                None if self.event() => {}
                None => return None,
            }
        };
        let flow = FlowSpec {
            id: self.group.flow_id(self.number),
            group: self.group.index,
            src: self.crowd.from[at],
            dst: self.receiver,
            bytes: self.sizes.draw(&mut self.lengths),
            start: self.start,
            class: self.group.class,
            ect: self.group.ect,
            path: None,
            ack_path: None,
            link: None,
            stream: None,
        };
        self.number += 1;
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::packet::Class;
    use crate::units::Bytes;

    fn hosts(range: std::ops::Range<u32>) -> Arc<[HostId]> {
        range.map(HostId).collect()
    }

    fn timing(gaps: Gaps, until: Option<Time>, count: Option<u64>) -> Timing {
        Timing { start: Time::us(1), gaps, until, count }
    }

    fn source(seed: u64, crowd: Crowd, timing: Timing) -> Result<Incasts, WorkloadError> {
        let group = Group { index: 1, stream: "g".into(), class: Class(3), ect: true };
        Incasts::new(seed, group, crowd, timing, Sizes::Fixed(Bytes(1000)))
    }

    fn flows(seed: u64, crowd: Crowd, timing: Timing) -> Vec<FlowSpec> {
        let mut source = source(seed, crowd, timing).unwrap();
        let total = source.total();
        let flows: Vec<FlowSpec> = std::iter::from_fn(|| source.next_flow()).collect();
        assert!(total.is_none_or(|total| total == flows.len() as u64));
        flows
    }

    #[test]
    fn senders_of_an_event_are_different_start_together_and_never_receive() {
        let crowd = Crowd { from: hosts(0..10), to: hosts(5..15), fan_in: 9 };
        let all = flows(1, crowd, timing(Gaps::Periodic(Time::us(3)), None, Some(500)));
        assert_eq!(all.len(), 4500);
        let mut seen = [0u32; 10];
        for (n, event) in all.chunks(9).enumerate() {
            assert!(event.iter().all(|f| f.dst == event[0].dst && f.start == Time::us(1 + 3 * n as u64)));
            assert!(event.windows(2).all(|w| w[0].src < w[1].src && w[0].id + 1 == w[1].id));
            assert!(event.iter().all(|f| f.src != f.dst && f.src.0 < 10));
            // If the receiver is not a possible sender, one of the ten is omitted at random.
            if event[0].dst.0 >= 10 {
                let missing = (0..10).find(|h| event.iter().all(|f| f.src.0 != *h)).unwrap();
                seen[missing as usize] += 1;
            }
        }
        let total = f64::from(seen.iter().sum::<u32>());
        for n in seen {
            assert!((f64::from(n) - total / 10.0).abs() < 4.0 * (total * 0.09).sqrt(), "{seen:?}");
        }
    }

    #[test]
    fn poisson_events_have_their_mean_and_every_receiver_its_share() {
        let crowd = Crowd { from: hosts(0..40), to: hosts(40..44), fan_in: 7 };
        let all = flows(3, crowd, timing(Gaps::Poisson(Time::us(10)), Some(Time::ms(40)), None));
        let events: Vec<&FlowSpec> = all.iter().step_by(7).collect();
        assert_eq!(all.len() % 7, 0);
        assert!((events.len() as f64 - 4000.0).abs() < 4.0 * 63.3, "{}", events.len());
        for to in 40..44 {
            let n = events.iter().filter(|f| f.dst == HostId(to)).count() as f64;
            assert!((n - events.len() as f64 / 4.0).abs() < 4.0 * (events.len() as f64 * 0.1875).sqrt(), "{to}: {n}");
        }
    }

    #[test]
    fn draws_are_named_by_seed() {
        let crowd = || Crowd { from: hosts(0..20), to: hosts(0..20), fan_in: 4 };
        let draw = |seed| flows(seed, crowd(), timing(Gaps::Poisson(Time::us(10)), None, Some(20)));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn several_events_may_come_at_once() {
        let crowd = Crowd { from: hosts(0..20), to: hosts(0..20), fan_in: 4 };
        let all = flows(1, crowd, timing(Gaps::Periodic(Time::ZERO), None, Some(3)));
        assert_eq!((all.len(), all.iter().all(|f| f.start == Time::us(1))), (12, true));
    }

    #[test]
    fn what_is_refused() {
        let crowd = |fan_in| Crowd { from: hosts(0..10), to: hosts(9..11), fan_in };
        let gaps = timing(Gaps::Periodic(Time::us(1)), None, Some(1));
        let few = WorkloadError::TooFewSenders { fan_in: 10, host: 9 };
        assert_eq!(source(1, crowd(10), gaps).err(), Some(few.clone()));
        assert_eq!(few.to_string(), "10 senders into host 9 are more than there are beside it");
        assert!(source(1, crowd(9), gaps).is_ok());
        let still = timing(Gaps::Poisson(Time::ZERO), Some(Time::ms(1)), None);
        assert_eq!(source(1, crowd(3), still).err(), Some(WorkloadError::NoGap));
    }
}
