//! The core for a browser: a request in JSON goes in, an answer in JSON comes out.
//!
//! WebAssembly has one thread, no files and no clock. The core asks for none of them where a scenario names no file and one thread
//! runs it. The interface is three functions of C, so that the page needs no generated code: [`input`] makes room for a request,
//! [`call`] answers it, [`output`] says where the answer lies. What requests there are stands at [`answer`].

mod picture;
mod run;

use backwater::{Checked, Scenario, ScenarioError};
pub use run::Run;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::Path;

/// What a page has asked for last, and the run that it is in.
#[derive(Default)]
struct Desk {
    request: Vec<u8>,
    answer: Vec<u8>,
    run: Option<Run>,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::new(Desk::default());
}

/// Makes room for a request of so many bytes, and says where.
// A C name is unsafe to give: two of one name would clash. There is no other library here.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    DESK.with_borrow_mut(|desk| {
        desk.request = vec![0; length];
        desk.request.as_mut_ptr()
    })
}

/// Answers the request. Gives the length of the answer in bytes.
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

/// Returns where the answer lies, until the next request.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    DESK.with_borrow(|desk| desk.answer.as_ptr())
}

/// Answers a request, which says in `do` what is asked:
///
/// - `schema`, `version`: what the command prints.
/// - `check`: reads and checks `text` (called `origin`) with `variant`; answers with title, seed, variants and warnings.
/// - `start`: the same, and begins a run with `seed` (the scenario's where absent). With `pictures`, it takes samples every `interval_ps`.
/// - `advance`: handles so many `events` at most of the run that was begun.
/// - `finish`: what the run came to; ends it where it is under way.
///
/// What fails is answered by `error`, with the message as the command prints it, and its place.
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

/// An error as the page shows it.
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

/// The scenario of a request.
fn read(request: &Value) -> Result<Scenario, ScenarioError> {
    let text = request["text"].as_str().unwrap_or_default();
    let scenario = Scenario::from_text(text, request["origin"].as_str().unwrap_or("scenario.toml"), Path::new("."))?;
    match request["variant"].as_str().filter(|name| !name.is_empty()) {
        Some(name) => scenario.with_variant(name),
        None => Ok(scenario),
    }
}

/// Builds the whole run and drops it, as the command does: whatever a start could refuse is refused here.
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
        // Samples change nothing that happens: the fingerprint is the same with them.
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
