//! Reads captures, pcapng and pcap, in either byte order, block by block. The parser is that of the [`pcap_parser`]
//! crate.
//!
//! A block that is broken inside is reported, and skipped by the length that it names. If a length cannot be trusted,
//! or the file ends in the middle of a block, reading ends with a last report. All earlier frames stay valid.

use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};
use std::format;
use std::io::Read;
use std::string::{String, ToString};
use std::vec::Vec;

/// A frame, or a problem.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<'a> {
    /// A frame.
    Frame(Captured<'a>),
    /// A part of the file that cannot be read.
    Problem(Problem),
}

/// A frame of a capture.
#[derive(Clone, Debug, PartialEq)]
pub struct Captured<'a> {
    /// Its number in the file, from 1, as in Wireshark.
    pub number: u64,
    /// \[octets\] The offset of its block or record in the file.
    pub offset: u64,
    /// Name of the interface, or its number if it has no name.
    pub interface: &'a str,
    /// \[ps\] Time stamp, from the capture's own origin; `None` without one.
    pub time: Option<u128>,
    /// 1: inbound; 2: outbound; 0: the file does not record it.
    pub direction: u8,
    /// The octets that the capture kept.
    pub octets: &'a [u8],
    /// \[octets\] The original length.
    pub length: u32,
}

/// A part of the file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// \[octets\] Its offset in the file.
    pub offset: u64,
    /// The reason.
    pub reason: String,
}

/// Properties of an interface that its frames need.
struct Interface {
    name: String,
    ethernet: bool,
    /// Ticks per second; 0 if unreadable.
    resolution: u64,
    /// \[s\] The offset to add to each time stamp.
    offset: i64,
}

/// \[octets\] The largest block. A block that names a greater length is broken.
const LARGEST: usize = 16 << 20;
/// \[octets\] The shortest block.
const SHORTEST: usize = 12;
/// Types of blocks that hold frames, or data that frames need.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
/// Obsolete, but still in old files. The parser does not read it (draft-ietf-opsawg-pcapng, appendix A).
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// Reads a capture to its end, and calls `take` with every frame and every problem.
///
/// # Errors
/// [`Problem`] if `from` is not a capture.
pub fn read<R: Read + Send>(from: R, mut take: impl FnMut(Item<'_>)) -> Result<(), Problem> {
    let mut reader = create_reader(1 << 16, from)
        .map_err(|error| Problem { offset: 0, reason: format!("not a pcapng or pcap file ({})", reported(&error)) })?;
    let mut state =
        State { interfaces: Vec::new(), begun: false, big_endian: false, legacy: false, nanoseconds: false, number: 0 };
    let mut stuck = None;
    loop {
        let offset = reader.consumed() as u64;
        let advance = match state.ahead(reader.data()) {
            Ahead::Skip(length) | Ahead::OldPacket(length) if length > reader.data().len() => Err(Trouble::More),
            Ahead::Skip(length) => Ok(length),
            Ahead::OldPacket(length) => {
                let block = reader.data().get(..length).unwrap_or_default();
                state.old_packet(block, offset, &mut take).map(|()| length).map_err(|why| Trouble::Broken(why.into()))
            }
            Ahead::Broken(reason) => Err(Trouble::Broken(reason.into())),
            Ahead::Parse => match reader.next() {
                Ok((length, block)) => {
                    state.block(block, offset, &mut take);
                    Ok(length)
                }
                Err(error) => Err(match error {
                    PcapError::Eof => Trouble::End,
                    PcapError::Incomplete(_) | PcapError::BufferTooSmall => Trouble::More,
                    PcapError::UnexpectedEof => Trouble::Cut,
                    other => Trouble::Broken(reported(&other)),
                }),
            },
        };
        let whole = state.whole_block(reader.data());
        match advance.map_err(|trouble| trouble.unless(whole)) {
            Ok(length) => reader.consume(length),
            Err(Trouble::End) => return Ok(()),
            Err(Trouble::More) if !reader.reader_exhausted() => {
                let has = reader.data().len();
                if stuck == Some((offset, has)) && (has >= LARGEST || !reader.grow((has * 2).max(1 << 17))) {
                    take(Item::Problem(Problem { offset, reason: format!("a block of more than {LARGEST} octets") }));
                    return Ok(());
                }
                stuck = Some((offset, has));
                if reader.refill().is_err() {
                    take(Item::Problem(Problem { offset, reason: "the file could not be read further".into() }));
                    return Ok(());
                }
            }
            Err(Trouble::More | Trouble::Cut) => {
                if !reader.data().is_empty() {
                    take(Item::Problem(Problem { offset, reason: "the file ends in the middle of a block".into() }));
                }
                return Ok(());
            }
            Err(Trouble::Broken(reason)) => {
                take(Item::Problem(Problem { offset, reason: format!("a broken block ({reason})") }));
                match whole {
                    Some(length) => reader.consume(length),
                    None => return Ok(()),
                }
            }
        }
    }
}

enum Trouble {
    End,
    More,
    Cut,
    Broken(String),
}

impl Trouble {
    /// If the whole block is present, the missing octets are a fault inside it.
    fn unless(self, whole: Option<usize>) -> Trouble {
        match (self, whole) {
            (Trouble::More | Trouble::Cut, Some(_)) => Trouble::Broken("a length inside it points beyond it".into()),
            (trouble, _) => trouble,
        }
    }
}

/// The action for the block at the beginning of the octets read.
enum Ahead {
    Parse,
    /// \[octets\] Skip a block that no frame needs: statistics, names, secrets.
    Skip(usize),
    /// \[octets\] A packet block.
    OldPacket(usize),
    Broken(&'static str),
}

/// Returns the message of a parser's error, without the octets that it carries.
fn reported<I>(error: &PcapError<I>) -> String {
    match error {
        PcapError::Eof => "it is empty".into(),
        PcapError::BufferTooSmall | PcapError::Incomplete(_) | PcapError::UnexpectedEof => "it ends too early".into(),
        PcapError::ReadError => "it could not be read".into(),
        PcapError::HeaderNotRecognized => "unknown first octets".into(),
        PcapError::NomError(_, kind) | PcapError::OwnedNomError(_, kind) => format!("{kind:?}"),
    }
}

struct State {
    interfaces: Vec<Interface>,
    /// True once the file's first block or header has been read.
    begun: bool,
    big_endian: bool,
    /// True for pcap, false for pcapng.
    legacy: bool,
    nanoseconds: bool,
    number: u64,
}

impl State {
    fn block(&mut self, block: PcapBlockOwned<'_>, offset: u64, take: &mut impl FnMut(Item<'_>)) {
        self.begun = true;
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.legacy = true;
                self.nanoseconds = header.is_nanosecond_precision();
                // The upper bits state whether frames have a check sequence.
                let ethernet = Linktype(header.network.0 & 0xffff) == Linktype::ETHERNET;
                self.interfaces.push(Interface { name: "0".into(), ethernet, resolution: 1, offset: 0 });
            }
            PcapBlockOwned::Legacy(frame) => {
                let fraction = u128::from(frame.ts_usec) * if self.nanoseconds { 1000 } else { 1_000_000 };
                let time = u128::from(frame.ts_sec) * PS_PER_SECOND + fraction;
                self.frame(0, offset, Some(time), 0, frame.data, frame.caplen, frame.origlen, take);
            }
            PcapBlockOwned::NG(Block::SectionHeader(section)) => {
                self.big_endian = section.big_endian();
                self.interfaces.clear();
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(described)) => {
                let name = described.if_name().and_then(Result::ok).map(ToString::to_string);
                self.interfaces.push(Interface {
                    name: name.unwrap_or_else(|| self.interfaces.len().to_string()),
                    ethernet: described.linktype == Linktype::ETHERNET,
                    resolution: described.ts_resolution().unwrap_or(0),
                    offset: described.ts_offset(),
                });
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(frame)) => {
                let ticks = u64::from(frame.ts_high) << 32 | u64::from(frame.ts_low);
                let time = self.interfaces.get(frame.if_id as usize).and_then(|of| of.time(ticks));
                // epb_flags has 32 bits. The lowest two are the direction.
                let flags = frame.options.iter().find(|o| o.code.0 == 2).and_then(|o| o.value().first_chunk::<4>());
                let lowest = flags.map_or(0, |octets| octets[if self.big_endian { 3 } else { 0 }]);
                let direction = lowest & 3;
                self.frame(frame.if_id, offset, time, direction, frame.data, frame.caplen, frame.origlen, take);
            }
            PcapBlockOwned::NG(Block::SimplePacket(frame)) => {
                let kept = frame.data.len().min(frame.origlen as usize) as u32;
                self.frame(0, offset, None, 0, frame.data, kept, frame.origlen, take);
            }
            PcapBlockOwned::NG(_) => {}
        }
    }

    /// Reads a packet block. It differs from an enhanced one in its interface, which has 16 bits, and the count of
    /// drops after it.
    fn old_packet(&mut self, block: &[u8], offset: u64, take: &mut impl FnMut(Item<'_>)) -> Result<(), &'static str> {
        let word = |at: usize| self.word(block, at).ok_or("it is too short for a packet");
        let [interface, high, low, kept, length] = [word(8)?, word(12)?, word(16)?, word(20)?, word(24)?];
        let interface = if self.big_endian { interface >> 16 } else { interface & 0xffff };
        let ticks = u64::from(high) << 32 | u64::from(low);
        let time = self.interfaces.get(interface as usize).and_then(|of| of.time(ticks));
        let inside = block.get(28..block.len() - 4).and_then(|inside| inside.split_at_checked(kept as usize));
        let (data, behind) = inside.ok_or("a length inside it points beyond it")?;
        // pack_flags, if it is the first option.
        let options = behind.get(kept.wrapping_neg() as usize & 3..).unwrap_or_default();
        let direction = match self.word(options, 0).zip(self.word(options, 4)) {
            Some((head, flags)) if head == if self.big_endian { 0x0002_0004 } else { 0x0004_0002 } => flags & 3,
            _ => 0,
        };
        self.frame(interface, offset, time, direction as u8, data, kept, length, take);
        Ok(())
    }

    /// Returns a number of 32 bits in a block.
    fn word(&self, octets: &[u8], at: usize) -> Option<u32> {
        let octets = *octets.get(at..)?.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(octets) } else { u32::from_le_bytes(octets) })
    }

    #[expect(clippy::too_many_arguments)]
    fn frame(
        &mut self,
        interface: u32,
        offset: u64,
        time: Option<u128>,
        direction: u8,
        data: &[u8],
        kept: u32,
        length: u32,
        take: &mut impl FnMut(Item<'_>),
    ) {
        self.number += 1;
        let Some(of) = self.interfaces.get(interface as usize) else {
            let reason = format!("frame {} came by interface {interface}, which was not announced", self.number);
            return take(Item::Problem(Problem { offset, reason }));
        };
        if !of.ethernet {
            let reason = format!("frame {} came by interface {}, which is not Ethernet", self.number, of.name);
            return take(Item::Problem(Problem { offset, reason }));
        }
        let octets = data.get(..kept as usize).unwrap_or(data);
        take(Item::Frame(Captured {
            number: self.number,
            offset,
            interface: &of.name,
            time,
            direction,
            octets,
            length,
        }));
    }

    /// Returns what to do with the block at the beginning of `data`. The parser subtracts from the lengths of some
    /// kinds of blocks unchecked (pcap-parser 0.17.0: process information, simple packet). It therefore gets only
    /// blocks that are needed and have a possible length.
    fn ahead(&self, data: &[u8]) -> Ahead {
        let (Some(kind), Some(length), false) = (self.word(data, 0), self.word(data, 4), self.legacy) else {
            return Ahead::Parse;
        };
        match (kind, length as usize) {
            (SECTION | INTERFACE | ENHANCED_PACKET, _) => Ahead::Parse,
            _ if !self.begun => Ahead::Parse,
            (_, length) if length < SHORTEST || length % 4 != 0 => Ahead::Broken("its length cannot be"),
            (SIMPLE_PACKET, length) if length < SHORTEST + 4 => Ahead::Broken("it is too short for a packet"),
            (SIMPLE_PACKET, _) => Ahead::Parse,
            (OLD_PACKET, length) => Ahead::OldPacket(length),
            (_, length) => Ahead::Skip(length),
        }
    }

    /// \[octets\] Returns the length that the block at the beginning of `data` names, if it is possible and the whole
    /// block is present.
    fn whole_block(&self, data: &[u8]) -> Option<usize> {
        if self.legacy {
            return None; // Records of pcap have no length field.
        }
        let length = usize::try_from(self.word(data, 4)?).ok()?;
        (length >= SHORTEST && length % 4 == 0 && length <= data.len()).then_some(length)
    }
}

impl Interface {
    /// Converts a time stamp to ps.
    fn time(&self, ticks: u64) -> Option<u128> {
        let ticks = u128::from(ticks) * PS_PER_SECOND;
        let time = ticks.checked_div(self.resolution.into())?;
        let offset = i128::from(self.offset) * PS_PER_SECOND as i128;
        time.checked_add_signed(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcapng::{Direction, Writer};

    fn written() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), 0, "test").unwrap();
        for name in ["leaf0/3", "h3"] {
            writer.interface(&crate::pcapng::Interface { name, description: "", speed: 1 }).unwrap();
        }
        writer.frame(1, 1_234_567, Direction::Outbound, &[1; 60], 1000).unwrap();
        writer.frame(0, 2_000_001, Direction::Inbound, &[2; 61], 61).unwrap();
        writer.finish().unwrap()
    }

    /// Number, interface, time, direction, octets kept, length.
    type Frame = (u64, String, Option<u128>, u8, usize, u32);

    fn all(octets: &[u8]) -> (Vec<Frame>, Vec<Problem>) {
        let (mut frames, mut problems) = (Vec::new(), Vec::new());
        read(octets, |item| match item {
            Item::Frame(f) => {
                frames.push((f.number, f.interface.to_string(), f.time, f.direction, f.octets.len(), f.length));
            }
            Item::Problem(problem) => problems.push(problem),
        })
        .unwrap();
        (frames, problems)
    }

    #[test]
    fn what_was_written_is_read_to_the_picosecond() {
        let (frames, problems) = all(&written());
        let expected =
            [(1, "h3".into(), Some(1_234_567), 2, 60, 1000), (2, "leaf0/3".into(), Some(2_000_001), 1, 61, 61)];
        assert_eq!((frames.as_slice(), problems.as_slice()), (&expected[..], &[][..]));
    }

    #[test]
    fn a_broken_block_is_reported_and_what_follows_is_read() {
        let mut octets = written();
        let first = octets.len() - (32 + 64 + 12) - (32 + 60 + 12);
        octets[first + 20] = 0xff; // The captured length goes beyond the block.
        let (frames, problems) = all(&octets);
        assert_eq!((frames.len(), problems.len()), (1, 1), "{problems:?}");
        assert_eq!((frames[0].5, problems[0].offset), (61, first as u64));
    }

    /// The first block is one that a fuzzer found. The parser would panic at both.
    #[test]
    fn blocks_that_are_not_needed_are_stepped_over_whatever_is_in_them() {
        let packet = 32 + 60 + 12;
        for (kind, reported) in [(0x8000_0001_u32, 0), (3, 1), (5, 0)] {
            let mut octets = written();
            let at = octets.len() - packet;
            let block = [&kind.to_le_bytes()[..], &12u32.to_le_bytes(), &12u32.to_le_bytes()].concat();
            octets.splice(at - 4..at - 4, block);
            let (frames, problems) = all(&octets);
            assert_eq!((frames.len(), problems.len()), (2, reported), "{kind:x} {problems:?}");
        }
    }

    /// Appends an obsolete packet block to the frames of [`written`].
    #[test]
    fn obsolete_packet_blocks_are_read_and_broken_ones_told() {
        let block = |kept: u32| {
            let words = [2, 12 + 20 + 64 + 12, 7 << 16, 0, 3_000_001, kept, 90];
            let options = [0x0004_0002, 2, 0, 12 + 20 + 64 + 12];
            let octets = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
            [octets(&words), std::vec![3; 61], std::vec![0; 3], octets(&options)].concat()
        };
        let (frames, problems) = all(&[written(), block(61)].concat());
        assert_eq!((&frames[2], problems.len()), (&(3, "leaf0/3".into(), Some(3_000_001), 2, 61, 90), 0));
        for kept in [78, u32::MAX] {
            let (frames, problems) = all(&[written(), block(kept), written()].concat());
            assert_eq!((frames.len(), problems.len()), (4, 1), "{problems:?}");
        }
        // The same in the other byte order: section, interface, and a packet after 9 drops.
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
        let section = words(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1 << 16, u32::MAX, u32::MAX, 28]);
        let interface = words(&[1, 20, 1 << 16, 0, 20]);
        let packet = words(&[2, 48, 9, 0, 7, 3, 90, 0x0102_0300, 0x0002_0004, 1, 0, 48]);
        let (frames, problems) = all(&[section, interface, packet].concat());
        assert_eq!((&frames[0], problems.len()), (&(1, "0".into(), Some(7_000_000), 1, 3, 90), 0));
        let (frames, problems) = all(&[written(), block(61)[..60].to_vec()].concat());
        assert_eq!((frames.len(), problems.len()), (2, 1));
        let short = [2u32, 12, 12].iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(all(&[written(), short].concat()).1[0].reason, "a broken block (it is too short for a packet)");
    }

    #[test]
    fn cut_anywhere_it_reads_what_is_whole() {
        let octets = written();
        for cut in 0..octets.len() {
            let mut frames = 0;
            let end = read(&octets[..cut], |item| frames += u32::from(matches!(item, Item::Frame(_))));
            assert!(frames < 2 && (end.is_ok() || frames == 0), "{cut}");
        }
        assert!(read(&b"neither pcap nor pcapng, but long enough"[..], |_| panic!("nothing to read")).is_err());
    }
}
