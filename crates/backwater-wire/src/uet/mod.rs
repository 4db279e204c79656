//! UET, Ultra Ethernet Transport over UDP: the packet delivery sublayer (PDS) for reliable unordered delivery (RUD).
//!
//! Field orders and values are public in Wireshark's dissector (`packet-uet.c`, from version 4.6 on, after UE
//! specification 1.0.1) and in XDP2's headers (`include/uet/pds.h`), which agree except where noted. The UDP
//! destination port is 4793 (IANA, `ultraethernet`), the source port is the entropy, and one of the headers below
//! follows. `next` names what follows the header, such as a header of the semantic sublayer (SES) and payload; this
//! crate does not read it. No field has a version: the type determines the format.
//!
//! | offset, all | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 5 | type: 2 RUD request, 7 ACK, 8 ACK_CC, 10 NACK, 11 control packet, 13 RUD request with CC state | | Wireshark, XDP2 |
//! | 0 | 4 | next header, 0 = none; of a control packet its kind | | Wireshark, XDP2 |
//! | 1 | 7 | flags, by type | | Wireshark, XDP2 |
//!
//! | request offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 1 | 7 | reserved (2), retransmitted, ACK request, SYN, reserved (2) | | Wireshark, XDP2 |
//! | 2 | 16 | clear PSN, as an offset from the PSN, signed | packets | Wireshark |
//! | 4 | 32 | PSN | packets | Wireshark, XDP2 |
//! | 8 | 16 | source PDC identifier | | Wireshark, XDP2 |
//! | 10 | 16 | destination PDC identifier; with SYN other things | | Wireshark, XDP2 |
//! | 12 | 8 | type 13 only: CCC identifier | | Wireshark, XDP2 |
//! | 13 | 24 | type 13 only: credit target | 256 octets | Wireshark, XDP2; unit: RCCC's quantum |
//!
//! | ACK offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 1 | 7 | reserved, ECN-marked, retransmitted, probe, request (2), reserved | | Wireshark, XDP2 |
//! | 2 | 16 | PSN that is acknowledged, as an offset from the cumulative one, signed | packets | Wireshark |
//! | 4 | 32 | cumulative PSN: the last one before which none is missing | packets | Wireshark, XDP2 |
//! | 8 | 32 | PDC identifiers, source and destination | | Wireshark, XDP2 |
//! | 12 | 4 | type 8 only, as all below: type of CC state, 0 NSCC, 1 credit | | Wireshark, XDP2 |
//! | 12 | 4 | flags, reserved | | XDP2 |
//! | 13 | 8 | MPR, maximum PSN range | | Wireshark, XDP2 |
//! | 14 | 16 | SACK offset: PSN of the map's first bit, from the cumulative one, signed | packets | Wireshark; the sign is our choice |
//! | 16 | 64 | SACK bitmap; its lowest bit is the first | | Wireshark, XDP2; the order of bits is our choice |
//! | 24 | 16 | NSCC: service time | | Wireshark, XDP2 |
//! | 26 | 1 | NSCC: restore the window | | Wireshark, XDP2 |
//! | 26 | 7 | NSCC: window penalty | 1/128 | Wireshark, XDP2 |
//! | 27 | 24 | NSCC: received bytes, modulo 2^24 | 256 octets | Wireshark, XDP2; the unit is our choice |
//! | 24 | 24 | credit: credit; 24 bits reserved follow | 256 octets | Wireshark, XDP2; unit: RCCC's quantum |
//! | 30 | 16 | packets out of order | packets | Wireshark, XDP2 |
//!
//! | NACK offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 1 | 7 | reserved, ECN-marked, retransmitted, NACK type, reserved (3) | | Wireshark, XDP2 |
//! | 2 | 8 | code: [`Nack::TRIMMED`] and others | | Wireshark, XDP2 |
//! | 3 | 8 | vendor code | | Wireshark, XDP2 |
//! | 4 | 32 | PSN | packets | Wireshark, XDP2 |
//! | 8 | 32 | PDC identifiers, source and destination | | Wireshark, XDP2 |
//! | 12 | 32 | payload, by code | | Wireshark, XDP2 |
//!
//! | control offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 4 | kind, in place of the next header: 6 probe, 7 credit, 8 request for credit | | Wireshark, XDP2 |
//! | 1 | 7 | reserved (2), retransmitted, ACK request, SYN, reserved (2) | | Wireshark |
//! | 2 | 16 | probe opaque | | Wireshark, XDP2 |
//! | 4 | 32 | PSN | packets | Wireshark, XDP2 |
//! | 8 | 32 | PDC identifiers, source and destination | | Wireshark, XDP2 |
//! | 12 | 32 | payload, by kind: of credit and its request the lower 24 bits are the credit | 256 octets | Wireshark, XDP2; the place of 24 in 32 bits is our choice |

use crate::octets::{raw, view, write};
use crate::{Emit, Error, Parse};
use zerocopy::byteorder::big_endian::{I16, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// UDP destination port (IANA service name registry, `ultraethernet`).
pub const PORT: u16 = 4793;

/// Types of PDS headers that this crate reads.
pub mod kind {
    /// Request for reliable unordered delivery: data.
    pub const RUD_REQUEST: u8 = 2;
    /// Acknowledgement.
    pub const ACK: u8 = 7;
    /// Acknowledgement with a map and the state of congestion control.
    pub const ACK_CC: u8 = 8;
    /// Negative acknowledgement.
    pub const NACK: u8 = 10;
    /// Control packet.
    pub const CONTROL: u8 = 11;
    /// [`RUD_REQUEST`] with the state of congestion control.
    pub const RUD_CC_REQUEST: u8 = 13;
    /// The last defined type; 0 is not defined, either.
    pub const LAST: u8 = 14;
}

// Flags. A bit may have different meanings in different types.
const MARKED: u8 = 0x20;
const AGAIN: u8 = 0x10;
const ASKS: u8 = 0x08;
const SYN: u8 = 0x04;

/// Splits the octets that all types begin with: type, next header or kind, flags.
const fn apart(head: U16) -> (u8, u8, u8) {
    let head = head.get();
    ((head >> 11) as u8, (head >> 7 & 15) as u8, (head & 0x7f) as u8)
}

fn head(frame: &'static str, kind: u8, next: u8, flags: u8) -> Result<U16, Error> {
    if next > 15 {
        return Err(Error::field(frame, "next header", 0, next.into(), "at most 4 bits"));
    }
    Ok(U16::new(u16::from(kind) << 11 | u16::from(next) << 7 | u16::from(flags)))
}

fn bits(condition: bool, flag: u8) -> u8 {
    if condition { flag } else { 0 }
}

fn of_24([a, b, c]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, a, b, c])
}

fn in_24(frame: &'static str, field: &'static str, offset: usize, value: u32) -> Result<[u8; 3], Error> {
    match value.to_be_bytes() {
        [0, a, b, c] => Ok([a, b, c]),
        _ => Err(Error::field(frame, field, offset, value.into(), "at most 24 bits")),
    }
}

/// Checks that the type is one of `wanted`.
fn checked(frame: &'static str, found: u8, wanted: [u8; 2], expected: &'static str) -> Result<(), Error> {
    if wanted.contains(&found) { Ok(()) } else { Err(Error::field(frame, "type", 0, found.into(), expected)) }
}

/// Layout of a request, up to its CC state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct RequestLayout {
    /// Octets 0 and 1: type (5 bits), next header (4), flags (7).
    pub head: U16,
    /// Octets 2 and 3: clear PSN, from the PSN on.
    pub clear: I16,
    /// Octets 4 to 7: PSN.
    pub psn: U32,
    /// Octets 8 and 9: source PDC identifier.
    pub source: U16,
    /// Octets 10 and 11: destination PDC identifier.
    pub destination: U16,
}

/// Layout of the CC state of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct TargetLayout {
    /// Octet 12: CCC identifier.
    pub ccc: u8,
    /// Octets 13 to 15: credit target.
    pub target: [u8; 3],
}

/// A request: the header of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Next header, 4 bits; 0: none.
    pub next: u8,
    /// True if it is a retransmission.
    pub again: bool,
    /// True if it requests an acknowledgement.
    pub ack_request: bool,
    /// True if it opens a connection. `destination` then has another meaning.
    pub syn: bool,
    /// \[packets\] Clear PSN, from the PSN on.
    pub clear: i16,
    /// \[packets\] Packet sequence number.
    pub psn: u32,
    /// Identifier of the connection at its source.
    pub source: u16,
    /// Identifier of the connection at its destination.
    pub destination: u16,
    /// CCC identifier, and the credit target, in 256 octets modulo 2^24. `None`: type 2, which has neither.
    pub target: Option<(u8, u32)>,
}

impl Parse<'_> for Request {
    fn parse(octets: &[u8]) -> Result<Request, Error> {
        let (layout, rest) = view::<RequestLayout>("UET request", octets)?;
        let (kind, next, flags) = apart(layout.head);
        checked("UET request", kind, [kind::RUD_REQUEST, kind::RUD_CC_REQUEST], "2 or 13")?;
        let target = if kind == kind::RUD_CC_REQUEST {
            let needs = size_of::<RequestLayout>() + size_of::<TargetLayout>();
            let short = Error::Short { frame: "UET request", needs, has: octets.len() };
            let (state, _) = view::<TargetLayout>("UET request", rest).map_err(|_| short)?;
            Some((state.ccc, of_24(state.target)))
        } else {
            None
        };
        Ok(Request {
            next,
            again: flags & AGAIN != 0,
            ack_request: flags & ASKS != 0,
            syn: flags & SYN != 0,
            clear: layout.clear.get(),
            psn: layout.psn.get(),
            source: layout.source.get(),
            destination: layout.destination.get(),
            target,
        })
    }
}

impl Emit for Request {
    fn length(&self) -> usize {
        size_of::<RequestLayout>() + self.target.map_or(0, |_| size_of::<TargetLayout>())
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        let flags = bits(self.again, AGAIN) | bits(self.ack_request, ASKS) | bits(self.syn, SYN);
        let kind = if self.target.is_some() { kind::RUD_CC_REQUEST } else { kind::RUD_REQUEST };
        let layout = RequestLayout {
            head: head("UET request", kind, self.next, flags)?,
            clear: I16::new(self.clear),
            psn: U32::new(self.psn),
            source: U16::new(self.source),
            destination: U16::new(self.destination),
        };
        let Some((ccc, target)) = self.target else { return write("UET request", octets, &[raw(&layout)], 0) };
        let state = TargetLayout { ccc, target: in_24("UET request", "credit target", 13, target)? };
        write("UET request", octets, &[raw(&layout), raw(&state)], 0)
    }
}

mod answer;
pub use answer::{
    Ack, AckLayout, CcState, Control, ControlLayout, CreditLayout, Nack, NackLayout, NsccLayout, Sack, SackLayout,
};

/// A header of any of these types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uet {
    /// Type 2 or 13.
    Request(Request),
    /// Type 7 or 8.
    Ack(Ack),
    /// Type 10.
    Nack(Nack),
    /// Type 11.
    Control(Control),
}

impl Uet {
    /// Returns whether octets begin with a defined type that this crate does not read: encryption, and other kinds of
    /// delivery.
    pub fn foreign(octets: &[u8]) -> bool {
        let kind = octets.first().map_or(0, |octet| octet >> 3);
        (1..=kind::LAST).contains(&kind) && !KINDS.contains(&kind)
    }
}

const KINDS: [u8; 6] = [kind::RUD_REQUEST, kind::ACK, kind::ACK_CC, kind::NACK, kind::CONTROL, kind::RUD_CC_REQUEST];

impl Parse<'_> for Uet {
    fn parse(octets: &[u8]) -> Result<Uet, Error> {
        let (first, _) = view::<u8>("UET", octets)?;
        match first >> 3 {
            kind::RUD_REQUEST | kind::RUD_CC_REQUEST => Request::parse(octets).map(Uet::Request),
            kind::ACK | kind::ACK_CC => Ack::parse(octets).map(Uet::Ack),
            kind::NACK => Nack::parse(octets).map(Uet::Nack),
            kind::CONTROL => Control::parse(octets).map(Uet::Control),
            other => Err(Error::field("UET", "type", 0, other.into(), "2, 7, 8, 10, 11 or 13")),
        }
    }
}

impl Emit for Uet {
    fn length(&self) -> usize {
        match self {
            Uet::Request(request) => request.length(),
            Uet::Ack(ack) => ack.length(),
            Uet::Nack(nack) => nack.length(),
            Uet::Control(control) => control.length(),
        }
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        match self {
            Uet::Request(request) => request.emit(octets),
            Uet::Ack(ack) => ack.emit(octets),
            Uet::Nack(nack) => nack.emit(octets),
            Uet::Control(control) => control.emit(octets),
        }
    }
}

#[cfg(test)]
mod tests;
