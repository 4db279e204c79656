//! Backwater's core, with the mechanisms of `src/mechanisms` besides its own.

use backwater_binding::pyo3;
use pyo3::prelude::*;

#[cfg(test)]
#[path = "mechanisms/aimd.rs"]
mod aimd;

/// The core of the command `backwater-aimd`.
#[pymodule]
#[pyo3(crate = "backwater_binding::pyo3")]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    backwater_binding::fill(module)
}
