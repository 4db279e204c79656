//! SFCM, the message of Source Flow Control (P802.1Qdw): "stop sending to me for this long".
//!
//! No encoding has been published (clause 52.5.3 of the draft is open). **Every octet here is this project's choice**,
//! made so that the message can be routed and has the fields that the contributions require: IP to the source of the
//! congested flow, DSCP 48, UDP to a port of the dynamic range ([`Sfcm::PORT`], a parameter of the sender), then
//! [`Layout`]. (A simulated run sends it in the class that its scenario names, with the DSCP of that class.)
//!
//! | offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 4 | version, 1 | | choice |
//! | 0 | 4 | type: 0 = pause, 1 = resume | | choice |
//! | 1 | 1 | class mode | | choice |
//! | 1 | 1 | flow mode; not with class mode | | choice |
//! | 1 | 1 | made by a proxy | | choice |
//! | 1 | 5 | reserved, 0 | | choice |
//! | 2 | 6 | DSCP of the congested packet | | choice; the contribution echoes it |
//! | 2 | 2 | ECN field of the congested packet | | choice |
//! | 3 | 3 | priority of the congested packet | | choice |
//! | 3 | 5 | reserved, 0 | | choice |
//! | 4 | 32 | pause time; 0 = resume | ns | choice; the contributions have a time |
//! | 8 | 32 | depth of the congested queue, informative | 64 octets | choice |
//! | 12 | 64 | congestion point identifier | | choice: that of [`crate::qcn`] |
//! | 20 | 16 | encapsulated length n | octets | choice |
//! | 22 | 8 n | the congested packet, from its IP header on | | choice; it names the flow |

use crate::address::Cpid;
use crate::octets::{first, raw, view, write};
use crate::{Emit, Error, Parse};
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The format's name in errors.
const NAME: &str = "SFCM";

/// Layout of the UDP payload, without the octets of the congested packet that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    /// Octet 0: version (4 bits), 1; type (4 bits): 0 = pause, 1 = resume.
    pub version_and_type: u8,
    /// Octet 1: bit 7 = the source stops the traffic class; bit 6 = it stops the flow; bit 5 = made by a proxy; others reserved, 0.
    pub flags: u8,
    /// Octet 2: DSCP of the congested packet (6 bits); its ECN field as seen (2 bits).
    pub traffic_class: u8,
    /// Octet 3: priority of the congested packet (3 bits); reserved (5 bits), 0.
    pub priority: u8,
    /// Octets 4 to 7: pause time in nanoseconds; 0 = resume. It does not depend on the rate; the edge converts it to
    /// quanta.
    pub pause_time: U32,
    /// Octets 8 to 11: depth of the congested queue in units of 64 octets, informative.
    pub depth: U32,
    /// Octets 12 to 19: congestion point identifier.
    pub cpid: Cpid,
    /// Octets 20 and 21: length n of the encapsulated packet, 48 by default. Its first n octets follow, from the IP header on.
    pub length: U16,
}

/// The traffic that the source should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All that it sends in the traffic class of the congested packet.
    Class,
    /// The flow of the congested packet.
    Flow,
    /// Neither is named: the source decides.
    Open,
}

/// A message of Source Flow Control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sfcm<'a> {
    /// The traffic that should stop.
    pub scope: Scope,
    /// True if a proxy made the message, such as a ToR that remembers congested destinations.
    pub by_proxy: bool,
    /// DSCP of the congested packet, 0 to 63.
    pub dscp: u8,
    /// ECN field of the congested packet, 0 to 3.
    pub ecn: u8,
    /// Priority of the congested packet, 0 to 7.
    pub priority: u8,
    /// \[ns\] Duration; 0 = resume.
    pub pause_time: u32,
    /// \[64 octets\] Depth of the congested queue.
    pub depth: u32,
    /// The congestion point that sends the message.
    pub cpid: Cpid,
    /// First octets of the congested packet, from its IP header on: they name the flow.
    pub packet: &'a [u8],
}

impl Sfcm<'_> {
    /// Default UDP destination port, from the dynamic range (RFC 6335), not registered.
    pub const PORT: u16 = 61185;
    /// The version that is sent and read.
    pub const VERSION: u8 = 1;

    /// Returns whether a datagram to an unregistered port can be a message, by the version and type that are present.
    pub fn fits(octets: &[u8]) -> bool {
        octets.first().is_none_or(|first| first >> 4 == Sfcm::VERSION && first & 15 <= 1)
    }
}

impl<'a> Parse<'a> for Sfcm<'a> {
    /// The version must be [`Sfcm::VERSION`], the type must agree with the pause time, and class and flow exclude each other.
    fn parse(octets: &'a [u8]) -> Result<Sfcm<'a>, Error> {
        let (layout, rest) = view::<Layout>(NAME, octets)?;
        let (version, kind) = (layout.version_and_type >> 4, layout.version_and_type & 15);
        if version != Sfcm::VERSION {
            return Err(Error::field(NAME, "version", 0, version.into(), "1"));
        }
        let resume = layout.pause_time.get() == 0;
        if kind != u8::from(resume) {
            return Err(Error::field(NAME, "type", 0, kind.into(), "0 with a pause time, 1 without"));
        }
        let scope = match layout.flags >> 6 {
            0 => Scope::Open,
            1 => Scope::Flow,
            2 => Scope::Class,
            _ => return Err(Error::field(NAME, "flags", 1, layout.flags.into(), "class or flow, not both")),
        };
        Ok(Sfcm {
            scope,
            by_proxy: layout.flags & 1 << 5 != 0,
            dscp: layout.traffic_class >> 2,
            ecn: layout.traffic_class & 3,
            priority: layout.priority >> 5,
            pause_time: layout.pause_time.get(),
            depth: layout.depth.get(),
            cpid: layout.cpid,
            packet: first(NAME, size_of::<Layout>(), rest, usize::from(layout.length.get()))?,
        })
    }
}

impl Emit for Sfcm<'_> {
    fn length(&self) -> usize {
        size_of::<Layout>() + self.packet.len()
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        if self.dscp > 63 {
            return Err(Error::field(NAME, "DSCP", 2, self.dscp.into(), "0 to 63"));
        }
        if self.ecn > 3 {
            return Err(Error::field(NAME, "ECN", 2, self.ecn.into(), "0 to 3"));
        }
        if self.priority > 7 {
            return Err(Error::field(NAME, "priority", 3, self.priority.into(), "0 to 7"));
        }
        let Ok(length) = u16::try_from(self.packet.len()) else {
            return Err(Error::field(NAME, "encapsulated length", 20, self.packet.len() as u64, "0 to 65535"));
        };
        let scope = match self.scope {
            Scope::Class => 1 << 7,
            Scope::Flow => 1 << 6,
            Scope::Open => 0,
        };
        let layout = Layout {
            version_and_type: Sfcm::VERSION << 4 | u8::from(self.pause_time == 0),
            flags: scope | u8::from(self.by_proxy) << 5,
            traffic_class: self.dscp << 2 | self.ecn,
            priority: self.priority << 5,
            pause_time: U32::new(self.pause_time),
            depth: U32::new(self.depth),
            cpid: self.cpid,
            length: U16::new(length),
        };
        write(NAME, octets, &[raw(&layout), self.packet], 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Mac;

    const MESSAGE: Sfcm<'_> = Sfcm {
        scope: Scope::Flow,
        by_proxy: false,
        dscp: 26,
        ecn: 2,
        priority: 3,
        pause_time: 6000,
        depth: 3125,
        cpid: Cpid { bridge: Mac([2, 0, 0, 0, 1, 4]), point: [0, 27] },
        packet: &[0x45, 0x6a],
    };

    #[test]
    fn a_message_octet_by_octet() {
        let mut octets = [0xff; 24];
        assert_eq!(MESSAGE.emit(&mut octets), Ok(24));
        let expected =
            [0x10, 0x40, 0x6a, 0x60, 0, 0, 0x17, 0x70, 0, 0, 0x0c, 0x35, 2, 0, 0, 0, 1, 4, 0, 27, 0, 2, 0x45, 0x6a];
        assert_eq!(octets, expected);
        assert_eq!(Sfcm::parse(&octets), Ok(MESSAGE));
    }

    #[test]
    fn a_resume_has_no_time_and_contradictions_are_refused() {
        let mut octets = [0; 24];
        let resume = Sfcm { pause_time: 0, by_proxy: true, scope: Scope::Class, ..MESSAGE };
        resume.emit(&mut octets).unwrap();
        assert_eq!(octets[..2], [0x11, 0xa0]);
        assert_eq!(Sfcm::parse(&octets), Ok(resume));
        octets[0] = 0x10;
        assert!(matches!(Sfcm::parse(&octets), Err(Error::Field { field: "type", .. })));
        octets[0] = 0x21;
        assert!(matches!(Sfcm::parse(&octets), Err(Error::Field { field: "version", .. })));
        assert_eq!([0x10, 0x11, 0x12, 0x21, 0x45].map(|o| Sfcm::fits(&[o])), [true, true, false, false, false]);
        octets[..2].copy_from_slice(&[0x11, 0xc0]);
        assert!(matches!(Sfcm::parse(&octets), Err(Error::Field { field: "flags", .. })));
    }
}
