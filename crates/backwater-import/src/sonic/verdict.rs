//! What is to be said of a configuration: whether its memory is there, whether headroom is enough, what comes first, marks or
//! pauses, and whether the watchdog waits for longer than congestion lasts. Each with a scenario whose run shows it.

use super::config::Marks;
use super::plan::{Group, Plan};
use super::{runs, unlike};
use crate::error::ImportError;
use crate::family::Work;
use crate::note::Notes;
use crate::units::{rate, time};
use serde_json::{Map, Value, json};

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// `memory`, `headroom`, `ecn-before-pfc` or `watchdog`.
    pub question: &'static str,
    /// Whether all is well; `None`: figures alone do not say it.
    pub holds: Option<bool>,
    /// The answer in a sentence.
    pub says: String,
    /// Its figures, with their units in their names.
    pub facts: Map<String, Value>,
    /// The scenario whose run shows it, and what is to be looked at there.
    pub run: Option<(String, &'static str)>,
}

impl Verdict {
    fn json(&self) -> Value {
        let (scenario, look_at) = self.run.clone().map_or((None, None), |(file, what)| (Some(file), Some(what)));
        json!({
            "question": self.question,
            "holds": self.holds,
            "says": self.says,
            "facts": self.facts,
            "scenario": scenario,
            "look_at": look_at,
        })
    }
}

/// All that can be said. Scenarios and a file with the verdicts are written beside that of the import.
pub fn all(plan: &Plan, file: &str, work: &mut Work<'_>) -> Result<Vec<Verdict>, ImportError> {
    let mut verdicts = vec![memory(plan, work)?];
    if plan.main().is_some() {
        verdicts.extend(headroom(plan, work)?);
    }
    if let Some(group) = plan.main() {
        verdicts.extend(order(plan, group, work)?);
        verdicts.extend(watchdog(plan, group, work)?);
    }
    say(&verdicts, file, work.notes);
    let list: Vec<Value> = verdicts.iter().map(Verdict::json).collect();
    let text = format!("{:#}\n", Value::Array(list));
    runs::write(&format!("{}.verdicts.json", work.stem), &text, work)?;
    Ok(verdicts)
}

fn say(verdicts: &[Verdict], file: &str, notes: &mut Notes) {
    for verdict in verdicts {
        let shown = verdict.run.as_ref().map_or_else(String::new, |(file, _)| format!(" (run {file})"));
        notes.verdict(file, None, format!("{}: {}{shown}", verdict.question, verdict.says));
    }
}

/// `size + xoff + what is set aside` against the memory. The run: thresholds as the pool has them in this incast, and the memory
/// that there is.
fn memory(plan: &Plan, work: &mut Work<'_>) -> Result<Verdict, ImportError> {
    let memory = &plan.memory;
    let (size, xoff, reserved, need) = (memory.size, memory.xoff, memory.reserved, memory.need());
    let sum = match memory.inside {
        true => format!("pools of {size} B, {xoff} B of headroom among them, and {reserved} B set aside are {need} B"),
        false => format!("pools of {size} B, headroom of {xoff} B and {reserved} B set aside are {need} B"),
    };
    let says = match (&memory.all, memory.fits()) {
        (Some((all, who)), Some(true)) => format!("legal: {sum}, within the memory of {all} B ({who})"),
        (Some((all, who)), Some(false)) => {
            let over = need - all;
            // Some switches have the headroom within the pool.
            let other = match size + reserved <= *all && xoff > 0 {
                true => format!(
                    ". Only if the switch takes the headroom out of the pool's size is it: then {} B are shared",
                    size.saturating_sub(xoff)
                ),
                false => String::new(),
            };
            format!("not legal: {sum}, {over} B more than the memory of {all} B ({who}){other}")
        }
        _ => format!("not known: {sum}, and nobody says how much memory {} has; --memory does", plan.named()),
    };
    let mut facts = Map::new();
    let all = memory.all.as_ref().map(|(all, _)| *all);
    for (name, value) in [("pools", size), ("headroom", xoff), ("set_aside", reserved), ("need", need)] {
        facts.insert(format!("{name}_bytes"), value.into());
    }
    facts.insert("memory_bytes".into(), all.into());
    let run = match (plan.main(), all) {
        (Some(group), Some(all)) => runs::memory(plan, group, all, work)?,
        _ => None,
    };
    Ok(Verdict { question: "memory", holds: memory.fits(), says, facts, run })
}

/// Headroom, by group of ports. The formula is the simulator's: `backwater check` says whether it is enough, and the run shows it.
fn headroom(plan: &Plan, work: &mut Work<'_>) -> Result<Vec<Verdict>, ImportError> {
    let mut verdicts = Vec::new();
    for (number, group) in plan.groups.iter().enumerate() {
        let run = runs::headroom(plan, group, number + 1, work)?;
        let judge = match &run {
            Some((name, _)) => format!(": `backwater check {name}` says whether it is enough"),
            None => format!(". No run shows whether it is enough: {}", runs::no_headroom(plan, group)),
        };
        let facts = json!({
            "profile": group.profile.name,
            "ports": group.ports.len(),
            "headroom_bytes": group.headroom,
            "xoff_bytes": group.profile.xoff,
            "rate_bps": group.bps,
            "delay_ps": group.delay_ps,
            "frame_bytes": plan.frame,
        });
        verdicts.push(Verdict {
            question: "headroom",
            holds: None,
            says: format!(
                "{} B for each priority group of {} with {}{}{judge}",
                group.headroom,
                unlike::count(group.ports.len(), "port"),
                about(group),
                match plan.names_of(&group.ports, |port| !plan.pauses(port)).as_slice() {
                    [] => String::new(),
                    silent => format!(" (no such PFC at {}: headroom does nothing there)", unlike::names(silent)),
                }
            ),
            facts: match facts {
                Value::Object(facts) => facts,
                _ => Map::new(),
            },
            run,
        });
    }
    Ok(verdicts)
}

/// What a group is, in words.
pub fn about(group: &Group) -> String {
    format!("{} at {} over {}", group.profile.name, rate(group.bps), time(group.delay_ps))
}

/// Which comes first in an incast of two ports: the queue at which they are paused against those at which packets are marked. The
/// run: a queue that grows to a length between them.
fn order(plan: &Plan, group: &Group, work: &mut Work<'_>) -> Result<Option<Verdict>, ImportError> {
    let Some((wred, classes)) = &plan.config.wred else { return Ok(None) };
    let Some(class) = plan.config.lossless.iter().find(|class| classes.contains(class)) else { return Ok(None) };
    // A scenario has one setting at all ports of a switch. What is said is not to claim more than the ports have.
    let every: Vec<usize> = plan.groups.iter().flat_map(|group| &group.ports).copied().collect();
    let marks = |port: usize| plan.config.marks.get(port).copied().unwrap_or(Marks::Same);
    let never = plan.names_of(&every, |port| plan.pauses(port) && marks(port) == Marks::Never);
    let other = plan.names_of(&every, |port| plan.pauses(port) && marks(port) == Marks::Other);
    let silent = plan.names_of(&every, |port| !plan.pauses(port));
    let facts = |pause: Option<u64>| {
        let facts = json!({
            "ports": every.len(),
            "ports_that_never_mark": never.len(),
            "ports_without_pfc": silent.len(),
            "queue_at_pause_bytes": pause,
            "kmin_bytes": wred.min,
            "kmax_bytes": wred.max,
            "shared_bytes": plan.memory.shared,
            "alpha": group.profile.limit.alpha(),
        });
        if let Value::Object(facts) = facts { facts } else { Map::new() }
    };
    if every.len() < 2 || plan.config.ports.len() < 3 {
        let says = format!(
            "not known: two lossless ports have to fill the queue of a third port, and of {} {} lossless",
            unlike::count(plan.config.ports.len(), "port"),
            if every.len() == 1 { "1 is".to_owned() } else { format!("{} are", every.len()) },
        );
        return Ok(Some(Verdict { question: "ecn-before-pfc", holds: None, says, facts: facts(None), run: None }));
    }
    let pause = plan.queue_at_pause(group, 2);
    let frames = 4 * plan.frame;
    let (holds, between, says) = if wred.max + frames < pause {
        (Some(true), Some((wred.max, pause)), "ECN marks before PFC pauses")
    } else if pause + frames < wred.min {
        (Some(false), Some((pause, wred.min)), "PFC pauses before ECN marks anything")
    } else {
        (None, None, "PFC may pause before ECN marks all")
    };
    let mut says = format!(
        "{says}: two ports that fill a queue are paused when it has {pause} B, and {} marks from {} B on and all from {} B on",
        wred.name, wred.min, wred.max
    );
    let (mut holds, mut between) = (holds, between);
    if !silent.is_empty() {
        holds = holds.filter(|holds| !holds);
        says = format!(
            "{says}. That is of ports with such PFC; there is none at {}",
            unlike::of_all(&silent, every.len())
        );
    }
    if !other.is_empty() {
        holds = holds.filter(|holds| !holds);
        says = format!("{says}. Another WRED profile is at {}", unlike::of_all(&other, every.len()));
    }
    if !never.is_empty() {
        let (at, shown) = (unlike::of_all(&never, every.len()), runs::has_order(plan, group));
        says = format!(
            "PFC pauses and ECN never marks at {at}{}. At the others {says}",
            if shown { ", of which the run is" } else { "" }
        );
        (holds, between) = (Some(false), Some((pause, 3 * pause)));
    }
    let run = match between {
        Some(between) => runs::order(plan, group, *class, never.is_empty(), between, work)?,
        None => None,
    };
    Ok(Some(Verdict { question: "ecn-before-pfc", holds, says, facts: facts(Some(pause)), run }))
}

/// The watchdog against the longest pause that congestion of one switch can make: all that its memory holds leaves through the
/// slowest port. The run: a second switch of the kind pauses this one for most of that ([`runs::LatePause`]).
fn watchdog(plan: &Plan, group: &Group, work: &mut Work<'_>) -> Result<Option<Verdict>, ImportError> {
    let Some(watchdog) = &plan.config.watchdog else { return Ok(None) };
    let slowest = plan.config.ports.iter().map(|port| port.bps).min().unwrap_or(group.bps).max(1);
    let held = plan.held(group, plan.config.ports.len() as u64);
    let ps = u128::from(held) * 8 * 1_000_000_000_000 / u128::from(slowest);
    let longest_ps = u64::try_from(ps).unwrap_or(u64::MAX);
    let detection_ps = watchdog.detection_ms * 1_000_000_000;
    let late = runs::late_pause(plan, group).map(|late| late.ps);
    let (holds, word) = if longest_ps < detection_ps {
        (Some(true), "waits for longer than congestion lasts")
    } else if late.is_some_and(|late| late > detection_ps) {
        (Some(false), "takes congestion for a storm")
    } else if late.is_some() {
        (None, "may take congestion for a storm, which the run need not show")
    } else {
        (None, "may take congestion for a storm, and the ports are too few for a run that shows it")
    };
    let every: Vec<usize> = (0..plan.config.ports.len()).collect();
    let unlike = plan.names_of(&every, |port| !plan.config.watched.get(port).copied().unwrap_or(true));
    let only = match unlike.as_slice() {
        [] => String::new(),
        ports => format!(
            ". That is not of {}, which {} no such watchdog",
            unlike::of_all(ports, every.len()),
            if ports.len() == 1 { "has" } else { "have" }
        ),
    };
    let mut says = format!(
        "the watchdog {word}: it looks for pauses of {}, and {held} B leave through a port of {} in {}{only}",
        time(detection_ps),
        rate(slowest),
        // Whole microseconds: nobody needs more.
        time(longest_ps / 1_000_000 * 1_000_000)
    );
    let alone = every.len() < 2;
    if alone {
        // What comes in at the only port has no way out.
        says = format!(
            "not known: congestion takes two ports, and there is 1; the watchdog looks for pauses of {}{only}",
            time(detection_ps)
        );
    }
    let run = runs::watchdog(plan, group, work)?;
    let facts = json!({
        "detection_ps": detection_ps,
        "longest_pause_ps": (!alone).then_some(longest_ps),
        "pause_of_the_run_ps": late,
        "ports_without_it": unlike.len(),
        "held_bytes": held,
        "slowest_bps": slowest,
    });
    let facts = if let Value::Object(facts) = facts { facts } else { Map::new() };
    Ok(Some(Verdict { question: "watchdog", holds: holds.filter(|_| !alone), says, facts, run }))
}
