//! Algorithms of MSCCL (microsoft/msccl-tools), as written by `language/ir.py` (commit 030a750): the steps of the thread blocks of each
//! GPU.
//!
//! | MSCCL | here |
//! |---|---|
//! | `gpu` | a rank |
//! | `s` | `send` of `cnt` chunks to the block's peer |
//! | `r`, `rrc` | `compute` of 0 that waits for the send of the peer on the same channel, in order; `rrc` then reduces |
//! | `rcs`, `rrs`, `rrcs` | the same, and then a `send` |
//! | `re` | a reduction |
//! | `cpy`, `nop` | `compute` of 0 |
//! | steps of a `tb`, `depid` and `deps` | `after` |
//!
//! A chunk is the buffer of a rank over `nchunksperloop`. The file contains only the range of sizes for which the algorithm is used
//! (`minBytes`, `maxBytes`): the size is on the command line.

use crate::error::ImportError;
use crate::family::{Family, InputFiles, Kind, Work};
use crate::scenario_writer::ScenarioWriter;
use crate::schedule::{Act, MOST_RANKS, Places, Plain, Program, Schedule, write_page};
use crate::source::Head;
use crate::units::{size, time};
use crate::xml::{Known, Xml, below};
use roxmltree::Node;
use std::collections::HashMap;
use std::sync::Arc;

/// Algorithms of MSCCL.
pub static FAMILY: Family = Family {
    name: "msccl",
    about: "MSCCL algorithms, of msccl-tools",
    kinds: &[Kind { name: "msccl-xml", about: "an algorithm: steps of the thread blocks of each GPU", recognise }],
    beside: &[],
    uses: &["--command", "--fabric"],
    combine,
};

/// The default buffer of a rank: that of astra-sim's sample.
const BUFFER: u64 = 1 << 20;

/// Largest buffer.
const LARGEST: u64 = (1 << 50) - 1;

fn recognise(head: &Head) -> bool {
    let text = head.lines().join("\n");
    text.trim_start().starts_with('<') && text.contains("<algo") && text.contains("nchunksperloop")
}

/// Sizes from the command line.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    buffer: u64,
    reduce_ps: u64,
}

fn combine(given: InputFiles, work: &mut Work<'_>) -> Result<ScenarioWriter, ImportError> {
    let [(_, source)] = given.files.as_slice() else {
        return Err(ImportError::new("several algorithms").hint("import them one by one"));
    };
    let text = source.text()?;
    let xml = Xml::parse(source.name(), &text)?;
    let algorithm = xml.root();
    if algorithm.tag_name().name() != "algo" {
        return Err(xml.error(algorithm, "<algo> should stand here").value(algorithm.tag_name().name()));
    }
    // First, since misspelt names are also missing.
    attributes(&xml, source.name(), work);
    let range = Range::of(&xml, algorithm)?;
    let sizes = sizes(source.name(), Some(xml.line(algorithm)), range, work)?;
    let programs = programs(&xml, algorithm, sizes)?;
    let ranks = programs.len() as u32;
    let of = |name: &str| algorithm.attribute(name).unwrap_or("?").to_owned();
    let line = Some(xml.line(algorithm));
    match of("proto").as_str() {
        "LL" => {
            work.notes.differs(source.name(), line, "proto LL: half of what it sends is flags, which are not sent here")
        }
        "LL128" => {
            let text = "proto LL128: 8 of 128 octets that it sends are flags, which are not sent here";
            work.notes.differs(source.name(), line, text);
        }
        _ => {}
    }
    let text = "steps: the next one of a thread block begins when a send is at its receiver";
    work.notes.differs(source.name(), None, text);
    for text in [
        "name, coll and proto (Simple) of <algo>, which remarks have: no time follows from them",
        "type and cnt of <step> within a GPU, and depid and deps of <step> of what comes before anyway: no time follows from them",
        "id of <tb> that no depid names, and chan, send and recv of <tb> without steps that send or receive: no time follows from them",
    ] {
        work.notes.ignored(source.name(), line, text);
    }
    let about = format!(
        "{}: the MSCCL algorithm {} for {} of {ranks} GPUs by protocol {}, with a buffer of {} each.{}",
        source.file_name(),
        of("name"),
        of("coll"),
        of("proto"),
        size(sizes.buffer),
        range.words().map_or_else(String::new, |words| format!(" MSCCL takes it for {words}."))
    );
    let file: Arc<str> = source.name().into();
    let schedule = Schedule::new(programs.into_iter().map(|program| (file.clone(), program)).collect(), Places::Lines)?;
    let table = schedule.write(0, &mut Plain, work)?;
    write_page(&about, &of("name"), "msccl", ranks, &table, source.name(), work)
}

/// The buffers for which MSCCL uses an algorithm (`mscclInternalSchedulerSelectAlgo` of `msccl_lifecycle.cc`, ROCm/rccl, commit 0088a12):
/// both ends are included, and a `maxBytes` of 0 means no upper end.
#[derive(Clone, Copy, Debug)]
struct Range {
    least: Option<u64>,
    most: Option<u64>,
}

impl Range {
    fn of(xml: &Xml<'_>, algorithm: Node<'_, '_>) -> Result<Range, ImportError> {
        let (least, most) = (xml.optional(algorithm, "minBytes")?, xml.optional(algorithm, "maxBytes")?);
        let range = Range { least, most: most.filter(|most| *most > 0) };
        if range.most.is_some_and(|most| most < range.least.unwrap_or(0)) {
            let reason = "maxBytes is less than minBytes: MSCCL never takes it";
            return Err(xml.error(algorithm, reason).hint("change one of them, or leave it out"));
        }
        Ok(range)
    }

    fn has(&self, buffer: u64) -> bool {
        buffer >= self.least.unwrap_or(0) && self.most.is_none_or(|most| buffer <= most)
    }

    /// The default buffer: the usual one, or the nearest in the range.
    fn usual(&self) -> u64 {
        let most = self.most.unwrap_or(u64::MAX);
        BUFFER.clamp(self.least.unwrap_or(0).min(most), most).clamp(1, LARGEST)
    }

    fn words(&self) -> Option<String> {
        match (self.least, self.most) {
            (None | Some(0), None) => None,
            (least, Some(most)) => Some(format!("{} to {}", size(least.unwrap_or(0)), size(most))),
            (Some(least), None) => Some(format!("{} and more", size(least))),
        }
    }
}

/// An element of an algorithm.
struct Element {
    name: &'static str,
    /// Attributes that are read.
    read: &'static [&'static str],
    /// Attributes without effect: moves within a GPU have none.
    unused: &'static [&'static str],
    /// Elements right below it.
    below: &'static [&'static str],
}

const ELEMENTS: [Element; 4] = [
    Element {
        name: "algo",
        read: &["name", "proto", "nchunksperloop", "ngpus", "coll", "minBytes", "maxBytes"],
        unused: &["nchannels", "inplace", "outofplace", "redop"],
        below: &["gpu"],
    },
    Element { name: "gpu", read: &["id"], unused: &["i_chunks", "o_chunks", "s_chunks"], below: &["tb"] },
    Element { name: "tb", read: &["id", "send", "recv", "chan"], unused: &[], below: &["step"] },
    Element {
        name: "step",
        read: &["s", "type", "cnt", "depid", "deps"],
        unused: &["srcbuf", "srcoff", "dstbuf", "dstoff", "hasdep"],
        below: &[],
    },
];

/// Notes attributes without effect, and unknown ones.
fn attributes(xml: &Xml<'_>, file: &str, work: &mut Work<'_>) {
    for Element { name: element, read, unused, below } in ELEMENTS {
        for node in xml.root().descendants().filter(|node| node.tag_name().name() == element) {
            for name in unused.iter().filter(|name| node.attribute(**name).is_some()) {
                let text = format!("attributes of <{element}>: nothing that moves between GPUs follows from them");
                work.notes.unread(file, Some(xml.line(node)), name, text);
            }
        }
        xml.note_unknown(&[Known { element, attributes: &[read, unused], below: Some(below) }], work.notes);
    }
}

/// Sizes from the command line: `--coll_size` is that of astra-sim's converter, `-b` that of nccl-tests.
fn sizes(file: &str, line: Option<u64>, range: Range, work: &mut Work<'_>) -> Result<Sizes, ImportError> {
    let (mut buffer, mut reduce_ps) = (None, 0);
    let mut words = work.options.command.iter();
    while let Some(word) = words.next() {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let mut value = || value.or_else(|| words.next().map(String::as_str)).unwrap_or_default();
        match name {
            "--coll_size" | "-b" | "--minbytes" => {
                let value = value();
                buffer = Some(octets(value).ok_or_else(|| {
                    let hint = "as 1048576, 1M, 1MiB or 1MB";
                    ImportError::new("is no size of a buffer").file("--command").value(value).hint(hint)
                })?);
            }
            "--reduce_us" => {
                let value = value();
                let us: f64 = value
                    .parse()
                    .ok()
                    .filter(|us| *us >= 0.0 && *us < 1e9)
                    .ok_or_else(|| ImportError::new("is no time in microseconds").file("--command").value(value))?;
                reduce_ps = (us * 1e6).round() as u64;
            }
            _ if name.starts_with('-') => {
                work.notes.unknown("--command", None, name, "has no counterpart here");
            }
            _ => {}
        }
    }
    let usual = range.usual();
    let words = range.words().unwrap_or_default();
    match buffer {
        None => {
            let why = if usual == BUFFER { String::new() } else { format!(", since MSCCL takes it for {words}") };
            let text = format!(
                "a buffer of {} at each GPU{why}; --command \"--coll_size N\" says another one, in octets",
                size(usual)
            );
            work.notes.assumed(file, None, text);
        }
        Some(reported) if !range.has(reported) => {
            let text =
                format!("minBytes and maxBytes: MSCCL takes the algorithm for {words}, and not for {}", size(reported));
            work.notes.differs(file, line, text);
        }
        Some(_) => {}
    }
    let text = format!("a reduction takes {}; --command \"--reduce_us T\" says another time", time(reduce_ps));
    work.notes.assumed(file, None, text);
    Ok(Sizes { buffer: buffer.unwrap_or(usual), reduce_ps })
}

/// `1048576`, `1M` and `1MiB` (2^20), `1MB` (10^6).
fn octets(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" | "B" => 1,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor).filter(|octets| *octets > 0 && *octets <= LARGEST)
}

fn programs(xml: &Xml<'_>, algorithm: Node<'_, '_>, sizes: Sizes) -> Result<Vec<Program>, ImportError> {
    let chunks: u64 = xml.number(algorithm, "nchunksperloop")?;
    if chunks == 0 || chunks > 1 << 32 {
        return Err(xml.error(algorithm, "nchunksperloop: a buffer has 1 to 2^32 chunks").value(chunks.to_string()));
    }
    let reported: u32 = xml.number(algorithm, "ngpus")?;
    let gpus: Vec<Node<'_, '_>> = below(algorithm, "gpu").collect();
    if gpus.len() != reported as usize || gpus.is_empty() || reported > MOST_RANKS {
        let reason = format!("ngpus says {reported} GPUs, and there are {}", gpus.len());
        return Err(xml.error(algorithm, reason));
    }
    let mut programs: Vec<Option<Program>> = vec![None; gpus.len()];
    for gpu in gpus {
        let id: u32 = xml.number(gpu, "id")?;
        let Some(place) = programs.get_mut(id as usize) else {
            return Err(xml.error(gpu, format!("GPU {id}: there are {reported}, from 0")));
        };
        if place.is_some() {
            return Err(xml.error(gpu, format!("GPU {id} is there already")));
        }
        *place = Some(Blocks { xml, sizes, chunks, id, reported }.program(gpu)?);
    }
    // As many as there are numbers, and none twice: so all are there.
    Ok(programs.into_iter().flatten().collect())
}

/// The thread blocks of a GPU.
struct Blocks<'a, 'b> {
    xml: &'b Xml<'a>,
    sizes: Sizes,
    chunks: u64,
    id: u32,
    reported: u32,
}

impl Blocks<'_, '_> {
    fn program(&self, gpu: Node<'_, '_>) -> Result<Program, ImportError> {
        let mut program = Program::default();
        // By block and step: the operations with which it begins and ends.
        let mut steps: HashMap<(u32, u32), (u32, u32)> = HashMap::new();
        // The sender and receiver of a channel: one block each.
        let mut connections: HashMap<(bool, i64, u32), u32> = HashMap::new();
        for block in below(gpu, "tb") {
            let id: u32 = self.xml.number(block, "id")?;
            let channel: u32 = self.xml.number(block, "chan")?;
            let peers: [i64; 2] = [self.xml.number(block, "send")?, self.xml.number(block, "recv")?];
            for (peer, sends) in peers.iter().zip([true, false]).filter(|(peer, _)| **peer >= 0) {
                if let Some(other) = connections.insert((sends, *peer, channel), id) {
                    let reason =
                        format!("thread blocks {other} and {id} use one connection: channel {channel} with GPU {peer}");
                    return Err(self.xml.error(block, reason));
                }
            }
            let mut before = None;
            for (step, number) in below(block, "step").zip(0u32..) {
                let reported: u32 = self.xml.number(step, "s")?;
                if reported != number {
                    return Err(self.xml.error(step, format!("step {reported} stands where step {number} should")));
                }
                let (begin, end) = self.step(step, peers, channel, &mut program)?;
                if let Some(before) = before {
                    program.after(begin, before);
                }
                before = Some(end);
                if steps.insert((id, number), (begin, end)).is_some() {
                    return Err(self.xml.error(block, format!("thread block {id} is there already")));
                }
            }
        }
        self.depend(gpu, &steps, &mut program)?;
        Ok(program)
    }

    /// Adds the waits of steps beside the one before.
    fn depend(
        &self,
        gpu: Node<'_, '_>,
        steps: &HashMap<(u32, u32), (u32, u32)>,
        program: &mut Program,
    ) -> Result<(), ImportError> {
        for block in below(gpu, "tb") {
            let id: u32 = self.xml.number(block, "id")?;
            for (step, number) in below(block, "step").zip(0u32..) {
                let (of, which): (i64, i64) = (self.xml.number(step, "depid")?, self.xml.number(step, "deps")?);
                if of < 0 {
                    continue;
                }
                let other = u32::try_from(of).ok().zip(u32::try_from(which).ok()).and_then(|other| steps.get(&other));
                let (Some((begin, _)), Some((_, end))) = (steps.get(&(id, number)), other) else {
                    let reason = format!("depends on step {which} of thread block {of}, which is not there");
                    return Err(self.xml.error(step, reason));
                };
                program.after(*begin, *end);
            }
        }
        Ok(())
    }

    /// The operations of a step: returns the first and the last of them.
    fn step(
        &self,
        step: Node<'_, '_>,
        [to, from]: [i64; 2],
        channel: u32,
        program: &mut Program,
    ) -> Result<(u32, u32), ImportError> {
        let kind = step.attribute("type").unwrap_or_default();
        let (receives, reduces, sends) = match kind {
            "s" => (false, false, true),
            "r" => (true, false, false),
            "rcs" => (true, false, true),
            "rrc" => (true, true, false),
            "rrs" | "rrcs" => (true, true, true),
            "re" => (false, true, false),
            "cpy" | "nop" => (false, false, false),
            _ => {
                let hint = "types are s, r, rcs, rrc, rrs, rrcs, re, cpy, nop";
                return Err(self.xml.error(step, "is no type of a step").value(kind).hint(hint));
            }
        };
        let count: u64 = if receives || sends { self.xml.number(step, "cnt")? } else { 0 };
        let bytes = (u128::from(count) * u128::from(self.sizes.buffer) / u128::from(self.chunks)) as u64;
        if (receives || sends) && (count == 0 || count > self.chunks) {
            let reason = format!("cnt {count}: a step moves 1 to {} chunks", self.chunks);
            return Err(self.xml.error(step, reason));
        }
        let peer = |peer: i64, what: &str| {
            let reason = || format!("{kind} in a thread block that has no {what}");
            let peer = u32::try_from(peer).map_err(|_| self.xml.error(step, reason()))?;
            if peer >= self.reported || peer == self.id {
                return Err(self.xml.error(
                    step,
                    format!("GPU {} and {peer}: there are {}, and none is its own peer", self.id, self.reported),
                ));
            }
            Ok(peer)
        };
        let line = self.xml.line(step);
        let mut first_and_last = None;
        let mut then = |act: Act, program: &mut Program| {
            let op = program.push(act, line);
            let first = match first_and_last {
                Some((first, last)) => {
                    program.after(op, last);
                    first
                }
                None => op,
            };
            first_and_last = Some((first, op));
            (first, op)
        };
        let mut own = None;
        if receives {
            own = Some(then(Act::Receive { peer: peer(from, "recv")?, tag: channel, bytes }, program));
        }
        if reduces && (self.sizes.reduce_ps > 0 || !receives) {
            own = Some(then(Act::Compute { time_ps: self.sizes.reduce_ps, stream: None }, program));
        }
        if sends {
            own = Some(then(Act::Send { peer: peer(to, "send")?, tag: channel, bytes }, program));
        }
        match own {
            Some(own) => Ok(own),
            None => Ok(then(Act::Compute { time_ps: 0, stream: None }, program)),
        }
    }
}
