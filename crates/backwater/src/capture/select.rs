//! The selection of captured ports, and of their frames.
//!
//! [`Message::name`]: backwater_wire::frame::Message::name

use crate::error::{ScenarioError, nearest};
use backwater_net::packet::{Body, CLASSES, NodeId, Port};
use backwater_net::pause::PauseRequest;
use backwater_net::record::FrameRow;
use backwater_net::topology::{Graph, PortEnd};
use backwater_wire::frame::{Frame, Numbers};

/// The ports in a list such as `leaf0/3,spine1,h5`: parts between commas, each `all`, a tier (`leaf`: all ports of all leaves), a node (all
/// its ports), `node/port`, or `node:peer` (the ports of a node that lead to another).
///
/// # Errors
/// A part names nothing.
pub fn ports(graph: &Graph, list: &str) -> Result<Vec<(NodeId, Port)>, ScenarioError> {
    let ends = graph.ports().map_err(|error| ScenarioError::new(error.to_string()))?;
    let node = |name: &str| graph.nodes.iter().position(|node| node.name == name);
    let mut found: Vec<(NodeId, Port)> = Vec::new();
    for part in list.split(',').map(str::trim) {
        let before = found.len();
        let mut take = |n: usize, wanted: &dyn Fn(usize) -> bool| {
            let all = (0..ends.get(n).map_or(0, Vec::len)).filter(|p| wanted(*p));
            found.extend(all.map(|p| (NodeId(n as u32), Port(p as u16))));
        };
        if let Some((name, number)) = part.split_once('/') {
            if let (Some(n), Ok(number)) = (node(name), number.parse::<usize>()) {
                take(n, &|p| p == number);
            }
        } else if let Some((name, peer)) = part.split_once(':') {
            if let (Some(n), Some(peer)) = (node(name), node(peer)) {
                take(n, &|p| ends.get(n).and_then(|of| of.get(p)).is_some_and(|end| end.peer.0 as usize == peer));
            }
        } else if let Some(n) = node(part) {
            take(n, &|_| true);
        } else {
            for (n, _) in graph.nodes.iter().enumerate().filter(|(_, node)| part == "all" || node.tier == part) {
                take(n, &|_| true);
            }
        }
        if found.len() == before {
            return Err(unknown(graph, part, &ends));
        }
    }
    found.sort_by_key(|(node, port)| (node.0, port.0));
    found.dedup();
    Ok(found)
}

/// Returns why a part of a list names no port.
fn unknown(graph: &Graph, part: &str, ends: &[Vec<PortEnd>]) -> ScenarioError {
    let name = part.split(['/', ':']).next().unwrap_or(part);
    let at = graph.nodes.iter().position(|node| node.name == name);
    let hint = match at {
        Some(n) => format!("{name} has the ports 0 to {}", ends.get(n).map_or(0, Vec::len).saturating_sub(1)),
        None => {
            let names = graph.nodes.iter().flat_map(|node| [node.name.as_str(), node.tier.as_str()]);
            let form = "give all, a tier, a node, node/port or node:peer, with commas between";
            nearest(name, names).map_or(form.to_owned(), |near| format!("did you mean `{near}`? {form}"))
        }
    };
    let error = ScenarioError::new(format!("`{part}` names no port")).key("capture.ports").hint(hint);
    error.value(part)
}

/// Words for [`Filter::kinds`]: values of `Message::name` of the capture for frames of a run, and `control` for everything but data and its
/// acknowledgements.
pub const KINDS: [&str; 13] =
    ["data", "ack", "control", "pause", "pfc", "cnm", "cim", "sfcm", "sfc_pause", "bcn", "cnp", "uet", "other"];

/// The selection of frames; an empty part selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Some of [`KINDS`].
    pub kinds: Vec<&'static str>,
    /// Classes on the link, a bit each; for MAC control the classes that it pauses.
    pub classes: u8,
}

impl Filter {
    /// Reads any number of kinds and classes.
    ///
    /// # Errors
    /// An unknown kind or class.
    pub fn new(kinds: &[String], classes: &[i64]) -> Result<Filter, ScenarioError> {
        let mut filter = Filter::default();
        for kind in kinds {
            let known = KINDS.iter().find(|known| *known == kind);
            filter.kinds.push(known.ok_or_else(|| unknown_kind(kind))?);
        }
        for class in classes {
            if !(0..CLASSES as i64).contains(class) {
                let error = ScenarioError::new(format!("{class} is no class")).key("capture.class").hint("0 to 7");
                return Err(error.value(class.to_string()));
            }
            filter.classes |= 1 << class;
        }
        Ok(filter)
    }

    /// Returns whether a frame may be selected, as far as known before it is encoded.
    pub(super) fn may_take(&self, row: &FrameRow) -> bool {
        let asks = |kind: &'static str| self.kinds.contains(&kind);
        let kinds = match (row.packet.body, &row.control) {
            _ if self.kinds.is_empty() => true,
            (_, Some(_)) => self.kinds.iter().any(|kind| !matches!(*kind, "data" | "ack")),
            (Body::Data(_), None) => asks("data"),
            (_, None) => asks("ack"),
        };
        kinds && (self.classes == 0 || self.classes & classes_of(row) != 0)
    }

    /// Returns whether it is selected, given its octets.
    pub(super) fn takes(&self, row: &FrameRow, octets: &[u8]) -> bool {
        if self.kinds.is_empty() || row.control.is_none() || self.kinds.contains(&"control") {
            return true;
        }
        let frame = Frame::parse(octets, &Numbers::default());
        frame.is_ok_and(|frame| self.kinds.contains(&frame.message.name()))
    }
}

/// The classes that a frame belongs to or pauses, a bit each.
fn classes_of(row: &FrameRow) -> u8 {
    let requests = row.control.iter().flat_map(PauseRequest::each);
    // A pause of the whole link concerns every class.
    let paused = requests.fold(0, |bits, request| bits | request.class.map_or(u8::MAX, |class| 1 << class.0));
    if paused == 0 { 1 << row.packet.class.0 } else { paused }
}

fn unknown_kind(kind: &str) -> ScenarioError {
    let form = format!("kinds of frames: {}", KINDS.join(", "));
    let hint = nearest(kind, KINDS).map_or(form.clone(), |near| format!("did you mean `{near}`? {form}"));
    let error = ScenarioError::new(format!("`{kind}` is no kind of frame")).key("capture.kind").hint(hint);
    error.value(kind)
}
