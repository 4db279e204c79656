//! Derived from the declaration of parameters (`#[backwater_derive::parameters]`): their list, their ranges, their schema.

use crate::units::{Bytes, Rate};
use backwater_engine::Time;
use schemars::Schema;
use serde_json::Value as Json;
use std::fmt;

/// An error or a warning about a mechanism's parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// True if the run must not start.
    pub fatal: bool,
    /// The key within the mechanism's table.
    pub key: &'static str,
    /// The problem.
    pub reason: String,
    /// The correction.
    pub hint: String,
}

impl Finding {
    /// A finding that stops the run from starting.
    pub fn fatal(key: &'static str, reason: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding { fatal: true, key, reason: reason.into(), hint: hint.into() }
    }

    /// A finding that is a warning.
    pub fn warning(key: &'static str, reason: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding { fatal: false, key, reason: reason.into(), hint: hint.into() }
    }
}

/// The parameters of a table, each declared once.
pub trait Parameters {
    /// All, in the order of the declaration; those of a flattened table are in that table's list.
    fn list() -> Vec<Parameter>;
    /// The parameters that are out of their range, all fatal.
    fn out_of_range(&self) -> Vec<Finding>;
}

/// A parameter as it is declared; its meaning and default are in the schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its key within the table.
    pub key: &'static str,
    /// Its name in the source.
    pub symbol: Option<&'static str>,
    /// Its unit, where the type does not say it.
    pub unit: Option<&'static str>,
    /// The source of it, or of its default.
    pub source: &'static str,
    /// Another name of the key.
    pub alias: Option<&'static str>,
    /// Its range as text; `None` if its entries have `bounds`.
    pub range: Option<String>,
    /// Bounds by their keywords in JSON Schema, where they are numbers.
    pub bounds: Vec<(&'static str, Json)>,
    /// True if these apply to each entry of a list.
    pub each: bool,
    /// Bounds that the reader of a scenario checks, by their keywords in the schema.
    pub limits: Vec<(&'static str, Json)>,
    /// True if a value may be given for each direction of a link.
    pub per_direction: bool,
}

/// Adds the declarations of `P` to its schema: `x-symbol`, `x-unit`, `x-source`, `x-range`, `x-alias` and the bounds of numbers.
pub fn describe<P: Parameters>(schema: &mut Schema) {
    let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut) else { return };
    for parameter in P::list() {
        let Some(about) = properties.get_mut(parameter.key).and_then(Json::as_object_mut) else { continue };
        // Keeps the keywords of JSON Schema together.
        let default = about.shift_remove_entry("default");
        let (own, keywords): (Vec<_>, Vec<_>) =
            parameter.limits.into_iter().partition(|(key, _)| key.starts_with("x-"));
        let named = |(key, limit): (&str, Json)| (key.to_owned(), limit);
        about.extend(keywords.into_iter().map(named).chain(default).chain(own.into_iter().map(named)));
        about.extend(parameter.per_direction.then(|| ("x-per-direction".to_owned(), true.into())));
        let texts = [("x-symbol", parameter.symbol), ("x-unit", parameter.unit), ("x-source", Some(parameter.source))];
        let texts = texts.into_iter().chain([("x-alias", parameter.alias)]);
        about.extend(texts.filter_map(|(key, text)| Some((key.to_owned(), text?.into()))));
        about.extend(parameter.range.map(|range| ("x-range".to_owned(), range.into())));
        let bounded = if parameter.each { about.get_mut("items").and_then(Json::as_object_mut) } else { Some(about) };
        if let Some(bounded) = bounded {
            bounded.extend(parameter.bounds.into_iter().map(|(key, bound)| (key.to_owned(), bound)));
        }
    }
}

/// Texts for messages about a parameter that is out of its range.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its key within the table.
    pub key: &'static str,
    /// Why a value outside is wrong.
    pub why: Option<&'static str>,
    /// Its meaning.
    pub meaning: &'static str,
}

/// One end of a range.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound<T> {
    /// A value.
    Value(T),
    /// Another parameter, with its value if it is known.
    Key(&'static str, Option<T>),
}

impl<T: Scalar> Bound<T> {
    fn value(&self) -> Option<&T> {
        match self {
            Bound::Value(value) => Some(value),
            Bound::Key(_, value) => value.as_ref(),
        }
    }
}

impl<T: Scalar> fmt::Display for Bound<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Value(value) => write!(f, "{value}"),
            Bound::Key(key, None) => f.write_str(key),
            Bound::Key(key, Some(value)) => write!(f, "{key} ({value})"),
        }
    }
}

/// The permitted values of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Range<T> {
    /// The lower bound.
    pub least: Option<Bound<T>>,
    /// True if the lower bound itself is excluded.
    pub above: bool,
    /// The upper bound.
    pub most: Option<Bound<T>>,
    /// True if the upper bound itself is excluded.
    pub below: bool,
    /// The text of an upper bound that only a run knows.
    pub up_to: Option<&'static str>,
}

impl<T: Scalar> fmt::Display for Range<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = match (&self.most, self.up_to) {
            (Some(most), _) if self.below => Some(format!("below {most}")),
            (Some(most), _) => Some(most.to_string()),
            (None, text) => text.map(str::to_owned),
        };
        match (&self.least, most) {
            (Some(least), Some(most)) if self.above => write!(f, "above {least} to {most}"),
            (Some(least), Some(most)) => write!(f, "{least} to {most}"),
            (Some(least), None) if self.above => write!(f, "above {least}"),
            (Some(least), None) => write!(f, "{least} and more"),
            (None, Some(most)) if self.below => f.write_str(&most),
            (None, Some(most)) => write!(f, "at most {most}"),
            (None, None) => f.write_str("any"),
        }
    }
}

impl<T: Scalar> Range<T> {
    /// The bounds by their keywords in JSON Schema, where they are numbers.
    pub fn bounds(&self) -> Vec<(&'static str, Json)> {
        let number = |bound: &Option<Bound<T>>| match bound {
            Some(Bound::Value(value)) => value.number(),
            _ => None,
        };
        let least = number(&self.least).map(|n| (if self.above { "exclusiveMinimum" } else { "minimum" }, n));
        let most = number(&self.most).map(|n| (if self.below { "exclusiveMaximum" } else { "maximum" }, n));
        least.into_iter().chain(most).collect()
    }

    /// The bounds by their keywords in the schema of a scenario: those of JSON Schema, and `x-min` of a quantity.
    pub fn limits(&self) -> Vec<(&'static str, Json)> {
        let quantity = self.least.as_ref().and_then(Bound::value).filter(|least| least.number().is_none());
        let least = quantity.map(|least| ("x-min", least.to_string().into()));
        least.into_iter().chain(self.bounds()).collect()
    }

    /// Returns the problem with the first of `values` that is out of range, if any. `usual` is the default.
    pub fn finding(&self, about: &About, values: &impl Values<T>, usual: &impl Values<T>) -> Option<Finding> {
        let wrong = values.all().find_map(|value| self.wrong(about.key, value))?;
        let why = about.why.map_or_else(String::new, |why| format!(": {why}"));
        let hint = match usual.first() {
            Some(usual) => format!("{self}; the default is {usual}"),
            None => format!("{self}: {}", about.meaning),
        };
        Some(Finding::fatal(about.key, format!("{wrong}{why}"), hint))
    }

    fn wrong(&self, key: &str, value: &T) -> Option<String> {
        if !value.is_finite() {
            return Some(format!("{value} is no finite number"));
        }
        let shown = |bound: &Bound<T>| match bound {
            Bound::Key(..) => format!("{key} ({value})"),
            Bound::Value(_) => value.to_string(),
        };
        let least = self.least.as_ref().and_then(|bound| Some((bound, bound.value()?)));
        let most = self.most.as_ref().and_then(|bound| Some((bound, bound.value()?)));
        match (least, most) {
            (Some((bound, least)), _) if self.above && value <= least => {
                Some(format!("{} is not above {bound}", shown(bound)))
            }
            (Some((bound, least)), _) if value < least => Some(format!("{} is below {bound}", shown(bound))),
            (_, Some((bound, most))) if self.below && value >= most => {
                Some(format!("{} is not below {bound}", shown(bound)))
            }
            (_, Some((bound, most))) if value > most => Some(format!("{} is above {bound}", shown(bound))),
            _ => None,
        }
    }
}

/// A value type that can have a range.
pub trait Scalar: PartialOrd + Clone + fmt::Display + 'static {
    /// The value as a number of JSON, if it is written as one.
    fn number(&self) -> Option<Json> {
        None
    }
    /// Returns whether it is a number that can be compared.
    fn is_finite(&self) -> bool {
        true
    }
}

impl Scalar for Time {}
impl Scalar for Bytes {}
impl Scalar for Rate {}

impl Scalar for f64 {
    fn number(&self) -> Option<Json> {
        Some((*self).into())
    }
    fn is_finite(&self) -> bool {
        f64::is_finite(*self)
    }
}

macro_rules! whole {
    ($($t:ty),+) => {
        $(impl Scalar for $t {
            fn number(&self) -> Option<Json> {
                Some((*self).into())
            }
        })+
    };
}
whole!(u8, u16, u32, u64, i8, i64);

/// The values of a parameter: one, none if it is absent, or those of a list.
pub trait Values<T: Scalar> {
    /// All.
    fn all(&self) -> impl Iterator<Item = &T>;
    /// The only one, or the first of several.
    fn first(&self) -> Option<T> {
        self.all().next().cloned()
    }
}

impl<T: Scalar> Values<T> for T {
    fn all(&self) -> impl Iterator<Item = &T> {
        std::iter::once(self)
    }
}

impl<T: Scalar> Values<T> for Option<T> {
    fn all(&self) -> impl Iterator<Item = &T> {
        self.iter()
    }
}

impl<T: Scalar> Values<T> for Vec<T> {
    fn all(&self) -> impl Iterator<Item = &T> {
        self.iter()
    }
}

impl<T: Scalar> Values<T> for Option<Vec<T>> {
    fn all(&self) -> impl Iterator<Item = &T> {
        self.iter().flatten()
    }
}

#[cfg(test)]
mod tests;
