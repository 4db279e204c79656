//! Errors and warnings about a scenario: place, value, reason, hint.

use std::fmt;

/// A scenario, a key or a value that cannot be used. [`fmt::Display`] gives the complete message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file as given, or a substitute: `<text>`, `--set`.
    pub file: Option<String>,
    /// Line in it, from 1.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// Dotted key, such as `pfc.xoff`.
    pub key: Option<String>,
    /// The value as written in the source.
    pub value: Option<String>,
    /// The reason.
    pub reason: String,
    /// The correction.
    pub hint: Option<String>,
    /// The line of the source, and how many of its characters are marked from `column` on.
    pub excerpt: Option<(String, usize)>,
}

impl ScenarioError {
    /// An error without a place.
    pub fn new(reason: impl Into<String>) -> ScenarioError {
        ScenarioError { reason: reason.into(), ..ScenarioError::default() }
    }

    /// With a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> ScenarioError {
        self.hint = Some(hint.into());
        self
    }

    /// In a file.
    pub fn file(mut self, name: impl Into<String>) -> ScenarioError {
        self.file = Some(name.into());
        self
    }

    /// About a value.
    pub fn value(mut self, value: impl Into<String>) -> ScenarioError {
        self.value = Some(value.into());
        self
    }

    /// About a key.
    pub fn key(mut self, key: impl Into<String>) -> ScenarioError {
        self.key = Some(key.into());
        self
    }
}

impl fmt::Display for ScenarioError {
    /// ```text
    /// net.toml:12:8: pfc.xoff: `390 KiBx`: no such unit
    ///    |
    /// 12 | xoff = "390 KiBx"
    ///    |        ^^^^^^^^^^
    /// hint: units of a size: B, KB, …
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            f.write_str(file)?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
                if let Some(column) = self.column {
                    write!(f, ":{column}")?;
                }
            }
            f.write_str(": ")?;
        }
        if let Some(key) = self.key.as_ref().filter(|key| !key.is_empty()) {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.reason)?;
        if let (Some(line), Some(column), Some((text, width))) = (self.line, self.column, &self.excerpt) {
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            let (text, indent) = shortened(text, column - 1);
            write!(f, "\n{margin} |\n{number} | {text}\n{margin} | ")?;
            let room = text.chars().count().saturating_sub(indent).max(1);
            write!(f, "{}{}", " ".repeat(indent), "^".repeat((*width).clamp(1, room)))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

/// Part of `text`, as long as a terminal line, around the character at `at`, and that character's position in it. Control characters become
/// spaces, so that a terminal shows the right place.
fn shortened(text: &str, at: usize) -> (String, usize) {
    const WIDTH: usize = 160;
    const BEFORE: usize = 60;
    let skip = if at < WIDTH - BEFORE { 0 } else { at - BEFORE };
    let shown = text.chars().skip(skip).take(WIDTH).map(|c| if c.is_control() { ' ' } else { c });
    (shown.collect::<String>().trim_end().to_owned(), at - skip)
}

impl std::error::Error for ScenarioError {}

/// Something that a run may do, but that its author may not have intended.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Warning {
    /// Dotted key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// The problem.
    pub reason: String,
    /// A better value.
    pub hint: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value.as_str() {
            "" => write!(f, "{}: {}", self.key, self.reason),
            value => write!(f, "{} = {value}: {}", self.key, self.reason),
        }
    }
}

/// The most similar of `names`, if one is similar enough.
pub(crate) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_ascii_lowercase();
    let scored = names.into_iter().map(|n| {
        let known = n.to_ascii_lowercase();
        // Two swapped letters are one slip, even in a name of three.
        let slip = lower.len() > 2 && strsim::osa_distance(&lower, &known) == 1;
        (strsim::jaro_winkler(&lower, &known).max(if slip { 0.9 } else { 0.0 }), n)
    });
    let (score, best) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (score >= 0.75).then_some(best)
}
