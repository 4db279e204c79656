//! The timer-driven reaction point of the public ns-3 RDMA code (HPCC's `rdma-hw`, there called the Mellanox version).
//!
//! ```text
//! first mark:       alpha = 1; start the alpha timer (Ka) and the decrease timer (Td)
//! alpha tick:       alpha = (1-g) alpha + (g if a mark came since the last tick)
//! decrease tick:    if a mark came: Rt = Rc (always if clamped, else only after an increase);
//!                   Rc = max(Rmin, Rc (1 - alpha/2)); stage = 0; restart the rate timer (T)
//! rate tick:        stage < F: Rc = (Rc + Rt)/2;  = F: Rt += Rai, then the same;  > F: Rt += Rhai, then the same;  stage + 1
//! ```

use super::config::Params;
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::hooks::{FlowCx, FlowShape};

const ALPHA: u16 = 0;
const DECREASE: u16 = 1;
const INCREASE: u16 = 2;

/// State of one queue pair.
#[derive(backwater_derive::State)]
pub struct ReactionPoint {
    /// \[b/s\]
    rc: f64,
    rt: f64,
    #[state(fixed)]
    line: f64,
    alpha: f64,
    stage: u32,
    /// a mark has ever come; since the last alpha tick; since the last decrease tick
    seen: bool,
    since_alpha: bool,
    since_decrease: bool,
    increase_at: Time,
    #[state(fixed)]
    params: Box<Params>,
}

impl ReactionPoint {
    pub(super) fn new(params: &Params, shape: &FlowShape) -> ReactionPoint {
        let line = shape.line.0 as f64;
        ReactionPoint {
            rc: line,
            rt: line,
            line,
            alpha: 1.0,
            stage: 0,
            seen: false,
            since_alpha: false,
            since_decrease: false,
            increase_at: Time::NEVER,
            params: Box::new(params.clone()),
        }
    }

    #[inline(always)]
    pub(super) fn current(&self) -> Rate {
        Rate(self.rc as u64)
    }

    pub(super) fn has_seen_a_mark(&self) -> bool {
        self.seen
    }

    pub(super) fn on_mark(&mut self, cx: &mut FlowCx<'_>) {
        (self.since_alpha, self.since_decrease) = (true, true);
        if !self.seen {
            self.seen = true;
            // The code decays alpha from 1 and counts this mark in the decrease tick only.
            self.since_alpha = false;
            cx.arm(cx.now() + self.params.alpha_timer, ALPHA);
            // One nanosecond later the first time, so that the alpha tick goes first.
            cx.arm(cx.now() + self.params.decrease_interval + Time::ns(1), DECREASE);
            self.rt = self.rc;
        }
    }

    pub(super) fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {
        match token {
            ALPHA => self.alpha_tick(cx),
            DECREASE => self.decrease_tick(cx),
            _ if cx.now() == self.increase_at => self.increase_tick(cx),
            _ => {}
        }
    }

    fn alpha_tick(&mut self, cx: &mut FlowCx<'_>) {
        // rdma-hw, alpha tick.
        let g = self.params.g;
        self.alpha = (1.0 - g) * self.alpha + if self.since_alpha { g } else { 0.0 };
        self.since_alpha = false;
        cx.arm(cx.now() + self.params.alpha_timer, ALPHA);
    }

    fn decrease_tick(&mut self, cx: &mut FlowCx<'_>) {
        cx.arm(cx.now() + self.params.decrease_interval, DECREASE);
        if !std::mem::take(&mut self.since_decrease) {
            return;
        }
        // rdma-hw, decrease tick: Rt = Rc always if clamped, else only after an increase.
        if self.params.clamp_target || self.stage != 0 {
            self.rt = self.rc;
        }
        self.rc = (self.rc * (1.0 - self.alpha / 2.0)).max(self.params.min_rate.0 as f64);
        self.stage = 0;
        self.arm_increase(cx);
    }

    fn increase_tick(&mut self, cx: &mut FlowCx<'_>) {
        let Params { f, rai, rhai, .. } = *self.params;
        // rdma-hw, rate tick: fast recovery, additive, hyper.
        self.rt += match self.stage {
            s if s < f => 0.0,
            s if s == f => rai.0 as f64,
            _ => rhai.0 as f64,
        };
        self.rt = self.rt.min(self.line);
        self.rc = ((self.rt + self.rc) / 2.0).min(self.line);
        self.stage += 1;
        self.arm_increase(cx);
    }

    fn arm_increase(&mut self, cx: &mut FlowCx<'_>) {
        self.increase_at = cx.now() + self.params.rate_timer;
        cx.arm(self.increase_at, INCREASE);
    }
}

#[cfg(test)]
mod tests;
