//! A given round trip T of the idle network, and its use by senders.

use backwater_engine::Time;
use backwater_net::hooks::{CheckCx, Finding, RoundTrip};
use backwater_net::{Bytes, Rate};

/// Returns the bytes in flight at a rate R for a time T: the window of a flow that is sent at R.
#[inline(always)]
pub(crate) fn window(rate: Rate, base_rtt: Time) -> Bytes {
    let bits = u128::from(rate.0) * u128::from(base_rtt.0) / 1_000_000_000_000;
    Bytes(u64::try_from(bits / 8).unwrap_or(u64::MAX).max(1))
}

/// Percentage of its link that a flow alone should fill: the target of HPCC (eta). A T without headers and acknowledgements, as in HPCC's
/// ns-3 code, is a few per cent too short.
const ENOUGH: u128 = 95;

/// Warns of a `base_rtt` so far below the longest round trip that a flow alone there fills less of its link than it should.
pub(crate) fn check(base_rtt: Time, cx: &CheckCx<'_>) -> Vec<Finding> {
    let too_long = cx.round_trip.filter(|there| u128::from(base_rtt.0) * 100 < u128::from(there.time.0) * ENOUGH);
    let Some(RoundTrip { time, between: (from, to) }) = too_long else { return Vec::new() };
    let share = base_rtt.0 as f64 / time.0 as f64;
    let reason = format!(
        "{base_rtt} is shorter than the round trip of the idle network, {time} from {from} to {to} and back: the window of a flow alone there \
         fills {:.0} % of its link",
        100.0 * share
    );
    let hint = format!("a little more than the longest round trip, such as \"{}\"", Time(time.0 + time.0 / 20));
    vec![Finding::warning("base_rtt", reason, hint)]
}
