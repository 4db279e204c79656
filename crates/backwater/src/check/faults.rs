//! Faults without effect: pauses of a host that its neighbour does not obey.

use crate::error::Warning;
use crate::file::{FaultEntry, Paused};
use crate::hosts;
use crate::planned::Planned;
use backwater_net::packet::{CLASSES, HostId, NodeId};

/// Returns warnings for pauses of a host without effect.
pub(super) fn check(planned: &Planned) -> Vec<Warning> {
    let one = |(number, fault): (usize, &FaultEntry)| {
        let (host, name, paused) = match fault {
            FaultEntry::SlowReceiver(slow) => (&slow.host, "class", slow.paused()),
            FaultEntry::PauseStorm(storm) => (&storm.host, "classes", storm.paused()),
            _ => return None,
        };
        let host = hosts::one(host, &planned.layout.index).ok()?;
        let obeyed = obeyed(planned, host);
        if paused.bits() & obeyed != 0 {
            return None;
        }
        let (name, value) = match &paused {
            Paused::Link => ("link", "true".to_owned()),
            Paused::Classes(classes) if name == "class" => (name, classes[0].to_string()),
            Paused::Classes(classes) => (name, format!("{classes:?}")),
        };
        let (what, why) = match paused {
            Paused::Link => ("its link", "has no mechanism that pauses whole links"),
            Paused::Classes(_) => ("classes of its link", "has none of them under flow control by class"),
        };
        let hint = match paused {
            Paused::Classes(_) if obeyed & LINK != 0 => "link = true: there the whole link is paused",
            Paused::Classes(_) => {
                "a peer obeys pauses of the classes that its own flow control pauses: turn that on, or add the class to its `classes`"
            }
            Paused::Link => {
                "a peer obeys pauses of a whole link if it pauses whole links itself: turn a mechanism on that does"
            }
        };
        Some(Warning {
            key: format!("fault.{number}.{name}"),
            value,
            reason: format!("{} pauses {what}, and its neighbour {why}: it goes on sending", planned.layout.name(host)),
            hint: hint.into(),
        })
    };
    planned.resolved().file.fault.iter().enumerate().filter_map(one).collect()
}

/// The bit of the whole link.
const LINK: u16 = 1 << CLASSES;

/// Returns the pauses that some neighbour of a host obeys: a bit for each class, then one for the link.
fn obeyed(planned: &Planned, host: HostId) -> u16 {
    let Some(node) = planned.layout.index.node_of(host) else { return 0 };
    let far = |end: NodeId, other: NodeId| (end == node).then_some(other);
    let links = planned.layout.graph.links.iter();
    let peers = links.filter_map(|link| far(link.a, link.b).or_else(|| far(link.b, link.a)));
    peers.fold(0, |bits, peer| {
        let (about, mechanisms) = (&planned.layout.graph.nodes[peer.0 as usize], &planned.resolved().mechanisms);
        let styles = mechanisms.pause_styles(&about.name, &about.tier);
        // A pause without a frame does not show its kind.
        let framed = styles.iter().all(|(_, style)| style.framed);
        let kept = if framed { 0 } else { LINK | u16::from(mechanisms.lossless_classes(&about.name, &about.tier)) };
        bits | mechanisms.pauses(&about.name, &about.tier) | kept
    })
}
