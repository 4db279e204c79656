//! The rows of all parts in the order in which one thread would hand them out: by the key of the event that made them.

use super::super::{Actors, Network};
use super::Parallel;
use crate::model::part::{Half, Key};
use crate::record::{ControlRow, FlowRow, Row, Rows, SeriesRow, Sink};
use backwater_engine::Time;
use std::collections::HashMap;

/// How many rows of each kind have been handed out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handed([u64; Row::KINDS]);

impl Handed {
    /// Returns whether any have been handed out.
    pub fn any(self) -> bool {
        self.0 != [0; Row::KINDS]
    }
}

/// Rows that wait for their turn.
#[derive(Default)]
pub(super) struct Merge {
    flows: Vec<(Key, FlowRow, Option<u32>)>,
    control: Vec<(Key, ControlRow)>,
    /// Rows of jobs. All parts have the same ones; these are from the first part.
    others: Rows,
    halves: HashMap<u32, Half>,
    /// Slots that senders have freed.
    freed: Vec<u32>,
    pub handed: Handed,
}

impl FlowRow {
    /// Adds the receiver's data.
    pub(super) fn receives(&mut self, half: &Half) {
        self.fct_last_byte = (half.last_byte != Time::NEVER).then(|| half.last_byte - self.start);
        (self.received, self.reordered, self.marked) = (half.received, half.reordered.into(), half.marked.into());
    }
}

impl<A: Actors> Parallel<A> {
    /// All parts have reached the end of a stretch: hands out their rows, and frees the slots of ended flows.
    pub(super) fn emit(&mut self, sink: &mut dyn Sink) {
        let Some(split) = &mut self.split else { return };
        self.parts.iter_mut().for_each(|part| split.merge.collect(part));
        split.merge.emit(sink);
        for slot in split.merge.released_slots() {
            self.parts.iter_mut().for_each(|part| part.forget_flow(slot));
        }
    }

    /// Hands out all rows; looks up receivers' data that has not been sent.
    pub(super) fn emit_rest(&mut self, sink: &mut dyn Sink) {
        let Some(split) = &mut self.split else { return };
        self.parts.iter_mut().for_each(|part| split.merge.collect(part));
        for slot in split.merge.missing() {
            let known = self.parts.iter().find_map(|part| part.tables.flows.send.get(slot as usize));
            let Some(dst) = known.map(|flow| flow.dst) else { continue };
            let recv = &self.parts[split.owners.of_host(dst)].tables.flows.recv[slot as usize];
            split.merge.halves.insert(slot, Half::of(slot, recv));
        }
        split.merge.emit(sink);
    }
}

impl Merge {
    fn collect<A: Actors>(&mut self, network: &mut Network<A>) {
        let Some(part) = &mut network.world.part else { return };
        let mut rows = std::mem::take(&mut network.world.rows);
        let flows = part.flows.drain(..).zip(rows.flows.drain(..));
        self.flows.extend(flows.map(|((key, half), row)| (key, row, half)));
        self.control.extend(part.control.drain(..).zip(rows.control.drain(..)));
        if part.me == 0 {
            self.others.append(&mut rows);
        }
        self.halves.extend(part.halves.drain(..).map(|half| (half.slot, half)));
        self.freed.extend(network.tables.flows.freed.iter_mut().flat_map(|freed| freed.drain(..)));
    }

    /// Samples are taken when everything before them has been handed out.
    pub fn add_samples(&mut self, mut rows: Vec<SeriesRow>) {
        self.others.series.append(&mut rows);
    }

    fn missing(&self) -> Vec<u32> {
        let slots = self.flows.iter().filter_map(|(.., half)| *half);
        slots.filter(|slot| !self.halves.contains_key(slot)).collect()
    }

    /// Hands out all rows, in order.
    fn emit(&mut self, sink: &mut dyn Sink) {
        let mut sink = Count { sink, handed: &mut self.handed };
        // Stable: rows of one event stay in order.
        self.flows.sort_by_key(|(key, ..)| *key);
        self.control.sort_by_key(|(key, _)| *key);
        for (_, mut row, half) in self.flows.drain(..) {
            if let Some(half) = half.and_then(|slot| self.halves.remove(&slot)) {
                row.receives(&half);
            }
            sink.row(Row::Flow(&row));
        }
        self.control.drain(..).for_each(|(_, row)| sink.row(Row::Control(&row)));
        self.others.emit(&mut sink);
    }

    /// Slots that no part needs any more, in order.
    fn released_slots(&mut self) -> Vec<u32> {
        let mut slots = std::mem::take(&mut self.freed);
        slots.sort_unstable();
        slots
    }
}

/// Counts rows that are handed out.
struct Count<'a> {
    sink: &'a mut dyn Sink,
    handed: &'a mut Handed,
}

impl Sink for Count<'_> {
    fn row(&mut self, row: Row<'_>) {
        self.handed.0[row.kind()] += 1;
        self.sink.row(row);
    }
}

/// Omits rows that were handed out before the run restarted.
pub(super) struct Skip<'a> {
    pub sink: &'a mut dyn Sink,
    pub left: &'a mut Handed,
}

impl Sink for Skip<'_> {
    fn row(&mut self, row: Row<'_>) {
        match &mut self.left.0[row.kind()] {
            0 => self.sink.row(row),
            left => *left -= 1,
        }
    }
}
