//! The messages of Fast CNP, and their octets.

use backwater_net::address;
use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::{Control, FlowRef};
use backwater_wire::Emit;
use backwater_wire::fast_cnp::OriginalDestination;
use backwater_wire::roce::Cnp;
use std::net::Ipv6Addr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A Fast CNP.
pub const FAST_CNP: &str = "fast-cnp";
/// A notification for the sender's proxy.
pub const NOTIFICATION: &str = "fast-cnp-proxy";

/// The content of a notification for a proxy: that of the CNP which the proxy sends. A CNP has a type that controls read, so this one differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
pub(super) struct Notification {
    destination: u32,
    p_key: u16,
}

impl Notification {
    pub(super) fn of(Cnp { destination, p_key }: Cnp) -> Notification {
        Notification { destination, p_key }
    }

    pub(super) fn cnp(self) -> Cnp {
        Cnp { destination: self.destination, p_key: self.p_key }
    }

    /// The frame that carries it, of `size` \[bytes\].
    pub(super) fn frame(self, flow: FlowRef, size: u32) -> Control {
        Control { flow: Some(flow), ..Control::carrying(NOTIFICATION, size, 0, &self) }
    }
}

/// A Fast CNP: its content is a CNP's, so that what reacts to CNPs reacts to it.
pub(super) fn fast_cnp(flow: FlowRef, cnp: Cnp, size: u32) -> Control {
    Control { flow: Some(flow), ..Control::carrying(FAST_CNP, size, 0, &cnp) }
}

/// The CNP of RoCEv2, by a proxy.
pub(super) fn cnp(flow: FlowRef, cnp: Cnp, size: u32) -> Control {
    Control { flow: Some(flow), ..Control::carrying(crate::dcqcn::CNP, size, 0, &cnp) }
}

/// A Fast CNP, in place of which a notification for a proxy is written, too.
pub(super) fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
    let notification = frame.message::<Notification>().map(Notification::cnp);
    let cnp = notification.or_else(|| frame.message::<Cnp>().filter(|_| frame.kind == FAST_CNP))?;
    // The destination of a packet with an IPv4 header; unspecified if the flow has ended.
    let original = cx.packet.get(16..20).and_then(|octets| <[u8; 4]>::try_from(octets).ok());
    let original = OriginalDestination(original.map_or(Ipv6Addr::UNSPECIFIED, |octets| address::ip6(octets.into())));
    original.append(octets).ok()?;
    cnp.append(octets).ok()?;
    Some(Carrier::Roce6(OriginalDestination::LENGTH))
}
