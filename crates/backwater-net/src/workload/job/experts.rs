//! Draws of receivers: a mixture-of-experts layer sends each token to the ranks that hold its experts.

use super::exchange::Choice;
use backwater_engine::Rng;
use rand::RngExt;
use rand::seq::SliceRandom;

/// Attempted exchanges for each pair of a balanced draw. The number of exchanges until they are mixed is in proportion to the number of
/// pairs; generators of random graphs use ten for each (Milo et al., arXiv cond-mat/0312028).
const SWITCHES: usize = 10;

/// For each of n ranks the `fan_out` ranks that it sends to, ascending; itself only with `with_self`.
pub(super) fn draw(rng: &mut Rng, choice: Choice, n: u32, fan_out: u32, with_self: bool) -> Vec<Vec<u32>> {
    let mut all = match choice {
        Choice::Random => independent(rng, n, fan_out, with_self),
        Choice::Balanced => balanced(rng, n, fan_out, with_self),
    };
    all.iter_mut().for_each(|to| to.sort_unstable());
    all
}

fn independent(rng: &mut Rng, n: u32, fan_out: u32, with_self: bool) -> Vec<Vec<u32>> {
    let others = n as usize - usize::from(!with_self);
    let one = |rank: u32| {
        let drawn = rand::seq::index::sample(rng, others, fan_out as usize);
        drawn.into_iter().map(|i| i as u32 + u32::from(!with_self && i as u32 >= rank)).collect()
    };
    (0..n).map(one).collect()
}

/// A random graph in which all ranks send to and receive from equally many: begins with neighbours on a ring whose ranks are shuffled, then
/// exchanges the receivers of random pairs, unless that would duplicate a pair.
fn balanced(rng: &mut Rng, n: u32, fan_out: u32, with_self: bool) -> Vec<Vec<u32>> {
    let mut label: Vec<u32> = (0..n).collect();
    label.shuffle(rng);
    let skip = u32::from(!with_self);
    let mut to: Vec<Vec<u32>> = vec![Vec::new(); n as usize];
    for i in 0..n {
        let near = (skip..skip + fan_out).map(|d| label[((i + d) % n) as usize]);
        to[label[i as usize] as usize] = near.collect();
    }
    for _ in 0..SWITCHES * n as usize * fan_out as usize {
        let (a, b) = (rng.random_range(0..n) as usize, rng.random_range(0..n) as usize);
        let (i, j) = (rng.random_range(0..fan_out) as usize, rng.random_range(0..fan_out) as usize);
        let (x, y) = (to[a][i], to[b][j]);
        let to_itself = !with_self && (x as usize == b || y as usize == a);
        if a != b && !to_itself && !to[a].contains(&y) && !to[b].contains(&x) {
            (to[a][i], to[b][j]) = (y, x);
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_engine::rng::stream;

    fn hits(all: &[Vec<u32>]) -> Vec<u32> {
        let mut hits = vec![0; all.len()];
        all.iter().flatten().for_each(|to| hits[*to as usize] += 1);
        hits
    }

    #[test]
    fn everybody_draws_that_many_and_nobody_twice() {
        for (n, fan_out) in [(2, 1), (3, 2), (8, 4), (32, 8), (32, 31)] {
            for choice in [Choice::Random, Choice::Balanced] {
                for seed in 0..20 {
                    let all = draw(&mut stream(seed, "t", 0), choice, n, fan_out, false);
                    for (rank, to) in all.iter().enumerate() {
                        assert_eq!(to.len() as u32, fan_out);
                        assert!(to.windows(2).all(|w| w[0] < w[1]) && to.iter().all(|t| *t < n && *t as usize != rank));
                    }
                    if choice == Choice::Balanced {
                        assert!(hits(&all).iter().all(|h| *h == fan_out));
                    }
                }
            }
        }
    }

    #[test]
    fn a_rank_may_draw_itself_where_it_may() {
        for choice in [Choice::Random, Choice::Balanced] {
            let all: Vec<_> = (0..400).map(|seed| draw(&mut stream(seed, "t", 1), choice, 8, 4, true)).collect();
            let own = all.iter().flat_map(|one| one.iter().enumerate()).filter(|(r, to)| to.contains(&(*r as u32)));
            // 3200 ranks, half of them draw themselves; standard deviation 28 for independent draws.
            assert!((own.count() as f64 - 1600.0).abs() < 4.0 * 28.3);
            assert!(all.iter().all(|one| choice == Choice::Random || hits(one).iter().all(|h| *h == 4)));
        }
    }

    #[test]
    fn every_pair_is_equally_likely() {
        for choice in [Choice::Random, Choice::Balanced] {
            let mut seen = [[0f64; 6]; 6];
            for seed in 0..3000 {
                for (rank, to) in draw(&mut stream(seed, "t", 2), choice, 6, 2, false).iter().enumerate() {
                    to.iter().for_each(|t| seen[rank][*t as usize] += 1.0);
                }
            }
            // 3000 draws of 2 of 5: mean 1200, standard deviation 27.
            for (rank, row) in seen.iter().enumerate() {
                for (to, n) in row.iter().enumerate() {
                    let mean = if rank == to { 0.0 } else { 1200.0 };
                    assert!((n - mean).abs() < 4.0 * 26.9, "{choice:?}: {rank} to {to}: {n}");
                }
            }
        }
    }
}
