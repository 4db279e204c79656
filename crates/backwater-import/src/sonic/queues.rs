//! `QUEUE`: marking and service of the ports' queues.

use super::config::Config;
use super::database::{Database, Entry};
use super::ports::{Port, spread};
use super::qos::wred;
use super::unlike::{self, Setting};
use crate::error::ImportError;
use crate::note::{NoteKind, Notes};
use std::collections::{BTreeMap, BTreeSet};

/// Queues of a port.
const QUEUES: u8 = 16;

/// The names in one field of `QUEUE`, by queue and port.
type Named<'a> = Vec<Setting<'a, &'a str>>;

impl Config {
    /// Reads `QUEUE`: marking and weights.
    pub(super) fn queues(&mut self, database: &Database, notes: &mut Notes) -> Result<(), ImportError> {
        let ports = self.ports.clone();
        let marked = named(database, &ports, "wred_profile", notes)?;
        let scheduled = named(database, &ports, "scheduler", notes)?;
        let queue_of = self.queue_of;
        let of_class = |class: u8| usize::from(queue_of.get(usize::from(class)).copied().unwrap_or(class));
        for (number, port) in self.ports.iter_mut().enumerate() {
            for (own, class) in port.wred.iter_mut().zip(0u8..) {
                let has = marked.get(of_class(class)).and_then(|setting| setting.has.get(number));
                *own = has.and_then(|name| name.map(str::to_owned));
            }
        }
        let mut seen = BTreeSet::new();
        for name in marked.iter().flat_map(|setting| setting.has.iter().flatten()).filter(|name| seen.insert(**name)) {
            match database.entry("WRED_PROFILE", name) {
                Some(entry) => self.wreds.extend(wred(entry, notes)?),
                None => absent(database, "WRED_PROFILE", name, notes),
            }
        }
        let mut weighed: BTreeMap<&str, u64> = BTreeMap::new();
        for name in scheduled.iter().flat_map(|setting| setting.has.iter().flatten()) {
            if weighed.contains_key(*name) {
                continue;
            }
            let weight = match database.entry("SCHEDULER", name) {
                Some(entry) => weight(entry, notes)?,
                None => {
                    absent(database, "SCHEDULER", name, notes);
                    1
                }
            };
            weighed.insert(*name, weight);
        }
        if !weighed.is_empty() {
            let mut weights = [1u64; 8];
            for (own, class) in weights.iter_mut().zip(0u8..) {
                let of = scheduled.get(of_class(class)).and_then(Setting::first);
                *own = of.and_then(|(_, name)| weighed.get(*name)).copied().unwrap_or(1);
            }
            self.weights = Some(weights);
        }
        Ok(())
    }
}

/// Notes a name in a queue that no table defines.
fn absent(database: &Database, table: &str, name: &str, notes: &mut Notes) {
    let names = |entry: &&Entry| entry.fields.iter().any(|field| entry.name(&field.name) == Some(name));
    if let Some(entry) = database.table("QUEUE").find(names) {
        let text = format!("queues name {name}, and {table} has no such entry: give the file that has it");
        notes.ignored(&entry.file, Some(entry.line), text);
    }
}

/// The weight of a scheduler: 0 is served first.
fn weight(entry: &Entry, notes: &mut Notes) -> Result<u64, ImportError> {
    let kind = entry.choice("type", &["DWRR", "WRR", "STRICT"])?;
    let weight = entry.number("weight", 1, 100)?.map(i64::unsigned_abs);
    if kind == Some("WRR") {
        let text = format!("{} is WRR, whose turns are packets: here they are octets, as of DWRR", entry.key);
        notes.differs(&entry.file, Some(entry.line), text);
    }
    if kind == Some("STRICT") && weight.is_some() {
        let text = format!("weight of {}: it is STRICT, and served first", entry.key);
        notes.ignored(&entry.file, Some(entry.line), text);
    }
    Ok(if kind == Some("STRICT") { 0 } else { weight.unwrap_or(1) })
}

/// Reads one field of all queues. Differences between ports are noted.
fn named<'a>(
    database: &'a Database,
    ports: &'a [Port],
    field: &'a str,
    notes: &mut Notes,
) -> Result<Named<'a>, ImportError> {
    let numbers = unlike::numbers(ports);
    let mut all: Named<'a> = (0..QUEUES).map(|_| Setting::new(ports)).collect();
    let mut at = None;
    for entry in database.table("QUEUE") {
        let (names, queues) = spread(entry, QUEUES - 1)?;
        let own: Vec<usize> = names.iter().filter_map(|name| numbers.get(*name).copied()).collect();
        let Some(name) = entry.name(field).filter(|_| !own.is_empty()) else { continue };
        at.get_or_insert((&entry.file, entry.line));
        for queue in queues {
            let Some(setting) = all.get_mut(usize::from(queue)) else { continue };
            for number in &own {
                setting.set(*number, name);
            }
        }
    }
    let Some((file, line)) = at else { return Ok(all) };
    // Queues with the same difference share a note.
    let mut reported: BTreeMap<String, (Vec<String>, Vec<&str>)> = BTreeMap::new();
    for (setting, queue) in all.iter().zip(0u8..) {
        let Some((first, name)) = setting.first() else { continue };
        let here = match field {
            // Each is judged, and the scenario has one of them.
            "wred_profile" => "here all queues that mark have one".to_owned(),
            _ => format!("here all ports have that of {first}, {name}"),
        };
        let mut say = |what: &str, names: Vec<&'a str>| {
            let text = format!("{what} at {}: {here}", unlike::of_all(&names, ports.len()));
            let (queues, of) = reported.entry(text).or_default();
            queues.push(queue.to_string());
            of.extend(names);
        };
        let lacking = setting.lacking();
        if !lacking.is_empty() {
            say("missing", lacking);
        }
        setting.others().into_iter().for_each(|(other, names)| say(other, names));
    }
    for (text, (queues, mut names)) in reported {
        let of = if queues.len() == 1 { "queue" } else { "queues" };
        names.sort_unstable();
        names.dedup();
        notes.some(
            NoteKind::Differs,
            file,
            Some(line),
            &names,
            format!("{field} of {of} {} is {text}", queues.join(", ")),
        );
    }
    Ok(all)
}
