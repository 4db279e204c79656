//! Load: how often flows come for a given share of a capacity, and what a group offers.
//!
//! ```text
//! offered = load x capacity x overhead      b/s on the wire, by all sources of the group together
//! capacity: rates of the links of the group's sources (load_of = "sources") or of all hosts ("network"), added up
//! overhead: bytes on the wire for each byte counted: 1 (load_counts = "wire"), or frames over their payload ("payload")
//! time between two flows of a source   = 8 x bytes of a flow on the wire / (offered x its link / all sources' links)
//! time between two events of an incast = 8 x fan_in x bytes of a flow on the wire / offered
//! ```
//!
//! A flow's bytes on the wire are its payload and one header and one gap for each packet; of drawn sizes the mean counts, in
//! packets that are all full. Acknowledgements are not counted.

use crate::error::ScenarioError;
use crate::file::{Arrivals, LoadCounts, LoadOf};
use crate::flows::{Place, Plan, Who};
use crate::resolved::Resolved;
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::config::PacketParams;
use backwater_net::topology::Index;
use backwater_net::workload::Sizes;

/// What all sources of a group offer together, on average and on the wire.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offered {
    /// Number of sources.
    sources: f64,
    /// \[b/s\] of their links.
    links: f64,
    /// Share of its link that each of them offers, where the group has a load.
    pub share: Option<f64>,
}

/// What a group of flows is to offer, and of what.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The group's label.
    pub label: String,
    /// Which bytes count.
    pub counts: LoadCounts,
    /// Whose links it is a share of.
    pub of: LoadOf,
    /// \[b/s\] Those links' rates, added up.
    pub capacity: f64,
    /// The share that was asked for.
    pub asked: f64,
    /// When arrivals begin.
    pub from: Time,
    /// When they end, where that is a time.
    pub until: Option<Time>,
}

/// What every group of a scenario with a load, or an interval, is to offer.
pub fn offers(resolved: &Resolved) -> Result<Vec<Offer>, ScenarioError> {
    let index = Index::new(&resolved.graph);
    let place = Place::new(resolved, &index);
    let mut offers = Vec::new();
    for (i, group) in resolved.file.flow.iter().enumerate() {
        if group.table.is_none() && (group.load.is_some() || group.interval.is_some()) {
            offers.extend(Plan::new(&place, i, group)?.offer(&place));
        }
    }
    Ok(offers)
}

impl Plan<'_> {
    /// Looks at the group's sources.
    pub(crate) fn offered(&self, place: &Place<'_>) -> Offered {
        if self.group.load.is_none() && self.group.interval.is_none() {
            return Offered::default();
        }
        let mut sources: Vec<_> = self.who.pairs_of_sources().into_keys().collect();
        // Sums of floating-point numbers depend on their order.
        sources.sort_unstable();
        let links: f64 = sources.iter().map(|host| place.rates[host.0 as usize].0 as f64).sum();
        let scale = match self.group.load_of {
            LoadOf::Sources => 1.0,
            LoadOf::Network => all_links(place) / links,
        };
        let share = self.group.load.map(|load| load.0 * scale * self.overhead(place.resolved));
        Offered { sources: sources.len() as f64, links, share }
    }

    /// Bytes on the wire of one flow of average size.
    fn wire_bytes(&self, resolved: &Resolved) -> f64 {
        let packet = &resolved.file.packet;
        match &self.sizes {
            Some(Sizes::Fixed(size)) => packet.on_wire(size.0) as f64,
            Some(drawn) => drawn.mean() * full_packets(packet),
            None => 0.0,
        }
    }

    /// Bytes on the wire for each byte that the load counts.
    fn overhead(&self, resolved: &Resolved) -> f64 {
        match (self.group.load_counts, &self.sizes) {
            (LoadCounts::Wire, _) => 1.0,
            (LoadCounts::Payload, Some(sizes)) => self.wire_bytes(resolved) / sizes.mean(),
            (LoadCounts::Payload, None) => full_packets(&resolved.file.packet),
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

    /// \[b/s\] What the events of an incast bring on average, on the wire.
    pub(crate) fn events_bps(&self, resolved: &Resolved) -> Option<f64> {
        let Who::Incast(crowd) = &self.who else { return None };
        let gap = self.gap(resolved, Rate(0))?;
        Some(self.wire_bytes(resolved) * 8.0 * f64::from(crowd.fan_in) / gap.as_secs_f64())
    }

    fn offer(&self, place: &Place<'_>) -> Option<Offer> {
        let resolved = place.resolved;
        let capacity = match self.group.load_of {
            LoadOf::Sources => self.offered.links,
            LoadOf::Network => all_links(place),
        };
        let by_interval = || {
            let each = self.wire_bytes(resolved) * 8.0 / self.group.interval?.as_secs_f64();
            let all = self.events_bps(resolved).unwrap_or(each * self.offered.sources);
            Some(all / (capacity * self.overhead(resolved)))
        };
        Some(Offer {
            label: self.group.label.clone(),
            counts: self.group.load_counts,
            of: self.group.load_of,
            capacity,
            asked: self.group.load.map(|share| share.0).or_else(by_interval)?,
            from: self.group.start,
            until: self.until(resolved),
        })
    }
}

/// \[b/s\] of the links of all hosts.
fn all_links(place: &Place<'_>) -> f64 {
    place.rates.iter().map(|rate| rate.0 as f64).sum()
}

/// Length of a full packet on the wire over its payload.
fn full_packets(packet: &PacketParams) -> f64 {
    1.0 + (packet.header.0 + packet.gap.0) as f64 / packet.payload.0.max(1) as f64
}
