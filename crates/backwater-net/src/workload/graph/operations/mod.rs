//! The operations of a graph: gathered row by row, then held by id, each with those that wait for it.

mod order;

use crate::units::Bytes;
use crate::workload::Group;
use backwater_engine::Time;
use backwater_engine::quantity::TOO_MUCH;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most operations, over all instances.
pub const MOST: usize = 20_000_000;

/// Most waits of operations for each other.
pub const MOST_WAITS: usize = 100_000_000;

/// Most labels: every port may count the load of each on its link.
pub const MOST_LABELS: usize = 4096;

/// No peer, or no stream.
const NONE: u32 = u32::MAX;
/// The job's class.
const NO_CLASS: u8 = u8::MAX;
/// A flag in a list of waiting operations: it waits for the acknowledgement.
const ACK: u32 = 1 << 31;
/// A flag in a list of ids that a row waits for: it waits for the acknowledgement.
const ACK_OF_ID: u64 = 1 << 63;

/// The task of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Bytes to another rank.
    Send {
        /// The receiver.
        peer: u32,
        /// Payload, at least 1.
        bytes: u64,
    },
    /// A computation for a time.
    Compute(Time),
}

/// A row of a table of operations.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    /// Its number, below 2^40.
    pub id: u64,
    /// Its rank.
    pub rank: u32,
    /// Its task.
    pub task: Task,
    /// Ids of operations that must be complete before it.
    pub after: &'r [u64],
    /// Ids of sends that must be acknowledged before it.
    pub after_ack: &'r [u64],
    /// How many of these suffice. `None`: all.
    pub needs: Option<u64>,
    /// Its earliest start after the start of the job.
    pub start: Time,
    /// Class of its data. `None`: the job's.
    pub class: Option<u8>,
    /// The label of its flow's group in results.
    pub label: &'r str,
    /// Its computation is one of a stream of its rank.
    pub stream: Option<u64>,
}

/// An error in a table of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Number of the row, from 0. `None`: the table as a whole.
    pub row: Option<usize>,
    /// The column.
    pub column: &'static str,
    /// The value.
    pub value: String,
    /// The problem.
    pub reason: String,
    /// The correction.
    pub hint: String,
}

/// An operation as it is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    /// Bytes of a send, picoseconds of a computation.
    amount: u64,
    pub rank: u32,
    /// `NONE`: it computes.
    peer: u32,
    /// Number of its stream among those of all ranks, or `NONE`.
    stream: u32,
    pub label: u16,
    class: u8,
    /// True if `starts` has a time for it.
    pub timed: bool,
}

impl Operation {
    pub fn task(&self) -> Task {
        match self.peer {
            NONE => Task::Compute(Time(self.amount)),
            peer => Task::Send { peer, bytes: self.amount },
        }
    }

    pub fn class(&self) -> Option<u8> {
        (self.class != NO_CLASS).then_some(self.class)
    }

    pub fn stream(&self) -> Option<u32> {
        (self.stream != NONE).then_some(self.stream)
    }
}

/// Operations in the order of their ids.
#[derive(Debug)]
pub struct Operations {
    ids: Vec<u64>,
    all: Vec<Operation>,
    /// The number of waits that each operation needs.
    needs: Vec<u32>,
    /// Per operation: where the list of operations that wait for it begins in `then`.
    first: Vec<u32>,
    /// The operations that wait for another, with `ACK` if they wait for its acknowledgement.
    then: Vec<u32>,
    /// Operations with an earliest start after the job's start.
    starts: Vec<(u32, Time)>,
    /// Labels, those of sends first.
    labels: Vec<Arc<str>>,
    /// The number of labels of sends.
    groups: usize,
}

impl Operations {
    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns whether it is empty; a [`Reader`] yields at least one operation.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Labels of its sends, in the order of their groups.
    pub fn labels(&self) -> &[Arc<str>] {
        &self.labels[..self.groups]
    }

    /// The classes that sends name, a bit each.
    pub fn classes(&self) -> u8 {
        self.all.iter().filter_map(Operation::class).fold(0, |bits, class| bits | 1 << class)
    }

    /// Returns whether a send names no class.
    pub fn leaves_class(&self) -> bool {
        self.all.iter().any(|one| one.class().is_none() && one.peer != NONE)
    }

    /// The first operation that needs a rank beyond the first `ranks`: its id, whether it sends there, and the rank.
    pub fn beyond(&self, ranks: u32) -> Option<(u64, bool, u32)> {
        let far = |one: &Operation| match one.peer {
            _ if one.rank >= ranks => Some((false, one.rank)),
            NONE => None,
            peer => (peer >= ranks).then_some((true, peer)),
        };
        self.all.iter().zip(&self.ids).find_map(|(one, id)| far(one).map(|(peer, rank)| (*id, peer, rank)))
    }

    pub(super) fn greatest(&self) -> u64 {
        self.ids.last().copied().unwrap_or(0)
    }

    pub(super) fn id(&self, at: u32) -> u64 {
        self.ids[at as usize]
    }

    pub(super) fn at(&self, id: u64) -> Option<u32> {
        find(&self.ids, id)
    }

    pub(super) fn get(&self, at: u32) -> &Operation {
        &self.all[at as usize]
    }

    /// Returns the senders and receivers, by ranks.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.all.iter().filter(|operation| operation.peer != NONE).map(|operation| (operation.rank, operation.peer))
    }

    pub(super) fn all(&self) -> &[Operation] {
        &self.all
    }

    pub(super) fn needs(&self) -> &[u32] {
        &self.needs
    }

    pub(super) fn label(&self, number: u16) -> &Arc<str> {
        &self.labels[usize::from(number)]
    }

    pub(super) fn start(&self, at: u32) -> Time {
        let found = self.starts.binary_search_by_key(&at, |(of, _)| *of);
        found.map_or(Time::ZERO, |place| self.starts[place].1)
    }

    /// The operations that wait for one, and whether each waits for its acknowledgement.
    pub(super) fn waiting(&self, at: u32) -> impl Iterator<Item = (u32, bool)> + '_ {
        let (from, to) = (self.first[at as usize] as usize, self.first[at as usize + 1] as usize);
        self.then[from..to].iter().map(|then| (then & !ACK, then & ACK != 0))
    }
}

fn find(ids: &[u64], id: u64) -> Option<u32> {
    // Most tables number their rows consecutively.
    if usize::try_from(id).is_ok_and(|at| ids.get(at) == Some(&id)) {
        return Some(id as u32);
    }
    ids.binary_search(&id).ok().map(|at| at as u32)
}

/// Gathers the rows of a table.
#[derive(Debug, Default)]
pub struct Reader {
    ids: Vec<u64>,
    all: Vec<Operation>,
    needs: Vec<u32>,
    /// The end of each row's waits.
    ends: Vec<u32>,
    waits: Vec<u64>,
    /// By row.
    starts: Vec<(u32, Time)>,
    /// Numbers of labels, and whether a send uses each.
    labels: BTreeMap<Arc<str>, (u16, bool)>,
    streams: BTreeMap<(u32, u64), u32>,
}

impl Reader {
    /// Adds a row.
    ///
    /// # Errors
    /// An error in the row itself. [`Reader::finish`] checks whether the rows fit together.
    pub fn add(&mut self, row: &Row<'_>) -> Result<(), Flaw> {
        let flaw = |column, value: String, reason: String, hint: &str| {
            Err(Flaw { row: Some(self.all.len()), column, value, reason, hint: hint.to_owned() })
        };
        if self.all.len() == MOST {
            let reason = format!("more than {MOST} operations in one table");
            return Err(Flaw {
                row: None,
                column: "id",
                value: row.id.to_string(),
                reason,
                hint: "split the job".into(),
            });
        }
        if row.id >= Group::MOST_FLOWS {
            return flaw(
                "id",
                row.id.to_string(),
                format!("{} is not below 2^40", row.id),
                "number operations 0, 1, 2, …",
            );
        }
        if let Some(class) = row.class.filter(|class| *class > 7) {
            return flaw(
                "class",
                class.to_string(),
                format!("{class} is not a class from 0 to 7"),
                "leave it empty for the job's",
            );
        }
        let (peer, amount) = match row.task {
            Task::Send { peer, .. } if peer == row.rank => {
                let reason = format!("rank {peer} sends to itself");
                return flaw("peer", peer.to_string(), reason, "a join within a rank is a compute with time 0");
            }
            Task::Send { bytes: 0, .. } => {
                return flaw(
                    "bytes",
                    "0".into(),
                    "a send has at least 1 byte".into(),
                    "a compute with time 0 only joins",
                );
            }
            Task::Send { peer: NONE, .. } => {
                return flaw("peer", NONE.to_string(), format!("there is no rank {NONE}"), "ranks are numbered from 0");
            }
            Task::Send { bytes, .. } if Bytes(bytes) > Bytes::MOST => {
                let (bytes, most) = (Bytes(bytes), Bytes::MOST);
                return flaw("bytes", bytes.to_string(), format!("{bytes} is more than {most}"), TOO_MUCH);
            }
            Task::Compute(time) if time > Time::MOST => {
                return flaw("time", time.to_string(), format!("{time} is more than {}", Time::MOST), TOO_MUCH);
            }
            Task::Send { peer, bytes } => (peer, bytes),
            Task::Compute(time) => (NONE, time.0),
        };
        if row.start > Time::MOST {
            let (start, most) = (row.start, Time::MOST);
            return flaw("start", start.to_string(), format!("{start} is more than {most}"), TOO_MUCH);
        }
        if let (Task::Send { .. }, Some(stream)) = (row.task, row.stream) {
            let reason = "a send is of no stream".to_owned();
            return flaw("stream", stream.to_string(), reason, "only computations wait for their stream");
        }
        if let (Task::Compute(_), Some(class)) = (row.task, row.class) {
            return flaw("class", class.to_string(), "a computation has no class".into(), "leave it empty");
        }
        for (column, ids) in [("after", row.after), ("after_ack", row.after_ack)] {
            if let Some(id) = ids.iter().find(|id| **id == row.id) {
                return flaw(
                    column,
                    id.to_string(),
                    format!("operation {id} waits for itself"),
                    "name those before it",
                );
            }
            if let Some(id) = twice(ids) {
                return flaw(column, id.to_string(), format!("{id} is named twice"), "name each operation once");
            }
        }
        let waits = row.after.len() + row.after_ack.len();
        let needs = row.needs.unwrap_or(waits as u64);
        if needs > waits as u64 || (needs == 0 && waits > 0) {
            let reason = format!("needs {needs} of the {waits} operations that it waits for");
            return flaw(
                "needs",
                needs.to_string(),
                reason,
                "1 to as many as `after` and `after_ack` name; empty for all",
            );
        }
        if self.waits.len() + waits > MOST_WAITS {
            let reason = format!("more than {MOST_WAITS} waits in one table");
            return flaw("after", row.id.to_string(), reason, "a join (compute, time 0) lets many wait for many");
        }
        let label = self.label(row.label, peer != NONE)?;
        let next = self.streams.len() as u32;
        let stream = row.stream.map_or(NONE, |stream| *self.streams.entry((row.rank, stream)).or_insert(next));
        let timed = row.start > Time::ZERO;
        if timed {
            self.starts.push((self.all.len() as u32, row.start));
        }
        let class = row.class.unwrap_or(NO_CLASS);
        self.all.push(Operation { amount, rank: row.rank, peer, stream, label, class, timed });
        self.ids.push(row.id);
        self.needs.push(needs as u32);
        self.waits.extend(row.after.iter().copied());
        self.waits.extend(row.after_ack.iter().map(|id| id | ACK_OF_ID));
        self.ends.push(self.waits.len() as u32);
        Ok(())
    }

    /// The number of a label, in the order of first use.
    fn label(&mut self, label: &str, sends: bool) -> Result<u16, Flaw> {
        if let Some((number, of_sends)) = self.labels.get_mut(label) {
            *of_sends |= sends;
            return Ok(*number);
        }
        let next = self.labels.len();
        if next == MOST_LABELS {
            return Err(Flaw {
                row: Some(self.all.len()),
                column: "label",
                value: label.to_owned(),
                reason: format!("more than {MOST_LABELS} labels"),
                hint: "operations of one kind share a label".into(),
            });
        }
        self.labels.insert(label.into(), (next as u16, sends));
        Ok(next as u16)
    }
}

/// An id that occurs twice in a list.
fn twice(ids: &[u64]) -> Option<u64> {
    if ids.len() <= 8 {
        return ids.iter().enumerate().find(|(n, id)| ids[..*n].contains(id)).map(|(_, id)| *id);
    }
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}
