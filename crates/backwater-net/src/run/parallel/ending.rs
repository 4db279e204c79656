//! The progress of a run in parts, and the rows at its end.

use super::super::Actors;
use super::{Half, Parallel};
use crate::record::{Progress, Row, Sink, State};
use backwater_engine::{Fingerprint, Time};

impl<A: Actors> Parallel<A> {
    /// Returns its progress; for a finished run, with the time of its last event that was no mere timer.
    pub fn progress(&self) -> Progress {
        let Some(split) = &self.split else { return self.parts[0].progress() };
        let (flows_done, flows_failed) = (self.sum(|p| p.flows_done), self.sum(|p| p.flows_failed));
        let ports = || self.parts.iter().flat_map(|part| part.ports.iter());
        Progress {
            done: split.stopped,
            time: self.end(),
            events: self.sum(|p| p.events),
            hops: ports().map(|port| port.tx_frames).sum(),
            data_hops: ports().map(|port| port.tx_data_frames).sum(),
            flows_done,
            flows_failed,
            flows_active: self.active(),
            drops: self.sum(|p| p.drops),
            fault_losses: self.sum(|p| p.fault_losses),
            flushed: self.sum(|p| p.flushed),
        }
    }

    pub(super) fn sum(&self, of: impl Fn(&Progress) -> u64) -> u64 {
        self.parts.iter().map(|part| of(&part.world.totals.progress)).sum()
    }

    fn active(&self) -> u64 {
        let begun = self.parts.iter().filter_map(|part| Some(part.world.part.as_ref()?.begun)).max().unwrap_or(0);
        begun.saturating_sub(self.sum(|p| p.flows_done + p.flows_failed))
    }

    /// The end of the run: later timers without effect do not belong to it.
    pub(super) fn end(&self) -> Time {
        let Some(split) = &self.split else { return self.parts[0].end() };
        if split.at_rest && self.active() == 0 {
            let totals = self.parts.iter().map(|part| &part.world.totals);
            totals.map(|totals| totals.last_frame.max(totals.last_progress)).max().unwrap_or(Time::ZERO)
        } else {
            split.now
        }
    }

    /// Returns the time of the last event, including timers without effect.
    pub fn now(&self) -> Time {
        self.view().now
    }

    /// Fingerprint of the trajectory so far.
    pub fn fingerprint(&self) -> u64 {
        Fingerprint::of(self.view().ports().map(|(_, port)| port.arrivals))
    }

    /// Returns what is not at rest, as [`super::super::Network::unrest`].
    pub fn unrest(&self) -> Vec<String> {
        self.view().unrest()
    }

    pub(super) fn emit_unfinished(&mut self, sink: &mut dyn Sink) {
        let slots = 0..self.parts[0].tables.flows.send.len() as u32;
        let view = self.view();
        let lives = |slot: &u32| view.known(*slot).is_some() && view.flow(*slot).live;
        let mut live: Vec<u32> = slots.filter(lives).collect();
        live.sort_by_key(|slot| view.flow(*slot).id);
        for slot in &live {
            let Some((src, dst)) = self.view().known(*slot).map(|flow| (flow.src, flow.dst)) else { continue };
            let part = self.split.as_ref().map_or(0, |split| split.owners.of_host(src));
            self.parts[part].world.fabric.find_routes(dst);
        }
        let view = self.view();
        let found = view.whereabouts();
        for slot in live {
            let state = State::Unfinished(view.waits_for(slot, &found));
            let mut row = view.part_of_host(view.flow(slot).src).flow_row(slot as usize, state);
            row.receives(&Half::of(slot, view.recv(slot)));
            sink.row(Row::Flow(&row));
        }
    }
}
