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
    /// Links between two nodes are down, in both directions; frames in flight are lost.
    LinkDown(Between),
    /// Links between two nodes are up again.
    LinkUp(Between),
    LinkFlap(LinkFlap),
    RateChange(RateChange),
    SlowReceiver(SlowReceiver),
    PauseStorm(PauseStorm),
}

/// Frames over a link in one direction, all or those of one kind, are lost with a probability.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Time at which it begins.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own")]
    pub at: Time,
    /// Sending node. Absent: every node that has a link to `to`.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub from: Option<String>,
    /// Receiving node. Absent: every node that has a link to `from`; without either, every link in both directions.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub to: Option<String>,
    /// Kind of frame that is lost: `data`, `ack`, or a kind of control frame such as `cnp`, `mac-control`, `cim`. Absent: every frame.
    #[param(range_text = "data, ack, or a kind of control frame", source = "Backwater's own")]
    pub frame: Option<Frames>,
    /// Number of one link among parallel links of two nodes, from 0 in the order of the topology. Absent: all of them.
    #[param(source = "Backwater's own")]
    pub number: Option<u32>,
    /// Probability of loss per frame.
    #[param(bounds = 0.0..=1.0, source = "Backwater's own; independent losses: choice")]
    pub probability: f64,
}

/// One frame of a kind is lost.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct DropNth {
    /// Time from which frames are counted.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own")]
    pub at: Time,
    /// Sending node.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub from: String,
    /// Receiving node.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub to: String,
    /// Kind of frame: `data`, `ack`, or a kind of control frame such as `cnp`, `mac-control`, `sfc-pause`.
    #[param(range_text = "data, ack, or a kind of control frame", source = "Backwater's own")]
    pub frame: Frames,
    /// Number of the lost frame, counted from 1.
    #[param(bounds = 1.., source = "Backwater's own")]
    pub nth: u64,
}

/// Links between two nodes.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// Time at which it happens.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub at: Time,
    /// One node.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub a: String,
    /// The other node.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub b: String,
    /// Number of one link among parallel links of two nodes, from 0 in the order of the topology. Absent: all of them.
    #[param(source = "Backwater's own")]
    pub number: Option<u32>,
}

/// Links between two nodes go down and come up again, several times, in both directions.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct LinkFlap {
    /// Time at which they first go down.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub at: Time,
    /// One node.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub a: String,
    /// The other node.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub b: String,
    /// Number of one link among parallel links of two nodes, from 0 in the order of the topology. Absent: all of them.
    #[param(source = "Backwater's own")]
    pub number: Option<u32>,
    /// Time for which they are down.
    #[param(range_text = "above 0 s", source = "Backwater's own")]
    pub down: Time,
    /// Time for which they are up before they go down again.
    #[param(range_text = "above 0 s", source = "Backwater's own")]
    pub up: Time,
    /// Number of times that they go down.
    #[param(default = 1, bounds = 1..=100_000, source = "Backwater's own; 1: choice")]
    pub times: u32,
}

/// A link changes its rate in one direction.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct RateChange {
    /// Time at which it happens.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub at: Time,
    /// Sending node.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub from: String,
    /// Receiving node.
    #[param(range_text = "the name of a node of the topology", source = "Backwater's own")]
    pub to: String,
    /// Number of one link among parallel links of two nodes, from 0 in the order of the topology. Absent: all of them.
    #[param(source = "Backwater's own")]
    pub number: Option<u32>,
    /// The new rate.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub rate: Rate,
}

/// A host consumes frames slowly from its receive buffer, and pauses a class of its link, or the whole link, when the buffer fills. All
/// classes share one buffer: faults of several classes at a host all act, and the lowest of their rates applies. A later fault of a class
/// replaces the earlier one.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct SlowReceiver {
    /// Time at which it begins.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own")]
    pub at: Time,
    /// The host.
    #[schemars(with = "Hosts")]
    #[param(range_text = "one host: its number or its name", source = "Backwater's own")]
    pub host: Host,
    /// Rate at which the host consumes frames.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub rate: Rate,
    /// Bytes of all classes in the receive buffer above which the host pauses `class`, or its link.
    #[param(range_text = "xon and more", source = "Backwater's own; the threshold of PAUSE, IEEE 802.3 annex 31B")]
    pub xoff: Bytes,
    /// Bytes in the receive buffer below which its neighbour resumes.
    #[param(range_text = "0 B to xoff", source = "Backwater's own; the threshold of PAUSE, IEEE 802.3 annex 31B")]
    pub xon: Bytes,
    /// Class that the host pauses, 0 to 7. Absent: 3, or none with `link`.
    #[param(bounds = 0..=7, source = "IEEE 802.1Q clause 36 (PFC); 3: choice, RoCEv2 deployments commonly use it")]
    pub class: Option<u8>,
    /// Whether the host sends PAUSE for the whole link instead of PFC for a class.
    #[param(default = false, source = "IEEE 802.3 annex 31B")]
    pub link: bool,
}

/// A pause storm: a host pauses some or all classes of its links, or whole links, without a break, even with room in its buffer, as broken
/// interfaces do.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct PauseStorm {
    /// Time at which it begins.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own")]
    pub at: Time,
    /// Time at which it ends. Absent: with the run.
    #[param(range_text = "above at", source = "Backwater's own")]
    pub until: Option<Time>,
    /// The host. It pauses each of its links.
    #[schemars(with = "Hosts")]
    #[param(range_text = "one host: its number or its name", source = "Backwater's own")]
    pub host: Host,
    /// Classes that the host pauses, each 0 to 7. The neighbour obeys for its classes with PFC. Absent: all, or none with `link`.
    #[param(
        each = 0..=7,
        source = "the priority enable vector of IEEE 802.3 annex 31D; all: choice, a broken interface knows no classes"
    )]
    pub classes: Option<Vec<u8>>,
    /// Whether the host sends PAUSE for whole links instead of PFC for classes.
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

/// Name of a kind of frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Frames(pub String);
