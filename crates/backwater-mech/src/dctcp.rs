//! DCTCP — RFC 8257, "Data Center TCP"; Alizadeh et al., SIGCOMM 2010.
//!
//! Switches mark above a queue of K (see [`crate::ecn`], `kmin = kmax = K`); the receiver echoes each mark; the sender estimates what
//! share of its bytes is marked, and once per window takes half that share off its window. Everything else is TCP's: slow start,
//! congestion avoidance, and the halving after a loss (RFC 5681), which the transport notices and repairs.
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
//! **Not modelled:** handshakes, and with them the loss of a SYN; CWR and the receiver's state that waits for it; pacing.
//! **Where we differ:** marks are echoed exactly while each packet is acknowledged (`ack.every = 1`); with more, an acknowledgement
//! says that one of its packets was marked, and all its bytes count as marked (section 3.2 acknowledges at once when marks begin or
//! end). Losses are the transport's: go-back-N or selective repeat with its timeout, not SACK and a retransmission timer of TCP.
//! cwnd grows by bytes acknowledged (RFC 3465), and only while the flow fills half of it (RFC 7661): otherwise it would grow without end
//! where the sender's own link is the bottleneck. The window counts payload, in whole packets.

use backwater_derive::parameters;
use backwater_net::Bytes;
use backwater_net::hooks::{Absent, Ack, Claims, FlowCx, FlowShape, FlowSide, Loss, Mechanism, Needs, Profile, Reach};
use backwater_net::packet::{DataHeader, Packet};

/// Parameters of DCTCP.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Gain of the estimate of how much is marked.
    #[param(
        symbol = "g", default = 1.0 / 16.0, range = >0.0..=1.0, source = "RFC 8257 section 4.2",
        why = "such a gain never learns or overshoots"
    )]
    pub g: f64,
    /// Estimate of how much is marked before anything is known.
    #[param(symbol = "DCTCP.Alpha at first", default = 1.0, range = 0.0..=1.0, source = "RFC 8257 section 3.3")]
    pub initial_alpha: f64,
    /// Window of a new flow, in packets of full length.
    #[param(symbol = "IW", default = 10, range = 1.., source = "RFC 6928: 10", why = "a flow without a window never sends")]
    pub initial_window: u32,
    /// Narrowest window after a mark or a reported gap, in packets of full length. After a timeout it is one packet.
    #[param(default = 2, range = 1.., source = "RFC 5681 equation 4: 2", why = "a flow without a window never sends")]
    pub min_window: u32,
}

/// DCTCP.
pub enum Dctcp {}

impl Mechanism for Dctcp {
    const NAME: &'static str = "dctcp";
    const DEFINED_BY: &'static str = "RFC 8257; Alizadeh et al., SIGCOMM 2010";
    const SUMMARY: &'static str = "narrows each flow's window by the share of its bytes that is marked";
    const IDLE: &'static str = "never narrowed a window, since no mark and no loss reached it";
    type Params = Params;
    type Shared = ();
    type Switch = Absent;
    type Nic = Absent;
    type Flow = Sender;

    fn profile(_: &Params) -> Profile {
        Profile {
            claims: Claims { flow_rate: true, ..Claims::NONE },
            needs: Needs { marks: true, acks: true, window: true, ..Needs::default() },
            ..Profile::default()
        }
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<Sender> {
        let smss = shape.payload.0 as f64;
        Some(Sender {
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
        })
    }
}

/// The sender of one connection.
#[derive(backwater_derive::State)]
pub struct Sender {
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
    /// \[bytes\] no further cut until this is acknowledged
    cut_until: u64,
    /// times that the window was narrowed
    cuts: u64,
}

// The specification.
impl FlowSide for Sender {
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
        self.bytes_acked += acked;
        self.bytes_marked += if ack.marked { acked } else { 0 };
        if self.snd_una > self.window_end {
            self.end_window();
        }
        if ack.marked && self.may_cut() {
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
        self.ssthresh = (self.flight() as f64 / 2.0).max(self.least.max(2.0 * self.smss));
        self.cut(if timeout { self.smss } else { self.ssthresh });
    }

    fn reach(&self) -> Reach {
        Reach { acts: self.cuts, margin: None }
    }
}

impl Sender {
    /// The window of observation is over: what share of it was marked goes into the estimate.
    fn end_window(&mut self) {
        if self.bytes_acked > 0 {
            let m = self.bytes_marked as f64 / self.bytes_acked as f64;
            self.alpha = self.alpha * (1.0 - self.g) + self.g * m;
        }
        self.window_end = self.snd_nxt;
        (self.bytes_acked, self.bytes_marked) = (0, 0);
    }

    fn grow(&mut self, acked: f64) {
        self.cwnd += if self.cwnd < self.ssthresh { acked } else { self.smss * acked / self.cwnd };
    }

    fn cut(&mut self, to: f64) {
        self.cuts += 1;
        self.cwnd = to;
        self.cut_until = self.snd_nxt;
    }

    /// What was sent before the last cut has been acknowledged: what is told now is of the window after it.
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

#[cfg(test)]
mod tests;
