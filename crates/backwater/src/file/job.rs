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
    /// Name of the job in results: its flows are in the groups LABEL/STEP. Variants and `--set` use it, too: `job.LABEL.rounds`.
    #[param(default = "job".into(), range_text = "any text, another for each job", source = "Backwater's own")]
    pub label: String,
    /// Ranks of each instance, numbered from 0; each has a host of its own.
    #[param(bounds = 1..=1_000_000, source = "MPI 4.1 section 7.2: rank")]
    pub ranks: u32,
    /// Number of instances of the job, each with its own ranks. They start together and share nothing but the network.
    #[param(default = 1, bounds = 1..=1_000_000, source = "Backwater's own; 1: choice")]
    pub instances: u32,
    /// Hosts that ranks are placed on. Absent: all.
    #[param(source = "Backwater's own")]
    pub hosts: Option<Hosts>,
    /// How ranks are placed on `hosts`, instance by instance: in the order of `hosts` (`consecutive`), with servers `stride` apart
    /// (`strided`), or at random by the seed (`random`). A server's ranks stay together.
    #[param(default = Placement::Consecutive, source = "Backwater's own; consecutive: choice")]
    pub placement: Placement,
    /// `strided`: distance in servers between two servers of an instance. With 16 hosts at each leaf and one rank per server, a stride of
    /// 16 puts each rank on another leaf. Absent: the number of instances that fit into `hosts`.
    #[param(bounds = 1..=1_000_000, source = "Backwater's own")]
    pub stride: Option<u32>,
    /// Number of consecutive ranks in one server; divides `ranks`. Transfers within a server do not use the network and take no time; with
    /// 1 all transfers use the network.
    #[param(default = 1, bounds = 1..=1_000_000, source = "Backwater's own; 1: choice; servers of AI clusters: 8")]
    pub ranks_per_server: u32,
    /// Time at which the first round begins.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own; 0: choice")]
    pub start: Time,
    /// Number of rounds; each round executes all steps.
    #[param(default = 1, bounds = 1..=1_000_000_000_000, source = "Backwater's own; 1: choice")]
    pub rounds: u64,
    /// Most rounds of an instance in progress at once: round b begins when round b - `rounds_in_flight` is complete. With 1 a round waits
    /// until the previous one is complete. With more, rounds overlap as in a pipeline; each rank executes each step in the order of rounds.
    #[param(default = 1, bounds = 1..=1_000_000, source = "Backwater's own; 1: choice; pipelines: the micro-batches in flight (Narayanan et al., SC 2021)")]
    pub rounds_in_flight: u64,
    /// Event that completes a transfer: its receiver has the `last-byte`, or its sender the `last-ack`.
    #[param(default = CompleteAt::LastByte, source = "choice: what the next step needs is the data; last-ack: the sender's completion queue")]
    pub complete_at: CompleteAt,
    /// Delay of each transfer in software at both ends, such as the launch of a kernel: from the end of its last dependency, or the job's
    /// start, until it enters the network. Times in `transfers` and `collectives` include it, the time of its flow does not. With 0 a run
    /// uses one thread.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own; 0: choice")]
    pub start_latency: Time,
    /// Class of the data, 0 to 7.
    #[param(default = 3, bounds = 0..=7, source = "IEEE 802.1Q clause 6.9.3 (priority); 3: choice, RoCEv2 deployments commonly use it")]
    pub class: u8,
    /// Whether the packets are ECN-capable.
    #[param(default = true, source = "RFC 3168 section 5 (ECT); on: choice, as DCQCN needs it")]
    pub ect: bool,
    /// Number of queue pairs for each transfer. Each has its own ECMP hash, rate control and recovery.
    #[param(default = 1, bounds = 1..=128, source = "NCCL: NCCL_IB_QPS_PER_CONNECTION, 1 to 128; 1: choice")]
    pub queue_pairs: u32,
    /// Payload of the segments into which a message is divided. They go to its `queue_pairs` in turn. Absent: one segment for each queue
    /// pair, of equal length.
    #[param(
        range_text = "multiples of packet.payload",
        source = "Backwater's own; NCCL: NCCL_IB_SPLIT_DATA_ON_QPS is absent where it is 1"
    )]
    pub segment: Option<Bytes>,
    /// Whether messages from one host to another share queue pairs one after the other, with one sequence of packet numbers, one window and
    /// one rate. `false`: each message has new queue pairs. Needs `transport.recovery`.
    #[param(
        default = false,
        source = "InfiniBand specification, volume 1, chapter 9 (queue pairs); UEC 1.0 (PDCs); false: choice"
    )]
    pub keep_queue_pairs: bool,
    /// File with one operation per row instead of steps, relative to the scenario: `.csv` or `.parquet` with the columns id, rank and kind
    /// (`send` or `compute`). Optional columns: peer, bytes, time, after, after_ack, needs, start, class, label and stream.
    #[param(
        range_text = "a file whose name ends in .csv or .parquet",
        source = "Backwater's own; CSV: RFC 4180, Parquet: Apache Parquet"
    )]
    pub operations: Option<String>,
    /// A training pipeline instead of steps: its stages pass micro-batches on.
    #[param(source = "Narayanan et al., SC 2021")]
    pub pipeline: Option<PipelineEntry>,
    /// The steps of a round, a `[[job.step]]` each.
    #[serde(default)]
    pub step: Vec<StepEntry>,
}

/// A pipeline: the ranks form `stages` groups in a row, and each rank sends to the rank at its place in the next group. Each stage computes
/// passes of micro-batches in the order of the schedule; a pass waits for the data that it needs from another stage.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineEntry {
    /// Number of stages; divides `ranks`.
    #[param(bounds = 2..=100_000, source = "Narayanan et al., SC 2021: p")]
    pub stages: u32,
    /// Number of micro-batches in a training step.
    #[param(bounds = 1..=100_000, source = "Narayanan et al., SC 2021: m")]
    pub micro_batches: u32,
    /// Order in which a stage computes: all forward passes, then all backward passes (`gpipe`), one of each in turn (`1f1b`), or the latter
    /// with several `chunks` of the model on each stage (`interleaved`).
    #[param(default = ScheduleName::OneForwardOneBackward, source = "Huang et al., NeurIPS 2019; Narayanan et al., ICML 2021 and SC 2021; 1f1b: choice")]
    pub schedule: ScheduleName,
    /// `interleaved`: number of chunks of the model on each stage.
    #[param(default = 1, bounds = 1..=1_000, source = "Narayanan et al., SC 2021: v; 1: choice")]
    pub chunks: u32,
    /// Time of a forward pass of a micro-batch through a chunk.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub forward: Time,
    /// Time of a backward pass of a micro-batch through a chunk. Absent: twice `forward`.
    #[param(range_text = "0 s and more", source = "Narayanan et al., SC 2021: backward passes take twice as long")]
    pub backward: Option<Time>,
    /// Payload that each rank sends for a micro-batch: activations to the next stage, and gradients of the same size back.
    #[param(bounds = Bytes(1).., source = "Narayanan et al., SC 2021: b s h values")]
    pub size: Bytes,
}

/// The order of passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleName {
    /// All forward passes, then all backward passes.
    Gpipe,
    /// One forward pass and one backward pass in turn.
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
    /// The same, with several chunks of the model on each stage.
    Interleaved,
}

/// A step of a job.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct StepEntry {
    /// Name of the step in results and in `after`.
    #[param(default = "step".into(), range_text = "any text, another for each step of the job", source = "Backwater's own")]
    pub label: String,
    /// Kind of the step: a computation, a transfer or a collective of its ranks.
    #[param(source = "MPI 4.1 chapters 3 and 6; nccl-tests")]
    pub kind: StepKind,
    /// `compute`: duration of the computation.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub time: Option<Time>,
    /// Payload. For `all-reduce`, `all-gather` and `reduce-scatter`: the whole buffer of a rank, each part being 1/n of it. For `dispatch`
    /// and `combine`: a copy of a token. For other transfers: as `size_of` specifies.
    #[param(bounds = Bytes(1).., source = "nccl-tests, doc/PERFORMANCE.md: size")]
    pub size: Option<Bytes>,
    /// `all-to-all-v`: what `size` refers to: each `transfer`, or each `sender`, which splits it evenly among its receivers in other
    /// servers.
    #[param(default = SizeOf::Transfer, source = "Backwater's own; transfer: choice")]
    pub size_of: SizeOf,
    /// Algorithm: `ring` (default), `halving-doubling` or `hierarchical` for `all-reduce`, `all-gather` and `reduce-scatter`; `tree` for
    /// `all-reduce`, too; `direct` (default, all transfers at once) or `pairwise` for `all-to-all`.
    #[param(source = "Thakur, Rabenseifner and Gropp, IJHPCA 19 (2005); defaults: choice, as NCCL does")]
    pub algorithm: Option<AlgorithmName>,
    /// `ring`: number of rings side by side, each with an equal part of the buffer. In a server of m ranks of the group ring k enters and
    /// leaves by the interface of its rank k modulo m, as NCCL does with an interface for each GPU. Absent: one ring, which leaves a server
    /// by its last rank and enters by its first.
    #[param(bounds = 1..=1_024, source = "NCCL: channels (NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS), with NCCL_CROSS_NIC=0; absent: choice")]
    pub channels: Option<u32>,
    /// `tree`: number of parts in which the buffer goes up and down the tree, one behind the other.
    #[param(bounds = 1..=1_000_000, source = "Sanders, Speck and Träff, Parallel Computing 35 (2009): pipelining; absent, 1: choice")]
    pub chunks: Option<u32>,
    /// `all-to-all-v`: number of receivers that each rank draws anew in each round, if `sizes` is absent.
    #[param(bounds = 1..=1_000_000, source = "Backwater's own; experts a token goes to in a mixture of experts: Fedus et al., JMLR 23 (2022)")]
    pub fan_out: Option<u32>,
    /// `all-to-all-v`: how receivers are drawn: by each rank independently (`random`), or with each rank drawn equally often (`balanced`).
    #[param(default = ChoiceName::Random, source = "Backwater's own; random: choice")]
    pub choice: ChoiceName,
    /// `all-to-all-v`: whether a rank may draw itself, which causes no transfer.
    #[param(default = false, source = "Backwater's own; off: choice")]
    pub with_self: bool,
    /// `all-to-all-v`: payload from each rank of a group to each, one list per sender; "0 B" means no transfer. Instead of `size` and
    /// `fan_out`.
    #[param(source = "MPI 4.1 section 6.8: MPI_Alltoallv")]
    pub sizes: Option<SizeMatrix>,
    /// `dispatch`: number of tokens of each rank.
    #[param(bounds = 1..=10_000_000, source = "DeepSeek-V3, arXiv 2412.19437: tokens of a batch")]
    pub tokens: Option<u32>,
    /// `dispatch`: number of experts of a group, in equal blocks on its ranks; a multiple of the number of its ranks. Absent: one per rank.
    #[param(bounds = 1..=1_000_000, source = "Shazeer et al., ICLR 2017: n experts")]
    pub experts: Option<u32>,
    /// `dispatch`: number of experts for each token.
    #[param(bounds = 1..=1_000, source = "Shazeer et al., ICLR 2017: k of top-k gating")]
    pub top_k: Option<u32>,
    /// `dispatch`: inequality of the experts' popularity: the i-th most popular expert is drawn in proportion to i^-`skew`. The order of
    /// popularity is drawn once for the step.
    #[param(default = 0.0, bounds = 0.0..=100.0, source = "Zipf's law; 0, all alike: choice, what load balancing losses aim at")]
    pub skew: f64,
    /// `dispatch`: most servers among which a token's experts are spread. Absent: no limit.
    #[param(bounds = 1..=1_000_000, source = "DeepSeek-V3, arXiv 2412.19437, section 2.1.2: M of node-limited routing")]
    pub server_limit: Option<u32>,
    /// `dispatch`: receivers of a token's copies: each `rank` with one of its experts, or each `server` with one. In the server the rank at
    /// the sender's place receives the copy, and forwards it within the server.
    #[param(default = CopiesTo::Rank, source = "DeepSeek-V3, arXiv 2412.19437, section 3.2.2 (server); rank: choice")]
    pub copies: CopiesTo,
    /// `combine`: label of the `dispatch` step whose tokens return, from the same ranks in the same groups.
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
    /// Number of ranks in a group; each group acts independently. Absent: all ranks in one group; for `compute` each rank alone.
    #[param(bounds = 1..=1_000_000, source = "MPI 4.1 chapter 7: communicators")]
    pub group_size: Option<u32>,
    /// Distance between consecutive ranks of a group, in their order in `ranks`. Among 64 ranks, groups of 8 with a stride of 8 are those
    /// whose numbers are equal modulo 8.
    #[param(default = 1, bounds = 1..=1_000_000, source = "Backwater's own; 1: choice")]
    pub group_stride: u32,
    /// `point-to-point`: each rank r sends to rank r + `shift`, if that rank exists.
    #[param(bounds = -1_000_000..=1_000_000, source = "Backwater's own")]
    pub shift: Option<i64>,
    /// `point-to-point` with `shift`: whether the first rank follows the last one.
    #[param(default = false, source = "Backwater's own; off: choice")]
    pub wrap: bool,
    /// `point-to-point`: pairs of senders and receivers, instead of `shift`.
    #[param(source = "Backwater's own")]
    pub pairs: Option<RankPairs>,
    /// Steps of the same round that this step waits for. A rank continues when these steps are complete at it, and for point-to-point
    /// transfers when the data that it receives has arrived. Absent: the previous step in the file; `[]`: none.
    #[param(range_text = "labels of steps of the job", source = "Backwater's own")]
    pub after: Option<Vec<String>>,
    /// Steps of the previous round that this step waits for, besides itself: for more than one round in flight.
    #[param(default = Vec::new(), range_text = "labels of steps of the job", source = "Backwater's own")]
    pub after_previous: Vec<String>,
    /// Start-up latency of an exchange in software: from its start, which rows of `collectives` give, until its first messages. Absent: that
    /// of `protocol`, or none.
    #[param(range_text = "0 s and more", source = "NCCL src/graph/tuning.cc: baseLat; absent, none: choice")]
    pub latency: Option<Time>,
    /// Latency of each message between servers in software, beside the job's `start_latency`: from the end of its last wait until it enters
    /// the network. Absent: that of `protocol`, or none.
    #[param(range_text = "0 s and more", source = "NCCL src/graph/tuning.cc: hwLat; absent, none: choice")]
    pub message_latency: Option<Time>,
    /// Protocol of NCCL that `ring`, `hierarchical` and `tree` follow. It sets `latency` and `message_latency` to NCCL's own estimates for
    /// the algorithm, and adds flags to the data: `ll` sends 8 B for 4 B of data, `ll128` 128 B for 120 B. Absent: none of this.
    #[param(source = "NCCL (NVIDIA/nccl b6475625), src/graph/tuning.cc; NCCL_PROTO")]
    pub protocol: Option<Protocol>,
    /// Earliest start of the step, relative to the job's start.
    #[param(default = Time::ZERO, range_text = "0 s and more", source = "Backwater's own; 0: choice")]
    pub start: Time,
}

impl JobEntry {
    /// Returns whether it is a graph of operations, from a table or a pipeline, instead of steps.
    pub fn is_graph(&self) -> bool {
        self.operations.is_some() || self.pipeline.is_some()
    }
}

/// Protocol of a collective between servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Data in large parts, each followed by a flag.
    Simple,
    /// Low latency: 4 B of data and 4 B of flag.
    Ll,
    /// Low latency: 120 B of data and 8 B of flag.
    Ll128,
}

/// How ranks are placed on hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// On consecutive hosts.
    Consecutive,
    /// On servers a stride apart.
    Strided,
    /// On servers in an order drawn by the seed.
    Random,
}

/// Event that completes a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompleteAt {
    /// Its receiver has the last byte.
    LastByte,
    /// Its sender has the last acknowledgement.
    LastAck,
}

/// Kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// Each rank computes for a `time`.
    Compute,
    /// Each rank sends to one other rank, by `shift` or `pairs`.
    PointToPoint,
    /// Each rank gets the sum of all buffers.
    AllReduce,
    /// Each rank gets the parts of all ranks.
    AllGather,
    /// Each rank gets a part of the sum.
    ReduceScatter,
    /// Each rank sends the same amount to each other rank.
    AllToAll,
    /// Each rank sends to some other ranks (`fan_out`), or the amounts in `sizes`.
    AllToAllV,
    /// Each rank sends its `tokens` to their experts, drawn anew in every round.
    Dispatch,
    /// The experts send the tokens of a `dispatch` back.
    Combine,
}

/// Receivers of a token's copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopiesTo {
    /// Each rank with one of its experts.
    Rank,
    /// Each server with one of its experts.
    Server,
}

/// Transfers that a size refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SizeOf {
    /// Each transfer.
    Transfer,
    /// All transfers of a rank in the step together.
    Sender,
}

/// Algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmName {
    /// From each rank to the next, around a ring.
    Ring,
    /// With partners at halving, then doubling distance; for 2, 4, 8, … ranks.
    HalvingDoubling,
    /// First within servers, which takes no time, then around rings of the ranks at the same place in each server.
    Hierarchical,
    /// Up a binary tree, and down again.
    Tree,
    /// All transfers at once.
    Direct,
    /// To the next rank, then the next but one, and so on; one transfer at a time.
    Pairwise,
}

/// How receivers are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChoiceName {
    /// By each rank independently, with all sets equally likely: several ranks may draw the same one.
    Random,
    /// With each rank drawn equally often.
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
