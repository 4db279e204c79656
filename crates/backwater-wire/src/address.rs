//! MAC addresses, and identifiers that contain them.

use core::fmt;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A MAC address, 6 octets (IEEE 802, clause 8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// `01-80-C2-00-00-01`, the destination of MAC control frames. No bridge forwards it (IEEE 802.3 annex 31A).
    pub const CONTROL: Mac = Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
    /// `01-80-C2-00-00-0E`, nearest bridge, the destination of LLDP frames (IEEE 802.1AB clause 7.1).
    pub const NEAREST_BRIDGE: Mac = Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A congestion point identifier, 8 octets (IEEE 802.1Q clause 30.5): a MAC address of the bridge, then two octets that
/// distinguish its congestion points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Cpid {
    /// Octets 0 to 5: a MAC address of the bridge.
    pub bridge: Mac,
    /// Octets 6 and 7: the queue and the port. This project uses port times 8 plus queue.
    pub point: [u8; 2],
}

impl Cpid {
    /// Returns the identifier of a queue of a port.
    pub fn of(bridge: Mac, port: u16, queue: u8) -> Cpid {
        Cpid { bridge, point: (port << 3 | u16::from(queue & 7)).to_be_bytes() }
    }

    /// Returns port and queue of an identifier that [`Cpid::of`] made.
    pub fn port_and_queue(&self) -> (u16, u8) {
        let point = u16::from_be_bytes(self.point);
        (point >> 3, (point & 7) as u8)
    }
}

impl fmt::Display for Cpid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.point;
        write!(f, "{}:{a:02x}:{b:02x}", self.bridge)
    }
}
