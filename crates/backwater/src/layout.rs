//! A resolved scenario with its network: the lookup tables of planning.

use crate::error::ScenarioError;
use crate::graph;
use crate::hosts::Neighbours;
use crate::resolved::Resolved;
use backwater_net::Rate;
use backwater_net::packet::{HostId, NodeId};
use backwater_net::topology::{Graph, Index};
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

/// Resolved values and their network.
pub struct Layout {
    /// The resolved values.
    pub resolved: Resolved,
    /// Nodes and links.
    pub graph: Arc<Graph>,
    pub(crate) index: Index,
    /// Rate at which the links of each host send together, without links that are down.
    pub(crate) rates: Vec<Rate>,
    /// Rate at which they bring frames to it together, likewise.
    pub(crate) arriving: Vec<Rate>,
    neighbours: OnceLock<Neighbours>,
}

impl Layout {
    pub(crate) fn new(resolved: Resolved) -> Result<Layout, ScenarioError> {
        let graph = Arc::new(graph::build(&resolved)?);
        let index = Index::new(graph.clone());
        let mut rates = vec![Rate(0); index.hosts() as usize];
        let mut arriving = rates.clone();
        for link in graph.links.iter().filter(|link| link.up) {
            for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
                if let Some(host) = index.host_of(node) {
                    let add = |rate: &mut Rate, more: Rate| *rate = Rate(rate.0.saturating_add(more.0));
                    add(&mut rates[host.0 as usize], link.rate_from(node));
                    add(&mut arriving[host.0 as usize], link.rate_from(peer));
                }
            }
        }
        Ok(Layout { resolved, graph, index, rates, arriving, neighbours: OnceLock::new() })
    }

    pub(crate) fn neighbours(&self) -> &Neighbours {
        self.neighbours.get_or_init(|| Neighbours::of(&self.graph))
    }

    /// A host's name.
    pub(crate) fn name(&self, host: HostId) -> &str {
        self.index.node_of(host).map_or("?", |node| self.graph.nodes[node.0 as usize].name.as_str())
    }

    /// Returns why one host cannot reach another, and a hint.
    pub(crate) fn unreachable(&self, from: HostId, to: HostId) -> (String, &'static str) {
        let (why, hint) = if self.are_joined(from, to) {
            (
                "only other hosts join them, and a host forwards nothing",
                "put a switch between them, or choose other hosts",
            )
        } else {
            ("no links join them", "add a link, or choose other hosts")
        };
        (format!("{} cannot reach {}: {why}", self.name(from), self.name(to)), hint)
    }

    /// Returns whether links lead from one host to another, over any nodes.
    fn are_joined(&self, from: HostId, to: HostId) -> bool {
        let mut seen: HashSet<NodeId> = self.index.node_of(from).into_iter().collect();
        let mut front: Vec<NodeId> = seen.iter().copied().collect();
        while let Some(node) = front.pop() {
            let links = self.graph.links.iter().filter(|link| link.up && (link.a == node || link.b == node));
            front
                .extend(links.map(|link| if link.a == node { link.b } else { link.a }).filter(|far| seen.insert(*far)));
        }
        self.index.node_of(to).is_some_and(|to| seen.contains(&to))
    }

    /// Rate at which the links of a host send together.
    pub(crate) fn rate(&self, host: HostId) -> Rate {
        self.rates.get(host.0 as usize).copied().unwrap_or_default()
    }
}
