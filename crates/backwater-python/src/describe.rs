//! What needs no run: explanations, lists, advice, versions.

use crate::errors::{call, whole_number};
use backwater::ScenarioError;
use backwater::advise::{self, Advice, PfcModel, PfcQuestion, SfcNumbers, SfcQuestion};
use backwater_engine::Time;
use backwater_engine::quantity::QuantityError;
use backwater_net::{Bytes, Rate};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::str::FromStr;

#[pyfunction]
pub fn explain<'py>(py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyDict>> {
    let facts = call(py, || backwater::explain(key))?;
    let dict = PyDict::new(py);
    dict.set_item("key", facts.key)?;
    dict.set_item("meaning", facts.meaning)?;
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

#[pyfunction]
pub fn schema(py: Python<'_>) -> PyResult<String> {
    call(py, || Ok(backwater::schema()))
}

#[pyfunction]
pub fn new_scenario(py: Python<'_>) -> PyResult<String> {
    call(py, || Ok(backwater::new_scenario().to_string()))
}

#[pyfunction]
pub fn version(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, version) in call(py, || Ok(backwater::version()))? {
        dict.set_item(name, version)?;
    }
    Ok(dict)
}

/// A quantity given as text, as the value of `key`.
fn quantity<T: FromStr<Err = QuantityError>>(key: &str, text: &str) -> Result<T, ScenarioError> {
    text.parse().map_err(|error: QuantityError| {
        let mut wrong = ScenarioError::new(error.reason).key(key).hint(error.hint);
        wrong.value = Some(error.value);
        wrong
    })
}

/// A quantity as text in base units: a `time` in ps, a `size` in B, a `rate` in b/s. `name` is what an error calls it.
#[pyfunction]
pub fn base_units(py: Python<'_>, kind: &str, text: &str, name: &str) -> PyResult<u64> {
    call(py, || match kind {
        "time" => quantity(name, text).map(Time::as_ps),
        "size" => quantity(name, text).map(|Bytes(size)| size),
        "rate" => quantity(name, text).map(|Rate(rate)| rate),
        _ => Err(ScenarioError::new(format!("`{kind}` is no kind of quantity")).hint("time, size, rate")),
    })
}

#[pyfunction]
#[pyo3(signature = (*, senders, rate, links, switches, link_delay, switch_latency, pfc_threshold, threshold, packet, pause = None, interval = None, message = None))]
#[expect(clippy::too_many_arguments, reason = "keyword-only arguments of the Python contract")]
pub fn advise_sfc<'py>(
    py: Python<'py>,
    senders: &Bound<'py, PyAny>,
    rate: &str,
    links: &Bound<'py, PyAny>,
    switches: &Bound<'py, PyAny>,
    link_delay: &str,
    switch_latency: &str,
    pfc_threshold: &str,
    threshold: Option<&str>,
    packet: Option<&str>,
    pause: Option<&str>,
    interval: Option<&str>,
    message: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let senders = whole_number(senders, "senders")?;
    let (links, switches) = (whole_number(links, "links")?, whole_number(switches, "switches")?);
    let (advice, (plain, serialised), ours) = call(py, || {
        let question = SfcQuestion {
            senders,
            rate: quantity("rate", rate)?,
            links,
            switches,
            link_delay: quantity("link_delay", link_delay)?,
            switch_latency: quantity("switch_latency", switch_latency)?,
            pfc_threshold: quantity("pfc_threshold", pfc_threshold)?,
            threshold: threshold.map(|text| quantity("threshold", text)).transpose()?,
            packet: packet.map(|text| quantity("packet", text)).transpose()?,
            pause: pause.map(|text| quantity("pause", text)).transpose()?,
            interval: interval.map(|text| quantity("interval", text)).transpose()?,
            message: message.map_or(Ok(advise::SFC_MESSAGE), |text| quantity("message", text))?,
        };
        let numbers = advise::sfc_numbers(&question)?;
        let ours = advise::sfc_bound(&question, numbers.0.threshold)?;
        Ok((advise::sfc(&question)?, numbers, ours))
    })?;
    let dict = answer(py, advice)?;
    numbers(&dict, &plain)?;
    if let Some(serialised) = serialised {
        let counted = PyDict::new(py);
        numbers(&counted, &serialised)?;
        dict.set_item("with_serialisation", counted)?;
    }
    let bound = PyDict::new(py);
    bound.set_item("frame_bytes", ours.frame.0)?;
    bound.set_item("loop_ps", ours.loop_time.as_ps())?;
    bound.set_item("frames", ours.frames)?;
    bound.set_item("headroom_bytes", ours.headroom.0)?;
    bound.set_item("threshold_max_bytes", ours.largest_threshold.map(|bytes| bytes.0))?;
    bound.set_item("pause_min_ps", ours.shortest_pause.as_ps())?;
    bound.set_item("pause_max_ps", ours.longest_pause.as_ps())?;
    dict.set_item("our_bound", bound)?;
    Ok(dict)
}

fn numbers(dict: &Bound<'_, PyDict>, numbers: &SfcNumbers) -> PyResult<()> {
    dict.set_item("headroom_bytes", numbers.headroom.0)?;
    dict.set_item("threshold_max_bytes", numbers.largest_threshold.map(|bytes| bytes.0))?;
    dict.set_item("pause_min_ps", numbers.shortest_pause.as_ps())?;
    dict.set_item("pause_max_ps", numbers.longest_pause.as_ps())
}

#[pyfunction]
#[pyo3(signature = (*, rate, link_delay, packet, control_packet, response, model))]
pub fn advise_pfc<'py>(
    py: Python<'py>,
    rate: &str,
    link_delay: &str,
    packet: &str,
    control_packet: &str,
    response: &str,
    model: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let advice = call(py, || {
        let model = match model {
            "simulator" => PfcModel::Simulator,
            "standard" => PfcModel::Standard,
            other => {
                let error = ScenarioError::new(format!("`{other}` is not a model")).key("model");
                return Err(error.hint("models are `simulator` and `standard`"));
            }
        };
        advise::pfc(&PfcQuestion {
            rate: quantity("rate", rate)?,
            link_delay: quantity("link_delay", link_delay)?,
            packet: quantity("packet", packet)?,
            control_packet: quantity("control_packet", control_packet)?,
            response: quantity("response", response)?,
            model,
        })
    })?;
    answer(py, advice)
}

fn answer(py: Python<'_>, advice: Advice) -> PyResult<Bound<'_, PyDict>> {
    let mut rows = Vec::with_capacity(advice.rows.len());
    for row in advice.rows {
        let dict = PyDict::new(py);
        dict.set_item("name", row.name)?;
        dict.set_item("value", row.value)?;
        dict.set_item("unit", row.unit)?;
        dict.set_item("formula", row.formula)?;
        rows.push(dict);
    }
    let dict = PyDict::new(py);
    dict.set_item("title", advice.title)?;
    dict.set_item("rows", rows)?;
    dict.set_item("problems", advice.problems)?;
    dict.set_item("feasible", advice.feasible)?;
    dict.set_item("cautions", advice.cautions)?;
    Ok(dict)
}
