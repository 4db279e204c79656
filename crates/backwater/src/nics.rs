//! From `[nic]` to the stage's values: times of some hosts, and priorities of the queues.

use crate::error::{ScenarioError, Warning};
use crate::file::File;
use crate::hosts;
use crate::layout::Layout;
use crate::resolved::Resolved;
use backwater_engine::Time;
use backwater_net::HostQueues;
use backwater_net::config::{LinkChoice, NicTimes};
use backwater_net::packet::{CLASSES, Class, HostId, NodeId, class_bits};
use backwater_net::topology::nvlink::TIER as NVLINK_TIER;
use std::collections::{BTreeSet, HashMap};

/// Longest time of an interface: a run ends when links have been silent for a second, and must not miss a message.
const LONGEST: Time = Time::ms(100);

/// Hosts whose interfaces have their own times; later entries take precedence.
pub(crate) fn times(layout: &Layout) -> Result<Vec<(HostId, NicTimes)>, ScenarioError> {
    let nic = &layout.resolved.file.nic;
    let within = |key: String, time: Option<Time>| match time.filter(|time| *time > LONGEST) {
        Some(time) => {
            Err(layout.resolved.error(&key, format!("{time} is too long")).hint(format!("{LONGEST} at most")))
        }
        None => Ok(()),
    };
    within("nic.control_delay".into(), Some(nic.params.control_delay))?;
    within("nic.issue".into(), Some(nic.params.issue))?;
    let mut all = Vec::new();
    for (i, at) in nic.at.iter().enumerate() {
        let times = NicTimes { control_delay: at.control_delay, issue: at.issue };
        if times == NicTimes::default() {
            let error = layout.resolved.error(&format!("nic.at.{i}"), "nothing differs at these hosts");
            return Err(error.hint("give `control_delay`, `issue`, or both"));
        }
        within(format!("nic.at.{i}.control_delay"), at.control_delay)?;
        within(format!("nic.at.{i}.issue"), at.issue)?;
        let found = hosts::expand(&at.hosts, &layout.index)
            .map_err(|(reason, hint)| layout.resolved.error(&format!("nic.at.{i}.hosts"), reason).hint(hint))?;
        all.extend(found.into_iter().map(|host| (host, times)));
    }
    Ok(all)
}

/// The queues of every host. Other users of a class must not be paused with one of them.
pub(crate) fn queues(resolved: &Resolved) -> Result<HostQueues, ScenarioError> {
    let (file, nic) = (&resolved.file, &resolved.file.nic);
    let class = nic.queue_class;
    let used = class_bits(flow_classes(file).iter().chain(&file.ack.class)) | resolved.mechanisms.classes();
    let upwards = (1..CLASSES as u8).map(|step| (class + step) % CLASSES as u8);
    let free = upwards.filter(|priority| used & (1 << priority) == 0);
    let priorities: Vec<Class> = std::iter::once(class).chain(free).take(usize::from(nic.queues)).map(Class).collect();
    if priorities.len() < usize::from(nic.queues) {
        let others = (0..CLASSES as u8).filter(|c| *c != class && used & (1 << c) != 0).map(|c| c.to_string());
        let (reason, others) = (
            format!("{} queues need {} priorities beside that of class {class}", nic.queues, nic.queues - 1),
            others.collect::<Vec<_>>().join(", "),
        );
        let error = resolved.error("nic.queues", format!("{reason}, and only {} are free", priorities.len() - 1));
        let hint = format!(
            "flows, acknowledgements and mechanisms use {others}: {} queues, or fewer classes",
            priorities.len()
        );
        return Err(error.hint(hint));
    }
    Ok(HostQueues::new(Class(class), &priorities).unwrap_or_default())
}

/// Possible classes of the file's flows, without those of tables.
fn flow_classes(file: &File) -> Vec<u8> {
    let of_groups = file
        .flow
        .iter()
        .flat_map(|group| group.classes.iter().flatten().copied().chain(group.small_class).chain([group.class]));
    of_groups.chain(file.job.iter().map(|job| job.class)).collect()
}

/// Refuses turns for traffic that takes none.
pub(crate) fn turns(resolved: &Resolved) -> Result<(), ScenarioError> {
    let file = &resolved.file;
    if file.nic.params.control_turns.is_none() || file.ack.first_at_nic {
        return Ok(());
    }
    let reason =
        "acknowledgements and control messages wait in the queues of their classes, and take no turns of their own";
    Err(resolved.error("nic.control_turns", reason).hint("ack.first_at_nic = true"))
}

/// Warns if no flow can use the requested queues: none is of their class. The rows of a flow table have their own classes.
pub(crate) fn idle(resolved: &Resolved) -> Option<Warning> {
    let (file, nic) = (&resolved.file, &resolved.file.nic);
    let tables = !resolved.tables.is_empty() || file.flow.iter().any(|group| group.table.is_some());
    (nic.queues > 1 && !tables && !flow_classes(file).contains(&nic.queue_class)).then(|| Warning {
        key: "nic.queues".into(),
        value: nic.queues.to_string(),
        reason: format!("without effect: no flow is of class {}", nic.queue_class),
        hint: "nic.queue_class is the class that has several queues".into(),
    })
}

/// Warns if GPUs of a server meet in a switch of the network that is as near as their own: flows between them take either path.
pub(crate) fn two_ways(layout: &Layout) -> Option<Warning> {
    let (file, graph) = (&layout.resolved.file, &layout.graph);
    let nvlink = file.topology.nvlink().filter(|_| file.nic.params.link != LinkChoice::Index)?;
    let mut met: HashMap<(u32, NodeId), HostId> = HashMap::new();
    let network = graph.links.iter().filter(|link| link.up && graph.nodes[link.b.0 as usize].tier != NVLINK_TIER);
    let hosts = network.filter_map(|link| Some((layout.index.host_of(link.a)?, link.b)));
    let (first, second, switch) = hosts.into_iter().find_map(|(host, switch)| {
        let first = *met.entry((host.0 / nvlink.gpus, switch)).or_insert(host);
        (first != host).then_some((first, host, switch))
    })?;
    let (first, second) = (layout.name(first), layout.name(second));
    Some(Warning {
        key: "topology.nvlink".into(),
        value: format!("{} GPUs", nvlink.gpus),
        reason: format!(
            "{first} and {second} of one server meet at {}, too, in as many links as by NVLink: flows between them take either way",
            graph.nodes[switch.0 as usize].name
        ),
        hint: "rails, so that the GPUs of a server are at different leaves; or nic.link = \"index\" and flow.link"
            .into(),
    })
}

/// Checks whether a flow of a table has a class whose priority is another class's queue.
pub(crate) fn keeps_off(resolved: &Resolved, queues: &HostQueues, classes: &BTreeSet<u8>) -> Result<(), ScenarioError> {
    let taken = classes.iter().find(|class| queues.extra() & class_bits([*class]) != 0);
    match taken {
        None => Ok(()),
        Some(class) => {
            let own = resolved.file.nic.queue_class;
            let reason = format!("class {class} of a flow table is the priority of a queue of class {own}");
            let hint = "fewer queues; or give the table to a [[flow]] with `class = ";
            Err(resolved.error("nic.queues", reason).hint(format!("{hint}{class}`, so that the queue takes another")))
        }
    }
}
