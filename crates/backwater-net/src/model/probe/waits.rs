//! Follows recorded flows through the network and records their waits ([`crate::waits`]). Runs without recorded flows pay nothing:
//! recording makes every port special, like a captured one, and starts from there.
//!
//! The state of a port is constant between two events, so waiting flows are updated before each of them (`account_waits`): a frame begins
//! or ends on the wire, a gate moves, a packet leaves its isolation queue, a flow becomes ready.

use super::Probes;
use super::account::{Account, Cause, Stand};
use crate::model::packet::{FlowRef, Packet};
use crate::model::slab::Ix;
use backwater_engine::Time;
use std::collections::HashMap;

/// The packet on a port's wire.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Wire {
    pub pkt: Ix,
    pub flow: FlowRef,
    pub cause: Cause,
}

/// The recorded flows of a run.
#[derive(backwater_derive::State)]
pub(crate) struct Waits {
    /// Per group: whether it is recorded.
    #[state(fixed)]
    pub(crate) groups: Vec<bool>,
    /// Per port: the stands of recorded flows that wait there.
    pub(crate) stands: Vec<Vec<Stand>>,
    pub(crate) wire: Vec<Option<Wire>>,
    /// Per port: queues whose first packets a mechanism refused to start when the port last looked for work, a bit each.
    pub(crate) refused: Vec<u32>,
    /// Accounts of packets between two ports, with the time at which a slow receiver got them.
    #[state(sorted)]
    pub(crate) carried: HashMap<Ix, (Account, Time)>,
    /// Account of the last packet of a flow to arrive, and its time of arrival.
    #[state(sorted)]
    pub(crate) latest: HashMap<FlowRef, (Account, Time)>,
}

impl Waits {
    pub fn new(groups: Vec<bool>, ports: usize) -> Option<Box<Waits>> {
        let (carried, latest) = (HashMap::new(), HashMap::new());
        let stands = std::iter::repeat_with(Vec::new).take(ports).collect();
        let waits = Waits { groups, stands, wire: vec![None; ports], refused: vec![0; ports], carried, latest };
        waits.groups.contains(&true).then(|| Box::new(waits))
    }

    /// Returns the account of a packet between two ports, and when it left.
    pub(crate) fn between(&self, pkt: Ix) -> Option<(Account, Time)> {
        self.carried.get(&pkt).cloned()
    }

    pub(crate) fn stand(&mut self, port: u32, flow: FlowRef) -> Option<&mut Stand> {
        self.stands[port as usize].iter_mut().find(|stand| stand.flow == flow)
    }
}

/// The cause that keeps a flow at its source, if it is not its port, and the queue that its next packet will join.
#[derive(Clone, Copy)]
pub(crate) struct AtSource {
    pub cause: Option<Cause>,
    pub queue: u8,
    /// The host's memory fetches the payload of the frame before.
    pub fetching: bool,
}

impl Probes {
    /// A packet is lost. Its switch has already entered the packets that joined its queues.
    #[cold]
    pub(crate) fn lose_waits(&mut self, header: &Packet, pkt: Ix) {
        let group = self.flow_index.find(header.flow).map(|met| met.group as usize);
        let Some(waits) = &mut self.waits else { return };
        let between = waits.carried.remove(&pkt).is_some();
        let recorded = group.is_none_or(|group| waits.groups.get(group) == Some(&true));
        if between || !header.is_data() || !recorded {
            return;
        }
        // It waited somewhere: find the stand.
        let flow = header.flow;
        for stands in &mut waits.stands {
            stands.iter_mut().filter(|stand| stand.flow == flow).for_each(|stand| stand.lose(pkt));
            stands.retain(|stand| !stand.is_over());
        }
    }
}
