//! Pinned paths of flows: whole paths, or nodes to pass by the shortest path.

use crate::error::ScenarioError;
use crate::file::{FlowGroup, Waypoints};
use crate::hosts;
use crate::layout::Layout;
use backwater_net::packet::{HostId, NodeId};
use backwater_net::spec::Way;
use std::sync::Arc;

/// The path of each pair; `None` if no path is pinned.
pub(crate) fn ways(
    layout: &Layout,
    key: &str,
    group: &FlowGroup,
    pairs: &[(HostId, HostId)],
) -> Result<Vec<Way>, ScenarioError> {
    let data = match (&group.path, &group.via) {
        (Some(path), _) => Some(("path", path)),
        (None, Some(via)) => Some(("via", via)),
        (None, None) if group.ack_path.is_none() => return Ok(Vec::new()),
        (None, None) => None,
    };
    let mut ways = vec![Way::default(); pairs.len()];
    if let Some((name, waypoints)) = data {
        let paths = pinned(layout, key, name, waypoints, pairs.iter().copied())?;
        ways.iter_mut().zip(paths).for_each(|(way, path)| way.data = Some(path));
    }
    if let Some(waypoints) = &group.ack_path {
        let paths = pinned(layout, key, "ack_path", waypoints, pairs.iter().map(|(src, dst)| (*dst, *src)))?;
        ways.iter_mut().zip(paths).for_each(|(way, path)| way.acks = Some(path));
    }
    Ok(ways)
}

/// The path of each pair by a key of its group.
fn pinned(
    layout: &Layout,
    key: &str,
    name: &str,
    waypoints: &Waypoints,
    pairs: impl ExactSizeIterator<Item = (HostId, HostId)>,
) -> Result<Vec<Arc<[NodeId]>>, ScenarioError> {
    let key = format!("{key}.{name}");
    if let Waypoints::Each(lists) = waypoints
        && lists.len() != pairs.len()
    {
        let reason = format!("{} lists of nodes for {} pairs", lists.len(), pairs.len());
        return Err(layout.resolved.error(&key, reason).hint("one list for all, or one for each pair"));
    }
    let mut out = Vec::with_capacity(pairs.len());
    for (i, (src, dst)) in pairs.enumerate() {
        let names = waypoints.of(i).unwrap_or_default();
        let way = if name == "via" { spelt_out(layout, &key, names, src, dst)? } else { names.to_vec() };
        let path = layout.index.path(src, dst, way.iter().map(String::as_str)).map_err(|e| {
            let hint = "neighbours in a path are joined by a link; hosts may be left out at its ends";
            layout.resolved.error(&key, format!("from {} to {}: {e}", layout.name(src), layout.name(dst))).hint(hint)
        })?;
        out.push(path);
    }
    Ok(out)
}

/// The nodes of the shortest path through the named ones in their order.
fn spelt_out(
    layout: &Layout,
    key: &str,
    names: &[String],
    src: HostId,
    dst: HostId,
) -> Result<Vec<String>, ScenarioError> {
    let graph = layout.index.graph();
    let name_of = |node: NodeId| graph.nodes[node.0 as usize].name.clone();
    let mut stops: Vec<NodeId> = layout.index.node_of(src).into_iter().collect();
    for name in names {
        let Some(node) = layout.index.node(name) else {
            return Err(layout
                .resolved
                .error(key, format!("there is no node `{name}`"))
                .hint(hosts::node_hint(name, graph)));
        };
        stops.push(node);
    }
    stops.extend(layout.index.node_of(dst));
    let mut way: Vec<String> = stops.first().map(|n| name_of(*n)).into_iter().collect();
    for step in stops.windows(2).filter(|s| s[0] != s[1]) {
        match layout.neighbours().way(graph, step[0], step[1]) {
            Ok(nodes) => way.extend(nodes.into_iter().skip(1).map(name_of)),
            Err(several) => {
                let (a, b) = (name_of(step[0]), name_of(step[1]));
                let (what, hint) = if several {
                    ("several shortest ways lead", "name more nodes to pass")
                } else {
                    ("no way leads", "choose nodes that links join")
                };
                return Err(layout.resolved.error(key, format!("{what} from {a} to {b}")).hint(hint));
            }
        }
    }
    Ok(way)
}
