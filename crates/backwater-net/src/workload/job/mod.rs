//! Jobs: computations and transfers that wait for each other, repeated in rounds.
//!
//! ```text
//! job ── instances ── rounds ── steps ── communicators ── transfers
//!                     at most   one kind  ranks that      flows of the network
//!                     in_flight of work   act together
//! ```
//!
//! A *step* is one kind of work that is done by one or more *communicators*, sets of ranks that act together: a computation, a
//! point-to-point transfer (one communicator a pair), or a collective. A step of one communicator is a *task*. A task begins when
//! what it waits for is complete: of every step in `after` those tasks of the same round that arrive at one of its ranks, of every
//! step in `after_previous` those of the round before, and itself in the round before. A point-to-point transfer arrives at its receiver
//! and waits at its sender; other work arrives and waits at all its ranks. Round b opens when round b - `in_flight` is complete.
//!
//! What a job begins enters the network a *start latency* later. A transfer is complete when its last byte has been received or, by [`Moment`], when its sender has the last acknowledgement.
//! A transfer within one server takes no time and does not use the network.
//!
//! Only what is in flight is in memory: a round's flows are made when their task, or their phase of it, begins, and a run holds the state
//! of `in_flight` rounds, whatever their number. What happens at one instant is gathered and acted on in the order of
//! instances, rounds and tasks, so that a run does not depend on which of several simultaneous completions comes first.
//!
//! **Not modelled:** a limit of transfers at once by one rank; contention within a server; kernels that compute while they send.

mod error;
mod exchange;
mod experts;
mod placement;
mod plan;
mod run;
mod tokens;
mod transfer;
mod tree;

pub use error::{Flaw, JobError, MOST, MOST_AT_ONE_INSTANT};
pub use exchange::{Algorithm, Choice, Collective, Exchange};
pub use placement::Placement;
pub use plan::Plan;
pub use run::Job;
pub use tokens::{Copies, Routing};

use crate::config::PacketParams;
use crate::flow_spec::FlowSpec;
use crate::packet::{Class, HostId};
use crate::record::JobRows;
use crate::units::Rate;
use backwater_engine::{State, Time};
use std::sync::Arc;

/// What happened to a flow of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Moment {
    /// Its receiver has its last byte.
    LastByte,
    /// Its sender has its last acknowledgement (without acknowledgements: the receiver has its last byte).
    LastAck,
}

/// A flow of a job that has come to a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Reached {
    pub flow: u64,
    pub group: u32,
    pub moment: Moment,
}

/// What a source of dependent flows wants done now.
#[derive(Debug, Default)]
pub struct Due {
    /// Flows that start.
    pub flows: Vec<FlowSpec>,
    /// What has been completed.
    pub rows: JobRows,
}

/// A source whose flows start when others have ended.
pub trait Dependent: Send + State {
    /// The groups that its flows belong to; they belong to no other source.
    fn groups(&self) -> std::ops::Range<u32>;
    /// The labels of the job and of the step whose flows are of `group`, which is one of its groups.
    fn labels(&self, group: u32) -> (Arc<str>, Arc<str>);
    /// Whether it is to be told when a flow of its groups comes to a moment.
    fn awaits(&self, flow: u64, moment: Moment) -> bool;
    /// When it is first to be asked.
    fn begins(&self) -> Time;
    /// How long after a moment of a flow those begin that have waited for it.
    fn start_latency(&self) -> Time;
    /// A flow has come to a moment that it awaits; it is asked what is due at the end of the same instant.
    fn completed(&mut self, flow: u64, group: u32, moment: Moment);
    /// Adds what is due at `now`, all such moments of the instant being known; says when to ask again without any.
    fn due(&mut self, now: Time, due: &mut Due) -> Option<Time>;
    /// What is under way and will not be completed, at the end of a run.
    fn unfinished(&self) -> JobRows;
    /// How many of its rounds are complete.
    fn rounds(&self) -> Rounds;
}

/// Rounds of a job, over all its instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Label of the job.
    pub job: Arc<str>,
    /// Those that are complete.
    pub complete: u64,
    /// Those that it is to have.
    pub all: u64,
}

/// What the ranks of a communicator do.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// They compute for this long.
    Compute(Time),
    /// They exchange data.
    Exchange(Exchange),
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSpec {
    /// What it is called in result rows.
    pub label: Arc<str>,
    /// What each communicator does.
    pub work: Work,
    /// The ranks of each communicator, in its order.
    pub communicators: Vec<Vec<u32>>,
    /// Steps of the same round that it waits for, by number.
    pub after: Vec<usize>,
    /// Steps of the round before that it waits for.
    pub after_previous: Vec<usize>,
    /// It does not begin before this time after the start of the job.
    pub start: Time,
}

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSpec {
    /// What it is called in result rows.
    pub label: Arc<str>,
    /// What its random streams are named by.
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
    /// What lies between the end of what a transfer waits for and its first packet; see [`Dependent::start_latency`].
    pub start_latency: Time,
    /// Class of its data.
    pub class: Class,
    /// Whether packets are ECN-capable.
    pub ect: bool,
    /// The steps of a round.
    pub steps: Vec<StepSpec>,
}

/// The links of the hosts, for the bound of the busiest.
#[derive(Clone, Debug)]
pub struct Links {
    /// Rate of each host's link.
    pub rates: Arc<[Rate]>,
    /// Frame sizes of each step.
    pub packets: Vec<PacketParams>,
}

#[cfg(test)]
mod tests;
