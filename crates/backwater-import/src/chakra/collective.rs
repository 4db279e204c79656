//! The transfers of collectives.
//!
//! | collective | among n ranks, of size S |
//! |---|---|
//! | all-reduce | a ring: 2 (n - 1) phases, in each of which a rank sends S/n to the next |
//! | all-gather | a ring: n - 1 phases of S; S is what a rank contributes |
//! | reduce-scatter | a ring: n - 1 phases of S/n |
//! | all-to-all | each rank sends S/n to each other, all at once |
//! | broadcast, scatter | the root sends S, or S/n, to each other |
//! | reduce, gather | each other sends S to the root |
//! | barrier | no transfers: it is over when all have come |
//!
//! Sizes are astra-sim's (`Ring.cc`, commit 518bd51). In a ring a rank begins the next phase when it has sent and received this one, like
//! the steps of a `[[job]]`.

use crate::error::ImportError;
use crate::family::Work;
use crate::schedule::{Collectives, Label, Labels, Table};
use crate::tables::{Does, Operation};
use std::collections::HashMap;

/// Most transfers of all collectives of an import.
const MOST: u64 = 100_000_000;

/// The pattern of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// From each to the next, in so many phases of a part each; whether a part is the whole size.
    Ring { twice: bool, whole: bool },
    /// From each to each, at once.
    AllToAll,
    /// From the root to each; whether each gets the whole size.
    FromRoot { whole: bool },
    /// From each to the root.
    ToRoot,
    /// Nothing is sent.
    Barrier,
}

/// The type of a barrier in the schema.
pub const BARRIER: u64 = 9;

/// A type of collective: its name here, and its pattern.
pub fn kind(number: u64) -> Option<(&'static str, Pattern)> {
    Some(match number {
        0 => ("all-reduce", Pattern::Ring { twice: true, whole: false }),
        1 => ("reduce", Pattern::ToRoot),
        2 => ("all-gather", Pattern::Ring { twice: false, whole: true }),
        3 => ("gather", Pattern::ToRoot),
        4 => ("scatter", Pattern::FromRoot { whole: false }),
        5 => ("broadcast", Pattern::FromRoot { whole: true }),
        6 => ("all-to-all", Pattern::AllToAll),
        7 | 8 => ("reduce-scatter", Pattern::Ring { twice: false, whole: false }),
        BARRIER => ("barrier", Pattern::Barrier),
        _ => return None,
    })
}

/// A collective of a group.
#[derive(Debug)]
pub struct Call {
    /// Number of the group.
    pub group: u32,
    /// Its type.
    pub kind: u64,
    /// Octets.
    pub bytes: u64,
    /// Index of the root among the members.
    pub root: u32,
    /// Its label at the first rank.
    pub label: Label,
    /// For each member: the operation that ends it, and its waits.
    parts: Vec<Option<Part>>,
}

#[derive(Debug)]
struct Part {
    rank: u32,
    ends: u64,
    after: Vec<u64>,
}

/// All collectives of an import.
#[derive(Debug, Default)]
pub struct Calls {
    /// For each group: members in order, and their places.
    groups: Vec<(Vec<u32>, HashMap<u32, u32>)>,
    calls: Vec<Call>,
    /// By group, in order.
    of_group: Vec<Vec<u32>>,
    /// The number of a group's collectives that a rank has called so far.
    done: HashMap<(u32, u32), u32>,
}

impl Calls {
    /// Adds a group of ranks; returns its number.
    pub fn group(&mut self, members: Vec<u32>) -> u32 {
        let places = (0u32..).zip(&members).map(|(place, rank)| (*rank, place)).collect();
        self.groups.push((members, places));
        self.of_group.push(Vec::new());
        self.groups.len() as u32 - 1
    }

    /// A rank calls a collective of a group, of a kind and so many octets. Returns its number. The n-th calls of all members belong
    /// together.
    ///
    /// # Errors
    ///
    /// The error in it.
    pub fn call(
        &mut self,
        rank: u32,
        group: u32,
        (kind, bytes): (u64, u64),
        root: Option<u64>,
        label: Label,
    ) -> Result<u32, String> {
        let places = &self.groups[group as usize].1;
        if !places.contains_key(&rank) {
            return Err(format!("rank {rank} is no member of its group"));
        }
        let root = match root {
            None => 0,
            Some(root) => {
                let place = u32::try_from(root).ok().and_then(|root| places.get(&root));
                *place.ok_or_else(|| format!("the root, rank {root}, is no member of the group"))?
            }
        };
        let done = self.done.entry((rank, group)).or_default();
        let list = &mut self.of_group[group as usize];
        if let Some(which) = list.get(*done as usize) {
            let call = &self.calls[*which as usize];
            if (call.kind, call.bytes, call.root) != (kind, bytes, root) {
                let name = |number: u64| kind_name(number);
                return Err(format!(
                    "collective {done} of its group is {} of {bytes} B here, and {} of {} B at ranks before it",
                    name(kind),
                    name(call.kind),
                    call.bytes
                ));
            }
        } else {
            list.push(self.calls.len() as u32);
            self.calls.push(Call { group, kind, bytes, root, label, parts: Vec::new() });
        }
        *done += 1;
        Ok(list[*done as usize - 1])
    }

    /// Returns the label of a collective at its first rank.
    pub fn label(&self, which: u32) -> Label {
        self.calls.get(which as usize).map_or_else(Label::default, |call| call.label)
    }

    /// Returns whether there are any.
    pub fn any(&self) -> bool {
        !self.calls.is_empty()
    }

    /// All ranks have made their calls.
    ///
    /// # Errors
    ///
    /// A member of a group calls fewer collectives than another one, or there are too many transfers.
    pub fn complete(&self) -> Result<(), String> {
        for (group, list) in (0u32..).zip(&self.of_group) {
            let members = &self.groups[group as usize].0;
            let done = |rank: u32| self.done.get(&(rank, group)).copied().unwrap_or_default();
            if let Some(rank) = members.iter().find(|rank| (done(**rank) as usize) < list.len()) {
                let (all, own) = (list.len(), done(*rank));
                return Err(format!("rank {rank} takes part in {own} collectives of its group, and others in {all}"));
            }
        }
        let mut transfers = 0u64;
        for call in &self.calls {
            let n = self.groups[call.group as usize].0.len() as u64;
            transfers = transfers.saturating_add(match kind(call.kind).map(|(_, pattern)| pattern) {
                Some(Pattern::Ring { twice, .. }) => n * n.saturating_sub(1) * (1 + u64::from(twice)),
                Some(Pattern::AllToAll) => n * n.saturating_sub(1),
                _ => n,
            });
            if transfers > MOST {
                return Err(format!("the collectives have more than {MOST} transfers"));
            }
        }
        Ok(())
    }
}

fn kind_name(number: u64) -> &'static str {
    kind(number).map_or("unknown", |(name, _)| name)
}

impl Collectives for Calls {
    fn take_part(&mut self, rank: u32, which: u32, id: u64, after: Vec<u64>) {
        let Some(call) = self.calls.get_mut(which as usize) else { return };
        let Some((members, places)) = self.groups.get(call.group as usize) else { return };
        call.parts.resize_with(members.len(), || None);
        let place = places.get(&rank);
        if let Some(part) = place.and_then(|place| call.parts.get_mut(*place as usize)) {
            *part = Some(Part { rank, ends: id, after });
        }
    }

    fn finish(&mut self, labels: &Labels, table: &mut Table, work: &mut Work<'_>) -> Result<(), ImportError> {
        for call in std::mem::take(&mut self.calls) {
            expand(call, labels, table, work)?;
        }
        Ok(())
    }
}

fn expand(call: Call, labels: &Labels, table: &mut Table, work: &mut Work<'_>) -> Result<(), ImportError> {
    let n = call.parts.len();
    let mut parts = Vec::with_capacity(n);
    for part in call.parts {
        parts.push(part.ok_or_else(|| ImportError::new("a member of a group takes no part in a collective of it"))?);
    }
    let Some((name, pattern)) = kind(call.kind) else { return Ok(()) };
    let name = labels.name(call.label).unwrap_or(name);
    // The operations that let each member begin.
    let mut entries: Vec<Vec<u64>> = Vec::with_capacity(n);
    for part in &parts {
        entries.push(match part.after.as_slice() {
            [] => Vec::new(),
            [one] => vec![*one],
            several => {
                let join = table.number();
                table.join(join, part.rank, several, work)?;
                vec![join]
            }
        });
    }
    let mut send = |id: u64, from: usize, to: usize, bytes: u64, after: &[u64], table: &mut Table| {
        let does = Does::Send { peer: parts[to].rank, bytes: bytes.max(1) };
        table.add(&Operation { label: Some(name), ..Operation::new(id, parts[from].rank, does).after(after) }, work)
    };
    // The operations that each member waits for in the end.
    let mut ends = entries.clone();
    let part_of = |index: usize| {
        let end = |index: usize| (u128::from(call.bytes) * index as u128 / n as u128) as u64;
        end(index + 1) - end(index)
    };
    let root = call.root as usize;
    match pattern {
        Pattern::Ring { twice, whole } if n > 1 => {
            let phases = (n - 1) * if twice { 2 } else { 1 };
            let first = table.numbers(phases as u64 * n as u64);
            let id = |phase: usize, member: usize| first + (phase * n + member) as u64;
            for phase in 0..phases {
                for (member, entry) in entries.iter().enumerate() {
                    let bytes = if whole { call.bytes } else { part_of((member + n * 2 - phase % n) % n) };
                    let before = (member + n - 1) % n;
                    let last = phase.saturating_sub(1);
                    let sent_and_received = [id(last, member), id(last, before)];
                    let after = if phase == 0 { entry.as_slice() } else { &sent_and_received };
                    send(id(phase, member), member, (member + 1) % n, bytes, after, table)?;
                }
            }
            for (member, end) in ends.iter_mut().enumerate() {
                end.extend([id(phases - 1, member), id(phases - 1, (member + n - 1) % n)]);
            }
        }
        Pattern::AllToAll => {
            let first = table.numbers((n * n) as u64);
            for (from, entry) in entries.iter().enumerate() {
                // Each begins with the next rank, so that no receiver is the first of all.
                for to in (1..n).map(|step| (from + step) % n) {
                    let id = first + (from * n + to) as u64;
                    send(id, from, to, part_of(to), entry, table)?;
                    ends[from].push(id);
                    ends[to].push(id);
                }
            }
        }
        Pattern::FromRoot { whole } => {
            let first = table.numbers(n as u64);
            for to in (0..n).filter(|to| *to != root) {
                let bytes = if whole { call.bytes } else { part_of(to) };
                send(first + to as u64, root, to, bytes, &entries[root], table)?;
                ends[to].push(first + to as u64);
                ends[root].push(first + to as u64);
            }
        }
        Pattern::ToRoot => {
            let first = table.numbers(n as u64);
            for from in (0..n).filter(|from| *from != root) {
                send(first + from as u64, from, root, call.bytes, &entries[from], table)?;
                ends[from].push(first + from as u64);
                ends[root].push(first + from as u64);
            }
        }
        Pattern::Barrier => {
            let join = table.number();
            let all: Vec<u64> = entries.iter().flatten().copied().collect();
            table.join(join, parts[0].rank, &all, work)?;
            ends.iter_mut().for_each(|end| *end = vec![join]);
        }
        Pattern::Ring { .. } => {}
    }
    for (part, end) in parts.iter().zip(&ends) {
        table.join(part.ends, part.rank, end, work)?;
    }
    Ok(())
}
