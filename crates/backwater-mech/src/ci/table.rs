//! The CI stream table of one egress port (49.4.1.5), and the end of its entries.

use super::FlowId;
use super::config::Params;
use backwater_engine::Time;
use backwater_net::FlowMap;
use backwater_net::packet::{CLASSES, Queue};
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};

/// A flow as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
struct Key(FlowId);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (flow, back) = self.0;
        state.write_u64(u64::from(flow.tag) << 32 | u64::from(flow.slot << 1 | u32::from(back)));
    }
}

/// One congesting flow.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Stream {
    queue: Queue,
    /// local-create: the period of congestion of the queue in which it was found; 0: not here
    local: u32,
    /// the packet by which it was found
    found_by: u64,
    /// the period of congestion in which its packets arrived in the priority of the congesting queue; 0: they did not
    followed: u32,
    /// cim-create: when the last CIM came
    refreshed: Option<Time>,
    cim_count: u16,
    /// when the last CIM was sent
    last_cim: Option<Time>,
}

impl Stream {
    /// Returns whether this port has found it itself.
    pub fn is_local(&self) -> bool {
        self.local != 0
    }

    /// Returns whether this port isolates it, by its own finding or by a CIM.
    pub fn is_created(&self) -> bool {
        self.local != 0 || self.refreshed.is_some()
    }

    /// Returns whether one more CIM may be sent.
    pub fn may_send_cim(&self, now: Time, params: &Params) -> bool {
        // 802.1Q 49.4.1.2.7: max-cim-tx.
        self.cim_count < params.max_cim_tx && self.last_cim.is_none_or(|last| now.since(last) >= params.cim_interval)
    }

    /// Counts a sent CIM. Returns its number.
    pub fn count_cim(&mut self, now: Time) -> u64 {
        (self.cim_count, self.last_cim) = (self.cim_count + 1, Some(now));
        u64::from(self.cim_count)
    }
}

/// The state of a congesting queue that matters for ageing.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Congesting {
    /// It holds packets.
    congested: bool,
    /// Number of the period of congestion, from 1; entries found in an earlier one have ended.
    period: u32,
    /// When it was last empty.
    relieved: Time,
    /// The earliest end of all entries made by CIMs.
    due: Time,
}

/// The stream table of one egress port.
#[derive(backwater_derive::State)]
pub(super) struct Streams {
    #[state(sorted)]
    entries: FlowMap<Key, Stream>,
    queues: [Congesting; CLASSES],
    #[state(fixed)]
    life: Time,
    /// Number of entries at which ended ones are searched for.
    sweep_at: usize,
}

impl Congesting {
    /// Returns whether an entry still stands, after clearing the bits of its create mask that have ended.
    fn review(&self, stream: &mut Stream, life: Time, now: Time) -> bool {
        if stream.local != self.period {
            stream.local = 0;
        }
        if stream.followed != self.period {
            stream.followed = 0;
        }
        // 802.1Q 49.4.1.1.3: ci-max-flow-life, from the later of the last CIM and the end of congestion.
        let end = |refreshed: Time| refreshed.max(self.relieved).after(life);
        if stream.refreshed.is_some_and(|refreshed| !self.congested && end(refreshed) <= now) {
            stream.refreshed = None;
        }
        stream.is_created() || stream.followed != 0
    }
}

/// Number of entries before the first search for ended ones.
const FEW: usize = 64;

impl Streams {
    /// An empty table, in which entries of CIMs outlast the congestion for `life`.
    pub fn new(life: Time) -> Streams {
        let queue = Congesting { congested: false, period: 1, relieved: Time::ZERO, due: Time::NEVER };
        Streams { entries: FlowMap::default(), queues: [queue; CLASSES], life, sweep_at: FEW }
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries that take memory.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.entries.len()
    }

    /// Entries that stand.
    pub fn live(&self, now: Time) -> u64 {
        let stands = |stream: &&Stream| {
            let mut stream = **stream;
            self.queues[usize::from(stream.queue.0)].review(&mut stream, self.life, now)
        };
        self.entries.values().filter(stands).count() as u64
    }

    /// The entry of a flow, if it stands.
    pub fn find(&mut self, flow: FlowId, now: Time) -> Option<&mut Stream> {
        let Entry::Occupied(mut entry) = self.entries.entry(Key(flow)) else { return None };
        let stream = entry.get_mut();
        if self.queues[usize::from(stream.queue.0)].review(stream, self.life, now) {
            return Some(entry.into_mut());
        }
        entry.remove();
        None
    }

    /// The port has found the flow to be congesting, by this packet.
    pub fn local_create(&mut self, flow: FlowId, queue: Queue, uid: u64, now: Time) {
        let period = self.queues[usize::from(queue.0)].period;
        let stream = self.entry(flow, queue, now);
        (stream.local, stream.found_by) = (period, uid);
    }

    /// A packet of the flow has joined a monitored queue. If it is the packet by which the flow was found, and the congesting queue is
    /// empty, the entry ends: there is no congestion whose end could end it.
    pub fn stayed(&mut self, flow: FlowId, uid: u64) {
        let Some(stream) = self.entries.get_mut(&Key(flow)) else { return };
        if stream.is_local() && stream.found_by == uid && !self.queues[usize::from(stream.queue.0)].congested {
            stream.local = 0;
        }
    }

    /// Its packets arrive in the priority of the congesting queue. They stay there until that is empty, even if the neighbour has released
    /// the flow: otherwise later ones would be at the monitored queue's head and wait for these.
    pub fn follow(&mut self, flow: FlowId, queue: Queue, now: Time) {
        let period = self.queues[usize::from(queue.0)].period;
        self.entry(flow, queue, now).followed = period;
    }

    /// A CIM creates or refreshes the entry.
    pub fn cim_create(&mut self, flow: FlowId, queue: Queue, now: Time) {
        let cq = &mut self.queues[usize::from(queue.0)];
        cq.due = cq.due.min(now.after(self.life));
        self.entry(flow, queue, now).refreshed = Some(now);
    }

    fn entry(&mut self, flow: FlowId, queue: Queue, now: Time) -> &mut Stream {
        if self.find(flow, now).is_none() {
            if self.entries.len() >= self.sweep_at {
                self.sweep(now);
                self.sweep_at = FEW.max(2 * self.entries.len());
            }
            let stream =
                Stream { queue, local: 0, found_by: 0, followed: 0, refreshed: None, cim_count: 0, last_cim: None };
            self.entries.insert(Key(flow), stream);
        }
        self.entries.get_mut(&Key(flow)).expect("it was there, or has just been made")
    }

    fn sweep(&mut self, now: Time) {
        let (queues, life) = (&self.queues, self.life);
        self.entries.retain(|_, stream| queues[usize::from(stream.queue.0)].review(stream, life, now));
    }

    /// A packet has joined a congesting queue. One that was empty turns congested: entries that had ended by then stay ended.
    #[inline(always)]
    pub fn congested(&mut self, queue: Queue, now: Time) {
        if !self.queues[usize::from(queue.0) % CLASSES].congested {
            self.turn_congested(queue, now);
        }
    }

    fn turn_congested(&mut self, queue: Queue, now: Time) {
        if self.queues[usize::from(queue.0)].due <= now {
            self.sweep(now);
            // The remaining entries end after the congestion that begins now.
            let left = self.entries.values().any(|stream| stream.queue == queue && stream.refreshed.is_some());
            self.queues[usize::from(queue.0)].due = if left { now.after(self.life) } else { Time::NEVER };
        }
        self.queues[usize::from(queue.0)].congested = true;
    }

    /// A congesting queue is empty: it turns non-congested.
    pub fn relieved(&mut self, queue: Queue, now: Time) {
        let cq = &mut self.queues[usize::from(queue.0)];
        cq.congested = false;
        cq.relieved = now;
        // Local entries were found in a period that has ended.
        cq.period = cq.period.wrapping_add(1).max(1);
    }
}
