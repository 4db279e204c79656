//! Words between blanks, with their lines: the elements of files that C++ reads with `>>`.

use crate::error::ImportError;
use std::str::FromStr;

/// The words of a text.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    file: &'a str,
    rest: &'a str,
    line: u64,
}

/// A word and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word.
    pub text: &'a str,
    /// Its line, from 1.
    pub line: u64,
}

impl<'a> Words<'a> {
    /// The words of `text`, which messages call `file`.
    pub fn new(file: &'a str, text: &'a str) -> Words<'a> {
        Words { file, rest: text, line: 1 }
    }

    /// Returns the name of the file in messages.
    pub fn file(&self) -> &'a str {
        self.file
    }

    /// The line that has been read up to.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The next word, if there is one.
    pub fn next_word(&mut self) -> Option<Word<'a>> {
        let word = self.rest.trim_start();
        let skipped = &self.rest[..self.rest.len() - word.len()];
        self.line += skipped.bytes().filter(|b| *b == b'\n').count() as u64;
        let end = word.find(char::is_whitespace).unwrap_or(word.len());
        let (text, rest) = word.split_at(end);
        self.rest = rest;
        (!text.is_empty()).then_some(Word { text, line: self.line })
    }

    /// The next word; `what` describes the expected one.
    pub fn word(&mut self, what: &str) -> Result<Word<'a>, ImportError> {
        let line = self.line;
        self.next_word().ok_or_else(|| self.error(line, format!("the file ends where {what} should stand")))
    }

    /// The next word as a number.
    pub fn number<N: FromStr>(&mut self, what: &str) -> Result<N, ImportError> {
        let word = self.word(what)?;
        word.text.parse().map_err(|_| self.error(word.line, format!("is not {what}")).value(word.text))
    }

    /// An error at a line.
    pub fn error(&self, line: u64, reason: impl Into<String>) -> ImportError {
        ImportError::new(reason).file(self.file).line(line)
    }
}
