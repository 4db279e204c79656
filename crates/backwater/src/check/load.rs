//! Checks whether a source offers more than its own link carries, all groups together, at any time, or more messages than it can issue.

use super::percent;
use crate::error::{ScenarioError, Warning};
use crate::layout::Layout;
use crate::plan::{Plan, Who};
use crate::planned::Planned;
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::packet::HostId;
use std::collections::HashMap;

/// One source's load from one group.
struct SourceLoad {
    plan: usize,
    load: f64,
    from: Time,
    until: Time,
}

pub(super) fn check(planned: &Planned) -> Result<Vec<Warning>, ScenarioError> {
    let (layout, plans) = (&planned.layout, &planned.plans);
    let mut offers: HashMap<HostId, Vec<SourceLoad>> = HashMap::new();
    for (number, plan) in plans.iter().enumerate() {
        if plan.group.load.is_none() && plan.group.interval.is_none() {
            continue;
        }
        for host in plan.who.pairs_of_sources().into_keys() {
            let Some(load) = plan.load(&layout.resolved, layout.rate(host)) else { continue };
            let until = plan.until(&layout.resolved).unwrap_or(Time::NEVER);
            offers.entry(host).or_default().push(SourceLoad { plan: number, load, from: plan.group.start, until });
        }
    }
    let mut hosts: Vec<_> = offers.into_iter().collect();
    hosts.sort_unstable_by_key(|(host, _)| *host);
    hosts.iter().try_for_each(|(host, offers)| source(layout, plans, *host, offers))?;
    let unlike = unlike_links(layout);
    let of_groups =
        plans.iter().flat_map(|plan| receivers(layout, plan).into_iter().chain(mixed(layout, plan, &unlike)));
    Ok(of_groups.chain(issues(planned, &hosts)).collect())
}

/// Hosts with links of different rates, each with the lowest and the highest.
fn unlike_links(layout: &Layout) -> HashMap<HostId, (Rate, Rate)> {
    let mut rates: HashMap<HostId, (Rate, Rate)> = HashMap::new();
    for (link, end) in layout.graph.links.iter().flat_map(|link| [(link, link.a), (link, link.b)]) {
        let Some(host) = layout.index.host_of(end) else { continue };
        let rate = link.rate_from(end);
        let (least, greatest) = rates.entry(host).or_insert((rate, rate));
        (*least, *greatest) = (rate.min(*least), rate.max(*greatest));
    }
    rates.retain(|_, (least, greatest)| least < greatest);
    rates
}

/// Warns if a load is a share of links of different rates, most of which may lead elsewhere.
fn mixed(layout: &Layout, plan: &Plan, unlike: &HashMap<HostId, (Rate, Rate)>) -> Option<Warning> {
    let load = plan.group.load.filter(|_| !unlike.is_empty())?.0;
    let host = plan.who.pairs_of_sources().into_keys().filter(|host| unlike.contains_key(host)).min()?;
    let (least, greatest) = unlike.get(&host)?;
    let key = format!("{}.load", plan.key);
    let offered = layout.rate(host).scale(load);
    let reason = format!(
        "a share of all links of {} together, which have from {least} to {greatest}: {offered} is {} of the slowest of them",
        layout.name(host),
        percent(offered.0 as f64 / least.0.max(1) as f64)
    );
    let hint = "flows take links on shortest ways only, which may be one of these: reckon the load for that one".into();
    Some(Warning { value: layout.resolved.written(&key).unwrap_or_default(), key, reason, hint })
}

/// Loads that sources offer at once: at each time at which a group begins, since the sum can rise only there.
fn at_once(offers: &[SourceLoad]) -> impl Iterator<Item = Vec<&SourceLoad>> {
    offers.iter().map(|begin| offers.iter().filter(|o| o.from <= begin.from && begin.from < o.until).collect())
}

/// Warns if hosts post messages faster than their interfaces issue them.
fn issues(planned: &Planned, hosts: &[(HostId, Vec<SourceLoad>)]) -> Option<Warning> {
    let (layout, usual) = (&planned.layout, planned.resolved().file.nic.params.issue);
    let mut links: HashMap<HostId, f64> = HashMap::new();
    let ends = layout.graph.links.iter().flat_map(|link| [link.a, link.b]);
    ends.filter_map(|node| layout.index.host_of(node)).for_each(|host| *links.entry(host).or_default() += 1.0);
    let own = |host: HostId| planned.nics_at.iter().rev().find_map(|(at, times)| times.issue.filter(|_| *at == host));
    let share = |host: HostId, offers: &[SourceLoad]| {
        let issue = own(host).unwrap_or(usual).as_secs_f64() / links.get(&host).copied().unwrap_or(1.0);
        let each = |offer: &&SourceLoad| {
            let bits = planned.plans[offer.plan].wire_bytes(&layout.resolved) * 8.0;
            if bits > 0.0 { offer.load * layout.rate(host).0 as f64 / bits * issue } else { 0.0 }
        };
        at_once(offers).map(|all| all.iter().map(each).sum()).fold(0.0, f64::max)
    };
    let over: Vec<(HostId, f64)> =
        hosts.iter().map(|(host, offers)| (*host, share(*host, offers))).filter(|(_, share)| *share > 1.0).collect();
    let (first, share) = *over.first()?;
    let others = match over.len() - 1 {
        0 => String::new(),
        1 => "; one other, too".into(),
        others => format!("; {others} others, too"),
    };
    Some(Warning {
        key: "nic.issue".into(),
        value: own(first).unwrap_or(usual).to_string(),
        reason: format!(
            "to issue what {} posts takes {} of the time in which it comes{others}",
            layout.name(first),
            percent(share)
        ),
        hint: "fewer or larger messages; those that wait to be issued grow in number as long as it lasts".into(),
    })
}

/// Warns if events bring their receivers more than their links carry, which may be intended.
fn receivers(layout: &Layout, plan: &Plan) -> Option<Warning> {
    let Who::Incast(crowd) = &plan.who else { return None };
    let links: f64 = crowd.to.iter().map(|host| layout.arriving[host.0 as usize].0 as f64).sum();
    let share = plan.events_bps(&layout.resolved)? / links;
    let key = format!("{}.{}", plan.key, if plan.group.load.is_some() { "load" } else { "interval" });
    (share > 1.0).then(|| Warning {
        value: layout.resolved.written(&key).unwrap_or_default(),
        key,
        reason: format!("the events bring {} of what their {} receivers' links carry", percent(share), crowd.to.len()),
        hint: "more receivers in `to`, or less load; queues grow as long as it lasts".into(),
    })
}

fn source(layout: &Layout, plans: &[Plan], host: HostId, offers: &[SourceLoad]) -> Result<(), ScenarioError> {
    for (begin, at_once) in offers.iter().zip(at_once(offers)) {
        let sum: f64 = at_once.iter().map(|o| o.load).sum();
        // Rounding of an interval to a ps must not refuse 100 %.
        if sum <= 1.0 + 1e-6 {
            continue;
        }
        let last = at_once.last().map_or(begin.plan, |o| o.plan);
        let plan = &plans[last];
        let key = format!("{}.{}", plan.key, if plan.group.load.is_some() { "load" } else { "interval" });
        let parts: Vec<String> =
            at_once.iter().map(|o| format!("`{}` {}", plans[o.plan].group.label, percent(o.load))).collect();
        let of = if parts.len() > 1 { format!(": {}", parts.join(", ")) } else { String::new() };
        let rate = layout.rate(host);
        let reason = format!("{} offers {} of its own link ({rate}){of}", layout.name(host), percent(sum));
        let hint = "headers, preamble and gap count; all groups of a source together offer at most 100 %";
        return Err(layout.resolved.error(&key, reason).hint(hint));
    }
    Ok(())
}
