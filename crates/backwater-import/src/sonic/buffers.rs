//! Buffers of a database: pools, profiles, and which priority groups and queues have them.

use super::database::{Database, Entry};
use super::ports::{Port, spread};
use crate::error::ImportError;
use std::collections::BTreeMap;

/// Most pools, so that the sum of their sizes, at most 2^40 B each, does not overflow.
const MOST_POOLS: usize = 64;
/// Exponents of `dynamic_th`.
const EXPONENTS: (i64, i64) = (-8, 7);

/// `BUFFER_POOL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// File and line.
    pub at: (String, u64),
    /// True if it holds arriving traffic.
    pub ingress: bool,
    /// True if its limits are static; `None`: not given.
    pub is_static: Option<bool>,
    /// Octets; `None`: the switch computes it.
    pub size: Option<u64>,
    /// Octets of the headroom that all priority groups share.
    pub xoff: u64,
}

/// `BUFFER_PROFILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// File and line.
    pub at: (String, u64),
    /// Its pool.
    pub pool: String,
    /// Reserved octets.
    pub size: u64,
    /// Octets to which a priority group falls before it resumes.
    pub xon: u64,
    /// Octets below its limit to which it falls before it resumes.
    pub xon_offset: Option<u64>,
    /// Octets of headroom. A profile with headroom is lossless.
    pub xoff: Option<u64>,
    /// The limit.
    pub limit: Limit,
    /// True if frames without room are trimmed.
    pub trim: bool,
}

/// The share of its pool that a priority group or a queue may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// 2^n times the free part.
    Dynamic(i32),
    /// So many octets.
    Static(u64),
}

impl Profile {
    /// Returns whether it has headroom, and so is lossless.
    pub fn is_lossless(&self) -> bool {
        self.xoff.is_some_and(|xoff| xoff > 0)
    }
}

impl Limit {
    /// A threshold of a table, as in `dynamic_th` or `static_th`. `None`: there is no such limit.
    pub fn of_threshold(threshold: i64, is_static: bool) -> Option<Limit> {
        match is_static {
            true => u64::try_from(threshold)
                .ok()
                .filter(|octets| *octets <= super::database::MOST_OCTETS)
                .map(Limit::Static),
            false => (EXPONENTS.0..=EXPONENTS.1).contains(&threshold).then_some(Limit::Dynamic(threshold as i32)),
        }
    }

    /// Its alpha, if it is dynamic.
    pub fn alpha(self) -> Option<f64> {
        match self {
            Limit::Dynamic(exponent) => Some(2f64.powi(exponent)),
            Limit::Static(_) => None,
        }
    }
}

/// Sets the profiles of the ports' priority groups.
pub fn groups(database: &Database, ports: &mut [Port]) -> Result<(), ImportError> {
    let numbers: BTreeMap<String, usize> = ports.iter().map(|port| port.name.clone()).zip(0..).collect();
    for entry in database.table("BUFFER_PG") {
        let (names, range) = spread(entry, 7)?;
        let profile = entry.name("profile").filter(|name| *name != "NULL");
        for port in names.iter().filter_map(|name| numbers.get(*name)) {
            for group in range.clone() {
                if let Some(own) = ports.get_mut(*port).and_then(|port| port.groups.get_mut(usize::from(group))) {
                    *own = profile.map(str::to_owned);
                }
            }
        }
    }
    Ok(())
}

/// Sets the profiles of the ports' queues.
pub fn queues(database: &Database, ports: &mut [Port]) -> Result<(), ImportError> {
    let numbers: BTreeMap<String, usize> = ports.iter().map(|port| port.name.clone()).zip(0..).collect();
    for entry in database.table("BUFFER_QUEUE") {
        let (names, range) = spread(entry, 7)?;
        for port in names.iter().filter_map(|name| numbers.get(*name)) {
            for queue in range.clone() {
                if let Some(own) = ports.get_mut(*port).and_then(|port| port.queues.get_mut(usize::from(queue))) {
                    *own = entry.name("profile").map(str::to_owned);
                }
            }
        }
    }
    Ok(())
}

/// All pools.
pub fn pools(database: &Database) -> Result<Vec<Pool>, ImportError> {
    let pool = |entry: &Entry| {
        Ok(Pool {
            name: entry.key.clone(),
            at: (entry.file.clone(), entry.line),
            ingress: entry.choice("type", &["ingress", "egress", "both"])? != Some("egress"),
            is_static: entry.choice("mode", &["dynamic", "static"])?.map(|mode| mode == "static"),
            size: entry.size("size")?,
            xoff: entry.size("xoff")?.unwrap_or(0),
        })
    };
    if let Some(many) = database.table("BUFFER_POOL").nth(MOST_POOLS) {
        return Err(many.error(format!("more than {MOST_POOLS} pools")).hint("no switch has so many"));
    }
    database.table("BUFFER_POOL").map(pool).collect()
}

/// All profiles.
pub fn profiles(database: &Database) -> Result<Vec<Profile>, ImportError> {
    let profile = |entry: &Entry| {
        let exponent = entry.number("dynamic_th", EXPONENTS.0, EXPONENTS.1)?;
        let limit = match (exponent, entry.size("static_th")?) {
            (Some(exponent), None) => Limit::Dynamic(exponent as i32),
            (None, Some(size)) => Limit::Static(size),
            (Some(_), Some(_)) => return Err(entry.error("has dynamic_th and static_th").hint("one of them")),
            (None, None) => Limit::Dynamic(0),
        };
        Ok(Profile {
            name: entry.key.clone(),
            at: (entry.file.clone(), entry.line),
            pool: entry.name("pool").unwrap_or_default().to_owned(),
            size: entry.size("size")?.unwrap_or(0),
            xon: entry.size("xon")?.unwrap_or(0),
            xon_offset: entry.size("xon_offset")?,
            xoff: entry.size("xoff")?,
            limit,
            trim: entry.get("packet_discard_action") == Some("trim"),
        })
    };
    database.table("BUFFER_PROFILE").map(profile).collect()
}
