//! What the two messages say, and their frames.

use backwater_net::packet::{CLASSES, Control};
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// Kinds of frames in result tables.
pub(super) const FREED: &str = "cf-update";
pub(super) const CONSUMED: &str = "cc-update";

/// \[octets\] A control ordered set.
pub(super) const ORDERED_SET: u32 = 8;

/// What a CF_Update says: the VC, and its CF of 20 bits.
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
