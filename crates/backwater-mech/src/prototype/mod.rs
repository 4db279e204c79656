//! A congestion control that is written outside of the core, for prototypes of some hundred flows.
//!
//! The program that runs a scenario offers a control under a name ([`offer`]); the scenario names it. Backwater's Python package offers
//! classes in this way (`Scenario.prototype`). Each flow has a control of its own. It hears what its sender hears, and answers with a window
//! and a rate, which hold until its next answer.
//!
//! ```text
//! flow begins         answer = on_start
//! acknowledgement     answer = on_mark, if the packet that it answers was marked;   otherwise on_ack
//! packets lost        answer = on_loss
//! timer has run out   answer = on_timer
//! always              bytes that are not acknowledged <= window;   bytes leave at rate
//! ```
//!
//! **Not modelled:** hooks at switches and interfaces, frames of its own, and what a packet carries: these need a mechanism in Rust
//! (`backwater new mechanism`).
//! **Where we differ:** controls of all flows may share state, so that a run has one thread. A run cannot be saved, since nobody knows what
//! such a control remembers.

use backwater_derive::parameters;
use backwater_engine::state::{Loader, Saver, Unfit};
use backwater_engine::{State, Time};
use backwater_net::hooks::{
    Absent, Ack, CheckCx, Claims, Finding, FlowCx, FlowShape, FlowSide, Loss, Mechanism, Needs, Profile, Reach,
};
use backwater_net::packet::{DataHeader, Packet};
use backwater_net::{Bytes, Rate};
use rand::Rng;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Parameters of a prototype.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Name of the control: a Python class, which `Scenario.prototype` offers.
    #[param(told = "the name of a control that the running program offers", source = "Backwater's own")]
    pub control: String,
    /// Values of the control's own parameters, by their names. Those that are not given keep the values that the class gives them.
    #[param(default = BTreeMap::new(), unit = "a table of numbers", told = "finite numbers", source = "Backwater's own")]
    pub parameters: BTreeMap<String, f64>,
}

/// What a sender hears.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The flow begins. `seed`: of random numbers of its own.
    Start {
        /// What the flow is.
        shape: &'a FlowShape,
        /// A number that depends on the run's seed and the flow alone.
        seed: u64,
    },
    /// An acknowledgement; it says whether the packet was marked.
    Ack(&'a Ack<'a>),
    /// Packets are lost and will be sent again.
    Loss(Loss),
    /// The timer of this token has run out.
    Timer(u16),
}

/// What holds until the next answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Most unacknowledged bytes; `None`: no bound, 0: nothing is sent.
    pub window: Option<Bytes>,
    /// The rate of sending; `None`: the line's.
    pub rate: Option<Rate>,
    /// Timers to set: how long from now, and the token that is told then.
    pub timers: Vec<(Time, u16)>,
}

/// The control of one flow.
pub trait Control: Send {
    /// Something has happened at `now`; `sent`: bytes of payload that have been sent at least once.
    fn hear(&mut self, now: Time, sent: Bytes, event: Event<'_>) -> Answer;
}

/// Makes the control of one flow, with the parameters that are given.
pub type Make = dyn Fn(&BTreeMap<String, f64>) -> Box<dyn Control> + Send + Sync;

/// A control that the running program offers.
#[derive(Clone)]
pub struct Offer {
    /// Names of its parameters.
    pub parameters: Vec<String>,
    /// Whether marks mean something to it.
    pub marks: bool,
    /// Makes one.
    pub make: Arc<Make>,
}

static OFFERS: RwLock<BTreeMap<String, Offer>> = RwLock::new(BTreeMap::new());

/// Offers a control to all scenarios of this process. A name always means the same control: it is for who offers to see to that.
pub fn offer(name: &str, offer: Offer) {
    OFFERS.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), offer);
}

fn offered(name: &str) -> Option<Offer> {
    OFFERS.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

/// A prototype.
pub enum Prototype {}

impl Mechanism for Prototype {
    const NAME: &'static str = "prototype";
    const DEFINED_BY: &'static str = "Backwater";
    const SUMMARY: &'static str =
        "has a Python class of the user's set each flow's window and rate; slow, for prototypes";
    const IDLE: &'static str = "never bounded a window, nor a rate below the line's";
    type Params = Params;
    type Shared = ();
    type Switch = Absent;
    type Nic = Absent;
    type Flow = Sender;

    fn profile(params: &Params) -> Profile {
        let marks = offered(&params.control).is_some_and(|offer| offer.marks);
        Profile {
            claims: Claims { flow_rate: true, ..Claims::NONE },
            needs: Needs { marks, acks: true, window: true, ..Needs::default() },
            couples: true,
            ..Profile::default()
        }
    }

    fn check(params: &Params, _: &CheckCx<'_>) -> Vec<Finding> {
        let Params { control, parameters } = params;
        let Some(offer) = offered(control) else {
            let reason = format!("no control `{control}` is offered here");
            return vec![Finding::fatal(
                "control",
                reason,
                "a prototype runs from Python, where its class is: backwater.load(FILE).prototype(CLASS).run()",
            )];
        };
        let unknown = parameters.keys().filter(|name| !offer.parameters.contains(name)).map(|name| {
            let known = match offer.parameters.is_empty() {
                true => "it has none".to_owned(),
                false => format!("its parameters: {}", offer.parameters.join(", ")),
            };
            Finding::fatal("parameters", format!("control `{control}` has no parameter `{name}`"), known)
        });
        let endless = parameters.iter().filter(|(_, value)| !value.is_finite()).map(|(name, value)| {
            Finding::fatal("parameters", format!("{name} = {value} is no finite number"), "a number")
        });
        let slow = Finding::warning(
            "control",
            "each acknowledgement is a call into Python, of some 2 us, and the run has one thread",
            "good for some hundred flows; for more, write it in Rust: backwater new mechanism NAME",
        );
        unknown.chain(endless).chain([slow]).collect()
    }

    fn flow(params: &Params, _: &FlowShape, (): &()) -> Option<Sender> {
        let control = (offered(&params.control)?.make)(&params.parameters);
        Some(Sender { control, answer: Answer::default(), sent: Bytes::ZERO, bounds: 0 })
    }
}

/// The sender of one flow.
pub struct Sender {
    control: Box<dyn Control>,
    /// what holds; its timers are set
    answer: Answer,
    /// of payload, sent at least once
    sent: Bytes,
    /// times that the window was bounded or narrowed, or the rate lowered below the line's
    bounds: u64,
}

impl State for Sender {
    fn save(&self, to: &mut Saver) {
        to.fail(Unfit::new("nobody knows what a control outside of the core remembers"));
    }

    fn load(&mut self, _: &mut Loader<'_>) -> Result<(), Unfit> {
        Err(Unfit::new("nobody knows what a control outside of the core remembers"))
    }
}

// The specification.
impl FlowSide for Sender {
    #[inline(always)]
    fn rate(&self) -> Option<Rate> {
        self.answer.rate
    }

    #[inline(always)]
    fn window(&self) -> Option<Bytes> {
        self.answer.window
    }

    #[inline(always)]
    fn on_send(&mut self, _: &mut FlowCx<'_>, pkt: &mut Packet) {
        self.sent = self.sent.max(Bytes(pkt.data().map_or(0, DataHeader::end)));
    }

    fn on_start(&mut self, cx: &mut FlowCx<'_>) {
        let (shape, seed) = (*cx.shape(), cx.stream("prototype").next_u64());
        self.hear(cx, Event::Start { shape: &shape, seed });
    }

    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        self.hear(cx, Event::Ack(ack));
    }

    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
        self.hear(cx, Event::Loss(loss));
    }

    fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {
        self.hear(cx, Event::Timer(token));
    }

    fn reach(&self) -> Reach {
        Reach { acts: self.bounds, margin: None }
    }
}

impl Sender {
    fn hear(&mut self, cx: &mut FlowCx<'_>, event: Event<'_>) {
        let mut answer = self.control.hear(cx.now(), self.sent, event);
        for (after, token) in answer.timers.drain(..) {
            cx.arm(cx.now().after(after), token);
        }
        let line = cx.shape().line;
        let slower = answer.rate.filter(|rate| *rate < line);
        let lowered = lower(answer.window, self.answer.window) || lower(slower, self.answer.rate);
        self.bounds += u64::from(lowered);
        self.answer = answer;
    }
}

/// Whether a bound is lower than the one before; `None` is no bound.
fn lower<T: PartialOrd>(now: Option<T>, before: Option<T>) -> bool {
    now.is_some_and(|now| before.is_none_or(|before| now < before))
}

#[cfg(test)]
mod tests;
