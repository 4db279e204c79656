//! Common parts of all tables in CSV: lines of text, a header whose columns may come in any order, and errors with place, value, reason and
//! hint.

use crate::error::{ScenarioError, nearest};
use backwater_engine::quantity::QuantityError;
use std::io::{self, Read};

/// An error in a table, before its place is known.
#[derive(Default)]
pub(crate) struct Wrong {
    pub row: Option<usize>,
    pub column: Option<&'static str>,
    pub value: Option<String>,
    pub reason: String,
    pub hint: Option<String>,
}

impl Wrong {
    pub fn new(column: &'static str, value: impl ToString, reason: impl Into<String>) -> Wrong {
        // A cell may hold kilobytes of anything.
        let value = value.to_string().chars().take(60).collect();
        Wrong { column: Some(column), value: Some(value), reason: reason.into(), ..Wrong::default() }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Wrong {
        self.hint = Some(hint.into());
        self
    }

    pub fn at(self, origin: &str, line: Option<u64>) -> ScenarioError {
        let reason = match self.row {
            Some(row) => format!("row {row} (from 0): {}", self.reason),
            None => self.reason,
        };
        ScenarioError {
            file: Some(origin.to_owned()),
            line: line.and_then(|line| usize::try_from(line).ok()),
            key: self.column.map(str::to_owned),
            value: self.value,
            reason,
            hint: self.hint,
            ..ScenarioError::default()
        }
    }
}

/// The description of a table.
pub(crate) struct Form<const N: usize> {
    /// Its name in messages.
    pub what: &'static str,
    /// Its columns.
    pub columns: [&'static str; N],
    /// The number of required columns, which are the first ones.
    pub needed: usize,
    /// Columns of times, also accepted as `…_ps`: Arrow tables carry the unit in the name, and their CSV exports are welcome.
    pub in_ps: &'static [&'static str],
    /// The hint if it cannot be read.
    pub hint: &'static str,
}

impl<const N: usize> Form<N> {
    /// Returns the position of each column in a table with this header.
    pub fn find(&self, header: &csv::StringRecord) -> Result<Columns<N>, Wrong> {
        let mut at = [None; N];
        for (place, name) in header.iter().enumerate() {
            let plain = name.strip_suffix("_ps").filter(|plain| self.in_ps.contains(plain)).unwrap_or(name);
            let shown: String = name.chars().take(60).collect();
            let Some(column) = self.columns.iter().position(|&known| known == plain) else {
                let hint = match nearest(plain, self.columns) {
                    Some(known) => format!("did you mean `{known}`?"),
                    None => format!("columns are {}", self.columns.join(", ")),
                };
                let reason = format!("`{shown}` is not a column of {} {}", article(self.what), self.what);
                return Err(Wrong { value: Some(shown), reason, hint: Some(hint), ..Wrong::default() });
            };
            if at[column].replace(place).is_some() {
                return Err(Wrong::new(self.columns[column], shown, "the column stands twice"));
            }
        }
        match at[..self.needed].iter().position(Option::is_none) {
            Some(missing) => {
                let hint = format!("the first line names the columns: {}", self.columns.join(","));
                let (column, reason) = (Some(self.columns[missing]), "the column is missing".into());
                Err(Wrong { column, reason, ..Wrong::default() }.hint(hint))
            }
            None => Ok(Columns(at)),
        }
    }

    /// The error for text that is not CSV.
    pub fn unreadable(&self, error: &csv::Error, origin: &str) -> ScenarioError {
        let line = error.position().map(csv::Position::line);
        let reason = match error.kind() {
            csv::ErrorKind::Io(error) => format!("cannot read the {}: {error}", self.what),
            csv::ErrorKind::Utf8 { .. } => "not text (UTF-8)".to_owned(),
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("{len} values, but the first line names {expected_len} columns")
            }
            _ => error.to_string(),
        };
        Wrong { reason, hint: Some(self.hint.into()), ..Wrong::default() }.at(origin, line)
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

/// The position of each column of a table, if present.
pub(crate) struct Columns<const N: usize>([Option<usize>; N]);

impl<const N: usize> Columns<N> {
    /// The text of a column in a row; empty if the column is missing.
    pub fn text<'r>(&self, record: &'r csv::StringRecord, column: usize) -> &'r str {
        self.0[column].and_then(|at| record.get(at)).unwrap_or("")
    }
}

/// The line of the row that was read last. A row is on one line, and may follow empty lines and comments, which the row's own position
/// precedes.
pub(crate) fn line<R: Read>(reader: &csv::Reader<Lines<R>>) -> u64 {
    let next = reader.position().line();
    // The reader continues behind CR; for LF it knows that a line has ended.
    if reader.get_ref().cr_lf == Some(true) { next } else { next.saturating_sub(1) }
}

/// A bare number in base units, or a quantity with a unit.
pub(crate) fn quantity(
    text: &str,
    column: &'static str,
    read: impl Fn(&str) -> Result<u64, QuantityError>,
) -> Result<u64, Wrong> {
    match text.parse() {
        Ok(number) => Ok(number),
        Err(_) => read(text).map_err(|error| Wrong::new(column, text, error.reason).hint(error.hint)),
    }
}

/// Refuses input that is not lines of text, before a parser collects gigabytes of it in one field.
pub(crate) struct Lines<R> {
    inner: R,
    longest: usize,
    since_line: usize,
    /// A quoted field is open: across lines it could swallow the rest of the file.
    quoted: bool,
    /// The byte before the next one.
    last: u8,
    /// True if the first line ends with CR LF; `None`: not known yet.
    cr_lf: Option<bool>,
}

impl<R: Read> Lines<R> {
    /// Lines of at most so many bytes, some KiB.
    pub fn new(inner: R, longest: usize) -> Lines<R> {
        Lines { inner, longest, since_line: 0, quoted: false, last: b'\n', cr_lf: None }
    }
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        if n == 0 && self.last != b'\n' && self.cr_lf != Some(true) && !buffer.is_empty() {
            // The last line ends like the others, so that `line` counts it like them.
            (buffer[0], self.last) = (b'\n', b'\n');
            return Ok(1);
        }
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
        let got = &buffer[..n];
        if got.contains(&0) {
            return Err(wrong("it is binary, not CSV text"));
        }
        for (number, line) in got.split(|&byte| byte == b'\n').enumerate() {
            if number > 0 {
                if self.quoted {
                    return Err(wrong("a quotation mark has no partner on its line"));
                }
                self.since_line = 0;
            }
            self.since_line += line.len();
            self.quoted ^= line.iter().filter(|&&byte| byte == b'"').count() % 2 == 1;
            if self.since_line > self.longest {
                return Err(wrong(&format!("a line is longer than {} KiB", self.longest >> 10)));
            }
        }
        if let (None, Some(end)) = (self.cr_lf, got.iter().position(|&byte| byte == b'\n')) {
            let before = end.checked_sub(1).map_or(self.last, |before| got[before]);
            self.cr_lf = Some(before == b'\r');
        }
        self.last = got.last().copied().unwrap_or(self.last);
        Ok(n)
    }
}
