//! The content of the two messages, their frames and octets.

use backwater_net::hooks::Carrier;

use backwater_net::packet::{CLASSES, Control};
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// EtherType of captures: local experimental 2 (IEEE 802 clause 9.2.4).
const LOCAL_EXPERIMENTAL: u16 = 0x88b6;

/// The octets of a frame.
pub(super) fn octets(frame: &Control, octets: &mut Vec<u8>) -> Option<Carrier> {
    let word = frame.message::<Word>()?;
    // Our choice: an ordered set is no frame, and no layout of a CC_Update is public. Octets: the kind's name, the VC (255: all), the
    // counts.
    octets.extend(frame.kind.as_bytes());
    octets.push(word.of.to_be_bytes()[3]);
    let counts = if word.of == Word::ALL { &word.counts[..] } else { &word.counts[..1] };
    octets.extend(counts.iter().flat_map(|count| count.to_be_bytes()));
    Some(Carrier::Link(LOCAL_EXPERIMENTAL))
}

/// Kinds of frames in result tables.
pub(super) const FREED: &str = "cf-update";
pub(super) const CONSUMED: &str = "cc-update";

/// \[octets\] A control ordered set.
pub(super) const ORDERED_SET: u32 = 8;

/// The content of a CF_Update: the VC, and its CF of 20 bits.
#[derive(Clone, Copy, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Word {
    /// The VC, or [`Word::ALL`].
    pub of: u32,
    /// CF of the VC; or CC of all VCs.
    pub counts: [u32; CLASSES],
}

impl Word {
    pub const ALL: u32 = u32::MAX;

    pub fn freed(class: usize, cf: u32) -> Control {
        let mut word = Word { of: class as u32, counts: [0; CLASSES] };
        word.counts[0] = cf;
        Control::carrying(FREED, ORDERED_SET, cf.into(), &word)
    }

    pub fn consumed(counts: [u32; CLASSES]) -> Control {
        let all = counts.iter().map(|cc| u64::from(*cc)).sum();
        Control::carrying(CONSUMED, Control::MIN_FRAME, all, &Word { of: Word::ALL, counts })
    }
}
