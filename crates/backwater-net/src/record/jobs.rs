//! Rows of jobs, beside those of their collectives.

use crate::model::packet::{HostId, NodeId, Port};
use backwater_engine::Time;
use backwater_engine::state::shared_text;
use std::sync::Arc;

/// What let something of a job begin, as the last of all that it waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Release {
    /// The transfer that was completed; `None`: the job had just begun.
    pub flow: Option<u64>,
    /// The computations that followed it.
    pub computed: Option<Computed>,
}

/// Computations one after the other: the labels of the first ones, and how many followed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Computed {
    #[serde(with = "shared_text")]
    labels: Arc<str>,
    named: u8,
    more: u64,
}

impl Computed {
    /// Computations that are named; rounds without transfers would make the text as long as the run.
    const MOST_NAMED: u8 = 16;

    /// A computation by the label of its step.
    #[must_use]
    pub fn new(label: Arc<str>) -> Self {
        Self { labels: label, named: 1, more: 0 }
    }

    /// These, and another one.
    #[must_use]
    pub fn then(self, label: &str) -> Self {
        if self.named == Self::MOST_NAMED {
            return Self { more: self.more + 1, ..self };
        }
        Self { labels: format!("{} + {label}", self.labels).into(), named: self.named + 1, ..self }
    }
}

impl std::fmt::Display for Computed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.labels)?;
        if self.more > 0 {
            write!(f, " + {} more", self.more)?;
        }
        Ok(())
    }
}

/// A transfer of a job over the network.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TransferRow {
    /// Identity of its flow.
    pub flow: u64,
    /// Label of the job.
    #[serde(with = "shared_text")]
    pub job: Arc<str>,
    /// Label of the step.
    #[serde(with = "shared_text")]
    pub step: Arc<str>,
    /// Instance of the job.
    pub instance: u32,
    /// Round of the instance.
    pub round: u64,
    /// Number of the communicator within the step.
    pub communicator: u32,
    /// Phase of the collective; 0 where all transfers begin at once.
    pub phase: u32,
    /// Sending rank of the instance.
    pub src_rank: u32,
    /// Receiving rank of the instance.
    pub dst_rank: u32,
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Payload.
    pub bytes: u64,
    /// When it began.
    pub start: Time,
    /// When it was complete, as the job counts it; `None`: the run ended first.
    pub end: Option<Time>,
    /// What let it begin.
    pub release: Release,
}

/// A round of an instance of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundRow {
    /// Label of the job.
    pub job: Arc<str>,
    /// Instance of the job.
    pub instance: u32,
    /// Round of the instance.
    pub round: u64,
    /// When its first step began at any rank.
    pub start: Time,
    /// When its last step was complete at all ranks; `None`: the run ended first.
    pub end: Option<Time>,
    /// What was the last to be complete; of a round that is not complete, nothing.
    pub release: Release,
}

/// An instance of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceRow {
    /// Label of the job.
    pub job: Arc<str>,
    /// The instance.
    pub instance: u32,
    /// Its ranks.
    pub ranks: u32,
    /// Its rounds.
    pub rounds: u64,
    /// Those that are complete.
    pub complete: u64,
    /// When the job was to start.
    pub start: Time,
    /// When its last round was complete; `None`: the run ended first.
    pub end: Option<Time>,
}

/// What the flows of a step of a job put on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadRow {
    /// Label of the job.
    pub job: Arc<str>,
    /// Label of the step.
    pub step: Arc<str>,
    /// Node.
    pub node: NodeId,
    /// Port.
    pub port: Port,
    /// Node at the other end.
    pub peer: NodeId,
    /// Data frames.
    pub frames: u64,
    /// Bytes of them, as the port's `tx_bytes` counts them.
    pub bytes: u64,
    /// Payload in them.
    pub payload: u64,
}

/// Rows of jobs since they were last handed out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobRows {
    /// Collectives.
    pub collectives: Vec<super::CollectiveRow>,
    /// Transfers.
    pub transfers: Vec<TransferRow>,
    /// Rounds.
    pub rounds: Vec<RoundRow>,
    /// Instances.
    pub instances: Vec<InstanceRow>,
}

impl JobRows {
    /// Adds those of `other`, which has none then.
    pub fn append(&mut self, other: &mut JobRows) {
        self.collectives.append(&mut other.collectives);
        self.transfers.append(&mut other.transfers);
        self.rounds.append(&mut other.rounds);
        self.instances.append(&mut other.instances);
    }

    /// Hands them out.
    pub(crate) fn hand_out(&mut self, sink: &mut dyn super::Sink) {
        self.transfers.drain(..).for_each(|row| sink.transfer(&row));
        self.collectives.drain(..).for_each(|row| sink.collective(&row));
        self.rounds.drain(..).for_each(|row| sink.round(&row));
        self.instances.drain(..).for_each(|row| sink.instance(&row));
    }
}
