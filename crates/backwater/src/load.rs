//! What a group of flows is to offer: its load, or what its interval comes to.

use crate::error::ScenarioError;
use crate::file::{LoadCounts, LoadOf};
use crate::plan::{Place, Plan, all_links};
use crate::resolved::Resolved;
use backwater_engine::Time;
use backwater_net::topology::Index;

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
