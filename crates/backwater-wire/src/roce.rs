//! RoCEv2: base transport header, RETH, AETH, CNP and the invariant CRC (InfiniBand specification, volume 1, clause 9; annex A17).
//!
//! The UDP destination port is 4791, the source port is the entropy of the flow, and the UDP checksum is 0. BTH
//! follows, then extended headers by opcode, payload padded to 4 octets, and ICRC.
//!
//! | BTH offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 8 | opcode | | InfiniBand volume 1, clause 9.2, table 38 |
//! | 1 | 1 | solicited event | | clause 9.2 |
//! | 1 | 1 | migration state; 1 = migrated | | clause 9.2 |
//! | 1 | 2 | pad count, 0 to 3 | octets | clause 9.2 |
//! | 1 | 4 | transport header version, 0 | | clause 9.2 |
//! | 2 | 16 | partition key | | clause 9.2 |
//! | 4 | 1 | FECN | | annex A17.9; native InfiniBand: reserved |
//! | 4 | 1 | BECN | | annex A17.9; native InfiniBand: reserved |
//! | 4 | 6 | reserved, 0 | | clause 9.2 |
//! | 5 | 24 | destination queue pair | | clause 9.2 |
//! | 8 | 1 | acknowledge request | | clause 9.2 |
//! | 8 | 7 | reserved, 0 | | clause 9.2 |
//! | 9 | 24 | packet sequence number | | clause 9.2 |
//!
//! | RETH offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 64 | virtual address | | clause 9.3.3 |
//! | 8 | 32 | remote key | | clause 9.3.3 |
//! | 12 | 32 | DMA length | octets | clause 9.3.3 |
//!
//! | AETH offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 8 | syndrome | | clause 9.3.5, table 45 |
//! | 1 | 24 | message sequence number | messages | clause 9.3.5 |
//!
//! | CNP offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 96 | BTH with opcode 0x81 and BECN, PSN 0, partition key of the marked packet | | annex A17.9.3 |
//! | 12 | 128 | reserved, 0 | | annex A17.9.3 |
//!
//! The ICRC, 32 bits with the lowest octet first, ends all of these packets: [`icrc`].

use crate::fast_cnp::OriginalDestination;
use crate::octets::{raw, view, write};
use crate::{Emit, Error, Parse};
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Opcodes of the reliable connection that a simulated flow uses (table 38), and the CNP.
pub mod opcode {
    /// SEND first.
    pub const SEND_FIRST: u8 = 0x00;
    /// SEND middle.
    pub const SEND_MIDDLE: u8 = 0x01;
    /// SEND last.
    pub const SEND_LAST: u8 = 0x02;
    /// SEND only.
    pub const SEND_ONLY: u8 = 0x04;
    /// RDMA WRITE first: a RETH follows.
    pub const WRITE_FIRST: u8 = 0x06;
    /// RDMA WRITE middle.
    pub const WRITE_MIDDLE: u8 = 0x07;
    /// RDMA WRITE last.
    pub const WRITE_LAST: u8 = 0x08;
    /// RDMA WRITE only: a RETH follows.
    pub const WRITE_ONLY: u8 = 0x0a;
    /// Acknowledge: an AETH follows.
    pub const ACKNOWLEDGE: u8 = 0x11;
    /// Congestion notification packet of RoCEv2 (annex A17.9.3): 16 octets of zeros follow. The opcode in native
    /// InfiniBand is 0x80.
    pub const CNP: u8 = 0x81;

    /// The extended headers between BTH and payload.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Extended {
        /// \[octets\] Length of all extended headers.
        pub octets: usize,
        /// True if a RETH is the first of them.
        pub reth: bool,
        /// True if an AETH is the first of them.
        pub aeth: bool,
    }

    /// Returns the extended headers of a packet (clause 9.2.1, table of opcodes), for reliable and unreliable
    /// connections and datagrams. For other transports it returns no header.
    pub const fn extended(opcode: u8) -> Extended {
        const IMMEDIATE: usize = 4; // or the key that SEND with invalidate carries
        const RETH: usize = 16;
        const AETH: usize = 4;
        const ATOMIC: usize = 28;
        const DETH: usize = 8;
        let (octets, reth, aeth) = match (opcode >> 5, opcode & 0x1f) {
            // reliable and unreliable connections: with immediate, and WRITE
            (0 | 1, 0x03 | 0x05 | 0x09) => (IMMEDIATE, false, false),
            (0 | 1, 0x06 | 0x0a) => (RETH, true, false),
            (0 | 1, 0x0b) => (RETH + IMMEDIATE, true, false),
            // reliable only: READ request and response, acknowledgements, atomics, SEND with invalidate
            (0, 0x0c) => (RETH, true, false),
            (0, 0x0d | 0x0f | 0x10 | 0x11) => (AETH, false, true),
            (0, 0x12) => (AETH + 8, false, true),
            (0, 0x13 | 0x14) => (ATOMIC, false, false),
            (0, 0x16 | 0x17) => (IMMEDIATE, false, false),
            // datagrams
            (3, 0x04) => (DETH, false, false),
            (3, 0x05) => (DETH + IMMEDIATE, false, false),
            _ => (0, false, false),
        };
        Extended { octets, reth, aeth }
    }
}

/// Layout of BTH (clause 9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct BthLayout {
    /// Octet 0.
    pub opcode: u8,
    /// Octet 1: solicited event (1 bit), migration state (1), pad count (2), transport header version (4), 0.
    pub flags: u8,
    /// Octets 2 and 3: partition key, 0xFFFF by default.
    pub p_key: U16,
    /// Octet 4: FECN (1 bit), BECN (1 bit), reserved (6), 0. Not covered by the ICRC.
    pub congestion: u8,
    /// Octets 5 to 7: destination queue pair.
    pub destination: [u8; 3],
    /// Octet 8: acknowledge request (1 bit), reserved (7), 0.
    pub ack_request: u8,
    /// Octets 9 to 11: packet sequence number.
    pub psn: [u8; 3],
}

/// A base transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bth {
    /// The kind of packet; see [`opcode`].
    pub opcode: u8,
    /// Solicited event: the receiver should notify its host of the message.
    pub solicited: bool,
    /// Migration state: true if the connection has migrated to its other path.
    pub migrated: bool,
    /// \[octets\] Padding between payload and ICRC, 0 to 3.
    pub padding: u8,
    /// Partition key.
    pub p_key: u16,
    /// Forward congestion notification.
    pub fecn: bool,
    /// Backward congestion notification: set in a CNP.
    pub becn: bool,
    /// Destination queue pair, 24 bits.
    pub destination: u32,
    /// True if the packet requests an acknowledgement.
    pub ack_request: bool,
    /// Packet sequence number, 24 bits.
    pub psn: u32,
}

impl Default for Bth {
    /// Returns zeros, except the values that RoCE adapters send without partitions and path migration: the default
    /// partition, migrated.
    fn default() -> Bth {
        Bth {
            opcode: 0,
            solicited: false,
            migrated: true,
            padding: 0,
            p_key: Bth::DEFAULT_PARTITION,
            fecn: false,
            becn: false,
            destination: 0,
            ack_request: false,
            psn: 0,
        }
    }
}

impl Bth {
    /// Partition key of the default partition, full member (InfiniBand volume 1, clause 10.9.1).
    pub const DEFAULT_PARTITION: u16 = 0xffff;
}

fn from_24([a, b, c]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, a, b, c])
}

fn to_24(frame: &'static str, field: &'static str, offset: usize, value: u32) -> Result<[u8; 3], Error> {
    match value.to_be_bytes() {
        [0, a, b, c] => Ok([a, b, c]),
        _ => Err(Error::field(frame, field, offset, value.into(), "at most 24 bits")),
    }
}

impl Parse<'_> for Bth {
    fn parse(octets: &[u8]) -> Result<Bth, Error> {
        let (layout, _) = view::<BthLayout>("BTH", octets)?;
        if layout.flags & 15 != 0 {
            return Err(Error::field("BTH", "transport header version", 1, (layout.flags & 15).into(), "0"));
        }
        Ok(Bth {
            opcode: layout.opcode,
            solicited: layout.flags & 0x80 != 0,
            migrated: layout.flags & 0x40 != 0,
            padding: layout.flags >> 4 & 3,
            p_key: layout.p_key.get(),
            fecn: layout.congestion & 0x80 != 0,
            becn: layout.congestion & 0x40 != 0,
            destination: from_24(layout.destination),
            ack_request: layout.ack_request & 0x80 != 0,
            psn: from_24(layout.psn),
        })
    }
}

impl Emit for Bth {
    fn length(&self) -> usize {
        size_of::<BthLayout>()
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        if self.padding > 3 {
            return Err(Error::field("BTH", "pad count", 1, self.padding.into(), "0 to 3"));
        }
        let layout = BthLayout {
            opcode: self.opcode,
            flags: u8::from(self.solicited) << 7 | u8::from(self.migrated) << 6 | self.padding << 4,
            p_key: U16::new(self.p_key),
            congestion: u8::from(self.fecn) << 7 | u8::from(self.becn) << 6,
            destination: to_24("BTH", "destination queue pair", 5, self.destination)?,
            ack_request: u8::from(self.ack_request) << 7,
            psn: to_24("BTH", "PSN", 9, self.psn)?,
        };
        write("BTH", octets, &[raw(&layout)], 0)
    }
}

/// RETH, RDMA extended transport header (clause 9.3.3), after the BTH of the first packet of a WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Reth {
    /// Octets 0 to 7: virtual address.
    pub address: U64,
    /// Octets 8 to 11: remote key.
    pub key: U32,
    /// Octets 12 to 15: length of the whole message in octets.
    pub length: U32,
}

impl Parse<'_> for Reth {
    fn parse(octets: &[u8]) -> Result<Reth, Error> {
        view::<Reth>("RETH", octets).map(|(reth, _)| *reth)
    }
}

impl Emit for Reth {
    fn length(&self) -> usize {
        size_of::<Reth>()
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        write("RETH", octets, &[raw(self)], 0)
    }
}

/// Layout of AETH (clause 9.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct AethLayout {
    /// Octet 0: 0x00 to 0x1F acknowledge with credits, 0x20 to 0x3F receiver not ready, 0x60 to 0x7F NAK (table 45).
    pub syndrome: u8,
    /// Octets 1 to 3: message sequence number.
    pub msn: [u8; 3],
}

/// An acknowledge extended transport header, after the BTH of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aeth {
    /// The acknowledgement or refusal; see [`Aeth::ACK`].
    pub syndrome: u8,
    /// Message sequence number, 24 bits.
    pub msn: u32,
}

impl Aeth {
    /// Acknowledge without credit count (table 45: 0x1F, credits invalid).
    pub const ACK: u8 = 0x1f;
    /// NAK, PSN sequence error.
    pub const NAK_SEQUENCE: u8 = 0x60;
}

impl Parse<'_> for Aeth {
    fn parse(octets: &[u8]) -> Result<Aeth, Error> {
        let (layout, _) = view::<AethLayout>("AETH", octets)?;
        Ok(Aeth { syndrome: layout.syndrome, msn: from_24(layout.msn) })
    }
}

impl Emit for Aeth {
    fn length(&self) -> usize {
        size_of::<AethLayout>()
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        let layout = AethLayout { syndrome: self.syndrome, msn: to_24("AETH", "MSN", 1, self.msn)? };
        write("AETH", octets, &[raw(&layout)], 0)
    }
}

/// A congestion notification packet: BTH and the octets after it, without the ICRC (annex A17.9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C, packed)]
pub struct Cnp {
    /// Queue pair of the sender of the marked flow, 24 bits.
    pub destination: u32,
    /// Partition key of the marked packet.
    pub p_key: u16,
}

impl Cnp {
    /// \[octets\] Reserved after the BTH, zero.
    pub const RESERVED: usize = 16;
}

impl Parse<'_> for Cnp {
    fn parse(octets: &[u8]) -> Result<Cnp, Error> {
        let bth = Bth::parse(octets)?;
        if bth.opcode != opcode::CNP {
            return Err(Error::field("CNP", "opcode", 0, bth.opcode.into(), "0x81"));
        }
        if !bth.becn {
            return Err(Error::field("CNP", "BECN", 4, 0, "1"));
        }
        let needs = size_of::<BthLayout>() + Cnp::RESERVED;
        if octets.len() < needs {
            return Err(Error::Short { frame: "CNP", needs, has: octets.len() });
        }
        Ok(Cnp { destination: bth.destination, p_key: bth.p_key })
    }
}

impl Emit for Cnp {
    fn length(&self) -> usize {
        size_of::<BthLayout>() + Cnp::RESERVED
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        let mut head = [0; size_of::<BthLayout>()];
        let Cnp { destination, p_key } = *self;
        let bth = Bth { opcode: opcode::CNP, p_key, becn: true, destination, migrated: false, ..Bth::default() };
        bth.emit(&mut head)?;
        write("CNP", octets, &[&head, &[0; Cnp::RESERVED]], 0)
    }
}

/// Returns the invariant CRC of a packet (annex A17.3.3), from the first octet of the IP header to the last before the
/// ICRC. It is the CRC-32 of Ethernet over 8 octets of ones and the packet, in which fields that routers change count
/// as ones. These are DSCP and ECN, time to live and checksum of IPv4, or traffic class, flow label and hop limit of
/// IPv6; the UDP checksum; and the octet of BTH with FECN and BECN. The header of [`crate::fast_cnp`] counts as it is:
/// a choice, since the annex knows no such header.
///
/// The frame has it in little-endian order: `icrc(..).to_le_bytes()`.
///
/// # Errors
/// [`Error::Short`] if IP, UDP and BTH are not whole; [`Error::Field`] if the IP version is neither 4 nor 6.
pub fn icrc(packet: &[u8]) -> Result<u32, Error> {
    let version = packet.first().map_or(0, |octet| octet >> 4);
    // IP header length, and the octets of the header that count as ones.
    let (ip, masks): (usize, &[(usize, u8)]) = match version {
        4 => (usize::from(packet[0] & 15) * 4, &[(1, 0xff), (8, 0xff), (10, 0xff), (11, 0xff)]),
        6 => {
            let options = packet.get(6) == Some(&OriginalDestination::HEADER);
            let ip = if options { 40 + OriginalDestination::LENGTH } else { 40 };
            (ip, &[(0, 0x0f), (1, 0xff), (2, 0xff), (3, 0xff), (7, 0xff)])
        }
        _ => return Err(Error::field("ICRC", "IP version", 0, version.into(), "4 or 6")),
    };
    let needs = ip.max(20) + 8 + size_of::<BthLayout>();
    // The masked fields are in IP (at most 64 octets), UDP and BTH.
    let mut head = [0u8; 64 + 8 + size_of::<BthLayout>()];
    let (Some(masked), Some(start), Some(rest)) = (head.get_mut(..needs), packet.get(..needs), packet.get(needs..))
    else {
        return Err(Error::Short { frame: "ICRC", needs, has: packet.len() });
    };
    masked.copy_from_slice(start);
    let more = [(ip + 6, 0xff), (ip + 7, 0xff), (ip + 8 + 4, 0xff)];
    for (at, mask) in masks.iter().copied().chain(more) {
        if let Some(octet) = masked.get_mut(at) {
            *octet |= mask;
        }
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&[0xff; 8]);
    crc.update(masked);
    crc.update(rest);
    Ok(crc.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bth_octet_by_octet() {
        let bth = Bth {
            opcode: opcode::WRITE_LAST,
            solicited: true,
            migrated: false,
            padding: 2,
            p_key: 0x8001,
            fecn: false,
            becn: true,
            destination: 0x010203,
            ack_request: true,
            psn: 0x0a0b0c,
        };
        let mut octets = [0; 12];
        assert_eq!(bth.emit(&mut octets), Ok(12));
        assert_eq!(octets, [0x08, 0xa0, 0x80, 0x01, 0x40, 1, 2, 3, 0x80, 0x0a, 0x0b, 0x0c]);
        assert_eq!(Bth::parse(&octets), Ok(bth));
        assert!(matches!(Bth { psn: 1 << 24, ..bth }.emit(&mut octets), Err(Error::Field { field: "PSN", .. })));
    }

    #[test]
    fn a_cnp_is_opcode_0x81_with_becn() {
        let mut octets = [0xff; 28];
        let cnp = Cnp { destination: 7, p_key: 0x8001 };
        assert_eq!(cnp.emit(&mut octets), Ok(28));
        assert_eq!(octets[..12], [0x81, 0x00, 0x80, 0x01, 0x40, 0, 0, 7, 0, 0, 0, 0]);
        assert!(octets[12..].iter().all(|o| *o == 0));
        assert_eq!(Cnp::parse(&octets), Ok(cnp));
        octets[0] = 0x80;
        assert!(matches!(Cnp::parse(&octets), Err(Error::Field { field: "opcode", .. })));
    }

    #[test]
    fn what_routers_change_does_not_change_the_icrc() {
        let mut packet = [0u8; 44];
        packet[0] = 0x45;
        let before = icrc(&packet).unwrap();
        for at in [1, 8, 10, 11, 26, 27, 32] {
            packet[at] ^= 0x5a;
            assert_eq!(icrc(&packet).unwrap(), before, "octet {at}");
        }
        packet[43] ^= 1;
        assert_ne!(icrc(&packet).unwrap(), before);
        assert!(icrc(&packet[..39]).is_err());
        assert!(icrc(&[]).is_err());
    }
}
