//! `[[nic.at]]` as the stage takes it.

use crate::error::ScenarioError;
use crate::flows::Place;
use crate::hosts;
use backwater_engine::Time;
use backwater_net::packet::HostId;

/// Longest delay of a control message: a run ends when links have been silent for a second, and must not miss one.
const LONGEST: Time = Time::ms(100);

/// Hosts with a control delay of their own, in the order in which they count.
pub(crate) fn control_delays(place: &Place<'_>) -> Result<Vec<(HostId, Time)>, ScenarioError> {
    let nic = &place.resolved.file.nic;
    let within = |key: String, delay: Time| match delay > LONGEST {
        true => Err(place.resolved.error(&key, format!("{delay} is too long")).hint(format!("{LONGEST} at most"))),
        false => Ok(()),
    };
    within("nic.control_delay".into(), nic.params.control_delay)?;
    let mut all = Vec::new();
    for (i, at) in nic.at.iter().enumerate() {
        within(format!("nic.at.{i}.control_delay"), at.control_delay)?;
        let found = hosts::expand(&at.hosts, place.index)
            .map_err(|(reason, hint)| place.resolved.error(&format!("nic.at.{i}.hosts"), reason).hint(hint))?;
        all.extend(found.into_iter().map(|host| (host, at.control_delay)));
    }
    Ok(all)
}
