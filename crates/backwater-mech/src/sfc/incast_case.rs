//! What `advise` is asked of Source Flow Control: an N:1 incast, and the values in mind.

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
    /// Rates of the links from a sender to the receiver's switch, in order; none: all have `rate`.
    pub rates: Vec<Rate>,
    /// Links from a sender to the receiver's switch.
    pub links: u64,
    /// Switches on the way, the congested one too.
    pub switches: u64,
    /// Propagation delay of a link.
    pub link_delay: Time,
    /// Processing delay of a switch.
    pub switch_latency: Time,
    /// Whether a frame joins the congested queue behind that switch's latency: not with `switch.latency_at = "output"`.
    pub behind_latency: bool,
    /// Where PFC pauses.
    pub pfc_threshold: Bytes,
    /// Whether it is that; otherwise it is the memory, beyond which frames are dropped.
    pub pauses: bool,
    /// The SFC threshold in mind; `None`: the largest legal one.
    pub threshold: Option<Bytes>,
    /// The pause time in mind.
    pub pause: Option<Time>,
    /// Time between two messages to one sender; `None`: the pause time.
    pub interval: Option<Time>,
    /// Largest frame; with it serialisation is counted too.
    pub packet: Option<Bytes>,
    /// Per frame that only links count: it takes time, and no room in a queue.
    pub gap: Bytes,
    /// Length of an SFC message on the wire; [`MESSAGE`] unless there is reason for another.
    pub message: Bytes,
    /// Where the threshold comes from.
    pub origin: &'static str,
}

impl Case {
    /// What a frame takes on all links together, each behind the other.
    pub(super) fn on_links(&self, size: Bytes) -> Result<Time, AdviceError> {
        let time = match self.rates.is_empty() {
            true => self.at(self.rate, size).0.checked_mul(self.links),
            false => self.rates.iter().try_fold(0u64, |sum, rate| sum.checked_add(self.at(*rate, size).0)),
        };
        time.map(Time).ok_or_else(|| AdviceError::too_large("the loop time"))
    }

    /// What a frame takes on a link, its gap included.
    pub(super) fn at(&self, rate: Rate, size: Bytes) -> Time {
        rate.time_for(Bytes(size.0.saturating_add(self.gap.0)))
    }

    /// How that comes about.
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

    /// What has to hold threshold and headroom.
    pub(super) fn limit(&self) -> &'static str {
        if self.pauses { "PFC threshold" } else { "memory" }
    }

    /// What comes of a queue that passes it.
    pub(super) fn passed(&self) -> &'static str {
        if self.pauses { "PFC may fire" } else { "frames may be dropped" }
    }
}

/// Length of an SFC message on the wire \[bytes\]: the default of `sfc.message_size`.
pub(super) const MESSAGE: Bytes = Bytes(116);

/// A threshold that was asked about, or is the scenario's.
pub(super) const GIVEN: &str = "as given";
