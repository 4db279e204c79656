//! The ns-3 code of HPCC (SIGCOMM 2019) and its descendants: conweave-ns3 and ns3-datacenter. Topologies, lists of flows, configurations,
//! distributions of sizes, and lists of flows' paths.
//!
//! A configuration names the other files; files given beside it take precedence.

mod cdf;
pub mod config;
pub mod controls;
pub mod faults;
mod flow;
mod flows;
mod paths;
mod ports;
mod switches;
mod topology;
mod trace;
mod window;

use crate::error::ImportError;
use crate::family::{Family, InputFiles, Kind, Work};
use crate::graph::{Fabric, Graph};
use crate::scenario_writer::ScenarioWriter;
use crate::source::Source;
use crate::units::time;
use config::Config;
use controls::{Sent, Setting};
use flow::List;

/// Files of HPCC's ns-3 code and its descendants.
pub static FAMILY: Family = Family {
    name: "hpcc",
    about: "the ns-3 code of HPCC, conweave-ns3 and ns3-datacenter",
    kinds: &[
        Kind { name: "hpcc-topology", about: "a topology: nodes, switches, links", recognise: topology::recognise },
        Kind { name: "hpcc-flow", about: "a list of flows", recognise: flow::recognise },
        Kind {
            name: "hpcc-config",
            about: "a configuration, with the files that it names",
            recognise: config::recognise,
        },
        Kind { name: "hpcc-cdf", about: "a distribution of the sizes of flows", recognise: cdf::recognise },
        Kind { name: "hpcc-paths", about: "the ways that flows take", recognise: paths::recognise },
        Kind { name: "hpcc-trace", about: "a list of nodes whose packets are traced", recognise: trace::recognise },
    ],
    beside: &[],
    uses: &["--fabric", "--zero-at"],
    combine,
};

/// Longest unbounded run, in ps.
pub const HOUR_PS: u64 = 3_600_000_000_000_000;

/// First start in the tools of that code, in ps.
const CUSTOM_PS: u64 = 2_000_000_000_000;

fn combine(given: InputFiles, work: &mut Work<'_>) -> Result<ScenarioWriter, ImportError> {
    let config_file = given.at_most_one("hpcc-config")?;
    let config = match config_file {
        Some(source) => Some(config::parse(source.name(), &source.text()?, work.notes)?),
        None => None,
    };
    let beside = |keys: &[&str], own: Option<&Source>| match own {
        Some(source) => Ok(Some(source.clone())),
        None => named(config_file, config.as_ref(), keys),
    };
    let topology = beside(&["TOPOLOGY_FILE"], given.at_most_one("hpcc-topology")?)?;
    let cdf = given.at_most_one("hpcc-cdf")?;
    let list = match given.at_most_one("hpcc-flow")? {
        None if cdf.is_some() => None,
        own => beside(&["FLOW_FILE", "FLOW_INPUT_FILE"], own)?,
    };
    if let Some(config) = &config {
        let flows = given.at_most_one("hpcc-flow")?.or(cdf).is_some();
        let others = [
            ("TOPOLOGY_FILE", given.at_most_one("hpcc-topology")?.is_some()),
            ("FLOW_FILE", flows),
            ("FLOW_INPUT_FILE", flows),
        ];
        for (key, _) in others.into_iter().filter(|(key, given)| *given && config.line(key).is_some()) {
            let text = format!("{key}: the file that was given counts");
            work.notes.ignored(config.file(), config.line(key), text);
        }
    }
    let graph = match &topology {
        Some(source) => Some(topology::parse(source.name(), &source.text()?, work.notes)?),
        None => None,
    };
    let flows = match &list {
        Some(source) => flow::parse(source.name(), &source.text()?, work.notes)?,
        None => List::default(),
    };
    if let Some(source) = given.at_most_one("hpcc-trace")? {
        let nodes = trace::parse(source.name(), &source.text()?)?;
        let text = format!("each node to trace, {}: `backwater run --capture` writes what passes a port", nodes.len());
        work.notes.ignored(source.name(), None, text);
    }
    if list.is_none() && cdf.is_none() {
        work.no_workload();
    }
    let mut writer = ScenarioWriter::new();
    introduce(&given, work, &mut writer);
    let start = origin(&flows, config.as_ref(), list.as_ref(), work)?;
    let own = work.fabric.is_none();
    let stop = match &config {
        Some(config) if own => stop(config, start, work)?,
        Some(config) => {
            let text = "the configuration but for the files that it names: --fabric has the network and the control";
            work.notes.ignored(config.file(), None, text);
            None
        }
        None => None,
    };
    let graph = match graph {
        Some(graph) => graph,
        None => assumed(&flows, config.as_ref(), list.as_ref().or(cdf), work)?,
    };
    let fabric = Fabric::of(&graph);
    if !work.write_fabric(&mut writer)? {
        let file = given.files.first().map_or("", |(_, source)| source.name());
        let longest = stop.unwrap_or(HOUR_PS);
        let sent = if cdf.is_some() { Sent::Drawn } else { Sent::Flows(&flows.rows) };
        write_network(&graph, &fabric, &flows, sent, (config.as_ref(), file, longest), work, &mut writer)?;
    }
    match &config {
        Some(config) if own => faults::write(config, &graph, &fabric, start, &mut writer)?,
        None if own => faults::losses(&graph, &fabric, 0.0, &mut writer),
        _ => {}
    }
    let ways = match given.at_most_one("hpcc-paths")? {
        Some(source) => Some((source, paths::parse(source.name(), &source.text()?, work.notes)?)),
        None => None,
    };
    let mut labels = Vec::new();
    if let Some(list) = &list {
        let known = flows::Known { flows: &flows, list, graph: &graph, fabric: &fabric, start };
        labels = known.write(ways, work, &mut writer)?;
    } else if let Some((source, _)) = ways {
        return Err(source.error("ways of flows, and no list of flows").hint("give the list beside it"));
    }
    if let Some(source) = cdf {
        labels.push(flows::drawn(source, work, &mut writer)?);
    }
    if let Some(at) = stop {
        writer.head("[stop]").key("at", time(at));
        if !labels.is_empty() {
            writer.remark("That code stops there at the latest; what is simulated is over with its flows.");
            writer.key("when", labels);
        }
    }
    Ok(writer)
}

/// The file that a configuration names: relative to its own directory, to the one above, in which that code is run, or of that name beside
/// it.
fn named(own: Option<&Source>, config: Option<&Config>, keys: &[&str]) -> Result<Option<Source>, ImportError> {
    let (Some(own), Some(config)) = (own, config) else { return Ok(None) };
    let Some((key, name)) = keys.iter().find_map(|key| Some((*key, config.word(key)?))) else { return Ok(None) };
    let candidates = [name.to_owned(), format!("../{name}"), name.rsplit('/').next().unwrap_or(name).to_owned()];
    let default = "it is looked for from the configuration's directory and the one above; give the file beside it";
    match candidates.iter().filter_map(|name| own.beside(name)).find(Source::is_there) {
        None => Err(config.error(key, "names a file that is not there").hint(default)),
        Some(source) => match source.head() {
            Ok(_) => Ok(Some(source)),
            Err(why) => {
                let reason = format!("names {}, which cannot be read: {}", source.name(), why.reason);
                Err(config.error(key, &reason).hint(why.hint.as_deref().unwrap_or(default)))
            }
        },
    }
}

fn introduce(given: &InputFiles, work: &Work<'_>, writer: &mut ScenarioWriter) {
    let names: Vec<&str> = given.files.iter().map(|(_, source)| source.file_name()).collect();
    writer.remark(&format!("{}: of the ns-3 code of HPCC or one that came of it.", names.join(", ")));
    work.title(names.first().copied().unwrap_or_default(), writer);
}

/// The time in those files that becomes 0 s: 2 s, with which their tools begin, or the first flow if that is earlier.
fn origin(
    flows: &List,
    config: Option<&Config>,
    list: Option<&Source>,
    work: &mut Work<'_>,
) -> Result<u64, ImportError> {
    let first = flows.rows.iter().min_by_key(|row| row.start_ps);
    let reported = work.options.from_ps;
    let custom = match config {
        Some(config) => config.time("FLOWGEN_START_TIME", 12)?.unwrap_or(CUSTOM_PS),
        None => CUSTOM_PS,
    };
    let (Some(first), Some(list)) = (first, list) else { return Ok(reported.unwrap_or(custom)) };
    if let Some(reported) = reported {
        return match reported <= first.start_ps {
            true => Ok(reported),
            false => {
                let reason = format!("starts at {}, before {}", time(first.start_ps), time(reported));
                Err(list.error(reason).line(first.line).hint("let 0 s be no later than the first flow"))
            }
        };
    }
    let (start, why) = match custom <= first.start_ps {
        true => (custom, "with which the tools of that code begin"),
        false => (first.start_ps, "the first flow"),
    };
    let text = format!("{} of the file is 0 s here: {why}", time(start));
    work.notes.assumed(list.name(), Some(first.line), text);
    Ok(start)
}

/// The latest end, in ps after 0 s; `None`: unbounded.
fn stop(config: &Config, start: u64, work: &mut Work<'_>) -> Result<Option<u64>, ImportError> {
    let line = config.line("SIMULATOR_STOP_TIME");
    match config.stop()? {
        None => {
            let text = "SIMULATOR_STOP_TIME, which is later than an hour: the run ends with its flows";
            work.notes.ignored(config.file(), line, text);
            Ok(None)
        }
        Some(stop) if stop <= start => {
            let text = format!(
                "SIMULATOR_STOP_TIME: nothing would run until then, since 0 s here is {} there; the run ends with its flows",
                time(start)
            );
            work.notes.ignored(config.file(), line, text);
            Ok(None)
        }
        Some(stop) => {
            if line.is_none() {
                let text = format!("SIMULATOR_STOP_TIME, which is missing: {}, as that code has it", time(stop));
                work.notes.assumed(config.file(), None, text);
            }
            Ok(Some(stop - start))
        }
    }
}

/// A star for all the hosts that flows name.
fn assumed(
    flows: &List,
    config: Option<&Config>,
    source: Option<&Source>,
    work: &mut Work<'_>,
) -> Result<Graph, ImportError> {
    if let Some(config) = config {
        return Err(config.error("TOPOLOGY_FILE", "is missing").hint("give the topology beside the configuration"));
    }
    let Some(source) = source else {
        return Err(
            ImportError::new("neither flows nor a topology are given").hint("give the files that belong to them")
        );
    };
    let most = flows.rows.iter().map(|row| (row.src.max(row.dst), row.line)).max();
    let (hosts, line) = match most {
        Some((host, line)) => (u64::from(host) + 1, Some(line)),
        None => (16, None),
    };
    // The most hosts of a star; a list of flows with more does not belong to a star.
    if hosts > 65_535 {
        let error = source.error(format!("names host {}, and gives no topology", hosts - 1));
        return Err(error.line(line.unwrap_or(1)).hint("give the topology beside it"));
    }
    if work.fabric.is_none() {
        let text = format!("the topology: {hosts} hosts at one switch, 100 Gb/s and 1 us a link");
        work.notes.assumed(source.name(), line, text);
    }
    let mut graph = Graph::new(hosts as u32 + 1);
    graph.switch[hosts as usize] = true;
    let link =
        |a| crate::graph::Link { line: 1, a, b: hosts as u32, bps: 100_000_000_000, delay_ps: 1_000_000, loss: 0.0 };
    graph.links = (0..hosts as u32).map(link).collect();
    Ok(graph)
}

fn write_network(
    graph: &Graph,
    fabric: &Fabric,
    flows: &List,
    sent: Sent<'_>,
    (config, file, longest_ps): (Option<&Config>, &str, u64),
    work: &mut Work<'_>,
    writer: &mut ScenarioWriter,
) -> Result<(), ImportError> {
    fabric.write(graph, writer);
    if graph.hosts_have_several() {
        writer.head("[nic]").key_because("link", "hash", "that code hashes a flow over the links towards its receiver");
    }
    let classes = &flows.rows.iter().map(|row| row.class).collect();
    match config {
        Some(config) => Setting { config, graph, fabric, sent, classes, longest_ps }.write(work.notes, writer),
        None => {
            writer.head("[packet]").key("payload", "1000 B").key("header", "48 B").key("gap", "0 B");
            writer.head("[ack]").key("size", "60 B");
            writer.head("[switch]").key("buffer_per", "none").key("latency", "0 s");
            let text = "the configuration: no control, and buffers that hold everything";
            work.notes.assumed(file, None, text);
            Ok(())
        }
    }
}
