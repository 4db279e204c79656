//! The proxy of Source Flow Control: the ToR of a source that does not know SFC (SFC proxy contribution of 2025).
//!
//! ```text
//! on an SFCM{P, DSCP} from queue e to an attached host:  take it;  p = priority(DSCP);  end[port, p, e] = now + P  (P = 0: none)
//!     hold the host's priority p by PFC until the latest end of all queues; resume it when none is left
//! ```
//!
//! The mapping of DSCP to priority is that of the edge, for messages only: a host with k queues for one class ("CI on the NIC")
//! has a DSCP and a priority for each, which as traffic are one class here as everywhere. Where it has one, p is the class.
//!
//! Everything that pauses the port shares one state ([`SwitchCx::hold_peer`]): neither does a resume of SFC undo PFC's own
//! pause of that link, nor the other way round.
//!
//! The contribution's pause of one queue is here a pause of one (queue, class) at the port, since a later and shorter pause
//! by another congested queue must not cut a longer one: a choice.

use super::{Message, PointId};
use backwater_engine::Time;
use backwater_net::hooks::{Fate, HoldStyle, SwitchCx};
use backwater_net::packet::{Class, HostId, Port};
use std::collections::BTreeMap;

/// What a ToR holds of its hosts in the name of congested queues.
pub(super) struct Proxy {
    style: HoldStyle,
    /// which queue holds a host's priority until when
    held: BTreeMap<(Port, Class), Vec<(PointId, Time)>>,
}

impl Proxy {
    pub(super) fn new(style: HoldStyle) -> Proxy {
        Proxy { style, held: BTreeMap::new() }
    }

    /// Takes a message for `source` if that is attached here.
    #[cold]
    pub(super) fn intercept(&mut self, cx: &mut SwitchCx<'_>, source: HostId, message: Message) -> Fate {
        let Some(port) = cx.attached(source) else { return Fate::Passed };
        let (now, priority) = (cx.now(), message.dscp.priority());
        let holders = self.held.entry((port, priority)).or_default();
        holders.retain(|(_, end)| *end > now);
        let before = holders.len();
        holders.retain(|(point, _)| *point != message.point);
        if message.pause != Time::ZERO {
            holders.push((message.point, now.after(message.pause)));
        }
        match holders.iter().map(|(_, end)| *end).max() {
            Some(end) => cx.hold_queue(port, priority, end, self.style),
            // What has ended by itself needs no resume.
            None if before > 0 => cx.release_queue(port, priority),
            None => {}
        }
        Fate::Consumed
    }
}
