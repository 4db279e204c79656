//! The columns of the tables of jobs.

use super::{Spec, always, maybe};
use arrow_schema::DataType;

pub(super) const JOBS: &[Spec] = &[
    always("job", DataType::Utf8, "", "label of the job"),
    always("instance", DataType::UInt32, "", "instance of the job, from 0"),
    always("ranks", DataType::UInt32, "ranks", "its ranks"),
    always("rounds", DataType::UInt64, "rounds", "rounds that it is to do"),
    always("complete_rounds", DataType::UInt64, "rounds", "rounds that are complete"),
    always("start_ps", DataType::Int64, "ps", "when it was to start: job.start"),
    maybe("end_ps", DataType::Int64, "ps", "when its last round was complete; null: the run ended first"),
    maybe("duration_ps", DataType::Int64, "ps", "job completion time (JCT): end_ps - start_ps"),
];

pub(super) const ROUNDS: &[Spec] = &[
    always("job", DataType::Utf8, "", "label of the job"),
    always("instance", DataType::UInt32, "", "instance of the job, from 0"),
    always("round", DataType::UInt64, "", "round of the instance, from 0"),
    always("start_ps", DataType::Int64, "ps", "when its first step began at any rank, a computation or a transfer"),
    maybe("end_ps", DataType::Int64, "ps", "when its last step was complete at all ranks; null: the run ended first"),
    maybe("duration_ps", DataType::Int64, "ps", "end_ps - start_ps"),
    maybe(
        "last_flow",
        DataType::UInt64,
        "",
        "flow_id of the transfer that completed last on the way to the end; null: none, or not complete",
    ),
    maybe(
        "last_compute",
        DataType::Utf8,
        "",
        "labels of the computations that followed it up to the end, joined by +, 16 at most and how many more; null: none",
    ),
];

pub(super) const TRANSFERS: &[Spec] = &[
    always("flow_id", DataType::UInt64, "", "its flow in the table flows"),
    always("job", DataType::Utf8, "", "label of the job; its flows are those of group job/step"),
    always("step", DataType::Utf8, "", "label of the step, or of the operation"),
    always("instance", DataType::UInt32, "", "instance of the job, from 0"),
    always("round", DataType::UInt64, "", "round of the instance, from 0"),
    always("communicator", DataType::UInt32, "", "number of the group of ranks within the step, from 0"),
    always("phase", DataType::UInt32, "", "phase of the collective, from 0; 0 where all transfers begin at once"),
    always("src_rank", DataType::UInt32, "rank", "sending rank of the instance"),
    always("dst_rank", DataType::UInt32, "rank", "receiving rank of the instance"),
    always("src", DataType::UInt32, "host number", "sending host"),
    always("dst", DataType::UInt32, "host number", "receiving host"),
    always("bytes", DataType::UInt64, "B", "payload"),
    always("start_ps", DataType::Int64, "ps", "when all that it waited for was complete, and its flow started"),
    maybe("end_ps", DataType::Int64, "ps", "when it was complete, as job.complete_at says; null: the run ended first"),
    maybe(
        "after_flow",
        DataType::UInt64,
        "",
        "flow_id of the transfer that was complete last of all that it waited for; null: it waited for none",
    ),
    maybe(
        "after_compute",
        DataType::Utf8,
        "",
        "labels of the computations between that transfer (or the start of the job) and its own start, written like `last_compute`; null: none",
    ),
];

pub(super) const JOB_LINKS: &[Spec] = &[
    always("job", DataType::Utf8, "", "label of the job"),
    always("step", DataType::Utf8, "", "label of the step, or of the operation"),
    always("node", DataType::Utf8, "", "name of the node that sent"),
    always("port", DataType::UInt32, "", "number of its port, from 0"),
    always("peer", DataType::Utf8, "", "name of the node at the other end of the link"),
    always(
        "frames",
        DataType::UInt64,
        "frames",
        "data frames of the step's flows put on the link, those sent again included; not what still came of a flow that was over",
    ),
    always("bytes", DataType::UInt64, "B", "bytes of these frames, headers included, preamble and gap not"),
    always("payload_bytes", DataType::UInt64, "B", "payload in these frames"),
];

pub(super) const COLLECTIVES: &[Spec] = &[
    always("job", DataType::Utf8, "", "label of the job; its flows are those of group job/step"),
    always("step", DataType::Utf8, "", "label of the step, or of the operation"),
    always("kind", DataType::Utf8, "", "what was done, such as all-reduce or point-to-point"),
    always("algorithm", DataType::Utf8, "", "how: ring, halving-doubling, pairwise, or direct (all transfers at once)"),
    always("instance", DataType::UInt32, "", "instance of the job, from 0"),
    always("round", DataType::UInt64, "", "round of the instance, from 0"),
    always(
        "communicator",
        DataType::UInt32,
        "",
        "number of the group of ranks (of a point-to-point transfer: of the pair) within the step, from 0",
    ),
    always("ranks", DataType::UInt32, "ranks", "ranks of the group"),
    always(
        "start_ps",
        DataType::Int64,
        "ps",
        "when all that it waited for was complete, and its first transfers started",
    ),
    maybe(
        "end_ps",
        DataType::Int64,
        "ps",
        "when its last transfer was complete, as job.complete_at says; null: the run ended first",
    ),
    maybe("duration_ps", DataType::Int64, "ps", "end_ps - start_ps"),
    always("transfers", DataType::UInt64, "flows", "transfers over the network, by phases that have begun"),
    always("bytes", DataType::UInt64, "B", "payload of these transfers"),
    always(
        "size_bytes",
        DataType::Float64,
        "B",
        "size of which bandwidths are quoted: the buffer of a rank; of an all-to-all-v the mean of what a rank sends, to itself and within its server included",
    ),
    maybe(
        "algbw_bps",
        DataType::Float64,
        "b/s",
        "algorithm bandwidth as nccl-tests has it: size_bytes over duration_ps; null: no time passed, or not complete",
    ),
    maybe(
        "busbw_bps",
        DataType::Float64,
        "b/s",
        "bus bandwidth as nccl-tests has it: algbw_bps times 2 (n - 1)/n for all-reduce, (n - 1)/n for all-gather, reduce-scatter and all-to-all, 1 for point-to-point; of an all-to-all-v times the share that left the server",
    ),
    always(
        "bound_ps",
        DataType::Int64,
        "ps",
        "what the busiest host needs for its frames of the transfers that have begun, with all of its links: no network takes less",
    ),
];
