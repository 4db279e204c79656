//! The origin of values.

use crate::error::ScenarioError;
use std::ops::Range;
use std::sync::Arc;

/// A text and its name in messages.
#[derive(Debug)]
pub(crate) struct SourceText {
    name: String,
    text: String,
    /// Offsets of line starts.
    lines: Vec<usize>,
}

impl SourceText {
    pub(crate) fn new(name: impl Into<String>, text: impl Into<String>) -> SourceText {
        let text = text.into();
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        SourceText { name: name.into(), text, lines }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Line of an offset, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset).max(1)
    }

    /// An error with a place only.
    pub(crate) fn place(&self, span: Range<usize>) -> ScenarioError {
        let line = self.line(span.start);
        let start = self.lines[line - 1];
        let end = self.lines.get(line).map_or(self.text.len(), |next| next - 1);
        let text = self.text.get(start..end).unwrap_or("").trim_end_matches('\r');
        let at = self.text.get(start..span.start.min(end)).map_or(0, |before| before.chars().count());
        let width =
            self.text.get(span.start..span.end.min(end).max(span.start)).map_or(1, |meant| meant.chars().count());
        ScenarioError {
            file: Some(self.name.clone()),
            line: Some(line),
            column: Some(at + 1),
            excerpt: Some((text.to_owned(), width.max(1))),
            ..ScenarioError::default()
        }
    }
}

/// The kind of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// The scenario.
    File,
    /// A variant in it.
    Variant(Arc<str>),
    /// A mechanism of this name, switched on.
    With(Arc<str>),
    /// An override, `key=value`.
    Set(Arc<str>),
    /// A mechanism's preset of this name.
    Preset(Arc<str>),
}

impl Layer {
    /// Returns whether its values override those of another.
    pub(crate) fn above(&self, other: &Layer) -> bool {
        let rank = |layer: &Layer| match layer {
            Layer::Preset(_) => 0,
            Layer::File => 1,
            Layer::Variant(_) => 2,
            Layer::With(_) => 3,
            Layer::Set(_) => 4,
        };
        rank(self) > rank(other)
    }
}

/// The origin of a value: spans refer to the scenario's text, and are empty for other layers.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub layer: Layer,
    pub key: Range<usize>,
    pub value: Range<usize>,
}

impl Origin {
    /// As shown by `values()`.
    pub(crate) fn shown(&self, source: &SourceText) -> String {
        let place = || format!("{}:{}", source.name(), source.line(self.value.start));
        match &self.layer {
            Layer::File => place(),
            Layer::Variant(name) => format!("variant {name} ({})", place()),
            Layer::With(_) => "--with".into(),
            Layer::Set(_) => "--set".into(),
            Layer::Preset(name) => format!("preset {name}"),
        }
    }

    /// An error at its value.
    pub(crate) fn error(&self, source: &SourceText) -> ScenarioError {
        self.error_at(source, self.value.clone())
    }

    /// An error at its key.
    pub(crate) fn error_at_key(&self, source: &SourceText) -> ScenarioError {
        self.error_at(source, self.key.clone())
    }

    fn error_at(&self, source: &SourceText, span: Range<usize>) -> ScenarioError {
        let elsewhere = |name: String| ScenarioError { file: Some(name), ..ScenarioError::default() };
        match &self.layer {
            Layer::File | Layer::Variant(_) => source.place(span),
            Layer::With(name) => elsewhere(format!("--with {name}")),
            Layer::Set(text) => elsewhere(format!("--set {text}")),
            Layer::Preset(name) => elsewhere(format!("preset {name}")),
        }
    }
}
