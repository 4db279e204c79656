//! The message, and its octets as the program writes them.

use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::{Class, Control, Dscp, FlowRef};
use backwater_wire::Emit;
use backwater_wire::sfc_pause::SfcPause;
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// A message.
pub const PAUSE: &str = "sfc_tofino2-pause";

/// \[bytes\] Ethernet, IPv4, UDP, 4 octets of content, 14 of padding, FCS.
pub(super) const SIZE: u32 = 64;

/// The content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[derive(serde::Serialize, serde::Deserialize)]
#[repr(C, packed)]
pub(super) struct Message {
    /// \[us\]
    pub duration_us: u16,
    /// of the congested packet
    pub dscp: Dscp,
    /// the class of its own DSCP
    pub travels: Class,
}

impl Message {
    pub(super) fn frame(self, flow: FlowRef) -> Control {
        Control { flow: Some(flow), ..Control::carrying(PAUSE, SIZE, self.duration_us.into(), &self) }
    }
}

pub(super) fn octets(frame: &Control, _: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
    let message = frame.message::<Message>()?;
    SfcPause { dscp: message.dscp.0, duration_us: message.duration_us }.append(octets).ok()?;
    Some(Carrier::Udp(SfcPause::PORT))
}
