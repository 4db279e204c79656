//! Effects of a node that concern more than that node.

use super::{Actors, Network};
use crate::config::Window;
use crate::model::hooks::FlowSide;
use crate::model::host::flow::{NO_CONTROLLER, NO_FLOW, Status};
use crate::model::packet::HostId;
use crate::model::part::Mail;
use crate::model::world::RunEffect;
use crate::record::{FlowRow, State};
use crate::workload::Moment;
use backwater_engine::Time;

impl<A: Actors> Network<A> {
    /// Carries out the effects of nodes.
    #[inline(never)]
    pub(super) fn settle(&mut self) {
        let mut effects = std::mem::take(&mut self.world.effects);
        while !effects.is_empty() {
            for outcome in effects.drain(..) {
                match outcome {
                    RunEffect::Sent { port, pkt, wire } => self.after_sent(port, pkt, wire),
                    RunEffect::LostFrom(port) => self.lost_from(port),
                    RunEffect::LastByte { slot } => {
                        if self.is_last_byte(slot as usize) {
                            self.notify_job(slot as usize, Moment::LastByte);
                        }
                    }
                    RunEffect::AllSent { slot, from } => self.all_sent(slot as usize, from),
                    RunEffect::Received { slot } => {
                        let flow = &mut self.tables.flows.send[slot as usize];
                        flow.acked = self.tables.flows.recv[slot as usize].received;
                        let nic = flow.nic;
                        self.host_at(nic).maybe_complete(slot as usize);
                    }
                    RunEffect::Complete { slot } => {
                        let dst = self.tables.flows.send[slot as usize].dst;
                        let here = self.is_here(dst);
                        let recv = &mut self.tables.flows.recv[slot as usize];
                        if recv.last_byte == Time::NEVER && here {
                            // A stream has ended after its last packet had been received.
                            recv.last_byte = self.world.now;
                            let flow = self.tables.flows.reference(slot);
                            if self.tables.flows.recv[slot as usize].begun {
                                let nic = self.tables.flows.returns[slot as usize].nic;
                                self.host_at(nic).notify_flow_end(flow);
                            }
                        }
                        self.end_flow(slot as usize, State::Complete);
                    }
                    RunEffect::MessageCame { slot, from } => self.message_came(slot as usize, from),
                    RunEffect::MessageDone { slot, from } => self.message_done(slot as usize, from),
                    RunEffect::Failed { slot } => {
                        self.world.doubt("a sender gives up, which its receiver knows at once");
                        self.end_flow(slot as usize, State::Failed);
                    }
                    RunEffect::TimedOut { tries } => self.schedule_deadlock_check(tries),
                }
            }
            // Reuses the memory for the next effects.
            std::mem::swap(&mut effects, &mut self.world.effects);
        }
    }

    /// A flow has ended: hands out its row, or its message's, and releases its resources.
    fn end_flow(&mut self, at: usize, state: State) {
        let over = if self.tables.flows.send[at].kept {
            self.close_connection(at, state);
            None
        } else {
            self.row_is_over(at, state)
        };
        match &over {
            Some((_, State::Complete)) => {
                self.world.totals.progress.flows_done += 1;
                self.notify_job(at, Moment::LastAck);
            }
            Some((_, State::Failed)) => {
                self.world.totals.progress.flows_failed += 1;
                self.notify_job(at, Moment::Failed);
            }
            _ => {}
        }
        self.send_to_parts(at);
        let here = self.is_here(self.tables.flows.send[at].dst);
        let failed = here && self.tables.flows.recv[at].last_byte == Time::NEVER;
        let (nic, recv_nic) = (self.tables.flows.send[at].nic, self.tables.flows.returns[at].nic);
        let reference = self.tables.flows.reference(at as u32);
        self.host_at(nic).notify_end(at as u32);
        self.world.totals.keepalive_events += u64::from(self.tables.flows.send[at].idle_timer());
        if failed && self.tables.flows.recv[at].begun {
            self.host_at(recv_nic).notify_flow_end(reference);
        }
        let listed = self.tables.flows.send[at].status != Status::Idle && self.host_at(nic).leave_lists(at);
        self.count_out(at);
        let flow = &self.tables.flows.send[at];
        let controller = flow.controller;
        if self.world.part.is_none() {
            self.world.fabric.paths.take_out(reference);
        }
        self.world.probes.flow_index.end(reference);
        if controller != NO_CONTROLLER
            && let Some(gone) = self.tables.controllers.list[controller as usize].take_if(|c| c.slot != NO_FLOW)
        {
            let activity = &mut self.tables.controllers.activity;
            gone.side.report_activity(&mut |owner, done| {
                activity[usize::from(owner.0)].join(done);
            });
            self.tables.controllers.free.push(controller);
        }
        if listed {
            self.tables.flows.retire(at as u32);
        } else {
            self.tables.flows.remove(at as u32);
        }
        if controller != NO_CONTROLLER {
            // Flows that share it may wait for its new rate.
            self.host_at(nic).repace(controller);
        }
        self.world.totals.last_progress = self.world.now;
        if let Some((group, _)) = over {
            self.one_ended(group);
        }
    }

    /// Returns whether a host belongs to this part: all do in a network that is not split.
    pub(super) fn is_here(&self, host: HostId) -> bool {
        self.world.part.as_ref().is_none_or(|part| part.has(host))
    }

    /// A flow from a host of this part has ended: notifies the receiver's part, which returns its half of the row.
    fn send_to_parts(&mut self, at: usize) {
        let Some(part) = &mut self.world.part else { return };
        let (slot, key) = (at as u32, part.reached);
        let to = part.owners.of_host(self.tables.flows.send[at].dst);
        let away = to != part.me;
        part.flows.push((key, away.then_some(slot)));
        if away {
            part.post(to, Mail::Over(key, slot));
        }
    }

    /// The row of a flow.
    pub(super) fn flow_row(&self, at: usize, state: State) -> FlowRow {
        let (flow, recv) = (&self.tables.flows.send[at], &self.tables.flows.recv[at]);
        let acknowledged = state == State::Complete && self.world.rules.ack.enabled;
        let sender = flow.transport.as_ref().map(|sender| &sender.common);
        FlowRow {
            id: flow.id,
            group: flow.group,
            src: flow.src,
            dst: flow.dst,
            class: flow.own_class,
            bytes: flow.available,
            start: flow.start,
            fct_last_byte: (recv.last_byte != Time::NEVER).then(|| recv.last_byte - flow.start),
            fct_last_ack: acknowledged.then(|| self.world.now - flow.start),
            packets: flow.packets,
            received: recv.received,
            reordered: recv.reordered.into(),
            marked: recv.marked.into(),
            blocked: flow.stream.as_ref().map_or(0, |stream| stream.blocked),
            retransmitted: sender.map_or(0, |sender| sender.retransmitted),
            inferred: sender.map_or(0, |sender| sender.inferred),
            timeouts: sender.map_or(0, |sender| sender.timeouts),
            ideal: flow.ideal,
            state,
        }
    }

    /// The window of a new flow along these ports.
    pub(super) fn window_of(&self, ecmp_path: Option<&[u32]>, left: u8) -> u64 {
        match self.world.rules.transport.window {
            None => u64::MAX,
            Some(Window::Bytes(bytes)) => bytes.0.max(self.world.rules.least_window()),
            Some(Window::Bdp) => ecmp_path.map_or(u64::MAX, |ecmp_path| self.bandwidth_delay(ecmp_path, left)),
        }
    }
}
