//! Arrow across the border, by the PyCapsule interface of the Arrow C data interface.
//!
//! Out: a capsule owns a C struct, whose release function is called by the consumer, or by the capsule's own end if nobody
//! consumed it; this needs no unsafe code here. In: a stream is moved out of its capsule, which does.

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

/// A batch of rows of one result table.
#[pyclass(frozen, module = "backwater._core")]
pub struct Batch(pub RecordBatch);

pub fn raise(error: &ArrowError) -> PyErr {
    PyValueError::new_err(format!("Arrow: {error}"))
}

#[pymethods]
impl Batch {
    /// The batch as capsules of `ArrowSchema` and `ArrowArray`. Another schema is never given than the batch's own, as the
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

    /// The schema as a capsule of `ArrowSchema`, with the metadata of table and columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema_ref().as_ref()).map_err(|error| raise(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// Octets that its values take.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.get_array_memory_size()
    }

    /// The values of a column; `None` where there is none. Raises `KeyError` if there is no such column.
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

/// Every result table without rows, by its name: what its columns are.
#[pyfunction]
pub fn empty_tables() -> Vec<(&'static str, Batch)> {
    TABLES.iter().map(|table| (table.name, Batch(RecordBatch::new_empty(Arc::clone(&table.schema))))).collect()
}

/// Every result table: its name, and what a row is.
#[pyfunction]
pub fn tables() -> Vec<(&'static str, &'static str)> {
    backwater_net::record::TABLES.iter().map(|table| (table.name, table.description)).collect()
}

/// The batches of any object with `__arrow_c_stream__`.
#[pyfunction]
pub fn batches(table: &Bound<'_, PyAny>) -> PyResult<Vec<Batch>> {
    stream(table)?.map(|batch| batch.map(Batch).map_err(|error| raise(&error))).collect()
}

/// The batches of any object with `__arrow_c_stream__`: a table of pyarrow, polars, pandas, DuckDB.
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
    // SAFETY: by the PyCapsule interface a capsule of this name points to a valid ArrowArrayStream, and its consumer moves the
    // struct out. `from_raw` does just that and leaves one marked as released behind, which the capsule's destructor skips.
    // The interpreter's lock is held, so nobody else consumes it meanwhile; a stream that was consumed before is an error.
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr()) };
    reader.map_err(|error| raise(&error))
}
