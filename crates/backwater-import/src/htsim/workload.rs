//! Flows of a connection matrix: a table of flows, and for those that triggers start a table of operations.

use super::command::{Command, Program};
use super::matrix::{Connection, Matrix, Start, TriggerKind};
use super::payload;
use crate::error::ImportError;
use crate::family::Work;
use crate::note::Notes;
use crate::options::StartUnit;
use crate::scenario_writer::ScenarioWriter;
use crate::source::Source;
use crate::tables::{Does, Flow, Flows, Operation, Operations};
use std::collections::{HashMap, HashSet};

/// A connection with its identity and its bytes here.
struct Known<'a> {
    id: u64,
    bytes: u64,
    connection: &'a Connection,
}

/// Writes `[[flow]]` and `[[job]]` with their tables. `kept`: messages of a connection share it, as far as the written transport supports
/// that.
pub fn write(
    matrix: &Matrix,
    command: &Command,
    unit: StartUnit,
    kept: bool,
    source: &Source,
    work: &mut Work<'_>,
    writer: &mut ScenarioWriter,
) -> Result<(), ImportError> {
    let known = known(matrix, command, source, work)?;
    let mut triggered = HashSet::new();
    for one in &known {
        let connection = one.connection;
        if matches!(connection.start, Start::By(_)) || connection.send_done.or(connection.recv_done).is_some() {
            triggered.insert(one.id);
        }
        if connection.priority.is_some() {
            let text = "prio of a flow: as in htsim_uec, htsim_eqds and htsim_roce, which read it and do nothing with it; in htsim_ndp alone \
                        receivers pull by it";
            work.notes.ignored(source.name(), Some(connection.line), text);
        }
        if matches!(connection.message, Some(Some(_))) {
            let text = "msg of a flow: its number is a label; messages of a connection go in the order of the file";
            work.notes.ignored(source.name(), Some(connection.line), text);
        }
        if connection.id.is_some_and(|id| u64::from(id) != one.id) {
            let text = "id: flows are numbered in the order of the file, since some have no id or are messages of one connection";
            work.notes.ignored(source.name(), Some(connection.line), text);
        }
    }
    for trigger in matrix.triggers.values().filter(|trigger| trigger.kind == TriggerKind::MultiShot) {
        let text = "multishot: a flow that it starts begins once, at the first activation";
        work.notes.differs(source.name(), Some(trigger.line), text);
    }
    let (by_trigger, by_clock): (Vec<&Known<'_>>, Vec<&Known<'_>>) =
        known.iter().partition(|one| triggered.contains(&one.id));
    for group in groups(by_clock, kept) {
        let mut flows = Flows::new(format!("{}.{}", work.stem, group.label));
        for one in &group.flows {
            let Connection { src, dst, start, .. } = *one.connection;
            let start_ps = start_ps(start, unit, one.connection, source, work.notes)?;
            flows.add(
                Flow { id: one.id, src, dst, bytes: one.bytes, start_ps, class: None, path: None, ack_path: None },
                work.place,
            )?;
        }
        let table = flows.finish(work.place)?;
        writer.head("[[flow]]").key("label", group.label).key("table", table);
        if group.kept {
            writer.key("keep_queue_pairs", true);
        }
    }
    let alone = by_trigger.iter().copied().chain(known.iter().filter(|_| !kept));
    if let Some(first) = alone.map(|one| one.connection).find(|connection| connection.message.is_some()) {
        let why = if kept { "that triggers start, or that start others" } else { "without the transport of htsim_uec" };
        let text = format!("messages of one connection, {why}, are flows of their own");
        work.notes.differs(source.name(), Some(first.line), text);
    }
    if !by_trigger.is_empty() {
        operations(matrix, &by_trigger, unit, source, work, writer)?;
    }
    Ok(())
}

/// Flows of one table.
struct Group<'a> {
    label: String,
    flows: Vec<&'a Known<'a>>,
    /// All messages from one host to another belong to one connection.
    kept: bool,
}

/// Flows by their tables: first those that are no messages, then for each pair of hosts the messages of one connection.
fn groups<'a>(known: Vec<&'a Known<'a>>, kept: bool) -> Vec<Group<'a>> {
    let (messages, flows): (Vec<_>, Vec<_>) =
        known.into_iter().partition(|one| kept && one.connection.message.is_some() && one.connection.id.is_some());
    let mut groups = vec![Group { label: "flows".into(), flows, kept: false }];
    let mut between = HashMap::<(u32, u32), Vec<Option<u32>>>::new();
    for one in messages {
        let Connection { src, dst, id, .. } = *one.connection;
        let there = between.entry((src, dst)).or_default();
        let number = there.iter().position(|other| *other == id).unwrap_or(there.len());
        if number == there.len() {
            there.push(id);
        }
        if groups.len() == number + 1 {
            let label = if number == 0 { "messages".into() } else { format!("messages-{}", number + 1) };
            groups.push(Group { label, flows: Vec::new(), kept: true });
        }
        groups[number + 1].flows.push(one);
    }
    groups.retain(|group| !group.flows.is_empty());
    groups
}

/// The connections with their identities, those of the file if all have one, and sizes.
fn known<'a>(
    matrix: &'a Matrix,
    command: &Command,
    source: &Source,
    work: &mut Work<'_>,
) -> Result<Vec<Known<'a>>, ImportError> {
    let packet = payload(command);
    let sized = |bytes: u64| match command.program {
        // That program sends its last packet as a full one.
        Some(Program::Roce) => bytes.div_ceil(packet) * packet,
        _ => bytes,
    };
    let messages = matrix.connections.iter().any(|connection| connection.message.is_some());
    let named = !messages && matrix.connections.iter().all(|connection| connection.id.is_some());
    let mut all: Vec<Known<'a>> = Vec::with_capacity(matrix.connections.len());
    let mut seen = HashMap::new();
    for (number, connection) in (0u64..).zip(&matrix.connections) {
        if let (Some(id), None) = (connection.id, connection.message)
            && let Some(line) = seen.insert(id, connection.line)
        {
            let reason = format!("another connection has the id {id}, in line {line}");
            return Err(source
                .error(reason)
                .line(connection.line)
                .hint("`msg` behind it makes both messages of one connection"));
        }
        let id = connection.id.filter(|_| named).map_or(number, u64::from);
        all.push(Known { id, bytes: connection.size, connection });
    }
    for one in &mut all {
        if sized(one.bytes) != one.bytes {
            let text = format!("sizes are whole packets of {packet} B, as that program sends them");
            work.notes.differs(source.name(), Some(one.connection.line), text);
            one.bytes = sized(one.bytes);
        }
    }
    Ok(all)
}

fn start_ps(
    start: Start,
    unit: StartUnit,
    connection: &Connection,
    source: &Source,
    notes: &mut Notes,
) -> Result<u64, ImportError> {
    let Start::At(time) = start else { return Ok(0) };
    let whole = if unit == StartUnit::Microseconds { time.trunc() } else { time };
    if whole != time {
        let text = "starts are whole microseconds, as htsim_uec reads them: what is behind the point is cut off";
        notes.differs(source.name(), Some(connection.line), text.to_owned());
    }
    let ps = if unit == StartUnit::Microseconds { whole * 1e6 } else { whole.round() };
    // 2^53 ps are two and a half hours; below it whole numbers are exact.
    if ps < 9e15 {
        return Ok(ps as u64);
    }
    Err(source
        .error("starts after more than two hours")
        .line(connection.line)
        .value(format!("start {time}"))
        .hint("--start-unit ps?"))
}

/// Returns the flows that start: by the clock, or when enough started flows activate their trigger.
fn started(matrix: &Matrix, known: &[&Known<'_>]) -> HashSet<u64> {
    let mut waiting: HashMap<u32, Vec<&Known<'_>>> = HashMap::new();
    let mut next = Vec::new();
    for one in known {
        match one.connection.start {
            Start::By(trigger) => waiting.entry(trigger).or_default().push(one),
            Start::At(_) => next.push(*one),
        }
    }
    let mut activations: HashMap<u32, u32> = HashMap::new();
    let mut started = HashSet::new();
    while let Some(one) = next.pop() {
        started.insert(one.id);
        for trigger in one.connection.send_done.into_iter().chain(one.connection.recv_done) {
            let count = activations.entry(trigger).or_default();
            *count += 1;
            let needed = match matrix.triggers.get(&trigger).map(|trigger| trigger.kind) {
                Some(TriggerKind::Barrier(needed)) => needed,
                _ => 1,
            };
            if *count == needed.max(1) {
                next.extend(waiting.remove(&trigger).into_iter().flatten());
            }
        }
    }
    started
}

/// `[[job]]` with a table of operations: a send waits for those that activate its trigger.
fn operations(
    matrix: &Matrix,
    known: &[&Known<'_>],
    unit: StartUnit,
    source: &Source,
    work: &mut Work<'_>,
    writer: &mut ScenarioWriter,
) -> Result<(), ImportError> {
    let (mut by_ack, mut by_byte): (HashMap<u32, Vec<u64>>, HashMap<u32, Vec<u64>>) = (HashMap::new(), HashMap::new());
    for one in known {
        let connection = one.connection;
        connection.send_done.into_iter().for_each(|trigger| by_ack.entry(trigger).or_default().push(one.id));
        connection.recv_done.into_iter().for_each(|trigger| by_byte.entry(trigger).or_default().push(one.id));
    }
    let activators: HashMap<u32, u32> =
        by_ack.iter().chain(&by_byte).fold(HashMap::new(), |mut all, (trigger, ids)| {
            *all.entry(*trigger).or_default() += ids.len() as u32;
            all
        });
    let started = started(matrix, known);
    for ids in by_ack.values_mut().chain(by_byte.values_mut()) {
        ids.retain(|id| started.contains(id));
    }
    let mut table = Operations::new(format!("{}.operations", work.stem));
    for one in known {
        let Connection { src, dst, start, line, .. } = *one.connection;
        let (mut after, mut after_ack, mut needs) = (Vec::new(), Vec::new(), None);
        if let Start::By(trigger) = start {
            // Its own activation comes too late for it.
            let others = |by: &HashMap<u32, Vec<u64>>| -> Vec<u64> {
                by.get(&trigger).into_iter().flatten().copied().filter(|id| *id != one.id).collect()
            };
            (after, after_ack) = (others(&by_byte), others(&by_ack));
            let reported = activators.get(&trigger).copied().unwrap_or(0);
            needs = match matrix.triggers.get(&trigger).map(|trigger| trigger.kind) {
                Some(TriggerKind::Barrier(count)) if count > reported => {
                    let reason = format!(
                        "waits for trigger {trigger}, which needs {count} activations, and {reported} flows activate it"
                    );
                    return Err(source.error(reason).line(line).hint("it would never start"));
                }
                Some(TriggerKind::Barrier(count)) => Some(count),
                _ => Some(1),
            };
            if !started.contains(&one.id) {
                let why = if reported == 0 {
                    "which nothing activates"
                } else {
                    "whose flows wait for each other, or for such a one"
                };
                let text = format!("a flow that waits for trigger {trigger}, {why}: it would never start");
                work.notes.ignored(source.name(), Some(line), text);
                continue;
            }
            // Waiting for all of them is the default.
            let there = (after.len() + after_ack.len()) as u32;
            needs = needs.filter(|needs| *needs < there);
        }
        let operation = Operation {
            after: &after,
            after_ack: &after_ack,
            needs,
            start_ps: start_ps(start, unit, one.connection, source, work.notes)?,
            ..Operation::new(one.id, src, Does::Send { peer: dst, bytes: one.bytes })
        };
        table.add(&operation, work.place)?;
    }
    if started.is_empty() {
        return match matrix.connections.len() > known.len() {
            true => Ok(()),
            false => {
                Err(source.error("no flow ever starts: each waits for a trigger").hint("let one start by the clock"))
            }
        };
    }
    let name = table.finish(work.place)?;
    writer.head("[[job]]");
    writer.remark("Flows that start when others are done: `after` waits for the last byte, `after_ack` for the last acknowledgement.");
    writer.key("label", "triggers").key("ranks", matrix.nodes).key("operations", name);
    Ok(())
}
