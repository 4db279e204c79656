//! The reaction point of IEEE 802.1Q clause 32.

use super::config::{Halve, Params};
use super::wire::Message;
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::hooks::{Fate, FlowCx, FlowShape, FlowSide};
use backwater_net::packet::{Control, Packet};

/// Common constants of the reaction points of a group (rpg…).
#[derive(Clone, Copy, Debug)]
struct Group {
    time_reset: Time,
    /// \[bytes\]
    byte_reset: u64,
    threshold: u32,
    /// \[b/s\]
    max_rate: u64,
    ai_rate: u64,
    hai_rate: u64,
    min_rate: u64,
    gd: f64,
    min_dec_fac: f64,
    halve: Halve,
}

/// The clock that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Bytes,
    Time,
}

/// One rate limiter.
#[derive(backwater_derive::State)]
pub struct ReactionPoint {
    /// whether it limits: since a CNM, until rpCurrentRate has reached rpgMaxRate
    enabled: bool,
    /// \[b/s\] rpCurrentRate, rpTargetRate
    rc: u64,
    rt: u64,
    /// rpByteStage, rpTimeStage
    byte_stage: u32,
    time_stage: u32,
    /// \[bytes\] until the byte counter expires
    bytes_left: i64,
    /// when the timer expires
    timer: Time,
    /// in hyper-active increase since the last step
    hyper: bool,
    #[state(fixed)]
    group: Group,
}

impl ReactionPoint {
    pub(super) fn new(params: &Params, shape: &FlowShape) -> ReactionPoint {
        let max_rate = params.rpg_max_rate.map_or(shape.line.0, |rate| rate.0.min(shape.line.0));
        let group = Group {
            time_reset: params.rpg_time_reset,
            byte_reset: params.rpg_byte_reset.0,
            threshold: params.rpg_threshold,
            max_rate,
            ai_rate: params.rpg_ai_rate.0,
            hai_rate: params.rpg_hai_rate.0,
            min_rate: params.rpg_min_rate.0.min(max_rate),
            gd: f64::powi(0.5, i32::from(params.rpg_gd)),
            min_dec_fac: params.rpg_min_dec_fac,
            halve: params.halve,
        };
        ReactionPoint {
            enabled: false,
            rc: max_rate,
            rt: max_rate,
            byte_stage: 0,
            time_stage: 0,
            bytes_left: 0,
            timer: Time::NEVER,
            hyper: false,
            group,
        }
    }
}

// The specification.
#[backwater_derive::hooks]
impl FlowSide for ReactionPoint {
    #[inline(always)]
    fn rate(&self) -> Option<Rate> {
        self.enabled.then_some(Rate(self.rc))
    }

    #[inline(always)]
    fn on_send(&mut self, _: &mut FlowCx<'_>, pkt: &mut Packet) {
        if self.enabled {
            self.bytes_left -= i64::from(pkt.size);
            if self.bytes_left <= 0 {
                self.bytes_left = self.step(By::Bytes, self.group.byte_reset) as i64;
            }
        }
    }

    fn on_control(&mut self, cx: &mut FlowCx<'_>, frame: &Control) -> Fate {
        let Some(cnm) = frame.message::<Message>() else { return Fate::Passed };
        self.on_cnm(cx, cnm.feedback);
        Fate::Consumed
    }

    fn on_timer(&mut self, cx: &mut FlowCx<'_>, _: u16) {
        // Timers of earlier CNMs expire, too: only the latest counts.
        if self.enabled && self.timer == cx.now() {
            let period = self.step(By::Time, self.group.time_reset.0);
            if self.enabled {
                self.start_timer(cx, Time(period));
            }
        }
    }
}

impl ReactionPoint {
    fn on_cnm(&mut self, cx: &mut FlowCx<'_>, qntz: u8) {
        let Group { byte_reset, time_reset, gd, min_dec_fac, min_rate, max_rate, .. } = self.group;
        if !self.enabled {
            (self.enabled, self.rc, self.rt) = (true, max_rate, max_rate);
            (self.byte_stage, self.bytes_left) = (0, byte_reset as i64);
        }
        // 802.1Q 32: rpTargetRate changes only once fast recovery has begun.
        if self.byte_stage != 0 {
            self.rt = self.rc;
            self.bytes_left = byte_reset as i64;
        }
        (self.byte_stage, self.time_stage, self.hyper) = (0, 0, false);
        // 802.1Q 32: rpCurrentRate x max(1 - qntz 2^-rpgGd, rpgMinDecFac), at least rpgMinRate.
        let factor = (1.0 - f64::from(qntz) * gd).max(min_dec_fac);
        self.rc = ((self.rc as f64 * factor) as u64).max(min_rate);
        self.start_timer(cx, time_reset);
    }

    fn start_timer(&mut self, cx: &mut FlowCx<'_>, period: Time) {
        self.timer = cx.now() + period;
        cx.arm(self.timer, 0);
    }

    /// One of the two clocks has expired: one stage further. Returns its next period; `reset` is the full one.
    fn step(&mut self, by: By, reset: u64) -> u64 {
        let Group { threshold, halve, .. } = self.group;
        let stage = if by == By::Bytes { &mut self.byte_stage } else { &mut self.time_stage };
        *stage += 1;
        let half = match halve {
            // The step that leads into hyper-active increase still starts a full period.
            Halve::HyperActive => self.hyper,
            Halve::AfterRecovery => *stage > threshold,
        };
        self.increase();
        if half { reset / 2 } else { reset }
    }

    fn increase(&mut self) {
        let Group { threshold, ai_rate, hai_rate, max_rate, .. } = self.group;
        let (most, least) = (self.byte_stage.max(self.time_stage), self.byte_stage.min(self.time_stage));
        self.hyper = most >= threshold && least >= threshold;
        // 802.1Q 32: hyper-active increase, active increase, fast recovery.
        let increase = if self.hyper {
            hai_rate.saturating_mul(u64::from(least - threshold) + 1)
        } else if most >= threshold {
            ai_rate
        } else {
            0
        };
        // 802.1Q 32: a target far above the rate is lowered in the first stage.
        if (self.byte_stage == 1 || self.time_stage == 1) && self.rt > self.rc.saturating_mul(10) {
            self.rt /= 8;
        } else {
            self.rt = self.rt.saturating_add(increase).min(max_rate);
        }
        // 802.1Q 32: rpCurrentRate = (rpCurrentRate + rpTargetRate) / 2; the reaction point ends at rpgMaxRate.
        self.rc = (self.rc + self.rt).div_ceil(2).min(max_rate);
        self.enabled = self.rc < max_rate;
    }
}
