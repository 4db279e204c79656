//! Two runs side by side, until their first difference.
//!
//! Both run with every port captured. Departures from ports, frame by frame, are compared, and so are the control messages; the first
//! difference of each kind counts, since both come in the order of time. Only the rows by which one run is ahead of the other are kept.

use crate::error::ScenarioError;
use crate::{Checked, build};
use backwater_engine::Time;
use backwater_mech::registry::Config;
use backwater_mech::stage;
use backwater_net::Network;
use backwater_net::packet::{Body, Ecn, HostId, NodeId, Port};
use backwater_net::record::{ControlRow, FlowIdentity, FrameRow, Row, Sink};
use backwater_net::topology::Graph;
use std::collections::VecDeque;

/// Events that one run handles before the other continues.
const SLICE: u64 = 4096;

/// A frame that left a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// When its last bit had left.
    pub time: Time,
    /// Name of the node.
    pub node: String,
    /// Its port.
    pub port: u16,
    /// Name of the node at the other end.
    pub peer: String,
    /// `data`, `acknowledgement`, or the kind of its control frame.
    pub kind: &'static str,
    /// The flow that it belongs to or names.
    pub flow: Option<FlowIdentity>,
    /// \[bytes\] For data: offset of its first payload byte.
    pub offset: Option<u64>,
    /// \[bytes\] Length.
    pub size: u32,
    /// Congestion experienced.
    pub marked: bool,
}

/// A control message, when it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlMessage {
    /// When.
    pub time: Time,
    /// Its kind, such as `mac-control`.
    pub kind: &'static str,
    /// Name of the node that sent it.
    pub node: String,
    /// Port that it concerns, and name of the node at its other end.
    pub port: Option<(u16, String)>,
    /// Class that it concerns or travels in.
    pub class: Option<u8>,
    /// Host that it is for.
    pub to: Option<HostId>,
    /// Its first word.
    pub value: u64,
}

/// The first rows of a kind that two runs do not share: the row of each at that place, `None` if it has no more.
pub type Difference<T> = (Option<T>, Option<T>);

/// The comparison of two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The first difference among the frames.
    pub frames: Option<Difference<Left>>,
    /// The first difference among the control messages.
    pub control: Option<Difference<ControlMessage>>,
    /// Frames that were the same.
    pub same: u64,
}

/// One of the runs.
struct Side {
    network: Network<Config>,
    graph: Graph,
    peers: Vec<Vec<NodeId>>,
    over: bool,
    rows: Unmatched,
}

#[derive(Default)]
struct Unmatched {
    frames: VecDeque<FrameRow>,
    control: VecDeque<ControlRow>,
}

impl Sink for Unmatched {
    fn row(&mut self, row: Row<'_>) {
        match row {
            Row::Control(row) => self.control.push_back(row.clone()),
            Row::Frame(row) if row.outbound => self.frames.push_back(row.clone()),
            _ => {}
        }
    }
}

impl Side {
    fn new(checked: &Checked, seed: u64) -> Result<Side, ScenarioError> {
        let spec = build(checked, seed)?;
        let graph = spec.graph.clone();
        let mut network = stage::build(spec).map_err(ScenarioError::new)?;
        let ends = graph.ports().map_err(|error| ScenarioError::new(error.to_string()))?;
        let peers: Vec<Vec<NodeId>> = ends.iter().map(|ports| ports.iter().map(|end| end.peer).collect()).collect();
        for (node, ports) in peers.iter().enumerate() {
            for port in 0..ports.len() {
                network.capture_at(NodeId(node as u32), Port(port as u16));
            }
        }
        Ok(Side { network, graph, peers, over: false, rows: Unmatched::default() })
    }

    /// Continues. A broken promise ends a run, and is no difference before the other has continued further.
    fn advance(&mut self) {
        self.over |= !stage::run(&mut self.network, SLICE, &mut self.rows).is_ok_and(|progress| !progress.done);
    }

    fn time(&self) -> Time {
        self.network.progress().time
    }

    /// Returns whether all rows up to a time have been handed out.
    fn is_past(&self, time: Time) -> bool {
        self.over || self.time() > time
    }

    fn name(&self, node: NodeId) -> String {
        self.graph.nodes[node.0 as usize].name.clone()
    }

    fn peer(&self, node: NodeId, port: Port) -> String {
        self.name(self.peers[node.0 as usize][usize::from(port.0)])
    }

    fn left(&self, row: &FrameRow) -> Left {
        let kind = match (row.packet.body, row.control) {
            (_, Some(control)) => control.kind,
            (Body::Data(_), _) => "data",
            _ => "acknowledgement",
        };
        Left {
            time: row.time,
            node: self.name(row.node),
            port: row.port.0,
            peer: self.peer(row.node, row.port),
            kind,
            flow: row.flow,
            offset: row.packet.data().map(|data| data.offset),
            size: row.packet.size,
            marked: row.packet.ecn() == Ecn::Ce,
        }
    }

    fn control(&self, row: &ControlRow) -> ControlMessage {
        ControlMessage {
            time: row.time,
            kind: row.kind,
            node: self.name(row.node),
            port: row.port.map(|port| (port.0, self.peer(row.node, port))),
            class: row.class.map(|class| class.0),
            to: row.to,
            value: row.value,
        }
    }
}

/// Two runs side by side.
pub struct Pair {
    sides: [Side; 2],
    verdict: Verdict,
}

/// The functions that take, compare and show rows of one kind.
struct Comparison<T, D> {
    of: fn(&mut Unmatched) -> &mut VecDeque<T>,
    time: fn(&T) -> Time,
    same: fn(&T, &T) -> bool,
    shown: fn(&Side, &T) -> D,
}

const FRAMES: Comparison<FrameRow, Left> = Comparison {
    of: |rows| &mut rows.frames,
    time: |row| row.time,
    same: |a, b| {
        let key = |row: &FrameRow| (row.time, row.node, row.port, row.packet.uid, row.packet.ds, row.packet.size);
        key(a) == key(b)
    },
    shown: Side::left,
};

const CONTROL: Comparison<ControlRow, ControlMessage> =
    Comparison { of: |rows| &mut rows.control, time: |row| row.time, same: |a, b| a == b, shown: Side::control };

/// Removes rows that both have, up to the first difference.
fn compare<T, D>(sides: &mut [Side; 2], comparison: &Comparison<T, D>, shared: &mut u64) -> Option<Difference<D>> {
    loop {
        let heads = [0, 1].map(|i| (comparison.of)(&mut sides[i].rows).pop_front());
        match &heads {
            [None, None] => return None,
            [Some(one), Some(other)] if (comparison.same)(one, other) => *shared += 1,
            [None, Some(row)] if !sides[0].is_past((comparison.time)(row)) => {
                (comparison.of)(&mut sides[1].rows).push_front(heads.into_iter().flatten().next()?);
                return None;
            }
            [Some(row), None] if !sides[1].is_past((comparison.time)(row)) => {
                (comparison.of)(&mut sides[0].rows).push_front(heads.into_iter().flatten().next()?);
                return None;
            }
            [one, other] => {
                let [a, b] =
                    [(0, one), (1, other)].map(|(i, row)| row.as_ref().map(|row| (comparison.shown)(&sides[i], row)));
                return Some((a, b));
            }
        }
    }
}

impl Pair {
    /// A pair of two scenarios and seeds, on the same network.
    pub fn new(a: (&Checked, u64), b: (&Checked, u64)) -> Result<Pair, ScenarioError> {
        let sides = [Side::new(a.0, a.1)?, Side::new(b.0, b.1)?];
        let nodes = |side: &Side| side.graph.nodes.iter().map(|node| node.name.clone()).collect::<Vec<_>>();
        if nodes(&sides[0]) != nodes(&sides[1]) || sides[0].peers != sides[1].peers {
            let error =
                ScenarioError::new("the networks of the two runs differ, and nothing in them can be set side by side");
            return Err(
                error.hint("compare runs of one topology; `backwater compare` sets the results of others side by side")
            );
        }
        Ok(Pair { sides, verdict: Verdict::default() })
    }

    /// Runs some thousand events. Returns the verdict once the first frame differs and no control message can differ before it, or both
    /// have ended.
    pub fn advance(&mut self) -> Option<&Verdict> {
        // The one that is behind continues, so that few rows are kept.
        let [a, b] = [0, 1].map(|i| (self.sides[i].over, self.sides[i].time()));
        let behind = &mut self.sides[usize::from(b < a)];
        if !behind.over {
            behind.advance();
        }
        let (sides, verdict) = (&mut self.sides, &mut self.verdict);
        if verdict.control.is_none() {
            verdict.control = compare(sides, &CONTROL, &mut 0);
        }
        if verdict.frames.is_none() {
            verdict.frames = compare(sides, &FRAMES, &mut verdict.same);
        }
        let (over, frames) = (sides.iter().all(|side| side.over), verdict.frames.as_ref());
        let first = frames.and_then(|(a, b)| a.iter().chain(b).map(|row| row.time).min());
        let settled =
            first.is_some_and(|first| verdict.control.is_some() || sides.iter().all(|side| side.is_past(first)));
        (settled || over).then_some(&self.verdict)
    }

    /// Returns the time up to which both have run.
    pub fn time(&self) -> Time {
        self.sides[0].time().min(self.sides[1].time())
    }
}
