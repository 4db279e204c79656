//! Elements of XML files with their lines.

use crate::error::ImportError;
use roxmltree::{Document, Node};
use std::str::FromStr;

/// A document and where its lines begin.
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

    /// An error about an element.
    pub fn error(&self, node: Node<'_, '_>, reason: impl Into<String>) -> ImportError {
        ImportError::new(reason).file(self.file).line(self.line(node))
    }

    /// An attribute that has to be there, as a number.
    pub fn number<N: FromStr>(&self, node: Node<'_, '_>, name: &str) -> Result<N, ImportError> {
        let element = node.tag_name().name();
        let text = node.attribute(name).ok_or_else(|| self.error(node, format!("<{element}> has no {name}")))?;
        text.trim().parse().map_err(|_| self.error(node, format!("is no {name} of <{element}>")).value(text))
    }

    /// An attribute that may be absent, as a number.
    pub fn optional<N: FromStr>(&self, node: Node<'_, '_>, name: &str) -> Result<Option<N>, ImportError> {
        node.attribute(name).map(|_| self.number(node, name)).transpose()
    }
}

/// The elements of this name right below another one.
pub fn below<'b, 'a: 'b>(node: Node<'b, 'a>, name: &'static str) -> impl Iterator<Item = Node<'b, 'a>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}
