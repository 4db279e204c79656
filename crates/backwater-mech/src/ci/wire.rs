//! The message of Congestion Isolation (CIM), and its octets (IEEE 802.1Qcz-2023 clause 49), in each of its encapsulations. For a flow of
//! acknowledgements no packet is known, so none is encapsulated.

use super::config::{CimType, Params};
use backwater_net::Bytes;
use backwater_net::packet::{FlowRef, NodeId, Port, Queue};
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::Control;
use backwater_wire::Emit;
use backwater_wire::address::Cpid;
use backwater_wire::cim::Cim;
use backwater_wire::ethernet::ether_type;
use backwater_wire::frame::Numbers;

/// Kind of the congestion isolation message.
pub const CIM: &str = "cim";

/// The content of a CIM beside the flow's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
pub(super) struct Message {
    /// the bridge that sends it, its source address
    pub source: NodeId,
    /// the congesting queue, which is also its priority
    pub congesting: Queue,
    /// the flow of acknowledgements
    pub back: bool,
    pub form: CimType,
    /// how many bytes of the flow's packet are included
    pub most: Bytes,
    /// the congested port
    pub egress: u16,
}

impl Message {
    pub(super) fn new(source: NodeId, (egress, congesting): (Port, Queue), back: bool, params: &Params) -> Message {
        Message { source, congesting, back, form: params.cim_type, most: params.min_header_octets, egress: egress.0 }
    }

    /// `count`: CIMs sent for the flow, this one included.
    pub(super) fn frame(&self, count: u64, flow: FlowRef, params: &Params) -> Control {
        Control { flow: Some(flow), ..Control::carrying(CIM, params.cim_size(), count, self) }
    }
}

pub(super) fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
    let message: Message = frame.message()?;
    let (source, destination) = if message.back { (cx.flow.1, cx.flow.0) } else { cx.flow };
    let most = if message.back { 0 } else { (message.most.0 as usize).min(Cim::MOST_MSDU) };
    // The sampled MSDU begins at its EtherType.
    let msdu = cx.sample(&ether_type::IPV4.to_be_bytes(), most);
    // No VLAN is modelled.
    let cim = Cim { delete: false, destination, source, vid: 0, msdu: &msdu };
    let carrier = match message.form {
        CimType::L2 => Carrier::Tagged(ether_type::CIM),
        CimType::Ipv4 => Carrier::TaggedUdp(Numbers::CIM_PORT),
        CimType::Ipv6 => Carrier::TaggedUdp6(Numbers::CIM_PORT),
        CimType::Cnm => {
            let point = Cpid::of(cx.speaker, message.egress, message.congesting.0);
            cim.as_cnm(point, message.congesting.0)?.append(octets).ok()?;
            return Some(Carrier::Tagged(ether_type::CNM));
        }
    };
    cim.append(octets).ok()?;
    Some(carrier)
}
