//! Flows that start when others have ended.

use crate::record::Rows;
use crate::workload::flow_spec::FlowSpec;
use backwater_engine::{State, Time};
use std::any::Any;
use std::sync::Arc;

/// A moment of a job's flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum Moment {
    /// Its sender's interface has taken its last byte for the first time.
    Sent,
    /// Its receiver has its last byte.
    LastByte,
    /// Its sender has its last acknowledgement (without acknowledgements: its receiver has its last byte).
    LastAck,
    /// Its sender has given up.
    Failed,
}

/// A flow of a job that has reached a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Reached {
    pub flow: u64,
    pub group: u32,
    pub moment: Moment,
}

/// Output of a source of dependent flows.
#[derive(Debug, Default)]
pub struct Due {
    /// Flows that start.
    pub flows: Vec<FlowSpec>,
    /// Rows of completed work.
    pub rows: Rows,
}

/// A source whose flows start when others have ended.
pub trait Dependent: Send + State {
    /// The groups of its flows; no other source uses them.
    fn groups(&self) -> std::ops::Range<u32>;
    /// The labels of the job and of the step whose flows are of `group`, which is one of its groups.
    fn labels(&self, group: u32) -> (Arc<str>, Arc<str>);
    /// Returns whether it waits for a flow of its groups to reach a moment.
    fn awaits(&self, flow: u64, moment: Moment) -> bool;
    /// Returns whether it waits for last bytes to be taken ([`Moment::Sent`]).
    fn awaits_sent(&self) -> bool {
        false
    }
    /// Returns when it is first called; [`Time::NEVER`]: when something is due.
    fn begins(&self) -> Time;
    /// Returns the time from a moment of a flow until the flows that wait for it begin.
    fn start_latency(&self) -> Time;
    /// A flow has reached a moment that it awaits; [`Dependent::due`] is called at the end of the same instant.
    fn completed(&mut self, flow: u64, group: u32, moment: Moment);
    /// Adds the flows and rows due at `now`; all moments of the instant are known. Returns when to call again if no moment comes before.
    fn due(&mut self, now: Time, due: &mut Due) -> Option<Time>;
    /// Nobody reads its rows of transfers: it need not keep what they need.
    fn omit_rows(&mut self) {}
    /// Returns the rows of work in progress that will not be completed, at the end of a run.
    fn unfinished(&self) -> Rows;
    /// The number of a source in whose turn of an instant it acts; `None`: it acts after all that may complete a flow.
    fn place(&self) -> Option<u32> {
        None
    }
    /// Returns itself if the run's caller sends by it: a [`crate::workload::caller::Caller`].
    fn as_caller(&mut self) -> Option<&mut dyn Any> {
        None
    }
    /// Returns its completed rounds.
    fn rounds(&self) -> Rounds;
}

/// Rounds of a job, over all its instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Label of the job.
    pub job: Arc<str>,
    /// Completed rounds.
    pub complete: u64,
    /// All rounds.
    pub all: u64,
}
