//! Errors and panics of the core as Python exceptions.

use backwater::ScenarioError as CoreError;
use backwater_engine::Time;
use backwater_net::record::Broken;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;
use std::{io, process, thread};

pyo3::create_exception!(
    backwater._core,
    ScenarioError,
    PyValueError,
    "A scenario, a key or a value that cannot be used."
);
pyo3::create_exception!(backwater._core, RunError, PyRuntimeError, "A run broke a promise of its scenario.");

thread_local! {
    /// Place and message of the last panic of this thread.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Those of the last panic of any thread: a run on several threads passes a panic on.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Makes panics leave their message for [`guarded`] instead of printing it: users get one message, not two.
pub fn keep_panics_quiet() {
    panic::set_hook(Box::new(|info| {
        let text = info.payload_as_str().unwrap_or("no message");
        let place = info.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        let message = format!("{text}{place}");
        *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(message.clone());
        PANIC.with(|last| *last.borrow_mut() = Some(message));
    }));
}

/// Turns a scenario's error into an exception with its attributes.
pub fn scenario(py: Python<'_>, error: &CoreError) -> PyErr {
    let raised = ScenarioError::new_err(error.to_string());
    let filled = (|| -> PyResult<()> {
        let value = raised.value(py);
        value.setattr("file", &error.file)?;
        value.setattr("line", error.line)?;
        value.setattr("column", error.column)?;
        value.setattr("key", &error.key)?;
        value.setattr("value", &error.value)?;
        value.setattr("reason", &error.reason)?;
        value.setattr("hint", &error.hint)
    })();
    filled.err().unwrap_or(raised)
}

/// Turns a run's broken promise into an exception with its attributes.
pub fn broken(py: Python<'_>, broken: &Broken) -> PyErr {
    let hint = Some(broken.hint.as_str()).filter(|hint| !hint.is_empty());
    run(py, broken.time, &format!("at {}: {}", broken.time, broken.reason), &broken.reason, hint)
}

/// Returns message and place of the last panic of this thread, or of one that passed its panic on.
fn panicked() -> String {
    let of_another = || LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
    PANIC.with(|last| last.borrow_mut().take()).or_else(of_another).unwrap_or_else(|| "unknown".to_owned())
}

/// Turns a defect of the simulator into an exception.
pub fn defective(py: Python<'_>, time: Time, what: &str) -> PyErr {
    let reason = format!("the simulator has a defect: {what}");
    let hint = "this should never happen; please report it with the scenario, its seed and this message";
    run(py, time, &reason, &reason, Some(hint))
}

fn run(py: Python<'_>, time: Time, text: &str, reason: &str, hint: Option<&str>) -> PyErr {
    let hinted = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    let raised = RunError::new_err(format!("{text}{hinted}"));
    let filled = (|| -> PyResult<()> {
        let value = raised.value(py);
        value.setattr("time_ps", time.as_ps())?;
        value.setattr("reason", reason)?;
        value.setattr("hint", hint)
    })();
    filled.err().unwrap_or(raised)
}

/// An exception of the user's code within a run. It passes through the core as the payload of an unwinding.
pub struct Raised {
    /// The object whose hook raised it.
    pub of: String,
    pub hook: &'static str,
    pub time: Time,
    pub error: PyErr,
}

impl Raised {
    /// Returns the exception: a failed run, with the user's exception as its cause. An exception that ends programs,
    /// such as that of Ctrl-C, stays as it is.
    pub fn raise(self, py: Python<'_>) -> PyErr {
        let Raised { of, hook, time, error } = self;
        if !error.is_instance_of::<PyException>(py) {
            return error;
        }
        let place = place(py, &error).map_or_else(String::new, |place| format!(" ({place})"));
        let reason = format!("{of} failed in {hook}: {error}{place}");
        let raised = run(py, time, &format!("at {time}: {reason}"), &reason, None);
        raised.set_cause(py, Some(error));
        raised
    }
}

/// Returns file and line of the deepest call of the user's own code, outside Backwater's class.
fn place(py: Python<'_>, error: &PyErr) -> Option<String> {
    let ours = py.import("backwater.control").and_then(|module| module.getattr("__file__")).ok();
    let (mut found, mut next) = (None, error.traceback(py).map(Bound::into_any));
    while let Some(at) = next.filter(|at| !at.is_none()) {
        let file = at.getattr("tb_frame").ok()?.getattr("f_code").ok()?.getattr("co_filename").ok()?;
        if ours.as_ref().is_none_or(|ours| !file.eq(ours).unwrap_or(false)) {
            found = Some(format!("{file}, line {}", at.getattr("tb_lineno").ok()?));
        }
        next = at.getattr("tb_next").ok();
    }
    found
}

/// Returns the failure that left the core as the payload of an unwinding.
pub fn unwound(payload: Box<dyn Any + Send>) -> Failure {
    match payload.downcast::<Raised>() {
        Ok(raised) => Failure::Raised(raised),
        Err(_) => Failure::Defect(panicked()),
    }
}

/// The ways in which a call into the core can fail.
pub enum Failure {
    /// The scenario cannot be used.
    Scenario(Box<CoreError>),
    /// The core panicked, with this message at this place.
    Defect(String),
    /// The user's code raised an exception.
    Raised(Box<Raised>),
}

impl Failure {
    /// Returns the exception.
    pub fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Scenario(error) => scenario(py, &error),
            Failure::Defect(what) => defective(py, Time::ZERO, &what),
            Failure::Raised(raised) => raised.raise(py),
        }
    }
}

/// Calls into the core; a panic is a [`Failure::Defect`].
///
/// After a defect, do not use values that the closure borrows mutably: they may be half changed.
pub fn guarded<T>(call: impl FnOnce() -> Result<T, CoreError>) -> Result<T, Failure> {
    match panic::catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| Failure::Scenario(Box::new(error))),
        Err(payload) => Err(unwound(payload)),
    }
}

/// Makes a quick call into the core, with the interpreter's lock held.
pub fn call<T>(py: Python<'_>, call: impl FnOnce() -> Result<T, CoreError>) -> PyResult<T> {
    guarded(call).map_err(|failure| failure.raise(py))
}

/// Time between two checks for signals while the core works.
const LOOK: Duration = Duration::from_millis(50);

/// Stack of a thread in which the core works: the usual size of a program's first thread.
const STACK: usize = 8 << 20;

/// Makes a long call into the core, in another thread, so that signals are handled meanwhile. If the handler of a
/// signal raises, so does this; if `stop` returns true, it raises `KeyboardInterrupt`. The thread then works on alone,
/// and its result is dropped.
pub fn patiently<T: Send + 'static>(
    py: Python<'_>,
    stop: Option<&Bound<'_, PyAny>>,
    call: impl FnOnce() -> Result<T, CoreError> + Send + 'static,
) -> PyResult<T> {
    let (done, result) = mpsc::channel();
    let work = move |rest: &dyn Fn()| {
        let outcome = guarded(call);
        // Before the result is sent: the caller may call again at once.
        rest();
        // After a signal, nobody receives the result.
        drop(done.send(outcome));
    };
    elsewhere(Box::new(work)).map_err(PyOSError::new_err)?;
    let result = Mutex::new(result);
    let next = || match result.lock() {
        Ok(result) => result.recv_timeout(LOOK),
        Err(_) => Err(mpsc::RecvTimeoutError::Disconnected),
    };
    loop {
        match py.detach(next) {
            Ok(outcome) => return outcome.map_err(|failure| failure.raise(py)),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(defective(py, Time::ZERO, "a thread has ended")),
            Err(mpsc::RecvTimeoutError::Timeout) => py.check_signals()?,
        }
        if stop.map_or(Ok(false), |stop| stop.call0()?.is_truthy())? {
            return Err(PyKeyboardInterrupt::new_err("stopped"));
        }
    }
}

/// Work for another thread. It calls its argument just before it ends.
type Work = Box<dyn FnOnce(&dyn Fn()) + Send>;

/// Threads that wait for work, each with the process it belongs to. A new thread for each run would take a tenth of a
/// tiny run's time.
static INACTIVE: Mutex<Vec<(u32, mpsc::Sender<Work>)>> = Mutex::new(Vec::new());

/// Gives work to a waiting thread, or to a new one.
fn elsewhere(mut work: Work) -> io::Result<()> {
    // After a fork, the child has the list, but not its threads, and perhaps a lock that stays locked.
    let own = process::id();
    if let Ok(mut idle) = INACTIVE.try_lock() {
        idle.retain(|(process, _)| *process == own);
        while let Some((_, thread)) = idle.pop() {
            match thread.send(work) {
                Ok(()) => return Ok(()),
                Err(mpsc::SendError(back)) => work = back,
            }
        }
    }
    let (sender, next) = mpsc::channel::<Work>();
    let live = move || {
        let waits = Cell::new(false);
        let rest = || {
            if let Ok(mut idle) = INACTIVE.try_lock() {
                idle.push((own, sender.clone()));
                waits.set(true);
            }
        };
        work(&rest);
        while waits.take()
            && let Ok(work) = next.recv()
        {
            work(&rest);
        }
    };
    thread::Builder::new().stack_size(STACK).spawn(live).map(drop)
}

/// Reads a whole number from 0 to 2^64 - 1, as the value of `key`.
pub fn whole_number(value: &Bound<'_, PyAny>, key: &str) -> PyResult<u64> {
    value.extract().map_err(|_| {
        let text = value.str().map_or_else(|_| "?".to_owned(), |text| text.to_string_lossy().into_owned());
        let mut error = CoreError::new(format!("`{text}` is not a whole number from 0 to 2^64 - 1")).key(key);
        error.value = Some(text);
        scenario(value.py(), &error)
    })
}
