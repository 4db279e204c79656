//! The flows of each confined control.

use crate::error::{ScenarioError, Warning};
use crate::inputs::{OfCaller, RowsOf};
use crate::pipeline::SENDS;
use crate::resolved::Resolved;
use backwater_mech::confined::Confined;
use backwater_net::packet::{Class, class_bits};

/// The flows of one label, or those of a job's table of operations, whose rows alone have the labels.
pub(super) struct Population {
    label: String,
    /// True if `label` is that of the job.
    table: bool,
    /// Their possible classes, a bit each. The rows of a flow table may have any.
    classes: u8,
}

impl Population {
    /// Returns whether a group is of these flows, or may be.
    fn may_be(&self, group: &str) -> bool {
        match self.table {
            true => group.strip_prefix(&self.label).is_some_and(|rest| rest.starts_with('/')),
            false => group == self.label,
        }
    }

    /// Possible classes of the flows that both controls have.
    fn of_both(&self, one: &Confined, other: &Confined) -> u8 {
        let named = |flows: &Confined| match &flows.groups {
            Some(groups) if self.table => groups.iter().filter(|group| self.may_be(group)).cloned().collect(),
            _ => vec![self.label.clone()],
        };
        let holds = |flows: &Confined, class: u8| named(flows).iter().any(|group| flows.holds(Class(class), group));
        let both = |class: &u8| [one, other].iter().all(|flows| holds(flows, *class));
        self.classes & (0..8).filter(both).fold(0, |bits, class| bits | 1 << class)
    }
}

/// The flows of a scenario, each label once; for one without flows, any possible flows.
pub(super) fn populations(resolved: &Resolved) -> Vec<Population> {
    let file = &resolved.file;
    let groups = file.flow.iter().map(|group| {
        let own = group.classes.as_deref().map_or(1 << group.class, class_bits);
        let classes = if group.table.is_some() { u8::MAX } else { own | class_bits(&group.small_class) };
        (group.label.clone(), classes)
    });
    let given = resolved.tables.iter().filter_map(|given| match &given.of {
        RowsOf::Label(label) | RowsOf::Caller(OfCaller { label, .. }) => Some((label.clone(), u8::MAX)),
        RowsOf::File(_) => None,
    });
    let steps = file
        .job
        .iter()
        .flat_map(|job| job.step.iter().map(|step| (format!("{}/{}", job.label, step.label), 1 << job.class)));
    let mut all: Vec<Population> = Vec::new();
    for (label, classes) in groups.chain(given).chain(steps) {
        match all.iter_mut().find(|one| one.label == label) {
            Some(same) => same.classes |= classes,
            None => all.push(Population { label, table: false, classes }),
        }
    }
    let tables = file.job.iter().filter(|job| job.operations.is_some());
    all.extend(tables.map(|job| Population { label: job.label.clone(), table: true, classes: u8::MAX }));
    for job in file.job.iter().filter(|job| job.pipeline.is_some()) {
        all.extend(SENDS.map(|send| Population {
            label: format!("{}/{send}", job.label),
            table: false,
            classes: 1 << job.class,
        }));
    }
    all
}

/// Flows that two controls share, as a text behind "flows". `None`: they share none.
pub(super) fn shared(flows: &[Population], one: &Confined, other: &Confined) -> Option<String> {
    if !one.confines() && !other.confines() {
        return Some(String::new());
    }
    let found = flows.iter().map(|flows| (flows, flows.of_both(one, other))).find(|(_, classes)| *classes != 0);
    found.map(|(flows, classes)| format!(", as of those of {}", named(&flows.label, classes)))
}

/// Refuses names without a match, and warns of controls without flows.
pub(super) fn check(resolved: &Resolved) -> Result<Vec<Warning>, ScenarioError> {
    let flows = populations(resolved);
    let mut warnings = Vec::new();
    for (mechanism, own) in resolved.mechanisms.confined() {
        let key = |name: &str| format!("{mechanism}.flows.{name}");
        let fail = |name: &str, reason: String, hint: String| Err(resolved.error(&key(name), reason).hint(hint));
        let empty = [("classes", own.classes.as_ref().map(Vec::len)), ("groups", own.groups.as_ref().map(Vec::len))];
        if let Some((name, _)) = empty.into_iter().find(|(_, len)| *len == Some(0)) {
            let hint = format!("leave it out for all of them, or switch the mechanism off: `{mechanism} = false`");
            return fail(name, format!("names no {name}"), hint);
        }
        let groups = own.groups.iter().flatten().enumerate();
        if let Some((i, unknown)) = groups.into_iter().find(|(_, group)| !flows.iter().any(|one| one.may_be(group))) {
            let labels: Vec<&str> = flows.iter().map(|flows| flows.label.as_str()).collect();
            let hint = format!("groups are called by their `label`: {}", labels.join(", "));
            return fail(&format!("groups.{i}"), format!("there is no group of flows `{unknown}`"), hint);
        }
        if flows.is_empty() || flows.iter().any(|flows| flows.of_both(own, own) != 0) {
            continue;
        }
        let there: Vec<String> = flows.iter().map(|flows| named(&flows.label, flows.classes)).collect();
        let hint = format!("there are flows of {}", there.join("; "));
        if own.groups.is_some() {
            return fail("classes", "no flow of these groups is in one of these classes".into(), hint);
        }
        warnings.push(Warning {
            key: key("classes"),
            value: resolved.written(&key("classes")).unwrap_or_default(),
            reason: format!("`{mechanism}` has no flows: none is in one of these classes"),
            hint,
        });
    }
    Ok(warnings)
}

/// The flows of every control, in words, if one is confined.
pub(super) fn controls(resolved: &Resolved) -> Vec<(&'static str, String)> {
    let confined = resolved.mechanisms.confined();
    let flows = populations(resolved);
    let of = |own: &Confined| {
        let all = flows.iter().map(|flows| (flows, flows.of_both(own, own))).filter(|(_, classes)| *classes != 0);
        all.map(|(flows, classes)| named(&flows.label, classes)).collect::<Vec<_>>().join("; ")
    };
    confined.into_iter().map(|(name, own)| (name, of(own))).filter(|(_, flows)| !flows.is_empty()).collect()
}

fn named(label: &str, classes: u8) -> String {
    let all: Vec<String> =
        (0..8).filter(|class| classes & 1 << class != 0).map(|class: u8| class.to_string()).collect();
    match all.len() {
        8 => format!("`{label}` in any class"),
        1 => format!("`{label}` in class {}", all.concat()),
        _ => format!("`{label}` in the classes {}", all.join(", ")),
    }
}
