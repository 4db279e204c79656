//! Order within flows at a port whose flows may change queues.
//!
//! If a mechanism moves flows between queues, packets of one flow can stand in two queues of a port at once. The scheduler could then serve
//! the later packet first: its queue has the higher priority, or the other one is paused. `InOrder` prevents that. It records for each flow
//! the queues in which its packets wait, in the order of arrival, as *runs*: so many in the one queue, then so many in the other. A queue
//! whose head is not of its flow's first run has to wait, like one whose gate is shut.
//!
//! # Why nothing waits forever
//!
//! Number the packets that wait at a port in the order of arrival. A head waits only for packets with smaller numbers: those of its own
//! flow's earlier runs ([`FlowOrder::Counters`]), or all that stood before it in the queue that its flow has left ([`FlowOrder::Markers`]).
//! A packet behind another one of its queue (or of its input queue at a crossbar, which is first in, first out, too) also waits for a
//! smaller number. So a chain of waits has falling numbers and cannot close. It ends at the latest at the packet with the smallest number,
//! which is the head of its queue and of its flow's first run, and waits for no packet. Only a gate can still stop it, as in a port with a
//! single queue. So if a network with one queue for each port cannot deadlock by pauses, neither can this one.
//!
//! Numbers belong to one (ingress, egress): packets of one flow that arrived by different ports took different paths, and had no order that
//! this port could keep. Behind a crossbar a packet of a later run does not cross before the run before it has left the port, so a flow
//! never has packets of two runs behind the crossing.

use crate::model::hooks::FlowOrder;
use crate::model::packet::{CLASSES, FlowRef};
use crate::model::slab::Slot;
use backwater_engine::fingerprint::mix;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// Hashes keys of a word or two, the same way in every run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixing(u64);

impl Hasher for Mixing {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0.rotate_left(29) ^ word);
    }
}

/// A map of flows.
pub type FlowMap<K, V> = HashMap<K, V, BuildHasherDefault<Mixing>>;

/// A flow by the port at which it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
struct Key {
    flow: FlowRef,
    ingress: u16,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.flow.tag) << 32 | u64::from(self.flow.slot ^ u32::from(self.ingress) << 16));
    }
}

/// Packets of a flow that came one after another into the same queue.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Run {
    queue: u8,
    packets: u32,
    /// The queue that the flow left for this one, and how many packets must have left that queue before this run may begin.
    left: u8,
    behind: u64,
}

/// The runs of one flow: nearly always one.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Runs {
    first: Run,
    later: Vec<Run>,
}

impl Runs {
    /// Returns whether one of its packets may have to wait.
    fn matter(&self) -> bool {
        !self.later.is_empty() || self.first.behind != 0
    }
}

/// Packets that came into and left each queue, of one ingress behind a crossbar or of all.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Passed {
    came: [u64; CLASSES],
    left: [u64; CLASSES],
}

/// The flows that wait at one egress port.
#[derive(Debug, backwater_derive::State)]
pub(crate) struct InOrder {
    /// Queues between which flows move, a bit each.
    #[state(fixed)]
    queues: u32,
    /// With markers: by ingress where their queues are apart, or one for all.
    ingresses: Vec<Passed>,
    #[state(sorted)]
    flows: FlowMap<Key, Runs>,
    /// Flows with runs that may have to wait.
    moved: u32,
}

impl InOrder {
    /// For flows that move between `queues`, a bit each. `ingresses`: those of a crossbar, whose queues are separate, or 1.
    pub fn new(queues: u8, order: FlowOrder, ingresses: usize) -> InOrder {
        let ingresses = if order == FlowOrder::Markers { ingresses } else { 0 };
        InOrder {
            queues: u32::from(queues),
            ingresses: vec![Passed::default(); ingresses],
            flows: FlowMap::default(),
            moved: 0,
        }
    }

    /// Returns whether flows move into or out of this queue.
    #[inline(always)]
    pub fn cares(&self, queue: usize) -> bool {
        self.queues & (1 << queue) != 0
    }

    /// Returns whether any head may have to wait.
    #[inline(always)]
    pub fn matters(&self) -> bool {
        self.moved != 0
    }

    /// Returns whether no packet waits.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    fn counted(&self, ingress: u16) -> Option<usize> {
        self.ingresses.len().checked_sub(1).map(|last| usize::from(ingress).min(last))
    }

    /// A packet joins a queue.
    pub fn join(&mut self, slot: &Slot, queue: usize) {
        if !self.cares(queue) {
            return;
        }
        let at = self.counted(slot.place.ingress.0);
        if let Some(key) = key(slot) {
            let mut run = Run { queue: queue as u8, packets: 1, left: 0, behind: 0 };
            match self.flows.get_mut(&key) {
                None => {
                    self.flows.insert(key, Runs { first: run, later: Vec::new() });
                }
                Some(runs) => {
                    let last = runs.later.last_mut().unwrap_or(&mut runs.first);
                    if last.queue == run.queue {
                        last.packets += 1;
                    } else {
                        run.left = last.queue;
                        run.behind = at.map_or(0, |at| self.ingresses[at].came[usize::from(last.queue)]);
                        self.moved += u32::from(!runs.matter());
                        runs.later.push(run);
                    }
                }
            }
        }
        if let Some(at) = at {
            self.ingresses[at].came[queue] += 1;
        }
    }

    /// A packet that may go leaves its queue.
    pub fn leave(&mut self, slot: &Slot, queue: usize) {
        if !self.cares(queue) {
            return;
        }
        if let Some(at) = self.counted(slot.place.ingress.0) {
            self.ingresses[at].left[queue] += 1;
        }
        let Some(key) = key(slot) else { return };
        let runs = self.flows.get_mut(&key).expect("a packet leaves that has come");
        debug_assert_eq!(usize::from(runs.first.queue), queue, "a later run has overtaken an earlier one");
        runs.first.packets -= 1;
        if runs.first.packets > 0 {
            return;
        }
        let mattered = runs.matter();
        if runs.later.is_empty() {
            self.flows.remove(&key);
            self.moved -= u32::from(mattered);
        } else {
            runs.first = runs.later.remove(0);
            self.moved -= u32::from(!runs.matter());
        }
    }

    /// A packet is dropped, together with all that wait for its queue.
    pub fn lose(&mut self, slot: &Slot, queue: usize) {
        if !self.cares(queue) {
            return;
        }
        if let Some(at) = self.counted(slot.place.ingress.0) {
            self.ingresses[at].left[queue] += 1;
        }
        let Some(key) = key(slot) else { return };
        let runs = self.flows.get_mut(&key).expect("a packet is dropped that has come");
        let mattered = runs.matter();
        let of_queue = |run: &&mut Run| usize::from(run.queue) == queue && run.packets > 0;
        if let Some(run) = std::iter::once(&mut runs.first).chain(&mut runs.later).find(of_queue) {
            run.packets -= 1;
        }
        self.drop_empty(key, mattered);
    }

    /// The last packet of a queue leaves it without being sent: it belongs to its flow's last run there, and no later packet waits for it.
    /// Only without queues that are separate by ingress.
    pub fn take_back(&mut self, slot: &Slot, queue: usize) {
        if !self.cares(queue) {
            return;
        }
        if let Some(at) = self.counted(slot.place.ingress.0) {
            let came = &mut self.ingresses[at].came[queue];
            *came -= 1;
            let came = *came;
            for runs in self.flows.values_mut() {
                let mattered = runs.matter();
                let behind = |run: &&mut Run| usize::from(run.left) == queue && run.behind > came;
                std::iter::once(&mut runs.first)
                    .chain(&mut runs.later)
                    .filter(behind)
                    .for_each(|run| run.behind = came);
                self.moved -= u32::from(mattered && !runs.matter());
            }
        }
        let Some(key) = key(slot) else { return };
        let runs = self.flows.get_mut(&key).expect("a packet is taken back that has come");
        let mattered = runs.matter();
        let of_queue = |run: &&mut Run| usize::from(run.queue) == queue && run.packets > 0;
        if let Some(run) = runs.later.iter_mut().rev().chain(std::iter::once(&mut runs.first)).find(of_queue) {
            run.packets -= 1;
        }
        self.drop_empty(key, mattered);
    }

    /// A flow's runs may have become empty.
    fn drop_empty(&mut self, key: Key, mattered: bool) {
        let Some(runs) = self.flows.get_mut(&key) else { return };
        runs.later.retain(|run| run.packets > 0);
        if runs.first.packets == 0 {
            if runs.later.is_empty() {
                self.flows.remove(&key);
                self.moved -= u32::from(mattered);
                return;
            }
            runs.first = runs.later.remove(0);
        }
        self.moved -= u32::from(mattered && !runs.matter());
    }

    /// Returns whether the head of a queue may go before everything else of its flow.
    pub fn may_go(&self, slot: &Slot, queue: usize) -> bool {
        self.moved == 0 || !self.cares(queue) || self.waits_for(slot, queue).is_none()
    }

    /// The queue whose packets the head of `queue` has to wait for.
    pub fn waits_for(&self, slot: &Slot, queue: usize) -> Option<u8> {
        let first = &key(slot).and_then(|key| self.flows.get(&key))?.first;
        if usize::from(first.queue) != queue {
            return Some(first.queue);
        }
        let at = self.counted(slot.place.ingress.0)?;
        (self.ingresses[at].left[usize::from(first.left)] < first.behind).then_some(first.left)
    }
}

/// The flow of a packet. Control frames of mechanisms name a flow without belonging to it, and are never moved.
fn key(slot: &Slot) -> Option<Key> {
    slot.pkt.is_of_flow().then_some(Key { flow: slot.pkt.flow, ingress: slot.place.ingress.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::data;
    use crate::model::packet::{Class, HostId};
    use crate::model::slab::{Ix, Slab};

    /// A port with queues 2 and 3 of a switch without a crossbar.
    struct Stand {
        slab: Slab,
        in_order: InOrder,
    }

    impl Stand {
        fn new(order: FlowOrder) -> Stand {
            Stand { slab: Slab::default(), in_order: InOrder::new(0b1100, order, 1) }
        }
        fn join(&mut self, flow: u32, queue: usize) -> Ix {
            let ix = self.slab.insert(data(HostId(0), HostId(1), flow, Class(3), 1000));
            self.in_order.join(&self.slab[ix], queue);
            ix
        }
        fn may_go(&self, ix: Ix, queue: usize) -> bool {
            self.in_order.may_go(&self.slab[ix], queue)
        }
        fn leave(&mut self, ix: Ix, queue: usize) {
            assert!(self.may_go(ix, queue));
            self.in_order.leave(&self.slab[ix], queue);
        }
    }

    /// One flow uses queue 3, then 2, then 3 again: each run waits for the one before it, and nothing else waits.
    #[test]
    fn runs_go_one_after_another() {
        let mut stand = Stand::new(FlowOrder::Counters);
        let (a, b) = (stand.join(1, 3), stand.join(1, 3));
        assert!(!stand.in_order.matters());
        let (other, c, d) = (stand.join(2, 3), stand.join(1, 2), stand.join(1, 3));
        assert!(stand.in_order.matters());
        assert!(stand.may_go(a, 3) && stand.may_go(other, 3) && !stand.may_go(c, 2));
        stand.leave(a, 3);
        assert!(!stand.may_go(c, 2));
        stand.leave(b, 3);
        // The other flow's packet in queue 3 does not concern this one.
        assert!(stand.may_go(c, 2) && !stand.may_go(d, 3));
        stand.leave(c, 2);
        assert!(!stand.in_order.matters());
        stand.leave(d, 3);
        stand.leave(other, 3);
        assert!(stand.in_order.is_empty());
    }

    /// With markers the whole old queue goes first, including other flows' packets; later ones do not.
    #[test]
    fn a_marker_lets_everything_before_it_go_first() {
        let mut stand = Stand::new(FlowOrder::Markers);
        let (a, other) = (stand.join(1, 3), stand.join(2, 3));
        let (moved, later) = (stand.join(1, 2), stand.join(3, 3));
        stand.leave(a, 3);
        assert!(!stand.may_go(moved, 2));
        stand.leave(other, 3);
        assert!(stand.may_go(moved, 2));
        stand.leave(moved, 2);
        stand.leave(later, 3);
        assert!(stand.in_order.is_empty() && !stand.in_order.matters());
    }

    /// Queue 3 is emptied: packets that waited for its frames may go, and later arrivals wait as before.
    #[test]
    fn nothing_waits_for_what_is_dropped() {
        for order in [FlowOrder::Counters, FlowOrder::Markers] {
            let mut stand = Stand::new(order);
            let (first, moved, back) = (stand.join(1, 3), stand.join(1, 2), stand.join(1, 3));
            let other = stand.join(2, 3);
            assert!(!stand.may_go(moved, 2));
            for ix in [first, back, other] {
                stand.in_order.lose(&stand.slab[ix], 3);
            }
            assert!(stand.may_go(moved, 2));
            let again = stand.join(1, 3);
            assert!(!stand.may_go(again, 3), "{order:?}");
            stand.leave(moved, 2);
            stand.leave(again, 3);
            assert!(stand.in_order.is_empty() && !stand.in_order.matters());
        }
    }

    /// Flow 1 is in queue 3, in queue 2 and in queue 3 again. The last of these leaves: the others wait as before, and a new arrival waits
    /// in its place.
    #[test]
    fn the_last_of_a_queue_leaves_without_being_sent() {
        for order in [FlowOrder::Counters, FlowOrder::Markers] {
            let mut stand = Stand::new(order);
            let (first, moved, back) = (stand.join(1, 3), stand.join(1, 2), stand.join(1, 3));
            stand.in_order.take_back(&stand.slab[back], 3);
            assert!(stand.may_go(first, 3) && !stand.may_go(moved, 2), "{order:?}");
            let again = stand.join(1, 3);
            stand.leave(first, 3);
            assert!(!stand.may_go(again, 3), "{order:?}");
            stand.leave(moved, 2);
            stand.leave(again, 3);
            assert!(stand.in_order.is_empty() && !stand.in_order.matters(), "{order:?}");
        }
    }

    /// A marker stands behind the last packet of a queue, which leaves. Packets behind the marker wait for all that were before that
    /// packet, and for none that come later.
    #[test]
    fn a_marker_does_not_wait_for_what_has_left() {
        let mut stand = Stand::new(FlowOrder::Markers);
        let (a, other) = (stand.join(1, 3), stand.join(2, 3));
        let last = stand.join(3, 3);
        let moved = stand.join(1, 2);
        stand.in_order.take_back(&stand.slab[last], 3);
        let later = stand.join(3, 3);
        stand.leave(a, 3);
        assert!(!stand.may_go(moved, 2));
        stand.leave(other, 3);
        assert!(stand.may_go(moved, 2));
        stand.leave(moved, 2);
        stand.leave(later, 3);
        assert!(stand.in_order.is_empty() && !stand.in_order.matters());
        // A flow alone has nothing left to wait for.
        let (only, moved) = (stand.join(1, 3), stand.join(1, 2));
        stand.in_order.take_back(&stand.slab[only], 3);
        assert!(stand.may_go(moved, 2));
        stand.leave(moved, 2);
        assert!(stand.in_order.is_empty() && !stand.in_order.matters());
    }

    /// Two flows that have crossed over: by counts alone each head would wait for the other forever.
    #[test]
    fn flows_that_cross_over_do_not_wait_for_each_other() {
        let mut stand = Stand::new(FlowOrder::Counters);
        let first = [stand.join(1, 3), stand.join(2, 2)];
        let second = [stand.join(1, 2), stand.join(2, 3)];
        stand.leave(first[0], 3);
        stand.leave(first[1], 2);
        stand.leave(second[0], 2);
        stand.leave(second[1], 3);
        assert!(stand.in_order.is_empty());
    }
}
