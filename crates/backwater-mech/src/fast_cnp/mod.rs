//! Fast CNP — draft-xiao-rtgwg-rocev2-fast-cnp-05 (2026-05-25), "Fast Congestion Notification Packet (CNP) in RoCEv2
//! Networks"; by proxy draft-xiao-rtgwg-proxy-congestion-notification-03 (2026-03-15). Both are individual drafts.
//!
//! A congested switch itself sends the congestion notification packet (CNP) of RoCEv2 to the sender of a packet. It does
//! not mark the packet and wait for the receiver. The sender reacts as to a CNP of the receiver. If the sender does not
//! know the format, the switch notifies a proxy on the path to the sender, and the proxy sends a usual CNP.
//!
//! ```text
//! Th: threshold.  N: interval.  q(e): bytes in egress queue e.
//!
//! switch, when data packet p joins egress queue e:
//!     if q(e) > Th, and the switch has sent no notification for p's flow in the last N:
//!         send a Fast CNP to the source of p, or (`notify = "proxy"`) a notification to the proxy of that source
//! Fast CNP and notification:  name p's destination queue pair and p's original destination address
//! proxy, when a notification for an attached sender arrives:  send this sender the usual CNP of RoCEv2
//! sender, when a Fast CNP or a CNP arrives:  its congestion control reacts
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
//! - telemetry in a Fast CNP (the option with IOAM trace data)
//! - a sender that changes a flow's path because of the address of the notifying switch
//! - a limit to the rate of all Fast CNPs of a switch together
//! - filters by address at the border of a domain
//! - the format of the notification to a proxy: the body of the draft was not available to us; a capture contains a
//!   Fast CNP instead
//! - how a switch learns whether a sender knows the format, and which proxy a sender has: `notify` applies to all
//!   senders
//! - how a proxy learns the sender's queue pair
//! - the time that a proxy needs to translate, beyond the switch's latency
//!
//! # Differences
//! - Fast CNP leaves marks to [`[ecn]`](docs/modelling/ecn.md). With both, the sender is notified twice. The draft allows
//!   this for a sender that may not support Fast CNP. For a sender that supports it, the draft forbids the mark: leave
//!   out `[ecn]`.
//! - The draft limits the rate of Fast CNPs. Its rule was not available to us. Here a switch sends at most one for each
//!   flow in `interval`, as DCQCN's notification point does.
//! - The draft's proxy is "between the congested network node and the traffic sender". Here it is the switch to which
//!   the sender is attached. If this switch is congested itself, it sends the usual CNP at once.
//! - Any data packet of the `classes` may cause a notification, even if it is not ECN-capable.
//! - Nodes in Backwater have IPv4 addresses. A Fast CNP has IPv6 addresses, as in the draft, formed from the IPv4
//!   addresses.

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
