//! Messages over several queue pairs. Each queue pair is a flow of its own: for ECMP, for rate control, for recovery. The message is
//! complete when all its flows are, and they share its row.
//!
//! ```text
//! begins     with the flows of all queue pairs that carry any of it, in their order, at one instant
//! issued     the first segment of each queue pair in turn, then all others: a flow begins with its first
//! last byte  the last of its flows' last bytes
//! complete   all its flows are; failed: one of them is, when all have ended
//! ```

use super::{Actors, Network};
use crate::model::host::flow::NO_MESSAGE;
use crate::model::probe::account::Account;
use crate::record::{FlowRow, QueuePairRow, State};
use crate::workload::flow_spec::{FlowSpec, QueuePairs, Share};
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;
use std::collections::BTreeMap;

/// Group, source, destination and number of the queue pair.
pub(super) type Between = (u32, u32, u32, u32);

/// Messages over several queue pairs that are in flight.
#[derive(Default, backwater_derive::State)]
pub(super) struct Messages {
    /// Per group.
    #[state(fixed)]
    pairs: Vec<Option<QueuePairs>>,
    list: Vec<Message>,
    free: Vec<u32>,
    /// Flows in progress beyond one for each message.
    pub extra: u64,
    /// Slots of connections that messages share.
    pub connections: BTreeMap<Between, u32>,
    /// The number of failures of each, if any.
    pub failed: BTreeMap<Between, u64>,
}

/// A message in flight.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Message {
    bytes: u64,
    /// Its flows that have not ended, and those whose last byte has not arrived.
    open: u32,
    coming: u32,
    /// The merged rows of the flows that have ended.
    ended: Option<FlowRow>,
    /// The waits of the flow whose last byte arrived last, and that time.
    waited: Option<(Time, Account)>,
}

impl Messages {
    /// Messages of groups with these queue pairs.
    pub fn new(pairs: Vec<Option<QueuePairs>>) -> Messages {
        Messages { pairs, ..Messages::default() }
    }

    /// The queue pairs of a message; `None`: it is one flow.
    pub fn pairs_of(&self, spec: &FlowSpec) -> Option<QueuePairs> {
        self.of_group(spec.group).filter(|pairs| pairs.number > 1 && spec.stream.is_none())
    }

    fn of_group(&self, group: u32) -> Option<QueuePairs> {
        self.pairs.get(group as usize).copied().flatten()
    }

    /// Returns whether a message uses connections that others share.
    pub fn is_kept(&self, spec: &FlowSpec) -> bool {
        self.of_group(spec.group).is_some_and(|pairs| pairs.kept) && spec.stream.is_none()
    }

    /// Returns a queue pair's share of a message.
    fn share(&self, group: u32, bytes: u64, pair: u32) -> Option<Share> {
        self.of_group(group)?.shares(bytes).nth(pair as usize)
    }

    fn insert(&mut self, bytes: u64, flows: u32) -> u32 {
        let message = Message { bytes, open: flows, coming: flows, ended: None, waited: None };
        self.extra += u64::from(flows) - 1;
        match self.free.pop() {
            Some(at) => {
                self.list[at as usize] = message;
                at
            }
            None => {
                self.list.push(message);
                self.list.len() as u32 - 1
            }
        }
    }

    /// One flow of a message has arrived completely. Returns whether that completes the message, which may also be a single flow.
    pub fn is_last_to_come(&mut self, number: u32) -> bool {
        if number == NO_MESSAGE {
            return true;
        }
        let message = &mut self.list[number as usize];
        message.coming -= 1;
        message.coming == 0
    }

    /// \[bytes\] received by flows of a message that have ended.
    pub fn received(&self, number: u32) -> u64 {
        self.list[number as usize].ended.as_ref().map_or(0, |row| row.received)
    }
}

impl Message {
    /// One of its flows has ended; its last byte arrived at this time (`NEVER`: it has not arrived).
    fn join(&mut self, row: FlowRow, last_byte: Time, waited: Option<Account>) {
        self.open -= 1;
        if self.waited.as_ref().is_none_or(|(latest, _)| *latest < last_byte) {
            self.waited = waited.map(|account| (last_byte, account)).or(self.waited.take());
        }
        match &mut self.ended {
            None => self.ended = Some(row),
            Some(all) => all.add(row),
        }
    }
}

impl FlowRow {
    /// Adds another flow of the same message.
    fn add(&mut self, other: FlowRow) {
        let latest = |one: Option<Time>, other| one.zip(other).map(|(one, other)| one.max(other));
        self.fct_last_byte = latest(self.fct_last_byte, other.fct_last_byte);
        self.fct_last_ack = latest(self.fct_last_ack, other.fct_last_ack);
        self.bytes += other.bytes;
        self.packets += other.packets;
        self.received += other.received;
        self.reordered += other.reordered;
        self.marked += other.marked;
        self.retransmitted += other.retransmitted;
        self.inferred += other.inferred;
        self.timeouts += other.timeouts;
        // Flows that share links have no ideal time.
        self.ideal = None;
        // A message is over when all of its flows are: until then the run counts it as unfinished, though one of them has failed.
        let rank = |state: &State| match state {
            State::Complete => 0,
            State::Failed => 1,
            State::Unfinished(_) => 2,
        };
        if rank(&other.state) > rank(&self.state) {
            self.state = other.state;
        }
    }
}

impl<A: Actors> Network<A> {
    /// A message starts over its queue pairs.
    pub(super) fn start_message(&mut self, spec: &FlowSpec, pairs: QueuePairs, hash: u64) {
        let shares: Vec<Share> = pairs.shares(spec.bytes).collect();
        let message = self.messages.insert(spec.bytes, shares.len() as u32);
        let mut nics = Vec::with_capacity(shares.len());
        for (pair, share) in (0u32..).zip(&shares) {
            let own = FlowSpec { bytes: share.bytes, ..spec.clone() };
            let hash = if pair == 0 { hash } else { mix(hash ^ mix(u64::from(pair))) };
            nics.push(self.start_on(&own, hash, (message, pair)));
        }
        for (nic, share) in nics.into_iter().zip(&shares) {
            self.hosts[nic as usize].issue_more(share.segments - 1);
        }
    }

    /// The last byte of a flow has arrived. Returns whether it is the last of its message.
    pub(super) fn is_last_byte(&mut self, at: usize) -> bool {
        self.messages.is_last_to_come(self.tables.flows.send[at].message)
    }

    /// A flow or the run has ended: hands out the row and waits of the flow, or with the last flow of a message those of the message.
    /// Returns its group and how it ended.
    pub(super) fn row_is_over(&mut self, at: usize, state: State) -> Option<(u32, State)> {
        let (row, waited) = (self.flow_row(at, state), self.end_waits(at));
        let (flow, last_byte) = (&self.tables.flows.send[at], self.tables.flows.recv[at].last_byte);
        let part = (flow.message, flow.pair);
        self.hand_over(row, waited, last_byte, part)
    }

    /// Hands out the row and waits of an ended flow, or of the queue pair with this number of a message.
    pub(super) fn hand_over(
        &mut self,
        row: FlowRow,
        waited: Option<Account>,
        last_byte: Time,
        (number, pair): (u32, u32),
    ) -> Option<(u32, State)> {
        let (row, waited) = if number == NO_MESSAGE {
            (row, waited)
        } else {
            let bytes = self.messages.list[number as usize].bytes;
            let segments = self.messages.share(row.group, bytes, pair).map_or(0, |share| share.segments);
            self.world.rows.queue_pairs.push(QueuePairRow::new(pair, segments, &row));
            let message = &mut self.messages.list[number as usize];
            message.join(row, last_byte, waited);
            if message.open > 0 {
                self.messages.extra -= 1;
                return None;
            }
            self.messages.free.push(number);
            (message.ended.take()?, message.waited.take().map(|(_, account)| account))
        };
        if let Some(account) = waited {
            self.emit_waits(&row, &account);
        }
        let over = (row.group, row.state.clone());
        self.world.rows.flows.push(row);
        Some(over)
    }
}
