//! The parameters of Congestion Isolation, and their checks.

use crate::red::AboveMaximum;
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::{CheckCx, Claims, Finding, FlowOrder, Profile, Steering};
use backwater_net::packet::{CLASSES, Control, Queue, class_bits};
use backwater_wire::cim::Cim;
use backwater_wire::qcn::Cnm;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// Packets in a congesting queue that are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CeMarking {
    /// All packets that this port isolates.
    Isolated,
    /// Packets of flows that this port itself has identified as congesting (local-create).
    Local,
    /// The packet by which this port identifies its flow as congesting, once for each time. Packets isolated because of a CIM or by another
    /// port are not marked.
    Found,
    /// No packet; `[ecn]` may mark.
    None,
}

/// How a CIM is encapsulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[derive(TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum CimType {
    /// In an Ethernet frame.
    L2,
    /// In UDP over IPv4.
    Ipv4,
    /// In UDP over IPv6.
    Ipv6,
    /// As a congestion notification message (CNM) to the upstream switch, which has 64 octets of the flow's packet at most.
    Cnm,
}

/// Parameters of Congestion Isolation.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Role of each of the queues 0 to 7. k: monitored queue of traffic class k - 1. -k: the congesting queue beside it. 0: neither.
    /// With `[[ci.at]]`, eight zeros switch CI off at some switches.
    #[param(
        symbol = "queue-map", default = vec![0, 0, -4, 4, 0, 0, 0, 0], each = -8..=8, range_text = "8 of -8 to 8", alias = "queue-map",
        source = "IEEE 802.1Qcz-2023 49.4.1.2.5; the values: choice, 3 is common for RoCEv2",
        why = "there are traffic classes 1 to 8"
    )]
    pub queue_map: Vec<i8>,
    /// Length of the monitored queue up to which no flow is identified as congesting.
    #[param(symbol = "Low", default = Bytes(10_000), range = Bytes::ZERO..=high, source = "simulations of P802.1Qcz, 2017 and 2018")]
    pub low: Bytes,
    /// Length of the monitored queue above which each arriving packet makes its flow a congesting flow, unless `above_high` is `pmax`.
    #[param(symbol = "High", default = Bytes(300_000), range = low.., source = "simulations of P802.1Qcz, 2017 and 2018")]
    pub high: Bytes,
    /// Probability that an arriving packet makes its flow a congesting flow while the monitored queue is at `high`.
    #[param(
        symbol = "Pmax", default = 0.01, range = 0.0..=1.0, source = "simulations of P802.1Qcz, 2017 and 2018",
        why = "that is not a probability"
    )]
    pub pmax: f64,
    /// Packets that make their flow a congesting flow while the monitored queue is above `high`: `all`, or (`pmax`) each with the
    /// probability `pmax`.
    #[param(default = AboveMaximum::All, source = "choice; simulations of P802.1Qcz, 2018, name a Max Probability only")]
    pub above_high: AboveMaximum,
    /// Weight of one arrival in the average length of the monitored queue. The average is compared with `low` and `high`. Absent: no
    /// average, but the current length.
    #[param(symbol = "w", range = >0.0..=1.0, source = "choice; Floyd and Jacobson 1993 (RED): 0.002", why = "that is no weight of an average")]
    pub weight: Option<f64>,
    /// Packets in a congesting queue that are marked (ECN). `isolated`: all packets that this port isolates. `local`: packets of flows that
    /// this port has identified itself. `found`: only the packet that identifies its flow. `none`: no packet.
    #[param(default = CeMarking::Local, source = "choice; simulations of P802.1Qcz, 2018: marked once isolated, not said by whom")]
    pub ce_marking: CeMarking,
    /// How flows that move between the queues stay in order: by `counters` for each flow, or by `markers` in the queues.
    #[param(default = FlowOrder::Counters, source = "choice; IEEE 802.1Qcz-2023 8.6.8.6 asks for order")]
    pub in_order: FlowOrder,
    /// Whether switches send congestion isolation messages (CIMs) to their upstream neighbours, and act on received CIMs. `false`: local isolation only.
    #[param(default = true, source = "IEEE 802.1Qcz-2023 clause 49; degrees of conformity: ICCRG, IETF 101")]
    pub cim: bool,
    /// Whether hosts take part. They then receive CIMs, and send a congesting flow in the priority of the congesting queue.
    #[param(default = false, source = "IEEE 802.1Qcz-2023 5.32: optional")]
    pub end_stations: bool,
    /// Length of the congesting queue above which a CIM goes to the upstream neighbour. 0 B: the first isolated packet causes a CIM.
    #[param(symbol = "CIM_TH", default = Bytes(300_000), range = Bytes::ZERO.., up_to = "below the PFC threshold", source = "choice: high")]
    pub cim_threshold: Bytes,
    /// Minimum time between two CIMs for one flow.
    #[param(default = Time::us(10), range = Time::ZERO.., source = "choice")]
    pub cim_interval: Time,
    /// Maximum number of CIMs for one congesting flow.
    #[param(symbol = "max-cim-tx", default = 3, range = 0.., alias = "max-cim-tx", source = "IEEE 802.1Qcz-2023 49.4.1.2.7")]
    pub max_cim_tx: u16,
    /// Octets of the flow's packet that each CIM carries. More octets make the CIM longer.
    #[param(
        symbol = "min-header-octets", default = Bytes(48), range = Bytes::ZERO..=Bytes(512), alias = "min-header-octets",
        source = "IEEE 802.1Qcz-2023 49.4.1.2.6", why = "a CIM returns 512 B of a packet at most"
    )]
    pub min_header_octets: Bytes,
    /// Encapsulation of CIMs, which determines their length: `l2`, `ipv4`, `ipv6` or `cnm`.
    #[param(
        symbol = "cim-type", default = CimType::L2, alias = "cim-type",
        source = "IEEE 802.1Qcz-2023 49.3.6; cnm: IEEE P802.1Qcz proposed project (ICCRG, March 2018); l2: choice"
    )]
    pub cim_type: CimType,
    /// Class of CIMs, 0 to 7.
    #[param(
        symbol = "ci-cim-tx-priority", default = 6, range = 0..=7, alias = "ci-cim-tx-priority",
        source = "IEEE 802.1Qcz-2023 49.4.1.1.2", why = "there is no such class, and 7 is served first"
    )]
    pub cim_tx_priority: u8,
    /// Time for which a flow isolated by a CIM stays isolated. It begins at the last CIM or at the end of congestion, whichever is later.
    #[param(
        symbol = "ci-max-flow-life", default = Time::ms(1_000), range = Time::ZERO.., alias = "ci-max-flow-life",
        source = "IEEE 802.1Qcz-2023 49.4.1.1.3"
    )]
    pub max_flow_life: Time,
}

impl Params {
    /// Length of a CIM with its FCS. Ethernet 14, tag 4, EtherType included; IPv4 20 or IPv6 40 and UDP 8.
    pub(super) fn cim_size(&self) -> u32 {
        let octets = self.min_header_octets.0 as usize;
        let pdu = match self.cim_type {
            CimType::L2 => Cim::HEADER + octets,
            CimType::Ipv4 => 28 + Cim::HEADER + octets,
            CimType::Ipv6 => 48 + Cim::HEADER + octets,
            CimType::Cnm => Cnm::HEADER + octets.min(Cnm::MOST_MSDU),
        };
        let size = 14 + 4 + pdu + 4;
        (size as u32).max(Control::MIN_FRAME)
    }

    /// Returns the role of each queue (802.1Q 49.4.1.2.5).
    pub(super) fn roles(&self) -> [Role; CLASSES] {
        std::array::from_fn(|queue| match self.queue_map.get(queue) {
            Some(k) if *k < 0 => Role::Congesting,
            Some(k) if *k > 0 => self.congesting_of(*k).map_or(Role::Other, Role::Monitored),
            _ => Role::Other,
        })
    }

    /// The congesting queue for `k` in the queue map.
    fn congesting_of(&self, k: i8) -> Option<Queue> {
        self.queue_map.iter().take(CLASSES).position(|other| *other == -k).map(|queue| Queue(queue as u8))
    }
}

/// The role of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Role {
    /// It takes no part.
    Other,
    /// Flows in it are watched, and go to this congesting queue.
    Monitored(Queue),
    Congesting,
}

/// Returns the errors in a queue map.
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

/// Returns its effects on others and its needs.
pub(super) fn profile(params: &Params) -> Profile {
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

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    let mut findings = map_findings(params);
    for (shape, switch) in cx.switches.iter().zip(cx.switch_params) {
        let limited = switch.buffer_per != backwater_net::config::BufferPer::None;
        let buffer = switch.buffer_of(0);
        if params.cim && limited && params.cim_threshold >= buffer {
            findings.push(Finding {
                fatal: false,
                key: "cim_threshold",
                reason: format!(
                    "cim_threshold ({}) is not below the buffer of {} ({buffer}): no neighbour ever receives a CIM",
                    params.cim_threshold, shape.name
                ),
                hint: "lower it, or set cim = false for local isolation only".into(),
            });
            break;
        }
    }
    findings
}
