//! Sets of hosts: `3`, `"h3"`, `"0..7"`, `"0..7 step 2"`, `"at tor0..tor3"`, a list of those, or `"all"`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use std::borrow::Cow;

/// One entry of a set of hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Host {
    /// By number.
    Number(u32),
    /// By name; a range `first..last` with both ends included, or every n-th of it with `step n`; `at` a switch or a range of switches.
    Text(String),
}

/// A set of hosts, in the order as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Hosts {
    /// One entry, or `"all"`.
    One(Host),
    /// A list of entries.
    List(Vec<Host>),
}

impl Hosts {
    /// The entries.
    pub fn entries(&self) -> &[Host] {
        match self {
            Hosts::One(host) => std::slice::from_ref(host),
            Hosts::List(list) => list,
        }
    }
}

const FORM: &str = "a host is a number, a name as in \"h3\", a range as in \"0..7\" or \"0..7 step 2\", those at switches as in \"at tor0..tor3\", a list of those, or \"all\"";

const ONE: &str = "a host is a number, or a name as in \"h3\"; this is for one";

impl<'de> Deserialize<'de> for Host {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Host, D::Error> {
        entry(serde_json::Value::deserialize(d)?, ONE).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Hosts {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Hosts, D::Error> {
        let read = |value| entry(value, FORM);
        let hosts = match serde_json::Value::deserialize(d)? {
            serde_json::Value::Array(list) => list.into_iter().map(read).collect::<Result<_, _>>().map(Hosts::List),
            one => read(one).map(Hosts::One),
        };
        hosts.map_err(de::Error::custom)
    }
}

/// One entry; an error names the permitted forms.
fn entry(value: serde_json::Value, form: &str) -> Result<Host, String> {
    match value {
        serde_json::Value::Number(n) => match n.as_u64().and_then(|n| u32::try_from(n).ok()) {
            Some(n) => Ok(Host::Number(n)),
            None => Err(format!("`{n}` is not a host number (hint: {form})")),
        },
        serde_json::Value::String(text) => Ok(Host::Text(text)),
        other => Err(format!("`{other}` is not a host (hint: {form})")),
    }
}

impl JsonSchema for Hosts {
    fn schema_name() -> Cow<'static, str> {
        "Hosts".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string", "array"], "x-unit": "host numbers or names",
            "x-range": FORM, "examples": [0, "h3", "0..7", "0..7 step 2", "at tor0..tor3", [0, 4, "8..11"], "all"] })
    }
    fn inline_schema() -> bool {
        true
    }
}
