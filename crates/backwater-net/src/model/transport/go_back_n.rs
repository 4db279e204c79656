//! Go-back-N: everything from the first missing packet on is retransmitted, since receivers drop packets beyond a gap.
//!
//! ```text
//! receiver   at expected:        place it, ACK
//!            before it:          ACK at once
//!            beyond it:          drop it; NACK(expected), one for each gap, or one every `nack_interval` while packets beyond it come
//!            payload cut off:    the same; where it is the expected packet, in any case
//! sender     NACK(expected):     the next packet sent is the expected one
//!            sent back:          the next packet sent is that one, unless the flow has gone back further already
//!            no progress for `timeout`:  the next packet sent is the first that is not acknowledged
//! ```
//!
//! Only the packet of a flow without payload is marked as lost: no offset shows that it has not arrived.

use super::{Answer, Expiry, Learned, Receiving, SenderCommon, Sending, Span, Timed, Transport};
use crate::model::hooks::Loss;
use crate::model::packet::{AckHeader, DataHeader, Gap, Packet, Report};
use backwater_engine::Time;

pub(super) struct GoBackN;

/// State of a receiver.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Receiver {
    /// The gap at `expected` has been reported, and is not reported again before this time.
    silent_until: Time,
}

impl Receiver {
    /// A packet has arrived beyond the gap. Returns whether to report it.
    fn reports(&mut self, now: Time, interval: Option<Time>) -> bool {
        if now < self.silent_until {
            return false;
        }
        self.silent_until = interval.map_or(Time::NEVER, |interval| now.after(interval));
        true
    }
}

impl Transport for GoBackN {
    type Sender = ();
    type Receiver = Receiver;
    const SENDS_BEFORE_CONTROL: bool = true;
    const REQUESTS_ACKS: bool = false;

    fn on_send(sender: &mut Sending<'_, ()>, _: &mut Packet) {
        sender.note_sent(0);
    }

    fn on_data(receiver: &mut Receiving<'_, Receiver>, _: &Packet, data: DataHeader) -> Answer {
        let (expected, cut) = (receiver.common.expected, data.is(DataHeader::CUT));
        if data.offset > expected || cut && data.offset == expected {
            let news = receiver.own.reports(receiver.at.now, receiver.at.params.nack_interval);
            return if news || data.offset == expected { Answer::Nack(expected) } else { Answer::Nothing };
        }
        let answer = receiver.take_in_order(data);
        if receiver.common.expected > expected {
            receiver.own.silent_until = Time::ZERO;
        }
        answer
    }

    fn on_ack(sender: &mut Sending<'_, ()>, _: &Packet, ack: AckHeader, _: Report) -> Learned {
        sender.acknowledge(ack);
        let acked = *sender.flow.acked;
        let news = match ack.gap {
            None => false,
            Some(Gap::Returned { at, .. }) => {
                let news = at >= acked;
                if news {
                    // The flow may already have gone back further.
                    *sender.flow.sent = (*sender.flow.sent).min(at);
                }
                news
            }
            Some(_) => {
                *sender.flow.sent = ack.received.max(acked);
                true
            }
        };
        Learned { loss: news.then_some(Loss::Gap), acknowledges: !ack.is_returned(), counted: None }
    }

    fn on_timeout(sender: &mut Sending<'_, ()>, _: &mut dyn FnMut(Timed) -> bool) -> Expiry {
        let tries = match sender.has_timed_out(0) {
            Ok(tries) => tries,
            Err(early) => return early,
        };
        let (sent, acked) = (*sender.flow.sent, *sender.flow.acked);
        *sender.flow.sent = acked;
        sender.time_out(tries, sent.saturating_sub(acked))
    }

    fn in_flight((): &(), common: &SenderCommon, span: Span) -> u64 {
        span.bytes_in_flight(common, 0)
    }
}
