//! Fast lookup of nodes, hosts and links of a graph: for tables of a million flows.

use super::{Graph, NodeKind, PathError};
use crate::model::packet::{HostId, NodeId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Names, host numbers and neighbourhoods of a graph.
pub struct Index {
    graph: Arc<Graph>,
    names: HashMap<String, NodeId>,
    host_nodes: Vec<NodeId>,
    host_numbers: Vec<Option<HostId>>,
    joined: HashSet<(NodeId, NodeId)>,
    islands: Vec<u32>,
    /// Links of each node.
    degrees: Vec<u32>,
    /// The switches next to hosts with several links, over links that are up. Hosts do not forward.
    around: HashMap<NodeId, Vec<NodeId>>,
}

impl Index {
    /// An index of a graph that [`Graph::validate`] has found valid.
    pub fn new(graph: Arc<Graph>) -> Index {
        let host_nodes: Vec<NodeId> = graph.hosts().collect();
        let mut host_numbers = vec![None; graph.nodes.len()];
        for (i, node) in host_nodes.iter().enumerate() {
            host_numbers[node.0 as usize] = Some(HostId(i as u32));
        }
        let mut around: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        let several = graph.several();
        for link in graph.links.iter().filter(|link| link.up) {
            for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
                if several[node.0 as usize] {
                    let switch = (graph.nodes[peer.0 as usize].kind == NodeKind::Switch).then_some(peer);
                    around.entry(node).or_default().extend(switch);
                }
            }
        }
        let numbered = graph.nodes.iter().enumerate();
        Index {
            around,
            degrees: graph.degrees().unwrap_or_default(),
            names: numbered.map(|(i, node)| (node.name.clone(), NodeId(i as u32))).collect(),
            host_nodes,
            host_numbers,
            joined: graph.links.iter().filter(|l| l.up).flat_map(|l| [(l.a, l.b), (l.b, l.a)]).collect(),
            islands: graph.islands(),
            graph,
        }
    }

    /// The graph.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.host_nodes.len() as u32
    }

    /// The node of a name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.names.get(name).copied()
    }

    /// The node of a host.
    pub fn node_of(&self, host: HostId) -> Option<NodeId> {
        self.host_nodes.get(host.0 as usize).copied()
    }

    /// The host of a node.
    pub fn host_of(&self, node: NodeId) -> Option<HostId> {
        self.host_numbers.get(node.0 as usize).copied().flatten()
    }

    /// The host of a name, or of a number written in digits.
    pub fn host(&self, text: &str) -> Option<HostId> {
        match text.parse::<u32>() {
            Ok(number) if number < self.hosts() => Some(HostId(number)),
            _ => self.host_of(self.node(text)?),
        }
    }

    /// Number of a host's links.
    pub fn links(&self, host: HostId) -> u32 {
        self.node_of(host).and_then(|node| self.degrees.get(node.0 as usize).copied()).unwrap_or(0)
    }

    /// Returns whether any path leads from one host to the other.
    pub fn reaches(&self, from: HostId, to: HostId) -> bool {
        let (Some(from), Some(to)) = (self.node_of(from), self.node_of(to)) else { return false };
        let island = |node: NodeId| self.islands[node.0 as usize];
        if self.around.is_empty() {
            return island(from) == island(to);
        }
        let parts = |node: NodeId| {
            let around = self.around.get(&node).map_or(&[][..], Vec::as_slice);
            std::iter::once(node).chain(around.iter().copied()).map(island)
        };
        self.joined.contains(&(from, to)) || parts(from).any(|part| parts(to).any(|other| part == other))
    }

    /// Returns whether all of these hosts have a link into the same part of the network: then each reaches every other.
    pub fn meet(&self, hosts: &[HostId]) -> bool {
        let parts = |host: &HostId| {
            let node = self.node_of(*host);
            let around = node.and_then(|node| self.around.get(&node)).map_or(&[][..], Vec::as_slice);
            node.into_iter().chain(around.iter().copied()).map(|node| self.islands[node.0 as usize])
        };
        let Some(first) = hosts.first() else { return true };
        parts(first).any(|part| hosts.iter().all(|host| parts(host).any(|other| other == part)))
    }

    /// The path through the named nodes. The result includes both hosts; `names` may omit them.
    pub fn path<'a>(
        &self,
        from: HostId,
        to: HostId,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Arc<[NodeId]>, PathError> {
        let name_of = |node: NodeId| self.graph.nodes[node.0 as usize].name.clone();
        let end = |host: HostId| {
            self.node_of(host).ok_or_else(|| PathError::UnknownNode { name: format!("host {}", host.0) })
        };
        let (first, last) = (end(from)?, end(to)?);
        let mut path = vec![first];
        for name in names {
            let node = self.node(name).ok_or_else(|| PathError::UnknownNode { name: name.to_owned() })?;
            if node != first || path.len() > 1 {
                path.push(node);
            }
        }
        if path.last() != Some(&last) {
            path.push(last);
        }
        let mut passed = HashSet::with_capacity(path.len());
        for (i, &node) in path.iter().enumerate() {
            if !passed.insert(node) {
                return Err(PathError::Twice { name: name_of(node) });
            }
            let inner = i > 0 && i + 1 < path.len();
            if inner && self.graph.nodes[node.0 as usize].kind == NodeKind::Host {
                return Err(PathError::ThroughHost { name: name_of(node) });
            }
        }
        for pair in path.windows(2) {
            if !self.joined.contains(&(pair[0], pair[1])) {
                return Err(PathError::NoLink { from: name_of(pair[0]), to: name_of(pair[1]) });
            }
        }
        Ok(path.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::LeafSpine;

    fn small() -> Graph {
        LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, ..LeafSpine::default() }.build().unwrap()
    }

    #[test]
    fn hosts_by_number_and_by_name() {
        let graph = small();
        let index = Index::new(graph.into());
        assert_eq!(index.host("3"), Some(HostId(3)));
        assert_eq!(index.host("h3"), Some(HostId(3)));
        assert_eq!(index.host("4"), None);
        assert_eq!(index.host("leaf0"), None);
        assert!(index.reaches(HostId(0), HostId(3)));
    }

    #[test]
    fn paths_with_and_without_their_ends() {
        let graph = small();
        let index = Index::new(graph.into());
        let nodes = |text: &str| index.path(HostId(0), HostId(2), text.split(' '));
        let whole = nodes("h0 leaf0 spine1 leaf1 h2").unwrap();
        assert_eq!(nodes("leaf0 spine1 leaf1").unwrap(), whole);
        assert_eq!(whole.len(), 5);
        let name = |text: &str| text.to_owned();
        assert_eq!(nodes("leaf0 spine9 leaf1"), Err(PathError::UnknownNode { name: name("spine9") }));
        assert_eq!(nodes("leaf0 leaf1"), Err(PathError::NoLink { from: name("leaf0"), to: name("leaf1") }));
        assert_eq!(nodes("leaf0 h1 leaf0 spine0 leaf1"), Err(PathError::ThroughHost { name: name("h1") }));
        assert_eq!(nodes("leaf0 spine0 leaf0 spine1 leaf1"), Err(PathError::Twice { name: name("leaf0") }));
    }
}
