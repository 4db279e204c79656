//! `Scenario`: a scenario as read, for Python.

use crate::capture::Capture;
use crate::describe::python;
use crate::errors::{call, patiently, whole_number};
use crate::flows;
use crate::live::Live;
use crate::operations;
use crate::prototype::offer_class;
use crate::simulation::{Begin, Saved, Simulation};
use backwater::advise::facts_of_draft;
use backwater::topology_view::sketch;
use backwater::{Checked, LiveOptions, ScenarioError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A scenario as read. Every change returns a new object.
#[pyclass(frozen, module = "backwater._core")]
pub struct Scenario(Arc<Read>);

/// The scenario as read, for threads that may outlive the object.
pub struct Read {
    scenario: backwater::Scenario,
    /// Resolving reads nothing but the scenario, so it is done once.
    resolved: OnceLock<Arc<Checked>>,
}

impl Scenario {
    fn new(scenario: backwater::Scenario) -> Scenario {
        Scenario(Arc::new(Read { scenario, resolved: OnceLock::new() }))
    }

    pub fn read(&self) -> Arc<Read> {
        Arc::clone(&self.0)
    }
}

impl Read {
    pub fn resolved(&self) -> Result<Arc<Checked>, ScenarioError> {
        if let Some(resolved) = self.resolved.get() {
            return Ok(Arc::clone(resolved));
        }
        let resolved = Arc::new(self.scenario.check()?);
        Ok(Arc::clone(self.resolved.get_or_init(|| resolved)))
    }
}

#[pymethods]
impl Scenario {
    /// Read a scenario from a file.
    #[staticmethod]
    fn from_file(py: Python<'_>, path: &str) -> PyResult<Scenario> {
        let path = PathBuf::from(path);
        patiently(py, None, move || backwater::Scenario::load(&path).map(Scenario::new))
    }

    /// Read TOML text; names of files in it are relative to the directory `base`.
    #[staticmethod]
    #[pyo3(signature = (text, origin = "<text>", base = "."))]
    fn from_text(py: Python<'_>, text: &str, origin: &str, base: &str) -> PyResult<Scenario> {
        let (text, origin, base) = (text.to_owned(), origin.to_owned(), PathBuf::from(base));
        patiently(py, None, move || backwater::Scenario::from_text(&text, &origin, &base).map(Scenario::new))
    }

    /// Merge the table `[variant.NAME]` of the file over the scenario.
    fn with_variant(&self, py: Python<'_>, name: &str) -> PyResult<Scenario> {
        call(py, || self.0.scenario.with_variant(name).map(Scenario::new))
    }

    /// Switch a mechanism on, with the scenario's values for it, else its defaults.
    fn with_mechanism(&self, py: Python<'_>, name: &str) -> PyResult<Scenario> {
        call(py, || self.0.scenario.with_mechanism(name).map(Scenario::new))
    }

    /// Override one dotted key; `value` is TOML text, and a bare word or quantity is a string.
    ///
    /// If the key's mechanism is off, the key is skipped with `where_on`, else an error once the scenario is used.
    #[pyo3(signature = (key, value, *, where_on = false))]
    fn with_set(&self, py: Python<'_>, key: &str, value: &str, where_on: bool) -> PyResult<Scenario> {
        let (read, key, value) = (self.read(), key.to_owned(), value.to_owned());
        patiently(py, None, move || {
            let changed = match where_on {
                true => read.scenario.with_set_where_on(&key, &value),
                false => read.scenario.with_set(&key, &value),
            };
            changed.map(Scenario::new)
        })
    }

    /// Offer a class under a name, which the scenario may then use as its control.
    ///
    /// `parameters`: the names of its parameters; `marks`: it has a hook for marks.
    fn with_control(&self, name: &str, class: &Bound<'_, PyAny>, parameters: Vec<String>, marks: bool) -> Scenario {
        offer_class(name, class, parameters, marks);
        Scenario::new(self.0.scenario.clone())
    }

    /// Add a group of flows from an Arrow stream.
    fn with_flows(&self, table: &Bound<'_, PyAny>, label: &str) -> PyResult<Scenario> {
        let rows: Arc<[backwater::TableFlow]> = flows::read(table)?.into();
        call(table.py(), || Ok(Scenario::new(self.0.scenario.with_flows(label, rows))))
    }

    /// Supply the rows of the Parquet file in `flow_table`, for all groups that name it.
    fn with_table(&self, table: &Bound<'_, PyAny>, path: &str) -> PyResult<Scenario> {
        let rows: Arc<[backwater::TableFlow]> = flows::read(table)?.into();
        call(table.py(), || Ok(Scenario::new(self.0.scenario.with_table(Path::new(path), rows))))
    }

    /// Supply the rows of the Parquet file in `operation_table`, for all jobs that name it.
    fn with_operations(&self, table: &Bound<'_, PyAny>, path: &str) -> PyResult<Scenario> {
        let operations = operations::read(table, path)?;
        call(table.py(), || Ok(Scenario::new(self.0.scenario.with_operations(Path::new(path), operations))))
    }

    /// The text that it was read from, without changes.
    #[getter]
    fn text(&self) -> &str {
        self.0.scenario.text()
    }

    /// The title of the scenario.
    #[getter]
    fn title(&self, py: Python<'_>) -> PyResult<String> {
        call(py, || Ok(self.0.scenario.title()))
    }

    /// The names of its variants.
    #[getter]
    fn variants(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        call(py, || Ok(self.0.scenario.variants()))
    }

    /// Settings of mechanisms that are off, each with key, value, mechanism and reason.
    #[getter]
    fn skipped<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let setting = |one: &backwater::Skipped| {
            let dict = PyDict::new(py);
            dict.set_item("key", &one.key)?;
            dict.set_item("value", &one.value)?;
            dict.set_item("mechanism", &one.mechanism)?;
            dict.set_item("reason", &one.reason)?;
            Ok(dict)
        };
        self.0.scenario.skipped().iter().map(setting).collect()
    }

    /// The seed of the scenario.
    #[getter]
    fn seed(&self, py: Python<'_>) -> PyResult<u64> {
        call(py, || Ok(self.0.scenario.seed()))
    }

    /// The absolute path of a Parquet flow table that has not been read yet; None: all have.
    #[getter]
    fn flow_table(&self, py: Python<'_>) -> PyResult<Option<String>> {
        call(py, || Ok(self.0.scenario.flow_table().map(|path| path.display().to_string())))
    }

    /// The absolute path of a Parquet table of operations, as `flow_table`.
    #[getter]
    fn operation_table(&self, py: Python<'_>) -> PyResult<Option<String>> {
        call(py, || Ok(self.0.scenario.operation_table().map(|path| path.display().to_string())))
    }

    /// Check everything, and return the warnings, each with key, value, reason and hint.
    ///
    /// It builds the whole run and drops it, to refuse all that `start` could refuse, except a capture's file.
    #[pyo3(signature = (capture = None))]
    fn check<'py>(&self, py: Python<'py>, capture: Option<Py<Capture>>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let read = self.read();
        let resolved = patiently(py, None, move || {
            let resolved = read.resolved()?;
            let capture = capture.as_ref().map(|capture| (capture.get(), Begin::No));
            Simulation::build(&resolved, read.scenario.seed(), 1, capture, None)?;
            Ok(resolved)
        })?;
        let warning = |warning: &backwater::Warning| {
            let dict = PyDict::new(py);
            dict.set_item("kind", "setting")?;
            dict.set_item("message", warning.to_string())?;
            dict.set_item("key", &warning.key)?;
            dict.set_item("value", &warning.value)?;
            dict.set_item("reason", &warning.reason)?;
            dict.set_item("hint", &warning.hint)?;
            Ok(dict)
        };
        resolved.warnings.iter().map(warning).collect()
    }

    /// Return the flows of each control that has only some, as (mechanism, flows in words).
    fn controls(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
        let read = self.read();
        patiently(py, None, move || Ok(read.resolved()?.controls()))
    }

    /// Return every value, defaults included, as the text of a scenario.
    fn resolved_toml(&self, py: Python<'_>) -> PyResult<String> {
        let read = self.read();
        patiently(py, None, move || Ok(read.resolved()?.resolved().to_toml()))
    }

    /// Return every value and where it came from, each with key, value and origin.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let read = self.read();
        let values = patiently(py, None, move || Ok(read.resolved()?.resolved().values()))?;
        let value = |value: &backwater::ResolvedValue| {
            let dict = PyDict::new(py);
            dict.set_item("key", &value.key)?;
            dict.set_item("value", &value.value)?;
            dict.set_item("origin", &value.origin)?;
            Ok(dict)
        };
        values.iter().map(value).collect()
    }

    /// Return the scenario's answers to the questions of a mechanism, quantities as text.
    fn facts<'py>(&self, py: Python<'py>, mechanism: String) -> PyResult<Bound<'py, PyAny>> {
        let read = self.read();
        let facts = patiently(py, None, move || facts_of_draft(&read.scenario.draft()?, &mechanism))?;
        python(py, &facts)
    }

    /// Return the network, with the first `most` flows of each source.
    fn sketch<'py>(&self, py: Python<'py>, seed: u64, most: usize) -> PyResult<Bound<'py, PyDict>> {
        let read = self.read();
        let sketch = patiently(py, None, move || sketch(&*read.resolved()?, seed, most))?;
        let dict = PyDict::new(py);
        let nodes = sketch.nodes.iter().map(|node| (&node.name, &node.tier, node.host));
        dict.set_item("nodes", nodes.collect::<Vec<_>>())?;
        let links = sketch.links.iter().map(|link| (link.a, link.b, link.rate_bps, link.delay_ps));
        dict.set_item("links", links.collect::<Vec<_>>())?;
        let flows = sketch.flows.iter().map(|flows| (&flows.group, &flows.nodes, flows.flows, flows.bytes));
        dict.set_item("flows", flows.collect::<Vec<_>>())?;
        dict.set_item("complete", sketch.complete)?;
        Ok(dict)
    }

    /// Build the network, and return the simulation at its start.
    ///
    /// `stop` is called meanwhile, and raises `KeyboardInterrupt` here once it returns true. `threads`: how many the
    /// run may use. `saved` continues a run of another scenario: its state, that scenario, and the keys in which this
    /// one differs.
    #[pyo3(signature = (seed = None, capture = None, stop = None, threads = 1, saved = None))]
    fn start(
        &self,
        py: Python<'_>,
        seed: Option<&Bound<'_, PyAny>>,
        capture: Option<Py<Capture>>,
        stop: Option<&Bound<'_, PyAny>>,
        threads: usize,
        saved: Option<(Bound<'_, PyBytes>, Py<Scenario>, Vec<String>)>,
    ) -> PyResult<Simulation> {
        let seed = match seed {
            Some(seed) => whole_number(seed, "seed")?,
            None => call(py, || Ok(self.0.scenario.seed()))?,
        };
        let read = self.read();
        let saved = saved.map(|(state, of, keys)| (state.as_bytes().to_vec(), of.get().read(), keys));
        patiently(py, stop, move || {
            let capture = capture.as_ref().map(|capture| (capture.get(), Begin::Now));
            let saved = match saved {
                Some((state, of, keys)) => Some(Saved { state, scenario: of.resolved()?, keys }),
                None => None,
            };
            Simulation::build(&*read.resolved()?, seed, threads.max(1), capture, saved.as_ref())
        })
    }

    /// Build the network, and return a run at its start, to which messages are sent.
    #[pyo3(signature = (seed, label, flags, directory, saved = None))]
    fn live(
        &self,
        py: Python<'_>,
        seed: Option<&Bound<'_, PyAny>>,
        label: String,
        flags: (bool, bool),
        directory: Option<PathBuf>,
        saved: Option<Vec<u8>>,
    ) -> PyResult<Live> {
        let seed = seed.map(|seed| whole_number(seed, "seed")).transpose()?;
        let (keep_connections, sent) = flags;
        let options = LiveOptions { seed, label, keep_connections, sent, directory, ..LiveOptions::default() };
        let read = self.read();
        patiently(py, None, move || Live::build(&read.scenario, &options, saved.as_deref()))
    }
}
