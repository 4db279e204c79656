//! Congestion Isolation — IEEE 802.1Qcz-2023 (802.1Q clause 49).
//!
//! Flows that cause congestion are moved to a queue of their own, the *congesting queue* (CQ), beside the *monitored queue* (MQ)
//! of the others, which so no longer stand behind them. When the CQ fills, a message (CIM) asks the neighbour from which the flow
//! comes to isolate it too. PFC, for each queue by itself, is the last resort of a lossless network; the end-to-end control of the
//! sources is to remove the cause meanwhile.
//!
//! ```text
//! on packet p of flow F with queue MQ of egress port o:
//!     F in stream table of o:             isolate
//!     otherwise P = red(MQ bytes):        with P: add F, local-create; isolate         red: 0 up to Low, Pmax at High, 1 above (`above_high`)
//!                                         with w: of the average of MQ over these packets (crate::average)
//! isolate:  queue = CQ, and p's priority on the next link is CQ's; mark CE (which: `ce_marking`)
//!           CQ bytes > CIM_TH, CIM count(F) < max-cim-tx, last CIM of F min. interval ago:
//!               send CIM{F} to the neighbour from which p came; CIM count + 1
//! on CIM{F} from the neighbour at port r:  add or refresh F in the stream table of r, cim-create; the CIM ends here
//! F leaves the table of o:
//!     CQ of o is empty:                   what is local-create only, and what has only arrived in the CQ's priority
//!     ci-max-flow-life after the CQ was last empty, and after the last CIM:   what is cim-create
//! ```
//!
//! What arrives in the priority of a CQ waits in the CQ, isolated here or not: the queue's number travels as the priority, as the
//! bridge maps any priority to its queue. So a pause of the CQ's priority stops the CQ of the neighbour upstream, whose flows those
//! are. Nobody maps it back, but the last port that isolates the flow: when it has released it, what follows has the MQ's priority.
//! Where some of the flow still waits in the CQ then, the rest joins it there, and returns when the CQ is empty: at the head of the
//! MQ it would wait for its own flow, and everything behind it too.
//!
//! Order within a flow is kept across both moves by the port ([`Steering`], `in_order`).
//!
//! **Not modelled:** LLDP: neighbours have the same queue map, and know of each other; a limit of the stream table.
//! **Where we differ:** flows are those of the simulation, acknowledgements apart from data; control messages of mechanisms are no
//! flows. Ageing is looked at when a flow's next packet comes, so that a run does not last longer for it.
//! The simulations have "ECN is marked once a packet is isolated" and do not say by whom. By default the port marks that has found the flow
//! (`ce_marking = "local"`). With `"isolated"` a port upstream, too, marks what a CIM has isolated, for all of `max_flow_life`,
//! whatever the congestion does: in `scenarios/ci-victim.toml` DCQCN then takes 184 ms for what takes 1.7 ms. With `"found"` one
//! packet is marked for each time that the port finds its flow, and what a CIM or another port has isolated is not.

mod station;
mod table;
mod wire;

use crate::average::Averages;
use crate::red::AboveMaximum;
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::{
    Carrier, CheckCx, Claims, Count, Fate, Finding, FlowOrder, Full, Margin, Mechanism, NicShape, Place, Profile,
    Reach, Steering, SwitchCx, SwitchShape, SwitchSide, WireCx,
};
use backwater_net::packet::{Body, CLASSES, Class, Control, FlowRef, HostId, NodeId, Packet, Port, Queue, class_bits};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use station::Station;
use std::any::TypeId;
use table::Streams;
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// Kind of the congestion isolation message.
pub const CIM: &str = "cim";

/// Which packets in a congesting queue are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CeMarking {
    /// All that this port isolates.
    Isolated,
    /// Those of flows that this port itself has found to be congesting (local-create).
    Local,
    /// The packet by which this port has found its flow to be congesting, once for each time that it is found. What a CIM or another port has isolated is not marked.
    Found,
    /// None: what marks is `[ecn]`.
    None,
}

/// How a CIM is encapsulated.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    JsonSchema,
    TryFromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum CimType {
    /// In an Ethernet frame.
    L2,
    /// In UDP over IPv4.
    Ipv4,
    /// In UDP over IPv6.
    Ipv6,
}

/// Parameters of Congestion Isolation.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// For each of queues 0 to 7: 0 takes no part; k is the monitored, -k the congesting queue of traffic class k - 1. With `[[ci.at]]`, eight zeros switch it off at some switches.
    #[param(
        symbol = "queue-map", default = vec![0, 0, -4, 4, 0, 0, 0, 0], each = -8..=8, told = "8 of -8 to 8", alias = "queue-map",
        source = "IEEE 802.1Qcz-2023 49.4.1.2.5; the values: choice, 3 is common for RoCEv2",
        why = "there are traffic classes 1 to 8"
    )]
    pub queue_map: Vec<i8>,
    /// Length of the monitored queue up to which no flow is found to be congesting.
    #[param(symbol = "Low", default = Bytes(10_000), range = Bytes::ZERO..=high, source = "simulations of P802.1Qcz, 2017 and 2018")]
    pub low: Bytes,
    /// Length of the monitored queue above which every flow of which a packet comes is congesting, or what `above_high` says.
    #[param(symbol = "High", default = Bytes(300_000), range = low.., source = "simulations of P802.1Qcz, 2017 and 2018")]
    pub high: Bytes,
    /// Probability at `high`.
    #[param(
        symbol = "Pmax", default = 0.01, range = 0.0..=1.0, source = "simulations of P802.1Qcz, 2017 and 2018",
        why = "that is not a probability"
    )]
    pub pmax: f64,
    /// Which packets above `high` find their flow: `all`, or with the probability `pmax`, which is then never exceeded.
    #[param(default = AboveMaximum::All, source = "choice; simulations of P802.1Qcz, 2018, name a Max Probability only")]
    pub above_high: AboveMaximum,
    /// Weight of one arrival in the average length of the monitored queue that is compared with `low` and `high`. Absent: the length as it is.
    #[param(symbol = "w", range = >0.0..=1.0, source = "choice; Floyd and Jacobson 1993 (RED): 0.002", why = "that is no weight of an average")]
    pub weight: Option<f64>,
    /// Which packets in a congesting queue are marked (ECN): all that this port has `isolated`, those of flows that it has found itself (`local`), the one by which it has found its flow (`found`), or `none`.
    #[param(default = CeMarking::Local, source = "choice; simulations of P802.1Qcz, 2018: marked once isolated, not said by whom")]
    pub ce_marking: CeMarking,
    /// How flows stay in order that move between the queues: by `counters` for each flow, or by `markers` in the queues.
    #[param(default = FlowOrder::Counters, source = "choice; IEEE 802.1Qcz-2023 8.6.8.6 asks for order")]
    pub in_order: FlowOrder,
    /// Whether neighbours upstream are told, and heeded. Without: local isolation only.
    #[param(default = true, source = "IEEE 802.1Qcz-2023 clause 49; degrees of conformity: ICCRG, IETF 101")]
    pub cim: bool,
    /// Whether hosts take part: they get CIMs, and send the flow in the priority of the congesting queue.
    #[param(default = false, source = "IEEE 802.1Qcz-2023 5.32: optional")]
    pub end_stations: bool,
    /// Length of the congesting queue above which the neighbour upstream is told; 0 B: as soon as a flow is isolated.
    #[param(symbol = "CIM_TH", default = Bytes(300_000), range = Bytes::ZERO.., up_to = "below the PFC threshold", source = "choice: high")]
    pub cim_threshold: Bytes,
    /// Least time between two CIMs for one flow.
    #[param(default = Time::us(10), range = Time::ZERO.., source = "choice")]
    pub cim_interval: Time,
    /// CIMs that are sent for one congesting flow.
    #[param(symbol = "max-cim-tx", default = 3, range = 0.., alias = "max-cim-tx", source = "IEEE 802.1Qcz-2023 49.4.1.2.7")]
    pub max_cim_tx: u16,
    /// Octets of the flow's packet in each CIM; they lengthen it.
    #[param(
        symbol = "min-header-octets", default = Bytes(48), range = Bytes::ZERO..=Bytes(512), alias = "min-header-octets",
        source = "IEEE 802.1Qcz-2023 49.4.1.2.6", why = "a CIM returns 512 B of a packet at most"
    )]
    pub min_header_octets: Bytes,
    /// Encapsulation of CIMs: `l2`, `ipv4` or `ipv6`. It decides their length.
    #[param(symbol = "cim-type", default = CimType::L2, alias = "cim-type", source = "IEEE 802.1Qcz-2023 49.3.6; l2: choice")]
    pub cim_type: CimType,
    /// Class of CIMs, 0 to 7.
    #[param(
        symbol = "ci-cim-tx-priority", default = 6, range = 0..=7, alias = "ci-cim-tx-priority",
        source = "IEEE 802.1Qcz-2023 49.4.1.1.2", why = "there is no such class, and 7 is served first"
    )]
    pub cim_tx_priority: u8,
    /// How long what a CIM has isolated stays so after the congesting queue has become empty, and after the last CIM.
    #[param(
        symbol = "ci-max-flow-life", default = Time::ms(1_000), range = Time::ZERO.., alias = "ci-max-flow-life",
        source = "IEEE 802.1Qcz-2023 49.4.1.1.3"
    )]
    pub max_flow_life: Time,
}

/// Octets of a CIM before those of the flow's packet: version and flags 2, addresses 12, VID 2, length 2.
const CIM_PDU: u64 = 18;

impl Params {
    /// Length of a CIM with its FCS. Ethernet 14, tag 4, EtherType included; IPv4 20 or IPv6 40 and UDP 8.
    fn cim_size(&self) -> u32 {
        let network = match self.cim_type {
            CimType::L2 => 0,
            CimType::Ipv4 => 28,
            CimType::Ipv6 => 48,
        };
        let size = 14 + 4 + network + CIM_PDU + self.min_header_octets.0 + 4;
        (size as u32).max(Control::MIN_FRAME)
    }

    /// What each queue is.
    fn roles(&self) -> [Role; CLASSES] {
        std::array::from_fn(|queue| match self.queue_map.get(queue) {
            Some(k) if *k < 0 => Role::Congesting,
            Some(k) if *k > 0 => self.congesting_of(*k).map_or(Role::Other, Role::Monitored),
            _ => Role::Other,
        })
    }

    /// The congesting queue of what is `k` in the queue map.
    fn congesting_of(&self, k: i8) -> Option<Queue> {
        self.queue_map.iter().take(CLASSES).position(|other| *other == -k).map(|queue| Queue(queue as u8))
    }
}

/// What a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Role {
    /// It takes no part.
    Other,
    /// Flows in it are watched, and go to this congesting queue.
    Monitored(Queue),
    Congesting,
}

/// Congestion Isolation.
pub enum CongestionIsolation {}

impl Mechanism for CongestionIsolation {
    const NAME: &'static str = "ci";
    const DEFINED_BY: &'static str = "IEEE 802.1Qcz-2023 (IEEE 802.1Q clause 49)";
    const SUMMARY: &'static str =
        "Congestion Isolation: flows that congest a queue wait in one of their own, here and upstream";
    const IDLE: &'static str = "never isolated a flow";
    const FRAMES: &'static [&'static str] = &[CIM];
    const MESSAGE: TypeId = TypeId::of::<Message>();
    const VALUE: &'static str = "of a CIM how many were sent for the flow";
    const COUNTERS: &'static str = "isolations (flows found), isolated_packets (moved to the congesting queue), cims_sent, \
                                    cims_received, cims_ignored, entries_live (flows isolated at the end)";
    type Params = Params;
    type Shared = ();
    type Switch = Bridge;
    type Nic = Station;
    type Flow = backwater_net::hooks::Absent;

    fn profile(params: &Params) -> Profile {
        let roles = params.roles();
        let queues = (0..CLASSES).filter(|q| roles[*q] != Role::Other).fold(0, |bits, q| bits | 1 << q);
        let steering = Steering { queues, order: params.in_order, hosts: params.end_stations && params.cim };
        Profile {
            claims: Claims { steering: true, ..Claims::NONE },
            marks: true,
            classes: queues | class_bits(&[params.cim_tx_priority]),
            steering: (queues != 0).then_some(steering),
            longest_message: Bytes(u64::from(params.cim_size())),
            ..Profile::default()
        }
    }

    fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, cx, octets)
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        let mut findings = map_findings(params);
        for (shape, switch) in cx.switches.iter().zip(cx.switch_params) {
            let limited = switch.buffer_per != backwater_net::config::BufferPer::None;
            let buffer = switch.buffer_of(0);
            if params.cim && limited && params.cim_threshold >= buffer {
                findings.push(Finding {
                    fatal: false,
                    key: "cim_threshold",
                    reason: format!(
                        "cim_threshold ({}) is not below the buffer of {} ({buffer}): no neighbour is ever told",
                        params.cim_threshold, shape.name
                    ),
                    hint: "lower it, or say cim = false for local isolation only".into(),
                });
                break;
            }
        }
        findings
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

/// What cannot be in a queue map.
fn map_findings(params: &Params) -> Vec<Finding> {
    let finding = |fatal, reason: String, hint: &str| Finding { fatal, key: "queue_map", reason, hint: hint.into() };
    let map = &params.queue_map;
    if map.len() != CLASSES {
        let reason = format!("{map:?} does not say -8 to 8 for each of 8 queues");
        return vec![finding(true, reason, "the default is [0, 0, -4, 4, 0, 0, 0, 0]: 3 monitored, 2 congesting")];
    }
    let mut findings = Vec::new();
    for k in 1..=8i8 {
        let monitored: Vec<usize> = (0..CLASSES).filter(|q| map[*q] == k).collect();
        let congesting: Vec<usize> = (0..CLASSES).filter(|q| map[*q] == -k).collect();
        match (monitored.as_slice(), congesting.as_slice()) {
            ([], []) => {}
            ([_, ..], [congesting]) => {
                if let Some(lower) = monitored.iter().find(|q| *q < congesting) {
                    let reason = format!("congesting queue {congesting} is served before the monitored queue {lower}");
                    let hint = "a congesting queue has the lower number, unless switch.weights say otherwise";
                    findings.push(finding(false, reason, hint));
                }
            }
            _ => {
                let reason = format!(
                    "traffic class {} has {} monitored and {} congesting queues",
                    k - 1,
                    monitored.len(),
                    congesting.len()
                );
                findings.push(finding(
                    true,
                    reason,
                    "it needs at least one monitored (k) and just one congesting (-k)",
                ));
            }
        }
    }
    findings
}

/// What a CIM says of its flow, beside the flow's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
struct Message {
    /// the bridge that sends it, its source address
    source: NodeId,
    /// the congesting queue, which is also its priority
    congesting: Queue,
    /// the flow of acknowledgements
    back: bool,
    form: CimType,
    /// how much of the flow's packet goes along
    most: Bytes,
}

impl Message {
    fn new(source: NodeId, congesting: Queue, back: bool, params: &Params) -> Message {
        Message { source, congesting, back, form: params.cim_type, most: params.min_header_octets }
    }

    /// `count`: CIMs sent for the flow, this one included.
    fn frame(&self, count: u64, flow: FlowRef, params: &Params) -> Control {
        Control { flow: Some(flow), ..Control::carrying(CIM, params.cim_size(), count, self) }
    }
}

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

/// A flow as a bridge tells it from others.
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

// The specification.
impl SwitchSide for Bridge {
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
            // It may have been the only one on its way to the queue, which then never turns non-congested.
            self.relieved(cx, at);
        }
        Full::Drop
    }

    fn on_control(&mut self, cx: &mut SwitchCx<'_>, from: Port, to: Option<HostId>, frame: &Control) -> Fate {
        let Some(Message { source, congesting: queue, back, .. }) = frame.message() else { return Fate::Passed };
        let neighbour = to.is_none() && cx.shape().ports[usize::from(from.0)].peer == source;
        let known = self.roles[usize::from(queue.0) % CLASSES] == Role::Congesting;
        let port = &mut self.ports[usize::from(from.0)];
        match frame.flow {
            Some(flow) if neighbour && known && self.params.cim => {
                port.counts.cims_received += 1;
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

    fn reach(&self) -> Reach {
        let acts = self.ports.iter().map(|port| port.counts.isolations + port.counts.cims_received).sum();
        Reach { acts, margin: Some(Margin::bytes("longest monitored queue", self.peak, self.params.low)) }
    }
}

impl Bridge {
    /// A packet for a monitored queue, of a flow that may be in the table, or that the queue's length may put there.
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
            let p = red(mq, &self.params);
            if p <= 0.0 || p < 1.0 && cx.rng().random::<f64>() >= p {
                return;
            }
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
        match self.params.ce_marking {
            CeMarking::Isolated => pkt.mark(),
            CeMarking::Local if stream.is_local() => pkt.mark(),
            CeMarking::Local | CeMarking::Found | CeMarking::None => {}
        }
        let peer = &cx.shape().ports[usize::from(at.ingress.0)];
        let listens = peer.host.is_none() || self.params.end_stations;
        // With a threshold of zero this packet, which it includes, is enough.
        let full = cx.seen().egress(at.egress, at.queue) > self.params.cim_threshold;
        if self.params.cim && listens && full && stream.may_tell(now, &self.params) {
            let count = stream.tell(now);
            let message = Message::new(cx.shape().node, at.queue, flow.1, &self.params);
            self.ports[usize::from(at.ingress.0)].counts.cims_sent += 1;
            let class = Class(self.params.cim_tx_priority);
            cx.emit(at.ingress, class, message.frame(count, flow.0, &self.params));
        }
    }

    /// A packet has joined a monitored queue. One by which its flow was found has stayed behind others of the flow, which wait in a lane.
    #[cold]
    fn stayed(&mut self, at: &Place, pkt: &Packet) {
        if let Some(flow) = flow_of(pkt) {
            self.ports[usize::from(at.egress.0)].streams.stayed(flow, pkt.uid);
        }
    }

    /// Something has left a congesting queue.
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

#[cfg(test)]
mod tests;
