//! Nodes and links as in topology files of the ns-3 RDMA codes, recognised as a fabric of a scenario.

pub mod nvlink;
pub mod quantity;
mod shape;

pub use shape::Fabric;

use crate::error::ImportError;
use crate::note::Notes;
use crate::units::MOST_BPS;
use crate::words::Words;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Nodes and links. Every host has a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// For each node whether it is a switch.
    pub switch: Vec<bool>,
    /// Tiers of some switches; for others they follow from the distance to hosts.
    pub tiers: BTreeMap<u32, &'static str>,
    /// In the order of the file.
    pub links: Vec<Link>,
}

/// A link, alike in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Its line.
    pub line: u64,
    /// One end.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Rate in b/s, at least 1.
    pub bps: u64,
    /// Delay in ps.
    pub delay_ps: u64,
    /// Share of frames that are lost.
    pub loss: f64,
}

impl Link {
    /// Its ends, the host first if one end is a host.
    pub fn ends(&self, graph: &Graph) -> (u32, u32) {
        if graph.is_switch(self.a) { (self.b, self.a) } else { (self.a, self.b) }
    }
}

/// The hosts that links connect.
pub struct Joined {
    /// For each node the sets of connected switches, by one of them, to which it has a link.
    islands: Vec<BTreeSet<u32>>,
    /// Pairs of nodes with a link, the lower number first.
    direct: HashSet<(u32, u32)>,
}

impl Joined {
    /// Returns whether two hosts have links to the same switches: they reach the same hosts over them.
    pub fn lie_alike(&self, one: u32, other: u32) -> bool {
        self.islands.get(one as usize) == self.islands.get(other as usize)
    }

    /// Returns whether two hosts are connected.
    pub fn are(&self, one: u32, other: u32) -> bool {
        let of = |host: u32| self.islands.get(host as usize);
        let by_switches = || of(one).zip(of(other)).is_some_and(|(one, other)| !one.is_disjoint(other));
        one == other || self.direct.contains(&(one.min(other), one.max(other))) || by_switches()
    }
}

/// A rate without a unit below this, in b/s, may have been meant in Gb/s.
const LEAST_BARE_BPS: u64 = 1_000_000_000;

/// Longest delay: one second.
const LONGEST_PS: u64 = 1_000_000_000_000;

/// Most links of a host to switches of a kind; a GPU has 18 NVLinks at most.
pub const MOST_LINKS: u32 = 64;

impl Graph {
    /// A graph of so many nodes, initially all hosts.
    pub fn new(nodes: u32) -> Graph {
        Graph { switch: vec![false; nodes as usize], ..Graph::default() }
    }

    /// Adds a node, a switch of this tier.
    pub fn add_switch(&mut self, tier: &'static str) {
        self.tiers.insert(self.nodes(), tier);
        self.switch.push(true);
    }

    /// Reads the numbers of so many switches.
    pub fn read_switches(&mut self, count: u32, words: &mut Words<'_>) -> Result<(), ImportError> {
        for _ in 0..count {
            let line = words.line();
            let id: u32 = words.number("the number of a switch")?;
            let nodes = self.switch.len();
            match self.switch.get_mut(id as usize) {
                Some(switch) if *switch => {
                    return Err(words.error(words.line(), format!("switch {id} stands twice")));
                }
                Some(switch) => *switch = true,
                None => {
                    let reason = format!("there is no node {id}: the file says {nodes} nodes");
                    return Err(words.error(words.line().max(line), reason));
                }
            }
        }
        Ok(())
    }

    /// Reads so many links: two nodes, rate, delay and share of lost frames each. Notes small rates that probably lack a unit.
    pub fn read_links(&mut self, count: u32, words: &mut Words<'_>, notes: &mut Notes) -> Result<(), ImportError> {
        for _ in 0..count {
            let mut ends = [0u32; 2];
            for end in &mut ends {
                *end = words.number("the number of a node")?;
                if *end as usize >= self.switch.len() {
                    let reason = format!("there is no node {end}: the file says {} nodes", self.switch.len());
                    return Err(words.error(words.line(), reason));
                }
            }
            let [a, b] = ends;
            if a == b {
                return Err(words.error(words.line(), format!("a link of node {a} to itself")));
            }
            let rate = words.word("a rate")?;
            let Some(bps) = quantity::rate(rate.text).filter(|bps| (1..=MOST_BPS).contains(bps)) else {
                let hint = "as in 100Gbps, 1000 Tb/s at most";
                return Err(words.error(rate.line, "is not a rate").value(rate.text).hint(hint));
            };
            if bps < LEAST_BARE_BPS && rate.text.parse::<f64>().is_ok() {
                let text = format!("{} b/s: bits a second where no unit stands", rate.text);
                notes.assumed(words.file(), Some(rate.line), text);
            }
            let delay = words.word("a delay")?;
            let Some(delay_ps) = quantity::time(delay.text).filter(|ps| *ps <= LONGEST_PS) else {
                let hint = "as in 1000ns, a second at most";
                return Err(words.error(delay.line, "is not a delay").value(delay.text).hint(hint));
            };
            let loss = words.word("a share of lost frames")?;
            let Some(share) = quantity::share(loss.text) else {
                return Err(words.error(loss.line, "is not a share from 0 to 1").value(loss.text));
            };
            self.links.push(Link { line: rate.line, a, b, bps, delay_ps, loss: share });
        }
        Ok(())
    }

    /// Returns the hosts that links connect: by a direct link, or by switches. Hosts do not forward.
    pub fn joined(&self) -> Joined {
        let neighbours = self.neighbours();
        let mut island: Vec<Option<u32>> = vec![None; self.switch.len()];
        for first in self.switches() {
            let mut next = vec![first];
            while let Some(node) = next.pop() {
                let Some(own) = island.get_mut(node as usize).filter(|own| own.is_none()) else { continue };
                *own = Some(first);
                let others = neighbours.get(node as usize).into_iter().flatten().map(|(other, _)| *other);
                next.extend(others.filter(|other| self.is_switch(*other)));
            }
        }
        let islands = neighbours
            .iter()
            .map(|own| own.iter().filter_map(|(other, _)| island.get(*other as usize).copied().flatten()).collect());
        let islands = islands.collect();
        let direct = self.links.iter().map(|link| (link.a.min(link.b), link.a.max(link.b))).collect();
        Joined { islands, direct }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.switch.len() as u32
    }

    /// Returns whether a node is a switch; `false` for a number without a node.
    pub fn is_switch(&self, node: u32) -> bool {
        self.switch.get(node as usize).copied().unwrap_or(false)
    }

    /// Returns whether a node is an NVLink switch.
    pub fn is_nvlink(&self, node: u32) -> bool {
        self.tiers.get(&node) == Some(&nvlink::NVLINK)
    }

    /// All hosts, in the order of their numbers.
    pub fn hosts(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.nodes()).filter(|node| !self.is_switch(*node))
    }

    /// Returns whether a host has several links.
    pub fn hosts_have_several(&self) -> bool {
        let mut seen = HashSet::new();
        let mut ends = self.links.iter().flat_map(|link| [link.a, link.b]).filter(|node| !self.is_switch(*node));
        ends.any(|host| !seen.insert(host))
    }

    /// All switches, in the order of their numbers.
    pub fn switches(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.nodes()).filter(|node| self.is_switch(*node))
    }

    /// The neighbours of each node, with the link that leads there.
    pub fn neighbours(&self) -> Vec<Vec<(u32, Link)>> {
        let mut all = vec![Vec::new(); self.switch.len()];
        for link in &self.links {
            for (from, to) in [(link.a, link.b), (link.b, link.a)] {
                if let Some(list) = all.get_mut(from as usize) {
                    list.push((to, *link));
                }
            }
        }
        all
    }
}
