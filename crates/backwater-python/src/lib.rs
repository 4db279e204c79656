//! The module `backwater._core` of the Python package. A core with a user's own mechanism has a crate like this one
//! (`backwater new mechanism`).

use backwater_binding::pyo3;
use pyo3::prelude::*;

/// The compiled part of Backwater. It is private: use `import backwater`.
#[pymodule]
#[pyo3(crate = "backwater_binding::pyo3")]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    backwater_binding::fill(module)
}
