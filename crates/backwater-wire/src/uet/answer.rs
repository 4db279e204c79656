//! Packets to the sender: acknowledgements, and control packets. The tables of the module above have the layouts.

use super::{AGAIN, ASKS, MARKED, SYN, apart, bits, checked, head, in_24, kind, of_24};
use crate::octets::{raw, view, write};
use crate::{Emit, Error, Parse};
use zerocopy::byteorder::big_endian::{I16, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Layout of an acknowledgement, up to its map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct AckLayout {
    /// Octets 0 and 1: type (5 bits), next header (4), flags (7).
    pub head: U16,
    /// Octets 2 and 3: the PSN that is acknowledged, from the cumulative one on.
    pub offset: I16,
    /// Octets 4 to 7: cumulative PSN.
    pub cumulative: U32,
    /// Octets 8 and 9: source PDC identifier.
    pub source: U16,
    /// Octets 10 and 11: destination PDC identifier.
    pub destination: U16,
}

/// Layout of map and CC state of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SackLayout {
    /// Octet 12: type of CC state (4 bits), reserved (4).
    pub cc_type: u8,
    /// Octet 13: maximum PSN range.
    pub mpr: u8,
    /// Octets 14 and 15: PSN of the first bit, from the cumulative one on.
    pub offset: I16,
    /// Octets 16 to 23: the map.
    pub map: U64,
    /// Octets 24 to 31: CC state, by its type.
    pub state: [u8; 8],
}

/// Layout of the CC state of NSCC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct NsccLayout {
    /// Octets 24 and 25: service time.
    pub service_time: U16,
    /// Octet 26: restore the window (1 bit), window penalty (7).
    pub penalty: u8,
    /// Octets 27 to 29: received bytes.
    pub received: [u8; 3],
    /// Octets 30 and 31: packets out of order.
    pub out_of_order: U16,
}

/// Layout of the CC state of credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct CreditLayout {
    /// Octets 24 to 26: credit.
    pub credit: [u8; 3],
    /// Octets 27 to 29: reserved, 0.
    pub reserved: [u8; 3],
    /// Octets 30 and 31: packets out of order.
    pub out_of_order: U16,
}

/// The congestion control state in an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CcState {
    /// Type 0.
    Nscc {
        /// Service time.
        service_time: u16,
        /// True if the window should be restored.
        restore: bool,
        /// \[1/128\] Window penalty, 7 bits.
        penalty: u8,
        /// \[256 octets\] All received bytes, modulo 2^24.
        received: u32,
        /// \[packets\] Out of order.
        out_of_order: u16,
    },
    /// Type 1.
    Credit {
        /// \[256 octets\] Credit, modulo 2^24.
        credit: u32,
        /// \[packets\] Out of order.
        out_of_order: u16,
    },
}

/// The map of an acknowledgement, and its congestion control state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sack {
    /// Maximum PSN range.
    pub mpr: u8,
    /// \[packets\] PSN of the lowest bit, from the cumulative one on.
    pub offset: i16,
    /// Bit i is set if the PSN `offset` + i, from the cumulative one on, has arrived.
    pub map: u64,
    /// Congestion control.
    pub state: CcState,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// Next header, 4 bits; 0: none.
    pub next: u8,
    /// True if the acknowledged packet was marked.
    pub marked: bool,
    /// True if the acknowledged packet was a retransmission.
    pub again: bool,
    /// True if it answers a probe.
    pub probe: bool,
    /// Its request, 2 bits: 0 none, 1 to clear, 2 to close.
    pub request: u8,
    /// \[packets\] The acknowledged PSN, from the cumulative one on. In the answer to a probe, the probe's opaque
    /// value.
    pub offset: i16,
    /// \[packets\] The last PSN before which none is missing.
    pub cumulative: u32,
    /// Identifier of the connection at the sender of this packet.
    pub source: u16,
    /// Identifier of the connection at the receiver of this packet.
    pub destination: u16,
    /// Map and CC state. `None`: type 7, which has none.
    pub sack: Option<Sack>,
}

const ACK: &str = "UET ACK";

impl Parse<'_> for Ack {
    fn parse(octets: &[u8]) -> Result<Ack, Error> {
        let (layout, rest) = view::<AckLayout>(ACK, octets)?;
        let (kind, next, flags) = apart(layout.head);
        checked(ACK, kind, [kind::ACK, kind::ACK_CC], "7 or 8")?;
        let sack = if kind == kind::ACK_CC {
            let needs = size_of::<AckLayout>() + size_of::<SackLayout>();
            let short = Error::Short { frame: ACK, needs, has: octets.len() };
            let (layout, _) = view::<SackLayout>(ACK, rest).map_err(|_| short)?;
            Some(Sack {
                mpr: layout.mpr,
                offset: layout.offset.get(),
                map: layout.map.get(),
                state: CcState::parse(layout)?,
            })
        } else {
            None
        };
        Ok(Ack {
            next,
            marked: flags & MARKED != 0,
            again: flags & AGAIN != 0,
            probe: flags & ASKS != 0,
            request: flags >> 1 & 3,
            offset: layout.offset.get(),
            cumulative: layout.cumulative.get(),
            source: layout.source.get(),
            destination: layout.destination.get(),
            sack,
        })
    }
}

impl CcState {
    fn parse(layout: &SackLayout) -> Result<CcState, Error> {
        match layout.cc_type >> 4 {
            0 => {
                let (state, _) = view::<NsccLayout>(ACK, &layout.state)?;
                Ok(CcState::Nscc {
                    service_time: state.service_time.get(),
                    restore: state.penalty & 0x80 != 0,
                    penalty: state.penalty & 0x7f,
                    received: of_24(state.received),
                    out_of_order: state.out_of_order.get(),
                })
            }
            1 => {
                let (state, _) = view::<CreditLayout>(ACK, &layout.state)?;
                Ok(CcState::Credit { credit: of_24(state.credit), out_of_order: state.out_of_order.get() })
            }
            other => Err(Error::field(ACK, "type of CC state", 12, other.into(), "0 or 1")),
        }
    }

    /// Returns its type and its octets.
    fn octets(&self) -> Result<(u8, [u8; 8]), Error> {
        let mut octets = [0; 8];
        match *self {
            CcState::Nscc { service_time, restore, penalty, received, out_of_order } => {
                if penalty > 0x7f {
                    return Err(Error::field(ACK, "window penalty", 26, penalty.into(), "at most 7 bits"));
                }
                let layout = NsccLayout {
                    service_time: U16::new(service_time),
                    penalty: bits(restore, 0x80) | penalty,
                    received: in_24(ACK, "received bytes", 27, received)?,
                    out_of_order: U16::new(out_of_order),
                };
                write(ACK, &mut octets, &[raw(&layout)], 0)?;
                Ok((0, octets))
            }
            CcState::Credit { credit, out_of_order } => {
                let credit = in_24(ACK, "credit", 24, credit)?;
                let layout = CreditLayout { credit, reserved: [0; 3], out_of_order: U16::new(out_of_order) };
                write(ACK, &mut octets, &[raw(&layout)], 0)?;
                Ok((0x10, octets))
            }
        }
    }
}

impl Emit for Ack {
    fn length(&self) -> usize {
        size_of::<AckLayout>() + self.sack.map_or(0, |_| size_of::<SackLayout>())
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        if self.request > 3 {
            return Err(Error::field(ACK, "request", 1, self.request.into(), "at most 2 bits"));
        }
        let flags = bits(self.marked, MARKED) | bits(self.again, AGAIN) | bits(self.probe, ASKS) | self.request << 1;
        let kind = if self.sack.is_some() { kind::ACK_CC } else { kind::ACK };
        let layout = AckLayout {
            head: head(ACK, kind, self.next, flags)?,
            offset: I16::new(self.offset),
            cumulative: U32::new(self.cumulative),
            source: U16::new(self.source),
            destination: U16::new(self.destination),
        };
        let Some(Sack { mpr, offset, map, state }) = self.sack else { return write(ACK, octets, &[raw(&layout)], 0) };
        let (cc_type, state) = state.octets()?;
        let sack = SackLayout { cc_type, mpr, offset: I16::new(offset), map: U64::new(map), state };
        write(ACK, octets, &[raw(&layout), raw(&sack)], 0)
    }
}

/// Layout of a negative acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct NackLayout {
    /// Octets 0 and 1: type (5 bits), next header (4), flags (7).
    pub head: U16,
    /// Octet 2: code.
    pub code: u8,
    /// Octet 3: vendor code.
    pub vendor: u8,
    /// Octets 4 to 7: PSN.
    pub psn: U32,
    /// Octets 8 and 9: source PDC identifier.
    pub source: U16,
    /// Octets 10 and 11: destination PDC identifier.
    pub destination: U16,
    /// Octets 12 to 15: payload, by code.
    pub payload: U32,
}

/// A negative acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nack {
    /// Next header, 4 bits; 0: none.
    pub next: u8,
    /// True if the packet that it reports was marked.
    pub marked: bool,
    /// True if the packet that it reports was a retransmission.
    pub again: bool,
    /// True if it answers a request of RUDI, whose packets have no connection.
    pub rudi: bool,
    /// The reason, such as [`Nack::TRIMMED`].
    pub code: u8,
    /// Vendor code.
    pub vendor: u8,
    /// \[packets\] PSN of the packet that is not acknowledged.
    pub psn: u32,
    /// Identifier of the connection at the sender of this packet.
    pub source: u16,
    /// Identifier of the connection at the receiver of this packet.
    pub destination: u16,
    /// Its meaning depends on the code.
    pub payload: u32,
}

impl Nack {
    /// The packet has arrived without its payload.
    pub const TRIMMED: u8 = 0x01;
    /// The same, trimmed at the port to its destination.
    pub const TRIMMED_LASTHOP: u8 = 0x02;
    /// The destination assumes that the packet is lost.
    pub const INFERRED_LOSS: u8 = 0x1a;
}

impl Parse<'_> for Nack {
    fn parse(octets: &[u8]) -> Result<Nack, Error> {
        let (layout, _) = view::<NackLayout>("UET NACK", octets)?;
        let (kind, next, flags) = apart(layout.head);
        checked("UET NACK", kind, [kind::NACK; 2], "10")?;
        Ok(Nack {
            next,
            marked: flags & MARKED != 0,
            again: flags & AGAIN != 0,
            rudi: flags & ASKS != 0,
            code: layout.code,
            vendor: layout.vendor,
            psn: layout.psn.get(),
            source: layout.source.get(),
            destination: layout.destination.get(),
            payload: layout.payload.get(),
        })
    }
}

impl Emit for Nack {
    fn length(&self) -> usize {
        size_of::<NackLayout>()
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        let flags = bits(self.marked, MARKED) | bits(self.again, AGAIN) | bits(self.rudi, ASKS);
        let layout = NackLayout {
            head: head("UET NACK", kind::NACK, self.next, flags)?,
            code: self.code,
            vendor: self.vendor,
            psn: U32::new(self.psn),
            source: U16::new(self.source),
            destination: U16::new(self.destination),
            payload: U32::new(self.payload),
        };
        write("UET NACK", octets, &[raw(&layout)], 0)
    }
}

/// Layout of a control packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ControlLayout {
    /// Octets 0 and 1: type (5 bits), kind (4), flags (7).
    pub head: U16,
    /// Octets 2 and 3: probe opaque.
    pub probe: U16,
    /// Octets 4 to 7: PSN.
    pub psn: U32,
    /// Octets 8 and 9: source PDC identifier.
    pub source: U16,
    /// Octets 10 and 11: destination PDC identifier.
    pub destination: U16,
    /// Octets 12 to 15: payload, by kind.
    pub payload: U32,
}

/// A control packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// Its kind, 4 bits, such as [`Control::CREDIT`].
    pub kind: u8,
    /// True if it is a retransmission.
    pub again: bool,
    /// True if it requests an acknowledgement.
    pub ack_request: bool,
    /// True if it opens a connection.
    pub syn: bool,
    /// A value that the answer to a probe repeats.
    pub probe: u16,
    /// \[packets\] PSN, in kinds that have one.
    pub psn: u32,
    /// Identifier of the connection at the sender of this packet.
    pub source: u16,
    /// Identifier of the connection at the receiver of this packet.
    pub destination: u16,
    /// Its meaning depends on the kind. For credit and its request: 256 octets, modulo 2^24.
    pub payload: u32,
}

impl Control {
    /// Probe from the source of data, which requests an acknowledgement.
    pub const PROBE: u8 = 6;
    /// Credit, from the destination of data.
    pub const CREDIT: u8 = 7;
    /// Request for credit, from the source of data.
    pub const CREDIT_REQUEST: u8 = 8;

    /// \[256 octets\] Returns the credit, modulo 2^24, if the kind has one.
    pub fn credit(&self) -> Option<u32> {
        [Control::CREDIT, Control::CREDIT_REQUEST].contains(&self.kind).then_some(self.payload & 0xff_ffff)
    }
}

impl Parse<'_> for Control {
    fn parse(octets: &[u8]) -> Result<Control, Error> {
        let (layout, _) = view::<ControlLayout>("UET control packet", octets)?;
        let (kind, what, flags) = apart(layout.head);
        checked("UET control packet", kind, [kind::CONTROL; 2], "11")?;
        Ok(Control {
            kind: what,
            again: flags & AGAIN != 0,
            ack_request: flags & ASKS != 0,
            syn: flags & SYN != 0,
            probe: layout.probe.get(),
            psn: layout.psn.get(),
            source: layout.source.get(),
            destination: layout.destination.get(),
            payload: layout.payload.get(),
        })
    }
}

impl Emit for Control {
    fn length(&self) -> usize {
        size_of::<ControlLayout>()
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        let flags = bits(self.again, AGAIN) | bits(self.ack_request, ASKS) | bits(self.syn, SYN);
        let layout = ControlLayout {
            head: head("UET control packet", kind::CONTROL, self.kind, flags)?,
            probe: U16::new(self.probe),
            psn: U32::new(self.psn),
            source: U16::new(self.source),
            destination: U16::new(self.destination),
            payload: U32::new(self.payload),
        };
        write("UET control packet", octets, &[raw(&layout)], 0)
    }
}
