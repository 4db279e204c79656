//! Switches that queue at their ingress: one first-in first-out queue per (ingress, class), or a virtual output queue per (ingress, egress,
//! queue), and a crossbar that transfers whole frames.
//!
//! Whenever an ingress and an egress are free, iSLIP (McKeown, IEEE/ACM ToN 1999) pairs them: every free egress grants the requesting
//! ingress next in its round robin, every ingress accepts the granting egress next in its own, and pointers move only past a pair of the
//! first iteration. Higher queues request first. Frames of one instant are matched together: equal frames that arrive simultaneously then
//! keep the slotted behaviour for which the throughput limits are known.
//!
//! A frame crosses in `8 size / (speedup x R)`, R the faster of its two links, and may leave while it crosses: an idle crossbar adds no
//! delay. Its ingress account falls when it has crossed. Behind the crossing at most `staging` bytes wait per egress and queue, plus the
//! rest of the frame that fills them. Frames that the switch itself sends arrived by no port, and do not cross.

use super::Switch;
use crate::config::{Architecture, SwitchParams};
use crate::model::event::Event;
use crate::model::hooks::SwitchSide;
use crate::model::node::NodeCx;
use crate::model::packet::CLASSES;
use crate::model::slab::{Fifo, Ix, NIL, Slab};
use backwater_engine::Time;

#[derive(backwater_derive::State)]
pub(crate) struct Crossbar {
    #[state(fixed)]
    ports: usize,
    /// One input queue per egress and queue, or one per queue.
    #[state(fixed)]
    virtual_queues: bool,
    #[state(fixed)]
    speedup: f64,
    #[state(fixed)]
    iterations: u32,
    #[state(fixed)]
    staging: u64,
    inputs: Vec<Fifo>,
    /// Per ingress: input queues that hold a frame.
    backlog: Vec<Vec<u32>>,
    in_busy: Vec<bool>,
    /// Per ingress: the frame that crosses, unless it has already left the switch.
    crossing: Vec<Ix>,
    out_busy: Vec<bool>,
    /// \[bytes\] behind the crossing, per egress and queue: a queue whose gate is shut must not keep others from crossing
    staged: Vec<[u64; CLASSES]>,
    grant: Vec<u16>,
    accept: Vec<u16>,
    /// A match event is pending for this instant.
    matching: Time,
}

/// The head of an input queue that may cross now.
#[derive(Clone, Copy)]
struct Request {
    ingress: u16,
    egress: u16,
    queue: u8,
    input: u32,
}

impl Crossbar {
    pub fn new(params: &SwitchParams, ports: usize) -> Crossbar {
        let virtual_queues = params.architecture == Architecture::Voq;
        let per_ingress = if virtual_queues { ports * CLASSES } else { CLASSES };
        Crossbar {
            ports,
            virtual_queues,
            speedup: params.speedup.unwrap_or(if virtual_queues { 2.0 } else { 1.0 }),
            iterations: params.iterations.max(1),
            staging: params.staging.0.max(1),
            inputs: vec![Fifo::default(); ports * per_ingress],
            backlog: vec![Vec::new(); ports],
            in_busy: vec![false; ports],
            crossing: vec![NIL; ports],
            out_busy: vec![false; ports],
            staged: vec![[0; CLASSES]; ports],
            grant: vec![0; ports],
            accept: vec![0; ports],
            matching: Time::NEVER,
        }
    }

    fn input(&self, ingress: u16, egress: u16, queue: u8) -> u32 {
        let (i, e, q) = (usize::from(ingress), usize::from(egress), usize::from(queue));
        let at = if self.virtual_queues { (i * self.ports + e) * CLASSES + q } else { i * CLASSES + q };
        at as u32
    }

    /// Every input queue.
    pub fn inputs(&self) -> impl Iterator<Item = &Fifo> {
        self.inputs.iter()
    }

    /// Removes the frames for a queue of an egress port from the input queues.
    pub fn take(&mut self, slab: &mut Slab, egress: u16, queue: u8) -> Vec<Ix> {
        let mut taken = Vec::new();
        for ingress in 0..self.ports as u16 {
            let at = self.input(ingress, egress, queue);
            let input = std::mem::take(&mut self.inputs[at as usize]);
            for ix in input.iter(slab).collect::<Vec<_>>() {
                let place = &slab[ix].place;
                if (place.egress.0, place.queue.0) == (egress, queue) {
                    taken.push(ix);
                } else {
                    self.inputs[at as usize].push(slab, ix);
                }
            }
            if self.inputs[at as usize].is_empty() {
                self.backlog[usize::from(ingress)].retain(|input| *input != at);
            }
        }
        taken
    }

    /// Steps from `pointer` up to `at`, modulo the ports.
    fn distance(&self, pointer: u16, at: u16) -> usize {
        (usize::from(at) + self.ports - usize::from(pointer)) % self.ports
    }
}

impl<S: SwitchSide> NodeCx<'_, &mut Switch<S>> {
    fn crossbar(&mut self) -> &mut Crossbar {
        self.node.crossbar.as_mut().expect("only called for switches with a crossbar")
    }

    pub(crate) fn enter_crossbar(&mut self, pkt: Ix) {
        let place = self.world.slab[pkt].place;
        let c = self.node.crossbar.as_mut().expect("only called for switches with a crossbar");
        let input = c.input(place.ingress.0, place.egress.0, place.queue.0);
        if c.inputs[input as usize].is_empty() {
            c.backlog[usize::from(place.ingress.0)].push(input);
        }
        c.inputs[input as usize].push(&mut self.world.slab, pkt);
        let egress = &mut self.ports[usize::from(place.egress.0)];
        if egress.ordered {
            egress.line_up(&self.world.slab, usize::from(place.queue.0), pkt);
        }
        let ready = self.world.slab[pkt].ready.max(self.world.now);
        self.match_at(ready);
    }

    /// Schedules a match at `at`.
    pub(crate) fn match_at(&mut self, at: Time) {
        let now = self.world.now;
        let number = self.node.number;
        let c = self.crossbar();
        // An earlier request that is stale lies in the past; a later one is too late for this.
        if c.matching > at || c.matching < now {
            c.matching = at;
            self.world.push(at, Event::Match { switch: number });
        }
    }

    /// A frame has left the egress: there is room behind the crossing.
    pub(crate) fn left_crossbar(&mut self, pkt: Ix) {
        let slot = &self.world.slab[pkt];
        let (at, size) = (slot.place, slot.counted);
        if at.own {
            return;
        }
        let c = self.crossbar();
        c.staged[usize::from(at.egress.0)][usize::from(at.queue.0)] -= u64::from(size);
        let crossing = &mut c.crossing[usize::from(at.ingress.0)];
        if *crossing == pkt {
            *crossing = NIL;
        }
        self.match_at(self.world.now);
    }

    pub(crate) fn match_crossbar(&mut self) {
        // An earlier match has done this one's work, and has scheduled the next one itself.
        let now = self.world.now;
        let matching = &mut self.crossbar().matching;
        if *matching != now {
            return;
        }
        *matching = Time::NEVER;
        for iteration in 0..self.crossbar().iterations {
            let requests = self.requests();
            let pairs = self.grants_and_accepts(&requests, iteration == 0);
            if pairs.is_empty() {
                break;
            }
            for pair in pairs {
                self.cross(pair);
            }
        }
    }

    /// Returns the heads of input queues whose ingress and egress are free; schedules another call for the earliest head that is not ready.
    fn requests(&mut self) -> Vec<Request> {
        let s = &*self.node;
        let Some(c) = s.crossbar.as_deref() else { return Vec::new() };
        let (mut requests, mut next) = (Vec::new(), Time::NEVER);
        for ingress in (0..c.ports).filter(|i| !c.in_busy[*i]) {
            for input in &c.backlog[ingress] {
                let Some(head) = c.inputs[*input as usize].head() else { continue };
                let (place, ready) = (self.world.slab[head].place, self.world.slab[head].ready);
                if ready > self.world.now {
                    next = next.min(ready);
                    continue;
                }
                let egress = usize::from(place.egress.0);
                let port = &self.ports[egress];
                let gate_open = port.open & (1 << place.queue.0) != 0
                    && (!port.ordered || port.may_go(&self.world.slab[head], usize::from(place.queue.0)));
                let staged = c.staged[egress][usize::from(place.queue.0)];
                if gate_open && !c.out_busy[egress] && staged < c.staging {
                    requests.push(Request {
                        ingress: ingress as u16,
                        egress: place.egress.0,
                        queue: place.queue.0,
                        input: *input,
                    });
                }
            }
        }
        if next != Time::NEVER {
            self.match_at(next);
        }
        requests
    }

    fn grants_and_accepts(&mut self, requests: &[Request], first: bool) -> Vec<Request> {
        let c = self.crossbar();
        let better = |new: (u8, usize), old: (u8, usize)| new.0 > old.0 || new.0 == old.0 && new.1 < old.1;
        let mut granted: Vec<Option<Request>> = vec![None; c.ports];
        for r in requests {
            let e = usize::from(r.egress);
            let key = |r: &Request| (r.queue, c.distance(c.grant[e], r.ingress));
            if granted[e].as_ref().is_none_or(|old| better(key(r), key(old))) {
                granted[e] = Some(*r);
            }
        }
        let mut accepted: Vec<Option<Request>> = vec![None; c.ports];
        for r in granted.iter().flatten() {
            let i = usize::from(r.ingress);
            let key = |r: &Request| (r.queue, c.distance(c.accept[i], r.egress));
            if accepted[i].as_ref().is_none_or(|old| better(key(r), key(old))) {
                accepted[i] = Some(*r);
            }
        }
        let pairs: Vec<Request> = accepted.into_iter().flatten().collect();
        if first {
            for r in &pairs {
                c.grant[usize::from(r.egress)] = ((usize::from(r.ingress) + 1) % c.ports) as u16;
                c.accept[usize::from(r.ingress)] = ((usize::from(r.egress) + 1) % c.ports) as u16;
            }
        }
        pairs
    }

    fn cross(&mut self, r: Request) {
        let c = self.node.crossbar.as_mut().expect("only called for switches with a crossbar");
        let Some(pkt) = c.inputs[r.input as usize].pop(&self.world.slab) else { return };
        if c.inputs[r.input as usize].is_empty() {
            c.backlog[usize::from(r.ingress)].retain(|input| *input != r.input);
        }
        let size = self.world.slab[pkt].pkt.size;
        (c.in_busy[usize::from(r.ingress)], c.out_busy[usize::from(r.egress)]) = (true, true);
        c.staged[usize::from(r.egress)][usize::from(r.queue)] += u64::from(self.world.slab[pkt].counted);
        let speedup = c.speedup;
        let rate = |p: u16| self.ports[usize::from(p)].serialiser.rate();
        let line = rate(r.ingress).max(rate(r.egress)).scale(speedup);
        let crossed = self.world.now + line.time_for(crate::units::Bytes(u64::from(size + self.world.rules.gap)));
        c.crossing[usize::from(r.ingress)] = pkt;
        let switch = self.node.number;
        self.world.push(crossed, Event::Crossed { switch, ingress: r.ingress, egress: r.egress });
        self.ports[usize::from(r.egress)].push(&mut self.world.slab, usize::from(r.queue), pkt);
        self.kick(r.egress);
    }

    pub(crate) fn crossed(&mut self, ingress: u16, egress: u16) {
        let c = self.crossbar();
        (c.in_busy[usize::from(ingress)], c.out_busy[usize::from(egress)]) = (false, false);
        let pkt = std::mem::replace(&mut c.crossing[usize::from(ingress)], NIL);
        if pkt != NIL {
            self.release_crossed(pkt);
        }
        self.match_at(self.world.now);
        self.act_switch();
    }

    fn release_crossed(&mut self, pkt: Ix) {
        let slot = &mut self.world.slab[pkt];
        let (place, size, pool) = (slot.place, slot.counted, slot.pool);
        if !std::mem::take(&mut slot.charged) {
            return;
        }
        let looked_at = self.node.occupancy.release(&place, u64::from(size), pool);
        debug_assert!(looked_at || !self.node.looks_at_released(&place), "a level was missed: `SwitchCx::watch`");
        if looked_at {
            self.at_switch(|stack, cx, _| stack.on_release(cx, &place, size));
        }
    }
}
