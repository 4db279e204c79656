//! `[[link.at]]`: links that differ from the others of their kind in the topology.

use crate::error::{ScenarioError, nearest};
use crate::file::{LinkAt, Nodes};
use crate::hosts::{node_hint, stepped};
use crate::resolved::Resolved;
use backwater_net::packet::NodeId;
use backwater_net::topology::{Graph, Link};
use std::collections::HashMap;

/// Applies the values of entries to links, in their order.
pub(crate) fn differ(resolved: &Resolved, graph: &mut Graph) -> Result<(), ScenarioError> {
    let entries = &resolved.file.link.at;
    if entries.is_empty() {
        return Ok(());
    }
    let places = Places::of(graph);
    for (i, entry) in entries.iter().enumerate() {
        let key = format!("link.at.{i}");
        complete(resolved, &key, entry)?;
        let set = |name: &str, nodes: &Nodes| {
            let found = places.all(graph, nodes);
            found.map_err(|(reason, hint)| resolved.error(&format!("{key}.{name}"), reason).hint(hint))
        };
        let any = || Ok(vec![true; graph.nodes.len()]);
        let (one, other) = match &entry.between {
            Some([one, other]) => (set("between", one)?, set("between", other)?),
            None => (
                entry.from.as_ref().map_or_else(any, |nodes| set("from", nodes))?,
                entry.to.as_ref().map_or_else(any, |nodes| set("to", nodes))?,
            ),
        };
        // Per direction of a link: whether the entry selects it.
        let meant = |link: &Link| {
            let (a, b) = (link.a.0 as usize, link.b.0 as usize);
            let each = [one[a] && other[b], one[b] && other[a]];
            if entry.between.is_some() { [each[0] || each[1]; 2] } else { each }
        };
        let mut found = false;
        for (link, number) in graph.links.iter_mut().zip(&places.numbers) {
            let meant = meant(link);
            if meant == [false; 2] || entry.number.is_some_and(|wanted| wanted != *number) {
                continue;
            }
            found = true;
            change(link, entry, meant);
        }
        if !found {
            let (reason, hint) = match entry.number {
                None => ("no link joins such nodes".to_owned(), "the links of a topology join neighbouring tiers"),
                Some(number) => (
                    format!("no two such nodes are joined by a link of number {number}"),
                    "links that join the same two nodes are counted from 0",
                ),
            };
            return Err(resolved.error(&key, reason).hint(hint));
        }
    }
    Ok(())
}

/// Checks that an entry selects links, and changes a value.
fn complete(resolved: &Resolved, key: &str, entry: &LinkAt) -> Result<(), ScenarioError> {
    let one_way = entry.from.is_some() || entry.to.is_some();
    if entry.between.is_some() == one_way {
        let reason =
            if one_way { "says both `between` and `from` or `to`" } else { "does not say which links it means" };
        let hint = "`between` two sets of nodes is for both directions; `from` and `to` are for one";
        return Err(resolved.error(key, reason).hint(hint));
    }
    if entry.rate.is_none() && entry.delay.is_none() && entry.loss.is_none() && entry.down.is_none() {
        let hint = "give `rate`, `delay`, `loss` or `down`";
        return Err(resolved.error(key, "says nothing of its links").hint(hint));
    }
    for (name, given) in [("delay", entry.delay.is_some()), ("down", entry.down.is_some())] {
        if one_way && given {
            let reason = format!("a link has one `{name}` for both directions");
            return Err(resolved.error(&format!("{key}.{name}"), reason).hint("name the links by `between`"));
        }
    }
    Ok(())
}

/// Applies the values of an entry to a link in the directions that are `meant`.
fn change(link: &mut Link, entry: &LinkAt, meant: [bool; 2]) {
    for way in [0, 1].into_iter().filter(|way| meant[*way]) {
        link.rates[way] = entry.rate.unwrap_or(link.rates[way]);
        link.losses[way] = entry.loss.unwrap_or(link.losses[way]);
    }
    link.delay = entry.delay.unwrap_or(link.delay);
    link.up = entry.down.map_or(link.up, |down| !down);
}

/// Nodes by name, and links by their numbers among those that join the same two nodes.
struct Places {
    names: HashMap<String, NodeId>,
    numbers: Vec<u32>,
}

impl Places {
    fn of(graph: &Graph) -> Places {
        let mut joined: HashMap<(NodeId, NodeId), u32> = HashMap::new();
        let mut number = |link: &Link| {
            let next = joined.entry((link.a.min(link.b), link.a.max(link.b))).or_default();
            *next += 1;
            *next - 1
        };
        let nodes = (0u32..).zip(&graph.nodes);
        Places {
            numbers: graph.links.iter().map(&mut number).collect(),
            names: nodes.map(|(i, node)| (node.name.clone(), NodeId(i))).collect(),
        }
    }

    /// Per node: whether it belongs to the set; an error is a reason and a hint.
    fn all(&self, graph: &Graph, nodes: &Nodes) -> Result<Vec<bool>, (String, String)> {
        let mut of = vec![false; graph.nodes.len()];
        for entry in &nodes.0 {
            self.mark(graph, entry.trim(), &mut of)?;
        }
        Ok(of)
    }

    /// Marks the nodes of one entry: `all`, `tier TIER`, `NODE` or `FIRST..LAST`, each with `step N` or without.
    fn mark(&self, graph: &Graph, text: &str, of: &mut [bool]) -> Result<(), (String, String)> {
        let (what, step) = stepped(text, "a number from 1, as in \"leaf0..leaf7 step 2\"")?;
        let find = |name: &str| {
            let name = name.trim();
            let node = self.names.get(name).copied();
            node.ok_or_else(|| (format!("there is no node `{name}`"), node_hint(name, graph)))
        };
        let tier_of = |node: NodeId| graph.nodes[node.0 as usize].tier.as_str();
        let (tier, range) = if what == "all" {
            (None, 0..=graph.nodes.len().saturating_sub(1))
        } else if let Some(tier) = what.strip_prefix("tier ") {
            let tier = tier.trim();
            if !graph.nodes.iter().any(|node| node.tier == tier) {
                return Err((format!("there is no tier `{tier}`"), tier_hint(tier, graph)));
            }
            (Some(tier), 0..=graph.nodes.len() - 1)
        } else {
            let (first, last) = what.split_once("..").unwrap_or((what, what));
            let (first, last) = (find(first)?, find(last)?);
            if tier_of(first) != tier_of(last) {
                let reason =
                    format!("the range `{what}` begins in tier `{}` and ends in `{}`", tier_of(first), tier_of(last));
                return Err((reason, "a range is of one tier".into()));
            }
            if first > last {
                return Err((
                    format!("the range `{what}` ends before it begins"),
                    "nodes are in the order of the topology".into(),
                ));
            }
            (Some(tier_of(first)), first.0 as usize..=last.0 as usize)
        };
        let here = range.filter(|node| tier.is_none_or(|tier| graph.nodes[*node].tier == tier));
        here.step_by(step).for_each(|node| of[node] = true);
        Ok(())
    }
}

/// Returns a suggestion for a tier that does not exist.
fn tier_hint(tier: &str, graph: &Graph) -> String {
    let mut known: Vec<&str> = graph.nodes.iter().map(|node| node.tier.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    match nearest(tier, known.iter().copied()) {
        Some(near) => format!("did you mean `tier {near}`?"),
        None => format!("tiers are: {}", known.join(", ")),
    }
}
