//! `[[fault]]` as the stage takes it.

use crate::error::ScenarioError;
use crate::file::FaultEntry;
use crate::flows::Place;
use crate::hosts;
use backwater_net::packet::{Class, NodeId};
use backwater_net::spec::{Fault, FaultKind, FrameKind};

/// All faults of the scenario.
pub(crate) fn all(place: &Place<'_>) -> Result<Vec<Fault>, ScenarioError> {
    place.resolved.file.fault.iter().enumerate().map(|(i, fault)| one(place, &format!("fault.{i}"), fault)).collect()
}

fn one(place: &Place<'_>, key: &str, fault: &FaultEntry) -> Result<Fault, ScenarioError> {
    let (at, kind) = match fault {
        FaultEntry::Loss { at, from, to, probability } => {
            let (from, to) = link(place, key, ("from", from), ("to", to))?;
            (*at, FaultKind::Loss { from, to, probability: *probability })
        }
        FaultEntry::DropNth { at, from, to, frame, nth } => {
            let (from, to) = link(place, key, ("from", from), ("to", to))?;
            let what = match frame.0.as_str() {
                "data" => FrameKind::Data,
                "ack" => FrameKind::Ack,
                kind => FrameKind::Control(kind.to_owned()),
            };
            (*at, FaultKind::DropNth { from, to, what, nth: *nth })
        }
        FaultEntry::LinkDown { at, a, b } => {
            let (a, b) = link(place, key, ("a", a), ("b", b))?;
            (*at, FaultKind::LinkDown { a, b })
        }
        FaultEntry::LinkUp { at, a, b } => {
            let (a, b) = link(place, key, ("a", a), ("b", b))?;
            (*at, FaultKind::LinkUp { a, b })
        }
        FaultEntry::RateChange { at, from, to, rate } => {
            let (from, to) = link(place, key, ("from", from), ("to", to))?;
            (*at, FaultKind::RateChange { from, to, rate: *rate })
        }
        FaultEntry::SlowReceiver { at, host, rate, xoff, xon, class } => {
            let host = hosts::one(host, place.index)
                .map_err(|(reason, hint)| place.resolved.error(&format!("{key}.host"), reason).hint(hint))?;
            if xon > xoff {
                let reason = format!("xon ({xon}) is above xoff ({xoff})");
                return Err(place.resolved.error(&format!("{key}.xon"), reason).hint("xon must not exceed xoff"));
            }
            (*at, FaultKind::SlowReceiver { host, rate: *rate, xoff: *xoff, xon: *xon, class: Class(*class) })
        }
    };
    Ok(Fault { at, kind })
}

/// Two nodes that a link joins.
fn link(place: &Place<'_>, key: &str, a: (&str, &str), b: (&str, &str)) -> Result<(NodeId, NodeId), ScenarioError> {
    let find = |(name, text): (&str, &str)| {
        place.index.node(text).ok_or_else(|| {
            place
                .resolved
                .error(&format!("{key}.{name}"), format!("there is no node `{text}`"))
                .hint(hosts::node_hint(text, place.index.graph()))
        })
    };
    let (from, to) = (find(a)?, find(b)?);
    if !place.neighbours().joined(from, to) {
        let reason = format!("no link joins `{}` and `{}`", a.1, b.1);
        return Err(place
            .resolved
            .error(&format!("{key}.{}", b.0), reason)
            .hint("faults happen on the links of the topology"));
    }
    Ok((from, to))
}
