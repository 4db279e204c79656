//! The law of SLEEK, which finds losses that no switch reports, apart from any run: its input are acknowledgements, its output are packets
//! to retransmit and times of probes.
//!
//! Symbols and rules are those of `htsim_uec` (ultraethernet/uet-htsim, commit 40ccb052, `-sleek`).
//!
//! ```text
//! th = max(min(1.5 cwnd, maxwnd), 5 mss)
//!
//! ACK: all before cum have come, and ooo beyond the first that has not; next is the number of the packet that has not been sent
//!     cum < next, or something has never been sent:
//!         probe after base_rtt + T if all has been sent, after 3 base_rtt otherwise
//!     it answers a probe, with delay < T:                         recover up to next, resent = cum
//!     cum >= end of recovery:                                     recovery is over
//!     ooo >= th / mss, and nothing waits to be retransmitted:        recover up to next
//!     in recovery:  what is in flight of [cum, min(end, cum + cwnd/mss)), from resent on, is lost;  resent = the last of them + 1
//! probe: the next after 5 base_rtt, unless an ACK comes before
//! in recovery: what is retransmitted does not wait for the window;
//!     timeout of a packet sent once: nothing;  of one retransmitted: resent = that packet, if that is less
//!     timeout of a packet since whose start no ACK has come: recovery is over
//! ```
//!
//! So only an ACK sends packets beyond the window, at most cwnd/mss of them beyond cum. A timer retransmits nothing in a recovery, however
//! often it expires.
//!
//! **Differences:** a packet that a timeout leaves in flight has a timer again. In the program it has none any more, and after a timeout of
//! a packet that was retransmitted no timer runs before the next packet is sent: where no probe is answered, the flow hangs. Here a recovery
//! ends when no ACK has come for a whole timeout, probes unanswered. The packet is lost then as outside a recovery: it shrinks the window, and
//! its retransmission obeys it.

use backwater_engine::Time;

/// In halves of cwnd: so many bytes beyond a gap show a loss.
const LOSS_RETX_HALVES: u64 = 3;
/// Packets that must in any case have arrived beyond a gap.
const MIN_RETX: u64 = 5;
/// Round trips of silence before a probe, and between two probes.
const PROBE_FIRST: u64 = 3;
const PROBE_RETRY: u64 = 5;

/// The content of an acknowledgement, and the window after it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// cum: number of the first packet that has not arrived.
    pub cumulative: u64,
    /// ooo: packets that have arrived beyond it.
    pub beyond: u64,
    /// Number of the packet that is to be sent next for the first time.
    pub next: u64,
    /// True if packets wait to be retransmitted.
    pub has_retransmissions: bool,
    /// True if something has never been sent.
    pub unsent: bool,
    /// True if it answers a probe, and the delay is less than T: that of the last probe, or with an earlier one the mean.
    pub prompt: bool,
    /// \[bytes\] The window.
    pub cwnd: u64,
    /// \[bytes\] The widest that it may be.
    pub maxwnd: u64,
    /// The least round trip so far.
    pub base_rtt: Time,
}

/// The constants of a flow.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Setting {
    /// \[bytes\] Payload of a full packet.
    pub mss: u64,
    /// T, the target delay.
    pub target: Time,
}

/// The recovery of one sender.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Sleek {
    setting: Setting,
    /// Recovery lasts until all before this packet have arrived.
    until: Option<u64>,
    /// Packets before this one have already been declared lost.
    resent: u64,
    /// When the next probe is sent; never: none is.
    due: Time,
    /// The last probe, and when it was sent; 0: none was.
    probe: u64,
    asked: Time,
    /// When the last acknowledgement arrived.
    heard: Time,
}

impl Sleek {
    /// The state of a flow that has sent nothing.
    pub fn new(setting: Setting) -> Sleek {
        let (due, asked, heard) = (Time::NEVER, Time::ZERO, Time::ZERO);
        Sleek { setting, until: None, resent: 0, due, probe: 0, asked, heard }
    }

    /// Returns whether it recovers: retransmissions then do not wait for the window.
    pub fn recovers(&self) -> bool {
        self.until.is_some()
    }
    /// The packet up to which it recovers.
    pub fn until(&self) -> Option<u64> {
        self.until
    }
    /// The packet before which everything that may be lost has been declared lost.
    pub fn resent(&self) -> u64 {
        self.resent
    }
    /// Returns when the next probe is sent; never: none is.
    pub fn due(&self) -> Time {
        self.due
    }

    /// The round trip of a probe that is answered now. `None`: it was not the last.
    pub fn rtt_of(&self, probe: u64, now: Time) -> Option<Time> {
        (probe == self.probe).then(|| now.since(self.asked))
    }

    /// An acknowledgement has arrived, and the window has handled it. Returns the packets to be retransmitted, among those that are
    /// `under_way`.
    pub fn on_ack(&mut self, now: Time, seen: &Seen, under_way: impl Fn(u64) -> bool) -> Vec<u64> {
        let Setting { mss, target } = self.setting;
        let &Seen { cumulative, next, .. } = seen;
        self.heard = now;
        self.due = if cumulative >= next && !seen.unsent {
            Time::NEVER
        } else if seen.unsent {
            now.after(Time(seen.base_rtt.0.saturating_mul(PROBE_FIRST)))
        } else {
            now.after(seen.base_rtt).after(target)
        };
        if seen.prompt {
            (self.until, self.resent) = (Some(next), cumulative);
        }
        if self.until.is_some_and(|until| cumulative >= until) {
            self.until = None;
        }
        let enough = (seen.cwnd * LOSS_RETX_HALVES / 2).min(seen.maxwnd).max(MIN_RETX * mss) / mss;
        if self.until.is_none() && seen.beyond >= enough && !seen.has_retransmissions {
            self.until = Some(next);
        }
        let Some(until) = self.until else { return Vec::new() };
        let behind = cumulative.max(self.resent)..until.min(cumulative + seen.cwnd / mss);
        let lost: Vec<u64> = behind.filter(|number| under_way(*number)).collect();
        self.resent = lost.last().map_or(self.resent, |last| last + 1);
        lost
    }

    /// Sends a probe if it is due. Returns its number.
    pub fn on_timer(&mut self, now: Time, base_rtt: Time) -> Option<u64> {
        if self.due > now {
            return None;
        }
        self.probe += 1;
        self.asked = now;
        self.due = now.after(Time(base_rtt.0.saturating_mul(PROBE_RETRY)));
        Some(self.probe)
    }

    /// The timer of a packet, started at `since`, has expired; `retransmission` if the packet was sent more than once. Returns whether it
    /// is lost.
    pub fn timeout_is_loss(&mut self, number: u64, retransmission: bool, since: Time) -> bool {
        if self.heard < since {
            self.until = None;
        }
        if self.recovers() && retransmission {
            self.resent = self.resent.min(number);
        }
        !self.recovers()
    }
}
