//! Levels of a switch's accounts of memory. Mechanisms are not called for values between them.
//!
//! A switch chip compares a counter with a threshold where it counts, and signals only that the threshold has been passed. The accounts
//! here do the same: a mechanism states for each account the levels between which it has nothing to do
//! ([`SwitchSide::levels`](crate::model::hooks::SwitchSide::levels)), and its hooks are called beyond them.

use crate::model::packet::{Class, Port, Queue};
use crate::units::Bytes;

/// An account of a switch's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// Bytes that arrived by a port in a class and have not left.
    Ingress(Port, Class),
    /// Bytes that arrived by a port and have not left.
    IngressPort(Port),
    /// Bytes that wait for a queue of a port.
    Egress(Port, Queue),
    /// Bytes that wait for a port.
    EgressPort(Port),
}

/// The levels of an account between which a mechanism has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// \[bytes\] The mechanism sees a counted frame if the account is above this level.
    pub above: Bytes,
    /// \[bytes\] The mechanism sees a frame before it leaves if at least so much remains after it.
    pub left: Bytes,
    /// \[bytes\] The mechanism sees a frame that has left if the account is below this level.
    pub below: Bytes,
    /// \[bytes\] The mechanism sees every counted frame while less of the shared memory than this is free.
    pub free: Bytes,
}

impl Default for Levels {
    fn default() -> Levels {
        Levels::ALL
    }
}

impl Levels {
    /// It sees no frame.
    pub const NONE: Levels = Levels { above: Bytes::MAX, left: Bytes::MAX, below: Bytes::ZERO, free: Bytes::ZERO };
    /// It sees every frame.
    pub const ALL: Levels = Levels { above: Bytes::ZERO, left: Bytes::ZERO, below: Bytes::MAX, free: Bytes::ZERO };

    /// It sees counted frames above a level.
    pub const fn above(level: Bytes) -> Levels {
        Levels { above: level, ..Levels::NONE }
    }

    /// It sees frames before they leave if at least so much remains.
    pub const fn left(level: Bytes) -> Levels {
        Levels { left: level, ..Levels::NONE }
    }

    /// It sees frames that have left if the account is below a level or empty.
    pub fn below(level: Bytes) -> Levels {
        Levels { below: level.max(Bytes(1)), ..Levels::NONE }
    }

    /// Adds all counted frames while less of the shared memory than this is free: for levels that are shares of it.
    #[must_use]
    pub const fn unless_free(self, free: Bytes) -> Levels {
        Levels { free, ..self }
    }

    /// The levels of two mechanisms together: hooks are called where either has something to do.
    #[must_use]
    pub fn or(self, other: Levels) -> Levels {
        Levels {
            above: self.above.min(other.above),
            left: self.left.min(other.left),
            below: self.below.max(other.below),
            free: self.free.max(other.free),
        }
    }

    /// The levels of a mechanism that has hooks for counted frames, for frames before they leave, and for frames that have left, or lacks
    /// some of these hooks.
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
