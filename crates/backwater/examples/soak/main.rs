//! Random valid scenarios over the whole schema, checked against laws.
//!
//! `soak N` judges N scenarios, `soak` continues until it is stopped; `soak N SEED` uses another seed. Two processes share them. `soak
//! --one K SEED` judges scenario K alone and prints it. `soak --fingerprints N SEED` runs N of them and prints a line for each: two builds
//! with equal lines behave alike. `soak --resume N SEED` saves each of them at random times and resumes it, which must change nothing.
//!
//! Scenario K of a seed is always the same. If a law does not hold, it is printed with a scenario that is shrunk by greedy steps. The exit
//! code is 1 after any breach. The modules: `draw` creates scenarios from the schema, so that new keys are found automatically, `mend`
//! makes them valid, `run` runs them, `laws` judges, `shrink` shrinks.

mod case;
mod coverage;
mod dice;
mod draw;
mod fingerprints;
mod laws;
mod mend;
mod resume;
mod rows;
mod run;
mod shrink;
mod threads;
mod verdict;

use case::Folder;
use coverage::Coverage;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use verdict::{Effort, one};

const EFFORT: Effort = Effort { events: 150_000, tries: 400 };

/// Most keys that the list of refusals names.
const REFUSALS: usize = 30;

/// A scenario that takes longer has hung.
const PATIENCE: Duration = Duration::from_secs(180);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().ok();
    match args.as_slice() {
        ["--work", from, step, seed] => match (number(from), number(step), number(seed)) {
            (Some(from), Some(step), Some(seed)) => work(from, step, seed),
            _ => usage(),
        },
        ["--one", which, seed] => match (number(which), number(seed)) {
            (Some(which), Some(seed)) => alone(which, seed),
            _ => usage(),
        },
        ["--threads", most, seed] => match (number(most), number(seed)) {
            (Some(most), Some(seed)) => threads::check_all(most, seed),
            _ => usage(),
        },
        ["--resume", most, seed] => match (number(most), number(seed)) {
            (Some(most), Some(seed)) => resume::list(most, seed),
            _ => usage(),
        },
        ["--fingerprints", most, seed] => match (number(most), number(seed)) {
            (Some(most), Some(seed)) => fingerprints::list(most, seed),
            _ => usage(),
        },
        [] => soak(u64::MAX, 1),
        [most] => number(most).map_or_else(usage, |most| soak(most, 1)),
        [most, seed] => match (number(most), number(seed)) {
            (Some(most), Some(seed)) => soak(most, seed),
            _ => usage(),
        },
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: soak [NUMBER [SEED]], soak --one WHICH SEED, soak --fingerprints NUMBER SEED, soak --threads NUMBER SEED, or \
         soak --resume NUMBER SEED"
    );
    ExitCode::from(2)
}

/// Prints a scenario and its verdict.
fn alone(which: u64, seed: u64) -> ExitCode {
    let Ok(folder) = Folder::new("one") else { return ExitCode::from(2) };
    let drawn = draw::case(seed, which, &folder);
    match mend::mend(drawn, &mut dice::Dice::new(seed, "mend", which), &folder) {
        Ok(valid) => println!("{}", valid.case.paste()),
        Err(why) => println!("refused: {why}"),
    }
    let verdict = one(seed, which, EFFORT, &folder);
    println!("# refused: {:?}, events: {}", verdict.refused, verdict.events);
    match verdict.breach {
        None => ExitCode::SUCCESS,
        Some((breach, case)) => {
            println!("# {}\n# {}\n{}", breach.law, breach.seen, case.paste());
            ExitCode::FAILURE
        }
    }
}

/// Judges scenarios `from`, `from + step`, … and writes a line about each, until its reader has gone.
fn work(from: u64, step: u64, seed: u64) -> ExitCode {
    let Ok(folder) = Folder::new("work") else { return ExitCode::from(2) };
    let mut out = std::io::stdout();
    for number in (from..).step_by(step as usize) {
        let begun = Instant::now();
        let verdict = one(seed, number, EFFORT, &folder);
        let mut line = json!({
            "number": number, "refused": verdict.refused, "events": verdict.events, "ms": begun.elapsed().as_millis() as u64,
            "found": coverage::to_json(&verdict.found),
        });
        if let Some((breach, case)) = verdict.breach {
            line["law"] = json!(breach.law);
            line["seen"] = json!(breach.seen);
            line["scenario"] = json!(case.paste());
        }
        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// A process that judges every n-th scenario.
struct Worker {
    child: Child,
    lines: Receiver<String>,
    /// The scenario that it judges now.
    next: u64,
}

impl Worker {
    fn begin(next: u64, step: u64, seed: u64) -> std::io::Result<Worker> {
        let args = [next, step, seed].map(|n| n.to_string());
        let mut child =
            Command::new(std::env::current_exe()?).arg("--work").args(args).stdout(Stdio::piped()).spawn()?;
        let (to, lines) = channel();
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || {
                BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| to.send(line))
            });
        }
        Ok(Worker { child, lines, next })
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The totals of a soak.
#[derive(Default)]
struct Count {
    scenarios: u64,
    at_once: u64,
    accepted: u64,
    /// Number of refusals by check, by key.
    refused: BTreeMap<String, u64>,
    events: u64,
    failures: Vec<(u64, String)>,
    coverage: Coverage,
    slowest: (u64, u64),
}

impl Count {
    fn line(&mut self, line: &Map<String, Json>, number: u64, seed: u64) {
        let of = |key: &str| line.get(key).and_then(Json::as_u64);
        self.scenarios += 1;
        self.events += of("events").unwrap_or_default();
        self.slowest = self.slowest.max((of("ms").unwrap_or_default(), number));
        if let Some(refused) = line.get("refused").and_then(Json::as_array) {
            self.accepted += 1;
            self.at_once += u64::from(refused.is_empty());
            for key in refused.iter().filter_map(Json::as_str) {
                *self.refused.entry(key.to_owned()).or_default() += 1;
            }
            self.coverage.count(coverage::from_json(line));
        }
        if let Some(law) = line.get("law").and_then(Json::as_str) {
            let text = |key: &str| line.get(key).and_then(Json::as_str).unwrap_or_default();
            self.failure(number, seed, law, text("seen"), text("scenario"));
        }
    }

    fn failure(&mut self, number: u64, seed: u64, law: &str, seen: &str, scenario: &str) {
        println!("\n# scenario {number} of seed {seed} fails: {law}");
        seen.lines().for_each(|line| println!("# {line}"));
        println!("{scenario}");
        self.failures.push((number, law.to_owned()));
    }
}

fn soak(most: u64, seed: u64) -> ExitCode {
    let step = std::thread::available_parallelism().map_or(2, |n| n.get() as u64).min(most.max(1));
    let mut workers = Vec::new();
    for next in 0..step {
        match Worker::begin(next, step, seed) {
            Ok(worker) => workers.push(worker),
            Err(error) => {
                eprintln!("error: {error}");
                return ExitCode::from(2);
            }
        }
    }
    let (mut count, begun, mut reported) = (Count::default(), Instant::now(), Instant::now());
    while workers.iter().any(|worker| worker.next < most) {
        for worker in workers.iter_mut().filter(|worker| worker.next < most) {
            let lost = match worker.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    let line: Json = serde_json::from_str(&line).unwrap_or_default();
                    count.line(line.as_object().unwrap_or(&Map::new()), worker.next, seed);
                    None
                }
                Err(RecvTimeoutError::Timeout) => Some("it takes longer than three minutes"),
                Err(RecvTimeoutError::Disconnected) => Some("the process died"),
            };
            worker.next += step;
            if let Some(why) = lost {
                let number = worker.next - step;
                count.failure(
                    number,
                    seed,
                    "every scenario comes to an end",
                    why,
                    &format!("# soak --one {number} {seed}"),
                );
                worker.end();
                match Worker::begin(worker.next, step, seed) {
                    Ok(other) => *worker = other,
                    Err(_) => return ExitCode::from(2),
                }
            }
        }
        if reported.elapsed() > Duration::from_secs(10) {
            reported = Instant::now();
            println!(
                "{} scenarios, {} failures, {} s",
                count.scenarios,
                count.failures.len(),
                begun.elapsed().as_secs()
            );
        }
    }
    workers.iter_mut().for_each(Worker::end);
    let share = |n: u64| 100.0 * n as f64 / count.scenarios.max(1) as f64;
    println!("\n{}", count.coverage.report());
    println!(
        "accepted by check: {} of {} as drawn ({:.1} %), {} after keys that it refused were changed ({:.1} %)",
        count.at_once,
        count.scenarios,
        share(count.at_once),
        count.accepted,
        share(count.accepted)
    );
    let mut refused: Vec<(&String, &u64)> = count.refused.iter().collect();
    refused.sort_by_key(|(key, times)| (std::cmp::Reverse(**times), *key));
    let most: Vec<String> = refused.iter().take(REFUSALS).map(|(key, times)| format!("{key} {times}")).collect();
    println!("refused most: {}", most.join(", "));
    println!(
        "{} million events; the slowest scenario, {}, took {} ms",
        count.events / 1_000_000,
        count.slowest.1,
        count.slowest.0
    );
    for (number, law) in &count.failures {
        println!("{number}: {law}");
    }
    println!(
        "{} scenarios, {} failures (seed {seed}, {} s)",
        count.scenarios,
        count.failures.len(),
        begun.elapsed().as_secs()
    );
    if count.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
