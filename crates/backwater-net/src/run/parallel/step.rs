//! The work of a part between two meetings: it handles its events, up to the time at which another part can reach it.
//!
//! One thing reaches it at once: a flow ends at its sender, and from that instant on its receiver does not know it. This matters for
//! duplicate data that arrives when the flow has arrived completely. Such a frame waits until the sender's part is past that instant. The
//! part that is behind all others never waits.

use super::super::{Actors, Network, handle};
use super::board::Board;
use crate::model::event::{Event, order};
use crate::model::packet::{Body, ControlHeader};
use crate::model::part::{Half, Key, Mail, NEVER};
use crate::model::port::Belongs;
use crate::model::slab::Ix;
use backwater_engine::Time;

/// Events between two meetings.
const CHUNK: u64 = 256;

impl<A: Actors> Network<A> {
    /// Handles events until the stretch has ended.
    pub(super) fn work(&mut self, board: &Board) {
        let Some(me) = self.world.part.as_ref().map(|part| part.me) else { return };
        let (mut handled, mut certain, mut mail) = (0, Vec::new(), Vec::new());
        loop {
            let next = self.world.queue.at_least().unwrap_or(NEVER);
            let Some(part) = &mut self.world.part else { return };
            let turn = board.meet(me, next, handled, &mut part.out, &mut mail, &mut certain);
            let news = !mail.is_empty();
            mail.drain(..).for_each(|mail| self.deliver(mail));
            if turn.over {
                return;
            }
            handled = self.advance(turn.until, &certain);
            if self.world.part.as_ref().is_some_and(|part| part.doubt.is_some()) || self.world.totals.broken.is_some() {
                return board.stop();
            }
            // Mail may have changed its next event since it was published.
            if handled == 0 && !news && self.world.queue.at_least().unwrap_or(NEVER) == next {
                board.wait(turn.version);
            }
        }
    }

    /// Handles up to a chunk of events before `until`.
    fn advance(&mut self, until: Key, certain: &[Key]) -> u64 {
        let mut handled = 0;
        while handled < CHUNK && !self.world.totals.stopped {
            if self.world.queue.first_at_hand().is_none() {
                if self.world.queue.at_least().is_none_or(|next| next >= until) {
                    break;
                }
                if self.world.queue.fill() && self.wide {
                    self.fetch_ahead();
                }
            }
            if self.world.queue.first_at_hand().is_none_or(|next| next >= until) {
                break;
            }
            let Some((time, order, event)) = self.world.queue.take() else { break };
            if let Event::Arrive { port, pkt, .. } = event
                && self.must_wait(port, pkt, (time, order), certain)
            {
                self.world.queue.push(time, order, event);
                break;
            }
            if let Some(part) = &mut self.world.part {
                part.reached = part.reached.max((time, order));
            }
            handle!(self, time, order, event);
            self.note_event(time, order, event);
            handled += 1;
        }
        handled
    }

    /// Records the meaning of an event for the other parts.
    #[inline]
    fn note_event(&mut self, time: Time, order: u64, event: Event) {
        let lives = self.lives();
        // Events that all parts handle count once.
        let Some(part) = &mut self.world.part else { return };
        let counts = match event {
            Event::Source { .. } | Event::Job { .. } | Event::Call { .. } | Event::Stop => part.me == 0,
            Event::Over { .. } => false,
            _ => true,
        };
        self.world.totals.progress.events += u64::from(counts);
        part.set_quiet((time, order), !lives);
        while part.control.len() < self.world.rows.control.len() {
            part.control.push(part.reached);
        }
    }

    /// Returns whether a frame is data of a flow that has arrived completely, and whose sender, in another part, may have ended it
    /// meanwhile.
    #[inline]
    fn must_wait(&self, port: u32, pkt: Ix, key: Key, certain: &[Key]) -> bool {
        if !matches!(self.ports[port as usize].belongs, Belongs::Host(_)) {
            return false;
        }
        let header = &self.world.slab[pkt].pkt;
        let (Body::Data(data), Some(part)) = (header.body, &self.world.part) else { return false };
        let sender = part.owners.of_host(data.src);
        if sender == part.me {
            return false;
        }
        let Some(at) = self.tables.flows.find_received(header.flow) else { return false };
        self.tables.flows.recv[at].last_byte != Time::NEVER && certain[sender] <= key
    }

    /// Handles mail from another part.
    pub(super) fn deliver(&mut self, mail: Mail) {
        let by = match &mail {
            Mail::Frame(crossing) => Some(crossing.by),
            Mail::Signal(signal) => Some(signal.by),
            Mail::Completed(completion) => Some(completion.by),
            Mail::Over(..) => None,
        };
        if let (Some(part), Some(by)) = (&mut self.world.part, by) {
            part.set_quiet(by, false);
        }
        match mail {
            Mail::Frame(crossing) => {
                let mut packet = crossing.packet;
                let beside = crossing.beside.as_deref();
                if let Some(control) = beside.and_then(|beside| beside.control) {
                    let content = self.world.slab.insert_control(control);
                    packet.body = match packet.body {
                        Body::Control(header) => Body::Control(ControlHeader { content, ..header }),
                        Body::Mac(header) => Body::Mac(ControlHeader { content, ..header }),
                        other => other,
                    };
                }
                let pkt = self.world.slab.insert(packet);
                if let Some(carried) = beside.and_then(|beside| beside.carried) {
                    self.world.attachments.put(pkt, packet.uid, carried);
                }
                if let Some(report) = beside.and_then(|beside| beside.report) {
                    self.world.reports.put(pkt, packet.uid, report);
                }
                let event = Event::Arrive { port: crossing.port, pkt, egress: crossing.egress };
                self.world.queue.push(crossing.at, order(2, packet.uid), event);
            }
            Mail::Signal(signal) => {
                let control = self.world.slab.insert_control(signal.control);
                let event = Event::Signal { port: signal.port, control, number: signal.number };
                self.world.push(signal.at, event);
            }
            Mail::Completed(completion) => self.completed_elsewhere(completion),
            Mail::Over((time, order), slot) => {
                let reached = self.world.part.as_ref().map_or((Time::ZERO, 0), |part| part.reached);
                if (time, order) > reached {
                    self.world.totals.keepalive_events += 1;
                    self.world.queue.push(time, order, Event::Over { slot });
                } else {
                    self.over(slot);
                }
            }
        }
    }

    /// A flow's timer has found only timers left here: with the last such part the run has ended.
    #[cold]
    pub(in crate::run) fn may_have_ended(&mut self) {
        let key = (self.world.now, self.world.order);
        if let Some(part) = &mut self.world.part {
            part.ends.push(key);
        }
    }

    /// A flow that is received here has ended.
    pub(in crate::run) fn over(&mut self, slot: u32) {
        let recv = &mut self.tables.flows.recv[slot as usize];
        recv.live = false;
        let half = Half::of(slot, recv);
        if let Some(part) = &mut self.world.part {
            part.halves.push(half);
        }
    }

    /// All parts forget a flow in the same order, so that they reuse its slot and its paths for the same flow.
    pub(super) fn forget_flow(&mut self, slot: u32) {
        self.world.fabric.paths.take_out_of(slot);
        self.tables.flows.release_slot(slot);
    }
}
