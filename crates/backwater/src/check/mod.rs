//! Checks whether the values of a planned scenario fit together. Errors of the plan (queues, flows, faults) precede; then follow those of
//! frames, switches, mechanisms, jobs and output.

mod confined;
mod faults;
mod incasts;
mod load;
pub(crate) mod losses;
mod mechanisms;
mod no_switch;
mod round_trip;
mod transport;

use crate::error::{ScenarioError, Warning, nearest};
use crate::file::FaultEntry;
use crate::hosts;
use crate::job_graphs;
use crate::jobs;
use crate::layout::Layout;
use crate::nics;
use crate::plan::Plan;
use crate::planned::Planned;
use crate::queue_pairs;
use crate::resolved::Resolved;
use backwater_engine::Time;
use backwater_mech::stack::Select;
use backwater_net::config::{Architecture, BufferPer, PacketParams, SwitchParams, Victim};
use backwater_net::hooks::{PortShape, SwitchShape};
use backwater_net::occupancy::shared_memory;
use backwater_net::topology::{Graph, Index, Link, NodeKind};
use backwater_net::workload::graph::Operations;
use backwater_net::workload::{FlowTable, Sizes};
use backwater_net::{Bytes, Rate};
use std::sync::{Arc, OnceLock};

/// A planned scenario that may be run.
pub struct Checked {
    /// The plan.
    pub planned: Planned,
    /// Settings that its author may not have intended.
    pub warnings: Vec<Warning>,
    /// Per job: the operations of its table, once a run has been built. All runs and parts of runs share them.
    operations: Vec<OnceLock<Arc<Operations>>>,
}

/// A planned scenario that is checked like [`Checked`], except for missing values that its mechanisms need. It serves advice on these
/// values, and cannot be run.
pub struct Draft {
    /// The plan.
    pub planned: Planned,
    /// The errors for which a run would be refused.
    pub lacking: Vec<ScenarioError>,
}

impl Draft {
    pub(crate) fn new(planned: Planned) -> Result<Draft, ScenarioError> {
        let mut lacking = Lacking { allowed: true, found: Vec::new() };
        warnings(&planned, &mut lacking)?;
        Ok(Draft { planned, lacking: lacking.found })
    }
}

/// Missing values that a mechanism needs.
#[derive(Default)]
struct Lacking {
    /// True if they do not end the check.
    allowed: bool,
    found: Vec<ScenarioError>,
}

impl Lacking {
    /// An error about this key, unless the value is missing and may be missing.
    fn refuse(&mut self, resolved: &Resolved, key: &str, error: ScenarioError) -> Result<(), ScenarioError> {
        if !self.allowed || !resolved.lacks(key) {
            return Err(error);
        }
        self.found.push(error);
        Ok(())
    }
}

impl Checked {
    /// The resolved values.
    pub fn resolved(&self) -> &Resolved {
        &self.planned.layout.resolved
    }

    /// The network.
    pub fn layout(&self) -> &Layout {
        &self.planned.layout
    }

    /// Returns the flows of each control, if one is confined to some: its name, and the flows in words.
    pub fn controls(&self) -> Vec<(&'static str, String)> {
        confined::controls(self.planned.resolved())
    }

    /// The operations of a job's table or pipeline, which are read or created once.
    pub(crate) fn operations(&self, job: usize) -> Result<Arc<Operations>, ScenarioError> {
        match self.operations[job].get() {
            Some(known) => Ok(Arc::clone(known)),
            None => {
                let read = job_graphs::operations(self.layout(), job)?;
                Ok(Arc::clone(self.operations[job].get_or_init(|| read)))
            }
        }
    }

    pub(crate) fn new(planned: Planned) -> Result<Checked, ScenarioError> {
        let warnings = warnings(&planned, &mut Lacking::default())?;
        let operations = planned.resolved().file.job.iter().map(|_| OnceLock::new()).collect();
        Ok(Checked { planned, warnings, operations })
    }
}

/// Returns settings that the author may not have intended; a scenario that cannot be run is an error.
fn warnings(planned: &Planned, lacking: &mut Lacking) -> Result<Vec<Warning>, ScenarioError> {
    let (resolved, graph): (&Resolved, &Graph) = (planned.resolved(), &planned.layout.graph);
    clock(planned, None)?;
    let round_trip = round_trip::longest(resolved, graph);
    let without_effect = transport::check(resolved, round_trip)?;
    nics::turns(resolved)?;
    selectors(resolved, graph)?;
    let shapes = shapes(&planned.layout)?;
    switches(resolved, &shapes)?;
    let mut warnings = mechanisms::check(planned, &shapes, round_trip, lacking)?;
    warnings.extend(without_effect);
    warnings.extend(no_switch::check(resolved, graph));
    warnings.extend(losses::check(resolved, graph)?);
    warnings.extend(faults::check(planned));
    warnings.extend(nics::idle(resolved));
    warnings.extend(nics::two_ways(&planned.layout));
    warnings.extend(queue_pairs::check(resolved)?);
    warnings.extend(load::check(planned)?);
    warnings.extend(incasts::check(planned, &shapes, lacking)?);
    let seed = resolved.seed();
    jobs::labels_differ(&planned.layout)?;
    warnings.extend(jobs::flat_rings(resolved));
    for (number, job) in resolved.file.job.iter().enumerate() {
        match job.is_graph() {
            true => drop(job_graphs::read(&planned.layout, number, seed)?),
            false => drop(jobs::build(&planned.layout, number, jobs::read(&planned.layout, number, seed)?, 0, seed)?),
        }
    }
    if resolved.file.flow.is_empty() && resolved.tables.is_empty() && resolved.file.job.is_empty() {
        warnings.push(Warning {
            key: "flow".into(),
            value: String::new(),
            reason: "the scenario has no flows".into(),
            hint: "add a [[flow]] or a [[job]]".into(),
        });
    }
    output(resolved, &planned.layout.index)?;
    Ok(warnings)
}

/// Octets on the wire of the shortest possible frame, and the rate of the link on which it takes the least time. `tables`: the least
/// payload of a packet of flows of tables, if any.
fn quickest(planned: &Planned, tables: Option<Bytes>) -> (Bytes, Rate) {
    let (packet, ack) = (&planned.resolved().file.packet, &planned.resolved().file.ack);
    // Some flows may lack the octets that confined mechanisms add.
    let spared = planned.resolved().mechanisms.overhead_of_confined();
    let packet = PacketParams { header: packet.header.saturating_sub(spared.data), ..packet.clone() };
    let least_ack = ack.enabled.then_some(ack.size.saturating_sub(spared.ack));
    let later = planned.resolved().file.fault.iter().filter_map(|fault| match fault {
        FaultEntry::RateChange(change) => Some(change.rate),
        _ => None,
    });
    let rates = planned.layout.graph.links.iter().map(Link::fastest).chain(later);
    let payload = least_payload(planned).into_iter().chain(tables).min().unwrap_or(packet.payload);
    let of_mechanisms = planned.resolved().mechanisms.shortest_message().map(|size| size + packet.gap);
    let shortest = packet.shortest(payload, least_ack);
    (of_mechanisms.map_or(shortest, |own| own.min(shortest)), rates.max().unwrap_or(Rate(1)))
}

/// \[bytes\] The least payload of a packet, without flows of tables; `None`: there are no other flows.
fn least_payload(planned: &Planned) -> Option<Bytes> {
    if planned.resolved().mechanisms.cuts().is_some() || !planned.resolved().file.job.is_empty() {
        return Some(Bytes::ZERO);
    }
    let last = |plan: &Plan| match &plan.sizes {
        Some(Sizes::Fixed(size)) if plan.group.queue_pairs == 1 => plan.packet(planned.resolved()).last_payload(*size),
        _ => Bytes(1),
    };
    planned.plans.iter().map(last).min()
}

/// The least payload of a packet of flows that are in no file, and of tables that have not been read.
fn of_tables(planned: &Planned) -> Option<Bytes> {
    let there =
        !planned.resolved().tables.is_empty() || planned.resolved().file.flow.iter().any(|group| group.table.is_some());
    there.then_some(Bytes(1))
}

/// Refuses a clock by which frames take no time on a link: they would leave and arrive at once, overtake each other, and exceed the link's
/// rate. `tables`: the sizes of flows of tables, which are known once these have been read.
pub(crate) fn clock(planned: &Planned, tables: Option<&FlowTable>) -> Result<(), ScenarioError> {
    let packet = &planned.resolved().file.packet;
    let Some(clock) = packet.clock else { return Ok(()) };
    let of_rows = tables.and_then(|table| table.rows().iter().map(|row| packet.last_payload(Bytes(row.bytes))).min());
    let (shortest, rate) = quickest(planned, of_rows);
    let least = rate.time_for(shortest);
    if clock >= Time(1) && clock < least {
        return Ok(());
    }
    let reason = format!(
        "{clock} is no possible clock: the shortest frame, {shortest} on the wire, takes {least} at {rate}, and frames that take no \
         tick would overtake each other"
    );
    Err(planned
        .resolved()
        .error("packet.clock", reason)
        .hint(format!("1 ps to below {least}; without it times are exact")))
}

/// The longest frame of a flow: of data, or an acknowledgement.
fn max_frame(resolved: &Resolved) -> Bytes {
    let file = &resolved.file;
    let ack = if file.ack.enabled { file.ack.size } else { Bytes::ZERO };
    (file.packet.payload + file.packet.header).max(ack)
}

/// The longest frame that may pass a switch: of a flow, or a message that a mechanism sends anywhere.
pub(crate) fn longest_frame(resolved: &Resolved, graph: &Graph) -> Bytes {
    let message = |node: backwater_net::packet::NodeId| {
        let about = &graph.nodes[node.0 as usize];
        resolved.mechanisms.longest_message(&about.name, &about.tier)
    };
    graph.switches().map(message).max().unwrap_or(Bytes::ZERO).max(max_frame(resolved))
}

/// Checks whether overrides name existing tiers and nodes.
fn selectors(resolved: &Resolved, graph: &Graph) -> Result<(), ScenarioError> {
    let switches = || graph.nodes.iter().filter(|n| n.kind == NodeKind::Switch);
    for (table, list) in overrides(resolved) {
        for (i, Select { tier, node }) in list.into_iter().enumerate() {
            let key = format!("{table}.at.{i}");
            if tier.is_none() && node.is_none() {
                let error = resolved.error(&key, "says neither `tier` nor `node`");
                return Err(error.hint(format!("for all nodes the values belong in [{table}]")));
            }
            for (name, what, known) in [
                ("tier", tier, switches().map(|n| n.tier.as_str()).collect::<Vec<_>>()),
                ("node", node, switches().map(|n| n.name.as_str()).collect()),
            ] {
                let Some(what) = what.as_deref().filter(|w| !known.contains(w)) else { continue };
                let mut known = known;
                known.sort_unstable();
                known.dedup();
                let hint = match nearest(what, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are: {}", known.into_iter().take(20).collect::<Vec<_>>().join(", ")),
                };
                return Err(resolved
                    .error(&format!("{key}.{name}"), format!("no switch has the {name} `{what}`"))
                    .hint(hint));
            }
        }
    }
    Ok(())
}

/// The nodes of the overrides of each table.
fn overrides(resolved: &Resolved) -> Vec<(&'static str, Vec<&Select>)> {
    let switch = ("switch", resolved.switch.selects());
    std::iter::once(switch).chain(resolved.mechanisms.overrides()).collect()
}

/// The key that set a value for this switch: in the last override that matches, or in the table itself.
fn key_for(overrides: &[(&'static str, Vec<&Select>)], table: &str, name: &str, shape: &SwitchShape) -> String {
    let list = overrides.iter().find(|(t, _)| *t == table).map_or(&[][..], |(_, list)| list);
    overridden(table, list.iter().rposition(|select| select.matches(&shape.name, &shape.tier)), name)
}

/// A key in an override by its number, or in the table itself.
fn overridden(table: &str, number: Option<usize>, name: &str) -> String {
    match number {
        Some(number) => format!("{table}.at.{number}.{name}"),
        None => format!("{table}.{name}"),
    }
}

/// The switches as mechanisms see them at start.
fn shapes(layout: &Layout) -> Result<Vec<SwitchShape>, ScenarioError> {
    let (graph, index) = (&layout.graph, &layout.index);
    let ports = graph.ports().map_err(|e| layout.resolved.error("topology", e.to_string()).hint(e.hint()))?;
    let longest = longest_frame(&layout.resolved, graph);
    let switches = graph.switches().map(|node| {
        let about = &graph.nodes[node.0 as usize];
        let ports = ports[node.0 as usize].iter().map(|port| {
            let link = &graph.links[port.link as usize];
            PortShape { rate: link.rate_from(node), delay: link.delay, peer: port.peer, host: index.host_of(port.peer) }
        });
        let ports: Vec<PortShape> = ports.collect();
        let params = layout.resolved.switch.of(&about.name, &about.tier);
        SwitchShape {
            node,
            name: about.name.clone(),
            tier: about.tier.clone(),
            port_buffer: params.port_buffer(ports.iter().map(|port| port.rate)),
            ports,
            max_frame: longest,
            latency: params.latency,
        }
    });
    Ok(switches.collect())
}

fn switches(resolved: &Resolved, shapes: &[SwitchShape]) -> Result<(), ScenarioError> {
    let overrides = overrides(resolved);
    for shape in shapes {
        let params: &SwitchParams = resolved.switch.of(&shape.name, &shape.tier);
        let key = |name: &str| key_for(&overrides, "switch", name, shape);
        let lossless = resolved.mechanisms.lossless_classes(&shape.name, &shape.tier);
        if params.reference_rate.is_some_and(|rate| rate.0 == 0) {
            let hint = "the rate of the ports for which headroom and headroom_above are meant";
            return Err(resolved.error(&key("reference_rate"), "no port has a rate of zero").hint(hint));
        }
        if !Bytes::CELLS.contains(&params.cell.0) {
            let reason = format!("a cell of {} is no unit of memory", params.cell);
            return Err(resolved
                .error(&key("cell"), reason)
                .hint("from 1 B (a frame counts by its length) to 65536 B"));
        }
        if params.slices > 1 && params.buffer_per != BufferPer::Switch {
            let reason = format!("the memory of {} is not shared by its ports, and has no slices", shape.name);
            let hint = "buffer_per = \"switch\", or leave out slices";
            return Err(resolved.error(&key("slices"), reason).hint(hint));
        }
        if params.alpha_port.is_some()
            && !(params.architecture == Architecture::SharedMemory && params.buffer_per.is_carved())
        {
            let reason = format!("{} has no shared memory of which its ports could have a share", shape.name);
            let hint =
                "architecture = \"shared-memory\" with buffer_per = \"switch\" or \"ingress\", or leave out alpha_port";
            return Err(resolved.error(&key("alpha_port"), reason).hint(hint));
        }
        if let Some(class) =
            params.reserve_classes.iter().flatten().find(|class| usize::from(**class) >= backwater_net::packet::CLASSES)
        {
            let reason = format!("there is no class {class}");
            return Err(resolved.error(&key("reserve_classes"), reason).hint("classes 0 to 7"));
        }
        if params.headroom_pool.is_some() && params.buffer_per != BufferPer::Switch {
            let reason = format!("ports of {} have memories of their own, and no headroom to share", shape.name);
            let hint = "buffer_per = \"switch\", or leave out headroom_pool";
            return Err(resolved.error(&key("headroom_pool"), reason).hint(hint));
        }
        // \[bytes\] The least memory that holds any data frame.
        let frame = max_frame(resolved).in_cells(params.cell);
        let rates: Vec<Rate> = shape.ports.iter().map(|port| port.rate).collect();
        if shared_memory(params, &rates, lossless).is_none() {
            let headroom = match params.headroom_pool {
                Some(pool) => format!("the headroom pool ({pool})"),
                None => format!("headrooms ({} a lossless class)", params.headroom),
            };
            let reason = format!(
                "reserves ({} a class) and {headroom} of {} exceed its buffer ({})",
                params.reserve, shape.name, params.buffer
            );
            let hint = "they are set aside, reserves for each ingress port; make the buffer larger, or reserve less";
            return Err(resolved.error(&key("buffer"), reason).hint(hint));
        }
        if params.victim == Victim::Either && !params.may_give_way() {
            let reason = format!(
                "the newest packet of a queue of {} has not the memory that the arriving one lacks",
                shape.name
            );
            let hint =
                "architecture = \"output-queued\" with buffer_per = \"queue\" or \"egress\"; or victim = \"arriving\"";
            return Err(resolved.error(&key("victim"), reason).hint(hint));
        }
        if let Some(sizes) = &params.queue_buffers {
            queue_buffers(params, sizes, frame, &shape.name)
                .map_err(|(reason, hint)| resolved.error(&key("queue_buffers"), reason).hint(hint))?;
            if shape.port_buffer.is_some_and(|size| size < frame) {
                return Err(slow_port(resolved, shape, frame, &key("queue_buffers")));
            }
        } else if params.buffer_per != BufferPer::None && params.memory_of(0) < frame {
            let what = if params.slices > 1 { "a slice" } else { "the buffer" };
            let reason = format!("{what} of {} ({}) holds no frame ({frame})", shape.name, params.memory_of(0));
            return Err(resolved.error(&key("buffer"), reason).hint("buffer_per = \"none\" has no limit"));
        } else if shape.port_buffer.is_some_and(|size| size < frame) {
            return Err(slow_port(resolved, shape, frame, &key("buffer")));
        }
        if let Some(limit) = params.queue_limit.filter(|limit| *limit < frame) {
            let reason = format!("a queue of {limit} does not hold one frame ({frame})");
            return Err(resolved.error(&key("queue_limit"), reason).hint("at least one of the longest data frames"));
        }
        if params.staging < frame {
            let reason = format!("{} does not hold one frame ({})", params.staging, frame);
            return Err(resolved.error(&key("staging"), reason).hint("at least one of the longest data frames"));
        }
    }
    Ok(())
}

/// The memory of a slow port, or of its queues, is in proportion to its rate, and holds no frame.
fn slow_port(resolved: &Resolved, shape: &SwitchShape, frame: Bytes, key: &str) -> ScenarioError {
    let slowest = shape.ports.iter().map(|port| port.rate).min().unwrap_or(Rate(0));
    let left = shape.port_buffer.unwrap_or(Bytes::ZERO);
    let reason =
        format!("at ports of {} of {slowest} {left} of it are left, which hold no frame ({frame})", shape.name);
    resolved.error(key, reason).hint("switch.reference_rate makes it smaller where ports are slower; make it larger")
}

/// Returns the error in the sizes of a switch's queues, and the correction.
fn queue_buffers(
    params: &SwitchParams,
    sizes: &[Bytes],
    frame: Bytes,
    switch: &str,
) -> Result<(), (String, &'static str)> {
    if params.buffer_per != BufferPer::Queue {
        let reason = format!("no queue of {switch} has a memory of its own");
        return Err((reason, "only with switch.buffer_per = \"queue\"; otherwise `buffer` alone"));
    }
    match sizes.iter().position(|size| *size < frame) {
        Some(queue) => {
            let reason = format!("queue {queue} of {switch} ({}) holds no frame ({frame})", sizes[queue]);
            Err((reason, "at least one of the longest data frames for each of the 8 queues"))
        }
        None => Ok(()),
    }
}

fn output(resolved: &Resolved, index: &Index) -> Result<(), ScenarioError> {
    let output = &resolved.file.output;
    if output.any() && output.interval.is_none() {
        let error = resolved.error("output.interval", "is missing, and a time series is on");
        return Err(error.hint("time between two samples, as in interval = \"10 us\""));
    }
    for (i, name) in output.nodes.iter().enumerate() {
        if index.node(name).is_none() {
            let hint = hosts::node_hint(name, index.graph());
            return Err(resolved.error(&format!("output.nodes.{i}"), format!("there is no node `{name}`")).hint(hint));
        }
    }
    Ok(())
}

/// A share as a percentage.
fn percent(share: f64) -> String {
    crate::file::Share(share).to_string()
}
