//! Batches as a Parquet file, with what their schema says of each column.

use crate::arrow::Batch;
use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::Result;
use ::parquet::file::properties::WriterProperties;
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The octets of a Parquet file of at least one batch of one table.
#[pyfunction]
pub fn parquet<'py>(
    py: Python<'py>,
    batches: Vec<Bound<'py, Batch>>,
    compressed: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let batches: Vec<RecordBatch> = batches.iter().map(|batch| batch.get().0.clone()).collect();
    let file = py.detach(|| write(&batches, compressed));
    file.map(|octets| PyBytes::new(py, &octets)).map_err(|error| PyValueError::new_err(format!("Parquet: {error}")))
}

fn write(batches: &[RecordBatch], compressed: bool) -> Result<Vec<u8>> {
    let schema = batches.first().map_or_else(|| Schema::empty().into(), RecordBatch::schema);
    let how = if compressed { Compression::ZSTD(ZstdLevel::default()) } else { Compression::UNCOMPRESSED };
    let properties = WriterProperties::builder().set_compression(how).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties))?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.into_inner()
}
