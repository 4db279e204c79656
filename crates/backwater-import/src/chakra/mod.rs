//! Execution traces of Chakra (mlcommons/chakra), as astra-sim reads them: a file for each rank, `NAME.<rank>.et`, of nodes that depend
//! on each other; as protobuf, perhaps compressed, or as JSON; and the groups of collectives beside them.
//!
//! | Chakra | here |
//! |---|---|
//! | `COMP` | `compute` of `duration_micros`, one at a time on the accelerator (stream 0) and on the processor (stream 1) |
//! | `COMM_SEND` | `send`; complete when its last byte is at the receiver |
//! | `COMM_RECV` | `compute` of 0 that waits for its send: the one of the same ranks and tag, in order |
//! | `COMM_COLL` | the transfers of [`collective`], matched across ranks by group and order |
//! | `MEM_LOAD`, `MEM_STORE` | `compute` of its duration |
//! | `ctrl_deps`, `data_deps` | `after` |

mod collective;
mod groups;
mod message;
mod node;
mod stream;

use crate::error::ImportError;
use crate::family::{Family, Given, Kind, Work};
use crate::note::Sort;
use crate::page::Page;
use crate::schedule::{Act, MOST_RANKS, Places, Program, Schedule, write_page};
use crate::source::{Head, Source};
use collective::Calls;
use node::{Kind as What, Node, Trace};
use std::collections::{BTreeMap, HashMap};
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
        Kind { name: "chakra-groups", about: "groups of collectives, as JSON", recognise: groups::recognise },
    ],
    uses: &["--command", "--fabric"],
    combine,
};

/// Streams of a rank.
const ACCELERATOR: u16 = 0;
const PROCESSOR: u16 = 1;

/// Picoseconds of a microsecond.
const US: u64 = 1_000_000;

fn is_json(head: &Head) -> bool {
    let lines = head.lines();
    // A file in one line that is cut has none.
    let text = if lines.is_empty() { String::from_utf8_lossy(&head.octets).into_owned() } else { lines.join("\n") };
    text.trim_start().starts_with('{') && text.contains("\"workload_graph\"")
}

fn combine(given: Given, work: &mut Work<'_>) -> Result<Page, ImportError> {
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
    // That is all ranks unless the file says otherwise.
    for name in ["", "0"] {
        let all = || calls.group((0..ranks).collect());
        groups.entry(name.to_owned()).or_insert_with(all);
    }
    let mut reader =
        Reader { ranks, ops_per_ps: ops_per_ps(&work.options.command, work)?, groups, calls, said: Vec::new(), work };
    let mut programs = Vec::with_capacity(traces.len());
    let mut nodes = 0;
    for (rank, (kind, source)) in (0u32..).zip(&traces) {
        let program = reader.rank(rank, kind, source)?;
        nodes += program.ops.len();
        programs.push((Arc::from(source.name()), program));
    }
    let mut calls = reader.finish();
    let first = traces.first().map_or("", |(_, source)| source.name());
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
    let schedule = Schedule::new(programs, Places::Numbers)?;
    let table = schedule.write(0, &mut calls, work)?;
    let title = traces.first().map_or("", |(_, source)| stem(source.file_name()).0);
    let about = format!("{title}: Chakra traces of {ranks} ranks with {nodes} nodes.");
    let (title, first) = (title.to_owned(), first.to_owned());
    write_page(&about, &title, "trace", ranks, &table, &first, work)
}

/// The name of a trace without its rank and what follows, and its rank: `all_reduce.3.et.gz` is rank 3 of `all_reduce`.
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

/// The traces in the order of their ranks, which stand in their names.
fn in_order(given: &Given) -> Result<Vec<(&'static str, Source)>, ImportError> {
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

/// Operations in a picosecond: `--peak-perf`, in Tera operations a second, as astra-sim's system files have it.
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
            work.notes.ignored("--command", None, format!("{name}: has no counterpart here"));
        }
    }
    Ok(rate)
}

struct Reader<'a, 'b> {
    ranks: u32,
    ops_per_ps: Option<f64>,
    groups: BTreeMap<String, u32>,
    calls: Calls,
    said: Vec<Said>,
    work: &'a mut Work<'b>,
}

impl Reader<'_, '_> {
    /// The program of a rank. One node is in memory at a time, besides what becomes of it.
    fn rank(&mut self, rank: u32, kind: &str, source: &Source) -> Result<Program, ImportError> {
        let mut building = Building { program: Program::default(), by_id: HashMap::new(), deps: Vec::new() };
        if kind == "chakra-json" {
            let trace: Trace = serde_json::from_reader(std::io::BufReader::new(source.open()?))
                .map_err(|error| source.error(error.to_string()).line(error.line() as u64))?;
            for node in trace.workload_graph {
                self.node(rank, source, node.into(), &mut building)?;
            }
        } else {
            let mut messages = Messages::open(source)?;
            let metadata: Option<message::GlobalMetadata> = messages.next()?;
            if metadata.is_none() {
                return Err(source.error("an empty file").hint("a trace begins with its metadata"));
            }
            while let Some(node) = messages.next::<message::Node>()? {
                self.node(rank, source, node.into(), &mut building)?;
            }
        }
        building.finish(source)
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
        let what =
            node.what().ok_or_else(|| fail(format!("type {} is not in the schema, whose last is 7", node.kind)))?;
        let duration = node.duration_us.checked_mul(US).filter(|ps| *ps < 1 << 62);
        let duration =
            duration.ok_or_else(|| fail(format!("{} us are longer than can be simulated", node.duration_us)))?;
        let name = source.name();
        let act = match what {
            What::Nothing => Act::Compute { time_ps: 0, stream: None },
            What::Memory => {
                let text = "MEM_LOAD and MEM_STORE: they take their duration, and no memory is in their way";
                self.say(Sort::Differs, name, text);
                Act::Compute { time_ps: duration, stream: None }
            }
            What::Compute => {
                let time_ps = if duration > 0 { duration } else { self.time_of_operations(&node, name) };
                Act::Compute { time_ps, stream: Some(if node.cpu { PROCESSOR } else { ACCELERATOR }) }
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
                let bytes = node.comm_size.unwrap_or_default();
                let group = node.group.as_deref().unwrap_or_default();
                let group = *self.groups.get(group).ok_or_else(|| {
                    fail(format!("group {group} is not known"))
                        .hint("name the file of groups beside the traces: {\"1\": [0, 1], …}")
                })?;
                let which = self.calls.call(rank, group, kind, bytes, node.root).map_err(fail)?;
                Act::Collective(which)
            }
        };
        self.note(&node, what, name);
        building.add(source, node, act)
    }

    /// The time of a computation that only says how many operations it is, in ps.
    fn time_of_operations(&mut self, node: &Node, name: &str) -> u64 {
        match (node.num_ops.filter(|ops| *ops > 0), self.ops_per_ps) {
            // A Tera operation a second is one operation a picosecond.
            (Some(ops), Some(rate)) => ((ops as f64 / rate).round() as u64).min(1 << 61),
            (Some(_), None) => {
                let text = "computations that say num_ops and no duration take no time; --command \"--peak-perf 900\" gives them \
                            so many Tera operations a second";
                self.say(Sort::Assumed, name, text);
                0
            }
            (None, _) => 0,
        }
    }

    fn note(&mut self, node: &Node, what: What, name: &str) {
        if node.start_us > 0 {
            self.say(Sort::Ignored, name, "start times: nodes begin when what they depend on is complete");
        }
        if node.comm_priority.is_some_and(|priority| priority > 0) {
            self.say(Sort::Ignored, name, "comm_priority: the flows of a host take turns here");
        }
        if matches!(what, What::Send | What::Collective) {
            let text = "communication: astra-sim has one of a rank under way at a time; here nothing but dependencies is in its way";
            self.say(Sort::Differs, name, text);
        }
        if what == What::Collective {
            self.say(Sort::Assumed, name, "collectives: their transfers are those of one ring, or direct ones");
        }
    }

    /// Notes something for the first trace that has it, with how many nodes have it: there may be a thousand traces.
    fn say(&mut self, sort: Sort, name: &str, text: &'static str) {
        match self.said.iter_mut().find(|said| said.text == text) {
            Some(said) => said.nodes += 1,
            None => self.said.push(Said { sort, file: name.to_owned(), text, nodes: 1 }),
        }
    }

    fn finish(self) -> Calls {
        for Said { sort, file, text, nodes } in self.said {
            let nodes = if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes of all traces") };
            self.work.notes.add(sort, &file, None, format!("{text} ({nodes})"));
        }
        self.calls
    }
}

/// Something noted.
struct Said {
    sort: Sort,
    file: String,
    text: &'static str,
    nodes: u64,
}

/// A program as it grows: nodes may depend on later ones.
struct Building {
    program: Program,
    by_id: HashMap<u64, u32>,
    deps: Vec<(u32, u64)>,
}

impl Building {
    fn add(&mut self, source: &Source, node: Node, act: Act) -> Result<(), ImportError> {
        let op = self.program.push(act, node.id);
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
