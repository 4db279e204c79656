//! The reaction point: a rate limiter for one destination of a source.

use super::config::Params;
use super::wire::{Kind, Message};
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::hooks::{Fate, FlowCx, FlowShape, FlowSide};
use backwater_net::packet::{Control, Packet};
use std::collections::VecDeque;

const RESPONSE: u16 = 0;
const SELF_INCREASE: u16 = 1;
const AGEING: u16 = 2;

/// One rate limiter.
#[derive(backwater_derive::State)]
pub struct ReactionPoint {
    /// whether it limits
    active: bool,
    /// \[b/s\] R, line rate
    r: f64,
    #[state(fixed)]
    line: f64,
    /// the queue that slowed it down last
    cpid: u64,
    /// end of the last STOP, and the number of STOPs since R last rose
    stopped_until: Time,
    stops: u32,
    /// when a message last took effect, and when the rate next rises by itself
    heard: Time,
    rises: Time,
    /// messages that have arrived and have had no effect yet
    pending: VecDeque<(Time, Message)>,
    #[state(fixed)]
    params: Box<Params>,
}

impl ReactionPoint {
    pub(super) fn new(params: &Params, shape: &FlowShape) -> ReactionPoint {
        let line = shape.line.0 as f64;
        ReactionPoint {
            active: false,
            r: line,
            line,
            cpid: 0,
            stopped_until: Time::ZERO,
            stops: 0,
            heard: Time::ZERO,
            rises: Time::NEVER,
            pending: VecDeque::new(),
            params: Box::new(params.clone()),
        }
    }
}

// The specification.
#[backwater_derive::hooks]
impl FlowSide for ReactionPoint {
    #[inline(always)]
    fn rate(&self) -> Option<Rate> {
        self.active.then_some(Rate(self.r as u64))
    }

    #[inline(always)]
    fn stopped_until(&self) -> Time {
        self.stopped_until
    }

    #[inline(always)]
    fn on_send(&mut self, _: &mut FlowCx<'_>, pkt: &mut Packet) {
        if self.active {
            pkt.tag = self.cpid;
        }
    }

    fn on_control(&mut self, cx: &mut FlowCx<'_>, frame: &Control) -> Fate {
        let Some(message) = frame.message::<Message>() else { return Fate::Passed };
        if self.params.response_time == Time::ZERO {
            self.on_bcn(cx, &message);
        } else {
            let at = cx.now() + self.params.response_time;
            self.pending.push_back((at, message));
            cx.arm(at, RESPONSE);
        }
        Fate::Consumed
    }

    fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {
        let now = cx.now();
        match token {
            RESPONSE => {
                while let Some((_, message)) = self.pending.pop_front_if(|(at, _)| *at <= now) {
                    self.on_bcn(cx, &message);
                }
            }
            SELF_INCREASE if self.active && self.rises == now => {
                self.stops = 0;
                self.set(self.r + self.params.self_increase.0 as f64);
                self.rise_later(cx);
            }
            AGEING if self.active && self.params.ageing.is_some_and(|age| self.heard + age <= now) => self.end(),
            _ => {}
        }
    }
}

impl ReactionPoint {
    /// A message takes effect.
    fn on_bcn(&mut self, cx: &mut FlowCx<'_>, message: &Message) {
        if cx.now() < self.stopped_until {
            return;
        }
        let fb = message.fb(self.params.w);
        if message.kind == Kind::Stop {
            self.begin();
            self.stop(cx.now(), message);
        } else if fb < 0.0 {
            // Documents of 2006 and 2007: R = max(Rmin, R (1 - Gd |Fb|)).
            self.begin();
            self.cpid = message.cpid;
            self.set(self.r * (1.0 - self.gd(message) * -fb).max(0.0));
        } else if fb > 0.0 && self.active && self.cpid == message.cpid {
            // R = R + Gi Ru Fb, from the queue that slowed it down last.
            self.stops = 0;
            self.set(self.r + self.gi_ru(message) * fb);
        }
        if self.active {
            self.heard = cx.now();
            self.rise_later(cx);
            if let Some(age) = self.params.ageing {
                cx.arm(cx.now() + age, AGEING);
            }
        }
    }

    fn begin(&mut self) {
        if !self.active {
            self.active = true;
            self.r = self.params.initial_rate.map_or(self.line, |rate| (rate.0 as f64).min(self.line));
        }
    }

    /// BCN(0,0): a random time up to Tmax, then line rate/K. A repeated STOP before R has risen doubles the time and halves the rate.
    fn stop(&mut self, now: Time, message: &Message) {
        let doubled = 1u64.checked_shl(self.stops).unwrap_or(u64::MAX);
        let most = self.params.stop_time.0.saturating_mul(doubled).min(self.params.stop_time_max.0);
        let time = (u128::from(most) * u128::from(message.random)) >> 64;
        self.stopped_until = now.after(Time(time as u64));
        self.cpid = message.cpid;
        self.r = self.line / f64::from(self.params.restart_divisor) / doubled as f64;
        self.r = self.r.max(self.least());
        self.stops += 1;
    }

    /// Sets a new rate; at the line rate the reaction point ends.
    fn set(&mut self, rate: f64) {
        self.r = rate.max(self.least());
        if self.r >= self.line {
            self.end();
        }
    }

    /// The least rate, b/s; a slower link's own rate.
    fn least(&self) -> f64 {
        (self.params.min_rate.0 as f64).min(self.line)
    }

    fn end(&mut self) {
        (self.active, self.cpid, self.stops) = (false, 0, 0);
        self.rises = Time::NEVER;
    }

    fn rise_later(&mut self, cx: &mut FlowCx<'_>) {
        if self.active && self.params.self_increase > Rate(0) {
            self.rises = cx.now().max(self.stopped_until) + self.params.self_increase_interval;
            cx.arm(self.rises, SELF_INCREASE);
        }
    }

    /// Gd for a byte of Fb.
    fn gd(&self, message: &Message) -> f64 {
        let formula = || 0.5 / ((1.0 + 2.0 * self.params.w) * message.qeq as f64);
        self.params.gd.map_or_else(formula, |gd| gd / self.params.gain_unit.0 as f64)
    }

    /// Gi Ru for a byte of Fb, b/s.
    fn gi_ru(&self, message: &Message) -> f64 {
        let formula = || self.line / 10.0 / ((1.0 + 2.0 * self.params.w) * message.qeq as f64);
        let (ru, unit) = (self.params.ru.0 as f64, self.params.gain_unit.0 as f64);
        self.params.gi.map_or_else(formula, |gi| gi * ru / unit)
    }
}
