//! A trace as printed by `chakra_jsonizer` (`src/jsonizer/jsonizer.py` of mlcommons/chakra, commit 21585d8): the messages of the protobuf
//! form as JSON objects, one after the other, without an array around them. Numbers of 64 bits are texts, and default values are left out.
//! Names of fields are those of the schema or, as printed by protobuf, in camel case.

use super::message::{Attribute, GlobalMetadata, Node, Value};
use crate::error::ImportError;
use crate::source::{Head, Source};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Read};

/// Types of nodes, by their number in the schema.
const TYPES: [&str; 8] = [
    "INVALID_NODE",
    "METADATA_NODE",
    "MEM_LOAD_NODE",
    "MEM_STORE_NODE",
    "COMP_NODE",
    "COMM_SEND_NODE",
    "COMM_RECV_NODE",
    "COMM_COLL_NODE",
];

/// An object: the metadata, or a node.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Printed {
    version: Option<String>,
    id: Option<Number>,
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<Type>,
    #[serde(default, alias = "ctrlDeps")]
    ctrl_deps: Vec<Number>,
    #[serde(default, alias = "dataDeps")]
    data_deps: Vec<Number>,
    #[serde(default, alias = "startTimeMicros")]
    start_time_micros: Number,
    #[serde(default, alias = "durationMicros")]
    duration_micros: Number,
    inputs: Option<IgnoredAny>,
    outputs: Option<IgnoredAny>,
    #[serde(default)]
    attr: Vec<PrintedAttribute>,
}

/// A type by its name or its number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Type {
    Name(String),
    Number(i32),
}

/// A whole number, perhaps as text.
#[derive(Debug, Default)]
struct Number(u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Number, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(u64),
            Text(String),
        }
        match Form::deserialize(from)? {
            Form::Number(number) => Ok(Number(number)),
            Form::Text(text) => text.parse().map(Number).map_err(serde::de::Error::custom),
        }
    }
}

#[derive(Debug, Deserialize)]
struct PrintedAttribute {
    #[serde(default)]
    name: String,
    #[serde(flatten)]
    others: BTreeMap<String, serde_json::Value>,
}

impl PrintedAttribute {
    /// Returns the fields other than its name and its value or list.
    fn unknown(&self) -> impl Iterator<Item = String> + '_ {
        let ends = ["Val", "_val", "List", "_list"];
        let others = self.others.keys().filter(move |key| !ends.iter().any(|end| key.ends_with(end)));
        others.map(|key| format!("{} of attributes", key.chars().take(40).collect::<String>()))
    }
}

impl From<PrintedAttribute> for Attribute {
    fn from(from: PrintedAttribute) -> Attribute {
        let value = from.others.into_iter().find(|(key, _)| key.ends_with("Val") || key.ends_with("_val"));
        let value = value.and_then(|(_, value)| match value {
            serde_json::Value::Bool(yes) => Some(Value::Bool(yes)),
            serde_json::Value::String(text) => Some(Value::Text(text)),
            serde_json::Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => Some(Value::Uint64(number)),
                (None, Some(number)) => Some(Value::Int64(number)),
                (None, None) => number.as_f64().map(Value::Double),
            },
            _ => None,
        });
        Attribute { name: from.name, value }
    }
}

impl Printed {
    fn is_node(&self) -> bool {
        self.version.is_none() && (self.id.is_some() || self.name.is_some() || self.kind.is_some())
    }

    fn into_metadata(self) -> GlobalMetadata {
        GlobalMetadata {
            version: self.version.unwrap_or_default(),
            attributes: self.attr.into_iter().map(Attribute::from).collect(),
        }
    }

    /// Converts to the node that was printed; an `Err` contains the name of a type that is not in the schema.
    fn into_node(self) -> Result<Node, String> {
        let numbers = |list: Vec<Number>| list.into_iter().map(|Number(number)| number).collect();
        let kind = match self.kind {
            None => 0,
            Some(Type::Number(number)) => number,
            Some(Type::Name(name)) => match (0..).zip(TYPES).find(|(_, known)| *known == name) {
                Some((number, _)) => number,
                None => return Err(name),
            },
        };
        Ok(Node {
            id: self.id.unwrap_or_default().0,
            name: self.name.unwrap_or_default(),
            kind,
            ctrl_deps: numbers(self.ctrl_deps),
            data_deps: numbers(self.data_deps),
            start_us: self.start_time_micros.0,
            duration_us: self.duration_micros.0,
            inputs: self.inputs.map(|_| Vec::new()),
            outputs: self.outputs.map(|_| Vec::new()),
            attributes: self.attr.into_iter().map(Attribute::from).collect(),
        })
    }
}

/// The part of an object by which a trace is recognised.
#[derive(Deserialize)]
struct Glance {
    #[serde(rename = "type")]
    kind: Option<serde_json::Value>,
}

/// Returns whether a file is such a trace: the first or the second object has a type of a node.
pub fn recognise(head: &Head) -> bool {
    let objects = serde_json::Deserializer::from_slice(&head.octets).into_iter::<Glance>();
    let mut kinds = objects.take(2).map_while(Result::ok).filter_map(|object| object.kind);
    kinds.any(|kind| kind.as_str().is_some_and(|kind| kind.ends_with("_NODE")))
}

/// The messages of a file.
pub struct Objects<'a> {
    source: &'a Source,
    objects: serde_json::StreamDeserializer<'a, serde_json::de::IoRead<BufReader<Box<dyn Read + 'a>>>, Printed>,
    /// The first object, if it is a node.
    first: Option<Printed>,
    /// Unknown fields of attributes.
    pub unknown: BTreeSet<String>,
}

impl<'a> Objects<'a> {
    /// Opens a file; returns its metadata, too.
    pub fn open(source: &'a Source) -> Result<(Objects<'a>, GlobalMetadata), ImportError> {
        let objects = serde_json::Deserializer::from_reader(BufReader::new(source.open()?)).into_iter();
        let mut objects = Objects { source, objects, first: None, unknown: BTreeSet::new() };
        let metadata = match objects.object()? {
            Some(first) if first.is_node() => {
                objects.first = Some(first);
                GlobalMetadata::default()
            }
            Some(first) => first.into_metadata(),
            None => return Err(source.error("an empty file").hint("a trace begins with its metadata")),
        };
        Ok((objects, metadata))
    }

    /// The next node. `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<Node>, ImportError> {
        let object = match self.first.take() {
            Some(first) => Some(first),
            None => self.object()?,
        };
        let unknown = |name: String| {
            self.source.error("is no type of a node").value(name).hint(format!("types are {}", TYPES.join(", ")))
        };
        object.map(|object| object.into_node().map_err(unknown)).transpose()
    }

    fn object(&mut self) -> Result<Option<Printed>, ImportError> {
        let object = self.objects.next().transpose();
        let object = object.map_err(|error| self.source.error(error.to_string()).line(error.line() as u64))?;
        let attributes = object.iter().flat_map(|object: &Printed| &object.attr);
        self.unknown.extend(attributes.flat_map(PrintedAttribute::unknown));
        Ok(object)
    }
}
