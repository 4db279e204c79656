//! CN-TAG and CNM, the congestion notification message (IEEE 802.1Q clause 33; IEEE 802.1Qau).
//!
//! A reaction point may put a CN-TAG into data frames, after the VLAN tag and before the EtherType. A congestion point
//! copies it into the message. The message goes to the source of the sampled frame. It has a VLAN tag with the VID of
//! the sampled frame, the CN-TAG if that had one, EtherType 0x22E7, then [`CnmLayout`].
//!
//! | CN-TAG offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 16 | flow identifier | | IEEE 802.1Q clause 33.2 |
//! | 2 | 16 | EtherType of what follows | | clause 33.2 |
//!
//! | CNM offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 4 | version, 0 | | clause 33.4 |
//! | 0 | 6 | ReservedV, 0 | | clause 33.4 |
//! | 1 | 6 | quantized feedback, the low 6 bits of octet 1 | | clause 33.4 |
//! | 2 | 64 | congestion point identifier | | clause 33.4; contents: [`Cpid`] |
//! | 10 | 16 | cnmQOffset, signed | 64 octets (from memory) | clause 33.4 |
//! | 12 | 16 | cnmQDelta, signed | 64 octets (from memory) | clause 33.4 |
//! | 14 | 3 | encapsulated priority (position from memory) | | clause 33.4 |
//! | 14 | 13 | reserved, 0 | | clause 33.4 |
//! | 16 | 48 | encapsulated destination MAC address | | clause 33.4 |
//! | 22 | 16 | encapsulated MSDU length n, 0 to 64 | octets | clause 33.4 |
//! | 24 | 8 n | encapsulated MSDU, from its EtherType on | | clause 33.4 |
//!
//! Widths and the size of 24 to 88 octets are those that vendors' manuals show for their CNMs (HPE 5930, "CNM format").
//!
//! **From memory, not from the text of the standard:** the unit of 64 octets, and the priority in the highest three
//! bits.

use crate::address::{Cpid, Mac};
use crate::octets::{first, raw, view, write};
use crate::{Emit, Error, Parse};
use zerocopy::byteorder::big_endian::{I16, U16};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Layout of the CN-TAG, after EtherType 0x22E9 (clause 33.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct CnTag {
    /// Octets 0 and 1: flow identifier, chosen by the reaction point and meaningless to bridges.
    pub flow: U16,
    /// Octets 2 and 3: EtherType of what follows.
    pub ether_type: U16,
}

impl Parse<'_> for CnTag {
    fn parse(octets: &[u8]) -> Result<CnTag, Error> {
        view::<CnTag>("CN-TAG", octets).map(|(tag, _)| *tag)
    }
}

impl Emit for CnTag {
    fn length(&self) -> usize {
        size_of::<CnTag>()
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        write("CN-TAG", octets, &[raw(self)], 0)
    }
}

/// Layout of the CNM, without the octets of the sampled frame that follow it (clause 33.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct CnmLayout {
    /// Octets 0 and 1: version (4 bits), 0; ReservedV (6 bits), 0; quantized feedback (6 bits).
    pub version_and_feedback: U16,
    /// Octets 2 to 9: congestion point identifier.
    pub cpid: Cpid,
    /// Octets 10 and 11: cnmQOffset = cpQSp - cpQLen, two's complement, units of 64 octets.
    pub q_offset: I16,
    /// Octets 12 and 13: cnmQDelta = cpQLen - cpQLenOld, two's complement, units of 64 octets.
    pub q_delta: I16,
    /// Octets 14 and 15: priority of the sampled frame (3 bits); reserved (13 bits), 0.
    pub priority: U16,
    /// Octets 16 to 21: destination address of the sampled frame.
    pub destination: Mac,
    /// Octets 22 and 23: length n of the encapsulated MSDU, 0 to 64. The first n octets of the sampled MSDU follow, from its EtherType on.
    pub length: U16,
}

/// A congestion notification message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cnm<'a> {
    /// Quantized feedback, 0 to 63.
    pub feedback: u8,
    /// The congestion point that sends the message.
    pub cpid: Cpid,
    /// \[64 octets\] Set point minus queue length.
    pub q_offset: i16,
    /// \[64 octets\] Queue length minus the one at the last sample.
    pub q_delta: i16,
    /// Priority of the sampled frame, 0 to 7.
    pub priority: u8,
    /// Destination address of the sampled frame.
    pub destination: Mac,
    /// Its first octets, from its EtherType on, at most 64.
    pub msdu: &'a [u8],
}

impl Cnm<'_> {
    /// \[octets\] The most octets of the sampled MSDU in a message.
    pub const MOST_MSDU: usize = 64;
    /// \[octets\] A message before those of the MSDU.
    pub const HEADER: usize = size_of::<CnmLayout>();
    /// The format's name in errors.
    const NAME: &'static str = "CNM";

    /// Converts a length in bytes to the unit of [`Cnm::q_offset`], rounded towards zero and saturated (clause 33.4.5).
    pub fn units(bytes: i64) -> i16 {
        (bytes / 64).clamp(i16::MIN.into(), i16::MAX.into()) as i16
    }
}

impl<'a> Parse<'a> for Cnm<'a> {
    /// A higher version is read like version 0 (clause 33.4: unknown content is ignored).
    fn parse(octets: &'a [u8]) -> Result<Cnm<'a>, Error> {
        let (layout, rest) = view::<CnmLayout>(Cnm::NAME, octets)?;
        let length = usize::from(layout.length.get());
        if length > Cnm::MOST_MSDU {
            return Err(Error::field(Cnm::NAME, "encapsulated MSDU length", 22, length as u64, "0 to 64"));
        }
        Ok(Cnm {
            feedback: (layout.version_and_feedback.get() & 0x3f) as u8,
            cpid: layout.cpid,
            q_offset: layout.q_offset.get(),
            q_delta: layout.q_delta.get(),
            priority: (layout.priority.get() >> 13) as u8,
            destination: layout.destination,
            msdu: first(Cnm::NAME, size_of::<CnmLayout>(), rest, length)?,
        })
    }
}

impl Emit for Cnm<'_> {
    fn length(&self) -> usize {
        size_of::<CnmLayout>() + self.msdu.len()
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        if self.feedback > 63 {
            return Err(Error::field(Cnm::NAME, "quantized feedback", 0, self.feedback.into(), "0 to 63"));
        }
        if self.priority > 7 {
            return Err(Error::field(Cnm::NAME, "encapsulated priority", 14, self.priority.into(), "0 to 7"));
        }
        if self.msdu.len() > Cnm::MOST_MSDU {
            return Err(Error::field(Cnm::NAME, "encapsulated MSDU length", 22, self.msdu.len() as u64, "0 to 64"));
        }
        let layout = CnmLayout {
            version_and_feedback: U16::new(self.feedback.into()),
            cpid: self.cpid,
            q_offset: I16::new(self.q_offset),
            q_delta: I16::new(self.q_delta),
            priority: U16::new(u16::from(self.priority) << 13),
            destination: self.destination,
            length: U16::new(self.msdu.len() as u16),
        };
        write(Cnm::NAME, octets, &[raw(&layout), self.msdu], 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::offset_of;

    #[test]
    fn every_field_stands_where_its_comment_says() {
        assert_eq!(size_of::<CnmLayout>(), 24);
        assert_eq!((offset_of!(CnmLayout, cpid), offset_of!(CnmLayout, q_offset)), (2, 10));
        assert_eq!((offset_of!(CnmLayout, q_delta), offset_of!(CnmLayout, priority)), (12, 14));
        assert_eq!((offset_of!(CnmLayout, destination), offset_of!(CnmLayout, length)), (16, 22));
    }

    #[test]
    fn a_message_octet_by_octet() {
        let cpid = Cpid::of(Mac([2, 0, 0, 0, 1, 4]), 3, 5);
        let msdu = [0x08, 0x00, 0x45];
        let cnm = Cnm {
            feedback: 42,
            cpid,
            q_offset: 100,
            q_delta: -20,
            priority: 3,
            destination: Mac([2, 0, 0, 0, 0, 9]),
            msdu: &msdu,
        };
        let mut octets = [0xff; 40];
        assert_eq!(cnm.emit(&mut octets), Ok(27));
        let expected =
            [0, 42, 2, 0, 0, 0, 1, 4, 0, 29, 0, 100, 0xff, 0xec, 0x60, 0, 2, 0, 0, 0, 0, 9, 0, 3, 0x08, 0x00, 0x45];
        assert_eq!(octets[..27], expected);
        assert_eq!(Cnm::parse(&octets[..27]), Ok(cnm));
        assert_eq!(Cnm::parse(&octets[..26]), Err(Error::Short { frame: "CNM", needs: 27, has: 26 }));
        assert_eq!((Cnm::units(-6400), Cnm::units(i64::MAX)), (-100, i16::MAX));
        assert_eq!(cnm.cpid.port_and_queue(), (3, 5));
    }

    #[test]
    fn values_that_do_not_fit_are_refused_before_anything_is_written() {
        let cnm = Cnm {
            feedback: 64,
            cpid: Cpid::default(),
            q_offset: 0,
            q_delta: 0,
            priority: 0,
            destination: Mac::default(),
            msdu: &[],
        };
        let mut octets = [7; 24];
        assert!(matches!(cnm.emit(&mut octets), Err(Error::Field { field: "quantized feedback", .. })));
        assert_eq!(octets, [7; 24]);
        assert!(Cnm { feedback: 0, msdu: &[0; 65], ..cnm }.emit(&mut [0; 99]).is_err());
        assert!(Cnm { feedback: 0, priority: 8, ..cnm }.emit(&mut [0; 99]).is_err());
    }
}
