//! `[[flow]]`: groups of flows.

use super::hosts::Hosts;
use backwater_engine::Time;
use backwater_net::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;

/// A group of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowGroup {
    /// What results call the group. Groups of one label are one group in results. Variants and `--set` name a group by it: `flow.LABEL.size`.
    #[serde(default = "default_label")]
    pub label: String,
    /// Who sends to whom: `pairs`, `all-to-all`, `permutation` or `random`.
    #[serde(default = "default_pattern")]
    pub pattern: Pattern,
    /// Senders. Absent: all hosts.
    #[serde(default)]
    pub from: Option<Hosts>,
    /// Receivers. Absent: all hosts.
    #[serde(default)]
    pub to: Option<Hosts>,
    /// Payload of each flow. Not for `bernoulli`, which has no end but `until`, and tables.
    #[serde(default)]
    #[schemars(extend("x-min" = "1 B"))]
    pub size: Option<Bytes>,
    /// Distribution of the payload of flows, instead of `size`, for `periodic` and `poisson`: `google-rpc`, `web-search`, `hadoop`, `storage`, `data-mining`, or a file of lines `BYTES PERCENT`, relative to the scenario.
    #[serde(default)]
    pub sizes: Option<String>,
    /// When the flows, or the arrivals of flows, begin.
    #[serde(default)]
    pub start: Time,
    /// Class of the data, 0 to 7.
    #[serde(default = "default_class")]
    #[schemars(range(min = 0, max = 7), extend("x-source" = "choice: RoCEv2 deployments commonly use 3"))]
    pub class: u8,
    /// Whether the packets are ECN-capable.
    #[serde(default = "default_ect")]
    pub ect: bool,
    /// Every node of the way, both hosts included; a list of such lists gives each pair its own. Absent: ECMP.
    #[serde(default)]
    #[schemars(with = "Option<Waypoints>")]
    pub path: Option<Waypoints>,
    /// Nodes to pass in this order, by the shortest way between them; a list of lists gives each pair its own. Absent: ECMP.
    #[serde(default)]
    #[schemars(with = "Option<Waypoints>")]
    pub via: Option<Waypoints>,
    /// When flows start: `once`, `periodic`, `poisson`, or as a stream, `bernoulli`.
    #[serde(default = "default_arrivals")]
    pub arrivals: Arrivals,
    /// Share of its link that each source offers, headers, preamble and gap included, over all its pairs together. For `periodic`, `poisson` and `bernoulli`.
    #[serde(default)]
    pub load: Option<Share>,
    /// Time between two flows of one source (`poisson`: on average), instead of `load`.
    #[serde(default)]
    #[schemars(extend("x-min" = "1 ps"))]
    pub interval: Option<Time>,
    /// No flow starts from here on. Absent: `stop.at`.
    #[serde(default)]
    pub until: Option<Time>,
    /// Flows of each pair (`random`: of each sender). Absent: 1 for `once`, else as many as begin before `until`.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub count: Option<u64>,
    /// Packets of a `bernoulli` stream that may wait at its source, the one on the wire not counted; a packet that finds so many there is never sent, and counted in `blocked_bytes`. Absent: any number.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000), extend("x-source" = "choice; 4 is fitted to BCN + Pause Simulation Results, October 2006"))]
    pub queue: Option<u32>,
    /// File with one flow a row, relative to the scenario: `.csv` or `.parquet` with the columns id, src, dst, bytes, start (ps, or with a unit), class, and maybe path (node names with blanks between).
    #[serde(default)]
    pub table: Option<String>,
}

fn default_label() -> String {
    "flows".into()
}

fn default_pattern() -> Pattern {
    Pattern::Pairs
}

fn default_class() -> u8 {
    3
}

fn default_ect() -> bool {
    true
}

fn default_arrivals() -> Arrivals {
    Arrivals::Once
}

/// Who sends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// The n-th sender to the n-th receiver; a single one on either side serves all of the other: an incast has one receiver.
    Pairs,
    /// Every sender to every receiver but itself.
    AllToAll,
    /// Every sender to one receiver and every receiver from one sender, at random by the seed, none to itself. `from` and `to` are the same set.
    Permutation,
    /// Each flow to a receiver drawn anew, never the sender itself.
    Random,
}

/// When flows start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At `start`.
    Once,
    /// At `start` and then every `interval`.
    Periodic,
    /// With exponentially distributed times between them.
    Poisson,
    /// One stream per pair: in each slot of a full packet's time one packet becomes available with probability `load`.
    Bernoulli,
}

/// A share, written as a percentage: `"40 %"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(pub f64);

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 1e-9 of a percent is far below anything that a run could show, and hides that 0.07 x 100 is not 7 in binary.
        write!(f, "{} %", (self.0 * 1e11).round() / 1e9)
    }
}

impl std::str::FromStr for Share {
    type Err = String;
    fn from_str(text: &str) -> Result<Share, String> {
        let hint = "a share is a percentage, as in \"40 %\"";
        let Some(number) = text.trim().strip_suffix('%') else {
            return Err(format!("`{text}` has no unit (hint: {hint})"));
        };
        match number.trim().parse::<f64>() {
            Ok(percent) if percent.is_finite() && percent > 0.0 => Ok(Share(percent / 100.0)),
            _ => Err(format!("`{text}` is not a share above 0 % (hint: {hint})")),
        }
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Share, D::Error> {
        String::deserialize(d)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "x-unit": "share (%)", "x-range": "above 0 %; all groups of a source at most 100 % together",
            "examples": ["40 %"], "pattern": r"^\s*[0-9]*\.?[0-9]+\s*%\s*$" })
    }
    fn inline_schema() -> bool {
        true
    }
}

/// Node names: one list for all pairs, or one list for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Waypoints {
    /// For all pairs.
    All(Vec<String>),
    /// For each pair its own.
    Each(Vec<Vec<String>>),
}

impl Waypoints {
    /// Those of a pair, by its number.
    pub fn of(&self, pair: usize) -> Option<&[String]> {
        match self {
            Waypoints::All(names) => Some(names),
            Waypoints::Each(lists) => lists.get(pair).map(Vec::as_slice),
        }
    }
}

impl<'de> Deserialize<'de> for Waypoints {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Waypoints, D::Error> {
        let value = serde_json::Value::deserialize(d)?;
        let wrong = |_| {
            de::Error::custom(
                "not a list of node names (hint: as in [\"spine6\"], or a list of lists, one for each pair)",
            )
        };
        let nested = value.as_array().is_some_and(|list| list.first().is_some_and(serde_json::Value::is_array));
        if nested {
            serde_json::from_value(value).map(Waypoints::Each).map_err(wrong)
        } else {
            serde_json::from_value(value).map(Waypoints::All).map_err(wrong)
        }
    }
}

impl JsonSchema for Waypoints {
    fn schema_name() -> Cow<'static, str> {
        "Waypoints".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": { "type": ["string", "array"] }, "x-unit": "node names",
            "examples": [["spine6"], [["spine0"], ["spine1"]]] })
    }
    fn inline_schema() -> bool {
        true
    }
}
