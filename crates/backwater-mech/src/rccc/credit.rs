//! The bytes that a sender of RCCC may send: credit that its receiver pulls, apart from any run.
//!
//! Symbols and rules are those of UEC 1.0 and of `htsim_uec` (ultraethernet/uet-htsim, commit 40ccb052).
//!
//! ```text
//! at first           credit = maxwnd, speculating
//! any answer         speculating: credit = min(credit, 0), and it is over
//! pull k             k > pull: credit = min(credit + (k - pull) Q, maxwnd),  pull = k
//! packet of n bytes  sent if credit > 0;  credit -= n,  and it carries a target:
//!                    want = min(backlog, maxwnd, cwnd + mtu where there is a window) - credit
//!                    speculating, want < mtu, new data left: want = mtu
//!                    k flows of the interface wait to send: want /= k
//!                    target = ceil((want + pull Q) / Q)
//! request to send    carries the target of the packet before it, at least pull + 1
//! ```
//!
//! Q = 256 B is the quantum of pulls. Bytes count headers.

/// Q: bytes of a credit quantum.
pub const QUANTUM: i64 = 256;

/// The state of the flow when a packet leaves.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// \[bytes\] The packet.
    pub bytes: u64,
    /// \[bytes\] New data left after it.
    pub backlog: u64,
    /// \[bytes\] Data to be retransmitted, left after it.
    pub rtx_backlog: u64,
    /// \[bytes\] The flow's window, where it has one.
    pub cwnd: Option<u64>,
    /// Flows of the interface that wait to send, this one among them.
    pub waiting: u32,
}

/// The credit of one flow.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Credit {
    mtu: i64,
    maxwnd: i64,
    credit: i64,
    pull: i64,
    /// The target of the last packet.
    target: u64,
    speculating: bool,
}

impl Credit {
    /// The credit of a new flow: it speculates with `maxwnd` bytes. `mtu` is a full packet with its headers, in bytes. Pulls count from
    /// `base`.
    pub fn new(mtu: u64, maxwnd: u64, base: u64) -> Credit {
        let [mtu, maxwnd, base] = [mtu, maxwnd, base].map(|n| n as i64);
        Credit { mtu, maxwnd, credit: maxwnd, pull: base, target: 0, speculating: true }
    }

    /// \[bytes\] Negative by up to a packet.
    pub fn bytes(&self) -> i64 {
        self.credit
    }
    /// \[quanta\] Position up to which the receiver has pulled.
    pub fn pulled(&self) -> u64 {
        self.pull.max(0) as u64
    }
    /// Returns whether it sends without pulls.
    pub fn speculates(&self) -> bool {
        self.speculating
    }
    /// Returns whether a packet may leave. Any positive credit suffices for a whole one.
    pub fn may_send(&self) -> bool {
        self.credit > 0
    }

    /// A packet leaves. Returns its target, in quanta.
    pub fn on_send(&mut self, sent: &Sent) -> u64 {
        self.credit -= sent.bytes as i64;
        self.target = self.target_of(sent);
        self.target
    }

    /// The target of a request to send. It requests something, whatever the last packet's target.
    pub fn requested(&self) -> u64 {
        self.target.max(self.pulled() + 1)
    }

    fn target_of(&self, sent: &Sent) -> u64 {
        let all = (sent.backlog + sent.rtx_backlog) as i64;
        let window = sent.cwnd.map_or(i64::MAX, |cwnd| cwnd as i64 + self.mtu);
        let mut want = all.min(window).min(self.maxwnd) - self.credit;
        if self.speculating && want < self.mtu && sent.backlog > 0 {
            want = self.mtu;
        }
        want /= i64::from(sent.waiting.max(1));
        // A target may be lower than the one before: the receiver keeps the highest.
        let target = self.pull * QUANTUM + want;
        (target.div_euclid(QUANTUM) + i64::from(target.rem_euclid(QUANTUM) > 0)).max(0) as u64
    }

    /// Any answer has arrived: an acknowledgement, one to a trimmed packet, or a pull. The unused part of speculation is forfeited.
    pub fn on_answer(&mut self) {
        if self.speculating {
            self.speculating = false;
            self.credit = self.credit.min(0);
        }
    }

    /// The receiver has pulled up to this number.
    pub fn on_pull(&mut self, number: u64) {
        self.on_answer();
        let number = number as i64;
        if number > self.pull {
            self.credit = (self.credit + (number - self.pull) * QUANTUM).min(self.maxwnd);
            self.pull = number;
        }
    }
}
