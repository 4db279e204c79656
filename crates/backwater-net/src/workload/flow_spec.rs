//! The description of a flow: sender, receiver, size, start and path.

use crate::model::packet::{Class, HostId, NodeId};
use crate::units::Bytes;
use backwater_engine::Time;
use std::sync::Arc;

/// One flow to be started.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Identity: result rows, ECMP hash and random tie-breaks depend on it. Unique in a run.
    pub id: u64,
    /// Index into [`crate::spec::Spec::groups`].
    pub group: u32,
    /// Sending host.
    pub src: HostId,
    /// Receiving host, not `src`.
    pub dst: HostId,
    /// \[bytes\] Payload; 0 for a stream that ends by time only.
    pub bytes: u64,
    /// When it starts.
    pub start: Time,
    /// Class of its data.
    pub class: Class,
    /// True if its packets are ECN-capable.
    pub ect: bool,
    /// Nodes from source to destination, both included, or `None` for ECMP.
    pub path: Option<Arc<[NodeId]>>,
    /// Nodes from destination to source for its acknowledgements, both included, or `None` for the path by
    /// [`crate::config::AckParams::path`].
    pub ack_path: Option<Arc<[NodeId]>>,
    /// Number of the link by which it leaves a host with several, from 0, with [`crate::config::LinkChoice::Index`].
    pub link: Option<u16>,
    /// Payload that becomes available over time instead of all at the start.
    pub stream: Option<Stream>,
}

/// The pinned paths of a flow, or its link at the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Way {
    /// See [`FlowSpec::path`].
    pub data: Option<Arc<[NodeId]>>,
    /// See [`FlowSpec::ack_path`].
    pub acks: Option<Arc<[NodeId]>>,
    /// See [`FlowSpec::link`].
    pub link: Option<u16>,
}

/// A Bernoulli source: in each slot a full packet becomes available with a probability.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Stream {
    /// Length of a slot.
    pub slot: Time,
    /// Probability of a packet per slot, 0 to 1.
    pub probability: f64,
    /// No packet becomes available at or after this time.
    pub until: Time,
    /// Packets that may wait in the source's queue, without the one on the wire; one that finds it full is never sent. `None`: any number.
    pub queue: Option<u32>,
    /// True if the slots of each source begin at its own time, drawn by the run's seed within the first slot, rather than all together.
    pub own_phase: bool,
    /// Mean number of packets that become available in consecutive slots, 1 and more: bursts, and the gaps between them, have geometrically
    /// distributed numbers of slots, and `probability` stays the mean. With 1 each slot is drawn by itself.
    pub burst: f64,
}

impl Stream {
    /// A source whose slots begin at the start of its flow and are drawn one by one, with any number of packets in its queue.
    pub fn new(slot: Time, probability: f64, until: Time) -> Self {
        Stream { slot, probability, until, queue: None, own_phase: false, burst: 1.0 }
    }

    /// \[0 to 1\] Probability that a slot begins a burst, if the slot before did not belong to one or was its last.
    ///
    /// A burst has B slots in the mean and the gap behind it G, so that a share p = B / (B + G) of slots has a packet. A gap of at least 0
    /// slots has the mean G if each slot ends it with the probability 1 / (1 + G). B = 1 gives p.
    pub(crate) fn begins(&self) -> f64 {
        let p = self.probability;
        if self.burst <= 1.0 { p } else { p / (p + self.burst * (1.0 - p)) }
    }
}

/// The division of a message over queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePairs {
    /// Queue pairs, at least 1.
    pub number: u32,
    /// Payload of a segment; segments go to the queue pairs in turn, and the message's last may be shorter. `None`: each queue pair has one
    /// segment, all of equal length.
    pub segment: Option<Bytes>,
    /// True if they outlive a message: all messages of the group from one host to another follow each other on them.
    pub kept: bool,
}

/// A queue pair's share of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// \[bytes\] Payload.
    pub bytes: u64,
    /// Segments.
    pub segments: u64,
}

impl QueuePairs {
    /// Shares of a message of so many bytes, for the queue pairs that carry any of it; an empty message is one segment.
    pub fn shares(&self, bytes: u64) -> impl Iterator<Item = Share> + use<> {
        let number = u64::from(self.number.max(1));
        let segment = self.segment.map_or(bytes.div_ceil(number), |Bytes(segment)| segment).max(1);
        let segments = bytes.div_ceil(segment).max(1);
        let last = bytes - (segments - 1) * segment;
        (0..number.min(segments)).map(move |pair| {
            let own = (segments - pair).div_ceil(number);
            let ends = if (segments - 1) % number == pair { last } else { segment };
            Share { bytes: (own - 1) * segment + ends, segments: own }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(number: u32, segment: Option<u64>, bytes: u64) -> Vec<(u64, u64)> {
        let pairs = QueuePairs { number, segment: segment.map(Bytes), kept: false };
        pairs.shares(bytes).map(|share| (share.bytes, share.segments)).collect()
    }

    #[test]
    fn segments_go_to_queue_pairs_in_turns() {
        // Segments 0 to 6, the last of 50 B: 0, 3, 6 | 1, 4 | 2, 5.
        assert_eq!(shares(3, Some(100), 650), [(250, 3), (200, 2), (200, 2)]);
        assert_eq!(shares(3, Some(100), 600), [(200, 2), (200, 2), (200, 2)]);
        assert_eq!(shares(4, Some(100), 101), [(100, 1), (1, 1)]);
        assert_eq!(shares(4, Some(100), 100), [(100, 1)]);
        assert_eq!(shares(4, Some(100), 0), [(0, 1)]);
        assert_eq!(shares(1, Some(100), 650), [(650, 7)]);
    }

    #[test]
    fn without_segments_queue_pairs_share_alike() {
        assert_eq!(shares(4, None, 1_000), [(250, 1); 4]);
        assert_eq!(shares(4, None, 10), [(3, 1), (3, 1), (3, 1), (1, 1)]);
        assert_eq!(shares(4, None, 1), [(1, 1)]);
        assert_eq!(shares(4, None, 0), [(0, 1)]);
    }

    #[test]
    fn shares_are_the_message() {
        for (number, segment, bytes) in [(7, Some(13), 10_007), (3, None, 10_007), (5, Some(20_000), 10_007)] {
            let all = shares(number, segment, bytes);
            assert_eq!(all.iter().map(|share| share.0).sum::<u64>(), bytes);
            let segments: u64 = all.iter().map(|share| share.1).sum();
            assert_eq!(segments, segment.map_or(u64::from(number), |segment| bytes.div_ceil(segment)));
        }
    }
}
