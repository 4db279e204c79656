//! Exact statistics of the bytes that wait for the ports of one switch between two samples: integrals over time, updated at every change.
//!
//! A switch has them only if `output.backlogs` requests them.

use crate::model::packet::Port;
use crate::model::switch::occupancy::Occupancy;
use backwater_engine::Time;

/// The backlog of one port since the last sample.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Backlog {
    /// \[bytes\] now
    bytes: u64,
    /// When it last changed or was sampled.
    since: Time,
    /// \[bytes\] most at once
    most: u64,
    /// \[bytes ps\]
    area: u128,
    /// \[bytes² ps\]
    square: u128,
    /// \[ps\] without a byte
    empty: u64,
    /// Something has waited since the run began.
    began: bool,
}

/// The sample of one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moments {
    /// \[bytes\] mean over time
    pub mean: u64,
    /// \[bytes²\] mean of the square over time
    pub mean_square: u64,
    /// \[bytes\] most at once
    pub most: u64,
    /// \[ps\] without a byte
    pub empty: u64,
}

impl Backlog {
    fn pass(&mut self, now: Time) {
        let time = u128::from(now.since(self.since).as_ps());
        let bytes = u128::from(self.bytes);
        self.area += bytes * time;
        self.square += bytes * bytes * time;
        if self.bytes == 0 {
            self.empty += time as u64;
        }
        self.since = now;
    }

    fn set(&mut self, bytes: u64, now: Time) {
        self.pass(now);
        self.bytes = bytes;
        self.most = self.most.max(bytes);
        self.began |= bytes != 0;
    }

    fn take(&mut self, now: Time, interval: Time) -> Option<Moments> {
        self.pass(now);
        let interval = u128::from(interval.as_ps().max(1));
        // To the nearest whole number, so that many intervals together are not off to one side.
        let mean = |sum: u128| ((sum + interval / 2) / interval) as u64;
        let moments =
            Moments { mean: mean(self.area), mean_square: mean(self.square), most: self.most, empty: self.empty };
        *self = Backlog { bytes: self.bytes, since: now, most: self.bytes, began: self.began, ..Backlog::default() };
        self.began.then_some(moments)
    }
}

/// The backlogs of a switch's ports.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Backlogs(Vec<Backlog>);

impl Backlogs {
    pub fn new(ports: usize) -> Backlogs {
        Backlogs(vec![Backlog::default(); ports])
    }

    /// The bytes that wait for `port` have changed.
    pub fn change(&mut self, port: Port, occupancy: &Occupancy, now: Time) {
        self.0[usize::from(port.0)].set(occupancy.egress_port(port).0, now);
    }

    /// Returns a port's backlog of the `interval` that ends now, and begins the next interval. `None` until something has waited.
    pub fn take(&mut self, port: Port, now: Time, interval: Time) -> Option<Moments> {
        self.0[usize::from(port.0)].take(now, interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 B for 2 us, 3000 B for 1 us, nothing for 7 us: mean 500 B, mean square 1.1 MB², and the next interval starts with the current
    /// bytes. Nothing is reported before something has waited; every interval afterwards has its numbers.
    #[test]
    fn moments_are_weighted_by_time() {
        let (mut backlog, interval) = (Backlog::default(), Time::us(10));
        assert_eq!(backlog.take(Time::us(10), interval), None);
        backlog.set(1000, Time::us(14));
        backlog.set(3000, Time::us(16));
        backlog.set(0, Time::us(17));
        let first = backlog.take(Time::us(20), interval);
        assert_eq!(first, Some(Moments { mean: 500, mean_square: 1_100_000, most: 3000, empty: 7_000_000 }));
        let nothing = backlog.take(Time::us(30), interval);
        assert_eq!(nothing, Some(Moments { mean: 0, mean_square: 0, most: 0, empty: 10_000_000 }));
        backlog.set(200, Time::us(35));
        assert_eq!(backlog.take(Time::us(40), interval).map(|moments| moments.mean), Some(100));
        let last = backlog.take(Time::us(50), interval);
        assert_eq!(last, Some(Moments { mean: 200, mean_square: 40_000, most: 200, empty: 0 }));
    }
}
