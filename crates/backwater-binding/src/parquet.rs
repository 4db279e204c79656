//! Writes batches as a Parquet file, with the metadata of their columns.

use crate::arrow::Batch;
use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{iter, mem};

/// The column, in a series' tables, of a row's run.
const RUN: &str = "run";

/// Rows, or batches, that are joined before they are encoded. The runs of a series have a few rows each, and each call
/// of the encoder costs as much as hundreds of rows do.
const ROWS: usize = 8192;
const BATCHES: usize = 64;

/// Octets of a column's distinct values up to which they are encoded with a dictionary. Names and sizes have few
/// distinct values. Nearly all times differ, and a dictionary of them takes several times the memory of the column.
const DICTIONARY: usize = 64 << 10;

/// A Parquet file of one table under construction, in memory.
#[pyclass(frozen, module = "backwater._core")]
pub struct Part(Mutex<Writing>);

struct Writing {
    compressed: bool,
    writer: Option<ArrowWriter<Vec<u8>>>,
    /// Batches that are not encoded yet, and the seed of each of their rows, if the file has the column `run`.
    batches: Vec<RecordBatch>,
    seeds: Vec<u64>,
    rows: usize,
}

fn failed(error: &ParquetError) -> PyErr {
    PyValueError::new_err(format!("Parquet: {error}"))
}

#[pymethods]
impl Part {
    #[new]
    fn new(compressed: bool) -> Part {
        Part(Mutex::new(Writing { compressed, writer: None, batches: Vec::new(), seeds: Vec::new(), rows: 0 }))
    }

    /// Add a batch; `run`: a seed for a column `run` of all its rows. A part has that column for all batches or for
    /// none.
    #[pyo3(signature = (batch, run = None))]
    fn write(&self, py: Python<'_>, batch: &Batch, run: Option<u64>) -> PyResult<()> {
        let batch = batch.0.clone();
        py.detach(|| self.lock().take(batch, run)).map_err(|error| failed(&error))
    }

    /// The size so far, in B, with an estimate of rows that are not encoded yet.
    #[getter]
    fn nbytes(&self) -> usize {
        self.lock().writer.as_ref().map_or(0, |writer| writer.bytes_written() + writer.in_progress_size())
    }

    /// End the file and return its content; empty if nothing was written.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let octets = py.detach(|| self.lock().close());
        octets.map(|octets| PyBytes::new(py, &octets)).map_err(|error| failed(&error))
    }
}

impl Part {
    fn lock(&self) -> MutexGuard<'_, Writing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writing {
    fn take(&mut self, batch: RecordBatch, run: Option<u64>) -> Result<()> {
        self.seeds.extend(run.into_iter().flat_map(|seed| iter::repeat_n(seed, batch.num_rows())));
        self.rows += batch.num_rows();
        self.batches.push(batch);
        if self.rows < ROWS && self.batches.len() < BATCHES { Ok(()) } else { self.encode() }
    }

    fn encode(&mut self) -> Result<()> {
        let (batches, seeds) = (mem::take(&mut self.batches), mem::take(&mut self.seeds));
        self.rows = 0;
        let Some(first) = batches.first() else { return Ok(()) };
        let mut batch = if batches.len() == 1 { first.clone() } else { concat_batches(first.schema_ref(), &batches)? };
        if !seeds.is_empty() {
            batch = of_runs(&batch, seeds)?;
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(begun(&batch, self.compressed)?),
        };
        writer.write(&batch)
    }

    fn close(&mut self) -> Result<Vec<u8>> {
        self.encode()?;
        self.writer.take().map_or_else(|| Ok(Vec::new()), ArrowWriter::into_inner)
    }
}

fn begun(batch: &RecordBatch, compressed: bool) -> Result<ArrowWriter<Vec<u8>>> {
    let how = if compressed { Compression::ZSTD(ZstdLevel::default()) } else { Compression::UNCOMPRESSED };
    let properties =
        WriterProperties::builder().set_compression(how).set_dictionary_page_size_limit(DICTIONARY).build();
    ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))
}

/// Returns a batch with the seed of its run in every row.
fn of_runs(batch: &RecordBatch, seeds: Vec<u64>) -> Result<RecordBatch> {
    let schema = batch.schema();
    let text = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let metadata = HashMap::from([text("description", "seed of the run"), text("unit", "")]);
    let run = Arc::new(Field::new(RUN, DataType::UInt64, false).with_metadata(metadata));
    let fields: Vec<_> = [run].into_iter().chain(schema.fields().iter().map(Arc::clone)).collect();
    let seeds: ArrayRef = Arc::new(UInt64Array::from(seeds));
    let columns = [seeds].into_iter().chain(batch.columns().iter().map(Arc::clone)).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())), columns)?)
}
