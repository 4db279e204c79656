//! From TOML to a tree.

use super::node::{Node, TomlTable, Value};
use super::source::{Layer, Origin, SourceText};
use crate::error::ScenarioError;
use toml::de::{DeTable, DeValue};

/// Reads a document; its tables and values have the origin `layer`.
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

/// Reads one value; `None` if the text is no TOML value.
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
