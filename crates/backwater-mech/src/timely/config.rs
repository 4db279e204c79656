//! The parameters of TIMELY, and its presets.

use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::hooks::Preset;
use backwater_net::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Data that must be acknowledged before a completion event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A segment: a fixed number of bytes has been acknowledged since the last event.
    Segment,
    /// A round trip: all data that was in flight at the last event has been acknowledged, and more.
    RoundTrip,
}

/// Events that count towards hyperactive increase (HAI).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HaiCounts {
    /// Events in a row whose gradient is not above 0, with a round-trip time of `t_low` or more.
    Gradient,
    /// All events in a row that increase the rate.
    Increases,
}

/// Parameters of TIMELY.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Weight of the newest difference of round-trip times in their average.
    #[param(symbol = "alpha", default = 0.875, range = >0.0..=1.0, source = "HPCC ns-3 code")]
    pub alpha: f64,
    /// Multiplicative decrease: share of the rate by which a gradient of 1 reduces it.
    #[param(symbol = "beta", default = 0.8, range = >0.0..=1.0, source = "HPCC ns-3 code")]
    pub beta: f64,
    /// Round-trip time below which the rate grows, whatever the gradient.
    #[param(symbol = "T_low", default = Time::us(50), range = Time::ZERO..=t_high, source = "HPCC ns-3 code")]
    pub t_low: Time,
    /// Round-trip time above which the rate shrinks, whatever the gradient.
    #[param(symbol = "T_high", default = Time::us(500), range = t_low.., source = "HPCC ns-3 code")]
    pub t_high: Time,
    /// Round-trip time by which the gradient is normalised.
    #[param(symbol = "minRTT", default = Time::us(20), range = Time(1).., source = "HPCC ns-3 code", why = "gradients are divided by it")]
    pub min_rtt: Time,
    /// Additive increase of the rate.
    #[param(symbol = "delta", default = Rate(10_000_000), range = Rate(1).., source = "SIGCOMM 2015", why = "the rate would never grow")]
    pub delta: Rate,
    /// Hyperactive increase of the rate, instead of `delta`.
    #[param(symbol = "N delta", default = Rate(50_000_000), range = delta.., source = "SIGCOMM 2015: N = 5 times delta")]
    pub hai: Rate,
    /// Number of increases by `delta` in a row before increases by `hai`; the paper's fifth event is the first after 4.
    #[param(default = 4, range = 0.., source = "SIGCOMM 2015: 4; HPCC ns-3 code: 5")]
    pub hai_after: u32,
    /// Events that count for `hai_after`.
    #[param(default = HaiCounts::Gradient, source = "SIGCOMM 2015; HPCC ns-3 code: increases")]
    pub hai_counts: HaiCounts,
    /// Data that must be acknowledged before a completion event.
    #[param(default = Event::Segment, source = "SIGCOMM 2015; HPCC ns-3 code: round-trip")]
    pub event: Event,
    /// Payload of a segment; the last segment of a flow may be shorter.
    #[param(default = Bytes(16_000), range = Bytes(1).., source = "SIGCOMM 2015: 16 to 64 KB", why = "a segment without a byte never ends")]
    pub segment: Bytes,
    /// Least rate of a flow.
    #[param(default = Rate(10_000_000), range = Rate(1).., up_to = "the line rate", source = "choice: delta; HPCC ns-3 config: 1 Gb/s", why = "a flow at rate zero never sends again")]
    pub min_rate: Rate,
}

/// Settings by name.
pub(super) const PRESETS: &[Preset] = &[
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
