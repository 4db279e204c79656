//! Held lanes: frames that a mechanism keeps from joining their egress queue.
//!
//! Whether a frame is to wait is asked when it would join its queue, the switch's latency having passed: what is still in the
//! fabric when a lane is shut meets it like what arrives later, and no frame of the lane's flow can pass another. A lane is
//! first-in first-out for each (egress, queue) to which its frames go, and its frames stay in the ingress account and in the
//! memory that they were charged to, so that PFC sees them.
//!
//! An open lane is served like a second queue of equal weight. The open lanes of one egress queue feed it in turn, frame by frame,
//! with as many bytes as others have in that queue, and one frame where it has none: what is let go neither bursts into the queue
//! before others' frames, nor starves behind them. While it holds a frame, what comes for it goes behind that.

use super::Switch;
use super::held::Depth;
use crate::hooks::{Lane, SwitchSide};
use crate::node::At;
use crate::packet::{Port, Queue};
use crate::slab::{Fifo, Ix, Slab};
use std::collections::{BTreeMap, VecDeque};

/// The lanes of one switch.
#[derive(Default)]
pub(crate) struct Lanes {
    /// By the egress queue for which they wait.
    groups: BTreeMap<(Port, Queue), Group>,
    pub depth: Depth,
    /// Number of the next frame that comes to wait.
    next: u64,
}

/// The lanes of one egress queue.
#[derive(Default)]
struct Group {
    /// None is empty.
    lanes: Vec<Waiting>,
    /// Which is served next.
    turn: usize,
    /// Frames from lanes that are in the queue now.
    fed: Vec<Ix>,
    /// \[bytes\] of them
    fed_bytes: u64,
    /// A frame of theirs is joining the queue, which may make room at once: one at a time.
    serving: bool,
}

struct Waiting {
    lane: Lane,
    open: bool,
    fifo: Fifo,
    /// When each of these came: their numbers.
    numbers: VecDeque<u64>,
}

impl Group {
    /// A frame comes to wait; `open` is the lane's state, if it has none here yet.
    fn push(&mut self, slab: &mut Slab, lane: Lane, open: bool, pkt: Ix, number: u64) {
        let at = self.lanes.iter().position(|waiting| waiting.lane == lane).unwrap_or_else(|| {
            self.lanes.push(Waiting { lane, open, fifo: Fifo::default(), numbers: VecDeque::new() });
            self.lanes.len() - 1
        });
        self.lanes[at].fifo.push(slab, pkt);
        self.lanes[at].numbers.push_back(number);
    }

    /// The frame that joins the queue now, if one may; `queued` bytes are in the queue.
    fn next(&mut self, slab: &Slab, queued: u64) -> Option<(Lane, Ix)> {
        if self.fed_bytes != 0 && 2 * self.fed_bytes >= queued {
            return None;
        }
        let lanes = self.lanes.len();
        let at = (0..lanes).map(|i| (self.turn + i) % lanes).find(|at| self.lanes[*at].open)?;
        let waiting = &mut self.lanes[at];
        let (lane, pkt) = (waiting.lane, waiting.fifo.pop(slab)?);
        waiting.numbers.pop_front();
        self.turn = at + 1;
        if waiting.fifo.is_empty() {
            self.lanes.remove(at);
            self.turn = at;
        }
        self.fed.push(pkt);
        Some((lane, pkt))
    }
}

impl Lanes {
    /// A frame comes to wait for an egress queue. A lane that is open has what waits for other queues under way still: nobody will
    /// open it again for this one.
    fn push(&mut self, slab: &mut Slab, to: (Port, Queue), lane: Lane, pkt: Ix) {
        let mut everywhere = self.groups.values().flat_map(|group| &group.lanes);
        let open = everywhere.any(|waiting| waiting.lane == lane && waiting.open);
        self.next += 1;
        self.groups.entry(to).or_default().push(slab, lane, open, pkt, self.next);
    }
}

impl<S: SwitchSide> At<'_, &mut Switch<S>> {
    /// A frame that would join its egress queue waits in a lane.
    #[cold]
    #[inline(never)]
    pub(crate) fn park(&mut self, lane: Lane, pkt: Ix) {
        let (place, size) = (self.world.slab[pkt].place, self.world.slab[pkt].admitted());
        self.lane_waits(lane.owner, pkt);
        let s = &mut *self.node;
        s.occupancy.hold(&place, lane, size);
        let lanes = s.lanes.get_or_insert_default();
        lanes.depth.frame();
        lanes.depth.change(self.world.now, s.occupancy.held_total().0);
        lanes.push(&mut self.world.slab, (place.egress, place.queue), lane, pkt);
        self.serve_lanes(place.egress, place.queue);
        self.act_switch();
    }

    /// A mechanism shuts or opens one of its lanes. One that holds nothing has no state: it is shut when a frame comes to wait in it.
    #[cold]
    pub(crate) fn set_lane(&mut self, lane: Lane, shut: bool) {
        let Some(lanes) = &mut self.node.lanes else { return };
        let mut changed = Vec::new();
        for (at, group) in &mut lanes.groups {
            for waiting in group.lanes.iter_mut().filter(|waiting| waiting.lane == lane) {
                waiting.open = !shut;
                changed.push((waiting.numbers.front().copied(), *at));
            }
        }
        if shut {
            return;
        }
        // A mechanism that lets go one frame at a time means the lane's first, whatever uplink that takes.
        changed.sort();
        for (_, (port, queue)) in changed {
            self.serve_lanes(port, queue);
        }
    }

    /// A frame has left an egress queue: a lane may have its place.
    #[cold]
    #[inline(never)]
    pub(crate) fn left_queue(&mut self, pkt: Ix) {
        let (at, size) = (self.world.slab[pkt].place, self.world.slab[pkt].queued);
        let Some(lanes) = &mut self.node.lanes else { return };
        let Some(group) = lanes.groups.get_mut(&(at.egress, at.queue)) else { return };
        if let Some(fed) = group.fed.iter().position(|fed| *fed == pkt) {
            group.fed.remove(fed);
            group.fed_bytes -= u64::from(size);
        }
        self.serve_lanes(at.egress, at.queue);
    }

    fn serve_lanes(&mut self, port: Port, queue: Queue) {
        loop {
            let s = &mut *self.node;
            let Some(lanes) = &mut s.lanes else { return };
            let Some(group) = lanes.groups.get_mut(&(port, queue)).filter(|group| !group.serving) else { return };
            let Some((lane, pkt)) = group.next(&self.world.slab, s.occupancy.egress(port, queue).0) else {
                if group.lanes.is_empty() && group.fed.is_empty() {
                    lanes.groups.remove(&(port, queue));
                }
                return;
            };
            // Where a frame leaves its queue's count when it starts it does so in joining, before the mechanism's acts are carried out.
            group.serving = true;
            let slot = &self.world.slab[pkt];
            group.fed_bytes += u64::from(slot.pkt.size);
            s.occupancy.let_go(&slot.place, lane, slot.admitted());
            lanes.depth.change(self.world.now, s.occupancy.held_total().0);
            self.join_late(pkt);
            let lanes = self.node.lanes.as_mut();
            if let Some(group) = lanes.and_then(|lanes| lanes.groups.get_mut(&(port, queue))) {
                group.serving = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::data;
    use crate::hooks::Owner;
    use crate::packet::{Class, HostId};

    fn lane(number: u32) -> Lane {
        Lane { owner: Owner(0), number }
    }

    /// Two frames in lane 1 and one in lane 2; others have 2500 B in the queue.
    #[test]
    fn open_lanes_feed_in_turn_as_much_as_others_have() {
        let (mut slab, mut group) = (Slab::default(), Group::default());
        let mut frame = |flow| slab.insert(data(HostId(0), HostId(1), flow, Class(3), 936));
        let [a, b, c] = [0, 1, 2].map(&mut frame);
        for (number, pkt) in [(1, a), (1, b), (2, c)] {
            group.push(&mut slab, lane(number), false, pkt, 0);
        }
        assert_eq!(group.next(&slab, 2_500), None, "shut");
        group.lanes.iter_mut().for_each(|waiting| waiting.open = true);
        let mut next = |queued: u64| {
            let fed = group.next(&slab, queued);
            group.fed_bytes += if fed.is_some() { 1_000 } else { 0 };
            fed
        };
        assert_eq!(next(2_500), Some((lane(1), a)), "an egress queue without a frame from lanes takes one");
        assert_eq!(next(3_500), Some((lane(2), c)), "1000 B are less than the others' 2500 B");
        assert_eq!(next(4_500), Some((lane(1), b)));
        assert_eq!(next(5_500), None);
        assert!(group.lanes.is_empty() && group.fed == [a, c, b]);
    }

    /// Flows of one lane take several uplinks: what comes for another while the lane drains must not wait for a second opening.
    #[test]
    fn a_lane_is_open_for_every_queue_or_for_none() {
        let (mut slab, mut lanes) = (Slab::default(), Lanes::default());
        let pkts = [0, 1, 2, 3].map(|flow| slab.insert(data(HostId(0), HostId(1), flow, Class(3), 936)));
        let uplinks = [0, 1, 2].map(|port| (Port(port), Queue(3)));
        lanes.push(&mut slab, uplinks[0], lane(1), pkts[0]);
        lanes.push(&mut slab, uplinks[1], lane(1), pkts[1]);
        let waiting = |lanes: &mut Lanes, at| lanes.groups.get_mut(&at).unwrap().next(&slab, 0);
        assert_eq!(waiting(&mut lanes, uplinks[1]), None, "the lane is shut, for this uplink too");
        lanes.groups.values_mut().for_each(|group| group.lanes[0].open = true);
        lanes.push(&mut slab, uplinks[2], lane(1), pkts[2]);
        lanes.push(&mut slab, uplinks[2], lane(2), pkts[3]);
        let last = lanes.groups.get_mut(&uplinks[2]).unwrap();
        assert_eq!(last.next(&slab, 0), Some((lane(1), pkts[2])));
        assert_eq!(last.next(&slab, 0), None, "another lane is shut");
    }

    #[test]
    fn one_frame_at_a_time_where_nobody_else_waits() {
        let (mut slab, mut group) = (Slab::default(), Group::default());
        let pkts = [0, 1].map(|flow| slab.insert(data(HostId(0), HostId(1), flow, Class(3), 936)));
        pkts.iter().for_each(|pkt| group.push(&mut slab, lane(1), true, *pkt, 0));
        assert_eq!(group.next(&slab, 0), Some((lane(1), pkts[0])));
        group.fed_bytes = 1_000;
        assert_eq!(group.next(&slab, 1_000), None);
    }
}
