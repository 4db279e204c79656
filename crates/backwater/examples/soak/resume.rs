//! Scenarios of a soak that are saved at a random time and resumed: their outcome must equal that of an undisturbed run.

use super::case::Folder;
use super::dice::Dice;
use super::draw;
use super::mend::{check, mend};
use super::rows::{Kinds, Rows, differ};
use backwater::{Checked, build};
use backwater_engine::Time;
use backwater_mech::registry::Config;
use backwater_mech::stage;
use backwater_net::Network;
use backwater_net::record::Broken;
use backwater_net::spec::{CausesSpec, SeriesSpec};
use std::process::ExitCode;

/// Most samples of a time series.
const SAMPLES: u64 = 500;

/// The outcomes of the scenarios.
#[derive(Debug, Default)]
pub struct Tally {
    /// Runs that were saved and resumed.
    pub resumed: u64,
    /// Runs that had ended before.
    pub over: u64,
    /// \[bytes\] of the largest state.
    pub largest: usize,
    /// Differences.
    pub wrong: Vec<String>,
}

/// Checks the first `most` scenarios of a seed, each of at most so many events, with and without outputs.
pub fn check_all(most: u64, seed: u64, events: u64) -> Result<Tally, String> {
    let folder = Folder::new("resume").map_err(|error| error.to_string())?;
    let mut tally = Tally::default();
    for number in 0..most {
        let drawn = draw::case(seed, number, &folder);
        let Ok(valid) = mend(drawn, &mut Dice::new(seed, "mend", number), &folder) else { continue };
        // The state of a control outside of the core cannot be saved.
        if valid.case.tree.contains_key("prototype") {
            continue;
        }
        let Ok((resolved, _)) = check(&valid.case, &folder) else { continue };
        let mut dice = Dice::new(seed, "resume", number);
        for outputs in [false, true] {
            if let Err(why) = judge(&resolved, outputs, events, &mut dice, &mut tally) {
                tally.wrong.push(format!("{number}{}: {why}", if outputs { " with outputs" } else { "" }));
            }
        }
    }
    Ok(tally)
}

/// Prints the outcomes.
pub fn list(most: u64, seed: u64) -> ExitCode {
    match check_all(most, seed, 60_000) {
        Ok(Tally { resumed, over, largest, wrong }) => {
            wrong.iter().for_each(|wrong| println!("{wrong}"));
            println!(
                "{resumed} runs resumed, {over} over before, {} differences, largest state {largest} B",
                wrong.len()
            );
            ExitCode::from(u8::from(!wrong.is_empty()))
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn judge(of: &Checked, outputs: bool, events: u64, dice: &mut Dice, tally: &mut Tally) -> Result<(), String> {
    let (mut network, mut rows) = (fresh(of, outputs, None)?, Rows::default());
    let mut broken = None;
    let mut done = false;
    while !done && network.progress().events < events {
        match stage::run(&mut network, 2_000, &mut rows) {
            Ok(progress) => done = progress.done,
            Err(error) => (done, broken) = (true, Some(error)),
        }
    }
    let end = network.now();
    // An unfinished run continues to the end of the instant.
    let until = if done { Time::NEVER } else { end };
    if !done {
        broken = go_on(&mut network, until, &mut rows, dice);
    }
    let undisturbed = over(network, broken, rows);

    let (mut first, mut rows) = (fresh(of, outputs, None)?, Rows::default());
    let cuts = 1 + dice.between(0, 2);
    let mut at = Time::ZERO;
    let mut broken = None;
    for _ in 0..cuts {
        at = Time(dice.between(at.0, end.0));
        broken = go_on(&mut first, at, &mut rows, dice);
        if broken.is_some() || first.progress().done {
            break;
        }
        let saved = stage::save(&first).map_err(|unfit| format!("saved at {at}: {unfit}"))?;
        tally.largest = tally.largest.max(saved.len());
        let again = fresh(of, outputs, Some(&saved)).map_err(|unfit| format!("loaded at {at}: {unfit}"))?;
        if stage::save(&again).map_err(|unfit| unfit.to_string())? != saved {
            return Err(format!("at {at} another state was loaded than was saved"));
        }
        tally.resumed += 1;
        first = again;
    }
    if broken.is_none() && !first.progress().done {
        broken = go_on(&mut first, until, &mut rows, dice);
    } else {
        tally.over += 1;
    }
    match differ(&undisturbed, &over(first, broken, rows)) {
        Some(difference) => Err(format!("saved at {at}, end {end}: {difference}")),
        None => Ok(()),
    }
}

/// A network at rest, or with a saved state.
fn fresh(of: &Checked, outputs: bool, saved: Option<&[u8]>) -> Result<Network<Config>, String> {
    let mut spec = build(of, of.resolved().seed()).map_err(|error| error.to_string())?;
    (spec.series, spec.causes) = (None, CausesSpec::default());
    if outputs {
        let interval = Time(spec.stop_at.unwrap_or(Time::us(500)).0 / SAMPLES).max(Time::us(1));
        let (queues, links, pauses, flows, backlogs) = (true, true, true, true, true);
        spec.series = Some(SeriesSpec { interval, queues, links, pauses, flows, backlogs, nodes: Vec::new() });
        spec.causes = CausesSpec { waits: vec![true; spec.groups.len()], pauses: true };
    }
    let mut network = stage::build(spec)?;
    if let Some(saved) = saved {
        stage::load(&mut network, saved).map_err(|unfit| unfit.to_string())?;
    }
    Ok(network)
}

/// Runs up to a time, or to the end.
fn go_on(network: &mut Network<Config>, until: Time, rows: &mut Rows, dice: &mut Dice) -> Option<Broken> {
    loop {
        match stage::run_until(network, until, dice.log_whole(1, 20_000), rows) {
            Ok((progress, reached)) if reached || progress.done => return None,
            Ok(_) => {}
            Err(broken) => return Some(broken),
        }
    }
}

/// All results of a run, which ends here.
fn over(mut network: Network<Config>, broken: Option<Broken>, mut rows: Rows) -> Kinds {
    rows.keep("progress", &(network.progress(), network.now(), network.unrest(), broken));
    rows.keep("deadlock", &(network.deadlock(), network.first_drop(), network.rounds()));
    rows.keep("fingerprint", &network.fingerprint());
    network.finish(&mut rows);
    rows.keep("end", &network.progress());
    rows.0
}
