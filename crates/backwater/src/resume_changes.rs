//! Values that change in a run that is in progress: which may, and which cannot.
//!
//! A run that was saved is built anew from its scenario, and what it had come to is loaded over that. Parameters of mechanisms may be
//! others then, and count from that time on. What else a scenario says is in what was saved: nodes, frames, flows, which
//! mechanisms there are.

use crate::results::Tables;
use crate::tree::split_key;
use crate::{Checked, ScenarioError};
use backwater_engine::State;
use backwater_engine::state::{Loader, Saver, Unfit};
use backwater_mech::registry::{Config, ENTRIES};
use backwater_mech::stage;
use backwater_net::Parallel;

/// Tables and values below a mechanism's that are no parameters of it.
const NO_PARAMETERS: &[&str] = &["at", "flows", "preset"];

/// What a run and its tables have come to, for [`load`]. Rows that wait in the tables are not in it: they are to be taken before.
///
/// # Errors
/// What cannot be saved.
pub fn save(run: &Parallel<Config>, tables: &Tables) -> Result<Vec<u8>, ScenarioError> {
    let saved = || {
        let mut to = Saver::new(Vec::new());
        to.put(&stage::save_parallel(run)?);
        tables.save(&mut to);
        to.finish()
    };
    saved().map_err(|unfit: Unfit| ScenarioError::new(format!("the run cannot be saved: {unfit}")))
}

/// Has a run and its tables, both new, go on from there. `keys` have been changed since.
///
/// # Errors
/// What does not fit.
pub fn load(
    run: &mut Parallel<Config>,
    tables: &mut Tables,
    octets: &[u8],
    keys: &[String],
) -> Result<(), ScenarioError> {
    let mut from = Loader::new(octets, Vec::new());
    let mut loaded = || {
        stage::load_parallel(run, &from.take::<Vec<u8>>()?)?;
        tables.load(&mut from)
    };
    let unfit = |unfit: Unfit| match keys {
        [] => ScenarioError::new(format!("the saved run does not fit its scenario: {unfit}")),
        keys => refused(&keys.join(", "), &unfit.to_string()),
    };
    loaded().map_err(unfit)?;
    from.finish().map_err(unfit)
}

/// Sees that `changed`, which differs from `saved` by these keys, may go on where a run of that was saved.
///
/// # Errors
/// The key that cannot change, and why.
pub fn see_fork<'a>(
    saved: &Checked,
    changed: &Checked,
    keys: impl IntoIterator<Item = &'a str>,
) -> Result<(), ScenarioError> {
    for key in keys {
        // As it is set: a part of a key may be quoted.
        let steps = split_key(key).unwrap_or_default();
        let step = |number: usize| steps.get(number).map_or("", String::as_str);
        let (table, below) = (step(0), step(1));
        let known = ENTRIES.iter().any(|entry| entry.name == table);
        let why = match (known, below) {
            (false, _) => "what was saved rests on it".to_owned(),
            (true, "") => format!("mechanisms stay as they are, and `{table}` with them"),
            (true, below) if NO_PARAMETERS.contains(&below) => format!("`{below}` is no parameter of `{table}`"),
            _ => continue,
        };
        return Err(refused(key, &why));
    }
    match saved.resolved().mechanisms.cannot_become(&changed.resolved().mechanisms) {
        Some((mechanism, what)) => Err(refused(mechanism, &format!("it would change {what}"))),
        None => Ok(()),
    }
}

/// The error about a key that cannot change.
pub fn refused(key: &str, why: &str) -> ScenarioError {
    ScenarioError::new(format!("cannot change in a run that is under way: {why}"))
        .key(key.to_owned())
        .hint("only parameters of mechanisms that are on can; for others run the scenario from its start")
}
