//! The core for a browser. It gets requests in JSON, and answers in JSON.
//!
//! WebAssembly has one thread, no files and no clock. The core needs none of them if a scenario names no file and runs
//! on one thread. The interface is three C functions, so the page needs no generated code: [`input`] makes room for a
//! request, [`call`] answers it, and [`output`] returns the place of the answer. [`answer`] lists the requests.

mod picture;
mod run;

use backwater::{Checked, Scenario, ScenarioError};
pub use run::Run;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::Path;

/// The last request of the page, its answer, and the run in progress.
#[derive(Default)]
struct Desk {
    request: Vec<u8>,
    answer: Vec<u8>,
    run: Option<Run>,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::new(Desk::default());
}

/// Makes room for a request of `length` bytes, and returns its place.
// An exported name is unsafe, because two equal names would clash. No other library is linked here.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    DESK.with_borrow_mut(|desk| {
        desk.request = vec![0; length];
        desk.request.as_mut_ptr()
    })
}

/// Answers the request, and returns the length of the answer in bytes.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn call() -> usize {
    DESK.with_borrow_mut(|desk| {
        let request = std::mem::take(&mut desk.request);
        let answer = match serde_json::from_slice(&request) {
            Ok(request) => answer(&request, &mut desk.run),
            Err(error) => json!({ "error": { "message": format!("the request is no JSON: {error}") } }),
        };
        desk.answer = answer.to_string().into_bytes();
        desk.answer.len()
    })
}

/// Returns the place of the answer, which is valid until the next request.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    DESK.with_borrow(|desk| desk.answer.as_ptr())
}

/// Answers a request. Its `do` is one of these:
///
/// - `schema`, `version`: returns the output of these commands.
/// - `check`: reads and checks `text` (called `origin`) with `variant`, and returns title, seed, variants and warnings.
/// - `start`: does the same, and begins a run with `seed`, by default the scenario's. With `pictures`, the run takes
///   samples every `interval_ps`.
/// - `advance`: handles up to `events` events of the run in progress.
/// - `finish`: ends the run, and returns its results.
///
/// The answer to a request that fails has `error`: the message as the command prints it, and its place.
pub fn answer(request: &Value, run: &mut Option<Run>) -> Value {
    let done = match request["do"].as_str().unwrap_or_default() {
        "schema" => Ok(json!({ "schema": backwater::schema() })),
        "version" => {
            Ok(json!({ "version": backwater::version().into_iter().collect::<std::collections::BTreeMap<_, _>>() }))
        }
        "check" => check(request),
        "start" => start(request).map(|(begun, reported)| {
            *run = Some(begun);
            reported
        }),
        "advance" => under_way(run).and_then(|run| run.advance(request["events"].as_u64().unwrap_or(100_000))),
        "finish" => match run.take() {
            Some(run) => run.finish(),
            None => Err(ScenarioError::new("no run was begun")),
        },
        other => Err(ScenarioError::new(format!("`{other}` is no request"))),
    };
    done.unwrap_or_else(|error| json!({ "error": error_json(&error) }))
}

fn under_way(run: &mut Option<Run>) -> Result<&mut Run, ScenarioError> {
    run.as_mut().ok_or_else(|| ScenarioError::new("no run was begun"))
}

/// Returns an error as the page shows it.
fn error_json(error: &ScenarioError) -> Value {
    json!({
        "message": error.to_string(),
        "line": error.line,
        "column": error.column,
        "width": error.excerpt.as_ref().map(|(_, width)| width),
        "key": error.key,
        "value": error.value,
        "reason": error.reason,
        "hint": error.hint,
    })
}

/// Reads the scenario of a request.
fn read(request: &Value) -> Result<Scenario, ScenarioError> {
    let text = request["text"].as_str().unwrap_or_default();
    let scenario = Scenario::from_text(text, request["origin"].as_str().unwrap_or("scenario.toml"), Path::new("."))?;
    match request["variant"].as_str().filter(|name| !name.is_empty()) {
        Some(name) => scenario.with_variant(name),
        None => Ok(scenario),
    }
}

/// Builds the whole run and drops it, as the command does, to refuse all that a start could refuse.
fn check(request: &Value) -> Result<Value, ScenarioError> {
    let scenario = read(request)?;
    let checked = scenario.check()?;
    backwater::build(&checked, scenario.seed())?;
    Ok(about(&scenario, &checked))
}

fn about(scenario: &Scenario, checked: &Checked) -> Value {
    let warnings: Vec<Value> = checked
        .warnings
        .iter()
        .map(|one| {
            json!({
                "message": one.to_string(), "key": one.key, "value": one.value, "reason": one.reason, "hint": one.hint,
            })
        })
        .collect();
    json!({ "title": scenario.title(), "seed": scenario.seed(), "variants": scenario.variants(), "warnings": warnings })
}

fn start(request: &Value) -> Result<(Run, Value), ScenarioError> {
    let mut scenario = read(request)?;
    let seed = request["seed"].as_u64().unwrap_or_else(|| scenario.seed());
    let interval = request["interval_ps"].as_u64().filter(|_| request["pictures"] == true);
    if let Some(interval) = interval {
        // Samples do not change the run: its fingerprint stays the same.
        for (key, value) in [("interval", format!("{} ps", interval.max(1)).as_str()), ("nodes", "[]")]
            .into_iter()
            .chain(["queues", "links", "pauses"].map(|key| (key, "true")))
            .chain([("backlogs", "false")])
        {
            scenario = scenario.with_set(&format!("output.{key}"), value)?;
        }
        let few = request["flow_rates"] == true;
        scenario = scenario.with_set("output.flows", if few { "true" } else { "false" })?;
    }
    let checked = scenario.check()?;
    let run = Run::new(&checked, seed, interval)?;
    let mut reported = about(&scenario, &checked);
    reported["seed"] = json!(seed);
    Ok((run, reported))
}
