//! Fast CNP — draft-xiao-rtgwg-rocev2-fast-cnp-05 (2026-05-25), "Fast Congestion Notification Packet (CNP) in RoCEv2
//! Networks"; by proxy draft-xiao-rtgwg-proxy-congestion-notification-03 (2026-03-15). Both are individual drafts.
//!
//! A congested switch itself sends the congestion notification packet of RoCEv2 to the sender of a packet. It does not
//! mark the packet and wait for the receiver. The sender reacts as to a CNP of the receiver. Where a sender does not
//! know the format, the switch notifies a proxy on the path to it, which sends it a usual CNP.
//!
//! ```text
//! congested network node, as a data packet p joins egress queue e:
//!     q(e) > Th and no notification for flow(p) in the last N   ->  Fast CNP, or (by proxy) a notification for the proxy
//! Fast CNP:      destination queue pair (of p), original destination address (of p); from the switch, to the source of p
//! notification:  the same, for the proxy of the source of p
//! proxy:         takes a notification for an attached sender, and sends it the CNP of RoCEv2, which the sender knows
//! sender:        a CNP of either kind: reacts as its control does
//! ```
//!
//! With the switch at distance d from the sender, and the receiver at distance D from the switch, the sender learns d
//! after the packet joined the queue. An ECN mark takes the wait in the queue and D to the receiver, and D + d back.
//!
//! We have read the abstracts of both drafts, and a public summary of the first at its version 05; we have not been able
//! to read the bodies. The pseudo-code follows the summary. It states: a threshold of the egress queue; the two
//! identifiers; a Fast CNP *instead of* a mark, and both only where the sender may not support it; limits to the rate of
//! generation; off by default.
//!
//! # Not modelled
//! - telemetry in a Fast CNP (the option with IOAM trace data), and a change of path by the address of its switch
//! - limits to all Fast CNPs of a switch together, and filters by address at the border of a domain
//! - the format of the notification, which we cannot read: a capture has a Fast CNP in its place
//! - how a switch learns which senders know the format, or their proxies: `notify` states it
//! - how a proxy learns the sender's queue pair
//! - the time that a proxy needs to translate, beyond the switch's latency
//!
//! # Differences
//! - The switch leaves marks to [`[ecn]`](docs/modelling/ecn.md). Where both act, a sender learns twice, as the draft
//!   allows for senders that may not support it. Where it is known to, the draft forbids the mark: leave out `[ecn]`.
//! - The draft limits the rate of generation, and we do not know by what. Here it is by flow and switch: a choice, as
//!   DCQCN's notification point does.
//! - The proxy is the switch of the sender: a proxy is "between the congested network node and the traffic sender". The
//!   switch of the sender itself sends the usual CNP at once.
//! - Any data packet of the classes counts, also one that is not ECN-capable.
//! - Networks here have IPv4 addresses. A Fast CNP has IPv6 addresses, as in the draft, formed from them.

mod config;
mod wire;

use backwater_net::address;
use backwater_net::prelude::*;
use backwater_wire::roce::{Bth, Cnp};
pub use config::{Notify, Params};
use std::any::TypeId;
use std::collections::BTreeMap;
use wire::Notification;
pub use wire::{FAST_CNP, NOTIFICATION};

/// A switch: a congested network node, and the proxy of its senders.
#[derive(State)]
pub struct NetworkNode {
    #[state(fixed)]
    params: Params,
    /// classes whose packets may cause a notification, a bit each
    #[state(fixed)]
    classes: u8,
    /// when a flow last caused one; those of the last N
    last: BTreeMap<FlowRef, Time>,
    /// notifications sent, CNPs by proxy among them
    sent: u64,
    /// \[bytes\] the longest of its queues
    peak: Bytes,
}

// The specification.
#[hooks]
impl SwitchSide for NetworkNode {
    /// q(e) > Th.
    fn levels(&self, _: &Occupancy, of: Account) -> Levels {
        match of {
            Account::Egress(..) => Levels::above(self.params.threshold.min(self.peak)),
            _ => Levels::NONE,
        }
    }

    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if self.classes & (1 << at.class.0) != 0 && pkt.is_data() {
            let q = cx.seen().egress(at.egress, at.queue);
            // draft-xiao-rtgwg-rocev2-fast-cnp-05: the depth of the egress queue exceeds the threshold.
            if q > self.params.threshold {
                self.congested(cx, pkt);
            }
            if q <= self.params.threshold || q > self.peak {
                self.peak = self.peak.max(q);
                cx.watch(Account::Egress(at.egress, at.queue));
            }
        }
    }

    /// The proxy takes a notification for a sender that is attached here.
    fn on_control(&mut self, cx: &mut SwitchCx<'_>, _: Port, to: Option<HostId>, frame: &Control) -> Fate {
        let (Some(sender), Some(flow), Some(notification)) = (to, frame.flow, frame.message::<Notification>()) else {
            return Fate::Passed;
        };
        if cx.attached(sender).is_none() {
            return Fate::Passed;
        }
        self.translate(cx, sender, flow, notification);
        Fate::Consumed
    }

    fn activity(&self, _: &Occupancy) -> Activity {
        let margin = Margin::bytes("longest queue", self.peak, self.params.threshold);
        Activity { acts: self.sent, margin: Some(margin) }
    }
}

impl NetworkNode {
    /// Sends a notification about a packet that has joined a congested queue, unless its flow has caused one lately.
    #[cold]
    fn congested(&mut self, cx: &mut SwitchCx<'_>, pkt: &Packet) {
        let Some(data) = pkt.data() else { return };
        let (source, now, interval) = (data.src, cx.now(), self.params.interval);
        // The limit to the rate of generation: none in the N after the last.
        if self.last.get(&pkt.flow).is_some_and(|last| now < last.after(interval)) {
            return;
        }
        self.last.retain(|_, last| now < last.after(interval));
        self.last.insert(pkt.flow, now);
        self.sent += 1;
        let cnp = Cnp { destination: address::queue_pair(pkt.flow), p_key: Bth::DEFAULT_PARTITION };
        let (class, size) = (Class(self.params.message_class), self.params.size.0 as u32);
        match self.params.notify {
            Notify::Sender => cx.route(source, class, wire::fast_cnp(pkt.flow, cnp, size)),
            // draft-xiao-rtgwg-proxy-congestion-notification-03: the node sends the notification to the proxy.
            Notify::Proxy if cx.attached(source).is_none() => {
                cx.route(source, class, Notification::of(cnp).frame(pkt.flow, size));
            }
            Notify::Proxy => self.translate(cx, source, pkt.flow, Notification::of(cnp)),
        }
    }

    /// draft-xiao-rtgwg-proxy-congestion-notification-03: the proxy translates it to a format known by the sender, and resends it.
    fn translate(&self, cx: &mut SwitchCx<'_>, sender: HostId, flow: FlowRef, notification: Notification) {
        let size = self.params.cnp_size.0 as u32;
        cx.route(sender, Class(self.params.message_class), wire::cnp(flow, notification.cnp(), size));
    }
}

/// Fast CNP.
pub enum FastCnp {}

#[backwater_derive::mechanism]
impl Mechanism for FastCnp {
    const NAME: &'static str = "fast_cnp";
    const DEFINED_BY: &'static str =
        "draft-xiao-rtgwg-rocev2-fast-cnp-05, draft-xiao-rtgwg-proxy-congestion-notification-03";
    const SUMMARY: &'static str = "a congested switch sends CNPs to senders, itself or by proxy";
    const INACTIVE: &'static str = "never notified a sender";
    const FRAMES: &'static [&'static str] = &[FAST_CNP, NOTIFICATION];
    const MESSAGE: TypeId = TypeId::of::<Notification>();
    type Switch = NetworkNode;

    fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, cx, octets)
    }

    fn profile(params: &Params) -> Profile {
        config::profile(params)
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn ineffective(params: &Params) -> Vec<Ineffective> {
        config::ineffective(params)
    }

    fn switch(params: &Params, _: &SwitchShape) -> Option<NetworkNode> {
        let classes = crate::class_bits_or_all(params.classes.as_deref());
        Some(NetworkNode { params: params.clone(), classes, last: BTreeMap::new(), sent: 0, peak: Bytes::ZERO })
    }
}

#[cfg(test)]
mod tests;
