//! Queue pairs that outlive a message: messages of one group from one host to another follow each other on one connection, as applications
//! use queue pairs (InfiniBand specification, volume 1, chapter 9) and UEC's PDCs. Packet numbers, window, rate, entropy values and timers
//! continue from message to message.
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
//! A packet's offset is its number times a full packet's payload, so offsets skip the bytes that a message's last packet lacks. A window
//! counts real bytes; while packets wait to be retransmitted all packets in flight count as full ones.

use crate::model::hooks::{FlowSide, NicSide};
use crate::model::host::Interface;
use crate::model::host::flow::Status;
use crate::model::node::NodeCx;
use crate::model::packet::{DataHeader, Packet};
use crate::model::transport::Answer;
use crate::model::world::RunEffect;
use backwater_engine::Time;

impl<N: NicSide, F: FlowSide> NodeCx<'_, Interface<'_, N, F>> {
    /// Answers a packet of a connection whose messages follow each other. Once its message has arrived completely, that is acknowledged at
    /// once.
    pub(crate) fn packet_of_message_arrived(
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
        let Some(messages) = recv.messages_mut() else { return answer };
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
        self.world.effects.push(RunEffect::MessageCame { slot: at as u32, from });
        match answer {
            Answer::Ack(upto) => Answer::Again(upto),
            other => other,
        }
    }

    /// Completes messages that are fully acknowledged.
    pub(crate) fn complete_messages(&mut self, at: usize) {
        let step = u64::from(self.world.rules.payload);
        let flow = self.node.sending(at);
        let Some(messages) = flow.messages() else { return };
        let complete = messages.complete(flow.acked, flow.sent.max(flow.acked), step);
        let slot = at as u32;
        self.world.effects.extend(complete.into_iter().map(|from| RunEffect::MessageDone { slot, from }));
    }

    /// Adds the next message that the interface has issued on a connection to the bytes to be sent.
    pub(crate) fn begin_message(&mut self, slot: u32) {
        let step = u64::from(self.world.rules.payload);
        let flow = self.node.sending_mut(slot as usize);
        let idle = !flow.has_more();
        let Some(messages) = flow.messages_mut() else { return };
        let Some(end) = messages.issue(step) else { return };
        let first = !std::mem::replace(&mut messages.begun, true);
        flow.available = end;
        if first {
            return self.begin(slot, Time::ZERO);
        }
        if idle && flow.status == Status::Idle {
            self.send_on(slot);
        }
        self.check_starved(slot);
    }
}
