//! `Divergence`: two runs side by side until their first difference, a slice of wall time at a time.

use crate::errors::{guarded, patiently};
use crate::scenario::Scenario;
use backwater::diverge::{ControlMessage, Difference, Left, Pair, Verdict};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Two runs of one network side by side, until their frames first differ.
#[pyclass(frozen, module = "backwater._core")]
pub struct Divergence(Mutex<Pair>);

#[pymethods]
impl Divergence {
    /// Builds both networks.
    #[new]
    fn new(py: Python<'_>, a: &Scenario, seed_a: u64, b: &Scenario, seed_b: u64) -> PyResult<Divergence> {
        let (a, b) = (a.read(), b.read());
        patiently(py, None, move || {
            Pair::new((&*a.resolved()?, seed_a), (&*b.resolved()?, seed_b)).map(|pair| Divergence(Mutex::new(pair)))
        })
    }

    /// Simulate both for about `wall_ms` ms of wall time; return the difference, or None yet.
    fn advance<'py>(&self, py: Python<'py>, wall_ms: u64) -> PyResult<Option<Bound<'py, PyDict>>> {
        let in_use = || PyRuntimeError::new_err("it is at work in another thread; use it within one thread");
        let mut pair = self.0.try_lock().map_err(|_| in_use())?;
        let pair = &mut *pair;
        let driven = py.detach(|| {
            guarded(|| {
                let began = Instant::now();
                while began.elapsed() < Duration::from_millis(wall_ms) {
                    if let Some(verdict) = pair.advance() {
                        return Ok(Some(verdict.clone()));
                    }
                }
                Ok(None)
            })
        });
        let verdict = driven.map_err(|failure| failure.raise(py))?;
        verdict.map(|verdict| verdict_dict(py, &verdict)).transpose()
    }

    /// Return the simulated time that both have reached, in ps.
    fn time_ps(&self) -> PyResult<u64> {
        let pair = self.0.try_lock().map_err(|_| PyRuntimeError::new_err("it is at work in another thread"))?;
        Ok(pair.time().as_ps())
    }
}

fn verdict_dict<'py>(py: Python<'py>, verdict: &Verdict) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("same_frames", verdict.same)?;
    dict.set_item("frames", both(py, verdict.frames.as_ref(), left)?)?;
    dict.set_item("control", both(py, verdict.control.as_ref(), control_dict)?)?;
    Ok(dict)
}

type Told<'py> = Option<Bound<'py, PyDict>>;

fn both<'py, T>(
    py: Python<'py>,
    difference: Option<&Difference<T>>,
    tell: fn(Python<'py>, &T) -> PyResult<Bound<'py, PyDict>>,
) -> PyResult<Option<(Told<'py>, Told<'py>)>> {
    let one = |row: &Option<T>| row.as_ref().map(|row| tell(py, row)).transpose();
    difference.map(|(a, b)| Ok((one(a)?, one(b)?))).transpose()
}

fn left<'py>(py: Python<'py>, row: &Left) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("time_ps", row.time.as_ps())?;
    dict.set_item("node", &row.node)?;
    dict.set_item("port", row.port)?;
    dict.set_item("peer", &row.peer)?;
    dict.set_item("kind", row.kind)?;
    dict.set_item("flow_id", row.flow.map(|flow| flow.id))?;
    dict.set_item("src", row.flow.map(|flow| flow.src.0))?;
    dict.set_item("dst", row.flow.map(|flow| flow.dst.0))?;
    dict.set_item("offset_bytes", row.offset)?;
    dict.set_item("bytes", row.size)?;
    dict.set_item("marked", row.marked)?;
    Ok(dict)
}

fn control_dict<'py>(py: Python<'py>, row: &ControlMessage) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("time_ps", row.time.as_ps())?;
    dict.set_item("kind", row.kind)?;
    dict.set_item("node", &row.node)?;
    dict.set_item("port", row.port.as_ref().map(|(port, _)| *port))?;
    dict.set_item("peer", row.port.as_ref().map(|(_, peer)| peer))?;
    dict.set_item("class", row.class)?;
    dict.set_item("to", row.to.map(|host| host.0))?;
    dict.set_item("value", row.value)?;
    Ok(dict)
}
