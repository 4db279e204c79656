//! A scenario run to its end in one call, with its rows in memory. Whoever wants rows as they come, or several threads, builds the network
//! ([`crate::build`]) and runs it ([`backwater_mech::stage`]).

use crate::build::build;
use crate::error::ScenarioError;
use crate::scenario::Scenario;
use backwater_mech::stage;
use backwater_net::record::{
    Broken, CollectiveRow, ControlRow, FlowRow, PortRow, Progress, Rows, SeriesRow, SwitchRow, TransferRow,
};
use backwater_net::topology::Graph;

/// Events between two looks at whether the run is over.
const BUDGET: u64 = 1 << 20;

/// A run that is over.
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
    /// What [`Scenario::check`] and [`build`] refuse, or a promise that the run could not keep, such as a frame lost in a lossless network.
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
    /// Samples of the time series that `output` asks for.
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
    /// What the run came to: simulated time, frames, flows, drops.
    pub fn progress(&self) -> Progress {
        self.progress
    }
    /// The same for the same scenario and seed, whatever the machine and the number of threads.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
    /// Nodes and links, by which rows name theirs.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
    /// Labels of the groups of flows, by the number in [`FlowRow::group`].
    pub fn groups(&self) -> &[String] {
        &self.groups
    }
}
