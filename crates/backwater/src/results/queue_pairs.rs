//! Rows of what queue pairs have carried of messages.

use super::columns::Table;
use super::{Cell, Tables, keep, ps, state_name};
use backwater_net::record::QueuePairRow;

impl Tables {
    pub(super) fn push_queue_pair(&mut self, &QueuePairRow { pair, segments, ref row }: &QueuePairRow) {
        use Cell::{I64, Text, U32, U64};
        let cells = [
            U64(Some(row.id)),
            U32(Some(pair)),
            U64(Some(segments)),
            U64(Some(row.bytes)),
            I64(row.fct_last_byte.map(ps)),
            I64(row.fct_last_ack.map(ps)),
            U64(Some(row.packets)),
            U64(Some(row.received)),
            U64(Some(row.reordered)),
            U64(Some(row.marked)),
            U64(Some(row.retransmitted)),
            U64(Some(row.inferred)),
            U32(Some(row.timeouts)),
            Text(Some(state_name(&row.state))),
        ];
        keep(&mut self.error, self.open[Table::QueuePairs as usize].push(cells));
    }
}
