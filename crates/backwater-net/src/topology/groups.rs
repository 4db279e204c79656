//! Global links: how groups of switches are connected all to all.
//!
//! ```text
//! ports of a group   number = switch in the group x links of a switch + link; (switches x links) of them, G - 1 a round
//! port p of group i  leads to group j = p mod (G - 1), or j + 1 where j is not below i: the other groups in their order, round by round
//! its other end      the port of that group in the same round that leads to group i
//! ```
//!
//! With one round this is the arrangement that Hastings et al., "Comparing Global Link Arrangements for Dragonfly Networks" (CLUSTER 2015),
//! call absolute.

use super::GraphError;
use super::limits::{MOST, count};

/// Groups with the same number of links between every pair.
pub(super) struct Groups {
    /// Number of groups, G: at least 2.
    pub groups: u32,
    /// Switches of a group that have global links.
    pub switches: u32,
    /// Global links of each of these switches.
    pub links: u32,
}

impl Groups {
    /// Global links of a group.
    fn ports(&self) -> u64 {
        u64::from(self.switches) * u64::from(self.links)
    }

    /// Checks that every pair of groups gets as many links, and that they are not too many.
    pub fn check(&self) -> Result<(), GraphError> {
        count("groups beside the first", self.groups.saturating_sub(1).into(), MOST)?;
        count("global links of a group", self.ports(), MOST)?;
        let others = u64::from(self.groups) - 1;
        if !self.ports().is_multiple_of(others) {
            let (what, among) = ("global links of a group".into(), "other groups".into());
            return Err(GraphError::Uneven { what, got: self.ports(), among, by: others });
        }
        count("links between groups", self.ports().saturating_mul(self.groups.into()) / 2, MOST)
    }

    /// The links, each by the numbers of its two switches among those of all groups; groups in order, then round by round.
    pub fn links(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        let others = self.groups - 1;
        let rounds = (self.ports() / u64::from(others)) as u32;
        let switch = |group: u32, port: u32| group * self.switches + port / self.links;
        let pairs = (0..self.groups).flat_map(move |i| (i + 1..self.groups).map(move |j| (i, j)));
        pairs.flat_map(move |(i, j)| {
            (0..rounds).map(move |round| [switch(i, round * others + j - 1), switch(j, round * others + i)])
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Graph, NodeKind};
    use super::*;
    use std::collections::{BTreeMap, VecDeque};

    /// Returns the number of links between each pair of groups of so many switches of a tier.
    pub fn pairs_of_groups(graph: &Graph, tier: &str, switches: u32) -> BTreeMap<(u32, u32), u32> {
        let group = |node: u32| {
            let of = &graph.nodes[node as usize];
            let number: u32 = of.name.strip_prefix(tier).filter(|_| of.tier == tier)?.parse().ok()?;
            Some(number / switches)
        };
        let mut pairs = BTreeMap::new();
        for link in &graph.links {
            if let (Some(a), Some(b)) = (group(link.a.0), group(link.b.0))
                && a != b
            {
                *pairs.entry((a.min(b), a.max(b))).or_default() += 1;
            }
        }
        pairs
    }

    /// Most links on a shortest path between two hosts, found by an independent search.
    pub fn farthest(graph: &Graph) -> u32 {
        let mut near = vec![Vec::new(); graph.nodes.len()];
        for link in &graph.links {
            near[link.a.0 as usize].push(link.b.0);
            near[link.b.0 as usize].push(link.a.0);
        }
        let from = |start: u32| {
            let mut distance = vec![None; graph.nodes.len()];
            distance[start as usize] = Some(0u32);
            let mut queue = VecDeque::from([start]);
            while let Some(node) = queue.pop_front() {
                if node != start && graph.nodes[node as usize].kind == NodeKind::Host {
                    continue;
                }
                for &to in &near[node as usize] {
                    if distance[to as usize].is_none() {
                        distance[to as usize] = distance[node as usize].map(|links| links + 1);
                        queue.push_back(to);
                    }
                }
            }
            graph.hosts().map(|host| distance[host.0 as usize].expect("every host reaches every other")).max()
        };
        graph.hosts().filter_map(|host| from(host.0)).max().unwrap_or(0)
    }

    /// Both ends of a link are at the port that leads to the other group.
    #[test]
    fn each_port_leads_to_one_other_group() {
        // 6 ports and 4 groups: two rounds of three.
        let all = Groups { groups: 4, switches: 3, links: 2 };
        all.check().unwrap();
        let links: Vec<[u32; 2]> = all.links().collect();
        assert_eq!(links.len(), 12);
        // Port 0 of group 0 leads to group 1, port 3 once more: switch 0 and switch 1 of it. There ports 0 and 3 lead to group 0.
        assert_eq!(links[..2], [[0, 3], [1, 4]]);
        // Group 2 and group 3: ports 2 and 5 there, and here ports 2 and 5, too.
        assert_eq!(links[10..], [[7, 10], [8, 11]]);
        let mut ends = vec![0; 12];
        links.iter().flatten().for_each(|switch| ends[*switch as usize] += 1);
        assert_eq!(ends, [2; 12]);
    }
}
