//! The messages of Source Flow Control (SFCM), and their octets in this project's encoding: none has been published (802.1Qdw 52.5).

use backwater_engine::Time;
use backwater_net::address;
use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::{Class, Control, Dscp, FlowRef, HostId, NodeId, Port, Queue};
use backwater_wire::Emit;
use backwater_wire::sfcm::{Scope, Sfcm};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// A message that pauses.
pub const PAUSE: &str = "sfc-pause";
/// A message that resumes.
pub const RESUME: &str = "sfc-resume";

/// The content of an SFCM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
pub(super) struct Message {
    /// zero: resume
    pub pause: Time,
    pub class: Class,
    /// of the packet that saw congestion: it shows the queue of the packet's host
    pub dscp: Dscp,
    pub flow_mode: bool,
    /// the queue that sends it
    pub point: PointId,
    /// the destination of the packet
    pub to: HostId,
}

/// The queue that sends a message (CPID).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
pub(super) struct PointId(pub NodeId, pub Port, pub Queue);

impl Message {
    /// The frame that carries it, of `size` \[bytes\].
    pub(super) fn frame(self, flow: Option<FlowRef>, size: u32) -> Control {
        let pause = self.pause;
        let kind = if pause == Time::ZERO { RESUME } else { PAUSE };
        Control { flow, ..Control::carrying(kind, size, pause.0, &self) }
    }
}

/// \[octets\] of the congested packet that the message includes.
const ENCAPSULATED: usize = 48;

pub(super) fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
    let message = frame.message::<Message>()?;
    let PointId(node, port, queue) = message.point;
    let nanoseconds = message.pause.as_ps().div_ceil(1000);
    let packet = cx.sample(&[], ENCAPSULATED);
    let sfcm = Sfcm {
        scope: if message.flow_mode { Scope::Flow } else { Scope::Class },
        // A switch that remembers the destination speaks for the congested queue.
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
