//! DCTCP — RFC 8257, "Data Center TCP"; Alizadeh et al., SIGCOMM 2010.
//!
//! Switches mark above a queue of K (see [`crate::ecn`], `kmin = kmax = K`); the receiver echoes each mark; the sender
//! estimates the share of its marked bytes, and once per window reduces its window by half that share. Everything else
//! is TCP's: slow start, congestion avoidance, and the halving after a loss (RFC 5681), which the transport detects and
//! repairs.
//!
//! ```text
//! ACK                   BytesAcked += acked; marked: BytesMarked += acked                                        3.3, 1 to 3
//!   past WindowEnd      M = BytesMarked / BytesAcked; Alpha = (1-g) Alpha + g M                                  3.3, 4 to 6
//!                       WindowEnd = SND.NXT; BytesAcked = BytesMarked = 0                                        3.3, 7 and 8
//!   marked, and not within the window of the last cut
//!                       cwnd = cwnd (1 - Alpha/2); ssthresh = cwnd                                               3.3, 9
//!   otherwise, and half of cwnd was in use
//!                       cwnd < ssthresh: cwnd += acked;   else: cwnd += SMSS acked / cwnd                        RFC 5681, 3.1
//! gap                   ssthresh = max(FlightSize/2, 2 SMSS); cwnd = ssthresh, once per window                   3.5; RFC 5681, 3.2
//! timeout               the same ssthresh; cwnd = SMSS                                                           3.5; RFC 5681, 3.1
//! ```
//!
//! That is `law = "rfc8257"`. [`ns3::Sender`] is the DCTCP of the HPCC ns-3 code, which has a rate instead of TCP's
//! window.
//!
//! # Not modelled
//! - handshakes, and with them the loss of a SYN
//! - CWR, and the receiver's state that waits for it
//! - pacing
//!
//! # Differences
//! - Marks are echoed exactly if each packet is acknowledged (`ack.every = 1`). With more packets per acknowledgement,
//!   one marked packet among them marks all its bytes. (Section 3.2 of the RFC acknowledges at once when marks begin or
//!   end.)
//! - Losses are those of the [transport](docs/modelling/connections.md): go-back-n or selective repeat with its
//!   timeout, not SACK with TCP's retransmission timer.
//! - The window grows by bytes acknowledged (RFC 3465), and only while the flow fills half of it (RFC 7661). Otherwise it would grow
//!   without end where the sender's own link is the bottleneck.
//! - The window counts payload, in whole packets.

mod config;
pub mod ns3;

use backwater_net::hooks::{
    Ack, Activity, CheckCx, Finding, FlowCx, FlowShape, FlowSide, Ineffective, Loss, Mechanism, Preset, Profile,
};
use backwater_net::packet::{DataHeader, Packet};
use backwater_net::{Bytes, Rate};
pub use config::{Law, Params};

/// The RFC's sender of one connection.
#[derive(backwater_derive::State)]
pub struct Window {
    /// \[bytes\] SMSS, and the narrowest window
    #[state(fixed)]
    smss: f64,
    #[state(fixed)]
    least: f64,
    #[state(fixed)]
    g: f64,
    /// \[bytes\] cwnd, ssthresh
    cwnd: f64,
    ssthresh: f64,
    /// DCTCP.Alpha
    alpha: f64,
    /// \[bytes\] SND.UNA, SND.NXT
    snd_una: u64,
    snd_nxt: u64,
    /// \[bytes\] DCTCP.BytesAcked, DCTCP.BytesMarked: within the window of observation
    bytes_acked: u64,
    bytes_marked: u64,
    /// \[bytes\] DCTCP.WindowEnd
    window_end: u64,
    /// \[bytes\] no further cut until this much is acknowledged
    cut_until: u64,
    /// number of times that the window was narrowed
    cuts: u64,
}

impl Window {
    fn new(params: &Params, shape: &FlowShape) -> Window {
        let smss = shape.payload.0 as f64;
        Window {
            smss,
            least: f64::from(params.min_window) * smss,
            g: params.g,
            cwnd: f64::from(params.initial_window) * smss,
            ssthresh: f64::INFINITY,
            alpha: params.initial_alpha,
            snd_una: 0,
            snd_nxt: 0,
            bytes_acked: 0,
            bytes_marked: 0,
            window_end: 0,
            cut_until: 0,
            cuts: 0,
        }
    }
}

// The specification.
#[backwater_derive::hooks]
impl FlowSide for Window {
    #[inline(always)]
    fn window(&self) -> Option<Bytes> {
        Some(Bytes((self.cwnd / self.smss).max(1.0) as u64 * self.smss as u64))
    }

    #[inline(always)]
    fn on_send(&mut self, _: &mut FlowCx<'_>, pkt: &mut Packet) {
        self.snd_nxt = self.snd_nxt.max(pkt.data().map_or(0, DataHeader::end));
    }

    fn on_ack(&mut self, _: &mut FlowCx<'_>, ack: &Ack<'_>) {
        let (acked, in_use) = (ack.received.saturating_sub(self.snd_una), self.is_in_use());
        self.snd_una = self.snd_una.max(ack.received);
        // RFC 8257 3.3, 1 to 3.
        self.bytes_acked += acked;
        self.bytes_marked += if ack.marked { acked } else { 0 };
        if self.snd_una > self.window_end {
            self.end_window();
        }
        if ack.marked && self.may_cut() {
            // RFC 8257 3.3, 9.
            self.ssthresh = (self.cwnd * (1.0 - self.alpha / 2.0)).max(self.least);
            self.cut(self.ssthresh);
        } else if in_use && self.may_cut() {
            self.grow(acked as f64);
        }
    }

    #[cold]
    fn on_loss(&mut self, _: &mut FlowCx<'_>, loss: Loss) {
        let timeout = matches!(loss, Loss::Timeout { .. });
        if !timeout && !self.may_cut() {
            return;
        }
        // RFC 8257 3.5; RFC 5681 3.1 and 3.2.
        self.ssthresh = (self.flight() as f64 / 2.0).max(self.least.max(2.0 * self.smss));
        self.cut(if timeout { self.smss } else { self.ssthresh });
    }

    fn activity(&self) -> Activity {
        Activity { acts: self.cuts, margin: None }
    }
}

impl Window {
    /// The window of observation has ended: the marked share goes into the estimate.
    fn end_window(&mut self) {
        if self.bytes_acked > 0 {
            // RFC 8257 3.3, 4 to 6.
            let m = self.bytes_marked as f64 / self.bytes_acked as f64;
            self.alpha = self.alpha * (1.0 - self.g) + self.g * m;
        }
        // RFC 8257 3.3, 7 and 8.
        self.window_end = self.snd_nxt;
        (self.bytes_acked, self.bytes_marked) = (0, 0);
    }

    fn grow(&mut self, acked: f64) {
        // RFC 5681 3.1: slow start, congestion avoidance.
        self.cwnd += if self.cwnd < self.ssthresh { acked } else { self.smss * acked / self.cwnd };
    }

    fn cut(&mut self, to: f64) {
        self.cuts += 1;
        self.cwnd = to;
        self.cut_until = self.snd_nxt;
    }

    /// Returns whether everything sent before the last cut has been acknowledged: later marks belong to the window after it.
    fn may_cut(&self) -> bool {
        self.snd_una >= self.cut_until
    }

    /// FlightSize
    fn flight(&self) -> u64 {
        self.snd_nxt - self.snd_una.min(self.snd_nxt)
    }

    /// RFC 7661 section 4.3: the flow fills at least half of its window.
    fn is_in_use(&self) -> bool {
        2.0 * self.flight() as f64 >= self.cwnd
    }
}

/// The sender of one connection.
#[derive(backwater_derive::State)]
pub enum Sender {
    /// As in the RFC.
    Window(#[state(within)] Window),
    /// As in the public ns-3 code.
    Rate(#[state(within)] ns3::Sender),
}

#[backwater_derive::hooks]
impl FlowSide for Sender {
    #[inline(always)]
    fn rate(&self) -> Option<Rate> {
        match self {
            Sender::Window(_) => None,
            Sender::Rate(sender) => sender.rate(),
        }
    }

    #[inline(always)]
    fn window(&self) -> Option<Bytes> {
        match self {
            Sender::Window(sender) => sender.window(),
            Sender::Rate(sender) => sender.window(),
        }
    }

    #[inline(always)]
    fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {
        match self {
            Sender::Window(sender) => sender.on_send(cx, pkt),
            Sender::Rate(sender) => sender.on_send(cx, pkt),
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        match self {
            Sender::Window(sender) => sender.on_ack(cx, ack),
            Sender::Rate(sender) => sender.on_ack(cx, ack),
        }
    }

    #[cold]
    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
        if let Sender::Window(sender) = self {
            sender.on_loss(cx, loss);
        }
    }

    fn activity(&self) -> Activity {
        match self {
            Sender::Window(sender) => sender.activity(),
            Sender::Rate(sender) => sender.activity(),
        }
    }
}

/// DCTCP.
pub enum Dctcp {}

#[backwater_derive::mechanism]
impl Mechanism for Dctcp {
    const NAME: &'static str = "dctcp";
    const DEFINED_BY: &'static str = "RFC 8257; Alizadeh et al., SIGCOMM 2010";
    const SUMMARY: &'static str = "narrows each flow's window by the share of its bytes that is marked";
    const INACTIVE: &'static str = "never narrowed a window, since no mark and no loss reached it";
    const PRESETS: &'static [Preset] = config::PRESETS;
    type Flow = Sender;

    fn idle(params: &Params) -> &'static str {
        match params.law {
            Law::Rfc8257 => Self::INACTIVE,
            Law::Ns3 => "never lowered a rate, since no mark reached it",
        }
    }

    fn profile(_: &Params) -> Profile {
        config::profile()
    }

    fn ineffective(params: &Params) -> Vec<Ineffective> {
        config::ineffective(params)
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<Sender> {
        Some(match params.law {
            Law::Rfc8257 => Sender::Window(Window::new(params, shape)),
            Law::Ns3 => Sender::Rate(ns3::Sender::new(params, shape)),
        })
    }
}

#[cfg(test)]
mod tests;
