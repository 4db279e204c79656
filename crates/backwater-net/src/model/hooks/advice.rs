//! What a mechanism says before a run of the settings that it should have: advice that is asked for, and whether its own settings
//! suit the incasts that a scenario is known to have.

use super::SwitchShape;
use crate::config::{BufferPer, LatencyAt, SwitchParams};
use crate::model::packet::NodeId;
use crate::units::{Bytes, Rate};
use backwater_engine::Time;
use backwater_engine::quantity::QuantityError;
use serde::Serialize;
use serde_json::{Map, Value};
use std::str::FromStr;

/// What a mechanism may be asked: the command `backwater advise NAME`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AdviceForm {
    /// What the command says of itself: a line, and paragraphs after blank lines.
    pub about: &'static str,
    /// Its options, in the order of its help.
    pub options: &'static [AdviceOption],
    /// Whether a scenario may give what no option does ([`Mechanism::facts`](super::Mechanism::facts)).
    pub scenario: bool,
    /// How simulations of a scenario tell whether the advice holds there; `None`: they do not.
    pub proof: Option<AdviceProof>,
}

/// What is sought by simulation around an advised value.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AdviceProof {
    /// The key whose value is sought.
    pub key: &'static str,
    /// Whether the largest value is sought at which the condition holds; otherwise the smallest.
    pub largest: bool,
    /// The condition, of metrics, as goals of sweeps have them.
    pub condition: &'static str,
    /// Rows with the advised value: the first of them that there is.
    pub rows: &'static [&'static str],
    /// The fact or option beyond which there are no values; `None`: the key has none.
    pub below: Option<&'static str>,
    /// The key of a size from which that row is taken away to give the value; `None`: the row is the value.
    pub from: Option<&'static str>,
    /// Options that a simulation takes over, each with the key that it sets; other options describe another network than the scenario's.
    pub sets: &'static [(&'static str, &'static str)],
    /// What to say where the scenario does not read the key; `None`: there is nothing to add.
    pub ineffective: Option<&'static str>,
    /// Options that choose how the advice is worked out, and change nothing of a simulation.
    pub free: &'static [&'static str],
}

/// One option of such a command.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AdviceOption {
    /// Its key, such as `link_delay`.
    pub name: &'static str,
    /// Its help.
    pub help: &'static str,
    /// Whether it is a whole number from 1 on; otherwise it is text, such as a quantity with its unit.
    pub whole: bool,
    /// Its value where neither an option nor a scenario gives one.
    pub default: Option<&'static str>,
}

/// Among facts: keys of the mechanism's own table that the scenario gives.
pub const WRITTEN: &str = "written";

/// A question: what options give, then what a scenario gives, then the form's defaults.
#[derive(Clone, Debug)]
pub struct Question {
    /// What is asked.
    pub form: AdviceForm,
    /// Values of options: text, or whole numbers.
    pub given: Map<String, Value>,
    /// The scenario's name and what it says, where one is named.
    pub scenario: Option<(String, Map<String, Value>)>,
}

impl Question {
    /// Whether a value comes from the scenario.
    pub fn is_from_scenario(&self, key: &str) -> bool {
        !self.given.contains_key(key) && self.fact(key).is_some()
    }

    /// Whether the scenario gives a value of the mechanism itself, and it is no default.
    pub fn is_written(&self, key: &str) -> bool {
        self.fact(WRITTEN).and_then(Value::as_array).is_some_and(|keys| keys.iter().any(|one| one == key))
    }

    /// What the scenario says.
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

    /// A quantity such as `200 Gb/s`; `None`: nobody gives it.
    ///
    /// # Errors
    /// The text is no such quantity.
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
    /// The text is none.
    pub fn count(&self, key: &'static str) -> Result<Option<u64>, AdviceError> {
        let read = |text: String| {
            let error = AdviceError::new(format!("`{text}` is not a whole number from 0 to 2^64 - 1")).key(key);
            text.parse().map_err(|_| AdviceError { value: Some(text), ..error })
        };
        self.text(key).map(read).transpose()
    }
}

/// Asks for what has to be given.
///
/// # Errors
/// It is not.
pub fn needed<T>(key: &'static str, value: Option<T>) -> Result<T, AdviceError> {
    value.ok_or_else(|| AdviceError::new("is missing").key(key))
}

/// An advice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// What is advised on.
    pub title: String,
    /// The numbers.
    pub rows: Vec<AdviceRow>,
    /// Why there is no legal setting, or what is wrong with the one in mind.
    pub problems: Vec<String>,
    /// Whether there is a legal setting, and the one in mind is one.
    pub feasible: bool,
    /// What speaks against the setting in mind without making it illegal.
    pub cautions: Vec<String>,
    /// What it comes to, in sentences, and what was taken from the scenario.
    pub summary: Vec<String>,
    /// The numbers for programs, by names that end in their unit.
    #[serde(flatten)]
    pub numbers: Map<String, Value>,
}

/// One line of an advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdviceRow {
    /// What it is.
    pub name: String,
    /// The number.
    pub value: String,
    /// Its unit.
    pub unit: String,
    /// How it came about.
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

/// Why a question has no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdviceError {
    /// The value that cannot be used.
    pub key: Option<&'static str>,
    /// Its text.
    pub value: Option<String>,
    /// What is wrong.
    pub reason: String,
    /// What would be right.
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

/// One link of a path, and the switch at its far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Time,
    /// Latency of the switch.
    pub latency: Time,
}

/// How the data of several senders comes to one switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// Each different path from a sender to that switch, its links in order.
    pub different: Vec<Vec<Hop>>,
    /// Every switch on these paths.
    pub through: Vec<NodeId>,
    /// Senders whose data the links of these paths can bring at once, at the rate of the receiver's link.
    pub carried: u64,
    /// Bytes of the incast's class from one port, all in one queue, with which a mechanism pauses that port at that switch, and the
    /// key that decides it.
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
    /// Whether others may send to the receiver as well.
    pub open: bool,
}

/// The incasts that a scenario is known to have at switches where a mechanism has one set of parameters.
pub trait Incasts {
    /// All of them, those with the fewest senders first.
    fn all(&self) -> Vec<Incast<'_>>;
    /// How the data of one comes to its switch; `None`: not all of it does.
    fn paths(&self, incast: &Incast<'_>) -> Option<Paths>;
    /// Longest data frame.
    fn frame(&self) -> Bytes;
    /// \[bytes\] per frame that only the link counts.
    fn gap(&self) -> Bytes;
    /// Whether the scenario promises losslessness.
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

/// What a scenario says of its largest known incast or, without one, of the path from its first host's farthest one.
#[derive(Clone, Debug)]
pub struct Situation {
    /// That incast, where one is known.
    pub incast: Option<LargestIncast>,
    /// Whether jobs start flows, of which none are known beforehand.
    pub jobs: bool,
    /// Rate of the receiver's link.
    pub rate: Rate,
    /// How data comes to the receiver's switch.
    pub paths: Paths,
    /// The lowest threshold of all switches on these paths, the key that decides it, and the switch.
    pub lowest_pause_threshold: Option<(Bytes, String, String)>,
    /// Memory of one unit of that switch's `buffer_per`, and the key that gives it; `None`: it has no end.
    pub buffer: Option<(Bytes, &'static str)>,
    /// What that memory is one of.
    pub buffer_per: BufferPer,
    /// Whether part of that memory is set aside, for a class or for what comes after a pause.
    pub set_aside: bool,
    /// Whether nothing is overridden for single switches, neither of the switch nor of the mechanism.
    pub alike: bool,
    /// Whether a clock may make links faster than their rates.
    pub clocked: bool,
    /// Classes of the data and acknowledgements that are known, a bit each.
    pub classes: u8,
    /// Every link into a switch, as its port sends and as its neighbour does.
    pub into_switches: Vec<Hop>,
    /// The longest frame of any kind.
    pub longest_frame: Bytes,
    /// Where that switch's latency passes.
    pub latency_at: LatencyAt,
    /// Longest data frame.
    pub frame: Bytes,
    /// \[bytes\] per frame that only the link counts.
    pub gap: Bytes,
}
