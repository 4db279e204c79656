//! The ordered sets of a link that retries, and their octets.

use backwater_net::hooks::Carrier;

use backwater_net::packet::Control;
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// EtherType of captures: local experimental 2 (IEEE 802 clause 9.2.4).
const LOCAL_EXPERIMENTAL: u16 = 0x88b6;

/// The octets of a frame.
pub(super) fn octets(frame: &Control, octets: &mut Vec<u8>) -> Option<Carrier> {
    let word = frame.message::<Word>()?;
    // Our choice: an ordered set is no frame. Octets: the kind's name, and the number's last 20 bits.
    octets.extend(frame.kind.as_bytes());
    octets.extend(((word.number & 0xF_FFFF) as u32).to_be_bytes());
    Some(Carrier::Link(LOCAL_EXPERIMENTAL))
}

/// Kinds of ordered sets in result tables.
pub(super) const ACK: &str = "llr-ack";
pub(super) const NACK: &str = "llr-nack";
pub(super) const INIT: &str = "llr-init";

/// \[octets\] A control ordered set.
pub(super) const ORDERED_SET: u32 = 8;

/// The kind of an ordered set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(u8)]
pub(super) enum What {
    /// All before the number have been accepted.
    Ack,
    /// The same; frames sent from there on must be replayed.
    Nack,
    /// Frames before the number are given up.
    Init,
}

/// The content of an ordered set. On the wire the number has 20 bits.
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
