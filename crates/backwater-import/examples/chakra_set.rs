//! `chakra_set DIR RANKS NODES`: writes a set of Chakra traces, compressed, to measure imports with. As in recorded
//! traces of a pipeline, each rank alternates between computing, a send to the next rank and a receive from the
//! previous one.

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::encoding::{encode_varint, uint64};
use std::io::Write;

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [dir, ranks, nodes] = words.as_slice() else { return Err("chakra_set DIR RANKS NODES".into()) };
    let number = |word: &String| word.parse::<u64>().map_err(|error| format!("{word}: {error}"));
    let (ranks, nodes) = (number(ranks)?, number(nodes)?);
    for rank in 0..ranks {
        let name = format!("{dir}/set.{rank}.et.gz");
        let unwritable = |error: std::io::Error| format!("{name}: {error}");
        let mut file = GzEncoder::new(std::fs::File::create(&name).map_err(unwritable)?, Compression::fast());
        file.write_all(&trace(rank, ranks, nodes)).map_err(unwritable)?;
        file.finish().map_err(unwritable)?;
    }
    Ok(())
}

fn trace(rank: u64, ranks: u64, nodes: u64) -> Vec<u8> {
    let mut octets = vec![7, 10, 5, b'0', b'.', b'0', b'.', b'4'];
    for id in 0..nodes {
        let node = node(id, rank, ranks);
        encode_varint(node.len() as u64, &mut octets);
        octets.extend(node);
    }
    octets
}

/// Returns one node. Two of four nodes compute, one sends and one receives.
fn node(id: u64, rank: u64, ranks: u64) -> Vec<u8> {
    let mut node = Vec::new();
    uint64::encode(1, &id, &mut node);
    let (name, kind) = match id % 4 {
        0 | 1 => ("aten::mm_layer_forward", 4),
        2 => ("c10d::send", 5),
        _ => ("c10d::recv", 6),
    };
    octets(2, name.as_bytes(), &mut node);
    uint64::encode(3, &kind, &mut node);
    let deps: Vec<u64> = (1..=2).filter_map(|back| id.checked_sub(back)).collect();
    uint64::encode_packed(4, &deps[..deps.len().min(1)], &mut node);
    uint64::encode_packed(5, &deps, &mut node);
    uint64::encode(6, &(1000 + id * 10), &mut node);
    uint64::encode(7, &(if kind == 4 { 10 } else { 0 }), &mut node);
    attribute("is_cpu_op", 27, 0, &mut node);
    match kind {
        4 => attribute("num_ops", 13, 1 << 30, &mut node),
        5 => attribute("comm_dst", 7, (rank + 1) % ranks, &mut node),
        _ => attribute("comm_src", 7, (rank + ranks - 1) % ranks, &mut node),
    }
    if kind > 4 {
        attribute("comm_size", 9, 1 << 20, &mut node);
        attribute("comm_tag", 7, id / 4 % 100, &mut node);
    }
    node
}

fn octets(tag: u32, value: &[u8], into: &mut Vec<u8>) {
    encode_varint(u64::from(tag << 3 | 2), into);
    encode_varint(value.len() as u64, into);
    into.extend(value);
}

fn attribute(name: &str, tag: u32, value: u64, into: &mut Vec<u8>) {
    let mut attribute = Vec::new();
    octets(1, name.as_bytes(), &mut attribute);
    encode_varint(u64::from(tag << 3), &mut attribute);
    encode_varint(value, &mut attribute);
    octets(10, &attribute, into);
}
