//! Ethernet II frames and VLAN tags (IEEE 802.3 clause 3, IEEE 802.1Q clause 9).
//!
//! | offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 48 | destination address | | IEEE 802.3 clause 3.2.3 |
//! | 6 | 48 | source address | | clause 3.2.3 |
//! | 12 | 16 | EtherType, 0x0600 and above | | clause 3.2.6 |
//! | 14 | 8 n | MAC client data: n is at least 46, else padded with zeros | | clauses 3.2.7 and 3.2.8 |
//! | 14 + n | 32 | frame check sequence, CRC-32 over all before it; captures are written without it | | clause 3.2.9 |
//!
//! A VLAN tag is between source address and EtherType. If there are two, the first is that of the service (IEEE
//! 802.1ad):
//!
//! | offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 12 | 16 | tag protocol identifier: 0x8100 customer, 0x88A8 service | | IEEE 802.1Q clause 9.5, table 9-1 |
//! | 14 | 3 | PCP, priority code point, 0 to 7 | | clause 9.6 |
//! | 14 | 1 | DEI, drop eligible indicator; sent as 0 | | clause 9.6 |
//! | 14 | 12 | VID, VLAN identifier, 0 to 4095; 0 carries a priority alone | | clause 9.6 |
//!
//! Views and values of the headers are those of the [`etherparse`] crate, which knows the common protocols. This module
//! adds only the rest.

use crate::Error;
use crate::address::Mac;
use crate::octets::{raw, write};
use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

pub use etherparse::{Ethernet2Header, Ethernet2HeaderSlice, SingleVlanHeader, SingleVlanHeaderSlice, VlanId, VlanPcp};

/// EtherTypes that this crate knows.
pub mod ether_type {
    /// IPv4 (RFC 894).
    pub const IPV4: u16 = 0x0800;
    /// VLAN tag, C-TAG (IEEE 802.1Q table 9-1).
    pub const VLAN: u16 = 0x8100;
    /// VLAN tag of a service, S-TAG (IEEE 802.1Q table 9-1; IEEE 802.1ad).
    pub const SERVICE_VLAN: u16 = 0x88a8;
    /// IPv6 (RFC 2464).
    pub const IPV6: u16 = 0x86dd;
    /// MAC control: PAUSE and PFC (IEEE 802.3 clause 31.4.1.3).
    pub const MAC_CONTROL: u16 = 0x8808;
    /// LLDP (IEEE 802.1AB clause 8.3).
    pub const LLDP: u16 = 0x88cc;
    /// Local experimental EtherType 1 (IEEE 802 clause 9.2.4), the default of this project for BCN messages.
    pub const LOCAL_EXPERIMENTAL: u16 = 0x88b5;
    /// "BCN data frame tag", registered by Cisco Systems (IEEE EtherType registry).
    pub const RLT: u16 = 0x8904;
    /// Congestion isolation message (IEEE 802.1Qcz; IEEE EtherType registry).
    pub const CIM: u16 = 0x89a2;
    /// Congestion notification message (IEEE 802.1Q clause 33.3).
    pub const CNM: u16 = 0x22e7;
    /// Congestion notification tag (IEEE 802.1Q clause 33.2).
    pub const CN_TAG: u16 = 0x22e9;
}

/// \[octets\] The shortest frame without its frame check sequence (IEEE 802.3 clause 4A.4.2: minFrameSize is 64 with it).
pub const SHORTEST: usize = 60;

/// Layout of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    /// Octets 0 to 5.
    pub destination: Mac,
    /// Octets 6 to 11.
    pub source: Mac,
    /// Octets 12 and 13.
    pub ether_type: U16,
}

/// Layout of a VLAN tag, from its EtherType on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Tag {
    /// Octets 0 and 1: 0x8100, or 0x88A8 for a service.
    pub tpid: U16,
    /// Octets 2 and 3: PCP (3 bits), DEI (1 bit), VID (12 bits).
    pub control: U16,
}

/// Writes a frame: addresses, a VLAN tag if `vlan` has priority and VID, EtherType, `client` data in parts, padding to
/// [`SHORTEST`].
///
/// # Errors
/// [`Error::Room`] if `octets` is too short; [`Error::Field`] if the priority is above 7 or the VID above 4095.
pub fn emit(
    octets: &mut [u8],
    destination: Mac,
    source: Mac,
    vlan: Option<(u8, u16)>,
    ether_type: u16,
    client: &[u8],
) -> Result<usize, Error> {
    let tag = match vlan {
        Some((pcp @ 8.., _)) => return Err(Error::field("VLAN tag", "PCP", 2, pcp.into(), "0 to 7")),
        Some((_, vid @ 4096..)) => return Err(Error::field("VLAN tag", "VID", 2, vid.into(), "0 to 4095")),
        Some((pcp, vid)) => {
            Some(Tag { tpid: U16::new(ether_type::VLAN), control: U16::new(u16::from(pcp) << 13 | vid) })
        }
        None => None,
    };
    let tag = tag.as_ref().map_or(&[][..], raw);
    let ether_type = U16::new(ether_type);
    write("Ethernet", octets, &[&destination.0, &source.0, tag, raw(&ether_type), client], SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_frame_is_padded_and_a_tag_stands_before_the_type() {
        let mut octets = [0xff; 80];
        let length = emit(&mut octets, Mac::CONTROL, Mac([2, 0, 0, 0, 0, 7]), Some((6, 5)), 0x89a2, &[1, 2]).unwrap();
        assert_eq!(length, 60);
        assert_eq!(octets[12..20], [0x81, 0x00, 0xc0, 0x05, 0x89, 0xa2, 1, 2]);
        assert!(octets[20..60].iter().all(|o| *o == 0));
        let vlan = SingleVlanHeaderSlice::from_slice(&octets[14..]).unwrap();
        assert_eq!((vlan.priority_code_point().value(), vlan.vlan_identifier().value()), (6, 5));
        assert_eq!(emit(&mut octets[..59], Mac::CONTROL, Mac::CONTROL, None, 0, &[]).unwrap_err(), {
            Error::Room { frame: "Ethernet", needs: 60, has: 59 }
        });
        for (vlan, field) in [((8, 0), "PCP"), ((0, 4096), "VID"), ((255, 65535), "PCP")] {
            let mut octets = [7; 80];
            let refused = emit(&mut octets, Mac::CONTROL, Mac::CONTROL, Some(vlan), 0, &[]);
            assert!(matches!(refused, Err(Error::Field { field: notified, .. }) if notified == field), "{refused:?}");
            assert_eq!(octets, [7; 80]);
        }
    }
}
