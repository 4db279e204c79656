//! A value with its place in the text, and the names of list entries.

use super::source::Origin;
use indexmap::IndexMap;
use serde_json::{Map, Number, Value as Json};
use std::collections::HashMap;

/// A value and its place in the text.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub value: Value,
    pub origin: Origin,
}

/// A table, in the order of the text.
pub(crate) type TomlTable = IndexMap<String, Node>;

/// A value. There are no dates: no key takes one.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Table(TomlTable),
}

impl Node {
    pub(crate) fn table(&self) -> Option<&TomlTable> {
        if let Value::Table(table) = &self.value { Some(table) } else { None }
    }

    pub(crate) fn table_mut(&mut self) -> Option<&mut TomlTable> {
        if let Value::Table(table) = &mut self.value { Some(table) } else { None }
    }

    pub(crate) fn list(&self) -> Option<&[Node]> {
        if let Value::List(list) = &self.value { Some(list) } else { None }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// An empty table without a place of its own.
    pub(crate) fn empty(origin: Origin) -> Node {
        Node { value: Value::Table(TomlTable::new()), origin }
    }

    /// The node at a dotted path; if the path leads further than the tree, the last node on it.
    pub(crate) fn nearest(&self, path: &[String]) -> (&Node, usize) {
        let mut node = self;
        for (depth, step) in path.iter().enumerate() {
            let next = match &node.value {
                Value::Table(table) => table.get(step),
                Value::List(list) => step.parse::<usize>().ok().and_then(|i| list.get(i)),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => return (node, depth),
            }
        }
        (node, path.len())
    }

    /// A dotted key of numbers in readable form: an entry of a list by its label, if that is unique.
    pub(crate) fn called(&self, key: &str) -> String {
        let mut node = Some(self);
        let steps = key.split('.').map(|step| {
            let at = node.take();
            let Some(list) = at.and_then(Node::list) else {
                node = at.and_then(Node::table).and_then(|table| table.get(step));
                return step.to_owned();
            };
            let Ok(number) = step.parse::<usize>() else { return step.to_owned() };
            node = list.get(number);
            unique_labels(list).remove(&number).unwrap_or_else(|| step.to_owned())
        });
        steps.collect::<Vec<_>>().join(".")
    }

    /// For serde and the JSON Schema.
    pub(crate) fn json(&self) -> Json {
        match &self.value {
            Value::Bool(b) => Json::Bool(*b),
            Value::Integer(n) => Json::Number((*n).into()),
            Value::Float(x) => Number::from_f64(*x).map_or(Json::Null, Json::Number),
            Value::Text(text) => Json::String(text.clone()),
            Value::List(list) => Json::Array(list.iter().map(Node::json).collect()),
            Value::Table(table) => Json::Object(table_json(table)),
        }
    }

    /// The value in TOML, short.
    pub(crate) fn shown(&self) -> String {
        match &self.value {
            Value::Text(text) => text.clone(),
            Value::Table(_) => "a table".into(),
            Value::List(list) if list.len() > 8 => format!("a list of {}", list.len()),
            _ => shown(&self.json()),
        }
    }

    /// Returns the kind of value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Bool(_) => "true or false",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

pub(crate) fn table_json(table: &TomlTable) -> Map<String, Json> {
    table.iter().map(|(key, node)| (key.clone(), node.json())).collect()
}

/// A JSON value as TOML writes it; strings without quotes, nothing as `absent`.
pub(crate) fn shown(value: &Json) -> String {
    match value {
        Json::Null => "absent".into(),
        Json::String(text) => text.clone(),
        Json::Array(list) => {
            let quoted = |v: &Json| if v.is_string() { v.to_string() } else { shown(v) };
            format!("[{}]", list.iter().map(quoted).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Keys by which an entry of a list can be named.
pub(crate) const LABELS: [&str; 2] = ["label", "name"];

fn entry_label(entry: &Node) -> Option<&str> {
    let table = entry.table()?;
    LABELS.iter().find_map(|label| table.get(*label)?.text())
}

pub(super) fn labels(list: &[Node]) -> Vec<String> {
    list.iter().enumerate().map(|(i, e)| entry_label(e).map_or_else(|| i.to_string(), str::to_owned)).collect()
}

/// By number: the name of each entry in a dotted key, if its label is unique.
pub(crate) fn unique_labels(list: &[Node]) -> HashMap<usize, String> {
    let mut numbers: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, label) in list.iter().enumerate().filter_map(|(i, entry)| Some((i, entry_label(entry)?))) {
        numbers.entry(label).or_default().push(i);
    }
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let plain = |label: &str| !label.is_empty() && label.chars().all(bare);
    let single = numbers.into_iter().filter(|(_, numbers)| numbers.len() == 1);
    // A label such as "a b" is quoted in a key, as in TOML.
    single.map(|(l, at)| (at[0], if plain(l) { l.to_owned() } else { Json::from(l).to_string() })).collect()
}

/// Numbers of the entries with a label, or with a number.
pub(super) fn entries_named(list: &[Node], name: &str) -> Vec<usize> {
    let labelled: Vec<usize> = (0..list.len()).filter(|i| entry_label(&list[*i]) == Some(name)).collect();
    if !labelled.is_empty() {
        return labelled;
    }
    name.parse().ok().filter(|i| *i < list.len()).into_iter().collect()
}
