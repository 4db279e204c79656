//! Priority-based Flow Control.

use super::Advice;
use crate::error::ScenarioError;
use backwater_engine::Time;
use backwater_net::{Bytes, Rate};

/// What the headroom is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PfcModel {
    /// This simulator: exact.
    Simulator,
    /// 802.1Q annex N: the worst case of real equipment.
    Standard,
}

/// One port and class.
#[derive(Clone, Debug)]
pub struct PfcQuestion {
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub link_delay: Time,
    /// Largest frame.
    pub packet: Bytes,
    /// Length of a PFC frame.
    pub control_packet: Bytes,
    /// Time from a pause's arrival to the stop.
    pub response: Time,
    /// What it is for.
    pub model: PfcModel,
}

/// PFC headroom of one port and class, itemised.
pub fn pfc(_question: &PfcQuestion) -> Result<Advice, ScenarioError> {
    Err(ScenarioError::new("not yet written"))
}
