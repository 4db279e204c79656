//! A schedule as a table of operations, on a fabric.

use super::{Act, Labels, NONE, Program, Schedule};
use crate::error::ImportError;
use crate::family::Work;
use crate::scenario_writer::ScenarioWriter;
use crate::tables::{Does, Operation, Operations};
use std::collections::{HashMap, HashSet};

/// Default rate of a host's link.
const RATE: &str = "400 Gb/s";

/// Default delay of a link.
const DELAY: &str = "500 ns";

/// A table of operations, and the number for the next operation that is in no file.
pub struct Table {
    operations: Operations,
    next: u64,
    after: Vec<u64>,
}

impl Table {
    /// A number for an operation that is in no file.
    pub fn number(&mut self) -> u64 {
        self.numbers(1)
    }

    /// So many consecutive numbers; returns the first.
    pub fn numbers(&mut self, count: u64) -> u64 {
        self.next += count;
        self.next - count
    }

    /// Adds an operation.
    pub fn add(&mut self, operation: &Operation<'_>, work: &mut Work<'_>) -> Result<(), ImportError> {
        self.operations.add(operation, work.place)
    }

    /// Adds an operation that only waits.
    pub fn join(&mut self, id: u64, rank: u32, after: &[u64], work: &mut Work<'_>) -> Result<(), ImportError> {
        self.add(&Operation::new(id, rank, Does::Compute { time_ps: 0 }).after(after), work)
    }
}

/// The conversion of operations of collectives.
pub trait Collectives {
    /// Rank `rank` takes part in its collective `which`, after the operations in `after`; operation `id` ends it.
    fn take_part(&mut self, rank: u32, which: u32, id: u64, after: Vec<u64>);

    /// All ranks have taken part: adds the transfers, by the names of their collectives.
    fn finish(&mut self, labels: &Labels, table: &mut Table, work: &mut Work<'_>) -> Result<(), ImportError>;
}

/// For files without collectives.
#[derive(Debug)]
pub struct Plain;

impl Collectives for Plain {
    fn take_part(&mut self, _: u32, _: u32, _: u64, _: Vec<u64>) {}

    fn finish(&mut self, _: &Labels, _: &mut Table, _: &mut Work<'_>) -> Result<(), ImportError> {
        Ok(())
    }
}

impl Schedule {
    /// Writes the table; returns the name of its file. Sends of up to `eager` octets are complete for their rank when they begin.
    ///
    /// # Errors
    ///
    /// Messages do not match, operations wait for each other, or the table cannot be written.
    pub fn write(
        &self,
        eager: u64,
        collectives: &mut dyn Collectives,
        work: &mut Work<'_>,
    ) -> Result<String, ImportError> {
        let partner = self.matched()?;
        self.check_order(&partner)?;
        let operations = Operations::new(format!("{}.operations", work.stem));
        let mut table = Table { operations, next: self.total().into(), after: Vec::new() };
        for (program, rank) in self.programs.iter().zip(0u32..) {
            self.write_rank(rank, program, &partner, eager, collectives, &mut table, work)?;
        }
        collectives.finish(&self.labels, &mut table, work)?;
        table.operations.finish(work.place)
    }

    #[allow(clippy::too_many_arguments)]
    fn write_rank(
        &self,
        rank: u32,
        program: &Program,
        partner: &[u32],
        eager: u64,
        collectives: &mut dyn Collectives,
        table: &mut Table,
        work: &mut Work<'_>,
    ) -> Result<(), ImportError> {
        let at_start = |op: u32| matches!(program.ops[op as usize].act, Act::Send { bytes, .. } if bytes <= eager);
        // An operation whose start others wait for begins after a join, which the others wait for, too.
        let mut started: HashSet<u32> = HashSet::new();
        for (_, other) in &program.waits {
            let op = other & !super::START;
            if other & super::START != 0 || at_start(op) {
                started.insert(op);
            }
        }
        let waiting: HashSet<u32> =
            program.waits.iter().map(|(own, _)| *own).filter(|own| started.contains(own)).collect();
        let joins: HashMap<u32, u64> = {
            let mut ordered: Vec<u32> = waiting.into_iter().collect();
            ordered.sort_unstable();
            ordered.into_iter().map(|op| (op, table.number())).collect()
        };
        for (op, own) in program.ops.iter().zip(0u32..) {
            let id = u64::from(self.number(rank, own));
            let mut after = std::mem::take(&mut table.after);
            after.clear();
            for wait in program.waits_of(own) {
                if !wait.start && !at_start(wait.op) {
                    after.push(self.number(rank, wait.op).into());
                } else if let Some(join) = joins.get(&wait.op) {
                    after.push(*join);
                }
            }
            if let Some(join) = joins.get(&own) {
                table.join(*join, rank, &after, work)?;
                after.clear();
                after.push(*join);
            }
            let does = match op.act {
                Act::Send { peer, .. } if peer == rank => {
                    let text = "a rank that sends to itself: here it takes no time";
                    work.notes.differs(&self.files[rank as usize], self.line(op.place), text);
                    Does::Compute { time_ps: 0 }
                }
                Act::Send { peer, bytes, .. } => {
                    if bytes == 0 {
                        let text = "a message of 0 B: here it has 1 B";
                        work.notes.differs(&self.files[rank as usize], self.line(op.place), text);
                    }
                    Does::Send { peer, bytes: bytes.max(1) }
                }
                Act::Receive { bytes, .. } => {
                    let send = partner.get(id as usize).copied().filter(|send| *send != NONE);
                    let Some(send) = send else { return Err(self.error(id as u32, "receives what nobody sends")) };
                    self.sizes_agree(id as u32, bytes, send, work);
                    after.push(send.into());
                    Does::Compute { time_ps: 0 }
                }
                Act::Compute { time_ps, .. } => Does::Compute { time_ps },
                Act::Collective(which) => {
                    collectives.take_part(rank, which, id, after);
                    continue;
                }
            };
            let stream = if let Act::Compute { stream, .. } = op.act { stream.map(u32::from) } else { None };
            // An operation without time is no part of any path.
            let label = self.labels.name(op.label).filter(|_| does != Does::Compute { time_ps: 0 });
            table.add(&Operation { label, stream, ..Operation::new(id, rank, does).after(&after) }, work)?;
            table.after = after;
        }
        Ok(())
    }

    /// Notes if a receive expects another size than is sent.
    fn sizes_agree(&self, receive: u32, expected: u64, send: u32, work: &mut Work<'_>) {
        if let (_, super::Op { act: Act::Send { bytes, .. }, .. }) = self.op(send)
            && *bytes != expected
        {
            let (rank, op) = self.op(receive);
            let text = "a receive of another size than is sent: what is sent counts";
            work.notes.differs(&self.files[rank as usize], self.line(op.place), text);
        }
    }

    fn line(&self, place: u32) -> Option<u64> {
        (self.places == super::Places::Lines).then_some(place.into())
    }
}

/// The scenario: its title `about`, the fabric, and the job with the operations in `table`.
pub fn write_page(
    about: &str,
    title: &str,
    label: &str,
    ranks: u32,
    table: &str,
    file: &str,
    work: &mut Work<'_>,
) -> Result<ScenarioWriter, ImportError> {
    let mut writer = ScenarioWriter::new();
    writer.remark(about);
    if !work.write_fabric(&mut writer)? {
        writer.key("title", title);
        writer.head("[topology]");
        writer.remark("The file has no fabric: each rank is a host of one switch.");
        writer.key("kind", "star").key("hosts", ranks.max(2)).key("rate", RATE).key("link_delay", DELAY);
        writer.head("[switch]").key("buffer_per", "none");
        let text = format!(
            "the fabric: a star of {} hosts at {RATE} with {DELAY} a link, whose switch drops nothing",
            ranks.max(2)
        );
        work.notes.assumed(file, None, text);
    }
    writer.head("[[job]]");
    writer.key("label", label).key("ranks", ranks.max(2)).key("operations", table);
    Ok(writer)
}
