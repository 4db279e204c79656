//! Errors of an import: place, value, reason, hint.

use std::fmt;

/// A file that cannot be imported. [`fmt::Display`] gives the complete message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportError {
    /// The file as given.
    pub file: Option<String>,
    /// Line in it, from 1; absent for binary files, whose reasons name the octet.
    pub line: Option<u64>,
    /// The text there, shortened.
    pub value: Option<String>,
    /// The reason.
    pub reason: String,
    /// The correction.
    pub hint: Option<String>,
}

/// Longest value that a message repeats: a file may hold kilobytes of anything in one word.
const LONGEST: usize = 60;

impl ImportError {
    /// An error without a place.
    pub fn new(reason: impl Into<String>) -> ImportError {
        ImportError { reason: reason.into(), ..ImportError::default() }
    }

    /// About a value, whose first characters the message shows.
    pub fn value(mut self, value: impl AsRef<str>) -> ImportError {
        let shown = value.as_ref().chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c });
        self.value = Some(shown.collect());
        self
    }

    /// With a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> ImportError {
        self.hint = Some(hint.into());
        self
    }

    /// In a file, unless it already has one.
    pub fn file(mut self, name: impl Into<String>) -> ImportError {
        self.file.get_or_insert_with(|| name.into());
        self
    }

    /// At a line, from 1.
    pub fn line(mut self, line: u64) -> ImportError {
        self.line = Some(line);
        self
    }
}

impl fmt::Display for ImportError {
    /// ```text
    /// a.cm:12: `trigger 7`: no such trigger is defined
    /// hint: add a line `trigger id 7 oneshot`
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            f.write_str(file)?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        if let Some(value) = &self.value {
            write!(f, "`{value}`: ")?;
        }
        f.write_str(&self.reason)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ImportError {}
