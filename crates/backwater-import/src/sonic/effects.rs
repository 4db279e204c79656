//! Every setting of a database is either in the scenario or named. This module names those without effect and, for the head of the
//! scenario, the used ones.

use super::buffers::{Limit, Profile};
use super::config::Config;
use super::database::{Database, Entry};
use super::ports::spread;
use super::unlike;
use crate::note::{NoteKind, Notes};
use std::collections::{BTreeMap, BTreeSet};

/// Notes settings without effect, and keeps the used ones for the head of the scenario.
pub fn note(config: &mut Config, database: &Database, notes: &mut Notes) {
    skipped(database, notes);
    not_up(config, database, notes);
    unused(config, database, notes);
    frames(config, database, notes);
    buffers(config, notes);
    config.reported = reported(config, database);
}

/// Unsupported tables and fields.
fn skipped(database: &Database, notes: &mut Notes) {
    for (name, file, line) in &database.skipped {
        notes.unread(file, Some(*line), name, "tables without effect here");
    }
    for (table, entry, field) in database.unread() {
        notes.unread(&entry.file, Some(field.line), &field.name, format!("fields of {table} without effect here"));
    }
    let maps = [
        ("DSCP_TO_TC_MAP", "dscp_to_tc_map", "flows have a class here, and remarks say which DSCPs each has"),
        (
            "TC_TO_PRIORITY_GROUP_MAP",
            "tc_to_pg_map",
            "each class has a priority group of its own here, with the profile of that one",
        ),
        ("TC_TO_QUEUE_MAP", "tc_to_queue_map", "each class has a queue of its own here, with the settings of that one"),
    ];
    for (table, name, text) in maps {
        for entry in database.table(table) {
            for field in &entry.fields {
                let text = format!("numbers of {table}: {text}");
                notes.named(NoteKind::Differs, &entry.file, Some(field.line), &field.name, text);
            }
        }
        for field in
            database.table("PORT_QOS_MAP").flat_map(|entry| entry.fields.iter().map(move |field| (entry, field)))
        {
            let (entry, field) = field;
            if field.name == name {
                let text = format!("of PORT_QOS_MAP: {text}");
                notes.named(NoteKind::Differs, &entry.file, Some(field.line), name, text);
            }
        }
    }
}

/// Settings of ports that are not up.
fn not_up(config: &Config, database: &Database, notes: &mut Notes) {
    let up: BTreeSet<&str> = config.ports.iter().map(|port| port.name.as_str()).collect();
    let is_up = |names: &str| names.split(',').any(|name| up.contains(name.trim()));
    let of = |table: &'static str| -> Vec<(String, &Entry)> {
        let ports = |entry: &Entry| match table {
            "BUFFER_PG" | "BUFFER_QUEUE" | "QUEUE" => {
                spread(entry, 7).map(|(names, _)| names.join(",")).unwrap_or_default()
            }
            _ => entry.key.clone(),
        };
        let all = database.table(table).map(|entry| (ports(entry), entry));
        all.filter(|(ports, _)| !["global", "GLOBAL"].contains(&ports.as_str()) && !is_up(ports)).collect()
    };
    for table in ["PORT", "BUFFER_PG", "BUFFER_QUEUE", "QUEUE", "PORT_QOS_MAP", "PFC_WD"] {
        let what = match table {
            "PORT" => "ports that are not up".to_owned(),
            _ => format!("entries of {table} whose ports are not up"),
        };
        for (_, entry) in of(table) {
            notes.unread(&entry.file, Some(entry.line), &entry.key, what.as_str());
        }
    }
    for entry in database.table("CABLE_LENGTH") {
        for field in entry.fields.iter().filter(|field| !up.contains(field.name.as_str())) {
            notes.unread(&entry.file, Some(field.line), &field.name, "cables of ports that are not up");
        }
    }
}

/// Entries that no used setting names.
fn unused(config: &Config, database: &Database, notes: &mut Notes) {
    let mut profiles: BTreeSet<&str> = BTreeSet::new();
    for port in &config.ports {
        profiles.extend(port.groups.iter().chain(&port.queues).flatten().map(String::as_str));
    }
    let named = |table: &'static str, field: &'static str| {
        database.table(table).filter_map(move |entry| entry.name(field)).collect::<BTreeSet<&str>>()
    };
    for (table, used) in [
        ("BUFFER_PROFILE", profiles.clone()),
        ("SCHEDULER", named("QUEUE", "scheduler")),
        ("WRED_PROFILE", named("QUEUE", "wred_profile")),
        ("DSCP_TO_TC_MAP", named("PORT_QOS_MAP", "dscp_to_tc_map")),
        ("TC_TO_PRIORITY_GROUP_MAP", named("PORT_QOS_MAP", "tc_to_pg_map")),
        ("TC_TO_QUEUE_MAP", named("PORT_QOS_MAP", "tc_to_queue_map")),
    ] {
        for entry in database.table(table).filter(|entry| !used.contains(entry.key.as_str())) {
            notes.unread(&entry.file, Some(entry.line), &entry.key, format!("entries of {table} that nothing uses"));
        }
    }
    let others: Vec<&Entry> = database.table("DEVICE_METADATA").filter(|entry| entry.key != "localhost").collect();
    for entry in others {
        notes.ignored(&entry.file, Some(entry.line), format!("DEVICE_METADATA of {}", entry.key));
    }
    // Profiles that are named but not defined.
    let mut lacking: BTreeMap<&str, &Entry> = BTreeMap::new();
    for entry in ["BUFFER_PG", "BUFFER_QUEUE"].iter().flat_map(|table| database.table(table)) {
        if let Some(name) = entry.name("profile").filter(|name| *name != "NULL" && config.profile(name).is_none()) {
            lacking.entry(name).or_insert(entry);
        }
    }
    for (name, entry) in lacking {
        let text = format!(
            "{} names {name}, and BUFFER_PROFILE has no such entry: give the file that has it, or a pg_profile_lookup.ini",
            entry.table
        );
        notes.ignored(&entry.file, Some(entry.line), text);
    }
}

/// Ports whose frames are shorter than the longest here.
fn frames(config: &Config, database: &Database, notes: &mut Notes) {
    let longest = config.ports.iter().map(|port| port.mtu).max().unwrap_or_default();
    let mut shorter: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for port in config.ports.iter().filter(|port| port.mtu < longest) {
        shorter.entry(port.mtu).or_default().push(&port.name);
    }
    for (mtu, names) in shorter {
        let entry = names.first().and_then(|name| database.entry("PORT", name));
        let text = format!(
            "the mtu of {} is {mtu}: here it is {longest} at all ports",
            unlike::of_all(&names, config.ports.len())
        );
        let file = entry.map_or("", |entry| &entry.file);
        notes.some(NoteKind::Differs, file, entry.map(|entry| entry.line), &names, text);
    }
}

/// Pools and profiles whose settings are not all used.
fn buffers(config: &Config, notes: &mut Notes) {
    for profile in config.profiles.iter().filter(|profile| !profile.pool.is_empty()) {
        if !config.pools.iter().any(|pool| pool.name == profile.pool) {
            let text = format!("pool {}, and BUFFER_POOL has no such entry: give the file that has it", profile.pool);
            notes.some(NoteKind::Differs, &profile.at.0, Some(profile.at.1), &[&profile.name, "pool"], text);
        }
    }
    for pool in config.pools.iter().filter(|pool| !pool.ingress) {
        let text = format!(
            "size, mode and xoff of {} in BUFFER_POOL, of what goes out: memory is counted once, as what comes in",
            pool.name
        );
        notes.some(NoteKind::Ignored, &pool.at.0, Some(pool.at.1), &[&pool.name, "size", "mode", "xoff"], text);
    }
    for pool in config.pools.iter().filter(|pool| pool.ingress) {
        let of_pool = config.profiles.iter().filter(|profile| profile.pool == pool.name);
        for profile in of_pool.clone().filter(|profile| pool.is_static == Some(is_dynamic(profile))) {
            let (mode, other) = if is_dynamic(profile) { ("static", "dynamic") } else { ("dynamic", "static") };
            let text = format!("the limit is {other}, and the mode of {} is {mode}: here the profile holds", pool.name);
            notes.named(NoteKind::Differs, &profile.at.0, Some(profile.at.1), &profile.name, text);
        }
        if of_pool.count() == 0 {
            notes.ignored(&pool.at.0, Some(pool.at.1), format!("the mode of {}: no profile draws from it", pool.name));
        }
    }
}

fn is_dynamic(profile: &Profile) -> bool {
    matches!(profile.limit, Limit::Dynamic(_))
}

/// The used settings: their owners, and their content.
fn reported(config: &Config, database: &Database) -> Vec<String> {
    let mut lines = Vec::new();
    let mut of: BTreeMap<(&str, u8, &str), usize> = BTreeMap::new();
    for port in &config.ports {
        for (what, slots) in [("Priority group", &port.groups), ("Buffer of queue", &port.queues)] {
            for (name, number) in slots.iter().zip(0u8..) {
                if let Some(name) = name {
                    *of.entry((what, number, name)).or_default() += 1;
                }
            }
        }
    }
    let settings = queue_settings(config, database);
    for (number, name) in settings.values() {
        *of.entry(("Queue", *number, name)).or_default() += 1;
    }
    let all = config.ports.len();
    lines.extend(of.iter().map(|((what, number, name), count)| {
        format!("{what} {number}: {name} at {count} of {}.", unlike::count(all, "port"))
    }));
    let named: BTreeSet<&str> = of.keys().map(|(_, _, name)| *name).collect();
    lines.extend(config.profiles.iter().filter(|profile| named.contains(profile.name.as_str())).map(described));
    for table in ["SCHEDULER", "WRED_PROFILE"] {
        for entry in database.table(table).filter(|entry| named.contains(entry.key.as_str())) {
            let fields: Vec<String> =
                entry.fields.iter().map(|field| format!("{} {}", field.name, field.value)).collect();
            lines.push(format!("{table} {}: {}.", entry.key, fields.join(", ")));
        }
    }
    lines
}

/// Returns the settings of `QUEUE`, by port, queue and field.
fn queue_settings<'a>(config: &'a Config, database: &'a Database) -> BTreeMap<(&'a str, u8, &'a str), (u8, &'a str)> {
    let up: BTreeSet<&str> = config.ports.iter().map(|port| port.name.as_str()).collect();
    let mut settings = BTreeMap::new();
    for entry in database.table("QUEUE") {
        let Ok((ports, queues)) = spread(entry, u8::MAX) else { continue };
        for field in ["scheduler", "wred_profile"] {
            let Some(name) = entry.name(field) else { continue };
            for port in ports.iter().filter(|port| up.contains(**port)) {
                settings.extend(queues.clone().map(|queue| ((*port, queue, field), (queue, name))));
            }
        }
    }
    settings
}

fn described(profile: &Profile) -> String {
    let mut parts =
        vec![format!("pool {}", profile.pool), format!("size {}", profile.size), format!("xon {}", profile.xon)];
    parts.extend(profile.xon_offset.map(|octets| format!("xon_offset {octets}")));
    parts.extend(profile.xoff.map(|octets| format!("xoff {octets}")));
    parts.push(match profile.limit {
        Limit::Dynamic(exponent) => format!("dynamic_th {exponent}"),
        Limit::Static(octets) => format!("static_th {octets}"),
    });
    format!("Buffer profile {}: {}.", profile.name, parts.join(", "))
}
