//! Elements of XML files with their lines.

use crate::error::ImportError;
use crate::note::Notes;
use roxmltree::{Document, Node};
use std::str::FromStr;

/// A format's definition of an element.
#[derive(Clone, Copy, Debug)]
pub struct Known<'k> {
    /// Its name.
    pub element: &'k str,
    /// Its attributes, in lists.
    pub attributes: &'k [&'k [&'k str]],
    /// Elements right below it. `None`: the reader reports other ones.
    pub below: Option<&'k [&'k str]>,
}

/// A document and the beginnings of its lines.
#[derive(Debug)]
pub struct Xml<'a> {
    file: &'a str,
    document: Document<'a>,
    lines: Vec<usize>,
}

impl<'a> Xml<'a> {
    /// Parses a text, which messages call `file`.
    pub fn parse(file: &'a str, text: &'a str) -> Result<Xml<'a>, ImportError> {
        let document = Document::parse(text).map_err(|error| {
            let reason = format!("not well-formed XML: {error}");
            ImportError::new(reason).file(file).line(error.pos().row.into())
        })?;
        let lines = text.bytes().enumerate().filter(|(_, octet)| *octet == b'\n').map(|(at, _)| at).collect();
        Ok(Xml { file, document, lines })
    }

    /// The outermost element.
    pub fn root(&self) -> Node<'_, 'a> {
        self.document.root_element()
    }

    /// The line of an element.
    pub fn line(&self, node: Node<'_, '_>) -> u64 {
        1 + self.lines.partition_point(|at| *at < node.range().start) as u64
    }

    /// Notes what a format does not define: attributes of its elements, elements below them, and text in them.
    pub fn note_unknown(&self, known: &[Known<'_>], notes: &mut Notes) {
        let of = |node: Node<'_, '_>| known.iter().find(|known| known.element == node.tag_name().name());
        for node in self.root().descendants() {
            let line = Some(self.line(node));
            if let Some(Known { element, attributes, .. }) = of(node) {
                let others = node.attributes().map(|own| own.name());
                for name in others.filter(|name| !attributes.iter().any(|list| list.contains(name))) {
                    let text = format!("attributes of <{element}> that are not known");
                    notes.unknown(self.file, line, &shortened(name), text);
                }
            }
            let Some(Known { element, below, .. }) = node.parent_element().and_then(of) else { continue };
            let name = node.tag_name().name();
            if node.is_element() && below.is_some_and(|below| !below.contains(&name)) {
                let text = format!("elements below <{element}> that are not known there");
                notes.unknown(self.file, line, &format!("<{}>", shortened(name)), text);
            }
            if node.is_text() && node.text().is_some_and(|text| !text.trim().is_empty()) {
                notes.ignored(self.file, line, format!("text in <{element}>"));
            }
        }
    }

    /// An error about an element.
    pub fn error(&self, node: Node<'_, '_>, reason: impl Into<String>) -> ImportError {
        ImportError::new(reason).file(self.file).line(self.line(node))
    }

    /// A required attribute, as a number.
    pub fn number<N: FromStr>(&self, node: Node<'_, '_>, name: &str) -> Result<N, ImportError> {
        let element = node.tag_name().name();
        let text = node.attribute(name).ok_or_else(|| self.error(node, format!("<{element}> has no {name}")))?;
        text.trim().parse().map_err(|_| self.error(node, format!("is no {name} of <{element}>")).value(text))
    }

    /// An optional attribute, as a number.
    pub fn optional<N: FromStr>(&self, node: Node<'_, '_>, name: &str) -> Result<Option<N>, ImportError> {
        node.attribute(name).map(|_| self.number(node, name)).transpose()
    }
}

fn shortened(name: &str) -> String {
    name.chars().take(40).collect()
}

/// The elements of this name right below another one.
pub fn below<'b, 'a: 'b>(node: Node<'b, 'a>, name: &'static str) -> impl Iterator<Item = Node<'b, 'a>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}
