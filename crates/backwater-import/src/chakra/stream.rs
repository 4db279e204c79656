//! A trace as a stream: messages with their lengths before them, perhaps compressed by gzip.
//!
//! ```text
//! file = length GlobalMetadata { length Node }      length: a number in groups of seven bits, the lowest first
//! ```
//!
//! One message is in memory at a time.

use super::message::{GlobalMetadata, Node};
use crate::error::ImportError;
use crate::source::{Head, Source};
use flate2::read::MultiGzDecoder;
use prost::Message;
use prost::bytes::Buf;
use prost::encoding::WireType;
use std::collections::BTreeSet;
use std::io::{BufReader, Read};

/// Longest message. The longest known one contains a file of MSCCL, of 26 KB.
const LONGEST: u64 = 64 << 20;

/// The first octets of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The messages of a file.
pub struct Messages<'a> {
    source: &'a Source,
    octets: BufReader<Box<dyn Read + 'a>>,
    at: u64,
    buffer: Vec<u8>,
    /// Fields that are not in the schema, or are not read, by their number, in messages and their attributes.
    pub unknown: BTreeSet<String>,
}

impl<'a> Messages<'a> {
    /// Opens a file.
    pub fn open(source: &'a Source) -> Result<Messages<'a>, ImportError> {
        let mut first = [0; 2];
        let compressed = source.open()?.read_exact(&mut first).is_ok() && first == GZIP;
        let plain = source.open()?;
        let octets: Box<dyn Read + 'a> = if compressed { Box::new(MultiGzDecoder::new(plain)) } else { plain };
        Ok(Messages {
            source,
            octets: BufReader::with_capacity(1 << 16, octets),
            at: 0,
            buffer: Vec::new(),
            unknown: BTreeSet::new(),
        })
    }

    /// The next message. `None` at the end of the file.
    fn next<M: Message + Default>(&mut self) -> Result<Option<M>, ImportError> {
        let begin = self.at;
        let Some(length) = self.length()? else { return Ok(None) };
        if length > LONGEST {
            return Err(self.error(begin, format!("a message of {length} B: more than {LONGEST} cannot be")));
        }
        self.buffer.clear();
        // No more memory is reserved than the file needs.
        let read = self.octets.by_ref().take(length).read_to_end(&mut self.buffer);
        let read = read.map_err(|error| self.error(begin, format!("cannot be read: {error}")))?;
        self.at += read as u64;
        if (read as u64) < length {
            let reason = format!("a message of {length} B, and the file ends after {read} of them");
            return Err(self.error(begin, reason).hint("is the file complete?"));
        }
        M::decode(self.buffer.as_slice())
            .map(Some)
            .map_err(|error| self.error(begin, format!("no message of Chakra: {error}")))
    }

    /// The metadata, which is the first message. `None`: the file is empty.
    pub fn metadata(&mut self) -> Result<Option<GlobalMetadata>, ImportError> {
        let metadata = self.next()?;
        self.look_for_unknown(METADATA_ATTRIBUTE, metadata_field);
        Ok(metadata)
    }

    /// The next node. `None` at the end of the file.
    pub fn node(&mut self) -> Result<Option<Node>, ImportError> {
        let node = self.next()?;
        self.look_for_unknown(NODE_ATTRIBUTE, node_field);
        Ok(node)
    }

    /// Records fields of the last message that are not in the schema; `attribute` is the number of its attribute fields.
    fn look_for_unknown(&mut self, attribute: u32, known: fn(u32, WireType) -> bool) {
        for (tag, wire, inner) in Fields(&self.buffer) {
            if !known(tag, wire) {
                self.unknown.insert(format!("field {tag}"));
            }
            let own = Fields(if tag == attribute { inner } else { &[] });
            for (tag, ..) in own.filter(|(tag, ..)| !attribute_field(*tag)) {
                self.unknown.insert(format!("field {tag} of attributes"));
            }
        }
    }

    fn length(&mut self) -> Result<Option<u64>, ImportError> {
        let begin = self.at;
        let mut length = 0u64;
        for group in 0..10 {
            let mut octet = [0];
            match self.octets.read(&mut octet) {
                Ok(0) if group == 0 => return Ok(None),
                Ok(0) => return Err(self.error(begin, "the file ends in the length of a message".into())),
                Ok(_) => self.at += 1,
                Err(error) => return Err(self.error(begin, format!("cannot be read: {error}"))),
            }
            length |= u64::from(octet[0] & 127).checked_shl(7 * group).unwrap_or(0);
            if octet[0] < 128 {
                return Ok(Some(length));
            }
        }
        Err(self.error(begin, "the length of a message has no end".into()))
    }

    fn error(&self, at: u64, reason: String) -> ImportError {
        self.source.error(format!("octet {at}: {reason}"))
    }
}

/// Returns whether a file is a trace: all messages of its head have the fields of the schema, and there is a node.
pub fn recognise(head: &Head) -> bool {
    let mut unpacked = Vec::new();
    let (octets, whole) = if head.octets.starts_with(&GZIP) {
        let most = head.octets.len() as u64;
        // A truncated stream is an error of the decoder; its output until then counts.
        let _ = MultiGzDecoder::new(head.octets.as_slice()).take(most).read_to_end(&mut unpacked);
        (unpacked.as_slice(), false)
    } else {
        (head.octets.as_slice(), head.whole)
    };
    let mut rest = octets;
    let mut messages = 0u64;
    while rest.has_remaining() {
        let Ok(length) = prost::encoding::decode_varint(&mut rest) else { return !whole && messages > 1 };
        if length > LONGEST {
            return false;
        }
        let cut = (rest.remaining() as u64) < length;
        if cut && whole {
            return false;
        }
        let (message, behind) = rest.split_at((length as usize).min(rest.len()));
        rest = behind;
        let fields = if messages == 0 { metadata_field } else { node_field };
        if !plausible(message, cut, fields) || messages > 0 && length == 0 {
            return false;
        }
        messages += 1;
    }
    messages > 1 || messages == 1 && !whole && octets.len() > 1
}

fn metadata_field(tag: u32, wire: WireType) -> bool {
    matches!(tag, 1 | 2) && wire == WireType::LengthDelimited
}

fn node_field(tag: u32, wire: WireType) -> bool {
    match tag {
        1 | 3 | 6 | 7 => wire == WireType::Varint,
        // Numbers in a row, or one by one.
        4 | 5 => matches!(wire, WireType::LengthDelimited | WireType::Varint),
        2 | 8..=10 => wire == WireType::LengthDelimited,
        _ => false,
    }
}

/// The number of a message's attribute fields.
const METADATA_ATTRIBUTE: u32 = 2;
const NODE_ATTRIBUTE: u32 = 10;

/// Returns whether an attribute may have such a field, beside its `doc_string`: a name, and values and lists of many types.
fn attribute_field(tag: u32) -> bool {
    matches!(tag, 1 | 3..=30)
}

/// The fields of a message that can be decoded: number, type and, if it has a length, its content.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, WireType, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let Fields(rest) = self;
        let (tag, wire) = prost::encoding::decode_key(rest).ok()?;
        let length = match wire {
            WireType::Varint => {
                prost::encoding::decode_varint(rest).ok()?;
                0
            }
            WireType::LengthDelimited => prost::encoding::decode_varint(rest).ok()? as usize,
            WireType::ThirtyTwoBit => 4,
            WireType::SixtyFourBit => 8,
            // No schema in use has groups; the rest after one cannot be decoded.
            WireType::StartGroup | WireType::EndGroup => {
                *rest = &[];
                0
            }
        };
        let (inner, behind) = rest.split_at_checked(length)?;
        *rest = behind;
        Some((tag, wire, inner))
    }
}

/// Returns whether all fields of a message are permitted; it may be truncated.
fn plausible(mut message: &[u8], cut: bool, field: fn(u32, WireType) -> bool) -> bool {
    while !message.is_empty() {
        let Ok((tag, wire)) = prost::encoding::decode_key(&mut message) else { return cut };
        if !field(tag, wire) {
            return false;
        }
        let Ok(number) = prost::encoding::decode_varint(&mut message) else { return cut };
        if wire == WireType::LengthDelimited {
            match message.get(usize::try_from(number).unwrap_or(usize::MAX)..) {
                Some(rest) => message = rest,
                None => return cut,
            }
        }
    }
    true
}
