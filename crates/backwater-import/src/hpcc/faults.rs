//! Faults in a configuration and a topology: a link that fails, frames that are lost.

use super::config::Config;
use crate::error::ImportError;
use crate::graph::{Fabric, Graph};
use crate::scenario_writer::ScenarioWriter;
use crate::units::time;
use std::collections::BTreeMap;

/// `[[fault]]` for `LINK_DOWN` and all shares of lost frames.
pub fn write(
    config: &Config,
    graph: &Graph,
    fabric: &Fabric,
    start: u64,
    writer: &mut ScenarioWriter,
) -> Result<(), ImportError> {
    let everywhere = config.number("ERROR_RATE_PER_LINK", 0.0)?;
    if everywhere > 1.0 {
        return Err(config.error("ERROR_RATE_PER_LINK", "is not a share from 0 to 1"));
    }
    losses(graph, fabric, everywhere, writer);
    if let Some((after, a, b)) = config.link_down()? {
        let joined = graph.links.iter().any(|link| (link.a, link.b) == (a, b) || (link.b, link.a) == (a, b));
        if !joined {
            return Err(config.error("LINK_DOWN", "names two nodes without a link between them"));
        }
        // That code counts from the begin of flows.
        let from = config.time("FLOWGEN_START_TIME", 12)?.unwrap_or(super::CUSTOM_PS);
        let at = from.saturating_add(after).saturating_sub(start);
        writer.head("[[fault]]").key("kind", "link-down").key("at", time(at));
        writer.key("a", fabric.name(a)).key("b", fabric.name(b));
    }
    Ok(())
}

/// `[[fault]]` for the loss ratios of links; a link without one has the common ratio.
pub fn losses(graph: &Graph, fabric: &Fabric, everywhere: f64, writer: &mut ScenarioWriter) {
    let own = |loss: f64| if loss > 0.0 { loss } else { everywhere };
    let mut pairs: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for link in &graph.links {
        // The greatest ratio of parallel links: a fault concerns the nodes, not one link.
        let share = pairs.entry((link.a.min(link.b), link.a.max(link.b))).or_insert(0.0);
        *share = share.max(own(link.loss));
    }
    let first = pairs.values().next().copied().unwrap_or(0.0);
    let fault = |writer: &mut ScenarioWriter, share: f64, between: Option<(u32, u32)>| {
        writer.head("[[fault]]").key("kind", "loss").key("probability", share);
        if let Some((from, to)) = between {
            writer.key("from", fabric.name(from)).key("to", fabric.name(to));
        }
    };
    if pairs.values().all(|share| *share == first) {
        if first > 0.0 {
            fault(writer, first, None);
        }
        return;
    }
    for ((a, b), share) in pairs.into_iter().filter(|(_, share)| *share > 0.0) {
        fault(writer, share, Some((a, b)));
        fault(writer, share, Some((b, a)));
    }
}
