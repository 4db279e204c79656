//! The data for the scenarios: the memory of the switch and its ports in groups with the same headroom.
//!
//! ```text
//! independent headroom (no BUFFER_POOL.xoff): a priority group has its profile's size to itself, of it xoff as headroom
//! shared headroom pool: it has its profile's size to itself; all share BUFFER_POOL.xoff, each up to its profile's xoff
//! ```
//!
//! (SONiC, `doc/qos/dynamically-headroom-calculation.md`, assumptions.) The memory in use is then at most `size + xoff` of the pools and
//! the reserves of the profiles.

use super::buffers::{Limit, Pool, Profile};
use super::chip::{self, Chip};
use super::config::Config;
use super::frames::MOST_EXPONENT;
use super::lossless::level;
use super::ports::{CABLE_M, Port};
use super::qos::Wred;
use super::{devices, unlike};
use crate::error::ImportError;
use crate::note::Notes;
use crate::options::{Asked, Options};
use crate::units::{rate, time};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Propagation of light in a cable, in ps for a metre: two thirds of its speed in vacuum.
const PS_PER_METRE: u64 = 5000;
/// Octets of a frame beside the MTU: Ethernet header, VLAN tag, FCS (`setPortMtu` of SONiC's orchagent).
const BESIDE_MTU: u64 = 22;

/// Lossless ports and classes with the same rate, cable and buffer profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The numbers of its ports.
    pub ports: Vec<usize>,
    /// Its classes.
    pub classes: Vec<u8>,
    /// The number of their priority groups.
    pub count: u64,
    /// Rate, in b/s.
    pub bps: u64,
    /// Delay of the cable, in ps.
    pub delay_ps: u64,
    /// Their lossless profile.
    pub profile: Profile,
    /// Headroom of a priority group in octets, when all take theirs at once.
    pub headroom: u64,
    /// Reserve of a priority group beside headroom, in octets.
    pub reserve: u64,
    /// The time until a port stops after a pause has arrived.
    pub response: Response,
}

impl Group {
    /// Returns its description: `pg_lossless at 100 Gb/s over 200 ns`.
    pub fn about(&self) -> String {
        format!("{} at {} over {}", self.profile.name, rate(self.bps), time(self.delay_ps))
    }

    /// The length of the cable, in metres.
    pub fn metres(&self) -> u64 {
        self.delay_ps / PS_PER_METRE
    }

    /// Returns the errors of a run in which it has the values of another group, each with its direction.
    fn as_another(&self, other: &Group) -> Vec<String> {
        let mut parts = Vec::new();
        let mut sizes = |what: &str, own: u64, there: u64, less: &str, more: &str| {
            if own != there {
                parts.push(format!(
                    "{there} B of {what} instead of {own} B, so that {}",
                    if there < own { less } else { more }
                ));
            }
        };
        let (drops, holds) =
            ("the run drops frames that the switch holds", "the run holds frames that the switch drops");
        sizes("headroom", self.headroom, other.headroom, drops, holds);
        sizes("memory of their own", self.reserve, other.reserve, "the run pauses earlier", "the run pauses later");
        match (self.profile.limit, other.profile.limit) {
            (Limit::Static(own), Limit::Static(there)) => {
                sizes("static_th", own, there, "the run pauses earlier", "the run pauses later");
            }
            (Limit::Dynamic(own), Limit::Dynamic(there)) if own == there => {}
            (Limit::Dynamic(own), Limit::Dynamic(there)) => {
                let when = if there < own { "earlier" } else { "later" };
                parts.push(format!("dynamic_th {there} instead of {own}, so that the run pauses {when}"));
            }
            (Limit::Static(own), Limit::Dynamic(there)) => {
                parts.push(format!(
                    "dynamic_th {there} instead of static_th {own} B, so that the run pauses at another level"
                ));
            }
            (Limit::Dynamic(own), Limit::Static(there)) => {
                parts.push(format!(
                    "static_th {there} B instead of dynamic_th {own}, so that the run pauses at another level"
                ));
            }
        }
        parts
    }

    /// Returns the question about its headroom, with a time from the receipt of a pause to the stop.
    pub fn asked(&self, frame: u64, cell: u64, response_ps: u64) -> Asked {
        Asked { bps: self.bps, delay_ps: self.delay_ps, frame, response_ps, cell }
    }
}

/// A time from the receipt of a pause to the stop, in ps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// Given by the caller.
    InputFiles(u64),
    /// The longest that IEEE 802.3 allows at the rate.
    Bound(u64),
    /// There is no bound.
    Unknown,
}

impl Response {
    /// The time, in ps; 0 if unknown.
    pub fn ps(self) -> u64 {
        match self {
            Response::InputFiles(ps) | Response::Bound(ps) => ps,
            Response::Unknown => 0,
        }
    }

    /// Returns its origin, for ports of a rate.
    pub fn why(self, bps: u64) -> String {
        match self {
            Response::InputFiles(_) => "as --response says".to_owned(),
            Response::Bound(_) => format!("the longest that IEEE 802.3 allows at {}", rate(bps)),
            Response::Unknown => format!("no bound of IEEE 802.3 is known for {}", rate(bps)),
        }
    }
}

/// The memory of a switch, in octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// All of it, and its origin.
    pub all: Option<(u64, String)>,
    /// The sizes of the pools of arriving traffic.
    pub size: u64,
    /// Their shared headroom.
    pub xoff: u64,
    /// The reserves in the profiles of all priority groups.
    pub reserved: u64,
    /// True if `size` includes `xoff`.
    pub inside: bool,
    /// True if `size` includes all that is guaranteed, too: that of priority groups and of queues.
    pub whole: bool,
    /// The shared part of the lossless groups, as configured.
    pub configured: u64,
    /// The same, as far as there is memory for it.
    pub shared: u64,
}

impl Memory {
    /// Most memory that may be in use.
    pub fn need(&self) -> u64 {
        let reserved = if self.whole { 0 } else { self.reserved };
        let xoff = if self.inside { 0 } else { self.xoff };
        self.size + reserved + xoff
    }

    /// Returns whether the memory suffices.
    pub fn fits(&self) -> Option<bool> {
        self.all.as_ref().map(|(all, _)| self.need() <= *all)
    }
}

/// The complete plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The content of the database.
    pub config: Config,
    /// The pool of lossless traffic, or of all.
    pub pool: Pool,
    /// The memory.
    pub memory: Memory,
    /// The chip, if it is known.
    pub chip: Option<Chip>,
    /// Lossless groups, the largest first; among equal ones the one with the least xoff. Empty: nothing is lossless.
    pub groups: Vec<Group>,
    /// Longest frame, in octets.
    pub frame: u64,
}

impl Plan {
    /// The plan of a configuration.
    pub fn of(config: Config, file: &str, options: &Options, notes: &mut Notes) -> Result<Plan, ImportError> {
        let frame = config.ports.iter().map(|port| port.mtu).max().unwrap_or(0) + BESIDE_MTU;
        notes.assumed(file, None, format!("the longest frame is the largest MTU and {BESIDE_MTU} B, as SONiC sets it"));
        let mut groups = groups(&config, options);
        shared_groups(&config, file, notes);
        let pool = pool(&config, &groups, file)?;
        let chip = chip::of(&config.hwsku, options)?;
        let memory = memory(&config, &pool, &groups, chip.as_ref(), file, options, notes)?;
        for group in &mut groups {
            let own = config.pools.iter().find(|own| own.name == group.profile.pool).unwrap_or(&pool);
            group.share(own, &config.wants(&own.name, slices(chip.as_ref())), chip.is_some(), notes);
            let (name, (from, line)) = (&group.profile.name, &group.profile.at);
            if own.name != pool.name {
                let text = format!("{name} draws from {}: here all share {}", own.name, pool.name);
                notes.differs(from, Some(*line), text);
            }
            if let Response::Bound(ps) = group.response {
                let text =
                    format!("a port stops {} after a pause has come: {}", time(ps), group.response.why(group.bps));
                notes.assumed(file, None, text);
            }
        }
        Ok(Plan { config, pool, memory, chip, groups, frame })
    }

    /// The names of those ports for which `is` returns true.
    pub fn names_of(&self, ports: &[usize], is: impl Fn(usize) -> bool) -> Vec<&str> {
        let of = |number: &usize| self.config.ports.get(*number).map(|port| port.name.as_str());
        ports.iter().filter(|number| is(**number)).filter_map(of).collect()
    }

    /// A cell of the memory, in octets; 1 if the chip is not known.
    pub fn cell(&self) -> u64 {
        self.chip.as_ref().map_or(1, |chip| chip.cell)
    }

    /// The shared octets of a slice; all of them if the chip is not known.
    pub fn of_slice(&self) -> u64 {
        self.memory.shared / slices(self.chip.as_ref())
    }

    /// The group whose values the scenario has.
    pub fn main(&self) -> Option<&Group> {
        self.groups.first()
    }

    /// Groups that differ from the first, whose values the scenario of all ports has; and the consequences there.
    pub fn unlike_main(&self) -> impl Iterator<Item = (&Group, Vec<String>)> {
        let others = self.groups.iter().skip(1);
        others.zip(self.main().into_iter().cycle()).filter_map(|(other, main)| {
            let parts = other.as_another(main);
            (!parts.is_empty()).then_some((other, parts))
        })
    }

    /// Returns the reserve of a priority group with this profile beside headroom, in octets.
    pub fn set_aside(&self, profile: &Profile) -> u64 {
        set_aside(&self.pool, profile)
    }

    /// The delay of a port's cable, in ps.
    pub fn delay(port: &Port) -> u64 {
        port.cable_m.unwrap_or(CABLE_M) * PS_PER_METRE
    }

    /// Returns the most octets that so many priority groups like those of a group may hold together: the shared part and each one's
    /// reserve.
    pub fn held(&self, group: &Group, count: u64) -> u64 {
        self.memory.shared + (group.headroom + group.reserve) * count
    }

    /// Returns the most octets that all priority groups may hold.
    pub fn held_by_all(&self) -> u64 {
        let own = |group: &Group| (group.headroom + group.reserve) * group.count;
        self.memory.shared + self.groups.iter().map(own).sum::<u64>()
    }

    /// The numbers of the ports of all groups, in order.
    pub fn lossless_ports(&self) -> Vec<usize> {
        let all: BTreeSet<usize> = self.groups.iter().flat_map(|group| &group.ports).copied().collect();
        all.into_iter().collect()
    }

    /// The profiles of the groups, each with its first group, in their order.
    pub fn profiles(&self) -> Vec<&Group> {
        let mut seen = BTreeSet::new();
        self.groups.iter().filter(|group| seen.insert(group.profile.name.as_str())).collect()
    }

    /// Returns the kinds of marking of a profile's ports and classes: each with their number, the most frequent first, and the number of
    /// those that do not mark.
    pub fn marks(&self, profile: &str) -> (Vec<(&Wred, usize)>, usize) {
        let (mut ways, mut never): (Vec<(&Wred, usize)>, usize) = (Vec::new(), 0);
        for pair in self.config.pairs().iter().filter(|pair| pair.profile.name == profile) {
            let Some(wred) = self.config.wred(pair.port, pair.class) else {
                never += 1;
                continue;
            };
            let wred = self.config.wreds.iter().find(|own| **own == *wred);
            match ways.iter_mut().find(|(own, _)| Some(*own) == wred) {
                Some((_, count)) => *count += 1,
                None => ways.extend(wred.map(|wred| (wred, 1))),
            }
        }
        ways.sort_by_key(|(wred, count)| (Reverse(*count), wred.min, wred.max, wred.percent, wred.name.clone()));
        (ways, never)
    }

    /// Returns the marking of the scenario of all ports: that of most ports of its largest group, otherwise that of any queue.
    pub fn marks_of_star(&self) -> Option<&Wred> {
        self.main().and_then(|group| self.marking(group)).or_else(|| self.config.wreds.first())
    }

    /// Returns the marking of a group's scenario.
    pub fn marking(&self, group: &Group) -> Option<&Wred> {
        self.marks(&group.profile.name).0.first().map(|(wred, _)| *wred)
    }

    /// Returns the octets that two ports of a group send into a queue from the pause until they stop: a generous bound.
    pub fn late(&self, group: &Group) -> u64 {
        let ps = u128::from(group.response.ps() + 2 * group.delay_ps);
        let sent = ps * u128::from(group.bps) / 8_000_000_000_000;
        2 * u64::try_from(sent).unwrap_or(u64::MAX / 4) + 4 * self.frame
    }

    /// Returns the octets of an egress queue when so many ports of one slice that fill it at once are paused.
    ///
    /// ```text
    /// x = alpha (S - n x), so n x = n alpha S / (1 + n alpha); and what each has set aside is not counted
    /// ```
    pub fn queue_at_pause(&self, group: &Group, ports: u64) -> u64 {
        let (n, of_slice) = (ports as f64, self.of_slice());
        let shared = match group.profile.limit {
            Limit::Dynamic(_) => {
                let alpha = alpha(group);
                (n * alpha * of_slice as f64 / (1.0 + n * alpha)) as u64
            }
            Limit::Static(octets) => octets.saturating_mul(ports).min(of_slice),
        };
        shared + group.reserve * ports
    }
}

/// The equal parts of the memory; 1 if the chip is not known.
fn slices(chip: Option<&Chip>) -> u64 {
    chip.map_or(1, |chip| chip.slices)
}

fn set_aside(pool: &Pool, profile: &Profile) -> u64 {
    match pool.xoff {
        0 => profile.size.saturating_sub(profile.xoff.unwrap_or(0)),
        _ => profile.size,
    }
}

/// The simulator's largest alpha.
pub const MOST_ALPHA: f64 = (1 << MOST_EXPONENT) as f64;

/// Alpha of a group; 1 for a static limit.
pub fn alpha(group: &Group) -> f64 {
    group.profile.limit.alpha().unwrap_or(1.0).min(MOST_ALPHA)
}

fn groups(config: &Config, options: &Options) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut counted = BTreeSet::new();
    for pair in config.pairs() {
        let (bps, delay_ps) = (pair.port.bps, Plan::delay(pair.port));
        let alike =
            |group: &Group| group.bps == bps && group.delay_ps == delay_ps && group.profile.name == pair.profile.name;
        let found = groups.iter().position(alike).unwrap_or_else(|| {
            let bound = options.pauses.and_then(|pauses| (pauses.longest_response)(bps));
            let response = match (options.response_ps, bound) {
                (Some(ps), _) => Response::InputFiles(ps),
                (None, Some(ps)) => Response::Bound(ps),
                (None, None) => Response::Unknown,
            };
            let profile = pair.profile.clone();
            let (ports, classes, count) = (Vec::new(), Vec::new(), 0);
            groups.push(Group { ports, classes, count, bps, delay_ps, profile, headroom: 0, reserve: 0, response });
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(found) else { continue };
        if !group.ports.contains(&pair.number) {
            group.ports.push(pair.number);
        }
        if !group.classes.contains(&pair.class) {
            group.classes.push(pair.class);
        }
        // Classes may share a priority group.
        group.count += u64::from(counted.insert((pair.number, config.group(pair.class))));
    }
    for group in &mut groups {
        group.classes.sort_unstable();
    }
    // By their values, and never by the numbers of classes: the result does not depend on the names of classes.
    groups.sort_by_key(|group| {
        let limit = match group.profile.limit {
            Limit::Dynamic(exponent) => (0, i64::from(exponent)),
            Limit::Static(octets) => (1, i64::try_from(octets).unwrap_or(i64::MAX)),
        };
        let profile = (group.profile.xoff, group.profile.size, group.profile.xon, group.profile.xon_offset, limit);
        (Reverse(group.count), profile, group.bps, group.delay_ps, group.profile.name.clone())
    });
    groups
}

impl Group {
    /// Its headroom and reserve, from a pool with so many demands on its headroom. `shares`: the scenario of all ports shares the pool.
    fn share(&mut self, pool: &Pool, wants: &[Vec<u64>], shares: bool, notes: &mut Notes) {
        let (profile, xoff) = (&self.profile, self.profile.xoff.unwrap_or(0));
        let (file, line) = (&profile.at.0, Some(profile.at.1));
        self.reserve = set_aside(pool, profile);
        if pool.xoff == 0 {
            self.headroom = xoff.min(profile.size);
            if profile.size < xoff {
                let text = format!(
                    "{} has an xoff of {xoff} B and sets aside {}: without a shared headroom pool that is all its headroom",
                    profile.name, profile.size
                );
                notes.differs(file, line, text);
            }
            return;
        }
        let part = pool.xoff / wants.len().max(1) as u64;
        self.headroom = wants.iter().map(|wants| level(part, wants)).min().unwrap_or(0).min(xoff);
        let all: usize = wants.iter().map(Vec::len).sum();
        if self.headroom < xoff {
            let never_more = match shares {
                true => "in the scenarios of verdicts",
                false => "here",
            };
            let text = format!(
                "{}: {} {} {} B of headroom{}. Each has {} B when all want theirs at once, and never more {never_more}; the switch lets one of \
                 them take up to {xoff} B",
                profile.name,
                unlike::count(all, "priority group"),
                if all == 1 { "has" } else { "share" },
                pool.xoff,
                if wants.len() > 1 { format!(" in {} slices", wants.len()) } else { String::new() },
                self.headroom
            );
            notes.differs(file, line, text);
        }
    }
}

/// Notes classes that share a priority group: here each class has a separate one.
fn shared_groups(config: &Config, file: &str, notes: &mut Notes) {
    for group in 0..8u8 {
        let classes: Vec<String> =
            config.lossless.iter().filter(|class| config.group(**class) == group).map(u8::to_string).collect();
        if classes.len() > 1 {
            let text = format!("classes {} share priority group {group}: here each has its own", classes.join(" and "));
            notes.differs(file, None, text);
        }
    }
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
    chip: Option<&Chip>,
    file: &str,
    options: &Options,
    notes: &mut Notes,
) -> Result<Memory, ImportError> {
    let device = devices::of(&config.hwsku);
    let all = match (options.memory, device) {
        (Some(octets), _) => Some((octets, "--memory".to_owned())),
        (None, Some(device)) => Some((device.memory, format!("of {}", config.hwsku))),
        (None, None) => chip.and_then(|chip| Some((chip.memory?, format!("of {}", chip.name)))),
    };
    let set_aside = |name: &String| config.profile(name).map_or(0, |profile| profile.size);
    let reserved: u64 = config.ports.iter().flat_map(|port| &port.groups).flatten().map(set_aside).sum();
    let ingress = || config.pools.iter().filter(|pool| pool.ingress);
    let xoff: u64 = ingress().map(|pool| pool.xoff).sum();
    let others = || ingress().filter(|other| other.name != pool.name);
    let hint = "--memory says it, as in --memory \"64 MB\"";
    let size = match (pool.size, &all) {
        (Some(size), _) => size,
        // SONiC's calculation: everything that is not reserved.
        (None, Some((all, who))) => {
            let (from, line) = &pool.at;
            let aside = reserved.saturating_add(xoff);
            // A pool without priority groups holds nothing.
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
    // Where a pool and its headroom exceed the memory of a chip, the pool has all of it: SONiC's files of Tomahawk 3 and 5 and Trident 3
    // (studies/silicon-2026, "The reading", 4).
    let whole =
        chip.is_some_and(|chip| chip.whole) && xoff > 0 && all.as_ref().is_some_and(|(all, _)| size + xoff > *all);
    let inside = whole || device.is_some_and(|device| device.inside);
    let queues = chip.map_or(0, |chip| chip.queues * config.ports.len() as u64);
    let within = match (inside, whole) {
        (_, true) => xoff + reserved + queues,
        (true, false) => xoff,
        (false, false) => 0,
    };
    let configured = size.saturating_sub(within);
    if whole && configured == 0 {
        let (from, line) = &pool.at;
        let reason =
            format!("{} has {size} B, all of the memory, and {within} B of it are headroom and set aside", pool.name);
        return Err(ImportError::new(reason).file(from).line(*line).hint(hint));
    }
    let mut memory = Memory { all, size: size + others, xoff, reserved, inside, whole, configured, shared: configured };
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
