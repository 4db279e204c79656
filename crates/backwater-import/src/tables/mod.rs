//! Tables beside a scenario: CSV if people may want to read them, Parquet if they are large.

mod flows;
mod operations;

pub use flows::{Flow, Flows};
pub use operations::{Does, Operation, Operations};

use crate::error::ImportError;
use crate::source::Place;
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::io::Write;

/// Most rows of a CSV table. Beyond, a table is Parquet, written in batches of as many rows.
pub const MOST_CSV_ROWS: usize = 100_000;

/// Rows of one type, as columns and as lines.
trait Rows: Default {
    /// Returns the number of rows.
    fn len(&self) -> usize;
    /// The rows as CSV text with a header line.
    fn csv(&self) -> Result<Vec<u8>, csv::Error>;
    /// The rows as Arrow columns.
    fn batch(&self) -> Result<RecordBatch, arrow_schema::ArrowError>;
}

/// A table that is written as it grows: rows are kept until their number decides the format.
struct Table<R: Rows> {
    stem: String,
    rows: R,
    writer: Option<ArrowWriter<Box<dyn Write + Send>>>,
}

impl<R: Rows> Table<R> {
    /// A table whose file will be `stem.csv` or `stem.parquet`.
    fn new(stem: String) -> Table<R> {
        Table { stem, rows: R::default(), writer: None }
    }

    /// Writes the kept rows if they are many; called after each row.
    fn grown(&mut self, place: &mut dyn Place) -> Result<(), ImportError> {
        if self.rows.len() > MOST_CSV_ROWS { self.spill(place) } else { Ok(()) }
    }

    fn spill(&mut self, place: &mut dyn Place) -> Result<(), ImportError> {
        let name = format!("{}.parquet", self.stem);
        let unwritable =
            |error: &dyn std::fmt::Display| ImportError::new(format!("cannot be written: {error}")).file(&name);
        let batch = self.rows.batch().map_err(|error| unwritable(&error))?;
        if self.writer.is_none() {
            let file = place.create(&name).map_err(|error| unwritable(&error))?;
            let compression = Compression::ZSTD(ZstdLevel::default());
            let properties = WriterProperties::builder()
                .set_compression(compression)
                .set_max_row_group_row_count(Some(MOST_CSV_ROWS))
                .build();
            let writer = ArrowWriter::try_new(file, batch.schema(), Some(properties));
            self.writer = Some(writer.map_err(|error| unwritable(&error))?);
        }
        self.rows = R::default();
        match &mut self.writer {
            Some(writer) => writer.write(&batch).map_err(|error| unwritable(&error)),
            None => Ok(()),
        }
    }

    /// Writes the remaining rows; returns the name of the file.
    fn finish(mut self, place: &mut dyn Place) -> Result<String, ImportError> {
        if self.writer.is_some() && self.rows.len() > 0 {
            self.spill(place)?;
        }
        if let Some(writer) = self.writer {
            let name = format!("{}.parquet", self.stem);
            return match writer.close() {
                Ok(_) => Ok(name),
                Err(error) => Err(ImportError::new(format!("cannot be written: {error}")).file(&name)),
            };
        }
        let name = format!("{}.csv", self.stem);
        let unwritable =
            |error: &dyn std::fmt::Display| ImportError::new(format!("cannot be written: {error}")).file(&name);
        let text = self.rows.csv().map_err(|error| unwritable(&error))?;
        let mut file = place.create(&name).map_err(|error| unwritable(&error))?;
        file.write_all(&text).and_then(|()| file.flush()).map_err(|error| unwritable(&error))?;
        Ok(name)
    }
}
