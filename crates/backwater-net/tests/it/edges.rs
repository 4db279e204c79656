//! Corner cases, as a hostile reviewer would try them. Each test names the state that is hard to get right.

use crate::own::Bench;
use backwater_engine::Time;
use backwater_net::bench::network::network;
use backwater_net::config::{AckPath, Architecture, LatencyAt};
use backwater_net::spec::{FaultKind, FrameKind};
use backwater_net::{Bytes, Rate};

#[test]
fn smallest_flows_and_shortest_networks() {
    // Without a switch; then a hairpin through one.
    let wire = network(2, &[], &[("h0", "h1", Rate::gbps(100), Time::ns(500))]);
    for bytes in [0, 1, 4000, 4001] {
        for header in [0, 64] {
            let mut bench = Bench::new(wire.clone());
            bench.packet.header = Bytes(header);
            bench.flow(0, 1, bytes);
            bench.flow(1, 0, bytes);
            let out = bench.run();
            let row = out.at_rest().flow(0);
            assert_eq!((row.received, row.packets), (bytes, bytes.div_ceil(4000).max(1)));
        }
    }
    let mut bench = Bench::star(2, Rate::gbps(100));
    bench.flow(1, 1, 10_000);
    assert_eq!(bench.run().at_rest().flow(0).received, 10_000);
}

/// A staging area smaller than a frame still passes one at a time.
#[test]
fn staging_smaller_than_a_frame() {
    for staging in [0, 1, 4063] {
        let mut bench = Bench::star(3, Rate::gbps(100));
        (bench.switch.architecture, bench.switch.staging) = (Architecture::Voq, Bytes(staging));
        bench.flow(0, 2, 100_000);
        bench.flow(1, 2, 100_000);
        bench.run().at_rest();
    }
}

/// Frames in flight when a link fails are lost, even if it is up again before they would have arrived.
#[test]
fn link_flap_shorter_than_the_way() {
    let mut bench = Bench::new(network(2, &[], &[("h0", "h1", Rate::gbps(100), Time::us(10))]));
    bench.flow(0, 1, 4000);
    let (a, b) = (bench.node("h0"), bench.node("h1"));
    bench.fault(Time::us(5), FaultKind::link_down(a, b));
    bench.fault(Time::us(6), FaultKind::link_up(a, b));
    let out = bench.run();
    assert_eq!(out.flow(0).received, 0);
    assert_eq!((out.progress.fault_losses, out.sum(|p| p.stats.fault_frames)), (1, 1));
}

/// Frames without a path are counted at a port like any other loss.
#[test]
fn losses_without_a_way_are_counted_at_ports() {
    let mut bench = Bench::leaf_spine(2, 1, 1);
    bench.ack.path = AckPath::Ecmp;
    bench.flow(0, 1, 100_000);
    let (a, b) = (bench.node("spine0"), bench.node("leaf1"));
    bench.fault(Time::us(2), FaultKind::link_down(a, b));
    let out = bench.run();
    let sent = out.flow(0).packets;
    assert!(out.flow(0).received / 4000 + out.progress.fault_losses >= sent && out.flow(0).received < 100_000);
    assert_eq!(out.sum(|p| p.stats.fault_frames), out.progress.fault_losses);
}

/// A loss of one kind of frame on every link: each is lost with that probability, and no other is.
#[test]
fn loss_of_one_kind_everywhere() {
    let run = |faults: &[f64]| {
        let mut bench = Bench::star(3, Rate::gbps(100));
        bench.flow(0, 2, 10_000_000);
        bench.flow(1, 2, 10_000_000);
        for probability in faults {
            let (what, probability) = (Some(FrameKind::Ack), *probability);
            bench.fault(Time::ZERO, FaultKind::Loss { from: None, to: None, what, probability, number: None });
        }
        bench.run()
    };
    let out = run(&[0.3]);
    assert_eq!(out.rows.flows.iter().map(|f| f.received).sum::<u64>(), 20_000_000);
    // An acknowledgement crosses two links: 0.51 are lost on one of them. Three standard deviations.
    let sent: u64 = out.rows.flows.iter().map(|f| f.packets).sum();
    let lost = out.progress.fault_losses;
    let (sent, lost) = (sent as f64, lost as f64);
    assert!((lost - 0.51 * sent).abs() < 3.0 * (sent * 0.51 * 0.49).sqrt(), "{lost} of {sent}");
    // The later fault for the same frames replaces the earlier one.
    assert_eq!(run(&[1.0, 0.0]).progress.fault_losses, 0);
}

/// Port numbers are those that an explicit network demands.
#[test]
fn demanded_port_numbers() {
    let mut graph =
        network(2, &["s0"], &[("h0", "s0", Rate::gbps(100), Time::ZERO), ("h1", "s0", Rate::gbps(100), Time::ZERO)]);
    graph.links[0].demanded[1] = Some(backwater_net::packet::Port(1));
    let mut bench = Bench::new(graph);
    bench.flow(0, 1, 100_000);
    let out = bench.run();
    let to_h0 = out.at_rest().port(bench.node("s0"), bench.node("h0"));
    assert_eq!(to_h0.port.0, 1);
}

/// If a frame is not ready when its input queue is examined, one more look follows, not one more for each look.
#[test]
fn a_crossbar_looks_once_an_instant() {
    for architecture in [Architecture::InputQueued, Architecture::Voq] {
        let mut bench = Bench::star(4, Rate::gbps(100));
        bench.switch.architecture = architecture;
        (bench.switch.latency_at, bench.switch.latency) = (LatencyAt::Output, Time::ns(300));
        for src in 0..3 {
            bench.flow(src, 3, 400_000).start = Time::ns(7 * u64::from(src));
        }
        let out = bench.run();
        out.at_rest();
        assert!(
            out.progress.events < 6 * out.progress.hops,
            "{} events, {} hops",
            out.progress.events,
            out.progress.hops
        );
    }
}
