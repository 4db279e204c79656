//! Congestion Isolation in whole networks: a chain of two switches before a hot spot, and an innocent flow beside it.

use crate::common::{Bench, On, Outcome, network};
use backwater_engine::Time;
use backwater_mech::ci::{CIM, CeMarking, Params};
use backwater_mech::mac_control::Signal;
use backwater_mech::pfc;
use backwater_mech::stack::{At, Scoped, Select};
use backwater_net::config::{Architecture, BufferPer, LatencyAt, ReleaseAt};
use backwater_net::hooks::FlowOrder;
use backwater_net::packet::Class;
use backwater_net::record::ControlRow;
use backwater_net::spec::{FaultKind, FrameKind};
use backwater_net::{Bytes, Rate};

/// Thresholds for queues of some ten packets.
fn small() -> Params {
    Params {
        low: Bytes(8_000),
        high: Bytes(40_000),
        pmax: 0.2,
        cim_threshold: Bytes(20_000),
        max_flow_life: Time::us(200),
        ce_marking: CeMarking::None,
        ..Params::default()
    }
}

/// h0 and h1 behind `a`, h2 and h3 behind `b`, receivers h4 and h5 behind `c`: a, b and c in a row. h0 and h2 send to h4, whose link
/// they fill twice, h1 to h5 over the same links as h0.
fn chain(params: Option<Params>) -> Bench {
    let (rate, delay) = (Rate::gbps(100), Time::ns(200));
    let ends = [("h0", "a"), ("h1", "a"), ("h2", "b"), ("h3", "b"), ("a", "b"), ("b", "c"), ("c", "h4"), ("c", "h5")];
    let links = ends.map(|(x, y)| (x, y, if y.len() == 1 && x.len() == 1 { Rate::gbps(400) } else { rate }, delay));
    let mut bench = Bench::new(network(6, &["a", "b", "c"], &links));
    bench.packet.payload = Bytes(1_000);
    if let Some(params) = params {
        bench.mechanisms = bench.mechanisms.ci(params);
    }
    bench.flow(0, 4, 1_000_000);
    bench.flow(2, 4, 1_000_000);
    bench.flow(1, 5, 400_000).start = Time::us(20);
    bench
}

/// PFC on both queues' priorities.
fn both(xoff: u64, signal: Signal) -> pfc::Params {
    pfc::Params { classes: vec![2, 3], ..crate::common::pfc(xoff, xoff / 2, signal) }
}

fn cims(out: &Outcome) -> Vec<&ControlRow> {
    out.rows.control.iter().filter(|row| row.kind == CIM).collect()
}

fn in_order(out: &Outcome) {
    out.at_rest();
    assert!(out.rows.flows.iter().all(|flow| flow.reordered == 0), "{:?}", out.rows.flows);
}

/// The hot spot's flows are isolated at `c`, then at `b` and at `a` because of CIMs; the innocent flow stays in the monitored queues.
#[test]
fn isolation_goes_upstream_hop_by_hop() {
    let mut bench = chain(Some(small()));
    bench.mechanisms = bench.mechanisms.pfc(both(60_000, Signal::Timed));
    let out = bench.run();
    in_order(&out);
    let [a, b, c] = ["a", "b", "c"].map(|name| bench.node(name));
    assert!(out.counted(Some(c), "isolations") >= 2);
    for (node, upstream) in [(c, b), (b, a)] {
        let sent = cims(&out).iter().filter(|row| row.node == node).count() as u64;
        assert!(sent > 0, "{node:?}");
        assert_eq!(out.counted(Some(node), "cims_sent"), sent);
        assert_eq!(out.counted(Some(upstream), "cims_received") + out.counted(Some(upstream), "cims_ignored"), sent);
    }
    // A CIM ends at the neighbour.
    assert_eq!(cims(&out).iter().filter(|row| row.node == a).count(), 0);
    assert!(cims(&out).iter().all(|row| row.class == Some(Class(6)) && row.port.is_some() && row.to.is_none()));
    // Upstream the isolated flow leaves in its own priority: the neighbour pauses that, and not the innocent flow's.
    let paused = |class| {
        let of = |row: &&ControlRow| row.kind == "mac-control" && row.class == Some(Class(class)) && row.value != 0;
        out.rows.control.iter().filter(|row| row.node == b || row.node == c).filter(of).count()
    };
    assert!(paused(2) > paused(3), "{} {}", paused(2), paused(3));
}

/// The purpose: under PFC alone the innocent flow waits behind the hot spot, with isolation it does not.
#[test]
fn the_innocent_flow_no_longer_waits() {
    let innocent = |params: Option<Params>| {
        let mut bench = chain(params);
        bench.mechanisms = bench.mechanisms.pfc(both(60_000, Signal::Timed));
        let out = bench.run();
        in_order(&out);
        out.fct_us(2)
    };
    let [none, local, coordinated] = [None, Some(Params { cim: false, ..small() }), Some(small())].map(innocent);
    assert!(coordinated < 0.8 * none, "{none} {local} {coordinated}");
    assert!(coordinated < local, "{none} {local} {coordinated}");
}

/// All CIMs are lost: isolation is local, and nothing else is affected. Only the first is lost: the next one has its effect.
#[test]
fn a_lost_cim_does_no_harm() {
    let run = |loss: Option<FaultKind>| {
        let mut bench = chain(Some(small()));
        bench.mechanisms = bench.mechanisms.pfc(both(60_000, Signal::Timed));
        if let Some(kind) = loss {
            bench.fault(Time::ZERO, kind);
        }
        let out = bench.run();
        in_order(&out);
        (out.counted(Some(bench.node("b")), "cims_received"), out.progress.fault_losses, out)
    };
    let (received, lost, _) = run(None);
    assert!(received > 1 && lost == 0);
    let cims = Some(FrameKind::Control(CIM.into()));
    let (received, lost, out) =
        run(Some(FaultKind::Loss { from: None, to: None, what: cims, probability: 1.0, number: None }));
    assert_eq!(received, 0);
    assert_eq!(lost, out.counted(None, "cims_sent"));
    assert!(lost > 1 && out.counted(None, "isolated_packets") > 0);
    let bench = chain(None);
    let (from, to) = (bench.node("c"), bench.node("b"));
    let one = FaultKind::DropNth { from, to, what: FrameKind::Control(CIM.into()), nth: 1 };
    let (again, lost, out) = run(Some(one));
    assert_eq!(lost, 1);
    assert!(again > 0 && out.counted(Some(to), "isolated_packets") > 0);
}

/// The flow has ended when its CIM arrives upstream, which `a` cannot know: it keeps an entry that no packet uses.
#[test]
fn a_cim_of_a_flow_that_is_over_makes_an_entry_that_nobody_needs() {
    let mut bench = Bench::new(network(
        3,
        &["a", "b"],
        &[
            ("h0", "a", Rate::gbps(100), Time::ZERO),
            ("h1", "a", Rate::gbps(100), Time::ZERO),
            ("a", "b", Rate::gbps(400), Time::us(2)),
            ("b", "h2", Rate::gbps(100), Time::ZERO),
        ],
    ));
    bench.packet.payload = Bytes(1_000);
    bench.ack.enabled = false;
    let at_once = Params { low: Bytes(0), high: Bytes(0), cim_threshold: Bytes::ZERO, ..small() };
    // Not at `a`: packets that arrive at `b` in the congesting queue's priority are already isolated upstream.
    let select = Select { tier: None, node: Some("a".into()) };
    bench.mechanisms.ci = Some(Scoped { at: vec![At { select, params: small() }], ..Scoped::everywhere(at_once) });
    bench.flow(0, 2, 3_000);
    bench.flow(1, 2, 3_000);
    let out = bench.run();
    in_order(&out);
    let (a, b) = (bench.node("a"), bench.node("b"));
    let sent = out.counted(Some(b), "cims_sent");
    assert!(sent > 0);
    assert_eq!((out.counted(Some(a), "cims_received"), out.counted(Some(a), "cims_ignored")), (sent, 0));
    assert!(out.counted(Some(a), "entries_live") > 0);
    assert_eq!(out.counted(Some(a), "isolated_packets"), 0);
}

/// Entries of CIMs last for their lifetime, and no longer: a late flow finds its table empty.
#[test]
fn what_a_cim_isolated_is_released() {
    let run = |late: Option<Time>| {
        let mut bench = chain(Some(small()));
        if let Some(late) = late {
            bench.flow(0, 4, 1_000).start = late;
        }
        let out = bench.run();
        in_order(&out);
        (out.counted(None, "entries_live"), out.progress.time)
    };
    let (live, end) = run(None);
    assert!(live > 0 && end < Time::us(300), "{live} at {end:?}");
    assert_eq!(run(Some(end + Time::us(201))).0, 0);
}

/// Three CIMs a flow at the most, 10 us apart: all are of the one flow that comes from `a`.
#[test]
fn cims_are_spaced() {
    let (rate, delay) = (Rate::gbps(100), Time::ns(200));
    let links = [("h0", "a"), ("h1", "b"), ("h2", "b"), ("a", "b")].map(|(x, y)| (x, y, rate, delay));
    let mut bench = Bench::new(network(3, &["a", "b"], &links));
    bench.packet.payload = Bytes(1_000);
    bench.mechanisms = bench.mechanisms.ci(small());
    bench.flow(0, 2, 1_000_000);
    bench.flow(1, 2, 1_000_000);
    let out = bench.run();
    in_order(&out);
    let rows = cims(&out);
    assert!(rows.len() > 1);
    for pair in rows.windows(2) {
        // Or the flow has been released and found anew.
        let next = pair[1].value == pair[0].value + 1 && pair[1].time.since(pair[0].time) >= Time::us(10);
        assert!(next || pair[1].value == 1, "{rows:?}");
    }
    assert!(rows.iter().all(|row| (1..=3).contains(&row.value)));
}

/// On every architecture, with either way to keep order, wherever the latency is, lossless and lossy, with hosts and without.
#[test]
fn order_is_kept_on_every_architecture() {
    use Architecture::*;
    for architecture in [OutputQueued, SharedMemory, InputQueued, Voq] {
        for (in_order_by, latency_at) in [
            (FlowOrder::Counters, LatencyAt::Fabric),
            (FlowOrder::Markers, LatencyAt::Output),
            (FlowOrder::Counters, LatencyAt::Input),
            (FlowOrder::Markers, LatencyAt::Fabric),
        ] {
            for (weights, signal) in [
                (None, Some(Signal::Timed)),
                (Some([1; 8]), Some(Signal::Ideal)),
                (Some([0, 0, 9, 1, 0, 0, 0, 0]), None),
            ] {
                // So eager that flows change queues all the time.
                let eager = Params { low: Bytes(0), high: Bytes(15_000), pmax: 0.3, in_order: in_order_by, ..small() };
                let life = Time::us(if weights.is_some() { 3 } else { 200 });
                let mut bench = chain(Some(Params { max_flow_life: life, end_stations: signal.is_none(), ..eager }));
                bench.switch.architecture = architecture;
                (bench.switch.latency_at, bench.switch.latency) = (latency_at, Time::ns(300));
                bench.switch.release_at = if weights.is_some() { ReleaseAt::Start } else { ReleaseAt::End };
                bench.switch.weights = weights;
                if let Some(signal) = signal {
                    bench.mechanisms = bench.mechanisms.pfc(both(20_000, signal));
                }
                let out = bench.run();
                in_order(&out);
                assert!(out.counted(None, "isolations") >= 2, "{architecture:?}");
                assert_eq!(out.progress.drops, 0);
            }
        }
    }
}

/// A host that takes part isolates its own flow, and returns it to its class.
#[test]
fn an_end_station_isolates_its_flow() {
    let mut bench = chain(Some(Params { end_stations: true, ..small() }));
    bench.mechanisms = bench.mechanisms.pfc(both(60_000, Signal::Timed));
    bench.nic.tx_queue = 4;
    let out = bench.run();
    in_order(&out);
    let h2 = bench.node("h2");
    assert_eq!((out.counted(Some(h2), "isolations"), out.counted(Some(h2), "entries_live")), (1, 0));
    assert!(out.flow(1).class == Class(3), "the row has the flow's own class");
    // Its packets reach `b` in the priority of the congesting queue, which `b` pauses.
    let paused = out.rows.control.iter().any(|row| {
        row.kind == "mac-control" && row.node == bench.node("b") && row.class == Some(Class(2)) && row.value != 0
    });
    assert!(paused);
}

/// Without PFC: isolation protects the innocent flow from the drops of the hot spot, where each queue has its memory.
#[test]
fn lossy_isolation_keeps_drops_to_the_isolated() {
    let run = |params: Option<Params>| {
        let mut bench = chain(params);
        (bench.switch.buffer, bench.switch.buffer_per) = (Bytes(60_000), BufferPer::Queue);
        let out = bench.run();
        assert!(out.rows.flows.iter().all(|flow| flow.reordered == 0));
        assert!(out.progress.drops > 0);
        (out.counted(None, "isolations"), out.flow(2).received)
    };
    assert_eq!(run(None).0, 0);
    let (isolations, innocent) = run(Some(small()));
    assert!(isolations > 0);
    assert_eq!(innocent, 400_000);
}
