//! In-band telemetry as a packet carries it: a record of each hop.

use backwater_engine::Time;
use backwater_engine::fingerprint::mix;
use backwater_net::Bytes;
use backwater_net::attachment::{Attachment, WORDS};

/// Most hops that a packet carries.
pub(super) const HOPS: usize = 5;
/// INT in a frame: five hops of 8 octets, and their number.
pub(super) const INT: Bytes = Bytes(42);

/// The record of one switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hop {
    /// ts
    pub at: Time,
    /// txBytes
    pub tx_bytes: u64,
    /// qLen \[bytes\]
    pub queued: u32,
    /// B \[kb/s\]
    pub rate: u32,
}

/// INT of one packet. The last word has the number of hops in its lowest octet, and above it a hash of the ports.
pub(super) struct Int<'a>(pub &'a mut [u64; WORDS]);

impl Int<'_> {
    pub const LAST: usize = WORDS - 1;

    pub fn append(&mut self, port: u64, hop: Hop) {
        let hops = (self.0[Int::LAST] & 0xFF) as usize;
        if hops >= HOPS {
            return;
        }
        let words = [hop.at.0, hop.tx_bytes, u64::from(hop.rate) << 32 | u64::from(hop.queued)];
        self.0[3 * hops..3 * hops + 3].copy_from_slice(&words);
        self.0[Int::LAST] = mix(self.0[Int::LAST] ^ mix(port)) & !0xFF | (hops as u64 + 1);
    }
}

/// Bytes in whole units of `multi` times `unit`; none: to the byte.
#[inline(always)]
pub(super) fn in_units(bytes: u64, unit: u64, multi: u32) -> u64 {
    if multi == 0 { bytes } else { bytes - bytes % (unit * u64::from(multi)) }
}

/// The hops of an attachment.
pub(super) fn hops(carried: &Attachment) -> impl Iterator<Item = Hop> + '_ {
    let Attachment(words) = carried;
    let hop = |w: &[u64]| Hop { at: Time(w[0]), tx_bytes: w[1], queued: w[2] as u32, rate: (w[2] >> 32) as u32 };
    words.chunks_exact(3).map(hop).take((words[Int::LAST] & 0xFF) as usize)
}
