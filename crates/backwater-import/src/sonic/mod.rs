//! SONiC: the configuration database of a switch, `config_db.json`.
//!
//! The switch becomes the middle of a star: a host at each port that is up, named as the port. Its memory, its thresholds and its
//! watchdog become those of the scenario ([`plan`]), the flows are its worst incast, and what is to be said of the configuration
//! is said ([`verdict`]), each verdict with a scenario of its own beside the first, whose run shows it.

mod config;
mod database;
mod devices;
mod plan;
mod qos;
mod queues;
mod runs;
mod scenario;
mod unlike;
mod verdict;

use crate::error::ImportError;
use crate::family::{Family, Given, Kind, Work};
use crate::page::Page;
use config::{Config, Limit};
use database::Database;
use plan::Plan;
use verdict::Verdict;

/// Files of SONiC.
pub static FAMILY: Family = Family {
    name: "sonic",
    about: "SONiC, the network operating system of switches",
    kinds: &[Kind {
        name: "sonic-config-db",
        about: "a configuration database: ports, buffers, PFC, ECN, watchdog",
        recognise: database::recognise,
    }],
    uses: &["--memory"],
    combine,
};

fn combine(given: Given, work: &mut Work<'_>) -> Result<Page, ImportError> {
    let sources: Vec<_> = given.of("sonic-config-db").collect();
    let Some(first) = sources.first() else { return Err(ImportError::new("no file was given")) };
    let database = Database::read(sources.iter().copied(), work.notes)?;
    let config = Config::read(&database, work.notes)?;
    let plan = Plan::of(config, first.name(), work.options, work.notes)?;
    unsaid(&plan, work);
    let verdicts = verdict::all(&plan, first.name(), work)?;
    let mut page = Page::new();
    introduce(&plan, first.file_name(), &verdicts, &mut page);
    let group = plan.main();
    plan.star(&plan.config.ports.iter().collect::<Vec<_>>(), &mut page);
    plan.mechanisms(group, plan.config.ports.len() as u64, None, &mut page);
    let worst = group.map(|group| runs::worst(&plan, group, &group.ports)).unwrap_or_default();
    if !worst.is_empty() {
        page.gap().remark(
            "The worst that the ports can do to it: all send at once to one of them, until memory is full twice over.",
        );
        scenario::incasts(&worst, &mut page);
    }
    Ok(page)
}

impl Plan {
    /// What the switch is called in titles: its name, and what hardware it is.
    pub(super) fn named(&self) -> String {
        match (self.config.hwsku.as_str(), self.config.hostname.as_str()) {
            ("", "") => "the switch".to_owned(),
            ("", one) | (one, "") => one.to_owned(),
            (hwsku, name) => format!("{name} ({hwsku})"),
        }
    }
}

fn introduce(plan: &Plan, file: &str, verdicts: &[Verdict], page: &mut Page) {
    page.remark(&format!(
        "{file}: the configuration of a SONiC switch, {}, with {}.",
        plan.named(),
        unlike::count(plan.config.ports.len(), "port")
    ));
    for class in &plan.config.lossless {
        let dscps = plan.config.dscps.get(usize::from(*class)).map(Vec::as_slice).unwrap_or_default();
        if !dscps.is_empty() {
            let list: Vec<String> = dscps.iter().map(u8::to_string).collect();
            page.remark(&format!("Class {class}: DSCP {}.", list.join(", ")));
        }
    }
    for verdict in verdicts {
        page.remark(&format!("{}: {}.", verdict.question, verdict.says));
    }
    page.key("title", plan.named());
}

/// What the database says and a scenario cannot.
fn unsaid(plan: &Plan, work: &mut Work<'_>) {
    let notes = &mut *work.notes;
    let at = |profile: &config::Profile| (profile.at.0.clone(), profile.at.1);
    for profile in plan.config.profiles.iter().filter(|profile| profile.trim) {
        let (file, line) = at(profile);
        notes.ignored(&file, Some(line), format!("{} trims what finds no room: here it is dropped", profile.name));
    }
    for group in plan.groups.iter() {
        let (profile, (file, line)) = (&group.profile, at(&group.profile));
        if matches!(profile.limit, Limit::Dynamic(_)) && profile.xon_offset.is_none() {
            let text = format!(
                "{} has no xon_offset: the switch resumes when a priority group has fallen to {} B, here when it is 3 KB below its limit",
                profile.name, profile.xon
            );
            notes.differs(&file, Some(line), text);
        }
        if matches!(profile.limit, Limit::Dynamic(exponent) if exponent > 6) {
            let text = format!("{}: an alpha of 128 is 64 here, the most there is", profile.name);
            notes.differs(&file, Some(line), text);
        }
    }
    if let Some(group) = plan.groups.get(1) {
        let (file, line) = at(&group.profile);
        let text = format!(
            "ports have {} different headrooms, and those of one switch are the same here: that of {}; each other has a scenario of its own",
            plan.groups.len(),
            plan.main().map_or_else(String::new, verdict::about)
        );
        notes.differs(&file, Some(line), text);
    }
    let shown = plan.config.egress.iter().flatten().find_map(|name| plan.config.profile(name));
    if let Some(profile) = shown {
        let (file, line) = at(profile);
        let text = "egress pools, what their profiles set aside, and their static limits: memory is counted once, as what comes in";
        notes.ignored(&file, Some(line), text);
    }
}
