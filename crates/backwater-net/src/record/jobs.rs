//! Rows of jobs.

use crate::model::packet::{HostId, NodeId, Port};
use backwater_derive::Table;
use backwater_engine::Time;
use backwater_engine::state::shared_text;
use std::sync::Arc;

/// The last of the conditions that let a part of a job begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Release {
    /// The completed transfer; `None`: the start of the job.
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
    /// Most computations that are named: the text of rounds without transfers would otherwise grow with the run.
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

/// One row a transfer of a job over the network, a flow, when it was complete or the run over.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, Table)]
#[table("transfers")]
pub struct TransferRow {
    /// Its flow in the table flows.
    #[column(name = "flow_id")]
    pub flow: u64,
    /// Label of the job; its flows are those of group job/step.
    #[serde(with = "shared_text")]
    pub job: Arc<str>,
    /// Label of the step, or of the operation.
    #[serde(with = "shared_text")]
    pub step: Arc<str>,
    /// Instance of the job, from 0.
    pub instance: u32,
    /// Round of the instance, from 0.
    pub round: u64,
    /// Number of the group of ranks within the step, from 0.
    pub communicator: u32,
    /// Phase of the collective, from 0; 0 where all transfers begin at once.
    pub phase: u32,
    /// Sending rank of the instance.
    #[column(unit = "rank")]
    pub src_rank: u32,
    /// Receiving rank of the instance.
    #[column(unit = "rank")]
    pub dst_rank: u32,
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Payload.
    #[column(unit = "B")]
    pub bytes: u64,
    /// When all that it waited for was complete, and its flow started.
    pub start: Time,
    /// When it was complete, as job.complete_at says; null: the run ended first.
    pub end: Option<Time>,
    /// What let it begin.
    #[column(skip)]
    #[computed(
        after_flow: Option<u64> = self.release.flow,
        "flow_id of the transfer that was complete last of all that it waited for; null: it waited for none"
    )]
    #[computed(
        after_compute: Option<String> = self.release.computed.as_ref().map(ToString::to_string),
        "labels of the computations between that transfer (or the start of the job) and its own start, written like `last_compute`; null: none"
    )]
    pub release: Release,
}

/// One row a round of an instance of a job, when it was complete or the run over.
#[derive(Clone, Debug, PartialEq, Table)]
#[table("rounds")]
pub struct RoundRow {
    /// Label of the job.
    pub job: Arc<str>,
    /// Instance of the job, from 0.
    pub instance: u32,
    /// Round of the instance, from 0.
    pub round: u64,
    /// When its first step began at any rank, a computation or a transfer.
    pub start: Time,
    /// When its last step was complete at all ranks; null: the run ended first.
    #[computed(duration_ps: Option<Time> = self.end.map(|end| end - self.start), "end_ps - start_ps")]
    pub end: Option<Time>,
    /// What was the last to be complete; of a round that is not complete, nothing.
    #[column(skip)]
    #[computed(
        last_flow: Option<u64> = self.release.flow,
        "flow_id of the transfer that completed last on the way to the end; null: none, or not complete"
    )]
    #[computed(
        last_compute: Option<String> = self.release.computed.as_ref().map(ToString::to_string),
        "labels of the computations that followed it up to the end, joined by +, 16 at most and how many more; null: none"
    )]
    pub release: Release,
}

/// One row an instance of a job, when its last round was complete or the run over.
#[derive(Clone, Debug, PartialEq, Table)]
#[table("jobs")]
pub struct InstanceRow {
    /// Label of the job.
    pub job: Arc<str>,
    /// Instance of the job, from 0.
    pub instance: u32,
    /// Its ranks.
    #[column(unit = "ranks")]
    pub ranks: u32,
    /// Rounds that it is to do.
    #[column(unit = "rounds")]
    pub rounds: u64,
    /// Rounds that are complete.
    #[column(name = "complete_rounds", unit = "rounds")]
    pub complete: u64,
    /// When it was to start: job.start.
    pub start: Time,
    /// When its last round was complete; null: the run ended first.
    #[computed(
        duration_ps: Option<Time> = self.end.map(|end| end - self.start),
        "job completion time (JCT): end_ps - start_ps"
    )]
    pub end: Option<Time>,
}

/// One row a step of a job and a port that has sent data of it: what it put on that link.
#[derive(Clone, Debug, PartialEq, Eq, Table)]
#[table("job_links")]
pub struct LoadRow {
    /// Label of the job.
    pub job: Arc<str>,
    /// Label of the step, or of the operation.
    pub step: Arc<str>,
    /// Name of the node that sent.
    pub node: NodeId,
    /// Number of its port, from 0.
    pub port: Port,
    /// Name of the node at the other end of the link.
    pub peer: NodeId,
    /// Data frames of the step's flows put on the link, those retransmitted included; not what still came of a flow that was over.
    #[column(unit = "frames")]
    pub frames: u64,
    /// Bytes of these frames, headers included, preamble and gap not.
    #[column(unit = "B")]
    pub bytes: u64,
    /// Payload in these frames.
    #[column(name = "payload_bytes", unit = "B")]
    pub payload: u64,
}

/// One row a collective or point-to-point transfer of a job, when it was complete or the run over.
#[derive(Clone, Debug, PartialEq, Table)]
#[table("collectives")]
pub struct CollectiveRow {
    /// Label of the job; its flows are those of group job/step.
    pub job: Arc<str>,
    /// Label of the step, or of the operation.
    pub step: Arc<str>,
    /// What was done, such as all-reduce or point-to-point.
    pub kind: &'static str,
    /// How: ring, halving-doubling, pairwise, or direct (all transfers at once).
    pub algorithm: &'static str,
    /// Index of the group of its flows.
    #[column(skip)]
    pub group: u32,
    /// Instance of the job, from 0.
    pub instance: u32,
    /// Round of the instance, from 0.
    pub round: u64,
    /// Number of the group of ranks (of a point-to-point transfer: of the pair) within the step, from 0.
    pub communicator: u32,
    /// Ranks of the group.
    #[column(unit = "ranks")]
    pub ranks: u32,
    /// When all that it waited for was complete, and its first transfers started.
    pub start: Time,
    /// When its last transfer was complete, as job.complete_at says; null: the run ended first.
    #[computed(duration_ps: Option<Time> = self.duration(), "end_ps - start_ps")]
    pub end: Option<Time>,
    /// Transfers over the network, by phases that have begun.
    #[column(unit = "flows")]
    pub transfers: u64,
    /// Payload of these transfers.
    #[column(unit = "B")]
    pub bytes: u64,
    /// Size of which bandwidths are quoted: the buffer of a rank; of an all-to-all-v the mean of what a rank sends, to itself and within
    /// its server included.
    #[column(unit = "B")]
    #[computed(
        algbw_bps: Option<f64> = self.bandwidth(self.size_bytes),
        unit = "b/s",
        "algorithm bandwidth as nccl-tests has it: size_bytes over duration_ps; null: no time passed, or not complete"
    )]
    pub size_bytes: f64,
    /// \[bytes\] What counts for the bus bandwidth.
    #[column(skip)]
    #[computed(
        busbw_bps: Option<f64> = self.bandwidth(self.bus_bytes),
        unit = "b/s",
        "bus bandwidth as nccl-tests has it: algbw_bps times 2 (n - 1)/n for all-reduce, (n - 1)/n for all-gather, reduce-scatter and \
         all-to-all, 1 for point-to-point; of an all-to-all-v times the share that left the server"
    )]
    pub bus_bytes: f64,
    /// What the busiest host needs for its frames of the transfers that have begun, with all of its links: no network takes less.
    pub bound: Time,
}

impl CollectiveRow {
    fn duration(&self) -> Option<Time> {
        self.end.map(|end| end - self.start)
    }

    fn bandwidth(&self, bytes: f64) -> Option<f64> {
        let seconds = self.duration().filter(|time| *time > Time::ZERO)?.as_secs_f64();
        Some(bytes * 8.0 / seconds)
    }
}
