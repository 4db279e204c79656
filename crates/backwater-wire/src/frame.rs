//! Parses a whole frame.
//!
//! [`Frame::parse`] reads tags, addresses and ports down to the message. If a frame is cut off or broken further
//! inside, the frame is no error: it has the fields that could be read, and its message is [`Message::Broken`].

use crate::address::{Cpid, Mac};
use crate::bcn::{Bcn, RateLimitedTag, TagLayout};
use crate::cim::Cim;
use crate::ethernet::{Layout, Tag, ether_type};
use crate::fast_cnp::OriginalDestination;
use crate::ip::{Ipv4HeaderSlice, Ipv6HeaderSlice, ROCE_PORT, UdpHeaderSlice};
use crate::lldp::{CiTlv, CnTlv};
use crate::octets::view;
use crate::pause::Pause;
use crate::pfc::Pfc;
use crate::qcn::{CnTag, Cnm};
use crate::roce::{Aeth, Bth, BthLayout, Cnp, Reth, opcode};
use crate::sfc_pause::SfcPause;
use crate::sfcm::Sfcm;
use crate::uet::{self, Uet};
use crate::{Emit, Error, Parse};
use core::net::{IpAddr, Ipv6Addr};

/// Numbers that no registry assigns. A frame with one of them that does not begin like the message is
/// [`Message::Other`]: another protocol uses the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// EtherType of BCN messages.
    pub bcn: u16,
    /// UDP destination port of SFCMs.
    pub sfcm: u16,
    /// UDP destination port of layer 3 CIMs, which peers announce by LLDP.
    pub cim: u16,
}

impl Numbers {
    /// Default of [`Numbers::cim`], from the dynamic range (RFC 6335): this project's choice.
    pub const CIM_PORT: u16 = 61186;
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers { bcn: ether_type::LOCAL_EXPERIMENTAL, sfcm: Sfcm::PORT, cim: Numbers::CIM_PORT }
    }
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame<'a> {
    /// Destination address.
    pub destination: Mac,
    /// Source address.
    pub source: Mac,
    /// PCP and VID of the first VLAN tag, which is either a service or a customer tag.
    pub vlan: Option<(u8, u16)>,
    /// Congestion point named by the rate-limited tag of BCN.
    pub rate_limited: Option<Cpid>,
    /// Flow identifier of the CN-TAG.
    pub cn_tag: Option<u16>,
    /// EtherType after all tags.
    pub ether_type: u16,
    /// The IP header, if it is an IP packet.
    pub ip: Option<Ip>,
    /// Original destination address that the option of a Fast CNP names.
    pub original: Option<Ipv6Addr>,
    /// The content of the frame.
    pub message: Message<'a>,
}

/// Fields of an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// ECN field: 0 not capable, 1 and 2 capable, 3 congestion experienced.
    pub ecn: u8,
    /// UDP source and destination port.
    pub ports: Option<(u16, u16)>,
}

/// The content of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Message<'a> {
    /// PAUSE of IEEE 802.3.
    Pause(Pause),
    /// PFC.
    Pfc(Pfc),
    /// Congestion notification message.
    Cnm(Cnm<'a>),
    /// Congestion isolation message, layer 2 or 3.
    Cim(Cim<'a>),
    /// Source Flow Control message.
    Sfcm(Sfcm<'a>),
    /// Pause message of Source Flow Control as it is shipped in Tofino 2.
    SfcPause(SfcPause),
    /// BCN message.
    Bcn(Bcn<'a>),
    /// LLDP, with the TLVs of this crate that it holds.
    Lldp(Option<CnTlv>, Option<CiTlv>),
    /// Congestion notification packet of RoCEv2.
    Cnp(Cnp),
    /// Another packet of RoCEv2, with its extended headers, the length of its payload in octets and its ICRC.
    Roce {
        /// Base transport header.
        bth: Bth,
        /// RDMA extended transport header.
        reth: Option<Reth>,
        /// Acknowledge extended transport header.
        aeth: Option<Aeth>,
        /// \[octets\] Length of the payload without padding, by the length in UDP.
        payload: usize,
        /// The ICRC in the packet; `None` if the capture cut it off.
        icrc: Option<u32>,
    },
    /// A packet of UET.
    Uet {
        /// Its header.
        header: Uet,
        /// \[octets\] Length after the header, by the length in UDP.
        payload: usize,
    },
    /// Another protocol.
    Other,
    /// A known format that is cut off or broken.
    Broken(Error),
}

impl Message<'_> {
    /// All results of [`Message::name`].
    pub const NAMES: [&'static str; 14] = [
        "data",
        "ack",
        "pause",
        "pfc",
        "cnm",
        "cim",
        "sfcm",
        "sfc_pause",
        "bcn",
        "lldp",
        "cnp",
        "uet",
        "other",
        "broken",
    ];

    /// Returns a short name, as in tables. A packet of RoCEv2 is `cnp`, `ack` (opcode 0x11), or `data`. A packet of UET
    /// is `data` (a request), `ack` (an ACK or NACK), or `uet` (a control packet).
    pub fn name(&self) -> &'static str {
        match self {
            Message::Roce { bth, .. } if bth.opcode == opcode::ACKNOWLEDGE => "ack",
            Message::Roce { .. } => "data",
            Message::Pause(_) => "pause",
            Message::Pfc(_) => "pfc",
            Message::Cnm(_) => "cnm",
            Message::Cim(_) => "cim",
            Message::Sfcm(_) => "sfcm",
            Message::SfcPause(_) => "sfc_pause",
            Message::Bcn(_) => "bcn",
            Message::Lldp(..) => "lldp",
            Message::Cnp(_) => "cnp",
            Message::Uet { header: Uet::Request(_), .. } => "data",
            Message::Uet { header: Uet::Ack(_) | Uet::Nack(_), .. } => "ack",
            Message::Uet { header: Uet::Control(_), .. } => "uet",
            Message::Other => "other",
            Message::Broken(_) => "broken",
        }
    }
}

impl<'a> Frame<'a> {
    /// Parses a frame. `octets` begin at the destination address, and end before the frame check sequence.
    ///
    /// # Errors
    /// [`Error::Short`] if addresses and EtherType are not whole. Errors further inside become [`Message::Broken`].
    pub fn parse(octets: &'a [u8], numbers: &Numbers) -> Result<Frame<'a>, Error> {
        let (head, rest) = view::<Layout>("Ethernet", octets)?;
        let mut frame = Frame {
            destination: head.destination,
            source: head.source,
            vlan: None,
            rate_limited: None,
            cn_tag: None,
            ether_type: head.ether_type.get(),
            ip: None,
            original: None,
            message: Message::Other,
        };
        frame.message = frame.inside(rest, numbers).unwrap_or_else(Message::Broken);
        Ok(frame)
    }

    /// Reads the tags, then the content that the EtherType names.
    fn inside(&mut self, mut rest: &'a [u8], numbers: &Numbers) -> Result<Message<'a>, Error> {
        loop {
            match self.ether_type {
                ether_type::VLAN | ether_type::SERVICE_VLAN => {
                    // The EtherType of the tag has been read. Its control field and the next EtherType have the layout
                    // of a tag.
                    let (tag, after) = view::<Tag>("VLAN tag", rest)?;
                    let control = tag.tpid.get();
                    self.vlan.get_or_insert(((control >> 13) as u8, control & 0xfff));
                    (self.ether_type, rest) = (tag.control.get(), after);
                }
                ether_type::CN_TAG => {
                    let (tag, after) = view::<CnTag>("CN-TAG", rest)?;
                    self.cn_tag = Some(tag.flow.get());
                    (self.ether_type, rest) = (tag.ether_type.get(), after);
                }
                ether_type::RLT => {
                    let tag = RateLimitedTag::parse(rest)?;
                    self.rate_limited = Some(tag.cpid);
                    self.ether_type = tag.ether_type;
                    rest = rest.get(size_of::<TagLayout>()..).unwrap_or_default();
                }
                _ => break,
            }
        }
        match self.ether_type {
            ether_type::MAC_CONTROL => match rest {
                [0x00, 0x01, ..] => Pause::parse(rest).map(Message::Pause),
                [0x01, 0x01, ..] => Pfc::parse(rest).map(Message::Pfc),
                [_, _, ..] => Ok(Message::Other),
                _ => Err(Error::Short { frame: "MAC control", needs: 2, has: rest.len() }),
            },
            ether_type::CNM => Cnm::parse(rest).map(Message::Cnm),
            ether_type::CIM => Cim::parse(rest).map(Message::Cim),
            ether_type::LLDP => lldp(rest),
            ether_type::IPV4 => self.v4(rest, numbers),
            ether_type::IPV6 => self.v6(rest, numbers),
            other if other == numbers.bcn && Bcn::fits(rest) => Bcn::parse(rest).map(Message::Bcn),
            _ => Ok(Message::Other),
        }
    }

    fn v4(&mut self, octets: &'a [u8], numbers: &Numbers) -> Result<Message<'a>, Error> {
        let short = Error::Short { frame: "IPv4", needs: 20, has: octets.len() };
        let header = Ipv4HeaderSlice::from_slice(octets).map_err(|error| match error {
            etherparse::err::ipv4::HeaderSliceError::Len(_) => short,
            _ => Error::field(
                "IPv4",
                "version and header length",
                0,
                octets.first().copied().unwrap_or(0).into(),
                "0x45 to 0x4f",
            ),
        })?;
        let ip = Ip {
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            dscp: header.dcp().value(),
            ecn: header.ecn().value(),
            ports: None,
        };
        self.ip = Some(ip);
        if header.protocol() != etherparse::IpNumber::UDP || header.fragments_offset().value() != 0 {
            return Ok(Message::Other);
        }
        // Octets after the packet are padding of the frame.
        let end = usize::from(header.total_len()).min(octets.len());
        self.udp(octets.get(header.slice().len()..end).unwrap_or_default(), numbers)
    }

    fn v6(&mut self, octets: &'a [u8], numbers: &Numbers) -> Result<Message<'a>, Error> {
        let short = Error::Short { frame: "IPv6", needs: 40, has: octets.len() };
        let header = Ipv6HeaderSlice::from_slice(octets).map_err(|error| match error {
            etherparse::err::ipv6::HeaderSliceError::Len(_) => short,
            _ => Error::field("IPv6", "version", 0, (octets.first().copied().unwrap_or(0) >> 4).into(), "6"),
        })?;
        self.ip = Some(Ip {
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            dscp: header.dscp().value(),
            ecn: header.ecn().value(),
            ports: None,
        });
        let end = (40 + usize::from(header.payload_length())).min(octets.len());
        let mut inside = octets.get(40..end).unwrap_or_default();
        match header.next_header() {
            etherparse::IpNumber::UDP => {}
            etherparse::IpNumber(OriginalDestination::HEADER) => {
                // Another option: another protocol.
                let Ok(OriginalDestination(original)) = OriginalDestination::parse(inside) else {
                    return Ok(Message::Other);
                };
                self.original = Some(original);
                inside = inside.get(OriginalDestination::LENGTH..).unwrap_or_default();
            }
            _ => return Ok(Message::Other),
        }
        self.udp(inside, numbers)
    }

    fn udp(&mut self, octets: &'a [u8], numbers: &Numbers) -> Result<Message<'a>, Error> {
        let header = UdpHeaderSlice::from_slice(octets).map_err(|_| Error::Short {
            frame: "UDP",
            needs: 8,
            has: octets.len(),
        })?;
        let port = header.destination_port();
        if let Some(ip) = &mut self.ip {
            ip.ports = Some((header.source_port(), port));
        }
        let payload = octets.get(8..).unwrap_or_default();
        match port {
            ROCE_PORT => roce(payload, usize::from(header.length())),
            uet::PORT => self::uet(payload, usize::from(header.length())),
            port if port == numbers.sfcm && Sfcm::fits(payload) => Sfcm::parse(payload).map(Message::Sfcm),
            SfcPause::PORT if SfcPause::fits(payload) => SfcPause::parse(payload).map(Message::SfcPause),
            port if port == numbers.cim && Cim::fits(payload) => Cim::parse(payload).map(Message::Cim),
            _ => Ok(Message::Other),
        }
    }
}

/// Reads BTH, extended headers and ICRC of a packet. UDP states `length` octets with its own header; `octets` are those
/// present.
fn roce(octets: &[u8], length: usize) -> Result<Message<'_>, Error> {
    let bth = Bth::parse(octets)?;
    // The length 0 means more than 65535 octets (RFC 2675). A length below that of the header is broken.
    let has = length.checked_sub(8).unwrap_or(octets.len());
    let rest = octets.get(size_of::<BthLayout>()..).unwrap_or_default();
    if bth.opcode == opcode::CNP {
        return Cnp::parse(octets).map(Message::Cnp);
    }
    let extended = opcode::extended(bth.opcode);
    let reth = if extended.reth { Some(Reth::parse(rest)?) } else { None };
    let aeth = if extended.aeth { Some(Aeth::parse(rest)?) } else { None };
    let trailer = usize::from(bth.padding) + 4;
    let needs = size_of::<BthLayout>() + extended.octets + trailer;
    let payload = has.checked_sub(needs).ok_or(Error::Short { frame: "RoCEv2", needs, has })?;
    let icrc = octets.get(..has).and_then(<[u8]>::last_chunk).map(|octets| u32::from_le_bytes(*octets));
    Ok(Message::Roce { bth, reth, aeth, payload, icrc })
}

/// Reads the UET header of a packet. UDP states `length` octets with its own header; `octets` are those present. Other
/// kinds of delivery, and encrypted packets, are [`Message::Other`].
fn uet(octets: &[u8], length: usize) -> Result<Message<'_>, Error> {
    if Uet::foreign(octets) {
        return Ok(Message::Other);
    }
    let header = Uet::parse(octets)?;
    // As for RoCEv2.
    let has = length.checked_sub(8).unwrap_or(octets.len());
    let needs = header.length();
    let payload = has.checked_sub(needs).ok_or(Error::Short { frame: "UET", needs, has })?;
    Ok(Message::Uet { header, payload })
}

/// Reads the TLVs of this crate from an LLDPDU (IEEE 802.1AB clause 8.2).
fn lldp(mut rest: &[u8]) -> Result<Message<'_>, Error> {
    let (mut cn, mut ci) = (None, None);
    let mut wrong = Ok(());
    while let [high, low, after @ ..] = rest {
        let head = u16::from_be_bytes([*high, *low]);
        let (kind, length) = (head >> 9, usize::from(head & 0x1ff));
        if kind == 0 {
            break;
        }
        match (kind, after) {
            (127, [0x00, 0x80, 0xc2, CnTlv::SUBTYPE, ..]) => match CnTlv::parse(rest) {
                Ok(tlv) => cn = Some(tlv),
                Err(error) => wrong = wrong.and(Err(error)),
            },
            (127, [0x00, 0x80, 0xc2, CiTlv::SUBTYPE, ..]) => match CiTlv::parse(rest) {
                Ok(tlv) => ci = Some(tlv),
                Err(error) => wrong = wrong.and(Err(error)),
            },
            _ => {}
        }
        rest = after.get(length..).ok_or(Error::Short { frame: "LLDP TLV", needs: length + 2, has: rest.len() })?;
    }
    // A readable TLV counts, even if the other is broken.
    if cn.is_none() && ci.is_none() {
        wrong?;
    }
    Ok(Message::Lldp(cn, ci))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Emit, ethernet};

    const A: Mac = Mac([2, 0, 0, 0, 0, 1]);
    const B: Mac = Mac([2, 0, 0, 0, 0, 2]);

    #[test]
    fn a_tagged_cnm_with_cn_tag_is_read_through_its_tags() {
        let cnm =
            Cnm { feedback: 5, cpid: Cpid::default(), q_offset: 1, q_delta: 2, priority: 3, destination: B, msdu: &[] };
        let mut client = [0u8; 28];
        CnTag { flow: 7.into(), ether_type: ether_type::CNM.into() }.emit(&mut client).unwrap();
        cnm.emit(&mut client[4..]).unwrap();
        let mut octets = [0; 64];
        let length = ethernet::emit(&mut octets, A, B, Some((6, 0)), ether_type::CN_TAG, &client).unwrap();
        let frame = Frame::parse(&octets[..length], &Numbers::default()).unwrap();
        assert_eq!((frame.vlan, frame.cn_tag, frame.message), (Some((6, 0)), Some(7), Message::Cnm(cnm)));
    }

    #[test]
    fn behind_the_tag_of_a_service_is_that_of_its_customer() {
        let mut octets = [0; 64];
        let client = [0x00, 0x05, 0x81, 0x00, 0x60, 0x07, 0x88, 0x08, 0x00, 0x01, 0x12, 0x34];
        let length = ethernet::emit(&mut octets, A, B, None, ether_type::SERVICE_VLAN, &client).unwrap();
        let frame = Frame::parse(&octets[..length], &Numbers::default()).unwrap();
        assert_eq!((frame.vlan, frame.message), (Some((0, 5)), Message::Pause(Pause { quanta: 0x1234 })));
    }

    /// Other protocols may use the unregistered numbers. Only octets that begin like the message are a broken message.
    #[test]
    fn foreign_traffic_by_the_same_numbers_is_not_broken() {
        let named = |ether_type: u16, client: &[u8]| {
            let mut octets = [0; 128];
            let length = ethernet::emit(&mut octets, A, B, None, ether_type, client).unwrap();
            Frame::parse(&octets[..length], &Numbers::default()).unwrap().message.name()
        };
        let datagram = |port: u16, payload: &[u8]| {
            let mut packet = [0; 28 + 40];
            packet[..10].copy_from_slice(&[0x45, 0, 0, 28 + payload.len() as u8, 0, 0, 0, 0, 64, 17]);
            packet[22..24].copy_from_slice(&port.to_be_bytes());
            packet[28..28 + payload.len()].copy_from_slice(payload);
            named(ether_type::IPV4, &packet[..28 + payload.len()])
        };
        let words = b"HTTP/1.1 200 OK, and no message of ours";
        for port in [Sfcm::PORT, Numbers::CIM_PORT] {
            assert_eq!((datagram(port, words), datagram(port, &[])), ("other", "broken"), "{port}");
        }
        assert_eq!((datagram(Sfcm::PORT, &[0x10; 8]), datagram(Numbers::CIM_PORT, &[0; 17])), ("broken", "broken"));
        assert_eq!(named(ether_type::LOCAL_EXPERIMENTAL, words), "other");
        assert_eq!(named(ether_type::LOCAL_EXPERIMENTAL, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9]), "broken");
    }

    #[test]
    fn a_broken_tlv_takes_no_other_with_it() {
        let mut octets = [0; 64];
        let cn = CnTlv { cnpv: 8, ready: 0 };
        let broken = [0xfe, 5, 0x00, 0x80, 0xc2, CiTlv::SUBTYPE, 0];
        let mut tlv = [0; 8];
        cn.emit(&mut tlv).unwrap();
        let mut read = |tlvs: &[u8]| {
            let length = ethernet::emit(&mut octets, A, B, None, ether_type::LLDP, tlvs).unwrap();
            Frame::parse(&octets[..length], &Numbers::default()).unwrap().message.name()
        };
        assert_eq!(read(&[&broken[..], &tlv].concat()), "lldp");
        assert_eq!(read(&broken), "broken");
    }

    #[test]
    fn extended_headers_are_no_payload() {
        let length = |opcode: u8| {
            let mut octets = [0; 100];
            Bth { opcode, ..Bth::default() }.emit(&mut octets).unwrap();
            match roce(&octets, 8 + 100) {
                Ok(Message::Roce { payload, reth, aeth, .. }) => (payload, reth.is_some(), aeth.is_some()),
                other => panic!("{other:?}"),
            }
        };
        let whole = 100 - 12 - 4;
        // SEND middle, SEND last with immediate, WRITE only with immediate, READ request, READ response only, ATOMIC
        // ACKNOWLEDGE, COMPARE AND SWAP, the same WRITE unreliably, UD SEND only.
        let all = [0x01, 0x03, 0x0b, 0x0c, 0x10, 0x12, 0x13, 0x2b, 0x64].map(length);
        let (none, reth, aeth) = ((false, false), (true, false), (false, true));
        let expected =
            [(0, none), (4, none), (20, reth), (16, reth), (4, aeth), (12, aeth), (28, none), (20, reth), (8, none)];
        assert_eq!(all, expected.map(|(octets, (reth, aeth))| (whole - octets, reth, aeth)));
    }

    #[test]
    fn cut_anywhere_it_tells_what_is_missing_and_keeps_the_rest() {
        let mut client = [0u8; 46];
        Pfc::default().emit(&mut client).unwrap();
        let mut octets = [0; 64];
        let length = ethernet::emit(&mut octets, Mac::CONTROL, A, None, ether_type::MAC_CONTROL, &client).unwrap();
        for cut in 0..length {
            match Frame::parse(&octets[..cut], &Numbers::default()) {
                Err(Error::Short { needs: 14, has, .. }) => assert_eq!((has, cut < 14), (cut, true)),
                Ok(Frame { source, message: Message::Broken(Error::Short { .. }), .. }) => {
                    assert_eq!((source, cut < 34), (A, true));
                }
                Ok(Frame { message: Message::Pfc(pfc), .. }) => assert_eq!((pfc, cut >= 34), (Pfc::default(), true)),
                other => panic!("{cut}: {other:?}"),
            }
        }
    }
}
