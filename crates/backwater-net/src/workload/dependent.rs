//! Flows that start when others have ended.

use crate::record::Rows;
use crate::workload::flow_spec::FlowSpec;
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
    pub rows: Rows,
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
    /// What is in progress and will not be completed, at the end of a run.
    fn unfinished(&self) -> Rows;
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
