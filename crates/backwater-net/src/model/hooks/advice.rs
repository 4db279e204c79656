//! Advice of a mechanism on its settings before a run: answers to questions, and checks of its own settings against the known incasts of a
//! scenario.

use super::SwitchShape;
use crate::config::{BufferPer, LatencyAt, SwitchParams};
use crate::model::packet::NodeId;
use crate::units::{Bytes, Rate};
use backwater_engine::Time;
use backwater_engine::quantity::QuantityError;
use serde::Serialize;
use serde_json::{Map, Value};
use std::str::FromStr;

/// A question to a mechanism: the command `backwater advise NAME`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AdviceForm {
    /// The command's description: a line, and paragraphs after blank lines.
    pub about: &'static str,
    /// Its options, in the order of its help.
    pub options: &'static [AdviceOption],
    /// True if a scenario may give values that no option gives ([`Mechanism::facts`](super::Mechanism::facts)).
    pub scenario: bool,
    /// How simulations of a scenario test the advice; `None`: they cannot.
    pub proof: Option<AdviceProof>,
}

/// A search by simulation around an advised value.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AdviceProof {
    /// The key whose value is sought.
    pub key: &'static str,
    /// True if the search is for the largest value at which the condition holds; otherwise for the smallest.
    pub largest: bool,
    /// The condition, of metrics, as goals of sweeps have them.
    pub condition: &'static str,
    /// Rows with the advised value: the first existing one counts.
    pub rows: &'static [&'static str],
    /// The fact or option that bounds the values; `None`: the key is unbounded.
    pub below: Option<&'static str>,
    /// The key of a size; the value is this size less that row. `None`: the row is the value.
    pub from: Option<&'static str>,
    /// Options that a simulation takes over, each with the key that it sets; other options describe another network than the scenario's.
    pub sets: &'static [(&'static str, &'static str)],
    /// The message where the scenario does not read the key; `None`: nothing is added.
    pub ineffective: Option<&'static str>,
    /// Options that choose how the advice is computed, and change nothing in a simulation.
    pub free: &'static [&'static str],
}

/// One option of such a command.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AdviceOption {
    /// Its key, such as `link_delay`.
    pub name: &'static str,
    /// Its help.
    pub help: &'static str,
    /// True if it is a whole number of at least 1; otherwise it is text, such as a quantity with its unit.
    pub whole: bool,
    /// Its value where neither an option nor a scenario gives one.
    pub default: Option<&'static str>,
}

/// Among facts: keys of the mechanism's own table that the scenario gives.
pub const WRITTEN: &str = "written";

/// A question: values of options, then of a scenario, then the form's defaults.
#[derive(Clone, Debug)]
pub struct Question {
    /// The form of the question.
    pub form: AdviceForm,
    /// Values of options: text, or whole numbers.
    pub given: Map<String, Value>,
    /// The scenario's name and its values, if a scenario is named.
    pub scenario: Option<(String, Map<String, Value>)>,
}

impl Question {
    /// Returns whether a value comes from the scenario.
    pub fn is_from_scenario(&self, key: &str) -> bool {
        !self.given.contains_key(key) && self.fact(key).is_some()
    }

    /// Returns whether the scenario gives a value of the mechanism itself, other than a default.
    pub fn is_written(&self, key: &str) -> bool {
        self.fact(WRITTEN).and_then(Value::as_array).is_some_and(|keys| keys.iter().any(|one| one == key))
    }

    /// Returns a value of the scenario.
    pub fn fact(&self, key: &str) -> Option<&Value> {
        self.scenario.as_ref()?.1.get(key).filter(|value| !value.is_null())
    }

    /// A value as text.
    pub fn text(&self, key: &str) -> Option<String> {
        let value = self.given.get(key).or_else(|| self.fact(key)).map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let default = || self.form.options.iter().find(|option| option.name == key)?.default;
        value.or_else(|| default().map(str::to_owned))
    }

    /// A quantity such as `200 Gb/s`; `None`: no value was given.
    ///
    /// # Errors
    /// The text is not such a quantity.
    pub fn quantity<T: FromStr<Err = QuantityError>>(&self, key: &'static str) -> Result<Option<T>, AdviceError> {
        let read = |text: String| {
            text.parse().map_err(|error: QuantityError| AdviceError {
                key: Some(key),
                value: Some(error.value),
                reason: error.reason,
                hint: Some(error.hint),
            })
        };
        self.text(key).map(read).transpose()
    }

    /// A whole number.
    ///
    /// # Errors
    /// The text is not a whole number.
    pub fn count(&self, key: &'static str) -> Result<Option<u64>, AdviceError> {
        let read = |text: String| {
            let error = AdviceError::new(format!("`{text}` is not a whole number from 0 to 2^64 - 1")).key(key);
            text.parse().map_err(|_| AdviceError { value: Some(text), ..error })
        };
        self.text(key).map(read).transpose()
    }
}

/// Requires a value.
///
/// # Errors
/// The value is missing.
pub fn needed<T>(key: &'static str, value: Option<T>) -> Result<T, AdviceError> {
    value.ok_or_else(|| AdviceError::new("is missing").key(key))
}

/// An advice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// The subject.
    pub title: String,
    /// The numbers.
    pub rows: Vec<AdviceRow>,
    /// Reasons why no setting is legal, or errors in the given one.
    pub problems: Vec<String>,
    /// True if a legal setting exists, and the given one is legal.
    pub feasible: bool,
    /// Disadvantages of the given setting that do not make it illegal.
    pub cautions: Vec<String>,
    /// The conclusion in sentences, and the values that were taken from the scenario.
    pub summary: Vec<String>,
    /// The numbers for programs, by names that end in their unit.
    #[serde(flatten)]
    pub numbers: Map<String, Value>,
}

/// One line of an advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdviceRow {
    /// Its name.
    pub name: String,
    /// The number.
    pub value: String,
    /// Its unit.
    pub unit: String,
    /// The formula.
    pub formula: String,
}

impl AdviceRow {
    /// A line whose value is a quantity as it prints, such as `4.8 us`.
    pub fn new(name: impl Into<String>, quantity: impl ToString, formula: impl Into<String>) -> AdviceRow {
        let text = quantity.to_string();
        let (value, unit) = text.split_once(' ').unwrap_or((&text, ""));
        AdviceRow { name: name.into(), value: value.into(), unit: unit.into(), formula: formula.into() }
    }

    /// Its value with its unit, as in a sentence.
    pub fn quantity(&self) -> String {
        format!("{} {}", self.value, self.unit)
    }
}

/// The reason why a question has no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdviceError {
    /// The value that cannot be used.
    pub key: Option<&'static str>,
    /// Its text.
    pub value: Option<String>,
    /// The error.
    pub reason: String,
    /// The correction.
    pub hint: Option<String>,
}

impl AdviceError {
    /// An error about no key.
    pub fn new(reason: impl Into<String>) -> AdviceError {
        AdviceError { reason: reason.into(), ..AdviceError::default() }
    }

    /// A number that is beyond counting.
    pub fn too_large(what: &str) -> AdviceError {
        AdviceError::new(format!("{what} is too large to be counted")).hint("give smaller values")
    }

    /// About a key.
    pub fn key(self, key: &'static str) -> AdviceError {
        AdviceError { key: Some(key), ..self }
    }

    /// With a hint.
    pub fn hint(self, hint: impl Into<String>) -> AdviceError {
        AdviceError { hint: Some(hint.into()), ..self }
    }
}

/// One link of a path, and the switch at its other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Time,
    /// Latency of the switch.
    pub latency: Time,
}

/// The paths of the data from several senders to one switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// Each different path from a sender to that switch, its links in order.
    pub different: Vec<Vec<Hop>>,
    /// Every switch on these paths.
    pub through: Vec<NodeId>,
    /// Senders whose data the links of these paths can bring at once, at the rate of the receiver's link.
    pub carried: u64,
    /// Bytes of the incast's class from one port, all in one queue, at which a mechanism of that switch pauses the port; and the key that
    /// decides it.
    pub pause_threshold: Option<(Bytes, String)>,
}

/// Flows that start at once from several hosts into one.
#[derive(Clone, Copy, Debug)]
pub struct Incast<'a> {
    /// Its number among those that are known.
    pub number: usize,
    /// The receiver's name.
    pub receiver: &'a str,
    /// The receiver's switch.
    pub shape: &'a SwitchShape,
    /// That switch's parameters.
    pub switch: &'a SwitchParams,
    /// Classes that some mechanism keeps from being dropped there, a bit each.
    pub lossless: u8,
    /// Class of the data.
    pub class: u8,
    /// Rate of the receiver's link.
    pub rate: Rate,
    /// Number of senders.
    pub senders: u64,
    /// Everything that they send, headers included.
    pub bytes: Bytes,
    /// True if others may send to the receiver as well.
    pub open: bool,
}

/// The incasts that a scenario is known to have at switches where a mechanism has one set of parameters.
pub trait Incasts {
    /// All known incasts, those with the fewest senders first.
    fn all(&self) -> Vec<Incast<'_>>;
    /// Returns the paths of one incast's data to its switch; `None`: part of the data takes other paths.
    fn paths(&self, incast: &Incast<'_>) -> Option<Paths>;
    /// Longest data frame.
    fn frame(&self) -> Bytes;
    /// \[bytes\] per frame that only the link counts.
    fn gap(&self) -> Bytes;
    /// Returns whether the scenario promises losslessness.
    fn is_lossless(&self) -> bool;
}

/// The largest incast that a scenario is known to have.
#[derive(Clone, Debug)]
pub struct LargestIncast {
    /// The receiver's name.
    pub receiver: String,
    /// Number of senders.
    pub senders: u64,
    /// Class of the data.
    pub class: u8,
    /// Everything that they send, headers included.
    pub bytes: Bytes,
}

/// Values of a scenario: of its largest known incast or, without one, of the path from its first host's farthest one.
#[derive(Clone, Debug)]
pub struct Situation {
    /// That incast, where one is known.
    pub incast: Option<LargestIncast>,
    /// True if jobs start flows. Flows of jobs are not known beforehand.
    pub jobs: bool,
    /// Rate of the receiver's link.
    pub rate: Rate,
    /// The paths of data to the receiver's switch.
    pub paths: Paths,
    /// The lowest threshold of all switches on these paths, the key that decides it, and the switch.
    pub lowest_pause_threshold: Option<(Bytes, String, String)>,
    /// Memory of one unit of that switch's `buffer_per`, and the key that gives it; `None`: unlimited.
    pub buffer: Option<(Bytes, &'static str)>,
    /// The unit of that memory.
    pub buffer_per: BufferPer,
    /// True if part of that memory is reserved, for a class or for frames that arrive after a pause.
    pub set_aside: bool,
    /// True if no switch has overrides, neither of the switch nor of the mechanism.
    pub alike: bool,
    /// True if a clock may make links faster than their rates.
    pub clocked: bool,
    /// Classes of the data and acknowledgements that are known, a bit each.
    pub classes: u8,
    /// Every link into a switch, as its port sends and as its neighbour does.
    pub into_switches: Vec<Hop>,
    /// The longest frame of any kind.
    pub longest_frame: Bytes,
    /// A cell of that switch's memory.
    pub cell: Bytes,
    /// The point at which that switch's latency is added.
    pub latency_at: LatencyAt,
    /// Longest data frame.
    pub frame: Bytes,
    /// \[bytes\] per frame that only the link counts.
    pub gap: Bytes,
}
