//! Parameters of HPCC, the scenario's table `hpcc`, with their checks.

use super::int::HOPS;
use super::pint;
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::hooks::{CheckCx, Finding};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Information that packets carry about the links of their path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Telemetry {
    /// A record of each hop, from which the sender computes the load.
    Int,
    /// The load of the busiest hop, which switches compute.
    Pint,
}

/// Parameters of HPCC.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Information that packets carry: `int` (a record of each hop) or `pint` (the load of the busiest hop, in one or two octets).
    #[param(default = Telemetry::Int, source = "SIGCOMM 2019; PINT, SIGCOMM 2020: pint")]
    pub telemetry: Telemetry,
    /// Round-trip time of the idle network, one value for all flows; a little above the longest.
    #[param(
        symbol = "T", default = Time::us(13), range = Time(1)..,
        source = "SIGCOMM 2019: 13 us, for its fat tree", why = "loads are measured against it"
    )]
    pub base_rtt: Time,
    /// Target utilisation of the busiest link, as a share of its rate.
    #[param(symbol = "eta", default = 0.95, range = >0.0..=1.0, source = "SIGCOMM 2019")]
    pub eta: f64,
    /// Consecutive additive increases, one per round trip, before a multiplicative increase; 0: all increases are multiplicative.
    #[param(symbol = "maxStage", default = 5, range = 0.., source = "SIGCOMM 2019; HPCC ns-3 config: 0")]
    pub max_stage: u32,
    /// Additive increase of the rate.
    #[param(
        symbol = "W_AI / T", default = Rate(50_000_000), range = Rate(1)..,
        source = "SIGCOMM 2019: 80 B per 13 us; HPCC ns-3 run.py: 0.4 Mb/s per Gb/s",
        why = "flows that share a link would never become equal"
    )]
    pub r_ai: Rate,
    /// Least rate of a flow.
    #[param(
        default = Rate(100_000_000), range = Rate(1).., up_to = "the line rate",
        source = "HPCC ns-3 code; its config: 1 Gb/s", why = "a flow at rate zero never sends again"
    )]
    pub min_rate: Rate,
    /// `int`: units of the records: bytes in multiples of this x 128 B, and queue lengths in multiples of this x 80 B, both rounded
    /// down; 0: exact bytes.
    #[param(symbol = "INT_MULTI", default = 0, range = 0..=1000, source = "choice; HPCC ns-3 run.py: 1 per 25 Gb/s")]
    pub int_multi: u32,
    /// `pint`: base of the powers that encode loads. A base nearer to 1 is more precise and takes more octets: 1 octet from 1.05 on, 2
    /// below.
    #[param(symbol = "b", default = 1.05, range = >1.0..=2.0, source = "PINT, SIGCOMM 2020: 1.05; HPCC ns-3 config: 1.01", why = "all powers of 1 are 1")]
    pub pint_base: f64,
    /// `pint`: bytes from which a port computes its load: `all` that it has sent since the last data packet, or `last`: those of the last
    /// frame, acknowledgements included, as in the HPCC ns-3 code.
    #[param(default = pint::Counts::All, source = "PINT, SIGCOMM 2020: all; HPCC ns-3 code, switch-node.cc: last")]
    pub pint_counts: pint::Counts,
}

/// Warns of what INT cannot show a sender of this network.
pub(super) fn out_of_sight(cx: &CheckCx<'_>) -> Option<Finding> {
    let many = cx.longest_way.filter(|way| way.switches > HOPS).map(|way| {
        format!(
            "INT has room for {HOPS} switches, and the way from {} to {} passes {}: the load behind the fifth is not seen",
            way.between.0, way.between.1, way.switches
        )
    });
    let spread = cx.spread_by.map(|name| {
        format!(
            "`{name}` sends packets of one flow over several ways, and a record of INT says something only beside that of the acknowledgement \
             before, if both came the same way: most are not read"
        )
    });
    let reasons: Vec<String> = many.into_iter().chain(spread).collect();
    let hint = "telemetry = \"pint\": a packet brings the load of the busiest switch, whatever their number and the way of the packet before";
    (!reasons.is_empty()).then(|| Finding::warning("telemetry", reasons.join("; "), hint))
}
