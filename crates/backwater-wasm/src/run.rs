//! A run in progress, and its results.

use crate::picture::Pictures;
use backwater::topology_view::sketch;
use backwater::{Checked, ScenarioError};
use backwater_engine::Time;
use backwater_mech::registry::Config;
use backwater_mech::stage;
use backwater_net::Parallel;
use backwater_net::record::{Broken, FlowRow, PortRow, Row, Sink, State};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The most rows of flows that the page gets. Its groups count all flows.
const FLOWS: usize = 400;

/// A run, and its results so far.
pub struct Run {
    network: Parallel<Config>,
    rows: Rows,
    fabric: Value,
    end: Option<Time>,
    flows_total: Option<u64>,
    broken: Option<String>,
    over: bool,
}

/// Results of a run, of bounded size.
struct Rows {
    groups: Vec<String>,
    /// Completion times in ps, by group.
    times: BTreeMap<u32, Vec<u64>>,
    unfinished: BTreeMap<u32, u64>,
    flows: Vec<Value>,
    ports: Totals,
    controls: BTreeMap<&'static str, u64>,
    pictures: Option<Pictures>,
}

/// Sums over all ports.
#[derive(Default)]
struct Totals {
    pauses: u64,
    paused_ps: u64,
    dropped: u64,
    marked: u64,
    deepest: u64,
}

impl Sink for Rows {
    fn row(&mut self, row: Row<'_>) {
        match row {
            Row::Flow(row) => self.flow(row),
            Row::Control(row) => *self.controls.entry(row.kind).or_default() += 1,
            Row::Series(row) => {
                if let Some(pictures) = &mut self.pictures {
                    pictures.take(row);
                }
            }
            Row::Port(row) => self.port(row),
            _ => {}
        }
    }
}

impl Rows {
    fn flow(&mut self, row: &FlowRow) {
        // The time of the last byte counts, as in the command's summary.
        let time = row.fct_last_byte.filter(|_| row.state == State::Complete).map(Time::as_ps);
        match time {
            Some(time) => self.times.entry(row.group).or_default().push(time),
            None => *self.unfinished.entry(row.group).or_default() += 1,
        }
        if self.flows.len() < FLOWS {
            let state = match &row.state {
                State::Complete => "complete".to_owned(),
                State::Failed => "failed".to_owned(),
                State::Unfinished(why) => format!("unfinished: {why}"),
            };
            self.flows.push(json!({
                "id": row.id, "group": self.groups.get(row.group as usize), "src": row.src.0, "dst": row.dst.0, "bytes": row.bytes,
                "start_ps": row.start.as_ps(), "fct_ps": time, "marked": row.marked, "retransmitted": row.retransmitted, "state": state,
            }));
        }
    }

    fn port(&mut self, row: &PortRow) {
        self.ports.pauses += row.stats.pauses_received;
        self.ports.paused_ps += row.stats.paused_ps;
        self.ports.dropped += row.stats.drop_frames;
        self.ports.marked += row.stats.marked_frames;
        self.ports.deepest = self.ports.deepest.max(row.stats.max_egress_bytes);
        if let Some(pictures) = &mut self.pictures {
            pictures.port(row);
        }
    }
}

impl Run {
    /// Builds the network of a scenario. `interval`: the time between two samples in ps; `None`: no pictures.
    pub fn new(checked: &Checked, seed: u64, interval: Option<u64>) -> Result<Run, ScenarioError> {
        let spec = backwater::build(checked, seed)?;
        let (end, flows_total, groups) = (spec.stop_at, spec.flows_total, spec.groups.clone());
        let mut first = Some(spec);
        let mut make = || match first.take() {
            Some(spec) => Ok(spec),
            None => backwater::build(checked, seed).map_err(|error| error.to_string()),
        };
        let network = stage::build_parallel(1, &mut make).map_err(ScenarioError::new)?;
        let fabric = match interval {
            Some(_) => fabric(checked, seed)?,
            None => Value::Null,
        };
        let rows = Rows {
            groups,
            times: BTreeMap::new(),
            unfinished: BTreeMap::new(),
            flows: Vec::new(),
            ports: Totals::default(),
            controls: BTreeMap::new(),
            pictures: interval.map(Pictures::new),
        };
        Ok(Run { network, rows, fabric, end, flows_total, broken: None, over: false })
    }

    /// Handles up to `events` events.
    pub fn advance(&mut self, events: u64) -> Result<Value, ScenarioError> {
        if !self.over {
            match stage::run_parallel(&mut self.network, events, &mut self.rows) {
                Ok(progress) => self.over = progress.done,
                Err(broken) => self.ended_by(&broken),
            }
        }
        let progress = self.network.progress();
        Ok(json!({
            "done": self.over, "time_ps": progress.time.as_ps(), "end_ps": self.end.map(Time::as_ps), "events": progress.events,
            "flows_done": progress.flows_done, "flows_total": self.flows_total,
        }))
    }

    fn ended_by(&mut self, broken: &Broken) {
        self.over = true;
        self.broken.get_or_insert_with(|| format!("at {}: {}", broken.time, broken.reason));
    }

    /// Ends the run, and returns its results.
    pub fn finish(mut self) -> Result<Value, ScenarioError> {
        if let Err(broken) = stage::finish_parallel(&mut self.network, &mut self.rows) {
            self.ended_by(&broken);
        }
        let (progress, rows) = (self.network.progress(), self.rows);
        let named = |group: u32| rows.groups.get(group as usize).cloned().unwrap_or_default();
        let mut of: Vec<u32> = rows.times.keys().chain(rows.unfinished.keys()).copied().collect();
        of.sort_unstable();
        of.dedup();
        let groups: Vec<Value> = of
            .into_iter()
            .map(|group| {
                let mut times = rows.times.get(&group).cloned().unwrap_or_default();
                times.sort_unstable();
                let mean = times.iter().map(|time| *time as f64).sum::<f64>() / times.len().max(1) as f64;
                let some = (!times.is_empty()).then_some(mean);
                // The smallest time that 99 % of the flows do not exceed.
                let p99 = (times.len() * 99).div_ceil(100).checked_sub(1).map(|at| times[at]);
                json!({
                    "group": named(group), "flows": times.len(), "unfinished": rows.unfinished.get(&group).copied().unwrap_or(0),
                    "min_ps": times.first(), "mean_ps": some, "p99_ps": p99, "max_ps": times.last(),
                })
            })
            .collect();
        let deadlock =
            self.network.deadlock().map(|found| json!({ "time_ps": found.time.as_ps(), "cycle": found.cycle }));
        Ok(json!({
            // As text, because numbers of JavaScript lose the last bits.
            "fingerprint": format!("{:016x}", self.network.fingerprint()),
            "time_ps": progress.time.as_ps(), "events": progress.events, "hops": progress.hops, "drops": progress.drops,
            "fault_losses": progress.fault_losses, "flows_done": progress.flows_done, "flows_failed": progress.flows_failed,
            "flows_unfinished": progress.flows_active, "broken": self.broken, "deadlock": deadlock, "groups": groups,
            "flows": rows.flows, "flows_shown": FLOWS, "pauses": rows.ports.pauses, "paused_ps": rows.ports.paused_ps,
            "dropped_frames": rows.ports.dropped, "marked_frames": rows.ports.marked, "max_egress_bytes": rows.ports.deepest,
            "controls": rows.controls, "fabric": self.fabric, "pictures": rows.pictures.map(Pictures::as_json),
        }))
    }
}

/// Returns the network as the page draws it.
fn fabric(checked: &Checked, seed: u64) -> Result<Value, ScenarioError> {
    let drawn = sketch(checked, seed, 0)?;
    let nodes: Vec<Value> = drawn.nodes.iter().map(|node| json!([node.name, node.tier, node.host])).collect();
    let links: Vec<Value> = drawn.links.iter().map(|link| json!([link.a, link.b, link.rate_bps])).collect();
    Ok(json!({ "nodes": nodes, "links": links }))
}
