//! From a resolved scenario to what a run is built from.

use crate::error::ScenarioError;
use crate::resolved::Resolved;
use backwater_mech::registry;
use backwater_net::spec::Spec;

/// Makes the spec of a run; `seed` is the run's. Reads flow tables.
pub fn build(_resolved: &Resolved, _seed: u64) -> Result<Spec<registry::Config>, ScenarioError> {
    Err(ScenarioError::new("not yet written"))
}
