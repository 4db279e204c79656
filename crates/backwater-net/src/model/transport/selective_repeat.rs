//! Selective repeat: only missing packets are retransmitted, since receivers keep packets beyond a gap.
//!
//! ```text
//! receiver   at expected:        place it, ACK; at once where it closes a gap
//!            before it:          ACK at once
//!            beyond it:          place it; NACK(expected, this packet)
//!            payload cut off:    NACK(expected, this packet has no payload)
//! sender     NACK:               what lies between and has not been reported is lost; so is a packet without its payload
//!            sent back:          that packet is lost
//!            no progress for `timeout`:  all that is neither acknowledged nor reported is lost
//!            what is lost is retransmitted before anything new
//! ```
//!
//! If packets may take different paths (`transport.in_order = false`) packets beyond a gap are reported, but show no loss: the timeout
//! finds losses.

use super::{Answer, Expiry, Learned, Receiving, SenderCommon, Sending, Span, Timed, Transport};
use crate::model::hooks::Loss;
use crate::model::packet::{AckHeader, DataHeader, Gap, Packet, Report};
use std::collections::BTreeSet;

pub(super) struct SelectiveRepeat;

/// State of a sender.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Sender {
    /// Offsets beyond the acknowledged ones that the receiver has reported.
    reported: BTreeSet<u64>,
    /// Losses before this offset have been noticed.
    noticed: u64,
    /// Later offsets whose losses were reported individually; a gap that shows them again is not new.
    known: BTreeSet<u64>,
}

impl Sender {
    /// A gap before a packet at `here` shows which packets are lost: those that were not reported. Returns whether a loss was not known
    /// before.
    fn notice(&mut self, common: &mut SenderCommon, acked: u64, here: u64, step: u64) -> bool {
        let mut news = false;
        let mut offset = self.noticed.max(acked);
        while offset < here {
            if !self.reported.contains(&offset) && !self.known.remove(&offset) {
                news |= common.infer_lost(offset, step);
            }
            offset += step;
        }
        self.noticed = offset.max(self.noticed);
        news
    }
}

impl Transport for SelectiveRepeat {
    type Sender = Sender;
    type Receiver = ();
    const SENDS_BEFORE_CONTROL: bool = true;
    const REQUESTS_ACKS: bool = false;

    fn on_send(sender: &mut Sending<'_, Sender>, _: &mut Packet) {
        sender.note_sent(sender.own.reported.len());
    }

    fn on_data(receiver: &mut Receiving<'_, ()>, _: &Packet, data: DataHeader) -> Answer {
        let expected = receiver.common.expected;
        if data.is(DataHeader::CUT) && data.offset >= expected {
            return Answer::Trimmed(expected);
        }
        if data.offset <= expected {
            return receiver.take_in_order(data);
        }
        let end = receiver.common.end_of(data, receiver.at.step);
        if receiver.common.beyond.insert((data.offset, end)) {
            *receiver.received += u64::from(data.payload);
        }
        if receiver.at.params.in_order { Answer::Nack(expected) } else { Answer::Beyond(expected) }
    }

    fn on_ack(sender: &mut Sending<'_, Sender>, _: &Packet, ack: AckHeader, _: Report) -> Learned {
        let further = sender.acknowledge(ack);
        let (acked, in_order) = (*sender.flow.acked, sender.at.params.in_order);
        let Sending { own, common, .. } = sender;
        if further {
            for offsets in [&mut own.reported, &mut own.known] {
                if !offsets.is_empty() {
                    *offsets = offsets.split_off(&acked);
                }
            }
        }
        let mut news = false;
        let (here, cut) = match ack.gap {
            Some(Gap::Before(here) | Gap::Beyond(here)) => (Some(here), false),
            Some(Gap::Trimmed(here) | Gap::Returned { at: here, .. }) => (Some(here), true),
            Some(Gap::Map { .. } | Gap::Cut { .. }) | None => (None, false),
        };
        if let Some(here) = here {
            if !cut && here >= acked {
                own.reported.insert(here);
                common.lost.remove(&here);
            }
            // A returned packet says nothing about earlier packets.
            if in_order && !ack.is_returned() {
                news |= own.notice(common, acked, here, sender.at.step);
            }
            if cut && here >= acked && !own.reported.contains(&here) {
                news |= common.mark_lost(here);
                if in_order {
                    own.known.insert(here);
                }
            }
        }
        Learned { loss: news.then_some(Loss::Gap), acknowledges: !ack.is_returned(), counted: None }
    }

    fn on_timeout(sender: &mut Sending<'_, Sender>, _: &mut dyn FnMut(Timed) -> bool) -> Expiry {
        let tries = match sender.has_timed_out(sender.own.reported.len()) {
            Ok(tries) => tries,
            Err(early) => return early,
        };
        let Span { acked, sent, step } = sender.span();
        let reported = &sender.own.reported;
        let unacknowledged = std::iter::successors(Some(acked), |o| Some(o + step)).take_while(|o| *o < sent);
        sender.common.lost.extend(unacknowledged.filter(|o| !reported.contains(o)));
        sender.time_out(tries, sent.saturating_sub(acked))
    }

    fn in_flight(own: &Sender, common: &SenderCommon, span: Span) -> u64 {
        span.bytes_in_flight(common, own.reported.len())
    }
}
