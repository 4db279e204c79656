//! Controls of prototypes, written as Python classes.

use crate::errors::Raised;
use backwater_engine::Time;
use backwater_mech::prototype::{Answer, Control, Event, Offer, Prototype, offer};
use backwater_net::hooks::{Ack, FlowShape, Loss, Mechanism};
use backwater_net::{Bytes, Rate};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::panic;
use std::sync::Arc;

/// The table of a scenario for the mechanism that runs a `backwater.Control`.
pub const TABLE: &str = Prototype::NAME;

/// An acknowledgement, as a hook of a `backwater.Control` gets it.
#[pyclass(frozen, get_all, module = "backwater._core")]
pub struct Acknowledgement {
    /// Payload that the receiver has received so far, in bytes.
    received_bytes: u64,
    /// Time since the acknowledged packet was sent, in ps.
    rtt_ps: u64,
    /// True if that packet was marked.
    marked: bool,
}

/// Offers a class to all scenarios of this process. `parameters`: the names of its parameters; `marks`: it has a hook
/// for marks.
pub fn offer_class(name: &str, class: &Bound<'_, PyAny>, parameters: Vec<String>, marks: bool) {
    let class = Arc::new(class.clone().unbind());
    let make = move |parameters: &BTreeMap<String, f64>| -> Box<dyn Control> {
        let (class, parameters) = (Arc::clone(&class), parameters.clone());
        Box::new(OfClass { class, parameters, marks, control: None, ends: (0, 0) })
    };
    offer(name, Offer { parameters, marks, make: Arc::new(make) });
}

/// The control of one flow: an object of a class.
struct OfClass {
    class: Arc<Py<PyAny>>,
    parameters: BTreeMap<String, f64>,
    /// True if the class has a hook for marks.
    marks: bool,
    /// `None`: the flow has not begun.
    control: Option<Py<PyAny>>,
    /// Numbers of the flow's sender and receiver.
    ends: (u32, u32),
}

impl Control for OfClass {
    fn on_event(&mut self, now: Time, sent: Bytes, event: Event<'_>) -> Answer {
        Python::attach(|py| {
            if let Event::Start { shape, .. } = event {
                self.ends = (shape.src.0, shape.dst.0);
            }
            self.call(py, now, sent, event).unwrap_or_else(|error| {
                let class = self.class.bind(py).getattr(intern!(py, "__name__"));
                let class = class.map_or_else(|_| "?".to_owned(), |name| name.to_string());
                let of = format!("control `{class}` of a flow from host {} to host {}", self.ends.0, self.ends.1);
                // Without an answer, the run's results would mean nothing. `resume_unwind` does not call the hook that
                // reports panics.
                panic::resume_unwind(Box::new(Raised { of, hook: self.hook(event), time: now, error }))
            })
        })
    }
}

impl OfClass {
    /// Returns whether the class gets an acknowledgement in its hook for marks.
    fn as_mark(&self, ack: &Ack<'_>) -> bool {
        ack.marked && self.marks
    }

    fn hook(&self, event: Event<'_>) -> &'static str {
        match event {
            Event::Start { .. } => "on_start",
            Event::Ack(ack) if self.as_mark(ack) => "on_mark",
            Event::Ack(_) => "on_ack",
            Event::Loss(_) => "on_loss",
            Event::Timer(_) => "on_timer",
        }
    }

    fn call(&mut self, py: Python<'_>, now: Time, sent: Bytes, event: Event<'_>) -> PyResult<Answer> {
        let control = match (&self.control, event) {
            (_, Event::Start { shape, seed }) => self.begin(py, shape, seed)?,
            (Some(control), _) => control.bind(py).clone(),
            (None, _) => return Err(PyValueError::new_err("the flow has not begun")),
        };
        control.setattr(intern!(py, "now_ps"), now.as_ps())?;
        control.setattr(intern!(py, "sent_bytes"), sent.0)?;
        let given = match event {
            Event::Start { .. } => control.call_method0(intern!(py, "on_start"))?,
            Event::Ack(ack) => {
                let answer =
                    Acknowledgement { received_bytes: ack.received, rtt_ps: ack.rtt.as_ps(), marked: ack.marked };
                let hook = if self.as_mark(ack) { intern!(py, "on_mark") } else { intern!(py, "on_ack") };
                control.call_method1(hook, (answer,))?
            }
            Event::Loss(loss) => {
                let kind = match loss {
                    Loss::Gap => intern!(py, "gap"),
                    Loss::Trimmed(_) => intern!(py, "trimmed"),
                    Loss::Timeout { .. } => intern!(py, "timeout"),
                };
                control.call_method1(intern!(py, "on_loss"), (kind,))?
            }
            Event::Timer(token) => control.call_method1(intern!(py, "on_timer"), (token,))?,
        };
        acted(&given)?;
        let timers = control.getattr(intern!(py, "_timers"))?;
        let window = bound(&control, intern!(py, "window_bytes"))?.map(|bytes| Bytes(bytes as u64));
        let rate = bound(&control, intern!(py, "rate_bps"))?.map(|bps| Rate(bps as u64));
        Ok(Answer { window, rate, timers: if timers.is_truthy()? { armed(&timers)? } else { Vec::new() } })
    }

    fn begin<'py>(&mut self, py: Python<'py>, shape: &FlowShape, seed: u64) -> PyResult<Bound<'py, PyAny>> {
        let control = self.class.bind(py).call0()?;
        let flow = (shape.src.0, shape.dst.0, shape.payload.0, shape.frame.0, shape.line.0, shape.hops, seed);
        control.call_method1(intern!(py, "_begin"), (self.parameters.clone(), flow))?;
        self.control = Some(control.clone().unbind());
        Ok(control)
    }
}

/// Refuses the result of a generator or a coroutine: nothing would run its body.
fn acted(given: &Bound<'_, PyAny>) -> PyResult<()> {
    let kind = given.get_type().name()?.to_string_lossy().into_owned();
    if matches!(kind.as_str(), "generator" | "coroutine" | "async_generator") {
        return Err(PyValueError::new_err(format!(
            "it gave a {kind}, which does nothing: a hook has neither `yield` nor `async`"
        )));
    }
    Ok(())
}

/// Returns a window or a rate that a control has set.
fn bound(control: &Bound<'_, PyAny>, name: &Bound<'_, pyo3::types::PyString>) -> PyResult<Option<f64>> {
    let value = control.getattr(name)?;
    if value.is_none() {
        return Ok(None);
    }
    // Python's booleans are numbers, and those of numpy convert to numbers.
    let truth = value.get_type().name()?.to_string_lossy().starts_with("bool");
    let number = value.extract::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0 && !truth);
    number.map(Some).ok_or_else(|| {
        let reported = value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
        PyValueError::new_err(format!("{name} = {reported}: not a number from 0 up, nor None"))
    })
}

/// Takes the timers that were set off the list: each is a delay in ps and a token.
fn armed(timers: &Bound<'_, PyAny>) -> PyResult<Vec<(Time, u16)>> {
    let all: Vec<(u64, u16)> = timers.extract()?;
    timers.call_method0(intern!(timers.py(), "clear"))?;
    Ok(all.into_iter().map(|(after, token)| (Time(after), token)).collect())
}
