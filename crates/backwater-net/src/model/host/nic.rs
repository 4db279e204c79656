//! A host's interface, one for each of its links: the classes that have something to send, and their turns.

use super::flow::NO_FLOW;
use crate::config::{NicParams, NicTimes};
use crate::model::hooks::NicShape;
use crate::model::packet::{CLASSES, Class, Dscp};
use crate::model::port::highest;
use crate::model::port::pause::bit;
use crate::model::slab::{Fifo, Ix, Slab};
use crate::units::{Bytes, Rate};
use backwater_engine::{Time, fetch};

/// A host's interface. The fields that every frame touches come first, in three cache lines: the classes with something to send, the flows,
/// and what precedes them. The flows of a class take turns in one list, whichever of its queues they use.
#[derive(backwater_derive::State)]
#[repr(C, align(64))]
pub(crate) struct Host<N> {
    #[state(fixed)]
    pub port: u32,
    /// Classes that have flows ready to send, a bit each.
    pub ready_mask: u32,
    /// True if a class has several queues.
    #[state(fixed)]
    several: bool,
    /// Data frames in the transmit queue, per queue.
    staged: [u16; CLASSES],
    /// Its number among the interfaces of all hosts.
    #[state(fixed)]
    pub number: u32,
    pub rx: Option<Box<SlowReceiver>>,
    ready: [ReadyFlows; CLASSES],
    #[state(within)]
    pub stack: N,
    #[state(fixed)]
    pub shape: NicShape,
    /// Under weighted round robin: the class that has the turn, and how many more packets it may send.
    turn: (u8, u32),
    /// Turns of control since data last had one, counting those for which data waited too (`nic.control_turns`).
    control_had: u32,
    /// Flows with a shut gate.
    pub parked: Vec<u32>,
    /// Flows whose queue a mechanism refused while the port looked for work; they rejoin the line when it has finished.
    pub(super) passed_over: Vec<u32>,
    /// Time between the arrival of a control message and its effect.
    #[state(fixed)]
    pub control_delay: Time,
    /// Times to issue a message; messages are issued one after the other.
    #[state(fixed)]
    pub issue: Time,
    /// Until then it issues posted messages.
    issues_until: Time,
    /// Until then memory fetches the payload of the last data frame.
    pub fetches_until: Time,
    /// \[bytes\] of flows that have begun here and not ended, where this decides about links.
    pub unfinished: u64,
    /// Per class, and of the link: pause storms that have begun and not ended.
    storms: [u16; CLASSES + 1],
}

/// The ready flows of one class, in the order of their turns: a list through [`flow::SendFlow::behind`].
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct ReadyFlows {
    pub first: u32,
    pub last: u32,
}

/// A receive buffer that is emptied too slowly: one buffer for frames of all classes, and the thresholds for each class that it pauses.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct SlowReceiver {
    limits: Vec<Limit>,
    pub fifo: Fifo,
    pub bytes: u64,
    pub draining: bool,
}

/// The behaviour of a slow receiver for a class, or for its link.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct Limit {
    pub class: Option<Class>,
    /// Highest rate at which the buffer is emptied.
    pub rate: Rate,
    /// \[bytes\] in the buffer above which the class is paused.
    pub xoff: Bytes,
    /// \[bytes\] in the buffer below which it resumes.
    pub xon: Bytes,
    /// It is paused.
    pub holding: bool,
}

impl<N> Host<N> {
    pub fn new(number: u32, port: u32, shape: NicShape, stack: N, params: &NicParams) -> Host<N> {
        Host {
            port,
            ready_mask: 0,
            several: shape.queues.several(),
            staged: [0; CLASSES],
            number,
            rx: None,
            shape,
            ready: [ReadyFlows { first: NO_FLOW, last: NO_FLOW }; CLASSES],
            stack,
            turn: (0, 0),
            control_had: 0,
            parked: Vec::new(),
            passed_over: Vec::new(),
            control_delay: params.control_delay,
            issue: params.issue,
            issues_until: Time::ZERO,
            fetches_until: Time::ZERO,
            unfinished: 0,
            storms: [0; CLASSES + 1],
        }
    }

    /// Begins or ends a pause storm of these classes or the link, bits as in [`bit`]. Returns the classes for which it is the first to
    /// begin, or the last to end.
    pub fn storm(&mut self, classes: u16, begins: bool) -> u16 {
        let mut changed = 0;
        for (class, storms) in self.storms.iter_mut().enumerate().filter(|(class, _)| classes & (1 << class) != 0) {
            let before = *storms;
            *storms = if begins { before.saturating_add(1) } else { before.saturating_sub(1) };
            changed |= u16::from((before == 0) != (*storms == 0)) << class;
        }
        changed
    }

    /// Sets its own times.
    pub fn set_times(&mut self, own: &NicTimes) {
        self.control_delay = own.control_delay.unwrap_or(self.control_delay);
        self.issue = own.issue.unwrap_or(self.issue);
    }

    /// Returns when a message that is posted now is issued: after all that were posted before it.
    pub fn issue_at(&mut self, now: Time) -> Time {
        self.issues_until = self.issues_until.max(now).after(self.issue);
        self.issues_until
    }

    /// Issues so many more messages after all that were posted before.
    pub fn issue_more(&mut self, number: u64) {
        self.issues_until = self.issues_until.after(Time(self.issue.0.saturating_mul(number)));
    }

    /// Data frames in the transmit queue that may leave: frames of a paused queue must not take the place of others.
    #[inline(always)]
    pub fn staged(&self, open: u32) -> u32 {
        if open == u32::MAX {
            return self.staged.iter().map(|staged| u32::from(*staged)).sum();
        }
        let queues = self.staged.iter().enumerate();
        queues.map(|(queue, staged)| if open & (1 << queue) != 0 { u32::from(*staged) } else { 0 }).sum()
    }

    /// A data frame joins the transmit queue.
    #[inline(always)]
    pub fn stage(&mut self, queue: Class) {
        self.staged[usize::from(queue.0) % CLASSES] += 1;
    }

    /// A data frame leaves the transmit queue.
    #[inline(always)]
    pub fn unstage(&mut self, queue: Class) {
        self.staged[usize::from(queue.0) % CLASSES] -= 1;
    }

    /// The ready flows of a class.
    #[inline(always)]
    pub(super) fn ready_list(&mut self, class: usize) -> &mut ReadyFlows {
        &mut self.ready[class % CLASSES]
    }

    /// The first ready flow of a class.
    pub(super) fn first_in_line(&self, class: usize) -> u32 {
        self.ready[class % CLASSES].first
    }

    /// Returns the class that has the turn, among the classes of a mask that is not empty.
    #[cold]
    pub fn weighted_turn(&mut self, mask: u32, weights: &[u32; CLASSES]) -> usize {
        let strict = (0..CLASSES).fold(0u32, |bits, class| if weights[class] == 0 { bits | 1 << class } else { bits });
        if mask & strict != 0 {
            return highest(mask & strict);
        }
        let (class, left) = self.turn;
        if mask & (1 << class) == 0 || left == 0 {
            // The next lower class; after the lowest class, the highest.
            let below = mask & ((1 << class) - 1);
            let next = highest(if below == 0 { mask } else { below });
            self.turn = (next as u8, weights[next]);
        }
        usize::from(self.turn.0)
    }

    /// A packet of a class leaves.
    #[cold]
    pub fn took_turn(&mut self, class: usize) {
        if usize::from(self.turn.0) == class {
            self.turn.1 = self.turn.1.saturating_sub(1);
        }
    }

    /// Control and data both wait. Counts a turn, and returns whether it is that of data, after so many turns of control.
    pub fn is_turn_of_data(&mut self, control_turns: u32) -> bool {
        let data = self.control_had >= control_turns;
        self.control_had = if data { 0 } else { self.control_had + 1 };
        data
    }

    /// Prefetches the fields that every frame touches.
    #[inline(always)]
    pub fn fetch(&self) {
        fetch(&self.port);
        fetch(&self.ready[3]);
    }

    /// The flow that will probably have the next turn.
    #[inline(always)]
    pub fn next_ready(&self) -> Option<u32> {
        self.ready_mask.checked_ilog2().map(|class| self.ready[class as usize % CLASSES].first)
    }

    /// Returns whether flows in the queue of this priority are shut, where the gate of their class does not show it.
    #[inline(always)]
    pub fn is_shut(&self, queue: Class, open: u32) -> bool {
        self.several && open & (1 << queue.0) == 0
    }

    /// The code point of an acknowledgement in `class` for a packet. If the class has several queues it is the packet's, since the
    /// acknowledgement belongs to the same connection.
    #[inline(always)]
    pub fn answers(&self, class: Class, packet: Dscp) -> Dscp {
        if self.several { self.shape.queues.answers(class, packet) } else { Dscp::of(class) }
    }

    /// Classes with an open queue.
    #[inline(always)]
    pub fn classes_open(&self, open: u32) -> u32 {
        if self.several { self.shape.queues.carried(open) } else { open }
    }
}

impl SlowReceiver {
    /// Sets its behaviour for a class. Returns whether the class was paused; the next frame decides anew.
    pub fn limit(&mut self, limit: Limit) -> bool {
        match self.limits.iter_mut().find(|known| known.class == limit.class) {
            Some(known) => std::mem::replace(known, limit).holding,
            None => {
                self.limits.push(limit);
                false
            }
        }
    }

    /// Returns how long it takes to empty the buffer of so many bytes.
    pub fn time_for(&self, size: u64) -> Time {
        let slowest = self.limits.iter().map(|limit| limit.rate).min();
        slowest.map_or(Time::ZERO, |rate| rate.time_for(Bytes(size)))
    }

    /// Adds a packet. Returns the classes to be paused, a bit each.
    pub fn push(&mut self, slab: &mut Slab, pkt: Ix, size: u64) -> u16 {
        self.fifo.push(slab, pkt);
        self.bytes += size;
        let bytes = Bytes(self.bytes);
        self.turn(|limit| !limit.holding && bytes > limit.xoff)
    }

    /// Takes the next packet out, with the classes that may resume, a bit each.
    pub fn pop(&mut self, slab: &Slab) -> Option<(Ix, u16)> {
        let pkt = self.fifo.pop(slab)?;
        self.bytes -= u64::from(slab[pkt].pkt.size);
        let bytes = Bytes(self.bytes);
        let resumed = self.turn(|limit| limit.holding && (bytes < limit.xon || bytes == Bytes::ZERO));
        Some((pkt, resumed))
    }

    /// Pauses or resumes the classes for which `changes` is true.
    fn turn(&mut self, changes: impl Fn(&Limit) -> bool) -> u16 {
        let changed = self.limits.iter_mut().filter(|limit| changes(limit));
        changed.fold(0, |bits, limit| {
            limit.holding = !limit.holding;
            bits | bit(limit.class)
        })
    }
}
