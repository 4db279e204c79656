//! The proxy of Source Flow Control: the ToR of a source that does not know SFC (SFC proxy contribution of 2025).
//!
//! ```text
//! on an SFCM{P, DSCP} from queue e to an attached host:  take it;  p = priority(DSCP);  end[port, p, e] = now + P  (P = 0: none)
//!     hold the host's priority p by PFC until the latest end of all queues; resume it when none is left
//! ```
//!
//! The mapping of DSCP to priority (`dscp_priority`) is that of the edge, for messages only. A host with k queues for one class ("CI on the
//! NIC") has a DSCP and a priority for each; their traffic is one class here as everywhere. With a single queue, p is the class by default.
//!
//! All pauses of the port share one state ([`SwitchCx::pause_peer`]): a resume of SFC does not end PFC's own pause of
//! that link, and a resume of PFC does not end one of SFC.
//!
//! # Not modelled
//! - how a switch discovers which hosts need it: `sfc.at_source` names them
//!
//! # Differences
//! - The contribution pauses one queue. Here each congested queue has a separate pause for the (port, priority). So a
//!   later and shorter pause by another congested queue does not shorten a longer one. This is a choice.

use super::pause_ends::{Change, PauseEnds};
use super::wire::{Message, PointId};
use backwater_net::hooks::{PauseStyle, SwitchCx};
use backwater_net::packet::{Class, Dscp, Port};
use std::collections::BTreeMap;

/// The pauses of a ToR's hosts on behalf of congested queues.
#[derive(backwater_derive::State)]
pub(super) struct Proxy {
    #[state(same)]
    style: PauseStyle,
    /// which queue pauses a host's priority until when
    held: BTreeMap<(Port, Class), PauseEnds<(PointId, Dscp)>>,
    /// the priority of each class selector
    #[state(fixed)]
    priorities: [Class; 8],
}

impl Proxy {
    pub(super) fn new(style: PauseStyle, priorities: [Class; 8]) -> Proxy {
        Proxy { style, held: BTreeMap::new(), priorities }
    }

    /// Acts on a message for the host at `port`.
    pub(super) fn take(&mut self, cx: &mut SwitchCx<'_>, port: Port, message: Message) {
        // SFC proxy contribution 2025: p = priority(DSCP).
        let priority = self.priorities[usize::from(message.dscp.priority().0)];
        match self.held.entry((port, priority)).or_default().record(
            (message.point, message.dscp),
            message.pause,
            cx.now(),
        ) {
            Change::Until(end) => cx.pause_queue(port, priority, end, self.style),
            Change::Lifted => cx.resume_queue(port, priority),
            Change::Nothing => {}
        }
    }
}
