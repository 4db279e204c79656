//! Tables of Arrow between Rust and Python, by the PyCapsule interface of the Arrow C data interface.
//!
//! To export a batch, a capsule owns a C struct. The consumer calls its release function, or the capsule does if nobody
//! consumed it. This needs no unsafe code here. To import a stream, the struct is moved out of its capsule, which is
//! unsafe.

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType};
use backwater::results::columns::TABLES;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};
use std::sync::Arc;

/// Rows of a result table, which pyarrow and polars accept.
#[pyclass(frozen, module = "backwater._core")]
pub struct Batch(pub RecordBatch);

pub fn raise(error: &ArrowError) -> PyErr {
    PyValueError::new_err(format!("Arrow: {error}"))
}

#[pymethods]
impl Batch {
    /// Return the batch as capsules of `ArrowSchema` and `ArrowArray`. The schema is always the batch's own, which the
    /// interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        let data = StructArray::from(self.0.clone()).to_data();
        let array = PyCapsule::new_with_value(py, FFI_ArrowArray::new(&data), c"arrow_array")?;
        (self.__arrow_c_schema__(py)?, array).into_pyobject(py)
    }

    /// Return the schema as a capsule of `ArrowSchema`, with the metadata of table and columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema_ref().as_ref()).map_err(|error| raise(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Return the number of rows.
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The size of its values, in B.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.get_array_memory_size()
    }

    /// Return the values of a column, with `None` for null. Raises `KeyError` for an unknown column.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.0.column_by_name(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        match column.data_type() {
            DataType::UInt8 => numbers::<UInt8Type>(py, column),
            DataType::UInt32 => numbers::<UInt32Type>(py, column),
            DataType::UInt64 => numbers::<UInt64Type>(py, column),
            DataType::Int64 => numbers::<Int64Type>(py, column),
            DataType::Float64 => numbers::<Float64Type>(py, column),
            DataType::Utf8 => PyList::new(py, column.as_string::<i32>()),
            other => Err(PyTypeError::new_err(format!("{name}: {other}"))),
        }
    }
}

fn numbers<'py, T: ArrowPrimitiveType>(py: Python<'py>, column: &dyn Array) -> PyResult<Bound<'py, PyList>>
where
    T::Native: IntoPyObject<'py>,
{
    PyList::new(py, column.as_primitive::<T>())
}

/// Return every result table, by name, without rows.
#[pyfunction]
pub fn empty_tables() -> Vec<(&'static str, Batch)> {
    TABLES.iter().map(|table| (table.name, Batch(RecordBatch::new_empty(Arc::clone(&table.schema))))).collect()
}

/// Return every result table, as (name, meaning of a row).
#[pyfunction]
pub fn tables() -> Vec<(&'static str, &'static str)> {
    backwater_net::record::TABLES.iter().map(|table| (table.name, table.description)).collect()
}

/// Return the batches of any object with `__arrow_c_stream__`.
#[pyfunction]
pub fn batches(table: &Bound<'_, PyAny>) -> PyResult<Vec<Batch>> {
    stream(table)?.map(|batch| batch.map(Batch).map_err(|error| raise(&error))).collect()
}

/// Returns the batches of any object with `__arrow_c_stream__`: a table of pyarrow, polars, pandas or DuckDB.
#[allow(unsafe_code)]
pub fn stream(table: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let Ok(export) = table.getattr("__arrow_c_stream__") else {
        let kind = table.get_type().name()?.to_string_lossy().into_owned();
        return Err(PyTypeError::new_err(format!(
            "{kind} is not a table: it has no __arrow_c_stream__, as tables of pyarrow, polars and pandas have"
        )));
    };
    let capsule = export.call0()?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: by the PyCapsule interface, a capsule of this name points to a valid ArrowArrayStream, and its consumer
    // moves the struct out. `from_raw` does that, and leaves a struct marked as released, which the capsule's
    // destructor skips. The interpreter's lock is held, so nobody else consumes the stream meanwhile. A stream that was
    // consumed before is an error.
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr()) };
    reader.map_err(|error| raise(&error))
}
