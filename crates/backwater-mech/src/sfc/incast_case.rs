//! The question for the advice on Source Flow Control: an N:1 incast, and the given values.

use backwater_engine::Time;
use backwater_net::hooks::AdviceError;
use backwater_net::{Bytes, Rate};

/// An N:1 incast.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Senders into one port.
    pub senders: u64,
    /// Rate of the receiver's link.
    pub rate: Rate,
    /// Rates of the links from a sender to the receiver's switch, in order; empty: all have `rate`.
    pub rates: Vec<Rate>,
    /// Links from a sender to the receiver's switch.
    pub links: u64,
    /// Switches on the path, including the congested one.
    pub switches: u64,
    /// Propagation delay of a link.
    pub link_delay: Time,
    /// Processing delay of a switch.
    pub switch_latency: Time,
    /// True if a frame joins the congested queue behind that switch's latency: not with `switch.latency_at = "output"`.
    pub behind_latency: bool,
    /// The threshold of PFC.
    pub pfc_threshold: Bytes,
    /// True if it is that; otherwise it is the memory, beyond which frames are dropped.
    pub pauses: bool,
    /// The given SFC threshold; `None`: the largest legal one.
    pub threshold: Option<Bytes>,
    /// The given pause time.
    pub pause: Option<Time>,
    /// Time between two messages to one sender; `None`: the pause time.
    pub interval: Option<Time>,
    /// Largest frame; if given, serialisation is counted.
    pub packet: Option<Bytes>,
    /// Bytes per frame that only links count: they take time, but no room in a queue.
    pub gap: Bytes,
    /// Length of an SFC message on the wire; normally [`MESSAGE`].
    pub message: Bytes,
    /// The origin of the threshold.
    pub origin: &'static str,
}

impl Case {
    /// Returns the time of a frame on all links, one after the other.
    pub(super) fn on_links(&self, size: Bytes) -> Result<Time, AdviceError> {
        let time = match self.rates.is_empty() {
            true => self.at(self.rate, size).0.checked_mul(self.links),
            false => self.rates.iter().try_fold(0u64, |sum, rate| sum.checked_add(self.at(*rate, size).0)),
        };
        time.map(Time).ok_or_else(|| AdviceError::too_large("the loop time"))
    }

    /// Returns the time of a frame on a link, its gap included.
    pub(super) fn at(&self, rate: Rate, size: Bytes) -> Time {
        rate.time_for(Bytes(size.0.saturating_add(self.gap.0)))
    }

    /// Returns the derivation of that time.
    pub(super) fn on_each_link(&self, size: Bytes) -> String {
        let alike = |rates: &[Rate]| match (rates.len(), self.at(rates[0], size)) {
            (1, time) => time.to_string(),
            (many, time) => format!("{many} x {time}"),
        };
        let times = match self.rates.iter().all(|rate| *rate == self.rate) {
            true => format!("{} links x {}", self.links, self.at(self.rate, size)),
            false => self.rates.chunk_by(|a, b| a == b).map(alike).collect::<Vec<_>>().join(" + "),
        };
        let gap = if self.gap == Bytes::ZERO { String::new() } else { format!(" and {} of gap", self.gap) };
        format!("{times} for {size}{gap}")
    }

    /// Returns the limit for threshold and headroom.
    pub(super) fn limit(&self) -> &'static str {
        if self.pauses { "PFC threshold" } else { "memory" }
    }

    /// Returns the consequence of a queue that passes the limit.
    pub(super) fn passed(&self) -> &'static str {
        if self.pauses { "PFC may fire" } else { "frames may be dropped" }
    }
}

/// Length of an SFC message on the wire \[bytes\]: the default of `sfc.message_size`.
pub(super) const MESSAGE: Bytes = Bytes(116);

/// A threshold that was given, by option or by the scenario.
pub(super) const GIVEN: &str = "as given";
