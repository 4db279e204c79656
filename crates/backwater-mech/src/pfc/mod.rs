//! Priority-based Flow Control — IEEE 802.1Qbb-2011 (802.1Q clause 36), frame in IEEE 802.3 annex 31D.
//!
//! A receiver whose memory for one class fills up asks its link partner to stop sending that class. Nothing is lost if
//! memory beyond the threshold, the *headroom*, holds all that can still arrive after the request (802.1Q annex N).
//!
//! ```text
//! own = bytes of the class from this port beyond its reserve          limit = alpha x free shared memory
//! static    pause:   counter > xoff, or one of its frames is in headroom
//!           resume:  counter < xon; with `switch.headroom`, none is in headroom, and xoff - xon of the shared memory is free
//! dynamic   pause:   own >= limit and no longest frame fits into the reserve, or one of its frames is in headroom
//!           resume:  own + xon_offset <= limit or own = 0, and none is in headroom
//! always    resume:  nothing of the class is left from this port
//! ```
//!
//! [`headroom`] computes it for a full reverse link and a blocked egress. After a frame has passed xoff, the PFC frame
//! waits for one frame and crosses the link. The link partner obeys it after the response time, and finishes the frame
//! that it has begun.
//!
//! A switch may give up a queue that its neighbour pauses for too long: [`watchdog`].
//!
//! # Not modelled
//! - DCBX
//!
//! # Differences
//! - A pause time runs from the end of `response`, not from the receipt of the frame.
//! - `signal = "ideal"` (no frame, no timer) is not in the standard. htsim works this way.
//! - `counter = "egress"` models a pure output-queued switch: the backlog of one egress queue pauses every other port.
//!   `counter = "queue"` pauses the ports that fill the queue, as simulations do whose threshold is a share of a
//!   queue's memory.

use self::config::Thresholds;
use self::feeders::Feeders;
use self::watchdog::Watchdog;
use crate::headroom::{Pausing, headroom_findings, refresh_finding};
pub use crate::headroom::{headroom, headroom_in_cells, in_cells_of_longest};
use crate::mac_control::{Congested, Counter, Due, PeakOccupancy, Receiver};
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::{
    Account, Activity, Advice, AdviceError, AdviceForm, Awaits, CheckCx, Claims, Fate, Finding, Full, Ineffective,
    Levels, LinkCx, LinkSide, Mechanism, MechanismId, MemoryCx, NicShape, PauseStyle, Place, Profile, Question,
    Situation, SwitchCx, SwitchShape, SwitchSide, Token,
};
use backwater_net::occupancy::Occupancy;
use backwater_net::packet::{CLASSES, Class, Control, Packet, Port, Queue};
use serde_json::{Map, Value};

mod advice;
pub mod annex_n;
mod config;
mod feeders;
mod polls;
mod tables;
pub mod watchdog;

pub use config::{Action, Params, Threshold};

/// Initiator and receiver of one bridge (802.1Q 36.1).
#[derive(backwater_derive::State)]
pub struct Switch {
    /// by port
    #[state(fixed)]
    thresholds: Vec<Thresholds>,
    /// \[bytes\] resume offset of dynamic thresholds
    #[state(fixed)]
    dynamic: Option<Bytes>,
    #[state(same)]
    counter: Counter,
    #[state(same)]
    style: PauseStyle,
    /// per class: ports over their threshold
    #[state(within)]
    congested: Vec<Congested>,
    feeders: Feeders,
    #[state(within)]
    receiver: Receiver,
    #[state(within)]
    watchdog: Option<Box<Watchdog>>,
    /// \[bytes\] the longest data frame
    #[state(fixed)]
    max_frame: Bytes,
    /// number of pauses requested
    pauses: u64,
    peak_occupancy: PeakOccupancy,
}

// The specification.
#[backwater_derive::hooks(link)]
impl SwitchSide for Switch {
    /// Pause above xoff, resume below xon.
    fn levels(&self, seen: &Occupancy, of: Account) -> Levels {
        match (self.counter, of) {
            (Counter::Ingress, Account::Ingress(port, class)) if self.under_pfc(class) => {
                if self.over(class, port) {
                    self.resume_at(port)
                } else {
                    self.pause_at(seen, port)
                }
            }
            (_, Account::Egress(..)) if self.watchdog.is_some() => Levels::ALL,
            (Counter::Egress, Account::Egress(port, queue)) if self.under_pfc(queue.into()) => {
                if self.over(queue.into(), port) { self.resume_at(port) } else { self.pause_at(seen, port) }
            }
            (Counter::Queue, Account::Egress(port, queue)) if self.feeders.are_paused(port, queue) => {
                self.pause_at(seen, port).or(self.resume_at(port))
            }
            (Counter::Queue, Account::Egress(port, _)) => self.pause_at(seen, port),
            _ => Levels::NONE,
        }
    }

    /// A frame without room in the headroom has passed every threshold. A class without bytes would never resume, so it is not paused.
    fn on_full(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, _: &mut Packet) -> Full {
        if self.counter == Counter::Ingress
            && !at.own
            && cx.seen().has_headroom()
            && cx.seen().ingress(at.ingress, at.class) > Bytes::ZERO
            && self.under_pfc(at.class)
            && !self.over(at.class, at.ingress)
        {
            self.set(cx, at.class, at.ingress, true);
        }
        Full::Drop
    }

    fn on_admit(&mut self, cx: &mut SwitchCx<'_>, at: &Place, _: &Packet) {
        // 802.1Q 36.1: an initiator counts arrivals, and requests the pause from their sender.
        if self.counter == Counter::Ingress
            && self.under_pfc(at.class)
            && self.is_full(cx, at)
            && !self.over(at.class, at.ingress)
        {
            self.set(cx, at.class, at.ingress, true);
        }
    }

    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, _: &mut Packet) {
        // Not 802.1Q, whose request concerns arrivals: the egress queue of simulations.
        if self.counter == Counter::Egress
            && self.under_pfc(at.queue.into())
            && self.is_long(cx, at)
            && !self.over(at.queue.into(), at.egress)
        {
            self.set(cx, at.queue.into(), at.egress, true);
        }
        if self.counter == Counter::Queue && !at.own && self.under_pfc(at.class) && self.is_long(cx, at) {
            if !self.feeders.are_paused(at.egress, at.queue) {
                cx.watch(Account::Egress(at.egress, at.queue));
            }
            if self.feeders.joined(at) {
                self.pauses += 1;
                cx.pause_peer(at.ingress, Some(at.class), Time::NEVER, self.style);
            }
        }
        if let Some(watchdog) = &self.watchdog
            && watchdog.drops(at)
        {
            cx.flush(at.egress, at.queue);
        }
    }

    fn on_release(&mut self, cx: &mut SwitchCx<'_>, at: &Place, _: u32) {
        if self.counter == Counter::Ingress && self.over(at.class, at.ingress) && self.may_resume(cx, at) {
            // IEEE 802.3 annex 31D: a time of zero resumes.
            self.set(cx, at.class, at.ingress, false);
        }
    }

    fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
        if self.counter == Counter::Egress && self.over(at.queue.into(), at.egress) {
            let left = cx.seen().egress(at.egress, at.queue);
            if left < self.at(at.egress).xon || left == Bytes::ZERO {
                self.set(cx, at.queue.into(), at.egress, false);
            }
        }
        if self.counter == Counter::Queue && self.feeders.are_paused(at.egress, at.queue) {
            let left = cx.seen().egress(at.egress, at.queue);
            if left < self.at(at.egress).xon || left == Bytes::ZERO {
                for (port, class) in self.feeders.relieved(at) {
                    cx.resume_peer(port, Some(class));
                }
                cx.watch(Account::Egress(at.egress, at.queue));
            }
        }
    }

    fn awaits(&self, _: MechanismId, port: Port, class: Option<Class>) -> Awaits {
        match class {
            Some(class) if self.counter == Counter::Queue => self.feeders.awaits(port, class),
            Some(Class(class)) => self.congested[usize::from(class)].awaits(port, Some(Queue(class))),
            None => Awaits::Unknown,
        }
    }

    fn overrides_pause(&self, _: Port) -> bool {
        self.watchdog.is_some()
    }

    fn activity(&self, _: &Occupancy) -> Activity {
        let of = match (self.counter, self.dynamic) {
            (Counter::Ingress, None) => "most bytes of a class from one port",
            (Counter::Ingress, Some(_)) => "most bytes of a class from one port beyond its reserve",
            (Counter::Egress | Counter::Queue, _) => "longest egress queue",
        };
        Activity { acts: self.pauses, margin: Some(self.peak_occupancy.margin(of)) }
    }
}

#[backwater_derive::hooks]
impl LinkSide for Switch {
    fn on_mac_control(&mut self, cx: &mut LinkCx<'_>, from: Port, frame: &Control) -> Fate {
        let Some((slot, due)) = self.receiver.hear(cx, from, frame) else { return Fate::Passed };
        if let (Some(watchdog), LinkCx::Switch(cx)) = (&mut self.watchdog, &mut *cx) {
            watchdog.on_pause(cx, slot);
        }
        self.obey(cx, slot, due);
        let ignored = self.watchdog.as_ref().is_some_and(|watchdog| watchdog.ignores(slot));
        if ignored { Fate::Passed } else { Fate::Consumed }
    }

    fn on_link_timer(&mut self, cx: &mut LinkCx<'_>, token: Token) {
        if let (Some(slot), Some(watchdog), LinkCx::Switch(cx)) = (Watchdog::own(token), &mut self.watchdog, &mut *cx) {
            return watchdog.wake(cx, slot, &mut self.receiver);
        }
        let due = self.receiver.wake(token as usize, cx.now());
        self.obey(cx, token as usize, due);
    }
}

impl Switch {
    #[inline(always)]
    fn under_pfc(&self, class: Class) -> bool {
        self.receiver.stops & (1 << class.0) != 0
    }

    #[inline(always)]
    fn at(&self, port: Port) -> &Thresholds {
        &self.thresholds[usize::from(port.0)]
    }

    #[inline(always)]
    fn over(&self, class: Class, port: Port) -> bool {
        self.congested[usize::from(class.0)].is(port)
    }

    /// The levels at which a neighbour is paused; `activity` also uses the largest counter. A dynamic threshold is at least that of half of
    /// the shared memory, as long as so much is free.
    fn pause_at(&self, seen: &Occupancy, port: Port) -> Levels {
        let (Thresholds { xoff, alpha, .. }, most) = (*self.at(port), self.peak_occupancy.most());
        if self.dynamic.is_none() {
            return Levels::above(xoff.min(most));
        }
        let half = Switch::half(seen, port);
        match half.times(alpha) {
            Bytes::ZERO => Levels::above(Bytes::ZERO),
            Bytes(limit) => Levels::above(seen.least_reserve() + Bytes(limit - 1).min(most)).unless_free(half),
        }
    }

    /// Returns the levels at which it resumes. The free part of a shared memory changes with every frame.
    fn resume_at(&self, port: Port) -> Levels {
        let xon = if self.dynamic.is_some() { Bytes::MAX } else { self.at(port).xon };
        Levels::below(xon).or(Levels::above(self.peak_occupancy.most()))
    }

    fn half(seen: &Occupancy, port: Port) -> Bytes {
        Bytes(seen.shared(port).0 / 2)
    }

    /// Returns whether an egress queue is above the threshold.
    fn is_long(&mut self, cx: &mut SwitchCx<'_>, at: &Place) -> bool {
        let bytes = cx.seen().egress(at.egress, at.queue);
        self.passes(cx, Account::Egress(at.egress, at.queue), bytes, self.at(at.egress).xoff)
    }

    /// Returns whether an account is above a threshold.
    fn passes(&mut self, cx: &mut SwitchCx<'_>, of: Account, bytes: Bytes, xoff: Bytes) -> bool {
        if self.peak_occupancy.observe(bytes, xoff) || bytes <= xoff {
            cx.watch(of);
        }
        bytes > xoff
    }

    fn is_full(&mut self, cx: &mut SwitchCx<'_>, at: &Place) -> bool {
        let (seen, of) = (cx.seen(), Account::Ingress(at.ingress, at.class));
        // A frame that finds the shared memory full is in headroom, which lasts only until the neighbour has stopped (802.1Q annex N).
        let in_headroom = seen.in_headroom(at.ingress, at.class) > Bytes::ZERO;
        if self.dynamic.is_none() {
            let bytes = seen.ingress(at.ingress, at.class);
            return self.passes(cx, of, bytes, self.at(at.ingress).xoff) || in_headroom;
        }
        // HPCC ns-3 switch-mmu: so many times the free shared memory.
        let (free, beyond) = (seen.free(at.ingress), seen.beyond_reserve(at.ingress, at.class));
        let limit = free.times(self.at(at.ingress).alpha);
        let within_reserve = seen.within_reserve(at.ingress, at.class, self.max_frame);
        if self.peak_occupancy.observe(beyond, limit) || beyond < limit && free >= Switch::half(seen, at.ingress) {
            cx.watch(of);
        }
        // Nobody else can take a reserve: while a frame fits into it, nobody is paused, however little is free. Tomahawk 5 does so
        // (silicon-2026).
        beyond >= limit && !within_reserve || in_headroom
    }

    fn may_resume(&self, cx: &SwitchCx<'_>, at: &Place) -> bool {
        let seen = cx.seen();
        let bytes = seen.ingress(at.ingress, at.class);
        // Without this an ingress whose dynamic threshold is zero would wait forever.
        if bytes == Bytes::ZERO {
            return true;
        }
        match self.dynamic {
            None => {
                let Thresholds { xoff, xon, .. } = *self.at(at.ingress);
                // The part of a full pool that must be free again.
                bytes < xon && seen.headroom_rests(at.ingress, Some(at.class), xoff.saturating_sub(xon))
            }
            Some(offset) => {
                // HPCC ns-3 switch-mmu: no headroom in use, and an offset below the threshold.
                let limit = seen.free(at.ingress).times(self.at(at.ingress).alpha);
                let beyond = seen.beyond_reserve(at.ingress, at.class);
                seen.in_headroom(at.ingress, at.class) == Bytes::ZERO
                    && (beyond == Bytes::ZERO || beyond + offset <= limit)
            }
        }
    }

    fn set(&mut self, cx: &mut SwitchCx<'_>, class: Class, at: Port, over: bool) {
        for (port, pause) in self.congested[usize::from(class.0)].set(at, over) {
            if pause {
                self.pauses += 1;
                cx.pause_peer(port, Some(class), Time::NEVER, self.style);
            } else {
                cx.resume_peer(port, Some(class));
            }
        }
        let ingress = self.counter == Counter::Ingress;
        cx.watch(if ingress { Account::Ingress(at, class) } else { Account::Egress(at, Queue(class.0)) });
    }

    fn obey(&mut self, cx: &mut LinkCx<'_>, slot: usize, due: Due) {
        let watchdog = &mut self.watchdog;
        self.receiver.obey(cx, slot, due, |cx, change| match (watchdog.as_mut(), cx) {
            (Some(watchdog), LinkCx::Switch(cx)) => watchdog.obeys(cx, change),
            _ => true,
        });
    }
}

/// Priority-based Flow Control.
pub enum Pfc {}

#[backwater_derive::mechanism]
impl Mechanism for Pfc {
    const NAME: &'static str = "pfc";
    const DEFINED_BY: &'static str = "IEEE 802.1Qbb-2011";
    const SUMMARY: &'static str = "pauses one class of a link when its ingress counter passes a threshold";
    const INACTIVE: &'static str = "never paused a neighbour";
    const ADVICE: Option<AdviceForm> = Some(advice::FORM);
    type Switch = Switch;
    type Nic = Receiver;

    fn profile(params: &Params) -> Profile {
        let classes = params.class_bits();
        Profile {
            claims: Claims { link_pause: true, ..Claims::NONE },
            lossless_classes: classes,
            pauses: params.signal.by_frame(classes.into()),
            classes,
            ..Profile::default()
        }
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        let fatal = |key, reason: String, hint: &str| Finding { fatal: true, key, reason, hint: hint.into() };
        let mut findings = params.watchdog_findings(cx.lossless);
        if params.counter == Counter::Egress && cx.steered & params.class_bits() != 0 {
            let reason = "counter = \"egress\" pauses the class of the queue that is full, and flows that are moved there come in another";
            let hint = "where flows move between queues: counter = \"queue\", or counter = \"ingress\"";
            findings.push(fatal("counter", reason.into(), hint));
        }
        if params.counter != Counter::Ingress && params.threshold == Threshold::Dynamic {
            let reason = "a dynamic threshold is a share of the memory that what came in at a port may take, and no length of a queue: \
                          nobody would ever be paused";
            findings.push(fatal("counter", reason.into(), "counter = \"ingress\", or a static threshold"));
        }
        let pausing = |xoff| Pausing {
            counter: params.counter,
            xoff,
            reference: params.reference_rate,
            classes: u64::from(params.class_bits().count_ones()),
            kept: u64::from(params.class_bits().count_ones()),
            response: params.response,
            signal: params.signal,
            dynamic: true,
        };
        findings.extend(refresh_finding(params.signal, params.quanta, cx));
        if params.threshold == Threshold::Dynamic {
            findings.extend(headroom_findings(&pausing(None), cx));
            return findings;
        }
        let Some(xoff) = params.xoff else {
            return vec![fatal(
                "xoff",
                "a static threshold needs xoff".into(),
                "give xoff, as with --set pfc.xoff=\"200 KB\" (`backwater advise pfc` gives the room that must be left beyond \
                 it), or threshold = \"dynamic\"",
            )];
        };
        findings.extend(headroom_findings(&pausing(Some(xoff)), cx));
        findings
    }

    fn pause_style(params: &Params) -> Option<PauseStyle> {
        Some(params.signal.style(params.quanta))
    }

    fn pause_threshold(params: &Params, cx: &MemoryCx<'_>) -> Option<(Bytes, &'static str)> {
        params.pause_threshold(cx)
    }

    fn facts(params: Option<&Params>, situation: &Situation) -> Map<String, Value> {
        advice::facts(params, situation)
    }

    fn advise(question: &Question) -> Result<Advice, AdviceError> {
        advice::answer(question)
    }

    fn ineffective(params: &Params) -> Vec<Ineffective> {
        let mut ineffective = match params.threshold {
            Threshold::Static => Ineffective::all(&["alpha", "xon_offset"], "threshold", "threshold = \"dynamic\""),
            Threshold::Dynamic => Ineffective::all(&["xoff", "xon"], "threshold", "threshold = \"static\""),
        };
        ineffective.extend(params.signal.ineffective());
        if params.watchdog.is_none() {
            ineffective.extend(Ineffective::all(&["watchdog_action"], "watchdog", "a watchdog"));
        }
        ineffective
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<Switch> {
        let ports = shape.ports.len();
        Some(Switch {
            thresholds: shape.ports.iter().map(|port| params.thresholds(port.rate)).collect(),
            dynamic: (params.threshold == Threshold::Dynamic).then_some(params.xon_offset),
            style: params.signal.style(params.quanta),
            congested: (0..CLASSES).map(|_| Congested::new(params.counter, ports)).collect(),
            feeders: Feeders::default(),
            counter: params.counter,
            receiver: Receiver::new(params.class_bits().into(), ports, params.response),
            max_frame: shape.max_frame,
            pauses: 0,
            peak_occupancy: PeakOccupancy::new(params.xoff()),
            watchdog: params.watchdog.map(|detect| Box::new(Watchdog::new(params, detect, ports))),
        })
    }

    fn nic(params: &Params, shape: &NicShape) -> Option<Receiver> {
        Some(Receiver::new(shape.queues.carrying(params.class_bits()).into(), 1, params.response))
    }
}

#[cfg(test)]
mod tests;
