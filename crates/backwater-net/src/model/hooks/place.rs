//! A packet's place in a switch, and the owners of gates, isolation queues and timers.

use crate::model::packet::{Class, Port, Queue};

/// A packet's place in a switch. Every switch architecture fills in all fields, so no mechanism has to know the architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Place {
    /// Port of arrival; for a frame that the switch itself sends, the port of departure.
    pub ingress: Port,
    /// Port of departure.
    pub egress: Port,
    /// Class on the link of arrival.
    pub class: Class,
    /// Queue of the egress port; by default the one with the class's number.
    pub queue: Queue,
    /// The switch itself sends it: it arrived by no port, and only the egress queue's counter includes it.
    pub own: bool,
}

/// An isolation queue of a switch. A mechanism lets frames wait in it before they join their egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct IsolationQueue {
    /// Its mechanism.
    pub owner: MechanismId,
    /// The number that the mechanism gave it.
    pub number: u32,
}

/// A mechanism's number in the stack. The stage distinguishes gates, holds and timers by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct MechanismId(pub u8);

impl MechanismId {
    /// The stage itself, for a slow receiver. The numbers of the stage come after all mechanisms.
    pub(crate) const STAGE: MechanismId = MechanismId(63);
    /// The stage itself, for a storm of pauses.
    pub(crate) const STORM: MechanismId = MechanismId(62);
    /// The most mechanisms in a stack.
    pub(crate) const MOST: usize = MechanismId::STORM.0 as usize;

    /// The kind of fault that uses this number for its pauses; `None`: it is a mechanism's number.
    pub fn fault(self) -> Option<&'static str> {
        match self {
            MechanismId::STAGE => Some("slow-receiver"),
            MechanismId::STORM => Some("pause-storm"),
            _ => None,
        }
    }

    /// Its bit among [`MechanismSet`].
    #[inline(always)]
    pub fn bit(self) -> MechanismSet {
        1 << self.0
    }
}

/// Mechanisms by number, a bit each. An event's order has 6 bits for its owner, hence 64.
pub type MechanismSet = u64;
