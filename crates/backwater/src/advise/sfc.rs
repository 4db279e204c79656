//! Source Flow Control.

use super::Advice;
use crate::error::ScenarioError;
use backwater_engine::Time;
use backwater_net::{Bytes, Rate};

/// An N:1 incast.
#[derive(Clone, Debug)]
pub struct SfcQuestion {
    /// Senders into one port.
    pub senders: u64,
    /// Rate of every link.
    pub rate: Rate,
    /// Links from a sender to the receiver's switch.
    pub links: u64,
    /// Switches on the way, the congested one too.
    pub switches: u64,
    /// Propagation delay of a link.
    pub link_delay: Time,
    /// Processing delay of a switch.
    pub switch_latency: Time,
    /// Where PFC pauses.
    pub pfc_threshold: Bytes,
    /// The SFC threshold in mind; `None`: the largest legal one.
    pub threshold: Option<Bytes>,
    /// Largest frame; with it serialisation is counted too.
    pub packet: Option<Bytes>,
}

/// Headroom, largest threshold and legal pause times.
pub fn sfc(_question: &SfcQuestion) -> Result<Advice, ScenarioError> {
    Err(ScenarioError::new("not yet written"))
}
