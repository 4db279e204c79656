//! What a port's events tell, at switches and at NICs alike.

use crate::packet::{Port, Queue};
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
    /// Frames that the port has begun to send since the run began, this one not counted.
    pub tx_frames: u64,
    /// \[bytes\] of these frames, without preamble and inter-frame gap
    pub tx_bytes: u64,
}

/// Which hooks of every packet's way a mechanism has beside those that are always called. A run without a mechanism that names one does
/// not look for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// `on_arrive`, `on_start` and `on_sent` at switches and NICs, and `on_enqueue` and `on_taken` at NICs.
    pub port_events: bool,
    /// `may_start` at switches and NICs.
    pub may_start: bool,
    /// Its flows' packets carry an attachment: [`super::FlowSide::attach`], which `on_start` may write and [`super::Ack`] brings back.
    pub attachment: bool,
    /// Ports keep what they send, as far as `keeps` says so, and ask at the other end whether it is taken: `keeps`, `takes` and `on_damaged`
    /// at switches and NICs.
    pub resends: bool,
    /// `permits` at flows, and [`super::FlowCx::turn`] in `on_send`.
    pub permits: bool,
}

impl Extra {
    /// None.
    pub const NONE: Extra =
        Extra { port_events: false, may_start: false, attachment: false, resends: false, permits: false };

    /// Those of either.
    pub const fn or(self, other: Extra) -> Extra {
        Extra {
            port_events: self.port_events || other.port_events,
            may_start: self.may_start || other.may_start,
            attachment: self.attachment || other.attachment,
            resends: self.resends || other.resends,
            permits: self.permits || other.permits,
        }
    }
}
