//! BCN, Backward Congestion Notification (Bergamasco, 2005 to 2007): the message, and the tag of rate-limited frames.
//!
//! The published presentations list the fields, but not their octets. **The layout is this project's choice**, except
//! the EtherType of the tag, 0x8904, which is registered as "BCN data frame tag". The message goes to the source of the
//! sampled frame. Its EtherType is a parameter (0x88B5, local experimental, by default).
//!
//! | BCN offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 8 | subtype, 1 | | choice |
//! | 1 | 4 | version, 0 | | choice |
//! | 1 | 1 | mild congestion | | choice; the states: Bergamasco |
//! | 1 | 1 | severe congestion | | choice; the states: Bergamasco |
//! | 1 | 2 | reserved, 0 | | choice |
//! | 2 | 64 | CPID | | the field: Bergamasco |
//! | 10 | 16 | Qoff, signed | 64 octets | the field: Bergamasco; unit: pages of the simulations of 2006 |
//! | 12 | 16 | Qdelta, signed | 64 octets | the same |
//! | 14 | 16 | encapsulated length n, 0 to 64 | octets | choice |
//! | 16 | 8 n | the sampled frame, from its destination address on | | the field: Bergamasco |
//!
//! | RLT offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 4 | version, 0 | | choice |
//! | 0 | 12 | reserved, 0 | | choice |
//! | 2 | 64 | CPID | | the field: Bergamasco |
//! | 10 | 16 | EtherType of what follows | | as in every tag |

use crate::address::Cpid;
use crate::octets::{first, raw, view, write};
use crate::{Emit, Error, Parse};
use zerocopy::byteorder::big_endian::{I16, U16};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The format's name in errors.
const NAME: &str = "BCN";

/// Layout of the message, without the octets of the sampled frame that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    /// Octet 0: subtype, 0x01 = BCN.
    pub subtype: u8,
    /// Octet 1: version (4 bits), 0; M, mild congestion (1 bit); S, severe congestion (1 bit); reserved (2 bits), 0.
    pub version_and_flags: u8,
    /// Octets 2 to 9: congestion point identifier.
    pub cpid: Cpid,
    /// Octets 10 and 11: Qoff = Qeq - Q, two's complement, pages of 64 octets.
    pub q_off: I16,
    /// Octets 12 and 13: Qdelta = arrivals minus departures since the last sample, two's complement, pages
    /// of 64 octets.
    pub q_delta: I16,
    /// Octets 14 and 15: length n of the encapsulated frame, 0 to 64. Its first n octets follow, from its destination address on.
    pub length: U16,
}

/// A BCN message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bcn<'a> {
    /// Q is above the equilibrium Qeq, and not above the severe threshold Qsc.
    pub mild: bool,
    /// Q is above the severe threshold Qsc. The message may ask for STOP, for the strongest decrease, or for a decrease
    /// by its fields.
    pub severe: bool,
    /// The congestion point that sends the message.
    pub cpid: Cpid,
    /// \[64 octets\] Equilibrium minus queue length.
    pub q_off: i16,
    /// \[64 octets\] Growth since the last sample.
    pub q_delta: i16,
    /// First octets of the sampled frame, from its destination address on, at most 64.
    pub frame: &'a [u8],
}

impl Bcn<'_> {
    /// The subtype of the message, in the first octet.
    pub const SUBTYPE: u8 = 1;
    /// \[octets\] The most octets of the sampled frame in a message.
    pub const MOST_FRAME: usize = 64;

    /// Returns whether octets after an unregistered EtherType can be a message, by the subtype and version that are
    /// present.
    pub fn fits(octets: &[u8]) -> bool {
        octets.first().is_none_or(|subtype| *subtype == Bcn::SUBTYPE) && octets.get(1).is_none_or(|o| o >> 4 == 0)
    }
}

impl<'a> Parse<'a> for Bcn<'a> {
    fn parse(octets: &'a [u8]) -> Result<Bcn<'a>, Error> {
        let (layout, rest) = view::<Layout>(NAME, octets)?;
        if layout.subtype != Bcn::SUBTYPE {
            return Err(Error::field(NAME, "subtype", 0, layout.subtype.into(), "1"));
        }
        if layout.version_and_flags >> 4 != 0 {
            return Err(Error::field(NAME, "version", 1, (layout.version_and_flags >> 4).into(), "0"));
        }
        let length = usize::from(layout.length.get());
        if length > Bcn::MOST_FRAME {
            return Err(Error::field(NAME, "encapsulated length", 14, length as u64, "0 to 64"));
        }
        Ok(Bcn {
            mild: layout.version_and_flags & 8 != 0,
            severe: layout.version_and_flags & 4 != 0,
            cpid: layout.cpid,
            q_off: layout.q_off.get(),
            q_delta: layout.q_delta.get(),
            frame: first(NAME, size_of::<Layout>(), rest, length)?,
        })
    }
}

impl Emit for Bcn<'_> {
    fn length(&self) -> usize {
        size_of::<Layout>() + self.frame.len()
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        if self.frame.len() > Bcn::MOST_FRAME {
            return Err(Error::field(NAME, "encapsulated length", 14, self.frame.len() as u64, "0 to 64"));
        }
        let layout = Layout {
            subtype: Bcn::SUBTYPE,
            version_and_flags: u8::from(self.mild) << 3 | u8::from(self.severe) << 2,
            cpid: self.cpid,
            q_off: I16::new(self.q_off),
            q_delta: I16::new(self.q_delta),
            length: U16::new(self.frame.len() as u16),
        };
        write(NAME, octets, &[raw(&layout), self.frame], 0)
    }
}

/// Layout of the rate-limited tag, after EtherType 0x8904.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct TagLayout {
    /// Octets 0 and 1: version (4 bits), 0; reserved (12 bits), 0.
    pub version: U16,
    /// Octets 2 to 9: the congestion point that slowed the limiter.
    pub cpid: Cpid,
    /// Octets 10 and 11: EtherType of what follows.
    pub ether_type: U16,
}

/// The rate-limited tag of a data frame. It informs a congestion point that the frame passed a limiter which that point
/// slowed. It follows the VLAN tag, and the frame's own EtherType follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitedTag {
    /// The congestion point that slowed the limiter.
    pub cpid: Cpid,
    /// EtherType of what follows.
    pub ether_type: u16,
}

impl Parse<'_> for RateLimitedTag {
    fn parse(octets: &[u8]) -> Result<RateLimitedTag, Error> {
        let (layout, _) = view::<TagLayout>("RLT", octets)?;
        match layout.version.get() >> 12 {
            0 => Ok(RateLimitedTag { cpid: layout.cpid, ether_type: layout.ether_type.get() }),
            other => Err(Error::field("RLT", "version", 0, other.into(), "0")),
        }
    }
}

impl Emit for RateLimitedTag {
    fn length(&self) -> usize {
        size_of::<TagLayout>()
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        let layout = TagLayout { version: U16::new(0), cpid: self.cpid, ether_type: U16::new(self.ether_type) };
        write("RLT", octets, &[raw(&layout)], 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Mac;

    #[test]
    fn a_message_octet_by_octet() {
        let cpid = Cpid::of(Mac([2, 0, 0, 0, 1, 4]), 2, 0);
        let bcn = Bcn { mild: true, severe: false, cpid, q_off: -375, q_delta: 24, frame: &[9, 9, 9] };
        let mut octets = [0xff; 19];
        assert_eq!(bcn.emit(&mut octets), Ok(19));
        assert_eq!(octets, [1, 8, 2, 0, 0, 0, 1, 4, 0, 16, 0xfe, 0x89, 0, 24, 0, 3, 9, 9, 9]);
        assert_eq!(Bcn::parse(&octets), Ok(bcn));
        octets[0] = 2;
        assert!(matches!(Bcn::parse(&octets), Err(Error::Field { field: "subtype", value: 2, .. })));
        assert!(Bcn { frame: &[0; 65], ..bcn }.emit(&mut [0; 99]).is_err());
        assert_eq!([&[1, 0xf][..], &[1], &[], &[2, 0], &[1, 0x10]].map(Bcn::fits), [true, true, true, false, false]);
    }

    #[test]
    fn a_tag_octet_by_octet() {
        let tag = RateLimitedTag { cpid: Cpid::of(Mac([2; 6]), 0, 1), ether_type: 0x0800 };
        let mut octets = [0xff; 12];
        assert_eq!(tag.emit(&mut octets), Ok(12));
        assert_eq!(octets, [0, 0, 2, 2, 2, 2, 2, 2, 0, 1, 8, 0]);
        assert_eq!(RateLimitedTag::parse(&octets), Ok(tag));
        assert!(RateLimitedTag::parse(&octets[..11]).is_err());
        // Reserved bits are ignored, and another version is refused.
        octets[1] = 0xff;
        assert_eq!(RateLimitedTag::parse(&octets), Ok(tag));
        octets[0] = 0x10;
        assert!(matches!(RateLimitedTag::parse(&octets), Err(Error::Field { field: "version", value: 1, .. })));
    }
}
