//! A configuration database as JSON, with the line of every entry.
//!
//! ```text
//! file  = { "TABLE": { "key": fields, … }, … }          config_db.json, and parts of it
//!       | { "TABLE|key": fields, … }                    a dump of the database
//! fields = { "field": "text" | number | true | ["text", …], … }
//! ```
//!
//! Tables that are not used here are skipped; their names are kept.

use super::template;
use crate::error::ImportError;
use crate::note::Notes;
use crate::source::{Head, Source};
use serde_json::Deserializer;
use serde_json::de::IoRead;
use serde_json::value::Value;
use std::cell::Cell;
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{self, Read};

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};

/// Supported tables, each with the fields that have an effect; an empty list: the fields are its data.
pub const TABLES: [(&str, &[&str]); 15] = [
    ("BUFFER_PG", &["profile"]),
    ("BUFFER_POOL", &["mode", "size", "type", "xoff"]),
    (
        "BUFFER_PROFILE",
        &["dynamic_th", "packet_discard_action", "pool", "size", "static_th", "xoff", "xon", "xon_offset"],
    ),
    ("BUFFER_QUEUE", &["profile"]),
    ("CABLE_LENGTH", &[]),
    ("DEVICE_METADATA", &["hostname", "hwsku"]),
    ("DSCP_TO_TC_MAP", &[]),
    // The fields of the watchdog's global entry are handled one by one.
    ("PFC_WD", &[]),
    ("PORT", &["admin_status", "mtu", "speed"]),
    ("PORT_QOS_MAP", &["dscp_to_tc_map", "pfc_enable", "tc_to_pg_map", "tc_to_queue_map"]),
    ("QUEUE", &["scheduler", "wred_profile"]),
    ("SCHEDULER", &["type", "weight"]),
    ("TC_TO_PRIORITY_GROUP_MAP", &[]),
    ("TC_TO_QUEUE_MAP", &[]),
    (
        "WRED_PROFILE",
        &[
            "ecn",
            "ecn_green_mark_probability",
            "ecn_green_max_threshold",
            "ecn_green_min_threshold",
            "green_drop_probability",
            "green_max_threshold",
            "green_min_threshold",
            "wred_green_enable",
        ],
    ),
];

/// Largest number of octets: a terabyte, more than any switch has, and small enough for sums over thousands of ports.
pub const MOST_OCTETS: u64 = 1 << 40;

/// Tables that no file of another kind has, by which this kind is recognised.
const KNOWN_BY: [&str; 14] = [
    "ACL_TABLE",
    "BGP_NEIGHBOR",
    "BUFFER_PG",
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "BUFFER_QUEUE",
    "CABLE_LENGTH",
    "DEVICE_METADATA",
    "DEVICE_NEIGHBOR",
    "DSCP_TO_TC_MAP",
    "PFC_WD",
    "PORT_QOS_MAP",
    "VLAN_MEMBER",
    "WRED_PROFILE",
];

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its table.
    pub table: String,
    /// Its key, as `Ethernet0|3-4`.
    pub key: String,
    /// Its file.
    pub file: String,
    /// Its line there.
    pub line: u64,
    /// Its fields in their order; lists with commas.
    pub fields: Vec<Field>,
}

/// A field of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Its line.
    pub line: u64,
}

impl Entry {
    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.name == name).map(|field| field.value.as_str())
    }

    /// The number in a field.
    pub fn number(&self, name: &str, least: i64, most: i64) -> Result<Option<i64>, ImportError> {
        let Some(field) = self.fields.iter().find(|field| field.name == name) else { return Ok(None) };
        let number = field.value.trim().parse::<i64>().ok().filter(|n| (least..=most).contains(n));
        number.map(Some).ok_or_else(|| {
            let reason = format!("{name} of {} {} is no number from {least} to {most}", self.table, self.key);
            ImportError::new(reason).file(&self.file).line(field.line).value(&field.value)
        })
    }

    /// A size in octets.
    pub fn size(&self, name: &str) -> Result<Option<u64>, ImportError> {
        self.number(name, 0, MOST_OCTETS as i64).map(|size| size.map(|size| size.unsigned_abs()))
    }

    /// The word in a field with a fixed set of words.
    pub fn choice(&self, name: &str, words: &[&str]) -> Result<Option<&str>, ImportError> {
        let Some(field) = self.fields.iter().find(|field| field.name == name) else { return Ok(None) };
        let word = field.value.as_str();
        if !word.is_empty() && !words.contains(&word) {
            let reason = format!("{name} of {} {} is none of {}", self.table, self.key, words.join(", "));
            return Err(ImportError::new(reason).file(&self.file).line(field.line).value(word));
        }
        Ok(Some(word).filter(|word| !word.is_empty()))
    }

    /// The name in a field, which older files write as `[TABLE|name]`.
    pub fn name(&self, field: &str) -> Option<&str> {
        let value = self.get(field)?.trim_start_matches('[').trim_end_matches(']');
        Some(value.rsplit('|').next().unwrap_or(value)).filter(|name| !name.is_empty())
    }

    /// An error about it.
    pub fn error(&self, reason: impl Into<String>) -> ImportError {
        ImportError::new(reason).file(&self.file).line(self.line).value(format!("{}|{}", self.table, self.key))
    }
}

/// All files together.
#[derive(Clone, Debug, Default)]
pub struct Database {
    entries: Vec<Entry>,
    /// Names of tables that were skipped, with file and line.
    pub skipped: Vec<(String, String, u64)>,
}

impl Database {
    /// Reads files. An entry of a later one replaces that of an earlier one, as in SONiC's own tools.
    pub fn read<'a>(sources: impl Iterator<Item = &'a Source>, notes: &mut Notes) -> Result<Database, ImportError> {
        let mut database = Database::default();
        for source in sources {
            database.add(source.name(), &template::database(source, notes)?)?;
        }
        let mut known: HashMap<(String, String), usize> = HashMap::new();
        let mut entries: Vec<Entry> = Vec::with_capacity(database.entries.len());
        for entry in std::mem::take(&mut database.entries) {
            match known.entry((entry.table.clone(), entry.key.clone())) {
                Occupied(place) => {
                    let Some(earlier) = entries.get_mut(*place.get()) else { continue };
                    if earlier.file == entry.file {
                        return Err(entry.error("stands there twice").hint("keep one of the two entries"));
                    }
                    let text = format!("an entry of {} in place of that of {}", entry.table, earlier.file);
                    notes.assumed(&entry.file, Some(entry.line), text);
                    *earlier = entry;
                }
                Vacant(place) => {
                    place.insert(entries.len());
                    entries.push(entry);
                }
            }
        }
        database.entries = entries;
        Ok(database)
    }

    /// The entries of a table.
    pub fn table<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Entry> + 'a {
        self.entries.iter().filter(move |entry| entry.table == name)
    }

    /// An entry of a table.
    pub fn entry(&self, table: &str, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.table == table && entry.key == key)
    }

    /// Fields without effect in supported tables: table, names, and the place of the first.
    pub fn unread(&self) -> impl Iterator<Item = (&'static str, &Entry, &Field)> {
        let tables = TABLES.iter().filter(|(_, read)| !read.is_empty());
        tables.flat_map(|(table, read)| {
            let fields = self.table(table).flat_map(|entry| entry.fields.iter().map(move |field| (entry, field)));
            let unread = fields.filter(|(_, field)| !read.contains(&field.name.as_str()));
            unread.map(|(entry, field)| (*table, entry, field))
        })
    }

    /// Unsupported tables and fields whose names resemble a supported one: an error names them, since they may be misspelt.
    pub fn misspelt(&self, notes: &mut Notes) {
        for (name, file, line) in &self.skipped {
            if TABLES.iter().any(|(table, _)| alike(table, name)) {
                notes.suspect(format!("{name} ({file}:{line})"));
            }
        }
        for (table, entry, field) in self.unread() {
            let read = TABLES.iter().filter(|(own, _)| *own == table).flat_map(|(_, read)| *read);
            if read.into_iter().any(|own| alike(own, &field.name)) {
                notes.suspect(format!("{} of {table} ({}:{})", field.name, entry.file, field.line));
            }
        }
    }

    fn add(&mut self, file: &str, text: &str) -> Result<(), ImportError> {
        let line = Cell::new(1);
        let counted = Counted { rest: text.as_bytes(), line: &line };
        let mut json = Deserializer::new(IoRead::new(counted));
        let cx = Context { file, line: &line };
        let tables = Tables { database: self, cx };
        tables.deserialize(&mut json).and_then(|()| json.end()).map_err(|error| {
            let reason = error.to_string();
            // Its place precedes the reason.
            let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
            ImportError::new(reason).file(file).line(error.line().max(1) as u64)
        })
    }
}

/// Returns whether at most two changed, missing or additional characters turn a name into another, and half of it stays.
fn alike(one: &str, other: &str) -> bool {
    one.len().abs_diff(other.len()) <= 2 && strsim::levenshtein(one, other) <= 2.min(one.len() / 2)
}

/// Returns whether a file is a configuration database or a part of one.
pub fn recognise(head: &Head) -> bool {
    // The whole file may be one line that continues beyond the head.
    let text = String::from_utf8_lossy(&head.octets);
    let has = |name: &str| {
        text.match_indices(&format!("\"{name}")).any(|(at, found)| {
            let rest = &text[at + found.len()..];
            rest.starts_with('|') || rest.strip_prefix('"').is_some_and(|rest| rest.trim_start().starts_with(':'))
        })
    };
    let ports = || has("PORT") && text.contains("\"Ethernet");
    text.trim_start().starts_with('{')
        && !template::is_template(&text)
        && (KNOWN_BY.iter().any(|name| has(name)) || ports())
}

/// Counts lines while reading. The deserializer reads one octet at a time and none beyond a key's end.
struct Counted<'a> {
    rest: &'a [u8],
    line: &'a Cell<u64>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (Some((octet, rest)), Some(place)) = (self.rest.split_first(), buffer.first_mut()) else { return Ok(0) };
        (*place, self.rest) = (*octet, rest);
        if *octet == b'\n' {
            self.line.set(self.line.get() + 1);
        }
        Ok(1)
    }
}

#[derive(Clone, Copy)]
struct Context<'a> {
    file: &'a str,
    line: &'a Cell<u64>,
}

struct Tables<'a, 'd> {
    database: &'d mut Database,
    cx: Context<'a>,
}

impl<'de> DeserializeSeed<'de> for Tables<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Tables<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tables")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let line = self.cx.line.get();
            let (table, key) = name.split_once('|').map_or((name.as_str(), None), |(table, key)| (table, Some(key)));
            if !TABLES.iter().any(|(read, _)| *read == table) {
                map.next_value::<IgnoredAny>()?;
                if !self.database.skipped.iter().any(|(other, _, _)| other == table) {
                    self.database.skipped.push((table.to_owned(), self.cx.file.to_owned(), line));
                }
                continue;
            }
            let entries = &mut self.database.entries;
            match key {
                Some(key) => {
                    let fields = map.next_value_seed(Fields { cx: self.cx })?;
                    entries.push(self.cx.entry(table, key.to_owned(), line, fields));
                }
                None => map.next_value_seed(Entries { table, entries, cx: self.cx })?,
            }
        }
        Ok(())
    }
}

impl Context<'_> {
    fn entry(&self, table: &str, key: String, line: u64, fields: Vec<Field>) -> Entry {
        Entry { table: table.to_owned(), key, file: self.file.to_owned(), line, fields }
    }
}

struct Entries<'a, 'd> {
    table: &'a str,
    entries: &'d mut Vec<Entry>,
    cx: Context<'a>,
}

impl<'de> DeserializeSeed<'de> for Entries<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object of entries of {}", self.table)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let line = self.cx.line.get();
            let fields = map.next_value_seed(Fields { cx: self.cx })?;
            self.entries.push(self.cx.entry(self.table, key, line, fields));
        }
        Ok(())
    }
}

struct Fields<'a> {
    cx: Context<'a>,
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = Vec<Field>;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Vec<Field>, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = Vec<Field>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Field>, A::Error> {
        let (mut fields, mut seen): (Vec<Field>, HashSet<String>) = (Vec::new(), HashSet::new());
        while let Some(name) = map.next_key::<String>()? {
            let line = self.cx.line.get();
            let value = map.next_value::<Value>()?;
            let Some(value) = text_of(&value) else {
                return Err(A::Error::custom(format!("the field {name} is neither a text nor a list of texts")));
            };
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format!("the field {name} stands there twice")));
            }
            fields.push(Field { name, value, line });
        }
        Ok(fields)
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null => Some(String::new()),
        Value::Array(list) => {
            let texts: Option<Vec<String>> =
                list.iter().map(|one| if one.is_array() { None } else { text_of(one) }).collect();
            texts.map(|texts| texts.join(","))
        }
        Value::Object(_) => None,
    }
}
