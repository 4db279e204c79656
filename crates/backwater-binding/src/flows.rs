//! Flow tables from Arrow, with columns of all integer and text types that data frame libraries choose.

use crate::arrow;
use crate::columns::{at, integers, texts};
use crate::errors;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Schema};
use backwater::{ScenarioError, TableFlow};
use backwater_engine::Time;
use pyo3::prelude::*;

/// The most rows of a table: they take 2 GB of memory.
const MOST_ROWS: usize = 20_000_000;

/// Rows between two checks for signals: some milliseconds.
const LOOK: usize = 1 << 16;

const HINT: &str = "columns are id, src, dst, bytes, start_ps (whole numbers) and maybe class (0 to 7), path and ack_path (text), and link";

/// Reads all rows of an object with `__arrow_c_stream__`.
pub fn read(table: &Bound<'_, PyAny>) -> PyResult<Vec<TableFlow>> {
    let py = table.py();
    let reader = arrow::stream(table)?;
    errors::call(py, || check(&reader.schema()))?;
    let mut flows = Vec::new();
    for batch in reader {
        let batch = batch.map_err(|error| arrow::raise(&error))?;
        for begin in (0..batch.num_rows().max(1)).step_by(LOOK) {
            py.check_signals()?;
            let rows = batch.slice(begin, LOOK.min(batch.num_rows() - begin));
            errors::call(py, || append(&mut flows, &rows))?;
        }
    }
    Ok(flows)
}

fn check(schema: &Schema) -> Result<(), ScenarioError> {
    let known = ["id", "src", "dst", "bytes", "start_ps", "class", "path", "ack_path", "link"];
    for name in &known[..5] {
        if schema.field_with_name(name).is_err() {
            return Err(ScenarioError::new("the flow table has no such column").key(*name).hint(HINT));
        }
    }
    // pandas exports the row labels of a filtered frame under a name like this.
    let foreign = |name: &str| !known.contains(&name) && !name.starts_with("__index_level_");
    match schema.fields().iter().find(|field| foreign(field.name())) {
        Some(field) => {
            let error = ScenarioError::new("not a column of a flow table").key(field.name().as_str());
            Err(error.hint(format!("{HINT}; drop the others")))
        }
        None => Ok(()),
    }
}

fn append(flows: &mut Vec<TableFlow>, batch: &RecordBatch) -> Result<(), ScenarioError> {
    let before = flows.len();
    if before + batch.num_rows() > MOST_ROWS {
        return Err(ScenarioError::new(format!("more than {MOST_ROWS} flows in one table")));
    }
    let column = |name: &str| whole_numbers(batch, name, before);
    let [ids, sizes, starts] = [column("id")?, column("bytes")?, column("start_ps")?];
    let [sources, targets] = [column("src")?, column("dst")?];
    let few = |name: &str, most: u16, what: &str| {
        batch.column_by_name(name).map(|array| few(array.as_ref(), name, most, what, before)).transpose()
    };
    let (classes, links) = (few("class", 7, "not a class from 0 to 7")?, few("link", u16::MAX, "no number of a link")?);
    let names =
        |column: &str| batch.column_by_name(column).map(|array| texts(array.as_ref(), column, HINT)).transpose();
    let [paths, ack_paths] = [names("path")?, names("ack_path")?];
    for row in 0..batch.num_rows() {
        let narrow = |name: &str, value: u64| {
            let wrong = || at(name, before + row, &value.to_string(), "too large");
            u32::try_from(value).map_err(|_| wrong())
        };
        flows.push(TableFlow {
            id: ids[row],
            src: narrow("src", sources[row])?,
            dst: narrow("dst", targets[row])?,
            bytes: sizes[row],
            start: Time::ps(starts[row]),
            class: classes.as_ref().and_then(|classes| classes[row]).map(|class| class as u8),
            path: paths.as_ref().and_then(|paths| paths[row].clone()),
            ack_path: ack_paths.as_ref().and_then(|paths| paths[row].clone()),
            link: links.as_ref().and_then(|links| links[row]),
        });
    }
    Ok(())
}

/// Returns numbers up to `most`; null becomes `None`.
fn few(array: &dyn Array, name: &str, most: u16, what: &str, before: usize) -> Result<Vec<Option<u16>>, ScenarioError> {
    let number = |(row, value): (usize, Option<i128>)| match value {
        None => Ok(None),
        Some(value) => match u16::try_from(value).ok().filter(|value| *value <= most) {
            None => Err(at(name, before + row, &value.to_string(), what)),
            small => Ok(small),
        },
    };
    // If a value is missing, pandas turns a column of whole numbers into one of floats.
    if *array.data_type() == DataType::Float64 {
        let floats = array.as_primitive::<Float64Type>().iter().enumerate();
        let whole = |(row, value): (usize, Option<f64>)| match value.filter(|value| !value.is_nan()) {
            Some(value) if value.fract() != 0.0 || !(0.0..=f64::from(most)).contains(&value) => {
                Err(at(name, before + row, &value.to_string(), what))
            }
            value => Ok(value.map(|value| value as u16)),
        };
        return floats.map(whole).collect();
    }
    integers(array, name, HINT)?.enumerate().map(number).collect()
}

fn whole_numbers(batch: &RecordBatch, name: &str, before: usize) -> Result<Vec<u64>, ScenarioError> {
    let Some(array) = batch.column_by_name(name) else {
        return Err(ScenarioError::new("the flow table has no such column").key(name).hint(HINT));
    };
    let number = |(row, value): (usize, Option<i128>)| match value {
        None => Err(at(name, before + row, "null", "every flow has one")),
        Some(value) => u64::try_from(value).map_err(|_| at(name, before + row, &value.to_string(), "below 0")),
    };
    integers(array.as_ref(), name, HINT)?.enumerate().map(number).collect()
}
