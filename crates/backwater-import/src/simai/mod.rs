//! SimAI (aliyun/SimAI, commit cef83f9) and AICB, which writes its workloads: topologies of servers with NVLink switches and a network, and
//! layers of a model with their computations and collectives. Packets, switches and the control are in `SimAI.conf`, a configuration of
//! [`crate::hpcc`].

mod groups;
mod steps;
mod topology;
mod workload;

use crate::error::ImportError;
use crate::family::{Family, InputFiles, Kind, Work};
use crate::graph::{Fabric, Graph, Link};
use crate::hpcc::config::{self, Config};
use crate::hpcc::controls::{Sent, Setting};
use crate::hpcc::{HOUR_PS, faults};
use crate::scenario_writer::ScenarioWriter;
use groups::Groups;
use workload::{CommKind, Workload};

/// Files of SimAI and AICB.
pub static FAMILY: Family = Family {
    name: "simai",
    about: "SimAI, and AICB, which writes workloads for it",
    kinds: &[
        Kind {
            name: "simai-topology",
            about: "a topology: GPUs, NVLink switches, switches, links",
            recognise: topology::recognise,
        },
        Kind {
            name: "simai-workload",
            about: "a workload: layers with computations and collectives",
            recognise: workload::recognise,
        },
    ],
    beside: &["hpcc-config"],
    uses: &["--fabric"],
    combine,
};

/// Most ranks of a scenario.
const MOST_RANKS: u32 = 1_000_000;

fn combine(given: InputFiles, work: &mut Work<'_>) -> Result<ScenarioWriter, ImportError> {
    let topology = given.at_most_one("simai-topology")?;
    let file = given.at_most_one("simai-workload")?;
    let servers = match topology {
        Some(source) => Some(topology::parse(source.name(), &source.text()?, work.notes)?),
        None => None,
    };
    let workload = match file {
        Some(source) => Some(workload::parse(source.name(), &source.text()?, work.notes)?),
        None => None,
    };
    let mut config = match given.at_most_one("hpcc-config")? {
        Some(source) => Some(config::parse(source.name(), &source.text()?, work.notes)?),
        None => None,
    };
    if workload.is_none() {
        work.no_workload();
    }
    if let Some(config) = &mut config {
        set_aside(config, work);
    }
    if let Some(config) = config.as_ref().filter(|_| work.fabric.is_some()) {
        let text = "the configuration: --fabric has the network and the control";
        work.notes.ignored(config.file(), None, text);
    }
    let mut writer = ScenarioWriter::new();
    let names: Vec<&str> = given.files.iter().map(|(_, source)| source.file_name()).collect();
    writer.remark(&format!("{}: of SimAI.", names.join(", ")));
    work.title(names.first().copied().unwrap_or_default(), &mut writer);
    let groups = match &workload {
        Some(workload) => Some(Groups::of(workload, servers.as_ref().map(|servers| servers.gpus))?),
        None => None,
    };
    match (work.write_fabric(&mut writer)?, &servers, &groups, topology) {
        (false, Some(servers), _, Some(source)) => {
            network(&servers.graph, config.as_ref(), source.name(), work, &mut writer)?;
            if let Some((gpu, line)) = servers.two_ways {
                writer.head("[nic]").key_because("link", "least-loaded", "of equals NVLink, which stands first");
                let text = format!(
                    "GPU {gpu} reaches another one by NVLink and by one switch alike: flows take the link with less to send; \
                     in that program NVLink alone"
                );
                work.notes.differs(source.name(), Some(line), text);
            }
        }
        (false, _, Some(groups), _) => {
            let ranks = groups.ranks();
            // The most hosts of a star.
            if ranks > 65_535 {
                let error = ImportError::new(format!("{ranks} ranks, and no topology is given"));
                return Err(error.file(names[0]).hint("give the topology beside it, or --fabric FILE"));
            }
            let text = format!(
                "the topology: {ranks} GPUs at one switch, 400 Gb/s and 500 ns a link, each a server of its own"
            );
            work.notes.assumed(names[0], None, text);
            network(&star(ranks), config.as_ref(), names[0], work, &mut writer)?;
        }
        (false, ..) => {
            let error = ImportError::new("a configuration, and neither a workload nor a topology").file(names[0]);
            return Err(error.hint("give them beside it"));
        }
        _ => {}
    }
    if let (Some(groups), Some(servers), Some(workload)) = (&groups, &servers, &workload)
        && work.fabric.is_none()
        && groups.ranks() < servers.gpus
    {
        let text = few(groups.ranks(), servers);
        work.notes.differs(&workload.file, Some(1), text);
    }
    if let (Some(workload), Some(groups), Some(servers), Some(source)) = (&workload, &groups, &servers, topology)
        && work.fabric.is_none()
        && let Some((layer, one, other)) = apart(workload, groups, &servers.graph)
    {
        let reason = format!("no links join GPUs {one} and {other}, which {layer} has in one group");
        return Err(source.error(reason).line(1).hint("add a link, or give another topology"));
    }
    if let (Some(workload), Some(groups)) = (&workload, &groups) {
        steps::write(workload, groups, work, &mut writer)?;
    }
    Ok(writer)
}

/// Most different GPUs of a group whose pairs are all examined; for more the check of the scenario finds errors.
const MOST_UNLIKE: usize = 512;

/// A layer with a collective in which two GPUs without connecting links send to each other, and these two.
fn apart<'a>(workload: &'a Workload, groups: &Groups, graph: &Graph) -> Option<(&'a str, u32, u32)> {
    let gpus: Vec<u32> = graph.hosts().collect();
    let joined = graph.joined();
    let mut seen = Vec::new();
    for layer in &workload.layers {
        for comm in layer.passes.iter().filter_map(|pass| pass.comm) {
            let (ranks, stride) = groups.size_and_stride(comm.group);
            let ring = comm.kind != CommKind::AllToAll;
            if ranks < 2 || seen.contains(&(ranks, stride, ring)) {
                continue;
            }
            seen.push((ranks, stride, ring));
            for first in (0..groups.ranks()).filter(|rank| rank / stride % ranks == 0) {
                let members = (0..ranks).filter_map(|number| gpus.get((first + number * stride) as usize).copied());
                let mut members: Vec<u32> = members.collect();
                let pairs: Vec<(u32, u32)> = if ring {
                    members.iter().copied().zip(members.iter().copied().cycle().skip(1)).collect()
                } else {
                    // One of equivalent GPUs suffices: there may be thousands.
                    members.dedup_by(|one, other| joined.lie_alike(*one, *other));
                    members.truncate(MOST_UNLIKE);
                    let behind = |(at, one): (usize, &u32)| {
                        members[at + 1..].iter().map(|other| (*one, *other)).collect::<Vec<_>>()
                    };
                    members.iter().enumerate().flat_map(behind).collect()
                };
                if let Some((one, other)) = pairs.into_iter().find(|(one, other)| !joined.are(*one, *other)) {
                    return Some((&layer.name, one, other));
                }
            }
        }
    }
    None
}

/// A text for the participating GPUs if not all participate.
fn few(ranks: u32, servers: &topology::Servers) -> String {
    let (gpus, own) = (servers.gpus, servers.per_server);
    let where_they_are = match ranks.div_ceil(own) {
        1 => "all in one server: nothing goes by the network between servers".to_owned(),
        count => format!("in the first {count} servers"),
    };
    format!("{ranks} of {gpus} GPUs, the first ones, {where_they_are}; all_gpus says how many take part")
}

/// Ignores keys of a configuration that SimAI's program uses differently.
fn set_aside(config: &mut Config, work: &mut Work<'_>) {
    let text = "the workload and the topology stand in files of their own, and this one is not used";
    for key in ["FLOW_FILE", "FLOW_INPUT_FILE", "TOPOLOGY_FILE"] {
        config.set_aside(key, text, work.notes);
    }
    config.set_aside("SIMULATOR_STOP_TIME", "the run ends with its workload", work.notes);
    config.set_aside("GLOBAL_T", "that program takes 1, whatever is said", work.notes);
}

/// The network, with its part of `SimAI.conf` or, without one, with assumptions.
fn network(
    graph: &Graph,
    config: Option<&Config>,
    file: &str,
    work: &mut Work<'_>,
    writer: &mut ScenarioWriter,
) -> Result<(), ImportError> {
    let fabric = Fabric::of(graph);
    fabric.write(graph, writer);
    let Some(config) = config else {
        writer.head("[switch]").key("buffer_per", "none");
        let text = "packets, switches and the control, which that program has in another file: as here by default, with buffers that hold \
                    everything and no control; give its SimAI.conf beside, or --fabric FILE";
        work.notes.assumed(file, None, text);
        if let Some(link) = graph.links.iter().find(|link| link.loss > 0.0) {
            work.notes.ignored(file, Some(link.line), "the share of lost frames of links: `[[fault]]` can have it");
        }
        return Ok(());
    };
    let classes = &[3].into();
    Setting { config, graph, fabric: &fabric, sent: Sent::Jobs, classes, longest_ps: HOUR_PS }
        .write(work.notes, writer)?;
    faults::write(config, graph, &fabric, 0, writer)
}

fn star(hosts: u32) -> Graph {
    let mut graph = Graph::new(hosts);
    graph.switch.push(true);
    let link = |a| Link { line: 1, a, b: hosts, bps: 400_000_000_000, delay_ps: 500_000, loss: 0.0 };
    graph.links = (0..hosts).map(link).collect();
    graph
}
