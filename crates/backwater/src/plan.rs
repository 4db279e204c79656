//! The plan of a `[[flow]]`: senders, receivers, sizes, and the rate of arrivals for a given share of a capacity.
//!
//! ```text
//! offered = load x capacity x overhead      b/s on the wire, by all sources of the group together
//! capacity: rates of the links of the group's sources (load_of = "sources") or of all hosts ("network"), added up
//! overhead: bytes on the wire for each byte counted: 1 (load_counts = "wire"), or frames over their payload ("payload")
//! time between two flows of a source   = 8 x bytes of a flow on the wire / (offered x its link / all sources' links)
//! time between two events of an incast = 8 x fan_in x bytes of a flow on the wire / offered
//! ```
//!
//! A flow's bytes on the wire are its payload and one header and one gap for each packet; for drawn sizes the mean counts, in packets that
//! are all full. Acknowledgements are not counted.

use crate::file::{Arrivals, FlowGroup, LoadCounts, LoadOf};
use crate::layout::Layout;
use crate::matrix::Matrix;
use crate::resolved::Resolved;
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::config::PacketParams;
use backwater_net::packet::HostId;
use backwater_net::spec::Way;
use backwater_net::workload::{Crowd, Sizes};
use std::collections::HashMap;
use std::sync::Arc;

/// Senders and receivers.
pub(crate) enum Who {
    /// Pairs, and the path of each if it is pinned.
    Pairs(Vec<(HostId, HostId)>, Vec<Way>),
    /// A permutation of these.
    Permutation(Vec<HostId>),
    /// Sets of hosts, and the possible receivers of each set's flows.
    Random(Vec<(Vec<HostId>, Arc<[HostId]>)>),
    /// Each to its own receivers, by weight.
    Matrix(Vec<HostId>, Matrix),
    /// Events of many to one.
    Incast(Crowd),
}

impl Who {
    /// Returns the number of pairs of each source.
    pub(crate) fn pairs_of_sources(&self) -> HashMap<HostId, u64> {
        let mut number = HashMap::new();
        let sources: Box<dyn Iterator<Item = &HostId>> = match self {
            Who::Pairs(pairs, _) => Box::new(pairs.iter().map(|(src, _)| src)),
            Who::Permutation(hosts) | Who::Matrix(hosts, _) => Box::new(hosts.iter()),
            Who::Random(sets) => Box::new(sets.iter().flat_map(|(from, _)| from)),
            Who::Incast(crowd) => Box::new(crowd.from.iter()),
        };
        sources.for_each(|src| *number.entry(*src).or_insert(0) += 1);
        number
    }
}

/// A `[[flow]]` that is not a table.
pub(crate) struct Plan {
    /// `flow.3`
    pub key: String,
    pub group: FlowGroup,
    pub who: Who,
    pub sizes: Option<Sizes>,
    pub offered: Offered,
}

/// The offer of all sources of a group together, on average and on the wire.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offered {
    /// Number of sources.
    pub sources: f64,
    /// \[b/s\] of their links.
    pub links: f64,
    /// Share of its link that each of them offers, if the group has a load.
    pub share: Option<f64>,
}

impl Plan {
    /// Returns when no more flows start.
    pub(crate) fn until(&self, resolved: &Resolved) -> Option<Time> {
        let stop = resolved.file.stop.at;
        match (self.group.until, stop) {
            (Some(until), Some(stop)) => Some(until.min(stop)),
            (until, stop) => until.or(stop),
        }
    }

    /// Examines the group's sources.
    pub(crate) fn offered(&self, layout: &Layout) -> Offered {
        if self.group.load.is_none() && self.group.interval.is_none() {
            return Offered::default();
        }
        let mut sources: Vec<_> = self.who.pairs_of_sources().into_keys().collect();
        // Sums of floating-point numbers depend on their order.
        sources.sort_unstable();
        let links: f64 = sources.iter().map(|host| layout.rates[host.0 as usize].0 as f64).sum();
        let scale = match self.group.load_of {
            LoadOf::Sources => 1.0,
            LoadOf::Network => all_links(layout) / links,
        };
        let share = self.group.load.map(|load| load.0 * scale * self.overhead(&layout.resolved));
        Offered { sources: sources.len() as f64, links, share }
    }

    /// Lengths of its frames.
    pub(crate) fn packet(&self, resolved: &Resolved) -> PacketParams {
        resolved.packet_of(self.group.class, &self.group.label)
    }

    /// Bytes on the wire of one flow of average size.
    pub(crate) fn wire_bytes(&self, resolved: &Resolved) -> f64 {
        let packet = self.packet(resolved);
        match &self.sizes {
            Some(Sizes::Fixed(size)) => packet.on_wire(size.0) as f64,
            Some(drawn) => drawn.mean() * full_packets(&packet),
            None => 0.0,
        }
    }

    /// Bytes on the wire for each byte that the load counts.
    pub(crate) fn overhead(&self, resolved: &Resolved) -> f64 {
        match (self.group.load_counts, &self.sizes) {
            (LoadCounts::Wire, _) => 1.0,
            (LoadCounts::Payload, Some(sizes)) => self.wire_bytes(resolved) / sizes.mean(),
            (LoadCounts::Payload, None) => full_packets(&self.packet(resolved)),
        }
    }

    /// Mean time between two flows of one source with a link of `rate`, or of an incast between two events.
    pub(crate) fn gap(&self, resolved: &Resolved, rate: Rate) -> Option<Time> {
        if self.group.arrivals == Arrivals::Once || self.group.arrivals == Arrivals::Bernoulli {
            return None;
        }
        let bits = self.wire_bytes(resolved) * 8.0;
        let by_load = |share: f64| match &self.who {
            Who::Incast(crowd) => Time::from_secs_f64(bits * f64::from(crowd.fan_in) / (self.offered.links * share)),
            _ => Time::from_secs_f64(bits / (rate.0 as f64 * share)),
        };
        self.group.interval.or_else(|| self.offered.share.map(by_load))
    }

    /// Share of a link of `rate` that one source offers from its start until its end, on the wire.
    pub(crate) fn load(&self, resolved: &Resolved, rate: Rate) -> Option<f64> {
        if let Who::Incast(_) = self.who {
            return Some(self.events_bps(resolved)? / (self.offered.sources * rate.0 as f64));
        }
        let interval = self.group.interval.filter(|_| self.group.arrivals != Arrivals::Once);
        self.offered.share.or_else(|| Some(self.wire_bytes(resolved) * 8.0 / (interval?.as_secs_f64() * rate.0 as f64)))
    }

    /// \[b/s\] of the events of an incast on average, on the wire.
    pub(crate) fn events_bps(&self, resolved: &Resolved) -> Option<f64> {
        let Who::Incast(crowd) = &self.who else { return None };
        let gap = self.gap(resolved, Rate(0))?;
        Some(self.wire_bytes(resolved) * 8.0 * f64::from(crowd.fan_in) / gap.as_secs_f64())
    }
}

/// \[b/s\] of the links of all hosts.
pub(crate) fn all_links(layout: &Layout) -> f64 {
    layout.rates.iter().map(|rate| rate.0 as f64).sum()
}

/// Length of a full packet on the wire over its payload.
fn full_packets(packet: &PacketParams) -> f64 {
    1.0 + (packet.header.0 + packet.gap.0) as f64 / packet.payload.0.max(1) as f64
}
