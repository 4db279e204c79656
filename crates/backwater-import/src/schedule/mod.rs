//! Operations of ranks: the common part of all traces of messages.
//!
//! ```text
//! a file of a rank ── parsed ──> Program ─┐
//! a file of a rank ── parsed ──> Program ─┴─> Schedule ── matching.rs: which send is received by which receive
//!                                                      ── order.rs: nothing waits for itself
//!                                                      ── emit.rs: the table of operations, the fabric, the job
//! ```
//!
//! A program is compact: 32 octets for an operation and 8 for each wait.

mod emit;
mod labels;
mod matching;
mod order;

pub use emit::{Collectives, Plain, Table, write_page};
pub use labels::{Label, Labels};

use crate::error::ImportError;
use crate::units::MOST_OCTETS;
use std::sync::Arc;

/// A receive with this peer or tag accepts messages from any rank, with any tag. LogGOPSim and MPI libraries use the same number.
pub const ANY: u32 = u32::MAX;

/// Most ranks of a schedule.
pub const MOST_RANKS: u32 = 1 << 20;

/// Most operations of all ranks: numbers of four octets suffice for them.
pub const MOST_OPERATIONS: usize = (1 << 31) - 1;

/// No message.
pub const NONE: u32 = u32::MAX;

/// A flag of a wait: the start of the operation suffices.
const START: u32 = 1 << 31;

/// The action of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Sends so many octets.
    Send {
        /// To this rank.
        peer: u32,
        /// With this tag.
        tag: u32,
        /// Payload.
        bytes: u64,
    },
    /// Waits for a message.
    Receive {
        /// From this rank, or [`ANY`].
        peer: u32,
        /// With this tag, or [`ANY`].
        tag: u32,
        /// Expected payload.
        bytes: u64,
    },
    /// Computes for so long, in ps; without a stream no other operation of the rank delays it.
    Compute {
        /// Time, in ps.
        time_ps: u64,
        /// The processor or stream of the rank, which does one computation at a time.
        stream: Option<u16>,
    },
    /// Takes part in a collective, by its family's number.
    Collective(u32),
}

/// An operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// The action.
    pub act: Act,
    /// Its line in the file; for files without lines its number among the operations of its rank, from 0.
    pub place: u32,
    /// Its label.
    pub label: Label,
}

/// The operations of a rank.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// In the order of the file, which is the order of messages with the same tag between two ranks.
    pub ops: Vec<Op>,
    /// Waits: the number of an operation, and the number of another that it waits for, with [`START`] if its start suffices.
    waits: Vec<(u32, u32)>,
}

impl Program {
    /// Adds an operation; returns its number.
    pub fn push(&mut self, act: Act, place: u64) -> u32 {
        self.push_called(act, place, Label::default())
    }

    /// Adds an operation with a name; returns its number.
    pub fn push_called(&mut self, act: Act, place: u64, label: Label) -> u32 {
        self.ops.push(Op { act, place: u32::try_from(place).unwrap_or(u32::MAX), label });
        (self.ops.len() - 1) as u32
    }

    /// `op` begins when `other` is complete.
    pub fn after(&mut self, op: u32, other: u32) {
        self.waits.push((op, other));
    }

    /// `op` begins when `other` has begun.
    pub fn after_start(&mut self, op: u32, other: u32) {
        self.waits.push((op, other | START));
    }

    /// Returns how many operations of `those` do not wait for any of `marked`, directly or over others of the rank.
    pub fn waiting_for_none(&self, those: impl Fn(&Op) -> bool, marked: impl Fn(&Op) -> bool) -> usize {
        let mut then: Vec<(u32, u32)> = self.waits.iter().map(|(own, other)| (other & !START, *own)).collect();
        then.sort_unstable();
        let mut reached = vec![false; self.ops.len()];
        let mut line: Vec<u32> = (0..).zip(&self.ops).filter(|(_, op)| marked(op)).map(|(number, _)| number).collect();
        while let Some(op) = line.pop() {
            let from = then.partition_point(|(other, _)| *other < op);
            for (_, own) in then[from..].iter().take_while(|(other, _)| *other == op) {
                if !std::mem::replace(&mut reached[*own as usize], true) {
                    line.push(*own);
                }
            }
        }
        self.ops.iter().zip(&reached).filter(|(op, reached)| those(op) && !**reached).count()
    }

    /// Sorts the waits by operation, without duplicates.
    fn settle(&mut self) {
        self.waits.sort_unstable();
        self.waits.dedup();
        self.waits.shrink_to_fit();
        self.ops.shrink_to_fit();
    }

    /// Returns the waits of an operation. The program must be settled.
    fn waits_of(&self, op: u32) -> impl Iterator<Item = Wait> + '_ {
        let from = self.waits.partition_point(|(own, _)| *own < op);
        let own = self.waits[from..].iter().take_while(move |(own, _)| *own == op);
        own.map(|(_, other)| Wait { op: other & !START, start: other & START != 0 })
    }
}

/// A wait.
#[derive(Clone, Copy, Debug)]
struct Wait {
    op: u32,
    start: bool,
}

/// The form of an operation's place in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// By its line.
    Lines,
    /// By its number.
    Numbers,
}

/// The programs of all ranks.
#[derive(Debug)]
pub struct Schedule {
    programs: Vec<Program>,
    /// The file of each rank.
    files: Vec<Arc<str>>,
    /// The number of the first operation of each rank among all, and the total number.
    first: Vec<u32>,
    places: Places,
    labels: Labels,
}

impl Schedule {
    /// A schedule of programs, each with its file.
    pub fn new(programs: Vec<(Arc<str>, Program)>, places: Places) -> Result<Schedule, ImportError> {
        let (files, mut programs): (Vec<Arc<str>>, Vec<Program>) = programs.into_iter().unzip();
        let mut first = vec![0];
        let mut sum = 0usize;
        for (program, file) in programs.iter_mut().zip(&files) {
            program.settle();
            sum += program.ops.len();
            if sum > MOST_OPERATIONS {
                let reason = format!("more than {MOST_OPERATIONS} operations in all");
                return Err(ImportError::new(reason).file(&**file).hint("import a part of the ranks or of the time"));
            }
            first.push(sum as u32);
        }
        let schedule = Schedule { programs, files, first, places, labels: Labels::default() };
        let sent = |op: &Op| match op.act {
            Act::Send { bytes, .. } | Act::Receive { bytes, .. } => bytes,
            _ => 0,
        };
        if let Some((_, number, op)) = schedule.all().find(|(.., op)| sent(op) > MOST_OCTETS) {
            return Err(schedule.error(number, format!("{} B are more than a flow may have, {MOST_OCTETS}", sent(op))));
        }
        Ok(schedule)
    }

    /// The same, with names for the operations.
    pub fn called(self, labels: Labels) -> Schedule {
        Schedule { labels, ..self }
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.programs.len() as u32
    }

    /// Returns the total number of operations.
    fn total(&self) -> u32 {
        self.first.last().copied().unwrap_or_default()
    }

    /// All operations with their ranks and numbers.
    fn all(&self) -> impl Iterator<Item = (u32, u32, &Op)> {
        self.programs.iter().zip(&self.first).zip(0u32..).flat_map(|((program, first), rank)| {
            program.ops.iter().zip(*first..).map(move |(op, number)| (rank, number, op))
        })
    }

    /// The rank of an operation, by its number among all.
    fn rank_of(&self, number: u32) -> u32 {
        (self.first.partition_point(|first| *first <= number).max(1) - 1) as u32
    }

    /// An operation, by its number among all.
    fn op(&self, number: u32) -> (u32, &Op) {
        let rank = self.rank_of(number);
        let program = &self.programs[rank as usize];
        (rank, &program.ops[(number - self.first[rank as usize]) as usize])
    }

    /// The number among all of an operation of a rank.
    fn number(&self, rank: u32, op: u32) -> u32 {
        self.first[rank as usize] + op
    }

    /// An error about an operation, by its number among all.
    pub fn error(&self, number: u32, reason: impl AsRef<str>) -> ImportError {
        let (rank, op) = self.op(number);
        let file = &*self.files[rank as usize];
        match self.places {
            Places::Lines => ImportError::new(reason.as_ref()).file(file).line(op.place.into()),
            Places::Numbers => {
                let reason = format!("rank {rank}, operation {}: {}", op.place, reason.as_ref());
                ImportError::new(reason).file(file)
            }
        }
    }

    /// Returns the place of an operation, for a message about another one.
    fn describe(&self, number: u32) -> String {
        let (rank, op) = self.op(number);
        match self.places {
            Places::Lines => format!("line {}", op.place),
            Places::Numbers => format!("rank {rank}, operation {}", op.place),
        }
    }

    /// The file of the first rank, for notes about all files.
    fn file(&self) -> &str {
        self.files.first().map_or("", |file| file)
    }
}
