//! SONiC: the configuration database of a switch, `config_db.json`.
//!
//! The switch becomes the middle of a star: a host at each port that is up, named like the port. Its memory, its thresholds and its
//! watchdog become those of the scenario ([`plan`]), and the flows are its worst incast. The import judges the configuration ([`verdict`]);
//! each verdict has a scenario of its own, whose run shows it.

mod buffers;
mod chip;
mod config;
mod database;
mod devices;
mod effects;
mod frames;
mod lookup;
mod lossless;
mod plan;
mod ports;
mod predict;
mod qos;
mod queues;
mod read;
mod runs;
mod scenario;
mod template;
mod unlike;
mod verdict;

use crate::error::ImportError;
use crate::family::{Family, InputFiles, Kind, Work};
use crate::note::NoteKind;
use crate::scenario_writer::{ScenarioWriter, printable};
use crate::units::time;
use buffers::{Limit, Profile};
use database::Database;
use lookup::Lookup;
use plan::Plan;
use verdict::Verdict;

/// Files of SONiC.
pub static FAMILY: Family = Family {
    name: "sonic",
    about: "SONiC, the network operating system of switches",
    kinds: &[
        Kind {
            name: "sonic-config-db",
            about: "a configuration database: ports, buffers, PFC, ECN, watchdog",
            recognise: database::recognise,
        },
        Kind {
            name: "sonic-pg-lookup",
            about: "lossless profiles by speed and cable (pg_profile_lookup.ini), beside a configuration database",
            recognise: lookup::recognise,
        },
        Kind {
            name: "sonic-buffers-template",
            about: "pools and profiles of a hardware SKU (buffers_defaults_*.j2), beside a configuration database",
            recognise: template::recognise,
        },
    ],
    beside: &[],
    uses: &["--memory", "--response", "--asic"],
    combine,
};

fn combine(given: InputFiles, work: &mut Work<'_>) -> Result<ScenarioWriter, ImportError> {
    let sources: Vec<_> = given.of("sonic-config-db").collect();
    let lookup = given.at_most_one("sonic-pg-lookup")?;
    let Some(first) = sources.first() else {
        let alone = lookup.or_else(|| given.of("sonic-buffers-template").next());
        let error =
            ImportError::new("it has profiles alone, and no ports").file(alone.map_or("", |source| source.name()));
        return Err(error.hint("give the config_db.json of the switch beside it"));
    };
    // A template has defaults: entries of a database replace them.
    let templates = given.of("sonic-buffers-template");
    let database = Database::read(templates.chain(sources.iter().copied()), work.notes)?;
    database.misspelt(work.notes);
    let lookup = lookup.map(|source| Lookup::read(source, work.notes)).transpose()?;
    let config = read::config(&database, lookup.as_ref(), work.notes)?;
    let plan = Plan::of(config, first.name(), work.options, work.notes)?;
    unsaid(&plan, work);
    let verdicts = verdict::all(&plan, first.name(), work)?;
    let predictions = predict::all(&plan, first.name(), work)?;
    let mut writer = ScenarioWriter::new();
    introduce(&plan, first.file_name(), &verdicts, &mut writer);
    predict::remark(&predictions, &mut writer);
    let group = plan.main();
    plan.star(&plan.config.ports.iter().collect::<Vec<_>>(), &mut writer);
    let (classes, ports) = (&plan.config.lossless, plan.config.ports.len() as u64);
    let marks = plan.marks_of_star();
    plan.mechanisms(
        scenario::Part { group, classes, ports, marks, chip: plan.chip.as_ref(), ..scenario::Part::default() },
        &mut writer,
    );
    let worst = group.map(|group| runs::worst(&plan, group, &group.ports)).unwrap_or_default();
    if !worst.is_empty() {
        writer.gap().remark(
            "The worst that the ports can do to it: all send at once to one of them, until memory is full twice over.",
        );
        scenario::incasts(&worst, &mut writer);
    }
    Ok(writer)
}

impl Plan {
    /// Returns the switch's description in titles: its name, and its hardware.
    pub(super) fn named(&self) -> String {
        let named = match (self.config.hwsku.as_str(), self.config.hostname.as_str()) {
            ("", "") => "the switch".to_owned(),
            ("", one) | (one, "") => one.to_owned(),
            (hwsku, name) => format!("{name} ({hwsku})"),
        };
        printable(&named)
    }
}

fn introduce(plan: &Plan, file: &str, verdicts: &[Verdict], writer: &mut ScenarioWriter) {
    writer.remark(&format!(
        "{file}: the configuration of a SONiC switch, {}, with {}.",
        plan.named(),
        unlike::count(plan.config.ports.len(), "port")
    ));
    for verdict in verdicts {
        writer.remark(&format!("{}: {}.", verdict.question, verdict.says));
    }
    writer.remark("What the files say of it:");
    let slot = |map: &[u8; 8], class: u8| map.get(usize::from(class)).copied().unwrap_or(class);
    for (class, dscps) in (0u8..).zip(&plan.config.dscps) {
        let (group, queue) = (slot(&plan.config.group_of, class), slot(&plan.config.queue_of, class));
        let mut parts = Vec::new();
        if !dscps.is_empty() {
            let list: Vec<String> = dscps.iter().map(u8::to_string).collect();
            parts.push(format!("DSCP {}", list.join(", ")));
        }
        if (group, queue) != (class, class) {
            parts.push(format!("priority group {group}, queue {queue}"));
        }
        if !parts.is_empty() {
            writer.remark(&format!("Class {class}: {}.", parts.join("; ")));
        }
    }
    for line in &plan.config.reported {
        writer.remark(line);
    }
    let unlike = plan.main().filter(|_| plan.unlike_main().next().is_some());
    let of_all = unlike.map(|main| format!("; the headroom and limit of {} for all", main.about()));
    writer.key("title", format!("{}{}", plan.named(), of_all.unwrap_or_default()));
}

/// Notes settings of the database that a scenario cannot express.
fn unsaid(plan: &Plan, work: &mut Work<'_>) {
    let notes = &mut *work.notes;
    let at = |profile: &Profile| (profile.at.0.clone(), profile.at.1);
    for profile in plan.config.profiles.iter().filter(|profile| profile.trim) {
        let (file, line) = at(profile);
        notes.ignored(&file, Some(line), format!("{} trims what finds no room: here it is dropped", profile.name));
    }
    for group in plan.profiles() {
        let (profile, (file, line)) = (&group.profile, at(&group.profile));
        match (profile.limit, profile.xon_offset) {
            (Limit::Dynamic(_), None) => {
                let text = format!(
                    "{} has no xon_offset: the switch resumes when a priority group has fallen to {} B, here when it is 3 KB below its limit",
                    profile.name, profile.xon
                );
                notes.differs(&file, Some(line), text);
            }
            (Limit::Dynamic(_), Some(offset)) => {
                let text = format!(
                    "{}: the switch resumes at {} B if the limit less {offset} B is lower; here it resumes at the limit less {offset} B",
                    profile.name, profile.xon
                );
                notes.differs(&file, Some(line), text);
            }
            (Limit::Static(_), _) => {}
        }
        if matches!(profile.limit, Limit::Dynamic(exponent) if exponent > 6) {
            let text = format!("{}: an alpha of 128 is 64 here, the most there is", profile.name);
            notes.differs(&file, Some(line), text);
        }
    }
    for (other, parts) in plan.unlike_main() {
        let (file, line) = at(&other.profile);
        let own = runs::classes_named(&other.classes);
        let text = format!(
            "the scenario of all ports runs {own} ({}) with the settings of {}: {}. Where at least two ports have the settings of {own}, a \
             scenario of its own runs them",
            other.about(),
            plan.main().map_or_else(String::new, |main| format!(
                "{} ({})",
                runs::classes_named(&main.classes),
                main.about()
            )),
            parts.join("; ")
        );
        notes.differs(&file, Some(line), text);
    }
    if let Some(main) = plan.main() {
        for other in plan.groups.iter().filter(|group| group.response != main.response) {
            let (file, line) = at(&other.profile);
            let text = format!(
                "ports with {} stop {} after a pause has come; in the scenario of all ports each stops after {}, as those with {}, and \
                 `backwater check` asks there for headroom with that: their own scenario has theirs",
                other.about(),
                time(other.response.ps()),
                time(main.response.ps()),
                main.about()
            );
            notes.differs(&file, Some(line), text);
        }
    }
    for egress in [false, true] {
        let profiles = plan.lossy_profiles(egress);
        let taken = profiles.iter().find(|(_, alpha)| alpha.is_some()).map(|(name, _)| *name);
        let others: Vec<&str> = profiles.iter().map(|(name, _)| *name).filter(|name| Some(*name) != taken).collect();
        let Some(profile) = others.iter().find_map(|name| plan.config.profile(name)) else { continue };
        let (file, line) = at(profile);
        let some = unlike::names(&others);
        let text = match taken {
            Some(taken) => format!("what is not lossless has limits of {some}, too: here all have that of {taken}"),
            None => format!("what is not lossless has static limits, of {some}: here it has none"),
        };
        notes.some(NoteKind::Differs, &file, Some(line), &others, text);
    }
    let shown = plan.config.ports.iter().flat_map(|port| port.queues.iter().flatten());
    if let Some(profile) = shown.filter_map(|name| plan.config.profile(name)).next() {
        let (file, line) = at(profile);
        let text = "what goes out: profile of BUFFER_QUEUE but for its dynamic_th, and pool, size and static_th of the entry of BUFFER_PROFILE \
                    that it names: memory is counted once, as what comes in";
        notes.some(NoteKind::Ignored, &file, Some(line), &["pool", "size", "static_th", "profile"], text);
    }
    let star = plan.marks_of_star();
    for other in plan.config.wreds.iter().filter(|wred| Some(*wred) != star) {
        let text = format!(
            "WRED profile {}: in the scenario, queues that mark have {}",
            other.name,
            star.map_or("none", |wred| &wred.name)
        );
        notes.differs(&other.at.0, Some(other.at.1), text);
    }
}
