//! `backwater._core`, as the Python package has it. Whoever builds a core with a mechanism of their own has a crate like this one
//! (`backwater new mechanism`).

use backwater_binding::pyo3;
use pyo3::prelude::*;

/// The compiled part of Backwater. Private: `import backwater` is the front door.
#[pymodule]
#[pyo3(crate = "backwater_binding::pyo3")]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    backwater_binding::fill(module)
}
