//! TIMELY — Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015.
//!
//! The sender measures round trips. As long as they are short its rate grows, when they are long it shrinks with their length; between
//! the two it follows their gradient: it grows while queues drain, and shrinks in proportion to how fast they build up.
//!
//! ```text
//! once per completion event, of a segment or of a round trip's packets                                          algorithm 1
//!   new_rtt_diff = new_rtt - prev_rtt;   prev_rtt = new_rtt
//!   rtt_diff = (1 - alpha) rtt_diff + alpha new_rtt_diff;   normalized_gradient = rtt_diff / minRTT
//!   new_rtt < T_low:            rate += delta
//!   new_rtt > T_high:           rate *= 1 - beta (1 - T_high / new_rtt)
//!   normalized_gradient <= 0:   rate += N delta;   N = 5 from the fifth such event in a row on (HAI), else 1
//!   otherwise:                  rate *= 1 - beta normalized_gradient, not below 0
//! always                        min_rate <= rate <= line rate
//! ```
//!
//! The first event only stores `prev_rtt`. A round trip is the time from a packet's sending to its acknowledgement.
//!
//! The law has no single fixed point: flows that share a link keep whatever shares they have come to (Zhu et al., CoNEXT 2016).
//!
//! # Not modelled
//! - the time stamp that packets carry: `packet.header` counts what it adds (8 B in the ns-3 code)
//! - segments that go out in one burst (the paper's engine sends a segment at line rate, and rests): packets are paced
//! - the share of the link with which the paper's flows begin: they begin at line rate, as in the ns-3 code
//!
//! # Differences
//! - A round trip is that of an event's last packet. That leaves out the segment's own serialisation, as in the paper.
//! - A new rate moves a packet that already waits for its turn. In the ns-3 code it does not.

mod config;

use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::hooks::{
    Ack, Activity, Claims, FlowCx, FlowShape, FlowSide, Margin, Mechanism, Needs, Preset, Profile, Unit,
};
use backwater_net::packet::{DataHeader, Packet};
pub use config::{Event, HaiCounts, Params};

/// The sender of one flow.
#[derive(backwater_derive::State)]
pub struct Sender {
    rate: Rate,
    #[state(fixed)]
    line: Rate,
    /// \[bytes\] end of the furthest packet that has been sent
    sent: u64,
    /// \[bytes\] the next event is due when more than this, or (segments) as much, has been acknowledged
    due: u64,
    prev_rtt: Option<Time>,
    /// \[ps\] moving average
    rtt_diff: f64,
    /// increases in a row that count for HAI
    stage: u32,
    /// number of times that the rate was lowered
    cuts: u64,
    /// the longest round trip of an event
    longest: Time,
    #[state(fixed)]
    params: Box<Params>,
}

// The specification.
#[backwater_derive::hooks]
impl FlowSide for Sender {
    #[inline(always)]
    fn rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    #[inline(always)]
    fn on_send(&mut self, _: &mut FlowCx<'_>, pkt: &mut Packet) {
        self.sent = self.sent.max(pkt.data().map_or(0, DataHeader::end));
        if self.due == 0 && self.params.event == Event::Segment {
            self.due = self.params.segment.0;
        }
    }

    fn on_ack(&mut self, _: &mut FlowCx<'_>, ack: &Ack<'_>) {
        let completes = match self.params.event {
            Event::Segment => ack.received >= self.due,
            Event::RoundTrip => ack.received > self.due,
        };
        if !completes {
            return;
        }
        self.due = match self.params.event {
            Event::Segment => ack.received + self.params.segment.0,
            Event::RoundTrip => self.sent,
        };
        self.longest = self.longest.max(ack.rtt);
        if let Some(prev_rtt) = self.prev_rtt.replace(ack.rtt) {
            self.completion_event(ack.rtt, prev_rtt);
        }
    }

    fn activity(&self) -> Activity {
        let (peak, threshold) = (self.longest.0, self.params.t_low.0);
        Activity {
            acts: self.cuts,
            margin: Some(Margin { of: "longest round trip", unit: Unit::Time, peak, threshold }),
        }
    }
}

impl Sender {
    /// Algorithm 1.
    fn completion_event(&mut self, new_rtt: Time, prev_rtt: Time) {
        let Params { alpha, beta, t_low, t_high, min_rtt, .. } = *self.params;
        let new_rtt_diff = new_rtt.0 as f64 - prev_rtt.0 as f64;
        self.rtt_diff = (1.0 - alpha) * self.rtt_diff + alpha * new_rtt_diff;
        let normalized_gradient = self.rtt_diff / min_rtt.0 as f64;
        // Algorithm 1: T_low, T_high, and the gradient between them.
        if new_rtt < t_low {
            self.increase(self.params.hai_counts == HaiCounts::Increases);
        } else if new_rtt > t_high {
            self.decrease(1.0 - beta * (1.0 - t_high.0 as f64 / new_rtt.0 as f64));
        } else if normalized_gradient <= 0.0 {
            self.increase(true);
        } else {
            self.decrease((1.0 - beta * normalized_gradient).max(0.0));
        }
    }

    /// Algorithm 1, HAI: adds `delta`, or `hai` after enough counted increases in a row.
    fn increase(&mut self, counts: bool) {
        let by = if counts && self.stage >= self.params.hai_after { self.params.hai } else { self.params.delta };
        self.stage = if counts { self.stage.saturating_add(1) } else { 0 };
        self.rate = Rate(self.rate.0.saturating_add(by.0)).min(self.line);
    }

    /// Leaves `share` of the rate.
    fn decrease(&mut self, share: f64) {
        self.stage = 0;
        let lower = Rate((self.rate.0 as f64 * share) as u64).max(self.params.min_rate.min(self.line));
        self.cuts += u64::from(lower < self.rate);
        self.rate = lower;
    }
}

/// TIMELY.
pub enum Timely {}

#[backwater_derive::mechanism]
impl Mechanism for Timely {
    const NAME: &'static str = "timely";
    const DEFINED_BY: &'static str = "Mittal et al., SIGCOMM 2015";
    const SUMMARY: &'static str =
        "adapts each flow's rate by the length of its round trips and by how fast they change";
    const INACTIVE: &'static str = "never lowered a rate";
    const PRESETS: &'static [Preset] = config::PRESETS;
    type Flow = Sender;

    fn profile(_: &Params) -> Profile {
        Profile {
            claims: Claims { flow_rate: true, ..Claims::NONE },
            needs: Needs { acks: true, ..Needs::default() },
            ..Profile::default()
        }
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<Sender> {
        Some(Sender {
            rate: shape.line,
            line: shape.line,
            sent: 0,
            due: 0,
            prev_rtt: None,
            rtt_diff: 0.0,
            stage: 0,
            cuts: 0,
            longest: Time::ZERO,
            params: Box::new(params.clone()),
        })
    }
}

#[cfg(test)]
mod tests;
