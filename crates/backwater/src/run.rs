//! Runs a scenario to its end in one call, with its rows in memory. To get rows during the run, or to use several threads, build the
//! network ([`crate::build`]) and run it ([`backwater_mech::stage`]).

use crate::build::build;
use crate::error::ScenarioError;
use crate::scenario::Scenario;
use backwater_mech::stage;
use backwater_net::record::{
    Broken, CollectiveRow, ControlRow, FlowRow, PortRow, Progress, Rows, SeriesRow, SwitchRow, TransferRow,
};
use backwater_net::topology::Graph;

/// Events between two checks whether the run has ended.
const BUDGET: u64 = 1 << 20;

/// A run that has ended.
#[derive(Debug)]
pub struct Run {
    rows: Rows,
    progress: Progress,
    fingerprint: u64,
    graph: Graph,
    groups: Vec<String>,
}

impl Scenario {
    /// Checks the scenario and runs it to its end, on one thread.
    ///
    /// # Errors
    /// Errors of [`Scenario::check`] and [`build`], or a promise that the run could not keep, such as a frame lost in a lossless network.
    pub fn run(&self, seed: u64) -> Result<Run, ScenarioError> {
        let spec = build(&self.check()?, seed)?;
        let (graph, groups) = (spec.graph.clone(), spec.groups.clone());
        let mut network = stage::build(spec).map_err(ScenarioError::new)?;
        let mut rows = Rows::default();
        let progress = loop {
            match stage::run(&mut network, BUDGET, &mut rows) {
                Ok(progress) if progress.done => break progress,
                Ok(_) => {}
                Err(Broken { time, reason, hint }) => {
                    return Err(ScenarioError::new(format!("at {time}: {reason}")).hint(hint));
                }
            }
        };
        Ok(Run { rows, progress, fingerprint: network.fingerprint(), graph, groups })
    }
}

impl Run {
    /// Flows, in the order in which they ended.
    pub fn flows(&self) -> &[FlowRow] {
        &self.rows.flows
    }
    /// Control frames that mechanisms sent.
    pub fn controls(&self) -> &[ControlRow] {
        &self.rows.control
    }
    /// Samples of the time series in `output`.
    pub fn series(&self) -> &[SeriesRow] {
        &self.rows.series
    }
    /// Totals of each port.
    pub fn ports(&self) -> &[PortRow] {
        &self.rows.ports
    }
    /// Totals of each switch.
    pub fn switches(&self) -> &[SwitchRow] {
        &self.rows.switches
    }
    /// Collectives of jobs.
    pub fn collectives(&self) -> &[CollectiveRow] {
        &self.rows.collectives
    }
    /// Transfers of jobs.
    pub fn transfers(&self) -> &[TransferRow] {
        &self.rows.transfers
    }
    /// Returns the totals of the run: simulated time, frames, flows, drops.
    pub fn progress(&self) -> Progress {
        self.progress
    }
    /// The same for the same scenario and seed, whatever the machine and the number of threads.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
    /// Nodes and links that rows refer to.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
    /// Labels of the groups of flows, by the number in [`FlowRow::group`].
    pub fn groups(&self) -> &[String] {
        &self.groups
    }
}
