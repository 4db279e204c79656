//! `PORT` and `CABLE_LENGTH`: the ports that are up, and their names in keys of other tables.

use super::database::{Database, Entry, TABLES};
use crate::error::ImportError;
use crate::note::{NoteKind, Notes};
use std::collections::BTreeMap;

/// Most ports: a generous bound for a chassis.
const MOST_PORTS: usize = 4096;
/// SONiC's default MTU: `setPortMtu` of its orchagent.
const MTU: i64 = 9100;

/// Default length of a cable, in metres: SONiC's `default_cable`.
pub const CABLE_M: u64 = 5;

/// A port that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Rate, in b/s.
    pub bps: u64,
    /// MTU, in octets.
    pub mtu: u64,
    /// Length of its cable, in metres; `None`: `CABLE_LENGTH` does not name the port, or has `0m`.
    pub cable_m: Option<u64>,
    /// Buffer profiles of its priority groups.
    pub groups: [Option<String>; 8],
    /// Buffer profiles of its queues.
    pub queues: [Option<String>; 8],
    /// Classes that it keeps by PFC, in order.
    pub pfc: Vec<u8>,
    /// WRED profiles of its queues, by class.
    pub wred: [Option<String>; 8],
}

/// A length as `40m`.
pub fn metres(text: &str) -> Option<u64> {
    text.strip_suffix('m')?.parse().ok().filter(|metres| *metres <= 1_000_000)
}

/// Ports and numbers of a key such as `Ethernet0,Ethernet4|3-4`.
pub fn spread(entry: &Entry, most: u8) -> Result<(Vec<&str>, std::ops::RangeInclusive<u8>), ImportError> {
    // In a chassis the key begins with host and ASIC.
    let (ports, numbers) =
        entry.key.rsplit_once('|').ok_or_else(|| entry.error("the key has no number behind a bar"))?;
    let ports = ports.rsplit('|').next().unwrap_or(ports);
    let (from, to) = numbers.split_once('-').unwrap_or((numbers, numbers));
    let number = |text: &str| text.parse::<u8>().ok().filter(|number| *number <= 63);
    let (Some(from), Some(to)) = (number(from), number(to)) else {
        return Err(entry.error("the key ends with neither a number nor a range").hint("as in Ethernet0|3-4"));
    };
    if from > to {
        return Err(entry.error("the range of the key is empty"));
    }
    Ok((ports.split(',').map(str::trim).filter(|port| !port.is_empty()).collect(), from..=to.min(most)))
}

/// The ports that are up, without settings from tables other than `PORT` and `CABLE_LENGTH`.
///
/// # Errors
///
/// An invalid value, with its line; no port, or more than [`MOST_PORTS`].
pub fn read(database: &Database, notes: &mut Notes) -> Result<Vec<Port>, ImportError> {
    let mut cables: BTreeMap<&str, u64> = BTreeMap::new();
    let mut unused: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
    for entry in database.table("CABLE_LENGTH") {
        for field in &entry.fields {
            let Some(metres) = metres(&field.value) else {
                let error = entry.error(format!("the cable of {} is no length", field.name)).line(field.line);
                return Err(error.value(&field.value).hint("as in 40m"));
            };
            // SONiC writes 0m for unused ports.
            if metres > 0 {
                cables.insert(&field.name, metres);
            } else {
                unused.insert(&field.name, (&entry.file, field.line));
            }
        }
    }
    let all: Vec<&Entry> = database.table("PORT").collect();
    let any_up = all.iter().any(|entry| entry.get("admin_status") == Some("up"));
    let mut ports = Vec::new();
    for entry in &all {
        if any_up && entry.get("admin_status") != Some("up") {
            continue;
        }
        let speed = entry.number("speed", 1, 100_000_000)?;
        let speed = speed.ok_or_else(|| entry.error("the port has no speed").hint("speed, in Mb/s"))?;
        ports.push(Port {
            name: entry.key.clone(),
            bps: speed.unsigned_abs() * 1_000_000,
            mtu: entry.number("mtu", 68, 9216)?.unwrap_or(MTU).unsigned_abs(),
            cable_m: cables.get(entry.key.as_str()).copied(),
            groups: Default::default(),
            queues: Default::default(),
            pfc: Vec::new(),
            wred: Default::default(),
        });
    }
    for port in ports.iter().filter(|port| port.cable_m.is_none()) {
        if let Some((file, line)) = unused.get(port.name.as_str()) {
            let text = format!("a cable of 0m, as of a port that is not used: here it has {CABLE_M} m");
            notes.named(NoteKind::Differs, file, Some(*line), &port.name, text);
        } else {
            let text = format!("no length in CABLE_LENGTH: the cable has {CABLE_M} m");
            notes.named(NoteKind::Assumed, &file_of(database), None, &port.name, text);
        }
    }
    if !any_up {
        for entry in &all {
            let (kind, text) = match entry.get("admin_status") {
                None => (NoteKind::Assumed, "admin_status is not said, and no port is up: here the port is".to_owned()),
                Some(other) => {
                    (NoteKind::Differs, format!("admin_status is {other}, and no port is up: here the port is"))
                }
            };
            notes.named(kind, &entry.file, Some(entry.line), &entry.key, text);
        }
    }
    match ports.len() {
        0 => {
            let hint = "give the file that has PORT beside it: several files are read as one";
            Err(ImportError::new("there is no port").file(file_of(database)).hint(hint))
        }
        n if n > MOST_PORTS => Err(ImportError::new(format!("{n} ports")).file(file_of(database)).hint("at most 4096")),
        _ => Ok(ports),
    }
}

/// The name of a file with entries.
fn file_of(database: &Database) -> String {
    let first = TABLES.iter().find_map(|(table, _)| database.table(table).next());
    first.map(|entry| entry.file.clone()).or_else(|| database.skipped.first().map(|s| s.1.clone())).unwrap_or_default()
}
