//! One scenario of a soak, from its number to a verdict.

use super::case::{Case, Folder};
use super::coverage::Coverage;
use super::dice::Dice;
use super::draw;
use super::laws::{Breach, Judged, judge};
use super::mend::{check, mend};
use super::shrink::shrink;
use backwater::{Checked, Scenario};
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::time::{Duration, Instant};

/// The verdict on a scenario.
pub struct Verdict {
    /// The keys for which check refused it, with a change after each, before it was accepted; `None`: it was never accepted.
    pub refused: Option<Vec<String>>,
    /// Its contents.
    pub found: BTreeSet<String>,
    /// Events of a run of it.
    pub events: u64,
    /// The law that does not hold, and a small scenario that shows it.
    pub breach: Option<(Breach, Case)>,
}

/// Longest time for shrinking a failure.
const SHRINKING: Duration = Duration::from_secs(60);

/// The length of runs, and the effort of shrinking.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Events after which a run is cut off.
    pub events: u64,
    /// Most scenarios that shrinking tries.
    pub tries: usize,
}

/// Draws, mends and judges scenario `number` of the soak with `seed`.
pub fn one(seed: u64, number: u64, effort: Effort, folder: &Folder) -> Verdict {
    let slices = || Dice::new(seed, "slices", number);
    let drawn = draw::case(seed, number, folder);
    let mended = quietly(|| mend(drawn.clone(), &mut Dice::new(seed, "mend", number), folder));
    let (case, refused, breach) = match mended {
        Err(panic) => (drawn, None, Some(panic)),
        Ok(Err(_)) => return Verdict { refused: None, found: BTreeSet::new(), events: 0, breach: None },
        Ok(Ok(valid)) => (valid.case, Some(valid.refused), None),
    };
    let found = Coverage::of(&case);
    let (breach, events) = match breach {
        Some(breach) => (Some(breach), 0),
        None => match tried(&case, effort, &mut slices(), folder) {
            Ok(events) => (None, events),
            Err(breach) => (Some(breach), 0),
        },
    };
    let breach = breach.map(|breach| {
        let (law, begun) = (breach.law, Instant::now());
        // A long shrinking is printed as it is by then.
        let mut fails = |case: &Case| {
            begun.elapsed() < SHRINKING
                && tried(case, effort, &mut slices(), folder).is_err_and(|breach| breach.law == law)
        };
        let small = shrink(case, &mut fails, effort.tries);
        let seen = tried(&small, effort, &mut slices(), folder).err().unwrap_or(breach);
        (seen, small)
    });
    Verdict { refused, found, events, breach }
}

/// Checks every law on a scenario; one that check refuses keeps all.
///
/// # Errors
/// The law that does not hold.
pub fn tried(case: &Case, effort: Effort, slices: &mut Dice, folder: &Folder) -> Result<u64, Breach> {
    quietly(|| {
        let Ok((resolved, _)) = check(case, folder) else { return Ok(0) };
        written_as_read(&resolved, folder)?;
        match judge(&resolved, effort.events, slices)? {
            Judged::Good { events } => Ok(events),
            Judged::TooLong(at) => {
                let mut cut = case.clone();
                cut.tree.insert("stop".into(), json!({ "at": format!("{} ps", at.as_ps()) }));
                let Ok((resolved, _)) = check(&cut, folder) else { return Ok(0) };
                judge(&resolved, u64::MAX, slices)?;
                Ok(effort.events)
            }
        }
    })
    .unwrap_or_else(Err)
}

/// The written form of a resolved scenario reads as the same scenario.
fn written_as_read(resolved: &Checked, folder: &Folder) -> Result<(), Breach> {
    let text = resolved.resolved().to_toml();
    let again = Scenario::from_text(&text, "again.toml", folder.path()).and_then(|scenario| scenario.check());
    match again {
        Ok(again) if again.resolved().to_toml() == text => Ok(()),
        Ok(_) => Err(Breach { law: "what is written reads as the same", seen: "another text".into() }),
        Err(error) => Err(Breach { law: "what is written reads as the same", seen: error.to_string() }),
    }
}

thread_local! {
    static PANIC: RefCell<Option<Option<String>>> = const { RefCell::new(None) };
}

/// Runs something, and turns a panic in it into a breach.
fn quietly<T>(run: impl FnOnce() -> T) -> Result<T, Breach> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let kept = PANIC.with_borrow_mut(|panic| panic.as_mut().map(|reported| *reported = Some(info.to_string())));
            if kept.is_none() {
                usual(info);
            }
        }));
    });
    PANIC.set(Some(None));
    let result = catch_unwind(AssertUnwindSafe(run));
    let reported = PANIC.take().flatten().unwrap_or_default();
    result.map_err(|_| Breach { law: "nothing panics", seen: reported })
}
