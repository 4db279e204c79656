//! The IPv6 Destination Options header of a Fast CNP: an option with the original destination address, that of the data packet which saw
//! congestion. UDP and the CNP follow ([`crate::roce::Cnp`]).
//!
//! Source: draft-xiao-rtgwg-rocev2-fast-cnp-05 has this option, by a public summary of it; we have not been able to read its figure. Type of
//! the option and padding before it are this project's choice: the type is one for experiments (RFC 4727, section 3.3), and the padding
//! aligns the address.
//!
//! | offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 8 | next header, 17 = UDP | | RFC 8200 section 4.6 |
//! | 1 | 8 | length of the header without its first 8 octets, 2 | 8 octets | RFC 8200 section 4.6 |
//! | 2 | 32 | PadN with 2 octets of zeros | | RFC 8200 section 4.2 |
//! | 6 | 8 | option type, 0x1E: a node that does not know it skips it, and no node changes it | | RFC 4727 section 3.3 |
//! | 7 | 8 | length of the option's data, 16 | octets | RFC 8200 section 4.2 |
//! | 8 | 128 | original destination address | | draft-xiao-rtgwg-rocev2-fast-cnp-05 |

use crate::octets::{raw, view, write};
use crate::{Emit, Error, Parse};
use core::net::Ipv6Addr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The format's name in errors.
const NAME: &str = "destination option of a Fast CNP";
/// PadN, two octets.
const PADDING: [u8; 4] = [1, 2, 0, 0];

/// Layout of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    /// Octet 0: next header.
    pub next: u8,
    /// Octet 1: length in units of 8 octets, without the first.
    pub length: u8,
    /// Octets 2 to 5: padding.
    pub padding: [u8; 4],
    /// Octet 6: type of the option.
    pub kind: u8,
    /// Octet 7: length of its data.
    pub octets: u8,
    /// Octets 8 to 23: the address.
    pub address: [u8; 16],
}

/// The header, with the original destination address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginalDestination(pub Ipv6Addr);

impl OriginalDestination {
    /// \[octets\] Length of the header.
    pub const LENGTH: usize = size_of::<Layout>();
    /// Number of the header: destination options (IANA protocol numbers).
    pub const HEADER: u8 = 60;
    const UDP: u8 = 17;
    const KIND: u8 = 0x1e;
}

impl Parse<'_> for OriginalDestination {
    /// Next header, lengths and type of the option must be those of the table. The padding is ignored.
    fn parse(octets: &[u8]) -> Result<OriginalDestination, Error> {
        let (layout, _) = view::<Layout>(NAME, octets)?;
        let fields = [
            ("next header", 0, layout.next, OriginalDestination::UDP, "17"),
            ("length", 1, layout.length, 2, "2"),
            ("option type", 6, layout.kind, OriginalDestination::KIND, "0x1e"),
            ("option length", 7, layout.octets, 16, "16"),
        ];
        match fields.into_iter().find(|(_, _, value, right, _)| value != right) {
            Some((field, at, value, _, right)) => Err(Error::field(NAME, field, at, value.into(), right)),
            None => Ok(OriginalDestination(layout.address.into())),
        }
    }
}

impl Emit for OriginalDestination {
    fn length(&self) -> usize {
        OriginalDestination::LENGTH
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        let (next, kind) = (OriginalDestination::UDP, OriginalDestination::KIND);
        let layout = Layout { next, length: 2, padding: PADDING, kind, octets: 16, address: self.0.octets() };
        write(NAME, octets, &[raw(&layout)], 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_octet_by_octet() {
        let mut octets = [0xff; 24];
        let header = OriginalDestination(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0x0a00, 0x0001));
        assert_eq!(header.emit(&mut octets), Ok(24));
        assert_eq!(octets[..8], [17, 2, 1, 2, 0, 0, 0x1e, 16]);
        assert_eq!(octets[8..], [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0a, 0, 0, 1]);
        assert_eq!(OriginalDestination::parse(&octets), Ok(header));
        assert!(matches!(OriginalDestination::parse(&octets[..23]), Err(Error::Short { .. })));
        octets[6] = 0x1f;
        assert!(matches!(OriginalDestination::parse(&octets), Err(Error::Field { field: "option type", .. })));
        octets[0] = 6;
        assert!(matches!(OriginalDestination::parse(&octets), Err(Error::Field { field: "next header", .. })));
    }
}
