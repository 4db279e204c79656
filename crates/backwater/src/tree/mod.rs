//! A TOML document as a tree with the origin of every value, so that an error after any number of merges can be shown at its place.

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
