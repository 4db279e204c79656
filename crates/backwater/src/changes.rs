//! Changes to a scenario's file: variants, mechanisms switched on, single settings. They are merged in this order, whatever the order in
//! which they were given, and a setting of a mechanism never switches the mechanism on.

use crate::error::{ScenarioError, nearest};
use crate::tree::{self, Layer, Misfit, Node, Origin, SourceText, Value};
use backwater_mech::registry::ENTRIES;
use indexmap::IndexMap;

/// The tables `[variant.NAME]` of a file, in its order, or the error in each.
pub(crate) type Variants = IndexMap<String, Result<Node, ScenarioError>>;

/// A setting of a mechanism that is off. It changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Skipped {
    /// Dotted key, as it was given.
    pub key: String,
    /// Its value, as it was given.
    pub value: String,
    /// The mechanism that is off.
    pub mechanism: String,
    /// Why the setting is skipped.
    pub reason: String,
}

/// One `key = value`.
#[derive(Clone)]
pub(crate) struct Setting {
    pub key: String,
    pub value: String,
    /// The value under its tables, in the shape of the schema.
    pub node: Node,
    /// True if it is skipped when its mechanism is off; otherwise that is an error.
    pub where_on: bool,
}

impl Setting {
    /// Its mechanism and its value for it; `None`: it concerns no mechanism.
    fn of_mechanism(&self) -> Option<(&'static str, &Node)> {
        let (name, inner) = self.node.table()?.first()?;
        ENTRIES.iter().find(|entry| entry.name == name).map(|entry| (entry.name, inner))
    }

    /// A mechanism and whether it is switched on: `sfc = false` is no parameter.
    fn switch(&self) -> Option<(&'static str, bool)> {
        match self.of_mechanism()? {
            (name, Node { value: Value::Bool(on), .. }) => Some((name, *on)),
            _ => None,
        }
    }
}

/// All changes, each kind in the order in which it was given.
#[derive(Clone, Default)]
pub(crate) struct Changes {
    /// Names of existing variants.
    pub variants: Vec<String>,
    /// Mechanisms that are on regardless of the file.
    pub with: Vec<&'static str>,
    pub settings: Vec<Setting>,
}

/// A file with its changes.
pub(crate) struct Merged {
    pub root: Node,
    pub skipped: Vec<Skipped>,
    /// The first setting that is skipped though its caller did not allow that.
    pub refused: Option<ScenarioError>,
}

impl Changes {
    /// Merges everything over the root of a file.
    pub(crate) fn over(&self, file: &Node, variants: &Variants, source: &SourceText) -> Result<Merged, Misfit> {
        let mut root = file.clone();
        let switches = self.switches();
        for variant in self.variants.iter().filter_map(|name| variants.get(name)?.as_ref().ok()) {
            let mut variant = variant.clone();
            if let Some(table) = variant.table_mut() {
                // A mechanism that is on in the end keeps the values that it has below a variant that switches it off.
                let on = |key: &str| switches.iter().any(|(name, on, _)| *name == key && *on);
                table.retain(|key, node| !(matches!(node.value, Value::Bool(false)) && on(key)));
            }
            tree::merge(&mut root, &variant, &mut Vec::new())?;
        }
        for (name, on, layer) in switches {
            turn(&mut root, name, on, &layer);
        }
        let (mut skipped, mut refused) = (Vec::new(), None);
        for setting in self.settings.iter().filter(|setting| setting.switch().is_none()) {
            match setting.of_mechanism() {
                Some((mechanism, _)) if !is_on(&root, mechanism) => {
                    let reason = off(&root, mechanism, source);
                    if !setting.where_on {
                        refused.get_or_insert_with(|| refusal(setting, mechanism, &reason, &root, variants));
                    }
                    let (key, value) = (setting.key.clone(), setting.value.clone());
                    skipped.push(Skipped { key, value, mechanism: mechanism.to_owned(), reason });
                }
                _ => tree::merge(&mut root, &setting.node, &mut Vec::new())?,
            }
        }
        Ok(Merged { root, skipped, refused })
    }

    /// The last switch of each mechanism.
    fn switches(&self) -> Vec<(&'static str, bool, Layer)> {
        let mut last: Vec<(&'static str, bool, Layer)> = Vec::new();
        let with = self.with.iter().map(|name| (*name, true, Layer::With((*name).into())));
        let set = self.settings.iter().filter_map(|setting| {
            let (name, on) = setting.switch()?;
            Some((name, on, setting.node.origin.layer.clone()))
        });
        for switch in with.chain(set) {
            last.retain(|(known, ..)| *known != switch.0);
            last.push(switch);
        }
        last
    }
}

/// The registry's own name of a mechanism, or an error that lists them.
pub(crate) fn mechanism(name: &str) -> Result<&'static str, ScenarioError> {
    let names = || ENTRIES.iter().map(|entry| entry.name);
    names().find(|known| *known == name).ok_or_else(|| {
        let error = ScenarioError::new(format!("`{name}` is no mechanism")).file(format!("--with {name}"));
        let near = nearest(name, names()).map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let hint = format!("{near}there are: {}", names().collect::<Vec<_>>().join(", "));
        error.value(name).hint(hint)
    })
}

fn is_on(root: &Node, mechanism: &str) -> bool {
    let found = root.table().and_then(|table| table.get(mechanism));
    matches!(found.map(|node| &node.value), Some(Value::Table(_) | Value::Bool(true)))
}

/// Switches a mechanism on, with its values or none, or off.
fn turn(root: &mut Node, mechanism: &str, on: bool, layer: &Layer) {
    if is_on(root, mechanism) == on {
        return;
    }
    let origin = Origin { layer: layer.clone(), key: 0..0, value: 0..0 };
    let node = if on { Node::empty(origin) } else { Node { value: Value::Bool(false), origin } };
    if let Some(table) = root.table_mut() {
        table.insert(mechanism.to_owned(), node);
    }
}

/// The message that a mechanism is off, and which text switches it off, if any.
fn off(root: &Node, mechanism: &str, source: &SourceText) -> String {
    match root.table().and_then(|table| table.get(mechanism)) {
        Some(node) => format!("`{mechanism}` is off, by {}", node.origin.shown(source)),
        None => format!("`{mechanism}` is off"),
    }
}

fn refusal(setting: &Setting, mechanism: &str, reason: &str, root: &Node, variants: &Variants) -> ScenarioError {
    let error = ScenarioError {
        key: Some(setting.key.clone()),
        value: Some(setting.value.clone()),
        reason: format!("{reason}, and a setting does not switch it on"),
        ..ScenarioError::default().file(format!("--set {}={}", setting.key, setting.value))
    };
    let switch = root.table().and_then(|table| table.get(mechanism)).map(|node| &node.origin.layer);
    if matches!(switch, Some(Layer::Set(_))) {
        return error.hint(format!("leave out --set {mechanism}=false"));
    }
    let on = |variant: &Result<Node, _>| variant.as_ref().is_ok_and(|variant| is_on(variant, mechanism));
    let having = variants.iter().filter(|(_, variant)| on(variant)).map(|(name, _)| name.as_str());
    let having: Vec<&str> = having.collect();
    let also = match having.as_slice() {
        [] => String::new(),
        [one] => format!("; so does the variant {one}"),
        _ => format!("; so do the variants {}", having.join(", ")),
    };
    error.hint(format!("--with {mechanism} switches it on, in Python .enable(\"{mechanism}\"){also}"))
}
