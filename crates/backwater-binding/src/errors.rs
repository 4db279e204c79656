//! Errors of the core as Python exceptions; panics too.

use backwater::ScenarioError as CoreError;
use backwater_engine::Time;
use backwater_net::record::Broken;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, mpsc};
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
    /// Where the last panic of this thread happened, and what it said.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has panics remembered for [`guarded`] instead of printed: users get one message, not two.
pub fn keep_panics_quiet() {
    panic::set_hook(Box::new(|info| {
        let text = info.payload_as_str().unwrap_or("no message");
        let place = info.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        PANIC.with(|last| *last.borrow_mut() = Some(format!("{text}{place}")));
    }));
}

/// The scenario's error as an exception with its attributes.
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

/// A run's broken promise as an exception with its attributes.
pub fn broken(py: Python<'_>, broken: &Broken) -> PyErr {
    let hint = Some(broken.hint.as_str()).filter(|hint| !hint.is_empty());
    run(py, broken.time, &format!("at {}: {}", broken.time, broken.reason), &broken.reason, hint)
}

/// Returns what the last panic of this thread said, and where.
fn panicked() -> String {
    PANIC.with(|last| last.borrow_mut().take()).unwrap_or_else(|| "unknown".to_owned())
}

/// A defect of the simulator itself.
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

/// What code of the user's has raised, within a run; it comes up through the core as the payload of an unwinding.
pub struct Raised {
    /// Whose hook it was.
    pub of: String,
    pub hook: &'static str,
    pub time: Time,
    pub error: PyErr,
}

impl Raised {
    /// The exception: a failed run, with what was raised as its cause. What is to end a program, such as Ctrl-C, comes as it is.
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

/// File and line where an exception was raised, as far as that is the user's own: the deepest call that is not of Backwater's class.
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

/// Returns what has come out of the core instead of a result.
pub fn unwound(payload: Box<dyn Any + Send>) -> Failure {
    match payload.downcast::<Raised>() {
        Ok(raised) => Failure::Raised(raised),
        Err(_) => Failure::Defect(panicked()),
    }
}

/// What can come out of a call into the core.
pub enum Failure {
    /// The scenario cannot be used.
    Scenario(Box<CoreError>),
    /// The core panicked: what it said, and where.
    Defect(String),
    /// Code of the user's has raised something.
    Raised(Box<Raised>),
}

impl Failure {
    /// The exception.
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
/// Whatever the closure borrows mutably must not be used after a defect: it may be half changed.
pub fn guarded<T>(call: impl FnOnce() -> Result<T, CoreError>) -> Result<T, Failure> {
    match panic::catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| Failure::Scenario(Box::new(error))),
        Err(payload) => Err(unwound(payload)),
    }
}

/// Calls into the core with the interpreter's lock held, for what is quick.
pub fn call<T>(py: Python<'_>, call: impl FnOnce() -> Result<T, CoreError>) -> PyResult<T> {
    guarded(call).map_err(|failure| failure.raise(py))
}

/// Time between two looks at signals while the core works.
const LOOK: Duration = Duration::from_millis(50);

/// Stack of a thread in which the core works: as much as a program's first thread usually has.
const STACK: usize = 8 << 20;

/// Calls into the core for what may take long: in a thread of its own, so that signals are heard meanwhile. What the handler of a signal
/// raises is raised, and so is `KeyboardInterrupt` when `stop` gives true; the thread is left to itself then, and what it makes is dropped.
pub fn patiently<T: Send + 'static>(
    py: Python<'_>,
    stop: Option<&Bound<'_, PyAny>>,
    call: impl FnOnce() -> Result<T, CoreError> + Send + 'static,
) -> PyResult<T> {
    let (done, result) = mpsc::channel();
    let work = move |rest: &dyn Fn()| {
        let outcome = guarded(call);
        // Before the caller goes on, who may call again at once.
        rest();
        // Nobody listens any more after a signal.
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

/// Work for another thread; it calls what it is given when it is about to be over.
type Work = Box<dyn FnOnce(&dyn Fn()) + Send>;

/// Threads that wait for work, each with the process that it is of: to begin and end one for each run takes a tenth of a tiny run.
static INACTIVE: Mutex<Vec<(u32, mpsc::Sender<Work>)>> = Mutex::new(Vec::new());

/// Has work done by a thread that waits for it, or by a new one.
fn elsewhere(mut work: Work) -> io::Result<()> {
    // After a fork the child has the list, but not its threads; and perhaps a lock that nobody will open.
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

/// A whole number from 0 to 2^64 - 1, as the value of `key`.
pub fn whole_number(value: &Bound<'_, PyAny>, key: &str) -> PyResult<u64> {
    value.extract().map_err(|_| {
        let text = value.str().map_or_else(|_| "?".to_owned(), |text| text.to_string_lossy().into_owned());
        let mut error = CoreError::new(format!("`{text}` is not a whole number from 0 to 2^64 - 1")).key(key);
        error.value = Some(text);
        scenario(value.py(), &error)
    })
}
