//! Which ports are captured, and which of their frames.

use crate::error::{ScenarioError, nearest};
use backwater_net::packet::{Class, Kind, NodeId, Port};
use backwater_net::record::FrameRow;
use backwater_net::topology::Graph;

/// The ports that a list such as `leaf0/3,spine1,h5` names: parts between commas, each `all`, a tier (`leaf`: all ports of all leaves), a node
/// (all its ports), `node/port`, or `node:peer` (the ports of a node that lead to another).
///
/// # Errors
/// If a part names nothing.
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

/// Why a part of a list names no port.
fn unknown(graph: &Graph, part: &str, ends: &[Vec<backwater_net::topology::PortEnd>]) -> ScenarioError {
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
    let error = ScenarioError::new(format!("`{part}` names no port")).key("capture").hint(hint);
    ScenarioError { value: Some(part.to_owned()), ..error }
}

/// Which kinds of frames a filter takes.
pub type Kinds = Vec<String>;

/// Which frames are captured; empty lists take all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// `data`, `ack`, `control` (every control frame), or a kind of control frame such as `cnp`, `sfc-pause`, `mac-control`.
    pub kinds: Kinds,
    /// Classes on the link, 0 to 7; of MAC control the one that it pauses.
    pub classes: Vec<u8>,
}

impl Filter {
    /// Whether a frame is taken.
    pub fn takes(&self, row: &FrameRow) -> bool {
        let kind = match (row.packet.kind, &row.control) {
            (Kind::Data, _) => "data",
            (Kind::Ack | Kind::Nack, _) => "ack",
            (_, Some((frame, _))) => frame.kind,
            _ => "control",
        };
        let wanted = |name: &String| name == kind || (name == "control" && row.control.is_some());
        let class = match row.control.as_ref().and_then(|(frame, _)| backwater_net::hold::Hold::read(frame)) {
            Some(hold) => hold.class,
            None => Some(row.packet.class),
        };
        // A pause of the whole link concerns every class.
        let classes = self.classes.is_empty() || class.is_none_or(|Class(class)| self.classes.contains(&class));
        classes && (self.kinds.is_empty() || self.kinds.iter().any(wanted))
    }
}
