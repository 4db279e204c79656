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

/// One row per transfer of a job over the network, which is a flow, written when the transfer or the run ends.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, Table)]
#[table("transfers")]
pub struct TransferRow {
    /// flow_id of the transfer in the table flows.
    #[column(name = "flow_id")]
    pub flow: u64,
    /// Label of the job; its flows are in the groups JOB/STEP.
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
    /// Phase of the collective, from 0; always 0 if all transfers begin at once.
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
    /// Payload of the transfer.
    #[column(unit = "B")]
    pub bytes: u64,
    /// When all steps and transfers that it waited for were complete, and its flow started.
    pub start: Time,
    /// When the transfer was complete, as defined by job.complete_at; null: the run ended first.
    pub end: Option<Time>,
    /// The condition that let it begin.
    #[column(skip)]
    #[computed(
        after_flow: Option<u64> = self.release.flow,
        "flow_id of the last transfer to complete of those that it waited for; null: it waited for no transfer"
    )]
    #[computed(
        after_compute: Option<String> = self.release.computed.as_ref().map(ToString::to_string),
        "labels of the computations between the end of that transfer (or the start of the job) and its own start, in the form of `last_compute`; null: no computation"
    )]
    pub release: Release,
}

/// One row per round of an instance of a job, written when the round or the run ends.
#[derive(Clone, Debug, PartialEq, Table)]
#[table("rounds")]
pub struct RoundRow {
    /// Label of the job.
    pub job: Arc<str>,
    /// Instance of the job, from 0.
    pub instance: u32,
    /// Round of the instance, from 0.
    pub round: u64,
    /// When the first step of the round began at any rank, with a computation or a transfer.
    pub start: Time,
    /// When the last step of the round was complete at all ranks; null: the run ended first.
    #[computed(duration_ps: Option<Time> = self.end.map(|end| end - self.start), "end_ps - start_ps")]
    pub end: Option<Time>,
    /// The last transfer and computations to be complete; nothing for an unfinished round.
    #[column(skip)]
    #[computed(
        last_flow: Option<u64> = self.release.flow,
        "flow_id of the last transfer to complete before the end of the round; null: no transfer, or the round is not complete"
    )]
    #[computed(
        last_compute: Option<String> = self.release.computed.as_ref().map(ToString::to_string),
        "labels of the computations between that transfer and the end of the round, joined by +: the first 16 and the number of further ones; null: no computation"
    )]
    pub release: Release,
}

/// One row per instance of a job, written when its last round is complete or the run ends.
#[derive(Clone, Debug, PartialEq, Table)]
#[table("jobs")]
pub struct InstanceRow {
    /// Label of the job.
    pub job: Arc<str>,
    /// Instance of the job, from 0.
    pub instance: u32,
    /// Number of its ranks.
    #[column(unit = "ranks")]
    pub ranks: u32,
    /// Number of rounds that it has to complete.
    #[column(unit = "rounds")]
    pub rounds: u64,
    /// Number of complete rounds.
    #[column(name = "complete_rounds", unit = "rounds")]
    pub complete: u64,
    /// Planned start: job.start.
    pub start: Time,
    /// When the last round was complete; null: the run ended first.
    #[computed(
        duration_ps: Option<Time> = self.end.map(|end| end - self.start),
        "job completion time (JCT): end_ps - start_ps"
    )]
    pub end: Option<Time>,
}

/// One row per step of a job and port: data of the step that the port put on its link.
#[derive(Clone, Debug, PartialEq, Eq, Table)]
#[table("job_links")]
pub struct LoadRow {
    /// Label of the job.
    pub job: Arc<str>,
    /// Label of the step, or of the operation.
    pub step: Arc<str>,
    /// Name of the sending node.
    pub node: NodeId,
    /// Number of its port, from 0.
    pub port: Port,
    /// Name of the node at the other end of the link.
    pub peer: NodeId,
    /// Data frames of the step's flows put on the link, retransmissions included; without frames sent after their flow had ended.
    #[column(unit = "frames")]
    pub frames: u64,
    /// Bytes of these frames, with headers, without preamble and gap.
    #[column(unit = "B")]
    pub bytes: u64,
    /// Payload in these frames.
    #[column(name = "payload_bytes", unit = "B")]
    pub payload: u64,
}

/// One row per collective or point-to-point transfer of a job, written when it or the run ends.
#[derive(Clone, Debug, PartialEq, Table)]
#[table("collectives")]
pub struct CollectiveRow {
    /// Label of the job; its flows are in the groups JOB/STEP.
    pub job: Arc<str>,
    /// Label of the step, or of the operation.
    pub step: Arc<str>,
    /// Kind of the step, such as all-reduce or point-to-point.
    pub kind: &'static str,
    /// Algorithm: ring, halving-doubling, pairwise, or direct (all transfers at once).
    pub algorithm: &'static str,
    /// Index of the group of its flows.
    #[column(skip)]
    pub group: u32,
    /// Instance of the job, from 0.
    pub instance: u32,
    /// Round of the instance, from 0.
    pub round: u64,
    /// Number of the group of ranks within the step, from 0; for a point-to-point transfer: number of the pair.
    pub communicator: u32,
    /// Number of ranks in the group.
    #[column(unit = "ranks")]
    pub ranks: u32,
    /// When all that it waited for was complete, and its first transfers started.
    pub start: Time,
    /// When the last transfer was complete, as defined by job.complete_at; null: the run ended first.
    #[computed(duration_ps: Option<Time> = self.duration(), "end_ps - start_ps")]
    pub end: Option<Time>,
    /// Transfers over the network, in the phases that have begun.
    #[column(unit = "flows")]
    pub transfers: u64,
    /// Payload of these transfers.
    #[column(unit = "B")]
    pub bytes: u64,
    /// Size that the bandwidths refer to: the buffer of a rank; for an all-to-all-v: the mean of all that a rank sends, to itself and
    /// within its server included.
    #[column(unit = "B")]
    #[computed(
        algbw_bps: Option<f64> = self.bandwidth(self.size_bytes),
        unit = "b/s",
        "algorithm bandwidth as in nccl-tests: size_bytes / duration_ps; null: no time passed, or not complete"
    )]
    pub size_bytes: f64,
    /// \[bytes\] The size that counts for the bus bandwidth.
    #[column(skip)]
    #[computed(
        busbw_bps: Option<f64> = self.bandwidth(self.bus_bytes),
        unit = "b/s",
        "bus bandwidth as in nccl-tests: algbw_bps times 2 (n - 1)/n for all-reduce, (n - 1)/n for all-gather, reduce-scatter and \
         all-to-all, 1 for point-to-point, and for an all-to-all-v the share of bytes that left the server"
    )]
    pub bus_bytes: f64,
    /// Lower bound of duration_ps in any network: time that the busiest host needs for its frames of the transfers that have begun, over
    /// all its links.
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
