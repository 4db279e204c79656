//! Reliable unordered delivery, RUD: UEC 1.0, the packet delivery sublayer, with the rules of `htsim_uec` (ultraethernet/uet-htsim, commit
//! 40ccb052).
//!
//! Packets are numbered, and placed as they come. The receiver acknowledges packets one by one, and counts what has come; by that count the
//! sender knows what is in flight, whatever is lost and sent again meanwhile.
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
//!            NACK, timeout:                    in_flight -= size, to be sent again, the lowest first and before anything new
//!            acknowledged while it waits for that:  in_flight += size
//!            asks (AR) with what is sent again, with the last there is, and where window or credit will not let another go
//!            timer of the packet that was sent longest ago; its time is constant
//! ```
//!
//! A packet's number is that of its first payload byte, in full packets. A round trip counts where the answer says for certain which sending it
//! answers: the packet was sent once and not again, or twice and the second time.
//!
//! **Not modelled:** probes, and recovery by the number of packets beyond a gap (SLEEK), for networks that lose without trimming; the
//! window penalty of receivers; ordered delivery (ROD); numbers for control packets.

use crate::attachment::Attachment;
use crate::event::Event;
use crate::hooks::{Ack, Counted, Cut, FlowSide, Loss, NicSide};
use crate::host::Interface;
use crate::host::flow::NO_CONTROLLER;
use crate::host::transport::Answer;
use crate::node::At;
use crate::packet::{AckHeader, Body, DataHeader, Gap, Packet, Report};
use crate::world::Outcome;
use backwater_engine::Time;
use std::collections::VecDeque;

/// Packets in the map of an acknowledgement.
const MAP: u64 = 64;

/// What a sender knows of the packets that are not yet acknowledged together.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Outstanding {
    /// Number of the first in `records`.
    first: u64,
    records: VecDeque<Record>,
    /// When packets were sent, and which. What is acknowledged, lost or sent again since is passed over.
    order: VecDeque<(Time, u64)>,
    /// \[bytes\] of frames. Below zero between the count of a packet that had been given up and its acknowledgement.
    balance: i64,
    /// \[bytes\] of frames that the receiver has counted
    counted: u64,
}

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Record {
    sent: Time,
    /// \[bytes\]
    size: u32,
    /// Two and more count as far as it goes.
    sends: u16,
    stands: Stands,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Stands {
    UnderWay,
    /// Waits to be sent again.
    Lost,
    Arrived,
}

impl Outstanding {
    /// \[bytes\] of frames in flight
    pub fn in_flight(&self) -> u64 {
        self.balance.max(0) as u64
    }

    /// A packet is sent.
    fn send(&mut self, number: u64, size: u32, now: Time) -> u16 {
        self.balance += i64::from(size);
        self.order.push_back((now, number));
        let at = number.saturating_sub(self.first) as usize;
        if at == self.records.len() {
            self.records.push_back(Record { sent: now, size, sends: 0, stands: Stands::UnderWay });
        }
        let Some(record) = self.records.get_mut(at) else { return 0 };
        (record.sent, record.size, record.stands) = (now, size, Stands::UnderWay);
        record.sends = record.sends.saturating_add(1);
        record.sends
    }

    fn record(&mut self, number: u64) -> Option<&mut Record> {
        self.records.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// When a packet that is under way was sent, its size, and how often it has been.
    fn under_way(&mut self, number: u64) -> Option<(Time, u32, u16)> {
        let record = self.record(number).filter(|record| record.stands == Stands::UnderWay)?;
        Some((record.sent, record.size, record.sends))
    }

    /// The receiver has counted so many bytes. Returns how many more than before.
    fn count(&mut self, counted: u64) -> u64 {
        let more = counted.saturating_sub(self.counted);
        self.counted += more;
        self.balance -= more as i64;
        more
    }

    /// A packet is lost. Returns its size.
    fn lose(&mut self, number: u64) -> Option<u32> {
        let record = self.record(number).filter(|record| record.stands == Stands::UnderWay)?;
        record.stands = Stands::Lost;
        let size = record.size;
        self.balance -= i64::from(size);
        Some(size)
    }

    /// A packet has arrived. Returns whether that is news, and whether it was to be sent again.
    fn arrive(&mut self, number: u64) -> (bool, bool) {
        let Some(record) = self.record(number) else { return (false, false) };
        let (before, size) = (record.stands, record.size);
        record.stands = Stands::Arrived;
        if before == Stands::Lost {
            // Its loss had taken it off, and so has the receiver's count.
            self.balance += i64::from(size);
        }
        (before != Stands::Arrived, before == Stands::Lost)
    }

    /// All packets before this one have arrived, and nobody asks for them any more.
    fn forget_before(&mut self, number: u64) {
        while self.first < number && self.records.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// The packet that has been under way longest, and since when.
    fn oldest(&mut self) -> Option<(Time, u64)> {
        while let Some((sent, number)) = self.order.front().copied() {
            if self.under_way(number).is_some_and(|(last, ..)| last == sent) {
                return Some((sent, number));
            }
            self.order.pop_front();
        }
        None
    }
}

impl<N: NicSide, F: FlowSide> At<'_, Interface<'_, N, F>> {
    /// A packet goes out.
    #[cold]
    pub(crate) fn note_sent_unordered(&mut self, slot: u32, pkt: &mut Packet) {
        let (now, timeout, step) = (self.world.now, self.world.rules.transport.timeout, self.step());
        let flow = self.node.sending_mut(slot as usize);
        let tag = flow.tag;
        let Some(sender) = flow.recovery.as_mut() else { return };
        let Body::Data(data) = &mut pkt.body else { return };
        if sender.outstanding.get_or_insert_default().send(data.offset / step, pkt.size, now) > 1 {
            data.flags |= DataHeader::AGAIN;
        }
        if !sender.armed {
            sender.armed = true;
            self.world.push(now + timeout, Event::Timeout { slot, tag });
        }
    }

    /// Whether the sender asks for an acknowledgement with a packet that its controller has seen leave.
    #[cold]
    pub(crate) fn ask(&mut self, slot: u32, pkt: &mut Packet) {
        // One byte more, since what is permitted just so is asked for too.
        let stops = !self.permits(slot, u64::from(pkt.size) + 1) || self.is_full(slot);
        let flow = self.node.sending(slot as usize);
        let last = flow.sent >= flow.available;
        if let Body::Data(data) = &mut pkt.body
            && (stops || last || data.is(DataHeader::AGAIN))
        {
            data.flags |= DataHeader::ACK_REQUEST;
        }
    }

    /// The receiver takes a data packet.
    #[cold]
    pub(crate) fn receive_unordered(&mut self, at: usize, pkt: &Packet, data: DataHeader) -> Answer {
        let (step, enough) = (self.step(), self.world.rules.ack.bytes.0);
        let recv = self.node.receiving_mut(at);
        let Some(receiver) = recv.recovery.as_mut() else { return Answer::Nothing };
        let (offset, end, size) = (data.offset, data.end(), u64::from(pkt.size));
        let asks = data.is(DataHeader::ACK_REQUEST);
        let (ev, flags) = (data.ev, data.flags);
        let came = offset < receiver.expected || receiver.beyond.range((offset, 0)..(offset + 1, 0)).next().is_some();
        if data.is(DataHeader::CUT) && !came {
            receiver.report = Report { counted: receiver.counted, ..Report::default() };
            receiver.gap = Some(Gap::Cut { at: offset, ev, flags });
            return Answer::Reported(receiver.expected);
        }
        receiver.accepted += size;
        let first = receiver.counted == 0;
        if !came {
            receiver.counted += size;
            recv.received += u64::from(data.payload);
            receiver.asked |= asks;
            if offset == receiver.expected {
                receiver.expected = end;
                while let Some(&(from, to)) = receiver.beyond.first().filter(|(from, _)| *from <= receiver.expected) {
                    receiver.beyond.remove(&(from, to));
                    receiver.expected = receiver.expected.max(to);
                }
            } else {
                receiver.beyond.insert((offset, end));
            }
        }
        let closed = receiver.asked && receiver.beyond.is_empty();
        receiver.asked &= !closed;
        if !(came || first || asks || closed || pkt.is_marked() || receiver.accepted >= enough) {
            return Answer::Nothing;
        }
        receiver.accepted = 0;
        let number = offset / step;
        let from = if asks || pkt.is_marked() {
            number
        } else {
            number.saturating_sub(MAP - 1).max(receiver.expected.div_ceil(step) + 1)
        };
        let near = receiver.beyond.range((from * step, 0)..((from + MAP) * step, 0));
        let map = near.fold(0, |map, (held, _)| map | 1 << (held / step - from));
        receiver.report = Report { first: from, map, counted: receiver.counted };
        receiver.gap = Some(Gap::Map { at: offset, ev, flags });
        Answer::Reported(receiver.expected)
    }

    /// The sender learns what has come, or that a packet was cut.
    #[cold]
    pub(crate) fn take_report(
        &mut self,
        at: usize,
        header: &Packet,
        ack: AckHeader,
        report: Report,
        carried: Option<Attachment>,
    ) {
        match ack.gap {
            Some(Gap::Map { at: offset, ev, flags }) => {
                self.take_map(at, header, ack, (offset, ev, flags), report, carried)
            }
            Some(Gap::Cut { at: offset, ev, flags } | Gap::Returned { at: offset, ev, flags }) => {
                self.take_cut(at, header, ack.is_returned(), offset, (ev, flags));
            }
            _ => {}
        }
        self.wake_flow(at);
        let controller = self.node.sending(at).controller;
        if controller != NO_CONTROLLER {
            self.repace(controller);
        }
        self.maybe_complete(at);
    }

    fn take_map(
        &mut self,
        at: usize,
        header: &Packet,
        ack: AckHeader,
        (offset, ev, flags): (u64, u16, u8),
        report: Report,
        carried: Option<Attachment>,
    ) {
        let (now, step) = (self.world.now, self.step());
        let flow = self.node.sending_mut(at);
        let (controller, before) = (flow.controller, flow.acked);
        flow.acked = before.max(ack.received);
        let (upto, slot) = (flow.acked.div_ceil(step), at as u32);
        let Some(sender) = flow.recovery.as_mut() else { return };
        let outstanding = sender.outstanding.get_or_insert_default();
        let bytes = outstanding.count(report.counted);
        let again = flags & DataHeader::AGAIN != 0;
        let timed = outstanding.under_way(offset / step).is_some_and(|(_, _, sends)| sends == 1 + u16::from(again));
        let mapped = (0..MAP).filter(|bit| report.map & 1 << bit != 0).map(|bit| report.first.saturating_add(bit));
        let mut further = flow.acked > before;
        for number in (outstanding.first..upto).chain(mapped) {
            let (news, owed) = outstanding.arrive(number);
            further |= news;
            if owed {
                sender.lost.remove(&(number * step));
            }
        }
        outstanding.forget_before(upto);
        let in_flight = outstanding.in_flight();
        if further {
            (sender.progress, sender.tries) = (now, 0);
        }
        if controller != NO_CONTROLLER {
            let counted = Counted { bytes, in_flight, timed, ev };
            let (received, rtt, marked) = (ack.received, now - header.sent, header.is_marked());
            let ack = Ack { received, rtt, marked, carried: carried.as_ref(), counted: Some(&counted) };
            self.at_controller(controller, slot, |side, cx| side.on_ack(cx, &ack));
        }
    }

    fn take_cut(&mut self, at: usize, header: &Packet, returned: bool, offset: u64, (ev, flags): (u16, u8)) {
        let (now, step) = (self.world.now, self.step());
        let flow = self.node.sending_mut(at);
        let controller = flow.controller;
        let Some(sender) = flow.recovery.as_mut() else { return };
        let outstanding = sender.outstanding.get_or_insert_default();
        let Some((sent, size, _)) = outstanding.under_way(offset / step) else { return };
        // The way is there, however often the same packet is cut.
        (sender.progress, sender.tries) = (now, 0);
        let cut = Cut {
            bytes: u64::from(size),
            rtt: now - sent,
            in_flight: outstanding.in_flight(),
            last_hop: flags & DataHeader::LAST_HOP != 0,
            marked: header.is_marked(),
            ev,
            returned,
        };
        outstanding.lose(offset / step);
        sender.lost.insert(offset);
        if controller != NO_CONTROLLER {
            self.at_controller(controller, at as u32, |side, cx| side.on_loss(cx, Loss::Trimmed(cut)));
        }
    }

    /// The time of the packet that was sent longest ago may be over.
    #[cold]
    pub(crate) fn timed_out_unordered(&mut self, at: usize) {
        let (now, timeout, step) = (self.world.now, self.world.rules.transport.timeout, self.step());
        let retries = self.world.rules.transport.retries;
        let (slot, controller) = (at as u32, self.node.sending(at).controller);
        loop {
            let flow = self.node.sending_mut(at);
            let tag = flow.tag;
            let Some(sender) = flow.recovery.as_mut() else { return };
            sender.armed = false;
            let outstanding = sender.outstanding.get_or_insert_default();
            let Some((sent, number)) = outstanding.oldest() else { break };
            if sent + timeout > now {
                sender.armed = true;
                self.world.push(sent + timeout, Event::Timeout { slot, tag });
                break;
            }
            let bytes = u64::from(outstanding.lose(number).unwrap_or(0));
            sender.lost.insert(number * step);
            sender.timeouts += 1;
            // Of packets that were sent one after the other, one counts.
            if sent >= sender.progress {
                (sender.progress, sender.tries) = (now, sender.tries + 1);
                if retries.is_some_and(|most| sender.tries > most) {
                    return self.world.outcomes.push(Outcome::Failed { slot });
                }
                self.world.outcomes.push(Outcome::TimedOut { tries: sender.tries });
            }
            if controller != NO_CONTROLLER {
                self.at_controller(controller, slot, |side, cx| side.on_loss(cx, Loss::Timeout { bytes }));
            }
        }
        self.wake_flow(at);
        if controller != NO_CONTROLLER {
            self.repace(controller);
        }
    }

    /// \[bytes\] of payload of a full packet: packets are counted in these.
    fn step(&self) -> u64 {
        u64::from(self.world.rules.payload)
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
            (all.oldest(), all.under_way(1), all.under_way(2)),
            (Some((Time(3), 2)), None, Some((Time(3), 100, 1)))
        );
    }

    /// The second packet is given up and sent again; then the first sending arrives after all, and the second one as a duplicate, which the
    /// receiver does not count.
    #[test]
    fn what_was_given_up_and_arrives_is_counted_once() {
        let mut all = four();
        assert_eq!((all.lose(1), all.in_flight()), (Some(100), 300));
        assert_eq!((all.lose(1), all.in_flight()), (None, 300), "it is given up already");
        // It is acknowledged while it waits: the count has taken it off once more.
        all.count(100);
        assert_eq!((all.in_flight(), all.arrive(1), all.in_flight()), (200, (true, true), 300));
        assert_eq!(all.arrive(1), (false, false));
        // The third is sent again before that.
        all.lose(2);
        assert_eq!((all.send(2, 100, Time(9)), all.in_flight()), (2, 300));
        all.count(200);
        assert_eq!((all.arrive(2), all.in_flight()), ((true, false), 200), "packets 0 and 3 are under way");
    }

    /// A packet is given up twice before its first sending arrives: the count comes first, and what it takes off too much the map gives back.
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
