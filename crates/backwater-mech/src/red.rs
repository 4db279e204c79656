//! The curve of Random Early Detection above its upper threshold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The probability above the upper threshold of a RED curve.
///
/// "Max Probability 1 %" names both the height that the curve reaches at its upper threshold and a probability that is never
/// exceeded. The DCQCN paper and switches use the first meaning, with 1 beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AboveMaximum {
    /// It jumps to 1.
    All,
    /// It stays at Pmax.
    Pmax,
}

impl AboveMaximum {
    /// The probability above the upper threshold, if it is `pmax` at it.
    pub(crate) fn probability(self, pmax: f64) -> f64 {
        match self {
            AboveMaximum::All => 1.0,
            AboveMaximum::Pmax => pmax,
        }
    }
}
