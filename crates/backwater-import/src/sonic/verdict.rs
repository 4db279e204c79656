//! Verdicts on a configuration: whether its memory exists, whether headroom suffices, whether marks or pauses come first, and whether the
//! watchdog waits for longer than congestion lasts. Each has a scenario whose run shows it.

use super::lossless::Mistake;
use super::plan::{Group, Plan, Response};
use super::ports::CABLE_M;
use super::qos::Wred;
use super::{runs, unlike};
use crate::error::ImportError;
use crate::family::Work;
use crate::note::{NoteKind, Notes};
use crate::units::{rate, time};
use serde_json::{Map, Value, json};

/// A verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// `memory`, `headroom`, `pfc-without-headroom`, `headroom-without-pfc`, `ecn-before-pfc` or `watchdog`.
    pub question: &'static str,
    /// True if all is well; `None`: figures alone do not decide it.
    pub holds: Option<bool>,
    /// The answer in a sentence.
    pub says: String,
    /// Its figures, with units in the names.
    pub facts: Map<String, Value>,
    /// All ports that it concerns, if it names any.
    pub ports: Vec<String>,
    /// The scenario whose run shows it, and the results to be examined.
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
            "ports": self.ports,
            "scenario": scenario,
            "look_at": look_at,
        })
    }
}

/// All verdicts. Scenarios and a file with the verdicts are written beside that of the import.
pub fn all(plan: &Plan, file: &str, work: &mut Work<'_>) -> Result<Vec<Verdict>, ImportError> {
    let mut verdicts = vec![memory(plan, work)?];
    verdicts.extend(headroom(plan, work)?);
    verdicts.extend(mistakes(plan));
    verdicts.extend(order(plan, work)?);
    verdicts.extend(watchdog(plan, work)?);
    say(&verdicts, file, work.notes);
    let list: Vec<Value> = verdicts.iter().map(Verdict::json).collect();
    let text = format!("{:#}\n", Value::Array(list));
    runs::write(&format!("{}.verdicts.json", work.stem), &text, work)?;
    Ok(verdicts)
}

fn say(verdicts: &[Verdict], file: &str, notes: &mut Notes) {
    for verdict in verdicts {
        let shown = verdict.run.as_ref().map_or_else(String::new, |(file, _)| format!(" (run {file})"));
        let ports: Vec<&str> = verdict.ports.iter().map(String::as_str).collect();
        let text = format!("{}: {}{shown}", verdict.question, verdict.says);
        notes.some(NoteKind::Verdict, file, None, &ports, text);
    }
}

/// `size + xoff + reserves` against the memory. The run: thresholds of the pool in this incast, and the existing memory.
fn memory(plan: &Plan, work: &mut Work<'_>) -> Result<Verdict, ImportError> {
    let memory = &plan.memory;
    let (size, xoff, reserved, need) = (memory.size, memory.xoff, memory.reserved, memory.need());
    let sum = match (memory.whole, memory.inside) {
        (true, _) => {
            format!("pools of {size} B, {xoff} B of headroom and {reserved} B set aside among them, are {need} B")
        }
        (false, true) => {
            format!("pools of {size} B, {xoff} B of headroom among them, and {reserved} B set aside are {need} B")
        }
        (false, false) => {
            format!(
                "pools of {size} B, shared headroom of {xoff} B and {reserved} B set aside by profiles are {need} B"
            )
        }
    };
    let says = match (&memory.all, memory.fits()) {
        (Some((all, who)), Some(true)) => format!("legal: {sum}, within the memory of {all} B ({who})"),
        (Some((all, who)), Some(false)) => {
            let over = need - all;
            // On some switches the pool includes the headroom.
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
    Ok(Verdict { question: "memory", holds: memory.fits(), says, facts, ports: Vec::new(), run })
}

/// Headroom, by group. The formula is the simulator's, and the run shows it.
fn headroom(plan: &Plan, work: &mut Work<'_>) -> Result<Vec<Verdict>, ImportError> {
    let mut verdicts = Vec::new();
    for (number, group) in plan.groups.iter().enumerate() {
        let run = runs::headroom(plan, group, number + 1, work)?;
        let response = group.response;
        let asked = group.asked(plan.frame, plan.cell(), response.ps());
        let needed = work.options.pauses.map(|pauses| (pauses.headroom)(asked));
        let need = needed.map(|needed| needed.any_frames);
        let annex_n = work.options.pauses.and_then(|pauses| (pauses.annex_n)(asked));
        // Headroom that is too small for the longest frames, and for neighbours and interfaces that act at once, is always too small.
        // Between that need and the largest, frames, interfaces and neighbours decide.
        let holds = needed.and_then(|needed| {
            let most = needed.slow_interfaces.filter(|_| response != Response::Unknown);
            let is_enough = most.is_some_and(|most| group.headroom >= most);
            if group.headroom < needed.longest_frames { Some(false) } else { is_enough.then_some(true) }
        });
        let mut says =
            format!("{} B for each priority group of {} with {}", group.headroom, held_by(plan, group), group.about());
        if let Some(needed) = needed {
            let need = needed.any_frames;
            let word = match holds {
                Some(true) => "enough",
                Some(false) => "not enough",
                None => "not known",
            };
            let assumed = plan.names_of(&group.ports, |port| plan.is_cable_assumed(port));
            let word = match assumed.as_slice() {
                [] => word.to_owned(),
                ports => format!(
                    "{word}, where the cable has {CABLE_M} m, which CABLE_LENGTH does not say of {}",
                    unlike::names(ports)
                ),
            };
            let stops = match response {
                Response::Unknown => {
                    format!(
                        "{need} B are needed if ports stop at once, and more if not: --response says when ({})",
                        response.why(group.bps)
                    )
                }
                _ => format!(
                    "{need} B are needed where ports stop {} after a pause has come, {}",
                    time(response.ps()),
                    response.why(group.bps)
                ),
            };
            let short = need.saturating_sub(group.headroom);
            let lacking = if short > 0 { format!(", {short} B more than there are") } else { String::new() };
            let cells = match plan.cell() {
                1 => String::new(),
                cell => format!(
                    ". That is for a wire full of the frames that take most cells of {cell} B; for the longest frames alone it is {} B",
                    needed.longest_frames
                ),
            };
            let interfaces = match needed.slow_interfaces {
                Some(most) if holds.is_none() && short == 0 && group.headroom < most => format!(
                    ". With interfaces as slow as IEEE 802.3 allows, {most} B are needed: the delay of this switch's interfaces decides"
                ),
                Some(most) => format!(". With interfaces as slow as IEEE 802.3 allows, {most} B are needed"),
                None => format!(". How slow interfaces of {} may be is not known", rate(group.bps)),
            };
            let all_at_once =
                if holds == Some(false) { plan.all_at_once(group, needed.longest_frames) } else { String::new() };
            says = format!("{word}: {says}. {stops}{lacking}{cells}{interfaces}{all_at_once}");
        }
        if let Some(annex_n) = annex_n.filter(|_| need.is_some()) {
            says = format!(
                "{says}. IEEE 802.1Q annex N, which counts two frames where this simulator counts three, and no cells, asks for {annex_n} B"
            );
        }
        match (&run, need) {
            (None, _) => says = format!("{says}. No run shows it: {}", runs::no_headroom(group)),
            (Some((name, _)), None) => says = format!("{says}: `backwater check {name}` says whether it is enough"),
            _ => {}
        }
        let facts = json!({
            "profile": group.profile.name,
            "classes": group.classes,
            "ports": group.ports.len(),
            "priority_groups": group.count,
            "headroom_bytes": group.headroom,
            "need_bytes": need,
            "need_longest_frames_bytes": needed.map(|needed| needed.longest_frames),
            "need_slow_interfaces_bytes": needed.and_then(|needed| needed.slow_interfaces),
            "cell_bytes": plan.cell(),
            "annex_n_bytes": annex_n,
            "response_ps": (response != Response::Unknown).then_some(response.ps()),
            "xoff_bytes": group.profile.xoff,
            "alpha": group.profile.limit.alpha(),
            "rate_bps": group.bps,
            "delay_ps": group.delay_ps,
            "frame_bytes": plan.frame,
        });
        verdicts.push(Verdict { question: "headroom", holds, says, facts: object(facts), ports: Vec::new(), run });
    }
    Ok(verdicts)
}

impl Plan {
    /// Returns whether the length of a port's cable is an assumption.
    fn is_cable_assumed(&self, port: usize) -> bool {
        self.config.ports.get(port).is_some_and(|port| port.cable_m.is_none())
    }

    /// Returns the SONiC key with too small a value if the headroom of a group is too small: the profile's, or the pool's, if all take
    /// theirs at once.
    fn all_at_once(&self, group: &Group, need: u64) -> String {
        let (profile, xoff) = (&group.profile, group.profile.xoff.unwrap_or(0));
        let own = self.config.pools.iter().find(|pool| pool.name == profile.pool).unwrap_or(&self.pool);
        if own.xoff == 0 || group.headroom == xoff {
            return format!(". xoff of BUFFER_PROFILE {} says how much there is", profile.name);
        }
        let wants = self.config.wants(&own.name, 1).concat().len();
        let one = if xoff < need { "not enough even for one" } else { "enough for one" };
        format!(
            ". The {xoff} B of {} (xoff in BUFFER_PROFILE) are {one}; the {} B of {} (xoff in BUFFER_POOL) are not enough for {} at once",
            profile.name,
            own.xoff,
            own.name,
            match wants {
                1 => "it".to_owned(),
                wants => format!("all {wants} priority groups"),
            }
        )
    }
}

/// The classes and the number of ports of a group: `class 3 at 4 ports`.
fn held_by(plan: &Plan, group: &Group) -> String {
    format!(
        "{} at {} of {}",
        runs::classes_named(&group.classes),
        group.ports.len(),
        unlike::count(plan.config.ports.len(), "port")
    )
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn object(facts: Value) -> Map<String, Value> {
    if let Value::Object(facts) = facts { facts } else { Map::new() }
}

/// PFC without headroom, and headroom without PFC.
fn mistakes(plan: &Plan) -> Vec<Verdict> {
    let all = plan.config.ports.len();
    let never = |question: &'static str, says: String, facts: Value, ports: &[&str]| {
        let ports = owned(ports);
        Verdict { question, holds: Some(false), says, facts: object(facts), ports, run: None }
    };
    let of = |mistake: &Mistake<'_>| match mistake {
        Mistake::NoHeadroom { class, group, profile, ports } => {
            let profile = match profile {
                Some(name) if plan.config.profile(name).is_none() => format!("{name}, which no file has"),
                Some(name) => format!("{name}, without xoff"),
                None => "no buffer profile".to_owned(),
            };
            let mut says = format!(
                "class {class} is paused and not lossless at {}: its priority group {group} has {profile}, and what comes until the pause acts \
                 is lost when memory is full",
                unlike::of_all(ports, all)
            );
            if plan.groups.is_empty() {
                says = format!(
                    "{says}. No priority group has a profile with xoff: a switch that looks them up has pg_profile_lookup.ini, which may be \
                     given beside these files; one that computes them lists them in `show buffer information`"
                );
            }
            let facts = json!({"class": class, "priority_group": group, "ports": ports.len()});
            never("pfc-without-headroom", says, facts, ports)
        }
        Mistake::NoPfc { group, profile, ports } => {
            let says = format!(
                "priority group {group} has the headroom of {profile} at {}, and PFC keeps none of its classes there: nobody is paused, and \
                 what is set aside for it is lost to others",
                unlike::of_all(ports, all)
            );
            let facts = json!({"priority_group": group, "profile": profile, "ports": ports.len()});
            never("headroom-without-pfc", says, facts, ports)
        }
    };
    plan.config.mistakes().iter().map(of).collect()
}

/// Returns whether marks or pauses come first in an incast of two ports: the queue at which they are paused against the queue at which
/// packets are marked, for each profile and each kind of marking. The run: a queue that grows to a length between them.
fn order(plan: &Plan, work: &mut Work<'_>) -> Result<Vec<Verdict>, ImportError> {
    let marked: Vec<_> = plan.profiles().into_iter().map(|group| (group, plan.marks(&group.profile.name))).collect();
    let mut verdicts = Vec::new();
    if marked.iter().all(|(_, (ways, _))| ways.is_empty()) {
        return Ok(verdicts);
    }
    for (group, (ways, _)) in &marked {
        let first = ways.first().map(|(wred, _)| *wred);
        verdicts.push(order_of(plan, group, first, true, verdicts.len() + 1, work)?);
        for (wred, _) in ways.iter().skip(1) {
            verdicts.push(order_of(plan, group, Some(wred), false, verdicts.len() + 1, work)?);
        }
    }
    Ok(verdicts)
}

/// The same for one profile and one kind of marking; `None`: not applicable. `never`: also for those that never mark.
fn order_of(
    plan: &Plan,
    group: &Group,
    wred: Option<&Wred>,
    never: bool,
    number: usize,
    work: &mut Work<'_>,
) -> Result<Verdict, ImportError> {
    let profile = &group.profile.name;
    let pairs = plan.config.pairs();
    let with = |is: &dyn Fn(Option<&Wred>) -> bool| {
        let mut names: Vec<&str> = Vec::new();
        for pair in pairs.iter().filter(|pair| pair.profile.name == *profile) {
            if is(plan.config.wred(pair.port, pair.class)) && !names.contains(&pair.port.name.as_str()) {
                names.push(&pair.port.name);
            }
        }
        names
    };
    let every = with(&|_| true);
    let so = with(&|own| own.is_some() && own == wred);
    let never = if never { with(&|own| own.is_none()) } else { Vec::new() };
    let all = plan.config.ports.len();
    let facts = |pause: Option<u64>| {
        object(json!({
            "profile": profile,
            "ports": every.len(),
            "ports_that_mark_so": so.len(),
            "ports_that_never_mark": never.len(),
            "queue_at_pause_bytes": pause,
            "kmin_bytes": wred.map(|wred| wred.min),
            "kmax_bytes": wred.map(|wred| wred.max),
            "shared_bytes": plan.memory.shared,
            "alpha": group.profile.limit.alpha(),
        }))
    };
    let question = "ecn-before-pfc";
    let lossless = plan.lossless_ports().len();
    if lossless < 2 || all < 3 {
        let says = format!(
            "not known: two lossless ports have to fill the queue of a third port, and of {} {} lossless",
            unlike::count(all, "port"),
            if lossless == 1 { "1 is".to_owned() } else { format!("{lossless} are") },
        );
        return Ok(Verdict { question, holds: None, says, facts: facts(None), ports: Vec::new(), run: None });
    }
    let pause = plan.queue_at_pause(group, 2);
    let at_pause = format!("two ports with {profile} that fill a queue are paused when it has {pause} B");
    let (mut holds, mut between, mut says) = match wred {
        Some(wred) => {
            let (holds, between, word) = if wred.max + 4 * plan.frame < pause {
                (Some(true), Some((wred.max, pause)), "ECN marks before PFC pauses")
            } else if pause + plan.late(group) < wred.min {
                (Some(false), Some((pause, wred.min)), "PFC pauses before ECN marks anything")
            } else {
                (None, None, "PFC may pause before ECN marks all")
            };
            let marks = format!("{} marks from {} B on and all from {} B on", wred.name, wred.min, wred.max);
            (holds, between, format!("{word}: {at_pause}, and {marks}"))
        }
        None => (Some(false), Some((pause, 3 * pause)), at_pause),
    };
    if !never.is_empty() {
        let (at, shown) = (unlike::of_all(&never, every.len()), runs::has_order(plan, group));
        let run = if shown { ", of which the run is" } else { "" };
        let rest = if wred.is_some() { format!(". At the others {says}") } else { format!(": {says}") };
        says = format!("PFC pauses and ECN never marks at {at}{run}{rest}");
        (holds, between) = (Some(false), Some((pause, 3 * pause)));
    }
    let marks = wred.filter(|_| never.is_empty());
    let run = match between {
        Some(between) => runs::order(plan, group, marks, between, number, work)?,
        None => None,
    };
    Ok(Verdict { question, holds, says, facts: facts(Some(pause)), ports: owned(&never), run })
}

/// The watchdog against the longest pause that congestion of one switch can cause: its whole memory leaves through the slowest port. The
/// run: a second identical switch pauses this one for most of that ([`runs::LatePause`]).
fn watchdog(plan: &Plan, work: &mut Work<'_>) -> Result<Option<Verdict>, ImportError> {
    let Some(watchdog) = &plan.config.watchdog else { return Ok(None) };
    // The profile whose queues hold the most.
    let pause = |group: &&Group| runs::late_pause(plan, group).map_or(0, |late| late.ps);
    let longest = plan.groups.iter().map(|group| pause(&group)).max().unwrap_or_default();
    let Some(group) = plan.groups.iter().find(|group| pause(group) == longest) else { return Ok(None) };
    let slowest = plan.config.ports.iter().map(|port| port.bps).min().unwrap_or(group.bps).max(1);
    let held = plan.held_by_all();
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
        // Whole microseconds suffice.
        time(longest_ps / 1_000_000 * 1_000_000)
    );
    let alone = every.len() < 2;
    if alone {
        // Traffic that arrives at the only port cannot leave.
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
    let (holds, ports) = (holds.filter(|_| !alone), owned(&unlike));
    Ok(Some(Verdict { question: "watchdog", holds, says, facts: object(facts), ports, run }))
}
