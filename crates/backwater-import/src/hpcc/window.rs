//! The longest round trip and the largest bandwidth-delay product of two hosts, as computed by that code: paths have the fewest hops, and a
//! round trip is the delays of both paths and one packet of payload over each link of one path.

use crate::graph::{Graph, Link};
use std::collections::BTreeSet;

/// The longest of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Widest {
    /// Round trip, in ps.
    pub round_trip_ps: u64,
    /// Bandwidth-delay product, in octets.
    pub bytes: u64,
}

/// The sums of a path.
#[derive(Clone, Copy)]
struct Way {
    delay_ps: u64,
    sending_ns: u64,
    bps: u64,
}

impl Way {
    fn over(self, link: &Link, payload: u64) -> Way {
        // Whole nanoseconds for each link.
        let sending = payload.saturating_mul(8_000_000_000) / link.bps.max(1);
        let sending_ns = self.sending_ns.saturating_add(sending);
        Way { delay_ps: self.delay_ps + link.delay_ps, sending_ns, bps: self.bps.min(link.bps) }
    }
}

/// The longest round trip and the largest product, for packets with so much payload.
pub fn widest(graph: &Graph, payload: u64) -> Widest {
    let neighbours = graph.neighbours();
    let none = Way { delay_ps: 0, sending_ns: 0, bps: u64::MAX };
    // Hosts at the same switches with the same links have the same paths.
    let mut kinds = BTreeSet::new();
    let mut widest = Widest::default();
    for host in graph.hosts() {
        let Some(own) = neighbours.get(host as usize) else { continue };
        let links: Vec<_> = own.iter().map(|(node, link)| (*node, link.bps, link.delay_ps)).collect();
        if !kinds.insert(links) {
            continue;
        }
        let mut ways: Vec<Option<Way>> = vec![None; neighbours.len()];
        let mut line = vec![host];
        ways[host as usize] = Some(none);
        let mut at = 0;
        while let Some(node) = line.get(at).copied() {
            at += 1;
            let Some(way) = ways.get(node as usize).copied().flatten() else { continue };
            for (next, link) in neighbours.get(node as usize).into_iter().flatten() {
                let Some(known) = ways.get_mut(*next as usize).filter(|known| known.is_none()) else { continue };
                let way = way.over(link, payload);
                *known = Some(way);
                if graph.is_switch(*next) {
                    line.push(*next);
                } else {
                    widest = widest.with(way);
                }
            }
        }
    }
    widest
}

impl Widest {
    fn with(self, way: Way) -> Widest {
        let round_trip_ps = way.delay_ps.saturating_mul(2).saturating_add(way.sending_ns.saturating_mul(1000));
        // ns x b/s, in octets, rounded down twice.
        let bits = u128::from(round_trip_ps / 1000) * u128::from(way.bps) / 1_000_000_000;
        let bytes = u64::try_from(bits / 8).unwrap_or(u64::MAX).min(1 << 50);
        Widest { round_trip_ps: self.round_trip_ps.max(round_trip_ps), bytes: self.bytes.max(bytes) }
    }
}
