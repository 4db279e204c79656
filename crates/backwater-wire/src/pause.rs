//! PAUSE (IEEE 802.3 annex 31B): the peer sends nothing on this link for a time.
//!
//! The frame goes to `01-80-C2-00-00-01` with EtherType 0x8808. It is never tagged and never forwarded. Offsets are
//! from the first octet after the EtherType, as in all files of this crate. In the frame they are 14 higher.
//!
//! | offset | bits | field | unit | source |
//! |---|---|---|---|---|
//! | 0 | 16 | MAC control opcode, 0x0001 | | IEEE 802.3 table 31A-1 |
//! | 2 | 16 | pause time; 0 = resume | 512 bit times | annex 31B.2 |
//! | 4 | 336 | reserved, 0 | | annex 31A |

use crate::octets::{raw, view, write};
use crate::{Emit, Error, Parse};
use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The format's name in errors.
const NAME: &str = "PAUSE";
/// \[octets\] MAC control parameters and opcode fill the shortest frame (annex 31A).
pub(crate) const CONTROL: usize = 46;

/// Layout of PAUSE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Layout {
    /// Octets 0 and 1: MAC control opcode, 0x0001.
    pub opcode: U16,
    /// Octets 2 and 3: pause time in quanta of 512 bit times; 0 = resume. 42 octets of zeros follow.
    pub pause_time: U16,
}

/// A PAUSE frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// \[512 bit times\] Duration; 0 = resume.
    pub quanta: u16,
}

impl Pause {
    /// MAC control opcode (annex 31A, table 31A-1).
    pub const OPCODE: u16 = 0x0001;
}

impl Parse<'_> for Pause {
    fn parse(octets: &[u8]) -> Result<Pause, Error> {
        let (layout, _) = view::<Layout>(NAME, octets)?;
        match layout.opcode.get() {
            Pause::OPCODE => Ok(Pause { quanta: layout.pause_time.get() }),
            other => Err(Error::field(NAME, "opcode", 0, other.into(), "0x0001")),
        }
    }
}

impl Emit for Pause {
    fn length(&self) -> usize {
        CONTROL
    }

    fn emit(&self, octets: &mut [u8]) -> Result<usize, Error> {
        let layout = Layout { opcode: U16::new(Pause::OPCODE), pause_time: U16::new(self.quanta) };
        write(NAME, octets, &[raw(&layout)], CONTROL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_octets_of_annex_31b() {
        let mut octets = [0xff; 46];
        assert_eq!(Pause { quanta: 0x1234 }.emit(&mut octets), Ok(46));
        assert_eq!(octets[..4], [0x00, 0x01, 0x12, 0x34]);
        assert!(octets[4..].iter().all(|o| *o == 0));
        octets[1] = 2;
        let text = std::string::ToString::to_string(&Pause::parse(&octets).unwrap_err());
        assert_eq!(text, "PAUSE: opcode at octet 0 is 2 (0x2); expected 0x0001");
    }
}
