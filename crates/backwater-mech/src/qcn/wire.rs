//! The octets of a CNM (IEEE 802.1Q clause 33.4).

use super::CNM;
use backwater_net::address;
use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::{CLASSES, Control, NodeId, Port};
use backwater_wire::Emit;
use backwater_wire::ethernet::ether_type;
use backwater_wire::qcn::Cnm;

pub(super) fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
    if frame.kind != CNM {
        return None;
    }
    let [qntz, cpid, offset, delta, priority, _] = frame.words;
    let (port, queue) = (Port((cpid as u32 as usize / CLASSES) as u16), (cpid as usize % CLASSES) as u8);
    // The sampled MSDU begins at its EtherType.
    let msdu = cx.sample(&ether_type::IPV4.to_be_bytes(), Cnm::MOST_MSDU);
    let cnm = Cnm {
        feedback: (qntz & 63) as u8,
        cpid: address::cpid(NodeId((cpid >> 32) as u32), port, queue),
        q_offset: Cnm::units(offset as i64),
        q_delta: Cnm::units(delta as i64),
        priority: (priority & 7) as u8,
        destination: cx.flow.1,
        msdu: &msdu,
    };
    cnm.append(octets).ok()?;
    Some(Carrier::Tagged(ether_type::CNM))
}
