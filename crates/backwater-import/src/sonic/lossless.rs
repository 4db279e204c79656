//! The lossless classes of each port, and those that only seem lossless.
//!
//! A class of a port is lossless if PFC keeps it there and its priority group has headroom. Either one alone is a mistake: a class that is
//! paused without headroom loses frames, and headroom without a pause wastes memory.

use super::buffers::Profile;
use super::config::Config;
use super::ports::Port;

/// A class of a port that is lossless.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The port's number.
    pub number: usize,
    /// The port.
    pub port: &'a Port,
    /// The class.
    pub class: u8,
    /// The profile of its priority group.
    pub profile: &'a Profile,
}

/// A mistake: names of the ports that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake<'a> {
    /// A class under PFC whose priority group has no headroom, with its profile.
    NoHeadroom { class: u8, group: u8, profile: Option<&'a str>, ports: Vec<&'a str> },
    /// A priority group with headroom; PFC keeps none of its classes.
    NoPfc { group: u8, profile: &'a str, ports: Vec<&'a str> },
}

impl Config {
    /// All lossless classes, by port and class.
    pub fn pairs(&self) -> Vec<Pair<'_>> {
        let mut pairs = Vec::new();
        for (number, port) in self.ports.iter().enumerate() {
            for class in &port.pfc {
                if let Some(profile) = self.headroom_of(port, self.group(*class)) {
                    pairs.push(Pair { number, port, class: *class, profile });
                }
            }
        }
        pairs
    }

    /// All mistakes.
    pub fn mistakes(&self) -> Vec<Mistake<'_>> {
        let mut found: Vec<Mistake<'_>> = Vec::new();
        for port in &self.ports {
            for class in &port.pfc {
                let group = self.group(*class);
                if self.headroom_of(port, group).is_some() {
                    continue;
                }
                let profile = port.groups.get(usize::from(group)).and_then(Option::as_deref);
                let one = Mistake::NoHeadroom { class: *class, group, profile, ports: vec![&port.name] };
                add(&mut found, one);
            }
            for group in 0..8u8 {
                let kept = port.pfc.iter().any(|class| self.group(*class) == group);
                if let Some(profile) = self.headroom_of(port, group).filter(|_| !kept) {
                    add(&mut found, Mistake::NoPfc { group, profile: &profile.name, ports: vec![&port.name] });
                }
            }
        }
        found
    }

    /// Returns the demands of priority groups on a shared headroom: the `xoff` in octets of each with headroom in a pool, by slice. Ports
    /// belong to slices in their order, as in a scenario.
    pub fn wants(&self, pool: &str, slices: u64) -> Vec<Vec<u64>> {
        let slices = usize::try_from(slices).unwrap_or(1).max(1);
        let mut wants = vec![Vec::new(); slices];
        for (number, port) in self.ports.iter().enumerate() {
            let groups = (0..8u8).filter_map(|group| self.headroom_of(port, group));
            let own = groups.filter(|profile| profile.pool == pool).filter_map(|profile| profile.xoff);
            wants[number * slices / self.ports.len()].extend(own);
        }
        wants
    }
}

/// Adds the ports of a mistake to the same one of others.
fn add<'a>(found: &mut Vec<Mistake<'a>>, one: Mistake<'a>) {
    let same = found.iter_mut().find(|other| other.without_ports() == one.without_ports());
    match (same, one) {
        (
            Some(Mistake::NoHeadroom { ports, .. } | Mistake::NoPfc { ports, .. }),
            Mistake::NoHeadroom { ports: more, .. } | Mistake::NoPfc { ports: more, .. },
        ) => ports.extend(more),
        (None, one) => found.push(one),
    }
}

impl<'a> Mistake<'a> {
    fn without_ports(&self) -> (Option<u8>, u8, Option<&'a str>) {
        match self {
            Mistake::NoHeadroom { class, group, profile, .. } => (Some(*class), *group, *profile),
            Mistake::NoPfc { group, profile, .. } => (None, *group, Some(profile)),
        }
    }
}

/// The most that each may take of a shared amount when all take their part at once: the unused part of some is left to the others.
pub fn level(all: u64, wants: &[u64]) -> u64 {
    let mut wants = wants.to_vec();
    wants.sort_unstable();
    let (mut left, mut count) = (all, wants.len() as u64);
    for want in wants {
        let level = left / count.max(1);
        if want > level {
            return level;
        }
        (left, count) = (left - want, count - 1);
    }
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_some_do_not_want_is_left_to_the_others() {
        // 4 want 1000 of 320,000: 316,000 are left for 4 others.
        let wants = [vec![1000; 4], vec![80_000; 4]].concat();
        assert_eq!(level(320_000, &wants), 79_000);
        assert_eq!(level(320_000, &[80_000; 8]), 40_000);
        assert_eq!(level(324_000, &wants), u64::MAX);
        assert_eq!(level(0, &wants), 0);
        assert_eq!(level(5, &[]), u64::MAX);
    }
}
