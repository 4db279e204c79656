//! Load balancing over equal paths: ECMP lets large flows collide, spraying balances and reorders, flowlets take the least-loaded path.

use crate::common::{Bench, Outcome, network};
use backwater_engine::Time;
use backwater_mech::registry::Config;
use backwater_mech::stack::Scoped;
use backwater_mech::{flowlet, spray};
use backwater_net::Rate;
use backwater_net::config::{AckPath, Recovery, TransportParams};
use backwater_net::packet::HostId;
use backwater_net::record::State;
use backwater_net::spec::{FaultKind, FrameKind, Stream};

fn sprayed(order: spray::Order) -> Config {
    let params = spray::Params { order, ..spray::Params::default() };
    Config { spray: Some(Scoped::everywhere(params)), ..Config::default() }
}

fn by_flowlet(gap: Time) -> Config {
    let params = flowlet::Params { gap, ..flowlet::Params::default() };
    Config { flowlet: Some(Scoped::everywhere(params)), ..Config::default() }
}

/// Data frames that a leaf sent to each spine.
fn uplinks(bench: &Bench, out: &Outcome, leaf: &str, spines: u32) -> Vec<u64> {
    let port = |s| out.port(bench.node(leaf), bench.node(&format!("spine{s}"))).stats.tx_data_frames;
    (0..spines).map(port).collect()
}

/// Two flows from one leaf to another over two spines, at the rate of one uplink each.
fn two_flows(seed: u64, mechanisms: Config) -> (Bench, Outcome) {
    let mut bench = Bench::leaf_spine(2, 2, 2);
    (bench.seed, bench.mechanisms) = (seed, mechanisms);
    bench.flow(0, 2, 4_000_000);
    bench.flow(1, 3, 4_000_000);
    let out = bench.run();
    out.at_rest();
    (bench, out)
}

#[test]
fn ecmp_halves_what_spraying_does_not() {
    let collides = |seed: &u64| {
        let (bench, out) = two_flows(*seed, Config::default());
        uplinks(&bench, &out, "leaf0", 2).contains(&0)
    };
    let seed = (1..40).find(collides).expect("half of all seeds do");
    let (_, ecmp) = two_flows(seed, Config::default());
    let last_byte = |out: &Outcome| out.rows.flows.iter().filter_map(|f| f.fct_last_byte).max().unwrap().0 as f64 / 1e6;
    let alone = ecmp.flow(0).ideal.unwrap().0 as f64 / 1e6;
    // One uplink carries all 2000 packets: 1000 times 4064 B at 200 Gb/s more than a flow takes alone.
    let last = ecmp.rows.flows.iter().filter_map(|f| f.fct_last_byte).max().unwrap();
    assert_eq!(last - ecmp.flow(0).ideal.unwrap(), Time(1000 * 4064 * 40));
    for order in [spray::Order::RoundRobin, spray::Order::Random] {
        let (bench, out) = two_flows(seed, sprayed(order));
        let slowest = last_byte(&out);
        assert!(slowest < 1.1 * alone, "{order:?}: {slowest} against {alone}");
        let sent = uplinks(&bench, &out, "leaf0", 2);
        assert_eq!(sent.iter().sum::<u64>(), 2000);
        if order == spray::Order::RoundRobin {
            assert_eq!(sent, [1000, 1000]);
            assert!(slowest < 1.002 * alone, "{slowest} against {alone}");
        }
    }
    let (bench, out) = two_flows(seed, by_flowlet(Time::us(50)));
    assert_eq!(uplinks(&bench, &out, "leaf0", 2), [1000, 1000], "the second flow finds the first one's uplink taken");
    assert_eq!(out.rows.flows.iter().map(|f| f.reordered).sum::<u64>(), 0);
}

#[test]
fn round_robin_balances_exactly_whatever_the_flows() {
    let mut bench = Bench::leaf_spine(3, 4, 4);
    bench.mechanisms = sprayed(spray::Order::RoundRobin);
    for (src, dst, packets) in [(0, 4, 7), (1, 9, 400), (2, 5, 13), (3, 11, 180)] {
        bench.flow(src, dst, packets * 4000);
    }
    let out = bench.run();
    out.at_rest();
    assert_eq!(uplinks(&bench, &out, "leaf0", 4), [150; 4]);
}

#[test]
fn a_receiver_that_takes_any_order_has_nothing_sent_again() {
    // Many senders over few spines: packets overtake each other all the time.
    let mut bench = Bench::leaf_spine(4, 3, 4);
    bench.mechanisms = sprayed(spray::Order::Random);
    for host in 0..12 {
        bench.flow(host, 12 + host % 4, 400_000);
    }
    let selective = |in_order| TransportParams {
        recovery: Recovery::SelectiveRepeat,
        in_order,
        timeout: Time::ms(2),
        ..TransportParams::default()
    };
    let again = |out: &Outcome| out.rows.flows.iter().map(|f| f.retransmitted).sum::<u64>();
    bench.transport = selective(false);
    let out = bench.run();
    out.at_rest();
    assert!(out.rows.flows.iter().all(|f| f.state == State::Complete && f.received == 400_000 && f.packets == 100));
    assert!(out.rows.flows.iter().any(|f| f.reordered > 0));
    assert_eq!(again(&out), 0);
    // A receiver that takes gaps for losses causes retransmissions of packets that were never lost.
    let strict = Bench { transport: selective(true), ..bench.clone() }.run();
    assert!(again(&strict) > 100, "{}", again(&strict));
    // The timeout finds lost packets, and they are retransmitted once.
    let (from, to) = (bench.node("h3"), bench.node("leaf0"));
    bench.fault(Time::ZERO, FaultKind::DropNth { from, to, what: FrameKind::Data, nth: 50 });
    let lossy = bench.run();
    assert_eq!((again(&lossy), lossy.flow(3).retransmitted, lossy.flow(3).timeouts), (1, 1, 1));
    assert!(lossy.rows.flows.iter().all(|f| f.state == State::Complete));
}

#[test]
fn acknowledgements_keep_to_one_path() {
    for path in [AckPath::Reverse, AckPath::Ecmp] {
        let mut bench = Bench::leaf_spine(2, 4, 1);
        (bench.ack.path, bench.mechanisms) = (path, sprayed(spray::Order::RoundRobin));
        bench.flow(0, 1, 400_000);
        let out = bench.run();
        out.at_rest();
        assert_eq!(uplinks(&bench, &out, "leaf0", 4), [25; 4]);
        let acks = |s| out.port(bench.node("leaf1"), bench.node(&format!("spine{s}"))).stats.tx_frames;
        let mut acks: Vec<u64> = (0..4).map(acks).collect();
        acks.sort_unstable();
        assert_eq!(acks, [0, 0, 0, 100], "{path:?}");
    }
}

#[test]
fn a_pinned_path_stays_pinned() {
    let mut bench = Bench::leaf_spine(2, 2, 8);
    bench.mechanisms = sprayed(spray::Order::RoundRobin);
    let path = bench.over_spine(0, 1, 8);
    bench.flow(0, 8, 400_000).path = path;
    let out = bench.run();
    out.at_rest();
    assert_eq!(uplinks(&bench, &out, "leaf0", 2), [0, 100]);
}

/// Host 0 sends to host 2 over two paths, one of which takes 10 us more; host 1 fills alternately the one and the other.
fn unequal_ways(gap: Time) -> Outcome {
    let (rate, short) = (Rate::gbps(100), Time::ns(150));
    let links = [
        ("h0", "a", rate, short),
        ("h1", "a", rate, short),
        ("a", "near", rate, short),
        ("a", "far", rate, Time::us(10)),
        ("near", "b", rate, short),
        ("far", "b", rate, short),
        ("b", "h2", rate, short),
        ("b", "h3", rate, short),
    ];
    let mut bench = Bench::new(network(4, &["a", "b", "near", "far"], &links));
    bench.mechanisms = by_flowlet(gap);
    let stream = |slot, probability| Stream::new(slot, probability, Time::ms(5));
    bench.stream(0, 2, stream(Time::us(2), 0.2));
    bench.stream(1, 3, stream(Time::ns(330), 0.8));
    let out = bench.run();
    out.at_rest();
    let to = |name: &str| out.port(bench.node("a"), bench.node(name)).stats.tx_data_frames;
    assert!(to("near") > 100 && to("far") > 100, "both ways are used");
    out
}

#[test]
fn a_gap_longer_than_ways_differ_keeps_the_order() {
    let reordered = |gap| unequal_ways(gap).rows.flows.iter().find(|f| f.src == HostId(0)).map(|f| f.reordered);
    // Queues here are a few packets, of 0.3 us each.
    assert_eq!(reordered(Time::us(20)), Some(0));
    assert!(reordered(Time::us(1)) > Some(10));
}
