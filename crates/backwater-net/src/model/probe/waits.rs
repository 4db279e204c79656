//! Follows recorded flows through the network and says what they waited for ([`crate::waits`]). Costs nothing where no flow is recorded:
//! every port is then as special as one that is captured, and all begins there.
//!
//! What a port does between two events stays the same, so whoever waits there is told before each of them (`account_waits`): a frame
//! begins or ends on the wire, a gate moves, a packet leaves its isolation queue, a flow becomes ready.

use super::Probes;
use super::account::{Account, Cause, Stand};
use crate::model::packet::{FlowRef, Packet};
use crate::model::slab::Ix;
use backwater_engine::Time;
use std::collections::HashMap;

/// What a port has on the wire.
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
    /// Per port: where something of recorded flows waits.
    pub(crate) stands: Vec<Vec<Stand>>,
    pub(crate) wire: Vec<Option<Wire>>,
    /// Per port: queues whose first packets a mechanism did not let start when the port last looked for work, a bit each.
    pub(crate) refused: Vec<u32>,
    /// Of packets between two ports, and when a slow receiver got them.
    #[state(sorted)]
    pub(crate) carried: HashMap<Ix, (Account, Time)>,
    /// What the last packet to arrive of a flow had waited for, and when it came.
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

    /// What a packet between two ports had waited for, and when it left.
    pub(crate) fn between(&self, pkt: Ix) -> Option<(Account, Time)> {
        self.carried.get(&pkt).cloned()
    }

    pub(crate) fn stand(&mut self, port: u32, flow: FlowRef) -> Option<&mut Stand> {
        self.stands[port as usize].iter_mut().find(|stand| stand.flow == flow)
    }
}

/// What keeps a flow at its source, if that is not its port, and the queue that its next packet will join.
#[derive(Clone, Copy)]
pub(crate) struct AtSource {
    pub cause: Option<Cause>,
    pub queue: u8,
}

impl Probes {
    /// A packet is lost. The switch in which it was has entered what had joined its queues.
    #[cold]
    pub(crate) fn lose_waits(&mut self, header: &Packet, pkt: Ix) {
        let group = self.flow_index.find(header.flow).map(|met| met.group as usize);
        let Some(waits) = &mut self.waits else { return };
        let between = waits.carried.remove(&pkt).is_some();
        let recorded = group.is_none_or(|group| waits.groups.get(group) == Some(&true));
        if between || !header.is_data() || !recorded {
            return;
        }
        // It has waited somewhere.
        let flow = header.flow;
        for stands in &mut waits.stands {
            stands.iter_mut().filter(|stand| stand.flow == flow).for_each(|stand| stand.lose(pkt));
            stands.retain(|stand| !stand.is_over());
        }
    }
}
