//! For tests: compressed tables of what other programs decided, decisions of HPCC's ns-3 code among them (`recorded/README.md`), and how
//! values are held against those.

mod uec;

use backwater_engine::Time;
use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

/// One recorded decision.
pub(crate) struct Line {
    columns: std::rc::Rc<[String]>,
    fields: Vec<String>,
}

impl Line {
    pub fn text(&self, column: &str) -> &str {
        let at = self.columns.iter().position(|name| name == column);
        &self.fields[at.unwrap_or_else(|| panic!("no column {column}"))]
    }
    pub fn number(&self, column: &str) -> u64 {
        self.text(column).parse().unwrap_or_else(|_| panic!("no number in {column}: {}", self.fields.join(" ")))
    }
    pub fn real(&self, column: &str) -> f64 {
        self.text(column).parse().unwrap_or_else(|_| panic!("no number in {column}: {}", self.fields.join(" ")))
    }
    pub fn is_set(&self, column: &str) -> bool {
        self.number(column) == 1
    }
    /// Returns whether a value exists.
    pub fn has(&self, column: &str) -> bool {
        !self.text(column).is_empty()
    }
}

/// One run.
pub(crate) struct Trace {
    pub name: String,
    head: String,
    pub lines: Vec<Line>,
}

impl Trace {
    /// T
    pub fn base_rtt(&self) -> Time {
        Time::ns(
            self.reported("T").and_then(|reported| reported.strip_suffix(" ns")?.parse().ok()).expect("it is said"),
        )
    }
    /// Returns the text behind this word in the first line.
    pub fn reported(&self, what: &str) -> Option<&str> {
        self.head.split("; ").find_map(|part| part.strip_prefix(what)?.strip_prefix(' '))
    }
}

/// A decompressed table.
pub(crate) struct Table {
    /// Its file name, without endings.
    pub name: String,
    /// The first line: its description.
    pub head: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// The compressed tables of a folder of this crate with `wanted` names, in the order of their names.
pub(crate) fn tables(folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<Table> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |file: PathBuf| {
        let name = file.file_name()?.to_str()?.strip_suffix(".tsv.gz").filter(|name| wanted(name))?.to_owned();
        let mut text = String::new();
        GzDecoder::new(File::open(&file).unwrap()).read_to_string(&mut text).unwrap();
        let mut lines = text.lines();
        let head = lines.next()?.to_owned();
        let mut rows = lines.map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
        Some(Table { name, head, columns: rows.next()?, rows: rows.collect() })
    };
    files.into_iter().filter_map(read).collect()
}

/// All runs of a control, variants included.
pub(crate) fn traces(control: &str) -> Vec<Trace> {
    let wanted = |name: &str| name.strip_prefix(control).is_some_and(|rest| rest.starts_with('_'));
    let of = |Table { name, head, columns, rows }: Table| {
        let columns: std::rc::Rc<[String]> = columns.into();
        let lines = rows.into_iter().map(|fields| Line { columns: columns.clone(), fields }).collect();
        Trace { name, head, lines }
    };
    tables("src/recorded", wanted).into_iter().map(of).collect()
}

/// The comparisons with the record.
#[derive(Default)]
pub(crate) struct Held {
    pub values: u64,
    pub off: Vec<String>,
}

impl Held {
    /// `got` must equal the line's value, within `slack`.
    pub fn compare(&mut self, trace: &Trace, line: &Line, column: &str, got: f64, slack: f64) {
        self.is(trace, line, column, got, line.real(column), slack);
    }

    pub fn is(&mut self, trace: &Trace, line: &Line, what: &str, got: f64, recorded: f64, slack: f64) {
        self.values += 1;
        if (got - recorded).abs() > slack {
            self.off.push(format!("{}: {what} {got}: {}", trace.name, line.fields.join(" ")));
        }
    }

    /// So many values were compared, and none was off.
    pub fn none_off(&self, values: u64) {
        assert!(self.off.is_empty(), "{} of {} off; {}", self.off.len(), self.values, self.off[0]);
        assert_eq!(self.values, values);
    }
}

/// Half a unit of the sixth decimal, the precision of the program's output, and the rounding error.
pub(crate) const SIX_DIGITS: f64 = 0.500_001e-6;
