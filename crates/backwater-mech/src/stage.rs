//! The stage with the registry's mechanisms on it. It is compiled here, once for every program and test that runs it: a
//! crate that called the generic [`Network`] itself would compile it anew.

use crate::registry::Config;
use backwater_net::Network;
use backwater_net::record::{Broken, Progress, Sink};
use backwater_net::spec::Spec;

/// A network that is ready to run; an error says what of `spec` cannot be built.
pub fn build(spec: Spec<Config>) -> Result<Network<Config>, String> {
    Network::new(spec)
}

/// Handles up to `budget` events, as [`Network::run`] does.
pub fn run(network: &mut Network<Config>, budget: u64, sink: &mut dyn Sink) -> Result<Progress, Broken> {
    network.run(budget, sink)
}
