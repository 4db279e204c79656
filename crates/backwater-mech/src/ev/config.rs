//! Parameters of entropy values: the scenario's table `ev`.

use backwater_derive::parameters;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a sender chooses the entropy value of the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// All values in turn, in an order that changes after each pass.
    Oblivious,
    /// The same, but values whose packets were marked, trimmed or lost are skipped.
    Bitmap,
    /// Values of the last eight whose packets arrived unmarked, once more each; otherwise a random value.
    Reps,
    /// All values whose packets arrived unmarked, once more each and in their order; otherwise a random value.
    Recycled,
    /// As `recycled` while values are available, otherwise as `bitmap`.
    Mixed,
}

/// Parameters of entropy values.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// How a sender chooses the entropy value of each packet: `oblivious`, `bitmap`, `reps`, `recycled` or `mixed`.
    #[param(default = Policy::Mixed, source = "uet-htsim: mixed")]
    pub policy: Policy,
    /// Number of entropy values: a power of two.
    #[param(
        symbol = "P", default = 64, range = 1..=65536, source = "uet-htsim: -paths, 64", why = "a value has 16 bits"
    )]
    pub values: u32,
    /// Whether the NACK for a trimmed packet counts before the packet is retransmitted. `false`: after the retransmission, if that may
    /// leave at once, as in `htsim_uec`.
    #[param(default = true, source = "choice: as acknowledgements count; uet-htsim, UecSrc::processNack: false")]
    pub cut_counts_first: bool,
}
