//! A scenario with every value resolved: presets and overrides merged, read into types. `check` decides whether the values fit together.

use crate::error::ScenarioError;
use crate::file::File;
use crate::inputs::{InputOperations, InputRows, place_of};
use crate::schema;
use crate::silicon::CHIPS;
use crate::tree::{self, Conform, Layer, Node, SourceText, TomlTable, Value, conform, hinted, table_json, together};
use backwater_mech::registry::{self, ENTRIES};
use backwater_mech::stack::Scoped;
use backwater_net::config::{PacketParams, SwitchParams};
use backwater_net::hooks::Finding;
use backwater_net::packet::Class;
use backwater_net::workload::sizes::BuiltIn;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A value and its origin.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ResolvedValue {
    /// Dotted key, such as `pfc.xoff`; an entry of a list by its label if that is unique, otherwise by its number.
    pub key: String,
    /// The value as in TOML, strings without quotes; `absent` for a default without a value.
    pub value: String,
    /// `net.toml:12`, `variant NAME (net.toml:40)`, `--set`, `preset NAME`, `default`.
    pub origin: String,
}

/// A scenario with every value resolved.
pub struct Resolved {
    /// Everything but switches and mechanisms.
    pub file: File,
    /// Parameters of the switches.
    pub switch: Scoped<SwitchParams>,
    /// The mechanisms.
    pub mechanisms: registry::Config,
    pub(crate) tables: Vec<InputRows>,
    pub(crate) operations: Vec<InputOperations>,
    pub(crate) base_dir: PathBuf,
    tree: Node,
    source: Arc<SourceText>,
}

/// Resolves every value of a merged tree.
pub(crate) fn resolve(
    mut root: Node,
    source: Arc<SourceText>,
    base_dir: &Path,
    tables: &[InputRows],
    operations: &[InputOperations],
) -> Result<Resolved, ScenarioError> {
    if let Some(table) = root.table_mut() {
        expand(table, &source)?;
    }
    let how = Conform::whole(&source);
    conform(&mut root, schema::root(), &mut Vec::new(), &how).map_err(|error| called(error, &root))?;
    let (plain, mut scoped) = split(&root);
    let missing = how.missing.take();
    if !missing.is_empty() {
        scoped.shift_remove("switch");
        let all = missing.into_iter().chain(lacking(scoped, &root, &source));
        let all = all.map(|error| called(error, &root)).collect();
        return Err(together(all).unwrap_or_default());
    }
    let switch = scoped.shift_remove("switch").unwrap_or_else(|| json!({ "base": {} }));
    let mut file: File = read(plain, &root, &source, &[])?;
    let switch = read(switch, &root, &source, &["switch"])?;
    let mechanisms: registry::Config = read(Json::Object(scoped), &root, &source, &[])?;
    // Octets that mechanisms add to frames are included for all calculations: loads, headroom, ideal times.
    file.packet.header += mechanisms.overhead().data;
    file.ack.size += mechanisms.overhead().ack;
    Ok(Resolved {
        file,
        switch,
        mechanisms,
        tables: tables.to_vec(),
        operations: operations.to_vec(),
        base_dir: base_dir.to_owned(),
        tree: root,
        source,
    })
}

/// Returns errors for missing parameters of mechanisms.
fn lacking(scoped: Map<String, Json>, root: &Node, source: &SourceText) -> Vec<ScenarioError> {
    let Ok(mechanisms) = read::<registry::Config>(Json::Object(scoped), root, source, &[]) else { return Vec::new() };
    let absent = |name: &str, key: &str| root.nearest(&[name.to_owned(), key.to_owned()]).1 < 2;
    let found = mechanisms.check_alone().into_iter().filter(|(name, one)| one.fatal && absent(name, one.key));
    let error =
        |(name, one): (&str, Finding)| ScenarioError::new(one.reason).key(format!("{name}.{}", one.key)).hint(one.hint);
    found.map(error).collect()
}

/// An error whose key has labels in place of numbers.
pub(crate) fn called(error: ScenarioError, root: &Node) -> ScenarioError {
    let key = error.key.as_deref().map(|key| root.called(key));
    ScenarioError { key, ..error }
}

/// Merges presets below and overrides above their tables; removes mechanisms that are switched off.
fn expand(root: &mut TomlTable, source: &SourceText) -> Result<(), ScenarioError> {
    for entry in ENTRIES {
        match root.get(entry.name).map(|node| (&node.value, node.origin.clone())) {
            Some((Value::Bool(true), origin)) => {
                root.insert(entry.name.to_owned(), Node::empty(origin));
            }
            Some((Value::Bool(false), _)) => {
                root.shift_remove(entry.name);
            }
            _ => {}
        }
    }
    for (key, presets) in ENTRIES.iter().map(|entry| (entry.name, entry.presets)).chain([("switch", CHIPS)]) {
        let Some(table) = root.get_mut(key).and_then(Node::table_mut) else { continue };
        let Some(name) = table.shift_remove("preset") else { continue };
        let Some(preset) = presets.iter().find(|p| name.text() == Some(p.name)) else { continue };
        let layer = Layer::Preset(format!("{} of {key}", preset.name).into());
        let own = SourceText::new(format!("preset {} of {key}", preset.name), preset.toml);
        let mut merged = tree::parse(&own, &layer)?;
        // A text over a preset cannot miss an entry: presets contain no lists of tables.
        let _ = tree::merge_tables(&mut merged, table, &mut Vec::new());
        *table = merged;
    }
    for key in ENTRIES.iter().map(|e| e.name).chain(["switch"]) {
        let Some(table) = root.get_mut(key).and_then(Node::table_mut) else { continue };
        // It is no part of overrides: it names flows, not nodes.
        let flows = if schema::may_be_confined(key) { table.shift_remove(schema::FLOWS) } else { None };
        let at = table.shift_remove("at");
        let Some(at) = at else {
            table.extend(flows.map(|flows| (schema::FLOWS.to_owned(), flows)));
            continue;
        };
        let Value::List(overrides) = at.value else {
            let error = at.origin.error_at_key(source).key(format!("{key}.at"));
            return Err(
                ScenarioError { reason: "needs a list".into(), ..error }.hint(format!("write [[{key}.at]] for each"))
            );
        };
        let complete = overrides.into_iter().map(|one| {
            let mut all = Node { value: Value::Table(table.clone()), origin: one.origin.clone() };
            let _ = tree::merge(&mut all, &one, &mut Vec::new());
            all
        });
        let list = Node { value: Value::List(complete.collect()), origin: at.origin };
        table.insert("at".into(), list);
        table.extend(flows.map(|flows| (schema::FLOWS.to_owned(), flows)));
    }
    Ok(())
}

/// The plain part as `File` reads it, and the scoped tables as [`Scoped`] reads them.
fn split(root: &Node) -> (Json, Map<String, Json>) {
    let (mut plain, mut scoped) = (Map::new(), Map::new());
    for (key, node) in root.table().into_iter().flatten() {
        match node.table() {
            Some(table) if schema::is_scoped(key) => {
                let mut base = table_json(table);
                let at = base.shift_remove("at").unwrap_or_else(|| json!([]));
                let flows = if schema::may_be_confined(key) { base.shift_remove(schema::FLOWS) } else { None };
                let at = at.as_array().into_iter().flatten().map(|one| {
                    let mut params = one.as_object().cloned().unwrap_or_default();
                    let (tier, node) = (params.shift_remove("tier"), params.shift_remove("node"));
                    json!({ "select": { "tier": tier, "node": node }, "params": params })
                });
                scoped.insert(
                    key.clone(),
                    json!({ "base": base, "at": at.collect::<Vec<_>>(), "flows": flows.unwrap_or_else(|| json!({})) }),
                );
            }
            _ => {
                plain.insert(key.clone(), node.json());
            }
        }
    }
    (Json::Object(plain), scoped)
}

fn read<T: DeserializeOwned>(
    json: Json,
    root: &Node,
    source: &SourceText,
    prefix: &[&str],
) -> Result<T, ScenarioError> {
    serde_path_to_error::deserialize(json).map_err(|error| {
        let inner = error.path().iter().filter_map(|segment| match segment {
            serde_path_to_error::Segment::Seq { index } => Some(index.to_string()),
            serde_path_to_error::Segment::Map { key } => Some(key.clone()),
            _ => None,
        });
        let steps = prefix.iter().map(|s| (*s).to_owned()).chain(inner);
        let path: Vec<String> = steps.filter(|s| s != "base" && s != "params" && s != "select").collect();
        let (node, _) = root.nearest(&path);
        let key = Some(root.called(&path.join(".")));
        let place = ScenarioError { key, value: Some(node.shown()), ..node.origin.error(source) };
        hinted(place, &error.into_inner().to_string())
    })
}

impl Resolved {
    /// Seed of all random streams, unless a run has another.
    pub fn seed(&self) -> u64 {
        self.file.seed
    }

    /// Lengths of the frames of flows of this class, in groups of this label: without the octets of mechanisms that leave them alone.
    pub(crate) fn packet_of(&self, class: u8, group: &str) -> PacketParams {
        let spared = self.mechanisms.overhead_of(self.mechanisms.leaves(Class(class), group));
        PacketParams { header: self.file.packet.header.saturating_sub(spared.data), ..self.file.packet.clone() }
    }

    /// An error at the value of a key, or at the nearest table of it.
    pub(crate) fn error(&self, key: &str, reason: impl Into<String>) -> ScenarioError {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        let (node, depth) = self.tree.nearest(&path);
        let found = depth == path.len() && node.table().is_none();
        let place = match depth {
            0 => ScenarioError::default().file(self.source.name()),
            _ if found => node.origin.error(&self.source),
            _ => node.origin.error_at_key(&self.source),
        };
        ScenarioError {
            key: Some(self.tree.called(key)),
            value: found.then(|| node.shown()),
            reason: reason.into(),
            ..place
        }
    }

    /// Returns the text that gives a value, if any.
    pub(crate) fn layer(&self, key: &str) -> Option<&Layer> {
        self.given(key).map(|node| &node.origin.layer)
    }

    /// A value as it was written, if it was.
    pub(crate) fn written(&self, key: &str) -> Option<String> {
        self.given(key).map(Node::shown)
    }

    /// Returns whether a key of a mechanism has no value: none was given, and there is no default.
    pub(crate) fn lacks(&self, key: &str) -> bool {
        let all = Json::Object(self.json());
        let value = all.pointer(&format!("/{}", key.replace('.', "/")));
        self.given(key).is_none() && value.is_none_or(Json::is_null)
    }

    /// Keys of a table in any text that gives values.
    pub(crate) fn keys_in(&self, table: &str) -> Vec<String> {
        let given = self.given(table).and_then(Node::table);
        given.into_iter().flat_map(|table| table.keys().cloned()).collect()
    }

    /// Returns the given value of a key, if any.
    fn given(&self, key: &str) -> Option<&Node> {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        let (node, depth) = self.tree.nearest(&path);
        (depth == path.len()).then_some(node)
    }

    /// Everything, in the shape of a file.
    fn json(&self) -> Map<String, Json> {
        let object = |value: Result<Json, serde_json::Error>| match value {
            Ok(Json::Object(map)) => map,
            _ => Map::new(),
        };
        // Without the octets that mechanisms add to frames: the reader adds them anew.
        let (mut file, overhead) = (self.file.clone(), self.mechanisms.overhead());
        file.packet.header = file.packet.header.saturating_sub(overhead.data);
        file.ack.size = file.ack.size.saturating_sub(overhead.ack);
        let mut all = object(serde_json::to_value(&file));
        let lists: Vec<_> =
            ["flow", "job", "fault", "output"].iter().filter_map(|k| all.shift_remove_entry(*k)).collect();
        all.insert("switch".into(), flat(object(serde_json::to_value(&self.switch))));
        for (name, scoped) in object(serde_json::to_value(&self.mechanisms)) {
            if let Json::Object(scoped) = scoped {
                all.insert(name, flat(scoped));
            }
        }
        all.extend(lists);
        all
    }

    /// Every value, defaults included.
    pub fn values(&self) -> Vec<ResolvedValue> {
        let mut out = Vec::new();
        self.collect(&Json::Object(self.json()), &mut Vec::new(), "", &mut out);
        out
    }

    /// Collects values; `path` leads through the tree, by numbers, `shown` is its readable form.
    fn collect(&self, value: &Json, path: &mut Vec<String>, shown: &str, out: &mut Vec<ResolvedValue>) {
        let mut each = |step: String, called: &str, value: &Json, path: &mut Vec<String>| {
            path.push(step);
            let shown = if shown.is_empty() { called.to_owned() } else { format!("{shown}.{called}") };
            self.collect(value, path, &shown, out);
            path.pop();
        };
        match value {
            Json::Object(map) => map.iter().for_each(|(key, value)| each(key.clone(), key, value, path)),
            Json::Array(list) if list.first().is_some_and(Json::is_object) => {
                let (node, depth) = self.tree.nearest(path);
                let entries = node.list().filter(|_| depth == path.len()).unwrap_or_default();
                let labels = tree::unique_labels(entries);
                for (i, value) in list.iter().enumerate() {
                    let number = i.to_string();
                    let called = labels.get(&i).cloned().unwrap_or_else(|| number.clone());
                    each(number, &called, value, path);
                }
            }
            _ => {
                let (node, depth) = self.tree.nearest(path);
                let found = depth == path.len();
                let origin = if found { node.origin.shown(&self.source) } else { "default".into() };
                out.push(ResolvedValue { key: shown.to_owned(), value: tree::shown(value), origin });
            }
        }
    }

    /// Every value as a scenario that reads back as the same.
    pub fn to_toml(&self) -> String {
        toml::to_string(&without_null(Json::Object(self.json()))).unwrap_or_default()
    }

    /// The same for any directory and with this seed, and with one more group of flows at the end. Names of files become absolute.
    pub(crate) fn to_toml_elsewhere(&self, seed: u64, group: Json) -> String {
        let mut all = self.json();
        all.insert("seed".into(), seed.into());
        for (list, keys) in [("flow", &["table", "matrix", "sizes"][..]), ("job", &["operations"])] {
            for entry in all.get_mut(list).and_then(Json::as_array_mut).into_iter().flatten() {
                for key in keys {
                    let Some(Json::String(name)) = entry.get_mut(*key) else { continue };
                    if *key != "sizes" || BuiltIn::find(name).is_none() {
                        *name = place_of(&self.base_dir, name).display().to_string();
                    }
                }
            }
        }
        if let Json::Array(groups) = all.entry("flow").or_insert_with(|| Json::Array(Vec::new())) {
            groups.push(group);
        }
        toml::to_string(&without_null(Json::Object(all))).unwrap_or_default()
    }
}

/// `{base, at: [{select, params}]}` as a file writes it.
fn flat(mut scoped: Map<String, Json>) -> Json {
    let mut table = match scoped.shift_remove("base") {
        Some(Json::Object(base)) => base,
        _ => Map::new(),
    };
    table.extend(scoped.shift_remove(schema::FLOWS).map(|flows| (schema::FLOWS.to_owned(), flows)));
    let at = match scoped.shift_remove("at") {
        Some(Json::Array(list)) if !list.is_empty() => list,
        _ => return Json::Object(table),
    };
    let flat = at.into_iter().map(|one| {
        let part = |of: &str| one.get(of).and_then(Json::as_object).cloned().unwrap_or_default();
        let mut all = part("select");
        all.retain(|_, value| !value.is_null());
        all.extend(part("params"));
        Json::Object(all)
    });
    table.insert("at".into(), Json::Array(flat.collect()));
    Json::Object(table)
}

fn without_null(value: Json) -> Json {
    match value {
        Json::Object(map) => {
            let kept = map.into_iter().filter(|(_, v)| !v.is_null());
            Json::Object(kept.map(|(k, v)| (k, without_null(v))).collect())
        }
        Json::Array(list) => Json::Array(list.into_iter().map(without_null).collect()),
        other => other,
    }
}
