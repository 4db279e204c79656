//! Parameters of entropy values: the scenario's table `ev`.

use backwater_derive::parameters;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a sender chooses the value of the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// All values in turns, in an order that changes after each pass.
    Oblivious,
    /// The same, passing over values that were marked, cut or lost.
    Bitmap,
    /// Values that came through unmarked once more, of the last eight; otherwise one by chance.
    Reps,
    /// All values that came through unmarked once more, in their order; otherwise one by chance.
    Recycled,
    /// These; where there are none, as `bitmap`.
    Mixed,
}

/// Parameters of entropy values.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// `oblivious`, `bitmap`, `reps`, `recycled` or `mixed`.
    #[param(default = Policy::Mixed, source = "uet-htsim: mixed")]
    pub policy: Policy,
    /// Number of values: a power of two.
    #[param(
        symbol = "P", default = 64, range = 1..=65536, source = "uet-htsim: -paths, 64", why = "a value has 16 bits"
    )]
    pub values: u32,
    /// Whether the answer to a cut packet counts before the packet is retransmitted. `false`: after that, if it may go at once, as in `htsim_uec`.
    #[param(default = true, source = "choice: as acknowledgements count; uet-htsim, UecSrc::processNack: false")]
    pub cut_counts_first: bool,
}
