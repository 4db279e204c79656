//! Samples of the delivery rate — draft-cheng-iccrg-delivery-rate-estimation-00.
//!
//! ```text
//! send       C.inflight = 0: C.first_sent_time = C.delivered_time = now
//!            P.first_sent_time = C.first_sent_time;  P.delivered_time = C.delivered_time;  P.delivered = C.delivered
//!            P.is_app_limited = C.app_limited is set
//! ACK        C.delivered += acked;  C.delivered_time = now;  P: of those acknowledged, the one sent last
//!            send_elapsed = P.sent_time - P.first_sent_time;  ack_elapsed = now - P.delivered_time;  C.first_sent_time = P.sent_time
//!            rate = (C.delivered - P.delivered) / max(send_elapsed, ack_elapsed)
//!            no sample where that time is shorter than the least round trip
//! ```

use backwater_engine::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The record of a packet in flight.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sent {
    /// \[bytes\] Offset of the first payload byte after it.
    end: u64,
    sent_time: Time,
    first_sent_time: Time,
    delivered_time: Time,
    delivered: u64,
    is_app_limited: bool,
}

/// The sample of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// \[bytes/s\]; `None`: the time is too short
    pub delivery_rate: Option<f64>,
    pub is_app_limited: bool,
    /// \[bytes\] C.delivered when the packet was sent
    pub prior_delivered: u64,
    /// \[bytes\] newly acknowledged
    pub acked: u64,
}

/// C
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Connection {
    /// \[bytes\] C.delivered
    pub delivered: u64,
    delivered_time: Time,
    first_sent_time: Time,
    /// \[bytes\] C.app_limited: until so much is delivered; 0: not set
    app_limited: u64,
    /// \[bytes\] Acknowledged without a gap
    received: u64,
    sent: VecDeque<Sent>,
}

impl Connection {
    /// \[bytes\] Payload in flight.
    pub fn inflight(&self) -> u64 {
        self.sent.back().map_or(0, |last| last.end.saturating_sub(self.received))
    }

    /// Returns whether the application has too little to send.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }

    /// Marks samples of what is sent now as application-limited: the path could carry more.
    pub fn limit(&mut self) {
        self.app_limited = (self.delivered + self.inflight()).max(1);
    }

    /// A packet with the payload from `offset` to `end` leaves. `last`: nothing waits behind it.
    pub fn sends(&mut self, offset: u64, end: u64, last: bool, now: Time) {
        // A retransmitted packet counts from now on. Under go-back-N, packets that were sent after it are retransmitted, too.
        if self.sent.back().is_some_and(|sent| sent.end > offset) {
            match self.sent.binary_search_by_key(&end, |sent| sent.end) {
                Ok(at) => {
                    self.sent.remove(at);
                }
                Err(_) => self.sent.retain(|sent| sent.end <= offset),
            }
        }
        if self.sent.is_empty() {
            (self.first_sent_time, self.delivered_time) = (now, now);
        }
        let packet = Sent {
            end,
            sent_time: now,
            first_sent_time: self.first_sent_time,
            delivered_time: self.delivered_time,
            delivered: self.delivered,
            is_app_limited: self.app_limited != 0,
        };
        let at = self.sent.partition_point(|sent| sent.end < end);
        self.sent.insert(at, packet);
        if last {
            self.limit();
        }
    }

    /// All before `received` is acknowledged; `min_rtt` is the least round trip so far.
    pub fn acknowledges(&mut self, received: u64, min_rtt: Time, now: Time) -> Option<Sample> {
        let acked = received.saturating_sub(self.received);
        if acked == 0 {
            return None;
        }
        self.received = received;
        self.delivered += acked;
        self.delivered_time = now;
        let mut newest: Option<Sent> = None;
        while let Some(packet) = self.sent.front().copied().filter(|packet| packet.end <= received) {
            self.sent.pop_front();
            if newest.is_none_or(|newest| packet.sent_time >= newest.sent_time) {
                newest = Some(packet);
            }
        }
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let packet = newest?;
        self.first_sent_time = packet.sent_time;
        let send_elapsed = packet.sent_time.since(packet.first_sent_time);
        let ack_elapsed = now.since(packet.delivered_time);
        let interval = send_elapsed.max(ack_elapsed);
        let delivered = self.delivered - packet.delivered;
        let notified = interval > Time::ZERO && (min_rtt == Time::NEVER || interval >= min_rtt);
        Some(Sample {
            delivery_rate: notified.then(|| delivered as f64 / interval.0 as f64 * 1e12),
            is_app_limited: packet.is_app_limited,
            prior_delivered: packet.delivered,
            acked,
        })
    }
}
