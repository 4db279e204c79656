//! Single values against their schema: quantities with units, choices, numbers.

use super::Node;
use super::Value;
use super::walk::{Conform, at, wrong_kind};
use crate::error::{ScenarioError, nearest};
use backwater_engine::Time;
use backwater_engine::quantity::{QuantityError, TOO_MUCH};
use backwater_net::{Bytes, Rate};
use serde_json::Value as Json;

/// A scalar as text, numbers included, so that a missing unit is reported.
pub(super) fn plain(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text(_) | Value::Integer(_) | Value::Float(_) => Some(node.shown()),
        _ => None,
    }
}

/// A kind of quantity with its largest value: far beyond any use, and small enough for sums of two.
pub(super) trait Quantity: std::str::FromStr<Err = QuantityError> + PartialOrd + std::fmt::Display {
    const MOST: Self;
}

impl Quantity for Time {
    const MOST: Time = Time::MOST;
}

impl Quantity for Bytes {
    const MOST: Bytes = Bytes::MOST;
}

impl Quantity for Rate {
    const MOST: Rate = Rate::MOST;
}

pub(super) fn quantity<Q>(
    node: &mut Node,
    schema: &Json,
    path: &mut Vec<String>,
    cx: &Conform<'_>,
) -> Result<(), ScenarioError>
where
    Q: Quantity,
{
    if schema.get("x-per-direction").is_some()
        && let Some(each) = node.table_mut()
    {
        return each.iter_mut().filter(|(key, _)| *key == "ab" || *key == "ba").try_for_each(|(key, node)| {
            path.push(key.clone());
            let result = quantity::<Q>(node, schema, path, cx);
            path.pop();
            result
        });
    }
    let Some(text) = plain(node) else {
        let unit = schema.get("x-unit").and_then(Json::as_str).unwrap_or("a quantity");
        return Err(wrong_kind(node, path, cx, &format!("a {unit} in a string")));
    };
    let read = |text: &str| {
        text.parse::<Q>().map_err(|e| ScenarioError { reason: e.reason, ..at(node, path, cx) }.hint(e.hint))
    };
    let value = read(&text)?;
    if value > Q::MOST {
        let error = ScenarioError { reason: format!("`{text}` is more than {}", Q::MOST), ..at(node, path, cx) };
        return Err(error.hint(TOO_MUCH));
    }
    match schema.get("x-min").and_then(Json::as_str) {
        Some(least) if value < read(least)? => {
            let reason = format!("`{text}` is too little");
            Err(ScenarioError { reason, ..at(node, path, cx) }.hint(format!("at least {least}")))
        }
        _ => Ok(()),
    }
}

pub(super) fn choice(node: &Node, names: &[&str], path: &[String], cx: &Conform<'_>) -> Result<(), ScenarioError> {
    let all = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let Some(text) = node.text() else {
        return Err(wrong_kind(node, path, cx, &format!("one of {all}")));
    };
    if names.contains(&text) {
        return Ok(());
    }
    let what = path.last().map_or("value", String::as_str);
    let reason = format!("`{text}` is no known {what}");
    let hint = match nearest(text, names.iter().copied()) {
        Some(name) => format!("did you mean `{name}`? known: {all}"),
        None => format!("known: {all}"),
    };
    Err(ScenarioError { reason, ..at(node, path, cx) }.hint(hint))
}

pub(super) fn number(
    node: &Node,
    schema: &Json,
    path: &[String],
    cx: &Conform<'_>,
    whole: bool,
) -> Result<(), ScenarioError> {
    let value = match node.value {
        Value::Integer(n) => n as f64,
        Value::Float(x) if !whole => x,
        _ => {
            let error = wrong_kind(node, path, cx, if whole { "a whole number" } else { "a number" });
            let percent = node.text().and_then(|text| text.trim().strip_suffix('%')?.trim().parse::<f64>().ok());
            return Err(match percent.filter(|percent| !whole && percent.is_finite()) {
                Some(percent) => error.hint(format!("write it as a share of 1: {}", (percent * 1e9).round() / 1e11)),
                None => error,
            });
        }
    };
    let bound = |key| schema.get(key).and_then(Json::as_f64);
    let format = schema.get("format").and_then(Json::as_str).unwrap_or("");
    let most = bound("maximum").or(match format {
        "uint8" => Some(f64::from(u8::MAX)),
        "uint16" => Some(f64::from(u16::MAX)),
        "uint32" => Some(f64::from(u32::MAX)),
        _ => None,
    });
    let least = bound("minimum");
    let (text, error) = (node.shown(), || at(node, path, cx));
    let range = match schema.get("x-range").and_then(Json::as_str) {
        Some(text) => text.to_owned(),
        None => match (least, most) {
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("at least {least}"),
            (None, Some(most)) => format!("at most {most}"),
            (None, None) => return Ok(()),
        },
    };
    if most.is_some_and(|most| value > most) {
        return Err(
            ScenarioError { reason: format!("`{text}` is more than {}", shown_bound(most)), ..error() }.hint(range)
        );
    }
    if least.is_some_and(|least| value < least) {
        return Err(
            ScenarioError { reason: format!("`{text}` is less than {}", shown_bound(least)), ..error() }.hint(range)
        );
    }
    Ok(())
}

fn shown_bound(bound: Option<f64>) -> String {
    bound.map_or_else(String::new, |b| b.to_string())
}
