//! The octets of a CNP (InfiniBand specification, annex A17.9.3).

use super::CNP;
use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::Control;
use backwater_wire::Emit;
use backwater_wire::roce::{Bth, Cnp};

pub(super) fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
    if frame.kind != CNP {
        return None;
    }
    Cnp { destination: cx.queue_pair & 0xff_ffff, p_key: Bth::DEFAULT_PARTITION }.append(octets).ok()?;
    Some(Carrier::Roce)
}
