//! Permutation traffic: every host sends to one and receives from one, none to itself.

use super::WorkloadError;
use crate::model::packet::HostId;
use backwater_engine::rng::stream;
use rand::seq::SliceRandom;

/// For each of `hosts` (all different) its receiver: a derangement, each equally likely, drawn by `seed` and `name`.
pub fn permutation(seed: u64, name: &str, hosts: &[HostId]) -> Result<Vec<HostId>, WorkloadError> {
    if hosts.len() < 2 {
        return Err(WorkloadError::TooFew { hosts: hosts.len() });
    }
    let mut rng = stream(seed, &format!("permutation/{name}"), 0);
    let mut to = hosts.to_vec();
    // One shuffle in e has no fixed point, whatever the length; drawing again keeps all derangements equally likely.
    loop {
        to.shuffle(&mut rng);
        if to.iter().zip(hosts).all(|(to, from)| to != from) {
            return Ok(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn hosts(n: u32) -> Vec<HostId> {
        (0..n).map(HostId).collect()
    }

    #[test]
    fn nobody_sends_to_itself_and_everybody_receives() {
        for (seed, n) in (0..200).zip((2..40).cycle()) {
            let from = hosts(n);
            let mut to = permutation(seed, "g", &from).unwrap();
            assert!(from.iter().zip(&to).all(|(a, b)| a != b));
            to.sort_unstable();
            assert_eq!(to, from);
        }
    }

    #[test]
    fn named_by_seed_and_group() {
        let from = hosts(64);
        let draw = |seed, name| permutation(seed, name, &from).unwrap();
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
    }

    #[test]
    fn all_nine_derangements_of_four_are_equally_likely() {
        let mut seen: HashMap<Vec<HostId>, f64> = HashMap::new();
        for seed in 0..9000 {
            *seen.entry(permutation(seed, "g", &hosts(4)).unwrap()).or_default() += 1.0;
        }
        assert_eq!(seen.len(), 9);
        // Chi-square with 8 degrees of freedom: mean 8, standard deviation 4; 4 sigma above.
        let chi: f64 = seen.values().map(|n| (n - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 24.0, "{chi}");
    }

    #[test]
    fn one_host_is_too_few() {
        assert_eq!(permutation(1, "g", &hosts(1)), Err(WorkloadError::TooFew { hosts: 1 }));
        assert!(permutation(1, "g", &[]).is_err());
    }
}
