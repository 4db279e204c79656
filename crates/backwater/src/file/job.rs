//! `[[job]]`: computations and transfers that wait for each other, in steps or as a table of operations.

use super::hosts::Hosts;
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use std::borrow::Cow;

/// A job.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct JobEntry {
    /// What results call the job: its flows are the groups LABEL/STEP. Variants and `--set` name it by it: `job.LABEL.rounds`.
    #[param(default = "job".into(), range_text = "any text, another for each job", source = "Backwater's own")]
    pub label: String,
    /// Ranks of each instance, numbered from 0; each has a host of its own.
    #[param(bounds = 1..=1_000_000, source = "MPI 4.1 section 7.2: rank")]
    pub ranks: u32,
    /// Instances of the job, each with ranks of its own. They start together and share nothing but the network.
    #[param(default = 1, bounds = 1..=1_000_000, source = "Backwater's own; 1: choice")]
    pub instances: u32,
    /// Hosts on which ranks are placed. Absent: all.
    #[param(source = "Backwater's own")]
    pub hosts: Option<Hosts>,
    /// Which of `hosts` the ranks are, instance by instance: in their order (`consecutive`), servers `stride` apart (`strided`), or at random by the seed (`random`). A server's ranks stay together.
    #[param(default = Placement::Consecutive, source = "Backwater's own; consecutive: choice")]
    pub placement: Placement,
    /// `strided`: servers from one of an instance to its next; with 16 hosts at each leaf and one rank a server, a stride of 16 puts each on another leaf. Absent: as many as instances fit into `hosts`.
    #[param(bounds = 1..=1_000_000, source = "Backwater's own")]
    pub stride: Option<u32>,
    /// Consecutive ranks in one server; `ranks` is a multiple of it. Transfers between them do not use the network and take no time; with 1 all transfers use it.
    #[param(default = 1, bounds = 1..=1_000_000, source = "Backwater's own; 1: choice; servers of AI clusters: 8")]
    pub ranks_per_server: u32,
    /// When the first round begins.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own; 0: choice")]
    pub start: Time,
    /// How often the steps are done, all of them in each round.
    #[param(default = 1, bounds = 1..=1_000_000_000_000, source = "Backwater's own; 1: choice")]
    pub rounds: u64,
    /// Most rounds of an instance at once: round b begins when round b - `rounds_in_flight` is complete. With 1 a round waits for all of the one before; with more, rounds follow each other as in a pipeline, each step at each of its ranks in the order of rounds.
    #[param(default = 1, bounds = 1..=1_000_000, source = "Backwater's own; 1: choice; pipelines: the micro-batches in flight (Narayanan et al., SC 2021)")]
    pub rounds_in_flight: u64,
    /// When a transfer is complete: its receiver has the `last-byte`, or its sender the `last-ack`.
    #[param(default = CompleteAt::LastByte, source = "choice: what the next step needs is the data; last-ack: the sender's completion queue")]
    pub complete_at: CompleteAt,
    /// What lies between the end of what a transfer waits for, or the job's start, and its entering the network: software at both ends, such as the launch of a kernel. The time of a transfer in `transfers` and of collectives has it, the time of its flow does not. With 0 a run stays on one thread.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own; 0: choice")]
    pub start_latency: Time,
    /// Class of the data, 0 to 7.
    #[param(default = 3, bounds = 0..=7, source = "IEEE 802.1Q clause 6.9.3 (priority); 3: choice, RoCEv2 deployments commonly use it")]
    pub class: u8,
    /// Whether the packets are ECN-capable.
    #[param(default = true, source = "RFC 3168 section 5 (ECT); on: choice, as DCQCN needs it")]
    pub ect: bool,
    /// Queue pairs over which each transfer goes, each a flow of its own to ECMP, rate control and recovery.
    #[param(default = 1, bounds = 1..=128, source = "NCCL: NCCL_IB_QPS_PER_CONNECTION, 1 to 128; 1: choice")]
    pub queue_pairs: u32,
    /// Payload of the segments into which a message is cut, each of which goes to the next of its `queue_pairs`. Absent: a segment for each queue pair, all of a length.
    #[param(
        range_text = "multiples of packet.payload",
        source = "Backwater's own; NCCL: NCCL_IB_SPLIT_DATA_ON_QPS is absent where it is 1"
    )]
    pub segment: Option<Bytes>,
    /// Whether queue pairs outlive a message: the messages from one host to another follow each other on them, with one row of packet numbers, one window and one rate. `false`: each message has fresh ones. Needs `transport.recovery`.
    #[param(
        default = false,
        source = "InfiniBand specification, volume 1, chapter 9 (queue pairs); UEC 1.0 (PDCs); false: choice"
    )]
    pub keep_queue_pairs: bool,
    /// File with one operation a row instead of steps, relative to the scenario: `.csv` or `.parquet` with the columns id, rank, kind (`send` or `compute`), and maybe peer, bytes, time, after, after_ack, needs, start, class, label and stream.
    #[param(
        range_text = "a file whose name ends in .csv or .parquet",
        source = "Backwater's own; CSV: RFC 4180, Parquet: Apache Parquet"
    )]
    pub operations: Option<String>,
    /// A training pipeline instead of steps: stages that pass micro-batches on.
    #[param(source = "Narayanan et al., SC 2021")]
    pub pipeline: Option<PipelineEntry>,
    /// The steps of a round, a `[[job.step]]` each.
    #[serde(default)]
    pub step: Vec<StepEntry>,
}

/// A pipeline: the ranks are `stages` groups in a row, of which each rank sends to its like in the next. Each stage computes passes of micro-batches in the order of the schedule; a pass waits for what it needs from another stage.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineEntry {
    /// Number of stages; `ranks` is a multiple of it.
    #[param(bounds = 2..=100_000, source = "Narayanan et al., SC 2021: p")]
    pub stages: u32,
    /// Micro-batches of a training step.
    #[param(bounds = 1..=100_000, source = "Narayanan et al., SC 2021: m")]
    pub micro_batches: u32,
    /// In which order a stage computes: all forward passes, then all backward (`gpipe`), one of each in turns (`1f1b`), or so with several `chunks` of the model on each stage (`interleaved`).
    #[param(default = ScheduleName::OneForwardOneBackward, source = "Huang et al., NeurIPS 2019; Narayanan et al., ICML 2021 and SC 2021; 1f1b: choice")]
    pub schedule: ScheduleName,
    /// `interleaved`: chunks of the model on each stage.
    #[param(default = 1, bounds = 1..=1_000, source = "Narayanan et al., SC 2021: v; 1: choice")]
    pub chunks: u32,
    /// Time of a forward pass of a micro-batch through a chunk.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub forward: Time,
    /// Time of a backward pass of a micro-batch through a chunk. Absent: twice `forward`.
    #[param(range_text = "0 s and more", source = "Narayanan et al., SC 2021: backward passes take twice as long")]
    pub backward: Option<Time>,
    /// Payload that each rank sends for a micro-batch: activations to the next stage, and as many gradients back.
    #[param(bounds = Bytes(1).., source = "Narayanan et al., SC 2021: b s h values")]
    pub size: Bytes,
}

/// The order of passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleName {
    /// All forward passes, then all backward.
    Gpipe,
    /// One forward, one backward in turns.
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
    /// The same, with several chunks of the model on each stage.
    Interleaved,
}

/// A step of a job.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct StepEntry {
    /// What results and `after` call the step.
    #[param(default = "step".into(), range_text = "any text, another for each step of the job", source = "Backwater's own")]
    pub label: String,
    /// What its ranks do.
    #[param(source = "MPI 4.1 chapters 3 and 6; nccl-tests")]
    pub kind: StepKind,
    /// `compute`: for how long.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub time: Option<Time>,
    /// Payload. Of `all-reduce`, `all-gather` and `reduce-scatter` the whole buffer of a rank, of which each part is 1/n; of `dispatch` and `combine` a copy of a token; of other transfers what `size_of` says.
    #[param(bounds = Bytes(1).., source = "nccl-tests, doc/PERFORMANCE.md: size")]
    pub size: Option<Bytes>,
    /// `all-to-all-v`: whether `size` is that of each `transfer`, or what each `sender` sends in all, split evenly among its receivers in other servers.
    #[param(default = SizeOf::Transfer, source = "Backwater's own; transfer: choice")]
    pub size_of: SizeOf,
    /// How it is done: `ring` (default), `halving-doubling` or `hierarchical` for `all-reduce`, `all-gather` and `reduce-scatter`, `tree` for `all-reduce`, too; `direct` (default, all transfers at once) or `pairwise` for `all-to-all`.
    #[param(source = "Thakur, Rabenseifner and Gropp, IJHPCA 19 (2005); defaults: choice, as NCCL does")]
    pub algorithm: Option<AlgorithmName>,
    /// `tree`: parts in which the buffer goes up and down, one behind the other.
    #[param(bounds = 1..=1_000_000, source = "Sanders, Speck and Träff, Parallel Computing 35 (2009): pipelining; absent, 1: choice")]
    pub chunks: Option<u32>,
    /// `all-to-all-v`: receivers that each rank draws anew in every round. `sizes` says it otherwise.
    #[param(bounds = 1..=1_000_000, source = "Backwater's own; experts a token goes to in a mixture of experts: Fedus et al., JMLR 23 (2022)")]
    pub fan_out: Option<u32>,
    /// `all-to-all-v`: how they are drawn: each rank by itself (`random`), or such that every rank is drawn equally often (`balanced`).
    #[param(default = ChoiceName::Random, source = "Backwater's own; random: choice")]
    pub choice: ChoiceName,
    /// `all-to-all-v`: whether a rank may draw itself, which is no transfer.
    #[param(default = false, source = "Backwater's own; off: choice")]
    pub with_self: bool,
    /// `all-to-all-v`: payload from each rank of a group to each, a list for every sender; "0 B" is no transfer. Instead of `size` and `fan_out`.
    #[param(source = "MPI 4.1 section 6.8: MPI_Alltoallv")]
    pub sizes: Option<SizeMatrix>,
    /// `dispatch`: tokens of each rank.
    #[param(bounds = 1..=10_000_000, source = "DeepSeek-V3, arXiv 2412.19437: tokens of a batch")]
    pub tokens: Option<u32>,
    /// `dispatch`: experts of a group, in equal blocks on its ranks; a multiple of them. Absent: one a rank.
    #[param(bounds = 1..=1_000_000, source = "Shazeer et al., ICLR 2017: n experts")]
    pub experts: Option<u32>,
    /// `dispatch`: experts of each token.
    #[param(bounds = 1..=1_000, source = "Shazeer et al., ICLR 2017: k of top-k gating")]
    pub top_k: Option<u32>,
    /// `dispatch`: how unlike experts are in popularity: the i-th most popular is drawn in proportion to i^-`skew`. Which expert is how popular is drawn once for the step.
    #[param(default = 0.0, bounds = 0.0..=100.0, source = "Zipf's law; 0, all alike: choice, what load balancing losses aim at")]
    pub skew: f64,
    /// `dispatch`: most servers in which a token's experts are. Absent: any number.
    #[param(bounds = 1..=1_000_000, source = "DeepSeek-V3, arXiv 2412.19437, section 2.1.2: M of node-limited routing")]
    pub server_limit: Option<u32>,
    /// `dispatch`: where copies of a token go: one to each `rank` that has one of its experts, or one to each `server` that has, to the rank at the sender's own place there, which forwards it within the server.
    #[param(default = CopiesTo::Rank, source = "DeepSeek-V3, arXiv 2412.19437, section 3.2.2 (server); rank: choice")]
    pub copies: CopiesTo,
    /// `combine`: label of the `dispatch` step whose tokens come back, from the same ranks in the same groups.
    #[param(range_text = "label of a dispatch step of the job", source = "Backwater's own")]
    pub of: Option<String>,
    /// Ranks that take part. Absent: all.
    #[schemars(extend("examples" = [3, "0..7", [0, 4, "8..11"]]))]
    #[param(
        unit = "rank numbers",
        range_text = "ranks of the job: 3, \"0..7\", \"0..7 step 2\", or a list of those",
        source = "Backwater's own"
    )]
    pub ranks: Option<Hosts>,
    /// The ranks act in groups of so many, each by itself. Absent: all in one; of `compute` each rank alone.
    #[param(bounds = 1..=1_000_000, source = "MPI 4.1 chapter 7: communicators")]
    pub group_size: Option<u32>,
    /// From one rank of a group to its next, by their order in `ranks`: of 64 ranks, groups of 8 with a stride of 8 are those whose numbers are equal modulo 8.
    #[param(default = 1, bounds = 1..=1_000_000, source = "Backwater's own; 1: choice")]
    pub group_stride: u32,
    /// `point-to-point`: each rank r sends to rank r + `shift`, where there is one.
    #[param(bounds = -1_000_000..=1_000_000, source = "Backwater's own")]
    pub shift: Option<i64>,
    /// `point-to-point` with `shift`: after the last rank comes the first.
    #[param(default = false, source = "Backwater's own; off: choice")]
    pub wrap: bool,
    /// `point-to-point`: who sends to whom, instead of `shift`.
    #[param(source = "Backwater's own")]
    pub pairs: Option<RankPairs>,
    /// Steps of the same round that it waits for. A rank goes on when what they do there is complete; of point-to-point transfers, when what it receives has come. Absent: the step before it in the file; `[]`: none.
    #[param(range_text = "labels of steps of the job", source = "Backwater's own")]
    pub after: Option<Vec<String>>,
    /// Steps of the round before that it waits for, beside itself: for more than one round in flight.
    #[param(default = Vec::new(), range_text = "labels of steps of the job", source = "Backwater's own")]
    pub after_previous: Vec<String>,
    /// It does not begin before this time after the job's start.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own; 0: choice")]
    pub start: Time,
}

impl JobEntry {
    /// Returns whether it is a graph of operations, from a table or a pipeline, instead of steps.
    pub fn is_graph(&self) -> bool {
        self.operations.is_some() || self.pipeline.is_some()
    }
}

/// Which hosts the ranks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// One host after the other.
    Consecutive,
    /// Servers a stride apart.
    Strided,
    /// Servers in an order drawn by the seed.
    Random,
}

/// When a transfer is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompleteAt {
    /// When its receiver has its last byte.
    LastByte,
    /// When its sender has the last acknowledgement.
    LastAck,
}

/// What ranks do in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// Compute for a `time`.
    Compute,
    /// One sends to one other: by `shift` or `pairs`.
    PointToPoint,
    /// The sum of all buffers at every rank.
    AllReduce,
    /// The parts of all at every rank.
    AllGather,
    /// A part of the sum at every rank.
    ReduceScatter,
    /// Each rank sends as much to every other.
    AllToAll,
    /// Each rank sends to some others (`fan_out`), or what `sizes` says.
    AllToAllV,
    /// Each rank sends its `tokens` to their experts, drawn anew in every round.
    Dispatch,
    /// The experts send the tokens of a `dispatch` back.
    Combine,
}

/// Where copies of a token go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopiesTo {
    /// One to each rank that has one of its experts.
    Rank,
    /// One to each server that has.
    Server,
}

/// What a size is the size of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SizeOf {
    /// Of each transfer.
    Transfer,
    /// Of all that a rank sends in the step.
    Sender,
}

/// How a collective is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmName {
    /// From each to the next, round a ring.
    Ring,
    /// With partners at halving, then doubling distance; for 2, 4, 8, … ranks.
    HalvingDoubling,
    /// Within servers first, which takes no time, then round rings of the ranks at one place in each.
    Hierarchical,
    /// Up a binary tree, and down again.
    Tree,
    /// All transfers at once.
    Direct,
    /// To the next, then the next but one, and so on; one at a time.
    Pairwise,
}

/// How receivers are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChoiceName {
    /// By each rank for itself, all sets being equally likely: a rank may be drawn by many.
    Random,
    /// Such that every rank is drawn equally often.
    Balanced,
}

/// Sizes from each rank to each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SizeMatrix(pub Vec<Vec<Bytes>>);

/// Senders and receivers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RankPairs(pub Vec<[u32; 2]>);

// By hand, since the messages for nested lists would not name their elements.
impl<'de> Deserialize<'de> for SizeMatrix {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<SizeMatrix, D::Error> {
        let value = serde_json::Value::deserialize(d)?;
        serde_json::from_value(value).map(SizeMatrix).map_err(|e| {
            de::Error::custom(format!(
                "{e} (hint: a list of sizes for every sender, as in [[\"0 B\", \"1 MB\"], [\"2 MB\", \"0 B\"]])"
            ))
        })
    }
}

impl<'de> Deserialize<'de> for RankPairs {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<RankPairs, D::Error> {
        let value = serde_json::Value::deserialize(d)?;
        serde_json::from_value(value).map(RankPairs).map_err(|_| {
            de::Error::custom("no list of pairs of ranks (hint: [sender, receiver] each, as in [[0, 4], [1, 5]])")
        })
    }
}

impl JsonSchema for SizeMatrix {
    fn schema_name() -> Cow<'static, str> {
        "SizeMatrix".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": { "type": ["array", "string"] }, "x-unit": "sizes (B, KB = 1000 B, MB, …)",
            "x-range": "0 B and more; as many lists of as many sizes as a group has ranks",
            "examples": [[["0 B", "1 MB"], ["2 MB", "0 B"]]] })
    }
    fn inline_schema() -> bool {
        true
    }
}

impl JsonSchema for RankPairs {
    fn schema_name() -> Cow<'static, str> {
        "RankPairs".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": { "type": ["array", "string"] }, "x-unit": "pairs of rank numbers",
            "x-range": "pairs of ranks of the job", "examples": [[[0, 4], [1, 5]]] })
    }
    fn inline_schema() -> bool {
        true
    }
}
