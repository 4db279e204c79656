//! Source Flow Control — IEEE P802.1Qdw (draft), as the contributions of 2025 describe it.
//!
//! A congested egress queue asks the *source* of an arriving packet to stop for a time. Switches in between go on
//! sending, so congestion neither spreads nor deadlocks. PFC stays as the last resort.
//!
//! ```text
//! on enqueue of p to queue e:
//!     if q(e) > Th and now - last[source(p), e] >= min_interval:
//!         P = pause, or (q - target) x 8 / C where none is given
//!         send SFCM{P} to source(p); last[source(p), e] = now
//! on departure, with resume:  if q(e) < target: send SFCM{0} to every source that e has paused
//! at the source:              end[e] = now + P  (P = 0: none); stop the class (or the flow) until the latest end of all queues
//! or at its ToR (proxy):      take the message; pause the class of the source's link by PFC until the last such time
//! or there (isolation):       take the message; let the congested flow wait there until then, and pass the rest
//! a source with k queues:     SFCM echoes the DSCP of p; what is stopped is the queue of that DSCP, and not the class
//! ```
//!
//! N senders send at line rate C into one port. T_loop is the time from the queue passing Th until fewer bytes arrive
//! (contribution dw-chen-sfc-computation-simulation; see `formula.rs`):
//!
//! ```text
//! H = (N-1) C T_loop      Th + H <= PFC threshold      H/C < P < (Th+H)/C
//! ```
//!
//! This pause can be too short: `advise sfc` also prints a larger bound of this project, which the study sfc-buffer derives
//! and measures.
//!
//! With `resume` and without `min_interval`, at most one pause of a (source, queue) is outstanding: the next follows
//! when the last has ended or has been lifted. The contribution calls this suppression by "pause/resume messages".
//!
//! `congestion_point.rs` has the congestion point, `source.rs` the source, and `tor.rs`, `proxy.rs`, `isolation.rs` and
//! `cache.rs` the source's ToR. Advice is in `advice.rs`, `formula.rs` (the document's numbers), `bound.rs` (this
//! project's) and `advice_text.rs`. `incasts.rs` checks a scenario's settings against the document's numbers.
//!
//! # Not modelled
//! - how stations discover that others support SFC: `sfc.at_source` sets who acts, for each host or for all
//! - checks that the sender of a message may send it
//!
//! # Differences
//! - We have not read clause 52.5 (variables, procedure, encoding). Size and class of the message are choices of this project.
//! - The trigger is the length of the egress queue, whatever the ingress port. So a victim that shares only an ingress
//!   port is not paused.

mod advice;
mod advice_text;
mod bound;
mod cache;
mod config;
mod congestion_point;
mod formula;
mod incast_case;
mod incasts;
mod isolation;
mod pause_ends;
mod proxy;
mod source;
mod tor;
mod wire;

use backwater_net::hooks::{
    Account, Activity, Advice, AdviceError, AdviceForm, Carrier, CheckCx, Fate, Finding, Incasts, Ineffective,
    IsolationQueue, Levels, Mechanism, NicShape, PauseStyle, Place, Profile, Question, Situation, SwitchCx,
    SwitchShape, SwitchSide, Token, WireCx,
};
use backwater_net::occupancy::Occupancy;
use backwater_net::packet::{Class, Control, FlowRef, HostId, Packet, Port};
pub use config::{AtSource, Granularity, IsolationPer, IsolationQueues, Params, Points};
use congestion_point::CongestionPoint;
use serde_json::{Map, Value};
pub use source::EndStation;
use std::any::TypeId;
use tor::Tor;
use wire::Message;
pub use wire::{PAUSE, RESUME};

/// The mechanism at a bridge: its own queues are congestion points, and it may act for its hosts.
#[derive(backwater_derive::State)]
pub struct Bridge {
    #[state(within)]
    point: CongestionPoint,
    #[state(within)]
    tor: Tor,
}

// The specification.
#[backwater_derive::hooks]
impl SwitchSide for Bridge {
    /// q(e) > Th, and with resume q(e) < target. A ToR that isolates follows every packet.
    fn levels(&self, _: &Occupancy, of: Account) -> Levels {
        match of {
            Account::Egress(..) if self.tor.watches() => Levels::ALL,
            Account::Egress(port, queue) => self.point.levels(port, queue),
            _ => Levels::NONE,
        }
    }

    /// Isolation at the source's ToR: the isolation queue of a congested flow.
    #[inline(always)]
    fn divert(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) -> Option<IsolationQueue> {
        if self.tor.watches() { self.tor.divert(cx, at, pkt) } else { None }
    }

    /// On enqueue of p to queue e: if q(e) > Th, SFCM{P} to source(p).
    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if self.point.is_congested(cx, at) {
            self.congested(cx, at, pkt);
        }
        if self.tor.follows() {
            self.tor.joined(cx, at, pkt);
        }
    }

    /// On departure, with resume: if q(e) < target, SFCM{0}.
    #[inline(always)]
    fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
        if self.point.is_relieved(cx, at) {
            self.relieved(cx, at);
        }
    }

    /// A message to a host that may be attached here: proxy and isolation take it.
    fn on_control(&mut self, cx: &mut SwitchCx<'_>, _: Port, to: Option<HostId>, frame: &Control) -> Fate {
        match (to, frame.message()) {
            (Some(host), Some(message)) => self.tor.take(cx, host, frame.flow, message),
            _ => Fate::Passed,
        }
    }

    fn on_timer(&mut self, cx: &mut SwitchCx<'_>, token: Token) {
        self.tor.on_timer(cx, token);
    }

    fn activity(&self, _: &Occupancy) -> Activity {
        self.point.activity()
    }
}

impl Bridge {
    #[cold]
    fn congested(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
        let Some(data) = pkt.data() else { return };
        if let Some(message) = self.point.pause(cx, at, pkt, data.src) {
            self.notify_source(cx, data.src, Some(pkt.flow), message);
        }
    }

    #[cold]
    fn relieved(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
        for (source, flow, message) in self.point.resumes(cx, at) {
            self.notify_source(cx, source, Some(flow), message);
        }
    }

    /// Sends a message, unless the source is attached here and this switch acts for it.
    fn notify_source(&mut self, cx: &mut SwitchCx<'_>, source: HostId, flow: Option<FlowRef>, message: Message) {
        if self.tor.take(cx, source, flow, message) == Fate::Passed {
            let params = self.point.params();
            cx.route(source, Class(params.message_class), message.frame(flow, params.message_size.0 as u32));
        }
    }
}

/// Source Flow Control.
pub enum Sfc {}

#[backwater_derive::mechanism]
impl Mechanism for Sfc {
    const NAME: &'static str = "sfc";
    const DEFINED_BY: &'static str = "IEEE P802.1Qdw (draft), contributions of 2025";
    const SUMMARY: &'static str = "a congested queue pauses the sources of its packets for a time";
    const INACTIVE: &'static str = "never paused a source";
    const FRAMES: &'static [&'static str] = &[PAUSE, RESUME];
    const MESSAGE: TypeId = TypeId::of::<Message>();
    const VALUE: &'static str = "of SFC the pause time in ps";
    const ADVICE: Option<AdviceForm> = Some(advice::FORM);
    type Switch = Bridge;
    type Nic = EndStation;

    fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, cx, octets)
    }

    fn profile(params: &Params) -> Profile {
        config::profile(params)
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn pause_style(params: &Params) -> Option<PauseStyle> {
        config::pause_style(params)
    }

    fn check_incasts(params: &Params, incasts: &dyn Incasts) -> Vec<Finding> {
        incasts::findings(params, incasts)
    }

    fn facts(params: Option<&Params>, situation: &Situation) -> Map<String, Value> {
        advice::facts(params, situation)
    }

    fn advise(question: &Question) -> Result<Advice, AdviceError> {
        advice::answer(question)
    }

    fn ineffective(params: &Params) -> Vec<Ineffective> {
        config::ineffective(params)
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<Bridge> {
        Some(Bridge { point: CongestionPoint::new(params, shape), tor: Tor::new(params, shape) })
    }

    fn nic(params: &Params, shape: &NicShape) -> Option<EndStation> {
        Some(EndStation::new(params, shape))
    }
}

#[cfg(test)]
mod proxy_tests;
#[cfg(test)]
mod queues_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tor_tests;
