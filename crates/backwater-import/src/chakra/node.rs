//! A node of a trace in any of its forms.

use super::message;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::{BTreeMap, BTreeSet};

const NO_FLAG: &str = "is neither true nor false";

/// The kind of an operation, by its number in the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An operation without time: metadata, or a node that the tracer did not recognise.
    Nothing,
    /// A load from or a store to memory.
    Memory,
    /// A computation.
    Compute,
    /// A message is sent.
    Send,
    /// A message is received.
    Receive,
    /// A collective.
    Collective,
}

/// A node.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Its number, unique within a rank.
    pub id: u64,
    /// Its name from the tracer.
    pub name: String,
    /// Its type in the schema.
    pub kind: i64,
    /// Nodes that it waits for.
    pub deps: Vec<u64>,
    /// When it was recorded, in us.
    pub start_us: u64,
    /// How long it took, in us.
    pub duration_us: u64,
    /// True if a processor does it, not an accelerator; absent: unknown.
    pub cpu: Option<bool>,
    /// Operations of a computation.
    pub num_ops: Option<u64>,
    /// Type of the collective.
    pub comm_type: Option<u64>,
    /// Octets.
    pub comm_size: Option<u64>,
    /// Sender.
    pub comm_src: Option<u64>,
    /// Receiver.
    pub comm_dst: Option<u64>,
    /// Tag.
    pub comm_tag: Option<u64>,
    /// Priority.
    pub comm_priority: Option<u64>,
    /// Rank at the root of a broadcast.
    pub root: Option<u64>,
    /// Name of the group of a collective.
    pub group: Option<String>,
    /// Other attributes, by name.
    pub others: Vec<String>,
    /// Used attributes that cannot be read, by name, and why.
    pub unreadable: Vec<(String, &'static str)>,
}

impl Node {
    /// Returns its kind; `None`: a number that is not in the schema. A communication on the processor is the call that launches it:
    /// `Workload::issue` of astra-sim (commit 518bd51) computes for its duration.
    pub fn what(&self) -> Option<Kind> {
        Some(match self.kind {
            0 | 1 => Kind::Nothing,
            2 | 3 => Kind::Memory,
            4 => Kind::Compute,
            5..=7 if self.cpu == Some(true) => Kind::Compute,
            5 => Kind::Send,
            6 => Kind::Receive,
            7 => Kind::Collective,
            _ => return None,
        })
    }
}

impl From<message::Node> for Node {
    fn from(from: message::Node) -> Node {
        let mut deps = from.ctrl_deps;
        deps.extend(from.data_deps);
        let (id, name, kind) = (from.id, from.name, from.kind.into());
        let (start_us, duration_us) = (from.start_us, from.duration_us);
        let mut node = Node { id, name, kind, deps, start_us, duration_us, ..Node::default() };
        let parts = [("inputs", from.inputs.is_some()), ("outputs", from.outputs.is_some())];
        node.others.extend(parts.into_iter().filter(|(_, there)| *there).map(|(name, _)| name.to_owned()));
        let mut seen = BTreeSet::new();
        for attribute in from.attributes {
            let value = attribute.value.as_ref();
            if !seen.insert(attribute.name.clone()) {
                node.unreadable.push((attribute.name, "stands twice"));
                continue;
            }
            let place = match attribute.name.as_str() {
                "is_cpu_op" => {
                    node.cpu = value.and_then(message::Value::flag);
                    if node.cpu.is_none() {
                        node.unreadable.push((attribute.name, NO_FLAG));
                    }
                    continue;
                }
                "pg_name" => {
                    node.group = value.map(message::Value::text);
                    if node.group.is_none() {
                        node.unreadable.push((attribute.name, "is no text"));
                    }
                    continue;
                }
                "num_ops" => &mut node.num_ops,
                "comm_type" => &mut node.comm_type,
                "comm_size" => &mut node.comm_size,
                "comm_src" => &mut node.comm_src,
                "comm_dst" => &mut node.comm_dst,
                "comm_tag" => &mut node.comm_tag,
                "comm_priority" => &mut node.comm_priority,
                "root" | "root_rank" | "comm_root" => &mut node.root,
                _ => {
                    node.others.push(attribute.name);
                    continue;
                }
            };
            *place = value.and_then(message::Value::number);
            if place.is_none() {
                node.unreadable.push((attribute.name, "is no whole number of at least 0"));
            }
        }
        node
    }
}

/// The JSON form of a trace (`src/feeder/json_node.cpp` of mlcommons/chakra, commit 21585d8).
#[derive(Debug, Deserialize)]
pub struct Trace {
    /// Its nodes.
    pub workload_graph: Vec<JsonNode>,
    /// Other fields.
    #[serde(flatten)]
    pub others: BTreeMap<String, IgnoredAny>,
}

/// A node of the JSON form.
#[derive(Debug, Deserialize)]
pub struct JsonNode {
    #[serde(rename = "Id")]
    id: u64,
    #[serde(rename = "Name", default)]
    name: String,
    #[serde(rename = "NodeType")]
    kind: i64,
    #[serde(default)]
    is_cpu_op: Option<YesNo>,
    #[serde(default)]
    runtime: u64,
    #[serde(default)]
    ctrl_deps: Vec<u64>,
    #[serde(default)]
    data_deps: Vec<u64>,
    num_ops: Option<u64>,
    comm_type: Option<u64>,
    comm_size: Option<u64>,
    comm_src: Option<u64>,
    comm_dst: Option<u64>,
    comm_tag: Option<u64>,
    comm_priority: Option<u64>,
    pg_name: Option<String>,
    #[serde(flatten)]
    others: BTreeMap<String, IgnoredAny>,
}

/// `true` or 1, `false` or 0.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum YesNo {
    Word(bool),
    Number(u64),
}

impl From<JsonNode> for Node {
    fn from(from: JsonNode) -> Node {
        let mut deps = from.ctrl_deps;
        deps.extend(from.data_deps);
        Node {
            id: from.id,
            name: from.name,
            kind: from.kind,
            deps,
            start_us: 0,
            duration_us: from.runtime,
            cpu: from.is_cpu_op.and_then(|reported| match reported {
                YesNo::Word(yes) => Some(yes),
                YesNo::Number(0) => Some(false),
                YesNo::Number(1) => Some(true),
                YesNo::Number(_) => None,
            }),
            unreadable: match from.is_cpu_op {
                Some(YesNo::Number(2..)) => vec![("is_cpu_op".to_owned(), NO_FLAG)],
                _ => Vec::new(),
            },
            num_ops: from.num_ops,
            comm_type: from.comm_type,
            comm_size: from.comm_size,
            comm_src: from.comm_src,
            comm_dst: from.comm_dst,
            comm_tag: from.comm_tag,
            comm_priority: from.comm_priority,
            root: None,
            group: from.pg_name,
            others: from.others.into_keys().collect(),
        }
    }
}
