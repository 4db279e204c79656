//! The parts of a result table: its columns, and the cells of a row. `#[derive(Table)]` on the struct of a row declares it.

use super::State;
use crate::model::hooks::place::MechanismId;
use crate::model::packet::{Class, HostId, NodeId, Port, Queue};
use backwater_engine::Time;
use std::sync::Arc;

/// A column of a result table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, with the unit if the name includes it: `start_ps`.
    pub name: String,
    /// Type of its values.
    pub kind: Kind,
    /// True if a row may lack a value.
    pub nullable: bool,
    /// Its unit; empty without one.
    pub unit: &'static str,
    /// The meaning of its values.
    pub description: &'static str,
}

impl Column {
    /// A column of this name, with the unit of its type.
    pub fn new<T: Value>(name: &str, description: &'static str) -> Column {
        Column { name: name.into(), kind: T::KIND, nullable: T::NULLABLE, unit: T::UNIT, description }
    }

    /// A column with the name of its field; a time has its unit added.
    pub fn of_field<T: Value>(field: &str, description: &'static str) -> Column {
        Column::new::<T>(&format!("{field}{}", T::SUFFIX), description)
    }

    /// The same in a unit that its type does not define.
    #[must_use]
    pub fn in_unit(self, unit: &'static str) -> Column {
        Column { unit, ..self }
    }
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers up to 255.
    U8,
    /// Whole numbers below 2^32.
    U32,
    /// Whole numbers below 2^64.
    U64,
    /// Times: signed, because pandas, DuckDB and Parquet readers compute differences of times. 2^63 ps are 106 days.
    I64,
    /// Other numbers.
    F64,
    /// Text.
    Text,
}

/// A value of a row. Numbers of nodes, groups and mechanisms become texts where names are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// No value.
    Null,
    /// A value of [`Kind::U8`].
    U8(u8),
    /// A value of [`Kind::U32`].
    U32(u32),
    /// A value of [`Kind::U64`].
    U64(u64),
    /// A value of [`Kind::I64`].
    I64(i64),
    /// A value of [`Kind::F64`].
    F64(f64),
    /// A value of [`Kind::Text`].
    Text(&'a str),
    /// The name of a node.
    Node(NodeId),
    /// The tier of a node.
    Tier(NodeId),
    /// The label of the group of flows with this index.
    Group(u32),
    /// The name of a mechanism.
    Mechanism(MechanismId),
}

/// A type whose values stand in a column.
pub trait Value {
    /// The column's type.
    const KIND: Kind;
    /// The unit of all such values; empty: the column declares it, or there is no unit.
    const UNIT: &'static str = "";
    /// The suffix that follows the field in the column's name.
    const SUFFIX: &'static str = "";
    /// True if a value may be absent.
    const NULLABLE: bool = false;

    /// The value.
    fn cell(&self) -> Cell<'_>;
}

/// A row, or a part of one, that has columns.
pub trait Columns {
    /// Adds its columns, in their order.
    fn columns(to: &mut Vec<Column>);
    /// Hands over its values, in the order of the columns.
    fn cells(&self, take: &mut impl FnMut(Cell<'_>));
}

/// The row of a result table.
pub trait Table: Columns {
    /// Name of the table.
    const NAME: &'static str;
    /// The description of a row.
    const DESCRIPTION: &'static str;
}

/// The part may be absent: all of its columns are null then.
impl<T: Columns> Columns for Option<T> {
    fn columns(to: &mut Vec<Column>) {
        let first = to.len();
        T::columns(to);
        to[first..].iter_mut().for_each(|column| column.nullable = true);
    }

    fn cells(&self, take: &mut impl FnMut(Cell<'_>)) {
        if let Some(part) = self {
            return part.cells(take);
        }
        let mut columns = Vec::new();
        T::columns(&mut columns);
        columns.iter().for_each(|_| take(Cell::Null));
    }
}

impl<T: Value> Value for Option<T> {
    const KIND: Kind = T::KIND;
    const UNIT: &'static str = T::UNIT;
    const SUFFIX: &'static str = T::SUFFIX;
    const NULLABLE: bool = true;

    fn cell(&self) -> Cell<'_> {
        self.as_ref().map_or(Cell::Null, T::cell)
    }
}

/// The label of a group of flows, by its index.
pub struct Group(pub u32);

/// The tier of a node.
pub struct Tier(pub NodeId);

/// The owner of a pause: a mechanism, or a fault.
pub struct Asker(pub MechanismId);

/// Declares the columns and cells of a type's values.
macro_rules! values {
    ($($of:ty: $kind:ident $([$($name:ident $text:literal),+])?, |$value:ident| $cell:expr;)+) => {
        $(impl Value for $of {
            const KIND: Kind = Kind::$kind;
            $($(const $name: &'static str = $text;)+)?

            fn cell(&self) -> Cell<'_> {
                let $value = self;
                $cell
            }
        })+
    };
}

values! {
    u8: U8, |value| Cell::U8(*value);
    u32: U32, |value| Cell::U32(*value);
    u64: U64, |value| Cell::U64(*value);
    f64: F64, |value| Cell::F64(*value);
    bool: U8 [UNIT "0 or 1"], |value| Cell::U8((*value).into());
    &str: Text, |value| Cell::Text(value);
    String: Text, |value| Cell::Text(value);
    Arc<str>: Text, |value| Cell::Text(value);
    Time: I64 [UNIT "ps", SUFFIX "_ps"], |time| Cell::I64(i64::try_from(time.as_ps()).unwrap_or(i64::MAX));
    Class: U8 [UNIT "0 to 7"], |class| Cell::U8(class.0);
    Queue: U8 [UNIT "0 to 7"], |queue| Cell::U8(queue.0);
    Port: U32, |port| Cell::U32(port.0.into());
    HostId: U32 [UNIT "host number"], |host| Cell::U32(host.0);
    NodeId: Text, |node| Cell::Node(*node);
    Tier: Text, |tier| Cell::Tier(tier.0);
    Group: Text, |group| Cell::Group(group.0);
    MechanismId: Text, |owner| Cell::Mechanism(*owner);
    Asker: Text, |asker| asker.0.fault().map_or(Cell::Mechanism(asker.0), Cell::Text);
    State: Text, |state| Cell::Text(state.name());
}
