//! All kinds of rows: the traits and types that hand them out, take them, and keep them.

use super::table::{Cell, Column, Columns, Table};
use super::{
    ActivityRow, CollectiveRow, ControlRow, CounterRow, FlowRow, FrameRow, InstanceRow, LoadRow, PauseRow, PortRow,
    QueuePairRow, RoundRow, SeriesRow, SwitchRow, TransferRow, WaitRow,
};

/// Takes rows as they come; a run never keeps them.
pub trait Sink {
    /// Takes one.
    fn row(&mut self, row: Row<'_>);
}

/// A result table.
#[derive(Clone, Copy, Debug)]
pub struct TableInfo {
    /// Its name.
    pub name: &'static str,
    /// The description of a row.
    pub description: &'static str,
    /// Adds its columns, in their order.
    pub columns: fn(&mut Vec<Column>),
}

/// Declares the kinds of rows, those of tables in the order of the tables.
macro_rules! rows {
    (
        tables: $($(#[$about:meta])+ $table:ident($table_row:ty) in $tables:ident;)+
        others: $($(#[$about_other:meta])+ $other:ident($other_row:ty) in $others:ident;)+
    ) => {
        /// A row of any kind.
        #[derive(Clone, Copy, Debug)]
        pub enum Row<'a> {
            $($(#[$about])+ $table(&'a $table_row),)+
            $($(#[$about_other])+ $other(&'a $other_row),)+
        }

        /// The result tables.
        pub const TABLES: &[TableInfo] = &[
            $(TableInfo { name: <$table_row>::NAME, description: <$table_row>::DESCRIPTION, columns: <$table_row>::columns },)+
        ];

        /// Rows of each kind.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Rows {
            $($(#[$about])+ pub $tables: Vec<$table_row>,)+
            $($(#[$about_other])+ pub $others: Vec<$other_row>,)+
        }

        /// Numbers of the kinds.
        #[derive(Clone, Copy)]
        enum Number {
            $($table,)+
            $($other,)+
        }

        impl Row<'_> {
            /// The number of kinds.
            pub const KINDS: usize = [$(Number::$table,)+ $(Number::$other,)+].len();

            /// The number of its kind: for a row of a table, the index in [`TABLES`]; other kinds have larger numbers.
            pub fn kind(self) -> usize {
                match self {
                    $(Row::$table(_) => Number::$table as usize,)+
                    $(Row::$other(_) => Number::$other as usize,)+
                }
            }

            /// The name of its kind.
            pub fn name(self) -> &'static str {
                match self {
                    $(Row::$table(_) => <$table_row>::NAME,)+
                    $(Row::$other(_) => stringify!($others),)+
                }
            }

            /// Hands over the values of a table's row, in the order of the columns.
            pub fn cells(self, take: &mut impl FnMut(Cell<'_>)) {
                match self {
                    $(Row::$table(row) => row.cells(take),)+
                    $(Row::$other(_) => {})+
                }
            }
        }

        impl Sink for Rows {
            fn row(&mut self, row: Row<'_>) {
                match row {
                    $(Row::$table(row) => self.$tables.push(row.clone()),)+
                    $(Row::$other(row) => self.$others.push(row.clone()),)+
                }
            }
        }

        impl Rows {
            /// Returns whether it has no rows.
            pub fn is_empty(&self) -> bool {
                $(self.$tables.is_empty() &&)+ $(self.$others.is_empty() &&)+ true
            }

            /// Moves the rows of `other` here; `other` is empty then.
            pub fn append(&mut self, other: &mut Rows) {
                if other.is_empty() {
                    return;
                }
                $(self.$tables.append(&mut other.$tables);)+
                $(self.$others.append(&mut other.$others);)+
            }

            /// Hands them out.
            pub(crate) fn emit(&mut self, sink: &mut dyn Sink) {
                if self.is_empty() {
                    return;
                }
                $(self.$tables.drain(..).for_each(|row| sink.row(Row::$table(&row)));)+
                $(self.$others.drain(..).for_each(|row| sink.row(Row::$other(&row)));)+
            }
        }
    };
}

rows! {
    tables:
    /// Flows that are complete, or ended with the run.
    Flow(FlowRow) in flows;
    /// The queue pairs of messages. A message's own row comes with the last of them.
    QueuePair(QueuePairRow) in queue_pairs;
    /// Totals of ports, at the end.
    Port(PortRow) in ports;
    /// Control frames that mechanisms have sent.
    Control(ControlRow) in control;
    /// Samples of time series.
    Series(SeriesRow) in series;
    /// Totals of switches, at the end.
    Switch(SwitchRow) in switches;
    /// Instances of jobs that are complete, or ended with the run.
    Instance(InstanceRow) in instances;
    /// Rounds of instances.
    Round(RoundRow) in rounds;
    /// Collectives of jobs.
    Collective(CollectiveRow) in collectives;
    /// Transfers of jobs.
    Transfer(TransferRow) in transfers;
    /// Loads of jobs' steps on links, at the end.
    Load(LoadRow) in loads;
    /// Counters of mechanisms, at the end.
    Counter(CounterRow) in counters;
    /// Waits of recorded flows.
    Wait(WaitRow) in waits;
    /// Recorded pauses.
    Pause(PauseRow) in pauses;
    others:
    /// Frames that have passed captured ports.
    Frame(FrameRow) in frames;
    /// Activity of mechanisms, at the end.
    Activity(ActivityRow) in activity;
}
