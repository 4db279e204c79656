//! The reaction point of the DCQCN paper (SIGCOMM 2015, figure 7 and section 3.1).

use super::config::Params;
use super::shared_alpha::SharedAlpha;
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::hooks::{FlowCx, FlowShape};
use backwater_net::packet::Packet;

const ALPHA: u16 = 0;
const RATE: u16 = 1;

/// State of one queue pair.
#[derive(backwater_derive::State)]
pub struct ReactionPoint {
    /// \[b/s\] Rc, Rt, line rate
    rc: f64,
    rt: f64,
    #[state(fixed)]
    line: f64,
    /// alpha of this queue pair; unused where all share one
    alpha: f64,
    #[state(fixed)]
    shared: Option<SharedAlpha>,
    /// stages of the timer and the byte counter
    t: u32,
    bc: u32,
    /// \[bytes\] sent since the byte counter's last stage
    sent: u64,
    /// deadlines of the two timers; `NEVER`: not running
    alpha_at: Time,
    rate_at: Time,
    /// the first packet has gone, or timers wait for the first CNP
    started: bool,
    /// a CNP has come
    notified: bool,
    #[state(fixed)]
    params: Box<Params>,
}

impl ReactionPoint {
    pub(super) fn new(params: &Params, shape: &FlowShape, shared: &SharedAlpha) -> ReactionPoint {
        let line = shape.line.0 as f64;
        ReactionPoint {
            rc: line,
            rt: line,
            line,
            alpha: 1.0,
            shared: params.shared_alpha.then(|| shared.clone()),
            t: 0,
            bc: 0,
            sent: 0,
            alpha_at: Time::NEVER,
            rate_at: Time::NEVER,
            started: !params.timers_from_start,
            notified: false,
            params: Box::new(params.clone()),
        }
    }

    #[inline(always)]
    pub(super) fn current(&self) -> Rate {
        Rate(self.rc as u64)
    }

    pub(super) fn has_been_notified(&self) -> bool {
        self.notified
    }

    fn alpha(&self) -> f64 {
        self.shared.as_ref().map_or(self.alpha, SharedAlpha::get)
    }

    fn set_alpha(&mut self, alpha: f64) {
        match &self.shared {
            Some(shared) => shared.set(alpha),
            None => self.alpha = alpha,
        }
    }

    fn restart_timers(&mut self, cx: &mut FlowCx<'_>) {
        self.alpha_at = cx.now() + self.params.alpha_timer;
        self.rate_at = cx.now() + self.params.rate_timer;
        cx.arm(self.alpha_at, ALPHA);
        cx.arm(self.rate_at, RATE);
    }

    #[inline(always)]
    pub(super) fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &Packet) {
        if !self.started {
            self.started = true;
            self.restart_timers(cx);
        }
        if !self.params.alpha_timer_restarts && cx.now() >= self.alpha_at {
            self.decay();
        }
        self.sent += pkt.data().map_or(0, |data| u64::from(data.payload));
        if self.sent >= self.params.byte_counter.0 {
            self.sent = 0;
            self.bc += 1;
            self.increase();
        }
    }

    /// CNP received: the cut.
    pub(super) fn on_cnp(&mut self, cx: &mut FlowCx<'_>) {
        self.notified = true;
        let (g, alpha) = (self.params.g, self.alpha());
        // SIGCOMM 2015, equation 1: Rt = Rc; Rc = Rc (1 - alpha/2); alpha = (1-g) alpha + g.
        self.rt = self.rc;
        self.rc = (self.rc * (1.0 - alpha / 2.0)).max(self.params.min_rate.0 as f64);
        self.set_alpha((1.0 - g) * alpha + g);
        (self.t, self.bc, self.sent) = (0, 0, 0);
        self.restart_timers(cx);
    }

    pub(super) fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {
        let now = cx.now();
        if token == ALPHA && self.alpha_at == now && self.params.alpha_timer_restarts {
            self.decay();
            self.alpha_at = now + self.params.alpha_timer;
            cx.arm(self.alpha_at, ALPHA);
        } else if token == RATE && self.rate_at == now {
            self.t += 1;
            self.increase();
            self.rate_at = now + self.params.rate_timer;
            cx.arm(self.rate_at, RATE);
        }
    }

    /// SIGCOMM 2015, equation 2: no CNP for K.
    fn decay(&mut self) {
        self.set_alpha((1.0 - self.params.g) * self.alpha());
    }

    /// One stage further, by timer or by bytes.
    fn increase(&mut self) {
        if self.rc >= self.line {
            return;
        }
        let Params { f, rai, rhai, recover_through_f, .. } = *self.params;
        let (most, least) = (self.t.max(self.bc), self.t.min(self.bc));
        // SIGCOMM 2015, 3.1: max(T, BC) < F is fast recovery.
        let recovering = if recover_through_f { most <= f } else { most < f };
        if !recovering {
            // SIGCOMM 2015, 3.1: min(T, BC) > F is hyper increase, everything else additive increase.
            self.rt += if least > f { f64::from(least - f) * rhai.0 as f64 } else { rai.0 as f64 };
        }
        // SIGCOMM 2015, equations 3 and 4.
        self.rc = ((self.rt + self.rc) / 2.0).min(self.line);
    }
}
