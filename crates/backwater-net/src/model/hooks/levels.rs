//! Levels of a switch's accounts of memory: what lies between them concerns no mechanism.
//!
//! A switch chip compares a counter with a threshold where it counts, and tells the logic behind it only that the threshold has been
//! passed. So do the accounts here: a mechanism says for each between which levels it has nothing to do
//! ([`SwitchSide::levels`](crate::model::hooks::SwitchSide::levels)), and its hooks are called beyond them.

use crate::model::packet::{Class, Port, Queue};
use crate::units::Bytes;

/// An account of a switch's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// What came in through a port in a class and has not left.
    Ingress(Port, Class),
    /// What came in through a port.
    IngressPort(Port),
    /// What waits for a queue of a port.
    Egress(Port, Queue),
    /// What waits for a port.
    EgressPort(Port),
}

/// Between which levels of an account a mechanism has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// \[bytes\] A frame that is counted is shown to it if the account is above.
    pub above: Bytes,
    /// \[bytes\] A frame that is about to leave is shown to it if so much, or more, is left behind it.
    pub left: Bytes,
    /// \[bytes\] A frame that has left is shown to it if the account is below.
    pub below: Bytes,
    /// \[bytes\] A frame that is counted is shown to it in any case if less of the memory that ports share is free.
    pub free: Bytes,
}

impl Default for Levels {
    fn default() -> Levels {
        Levels::ALL
    }
}

impl Levels {
    /// It has nothing to do, whatever is counted.
    pub const NONE: Levels = Levels { above: Bytes::MAX, left: Bytes::MAX, below: Bytes::ZERO, free: Bytes::ZERO };
    /// It looks at every frame.
    pub const ALL: Levels = Levels { above: Bytes::ZERO, left: Bytes::ZERO, below: Bytes::MAX, free: Bytes::ZERO };

    /// It looks at what is counted above a level.
    pub const fn above(level: Bytes) -> Levels {
        Levels { above: level, ..Levels::NONE }
    }

    /// It looks at what is about to leave if so much, or more, is left.
    pub const fn left(level: Bytes) -> Levels {
        Levels { left: level, ..Levels::NONE }
    }

    /// It looks at what leaves below a level, and in any case when the account is empty.
    pub fn below(level: Bytes) -> Levels {
        Levels { below: level.max(Bytes(1)), ..Levels::NONE }
    }

    /// And at all that is counted while less of the shared memory than this is free: for levels that are shares of it.
    #[must_use]
    pub const fn unless_free(self, free: Bytes) -> Levels {
        Levels { free, ..self }
    }

    /// Those of two mechanisms: each is called where one has something to do.
    #[must_use]
    pub fn or(self, other: Levels) -> Levels {
        Levels {
            above: self.above.min(other.above),
            left: self.left.min(other.left),
            below: self.below.max(other.below),
            free: self.free.max(other.free),
        }
    }

    /// Of a mechanism with a hook for what is counted, for what is about to leave, and for what has left, or without.
    #[must_use]
    pub const fn only(self, counted: bool, leaves: bool, left: bool) -> Levels {
        let levels = if counted { self } else { Levels::NONE };
        Levels {
            left: if leaves { self.left } else { Bytes::MAX },
            below: if left { self.below } else { Bytes::ZERO },
            ..levels
        }
    }
}
