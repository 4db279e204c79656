//! Entropy values: a sender spreads the packets of a flow over equal paths — UEC 1.0 (entropy value, EV, of the packet
//! delivery sublayer); Bonato et al., "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure
//! Mitigation", EuroSys 2026; rules of `htsim_uec` (ultraethernet/uet-htsim, commit 40ccb052).
//!
//! Switches choose among equal paths by a hash (ECMP). The sender gives each packet a value for this hash, and thus
//! another path. The acknowledgement returns the value and reports the state of the path. [`values`] has the rules;
//! this file feeds them with the events of a run.
//!
//! ```text
//! packet       value by `policy`; the same value of the same flow takes the same way
//! ACK          unmarked: good;  marked: marked
//! cut          at the port to its receiver: as an ACK, since no other way would do;  elsewhere: trimmed
//! timeout      of an unknown value, for which 0 stands
//! ```
//!
//! The NACK of a trimmed packet counts before the packet is retransmitted, as an ACK counts before the packets that it
//! releases. In `htsim_uec` the order is reversed if the retransmission may leave at once (`cut_counts_first = false`):
//! it chooses the new value before it counts the NACK.
//!
//! An acknowledgement uses the value of the packet that caused it. Control frames have no value.
//!
//! # Not modelled
//! - probes of paths
//! - values of control messages

mod config;
pub mod values;

pub use config::{Params, Policy};

use self::values::{Bitmap, Feedback, Mixed, Oblivious, Recycled, Reps};
use backwater_engine::{Rng, Time};
use backwater_net::hooks::{
    Ack, Activity, CheckCx, Claims, Finding, FlowCx, FlowShape, FlowSide, Loss, Mechanism, Needs, Profile, Turn,
};
use backwater_net::packet::Packet;
use serde::{Deserialize, Serialize};

/// The state of a policy, and the flow's random numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    rng: Rng,
    values: Values,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Values {
    Oblivious(Oblivious),
    Bitmap(Bitmap),
    Reps(Reps),
    Recycled(Recycled),
    Mixed(Mixed),
}

/// The sender of one flow.
#[derive(backwater_derive::State)]
pub struct Sender {
    #[state(fixed)]
    policy: Policy,
    /// log2 P
    #[state(fixed)]
    bits: u32,
    #[state(fixed)]
    cut_counts_first: bool,
    /// From the first packet on.
    state: Option<Box<Kept>>,
    /// When the answer to a trimmed packet arrived, its value and the feedback on it; it counts once a packet has left, or later.
    pending: Option<(Time, u16, Feedback)>,
    /// number of packets with a value
    drawn: u64,
    /// number of values that were reused
    reused: u64,
}

// The specification.
#[backwater_derive::hooks]
impl FlowSide for Sender {
    fn on_turn(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet, turn: &Turn) {
        if self.pending.is_some_and(|(came, ..)| came < cx.now()) {
            self.settle(cx);
        }
        let (policy, bits) = (self.policy, self.bits);
        let kept = self.state.get_or_insert_with(|| {
            let mut rng = cx.stream("entropy values");
            let values = match policy {
                Policy::Oblivious => Values::Oblivious(Oblivious::new(bits, &mut rng)),
                Policy::Bitmap => Values::Bitmap(Bitmap::new(bits, &mut rng)),
                Policy::Reps => Values::Reps(Reps::new(bits)),
                Policy::Recycled => Values::Recycled(Recycled::new(bits)),
                Policy::Mixed => Values::Mixed(Mixed::new(bits, &mut rng)),
            };
            Box::new(Kept { rng, values })
        });
        let (now, rng) = (cx.now(), &mut kept.rng);
        let again = match &mut kept.values {
            Values::Oblivious(_) | Values::Bitmap(_) => None,
            Values::Reps(reps) => reps.reuse(now),
            Values::Recycled(recycled) => recycled.reuse(),
            Values::Mixed(mixed) => mixed.reuse(),
        };
        self.reused += u64::from(again.is_some());
        let window = turn.window;
        let value = again.unwrap_or_else(|| match &mut kept.values {
            Values::Oblivious(oblivious) => oblivious.next(rng),
            Values::Bitmap(bitmap) => bitmap.next(rng),
            Values::Reps(reps) => reps.draw(rng),
            Values::Recycled(recycled) => {
                recycled.draw(self.drawn, window.map(|window| window.0 / u64::from(pkt.size.max(1))), rng)
            }
            Values::Mixed(mixed) => mixed.draw(rng),
        });
        self.drawn += 1;
        pkt.spread_by(value);
        self.settle(cx);
    }

    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        // An answer to a probe has no feedback on a value: a mechanism's frames have none.
        if let Some(counted) = ack.counted.filter(|counted| counted.probe.is_none()) {
            self.settle(cx);
            self.learn(cx, counted.ev, came(ack.marked));
        }
    }

    #[cold]
    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
        self.settle(cx);
        match loss {
            Loss::Trimmed(cut) => {
                let feedback = if cut.last_hop { came(cut.marked) } else { Feedback::Trimmed };
                self.pending = Some((cx.now(), cut.ev, feedback));
                if self.cut_counts_first {
                    self.settle(cx);
                }
            }
            Loss::Timeout { .. } => self.learn(cx, 0, Feedback::Timeout),
            Loss::Gap => {}
        }
    }

    fn activity(&self) -> Activity {
        Activity { acts: self.reused, margin: None }
    }
}

fn came(marked: bool) -> Feedback {
    if marked { Feedback::Marked } else { Feedback::Good }
}

impl Sender {
    /// Applies the pending feedback.
    fn settle(&mut self, cx: &FlowCx<'_>) {
        if let Some((_, value, feedback)) = self.pending.take() {
            self.learn(cx, value, feedback);
        }
    }

    fn learn(&mut self, cx: &FlowCx<'_>, value: u16, feedback: Feedback) {
        let Some(kept) = &mut self.state else { return };
        match &mut kept.values {
            Values::Oblivious(_) => {}
            Values::Bitmap(bitmap) => bitmap.feedback(value, feedback),
            Values::Reps(reps) => reps.feedback(cx.now(), value, feedback),
            Values::Recycled(recycled) => recycled.feedback(value, feedback),
            Values::Mixed(mixed) => mixed.feedback(value, feedback),
        }
    }
}

/// Entropy values.
pub enum EntropyValues {}

#[backwater_derive::mechanism]
impl Mechanism for EntropyValues {
    const NAME: &'static str = "ev";
    const DEFINED_BY: &'static str = "UEC 1.0; Bonato et al., EuroSys 2026";
    const SUMMARY: &'static str =
        "gives each packet a value by which switches choose its path, and learns from the acknowledgements";
    const INACTIVE: &'static str = "never took up a value again";
    type Flow = Sender;

    fn profile(_: &Params) -> Profile {
        Profile {
            claims: Claims { path: true, ..Claims::NONE },
            needs: Needs { recovery: true, counts: true, ..Needs::default() },
            reorders: true,
            ..Profile::default()
        }
    }

    fn check(params: &Params, _: &CheckCx<'_>) -> Vec<Finding> {
        let values = params.values.max(1);
        let (below, above) = (1 << values.ilog2(), values.next_power_of_two());
        let odd = (!values.is_power_of_two()).then(|| Finding {
            fatal: true,
            key: "values",
            reason: format!("{values} is no power of two: a value is so many bits of the packet"),
            hint: format!("{below} or {above}"),
        });
        Vec::from_iter(odd)
    }

    fn flow(params: &Params, _: &FlowShape, (): &()) -> Option<Sender> {
        let bits = params.values.max(1).ilog2();
        let cut_counts_first = params.cut_counts_first;
        Some(Sender { policy: params.policy, bits, cut_counts_first, state: None, pending: None, drawn: 0, reused: 0 })
    }
}

#[cfg(test)]
mod tests;
