//! What both ends of a reliable flow keep with every transport.

use super::messages::{Incoming, Outgoing};
use crate::model::packet::{Body, DataHeader, Packet};
use backwater_engine::Time;
use std::collections::BTreeSet;

/// What every sender keeps.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct SenderCommon {
    /// Offsets of packets that are to be retransmitted.
    pub lost: BTreeSet<u64>,
    /// \[bytes\] end of the furthest packet sent so far
    pub furthest: u64,
    /// When it last got further, or was retransmitted.
    pub progress: Time,
    /// A timeout is pending.
    pub armed: bool,
    /// That one has nothing to time: its flow is over, or its connection rests.
    pub idles: bool,
    /// Timeouts in a row since it last got further.
    pub tries: u32,
    /// \[bytes\] of payload sent so far, retransmissions included
    pub total: u64,
    /// Packets.
    pub retransmitted: u64,
    /// Packets taken for lost because later ones, or an answer to a probe, had come.
    pub inferred: u64,
    pub timeouts: u32,
    /// Of a connection that messages share (`host/messages.rs`).
    pub messages: Option<Box<Outgoing>>,
}

impl SenderCommon {
    /// Whether something waits to be retransmitted.
    #[inline(always)]
    pub fn has_retransmissions(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Takes out the offset of the next packet, of a flow that has sent up to `sent`: what is lost goes before what is new.
    #[inline(always)]
    pub fn next_offset(&mut self, sent: u64) -> u64 {
        self.lost.pop_first().unwrap_or(sent)
    }

    /// The packet at this offset is to be retransmitted. Whether that is news.
    pub fn mark_lost(&mut self, offset: u64) -> bool {
        self.lost.insert(offset)
    }

    /// The packet at this offset is taken for lost, though its timer has not expired. Whether that is news.
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

    /// The timer has nothing to time any more. Whether that is news, of a timer that is armed.
    pub fn idle_timer(&mut self) -> bool {
        self.armed && !std::mem::replace(&mut self.idles, true)
    }

    /// The timer has something to time again, or has expired. Whether it had nothing.
    pub fn use_timer(&mut self) -> bool {
        std::mem::take(&mut self.idles)
    }

    /// Arms the timer, unless it is armed: it expires at `due`, which is returned.
    pub fn arm(&mut self, due: Time) -> Option<Time> {
        (!std::mem::replace(&mut self.armed, true)).then_some(due)
    }

    /// It has got further.
    pub fn note_progress(&mut self, now: Time) {
        (self.progress, self.tries) = (now, 0);
    }

    /// Packets that are to be retransmitted, and \[bytes\] of their payload, of a flow with so much payload in packets of `step` bytes.
    pub fn retransmissions(&self, available: u64, step: u64) -> (u64, u64) {
        let packets = self.lost.len() as u64;
        let Some(last) = self.lost.last() else { return (0, 0) };
        let bytes = match &self.messages {
            Some(messages) => self.lost.iter().map(|offset| messages.payload_at(*offset, step)).sum(),
            // Without a walk over all that is lost: only a flow's last packet is shorter than the others.
            None => (packets - 1) * step + step.min(available.saturating_sub(*last)),
        };
        (bytes, packets)
    }

    /// The last packet of a message that shares its connection is as short as the message wants it.
    pub fn cut_to_message(&self, packet: &mut Packet, step: u64) {
        let Some(messages) = &self.messages else { return };
        let Body::Data(data) = &mut packet.body else { return };
        let payload = messages.payload_at(data.offset, step) as u32;
        packet.size -= data.payload - payload;
        data.payload = payload;
    }

    /// Counts a packet that is sent, the first of its flow or another. Whether it is a retransmission.
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

/// What every receiver keeps.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct ReceiverCommon {
    /// Offset and end of packets beyond a gap.
    pub beyond: BTreeSet<(u64, u64)>,
    /// \[bytes\] All before this offset have arrived.
    pub expected: u64,
    /// Of a connection that messages share (`host/messages.rs`).
    pub messages: Option<Box<Incoming>>,
}

impl ReceiverCommon {
    /// The offset behind a packet: of a connection whose messages follow each other that of the next packet.
    pub fn end_of(&self, data: DataHeader, step: u64) -> u64 {
        if self.messages.is_some() { data.offset + step } else { data.end() }
    }

    /// All before `end` have arrived, and what waits beyond and follows it.
    pub fn advance(&mut self, end: u64) {
        self.expected = end;
        while let Some(&(from, to)) = self.beyond.first().filter(|(from, _)| *from <= self.expected) {
            self.beyond.remove(&(from, to));
            self.expected = self.expected.max(to);
        }
    }

    /// What changes with each packet that is taken and had not come before.
    pub fn taken(&self) -> (u64, usize) {
        (self.expected, self.beyond.len())
    }
}
