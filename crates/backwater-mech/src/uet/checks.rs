//! What UEC's controls have to say of a scenario before it runs.

use backwater_engine::Time;
use backwater_net::hooks::{CheckCx, Finding, RoundTrip};

/// A `network_rtt` of more than twice the longest round trip of the idle network, which most likely is that of another network. Twice is
/// our choice.
pub(crate) fn too_long(network_rtt: Time, cx: &CheckCx<'_>) -> Option<Finding> {
    let RoundTrip { time, between: (from, to) } =
        cx.round_trip.filter(|longest| network_rtt > longest.time.after(longest.time))?;
    let reason = format!(
        "{network_rtt} is more than twice the longest round trip of the idle network, {time} from {from} to {to} and back: senders begin \
         with that much more than the network holds"
    );
    Some(Finding::warning("network_rtt", reason, format!("that of the longest way, such as \"{time}\"")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nscc::Nscc;
    use crate::rccc::Rccc;
    use backwater_net::hooks::Mechanism;

    /// Keys of which a mechanism with its defaults warns.
    fn warned<M: Mechanism>(round_trip: Time) -> Vec<&'static str>
    where
        M::Params: Default,
    {
        let round_trip = Some(RoundTrip { time: round_trip, between: ("a", "b") });
        let cx = CheckCx { round_trip, ..CheckCx::default() };
        M::check(&M::Params::default(), &cx).into_iter().map(|finding| finding.key).collect()
    }

    /// Both have 14.02272 us by default.
    #[test]
    fn a_round_trip_of_another_network_is_told() {
        let of = |ps| [warned::<Nscc>(Time(ps)), warned::<Rccc>(Time(ps))];
        let nothing = Vec::<&str>::new;
        assert_eq!(of(14_022_720), [nothing(), nothing()]);
        assert_eq!(of(7_011_360), [nothing(), nothing()]);
        assert_eq!(of(7_011_359), [vec!["network_rtt"], vec!["network_rtt"]]);
        // Too short is told of the window alone: credit that is sent unasked may be less.
        assert_eq!(of(14_022_721), [vec!["network_rtt"], nothing()]);
    }
}
