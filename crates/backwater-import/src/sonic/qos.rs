//! Classes of a database: their DSCPs, PFC, marking, and the watchdog.

use super::database::{Database, Entry};
use super::ports::Port;
use super::unlike::{self, Setting};
use crate::error::ImportError;
use crate::note::{NoteKind, Notes};

/// Longest time of a watchdog, in ms: an hour.
const MOST_MS: i64 = 3_600_000;

/// A `WRED_PROFILE` that marks green packets: without colouring all packets are green.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wred {
    /// Its name.
    pub name: String,
    /// File and line.
    pub at: (String, u64),
    /// Length above which marking begins, in octets.
    pub min: u64,
    /// Length from which everything is marked, in octets.
    pub max: u64,
    /// Probability just below `max`, in percent.
    pub percent: u64,
}

/// `PFC_WD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// Detection, in ms.
    pub detection_ms: u64,
    /// Restoration, in ms.
    pub restoration_ms: u64,
    /// `drop` or `forward`.
    pub action: String,
}

/// Reads the classes that each port keeps by PFC: its own `pfc_enable`, or that of all ports.
pub fn pfc_classes(database: &Database, ports: &mut [Port], notes: &mut Notes) -> Result<(), ImportError> {
    let all = ports.to_vec();
    let numbers = unlike::numbers(&all);
    let mut of: Setting<'_, Vec<u8>> = Setting::new(&all);
    let (mut global, mut at) = (None, None);
    // One look-up for each name, not for each port: there may be thousands of both.
    for entry in database.table("PORT_QOS_MAP") {
        let own: Vec<usize> = entry.key.split(',').filter_map(|name| numbers.get(name.trim()).copied()).collect();
        let is_global = entry.key == "global";
        let Some(text) = entry.get("pfc_enable").filter(|_| is_global || !own.is_empty()) else { continue };
        let mut here = Vec::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word.parse::<u8>() {
                Ok(class) if class < 8 => here.push(class),
                _ => return Err(entry.error("pfc_enable is no list of 0 to 7").value(text).hint("as in 3,4")),
            }
        }
        here.sort_unstable();
        here.dedup();
        at.get_or_insert((&entry.file, entry.line));
        // An empty list means no classes.
        let here = Some(here).filter(|classes| !classes.is_empty());
        if is_global {
            global = here.clone();
        }
        for number in own {
            of.set(number, here.clone().unwrap_or_default());
        }
    }
    for has in &mut of.has {
        // Without the field in its own entry a port uses that of all ports; an empty list counts as given.
        *has = has.take().or_else(|| global.clone()).filter(|classes| !classes.is_empty());
    }
    if let Some((file, line)) = at {
        let list = |classes: &[u8]| classes.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
        let here = "here all ports keep each class that is lossless at one of them";
        let lacking = of.lacking();
        if !lacking.is_empty() {
            let text = format!("no pfc_enable at {}: {here}", unlike::of_all(&lacking, all.len()));
            notes.some(NoteKind::Differs, file, Some(line), &lacking, text);
        }
        for (other, names) in of.others() {
            let text = format!("pfc_enable is {} at {}: {here}", list(other), unlike::of_all(&names, all.len()));
            notes.some(NoteKind::Differs, file, Some(line), &names, text);
        }
    }
    for (port, classes) in ports.iter_mut().zip(of.has) {
        port.pfc = classes.unwrap_or_default();
    }
    Ok(())
}

/// The map that a field of the ports names: that of the first port, or of all. Differences between ports are noted.
fn map_of<'a>(
    database: &'a Database,
    ports: &[Port],
    field: &str,
    table: &str,
    notes: &mut Notes,
) -> Option<&'a Entry> {
    let global = database.entry("PORT_QOS_MAP", "global");
    let numbers = unlike::numbers(ports);
    let mut of: Setting<'_, &str> = Setting::new(ports);
    let mut at = global;
    for entry in database.table("PORT_QOS_MAP") {
        let Some(name) = entry.name(field) else { continue };
        for number in entry.key.split(',').filter_map(|name| numbers.get(name.trim())) {
            of.set(*number, name);
            at = at.or(Some(entry));
        }
    }
    for has in &mut of.has {
        *has = has.take().or_else(|| global.and_then(|entry| entry.name(field)));
    }
    let (file, line) = at.map(|entry| (entry.file.as_str(), entry.line))?;
    let (first, name) = of.first().map(|(first, name)| (first, *name))?;
    let here = format!("here all ports have that of {first}, {name}");
    let lacking = of.lacking();
    if !lacking.is_empty() {
        let text = format!("no {field} at {}: {here}", unlike::of_all(&lacking, ports.len()));
        notes.some(NoteKind::Differs, file, Some(line), &lacking, text);
    }
    for (other, names) in of.others() {
        let text = format!("{field} is {other} at {}: {here}", unlike::of_all(&names, ports.len()));
        notes.some(NoteKind::Differs, file, Some(line), &names, text);
    }
    let map = database.entry(table, name);
    if map.is_none() {
        notes.ignored(
            file,
            Some(line),
            format!("{field} is {name}, and {table} has no such map: give the file that has it"),
        );
    }
    map
}

/// A map of classes to priority groups or queues; without it each class maps to its own number.
pub fn class_map(
    database: &Database,
    ports: &[Port],
    field: &str,
    table: &str,
    notes: &mut Notes,
) -> Result<[u8; 8], ImportError> {
    let mut map = [0, 1, 2, 3, 4, 5, 6, 7];
    let Some(entry) = map_of(database, ports, field, table, notes) else { return Ok(map) };
    for pair in &entry.fields {
        // There may be more than eight queues.
        let (class, to) = (pair.name.parse::<usize>().ok(), pair.value.parse::<u8>().ok().filter(|to| *to < 64));
        match (class.and_then(|class| map.get_mut(class)), to) {
            (Some(own), Some(to)) => *own = to,
            (None, Some(to)) if class.is_some_and(|class| class < 64) => {
                let text = format!("{table}: class {} to {to}: there are 8 classes here", pair.name);
                notes.ignored(&entry.file, Some(pair.line), text);
            }
            _ => return Err(entry.error("maps no class to a number").line(pair.line).value(&pair.value)),
        }
    }
    Ok(map)
}

/// DSCPs of each class.
pub fn dscps(database: &Database, ports: &[Port], notes: &mut Notes) -> Result<[Vec<u8>; 8], ImportError> {
    let mut found: [Vec<u8>; 8] = Default::default();
    let Some(entry) = map_of(database, ports, "dscp_to_tc_map", "DSCP_TO_TC_MAP", notes) else { return Ok(found) };
    for pair in &entry.fields {
        let dscp = pair.name.parse::<u8>().ok().filter(|dscp| *dscp < 64);
        match (dscp, pair.value.parse::<usize>().ok()) {
            (Some(dscp), Some(class)) if class < 16 => match found.get_mut(class) {
                Some(own) => own.push(dscp),
                None => {
                    let text = format!("DSCP {dscp} of class {class}: there are 8 classes here");
                    notes.ignored(&entry.file, Some(pair.line), text);
                }
            },
            _ => return Err(entry.error("maps no DSCP to a class").line(pair.line).value(&pair.value)),
        }
    }
    found.iter_mut().for_each(|dscps| dscps.sort_unstable());
    Ok(found)
}

/// A WRED profile, if it marks green packets.
///
/// ECN's own thresholds (`ecn_green_…`) take precedence over those of drops, each separately (`doc/qos`, independent ECN marking
/// thresholds, of sonic-net/SONiC). Those of drops count only with `wred_green_enable`; SAI's default is false, and files without it are
/// taken to mean true.
pub fn wred(entry: &Entry, notes: &mut Notes) -> Result<Option<Wred>, ImportError> {
    let name = &entry.key;
    let at = |field: &str| entry.fields.iter().find(|own| own.name == field).map_or(entry.line, |own| own.line);
    let mode = entry.get("ecn").unwrap_or("ecn_none");
    if !["ecn_green", "ecn_green_yellow", "ecn_green_red", "ecn_all"].contains(&mode) {
        let all: Vec<&str> = entry.fields.iter().map(|field| field.name.as_str()).collect();
        let text = format!("{name}: {mode} marks no green packet, and WRED drops here none: {}", all.join(", "));
        notes.ignored(&entry.file, Some(entry.line), text);
        return Ok(None);
    }
    let own = (
        entry.size("ecn_green_min_threshold")?,
        entry.size("ecn_green_max_threshold")?,
        entry.number("ecn_green_mark_probability", 0, 100)?.map(i64::unsigned_abs),
    );
    let of_drops = (
        entry.size("green_min_threshold")?,
        entry.size("green_max_threshold")?,
        entry.number("green_drop_probability", 0, 100)?.map(i64::unsigned_abs),
    );
    let enabled = entry.choice("wred_green_enable", &["true", "false"])?;
    let field = "wred_green_enable";
    if enabled.is_none() && (own.0.is_none() || own.1.is_none()) {
        let text = format!("{name} says nothing of {field}: it is taken as true, so that its thresholds count");
        notes.assumed(&entry.file, Some(entry.line), text);
    }
    if enabled == Some("false") && (own.0.is_none() || own.1.is_none()) {
        let text = format!("{name} marks nothing: {field} is false, so that its green thresholds do not count");
        notes.ignored(&entry.file, Some(at(field)), text);
        return Ok(None);
    }
    let unread = [
        ("green_min_threshold", own.0.and(of_drops.0)),
        ("green_max_threshold", own.1.and(of_drops.1)),
        ("green_drop_probability", own.2.and(of_drops.2)),
    ];
    for (field, _) in unread.iter().filter(|(_, value)| value.is_some()) {
        let text =
            format!("{field} of {name}: where WRED drops, which nothing here does; marks have thresholds of their own");
        notes.ignored(&entry.file, Some(at(field)), text);
    }
    let (Some(min), Some(max)) = (own.0.or(of_drops.0), own.1.or(of_drops.1)) else {
        return Err(entry.error("marks green packets, and has no green_min_threshold or no green_max_threshold"));
    };
    if min > max {
        return Err(entry.error(format!("marks from {min} B on, and all from {max} B on, which is less")));
    }
    let at = (entry.file.clone(), entry.line);
    Ok(Some(Wred { name: name.clone(), at, min, max, percent: own.2.or(of_drops.2).unwrap_or(100) }))
}

/// A time of the watchdog, in ms. The YANG model has 100 to `most`; files with other values exist and run, so the values are kept.
fn watchdog_ms(entry: &Entry, name: &str, most: u64, notes: &mut Notes) -> Result<Option<u64>, ImportError> {
    let Some(ms) = entry.number(name, 1, MOST_MS)?.map(i64::unsigned_abs) else { return Ok(None) };
    if !(100..=most).contains(&ms) {
        let line = entry.fields.iter().find(|field| field.name == name).map_or(entry.line, |field| field.line);
        let text = format!("{name} of {ms} ms is outside the range of SONiC's YANG models, 100 to {most} ms");
        notes.differs(&entry.file, Some(line), text);
    }
    Ok(Some(ms))
}

/// The watchdog of the first port that has one, and the ports with the same.
pub fn watchdog(
    database: &Database,
    ports: &[Port],
    notes: &mut Notes,
) -> Result<(Option<Watchdog>, Vec<bool>), ImportError> {
    let numbers = unlike::numbers(ports);
    let mut of: Setting<'_, Watchdog> = Setting::new(ports);
    let mut at = None;
    for entry in database.table("PFC_WD") {
        if entry.key == "GLOBAL" {
            for field in &entry.fields {
                let text = format!("{} of the watchdog (PFC_WD, GLOBAL): here it looks all the time", field.name);
                notes.ignored(&entry.file, Some(field.line), text);
            }
            continue;
        }
        let own: Vec<usize> = entry.key.split(',').filter_map(|name| numbers.get(name.trim()).copied()).collect();
        if own.is_empty() {
            continue;
        }
        let known = ["action", "detection_time", "restoration_time"];
        for field in entry.fields.iter().filter(|field| !known.contains(&field.name.as_str())) {
            notes.ignored(
                &entry.file,
                Some(field.line),
                format!("{} of the watchdog (PFC_WD, {})", field.name, entry.key),
            );
        }
        // Most of the YANG model's ranges, in ms.
        let Some(detection_ms) = watchdog_ms(entry, "detection_time", 5_000, notes)? else {
            let text = format!("the watchdog of {} has no detection_time: here it is none", entry.key);
            notes.ignored(&entry.file, Some(entry.line), text);
            continue;
        };
        let restoration_ms = match watchdog_ms(entry, "restoration_time", 60_000, notes)? {
            Some(ms) => ms,
            None => {
                let text = "a watchdog without a restoration_time: SONiC never restores the queue, here it is an hour";
                notes.differs(&entry.file, Some(entry.line), text);
                MOST_MS.unsigned_abs()
            }
        };
        let action = entry.get("action").unwrap_or("drop").to_owned();
        if !["drop", "forward"].contains(&action.as_str()) {
            let text = format!("the watchdog's action {action}: it touches no packet");
            notes.ignored(&entry.file, Some(entry.line), text);
            continue;
        }
        at.get_or_insert((&entry.file, entry.line));
        for number in own {
            of.set(number, Watchdog { detection_ms, restoration_ms, action: action.clone() });
        }
    }
    let (Some((first, watchdog)), Some((file, line))) = (of.first(), at) else {
        return Ok((None, vec![false; ports.len()]));
    };
    let lacking = of.lacking();
    if !lacking.is_empty() {
        let text =
            format!("no watchdog at {}: here all ports have that of {first}", unlike::of_all(&lacking, ports.len()));
        notes.some(NoteKind::Differs, file, Some(line), &lacking, text);
    }
    for (other, names) in of.others() {
        let text = format!(
            "the watchdog of {} has {}: here all ports have that of {first}, {}",
            unlike::of_all(&names, ports.len()),
            other.beside(watchdog),
            watchdog.beside(other)
        );
        notes.some(NoteKind::Differs, file, Some(line), &names, text);
    }
    Ok((Some(watchdog.clone()), of.like_first()))
}

impl Watchdog {
    /// Returns the differences from another one.
    fn beside(&self, other: &Watchdog) -> String {
        let mut differ = Vec::new();
        if self.detection_ms != other.detection_ms {
            differ.push(format!("detection_time {}", self.detection_ms));
        }
        if self.restoration_ms != other.restoration_ms {
            differ.push(format!("restoration_time {}", self.restoration_ms));
        }
        if self.action != other.action {
            differ.push(format!("action {}", self.action));
        }
        differ.join(", ")
    }
}
