//! Addresses derived from the topology, for captures and for the identifiers in messages. Nothing in a run depends on them.
//!
//! | of | MAC address | IPv4 address | IPv6 address |
//! |---|---|---|---|
//! | host h | `02-00` and h in 4 octets | 10.0.0.1 + h | `fd00::` and the IPv4 address in the last 4 octets |
//! | switch with node number n | `02-01` and n times 4096 in 4 octets | 172.16.0.1 + n | the same |
//! | port p of it | `02-01` and n times 4096 + p + 1 in 4 octets | the switch's | the switch's |
//!
//! All are locally administered or private. Bridges forward them unchanged (IEEE 802.1Q).

use crate::model::packet::{FlowRef, HostId, NodeId, Port};
use backwater_wire::address::{Cpid, Mac};
use std::net::{Ipv4Addr, Ipv6Addr};

fn mac(kind: u8, number: u32) -> Mac {
    let [a, b, c, d] = number.to_be_bytes();
    Mac([0x02, kind, a, b, c, d])
}

/// MAC address of a host.
pub fn host_mac(host: HostId) -> Mac {
    mac(0, host.0)
}

/// MAC address of a switch.
pub fn switch_mac(node: NodeId) -> Mac {
    mac(1, node.0 << 12)
}

/// MAC address of a switch's port.
pub fn port_mac(node: NodeId, port: Port) -> Mac {
    mac(1, node.0 << 12 | (u32::from(port.0) + 1) & 0xfff)
}

/// IPv4 address of a host.
pub fn host_ip(host: HostId) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0001u32.wrapping_add(host.0 & 0xff_ffff))
}

/// IPv4 address of a switch.
pub fn switch_ip(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::from(0xac10_0001u32.wrapping_add(node.0 & 0xf_ffff))
}

/// IPv6 address of the node with this IPv4 address.
pub fn ip6(address: Ipv4Addr) -> Ipv6Addr {
    let [a, b, c, d] = address.octets();
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
}

/// Queue pair of a flow: 24 bits of a hash of its identity.
pub fn queue_pair(flow: FlowRef) -> u32 {
    flow.tag & 0xff_ffff
}

/// PDC identifiers of a flow of UET, at its source and its destination: 16 bits each of a hash of its identity, except 0, which is no
/// identifier.
pub fn pdc_ids(flow: FlowRef) -> (u16, u16) {
    ((flow.tag as u16).max(1), ((flow.tag >> 16) as u16).max(1))
}

/// Congestion point identifier of a queue of a switch.
pub fn cpid(node: NodeId, port: Port, queue: u8) -> Cpid {
    Cpid::of(switch_mac(node), port.0, queue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_off_the_numbers() {
        assert_eq!(host_mac(HostId(258)).to_string(), "02:00:00:00:01:02");
        assert_eq!(port_mac(NodeId(5), Port(2)).to_string(), "02:01:00:00:50:03");
        assert_eq!(switch_mac(NodeId(5)).to_string(), "02:01:00:00:50:00");
        assert_eq!(
            (host_ip(HostId(0)).to_string(), host_ip(HostId(255)).to_string()),
            ("10.0.0.1".into(), "10.0.1.0".into())
        );
        assert_eq!(switch_ip(NodeId(16)).to_string(), "172.16.0.17");
        assert_eq!(ip6(host_ip(HostId(8))).to_string(), "fd00::a00:9");
        let ids = |tag: u32| pdc_ids(FlowRef { slot: 9, tag });
        assert_eq!((ids(0x1234_5678), ids(0x1234_0000), ids(5)), ((0x5678, 0x1234), (1, 0x1234), (5, 1)));
        assert_eq!(cpid(NodeId(5), Port(2), 3).to_string(), "02:01:00:00:50:00:00:13");
    }
}
