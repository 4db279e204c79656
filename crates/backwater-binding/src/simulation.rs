//! `Simulation`: a run in progress, which Python advances by slices of wall time.

use crate::arrow::{self, Batch};
use crate::capture::{self, Capture};
use crate::errors::{self, Failure};
use backwater::capture::{Tap, ports};
use backwater::file::{LoadCounts, LoadOf};
use backwater::load::offers;
use backwater::results::{End, Names, Tables, Tally, Verdict};
use backwater::resume_changes;
use backwater::{Checked, ScenarioError};
use backwater_engine::Time;
use backwater_mech::registry::Config;
use backwater_mech::stage;
use backwater_net::Parallel;
use backwater_net::record::{Broken, Progress};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::fs::File;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// Events between two readings of the clock: about 10 ms.
const SLICE: u64 = 50_000;

/// Longest time that a row waits for its batch to fill. A killed run loses these rows, and the open part file.
const PATIENCE: Duration = Duration::from_secs(1);

/// A run in progress. Create and use it within one thread; each thread may have its own.
#[pyclass(frozen, module = "backwater._core")]
pub struct Simulation {
    /// Nobody waits for this lock. A thread that finds it locked gets an error: two threads use the simulation at once.
    run: Mutex<Run>,
}

struct Run {
    network: Parallel<Config>,
    /// The number of threads requested.
    threads: usize,
    tables: Tables,
    capture: Option<backwater::capture::Capture<File>>,
    end: Option<Time>,
    flows_total: Option<u64>,
    /// As of the last slice, so that it is known even after a defect.
    progress: Progress,
    over: bool,
    /// True if the run ended early: its user stopped it, or it broke a promise.
    cut: bool,
    /// True if a defect has left the network in an unknown state.
    defective: bool,
    handed_over: Instant,
    /// True once all events up to the requested time are over, and none after it.
    reached: bool,
}

/// A saved run: its state, its scenario, and the keys whose values change from then on.
pub struct Saved {
    pub state: Vec<u8>,
    pub scenario: Arc<Checked>,
    pub keys: Vec<String>,
}

/// The progress of a run. A hop is one frame sent on one link, ACKs included.
#[pyclass(frozen, get_all, module = "backwater._core")]
pub struct Status {
    /// True once the run has ended.
    done: bool,
    /// True once all events up to the time in `until_ps` are over, and none after it.
    reached: bool,
    /// The simulated time, in ps.
    time_ps: u64,
    /// The simulated time at which the run ends at the latest, in ps; None: without a limit.
    end_ps: Option<u64>,
    /// Events so far.
    events: u64,
    /// Hops of all frames.
    hops: u64,
    /// Hops of data frames.
    data_hops: u64,
    /// Flows that have completed.
    flows_done: u64,
    /// How many flows the run will have; None: unknown.
    flows_total: Option<u64>,
}

impl Simulation {
    /// Builds the network of a scenario, for up to `threads` threads. `capture`: what to capture, and whether to begin
    /// its file or only to check its ports.
    pub fn build(
        resolved: &Checked,
        seed: u64,
        threads: usize,
        capture: Option<(&Capture, Begin)>,
        saved: Option<&Saved>,
    ) -> Result<Simulation, ScenarioError> {
        if let Some(saved) = saved {
            resume_changes::see_fork(&saved.scenario, resolved, saved.keys.iter().map(String::as_str))?;
        }
        let spec = backwater::build(resolved, seed)?;
        let tally = Tally::new(offers(resolved), &spec.groups);
        let mut tables =
            Tables::new(Names::new(&spec.graph, &spec.groups)).counting(tally).judging(Verdict::new(&spec));
        let (end, flows_total) = (spec.stop_at, spec.flows_total);
        let at = capture.map_or(Ok(Vec::new()), |(capture, _)| ports(&spec.graph, &capture.options.ports))?;
        capture.map_or(Ok(()), |(capture, _)| capture.options.room(&spec, &at))?;
        let begun = capture.filter(|(_, begin)| *begin == Begin::Now).map(|(capture, _)| capture.begin(&spec, &at));
        let begun = begun.transpose()?;
        let mut first = Some(spec);
        let mut make = || match first.take() {
            Some(spec) => Ok(spec),
            None => backwater::build(resolved, seed).map_err(|error| error.to_string()),
        };
        let mut network = stage::build_parallel(threads, &mut make).map_err(ScenarioError::new)?;
        for (node, port) in at {
            network.capture_at(node, port).map_err(ScenarioError::new)?;
        }
        if let Some(Saved { state, keys, .. }) = saved {
            resume_changes::load(&mut network, &mut tables, state, keys)?;
        }
        let (progress, handed_over) = (network.progress(), Instant::now());
        let (over, cut, defective) = (false, false, false);
        let run = Run {
            network,
            threads,
            tables,
            capture: begun,
            end,
            flows_total,
            progress,
            over,
            cut,
            defective,
            handed_over,
            reached: false,
        };
        Ok(Simulation { run: Mutex::new(run) })
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, Run>> {
        match self.run.try_lock() {
            Ok(run) => Ok(run),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err("the simulation is at work in another thread; use it within one thread"))
            }
        }
    }
}

/// The choice to begin a capture's file, or only to check its ports.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// Look up its ports only.
    No,
    /// Begin the file, and replace an existing one.
    Now,
}

/// A failure that ended a slice.
enum Mishap {
    Broken(Broken),
    /// A panic, or an exception of the user's code.
    Unwound(Failure),
    /// The capture cannot be written.
    Capture(io::Error),
}

impl Run {
    /// Runs for about `wall`, no further than `until`. At the end of the run, its last rows are in the tables.
    fn advance(&mut self, wall: Duration, until: Option<Time>) -> Result<(), Mishap> {
        let result = self.slices(wall, until);
        // Not only at the end of a run: if it is killed, its capture can be read up to here.
        let flushed = self.capture.as_mut().map_or(Ok(()), |capture| capture.flush());
        result.and(flushed.map_err(Mishap::Capture))
    }

    fn slices(&mut self, wall: Duration, until: Option<Time>) -> Result<(), Mishap> {
        let began = Instant::now();
        self.reached = false;
        while !self.over && !self.reached {
            let result = self.guarded(|run| {
                let mut sink = Tap { tables: &mut run.tables, capture: run.capture.as_mut() };
                let (network, budget) = (&mut run.network, SLICE * run.threads as u64);
                match until {
                    Some(until) => stage::run_parallel_until(network, until, budget, &mut sink),
                    None => stage::run_parallel(network, budget, &mut sink).map(|progress| (progress, false)),
                }
            })?;
            match result {
                Ok((progress, reached)) => {
                    (self.progress, self.reached) = (progress, reached);
                    if progress.done {
                        self.finish()?;
                    }
                }
                Err(broken) => {
                    self.cut = true;
                    self.finish()?;
                    return Err(Mishap::Broken(broken));
                }
            }
            if began.elapsed() >= wall {
                break;
            }
        }
        Ok(())
    }

    /// Saves the state. It borrows the run mutably, because two threads must not read a network at once.
    fn save(&mut self) -> Result<Vec<u8>, ScenarioError> {
        resume_changes::save(&self.network, &self.tables)
    }

    fn finish(&mut self) -> Result<(), Mishap> {
        if !self.over {
            self.over = true;
            let ended = self.guarded(|run| {
                let mut sink = Tap { tables: &mut run.tables, capture: run.capture.as_mut() };
                stage::finish_parallel(&mut run.network, &mut sink)
            })?;
            self.capture.as_mut().map_or(Ok(()), |capture| capture.finish()).map_err(Mishap::Capture)?;
            self.progress = self.guarded(|run| run.network.progress())?;
            if let Err(broken) = ended {
                self.cut = true;
                return Err(Mishap::Broken(broken));
            }
        }
        Ok(())
    }

    /// Calls into the network, and never again after a panic.
    fn guarded<T>(&mut self, call: impl FnOnce(&mut Run) -> T) -> Result<T, Mishap> {
        panic::catch_unwind(AssertUnwindSafe(|| call(self))).map_err(|payload| {
            self.over = true;
            self.defective = true;
            Mishap::Unwound(errors::unwound(payload))
        })
    }

    fn status(&self) -> Status {
        Status {
            done: self.over,
            reached: self.reached,
            time_ps: self.progress.time.as_ps(),
            end_ps: self.end.map(Time::as_ps),
            events: self.progress.events,
            hops: self.progress.hops,
            data_hops: self.progress.data_hops,
            flows_done: self.progress.flows_done,
            flows_total: self.flows_total,
        }
    }

    fn raise(&self, py: Python<'_>, mishap: Mishap) -> PyErr {
        match mishap {
            Mishap::Broken(broken) => errors::broken(py, &broken),
            Mishap::Unwound(Failure::Defect(what)) => errors::defective(py, self.progress.time, &what),
            Mishap::Unwound(failure) => failure.raise(py),
            Mishap::Capture(error) => capture::raise(&error),
        }
    }
}

#[pymethods]
impl Simulation {
    /// Simulate for about `wall_ms` ms of wall time, without the interpreter's lock.
    ///
    /// With `until_ps`, no event after that time is handled, and the status has `reached` once all others are.
    #[pyo3(signature = (wall_ms, until_ps = None))]
    fn advance(&self, py: Python<'_>, wall_ms: u64, until_ps: Option<u64>) -> PyResult<Status> {
        let mut run = self.lock()?;
        let run = &mut *run;
        let result = py.detach(|| run.advance(Duration::from_millis(wall_ms), until_ps.map(Time)));
        result.map(|()| run.status()).map_err(|mishap| run.raise(py, mishap))
    }

    /// Return the state of the run, for `Scenario.start`; take all its batches before.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut run = self.lock()?;
        let run = &mut *run;
        let saved = py.detach(|| errors::guarded(|| run.save()));
        saved.map(|octets| PyBytes::new(py, &octets)).map_err(|failure| failure.raise(py))
    }

    /// Return the batches closed since the last call, as (table, batch).
    ///
    /// With `partial`, those that are not full are closed, too.
    #[pyo3(signature = (partial = false))]
    fn batches(&self, partial: bool) -> PyResult<Vec<(&'static str, Batch)>> {
        let mut run = self.lock()?;
        let partial = partial || run.handed_over.elapsed() >= PATIENCE;
        let taken = if run.over { run.tables.finish() } else { run.tables.take(partial) };
        if partial {
            run.handed_over = Instant::now();
        }
        let taken = taken.map_err(|error| arrow::raise(&error))?;
        Ok(taken.into_iter().map(|(table, batch)| (table, Batch(batch))).collect())
    }

    /// End the run here: flush unfinished flows and port totals to `batches`.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let mut run = self.lock()?;
        run.cut |= !run.over;
        run.finish().map_err(|mishap| run.raise(py, mishap))
    }

    /// Return totals after the end: fingerprint, time_ps, events, hops, flows, drops, loads.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let run = self.lock()?;
        let progress = &run.progress;
        let summary = PyDict::new(py);
        // As text, because JSON readers lose the last bits of a 64-bit number.
        let fingerprint = (!run.defective).then(|| format!("{:016x}", run.network.fingerprint()));
        summary.set_item("fingerprint", fingerprint)?;
        if run.threads > 1 {
            summary.set_item("threads", run.network.threads())?;
            summary.set_item("one_thread_because", run.network.why_one_thread())?;
        }
        summary.set_item("time_ps", progress.time.as_ps())?;
        summary.set_item("events", progress.events)?;
        summary.set_item("hops", progress.hops)?;
        summary.set_item("data_hops", progress.data_hops)?;
        summary.set_item("flows", progress.flows_done + progress.flows_failed + progress.flows_active)?;
        summary.set_item("flows_done", progress.flows_done)?;
        summary.set_item("flows_failed", progress.flows_failed)?;
        summary.set_item("flows_unfinished", progress.flows_active)?;
        summary.set_item("drops", progress.drops)?;
        summary.set_item("fault_losses", progress.fault_losses)?;
        summary.set_item("flushed", progress.flushed)?;
        if let Some(capture) = &run.capture {
            let count = capture.count();
            let facts = PyDict::new(py);
            facts.set_item("ports", count.ports)?;
            facts.set_item("frames", count.frames)?;
            facts.set_item("left_out", count.left_out)?;
            facts.set_item("bytes", count.bytes)?;
            summary.set_item("capture", facts)?;
        }
        let deadlock = run.network.deadlock().filter(|_| !run.defective).map(|found| {
            let facts = PyDict::new(py);
            facts.set_item("time_ps", found.time.as_ps())?;
            facts.set_item("cycle", &found.cycle)?;
            facts.set_item("waiting_bytes", found.waiting)?;
            Ok::<_, PyErr>(facts)
        });
        summary.set_item("deadlock", deadlock.transpose()?)?;
        let first_drop = run.network.first_drop().filter(|_| !run.defective).map(|drop| {
            let facts = PyDict::new(py);
            facts.set_item("time_ps", drop.time.as_ps())?;
            facts.set_item("node", run.network.node_name(drop.node))?;
            facts.set_item("port", drop.port.0)?;
            facts.set_item("class", drop.class.0)?;
            facts.set_item("bytes", drop.size)?;
            facts.set_item("memory_per", drop.memory.name())?;
            facts.set_item("egress_port", drop.egress.0)?;
            facts.set_item("egress_peer", run.network.node_name(drop.to))?;
            facts.set_item("queue", drop.queue.0)?;
            facts.set_item("egress_bytes", drop.waiting)?;
            facts.set_item("ingress_bytes", drop.ingress)?;
            facts.set_item("switch_bytes", drop.total)?;
            facts.set_item("pause_asked", drop.asked)?;
            Ok::<_, PyErr>(facts)
        });
        summary.set_item("first_drop", first_drop.transpose()?)?;
        let cut = (run.defective || run.network.flows_to_come()).then_some(progress.time);
        let offered = run.tables.tally().report(cut).into_iter().map(|one| {
            let group = PyDict::new(py);
            group.set_item("group", one.group)?;
            group.set_item("asked", one.target)?;
            group.set_item("offered", one.offered)?;
            group.set_item("counts", if one.counts == LoadCounts::Wire { "wire" } else { "payload" })?;
            group.set_item("of", if one.of == LoadOf::Sources { "sources" } else { "network" })?;
            group.set_item("capacity_bps", one.capacity)?;
            group.set_item("from_ps", one.from.as_ps())?;
            group.set_item("until_ps", one.until.as_ps())?;
            Ok(group)
        });
        let end = End {
            rounds: run.network.rounds(),
            deadlock: run.network.deadlock().map(|found| found.cycle.clone()),
            cut: run.cut || run.defective,
        };
        let findings = run.tables.findings(&end).into_iter().map(|finding| {
            let facts = PyDict::new(py);
            facts.set_item("kind", finding.kind)?;
            if let Some(mechanism) = finding.mechanism {
                facts.set_item("mechanism", mechanism)?;
            }
            facts.set_item("failure", finding.failure)?;
            facts.set_item("message", finding.message)?;
            facts.set_item("hint", finding.hint)?;
            Ok::<_, PyErr>(facts)
        });
        summary.set_item("findings", findings.collect::<PyResult<Vec<_>>>()?)?;
        summary.set_item("offered", offered.collect::<PyResult<Vec<_>>>()?)?;
        Ok(summary)
    }
}
