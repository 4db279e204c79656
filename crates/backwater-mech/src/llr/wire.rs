//! The ordered sets of a link that retries.

use backwater_net::packet::Control;
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// Kinds of ordered sets in result tables.
pub(super) const ACK: &str = "llr-ack";
pub(super) const NACK: &str = "llr-nack";
pub(super) const INIT: &str = "llr-init";

/// \[octets\] A control ordered set.
pub(super) const ORDERED_SET: u32 = 8;

/// What an ordered set is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(u8)]
pub(super) enum What {
    /// All before the number has been taken.
    Ack,
    /// So it has; and what was sent from there on is to be sent again.
    Nack,
    /// What is before the number is given up.
    Init,
}

/// What an ordered set says. On the wire the number has 20 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
pub(super) struct Word {
    pub what: What,
    pub number: u64,
}

impl Word {
    pub fn frame(what: What, number: u64) -> Control {
        let kind = match what {
            What::Ack => ACK,
            What::Nack => NACK,
            What::Init => INIT,
        };
        Control::carrying(kind, ORDERED_SET, number, &Word { what, number })
    }
}
