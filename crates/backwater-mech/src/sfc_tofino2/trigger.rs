//! `IngressSfcPrepare`, `IngressSfcTrigger` and the register of `EgressSfc`: the congestion point.

use super::arithmetic::{CELL, FastPorts, Speed, cells};
use super::config::Params;
use super::suppression::Suppression;
use super::wire::Message;
use backwater_net::prelude::*;
use std::collections::{BTreeMap, VecDeque};

/// A message: its source of congestion, the flow that it names, its class.
type Copied = (HostId, FlowRef, Class, Message);

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
    /// `reg_qdepth`: cells above the target when the last data packet left
    qdepth_drain_cells: BTreeMap<(Port, Queue), u32>,
    /// copies that are recirculated, and when they are messages
    copies: VecDeque<(Time, HostId, FlowRef, Class, Message)>,
    /// per port: packets mirrored, and packets suppressed
    mirrored: BTreeMap<Port, (u64, u64)>,
    /// \[bytes\] the longest of its queues
    peak: Bytes,
}

impl Trigger {
    pub(super) fn new(params: &Params, points: Vec<bool>) -> Trigger {
        Trigger {
            params: params.clone(),
            points,
            classes: params.class_bits(),
            suppression: Suppression::new(params.epoch, params.filter_width),
            qdepth_drain_cells: BTreeMap::new(),
            copies: VecDeque::new(),
            mirrored: BTreeMap::new(),
            peak: Bytes::ZERO,
        }
    }

    /// `classify_sfc`: a data packet of a traffic class in the table.
    #[inline(always)]
    pub(super) fn takes_part(&self, at: &Place, pkt: &Packet) -> bool {
        self.points[usize::from(at.egress.0)] && self.classes & (1 << at.class.0) != 0 && pkt.is_data()
    }

    /// `ghost_read_q_over_threshold`: the threshold is compared in units of 4 cells.
    #[inline(always)]
    pub(super) fn is_over_threshold(&mut self, cx: &mut SwitchCx<'_>, at: &Place) -> bool {
        self.suppression.tick(cx.now());
        let queue = cx.seen().egress(at.egress, at.queue);
        self.peak = self.peak.max(queue);
        cells(queue) / 4 >= self.params.threshold_units()
    }

    /// `decide_suppression` and `do_set_mirroring`.
    #[cold]
    pub(super) fn mirror(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
        let Some(data) = pkt.data() else { return };
        let dscp = pkt.ds.dscp();
        let (mirrored, suppressed) = self.mirrored.entry(at.egress).or_default();
        if self.suppression.suppresses(data.src, pkt.dst, dscp) {
            *suppressed += 1;
            return;
        }
        *mirrored += 1;
        let port = &cx.shape().ports[usize::from(at.egress.0)];
        // `check` refuses other rates.
        let Some(speed) = Speed::of(port.rate) else { return };
        // `trigger_qd_read`.
        let drain = self.qdepth_drain_cells.get(&(at.egress, at.queue)).copied().unwrap_or(0);
        let fast = self.params.fast_ports;
        // `set_sfc_pause_dscp` is applied after the actions for 25, 50 and 100 Gb/s only.
        let unset = fast == FastPorts::Shipped && speed.is_fast();
        let travels = if unset { Class(0) } else { Class(self.params.message_class) };
        let message = Message { duration_us: speed.duration_us(drain, fast), dscp, travels };
        let at = cx.now().after(self.params.recirculation);
        self.copies.push_back((at, data.src, pkt.flow, travels, message));
        cx.arm(at, 0);
    }

    /// Returns the next copy that is a message by now.
    pub(super) fn recirculated(&mut self, now: Time) -> Option<Copied> {
        if self.copies.front()?.0 > now {
            return None;
        }
        self.copies.pop_front().map(|(_, source, flow, class, message)| (source, flow, class, message))
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
