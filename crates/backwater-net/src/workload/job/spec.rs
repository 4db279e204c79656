//! The description of a job.

use super::exchange::Exchange;
use crate::config::PacketParams;
use crate::model::packet::{Class, HostId};
use crate::units::Rate;
use crate::workload::dependent::Moment;
use backwater_engine::Time;
use std::sync::Arc;

/// The work of a communicator's ranks.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// They compute for this long.
    Compute(Time),
    /// They exchange data.
    Exchange(Exchange),
}

/// Costs of the hosts' software, beside the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Software {
    /// Time from the start of an exchange until its first messages.
    pub latency: Time,
    /// Time from the end of a message's last wait until it enters the network, beside the job's start latency.
    pub message_latency: Time,
    /// Bytes on the network, of so many bytes of data: flags that travel with the data.
    pub sent: u32,
    /// See `sent`.
    pub of: u32,
}

impl Software {
    /// It costs nothing.
    pub const FREE: Software = Software { latency: Time::ZERO, message_latency: Time::ZERO, sent: 1, of: 1 };

    /// \[bytes\] on the network, for so many bytes of data.
    pub fn carried(&self, bytes: u64) -> u64 {
        (u128::from(bytes) * u128::from(self.sent)).div_ceil(u128::from(self.of.max(1))) as u64
    }
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSpec {
    /// Its label in result rows.
    pub label: Arc<str>,
    /// The work of each communicator.
    pub work: Work,
    /// The ranks of each communicator, in its order.
    pub communicators: Vec<Vec<u32>>,
    /// The members of each communicator's rings side by side, ring after ring: for each rank the one whose interface its server uses in that
    /// ring. Empty: the ranks themselves.
    pub rings: Vec<Vec<u32>>,
    /// Steps of the same round that it waits for, by number.
    pub after: Vec<usize>,
    /// Steps of the round before that it waits for.
    pub after_previous: Vec<usize>,
    /// Its earliest start after the start of the job.
    pub start: Time,
    /// Its costs in software.
    pub software: Software,
}

impl StepSpec {
    /// The members of a communicator, between which messages go.
    pub fn members(&self, communicator: usize) -> &[u32] {
        self.rings.get(communicator).unwrap_or(&self.communicators[communicator])
    }
}

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSpec {
    /// Its label in result rows.
    pub label: Arc<str>,
    /// The name of its random streams.
    pub stream: String,
    /// Ranks of an instance.
    pub ranks: u32,
    /// Hosts of all ranks, instance by instance.
    pub hosts: Vec<HostId>,
    /// Ranks r and s with r / `ranks_per_server` = s / `ranks_per_server` are within one server.
    pub ranks_per_server: u32,
    /// When it starts.
    pub start: Time,
    /// Rounds of each instance.
    pub rounds: u64,
    /// Most rounds of an instance at once.
    pub in_flight: u64,
    /// When a transfer counts as complete.
    pub moment: Moment,
    /// Time from the end of a transfer's last wait to its first packet; see
    /// [`Dependent::start_latency`](crate::workload::Dependent::start_latency).
    pub start_latency: Time,
    /// Class of its data.
    pub class: Class,
    /// True if packets are ECN-capable.
    pub ect: bool,
    /// The steps of a round.
    pub steps: Vec<StepSpec>,
}

/// The links of the hosts, for the bound of the busiest one.
#[derive(Clone, Debug)]
pub struct Links {
    /// Rate of each host's link.
    pub rates: Arc<[Rate]>,
    /// Frame sizes of each step.
    pub packets: Vec<PacketParams>,
}
