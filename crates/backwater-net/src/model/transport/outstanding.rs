//! A sender's record of each packet that is in flight, lost or acknowledged out of turn ([`super::rud`] uses it).

use backwater_engine::Time;
use std::collections::VecDeque;

/// A sender's record of the packets that are not yet acknowledged cumulatively.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Outstanding {
    /// Number of the first in `records`.
    pub first: u64,
    records: VecDeque<Record>,
    /// When and for which packets timers were started. Entries of packets that have been acknowledged, lost or retransmitted since are
    /// skipped.
    order: VecDeque<(Time, u64)>,
    /// \[bytes\] of frames in flight. Negative between the receiver's count of a packet that had been declared lost and its
    /// acknowledgement.
    balance: i64,
    /// \[bytes\] of frames that the receiver has counted
    counted: u64,
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Record {
    sent: Time,
    /// When its timer was started: when it was sent, or at the last expiry after which it was not declared lost.
    since: Time,
    /// \[bytes\]
    size: u32,
    /// Number of transmissions, up to the largest value.
    sends: u16,
    stands: Stands,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Stands {
    InFlight,
    /// Waits to be retransmitted.
    Lost,
    Arrived,
}

impl Outstanding {
    /// \[bytes\] of frames in flight
    pub fn in_flight(&self) -> u64 {
        self.balance.max(0) as u64
    }

    /// A packet is sent.
    pub fn send(&mut self, number: u64, size: u32, now: Time) -> u16 {
        self.balance += i64::from(size);
        self.order.push_back((now, number));
        let at = number.saturating_sub(self.first) as usize;
        if at == self.records.len() {
            self.records.push_back(Record { sent: now, since: now, size, sends: 0, stands: Stands::InFlight });
        }
        let Some(record) = self.records.get_mut(at) else { return 0 };
        (record.sent, record.since, record.size, record.stands) = (now, now, size, Stands::InFlight);
        record.sends = record.sends.saturating_add(1);
        record.sends
    }

    fn place(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }

    fn record(&mut self, number: u64) -> Option<&mut Record> {
        let at = self.place(number)?;
        self.records.get_mut(at)
    }

    /// The record of a packet in flight.
    fn flying(&self, number: u64) -> Option<&Record> {
        self.records.get(self.place(number)?).filter(|record| record.stands == Stands::InFlight)
    }

    /// The same, mutably.
    fn flying_mut(&mut self, number: u64) -> Option<&mut Record> {
        self.record(number).filter(|record| record.stands == Stands::InFlight)
    }

    /// Returns when a packet in flight was last sent, its size, and its number of transmissions.
    pub fn last_sending(&self, number: u64) -> Option<(Time, u32, u16)> {
        self.flying(number).map(|record| (record.sent, record.size, record.sends))
    }

    /// Returns whether a packet is in flight.
    pub fn is_in_flight(&self, number: u64) -> bool {
        self.flying(number).is_some()
    }

    /// Restarts the timer of a packet in flight that is not declared lost.
    pub fn restart_timer(&mut self, number: u64, now: Time) {
        if let Some(record) = self.flying_mut(number) {
            record.since = now;
            self.order.push_back((now, number));
        }
    }

    /// The receiver has counted so many bytes. Returns the increase.
    pub fn count(&mut self, counted: u64) -> u64 {
        let more = counted.saturating_sub(self.counted);
        self.counted += more;
        self.balance -= more as i64;
        more
    }

    /// A packet is lost. Returns its size.
    pub fn lose(&mut self, number: u64) -> Option<u32> {
        let record = self.flying_mut(number)?;
        record.stands = Stands::Lost;
        let size = record.size;
        self.balance -= i64::from(size);
        Some(size)
    }

    /// A packet has arrived. Returns whether that is new, and whether it was to be retransmitted.
    pub fn arrive(&mut self, number: u64) -> (bool, bool) {
        let Some(record) = self.record(number) else { return (false, false) };
        let (before, size) = (record.stands, record.size);
        record.stands = Stands::Arrived;
        if before == Stands::Lost {
            // Its loss has already removed it, and so has the receiver's count.
            self.balance += i64::from(size);
        }
        (before != Stands::Arrived, before == Stands::Lost)
    }

    /// All packets before this one have arrived, and their records are not needed any more.
    pub fn forget_before(&mut self, number: u64) {
        while self.first < number && self.records.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// The packet in flight with the oldest timer, and when that was started.
    pub fn oldest(&mut self) -> Option<(Time, u64)> {
        while let Some((since, number)) = self.order.front().copied() {
            if self.flying(number).is_some_and(|record| record.since == since) {
                return Some((since, number));
            }
            self.order.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four packets of 100 B are sent at 1, 2, 3 and 4.
    fn four() -> Outstanding {
        let mut all = Outstanding::default();
        for number in 0..4 {
            assert_eq!(all.send(number, 100, Time(number + 1)), 1);
        }
        all
    }

    #[test]
    fn in_flight_goes_by_the_receivers_count() {
        let mut all = four();
        assert_eq!((all.in_flight(), all.count(200), all.in_flight()), (400, 200, 200));
        assert_eq!((all.count(100), all.in_flight()), (0, 200), "an older count says nothing");
        all.forget_before(2);
        assert_eq!(
            (all.oldest(), all.last_sending(1), all.last_sending(2)),
            (Some((Time(3), 2)), None, Some((Time(3), 100, 1)))
        );
    }

    /// The second packet is declared lost and retransmitted. Then the first transmission arrives after all, and the second one as a
    /// duplicate, which the receiver does not count.
    #[test]
    fn what_was_given_up_and_arrives_is_counted_once() {
        let mut all = four();
        assert_eq!((all.lose(1), all.in_flight()), (Some(100), 300));
        assert_eq!((all.lose(1), all.in_flight()), (None, 300), "it is given up already");
        // It is acknowledged while it waits: the count has removed it once more.
        all.count(100);
        assert_eq!((all.in_flight(), all.arrive(1), all.in_flight()), (200, (true, true), 300));
        assert_eq!(all.arrive(1), (false, false));
        // The third is retransmitted before that.
        all.lose(2);
        assert_eq!((all.send(2, 100, Time(9)), all.in_flight()), (2, 300));
        all.count(200);
        assert_eq!((all.arrive(2), all.in_flight()), ((true, false), 200), "packets 0 and 3 are in flight");
    }

    /// A packet is given up twice before its first transmission arrives: the count comes first, and the map restores the excess that it
    /// removes.
    #[test]
    fn what_was_given_up_twice_leaves_nothing_in_flight() {
        let mut all = Outstanding::default();
        all.send(0, 100, Time(1));
        all.lose(0);
        all.send(0, 100, Time(2));
        all.lose(0);
        assert_eq!((all.count(100), all.in_flight()), (100, 0));
        assert_eq!((all.arrive(0), all.in_flight()), ((true, true), 0));
    }

    #[test]
    fn the_timer_is_that_of_the_packet_sent_longest_ago() {
        let mut all = four();
        all.lose(0);
        all.send(0, 100, Time(8));
        all.arrive(1);
        assert_eq!(all.oldest(), Some((Time(3), 2)));
        all.arrive(2);
        all.arrive(3);
        assert_eq!(all.oldest(), Some((Time(8), 0)));
        all.count(400);
        all.arrive(0);
        assert_eq!((all.oldest(), all.in_flight()), (None, 0));
    }
}
