//! Faults that would do nothing: pauses of a host that its neighbour does not obey.

use crate::error::Warning;
use crate::file::FaultEntry;
use crate::hosts;
use crate::planned::Planned;
use backwater_net::packet::{HostId, NodeId, class_bits};

/// The classes that a host pauses in vain.
pub(super) fn check(planned: &Planned) -> Vec<Warning> {
    let one = |(number, fault): (usize, &FaultEntry)| {
        let (host, name, classes) = match fault {
            FaultEntry::SlowReceiver { host, class, .. } => (host, "class", vec![*class]),
            FaultEntry::PauseStorm { host, classes, .. } => (host, "classes", classes.clone()),
            _ => return None,
        };
        let host = hosts::one(host, &planned.index).ok()?;
        if class_bits(&classes) & obeyed(planned, host) != 0 {
            return None;
        }
        Some(Warning {
            key: format!("fault.{number}.{name}"),
            value: if name == "class" { classes[0].to_string() } else { format!("{classes:?}") },
            reason: format!(
                "{} pauses classes of its link, and its neighbour has none of them under flow control by class: it goes on sending",
                planned.name(host)
            ),
            hint: "classes that a mechanism pauses at the neighbour: there it obeys such pauses, too".into(),
        })
    };
    planned.file.fault.iter().enumerate().filter_map(one).collect()
}

/// Classes of which some neighbour of a host obeys pauses, a bit each.
fn obeyed(planned: &Planned, host: HostId) -> u8 {
    let Some(node) = planned.index.node_of(host) else { return 0 };
    let far = |end: NodeId, other: NodeId| (end == node).then_some(other);
    let links = planned.graph.links.iter();
    let peers = links.filter_map(|link| far(link.a, link.b).or_else(|| far(link.b, link.a)));
    peers.fold(0, |bits, peer| {
        let (about, mechanisms) = (&planned.graph.nodes[peer.0 as usize], &planned.mechanisms);
        let styles = mechanisms.hold_styles(&about.name, &about.tier);
        // Of pauses without a frame nothing says which classes they are of.
        let framed = styles.iter().all(|(_, style)| style.framed);
        let kept = if framed { 0 } else { mechanisms.lossless_classes(&about.name, &about.tier) };
        bits | mechanisms.pauses(&about.name, &about.tier) as u8 | kept
    })
}
