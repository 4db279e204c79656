//! What a walk through the tree knows, and errors at one of its nodes.

use super::{Node, SourceText};
use crate::error::ScenarioError;

/// What the walk knows.
pub(crate) struct Conform<'a> {
    pub source: &'a SourceText,
    /// Whether the tree is the whole scenario: required keys are missed, lists are lists.
    pub complete: bool,
    /// Whether a table may stand for a list, to change single entries of it by label or number.
    pub entries: bool,
}

/// An error at a node.
pub(super) fn at(node: &Node, path: &[String], cx: &Conform<'_>) -> ScenarioError {
    ScenarioError { key: Some(path.join(".")), value: Some(node.shown()), ..node.origin.error(cx.source) }
}

/// A node is not what is wanted.
pub(super) fn wrong_kind(node: &Node, path: &[String], cx: &Conform<'_>, wanted: &str) -> ScenarioError {
    let is = node.kind();
    ScenarioError { reason: format!("needs {wanted}, not {is}"), ..at(node, path, cx) }
}
