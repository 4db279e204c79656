//! The DCTCP of the HPCC ns-3 code (`rdma-hw`, CC_MODE 8): a rate instead of a congestion window.
//!
//! ```text
//! acknowledgement of ack      marks += 1 if it is marked
//!   ack > last_update, which is a new batch:
//!                             not the first: alpha = (1-g) alpha + g min(1, marks / batch); marks = 0
//!                             batch = packets from ack (at the first: from 0) to snd_nxt, and 1;  last_update = snd_nxt
//!   CWR, and ack > high:      CWR ends
//!   marked, and not CWR:      R = R (1 - alpha/2); CWR begins; high = snd_nxt
//!   new batch, and not CWR:   R = R + R_AI
//! always                      min_rate <= R <= line rate;  W = R T
//! ```
//!
//! R begins at the line rate. Losses change nothing.

use super::config::Params;
use crate::base_rtt;
use backwater_net::hooks::{Ack, Activity, FlowCx, FlowShape, FlowSide};
use backwater_net::packet::{DataHeader, Packet};
use backwater_net::{Bytes, Rate};

/// The sender of one flow.
#[derive(backwater_derive::State)]
pub struct Sender {
    /// R
    pub(super) rate: Rate,
    #[state(fixed)]
    line: Rate,
    /// \[bytes\]
    #[state(fixed)]
    payload: u64,
    pub(super) alpha: f64,
    /// marked acknowledgements of this batch, and its number of packets
    pub(super) marks: u64,
    pub(super) batch: u64,
    /// \[bytes\] snd_nxt, and its value when the batch began
    snd_nxt: u64,
    last_update: u64,
    /// \[bytes\] high, while CWR
    pub(super) cwr: Option<u64>,
    /// number of times that the rate was lowered
    cuts: u64,
    #[state(fixed)]
    params: Box<Params>,
}

impl Sender {
    pub(super) fn new(params: &Params, shape: &FlowShape) -> Sender {
        Sender {
            rate: shape.line,
            line: shape.line,
            payload: shape.payload.0.max(1),
            alpha: params.initial_alpha,
            marks: 0,
            batch: 0,
            snd_nxt: 0,
            last_update: 0,
            cwr: None,
            cuts: 0,
            params: Box::new(params.clone()),
        }
    }

    /// Returns whether a batch is over, and another begins.
    fn begin_batch(&mut self, ack: u64) -> bool {
        if ack <= self.last_update {
            return false;
        }
        let first = self.last_update == 0;
        if !first {
            let g = self.params.g;
            self.alpha = (1.0 - g) * self.alpha + g * (self.marks as f64 / self.batch as f64).min(1.0);
            self.marks = 0;
        }
        self.batch = (self.snd_nxt - if first { 0 } else { ack.min(self.snd_nxt) }) / self.payload + 1;
        self.last_update = self.snd_nxt;
        true
    }
}

// The specification.
#[backwater_derive::hooks]
impl FlowSide for Sender {
    #[inline(always)]
    fn rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    #[inline(always)]
    fn window(&self) -> Option<Bytes> {
        Some(base_rtt::window(self.rate, self.params.base_rtt))
    }

    #[inline(always)]
    fn on_send(&mut self, _: &mut FlowCx<'_>, pkt: &mut Packet) {
        self.snd_nxt = self.snd_nxt.max(pkt.data().map_or(0, DataHeader::end));
    }

    fn on_ack(&mut self, _: &mut FlowCx<'_>, ack: &Ack<'_>) {
        let Params { r_ai, min_rate, .. } = *self.params;
        self.marks += u64::from(ack.marked);
        let new_batch = self.begin_batch(ack.received);
        self.cwr = self.cwr.filter(|high| ack.received <= *high);
        if ack.marked && self.cwr.is_none() {
            let lower = Rate((self.rate.0 as f64 * (1.0 - self.alpha / 2.0)) as u64).max(min_rate.min(self.line));
            self.cuts += u64::from(lower < self.rate);
            self.rate = lower;
            self.cwr = Some(self.snd_nxt);
        }
        if new_batch && self.cwr.is_none() {
            self.rate = Rate(self.rate.0.saturating_add(r_ai.0)).min(self.line);
        }
    }

    fn activity(&self) -> Activity {
        Activity { acts: self.cuts, margin: None }
    }
}

#[cfg(test)]
mod tests;
