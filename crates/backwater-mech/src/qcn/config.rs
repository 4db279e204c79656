//! The parameters of QCN, and their checks.

use crate::confined::disagreement;
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::config::BufferPer;
use backwater_net::hooks::{CheckCx, Claims, Finding, Profile};
use backwater_net::packet::Control;
use backwater_net::packet::class_bits;
use backwater_net::{Bytes, Rate};
use backwater_wire::qcn::Cnm;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Flows of a host that share a reaction point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// None: each flow has its own.
    Flow,
    /// All flows to one host.
    Destination,
    /// All flows of one class: the MIB's one reaction point per port and priority.
    Class,
}

/// When the periods of byte counter and timer are halved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Halve {
    /// In hyper-active increase only, as in the standard's state machines.
    HyperActive,
    /// Each one as soon as its own stage is past fast recovery, as in the pseudo-code of 2007.
    AfterRecovery,
}

/// Parameters of Quantized Congestion Notification.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Classes whose queues are congestion points, each 0 to 7. An empty list in a `[[qcn.at]]` switches the congestion points of its
    /// switches off.
    #[param(default = vec![3], each = 0..=7, source = "choice: RoCEv2 deployments commonly use 3", why = "there is no such class")]
    pub classes: Vec<u8>,
    /// CP: queue length to maintain.
    #[param(
        symbol = "cpQsp", default = Bytes(26_000), range = Bytes(100).., alias = "cp-queue-size-set-point",
        source = "IEEE8021-CN-MIB", why = "the MIB does not allow it"
    )]
    pub cp_qsp: Bytes,
    /// CP: weight of the queue's growth relative to its length, as a power of 2: w = 2^cpW.
    #[param(
        symbol = "cpW", default = 1, range = -10..=10, alias = "cp-feedback-weight", source = "IEEE8021-CN-MIB",
        why = "the MIB does not allow it"
    )]
    pub cp_w: i8,
    /// CP: bytes between two samples without congestion.
    #[param(
        symbol = "cpSampleBase", default = Bytes(150_000), range = Bytes(10_000).., alias = "cp-min-sample-base",
        source = "IEEE8021-CN-MIB", why = "the MIB does not allow it"
    )]
    pub cp_sample_base: Bytes,
    /// CP: half the width of the random factor of a sampling interval: 0.15 means 0.85 to 1.15.
    #[param(default = 0.15, range = 0.0..1.0, source = "IEEE 802.1Q clause 32", why = "an interval would be empty")]
    pub cp_jitter: f64,
    /// CP: octets of the sampled frame that a CNM returns; they lengthen the CNM.
    #[param(
        symbol = "cpMinHeaderOctets", default = Bytes(0), range = Bytes::ZERO..=Bytes(64), alias = "cp-min-header-octets",
        source = "IEEE8021-CN-MIB", why = "a CNM returns 64 B at most"
    )]
    pub cp_min_header_octets: Bytes,
    /// CP: class of CNMs, 0 to 7.
    #[param(
        symbol = "cngCnmTransmitPriority", default = 6, range = 0..=7, alias = "cng-cnm-transmit-priority",
        source = "IEEE8021-CN-MIB", why = "there is no such class"
    )]
    pub cnm_transmit_priority: u8,
    /// RP: flows of a host that share a reaction point: each `flow` has its own, or all flows to one `destination` share one, or all of one
    /// `class`.
    #[param(default = Per::Flow, source = "choice: published simulations; the MIB's rppMaxRps = 1 is class")]
    pub per: Per,
    /// RP: duration of a stage of the timer.
    #[param(
        symbol = "rpgTimeReset", default = Time::ms(15), range = Time(2).., alias = "rpg-time-reset",
        source = "IEEE8021-CN-MIB", why = "half of it is a timer, too"
    )]
    pub rpg_time_reset: Time,
    /// RP: bytes sent in a stage of the byte counter.
    #[param(
        symbol = "rpgByteReset", default = Bytes(150_000), range = Bytes(2).., alias = "rpg-byte-reset",
        source = "IEEE8021-CN-MIB", why = "half of it is a byte counter, too"
    )]
    pub rpg_byte_reset: Bytes,
    /// RP: stages of fast recovery.
    #[param(symbol = "rpgThreshold", default = 5, range = 0.., alias = "rpg-threshold", source = "IEEE8021-CN-MIB")]
    pub rpg_threshold: u32,
    /// RP: rate at which a reaction point ends. Absent: the line rate.
    #[param(symbol = "rpgMaxRate", range = rpg_min_rate.., alias = "rpg-max-rate", source = "IEEE 802.1Q clause 32")]
    pub rpg_max_rate: Option<Rate>,
    /// RP: active increase of the target rate.
    #[param(symbol = "rpgAiRate", default = Rate(5_000_000), range = Rate(0).., alias = "rpg-ai-rate", source = "IEEE8021-CN-MIB")]
    pub rpg_ai_rate: Rate,
    /// RP: hyper-active increase of the target rate.
    #[param(symbol = "rpgHaiRate", default = Rate(50_000_000), range = Rate(0).., alias = "rpg-hai-rate", source = "IEEE8021-CN-MIB")]
    pub rpg_hai_rate: Rate,
    /// RP: gain of a decrease, as a power of 1/2: Gd = 2^-rpgGd.
    #[param(symbol = "rpgGd", default = 7, range = 0..=31, alias = "rpg-gd", source = "IEEE8021-CN-MIB", why = "the gain would be nothing")]
    pub rpg_gd: u8,
    /// RP: least factor by which one CNM multiplies the rate.
    #[param(
        symbol = "rpgMinDecFac", default = 0.5, range = 0.01..=1.0, alias = "rpg-min-dec-fac",
        source = "IEEE8021-CN-MIB: 50 %", why = "the MIB allows 1 to 100 %"
    )]
    pub rpg_min_dec_fac: f64,
    /// RP: least rate of a flow.
    #[param(
        symbol = "rpgMinRate", default = Rate(5_000_000), range = Rate(1).., up_to = "the line rate", alias = "rpg-min-rate",
        source = "IEEE8021-CN-MIB", why = "a flow at rate zero never sends again"
    )]
    pub rpg_min_rate: Rate,
    /// RP: when the periods of byte counter and timer are halved: in `hyper-active` increase only, or each one `after-recovery`.
    #[param(default = Halve::HyperActive, source = "IEEE 802.1Q clause 32; after-recovery: QCN pseudo-code of 2007")]
    pub halve: Halve,
}

/// Returns its effects on others and its needs.
pub(super) fn profile(params: &Params) -> Profile {
    Profile {
        claims: Claims { flow_rate: true, ..Claims::NONE },
        classes: class_bits(&[params.cnm_transmit_priority]),
        longest_message: cnm_size(params),
        ..Profile::default()
    }
}

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    let mut findings = Vec::from_iter(disagreement(&params.classes, cx));
    for (shape, switch) in cx.switches.iter().zip(cx.switch_params) {
        let buffer = switch.buffer_of(class_bits(&params.classes));
        if switch.buffer_per != BufferPer::None && params.cp_qsp >= buffer && !params.classes.is_empty() {
            let reason =
                format!("the set point ({}) is not below the buffer of {} ({buffer})", params.cp_qsp, shape.name);
            let hint = "loss or PFC comes before any message; is it KB or KiB?".into();
            findings.push(Finding { fatal: true, key: "cp_qsp", reason, hint });
            break;
        }
    }
    findings
}

/// Octets of a CNM's frame beside the returned ones: two addresses 12, VLAN tag 4, EtherType 2, its own header, FCS 4.
const CNM_OCTETS: u64 = 12 + 4 + 2 + Cnm::HEADER as u64 + 4;

/// Frame length of a CNM.
pub(super) fn cnm_size(params: &Params) -> Bytes {
    (params.cp_min_header_octets + Bytes(CNM_OCTETS)).max(Bytes(u64::from(Control::MIN_FRAME)))
}
