//! The octets of a CIM.

use super::{CimType, Message};
use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::Control;
use backwater_wire::Emit;
use backwater_wire::cim::Cim;
use backwater_wire::ethernet::ether_type;
use backwater_wire::frame::Numbers;

/// `None` for IPv6, in which captures are not written.
pub(super) fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
    let message = Message::read(frame)?;
    let carrier = match message.cim_type {
        CimType::L2 => Carrier::Tagged(ether_type::CIM),
        CimType::Ipv4 => Carrier::Udp(Numbers::CIM_PORT),
        CimType::Ipv6 => return None,
    };
    let most = usize::from(message.min_header_octets);
    let (source, destination) = cx.flow;
    // Of acknowledgements only the addresses are known here; what a data packet has behind its headers are zeros.
    let (source, destination, msdu) = if message.back {
        (destination, source, Vec::new())
    } else {
        let mut msdu = cx.sample(&ether_type::IPV4.to_be_bytes(), most);
        msdu.resize(most, 0);
        (source, destination, msdu)
    };
    Cim { delete: false, destination, source, vid: 0, msdu: &msdu }.append(octets).ok()?;
    Some(carrier)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::Params;
    use backwater_net::packet::{FlowRef, NodeId, Queue};
    use backwater_wire::Parse;
    use backwater_wire::address::Mac;

    /// The frame on the wire, with addresses, tag, `network` headers and FCS, is as long as the model says.
    #[test]
    fn a_cim_is_as_long_as_the_model_says_and_names_the_flow() {
        for (cim_type, carrier, network) in
            [(CimType::L2, Carrier::Tagged(ether_type::CIM), 0), (CimType::Ipv4, Carrier::Udp(Numbers::CIM_PORT), 28)]
        {
            let params = Params { cim_type, ..Params::default() };
            let message = Message {
                count: 1,
                source: NodeId(7),
                congesting: Queue(2),
                back: false,
                min_header_octets: 48,
                cim_type,
            };
            let frame = message.frame(FlowRef { slot: 0, tag: 5 }, params.cim_size());
            assert_eq!(Message::read(&frame), Some(message));
            let flow = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
            let packet: Vec<u8> = (0..64).collect();
            let cx = WireCx { speaker: Mac::default(), flow, queue_pair: 5, packet: &packet };
            let mut body = Vec::new();
            assert_eq!(octets(&frame, &cx, &mut body), Some(carrier));
            assert_eq!(body.len() + network + 14 + 4 + 4, frame.size as usize);
            let cim = Cim::parse(&body).unwrap();
            assert_eq!((cim.source, cim.destination, cim.delete, cim.vid), (flow.0, flow.1, false, 0));
            assert_eq!((&cim.msdu[..2], &cim.msdu[2..]), (&[8, 0][..], &packet[..46]));
        }
    }
}
