//! Quantized Congestion Notification — IEEE 802.1Qau-2010, now IEEE 802.1Q clauses 30 to 33.
//!
//! A congested queue samples the frames that join it and sends the source of a sampled frame a congestion notification
//! message (CNM) with six bits of feedback. The source cuts its rate by that feedback and raises it again by itself,
//! counting bytes and time: first to the rate before the cut, then beyond it. Switches send no positive feedback and
//! keep no state of flows.
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
//! # Not modelled
//! - the CN-TAG: the simulated message names its flow
//! - congestion notification domains and their defences
//! - LLDP
//!
//! # Differences
//! - A CNM whose flow has ended when it arrives has no effect, unless the flow shared its reaction point.
//! - A congestion point counts the octets of frames as buffers count them: with headers and FCS, without preamble and
//!   gap. A reaction point counts its bytes in the same way.
//! - A sampled frame that no flow sends (an acknowledgement) updates the sample and causes no CNM.
//! - Rates are whole b/s, and halving rounds up. So the current rate reaches the greatest rate after at most 34 halvings of 10 Gb/s. The
//!   reaction point then ends; the standard also waits until its queue is empty.
//! - The default of the MIB is one reaction point per port and priority (`rppMaxRps` = 1), a limit of the hardware of its day. Here `per`
//!   defaults to one per flow, as in published simulations of QCN. `per = "class"` is the MIB's default.

mod config;
pub mod cp;
pub mod rp;
mod wire;

use backwater_net::hooks::{Carrier, CheckCx, Finding, FlowShape, Mechanism, Profile, RateKey, SwitchShape, WireCx};
use backwater_net::packet::Control;
pub use config::{Halve, Params, Per};
use cp::CongestionPoint;
use rp::ReactionPoint;
use std::any::TypeId;
pub use wire::CNM;
use wire::Message;

/// Quantized Congestion Notification.
pub enum Qcn {}

#[backwater_derive::mechanism]
impl Mechanism for Qcn {
    const NAME: &'static str = "qcn";
    const DEFINED_BY: &'static str = "IEEE 802.1Qau-2010 (IEEE 802.1Q clauses 30 to 33)";
    const SUMMARY: &'static str = "a congested queue tells the sources of sampled frames to lower their rates";
    const INACTIVE: &'static str = "never told a source to slow down";
    const FRAMES: &'static [&'static str] = &[CNM];
    const MESSAGE: TypeId = TypeId::of::<Message>();
    const VALUE: &'static str = "of a CNM the quantised feedback, 1 to 63";
    type Switch = CongestionPoint;
    type Flow = ReactionPoint;

    fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, cx, octets)
    }

    fn profile(params: &Params) -> Profile {
        config::profile(params)
    }

    fn rate_key(params: &Params, flow: &FlowShape) -> RateKey {
        match params.per {
            Per::Flow => RateKey::Flow,
            Per::Destination => RateKey::Dest(flow.dst),
            Per::Class => RateKey::Class(flow.class),
        }
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<CongestionPoint> {
        (!params.classes.is_empty()).then(|| CongestionPoint::new(params, shape))
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<ReactionPoint> {
        Some(ReactionPoint::new(params, shape))
    }
}

#[cfg(test)]
mod tests;
