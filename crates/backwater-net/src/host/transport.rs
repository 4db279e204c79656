//! The reliable connection of RoCEv2: what is sent again, and when (InfiniBand specification, volume 1, chapter 9).
//!
//! The receiver knows the next byte that it expects, `expected`. A packet that begins there moves it on and is acknowledged; one
//! that begins before it is acknowledged again; one that begins beyond it shows a gap and causes one NACK per gap.
//!
//! ```text
//! go-back-n          receiver drops what lies beyond the gap     NACK(expected): next packet sent = expected; one for each gap, or
//!                                                                one every `nack_interval` while packets beyond it come
//! selective-repeat   receiver keeps what lies beyond the gap     NACK(expected, this packet): what lies between and has not
//!                                                                been reported is lost, is sent again before anything new
//! both               no progress for `timeout`                   all that is unacknowledged (and unreported) is sent again
//! ```
//!
//! Where packets may take different ways (`transport.in_order = false`) what lies beyond a gap is kept and reported, and says nothing of the gap:
//! losses show by the timeout.
//!
//! A packet that a switch sends back for want of memory is lost as well, and known to be before its receiver could say so: selective-repeat
//! sends it again, go-back-n goes back to it. Of all other packets it says nothing, so it neither acknowledges nor shows a gap.
//!
//! Time passes without progress while a packet is under way: not while the flow rests, or waits for its own rate to send again. A
//! packet whose payload a switch has cut off is a loss that the receiver knows of, and says at once. A flow without a byte is one
//! packet without payload, sent again until it is acknowledged.
//!
//! A packet's number is the offset of its first payload byte: a PSN in units of bytes. A flow whose packets time out `retries`
//! times in a row without progress fails, as a queue pair does.
//!
//! **Not modelled:** RNR NACKs, end-to-end credits, atomic operations and reads; PSN wrap-around.

use crate::config::Recovery;
use crate::event::Event;
use crate::hooks::{FlowSide, Loss, NicSide};
use crate::host::flow::{NO_CONTROLLER, Status};
use crate::host::{Interface, PORT};
use crate::node::At;
use crate::packet::{AckHeader, Body, DataHeader, Gap, Packet};
use crate::world::Outcome;
use backwater_engine::Time;

/// What a packet is answered with.
pub(crate) enum Answer {
    Nothing,
    /// All bytes before this offset have arrived.
    Ack(u64),
    /// The same, at once: the packet had arrived before, so that acknowledgements have been lost, or it has closed a gap.
    Again(u64),
    /// The same, and some packet beyond is missing.
    Nack(u64),
    /// The same, and this packet has come; others may still be on their way.
    Beyond(u64),
    /// The same, and the payload of this packet is missing.
    Trimmed(u64),
    /// The same; what else there is to say is the receiver's report.
    Reported(u64),
}

impl<N: NicSide, F: FlowSide> At<'_, Interface<'_, N, F>> {
    /// The offset at which a flow's next packet begins: what is lost goes before what is new.
    #[inline(always)]
    pub(crate) fn next_offset(&mut self, slot: usize) -> u64 {
        let flow = self.node.sending_mut(slot);
        match flow.recovery.as_mut() {
            None => flow.sent,
            Some(sender) => sender.lost.pop_first().unwrap_or(flow.sent),
        }
    }

    /// A packet of data goes out.
    #[cold]
    pub(crate) fn note_sent(&mut self, slot: u32, pkt: &mut Packet) {
        self.cut_to_message(slot, pkt);
        let Body::Data(DataHeader { offset, payload, .. }) = pkt.body else { return };
        let unordered = self.world.rules.transport.recovery == Recovery::Rud;
        let (now, timeout, step) =
            (self.world.now, self.world.rules.transport.timeout, u64::from(self.world.rules.payload));
        let flow = self.node.sending_mut(slot as usize);
        let (tag, acked, sent, first) = (flow.tag, flow.acked, flow.sent, flow.packets == 1);
        let Some(sender) = flow.recovery.as_mut() else { return };
        let end = offset + if sender.messages.is_some() { step } else { u64::from(payload) };
        let again = end <= sender.furthest && !first;
        if let Some(message) = sender.messages.as_mut().and_then(|messages| messages.of_mut(offset, step)) {
            message.sent += 1;
            message.retransmitted += u64::from(again);
        }
        if again {
            sender.retransmitted += 1;
            if self.world.probes.loads.count() {
                // Such a frame counts as a job's as long as its flow is under way.
                self.world
                    .doubt("data of a job are sent again, and may be on a link when their flow has ended elsewhere");
            }
        }
        if !unordered && sender.under_way(acked, sent, step) <= 1 {
            // Nothing else is: progress cannot be expected from before this packet.
            sender.progress = now;
        }
        sender.furthest = sender.furthest.max(end);
        sender.total += u64::from(payload);
        if unordered {
            return self.note_sent_unordered(slot, pkt);
        }
        if !sender.armed {
            (sender.armed, sender.progress) = (true, now);
            self.world.push(now + timeout, Event::Timeout { slot, tag });
        }
    }

    /// The receiver takes a data packet. Returns the answer.
    #[cold]
    pub(crate) fn receive_reliably(&mut self, at: usize, pkt: &Packet, data: DataHeader) -> Answer {
        let before =
            self.node.receiving(at).recovery.as_ref().map(|receiver| (receiver.taken(), receiver.messages.is_some()));
        let answer = self.receive_by_recovery(at, pkt, data);
        match before {
            Some((before, true)) => {
                let news = self.node.receiving(at).recovery.as_ref().is_some_and(|receiver| receiver.taken() != before);
                self.note_come(at, pkt, data, news, answer)
            }
            _ => answer,
        }
    }

    fn receive_by_recovery(&mut self, at: usize, pkt: &Packet, data: DataHeader) -> Answer {
        if self.world.rules.transport.recovery == Recovery::Rud {
            return self.receive_unordered(at, pkt, data);
        }
        let (offset, step) = (data.offset, u64::from(self.world.rules.payload));
        let (now, again) = (self.world.now, self.world.rules.transport.nack_interval);
        let recv = self.node.receiving_mut(at);
        let Some(receiver) = recv.recovery.as_mut() else { return Answer::Nothing };
        let end = receiver.end_of(data, step);
        if data.is(DataHeader::CUT) && offset >= receiver.expected {
            // A switch has cut its payload off: as good as lost, and known to be.
            if self.world.rules.transport.recovery == Recovery::SelectiveRepeat {
                return Answer::Trimmed(receiver.expected);
            }
            let news = receiver.reports(now, again) || offset == receiver.expected;
            return if news { Answer::Nack(receiver.expected) } else { Answer::Nothing };
        }
        if offset > receiver.expected {
            if self.world.rules.transport.recovery == Recovery::SelectiveRepeat {
                if receiver.beyond.insert((offset, end)) {
                    recv.received += u64::from(data.payload);
                }
                let in_order = self.world.rules.transport.in_order;
                return if in_order { Answer::Nack(receiver.expected) } else { Answer::Beyond(receiver.expected) };
            }
            return if receiver.reports(now, again) { Answer::Nack(receiver.expected) } else { Answer::Nothing };
        }
        if end <= receiver.expected {
            return Answer::Again(receiver.expected);
        }
        recv.received += u64::from(data.payload);
        receiver.expected = end;
        receiver.silent_until = Time::ZERO;
        // What waits beyond a gap was answered at once, and so is what closes the gap, or a part of it (RFC 5681, 4.2).
        let gap = !receiver.beyond.is_empty();
        while let Some(&(from, to)) = receiver.beyond.first().filter(|(from, _)| *from <= receiver.expected) {
            receiver.beyond.remove(&(from, to));
            receiver.expected = receiver.expected.max(to);
        }
        if gap { Answer::Again(receiver.expected) } else { Answer::Ack(receiver.expected) }
    }

    /// The sender learns what has arrived and, by a NACK, what has not. Returns whether that is news of a loss.
    #[cold]
    pub(crate) fn learn(&mut self, at: usize, ack: AckHeader, further: bool) -> bool {
        let (now, step) = (self.world.now, u64::from(self.world.rules.payload));
        let (recovery, in_order) = (self.world.rules.transport.recovery, self.world.rules.transport.in_order);
        let flow = self.node.sending_mut(at);
        let acked = flow.acked;
        let Some(sender) = flow.recovery.as_mut() else { return false };
        if further {
            (sender.progress, sender.tries) = (now, 0);
            // Nearly always there is none, and the set is not to be made anew for that.
            for offsets in [&mut sender.lost, &mut sender.reported, &mut sender.told] {
                if !offsets.is_empty() {
                    *offsets = offsets.split_off(&acked);
                }
            }
        }
        if flow.sent < acked {
            // A timeout had sent it back, and then an old acknowledgement came.
            flow.sent = acked;
        }
        let mut news = false;
        if let Some(gap) = ack.gap {
            let cut = matches!(gap, Gap::Trimmed(_) | Gap::Returned { .. });
            if cut {
                // The way is there, however often the same packet is cut.
                sender.tries = 0;
            }
            match (recovery, gap) {
                (Recovery::SelectiveRepeat, _) => {
                    let (Gap::Before(here) | Gap::Beyond(here) | Gap::Trimmed(here) | Gap::Returned { at: here, .. }) =
                        gap
                    else {
                        return false;
                    };
                    if !cut && here >= acked {
                        sender.reported.insert(here);
                        sender.lost.remove(&here);
                    }
                    // What a switch has sent back says nothing of what went before it.
                    if in_order && !ack.is_returned() {
                        news |= sender.notice(acked, here, step);
                    }
                    if cut && here >= acked && !sender.reported.contains(&here) {
                        news |= sender.lost.insert(here);
                        if in_order {
                            sender.told.insert(here);
                        }
                    }
                }
                (_, Gap::Returned { at: here, .. }) if here < acked => {}
                (_, Gap::Returned { at: here, .. }) => {
                    // The flow may have gone back further already.
                    flow.sent = flow.sent.min(here);
                    news = true;
                }
                _ => {
                    flow.sent = ack.received.max(acked);
                    news = true;
                }
            }
        }
        self.wake_flow(at);
        if self.node.sending(at).kept {
            self.complete_messages(at);
        }
        news
    }

    /// The flow may have something to send again.
    pub(crate) fn wake_flow(&mut self, at: usize) {
        let flow = self.node.sending(at);
        let idle = flow.status == Status::Idle && flow.has_more();
        let unwindowed = flow.status == Status::Windowed && flow.controller == NO_CONTROLLER;
        if idle || unwindowed {
            self.ready(at as u32);
            self.kick(PORT);
        }
    }

    pub(crate) fn timed_out(&mut self, at: usize) {
        if self.world.rules.transport.recovery == Recovery::Rud {
            return self.timed_out_unordered(at);
        }
        let (now, timeout, step) =
            (self.world.now, self.world.rules.transport.timeout, u64::from(self.world.rules.payload));
        let retries = self.world.rules.transport.retries;
        let recovery = self.world.rules.transport.recovery;
        let flow = self.node.sending_mut(at);
        let (acked, sent, empty) = (flow.acked, flow.sent, flow.is_empty());
        let again = Event::Timeout { slot: at as u32, tag: flow.tag };
        let Some(sender) = flow.recovery.as_mut() else { return };
        sender.armed = false;
        if sender.under_way(acked, sent, step) == 0 && (!empty || sender.owes()) {
            return; // the next packet arms it anew
        }
        let due = sender.progress + timeout;
        if due > now {
            sender.armed = true;
            return self.world.push(due, again);
        }
        sender.tries += 1;
        sender.note_timeout(acked, step);
        if retries.is_some_and(|most| sender.tries > most) {
            return self.world.outcomes.push(Outcome::Failed { slot: at as u32 });
        }
        sender.progress = now;
        sender.armed = true;
        if recovery == Recovery::SelectiveRepeat {
            let reported = &sender.reported;
            let unreported = std::iter::successors(Some(acked), |o| Some(o + step)).take_while(|o| *o < sent);
            sender.lost.extend(unreported.filter(|o| !reported.contains(o)));
        } else {
            flow.sent = acked;
        }
        let tries = sender.tries;
        flow.owe_if_empty();
        self.world.push(now + timeout, again);
        self.world.outcomes.push(Outcome::TimedOut { tries });
        let controller = self.node.sending(at).controller;
        if controller != NO_CONTROLLER {
            self.at_controller(controller, at as u32, |side, cx| {
                side.on_loss(cx, Loss::Timeout { bytes: sent.saturating_sub(acked) })
            });
        }
        self.wake_flow(at);
        if controller != NO_CONTROLLER {
            self.repace(controller);
        }
    }

    /// Takes a flow that ends out of the lists that it waits in. Whether its slot still stands in the list of ready flows, out of whose middle
    /// nothing can be taken, and has to be given back when its turn comes. Only flows that send again end so.
    #[cold]
    pub(crate) fn leave_lists(&mut self, at: usize) -> bool {
        let slot = at as u32;
        let (host, flow, controller) = self.node.with_flow(slot);
        let list = match (flow.status, controller) {
            (Status::Ready, _) => return true,
            (Status::Parked, _) => &mut host.parked,
            (Status::Pacing, Some(c)) => &mut c.waiting,
            (Status::Windowed, Some(c)) => &mut c.windowed,
            _ => return false,
        };
        list.retain(|listed| *listed != slot);
        false
    }

    /// \[bytes\] that a flow may leave unacknowledged now.
    #[inline(always)]
    pub(crate) fn flow_window(&self, slot: u32) -> u64 {
        let flow = self.node.sending(slot as usize);
        if !self.world.rules.transport.window_scaling || flow.window == u64::MAX || flow.controller == NO_CONTROLLER {
            return flow.window;
        }
        let Some(c) = self.node.controller(flow.controller) else { return flow.window };
        let rate = c.side.rate().map_or(c.shape.line.0, |rate| rate.0.min(c.shape.line.0));
        let scaled = (u128::from(flow.window) * u128::from(rate) / u128::from(c.shape.line.0.max(1))) as u64;
        scaled.max(self.world.rules.least_window())
    }
}
