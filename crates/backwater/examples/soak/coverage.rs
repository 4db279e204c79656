//! The contents of a soak's scenarios, so that gaps are visible.

use super::case::Case;
use super::draw::schema;
use backwater_mech::registry::ENTRIES;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Number of occurrences of each key, and of each word with whether it stands for a value.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    scenarios: u64,
    seen: BTreeMap<String, u64>,
}

impl Coverage {
    /// Keys without the numbers of entries, and `key = word` where the value is a word.
    pub fn of(case: &Case) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for key in case.keys() {
            let plain = plain(&key);
            match case.get(&key) {
                Some(Json::String(word)) if !word.contains(' ') => found.extend([format!("{plain} = {word}")]),
                Some(Json::Bool(on)) => found.extend([format!("{plain} = {on}")]),
                _ => {}
            }
            found.insert(plain);
        }
        found
    }

    /// Counts a scenario.
    pub fn count<'a>(&mut self, found: impl IntoIterator<Item = &'a str>) {
        self.scenarios += 1;
        found.into_iter().for_each(|one| *self.seen.entry(one.to_owned()).or_default() += 1);
    }

    fn times(&self, what: &str) -> u64 {
        self.seen.get(what).copied().unwrap_or_default()
    }

    /// A readable report.
    pub fn report(&self) -> String {
        let mut text = String::new();
        let mut line = |title: &str, counts: Vec<(String, u64)>| {
            let counts: Vec<String> = counts.into_iter().map(|(name, times)| format!("{name} {times}")).collect();
            let _ = writeln!(text, "{title}: {}", counts.join(", "));
        };
        line("mechanisms", ENTRIES.iter().map(|entry| (entry.name.to_owned(), self.times(entry.name))).collect());
        for (title, key, pointer) in [
            ("architectures", "switch.architecture", "/properties/switch/properties/architecture"),
            ("buffers", "switch.buffer_per", "/properties/switch/properties/buffer_per"),
            ("topologies", "topology.kind", "/properties/topology"),
            ("patterns", "flow.pattern", "/properties/flow/items/properties/pattern"),
            ("arrivals", "flow.arrivals", "/properties/flow/items/properties/arrivals"),
            ("steps of jobs", "job.step.kind", "/properties/job/items/properties/step/items/properties/kind"),
            ("faults", "fault.kind", "/properties/fault/items"),
            ("recovery", "transport.recovery", "/properties/transport/properties/recovery"),
            ("what is cut", "trim.victim", "/properties/trim/properties/victim"),
        ] {
            line(
                title,
                names(pointer).into_iter().map(|name| (name.clone(), self.times(&format!("{key} = {name}")))).collect(),
            );
        }
        let others = [
            "lossless",
            "flow.table",
            "job.operations",
            "flow.path",
            "flow.sizes",
            "transport.window",
            "switch.weights",
            "switch.queue_buffers",
            "switch.cell",
            "switch.slices",
            "switch.alpha_port",
            "switch.queue_limit",
            "nic.weights",
            "output.waits",
            "dcqcn.flows",
        ];
        line("others", others.into_iter().map(|key| (key.to_owned(), self.times(key))).collect());
        let never: Vec<&str> =
            backwater::keys().iter().map(String::as_str).filter(|key| self.times(key) == 0).collect();
        let keys = backwater::keys().len();
        let _ = writeln!(text, "keys: {} of {keys} were set; never: {}", keys - never.len(), never.join(", "));
        text
    }
}

/// A key without the numbers of entries.
pub fn plain(key: &str) -> String {
    key.split('.').filter(|step| step.parse::<usize>().is_err()).collect::<Vec<_>>().join(".")
}

/// The possible words of a key, or the forms of a table.
fn names(pointer: &str) -> Vec<String> {
    let forms = schema().pointer(pointer).and_then(|about| about.get("oneOf")).and_then(Json::as_array);
    let name = |form: &Json| {
        let word = form.get("const").or_else(|| form.pointer("/properties/kind/const"))?;
        Some(word.as_str()?.to_owned())
    };
    forms.into_iter().flatten().filter_map(name).collect()
}

/// Keys of one scenario, for a line between processes.
pub fn to_json(found: &BTreeSet<String>) -> Json {
    found.iter().map(|one| Json::String(one.clone())).collect()
}

/// The same, back.
pub fn from_json(line: &Map<String, Json>) -> Vec<&str> {
    line.get("found").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect()
}
