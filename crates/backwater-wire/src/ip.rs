//! IPv4, IPv6 and UDP (RFC 791 with RFC 2474 and RFC 3168, RFC 8200, RFC 768).
//!
//! | IPv4 offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 4 | version, 4 | | RFC 791 section 3.1 |
//! | 0 | 4 | header length; 5 without options, at most 15 | 4 octets | RFC 791 section 3.1 |
//! | 1 | 6 | DSCP | | RFC 2474 section 3 |
//! | 1 | 2 | ECN: 0 not capable, 1 and 2 capable, 3 congestion experienced | | RFC 3168 section 5 |
//! | 2 | 16 | total length, header included | octets | RFC 791 section 3.1 |
//! | 4 | 16 | identification; sent as 0 | | RFC 791 section 3.1; 0: RFC 6864 section 4.1 |
//! | 6 | 1 | reserved, 0 | | RFC 791 section 3.1 |
//! | 6 | 1 | don't fragment; sent as 1 | | RFC 791 section 3.1 |
//! | 6 | 1 | more fragments | | RFC 791 section 3.1 |
//! | 6 | 13 | fragment offset | 8 octets | RFC 791 section 3.1 |
//! | 8 | 8 | time to live; sent as 64 | hops | RFC 791 section 3.1 |
//! | 9 | 8 | protocol, 17 = UDP | | RFC 791 section 3.1; IANA protocol numbers |
//! | 10 | 16 | header checksum | | RFC 791 section 3.1 |
//! | 12 | 32 | source address | | RFC 791 section 3.1 |
//! | 16 | 32 | destination address | | RFC 791 section 3.1 |
//!
//! | IPv6 offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 4 | version, 6 | | RFC 8200 section 3 |
//! | 0 | 6 | DSCP, from the lower 4 bits of octet 0 on | | RFC 2474 section 3 |
//! | 1 | 2 | ECN, as in IPv4 | | RFC 3168 section 5 |
//! | 1 | 20 | flow label, from the lower 4 bits of octet 1 on; sent as 0 | | RFC 8200 section 3; RFC 6437 |
//! | 4 | 16 | payload length, header not included | octets | RFC 8200 section 3 |
//! | 6 | 8 | next header, 17 = UDP | | RFC 8200 section 3; IANA protocol numbers |
//! | 7 | 8 | hop limit; sent as 64 | hops | RFC 8200 section 3 |
//! | 8 | 128 | source address | | RFC 8200 section 3 |
//! | 24 | 128 | destination address | | RFC 8200 section 3 |
//!
//! | UDP offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 16 | source port | | RFC 768 |
//! | 2 | 16 | destination port | | RFC 768 |
//! | 4 | 16 | length, header included | octets | RFC 768 |
//! | 6 | 16 | checksum; 0 = none, over IPv6 only in tunnels | | RFC 768; RFC 8200 section 8.1; RFC 6935 |
//!
//! Views and values are those of the [`etherparse`] crate.

#[cfg(feature = "std")]
use crate::{ethernet::ether_type, fast_cnp::OriginalDestination, roce::icrc};
#[cfg(feature = "std")]
use core::net::IpAddr;
#[cfg(feature = "std")]
use std::vec::Vec;

pub use etherparse::{
    IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv4HeaderSlice, Ipv6FlowLabel, Ipv6Header, Ipv6HeaderSlice, UdpHeader,
    UdpHeaderSlice,
};

/// DSCP CS6, network control (RFC 4594 section 3.1), which routed control messages have.
pub const DSCP_CS6: u8 = 48;
/// UDP destination port of RoCEv2 (IANA service name registry, `roce`).
pub const ROCE_PORT: u16 = 4791;

/// A payload with its IP and UDP headers.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Source and destination address, both of one version.
    pub addresses: (IpAddr, IpAddr),
    /// DS field or traffic class: DSCP in the upper six bits, ECN in the lower two.
    pub ds: u8,
    /// Source and destination port.
    pub ports: (u16, u16),
    /// The payload of UDP.
    pub payload: &'a [u8],
    /// True if an ICRC follows the payload ([`crate::roce::icrc`]). UDP over IPv4 then has no checksum.
    pub roce: bool,
}

/// The header of either version.
#[cfg(feature = "std")]
enum Header {
    V4(Ipv4Header),
    V6(Ipv6Header),
}

#[cfg(feature = "std")]
impl Datagram<'_> {
    /// Hop limit of every packet: nobody counts hops here.
    const HOPS: u8 = 64;

    /// Appends the datagram to `octets`, from its EtherType on. Don't fragment is set; identification and flow label
    /// are zero. A length that does not fit its field becomes the greatest value. Addresses of two versions become IPv6
    /// with a mapped address.
    pub fn append(&self, octets: &mut Vec<u8>) {
        self.append_behind(&[], octets);
    }

    /// The same with `options`, an IPv6 Destination Options header, between IPv6 and UDP. IPv4 has none.
    pub fn append_behind(&self, options: &[u8], octets: &mut Vec<u8>) {
        let length = 8 + self.payload.len() + if self.roce { 4 } else { 0 };
        let cut = |length: usize| u16::try_from(length).unwrap_or(u16::MAX);
        let mut header = self.header(cut(options.len() + length), cut(20 + length));
        let ip = octets.len() + 2;
        match &mut header {
            Header::V4(header) => octets.extend(ether_type::IPV4.to_be_bytes().iter().chain(&header.to_bytes())),
            Header::V6(header) => {
                if !options.is_empty() {
                    header.next_header = IpNumber(OriginalDestination::HEADER);
                }
                octets.extend(ether_type::IPV6.to_be_bytes().iter().chain(&header.to_bytes()).chain(options));
            }
        }
        let at = octets.len();
        let (source_port, destination_port) = self.ports;
        let mut udp = UdpHeader { source_port, destination_port, length: cut(length), checksum: 0 };
        octets.extend(udp.to_bytes());
        octets.extend(self.payload);
        // The ICRC does not depend on the checksum of UDP, but the checksum depends on the ICRC.
        if self.roce
            && let Ok(crc) = icrc(octets.get(ip..).unwrap_or_default())
        {
            octets.extend(crc.to_le_bytes());
        }
        let carried = octets.get(at + 8..).unwrap_or_default();
        let checksum = match &header {
            Header::V4(_) if self.roce => Ok(0),
            Header::V4(header) => udp.calc_checksum_ipv4(header, carried),
            Header::V6(header) => udp.calc_checksum_ipv6(header, carried),
        };
        // The calculation fails for a datagram longer than UDP allows; 0 means no checksum.
        udp.checksum = checksum.unwrap_or(0);
        octets[at..at + 8].copy_from_slice(&udp.to_bytes());
    }

    fn header(&self, payload_length: u16, total_len: u16) -> Header {
        match self.addresses {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let mut header = Ipv4Header {
                    dscp: IpDscp::try_new(self.ds >> 2).unwrap_or_default(),
                    ecn: IpEcn::try_new(self.ds & 3).unwrap_or_default(),
                    total_len,
                    dont_fragment: true,
                    time_to_live: Datagram::HOPS,
                    protocol: IpNumber::UDP,
                    source: source.octets(),
                    destination: destination.octets(),
                    ..Ipv4Header::default()
                };
                header.header_checksum = header.calc_header_checksum();
                Header::V4(header)
            }
            (source, destination) => {
                let mapped = |address| match address {
                    IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                    IpAddr::V6(address) => address.octets(),
                };
                Header::V6(Ipv6Header {
                    traffic_class: self.ds,
                    payload_length,
                    next_header: IpNumber::UDP,
                    hop_limit: Datagram::HOPS,
                    source: mapped(source),
                    destination: mapped(destination),
                    ..Ipv6Header::default()
                })
            }
        }
    }
}
