//! Scenarios of a plan: fabric, thresholds, and flows.

use super::buffers::Limit;
use super::chip::Chip;
use super::plan::{Group, MOST_ALPHA, Plan, alpha};
use super::ports::Port;
use super::qos::Wred;
use super::unlike;
use crate::scenario_writer::ScenarioWriter;
use crate::units::{decimal as size, rate, time};
use std::collections::BTreeMap;

/// Headers of a data packet here: the default of `packet.header`.
const HEADER: u64 = 62;
/// Most fraction digits of an alpha: 2^-8.
const DIGITS: usize = 8;

/// Flows that begin together, one from each port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incast {
    /// Its label.
    pub label: String,
    /// Names of the senders.
    pub from: Vec<String>,
    /// Name of the receiver.
    pub to: String,
    /// Payload of each, in octets.
    pub bytes: u64,
    /// Its class.
    pub class: u8,
}

/// The part of a plan in a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part<'a> {
    /// The group of its lossless classes; `None`: no class is lossless.
    pub group: Option<&'a Group>,
    /// Its lossless classes.
    pub classes: &'a [u8],
    /// The number of ports of a switch.
    pub ports: u64,
    /// The marking.
    pub marks: Option<&'a Wred>,
    /// Thresholds and memory that differ from the plan.
    pub fixed: Option<Fixed>,
    /// The chip, with its cells, its slices and its shared pool of headroom.
    pub chip: Option<&'a Chip>,
    /// Without a chip: a cell of the memory, in octets. Only the verdict on headroom needs it: the others are about octets.
    pub cell: Option<u64>,
}

/// Thresholds and memory that differ from the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// All memory, in octets, without reserves.
    pub memory: u64,
    /// The pause threshold of a priority group, in octets.
    pub xoff: u64,
    /// The resume threshold, in octets.
    pub xon: u64,
    /// Time from receipt of a pause to the stop, in ps.
    pub response_ps: u64,
}

/// A name permitted in scenarios.
pub fn name(name: &str) -> String {
    let allowed = |c: char| if c.is_whitespace() || c.is_control() || [',', ':', '|'].contains(&c) { '_' } else { c };
    name.chars().map(allowed).collect()
}

/// An unused name.
fn free(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let mut free = wanted.to_owned();
    while taken(&free) {
        free.push('_');
    }
    free
}

impl Plan {
    /// The name of the switch: that of the file, unless a host has it.
    pub fn switch(&self) -> String {
        let own = name(&self.config.hostname);
        if own.is_empty() || own == "next" || self.is_port(&own) {
            free("switch", |name| self.is_port(name))
        } else {
            own
        }
    }

    /// The name of the second switch.
    pub fn next_switch(&self) -> String {
        self.free_name("next")
    }

    /// Payload of the longest packet.
    pub fn payload(&self) -> u64 {
        self.frame.saturating_sub(HEADER).max(1)
    }

    /// A star: a host at each of the ports, named like its port.
    pub fn star(&self, ports: &[&Port], writer: &mut ScenarioWriter) {
        let switch = self.switch();
        let mut nodes = vec![(switch.clone(), "switch")];
        nodes.extend(ports.iter().map(|port| (name(&port.name), "host")));
        let links = ports.iter().map(|port| (name(&port.name), switch.clone(), port.bps, Plan::delay(port)));
        fabric(&nodes, links.collect(), writer);
    }

    /// A star of the first two ports of a group and of additional hosts, by names and rates.
    pub fn star_beside(&self, group: &Group, others: &[(&str, u64)], writer: &mut ScenarioWriter) {
        let switch = self.switch();
        let ports = self.ports(group);
        let ports = ports.iter().take(2).map(|port| (name(&port.name), port.bps));
        let hosts: Vec<(String, u64)> =
            ports.chain(others.iter().map(|(name, bps)| ((*name).to_owned(), *bps))).collect();
        let mut nodes = vec![(switch.clone(), "switch")];
        nodes.extend(hosts.iter().map(|(name, _)| (name.clone(), "host")));
        let links = hosts.into_iter().map(|(name, bps)| (name, switch.clone(), bps, group.delay_ps));
        fabric(&nodes, links.collect(), writer);
    }

    /// All ports at a second identical switch, except one at the first: traffic that meets that one is paused. No port has a faster link or
    /// a longer cable than those of the group, for which the headroom is calculated.
    pub fn two_switches(&self, group: &Group, late: &Port, writer: &mut ScenarioWriter) {
        let (first, next, ports) = (self.switch(), self.next_switch(), &self.config.ports);
        let mut nodes = vec![(first.clone(), "switch"), (next.clone(), "switch")];
        nodes.extend(ports.iter().map(|port| (name(&port.name), "host")));
        let at = |port: &Port| if port.name == late.name { first.clone() } else { next.clone() };
        let hosts = ports.iter().map(|port| {
            let (bps, delay) = (port.bps.min(group.bps), Plan::delay(port).min(group.delay_ps));
            (name(&port.name), at(port), bps, delay)
        });
        let mut links: Vec<_> = hosts.collect();
        links.push((first.clone(), next.clone(), group.bps, group.delay_ps));
        fabric(&nodes, links, writer);
    }

    /// The ports of a group.
    pub fn ports(&self, group: &Group) -> Vec<&Port> {
        group.ports.iter().filter_map(|number| self.config.ports.get(*number)).collect()
    }

    /// A name that neither a port nor the switch has.
    pub fn free_name(&self, wanted: &str) -> String {
        let switch = self.switch();
        free(wanted, |name| self.is_port(name) || switch == name)
    }

    fn is_port(&self, own: &str) -> bool {
        self.config.ports.iter().any(|port| name(&port.name) == own)
    }

    /// Frames, memory and mechanisms.
    pub fn mechanisms(&self, part: Part<'_>, writer: &mut ScenarioWriter) {
        writer.head("[packet]");
        writer.remark(&format!("With {HEADER} B of headers the longest frame has {} B.", self.frame));
        writer.key("payload", size(self.payload()));
        writer.head("[transport]").key_because("loss", "expected", "lost frames are an answer here");
        writer.head("[switch]");
        match part.chip {
            Some(chip) => {
                writer.key_because("preset", chip.name.as_str(), &format!("cells and slices; by {}", chip.by))
            }
            None => writer.key("architecture", "shared-memory"),
        };
        if let Some(cell) = part.cell.filter(|cell| *cell > 1) {
            writer.key_because("cell", size(cell), "of the chip");
        }
        match (part.group, part.fixed) {
            (Some(group), None) if part.chip.is_some() => self.carved_chip(group, part, writer),
            (None, None) if part.chip.is_some() => {
                writer.key_because("buffer", size(self.memory.shared), &self.pool.name);
                writer.key_because("reserve", size(0), "no class is lossless");
            }
            (_, Some(fixed)) => {
                writer.remark("All the memory there is. Nothing is set aside: thresholds alone keep it.");
                writer.key("buffer", size(fixed.memory));
            }
            (Some(group), None) => self.carved(group, part, writer),
            (None, None) => {
                writer.key_because("buffer", size(self.memory.shared), &self.pool.name);
            }
        }
        self.lossy(writer);
        if let Some(weights) = self.config.weights {
            writer.key("weights", weights.iter().map(|weight| *weight as i64).collect::<Vec<_>>());
        }
        if let Some(group) = part.group {
            self.pfc(group, part, writer);
        }
        if let Some(wred) = part.marks {
            writer.head("[ecn]");
            writer.remark(&format!("WRED profile {}, green.", wred.name));
            writer.key("kmin", size(wred.min)).key("kmax", size(wred.max));
            writer.key("pmax", wred.percent as f64 / 100.0);
            let classes = self.marked(wred);
            if classes.len() < 8 {
                writer.key("classes", integers(&classes));
            }
        }
    }

    /// The classes that any port marks with this profile.
    pub fn marked(&self, wred: &Wred) -> Vec<u8> {
        let marks = |class: u8| self.config.ports.iter().any(|port| self.config.wred(port, class) == Some(wred));
        (0..8).filter(|class| marks(*class)).collect()
    }

    fn carved(&self, group: &Group, part: Part<'_>, writer: &mut ScenarioWriter) {
        let (classes, ports) = (part.classes.len() as u64, part.ports);
        // A scenario reserves memory for all eight classes.
        let aside = group.headroom * ports * classes + group.reserve * ports * 8;
        writer.remark(&format!(
            "{} B of {} for all, and {aside} B that are set aside: headroom for {classes} class{} of {ports} port{}{}.",
            self.memory.shared,
            self.pool.name,
            if classes == 1 { "" } else { "es" },
            if ports == 1 { "" } else { "s" },
            if group.reserve > 0 { ", a reserve for all 8 of each, those that nothing uses too" } else { "" },
        ));
        writer.key("buffer", size(self.memory.shared + aside));
        writer.key_because("headroom", size(group.headroom), &format!("{}: xoff", group.profile.name));
        if group.reserve > 0 {
            let own = self.set_aside(&group.profile);
            let why = if group.reserve == own {
                format!("{}: size{}", group.profile.name, if self.pool.xoff == 0 { " without xoff" } else { "" })
            } else {
                format!("room for lossy frames that pass through; {} has {own} B", group.profile.name)
            };
            writer.key_because("reserve", size(group.reserve), &why);
        }
        if group.profile.limit.alpha().is_some() {
            writer.key_because("headroom_above", number(alpha(group)), "beyond its limit a group has headroom");
        }
    }

    /// The memory of a chip: headrooms share their pool, and only lossless classes have a reserve.
    pub fn carved_chip(&self, group: &Group, part: Part<'_>, writer: &mut ScenarioWriter) {
        let (classes, ports) = (part.classes.len() as u64, part.ports);
        let profile = &group.profile;
        let (headroom, pool) = match self.pool.xoff {
            0 => (group.headroom, group.headroom * ports * classes),
            pool => (profile.xoff.unwrap_or(0), pool),
        };
        let reserves = group.reserve * ports * classes;
        writer.remark(&format!(
            "{} B are shared, {pool} B are headroom, and {reserves} B are set aside for the lossless classes of {}.",
            self.memory.shared,
            unlike::count(usize::try_from(ports).unwrap_or(usize::MAX), "port"),
        ));
        writer.key("buffer", size(self.memory.shared + pool + reserves));
        writer.key_because("reserve", size(group.reserve), &format!("{}: size", profile.name));
        writer.key("reserve_classes", integers(part.classes));
        writer.key_because("headroom", size(headroom), &format!("{}: xoff", profile.name));
        if self.pool.xoff > 0 {
            writer.key_because("headroom_pool", size(pool), &format!("{}: xoff", self.pool.name));
        }
        let above = match profile.limit {
            Limit::Dynamic(_) => (alpha(group), "beyond its limit a group has headroom"),
            Limit::Static(_) => (MOST_ALPHA, "headroom is used when the shared memory is full"),
        };
        writer.key_because("headroom_above", number(above.0), above.1);
    }

    /// Dynamic limits of classes that are not lossless.
    fn lossy(&self, writer: &mut ScenarioWriter) {
        for (key, egress) in [("alpha_ingress", false), ("alpha_egress", true)] {
            if let Some((name, alpha)) =
                self.lossy_profiles(egress).iter().find_map(|(name, alpha)| Some((name, (*alpha)?)))
            {
                writer.key_because(key, number(alpha), name);
            }
        }
    }

    /// The ingress or egress profiles of classes that are not lossless, each with its alpha if its limit is dynamic: the most frequent
    /// first.
    pub fn lossy_profiles(&self, egress: bool) -> Vec<(&str, Option<f64>)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for port in &self.config.ports {
            let (map, slots) = match egress {
                false => (&self.config.group_of, &port.groups),
                true => (&self.config.queue_of, &port.queues),
            };
            for class in (0..8u8).filter(|class| !self.config.is_lossless(port, *class)) {
                let slot = map.get(usize::from(class)).and_then(|slot| slots.get(usize::from(*slot)));
                if let Some(name) = slot.and_then(Option::as_deref) {
                    *counts.entry(name).or_default() += 1;
                }
            }
        }
        let alpha = |name: &str| self.config.profile(name).and_then(|profile| profile.limit.alpha());
        let mut all: Vec<(&str, usize)> = counts.into_iter().collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all.into_iter().map(|(name, _)| (name, alpha(name))).collect()
    }

    fn pfc(&self, group: &Group, part: Part<'_>, writer: &mut ScenarioWriter) {
        let (profile, fixed) = (&group.profile, part.fixed);
        writer.head("[pfc]").key("classes", integers(part.classes));
        match (fixed, profile.limit) {
            (Some(fixed), _) => {
                writer.key("threshold", "static").key("xoff", size(fixed.xoff)).key("xon", size(fixed.xon));
                writer.key("response", time(fixed.response_ps));
            }
            (None, Limit::Dynamic(exponent)) => {
                writer.key("threshold", "dynamic");
                writer.key_because("alpha", number(alpha(group)), &format!("{}: 2^{exponent}", profile.name));
                if let Some(offset) = profile.xon_offset {
                    writer.key("xon_offset", size(offset));
                }
            }
            (None, Limit::Static(octets)) => {
                let xoff = octets.max(1);
                writer.key("threshold", "static").key("xoff", size(xoff)).key("xon", size(xon(group, xoff)));
            }
        }
        if fixed.is_none() && group.response.ps() > 0 {
            writer.key_because("response", time(group.response.ps()), &group.response.why(group.bps));
        }
        if let Some(watchdog) = self.config.watchdog.as_ref().filter(|_| fixed.is_none()) {
            let ms = |ms: u64| time(ms * 1_000_000_000);
            writer.key("watchdog", ms(watchdog.detection_ms));
            writer.key("watchdog_restore", ms(watchdog.restoration_ms));
            writer.key("watchdog_action", watchdog.action.as_str());
        }
    }
}

/// The resume threshold of a group that pauses at `xoff`: `max(xon, xoff - xon_offset)`, or `xon` alone without an offset.
pub fn xon(group: &Group, xoff: u64) -> u64 {
    let by_offset = group.profile.xon_offset.map_or(0, |offset| xoff.saturating_sub(offset));
    by_offset.max(group.profile.xon).min(xoff)
}

/// Writes incasts.
pub fn incasts(all: &[Incast], writer: &mut ScenarioWriter) {
    for incast in all {
        let from: Vec<String> = incast.from.iter().map(|host| name(host)).collect();
        writer.head("[[flow]]").key("label", incast.label.as_str()).key("from", from).key("to", name(&incast.to));
        writer.key("size", size(incast.bytes)).number("class", incast.class.into());
    }
}

/// Nodes with their kinds, and links with their ends, rates in b/s and delays in ps.
fn fabric(nodes: &[(String, &str)], links: Vec<(String, String, u64, u64)>, writer: &mut ScenarioWriter) {
    let text = |text: &str| toml::Value::from(text).to_string();
    let nodes = nodes.iter().map(|(name, kind)| format!("    {{ name = {}, kind = \"{kind}\" }},\n", text(name)));
    let links = links.iter().map(|(a, b, bps, delay)| {
        let (rate, delay) = (rate(*bps), time(*delay));
        format!("    {{ a = {}, b = {}, rate = \"{rate}\", delay = \"{delay}\" }},\n", text(a), text(b))
    });
    let (nodes, links): (String, String) = (nodes.collect(), links.collect());
    writer.head("[topology]").key("kind", "explicit").verbatim(&format!("node = [\n{nodes}]\nlink = [\n{links}]\n"));
}

/// Classes as numbers of a scenario.
pub fn integers(classes: &[u8]) -> Vec<i64> {
    classes.iter().map(|class| i64::from(*class)).collect()
}

/// An alpha with few digits if it is a power of two.
pub fn number(alpha: f64) -> f64 {
    let scale = 10f64.powi(DIGITS as i32);
    (alpha * scale).round() / scale
}
