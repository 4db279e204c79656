//! The parameters of DCTCP, its presets, and their checks.

use crate::base_rtt;
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::hooks::{CheckCx, Claims, Finding, Ineffective, Needs, Preset, Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Algorithm to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// That of the RFC, with a window as in TCP.
    Rfc8257,
    /// That of the public ns-3 code, with a rate.
    Ns3,
}

/// Parameters of DCTCP.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Algorithm: `rfc8257` (a window, as in TCP) or `ns3` (a rate and a window derived from it, as in the HPCC ns-3 code).
    #[param(default = Law::Rfc8257, source = "choice")]
    pub law: Law,
    /// Gain of alpha, the estimate of the marked share.
    #[param(
        symbol = "g", default = 1.0 / 16.0, range = >0.0..=1.0, source = "RFC 8257 section 4.2",
        why = "such a gain never learns or overshoots"
    )]
    pub g: f64,
    /// Value of alpha, the estimate of the marked share, for a new flow.
    #[param(symbol = "DCTCP.Alpha at first", default = 1.0, range = 0.0..=1.0, source = "RFC 8257 section 3.3")]
    pub initial_alpha: f64,
    /// Window of a new flow, in packets of full length.
    #[param(symbol = "IW", default = 10, range = 1.., source = "RFC 6928: 10", why = "a flow without a window never sends")]
    pub initial_window: u32,
    /// Narrowest window after a mark or a reported gap, in packets of full length. After a timeout the window is one packet.
    #[param(default = 2, range = 1.., source = "RFC 5681 equation 4: 2", why = "a flow without a window never sends")]
    pub min_window: u32,
    /// `ns3`: round-trip time of the idle network, one value for all flows; a little above the longest. The window is rate x this.
    #[param(symbol = "T", default = Time::us(13), range = Time(1).., source = "HPCC: 13 us, for its fat tree", why = "a flow without a window never sends")]
    pub base_rtt: Time,
    /// `ns3`: additive increase of the rate.
    #[param(symbol = "R_AI", default = Rate(1_000_000_000), range = Rate(0).., source = "HPCC ns-3 code; its run.py: a packet of 1000 B per 13 us")]
    pub r_ai: Rate,
    /// `ns3`: least rate of a flow.
    #[param(
        default = Rate(100_000_000), range = Rate(1).., up_to = "the line rate",
        source = "HPCC ns-3 code; its config: 1 Gb/s", why = "a flow at rate zero never sends again"
    )]
    pub min_rate: Rate,
}

/// Settings by name.
pub(super) const PRESETS: &[Preset] = &[
    Preset { name: "rfc8257", source: "RFC 8257", toml: "" },
    Preset {
        name: "ns3-hpcc",
        source: "HPCC ns-3 code, config for 100 Gb/s",
        toml: "law = \"ns3\"\nr_ai = \"615 Mb/s\"\nmin_rate = \"1 Gb/s\"\n",
    },
];

/// Returns its effects on others and its needs.
pub(super) fn profile() -> Profile {
    Profile {
        claims: Claims { flow_rate: true, ..Claims::NONE },
        needs: Needs { marks: true, acks: true, window: true, ..Needs::default() },
        ..Profile::default()
    }
}

/// Parameters that these settings leave without effect.
pub(super) fn ineffective(params: &Params) -> Vec<Ineffective> {
    match params.law {
        Law::Rfc8257 => Ineffective::all(&["base_rtt", "r_ai", "min_rate"], "law", "law = \"ns3\""),
        Law::Ns3 => Ineffective::all(&["initial_window", "min_window"], "law", "law = \"rfc8257\""),
    }
}

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    match params.law {
        Law::Rfc8257 => Vec::new(),
        Law::Ns3 => base_rtt::check(params.base_rtt, cx),
    }
}
