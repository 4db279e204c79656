//! Common checks of UEC's controls before a run.

use backwater_engine::Time;
use backwater_net::hooks::{CheckCx, Finding, RoundTrip};

/// Warns of a `network_rtt` of more than twice the longest round trip of the idle network: it most likely belongs to another network. Twice
/// is our choice.
pub(crate) fn too_long(network_rtt: Time, cx: &CheckCx<'_>) -> Option<Finding> {
    let RoundTrip { time, between: (from, to) } =
        cx.round_trip.filter(|longest| network_rtt > longest.time.after(longest.time))?;
    let reason = format!(
        "{network_rtt} is more than twice the longest round trip of the idle network, {time} from {from} to {to} and back: senders begin \
         with that much more than the network holds"
    );
    Some(Finding::warning("network_rtt", reason, format!("that of the longest way, such as \"{time}\"")))
}

/// Warns of a control class that is not reserved for control and before data: trimmed packets, and the pulls for them, must come through
/// where data does not (UEC 1.0, section 4.1: a traffic class below control and before data).
pub(crate) fn of_class(what: &str, class: u8, cx: &CheckCx<'_>) -> Option<Finding> {
    let in_turns = cx.switch_params.iter().any(|switch| switch.weights.is_some());
    let above = (class + 1..8).find(|other| cx.data & 1 << other != 0).filter(|_| !in_turns);
    let reason = if cx.data & 1 << class != 0 {
        format!("data is of class {class}, too: {what} would wait behind it")
    } else if u16::from(cx.kept) & 1 << class != 0 || cx.paused & (1 << class | 1 << 8) != 0 {
        format!("class {class} is held back where memory fills, as data is: {what} would wait until it goes on")
    } else {
        format!("data of class {} goes first: {what} would wait behind it", above?)
    };
    let hint = "a class of its own, above those of data, which nothing pauses";
    Some(Finding::warning("class", reason, hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nscc::Nscc;
    use crate::rccc::Rccc;
    use backwater_net::config::SwitchParams;
    use backwater_net::hooks::Mechanism;

    /// Keys that a mechanism with its defaults warns of.
    fn warned<M: Mechanism>(round_trip: Time) -> Vec<&'static str>
    where
        M::Params: Default,
    {
        let round_trip = Some(RoundTrip { time: round_trip, between: ("a", "b") });
        let cx = CheckCx { round_trip, ..CheckCx::default() };
        M::check(&M::Params::default(), &cx).into_iter().map(|finding| finding.key).collect()
    }

    /// Class 6 is before data of class 3 and is reserved. Violations: data in it, above it, a class that is kept or paused, or a paused
    /// link.
    #[test]
    fn what_tells_of_losses_has_a_class_of_its_own_before_data() {
        let queue = SwitchParams::default();
        let turns = SwitchParams { weights: Some([1; 8]), ..SwitchParams::default() };
        let reported = |data: u8, kept: u8, paused: u16, switch: &SwitchParams| {
            let switch_params = std::slice::from_ref(switch);
            let cx = CheckCx { data, kept, paused, switch_params, ..CheckCx::default() };
            let found = of_class("what is cut", 6, &cx);
            found.map(|finding| (finding.fatal, finding.key, finding.reason))
        };
        let warned = |reason: &str| Some((false, "class", reason.to_owned()));
        assert_eq!(reported(1 << 3, 1 << 3, 1 << 3, &queue), None);
        assert_eq!(
            reported(1 << 3 | 1 << 6, 0, 0, &queue),
            warned("data is of class 6, too: what is cut would wait behind it")
        );
        let held =
            warned("class 6 is held back where memory fills, as data is: what is cut would wait until it goes on");
        assert_eq!(reported(1 << 3, 1 << 6, 0, &queue), held);
        assert_eq!(reported(1 << 3, 0, 1 << 6, &queue), held);
        assert_eq!(reported(1 << 3, 0, 1 << 8, &queue), held);
        assert_eq!(
            reported(1 << 7, 0, 0, &queue),
            warned("data of class 7 goes first: what is cut would wait behind it")
        );
        assert_eq!(reported(1 << 7, 0, 0, &turns), None);
    }

    #[test]
    fn recovery_from_drops_is_not_for_switches_that_cut() {
        let reported = |sleek: bool, cut_by: Option<&'static str>| {
            let params = crate::nscc::Params { sleek, ..crate::nscc::Params::default() };
            let found = Nscc::check(&params, &CheckCx { cut_by, ..CheckCx::default() });
            found.into_iter().map(|finding| (finding.key, finding.hint)).collect::<Vec<_>>()
        };
        assert_eq!(reported(true, Some("trim")), [("sleek", "sleek = false, or trim = false".to_owned())]);
        assert!(reported(false, Some("trim")).is_empty() && reported(true, None).is_empty());
    }

    /// Both have 14.02272 us by default.
    #[test]
    fn a_round_trip_of_another_network_is_told() {
        let of = |ps| [warned::<Nscc>(Time(ps)), warned::<Rccc>(Time(ps))];
        let nothing = Vec::<&str>::new;
        assert_eq!(of(14_022_720), [nothing(), nothing()]);
        assert_eq!(of(7_011_360), [nothing(), nothing()]);
        assert_eq!(of(7_011_359), [vec!["network_rtt"], vec!["network_rtt"]]);
        // A value that is too short causes a warning about the window alone: credit that is sent unasked may be less.
        assert_eq!(of(14_022_721), [vec!["network_rtt"], nothing()]);
    }
}
