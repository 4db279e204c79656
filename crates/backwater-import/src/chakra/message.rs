//! The used parts of the messages of Chakra's execution traces: `schema/protobuf/et_def.proto` of mlcommons/chakra (commit 21585d8). Fields
//! that are not declared here are skipped, and [`super::stream`] reports them.

/// The first message of a file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GlobalMetadata {
    /// Version of the schema.
    #[prost(string, tag = "1")]
    pub version: String,
    /// Further attributes.
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<Attribute>,
}

/// An operation of a rank.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Node {
    /// Its number. Absent if it is 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its name from the tracer.
    #[prost(string, tag = "2")]
    pub name: String,
    /// 1 metadata, 2 load, 3 store, 4 computation, 5 send, 6 receive, 7 collective.
    #[prost(int32, tag = "3")]
    pub kind: i32,
    /// Nodes before it in the program.
    #[prost(uint64, repeated, tag = "4")]
    pub ctrl_deps: Vec<u64>,
    /// Nodes whose data it needs.
    #[prost(uint64, repeated, tag = "5")]
    pub data_deps: Vec<u64>,
    /// When it was recorded, in us.
    #[prost(uint64, tag = "6")]
    pub start_us: u64,
    /// How long it took, in us.
    #[prost(uint64, tag = "7")]
    pub duration_us: u64,
    /// Tensors that it reads.
    #[prost(bytes = "vec", optional, tag = "8")]
    pub inputs: Option<Vec<u8>>,
    /// Tensors that it writes.
    #[prost(bytes = "vec", optional, tag = "9")]
    pub outputs: Option<Vec<u8>>,
    /// Further attributes.
    #[prost(message, repeated, tag = "10")]
    pub attributes: Vec<Attribute>,
}

/// A named value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Attribute {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The value, of one of many types; lists are skipped.
    #[prost(oneof = "Value", tags = "3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29")]
    pub value: Option<Value>,
}

/// The value of an attribute: writers use different types for the same attribute.
#[derive(Clone, PartialEq, prost::Oneof)]
#[allow(missing_docs)]
pub enum Value {
    #[prost(double, tag = "3")]
    Double(f64),
    #[prost(float, tag = "5")]
    Float(f32),
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(string, tag = "29")]
    Text(String),
}

impl Value {
    /// As a number of the schema, which is not negative.
    pub fn number(&self) -> Option<u64> {
        match self {
            Value::Double(x) => whole(*x),
            Value::Float(x) => whole(f64::from(*x)),
            Value::Int32(n) | Value::Sint32(n) | Value::Sfixed32(n) => u64::try_from(*n).ok(),
            Value::Int64(n) | Value::Sint64(n) | Value::Sfixed64(n) => u64::try_from(*n).ok(),
            Value::Uint32(n) | Value::Fixed32(n) => Some((*n).into()),
            Value::Uint64(n) | Value::Fixed64(n) => Some(*n),
            Value::Bool(yes) => Some((*yes).into()),
            Value::Text(text) => text.parse().ok(),
        }
    }

    /// As a truth value: also 1 and 0, and the words.
    pub fn flag(&self) -> Option<bool> {
        match (self, self.number()) {
            (Value::Text(text), None) => text.parse().ok(),
            (_, Some(0)) => Some(false),
            (_, Some(1)) => Some(true),
            _ => None,
        }
    }

    /// As text.
    pub fn text(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            other => other.number().map_or_else(|| "?".to_owned(), |number| number.to_string()),
        }
    }
}

fn whole(x: f64) -> Option<u64> {
    // Below 2^63 each is exact.
    (x >= 0.0 && x.fract() == 0.0 && x < 9.2e18).then_some(x as u64)
}
