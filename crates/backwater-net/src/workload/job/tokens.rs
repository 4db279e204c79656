//! Tokens of a mixture-of-experts layer: the experts of each token, and so the bytes between ranks.
//!
//! ```text
//! experts     E, in equal blocks on the n ranks of a group, in their order
//! popularity  of the i-th most popular expert in proportion to i^-s (Zipf); which expert is how popular is drawn once a step
//! a token     draws k experts one after the other by popularity, none twice; once they lie in M servers, all others are out
//! a copy      goes to each rank, or to each server, that has one of them; to a server at the sender's own place in it
//! ```
//!
//! Sources: Shazeer et al., "Outrageously Large Neural Networks", ICLR 2017 (top-k gating); DeepSeek-V3 technical report,
//! arXiv 2412.19437, sections 2.1.2 (node-limited routing) and 3.2.2 (one copy a node over InfiniBand, forwarded within it).
//! The report chooses the M servers by sums of affinities; a draw here has no affinities, and takes those that come first.

use super::error::Flaw;
use backwater_engine::Rng;
use rand::RngExt;
use rand::seq::SliceRandom;

/// The destinations of a token's copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// One copy to each rank that has one of its experts.
    Rank,
    /// One copy to each server that has one, to the rank with the sender's place there, which forwards it.
    Server,
}

/// The routing of tokens to experts.
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// Number of the step that draws; its combine draws the same.
    pub step: u32,
    /// Tokens of each rank.
    pub tokens: u32,
    /// Experts of the group, a multiple of its ranks.
    pub experts: u32,
    /// Experts of a token.
    pub top_k: u32,
    /// Exponent of their popularity; 0: all are equally popular.
    pub skew: f64,
    /// Most servers of a token's experts.
    pub server_limit: Option<u32>,
    /// The destinations of copies.
    pub copies: Copies,
}

impl Routing {
    /// Returns the flaw for so many ranks, of which each server has at least `per_server`, if any.
    pub(super) fn flaw(&self, ranks: usize, per_server: u32) -> Option<Flaw> {
        let n = ranks as u64;
        if self.experts == 0 || !u64::from(self.experts).is_multiple_of(n) {
            return Some(Flaw::Experts { experts: self.experts, ranks });
        }
        let each = u64::from(self.experts) / n;
        let reached = match self.server_limit {
            // The servers of a token may be those with the fewest ranks.
            Some(most) => each * u64::from(per_server).min(n) * u64::from(most),
            None => u64::MAX,
        };
        let of = reached.min(self.experts.into());
        (self.top_k == 0 || u64::from(self.top_k) > of).then_some(Flaw::TopK { top_k: self.top_k, of })
    }

    /// Copies of tokens from each of n ranks to each, sender by sender; those to the sender itself are on the diagonal. `servers` are the
    /// servers of the ranks. `popular` is the stream for the popularities, which a step draws once; `rng` is the stream of this draw.
    pub(super) fn draw(&self, popular: &mut Rng, rng: &mut Rng, servers: &[u32]) -> Vec<u32> {
        let n = servers.len();
        let mut order: Vec<u32> = (0..self.experts).collect();
        order.shuffle(popular);
        let ends = self.popularity(&order);
        let places = Places::of(servers);
        let each = (self.experts as usize / n.max(1)).max(1);
        let mut copies = vec![0u32; n * n];
        let (mut chosen, mut to) = (Vec::new(), Vec::new());
        for from in 0..n {
            for _ in 0..self.tokens {
                self.experts_of_a_token(rng, &ends, |expert| places.server[expert as usize / each], &mut chosen);
                to.clear();
                to.extend(chosen.iter().map(|expert| match self.copies {
                    Copies::Rank => *expert as usize / each,
                    Copies::Server => places.at_own_place(from, *expert as usize / each),
                }));
                to.sort_unstable();
                to.dedup();
                to.iter().for_each(|to| copies[from * n + to] += 1);
            }
        }
        copies
    }

    /// Per expert: where its interval in the sum of all popularities ends.
    fn popularity(&self, order: &[u32]) -> Vec<f64> {
        let mut ends = vec![0.0; order.len()];
        for (place, expert) in order.iter().enumerate() {
            ends[*expert as usize] = ((place + 1) as f64).powf(-self.skew);
        }
        let mut sum = 0.0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        ends
    }

    fn experts_of_a_token(&self, rng: &mut Rng, ends: &[f64], server: impl Fn(u32) -> u32, chosen: &mut Vec<u32>) {
        chosen.clear();
        let (mut open, mut tries) = (Vec::new(), 0u32);
        let all = ends.last().copied().unwrap_or_default();
        while chosen.len() < self.top_k as usize {
            // If most of the popularity is taken, a draw by rejection would take long: the rest is searched in order.
            tries += 1;
            let at = rng.random::<f64>() * all;
            let drawn = match tries {
                0..=1000 => ends.partition_point(|end| *end <= at) as u32,
                _ => tries - 1001,
            };
            if drawn as usize >= ends.len() || chosen.contains(&drawn) {
                if tries as usize > 1001 + ends.len() {
                    return;
                }
                continue;
            }
            let own = server(drawn);
            if !open.contains(&own) {
                if self.server_limit.is_some_and(|most| open.len() >= most as usize) {
                    continue;
                }
                open.push(own);
            }
            chosen.push(drawn);
        }
    }
}

/// The places of ranks in their servers.
struct Places {
    /// Per rank: its server, numbered from 0.
    server: Vec<u32>,
    /// Per rank: its place among its server's ranks.
    place: Vec<usize>,
    /// Per server: its ranks.
    ranks: Vec<Vec<usize>>,
}

impl Places {
    fn of(servers: &[u32]) -> Places {
        let mut known: Vec<u32> = servers.to_vec();
        known.sort_unstable();
        known.dedup();
        let mut ranks: Vec<Vec<usize>> = vec![Vec::new(); known.len()];
        let (mut server, mut place) = (Vec::with_capacity(servers.len()), Vec::with_capacity(servers.len()));
        for (rank, own) in servers.iter().enumerate() {
            let number = known.partition_point(|other| other < own);
            server.push(number as u32);
            place.push(ranks[number].len());
            ranks[number].push(rank);
        }
        Places { server, place, ranks }
    }

    /// The rank in the server of `there` with the same place as `from` in its own; the last one if that server has fewer ranks.
    fn at_own_place(&self, from: usize, there: usize) -> usize {
        let ranks = &self.ranks[self.server[there] as usize];
        ranks[self.place[from].min(ranks.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_engine::rng::stream;

    fn routing(tokens: u32, experts: u32, top_k: u32) -> Routing {
        Routing { step: 0, tokens, experts, top_k, skew: 0.0, server_limit: None, copies: Copies::Rank }
    }

    fn drawn(routing: &Routing, servers: &[u32], seed: u64) -> Vec<u32> {
        routing.draw(&mut stream(seed, "popular", 0), &mut stream(seed, "tokens", 0), servers)
    }

    #[test]
    fn a_token_of_all_experts_has_a_copy_everywhere() {
        let all = Routing { top_k: 8, ..routing(5, 8, 8) };
        assert_eq!(drawn(&all, &[0, 1, 2, 3], 1), [5; 16]);
        // One for each server, at the sender's place there.
        let by_server = Routing { copies: Copies::Server, ..all };
        assert_eq!(drawn(&by_server, &[0, 0, 1, 1], 1), [5, 0, 5, 0, 0, 5, 0, 5, 5, 0, 5, 0, 0, 5, 0, 5]);
    }

    #[test]
    fn as_many_ranks_as_experts_share() {
        // A token draws 2 of 8 experts, two on each of four ranks: they are on one rank with probability 1/7.
        let copies: u32 = drawn(&routing(10_000, 8, 2), &[0, 1, 2, 3], 3).iter().sum();
        let (tokens, mean) = (40_000.0, 2.0 - 1.0 / 7.0);
        // Standard deviation of a token: sqrt(6)/7.
        assert!((f64::from(copies) - tokens * mean).abs() < 4.0 * (tokens * 6.0f64).sqrt() / 7.0, "{copies}");
    }

    #[test]
    fn copies_lie_in_no_more_servers_than_they_may() {
        let servers: Vec<u32> = (0..32).map(|rank| rank / 8).collect();
        for limit in 1..=4 {
            let limited = Routing { server_limit: Some(limit), copies: Copies::Server, ..routing(1000, 256, 8) };
            let copies: u32 = drawn(&limited, &servers, 5).iter().sum();
            assert!(copies <= 32_000 * limit);
            // With eight experts in four equal servers a token reaches nearly all permitted servers.
            assert!(f64::from(copies) > 32_000.0 * f64::from(limit) * 0.9, "{limit}: {copies}");
        }
    }

    #[test]
    fn popularity_follows_its_exponent() {
        // One expert a rank, one expert a token: the most popular has 1 / (1 + 1/2 + 1/3 + 1/4) of the tokens.
        let skewed = Routing { skew: 1.0, ..routing(20_000, 4, 1) };
        let copies = drawn(&skewed, &[0, 1, 2, 3], 7);
        let mut to: Vec<u32> = (0..4).map(|to| (0..4).map(|from| copies[from * 4 + to]).sum()).collect();
        to.sort_unstable_by(|a, b| b.cmp(a));
        for (place, got) in to.iter().enumerate() {
            let share = 12.0 / 25.0 / (place + 1) as f64;
            let deviation = (80_000.0 * share * (1.0 - share)).sqrt();
            assert!((f64::from(*got) - 80_000.0 * share).abs() < 4.0 * deviation, "{place}: {got}");
        }
    }

    #[test]
    fn a_draw_ends_however_little_is_left() {
        let steep = Routing { skew: 40.0, ..routing(50, 64, 64) };
        assert_eq!(drawn(&steep, &[0, 1, 2, 3], 9), [50; 16]);
    }
}
