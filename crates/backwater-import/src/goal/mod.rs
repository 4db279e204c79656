//! GOAL (Group Operation Assembly Language): schedules of messages and computations, as read by LogGOPSim (spcl/LogGOPSim) and ATLAHS
//! (spcl/atlahs); as text, and as the binary form of their `txt2bin`.
//!
//! | GOAL | here |
//! |---|---|
//! | `send` | `send`; complete when its last byte is at the receiver, with `-S` on the command line at once up to so many octets |
//! | `recv` | `compute` of 0 that waits for what it `requires` and for its send |
//! | `calc` n `cpu` c | `compute` of n ns in stream c |
//! | `requires` | `after` |
//! | `irequires` | `after` of a join that waits for what the other one requires |
//! | `nic` | nothing: a host has one port |

mod binary;
mod text;

use crate::error::ImportError;
use crate::family::{Family, InputFiles, Kind, Work};
use crate::scenario_writer::ScenarioWriter;
use crate::schedule::{Places, Plain, Program, Schedule, write_page};
use crate::source::base_name;
use std::sync::Arc;

/// Schedules of LogGOPSim.
pub static FAMILY: Family = Family {
    name: "goal",
    about: "GOAL schedules, of LogGOPSim and ATLAHS",
    kinds: &[
        Kind { name: "goal-text", about: "a schedule as text", recognise: text::recognise },
        Kind { name: "goal-binary", about: "a schedule as txt2bin writes it", recognise: binary::recognise },
    ],
    beside: &[],
    uses: &["--command", "--fabric"],
    combine,
};

/// Picoseconds in the unit of `calc`.
const UNIT_PS: u64 = 1000;

/// The time of a `calc`, from its number.
fn time_ps(number: u64) -> Option<u64> {
    number.checked_mul(UNIT_PS).filter(|ps| *ps < 1 << 62)
}

/// Properties of a file that are reported once.
#[derive(Debug, Default)]
pub struct Seen {
    /// A place of a message with another NIC than 0, and the number of such messages.
    nic: Option<(Option<u64>, u64)>,
    /// A place of a message with another processor than 0, and the number of such messages.
    cpu: Option<(Option<u64>, u64)>,
    /// A place of a receive from any rank or with any tag, and the number of such receives.
    any: Option<(Option<u64>, u64)>,
    /// Highest processor and NIC in the head of a binary file, if the operations differ.
    head: Vec<(&'static str, u8, u8)>,
    /// Octets of a binary file that are not read: between ranks, behind the last, and dependants in no list.
    between: u64,
    /// A place where an operation waits for a computation's start.
    start_of_calc: Option<Option<u64>>,
    /// A place where an operation waits for a send.
    after_send: Option<Option<u64>>,
}

fn combine(given: InputFiles, work: &mut Work<'_>) -> Result<ScenarioWriter, ImportError> {
    let [(kind, source)] = given.files.as_slice() else {
        let reason = "several schedules: a file of GOAL has all ranks";
        return Err(ImportError::new(reason).hint("import them one by one"));
    };
    let eager = eager(&work.options.command, work)?;
    let (programs, seen, places) = if kind.name == "goal-text" {
        let (programs, seen) = text::parse(source.name(), &source.text()?)?;
        (programs, seen, Places::Lines)
    } else {
        let (programs, seen) = binary::parse(source.name(), &source.read()?)?;
        (programs, seen, Places::Numbers)
    };
    note(&seen, eager, source.name(), work);
    let file: Arc<str> = source.name().into();
    let ranks = programs.len() as u32;
    let programs: Vec<(Arc<str>, Program)> = programs.into_iter().map(|program| (file.clone(), program)).collect();
    let operations = programs.iter().map(|(_, program)| program.ops.len()).sum::<usize>();
    let schedule = Schedule::new(programs, places)?;
    let table = schedule.write(eager, &mut Plain, work)?;
    let mut about = format!("{}: a GOAL schedule of {ranks} ranks with {operations} operations.", source.file_name());
    if eager > 0 {
        about += &format!("\nSends of up to {eager} B are complete when they begin.");
    }
    write_page(&about, source.file_name(), "goal", ranks, &table, source.name(), work)
}

/// Largest send in octets that is complete at once: `-S` of LogGOPSim's command line.
fn eager(command: &[String], work: &mut Work<'_>) -> Result<u64, ImportError> {
    let mut eager = 0;
    let mut words = command.iter();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        match name {
            "-S" | "--LogGOPS_S" => {
                let value = value.or_else(|| words.next().cloned()).unwrap_or_default();
                eager = value.parse().map_err(|_| {
                    ImportError::new("is not a number of octets").file("--command").value(format!("{name} {value}"))
                })?;
            }
            "-L" | "-o" | "-g" | "-G" | "-O" | "--LogGOPS_L" | "--LogGOPS_o" | "--LogGOPS_g" | "--LogGOPS_G"
            | "--LogGOPS_O" => {
                let value = value.or_else(|| words.next().cloned()).unwrap_or_default();
                let text = "the network is the fabric's, and processors take no time for messages";
                work.notes.unread("--command", None, &format!("{name} {value}"), text);
            }
            "-f" | "--filename" | "-i" | "-n" | "-b" => {
                let value = value.or_else(|| words.next().cloned()).unwrap_or_default();
                let text = "files and results of that program";
                work.notes.unread("--command", None, &format!("{name} {value}"), text);
            }
            _ if base_name(word) == "LogGOPSim" => {}
            _ => work.notes.unknown("--command", None, word, "has no counterpart here"),
        }
    }
    Ok(eager)
}

fn note(seen: &Seen, eager: u64, file: &str, work: &mut Work<'_>) {
    if let Some((line, count)) = seen.nic {
        let text = format!("nic: {count} messages go by another than 0; here a host has one port");
        work.notes.ignored(file, line, text);
    }
    if let Some((line, count)) = seen.cpu {
        let text = format!("cpu: {count} messages are of another than 0; here processors take no time for messages");
        work.notes.ignored(file, line, text);
    }
    if let Some((line, count)) = seen.any {
        let text = format!(
            "{count} receives from any rank or with any tag: each takes the first message that no other receive names"
        );
        work.notes.assumed(file, line, text);
    }
    for (name, reported, found) in &seen.head {
        let text =
            format!("the head counts {name}s up to {reported}, and the operations up to {found}, which counts here");
        work.notes.ignored(file, None, text);
    }
    if seen.between > 0 {
        let text = format!("octets that are of no rank, or of no list of one: {}", seen.between);
        work.notes.ignored(file, None, text);
    }
    if let Some(line) = seen.start_of_calc {
        let text = "irequires of a calc: it counts as begun when it could begin, even if its cpu is still busy";
        work.notes.differs(file, line, text);
    }
    if let Some(line) = seen.after_send {
        let text = if eager == 0 {
            "requires of a send waits until its last byte is at the receiver; --command \"LogGOPSim -S N\" lets sends of up \
             to N octets be complete when they begin"
                .to_owned()
        } else {
            format!("requires of a send of more than {eager} B waits until its last byte is at the receiver")
        };
        work.notes.differs(file, line, text);
    }
}
