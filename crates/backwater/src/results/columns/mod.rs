//! The result tables and what their columns mean: the text that stands in every batch and every Parquet file.

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use backwater_mech::registry::ENTRIES;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

mod jobs;
mod queue_pairs;

/// A result table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// One row a flow.
    Flows,
    /// One row a queue pair of a message that goes over several.
    QueuePairs,
    /// One row a port.
    Ports,
    /// One row a control message.
    Control,
    /// One row a sample.
    Series,
    /// One row a switch.
    Switches,
    /// One row an instance of a job.
    Jobs,
    /// One row a round of an instance.
    Rounds,
    /// One row a collective of a job.
    Collectives,
    /// One row a transfer of a job.
    Transfers,
    /// One row a step of a job and a link that it used.
    JobLinks,
    /// One row a counter of a mechanism.
    Counters,
    /// One row a cause that a recorded flow waited for.
    Waits,
    /// One row a recorded pause.
    Pauses,
}

/// What a column is.
struct Spec {
    name: &'static str,
    kind: DataType,
    nullable: bool,
    unit: &'static str,
    description: &'static str,
}

const fn always(name: &'static str, kind: DataType, unit: &'static str, description: &'static str) -> Spec {
    Spec { name, kind, nullable: false, unit, description }
}

const fn maybe(name: &'static str, kind: DataType, unit: &'static str, description: &'static str) -> Spec {
    Spec { name, kind, nullable: true, unit, description }
}

const FLOWS: &[Spec] = &[
    always(
        "flow_id",
        DataType::UInt64,
        "",
        "identity of the flow, unique in the run; a message over several queue pairs is one flow",
    ),
    always("group", DataType::Utf8, "", "label of the flow's group in the scenario"),
    always("src", DataType::UInt32, "host number", "sending host"),
    always("dst", DataType::UInt32, "host number", "receiving host"),
    always("class", DataType::UInt8, "0 to 7", "class (802.1Q priority) of the flow's data"),
    always("bytes", DataType::UInt64, "B", "payload to be sent; of a stream: payload made available"),
    always("start_ps", DataType::Int64, "ps", "when the flow started"),
    maybe(
        "fct_last_byte_ps",
        DataType::Int64,
        "ps",
        "from the start until the last payload byte was received; null: it was not",
    ),
    maybe(
        "fct_last_ack_ps",
        DataType::Int64,
        "ps",
        "from the start until the sender received the last acknowledgement; null: it did not, or there are none",
    ),
    always("packets", DataType::UInt64, "packets", "data packets sent"),
    always("received", DataType::UInt64, "B", "payload received"),
    always("reordered", DataType::UInt64, "packets", "data packets that arrived after a later one"),
    always("marked", DataType::UInt64, "packets", "data packets that arrived with congestion experienced (ECN)"),
    always(
        "blocked_bytes",
        DataType::UInt64,
        "B",
        "of a stream: payload that found the source's queue full and was never sent; not part of bytes",
    ),
    always("retransmitted", DataType::UInt64, "packets", "data packets sent again"),
    always(
        "inferred_lost",
        DataType::UInt64,
        "packets",
        "data packets that the sender took for lost because later ones, or an answer to a probe, had come; go-back-n infers none, it goes back",
    ),
    always(
        "timeouts",
        DataType::UInt32,
        "",
        "timers that ran out: times that the flow made no progress for transport.timeout; with transport.recovery = rud, packets whose acknowledgement had not come in that time",
    ),
    maybe(
        "ideal_fct_ps",
        DataType::Int64,
        "ps",
        "what fct_last_byte_ps would have been in an idle network, exactly; null for a stream, for a message over several queue pairs, and beyond 2^63 ps",
    ),
    maybe(
        "slowdown",
        DataType::Float64,
        "",
        "fct_last_byte_ps / ideal_fct_ps, of every flow whose last byte arrived, complete or not",
    ),
    always(
        "state",
        DataType::Utf8,
        "",
        "complete: the last acknowledgement (without acknowledgements: the last byte) was received; failed: more than transport.retries timeouts in a row, or requests for credit that nobody answered; unfinished: the run ended first",
    ),
    maybe("waits_for", DataType::Utf8, "", "what an unfinished flow waited for when the run ended, and where"),
];

const PORTS: &[Spec] = &[
    always("node", DataType::Utf8, "", "name of the node"),
    always("port", DataType::UInt32, "", "number of the port, from 0"),
    always("peer", DataType::Utf8, "", "name of the node at the other end of the link"),
    always("tier", DataType::Utf8, "", "tier of the node"),
    always("rate_bps", DataType::UInt64, "b/s", "rate of the link at the end of the run"),
    always("tx_frames", DataType::UInt64, "frames", "frames put on the link, MAC control included"),
    always("tx_data_frames", DataType::UInt64, "frames", "data frames put on the link, those in tx_cut_frames apart"),
    always(
        "tx_cut_frames",
        DataType::UInt64,
        "frames",
        "headers put on the link that are left of data frames whose payload a switch has cut off",
    ),
    always("tx_bytes", DataType::UInt64, "B", "bytes put on the link, headers included, preamble and gap not"),
    always(
        "pauses_sent",
        DataType::UInt64,
        "pauses",
        "pauses asked of the neighbour; refreshes and resumes not counted",
    ),
    always(
        "pauses_received",
        DataType::UInt64,
        "pauses",
        "pauses asked by the neighbour; refreshes and resumes not counted",
    ),
    always("paused_ps", DataType::Int64, "ps", "time during which at least one class was held by the neighbour"),
    always("drop_frames", DataType::UInt64, "frames", "frames that came in here and were dropped for want of memory"),
    always("drop_bytes", DataType::UInt64, "B", "bytes of these frames"),
    always(
        "flushed_frames",
        DataType::UInt64,
        "frames",
        "frames that a mechanism dropped from the queues of this port",
    ),
    always("fault_frames", DataType::UInt64, "frames", "frames sent from here and lost by a fault of the link"),
    always("marked_frames", DataType::UInt64, "frames", "data frames marked (ECN) on their way out of here"),
    always("max_egress_bytes", DataType::UInt64, "B", "most bytes that waited for this port at once"),
    always("max_ingress_bytes", DataType::UInt64, "B", "most bytes held in the node at once that had come in here"),
];

const CONTROL: &[Spec] = &[
    always("time_ps", DataType::Int64, "ps", "when the message was sent"),
    always("kind", DataType::Utf8, "", "kind of message: mac-control"),
    always("node", DataType::Utf8, "", "name of the node that sent it"),
    maybe("port", DataType::UInt32, "", "port that it concerns; null: it is for a host, not for a neighbour"),
    maybe(
        "class",
        DataType::UInt8,
        "0 to 7",
        "class that it concerns or travels in, the lowest of several; null: the whole link",
    ),
    maybe("to", DataType::UInt32, "host number", "host that it is for; null: it is for the neighbour"),
    always(
        "value",
        DataType::UInt64,
        "see kind",
        "what it says: of MAC control the pause time in quanta of 512 bit times",
    ),
];

const SERIES: &[Spec] = &[
    always("time_ps", DataType::Int64, "ps", "when the sample was taken"),
    always("node", DataType::Utf8, "", "name of the node"),
    maybe("port", DataType::UInt32, "", "port, where the quantity belongs to one"),
    maybe("queue", DataType::UInt8, "0 to 7", "queue or class, where the quantity belongs to one"),
    maybe("flow", DataType::UInt64, "", "flow_id, where the quantity belongs to one"),
    always(
        "quantity",
        DataType::Utf8,
        "",
        "what was sampled: queue_bytes, held_bytes, sent_bytes, paused, flow_rate_bps, flow_received_bytes, or backlog_ with mean_bytes, mean_square_bytes2, max_bytes, empty_ps",
    ),
    always(
        "value",
        DataType::UInt64,
        "see quantity",
        "queue_bytes: B waiting; held_bytes: B that a mechanism lets wait in the switch's lanes; sent_bytes: B since the last sample; paused: 1; flow_rate_bps: b/s of payload sent since the last sample, what was sent again included; flow_received_bytes: B of payload received since the flow's start; backlog_*: since the last sample, weighted by time, B, B², B and ps",
    ),
];

const SWITCHES: &[Spec] = &[
    always("node", DataType::Utf8, "", "name of the switch"),
    always("tier", DataType::Utf8, "", "tier of the switch"),
    always(
        "held_frames",
        DataType::UInt64,
        "frames",
        "frames that a mechanism let wait in a lane before their egress queue",
    ),
    always("held_max_bytes", DataType::UInt64, "B", "most bytes that so waited at once"),
    always("held_mean_bytes", DataType::Float64, "B", "mean over the run of what so waited"),
    always(
        "held_p99_bytes",
        DataType::UInt64,
        "B",
        "99th percentile over the run's time of what so waited, rounded up by less than 1 %",
    ),
    always(
        "held_p999_bytes",
        DataType::UInt64,
        "B",
        "99.9th percentile over the run's time of what so waited, rounded up by less than 1 %",
    ),
    always("held_ps", DataType::Int64, "ps", "time during which anything so waited"),
];

const COUNTERS: &[Spec] = &[
    always("node", DataType::Utf8, "", "name of the node"),
    always("port", DataType::UInt32, "", "number of the port, from 0"),
    always("mechanism", DataType::Utf8, "", "mechanism that counted, by its table in the scenario"),
    always("counter", DataType::Utf8, "", "what was counted"),
    always("value", DataType::UInt64, "", "its value at the end of the run"),
];

const WAITS: &[Spec] = &[
    always("flow_id", DataType::UInt64, "", "the flow"),
    always("group", DataType::Utf8, "", "label of its group"),
    always("node", DataType::Utf8, "", "name of the node where it waited"),
    always("port", DataType::UInt32, "", "port for which it waited"),
    always("peer", DataType::Utf8, "", "name of the node at the other end of the link"),
    always(
        "cause",
        DataType::Utf8,
        "",
        "paused: by the peer; behind: another flow's data was sent; control-frames: acknowledgements or control frames were sent; gate: shut by a mechanism; credit: a mechanism let no frame of the queue start; lane: held before the queue; fabric: not yet through a crossbar; receiver: in a slow receiver's buffer; sent-again: after it had come damaged over the link, or behind such a frame; at the source: issue (messages posted before it were issued), rate-limit, window, held-at-source, acknowledgements (all was sent)",
    ),
    maybe("mechanism", DataType::Utf8, "", "mechanism whose gate or lane it was, by its table in the scenario"),
    maybe("behind_flow", DataType::UInt64, "", "that other flow; null: another cause, or one of many"),
    maybe("behind_group", DataType::Utf8, "", "label of its group"),
    always("wait_ps", DataType::Int64, "ps", "how long, in all"),
];

const PAUSES: &[Spec] = &[
    always("asked_ps", DataType::Int64, "ps", "when the pause was asked for"),
    always("start_ps", DataType::Int64, "ps", "when it reached the neighbour"),
    maybe("end_ps", DataType::Int64, "ps", "when it was over; null: not before the run was"),
    always("node", DataType::Utf8, "", "name of the node that asked"),
    always("port", DataType::UInt32, "", "port at which it asked"),
    always("peer", DataType::Utf8, "", "name of the node that was paused"),
    always("peer_port", DataType::UInt32, "", "port of it that was"),
    maybe("class", DataType::UInt8, "0 to 7", "class that was; null: the whole link"),
    always("cause", DataType::Utf8, "", "who asked: a mechanism by its name, or a fault (slow-receiver, pause-storm)"),
    always(
        "ingress_bytes",
        DataType::UInt64,
        "B",
        "bytes in the node that had come in at the port in the class, when it asked; of a host: in its receive buffer",
    ),
    maybe(
        "behind_port",
        DataType::UInt32,
        "",
        "egress port of the node where most of what must leave before the pause ends stood in queues; null: none did",
    ),
    maybe("behind_queue", DataType::UInt8, "0 to 7", "the queue of it"),
    maybe("behind_peer", DataType::Utf8, "", "name of the node at the other end of that link"),
    maybe("behind_bytes", DataType::UInt64, "B", "how much stood there"),
    maybe("behind_since_ps", DataType::Int64, "ps", "since when something had waited for that port without a break"),
    maybe("behind_paused", DataType::UInt8, "0 or 1", "1: that queue was paused by its own neighbour then"),
];

impl Table {
    /// Every table.
    pub const ALL: [Table; 14] = [
        Table::Flows,
        Table::QueuePairs,
        Table::Ports,
        Table::Control,
        Table::Series,
        Table::Switches,
        Table::Jobs,
        Table::Rounds,
        Table::Collectives,
        Table::Transfers,
        Table::JobLinks,
        Table::Counters,
        Table::Waits,
        Table::Pauses,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Table::Flows => "flows",
            Table::QueuePairs => "queue_pairs",
            Table::Ports => "ports",
            Table::Control => "control",
            Table::Series => "series",
            Table::Switches => "switches",
            Table::Jobs => "jobs",
            Table::Rounds => "rounds",
            Table::Collectives => "collectives",
            Table::Transfers => "transfers",
            Table::JobLinks => "job_links",
            Table::Counters => "counters",
            Table::Waits => "waits",
            Table::Pauses => "pauses",
        }
    }

    /// What a row is.
    pub fn description(self) -> &'static str {
        match self {
            Table::Flows => "One row a flow, when it was complete or the run over.",
            Table::QueuePairs => {
                "One row a queue pair of a message that goes over several: what it carried, when that was complete or the run over."
            }
            Table::Ports => "One row a port of a switch or host: totals of the run.",
            Table::Control => "One row a control message of a mechanism, when it was sent.",
            Table::Series => "One row a sample of the time series that the scenario asked for.",
            Table::Switches => {
                "One row a switch: what a mechanism let wait in lanes before the egress queues, over the whole run."
            }
            Table::Jobs => "One row an instance of a job, when its last round was complete or the run over.",
            Table::Rounds => "One row a round of an instance of a job, when it was complete or the run over.",
            Table::Transfers => {
                "One row a transfer of a job over the network, a flow, when it was complete or the run over."
            }
            Table::JobLinks => "One row a step of a job and a port that has sent data of it: what it put on that link.",
            Table::Collectives => {
                "One row a collective or point-to-point transfer of a job, when it was complete or the run over."
            }
            Table::Counters => "One row a counter of a mechanism at a port that is not zero at the end of the run.",
            Table::Waits => {
                "One row a flow of `output.waits`, a port and a cause: what the flow waited for on the way to its last byte."
            }
            Table::Pauses => {
                "One row a pause that was obeyed, with `output.pause_causes`, when it had ended or the run was over."
            }
        }
    }

    fn columns(self) -> &'static [Spec] {
        match self {
            Table::Flows => FLOWS,
            Table::QueuePairs => queue_pairs::QUEUE_PAIRS,
            Table::Ports => PORTS,
            Table::Control => CONTROL,
            Table::Series => SERIES,
            Table::Switches => SWITCHES,
            Table::Jobs => jobs::JOBS,
            Table::Rounds => jobs::ROUNDS,
            Table::Collectives => jobs::COLLECTIVES,
            Table::Transfers => jobs::TRANSFERS,
            Table::JobLinks => jobs::JOB_LINKS,
            Table::Counters => COUNTERS,
            Table::Waits => WAITS,
            Table::Pauses => PAUSES,
        }
    }

    /// What mechanisms add to the description of a column, which depends on the kind of message or on the counter.
    fn of_mechanisms(self, column: &str) -> String {
        match (self, column) {
            (Table::Control, "kind") => {
                ENTRIES.iter().flat_map(|entry| entry.frames).map(|name| format!(", {name}")).collect()
            }
            (Table::Control, "value") => ENTRIES
                .iter()
                .filter(|entry| !entry.value.is_empty())
                .map(|entry| format!("; {}", entry.value))
                .collect(),
            (Table::Counters, "counter") => {
                let counting = ENTRIES.iter().filter(|entry| !entry.counters.is_empty());
                counting.map(|entry| format!("; {}: {}", entry.name, entry.counters)).collect()
            }
            _ => String::new(),
        }
    }

    /// Its Arrow schema; `description` and `unit` are in the metadata, the unit empty where there is none.
    pub fn schema(self) -> SchemaRef {
        // Made once: hundreds of texts, which a tiny run in a series would notice.
        static MADE: [OnceLock<SchemaRef>; Table::ALL.len()] = [const { OnceLock::new() }; Table::ALL.len()];
        Arc::clone(MADE[self as usize].get_or_init(|| self.make()))
    }

    fn make(self) -> SchemaRef {
        let text = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let field = |spec: &Spec| {
            let description = format!("{}{}", spec.description, self.of_mechanisms(spec.name));
            let metadata = HashMap::from([text("description", &description), text("unit", spec.unit)]);
            Field::new(spec.name, spec.kind.clone(), spec.nullable).with_metadata(metadata)
        };
        let fields: Vec<Field> = self.columns().iter().map(field).collect();
        Arc::new(Schema::new_with_metadata(fields, HashMap::from([text("description", self.description())])))
    }
}
