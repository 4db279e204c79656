//! Rows of a result table, in memory or in Parquet files. Files are read a batch at a time, so that memory does not
//! grow with the number of rows.

use crate::arrow::Batch;
use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use backwater::results::columns::{TABLES, Table};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{mem, slice};

/// Rows that are decoded at once.
const ROWS: usize = 8192;
/// Bits of a digit. `at` finds a value digit by digit: it reads all rows for each digit, and counts the values of that
/// digit.
const DIGIT: u32 = 16;

/// A file, the number of its first row, and how many rows.
type Slice = (PathBuf, usize, Option<usize>);

/// A value of a column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, FromPyObject)]
enum Cell {
    Whole(i128),
    Text(String),
}

/// A condition on the values of a column.
#[derive(Clone, Debug)]
enum Wanted {
    Equal(Cell),
    Known,
    Above(i128),
}

/// The place of the rows.
#[derive(Clone)]
enum Source {
    Files(Arc<[Slice]>),
    Memory(Arc<[RecordBatch]>),
}

/// Rows of a result table, whose files are read a batch at a time.
///
/// Methods raise ValueError if a file or a column is missing or damaged.
#[pyclass(frozen, module = "backwater._core")]
pub struct Scan {
    source: Source,
    wanted: Vec<(String, Wanted)>,
}

fn failed(file: &Path, error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{}: {error}", file.display()))
}

/// Opens a file with columns of a table: at least one, each at most once, and of the table's types. The error is the
/// reason alone.
fn open(file: &Path, table: &Table) -> Result<ParquetRecordBatchReaderBuilder<File>, String> {
    let opened = File::open(file).map_err(|error| error.to_string())?;
    let found = ParquetRecordBatchReaderBuilder::try_new(opened).map_err(|error| error.to_string())?;
    let (schema, known) = (found.schema(), &table.schema);
    let of = |name: &str| schema.fields().iter().filter(|field| field.name() == name).collect::<Vec<_>>();
    if !known.fields().iter().any(|field| schema.column_with_name(field.name()).is_some()) {
        return Err(format!("has no column of the table {}", table.name));
    }
    for field in known.fields() {
        let columns = of(field.name());
        if columns.len() > 1 {
            return Err(format!("has {} columns {}", columns.len(), field.name()));
        }
        if let Some(other) = columns.first().filter(|column| column.data_type() != field.data_type()) {
            return Err(format!("{} is {}, not {}", field.name(), other.data_type(), field.data_type()));
        }
    }
    Ok(found)
}

fn named(table: &str) -> PyResult<&'static Table> {
    let found = TABLES.iter().find(|known| known.name == table);
    found.ok_or_else(|| PyValueError::new_err(format!("{table}: there is no such table")))
}

/// Return what is wrong with the columns of a Parquet file of a table; None: nothing.
#[pyfunction]
pub fn check_part(file: PathBuf, table: &str) -> PyResult<Option<String>> {
    Ok(open(&file, named(table)?).err())
}

#[pymethods]
impl Scan {
    #[new]
    fn new(table: &str, slices: Vec<Slice>) -> PyResult<Scan> {
        let table = named(table)?;
        let mut files: Vec<&Path> = slices.iter().map(|(file, ..)| file.as_path()).collect();
        files.dedup();
        for file in files {
            open(file, table).map_err(|reason| failed(file, reason))?;
        }
        Ok(Scan { source: Source::Files(slices.into()), wanted: Vec::new() })
    }

    /// Return the rows of batches.
    #[staticmethod]
    fn of(batches: Vec<PyRef<'_, Batch>>) -> Scan {
        let batches = batches.iter().map(|batch| batch.0.clone()).collect();
        Scan { source: Source::Memory(batches), wanted: Vec::new() }
    }

    /// Return the rows with this value in a column.
    fn only(&self, name: &str, value: Cell) -> Scan {
        self.and(name, Wanted::Equal(value))
    }

    /// Return the rows that have a value in a column.
    fn known(&self, name: &str) -> Scan {
        self.and(name, Wanted::Known)
    }

    /// Return the rows with more than a limit in a column of whole numbers.
    fn above(&self, name: &str, limit: i128) -> Scan {
        self.and(name, Wanted::Above(limit))
    }

    /// Return the number of rows.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        py.detach(|| self.read(&[]).map(|batch| batch.map(|(_, rows)| rows.len())).sum())
    }

    /// Return the sum of a column of whole numbers; 0 without rows.
    fn total(&self, py: Python<'_>, name: &str) -> PyResult<i128> {
        py.detach(|| {
            self.read(&[name])
                .map(|batch| {
                    batch.and_then(|(batch, rows)| Ok(wholes(&batch, name, &rows)?.into_iter().flatten().sum::<i128>()))
                })
                .sum()
        })
    }

    /// Return the distinct combinations of values, in the order of their first rows. `by`: the column that orders the
    /// rows for this.
    #[pyo3(signature = (names, by = None))]
    fn distinct<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
        by: Option<String>,
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let found = py.detach(|| self.combinations(&names, by.as_deref()))?;
        found.into_iter().map(|cells| PyTuple::new(py, cells.into_iter().map(value_of))).collect()
    }

    /// Return a column's value in the first row, or in the first with the least of `by`; None without rows.
    #[pyo3(signature = (name, by = None))]
    fn first(&self, py: Python<'_>, name: &str, by: Option<&str>) -> PyResult<Option<Value>> {
        let found = py.detach(|| -> PyResult<Option<(i128, Option<Cell>)>> {
            let columns: Vec<&str> = [Some(name), by].into_iter().flatten().collect();
            let mut least: Option<(i128, Option<Cell>)> = None;
            for batch in self.read(&columns) {
                let (batch, rows) = batch?;
                let keys = by.map(|by| wholes(&batch, by, &rows)).transpose()?;
                for (n, row) in rows.iter().enumerate() {
                    let key = keys.as_ref().map_or(0, |keys| keys[n].unwrap_or(i128::MAX));
                    if least.as_ref().is_none_or(|(least, _)| key < *least) {
                        least = Some((key, cell(&batch, name, *row)?));
                    }
                }
            }
            Ok(least)
        })?;
        Ok(found.and_then(|(_, cell)| value_of(cell)))
    }

    /// Return a column's numbers at places, from 0, of their ascending order. Raises `IndexError` for a place beyond
    /// the last.
    fn at(&self, py: Python<'_>, name: &str, places: Vec<u64>) -> PyResult<Vec<Value>> {
        py.detach(|| {
            let (keys, kind) = self.select(name, &places)?;
            Ok(keys.into_iter().map(|key| number_of(key, &kind)).collect())
        })
    }

    /// Yield a column's numbers, those of a batch at a time, in the order of rows.
    fn values(&self, name: &str) -> Values {
        Values { name: name.to_owned(), read: Mutex::new(self.read(&[name])) }
    }
}

impl Scan {
    fn and(&self, name: &str, wanted: Wanted) -> Scan {
        let mut all = self.wanted.clone();
        all.push((name.to_owned(), wanted));
        Scan { source: self.source.clone(), wanted: all }
    }

    fn read(&self, columns: &[&str]) -> Reading {
        let of = self.wanted.iter().map(|(name, _)| name.as_str());
        let mut columns: Vec<String> = of.chain(columns.iter().copied()).map(str::to_owned).collect();
        columns.sort();
        columns.dedup();
        Reading { source: self.source.clone(), next: 0, wanted: self.wanted.clone(), columns, open: None }
    }

    fn combinations(&self, names: &[String], by: Option<&str>) -> PyResult<Vec<Vec<Option<Cell>>>> {
        let columns: Vec<&str> = names.iter().map(String::as_str).chain(by).collect();
        let mut found: HashMap<Vec<Option<Cell>>, (i128, usize)> = HashMap::new();
        let mut place = 0;
        for batch in self.read(&columns) {
            let (batch, rows) = batch?;
            let keys = by.map(|by| wholes(&batch, by, &rows)).transpose()?;
            for (n, row) in rows.iter().enumerate() {
                let cells = names.iter().map(|name| cell(&batch, name, *row)).collect::<PyResult<Vec<_>>>()?;
                let key = keys.as_ref().map_or(0, |keys| keys[n].unwrap_or(i128::MAX));
                let first = found.entry(cells).or_insert((key, place));
                *first = (*first).min((key, place));
                place += 1;
            }
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|(_, first)| *first);
        Ok(found.into_iter().map(|(cells, _)| cells).collect())
    }

    /// Returns the keys at these places of their order, and the column's type. It finds them digit by digit, from the
    /// highest.
    fn select(&self, name: &str, places: &[u64]) -> PyResult<(Vec<u64>, DataType)> {
        let mut found: Vec<(u64, u64)> = places.iter().map(|place| (0, *place)).collect();
        let mut kind = DataType::Null;
        for shift in (0..u64::BITS).step_by(DIGIT as usize).rev() {
            let mut prefixes: Vec<u64> = found.iter().map(|(prefix, _)| *prefix).collect();
            prefixes.sort_unstable();
            prefixes.dedup();
            let mut counts = vec![vec![0u64; 1 << DIGIT]; prefixes.len()];
            for batch in self.read(&[name]) {
                let (batch, rows) = batch?;
                kind = column(&batch, name)?.data_type().clone();
                for key in keys(&batch, name, &rows)? {
                    let prefix = key.checked_shr(shift + DIGIT).unwrap_or(0);
                    if let Ok(at) = prefixes.binary_search(&prefix) {
                        counts[at][usize::from((key >> shift) as u16)] += 1;
                    }
                }
            }
            for (prefix, place) in &mut found {
                let of = &counts[prefixes.binary_search(prefix).unwrap_or(0)];
                let below = |(digit, count): (usize, &u64)| {
                    let here = *place < *count;
                    *place -= if here { 0 } else { *count };
                    here.then_some(digit as u64)
                };
                let digit = of.iter().enumerate().find_map(below);
                *prefix = *prefix << DIGIT | digit.ok_or_else(|| PyIndexError::new_err("there are not so many"))?;
            }
        }
        Ok((found.into_iter().map(|(key, _)| key).collect(), kind))
    }
}

/// The numbers of a column, those of a batch at a time.
#[pyclass(frozen, module = "backwater._core")]
pub struct Values {
    name: String,
    read: Mutex<Reading>,
}

#[pymethods]
impl Values {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Vec<Value>>> {
        py.detach(|| {
            let next = self.read.lock().unwrap_or_else(PoisonError::into_inner).next();
            let of = |(batch, rows): (RecordBatch, Vec<usize>)| {
                let kind = column(&batch, &self.name)?.data_type().clone();
                Ok(keys(&batch, &self.name, &rows)?.into_iter().map(|key| number_of(key, &kind)).collect())
            };
            next.map(|batch| batch.and_then(of)).transpose()
        })
    }
}

/// Batches of some columns, and which rows of each are wanted.
struct Reading {
    source: Source,
    next: usize,
    wanted: Vec<(String, Wanted)>,
    columns: Vec<String>,
    open: Option<ParquetRecordBatchReader>,
}

impl Iterator for Reading {
    type Item = PyResult<(RecordBatch, Vec<usize>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let slices = match &self.source {
            Source::Files(slices) => Arc::clone(slices),
            Source::Memory(batches) => {
                let batch = batches.get(self.next)?.clone();
                self.next += 1;
                return Some(self.kept(&batch).map(|rows| (batch, rows)));
            }
        };
        loop {
            let slice = slices.get(self.next)?;
            let reader = match self.open.as_mut() {
                Some(reader) => reader,
                None => match self.begin(slice) {
                    Ok(reader) => self.open.insert(reader),
                    Err(error) => return Some(Err(error)),
                },
            };
            match reader.next() {
                None => (self.open, self.next) = (None, self.next + 1),
                Some(Err(error)) => return Some(Err(failed(&slice.0, error))),
                Some(Ok(batch)) => return Some(self.kept(&batch).map(|rows| (batch, rows))),
            }
        }
    }
}

impl Reading {
    fn begin(&self, (file, first, rows): &Slice) -> PyResult<ParquetRecordBatchReader> {
        let opened = File::open(file).map_err(|error| failed(file, error))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(opened).map_err(|error| failed(file, error))?;
        let mask = ProjectionMask::columns(builder.parquet_schema(), self.columns.iter().map(String::as_str));
        let mut builder = builder.with_projection(mask).with_batch_size(ROWS).with_offset(*first);
        if let Some(rows) = rows {
            builder = builder.with_limit(*rows);
        }
        builder.build().map_err(|error| failed(file, error))
    }

    fn kept(&self, batch: &RecordBatch) -> PyResult<Vec<usize>> {
        let mut rows: Vec<usize> = (0..batch.num_rows()).collect();
        for (name, wanted) in &self.wanted {
            let of = column(batch, name)?;
            match wanted {
                Wanted::Known => rows.retain(|row| !of.is_null(*row)),
                Wanted::Equal(Cell::Text(text)) if *of.data_type() == DataType::Utf8 => {
                    let texts = of.as_string::<i32>();
                    rows.retain(|row| !of.is_null(*row) && texts.value(*row) == text);
                }
                Wanted::Equal(Cell::Text(_)) => rows.clear(),
                Wanted::Equal(Cell::Whole(value)) => retain(batch, name, &mut rows, |cell| cell == *value)?,
                Wanted::Above(limit) => retain(batch, name, &mut rows, |cell| cell > *limit)?,
            }
        }
        Ok(rows)
    }
}

fn retain(batch: &RecordBatch, name: &str, rows: &mut Vec<usize>, is: impl Fn(i128) -> bool) -> PyResult<()> {
    let values = wholes(batch, name, rows)?;
    let kept = mem::take(rows).into_iter().zip(values).filter(|(_, value)| value.is_some_and(&is));
    *rows = kept.map(|(row, _)| row).collect();
    Ok(())
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> PyResult<&'a dyn Array> {
    let found =
        batch.column_by_name(name).ok_or_else(|| PyValueError::new_err(format!("there is no column {name}")))?;
    Ok(found.as_ref())
}

fn no_number(name: &str, kind: &DataType) -> PyErr {
    PyValueError::new_err(format!("{name} is {kind}, and no number"))
}

/// Returns the whole numbers of a column in these rows.
fn wholes(batch: &RecordBatch, name: &str, rows: &[usize]) -> PyResult<Vec<Option<i128>>> {
    fn of<T: ArrowPrimitiveType>(array: &dyn Array, rows: &[usize]) -> Vec<Option<i128>>
    where
        T::Native: Into<i128>,
    {
        let values = array.as_primitive::<T>();
        rows.iter().map(|row| (!array.is_null(*row)).then(|| values.value(*row).into())).collect()
    }
    let array = column(batch, name)?;
    Ok(match array.data_type() {
        DataType::UInt8 => of::<UInt8Type>(array, rows),
        DataType::UInt32 => of::<UInt32Type>(array, rows),
        DataType::UInt64 => of::<UInt64Type>(array, rows),
        DataType::Int64 => of::<Int64Type>(array, rows),
        other => return Err(no_number(name, other)),
    })
}

fn cell(batch: &RecordBatch, name: &str, row: usize) -> PyResult<Option<Cell>> {
    let array = column(batch, name)?;
    if array.is_null(row) {
        return Ok(None);
    }
    if *array.data_type() == DataType::Utf8 {
        return Ok(Some(Cell::Text(array.as_string::<i32>().value(row).to_owned())));
    }
    Ok(wholes(batch, name, slice::from_ref(&row))?[0].map(Cell::Whole))
}

/// The highest bit: flipping it sorts negative numbers first.
const SIGN: u64 = 1 << 63;

/// Returns the numbers of a column in these rows, without nulls, as keys of the same order.
fn keys(batch: &RecordBatch, name: &str, rows: &[usize]) -> PyResult<Vec<u64>> {
    fn of<T: ArrowPrimitiveType>(array: &dyn Array, rows: &[usize], key: impl Fn(T::Native) -> u64) -> Vec<u64> {
        let values = array.as_primitive::<T>();
        rows.iter().filter(|row| !array.is_null(**row)).map(|row| key(values.value(*row))).collect()
    }
    let array = column(batch, name)?;
    Ok(match array.data_type() {
        DataType::UInt8 => of::<UInt8Type>(array, rows, u64::from),
        DataType::UInt32 => of::<UInt32Type>(array, rows, u64::from),
        DataType::UInt64 => of::<UInt64Type>(array, rows, |value| value),
        DataType::Int64 => of::<Int64Type>(array, rows, |value| value as u64 ^ SIGN),
        DataType::Float64 => of::<Float64Type>(array, rows, |value| {
            let bits = value.to_bits();
            if bits & SIGN == 0 { bits | SIGN } else { !bits }
        }),
        other => return Err(no_number(name, other)),
    })
}

/// Returns the number of a key.
fn number_of(key: u64, kind: &DataType) -> Value {
    match kind {
        DataType::Int64 => Value::Signed((key ^ SIGN) as i64),
        DataType::Float64 => Value::Real(f64::from_bits(if key & SIGN == 0 { !key } else { key ^ SIGN })),
        _ => Value::Whole(key),
    }
}

/// A value for Python.
#[derive(IntoPyObject)]
pub enum Value {
    Whole(u64),
    Signed(i64),
    Real(f64),
    Text(String),
}

fn value_of(cell: Option<Cell>) -> Option<Value> {
    cell.map(|cell| match cell {
        Cell::Text(text) => Value::Text(text),
        Cell::Whole(value) => u64::try_from(value).map_or(Value::Signed(value as i64), Value::Whole),
    })
}
