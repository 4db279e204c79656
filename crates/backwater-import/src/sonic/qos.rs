//! Classes of a database: what maps to them, which of them PFC keeps, how they are marked, and their watchdog.

use super::config::{Port, Watchdog, Wred};
use super::database::{Database, Entry};
use super::unlike::{self, Setting};
use crate::error::ImportError;
use crate::note::Notes;

/// Longest time of a watchdog, in ms: an hour.
const MOST_MS: i64 = 3_600_000;

/// The entry of a port, or that of all.
fn qos<'a>(database: &'a Database, port: &str) -> Option<&'a Entry> {
    let own = database.table("PORT_QOS_MAP").find(|entry| entry.key.split(',').any(|name| name.trim() == port));
    own.or_else(|| database.entry("PORT_QOS_MAP", "global"))
}

/// The classes under PFC, `pfc_enable` of the first port that has it, and which ports have the same.
pub fn pfc_classes(
    database: &Database,
    ports: &[Port],
    notes: &mut Notes,
) -> Result<(Vec<u8>, Vec<bool>), ImportError> {
    let numbers = unlike::numbers(ports);
    let mut of: Setting<'_, Vec<u8>> = Setting::new(ports);
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
        // No class is none.
        let here = Some(here).filter(|classes| !classes.is_empty());
        if is_global {
            global = here.clone();
        }
        for number in own {
            of.set(number, here.clone().unwrap_or_default());
        }
    }
    for has in &mut of.has {
        // An entry of the port's own that says nothing of it leaves it to that of all; an empty list does not.
        *has = has.take().or_else(|| global.clone()).filter(|classes| !classes.is_empty());
    }
    let (Some((first, classes)), Some((file, line))) = (of.first(), at) else {
        return Ok((Vec::new(), vec![false; ports.len()]));
    };
    let list = |classes: &[u8]| classes.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
    let here = format!("here all ports have that of {first}, {}", list(classes));
    let lacking = of.lacking();
    if !lacking.is_empty() {
        let text = format!("no pfc_enable at {}: {here}", unlike::of_all(&lacking, ports.len()));
        notes.differs(file, Some(line), text);
    }
    for (other, names) in of.others() {
        let text = format!("pfc_enable is {} at {}: {here}", list(other), unlike::of_all(&names, ports.len()));
        notes.differs(file, Some(line), text);
    }
    Ok((classes.clone(), of.like_first()))
}

/// A map of classes to priority groups or queues; each to its own number where there is none.
pub fn class_map(database: &Database, ports: &[Port], field: &str, table: &str) -> Result<[u8; 8], ImportError> {
    let mut map = [0, 1, 2, 3, 4, 5, 6, 7];
    let of_port = ports.iter().take(1).find_map(|port| qos(database, &port.name)).and_then(|entry| entry.name(field));
    let global = || database.entry("PORT_QOS_MAP", "global").and_then(|entry| entry.name(field));
    let Some(entry) = of_port.or_else(global).and_then(|name| database.entry(table, name)) else { return Ok(map) };
    for pair in &entry.fields {
        // Of queues there may be more than eight.
        let (class, to) = (pair.name.parse::<usize>().ok(), pair.value.parse::<u8>().ok().filter(|to| *to < 64));
        match (class.and_then(|class| map.get_mut(class)), to) {
            (Some(own), Some(to)) => *own = to,
            (None, Some(_)) if class.is_some_and(|class| class < 64) => {}
            _ => return Err(entry.error("maps no class to a number").line(pair.line).value(&pair.value)),
        }
    }
    Ok(map)
}

/// DSCPs of each class.
pub fn dscps(database: &Database, ports: &[Port]) -> Result<[Vec<u8>; 8], ImportError> {
    let mut found: [Vec<u8>; 8] = Default::default();
    let of_port = ports.first().and_then(|port| qos(database, &port.name)).and_then(|e| e.name("dscp_to_tc_map"));
    let global = || database.entry("PORT_QOS_MAP", "global").and_then(|entry| entry.name("dscp_to_tc_map"));
    let Some(entry) = of_port.or_else(global).and_then(|name| database.entry("DSCP_TO_TC_MAP", name)) else {
        return Ok(found);
    };
    for pair in &entry.fields {
        let dscp = pair.name.parse::<u8>().ok().filter(|dscp| *dscp < 64);
        match (dscp, pair.value.parse::<usize>().ok()) {
            (Some(dscp), Some(class)) if class < 16 => {
                if let Some(own) = found.get_mut(class) {
                    own.push(dscp);
                }
            }
            _ => return Err(entry.error("maps no DSCP to a class").line(pair.line).value(&pair.value)),
        }
    }
    found.iter_mut().for_each(|dscps| dscps.sort_unstable());
    Ok(found)
}

/// A WRED profile that marks green packets.
pub fn wred(database: &Database, name: &str, notes: &mut Notes) -> Result<Option<Wred>, ImportError> {
    let Some(entry) = database.entry("WRED_PROFILE", name) else { return Ok(None) };
    let mode = entry.get("ecn").unwrap_or("ecn_none");
    if !["ecn_green", "ecn_green_yellow", "ecn_green_red", "ecn_all"].contains(&mode) {
        notes.ignored(
            &entry.file,
            Some(entry.line),
            format!("{name}: {mode} marks no green packet, and WRED drops here none"),
        );
        return Ok(None);
    }
    let (min, max) = (entry.size("green_min_threshold")?, entry.size("green_max_threshold")?);
    let (Some(min), Some(max)) = (min, max) else {
        return Err(entry.error("marks green packets, and has no green_min_threshold or no green_max_threshold"));
    };
    if min > max {
        return Err(entry.error(format!("green_min_threshold of {min} is above green_max_threshold of {max}")));
    }
    if entry.fields.iter().any(|field| field.name.starts_with("yellow_") || field.name.starts_with("red_")) {
        notes.ignored(
            &entry.file,
            Some(entry.line),
            "thresholds of yellow and red packets: all packets here are green",
        );
    }
    let percent = entry.number("green_drop_probability", 0, 100)?.unwrap_or(100).unsigned_abs();
    Ok(Some(Wred { name: name.to_owned(), min, max, percent }))
}

/// A time of the watchdog, in ms. The YANG model has 100 to `most`; other files exist and run, so that their values are kept.
fn watchdog_ms(entry: &Entry, name: &str, most: u64, notes: &mut Notes) -> Result<Option<u64>, ImportError> {
    let Some(ms) = entry.number(name, 1, MOST_MS)?.map(i64::unsigned_abs) else { return Ok(None) };
    if !(100..=most).contains(&ms) {
        let line = entry.fields.iter().find(|field| field.name == name).map_or(entry.line, |field| field.line);
        let text = format!("{name} of {ms} ms is outside the range of SONiC's YANG models, 100 to {most} ms");
        notes.differs(&entry.file, Some(line), text);
    }
    Ok(Some(ms))
}

/// The watchdog of the first port that has one, and which ports have the same.
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
                let text = format!("{} of the watchdog: here it looks all the time", field.name);
                notes.ignored(&entry.file, Some(field.line), text);
            }
            continue;
        }
        let own: Vec<usize> = entry.key.split(',').filter_map(|name| numbers.get(name.trim()).copied()).collect();
        if own.is_empty() {
            continue;
        }
        // Most of the YANG model's ranges, in ms.
        let Some(detection_ms) = watchdog_ms(entry, "detection_time", 5_000, notes)? else { continue };
        let restoration_ms = watchdog_ms(entry, "restoration_time", 60_000, notes)?.unwrap_or(detection_ms);
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
        notes.differs(file, Some(line), text);
    }
    for (other, names) in of.others() {
        let text = format!(
            "the watchdog of {} has {}: here all ports have that of {first}, {}",
            unlike::of_all(&names, ports.len()),
            other.beside(watchdog),
            watchdog.beside(other)
        );
        notes.differs(file, Some(line), text);
    }
    Ok((Some(watchdog.clone()), of.like_first()))
}

impl Watchdog {
    /// What it has otherwise than another one.
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
