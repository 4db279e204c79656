//! Reads a database for one switch, table by table. Fields follow the YANG models of sonic-buildimage
//! (`src/sonic-yang-models/yang-models`), their meanings `doc/qos/dynamically-headroom-calculation.md` of sonic-net/SONiC and
//! `doc/swss-schema.md` of sonic-swss.

use super::config::Config;
use super::database::Database;
use super::lookup::Lookup;
use super::qos::{class_map, dscps, pfc_classes, watchdog};
use super::{buffers, effects, ports};
use crate::error::ImportError;
use crate::note::Notes;

/// Returns the settings of the database, and of a table of lossless profiles beside it. Settings without effect go into notes.
///
/// # Errors
///
/// An invalid value, with its line; no port.
pub fn config(database: &Database, lookup: Option<&Lookup>, notes: &mut Notes) -> Result<Config, ImportError> {
    let metadata = database.entry("DEVICE_METADATA", "localhost");
    let text = |name: &str| metadata.and_then(|entry| entry.get(name)).unwrap_or_default().to_owned();
    let mut ports = ports::read(database, notes)?;
    buffers::groups(database, &mut ports)?;
    buffers::queues(database, &mut ports)?;
    pfc_classes(database, &mut ports, notes)?;
    let mut map = |field: &str, table: &str| class_map(database, &ports, field, table, notes);
    let (group_of, queue_of) =
        (map("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP")?, map("tc_to_queue_map", "TC_TO_QUEUE_MAP")?);
    let (watchdog, watched) = watchdog(database, &ports, notes)?;
    let mut config = Config {
        hwsku: text("hwsku"),
        hostname: text("hostname"),
        dscps: dscps(database, &ports, notes)?,
        pools: buffers::pools(database)?,
        profiles: buffers::profiles(database)?,
        wreds: Vec::new(),
        watchdog,
        watched,
        weights: None,
        reported: Vec::new(),
        ports,
        lossless: Vec::new(),
        group_of,
        queue_of,
    };
    if let Some(lookup) = lookup {
        lookup.fill(&mut config, metadata, notes)?;
    }
    config.lossless =
        (0..8u8).filter(|class| config.ports.iter().any(|port| config.is_lossless(port, *class))).collect();
    config.queues(database, notes)?;
    effects::note(&mut config, database, notes);
    Ok(config)
}
