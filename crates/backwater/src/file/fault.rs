//! `[[fault]]`: what goes wrong, or changes, at a time.

use super::hosts::Host;
use backwater_engine::Time;
use backwater_net::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FaultEntry {
    /// Each frame sent over a link in one direction is lost with a probability.
    Loss {
        /// When it begins.
        #[serde(default)]
        at: Time,
        /// Node that sends.
        from: String,
        /// Node that would receive.
        to: String,
        /// Probability of loss per frame.
        #[schemars(range(min = 0.0, max = 1.0))]
        probability: f64,
    },
    /// One frame of a kind is lost.
    DropNth {
        /// From when on frames are counted.
        #[serde(default)]
        at: Time,
        /// Node that sends.
        from: String,
        /// Node that would receive.
        to: String,
        /// Kind of frame: `data`, `ack`, or a kind of control frame such as `cnp`, `mac-control`, `sfc-pause`.
        frame: Frames,
        /// Which one, counted from 1.
        #[schemars(range(min = 1))]
        nth: u64,
    },
    /// All links between two nodes carry nothing, in both directions; frames under way are lost.
    LinkDown {
        /// When.
        at: Time,
        /// One node.
        a: String,
        /// The other.
        b: String,
    },
    /// All links between two nodes carry frames again.
    LinkUp {
        /// When.
        at: Time,
        /// One node.
        a: String,
        /// The other.
        b: String,
    },
    /// A link sends at another rate in one direction.
    RateChange {
        /// When.
        at: Time,
        /// Node that sends.
        from: String,
        /// Node that receives.
        to: String,
        /// The new rate.
        #[schemars(extend("x-min" = "1 b/s"))]
        rate: Rate,
    },
    /// A host takes frames slowly from its receive buffer, and pauses its link when that fills.
    SlowReceiver {
        /// When it begins.
        #[serde(default)]
        at: Time,
        /// The host.
        #[schemars(with = "super::hosts::Hosts")]
        host: Host,
        /// Rate at which it takes frames.
        #[schemars(extend("x-min" = "1 b/s"))]
        rate: Rate,
        /// Bytes in the receive buffer above which the host pauses its link.
        xoff: Bytes,
        /// Bytes below which the link may go on.
        xon: Bytes,
        /// Class that it pauses, 0 to 7.
        #[serde(default = "default_class")]
        #[schemars(range(min = 0, max = 7))]
        class: u8,
    },
}

fn default_class() -> u8 {
    3
}

/// A kind of frame by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Frames(pub String);
