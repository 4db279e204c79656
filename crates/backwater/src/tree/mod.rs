//! A TOML document as a tree in which every value knows where it was written, so that what is found wrong after any number
//! of merges can be shown in its place.

mod conform;
mod merge;
mod node;
mod parse;
mod scalar;
mod source;
mod walk;

pub(crate) use conform::{Kind, conform, hinted, kind_of, some_of, together};
pub(crate) use merge::{Misfit, merge, merge_tables};
pub(crate) use node::{LABELS, Node, TomlTable, Value, shown, table_json, unique_labels};
pub(crate) use parse::{parse, parse_value, split_key};
pub(crate) use source::{Layer, Origin, SourceText};
pub(crate) use walk::Conform;
