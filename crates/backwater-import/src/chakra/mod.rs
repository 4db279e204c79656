//! Execution traces of Chakra (mlcommons/chakra), as read by astra-sim: a file for each rank, `NAME.<rank>.et`, of nodes that depend on
//! each other; as protobuf, perhaps compressed, as JSON, or as printed by `chakra_jsonizer`; and the groups of collectives.
//!
//! | Chakra | here |
//! |---|---|
//! | `COMP` | `compute` of `duration_micros`, one at a time on the accelerator (stream 0) and on the processor (stream 1) |
//! | `COMM_SEND` | `send`; complete when its last byte is at the receiver |
//! | `COMM_RECV` | `compute` of 0 that waits for its send: the one of the same ranks and tag, in order |
//! | `COMM_COLL` | the transfers of [`collective`], matched across ranks by group and order |
//! | one of the three with `is_cpu_op` | `compute` of its duration on the processor: the call that launches it |
//! | `MEM_LOAD`, `MEM_STORE` | `compute` of its duration |
//! | `ctrl_deps`, `data_deps` | `after` |

mod collective;
mod groups;
mod message;
mod node;
mod printed;
mod stream;

use crate::error::ImportError;
use crate::family::{Family, InputFiles, Kind, Work};
use crate::note::NoteKind;
use crate::scenario_writer::ScenarioWriter;
use crate::schedule::{Act, Label, Labels, MOST_RANKS, Op, Places, Program, Schedule, write_page};
use crate::source::{Head, Source};
use collective::Calls;
use node::{Kind as What, Node, Trace};
use printed::Objects;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use stream::Messages;

/// Traces of Chakra.
pub static FAMILY: Family = Family {
    name: "chakra",
    about: "Chakra execution traces, as astra-sim reads them",
    kinds: &[
        Kind {
            name: "chakra-et",
            about: "the trace of a rank, as protobuf, perhaps by gzip",
            recognise: stream::recognise,
        },
        Kind { name: "chakra-json", about: "the trace of a rank, as JSON", recognise: is_json },
        Kind {
            name: "chakra-objects",
            about: "the trace of a rank, as chakra_jsonizer prints it",
            recognise: printed::recognise,
        },
        Kind { name: "chakra-groups", about: "groups of collectives, as JSON", recognise: groups::recognise },
    ],
    beside: &[],
    uses: &["--command", "--fabric"],
    combine,
};

/// Streams of a rank.
const ACCELERATOR: u16 = 0;
const PROCESSOR: u16 = 1;

/// Picoseconds of a microsecond.
const US: u64 = 1_000_000;

/// The type of computations in the schema.
const COMPUTATION: i64 = 4;

fn is_json(head: &Head) -> bool {
    let lines = head.lines();
    // A file in one line that is cut has no complete line.
    let text = if lines.is_empty() { String::from_utf8_lossy(&head.octets).into_owned() } else { lines.join("\n") };
    text.trim_start().starts_with('{') && text.contains("\"workload_graph\"")
}

fn combine(given: InputFiles, work: &mut Work<'_>) -> Result<ScenarioWriter, ImportError> {
    let named = given.at_most_one("chakra-groups")?.cloned();
    let traces = in_order(&given)?;
    let ranks = traces.len() as u32;
    let mut calls = Calls::default();
    let mut groups: BTreeMap<String, u32> = BTreeMap::new();
    if let Some(source) = &named {
        for (name, members) in groups::read(source, ranks)? {
            groups.insert(name, calls.group(members));
        }
    }
    // These names mean all ranks unless the file defines them.
    for name in ["", "0"] {
        let all = || calls.group((0..ranks).collect());
        groups.entry(name.to_owned()).or_insert_with(all);
    }
    let mut reader = Reader {
        ranks,
        ops_per_ps: ops_per_ps(&work.options.command, work)?,
        groups,
        calls,
        labels: Labels::default(),
        reported: Vec::new(),
        ids: None,
        unused: [BTreeSet::new(), BTreeSet::new()],
        work,
    };
    let mut programs = Vec::with_capacity(traces.len());
    let mut nodes = 0;
    for (rank, (kind, source)) in (0u32..).zip(&traces) {
        let program = match reader.rank(rank, kind, source) {
            Ok(program) => program,
            Err(error) => {
                // A misspelt attribute is both missing and unknown.
                reader.finish(source.name());
                return Err(error);
            }
        };
        nodes += program.ops.len();
        programs.push((Arc::from(source.name()), program));
    }
    let first = traces.first().map_or("", |(_, source)| source.name());
    let (mut calls, labels) = reader.finish(first);
    let many = match ranks {
        1 if calls.any() => "1 rank, as there is 1 trace: its collectives have no transfers".to_owned(),
        1 => "1 rank, as there is 1 trace".to_owned(),
        _ => format!("{ranks} ranks, as many as there are traces"),
    };
    work.notes.assumed(first, None, many);
    calls.complete().map_err(|reason| {
        let hint = "the traces of all members have to be there, whole";
        ImportError::new(reason).file(named.as_ref().map_or(first, Source::name)).hint(hint)
    })?;
    let schedule = Schedule::new(programs, Places::Numbers)?.called(labels);
    let table = schedule.write(0, &mut calls, work)?;
    let title = traces.first().map_or("", |(_, source)| stem(source.file_name()).0);
    let about = format!("{title}: Chakra traces of {ranks} ranks with {nodes} nodes.");
    let (title, first) = (title.to_owned(), first.to_owned());
    write_page(&about, &title, "trace", ranks, &table, &first, work)
}

/// The name of a trace without its rank and the rest, and its rank: `all_reduce.3.et.gz` is rank 3 of `all_reduce`.
fn stem(name: &str) -> (&str, Option<u32>) {
    let mut rest = name;
    for ending in [".gz", ".et", ".json"] {
        rest = rest.strip_suffix(ending).unwrap_or(rest);
    }
    match rest.rsplit_once('.') {
        Some((stem, rank)) if rank.bytes().all(|octet| octet.is_ascii_digit()) => match rank.parse() {
            Ok(rank) => (stem, Some(rank)),
            Err(_) => (rest, None),
        },
        _ => (rest, None),
    }
}

/// The traces in the order of their ranks, which are part of their names.
fn in_order(given: &InputFiles) -> Result<Vec<(&'static str, Source)>, ImportError> {
    let traces: Vec<_> = given.files.iter().filter(|(kind, _)| kind.name != "chakra-groups").collect();
    let mut by_rank: BTreeMap<u32, (&'static str, &Source)> = BTreeMap::new();
    for (kind, source) in &traces {
        let rank = match stem(source.file_name()).1 {
            Some(rank) => rank,
            None if traces.len() == 1 => 0,
            None => {
                let hint = "name the files NAME.0.et, NAME.1.et, …";
                return Err(source.error("the name does not say whose trace this is").hint(hint));
            }
        };
        if let Some((_, other)) = by_rank.insert(rank, (kind.name, source)) {
            return Err(source.error(format!("another trace of rank {rank}: {} is one", other.name())));
        }
    }
    let Some((last, (_, source))) = by_rank.last_key_value() else {
        return Err(ImportError::new("groups without traces").hint("name the traces, too: NAME.0.et, NAME.1.et, …"));
    };
    if by_rank.len() as u32 > MOST_RANKS {
        return Err(source.error(format!("more than {MOST_RANKS} ranks")));
    }
    if *last as usize >= by_rank.len() && by_rank.len() > 1 {
        let missing = (0..).find(|rank| !by_rank.contains_key(rank)).unwrap_or_default();
        let reason = format!("the trace of rank {last}, and there is none of rank {missing}");
        return Err(source.error(reason).hint("name the traces of all ranks, from 0"));
    }
    Ok(by_rank.into_values().map(|(kind, source)| (kind, source.clone())).collect())
}

/// Operations in a picosecond: `--peak-perf`, in Tera operations a second, as in astra-sim's system files.
fn ops_per_ps(command: &[String], work: &mut Work<'_>) -> Result<Option<f64>, ImportError> {
    let mut rate = None;
    let mut words = command.iter();
    while let Some(word) = words.next() {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        if name.trim_start_matches('-') == "peak-perf" {
            let value = value.or_else(|| words.next().map(String::as_str)).unwrap_or_default();
            let error = || ImportError::new("is not a rate in Tera operations a second").file("--command").value(value);
            rate = Some(value.parse::<f64>().ok().filter(|rate| *rate > 0.0 && rate.is_finite()).ok_or_else(error)?);
        } else if name.starts_with('-') {
            work.notes.unknown("--command", None, name, "has no counterpart here");
        }
    }
    Ok(rate)
}

/// A required attribute that cannot be read; others have the same content, or no effect.
fn unreadable(node: &Node) -> Option<&(String, &'static str)> {
    let used = |(name, _): &&(String, &str)| name != "comm_priority" && !(name == "num_ops" && node.duration_us > 0);
    node.unreadable.iter().find(used)
}

struct Reader<'a, 'b> {
    ranks: u32,
    ops_per_ps: Option<f64>,
    groups: BTreeMap<String, u32>,
    calls: Calls,
    labels: Labels,
    reported: Vec<Reported>,
    /// The least and the greatest id of all nodes.
    ids: Option<(u64, u64)>,
    /// Names in the metadata and in the nodes that have no effect.
    unused: [BTreeSet<String>; 2],
    work: &'a mut Work<'b>,
}

impl Reader<'_, '_> {
    /// The program of a rank. Only one node is in memory at a time, beside the program.
    fn rank(&mut self, rank: u32, kind: &str, source: &Source) -> Result<Program, ImportError> {
        let mut building = Building { program: Program::default(), by_id: HashMap::new(), deps: Vec::new() };
        match kind {
            "chakra-json" => {
                let trace: Trace = serde_json::from_reader(std::io::BufReader::new(source.open()?))
                    .map_err(|error| source.error(error.to_string()).line(error.line() as u64))?;
                self.unused[0].extend(trace.others.into_keys());
                for node in trace.workload_graph {
                    self.node(rank, source, node.into(), &mut building)?;
                }
            }
            "chakra-objects" => {
                let (mut objects, metadata) = Objects::open(source)?;
                self.metadata(metadata);
                while let Some(node) = objects.next()? {
                    self.node(rank, source, node.into(), &mut building)?;
                }
                self.unused[1].append(&mut objects.unknown);
            }
            _ => {
                let mut messages = Messages::open(source)?;
                let Some(metadata) = messages.metadata()? else {
                    return Err(source.error("an empty file").hint("a trace begins with its metadata"));
                };
                self.metadata(metadata);
                while let Some(node) = messages.node()? {
                    self.node(rank, source, node.into(), &mut building)?;
                }
                self.unused[1].append(&mut messages.unknown);
            }
        }
        let program = building.finish(source)?;
        self.waits_for_kernels(&program, source.name());
        Ok(program)
    }

    fn metadata(&mut self, metadata: message::GlobalMetadata) {
        if !metadata.version.is_empty() {
            self.unused[0].insert(format!("version {}", metadata.version.chars().take(40).collect::<String>()));
        }
        self.unused[0].extend(metadata.attributes.into_iter().map(|attribute| attribute.name));
    }

    /// Notes how many collectives of a trace with computations of the accelerator wait for none of them.
    fn waits_for_kernels(&mut self, program: &Program, name: &str) {
        let kernel = |op: &Op| matches!(op.act, Act::Compute { stream: Some(ACCELERATOR), time_ps: 1.. });
        let collective = |op: &Op| matches!(op.act, Act::Collective(_));
        let any = |of: fn(&Op) -> bool| program.ops.iter().any(of);
        if any(kernel) && any(collective) {
            let text = "collectives that wait for no kernel: the trace does not say which computations of the accelerator come before \
                        them, so they begin when they are launched";
            let nodes = program.waiting_for_none(collective, kernel);
            self.report_of(NoteKind::Verdict, name, text, nodes as u64);
        }
    }

    fn node(&mut self, rank: u32, source: &Source, node: Node, building: &mut Building) -> Result<(), ImportError> {
        let fail = |reason: String| {
            let error = source.error(format!("node {}: {reason}", node.id));
            if node.name.is_empty() { error } else { error.value(&node.name) }
        };
        let number = |value: Option<u64>, what: &str| match value.map(u32::try_from) {
            None => Ok(None),
            Some(Ok(number)) => Ok(Some(number)),
            Some(Err(_)) => Err(fail(format!("{what} is too large"))),
        };
        for other in node.others.iter().chain(node.unreadable.iter().map(|(name, _)| name)) {
            if !self.unused[1].contains(other) {
                self.unused[1].insert(other.clone());
            }
        }
        if let Some((name, why)) = unreadable(&node) {
            return Err(fail(format!("{name} {why}")));
        }
        let what =
            node.what().ok_or_else(|| fail(format!("type {} is not in the schema, whose last is 7", node.kind)))?;
        let duration = node.duration_us.checked_mul(US).filter(|ps| *ps < 1 << 62);
        let duration =
            duration.ok_or_else(|| fail(format!("{} us are longer than can be simulated", node.duration_us)))?;
        let name = source.name();
        let label = self.label(&node, what, name);
        let act = match what {
            What::Nothing => Act::Compute { time_ps: 0, stream: None },
            What::Memory => {
                let text = "MEM_LOAD and MEM_STORE: they take their duration, and no memory is in their way";
                self.say(NoteKind::Differs, name, text);
                Act::Compute { time_ps: duration, stream: None }
            }
            What::Compute => {
                let time_ps = if duration > 0 { duration } else { self.time_of_operations(&node, name) };
                Act::Compute { time_ps, stream: Some(if node.cpu == Some(true) { PROCESSOR } else { ACCELERATOR }) }
            }
            What::Send | What::Receive => {
                let send = what == What::Send;
                let (own, other, which) = if send {
                    (node.comm_src, node.comm_dst, "comm_dst")
                } else {
                    (node.comm_dst, node.comm_src, "comm_src")
                };
                if own.is_some_and(|own| own != u64::from(rank)) {
                    return Err(fail(format!("a message of other ranks, in the trace of rank {rank}")));
                }
                let peer = number(other, which)?.ok_or_else(|| fail(format!("has no {which}")))?;
                if peer >= self.ranks {
                    return Err(fail(format!("there is no rank {peer}: there are {} traces", self.ranks)));
                }
                let tag = number(node.comm_tag, "comm_tag")?.unwrap_or_default();
                if tag == crate::schedule::ANY {
                    return Err(fail("comm_tag is too large".into()));
                }
                let bytes = node.comm_size.ok_or_else(|| fail("has no comm_size".into()))?;
                if send { Act::Send { peer, tag, bytes } } else { Act::Receive { peer, tag, bytes } }
            }
            What::Collective => {
                let kind = node.comm_type.ok_or_else(|| fail("has no comm_type".into()))?;
                if collective::kind(kind).is_none() {
                    return Err(fail(format!("comm_type {kind} is not in the schema, whose last is 9")));
                }
                // A barrier sends no data, and a single rank sends nothing.
                let bytes = match node.comm_size {
                    None if kind == collective::BARRIER || self.ranks == 1 => 0,
                    size => size.ok_or_else(|| fail("has no comm_size".into()))?,
                };
                let group = node.group.as_deref().unwrap_or_default();
                let group = *self.groups.get(group).ok_or_else(|| {
                    fail(format!("group {group} is not known"))
                        .hint("name the file of groups beside the traces: {\"1\": [0, 1], …}")
                })?;
                let which = self.calls.call(rank, group, (kind, bytes), node.root, label).map_err(fail)?;
                if self.calls.label(which) != label {
                    let text = "name of a collective that ranks call differently: the first rank's counts";
                    self.say(NoteKind::Differs, name, text);
                }
                Act::Collective(which)
            }
        };
        self.note(&node, what, name);
        building.add(source, node, act, label)
    }

    /// Returns the label of a node in the results.
    fn label(&mut self, node: &Node, what: What, name: &str) -> Label {
        let sends = match what {
            What::Nothing | What::Receive => return Label::default(),
            What::Compute | What::Memory => false,
            What::Send | What::Collective => true,
        };
        self.labels.label(&node.name, sends).unwrap_or_else(|| {
            let text = "names of nodes beyond the first 3500 of computations and 500 of communication: results call them as if they had none";
            self.say(NoteKind::Ignored, name, text);
            Label::default()
        })
    }

    /// The time of a computation that only has a number of operations, in ps.
    fn time_of_operations(&mut self, node: &Node, name: &str) -> u64 {
        match (node.num_ops.filter(|ops| *ops > 0), self.ops_per_ps) {
            // One Tera operation a second is one operation a picosecond.
            (Some(ops), Some(rate)) => ((ops as f64 / rate).round() as u64).min(1 << 61),
            (Some(_), None) => {
                let text = "num_ops without a duration: such computations take no time; --command \"--peak-perf 900\" gives them \
                            so many Tera operations a second";
                self.say(NoteKind::Ignored, name, text);
                0
            }
            (None, _) => 0,
        }
    }

    fn note(&mut self, node: &Node, what: What, name: &str) {
        if node.start_us > 0 {
            self.say(NoteKind::Ignored, name, "start_time_micros: nodes begin when what they depend on is complete");
        }
        if node.comm_priority.is_some_and(|priority| priority > 0) {
            self.say(NoteKind::Ignored, name, "comm_priority: the flows of a host take turns here");
        }
        if matches!(what, What::Send | What::Collective) {
            let text = "communication: astra-sim has one of a rank under way at a time; here nothing but dependencies is in its way";
            self.say(NoteKind::Differs, name, text);
        }
        if what == What::Compute && node.kind != COMPUTATION {
            let text = "communication that is_cpu_op gives to the processor: the call that launches it, which computes for its duration";
            self.say(NoteKind::Assumed, name, text);
        }
        self.unused_of(node, what, name);
        if what == What::Collective {
            self.say(NoteKind::Assumed, name, "collectives: their transfers are those of one ring, or direct ones");
        }
    }

    /// Notes the parts of a node that have no effect.
    fn unused_of(&mut self, node: &Node, what: What, name: &str) {
        let (least, most) = self.ids.unwrap_or((node.id, node.id));
        self.ids = Some((least.min(node.id), most.max(node.id)));
        let message = matches!(what, What::Send | What::Receive);
        let alone = self.ranks == 1 && what == What::Collective;
        let communicates = message || what == What::Collective;
        let unnamed = matches!(what, What::Nothing | What::Receive) || alone;
        let reported = node.comm_type.or(node.comm_size).is_some() || node.group.is_some();
        let ends = node.comm_src.or(node.comm_dst).or(node.comm_tag).is_some();
        let timed = what != What::Compute || node.duration_us > 0;
        let idle = matches!(what, What::Nothing | What::Memory);
        let all = [
            (unnamed && !node.name.is_empty(), "name (Name) of what takes no time and sends nothing"),
            (
                what == What::Nothing && node.duration_us > 0,
                "durations of METADATA and INVALID nodes: they take no time",
            ),
            (communicates && node.duration_us > 0, "durations of communication: it takes what the network takes"),
            (timed && node.num_ops.is_some(), "num_ops where a duration or the network says how long a node takes"),
            (idle && node.cpu.is_some(), "is_cpu_op of loads, stores and metadata"),
            (alone, "comm_type, comm_size and pg_name of collectives of one rank: nothing is sent"),
            (message && node.comm_type.is_some(), "comm_type of messages"),
            (message && node.group.is_some(), "pg_name of messages"),
            (message && node.comm_src == node.comm_dst, "comm_size of messages to the own rank, which take no time"),
            (!message && ends, "comm_src, comm_dst and comm_tag of what is no message"),
            (!communicates && reported, "comm_type, comm_size and pg_name of what is no communication"),
        ];
        for (_, text) in all.into_iter().filter(|(there, _)| *there) {
            self.say(NoteKind::Ignored, name, text);
        }
    }

    /// Notes something for the first trace that has it, with the number of nodes that have it: there may be a thousand traces.
    fn say(&mut self, kind: NoteKind, name: &str, text: &'static str) {
        self.report_of(kind, name, text, 1);
    }

    /// The same for so many nodes, if any.
    fn report_of(&mut self, kind: NoteKind, name: &str, text: &'static str, nodes: u64) {
        match self.reported.iter_mut().find(|reported| reported.text == text) {
            Some(reported) => reported.nodes += nodes,
            None if nodes > 0 => self.reported.push(Reported { kind, file: name.to_owned(), text, nodes }),
            None => {}
        }
    }

    fn finish(self, first: &str) -> (Calls, Labels) {
        if let Some((least, most)) = self.ids {
            let text = format!("id (Id) of nodes of all traces, {least} to {most}: operations are numbered anew");
            self.work.notes.ignored(first, None, text);
        }
        let what = ["what the metadata says", "what else nodes say"];
        for (what, names) in what.into_iter().zip(&self.unused) {
            names.iter().for_each(|name| self.work.notes.unknown(first, None, name, what));
        }
        for Reported { kind, file, text, nodes } in self.reported {
            let nodes = if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes of all traces") };
            self.work.notes.add(kind, &file, None, format!("{text} ({nodes})"));
        }
        (self.calls, self.labels)
    }
}

/// A note in preparation.
struct Reported {
    kind: NoteKind,
    file: String,
    text: &'static str,
    nodes: u64,
}

/// A program under construction: nodes may depend on later ones.
struct Building {
    program: Program,
    by_id: HashMap<u64, u32>,
    deps: Vec<(u32, u64)>,
}

impl Building {
    fn add(&mut self, source: &Source, node: Node, act: Act, label: Label) -> Result<(), ImportError> {
        let op = self.program.push_called(act, node.id, label);
        if self.by_id.insert(node.id, op).is_some() {
            return Err(source.error(format!("node {}: there is another one with this id", node.id)));
        }
        self.deps.extend(node.deps.iter().map(|dep| (op, *dep)));
        Ok(())
    }

    fn finish(mut self, source: &Source) -> Result<Program, ImportError> {
        for (op, dep) in &self.deps {
            let own = self.program.ops[*op as usize].place;
            match self.by_id.get(dep) {
                Some(other) if other == op => return Err(source.error(format!("node {own}: depends on itself"))),
                Some(other) => self.program.after(*op, *other),
                None => {
                    let reason = format!("node {own}: depends on node {dep}, which is not there");
                    return Err(source.error(reason).hint("it would never begin"));
                }
            }
        }
        Ok(self.program)
    }
}
