//! The stage with the registry's mechanisms. It is compiled here, once for every program and test that runs it: a crate that called the
//! generic [`Network`] itself would compile it anew.

use crate::registry::Config;
use backwater_engine::Time;
use backwater_engine::state::Unfit;
use backwater_net::packet::{NodeId, Port};
use backwater_net::record::{Broken, PortRow, Progress, Sink};
use backwater_net::spec::Spec;
use backwater_net::workload::caller::{Halt, Message, Told};
use backwater_net::{Network, Parallel};

/// A network that is ready to run; an error says what of `spec` cannot be built.
pub fn build(spec: Spec<Config>) -> Result<Network<Config>, String> {
    Network::new(spec)
}

/// Handles up to `budget` events, as [`Network::run`] does.
pub fn run(network: &mut Network<Config>, budget: u64, sink: &mut dyn Sink) -> Result<Progress, Broken> {
    network.run(budget, sink)
}

/// Handles up to `budget` events that are not after `until`, as [`Network::run_until`] does.
///
/// # Errors
/// A broken promise ends the run.
pub fn run_until(
    network: &mut Network<Config>,
    until: Time,
    budget: u64,
    sink: &mut dyn Sink,
) -> Result<(Progress, bool), Broken> {
    network.run_until(until, budget, sink)
}

/// Returns the state of a run, as [`Network::save`] does.
///
/// # Errors
/// A part of the state that cannot be saved.
pub fn save(network: &Network<Config>) -> Result<Vec<u8>, Unfit> {
    network.save()
}

/// Restores it, as [`Network::load`] does.
///
/// # Errors
/// A part that does not fit.
pub fn load(network: &mut Network<Config>, octets: &[u8]) -> Result<(), Unfit> {
    network.load(octets)
}

/// A run on up to `threads` threads, as [`Parallel::new`] creates it.
///
/// # Errors
/// Errors of `make`, or a part of its spec that cannot be built.
pub fn build_parallel(
    threads: usize,
    make: &mut dyn FnMut() -> Result<Spec<Config>, String>,
) -> Result<Parallel<Config>, String> {
    Parallel::new(threads, make)
}

/// Handles about `budget` events, as [`Parallel::run`] does.
pub fn run_parallel(run: &mut Parallel<Config>, budget: u64, sink: &mut dyn Sink) -> Result<Progress, Broken> {
    run.run(budget, sink)
}

/// Ends a run, as [`Parallel::finish`] does.
///
/// # Errors
/// A broken promise of a run that restarted.
pub fn finish_parallel(run: &mut Parallel<Config>, sink: &mut dyn Sink) -> Result<(), Broken> {
    run.finish(sink)
}

/// Handles up to `budget` events that are not after `until`, as [`Parallel::run_until`] does.
///
/// # Errors
/// A broken promise ends the run.
pub fn run_parallel_until(
    run: &mut Parallel<Config>,
    until: Time,
    budget: u64,
    sink: &mut dyn Sink,
) -> Result<(Progress, bool), Broken> {
    run.run_until(until, budget, sink)
}

/// Returns the state of a run, as [`Parallel::save`] does.
///
/// # Errors
/// A part of the state that cannot be saved.
pub fn save_parallel(run: &Parallel<Config>) -> Result<Vec<u8>, Unfit> {
    run.save()
}

/// Restores it, as [`Parallel::load`] does.
///
/// # Errors
/// A part that does not fit.
pub fn load_parallel(run: &mut Parallel<Config>, octets: &[u8]) -> Result<(), Unfit> {
    run.load(octets)
}

/// Sends a message of the caller, as [`Parallel::send`] does.
pub fn send(run: &mut Parallel<Config>, message: Message) -> Option<u64> {
    run.send(message)
}

/// Handles events until the run waits for its caller, as [`Parallel::run_for_caller`] does.
///
/// # Errors
/// A broken promise ends the run.
pub fn run_for_caller(
    run: &mut Parallel<Config>,
    until: Time,
    budget: u64,
    sink: &mut dyn Sink,
) -> Result<Halt, Broken> {
    run.run_for_caller(until, budget, sink)
}

/// Appends what the caller has to learn, as [`Parallel::take_told`] does.
pub fn take_told(run: &mut Parallel<Config>, into: &mut Vec<Told>) {
    run.take_told(into);
}

/// The caller sends nothing more, as for [`Parallel::dismiss_caller`].
pub fn dismiss_caller(run: &mut Parallel<Config>) {
    run.dismiss_caller();
}

/// The totals of a port until now, as [`Parallel::port_row`] returns them.
pub fn port_row(run: &Parallel<Config>, node: NodeId, port: Port) -> Option<PortRow> {
    run.port_row(node, port)
}

/// Messages of the caller so far, and those that have not ended, as [`Parallel::sent_and_open`] returns them.
pub fn sent_and_open(run: &mut Parallel<Config>) -> (u64, u64) {
    run.sent_and_open()
}
