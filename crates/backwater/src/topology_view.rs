//! A view of a scenario for drawing: nodes, links, and flows.
//!
//! Paths that a run chooses by itself (ECMP, load balancing) are missing, and so are the flows of jobs, which are known only during the
//! run.

use crate::build::build;
use crate::check::Checked;
use crate::error::ScenarioError;
use backwater_net::topology::{Graph, NodeKind};
use std::collections::BTreeMap;

/// A node in the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewedNode {
    /// Its name.
    pub name: String,
    /// Its tier.
    pub tier: String,
    /// True if it is a host.
    pub host: bool,
}

/// A link between two nodes, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewedLink {
    /// One end.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// \[b/s\] in the slower direction
    pub rate_bps: u64,
    /// \[ps\] propagation delay in each direction
    pub delay_ps: u64,
}

/// Flows of one group from one host to another on one path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ViewedFlows {
    /// Label of the group.
    pub group: String,
    /// Nodes from source to destination, both included; only these two if the run chooses the path.
    pub nodes: Vec<u32>,
    /// Their number.
    pub flows: u64,
    /// \[bytes\] payload of all of them; 0 for streams that end by time only
    pub bytes: u64,
}

/// A scenario for drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyView {
    /// Nodes by number.
    pub nodes: Vec<ViewedNode>,
    /// Links.
    pub links: Vec<ViewedLink>,
    /// Flows, by group, path and ends.
    pub flows: Vec<ViewedFlows>,
    /// True if these are all flows; otherwise a source has more than requested, or there are jobs.
    pub complete: bool,
}

/// Examines a scenario, and the first `most` flows of each of its sources.
///
/// # Errors
/// Any error of building the run.
pub fn sketch(checked: &Checked, seed: u64, most: usize) -> Result<TopologyView, ScenarioError> {
    let spec = build(checked, seed)?;
    let hosts: Vec<u32> = spec.graph.hosts().map(|node| node.0).collect();
    let mut complete = spec.jobs.is_empty();
    let mut found: BTreeMap<(u32, Vec<u32>), (u64, u64)> = BTreeMap::new();
    for mut source in spec.sources {
        let mut left = most;
        while let Some(flow) = source.next_flow() {
            if left == 0 {
                complete = false;
                break;
            }
            left -= 1;
            let nodes = match &flow.path {
                Some(path) => path.iter().map(|node| node.0).collect(),
                None => vec![hosts[flow.src.0 as usize], hosts[flow.dst.0 as usize]],
            };
            let (flows, bytes) = found.entry((flow.group, nodes)).or_default();
            *flows += 1;
            *bytes = bytes.saturating_add(flow.bytes);
        }
    }
    let flows = found.into_iter().map(|((group, nodes), (flows, bytes))| {
        let group = spec.groups[group as usize].clone();
        ViewedFlows { group, nodes, flows, bytes }
    });
    Ok(TopologyView { nodes: nodes(&spec.graph), links: links(&spec.graph), flows: flows.collect(), complete })
}

fn nodes(graph: &Graph) -> Vec<ViewedNode> {
    let one = |node: &backwater_net::topology::Node| ViewedNode {
        name: node.name.clone(),
        tier: node.tier.clone(),
        host: node.kind == NodeKind::Host,
    };
    graph.nodes.iter().map(one).collect()
}

fn links(graph: &Graph) -> Vec<ViewedLink> {
    let one = |link: &backwater_net::topology::Link| ViewedLink {
        a: link.a.0,
        b: link.b.0,
        rate_bps: link.slowest().0,
        delay_ps: link.delay.as_ps(),
    };
    graph.links.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use std::path::Path;

    const SCENARIO: &str = r#"
        [topology]
        kind = "star"
        hosts = 4
        rate = "100 Gb/s"
        link_delay = "500 ns"
        [[flow]]
        label = "pinned"
        from = [1, 2]
        to = 0
        size = "1 MB"
        path = ["s0"]
        [[flow]]
        label = "twice"
        from = 3
        to = 0
        size = "2 MB"
        count = 2
    "#;

    fn look(most: usize) -> TopologyView {
        let scenario = Scenario::from_text(SCENARIO, "test", Path::new(".")).expect("it is a scenario");
        sketch(&scenario.check().expect("it resolves"), 1, most).expect("it builds")
    }

    /// Pinned paths show all nodes, others their ends; equal ones are one arrow.
    #[test]
    fn flows_are_gathered_by_group_and_way() {
        let sketch = look(100);
        let arrows: Vec<(&str, Vec<&str>, u64, u64)> = sketch
            .flows
            .iter()
            .map(|f| {
                let names = f.nodes.iter().map(|n| sketch.nodes[*n as usize].name.as_str()).collect();
                (f.group.as_str(), names, f.flows, f.bytes)
            })
            .collect();
        assert_eq!(
            arrows,
            [
                ("pinned", vec!["h1", "s0", "h0"], 1, 1_000_000),
                ("pinned", vec!["h2", "s0", "h0"], 1, 1_000_000),
                ("twice", vec!["h3", "h0"], 2, 4_000_000),
            ]
        );
        assert!(sketch.complete);
        assert_eq!((sketch.nodes.len(), sketch.links.len()), (5, 4));
        assert_eq!(sketch.nodes.iter().filter(|node| node.host).count(), 4);
        assert_eq!((sketch.links[0].rate_bps, sketch.links[0].delay_ps), (100_000_000_000, 500_000));
    }

    /// A source with more flows than requested is cut, and the view is marked as incomplete.
    #[test]
    fn a_long_source_is_cut() {
        let sketch = look(1);
        assert_eq!(sketch.flows.iter().map(|f| f.flows).sum::<u64>(), 2);
        assert!(!sketch.complete);
    }
}
