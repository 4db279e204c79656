//! htsim (Broadcom/csg-htsim, ultraethernet/uet-htsim): connection matrices and topologies, and the command lines that go with them.
//!
//! A matrix contains senders, receivers, sizes and times; a topology file contains the fat tree; everything else is on the command line of
//! one of the programs, of which [`command`] reads the parts with a counterpart here.

mod command;
mod controls;
mod fabric;
mod matrix;
mod topo;
mod uec;
mod validate;
mod values;
mod workload;

use crate::error::ImportError;
use crate::family::{Family, InputFiles, Kind, Work};
use crate::note::NoteKind;
use crate::options::{Options, StartUnit};
use crate::scenario_writer::ScenarioWriter;
use crate::source::{Source, base_name};
use crate::units::{rate, size, time};
use command::{Command, NETWORK, Program};
use fabric::Fabric;
use matrix::Matrix;
use topo::Tier;
use uec::Constants;

/// Files of htsim.
pub static FAMILY: Family = Family {
    name: "htsim",
    about: "htsim, of csg-htsim and UEC's uet-htsim",
    kinds: &[
        Kind {
            name: "htsim-cm",
            about: "a connection matrix: flows, triggers, failed links",
            recognise: matrix::recognise,
        },
        Kind { name: "htsim-topo", about: "a topology: tiers of a fat tree", recognise: topo::recognise },
        Kind {
            name: "htsim-validate",
            about: "a list of experiments, of which one is imported",
            recognise: validate::recognise,
        },
    ],
    beside: &[],
    uses: &["--start-unit", "--command", "--fabric"],
    combine,
};

/// Octets of a header of all programs, and of an acknowledgement.
const HEADER: u64 = 64;

fn combine(given: InputFiles, work: &mut Work<'_>) -> Result<ScenarioWriter, ImportError> {
    let mut matrix = given.at_most_one("htsim-cm")?.cloned();
    let mut topology = given.at_most_one("htsim-topo")?.cloned();
    let mut words = work.options.command.clone();
    let mut about = String::new();
    if let Some(list) = given.at_most_one("htsim-validate")? {
        let one = validate::only(list, &list.text()?, work.notes)?;
        about = one.about;
        matrix = matrix.or(one.matrix);
        topology = topology.or(one.topology);
        words.extend(one.command);
    }
    let command = command::parse(&words, work.notes)?;
    if matrix.is_none() {
        work.no_workload();
    }
    check_files(&command, matrix.as_ref(), topology.as_ref(), work)?;
    let Some(matrix) = matrix else {
        let Some(topology) = topology else { return Err(ImportError::new("no file was given")) };
        let mut writer = ScenarioWriter::new();
        writer.remark(&format!("{}: a topology of htsim. It has no flows: add some.", topology.file_name()));
        work.title(topology.file_name(), &mut writer);
        write_fabric(&topology_of(&topology, &command, work)?, &command, None, &mut writer);
        return Ok(writer);
    };
    let content = matrix::parse(matrix.name(), &matrix.text()?)?;
    let mut writer = ScenarioWriter::new();
    introduce(&matrix, &content, &words, work, &mut writer);
    if !about.is_empty() {
        writer.remark(&format!("Experiment: {about}"));
    }
    let (mut kept, mut assumed) = (false, false);
    if work.write_fabric(&mut writer)? {
        if let Some((name, _)) = work.fabric {
            for option in NETWORK.iter().filter(|option| !matches!(**option, "-tm" | "-nodes")) {
                command.ignored(option, &format!("{name} says it"), work.notes);
            }
        }
    } else {
        let fabric = match &topology {
            Some(source) => topology_of(source, &command, work)?,
            None => Fabric::of_hosts(content.nodes, &command, matrix.name())?,
        };
        let hosts = fabric.pods * fabric.tors * fabric.hosts;
        if hosts != content.nodes {
            let reason = format!("{} nodes, and the topology has {hosts}", content.nodes);
            return Err(matrix.error(reason).hint("give the topology that belongs to it"));
        }
        let constants = command.is_uec().then(|| Constants::of(&fabric, &command)).transpose()?;
        kept = constants.is_some();
        write_fabric(&fabric, &command, constants.as_ref(), &mut writer);
        match &constants {
            Some(constants) => uec::write_controls(&fabric, &command, constants, &mut writer, work.notes),
            None => write_transport(&command, &matrix, work, &mut writer),
        }
        assumed = command.program.is_none();
        failed(&content, &fabric, &command, &matrix, work, &mut writer);
    }
    if command.reported("-nodes").is_some_and(|reported| reported != content.nodes.to_string()) {
        command.ignored("-nodes", &format!("{} says {}", matrix.file_name(), content.nodes), work.notes);
    }
    let unit = start_unit(work.options, &command, assumed, &content, &matrix, work.notes);
    workload::write(&content, &command, unit, kept, &matrix, work, &mut writer)?;
    Ok(writer)
}

/// Checks that the files on the command line are the given ones.
fn check_files(
    command: &Command,
    matrix: Option<&Source>,
    topology: Option<&Source>,
    work: &mut Work<'_>,
) -> Result<(), ImportError> {
    let is = |given: Option<&Source>, name: &str| given.is_some_and(|given| given.file_name() == base_name(name));
    if let Some(name) = command.reported("-topo").filter(|name| work.fabric.is_none() && !is(topology, name)) {
        let (reason, hint) = match topology {
            None => ("no topology is given".to_owned(), "give it beside the matrix"),
            Some(other) => {
                (format!("the topology that is given is {}", other.file_name()), "give that one, or no -topo")
            }
        };
        return Err(ImportError::new(reason).file(values::NAME).value(format!("-topo {name}")).hint(hint));
    }
    if command.reported("-tm").is_some_and(|name| !is(matrix, name)) {
        let why = matrix.map_or("no matrix is given".to_owned(), |own| format!("the matrix is {}", own.file_name()));
        command.ignored("-tm", &why, work.notes);
    }
    Ok(())
}

fn topology_of(source: &Source, command: &Command, work: &mut Work<'_>) -> Result<Fabric, ImportError> {
    let topology = topo::parse(source.name(), &source.text()?)?;
    let all = |reported: fn(&Tier) -> Option<u64>| topology.tiers.iter().all(|tier| reported(tier).is_some());
    for (option, reported) in [
        ("-linkspeed", all(|tier| tier.downlink_gbps)),
        ("-hop_latency", all(|tier| tier.link_latency_ns)),
        ("-switch_latency", all(|tier| tier.switch_latency_ns)),
    ] {
        if reported {
            command.ignored(option, &format!("{} says it", source.file_name()), work.notes);
        }
    }
    let tiers = topology.tiers.len();
    if command.tiers != tiers as u64 {
        command.ignored("-tiers", &format!("{} says {tiers}", source.file_name()), work.notes);
    }
    Fabric::of_file(&topology, command, source.name(), work.notes)
}

fn introduce(source: &Source, matrix: &Matrix, words: &[String], work: &Work<'_>, writer: &mut ScenarioWriter) {
    let (flows, nodes) = (matrix.connections.len(), matrix.nodes);
    writer.remark(&format!(
        "{}: a connection matrix of htsim with {flows} flows among {nodes} hosts.",
        source.file_name()
    ));
    if words.is_empty() {
        writer
            .remark("The rest is what htsim does without options; `backwater import --command` takes a command line.");
    } else {
        writer.remark(&format!("Command line: {}", words.join(" ")));
    }
    work.title(source.file_name(), writer);
}

/// The unit of start times: the caller's, or the program's. If no program is named it is `htsim_uec`, as for transport and queues.
/// `transport`: whether those had to be assumed, too.
fn start_unit(
    options: &Options,
    command: &Command,
    transport: bool,
    matrix: &Matrix,
    source: &Source,
    notes: &mut crate::note::Notes,
) -> StartUnit {
    let by_program = if command.is_uec() { StartUnit::Microseconds } else { StartUnit::Picoseconds };
    let unit = options.start_unit.unwrap_or(by_program);
    let starts = matrix.connections.iter().filter_map(|connection| match connection.start {
        matrix::Start::At(at) if at > 0.0 => Some((at, connection.line)),
        _ => None,
    });
    // A wrong unit shows at the latest start.
    let last = starts.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|_| options.start_unit.is_none());
    let last = last.map(|(at, line)| {
        let ps = if unit == StartUnit::Microseconds { at.trunc() * 1e6 } else { at.round() };
        (time(ps.clamp(0.0, 9e18) as u64), line)
    });
    let name = if unit == StartUnit::Microseconds { "whole microseconds" } else { "picoseconds" };
    let other = format!("`backwater import {} --command \"PROGRAM OPTIONS\"`", source.file_name());
    let text = match (&last, command.program.is_some(), transport) {
        (Some((at, _)), true, _) => {
            format!("start times are {name}, as that program reads them, the last {at}; --start-unit says otherwise")
        }
        (Some((at, _)), false, true) => format!(
            "no program is named: transport, queues and start times are those of htsim_uec without options. Start times are {name}, the \
             last {at}; in other programs of htsim they are picoseconds. {other} says otherwise, and --start-unit the unit"
        ),
        (Some((at, _)), false, false) => format!(
            "no program is named: start times are {name} as in htsim_uec, the last {at}; in other programs of htsim they are picoseconds. \
             {other} says otherwise, and --start-unit the unit"
        ),
        (None, false, true) => {
            format!(
                "no program is named: transport and queues are those of htsim_uec without options. {other} says otherwise"
            )
        }
        (None, ..) => return unit,
    };
    notes.assumed(source.name(), last.map(|(_, line)| line), text);
    unit
}

/// Writes the fabric; with constants of `htsim_uec` its queues have limits.
fn write_fabric(fabric: &Fabric, command: &Command, constants: Option<&Constants>, writer: &mut ScenarioWriter) {
    fabric.write(writer);
    writer.head("[switch]");
    match constants {
        Some(constants) => uec::write_queues(command, constants, writer),
        None => {
            writer.key("buffer_per", "none");
        }
    }
    let latency = fabric.layers.first().map_or(0, |layer| layer.latency_ps);
    writer.key("latency", time(latency)).key("latency_at", "fabric");
    fabric.write_latencies(writer);
    let payload = payload(command);
    writer.head("[packet]").key("payload", size(payload)).key("header", size(HEADER)).key("gap", "0 B");
}

/// Payload of a full packet, in octets.
fn payload(command: &Command) -> u64 {
    match command.program {
        None | Some(Program::Uec) => command.uec_mtu() - HEADER,
        Some(_) => command.mtu.unwrap_or(9000),
    }
}

fn write_transport(command: &Command, source: &Source, work: &mut Work<'_>, writer: &mut ScenarioWriter) {
    writer.head("[ack]").key("size", size(HEADER));
    if command.program == Some(Program::Roce) {
        let (low, high) = command.pfc;
        let unit = payload(command);
        writer.head("[pause]");
        writer.remark("A counter for each ingress: above so many packets the neighbour stops. No frame says so.");
        writer.key("xoff", size(high * unit)).key("xon", size(low * unit)).key("signal", "ideal");
        if let Some(strategy) = command.strategy.as_deref().filter(|one| !["ecmp_host", "single"].contains(one)) {
            work.notes.differs(values::NAME, None, format!("-strat {strategy}: each flow takes one way, by ECMP"));
        }
        if command.paths.is_some() {
            work.notes.unread(values::NAME, None, "-paths", "each flow takes one way, by ECMP");
        }
        return;
    }
    // One acknowledgement for each so many octets.
    let wire = payload(command) + HEADER;
    writer.number("every", command.sack_threshold.div_ceil(wire).max(1));
    writer.key("first_packet", true);
    writer.key_because("class", 7, "its switches serve headers and acknowledgements before data");
    if command.paths != Some(1) {
        writer.head("[spray]").key("order", "random");
        if command.paths.is_some() {
            work.notes.named(NoteKind::Differs, values::NAME, None, "-paths", "here packets take any way");
        }
    }
    if let Some(strategy) = command.strategy.as_deref() {
        let here =
            if command.paths == Some(1) { "each flow takes one way, by ECMP" } else { "packets are sprayed at random" };
        work.notes.differs(values::NAME, None, format!("-strat {strategy}: {here}"));
    }
    let text = "flows send at the rate of their link, queues hold everything, packets are sprayed at random";
    work.notes.differs(source.name(), None, text);
}

/// Links that fail or are slow: `add_failed_link` and `-failed`.
fn failed(
    matrix: &Matrix,
    fabric: &Fabric,
    command: &Command,
    source: &Source,
    work: &mut Work<'_>,
    writer: &mut ScenarioWriter,
) {
    for failure in &matrix.failures {
        let up = fabric.cores.checked_div(fabric.aggs).unwrap_or(0);
        if failure.tier != "AGG" || failure.switch >= fabric.pods * fabric.aggs || failure.link >= up {
            let text = format!(
                "link {} of {} {}: there is none, or it is not one from an aggregation switch upwards, and only those \
                                can fail there",
                failure.link, failure.tier, failure.switch
            );
            work.notes.ignored(source.name(), Some(failure.line), text);
            continue;
        }
        let core = fabric.core_above(failure.switch, failure.link);
        writer.head("[[link.at]]").key("between", vec![format!("agg{}", failure.switch), format!("core{core}")]);
        if fabric.core_bundle > 1 {
            writer.key_because("number", 0, "of a bundle the first");
        }
        writer.key("down", true);
    }
    if command.failed == 0 {
        return;
    }
    let slow = fabric.slow_links(command.failed);
    if slow.is_empty() {
        let text = format!("-failed {}: it is about links to core switches, and there are none", command.failed);
        work.notes.ignored("--command", None, text);
        return;
    }
    let quarter = fabric.layers.last().map_or(0, |layer| layer.bps / 4);
    for (agg, cores) in slow {
        writer.head("[[link.at]]");
        writer
            .key("from", cores.iter().map(|core| format!("core{core}")).collect::<Vec<_>>())
            .key("to", format!("agg{agg}"));
        writer.key_because("rate", rate(quarter), "-failed: downwards, a quarter");
    }
}
