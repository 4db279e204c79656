//! A settled scenario with its network laid out: what planning looks things up in.

use crate::error::ScenarioError;
use crate::graph;
use crate::hosts::Neighbours;
use crate::resolved::Resolved;
use backwater_net::Rate;
use backwater_net::packet::HostId;
use backwater_net::topology::{Graph, Index};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Settled values and the network that they describe.
pub struct Layout {
    /// The settled values.
    pub resolved: Resolved,
    /// Nodes and links.
    pub graph: Arc<Graph>,
    pub(crate) index: Index,
    /// Rate of each host's link.
    pub(crate) rates: Vec<Rate>,
    neighbours: OnceLock<Neighbours>,
}

impl Layout {
    pub(crate) fn new(resolved: Resolved) -> Result<Layout, ScenarioError> {
        let graph = Arc::new(graph::build(&resolved)?);
        let index = Index::new(graph.clone());
        let mut rates = vec![Rate(0); index.hosts() as usize];
        for link in &graph.links {
            for host in [link.a, link.b].into_iter().filter_map(|node| index.host_of(node)) {
                rates[host.0 as usize] = link.rate;
            }
        }
        Ok(Layout { resolved, graph, index, rates, neighbours: OnceLock::new() })
    }

    pub(crate) fn neighbours(&self) -> &Neighbours {
        self.neighbours.get_or_init(|| Neighbours::of(&self.graph))
    }

    /// A host's name.
    pub(crate) fn name(&self, host: HostId) -> &str {
        self.index.node_of(host).map_or("?", |node| self.graph.nodes[node.0 as usize].name.as_str())
    }

    /// Rate of a host's link.
    pub(crate) fn rate(&self, host: HostId) -> Rate {
        self.rates.get(host.0 as usize).copied().unwrap_or_default()
    }
}

impl Deref for Layout {
    type Target = Resolved;

    fn deref(&self) -> &Resolved {
        &self.resolved
    }
}
