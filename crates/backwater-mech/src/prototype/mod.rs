//! A congestion control that is written outside of the core, for prototypes of some hundred flows.
//!
//! The program that runs a scenario offers a control under a name ([`offer`]); the scenario names it. Backwater's
//! Python package offers classes in this way (`Scenario.prototype`). Each flow has its own control. It learns of the
//! events of its sender, and sets a window and a rate, which hold until it sets them again.
//!
//! ```text
//! flow begins         answer = on_start
//! acknowledgement     answer = on_mark, if the packet that it answers was marked;   otherwise on_ack
//! packets lost        answer = on_loss
//! timer has run out   answer = on_timer
//! always              bytes that are not acknowledged <= window;   bytes leave at rate
//! ```
//!
//! # Not modelled
//! - hooks at switches and interfaces, control frames, and fields that packets carry: these need a mechanism in Rust (`backwater new
//!   mechanism`)
//!
//! # Differences
//! - A run with it has one thread, since controls of all flows may share state. It cannot be saved, since the state of
//!   a control is unknown.

mod config;
mod control;

use backwater_engine::State;
use backwater_engine::state::{Loader, Saver, Unfit};
use backwater_net::hooks::{Ack, Activity, CheckCx, Finding, FlowCx, FlowShape, FlowSide, Loss, Mechanism, Profile};
use backwater_net::packet::{DataHeader, Packet};
use backwater_net::{Bytes, Rate};
pub use config::Params;
use control::offered;
pub use control::{Answer, Control, Event, Make, Offer, offer};
use rand::Rng;

/// The sender of one flow.
pub struct Sender {
    control: Box<dyn Control>,
    /// the current bounds; its timers are set
    answer: Answer,
    /// of payload, sent at least once
    sent: Bytes,
    /// number of times that the window was bounded or narrowed, or the rate lowered below the line rate
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
#[backwater_derive::hooks]
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
        self.on_event(cx, Event::Start { shape: &shape, seed });
    }

    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        self.on_event(cx, Event::Ack(ack));
    }

    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
        self.on_event(cx, Event::Loss(loss));
    }

    fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {
        self.on_event(cx, Event::Timer(token));
    }

    fn activity(&self) -> Activity {
        Activity { acts: self.bounds, margin: None }
    }
}

impl Sender {
    fn on_event(&mut self, cx: &mut FlowCx<'_>, event: Event<'_>) {
        let mut answer = self.control.on_event(cx.now(), self.sent, event);
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

/// Returns whether a bound is lower than the one before; `None` is no bound.
fn lower<T: PartialOrd>(now: Option<T>, before: Option<T>) -> bool {
    now.is_some_and(|now| before.is_none_or(|before| now < before))
}

/// A prototype.
pub enum Prototype {}

#[backwater_derive::mechanism]
impl Mechanism for Prototype {
    const NAME: &'static str = "prototype";
    const DEFINED_BY: &'static str = "Backwater";
    const SUMMARY: &'static str = "lets a Python class set each flow's window and rate; slow, for prototypes";
    const INACTIVE: &'static str = "never bounded a window, nor a rate below the line's";
    type Flow = Sender;

    fn profile(params: &Params) -> Profile {
        config::profile(params)
    }

    fn check(params: &Params, _: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params)
    }

    fn flow(params: &Params, _: &FlowShape, (): &()) -> Option<Sender> {
        let control = (offered(&params.control)?.make)(&params.parameters);
        Some(Sender { control, answer: Answer::default(), sent: Bytes::ZERO, bounds: 0 })
    }
}

#[cfg(test)]
mod tests;
