//! `QUEUE`: how the queues of ports mark, and in which turns they send.

use super::config::{Config, Marks, Port, spread};
use super::database::Database;
use super::qos::wred;
use super::unlike::{self, Setting};
use crate::error::ImportError;
use crate::note::Notes;
use std::collections::BTreeMap;

/// Queues of a port.
const QUEUES: u8 = 16;

/// What `QUEUE` names in one field, by queue and port.
type Named<'a> = Vec<Setting<'a, &'a str>>;

impl Config {
    /// What `QUEUE` says: marking and weights.
    pub(super) fn queues(&mut self, database: &Database, notes: &mut Notes) -> Result<(), ImportError> {
        let ports = self.ports.clone();
        let marked = named(database, &ports, "wred_profile", notes)?;
        let scheduled = named(database, &ports, "scheduler", notes)?;
        let of_class = |class: u8| self.queue_of.get(usize::from(class)).copied().unwrap_or(class);
        let setting = |class: u8| marked.get(usize::from(of_class(class)));
        let of = |class: u8| setting(class).and_then(|setting| setting.first()).map(|(_, name)| *name);
        let first = self.lossless.iter().copied().chain(0..8).find_map(of);
        if let Some(name) = first
            && let Some(wred) = wred(database, name, notes)?
        {
            let classes: Vec<u8> = (0..8u8).filter(|class| of(*class) == Some(name)).collect();
            for other in marked.iter().filter_map(|setting| setting.first()).filter(|(_, other)| **other != name) {
                let text = format!("WRED profile {}: all queues that mark have {name}", other.1);
                notes.differs(database.table("QUEUE").next().map_or("", |entry| &entry.file), None, text);
            }
            let judged = self.lossless.iter().copied().find(|class| classes.contains(class));
            let marks = |has: &Option<&str>| match has {
                Some(own) if *own == name => Marks::Same,
                Some(_) => Marks::Other,
                None => Marks::Never,
            };
            self.marks = judged.and_then(setting).map(|of| of.has.iter().map(marks).collect()).unwrap_or_default();
            self.wred = Some((wred, classes));
        }
        if scheduled.iter().any(|setting| setting.first().is_some()) {
            let mut weights = [1u64; 8];
            for (weight, class) in weights.iter_mut().zip(0u8..) {
                let of = scheduled.get(usize::from(of_class(class)));
                let Some((_, name)) = of.and_then(|setting| setting.first()) else { continue };
                let Some(entry) = database.entry("SCHEDULER", name) else { continue };
                *weight = match entry.get("type") {
                    Some("STRICT") => 0,
                    _ => entry.number("weight", 1, 100)?.unwrap_or(1).unsigned_abs(),
                };
            }
            self.weights = Some(weights);
        }
        Ok(())
    }
}

/// Reads one field of all queues. Where ports differ, it is said.
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
    // Queues that differ alike are said together.
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (setting, queue) in all.iter().zip(0u8..) {
        let Some((first, name)) = setting.first() else { continue };
        let here = format!("here all ports have that of {first}, {name}");
        let lacking = setting.lacking();
        if !lacking.is_empty() {
            let text = format!("missing at {}: {here}", unlike::of_all(&lacking, ports.len()));
            said.entry(text).or_default().push(queue.to_string());
        }
        for (other, names) in setting.others() {
            let text = format!("{other} at {}: {here}", unlike::of_all(&names, ports.len()));
            said.entry(text).or_default().push(queue.to_string());
        }
    }
    for (text, queues) in said {
        let of = if queues.len() == 1 { "queue" } else { "queues" };
        notes.differs(file, Some(line), format!("{field} of {of} {} is {text}", queues.join(", ")));
    }
    Ok(all)
}
