//! MRC, Multipath Reliable Connection: the choice of paths — Araujo et al., "Resilient AI Supercomputer Networking using
//! MRC and SRv6", arXiv 2605.04333 (2026-05); draft-filsfils-srv6ops-srv6-ai-backend-04 (2026-06); OCP "MRC", revision
//! 1.0 (2026-03).
//!
//! The sender gives each packet of a flow an entropy value (EV), by which it takes one path of many. What comes back
//! tells the sender the state of that path. A mark or a trimmed packet shows congestion: the value is passed over once.
//! A packet that is lost without being trimmed shows a failure: the value is retired at once. Probes bring it back.
//! Routes are static, so that only senders react to failures.
//!
//! ```text
//! per packet            the next value in state GOOD, in turns                              values
//! ACK, marked           GOOD -> SKIP: passed over once, then GOOD
//! NACK, trimmed         at the port to its receiver: nothing;  elsewhere: GOOD -> SKIP
//! timeout               ASSUMED_BAD, from every state
//! ASSUMED_BAD           after `probe`, and then every `probe`: a probe with this value, while the flow has something to send
//! answer to a probe     k in a row: ASSUMED_BAD -> GOOD
//! source route          value v at choice i of the path:  port floor((v - 1) / (f1 ... f(i-1))) mod fi
//! ```
//!
//! With `fields` = f1, f2, … a value is a source route: f1 is the number of planes, f2 that of a leaf's uplinks. Planes
//! take turns, so with n a multiple of f1 each has as many values. A flow draws its paths in each plane. An ACK takes the value of its
//! packet, so over a symmetric network it comes back over the same switches. Without `fields`, switches hash values (ECMP).
//!
//! Reliability is [reliable unordered delivery](docs/modelling/connections.md#reliable-unordered-delivery), the window is
//! [NSCC](docs/modelling/nscc.md)'s, which MRC has from Ultra Ethernet, and [trimming](docs/modelling/trimming.md) tells
//! congestion from failures. Static routes are routes that follow late: `link.convergence`.
//!
//! We have read the abstract of the paper, and public notes with its sentences; of the specification only what
//! others write about it. We have not been able to read the draft beyond its abstract.
//!
//! # Not modelled
//! - the set of backup values: the number of values shrinks with each that is retired, and so a plane's share does
//! - the values of the reverse path, probed in each round trip without data: an ACK takes the value of its packet
//! - status updates of ports, by which a host tells others that a link of its own has failed
//! - the state DENIED and what sets it: a controller, the map of the cluster, a list of denied paths
//! - a receiver that reports a path as persistently bad (ALWAYS_SKIP)
//! - the octets of probes in captures: we cannot read their headers
//! - losses that a map of packets shows before their timers: no text that we can read states the rule
//!
//! # Differences
//! - A timeout is `transport.timeout` after the packet was sent. MRC's grows linearly and then exponentially, and no text
//!   that we can read gives its constants.
//! - If all values are retired, all take turns. No text says what happens then.
//! - A timeout may be false, if an ACK was lost or late. The value is retired all the same, until it is probed.
//! - With `fields` planes take turns strictly. MRC chooses a value of a plane whose port can take a packet.
//! - Fields are those of hops. If a switch has another number of ports towards the receiver, it hashes the value, as it
//!   does for a packet that a switch returns to its sender.
//! - With `topology.host_rate` no leaf has a port to a host, so no trimmed packet counts as trimmed at its last hop.

mod config;
pub mod values;
mod wire;

use self::values::Values;
use backwater_net::packet::{Body, Port};
use backwater_net::prelude::*;
pub use config::Params;
use std::any::TypeId;
use wire::Word;
pub use wire::{ANSWER, PROBE};

/// The sender of one flow.
#[derive(State)]
pub struct Sender {
    #[state(fixed)]
    params: Box<Params>,
    /// From the first packet on.
    values: Option<Box<Values>>,
    /// number of values that were retired or passed over
    avoided: u64,
}

// The specification.
#[hooks]
impl FlowSide for Sender {
    fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {
        let params = &self.params;
        let values = self.values.get_or_insert_with(|| Box::new(draw(params, cx)));
        if let Some(data) = pkt.data() {
            // arXiv 2605.04333, 2.1: a new value for each packet.
            let ev = values.take(number(data.offset, cx));
            pkt.spread_by(ev);
        }
        self.arm(cx);
    }

    fn on_ack(&mut self, _: &mut FlowCx<'_>, ack: &Ack<'_>) {
        let Some((values, counted)) = self.values.as_mut().zip(ack.counted) else { return };
        values.arrived(counted.cumulative);
        if ack.marked && counted.probe.is_none() {
            // arXiv 2605.04333, 2.1: the sender temporarily avoids it.
            self.avoided += u64::from(values.congested(counted.ev));
        }
    }

    fn timeout_is_loss(&mut self, number: u64, _: bool, _: Time) -> bool {
        // arXiv 2605.04333, 2.1: not trimmed but lost, the path is assumed to have failed.
        self.avoided += u64::from(self.values.as_mut().is_some_and(|values| values.lost(number)));
        true
    }

    #[cold]
    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
        if let (Loss::Trimmed(Cut { last_hop: false, ev, .. }), Some(values)) = (loss, &mut self.values) {
            // arXiv 2605.04333, 2.1: congestion and no failure.
            self.avoided += u64::from(values.congested(ev));
        }
        self.arm(cx);
    }

    fn on_timer(&mut self, cx: &mut FlowCx<'_>, place: u16) {
        let Some(values) = &mut self.values else { return };
        let idle = !values.in_flight() && cx.backlog() == Bytes::ZERO;
        let (now, then) = (cx.now(), cx.now().after(self.params.probe_interval));
        let Some(ev) = values.probe(place, now, then, idle) else { return };
        let &FlowShape { src, dst, class, .. } = cx.shape();
        // arXiv 2605.04333, 2.1: probes show whether paths that are assumed bad are bad.
        cx.send(dst, class, Word { ev, src, class, answers: false }.frame(cx.flow()));
        cx.arm(then, place);
    }

    fn on_control(&mut self, _: &mut FlowCx<'_>, frame: &Control) -> Fate {
        let Some(Word { ev, answers: true, .. }) = frame.message::<Word>() else { return Fate::Passed };
        if let Some(values) = &mut self.values {
            values.answered(ev, self.params.probes);
        }
        Fate::Consumed
    }

    fn activity(&self) -> Activity {
        Activity { acts: self.avoided, margin: None }
    }
}

/// A packet's number: that of its first byte, in full packets.
fn number(offset: u64, cx: &FlowCx<'_>) -> u64 {
    offset / cx.shape().payload.0.max(1)
}

/// The values of a flow that sends its first packet.
fn draw(params: &Params, cx: &FlowCx<'_>) -> Values {
    let mut rng = cx.stream("entropy values");
    match params.fields.as_deref() {
        None | Some([]) => Values::hashed(params.values, &mut rng),
        Some([planes, others @ ..]) => Values::routed(params.values, *planes, others.iter().product(), &mut rng),
    }
}

impl Sender {
    /// Arms the probes of values that have been retired meanwhile.
    fn arm(&mut self, cx: &mut FlowCx<'_>) {
        let due = cx.now().after(self.params.probe_interval);
        self.values.iter_mut().flat_map(|values| values.arm(due)).for_each(|place| cx.arm(due, place));
    }
}

/// A switch that forwards by source routes.
#[derive(State)]
pub struct Router {
    #[state(fixed)]
    fields: Vec<u32>,
}

#[hooks]
impl SwitchSide for Router {
    fn choose(&mut self, _: &mut SwitchCx<'_>, candidates: &[Port], pkt: &Packet) -> Option<Port> {
        let (before, rest) = self.fields.split_at_checked(usize::from(pkt.hops()))?;
        let (path, field) = (u32::from(pkt.ev()).checked_sub(1)?, *rest.first()?);
        // arXiv 2605.04333, 2.2: the path is a sequence of ports that the sender has chosen; tables are static.
        let port = path / before.iter().product::<u32>() % field;
        // A packet that a switch returns has not passed the switches before it on this way.
        let returned = matches!(pkt.body, Body::Ack(ack) if ack.is_returned());
        let on_route = candidates.len() == field as usize && !returned;
        on_route.then(|| candidates[port as usize])
    }
}

/// An interface that answers probes.
#[derive(State)]
pub struct Responder {
    probes: u64,
}

#[hooks]
impl NicSide for Responder {
    fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
        let Some(probe @ Word { answers: false, src, class, .. }) = frame.message::<Word>() else {
            return Fate::Passed;
        };
        self.probes += 1;
        cx.reply(src, class, Word { answers: true, ..probe }.frame(frame.flow));
        Fate::Consumed
    }

    fn counts(&self, _: Time) -> Vec<Count> {
        Vec::from_iter((self.probes > 0).then_some((Port(0), "ev_probes", self.probes)))
    }
}

/// MRC.
pub enum Mrc {}

#[backwater_derive::mechanism]
impl Mechanism for Mrc {
    const NAME: &'static str = "mrc";
    const DEFINED_BY: &'static str = "arXiv 2605.04333; OCP MRC 1.0; draft-filsfils-srv6ops-srv6-ai-backend-04";
    const SUMMARY: &'static str = "gives each packet an entropy value, retires values on loss until probes are answered, and passes over congested ones";
    const INACTIVE: &'static str = "never retired or passed over a value";
    const FRAMES: &'static [&'static str] = &[PROBE, ANSWER];
    const MESSAGE: TypeId = TypeId::of::<Word>();
    const VALUE: &'static str = "of a probe and its answer the entropy value";
    const COUNTERS: &'static str = "ev_probes (probes of entropy values that a host answered)";
    type Switch = Router;
    type Nic = Responder;
    type Flow = Sender;

    fn profile(_: &Params) -> Profile {
        Profile {
            claims: Claims { path: true, ..Claims::NONE },
            needs: Needs { recovery: true, counts: true, ..Needs::default() },
            reorders: true,
            longest_message: Bytes(u64::from(Control::MIN_FRAME)),
            ..Profile::default()
        }
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn switch(params: &Params, _: &SwitchShape) -> Option<Router> {
        Some(Router { fields: params.fields.clone()? })
    }

    fn nic(_: &Params, _: &NicShape) -> Option<Responder> {
        Some(Responder { probes: 0 })
    }

    fn flow(params: &Params, _: &FlowShape, (): &()) -> Option<Sender> {
        Some(Sender { params: Box::new(params.clone()), values: None, avoided: 0 })
    }
}

#[cfg(test)]
mod tests;
