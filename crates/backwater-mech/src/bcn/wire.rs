//! The BCN message; its octets and those of the rate-limited tag, in this project's layout.

use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::{CLASSES, Control, NodeId, Port};
use backwater_net::{Bytes, address};
use backwater_wire::Emit;
use backwater_wire::address::Cpid;
use backwater_wire::bcn::{Bcn, RateLimitedTag};
use backwater_wire::ethernet::ether_type;
use backwater_wire::qcn::Cnm;
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// A message with Fb < 0.
pub const NEGATIVE: &str = "bcn-negative";

/// A message with Fb >= 0.
pub const POSITIVE: &str = "bcn-positive";

/// BCN(MAX).
pub const MAX: &str = "bcn-max";

/// BCN(0,0).
pub const STOP: &str = "bcn-stop";

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[derive(TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(u8)]
pub(super) enum Kind {
    Negative,
    Positive,
    Max,
    Stop,
}

impl Kind {
    /// Its name in result tables.
    fn name(self) -> &'static str {
        match self {
            Kind::Negative => NEGATIVE,
            Kind::Positive => POSITIVE,
            Kind::Max => MAX,
            Kind::Stop => STOP,
        }
    }
}

/// The content of a message.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[derive(TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
pub(super) struct Message {
    pub kind: Kind,
    /// the queue's name
    pub cpid: u64,
    /// \[bytes\]
    pub qoff: i64,
    pub qdelta: i64,
    /// \[bytes\] the reference of gains by formula
    pub qeq: u64,
    /// whether the queue was above Qsc
    pub severe: bool,
    /// for a STOP: its share of the greatest time, in 2^-64
    pub random: u64,
}

impl Message {
    /// Fb, bytes.
    pub fn fb(&self, w: f64) -> f64 {
        self.qoff as f64 - w * self.qdelta as f64
    }

    pub fn frame(&self, size: Bytes, w: f64) -> Control {
        Control::carrying(self.kind.name(), size.0 as u32, self.fb(w).abs() as u64, self)
    }
}

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
