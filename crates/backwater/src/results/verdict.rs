//! The verdict on a run: flows and rounds that are not complete, frames that are lost for good.
//!
//! | finding | when |
//! |---|---|
//! | `incomplete` | flows failed (`transport.retries`), or were not over at an end that the scenario did not ask for (`stop.at`, or `stop.when` for flows of other groups), or a job has rounds left; or frames were lost, nothing sends them again, and flows were not over, whatever the end |
//!
//! | `never-acted` | a mechanism is on and has not done once what it is there for; how near it came is said where it can be measured |
//!
//! Losses that the scenario expects (`transport.loss`), and flows that end because of them, are no finding; a job that never ends because
//! of them is.

use super::Names;
use backwater_engine::Time;
use backwater_net::Actors;
use backwater_net::Bytes;
use backwater_net::config::Losses;
use backwater_net::hooks::Unit;
use backwater_net::record::{ActivityRow, FlowRow, PortRow, State};
use backwater_net::spec::Spec;
use backwater_net::workload::{Group, Rounds};
use std::collections::BTreeMap;

/// A finding on a run at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind of finding, a stable word: `incomplete` or `never-acted`.
    pub kind: &'static str,
    /// The mechanism that it concerns, if any.
    pub mechanism: Option<&'static str>,
    /// True if the run has not achieved its purpose.
    pub failure: bool,
    /// The finding, in a sentence.
    pub message: String,
    /// A hint.
    pub hint: String,
}

/// The end of a run, as the sink cannot see it.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// The rounds of each job.
    pub rounds: Vec<Rounds>,
    /// The paused queues of a deadlock that was recorded.
    pub deadlock: Option<Vec<String>>,
    /// True if it was cut short, by its user or by a broken promise.
    pub cut: bool,
}

/// Counts for a verdict, row by row.
#[derive(Clone, Debug, Default, backwater_derive::State)]
pub struct Verdict {
    #[state(fixed)]
    recovers: bool,
    #[state(fixed)]
    losses_expected: bool,
    /// The scenario sets an end time.
    #[state(fixed)]
    stops: bool,
    /// Groups that the run waits for; empty: all.
    #[state(fixed)]
    awaited: Vec<u32>,
    #[state(fixed)]
    flows_total: Option<u64>,
    flows: u64,
    failed: u64,
    /// Not ended, of groups that are awaited and of others.
    unfinished: u64,
    others: u64,
    /// An unfinished awaited flow: its identity, and what it waits for.
    waits: Option<(u64, String)>,
    /// Frames by link, or by node.
    faults: BTreeMap<(u32, u32), u64>,
    drops: BTreeMap<u32, u64>,
    flushed: BTreeMap<u32, u64>,
    /// Mechanisms that never acted, with how near they came.
    #[state(fixed)]
    idle: Vec<ActivityRow>,
}

impl Verdict {
    /// A verdict for a run that is built from this spec.
    pub fn new<A: Actors>(spec: &Spec<A>) -> Verdict {
        Verdict {
            recovers: spec.transport.retransmits(),
            losses_expected: spec.transport.loss == Losses::Expected,
            stops: spec.stop_at.is_some(),
            awaited: spec.awaited.clone(),
            flows_total: spec.flows_total,
            ..Verdict::default()
        }
    }

    pub(super) fn flow(&mut self, row: &FlowRow) {
        self.flows += 1;
        match &row.state {
            State::Complete => {}
            State::Failed => self.failed += 1,
            State::Unfinished(_) if !self.awaited.is_empty() && !self.awaited.contains(&row.group) => self.others += 1,
            State::Unfinished(why) => {
                self.unfinished += 1;
                self.waits.get_or_insert_with(|| (row.id, why.clone()));
            }
        }
    }

    pub(super) fn port(&mut self, row: &PortRow) {
        let stats = &row.stats;
        let add = |map: &mut BTreeMap<u32, u64>, frames: u64| {
            if frames > 0 {
                *map.entry(row.node.0).or_default() += frames;
            }
        };
        add(&mut self.drops, stats.drop_frames);
        add(&mut self.flushed, stats.flushed_frames);
        if stats.fault_frames > 0 {
            *self.faults.entry((row.node.0, row.peer.0)).or_default() += stats.fault_frames;
        }
    }

    pub(super) fn activity(&mut self, row: &ActivityRow) {
        if row.activity.acts == 0 {
            self.idle.push(*row);
        }
    }

    /// Returns the findings, the worst first.
    pub fn findings(&self, names: &Names, end: &End) -> Vec<Finding> {
        let incomplete = if end.cut { None } else { self.incomplete(names, end) };
        incomplete.into_iter().chain(self.idle.iter().map(|row| never_acted(names, row))).collect()
    }

    fn incomplete(&self, names: &Names, end: &End) -> Option<Finding> {
        let lost = self.lost(names);
        let for_good = !lost.is_empty() && !self.recovers;
        let left = self.unfinished + self.others;
        let open = end.rounds.iter().filter(|job| job.complete < job.all);
        let open: Vec<&Rounds> = open.collect();
        let asked = self.stops || !self.awaited.is_empty();
        // A missing flow is an outcome; a job that waits for it forever has none.
        if self.losses_expected && (self.failed > 0 || for_good) && (asked || open.is_empty()) {
            return None;
        }
        let missing = if for_good { left } else { self.unfinished };
        let unasked = !self.stops && self.unfinished > 0 || !asked && !open.is_empty();
        if self.failed == 0 && !unasked && !(for_good && left > 0) {
            return None;
        }
        let rounds = |job: &&Rounds| {
            format!("job {}: {} of {} rounds complete", job.job, grouped(job.complete), grouped(job.all))
        };
        let mut parts: Vec<String> = open.iter().map(rounds).collect();
        let of = |number: u64| format!("{} of {} flows", grouped(number), grouped(self.flows));
        if missing > 0 {
            let when = if self.stops { " at `stop.at`" } else { "" };
            parts.push(format!("{} unfinished{when}", of(missing)));
        }
        if self.failed > 0 {
            parts.push(format!("{} failed after `transport.retries` timeouts or requests in vain", of(self.failed)));
        }
        if let Some(never) =
            self.flows_total.map(|total| total.saturating_sub(self.flows)).filter(|n| *n > 0 && !self.stops)
        {
            parts.push(format!("{} never began", counted(never, "flow")));
        }
        let (cause, hint) = self.cause(&lost, end, names);
        Some(Finding {
            kind: "incomplete",
            mechanism: None,
            failure: true,
            message: format!("{}: {cause}", parts.join("; ")),
            hint,
        })
    }

    /// Returns why flows are not complete, and a hint.
    fn cause(&self, lost: &[String], end: &End, names: &Names) -> (String, String) {
        if let Some(cycle) = &end.deadlock {
            let hint = "paths without a cycle, a watchdog, or less load; stop.deadlock = true ends such a run at once";
            return (format!("pauses wait for each other in a cycle of {} queues", cycle.len()), hint.into());
        }
        if !lost.is_empty() && !self.recovers {
            let cause = format!("{}, `transport.recovery` is none", lost.join(", "));
            if self.losses_expected {
                let hint = "a job waits for all that it sends: transport.recovery = \"go-back-n\" or \"selective-repeat\", or \
                            stop.at for its first rounds";
                return (cause, hint.into());
            }
            let hint = "transport.recovery = \"go-back-n\" or \"selective-repeat\" sends again what is lost; \
                        transport.loss = \"expected\" says that losses are what the scenario is about";
            return (cause, hint.into());
        }
        let waits = self
            .waits
            .as_ref()
            .map(|(flow, why)| format!("{} waits for {why}", Group::flow_name(*flow, |group| names.group(group))));
        let cause = lost.iter().cloned().chain(waits).collect::<Vec<_>>().join("; ");
        let cause = if cause.is_empty() { "nothing more came of it".into() } else { cause };
        (cause, "the column waits_for of the flow table says it of each flow; stop.at ends a run on purpose".into())
    }

    /// Lost frames, by cause.
    fn lost(&self, names: &Names) -> Vec<String> {
        let at = |node: &u32| names.node(backwater_net::packet::NodeId(*node)).to_owned();
        let link = |(from, to): &(u32, u32)| format!("the link from {} to {}", at(from), at(to));
        let kinds = [
            lost_at(&self.faults, link, |frames, many| {
                format!("{frames} lost by {} on", if many { "faults" } else { "the fault" })
            }),
            lost_at(&self.drops, at, |frames, _| format!("{frames} dropped for want of memory at")),
            lost_at(&self.flushed, at, |frames, _| format!("{frames} flushed from queues at")),
        ];
        kinds.into_iter().flatten().collect()
    }
}

/// The finding that a mechanism was on without acting, and how near it came.
fn never_acted(names: &Names, row: &ActivityRow) -> Finding {
    let measured = row.activity.margin.map(|margin| {
        let shown = |value: u64| match margin.unit {
            Unit::Bytes => Bytes(value).to_string(),
            Unit::Time => Time(value).to_string(),
        };
        let at = row.node.map(|node| format!(", at {}", names.node(node))).unwrap_or_default();
        format!(": peak {} of {} ({}{at})", shown(margin.peak), shown(margin.threshold), margin.of)
    });
    Finding {
        kind: "never-acted",
        mechanism: Some(row.mechanism),
        failure: false,
        message: format!("`{}` {}{}", row.mechanism, row.idle, measured.unwrap_or_default()),
        hint: "the run says nothing about it: lower its threshold, load the network more, or leave it out".into(),
    }
}

/// Frames lost at some places: all of them at one, or most of them.
fn lost_at<K>(
    at: &BTreeMap<K, u64>,
    name: impl Fn(&K) -> String,
    say: impl Fn(String, bool) -> String,
) -> Option<String> {
    // The first of equal ones in order, so that the same run reports the same.
    let (most, frames) = at.iter().rev().max_by_key(|(_, frames)| **frames)?;
    let reported = say(counted(at.values().sum(), "frame"), at.len() > 1);
    Some(match at.len() {
        1 => format!("{reported} {}", name(most)),
        places => format!("{reported} {} ({} of them) and {} more", name(most), grouped(*frames), places - 1),
    })
}

fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A number with thousands separators.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(",")
}
