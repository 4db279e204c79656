//! Graphs without a network: the test completes flows itself. Also invalid tables.

use super::*;
use crate::record::{Computed, Release, RoundRow, Rows, TransferRow};
use crate::workload::flow_spec::FlowSpec;
use crate::workload::{Dependent, Due, Moment};
use backwater_engine::state::{Loader, Saver, State};
use std::collections::BTreeMap;

const LABEL: &str = "operations";

fn compute(id: u64, rank: u32, us: u64, after: &[u64]) -> Row<'_> {
    let (task, after_ack) = (Task::Compute(Time::us(us)), &[][..]);
    let (needs, class, stream) = (None, None, None);
    Row { id, rank, task, after, after_ack, needs, start: Time::ZERO, class, label: LABEL, stream }
}

fn send(id: u64, rank: u32, peer: u32, after: &[u64]) -> Row<'_> {
    Row { task: Task::Send { peer, bytes: 4000 }, ..compute(id, rank, 0, after) }
}

fn table(rows: &[Row<'_>]) -> Result<Operations, Flaw> {
    let mut reader = Reader::default();
    rows.iter().try_for_each(|row| reader.add(row))?;
    reader.finish()
}

fn spec(ranks: u32) -> GraphSpec {
    GraphSpec {
        label: "job".into(),
        ranks,
        hosts: (0..ranks).map(HostId).collect(),
        ranks_per_server: 1,
        start: Time::us(3),
        start_latency: Time::ZERO,
        class: Class(3),
        ect: true,
    }
}

/// The course of a graph.
#[derive(Default)]
struct Course {
    flows: Vec<FlowSpec>,
    transfers: Vec<TransferRow>,
    rounds: Vec<RoundRow>,
}

/// \[us\] from a send's start to its last byte, and to its last acknowledgement.
const BYTE: u64 = 10;
const ACK: u64 = 14;

/// Runs a graph whose flows all take the same time, saving and loading it at each instant.
fn course(spec: &GraphSpec, rows: &[Row<'_>]) -> Course {
    let operations = Arc::new(table(rows).unwrap());
    let make = || Graph::new(spec.clone(), Arc::clone(&operations), 5).unwrap();
    let mut graph = make();
    let total = graph.total();
    let mut course = Course::default();
    let mut moments: BTreeMap<Time, Vec<(u64, u32, Moment)>> = BTreeMap::new();
    let mut again = Some(graph.begins());
    while let Some(now) = moments.keys().next().copied().into_iter().chain(again).min() {
        let mut saver = Saver::new(Vec::new());
        graph.save(&mut saver);
        let octets = saver.finish().unwrap();
        graph = make();
        graph.load(&mut Loader::new(&octets, Vec::new())).unwrap();
        for (flow, group, moment) in moments.remove(&now).unwrap_or_default() {
            graph.completed(flow, group, moment);
        }
        let mut due = Due::default();
        again = graph.due(now, &mut due);
        for flow in due.flows {
            assert_eq!(flow.start, now);
            for (moment, us) in [(Moment::LastByte, BYTE), (Moment::LastAck, ACK)] {
                if graph.awaits(flow.id, moment) {
                    moments.entry(now.after(Time::us(us))).or_default().push((flow.id, flow.group, moment));
                }
            }
            course.flows.push(flow);
        }
        course.transfers.extend(due.rows.transfers);
        course.rounds.extend(due.rows.rounds);
    }
    assert_eq!(graph.unfinished(), Rows::default());
    assert_eq!(graph.rounds().complete, graph.rounds().all);
    assert_eq!(total, course.flows.len() as u64);
    course
}

/// \[us\] after the job's start.
fn begun(course: &Course) -> Vec<(u64, u64)> {
    let number = |flow: &FlowSpec| flow.id & ((1 << 40) - 1);
    course.flows.iter().map(|flow| (number(flow), flow.start.0 / 1_000_000 - 3)).collect()
}

fn end(course: &Course) -> u64 {
    course.rounds[0].end.unwrap().0 / 1_000_000 - 3
}

#[test]
fn a_chain_takes_the_sum_of_its_parts() {
    // Rows in any order, ids with gaps.
    let rows = [send(70, 1, 0, &[9]), compute(9, 1, 7, &[4]), send(4, 0, 1, &[1]), compute(1, 0, 5, &[])];
    let course = course(&spec(2), &rows);
    assert_eq!(begun(&course), [(4, 5), (70, 22)]);
    assert_eq!(end(&course), 5 + 10 + 7 + 10);
    let flow = 5 << 40 | 4;
    let computed = Some(Computed::new(LABEL.into()));
    assert_eq!(course.transfers[0].release, Release { flow: None, computed: computed.clone() });
    assert_eq!(course.transfers[1].release, Release { flow: Some(flow), computed });
    assert_eq!(course.rounds[0].release.flow, Some(5 << 40 | 70));
}

#[test]
fn an_acknowledgement_is_later_than_the_last_byte() {
    let after_ack = Row { after_ack: &[0], ..send(2, 0, 1, &[]) };
    let course = course(&spec(2), &[send(0, 0, 1, &[]), send(1, 1, 0, &[0]), after_ack]);
    assert_eq!(begun(&course), [(0, 0), (1, BYTE), (2, ACK)]);
    assert_eq!(end(&course), ACK + BYTE);
}

#[test]
fn the_first_that_comes_the_second_and_all() {
    let sends = |needs| {
        let last = Row { needs, ..send(9, 3, 0, &[1, 2, 3]) };
        [compute(1, 0, 20, &[]), compute(2, 1, 30, &[]), compute(3, 2, 40, &[]), last].to_vec()
    };
    for (needs, at) in [(Some(1), 20), (Some(2), 30), (Some(3), 40), (None, 40)] {
        assert_eq!(begun(&course(&spec(4), &sends(needs))), [(9, at)], "{needs:?}");
    }
    // Later completions begin nothing again, and the graph ends with the last of them.
    assert_eq!(end(&course(&spec(4), &sends(Some(1)))), 40);
}

/// Two operations wait for each other, but another one suffices for one of them: the order need not be acyclic as long as all begin.
#[test]
fn a_circle_that_somebody_enters() {
    let rows = [compute(0, 0, 4, &[]), Row { needs: Some(1), ..compute(1, 0, 5, &[0, 2]) }, compute(2, 0, 6, &[1])];
    assert_eq!(end(&course(&spec(1), &rows)), 4 + 5 + 6);
}

#[test]
fn a_stream_computes_one_at_a_time() {
    let of = |id, rank, us, after, stream| Row { stream: Some(stream), ..compute(id, rank, us, after) };
    // 3 and 2 become ready together: 2 comes first. 1 becomes ready later. Another stream and another rank do not wait.
    let rows = [
        of(0, 0, 10, &[], 7),
        compute(5, 0, 4, &[]),
        of(3, 0, 20, &[5], 7),
        of(2, 0, 30, &[5], 7),
        of(1, 0, 50, &[6], 7),
        compute(6, 0, 5, &[]),
        of(7, 0, 70, &[], 8),
        of(8, 1, 80, &[], 7),
        send(12, 0, 1, &[2]),
        send(13, 0, 1, &[3]),
        send(11, 0, 1, &[1]),
        send(17, 0, 1, &[7]),
        send(18, 1, 0, &[8]),
    ];
    let course = course(&spec(2), &rows);
    assert_eq!(begun(&course), [(12, 40), (13, 60), (17, 70), (18, 80), (11, 110)]);
    // Operations that waited for their stream began because of the one before: 0, 2, 3 and 1 fill the time from the start on.
    let release = &course.transfers.iter().find(|row| row.flow == 5 << 40 | 11).unwrap().release;
    assert_eq!(release.flow, None);
    assert_eq!(release.computed.as_ref().unwrap().to_string(), [LABEL; 4].join(" + "));
}

#[test]
fn joins_take_no_time_and_starts_are_kept() {
    let late = Row { start: Time::us(30), ..send(3, 0, 1, &[2]) };
    let soon = Row { start: Time::us(2), ..send(4, 0, 1, &[2]) };
    let course = course(&spec(2), &[compute(0, 0, 5, &[]), compute(1, 1, 0, &[0]), compute(2, 0, 0, &[1]), late, soon]);
    assert_eq!(begun(&course), [(4, 5), (3, 30)]);
}

#[test]
fn within_a_server_a_send_takes_no_time() {
    let spec = GraphSpec { ranks_per_server: 2, ..spec(4) };
    let acked = Row { after_ack: &[0], ..compute(1, 0, 6, &[]) };
    let course = course(&spec, &[send(0, 0, 1, &[]), acked, send(2, 1, 2, &[1])]);
    assert_eq!(begun(&course), [(2, 6)]);
}

#[test]
fn instances_share_nothing() {
    let spec = GraphSpec { hosts: (0..4).map(HostId).collect(), ..spec(2) };
    let course = course(&spec, &[compute(0, 0, 5, &[]), send(8, 0, 1, &[0])]);
    // Their flows are 9 numbers apart: ids go up to 8.
    assert_eq!(begun(&course), [(8, 5), (17, 5)]);
    assert_eq!(
        [0, 1].map(|n| (course.flows[n].src, course.flows[n].dst)),
        [(HostId(0), HostId(1)), (HostId(2), HostId(3))]
    );
    assert_eq!(course.rounds.len(), 2);
}

/// Labels are groups by their names, those of computations have none.
#[test]
fn labels_are_groups() {
    let named = |label, row| Row { label, ..row };
    let rows = [
        named("z", send(0, 0, 1, &[])),
        named("think", compute(1, 0, 5, &[])),
        named("a", send(2, 0, 1, &[])),
        named("a", compute(3, 0, 5, &[])),
    ];
    let operations = table(&rows).unwrap();
    assert_eq!(operations.labels().iter().map(|label| &**label).collect::<Vec<_>>(), ["a", "z"]);
    let course = course(&spec(2), &rows);
    assert_eq!(course.flows.iter().map(|flow| (flow.group, flow.id & 7)).collect::<Vec<_>>(), [(5, 2), (6, 0)]);
    assert_eq!(course.transfers.iter().map(|row| &*row.step).collect::<Vec<_>>(), ["z", "a"]);
}

#[test]
fn the_order_of_rows_changes_nothing() {
    let stream = |n: u64, row| Row { stream: Some(n % 3), ..row };
    let labels = ["a", "b", "c"];
    let waits: Vec<Vec<u64>> =
        (0..60).map(|n: u64| (n.saturating_sub(7)..n).filter(|m| (n * m) % 5 == 1).collect()).collect();
    let rows: Vec<Row<'_>> = (0..60u64)
        .map(|n| match n % 3 {
            0 => Row {
                label: labels[n as usize / 3 % 3],
                ..send(n, (n % 4) as u32, ((n + 1) % 4) as u32, &waits[n as usize])
            },
            _ => stream(n, compute(n, (n % 4) as u32, n % 6, &waits[n as usize])),
        })
        .collect();
    let mut backwards = rows.clone();
    backwards.reverse();
    let (one, other) = (course(&spec(4), &rows), course(&spec(4), &backwards));
    assert_eq!(one.flows, other.flows);
    assert_eq!(one.transfers, other.transfers);
    assert_eq!(one.rounds, other.rounds);
}

#[test]
fn tables_that_cannot_be() {
    let refused = |rows: &[Row<'_>]| {
        let flaw = table(rows).unwrap_err();
        (flaw.row, flaw.column, flaw.value, flaw.reason)
    };
    let expect = |rows: &[Row<'_>], row: Option<usize>, column: &'static str, value: &str, reason: &str| {
        assert_eq!(refused(rows), (row, column, value.to_owned(), reason.to_owned()));
    };
    let one = compute(0, 0, 5, &[]);
    expect(&[], None, "id", "", "the table has no operations");
    expect(&[one, send(1, 1, 0, &[2])], Some(1), "after", "2", "there is no operation 2");
    expect(&[one, send(4, 0, 1, &[]), send(0, 1, 0, &[])], Some(2), "id", "0", "two operations have the id 0");
    expect(&[one, send(1 << 40, 1, 0, &[])], Some(1), "id", "1099511627776", "1099511627776 is not below 2^40");
    expect(&[one, send(1, 1, 1, &[])], Some(1), "peer", "1", "rank 1 sends to itself");
    let nothing = Row { task: Task::Send { peer: 1, bytes: 0 }, ..one };
    expect(&[nothing], Some(0), "bytes", "0", "a send has at least 1 byte");
    expect(&[Row { class: Some(8), ..send(0, 0, 1, &[]) }], Some(0), "class", "8", "8 is not a class from 0 to 7");
    expect(&[Row { class: Some(3), ..one }], Some(0), "class", "3", "a computation has no class");
    expect(&[Row { stream: Some(3), ..send(0, 0, 1, &[]) }], Some(0), "stream", "3", "a send is of no stream");
    expect(&[compute(0, 0, 5, &[0])], Some(0), "after", "0", "operation 0 waits for itself");
    expect(&[one, compute(1, 0, 5, &[0, 0])], Some(1), "after", "0", "0 is named twice");
    let many: Vec<u64> = (0..20).chain([7]).collect();
    expect(&[compute(50, 0, 5, &many)], Some(0), "after", "7", "7 is named twice");
    let acked = Row { after_ack: &[0], ..compute(1, 0, 5, &[]) };
    expect(&[one, acked], Some(1), "after_ack", "0", "operation 0 computes, nothing acknowledges it");
    for (needs, after) in [(2, &[0][..]), (0, &[0]), (1, &[])] {
        let row = Row { needs: Some(needs), ..compute(1, 0, 5, after) };
        let reason = format!("needs {needs} of the {} operations that it waits for", after.len());
        expect(&[one, row], Some(1), "needs", &needs.to_string(), &reason);
    }
    let circle =
        [one, compute(3, 0, 1, &[7]), compute(5, 0, 1, &[0, 3]), compute(7, 0, 1, &[5]), compute(9, 0, 1, &[7])];
    let (_, column, value, reason) = refused(&circle);
    assert_eq!((column, value.parse::<u64>().is_ok_and(|id| [3, 5, 7].contains(&id))), ("after", true));
    let rounds = ["3 after 7 after 5 after 3", "7 after 5 after 3 after 7", "5 after 3 after 7 after 5"];
    assert!(rounds.iter().any(|round| reason.ends_with(round)), "{reason}");
    let labels: Vec<String> = (0..=MOST_LABELS).map(|n| n.to_string()).collect();
    let rows: Vec<Row<'_>> =
        labels.iter().zip(0..).map(|(label, id)| Row { label, ..compute(id, 0, 1, &[]) }).collect();
    expect(&rows, Some(MOST_LABELS), "label", &MOST_LABELS.to_string(), "more than 4096 labels");
    assert!(table(&rows[..MOST_LABELS]).is_ok());
}

#[test]
fn graphs_that_cannot_be() {
    let graph = |spec: GraphSpec, rows: &[Row<'_>]| Graph::new(spec, Arc::new(table(rows).unwrap()), 0).err();
    let error = |id, peer, rank| Some(GraphError::NoRank { id, peer, rank });
    assert_eq!(graph(spec(2), &[send(7, 0, 2, &[])]), error(7, true, 2));
    assert_eq!(graph(spec(2), &[compute(8, 2, 1, &[])]), error(8, false, 2));
    let two = GraphSpec { hosts: (0..4).map(HostId).collect(), ..spec(2) };
    let greatest = (1 << 40) - 1;
    assert_eq!(graph(spec(2), &[send(greatest, 0, 1, &[])]), None);
    assert_eq!(graph(two, &[send(greatest, 0, 1, &[])]), Some(GraphError::Ids { greatest, instances: 2 }));
}
