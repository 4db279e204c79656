//! PFC, priority-based flow control (IEEE 802.3 annex 31D; IEEE 802.1Qbb): the peer sends nothing of some priorities
//! for a time.
//!
//! Addresses, EtherType and length are those of [`crate::pause`].
//!
//! | offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 16 | MAC control opcode, 0x0101 | | IEEE 802.3 table 31A-1 |
//! | 2 | 8 | priority enable vector, high octet: reserved, 0 | | annex 31D |
//! | 3 | 8 | priority enable vector, low octet: bit i = `time[i]` applies | | annex 31D |
//! | 4 + 2 i | 16 | time of priority i, 0 to 7; 0 = resume; sent as 0 where not enabled | 512 bit times | annex 31D |
//! | 20 | 208 | reserved, 0 | | annex 31A |

use crate::octets::{raw, view, write};
use crate::pause::CONTROL;
use crate::{Emit, Error, Parse};
use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The format's name in errors.
const NAME: &str = "PFC";

/// Layout of PFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    /// Octets 0 and 1: MAC control opcode, 0x0101.
    pub opcode: U16,
    /// Octet 2: high octet of the priority enable vector, reserved, 0.
    pub reserved: u8,
    /// Octet 3: bit i is set if `time[i]` applies.
    pub enable: u8,
    /// Octets 4 to 19: pause time of priorities 0 to 7 in quanta of 512 bit times; 0 where not enabled. 26 octets of zeros follow.
    pub time: [U16; 8],
}

/// A PFC frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pfc {
    /// \[512 bit times\] Duration for priorities 0 to 7: 0 = resume; `None` leaves the priority as it is.
    pub quanta: [Option<u16>; 8],
}

impl Pfc {
    /// MAC control opcode (annex 31A, table 31A-1).
    pub const OPCODE: u16 = 0x0101;
}

impl Parse<'_> for Pfc {
    fn parse(octets: &[u8]) -> Result<Pfc, Error> {
        let (layout, _) = view::<Layout>(NAME, octets)?;
        if layout.opcode.get() != Pfc::OPCODE {
            return Err(Error::field(NAME, "opcode", 0, layout.opcode.get().into(), "0x0101"));
        }
        let mut pfc = Pfc::default();
        for (i, (quanta, time)) in pfc.quanta.iter_mut().zip(layout.time).enumerate() {
            *quanta = (layout.enable >> i & 1 == 1).then_some(time.get());
        }
        Ok(pfc)
    }
}

impl Emit for Pfc {
    fn length(&self) -> usize {
        CONTROL
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        let enable = self.quanta.iter().enumerate().fold(0, |mask, (i, q)| mask | u8::from(q.is_some()) << i);
        let time = self.quanta.map(|quanta| U16::new(quanta.unwrap_or(0)));
        write(NAME, octets, &[raw(&Layout { opcode: U16::new(Pfc::OPCODE), reserved: 0, enable, time })], CONTROL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_octets_of_annex_31d() {
        let mut pfc = Pfc::default();
        (pfc.quanta[0], pfc.quanta[3], pfc.quanta[7]) = (Some(0), Some(2344), Some(0xffff));
        let mut octets = [0xff; 46];
        pfc.emit(&mut octets).unwrap();
        assert_eq!(octets[..4], [0x01, 0x01, 0x00, 0b1000_1001]);
        assert_eq!(octets[4..20], [0, 0, 0, 0, 0, 0, 9, 40, 0, 0, 0, 0, 0, 0, 255, 255]);
        assert!(octets[20..].iter().all(|o| *o == 0));
        assert_eq!(Pfc::parse(&octets), Ok(pfc));
    }
}
