//! RCCC, Receiver Credit Congestion Control — UEC 1.0, section 3.6.14, as `htsim_uec` has it (ultraethernet/uet-htsim, commit 40ccb052).
//!
//! A sender begins with an initial credit (speculation). From the first acknowledgement on it sends as much as its
//! receiver pulls. Packets carry the sender's target, and the receiver's interface grants credit in turns, at 99 % of
//! its link's rate. [`credit`] has the sender's rules, [`pacer`] the receiver's; this file feeds them with the events
//! of a run.
//!
//! ```text
//! send if       credit > 0;  the packet carries its target
//! any answer    ends speculation
//! pull frame    64 B, in the class of control, to the sender: credit up to its number
//! timeout       credit <= 0:  a request to send, with the last target: the receiver pulls again, and answers at once by the pull before
//! oversubscription > 1:  pulls slow down with marks and cuts before the last hop ([`oversubscribed`])
//! ```
//!
//! # Not modelled
//! - packet numbers for requests: they are not acknowledged, and the pull that follows one grants nothing
//!
//! # Differences
//! - A sender also sends a request when a timeout has passed with nothing in flight while credit lacks, so that a lost
//!   pull cannot stop a flow. It follows the previous request after `request_interval`, which doubles each time. After
//!   a pull that grants credit, it follows after twice the time between the last two pulls, at least
//!   `request_interval`. So senders that wait for their turn among a thousand do not fill the link with requests.
//! - [UEC's simulator](docs/modelling/uec-simulator.md) lists where that program differs from the specification, with the effect of each
//!   point.

mod config;
pub mod credit;
pub mod oversubscribed;
pub mod pacer;
mod wire;

use self::credit::{Credit, Sent};
use self::oversubscribed::Slowed;
use self::pacer::{PULL as PULL_QUANTA, Pacer};
use backwater_engine::{Rng, Time};
use backwater_net::Bytes;
use backwater_net::hooks::{
    Ack, Activity, Carrier, CheckCx, Count, Fate, Finding, FlowCx, FlowShape, FlowSide, Incoming, Loss, Mechanism,
    NicCx, NicShape, NicSide, Profile, Token, Turn, WireCx,
};
use backwater_net::packet::{Class, Control, DataHeader, Ecn, FlowRef, HostId, Packet, Port};
pub use config::Params;
use rand::RngExt;
use std::any::TypeId;
use std::collections::BTreeMap;
use wire::{PULL, REQUEST, WIRE, Word};

/// Pulls count from here, so that a target below the first pull is not negative.
const BASE: u64 = 100_000_000;

/// Timers of a receiver: the pacer's next turn, and the end of an interval.
const TURN: Token = 0;
const INTERVAL: Token = 1;

/// Up to so many empty intervals are simulated one by one.
const MOST_STEPS: u64 = 100;

/// The sender of one flow.
#[derive(backwater_derive::State)]
pub struct Sender {
    credit: Credit,
    #[state(fixed)]
    class: Class,
    /// request_interval
    #[state(fixed)]
    interval: Time,
    /// How long it waits after its next request, and the earliest time of that.
    wait: Time,
    asks_from: Time,
    /// When a pull last gave credit.
    pulled: Time,
    /// Requests in a row that have not been answered.
    unanswered: u32,
    /// number of pulls that have arrived
    pulls: u64,
}

// The specification: senders.
#[backwater_derive::hooks]
impl FlowSide for Sender {
    #[inline(always)]
    fn may_send(&self, _: Bytes, _: Bytes, _: bool) -> bool {
        self.credit.may_send()
    }

    fn on_start(&mut self, cx: &mut FlowCx<'_>) {
        self.pulled = cx.now();
    }

    fn on_turn(&mut self, _: &mut FlowCx<'_>, pkt: &mut Packet, turn: &Turn) {
        pkt.tag = self.credit.on_send(&Sent {
            bytes: u64::from(pkt.size),
            backlog: turn.backlog,
            rtx_backlog: turn.retransmissions,
            cwnd: turn.window.map(|window| window.0),
            waiting: turn.waiting,
        });
    }

    /// UEC 1.0, 3.6.14: any answer ends speculation.
    fn on_ack(&mut self, _: &mut FlowCx<'_>, _: &Ack<'_>) {
        self.credit.on_answer();
    }

    #[cold]
    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
        match loss {
            Loss::Trimmed(_) => self.credit.on_answer(),
            Loss::Timeout { .. } => self.request(cx),
            Loss::Gap => {}
        }
    }

    fn on_control(&mut self, cx: &mut FlowCx<'_>, frame: &Control) -> Fate {
        let Some(word) = frame.message::<Word>().filter(|word| !word.request) else { return Fate::Passed };
        self.pulls += 1;
        self.unanswered = 0;
        if word.number > self.credit.pulled() {
            let gap = cx.now() - self.pulled;
            self.wait = self.interval.max(gap.after(gap));
            (self.pulled, self.asks_from) = (cx.now(), cx.now().after(self.wait));
        }
        // UEC 1.0, 3.6.14: credit up to the pull's number.
        self.credit.on_pull(word.number);
        Fate::Consumed
    }

    #[cold]
    fn on_starved(&mut self, cx: &mut FlowCx<'_>) {
        self.request(cx);
    }

    fn activity(&self) -> Activity {
        Activity { acts: self.pulls, margin: None }
    }
}

impl Sender {
    /// Requests credit, if it lacks and the last request's time has passed.
    fn request(&mut self, cx: &mut FlowCx<'_>) {
        if self.credit.may_send() || cx.backlog() == Bytes::ZERO || cx.now() < self.asks_from {
            return;
        }
        if self.unanswered > 0 {
            cx.unanswered(self.unanswered);
        }
        self.unanswered += 1;
        self.asks_from = cx.now().after(self.wait);
        self.wait = self.wait.after(self.wait);
        let number = self.credit.requested();
        let (src, dst) = (cx.shape().src, cx.shape().dst);
        let word = Word { number, src, request: true };
        let frame = Control { flow: cx.flow(), ..Control::carrying(REQUEST, Control::MIN_FRAME, number, &word) };
        cx.send(dst, self.class, frame);
    }
}

/// The pacer of an interface, and the flows that it serves.
#[derive(backwater_derive::State)]
pub struct Receiver {
    #[state(fixed)]
    class: Class,
    pacer: Pacer<FlowRef>,
    slowed: Option<Slowed>,
    /// network_rtt
    #[state(fixed)]
    interval: Time,
    /// Draws the lengths of intervals; with the end of the latest. `None`: nothing has arrived yet.
    clock: Option<(Rng, Time)>,
    /// A timer for that end is set.
    counts_interval: bool,
    senders: BTreeMap<FlowRef, HostId>,
    pulls: u64,
    unasked: u64,
    requests: u64,
    answers: u64,
}

// The specification: receivers.
#[backwater_derive::hooks]
impl NicSide for Receiver {
    fn on_flow_start(&mut self, cx: &mut NicCx<'_>, incoming: &Incoming) {
        self.senders.insert(incoming.flow, incoming.src);
        if self.slowed.is_some() && !self.counts_interval {
            self.clock.get_or_insert_with(|| (cx.stream("intervals of pulls", incoming.flow), Time::ZERO));
            self.next_interval(cx);
        }
    }

    fn on_receive(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
        // A flow that has ended requests nothing, whatever duplicates arrive.
        if self.senders.contains_key(&pkt.flow) {
            let cut = pkt.data().is_some_and(|data| data.is(DataHeader::CUT));
            // uet-htsim, oversubscribed receivers: marks, and trims before the last hop.
            if let Some(slowed) = &mut self.slowed {
                let last = pkt.data().is_some_and(|data| data.is(DataHeader::LAST_HOP));
                let came = &mut slowed.came;
                came.packets += 1;
                came.marked += u32::from(!cut && pkt.ecn() == Ecn::Ce);
                came.cut_last += u32::from(cut && last);
                came.cut_before += u32::from(cut && !last);
            }
            self.asked(cx, pkt.flow, pkt.tag, cut);
        }
    }

    fn on_flow_end(&mut self, _: &mut NicCx<'_>, flow: FlowRef) {
        self.pacer.end(flow);
        if !self.pacer.knows(flow) {
            self.senders.remove(&flow);
        }
    }

    fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
        let Some(word) = frame.message::<Word>().filter(|word| word.request) else { return Fate::Passed };
        if let Some(flow) = frame.flow {
            self.requests += 1;
            if cx.is_over() {
                // Its last acknowledgement was lost. It has no turn any more, and a retransmission needs only a pull.
                self.answers += 1;
                self.pull_to(cx, word.src, flow, word.number + PULL_QUANTA);
                return Fate::Consumed;
            }
            self.senders.insert(flow, word.src);
            if let Some(slowed) = &mut self.slowed {
                slowed.came.packets += 1;
            }
            let before = self.pulls;
            self.asked(cx, flow, word.number, true);
            if self.pulls == before {
                self.answers += 1;
                self.pull(cx, flow, self.pacer.pulled(flow).unwrap_or(BASE));
            }
        }
        Fate::Consumed
    }

    fn on_timer(&mut self, cx: &mut NicCx<'_>, token: Token) {
        if token == TURN {
            self.turn(cx);
            return;
        }
        let Some(slowed) = &mut self.slowed else { return };
        slowed.on_interval();
        self.pacer.slow_to(slowed.rate());
        self.counts_interval = false;
        if !self.senders.is_empty() || !slowed.rests() {
            self.next_interval(cx);
        }
    }

    fn counts(&self, _: Time) -> Vec<Count> {
        let all =
            [("pulls", self.pulls), ("unasked", self.unasked), ("requests", self.requests), ("answers", self.answers)];
        all.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (Port(0), name, n)).collect()
    }

    fn activity(&self) -> Activity {
        Activity { acts: self.pulls, margin: None }
    }
}

impl Receiver {
    fn asked(&mut self, cx: &mut NicCx<'_>, flow: FlowRef, target: u64, urgent: bool) {
        if self.pacer.on_target(flow, target, urgent) {
            self.turn(cx);
        }
    }

    fn turn(&mut self, cx: &mut NicCx<'_>) {
        let Some(pull) = self.pacer.turn() else { return };
        self.pulls += 1;
        self.unasked += u64::from(pull.unasked);
        self.pull(cx, pull.flow, pull.number);
        if !self.pacer.knows(pull.flow) {
            self.senders.remove(&pull.flow);
        }
        cx.arm(cx.now().after(pull.then), TURN);
    }

    /// Sets the end of the current interval: 1.5 network_rtt long in the mean, drawn so that receivers do not act synchronously. Intervals
    /// follow each other from the beginning of the run, whether anything arrives or not; after a long pause the phase is drawn.
    fn next_interval(&mut self, cx: &mut NicCx<'_>) {
        let Some((rng, end)) = &mut self.clock else { return };
        let mean = self.interval.after(Time(self.interval.0 / 2));
        if cx.now() > end.after(Time(mean.0.saturating_mul(MOST_STEPS))) {
            *end = cx.now().after(Time((rng.random::<f64>() * mean.0 as f64) as u64));
        }
        while *end <= cx.now() {
            let drawn = (0.75 + rng.random::<f64>() / 2.0) * 1.5;
            *end = end.after(Time((drawn * self.interval.0 as f64) as u64));
        }
        self.counts_interval = true;
        cx.arm(*end, INTERVAL);
    }

    fn pull(&self, cx: &mut NicCx<'_>, flow: FlowRef, number: u64) {
        if let Some(src) = self.senders.get(&flow).copied() {
            self.pull_to(cx, src, flow, number);
        }
    }

    fn pull_to(&self, cx: &mut NicCx<'_>, src: HostId, flow: FlowRef, number: u64) {
        let word = Word { number, src, request: false };
        let frame = Control::carrying(PULL, Control::MIN_FRAME, number, &word);
        cx.reply(src, self.class, Control { flow: Some(flow), ..frame });
    }
}

/// RCCC.
pub enum Rccc {}

#[backwater_derive::mechanism]
impl Mechanism for Rccc {
    const NAME: &'static str = "rccc";
    const DEFINED_BY: &'static str = "UEC 1.0, section 3.6.14";
    const SUMMARY: &'static str =
        "lets each receiver pull data from its senders in turns, just below the rate of its link";
    const INACTIVE: &'static str = "never pulled";
    const FRAMES: &'static [&'static str] = &[PULL, REQUEST];
    const MESSAGE: TypeId = TypeId::of::<Word>();
    const VALUE: &'static str = "of pull and rts their number in quanta of 256 B, counted from 100,000,000";
    const COUNTERS: &'static str = "pulls (sent by receivers), unasked (pulls without a request), requests (received by receivers), answers (to requests, without credit)";
    type Nic = Receiver;
    type Flow = Sender;

    fn profile(params: &Params) -> Profile {
        config::profile(params)
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn octets(frame: &Control, _: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, octets)
    }

    fn credit_target(tag: u64) -> Option<u32> {
        Some(tag as u32 & WIRE)
    }

    fn nic(params: &Params, shape: &NicShape) -> Option<Receiver> {
        Some(Receiver {
            class: Class(params.class),
            pacer: Pacer::new(shape.rate, params.maxwnd(shape.rate), BASE),
            slowed: (params.oversubscription > 1.0).then(|| Slowed::new(params.oversubscription)),
            interval: params.network_rtt,
            clock: None,
            counts_interval: false,
            senders: BTreeMap::new(),
            pulls: 0,
            unasked: 0,
            requests: 0,
            answers: 0,
        })
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<Sender> {
        Some(Sender {
            credit: Credit::new(shape.frame.0, params.maxwnd(shape.line), BASE),
            class: Class(params.class),
            interval: params.request_interval,
            wait: params.request_interval,
            asks_from: Time::ZERO,
            pulled: Time::ZERO,
            unanswered: 0,
            pulls: 0,
        })
    }
}
