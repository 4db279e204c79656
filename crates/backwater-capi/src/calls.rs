//! A call from C: its result as a number, and its error as a text of the thread. A panic is an error, too.

use crate::fault::Fault;
use crate::runs::{self, Run};
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

/// `BW_OK`.
const OK: i32 = 0;

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// The text of this thread's last error.
pub fn last_error() -> *const c_char {
    // Without a place for it, at the end of the thread, there is no error to be read.
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Carries out a call.
pub fn call(f: impl FnOnce() -> Result<(), Fault>) -> i32 {
    let result = panic::catch_unwind(AssertUnwindSafe(f));
    let fault = match result {
        Ok(Ok(())) => return OK,
        Ok(Err(fault)) => fault,
        Err(payload) => Fault::defect(what(&*payload)),
    };
    let text = CString::new(fault.text.replace('\0', "\u{fffd}")).unwrap_or_default();
    _ = LAST.try_with(|last| last.replace(text));
    fault.code
}

/// Carries out a call for a run.
pub fn with(run: u64, f: impl FnOnce(&mut Run) -> Result<(), Fault>) -> i32 {
    call(|| of_run(&*runs::find(run)?, f))
}

/// The same within a call. After a panic no call reaches the run any more.
pub fn of_run(run: &Mutex<Run>, f: impl FnOnce(&mut Run) -> Result<(), Fault>) -> Result<(), Fault> {
    let mut run = run.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(what) = &run.defect {
        return Err(Fault::defect(what));
    }
    match panic::catch_unwind(AssertUnwindSafe(|| f(&mut run))) {
        Ok(result) => result,
        Err(payload) => {
            let what = what(&*payload).to_owned();
            let fault = Fault::defect(&what);
            run.defect = Some(what);
            Err(fault)
        }
    }
}

fn what(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{ARGUMENT, DEFECT, NO_RUN};
    use std::ffi::CStr;

    #[allow(unsafe_code)]
    fn text() -> String {
        unsafe { CStr::from_ptr(last_error()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn a_panic_is_an_error_of_the_call() {
        assert_eq!(call(|| panic!("a defect")), DEFECT);
        assert!(text().starts_with("a defect of Backwater: a defect\nhint: "), "{}", text());
        assert_eq!(call(|| panic!("number {}", 7)), DEFECT);
        assert!(text().contains("number 7"));
        assert_eq!(call(|| Ok(())), OK);
    }

    #[test]
    fn a_run_with_a_defect_can_only_be_closed() {
        let scenario = "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n";
        let scenario = backwater::Scenario::from_text(scenario, "<text>", ".".as_ref()).unwrap();
        let run = runs::add(backwater::Live::open(&scenario, &backwater::LiveOptions::default()).unwrap());
        assert_eq!(with(run, |_| Ok(())), OK);
        assert_eq!(with(run, |_| panic!("by a test")), DEFECT);
        assert_eq!(with(run, |_| Ok(())), DEFECT);
        assert!(text().contains("by a test"));
        assert_eq!(crate::bw_close(run), DEFECT);
        assert_eq!(crate::bw_close(run), NO_RUN);
    }

    #[test]
    fn an_error_has_no_zero_within() {
        assert_eq!(call(|| Err(Fault::argument("name", "has a \0 in it".into(), "leave it out"))), ARGUMENT);
        assert!(text().ends_with("hint: leave it out"));
    }
}
