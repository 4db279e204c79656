//! A scenario with planned flows, queues and faults. `check` decides whether they fit together.

use crate::error::ScenarioError;
use crate::faults;
use crate::layout::Layout;
use crate::nics;
use crate::plan::Plan;
use crate::resolved::Resolved;
use backwater_net::config::NicTimes;
use backwater_net::packet::HostId;
use backwater_net::spec::Fault;
use backwater_net::{Bytes, HostQueues};

/// Longest frame and longest header: more than any link layer has.
const LARGEST_FRAME: u64 = 1 << 20;

/// A network, and the events planned in it.
pub struct Planned {
    /// The network.
    pub layout: Layout,
    /// Every `[[flow]]` that is not a table.
    pub(crate) plans: Vec<Plan>,
    /// The queues of every host.
    pub(crate) queues: HostQueues,
    /// Hosts whose interfaces have their own times; later entries take precedence.
    pub(crate) nics_at: Vec<(HostId, NicTimes)>,
    pub(crate) faults: Vec<Fault>,
}

impl Planned {
    pub(crate) fn new(layout: Layout) -> Result<Planned, ScenarioError> {
        frames(&layout.resolved)?;
        let nics_at = nics::times(&layout)?;
        let queues = nics::queues(&layout.resolved)?;
        let mut plans = Vec::new();
        for (number, group) in layout.resolved.file.flow.iter().enumerate() {
            match &group.table {
                Some(_) => table_keys(&layout.resolved, number)?,
                None => plans.push(Plan::new(&layout, number, group)?),
            }
        }
        let faults = faults::all(&layout)?;
        Ok(Planned { layout, plans, queues, nics_at, faults })
    }

    /// The resolved values.
    pub fn resolved(&self) -> &Resolved {
        &self.layout.resolved
    }
}

/// Refuses impossible sizes, by which planning would divide.
fn frames(resolved: &Resolved) -> Result<(), ScenarioError> {
    let (packet, ack) = (&resolved.file.packet, &resolved.file.ack);
    let sizes = [
        ("packet.payload", packet.payload, 1),
        ("packet.header", packet.header, 0),
        ("packet.gap", packet.gap, 0),
        ("ack.size", ack.size, 1),
    ];
    for (key, size, least) in sizes {
        if size.0 < least || size.0 > LARGEST_FRAME {
            let range = format!("{least} B to {}", Bytes(LARGEST_FRAME));
            return Err(resolved.error(key, format!("{size} is no possible size")).hint(range));
        }
    }
    Ok(())
}

/// Refuses keys whose values come from a table of flows.
fn table_keys(resolved: &Resolved, number: usize) -> Result<(), ScenarioError> {
    let group = &resolved.file.flow[number];
    let given = [
        ("from", group.from.is_some()),
        ("to", group.to.is_some()),
        ("fan_in", group.fan_in.is_some()),
        ("matrix", group.matrix.is_some()),
        ("size", group.size.is_some()),
        ("sizes", group.sizes.is_some()),
        ("path", group.path.is_some()),
        ("via", group.via.is_some()),
        ("ack_path", group.ack_path.is_some()),
        ("link", group.link.is_some()),
        ("load", group.load.is_some()),
        ("interval", group.interval.is_some()),
        ("until", group.until.is_some()),
        ("count", group.count.is_some()),
        ("queue", group.queue.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((name, _)) => {
            let error = resolved.error(&format!("flow.{number}.{name}"), "the table says it for each flow");
            Err(error.hint("give `table` or the other keys"))
        }
        None => Ok(()),
    }
}
