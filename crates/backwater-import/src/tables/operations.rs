//! Operations that wait for each other: `[[job]] operations`.

use super::{Rows, Table};
use crate::error::ImportError;
use crate::source::Place;
use arrow_array::builder::{ListBuilder, StringDictionaryBuilder, UInt8Builder, UInt32Builder, UInt64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use std::sync::Arc;

/// The action of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Its rank sends.
    Send {
        /// To this rank.
        peer: u32,
        /// So much, at least 1 B.
        bytes: u64,
    },
    /// Its rank computes for so long, in ps; 0 only waits, as a receive does.
    Compute {
        /// Time, in ps.
        time_ps: u64,
    },
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'a> {
    /// Its number, below 2^40, unique in the table.
    pub id: u64,
    /// Its rank.
    pub rank: u32,
    /// The action.
    pub does: Does,
    /// Its waits: for the end of computations, and for the last byte of sends at their receivers.
    pub after: &'a [u64],
    /// Sends whose last acknowledgement it waits for.
    pub after_ack: &'a [u64],
    /// The number of those that suffice; absent: all.
    pub needs: Option<u32>,
    /// Its earliest start, in ps.
    pub start_ps: u64,
    /// Class, 0 to 7; absent: the job's.
    pub class: Option<u8>,
    /// The label of its group in results; absent: a common one.
    pub label: Option<&'a str>,
    /// Computations of one rank and stream are done one at a time; absent: at once.
    pub stream: Option<u32>,
}

impl<'a> Operation<'a> {
    /// An operation that waits for nothing.
    pub fn new(id: u64, rank: u32, does: Does) -> Operation<'a> {
        let (after, after_ack, needs, start_ps) = (&[][..], &[][..], None, 0);
        Operation { id, rank, does, after, after_ack, needs, start_ps, class: None, label: None, stream: None }
    }

    /// The same, waiting for others.
    pub fn after(self, after: &'a [u64]) -> Operation<'a> {
        Operation { after, ..self }
    }
}

/// A table of operations.
pub struct Operations(Table<OperationRows>);

#[derive(Default)]
struct OperationRows {
    id: UInt64Builder,
    rank: UInt32Builder,
    send: Vec<bool>,
    peer: UInt32Builder,
    bytes: UInt64Builder,
    time: UInt64Builder,
    after: ListBuilder<UInt64Builder>,
    after_ack: ListBuilder<UInt64Builder>,
    needs: UInt32Builder,
    start: UInt64Builder,
    class: UInt8Builder,
    label: StringDictionaryBuilder<Int32Type>,
    stream: UInt32Builder,
}

impl Operations {
    /// A table whose file will be `stem.csv` or `stem.parquet`.
    pub fn new(stem: impl Into<String>) -> Operations {
        Operations(Table::new(stem.into()))
    }

    /// Adds an operation.
    pub fn add(&mut self, operation: &Operation<'_>, place: &mut dyn Place) -> Result<(), ImportError> {
        self.0.rows.push(operation);
        self.0.grown(place)
    }

    /// Writes the remaining rows; returns the name of the file, for `operations = "…"`.
    pub fn finish(self, place: &mut dyn Place) -> Result<String, ImportError> {
        self.0.finish(place)
    }
}

impl OperationRows {
    fn push(&mut self, operation: &Operation<'_>) {
        self.id.append_value(operation.id);
        self.rank.append_value(operation.rank);
        let (send, peer, bytes, time) = match operation.does {
            Does::Send { peer, bytes } => (true, Some(peer), Some(bytes), None),
            Does::Compute { time_ps } => (false, None, None, Some(time_ps)),
        };
        self.send.push(send);
        self.peer.append_option(peer);
        self.bytes.append_option(bytes);
        self.time.append_option(time);
        for (list, ids) in [(&mut self.after, operation.after), (&mut self.after_ack, operation.after_ack)] {
            list.values().append_slice(ids);
            list.append(true);
        }
        self.needs.append_option(operation.needs);
        self.start.append_value(operation.start_ps);
        self.class.append_option(operation.class);
        self.label.append_option(operation.label);
        self.stream.append_option(operation.stream);
    }

    fn kinds(&self) -> StringDictionaryBuilder<Int32Type> {
        let mut kinds = StringDictionaryBuilder::new();
        self.send.iter().for_each(|send| kinds.append_value(if *send { "send" } else { "compute" }));
        kinds
    }

    fn columns(&self) -> Result<RecordBatch, ArrowError> {
        let columns: [(&str, ArrayRef); 13] = [
            ("id", Arc::new(self.id.finish_cloned())),
            ("rank", Arc::new(self.rank.finish_cloned())),
            ("kind", Arc::new(self.kinds().finish())),
            ("peer", Arc::new(self.peer.finish_cloned())),
            ("bytes", Arc::new(self.bytes.finish_cloned())),
            ("time_ps", Arc::new(self.time.finish_cloned())),
            ("after", Arc::new(self.after.finish_cloned())),
            ("after_ack", Arc::new(self.after_ack.finish_cloned())),
            ("needs", Arc::new(self.needs.finish_cloned())),
            ("start_ps", Arc::new(self.start.finish_cloned())),
            ("class", Arc::new(self.class.finish_cloned())),
            ("label", Arc::new(self.label.finish_cloned())),
            ("stream", Arc::new(self.stream.finish_cloned())),
        ];
        // The same columns in every batch, including those without values.
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
    }
}

impl Rows for OperationRows {
    fn len(&self) -> usize {
        self.send.len()
    }

    fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        use arrow_array::Array;
        use arrow_array::cast::AsArray;
        use arrow_array::types::{UInt8Type, UInt32Type, UInt64Type};
        let batch = self.columns().map_err(|error| std::io::Error::other(error.to_string()))?;
        let cell = |column: &dyn Array, row: usize| -> String {
            if column.is_null(row) {
                return String::new();
            }
            if let Some(numbers) = column.as_primitive_opt::<UInt64Type>() {
                return numbers.value(row).to_string();
            }
            if let Some(numbers) = column.as_primitive_opt::<UInt32Type>() {
                return numbers.value(row).to_string();
            }
            if let Some(numbers) = column.as_primitive_opt::<UInt8Type>() {
                return numbers.value(row).to_string();
            }
            if let Some(list) = column.as_list_opt::<i32>() {
                let ids = list.value(row);
                let ids = ids.as_primitive::<UInt64Type>().values().iter().map(u64::to_string).collect::<Vec<_>>();
                return ids.join(" ");
            }
            let Some(words) = column.as_dictionary_opt::<Int32Type>() else { return String::new() };
            let key = usize::try_from(words.keys().value(row)).unwrap_or_default();
            words.values().as_string_opt::<i32>().map_or_else(String::new, |words| words.value(key).to_owned())
        };
        let cells: Vec<(String, Vec<String>)> = batch
            .schema()
            .fields()
            .iter()
            .zip(batch.columns())
            .map(|(field, column)| {
                // In CSV a bare number is in ps.
                let name = field.name().trim_end_matches("_ps").to_owned();
                (name, (0..batch.num_rows()).map(|row| cell(column, row)).collect())
            })
            .collect();
        // A column without values is left out, and so is a start that is always 0.
        let reported = |(name, column): &&(String, Vec<String>)| {
            column.iter().any(|cell| !(cell.is_empty() || name == "start" && cell == "0"))
        };
        let compulsory = |name: &str| ["id", "rank", "kind"].contains(&name);
        let kept: Vec<_> = cells.iter().filter(|one| compulsory(&one.0) || reported(one)).collect();
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(kept.iter().map(|(name, _)| name))?;
        for row in 0..batch.num_rows() {
            writer.write_record(kept.iter().filter_map(|(_, column)| column.get(row)))?;
        }
        writer.into_inner().map_err(|error| error.into_error().into())
    }

    fn batch(&self) -> Result<RecordBatch, ArrowError> {
        self.columns()
    }
}
