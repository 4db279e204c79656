//! Thresholds, headroom and pause times from rates and delays, itemised.

mod bound;
mod facts;
mod pfc;
mod question;
mod sfc;

pub use bound::{SfcBound, bound as sfc_bound};
pub(crate) use facts::pfc_limit;
pub use facts::{SfcFacts, sfc_facts};
pub use pfc::{PfcModel, PfcQuestion, pfc};
pub use question::{MESSAGE as SFC_MESSAGE, SfcQuestion};
pub use sfc::{SfcNumbers, numbers as sfc_numbers, sfc};
pub(crate) use sfc::{Way, headroom as sfc_headroom};

use crate::error::ScenarioError;
use serde::Serialize;

/// One line of an advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What it is.
    pub name: String,
    /// The number.
    pub value: String,
    /// Its unit.
    pub unit: String,
    /// How it came about.
    pub formula: String,
}

/// An advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// What is advised on.
    pub title: String,
    /// The numbers.
    pub rows: Vec<Row>,
    /// Why there is no legal setting, or what is wrong with the one in mind.
    pub problems: Vec<String>,
    /// Whether there is a legal setting, and the one in mind is one.
    pub feasible: bool,
    /// What this project's bound has against the setting in mind; it decides nothing.
    pub cautions: Vec<String>,
}

impl Row {
    /// A line whose value is a quantity as it prints, such as `4.8 us`.
    fn new(name: impl Into<String>, quantity: impl ToString, formula: impl Into<String>) -> Row {
        let text = quantity.to_string();
        let (value, unit) = text.split_once(' ').unwrap_or((&text, ""));
        Row { name: name.into(), value: value.into(), unit: unit.into(), formula: formula.into() }
    }
}

/// A number that is beyond counting.
fn too_large(what: &str) -> ScenarioError {
    ScenarioError::new(format!("{what} is too large to be counted")).hint("give smaller values")
}
