//! The fingerprints of a soak's scenarios, a line each, for comparing two builds.
//!
//! ```text
//! number  fingerprint of a plain run  hash of all rows with every output on  hash of how it ended
//! ```
//!
//! A run with too many events is `cut`. The place depends on the number of events for a frame, so two builds that differ in this are
//! compared by the others.

use super::case::Folder;
use super::dice::Dice;
use super::draw;
use super::mend::{check, mend};
use super::run::{How, Outcome, run};
use backwater_net::record::Progress;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hasher};
use std::process::ExitCode;

/// Events after which a run is cut off.
const EVENTS: u64 = 50_000;

/// Prints the lines of the first `most` scenarios of a seed. A scenario that check refuses has none.
pub fn list(most: u64, seed: u64) -> ExitCode {
    let Ok(folder) = Folder::new("fingerprints") else { return ExitCode::from(2) };
    for number in 0..most {
        let drawn = draw::case(seed, number, &folder);
        let Ok(valid) = mend(drawn, &mut Dice::new(seed, "mend", number), &folder) else { continue };
        let Ok((resolved, _)) = check(&valid.case, &folder) else { continue };
        let dice = || Dice::new(seed, "slices", number);
        let outcomes = run(&resolved, How::Plain, EVENTS, &mut dice()).and_then(|plain| {
            let full = run(&resolved, How::Full(plain.now), EVENTS, &mut dice())?;
            Ok((plain, full))
        });
        match outcomes {
            Ok((plain, full)) => {
                let cut = if plain.ended { "" } else { " cut" };
                println!("{number} {:016x} {:016x} {:016x}{cut}", plain.fingerprint, rows(&full), end(&plain))
            }
            Err(why) => println!("{number} {why}"),
        }
    }
    ExitCode::SUCCESS
}

fn rows(of: &Outcome) -> u64 {
    let rows = &of.rows;
    hash(&[
        &rows.flows,
        &rows.control,
        &rows.ports,
        &rows.switches,
        &rows.counters,
        &rows.collectives,
        &rows.waits,
        &rows.pauses,
        &rows.sent,
        &rows.passed,
        &rows.of_flow,
        &rows.left,
    ])
}

fn end(of: &Outcome) -> u64 {
    // The number of events is the engine's affair.
    let progress = Progress { events: 0, ..of.progress };
    hash(&[&progress, &of.now, &of.unrest, &of.broken, &of.deadlock, &of.ended, &of.rows.flows])
}

fn hash(parts: &[&dyn Debug]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.iter().for_each(|part| hasher.write(format!("{part:?}").as_bytes()));
    hasher.finish()
}
