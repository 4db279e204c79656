//! What the scenarios are made of: the memory of the switch and its ports in groups that have the same headroom.
//!
//! ```text
//! independent headroom (no BUFFER_POOL.xoff): a priority group has its profile's size to itself, of it xoff as headroom
//! shared headroom pool: it has its profile's size to itself; all share BUFFER_POOL.xoff, each up to its profile's xoff
//! ```
//!
//! (SONiC, `doc/qos/dynamically-headroom-calculation.md`, assumptions.) Memory in use is then at most
//! `size + xoff` of the pools and what the profiles set aside.

use super::config::{Config, Limit, Pool, Port, Profile};
use super::{devices, unlike};
use crate::error::ImportError;
use crate::note::Notes;
use crate::options::Options;

/// Propagation of light in a cable, in ps for a metre: two thirds of its speed in vacuum.
const PS_PER_METRE: u64 = 5000;
/// A cable whose length is not said, in metres: SONiC's `default_cable`.
const CABLE_M: u64 = 5;
/// What a frame has beside the MTU: Ethernet header, VLAN tag, FCS (`setPortMtu` of SONiC's orchagent).
const BESIDE_MTU: u64 = 22;

/// Ports with the same rate, cable and buffer profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Their numbers.
    pub ports: Vec<usize>,
    /// Rate, in b/s.
    pub bps: u64,
    /// Delay of the cable, in ps.
    pub delay_ps: u64,
    /// Their lossless profile.
    pub profile: Profile,
    /// Headroom of a priority group in octets, when all want theirs at once.
    pub headroom: u64,
    /// What a priority group has to itself beside headroom, in octets.
    pub reserve: u64,
}

/// The memory of a switch, in octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// All of it, and who says so.
    pub all: Option<(u64, String)>,
    /// The sizes of the pools of what comes in.
    pub size: u64,
    /// Their shared headroom.
    pub xoff: u64,
    /// What the profiles of all priority groups set aside.
    pub reserved: u64,
    /// Whether `size` has `xoff` in it.
    pub inside: bool,
    /// What the lossless groups share, as the configuration has it.
    pub configured: u64,
    /// The same, as far as there is memory for it.
    pub shared: u64,
}

impl Memory {
    /// Most that may be in use.
    pub fn need(&self) -> u64 {
        self.size + self.reserved + if self.inside { 0 } else { self.xoff }
    }

    /// Whether there is so much.
    pub fn fits(&self) -> Option<bool> {
        self.all.as_ref().map(|(all, _)| self.need() <= *all)
    }
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the database says.
    pub config: Config,
    /// The pool of lossless traffic, or of all.
    pub pool: Pool,
    /// The memory.
    pub memory: Memory,
    /// Groups of lossless ports, the largest first. None: nothing is lossless.
    pub groups: Vec<Group>,
    /// Longest frame, in octets.
    pub frame: u64,
}

impl Plan {
    /// The plan of a configuration.
    pub fn of(mut config: Config, file: &str, options: &Options, notes: &mut Notes) -> Result<Plan, ImportError> {
        let frame = config.ports.iter().map(|port| port.mtu).max().unwrap_or(0) + BESIDE_MTU;
        notes.assumed(file, None, format!("the longest frame is the largest MTU and {BESIDE_MTU} B, as SONiC sets it"));
        if let Some(port) = config.ports.iter().find(|port| port.cable_m.is_none()) {
            let text = format!("cables of {CABLE_M} m where CABLE_LENGTH says nothing, as of {}", port.name);
            notes.assumed(file, None, text);
        }
        let mut groups = groups(&config, file, notes);
        if groups.is_empty() && !config.lossless.is_empty() {
            let text = "pfc_enable: no priority group has a profile with xoff, and without headroom nothing is lossless. Where the \
                        switch computes them they are not in its database, but `show buffer information` lists them: a second file \
                        with BUFFER_PROFILE and BUFFER_PG adds them";
            notes.ignored(file, None, text);
            config.lossless.clear();
        }
        let pool = pool(&config, &groups, file)?;
        let memory = memory(&config, &pool, &groups, file, options, notes)?;
        let sharers: u64 = groups.iter().map(|group| (group.ports.len() * config.lossless.len()) as u64).sum();
        for group in &mut groups {
            let xoff = group.profile.xoff.unwrap_or(0);
            (group.headroom, group.reserve) = match pool.xoff {
                0 => (xoff.min(group.profile.size), set_aside(&pool, &group.profile)),
                all => (xoff.min(all / sharers.max(1)), set_aside(&pool, &group.profile)),
            };
            let (name, (file, line)) = (&group.profile.name, &group.profile.at);
            if pool.xoff == 0 && group.profile.size < xoff {
                let text = format!(
                    "{name} has an xoff of {xoff} B and sets aside {}: without a shared headroom pool that is all its headroom",
                    group.profile.size
                );
                notes.differs(file, Some(*line), text);
            }
            if pool.xoff > 0 && group.headroom < xoff {
                let text = format!(
                    "{name}: {} {} {} B of headroom. Each has {} B when all want theirs at once, and never more here; the switch \
                     lets one of them take up to {xoff} B",
                    unlike::count(usize::try_from(sharers).unwrap_or(usize::MAX), "priority group"),
                    if sharers == 1 { "has" } else { "share" },
                    pool.xoff,
                    group.headroom
                );
                notes.differs(file, Some(*line), text);
            }
        }
        Ok(Plan { config, pool, memory, groups, frame })
    }

    /// Whether a port has the PFC of the scenario.
    pub fn pauses(&self, port: usize) -> bool {
        self.config.pauses.get(port).copied().unwrap_or(true)
    }

    /// Those of some ports that are so, by name.
    pub fn names_of(&self, ports: &[usize], is: impl Fn(usize) -> bool) -> Vec<&str> {
        let of = |number: &usize| self.config.ports.get(*number).map(|port| port.name.as_str());
        ports.iter().filter(|number| is(**number)).filter_map(of).collect()
    }

    /// The group that the scenario has its values from.
    pub fn main(&self) -> Option<&Group> {
        self.groups.first()
    }

    /// What a priority group of a profile has to itself beside headroom, in octets.
    pub fn set_aside(&self, profile: &Profile) -> u64 {
        set_aside(&self.pool, profile)
    }

    /// The delay of a port's cable, in ps.
    pub fn delay(port: &Port) -> u64 {
        port.cable_m.unwrap_or(CABLE_M) * PS_PER_METRE
    }

    /// What the priority groups of so many ports may hold in all, in octets: what is shared and what each has to itself.
    pub fn held(&self, group: &Group, ports: u64) -> u64 {
        let classes = self.config.lossless.len() as u64;
        self.memory.shared + (group.headroom + group.reserve) * ports * classes
    }

    /// What an egress queue holds when so many ports that fill it at once are paused, in octets.
    ///
    /// ```text
    /// x = alpha (S - n x), so n x = n alpha S / (1 + n alpha); and what each has set aside is not counted
    /// ```
    pub fn queue_at_pause(&self, group: &Group, ports: u64) -> u64 {
        let n = ports as f64;
        let shared = match group.profile.limit {
            Limit::Dynamic(_) => {
                let alpha = alpha(group);
                (n * alpha * self.memory.shared as f64 / (1.0 + n * alpha)) as u64
            }
            Limit::Static(octets) => octets.saturating_mul(ports).min(self.memory.shared),
        };
        shared + group.reserve * ports
    }
}

fn set_aside(pool: &Pool, profile: &Profile) -> u64 {
    match pool.xoff {
        0 => profile.size.saturating_sub(profile.xoff.unwrap_or(0)),
        _ => profile.size,
    }
}

/// Alpha of a group; 1 where its limit is static. The simulator's largest is 64.
pub fn alpha(group: &Group) -> f64 {
    group.profile.limit.alpha().unwrap_or(1.0).min(64.0)
}

fn groups(config: &Config, file: &str, notes: &mut Notes) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let Some(class) = config.lossless.first() else { return groups };
    for (number, port) in config.ports.iter().enumerate() {
        let Some(profile) = config.lossless_profile(port, *class) else { continue };
        for other in config.lossless.iter().skip(1) {
            match config.lossless_profile(port, *other) {
                Some(own) if own == profile => {}
                _ => {
                    let text =
                        format!("class {other} has another buffer profile than class {class}: here it has the same");
                    notes.differs(file, None, text);
                }
            }
        }
        let delay_ps = Plan::delay(port);
        let alike = |group: &&mut Group| {
            group.bps == port.bps && group.delay_ps == delay_ps && group.profile.name == profile.name
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.ports.push(number),
            None => groups.push(Group {
                ports: vec![number],
                bps: port.bps,
                delay_ps,
                profile: profile.clone(),
                headroom: 0,
                reserve: 0,
            }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.ports.len()));
    groups
}

fn pool(config: &Config, groups: &[Group], file: &str) -> Result<Pool, ImportError> {
    let named = |name: &str| config.pools.iter().find(|pool| pool.name == name);
    if let Some(group) = groups.first() {
        let (from, line) = &group.profile.at;
        return named(&group.profile.pool).cloned().ok_or_else(|| {
            let reason = format!("{} draws from {}, and there is no such pool", group.profile.name, group.profile.pool);
            ImportError::new(reason).file(from).line(*line).hint("give the file that has BUFFER_POOL beside it")
        });
    }
    let used = config.ports.iter().flat_map(|port| &port.groups).flatten().find_map(|name| config.profile(name));
    let pool = used.and_then(|profile| named(&profile.pool)).or_else(|| config.pools.iter().find(|pool| pool.ingress));
    pool.cloned().ok_or_else(|| {
        let hint = "give the file that has BUFFER_POOL beside it: several files are read as one";
        ImportError::new("there is no buffer pool of what comes in").file(file).hint(hint)
    })
}

fn memory(
    config: &Config,
    pool: &Pool,
    groups: &[Group],
    file: &str,
    options: &Options,
    notes: &mut Notes,
) -> Result<Memory, ImportError> {
    let device = devices::of(&config.hwsku);
    let all = match (options.memory, device) {
        (Some(octets), _) => Some((octets, "--memory".to_owned())),
        (None, Some(device)) => Some((device.memory, format!("of {}", config.hwsku))),
        (None, None) => None,
    };
    let set_aside = |name: &String| config.profile(name).map_or(0, |profile| profile.size);
    let reserved: u64 = config.ports.iter().flat_map(|port| &port.groups).flatten().map(set_aside).sum();
    let inside = device.is_some_and(|device| device.inside);
    let ingress = || config.pools.iter().filter(|pool| pool.ingress);
    let xoff: u64 = ingress().map(|pool| pool.xoff).sum();
    let others = || ingress().filter(|other| other.name != pool.name);
    let hint = "--memory says it, as in --memory \"64 MB\"";
    let size = match (pool.size, &all) {
        (Some(size), _) => size,
        // What SONiC computes: all that is not set aside.
        (None, Some((all, who))) => {
            let (from, line) = &pool.at;
            let aside = reserved.saturating_add(xoff);
            // A pool that no priority group draws from holds nothing.
            let drawn = |other: &Pool| {
                let mut profiles = config.ports.iter().flat_map(|port| &port.groups).flatten();
                profiles.any(|name| config.profile(name).is_some_and(|profile| profile.pool == other.name))
            };
            let others: u64 = others().filter(|other| drawn(other)).filter_map(|other| other.size).sum();
            let size = all.saturating_sub(aside).saturating_sub(others);
            if size == 0 {
                let reason = format!(
                    "{} has no size, and of the memory of {all} B ({who}) nothing is left: {aside} B are set aside, other pools have \
                     {others} B",
                    pool.name
                );
                return Err(ImportError::new(reason).file(from).line(*line).hint(hint));
            }
            let and = if others > 0 { " and other pools" } else { "" };
            let text = format!("{} has {size} B: the memory without what is set aside{and}", pool.name);
            notes.assumed(from, Some(*line), text);
            size
        }
        (None, None) => {
            let (from, line) = &pool.at;
            let reason = format!("{} has no size, and the memory of the switch is not known", pool.name);
            return Err(ImportError::new(reason).file(from).line(*line).hint(hint));
        }
    };
    let others: u64 = others().filter_map(|other| other.size).sum();
    let configured = if inside { size.saturating_sub(xoff) } else { size };
    let mut memory = Memory { all, size: size + others, xoff, reserved, inside, configured, shared: configured };
    if let Some((all, _)) = &memory.all
        && memory.need() > *all
    {
        memory.shared = configured.min(all.saturating_sub(others + reserved + xoff)).max(1);
    }
    if others > 0 && !groups.is_empty() {
        let text = format!("lossy traffic has a pool of its own: here all share {}", pool.name);
        notes.differs(file, None, text);
    }
    Ok(memory)
}
