//! The open runs, by their numbers. No number is used twice, so that a closed run is known as such.

use crate::fault::Fault;
use backwater::{Live, ScenarioError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An open run.
pub struct Run {
    pub live: Live,
    /// Events of the last step that the caller has taken.
    pub taken: usize,
    /// The directions of links: a node and its port.
    pub ports: Vec<(u32, u16)>,
    /// The text of a panic, after which the run is in no known state.
    pub defect: Option<String>,
}

impl Run {
    /// An error of a request to the run, or its end.
    pub fn fault(&self, error: ScenarioError) -> Fault {
        if self.live.is_over() { Fault::ended(&error) } else { Fault::of(&error) }
    }
}

#[derive(Default)]
struct Runs {
    last: u64,
    open: HashMap<u64, Arc<Mutex<Run>>>,
}

static RUNS: Mutex<Option<Runs>> = Mutex::new(None);

fn runs() -> MutexGuard<'static, Option<Runs>> {
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a run. Returns its number.
pub fn add(live: Live) -> u64 {
    let ports = live.ports().map(|row| (row.node.0, row.port.0)).collect();
    let mut runs = runs();
    let runs = runs.get_or_insert_default();
    runs.last += 1;
    runs.open.insert(runs.last, Arc::new(Mutex::new(Run { live, taken: 0, ports, defect: None })));
    runs.last
}

/// The run with a number.
pub fn find(run: u64) -> Result<Arc<Mutex<Run>>, Fault> {
    let found = runs().as_ref().and_then(|runs| runs.open.get(&run).cloned());
    found.ok_or_else(|| Fault::no_run(run))
}

/// Takes the run with a number out of the open ones.
pub fn take(run: u64) -> Result<Arc<Mutex<Run>>, Fault> {
    let found = runs().as_mut().and_then(|runs| runs.open.remove(&run));
    found.ok_or_else(|| Fault::no_run(run))
}
