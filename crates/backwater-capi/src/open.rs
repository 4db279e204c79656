//! Opening and resuming runs, and their files.

use crate::calls::call;
use crate::fault::Fault;
use crate::memory::{maybe_text, octets, out, text};
use crate::{API_VERSION, runs};
use backwater::{Live, LiveOptions, Scenario, ScenarioError};
use std::ffi::c_char;
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr;

const TELL_SENT: u32 = 1;
const TELL_DELIVERED: u32 = 2;
const TELL_ACKNOWLEDGED: u32 = 4;
const KEEP_CONNECTIONS: u32 = 8;
const SEED: u32 = 16;

/// `bw_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Seed of all random streams, with `BW_SEED`.
    pub seed: u64,
    /// Directory of relative names of files, or null.
    pub base: *const c_char,
    /// Name of the scenario in errors, or null.
    pub name: *const c_char,
    /// Label of the messages, or null.
    pub label: *const c_char,
    /// Directory of the run, or null.
    pub directory: *const c_char,
    /// `BW_TELL_…`, `BW_KEEP_CONNECTIONS`, `BW_SEED`.
    pub flags: u32,
    /// `BW_API_VERSION`.
    pub version: u32,
}

impl Default for Options {
    fn default() -> Options {
        let flags = TELL_DELIVERED | TELL_ACKNOWLEDGED;
        let (base, name, label, directory) = (ptr::null(), ptr::null(), ptr::null(), ptr::null());
        Options { seed: 0, base, name, label, directory, flags, version: API_VERSION }
    }
}

/// See `bw_options_default` of the header.
///
/// # Safety
/// `options` is null, or points to memory for them.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn bw_options_default(options: *mut Options) -> i32 {
    call(|| unsafe { out("options", options, Options::default()) })
}

/// See `bw_open` of the header.
///
/// # Safety
/// `scenario` is null, or so many octets there may be read; `options` is null, or points to options whose texts end with a zero; `run`
/// is null, or points to memory for a number.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn bw_open(
    scenario: *const c_char,
    length: usize,
    options: *const Options,
    run: *mut u64,
) -> i32 {
    call(|| {
        unsafe { out("run", run, 0) }?;
        let (scenario, options) = unsafe { read(scenario, length, options) }?;
        let live = Live::open(&scenario, &options).map_err(|error| Fault::of(&error))?;
        unsafe { out("run", run, runs::add(live)) }
    })
}

/// See `bw_resume` of the header.
///
/// # Safety
/// As [`bw_open`], and `path` is null or a text that ends with a zero.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn bw_resume(
    scenario: *const c_char,
    length: usize,
    options: *const Options,
    path: *const c_char,
    run: *mut u64,
) -> i32 {
    call(|| {
        unsafe { out("run", run, 0) }?;
        let path = unsafe { text("path", path) }?;
        let (scenario, options) = unsafe { read(scenario, length, options) }?;
        let saved = fs::read(path).map_err(|error| unusable(path, "read", &error))?;
        let live = Live::resume(&scenario, &options, &saved).map_err(|error| Fault::of(&error))?;
        unsafe { out("run", run, runs::add(live)) }
    })
}

/// Reads a scenario and the options of its run.
#[allow(unsafe_code)]
unsafe fn read(
    scenario: *const c_char,
    length: usize,
    options: *const Options,
) -> Result<(Scenario, LiveOptions), Fault> {
    let given = unsafe { options.as_ref() }.copied().unwrap_or_default();
    if given.version != API_VERSION {
        let reason = format!("version {} is not that of the library, {API_VERSION}", given.version);
        return Err(Fault::argument(
            "options",
            reason,
            "fill options with bw_options_default, and compile with the library's header",
        ));
    }
    let known = TELL_SENT | TELL_DELIVERED | TELL_ACKNOWLEDGED | KEEP_CONNECTIONS | SEED;
    if given.flags & !known != 0 {
        let reason = format!("there is no flag {:#x}", given.flags & !known);
        return Err(Fault::argument("options", reason, "the header has the flags"));
    }
    let octets = unsafe { octets("scenario", scenario, length) }?;
    let written = std::str::from_utf8(octets).map_err(|error| {
        let reason = format!("octet {} is no UTF-8", error.valid_up_to());
        Fault::argument("scenario", reason, "a scenario is TOML text")
    })?;
    let name = unsafe { maybe_text("options.name", given.name) }?.unwrap_or("<text>");
    let base = unsafe { maybe_text("options.base", given.base) }?.unwrap_or(".");
    let label = unsafe { maybe_text("options.label", given.label) }?;
    let directory = unsafe { maybe_text("options.directory", given.directory) }?;
    let has = |flag: u32| given.flags & flag != 0;
    let default = LiveOptions::default();
    let options = LiveOptions {
        seed: has(SEED).then_some(given.seed),
        label: label.map_or(default.label, str::to_owned),
        keep_connections: has(KEEP_CONNECTIONS),
        sent: has(TELL_SENT),
        delivered: has(TELL_DELIVERED),
        acknowledged: has(TELL_ACKNOWLEDGED),
        rows: false,
        directory: directory.map(PathBuf::from),
    };
    let scenario = Scenario::from_text(written, name, Path::new(base)).map_err(|error| Fault::of(&error))?;
    Ok((scenario, options))
}

/// Writes a file, which replaces another one only when it is complete.
pub fn write(path: &str, octets: &[u8]) -> Result<(), Fault> {
    let beside = format!("{path}.new");
    let written = fs::write(&beside, octets).and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        _ = fs::remove_file(&beside);
        unusable(path, "written", &error)
    })
}

fn unusable(path: &str, what: &str, error: &std::io::Error) -> Fault {
    let error = ScenarioError::new(format!("it cannot be {what}: {error}")).file(path);
    Fault::of(&error.hint("name another file"))
}
