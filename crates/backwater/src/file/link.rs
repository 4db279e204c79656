//! `[link]`: differences at some links of the topology.

use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::Rate;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use std::borrow::Cow;

/// Links of the topology.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    /// Time from a change of a link's state until the routes of all switches and hosts follow: detection, routing protocol and tables
    /// together. Until then frames go on to a link that is down, and are lost there; a link that is up again is not used. With 0 routes
    /// follow at once.
    #[param(
        default = Time::ZERO, range_text = "0 s and more",
        source = "RFC 7938 section 7 (BGP in data centres: detection of faults, propagation of events); default: choice"
    )]
    pub convergence: Time,
    /// Other values for some links of the topology, a `[[link.at]]` each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<LinkAt>,
}

impl Links {
    /// Returns whether no link differs, and routes follow at once.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty() && self.convergence == Time::ZERO
    }
}

/// Other values for the links between some nodes; if several entries set a value of a link, the last one applies.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct LinkAt {
    /// Two sets of nodes: all links between a node of one set and a node of the other, in both directions.
    #[serde(deserialize_with = "two")]
    #[schemars(with = "Option<Pair>")]
    #[param(source = "Backwater's own")]
    pub between: Option<[Nodes; 2]>,
    /// Sending nodes, instead of `between`: one direction of links, for `rate` and `loss`. Absent: any.
    #[param(source = "Backwater's own")]
    pub from: Option<Nodes>,
    /// Receiving nodes, instead of `between`. Absent: any.
    #[param(source = "Backwater's own")]
    pub to: Option<Nodes>,
    /// Number of one link among parallel links of two nodes, from 0 in the order of the topology. Absent: all of them.
    #[param(source = "Backwater's own")]
    pub number: Option<u32>,
    /// Rate of the links. Absent: the topology's.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub rate: Option<Rate>,
    /// Propagation delay in each direction. Absent: the topology's.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub delay: Option<Time>,
    /// Share of frames that are lost, each independently. Absent: none.
    #[param(bounds = 0.0..=1.0, source = "Backwater's own; independent losses: choice")]
    pub loss: Option<f64>,
    /// Whether the links are down from the start: ECMP does not use them until a fault of kind `link-up`. Absent: they are up.
    #[param(source = "Backwater's own")]
    pub down: Option<bool>,
}

fn two<'de, D: Deserializer<'de>>(d: D) -> Result<Option<[Nodes; 2]>, D::Error> {
    let Some(sets) = Option::<Vec<Nodes>>::deserialize(d)? else { return Ok(None) };
    let number = sets.len();
    let pair = <[Nodes; 2]>::try_from(sets).map(Some);
    pair.map_err(|_| {
        de::Error::custom(format!("{number} sets of nodes (hint: two of them, as in [\"leaf0\", \"tier spine\"])"))
    })
}

/// A set of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes(pub Vec<String>);

const FORM: &str = "a node as in \"leaf0\", a range of a tier as in \"leaf0..leaf3\" or \"leaf0..leaf7 step 2\", a tier as in \"tier spine\", a list of those, or \"all\"";

impl Serialize for Nodes {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => one.serialize(s),
            list => list.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Nodes, D::Error> {
        let entry = |value: serde_json::Value| match value {
            serde_json::Value::String(text) => Ok(text),
            other => Err(de::Error::custom(format!("`{other}` names no nodes (hint: {FORM})"))),
        };
        match serde_json::Value::deserialize(d)? {
            serde_json::Value::Array(list) => list.into_iter().map(entry).collect::<Result<_, _>>().map(Nodes),
            one => Ok(Nodes(vec![entry(one)?])),
        }
    }
}

impl JsonSchema for Nodes {
    fn schema_name() -> Cow<'static, str> {
        "Nodes".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "array"], "x-unit": "names of nodes", "x-range": FORM,
            "examples": ["leaf0", "leaf0..leaf3", "leaf0..leaf7 step 2", "tier spine", ["spine0", "spine3"], "all"] })
    }
    fn inline_schema() -> bool {
        true
    }
}

/// The schema of two sets of nodes.
struct Pair;

impl JsonSchema for Pair {
    fn schema_name() -> Cow<'static, str> {
        "Pair".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "x-unit": "two sets of nodes", "x-range": FORM,
            "examples": [["leaf0", "tier spine"], [["leaf0", "leaf1"], "spine0..spine3"]] })
    }
    fn inline_schema() -> bool {
        true
    }
}
