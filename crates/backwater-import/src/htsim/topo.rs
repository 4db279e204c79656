//! A topology file, as read by `FatTreeTopologyCfg::read_cfg` of csg-htsim and uet-htsim.
//!
//! ```text
//! file = "Nodes" n | "Tiers" (2|3) | "Podsize" n, then for each tier "Tier" (0|1|2) and any of
//!        Downlink_speed_Gbps, Radix_Up (not of the top tier), Radix_Down, Queue_Up, Queue_Down (octets),
//!        Oversubscribed, Bundle, Switch_Latency_ns, Downlink_Latency_ns; a line each, whole numbers, "#" lines are remarks
//! ```
//!
//! Tier k describes its switches and the links below them. The first word of a line may have any case.

use crate::error::ImportError;
use crate::source::Head;

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Hosts.
    pub nodes: u32,
    /// Hosts of a pod.
    pub pod: u32,
    /// Two or three, from the ToRs up.
    pub tiers: Vec<Tier>,
}

/// Switches of one tier, and the links below them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tier {
    /// Its line.
    pub line: u64,
    /// Rate of the links below, in Gb/s.
    pub downlink_gbps: Option<u64>,
    /// Ports upwards, and downwards.
    pub radix_up: Option<u32>,
    /// Ports downwards.
    pub radix_down: Option<u32>,
    /// Lines of the queues of its ports, with their keys; no program uses them.
    pub queues: Vec<(u64, &'static str)>,
    /// The factor by which more capacity is below than above.
    pub oversubscribed: Option<u32>,
    /// Parallel links to each switch below.
    pub bundle: Option<u32>,
    /// Latency of a switch, in ns.
    pub switch_latency_ns: Option<u64>,
    /// Delay of the links below, in ns.
    pub link_latency_ns: Option<u64>,
}

/// Largest number of hosts, ports and the like.
const MOST: u64 = 1_000_000;
/// Largest rate and delay: 100 Tb/s, a second.
const MOST_GBPS: u64 = 100_000;
const MOST_NS: u64 = 1_000_000_000;

/// Returns whether a file is a topology: it counts tiers.
pub fn recognise(head: &Head) -> bool {
    let lines = head.lines();
    let first = |line: &String| line.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    let words: Vec<String> = lines.iter().map(first).collect();
    words.iter().any(|word| word == "tiers") && words.iter().any(|word| word == "tier")
}

/// Reads a topology; messages call it `file`.
pub fn parse(file: &str, text: &str) -> Result<Topology, ImportError> {
    let (mut nodes, mut tiers, mut pod) = (None, None, None);
    let mut found: [Option<Tier>; 3] = [None, None, None];
    let mut current: Option<usize> = None;
    for (number, line) in (1u64..).zip(text.lines()) {
        let line = line.trim_end();
        let fail = |reason: &str| ImportError::new(reason).file(file).line(number).value(line);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((key, value)) = line.split_once(' ') else { return Err(fail("has no value")) };
        let value: u64 = value.trim().parse().map_err(|_| fail("is not a whole number"))?;
        let below = |most: u64| if value <= most { Ok(value) } else { Err(fail(&format!("is more than {most}"))) };
        let count = || below(MOST).map(|value| value as u32);
        let key = key.to_ascii_lowercase();
        if let Some(at) = current.filter(|_| key != "tier") {
            let Some(tier) = found.get_mut(at).and_then(Option::as_mut) else { continue };
            let twice = || fail(&format!("stands twice for tier {at}"));
            match key.as_str() {
                "downlink_speed_gbps" if value == 0 => return Err(fail("is no rate: at least 1")),
                "downlink_speed_gbps" => once(&mut tier.downlink_gbps, below(MOST_GBPS)?, twice)?,
                "radix_up" if at == 2 => return Err(fail("there is nothing above tier 2")),
                "radix_up" => once(&mut tier.radix_up, count()?, twice)?,
                "radix_down" => once(&mut tier.radix_down, count()?, twice)?,
                "queue_up" => tier.queues.push((number, "Queue_Up")),
                "queue_down" => tier.queues.push((number, "Queue_Down")),
                "oversubscribed" => once(&mut tier.oversubscribed, count()?, twice)?,
                "bundle" if value == 0 => return Err(fail("is not a link or more")),
                "bundle" => once(&mut tier.bundle, count()?, twice)?,
                "switch_latency_ns" => once(&mut tier.switch_latency_ns, below(MOST_NS)?, twice)?,
                "downlink_latency_ns" => once(&mut tier.link_latency_ns, below(MOST_NS)?, twice)?,
                _ => {
                    let hint = "Downlink_speed_Gbps, Radix_Up, Radix_Down, Queue_Up, Queue_Down, Oversubscribed, Bundle, \
                                Switch_Latency_ns, Downlink_Latency_ns";
                    return Err(fail("is no line of a tier").hint(hint));
                }
            }
            continue;
        }
        match key.as_str() {
            "nodes" => nodes = Some(count()?),
            "tiers" if value == 2 || value == 3 => tiers = Some(value as usize),
            "tiers" => return Err(fail("is not 2 or 3 tiers")),
            "podsize" => pod = Some(count()?),
            "tier" => {
                let Some(place) = found.get_mut(value as usize) else { return Err(fail("is not tier 0, 1 or 2")) };
                if place.replace(Tier { line: number, ..Tier::default() }).is_some() {
                    return Err(fail("stands twice"));
                }
                current = Some(value as usize);
            }
            _ => return Err(fail("is no line of a head").hint("Nodes, Tiers, Podsize, then Tier 0")),
        }
    }
    let missing = |what: &str| ImportError::new(format!("the line `{what}` is missing")).file(file);
    let nodes = nodes.filter(|n| *n > 0).ok_or_else(|| missing("Nodes N"))?;
    let count = tiers.ok_or_else(|| missing("Tiers 2"))?;
    let pod = pod.filter(|n| *n > 0).ok_or_else(|| missing("Podsize N"))?;
    let tiers: Option<Vec<Tier>> = found.into_iter().take(count).collect();
    Ok(Topology { nodes, pod, tiers: tiers.ok_or_else(|| missing("Tier N"))? })
}

fn once<T>(place: &mut Option<T>, value: T, twice: impl Fn() -> ImportError) -> Result<(), ImportError> {
    if place.replace(value).is_some() { Err(twice()) } else { Ok(()) }
}
