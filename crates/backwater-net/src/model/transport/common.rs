//! State of both ends of a reliable flow that all transports have.

use super::messages::{Incoming, Outgoing};
use crate::model::packet::{Body, DataHeader, Packet};
use backwater_engine::Time;
use std::collections::BTreeSet;

/// State of every sender.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct SenderCommon {
    /// Offsets of packets to be retransmitted.
    pub lost: BTreeSet<u64>,
    /// \[bytes\] end of the furthest packet sent so far
    pub furthest: u64,
    /// When it last made progress, or was retransmitted.
    pub progress: Time,
    /// A timeout is pending.
    pub armed: bool,
    /// The pending timeout has nothing to time: its flow has ended, or its connection is idle.
    pub idles: bool,
    /// Timeouts in a row without progress.
    pub tries: u32,
    /// \[bytes\] of payload sent so far, retransmissions included
    pub total: u64,
    /// Packets.
    pub retransmitted: u64,
    /// Packets declared lost because later ones, or an answer to a probe, had arrived.
    pub inferred: u64,
    pub timeouts: u32,
    /// Messages of a connection that messages share (`host/messages.rs`).
    pub messages: Option<Box<Outgoing>>,
}

impl SenderCommon {
    /// Returns whether something waits to be retransmitted.
    #[inline(always)]
    pub fn has_retransmissions(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Removes and returns the offset of the next packet, for a flow that has sent up to `sent`: lost packets go before new ones.
    #[inline(always)]
    pub fn next_offset(&mut self, sent: u64) -> u64 {
        self.lost.pop_first().unwrap_or(sent)
    }

    /// Marks the packet at this offset as to be retransmitted. Returns whether it was not marked before.
    pub fn mark_lost(&mut self, offset: u64) -> bool {
        self.lost.insert(offset)
    }

    /// Declares the packet at this offset lost, though its timer has not expired. Returns whether that is new.
    pub fn infer_lost(&mut self, offset: u64, step: u64) -> bool {
        let news = self.mark_lost(offset);
        self.inferred += u64::from(news);
        if let Some(message) =
            self.messages.as_mut().and_then(|messages| messages.of_mut(offset, step)).filter(|_| news)
        {
            message.inferred += 1;
        }
        news
    }

    /// The timer of the packet at this offset has expired.
    pub fn note_timeout(&mut self, offset: u64, step: u64) {
        self.timeouts += 1;
        if let Some(message) = self.messages.as_mut().and_then(|messages| messages.of_mut(offset, step)) {
            message.timeouts += 1;
        }
    }

    /// Marks the timer as having nothing to time. Returns whether this is new, for an armed timer.
    pub fn idle_timer(&mut self) -> bool {
        self.armed && !std::mem::replace(&mut self.idles, true)
    }

    /// Marks the timer as having something to time, or as expired. Returns whether it had nothing to time.
    pub fn use_timer(&mut self) -> bool {
        std::mem::take(&mut self.idles)
    }

    /// Arms the timer, unless it is armed: it expires at `due`. Returns that time if it was armed now.
    pub fn arm(&mut self, due: Time) -> Option<Time> {
        (!std::mem::replace(&mut self.armed, true)).then_some(due)
    }

    /// It has made progress.
    pub fn note_progress(&mut self, now: Time) {
        (self.progress, self.tries) = (now, 0);
    }

    /// Packets to be retransmitted, and \[bytes\] of their payload, for a flow with so much payload in packets of `step` bytes.
    pub fn retransmissions(&self, available: u64, step: u64) -> (u64, u64) {
        let packets = self.lost.len() as u64;
        let Some(last) = self.lost.last() else { return (0, 0) };
        let bytes = match &self.messages {
            Some(messages) => self.lost.iter().map(|offset| messages.payload_at(*offset, step)).sum(),
            // Without a walk over all lost packets: only a flow's last packet is shorter than the others.
            None => (packets - 1) * step + step.min(available.saturating_sub(*last)),
        };
        (bytes, packets)
    }

    /// Shortens the last packet of a message that shares its connection to the message's end.
    pub fn cut_to_message(&self, packet: &mut Packet, step: u64) {
        let Some(messages) = &self.messages else { return };
        let Body::Data(data) = &mut packet.body else { return };
        let payload = messages.payload_at(data.offset, step) as u32;
        packet.size -= data.payload - payload;
        data.payload = payload;
    }

    /// Counts a sent packet, the first of its flow or another. Returns whether it is a retransmission.
    pub fn count_sent(&mut self, packet: &Packet, first: bool, step: u64) -> bool {
        let Body::Data(DataHeader { offset, payload, .. }) = packet.body else { return false };
        let end = offset + if self.messages.is_some() { step } else { u64::from(payload) };
        let retransmission = end <= self.furthest && !first;
        if let Some(message) = self.messages.as_mut().and_then(|messages| messages.of_mut(offset, step)) {
            message.sent += 1;
            message.retransmitted += u64::from(retransmission);
        }
        self.retransmitted += u64::from(retransmission);
        self.furthest = self.furthest.max(end);
        self.total += u64::from(payload);
        retransmission
    }
}

/// State of every receiver.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct ReceiverCommon {
    /// Offset and end of packets beyond a gap.
    pub beyond: BTreeSet<(u64, u64)>,
    /// \[bytes\] All before this offset have arrived.
    pub expected: u64,
    /// Messages of a connection that messages share (`host/messages.rs`).
    pub messages: Option<Box<Incoming>>,
}

impl ReceiverCommon {
    /// The offset behind a packet; on a connection whose messages follow each other, the offset of the next packet.
    pub fn end_of(&self, data: DataHeader, step: u64) -> u64 {
        if self.messages.is_some() { data.offset + step } else { data.end() }
    }

    /// All before `end` have arrived; continues over packets that wait beyond it without a gap.
    pub fn advance(&mut self, end: u64) {
        self.expected = end;
        while let Some(&(from, to)) = self.beyond.first().filter(|(from, _)| *from <= self.expected) {
            self.beyond.remove(&(from, to));
            self.expected = self.expected.max(to);
        }
    }

    /// Returns a value that changes with each packet that is accepted for the first time.
    pub fn taken(&self) -> (u64, usize) {
        (self.expected, self.beyond.len())
    }
}
