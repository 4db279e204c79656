//! From `[[fault]]` to the stage's faults.

use crate::error::{ScenarioError, nearest};
use crate::file::{FaultEntry, Frames, Host, Loss, PauseStorm, Paused, SlowReceiver};
use crate::hosts;
use crate::layout::Layout;
use backwater_mech::registry::ENTRIES;
use backwater_net::packet::{Class, HostId, NodeId};
use backwater_net::pause::MAC_CONTROL;
use backwater_net::spec::{Fault, FaultKind, FrameKind};

/// All faults of the scenario.
pub(crate) fn all(layout: &Layout) -> Result<Vec<Fault>, ScenarioError> {
    let mut all = Vec::new();
    for (i, entry) in layout.resolved.file.fault.iter().enumerate() {
        let (fault, end) = one(layout, &format!("fault.{i}"), entry)?;
        all.push(fault);
        all.extend(end);
    }
    Ok(all)
}

/// A fault, and its end if it has one.
fn one(layout: &Layout, key: &str, fault: &FaultEntry) -> Result<(Fault, Option<Fault>), ScenarioError> {
    let (at, kind) = match fault {
        FaultEntry::Loss(loss) => (loss.at, self::loss(layout, key, loss)?),
        FaultEntry::DropNth(drop) => {
            let (from, to) = link(layout, key, ("from", &drop.from), ("to", &drop.to))?;
            (drop.at, FaultKind::DropNth { from, to, what: kind(layout, key, &drop.frame)?, nth: drop.nth })
        }
        FaultEntry::LinkDown(between) => {
            let (a, b) = link(layout, key, ("a", &between.a), ("b", &between.b))?;
            (between.at, FaultKind::LinkDown { a, b })
        }
        FaultEntry::LinkUp(between) => {
            let (a, b) = link(layout, key, ("a", &between.a), ("b", &between.b))?;
            (between.at, FaultKind::LinkUp { a, b })
        }
        FaultEntry::RateChange(change) => {
            let (from, to) = link(layout, key, ("from", &change.from), ("to", &change.to))?;
            (change.at, FaultKind::RateChange { from, to, rate: change.rate })
        }
        FaultEntry::SlowReceiver(slow) => (slow.at, slow_receiver(layout, key, slow)?),
        FaultEntry::PauseStorm(storm) => return pause_storm(layout, key, storm),
    };
    Ok((Fault { at, kind }, None))
}

fn loss(layout: &Layout, key: &str, loss: &Loss) -> Result<FaultKind, ScenarioError> {
    let (from, to) = match (&loss.from, &loss.to) {
        (Some(from), Some(to)) => {
            let (from, to) = link(layout, key, ("from", from), ("to", to))?;
            (Some(from), Some(to))
        }
        (from, to) => {
            let find = |name, end: &Option<String>| end.as_ref().map(|end| node(layout, key, (name, end)));
            (find("from", from).transpose()?, find("to", to).transpose()?)
        }
    };
    let what = loss.frame.as_ref().map(|frame| kind(layout, key, frame)).transpose()?;
    Ok(FaultKind::Loss { from, to, what, probability: loss.probability })
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

fn pause_storm(layout: &Layout, key: &str, storm: &PauseStorm) -> Result<(Fault, Option<Fault>), ScenarioError> {
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
    Ok((Fault { at, kind: FaultKind::PauseStorm { host, classes } }, end))
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
