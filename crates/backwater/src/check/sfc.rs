//! Whether the settings of Source Flow Control are legal for the incasts that a scenario is known to have, by the formulas of
//! [`crate::advise`], with the serialisation of frames and messages counted.
//!
//! What is warned of is illegal whatever else goes on: thresholds and least pause times are held against the fewest senders
//! and the shortest loop, greatest pause times against the most senders and the longest loop, and not at all where others may
//! send to the receiver too, or where a message ends the pause (`resume`). Only the last hop is looked at.

use super::{key_for, overrides};
use crate::advise::{SfcNumbers, pfc_limit, sfc_headroom};
use crate::error::{ScenarioError, Warning};
use crate::incast::{Incast, Measure, incasts};
use crate::plan::{Place, Plan};
use crate::resolved::Resolved;
use backwater_engine::Time;
use backwater_mech::sfc::{AtSource, Params};
use backwater_mech::stack::Select;
use backwater_net::config::BufferPer;
use backwater_net::hooks::SwitchShape;
use backwater_net::packet::class_bits;
use backwater_net::{Bytes, Rate};
use std::collections::{BTreeMap, HashMap};

pub(super) fn check(
    place: &Place<'_>,
    plans: &[Plan<'_>],
    shapes: &[SwitchShape],
) -> Result<Vec<Warning>, ScenarioError> {
    let resolved = place.resolved;
    let Some(scoped) = &resolved.mechanisms.sfc else { return Ok(Vec::new()) };
    let overrides = overrides(resolved);
    shapes.iter().try_for_each(|shape| signals(resolved, shape, &key_for(&overrides, "sfc", "signal", shape)))?;
    // Of the incasts under the same settings the largest and the smallest tell most.
    let mut cases: BTreeMap<[String; 2], Vec<(Incast, &SwitchShape)>> = BTreeMap::new();
    let mut all = incasts(place, plans);
    all.sort_by_key(|incast| incast.senders.len());
    // The switch of each host.
    let ports = shapes.iter().enumerate().flat_map(|(n, shape)| shape.ports.iter().map(move |port| (port.host, n)));
    let homes: HashMap<_, _> = ports.filter_map(|(host, number)| Some((host?, number))).collect();
    for incast in all {
        let Some(shape) = homes.get(&incast.receiver).map(|number| &shapes[*number]) else { continue };
        let params = scoped.of(&shape.name, &shape.tier);
        if !params.classes.contains(&incast.class) || Bytes(incast.bytes) <= params.threshold {
            continue;
        }
        let keys = ["threshold", "pause"].map(|name| key_for(&overrides, "sfc", name, shape));
        let same = cases.entry(keys).or_default();
        if same.len() == 2 {
            same.pop();
        }
        same.push((incast, shape));
    }
    let mut warnings: Vec<Warning> = Vec::from_iter(unbounded(resolved, shapes, &overrides));
    for (keys, cases) in &cases {
        for (incast, shape) in cases.iter().rev() {
            let params = scoped.of(&shape.name, &shape.tier);
            let key = key_for(&overrides, "sfc", "min_interval", shape);
            if warnings.iter().all(|warning| warning.key != key) {
                warnings.extend(crowding(resolved, incast, shape, params, &key));
            }
            for (key, reason, hint) in faults(place, plans, incast, shape, params)? {
                let key = keys[key].clone();
                if warnings.iter().any(|w| w.key == key) {
                    continue;
                }
                let value = resolved.written(&key).unwrap_or_default();
                warnings.push(Warning { key, value, reason, hint });
            }
        }
    }
    Ok(warnings)
}

/// Whether what isolation lets wait may fill a switch where no PFC keeps it from being dropped.
fn unbounded(resolved: &Resolved, shapes: &[SwitchShape], overrides: &[(String, Vec<Select>)]) -> Option<Warning> {
    let scoped = resolved.mechanisms.sfc.as_ref()?;
    let isolates = |shape: &&SwitchShape| {
        let (params, switch) = (scoped.of(&shape.name, &shape.tier), resolved.switch.of(&shape.name, &shape.tier));
        let lossless = resolved.mechanisms.lossless_classes(&shape.name, &shape.tier);
        params.at_source == AtSource::Isolation
            && shape.ports.iter().any(|port| port.host.is_some())
            && switch.buffer_per != BufferPer::None
            && params.isolation_threshold >= switch.buffer
            && class_bits(&params.classes) & !lossless != 0
    };
    let shape = shapes.iter().find(isolates)?;
    let (params, switch) = (scoped.of(&shape.name, &shape.tier), resolved.switch.of(&shape.name, &shape.tier));
    Some(Warning {
        key: key_for(overrides, "sfc", "isolation_threshold", shape),
        value: params.isolation_threshold.to_string(),
        reason: format!(
            "it is not below the buffer of {} ({}), and no PFC pauses the class there: what waits is dropped before its host is paused",
            shape.name, switch.buffer
        ),
        hint: "lower it; or [pfc] for the classes of [sfc]".into(),
    })
}

/// Whether messages that nothing keeps from being dropped may fill the memory of what is kept, in a scenario that promises losslessness:
/// those to all senders, one an interval each, take all of a link.
fn crowding(resolved: &Resolved, incast: &Incast, shape: &SwitchShape, params: &Params, key: &str) -> Option<Warning> {
    let kept = resolved.mechanisms.lossless_classes(&shape.name, &shape.tier);
    let bounded = resolved.switch.of(&shape.name, &shape.tier).buffer_per != BufferPer::None;
    let apart = kept != 0 && kept & class_bits(&[params.message_class]) == 0;
    let interval = params.min_interval.or(params.pause).filter(|_| resolved.file.lossless && bounded && apart)?;
    let one = incast.rate.time_for(params.message_size + resolved.file.packet.gap);
    let all = Time(one.0.saturating_mul(incast.senders.len() as u64));
    (interval <= all).then(|| Warning {
        key: key.into(),
        value: interval.to_string(),
        reason: format!(
            "messages to the {} senders into {} take {all} of a link and may come again after {interval}: in class {}, which nothing \
             keeps from being dropped, they fill the memory of what is kept",
            incast.senders.len(),
            shape.name,
            params.message_class
        ),
        hint: format!("more than {all}; or message_class among the classes that are paused"),
    })
}

/// What is illegal for an incast: 0 for the threshold or 1 for the pause time, the reason, and a hint.
fn faults(
    place: &Place<'_>,
    plans: &[Plan<'_>],
    incast: &Incast,
    shape: &SwitchShape,
    params: &Params,
) -> Result<Vec<(usize, String, String)>, ScenarioError> {
    let Some(ways) = Measure::new(place, params.message_size).ways(incast, plans)? else { return Ok(Vec::new()) };
    let rates: Vec<Rate> = shape.ports.iter().map(|port| port.rate).collect();
    let limit =
        pfc_limit(place.resolved, (&shape.name, &shape.tier), &rates, Some(incast.class)).map(|(limit, _)| limit);
    let numbers = |senders: u64, time| {
        let headroom = sfc_headroom(senders, incast.rate, time)?;
        SfcNumbers::new(time, headroom, incast.rate, limit.unwrap_or(Bytes::MAX), Some(params.threshold))
    };
    let all = incast.senders.len() as u64;
    let least = numbers(ways.carried.min(all), ways.shortest.loops()?.1)?;
    let most = numbers(all, ways.longest.loops()?.1)?;
    let who = format!("{all} senders into {} at {}", place.name(incast.receiver), incast.rate);
    // What is beyond these limits is wrong. Within them PFC may still fire: `advise` counts every sender as if it shared no link.
    let hint = |legal: String| {
        format!("{legal}, at the very least; `backwater advise sfc --scenario FILE` says what is enough")
    };
    let mut found = Vec::new();
    if let Some(limit) = limit.filter(|_| !least.threshold_fits()) {
        let reason = format!(
            "with {who} another {} come before they have heard, and threshold ({}) and headroom together are above the PFC \
             threshold ({limit}): PFC may fire first",
            least.headroom, params.threshold
        );
        let legal = match least.largest_threshold {
            Some(largest) => format!("at most {largest} for this incast"),
            None => "no threshold is legal for this incast".into(),
        };
        found.push((0, reason, hint(legal)));
    }
    let Some(pause) = params.pause else { return Ok(found) };
    let range = format!("longer than {} and shorter than {} for this incast", least.shortest_pause, most.longest_pause);
    if least.too_short(pause) {
        let reason = format!(
            "with {who} the headroom takes {} to leave: after {pause} they are back before the queue has fallen to the threshold",
            least.shortest_pause
        );
        found.push((1, reason, hint(range.clone())));
    }
    if most.too_long(pause) && !incast.open && !params.resume {
        let reason = format!(
            "with {who} threshold and headroom take {} to leave: the queue runs empty before they are back after {pause}",
            most.longest_pause
        );
        found.push((1, reason, hint(range)));
    }
    Ok(found)
}

/// A port merges the pauses of all mechanisms into one, and tells that in one way.
fn signals(resolved: &Resolved, shape: &SwitchShape, key: &str) -> Result<(), ScenarioError> {
    let config = &resolved.mechanisms;
    let Some(sfc) = config.sfc.as_ref().map(|sfc| sfc.of(&shape.name, &shape.tier)) else { return Ok(()) };
    let pfc = config.pfc.as_ref().map(|pfc| ("pfc", pfc.of(&shape.name, &shape.tier).signal));
    let pause = config.pause.as_ref().map(|pause| ("pause", pause.of(&shape.name, &shape.tier).signal));
    match pfc.into_iter().chain(pause).find(|(_, signal)| *signal != sfc.signal) {
        Some((other, _)) if sfc.at_source != AtSource::Host => {
            let reason =
                format!("the proxy at {} and [{other}] would signal pauses of one port differently", shape.name);
            Err(resolved.error(key, reason).hint(format!("give both one value, as in {other}.signal")))
        }
        _ => Ok(()),
    }
}
