//! A settled scenario with its network laid out: what planning looks things up in.

use crate::error::ScenarioError;
use crate::graph;
use crate::hosts::Neighbours;
use crate::resolved::Resolved;
use backwater_net::Rate;
use backwater_net::packet::HostId;
use backwater_net::topology::{Graph, Index};
use std::sync::{Arc, OnceLock};

/// Settled values and the network that they describe.
pub struct Layout {
    /// The settled values.
    pub resolved: Resolved,
    /// Nodes and links.
    pub graph: Arc<Graph>,
    pub(crate) index: Index,
    /// Rate at which the links of each host send together, those that are down left out.
    pub(crate) rates: Vec<Rate>,
    /// Rate at which they bring frames to it together.
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

    /// Rate at which the links of a host send together.
    pub(crate) fn rate(&self, host: HostId) -> Rate {
        self.rates.get(host.0 as usize).copied().unwrap_or_default()
    }
}
