//! CIM, the congestion isolation message (IEEE 802.1Qcz-2023 clause 49): "isolate this flow as I do".
//!
//! Three forms have the same meaning:
//!
//! - **layer 2**: to the peer's MAC address, EtherType 0x89A2, then [`Layout`];
//! - **layer 3**: the same PDU as UDP payload, to the port that the peer announced by LLDP ([`crate::lldp::CiTlv`]);
//! - **CNM**: the format of [`crate::qcn::Cnm`] with the upstream bridge's MAC address as destination, which the first
//!   contribution of 2018 considers; [`Cim::as_cnm`].
//!
//! | offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 4 | version, 0 | | uncertain |
//! | 0 | 1 | delete; 0 = add | | uncertain |
//! | 0 | 11 | reserved, 0 | | uncertain |
//! | 2 | 48 | destination address of the flow | | ciStreamTable, clause 49.4.1.5 |
//! | 8 | 48 | source address of the flow | | the same |
//! | 14 | 4 | sent as 0 | | uncertain |
//! | 14 | 12 | VID of the flow | | ciStreamTable |
//! | 16 | 16 | encapsulated MSDU length n, 0 to 512 | octets | clause 49.3.6; its width: uncertain |
//! | 18 | 8 n | encapsulated MSDU, from its EtherType on | | ciStreamTable |
//!
//! **Certain** (the managed objects of clause 12.33 name them): destination and source address, VID and the first octets of the MSDU.
//! **Uncertain**: the first two octets, [`Layout::version_and_flags`], and the 4 bits beside the VID, sent as 0. The
//! version is in the highest four bits; the flag after it means *delete* instead of *add*. Both are this project's
//! choice.

use crate::address::{Cpid, Mac};
use crate::octets::{first, raw, view, write};
use crate::qcn::Cnm;
use crate::{Emit, Error, Parse};
use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The format's name in errors.
const NAME: &str = "CIM";
/// The delete flag in [`Layout::version_and_flags`] (uncertain).
const DELETE: u16 = 1 << 11;

/// Layout of the PDU, without the octets of the flow's frame that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    /// Octets 0 and 1 (uncertain): version (4 bits), 0; delete (1 bit), 0 = add; reserved (11 bits), 0.
    pub version_and_flags: U16,
    /// Octets 2 to 7: destination address of the congesting flow.
    pub destination: Mac,
    /// Octets 8 to 13: source address of the congesting flow.
    pub source: Mac,
    /// Octets 14 and 15: 4 bits sent as 0 (PCP and DEI, uncertain); VID of the congesting flow (12 bits).
    pub vid: U16,
    /// Octets 16 and 17: length n of the encapsulated MSDU, 0 to 512. Its first n octets follow, from the EtherType on.
    pub length: U16,
}

/// A congestion isolation message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cim<'a> {
    /// True if the peer should no longer isolate the flow (uncertain: the published objects know only its addition).
    pub delete: bool,
    /// Destination address of the congesting flow.
    pub destination: Mac,
    /// Source address of the congesting flow.
    pub source: Mac,
    /// VLAN of the congesting flow, 0 to 4095.
    pub vid: u16,
    /// First octets of its frame, from the EtherType on: 0 to 512, 48 by default (ciMinHeaderOctets, clause 49.4.1.2.6).
    pub msdu: &'a [u8],
}

impl Cim<'_> {
    /// \[octets\] The most octets of the flow's MSDU in a message (ciPeerCimEncapLen, clause 49.3.6).
    pub const MOST_MSDU: usize = 512;
    /// \[octets\] A message before those of the MSDU.
    pub const HEADER: usize = size_of::<Layout>();

    /// Returns whether a datagram to an unregistered port can be a message, by the fields that are present: version 0,
    /// the source address of one station, and a possible length.
    pub fn fits(octets: &[u8]) -> bool {
        let length = octets.get(16..18).and_then(|length| length.try_into().ok()).map(u16::from_be_bytes);
        octets.first().is_none_or(|first| first >> 4 == 0)
            && octets.get(8).is_none_or(|source| source & 1 == 0)
            && length.is_none_or(|length| usize::from(length) <= Cim::MOST_MSDU)
    }

    /// Returns the message in the format of a CNM, which has the flow's destination, but no place for its source
    /// address, its VID and a deletion: `None` for a deletion. Feedback and queue lengths are zero, so that nothing
    /// slows down. The CNM has at most 64 octets of the MSDU.
    pub fn as_cnm(&self, cpid: Cpid, priority: u8) -> Option<Cnm<'_>> {
        let length = self.msdu.len().min(Cnm::MOST_MSDU);
        let msdu = self.msdu.get(..length).unwrap_or_default();
        let destination = self.destination;
        (!self.delete).then_some(Cnm {
            feedback: 0,
            cpid,
            q_offset: 0,
            q_delta: 0,
            priority: priority & 7,
            destination,
            msdu,
        })
    }
}

impl<'a> Parse<'a> for Cim<'a> {
    fn parse(octets: &'a [u8]) -> Result<Cim<'a>, Error> {
        let (layout, rest) = view::<Layout>(NAME, octets)?;
        let length = usize::from(layout.length.get());
        if length > Cim::MOST_MSDU {
            return Err(Error::field(NAME, "encapsulated MSDU length", 16, length as u64, "0 to 512"));
        }
        Ok(Cim {
            delete: layout.version_and_flags.get() & DELETE != 0,
            destination: layout.destination,
            source: layout.source,
            vid: layout.vid.get() & 0xfff,
            msdu: first(NAME, size_of::<Layout>(), rest, length)?,
        })
    }
}

impl Emit for Cim<'_> {
    fn length(&self) -> usize {
        size_of::<Layout>() + self.msdu.len()
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        if self.vid > 0xfff {
            return Err(Error::field(NAME, "VID", 14, self.vid.into(), "0 to 4095"));
        }
        if self.msdu.len() > Cim::MOST_MSDU {
            return Err(Error::field(NAME, "encapsulated MSDU length", 16, self.msdu.len() as u64, "0 to 512"));
        }
        let layout = Layout {
            version_and_flags: U16::new(if self.delete { DELETE } else { 0 }),
            destination: self.destination,
            source: self.source,
            vid: U16::new(self.vid),
            length: U16::new(self.msdu.len() as u16),
        };
        write(NAME, octets, &[raw(&layout), self.msdu], 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_octet_by_octet() {
        let (destination, source) = (Mac([2, 0, 0, 0, 0, 9]), Mac([2, 0, 0, 0, 0, 4]));
        let cim = Cim { delete: false, destination, source, vid: 0x123, msdu: &[0x08, 0x00] };
        let mut octets = [0xff; 20];
        assert_eq!(cim.emit(&mut octets), Ok(20));
        assert_eq!(octets, [0, 0, 2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 4, 0x01, 0x23, 0, 2, 0x08, 0x00]);
        assert_eq!(Cim::parse(&octets), Ok(cim));
        assert!((0..20).all(|end| Cim::fits(&octets[..end])));
        for (at, foreign) in [(0, 0x10), (8, 0x01), (16, 0x03)] {
            let mut octets = octets;
            octets[at] = foreign;
            assert_eq!((Cim::fits(&octets), Cim::fits(&octets[..at])), (false, true), "octet {at}");
        }
        octets[17] = 3;
        assert_eq!(Cim::parse(&octets), Err(Error::Short { frame: "CIM", needs: 21, has: 20 }));
        octets[16..18].copy_from_slice(&[2, 1]);
        assert!(matches!(Cim::parse(&octets), Err(Error::Field { offset: 16, value: 513, .. })));
        assert!(Cim { vid: 4096, ..cim }.emit(&mut octets).is_err());
    }

    #[test]
    fn the_form_of_a_cnm_carries_what_fits() {
        let cim = Cim { delete: false, destination: Mac([1; 6]), source: Mac([2; 6]), vid: 0, msdu: &[7; 100] };
        assert_eq!(Cim { delete: true, ..cim }.as_cnm(Cpid::default(), 3), None);
        let cnm = cim.as_cnm(Cpid::default(), 3).unwrap();
        assert_eq!((cnm.msdu.len(), cnm.destination, cnm.priority), (64, Mac([1; 6]), 3));
        assert_eq!(cnm.emit(&mut [0; 88]), Ok(88));
    }
}
