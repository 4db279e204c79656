//! Isolation at the source's ToR (SFC proxy contribution of 2025, after the congestion isolation of IEEE 802.1Qcz). The
//! ToR of a source that does not know SFC holds back only congested traffic, in a separate isolation queue, and the
//! host continues to send.
//!
//! ```text
//! on an SFCM{P} from queue e about a packet of attached host s to d in class c:
//!     take it;  end[s, d, c, e] = now + P  (P = 0: none);  shut the isolation queue (s, d, c) until the latest end of all queues; then open it
//! on a data packet of (s, d, c) that would join its egress queue:  wait in the isolation queue while that is shut or holds a packet
//! pause over, H bytes held:  these leave with packet / R between two, what has come behind them as fast as the egress queue takes it
//! held + packet > Tf:  pause the class of s's link by PFC;   held < Tf - two frames, or nothing: resume it
//! held is what waits in isolation queues of s's port and class c, or (per switch) in all isolation queues
//! with one queue:  (s, d, c) joins the queue of c, which is shut until the latest end of all that it holds
//! ```
//!
//! With `granularity = "flow"` an isolation queue holds the flow that the message names. With `"class"` a congested
//! queue notifies a source once for all its flows: the isolation queue takes all packets that the host sends in that
//! class to the same destination. At a last hop these are all of its packets in the congested queue. With
//! `points = "all"`, packets to other destinations through the congested queue are isolated when that queue notifies
//! the source again.
//!
//! Acknowledgements and control frames of the host never wait. The isolation queue is served beside its egress queue
//! once it is open (see `backwater-net`, `port/isolation_queues.rs`); no later packet of a flow passes one in it.
//!
//! **Why R:** a relieved queue resumes all its sources at once. A host then sends no faster than its link, which its
//! flows share. Isolation queues of many hosts empty at the rate of the switch's uplinks, and would fill the queue anew
//! before the next message can arrive. R applies only to packets that the pause has held back: it does not shape a flow
//! for longer. **What bounds an isolation queue in time:** every message carries its pause time; a lost resume costs
//! the rest of it.
//!
//! **One congestion queue** (`isolation_queues = "one"`) is the document's: all that messages name waits in one queue
//! for each class. It is paused until the latest end of all its traffic and of all congested queues, and what it has
//! taken stays in it until it is open and empty. The document's one limit for it is `isolation_per = "switch"`.
//!
//! # Not modelled
//! - how a switch discovers which hosts need it: `sfc.at_source` names them
//! - a limit of the number of isolation queues: memory is counted, isolation queues are not
//!
//! # Differences
//! - The document has one congestion queue, which is paused as a whole: `isolation_queues = "one"`. By default each flow or (source,
//!   destination, class) has an isolation queue. So the end of one pause does not release what another queue still pauses.
//! - Without `isolation_rate` an open queue is first-in first-out for each uplink that its packets take, and not across uplinks.
//! - By default the switch falls back to PFC by the sum over the isolation queues of the port's class, since PFC can
//!   only stop a class of a port. No host takes the room of another. With `isolation_per = "switch"` the isolation
//!   queues share one limit, like the document's one queue. Above it, a host whose packet arrives is paused.
//! - `isolation_rate` counts bytes. If one of several uplinks is blocked, bytes that leave by the others count towards
//!   the bytes still held back.

use super::config::{Granularity, IsolationPer, IsolationQueues, Params};
use super::pause_ends::{Change, PauseEnds};
use super::wire::{Message, PointId};
use backwater_engine::Time;
use backwater_net::hooks::{Gate, IsolationQueue, PauseStyle, Place, SwitchCx, Token};
use backwater_net::packet::{Class, FlowRef, HostId, Packet, Port};
use backwater_net::{Bytes, Rate};
use std::collections::BTreeMap;

/// Traffic that a message names: source, destination, class, and in flow mode the flow.
type Traffic = (HostId, HostId, Class, Option<FlowRef>);

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Isolated {
    ends: PauseEnds<(PointId, HostId, Class, Option<FlowRef>)>,
    /// a pause lasts, or its end has not been seen yet
    paused: bool,
    /// bytes that a pause has held back and that have not left yet
    backlog: Bytes,
    /// earliest time of the next packet of these
    next: Time,
}

impl Isolated {
    /// No pause lasts, and the isolation queue opens unless its next packet is not due.
    fn discard_before(&mut self, cx: &mut SwitchCx<'_>, number: u32) {
        let isolation_queue = cx.isolation_queue(number);
        if std::mem::take(&mut self.paused) {
            self.backlog = cx.seen().isolated_in(isolation_queue);
        }
        if self.next <= cx.now() {
            cx.open(Gate::IsolationQueue(isolation_queue));
        }
    }
}

#[derive(backwater_derive::State)]
pub(super) struct Isolation {
    #[state(same)]
    by_flow: bool,
    #[state(same)]
    queues: IsolationQueues,
    #[state(same)]
    per: IsolationPer,
    #[state(fixed)]
    threshold: Bytes,
    #[state(fixed)]
    resume: Bytes,
    #[state(fixed)]
    rate: Option<Rate>,
    #[state(same)]
    style: PauseStyle,
    /// the isolation queues by number
    isolation_queues: BTreeMap<u32, Isolated>,
    /// the traffic that messages have named, and the number of its isolation queue
    named: BTreeMap<Traffic, u32>,
    /// number of the next isolation queue
    next: u32,
    /// classes of hosts that PFC pauses, because too much of them waits
    held_peers: Vec<(Port, Class)>,
}

impl Isolation {
    pub(super) fn new(params: &Params, max_frame: Bytes) -> Isolation {
        Isolation {
            by_flow: params.granularity == Granularity::Flow,
            queues: params.isolation_queues,
            per: params.isolation_per,
            threshold: params.isolation_threshold,
            resume: params.isolation_threshold.saturating_sub(Bytes(2 * max_frame.0)),
            rate: params.isolation_rate,
            style: params.signal.style(params.quanta),
            isolation_queues: BTreeMap::new(),
            named: BTreeMap::new(),
            next: 0,
            held_peers: Vec::new(),
        }
    }

    /// Acts on a message for the attached host `source`.
    pub(super) fn take(&mut self, cx: &mut SwitchCx<'_>, source: HostId, flow: Option<FlowRef>, message: Message) {
        if self.by_flow && flow.is_none() {
            return; // it has ended, and nothing of it waits
        }
        let now = cx.now();
        self.isolation_queues.retain(|number, isolated| in_use(isolated, *number, cx));
        self.named.retain(|_, number| self.isolation_queues.contains_key(number));
        let of = flow.filter(|_| self.by_flow);
        let traffic = (source, message.to, message.class, of);
        // A resume of traffic that no pause has named must not move it into the queue of others.
        let (shared, resumes) = (self.queues == IsolationQueues::One, { message.pause } == Time::ZERO);
        if shared && resumes && !self.named.contains_key(&traffic) {
            return;
        }
        let number = *self.named.entry(traffic).or_insert_with(|| match self.queues {
            IsolationQueues::One => u32::from(message.class.0) + 1,
            IsolationQueues::Each => {
                self.next += 1;
                self.next
            }
        });
        let isolated = self.isolation_queues.entry(number).or_default();
        match isolated.ends.record((message.point, source, message.class, of), message.pause, now) {
            Change::Until(end) => {
                isolated.paused = true;
                cx.shut(Gate::IsolationQueue(cx.isolation_queue(number)));
                cx.arm(end, number);
            }
            Change::Lifted => isolated.discard_before(cx, number),
            Change::Nothing => {}
        }
    }

    /// The pause of an isolation queue may have ended, or its next packet may be due.
    pub(super) fn on_timer(&mut self, cx: &mut SwitchCx<'_>, number: Token) {
        let now = cx.now();
        if let Some(isolated) = self.isolation_queues.get_mut(&number)
            && isolated.ends.over(now)
        {
            isolated.discard_before(cx, number);
        }
    }

    /// The isolation queue in which a data packet waits, if it does.
    pub(super) fn divert(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) -> Option<IsolationQueue> {
        let number = *self.named.get(&self.traffic(pkt, at.class)?)?;
        if !in_use(self.isolation_queues.get(&number)?, number, cx) {
            self.isolation_queues.remove(&number);
            self.named.retain(|_, other| *other != number);
            return None;
        }
        let isolation_queue = cx.isolation_queue(number);
        let held = self.held(cx, at.ingress, at.class) + cx.seen().counted(pkt);
        // held + packet > Tf: fall back to PFC (SFC proxy contribution 2025).
        if held > self.threshold && !self.held_peers.contains(&(at.ingress, at.class)) {
            self.held_peers.push((at.ingress, at.class));
            cx.pause_peer(at.ingress, Some(at.class), Time::NEVER, self.style);
        }
        Some(isolation_queue)
    }

    /// Returns whether it needs to see packets that join their queues.
    pub(super) fn follows(&self) -> bool {
        !self.held_peers.is_empty() || self.rate.is_some() && !self.isolation_queues.is_empty()
    }

    /// A packet has joined its egress queue, perhaps from an isolation queue.
    #[cold]
    pub(super) fn joined(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
        if let Some(rate) = self.rate {
            self.pace(cx, at, pkt, rate);
        }
        if self.held_peers.is_empty() {
            return;
        }
        let held = self.held(cx, at.ingress, at.class);
        if held >= self.resume && held != Bytes::ZERO {
            return;
        }
        let all = self.per == IsolationPer::Switch;
        self.held_peers.retain(|(port, class)| {
            let resumes = all || (*port, *class) == (at.ingress, at.class);
            if resumes {
                cx.resume_peer(*port, Some(*class));
            }
            !resumes
        });
    }

    /// A packet that a pause had held back has left its isolation queue: the rest follows at `rate`.
    fn pace(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet, rate: Rate) {
        let traffic = self.traffic(pkt, at.class);
        let Some(&number) = traffic.and_then(|traffic| self.named.get(&traffic)) else { return };
        let Some(isolated) = self.isolation_queues.get_mut(&number) else { return };
        isolated.backlog = isolated.backlog.saturating_sub(cx.seen().counted(pkt));
        if isolated.backlog != Bytes::ZERO {
            let gate = Gate::IsolationQueue(cx.isolation_queue(number));
            isolated.next = cx.now().after(rate.time_for(pkt.bytes()));
            cx.shut(gate);
            cx.arm(isolated.next, number);
        }
    }

    fn traffic(&self, pkt: &Packet, class: Class) -> Option<Traffic> {
        Some((pkt.data()?.src, pkt.dst, class, self.by_flow.then_some(pkt.flow)))
    }

    /// Returns the bytes that wait where packets from this port and class do.
    fn held(&self, cx: &SwitchCx<'_>, port: Port, class: Class) -> Bytes {
        match self.per {
            IsolationPer::Port => cx.seen().isolated(port, class),
            IsolationPer::Switch => cx.seen().isolated_total(),
        }
    }
}

/// Returns whether an isolation queue is shut or still holds packets that arrived when it was.
fn in_use(isolated: &Isolated, number: u32, cx: &SwitchCx<'_>) -> bool {
    !isolated.ends.over(cx.now()) || cx.seen().isolated_in(cx.isolation_queue(number)) != Bytes::ZERO
}
