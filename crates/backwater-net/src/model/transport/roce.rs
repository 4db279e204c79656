//! The reliable connection of RoCEv2, as far as [`super::go_back_n`] and [`super::selective_repeat`] share it (InfiniBand specification,
//! volume 1, chapter 9).
//!
//! The receiver knows the next byte that it expects, `expected`. A packet that begins there advances it and is acknowledged; one that
//! begins before it is acknowledged again; one that begins beyond it shows a gap.
//!
//! A packet that a switch returns for want of memory is lost as well, and the sender knows it before the receiver could report it. It says
//! nothing about other packets, so it neither acknowledges nor shows a gap. A packet whose payload a switch has trimmed is a loss that the
//! receiver reports at once.
//!
//! The timer runs while a packet is in flight: not while the flow is idle, or waits for its own rate to retransmit. A flow without a byte
//! is one packet without payload, retransmitted until it is acknowledged. A flow whose packets time out `retries` times in a row without
//! progress fails, as a queue pair does.
//!
//! **Not modelled:** RNR NACKs, end-to-end credits, atomic operations and reads; PSN wrap-around.

use super::{Answer, Expiry, Receiving, SenderCommon, Sending, Span, Then};
use crate::model::packet::{AckHeader, DataHeader, Gap};

impl Span {
    /// Packets in flight: neither lost nor acknowledged, where so many are acknowledged out of turn.
    pub(super) fn packets_in_flight(self, common: &SenderCommon, reported: usize) -> u64 {
        let known = (common.lost.len() + reported) as u64;
        self.sent.saturating_sub(self.acked).div_ceil(self.step).saturating_sub(known)
    }

    /// \[bytes\] in flight. While something waits to be retransmitted all packets count as full ones.
    pub(super) fn bytes_in_flight(self, common: &SenderCommon, reported: usize) -> u64 {
        if common.has_retransmissions() {
            return self.packets_in_flight(common, reported) * self.step;
        }
        let bytes = self.sent.saturating_sub(self.acked);
        bytes - common.messages.as_ref().map_or(0, |all| all.shortness(self.acked, self.sent, self.step)).min(bytes)
    }
}

impl<S> Sending<'_, S> {
    /// A packet is sent.
    pub(super) fn note_sent(&mut self, reported: usize) {
        if !self.common.armed || self.span().packets_in_flight(self.common, reported) <= 1 {
            // Nothing else is in flight: progress cannot be expected from before this packet.
            self.common.progress = self.at.now;
        }
    }

    /// Takes the cumulative part of an acknowledgement. Returns whether it is more than before.
    pub(super) fn acknowledge(&mut self, ack: AckHeader) -> bool {
        let further = ack.received > *self.flow.acked;
        if further {
            *self.flow.acked = ack.received;
            self.common.note_progress(self.at.now);
            // The set is nearly always empty, and must not be rebuilt then.
            if self.common.has_retransmissions() {
                self.common.lost = self.common.lost.split_off(self.flow.acked);
            }
        }
        // A timeout had moved `sent` back, and then an old acknowledgement arrived.
        *self.flow.sent = (*self.flow.sent).max(*self.flow.acked);
        if ack.gap.is_some_and(|gap| gap.is_cut()) {
            // The path works, however often the same packet is trimmed.
            self.common.tries = 0;
        }
        further
    }

    /// Returns the number of timeouts in a row if nothing has made progress for the timeout; otherwise what happens to the timer.
    pub(super) fn has_timed_out(&mut self, reported: usize) -> Result<u32, Expiry> {
        let (now, common) = (self.at.now, &mut *self.common);
        let span = Span { acked: *self.flow.acked, sent: *self.flow.sent, step: self.at.step };
        common.armed = false;
        if span.packets_in_flight(common, reported) == 0 && (!self.flow.empty || common.has_retransmissions()) {
            return Err(Expiry::early(None, Then::Nothing)); // the next packet arms it anew
        }
        let due = common.progress + self.at.params.timeout;
        if due > now {
            return Err(Expiry::early(common.arm(due), Then::Nothing));
        }
        common.tries += 1;
        common.note_timeout(span.acked, span.step);
        if self.at.params.retries.is_some_and(|most| common.tries > most) {
            return Err(Expiry::early(None, Then::Fail));
        }
        common.progress = now;
        Ok(common.tries)
    }

    /// It has timed out: so many bytes are lost.
    pub(super) fn time_out(&mut self, tries: u32, bytes: u64) -> Expiry {
        if self.flow.empty {
            // No offset shows that it has not arrived.
            self.common.mark_lost(0);
        }
        let timer = self.common.arm(self.at.now + self.at.params.timeout);
        Expiry { timer, tries: Some(tries), lost: Some(bytes), then: Then::Wake }
    }
}

impl<R> Receiving<'_, R> {
    /// Takes a packet that begins at `expected` or before.
    pub(super) fn take_in_order(&mut self, data: DataHeader) -> Answer {
        let end = self.common.end_of(data, self.at.step);
        if end <= self.common.expected {
            return Answer::Again(self.common.expected);
        }
        *self.received += u64::from(data.payload);
        // Packets beyond a gap were answered at once, and so is the packet that closes the gap, or a part of it (RFC 5681, 4.2).
        let gap = !self.common.beyond.is_empty();
        self.common.advance(end);
        if gap { Answer::Again(self.common.expected) } else { Answer::Ack(self.common.expected) }
    }
}

impl Gap {
    /// Returns whether a switch has trimmed its packet, which shows that the path works.
    fn is_cut(self) -> bool {
        matches!(self, Gap::Trimmed(_) | Gap::Returned { .. })
    }
}
