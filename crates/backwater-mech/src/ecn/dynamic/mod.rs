//! The threshold that follows the memory: dynamic ECN.
//!
//! A queue of a shared memory may hold the more, the more is free. A fixed threshold that fits an empty switch lies above the limit of a
//! full one, where frames are dropped before any is marked; one that fits a full switch marks bursts for which an empty one has room.

use super::config::{MarkingThreshold, Params};
use crate::mac_control::PeakOccupancy;
use backwater_net::Bytes;
use backwater_net::hooks::Margin;

/// The threshold of every queue of a switch.
#[derive(backwater_derive::State)]
pub(super) struct DynamicThreshold {
    /// \[bytes\] below the limit
    #[state(fixed)]
    offset: Bytes,
    /// \[bytes\] its least value
    #[state(fixed)]
    floor: Bytes,
    /// The longest queue that could have caused a mark, and the threshold then.
    nearest: PeakOccupancy,
}

impl DynamicThreshold {
    pub fn new(params: &Params) -> Option<DynamicThreshold> {
        let offset = params.offset.unwrap_or_default();
        (params.threshold == MarkingThreshold::Dynamic).then_some(DynamicThreshold {
            offset,
            floor: params.floor,
            nearest: PeakOccupancy::new(Bytes::MAX),
        })
    }

    /// The threshold of a queue that may hold `limit`, and now holds `q`.
    pub fn of(&mut self, limit: Bytes, q: Bytes) -> Bytes {
        let threshold = limit.min(limit.saturating_sub(self.offset).max(self.floor));
        self.nearest.observe(q, threshold);
        threshold
    }

    pub fn margin(&self, of: &'static str) -> Margin {
        self.nearest.margin(of)
    }
}

#[cfg(test)]
mod tests;
