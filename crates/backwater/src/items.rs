//! Lists of what there is, the scenario to start from, and versions.

use crate::error::ScenarioError;
use serde::Serialize;

/// Something that can be named in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its name in a scenario.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Where it is defined.
    pub source: String,
}

/// The known `mechanisms`, `topologies` or `workloads`.
pub fn items(_what: &str) -> Result<Vec<Item>, ScenarioError> {
    Err(ScenarioError::new("not yet written"))
}

/// A commented scenario to start from.
pub fn new_scenario() -> &'static str {
    ""
}

/// Versions of what a run's numbers depend on: name and version.
pub fn version() -> Vec<(&'static str, &'static str)> {
    vec![("backwater", env!("CARGO_PKG_VERSION"))]
}
