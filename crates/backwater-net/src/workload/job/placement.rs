//! The hosts of a job's ranks.

use crate::model::packet::HostId;
use backwater_engine::rng::stream;
use rand::seq::SliceRandom;

/// The order in which servers take the ranks of one instance after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In their own order.
    Consecutive,
    /// With this stride: from the first on, then from the second on, and so on.
    Strided(usize),
    /// At random.
    Random,
}

impl Placement {
    /// The servers in that order; `name` names the random draw.
    pub fn order<'h>(self, mut servers: Vec<&'h [HostId]>, seed: u64, name: &str) -> Vec<&'h [HostId]> {
        match self {
            Placement::Consecutive => servers,
            Placement::Strided(stride) => {
                (0..stride).flat_map(|first| servers.iter().skip(first).step_by(stride.max(1)).copied()).collect()
            }
            Placement::Random => {
                servers.shuffle(&mut stream(seed, &format!("placement/{name}"), 0));
                servers
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_has_its_place() {
        let hosts: Vec<HostId> = (0..24).map(HostId).collect();
        let servers = || hosts.chunks(2).collect::<Vec<_>>();
        let firsts = |placement: Placement, seed| {
            let ordered = placement.order(servers(), seed, "job");
            ordered.iter().map(|server| server[0].0).collect::<Vec<_>>()
        };
        assert_eq!(firsts(Placement::Strided(4), 1), [0, 8, 16, 2, 10, 18, 4, 12, 20, 6, 14, 22]);
        assert_eq!(firsts(Placement::Consecutive, 1), (0..12).map(|n| 2 * n).collect::<Vec<_>>());
        let mut random = firsts(Placement::Random, 1);
        assert_ne!(random, firsts(Placement::Random, 2));
        assert_eq!(random, firsts(Placement::Random, 1));
        random.sort_unstable();
        assert_eq!(random, firsts(Placement::Consecutive, 1));
    }
}
