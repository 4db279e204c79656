//! The fabric that equals a graph, and the names of its nodes.
//!
//! A fabric that a scenario builds from a few numbers is recognised by building it: its links must equal those of the file, node by node.
//! Everything else is written out explicitly.

use super::nvlink::{self, Servers};
use super::quantity::Tier;
use super::{Graph, Link};
use crate::scenario_writer::ScenarioWriter;
use crate::units::{rate, time};
use std::collections::BTreeMap;

/// A graph in the form of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Fabric {
    /// The name of each node.
    pub names: Vec<String>,
    /// The tier of each node, by which its parameters can be set.
    pub tiers: Vec<String>,
    /// The number that each host has among the hosts.
    pub numbers: Vec<Option<u32>>,
    shape: Shape,
    /// NVLink switches beside it.
    servers: Option<Servers>,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Star { hosts: u32, edge: Tier },
    Dumbbell { left: u32, right: u32, links: u32, edge: Tier, trunk: Tier },
    LeafSpine { leaves: u32, spines: u32, hosts: u32, rails: u32, links: u32, edge: Tier, fabric: Tier },
    FatTree(FatTree),
    Explicit,
}

/// A fat tree: pods, switches and hosts as counted by its keys, parallel links, and whether all aggregation switches are connected to all
/// cores.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FatTree {
    pods: u32,
    tors: u32,
    aggs: u32,
    cores: u32,
    hosts: u32,
    all: bool,
    links: u32,
    core_links: u32,
    edge: Tier,
    fabric: Tier,
    core: Tier,
}

impl Fabric {
    /// The fabric of a graph.
    pub fn of(graph: &Graph) -> Fabric {
        let mut next = 0;
        let numbers: Vec<Option<u32>> = (0..graph.nodes())
            .map(|node| {
                let number = (!graph.is_switch(node)).then_some(next);
                next += u32::from(number.is_some());
                number
            })
            .collect();
        let levels = levels(graph);
        let (shape, servers) = match with_servers(graph) {
            Some((shape, servers)) => (shape, Some(servers)),
            None => (recognised(graph, &levels).unwrap_or(Shape::Explicit), None),
        };
        let hosts = next;
        let (mut names, mut tiers) = (Vec::new(), Vec::new());
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for (node, (number, level)) in (0u32..).zip(numbers.iter().zip(&levels)) {
            let reported = graph.tiers.get(&node).filter(|_| shape == Shape::Explicit || graph.is_nvlink(node));
            let before = servers.map_or(0, |_| counts.get(nvlink::NVLINK).copied().unwrap_or(0));
            let (name, tier) = match (number, reported) {
                (Some(number), _) => (format!("h{number}"), "host".to_owned()),
                (None, Some(tier)) => {
                    let count = counts.entry(tier).or_default();
                    *count += 1;
                    (format!("{tier}{}", *count - 1), (*tier).to_owned())
                }
                (None, None) => shape.switch(node - before, hosts, *level),
            };
            names.push(name);
            tiers.push(tier);
        }
        Fabric { names, tiers, numbers, shape, servers }
    }

    /// Returns the name of a node; its number if there is no such node.
    pub fn name(&self, node: u32) -> String {
        self.names.get(node as usize).cloned().unwrap_or_else(|| node.to_string())
    }

    /// The number of a host among the hosts.
    pub fn host(&self, node: u32) -> Option<u32> {
        self.numbers.get(node as usize).copied().flatten()
    }

    /// `[topology]`.
    pub fn write(&self, graph: &Graph, writer: &mut ScenarioWriter) {
        writer.head("[topology]");
        let tier = |writer: &mut ScenarioWriter, names: [&str; 2], own: Tier, below: Option<Tier>| {
            if below.is_none_or(|below| below.0 != own.0) {
                writer.key(names[0], rate(own.0));
            }
            if below.is_none_or(|below| below.1 != own.1) {
                writer.key(names[1], time(own.1));
            }
        };
        let number = |writer: &mut ScenarioWriter, name: &str, value: u32, default: u32| {
            if value != default {
                writer.key(name, value);
            }
        };
        match self.shape {
            Shape::Star { hosts, edge } => {
                writer.key("kind", "star").key("hosts", hosts);
                tier(writer, ["rate", "link_delay"], edge, None);
            }
            Shape::Dumbbell { left, right, links, edge, trunk } => {
                writer.key("kind", "dumbbell").key("left_hosts", left).key("right_hosts", right);
                number(writer, "trunk_links", links, 1);
                tier(writer, ["rate", "link_delay"], edge, None);
                tier(writer, ["trunk_rate", "trunk_delay"], trunk, Some(edge));
            }
            Shape::LeafSpine { leaves, spines, hosts, rails, links, edge, fabric } => {
                writer.key("kind", "leaf-spine").key("leaves", leaves).key("spines", spines);
                writer.key("hosts_per_leaf", hosts);
                number(writer, "rails", rails, 1);
                number(writer, "links_per_pair", links, 1);
                tier(writer, ["rate", "link_delay"], edge, None);
                tier(writer, ["fabric_rate", "fabric_delay"], fabric, Some(edge));
            }
            Shape::FatTree(FatTree { pods, tors, aggs, cores, hosts, all, links, core_links, edge, fabric, core }) => {
                writer.key("kind", "fat-tree").key("pods", pods).key("tors_per_pod", tors).key("aggs_per_pod", aggs);
                writer.key("cores", cores).key("hosts_per_tor", hosts);
                if all {
                    writer.key("core_wiring", "all");
                }
                number(writer, "links_per_pair", links, 1);
                number(writer, "core_links_per_pair", core_links, 1);
                tier(writer, ["rate", "link_delay"], edge, None);
                tier(writer, ["fabric_rate", "fabric_delay"], fabric, Some(edge));
                tier(writer, ["core_rate", "core_delay"], core, Some(fabric));
            }
            Shape::Explicit => self.write_explicit(graph, writer),
        }
        if let Some(Servers { gpus, link }) = self.servers {
            writer.head("[topology.nvlink]").key("gpus", gpus).key("rate", rate(link.0)).key("delay", time(link.1));
        }
    }

    fn write_explicit(&self, graph: &Graph, writer: &mut ScenarioWriter) {
        writer.key("kind", "explicit");
        let mut text = String::from("node = [\n");
        for (node, (name, tier)) in (0u32..).zip(self.names.iter().zip(&self.tiers)) {
            if graph.is_switch(node) {
                text += &format!("    {{ name = \"{name}\", kind = \"switch\", tier = \"{tier}\" }},\n");
            } else {
                text += &format!("    {{ name = \"{name}\", kind = \"host\" }},\n");
            }
        }
        text += "]\nlink = [\n";
        for link in &graph.links {
            let (a, b) = (self.name(link.a), self.name(link.b));
            let (rate, delay) = (rate(link.bps), time(link.delay_ps));
            text += &format!("    {{ a = \"{a}\", b = \"{b}\", rate = \"{rate}\", delay = \"{delay}\" }},\n");
        }
        writer.verbatim(&(text + "]\n"));
    }
}

impl Shape {
    /// The name and tier of a switch: node number `node`, after so many hosts, so many links from the next host.
    fn switch(&self, node: u32, hosts: u32, level: u32) -> (String, String) {
        let named = |tier: &str, number: u32| (format!("{tier}{number}"), tier.to_owned());
        let of = |name: &str| (name.to_owned(), "switch".to_owned());
        // Only an explicit graph may have a switch before a host.
        let n = node.saturating_sub(hosts);
        match *self {
            Shape::Star { .. } => of("s0"),
            Shape::Dumbbell { .. } => of(if n == 0 { "left" } else { "right" }),
            Shape::LeafSpine { leaves, .. } if n < leaves => named("leaf", n),
            Shape::LeafSpine { leaves, .. } => named("spine", n - leaves),
            Shape::FatTree(FatTree { pods, tors, .. }) if n < pods * tors => named("tor", n),
            Shape::FatTree(FatTree { pods, tors, aggs, .. }) if n < pods * (tors + aggs) => {
                named("agg", n - pods * tors)
            }
            Shape::FatTree(FatTree { pods, tors, aggs, .. }) => named("core", n - pods * (tors + aggs)),
            Shape::Explicit => (format!("s{node}"), level_name(level)),
        }
    }
}

/// Returns the tier of switches that are so many links from the next host.
fn level_name(level: u32) -> String {
    match level {
        1 => "tor".into(),
        2 => "agg".into(),
        3 => "core".into(),
        _ => format!("tier{level}"),
    }
}

/// Returns the number of links from each node to the next host; nodes that no host reaches are farther than all others.
fn levels(graph: &Graph) -> Vec<u32> {
    let neighbours = graph.neighbours();
    let mut levels = vec![u32::MAX; graph.switch.len()];
    let mut front: Vec<u32> = graph.hosts().collect();
    let mut level = 0;
    while !front.is_empty() {
        let mut next = Vec::new();
        for node in front {
            if let Some(own) = levels.get_mut(node as usize).filter(|own| **own == u32::MAX) {
                *own = level;
                next.extend(neighbours.get(node as usize).into_iter().flatten().map(|(node, _)| *node));
            }
        }
        (front, level) = (next, level + 1);
    }
    levels
}

/// The fabric beside its NVLink switches.
fn with_servers(graph: &Graph) -> Option<(Shape, Servers)> {
    let (servers, rest) = nvlink::apart(graph)?;
    let shape = recognised(&rest, &levels(&rest))?;
    matches!(shape, Shape::LeafSpine { .. } | Shape::FatTree(_)).then_some((shape, servers))
}

fn recognised(graph: &Graph, levels: &[u32]) -> Option<Shape> {
    let hosts = graph.hosts().count() as u32;
    // Built fabrics number their hosts first.
    if hosts == 0 || graph.hosts().last() != Some(hosts - 1) {
        return None;
    }
    let counts = [1, 2, 3].map(|level| levels.iter().filter(|own| **own == level).count() as u32);
    // Tier by tier, without further tiers.
    let mut ascending = levels.windows(2).all(|pair| pair[0] <= pair[1]);
    ascending &= counts.iter().sum::<u32>() + hosts == graph.nodes();
    if !ascending {
        return None;
    }
    let tier = |lower: u32| {
        let level = |node: u32| levels.get(node as usize).copied().unwrap_or(u32::MAX);
        let found = graph.links.iter().find(|link| {
            let (a, b) = (level(link.a), level(link.b));
            a.min(b) == lower && a.max(b) == lower + 1
        });
        found.map(|link| (link.bps, link.delay_ps))
    };
    let edge = tier(0)?;
    let candidates = match counts {
        [1, 0, 0] => vec![Shape::Star { hosts, edge }],
        [2, 0, 0] => dumbbell(graph, hosts, edge).into_iter().collect(),
        [leaves, spines, 0] => leaf_spine(graph, hosts, [leaves, spines], [edge, tier(1)?]),
        [tors, aggs, cores] if aggs > 0 => {
            let rates = [edge, tier(1)?, tier(2)?];
            fat_tree(graph, hosts, [tors, aggs, cores], rates)
        }
        _ => Vec::new(),
    };
    let own = sorted(graph.links.iter().map(|link| (link.a, link.b, (link.bps, link.delay_ps))));
    candidates.into_iter().find(|shape| shape.links(own.len()).is_some_and(|links| links == own))
}

type Wire = (u32, u32, Tier);

fn sorted(links: impl Iterator<Item = Wire>) -> Vec<Wire> {
    let mut all: Vec<Wire> = links.map(|(a, b, tier)| (a.min(b), a.max(b), tier)).collect();
    all.sort_unstable();
    all
}

fn dumbbell(graph: &Graph, hosts: u32, edge: Tier) -> Option<Shape> {
    let at = |switch: u32| graph.links.iter().filter(|l| l.a.min(l.b) < hosts && l.a.max(l.b) == switch).count() as u32;
    let trunks: Vec<&Link> = graph.links.iter().filter(|link| link.a.min(link.b) >= hosts).collect();
    let first = trunks.first()?;
    let trunk = (first.bps, first.delay_ps);
    Some(Shape::Dumbbell { left: at(hosts), right: at(hosts + 1), links: trunks.len() as u32, edge, trunk })
}

fn leaf_spine(graph: &Graph, hosts: u32, [leaves, spines]: [u32; 2], [edge, fabric]: [Tier; 2]) -> Vec<Shape> {
    let pairs = u64::from(leaves) * u64::from(spines);
    let fabric_links = (graph.links.len() as u64).saturating_sub(hosts.into());
    if !hosts.is_multiple_of(leaves) || !fabric_links.is_multiple_of(pairs) {
        return Vec::new();
    }
    let (links, hosts_per_leaf) = ((fabric_links / pairs) as u32, hosts / leaves);
    // With rails, the second host at the first leaf begins the second server.
    let at_first = |link: &&Link| link.a.max(link.b) == hosts;
    let mut first: Vec<u32> = graph.links.iter().filter(at_first).map(|link| link.a.min(link.b)).collect();
    first.sort_unstable();
    let rails = first.get(1).copied().unwrap_or(leaves).max(1);
    let shape = |rails| Shape::LeafSpine { leaves, spines, hosts: hosts_per_leaf, rails, links, edge, fabric };
    let mut all = vec![shape(1)];
    if rails > 1 && leaves.is_multiple_of(rails) {
        all.push(shape(rails));
    }
    all
}

fn fat_tree(graph: &Graph, hosts: u32, [tors, aggs, cores]: [u32; 3], rates: [Tier; 3]) -> Vec<Shape> {
    // The ToRs of the first aggregation switch form a pod.
    let agg = hosts + tors;
    let mut below: Vec<u32> =
        graph.links.iter().filter(|l| l.a.max(l.b) == agg && l.a.min(l.b) >= hosts).map(|l| l.a.min(l.b)).collect();
    below.sort_unstable();
    let of_agg = below.len() as u32;
    below.dedup();
    let per_pod = below.len() as u32;
    let whole = |a: u32, b: u32| (b > 0 && a.is_multiple_of(b)).then(|| a / b);
    let Some(pods) = whole(tors, per_pod) else { return Vec::new() };
    let (Some(aggs), Some(hosts)) = (whole(aggs, pods), whole(hosts, tors)) else { return Vec::new() };
    // As many parallel links as in the first pair of each tier.
    let first_core = agg + aggs * pods;
    let up = |l: &&Link| l.a.min(l.b) == agg && l.a.max(l.b) >= first_core;
    let mut above: Vec<u32> = graph.links.iter().filter(up).map(|l| l.a.max(l.b)).collect();
    let of_core = above.len() as u32;
    above.sort_unstable();
    above.dedup();
    let (Some(links), Some(core_links)) = (whole(of_agg, per_pod), whole(of_core, above.len() as u32)) else {
        return Vec::new();
    };
    let [edge, fabric, core] = rates;
    let shape = |all| {
        let tors = per_pod;
        Shape::FatTree(FatTree { pods, tors, aggs, cores, hosts, all, links, core_links, edge, fabric, core })
    };
    // With one core for each the two wirings are equal.
    let mut both = vec![shape(true)];
    if cores.is_multiple_of(aggs) {
        both.insert(0, shape(false));
    }
    both
}

impl Shape {
    /// The links of the fabric. `None`: their number is not `expected`.
    fn links(&self, expected: usize) -> Option<Vec<Wire>> {
        let mut all = Vec::new();
        match *self {
            Shape::Star { hosts, edge } => all.extend((0..hosts).map(|host| (host, hosts, edge))),
            Shape::Dumbbell { left, right, links, edge, trunk } => {
                let hosts = left + right;
                all.extend((0..hosts).map(|host| (host, hosts + u32::from(host >= left), edge)));
                all.extend((0..links).map(|_| (hosts, hosts + 1, trunk)));
            }
            Shape::LeafSpine { leaves, spines, hosts, rails, links, edge, fabric } => {
                let number = leaves * hosts;
                let leaf = |host: u32| host / (hosts * rails) * rails + host % (hosts * rails) % rails;
                let straight = |host: u32| if rails == 1 { host / hosts } else { leaf(host) };
                all.extend((0..number).map(|host| (host, number + straight(host), edge)));
                fits(all.len() as u64 + u64::from(leaves) * u64::from(spines) * u64::from(links), expected)?;
                for (leaf, spine) in (0..leaves).flat_map(|leaf| (0..spines).map(move |spine| (leaf, spine))) {
                    all.extend((0..links).map(|_| (number + leaf, number + leaves + spine, fabric)));
                }
            }
            Shape::FatTree(tree) => all.extend(tree.wires(expected)?),
            Shape::Explicit => return None,
        }
        fits(all.len() as u64, expected)?;
        Some(sorted(all.into_iter()))
    }
}

impl FatTree {
    /// Its links. `None`: their number is not `expected`.
    fn wires(&self, expected: usize) -> Option<Vec<Wire>> {
        let FatTree { pods, tors, aggs, cores, hosts, .. } = *self;
        let (first_tor, first_agg) = (pods * tors * hosts, pods * tors * (hosts + 1));
        let first_core = first_agg + pods * aggs;
        let ups = if self.all { cores } else { cores / aggs };
        let of_agg = u64::from(tors) * u64::from(self.links) + u64::from(ups) * u64::from(self.core_links);
        fits(
            u64::from(first_tor).saturating_add((u64::from(pods) * u64::from(aggs)).saturating_mul(of_agg)),
            expected,
        )?;
        let mut wires: Vec<Wire> = (0..first_tor).map(|host| (host, first_tor + host / hosts, self.edge)).collect();
        let mut bundle = |links: u32, wire: Wire| wires.extend((0..links).map(|_| wire));
        for agg in 0..pods * aggs {
            let (pod, j) = (agg / aggs, agg % aggs);
            (0..tors).for_each(|tor| bundle(self.links, (first_tor + pod * tors + tor, first_agg + agg, self.fabric)));
            let first = first_core + if self.all { 0 } else { j * ups };
            (0..ups).for_each(|up| bundle(self.core_links, (first_agg + agg, first + up, self.core)));
        }
        Some(wires)
    }
}

/// `Some` if the number of links is as expected: a fabric that cannot be the file's is not built.
fn fits(links: u64, expected: usize) -> Option<()> {
    (links == expected as u64).then_some(())
}
