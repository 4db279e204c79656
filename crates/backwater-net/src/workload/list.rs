//! Flows that are known beforehand: groups that start once, tables of a million rows, Bernoulli streams.

use super::{FlowSource, Group};
use crate::model::packet::{Class, HostId};
use crate::workload::flow_spec::{FlowSpec, Stream, Way};
use backwater_engine::Time;
use std::collections::HashMap;
use std::sync::Arc;

/// One flow of a table, in 40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Identity, unique in the run; see [`Group::flow_id`].
    pub id: u64,
    /// \[bytes\] Payload.
    pub bytes: u64,
    /// When it starts.
    pub start: Time,
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Its entry in the table's paths, or [`Row::ECMP`].
    pub way: u32,
    /// Class of its data.
    pub class: Class,
}

impl Row {
    /// The flow is routed by hash.
    pub const ECMP: u32 = u32::MAX;
}

/// Paths, each kept once: a million flows share a few thousand.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    list: Vec<Way>,
    numbers: HashMap<Way, u32>,
}

impl Ways {
    /// The number of a path, for [`Row::way`].
    pub fn number(&mut self, way: Way) -> u32 {
        if way == Way::default() {
            return Row::ECMP;
        }
        let next = self.list.len() as u32;
        *self.numbers.entry(way).or_insert_with_key(|way| {
            self.list.push(way.clone());
            next
        })
    }
}

/// Flows by ascending start, with their paths. Several runs may share a table.
#[derive(Clone, Debug, Default)]
pub struct FlowTable {
    rows: Vec<Row>,
    ways: Vec<Way>,
}

impl FlowTable {
    /// Built from rows in any order; flows of one start are sorted by their identities.
    pub fn new(mut rows: Vec<Row>, ways: Ways) -> FlowTable {
        rows.sort_unstable_by_key(|row| (row.start, row.id));
        FlowTable { rows, ways: ways.list }
    }

    /// The flows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns whether a row names the link by which it leaves its host.
    pub fn names_links(&self) -> bool {
        self.ways.iter().any(|way| way.link.is_some())
    }

    /// Returns the pinned paths of a row.
    pub fn way(&self, row: &Row) -> Way {
        self.ways.get(row.way as usize).cloned().unwrap_or_default()
    }
}

/// Yields a table's flows.
pub struct List {
    table: Arc<FlowTable>,
    group: u32,
    ect: bool,
    stream: Option<Stream>,
    next: usize,
}

impl List {
    /// The table's flows as flows of `group`; each row has its own class.
    pub fn new(group: &Group, table: Arc<FlowTable>) -> List {
        List { table, group: group.index, ect: group.ect, stream: None, next: 0 }
    }

    /// The same, but each row is a Bernoulli source: its bytes do not matter, and it sends until the stream ends.
    pub fn streams(group: &Group, table: Arc<FlowTable>, stream: Stream) -> List {
        List { stream: Some(stream), ..List::new(group, table) }
    }
}

impl FlowSource for List {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let row = self.table.rows.get(self.next)?;
        self.next += 1;
        let way = self.table.way(row);
        Some(FlowSpec {
            id: row.id,
            group: self.group,
            src: row.src,
            dst: row.dst,
            bytes: if self.stream.is_some() { 0 } else { row.bytes },
            start: row.start,
            class: row.class,
            ect: self.ect,
            path: way.data,
            ack_path: way.acks,
            link: way.link,
            stream: self.stream,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::packet::NodeId;

    fn group() -> Group {
        Group { index: 2, stream: "list".into(), class: Class(3), ect: true }
    }

    fn row(id: u64, start: u64) -> Row {
        Row { id, bytes: 100, start: Time(start), src: HostId(0), dst: HostId(1), way: Row::ECMP, class: Class(3) }
    }

    #[test]
    fn a_million_rows_stay_small() {
        assert_eq!(size_of::<Row>(), 40);
    }

    #[test]
    fn flows_come_by_start_and_then_by_identity() {
        let mut ways = Ways::default();
        let [path, ack_path]: [Arc<[NodeId]>; 2] = [[0, 9, 1], [1, 8, 0]].map(|nodes| nodes.map(NodeId).into());
        let way = Way { data: Some(path.clone()), acks: Some(ack_path.clone()), link: None };
        assert_eq!((ways.number(way.clone()), ways.number(way.clone())), (0, 0));
        assert_eq!((ways.number(Way { acks: None, ..way }), ways.number(Way::default())), (1, Row::ECMP));
        let rows = vec![row(5, 20), row(7, 10), Row { way: 0, ..row(6, 10) }];
        let table = Arc::new(FlowTable::new(rows, ways));
        let mut list = List::new(&group(), table);
        let flows: Vec<FlowSpec> = std::iter::from_fn(|| list.next_flow()).collect();
        assert_eq!(flows.iter().map(|f| f.id).collect::<Vec<_>>(), [6, 7, 5]);
        assert_eq!((&flows[0].path, &flows[0].ack_path), (&Some(path), &Some(ack_path)));
        assert_eq!((&flows[1].path, &flows[1].ack_path), (&None, &None));
        assert!(flows.iter().all(|f| f.group == 2 && f.ect && f.stream.is_none()));
    }

    #[test]
    fn streams_have_no_size() {
        let stream = Stream::new(Time::ns(1200), 0.5, Time::ms(1));
        let table = Arc::new(FlowTable::new(vec![row(1, 0)], Ways::default()));
        let flow = List::streams(&group(), table, stream).next_flow().unwrap();
        assert_eq!((flow.bytes, flow.stream), (0, Some(stream)));
    }

    #[test]
    fn identities_do_not_collide_between_groups() {
        let other = Group { index: 3, ..group() };
        assert_eq!(group().flow_id(5), (2 << 40) | 5);
        assert!(other.flow_id(0) > group().flow_id(Group::MOST_FLOWS - 1));
    }
}
