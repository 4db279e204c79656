//! Reliable unordered delivery, RUD: UEC 1.0, the packet delivery sublayer, with the rules of `htsim_uec` (ultraethernet/uet-htsim, commit
//! 40ccb052).
//!
//! Packets are numbered, and placed as they arrive. The receiver acknowledges packets one by one, and counts what has arrived; from that
//! count the sender knows what is in flight, whatever is lost and retransmitted in the meantime.
//!
//! ```text
//! receiver   accepted += size
//!            came before:                      ACK now
//!            else: counted += size, place it;  ACK if it is marked, or accepted >= ack.bytes, or it is the first of the flow, or the sender
//!                                              asks; if the sender has asked and no gap is left: ACK;  ACK: accepted = 0
//!            payload cut off:                  NACK, unless it had come before
//!            ACK: all before `expected` have come, and of the 64 from `first` on those in the map;  first = that packet, where it was marked or
//!                 its sender asked, else max(packet - 63, expected + 1)
//! sender     in_flight += size of each packet sent;  n = counted of the ACK - counted before:  in_flight -= n
//!            NACK, timeout:                    in_flight -= size, to be retransmitted, the lowest first and before anything new
//!            acknowledged while it waits for that:  in_flight += size
//!            asks (AR) with what is retransmitted, with the last there is, and where window or credit will not let another go
//!            timer of the packet that was sent longest ago; its time is constant. With nothing in flight and nothing that may go it runs on
//! ```
//!
//! A packet's number is that of its first payload byte, in full packets. A round trip counts if the acknowledgement shows for certain which
//! transmission it answers: the packet was sent once, or twice and the second one is answered.
//!
//! A flow's controller may declare packets lost because of acknowledgements, keep those in flight whose timer has expired, and probe for
//! what has arrived.
//!
//! **Not modelled:** the window penalty of receivers; ordered delivery (ROD); numbers for control packets.

use super::outstanding::Outstanding;
use super::{Answer, Expiry, Learned, Receiving, SenderCommon, Sending, Span, Then, Timed, Transport};
use crate::model::hooks::{Counted, Cut, Loss};
use crate::model::packet::{AckHeader, Body, DataHeader, Gap, Packet, Report};

/// Packets in the map of an acknowledgement.
const MAP: u64 = 64;

pub(super) struct Rud;

/// State of a receiver.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Receiver {
    /// \[bytes\] of frames that have arrived, each counted once
    counted: u64,
    /// \[bytes\] of all frames since the last acknowledgement
    accepted: u64,
    /// The sender has requested an acknowledgement, and there is a gap.
    asked: bool,
    /// The content of the next acknowledgement, about the packet that it answers and about others.
    reported: Option<(Gap, Report)>,
}

impl Receiving<'_, Box<Receiver>> {
    /// Returns the report on the 64 packets from number `first` on, and on all.
    fn report_from(&self, first: u64) -> Report {
        let (step, beyond) = (self.at.step, &self.common.beyond);
        let near = beyond.range((first * step, 0)..((first + MAP) * step, 0));
        let map = near.fold(0, |map, (offset, _)| map | 1 << (offset / step - first));
        Report { first, map, counted: self.own.counted, beyond: beyond.len() as u64 }
    }

    fn say(&mut self, gap: Gap, report: Report) -> Answer {
        self.own.reported = Some((gap, report));
        Answer::Reported(self.common.expected)
    }
}

impl Transport for Rud {
    type Sender = Box<Outstanding>;
    type Receiver = Box<Receiver>;
    const SENDS_BEFORE_CONTROL: bool = false;
    const REQUESTS_ACKS: bool = true;

    fn on_send(sender: &mut Sending<'_, Self::Sender>, packet: &mut Packet) {
        let Body::Data(data) = &mut packet.body else { return };
        if sender.own.send(data.offset / sender.at.step, packet.size, sender.at.now) > 1 {
            data.flags |= DataHeader::RETRANSMISSION;
        }
    }

    fn on_data(receiver: &mut Receiving<'_, Self::Receiver>, packet: &Packet, data: DataHeader) -> Answer {
        let (step, enough) = (receiver.at.step, receiver.at.ack.bytes.0);
        let DataHeader { offset, ev, flags, .. } = data;
        let (end, size) = (receiver.common.end_of(data, step), u64::from(packet.size));
        let asks = data.is(DataHeader::ACK_REQUEST);
        let came = offset < receiver.common.expected
            || receiver.common.beyond.range((offset, 0)..(offset + 1, 0)).next().is_some();
        if data.is(DataHeader::CUT) && !came {
            let report = Report { counted: receiver.own.counted, ..Report::default() };
            return receiver.say(Gap::Cut { at: offset, ev, flags }, report);
        }
        let Receiving { own, common, received, .. } = receiver;
        own.accepted += size;
        let first = own.counted == 0;
        if !came {
            own.counted += size;
            **received += u64::from(data.payload);
            own.asked |= asks;
            if offset == common.expected {
                common.advance(end);
            } else {
                common.beyond.insert((offset, end));
            }
        }
        let closed = own.asked && common.beyond.is_empty();
        own.asked &= !closed;
        if !(came || first || asks || closed || packet.is_marked() || own.accepted >= enough) {
            return Answer::Nothing;
        }
        own.accepted = 0;
        let number = offset / step;
        let from = if asks || packet.is_marked() {
            number
        } else {
            number.saturating_sub(MAP - 1).max(common.expected.div_ceil(step) + 1)
        };
        let report = receiver.report_from(from);
        receiver.say(Gap::Map { at: offset, ev, flags }, report)
    }

    fn on_ack(sender: &mut Sending<'_, Self::Sender>, packet: &Packet, ack: AckHeader, report: Report) -> Learned {
        match ack.gap {
            Some(Gap::Map { at, ev, flags }) => on_map(sender, ack.received, (at, ev, flags), report),
            Some(Gap::Cut { at, ev, flags } | Gap::Returned { at, ev, flags }) => {
                let cut = on_cut(sender, at, flags);
                let cut = cut.map(|cut| Cut { marked: packet.is_marked(), ev, returned: ack.is_returned(), ..cut });
                Learned { loss: cut.map(Loss::Trimmed), ..Learned::default() }
            }
            _ => Learned::default(),
        }
    }

    /// The timer belongs to the packet that was sent longest ago: one packet for each call.
    fn on_timeout(sender: &mut Sending<'_, Self::Sender>, timeout_is_loss: &mut dyn FnMut(Timed) -> bool) -> Expiry {
        let Sending { own, common, at, .. } = sender;
        common.armed = false;
        let Some((since, number)) = own.oldest() else { return Expiry::early(None, Then::Wake) };
        let due = since + at.params.timeout;
        if due > at.now {
            return Expiry::early(common.arm(due), Then::Wake);
        }
        let retransmission = own.last_sending(number).is_some_and(|(_, _, sends)| sends > 1);
        let lost =
            timeout_is_loss(Timed { number, retransmission, since }).then(|| u64::from(own.lose(number).unwrap_or(0)));
        match lost {
            Some(_) => _ = common.mark_lost(number * at.step),
            None => own.restart_timer(number, at.now),
        }
        common.note_timeout(number * at.step, at.step);
        // Several timers that were started one after the other count as one timeout.
        let mut tries = None;
        if since >= common.progress {
            (common.progress, common.tries) = (at.now, common.tries + 1);
            tries = Some(common.tries);
            if at.params.retries.is_some_and(|most| common.tries > most) {
                return Expiry::early(None, Then::Fail);
            }
        }
        Expiry { timer: None, tries, lost, then: Then::Repeat }
    }

    fn in_flight(own: &Self::Sender, _: &SenderCommon, _: Span) -> u64 {
        own.in_flight()
    }

    fn is_in_flight(own: &Self::Sender, number: u64) -> bool {
        own.is_in_flight(number)
    }

    fn declare_lost(own: &mut Self::Sender, common: &mut SenderCommon, number: u64, step: u64) {
        if own.lose(number).is_some() {
            common.infer_lost(number * step, step);
        }
    }

    fn on_probe(receiver: &mut Receiving<'_, Self::Receiver>, probe: u64) -> Option<Answer> {
        let report = receiver.report_from(receiver.common.expected.div_ceil(receiver.at.step) + 1);
        Some(receiver.say(Gap::Map { at: probe, ev: 0, flags: DataHeader::PROBE }, report))
    }

    fn report(own: &Self::Receiver) -> Option<(Gap, Report)> {
        own.reported
    }
}

/// The receiver reports what has arrived.
fn on_map(
    sender: &mut Sending<'_, Box<Outstanding>>,
    received: u64,
    (offset, ev, flags): (u64, u16, u8),
    report: Report,
) -> Learned {
    let Sending { own, common, flow, at } = sender;
    let (step, before) = (at.step, *flow.acked);
    *flow.acked = before.max(received);
    let upto = flow.acked.div_ceil(step);
    let bytes = own.count(report.counted);
    let retransmission = flags & DataHeader::RETRANSMISSION != 0;
    let probe = (flags & DataHeader::PROBE != 0).then_some(offset);
    let timed = probe.is_none()
        && own.last_sending(offset / step).is_some_and(|(_, _, sends)| sends == 1 + u16::from(retransmission));
    let mapped = (0..MAP).filter(|bit| report.map & 1 << bit != 0).map(|bit| report.first.saturating_add(bit));
    let mut further = *flow.acked > before;
    for number in (own.first..upto).chain(mapped) {
        let (news, lost) = own.arrive(number);
        further |= news;
        if news && let Some(message) = common.messages.as_mut().and_then(|all| all.of_mut(number * step, step)) {
            message.arrived += 1;
        }
        if lost {
            common.lost.remove(&(number * step));
        }
    }
    own.forget_before(upto);
    if further {
        common.note_progress(at.now);
    }
    let counted = Counted {
        bytes,
        in_flight: own.in_flight(),
        timed,
        ev,
        probe,
        cumulative: upto,
        next: flow.sent.div_ceil(step),
        beyond: report.beyond,
        has_retransmissions: common.has_retransmissions(),
        unsent: *flow.sent < flow.available,
    };
    Learned { loss: None, acknowledges: true, counted: Some(counted) }
}

/// A switch has trimmed a packet, or returned it. `None`: it is not in flight.
fn on_cut(sender: &mut Sending<'_, Box<Outstanding>>, offset: u64, flags: u8) -> Option<Cut> {
    let Sending { own, common, at, .. } = sender;
    let (sent, size, _) = own.last_sending(offset / at.step)?;
    // The path works, however often the same packet is trimmed.
    common.note_progress(at.now);
    let cut = Cut {
        bytes: u64::from(size),
        rtt: at.now - sent,
        in_flight: own.in_flight(),
        last_hop: flags & DataHeader::LAST_HOP != 0,
        marked: false,
        ev: 0,
        returned: false,
    };
    own.lose(offset / at.step);
    common.mark_lost(offset);
    Some(cut)
}
