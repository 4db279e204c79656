//! The pause message of Source Flow Control as it is shipped in Tofino 2: a duration for all packets with a DSCP.
//!
//! Source: p4lang/open-p4studio (2025-02-26), `p4src/shared/headers.p4` and `sfc_trigger.p4`. A copy of the congested packet becomes the
//! message: addresses are exchanged, the UDP destination port is [`SfcPause::PORT`], and there is no UDP checksum. With 14 octets of
//! Ethernet, IPv4 (total length 46), UDP (length 26) and the FCS it has 64 octets.
//!
//! | offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 8 | version, never set: 0 | | `sfc_pause_h` |
//! | 1 | 8 | DSCP of the congested packet | | `sfc_pause_h` |
//! | 2 | 16 | duration | us | `sfc_pause_h` |
//! | 4 | 112 | padding, 0 | | `padding_112b_h` |

use crate::octets::{raw, view, write};
use crate::{Emit, Error, Parse};
use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The format's name in errors.
const NAME: &str = "SFC pause of Tofino 2";

/// Layout of the UDP payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    /// Octet 0: version, 0.
    pub version: u8,
    /// Octet 1: DSCP of the congested packet, in the low six bits.
    pub dscp: u8,
    /// Octets 2 and 3: duration in microseconds.
    pub duration_us: U16,
    /// Octets 4 to 17.
    pub padding: [u8; 14],
}

/// A pause message of Tofino 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SfcPause {
    /// DSCP of the congested packet, 0 to 63.
    pub dscp: u8,
    /// \[us\] Duration. The program has no resume; 0 is the result of a queue at its target.
    pub duration_us: u16,
}

impl SfcPause {
    /// UDP destination port.
    pub const PORT: u16 = 1674;

    /// Returns whether a datagram to the port can be a message, by its version. The port is registered to another protocol.
    pub fn fits(octets: &[u8]) -> bool {
        octets.first().is_none_or(|version| *version == 0) && octets.get(1).is_none_or(|dscp| *dscp <= 63)
    }
}

impl Parse<'_> for SfcPause {
    /// The version must be 0, and the DSCP a number of six bits. The padding is ignored.
    fn parse(octets: &[u8]) -> Result<SfcPause, Error> {
        let (layout, _) = view::<Layout>(NAME, octets)?;
        if layout.version != 0 {
            return Err(Error::field(NAME, "version", 0, layout.version.into(), "0"));
        }
        if layout.dscp > 63 {
            return Err(Error::field(NAME, "DSCP", 1, layout.dscp.into(), "0 to 63"));
        }
        Ok(SfcPause { dscp: layout.dscp, duration_us: layout.duration_us.get() })
    }
}

impl Emit for SfcPause {
    fn length(&self) -> usize {
        size_of::<Layout>()
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        if self.dscp > 63 {
            return Err(Error::field(NAME, "DSCP", 1, self.dscp.into(), "0 to 63"));
        }
        let layout = Layout { version: 0, dscp: self.dscp, duration_us: U16::new(self.duration_us), padding: [0; 14] };
        write(NAME, octets, &[raw(&layout)], 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_octet_by_octet() {
        let mut octets = [0xff; 18];
        let message = SfcPause { dscp: 26, duration_us: 319 };
        assert_eq!(message.emit(&mut octets), Ok(18));
        assert_eq!(octets, [0, 26, 1, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(SfcPause::parse(&octets), Ok(message));
        assert!(SfcPause::fits(&octets) && !SfcPause::fits(&[1]) && !SfcPause::fits(&[0, 64]));
        octets[0] = 1;
        assert!(matches!(SfcPause::parse(&octets), Err(Error::Field { field: "version", .. })));
        octets[..2].copy_from_slice(&[0, 64]);
        assert!(matches!(SfcPause::parse(&octets), Err(Error::Field { field: "DSCP", .. })));
        assert!(matches!(SfcPause::parse(&octets[..17]), Err(Error::Short { .. })));
    }
}
