//! State of both ends of a connection for the messages that share it (`host/messages.rs` uses it).

use backwater_engine::Time;
use std::collections::VecDeque;

/// A message in progress at its sender.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Sending {
    pub id: u64,
    pub start: Time,
    pub ideal: Option<Time>,
    /// \[bytes\]
    pub bytes: u64,
    /// Offset of its first packet.
    pub from: u64,
    /// Its packets, and how many of them are acknowledged one by one.
    pub packets: u64,
    pub arrived: u64,
    /// \[bytes\] by which the last packets of all messages before it on its connection are shorter than full ones
    pub short: u64,
    /// Packets sent, retransmissions among them, and the number of retransmissions.
    pub sent: u64,
    pub retransmitted: u64,
    /// Packets taken for lost before their timers expired.
    pub inferred: u64,
    /// Timers of its packets that expired.
    pub timeouts: u32,
    /// As in the sender's half of a flow.
    pub message: u32,
    pub pair: u32,
}

impl Sending {
    /// A message of so many bytes that is posted now, in packets of `step` bytes, or the share of one that the queue pair with this number
    /// carries. Its place is set later.
    pub fn new(id: u64, start: Time, bytes: u64, step: u64, (message, pair): (u32, u32)) -> Sending {
        Sending {
            id,
            start,
            ideal: None,
            bytes,
            from: 0,
            packets: bytes.div_ceil(step).max(1),
            arrived: 0,
            short: 0,
            sent: 0,
            retransmitted: 0,
            inferred: 0,
            timeouts: 0,
            message,
            pair,
        }
    }

    fn end(&self, step: u64) -> u64 {
        self.from + self.packets * step
    }

    /// \[bytes\] by which the last packets up to its own are shorter than full ones
    fn short_after(&self, step: u64) -> u64 {
        self.short + self.packets * step - self.bytes
    }
}

/// The messages in progress on a connection, at its sender.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Outgoing {
    /// By their offsets.
    list: VecDeque<Sending>,
    /// The last so many of these still have to be issued by the interface.
    posted: usize,
    /// Offset of the next message, and the bytes that the messages before it lack.
    end: u64,
    short: u64,
    /// The first has begun.
    pub begun: bool,
    /// When the last posted message is issued.
    pub due: Time,
}

impl Outgoing {
    /// A message is posted. Returns the offset of its first packet, which names it.
    pub fn post(&mut self, message: Sending, step: u64) -> u64 {
        let message = Sending { from: self.end, short: self.short, ..message };
        let from = message.from;
        (self.end, self.short, self.posted) = (message.end(step), message.short_after(step), self.posted + 1);
        self.list.push_back(message);
        from
    }

    /// The first message that still has to be issued, if any.
    pub fn next_posted(&self) -> Option<&Sending> {
        self.list.get(self.list.len() - self.posted)
    }

    /// Issues it. Returns the offset up to which there are packets to be sent.
    pub fn issue(&mut self, step: u64) -> Option<u64> {
        let end = self.next_posted()?.end(step);
        self.posted -= 1;
        Some(end)
    }

    /// Returns whether no message is in progress.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All in progress, by their offsets.
    pub fn iter(&self) -> impl Iterator<Item = &Sending> {
        self.list.iter()
    }

    fn place(&self, offset: u64) -> Option<usize> {
        self.list.partition_point(|message| message.from <= offset).checked_sub(1)
    }

    /// The message of a packet, unless it is complete.
    pub fn of(&self, offset: u64, step: u64) -> Option<&Sending> {
        self.list.get(self.place(offset)?).filter(|message| offset < message.end(step))
    }

    /// The same, mutably.
    pub fn of_mut(&mut self, offset: u64, step: u64) -> Option<&mut Sending> {
        let place = self.place(offset)?;
        self.list.get_mut(place).filter(|message| offset < message.end(step))
    }

    /// \[bytes\] of payload of the packet at an offset
    pub fn payload_at(&self, offset: u64, step: u64) -> u64 {
        self.of(offset, step)
            .map_or(step, |message| (message.bytes - (offset - message.from).min(message.bytes)).min(step))
    }

    /// \[bytes\] by which packets from `from` to `to` are shorter than full ones. All messages in between are in progress.
    pub fn shortness(&self, from: u64, to: u64, step: u64) -> u64 {
        let first = self.list.partition_point(|message| message.end(step) <= from);
        let last = self.list.partition_point(|message| message.end(step) <= to);
        match (self.list.get(first), last.checked_sub(1).and_then(|last| self.list.get(last))) {
            (Some(first), Some(last)) if first.from <= last.from => last.short_after(step) - first.short,
            _ => 0,
        }
    }

    /// Removes a message that has ended.
    pub fn take(&mut self, from: u64) -> Option<Sending> {
        let at = self.list.binary_search_by_key(&from, |message| message.from).ok()?;
        self.list.remove(at)
    }

    /// The offsets of messages whose packets are all acknowledged: one by one, or all up to `acked`. Nothing is sent from `sent` on.
    pub fn complete(&self, acked: u64, sent: u64, step: u64) -> Vec<u64> {
        let is_complete = |message: &&Sending| message.arrived >= message.packets || message.end(step) <= acked;
        let begun = self.list.iter().take_while(|message| message.from < sent);
        begun.filter(is_complete).map(|message| message.from).collect()
    }
}

/// A message in progress at its receiver.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Coming {
    /// Offsets of its first packet and behind its last.
    pub from: u64,
    pub end: u64,
    /// \[bytes\]
    pub received: u64,
    /// Packets still to come.
    pub missing: u64,
    pub last_byte: Time,
    pub reordered: u64,
    pub marked: u64,
}

/// The messages in progress on a connection, at its receiver.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Incoming {
    /// By their offsets.
    list: VecDeque<Coming>,
    /// The share of the connection's counts that belongs to earlier messages.
    pub reordered: u32,
    pub marked: u32,
}

impl Incoming {
    /// Expects a message of so many packets of `step` bytes.
    pub fn expect(&mut self, from: u64, packets: u64, step: u64) {
        let (end, last_byte) = (from + packets * step, Time::NEVER);
        self.list.push_back(Coming { from, end, received: 0, missing: packets, last_byte, reordered: 0, marked: 0 });
    }

    /// The message of a packet, unless it has ended.
    pub fn of(&mut self, offset: u64) -> Option<&mut Coming> {
        let place = self.list.partition_point(|message| message.from <= offset).checked_sub(1)?;
        self.list.get_mut(place).filter(|message| offset < message.end)
    }

    /// Returns the received part of a message.
    pub fn look(&self, from: u64) -> Option<&Coming> {
        let at = self.list.binary_search_by_key(&from, |message| message.from).ok()?;
        self.list.get(at)
    }

    /// Removes a message that has ended.
    pub fn take(&mut self, from: u64) -> Option<Coming> {
        let at = self.list.binary_search_by_key(&from, |message| message.from).ok()?;
        self.list.remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: u64 = 1_000;

    /// Messages of 2.5 packets, of one byte, of none, and of two packets: packets 0 to 2, 3, 4, 5 and 6.
    fn four() -> Outgoing {
        let mut messages = Outgoing::default();
        let from: Vec<u64> = [2_500, 1, 0, 2_000]
            .into_iter()
            .zip(10..)
            .map(|(bytes, id)| messages.post(Sending::new(id, Time::ZERO, bytes, STEP, (0, 0)), STEP))
            .collect();
        assert_eq!(from, [0, 3_000, 4_000, 5_000]);
        messages
    }

    #[test]
    fn a_message_has_packets_of_its_own() {
        let mut messages = four();
        let payloads: Vec<u64> = (0..7).map(|number| messages.payload_at(number * STEP, STEP)).collect();
        assert_eq!(payloads, [1_000, 1_000, 500, 1, 0, 1_000, 1_000]);
        assert_eq!(messages.of(4_000, STEP).map(|message| message.id), Some(12));
        let ends: Vec<Option<u64>> = (0..5).map(|_| messages.issue(STEP)).collect();
        assert_eq!(ends, [Some(3_000), Some(4_000), Some(5_000), Some(7_000), None]);
    }

    #[test]
    fn what_comes_once_more_counts_for_nobody() {
        let mut messages = Incoming::default();
        [(0, 3), (3_000, 1), (4_000, 2)].into_iter().for_each(|(from, packets)| messages.expect(from, packets, STEP));
        let mut of = |offset| messages.of(offset).map(|message| message.from);
        assert_eq!([of(2_000), of(3_000), of(5_000), of(6_000)], [Some(0), Some(3_000), Some(4_000), None]);
        assert!(messages.take(3_000).is_some());
        assert_eq!(messages.of(3_000).map(|message| message.from), None);
    }

    #[test]
    fn short_packets_that_are_still_to_be_sent_count() {
        let messages = four();
        // The first three messages lack 500, 999 and 1000 bytes to full packets.
        let shortness = |sent, available| messages.shortness(sent, available, STEP);
        assert_eq!([shortness(0, 7_000), shortness(2_000, 7_000), shortness(3_000, 7_000)], [2_499, 2_499, 1_999]);
        assert_eq!([shortness(5_000, 7_000), shortness(0, 4_000), shortness(7_000, 7_000)], [0, 1_499, 0]);
    }

    #[test]
    fn what_is_over_leaves_the_others_where_they_are() {
        let mut messages = four();
        messages.of_mut(3_000, STEP).expect("in progress").arrived = 1;
        assert_eq!(messages.complete(0, 7_000, STEP), [3_000]);
        assert_eq!(messages.take(3_000).map(|message| message.id), Some(11));
        assert_eq!(messages.of(3_000, STEP), None);
        assert_eq!(messages.take(3_000), None);
        assert_eq!(messages.of(2_999, STEP).map(|message| message.id), Some(10));
        assert_eq!(messages.complete(5_000, 7_000, STEP), [0, 4_000]);
        assert_eq!(messages.iter().map(|message| message.id).collect::<Vec<_>>(), [10, 12, 13]);
    }
}
