//! LLDP's organizationally specific TLVs for congestion notification and congestion isolation (IEEE 802.1Q annex D).
//!
//! | offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 7 | TLV type, 127 | | IEEE 802.1AB clause 8.6 |
//! | 0 | 9 | information length n, 4 to 511: what follows these two | octets | IEEE 802.1AB clause 8.4 |
//! | 2 | 24 | organization, 00-80-C2: IEEE 802.1 | | IEEE 802.1AB clause 8.6 |
//! | 5 | 8 | subtype: 0x08 congestion notification, 0x13 congestion isolation | | IEEE 802.1Q annex D, table D-1 |
//! | 6 | 8 (n - 4) | the information | | as below |
//!
//! | CN TLV offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 6 | 8 | per-priority CNPV indicators, bit i = priority i | | IEEE 802.1Q annex D.2.7 |
//! | 7 | 8 | per-priority ready indicators, bit i = priority i | | annex D.2.7 |
//!
//! | CI TLV offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 6 + i | 8 | queue map of priority i, signed | | annex D.2.15.3 |
//! | 14 | 16 | CIM encapsulation length, 0 to 512 | octets | annex D.2.15.4 |
//! | 16 | 48 | MAC address for layer 2 CIMs | | annex D.2.15.5 |
//! | 22 | 16 | UDP port for layer 3 CIMs | | annex D.2.15.6 |
//! | 24 | 8 | address family: 0 none, 1 IPv4, 2 IPv6 | | annex D.2.15.7; width and 0: choice |
//! | 25 | 0, 32 or 128 | address for layer 3 CIMs | | annex D.2.15.8 |

use crate::address::Mac;
use crate::cim::Cim;
use crate::octets::{raw, view, write};
use crate::{Emit, Error, Parse};
use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Layout of the beginning of every TLV here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Head {
    /// Octets 0 and 1: type (7 bits), 127; information length (9 bits).
    pub type_and_length: U16,
    /// Octets 2 to 4: organization, 00-80-C2.
    pub organization: [u8; 3],
    /// Octet 5.
    pub subtype: u8,
}

impl Head {
    /// IEEE 802.1.
    pub const ORGANIZATION: [u8; 3] = [0x00, 0x80, 0xc2];
    /// The type of all TLVs that organizations define (IEEE 802.1AB clause 8.6).
    pub const TYPE: u16 = 127;

    fn new(subtype: u8, information: usize) -> Head {
        let length = (information + 4) as u16;
        Head { type_and_length: U16::new(Head::TYPE << 9 | length), organization: Head::ORGANIZATION, subtype }
    }

    /// Returns the information of a TLV with `subtype` at the beginning of `octets`.
    fn read<'a>(frame: &'static str, subtype: u8, octets: &'a [u8]) -> Result<&'a [u8], Error> {
        let (head, rest) = view::<Head>(frame, octets)?;
        let (kind, length) = (head.type_and_length.get() >> 9, usize::from(head.type_and_length.get() & 0x1ff));
        if kind != Head::TYPE {
            return Err(Error::field(frame, "TLV type", 0, kind.into(), "127"));
        }
        if head.organization != Head::ORGANIZATION {
            let value = head.organization.iter().fold(0, |v, o| v << 8 | u64::from(*o));
            return Err(Error::field(frame, "organization", 2, value, "0x0080c2"));
        }
        if head.subtype != subtype {
            return Err(Error::field(frame, "subtype", 5, head.subtype.into(), "the one of this TLV"));
        }
        let Some(information) = length.checked_sub(4) else {
            let expected = "at least 4: organization and subtype";
            return Err(Error::field(frame, "information length", 0, length as u64, expected));
        };
        rest.get(..information).ok_or(Error::Short { frame, needs: length + 2, has: octets.len() })
    }
}

/// The congestion notification TLV (annex D.2.7): which priorities are congestion notification priority values, and which are ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CnTlv {
    /// Octet 6: bit i is set if priority i is a CNPV.
    pub cnpv: u8,
    /// Octet 7: bit i is set if both ends of the link agree on priority i.
    pub ready: u8,
}

impl CnTlv {
    /// Subtype of the TLV.
    pub const SUBTYPE: u8 = 0x08;
}

impl Parse<'_> for CnTlv {
    fn parse(octets: &[u8]) -> Result<CnTlv, Error> {
        match *Head::read("CN TLV", CnTlv::SUBTYPE, octets)? {
            [cnpv, ready] => Ok(CnTlv { cnpv, ready }),
            ref other => Err(Error::field("CN TLV", "information length", 0, other.len() as u64 + 4, "6")),
        }
    }
}

impl Emit for CnTlv {
    fn length(&self) -> usize {
        size_of::<Head>() + 2
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        write("CN TLV", octets, &[raw(&Head::new(CnTlv::SUBTYPE, 2)), &[self.cnpv, self.ready]], 0)
    }
}

/// The address at which a peer accepts layer 3 CIMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CiAddress {
    /// Layer 2 only. The address family 0 is this project's choice.
    None,
    /// Address family 1 (IANA address family numbers).
    V4([u8; 4]),
    /// Address family 2.
    V6([u8; 16]),
}

/// The congestion isolation TLV (annex D.2.15): queues and addresses of a peer.
///
/// The set of fields and their order are certain. One octet for the address family is this project's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CiTlv {
    /// Octets 6 to 13, one for each of 8 priorities: 0 = does not take part, k = monitored with traffic class k - 1, -k
    /// = congesting with traffic class k - 1 (clause 49.4.1.2.5).
    pub queue_map: [i8; 8],
    /// Octets 14 and 15: octets of the MSDU that the peer requests in a CIM, 0 to 512.
    pub encapsulated: u16,
    /// Octets 16 to 21: MAC address at which the peer accepts layer 2 CIMs.
    pub mac: Mac,
    /// Octets 22 and 23: UDP port at which the peer accepts layer 3 CIMs.
    pub udp_port: u16,
    /// Octet 24, the address family, and the address after it: 0, 4 or 16 octets.
    pub address: CiAddress,
}

/// Layout of the information of [`CiTlv`] before the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct CiLayout {
    /// Octets 6 to 13 of the TLV: queue map, signed.
    pub queue_map: [i8; 8],
    /// Octets 14 and 15: CIM encapsulation length.
    pub encapsulated: U16,
    /// Octets 16 to 21: MAC address.
    pub mac: Mac,
    /// Octets 22 and 23: UDP port.
    pub udp_port: U16,
    /// Octet 24: address family.
    pub family: u8,
}

impl CiTlv {
    /// Subtype of the TLV.
    pub const SUBTYPE: u8 = 0x13;
    /// \[octets\] The most octets of an MSDU that a peer can request (annex D.2.15.4).
    pub const MOST_ENCAPSULATED: u16 = Cim::MOST_MSDU as u16;
    /// The format's name in errors.
    const NAME: &'static str = "CI TLV";

    fn check(encapsulated: u16) -> Result<(), Error> {
        match encapsulated {
            0..=CiTlv::MOST_ENCAPSULATED => Ok(()),
            _ => Err(Error::field(CiTlv::NAME, "CIM encapsulation length", 14, encapsulated.into(), "0 to 512")),
        }
    }

    fn address_octets(&self) -> (u8, &[u8]) {
        match &self.address {
            CiAddress::None => (0, &[]),
            CiAddress::V4(octets) => (1, octets),
            CiAddress::V6(octets) => (2, octets),
        }
    }
}

impl Parse<'_> for CiTlv {
    fn parse(octets: &[u8]) -> Result<CiTlv, Error> {
        let information = Head::read(CiTlv::NAME, CiTlv::SUBTYPE, octets)?;
        let (layout, rest) = view::<CiLayout>(CiTlv::NAME, information)?;
        CiTlv::check(layout.encapsulated.get())?;
        let address = match (layout.family, rest.len()) {
            (0, 0) => CiAddress::None,
            (1, 4) => CiAddress::V4(rest.try_into().unwrap_or_default()),
            (2, 16) => CiAddress::V6(rest.try_into().unwrap_or_default()),
            (family, _) => {
                let expected = "0, 1 or 2, with 0, 4 or 16 octets of address";
                return Err(Error::field(CiTlv::NAME, "address family", 24, family.into(), expected));
            }
        };
        Ok(CiTlv {
            queue_map: layout.queue_map,
            encapsulated: layout.encapsulated.get(),
            mac: layout.mac,
            udp_port: layout.udp_port.get(),
            address,
        })
    }
}

impl Emit for CiTlv {
    fn length(&self) -> usize {
        size_of::<Head>() + size_of::<CiLayout>() + self.address_octets().1.len()
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        CiTlv::check(self.encapsulated)?;
        let (family, address) = self.address_octets();
        let layout = CiLayout {
            queue_map: self.queue_map,
            encapsulated: U16::new(self.encapsulated),
            mac: self.mac,
            udp_port: U16::new(self.udp_port),
            family,
        };
        let head = Head::new(CiTlv::SUBTYPE, size_of::<CiLayout>() + address.len());
        write(CiTlv::NAME, octets, &[raw(&head), raw(&layout), address], 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_octets_of_both() {
        let mut octets = [0xff; 40];
        assert_eq!(CnTlv { cnpv: 0b1000, ready: 0b0100 }.emit(&mut octets), Ok(8));
        assert_eq!(octets[..8], [0xfe, 0x06, 0x00, 0x80, 0xc2, 0x08, 8, 4]);
        let tlv = CiTlv {
            queue_map: [0, 0, 0, 4, 0, -2, 0, 0],
            encapsulated: 48,
            mac: Mac([2, 0, 0, 0, 1, 4]),
            udp_port: 61186,
            address: CiAddress::V4([10, 1, 0, 4]),
        };
        assert_eq!(tlv.emit(&mut octets), Ok(29));
        let expected = [
            0xfe, 27, 0, 0x80, 0xc2, 0x13, 0, 0, 0, 4, 0, 0xfe, 0, 0, 0, 48, 2, 0, 0, 0, 1, 4, 0xef, 0x02, 1, 10, 1, 0,
            4,
        ];
        assert_eq!(octets[..29], expected);
        assert_eq!(CiTlv::parse(&octets), Ok(tlv));
        octets[24] = 2;
        assert!(matches!(CiTlv::parse(&octets), Err(Error::Field { field: "address family", .. })));
        octets[14..16].copy_from_slice(&[2, 1]);
        assert!(matches!(CiTlv::parse(&octets), Err(Error::Field { offset: 14, value: 513, .. })));
        assert!(CiTlv { encapsulated: 513, ..tlv }.emit(&mut octets).is_err());
        // The length is too short for organization and subtype, although more octets follow.
        octets[1] = 3;
        let text = std::string::ToString::to_string(&CiTlv::parse(&octets).unwrap_err());
        let expected =
            "CI TLV: information length at octet 0 is 3 (0x3); expected at least 4: organization and subtype";
        assert_eq!(text, expected);
    }
}
