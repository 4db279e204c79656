use super::*;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, StringArray};
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::packet::{Class, HostId, Port};
use backwater_net::record::{
    ControlRow, CounterRow, FlowRow, IsolationStats, PortRow, PortStats, SeriesRow, State, SwitchRow,
};
use backwater_net::topology::Star;

fn tables() -> Tables {
    let graph = Star { hosts: 2, ..Star::default() }.build().unwrap();
    Tables::new(Names::new(&graph, &["incast".into(), "victim".into()]))
}

pub(super) fn flow(id: u64) -> FlowRow {
    FlowRow {
        id,
        group: 1,
        src: HostId(0),
        dst: HostId(1),
        class: Class(3),
        bytes: 4000,
        start: Time::us(1),
        fct_last_byte: Some(Time::us(2)),
        fct_last_ack: None,
        packets: 1,
        received: 4000,
        reordered: 0,
        marked: 1,
        blocked: 0,
        retransmitted: 0,
        inferred: 0,
        timeouts: 0,
        ideal: Some(Time::ns(500)),
        state: State::Complete,
    }
}

fn text<'b>(batch: &'b RecordBatch, column: &str) -> &'b StringArray {
    batch.column_by_name(column).unwrap().as_string::<i32>()
}

#[test]
fn batches_close_when_full_and_nothing_is_lost() {
    let mut tables = tables();
    let total = 2 * Tables::ROWS + 5;
    for id in 0..total {
        tables.row(Row::Flow(&flow(id as u64)));
    }
    let closed = tables.take(false).unwrap();
    assert_eq!(
        closed.iter().map(|(name, b)| (*name, b.num_rows())).collect::<Vec<_>>(),
        [("flows", Tables::ROWS), ("flows", Tables::ROWS)]
    );
    assert!(tables.take(false).unwrap().is_empty());
    assert_eq!(tables.take(true).unwrap()[0].1.num_rows(), 5);
    assert!(tables.take(true).unwrap().is_empty());
    let ids = closed[1].1.column(0).as_primitive::<UInt64Type>();
    assert_eq!(ids.value(0), Tables::ROWS as u64);
}

#[test]
fn the_end_tells_the_columns_of_empty_tables() {
    let mut tables = tables();
    tables.row(Row::Flow(&flow(1)));
    let rest = tables.finish().unwrap();
    let names: Vec<_> = rest.iter().map(|(name, batch)| (*name, batch.num_rows())).collect();
    assert_eq!(
        names,
        [
            ("flows", 1),
            ("queue_pairs", 0),
            ("ports", 0),
            ("control", 0),
            ("series", 0),
            ("switches", 0),
            ("jobs", 0),
            ("rounds", 0),
            ("collectives", 0),
            ("transfers", 0),
            ("job_links", 0),
            ("counters", 0),
            ("waits", 0),
            ("pauses", 0)
        ]
    );
    assert!(tables.finish().unwrap().is_empty());
}

#[test]
fn a_flow_says_how_it_ended_and_how_much_longer_it_took_than_alone() {
    let states = [
        (State::Complete, "complete", None),
        (State::Failed, "failed", None),
        (State::Unfinished("payload".into()), "unfinished", Some("payload")),
    ];
    for (state, name, waits_for) in states {
        let mut tables = tables();
        tables.row(Row::Flow(&FlowRow { state, ..flow(1) }));
        let (_, batch) = &tables.take(true).unwrap()[0];
        assert_eq!(text(batch, "state").value(0), name);
        let waits = text(batch, "waits_for");
        assert_eq!((!waits.is_null(0)).then(|| waits.value(0)), waits_for);
        assert_eq!(text(batch, "group").value(0), "victim");
        assert!(batch.column_by_name("fct_last_ack_ps").unwrap().is_null(0));
        let fct = batch.column_by_name("fct_last_byte_ps").unwrap().as_primitive::<Int64Type>();
        assert_eq!(fct.value(0), 2_000_000);
        assert_eq!(batch.column_by_name("slowdown").unwrap().as_primitive::<Float64Type>().value(0), 4.0);
    }
}

#[test]
fn control_and_series_and_ports() {
    let mut tables = tables();
    tables.row(Row::Control(&ControlRow {
        time: Time::ns(5),
        kind: "mac-control",
        node: NodeId(2),
        port: Some(Port(1)),
        class: Some(Class(3)),
        to: None,
        value: 65_535,
    }));
    tables.row(Row::Series(&SeriesRow {
        time: Time::NEVER,
        node: NodeId(2),
        port: None,
        queue: Some(3),
        flow: None,
        quantity: "queue_bytes",
        value: 7,
    }));
    let stats = PortStats { paused_ps: 9, max_ingress_bytes: 11, ..PortStats::default() };
    tables.row(Row::Port(&PortRow {
        node: NodeId(2),
        port: Port(0),
        peer: NodeId(0),
        rate_bps: Rate::gbps(200).0,
        stats,
    }));
    let isolated = IsolationStats { frames: 5, p999_bytes: 12, time_ps: 13, ..IsolationStats::default() };
    tables.row(Row::Switch(&SwitchRow { node: NodeId(2), isolated }));
    let (mechanism, counter) = ("ci", "isolations");
    tables.row(Row::Counter(&CounterRow { node: NodeId(2), port: Port(1), mechanism, counter, value: 5 }));
    let rest = tables.finish().unwrap();
    let batch = |name: &str| &rest.iter().find(|(table, _)| *table == name).unwrap().1;

    let control = batch("control");
    assert_eq!((text(control, "node").value(0), text(control, "kind").value(0)), ("s0", "mac-control"));
    assert_eq!(control.column_by_name("class").unwrap().as_primitive::<UInt8Type>().value(0), 3);
    assert!(control.column_by_name("to").unwrap().is_null(0));

    let series = batch("series");
    assert_eq!(series.column_by_name("time_ps").unwrap().as_primitive::<Int64Type>().value(0), i64::MAX);
    assert!(series.column_by_name("port").unwrap().is_null(0));

    let counters = batch("counters");
    assert_eq!((text(counters, "node").value(0), text(counters, "counter").value(0)), ("s0", "isolations"));
    assert_eq!(counters.column_by_name("value").unwrap().as_primitive::<UInt64Type>().value(0), 5);

    let ports = batch("ports");
    assert_eq!((text(ports, "peer").value(0), text(ports, "tier").value(0)), ("h0", "switch"));
    assert_eq!(ports.column_by_name("port").unwrap().as_primitive::<UInt32Type>().value(0), 0);
    assert_eq!(ports.column_by_name("paused_ps").unwrap().as_primitive::<Int64Type>().value(0), 9);
    assert_eq!(ports.column_by_name("max_ingress_bytes").unwrap().as_primitive::<UInt64Type>().value(0), 11);

    let switches = batch("switches");
    assert_eq!((text(switches, "node").value(0), text(switches, "tier").value(0)), ("s0", "switch"));
    let number = |name: &str| switches.column_by_name(name).unwrap().as_primitive::<UInt64Type>().value(0);
    assert_eq!((number("held_frames"), number("held_p999_bytes"), number("held_max_bytes")), (5, 12, 0));
    assert_eq!(switches.column_by_name("held_ps").unwrap().as_primitive::<Int64Type>().value(0), 13);
}

#[test]
fn every_column_is_described() {
    for Table { name, schema } in TABLES.iter() {
        assert!(!schema.metadata()["description"].is_empty());
        for field in schema.fields() {
            assert!(!field.metadata()["description"].is_empty(), "{}.{}", name, field.name());
            assert!(field.metadata().contains_key("unit"), "{}.{}", name, field.name());
            if field.name().ends_with("_ps") {
                assert_eq!(field.metadata()["unit"], "ps");
            }
            if field.name().ends_with("bytes") {
                assert_eq!(field.metadata()["unit"], "B");
            }
        }
    }
}
