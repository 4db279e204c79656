//! `Capture`: what is to be captured of a run, and into which file.

use crate::errors;
use backwater::ScenarioError;
use backwater::capture::{self, Filter, NotBegun, Options};
use backwater_mech::registry::Config;
use backwater_net::packet::{NodeId, Port};
use backwater_net::spec::Spec;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// A capture to be made.
#[pyclass(frozen, module = "backwater._core")]
pub struct Capture {
    #[pyo3(get)]
    path: PathBuf,
    pub options: Options,
}

#[pymethods]
impl Capture {
    #[new]
    #[pyo3(signature = (path, ports, *, kinds = Vec::new(), classes = Vec::new(), snap = None, limit = None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        ports: String,
        kinds: Vec<String>,
        classes: Vec<u64>,
        snap: Option<&str>,
        limit: Option<&str>,
    ) -> PyResult<Capture> {
        errors::call(py, || {
            let filter = Filter::new(&kinds, &classes)?;
            let options = Options { ports, filter, ..Options::default() }.bounded(snap, limit)?;
            Ok(Capture { path, options })
        })
    }
}

impl Capture {
    /// Begins the file, now that the network is known.
    pub fn begin(&self, spec: &Spec<Config>, at: &[(NodeId, Port)]) -> Result<capture::Capture<File>, ScenarioError> {
        let begun = File::create(&self.path).map_err(NotBegun::File);
        begun.and_then(|file| capture::Capture::new(file, spec, at, &self.options)).map_err(|error| match error {
            NotBegun::File(error) => self.unwritable(&error),
            NotBegun::Graph(reason) => ScenarioError::new(reason),
        })
    }

    fn unwritable(&self, error: &io::Error) -> ScenarioError {
        let hint = "name a file in a directory that you may write to";
        ScenarioError::new(format!("the capture cannot be written: {error}"))
            .file(self.path.display().to_string())
            .hint(hint)
    }
}

/// A capture that could not be written further as an exception.
pub fn raise(error: &io::Error) -> PyErr {
    PyOSError::new_err(error.to_string())
}
