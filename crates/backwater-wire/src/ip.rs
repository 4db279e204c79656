//! IPv4, IPv6 and UDP (RFC 791 with RFC 2474 and RFC 3168, RFC 8200, RFC 768).
//!
//! | IPv4 offset | bits | field |
//! |---|---|---|
//! | 0 | 4, 4 | version 4; header length in units of 4 octets, 5 without options |
//! | 1 | 6, 2 | DSCP; ECN: 00 not capable, 01 and 10 capable, 11 congestion experienced |
//! | 2 | 16 | total length in octets, header included |
//! | 4 | 16, 3, 13 | identification; flags; fragment offset |
//! | 8 | 8, 8, 16 | time to live; protocol, 17 = UDP; header checksum |
//! | 12 | 32, 32 | source and destination address |
//!
//! | IPv6 offset | bits | field |
//! |---|---|---|
//! | 0 | 4, 6, 2, 20 | version 6; DSCP; ECN; flow label |
//! | 4 | 16, 8, 8 | payload length in octets, header not included; next header, 17 = UDP; hop limit |
//! | 8 | 128, 128 | source and destination address |
//!
//! | UDP offset | bits | field |
//! |---|---|---|
//! | 0 | 16, 16 | source and destination port |
//! | 4 | 16, 16 | length in octets, header included; checksum, 0 = none (IPv4, and tunnels over IPv6) |
//!
//! Views and values are those of the [`etherparse`] crate.

pub use etherparse::{
    IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv4HeaderSlice, Ipv6FlowLabel, Ipv6Header, Ipv6HeaderSlice, UdpHeader,
    UdpHeaderSlice,
};

/// DSCP CS6, network control (RFC 4594 section 3.1): what control messages that are routed are sent with.
pub const DSCP_CS6: u8 = 48;
/// UDP destination port of RoCEv2 (IANA service name registry, `roce`).
pub const ROCE_PORT: u16 = 4791;
