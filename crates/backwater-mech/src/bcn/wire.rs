//! The octets of a BCN message and of the rate-limited tag, in this project's layout.

use crate::bcn::cp::Message;
use backwater_net::address;
use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::{CLASSES, Control, NodeId, Port};
use backwater_wire::Emit;
use backwater_wire::address::Cpid;
use backwater_wire::bcn::{Bcn, RateLimitedTag};
use backwater_wire::ethernet::ether_type;
use backwater_wire::qcn::Cnm;

/// The identifier that [`super::cp::cpid`] packs into a word.
fn cpid(word: u64) -> Cpid {
    let number = (word as u32 as usize).saturating_sub(1);
    address::cpid(NodeId((word >> 32) as u32), Port((number / CLASSES) as u16), (number % CLASSES) as u8)
}

pub(super) fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
    let message: Message = frame.message()?;
    let (source, destination) = cx.flow;
    let header = [&destination.0[..], &source.0, &ether_type::IPV4.to_be_bytes()].concat();
    let sampled = cx.sample(&header, Bcn::MOST_FRAME);
    let bcn = Bcn {
        mild: message.qoff < 0 && !message.severe,
        severe: message.severe,
        cpid: cpid(message.cpid),
        q_off: Cnm::units(message.qoff),
        q_delta: Cnm::units(message.qdelta),
        frame: &sampled,
    };
    bcn.append(octets).ok()?;
    Some(Carrier::Link(ether_type::LOCAL_EXPERIMENTAL))
}

pub(super) fn tag_octets(tag: u64, octets: &mut Vec<u8>) -> Option<u16> {
    if tag == 0 {
        return None;
    }
    let tag = RateLimitedTag { cpid: cpid(tag), ether_type: 0 };
    tag.append(octets).ok()?;
    // The next EtherType is the frame's own.
    octets.truncate(octets.len() - 2);
    Some(ether_type::RLT)
}
