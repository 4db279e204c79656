//! A part of a network that is simulated in parts: which nodes are its own, and what it sends to the others.
//!
//! Each part is a network of all nodes, and handles the events of its own; its copies of the other nodes rest. What crosses is a value:
//! no part reads another's memory. Slots of flows are the same in all parts, since each starts all flows in the same order.

use crate::model::hooks::attachment::Attachment;
use crate::model::host::flow::RecvFlow;
use crate::model::packet::{Control, HostId, Packet, Report};
use crate::workload::Reached;
use backwater_engine::Time;
use std::sync::Arc;

/// When an event is, and its order word.
pub(crate) type Key = (Time, u64);

/// Later than everything.
pub(crate) const NEVER: Key = (Time::NEVER, u64::MAX);

/// Which part handles which node.
#[derive(Debug)]
pub(crate) struct Ownership {
    pub ports: Vec<u16>,
    pub switches: Vec<u16>,
    pub hosts: Vec<u16>,
}

impl Ownership {
    /// Of a network that is one part.
    pub const WHOLE: Ownership = Ownership { ports: Vec::new(), switches: Vec::new(), hosts: Vec::new() };

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

/// Without parts there is one.
fn of(all: &[u16], at: u32) -> usize {
    all.get(at as usize).map_or(0, |part| usize::from(*part))
}

/// What a part keeps beside its network.
pub(crate) struct Part {
    pub me: usize,
    pub owners: Arc<Ownership>,
    /// By part: what goes there.
    pub out: Vec<Vec<Mail>>,
    /// Keys of the rows of flows and of control messages that wait to be handed out, and the flow whose receiver's half is missing.
    pub flows: Vec<(Key, Option<u32>)>,
    pub control: Vec<Key>,
    /// Receivers' halves of flows whose senders are another part's.
    pub halves: Vec<Half>,
    /// Since when nothing but what keeps itself going has been left to happen here, and for which times that was so before.
    pub quiet: Option<Key>,
    pub quiets: Vec<(Key, Key)>,
    /// Moments at which the run has ended, if no part had anything else.
    pub ends: Vec<Key>,
    /// Flows that have begun anywhere.
    pub begun: u64,
    /// Why this run cannot go on in parts.
    pub doubt: Option<&'static str>,
}

impl Part {
    pub fn new(me: usize, parts: usize, owners: Arc<Ownership>) -> Part {
        Part {
            me,
            owners,
            out: (0..parts).map(|_| Vec::new()).collect(),
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

    /// Tells all other parts.
    pub fn post_to_all(&mut self, mail: impl Fn() -> Mail) {
        let me = self.me;
        self.out.iter_mut().enumerate().filter(|(to, _)| *to != me).for_each(|(_, out)| out.push(mail()));
    }

    /// Something has been left to happen here, or nothing has, since an event with this key.
    pub fn set_quiet(&mut self, key: Key, quiet: bool) {
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

    /// Whether nothing was left at that moment.
    pub fn was_quiet(&self, key: Key) -> bool {
        self.quiet.is_some_and(|since| since <= key)
            || self.quiets.iter().any(|(since, until)| *since <= key && key < *until)
    }

    /// Whether a host is this part's.
    pub fn has(&self, host: HostId) -> bool {
        self.owners.of_host(host) == self.me
    }
}

/// What one part tells another.
pub(crate) enum Mail {
    Frame(Crossing),
    Signal(Box<Signal>),
    /// A flow has ended, by the event with this key.
    Over(Key, u32),
    /// A flow has come to a moment that a job awaits.
    Completed(Completion),
}

/// A flow of a job has come to a moment that the job awaits.
#[derive(Clone, Copy)]
pub(crate) struct Completion {
    /// The event that did it.
    pub by: Key,
    /// When the job will be asked about that instant.
    pub at: Time,
    pub job: u32,
    pub reached: Reached,
}

/// A frame on its way.
pub(crate) struct Crossing {
    pub at: Time,
    /// The event that sent it.
    pub by: Key,
    pub port: u32,
    pub packet: Packet,
    pub beside: Option<Box<Beside>>,
}

/// What lies beside a packet.
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

/// What a flow's row has of the receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half {
    pub slot: u32,
    pub last_byte: Time,
    pub received: u64,
    pub reordered: u32,
    pub marked: u32,
}

impl Half {
    /// What the receiver of the flow in this slot knows.
    pub fn of(slot: u32, recv: &RecvFlow) -> Half {
        let (last_byte, received) = (recv.last_byte, recv.received);
        Half { slot, last_byte, received, reordered: recv.reordered, marked: recv.marked }
    }
}
