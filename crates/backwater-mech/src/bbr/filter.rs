//! The greatest of the samples of the last rounds.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Samples that can still become the greatest: each later one is smaller.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct MaxFilter(VecDeque<(u64, f64)>);

impl MaxFilter {
    /// Adds a sample of `round`; samples count for `length` rounds.
    pub fn update(&mut self, value: f64, round: u64, length: u64) {
        while self.0.back().is_some_and(|(_, last)| *last <= value) {
            self.0.pop_back();
        }
        self.0.push_back((round, value));
        while self.0.front().is_some_and(|(of, _)| of + length <= round) {
            self.0.pop_front();
        }
    }

    /// The greatest sample; 0 without one.
    pub fn greatest(&self) -> f64 {
        self.0.front().map_or(0.0, |(_, value)| *value)
    }
}
