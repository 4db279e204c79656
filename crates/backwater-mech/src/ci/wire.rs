//! The octets of a CIM (IEEE 802.1Qcz-2023 clause 49), in each of its encapsulations. Of a flow of acknowledgements no packet is at
//! hand, so that nothing of one is encapsulated.

use super::{CimType, Message};
use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::Control;
use backwater_wire::Emit;
use backwater_wire::cim::Cim;
use backwater_wire::ethernet::ether_type;
use backwater_wire::frame::Numbers;

pub(super) fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
    let message: Message = frame.message()?;
    let (source, destination) = if message.back { (cx.flow.1, cx.flow.0) } else { cx.flow };
    let most = if message.back { 0 } else { (message.most.0 as usize).min(Cim::MOST_MSDU) };
    // The sampled MSDU begins at its EtherType.
    let msdu = cx.sample(&ether_type::IPV4.to_be_bytes(), most);
    // No VLAN is modelled.
    Cim { delete: false, destination, source, vid: 0, msdu: &msdu }.append(octets).ok()?;
    Some(match message.form {
        CimType::L2 => Carrier::Tagged(ether_type::CIM),
        CimType::Ipv4 => Carrier::TaggedUdp(Numbers::CIM_PORT),
        CimType::Ipv6 => Carrier::TaggedUdp6(Numbers::CIM_PORT),
    })
}
