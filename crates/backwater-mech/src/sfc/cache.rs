//! Destinations remembered near the source (SFC, Le et al., arXiv 2305.00538): a message for one source also serves its neighbours.
//!
//! ```text
//! on an SFCM{P} from queue e to an attached host, about a packet to d in class c:
//!     P > 0: end[e, d, c] = now + P      P = 0: forget it, and resume whom this has told
//! on a data packet of another queue of an attached host (flow mode: flow) to d in class c, before end[e, d, c]:
//!     tell it SFCM{end - now, DSCP of the packet} as if e had, once for each end
//! ```
//!
//! A later pause by the queue itself replaces the time, as always.

use super::wire::{Message, PointId};
use backwater_engine::Time;
use backwater_net::packet::{Class, Dscp, FlowRef, HostId, Packet};
use std::collections::BTreeMap;

/// A source's queue, and its flow in flow mode.
type Recipient = (HostId, Dscp, Option<FlowRef>);

/// A message that the switch gives to one of its own hosts.
pub(super) type Own = (HostId, Option<FlowRef>, Message);

/// Pauses that attached hosts were asked for.
#[derive(Default, backwater_derive::State)]
pub(super) struct Cache(BTreeMap<(PointId, HostId, Class), Known>);

#[derive(serde::Serialize, serde::Deserialize)]
struct Known {
    end: Time,
    flow_mode: bool,
    /// the notified sources, each with its end and one of its flows, unless that had ended
    notified: BTreeMap<Recipient, (Time, Option<FlowRef>)>,
}

impl Cache {
    /// Remembers a message for an attached host; returns the others that it concerns.
    pub(super) fn remember(&mut self, source: HostId, flow: Option<FlowRef>, message: Message, now: Time) -> Vec<Own> {
        self.0.retain(|_, known| known.end > now);
        let key = (message.point, message.to, message.class);
        let pause = message.pause;
        if pause != Time::ZERO {
            let end = now.after(pause);
            let new = Known { end, flow_mode: message.flow_mode, notified: BTreeMap::new() };
            let known = self.0.entry(key).or_insert(new);
            (known.end, known.flow_mode) = (end, message.flow_mode);
            known.notified.insert(who(source, flow, &message), (end, flow));
            return Vec::new();
        }
        let Some(known) = self.0.remove(&key) else { return Vec::new() };
        let itself = who(source, flow, &message);
        let others = known.notified.into_iter().filter(|(who, (end, _))| *end > now && *who != itself);
        others.map(|((host, dscp, _), (_, flow))| (host, flow, Message { dscp, ..message })).collect()
    }

    /// Returns the messages for the source of a packet to a remembered destination.
    pub(super) fn look_up(&mut self, source: HostId, pkt: &Packet, class: Class, now: Time) -> Vec<Own> {
        let (to, flow, dscp) = (pkt.dst, Some(pkt.flow), pkt.ds.dscp());
        let mut own = Vec::new();
        for ((point, ..), known) in self.0.iter_mut().filter(|((_, d, c), _)| (*d, *c) == (to, class)) {
            let pause = known.end.since(now);
            let message = Message { pause, class, flow_mode: known.flow_mode, point: *point, to, dscp };
            let who = who(source, flow, &message);
            if known.end <= now || known.notified.get(&who).is_some_and(|(end, _)| *end >= known.end) {
                continue;
            }
            known.notified.insert(who, (known.end, flow));
            own.push((source, flow, message));
        }
        own
    }
}

/// Returns the recipient of a message about a flow of `source`.
fn who(source: HostId, flow: Option<FlowRef>, message: &Message) -> Recipient {
    (source, message.dscp, flow.filter(|_| message.flow_mode))
}
