//! `[topology]` as a graph.

use crate::error::ScenarioError;
use crate::links;
use crate::resolved::Resolved;
use backwater_net::topology::{Explicit, Graph, GraphError, LeafSpine, Topology};

/// Nodes and links of the scenario.
pub(crate) fn build(resolved: &Resolved) -> Result<Graph, ScenarioError> {
    let mut graph = resolved.file.topology.build().map_err(|error| explained(resolved, &error))?;
    links::differ(resolved, &mut graph)?;
    Ok(graph)
}

/// The error with the key that it concerns.
fn explained(resolved: &Resolved, error: &GraphError) -> ScenarioError {
    let key = match (&resolved.file.topology, error) {
        (_, GraphError::NvLink(_)) => "topology.nvlink".to_owned(),
        (_, GraphError::NoName { node, .. }) => format!("topology.node.{node}.name"),
        (
            Topology::Explicit(Explicit { node, .. }),
            GraphError::NameTwice { name } | GraphError::HostLinks { name, .. },
        ) => {
            let at = node.iter().rposition(|n| n.name == *name);
            at.map_or("topology".to_owned(), |i| format!("topology.node.{i}.name"))
        }
        (Topology::Explicit(Explicit { link, .. }), error) => match error.link() {
            None => "topology".to_owned(),
            Some(i) => {
                // The end that the error names.
                let names = |text: &str, name: &str| text.split(':').next().map(str::trim) == Some(name);
                let end = match error {
                    GraphError::UnknownNode { name, .. }
                    | GraphError::PortTwice { node: name, .. }
                    | GraphError::PortBeyond { node: name, .. } => {
                        link.get(i).map_or("", |l| if names(&l.a, name) { ".a" } else { ".b" })
                    }
                    GraphError::NoPort { end: 'a', .. } => ".a",
                    GraphError::NoPort { .. } => ".b",
                    GraphError::NoRate { .. } => ".rate",
                    GraphError::DelaysDiffer { .. } => ".delay",
                    _ => "",
                };
                format!("topology.link.{i}{end}")
            }
        },
        (Topology::FatTree(_), GraphError::Uneven { .. }) => "topology.cores".to_owned(),
        (Topology::LeafSpine(LeafSpine { leaves, rails, .. }), GraphError::Uneven { .. }) => {
            let key = if leaves.is_multiple_of(*rails) { "leaves_per_host" } else { "rails" };
            format!("topology.{key}")
        }
        (Topology::Dragonfly(_) | Topology::DragonflyPlus(_), GraphError::Uneven { .. }) => {
            "topology.groups".to_owned()
        }
        _ => "topology".to_owned(),
    };
    resolved.error(&key, error.to_string()).hint(error.hint())
}
