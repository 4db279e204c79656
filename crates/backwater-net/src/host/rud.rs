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
//!            timer of the packet that was sent longest ago; its time is constant. With nothing under way and nothing that may go it runs on
//! ```
//!
//! A packet's number is that of its first payload byte, in full packets. A round trip counts where the answer says for certain which sending it
//! answers: the packet was sent once and not again, or twice and the second time.
//!
//! A flow's controller may take packets for lost by what acknowledgements say, and keep those under way whose time is over
//! ([`super::losses`]).
//!
//! **Not modelled:** the window penalty of receivers; ordered delivery (ROD); numbers for control packets.

use crate::attachment::Attachment;
use crate::event::Event;
use crate::hooks::{Ack, Counted, Cut, FlowSide, Loss, NicSide};
use crate::host::Interface;
use crate::host::flow::NO_CONTROLLER;
use crate::host::recovery::MAP;
use crate::host::transport::Answer;
use crate::node::At;
use crate::packet::{AckHeader, Body, DataHeader, Gap, Packet, Report};
use crate::world::Outcome;
use backwater_engine::Time;

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
        let stops = !self.permits(slot, u64::from(pkt.size) + 1, false) || self.is_full(slot);
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
        let (offset, end, size) = (data.offset, receiver.end_of(data, step), u64::from(pkt.size));
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
        receiver.report = receiver.report_from(from, step);
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
        if self.node.sending(at).kept {
            self.complete_messages(at);
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
        let probe = (flags & DataHeader::PROBE != 0).then_some(offset);
        let timed = probe.is_none()
            && outstanding.under_way(offset / step).is_some_and(|(_, _, sends)| sends == 1 + u16::from(again));
        let mapped = (0..MAP).filter(|bit| report.map & 1 << bit != 0).map(|bit| report.first.saturating_add(bit));
        let mut further = flow.acked > before;
        for number in (outstanding.first..upto).chain(mapped) {
            let (news, owed) = outstanding.arrive(number);
            further |= news;
            if news && let Some(message) = sender.messages.as_mut().and_then(|all| all.of_mut(number * step, step)) {
                message.arrived += 1;
            }
            if owed {
                sender.lost.remove(&(number * step));
            }
        }
        outstanding.forget_before(upto);
        let in_flight = outstanding.in_flight();
        if further {
            (sender.progress, sender.tries) = (now, 0);
        }
        let owes = sender.owes();
        if controller != NO_CONTROLLER {
            let counted = Counted {
                bytes,
                in_flight,
                timed,
                ev,
                probe,
                cumulative: upto,
                next: flow.sent.div_ceil(step),
                beyond: report.beyond,
                owes,
                unsent: flow.sent < flow.available,
            };
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
        let (slot, controller) = (at as u32, self.node.sending(at).controller);
        loop {
            let flow = self.node.sending_mut(at);
            let tag = flow.tag;
            let Some(sender) = flow.recovery.as_mut() else { return };
            sender.armed = false;
            let outstanding = sender.outstanding.get_or_insert_default();
            let Some((since, number)) = outstanding.oldest() else { break };
            if since + timeout > now {
                sender.armed = true;
                self.world.push(since + timeout, Event::Timeout { slot, tag });
                break;
            }
            let again = outstanding.under_way(number).is_some_and(|(_, _, sends)| sends > 1);
            let lost = self.is_given_up(controller, number, again, since);
            let flow = self.node.sending_mut(at);
            let Some(sender) = flow.recovery.as_mut() else { return };
            let outstanding = sender.outstanding.get_or_insert_default();
            let mut bytes = 0;
            if lost {
                bytes = u64::from(outstanding.lose(number).unwrap_or(0));
                sender.lost.insert(number * step);
            } else {
                outstanding.time_anew(number, now);
            }
            sender.note_timeout(number * step, step);
            if !self.count_try(at, since) {
                return;
            }
            if lost && controller != NO_CONTROLLER {
                self.at_controller(controller, slot, |side, cx| side.on_loss(cx, Loss::Timeout { bytes }));
            }
        }
        self.wake_flow(at);
        if controller != NO_CONTROLLER {
            self.repace(controller);
            self.tell_starved(at, controller);
        }
    }

    /// The timer of a packet, started at `since`, has expired: of those that were started one after the other, one counts. Whether the flow goes on.
    fn count_try(&mut self, at: usize, since: Time) -> bool {
        let (now, retries) = (self.world.now, self.world.rules.transport.retries);
        let Some(sender) = self.node.sending_mut(at).recovery.as_mut() else { return true };
        if since < sender.progress {
            return true;
        }
        (sender.progress, sender.tries) = (now, sender.tries + 1);
        let (tries, slot) = (sender.tries, at as u32);
        let failed = retries.is_some_and(|most| tries > most);
        self.world.outcomes.push(if failed { Outcome::Failed { slot } } else { Outcome::TimedOut { tries } });
        !failed
    }

    /// A connection has a message more to send, but may not, and its receiver may not know of it.
    pub(crate) fn ask_where_starved(&mut self, slot: u32) {
        let flow = self.node.sending(slot as usize);
        let (controller, armed) = (flow.controller, flow.recovery.as_ref().is_some_and(|sender| sender.armed));
        if controller == NO_CONTROLLER || !flow.has_more() || self.permits_next(slot) {
            return;
        }
        if armed {
            self.at_controller(controller, slot, |side, cx| side.on_starved(cx));
        } else {
            self.tell_starved(slot as usize, controller);
        }
    }

    /// Nobody answers a sender that has nothing under way and may send nothing: it looks again after a timeout, which keeps the run going.
    fn tell_starved(&mut self, at: usize, controller: u32) {
        let (now, timeout, slot) = (self.world.now, self.world.rules.transport.timeout, at as u32);
        let flow = self.node.sending(at);
        let still = flow.recovery.as_ref().is_some_and(|sender| !sender.armed);
        if !still || !flow.has_more() || self.permits_next(slot) {
            return;
        }
        let flow = self.node.sending_mut(at);
        let tag = flow.tag;
        flow.recovery.iter_mut().for_each(|sender| sender.armed = true);
        self.world.push(now + timeout, Event::Timeout { slot, tag });
        self.at_controller(controller, slot, |side, cx| side.on_starved(cx));
    }

    /// \[bytes\] of payload of a full packet: packets are counted in these.
    pub(super) fn step(&self) -> u64 {
        u64::from(self.world.rules.payload)
    }
}
