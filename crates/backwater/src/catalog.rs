//! Lists of mechanisms, chips, topologies and workloads, the initial scenario, and versions.

use crate::error::{ScenarioError, nearest};
use crate::schema;
use crate::silicon::{self, CHIPS};
use backwater_mech::registry::ENTRIES;
use backwater_net::hooks::Preset;
use backwater_net::workload::sizes;
use serde::Serialize;
use serde_json::Value as Json;

/// Something that can be named in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its name in a scenario.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Where it is defined, or where a scenario names it.
    pub source: String,
}

const LISTS: [&str; 4] = ["mechanisms", "silicon", "topologies", "workloads"];

/// The known `mechanisms`, `silicon`, `topologies` or `workloads`.
pub fn items(what: &str) -> Result<Vec<Item>, ScenarioError> {
    match what {
        "mechanisms" => Ok(ENTRIES.iter().map(mechanism).collect()),
        "silicon" => Ok(CHIPS.iter().map(chip).collect()),
        "topologies" => Ok(forms("/properties/topology", "topology.kind")),
        "workloads" => {
            let mut all = forms("/properties/flow/items/properties/pattern", "flow.pattern");
            all.extend(forms("/properties/flow/items/properties/arrivals", "flow.arrivals"));
            all.extend(forms("/properties/job/items/properties/step/items/properties/kind", "job.step.kind"));
            all.extend(sizes::BUILT_IN.iter().map(|one| Item {
                name: one.name.into(),
                summary: format!("flow.sizes: {}", one.summary),
                source: one.source.into(),
            }));
            Ok(all)
        }
        _ => {
            let known = LISTS.join(", ");
            let hint =
                nearest(what, LISTS).map_or_else(|| format!("known: {known}"), |n| format!("did you mean `{n}`?"));
            Err(ScenarioError::new(format!("there is no list `{what}`")).hint(hint))
        }
    }
}

fn chip(chip: &Preset) -> Item {
    Item { name: chip.name.into(), summary: silicon::summary(chip), source: chip.source.into() }
}

fn mechanism(entry: &backwater_mech::stack::Entry) -> Item {
    let presets: Vec<&str> = entry.presets.iter().map(|p| p.name).collect();
    let summary = match presets.is_empty() {
        true => entry.summary.to_owned(),
        false => format!("{} (presets: {})", entry.summary, presets.join(", ")),
    };
    Item { name: entry.name.into(), summary, source: entry.defined_by.into() }
}

/// The alternatives of a key, from the schema.
fn forms(pointer: &str, key: &str) -> Vec<Item> {
    let forms = schema::root().pointer(pointer).and_then(|s| s.get("oneOf")).and_then(Json::as_array);
    let item = |form: &Json| {
        let name = form.get("const").or_else(|| form.pointer("/properties/kind/const"))?.as_str()?;
        let about = form.get("description").and_then(Json::as_str).unwrap_or_default();
        Some(Item { name: name.into(), summary: format!("{key}: {}", one_line(about)), source: "built in".into() })
    };
    forms.into_iter().flatten().filter_map(item).collect()
}

/// A text without its line ends and its last full stop.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
}

/// A commented initial scenario.
pub fn new_scenario() -> &'static str {
    include_str!("template.toml")
}

/// Returns the versions that determine a run's numbers: the package's version, and a hash of the sources that the core was compiled from.
pub fn version() -> Vec<(&'static str, &'static str)> {
    vec![("backwater", env!("CARGO_PKG_VERSION")), ("build", env!("BACKWATER_BUILD"))]
}
