//! Values that change in a run in progress: the permitted ones, and those that cannot change.
//!
//! A saved run is built anew from its scenario, and its saved state is loaded. Parameters of mechanisms may differ then, and apply from
//! that time on. Everything else in the scenario is part of the saved state: nodes, frames, flows, the set of mechanisms.

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

/// Returns the state of a run and its tables, for [`load`]. Waiting rows in the tables are not included: take them before.
///
/// # Errors
/// A part that cannot be saved.
pub fn save(run: &Parallel<Config>, tables: &Tables) -> Result<Vec<u8>, ScenarioError> {
    let saved = || {
        let mut to = Saver::new(Vec::new());
        to.put(&stage::save_parallel(run)?);
        tables.save(&mut to);
        to.finish()
    };
    saved().map_err(|unfit: Unfit| ScenarioError::new(format!("the run cannot be saved: {unfit}")))
}

/// Restores the state of a new run and new tables. `keys` have been changed since.
///
/// # Errors
/// A part that does not fit.
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

/// Checks that a saved run may continue as `changed`, which differs from `saved` in these keys.
///
/// # Errors
/// The key that cannot change, and why.
pub fn see_fork<'a>(
    saved: &Checked,
    changed: &Checked,
    keys: impl IntoIterator<Item = &'a str>,
) -> Result<(), ScenarioError> {
    for key in keys {
        // Split like a setting: a part of a key may be quoted.
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
