//! The congestion notification packet (RoCEv2, InfiniBand annex A17).

use backwater_net::hooks::Carrier;
use backwater_net::packet::Control;
use backwater_wire::Emit;
use backwater_wire::roce::Cnp;

/// Kind of the congestion notification packet.
pub const CNP: &str = "cnp";

/// The octets of a frame.
pub(super) fn octets(frame: &Control, octets: &mut Vec<u8>) -> Option<Carrier> {
    // Others send frames with the same content, in another encoding.
    frame.message::<Cnp>().filter(|_| frame.kind == CNP)?.append(octets).ok()?;
    Some(Carrier::Roce)
}
