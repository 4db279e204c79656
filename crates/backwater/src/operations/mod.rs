//! Tables of operations: from CSV; the caller reads those of Parquet.
//!
//! ```text
//! id,rank,kind,peer,bytes,time,after,after_ack,needs,start,class,label,stream
//! 0,0,compute,,,20 us,,,,,,forward,0
//! 1,0,send,4,1 MB,,0,,,,,gradients,
//! 2,4,compute,,,0,1,,,,,,
//! ```
//!
//! `bytes`, `time` and `start` are bare numbers (B, ps) or quantities with a unit, `after` and `after_ack` ids separated by blanks. An
//! empty cell means the same as a missing column. `#` begins a comment. The file is read as a stream.

use crate::csv_text::{Columns, Form, Lines, Wrong, line, quantity};
use crate::error::ScenarioError;
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::workload::graph::{Flaw, Operations, Reader, Row, Task};
use std::io::{BufReader, Read};
use std::path::Path;

/// Longest line: an operation may wait for some hundred thousand others.
const LONGEST_LINE: usize = 4 << 20;

/// The columns of a table of operations; in Parquet, columns of times are called `…_ps`.
pub const COLUMNS: [&str; 13] =
    ["id", "rank", "kind", "peer", "bytes", "time", "after", "after_ack", "needs", "start", "class", "label", "stream"];

/// Columns of times.
pub const TIMES: [&str; 2] = ["time", "start"];

/// The required form of a table.
pub const HINT: &str = "columns are id, rank, kind (send or compute) and maybe peer, bytes, time, after, after_ack, needs, start, class, label \
    and stream";

/// The label of flows of operations without one, in results.
pub const LABEL: &str = "operations";

/// The kinds of operations.
pub const KINDS: &str = "`send` and `compute`; a receive is a compute with time 0 after the send";

const FORM: Form<13> = Form { what: "table of operations", columns: COLUMNS, needed: 3, in_ps: &TIMES, hint: HINT };

/// Reads a CSV file, for so many ranks.
pub fn from_csv_file(path: &Path, ranks: u32) -> Result<Operations, ScenarioError> {
    let name = path.display().to_string();
    match crate::inputs::open(path) {
        Ok(file) => from_csv(BufReader::new(file), &name, ranks),
        Err(error) => Err(ScenarioError::new(format!("cannot read the table of operations: {error}")).file(name)),
    }
}

/// Reads CSV text; messages call it `origin`.
pub fn from_csv(input: impl Read, origin: &str, ranks: u32) -> Result<Operations, ScenarioError> {
    let lines = Lines::new(input, LONGEST_LINE);
    let mut table = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(lines);
    let header = table.headers().map_err(|error| FORM.unreadable(&error, origin))?.clone();
    let columns = FORM.find(&header).map_err(|wrong| wrong.at(origin, Some(1)))?;
    let (mut reader, mut cells, mut lines) =
        (Reader::default(), Cells { columns, ranks, ids: [Vec::new(), Vec::new()] }, Vec::new());
    let mut record = csv::StringRecord::new();
    while table.read_record(&mut record).map_err(|error| FORM.unreadable(&error, origin))? {
        let line = line(&table);
        let added = cells.row(&record).and_then(|row| reader.add(&row).map_err(wrong));
        added.map_err(|wrong| wrong.at(origin, Some(line)))?;
        lines.push(u32::try_from(line).unwrap_or(u32::MAX));
    }
    let place = |flaw: &Flaw| flaw.row.and_then(|row| lines.get(row)).map(|line| u64::from(*line));
    reader.finish().map_err(|flaw| {
        let line = place(&flaw);
        wrong(flaw).at(origin, line)
    })
}

/// Returns the error in a table whose rows the caller has read; messages call it `origin`.
pub fn in_rows(flaw: Flaw, origin: &str) -> ScenarioError {
    let row = flaw.row;
    Wrong { row, ..wrong(flaw) }.at(origin, None)
}

fn wrong(flaw: Flaw) -> Wrong {
    Wrong::new(flaw.column, flaw.value, flaw.reason).hint(flaw.hint)
}

/// Reads the cells of row after row.
struct Cells {
    columns: Columns<13>,
    ranks: u32,
    /// Ids that the row waits for: for completion, and for acknowledgement.
    ids: [Vec<u64>; 2],
}

/// Reads a whole number.
fn number(column: usize, text: &str, what: &str) -> Result<u64, Wrong> {
    let wrong = || Wrong::new(COLUMNS[column], text, format!("`{text:.60}` is not {what}"));
    text.parse().map_err(|_| wrong())
}

/// A number that may be missing.
fn perhaps(column: usize, text: &str, what: &str) -> Result<Option<u64>, Wrong> {
    (!text.is_empty()).then(|| number(column, text, what)).transpose()
}

impl Cells {
    fn rank(&self, column: usize, text: &str) -> Result<u32, Wrong> {
        let rank = number(column, text, "the number of a rank")?;
        u32::try_from(rank).ok().filter(|rank| *rank < self.ranks).ok_or_else(|| {
            let ranks = format!("ranks of the job are 0 to {}", self.ranks.saturating_sub(1));
            Wrong::new(COLUMNS[column], text, format!("there is no rank {rank}")).hint(ranks)
        })
    }

    /// A row with its texts read.
    fn row<'r>(&'r mut self, record: &'r csv::StringRecord) -> Result<Row<'r>, Wrong> {
        let columns = &self.columns;
        let text = |column: usize| columns.text(record, column);
        let meanings = ["every operation has a number: 0, 1, 2, …", "the rank that does it", KINDS];
        if let Some(empty) = (0..3).find(|column| text(*column).is_empty()) {
            return Err(Wrong::new(COLUMNS[empty], "", "is empty").hint(meanings[empty]));
        }
        let task = self.task(record)?;
        let rank = self.rank(1, text(1))?;
        for (column, ids) in [6, 7].into_iter().zip(&mut self.ids) {
            ids.clear();
            for id in text(column).split_ascii_whitespace() {
                let hint = "ids of operations with blanks between";
                ids.push(number(column, id, "the id of an operation").map_err(|wrong| wrong.hint(hint))?);
            }
        }
        let class = perhaps(10, text(10), "a class from 0 to 7")?;
        Ok(Row {
            id: number(0, text(0), "a number below 2^40")?,
            rank,
            task,
            after: &self.ids[0],
            after_ack: &self.ids[1],
            needs: perhaps(8, text(8), "a number of operations")?,
            start: if text(9).is_empty() { Time::ZERO } else { time(9, text(9))? },
            class: class.map(|class| u8::try_from(class).unwrap_or(u8::MAX - 1)),
            label: Some(text(11)).filter(|label| !label.is_empty()).unwrap_or(LABEL),
            stream: perhaps(12, text(12), "the number of a stream")?,
        })
    }

    fn task(&self, record: &csv::StringRecord) -> Result<Task, Wrong> {
        let text = |column: usize| self.columns.text(record, column);
        let (needed, others): (&[usize], &[usize]) = match text(2) {
            "send" => (&[3, 4], &[5]),
            "compute" => (&[5], &[3, 4]),
            other => {
                let reason = format!("`{other:.60}` is no kind of operation");
                return Err(Wrong::new("kind", other, reason).hint(format!("kinds are {KINDS}")));
            }
        };
        if let Some(column) = needed.iter().find(|column| text(**column).is_empty()) {
            let hint = match column {
                3 => "the rank to which it sends",
                4 => "a number of bytes, or one with a unit as in 20 MB",
                _ => "how long it computes: a number of ps, or a time with a unit as in 5 us; 0 is a join",
            };
            return Err(
                Wrong::new(COLUMNS[*column], "", format!("is empty, and the operation is a {}", text(2))).hint(hint)
            );
        }
        if let Some(column) = others.iter().find(|column| !text(**column).is_empty()) {
            let reason = format!("a {} has none", text(2));
            return Err(Wrong::new(COLUMNS[*column], text(*column), reason).hint("leave it empty"));
        }
        match needed {
            [5] => Ok(Task::Compute(time(5, text(5))?)),
            _ => Ok(Task::Send {
                peer: self.rank(3, text(3))?,
                bytes: quantity(text(4), "bytes", |text| Ok(text.parse::<Bytes>()?.0))?,
            }),
        }
    }
}

fn time(column: usize, text: &str) -> Result<Time, Wrong> {
    Ok(Time(quantity(text, COLUMNS[column], |text| Ok(text.parse::<Time>()?.0))?))
}

#[cfg(test)]
mod tests;
