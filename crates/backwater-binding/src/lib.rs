//! The content of `backwater._core`: it converts values and errors between the core and Python, and has no logic.
//!
//! The contract is `python/backwater/_core.pyi`. Every entry point runs inside `errors::guarded`, so that a defect of the
//! core becomes a Python exception and never a panic.

// The macros of pyo3 give Python functions their Rust documentation. The .pyi has more for Python users.
mod arrow;
mod capture;
mod columns;
mod describe;
mod diverge;
mod errors;
mod flows;
mod import;
mod live;
mod memory;
mod operations;
mod parquet;
mod prototype;
mod scan;
mod scenario;
mod simulation;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: memory::Memory = memory::Memory;

pub use pyo3;

/// Adds the core's classes and functions to an extension module.
///
/// # Errors
///
/// The error of Python, if it cannot add a name.
pub fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::keep_panics_quiet();
    let py = module.py();
    module.add("ScenarioError", py.get_type::<errors::ScenarioError>())?;
    module.add("RunError", py.get_type::<errors::RunError>())?;
    module.add("CONTROL_TABLE", prototype::TABLE)?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<simulation::Simulation>()?;
    module.add_class::<simulation::Status>()?;
    module.add_class::<live::Live>()?;
    module.add_class::<diverge::Divergence>()?;
    module.add_class::<arrow::Batch>()?;
    module.add_class::<parquet::Part>()?;
    module.add_class::<scan::Scan>()?;
    module.add_function(wrap_pyfunction!(scan::check_part, module)?)?;
    module.add_class::<capture::Capture>()?;
    module.add_class::<prototype::Acknowledgement>()?;
    module.add_function(wrap_pyfunction!(describe::explain, module)?)?;
    module.add_function(wrap_pyfunction!(describe::items, module)?)?;
    module.add_function(wrap_pyfunction!(describe::schema, module)?)?;
    module.add_function(wrap_pyfunction!(describe::new_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(describe::advice_forms, module)?)?;
    module.add_function(wrap_pyfunction!(describe::advise, module)?)?;
    module.add_function(wrap_pyfunction!(import::formats, module)?)?;
    module.add_function(wrap_pyfunction!(import::recognise, module)?)?;
    module.add_function(wrap_pyfunction!(import::import_files, module)?)?;
    module.add_function(wrap_pyfunction!(capture::read_capture, module)?)?;
    module.add_function(wrap_pyfunction!(capture::sample_frames, module)?)?;
    module.add_function(wrap_pyfunction!(capture::write_capture, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::empty_tables, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::tables, module)?)?;
    module.add_function(wrap_pyfunction!(arrow::batches, module)?)?;
    module.add_function(wrap_pyfunction!(describe::base_units, module)?)?;
    module.add_function(wrap_pyfunction!(describe::version, module)?)
}
