//! Functions that need no run: explanations, lists, advice, versions.

use crate::errors::call;
use backwater::ScenarioError;
use backwater::advise as advice;
use backwater_engine::Time;
use backwater_engine::quantity::QuantityError;
use backwater_net::{Bytes, Rate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use serde_json::{Map, Value};
use std::str::FromStr;

/// Return what a key means: meaning, symbol, unit, default, range, source, aliases, children.
#[pyfunction]
pub fn explain<'py>(py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyDict>> {
    let facts = call(py, || backwater::explain(key))?;
    let dict = PyDict::new(py);
    dict.set_item("key", facts.key)?;
    dict.set_item("meaning", facts.meaning)?;
    dict.set_item("symbol", facts.symbol)?;
    dict.set_item("unit", facts.unit)?;
    dict.set_item("default", facts.default)?;
    dict.set_item("range", facts.range)?;
    dict.set_item("source", facts.source)?;
    dict.set_item("aliases", facts.aliases)?;
    let children = PyDict::new(py);
    for (name, meaning) in facts.children {
        children.set_item(name, meaning)?;
    }
    dict.set_item("children", children)?;
    Ok(dict)
}

/// Return the known `mechanisms`, `topologies` or `workloads`, each with name, summary and source.
#[pyfunction]
pub fn items<'py>(py: Python<'py>, what: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let items = call(py, || backwater::items(what))?;
    let item = |item: backwater::Item| {
        let dict = PyDict::new(py);
        dict.set_item("name", item.name)?;
        dict.set_item("summary", item.summary)?;
        dict.set_item("source", item.source)?;
        Ok(dict)
    };
    items.into_iter().map(item).collect()
}

/// Return the JSON Schema of a scenario file.
#[pyfunction]
pub fn schema(py: Python<'_>) -> PyResult<String> {
    call(py, || Ok(backwater::schema()))
}

/// Return a commented scenario to start from.
#[pyfunction]
pub fn new_scenario(py: Python<'_>) -> PyResult<String> {
    call(py, || Ok(backwater::new_scenario().to_string()))
}

/// Return the package's version and `build`, a hash of the sources: results depend on both.
#[pyfunction]
pub fn version(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, version) in call(py, || Ok(backwater::version()))? {
        dict.set_item(name, version)?;
    }
    Ok(dict)
}

/// Converts a plain value to Python.
pub fn python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}

/// Returns the plain values of a dictionary, without those that are None.
fn plain(given: &Bound<'_, PyDict>) -> PyResult<Map<String, Value>> {
    let text: String = given.py().import("json")?.call_method1("dumps", (given,))?.extract()?;
    let mut values: Map<String, Value> =
        serde_json::from_str(&text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    values.retain(|_, value| !value.is_null());
    Ok(values)
}

/// Reads a quantity from text, as the value of `key`.
fn quantity<T: FromStr<Err = QuantityError>>(key: &str, text: &str) -> Result<T, ScenarioError> {
    text.parse().map_err(|error: QuantityError| {
        let mut wrong = ScenarioError::new(error.reason).key(key).hint(error.hint);
        wrong.value = Some(error.value);
        wrong
    })
}

/// Return a quantity in base units: a `time` in ps, a `size` in B, a `rate` in b/s. Errors call it `name`.
#[pyfunction]
pub fn base_units(py: Python<'_>, kind: &str, text: &str, name: &str) -> PyResult<u64> {
    call(py, || match kind {
        "time" => quantity(name, text).map(Time::as_ps),
        "size" => quantity(name, text).map(|Bytes(size)| size),
        "rate" => quantity(name, text).map(|Rate(rate)| rate),
        _ => Err(ScenarioError::new(format!("`{kind}` is no kind of quantity")).hint("time, size, rate")),
    })
}

/// Return the form of questions to each mechanism that gives advice.
#[pyfunction]
pub fn advice_forms(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let forms = call(py, || Ok(advice::forms()))?;
    python(py, &forms)
}

/// Return the advice of a mechanism; `given`: the options of its form, or None for each.
#[pyfunction]
#[pyo3(signature = (mechanism, given, facts = None, scenario = ""))]
pub fn advise<'py>(
    py: Python<'py>,
    mechanism: &str,
    given: &Bound<'py, PyDict>,
    facts: Option<&Bound<'py, PyDict>>,
    scenario: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (given, facts) = (plain(given)?, facts.map(plain).transpose()?);
    let advice = call(py, || advice::advise(mechanism, given, facts.map(|facts| (scenario.to_owned(), facts))))?;
    python(py, &advice)
}
