//! The law of NSCC's window, apart from any run: acknowledgements, trims and timeouts in, a window out.
//!
//! Symbols and rules are those of UEC 1.0, 3.6.13, and of `htsim_uec` (ultraethernet/uet-htsim, commit 40ccb052).
//!
//! ```text
//! BDP = base_rtt rate,  maxwnd = 1.5 BDP,  a = BDP at first / (100 Gb/s x 12 us),  b = T / 12 us
//! alpha = 4 mss a b / T    fi = 5 mss a    eta = 0.15 mss a    fi_scale = 0.25 a
//!
//! delay d of a sample, mark e:
//!     avg += (base_rtt/4 - avg)/80  if it is late and not marked,  (d - avg)/80  otherwise
//! ACK of n bytes, unless quick adapt has dealt with it:
//!     !e, d >= T:   inc += fi n                                                          fair increase
//!     !e, d < 1 us: once a window of them in a row:  cwnd += fi_scale n                  fast increase
//!     !e, d < T:    unless in fast increase:  inc += alpha n (T - d)                     proportional increase
//!      e, d >= T:   once per base_rtt, if avg > T:  cwnd *= max(1 - gamma (avg - T)/avg, 1/2)     multiplicative decrease
//!      e, d < T:    nothing: the load balancer turns away
//!     after 8 mtu or network_rtt:  cwnd += inc / cwnd;  once per network_rtt:  cwnd += eta
//! trim of n bytes: a sample of network_rtt, marked;  quick adapt, or  cwnd -= n
//! timeout of n bytes:  cwnd -= n
//! quick adapt, once per base_rtt + T: where something was lost or is very late (4 T), and less than maxwnd/8 was achieved
//!     meanwhile:  cwnd = what was achieved;  what is in flight by then is ignored as far as it is marked
//! always  mtu <= cwnd <= maxwnd
//!
//! UEC 1.0.3, as a public implementation reads it (`Variant::Uec103`):
//!     avg += w (d - avg),  w = min(1, time since the sample before / base_rtt)           for every sample
//!     an ACK whose round trip cannot be told only counts bytes;  a timeout counts among what is ignored
//!     quick adapt from the very end of its period on, and not for delay alone: switches trim
//! ```
//!
//! Bytes count headers. Numbers are rounded toward zero as in the program: windows to bytes, the mean delay to picoseconds, the increment
//! at every addition.

use backwater_engine::Time;
use backwater_net::{Bytes, Rate};

/// A smaller delay counts as none.
const NO_DELAY: Time = Time::us(1);
/// Weight of a sample in the mean delay: 1/80.
const DELAY_WEIGHT: f64 = 0.0125;
/// Factor of the base RTT towards which a late and unmarked sample pulls.
const LATE_UNMARKED: f64 = 0.25;
/// gamma: how strongly the mean delay cuts the window.
const GAMMA: f64 = 0.8;
/// Least factor of one cut.
const LEAST_FACTOR: f64 = 0.5;
/// Packets of `mtu` bytes between two adjustments.
const ADJUST_PACKETS: u64 = 8;
/// Multiple of T above which a delay is very late.
const QA_THRESHOLD: u64 = 4;
/// Quick adapt acts if less than maxwnd / 2^3 was achieved.
const QA_GATE: u64 = 8;
/// Scaling of the constants: 100 Gb/s for 12 us, and 12 us.
const REFERENCE_BDP: f64 = 150_000.0;
const REFERENCE_RTT: f64 = 12e6;

/// Width of the sum of increments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Accumulator {
    /// As many bits as needed.
    Exact,
    /// 32 bits that wrap, as in `htsim_uec`: at 800 Gb/s with four packets per acknowledgement they do.
    Wrapping32,
}

/// Rules to follow where the public program and the specification differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Those of `htsim_uec`.
    Htsim,
    /// UEC 1.0.3, as far as a public implementation that quotes it by clause shows it.
    Uec103,
}

/// The constants of the law for a flow.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Setting {
    /// Line rate of the sender.
    pub rate: Rate,
    /// \[bytes\] A full packet with its headers.
    pub mtu: u64,
    /// \[bytes\] Its payload.
    pub mss: u64,
    /// Round trip of a full packet and its acknowledgement through the idle network, for the longest way.
    pub network_rtt: Time,
    /// T, the target delay.
    pub target: Time,
    /// True if receivers give credit: they own the last hop, and a trim there does not cut the window.
    pub receiver_credit: bool,
    /// How increments are summed.
    pub accumulator: Accumulator,
    /// The rules.
    pub variant: Variant,
}

impl Setting {
    fn scale(&self) -> f64 {
        self.rate.bytes_in(self.network_rtt).0 as f64 / REFERENCE_BDP
    }
    fn fi(&self) -> f64 {
        5.0 * self.mss as f64 * self.scale()
    }
    fn eta(&self) -> f64 {
        0.15 * self.mss as f64 * self.scale()
    }
    fn fi_scale(&self) -> f64 {
        0.25 * self.scale()
    }
    /// \[bytes per ps\]
    fn alpha(&self) -> f64 {
        let t = self.target.0 as f64;
        4.0 * self.mss as f64 * self.scale() * (t / REFERENCE_RTT) / t
    }
}

/// The packet that determines a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timed {
    /// A packet of data: it may lower the base RTT.
    Data,
    /// A control packet, which may be faster than any data: a faster round trip is no sample of queues.
    Control,
    /// A probe: a faster round trip means no delay.
    Probe,
}

/// The input from an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Round trip of the packet that it answers; `None`: unknown, since the packet was sent more than once.
    pub rtt: Option<Time>,
    /// The packet of that round trip.
    pub of: Timed,
    /// True if the packet was marked.
    pub marked: bool,
    /// \[bytes\] Received since the previous acknowledgement.
    pub bytes: u64,
    /// \[bytes\] In flight, without what is acknowledged.
    pub in_flight: u64,
}

/// The answer to a trimmed packet.
#[derive(Clone, Copy, Debug)]
pub struct Trimmed {
    /// From the packet's transmission to this answer.
    pub rtt: Time,
    /// True if this may lower the base RTT. A header crosses the rest of the path sooner than a packet would.
    pub lowers_base: bool,
    /// \[bytes\] The packet, whole.
    pub bytes: u64,
    /// \[bytes\] In flight, the packet still counted.
    pub in_flight: u64,
    /// True if it was trimmed at the port to its receiver.
    pub last_hop: bool,
}

/// The window of one sender.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Window {
    setting: Setting,
    cwnd: u64,
    maxwnd: u64,
    base_rtt: Time,
    avg_delay: Time,
    inc: u64,
    /// \[bytes\] since the last adjustment, in this period of quick adapt, and since it last acted
    received: u64,
    achieved: u64,
    ignored: u64,
    to_ignore: u64,
    /// End of the period of quick adapt; zero: none has begun.
    qa_end: Time,
    trigger_qa: bool,
    fi_count: u64,
    increase: bool,
    last_dec: Time,
    last_adjust: Time,
    last_sample: Time,
}

impl Window {
    /// The window of a new flow: the widest possible, unless `at_first` \[bytes\] is narrower.
    pub fn new(setting: Setting, at_first: Option<Bytes>) -> Window {
        let mut window = Window {
            setting,
            cwnd: u64::MAX,
            maxwnd: 0,
            base_rtt: setting.network_rtt,
            avg_delay: Time::ZERO,
            inc: 0,
            received: 0,
            achieved: 0,
            ignored: 0,
            to_ignore: 0,
            qa_end: Time::ZERO,
            trigger_qa: false,
            fi_count: 0,
            increase: false,
            last_dec: Time::ZERO,
            last_adjust: Time::ZERO,
            last_sample: Time::ZERO,
        };
        window.has_base(setting.network_rtt);
        window.cwnd = at_first.map_or(window.maxwnd, |bytes| bytes.0);
        window.bound();
        window
    }

    /// \[bytes\] The window.
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }
    /// \[bytes\] The widest possible window now.
    pub fn maxwnd(&self) -> u64 {
        self.maxwnd
    }
    /// The least round trip so far.
    pub fn base_rtt(&self) -> Time {
        self.base_rtt
    }
    /// The mean delay.
    pub fn avg_delay(&self) -> Time {
        self.avg_delay
    }
    /// The increment of the next adjustment, times the window: bytes squared.
    pub fn increment(&self) -> u64 {
        self.inc
    }

    /// An acknowledgement has arrived.
    pub fn on_ack(&mut self, now: Time, ack: &Acked) {
        let (n, e) = (ack.bytes, ack.marked);
        self.received += n;
        self.achieved += n;
        self.ignored += n;
        if let Some(rtt) = ack.rtt.filter(|_| ack.of == Timed::Data) {
            self.lower_base(rtt);
        }
        let sample = ack.rtt.filter(|rtt| *rtt >= self.base_rtt).map(|rtt| rtt - self.base_rtt);
        if let Some(d) = sample {
            self.has_delay(now, d, e);
        }
        // UEC 1.0.3: without a round trip only bytes count.
        if ack.rtt.is_none() && self.follows_uec() {
            return;
        }
        let fast = ack.rtt.is_some() && ack.of == Timed::Probe;
        let d = sample.unwrap_or(if fast { Time::ZERO } else { self.avg_delay });
        if self.quick_adapt(now, false, e, d, ack.in_flight) {
            return;
        }
        let target = self.setting.target;
        if !e && d >= target {
            // UEC 1.0 3.6.13: fair increase.
            self.add(self.setting.fi() * n as f64);
        } else if !e {
            // UEC 1.0 3.6.13: proportional increase, or fast increase.
            self.clear_ack(n, d);
        } else if d >= target {
            // UEC 1.0 3.6.13: multiplicative decrease. Marked and not late: the load balancer chooses another path.
            self.late_ack(now);
        }
        self.bound();
        self.adjust(now);
        self.bound();
    }

    /// Neither marked nor late.
    fn clear_ack(&mut self, n: u64, d: Time) {
        if d < NO_DELAY {
            // UEC 1.0 3.6.13: fast increase. The limit of no delay is htsim_uec's.
            self.fi_count += n;
            self.increase |= self.fi_count > self.cwnd;
            if self.increase {
                self.cwnd = (self.cwnd as f64 + n as f64 * self.setting.fi_scale()) as u64;
            }
        } else {
            (self.fi_count, self.increase) = (0, false);
        }
        // UEC 1.0 3.6.13: proportional increase, in proportion to the distance from the target.
        if !self.increase {
            self.add(self.setting.alpha() * n as f64 * (self.setting.target - d).0 as f64);
        }
    }

    /// Marked and late.
    fn late_ack(&mut self, now: Time) {
        (self.fi_count, self.increase) = (0, false);
        let (avg, target) = (self.avg_delay, self.setting.target);
        // UEC 1.0 3.6.13: once a base RTT, by the mean delay.
        if avg > target && now.since(self.last_dec) > self.base_rtt {
            let factor = (1.0 - GAMMA * (avg - target).0 as f64 / avg.0 as f64).max(LEAST_FACTOR);
            self.cwnd = ((self.cwnd as f64 * factor) as u64).max(self.setting.mtu);
            self.last_dec = now;
        }
    }

    /// The answer to a trimmed packet has arrived.
    pub fn on_trim(&mut self, now: Time, trim: &Trimmed) {
        if trim.lowers_base {
            self.lower_base(trim.rtt);
        }
        self.ignored += trim.bytes;
        // A trim stands for a full queue.
        self.has_delay(now, self.setting.network_rtt, true);
        // UEC 1.0 3.6.13: quick adapt follows a loss.
        self.trigger_qa = true;
        if self.quick_adapt(now, true, true, Time::ZERO, trim.in_flight) {
            return;
        }
        // UEC 1.0 3.6.13: receiver credit owns the last hop.
        if !(self.setting.receiver_credit && trim.last_hop) {
            self.cwnd = self.cwnd.saturating_sub(trim.bytes);
            self.bound();
        }
    }

    /// No answer has arrived for a packet of so many bytes.
    pub fn on_timeout(&mut self, bytes: u64) {
        self.cwnd = self.cwnd.saturating_sub(bytes).max(self.setting.mtu);
        if self.follows_uec() {
            self.ignored += bytes;
        }
    }

    /// Returns whether this event needs no further handling.
    fn quick_adapt(&mut self, now: Time, lost: bool, e: bool, d: Time, in_flight: u64) -> bool {
        let mut acted = self.ignored < self.to_ignore && e;
        // UEC 1.0.3: from the very end of its period on; htsim_uec: after it.
        let over = if self.follows_uec() { now >= self.qa_end } else { now > self.qa_end };
        if !acted && over {
            // UEC 1.0.3: not for delay alone where switches trim; htsim_uec: everywhere.
            let late = d.0 > self.setting.target.0.saturating_mul(QA_THRESHOLD) && !self.follows_uec();
            let cause = self.trigger_qa || lost || late;
            // UEC 1.0 3.6.13: quick adapt to the achieved bytes.
            if self.qa_end != Time::ZERO && cause && self.achieved < self.maxwnd / QA_GATE {
                self.cwnd = self.achieved.max(self.setting.mtu);
                (self.to_ignore, self.ignored, self.trigger_qa) = (in_flight, 0, false);
                acted = true;
            }
            self.achieved = 0;
            self.qa_end = now.after(self.base_rtt).after(self.setting.target);
        }
        if acted {
            (self.inc, self.received) = (0, 0);
        }
        acted
    }

    fn adjust(&mut self, now: Time) {
        let since = now.since(self.last_adjust);
        if self.received <= ADJUST_PACKETS * self.setting.mtu && since <= self.setting.network_rtt {
            return;
        }
        self.cwnd += self.inc / self.cwnd;
        if since >= self.setting.network_rtt {
            self.cwnd = (self.cwnd as f64 + self.setting.eta()) as u64;
            self.last_adjust = now;
        }
        (self.inc, self.received) = (0, 0);
    }

    fn add(&mut self, increment: f64) {
        let sum = (self.inc as f64 + increment) as u64;
        self.inc = match self.setting.accumulator {
            Accumulator::Exact => sum,
            Accumulator::Wrapping32 => sum & u64::from(u32::MAX),
        };
    }

    fn follows_uec(&self) -> bool {
        self.setting.variant == Variant::Uec103
    }

    fn has_delay(&mut self, now: Time, d: Time, e: bool) {
        let uec = self.follows_uec();
        // htsim_uec: a late and unmarked sample pulls towards a quarter of the base RTT.
        let late = !e && d > self.setting.target && !uec;
        let towards = if late { LATE_UNMARKED * self.base_rtt.0 as f64 } else { d.0 as f64 };
        let since = now.since(self.last_sample).0 as f64 / self.base_rtt.0.max(1) as f64;
        // UEC 1.0.3: a mean over a base RTT; htsim_uec: 1/80 for each sample.
        let weight = if uec { since.min(1.0) } else { DELAY_WEIGHT };
        self.last_sample = now;
        let avg = weight * towards + (1.0 - weight) * self.avg_delay.0 as f64;
        self.avg_delay = Time(avg as u64);
    }

    fn lower_base(&mut self, rtt: Time) {
        if rtt < self.base_rtt {
            self.has_base(rtt);
        }
    }

    fn has_base(&mut self, rtt: Time) {
        self.base_rtt = rtt;
        let bdp = self.setting.rate.bytes_in(rtt).0;
        // htsim_uec: 1.5 BDP.
        self.maxwnd = bdp + bdp / 2;
    }

    fn bound(&mut self) {
        self.cwnd = self.cwnd.min(self.maxwnd).max(self.setting.mtu);
    }
}
