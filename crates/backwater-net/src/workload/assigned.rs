//! Changes to the flows of a group beyond sender, receiver, time and size: other hosts, and classes by destination or size.

use super::FlowSource;
use crate::model::packet::{Class, HostId};
use crate::workload::flow_spec::FlowSpec;
use backwater_engine::fingerprint::mix;
use backwater_engine::rng::stream;
use rand::seq::SliceRandom;
use std::sync::Arc;

/// The order of all hosts of a network, drawn by the seed: host `n` of a workload is the `n`-th of it.
pub fn placement(seed: u64, hosts: u32) -> Arc<[HostId]> {
    let mut order: Vec<HostId> = (0..hosts).map(HostId).collect();
    order.shuffle(&mut stream(seed, "placement", 0));
    order.into()
}

/// How the class of a flow is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// A hash of the destination chooses among these; empty: the group's own class.
    pub by_destination: Vec<Class>,
    /// Flows of fewer bytes are in this class.
    pub small: Option<(u64, Class)>,
}

impl Classes {
    fn of(&self, flow: &FlowSpec) -> Class {
        match self.small {
            Some((below, class)) if flow.stream.is_none() && flow.bytes < below => class,
            _ if self.by_destination.is_empty() => flow.class,
            _ => self.by_destination[(mix(u64::from(flow.dst.0)) % self.by_destination.len() as u64) as usize],
        }
    }
}

/// A source whose flows get other hosts and classes.
pub struct Assigned {
    /// The source of the flows.
    pub source: Box<dyn FlowSource>,
    /// The hosts for the numbers; `None`: the hosts are as numbered. With a placement no path is pinned.
    pub placement: Option<Arc<[HostId]>>,
    /// Their classes.
    pub classes: Classes,
}

impl FlowSource for Assigned {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let mut flow = self.source.next_flow()?;
        if let Some(order) = &self.placement {
            [flow.src, flow.dst] = [flow.src, flow.dst].map(|host| order[host.0 as usize]);
        }
        flow.class = self.classes.of(&flow);
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_engine::Time;

    struct Counted(u32);

    impl FlowSource for Counted {
        fn next_flow(&mut self) -> Option<FlowSpec> {
            self.0 += 1;
            let (src, dst) = (HostId(self.0 % 64), HostId((self.0 + 1) % 64));
            let (id, bytes) = (u64::from(self.0), u64::from(self.0) * 1000);
            let (group, start, class) = (0, Time::ZERO, Class(3));
            let flow = FlowSpec {
                id,
                group,
                src,
                dst,
                bytes,
                start,
                class,
                ect: true,
                path: None,
                ack_path: None,
                link: None,
                stream: None,
            };
            (self.0 <= 64).then_some(flow)
        }
    }

    fn all(placement: Option<Arc<[HostId]>>, classes: Classes) -> Vec<FlowSpec> {
        let mut source = Assigned { source: Box::new(Counted(0)), placement, classes };
        std::iter::from_fn(|| source.next_flow()).collect()
    }

    #[test]
    fn a_placement_is_a_permutation_by_the_seed() {
        let order = placement(7, 64);
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..64).map(HostId).collect::<Vec<_>>());
        assert_eq!(order, placement(7, 64));
        assert_ne!(order, placement(8, 64));
        for (placed, named) in all(Some(order.clone()), Classes::default()).iter().zip(all(None, Classes::default())) {
            assert_eq!((placed.src, placed.dst), (order[named.src.0 as usize], order[named.dst.0 as usize]));
        }
    }

    #[test]
    fn classes_by_destination_and_size() {
        let by_destination = vec![Class(1), Class(2)];
        let flows = all(None, Classes { by_destination, small: Some((9_000, Class(5))) });
        assert_eq!(flows.iter().filter(|flow| flow.class == Class(5)).count(), 8);
        let large: Vec<_> = flows.iter().filter(|flow| flow.bytes >= 9_000).collect();
        let first = large.iter().filter(|flow| flow.class == Class(1)).count();
        // Half of 56, three standard deviations of a fair coin either way.
        assert!((17..=39).contains(&first), "{first}");
        let again = all(None, Classes { by_destination: vec![Class(1), Class(2)], small: None });
        assert!(again.iter().skip(8).zip(&large).all(|(a, b)| a.class == b.class), "one destination, one class");
    }
}
