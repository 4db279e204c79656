//! The progress of a run, and the rows at its end.

use super::view::View;
use super::{Actors, Network};
use crate::model::hooks::{Activity, Count, FlowSide, MechanismId, NicSide, SwitchSide};
use crate::model::packet::{NodeId, Port as PortNo};
use crate::model::port::Belongs;
use crate::record::{ActivityRow, CounterRow, PortRow, PortStats, Progress, Row, Sink, State, SwitchRow};
use crate::workload::Rounds;
use backwater_engine::{Fingerprint, Time};

impl<A: Actors> Network<A> {
    /// Returns its progress; for a finished run, with the time of its last event that was no mere timer.
    pub fn progress(&self) -> Progress {
        Progress {
            done: self.world.totals.stopped,
            time: self.end(),
            flows_active: self.tables.flows.active - self.messages.extra,
            hops: self.ports.iter().map(|p| p.tx_frames).sum(),
            data_hops: self.ports.iter().map(|p| p.tx_data_frames).sum(),
            ..self.world.totals.progress
        }
    }

    /// The end of the run: later timers without effect do not belong to it.
    pub(super) fn end(&self) -> Time {
        if self.world.totals.at_rest && self.tables.flows.active == 0 {
            self.world.totals.last_frame.max(self.world.totals.last_progress)
        } else {
            self.world.now
        }
    }

    /// Returns the time of the last event, including timers without effect.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// Fingerprint of the trajectory so far.
    pub fn fingerprint(&self) -> u64 {
        Fingerprint::of(self.ports.iter().map(|port| port.arrivals))
    }

    /// Returns the completed rounds of jobs.
    pub fn rounds(&self) -> Vec<Rounds> {
        self.jobs.rounds().collect()
    }

    /// Ends the run here: hands out the rows of unfinished flows and of all ports.
    pub fn finish(&mut self, sink: &mut dyn Sink) {
        self.world.totals.stopped = true;
        let mut slots: Vec<u32> = self.open_flows().collect();
        slots.sort_by_key(|s| self.tables.flows.send[*s as usize].order());
        let found = self.view().whereabouts();
        // Flows that are cut off stay counted as active, so what they have beyond their messages does, too.
        let extra = self.messages.extra;
        for slot in slots {
            self.world.fabric.find_routes(self.tables.flows.send[slot as usize].dst);
            let state = State::Unfinished(self.view().waits_for(slot, &found));
            self.rows_are_over(slot as usize, state);
        }
        self.messages.extra = extra;
        if let Some(pauses) = &mut self.world.probes.pauses {
            self.world.rows.pauses.extend(pauses.close(self.world.now));
        }
        self.world.rows.append(&mut self.jobs.unfinished());
        self.world.rows.emit(sink);
        let end = self.end();
        self.view().emit_totals(end, sink);
        self.view().emit_loads(sink);
        self.view().emit_activity(sink);
    }

    /// Returns what is not at rest: nothing, after a run that was not cut short and lost no frame to a fault.
    pub fn unrest(&self) -> Vec<String> {
        self.view().unrest()
    }
}

impl<A: Actors> View<'_, A> {
    /// Hands out the counters of ports, switches and mechanisms until `end`.
    pub(super) fn emit_totals(&self, end: Time, sink: &mut dyn Sink) {
        let fabric = &self.parts[0].world.fabric;
        for node in (0..fabric.first_port.len() as u32).map(NodeId) {
            let ports = (0..fabric.neighbours[node.0 as usize].len() as u16).map(PortNo);
            ports.filter_map(|port| self.port_row(node, port)).for_each(|row| sink.row(Row::Port(&row)));
        }
        for (_, switch) in self.switches() {
            let isolated = switch.occupancy.isolated.stats(end);
            sink.row(Row::Switch(&SwitchRow { node: switch.home.shape.node, isolated }));
        }
        self.emit_counts(sink);
    }

    /// The totals of a port until now; `None`: there is no such port.
    pub(super) fn port_row(&self, node: NodeId, port: PortNo) -> Option<PortRow> {
        let fabric = &self.parts[0].world.fabric;
        let (peer, _) = fabric.neighbours.get(node.0 as usize)?.get(usize::from(port.0))?;
        let at = self.port(fabric.first_port[node.0 as usize] + u32::from(port.0));
        let most = match at.belongs {
            Belongs::Switch(switch) => {
                let (seen, local) = (&self.switch(switch).occupancy, PortNo(at.local));
                (seen.most_ingress_port(local).0, seen.most_egress_port(local).0)
            }
            Belongs::Host(_) => (0, 0),
        };
        Some(PortRow {
            node,
            port,
            peer: NodeId(*peer),
            rate_bps: at.serialiser.rate().0,
            stats: PortStats { max_ingress_bytes: most.0, max_egress_bytes: most.1, ..at.stats(self.now) },
        })
    }

    /// Hands out the activity of mechanisms, and how near they came to acting.
    pub(super) fn emit_activity(&self, sink: &mut dyn Sink) {
        let mut all: Vec<(Activity, Option<NodeId>)> = vec![(Activity::default(), None); A::OWNERS];
        for part in self.parts {
            for ((all, _), activity) in all.iter_mut().zip(&part.tables.controllers.activity) {
                all.join(*activity);
            }
        }
        let mut tell = |node: Option<NodeId>, owner: MechanismId, done: Activity| {
            let (activity, at) = &mut all[usize::from(owner.0)];
            if activity.join(done) {
                *at = node;
            }
        };
        for (_, switch) in self.switches() {
            let node = Some(switch.home.shape.node);
            switch.stack.report_activity(&switch.occupancy, &mut |owner, done| tell(node, owner, done));
        }
        for (host, node) in self.hosts() {
            host.stack.report_activity(&mut |owner, done| tell(Some(node), owner, done));
        }
        for controller in self.parts.iter().flat_map(|part| part.tables.controllers.list.iter().flatten()) {
            controller.side.report_activity(&mut |owner, done| tell(None, owner, done));
        }
        for (owner, mechanism, idle) in self.parts[0].actors.on() {
            let (activity, node) = all[usize::from(owner.0)];
            sink.row(Row::Activity(&ActivityRow { mechanism, idle, activity, node }));
        }
    }

    /// Hands out the counters of mechanisms.
    fn emit_counts(&self, sink: &mut dyn Sink) {
        let on = self.parts[0].actors.on();
        let mut emit = |node: NodeId, local: Option<PortNo>, owner: MechanismId, counts: Vec<Count>| {
            let Some((_, mechanism, _)) = on.iter().find(|(of, ..)| *of == owner) else { return };
            for (port, counter, value) in counts.into_iter().filter(|(.., value)| *value != 0) {
                let port = local.unwrap_or(port);
                sink.row(Row::Counter(&CounterRow { node, port, mechanism, counter, value }));
            }
        };
        for (_, switch) in self.switches() {
            let node = switch.home.shape.node;
            switch.stack.report_counts(self.now, &mut |owner, counts| emit(node, None, owner, counts));
        }
        for (host, node) in self.hosts() {
            // For a host with several links: the counters of one of them.
            let port = self.port(host.port);
            let local = port.rest.shares_host.then_some(PortNo(port.local));
            host.stack.report_counts(self.now, &mut |owner, counts| emit(node, local, owner, counts));
        }
    }

    pub(super) fn unrest(&self) -> Vec<String> {
        let mut found = Vec::new();
        let in_flight: usize = self.parts.iter().map(|part| part.world.slab.len()).sum();
        if in_flight != 0 {
            found.push(format!("{in_flight} packets are still in flight"));
        }
        for (_, switch) in self.switches() {
            if !switch.occupancy.is_empty() {
                found.push(format!("counters of {} are not zero", switch.home.shape.name));
            }
        }
        for (_, port) in self.ports() {
            if !port.all_open() {
                found.push(format!("a gate of port {} of {:?} is shut", port.local, port.belongs));
            }
            if !port.is_drained(self.now) {
                found.push(format!("port {} of {:?} has something to send", port.local, port.belongs));
            }
            if port.rest.pause_requests.any(self.now) {
                found.push(format!("port {} of {:?} holds its neighbour", port.local, port.belongs));
            }
        }
        found
    }
}
