//! Queue pairs that outlive a message: messages of one group from one host to another follow each other on one connection, as applications
//! use queue pairs (InfiniBand specification, volume 1, chapter 9) and UEC's PDCs. Packet numbers, window, rate, entropy values and timers
//! go on from message to message.
//!
//! ```text
//! posted        behind all messages that were posted before it
//! numbers       a message has packets of its own, all full but its last one; the next message begins with the next packet number
//! last byte     all its packets have come
//! complete      go-back-n, selective repeat: everything up to its end is acknowledged, so messages complete in their order
//!               reliable unordered delivery: all its packets are acknowledged, whatever is missing of others
//! failed        with all others that are not complete; the next message begins a new connection
//! ```
//!
//! A packet's offset is its number times a full packet's payload, so offsets pass over what a message's last packet is short of. Where a
//! window counts payload, that packet counts as a full one.

use super::flow::NO_MESSAGE;
use crate::hooks::{FlowSide, NicSide};
use crate::host::Interface;
use crate::host::recovery::Receiver;
use crate::host::transport::Answer;
use crate::node::At;
use crate::packet::{Body, DataHeader, Packet};
use crate::world::Outcome;
use backwater_engine::Time;
use std::collections::VecDeque;

/// A message that is under way, as its sender has it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Sending {
    pub id: u64,
    pub start: Time,
    pub ideal: Option<Time>,
    /// \[bytes\]
    pub bytes: u64,
    /// Offset of its first packet.
    pub from: u64,
    /// Its packets, and of these those that are acknowledged one by one.
    pub packets: u64,
    pub arrived: u64,
    /// Packets sent, those that were sent again among them, and how many times its packets had to wait for a timeout.
    pub sent: u64,
    pub retransmitted: u64,
    pub timeouts: u32,
    /// As in [`super::flow::SendFlow`].
    pub message: u32,
    pub pair: u32,
}

impl Sending {
    /// A message of so many bytes that is posted now, in packets of `step` bytes. Its place is yet to be given.
    pub fn new(id: u64, start: Time, bytes: u64, step: u64) -> Sending {
        Sending {
            id,
            start,
            ideal: None,
            bytes,
            from: 0,
            packets: bytes.div_ceil(step).max(1),
            arrived: 0,
            sent: 0,
            retransmitted: 0,
            timeouts: 0,
            message: NO_MESSAGE,
            pair: 0,
        }
    }

    fn end(&self, step: u64) -> u64 {
        self.from + self.packets * step
    }
}

/// The messages of a connection that are under way, as its sender has them.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Outgoing {
    /// By their offsets.
    list: VecDeque<Sending>,
    /// Of these, the last so many are still to be issued by the interface.
    posted: usize,
    /// Offset of the next message.
    end: u64,
    /// The first has begun.
    pub begun: bool,
    /// When the last that was posted is issued.
    pub due: Time,
}

impl Outgoing {
    /// A message is posted. Returns the offset of its first packet, which names it.
    pub fn post(&mut self, message: Sending, step: u64) -> u64 {
        let from = self.end;
        self.list.push_back(Sending { from, ..message });
        (self.end, self.posted) = (from + self.list.back().map_or(0, |last| last.packets * step), self.posted + 1);
        from
    }

    /// The first message that is still to be issued, if any.
    pub fn next_posted(&self) -> Option<&Sending> {
        self.list.get(self.list.len() - self.posted)
    }

    /// It is issued. Returns up to which offset there are packets to be sent.
    pub fn issue(&mut self, step: u64) -> Option<u64> {
        let end = self.next_posted()?.end(step);
        self.posted -= 1;
        Some(end)
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All that are under way, by their offsets.
    pub fn iter(&self) -> impl Iterator<Item = &Sending> {
        self.list.iter()
    }

    fn place(&self, offset: u64) -> Option<usize> {
        self.list.partition_point(|message| message.from <= offset).checked_sub(1)
    }

    /// The message of a packet, unless that is complete.
    pub fn of(&self, offset: u64, step: u64) -> Option<&Sending> {
        self.list.get(self.place(offset)?).filter(|message| offset < message.end(step))
    }

    /// The same, to be changed.
    pub fn of_mut(&mut self, offset: u64, step: u64) -> Option<&mut Sending> {
        let place = self.place(offset)?;
        self.list.get_mut(place).filter(|message| offset < message.end(step))
    }

    /// \[bytes\] of payload of the packet at an offset
    pub fn payload_at(&self, offset: u64, step: u64) -> u64 {
        self.of(offset, step)
            .map_or(step, |message| (message.bytes - (offset - message.from).min(message.bytes)).min(step))
    }

    /// \[bytes\] by which packets from `sent` to `available` are shorter than full ones
    pub fn shortness(&self, sent: u64, available: u64, step: u64) -> u64 {
        let there = self.list.iter().rev().skip_while(|message| message.from >= available);
        let unsent = there.take_while(|message| message.end(step) > sent);
        unsent.map(|message| message.packets * step - message.bytes).sum()
    }

    /// A message is over.
    pub fn take(&mut self, from: u64) -> Option<Sending> {
        let at = self.list.binary_search_by_key(&from, |message| message.from).ok()?;
        self.list.remove(at)
    }

    /// The offsets of messages of which all packets are acknowledged: one by one, or all up to `acked`.
    pub fn complete(&self, acked: u64, step: u64) -> Vec<u64> {
        let is_complete = |message: &&Sending| message.arrived >= message.packets || message.end(step) <= acked;
        self.list.iter().filter(is_complete).map(|message| message.from).collect()
    }
}

/// A message that is under way, as its receiver has it.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Coming {
    pub from: u64,
    /// \[bytes\]
    pub received: u64,
    /// Packets still to come.
    pub missing: u64,
    pub last_byte: Time,
    pub reordered: u64,
    pub marked: u64,
}

/// The messages of a connection that are under way, as its receiver has them.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Incoming {
    /// By their offsets.
    list: VecDeque<Coming>,
    /// Of the connection's counts, how much belongs to messages that had their packets before.
    reordered: u32,
    marked: u32,
}

impl Incoming {
    /// A message of so many packets is to come.
    pub fn expect(&mut self, from: u64, packets: u64) {
        self.list.push_back(Coming {
            from,
            received: 0,
            missing: packets,
            last_byte: Time::NEVER,
            reordered: 0,
            marked: 0,
        });
    }

    fn of(&mut self, offset: u64) -> Option<&mut Coming> {
        let place = self.list.partition_point(|message| message.from <= offset).checked_sub(1)?;
        self.list.get_mut(place)
    }

    /// What has come of a message.
    pub fn look(&self, from: u64) -> Option<&Coming> {
        let at = self.list.binary_search_by_key(&from, |message| message.from).ok()?;
        self.list.get(at)
    }

    /// A message is over.
    pub fn take(&mut self, from: u64) -> Option<Coming> {
        let at = self.list.binary_search_by_key(&from, |message| message.from).ok()?;
        self.list.remove(at)
    }
}

impl Receiver {
    /// The offset behind a packet: of a connection whose messages follow each other that of the next packet.
    pub fn end_of(&self, data: DataHeader, step: u64) -> u64 {
        if self.messages.is_some() { data.offset + step } else { data.end() }
    }

    /// What changes with each packet that is taken and had not come before.
    pub fn taken(&self) -> (u64, usize) {
        (self.expected, self.beyond.len())
    }
}

impl<N: NicSide, F: FlowSide> At<'_, Interface<'_, N, F>> {
    /// A packet has come to a connection whose messages follow each other, which is answered so. Once all of its message has come that is
    /// acknowledged at once.
    pub(crate) fn note_come(
        &mut self,
        at: usize,
        pkt: &Packet,
        data: DataHeader,
        news: bool,
        answer: Answer,
    ) -> Answer {
        let now = self.world.now;
        let recv = self.node.receiving_mut(at);
        let (reordered, marked) = (recv.reordered, recv.marked);
        let Some(messages) = recv.recovery.as_mut().and_then(|receiver| receiver.messages.as_mut()) else {
            return answer;
        };
        let more_reordered = reordered - std::mem::replace(&mut messages.reordered, reordered);
        let more_marked = marked - std::mem::replace(&mut messages.marked, marked);
        debug_assert_eq!(more_marked, u32::from(pkt.is_marked()), "a packet is counted when it comes");
        let Some(message) = messages.of(data.offset) else { return answer };
        message.reordered += u64::from(more_reordered);
        message.marked += u64::from(more_marked);
        if !news || message.missing == 0 {
            return answer;
        }
        message.received += u64::from(data.payload);
        message.missing -= 1;
        if message.missing > 0 {
            return answer;
        }
        message.last_byte = now;
        let from = message.from;
        self.world.outcomes.push(Outcome::MessageCame { slot: at as u32, from });
        match answer {
            Answer::Ack(upto) => Answer::Again(upto),
            other => other,
        }
    }

    /// The last packet of a message that shares its connection is as short as the message wants it.
    pub(crate) fn cut_to_message(&mut self, slot: u32, pkt: &mut Packet) {
        let step = u64::from(self.world.rules.payload);
        let flow = self.node.sending(slot as usize);
        let Some(messages) = flow.recovery.as_ref().and_then(|sender| sender.messages.as_ref()) else { return };
        let Body::Data(data) = &mut pkt.body else { return };
        let payload = messages.payload_at(data.offset, step) as u32;
        pkt.size -= data.payload - payload;
        data.payload = payload;
    }

    /// Messages of which all is acknowledged are complete.
    pub(crate) fn complete_messages(&mut self, at: usize) {
        let step = u64::from(self.world.rules.payload);
        let flow = self.node.sending(at);
        let Some(messages) = flow.recovery.as_ref().and_then(|sender| sender.messages.as_ref()) else { return };
        let complete = messages.complete(flow.acked, step);
        let slot = at as u32;
        self.world.outcomes.extend(complete.into_iter().map(|from| Outcome::MessageDone { slot, from }));
    }

    /// The next message that the interface has issued on a connection joins what there is to send.
    pub(crate) fn begin_message(&mut self, slot: u32) {
        let step = u64::from(self.world.rules.payload);
        let flow = self.node.sending_mut(slot as usize);
        let Some(messages) = flow.recovery.as_mut().and_then(|sender| sender.messages.as_mut()) else { return };
        let Some(end) = messages.issue(step) else { return };
        let first = !std::mem::replace(&mut messages.begun, true);
        let idle = !flow.has_more();
        flow.available = end;
        if first {
            return self.begin(slot, Time::ZERO);
        }
        if idle && flow.status == super::flow::Status::Idle {
            self.send_on(slot);
        }
        self.ask_where_starved(slot);
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
            .map(|(bytes, id)| messages.post(Sending::new(id, Time::ZERO, bytes, STEP), STEP))
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
    fn short_packets_that_are_still_to_be_sent_count() {
        let messages = four();
        // Of the first three messages 500, 999 and 1000 bytes are missing to full packets.
        let shortness = |sent, available| messages.shortness(sent, available, STEP);
        assert_eq!([shortness(0, 7_000), shortness(2_000, 7_000), shortness(3_000, 7_000)], [2_499, 2_499, 1_999]);
        assert_eq!([shortness(5_000, 7_000), shortness(0, 4_000), shortness(7_000, 7_000)], [0, 1_499, 0]);
    }

    #[test]
    fn what_is_over_leaves_the_others_where_they_are() {
        let mut messages = four();
        messages.of_mut(3_000, STEP).expect("under way").arrived = 1;
        assert_eq!(messages.complete(0, STEP), [3_000]);
        assert_eq!(messages.take(3_000).map(|message| message.id), Some(11));
        assert_eq!(messages.of(3_000, STEP), None);
        assert_eq!(messages.take(3_000), None);
        assert_eq!(messages.of(2_999, STEP).map(|message| message.id), Some(10));
        assert_eq!(messages.complete(5_000, STEP), [0, 4_000]);
        assert_eq!(messages.iter().map(|message| message.id).collect::<Vec<_>>(), [10, 12, 13]);
    }
}
