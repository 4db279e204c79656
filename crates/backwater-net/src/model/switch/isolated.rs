//! The contents of one switch's held isolation queues: the counters that mechanisms see, and statistics over time.

use crate::model::hooks::place::{IsolationQueue, Place};
use crate::model::packet::{Class, Port};
use crate::record::IsolationStats;
use crate::units::Bytes;
use backwater_engine::Time;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The contents of isolation queues. Zero has no entry, so a switch without isolation queues pays nothing.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct IsolatedBytes {
    by_ingress: BTreeMap<(Port, Class), u64>,
    isolation_queues: BTreeMap<IsolationQueue, Waiting>,
    depth: Depth,
}

#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Waiting {
    bytes: u64,
    open: bool,
}

impl IsolatedBytes {
    pub fn at(&self, port: Port, class: Class) -> Bytes {
        Bytes(self.by_ingress.get(&(port, class)).copied().unwrap_or(0))
    }

    pub fn of(&self, isolation_queue: IsolationQueue) -> Bytes {
        Bytes(self.isolation_queues.get(&isolation_queue).map_or(0, |waiting| waiting.bytes))
    }

    pub fn total(&self) -> u64 {
        self.depth.bytes
    }

    /// A frame joins an isolation queue, which is shut if it was empty. Returns the frame's number among all that have waited.
    pub fn add(&mut self, at: &Place, isolation_queue: IsolationQueue, size: u64, now: Time) -> u64 {
        *self.by_ingress.entry((at.ingress, at.class)).or_default() += size;
        self.isolation_queues.entry(isolation_queue).or_default().bytes += size;
        self.depth.frames += 1;
        self.depth.change(now, self.depth.bytes + size);
        self.depth.frames
    }

    pub fn take(&mut self, at: &Place, isolation_queue: IsolationQueue, size: u64, now: Time) {
        less(&mut self.by_ingress, (at.ingress, at.class), size, |bytes| bytes);
        less(&mut self.isolation_queues, isolation_queue, size, |waiting| &mut waiting.bytes);
        self.depth.change(now, self.depth.bytes - size);
    }

    /// Opens or shuts an isolation queue that is not empty. Returns whether it is not.
    pub fn set(&mut self, isolation_queue: IsolationQueue, open: bool) -> bool {
        self.isolation_queues.get_mut(&isolation_queue).map(|waiting| waiting.open = open).is_some()
    }

    pub fn is_open(&self, isolation_queue: IsolationQueue) -> bool {
        self.isolation_queues.get(&isolation_queue).is_some_and(|waiting| waiting.open)
    }

    /// Returns the statistics from the beginning of the run until `now`.
    pub fn stats(&self, now: Time) -> IsolationStats {
        self.depth.stats(now)
    }
}

fn less<K: Ord, V>(counts: &mut BTreeMap<K, V>, key: K, size: u64, bytes: impl Fn(&mut V) -> &mut u64) {
    if let Entry::Occupied(mut count) = counts.entry(key) {
        *bytes(count.get_mut()) -= size;
        if *bytes(count.get_mut()) == 0 {
            count.remove();
        }
    }
}

/// Depths are distinguished to one part in this many, and exactly below twice as many bytes.
const PARTS: u64 = 1 << 7;

/// How long how many bytes waited: exact except the depth of a percentile, which is rounded up by less than 1 %.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Depth {
    frames: u64,
    bytes: u64,
    most: u64,
    since: Time,
    /// \[bytes ps\]
    area: u128,
    /// \[ps\] by rounded depth
    time_at: BTreeMap<u64, u64>,
}

impl Depth {
    fn change(&mut self, now: Time, bytes: u64) {
        let time = now.since(self.since).as_ps();
        if time > 0 {
            self.area += u128::from(self.bytes) * u128::from(time);
            *self.time_at.entry(rounded_up(self.bytes)).or_default() += time;
        }
        (self.since, self.bytes) = (now, bytes);
        self.most = self.most.max(bytes);
    }

    fn stats(&self, now: Time) -> IsolationStats {
        let mut all = self.clone();
        all.change(now, self.bytes);
        let run = all.time_at.values().sum::<u64>();
        // The least depth that is exceeded for at most `beyond` of every `of` ps.
        let percentile = |beyond: u128, of: u128| {
            let mut above = u128::from(run);
            let within = all.time_at.iter().find(|(_, time)| {
                above -= u128::from(**time);
                above * of <= u128::from(run) * beyond
            });
            within.map_or(0, |(depth, _)| (*depth).min(all.most))
        };
        IsolationStats {
            frames: all.frames,
            max_bytes: all.most,
            mean_bytes: if run == 0 { 0.0 } else { all.area as f64 / run as f64 },
            p99_bytes: percentile(1, 100),
            p999_bytes: percentile(1, 1_000),
            time_ps: run - all.time_at.get(&0).copied().unwrap_or(0),
        }
    }
}

fn rounded_up(bytes: u64) -> u64 {
    let shift = (bytes / PARTS).checked_ilog2().unwrap_or(0);
    ((bytes >> shift) + u64::from(bytes & ((1 << shift) - 1) != 0)) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 B for 2 us and 3000 B for 1 us of 1 ms: something for 0.3 % of the time, the most for 0.1 %.
    #[test]
    fn percentiles_are_weighted_by_time() {
        let mut depth = Depth::default();
        depth.change(Time::us(4), 1000);
        depth.change(Time::us(6), 3000);
        depth.change(Time::us(7), 0);
        let stats = depth.stats(Time::ms(1));
        assert_eq!((stats.max_bytes, stats.time_ps), (3000, 3_000_000));
        assert_eq!((stats.p99_bytes, stats.p999_bytes), (0, 1000), "above 1000 B for exactly one part in a thousand");
        assert!((stats.mean_bytes - 5.0).abs() < 1e-9, "{}", stats.mean_bytes);
        assert_eq!(depth.stats(Time::us(999)).p999_bytes, 3000, "and now for more than that");
    }

    #[test]
    fn depths_are_rounded_up_by_less_than_a_hundredth() {
        for bytes in [0, 1, 127, 128, 255, 256, 257, 1_000, 4_064, 99_999, 1 << 20, (1 << 32) - 1] {
            let rounded = rounded_up(bytes);
            assert!(rounded >= bytes && (rounded - bytes) * 100 <= bytes, "{bytes} to {rounded}");
        }
        assert_eq!([255, 256].map(rounded_up), [255, 256]);
    }

    #[test]
    fn what_is_zero_is_forgotten() {
        let at = crate::bench::place(Port(1), Port(2), Class(3));
        let isolation_queue = IsolationQueue { owner: crate::model::hooks::place::MechanismId(4), number: 9 };
        let mut isolated = IsolatedBytes::default();
        assert_eq!([100, 50].map(|size| isolated.add(&at, isolation_queue, size, Time::ZERO)), [1, 2]);
        assert_eq!(
            (isolated.at(Port(1), Class(3)), isolated.of(isolation_queue), isolated.total()),
            (Bytes(150), Bytes(150), 150)
        );
        [100, 50].iter().for_each(|size| isolated.take(&at, isolation_queue, *size, Time::ZERO));
        assert_eq!((isolated.by_ingress.len(), isolated.isolation_queues.len(), isolated.total()), (0, 0, 0));
    }

    /// Flows of one isolation queue take several uplinks: frames for another uplink that arrive while the isolation queue drains must not
    /// wait for a second opening.
    #[test]
    fn a_lane_is_open_for_every_queue_or_for_none() {
        let isolation_queues =
            [1, 2].map(|number| IsolationQueue { owner: crate::model::hooks::place::MechanismId(4), number });
        let uplinks = [2, 3].map(|egress| crate::bench::place(Port(1), Port(egress), Class(3)));
        let mut isolated = IsolatedBytes::default();
        assert!(!isolated.set(isolation_queues[0], true), "what holds nothing has no state");
        isolated.add(&uplinks[0], isolation_queues[0], 100, Time::ZERO);
        assert!(!isolated.is_open(isolation_queues[0]) && isolated.set(isolation_queues[0], true));
        isolated.add(&uplinks[1], isolation_queues[0], 100, Time::ZERO);
        isolated.add(&uplinks[1], isolation_queues[1], 100, Time::ZERO);
        assert_eq!(isolation_queues.map(|isolation_queue| isolated.is_open(isolation_queue)), [true, false]);
        isolated.take(&uplinks[0], isolation_queues[0], 100, Time::ZERO);
        assert!(isolated.is_open(isolation_queues[0]), "a frame is left for the other uplink");
        isolated.take(&uplinks[1], isolation_queues[0], 100, Time::ZERO);
        isolated.add(&uplinks[0], isolation_queues[0], 100, Time::ZERO);
        assert!(!isolated.is_open(isolation_queues[0]));
    }
}
