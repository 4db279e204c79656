//! SimAI (aliyun/SimAI, commit cef83f9) and AICB, which writes its workloads: topologies of servers with NVLink switches and a network,
//! and layers of a model with their computations and collectives.

mod groups;
mod steps;
mod topology;
mod workload;

use crate::error::ImportError;
use crate::family::{Family, Given, Kind, Work};
use crate::graph::{Fabric, Graph, Link};
use crate::page::Page;
use groups::Groups;

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
    uses: &["--fabric"],
    combine,
};

/// Most ranks, as a scenario has it.
const MOST_RANKS: u32 = 1_000_000;

fn combine(given: Given, work: &mut Work<'_>) -> Result<Page, ImportError> {
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
    if workload.is_none() {
        work.no_workload();
    }
    let mut page = Page::new();
    let names: Vec<&str> = given.files.iter().map(|(_, source)| source.file_name()).collect();
    page.remark(&format!("{}: of SimAI.", names.join(", ")));
    work.title(names.first().copied().unwrap_or_default(), &mut page);
    let groups = match &workload {
        Some(workload) => Some(Groups::of(workload, servers.as_ref().map(|servers| servers.gpus))?),
        None => None,
    };
    match (work.write_fabric(&mut page)?, &servers, &groups, topology) {
        (false, Some(servers), _, Some(source)) => {
            Fabric::of(&servers.graph).write(&servers.graph, &mut page);
            network(source.name(), work, &mut page);
            if let Some((gpu, line)) = servers.two_ways {
                page.head("[nic]").key_because("link", "least-loaded", "of equals NVLink, which stands first");
                let text = format!(
                    "GPU {gpu} reaches another one by NVLink and by one switch alike: flows take the link with less to send; \
                     in that program NVLink alone"
                );
                work.notes.differs(source.name(), Some(line), text);
            }
        }
        (false, _, Some(groups), _) => {
            let ranks = groups.ranks();
            // A star has no more hosts.
            if ranks > 65_535 {
                let error = ImportError::new(format!("{ranks} ranks, and no topology is given"));
                return Err(error.file(names[0]).hint("give the topology beside it, or --fabric FILE"));
            }
            let graph = star(ranks);
            Fabric::of(&graph).write(&graph, &mut page);
            let text = format!(
                "the topology: {ranks} GPUs at one switch, 400 Gb/s and 500 ns a link, each a server of its own"
            );
            work.notes.assumed(names[0], None, text);
            network(names[0], work, &mut page);
        }
        _ => {}
    }
    if let (Some(workload), Some(groups)) = (&workload, &groups) {
        steps::write(workload, groups, work, &mut page)?;
    }
    Ok(page)
}

/// What the files do not say about the network.
fn network(file: &str, work: &mut Work<'_>, page: &mut Page) {
    page.head("[switch]").key("buffer_per", "none");
    let text = "packets, switches and the control, which that program has in another file: as here by default, with buffers that hold \
                everything and no control; --fabric FILE says otherwise";
    work.notes.assumed(file, None, text);
}

fn star(hosts: u32) -> Graph {
    let mut graph = Graph::new(hosts);
    graph.switch.push(true);
    let link = |a| Link { line: 1, a, b: hosts, bps: 400_000_000_000, delay_ps: 500_000, loss: 0.0 };
    graph.links = (0..hosts).map(link).collect();
    graph
}
