//! A source that belongs to the caller of a run: he sends messages while it is in progress, and learns of their moments.
//!
//! ```text
//! sends      a message gets the next number, and starts at its time in the source's turn of that instant, as a row of a flow table does
//! learns     of all moments of an instant together, after the frames that arrive then: the run stops there, so that he can answer
//! answers    a message that starts at the instant of its cause follows in another turn of the same instant
//! ```
//!
//! So a run whose messages are known beforehand equals the run of their flow table, and no thread but the caller's decides on an order.

use crate::model::packet::{Class, HostId};
use crate::record::Rows;
use crate::workload::flow_spec::FlowSpec;
use crate::workload::{Dependent, Due, FlowSource, Group, Moment, Rounds};
use backwater_engine::Time;
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A message to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Message {
    /// Sending host.
    pub src: HostId,
    /// Receiving host, not `src`.
    pub dst: HostId,
    /// \[bytes\] Payload.
    pub bytes: u64,
    /// Class of its data.
    pub class: Class,
    /// When it starts, not before the time of the run.
    pub start: Time,
    /// The caller's name for it, of any meaning.
    pub token: u64,
}

/// A moment of a message that has been reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Told {
    /// The instant.
    pub at: Time,
    /// The message's number, from 0 in the order of sending.
    pub number: u64,
    /// The moment.
    pub moment: Moment,
    /// The caller's name for the message.
    pub token: u64,
}

/// Why a run has returned to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// He has something to learn.
    Told,
    /// All events up to the requested time are over.
    Reached,
    /// Nothing happens any more until he sends.
    Idle,
    /// The run has ended.
    Ended,
    /// The budget is used up.
    More,
}

/// The moments that a caller wants to learn of. He always learns that a message has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The last byte has left the sender's memory.
    pub sent: bool,
    /// The last byte has arrived.
    pub delivered: bool,
    /// The last acknowledgement has arrived.
    pub acknowledged: bool,
}

/// The caller's messages.
#[derive(backwater_derive::State)]
pub struct Caller {
    #[state(fixed)]
    group: Group,
    /// Its turn among the sources of an instant.
    #[state(fixed)]
    place: u32,
    #[state(fixed)]
    wanted: Wanted,
    /// Messages so far.
    number: u64,
    /// Messages that have not started, by start and number.
    waiting: BTreeMap<(Time, u64), Message>,
    /// The caller's names for the messages that have started, by number.
    tokens: BTreeMap<u64, u64>,
    /// Moments of this instant.
    reached: Vec<(u64, Moment)>,
    /// Moments that the caller has not taken.
    told: Vec<Told>,
}

impl Caller {
    /// The messages are of this group, and start in the turn of the source with the number `place`, which yields no flows itself
    /// ([`Reserved`]).
    pub fn new(group: Group, place: u32, wanted: Wanted) -> Caller {
        let (waiting, tokens) = (BTreeMap::new(), BTreeMap::new());
        Caller { group, place, wanted, number: 0, waiting, tokens, reached: Vec::new(), told: Vec::new() }
    }

    /// Sends a message. Returns its number, and whether it starts before all others that wait.
    pub(crate) fn send(&mut self, message: Message) -> (u64, bool) {
        let number = self.number;
        self.number += 1;
        let first = self.waiting.first_key_value().is_none_or(|((start, _), _)| message.start < *start);
        self.waiting.insert((message.start, number), message);
        (number, first)
    }

    /// Returns the moments of which the caller has not learned, in their order.
    pub(crate) fn take(&mut self, into: &mut Vec<Told>) {
        into.append(&mut self.told);
    }

    /// Returns whether there are any.
    pub(crate) fn has_news(&self) -> bool {
        !self.told.is_empty()
    }

    /// Messages sent, and those of them that have not ended.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.number, (self.waiting.len() + self.tokens.len()) as u64)
    }

    fn flow(&self, number: u64, message: &Message) -> FlowSpec {
        FlowSpec {
            id: self.group.flow_id(number),
            group: self.group.index,
            src: message.src,
            dst: message.dst,
            bytes: message.bytes,
            start: message.start,
            class: message.class,
            ect: self.group.ect,
            path: None,
            ack_path: None,
            link: None,
            stream: None,
        }
    }

    fn wants(&self, moment: Moment) -> bool {
        match moment {
            Moment::Sent => self.wanted.sent,
            Moment::LastByte => self.wanted.delivered,
            Moment::LastAck => self.wanted.acknowledged,
            Moment::Failed => true,
        }
    }
}

impl Dependent for Caller {
    fn groups(&self) -> Range<u32> {
        self.group.index..self.group.index + 1
    }

    fn labels(&self, _: u32) -> (Arc<str>, Arc<str>) {
        (self.group.stream.as_str().into(), self.group.stream.as_str().into())
    }

    fn awaits(&self, _: u64, moment: Moment) -> bool {
        // The end of a message, so that its name is forgotten.
        moment == Moment::LastAck || self.wants(moment)
    }

    fn awaits_sent(&self) -> bool {
        self.wanted.sent
    }

    fn begins(&self) -> Time {
        Time::NEVER
    }

    fn start_latency(&self) -> Time {
        Time::ZERO
    }

    fn completed(&mut self, flow: u64, _: u32, moment: Moment) {
        self.reached.push((flow & (Group::MOST_FLOWS - 1), moment));
    }

    fn due(&mut self, now: Time, due: &mut Due) -> Option<Time> {
        while let Some(first) = self.waiting.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((_, number), message) = first.remove_entry();
            self.tokens.insert(number, message.token);
            due.flows.push(self.flow(number, &message));
        }
        let mut reached = std::mem::take(&mut self.reached);
        reached.sort_unstable();
        for (number, moment) in reached.drain(..) {
            let ends = matches!(moment, Moment::LastAck | Moment::Failed);
            let token = if ends { self.tokens.remove(&number) } else { self.tokens.get(&number).copied() };
            if let Some(token) = token.filter(|_| self.wants(moment)) {
                self.told.push(Told { at: now, number, moment, token });
            }
        }
        self.reached = reached;
        self.waiting.first_key_value().map(|((start, _), _)| *start)
    }

    fn unfinished(&self) -> Rows {
        Rows::default()
    }

    fn rounds(&self) -> Rounds {
        Rounds { job: self.labels(0).0, complete: 0, all: 0 }
    }

    fn place(&self) -> Option<u32> {
        Some(self.place)
    }

    fn as_caller(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}

/// Keeps the place of a [`Caller`] among the sources.
pub struct Reserved;

impl FlowSource for Reserved {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Wanted = Wanted { sent: true, delivered: true, acknowledged: true };

    fn caller(wanted: Wanted) -> Caller {
        Caller::new(Group { index: 2, stream: "messages".into(), class: Class(3), ect: true }, 1, wanted)
    }

    fn message(token: u64, start: u64) -> Message {
        Message { src: HostId(0), dst: HostId(1), bytes: 10, class: Class(3), start: Time(start), token }
    }

    fn told(caller: &mut Caller) -> Vec<(u64, u64, Moment)> {
        let mut all = Vec::new();
        caller.take(&mut all);
        all.iter().map(|one| (one.at.0, one.token, one.moment)).collect()
    }

    #[test]
    fn messages_start_by_time_and_number() {
        let mut caller = caller(ALL);
        let sent = [(70, 20), (71, 10), (72, 20)].map(|(token, at)| caller.send(message(token, at)));
        assert_eq!(sent, [(0, true), (1, true), (2, false)]);
        let mut due = Due::default();
        assert_eq!(caller.due(Time(10), &mut due), Some(Time(20)));
        assert_eq!(due.flows.iter().map(|flow| flow.id).collect::<Vec<_>>(), [2 << 40 | 1]);
        assert_eq!(caller.due(Time(20), &mut due), None);
        assert_eq!(due.flows.iter().map(|flow| flow.id & 0xFF).collect::<Vec<_>>(), [1, 0, 2]);
        assert_eq!(caller.counts(), (3, 3));
    }

    #[test]
    fn moments_of_an_instant_are_told_together_by_number() {
        let mut caller = caller(ALL);
        for token in 0..3 {
            caller.send(message(70 + token, 0));
        }
        let mut due = Due::default();
        caller.due(Time(0), &mut due);
        let reached = [(2, Moment::LastByte), (0, Moment::LastAck), (2, Moment::Sent), (1, Moment::Failed)];
        reached.into_iter().for_each(|(number, moment)| caller.completed(2 << 40 | number, 2, moment));
        caller.due(Time(5), &mut due);
        let all = [(5, 70, Moment::LastAck), (5, 71, Moment::Failed), (5, 72, Moment::Sent), (5, 72, Moment::LastByte)];
        assert_eq!(told(&mut caller), all);
        assert_eq!((caller.counts(), caller.has_news()), ((3, 1), false));
    }

    #[test]
    fn a_caller_learns_only_what_he_wants_and_of_failures() {
        let mut caller = caller(Wanted { sent: false, delivered: true, acknowledged: false });
        assert!(
            !caller.awaits(0, Moment::Sent) && caller.awaits(0, Moment::LastByte) && caller.awaits(0, Moment::Failed)
        );
        caller.send(message(7, 0));
        caller.due(Time(0), &mut Due::default());
        caller.completed(2 << 40, 2, Moment::LastByte);
        caller.completed(2 << 40, 2, Moment::LastAck);
        caller.due(Time(9), &mut Due::default());
        assert_eq!(told(&mut caller), [(9, 7, Moment::LastByte)]);
        assert_eq!(caller.counts(), (1, 0));
    }
}
