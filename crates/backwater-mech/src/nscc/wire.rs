//! The content of a probe, and its octets.

use backwater_net::packet::HostId;
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// The content of a probe.
#[derive(Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
pub(super) struct Word {
    pub number: u64,
    pub src: HostId,
}

pub(super) const PROBE: &str = "probe";
