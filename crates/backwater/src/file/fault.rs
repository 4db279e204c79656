//! `[[fault]]`: what goes wrong, or changes, at a time. Each kind is declared at its struct.

use super::hosts::{Host, Hosts};
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::packet::{CLASSES, class_bits};
use backwater_net::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fault.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FaultEntry {
    Loss(Loss),
    DropNth(DropNth),
    /// All links between two nodes carry nothing, in both directions; frames under way are lost.
    LinkDown(Between),
    /// All links between two nodes carry frames again.
    LinkUp(Between),
    RateChange(RateChange),
    SlowReceiver(SlowReceiver),
    PauseStorm(PauseStorm),
}

/// Each frame, or each of a kind, sent over a link in one direction is lost with a probability.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// When it begins.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own")]
    pub at: Time,
    /// Node that sends. Absent: every node that has a link to `to`.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub from: Option<String>,
    /// Node that would receive. Absent: every node that has a link to `from`; without either, every link in both directions.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub to: Option<String>,
    /// Kind of frame that is lost: `data`, `ack`, or a kind of control frame such as `cnp`, `mac-control`, `cim`. Absent: every frame.
    #[param(range_text = "data, ack, or a kind of control frame", source = "Backwater's own")]
    pub frame: Option<Frames>,
    /// Probability of loss per frame.
    #[param(bounds = 0.0..=1.0, source = "Backwater's own; independent losses: choice")]
    pub probability: f64,
}

/// One frame of a kind is lost.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct DropNth {
    /// From when on frames are counted.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own")]
    pub at: Time,
    /// Node that sends.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub from: String,
    /// Node that would receive.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub to: String,
    /// Kind of frame: `data`, `ack`, or a kind of control frame such as `cnp`, `mac-control`, `sfc-pause`.
    #[param(range_text = "data, ack, or a kind of control frame", source = "Backwater's own")]
    pub frame: Frames,
    /// Which one, counted from 1.
    #[param(bounds = 1.., source = "Backwater's own")]
    pub nth: u64,
}

/// All links between two nodes.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// When.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub at: Time,
    /// One node.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub a: String,
    /// The other.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub b: String,
}

/// A link sends at another rate in one direction.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct RateChange {
    /// When.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub at: Time,
    /// Node that sends.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub from: String,
    /// Node that receives.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub to: String,
    /// The new rate.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub rate: Rate,
}

/// A host takes frames slowly from its receive buffer, and pauses a class of its link, or the link, when that fills. The buffer is one for all
/// classes: faults of several classes at a host all act, and the lowest of their rates counts. A later one of a class replaces the earlier.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct SlowReceiver {
    /// When it begins.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own")]
    pub at: Time,
    /// The host.
    #[schemars(with = "Hosts")]
    #[param(range_text = "one host: its number or its name", source = "Backwater's own")]
    pub host: Host,
    /// Rate at which it takes frames.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub rate: Rate,
    /// Bytes in the receive buffer, of all classes, above which the host pauses `class`, or its link.
    #[param(range_text = "xon and more", source = "Backwater's own; the threshold of PAUSE, IEEE 802.3 annex 31B")]
    pub xoff: Bytes,
    /// Bytes below which its neighbour may go on.
    #[param(range_text = "0 B to xoff", source = "Backwater's own; the threshold of PAUSE, IEEE 802.3 annex 31B")]
    pub xon: Bytes,
    /// Class that it pauses, 0 to 7. Absent: 3, or with `link` none.
    #[param(bounds = 0..=7, source = "IEEE 802.1Q clause 36 (PFC); 3: choice, RoCEv2 deployments commonly use it")]
    pub class: Option<u8>,
    /// It sends PAUSE, which stops the whole link, and not PFC of a class.
    #[param(default = false, source = "IEEE 802.3 annex 31B")]
    pub link: bool,
}

/// A host pauses classes of its links, or these, without a break, whatever it has room for: a storm of pauses, as broken interfaces send them.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct PauseStorm {
    /// When it begins.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own")]
    pub at: Time,
    /// When it ends. Absent: with the run.
    #[param(range_text = "above at", source = "Backwater's own")]
    pub until: Option<Time>,
    /// The host. It pauses each of its links.
    #[schemars(with = "Hosts")]
    #[param(range_text = "one host: its number or its name", source = "Backwater's own")]
    pub host: Host,
    /// Classes that it pauses, each 0 to 7. The neighbour obeys those that it has under flow control by class. Absent: all, or with `link` none.
    #[param(
        each = 0..=7,
        source = "the priority enable vector of IEEE 802.3 annex 31D; all: choice, a broken interface knows no classes"
    )]
    pub classes: Option<Vec<u8>>,
    /// It sends PAUSE, which stops whole links, and not PFC of classes.
    #[param(default = false, source = "IEEE 802.3 annex 31B")]
    pub link: bool,
}

/// The pauses that a host requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paused {
    /// These classes, by PFC.
    Classes(Vec<u8>),
    /// The whole link, by PAUSE.
    Link,
}

impl Paused {
    /// The classes, a bit each, then one for the link.
    pub fn bits(&self) -> u16 {
        match self {
            Paused::Classes(classes) => class_bits(classes).into(),
            Paused::Link => 1 << CLASSES,
        }
    }
}

impl SlowReceiver {
    /// Returns the classes or the link that it pauses.
    pub fn paused(&self) -> Paused {
        if self.link { Paused::Link } else { Paused::Classes(vec![self.class.unwrap_or(3)]) }
    }
}

impl PauseStorm {
    /// Returns the classes or the link that it pauses.
    pub fn paused(&self) -> Paused {
        let classes = || self.classes.clone().unwrap_or_else(|| (0..=7).collect());
        if self.link { Paused::Link } else { Paused::Classes(classes()) }
    }
}

/// A kind of frame by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Frames(pub String);
