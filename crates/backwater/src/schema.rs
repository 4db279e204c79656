//! The schema of scenario files: the texts of the types' fields, combined with the tables of mechanisms.

use crate::file::File;
use crate::silicon::CHIPS;
use backwater_mech::confined::Confined;
use backwater_mech::registry::ENTRIES;
use backwater_mech::stack::Select;
use backwater_net::config::SwitchParams;
use backwater_net::hooks::Preset;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value as Json, json};
use std::sync::OnceLock;

/// The schema, without references.
pub(crate) fn root() -> &'static Json {
    static ROOT: OnceLock<Json> = OnceLock::new();
    ROOT.get_or_init(compose)
}

/// Tables that may be overridden per tier or node.
pub(crate) fn is_scoped(key: &str) -> bool {
    key == "switch" || ENTRIES.iter().any(|e| e.name == key)
}

/// The table of a mechanism that names the flows to which it is confined.
pub(crate) const FLOWS: &str = "flows";

/// Tables of mechanisms that may be confined to some flows.
pub(crate) fn may_be_confined(key: &str) -> bool {
    ENTRIES.iter().any(|e| e.name == key && (e.at_flows)())
}

fn compose() -> Json {
    let mut generator = SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true).into_generator();
    let mut root = plain::<File>(&mut generator);
    let mut tables = Map::new();
    let switch = plain::<SwitchParams>(&mut generator);
    let mut switch = scoped(switch, &mut generator, CHIPS);
    switch["description"] = "The switches.".into();
    tables.insert("switch".into(), switch);
    for entry in ENTRIES {
        let params = (entry.schema)(&mut generator).to_value();
        let mut table = scoped(params, &mut generator, entry.presets);
        table["description"] =
            format!("{}. Without this table it is off; `false` switches it off again.", sentence(entry.summary)).into();
        table["x-source"] = entry.defined_by.into();
        table["x-switchable"] = true.into();
        if let (true, Some(keys)) = ((entry.at_flows)(), properties_mut(&mut table)) {
            let mut flows = plain::<Confined>(&mut generator);
            flows["description"] = "Flows that this mechanism controls. Absent: all flows.".into();
            keys.insert(FLOWS.into(), flows);
        }
        tables.insert(entry.name.into(), table);
    }
    let Some(properties) = root.get_mut("properties").and_then(Json::as_object_mut) else { return root };
    properties.extend(tables);
    let partial = without_required(&Json::Object(properties.clone()));
    let variant = json!({
        "type": "object",
        "x-unit": "any keys of a scenario",
        "description": "Named changes to the scenario, a `[variant.NAME]` each: any keys, merged over the file's. `false` switches a mechanism off. Entries of lists are named by label or number: `[variant.large.flow.incast]`.",
        "additionalProperties": { "type": "object", "properties": partial, "additionalProperties": false },
    });
    properties.insert("variant".into(), variant);
    root
}

/// The schema for editors, which do not know the different rules of variants.
pub(crate) fn published() -> Json {
    let mut all = root().clone();
    if let Some(keys) = all.pointer_mut("/properties/variant/additionalProperties/properties") {
        widen(keys);
    }
    all
}

/// Lets a mechanism be `false`, and a list of tables be a table of its entries by label or number.
fn widen(part: &mut Json) {
    if let Json::Array(forms) = part {
        forms.iter_mut().for_each(widen);
    }
    let Json::Object(keys) = part else { return };
    keys.values_mut().for_each(widen);
    if keys.get("x-switchable") == Some(&Json::Bool(true)) {
        keys.insert("type".into(), json!(["object", "boolean"]));
        keys.insert("not".into(), json!({ "const": true }));
    }
    let list = keys.get("type").is_some_and(|kind| kind == "array" || kind == &json!(["array", "null"]));
    let tables = |entry: &&Json| entry.get("properties").is_some() || entry.get("oneOf").is_some();
    if let Some(entry) = keys.get("items").filter(tables).filter(|_| list).cloned() {
        keys.insert("type".into(), json!(["array", "object"]));
        keys.insert("additionalProperties".into(), entry);
    }
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn plain<T: JsonSchema>(generator: &mut SchemaGenerator) -> Json {
    generator.root_schema_for::<T>().to_value()
}

/// The parameters with `preset` and `at`.
fn scoped(mut params: Json, generator: &mut SchemaGenerator, presets: &[Preset]) -> Json {
    let select = plain::<Select>(generator);
    let mut at = params.clone();
    if let (Some(at), Some(select)) = (properties_mut(&mut at), select.get("properties").and_then(Json::as_object)) {
        let mut all = select.clone();
        all.extend(std::mem::take(at));
        *at = all;
    }
    at["description"] = "One override; of several that match a node the last counts.".into();
    if let Some(properties) = properties_mut(&mut params) {
        if !presets.is_empty() {
            let forms: Vec<Json> =
                presets.iter().map(|p| json!({ "const": p.name, "description": p.source })).collect();
            let preset = json!({
                "oneOf": forms, "description": "Named set of values; other keys of this table override them.", "default": null,
                "x-source": "each names its own",
            });
            properties.insert("preset".into(), preset);
        }
        properties.insert(
            "at".into(),
            json!({
                "type": "array", "items": at, "default": [],
                "description": "Other values for the nodes of a tier, or for one node.",
            }),
        );
    }
    params
}

fn properties_mut(schema: &mut Json) -> Option<&mut Map<String, Json>> {
    schema.get_mut("properties")?.as_object_mut()
}

fn without_required(schema: &Json) -> Json {
    match schema {
        Json::Object(map) => {
            let kept = map.iter().filter(|(key, value)| *key != "required" || !value.is_array());
            Json::Object(kept.map(|(k, v)| (k.clone(), without_required(v))).collect())
        }
        Json::Array(list) => list.iter().map(without_required).collect(),
        other => other.clone(),
    }
}
