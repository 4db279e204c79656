//! Connections that messages share (`host/messages.rs`): the connection for a message, and the message's row.

use super::{Actors, Network};
use crate::config::LinkChoice;
use crate::model::event::Event;
use crate::model::transport::messages::{Coming, Sending};
use crate::record::{FlowRow, State};
use crate::workload::Moment;
use crate::workload::flow_spec::FlowSpec;
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;

impl<A: Actors> Network<A> {
    /// Posts a message on the connection of its group from its source to its destination; the first message opens it. Returns the interface
    /// that sends it.
    pub(super) fn post_on_connection(&mut self, spec: &FlowSpec, (message, pair): (u32, u32)) -> u32 {
        let between = (spec.group, spec.src.0, spec.dst.0, pair);
        let slot = match self.messages.connections.get(&between) {
            Some(slot) => *slot,
            None => {
                let failed = self.messages.failed.get(&between).copied().unwrap_or(0);
                let slot = self.open_connection(spec, pair, failed);
                self.messages.connections.insert(between, slot);
                slot
            }
        };
        let (at, now, step) = (slot as usize, self.world.now, u64::from(self.world.rules.payload));
        let (nic, tag, left) =
            (self.tables.flows.send[at].nic, self.tables.flows.send[at].tag, self.tables.flows.send[at].left);
        let ideal = self.path_of(slot).and_then(|ecmp_path| self.ideal(&ecmp_path, spec.bytes, left));
        let message = Sending { ideal, ..Sending::new(spec.id, now, spec.bytes, step, (message, pair)) };
        let packets = message.packets;
        self.world.totals.keepalive_events -= u64::from(self.tables.flows.send[at].use_timer());
        let (send, recv) = (&mut self.tables.flows.send[at], &mut self.tables.flows.recv[at]);
        let Some((outgoing, incoming)) = send.messages_mut().zip(recv.messages_mut()) else { return nic };
        let (from, before) = (outgoing.post(message, step), outgoing.due);
        incoming.expect(from, packets, step);
        recv.total += spec.bytes;
        self.tables.flows.active += 1;
        if self.world.rules.nic.link == LinkChoice::LeastLoaded {
            self.hosts[nic as usize].unfinished += spec.bytes;
        }
        // A message that is posted later is not issued earlier.
        let due = self.hosts[nic as usize].issue_at(now).after(self.fetch_time(nic, spec.bytes, left)).max(before);
        self.tables.flows.send[at].issued_at(due);
        if due == now {
            self.host_at(nic).begin_message(slot);
        } else {
            self.world.push(due, Event::Begin { slot, tag });
        }
        nic
    }

    /// Opens a connection, without anything to send. Its identity is that of its ends, whichever message comes first. After a failure it
    /// gets another identity: packets of the old connection in flight do not belong to the new one.
    fn open_connection(&mut self, spec: &FlowSpec, pair: u32, failed: u64) -> u32 {
        let ends = u64::from(spec.src.0) << 32 | u64::from(spec.dst.0);
        let first = mix(mix(self.world.rules.seed) ^ mix(u64::from(spec.group) << 32 | u64::from(pair)) ^ ends);
        let hash = if failed == 0 { first } else { mix(first ^ mix(failed)) };
        let slot = self.open(&FlowSpec { bytes: 0, ..spec.clone() }, hash, true);
        // Its messages are counted, not the connection.
        self.tables.flows.active -= 1;
        slot
    }

    /// The next message of a connection has been issued.
    pub(super) fn message_issued(&mut self, at: usize) {
        let nic = self.tables.flows.send[at].nic;
        self.host_at(nic).begin_message(at as u32);
    }

    /// A message has arrived completely.
    pub(super) fn message_came(&mut self, at: usize, from: u64) {
        let (group, step) = (self.tables.flows.send[at].group, u64::from(self.world.rules.payload));
        let messages = self.tables.flows.send[at].messages();
        let Some((id, message)) = messages.and_then(|all| all.of(from, step)).map(|one| (one.id, one.message)) else {
            return;
        };
        if self.messages.is_last_to_come(message) {
            self.notify_job_of(group, id, Moment::LastByte);
        }
    }

    /// A message is fully acknowledged.
    pub(super) fn message_done(&mut self, at: usize, from: u64) {
        self.end_message(at, from, State::Complete);
        self.world.totals.last_progress = self.world.now;
    }

    /// Ends a message on a connection. It is counted with its last queue pair, with the worst state of all of them.
    fn end_message(&mut self, at: usize, from: u64, state: State) {
        let Some((group, id, state)) = self.message_is_over(at, from, state) else { return };
        match state {
            State::Complete => {
                self.world.totals.progress.flows_done += 1;
                self.notify_job_of(group, id, Moment::LastAck);
            }
            _ => {
                self.world.totals.progress.flows_failed += 1;
                self.notify_job_of(group, id, Moment::Failed);
            }
        }
        self.one_ended(group);
    }

    /// Ends a connection with all of its messages: its sender has given up. The next message opens another.
    pub(super) fn close_connection(&mut self, at: usize, state: State) {
        for from in self.messages_of(at) {
            self.end_message(at, from, state.clone());
        }
        let slot = at as u32;
        let failed = &mut self.messages.failed;
        self.messages.connections.retain(|between, of| {
            let stays = *of != slot;
            if !stays {
                *failed.entry(*between).or_insert(0) += 1;
            }
            stays
        });
        // It counts until it has left the tables, like any flow.
        self.tables.flows.active += 1;
    }

    /// The run has ended, and with it a flow or the messages of a connection.
    pub(super) fn rows_are_over(&mut self, at: usize, state: State) {
        if !self.tables.flows.send[at].kept {
            self.row_is_over(at, state);
            return;
        }
        for from in self.messages_of(at) {
            self.message_is_over(at, from, state.clone());
            // Counted like flows that the run leaves unfinished.
            self.tables.flows.active += 1;
        }
    }

    /// The offsets of the messages of a connection that are in flight.
    fn messages_of(&self, at: usize) -> Vec<u64> {
        let messages = self.tables.flows.send[at].messages();
        messages.map_or(Vec::new(), |all| all.iter().map(|message| message.from).collect())
    }

    /// A message has ended: hands out its row, or with the last of its queue pairs the row of the whole message. Returns its group, its
    /// number, and how it ended.
    fn message_is_over(&mut self, at: usize, from: u64, state: State) -> Option<(u32, u64, State)> {
        let (send, recv) = (&mut self.tables.flows.send[at], &mut self.tables.flows.recv[at]);
        let message = send.messages_mut()?.take(from)?;
        let come = recv.messages_mut()?.take(from)?;
        self.world.totals.keepalive_events += u64::from(send.rests() && send.idle_timer());
        self.tables.flows.active -= 1;
        if self.world.rules.nic.link == LinkChoice::LeastLoaded {
            let host = &mut self.hosts[self.tables.flows.send[at].nic as usize];
            host.unfinished = host.unfinished.saturating_sub(message.bytes);
        }
        let row = self.message_row(at, &message, &come, state);
        let id = row.id;
        let over = self.hand_over(row, None, come.last_byte, (message.message, message.pair));
        over.map(|(group, state)| (group, id, state))
    }

    fn message_row(&self, at: usize, message: &Sending, come: &Coming, state: State) -> FlowRow {
        let whole = self.flow_row(at, state);
        let fct_last_ack = whole.fct_last_ack.map(|_| self.world.now - message.start);
        FlowRow {
            id: message.id,
            bytes: message.bytes,
            start: message.start,
            fct_last_byte: (come.last_byte != Time::NEVER).then(|| come.last_byte - message.start),
            fct_last_ack,
            packets: message.sent,
            received: come.received,
            reordered: come.reordered,
            marked: come.marked,
            retransmitted: message.retransmitted,
            inferred: message.inferred,
            timeouts: message.timeouts,
            ideal: message.ideal,
            ..whole
        }
    }
}
