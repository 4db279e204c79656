//! Parameters of PFC, the scenario's table `pfc`, and the thresholds that follow from it.

use crate::mac_control::{Counter, Signal};
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::config::Architecture;
use backwater_net::hooks::{Finding, MemoryCx};
use backwater_net::occupancy::shared_memory;
use backwater_net::packet::class_bits;
use backwater_net::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Action of the watchdog on a queue that has been paused for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Drops the waiting frames, and arriving ones until the queue is restored.
    Drop,
    /// Sends the frames in spite of the neighbour's pause.
    Forward,
}

/// How the pause threshold is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Threshold {
    /// Fixed levels: `xoff` and `xon`.
    Static,
    /// `alpha` times the free shared memory.
    Dynamic,
}

/// Parameters of PFC.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Classes with PFC, each 0 to 7.
    #[param(
        default = vec![3], each = 0..=7, alias = "pfc-enabled-priorities",
        source = "choice: RoCEv2 deployments commonly use 3", why = "there is no such class"
    )]
    pub classes: Vec<u8>,
    /// Form of the pause threshold: `static` (`xoff`, `xon`) or `dynamic` (`alpha` times the free shared memory).
    #[param(default = Threshold::Static, source = "choice")]
    pub threshold: Threshold,
    /// Port rate for which `xoff`, `xon` and `alpha` are given; they scale in proportion at ports of other rates. Absent: the same values
    /// at all ports.
    #[param(
        symbol = "C0", range = Rate(1).., source = "HPCC ns-3 configuration: an alpha of 1/8 at 100 Gb/s, 1/2 at 400 Gb/s",
        why = "no port has a rate of zero"
    )]
    pub reference_rate: Option<Rate>,
    /// Static threshold: bytes above which the class is paused. Absent: must be given where `threshold` is `static`.
    #[param(
        symbol = "XOFF", range = Bytes(1).., up_to = "below the buffer, less the headroom",
        source = "SFC-AIDC 2025 (contribution on IEEE P802.1Qdw); IEEE 802.1Q leaves it to the implementer"
    )]
    pub xoff: Option<Bytes>,
    /// Static threshold: bytes below which the class resumes. Absent: `xoff` less 8 KB.
    #[param(symbol = "XON", range = Bytes::ZERO..=xoff, source = "choice: two frames of 4 KB", why = "a pause would be lifted at once")]
    pub xon: Option<Bytes>,
    /// Dynamic threshold: a port's class is paused when its reserve is used and its bytes beyond it reach this times the free shared memory.
    #[param(symbol = "alpha", default = 0.125, range = 0.0..=64.0, source = "HPCC ns-3 switch-mmu: shift 3")]
    pub alpha: f64,
    /// Dynamic threshold: the class resumes when its bytes beyond the reserve are this far below the threshold.
    #[param(default = Bytes(3_000), range = Bytes::ZERO.., source = "HPCC ns-3 switch-mmu: 3 KB")]
    pub xon_offset: Bytes,
    /// Bytes that the threshold applies to. `ingress`: those of a class that arrived at one port; pauses the neighbour at that port
    /// (802.1Q). `egress`: those in one egress queue; pauses the neighbours at all other ports (a pure output-queued switch). `queue`: the
    /// same bytes as `egress`; pauses only neighbours whose frames join that queue, in the class of these frames on arrival.
    #[param(default = Counter::Ingress, source = "IEEE 802.1Q clause 36: ingress")]
    pub counter: Counter,
    /// How pauses are signalled: `timed` (a frame with a pause time, refreshed at half of it), `on-off` (a frame that holds until the next
    /// one) or `ideal` (no frame, propagation delay only).
    #[param(default = Signal::Timed, source = "IEEE 802.3 annex 31D; ideal: as htsim")]
    pub signal: Signal,
    /// Pause time in each frame, in quanta of 512 bit times.
    #[param(
        symbol = "time[i]", unit = "512 bit times", default = u16::MAX, range = 1..=65535, source = "IEEE 802.3 annex 31D",
        why = "such a pause is none"
    )]
    pub quanta: u16,
    /// Time from the receipt of a PFC frame until the receiver obeys it.
    #[param(default = Time::ZERO, range = Time::ZERO.., source = "IEEE 802.3 annex 31D bounds it from above")]
    pub response: Time,
    /// Watchdog of switches: detection time. If the neighbour pauses a queue with frames for this long without a break, the switch drops or
    /// sends these frames (`watchdog_action`). Absent: off.
    #[param(
        symbol = "T", range = Time(1).., source = "SONiC PFC watchdog: 200 ms; absent: choice, 802.1Q has none",
        why = "a watchdog that waits for no time would give up every queue"
    )]
    pub watchdog: Option<Time>,
    /// Watchdog: quiet time before a queue is restored. Quiet means that no frame pauses or resumes the queue, and no pause is in force.
    /// Absent: as long as `watchdog`.
    #[param(symbol = "R", range = Time(1).., source = "SONiC PFC watchdog: as its detection time, 200 ms", why = "it would be restored at once")]
    pub watchdog_restore: Option<Time>,
    /// Watchdog: `drop` (drops the waiting frames, and arriving ones until the queue is restored) or `forward` (the queue sends in spite of
    /// the pause). With `lossless` the first dropped frame ends the run, and `forward` is an error.
    #[param(symbol = "action", default = Action::Drop, source = "SONiC PFC watchdog: drop")]
    pub watchdog_action: Action,
    /// Watchdog: interval between looks at the queues, counted from the start of the run. Detection and quiet times last whole intervals.
    /// Absent: it looks all the time.
    #[param(
        symbol = "P", range = Time(1).., source = "SONiC, pfcwd: 200 ms for up to 32 ports; absent: choice",
        why = "it cannot look at no interval"
    )]
    pub watchdog_poll: Option<Time>,
    /// Needs `watchdog_poll`. If true, a port hears no PFC frame while all of its classes are stormed, given up by the watchdog. The watchdog
    /// takes this time for quiet.
    #[param(
        default = false,
        source = "choice; true: Broadcom Tomahawk 4 to 6 under SONiC (sonic-buildimage issue 29203)"
    )]
    pub watchdog_blind: bool,
}

impl Params {
    pub(super) fn xoff(&self) -> Bytes {
        self.xoff.unwrap_or(Bytes::MAX)
    }

    pub(super) fn xon(&self) -> Bytes {
        self.xon.unwrap_or(self.xoff().saturating_sub(Bytes(8_000)))
    }

    /// Bytes of a class from one port of `rate` at which it is paused, if nothing else takes any of `shared` memory:
    ///
    /// ```text
    /// static: xoff      dynamic: q = alpha (shared - q), so q = shared alpha / (1 + alpha)
    /// ```
    ///
    /// With `switch.alpha_port`, a = alpha alpha_port / (1 + alpha) takes the place of alpha: `q = alpha (alpha_port (shared - q) - q)`.
    /// Other bytes lower a dynamic threshold further. `None`: static, and without `xoff`.
    pub(super) fn first_pause(&self, rate: Rate, shared: Bytes, alpha_port: Option<f64>) -> Option<Bytes> {
        let at = self.thresholds(rate);
        let alpha = alpha_port.map_or(at.alpha, |port| at.alpha * port / (1.0 + at.alpha));
        match self.threshold {
            Threshold::Static => self.xoff.map(|_| at.xoff),
            Threshold::Dynamic => Some(Bytes((shared.0 as f64 * alpha / (1.0 + alpha)) as u64)),
        }
    }

    /// The least of that at the ports of a switch, and the key that decides it.
    pub(super) fn pause_threshold(&self, cx: &MemoryCx<'_>) -> Option<(Bytes, &'static str)> {
        if cx.class.is_some_and(|class| !self.classes.contains(&class)) {
            return None;
        }
        let (shared, beside, key) = match self.threshold {
            Threshold::Static => (Bytes::ZERO, Bytes::ZERO, "xoff"),
            // An ingress cannot know which memory its frames will take, so a share of it pauses nothing.
            Threshold::Dynamic if !cx.switch.buffer_per.is_carved() => return None,
            Threshold::Dynamic => {
                let pools = shared_memory(cx.switch, cx.rates, cx.kept)?;
                let all = self.class_bits() & !cx.switch.reserved_classes() == 0;
                (Bytes(pools.into_iter().min()?), if all { cx.switch.reserve } else { Bytes::ZERO }, "alpha")
            }
        };
        let port = cx.switch.alpha_port.filter(|_| cx.switch.architecture == Architecture::SharedMemory);
        let limit = cx.rates.iter().filter_map(|rate| self.first_pause(*rate, shared, port)).min()?;
        Some((limit + beside, key))
    }

    /// The thresholds at a port of `rate`.
    pub(super) fn thresholds(&self, rate: Rate) -> Thresholds {
        let share = self.reference_rate.map_or(1.0, |reference| rate.0 as f64 / reference.0.max(1) as f64);
        Thresholds {
            xoff: self.xoff().at_rate(rate, self.reference_rate),
            xon: self.xon().at_rate(rate, self.reference_rate),
            alpha: self.alpha * share,
        }
    }

    /// A watchdog may break a promise, and parameters without a watchdog do nothing.
    pub(super) fn watchdog_findings(&self, lossless: bool) -> Vec<Finding> {
        if self.watchdog.is_none() && self.watchdog_restore.is_some() {
            return vec![Finding {
                fatal: true,
                key: "watchdog_restore",
                reason: "there is no watchdog to be restored from".into(),
                hint: "give `watchdog`, the detection time, too".into(),
            }];
        }
        if self.watchdog.is_none() && self.watchdog_poll.is_some() {
            return vec![Finding {
                fatal: true,
                key: "watchdog_poll",
                reason: "there is no watchdog that could look".into(),
                hint: "give `watchdog`, the detection time, too".into(),
            }];
        }
        if self.watchdog_blind && self.watchdog_poll.is_none() {
            return vec![Finding {
                fatal: true,
                key: "watchdog_blind",
                reason: "a watchdog without an interval does not count frames by intervals".into(),
                hint: "give `watchdog` and `watchdog_poll`, too".into(),
            }];
        }
        if !lossless || self.watchdog.is_none() {
            return Vec::new();
        }
        vec![match self.watchdog_action {
            Action::Drop => Finding {
                fatal: false,
                key: "watchdog",
                reason: "the scenario is lossless, and a watchdog that drops a frame will end the run".into(),
                hint: "leave out `watchdog`, or `lossless`".into(),
            },
            // Frames that leave in spite of a pause continue as long as the watchdog forwards: no headroom covers that.
            Action::Forward => Finding {
                fatal: true,
                key: "watchdog_action",
                reason: "the scenario is lossless, and a watchdog that sends in spite of a pause fills the headroom of the neighbour \
                         that paused: it drops what it has no room for"
                    .into(),
                hint: "leave out `watchdog`, or `lossless`".into(),
            },
        }]
    }

    pub(super) fn class_bits(&self) -> u8 {
        class_bits(&self.classes)
    }
}

/// The thresholds of one port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    /// \[bytes\] pause above
    pub xoff: Bytes,
    /// \[bytes\] resume below
    pub xon: Bytes,
    /// dynamic: share of the free shared memory
    pub alpha: f64,
}
