//! Swift — Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020.
//!
//! The sender compares the delay of each acknowledgement with a target: below it the window grows by a constant per
//! round trip, above it shrinks in proportion to the excess, at most once per round trip. The target grows with the
//! path's length. It also grows as the window shrinks, so that many flows can share a bottleneck. Below a window of one
//! packet the flow is paced instead.
//!
//! ```text
//! target   t = base_target + #hops h + max(0, min(alpha / sqrt(cwnd) + beta_fs, fs_range))                       section 3.5
//!          alpha = fs_range / (1/sqrt(fs_min_cwnd) - 1/sqrt(fs_max_cwnd)),   beta_fs = -alpha / sqrt(fs_max_cwnd)
//! ACK      delay < t:  cwnd >= 1: cwnd += ai acked / cwnd;   else cwnd += ai acked                               algorithm 1
//!          otherwise, if can_decrease:  cwnd = max(1 - beta (delay - t)/delay, 1 - max_mdf) cwnd
//! gap      if can_decrease:  cwnd = (1 - max_mdf) cwnd
//! timeout  retransmit_cnt += 1;  retransmit_cnt >= RETX_RESET_THRESHOLD: cwnd = min_cwnd;  else as a gap
//! always   min_cwnd <= cwnd <= max_cwnd;   cwnd < 1: a packet each rtt/cwnd
//!          can_decrease = now - t_last_decrease >= rtt
//! ```
//!
//! cwnd is in packets. `delay` is the time from a packet's sending to its acknowledgement, `rtt` the last of them,
//! `#hops` the switches on the path.
//!
//! The paper defines the law. For most parameters it has no value for every network.
//!
//! # Not modelled
//! - the delay in end hosts and its window (`ecwnd`, the average of the endpoint's delay): hosts here take no time
//! - the exclusion of an acknowledgement's wait at the receiver, for the same reason
//! - a separate class of Swift for acknowledgements (`ack.class` sets one)
//!
//! # Differences
//! - Losses are those of the [transport](docs/modelling/connections.md). A reported gap replaces fast recovery.
//! - With `ack.every` above one, the window is never narrower than the packets of one acknowledgement. The delay is
//!   then that of the last of these packets.

mod config;

use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::{
    Ack, Activity, Claims, FlowCx, FlowShape, FlowSide, Loss, Margin, Mechanism, Needs, Profile, Unit,
};
use backwater_net::packet::Packet;
pub use config::Params;

/// The sender of one flow.
#[derive(backwater_derive::State)]
pub struct Sender {
    /// \[bytes\] of a full packet
    #[state(fixed)]
    payload: u64,
    /// \[ps\] the part of the target that does not depend on the window; alpha, beta and range of the other part
    #[state(fixed)]
    fixed: f64,
    #[state(fixed)]
    alpha: f64,
    #[state(fixed)]
    beta_fs: f64,
    #[state(fixed)]
    fs_range: f64,
    /// \[packets\] fcwnd
    cwnd: f64,
    /// \[bytes\] acknowledged
    acked: u64,
    /// last measured; zero: none yet
    rtt: Time,
    t_last_decrease: Option<Time>,
    retransmit_cnt: u32,
    /// when the last packet went
    sent: Time,
    /// number of times that the window was narrowed
    cuts: u64,
    /// \[ps\] the greatest delay, and the target then
    nearest: (f64, f64),
    #[state(fixed)]
    params: Box<Params>,
}

// The specification.
#[backwater_derive::hooks]
impl FlowSide for Sender {
    #[inline(always)]
    fn window(&self) -> Option<Bytes> {
        Some(Bytes(self.cwnd.max(1.0) as u64 * self.payload))
    }

    #[inline(always)]
    fn stopped_until(&self) -> Time {
        if self.cwnd >= 1.0 { Time::ZERO } else { self.sent.after(Time((self.rtt.0 as f64 / self.cwnd) as u64)) }
    }

    #[inline(always)]
    fn on_send(&mut self, cx: &mut FlowCx<'_>, _: &mut Packet) {
        self.sent = cx.now();
    }

    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        let num_acked = ack.received.saturating_sub(self.acked) as f64 / self.payload as f64;
        self.acked = self.acked.max(ack.received);
        self.rtt = ack.rtt;
        self.retransmit_cnt = 0;
        let (delay, target) = (ack.rtt.0 as f64, self.target_delay());
        if delay > self.nearest.0 {
            self.nearest = (delay, target);
        }
        // Algorithm 1: additive increase below the target, multiplicative decrease above it.
        if delay < target {
            let each = if self.cwnd >= 1.0 { self.params.ai / self.cwnd } else { self.params.ai };
            self.cwnd = (self.cwnd + each * num_acked).min(self.params.max_cwnd);
        } else {
            let over = self.params.beta * (delay - target) / delay;
            self.decrease(cx.now(), (1.0 - over).max(1.0 - self.params.max_mdf));
        }
    }

    #[cold]
    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
        self.retransmit_cnt = if matches!(loss, Loss::Timeout { .. }) { self.retransmit_cnt + 1 } else { 0 };
        // Algorithm 1: RETX_RESET_THRESHOLD timeouts in a row.
        if self.retransmit_cnt >= self.params.retx_reset_threshold {
            self.cuts += 1;
            self.cwnd = self.params.min_cwnd;
            self.t_last_decrease = Some(cx.now());
        } else {
            self.decrease(cx.now(), 1.0 - self.params.max_mdf);
        }
    }

    fn activity(&self) -> Activity {
        let (peak, threshold) = (self.nearest.0 as u64, self.nearest.1 as u64);
        let margin = Margin { of: "greatest delay of a packet", unit: Unit::Time, peak, threshold };
        Activity { acts: self.cuts, margin: Some(margin) }
    }
}

impl Sender {
    /// \[ps\] TargetDelay() (section 3.5)
    fn target_delay(&self) -> f64 {
        self.fixed + (self.alpha / self.cwnd.sqrt() + self.beta_fs).min(self.fs_range).max(0.0)
    }

    /// Leaves `share` of the window, unless it has been narrowed within the last round trip.
    fn decrease(&mut self, now: Time, share: f64) {
        // Algorithm 1: can_decrease, once per round trip.
        let can_decrease = self.t_last_decrease.is_none_or(|last| now.since(last) >= self.rtt);
        let narrower = (share * self.cwnd).max(self.params.min_cwnd);
        if can_decrease && narrower < self.cwnd {
            self.cuts += 1;
            self.cwnd = narrower;
            self.t_last_decrease = Some(now);
        }
    }
}

/// Swift.
pub enum Swift {}

#[backwater_derive::mechanism]
impl Mechanism for Swift {
    const NAME: &'static str = "swift";
    const DEFINED_BY: &'static str = "Kumar et al., SIGCOMM 2020";
    const SUMMARY: &'static str = "adapts each flow's window so that the delay of its packets stays at a target";
    const INACTIVE: &'static str = "never narrowed a window";
    type Flow = Sender;

    fn profile(_: &Params) -> Profile {
        Profile {
            claims: Claims { flow_rate: true, ..Claims::NONE },
            needs: Needs { acks: true, window: true, ..Needs::default() },
            ..Profile::default()
        }
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<Sender> {
        let fixed = params.base_target + Time(params.hop.0.saturating_mul(u64::from(shape.hops)));
        let fs_range = params.fs_range.0 as f64;
        let alpha = fs_range / (params.fs_min_cwnd.sqrt().recip() - params.fs_max_cwnd.sqrt().recip());
        Some(Sender {
            payload: shape.payload.0,
            fixed: fixed.0 as f64,
            alpha,
            beta_fs: -alpha / params.fs_max_cwnd.sqrt(),
            fs_range,
            cwnd: params.initial_cwnd,
            acked: 0,
            rtt: Time::ZERO,
            t_last_decrease: None,
            retransmit_cnt: 0,
            sent: Time::ZERO,
            cuts: 0,
            nearest: (0.0, fixed.0 as f64),
            params: Box::new(params.clone()),
        })
    }
}

#[cfg(test)]
mod tests;
