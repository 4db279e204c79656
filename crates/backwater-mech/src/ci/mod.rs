//! Congestion Isolation — IEEE 802.1Qcz-2023 (802.1Q clause 49).
//!
//! Flows that cause congestion move to a separate queue, the *congesting queue* (CQ), beside the *monitored queue* (MQ)
//! of the other flows. The others then no longer wait behind them. When the CQ fills, a message (CIM) asks the
//! neighbour from which the flow arrives to isolate it too. PFC of each queue is the last resort of a lossless network.
//! Meanwhile the end-to-end control of the sources should remove the cause.
//!
//! ```text
//! stream table of a port: flows that wait in its congesting queue, because the port identified the flow (local-create),
//! a CIM named the flow (cim-create), or packets of the flow arrived in the priority of that queue
//!
//! packet p of flow F arrives for the monitored queue MQ of egress port o:
//!     F is in the stream table of o:      isolate p
//!     otherwise, with probability red(q): add F to the table, local-create; isolate p
//!         q = bytes in MQ (with `weight`: their average over these packets)
//!         red(q) = 0 up to `low`, rising to `pmax` at `high`; above `high` 1, or `pmax` (see `above_high`)
//! isolate p:  p joins the congesting queue CQ, and takes CQ's number as its priority on the next link
//!             mark p (ECN) if `ce_marking` includes it
//!             if CQ bytes > `cim_threshold`, fewer than `max_cim_tx` CIMs were sent for F, and the last one is `cim_interval` old:
//!                 send CIM{F} to the neighbour from which p came
//! CIM{F} arrives from the neighbour at port r:  add F to the stream table of r, cim-create, or refresh its entry
//! F leaves the table of o:
//!     when CQ of o is empty:  if F is not cim-create
//!     `max_flow_life` after CQ was last empty, and as long after the last CIM:  if F is cim-create
//! ```
//!
//! A packet that arrives in the priority of a CQ waits in the CQ, isolated here or not: the queue's number travels as
//! the priority, and the switch maps each priority to its queue. So a pause of the CQ's priority stops the CQ of the
//! upstream neighbour, which holds the same flows. Only the last port that isolates the flow maps the priority back,
//! once it releases the flow. If the CQ still has packets of the flow then, later packets join them until the CQ is
//! empty. At the head of the MQ they would wait for their own flow, and block everything behind them.
//!
//! The port keeps the order within a flow across both moves ([`backwater_net::hooks::Steering`], `in_order`).
//!
//! # Not modelled
//! - LLDP: Backwater assumes that neighbours have the same queue map, and that each knows whether the other takes part
//! - a limit to the number of entries in the stream table
//!
//! # Differences
//! - A flow is a flow of the simulation, and a switch needs no header fields to identify it. A flow's acknowledgements
//!   are isolated separately from its data. Control frames of mechanisms belong to no flow.
//! - A switch checks the age of an entry when the next packet of the entry's flow arrives, so ageing does not prolong a
//!   run.
//! - A CIM in the form of a CNM (`cim_type = "cnm"`) has no field for the flow's source address. In Backwater the CIM
//!   refers to the simulated flow, so the neighbour identifies the flow without this address. The CNM's feedback is 0,
//!   so no reaction point slows down.
//! - The published simulations state "ECN is marked once a packet is isolated", and do not name the switch that marks.
//!   By default, the port that has identified the flow marks its packets (`ce_marking = "local"`).
//! - With `ce_marking = "isolated"`, an upstream port also marks packets of flows that a CIM named. It marks them for
//!   all of `max_flow_life`, even after the congestion has ended. With DCQCN in `scenarios/ci-victim.toml`, all flows
//!   are then complete after 184 ms of simulated time instead of 1.7 ms.
//! - With `ce_marking = "found"`, a port marks one packet each time that it identifies a flow. It marks no packet of a
//!   flow that a CIM named or that another port identified.

mod config;
mod station;
mod table;
mod wire;

use crate::average::Averages;
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::{
    Activity, Carrier, CheckCx, Count, Fate, Finding, Full, Margin, Mechanism, NicShape, Place, Profile, SwitchCx,
    SwitchShape, SwitchSide, WireCx,
};
use backwater_net::occupancy::Occupancy;
use backwater_net::packet::{Body, CLASSES, Class, Control, FlowRef, HostId, Packet, Port, Queue};
use config::Role;
pub use config::{CeMarking, CimType, Params};
use rand::RngExt;
pub use station::Station;
use std::any::TypeId;
use table::Streams;
pub use wire::CIM;
use wire::Message;

/// One egress port and its stream table.
#[derive(backwater_derive::State)]
struct Egress {
    #[state(within)]
    streams: Streams,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Counts {
    isolations: u64,
    isolated_packets: u64,
    cims_sent: u64,
    cims_received: u64,
    cims_ignored: u64,
}

impl Egress {
    fn new(life: Time) -> Egress {
        Egress { streams: Streams::new(life), counts: Counts::default() }
    }
}

/// The CI entity of one bridge.
#[derive(backwater_derive::State)]
pub struct Bridge {
    #[state(fixed)]
    params: Params,
    #[state(same)]
    roles: [Role; CLASSES],
    #[state(within)]
    ports: Vec<Egress>,
    /// of monitored queues
    #[state(within)]
    averages: Option<Averages>,
    /// \[bytes\] the longest monitored queue that a packet was to join
    peak: Bytes,
}

// The specification.
#[backwater_derive::hooks]
impl SwitchSide for Bridge {
    /// Per-stream classification (802.1Q 8.6.5.2.3): a packet of a congesting flow goes to the congesting queue.
    #[inline(always)]
    fn steer(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) {
        if let Role::Monitored(cq) = self.roles[usize::from(at.queue.0) % CLASSES] {
            let length = cx.seen().egress(at.egress, at.queue);
            self.peak = self.peak.max(length);
            if length > self.params.low
                || self.averages.is_some()
                || !self.ports[usize::from(at.egress.0)].streams.is_empty()
            {
                self.monitored(cx, at, pkt, cq);
            }
        }
    }

    /// Queuing (802.1Q 8.6.6), and when a CIM goes to the neighbour upstream.
    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        match self.roles[usize::from(at.queue.0) % CLASSES] {
            Role::Congesting => self.congesting(cx, at, pkt),
            Role::Monitored(_) if !self.ports[usize::from(at.egress.0)].streams.is_empty() => self.stayed(at, pkt),
            Role::Monitored(_) | Role::Other => {}
        }
    }

    #[inline(always)]
    fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
        if self.roles[usize::from(at.queue.0) % CLASSES] == Role::Congesting {
            self.relieved(cx, at);
        }
        if let Some(averages) = &mut self.averages
            && cx.seen().egress(at.egress, at.queue) == Bytes::ZERO
        {
            averages.emptied(at.egress, at.queue, cx.now());
        }
    }

    fn on_full(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, _: &mut Packet) -> Full {
        if self.roles[usize::from(at.queue.0) % CLASSES] == Role::Congesting {
            // It may have been the only packet on its way to the queue, which then never turns non-congested.
            self.relieved(cx, at);
        }
        Full::Drop
    }

    fn on_control(&mut self, cx: &mut SwitchCx<'_>, from: Port, to: Option<HostId>, frame: &Control) -> Fate {
        let Some(Message { source, congesting: queue, back, .. }) = frame.message() else { return Fate::Passed };
        // 802.1Q 49: a CIM is for the bridge at the other end of the link, and ends there.
        let neighbour = to.is_none() && cx.shape().ports[usize::from(from.0)].peer == source;
        let known = self.roles[usize::from(queue.0) % CLASSES] == Role::Congesting;
        let port = &mut self.ports[usize::from(from.0)];
        match frame.flow {
            Some(flow) if neighbour && known && self.params.cim => {
                port.counts.cims_received += 1;
                // 802.1Q 49.4.1.5: cim-create.
                port.streams.cim_create((flow, back), queue, cx.now());
            }
            _ => port.counts.cims_ignored += 1,
        }
        Fate::Consumed
    }

    fn counts(&self, now: Time) -> Vec<Count> {
        let mut all = Vec::new();
        for (number, port) in self.ports.iter().enumerate() {
            let Counts { isolations, isolated_packets, cims_sent, cims_received, cims_ignored } = port.counts;
            all.extend(
                [
                    ("isolations", isolations),
                    ("isolated_packets", isolated_packets),
                    ("cims_sent", cims_sent),
                    ("cims_received", cims_received),
                    ("cims_ignored", cims_ignored),
                    ("entries_live", port.streams.live(now)),
                ]
                .map(|(name, value)| (Port(number as u16), name, value)),
            );
        }
        all
    }

    fn activity(&self, _: &Occupancy) -> Activity {
        let acts = self.ports.iter().map(|port| port.counts.isolations + port.counts.cims_received).sum();
        Activity { acts, margin: Some(Margin::bytes("longest monitored queue", self.peak, self.params.low)) }
    }
}

impl Bridge {
    /// A packet for a monitored queue, of a flow that may be in the table, or that the queue's length may add to it.
    #[cold]
    fn monitored(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet, cq: Queue) {
        let Some(flow) = flow_of(pkt) else { return };
        let now = cx.now();
        let port = &mut self.ports[usize::from(at.egress.0)];
        if port.streams.find(flow, now).is_none() {
            let mut mq = cx.seen().egress(at.egress, at.queue);
            if let Some(averages) = &mut self.averages {
                mq = averages.arrival(at.egress, at.queue, mq, now);
            }
            // Simulations of P802.1Qcz, 2017 and 2018: P = red(MQ bytes).
            let p = red(mq, &self.params);
            if p <= 0.0 || p < 1.0 && cx.rng().random::<f64>() >= p {
                return;
            }
            // 802.1Q 49.4.1.5: an entry of the stream table, local-create.
            port.streams.local_create(flow, cq, pkt.uid, now);
            port.counts.isolations += 1;
            if self.params.ce_marking == CeMarking::Found {
                pkt.mark();
            }
        }
        // The queue travels as the priority.
        (at.queue, pkt.class) = (cq, cq.into());
        port.counts.isolated_packets += 1;
    }

    /// A packet has joined a congesting queue, from the monitored one or in that priority.
    #[cold]
    fn congesting(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        let now = cx.now();
        let port = &mut self.ports[usize::from(at.egress.0)];
        port.streams.congested(at.queue, now);
        let Some(flow) = flow_of(pkt) else { return };
        let Some(stream) = port.streams.find(flow, now) else {
            return port.streams.follow(flow, at.queue, now);
        };
        let moved = Class::from(at.queue) != at.class;
        if !moved && !stream.is_created() {
            return;
        }
        // Simulations of P802.1Qcz, 2018: marked once isolated.
        match self.params.ce_marking {
            CeMarking::Isolated => pkt.mark(),
            CeMarking::Local if stream.is_local() => pkt.mark(),
            CeMarking::Local | CeMarking::Found | CeMarking::None => {}
        }
        let peer = &cx.shape().ports[usize::from(at.ingress.0)];
        let listens = peer.host.is_none() || self.params.end_stations;
        // With a threshold of zero this packet, which the queue includes, is enough.
        let full = cx.seen().egress(at.egress, at.queue) > self.params.cim_threshold;
        if self.params.cim && listens && full && stream.may_send_cim(now, &self.params) {
            let count = stream.count_cim(now);
            let message = Message::new(cx.shape().node, (at.egress, at.queue), flow.1, &self.params);
            self.ports[usize::from(at.ingress.0)].counts.cims_sent += 1;
            let class = Class(self.params.cim_tx_priority);
            cx.emit(at.ingress, class, message.frame(count, flow.0, &self.params));
        }
    }

    /// A packet has joined a monitored queue. If its flow was found by it, it has stayed behind other packets of the flow, which wait in an
    /// isolation queue.
    #[cold]
    fn stayed(&mut self, at: &Place, pkt: &Packet) {
        if let Some(flow) = flow_of(pkt) {
            self.ports[usize::from(at.egress.0)].streams.stayed(flow, pkt.uid);
        }
    }

    /// A packet has left a congesting queue.
    #[inline(always)]
    fn relieved(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
        if cx.seen().egress(at.egress, at.queue) == Bytes::ZERO {
            self.ports[usize::from(at.egress.0)].streams.relieved(at.queue, cx.now());
        }
    }
}

/// The curve of congesting-flow detection: that of random early detection, of the length or its average.
fn red(q: Bytes, params: &Params) -> f64 {
    let Params { low, high, pmax, above_high, .. } = *params;
    if q <= low {
        0.0
    } else if q > high {
        above_high.probability(pmax)
    } else {
        pmax * (q.0 - low.0) as f64 / (high.0 - low.0) as f64
    }
}

/// A flow as a bridge distinguishes it from others.
type FlowId = (FlowRef, bool);

/// The flow of a packet; control messages have none.
#[inline(always)]
fn flow_of(pkt: &Packet) -> Option<FlowId> {
    match pkt.body {
        Body::Data(_) => Some((pkt.flow, false)),
        Body::Ack(_) => Some((pkt.flow, true)),
        Body::Control(_) | Body::Mac(_) => None,
    }
}

/// Congestion Isolation.
pub enum CongestionIsolation {}

#[backwater_derive::mechanism]
impl Mechanism for CongestionIsolation {
    const NAME: &'static str = "ci";
    const DEFINED_BY: &'static str = "IEEE 802.1Qcz-2023 (IEEE 802.1Q clause 49)";
    const SUMMARY: &'static str =
        "Congestion Isolation: flows that congest a queue wait in one of their own, here and upstream";
    const INACTIVE: &'static str = "never isolated a flow";
    const FRAMES: &'static [&'static str] = &[CIM];
    const MESSAGE: TypeId = TypeId::of::<Message>();
    const VALUE: &'static str = "of a CIM the number of CIMs sent for the flow";
    const COUNTERS: &'static str = "isolations (flows identified as congesting), isolated_packets (moved to the congesting queue), cims_sent, \
                                    cims_received, cims_ignored, entries_live (flows isolated at the end)";
    type Switch = Bridge;
    type Nic = Station;

    fn profile(params: &Params) -> Profile {
        config::profile(params)
    }

    fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, cx, octets)
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<Bridge> {
        let roles = params.roles();
        let ports = shape.ports.iter().map(|_| Egress::new(params.max_flow_life)).collect();
        let takes_part = roles.iter().any(|role| *role != Role::Other);
        let averages = params.weight.map(|weight| Averages::new(weight, shape));
        takes_part.then(|| Bridge { params: params.clone(), roles, ports, averages, peak: Bytes::ZERO })
    }

    fn nic(params: &Params, _: &NicShape) -> Option<Station> {
        (params.end_stations && params.cim).then(|| Station::new(params))
    }
}

#[cfg(test)]
mod tests;
