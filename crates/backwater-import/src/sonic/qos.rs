//! Classes of a database: what maps to them, which of them PFC keeps, how they are marked, and their watchdog.

use super::config::{Port, Watchdog, Wred};
use super::database::{Database, Entry};
use crate::error::ImportError;
use crate::note::Notes;

/// The entry of a port, or that of all.
fn qos<'a>(database: &'a Database, port: &str) -> Option<&'a Entry> {
    let own = database.table("PORT_QOS_MAP").find(|entry| entry.key.split(',').any(|name| name.trim() == port));
    own.or_else(|| database.entry("PORT_QOS_MAP", "global"))
}

/// The classes under PFC: `pfc_enable` of the first port that has it.
pub fn pfc_classes(database: &Database, ports: &[Port], notes: &mut Notes) -> Result<Vec<u8>, ImportError> {
    let mut classes: Option<Vec<u8>> = None;
    // One look-up for each entry, not for each port: there may be thousands of both.
    for entry in database.table("PORT_QOS_MAP") {
        let own = |port: &Port| entry.key == "global" || entry.key.split(',').any(|name| name.trim() == port.name);
        let Some(text) = entry.get("pfc_enable").filter(|_| ports.iter().any(own)) else { continue };
        let mut here = Vec::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word.parse::<u8>() {
                Ok(class) if class < 8 => here.push(class),
                _ => return Err(entry.error("pfc_enable is no list of 0 to 7").value(text).hint("as in 3,4")),
            }
        }
        here.sort_unstable();
        here.dedup();
        match &classes {
            None => classes = Some(here),
            Some(other) if *other != here => {
                let text = format!("pfc_enable is {text} here: all ports have that of the first");
                notes.differs(&entry.file, Some(entry.line), text);
            }
            Some(_) => {}
        }
    }
    Ok(classes.unwrap_or_default())
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

/// The watchdog of the first port that has one.
pub fn watchdog(database: &Database, ports: &[Port], notes: &mut Notes) -> Result<Option<Watchdog>, ImportError> {
    let mut found: Option<Watchdog> = None;
    for entry in database.table("PFC_WD") {
        if entry.key == "GLOBAL" {
            for field in &entry.fields {
                let text = format!("{} of the watchdog: here it looks all the time", field.name);
                notes.ignored(&entry.file, Some(field.line), text);
            }
            continue;
        }
        if !entry.key.split(',').any(|name| ports.iter().any(|port| port.name == name.trim())) {
            continue;
        }
        // The YANG model has 100 to 5000 ms, and to 60 s; older files may have others.
        let Some(detection) = entry.number("detection_time", 1, 3_600_000)? else { continue };
        let restoration = entry.number("restoration_time", 1, 3_600_000)?.unwrap_or(detection);
        let action = entry.get("action").unwrap_or("drop").to_owned();
        if !["drop", "forward"].contains(&action.as_str()) {
            let text = format!("the watchdog's action {action}: it touches no packet");
            notes.ignored(&entry.file, Some(entry.line), text);
            continue;
        }
        let own = Watchdog {
            port: entry.key.clone(),
            detection_ms: detection.unsigned_abs(),
            restoration_ms: restoration.unsigned_abs(),
            action,
        };
        match &found {
            None => found = Some(own),
            Some(first) if Watchdog { port: own.port.clone(), ..first.clone() } != own => {
                let text =
                    format!("the watchdog of {} has other times: all ports have those of {}", own.port, first.port);
                notes.differs(&entry.file, Some(entry.line), text);
            }
            Some(_) => {}
        }
    }
    Ok(found)
}
