//! Probes: recorded waits and pauses, loads of jobs on links, and the owners of packets. Nothing here changes the run.

pub mod account;
pub mod backlog;
mod capture;
mod loads;
pub mod pauses;
pub mod waits;
pub mod watch;

pub(crate) use loads::{Load, Loads};

use crate::model::packet::FlowRef;
use crate::record::FlowTag;
use backwater_engine::fetch;
use pauses::Pauses;
use waits::Waits;

/// The probes at nodes.
#[derive(Default, backwater_derive::State)]
pub(crate) struct Probes {
    /// Recorded flows, if any are.
    #[state(within)]
    pub waits: Option<Box<Waits>>,
    /// Recorded pauses, if any are.
    pub pauses: Option<Box<Pauses>>,
    #[state(within)]
    pub loads: Loads,
    pub flow_index: FlowIndex,
}

impl Probes {
    /// Returns whether probes need the owner of a packet.
    pub fn needs_owner(&self) -> bool {
        self.waits.is_some() || self.loads.looks_up()
    }
}

/// The flows in progress, for probes that look up the owner of a packet.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct FlowIndex {
    /// By slot.
    flows: Vec<Option<(u32, FlowTag)>>,
}

impl FlowIndex {
    /// A flow begins.
    pub fn begin(&mut self, flow: FlowRef, met: FlowTag) {
        let slot = flow.slot as usize;
        if self.flows.len() <= slot {
            self.flows.resize(slot + 1, None);
        }
        self.flows[slot] = Some((flow.tag, met));
    }

    /// A flow ends.
    pub fn end(&mut self, flow: FlowRef) {
        if let Some(entry) = self.flows.get_mut(flow.slot as usize) {
            *entry = None;
        }
    }

    /// Prefetches a flow's entry.
    #[inline(always)]
    pub fn fetch(&self, flow: FlowRef) {
        if let Some(entry) = self.flows.get(flow.slot as usize) {
            fetch(entry);
        }
    }

    /// Number and group of a flow that is in progress.
    pub fn find(&self, flow: FlowRef) -> Option<FlowTag> {
        let (tag, met) = (*self.flows.get(flow.slot as usize)?)?;
        (tag == flow.tag).then_some(met)
    }
}
