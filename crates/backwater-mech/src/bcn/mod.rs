//! Backward Congestion Notification — Bergamasco and Pan, contributions to IEEE 802.1 (2005 to 2007), which became the Ethernet
//! Congestion Manager and lost to QCN. As used in "BCN + Pause Simulation Results" (October 2006, here the document of 2006) and in
//! Kwan and Ding, "Effects of Delay" (February 2007, the document of 2007), contributions to the work on IEEE 802.1Qau.
//!
//! A congested queue samples the frames that join it and sends the source of a sampled frame two numbers: how far the
//! queue is from its equilibrium, and how it has changed. The source reduces its rate by a factor or adds to it.
//! Positive messages go only to sources that this queue has slowed down before: their frames carry a tag with the
//! queue's name (CPID).
//!
//! ```text
//! congestion point, for each frame f that has joined the queue; q counts f:
//!     every S_mean accepted bytes, plus jitter:
//!         Qoff = clamp(Qeq - q, -Qeq, Qeq);  Qdelta = clamp(q - q at the last sample, -2 Qeq, 2 Qeq)
//!         Fb = Qoff - W Qdelta
//!         q > Qsc      BCN(0,0): STOP;  or BCN(MAX): Qoff = -Qeq, Qdelta = 2 Qeq;  or as below
//!         Fb < 0       BCN(Qoff, Qdelta) to source(f)
//!         Fb > 0       the same, if f carries the tag of this queue
//!
//! reaction point, one for each destination of a source:
//!     Fb < 0                  none yet: R = line rate.  CPID = the message's;  R = max(Rmin, R (1 - Gd |Fb|))
//!     Fb > 0, CPID the same   R = R + Gi Ru Fb
//!     STOP                    nothing is sent for a random time up to Tmax, then R = line rate/K;
//!                             again before R has risen: twice the Tmax, half the R
//!     R >= line rate          the reaction point ends;  until then frames carry the tag with CPID
//! ```
//!
//! Gains by formula: `Gd = 1/2 / ((1 + 2W) Qeq)` and `Gi Ru = line rate/10 / ((1 + 2W) Qeq)`, so that the strongest message halves
//! the rate or adds a tenth of the line. (1 + 2W) Qeq is the greatest |Fb| that the clamps leave.
//!
//! # Not modelled
//! - the octets of the tag in data frames
//! - the rounding of offset and change (Qoff, Qdelta) to pages of 64 B
//!
//! # Differences
//! - The message carries `qeq`, so that gains by formula follow the value of each queue. Real stations would be
//!   configured with these gains.
//! - The congestion point draws the random part of a STOP from its own stream of random numbers, and the message carries it.
//! - Messages that arrive during a STOP have no effect. They are about frames sent before it.
//! - A sampled frame that no flow sends (an acknowledgement) updates the sample and causes no message.
//! - Layout and size of the message are not published. 64 B is a choice.

mod config;
pub mod cp;
pub mod rp;
mod wire;

use backwater_net::hooks::{
    Carrier, CheckCx, Finding, FlowShape, Ineffective, Mechanism, Preset, Profile, RateKey, SwitchShape, WireCx,
};
use backwater_net::packet::Control;
pub use config::{Params, Sampling, SignRule};
use cp::CongestionPoint;
use rp::ReactionPoint;
use std::any::TypeId;
use wire::Message;
pub use wire::{MAX, NEGATIVE, POSITIVE, STOP};

/// Backward Congestion Notification.
pub enum Bcn {}

#[backwater_derive::mechanism]
impl Mechanism for Bcn {
    const NAME: &'static str = "bcn";
    const DEFINED_BY: &'static str = "Bergamasco and Pan, contributions to IEEE 802.1, 2005 to 2007";
    const SUMMARY: &'static str = "a congested queue tells the sources of sampled frames to lower or raise their rates";
    const INACTIVE: &'static str = "never told a source to change its rate";
    const FRAMES: &'static [&'static str] = &[NEGATIVE, POSITIVE, MAX, STOP];
    const MESSAGE: TypeId = TypeId::of::<Message>();
    const VALUE: &'static str = "of BCN the absolute value of Fb in B";
    type Switch = CongestionPoint;
    type Flow = ReactionPoint;

    const PRESETS: &'static [Preset] = config::PRESETS;

    fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, cx, octets)
    }

    fn tag_octets(tag: u64, octets: &mut Vec<u8>) -> Option<u16> {
        wire::tag_octets(tag, octets)
    }

    fn profile(params: &Params) -> Profile {
        config::profile(params)
    }

    fn rate_key(_: &Params, flow: &FlowShape) -> RateKey {
        RateKey::Dest(flow.dst)
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn ineffective(params: &Params) -> Vec<Ineffective> {
        config::ineffective(params)
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<CongestionPoint> {
        // Values that the check refuses lead to no congestion points.
        let (qeq, qsc) = (params.qeq(shape.port_buffer)?, params.qsc(shape.port_buffer)?);
        (!params.classes.is_empty()).then(|| CongestionPoint::new(params, shape, qeq, qsc))
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<ReactionPoint> {
        Some(ReactionPoint::new(params, shape))
    }
}

#[cfg(test)]
mod tests;
