//! A TOML document as a tree in which every value knows where it was written, so that what is found wrong after any number
//! of merges can be shown in its place.

mod conform;
mod scalar;
mod source;
mod walk;

pub(crate) use conform::{Kind, conform, hinted, kind_of, some_of, together};
pub(crate) use source::{Layer, Origin, SourceText};
pub(crate) use walk::Conform;

use crate::error::ScenarioError;
use indexmap::IndexMap;
use serde_json::{Map, Number, Value as Json};
use std::collections::HashMap;
use toml::de::{DeTable, DeValue};

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub value: Value,
    pub origin: Origin,
}

/// A table, in the order of the text.
pub(crate) type TomlTable = IndexMap<String, Node>;

/// A value. Dates do not exist: no key takes one.
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

    /// An empty table that is written nowhere of its own.
    pub(crate) fn empty(origin: Origin) -> Node {
        Node { value: Value::Table(TomlTable::new()), origin }
    }

    /// The node at a dotted path; of a path that leads further than the tree, the last one on it.
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

    /// A dotted key of numbers as people write it: an entry of a list by its label, where that is no other's.
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

    /// For serde and for the JSON Schema's sake.
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

    /// What kind of value it is, for messages.
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

/// Reads a document; its tables and values come from `layer`.
pub(crate) fn parse(source: &SourceText, layer: &Layer) -> Result<TomlTable, ScenarioError> {
    let document = DeTable::parse(source.text()).map_err(|error| {
        let place = error.span().map_or_else(ScenarioError::default, |span| source.place(span));
        let reason = format!("not valid TOML: {}", error.message().lines().collect::<Vec<_>>().join(", "));
        ScenarioError { reason, ..place }
            .hint("a line is `key = value`, `[table]` or `# comment`; text stands in \"quotes\"")
    })?;
    let mut path = Vec::new();
    convert_table(document.get_ref(), source, layer, &mut path)
}

/// Reads one value; `None` where the text is no TOML value.
pub(crate) fn parse_value(text: &str, layer: &Layer) -> Option<Result<Node, ScenarioError>> {
    let value = DeValue::parse(text).ok()?;
    let source = SourceText::new("--set", "");
    Some(convert(
        value.get_ref(),
        Origin { layer: layer.clone(), key: 0..0, value: 0..0 },
        &source,
        layer,
        &mut Vec::new(),
    ))
}

fn convert_table(
    table: &DeTable<'_>,
    source: &SourceText,
    layer: &Layer,
    path: &mut Vec<String>,
) -> Result<TomlTable, ScenarioError> {
    let mut out = TomlTable::with_capacity(table.len());
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        let origin = Origin { layer: layer.clone(), key: key.span(), value: value.span() };
        out.insert(key.get_ref().to_string(), convert(value.get_ref(), origin, source, layer, path)?);
        path.pop();
    }
    Ok(out)
}

fn convert(
    value: &DeValue<'_>,
    origin: Origin,
    source: &SourceText,
    layer: &Layer,
    path: &mut Vec<String>,
) -> Result<Node, ScenarioError> {
    let refuse = |what: &str, reason: &str, hint: &str| {
        let place =
            ScenarioError { key: Some(path.join(".")), value: Some(what.into()), ..source.place(origin.value.clone()) };
        Err(ScenarioError { reason: reason.into(), ..place }.hint(hint))
    };
    let value = match value {
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Value::Integer(n),
            Err(_) => return refuse(n.as_str(), "the number is too large", "whole numbers are below 2^63"),
        },
        DeValue::Float(x) => match x.as_str().parse::<f64>() {
            Ok(x) if x.is_finite() => Value::Float(x),
            _ => {
                return refuse(
                    x.as_str(),
                    &format!("`{}` is not a finite number", x.as_str()),
                    "write a number, as in 0.5",
                );
            }
        },
        DeValue::Datetime(date) => {
            return refuse(&date.to_string(), "no key takes a date", "times are simulated: \"10 ms\"");
        }
        DeValue::Array(list) => {
            let mut out = Vec::with_capacity(list.len());
            for (i, entry) in list.iter().enumerate() {
                path.push(i.to_string());
                let origin = Origin { layer: layer.clone(), key: entry.span(), value: entry.span() };
                out.push(convert(entry.get_ref(), origin, source, layer, path)?);
                path.pop();
            }
            Value::List(out)
        }
        DeValue::Table(table) => Value::Table(convert_table(table, source, layer, path)?),
    };
    Ok(Node { value, origin })
}

/// Merges `over` into `base`: tables key by key, a table over a list entry by entry (named by label or number), anything
/// else replaces. The result of a replaced value has the origin of what replaced it.
pub(crate) fn merge(base: &mut Node, over: &Node, path: &mut Vec<String>) -> Result<(), Misfit> {
    match (&mut base.value, &over.value) {
        (Value::Table(base), Value::Table(over)) => merge_tables(base, over, path),
        (Value::List(list), Value::Table(over)) => {
            for (name, entry) in over {
                path.push(name.clone());
                let hits = entries_named(list, name);
                if hits.is_empty() {
                    return Err(Misfit { path: path.clone(), origin: entry.origin.clone(), names: labels(list) });
                }
                for hit in hits {
                    merge(&mut list[hit], entry, path)?;
                }
                path.pop();
            }
            Ok(())
        }
        _ => {
            *base = over.clone();
            Ok(())
        }
    }
}

pub(crate) fn merge_tables(base: &mut TomlTable, over: &TomlTable, path: &mut Vec<String>) -> Result<(), Misfit> {
    for (key, node) in over {
        path.push(key.clone());
        match base.get_mut(key) {
            Some(old) => merge(old, node, path)?,
            None => {
                base.insert(key.clone(), node.clone());
            }
        }
        path.pop();
    }
    Ok(())
}

/// An override of a list entry that does not exist.
pub(crate) struct Misfit {
    pub path: Vec<String>,
    pub origin: Origin,
    /// What the entries are called.
    pub names: Vec<String>,
}

/// Keys by which an entry of a list can be named.
pub(crate) const LABELS: [&str; 2] = ["label", "name"];

fn entry_label(entry: &Node) -> Option<&str> {
    let table = entry.table()?;
    LABELS.iter().find_map(|label| table.get(*label)?.text())
}

fn labels(list: &[Node]) -> Vec<String> {
    list.iter().enumerate().map(|(i, e)| entry_label(e).map_or_else(|| i.to_string(), str::to_owned)).collect()
}

/// By number: what each entry can be called in a dotted key, where its label is no other's.
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

/// Numbers of the entries of a label, else of a number.
fn entries_named(list: &[Node], name: &str) -> Vec<usize> {
    let labelled: Vec<usize> = (0..list.len()).filter(|i| entry_label(&list[*i]) == Some(name)).collect();
    if !labelled.is_empty() {
        return labelled;
    }
    name.parse().ok().filter(|i| *i < list.len()).into_iter().collect()
}

/// The steps of a dotted key; steps may be quoted as in TOML.
pub(crate) fn split_key(key: &str) -> Option<Vec<String>> {
    if key.contains(['\n', '\r', '=', '#', '[', '{']) {
        return None;
    }
    let table = parse(&SourceText::new("--set", format!("{key} = 0")), &Layer::File).ok()?;
    let mut steps = Vec::new();
    let mut level = &table;
    loop {
        let (step, node) = level.first().filter(|_| level.len() == 1)?;
        steps.push(step.clone());
        match &node.value {
            Value::Table(inner) => level = inner,
            _ => return Some(steps),
        }
    }
}
