//! Checks whether settings are legal for the known incasts of a scenario, by the formulas of [`super::formula`], with the serialisation of
//! frames and messages counted.
//!
//! A warning means that a setting is illegal by the formulas, whatever else happens. Thresholds and least pause times are compared with the
//! fewest senders and the shortest loop, greatest pause times with the most senders and the longest loop. The latter are not compared if
//! others may send to the receiver, too, or if a message ends the pause (`resume`). Only the last hop is examined.

use super::config::Params;
use super::formula::{Numbers, PathTime, headroom};
use backwater_engine::Time;
use backwater_net::config::BufferPer;
use backwater_net::hooks::{AdviceError, Finding, Incast, Incasts, Paths};
use backwater_net::packet::class_bits;
use backwater_net::{Bytes, Rate};

/// Examines the largest and the smallest incast, which are the most restrictive.
pub(super) fn findings(params: &Params, incasts: &dyn Incasts) -> Vec<Finding> {
    let mut all = incasts.all();
    all.retain(|incast| judges(&params.classes, incast.class, incast.bytes, params.threshold));
    let (Some(smallest), Some(largest)) = (all.first(), all.last()) else { return Vec::new() };
    let mut findings: Vec<Finding> = Vec::new();
    for incast in [largest, smallest].into_iter().take(all.len()) {
        let mut found = Vec::from_iter(crowding(params, incast, incasts));
        found.extend(illegal(params, incast, incasts).unwrap_or_else(|error| {
            let hint = error.hint.unwrap_or_default();
            vec![Finding { fatal: true, key: "threshold", reason: error.reason, hint }]
        }));
        found.retain(|finding| findings.iter().all(|known| known.key != finding.key));
        findings.extend(found);
    }
    findings
}

/// Returns whether an incast of so many bytes is examined: it may pass the threshold.
pub(super) fn judges(classes: &[u8], class: u8, bytes: Bytes, threshold: Bytes) -> bool {
    classes.contains(&class) && bytes > threshold
}

/// Warns if messages, which no mechanism keeps from being dropped, may fill the memory of lossless frames in a scenario that promises
/// losslessness: messages to all senders, one an interval each, use a whole link.
fn crowding(params: &Params, incast: &Incast<'_>, incasts: &dyn Incasts) -> Option<Finding> {
    let bounded = incast.switch.buffer_per != BufferPer::None;
    let apart = incast.lossless != 0 && incast.lossless & class_bits(&[params.message_class]) == 0;
    let interval = params.min_interval.or(params.pause).filter(|_| incasts.is_lossless() && bounded && apart)?;
    let one = incast.rate.time_for(params.message_size + incasts.gap());
    let all = Time(one.0.saturating_mul(incast.senders));
    (interval <= all).then(|| Finding {
        fatal: false,
        key: "min_interval",
        reason: format!(
            "messages to the {} senders into {} take {all} of a link and may come again after {interval}: in class {}, which nothing \
             keeps from being dropped, they fill the memory of what is kept",
            incast.senders, incast.shape.name, params.message_class
        ),
        hint: format!("more than {all}; or message_class among the classes that are paused"),
    })
}

/// The bounds of an incast's numbers: those of the senders that the shared links bring at once, on the shortest loop, and those of all
/// senders on the longest. `frames`: a data frame and a message, with their gaps.
pub(super) fn ends(
    paths: &Paths,
    senders: u64,
    rate: Rate,
    (frame, message): (Bytes, Bytes),
    limit: Option<Bytes>,
    threshold: Option<Bytes>,
) -> Result<Option<(Numbers, Numbers)>, AdviceError> {
    let way = |path: &Vec<_>| PathTime::of(path, frame, message).loops().map(|(_, serialised)| serialised);
    let loops = paths.different.iter().map(way).collect::<Result<Vec<Time>, _>>()?;
    let (Some(shortest), Some(longest)) = (loops.iter().min(), loops.iter().max()) else { return Ok(None) };
    let numbers = |senders: u64, time: Time| {
        let headroom = headroom(senders, rate, time)?;
        Numbers::new(time, headroom, rate, limit.unwrap_or(Bytes::MAX), threshold)
    };
    Ok(Some((numbers(paths.carried.min(senders), *shortest)?, numbers(senders, *longest)?)))
}

/// Returns the illegal settings for an incast.
fn illegal(params: &Params, incast: &Incast<'_>, incasts: &dyn Incasts) -> Result<Vec<Finding>, AdviceError> {
    let Some(paths) = incasts.paths(incast) else { return Ok(Vec::new()) };
    let frames = (incasts.frame() + incasts.gap(), params.message_size + incasts.gap());
    let limit = paths.pause_threshold.as_ref().map(|(bytes, _)| *bytes);
    let ends = ends(&paths, incast.senders, incast.rate, frames, limit, Some(params.threshold))?;
    let Some((least, most)) = ends else { return Ok(Vec::new()) };
    let who = format!("{} senders into {} at {}", incast.senders, incast.receiver, incast.rate);
    // A sufficient bound, if all wait behind one threshold: PFC counts each ingress by itself, and a run may work far beyond it. Among
    // senders that share links it counts only those that arrive at once; `advise` counts all.
    let hint = |legal: String| {
        format!(
            "{legal} by the contribution's formula with the times of frames. Beyond it a short incast may still do well, and long ones need a \
             longer pause. `backwater advise sfc --scenario FILE` counts all senders and has that bound; `--prove` also runs the scenario"
        )
    };
    let warning = |key, reason, legal| Finding { fatal: false, key, reason, hint: hint(legal) };
    let mut found = Vec::new();
    if let Some(limit) = limit.filter(|_| !least.threshold_fits()) {
        let reason = format!(
            "with {who} another {} arrive before the senders receive a message, and threshold ({}) and headroom together are \
             above the PFC threshold ({limit}): PFC may fire first",
            least.headroom, params.threshold
        );
        let legal = match least.largest_threshold {
            Some(largest) => format!("at most {largest} is legal for this incast"),
            None => "no threshold is legal for this incast".into(),
        };
        found.push(warning("threshold", reason, legal));
    }
    let Some(pause) = params.pause else { return Ok(found) };
    let range = format!(
        "longer than {} and shorter than {} is legal for this incast",
        least.shortest_pause, most.longest_pause
    );
    if least.too_short(pause) {
        let reason = format!(
            "with {who} the headroom takes {} to leave: after a pause of {pause} the senders resume before the queue has fallen to \
             the threshold",
            least.shortest_pause
        );
        found.push(warning("pause", reason, range.clone()));
    }
    if most.too_long(pause) && !incast.open && !params.resume {
        let reason = format!(
            "with {who} threshold and headroom take {} to leave: the queue runs empty before the senders resume after a pause of \
             {pause}",
            most.longest_pause
        );
        found.push(warning("pause", reason, range));
    }
    Ok(found)
}
