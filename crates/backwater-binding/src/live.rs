//! `Live`: a run to which Python sends messages while it is in progress.

use crate::errors::{self, Failure, call};
use backwater::{Advanced, LiveOptions, Nowhere, Scenario, ScenarioError, What};
use backwater_engine::Time;
use backwater_net::record::Broken;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// Events between two checks for signals: about 10 ms.
const SLICE: u64 = 50_000;

/// A run to which Python sends messages while it is in progress. Use it within one thread.
#[pyclass(frozen, module = "backwater._core")]
pub struct Live {
    /// Nobody waits for this lock, as in `Simulation`.
    run: Mutex<Run>,
}

struct Run {
    live: backwater::Live,
    /// The defect that has left it in an unknown state, if any.
    defect: Option<String>,
}

impl Live {
    /// Opens a scenario, or resumes a saved run of it.
    pub fn build(scenario: &Scenario, options: &LiveOptions, saved: Option<&[u8]>) -> Result<Live, ScenarioError> {
        let live = match saved {
            Some(saved) => backwater::Live::resume(scenario, options, saved)?,
            None => backwater::Live::open(scenario, options)?,
        };
        Ok(Live { run: Mutex::new(Run { live, defect: None }) })
    }

    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Run>> {
        let run = match self.run.try_lock() {
            Ok(run) => run,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(PyRuntimeError::new_err("the run is at work in another thread; use it within one thread"));
            }
        };
        match &run.defect {
            Some(what) => Err(errors::defective(py, Time::ZERO, what)),
            None => Ok(run),
        }
    }
}

impl Run {
    /// Turns a failed call into an exception: one of the run, if it has ended, or of an argument.
    fn raise(&mut self, py: Python<'_>, failure: Failure) -> PyErr {
        match failure {
            Failure::Scenario(error) if self.live.is_over() => {
                let (time, hint) = (self.live.now(), error.hint.clone().unwrap_or_default());
                errors::broken(py, &Broken { time, reason: error.reason.clone(), hint })
            }
            Failure::Defect(what) => {
                self.defect = Some(what.clone());
                errors::defective(py, Time::ZERO, &what)
            }
            other => other.raise(py),
        }
    }
}

/// The name of what has occurred.
fn name(what: What) -> &'static str {
    match what {
        What::Sent => "sent",
        What::Delivered => "delivered",
        What::Acknowledged => "acknowledged",
        What::Failed => "failed",
        What::Timer => "timer",
    }
}

#[pymethods]
impl Live {
    /// Send a message, and return its number.
    fn send(
        &self,
        py: Python<'_>,
        ends: (u32, u32),
        size: u64,
        traffic_class: Option<u8>,
        delay_ps: u64,
        token: u64,
    ) -> PyResult<u64> {
        let run = &mut *self.lock(py)?;
        let sent = errors::guarded(|| run.live.send(ends.0, ends.1, size, traffic_class, Time(delay_ps), token));
        sent.map_err(|failure| run.raise(py, failure))
    }

    /// Set a timer.
    fn timer(&self, py: Python<'_>, at_ps: u64, token: u64) -> PyResult<()> {
        let run = &mut *self.lock(py)?;
        errors::guarded(|| run.live.timer(Time(at_ps), token)).map_err(|failure| run.raise(py, failure))
    }

    /// Run to the next instant at which something occurs, and return all that does, as (token, what).
    #[pyo3(signature = (until_ps = None))]
    fn step(&self, py: Python<'_>, until_ps: Option<u64>) -> PyResult<Vec<(u64, &'static str)>> {
        let run = &mut *self.lock(py)?;
        let until = until_ps.map_or(Time::NEVER, Time);
        loop {
            let advanced = py.detach(|| errors::guarded(|| run.live.advance(until, SLICE, &mut Nowhere)));
            match advanced {
                Ok(Advanced::More) => py.check_signals()?,
                Ok(_) => return Ok(run.live.occurred().iter().map(|one| (one.token, name(one.what))).collect()),
                Err(failure) => return Err(run.raise(py, failure)),
            }
        }
    }

    /// The time of the last step, in ps.
    #[getter]
    fn now_ps(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.lock(py)?.live.now().as_ps())
    }

    /// The number of hosts.
    #[getter]
    fn hosts(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.lock(py)?.live.hosts())
    }

    /// Return the number of a host by its name; None: there is no such host.
    fn host(&self, py: Python<'_>, name: &str) -> PyResult<Option<u32>> {
        Ok(self.lock(py)?.live.host(name))
    }

    /// Messages sent, and those of them that have ended.
    #[getter]
    fn counts(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        Ok(self.lock(py)?.live.counts())
    }

    /// A hash of all arrivals of frames so far.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("{:016x}", self.lock(py)?.live.fingerprint()))
    }

    /// Return the totals of every port so far: node, peer, port, rate_bps, tx_frames, tx_bytes, and others.
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let run = self.lock(py)?;
        let name = |node: u32| run.live.graph().nodes.get(node as usize).map_or("", |node| node.name.as_str());
        let mut links = Vec::new();
        for row in run.live.ports() {
            let link = PyDict::new(py);
            link.set_item("node", name(row.node.0))?;
            link.set_item("port", row.port.0)?;
            link.set_item("peer", name(row.peer.0))?;
            link.set_item("rate_bps", row.rate_bps)?;
            link.set_item("tx_frames", row.stats.tx_frames)?;
            link.set_item("tx_bytes", row.stats.tx_bytes)?;
            link.set_item("marked_frames", row.stats.marked_frames)?;
            link.set_item("drop_frames", row.stats.drop_frames)?;
            link.set_item("paused_ps", row.stats.paused_ps)?;
            link.set_item("max_egress_bytes", row.stats.max_egress_bytes)?;
            links.push(link);
        }
        Ok(links)
    }

    /// Return the state of the run, for `Scenario.live`.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let run = &mut *self.lock(py)?;
        let saved = errors::guarded(|| run.live.save());
        saved.map(|octets| PyBytes::new(py, &octets)).map_err(|failure| run.raise(py, failure))
    }

    /// End the run.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut run = self.lock(py)?;
        call(py, || run.live.close())
    }
}
