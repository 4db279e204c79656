//! Writes captures in the pcapng format (IETF draft-ietf-opsawg-pcapng): section header, interfaces, frames.
//!
//! Time stamps are in picoseconds (option `if_tsresol` 12). Programs that know nanoseconds only round them down. Frames are written
//! without their frame check sequence. A frame is written as it comes: memory does not grow.
//!
//! | block | octets | content |
//! |---|---|---|
//! | section header 0x0A0D0D0A | 28 + options | byte-order magic, version 1.0, length unknown; `shb_userappl` |
//! | interface description 1 | 20 + options | link type 1 (Ethernet), snap length; `if_name`, `if_description`, `if_speed` b/s, `if_tsresol` 12 |
//! | enhanced packet 6 | 32 + frame, padded to 4 + options | interface, time stamp (64 bits), captured and original length; `epb_flags` 1 = inbound, 2 = outbound |

use std::io::{Result, Write};
use std::vec::Vec;

/// Of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface<'a> {
    /// Such as `leaf0/3`.
    pub name: &'a str,
    /// What is at the other end, in words; may be empty.
    pub description: &'a str,
    /// \[b/s\] Rate of the link.
    pub speed: u64,
}

/// Which way a frame went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It came in at the interface.
    Inbound = 1,
    /// It left by the interface.
    Outbound = 2,
}

/// Writes one section.
#[derive(Debug)]
pub struct Writer<W: Write> {
    to: W,
    /// \[octets\] Most of a frame that is kept; 0 = all.
    snap: u32,
    interfaces: u32,
    written: u64,
    block: Vec<u8>,
}

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;

impl<W: Write> Writer<W> {
    /// Begins a section. Of each frame at most `snap` octets are kept, 0 = all. `application` says what wrote it.
    ///
    /// # Errors
    /// Those of the writer underneath.
    pub fn new(to: W, snap: u32, application: &str) -> Result<Writer<W>> {
        let mut writer = Writer { to, snap, interfaces: 0, written: 0, block: Vec::new() };
        writer.begin(SECTION);
        writer.block.extend(0x1a2b_3c4d_u32.to_le_bytes());
        writer.block.extend([1, 0, 0, 0]);
        writer.block.extend((-1i64).to_le_bytes());
        writer.option(4, application.as_bytes());
        writer.end(true)?;
        Ok(writer)
    }

    /// Announces an interface and returns its number. All must be announced before their first frame.
    ///
    /// # Errors
    /// Those of the writer underneath.
    pub fn interface(&mut self, interface: &Interface<'_>) -> Result<u32> {
        self.begin(INTERFACE);
        self.block.extend([1, 0, 0, 0]);
        self.block.extend(self.snap.to_le_bytes());
        self.option(2, interface.name.as_bytes());
        if !interface.description.is_empty() {
            self.option(3, interface.description.as_bytes());
        }
        self.option(8, &interface.speed.to_le_bytes());
        self.option(9, &[12]);
        self.end(true)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Writes a frame. `octets` are its first ones, without the frame check sequence; `length` is how long it was in full.
    ///
    /// # Errors
    /// Those of the writer underneath.
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
        self.block.extend(interface.to_le_bytes());
        self.block.extend(((time_ps >> 32) as u32).to_le_bytes());
        self.block.extend((time_ps as u32).to_le_bytes());
        self.block.extend((kept.len() as u32).to_le_bytes());
        self.block.extend(length.max(kept.len() as u32).to_le_bytes());
        self.block.extend(kept);
        self.pad();
        self.option(2, &(direction as u32).to_le_bytes());
        self.end(true)
    }

    /// \[octets\] Written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// What a frame with `octets` takes in the file.
    pub fn cost(&self, octets: usize) -> u64 {
        let kept = if self.snap == 0 { octets } else { octets.min(self.snap as usize) };
        32 + kept.next_multiple_of(4) as u64 + 12
    }

    /// Writes what is still buffered and gives the writer back.
    ///
    /// # Errors
    /// Those of the writer underneath.
    pub fn finish(mut self) -> Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.block.extend(kind.to_le_bytes());
        self.block.extend([0; 4]);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = value.get(..value.len().min(u16::MAX.into())).unwrap_or_default();
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn end(&mut self, options: bool) -> Result<()> {
        if options {
            self.block.extend([0; 4]);
        }
        let length = (self.block.len() + 4) as u32;
        self.block[4..8].copy_from_slice(&length.to_le_bytes());
        self.block.extend(length.to_le_bytes());
        self.written += self.block.len() as u64;
        self.to.write_all(&self.block)
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
