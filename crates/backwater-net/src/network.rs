//! A network and its event loop.

use crate::hooks::{FlowShape, FlowSide, NicShape, NicSide, RateKey, SwitchShape, SwitchSide};
use crate::record::{Broken, Progress, Sink};
use crate::spec::Spec;

/// The mechanisms of a run: makes their sides. `backwater-mech` generates the only implementation outside of tests.
pub trait Actors {
    /// Sides at a switch.
    type Switch: SwitchSide;
    /// Sides at a NIC.
    type Nic: NicSide;
    /// Sides at a flow.
    type Flow: FlowSide;
    /// What all nodes share.
    type Shared;
    /// Number of mechanisms.
    const OWNERS: usize;
    /// What all nodes share.
    fn shared(&self) -> Self::Shared;
    /// Sides at this switch.
    fn switch(&self, shape: &SwitchShape) -> Self::Switch;
    /// Sides at this NIC.
    fn nic(&self, shape: &NicShape) -> Self::Nic;
    /// Sides at this flow, if any.
    fn flow(&self, shape: &FlowShape, shared: &Self::Shared) -> Option<Self::Flow>;
    /// Which flows share a controller.
    fn rate_key(&self, shape: &FlowShape) -> RateKey;
    /// Classes that are never to be dropped at the node of this name and tier, a bit each.
    fn lossless_classes(&self, name: &str, tier: &str) -> u8;
}

/// A network under simulation.
pub struct Network<A: Actors> {
    spec: Spec<A>,
}

impl<A: Actors> Network<A> {
    /// Builds it. Errors say what about the spec cannot be.
    pub fn new(spec: Spec<A>) -> Result<Network<A>, String> {
        Ok(Network { spec })
    }

    /// Handles up to `budget` events.
    pub fn run(&mut self, budget: u64, sink: &mut dyn Sink) -> Result<Progress, Broken> {
        let _ = (budget, sink, &self.spec);
        unreachable!("being written")
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        unreachable!("being written")
    }

    /// Fingerprint of the trajectory so far.
    pub fn fingerprint(&self) -> u64 {
        unreachable!("being written")
    }

    /// Hands out the rows of unfinished flows and of all ports; the run is over.
    pub fn finish(&mut self, sink: &mut dyn Sink) {
        let _ = sink;
    }
}
