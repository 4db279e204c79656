//! Flows that start by the clock: `[[flow]] table`.

use super::{Rows, Table};
use crate::error::ImportError;
use crate::source::Place;
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::ArrowError;
use std::sync::Arc;

/// A flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Its number, below 2^40, unique in the table.
    pub id: u64,
    /// Number of the sending host.
    pub src: u32,
    /// Number of the receiving host.
    pub dst: u32,
    /// Payload, at least 1 B.
    pub bytes: u64,
    /// Start, in ps.
    pub start_ps: u64,
    /// Class, 0 to 7; absent: the group's.
    pub class: Option<u8>,
    /// Names of the switches on its path, separated by blanks; absent: ECMP.
    pub path: Option<String>,
    /// Names of the switches on its acknowledgements' path, separated by blanks; absent: by `ack.path`.
    pub ack_path: Option<String>,
}

/// A table of flows.
pub struct Flows(Table<FlowRows>);

#[derive(Default)]
struct FlowRows(Vec<Flow>);

impl Flows {
    /// A table whose file will be `stem.csv` or `stem.parquet`.
    pub fn new(stem: impl Into<String>) -> Flows {
        Flows(Table::new(stem.into()))
    }

    /// Adds a flow.
    pub fn add(&mut self, flow: Flow, place: &mut dyn Place) -> Result<(), ImportError> {
        self.0.rows.0.push(flow);
        self.0.grown(place)
    }

    /// Writes the remaining rows; returns the name of the file, for `table = "…"`.
    pub fn finish(self, place: &mut dyn Place) -> Result<String, ImportError> {
        self.0.finish(place)
    }
}

impl Rows for FlowRows {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let (classes, paths) = (self.0.iter().any(|f| f.class.is_some()), self.0.iter().any(|f| f.path.is_some()));
        let ack_paths = self.0.iter().any(|f| f.ack_path.is_some());
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut names = vec!["id", "src", "dst", "bytes", "start"];
        names.extend(classes.then_some("class"));
        names.extend(paths.then_some("path"));
        names.extend(ack_paths.then_some("ack_path"));
        writer.write_record(&names)?;
        for flow in &self.0 {
            let numbers = [flow.id, flow.src.into(), flow.dst.into(), flow.bytes, flow.start_ps];
            let mut row: Vec<String> = numbers.iter().map(u64::to_string).collect();
            row.extend(classes.then(|| flow.class.map_or_else(String::new, |class| class.to_string())));
            row.extend(paths.then(|| flow.path.clone().unwrap_or_default()));
            row.extend(ack_paths.then(|| flow.ack_path.clone().unwrap_or_default()));
            writer.write_record(&row)?;
        }
        writer.into_inner().map_err(|error| error.into_error().into())
    }

    fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let whole = |of: fn(&Flow) -> u64| -> ArrayRef { Arc::new(self.0.iter().map(of).collect::<UInt64Array>()) };
        let host = |of: fn(&Flow) -> u32| -> ArrayRef { Arc::new(self.0.iter().map(of).collect::<UInt32Array>()) };
        let class: ArrayRef = Arc::new(self.0.iter().map(|flow| flow.class).collect::<UInt8Array>());
        let path: ArrayRef = Arc::new(self.0.iter().map(|flow| flow.path.as_deref()).collect::<StringArray>());
        let ack_path: ArrayRef = Arc::new(self.0.iter().map(|flow| flow.ack_path.as_deref()).collect::<StringArray>());
        RecordBatch::try_from_iter([
            ("id", whole(|flow| flow.id)),
            ("src", host(|flow| flow.src)),
            ("dst", host(|flow| flow.dst)),
            ("bytes", whole(|flow| flow.bytes)),
            ("start_ps", whole(|flow| flow.start_ps)),
            ("class", class),
            ("path", path),
            ("ack_path", ack_path),
        ])
    }
}
