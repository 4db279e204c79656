//! `Capture`, the options and the file of a capture; functions that read and write captures.

use crate::errors;
use backwater::ScenarioError;
use backwater::capture::{self, Filter, NotBegun, Options, Shown, Value, show};
use backwater_mech::registry::Config;
use backwater_net::packet::{NodeId, Port};
use backwater_net::spec::Spec;
use backwater_wire::capture::Problem;
use backwater_wire::frame::Numbers;
use backwater_wire::pcapng::{Direction, Interface, Writer};
use backwater_wire::sample;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::fs::File;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;

/// A pcapng file, for Wireshark, with the frames that pass some ports of a run.
///
/// `path`: the file.
/// `ports`: entries separated by commas: `all`, a tier (`leaf`: all ports of all leaves), a node (all its ports),
/// `node/port`, or `node:peer` (the ports of a node that lead to that peer).
/// `kinds`: some of data, ack, control (all except these two), pause, pfc, cnm, cim, sfcm, sfc_pause, bcn, cnp, uet, other; by
/// default all.
/// `classes`: classes of frames, 0 to 7, or those that a MAC control frame pauses; by default all.
/// `snap`: how much of each frame is kept, from "14 B" to "262144 B", which is the default.
/// `limit`: the file ends before the first frame that would make it longer, such as "10 MB".
///
/// Raises `backwater.ScenarioError` for values that cannot be. The run reports a limit without room for a frame, before
/// it replaces the file.
#[pyclass(frozen, module = "backwater._core")]
pub struct Capture {
    /// The file. The run replaces an existing one when it starts.
    #[pyo3(get)]
    path: PathBuf,
    pub options: Options,
}

#[pymethods]
impl Capture {
    #[new]
    #[pyo3(signature = (path, ports, *, kinds = None, classes = None, snap = None, limit = None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        ports: &Bound<'_, PyAny>,
        kinds: Option<&Bound<'_, PyAny>>,
        classes: Option<&Bound<'_, PyAny>>,
        snap: Option<&Bound<'_, PyAny>>,
        limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Capture> {
        let text = |value: &Bound<'_, PyAny>, key, hint| {
            value.extract::<String>().map_err(|_| unusable(value, key, "is no text", hint))
        };
        let size = |value: Option<&Bound<'_, PyAny>>, key| {
            value.map(|value| text(value, key, "give a text with a unit, such as \"128 B\"")).transpose()
        };
        let ports = text(ports, "capture.ports", "such as \"leaf0,spine1/3\"")?;
        // A text is a sequence of texts, too, but never the list that the user meant.
        let no_list = |value: &Bound<'_, PyAny>, key, hint| match value.cast::<PyString>() {
            Ok(_) => Err(unusable(value, key, "is a text, not a list", hint)),
            Err(_) => Ok(()),
        };
        let hint = "give a list, such as [\"pfc\", \"sfcm\"]";
        let kinds = kinds.map_or(Ok(Vec::new()), |value| {
            no_list(value, "capture.kind", hint)?;
            value.extract::<Vec<String>>().map_err(|_| unusable(value, "capture.kind", "is no list of texts", hint))
        })?;
        let hint = "give a list of numbers from 0 to 7, such as [3]";
        let classes = classes.map_or(Ok(Vec::new()), |value| {
            no_list(value, "capture.class", hint)?;
            value.extract::<Vec<i64>>().map_err(|_| unusable(value, "capture.class", "is no list of classes", hint))
        })?;
        let (snap, limit) = (size(snap, "capture.snap")?, size(limit, "capture.limit")?);
        errors::call(py, || {
            let filter = Filter::new(&kinds, &classes)?;
            let options = Options { ports, filter, ..Options::default() };
            let options = options.bounded(snap.as_deref(), limit.as_deref())?;
            Ok(Capture { path, options })
        })
    }
}

impl Capture {
    /// Creates the file and writes its beginning, once the network is known.
    pub fn begin(&self, spec: &Spec<Config>, at: &[(NodeId, Port)]) -> Result<capture::Capture<File>, ScenarioError> {
        let begun = File::create(&self.path).map_err(NotBegun::File);
        begun.and_then(|file| capture::Capture::new(file, spec, at, &self.options)).map_err(|error| match error {
            NotBegun::File(error) => self.unwritable(&error),
            NotBegun::Graph(reason) => ScenarioError::new(reason),
        })
    }

    fn unwritable(&self, error: &io::Error) -> ScenarioError {
        let hint = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "make room on its disk, or name a file on another; a bound keeps captures short"
            }
            _ => "name a file in a directory that you may write to",
        };
        ScenarioError::new(format!("the capture cannot be written: {error}"))
            .file(self.path.display().to_string())
            .hint(hint)
    }
}

/// Turns a value whose type does not fit its option into an exception.
fn unusable(value: &Bound<'_, PyAny>, key: &str, reason: &str, hint: &str) -> PyErr {
    let text = value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string_lossy().into_owned());
    let error = ScenarioError::new(format!("`{text}` {reason}")).key(key).hint(hint);
    errors::scenario(value.py(), &ScenarioError { value: Some(text), ..error })
}

/// Turns a failure to write a capture into an exception.
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

/// A value to be converted to Python.
struct Field(Value);

fn dict(py: Python<'_>, fields: Vec<(&'static str, Value)>) -> PyResult<Py<PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in fields {
        dict.set_item(name, Field(value))?;
    }
    Ok(dict.unbind())
}

/// Read a capture, and call `take` with each frame, and each place that cannot be read.
#[pyfunction]
#[pyo3(signature = (path, take, *, sfcm_port = None, cim_port = None, bcn_ethertype = None))]
pub fn read_capture<'py>(
    py: Python<'py>,
    path: PathBuf,
    take: &Bound<'py, PyAny>,
    sfcm_port: Option<u16>,
    cim_port: Option<u16>,
    bcn_ethertype: Option<u16>,
) -> PyResult<()> {
    let usual = Numbers::default();
    let numbers = Numbers {
        bcn: bcn_ethertype.unwrap_or(usual.bcn),
        sfcm: sfcm_port.unwrap_or(usual.sfcm),
        cim: cim_port.unwrap_or(usual.cim),
    };
    let file = File::open(&path)?;
    let mut raised = None;
    let hand = |item: Result<Shown, Problem>| -> PyResult<()> {
        let reported = PyDict::new(py);
        match item {
            Ok(frame) => {
                reported.set_item("frame", frame.number)?;
                reported.set_item("interface", frame.interface)?;
                reported.set_item("time_ps", frame.time)?;
                reported.set_item("direction", frame.direction)?;
                reported.set_item("kind", frame.kind)?;
                reported.update(dict(py, frame.head)?.bind(py).as_mapping())?;
                reported.set_item("fields", dict(py, frame.fields)?)?;
            }
            Err(problem) => {
                reported.set_item("offset", problem.offset)?;
                reported.set_item("reason", problem.reason)?;
            }
        }
        take.call1((reported,)).map(|_| ())
    };
    let read = panic::catch_unwind(AssertUnwindSafe(|| {
        show(file, &numbers, |item| {
            if raised.is_none() {
                raised = hand(item).err();
            }
        })
    }));
    match (raised, read) {
        (Some(error), _) => Err(error),
        (None, Ok(Ok(()))) => Ok(()),
        (None, Ok(Err(problem))) => Err(PyValueError::new_err(problem.reason)),
        (None, Err(payload)) => Err(errors::unwound(payload).raise(py)),
    }
}

/// Return a frame of each format, as (name, octets without frame check sequence).
#[pyfunction]
pub fn sample_frames(py: Python<'_>) -> PyResult<Vec<(&'static str, Bound<'_, PyBytes>)>> {
    let frames = sample::frames().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(frames.into_iter().map(|(what, octets)| (what, PyBytes::new(py, &octets))).collect())
}

/// Write frames one microsecond apart.
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
