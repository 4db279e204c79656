//! Backwater's core with the mechanisms of `src/mechanisms` in it, beside those that it always has.

use backwater_binding::pyo3;
use pyo3::prelude::*;

#[cfg(test)]
#[path = "mechanisms/aimd.rs"]
mod aimd;

/// What the command `backwater-aimd` runs.
#[pymodule]
#[pyo3(crate = "backwater_binding::pyo3")]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    backwater_binding::fill(module)
}
