//! The parameters of CSIG.

use backwater_net::prelude::*;

/// Most bands of the compact tag (SAI CSIG 3.2).
const COMPACT: u32 = 32;

/// Parameters of CSIG.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Interval over which ports count bytes, common to all switches.
    #[param(
        default = Time::us(256), range = Time(1)..,
        source = "SAI CSIG 4.5, 2025-05: 256 us; 4.4 also has 128 us and multiples of it up to 1024 us, or a vendor's", why = "no byte is sent in no time"
    )]
    pub interval: Time,
    /// Bands into which ABW/C is divided, from 0 to 1. Up to 32 the tag has 4 octets, above 8.
    #[param(default = 32, range = 1..=1_048_576, source = "SAI CSIG 4.5, 2025-05: 32; at most 32 compact, 1,048,576 wide", why = "the wide tag has no more")]
    pub bands: u32,
    /// Target load of the busiest port, as a share of its rate.
    #[param(symbol = "eta", default = 0.95, range = >0.0..=1.0, source = "choice: as HPCC, SIGCOMM 2019")]
    pub eta: f64,
    /// Additive increase of the rate.
    #[param(
        symbol = "R_AI", default = Rate(50_000_000), range = Rate(1).., source = "choice: as `hpcc.r_ai`",
        why = "flows that share a link would never become equal"
    )]
    pub r_ai: Rate,
    /// Least rate of a flow.
    #[param(
        default = Rate(100_000_000), range = Rate(1).., up_to = "the line rate", source = "choice: as `hpcc.min_rate`",
        why = "a flow at rate zero never sends again"
    )]
    pub min_rate: Rate,
}

/// Returns its effects on others and its needs.
pub(super) fn profile(params: &Params) -> Profile {
    let octets = Bytes(if params.bands > COMPACT { 8 } else { 4 });
    Profile {
        claims: Claims { flow_rate: true, ..Claims::NONE },
        needs: Needs { acks: true, ..Needs::default() },
        overhead: Overhead { data: octets, ack: octets },
        ..Profile::default()
    }
}
