//! The schemas of the result tables: the text in every batch and every Parquet file.

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use backwater_mech::registry::ENTRIES;
use backwater_net::record::{Column, Kind, TABLES as DECLARED, TableInfo};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// A result table.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its Arrow schema; `description` and `unit` are in the metadata, the unit empty if there is no unit.
    pub schema: SchemaRef,
}

/// All result tables, as declared in `backwater_net::record`. Built once: hundreds of texts would slow tiny runs of a series down.
pub static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    let table = |of: &TableInfo| Table { name: of.name, schema: schema(of) };
    DECLARED.iter().map(table).collect()
});

fn schema(table: &TableInfo) -> SchemaRef {
    let mut columns = Vec::new();
    (table.columns)(&mut columns);
    let text = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let field = |column: &Column| {
        let description = format!("{}{}", column.description, of_mechanisms(table.name, &column.name));
        let metadata = HashMap::from([text("description", &description), text("unit", column.unit)]);
        Field::new(&column.name, data_type(column.kind), column.nullable).with_metadata(metadata)
    };
    let fields: Vec<Field> = columns.iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, HashMap::from([text("description", table.description)])))
}

fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::U8 => DataType::UInt8,
        Kind::U32 => DataType::UInt32,
        Kind::U64 => DataType::UInt64,
        Kind::I64 => DataType::Int64,
        Kind::F64 => DataType::Float64,
        Kind::Text => DataType::Utf8,
    }
}

/// Returns what mechanisms add to the description of a column that depends on the kind of message or on the counter.
fn of_mechanisms(table: &str, column: &str) -> String {
    match (table, column) {
        ("control", "kind") => ENTRIES.iter().flat_map(|entry| entry.frames).map(|name| format!(", {name}")).collect(),
        ("control", "value") => {
            ENTRIES.iter().filter(|entry| !entry.value.is_empty()).map(|entry| format!("; {}", entry.value)).collect()
        }
        ("counters", "counter") => {
            let counting = ENTRIES.iter().filter(|entry| !entry.counters.is_empty());
            counting.map(|entry| format!("; {}: {}", entry.name, entry.counters)).collect()
        }
        _ => String::new(),
    }
}
