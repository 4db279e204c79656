//! The fields of a Chakra trace. The test decodes protobuf by its wire format and the numbers of
//! `schema/protobuf/et_def.proto` of mlcommons/chakra, and encodes it with one value changed.

use super::syntax::{Field, apart};
use super::unknown::Changed;
use prost::encoding::{WireType, decode_key, decode_varint, encode_varint};
use std::collections::BTreeMap;

/// A message, field by field.
type Message = Vec<(u32, Value)>;

#[derive(Clone, Debug)]
enum Value {
    Number(u64),
    /// 32 or 64 bits.
    Fixed(Vec<u8>),
    Octets(Vec<u8>),
    /// Packed numbers.
    Packed(Vec<u64>),
    Message(Message),
}

/// The type of a message, which determines the names of its fields.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Metadata,
    Node,
    Attribute,
    /// `IOInfo`: values, shapes and types of inputs or outputs.
    Tensors,
    /// A list of an attribute.
    List,
}

/// Returns the scalars of a trace, up to `most` of each name.
pub fn fields(octets: &[u8], most: usize) -> Vec<Field> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let messages = messages(octets);
    let mut all = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let what = if number == 0 { What::Metadata } else { What::Node };
        let mut variants = Vec::new();
        each(what, message, &mut variants);
        for (name, others) in variants {
            let count = counts.entry(name.clone()).or_default();
            *count += 1;
            if *count > most {
                continue;
            }
            let whole = |other: Message| {
                let mut changed = messages.clone();
                changed[number] = other;
                delimited(&changed)
            };
            let (owner, own) = apart(&name);
            let others = others.into_iter().map(whole).collect();
            all.push(Field {
                words: vec![own],
                owner,
                name,
                line: number,
                range: 0..octets.len(),
                whole: None,
                others,
            });
        }
    }
    all
}

/// The number of a field that no message of Chakra has.
const UNKNOWN: u32 = 977;

/// Returns the trace with one additional field, once for each message.
pub fn unknown(octets: &[u8]) -> Vec<Changed> {
    let messages = messages(octets);
    let mut all = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let what = if number == 0 { "metadata" } else { "node" };
        for (below, other) in with_one_more(message) {
            let mut changed = messages.clone();
            changed[number] = other;
            let place = format!("{what}{below}");
            all.push(Changed { place, inside: vec![], name: UNKNOWN.to_string(), octets: delimited(&changed) });
        }
    }
    all
}

/// Returns the message with one additional field, once for itself and once for each message inside it.
fn with_one_more(message: &Message) -> Vec<(String, Message)> {
    let own = [message.as_slice(), &[(UNKNOWN, Value::Number(1))]].concat();
    let mut all = vec![(String::new(), own)];
    for (place, (tag, value)) in message.iter().enumerate() {
        let Value::Message(inner) = value else { continue };
        for (below, other) in with_one_more(inner) {
            let mut changed = message.clone();
            changed[place].1 = Value::Message(other);
            all.push((format!(".{tag}{below}"), changed));
        }
    }
    all
}

/// Encodes messages, each with its length before it.
fn delimited(messages: &[Message]) -> Vec<u8> {
    messages.iter().fold(Vec::new(), |mut octets, message| {
        let own = together(message);
        encode_varint(own.len() as u64, &mut octets);
        octets.extend(own);
        octets
    })
}

/// Decodes the messages of a trace: metadata, then nodes.
fn messages(octets: &[u8]) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut rest = octets;
    while !rest.is_empty() {
        let length = decode_varint(&mut rest).expect("a length") as usize;
        let what = if messages.is_empty() { What::Metadata } else { What::Node };
        messages.push(taken_apart(what, &rest[..length]));
        rest = &rest[length..];
    }
    messages
}

fn taken_apart(what: What, mut octets: &[u8]) -> Message {
    let mut message = Vec::new();
    while !octets.is_empty() {
        let (tag, wire) = decode_key(&mut octets).expect("a key");
        let value = match wire {
            WireType::Varint => Value::Number(decode_varint(&mut octets).expect("a number")),
            WireType::LengthDelimited => {
                let length = decode_varint(&mut octets).expect("a length") as usize;
                let (own, rest) = octets.split_at(length);
                octets = rest;
                match (what, tag) {
                    (What::Metadata, 2) | (What::Node, 10) => Value::Message(taken_apart(What::Attribute, own)),
                    (What::Node, 8 | 9) => Value::Message(taken_apart(What::Tensors, own)),
                    (What::Attribute, 4..=30) if tag % 2 == 0 => Value::Message(taken_apart(What::List, own)),
                    (What::Node, 4 | 5) => {
                        let mut numbers = Vec::new();
                        let mut own = own;
                        while !own.is_empty() {
                            numbers.push(decode_varint(&mut own).expect("a number"));
                        }
                        Value::Packed(numbers)
                    }
                    _ => Value::Octets(own.to_vec()),
                }
            }
            WireType::ThirtyTwoBit | WireType::SixtyFourBit => {
                let (own, rest) = octets.split_at(if wire == WireType::ThirtyTwoBit { 4 } else { 8 });
                octets = rest;
                Value::Fixed(own.to_vec())
            }
            other => panic!("{other:?} in a trace"),
        };
        message.push((tag, value));
    }
    message
}

fn together(message: &Message) -> Vec<u8> {
    let mut octets = Vec::new();
    for (tag, value) in message {
        let delimited = |octets: &mut Vec<u8>, own: &[u8]| {
            encode_varint(u64::from(tag << 3 | 2), octets);
            encode_varint(own.len() as u64, octets);
            octets.extend(own);
        };
        match value {
            Value::Number(number) => {
                encode_varint(u64::from(tag << 3), &mut octets);
                encode_varint(*number, &mut octets);
            }
            Value::Fixed(own) => {
                encode_varint(u64::from(tag << 3 | if own.len() == 4 { 5 } else { 1 }), &mut octets);
                octets.extend(own);
            }
            Value::Octets(own) => delimited(&mut octets, own),
            Value::Message(own) => delimited(&mut octets, &together(own)),
            Value::Packed(numbers) => {
                let mut own = Vec::new();
                numbers.iter().for_each(|number| encode_varint(*number, &mut own));
                delimited(&mut octets, &own);
            }
        }
    }
    octets
}

/// Returns the name of a field.
fn name(what: What, tag: u32) -> String {
    let known = match (what, tag) {
        (What::Metadata, 1) => "metadata.version",
        (What::Node, 1) => "node.id",
        (What::Node, 2) => "node.name",
        (What::Node, 3) => "node.type",
        (What::Node, 4) => "node.ctrl_deps",
        (What::Node, 5) => "node.data_deps",
        (What::Node, 6) => "node.start_time_micros",
        (What::Node, 7) => "node.duration_micros",
        (What::Node, 8) => "node.inputs",
        (What::Node, 9) => "node.outputs",
        _ => return format!("field {tag}"),
    };
    known.to_owned()
}

/// Adds each scalar to `all`: its name, and messages with another value of it.
fn each(what: What, message: &Message, all: &mut Vec<(String, Vec<Message>)>) {
    for (place, (tag, value)) in message.iter().enumerate() {
        let with = |other: Value| {
            let mut changed = message.clone();
            changed[place].1 = other;
            changed
        };
        let numbers = |n: u64| {
            let all = [1 - n.min(1), n.wrapping_add(1), n.wrapping_mul(2), n / 2, 0];
            all.into_iter().filter(move |other| *other != n)
        };
        let own = name(what, *tag);
        match value {
            Value::Number(n) => all.push((own, numbers(*n).map(|n| with(Value::Number(n))).collect())),
            Value::Fixed(octets) => {
                let others = [1, 2, 16].map(|more: u8| {
                    let mut octets = octets.clone();
                    let last = octets.len() - 2;
                    octets[last] = octets[last].wrapping_add(more);
                    with(Value::Fixed(octets))
                });
                all.push((own, others.to_vec()));
            }
            Value::Octets(octets) => {
                let mut other = octets.clone();
                other.push(b'x');
                let last =
                    octets.last().map_or(b'1', |last| if last.is_ascii_digit() { b'0' + b'9' - last } else { b'q' });
                let mut third = octets.clone();
                third.pop();
                third.push(last);
                all.push((own, vec![with(Value::Octets(third)), with(Value::Octets(other))]));
            }
            Value::Packed(list) => {
                for (at, n) in list.iter().enumerate() {
                    let changed = numbers(*n).map(|n| {
                        let mut list = list.clone();
                        list[at] = n;
                        with(Value::Packed(list))
                    });
                    all.push((own.clone(), changed.collect()));
                }
            }
            Value::Message(inner) => {
                let (inner_what, called) = match (what, tag) {
                    (What::Metadata, 2) => (What::Attribute, format!("metadata.{}", attribute(inner))),
                    (What::Node, 10) => (What::Attribute, format!("node.{}", attribute(inner))),
                    (What::Node, _) => (What::Tensors, own),
                    _ => (What::List, own),
                };
                let mut below = Vec::new();
                each(inner_what, inner, &mut below);
                for (_, others) in below {
                    all.push((called.clone(), others.into_iter().map(|other| with(Value::Message(other))).collect()));
                }
            }
        }
    }
}

/// Returns the name of an attribute. Its fields are named after it, because a changed name makes another attribute.
fn attribute(message: &Message) -> String {
    let named = message.iter().find_map(|(tag, value)| match (tag, value) {
        (1, Value::Octets(name)) => Some(String::from_utf8_lossy(name).into_owned()),
        _ => None,
    });
    named.unwrap_or_default()
}
