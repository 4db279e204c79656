//! Quantized Congestion Notification — IEEE 802.1Qau-2010, now IEEE 802.1Q clauses 30 to 33.
//!
//! A congested queue samples the frames that join it and sends the source of a sampled frame a congestion notification message
//! (CNM) with six bits of feedback. The source cuts its rate by that feedback and finds its way back by itself, counting bytes and
//! time: first to the rate before the cut, then beyond it. Bridges send no positive feedback and keep nothing about flows.
//!
//! ```text
//! congestion point (clause 32), for each frame f that joins the queue; w = 2^cpW:
//!     cpFb    = max(-cpQsp (2w + 1), min(0, cpQsp - cpQLen - w (cpQLen - cpQLenOld)))
//!     qntz    = floor(-cpFb 63 / (cpQsp (2w + 1)))                                    six bits
//!     cpEnqued -= length(f)
//!     if cpEnqued <= 0:
//!         if qntz > 0: send CNM{qntz, cpQsp - cpQLen, cpQLen - cpQLenOld} to source(f)
//!         cpQLenOld = cpQLen;  cpEnqued = interval(qntz) x uniform(0.85, 1.15)
//!
//! reaction point (clause 32), SI for byte stage and timer stage:
//!     CNM      none yet: rpCurrentRate = rpTargetRate = rpgMaxRate
//!              if rpByteStage != 0: rpTargetRate = rpCurrentRate; byte counter = rpgByteReset
//!              rpByteStage = rpTimeStage = 0; timer = rpgTimeReset
//!              rpCurrentRate = max(rpgMinRate, rpCurrentRate x max(1 - qntz 2^-rpgGd, rpgMinDecFac))
//!     every rpgByteReset, every rpgTimeReset: its stage + 1, then
//!         max(stages) <  rpgThreshold   fast recovery           increase = 0
//!         min(stages) >= rpgThreshold   hyper-active increase   increase = rpgHaiRate (min(stages) - rpgThreshold + 1)
//!         otherwise                     active increase         increase = rpgAiRate
//!         either stage is 1 and rpTargetRate > 10 rpCurrentRate:  rpTargetRate = rpTargetRate / 8
//!         otherwise                     rpTargetRate = min(rpTargetRate + increase, rpgMaxRate)
//!         rpCurrentRate = (rpCurrentRate + rpTargetRate) / 2
//! ```
//!
//! | symbol | field | unit | default | source |
//! |---|---|---|---|---|
//! | cpQsp | `cp_qsp` | bytes | 26 KB | ieee8021CnCpQueueSizeSetPoint |
//! | cpW | `cp_w` | power of 2 | 1, w = 2 | ieee8021CnCpFeedbackWeight |
//! | cpSampleBase | `cp_sample_base` | bytes | 150 KB | ieee8021CnCpMinSampleBase |
//! | – | `cp_jitter` | share | 0.15 | clause 32: 0.85 to 1.15 |
//! | cpMinHeaderOctets | `cp_min_header_octets` | bytes | 0 | ieee8021CnCpMinHeaderOctets |
//! | cngCnmTransmitPriority | `cnm_transmit_priority` | class | 6 | ieee8021CnGlobalCnmTransmitPriority |
//! | rpgTimeReset | `rpg_time_reset` | time | 15 ms | ieee8021CnRpgTimeReset |
//! | rpgByteReset | `rpg_byte_reset` | bytes | 150 KB | ieee8021CnRpgByteReset |
//! | rpgThreshold | `rpg_threshold` | stages | 5 | ieee8021CnRpgThreshold |
//! | rpgMaxRate | `rpg_max_rate` | rate | line rate | ieee8021CnRpgMaxRate |
//! | rpgAiRate, rpgHaiRate | `rpg_ai_rate`, `rpg_hai_rate` | rate | 5, 50 Mb/s | ieee8021CnRpgAiRate, -HaiRate |
//! | rpgGd | `rpg_gd` | power of 1/2 | 7 | ieee8021CnRpgGd |
//! | rpgMinDecFac | `rpg_min_dec_fac` | factor | 0.5 | ieee8021CnRpgMinDecFac |
//! | rpgMinRate | `rpg_min_rate` | rate | 5 Mb/s | ieee8021CnRpgMinRate |
//!
//! **Not modelled:** the CN-TAG (the simulated message names its flow); congestion notification domains and their defences;
//! LLDP. A CNM whose flow has ended when it arrives is without effect, unless the flow shared its reaction point.
//! **Where we differ:** a congestion point counts the octets of frames as buffers count them, headers and FCS, without preamble and
//! gap; a reaction point counts those that it sends likewise. A sampled frame that no flow sends (an acknowledgement) renews the
//! sample and causes no CNM. Rates are whole b/s and halving rounds up, so that rpCurrentRate reaches rpgMaxRate after at most 34
//! halvings of 10 Gb/s; the reaction point then ends (the standard also waits for its queue to be empty). The MIB's default is one
//! reaction point per port and priority (rppMaxRps = 1), a limit of hardware of its day; here `per` defaults to one per flow, what
//! published simulations of QCN have, and `class` is the MIB's.

pub mod cp;
pub mod rp;
mod wire;

use backwater_engine::Time;
use backwater_net::config::BufferPer;
use backwater_net::hooks::{
    Absent, Carrier, CheckCx, Claims, Finding, FlowShape, Mechanism, RateKey, SwitchShape, WireCx,
};
use backwater_net::packet::{Control, class_bits};
use backwater_net::{Bytes, Rate};
use cp::CongestionPoint;
use rp::ReactionPoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of the congestion notification message.
pub const CNM: &str = "cnm";

/// Which flows of a host share a reaction point.
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

/// From when on the periods of byte counter and timer are halved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Halve {
    /// In hyper-active increase only, as the standard's state machines have it.
    HyperActive,
    /// Each as soon as its own stage is past fast recovery, as in the pseudo-code of 2007.
    AfterRecovery,
}

/// Parameters of Quantized Congestion Notification.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Classes whose queues are congestion points, each 0 to 7. With `[[qcn.at]]`, an empty list switches those of one switch off.
    #[schemars(inner(range(min = 0, max = 7)))]
    #[schemars(extend("x-source" = "choice: RoCEv2 deployments commonly use 3"))]
    pub classes: Vec<u8>,
    /// CP: length at which the queue is to stand.
    #[serde(alias = "cp-queue-size-set-point")]
    #[schemars(extend("x-source" = "IEEE8021-CN-MIB", "x-range" = "100 B and more", "x-alias" = "cp-queue-size-set-point"))]
    pub cp_qsp: Bytes,
    /// CP: weight of the queue's growth against its length, as a power of 2: w = 2^cpW.
    #[serde(alias = "cp-feedback-weight")]
    #[schemars(range(min = -10, max = 10), extend("x-source" = "IEEE8021-CN-MIB", "x-alias" = "cp-feedback-weight"))]
    pub cp_w: i8,
    /// CP: bytes between two samples without congestion.
    #[serde(alias = "cp-min-sample-base")]
    #[schemars(extend("x-source" = "IEEE8021-CN-MIB", "x-range" = "10 KB and more", "x-alias" = "cp-min-sample-base"))]
    pub cp_sample_base: Bytes,
    /// CP: half the width of the random factor of a sampling interval: 0.15 is 0.85 to 1.15.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-source" = "IEEE 802.1Q clause 32"))]
    pub cp_jitter: f64,
    /// CP: octets of the sampled frame that a CNM returns; they lengthen it.
    #[serde(alias = "cp-min-header-octets")]
    #[schemars(extend("x-source" = "IEEE8021-CN-MIB", "x-range" = "0 B to 64 B", "x-alias" = "cp-min-header-octets"))]
    pub cp_min_header_octets: Bytes,
    /// CP: class of CNMs, 0 to 7.
    #[serde(alias = "cng-cnm-transmit-priority")]
    #[schemars(range(min = 0, max = 7))]
    #[schemars(extend("x-source" = "IEEE8021-CN-MIB", "x-alias" = "cng-cnm-transmit-priority"))]
    pub cnm_transmit_priority: u8,
    /// RP: which flows of a host share one: each `flow` has its own, or all to one `destination`, or all of one `class`.
    #[schemars(extend("x-source" = "choice: published simulations; the MIB's rppMaxRps = 1 is class"))]
    pub per: Per,
    /// RP: time of a stage of the timer.
    #[serde(alias = "rpg-time-reset")]
    #[schemars(extend("x-source" = "IEEE8021-CN-MIB", "x-range" = "2 ps and more", "x-alias" = "rpg-time-reset"))]
    pub rpg_time_reset: Time,
    /// RP: bytes sent in a stage of the byte counter.
    #[serde(alias = "rpg-byte-reset")]
    #[schemars(extend("x-source" = "IEEE8021-CN-MIB", "x-range" = "2 B and more", "x-alias" = "rpg-byte-reset"))]
    pub rpg_byte_reset: Bytes,
    /// RP: stages of fast recovery.
    #[serde(alias = "rpg-threshold")]
    #[schemars(extend("x-source" = "IEEE8021-CN-MIB", "x-range" = "0 and more", "x-alias" = "rpg-threshold"))]
    pub rpg_threshold: u32,
    /// RP: rate at which it ends. Absent: the line rate.
    #[serde(alias = "rpg-max-rate")]
    #[schemars(extend("x-source" = "IEEE 802.1Q clause 32", "x-range" = "rpg_min_rate and more", "x-alias" = "rpg-max-rate"))]
    pub rpg_max_rate: Option<Rate>,
    /// RP: active increase of the target rate.
    #[serde(alias = "rpg-ai-rate")]
    #[schemars(extend("x-source" = "IEEE8021-CN-MIB", "x-range" = "0 b/s and more", "x-alias" = "rpg-ai-rate"))]
    pub rpg_ai_rate: Rate,
    /// RP: hyper-active increase of the target rate.
    #[serde(alias = "rpg-hai-rate")]
    #[schemars(extend("x-source" = "IEEE8021-CN-MIB", "x-range" = "0 b/s and more", "x-alias" = "rpg-hai-rate"))]
    pub rpg_hai_rate: Rate,
    /// RP: gain of a decrease, as a power of 1/2: Gd = 2^-rpgGd.
    #[serde(alias = "rpg-gd")]
    #[schemars(range(min = 0, max = 31), extend("x-source" = "IEEE8021-CN-MIB", "x-alias" = "rpg-gd"))]
    pub rpg_gd: u8,
    /// RP: least factor by which one CNM multiplies the rate.
    #[serde(alias = "rpg-min-dec-fac")]
    #[schemars(range(min = 0.01, max = 1.0), extend("x-source" = "IEEE8021-CN-MIB: 50 %", "x-alias" = "rpg-min-dec-fac"))]
    pub rpg_min_dec_fac: f64,
    /// RP: least rate.
    #[serde(alias = "rpg-min-rate")]
    #[schemars(extend("x-source" = "IEEE8021-CN-MIB", "x-range" = "1 b/s to the line rate", "x-alias" = "rpg-min-rate"))]
    pub rpg_min_rate: Rate,
    /// RP: whether periods are halved in `hyper-active` increase only, or each `after-recovery`.
    #[schemars(extend("x-source" = "IEEE 802.1Q clause 32; after-recovery: QCN pseudo-code of 2007"))]
    pub halve: Halve,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            classes: vec![3],
            cp_qsp: Bytes(26_000),
            cp_w: 1,
            cp_sample_base: Bytes(150_000),
            cp_jitter: 0.15,
            cp_min_header_octets: Bytes(0),
            cnm_transmit_priority: 6,
            per: Per::Flow,
            rpg_time_reset: Time::ms(15),
            rpg_byte_reset: Bytes(150_000),
            rpg_threshold: 5,
            rpg_max_rate: None,
            rpg_ai_rate: Rate(5_000_000),
            rpg_hai_rate: Rate(50_000_000),
            rpg_gd: 7,
            rpg_min_dec_fac: 0.5,
            rpg_min_rate: Rate(5_000_000),
            halve: Halve::HyperActive,
        }
    }
}

/// Quantized Congestion Notification.
pub enum Qcn {}

impl Mechanism for Qcn {
    const NAME: &'static str = "qcn";
    const DEFINED_BY: &'static str = "IEEE 802.1Qau-2010 (IEEE 802.1Q clauses 30 to 33)";
    const SUMMARY: &'static str = "a congested queue tells the sources of sampled frames to lower their rates";
    const IDLE: &'static str = "never told a source to slow down";
    const FRAMES: &'static [&'static str] = &[CNM];
    type Params = Params;
    type Shared = ();
    type Switch = CongestionPoint;
    type Nic = Absent;
    type Flow = ReactionPoint;

    fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, cx, octets)
    }

    fn claims(_: &Params) -> Claims {
        Claims { flow_rate: true, ..Claims::NONE }
    }

    fn rate_key(params: &Params, flow: &FlowShape) -> RateKey {
        match params.per {
            Per::Flow => RateKey::Flow,
            Per::Destination => RateKey::Dest(flow.dst),
            Per::Class => RateKey::Class(flow.class),
        }
    }

    fn classes(params: &Params) -> u8 {
        class_bits(&[params.cnm_transmit_priority])
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        let mut findings = out_of_range(params);
        for (shape, switch) in cx.switches.iter().zip(cx.switch_params) {
            if switch.buffer_per != BufferPer::None && params.cp_qsp >= switch.buffer && !params.classes.is_empty() {
                let reason = format!(
                    "the set point ({}) is not below the buffer of {} ({})",
                    params.cp_qsp, shape.name, switch.buffer
                );
                let hint = "loss or PFC comes before any message; is it KB or KiB?".into();
                findings.push(Finding { fatal: true, key: "cp_qsp", reason, hint });
                break;
            }
        }
        findings
    }

    fn longest_message(params: &Params) -> Bytes {
        cp::cnm_size(params)
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<CongestionPoint> {
        (!params.classes.is_empty()).then(|| CongestionPoint::new(params, shape))
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<ReactionPoint> {
        Some(ReactionPoint::new(params, shape))
    }
}

/// Values that the MIB does not allow, or with which nothing moves.
fn out_of_range(params: &Params) -> Vec<Finding> {
    let max_rate = params.rpg_max_rate.unwrap_or(Rate(u64::MAX));
    let wrong = [
        (params.classes.iter().any(|c| *c > 7), "classes", "there is no such class", "classes are 0 to 7"),
        (params.cp_qsp < Bytes(100), "cp_qsp", "the MIB allows 100 B and more", "the MIB's default is 26 KB"),
        (!(-10..=10).contains(&params.cp_w), "cp_w", "the MIB allows -10 to 10", "1 is a weight of 2"),
        (
            params.cp_sample_base < Bytes(10_000),
            "cp_sample_base",
            "the MIB allows 10 KB and more",
            "the MIB's default is 150 KB",
        ),
        (!(0.0..1.0).contains(&params.cp_jitter), "cp_jitter", "an interval would be empty", "the standard has 0.15"),
        (
            params.cp_min_header_octets > Bytes(64),
            "cp_min_header_octets",
            "a CNM returns 64 B at most",
            "the MIB's default is 0 B",
        ),
        (params.cnm_transmit_priority > 7, "cnm_transmit_priority", "there is no such class", "classes are 0 to 7"),
        // Half of it must be something, too.
        (params.rpg_time_reset < Time(2), "rpg_time_reset", "a timer of zero never ends", "the MIB's default is 15 ms"),
        (
            params.rpg_byte_reset < Bytes(2),
            "rpg_byte_reset",
            "no byte counter is so short",
            "the MIB's default is 150 KB",
        ),
        (params.rpg_min_rate == Rate(0), "rpg_min_rate", "a flow at rate zero never sends again", "1 b/s and more"),
        (max_rate < params.rpg_min_rate, "rpg_max_rate", "it is below rpg_min_rate", "absent: the line rate"),
        (params.rpg_gd > 31, "rpg_gd", "the gain would be nothing", "the MIB's default is 7"),
        (
            !(0.01..=1.0).contains(&params.rpg_min_dec_fac),
            "rpg_min_dec_fac",
            "the MIB allows 1 to 100 %",
            "the MIB's default is 50 %: 0.5",
        ),
    ];
    let found = wrong.into_iter().filter(|(bad, ..)| *bad);
    found.map(|(_, key, reason, hint)| Finding { fatal: true, key, reason: reason.into(), hint: hint.into() }).collect()
}

#[cfg(test)]
mod tests;
