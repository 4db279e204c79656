//! GOAL as written by `txt2bin` (`Graph::serialize_mmap` in `Parser.hpp` of LogGOPSim, commit 76451de): little endian, without padding.
//!
//! ```text
//! file  = u64 4223 | u32 ranks | u8 highest cpu | u8 highest nic | ranks x (u64 begin, u64 end) | ranks x rank
//! rank  = u32 nodes | u32 roots | roots x u32 | nodes x node | u32 …                      begin and end count from behind 4223
//! node  = u32 dependencies | u8 type (1 send, 2 recv, 3 calc) | u32 peer | u64 size | u32 tag | u8 cpu | u8 nic
//!       | u32 count, u32 first of the nodes that require it | u32 count, u32 first of those that irequire it
//! ```
//!
//! Lists of nodes are in the numbers at the end of a rank. Everything is checked against the file: ranks follow each other, and the lists
//! of a rank together are no longer than its numbers, so memory is in proportion to the file.

use super::{Seen, time_ps};
use crate::error::ImportError;
use crate::schedule::{ANY, Act, MOST_RANKS, Program};
use crate::source::Head;

/// The first number of a file.
const MAGIC: u64 = 4223;

/// Octets of a node.
const NODE: usize = 39;

/// Returns whether a file has this kind.
pub fn recognise(head: &Head) -> bool {
    head.octets.starts_with(&MAGIC.to_le_bytes()) && head.octets.len() >= 14
}

/// The programs of all ranks; messages call the file `file`.
pub fn parse(file: &str, octets: &[u8]) -> Result<(Vec<Program>, Seen), ImportError> {
    let fail = |at: usize, reason: String| ImportError::new(format!("octet {at}: {reason}")).file(file);
    let mut head = Octets { octets, at: 0 };
    let short = || fail(octets.len(), "the file ends in its head".into());
    if head.u64().ok_or_else(short)? != MAGIC {
        return Err(fail(0, format!("a binary schedule begins with {MAGIC}, in 8 octets")));
    }
    let ranks = head.u32().ok_or_else(short)?;
    if ranks == 0 || ranks > MOST_RANKS {
        return Err(fail(8, format!("a schedule has 1 to {MOST_RANKS} ranks, not {ranks}")));
    }
    let reported = [head.u8().ok_or_else(short)?, head.u8().ok_or_else(short)?];
    let mut highest = [0; 2];
    let mut seen = Seen::default();
    let mut programs = Vec::new();
    let mut last = head.at as u64 - 8 + 16 * u64::from(ranks);
    for rank in 0..ranks {
        let at = head.at;
        let (begin, end) = (head.u64().ok_or_else(short)?, head.u64().ok_or_else(short)?);
        if begin < last || end < begin || end > octets.len() as u64 - 8 {
            let reason =
                format!("rank {rank} stands at {begin} to {end}: not behind the one before it and within the file");
            return Err(fail(at, reason).hint("is the file complete?"));
        }
        seen.between += begin - last;
        last = end;
        let (begin, end) = (begin as usize + 8, end as usize + 8);
        let own = Octets { octets: octets.get(..end).unwrap_or_default(), at: begin };
        programs.push(program(own, rank, &fail, &mut seen, &mut highest)?);
    }
    // The check of the last rank has ensured that the file is long enough.
    seen.between += octets.len() as u64 - 8 - last;
    let heads = ["cpu", "nic"].into_iter().zip(reported).zip(highest);
    seen.head = heads
        .filter(|((_, reported), found)| reported != found)
        .map(|((name, reported), found)| (name, reported, found))
        .collect();
    Ok((programs, seen))
}

/// The program of a rank.
fn program(
    mut own: Octets<'_>,
    rank: u32,
    fail: &dyn Fn(usize, String) -> ImportError,
    seen: &mut Seen,
    highest: &mut [u8; 2],
) -> Result<Program, ImportError> {
    let begin = own.at;
    let short = |at: usize| fail(at, format!("rank {rank} ends before its nodes do")).hint("is the file complete?");
    let (nodes, roots) = (own.u32().ok_or_else(|| short(begin))?, own.u32().ok_or_else(|| short(begin))?);
    let roots = own.take(roots as usize * 4).ok_or_else(|| short(begin))?;
    let first = own.at;
    let mut list = own;
    let table = list.take(nodes as usize * NODE).ok_or_else(|| short(begin))?;
    let numbers: Vec<u32> =
        list.rest().chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect();
    let mut program = Program::default();
    let mut waits = vec![0u32; nodes as usize];
    let mut reported = Vec::with_capacity(nodes as usize);
    // For each node those that wait for it: they can be checked when all types are known.
    let mut listed = 0u64;
    let mut lists = Vec::with_capacity(nodes as usize);
    for (node, number) in table.chunks_exact(NODE).zip(0u32..) {
        let at = first + number as usize * NODE;
        let mut node = Octets { octets: node, at: 0 };
        let read = node.node().ok_or_else(|| short(at))?;
        let Node { dependencies, kind, peer, size, tag, cpu, nic, ends, starts } = read;
        let act = match kind {
            1 => Act::Send { peer, tag, bytes: size },
            2 => Act::Receive { peer, tag, bytes: size },
            3 => {
                let time_ps = time_ps(size).ok_or_else(|| {
                    fail(
                        at,
                        format!("rank {rank}, operation {number}: a calc of {size} ns is longer than can be simulated"),
                    )
                })?;
                Act::Compute { time_ps, stream: Some(cpu.into()) }
            }
            _ => return Err(fail(at + 4, format!("type {kind}: is neither 1 send, 2 recv nor 3 calc"))),
        };
        if kind == 1 && (tag == ANY || peer == ANY) {
            return Err(fail(at + 5, "a send to any rank or with any tag: those are for receives".into()));
        }
        *highest = [highest[0].max(cpu), highest[1].max(nic)];
        if nic > 0 && kind != 3 {
            seen.nic.get_or_insert((None, 0)).1 += 1;
        }
        if cpu > 0 && kind != 3 {
            seen.cpu.get_or_insert((None, 0)).1 += 1;
        }
        if kind == 2 && (peer == ANY || tag == ANY) {
            seen.any.get_or_insert((None, 0)).1 += 1;
        }
        program.push(act, number.into());
        reported.push(dependencies);
        listed += u64::from(ends.0) + u64::from(starts.0);
        if listed > numbers.len() as u64 {
            let reason = format!("the nodes of rank {rank} list more dependants than its {} numbers", numbers.len());
            return Err(fail(at + 23, reason));
        }
        lists.push((ends, starts));
    }
    let mut taken = vec![false; numbers.len()];
    for ((ends, starts), number) in lists.into_iter().zip(0u32..) {
        for ((count, from), start) in [(ends, false), (starts, true)] {
            if count == 0 {
                continue;
            }
            let at = first + number as usize * NODE + if start { 31 } else { 23 };
            let dependants =
                numbers.get(from as usize..).and_then(|rest| rest.get(..count as usize)).ok_or_else(|| {
                    fail(
                        at,
                        format!("{count} dependants from {from} on, and rank {rank} has {} numbers", numbers.len()),
                    )
                })?;
            let own = &mut taken[from as usize..][..count as usize];
            if own.contains(&true) {
                let reason = format!("{count} dependants from {from} on, of which another list has some");
                return Err(fail(at, reason));
            }
            own.fill(true);
            for dependant in dependants {
                let Some(waits) = waits.get_mut(*dependant as usize).filter(|_| *dependant != number) else {
                    let reason = format!(
                        "operation {dependant} of rank {rank} waits for {number}: there is none, or it is the same"
                    );
                    return Err(fail(at, reason));
                };
                *waits += 1;
                let act = program.ops[number as usize].act;
                if start {
                    program.after_start(*dependant, number);
                    seen.start_of_calc = seen.start_of_calc.or(matches!(act, Act::Compute { .. }).then_some(None));
                } else {
                    program.after(*dependant, number);
                    seen.after_send = seen.after_send.or(matches!(act, Act::Send { .. }).then_some(None));
                }
            }
        }
    }
    let unnamed = taken.iter().filter(|taken| !**taken).count() * 4 + list.rest().len() % 4;
    seen.between += unnamed as u64;
    for ((reported, found), number) in reported.iter().zip(&waits).zip(0usize..) {
        if reported != found {
            let reason =
                format!("operation {number} of rank {rank} says {reported} dependencies, and {found} are listed");
            return Err(fail(first + number * NODE, reason));
        }
    }
    // Those programs begin with the roots: a node that is wrongly missing there would never begin.
    let mut listed: Vec<u32> =
        roots.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect();
    listed.sort_unstable();
    if !(0..nodes).filter(|node| waits[*node as usize] == 0).eq(listed.iter().copied()) {
        let reason = format!("the roots of rank {rank} are not its operations without dependencies");
        return Err(fail(begin + 8, reason));
    }
    Ok(program)
}

/// Octets with a read position.
#[derive(Clone, Copy)]
struct Octets<'a> {
    octets: &'a [u8],
    at: usize,
}

/// A node as stored.
struct Node {
    dependencies: u32,
    kind: u8,
    peer: u32,
    size: u64,
    tag: u32,
    cpu: u8,
    nic: u8,
    /// How many require it, and the place of their list.
    ends: (u32, u32),
    /// How many irequire it, and the place of their list.
    starts: (u32, u32),
}

impl<'a> Octets<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.octets.get(self.at..)?.get(..count)?;
        self.at += count;
        Some(taken)
    }

    fn rest(&self) -> &'a [u8] {
        self.octets.get(self.at..).unwrap_or_default()
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn node(&mut self) -> Option<Node> {
        let (dependencies, kind, peer, size) = (self.u32()?, self.u8()?, self.u32()?, self.u64()?);
        let (tag, cpu, nic) = (self.u32()?, self.u8()?, self.u8()?);
        let (ends, starts) = ((self.u32()?, self.u32()?), (self.u32()?, self.u32()?));
        Some(Node { dependencies, kind, peer, size, tag, cpu, nic, ends, starts })
    }
}
