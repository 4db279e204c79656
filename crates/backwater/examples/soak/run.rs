//! Runs a scenario and keeps all of its rows.

use super::dice::Dice;
use backwater::capture::{Capture, Options};
use backwater::results::{Names, Tables};
use backwater::{Checked, build};
use backwater_engine::Time;
use backwater_mech::registry::Config;
use backwater_mech::stage;
use backwater_net::packet::{Body, NodeId, Port};
use backwater_net::pause::quanta_time;
use backwater_net::record::{self, Broken, Deadlock, FrameRow, Progress, Row, SeriesRow, Sink};
use backwater_net::spec::{CausesSpec, SeriesSpec, Spec};
use backwater_net::{Network, Rate};
use std::collections::BTreeMap;
use std::io;
use std::ops::Deref;

/// How a scenario is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// Without any output, in slices as a program takes them.
    Plain,
    /// With the scenario's outputs, in short slices; the last event is known to be at this time.
    Sliced(Time),
    /// With all outputs, and every port captured.
    Full(Time),
}

/// Most samples of a time series: timers may run on for a second after everything else.
pub const SAMPLES: u64 = 2_000;

/// Frames, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub frames: u64,
    pub bytes: u64,
}

/// Frames that have passed a captured port: data, acknowledgements and routed control frames of a class, out or in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Passage {
    pub node: NodeId,
    pub port: Port,
    pub outbound: bool,
    pub what: What,
    pub class: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    Data,
    Ack,
    Control,
}

/// All rows of a run, except samples of time series: their sums of sent bytes are kept.
#[derive(Default)]
pub struct Rows {
    kept: record::Rows,
    pub sent: Vec<SeriesRow>,
    pub passed: BTreeMap<Passage, Sum>,
    /// Data packets of each flow that have left a port of its source, and arrived at one of its receiver.
    pub of_flow: BTreeMap<u64, [u64; 2]>,
    /// When the last bit of each frame had left, and its length, by port.
    pub left: BTreeMap<(NodeId, Port), Vec<(Time, u32)>>,
    hosts: Vec<NodeId>,
}

impl Deref for Rows {
    type Target = record::Rows;
    fn deref(&self) -> &record::Rows {
        &self.kept
    }
}

impl Sink for Rows {
    fn row(&mut self, row: Row<'_>) {
        match row {
            Row::Frame(row) => self.frame(row),
            Row::Series(row) if row.quantity == "sent_bytes" => self.sent.push(row.clone()),
            Row::Series(_) => {}
            row => self.kept.row(row),
        }
    }
}

impl Rows {
    fn frame(&mut self, row: &FrameRow) {
        let what = match row.packet.body {
            Body::Data(_) => What::Data,
            Body::Ack(_) => What::Ack,
            Body::Control(_) => What::Control,
            // Some of these are signals without a frame.
            Body::Mac(_) => return,
        };
        let FrameRow { node, port, outbound, packet, .. } = row;
        let passage = Passage { node: *node, port: *port, outbound: *outbound, what, class: packet.class.0 };
        let sum = self.passed.entry(passage).or_default();
        sum.frames += 1;
        sum.bytes += u64::from(packet.size);
        if *outbound {
            self.left.entry((*node, *port)).or_default().push((row.time, packet.size));
        }
        if what == What::Data
            && let Some(flow) = &row.flow
        {
            let end = if *outbound { flow.src } else { flow.dst };
            if self.hosts.get(end.0 as usize) == Some(node) {
                self.of_flow.entry(flow.id).or_default()[usize::from(!*outbound)] += 1;
            }
        }
    }
}

/// The outcome of a run.
pub struct Outcome {
    pub rows: Rows,
    pub progress: Progress,
    /// The time of its last event.
    pub now: Time,
    pub fingerprint: u64,
    pub unrest: Vec<String>,
    pub broken: Option<Broken>,
    pub deadlock: Option<Deadlock>,
    /// True if it came to its end, and was not abandoned for its number of events.
    pub ended: bool,
}

/// Passes every row to the kept rows, to the tables that would be written, and to a capture.
struct All<'a> {
    rows: &'a mut Rows,
    tables: &'a mut Tables,
    capture: Option<&'a mut Capture<io::Sink>>,
}

impl Sink for All<'_> {
    fn row(&mut self, row: Row<'_>) {
        self.rows.row(row);
        self.tables.row(row);
        if let (Row::Frame(row), Some(capture)) = (row, &mut self.capture) {
            capture.frame(row);
        }
    }
}

/// Runs a scenario that the check has accepted for at most so many events.
///
/// # Errors
/// It cannot be built after all, or its rows cannot be written.
pub fn run(resolved: &Checked, how: How, most: u64, dice: &mut Dice) -> Result<Outcome, String> {
    let mut spec = build(resolved, resolved.resolved().seed())
        .map_err(|error| format!("build refuses what check accepts: {error}"))?;
    recorded(&mut spec, how);
    let ends = spec.graph.ports().map_err(|error| error.to_string())?;
    let every: Vec<(NodeId, Port)> =
        (0u32..).zip(&ends).flat_map(|(n, of)| (0..of.len()).map(move |p| (NodeId(n), Port(p as u16)))).collect();
    let mut capture = match how {
        How::Full(_) => {
            Some(Capture::new(io::sink(), &spec, &every, &Options::default()).map_err(|e| format!("{e:?}"))?)
        }
        _ => None,
    };
    let hosts = spec.graph.hosts().collect();
    let mut tables = Tables::new(Names::new(&spec.graph, &spec.groups));
    let mut network = stage::build(spec).map_err(|error| format!("the stage refuses what check accepts: {error}"))?;
    if matches!(how, How::Full(_)) {
        network.call_for_every_frame();
        every.iter().for_each(|(node, port)| assert!(network.capture_at(*node, *port)));
    }
    let mut rows = Rows { hosts, ..Rows::default() };
    let (mut ended, mut broken) = (false, None);
    {
        let mut sink = All { rows: &mut rows, tables: &mut tables, capture: capture.as_mut() };
        // A slice may have fewer events: finding routes takes the time of many.
        let left = |network: &Network<Config>| most.saturating_sub(network.progress().events);
        while !ended && left(&network) > 0 {
            let slice = match how {
                How::Plain => left(&network),
                _ => dice.log_whole(1, 3_000).min(left(&network)),
            };
            match stage::run(&mut network, slice, &mut sink) {
                Ok(progress) => ended = progress.done,
                Err(error) => (ended, broken) = (true, Some(error)),
            }
        }
    }
    let (progress, unrest, fingerprint) = (network.progress(), network.unrest(), network.fingerprint());
    let deadlock = network.deadlock().cloned();
    network.finish(&mut All { rows: &mut rows, tables: &mut tables, capture: capture.as_mut() });
    tables.finish().map_err(|error| format!("tables: {error}"))?;
    capture.as_mut().map_or(Ok(()), Capture::finish).map_err(|error| format!("capture: {error}"))?;
    rows.kept.flows.sort_by_key(|flow| flow.id);
    Ok(Outcome { rows, progress, now: network.now(), unrest, fingerprint, broken, deadlock, ended })
}

fn recorded(spec: &mut Spec<Config>, how: How) {
    // Samples go on until the last pause has ended, when a run may have been over for long.
    let rates = spec.graph.links.iter().flat_map(|link| link.rates);
    let slowest = rates.filter(|rate| rate.0 > 0).min().unwrap_or(Rate::gbps(1));
    let pause = quanta_time(slowest, u16::MAX);
    let long_enough = |interval: Time, end: Time| interval.max(Time((end.0 + pause.0) / SAMPLES));
    match how {
        How::Plain => (spec.series, spec.causes) = (None, CausesSpec::default()),
        How::Sliced(end) => {
            spec.series.iter_mut().for_each(|series| series.interval = long_enough(series.interval, end));
        }
        How::Full(end) => {
            let interval = long_enough(spec.series.as_ref().map_or(Time::us(1), |series| series.interval), end);
            let (queues, links, pauses, flows, backlogs) = (true, true, true, true, true);
            spec.series = Some(SeriesSpec { interval, queues, links, pauses, flows, backlogs, nodes: Vec::new() });
            spec.causes = CausesSpec { waits: vec![true; spec.groups.len()], pauses: true };
        }
    }
}
