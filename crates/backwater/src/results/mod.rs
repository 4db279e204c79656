//! Result rows as Arrow batches of bounded size, with a description of each column.
//!
//! [`Tables`] takes rows from a run and closes a batch of a table whenever it has [`Tables::ROWS`] rows; the caller of the run fetches
//! closed batches with [`Tables::take`] and writes them. Times are integer picoseconds, sizes bytes, names are those of the topology. The
//! rows declare the columns ([`backwater_net::record`]).

pub mod columns;
mod offered;
mod verdict;

pub use offered::{Offered, Tally};
pub use verdict::{End, Finding, Verdict};

use arrow_array::builder::{
    ArrayBuilder, Float64Builder, Int64Builder, StringBuilder, UInt8Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use backwater_mech::registry::ENTRIES;
use backwater_net::packet::NodeId;
use backwater_net::record::{Cell, Row, Sink};
use backwater_net::topology::Graph;
use columns::{TABLES, Table};
use std::sync::Arc;

/// The names behind the numbers in rows.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Labels of flow groups.
    groups: Vec<String>,
    /// Name and tier of every node.
    nodes: Vec<(String, String)>,
}

impl Names {
    /// The names of a run's network and flow groups.
    pub fn new(graph: &Graph, groups: &[String]) -> Names {
        let nodes = graph.nodes.iter().map(|node| (node.name.clone(), node.tier.clone())).collect();
        Names { groups: groups.to_vec(), nodes }
    }

    /// The text of a value that refers to a name; `None`: it is no such value, or the number is unknown.
    fn text<'a>(&'a self, cell: Cell<'a>) -> Option<&'a str> {
        match cell {
            Cell::Text(text) => Some(text),
            Cell::Node(node) => Some(self.node(node)),
            Cell::Tier(node) => Some(self.tier(node)),
            Cell::Group(group) => Some(self.group(group)),
            Cell::Mechanism(owner) => ENTRIES.get(usize::from(owner.0)).map(|entry| entry.name),
            _ => None,
        }
    }

    fn node(&self, node: NodeId) -> &str {
        self.nodes.get(node.0 as usize).map_or("", |(name, _)| name)
    }

    fn group(&self, group: u32) -> &str {
        self.groups.get(group as usize).map_or("", String::as_str)
    }

    fn tier(&self, node: NodeId) -> &str {
        self.nodes.get(node.0 as usize).map_or("", |(_, tier)| tier)
    }
}

/// A column under construction.
enum Builder {
    U8(UInt8Builder),
    U32(UInt32Builder),
    U64(UInt64Builder),
    I64(Int64Builder),
    F64(Float64Builder),
    Text(StringBuilder),
}

/// One table under construction.
#[derive(backwater_derive::State)]
struct Open {
    #[state(fixed)]
    table: &'static Table,
    /// Empty before the first row: most tables of a small run have no rows.
    #[state(fixed)]
    columns: Vec<Builder>,
    #[state(fixed)]
    rows: usize,
    /// Batches that have not been fetched yet.
    #[state(fixed)]
    closed: Vec<RecordBatch>,
    /// True if any batch was ever closed.
    begun: bool,
}

/// Initial capacity of a table in rows: a tiny run in a series has few in each.
const FIRST: usize = 64;

/// All tables of a run. Their state ([`backwater_engine::State`]) consists of counts: fetch rows before saving it.
#[derive(backwater_derive::State)]
pub struct Tables {
    #[state(fixed)]
    names: Names,
    #[state(within)]
    tally: Tally,
    #[state(within)]
    verdict: Verdict,
    #[state(within)]
    open: Vec<Open>,
    #[state(fixed)]
    error: Option<ArrowError>,
}

impl Tables {
    /// Rows after which a batch is closed: about 1 MB of the widest table.
    pub const ROWS: usize = 8_192;

    /// Empty tables.
    pub fn new(names: Names) -> Tables {
        Tables {
            names,
            tally: Tally::default(),
            verdict: Verdict::default(),
            open: TABLES.iter().map(Open::new).collect(),
            error: None,
        }
    }

    /// Also counts the offers of groups.
    pub fn counting(self, tally: Tally) -> Tables {
        Tables { tally, ..self }
    }

    /// Also counts what the verdict on the run needs.
    pub fn judging(self, verdict: Verdict) -> Tables {
        Tables { verdict, ..self }
    }

    /// Returns the findings on the run.
    pub fn findings(&self, end: &End) -> Vec<Finding> {
        self.verdict.findings(&self.names, end)
    }

    /// Returns the counts.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Batches closed since the last call; with `partial` also incomplete ones.
    pub fn take(&mut self, partial: bool) -> Result<Vec<(&'static str, RecordBatch)>, ArrowError> {
        let mut taken = Vec::new();
        for open in &mut self.open {
            if partial && open.rows > 0 {
                keep(&mut self.error, open.close());
            }
            taken.extend(open.closed.drain(..).map(|batch| (open.table.name, batch)));
        }
        self.error.take().map_or(Ok(taken), Err)
    }

    /// All remaining batches. A table without rows gives an empty batch, which shows its columns.
    pub fn finish(&mut self) -> Result<Vec<(&'static str, RecordBatch)>, ArrowError> {
        for open in &mut self.open {
            if !open.begun && open.rows == 0 {
                keep(&mut self.error, open.close());
            }
        }
        self.take(true)
    }
}

/// Remembers the first error: rows come from deep inside a run, which cannot return one.
fn keep(kept: &mut Option<ArrowError>, result: Result<(), ArrowError>) {
    if let Err(error) = result {
        kept.get_or_insert(error);
    }
}

impl Open {
    fn new(table: &'static Table) -> Open {
        Open { table, columns: Vec::new(), rows: 0, closed: Vec::new(), begun: false }
    }

    fn push(&mut self, row: Row<'_>, names: &Names) -> Result<(), ArrowError> {
        if self.columns.is_empty() {
            self.columns = self.table.schema.fields().iter().map(|field| Builder::of(field.data_type())).collect();
        }
        let mut columns = self.columns.iter_mut();
        row.cells(&mut |cell| {
            if let Some(column) = columns.next() {
                column.push(cell, names);
            }
        });
        self.rows += 1;
        if self.rows < Tables::ROWS { Ok(()) } else { self.close() }
    }

    fn close(&mut self) -> Result<(), ArrowError> {
        let schema = Arc::clone(&self.table.schema);
        let batch = if self.columns.is_empty() {
            RecordBatch::new_empty(schema)
        } else {
            RecordBatch::try_new(schema, self.columns.iter_mut().map(Builder::finish).collect())?
        };
        self.rows = 0;
        self.begun = true;
        self.closed.push(batch);
        Ok(())
    }
}

impl Builder {
    fn of(kind: &arrow_schema::DataType) -> Builder {
        use arrow_schema::DataType;
        match kind {
            DataType::UInt8 => Builder::U8(UInt8Builder::with_capacity(FIRST)),
            DataType::UInt32 => Builder::U32(UInt32Builder::with_capacity(FIRST)),
            DataType::UInt64 => Builder::U64(UInt64Builder::with_capacity(FIRST)),
            DataType::Int64 => Builder::I64(Int64Builder::with_capacity(FIRST)),
            DataType::Float64 => Builder::F64(Float64Builder::with_capacity(FIRST)),
            _ => Builder::Text(StringBuilder::with_capacity(FIRST, 8 * FIRST)),
        }
    }

    /// Appends a value. A value of another type than the column's becomes null; a column that is never null then refuses its batch.
    fn push(&mut self, cell: Cell<'_>, names: &Names) {
        match (self, cell) {
            (Builder::U8(to), Cell::U8(value)) => to.append_value(value),
            (Builder::U32(to), Cell::U32(value)) => to.append_value(value),
            (Builder::U64(to), Cell::U64(value)) => to.append_value(value),
            (Builder::I64(to), Cell::I64(value)) => to.append_value(value),
            (Builder::F64(to), Cell::F64(value)) => to.append_value(value),
            (Builder::Text(to), cell) => to.append_option(names.text(cell)),
            (Builder::U8(to), _) => to.append_null(),
            (Builder::U32(to), _) => to.append_null(),
            (Builder::U64(to), _) => to.append_null(),
            (Builder::I64(to), _) => to.append_null(),
            (Builder::F64(to), _) => to.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::U8(builder) => ArrayBuilder::finish(builder),
            Builder::U32(builder) => ArrayBuilder::finish(builder),
            Builder::U64(builder) => ArrayBuilder::finish(builder),
            Builder::I64(builder) => ArrayBuilder::finish(builder),
            Builder::F64(builder) => ArrayBuilder::finish(builder),
            Builder::Text(builder) => ArrayBuilder::finish(builder),
        }
    }
}

impl Sink for Tables {
    fn row(&mut self, row: Row<'_>) {
        match row {
            Row::Flow(row) => {
                self.tally.flow(row);
                self.verdict.flow(row);
            }
            Row::Port(row) => self.verdict.port(row),
            Row::Activity(row) => self.verdict.activity(row),
            _ => {}
        }
        if let Some(open) = self.open.get_mut(row.kind()) {
            keep(&mut self.error, open.push(row, &self.names));
        }
    }
}

#[cfg(test)]
mod tests;
