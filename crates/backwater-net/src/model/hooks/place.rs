//! Where a packet stands in a switch, and whose a gate, an isolation queue or a timer is.

use crate::model::packet::{Class, Port, Queue};

/// Where a packet stands in a switch. Every architecture fills in all of it, so no mechanism asks which one it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Place {
    /// Port of arrival; of a frame that the switch itself sends, that of departure.
    pub ingress: Port,
    /// Port of departure.
    pub egress: Port,
    /// Class on the link of arrival.
    pub class: Class,
    /// Queue of the egress port; by default the one with the class's number.
    pub queue: Queue,
    /// The switch itself sends it: it came in at no port, and no counter but the egress queue's has it.
    pub own: bool,
}

/// An isolation queue of a switch in which a mechanism lets frames wait before they join their egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct IsolationQueue {
    /// Whose it is.
    pub owner: MechanismId,
    /// Which of that mechanism's isolation queues, by a number of its own.
    pub number: u32,
}

/// A mechanism's number in the stack; the stage keeps gates, holds and timers apart by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct MechanismId(pub u8);

impl MechanismId {
    /// The stage itself, for a slow receiver. The stage's come after all mechanisms.
    pub(crate) const STAGE: MechanismId = MechanismId(63);
    /// The stage itself, for a storm of pauses.
    pub(crate) const STORM: MechanismId = MechanismId(62);
    /// How many mechanisms there may be at most.
    pub(crate) const MOST: usize = MechanismId::STORM.0 as usize;

    /// The kind of fault whose holds are asked for under this number; `None`: it is a mechanism's.
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

/// Mechanisms by number, a bit each. As wide as what an event's order says of its owner: 6 bits.
pub type MechanismSet = u64;
