//! Makes a drawn scenario valid by the messages of the check: the value in a hint, a larger buffer, or without the key.

use super::case::{Case, Folder};
use super::coverage::plain;
use super::dice::Dice;
use backwater::{Checked, ScenarioError, build};
use backwater_mech::registry::Config;
use backwater_net::Bytes;
use backwater_net::spec::Spec;
use serde_json::json;

/// Changes after which a scenario is given up.
const MOST: usize = 80;

/// A scenario that the check accepts.
pub struct Valid {
    pub case: Case,
    /// The keys for which it was refused before, one after the other.
    pub refused: Vec<String>,
}

/// Does the work of the command `check`: everything except the run.
///
/// # Errors
/// The reason why the scenario is refused.
pub fn check(case: &Case, folder: &Folder) -> Result<(Checked, Spec<Config>), ScenarioError> {
    let resolved = case.resolve(folder)?;
    let spec = build(&resolved, resolved.resolved().seed())?;
    Ok((resolved, spec))
}

/// The scenario, changed until the check accepts it; `None` if nothing is left of it.
pub fn mend(mut case: Case, dice: &mut Dice, folder: &Folder) -> Result<Valid, String> {
    let (mut last, mut refused) = (String::new(), Vec::new());
    while refused.len() < MOST {
        match check(&case, folder) {
            Ok((resolved, _))
                if resolved.resolved().file.flow.is_empty() && resolved.resolved().file.job.is_empty() =>
            {
                return Err("no flow is left".into());
            }
            Ok(_) => return Ok(Valid { case, refused }),
            Err(error) => {
                last = format!("{error}\n{}", case.text());
                refused.push(plain(error.key.as_deref().unwrap_or("none")));
                if !one(&mut case, &error, dice) {
                    break;
                }
            }
        }
    }
    Err(last)
}

/// Makes one change; `false` if none is possible.
fn one(case: &mut Case, error: &ScenarioError, dice: &mut Dice) -> bool {
    let key = error.key.clone().unwrap_or_default();
    let hint = error.hint.clone().unwrap_or_default();
    let lossless = case.tree.contains_key("lossless");
    // The exact threshold, and the exact headroom, that the hint names.
    if let Some(xoff) = after(&hint, "lower xoff to ").filter(|xoff| xoff.0 > 0 && dice.chance(0.7)) {
        return case.set(&key, json!(format!("{} B", xoff.0)));
    }
    if let Some(headroom) = after(&hint, "switch.headroom = \"") {
        return case.set("switch.headroom", json!(format!("{} B", headroom.0)));
    }
    let about_memory = ["xoff", "buffer", "threshold"].iter().any(|name| key.ends_with(name));
    if about_memory && (lossless || error.reason.contains("buffer")) && enlarge(case) {
        return true;
    }
    if error.reason.contains("missing") || case.get(&key).is_none() {
        let Some((table, _)) = key.rsplit_once('.') else {
            return case.remove(&key) || (lossless && case.remove("lossless"));
        };
        return one_up(case, table) || (lossless && case.remove("lossless"));
    }
    case.remove(&key)
}

/// Removes the nearest existing table.
fn one_up(case: &mut Case, key: &str) -> bool {
    let mut key = key;
    loop {
        if case.get(key).is_some() && key != "topology" {
            return case.remove(key);
        }
        match key.rsplit_once('.') {
            Some((table, _)) => key = table,
            None => return false,
        }
    }
}

fn after(text: &str, words: &str) -> Option<Bytes> {
    let rest = &text[text.find(words)? + words.len()..];
    let end = rest.match_indices('B').next()?.0 + 1;
    rest[..end].parse().ok()
}

/// Doubles the buffer, within reason.
fn enlarge(case: &mut Case) -> bool {
    let buffer = case.get("switch.buffer").and_then(|size| size.as_str()?.parse::<Bytes>().ok());
    match buffer.filter(|buffer| buffer.0 < 50_000_000) {
        Some(buffer) => case.set("switch.buffer", json!(format!("{} B", buffer.0 * 2))),
        None => false,
    }
}
