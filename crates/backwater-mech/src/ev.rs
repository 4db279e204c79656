//! Entropy values: a sender spreads the packets of a flow over equal ways — UEC 1.0 (entropy value, EV, of the packet delivery sublayer); Bonato
//! et al., "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure Mitigation", EuroSys 2026; rules of `htsim_uec`
//! (ultraethernet/uet-htsim, commit 40ccb052).
//!
//! Switches choose among equal ways by a hash (ECMP). The sender gives each packet a value that goes into this hash, and so another way; the answer
//! brings the value back, and says how the way was. [`crate::uet::values`] has the rules; this file says what of a run goes into them.
//!
//! ```text
//! packet       value by `policy`; the same value of the same flow takes the same way
//! ACK          unmarked: good;  marked: marked
//! cut          at the port to its receiver: as an ACK, since no other way would do;  elsewhere: trimmed
//! timeout      of an unknown value, for which 0 stands
//! ```
//!
//! The answer to a cut packet counts before the packet goes again, as an ACK counts before what it lets go. `htsim_uec` has it the other way round
//! where the packet may go at once (`cut_counts_first = false`): its new value is chosen without what the answer says.
//!
//! An answer goes back by the value of the packet that caused it. Control frames have no value.
//!
//! **Not modelled:** probes of ways; values of control frames.

use crate::uet::values::{Bitmap, Feedback, Mixed, Oblivious, Recycled, Reps};
use backwater_derive::parameters;
use backwater_engine::{Rng, Time};
use backwater_net::hooks::{
    Absent, Ack, CheckCx, Claims, Finding, FlowCx, FlowShape, FlowSide, Loss, Mechanism, Needs, Profile, Reach, Turn,
};
use backwater_net::packet::Packet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a sender chooses the value of the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// All values in turns, in an order that changes after each pass.
    Oblivious,
    /// The same, passing over values that were marked, cut or lost.
    Bitmap,
    /// Values that came through unmarked once more, of the last eight; otherwise one by chance.
    Reps,
    /// All values that came through unmarked once more, in their order; otherwise one by chance.
    Recycled,
    /// These; where there are none, as `bitmap`.
    Mixed,
}

/// Parameters of entropy values.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// `oblivious`, `bitmap`, `reps`, `recycled` or `mixed`.
    #[param(default = Policy::Mixed, source = "uet-htsim: mixed")]
    pub policy: Policy,
    /// Number of values: a power of two.
    #[param(
        symbol = "P", default = 64, range = 1..=65536, source = "uet-htsim: -paths, 64", why = "a value has 16 bits"
    )]
    pub values: u32,
    /// Whether the answer to a cut packet counts before the packet is retransmitted. `false`: after that, if it may go at once, as in `htsim_uec`.
    #[param(default = true, source = "choice: as acknowledgements count; uet-htsim, UecSrc::processNack: false")]
    pub cut_counts_first: bool,
}

/// Entropy values.
pub enum EntropyValues {}

impl Mechanism for EntropyValues {
    const NAME: &'static str = "ev";
    const DEFINED_BY: &'static str = "UEC 1.0; Bonato et al., EuroSys 2026";
    const SUMMARY: &'static str =
        "gives each packet a value by which switches choose its way, and learns from the answers";
    const IDLE: &'static str = "never took up a value again";
    type Params = Params;
    type Shared = ();
    type Switch = Absent;
    type Nic = Absent;
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
        Some(Sender { policy: params.policy, bits, cut_counts_first, state: None, pending: None, drawn: 0, again: 0 })
    }
}

/// What a policy keeps, and the flow's random numbers.
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
    /// When the answer to a cut packet came, and what it says of which value; it counts once a packet has gone, or later.
    pending: Option<(Time, u16, Feedback)>,
    /// packets that were given a value
    drawn: u64,
    /// values that were taken up again
    again: u64,
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
            Values::Reps(reps) => reps.again(now),
            Values::Recycled(recycled) => recycled.again(),
            Values::Mixed(mixed) => mixed.again(),
        };
        self.again += u64::from(again.is_some());
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
        // What answers a probe says nothing of a value: a mechanism's frames have none.
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

    fn reach(&self) -> Reach {
        Reach { acts: self.again, margin: None }
    }
}

fn came(marked: bool) -> Feedback {
    if marked { Feedback::Marked } else { Feedback::Good }
}

impl Sender {
    /// What is pending counts.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::tables;
    use backwater_net::Rate;
    use backwater_net::bench::{FlowBench, data};
    use backwater_net::hooks::{Counted, Cut};
    use backwater_net::packet::{Class, HostId};

    fn packet() -> Packet {
        data(HostId(0), HostId(1), 0, Class(3), 1000)
    }

    fn cut(ev: u16, marked: bool, last_hop: bool) -> Loss {
        Loss::Trimmed(Cut { bytes: 1064, rtt: Time::us(10), in_flight: 1064, last_hop, marked, ev, returned: false })
    }

    /// Packets of two recorded senders of `htsim_uec` (`uet/traces/README.md`) whose value is one that had come through: how many are given that value,
    /// and how many another one.
    fn replayed(cut_counts_first: bool) -> (u32, u32) {
        let (mut same, mut other) = (0, 0);
        for table in tables("src/uet/traces/values", |_| true) {
            assert_eq!(table.columns, ["event", "t_ps", "psn", "ev", "marked", "last_hop"]);
            let params = Params { cut_counts_first, ..Params::default() };
            let mut bench = FlowBench::new(Rate::gbps(100));
            let mut sender = EntropyValues::flow(&params, bench.shape(), &()).expect("it acts at flows");
            for row in &table.rows {
                let ev = row[3].parse().unwrap();
                let (marked, last_hop) = (row[4] == "1", row[5] == "1");
                bench.now = Time(row[1].parse().unwrap());
                match row[0].as_str() {
                    "A" => {
                        let counted = Counted { ev, ..Counted::default() };
                        let counted = Some(&counted);
                        let ack = Ack { received: 0, rtt: Time::us(10), marked, carried: None, counted };
                        sender.on_ack(&mut bench.cx(), &ack);
                    }
                    "N" => sender.on_loss(&mut bench.cx(), cut(ev, marked, last_hop)),
                    _ => {
                        let (before, mut pkt) = (sender.again, packet());
                        sender.on_turn(&mut bench.cx(), &mut pkt, &Turn::default());
                        let is = sender.again > before && pkt.data().map(|data| data.ev) == Some(ev);
                        same += u32::from(is);
                        other += u32::from(sender.again > before && !is);
                    }
                }
            }
        }
        (same, other)
    }

    /// In the program's order all 37 that are used again are those recorded: 17 and 20, counted in the files by a script of a few lines. In the other
    /// order one value is used too early, and all that follow are others.
    #[test]
    fn what_was_cut_goes_again_before_it_counts_in_the_traces() {
        assert_eq!(replayed(false), (37, 0));
        assert!(replayed(true).1 > 20);
    }

    /// REPS uses a value that came through once more, and else draws one. A packet is cut at the port to its receiver, so that its value is good, and
    /// two go after that. Whether the first of them has the value: by default it has; with `htsim_uec`'s order only what goes later than the
    /// answer, and the second has it where the first goes at once.
    #[test]
    fn what_was_cut_counts_before_or_after_it_goes_again() {
        let used_again = |cut_counts_first: bool, later: Time| {
            let params = Params { policy: Policy::Reps, cut_counts_first, ..Params::default() };
            let mut bench = FlowBench::new(Rate::gbps(100));
            let mut sender = EntropyValues::flow(&params, bench.shape(), &()).expect("it acts at flows");
            let send = |bench: &mut FlowBench, sender: &mut Sender| {
                let mut pkt = packet();
                sender.on_turn(&mut bench.cx(), &mut pkt, &Turn::default());
                sender.again
            };
            assert_eq!(send(&mut bench, &mut sender), 0);
            bench.now = Time::us(10);
            sender.on_loss(&mut bench.cx(), cut(40, false, true));
            bench.now = Time::us(10) + later;
            [send(&mut bench, &mut sender), send(&mut bench, &mut sender)]
        };
        for later in [Time::ZERO, Time::ns(1)] {
            assert_eq!(used_again(true, later), [1, 1], "{later}");
        }
        assert_eq!(used_again(false, Time::ZERO), [0, 1]);
        assert_eq!(used_again(false, Time::ns(1)), [1, 1]);
    }
}
