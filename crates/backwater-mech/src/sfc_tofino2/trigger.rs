//! `IngressSfcPrepare`, `IngressSfcTrigger` and the register of `EgressSfc`: the congestion point.

use super::arithmetic::{CELL, Speed, cells};
use super::config::Params;
use super::suppression::Suppression;
use super::wire::Message;
use backwater_net::packet::{Body, Dscp};
use backwater_net::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// A mirrored packet: its time of the next step, its queue, its source, its flow, its DSCP.
type Copied = (Time, Port, Queue, HostId, FlowRef, Dscp);

#[derive(State)]
pub(super) struct Trigger {
    #[state(fixed)]
    params: Params,
    /// per port: whether its queues are congestion points
    #[state(fixed)]
    points: Vec<bool>,
    /// `classify_sfc`: traffic classes that take part, a bit each
    #[state(fixed)]
    classes: u8,
    #[state(within)]
    suppression: Suppression,
    /// `reg_qdepth`: cells above the target when the last packet left
    qdepth_drain_cells: BTreeMap<(Port, Queue), u32>,
    /// copies on their first pass of the pipeline
    copies: VecDeque<Copied>,
    /// messages on their second pass, and when they are routed
    messages: VecDeque<(Time, HostId, FlowRef, Message)>,
    /// per port: packets mirrored, and packets suppressed
    mirrored: BTreeMap<Port, (u64, u64)>,
    /// \[bytes\] the longest of its queues
    peak: Bytes,
}

impl Trigger {
    pub(super) fn new(params: &Params, shape: &SwitchShape) -> Trigger {
        Trigger {
            params: params.clone(),
            points: shape.ports.iter().map(|port| params.points.include(port)).collect(),
            classes: params.class_bits(),
            suppression: Suppression::new(params.epoch, params.filter_width),
            qdepth_drain_cells: BTreeMap::new(),
            copies: VecDeque::new(),
            messages: VecDeque::new(),
            mirrored: BTreeMap::new(),
            peak: Bytes::ZERO,
        }
    }

    /// `classify_sfc`: the source of a packet with a BTH and of a traffic class in the table, before a queue that is a congestion point.
    #[inline(always)]
    pub(super) fn source(&self, at: &Place, pkt: &Packet) -> Option<HostId> {
        if !self.points[usize::from(at.egress.0)] || self.classes & (1 << at.class.0) == 0 {
            return None;
        }
        match &pkt.body {
            Body::Data(data) => Some(data.src),
            Body::Ack(ack) => Some(ack.src),
            Body::Control(_) | Body::Mac(_) => None,
        }
    }

    #[inline(always)]
    pub(super) fn tick(&mut self, now: Time) {
        self.suppression.tick(now);
    }

    /// `ghost_read_q_over_threshold`: the threshold is compared in units of 4 cells.
    #[inline(always)]
    pub(super) fn is_over_threshold(&mut self, cx: &mut SwitchCx<'_>, at: &Place) -> bool {
        let queue = cx.seen().egress(at.egress, at.queue);
        self.peak = self.peak.max(queue);
        cells(queue) / 4 >= self.params.threshold_units()
    }

    /// `decide_suppression` and `do_set_mirroring`.
    #[cold]
    pub(super) fn mirror(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet, source: HostId) {
        let dscp = pkt.ds.dscp();
        let (mirrored, suppressed) = self.mirrored.entry(at.egress).or_default();
        if self.suppression.suppresses(source, pkt.dst, dscp) {
            *suppressed += 1;
            return;
        }
        *mirrored += 1;
        let due = cx.now().after(self.params.pass);
        self.copies.push_back((due, at.egress, at.queue, source, pkt.flow, dscp));
        cx.arm(due, 0);
    }

    /// `trigger_qd_read` and `do_calc_cells_to_pause_*`: copies that have made their first pass become messages.
    pub(super) fn mirrored(&mut self, cx: &mut SwitchCx<'_>) {
        while let Some((_, port, queue, source, flow, dscp)) = self.copies.pop_front_if(|copy| copy.0 <= cx.now()) {
            // `check` refuses other rates.
            let Some(speed) = Speed::of(cx.shape().ports[usize::from(port.0)].rate) else { continue };
            let drain = self.qdepth_drain_cells.get(&(port, queue)).copied().unwrap_or(0);
            let duration_us = speed.duration_us(drain, self.params.fast_ports);
            let message = Message { duration_us, dscp, travels: self.params.travels(speed) };
            let due = cx.now().after(self.params.pass);
            self.messages.push_back((due, source, flow, message));
            cx.arm(due, 0);
        }
    }

    /// Returns the next message that has made its second pass.
    pub(super) fn recirculated(&mut self, now: Time) -> Option<(HostId, FlowRef, Message)> {
        self.messages.pop_front_if(|message| message.0 <= now).map(|(_, source, flow, message)| (source, flow, message))
    }

    /// `data_qd_write`: the queue without the packet, above the target.
    pub(super) fn departs(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
        let queue = cx.seen().egress(at.egress, at.queue).saturating_sub(cx.seen().counted(pkt));
        let drain = cells(queue).saturating_sub(self.params.target_cells());
        self.qdepth_drain_cells.insert((at.egress, at.queue), drain);
    }

    pub(super) fn counts(&self) -> Vec<Count> {
        let of_port = |(port, (mirrored, suppressed)): (&Port, &(u64, u64))| {
            [(*port, "mirrored", *mirrored), (*port, "suppressed", *suppressed)]
        };
        self.mirrored.iter().flat_map(of_port).collect()
    }

    pub(super) fn activity(&self) -> Activity {
        let acts = self.mirrored.values().map(|(mirrored, _)| mirrored).sum();
        let threshold = Bytes(u64::from(self.params.threshold_units()) * 4 * CELL.0);
        Activity { acts, margin: Some(Margin::bytes("longest queue of a congestion point", self.peak, threshold)) }
    }
}
