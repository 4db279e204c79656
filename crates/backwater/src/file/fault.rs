//! `[[fault]]`: what goes wrong, or changes, at a time.

use super::hosts::Host;
use backwater_engine::Time;
use backwater_net::packet::{CLASSES, class_bits};
use backwater_net::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FaultEntry {
    /// Each frame, or each of a kind, sent over a link in one direction is lost with a probability.
    Loss {
        /// When it begins.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        at: Time,
        /// Node that sends. Absent: every node that has a link to `to`.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "the name of a node of the topology"))]
        from: Option<String>,
        /// Node that would receive. Absent: every node that has a link to `from`; without either, every link in both directions.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "the name of a node of the topology"))]
        to: Option<String>,
        /// Kind of frame that is lost: `data`, `ack`, or a kind of control frame such as `cnp`, `mac-control`, `cim`. Absent: every frame.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "data, ack, or a kind of control frame"))]
        frame: Option<Frames>,
        /// Probability of loss per frame.
        #[schemars(range(min = 0.0, max = 1.0))]
        #[schemars(extend("x-source" = "Backwater's own; independent losses: choice"))]
        probability: f64,
    },
    /// One frame of a kind is lost.
    DropNth {
        /// From when on frames are counted.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        at: Time,
        /// Node that sends.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "the name of a node of the topology"))]
        from: String,
        /// Node that would receive.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "the name of a node of the topology"))]
        to: String,
        /// Kind of frame: `data`, `ack`, or a kind of control frame such as `cnp`, `mac-control`, `sfc-pause`.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "data, ack, or a kind of control frame"))]
        frame: Frames,
        /// Which one, counted from 1.
        #[schemars(range(min = 1))]
        #[schemars(extend("x-source" = "Backwater's own"))]
        nth: u64,
    },
    /// All links between two nodes carry nothing, in both directions; frames under way are lost.
    LinkDown {
        /// When.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        at: Time,
        /// One node.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "the name of a node of the topology"))]
        a: String,
        /// The other.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "the name of a node of the topology"))]
        b: String,
    },
    /// All links between two nodes carry frames again.
    LinkUp {
        /// When.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        at: Time,
        /// One node.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "the name of a node of the topology"))]
        a: String,
        /// The other.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "the name of a node of the topology"))]
        b: String,
    },
    /// A link sends at another rate in one direction.
    RateChange {
        /// When.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        at: Time,
        /// Node that sends.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "the name of a node of the topology"))]
        from: String,
        /// Node that receives.
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "the name of a node of the topology"))]
        to: String,
        /// The new rate.
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        rate: Rate,
    },
    /// A host takes frames slowly from its receive buffer, and pauses a class of its link, or the link, when that fills. The buffer is one for all
    /// classes: faults of several classes at a host all act, and the lowest of their rates counts. A later one of a class replaces the earlier.
    SlowReceiver {
        /// When it begins.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        at: Time,
        /// The host.
        #[schemars(with = "super::hosts::Hosts")]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "one host: its number or its name"))]
        host: Host,
        /// Rate at which it takes frames.
        #[schemars(extend("x-min" = "1 b/s", "x-source" = "Backwater's own"))]
        rate: Rate,
        /// Bytes in the receive buffer, of all classes, above which the host pauses `class`, or its link.
        #[schemars(extend("x-source" = "Backwater's own; the threshold of PAUSE, IEEE 802.3 annex 31B", "x-range" = "xon and more"))]
        xoff: Bytes,
        /// Bytes below which its neighbour may go on.
        #[schemars(extend("x-source" = "Backwater's own; the threshold of PAUSE, IEEE 802.3 annex 31B", "x-range" = "0 B to xoff"))]
        xon: Bytes,
        /// Class that it pauses, 0 to 7. Absent: 3, or with `link` none.
        #[serde(default)]
        #[schemars(range(min = 0, max = 7))]
        #[schemars(extend("x-source" = "IEEE 802.1Q clause 36 (PFC); 3: choice, RoCEv2 deployments commonly use it"))]
        class: Option<u8>,
        /// It sends PAUSE, which stops the whole link, and not PFC of a class.
        #[serde(default)]
        #[schemars(extend("x-source" = "IEEE 802.3 annex 31B"))]
        link: bool,
    },
    /// A host pauses classes of its links, or these, without a break, whatever it has room for: a storm of pauses, as broken interfaces send them.
    PauseStorm {
        /// When it begins.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "0 s and more"))]
        at: Time,
        /// When it ends. Absent: with the run.
        #[serde(default)]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "above at"))]
        until: Option<Time>,
        /// The host. It pauses each of its links.
        #[schemars(with = "super::hosts::Hosts")]
        #[schemars(extend("x-source" = "Backwater's own", "x-range" = "one host: its number or its name"))]
        host: Host,
        /// Classes that it pauses, each 0 to 7. The neighbour obeys those that it has under flow control by class. Absent: all, or with `link` none.
        #[serde(default)]
        #[schemars(inner(range(min = 0, max = 7)))]
        #[schemars(extend("x-source" = "the priority enable vector of IEEE 802.3 annex 31D; all: choice, a broken interface knows no classes"))]
        classes: Option<Vec<u8>>,
        /// It sends PAUSE, which stops whole links, and not PFC of classes.
        #[serde(default)]
        #[schemars(extend("x-source" = "IEEE 802.3 annex 31B"))]
        link: bool,
    },
}

/// Of what a host asks its neighbour to pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paused {
    /// These classes, by PFC.
    Classes(Vec<u8>),
    /// The whole link, by PAUSE.
    Link,
}

impl Paused {
    /// The classes, a bit each, and behind them one for the link.
    pub fn bits(&self) -> u16 {
        match self {
            Paused::Classes(classes) => class_bits(classes).into(),
            Paused::Link => 1 << CLASSES,
        }
    }
}

impl FaultEntry {
    /// What the host of this fault pauses, if it is one by which a host does.
    pub fn paused(&self) -> Option<Paused> {
        let (classes, link) = match self {
            FaultEntry::SlowReceiver { class, link, .. } => (vec![class.unwrap_or(3)], *link),
            FaultEntry::PauseStorm { classes, link, .. } => {
                (classes.clone().unwrap_or_else(|| (0..=7).collect()), *link)
            }
            _ => return None,
        };
        Some(if link { Paused::Link } else { Paused::Classes(classes) })
    }
}

/// A kind of frame by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Frames(pub String);
