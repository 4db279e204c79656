//! The offer of a group of flows: its load, or the load that its interval amounts to.

use crate::check::Checked;
use crate::file::{LoadCounts, LoadOf};
use crate::layout::Layout;
use crate::plan::{Plan, all_links};
use backwater_engine::Time;
use backwater_net::config::PacketParams;

/// The offer of a group of flows, and its reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The group's label.
    pub label: String,
    /// The bytes that count.
    pub counts: LoadCounts,
    /// Lengths of its frames.
    pub packet: PacketParams,
    /// The links that it is a share of.
    pub of: LoadOf,
    /// \[b/s\] Those links' rates, added up.
    pub capacity: f64,
    /// The requested share.
    pub target: f64,
    /// When arrivals begin.
    pub from: Time,
    /// When they end, if that is a time.
    pub until: Option<Time>,
}

/// Returns the offers of every group of a scenario with a load, or an interval.
pub fn offers(checked: &Checked) -> Vec<Offer> {
    let loaded = checked.planned.plans.iter().filter(|plan| plan.group.load.is_some() || plan.group.interval.is_some());
    loaded.filter_map(|plan| plan.offer(checked.layout())).collect()
}

impl Plan {
    fn offer(&self, layout: &Layout) -> Option<Offer> {
        let capacity = match self.group.load_of {
            LoadOf::Sources => self.offered.links,
            LoadOf::Network => all_links(layout),
        };
        let by_interval = || {
            let each = self.wire_bytes(&layout.resolved) * 8.0 / self.group.interval?.as_secs_f64();
            let all = self.events_bps(&layout.resolved).unwrap_or(each * self.offered.sources);
            Some(all / (capacity * self.overhead(&layout.resolved)))
        };
        Some(Offer {
            label: self.group.label.clone(),
            counts: self.group.load_counts,
            packet: self.packet(&layout.resolved),
            of: self.group.load_of,
            capacity,
            target: self.group.load.map(|share| share.0).or_else(by_interval)?,
            from: self.group.start,
            until: self.until(&layout.resolved),
        })
    }
}
