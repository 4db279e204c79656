//! The exact waits of a flow: those along the chain of events that ended with its last byte.
//!
//! A packet leaves a port when three conditions hold: it has arrived there, the flow's packet before it has been sent, and the port is free
//! for it. The packet had to wait for the *later* of the first two. From the flow's last byte these waits lead back, packet by packet and
//! port by port, to the flow's start: its critical path. Along it every picosecond is one of two: something of the flow moved (a packet was
//! sent, or was on a link or within a switch's latency), or it *waited*, at one port, for one cause. So
//!
//! ```text
//! fct_last_byte = moving + sum of waits
//! ideal_fct     = moving, alone in the network (`run/ideal.rs`)
//! delay         = fct_last_byte - ideal_fct = sum of waits + (moving - ideal_fct)
//! ```
//!
//! exactly. The last term is 0 where all packets and links are equal. It is negative if a slower link, or packets behind a shorter one,
//! would have made the flow wait for itself while it waited for others. It is positive if packets were retransmitted.
//!
//! The path is kept forwards: each packet of a recorded flow carries the [`Account`] of the waits on the path to it, and a [`Stand`] is a
//! port at which something of the flow waits. A packet that arrives at a port while the flow's packet before it is still there takes over
//! that one's account, and its own is dropped. Memory is bounded by the packets of recorded flows in flight, an account by ports and causes
//! on one path: [`Account::MET`] pairs of port and other flow by name, the rest together.

use crate::model::hooks::place::MechanismId;
use crate::model::packet::FlowRef;
use crate::model::slab::Ix;
use crate::record::FlowTag;
use backwater_engine::Time;
use std::collections::VecDeque;

/// The cause for which something waited at a port, although it was there. If several hold, the first of this list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Cause {
    /// At its source: its interface issued earlier messages.
    Issue,
    /// At its source: the host's memory fetched the payload of the frame before.
    Memory,
    /// At its source: its rate limiter let no packet go.
    Rate,
    /// At its source: its window was full.
    Window,
    /// At its source: a mechanism stopped the flow, or all flows to its destination.
    HeldAtSource(Option<MechanismId>),
    /// At its source: all was sent, and acknowledgements or a timeout were pending.
    Acknowledgements,
    /// A mechanism kept it in an isolation queue before the egress queue.
    IsolationQueue(MechanismId),
    /// The neighbour had paused its queue, or the link.
    Paused,
    /// A mechanism's gate of its queue was shut at the port.
    Shut(Option<MechanismId>),
    /// A mechanism did not let the first packet of its queue start, as when a link's credits are used up.
    Credit,
    /// The port sent another flow's packet; `None`: the packet of one among many flows, or of one that has ended.
    Behind(Option<FlowTag>),
    /// The port sent acknowledgements, control frames or MAC control.
    Control,
    /// The port was idle: the packet was still in the switch's fabric.
    Fabric,
    /// It waited in the buffer of a slow receiver.
    Receiver,
    /// It, or a frame before it, had arrived damaged over the link and was being retransmitted; or the port sent such a frame.
    Again,
}

impl Cause {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Issue => "issue",
            Cause::Memory => "memory",
            Cause::Rate => "rate-limit",
            Cause::Window => "window",
            Cause::HeldAtSource(_) => "held-at-source",
            Cause::Acknowledgements => "acknowledgements",
            Cause::IsolationQueue(_) => "lane",
            Cause::Paused => "paused",
            Cause::Shut(_) => "gate",
            Cause::Credit => "credit",
            Cause::Behind(_) => "behind",
            Cause::Control => "control-frames",
            Cause::Fabric => "fabric",
            Cause::Receiver => "receiver",
            Cause::Again => "sent-again",
        }
    }

    /// The mechanism that owns the gate or isolation queue.
    pub fn owner(self) -> Option<MechanismId> {
        match self {
            Cause::HeldAtSource(owner) | Cause::Shut(owner) => owner,
            Cause::IsolationQueue(owner) => Some(owner),
            _ => None,
        }
    }
}

/// Time waited at a port for a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Item {
    /// Global number of the port.
    pub port: u32,
    pub cause: Cause,
    pub time: Time,
}

/// The waits on one path.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Account(Vec<Item>);

impl Account {
    /// Pairs of port and other flow that an account names; further waits are added up in one item a port.
    pub const MET: usize = 64;

    pub fn add(&mut self, port: u32, cause: Cause, time: Time) {
        let same = |item: &&mut Item| item.port == port && item.cause == cause;
        if let Some(item) = self.0.iter_mut().find(same) {
            item.time += time;
            return;
        }
        let named = |item: &&Item| matches!(item.cause, Cause::Behind(Some(_)));
        if matches!(cause, Cause::Behind(Some(_))) && self.0.iter().filter(named).count() >= Account::MET {
            return self.add(port, Cause::Behind(None), time);
        }
        self.0.push(Item { port, cause, time });
    }

    pub fn items(&self) -> &[Item] {
        &self.0
    }
}

/// A packet that waits.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct WaitingPacket {
    pkt: Ix,
    /// The queue that it joins.
    queue: u8,
    /// The earliest time at which it might have left.
    ready: Time,
    account: Account,
    /// The mechanism whose isolation queue holds it.
    isolation_queue: Option<MechanismId>,
}

/// A port at which packets of a flow wait, or its source.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Stand {
    pub flow: FlowRef,
    /// It is the flow's own interface, where unsent bytes wait that are no packet yet.
    pub source: bool,
    /// Packets put on the wire here.
    pub sent: u64,
    /// The waits on the path to `at`.
    account: Account,
    at: Time,
    waiting: VecDeque<WaitingPacket>,
    /// The packet of the flow that is on the wire.
    sending: Option<Ix>,
}

impl Stand {
    pub fn new(flow: FlowRef, source: bool, now: Time) -> Stand {
        let (account, waiting) = (Account::default(), VecDeque::new());
        Stand { flow, source, sent: 0, account, at: now, waiting, sending: None }
    }

    /// Returns whether something of the flow waits here, and has been able to leave since some earlier time.
    pub fn waits(&self, now: Time) -> bool {
        self.sending.is_none() && (self.source || !self.waiting.is_empty()) && self.at < now
    }

    /// The mechanism whose isolation queue holds the first packet.
    pub fn isolation_queue(&self) -> Option<MechanismId> {
        self.waiting.front().and_then(|entry| entry.isolation_queue)
    }

    /// The queue of the packet that will go first.
    pub fn queue(&self) -> Option<u8> {
        self.waiting.front().map(|entry| entry.queue)
    }

    /// The packet that will go first.
    pub fn front(&self) -> Option<Ix> {
        self.waiting.front().map(|entry| entry.pkt)
    }

    /// Returns its waits, up to now if [`Stand::pass`] was called.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Returns whether nothing of the flow is here any more.
    pub fn is_over(&self) -> bool {
        !self.source && self.waiting.is_empty() && self.sending.is_none()
    }

    /// Adds the wait until now, at `port` for `cause`.
    pub fn pass(&mut self, port: u32, cause: Cause, now: Time) {
        self.account.add(port, cause, now - self.at);
        self.at = now;
    }

    /// A packet begins to wait: in an isolation queue, or in the queue, which it may enter from an isolation queue.
    pub fn enter(&mut self, pkt: Ix, queue: u8, ready: Time, account: Account, isolation_queue: Option<MechanismId>) {
        if self.waiting.is_empty() && self.sending.is_none() {
            (self.account, self.at) = (account.clone(), ready);
        }
        self.waiting.push_back(WaitingPacket { pkt, queue, ready, account, isolation_queue });
    }

    /// A packet leaves its isolation queue for the queue.
    pub fn leave_isolation_queue(&mut self, pkt: Ix) {
        self.waiting.iter_mut().filter(|entry| entry.pkt == pkt).for_each(|entry| entry.isolation_queue = None);
    }

    /// A packet of the flow is put on the wire. Returns the account that it carries.
    pub fn begin(&mut self, pkt: Ix) -> Account {
        self.waiting.retain(|entry| entry.pkt != pkt);
        self.sending = Some(pkt);
        self.sent += 1;
        self.account.clone()
    }

    /// It has left. If the next packet was here before, it has waited for this one; otherwise its own path here took longer.
    pub fn end(&mut self, pkt: Ix, now: Time) {
        if self.sending != Some(pkt) {
            return;
        }
        self.sending = None;
        self.at = now;
        if let Some(next) = self.waiting.front_mut().filter(|next| next.ready >= now) {
            (self.account, self.at) = (std::mem::take(&mut next.account), next.ready);
        }
    }

    /// A waiting packet leaves the port without being sent. It takes the account of the flow's waits until now with it.
    pub fn take_back(&mut self, pkt: Ix) -> Option<Account> {
        let at = self.waiting.iter().position(|entry| entry.pkt == pkt)?;
        self.waiting.remove(at);
        Some(self.account.clone())
    }

    /// A packet is lost.
    pub fn lose(&mut self, pkt: Ix) {
        self.waiting.retain(|entry| entry.pkt != pkt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: FlowRef = FlowRef { tag: 1, slot: 0 };

    fn sum(account: &Account) -> Time {
        account.items().iter().fold(Time::ZERO, |sum, item| sum + item.time)
    }

    fn came(port: u32, waited: Time) -> Account {
        let mut account = Account::default();
        account.add(port, Cause::Paused, waited);
        account
    }

    /// Two packets; the second arrives while the first waits for a pause, and takes over its account.
    #[test]
    fn a_packet_behind_its_own_flow_goes_on_with_that_account() {
        let mut stand = Stand::new(FLOW, false, Time::ZERO);
        stand.enter(1, 3, Time::us(10), came(0, Time::us(2)), None);
        stand.enter(2, 3, Time::us(11), came(0, Time::us(3)), None);
        stand.pass(7, Cause::Paused, Time::us(15));
        let first = stand.begin(1);
        assert_eq!(sum(&first), Time::us(7));
        assert!(!stand.waits(Time::us(16)), "a packet of the flow is on the wire");
        stand.end(1, Time::us(16));
        stand.pass(7, Cause::Control, Time::us(17));
        let second = stand.begin(2);
        let item = |port, cause, time| Item { port, cause, time };
        assert_eq!(
            second.items(),
            [
                item(0, Cause::Paused, Time::us(2)),
                item(7, Cause::Paused, Time::us(5)),
                item(7, Cause::Control, Time::us(1))
            ]
        );
    }

    /// The second arrives when the first has left: its own path took longer.
    #[test]
    fn a_packet_that_finds_nothing_keeps_its_own_account() {
        let mut stand = Stand::new(FLOW, false, Time::ZERO);
        stand.enter(1, 3, Time::us(10), came(0, Time::us(2)), None);
        stand.begin(1);
        stand.enter(2, 3, Time::us(12), came(5, Time::us(4)), None);
        stand.end(1, Time::us(11));
        assert!(!stand.waits(Time::us(12)), "it is not ready before");
        assert_eq!(stand.begin(2), came(5, Time::us(4)));
    }

    /// The second of two waiting packets leaves the port: it continues with its flow's waits until then, and so does the first.
    #[test]
    fn a_packet_that_leaves_goes_on_with_what_its_flow_has_waited() {
        let mut stand = Stand::new(FLOW, false, Time::ZERO);
        stand.enter(1, 3, Time::us(10), came(0, Time::us(2)), None);
        stand.enter(2, 3, Time::us(11), came(0, Time::us(3)), None);
        stand.pass(7, Cause::Paused, Time::us(15));
        assert_eq!(stand.take_back(2).as_ref().map(sum), Some(Time::us(7)));
        assert_eq!((stand.take_back(2), stand.is_over()), (None, false));
        stand.pass(7, Cause::Paused, Time::us(16));
        assert_eq!(sum(&stand.begin(1)), Time::us(8));
    }

    #[test]
    fn further_flows_are_one_item() {
        let mut account = Account::default();
        for id in 0..100 {
            account.add(3, Cause::Behind(Some(FlowTag { id, group: 0 })), Time::us(1));
        }
        assert_eq!(account.items().len(), Account::MET + 1);
        assert_eq!(sum(&account), Time::us(100));
    }
}
