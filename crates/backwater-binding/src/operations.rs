//! Tables of operations from Arrow.

use crate::arrow;
use crate::columns::{at, lists, perhaps, texts};
use crate::errors;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::Schema;
use backwater::ScenarioError;
use backwater::operations::{COLUMNS, HINT, KINDS, LABEL, TIMES, in_rows};
use backwater_engine::Time;
use backwater_net::workload::graph::{Operations, Reader, Row, Task};
use pyo3::prelude::*;
use std::sync::Arc;

/// Rows between two checks for signals: some tens of milliseconds.
const LOOK: usize = 1 << 16;

/// The number of required columns.
const NEEDED: usize = 3;

/// Reads all rows of an object with `__arrow_c_stream__`. Messages call it `origin`.
pub fn read(table: &Bound<'_, PyAny>, origin: &str) -> PyResult<Arc<Operations>> {
    let py = table.py();
    let stream = arrow::stream(table)?;
    errors::call(py, || check(&stream.schema()).map_err(|error| error.file(origin)))?;
    let (mut reader, mut before) = (Reader::default(), 0);
    for batch in stream {
        let batch = batch.map_err(|error| arrow::raise(&error))?;
        for begin in (0..batch.num_rows()).step_by(LOOK) {
            py.check_signals()?;
            let rows = batch.slice(begin, LOOK.min(batch.num_rows() - begin));
            errors::call(py, || append(&mut reader, &rows, before, origin).map_err(|error| error.file(origin)))?;
            before += rows.num_rows();
        }
    }
    let origin = origin.to_owned();
    errors::patiently(py, None, move || reader.finish().map(Arc::new).map_err(|flaw| in_rows(flaw, &origin)))
}

/// Returns a column's name in Arrow tables.
fn named(column: &str) -> String {
    if TIMES.contains(&column) { format!("{column}_ps") } else { column.to_owned() }
}

fn check(schema: &Schema) -> Result<(), ScenarioError> {
    if let Some(missing) = COLUMNS[..NEEDED].iter().find(|name| schema.field_with_name(name).is_err()) {
        return Err(ScenarioError::new("the table of operations has no such column").key(*missing).hint(HINT));
    }
    // pandas exports the row labels of a filtered frame under a name like this.
    let known = |name: &str| COLUMNS.iter().any(|column| named(column) == name) || name.starts_with("__index_level_");
    match schema.fields().iter().find(|field| !known(field.name())) {
        Some(field) => {
            let error = ScenarioError::new("not a column of a table of operations").key(field.name().as_str());
            Err(error.hint(format!("{HINT}; in Parquet time_ps and start_ps; drop the others")))
        }
        None => Ok(()),
    }
}

/// Adds rows. `before` is the number of rows before these.
fn append(reader: &mut Reader, batch: &RecordBatch, before: usize, origin: &str) -> Result<(), ScenarioError> {
    let rows = batch.num_rows();
    let column = |name: &str| batch.column_by_name(&named(name)).map(AsRef::as_ref);
    let numbers = |name: &str| match column(name) {
        Some(array) => perhaps(array, &named(name), before, HINT),
        None => Ok(vec![None; rows]),
    };
    let words = |name: &str| match column(name) {
        Some(array) => texts(array, name, HINT),
        None => Ok(vec![None; rows]),
    };
    let waits = |name: &str| match column(name) {
        Some(array) => lists(array, name, before, HINT),
        None => Ok((vec![0; rows], Vec::new())),
    };
    let ([ids, ranks, peers, bytes], [times, starts]) = (
        [numbers("id")?, numbers("rank")?, numbers("peer")?, numbers("bytes")?],
        [numbers("time")?, numbers("start")?],
    );
    let [needs, classes, streams] = [numbers("needs")?, numbers("class")?, numbers("stream")?];
    let ([kinds, labels], [after, after_ack]) =
        ([words("kind")?, words("label")?], [waits("after")?, waits("after_ack")?]);
    for row in 0..rows {
        let wrong = |name: &str, value: &str, reason: &str| at(&named(name), before + row, value, reason);
        let is_missing = |name: &str| wrong(name, "null", "every such operation has one");
        let none = |name: &str, value: Option<u64>, kind: &str| match value {
            Some(value) => Err(wrong(name, &value.to_string(), &format!("a {kind} has none"))),
            None => Ok(()),
        };
        let rank = |name: &str, value: Option<u64>| {
            let value = value.ok_or_else(|| is_missing(name))?;
            u32::try_from(value).map_err(|_| wrong(name, &value.to_string(), "there is no such rank"))
        };
        let task = match kinds[row].as_deref() {
            Some("send") => {
                none("time", times[row], "send")?;
                Task::Send { peer: rank("peer", peers[row])?, bytes: bytes[row].ok_or_else(|| is_missing("bytes"))? }
            }
            Some("compute") => {
                none("peer", peers[row], "compute")?;
                none("bytes", bytes[row], "compute")?;
                Task::Compute(Time::ps(times[row].ok_or_else(|| is_missing("time"))?))
            }
            other => {
                let value = other.unwrap_or("null");
                return Err(wrong("kind", value, "no kind of operation").hint(format!("kinds are {KINDS}")));
            }
        };
        let of = |(ends, _): &(Vec<usize>, Vec<u64>)| row.checked_sub(1).map_or(0, |before| ends[before])..ends[row];
        let added = reader.add(&Row {
            id: ids[row].ok_or_else(|| is_missing("id"))?,
            rank: rank("rank", ranks[row])?,
            task,
            after: &after.1[of(&after)],
            after_ack: &after_ack.1[of(&after_ack)],
            needs: needs[row],
            start: Time::ps(starts[row].unwrap_or(0)),
            class: classes[row].map(|class| u8::try_from(class).unwrap_or(u8::MAX - 1)),
            label: labels[row].as_deref().unwrap_or(LABEL),
            stream: streams[row],
        });
        added.map_err(|flaw| in_rows(flaw, origin))?;
    }
    Ok(())
}
