//! What a database says of one switch: ports, memory, thresholds. Fields as the YANG models of sonic-buildimage
//! (`src/sonic-yang-models/yang-models`) have them; what they mean as `doc/qos/dynamically-headroom-calculation.md` of
//! sonic-net/SONiC and `doc/swss-schema.md` of sonic-swss say.

use super::buffers::{self, Pool, Profile};
use super::database::{Database, Entry};
use super::effects;
use super::lookup::{self, Lookup};
use super::qos::{class_map, dscps, pfc_classes, watchdog};
use crate::error::ImportError;
use crate::note::Notes;
use std::collections::BTreeMap;

/// Most ports: those of a chassis, generously.
const MOST_PORTS: usize = 4096;
/// SONiC's MTU where a port names none, and what a frame has beside it: `setPortMtu` of its orchagent.
const MTU: i64 = 9100;

/// A port that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Rate, in b/s.
    pub bps: u64,
    /// MTU, in octets.
    pub mtu: u64,
    /// Length of its cable, in metres.
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

/// `WRED_PROFILE` that marks green packets: all packets are green where nothing colours them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wred {
    /// Its name.
    pub name: String,
    /// File and line.
    pub at: (String, u64),
    /// Where marking begins, in octets.
    pub min: u64,
    /// From where everything is marked, in octets.
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

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Hardware SKU; may be empty.
    pub hwsku: String,
    /// Name of the switch.
    pub hostname: String,
    /// Ports that are up, in order.
    pub ports: Vec<Port>,
    /// Classes that are lossless at any port: PFC keeps them, and their priority group has headroom.
    pub lossless: Vec<u8>,
    /// DSCPs of each class.
    pub dscps: [Vec<u8>; 8],
    /// Priority group of each class.
    pub group_of: [u8; 8],
    /// Queue of each class.
    pub queue_of: [u8; 8],
    /// Pools.
    pub pools: Vec<Pool>,
    /// Profiles.
    pub profiles: Vec<Profile>,
    /// WRED profiles that mark.
    pub wreds: Vec<Wred>,
    /// The watchdog.
    pub watchdog: Option<Watchdog>,
    /// Which ports have just that one.
    pub watched: Vec<bool>,
    /// Weights of the queues by class: 0 is served first.
    pub weights: Option<[u64; 8]>,
    /// What the database says of what is used here, line by line.
    pub said: Vec<String>,
}

impl Config {
    /// What the database says, and a table of lossless profiles beside it. What they say without effect here goes into notes.
    pub fn read(database: &Database, lookup: Option<&Lookup>, notes: &mut Notes) -> Result<Config, ImportError> {
        let metadata = database.entry("DEVICE_METADATA", "localhost");
        let text = |name: &str| metadata.and_then(|entry| entry.get(name)).unwrap_or_default().to_owned();
        let mut ports = ports(database, notes)?;
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
            said: Vec::new(),
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

    /// The profile of a name.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The priority group of a class.
    pub fn group(&self, class: u8) -> u8 {
        self.group_of.get(usize::from(class)).copied().unwrap_or(class)
    }

    /// The profile of a priority group, if it has headroom.
    pub fn headroom_of(&self, port: &Port, group: u8) -> Option<&Profile> {
        let name = port.groups.get(usize::from(group))?.as_deref()?;
        self.profile(name).filter(|profile| profile.is_lossless())
    }

    /// Whether a port neither loses frames of a class nor lets them wait: PFC keeps it, and its priority group has headroom.
    pub fn is_lossless(&self, port: &Port, class: u8) -> bool {
        port.pfc.contains(&class) && self.headroom_of(port, self.group(class)).is_some()
    }

    /// How a port marks a class, if it does.
    pub fn wred(&self, port: &Port, class: u8) -> Option<&Wred> {
        let name = port.wred.get(usize::from(class))?.as_deref()?;
        self.wreds.iter().find(|wred| wred.name == name)
    }
}

/// Ports and numbers of a key as `Ethernet0,Ethernet4|3-4`.
pub(super) fn spread(entry: &Entry, most: u8) -> Result<(Vec<&str>, std::ops::RangeInclusive<u8>), ImportError> {
    // Of a chassis the key begins with host and ASIC.
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

fn ports(database: &Database, notes: &mut Notes) -> Result<Vec<Port>, ImportError> {
    let mut cables: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in database.table("CABLE_LENGTH") {
        for field in &entry.fields {
            let Some(metres) = lookup::metres(&field.value) else {
                let error = entry.error(format!("the cable of {} is no length", field.name)).line(field.line);
                return Err(error.value(&field.value).hint("as in 40m"));
            };
            // SONiC writes 0m for ports that are not used.
            if metres > 0 {
                cables.insert(&field.name, metres);
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
    if let Some(first) = all.first().filter(|_| !any_up) {
        notes.assumed(&first.file, Some(first.line), "all ports are up: admin_status says it of none");
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

/// The name of a file that says anything.
fn file_of(database: &Database) -> String {
    let first = super::database::TABLES.iter().find_map(|(table, _)| database.table(table).next());
    first.map(|entry| entry.file.clone()).or_else(|| database.skipped.first().map(|s| s.1.clone())).unwrap_or_default()
}
