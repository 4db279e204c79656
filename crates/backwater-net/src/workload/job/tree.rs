//! An all-reduce by a tree: partial sums go up a binary tree, the sum comes down it, chunk by chunk.
//!
//! ```text
//! parent(r) = (r - 1) / 2 in the order of the ranks; the root is rank 0
//! up(r, c)    chunk c from r to its parent, when it has come from all children of r, and chunk c - 1 has gone
//! down(r, c)  chunk c from the parent of r to r, when the parent has it summed up, and chunk c - 1 has gone
//! ```
//!
//! Source: Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35
//! (2009), section 2 (one pipelined binary tree). **Not modelled:** the second tree of that paper and of NCCL, which doubles the
//! bandwidth: two all-reduces of half the size, one with the ranks in reverse order, come close to it.

use super::transfer::{Transfer, parts};

/// A tree of n ranks, for so many chunks of a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    pub n: u32,
    pub chunks: u32,
    pub bytes: u64,
}

impl Tree {
    /// Transfers in all: each edge is used twice for each chunk.
    pub fn transfers(self) -> u64 {
        2 * u64::from(self.chunks) * u64::from(self.n.saturating_sub(1))
    }

    /// Numbers of transfers: those of a phase are `n` in a row. Phases are the chunks up, then the chunks down.
    pub fn numbers(self) -> u64 {
        2 * u64::from(self.chunks) * u64::from(self.n)
    }

    fn number(self, phase: u32, rank: u32) -> u64 {
        u64::from(phase) * u64::from(self.n) + u64::from(rank)
    }

    fn children(self, rank: u32) -> impl Iterator<Item = u32> {
        [2 * u64::from(rank) + 1, 2 * u64::from(rank) + 2]
            .into_iter()
            .filter(move |c| *c < self.n.into())
            .map(|c| c as u32)
    }

    /// The transfer of a number. Its rank is the lower end of the edge, and is not the root.
    pub fn transfer(self, index: u64) -> Transfer {
        let (rank, phase) = ((index % u64::from(self.n)) as u32, (index / u64::from(self.n)) as u32);
        let parent = rank.saturating_sub(1) / 2;
        let bytes = parts(self.bytes, self.chunks, phase % self.chunks, 1);
        let (from, to) = if phase < self.chunks { (rank, parent) } else { (parent, rank) };
        Transfer { index, from, to, bytes }
    }

    /// For each number, how many transfers it waits for.
    pub fn waits(self) -> Vec<u32> {
        let wait = |index: u64| {
            let (rank, phase) = ((index % u64::from(self.n)) as u32, (index / u64::from(self.n)) as u32);
            let before = u32::from(!phase.is_multiple_of(self.chunks));
            let of = if phase < self.chunks { rank } else { 0 };
            let parent = rank.saturating_sub(1) / 2;
            match (phase < self.chunks, parent) {
                (false, 1..) => 1 + before,
                _ => self.children(of).count() as u32 + before,
            }
        };
        (0..self.numbers()).map(wait).collect()
    }

    /// The transfers that wait for one.
    pub fn then(self, index: u64) -> Vec<u64> {
        let (rank, phase) = ((index % u64::from(self.n)) as u32, (index / u64::from(self.n)) as u32);
        let mut then = Vec::with_capacity(3);
        if phase % self.chunks + 1 < self.chunks {
            then.push(self.number(phase + 1, rank));
        }
        let parent = rank.saturating_sub(1) / 2;
        match (phase < self.chunks, parent) {
            (true, 0) => then.extend(self.children(0).map(|child| self.number(phase + self.chunks, child))),
            (true, _) => then.push(self.number(phase, parent)),
            (false, _) => then.extend(self.children(rank).map(|child| self.number(phase, child))),
        }
        then
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Carries it out: sent data is present at the sender, every rank ends with every chunk of every rank, and nothing is sent twice.
    #[test]
    fn every_rank_has_the_whole_sum() {
        for n in 2..12u32 {
            for chunks in [1, 3] {
                let tree = Tree { n, chunks, bytes: 1000 };
                let mut waits = tree.waits();
                let mut ready: Vec<u64> =
                    (0..tree.numbers()).filter(|i| i % u64::from(n) != 0 && waits[*i as usize] == 0).collect();
                // Per rank and chunk, the ranks whose part is in the sum.
                let mut sums: Vec<BTreeSet<u32>> = (0..n * chunks).map(|i| BTreeSet::from([i / chunks])).collect();
                let (mut sent, mut bytes) = (0, 0);
                while let Some(index) = ready.pop() {
                    let transfer = tree.transfer(index);
                    let chunk = (index / u64::from(n)) as u32 % chunks;
                    let sum = sums[(transfer.from * chunks + chunk) as usize].clone();
                    assert!(
                        index / u64::from(n) < chunks.into() || sum.len() == n as usize,
                        "sent down before it is whole"
                    );
                    sums[(transfer.to * chunks + chunk) as usize].extend(sum);
                    (sent, bytes) = (sent + 1, bytes + transfer.bytes);
                    for then in tree.then(index) {
                        waits[then as usize] -= 1;
                        if waits[then as usize] == 0 {
                            ready.push(then);
                        }
                    }
                }
                assert_eq!((sent, bytes), (tree.transfers(), 2 * u64::from(n - 1) * 1000));
                assert!(sums.iter().all(|sum| sum.len() == n as usize), "{n} ranks, {chunks} chunks");
            }
        }
    }
}
