//! Checks whether frames may be lost: against the promise of losslessness, or for good, since nothing retransmits them.
//!
//! A class is *kept* at a switch if a mechanism promises that it is never dropped ([`Profile::lossless_classes`]), or if the switch's
//! memory is unlimited. Classes that are not kept share the memory of those that are: an acknowledgement in its own class finds it full
//! like data. Messages of mechanisms are not checked: they are few, their senders expect losses, and a loss ends no run.
//!
//! [`Profile::lossless_classes`]: backwater_net::hooks::Profile::lossless_classes

use crate::error::{ScenarioError, Warning};
use crate::file::{FaultEntry, Frames};
use crate::resolved::Resolved;
use backwater_net::config::{BufferPer, Losses};
use backwater_net::packet::{NodeId, class_bits};
use backwater_net::pause::MAC_CONTROL;
use backwater_net::topology::{Graph, Link, Node, NodeKind};
use std::collections::HashSet;

/// Refuses broken promises, and warns of classes that no mechanism keeps.
pub(super) fn check(resolved: &Resolved, graph: &Graph) -> Result<Vec<Warning>, ScenarioError> {
    let data = data_classes(resolved);
    if resolved.file.lossless {
        promised(resolved, graph, data)?;
    }
    let found = [
        unpromised(resolved, graph, data),
        for_good(resolved, graph, data),
        changed(resolved, graph),
        unheard(resolved, graph),
    ];
    Ok(found.into_iter().flatten().collect())
}

/// Classes of the data of all flows except those of tables, a bit each.
pub(super) fn data_classes(resolved: &Resolved) -> u8 {
    let file = &resolved.file;
    let flows = file.flow.iter().filter(|group| group.table.is_none()).fold(0, |bits, group| {
        let own = group.classes.as_deref().map_or(1 << group.class, class_bits);
        bits | own | class_bits(&group.small_class)
    });
    file.job.iter().fold(flows, |bits, job| bits | 1 << job.class)
}

/// Classes of the acknowledgements of such data.
fn ack_classes(resolved: &Resolved, data: u8) -> u8 {
    match (resolved.file.ack.enabled && data != 0, resolved.file.ack.class) {
        (false, _) => 0,
        (true, None) => data,
        (true, Some(class)) => 1 << class,
    }
}

/// Classes of all traffic of flows, including acknowledgements, a bit each.
pub(crate) fn all_classes(resolved: &Resolved) -> u8 {
    let data = data_classes(resolved);
    data | ack_classes(resolved, data)
}

/// Switches with limited memory.
fn bounded<'g>(resolved: &Resolved, graph: &'g Graph) -> impl Iterator<Item = &'g Node> {
    let switches = graph.nodes.iter().filter(|node| node.kind == NodeKind::Switch);
    switches.filter(|node| resolved.switch.of(&node.name, &node.tier).buffer_per != BufferPer::None)
}

/// A switch that does not keep some of `classes`, with those that it does not keep, and those that it does.
fn unkept<'g>(resolved: &Resolved, graph: &'g Graph, classes: u8) -> Option<(&'g str, u8, u8)> {
    let mut left = bounded(resolved, graph).filter_map(|node| {
        let kept = resolved.mechanisms.lossless_classes(&node.name, &node.tier);
        (classes & !kept != 0).then_some((node.name.as_str(), classes & !kept, kept))
    });
    left.next()
}

fn named(bits: u8) -> String {
    let classes: Vec<String> = (0..8).filter(|class| bits & (1 << class) != 0).map(|class| class.to_string()).collect();
    format!("class{} {}", if classes.len() == 1 { "" } else { "es" }, classes.join(", "))
}

/// In a scenario that promises losslessness: refuses data of these classes, and its acknowledgements, if others are kept and they are not.
pub(crate) fn promised(resolved: &Resolved, graph: &Graph, data: u8) -> Result<(), ScenarioError> {
    let cures = "name the class among those that are paused, or send in one that is";
    for (key, what, classes) in
        [("lossless", "data travels", data), ("ack.class", "acknowledgements travel", ack_classes(resolved, data))]
    {
        let Some((switch, left, kept)) = unkept(resolved, graph, classes).filter(|(.., kept)| *kept != 0) else {
            continue;
        };
        let reason = format!(
            "the scenario is lossless, and {what} in {}: at {switch} only {} is kept from being dropped, and its memory is shared",
            named(left),
            named(kept)
        );
        let hint = match key {
            "ack.class" => format!("{cures}; without ack.class they go in the data's"),
            _ => cures.into(),
        };
        return Err(resolved.error(key, reason).hint(hint));
    }
    Ok(())
}

/// In a scenario that promises losslessness: warns if nothing at all keeps the promise.
fn unpromised(resolved: &Resolved, graph: &Graph, data: u8) -> Option<Warning> {
    let (switch, left, _) =
        unkept(resolved, graph, data | ack_classes(resolved, data)).filter(|_| resolved.file.lossless)?;
    Some(Warning {
        key: "lossless".into(),
        value: "true".into(),
        reason: format!(
            "no mechanism keeps {} from being dropped at {switch}: the first drop ends the run",
            named(left)
        ),
        hint: "a mechanism that pauses them before memory is full; switch.buffer_per = \"none\" is memory without end"
            .into(),
    })
}

/// In a scenario that promises losslessness: warns if a link changes, since headroom was not computed for that.
///
/// A faster link brings more until its sender receives a pause, and a slower one in the other direction delays the pause. When a link comes
/// back its ends know of no pause, while earlier frames still occupy the headroom.
fn changed(resolved: &Resolved, graph: &Graph) -> Option<Warning> {
    if !resolved.file.lossless || bounded(resolved, graph).next().is_none() {
        return None;
    }
    let changes = |fault: &FaultEntry| {
        matches!(fault, FaultEntry::RateChange(_) | FaultEntry::LinkUp(_) | FaultEntry::LinkFlap(_))
    };
    let number = resolved.file.fault.iter().position(changes)?;
    Some(Warning {
        key: "lossless".into(),
        value: "true".into(),
        reason: format!(
            "`fault.{number}` changes a link, and headroom is worked out for the links as they begin: a drop after that ends the run"
        ),
        hint:
            "more headroom than `backwater check` asks for; or lossless = false, and transport.recovery = \"go-back-n\""
                .into(),
    })
}

/// In a scenario that promises losslessness: warns if a fault loses frames that pause.
fn unheard(resolved: &Resolved, graph: &Graph) -> Option<Warning> {
    if !resolved.file.lossless || resolved.mechanisms.repairs() {
        return None;
    }
    let speaks = |node: &&Node| {
        let mechanisms = &resolved.mechanisms;
        mechanisms.lossless_classes(&node.name, &node.tier) != 0 && mechanisms.pauses(&node.name, &node.tier) != 0
    };
    let speakers: HashSet<&str> = bounded(resolved, graph).filter(speaks).map(|node| node.name.as_str()).collect();
    let name = |node: NodeId| graph.nodes[node.0 as usize].name.as_str();
    let heard = |from: Option<&str>, to: Option<&str>| match (from, to) {
        (Some(from), _) => speakers.contains(from),
        (None, Some(to)) => {
            let ends = graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
            ends.into_iter().any(|(one, other)| name(other) == to && speakers.contains(name(one)))
        }
        (None, None) => !speakers.is_empty(),
    };
    let unheard = |fault: &FaultEntry| {
        loses(fault, |frame| frame.0 == MAC_CONTROL)
            && match fault {
                FaultEntry::Loss(loss) => heard(loss.from.as_deref(), loss.to.as_deref()),
                FaultEntry::DropNth(drop) => heard(Some(&drop.from), Some(&drop.to)),
                _ => false,
            }
    };
    let lossy =
        |link: &Link| [link.a, link.b].into_iter().any(|end| link.loss_from(end) > 0.0 && speakers.contains(name(end)));
    let link = || graph.links.iter().any(lossy).then(|| "a link of `link.at`".to_owned());
    let which = resolved.file.fault.iter().position(unheard).map(|number| format!("`fault.{number}`")).or_else(link)?;
    Some(Warning {
        key: "lossless".into(),
        value: "true".into(),
        reason: format!(
            "{which} loses pauses: who does not hear one goes on sending, and there is no headroom for that: a drop ends the run"
        ),
        hint: "a fault of other frames, as in frame = \"data\"; or lossless = false, and transport.recovery = \"go-back-n\"".into(),
    })
}

/// Warns if frames may be lost that nothing retransmits.
fn for_good(resolved: &Resolved, graph: &Graph, data: u8) -> Option<Warning> {
    let transport = &resolved.file.transport;
    if transport.retransmits() || transport.loss == Losses::Expected {
        return None;
    }
    let carried = |frame: &Frames| ["data", "ack"].contains(&frame.0.as_str());
    let link = resolved.file.link.at.iter().position(|at| at.loss.is_some_and(|share| share > 0.0));
    let repairs = resolved.mechanisms.repairs();
    let link = link.filter(|_| !repairs).map(|number| format!("links of `link.at.{number}` lose frames"));
    let lost = |fault: &FaultEntry| {
        (!repairs || matches!(fault, FaultEntry::LinkDown(_) | FaultEntry::LinkFlap(_))) && loses(fault, carried)
    };
    let fault = resolved.file.fault.iter().position(lost);
    let fault = link.or(fault.map(|number| format!("`fault.{number}` loses frames")));
    let full = || {
        let (switch, left, _) =
            unkept(resolved, graph, data | ack_classes(resolved, data)).filter(|_| !resolved.file.lossless)?;
        Some(format!("{switch} drops frames of {} when its memory is full", named(left)))
    };
    let faulty = fault.is_some();
    let why = fault.or_else(full)?;
    // No pause helps against a fault, or once every sender pauses.
    let pausing = if faulty { "" } else { "; or a mechanism that pauses before memory is full, and lossless = true" };
    Some(Warning {
        key: "transport.recovery".into(),
        value: "none".into(),
        reason: format!("{why}, and nothing sends them again: flows that lose one never end"),
        hint: format!(
            "transport.recovery = \"go-back-n\", as RoCEv2 interfaces do; or transport.loss = \"expected\" where losses are what the \
             scenario is about{pausing}"
        ),
    })
}

/// Returns whether it loses frames of certain kinds.
fn loses(fault: &FaultEntry, certain: impl Fn(&Frames) -> bool) -> bool {
    match fault {
        FaultEntry::Loss(loss) => loss.probability > 0.0 && loss.frame.as_ref().is_none_or(certain),
        FaultEntry::DropNth(drop) => certain(&drop.frame),
        FaultEntry::LinkDown(_) | FaultEntry::LinkFlap(_) => true,
        FaultEntry::LinkUp(_) | FaultEntry::RateChange(_) | FaultEntry::SlowReceiver(_) | FaultEntry::PauseStorm(_) => {
            false
        }
    }
}
