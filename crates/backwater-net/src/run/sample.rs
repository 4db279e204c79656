//! Time series: samples at a fixed interval, at no cost between them.

use super::{Actors, Network};
use crate::model::event::Event;
use crate::model::host::flow::NO_MESSAGE;
use crate::model::packet::{CLASSES, NodeId, Port as PortNo, Queue};
use crate::model::port::Belongs;
use crate::record::SeriesRow;
use std::collections::BTreeMap;

impl<A: Actors> Network<A> {
    pub(crate) fn sample(&mut self) {
        let Some(series) = self.series.clone() else { return };
        let mut rows = std::mem::take(&mut self.world.rows.series);
        let time = self.world.now;
        let row =
            |node, port, queue, flow, quantity, value| SeriesRow { time, node, port, queue, flow, quantity, value };
        for (i, port) in self.ports.iter().enumerate() {
            let node = NodeId(self.node_of(port));
            if !series.records(node) {
                continue;
            }
            let local = PortNo(port.local);
            if let (true, Belongs::Switch(s)) = (series.backlogs, port.belongs) {
                let backlogs = self.switches[s as usize].watch.as_mut().and_then(|watch| watch.backlogs.as_mut());
                let moments = backlogs.and_then(|backlogs| backlogs.take(local, self.world.now, series.interval));
                if let Some(moments) = moments {
                    for (quantity, value) in [
                        ("backlog_mean_bytes", moments.mean),
                        ("backlog_mean_square_bytes2", moments.mean_square),
                        ("backlog_max_bytes", moments.most),
                        ("backlog_empty_ps", moments.empty),
                    ] {
                        rows.push(row(node, Some(local), None, None, quantity, value));
                    }
                }
            }
            if let (true, Belongs::Switch(s)) = (series.queues, port.belongs) {
                for queue in 0..CLASSES as u8 {
                    let bytes = self.switches[s as usize].occupancy.egress(local, Queue(queue)).0;
                    if bytes > 0 {
                        rows.push(row(node, Some(local), Some(queue), None, "queue_bytes", bytes));
                    }
                }
            }
            let sent = port.tx_bytes - self.sampled_bytes[i];
            if series.links && sent > 0 {
                rows.push(row(node, Some(local), None, None, "sent_bytes", sent));
            }
            if series.pauses {
                let paused = port.held_now(self.world.now);
                for class in (0..=CLASSES as u8).filter(|c| paused & (1 << c) != 0) {
                    let queue = (usize::from(class) != CLASSES).then_some(class);
                    rows.push(row(node, Some(local), queue, None, "paused", 1));
                }
            }
        }
        for switch in self.switches.iter().filter(|_| series.queues) {
            let (node, isolated) = (switch.home.shape.node, switch.occupancy.isolated_total().0);
            if isolated > 0 && series.records(node) {
                rows.push(row(node, None, None, None, "held_bytes", isolated));
            }
        }
        for (sampled, port) in self.sampled_bytes.iter_mut().zip(self.ports.iter()) {
            *sampled = port.tx_bytes;
        }
        if series.flows {
            let slots: Vec<u32> = self.tables.flows.slots().collect();
            let mut tell = |node, id, sent, received| {
                let bps = (u128::from(sent) * 8_000_000_000_000 / u128::from(series.interval.0.max(1))) as u64;
                rows.push(row(node, None, None, Some(id), "flow_rate_bps", bps));
                rows.push(row(node, None, None, Some(id), "flow_received_bytes", received));
            };
            // For messages over several queue pairs: the sums of bytes sent and received.
            let mut messages: BTreeMap<u64, (NodeId, u64, u64)> = BTreeMap::new();
            for slot in slots {
                let flow = &mut self.tables.flows.send[slot as usize];
                let total = flow.transport.as_ref().map_or(flow.sent, |sender| sender.common.total);
                let sent = total - std::mem::replace(&mut flow.sampled, total);
                let (node, message) = (NodeId(self.world.fabric.host_node[flow.src.0 as usize]), flow.message);
                // A connection reports its oldest message, and nothing while it is idle.
                let Some((id, received)) = self.oldest_message(slot).filter(|_| series.records(node)) else { continue };
                if message == NO_MESSAGE {
                    tell(node, id, sent, received);
                    continue;
                }
                let ended = self.messages.received(message);
                let (_, all_sent, all_received) = messages.entry(id).or_insert((node, 0, ended));
                (*all_sent, *all_received) = (*all_sent + sent, *all_received + received);
            }
            messages.into_iter().for_each(|(id, (node, sent, received))| tell(node, id, sent, received));
        }
        self.world.rows.series = rows;
        if self.lives() {
            self.world.push(self.world.now + series.interval, Event::Sample);
        }
    }
}
