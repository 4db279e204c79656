//! Batches as a Parquet file, with what their schema says of each column.

use crate::arrow::{Batch, raise};
use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The column of a series' tables that says of which run a row is.
const RUN: &str = "run";

/// A Parquet file of one table under construction, in memory.
#[pyclass(frozen, module = "backwater._core")]
pub struct Part(Mutex<Writing>);

enum Writing {
    Before { compressed: bool },
    Begun(Box<ArrowWriter<Vec<u8>>>),
    Over,
}

fn failed(error: &ParquetError) -> PyErr {
    PyValueError::new_err(format!("Parquet: {error}"))
}

#[pymethods]
impl Part {
    #[new]
    fn new(compressed: bool) -> Part {
        Part(Mutex::new(Writing::Before { compressed }))
    }

    /// Adds a batch. With the seed of its run each row says so in a column of its own; a part has that of all batches or of none.
    #[pyo3(signature = (batch, run = None))]
    fn write(&self, py: Python<'_>, batch: &Batch, run: Option<u64>) -> PyResult<()> {
        let batch = match run {
            Some(seed) => of_run(&batch.0, seed).map_err(|error| raise(&error))?,
            None => batch.0.clone(),
        };
        py.detach(|| self.lock().write(&batch)).map_err(|error| failed(&error))
    }

    /// Octets so far, of what is not written out yet an estimate.
    #[getter]
    fn nbytes(&self) -> usize {
        match &*self.lock() {
            Writing::Begun(writer) => writer.bytes_written() + writer.in_progress_size(),
            Writing::Before { .. } | Writing::Over => 0,
        }
    }

    /// Ends the file and gives its octets; none if nothing was written or it was ended before.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let octets = py.detach(|| match mem::replace(&mut *self.lock(), Writing::Over) {
            Writing::Begun(writer) => writer.into_inner(),
            Writing::Before { .. } | Writing::Over => Ok(Vec::new()),
        });
        octets.map(|octets| PyBytes::new(py, &octets)).map_err(|error| failed(&error))
    }
}

impl Part {
    fn lock(&self) -> MutexGuard<'_, Writing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writing {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        if let Writing::Before { compressed } = *self {
            let how = if compressed { Compression::ZSTD(ZstdLevel::default()) } else { Compression::UNCOMPRESSED };
            let properties = WriterProperties::builder().set_compression(how).build();
            *self = Writing::Begun(Box::new(ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?));
        }
        match self {
            Writing::Begun(writer) => writer.write(batch),
            Writing::Before { .. } | Writing::Over => Err(ParquetError::General("the part is closed".to_owned())),
        }
    }
}

/// A batch with the seed of its run in every row.
fn of_run(batch: &RecordBatch, seed: u64) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let text = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let said = HashMap::from([text("description", "seed of the run"), text("unit", "")]);
    let run = Arc::new(Field::new(RUN, DataType::UInt64, false).with_metadata(said));
    let fields: Vec<_> = [run].into_iter().chain(schema.fields().iter().map(Arc::clone)).collect();
    let seeds: ArrayRef = Arc::new(UInt64Array::from_value(seed, batch.num_rows()));
    let columns = [seeds].into_iter().chain(batch.columns().iter().map(Arc::clone)).collect();
    RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())), columns)
}
