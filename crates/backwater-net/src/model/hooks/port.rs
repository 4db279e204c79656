//! The content of a port's events, alike at switches and at NICs.

use crate::model::packet::{Port, Queue};
use crate::units::Rate;

/// A port from which a frame begins to leave, or has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The port; a NIC's is 0.
    pub port: Port,
    /// The queue that the frame waited in.
    pub queue: Queue,
    /// Rate of the link now.
    pub rate: Rate,
    /// Frames that the port has begun to send since the run began, without this one.
    pub tx_frames: u64,
    /// \[bytes\] of these frames, without preamble and inter-frame gap
    pub tx_bytes: u64,
}
