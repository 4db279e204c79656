//! TIMELY — Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015.
//!
//! The sender measures round trips. As long as they are short its rate grows, when they are long it shrinks with their length; between
//! the two it follows their gradient: it grows while queues drain, and shrinks in proportion to how fast they build up.
//!
//! ```text
//! once per completion event, of a segment or of a round trip's packets                                          algorithm 1
//!   new_rtt_diff = new_rtt - prev_rtt;   prev_rtt = new_rtt
//!   rtt_diff = (1 - alpha) rtt_diff + alpha new_rtt_diff;   normalized_gradient = rtt_diff / minRTT
//!   new_rtt < T_low:            rate += delta
//!   new_rtt > T_high:           rate *= 1 - beta (1 - T_high / new_rtt)
//!   normalized_gradient <= 0:   rate += N delta;   N = 5 from the fifth such event in a row on (HAI), else 1
//!   otherwise:                  rate *= 1 - beta normalized_gradient, not below 0
//! always                        min_rate <= rate <= line rate
//! ```
//!
//! The first event only stores `prev_rtt`. A round trip is the time from a packet's sending to its acknowledgement.
//!
//! | symbol | field | unit | default | source |
//! |---|---|---|---|---|
//! | alpha | `alpha` | – | 0.875 | HPCC ns-3 code; weight of the new difference |
//! | beta | `beta` | – | 0.8 | HPCC ns-3 code |
//! | T_low | `t_low` | time | 50 us | HPCC ns-3 code |
//! | T_high | `t_high` | time | 500 us | HPCC ns-3 code |
//! | minRTT | `min_rtt` | time | 20 us | HPCC ns-3 code |
//! | delta | `delta` | rate | 10 Mb/s | SIGCOMM 2015 |
//! | N delta | `hai` | rate | 50 Mb/s | SIGCOMM 2015: N = 5 |
//! | – | `hai_after` | events | 4 | SIGCOMM 2015; HPCC ns-3 code: 5 |
//! | – | `hai_counts` | – | gradient | SIGCOMM 2015; HPCC ns-3 code: increases |
//! | – | `event` | – | segment | SIGCOMM 2015; HPCC ns-3 code: round-trip |
//! | – | `segment` | bytes | 16 KB | SIGCOMM 2015: 16 to 64 KB |
//! | – | `min_rate` | rate | 10 Mb/s | choice: delta |
//!
//! The law has no single fixed point: flows that share a link keep whatever shares they have come to (Zhu et al., CoNEXT 2016).
//!
//! **Not modelled:** the octets of the time stamp (`packet.header`); segments that go out in one burst (the paper's engine sends a segment at line rate, and rests); the share of the
//! link with which the paper's flows begin: they begin at line rate, as in the HPCC ns-3 code.
//! **Where we differ:** a round trip is that of an event's last packet, which leaves out its segment's own serialisation, as the paper
//! does. A new rate moves a packet that already waits for its turn; in the HPCC ns-3 code it does not.

use backwater_engine::Time;
use backwater_net::hooks::{
    Absent, Ack, CheckCx, Claims, Finding, FlowCx, FlowShape, FlowSide, Margin, Mechanism, Needs, Preset, Reach, Unit,
};
use backwater_net::packet::Packet;
use backwater_net::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What ends with a completion event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A segment: so many bytes have been acknowledged since the last event.
    Segment,
    /// A round trip: all that had been sent at the last event has been acknowledged, and more.
    RoundTrip,
}

/// What brings hyperactive increase (HAI).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HaiCounts {
    /// Events in a row whose gradient is not above 0, with a round trip of `t_low` or more.
    Gradient,
    /// All events in a row with which the rate grows.
    Increases,
}

/// Parameters of TIMELY.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Weight of the newest difference of round trips in their average.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-source" = "HPCC ns-3 code", "x-range" = "above 0, at most 1"))]
    pub alpha: f64,
    /// Multiplicative decrease: what is taken off the rate for a gradient of 1, a share of it.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-source" = "HPCC ns-3 code", "x-range" = "above 0, at most 1"))]
    pub beta: f64,
    /// Round trip below which the rate grows, whatever the gradient.
    #[schemars(extend("x-source" = "HPCC ns-3 code", "x-range" = "0 s to t_high"))]
    pub t_low: Time,
    /// Round trip above which the rate shrinks, whatever the gradient.
    #[schemars(extend("x-source" = "HPCC ns-3 code", "x-range" = "t_low and more"))]
    pub t_high: Time,
    /// Round trip by which the gradient is normalised.
    #[schemars(extend("x-source" = "HPCC ns-3 code", "x-range" = "1 ps and more"))]
    pub min_rtt: Time,
    /// Additive increase.
    #[schemars(extend("x-source" = "SIGCOMM 2015", "x-range" = "1 b/s and more"))]
    pub delta: Rate,
    /// Hyperactive increase, in place of `delta`.
    #[schemars(extend("x-source" = "SIGCOMM 2015: N = 5 times delta", "x-range" = "delta and more"))]
    pub hai: Rate,
    /// Increases of `delta` in a row before those of `hai`; the paper's fifth event is the first after 4.
    #[schemars(extend("x-source" = "SIGCOMM 2015: 4; HPCC ns-3 code: 5", "x-range" = "0 and more"))]
    pub hai_after: u32,
    /// Which events count for that.
    #[schemars(extend("x-source" = "SIGCOMM 2015; HPCC ns-3 code: increases"))]
    pub hai_counts: HaiCounts,
    /// What ends with a completion event.
    #[schemars(extend("x-source" = "SIGCOMM 2015; HPCC ns-3 code: round-trip"))]
    pub event: Event,
    /// Payload of a segment; a flow's last one may be shorter.
    #[schemars(extend("x-source" = "SIGCOMM 2015: 16 to 64 KB", "x-range" = "1 B and more"))]
    pub segment: Bytes,
    /// Least rate.
    #[schemars(extend("x-source" = "choice: delta; HPCC ns-3 config: 1 Gb/s", "x-range" = "1 b/s to the line rate"))]
    pub min_rate: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            alpha: 0.875,
            beta: 0.8,
            t_low: Time::us(50),
            t_high: Time::us(500),
            min_rtt: Time::us(20),
            delta: Rate(10_000_000),
            hai: Rate(50_000_000),
            hai_after: 4,
            hai_counts: HaiCounts::Gradient,
            event: Event::Segment,
            segment: Bytes(16_000),
            min_rate: Rate(10_000_000),
        }
    }
}

/// TIMELY.
pub enum Timely {}

impl Mechanism for Timely {
    const NAME: &'static str = "timely";
    const DEFINED_BY: &'static str = "Mittal et al., SIGCOMM 2015";
    const SUMMARY: &'static str =
        "adapts each flow's rate by the length of its round trips and by how fast they change";
    const IDLE: &'static str = "never lowered a rate";
    const PRESETS: &'static [Preset] = &[
        Preset { name: "paper", source: "Mittal et al., SIGCOMM 2015", toml: "" },
        Preset {
            name: "ns3-hpcc",
            source: "HPCC ns-3 code, config for 100 Gb/s",
            toml: r#"
delta = "100 Mb/s"
hai = "500 Mb/s"
hai_after = 5
hai_counts = "increases"
event = "round-trip"
min_rate = "1 Gb/s"
"#,
        },
    ];
    type Params = Params;
    type Shared = ();
    type Switch = Absent;
    type Nic = Absent;
    type Flow = Sender;

    fn claims(_: &Params) -> Claims {
        Claims { flow_rate: true, ..Claims::NONE }
    }

    fn needs(_: &Params) -> Needs {
        Needs { marks: false, acks: true, window: false }
    }

    fn check(params: &Params, _: &CheckCx<'_>) -> Vec<Finding> {
        let fatal = |key, reason: String, hint: &str| Finding { fatal: true, key, reason, hint: hint.into() };
        let mut findings = Vec::new();
        for (key, value) in [("alpha", params.alpha), ("beta", params.beta)] {
            if !(value > 0.0 && value <= 1.0) {
                findings.push(fatal(key, format!("{value} is no share"), "above 0, at most 1"));
            }
        }
        if params.t_low > params.t_high {
            let reason = format!("t_low = {} is longer than t_high = {}", params.t_low, params.t_high);
            findings.push(fatal("t_low", reason, "t_low <= t_high"));
        }
        if params.min_rtt == Time::ZERO {
            findings.push(fatal("min_rtt", "gradients are divided by it".into(), "the idle round trip"));
        }
        if params.delta == Rate(0) {
            findings.push(fatal("delta", "a rate never grows by 0 b/s".into(), "1 b/s and more"));
        }
        if params.hai < params.delta {
            let reason = format!("hai = {} is less than delta = {}", params.hai, params.delta);
            findings.push(fatal("hai", reason, "delta and more"));
        }
        if params.segment == Bytes(0) {
            findings.push(fatal("segment", "a segment without a byte never ends".into(), "16 to 64 KB"));
        }
        if params.min_rate == Rate(0) {
            findings.push(fatal("min_rate", "a flow at rate zero never sends again".into(), "1 b/s and more"));
        }
        findings
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<Sender> {
        Some(Sender {
            rate: shape.line,
            line: shape.line,
            sent: 0,
            due: 0,
            prev_rtt: None,
            rtt_diff: 0.0,
            stage: 0,
            cuts: 0,
            longest: Time::ZERO,
            params: Box::new(params.clone()),
        })
    }
}

/// The sender of one flow.
pub struct Sender {
    rate: Rate,
    line: Rate,
    /// \[bytes\] end of the furthest packet that has been sent
    sent: u64,
    /// \[bytes\] the next event is when more than this, or (segments) as much, has been acknowledged
    due: u64,
    prev_rtt: Option<Time>,
    /// \[ps\] moving average
    rtt_diff: f64,
    /// increases in a row that count for HAI
    stage: u32,
    /// times that the rate was lowered
    cuts: u64,
    /// the longest round trip of an event
    longest: Time,
    params: Box<Params>,
}

// The specification.
impl FlowSide for Sender {
    #[inline(always)]
    fn rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    #[inline(always)]
    fn on_send(&mut self, _: &mut FlowCx<'_>, pkt: &mut Packet) {
        self.sent = self.sent.max(pkt.seq + u64::from(pkt.payload));
        if self.due == 0 && self.params.event == Event::Segment {
            self.due = self.params.segment.0;
        }
    }

    fn on_ack(&mut self, _: &mut FlowCx<'_>, ack: &Ack) {
        let completes = match self.params.event {
            Event::Segment => ack.received >= self.due,
            Event::RoundTrip => ack.received > self.due,
        };
        if !completes {
            return;
        }
        self.due = match self.params.event {
            Event::Segment => ack.received + self.params.segment.0,
            Event::RoundTrip => self.sent,
        };
        self.longest = self.longest.max(ack.rtt);
        if let Some(prev_rtt) = self.prev_rtt.replace(ack.rtt) {
            self.completion_event(ack.rtt, prev_rtt);
        }
    }

    fn reach(&self) -> Reach {
        let (peak, threshold) = (self.longest.0, self.params.t_low.0);
        Reach { acts: self.cuts, margin: Some(Margin { of: "longest round trip", unit: Unit::Time, peak, threshold }) }
    }
}

impl Sender {
    /// Algorithm 1.
    fn completion_event(&mut self, new_rtt: Time, prev_rtt: Time) {
        let Params { alpha, beta, t_low, t_high, min_rtt, .. } = *self.params;
        let new_rtt_diff = new_rtt.0 as f64 - prev_rtt.0 as f64;
        self.rtt_diff = (1.0 - alpha) * self.rtt_diff + alpha * new_rtt_diff;
        let normalized_gradient = self.rtt_diff / min_rtt.0 as f64;
        if new_rtt < t_low {
            self.increase(self.params.hai_counts == HaiCounts::Increases);
        } else if new_rtt > t_high {
            self.decrease(1.0 - beta * (1.0 - t_high.0 as f64 / new_rtt.0 as f64));
        } else if normalized_gradient <= 0.0 {
            self.increase(true);
        } else {
            self.decrease((1.0 - beta * normalized_gradient).max(0.0));
        }
    }

    /// Adds `delta` or, where such increases count and there have been enough in a row, `hai`.
    fn increase(&mut self, counts: bool) {
        let by = if counts && self.stage >= self.params.hai_after { self.params.hai } else { self.params.delta };
        self.stage = if counts { self.stage.saturating_add(1) } else { 0 };
        self.rate = Rate(self.rate.0.saturating_add(by.0)).min(self.line);
    }

    /// Leaves `share` of the rate.
    fn decrease(&mut self, share: f64) {
        self.stage = 0;
        let lower = Rate((self.rate.0 as f64 * share) as u64).max(self.params.min_rate.min(self.line));
        self.cuts += u64::from(lower < self.rate);
        self.rate = lower;
    }
}

#[cfg(test)]
mod tests;
