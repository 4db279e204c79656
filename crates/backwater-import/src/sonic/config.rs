//! What a database says of one switch: ports, memory, thresholds. Fields as the YANG models of sonic-buildimage
//! (`src/sonic-yang-models/yang-models`) have them; what they mean as `doc/qos/dynamically-headroom-calculation.md` of
//! sonic-net/SONiC and `doc/swss-schema.md` of sonic-swss say.

use super::database::{Database, Entry};
use super::qos::{class_map, dscps, pfc_classes, watchdog};
use crate::error::ImportError;
use crate::note::Notes;
use std::collections::BTreeMap;

/// Most ports: those of a chassis, generously.
const MOST_PORTS: usize = 4096;
/// Most pools. Their sizes, of 2^40 B each at most, can be summed up.
const MOST_POOLS: usize = 64;
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
}

/// `BUFFER_POOL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// File and line.
    pub at: (String, u64),
    /// Whether it holds what comes in.
    pub ingress: bool,
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
    /// Octets set aside.
    pub size: u64,
    /// Octets to which a priority group falls before it resumes.
    pub xon: u64,
    /// Octets that it falls below its limit before it resumes.
    pub xon_offset: Option<u64>,
    /// Octets of headroom. A profile that has them is lossless.
    pub xoff: Option<u64>,
    /// The limit.
    pub limit: Limit,
    /// Whether what finds no room is trimmed.
    pub trim: bool,
}

/// How much of its pool a priority group or a queue may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// 2^n times what is free.
    Dynamic(i32),
    /// So many octets.
    Static(u64),
}

impl Limit {
    /// Its alpha, if it is dynamic.
    pub fn alpha(self) -> Option<f64> {
        match self {
            Limit::Dynamic(exponent) => Some(2f64.powi(exponent)),
            Limit::Static(_) => None,
        }
    }
}

/// `WRED_PROFILE`, of green packets: all packets are green where nothing colours them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wred {
    /// Its name.
    pub name: String,
    /// Where marking begins, in octets.
    pub min: u64,
    /// From where everything is marked, in octets.
    pub max: u64,
    /// Probability just below `max`, in percent.
    pub percent: u64,
}

/// What a port has of the marking of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// The same.
    Same,
    /// Another profile.
    Other,
    /// None: it never marks.
    Never,
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
    /// Classes under PFC.
    pub lossless: Vec<u8>,
    /// Which ports have just these under PFC.
    pub pauses: Vec<bool>,
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
    /// Marking, and the classes whose queues mark.
    pub wred: Option<(Wred, Vec<u8>)>,
    /// What the ports have of it in the first lossless class that marks.
    pub marks: Vec<Marks>,
    /// The watchdog.
    pub watchdog: Option<Watchdog>,
    /// Which ports have just that one.
    pub watched: Vec<bool>,
    /// Weights of the queues by class: 0 is served first.
    pub weights: Option<[u64; 8]>,
    /// Profiles of the queues of the first port that has any.
    pub egress: [Option<String>; 8],
}

impl Config {
    /// What the database says. What it says without effect here goes into notes.
    pub fn read(database: &Database, notes: &mut Notes) -> Result<Config, ImportError> {
        let metadata = database.entry("DEVICE_METADATA", "localhost");
        let text = |name: &str| metadata.and_then(|entry| entry.get(name)).unwrap_or_default().to_owned();
        let mut ports = ports(database, notes)?;
        groups(database, &mut ports)?;
        let (lossless, pauses) = pfc_classes(database, &ports, notes)?;
        let map = |field: &str, table: &str| class_map(database, &ports, field, table);
        let (group_of, queue_of) =
            (map("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP")?, map("tc_to_queue_map", "TC_TO_QUEUE_MAP")?);
        let (watchdog, watched) = watchdog(database, &ports, notes)?;
        let mut config = Config {
            hwsku: text("hwsku"),
            hostname: text("hostname"),
            dscps: dscps(database, &ports)?,
            pools: pools(database)?,
            profiles: profiles(database)?,
            wred: None,
            marks: Vec::new(),
            watchdog,
            watched,
            weights: None,
            egress: queue_profiles(database, &ports)?,
            ports,
            lossless,
            pauses,
            group_of,
            queue_of,
        };
        config.queues(database, notes)?;
        skipped(database, notes);
        Ok(config)
    }

    /// The profile of a name.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The lossless profile of a port and a class.
    pub fn lossless_profile(&self, port: &Port, class: u8) -> Option<&Profile> {
        let group = self.group_of.get(usize::from(class)).copied().unwrap_or(class);
        let name = port.groups.get(usize::from(group))?.as_deref()?;
        self.profile(name).filter(|profile| profile.xoff.is_some_and(|xoff| xoff > 0))
    }
}

/// What nothing here reads: tables, with their lines, and fields.
fn skipped(database: &Database, notes: &mut Notes) {
    let shown: Vec<String> =
        database.skipped.iter().take(100).map(|(name, _, line)| format!("{name} ({line})")).collect();
    if let Some((_, file, line)) = database.skipped.first() {
        let more = if database.skipped.len() > 100 { " and more" } else { "" };
        let text = format!("tables without effect here: {}{more}", shown.join(", "));
        notes.ignored(file, Some(*line), text);
    }
    for (table, names, (file, line)) in database.unread() {
        notes.ignored(file, Some(line), format!("fields of {table} without effect here: {}", names.join(", ")));
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
            let metres = field.value.strip_suffix('m').and_then(|text| text.parse::<u64>().ok());
            let Some(metres) = metres.filter(|metres| *metres <= 1_000_000) else {
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
            notes.ignored(&entry.file, Some(entry.line), "a port that is not up");
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

fn groups(database: &Database, ports: &mut [Port]) -> Result<(), ImportError> {
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

fn queue_profiles(database: &Database, ports: &[Port]) -> Result<[Option<String>; 8], ImportError> {
    let mut found: [Option<String>; 8] = Default::default();
    for entry in database.table("BUFFER_QUEUE") {
        let (names, range) = spread(entry, 7)?;
        if !names.iter().any(|name| ports.iter().any(|port| port.name == *name)) {
            continue;
        }
        for queue in range {
            if let Some(own) = found.get_mut(usize::from(queue)).filter(|own| own.is_none()) {
                *own = entry.name("profile").map(str::to_owned);
            }
        }
    }
    Ok(found)
}

fn pools(database: &Database) -> Result<Vec<Pool>, ImportError> {
    let pool = |entry: &Entry| {
        Ok(Pool {
            name: entry.key.clone(),
            at: (entry.file.clone(), entry.line),
            ingress: entry.get("type") != Some("egress"),
            size: entry.size("size")?,
            xoff: entry.size("xoff")?.unwrap_or(0),
        })
    };
    if let Some(many) = database.table("BUFFER_POOL").nth(MOST_POOLS) {
        return Err(many.error(format!("more than {MOST_POOLS} pools")).hint("no switch has so many"));
    }
    database.table("BUFFER_POOL").map(pool).collect()
}

fn profiles(database: &Database) -> Result<Vec<Profile>, ImportError> {
    let profile = |entry: &Entry| {
        let exponent = entry.number("dynamic_th", -8, 7)?;
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
