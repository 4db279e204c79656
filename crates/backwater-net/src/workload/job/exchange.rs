//! The transfers of a collective, and what each transfer waits for.
//!
//! A collective is either one set of transfers that all begin at once (*direct*), or runs in *phases*: in each phase every rank sends to
//! one other. Rank r begins phase p + 1 when it has sent and received phase p:
//!
//! ```text
//! ring                to(r) = r + 1; n - 1 phases of S/n each for reduce-scatter and all-gather, both for all-reduce;
//!                     with c channels c such rings at once, each with S/c
//! halving-doubling    to(r) = r xor d; log2 n phases, d = n/2 … 1 with S/2 … S/n (halving), then back (doubling)
//! pairwise            to(r) = r + p + 1; n - 1 phases of an all-to-all
//! hierarchical        to(r) = r + m in servers of m ranks; n/m - 1 phases of S/n each, as the ring
//! tree                by a tree of its own (`tree.rs`)
//! ```
//!
//! Sources: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 19 (2005),
//! sections 4.1 (ring, recursive doubling), 4.3 (pairwise), 4.4 (recursive halving), 4.5 (Rabenseifner's all-reduce); bandwidths:
//! nccl-tests, doc/PERFORMANCE.md. S is the buffer of a rank, part i of n is the bytes from iS/n to (i + 1)S/n, rounded down.

use super::tokens::Routing;
use super::transfer::{Transfer, parts};
use super::tree::Tree;
use std::sync::Arc;

/// The result of a collective at its ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// The sum of all buffers at every rank.
    AllReduce,
    /// The parts of all ranks at every rank.
    AllGather,
    /// A part of the sum at every rank.
    ReduceScatter,
}

/// The algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// From each member to the next, along rings side by side: each carries an equal part of the buffer. Members of one ring come after those
    /// of another, so there are `channels` times as many as ranks.
    Ring {
        /// The number of rings.
        channels: u32,
    },
    /// With partners at halving, then doubling distance; for 2^k ranks.
    HalvingDoubling,
    /// Within servers first, which takes no time, then along rings of the ranks with the same place in each server.
    Hierarchical {
        /// Ranks of each server; a group consists of whole servers, one after the other.
        per_server: u32,
    },
}

/// The receivers of ranks that do not send to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Each rank draws its receivers, all sets being equally likely: a receiver may be drawn by many.
    Random,
    /// Drawn so that every rank receives from as many as it sends to.
    Balanced,
}

/// The exchange of a communicator's ranks.
#[derive(Clone, Debug, PartialEq)]
pub enum Exchange {
    /// The first rank sends to the second.
    PointToPoint {
        /// Payload.
        bytes: u64,
    },
    /// In phases of an algorithm.
    Phased {
        /// The collective.
        collective: Collective,
        /// The algorithm.
        algorithm: Algorithm,
        /// The buffer S of each rank.
        bytes: u64,
    },
    /// An all-reduce, up and down a binary tree.
    Tree {
        /// The buffer S of each rank.
        bytes: u64,
        /// The number of parts in which it is sent.
        chunks: u32,
    },
    /// Every rank sends to every other.
    AllToAll {
        /// Payload to each of them.
        bytes: u64,
        /// In n - 1 phases instead of at once.
        pairwise: bool,
    },
    /// Every rank sends the sizes of a matrix, all at once: for n ranks the n x n sizes, sender by sender; 0 is no transfer.
    Sizes(Arc<[u64]>),
    /// Every rank sends to some others, drawn anew in every round, all at once.
    Drawn {
        /// How they are drawn.
        choice: Choice,
        /// How many receivers each rank draws.
        fan_out: u32,
        /// A rank may draw itself, which takes no transfer.
        with_self: bool,
        /// Payload to each receiver, or in total to those outside the sender's server.
        bytes: u64,
        /// `bytes` is the total of a rank.
        in_all: bool,
    },
    /// Every rank sends its tokens to their experts, drawn anew in every round, or the experts send them back.
    Routed {
        /// The routing of tokens.
        routing: Arc<Routing>,
        /// Payload of a copy of a token.
        bytes: u64,
        /// Back, the way that the step of `routing` has sent them.
        back: bool,
    },
}

impl Exchange {
    /// Returns its name.
    pub fn kind(&self) -> &'static str {
        match self {
            Exchange::PointToPoint { .. } => "point-to-point",
            Exchange::Phased { collective: Collective::AllReduce, .. } | Exchange::Tree { .. } => "all-reduce",
            Exchange::Phased { collective: Collective::AllGather, .. } => "all-gather",
            Exchange::Phased { collective: Collective::ReduceScatter, .. } => "reduce-scatter",
            Exchange::AllToAll { .. } => "all-to-all",
            Exchange::Sizes(_) | Exchange::Drawn { .. } => "all-to-all-v",
            Exchange::Routed { back: false, .. } => "dispatch",
            Exchange::Routed { .. } => "combine",
        }
    }

    /// Returns the name of its algorithm.
    pub fn algorithm(&self) -> &'static str {
        match self {
            Exchange::Phased { algorithm: Algorithm::Ring { .. }, .. } => "ring",
            Exchange::Phased { algorithm: Algorithm::HalvingDoubling, .. } => "halving-doubling",
            Exchange::Phased { .. } => "hierarchical",
            Exchange::Tree { .. } => "tree",
            Exchange::AllToAll { pairwise: true, .. } => "pairwise",
            _ => "direct",
        }
    }

    /// Its tree, if it uses one.
    pub(super) fn tree(&self, n: u32) -> Option<Tree> {
        match *self {
            Exchange::Tree { bytes, chunks } => Some(Tree { n, chunks, bytes }),
            _ => None,
        }
    }

    /// Upper bound of the transfers of n ranks.
    pub(super) fn most(&self, n: u64) -> u64 {
        match self {
            Exchange::PointToPoint { .. } => 1,
            Exchange::AllToAll { pairwise: false, .. } | Exchange::Sizes(_) | Exchange::Routed { .. } => n * n,
            Exchange::Drawn { fan_out, .. } => n * u64::from(*fan_out),
            Exchange::Tree { .. } => self.tree(n as u32).map_or(0, Tree::numbers),
            Exchange::Phased { .. } | Exchange::AllToAll { .. } => n * u64::from(self.phases(n as u32)),
        }
    }

    /// Upper bound of the transfers among n ranks that begin together: all of them, or one of each rank.
    pub(super) fn at_once(&self, n: u64) -> u64 {
        if self.phases(n as u32) > 0 || matches!(self, Exchange::Tree { .. }) {
            n
        } else {
            self.most(n) - if self.meets_all() { n } else { 0 }
        }
    }

    /// Returns whether every rank sends to every other, at once: a rank's transfer to itself has a number, but does not exist.
    fn meets_all(&self) -> bool {
        matches!(self, Exchange::AllToAll { pairwise: false, .. } | Exchange::Sizes(_) | Exchange::Routed { .. })
    }

    /// Phases among n ranks; 0: all transfers begin at once.
    pub(super) fn phases(&self, n: u32) -> u32 {
        match *self {
            Exchange::Phased { collective, algorithm, .. } => {
                let one = match algorithm {
                    Algorithm::Ring { channels } => (n / channels.max(1)).saturating_sub(1),
                    Algorithm::HalvingDoubling => n.max(1).ilog2(),
                    Algorithm::Hierarchical { per_server } => (n / per_server.max(1)).saturating_sub(1),
                };
                if collective == Collective::AllReduce { 2 * one } else { one }
            }
            Exchange::AllToAll { pairwise: true, .. } => n.saturating_sub(1),
            _ => 0,
        }
    }

    /// Returns the transfer of `rank` of n in a phase.
    pub(super) fn transfer(&self, n: u32, rank: u32, phase: u32) -> Transfer {
        let (to, bytes) = match *self {
            Exchange::Phased { algorithm: Algorithm::Ring { channels }, bytes, .. } => {
                let (first, place, of) = channel(n, channels, rank);
                // The part received in the phase before: after n - 1 phases of an all-reduce it is summed up, and goes around again.
                (first + (place + 1) % of, parts(bytes, n, first + (place + of - phase % of) % of, 1))
            }
            Exchange::Phased { algorithm: Algorithm::Hierarchical { per_server }, bytes, .. } => {
                // As the ring, but of servers; a rank handles the part of its place in each server.
                let (servers, own, place) = (n / per_server, rank / per_server, rank % per_server);
                let part = (own + servers - phase % servers) % servers * per_server + place;
                ((rank + per_server) % n, parts(bytes, n, part, 1))
            }
            Exchange::Phased { collective, bytes, .. } => {
                let distance = self.distance(n, phase);
                let halving = match collective {
                    Collective::AllGather => false,
                    Collective::ReduceScatter => true,
                    Collective::AllReduce => phase < n.ilog2(),
                };
                // While halving, a rank sends the half that its partner keeps; while doubling, it sends what it has.
                let first = (if halving { rank ^ distance } else { rank }) & !(distance - 1);
                (rank ^ distance, parts(bytes, n, first, distance))
            }
            Exchange::AllToAll { bytes, .. } => ((rank + phase + 1) % n, bytes),
            Exchange::PointToPoint { bytes } => (1, bytes),
            Exchange::Sizes(_) | Exchange::Drawn { .. } | Exchange::Routed { .. } | Exchange::Tree { .. } => {
                unreachable!("has no phases")
            }
        };
        Transfer { index: u64::from(phase) * u64::from(n) + u64::from(rank), from: rank, to, bytes }
    }

    /// The rank from which `rank` receives in a phase.
    pub(super) fn from(&self, n: u32, rank: u32, phase: u32) -> u32 {
        match self {
            Exchange::Phased { algorithm: Algorithm::HalvingDoubling, .. } => rank ^ self.distance(n, phase),
            Exchange::Phased { algorithm: Algorithm::Hierarchical { per_server }, .. } => (rank + n - per_server) % n,
            Exchange::AllToAll { .. } => (rank + n - (phase + 1) % n) % n,
            Exchange::Phased { algorithm: Algorithm::Ring { channels }, .. } => {
                let (first, place, of) = channel(n, *channels, rank);
                first + (place + of - 1) % of
            }
            _ => (rank + n - 1) % n,
        }
    }

    /// Distance of partners in a phase of halving or doubling.
    fn distance(&self, n: u32, phase: u32) -> u32 {
        let k = n.ilog2();
        let Exchange::Phased { collective, .. } = self else { return 1 };
        match collective {
            Collective::ReduceScatter => n >> (phase + 1),
            Collective::AllGather => 1 << phase,
            Collective::AllReduce if phase < k => n >> (phase + 1),
            Collective::AllReduce => 1 << (phase - k),
        }
    }

    /// Returns the pairs of sending and receiving ranks, by their numbers: each pair at least once; for drawn receivers, all possible
    /// pairs.
    pub fn pairs(&self, n: u32) -> Box<dyn Iterator<Item = (u32, u32)> + '_> {
        if n < 2 {
            return Box::new(std::iter::empty());
        }
        let all = (0..n).flat_map(move |from| (0..n).map(move |to| (from, to)));
        match self {
            Exchange::PointToPoint { .. } => Box::new(std::iter::once((0, 1))),
            // To the same rank in all phases.
            Exchange::Phased { algorithm: Algorithm::Ring { .. } | Algorithm::Hierarchical { .. }, .. } => {
                Box::new((0..n).map(move |rank| (rank, self.transfer(n, rank, 0).to)))
            }
            Exchange::Phased { .. } => {
                let phases = (0..self.phases(n)).flat_map(move |phase| (0..n).map(move |rank| (rank, phase)));
                Box::new(phases.map(move |(rank, phase)| (rank, self.transfer(n, rank, phase).to)))
            }
            Exchange::Tree { .. } => {
                Box::new((1..n).map(|rank| (rank, (rank - 1) / 2)).flat_map(|(low, high)| [(low, high), (high, low)]))
            }
            Exchange::Sizes(sizes) => {
                let at = move |(from, to): &(u32, u32)| sizes.get(*from as usize * n as usize + *to as usize);
                Box::new(all.filter(move |pair| at(pair).is_some_and(|bytes| *bytes > 0)))
            }
            Exchange::AllToAll { .. } | Exchange::Drawn { .. } | Exchange::Routed { .. } => Box::new(all),
        }
    }

    /// All transfers of an exchange without phases whose receivers are not drawn.
    pub(super) fn direct(&self, n: u32) -> Vec<Transfer> {
        let all = |bytes: &dyn Fn(u64) -> u64| {
            let n = u64::from(n);
            let each =
                (0..n * n).map(|i| Transfer { index: i, from: (i / n) as u32, to: (i % n) as u32, bytes: bytes(i) });
            each.filter(|t| t.from != t.to && t.bytes > 0).collect()
        };
        match self {
            Exchange::PointToPoint { bytes } => vec![Transfer { index: 0, from: 0, to: 1, bytes: *bytes }],
            Exchange::AllToAll { bytes, .. } => all(&|_| *bytes),
            Exchange::Sizes(sizes) => all(&|i| sizes[i as usize]),
            Exchange::Phased { .. } | Exchange::Tree { .. } | Exchange::Drawn { .. } | Exchange::Routed { .. } => {
                Vec::new()
            }
        }
    }

    /// Number of transfers between servers, without those to drawn receivers; `servers` are those of the ranks.
    pub(super) fn between(&self, servers: &[u32]) -> u64 {
        let n = servers.len() as u32;
        let crosses = |t: &Transfer| servers[t.from as usize] != servers[t.to as usize];
        let phase = |phase: u32| (0..n).filter(|rank| crosses(&self.transfer(n, *rank, phase))).count() as u64;
        match self {
            // Every ordered pair once, except those within a server.
            Exchange::AllToAll { .. } => {
                let mut sorted = servers.to_vec();
                sorted.sort_unstable();
                let square = |n: usize| n as u64 * n as u64;
                square(servers.len()) - sorted.chunk_by(|a, b| a == b).map(|one| square(one.len())).sum::<u64>()
            }
            Exchange::Phased { algorithm: Algorithm::Ring { .. } | Algorithm::Hierarchical { .. }, .. } => {
                u64::from(self.phases(n)) * phase(0)
            }
            Exchange::Tree { chunks, .. } => self.tree(n).map_or(0, |tree| {
                // The edges of the first chunk upwards.
                2 * u64::from(*chunks) * (1..u64::from(n)).filter(|edge| crosses(&tree.transfer(*edge))).count() as u64
            }),
            Exchange::Phased { .. } => (0..self.phases(n)).map(phase).sum(),
            _ => self.direct(n).iter().filter(|t| crosses(t)).count() as u64,
        }
    }

    /// \[bytes\] The size for the quoted algorithm bandwidth, and the size for the bus bandwidth. `sent` is the total that left all n
    /// ranks, for another rank of the communicator or for the sender itself (`kept`).
    ///
    /// nccl-tests: all-reduce S and 2 (n - 1)/n S; all-gather, reduce-scatter S and (n - 1)/n S; all-to-all n parts and n - 1 of them;
    /// sendrecv S and S. An all-to-all of uneven sizes counts the mean over ranks.
    pub(super) fn quoted(&self, n: u32, sent: u64, kept: u64) -> (f64, f64) {
        let n = f64::from(n);
        match self {
            Exchange::Phased { collective, bytes, .. } => {
                let both = if *collective == Collective::AllReduce { 2.0 } else { 1.0 };
                (*bytes as f64, *bytes as f64 * both * (n - 1.0) / n)
            }
            Exchange::Tree { bytes, .. } => (*bytes as f64, *bytes as f64 * 2.0 * (n - 1.0) / n),
            Exchange::PointToPoint { bytes } => (*bytes as f64, *bytes as f64),
            Exchange::AllToAll { bytes, .. } => (*bytes as f64 * n, *bytes as f64 * (n - 1.0)),
            Exchange::Sizes(_) | Exchange::Drawn { .. } | Exchange::Routed { .. } => {
                ((sent + kept) as f64 / n, sent as f64 / n)
            }
        }
    }
}

/// The ring of a member of n: its first member, the place of this one in it, and its length.
fn channel(n: u32, channels: u32, member: u32) -> (u32, u32, u32) {
    let of = (n / channels.max(1)).max(1);
    (member / of * of, member % of, of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn phased(collective: Collective, algorithm: Algorithm, bytes: u64) -> Exchange {
        Exchange::Phased { collective, algorithm, bytes }
    }

    /// Carries out the collective on sets of parts: each rank begins with its own part and sends what the algorithm determines.
    #[test]
    fn every_phase_sends_to_whom_the_other_expects_and_all_bytes_add_up() {
        for n in [2u32, 3, 4, 5, 8, 12, 16] {
            for algorithm in [Algorithm::Ring { channels: 1 }, Algorithm::HalvingDoubling] {
                if algorithm == Algorithm::HalvingDoubling && !n.is_power_of_two() {
                    continue;
                }
                for collective in [Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter] {
                    let bytes = 1_000_003;
                    let exchange = phased(collective, algorithm, bytes);
                    let mut total = 0;
                    for phase in 0..exchange.phases(n) {
                        let mut receivers = BTreeSet::new();
                        for rank in 0..n {
                            let t = exchange.transfer(n, rank, phase);
                            assert_eq!(exchange.from(n, t.to, phase), rank);
                            assert!(receivers.insert(t.to) && t.to != rank);
                            total += t.bytes;
                        }
                    }
                    let each = u64::from(n - 1) * bytes;
                    let all = if collective == Collective::AllReduce { 2 * each } else { each };
                    assert_eq!(total, all, "{collective:?} by {algorithm:?} among {n}");
                }
            }
        }
    }

    /// Every part that leaves a server has come into it or was there: the ring of servers, at each place in them. Every pair that sends in
    /// a phase, directly, or along a tree, is among the predicted ones.
    #[test]
    fn pairs_are_those_of_the_transfers() {
        let (per_server, bytes, n) = (2, 8_000, 8);
        let sizes: Vec<u64> = (0..n * n).map(|i| u64::from(i % 3 == 0)).collect();
        let mut all = vec![
            Exchange::PointToPoint { bytes },
            Exchange::Sizes(sizes.into()),
            Exchange::AllToAll { bytes, pairwise: false },
            Exchange::AllToAll { bytes, pairwise: true },
            Exchange::Tree { bytes, chunks: 3 },
        ];
        for collective in [Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter] {
            for algorithm in
                [Algorithm::Ring { channels: 1 }, Algorithm::HalvingDoubling, Algorithm::Hierarchical { per_server }]
            {
                all.push(phased(collective, algorithm, bytes));
            }
        }
        for exchange in all {
            let phased = (0..exchange.phases(n)).flat_map(|phase| (0..n).map(move |rank| (rank, phase)));
            let mut sent: BTreeSet<(u32, u32)> = phased
                .map(|(rank, phase)| exchange.transfer(n, rank, phase))
                .chain(exchange.direct(n))
                .map(|transfer| (transfer.from, transfer.to))
                .collect();
            if let Some(tree) = exchange.tree(n) {
                let numbers = (0..tree.numbers()).filter(|number| number % u64::from(n) != 0);
                sent.extend(numbers.map(|number| tree.transfer(number)).map(|transfer| (transfer.from, transfer.to)));
            }
            let reported: BTreeSet<(u32, u32)> = exchange.pairs(n).filter(|(from, to)| from != to).collect();
            assert_eq!(reported, sent, "{exchange:?}");
        }
    }

    #[test]
    fn a_hierarchy_is_a_ring_of_servers_at_each_place() {
        for (n, per_server) in [(8u32, 2u32), (12, 4), (6, 1), (16, 8)] {
            for collective in [Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter] {
                let exchange = phased(collective, Algorithm::Hierarchical { per_server }, 1_000_003);
                let servers = n / per_server;
                let rounds = if collective == Collective::AllReduce { 2 } else { 1 };
                assert_eq!(exchange.phases(n), rounds * (servers - 1));
                let mut total = 0;
                for (phase, rank) in (0..exchange.phases(n)).flat_map(|phase| (0..n).map(move |rank| (phase, rank))) {
                    let t = exchange.transfer(n, rank, phase);
                    assert_eq!(
                        (t.to % per_server, t.to / per_server),
                        (rank % per_server, (rank / per_server + 1) % servers)
                    );
                    assert_eq!(exchange.from(n, t.to, phase), rank);
                    total += t.bytes;
                }
                // Each part goes through all servers but one, per round.
                assert_eq!(total, u64::from(rounds * (servers - 1)) * 1_000_003);
            }
        }
    }

    #[test]
    fn pairwise_meets_everybody_once() {
        let exchange = Exchange::AllToAll { bytes: 7, pairwise: true };
        for n in 2..9u32 {
            let mut met = BTreeSet::new();
            for phase in 0..exchange.phases(n) {
                for rank in 0..n {
                    let t = exchange.transfer(n, rank, phase);
                    assert_eq!(exchange.from(n, t.to, phase), rank);
                    assert!(met.insert((t.from, t.to)) && t.from != t.to);
                }
            }
            assert_eq!(met.len() as u32, n * (n - 1));
            assert_eq!(Exchange::AllToAll { bytes: 7, pairwise: false }.direct(n).len() as u32, n * (n - 1));
        }
    }

    #[test]
    fn bandwidths_as_nccl_tests_quotes_them() {
        let ring = |collective| phased(collective, Algorithm::Ring { channels: 1 }, 800).quoted(8, 0, 0);
        assert_eq!(ring(Collective::AllReduce), (800.0, 1400.0));
        assert_eq!(ring(Collective::AllGather), (800.0, 700.0));
        assert_eq!(ring(Collective::ReduceScatter), (800.0, 700.0));
        assert_eq!(Exchange::AllToAll { bytes: 100, pairwise: false }.quoted(8, 5600, 0), (800.0, 700.0));
        assert_eq!(Exchange::PointToPoint { bytes: 800 }.quoted(2, 800, 0), (800.0, 800.0));
        // As an all-to-all in which every rank keeps one part.
        assert_eq!(Exchange::Sizes(vec![100; 64].into()).quoted(8, 5600, 800), (800.0, 700.0));
    }

    /// For ranks in servers of any sizes the count equals one by enumeration.
    #[test]
    fn transfers_between_servers_are_counted_without_a_list() {
        use {Algorithm::*, Collective::*};
        let exchanges = [
            phased(AllReduce, Ring { channels: 1 }, 999),
            phased(AllGather, HalvingDoubling, 999),
            phased(AllReduce, HalvingDoubling, 999),
            Exchange::AllToAll { bytes: 7, pairwise: true },
            Exchange::AllToAll { bytes: 7, pairwise: false },
            Exchange::Sizes((0..64).map(|i| i % 3).collect()),
            Exchange::Tree { bytes: 999, chunks: 3 },
            phased(AllReduce, Hierarchical { per_server: 2 }, 999),
        ];
        for exchange in exchanges {
            for servers in [[0u32, 1, 2, 3, 4, 5, 6, 7], [0, 0, 0, 1, 1, 1, 1, 2], [5, 1, 5, 1, 1, 5, 1, 9], [3; 8]] {
                let all = match exchange.phases(8) {
                    0 if exchange.tree(8).is_some() => {
                        let tree = exchange.tree(8).unwrap();
                        (0..tree.numbers()).filter(|i| i % 8 != 0).map(|i| tree.transfer(i)).collect()
                    }
                    0 => exchange.direct(8),
                    phases => (0..phases)
                        .flat_map(|p| (0..8).map(move |r| (r, p)))
                        .map(|(r, p)| exchange.transfer(8, r, p))
                        .collect(),
                };
                let between = all.iter().filter(|t| servers[t.from as usize] != servers[t.to as usize]).count() as u64;
                assert_eq!(exchange.between(&servers), between, "{exchange:?} {servers:?}");
            }
        }
    }
}
