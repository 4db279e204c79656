//! Sources of flows.
//!
//! [`list::List`] yields flows that are known beforehand (a group that starts once, a table, Bernoulli streams), [`arrivals::Arrivals`]
//! draws them one by one (periodic, Poisson), [`incast::Incasts`] draws events of many flows, and sizes may follow a
//! [`sizes::Distribution`]. The flows of a [`job::Job`] and of a [`graph::Graph`] start when others have ended; a [`caller::Caller`] sends
//! those of the program that runs the network. All random streams are
//! named by the group and by the hosts, so an added group or host changes no other draw.

pub mod arrivals;
pub mod assigned;
pub mod caller;
mod dependent;
pub(crate) mod flow_spec;
pub mod graph;
pub mod incast;
pub mod job;
pub mod list;
pub mod permutation;
pub mod pipeline;
pub mod sizes;

pub use arrivals::{Arrivals, Gaps, Sender, Timing, To};
pub use assigned::{Assigned, Classes, placement};
pub(crate) use dependent::Reached;
pub use dependent::{Dependent, Due, Moment, Rounds};
pub use incast::{Crowd, Incasts};
pub use list::{FlowTable, List, Row, Ways};
pub use permutation::permutation;
pub use sizes::{Distribution, Sizes};

use crate::model::packet::Class;
use crate::workload::flow_spec::FlowSpec;
use std::fmt;

/// Yields flows by ascending start.
pub trait FlowSource: Send {
    /// The next flow; `None`: no more.
    fn next_flow(&mut self) -> Option<FlowSpec>;
}

/// A source without further flows.
pub(crate) struct Exhausted;

impl FlowSource for Exhausted {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        None
    }
}

/// The common properties of a group's flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Index into [`crate::spec::Spec::groups`], below 2^24.
    pub index: u32,
    /// The name of the group's random streams: unique among the groups of a run, and best independent of other groups.
    pub stream: String,
    /// Class of the data.
    pub class: Class,
    /// True if packets are ECN-capable.
    pub ect: bool,
}

impl Group {
    /// Most flows per group, by the bits of their numbers.
    pub const MOST_FLOWS: u64 = 1 << 40;

    /// The identity of the group's `number`-th flow, from 0: unique in the run.
    pub fn flow_id(&self, number: u64) -> u64 {
        (u64::from(self.index) << 40) | (number & (Self::MOST_FLOWS - 1))
    }

    /// The name of a flow for people, by its number in its group: "flow 3 of victims"; `label` returns the label of a group's index.
    pub fn flow_name<'a>(flow_id: u64, label: impl FnOnce(u32) -> &'a str) -> String {
        let (index, number) = ((flow_id / Self::MOST_FLOWS) as u32, flow_id % Self::MOST_FLOWS);
        format!("flow {number} of {}", label(index))
    }
}

/// The reason why flows cannot be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkloadError {
    /// Flows that follow each other without any time between them.
    NoGap,
    /// A sender that is the only receiver.
    OnlyItself {
        /// Number of the host.
        host: u32,
    },
    /// An event with more senders than exist beside the receiver.
    TooFewSenders {
        /// Senders of an event.
        fan_in: u32,
        /// Number of the receiver.
        host: u32,
    },
    /// A single host: it cannot be permuted without sending to itself.
    TooFew {
        /// Number of hosts.
        hosts: usize,
    },
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkloadError::NoGap => write!(f, "the time between two flows is 0"),
            WorkloadError::OnlyItself { host } => write!(f, "host {host} could send to nobody but itself"),
            WorkloadError::TooFewSenders { fan_in, host } => {
                write!(f, "{fan_in} senders into host {host} are more than there are beside it")
            }
            WorkloadError::TooFew { hosts } => write!(f, "a permutation needs at least 2 hosts, there are {hosts}"),
        }
    }
}

impl std::error::Error for WorkloadError {}
