//! The state of a walk through the tree, and errors at its nodes.

use super::{Node, SourceText};
use crate::error::ScenarioError;
use std::cell::RefCell;

/// The state of the walk, and missing keys.
pub(crate) struct Conform<'a> {
    pub source: &'a SourceText,
    /// True if the tree is the whole scenario: required keys must be present, lists are lists.
    pub complete: bool,
    /// True if a table may stand for a list, to change single entries of it by label or number.
    pub entries: bool,
    /// An error for each missing required key: all of them are reported at once.
    pub missing: RefCell<Vec<ScenarioError>>,
}

impl<'a> Conform<'a> {
    /// A walk through the whole scenario.
    pub(crate) fn whole(source: &'a SourceText) -> Conform<'a> {
        Conform { source, complete: true, entries: false, missing: RefCell::default() }
    }

    /// A walk through a tree that changes parts of it.
    pub(crate) fn layer(source: &'a SourceText, entries: bool) -> Conform<'a> {
        Conform { complete: false, entries, ..Conform::whole(source) }
    }
}

/// An error at a node.
pub(super) fn at(node: &Node, path: &[String], cx: &Conform<'_>) -> ScenarioError {
    ScenarioError { key: Some(path.join(".")), value: Some(node.shown()), ..node.origin.error(cx.source) }
}

/// A node of the wrong kind.
pub(super) fn wrong_kind(node: &Node, path: &[String], cx: &Conform<'_>, wanted: &str) -> ScenarioError {
    let is = node.kind();
    ScenarioError { reason: format!("needs {wanted}, not {is}"), ..at(node, path, cx) }
}
