//! Data that a switch keeps for probes of its queues.

use crate::model::packet::Port as PortNo;
use crate::model::slab::Ix;
use crate::model::switch::occupancy::Occupancy;
use backwater_engine::Time;

/// Data that a switch keeps for probes. It exists only if something requests it.
#[derive(backwater_derive::State)]
pub(crate) struct Watch {
    pub backlogs: Option<super::backlog::Backlogs>,
    /// Per port: since when something has waited for it without a break.
    busy_since: Vec<Option<Time>>,
    /// Packets that have joined an egress queue since they were last taken, and when they might leave.
    pub joined: Vec<(PortNo, Ix, Time)>,
    /// True if these are requested.
    #[state(fixed)]
    follows: bool,
}

impl Watch {
    pub fn new(ports: usize, backlogs: bool, follows: bool) -> Watch {
        let backlogs = backlogs.then(|| super::backlog::Backlogs::new(ports));
        Watch { backlogs, busy_since: vec![None; ports], joined: Vec::new(), follows }
    }

    /// A packet that may leave at `ready` has joined the queues of `port`.
    #[cold]
    pub fn join(&mut self, port: PortNo, occupancy: &Occupancy, now: Time, pkt: Ix, ready: Time) {
        self.change(port, occupancy, now);
        if self.follows {
            self.joined.push((port, pkt, ready.max(now)));
        }
    }

    /// The bytes that wait for `port` have changed.
    #[cold]
    pub fn change(&mut self, port: PortNo, occupancy: &Occupancy, now: Time) {
        let since = &mut self.busy_since[usize::from(port.0)];
        *since = (occupancy.egress_port(port).0 > 0).then(|| since.unwrap_or(now));
        if let Some(backlogs) = &mut self.backlogs {
            backlogs.change(port, occupancy, now);
        }
    }

    /// Returns since when something has waited for a port without a break.
    pub fn busy_since(&self, port: PortNo) -> Option<Time> {
        self.busy_since.get(usize::from(port.0)).copied().flatten()
    }
}
