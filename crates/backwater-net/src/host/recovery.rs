//! What the two ends of a connection keep to send again what is lost ([`super::transport`] is what they do with it).

use super::messages::{Incoming, Outgoing};
use super::outstanding::Outstanding;
use crate::packet::{DataHeader, Gap, Report};
use backwater_engine::Time;
use std::collections::BTreeSet;

/// Packets in the map of an acknowledgement.
pub(crate) const MAP: u64 = 64;

/// What a sender keeps to send packets again.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Sender {
    /// Offsets beyond the acknowledged ones that the receiver has reported.
    pub reported: BTreeSet<u64>,
    /// Offsets of packets that are lost.
    pub lost: BTreeSet<u64>,
    /// Losses before this offset have been noticed.
    pub noticed: u64,
    /// Offsets from there on whose losses were told by themselves, and are no news once a gap shows them.
    pub told: BTreeSet<u64>,
    /// \[bytes\] end of the furthest packet sent so far
    pub furthest: u64,
    /// When it last got further, or was sent again.
    pub progress: Time,
    /// A timeout is pending.
    pub armed: bool,
    /// Timeouts since it last got further.
    pub tries: u32,
    /// \[bytes\] of payload sent so far, what was sent again included
    pub total: u64,
    pub retransmitted: u64,
    /// Packets taken for lost because later ones, or an answer to a probe, had come.
    pub inferred: u64,
    pub timeouts: u32,
    /// Its packets one by one, where they are acknowledged so ([`super::rud`]).
    pub outstanding: Option<Box<Outstanding>>,
    /// Of a connection that messages share ([`super::kept`]).
    pub messages: Option<Box<Outgoing>>,
}

/// What a receiver keeps to fill gaps.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Receiver {
    /// Offset and end of packets beyond a gap.
    pub beyond: BTreeSet<(u64, u64)>,
    /// \[bytes\] All before this offset have arrived.
    pub expected: u64,
    /// The gap at `expected` has been reported, and is not reported again before this.
    pub silent_until: Time,
    /// \[bytes\] of frames that have come, none of them twice, and of all since the last acknowledgement ([`super::rud`]).
    pub counted: u64,
    pub accepted: u64,
    /// The sender has asked for an acknowledgement, and there is a gap.
    pub asked: bool,
    /// What the acknowledgement under way says, of the packet that it answers and of others.
    pub gap: Option<Gap>,
    pub report: Report,
    /// Of a connection that messages share ([`super::kept`]).
    pub messages: Option<Box<Incoming>>,
}

impl Receiver {
    /// The offset behind a packet: of a connection whose messages follow each other that of the next packet.
    pub fn end_of(&self, data: DataHeader, step: u64) -> u64 {
        if self.messages.is_some() { data.offset + step } else { data.end() }
    }

    /// What there is to say of the 64 packets from number `first` on, and of all.
    pub fn report_from(&self, first: u64, step: u64) -> Report {
        let near = self.beyond.range((first * step, 0)..((first + MAP) * step, 0));
        let map = near.fold(0, |map, (held, _)| map | 1 << (held / step - first));
        Report { first, map, counted: self.counted, beyond: self.beyond.len() as u64 }
    }

    /// What changes with each packet that is taken and had not come before.
    pub fn taken(&self) -> (u64, usize) {
        (self.expected, self.beyond.len())
    }

    /// A packet has come beyond the gap: whether that is to be reported.
    pub fn reports(&mut self, now: Time, again: Option<Time>) -> bool {
        if now < self.silent_until {
            return false;
        }
        self.silent_until = again.map_or(Time::NEVER, |interval| now.after(interval));
        true
    }
}

impl Sender {
    /// Whether something waits to be sent again.
    pub fn owes(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Packets between `acked` and `sent` that are neither known to have arrived nor to be sent again.
    pub fn under_way(&self, acked: u64, sent: u64, step: u64) -> u64 {
        let known = (self.lost.len() + self.reported.len()) as u64;
        sent.saturating_sub(acked).div_ceil(step).saturating_sub(known)
    }

    /// A gap before a packet at `here` shows which packets of `step` bytes are lost: those that nobody has reported. Whether one of them
    /// was not known to be.
    pub fn notice(&mut self, acked: u64, here: u64, step: u64) -> bool {
        let mut news = false;
        let mut offset = self.noticed.max(acked);
        while offset < here {
            if !self.reported.contains(&offset) && !self.told.remove(&offset) {
                news |= self.infer(offset, step);
            }
            offset += step;
        }
        self.noticed = offset.max(self.noticed);
        news
    }

    /// The time of the packet at this offset is over.
    pub fn note_timeout(&mut self, offset: u64, step: u64) {
        self.timeouts += 1;
        if let Some(message) = self.messages.as_mut().and_then(|messages| messages.of_mut(offset, step)) {
            message.timeouts += 1;
        }
    }

    /// The packet at this offset is taken for lost, though its time is not over. Whether that is news.
    pub fn infer(&mut self, offset: u64, step: u64) -> bool {
        let news = self.lost.insert(offset);
        self.inferred += u64::from(news);
        if let Some(message) =
            self.messages.as_mut().and_then(|messages| messages.of_mut(offset, step)).filter(|_| news)
        {
            message.inferred += 1;
        }
        news
    }

    /// Timeouts in a row since it last got further.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// The packet at this offset is to be sent again.
    pub fn owe(&mut self, offset: u64) {
        self.lost.insert(offset);
    }
}
