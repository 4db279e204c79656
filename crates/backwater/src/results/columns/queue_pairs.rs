//! The table of what queue pairs have carried of messages.

use super::{Spec, always, maybe};
use arrow_schema::DataType;

pub(super) const QUEUE_PAIRS: &[Spec] = &[
    always("flow_id", DataType::UInt64, "", "the message: its flow in the table flows"),
    always("queue_pair", DataType::UInt32, "", "number of the queue pair, from 0"),
    always("segments", DataType::UInt64, "segments", "segments of the message that it carried"),
    always("bytes", DataType::UInt64, "B", "payload of these segments"),
    maybe(
        "fct_last_byte_ps",
        DataType::Int64,
        "ps",
        "from the start of the message until the last of these bytes was received; null: it was not",
    ),
    maybe(
        "fct_last_ack_ps",
        DataType::Int64,
        "ps",
        "from the start of the message until the sender received the last acknowledgement of them; null: it did not, or there are none",
    ),
    always("packets", DataType::UInt64, "packets", "data packets sent"),
    always("received", DataType::UInt64, "B", "payload received"),
    always("reordered", DataType::UInt64, "packets", "data packets that arrived after a later one of this queue pair"),
    always("marked", DataType::UInt64, "packets", "data packets that arrived with congestion experienced (ECN)"),
    always("retransmitted", DataType::UInt64, "packets", "data packets sent again"),
    always(
        "inferred_lost",
        DataType::UInt64,
        "packets",
        "data packets that the sender took for lost because later ones, or an answer to a probe, had come; go-back-n infers none, it goes back",
    ),
    always("timeouts", DataType::UInt32, "", "timers that ran out, as of a flow"),
    always("state", DataType::Utf8, "", "complete, failed or unfinished, as of a flow"),
];
