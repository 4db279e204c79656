//! The rows of all parts in the order in which one thread would hand them out: by the key of the event that made them.

use super::super::{Actors, Network};
use super::Parallel;
use crate::model::part::{Half, Key};
use crate::record::{
    ActivityRow, CollectiveRow, ControlRow, CounterRow, FlowRow, FrameRow, InstanceRow, JobRows, LoadRow, PauseRow,
    PortRow, QueuePairRow, RoundRow, SeriesRow, Sink, SwitchRow, TransferRow, WaitRow,
};
use backwater_engine::Time;
use std::collections::HashMap;

/// How many rows have been handed out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handed {
    pub flows: u64,
    pub control: u64,
    pub collectives: u64,
    pub transfers: u64,
    pub rounds: u64,
    pub instances: u64,
}

impl Handed {
    /// Whether there are any.
    pub fn any(self) -> bool {
        let Handed { flows, control, collectives, transfers, rounds, instances } = self;
        flows | control | collectives | transfers | rounds | instances != 0
    }
}

/// What waits for its turn.
#[derive(Default)]
pub(super) struct Merge {
    flows: Vec<(Key, FlowRow, Option<u32>)>,
    control: Vec<(Key, ControlRow)>,
    /// All parts have the same: these are the first part's.
    jobs: JobRows,
    halves: HashMap<u32, Half>,
    /// Slots that senders have given back.
    freed: Vec<u32>,
    pub handed: Handed,
}

impl FlowRow {
    /// Adds what the receiver knows.
    pub(super) fn receives(&mut self, half: &Half) {
        self.fct_last_byte = (half.last_byte != Time::NEVER).then(|| half.last_byte - self.start);
        (self.received, self.reordered, self.marked) = (half.received, half.reordered.into(), half.marked.into());
    }
}

impl<A: Actors> Parallel<A> {
    /// All parts have come to the end of a stretch: hands out their rows, and gives back the slots of flows that are over.
    pub(super) fn hand_out(&mut self, sink: &mut dyn Sink) {
        let Some(split) = &mut self.split else { return };
        self.parts.iter_mut().for_each(|part| split.merge.collect(part));
        split.merge.hand_out(sink);
        for slot in split.merge.given_back() {
            self.parts.iter_mut().for_each(|part| part.forget_flow(slot));
        }
    }

    /// Hands out all rows: what receivers know is looked up where that has not been told.
    pub(super) fn hand_out_rest(&mut self, sink: &mut dyn Sink) {
        let Some(split) = &mut self.split else { return };
        self.parts.iter_mut().for_each(|part| split.merge.collect(part));
        for slot in split.merge.missing() {
            let flow = &self.parts[0].tables.flows.send[slot as usize];
            let recv = &self.parts[split.owners.of_host(flow.dst)].tables.flows.recv[slot as usize];
            split.merge.halves.insert(slot, Half::of(slot, recv));
        }
        split.merge.hand_out(sink);
    }
}

impl Merge {
    fn collect<A: Actors>(&mut self, network: &mut Network<A>) {
        let Some(part) = &mut network.world.part else { return };
        let rows = &mut network.world.rows;
        let mut jobs = std::mem::take(&mut rows.jobs);
        if part.me == 0 {
            self.jobs.append(&mut jobs);
        }
        let flows = part.flows.drain(..).zip(rows.flows.drain(..));
        self.flows.extend(flows.map(|((key, half), row)| (key, row, half)));
        self.control.extend(part.control.drain(..).zip(rows.control.drain(..)));
        self.halves.extend(part.halves.drain(..).map(|half| (half.slot, half)));
        self.freed.extend(network.tables.flows.freed.iter_mut().flat_map(|freed| freed.drain(..)));
    }

    fn missing(&self) -> Vec<u32> {
        let slots = self.flows.iter().filter_map(|(.., half)| *half);
        slots.filter(|slot| !self.halves.contains_key(slot)).collect()
    }

    /// Hands out all rows, in order.
    fn hand_out(&mut self, sink: &mut dyn Sink) {
        // Stable: rows of one event stay in order.
        self.flows.sort_by_key(|(key, ..)| *key);
        self.control.sort_by_key(|(key, _)| *key);
        for (_, mut row, half) in self.flows.drain(..) {
            if let Some(half) = half.and_then(|slot| self.halves.remove(&slot)) {
                row.receives(&half);
            }
            self.handed.flows += 1;
            sink.flow(&row);
        }
        for (_, row) in self.control.drain(..) {
            self.handed.control += 1;
            sink.control(&row);
        }
        self.handed.collectives += self.jobs.collectives.len() as u64;
        self.handed.transfers += self.jobs.transfers.len() as u64;
        self.handed.rounds += self.jobs.rounds.len() as u64;
        self.handed.instances += self.jobs.instances.len() as u64;
        self.jobs.hand_out(sink);
    }

    /// Slots that no part needs any more, in order.
    fn given_back(&mut self) -> Vec<u32> {
        let mut slots = std::mem::take(&mut self.freed);
        slots.sort_unstable();
        slots
    }
}

/// Leaves out rows that have been handed out before the run began again.
pub(super) struct Skip<'a> {
    pub sink: &'a mut dyn Sink,
    pub left: &'a mut Handed,
}

macro_rules! skip {
    ($($hook:ident: $row:ty, $handed:ident);+ $(;)?) => {
        $(fn $hook(&mut self, row: &$row) {
            match &mut self.left.$handed {
                0 => self.sink.$hook(row),
                left => *left -= 1,
            }
        })+
    };
}

macro_rules! pass {
    ($($hook:ident: $row:ty),+ $(,)?) => {
        $(fn $hook(&mut self, row: &$row) {
            self.sink.$hook(row);
        })+
    };
}

impl Sink for Skip<'_> {
    skip!(
        flow: FlowRow, flows;
        control: ControlRow, control;
        collective: CollectiveRow, collectives;
        transfer: TransferRow, transfers;
        round: RoundRow, rounds;
        instance: InstanceRow, instances;
    );
    pass!(
        series: SeriesRow,
        load: LoadRow,
        port: PortRow,
        frame: FrameRow,
        switch: SwitchRow,
        counter: CounterRow,
        activity: ActivityRow,
        wait: WaitRow,
        queue_pair: QueuePairRow,
        pause: PauseRow,
    );
}
