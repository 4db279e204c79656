//! Why a call fails: its number, and its text.

use backwater::ScenarioError;

/// The `BW_ERROR_…`.
pub const ARGUMENT: i32 = -1;
pub const NO_RUN: i32 = -2;
pub const ENDED: i32 = -3;
pub const DEFECT: i32 = -4;

/// A failed call.
#[derive(Debug)]
pub struct Fault {
    /// `BW_ERROR_…`.
    pub code: i32,
    /// For `bw_error`.
    pub text: String,
}

impl Fault {
    /// An argument cannot be used.
    pub fn argument(name: &str, reason: String, hint: &str) -> Fault {
        Fault::of(&ScenarioError::new(reason).key(name).hint(hint))
    }

    /// An error of a scenario, or of a request to a run.
    pub fn of(error: &ScenarioError) -> Fault {
        Fault { code: ARGUMENT, text: error.to_string() }
    }

    /// The run has ended.
    pub fn ended(error: &ScenarioError) -> Fault {
        Fault { code: ENDED, text: error.to_string() }
    }

    /// There is no such run.
    pub fn no_run(run: u64) -> Fault {
        let text = format!("run: there is no run {run}: it was closed, or never opened\nhint: bw_open opens one");
        Fault { code: NO_RUN, text }
    }

    /// A panic said this.
    pub fn defect(what: &str) -> Fault {
        let hint = "hint: close the run, and report this with the scenario";
        Fault { code: DEFECT, text: format!("a defect of Backwater: {what}\n{hint}") }
    }
}
