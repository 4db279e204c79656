//! Time series: samples at a fixed interval, at no cost between them.
//!
//! The parts of a split run stop together before the instant of a sample, so each node is sampled in its part.

use super::view::View;
use super::{Actors, Network};
use crate::model::event::Event;
use crate::model::host::flow::NO_MESSAGE;
use crate::model::packet::{CLASSES, NodeId, Port as PortNo, Queue};
use crate::model::part::Ownership;
use crate::model::port::Belongs;
use crate::record::SeriesRow;
use crate::spec::SeriesSpec;
use backwater_engine::Time;
use std::collections::BTreeMap;

/// A sample of a whole network: ports by number, then switches, then flows by identity.
pub(super) struct Sample<'a> {
    pub series: SeriesSpec,
    pub owners: &'a Ownership,
    pub now: Time,
    pub rows: Vec<SeriesRow>,
}

impl<A: Actors> Network<A> {
    pub(crate) fn sample(&mut self) {
        let Some(series) = self.series.clone() else { return };
        let (interval, now, rows) = (series.interval, self.world.now, std::mem::take(&mut self.world.rows.series));
        let mut sample = Sample { series, owners: &Ownership::WHOLE, now, rows };
        sample.take(std::slice::from_mut(self));
        self.world.rows.series = sample.rows;
        if self.lives() {
            self.world.push(now + interval, Event::Sample);
        }
    }
}

impl Sample<'_> {
    /// Samples a network in these parts.
    pub fn take<A: Actors>(&mut self, parts: &mut [Network<A>]) {
        let (all_ports, all_switches) = (parts[0].ports.len() as u32, parts[0].switches.len() as u32);
        for port in 0..all_ports {
            // The first part has the counts of all ports at the last sample.
            let before = parts[0].sampled_bytes[port as usize];
            let part = &mut parts[self.owners.of_port(port)];
            self.port(part, port, before);
            let sent = part.ports[port as usize].tx_bytes;
            parts[0].sampled_bytes[port as usize] = sent;
        }
        let queues = self.series.queues;
        for switch in (0..all_switches).filter(|_| queues) {
            let switch = &parts[self.owners.of_switch(switch)].switches[switch as usize];
            let (node, isolated) = (switch.home.shape.node, switch.occupancy.isolated_total().0);
            if isolated > 0 && self.series.records(node) {
                self.row(node, None, None, None, "held_bytes", isolated);
            }
        }
        if self.series.flows {
            self.flows(parts);
        }
    }

    fn row(
        &mut self,
        node: NodeId,
        port: Option<PortNo>,
        queue: Option<u8>,
        flow: Option<u64>,
        quantity: &'static str,
        value: u64,
    ) {
        self.rows.push(SeriesRow { time: self.now, node, port, queue, flow, quantity, value });
    }

    /// Samples a port of this part that had sent `before` bytes at the last sample.
    fn port<A: Actors>(&mut self, part: &mut Network<A>, number: u32, before: u64) {
        let port = &part.ports[number as usize];
        let node = NodeId(part.node_of(port));
        if !self.series.records(node) {
            return;
        }
        let local = PortNo(port.local);
        if let Belongs::Switch(switch) = port.belongs {
            let switch = &mut part.switches[switch as usize];
            if self.series.backlogs {
                let backlogs = switch.watch.as_mut().and_then(|watch| watch.backlogs.as_mut());
                let moments = backlogs.and_then(|backlogs| backlogs.take(local, self.now, self.series.interval));
                if let Some(moments) = moments {
                    self.row(node, Some(local), None, None, "backlog_mean_bytes", moments.mean);
                    self.row(node, Some(local), None, None, "backlog_mean_square_bytes2", moments.mean_square);
                    self.row(node, Some(local), None, None, "backlog_max_bytes", moments.most);
                    self.row(node, Some(local), None, None, "backlog_empty_ps", moments.empty);
                }
            }
            let queues = self.series.queues;
            for queue in (0..CLASSES as u8).filter(|_| queues) {
                let bytes = switch.occupancy.egress(local, Queue(queue)).0;
                if bytes > 0 {
                    self.row(node, Some(local), Some(queue), None, "queue_bytes", bytes);
                }
            }
        }
        let sent = port.tx_bytes - before;
        if self.series.links && sent > 0 {
            self.row(node, Some(local), None, None, "sent_bytes", sent);
        }
        if self.series.pauses {
            let paused = port.held_now(self.now);
            for class in (0..=CLASSES as u8).filter(|c| paused & (1 << c) != 0) {
                let queue = (usize::from(class) != CLASSES).then_some(class);
                self.row(node, Some(local), queue, None, "paused", 1);
            }
        }
    }

    /// Samples flows, each at its sender and its receiver. A connection reports its oldest message, and nothing while it is idle. A message
    /// over several queue pairs is the sum of them.
    fn flows<A: Actors>(&mut self, parts: &mut [Network<A>]) {
        let mut flows: BTreeMap<u64, (NodeId, u64, u64)> = BTreeMap::new();
        for slot in 0..parts[0].tables.flows.send.len() as u32 {
            let view = View { parts, owners: self.owners, now: self.now };
            let Some(src) = view.known(slot).map(|flow| flow.src) else { continue };
            let flow = view.flow(slot);
            if !flow.live {
                continue;
            }
            let total = flow.transport.as_ref().map_or(flow.sent, |sender| sender.common.total);
            let node = NodeId(parts[0].world.fabric.host_node[src.0 as usize]);
            let (sent, message, oldest) = (total - flow.sampled, flow.message, view.oldest_message(slot));
            parts[self.owners.of_host(src)].tables.flows.send[slot as usize].sampled = total;
            let Some((id, received)) = oldest.filter(|_| self.series.records(node)) else { continue };
            let ended = if message == NO_MESSAGE { 0 } else { parts[0].messages.received(message) };
            let (_, all_sent, all_received) = flows.entry(id).or_insert((node, 0, ended));
            (*all_sent, *all_received) = (*all_sent + sent, *all_received + received);
        }
        for (id, (node, sent, received)) in flows {
            let bps = (u128::from(sent) * 8_000_000_000_000 / u128::from(self.series.interval.0.max(1))) as u64;
            self.row(node, None, None, Some(id), "flow_rate_bps", bps);
            self.row(node, None, None, Some(id), "flow_received_bytes", received);
        }
    }
}
