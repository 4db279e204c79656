//! `Capture`: what is to be captured of a run, and into which file; and captures read and written.

use crate::errors;
use backwater::ScenarioError;
use backwater::capture::{self, Filter, NotBegun, Options, Shown, Value, show};
use backwater_engine::Time;
use backwater_mech::registry::Config;
use backwater_net::packet::{NodeId, Port};
use backwater_net::spec::Spec;
use backwater_wire::capture::Problem;
use backwater_wire::pcapng::{Direction, Interface, Writer};
use backwater_wire::sample;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::fs::File;
use std::io;
use std::panic::{self, AssertUnwindSafe};
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

impl<'py> IntoPyObject<'py> for Field {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0 {
            Value::None => Ok(py.None().into_bound(py)),
            Value::Flag(flag) => Ok(flag.into_pyobject(py)?.to_owned().into_any()),
            Value::Number(number) => Ok(number.into_pyobject(py)?.into_any()),
            Value::Text(text) => Ok(text.into_pyobject(py)?.into_any()),
            Value::List(list) => list.into_pyobject(py),
        }
    }
}

/// A value on its way to Python.
struct Field(Value);

fn dict(py: Python<'_>, fields: Vec<(&'static str, Value)>) -> PyResult<Py<PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in fields {
        dict.set_item(name, Field(value))?;
    }
    Ok(dict.unbind())
}

/// Reads a capture; see the .pyi.
#[pyfunction]
pub fn read_capture<'py>(py: Python<'py>, path: PathBuf, take: &Bound<'py, PyAny>) -> PyResult<()> {
    let file = File::open(&path)?;
    let mut raised = None;
    let hand = |item: Result<Shown, Problem>| -> PyResult<()> {
        let said = PyDict::new(py);
        match item {
            Ok(frame) => {
                said.set_item("frame", frame.number)?;
                said.set_item("interface", frame.interface)?;
                said.set_item("time_ps", frame.time)?;
                said.set_item("direction", frame.direction)?;
                said.set_item("kind", frame.kind)?;
                said.update(dict(py, frame.head)?.bind(py).as_mapping())?;
                said.set_item("fields", dict(py, frame.fields)?)?;
            }
            Err(problem) => {
                said.set_item("offset", problem.offset)?;
                said.set_item("reason", problem.reason)?;
            }
        }
        take.call1((said,)).map(|_| ())
    };
    let read = panic::catch_unwind(AssertUnwindSafe(|| {
        show(file, |item| {
            if raised.is_none() {
                raised = hand(item).err();
            }
        })
    }));
    match (raised, read) {
        (Some(error), _) => Err(error),
        (None, Ok(Ok(()))) => Ok(()),
        (None, Ok(Err(problem))) => Err(PyValueError::new_err(problem.reason)),
        (None, Err(_)) => Err(errors::defect(py, Time::ZERO)),
    }
}

/// A frame of each format, with what it is.
#[pyfunction]
pub fn sample_frames(py: Python<'_>) -> PyResult<Vec<(&'static str, Bound<'_, PyBytes>)>> {
    let frames = sample::frames().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(frames.into_iter().map(|(what, octets)| (what, PyBytes::new(py, &octets))).collect())
}

/// Writes frames one microsecond apart.
#[pyfunction]
pub fn write_capture(path: PathBuf, frames: Vec<Vec<u8>>) -> PyResult<()> {
    let mut writer = Writer::new(File::create(path)?, 0, concat!("backwater ", env!("CARGO_PKG_VERSION")))?;
    let name = Interface { name: "frames", description: "", speed: 200_000_000_000 };
    let interface = writer.interface(&name)?;
    for (n, octets) in frames.iter().enumerate() {
        writer.frame(interface, (n as u64 + 1) * 1_000_000, Direction::Outbound, octets, octets.len() as u32)?;
    }
    writer.finish()?;
    Ok(())
}
