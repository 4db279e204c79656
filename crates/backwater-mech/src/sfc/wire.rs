//! The octets of an SFCM, in this project's encoding: none has been published.

use super::{Message, PointId};
use backwater_net::address;
use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::Control;
use backwater_wire::Emit;
use backwater_wire::sfcm::{Scope, Sfcm};

/// \[octets\] of the congested packet that go along.
const ENCAPSULATED: usize = 48;

pub(super) fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
    let message = frame.message::<Message>()?;
    let PointId(node, port, queue) = message.point;
    let nanoseconds = message.pause.as_ps().div_ceil(1000);
    let packet = cx.sample(&[], ENCAPSULATED);
    let sfcm = Sfcm {
        scope: if message.flow_mode { Scope::Flow } else { Scope::Class },
        // A switch that remembers the destination speaks in the name of the queue that said it.
        by_proxy: cx.speaker != address::switch_mac(node),
        dscp: message.dscp.0,
        ecn: packet.get(1).map_or(0, |traffic_class| traffic_class & 3),
        priority: message.class.0 & 7,
        pause_time: u32::try_from(nanoseconds).unwrap_or(u32::MAX),
        // Not carried by the model's message.
        depth: 0,
        cpid: address::cpid(node, port, queue.0),
        packet: &packet,
    };
    sfcm.append(octets).ok()?;
    Some(Carrier::Udp(Sfcm::PORT))
}
