//! Checks whether mechanisms are compatible and their parameters can work.

use super::confined::{self, populations, shared};
use super::{Lacking, key_for, overrides};
use crate::error::{ScenarioError, Warning};
use crate::file::RateLimiters;
use crate::planned::Planned;
use crate::resolved::Resolved;
use backwater_net::config::{BufferPer, SwitchParams};
use backwater_net::hooks::{CheckCx, Claims, Finding, FlowShape, RateKey, RoundTrip, SwitchShape};
use backwater_net::packet::{Class, HostId};
use backwater_net::topology::Graph;
use backwater_net::{Bytes, Rate};

pub(super) fn check(
    planned: &Planned,
    shapes: &[SwitchShape],
    round_trip: Option<RoundTrip<'_>>,
    lacking: &mut Lacking,
) -> Result<Vec<Warning>, ScenarioError> {
    let (resolved, graph): (&Resolved, &Graph) = (planned.resolved(), &planned.layout.graph);
    let mut warnings = confined::check(resolved)?;
    clashes(resolved)?;
    links_of_hosts(resolved, graph)?;
    let params: Vec<SwitchParams> = shapes.iter().map(|s| resolved.switch.of(&s.name, &s.tier).clone()).collect();
    let overrides = overrides(resolved);
    let unmet = resolved.mechanisms.unmet(resolved.file.ack.enabled).into_iter().map(|(mechanism, lack)| Warning {
        key: mechanism.into(),
        value: String::new(),
        reason: format!("`{mechanism}` will do nothing: {lack}"),
        hint: "add what it needs, or leave it out; `backwater list mechanisms` says what each does".into(),
    });
    warnings.extend(unmet);
    // Switch by switch, so that a finding can be shown at that switch's value.
    let mut reported: Vec<(String, bool)> = Vec::new();
    let (packet, (shortest, rate)) = (&resolved.file.packet, super::quickest(planned, super::of_tables(planned)));
    // A promise holds for any frames; a mere warning concerns the full frames of a queue.
    let full = packet.header + packet.payload + packet.gap;
    let overrun = packet.overrun(if resolved.file.lossless { shortest } else { full }, rate);
    let longest_way = super::round_trip::most_switches(graph);
    for (shape, params) in shapes.iter().zip(&params) {
        let styles = resolved.mechanisms.pause_styles(&shape.name, &shape.tier);
        let cx = CheckCx {
            switches: std::slice::from_ref(shape),
            switch_params: std::slice::from_ref(params),
            gap: resolved.file.packet.gap,
            overrun,
            lossless: resolved.file.lossless,
            steered: resolved.mechanisms.steering().map_or(0, |steering| steering.queues),
            paused: resolved.mechanisms.pauses(&shape.name, &shape.tier),
            kept: resolved.mechanisms.lossless_classes(&shape.name, &shape.tier),
            styles: &styles,
            round_trip,
            longest_way,
            spread_by: resolved.mechanisms.spreads(),
            cut_by: resolved.mechanisms.cuts(),
            data: super::losses::data_classes(resolved),
            ..CheckCx::default()
        };
        for (mechanism, finding) in resolved.mechanisms.check(&cx) {
            let key = key_for(&overrides, mechanism, finding.key, shape);
            if reported.iter().any(|(k, fatal)| *k == key && *fatal == finding.fatal) {
                continue;
            }
            reported.push((key.clone(), finding.fatal));
            warnings.extend(judged(resolved, &key, finding, params, lacking)?);
        }
    }
    warnings.extend(defaults(resolved, shapes));
    warnings.extend(ineffective(resolved, shapes));
    warnings.extend(partly_lossless(resolved, shapes));
    Ok(warnings)
}

/// Unchanged defaults at a switch with ports for which they were not published, one for each mechanism.
fn defaults(resolved: &Resolved, shapes: &[SwitchShape]) -> Vec<Warning> {
    let overrides = overrides(resolved);
    let mut found: Vec<(&str, Warning)> = Vec::new();
    for shape in shapes {
        for (mechanism, findings) in resolved.mechanisms.check_defaults(shape) {
            let mut keyed = findings.into_iter().map(|one| (key_for(&overrides, mechanism, one.key, shape), one));
            let untouched = keyed.find(|(key, _)| resolved.layer(key).is_none());
            let Some((key, one)) = untouched.filter(|_| found.iter().all(|(known, _)| *known != mechanism)) else {
                continue;
            };
            let value = resolved.values().into_iter().find(|value| value.key == key).map(|value| value.value);
            let value = value.unwrap_or_default();
            found.push((mechanism, Warning { key, value, reason: one.reason, hint: one.hint }));
        }
    }
    found.into_iter().map(|(_, warning)| warning).collect()
}

/// Given values that are not read at any switch. Those that a variant or a setting makes unread are intended.
fn ineffective(resolved: &Resolved, shapes: &[SwitchShape]) -> Vec<Warning> {
    let at = |shape: &SwitchShape| resolved.mechanisms.ineffective(&shape.name, &shape.tier);
    let Some((first, others)) = shapes.split_first() else { return Vec::new() };
    let mut ineffective = at(first);
    for shape in others {
        let here = at(shape);
        ineffective.retain(|one| here.contains(one));
    }
    let warning = |(mechanism, one): (&str, backwater_net::hooks::Ineffective)| {
        let (key, by) = (format!("{mechanism}.{}", one.key), format!("{mechanism}.{}", one.by));
        let given = resolved.layer(&key)?;
        if resolved.layer(&by).is_some_and(|decides| decides.above(given)) {
            return None;
        }
        Some(Warning {
            value: resolved.written(&key).unwrap_or_default(),
            reason: format!("without effect: it is read only with {}", one.only),
            hint: format!("leave it out, or see {by}"),
            key,
        })
    };
    ineffective.into_iter().filter_map(warning).collect()
}

/// Warns if flows may be moved to a queue with a class that no mechanism keeps from being dropped, in a scenario that promises
/// losslessness.
fn partly_lossless(resolved: &Resolved, shapes: &[SwitchShape]) -> Option<Warning> {
    let queues = resolved.mechanisms.steering().filter(|_| resolved.file.lossless)?.queues;
    let lossless = |shape: &SwitchShape| resolved.mechanisms.lossless_classes(&shape.name, &shape.tier);
    let (shape, left_out) =
        shapes.iter().map(|s| (s, queues & !lossless(s))).find(|(_, left)| ![0, queues].contains(left))?;
    let named =
        |bits: u8| (0..8).filter(|q| bits & (1 << q) != 0).map(|q| q.to_string()).collect::<Vec<_>>().join(", ");
    Some(Warning {
        key: "lossless".into(),
        value: "true".into(),
        reason: format!(
            "flows are moved between the queues {}, and at {} nothing pauses class {}",
            named(queues),
            shape.name,
            named(left_out)
        ),
        hint: "queues between which flows move are all lossless, or none is: add the class to those that are paused"
            .into(),
    })
}

/// Refuses a mechanism that does not support hosts with several links.
fn links_of_hosts(resolved: &Resolved, graph: &Graph) -> Result<(), ScenarioError> {
    let Some(mechanism) = resolved.mechanisms.one_link().filter(|_| graph.has_several_links()) else { return Ok(()) };
    let reason = format!(
        "`{mechanism}`, as it is set, has the switch of a host act for it, and hosts of this topology have several links"
    );
    Err(resolved.error(mechanism, reason).hint("leave it out or let hosts act themselves, or give each host one link"))
}

/// Refuses two mechanisms with the same claim, unless the scenario allows them together.
fn clashes(resolved: &Resolved) -> Result<(), ScenarioError> {
    let least = resolved.file.nic.rate_limiters == RateLimiters::Least;
    let flow = FlowShape {
        src: HostId(0),
        dst: HostId(1),
        class: Class(0),
        line: Rate::gbps(1),
        payload: resolved.file.packet.payload,
        frame: resolved.file.packet.payload + resolved.file.packet.header,
        hops: 1,
    };
    if let Some((a, b, what)) = resolved.mechanisms.clashes().iter().find(|(.., what)| *what != Claims::FLOW_RATE) {
        let reason = format!("`{a}` and `{b}` both decide about {what}");
        return Err(resolved.error(b, reason).hint(format!("switch one of them off: `{a} = false` or `{b} = false`")));
    }
    let (limiters, flows) = (resolved.mechanisms.rate_limiters(&flow), populations(resolved));
    if let Some(name) = resolved.mechanisms.counting()
        && let Some((limiter, key, _)) = limiters.iter().find(|(_, key, _)| *key != RateKey::Flow)
    {
        let reason = format!(
            "`{name}` keeps an account of each flow, and `{limiter}` has one rate limiter for each {}",
            shared_by(*key)
        );
        return Err(resolved.error(name, reason).hint(format!(
            "a rate limiter for each flow, where `{limiter}` has a parameter for it; or switch one of them off"
        )));
    }
    let pairs = (0..limiters.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    for (first, second) in pairs {
        let [(a, key_a, of_a), (b, key_b, of_b)] = [&limiters[first], &limiters[second]];
        let Some(both) = shared(&flows, of_a, of_b) else { continue };
        if !least {
            let reason = format!("`{a}` and `{b}` both decide about {}{both}", Claims::FLOW_RATE);
            let hint = format!(
                "switch one of them off: `{a} = false` or `{b} = false`; `nic.rate_limiters = \"least\"` keeps both, and a flow sends \
                 at the lesser rate; `{a}.flows` and `{b}.flows` confine each to flows of its own"
            );
            return Err(resolved.error(b, reason).hint(hint));
        }
        let (by_a, by_b) = (shared_by(*key_a), shared_by(*key_b));
        if key_a != key_b {
            let reason = format!(
                "`{b}` has a rate limiter for each {by_b}, `{a}` for each {by_a}: they cannot stand side by side"
            );
            return Err(resolved
                .error(b, reason)
                .hint("switch one of them off, or let both limit alike, where one of them has a parameter for it"));
        }
        if *key_a != RateKey::Flow && of_a != of_b {
            let reason = format!(
                "`{a}` and `{b}` have a rate limiter for each {by_a}, and only some of the flows that share one are of both"
            );
            return Err(resolved.error(b, reason).hint("confine both to the same flows, or to none that both have"));
        }
    }
    Ok(())
}

/// Returns the flows that share a rate limiter, as text.
fn shared_by(key: RateKey) -> &'static str {
    match key {
        RateKey::Flow => "flow",
        RateKey::Dest(_) => "destination",
        RateKey::Class(_) => "class",
    }
}

/// An error, or the warning.
fn judged(
    resolved: &Resolved,
    key: &str,
    finding: Finding,
    params: &SwitchParams,
    lacking: &mut Lacking,
) -> Result<Option<Warning>, ScenarioError> {
    let mixed = mixed_units(resolved, key, params);
    if finding.fatal || mixed.is_some() {
        let reason = match &mixed {
            Some((mixed_reason, _)) => format!("{}; {mixed_reason}", finding.reason),
            None => finding.reason,
        };
        let hint = match &mixed {
            Some((_, hint)) => format!("{hint}; {}", finding.hint),
            None => finding.hint,
        };
        return lacking.refuse(resolved, key, resolved.error(key, reason).hint(hint)).map(|()| None);
    }
    let value = resolved.written(key).unwrap_or_default();
    Ok(Some(Warning { key: key.into(), value, reason: finding.reason, hint: finding.hint }))
}

/// Returns the texts of a size in KiB and its buffer in KB, or the reverse, if they are mixed. If the size is wrong as well, the mix is
/// probably the cause: it is refused even if the finding alone would only be a warning.
fn mixed_units(resolved: &Resolved, key: &str, params: &SwitchParams) -> Option<(String, String)> {
    if params.buffer_per == BufferPer::None || params.queue_buffers.is_some() {
        return None;
    }
    let (size, buffer) = (resolved.written(key)?, resolved.written("switch.buffer")?);
    let bytes = size.parse::<Bytes>().ok()?;
    buffer.parse::<Bytes>().ok()?;
    let binary = |text: &str| text.contains("iB");
    if binary(&size) == binary(&buffer) || !(size.contains('K') || size.contains('M') || size.contains('G')) {
        return None;
    }
    let mixed_reason = match binary(&size) {
        true => format!("`{size}` is {bytes}, and the buffer is `{buffer}`"),
        false => format!("the buffer is `{buffer}`, and this is `{size}`"),
    };
    Some((mixed_reason, "KiB = 1024 B, KB = 1000 B: write both in the same unit".into()))
}
