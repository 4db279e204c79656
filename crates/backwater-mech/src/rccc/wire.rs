//! Pulls and requests to send, and their octets.

use backwater_net::address::pdc_ids;
use backwater_net::hooks::Carrier;
use backwater_net::packet::{Control, HostId};
use backwater_wire::{Emit, uet};
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// Frame of a pull.
pub(super) const PULL: &str = "pull";

/// Frame of a request to send.
pub(super) const REQUEST: &str = "rts";

/// The content of a pull or a request.
#[derive(Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
pub(super) struct Word {
    /// \[quanta\] Credit is given, or requested, up to here.
    pub number: u64,
    pub src: HostId,
    pub request: bool,
}

/// Frames have 24 bits of a number (UE specification 1.0, req_cc_state).
pub(super) const WIRE: u32 = 0xff_ffff;

/// The octets of a frame.
pub(super) fn octets(frame: &Control, octets: &mut Vec<u8>) -> Option<Carrier> {
    let word = frame.message::<Word>()?;
    // A pull comes from the flow's destination. Only the flow shows which PDC belongs to which end, and a pull may outlive it.
    let (source, destination) = frame.flow.map_or((0, 0), pdc_ids);
    let (kind, source, destination) = if word.request {
        (uet::Control::CREDIT_REQUEST, source, destination)
    } else {
        (uet::Control::CREDIT, destination, source)
    };
    let payload = word.number as u32 & WIRE;
    uet::Control { kind, source, destination, payload, ..uet::Control::default() }.append(octets).ok()?;
    Some(Carrier::Udp(uet::PORT))
}
