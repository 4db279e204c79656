//! `pg_profile_lookup.ini`: the lossless profiles of a switch by speed and length of the cable, as read by `buffermgrd` of sonic-swss
//! (`cfgmgr/buffermgr.cpp`).
//!
//! ```text
//! # speed cable size xon xoff threshold [xon_offset]      Mb/s, metres, octets; a power of two, or octets in a static pool
//! 100000 40m 18432 18432 60320 -1 2496
//! ```
//!
//! From it a switch makes `pg_lossless_100000_40m_profile` of `ingress_lossless_pool`, unless its database has that already, for the
//! priority groups of `pfc_enable` at each port with this speed and cable.

use super::buffers::{Limit, Pool, Profile};
use super::config::Config;
use super::database::{Entry, MOST_OCTETS};
use super::ports::metres;
use super::unlike;
use crate::error::ImportError;
use crate::note::{NoteKind, Notes};
use crate::source::{Head, Source};
use std::collections::{BTreeMap, BTreeSet};

/// The pool of its profiles.
const POOL: &str = "ingress_lossless_pool";
/// Columns of a row; the last may be left out.
const COLUMNS: [&str; 7] = ["speed", "cable", "size", "xon", "xoff", "threshold", "xon_offset"];

/// A speed in Mb/s and a length in metres.
type Key = (u64, u64);

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    line: u64,
    size: u64,
    xon: u64,
    xoff: u64,
    /// A power of two, or octets.
    threshold: i64,
    xon_offset: Option<u64>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    file: String,
    rows: BTreeMap<Key, Row>,
}

/// Returns whether a file is such a table: its first row begins with a speed and a length.
pub fn recognise(head: &Head) -> bool {
    let lines = head.lines();
    let row = lines.iter().map(|line| without_remark(line)).find(|line| !line.is_empty());
    let mut words = row.unwrap_or_default().split_whitespace();
    let speed = words.next().is_some_and(|word| word.parse::<u64>().is_ok());
    speed && words.next().and_then(metres).is_some()
}

fn without_remark(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim()
}

impl Lookup {
    /// Reads a table.
    ///
    /// # Errors
    ///
    /// A row with other columns, or an invalid value, with its line.
    pub fn read(source: &Source, notes: &mut Notes) -> Result<Lookup, ImportError> {
        let mut lookup = Lookup { file: source.name().to_owned(), rows: BTreeMap::new() };
        for (text, line) in source.text()?.lines().zip(1u64..) {
            let text = without_remark(text);
            if text.is_empty() {
                continue;
            }
            let (key, row) = lookup.row(text, line)?;
            if let Some(earlier) = lookup.rows.insert(key, row) {
                let text =
                    format!("the row of {} Mb/s and {}m in place of that of line {}", key.0, key.1, earlier.line);
                notes.assumed(source.name(), Some(line), text);
            }
        }
        if lookup.rows.is_empty() {
            return Err(source.error("it has no row").hint(format!("a row is {}", COLUMNS.join(" "))));
        }
        Ok(lookup)
    }

    fn row(&self, text: &str, line: u64) -> Result<(Key, Row), ImportError> {
        let error = |reason: String| ImportError::new(reason).file(&self.file).line(line);
        let words: Vec<&str> = text.split_whitespace().collect();
        if !(6..=7).contains(&words.len()) {
            let reason = format!("a row of {}", unlike::count(words.len(), "column"));
            return Err(error(reason).hint(format!("6 or 7: {}; the last may be left out", COLUMNS.join(" "))));
        }
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        let wrong = |at: usize, what: &str| {
            error(format!("{} is no {what}", COLUMNS.get(at).copied().unwrap_or_default())).value(word(at))
        };
        let speed = word(0).parse::<u64>().ok().filter(|speed| (1..=100_000_000).contains(speed));
        let octets = |at: usize| {
            let octets = word(at).parse::<u64>().ok().filter(|octets| *octets <= MOST_OCTETS);
            octets.ok_or_else(|| wrong(at, "number of octets").hint("as in 18432"))
        };
        let key = (
            speed.ok_or_else(|| wrong(0, "speed in Mb/s").hint("as in 100000"))?,
            metres(word(1)).ok_or_else(|| wrong(1, "length").hint("as in 40m"))?,
        );
        let row = Row {
            line,
            size: octets(2)?,
            xon: octets(3)?,
            xoff: octets(4)?,
            threshold: word(5).parse().map_err(|_| wrong(5, "number").hint("as in -1: 2 to that power"))?,
            xon_offset: if words.len() > 6 { Some(octets(6)?) } else { None },
        };
        Ok((key, row))
    }

    /// Gives profiles to the priority groups that PFC keeps and that have no profile in the database.
    pub fn fill(&self, config: &mut Config, metadata: Option<&Entry>, notes: &mut Notes) -> Result<(), ImportError> {
        if metadata.and_then(|entry| entry.get("buffer_model")) == Some("dynamic") {
            let text = "buffer_model is dynamic: such a switch computes its profiles and does not read this table; here it does";
            notes.differs(&self.file, None, text);
        }
        let mut used: BTreeSet<Key> = BTreeSet::new();
        // Ports by the key without a row, and by the profile that they keep.
        let mut missing: BTreeMap<Option<Key>, Vec<usize>> = BTreeMap::new();
        let mut kept: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for number in 0..config.ports.len() {
            let Some(port) = config.ports.get(number) else { continue };
            let key = port.cable_m.map(|metres| (port.bps / 1_000_000, metres));
            for group in port.pfc.clone() {
                let slot = usize::from(group);
                let own = config.ports.get(number).and_then(|port| port.groups.get(slot)).and_then(Option::as_deref);
                let name = key.map(|(speed, metres)| format!("pg_lossless_{speed}_{metres}m_profile"));
                if let Some(own) = own.filter(|own| config.profile(own).is_some()) {
                    if Some(own) != name.as_deref() {
                        kept.entry(own.to_owned()).or_default().push(number);
                    }
                    continue;
                }
                let (Some(name), Some((key, row))) = (name, key.and_then(|key| Some((key, self.rows.get(&key)?))))
                else {
                    missing.entry(key).or_default().push(number);
                    continue;
                };
                used.insert(key);
                if config.profile(&name).is_none() {
                    let profile = self.profile(&name, row, config, notes)?;
                    config.profiles.push(profile);
                }
                if let Some(own) = config.ports.get_mut(number).and_then(|port| port.groups.get_mut(slot)) {
                    *own = Some(name);
                }
            }
        }
        let named = |mut ports: Vec<usize>| {
            ports.dedup();
            let names: Vec<&str> = ports.iter().filter_map(|n| Some(config.ports.get(*n)?.name.as_str())).collect();
            (unlike::of_all(&names, config.ports.len()), names)
        };
        for (key, ports) in missing {
            let (at, names) = named(ports);
            let text = match key {
                Some((speed, metres)) => {
                    format!("no row for {speed} Mb/s and {metres}m of {at}: such ports get no profile")
                }
                None => format!("no length in CABLE_LENGTH for {at}: without one a port gets no profile of this table"),
            };
            notes.some(NoteKind::Differs, &self.file, None, &names, text);
        }
        for (name, ports) in kept {
            let (at, names) = named(ports);
            let text = format!("{at} keep {name} of the database, which has headroom of its own or none");
            notes.some(NoteKind::Assumed, &self.file, None, &names, text);
        }
        for (_, row) in self.rows.iter().filter(|(key, _)| !used.contains(key)) {
            for name in COLUMNS.iter().skip(2) {
                notes.unread(&self.file, Some(row.line), name, "columns of rows whose speed and cable no port has");
            }
        }
        Ok(())
    }

    fn profile(&self, name: &str, row: &Row, config: &Config, notes: &mut Notes) -> Result<Profile, ImportError> {
        let pool = self.pool(config, notes)?;
        // A limit of octets is beyond all powers of two.
        let is_static = pool.is_static.unwrap_or(Limit::of_threshold(row.threshold, false).is_none());
        if pool.is_static.is_none() {
            let limits = if is_static { "static" } else { "dynamic" };
            let text = format!("{} has {limits} limits: its mode is not said", pool.name);
            notes.assumed(&pool.at.0, Some(pool.at.1), text);
        }
        let limit = Limit::of_threshold(row.threshold, is_static).ok_or_else(|| {
            let what =
                if is_static { "number of octets, and the pool's mode is static" } else { "power of two from -8 to 7" };
            let error = ImportError::new(format!("threshold is no {what}")).file(&self.file).line(row.line);
            error.value(row.threshold.to_string()).hint(format!("the mode of {} decides what it is", pool.name))
        })?;
        Ok(Profile {
            name: name.to_owned(),
            at: (self.file.clone(), row.line),
            pool: pool.name.clone(),
            size: row.size,
            xon: row.xon,
            xon_offset: row.xon_offset,
            xoff: Some(row.xoff),
            limit,
            trim: false,
        })
    }

    /// The pool of its profiles: the one of that name, or the only one of what comes in.
    fn pool<'a>(&self, config: &'a Config, notes: &mut Notes) -> Result<&'a Pool, ImportError> {
        if let Some(pool) = config.pools.iter().find(|pool| pool.name == POOL) {
            return Ok(pool);
        }
        let ingress: Vec<&Pool> = config.pools.iter().filter(|pool| pool.ingress).collect();
        let [pool] = ingress.as_slice() else {
            let error = ImportError::new(format!("its profiles draw from {POOL}, and there is no such pool"));
            return Err(error.file(&self.file).hint("give the file that has BUFFER_POOL beside it"));
        };
        let text = format!("its profiles draw from {POOL}, which is not there: here from {}, the only pool", pool.name);
        notes.assumed(&self.file, None, text);
        Ok(pool)
    }
}
