//! A part of a network that is simulated in parts: its nodes, and what it sends to the other parts.
//!
//! Each part has its own nodes and handles their events. It also knows how the others are cabled ([`Facts`]). Parts exchange values: no
//! part reads another's memory. Slots of flows are the same in all parts, since each starts all flows in the same order.

use crate::model::hooks::attachment::Attachment;
use crate::model::host::flow::RecvFlow;
use crate::model::packet::{Control, HostId, Packet, Report};
use crate::model::port::Facts;
use crate::workload::Reached;
use backwater_engine::Time;
use std::sync::Arc;

/// An event's time, and its order word.
pub(crate) type Key = (Time, u64);

/// Later than everything.
pub(crate) const NEVER: Key = (Time::NEVER, u64::MAX);

/// The part that handles each node.
#[derive(Debug)]
pub(crate) struct Ownership {
    pub nodes: Vec<u16>,
    pub ports: Vec<u16>,
    pub switches: Vec<u16>,
    pub hosts: Vec<u16>,
}

impl Ownership {
    /// A network that is one part.
    pub const WHOLE: Ownership =
        Ownership { nodes: Vec::new(), ports: Vec::new(), switches: Vec::new(), hosts: Vec::new() };

    pub fn of_port(&self, port: u32) -> usize {
        of(&self.ports, port)
    }
    pub fn of_switch(&self, switch: u32) -> usize {
        of(&self.switches, switch)
    }
    pub fn of_host(&self, host: HostId) -> usize {
        of(&self.hosts, host.0)
    }
}

/// The part at this index; an empty list means one part.
fn of(all: &[u16], at: u32) -> usize {
    all.get(at as usize).map_or(0, |part| usize::from(*part))
}

/// The data of a part beside its network.
pub(crate) struct Part {
    pub me: usize,
    pub owners: Arc<Ownership>,
    /// The facts about all ports, by number.
    pub facts: Arc<Vec<Facts>>,
    /// Latencies of all switches.
    pub latencies: Arc<Vec<Time>>,
    /// By part: mail for it.
    pub out: Vec<Vec<Mail>>,
    /// The greatest key of an event so far, which rows are ordered by. An event that was pushed at its own instant by one of a greater order
    /// comes right after that, on one thread, too.
    pub reached: Key,
    /// Keys of the rows of flows and of control messages that wait to be handed out, and the flow whose receiver's half is missing.
    pub flows: Vec<(Key, Option<u32>)>,
    pub control: Vec<Key>,
    /// Receivers' halves of flows whose senders belong to another part.
    pub halves: Vec<Half>,
    /// Since when only self-sustaining events have been left here, and the earlier periods in which that was so.
    pub quiet: Option<Key>,
    pub quiets: Vec<(Key, Key)>,
    /// Moments at which the run has ended, if no other part has anything left.
    pub ends: Vec<Key>,
    /// Flows that have begun anywhere.
    pub begun: u64,
    /// The reason why this run cannot continue in parts.
    pub doubt: Option<&'static str>,
}

impl Part {
    pub fn new(
        me: usize,
        parts: usize,
        owners: Arc<Ownership>,
        facts: Arc<Vec<Facts>>,
        latencies: Arc<Vec<Time>>,
    ) -> Part {
        Part {
            me,
            owners,
            facts,
            latencies,
            out: (0..parts).map(|_| Vec::new()).collect(),
            reached: (Time::ZERO, 0),
            flows: Vec::new(),
            control: Vec::new(),
            halves: Vec::new(),
            quiet: None,
            quiets: Vec::new(),
            ends: Vec::new(),
            begun: 0,
            doubt: None,
        }
    }

    pub fn post(&mut self, to: usize, mail: Mail) {
        self.out[to].push(mail);
    }

    /// Posts to all other parts.
    pub fn post_to_all(&mut self, mail: impl Fn() -> Mail) {
        let me = self.me;
        self.out.iter_mut().enumerate().filter(|(to, _)| *to != me).for_each(|(_, out)| out.push(mail()));
    }

    /// From the event with this key on, something is left to happen here, or nothing is.
    #[inline]
    pub fn set_quiet(&mut self, key: Key, quiet: bool) {
        if quiet != self.quiet.is_some() {
            self.change_quiet(key, quiet);
        }
    }

    #[cold]
    fn change_quiet(&mut self, key: Key, quiet: bool) {
        match self.quiet {
            None if quiet => self.quiet = Some(key),
            Some(since) if !quiet => {
                self.quiet = None;
                if since < key {
                    self.quiets.push((since, key));
                }
            }
            _ => {}
        }
    }

    /// Returns whether nothing was left at that moment.
    pub fn was_quiet(&self, key: Key) -> bool {
        self.quiet.is_some_and(|since| since <= key)
            || self.quiets.iter().any(|(since, until)| *since <= key && key < *until)
    }

    /// Returns whether a node belongs to this part.
    pub fn has_node(&self, node: u32) -> bool {
        of(&self.owners.nodes, node) == self.me
    }

    /// Returns whether a host belongs to this part.
    pub fn has(&self, host: HostId) -> bool {
        self.owners.of_host(host) == self.me
    }
}

/// A message from one part to another.
pub(crate) enum Mail {
    Frame(Crossing),
    Signal(Box<Signal>),
    /// A flow has ended, by the event with this key.
    Over(Key, u32),
    /// A flow has reached a moment that a job waits for.
    Completed(Completion),
}

/// A flow of a job has reached a moment that the job waits for.
#[derive(Clone, Copy)]
pub(crate) struct Completion {
    /// The event that caused it.
    pub by: Key,
    /// The time at which the job is called for it.
    pub at: Time,
    pub job: u32,
    pub reached: Reached,
}

/// A frame in flight.
pub(crate) struct Crossing {
    pub at: Time,
    /// The event that sent it.
    pub by: Key,
    pub port: u32,
    /// As in [`crate::model::event::Event::Arrive`].
    pub egress: u32,
    pub packet: Packet,
    pub beside: Option<Box<Beside>>,
}

/// The data beside a packet.
pub(crate) struct Beside {
    pub control: Option<Control>,
    pub carried: Option<Attachment>,
    pub report: Option<Report>,
}

/// A pause signal without a frame.
pub(crate) struct Signal {
    pub at: Time,
    pub by: Key,
    pub port: u32,
    pub number: u16,
    pub control: Control,
}

/// The receiver's share of a flow's row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half {
    pub slot: u32,
    pub last_byte: Time,
    pub received: u64,
    pub reordered: u32,
    pub marked: u32,
}

impl Half {
    /// Returns the receiver's data on the flow in this slot.
    pub fn of(slot: u32, recv: &RecvFlow) -> Half {
        let (last_byte, received) = (recv.last_byte, recv.received);
        Half { slot, last_byte, received, reordered: recv.reordered, marked: recv.marked }
    }
}
