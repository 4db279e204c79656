//! From `[[fault]]` to the stage's faults.

use crate::error::{ScenarioError, nearest};
use crate::file::{Between, FaultEntry, Frames, Host, LinkFlap, Loss, PauseStorm, Paused, SlowReceiver};
use crate::hosts;
use crate::layout::Layout;
use backwater_engine::Time;
use backwater_mech::registry::ENTRIES;
use backwater_net::packet::{Class, HostId, NodeId};
use backwater_net::pause::MAC_CONTROL;
use backwater_net::spec::{Fault, FaultKind, FrameKind, LinkEnds};
use backwater_net::topology::Link;

/// All faults of the scenario.
pub(crate) fn all(layout: &Layout) -> Result<Vec<Fault>, ScenarioError> {
    let mut all = Vec::new();
    for (i, entry) in layout.resolved.file.fault.iter().enumerate() {
        all.extend(one(layout, &format!("fault.{i}"), entry)?);
    }
    Ok(all)
}

/// What one entry makes happen, in the order of time.
fn one(layout: &Layout, key: &str, fault: &FaultEntry) -> Result<Vec<Fault>, ScenarioError> {
    let (at, kind) = match fault {
        FaultEntry::Loss(loss) => (loss.at, self::loss(layout, key, loss)?),
        FaultEntry::DropNth(drop) => {
            let (from, to) = link(layout, key, ("from", &drop.from), ("to", &drop.to))?;
            (drop.at, FaultKind::DropNth { from, to, what: kind(layout, key, &drop.frame)?, nth: drop.nth })
        }
        FaultEntry::LinkDown(Between { at, a, b, number }) => {
            (*at, FaultKind::LinkDown(ends(layout, key, ("a", a), ("b", b), *number)?))
        }
        FaultEntry::LinkUp(Between { at, a, b, number }) => {
            (*at, FaultKind::LinkUp(ends(layout, key, ("a", a), ("b", b), *number)?))
        }
        FaultEntry::LinkFlap(flap) => return link_flap(layout, key, flap),
        FaultEntry::RateChange(change) => {
            let LinkEnds { a, b, number } =
                ends(layout, key, ("from", &change.from), ("to", &change.to), change.number)?;
            (change.at, FaultKind::RateChange { from: a, to: b, number, rate: change.rate })
        }
        FaultEntry::SlowReceiver(slow) => (slow.at, slow_receiver(layout, key, slow)?),
        FaultEntry::PauseStorm(storm) => return pause_storm(layout, key, storm),
    };
    Ok(vec![Fault { at, kind }])
}

/// Links that go down and come up again.
fn link_flap(layout: &Layout, key: &str, flap: &LinkFlap) -> Result<Vec<Fault>, ScenarioError> {
    let ends = ends(layout, key, ("a", &flap.a), ("b", &flap.b), flap.number)?;
    for (name, time) in [("down", flap.down), ("up", flap.up)] {
        if time == Time::ZERO {
            let reason = format!("a link that flaps is {name} for some time");
            return Err(layout.resolved.error(&format!("{key}.{name}"), reason).hint("a time above 0 s"));
        }
    }
    let mut at = flap.at;
    let mut all = Vec::with_capacity(2 * flap.times as usize);
    for _ in 0..flap.times {
        let up = at.after(flap.down);
        all.extend([Fault { at, kind: FaultKind::LinkDown(ends) }, Fault { at: up, kind: FaultKind::LinkUp(ends) }]);
        at = up.after(flap.up);
    }
    if at == Time::NEVER {
        let reason = format!("the last of {} times is after the last time that there is, 2^64 - 2 ps", flap.times);
        return Err(layout.resolved.error(&format!("{key}.times"), reason).hint("fewer, or shorter `down` and `up`"));
    }
    Ok(all)
}

fn loss(layout: &Layout, key: &str, loss: &Loss) -> Result<FaultKind, ScenarioError> {
    let (from, to) = match (&loss.from, &loss.to) {
        (Some(from), Some(to)) => {
            let LinkEnds { a, b, .. } = ends(layout, key, ("from", from), ("to", to), loss.number)?;
            (Some(a), Some(b))
        }
        (from, to) => {
            if let Some(number) = loss.number {
                let reason = format!("link {number} of which two nodes?");
                return Err(layout.resolved.error(&format!("{key}.number"), reason).hint("give `from` and `to`"));
            }
            let find = |name, end: &Option<String>| end.as_ref().map(|end| node(layout, key, (name, end)));
            (find("from", from).transpose()?, find("to", to).transpose()?)
        }
    };
    let what = loss.frame.as_ref().map(|frame| kind(layout, key, frame)).transpose()?;
    Ok(FaultKind::Loss { from, to, number: loss.number, what, probability: loss.probability })
}

fn slow_receiver(layout: &Layout, key: &str, slow: &SlowReceiver) -> Result<FaultKind, ScenarioError> {
    let SlowReceiver { rate, xoff, xon, .. } = *slow;
    one_of(layout, key, "class", slow.class.is_some(), slow.link)?;
    let host = one_host(layout, key, &slow.host)?;
    if layout.index.links(host) > 1 {
        let reason = format!("{} has several links, and a slow receiver pauses the one that it has", layout.name(host));
        return Err(layout.resolved.error(&format!("{key}.host"), reason).hint("a host with one link"));
    }
    if xon > xoff {
        let reason = format!("xon ({xon}) is above xoff ({xoff})");
        return Err(layout.resolved.error(&format!("{key}.xon"), reason).hint("xon must not exceed xoff"));
    }
    let class = match slow.paused() {
        Paused::Classes(classes) => classes.first().copied().map(Class),
        Paused::Link => None,
    };
    Ok(FaultKind::SlowReceiver { host, rate, xoff, xon, class })
}

fn pause_storm(layout: &Layout, key: &str, storm: &PauseStorm) -> Result<Vec<Fault>, ScenarioError> {
    let PauseStorm { at, until, .. } = *storm;
    one_of(layout, key, "classes", storm.classes.is_some(), storm.link)?;
    let (host, classes) = (one_host(layout, key, &storm.host)?, storm.paused().bits());
    if classes == 0 {
        let reason = "a storm of pauses of no class is none".to_owned();
        return Err(layout
            .resolved
            .error(&format!("{key}.classes"), reason)
            .hint("some of the classes 0 to 7, or without the key all"));
    }
    if let Some(until) = until.filter(|until| *until <= at) {
        let reason = format!("it would end at {until} and begin at {at}");
        return Err(layout
            .resolved
            .error(&format!("{key}.until"), reason)
            .hint("a later time, or without the key the end of the run"));
    }
    let end = until.map(|at| Fault { at, kind: FaultKind::PauseStormEnd { host, classes } });
    Ok([Fault { at, kind: FaultKind::PauseStorm { host, classes } }].into_iter().chain(end).collect())
}

/// PAUSE has no classes.
fn one_of(layout: &Layout, key: &str, name: &str, classes: bool, link: bool) -> Result<(), ScenarioError> {
    if !(classes && link) {
        return Ok(());
    }
    let reason = format!("PAUSE, which `link` asks for, stops the whole link and names no class, and `{name}` does");
    Err(layout.resolved.error(&format!("{key}.{name}"), reason).hint(format!("either `link` or `{name}`")))
}

fn one_host(layout: &Layout, key: &str, host: &Host) -> Result<HostId, ScenarioError> {
    hosts::one(host, &layout.index)
        .map_err(|(reason, hint)| layout.resolved.error(&format!("{key}.host"), reason).hint(hint))
}

/// The kinds of frames that `key.frame` may name.
fn kind(layout: &Layout, key: &str, frame: &Frames) -> Result<FrameKind, ScenarioError> {
    let name = frame.0.as_str();
    match name {
        "data" => return Ok(FrameKind::Data),
        "ack" => return Ok(FrameKind::Ack),
        _ => {}
    }
    let controls = || ENTRIES.iter().flat_map(|entry| entry.frames).copied().chain([MAC_CONTROL]);
    if controls().any(|known| known == name) {
        return Ok(FrameKind::Control(name.to_owned()));
    }
    let known = || ["data", "ack"].into_iter().chain(controls());
    let hint = match nearest(name, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("kinds of frames: {}", known().collect::<Vec<_>>().join(", ")),
    };
    Err(layout.resolved.error(&format!("{key}.frame"), format!("there is no kind of frame `{name}`")).hint(hint))
}

fn node(layout: &Layout, key: &str, (name, text): (&str, &str)) -> Result<NodeId, ScenarioError> {
    layout.index.node(text).ok_or_else(|| {
        layout
            .resolved
            .error(&format!("{key}.{name}"), format!("there is no node `{text}`"))
            .hint(hosts::node_hint(text, layout.index.graph()))
    })
}

/// The links that join two nodes, or the one with this number.
fn ends(
    layout: &Layout,
    key: &str,
    a: (&str, &str),
    b: (&str, &str),
    number: Option<u32>,
) -> Result<LinkEnds, ScenarioError> {
    let (from, to) = link(layout, key, a, b)?;
    let joins = |link: &&Link| (link.a, link.b) == (from, to) || (link.a, link.b) == (to, from);
    let links = layout.graph.links.iter().filter(joins).count();
    if let Some(number) = number.filter(|number| *number as usize >= links) {
        let reason = format!("`{}` and `{}` have no link of number {number}", a.1, b.1);
        let hint = format!("links that join the same two nodes are counted from 0; there are {links}");
        return Err(layout.resolved.error(&format!("{key}.number"), reason).hint(hint));
    }
    Ok(LinkEnds { a: from, b: to, number })
}

/// Two nodes that a link joins.
fn link(layout: &Layout, key: &str, a: (&str, &str), b: (&str, &str)) -> Result<(NodeId, NodeId), ScenarioError> {
    let (from, to) = (node(layout, key, a)?, node(layout, key, b)?);
    if !layout.neighbours().joined(from, to) {
        let reason = format!("no link joins `{}` and `{}`", a.1, b.1);
        return Err(layout
            .resolved
            .error(&format!("{key}.{}", b.0), reason)
            .hint("faults happen on the links of the topology"));
    }
    Ok((from, to))
}
