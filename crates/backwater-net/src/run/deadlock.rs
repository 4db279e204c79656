//! Deadlock: pauses that wait for each other in a cycle.
//!
//! A switch whose memory for frames from a port is full asks the neighbour there to pause. The pause ends when frames leave. If these wait
//! in queues that are paused themselves, it waits for those queues' pauses. In a cycle of such waits nothing moves.
//!
//! ```text
//! ask (port r, class c)     r's switch asks its neighbour to pause, without an end
//! queue (port e, queue q)   held: a gate of it is shut, and the neighbour's pause of that class, or of the link, is in force
//! queue ─▶ ask              a held queue waits for the ask of the port at the other end of its link
//! ask ─▶ queues             those in which the frames stand whose departure it awaits (see `Awaits`): of an isolation queue in front of a
//!                           crossbar, the queue that its head is for
//! ```
//!
//! If flows are kept in order between queues, a queue whose head waits for other packets of its flow stands behind the queue of those.
//!
//! **The condition.** Let `A` be the largest set of asks such that each still holds frames, all of these stand in queues (none is on a
//! wire, in the fabric or yet to be enqueued), and every such queue is paused and waits for an ask in `A`. The network is deadlocked if and
//! only if `A` is not empty: no frame behind an ask in `A` can leave before another one has. Every ask in `A` waits for another in `A`, so
//! it contains a cycle that can be named.
//!
//! Anything else that may end a pause keeps its ask out of `A`: an end that is set (a pause for a time, not until release), a mechanism
//! that gives up (a watchdog), a host at the other end, a queue without a shut gate (it may be starved, but can send), a link out of the
//! asking port that may lose the refresh of a pause. While a fault is pending, nothing is called a deadlock. A queue with some frames that
//! can leave is no deadlock either: they leave, and the next check sees the rest. So there is no false alarm.
//!
//! The check costs nothing per packet. A pause without an end schedules a check 100 us later, over all ports and over the frames in
//! switches that ask; it schedules the next while such pauses last. When no event is left, a last check follows.

use super::view::View;
use super::{Actors, Network};
use crate::model::hooks::{Awaits, SwitchSide};
use crate::model::packet::{CLASSES, Class, Port as PortNo, Queue};
use crate::model::port::Belongs;
use crate::model::switch::Switch;
use crate::model::switch::queued::each_queued;
use crate::record::{Broken, Deadlock};
use backwater_engine::Time;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Global number of a port, and a queue of it.
pub(super) type PortQueue = (u32, u8);

/// Global number of the port that asks, and the class, or `CLASSES` for the link.
pub(super) type Ask = (u32, u8);

/// Frames with a common property: their bytes, and their queues.
#[derive(Clone, Default)]
struct Standing {
    bytes: u64,
    queues: BTreeSet<PortQueue>,
    /// The last queue that was added: frames come queue by queue.
    last: Option<PortQueue>,
}

impl Standing {
    fn add(&mut self, bytes: u32, queue: PortQueue) {
        self.bytes += u64::from(bytes);
        if self.last.replace(queue) != Some(queue) {
            self.queues.insert(queue);
        }
    }
}

/// The frames in a switch's queues, by (ingress, class) and by (egress, queue).
struct Census {
    ingress: Vec<Standing>,
    egress: Vec<Standing>,
}

impl Census {
    fn add(&mut self, place: &crate::model::hooks::Place, charged: bool, queued: u32, queue: PortQueue) {
        let ingress = &mut self.ingress[usize::from(place.ingress.0) * CLASSES + usize::from(place.class.0)];
        if charged {
            ingress.add(queued, queue);
        }
        let egress = &mut self.egress[usize::from(place.egress.0) * CLASSES + usize::from(place.queue.0)];
        egress.add(queued, queue);
    }
}

/// The queues of the frames in these parts, if there are frames and all `counted` bytes of them stand in queues.
fn all_standing(parts: &[Standing], counted: u64) -> Option<BTreeSet<PortQueue>> {
    let bytes: u64 = parts.iter().map(|part| part.bytes).sum();
    (bytes != 0 && bytes == counted).then(|| parts.iter().flat_map(|part| part.queues.iter().copied()).collect())
}

impl<A: Actors> Network<A> {
    /// Checks for a deadlock, and whether flows make progress.
    pub(super) fn look(&mut self) {
        if self.world.now == self.world.totals.deadlock_check_at {
            self.world.totals.deadlock_check_at = Time::NEVER;
        }
        if self.world.queue.len() as u64 == self.world.totals.observer_events {
            // Nothing else happens any more, so time does not pass.
            self.world.now = self.last_happened();
        }
        let asks = self.view().asks();
        self.find_deadlock(&asks);
        let again = self.watch_stall();
        if !self.lives() {
            return;
        }
        if !asks.is_empty() {
            self.world.watch_pause();
        }
        if let Some(at) = again {
            self.world.arm_look(at);
        }
    }

    /// Only self-sustaining events are left.
    #[cold]
    pub(super) fn nothing_pending(&mut self) {
        self.world.now = self.last_happened();
        self.find_deadlock(&self.view().asks());
        (self.world.totals.stopped, self.world.totals.at_rest) = (true, true);
    }

    /// The caller of the run waits for flows, and nothing happens any more.
    pub(super) fn nothing_comes_to_caller(&mut self) {
        self.find_deadlock(&self.view().asks());
    }

    fn find_deadlock(&mut self, asks: &BTreeSet<Ask>) {
        if self.world.totals.deadlock.is_some()
            || asks.is_empty()
            || self.faults.iter().any(|fault| fault.at > self.world.now)
        {
            return;
        }
        let Some(found) = self.view().deadlock(asks) else { return };
        if self.deadlock_ends {
            self.world.totals.stopped = true;
            self.world.totals.broken = Some(broken_by(&found));
        }
        self.world.totals.deadlock = Some(found);
    }
}

/// The outcome of a deadlock, if it ends the run.
pub(super) fn broken_by(found: &Deadlock) -> Broken {
    Broken {
        time: found.time,
        reason: format!(
            "deadlock: {} -> {}: each waits for the next to resume, and {} B wait in them for ever",
            found.cycle.join(" -> "),
            found.cycle.first().map_or("", String::as_str),
            found.waiting
        ),
        hint: "paths that go up and then down cannot form such a cycle; sources that pause, or a watchdog, break one; \
               stop.deadlock = false lets the run go on"
            .into(),
    }
}

impl<A: Actors> View<'_, A> {
    /// The deadlock among these asks, if there is one.
    pub(super) fn deadlock(&self, asks: &BTreeSet<Ask>) -> Option<Deadlock> {
        let found = self.cycle(asks.clone());
        let cycle: Vec<String> = found.iter().map(|(queue, class)| self.name_queue(queue.0, *class)).collect();
        let waiting: u64 = found.iter().map(|(queue, _)| self.waiting_at(*queue)).sum();
        (!found.is_empty()).then_some(Deadlock { time: self.now, cycle, waiting })
    }

    /// The pauses without an end that switches request from switches, over links that lose nothing.
    pub(super) fn asks(&self) -> BTreeSet<Ask> {
        let mut asks = BTreeSet::new();
        for (number, port) in self.ports() {
            let between = matches!(port.belongs, Belongs::Switch(_))
                && matches!(self.port(port.peer).belongs, Belongs::Switch(_));
            if between && !port.may_lose() {
                asks.extend((0..=CLASSES as u8).filter(|i| port.rest.pause_requests.lasts(*i)).map(|i| (number, i)));
            }
        }
        asks
    }

    /// Reduces `asks` to the set of the condition, and returns a cycle in it: queues, and the paused class of each.
    fn cycle(&self, mut asks: BTreeSet<Ask>) -> Vec<(PortQueue, Option<Class>)> {
        asks.retain(|(port, class)| self.obeys(self.port(*port).peer, *class));
        self.retain_waiting(&mut asks);
        if asks.is_empty() {
            return Vec::new();
        }
        let mut census: BTreeMap<u32, Census> = BTreeMap::new();
        let mut awaited: BTreeMap<Ask, Vec<BTreeSet<PortQueue>>> = BTreeMap::new();
        for ask in &asks {
            let Belongs::Switch(switch) = self.port(ask.0).belongs else { continue };
            let standing = census.entry(switch).or_insert_with(|| self.census(switch));
            awaited.insert(*ask, self.awaited(switch, *ask, standing));
        }
        let stuck = |asks: &BTreeSet<Ask>, ask: &Ask| {
            awaited[ask].iter().find(|queues| queues.iter().all(|queue| self.holder(asks, *queue).is_some()))
        };
        loop {
            let left: BTreeSet<Ask> = asks.iter().copied().filter(|ask| stuck(&asks, ask).is_some()).collect();
            if left.len() == asks.len() {
                break;
            }
            asks = left;
        }
        let mut ecmp_path: Vec<(Ask, PortQueue, Ask)> = Vec::new();
        let mut at = asks.first().copied();
        while let Some(ask) = at {
            if let Some(first) = ecmp_path.iter().position(|(seen, ..)| *seen == ask) {
                let mut cycle = ecmp_path.split_off(first);
                let least = (0..cycle.len()).min_by_key(|i| cycle[*i].1).unwrap_or(0);
                cycle.rotate_left(least);
                return cycle.into_iter().map(|(_, queue, holder)| (queue, class_of(holder))).collect();
            }
            let queue = stuck(&asks, &ask).and_then(|queues| queues.first());
            let Some((queue, holder)) = queue.and_then(|queue| Some((*queue, self.holder(&asks, *queue)?))) else {
                break;
            };
            ecmp_path.push((ask, queue, holder));
            at = Some(holder);
        }
        Vec::new()
    }

    /// Reduces `asks` to those of switches with a queue that another of these asks pauses. All asks of the condition's set qualify, and
    /// most others do not, so frames are examined only where a cycle is possible.
    fn retain_waiting(&self, asks: &mut BTreeSet<Ask>) {
        loop {
            let held: HashSet<Belongs> =
                asks.iter().map(|(port, _)| self.port(self.port(*port).peer).belongs).collect();
            let before = asks.len();
            asks.retain(|(port, _)| held.contains(&self.port(*port).belongs));
            if asks.len() == before {
                return;
            }
        }
    }

    /// Returns whether a port obeys its neighbour's pause of a class or the link, and has no mechanism that gives up.
    fn obeys(&self, port: u32, class: u8) -> bool {
        let p = self.port(port);
        let shut = if usize::from(class) == CLASSES { p.gates() == 0 } else { p.gates() & (1 << class) == 0 };
        let Belongs::Switch(switch) = p.belongs else { return false };
        shut && p.held_now(self.now) & (1 << class) != 0 && !self.switch(switch).stack.overrides_pause(PortNo(p.local))
    }

    /// The ask among `asks` that pauses a queue.
    fn holder(&self, asks: &BTreeSet<Ask>, (port, queue): PortQueue) -> Option<Ask> {
        let peer = self.port(port).peer;
        [queue, CLASSES as u8].into_iter().map(|class| (peer, class)).find(|ask| asks.contains(ask))
    }

    /// Returns the sets of queues that an ask waits for: it lasts as long as all queues of one of these sets do.
    fn awaited(&self, switch: u32, (port, class): Ask, standing: &Census) -> Vec<BTreeSet<PortQueue>> {
        let s = self.switch(switch);
        let local = PortNo(self.port(port).local);
        let class = class_of((port, class));
        let owners = self.port(port).rest.pause_requests.lasting_owners(class);
        owners.flat_map(|owner| awaited_by(s, &s.stack.awaits(owner, local, class), local, class, standing)).collect()
    }

    fn census(&self, switch: u32) -> Census {
        let s = self.switch(switch);
        let parts = s.home.shape.ports.len() * CLASSES;
        let mut census = Census { ingress: vec![Standing::default(); parts], egress: vec![Standing::default(); parts] };
        let first = s.first_port;
        let part = self.part_of_switch(switch);
        let ports = part.ports.at_node(first..first + s.home.shape.ports.len() as u32);
        let slab = &part.world.slab;
        each_queued(s, ports, slab, |ix, (port, queue)| {
            let slot = &slab[ix];
            census.add(&slot.place, slot.charged, slot.counted, (first + u32::from(port), queue));
        });
        census
    }

    /// \[bytes\] that wait for a queue of a switch.
    fn waiting_at(&self, (port, queue): PortQueue) -> u64 {
        let p = self.port(port);
        match p.belongs {
            Belongs::Switch(s) => self.switch(s).occupancy.egress(PortNo(p.local), Queue(queue)).0,
            Belongs::Host(_) => 0,
        }
    }
}

/// The class to be paused, or the whole link.
fn class_of((_, class): Ask) -> Option<Class> {
    (usize::from(class) != CLASSES).then_some(Class(class))
}

fn awaited_by<S>(
    s: &Switch<S>,
    awaits: &Awaits,
    local: PortNo,
    class: Option<Class>,
    standing: &Census,
) -> Vec<BTreeSet<PortQueue>> {
    let of = |all: &[Standing], port: PortNo, only: Option<u8>| {
        let first = usize::from(port.0) * CLASSES;
        match only {
            Some(one) => vec![all[first + usize::from(one)].clone()],
            None => all[first..first + CLASSES].to_vec(),
        }
    };
    match awaits {
        Awaits::Unknown => Vec::new(),
        Awaits::Ingress => {
            let counted = class.map_or(s.occupancy.ingress_port(local), |class| s.occupancy.ingress(local, class));
            let parts = of(&standing.ingress, local, class.map(|class| class.0));
            all_standing(&parts, counted.0).into_iter().collect()
        }
        Awaits::Egress(queues) => {
            let each = queues.iter().filter_map(|(port, queue)| {
                let counted = queue.map_or(s.occupancy.egress_port(*port), |queue| s.occupancy.egress(*port, queue));
                all_standing(&of(&standing.egress, *port, queue.map(|queue| queue.0)), counted.0)
            });
            each.collect()
        }
    }
}
