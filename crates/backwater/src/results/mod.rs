//! Result rows as Arrow batches of bounded size, column by column described inside them.
//!
//! [`Tables`] takes rows from a run and closes a batch of a table whenever it has [`Tables::ROWS`] rows; whoever drives the run
//! fetches closed batches with [`Tables::take`] and writes them. Times are integer picoseconds, sizes bytes, names are those of
//! the topology. What the columns are stands in [`columns`].

pub mod columns;
mod jobs;
mod offered;
mod queue_pairs;
mod verdict;

pub use offered::{Offered, Tally};
pub use verdict::{End, Finding, Verdict};

use arrow_array::builder::{
    ArrayBuilder, Float64Builder, Int64Builder, StringBuilder, UInt8Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use backwater_engine::Time;
use backwater_mech::registry::ENTRIES;
use backwater_net::hooks::MechanismId;
use backwater_net::packet::NodeId;
use backwater_net::record::{
    ActivityRow, CollectiveRow, ControlRow, CounterRow, FlowRow, InstanceRow, LoadRow, PauseRow, PortRow, QueuePairRow,
    RoundRow, SeriesRow, Sink, State, SwitchRow, TransferRow, WaitRow,
};
use backwater_net::topology::Graph;
use columns::Table;
use std::sync::Arc;

/// What rows name by number.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Labels of flow groups.
    groups: Vec<String>,
    /// Name and tier of every node.
    nodes: Vec<(String, String)>,
}

impl Names {
    /// Those of a run's network and flow groups.
    pub fn new(graph: &Graph, groups: &[String]) -> Names {
        let nodes = graph.nodes.iter().map(|node| (node.name.clone(), node.tier.clone())).collect();
        Names { groups: groups.to_vec(), nodes }
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

/// A column under construction. One enum instead of four structs of builders keeps the order of columns in one place.
enum Column {
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
    table: Table,
    #[state(fixed)]
    schema: SchemaRef,
    /// None before the first row: most tables of a small run have none.
    #[state(fixed)]
    columns: Vec<Column>,
    #[state(fixed)]
    rows: usize,
    /// Batches that nobody has fetched yet.
    #[state(fixed)]
    closed: Vec<RecordBatch>,
    /// Whether any batch was ever closed.
    begun: bool,
}

/// A value of one row, in the order of the table's columns.
enum Cell<'a> {
    U8(Option<u8>),
    U32(Option<u32>),
    U64(Option<u64>),
    I64(Option<i64>),
    F64(Option<f64>),
    Text(Option<&'a str>),
}

/// Rows that a table has room for at first: a tiny run in a series has few in each.
const FIRST: usize = 64;

/// All tables of a run. Their state ([`backwater_engine::State`]) is what was counted: rows are to be taken before it is saved.
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
            open: Table::ALL.map(Open::new).into(),
            error: None,
        }
    }

    /// Also counts what groups offer.
    pub fn counting(self, tally: Tally) -> Tables {
        Tables { tally, ..self }
    }

    /// Also counts what tells whether the run did what was asked for.
    pub fn judging(self, verdict: Verdict) -> Tables {
        Tables { verdict, ..self }
    }

    /// What the run has to say of itself.
    pub fn findings(&self, end: &End) -> Vec<Finding> {
        self.verdict.findings(&self.names, end)
    }

    /// What was counted.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Batches closed since the last call, with `partial` also those that are not full.
    pub fn take(&mut self, partial: bool) -> Result<Vec<(&'static str, RecordBatch)>, ArrowError> {
        let mut taken = Vec::new();
        for open in &mut self.open {
            if partial && open.rows > 0 {
                keep(&mut self.error, open.close());
            }
            taken.extend(open.closed.drain(..).map(|batch| (open.table.name(), batch)));
        }
        self.error.take().map_or(Ok(taken), Err)
    }

    /// Everything that is left. A table without any row gives an empty batch, which tells its columns.
    pub fn finish(&mut self) -> Result<Vec<(&'static str, RecordBatch)>, ArrowError> {
        for open in &mut self.open {
            if !open.begun && open.rows == 0 {
                keep(&mut self.error, open.close());
            }
        }
        self.take(true)
    }
}

/// Remembers the first error: rows come from deep inside a run, which cannot pass one on.
fn keep(kept: &mut Option<ArrowError>, result: Result<(), ArrowError>) {
    if let Err(error) = result {
        kept.get_or_insert(error);
    }
}

impl Open {
    fn new(table: Table) -> Open {
        Open { table, schema: table.schema(), columns: Vec::new(), rows: 0, closed: Vec::new(), begun: false }
    }

    fn push<const N: usize>(&mut self, row: [Cell<'_>; N]) -> Result<(), ArrowError> {
        if self.columns.is_empty() {
            self.columns = self.schema.fields().iter().map(|field| Column::of(field.data_type())).collect();
        }
        debug_assert_eq!(N, self.columns.len(), "{:?}", self.table);
        for (column, cell) in self.columns.iter_mut().zip(row) {
            match (column, cell) {
                (Column::U8(to), Cell::U8(value)) => to.append_option(value),
                (Column::U32(to), Cell::U32(value)) => to.append_option(value),
                (Column::U64(to), Cell::U64(value)) => to.append_option(value),
                (Column::I64(to), Cell::I64(value)) => to.append_option(value),
                (Column::F64(to), Cell::F64(value)) => to.append_option(value),
                (Column::Text(to), Cell::Text(value)) => to.append_option(value),
                _ => return Err(ArrowError::SchemaError(format!("a cell of {:?} has another type", self.table))),
            }
        }
        self.rows += 1;
        if self.rows < Tables::ROWS { Ok(()) } else { self.close() }
    }

    fn close(&mut self) -> Result<(), ArrowError> {
        let schema = Arc::clone(&self.schema);
        let batch = if self.columns.is_empty() {
            RecordBatch::new_empty(schema)
        } else {
            RecordBatch::try_new(schema, self.columns.iter_mut().map(Column::finish).collect())?
        };
        self.rows = 0;
        self.begun = true;
        self.closed.push(batch);
        Ok(())
    }
}

impl Column {
    fn of(kind: &arrow_schema::DataType) -> Column {
        use arrow_schema::DataType;
        match kind {
            DataType::UInt8 => Column::U8(UInt8Builder::with_capacity(FIRST)),
            DataType::UInt32 => Column::U32(UInt32Builder::with_capacity(FIRST)),
            DataType::UInt64 => Column::U64(UInt64Builder::with_capacity(FIRST)),
            DataType::Int64 => Column::I64(Int64Builder::with_capacity(FIRST)),
            DataType::Float64 => Column::F64(Float64Builder::with_capacity(FIRST)),
            _ => Column::Text(StringBuilder::with_capacity(FIRST, 8 * FIRST)),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Column::U8(builder) => ArrayBuilder::finish(builder),
            Column::U32(builder) => ArrayBuilder::finish(builder),
            Column::U64(builder) => ArrayBuilder::finish(builder),
            Column::I64(builder) => ArrayBuilder::finish(builder),
            Column::F64(builder) => ArrayBuilder::finish(builder),
            Column::Text(builder) => ArrayBuilder::finish(builder),
        }
    }
}

fn state_name(state: &State) -> &'static str {
    match state {
        State::Complete => "complete",
        State::Failed => "failed",
        State::Unfinished(_) => "unfinished",
    }
}

/// Signed, because pandas, DuckDB and Parquet readers compute differences of times; 2^63 ps are 106 days.
fn ps(time: Time) -> i64 {
    i64::try_from(time.as_ps()).unwrap_or(i64::MAX)
}

impl Sink for Tables {
    fn flow(&mut self, row: &FlowRow) {
        use Cell::{F64, I64, Text, U8, U32, U64};
        self.tally.flow(row);
        self.verdict.flow(row);
        let slowdown = row.fct_last_byte.zip(row.ideal).map(|(fct, ideal)| fct.0 as f64 / ideal.0 as f64);
        let waits_for = if let State::Unfinished(why) = &row.state { Some(why.as_str()) } else { None };
        let group = self.names.group(row.group);
        let cells = [
            U64(Some(row.id)),
            Text(Some(group)),
            U32(Some(row.src.0)),
            U32(Some(row.dst.0)),
            U8(Some(row.class.0)),
            U64(Some(row.bytes)),
            I64(Some(ps(row.start))),
            I64(row.fct_last_byte.map(ps)),
            I64(row.fct_last_ack.map(ps)),
            U64(Some(row.packets)),
            U64(Some(row.received)),
            U64(Some(row.reordered)),
            U64(Some(row.marked)),
            U64(Some(row.blocked)),
            U64(Some(row.retransmitted)),
            U64(Some(row.inferred)),
            U32(Some(row.timeouts)),
            I64(row.ideal.map(ps)),
            F64(slowdown),
            Text(Some(state_name(&row.state))),
            Text(waits_for),
        ];
        keep(&mut self.error, self.open[Table::Flows as usize].push(cells));
    }

    fn queue_pair(&mut self, row: &QueuePairRow) {
        self.push_queue_pair(row);
    }

    fn control(&mut self, row: &ControlRow) {
        use Cell::{I64, Text, U8, U32, U64};
        let node = self.names.node(row.node);
        let cells = [
            I64(Some(ps(row.time))),
            Text(Some(row.kind)),
            Text(Some(node)),
            U32(row.port.map(|port| port.0.into())),
            U8(row.class.map(|class| class.0)),
            U32(row.to.map(|host| host.0)),
            U64(Some(row.value)),
        ];
        keep(&mut self.error, self.open[Table::Control as usize].push(cells));
    }

    fn series(&mut self, row: &SeriesRow) {
        use Cell::{I64, Text, U8, U32, U64};
        let node = self.names.node(row.node);
        let cells = [
            I64(Some(ps(row.time))),
            Text(Some(node)),
            U32(row.port.map(|port| port.0.into())),
            U8(row.queue),
            U64(row.flow),
            Text(Some(row.quantity)),
            U64(Some(row.value)),
        ];
        keep(&mut self.error, self.open[Table::Series as usize].push(cells));
    }

    fn collective(&mut self, row: &CollectiveRow) {
        self.push_collective(row);
    }

    fn transfer(&mut self, row: &TransferRow) {
        self.push_transfer(row);
    }

    fn round(&mut self, row: &RoundRow) {
        self.push_round(row);
    }

    fn instance(&mut self, row: &InstanceRow) {
        self.push_instance(row);
    }

    fn load(&mut self, row: &LoadRow) {
        self.push_load(row);
    }

    fn port(&mut self, row: &PortRow) {
        use Cell::{I64, Text, U32, U64};
        let (node, tier) = (self.names.node(row.node), self.names.tier(row.node));
        let peer = self.names.node(row.peer);
        self.verdict.port(row);
        let stats = &row.stats;
        let cells = [
            Text(Some(node)),
            U32(Some(row.port.0.into())),
            Text(Some(peer)),
            Text(Some(tier)),
            U64(Some(row.rate_bps)),
            U64(Some(stats.tx_frames)),
            U64(Some(stats.tx_data_frames)),
            U64(Some(stats.tx_cut_frames)),
            U64(Some(stats.tx_bytes)),
            U64(Some(stats.pauses_sent)),
            U64(Some(stats.pauses_received)),
            I64(Some(i64::try_from(stats.paused_ps).unwrap_or(i64::MAX))),
            U64(Some(stats.drop_frames)),
            U64(Some(stats.drop_bytes)),
            U64(Some(stats.flushed_frames)),
            U64(Some(stats.fault_frames)),
            U64(Some(stats.marked_frames)),
            U64(Some(stats.max_egress_bytes)),
            U64(Some(stats.max_ingress_bytes)),
        ];
        keep(&mut self.error, self.open[Table::Ports as usize].push(cells));
    }

    fn switch(&mut self, row: &SwitchRow) {
        use Cell::{F64, I64, Text, U64};
        let (node, tier, isolated) = (self.names.node(row.node), self.names.tier(row.node), &row.isolated);
        let cells = [
            Text(Some(node)),
            Text(Some(tier)),
            U64(Some(isolated.frames)),
            U64(Some(isolated.max_bytes)),
            F64(Some(isolated.mean_bytes)),
            U64(Some(isolated.p99_bytes)),
            U64(Some(isolated.p999_bytes)),
            I64(Some(i64::try_from(isolated.time_ps).unwrap_or(i64::MAX))),
        ];
        keep(&mut self.error, self.open[Table::Switches as usize].push(cells));
    }

    fn counter(&mut self, row: &CounterRow) {
        use Cell::{Text, U32, U64};
        let cells = [
            Text(Some(self.names.node(row.node))),
            U32(Some(row.port.0.into())),
            Text(Some(row.mechanism)),
            Text(Some(row.counter)),
            U64(Some(row.value)),
        ];
        keep(&mut self.error, self.open[Table::Counters as usize].push(cells));
    }

    fn activity(&mut self, row: &ActivityRow) {
        self.verdict.activity(row);
    }

    fn wait(&mut self, row: &WaitRow) {
        use Cell::{I64, Text, U32, U64};
        let cells = [
            U64(Some(row.flow)),
            Text(Some(self.names.group(row.group))),
            Text(Some(self.names.node(row.node))),
            U32(Some(row.port.0.into())),
            Text(Some(self.names.node(row.peer))),
            Text(Some(row.cause)),
            Text(row.owner.and_then(mechanism)),
            U64(row.behind.map(|met| met.id)),
            Text(row.behind.map(|met| self.names.group(met.group))),
            I64(Some(ps(row.time))),
        ];
        keep(&mut self.error, self.open[Table::Waits as usize].push(cells));
    }

    fn pause(&mut self, row: &PauseRow) {
        use Cell::{I64, Text, U8, U32, U64};
        let behind = row.behind.as_ref();
        let cells = [
            I64(Some(ps(row.asked))),
            I64(Some(ps(row.start))),
            I64(row.end.map(ps)),
            Text(Some(self.names.node(row.node))),
            U32(Some(row.port.0.into())),
            Text(Some(self.names.node(row.peer))),
            U32(Some(row.peer_port.0.into())),
            U8(row.class.map(|class| class.0)),
            Text(row.owner.fault().or(mechanism(row.owner))),
            U64(Some(row.ingress_bytes)),
            U32(behind.map(|behind| behind.port.0.into())),
            U8(behind.map(|behind| behind.queue.0)),
            Text(behind.map(|behind| self.names.node(behind.to))),
            U64(behind.map(|behind| behind.bytes)),
            I64(behind.map(|behind| ps(behind.since))),
            U8(behind.map(|behind| behind.paused.into())),
        ];
        keep(&mut self.error, self.open[Table::Pauses as usize].push(cells));
    }
}

/// The name of a mechanism.
fn mechanism(owner: MechanismId) -> Option<&'static str> {
    ENTRIES.get(usize::from(owner.0)).map(|entry| entry.name)
}

#[cfg(test)]
mod tests;
