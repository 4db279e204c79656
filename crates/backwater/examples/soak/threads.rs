//! Scenarios of a soak on several threads: their outcome must equal that of one thread.

use super::case::Folder;
use super::dice::Dice;
use super::draw;
use super::mend::{check, mend};
use super::rows::{Kinds, Rows, differ};
use backwater::{Checked, build};
use backwater_mech::registry::Config;
use backwater_mech::stage;
use backwater_net::record::{Broken, Progress};
use backwater_net::spec::{CausesSpec, Spec};
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Events after which a run is abandoned.
const EVENTS: u64 = 400_000;

/// Checks the first `most` scenarios of a seed on 2, 3, 4, 8 and 16 threads.
pub fn check_all(most: u64, seed: u64) -> ExitCode {
    let Ok(folder) = Folder::new("threads") else { return ExitCode::from(2) };
    let (mut wrong, mut split, mut again, mut reasons) = (0, 0, 0, BTreeMap::<String, u64>::new());
    for number in 0..most {
        let drawn = draw::case(seed, number, &folder);
        let Ok(valid) = mend(drawn, &mut Dice::new(seed, "mend", number), &folder) else { continue };
        let Ok((resolved, _)) = check(&valid.case, &folder) else { continue };
        let Ok((one, _, _)) = run(&resolved, 1) else { continue };
        let Some(one) = one else { continue };
        let mut counted = false;
        for threads in [2, 3, 4, 8, 16] {
            match run(&resolved, threads) {
                Ok((many, used, why)) => {
                    if !counted {
                        counted = true;
                        split += u64::from(used > 1);
                        again += u64::from(why.as_ref().is_some_and(|why| why.ends_with("began again")));
                        why.into_iter().for_each(|why| *reasons.entry(why).or_default() += 1);
                    }
                    if let Some(many) = many
                        && let Some(difference) = differ(&one, &many)
                    {
                        println!("{number} on {threads} threads: {difference}");
                        wrong += 1;
                    }
                    if used == 1 {
                        break;
                    }
                }
                Err(why) => println!("{number} on {threads} threads: {why}"),
            }
        }
    }
    println!("{split} scenarios split, {again} begun again, {wrong} differences");
    reasons.iter().for_each(|(why, count)| println!("{count:6} on one thread: {why}"));
    ExitCode::from(u8::from(wrong != 0))
}

fn plain(resolved: &Checked) -> Result<Spec<Config>, String> {
    let mut spec = build(resolved, resolved.resolved().seed()).map_err(|error| error.to_string())?;
    (spec.series, spec.causes) = (None, CausesSpec::default());
    Ok(spec)
}

/// Runs it; no rows if that takes too long. Returns also the number of threads, and why there was only one.
fn run(resolved: &Checked, threads: usize) -> Result<(Option<Kinds>, usize, Option<String>), String> {
    let mut network = stage::build_parallel(threads, &mut || plain(resolved))?;
    let mut rows = Rows::default();
    let broken: Option<Broken> = loop {
        match stage::run_parallel(&mut network, 5_000, &mut rows) {
            Ok(progress) if progress.done => break None,
            Ok(progress) if progress.events > EVENTS => {
                return Ok((None, network.threads(), network.why_one_thread().map(str::to_owned)));
            }
            Ok(_) => {}
            Err(broken) => break Some(broken),
        }
    };
    let progress = Progress { events: 0, ..network.progress() };
    rows.keep("progress", &(progress, network.now(), network.unrest(), broken));
    rows.keep("deadlock", &(network.deadlock(), network.first_drop()));
    rows.keep("fingerprint", &network.fingerprint());
    stage::finish_parallel(&mut network, &mut rows).unwrap();
    rows.keep("end", &Progress { events: 0, ..network.progress() });
    Ok((Some(rows.0), network.threads(), network.why_one_thread().map(str::to_owned)))
}
