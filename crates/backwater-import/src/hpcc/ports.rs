//! Thresholds that depend on the rate of a port, in the form of a scenario's tables: one value with its reference rate, or other values for
//! some switches.

use crate::graph::{Fabric, Graph};
use crate::scenario_writer::ScenarioWriter;
use std::collections::BTreeMap;
use toml::Value;

/// The ports of a switch: their number by rate (b/s) and delay (ps).
pub type Ports = BTreeMap<(u64, u64), u32>;

/// The ports of all switches, by node.
pub fn ports(graph: &Graph) -> BTreeMap<u32, Ports> {
    let mut all: BTreeMap<u32, Ports> = graph.switches().map(|node| (node, Ports::new())).collect();
    for link in &graph.links {
        for node in [link.a, link.b] {
            if let Some(ports) = all.get_mut(&node) {
                *ports.entry((link.bps, link.delay_ps)).or_default() += 1;
            }
        }
    }
    all
}

/// Values of some thresholds at ports of several rates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaled {
    /// The reference rate, in b/s; absent: the same at all ports.
    pub reference_bps: Option<u64>,
    /// The values.
    pub values: Vec<u64>,
    /// True if every port has exactly these.
    pub exact: bool,
}

impl Scaled {
    /// The values of these ports. If they are neither equal nor in proportion to the rate, those of the most ports.
    pub fn of(ports: &Ports, values: impl Fn(u64, u64) -> Vec<u64>) -> Scaled {
        let all: Vec<(u64, u32, Vec<u64>)> =
            ports.iter().map(|((bps, delay), count)| (*bps, *count, values(*bps, *delay))).collect();
        let most = all.iter().max_by_key(|(bps, count, _)| (*count, *bps));
        let Some((_, _, most)) = most else {
            return Scaled { reference_bps: None, values: values(1, 0), exact: true };
        };
        if all.iter().all(|(_, _, values)| values == most) {
            return Scaled { reference_bps: None, values: most.clone(), exact: true };
        }
        let (first_bps, _, first) = &all[0];
        let in_proportion = |(bps, _, values): &(u64, u32, Vec<u64>)| {
            let pairs = values.iter().zip(first);
            let alike = |(own, first): (&u64, &u64)| {
                u128::from(*own) * u128::from(*first_bps) == u128::from(*first) * u128::from(*bps)
            };
            pairs.into_iter().all(alike)
        };
        if all.iter().all(in_proportion) {
            return Scaled { reference_bps: Some(*first_bps), values: first.clone(), exact: true };
        }
        Scaled { reference_bps: None, values: most.clone(), exact: false }
    }
}

/// The values of each switch: common ones if one set serves all, otherwise its own. Returns also whether they are exact.
pub fn by_switch(ports: &BTreeMap<u32, Ports>, values: impl Fn(u64, u64) -> Vec<u64>) -> (BTreeMap<u32, Scaled>, bool) {
    let mut all = Ports::new();
    for (port, count) in ports.values().flatten() {
        *all.entry(*port).or_default() += count;
    }
    let common = Scaled::of(&all, &values);
    let of = |own: &Ports| if common.exact { common.clone() } else { Scaled::of(own, &values) };
    let mut each: BTreeMap<u32, Scaled> = ports.iter().map(|(node, own)| (*node, of(own))).collect();
    // An override cannot remove a key: if some have a reference rate, all have.
    if !common.exact && each.values().any(|scaled| scaled.reference_bps.is_some()) {
        for (node, scaled) in each.iter_mut().filter(|(_, scaled)| scaled.reference_bps.is_none()) {
            let rates: Vec<u64> = ports.get(node).into_iter().flatten().map(|((bps, _), _)| *bps).collect();
            scaled.exact &= rates.windows(2).all(|two| two[0] == two[1]);
            scaled.reference_bps = rates.first().copied();
        }
    }
    let exact = each.values().all(|scaled| scaled.exact);
    (each, exact)
}

/// Keys with their values, in the order in which they are written.
pub type Keys = Vec<(&'static str, Value)>;

/// Writes differences between switches: the keys of the most switches into the current table, then `[[TABLE.at]]` for tiers and for single
/// switches.
pub fn write(writer: &mut ScenarioWriter, table: &str, fabric: &Fabric, keys: &BTreeMap<u32, Keys>) {
    let mut counts: Vec<(&Keys, usize)> = Vec::new();
    for own in keys.values() {
        match counts.iter_mut().find(|(known, _)| *known == own) {
            Some((_, count)) => *count += 1,
            None => counts.push((own, 1)),
        }
    }
    // The first of equally many, so that the result is deterministic.
    let Some(&(common, _)) = counts.iter().rev().max_by_key(|(_, count)| *count) else { return };
    common.iter().for_each(|(key, value)| {
        writer.key(key, value.clone());
    });
    let mut tiers: BTreeMap<&str, Vec<(u32, &Keys)>> = BTreeMap::new();
    for (node, own) in keys {
        let tier = fabric.tiers.get(*node as usize).map_or("switch", String::as_str);
        tiers.entry(tier).or_default().push((*node, own));
    }
    for (tier, switches) in tiers {
        let alike = switches.windows(2).all(|two| two[0].1 == two[1].1);
        for (node, own) in switches.iter().filter(|(_, own)| *own != common).take(if alike { 1 } else { usize::MAX }) {
            writer.head(&format!("[[{table}.at]]"));
            if alike {
                writer.key("tier", tier);
            } else {
                writer.key("node", fabric.name(*node));
            }
            for one in own.iter().filter(|one| !common.contains(one)) {
                writer.key(one.0, one.1.clone());
            }
        }
    }
}
