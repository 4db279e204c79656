//! Writes captures in the pcapng format (IETF draft-ietf-opsawg-pcapng): section header, interfaces, frames.
//!
//! Time stamps are in picoseconds (option `if_tsresol` 12). Programs limited to nanoseconds round them down. Frames are
//! written without their frame check sequence. Memory is bounded, because full buffers of whole blocks are written out.
//! The file of a killed program is therefore readable to its end.
//!
//! | block | octets | content |
//! |---|---|---|
//! | section header 0x0A0D0D0A | 28 + options | byte-order magic, version 1.0, length unknown; `shb_userappl` |
//! | interface description 1 | 20 + options | link type 1 (Ethernet), snap length; `if_name`, `if_description`, `if_speed` b/s, `if_tsresol` 12 |
//! | enhanced packet 6 | 32 + frame, padded to 4 + options | interface, time stamp (64 bits), captured and original length; `epb_flags` 1 = inbound, 2 = outbound |

use std::io::{Result, Write};
use std::vec::Vec;

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface<'a> {
    /// Its name, such as `leaf0/3`.
    pub name: &'a str,
    /// A description of the other end; may be empty.
    pub description: &'a str,
    /// \[b/s\] Rate of the link.
    pub speed: u64,
}

/// The direction of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It arrived at the interface.
    Inbound = 1,
    /// It departed from the interface.
    Outbound = 2,
}

/// Writes one section.
#[derive(Debug)]
pub struct Writer<W: Write> {
    to: W,
    /// \[octets\] The most octets of a frame that are kept; 0 = all.
    snap: u32,
    interfaces: u32,
    written: u64,
    /// Whole blocks that have not been written out, and the block under construction.
    blocks: Vec<u8>,
    /// The place in `blocks` where the block under construction begins.
    begin: usize,
}

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// \[octets\] Blocks are written out once they have this size.
const GATHER: usize = 1 << 16;

impl<W: Write> Writer<W> {
    /// Begins a section. It keeps at most `snap` octets of each frame, 0 = all. `application` is the name of the
    /// program that writes it.
    ///
    /// # Errors
    /// Errors of the underlying writer.
    pub fn new(to: W, snap: u32, application: &str) -> Result<Writer<W>> {
        let mut writer = Writer { to, snap, interfaces: 0, written: 0, blocks: Vec::new(), begin: 0 };
        writer.begin(SECTION);
        writer.blocks.extend(0x1a2b_3c4d_u32.to_le_bytes());
        writer.blocks.extend([1, 0, 0, 0]);
        writer.blocks.extend((-1i64).to_le_bytes());
        writer.option(4, application.as_bytes());
        writer.end()?;
        Ok(writer)
    }

    /// Announces an interface and returns its number. All must be announced before their first frame.
    ///
    /// # Errors
    /// Errors of the underlying writer.
    pub fn interface(&mut self, interface: &Interface<'_>) -> Result<u32> {
        self.begin(INTERFACE);
        self.blocks.extend([1, 0, 0, 0]);
        self.blocks.extend(self.snap.to_le_bytes());
        self.option(2, interface.name.as_bytes());
        if !interface.description.is_empty() {
            self.option(3, interface.description.as_bytes());
        }
        self.option(8, &interface.speed.to_le_bytes());
        self.option(9, &[12]);
        self.end()?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Writes a frame. `octets` are its first ones, without the frame check sequence; `length` is its full length.
    ///
    /// # Errors
    /// Errors of the underlying writer.
    pub fn frame(
        &mut self,
        interface: u32,
        time_ps: u64,
        direction: Direction,
        octets: &[u8],
        length: u32,
    ) -> Result<()> {
        let most = if self.snap == 0 { octets.len() } else { octets.len().min(self.snap as usize) };
        let kept = octets.get(..most).unwrap_or_default();
        self.begin(PACKET);
        self.blocks.extend(interface.to_le_bytes());
        self.blocks.extend(((time_ps >> 32) as u32).to_le_bytes());
        self.blocks.extend((time_ps as u32).to_le_bytes());
        self.blocks.extend((kept.len() as u32).to_le_bytes());
        self.blocks.extend(length.max(kept.len() as u32).to_le_bytes());
        self.blocks.extend(kept);
        self.pad();
        self.option(2, &(direction as u32).to_le_bytes());
        self.end()
    }

    /// \[octets\] Returns the most octets of a frame that are kept; 0 = all.
    pub fn snap(&self) -> u32 {
        self.snap
    }

    /// \[octets\] Returns the size so far, of all blocks.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the size of a frame with `octets` in the file.
    pub fn cost(&self, octets: usize) -> u64 {
        let kept = if self.snap == 0 { octets } else { octets.min(self.snap as usize) };
        32 + kept.next_multiple_of(4) as u64 + 12
    }

    /// Writes out all blocks.
    ///
    /// # Errors
    /// Errors of the underlying writer. Blocks that it may have taken are not written a second time.
    pub fn flush(&mut self) -> Result<()> {
        let result = self.to.write_all(&self.blocks);
        self.blocks.clear();
        result.and_then(|()| self.to.flush())
    }

    /// Writes out all blocks, and returns the writer.
    ///
    /// # Errors
    /// Errors of the underlying writer.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        Ok(self.to)
    }

    fn begin(&mut self, kind: u32) {
        self.begin = self.blocks.len();
        self.blocks.extend(kind.to_le_bytes());
        self.blocks.extend([0; 4]);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = value.get(..value.len().min(u16::MAX.into())).unwrap_or_default();
        self.blocks.extend(code.to_le_bytes());
        self.blocks.extend((value.len() as u16).to_le_bytes());
        self.blocks.extend(value);
        self.pad();
    }

    fn pad(&mut self) {
        // Every block's length is a multiple of 4.
        self.blocks.resize(self.blocks.len().next_multiple_of(4), 0);
    }

    /// Ends the block, its options included.
    fn end(&mut self) -> Result<()> {
        self.blocks.extend([0; 4]);
        let length = self.blocks.len() + 4 - self.begin;
        let octets = (length as u32).to_le_bytes();
        self.blocks[self.begin + 4..self.begin + 8].copy_from_slice(&octets);
        self.blocks.extend(octets);
        self.written += length as u64;
        if self.blocks.len() < GATHER { Ok(()) } else { self.flush() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_says_its_length_twice_and_the_snap_length_holds() {
        let mut writer = Writer::new(Vec::new(), 5, "test").unwrap();
        let name = Interface { name: "leaf0/3", description: "to h3", speed: 200_000_000_000 };
        assert_eq!(writer.interface(&name).unwrap(), 0);
        let before = writer.written();
        let cost = writer.cost(9);
        writer.frame(0, 1 << 40 | 7, Direction::Outbound, &[1, 2, 3, 4, 5, 6, 7, 8, 9], 90).unwrap();
        assert_eq!(writer.written() - before, cost);
        let octets = writer.finish().unwrap();
        let (mut at, mut kinds) = (0, Vec::new());
        while at < octets.len() {
            let word = |i: usize| u32::from_le_bytes(octets[i..i + 4].try_into().unwrap());
            let length = word(at + 4) as usize;
            assert_eq!(word(at + length - 4) as usize, length);
            kinds.push(word(at));
            at += length;
        }
        assert_eq!(kinds, [SECTION, INTERFACE, PACKET]);
        let packet = &octets[before as usize..];
        assert_eq!(packet[12..28], [0, 1, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 90, 0, 0, 0]);
        assert_eq!(packet[28..36], [1, 2, 3, 4, 5, 0, 0, 0]);
    }
}
