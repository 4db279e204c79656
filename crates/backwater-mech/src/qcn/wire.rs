//! The congestion notification message (CNM), and its octets (IEEE 802.1Q clause 33.4).

use backwater_net::packet::Class;
use backwater_wire::address::Cpid;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::Control;
use backwater_wire::Emit;
use backwater_wire::ethernet::ether_type;
use backwater_wire::qcn::Cnm;

/// Kind of the congestion notification message.
pub const CNM: &str = "cnm";

/// The content of a CNM.
#[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
pub(super) struct Message {
    /// qntz
    pub feedback: u8,
    pub cpid: Cpid,
    /// \[bytes\] cnmQOffset
    pub q_offset: i64,
    /// \[bytes\] cnmQDelta
    pub q_delta: i64,
    /// of the sampled frame
    pub priority: Class,
}

pub(super) fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
    let message: Message = frame.message()?;
    // The sampled MSDU begins at its EtherType.
    let msdu = cx.sample(&ether_type::IPV4.to_be_bytes(), Cnm::MOST_MSDU);
    let cnm = Cnm {
        feedback: message.feedback & 63,
        cpid: message.cpid,
        q_offset: Cnm::units(message.q_offset),
        q_delta: Cnm::units(message.q_delta),
        priority: message.priority.0 & 7,
        destination: cx.flow.1,
        msdu: &msdu,
    };
    cnm.append(octets).ok()?;
    Some(Carrier::Tagged(ether_type::CNM))
}
