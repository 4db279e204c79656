//! Hosts with several links: the link of each flow, shown by its completion time, and failures of links.

use crate::own::Bench;
use backwater_engine::Time;
use backwater_net::bench::network::{Outcome, network};
use backwater_net::config::{AckPath, LinkChoice, Recovery, TransportParams};
use backwater_net::packet::NodeId;
use backwater_net::record::State;
use backwater_net::spec::{FaultKind, LinkEnds};
use backwater_net::{Bytes, Rate};

const FAST: Rate = Rate::gbps(100);
const SLOW: Rate = Rate::gbps(50);

/// Two hosts in two planes of one switch each, the second at half the rate; frames of 4000 B without headers, no latency.
fn planes() -> Bench {
    let mut bench = Bench::new(network(
        2,
        &["p0", "p1"],
        &[
            ("h0", "p0", FAST, Time::us(1)),
            ("h1", "p0", FAST, Time::us(1)),
            ("h0", "p1", SLOW, Time::us(1)),
            ("h1", "p1", SLOW, Time::us(1)),
        ],
    ));
    bench.packet.header = Bytes(0);
    bench.switch.latency = Time::ZERO;
    bench.ack.path = AckPath::Ecmp;
    bench
}

/// Data frames, and frames in all, that a node has sent to another.
fn sent(bench: &Bench, out: &Outcome, from: &str, to: &str) -> (u64, u64) {
    let (from, to) = (bench.node(from), bench.node(to));
    let rows = out.rows.ports.iter().filter(|row| row.node == from && row.peer == to);
    rows.fold((0, 0), |sum, row| (sum.0 + row.stats.tx_data_frames, sum.1 + row.stats.tx_frames))
}

/// 10 frames of 4000 B: 320 ns each at 100 Gb/s and 640 ns at 50 Gb/s, over two equal links, and 1 us of delay on each.
#[test]
fn a_flow_completes_as_its_link_carries_it() {
    for (link, frame) in [(0, Time::ns(320)), (1, Time::ns(640))] {
        let mut bench = planes();
        bench.nic.link = LinkChoice::Index;
        bench.flow(0, 1, 40_000).link = Some(link);
        let out = bench.run();
        let expected = Time(frame.0 * 11) + Time::us(2);
        assert_eq!(out.flow(0).fct_last_byte, Some(expected), "link {link}");
        assert_eq!(out.flow(0).ideal, Some(expected), "link {link}");
        let plane = format!("p{link}");
        assert_eq!(sent(&bench, &out, "h0", &plane).0, 10);
        assert_eq!(sent(&bench, &out, &plane, "h1").0, 10);
    }
}

/// Flows that name no link take the links in turns by the flows' numbers; two such flows share nothing.
#[test]
fn flows_without_a_link_of_their_own_go_by_their_numbers() {
    let mut bench = planes();
    bench.nic.link = LinkChoice::Index;
    for _ in 0..10 {
        bench.flow(0, 1, 4_000);
    }
    let out = bench.run();
    assert_eq!([sent(&bench, &out, "h0", "p0").0, sent(&bench, &out, "h0", "p1").0], [5, 5]);
}

/// A fair hash gives each of two links 500 of 1000 flows, with a deviation of 16. Acknowledgements are hashed by themselves, so half of
/// them return by the plane that did not carry the data.
#[test]
fn a_hash_shares_flows_out() {
    let mut bench = planes();
    for _ in 0..1_000 {
        bench.flow(0, 1, 4_000);
    }
    let out = bench.run();
    let data = [sent(&bench, &out, "h0", "p0").0, sent(&bench, &out, "h0", "p1").0];
    assert_eq!(data[0] + data[1], 1_000);
    assert!(data[0].abs_diff(500) < 80, "{data:?}");
    let acks = [sent(&bench, &out, "h1", "p0").1, sent(&bench, &out, "h1", "p1").1];
    assert_eq!(acks[0] + acks[1], 1_000);
    assert!(acks[0].abs_diff(500) < 80, "{acks:?}");
    assert!(out.rows.flows.iter().all(|row| row.state == State::Complete));
    // Backwards on the data's path, if requested.
    bench.ack.path = AckPath::Reverse;
    let out = bench.run();
    let data = [sent(&bench, &out, "h0", "p0").0, sent(&bench, &out, "h0", "p1").0];
    let acks = [sent(&bench, &out, "h1", "p0").1, sent(&bench, &out, "h1", "p1").1];
    assert_eq!(data, acks);
}

/// Bytes begun and not ended: 40 KB to the first link, so 8 KB, 8 KB and 20 KB to the second (36 KB), then 4 KB to the second (40 KB each).
/// With equal loads the first link takes the next flow.
#[test]
fn the_least_loaded_link_is_taken() {
    let mut bench = planes();
    bench.nic.link = LinkChoice::LeastLoaded;
    for bytes in [40_000, 8_000, 8_000, 20_000, 4_000, 12_000] {
        bench.flow(0, 1, bytes);
    }
    let out = bench.run();
    assert_eq!(sent(&bench, &out, "h0", "p0").0, 10 + 3);
    assert_eq!(sent(&bench, &out, "h0", "p1").0, 2 + 2 + 5 + 1);
    // Ended flows are no load any more.
    let mut later = planes();
    later.nic.link = LinkChoice::LeastLoaded;
    later.flow(0, 1, 40_000);
    later.flow(0, 1, 4_000).start = Time::ms(1);
    let out = later.run();
    assert_eq!(sent(&later, &out, "h0", "p1").0, 0);
}

/// GPUs of one server meet at its switch, over two links; to another server they use their interfaces, over four.
#[test]
fn the_shortest_way_decides_before_the_policy() {
    let mut bench = Bench::new(network(
        3,
        &["nv", "leaf0", "leaf1", "spine"],
        &[
            ("h0", "nv", Rate::gbps(3600), Time::ns(100)),
            ("h1", "nv", Rate::gbps(3600), Time::ns(100)),
            ("h0", "leaf0", Rate::gbps(400), Time::ns(500)),
            ("h1", "leaf0", Rate::gbps(400), Time::ns(500)),
            ("h2", "leaf1", Rate::gbps(400), Time::ns(500)),
            ("leaf0", "spine", Rate::gbps(400), Time::ns(500)),
            ("leaf1", "spine", Rate::gbps(400), Time::ns(500)),
        ],
    ));
    // Both paths to h1 have two links; without the leaf, only that over the NV switch remains.
    bench.graph.links[3].up = false;
    bench.ack.path = AckPath::Ecmp;
    for _ in 0..8 {
        bench.flow(0, 1, 4_000);
        bench.flow(0, 2, 4_000);
    }
    let out = bench.run();
    assert_eq!(sent(&bench, &out, "h0", "nv").0, 8);
    assert_eq!(sent(&bench, &out, "h0", "leaf0").0, 8);
    // No host forwards for h0: with its own interface down h2 is out of reach, though h1 has a path there.
    assert_eq!(sent(&bench, &out, "h1", "leaf0"), (0, 0));
}

/// The link of a long flow fails while it sends. Frames on the wire are lost and retransmitted after the timeout, by the other plane; the
/// receiver's acknowledgements find another path, too. Later flows avoid the link; when it is back they use it again.
#[test]
fn flows_leave_a_link_that_fails() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        for choice in [LinkChoice::Hash, LinkChoice::LeastLoaded, LinkChoice::Index] {
            let mut bench = planes();
            bench.transport = TransportParams { recovery, timeout: Time::us(50), ..TransportParams::default() };
            bench.nic.link = choice;
            for _ in 0..16 {
                bench.flow(0, 1, 400_000);
            }
            for _ in 0..16 {
                bench.flow(0, 1, 4_000).start = Time::us(200);
            }
            let (a, b) = (bench.node("h0"), bench.node("p0"));
            bench.fault(Time::us(100), FaultKind::link_down(a, b));
            let out = bench.run();
            assert!(out.rows.flows.iter().all(|row| row.state == State::Complete), "{recovery:?} {choice:?}");
            assert_eq!(out.flow(20).retransmitted, 0, "{recovery:?} {choice:?}: it began after the fault");
            // 16 x 100 frames and 16: about 312 of the first can have left by p0 in 100 us.
            let (first, second) = (sent(&bench, &out, "h0", "p0").0, sent(&bench, &out, "h0", "p1").0);
            assert!(first <= 313 && second >= 1616 - 313, "{recovery:?} {choice:?}: {first}, {second}");
            assert_eq!(bench.run_sliced(100).fingerprint, out.fingerprint);
            bench.fault(Time::us(150), FaultKind::link_up(a, b));
            let back = bench.run();
            let again = sent(&bench, &back, "h0", "p0").0;
            assert!(again > first, "{recovery:?} {choice:?}: {again} after {first}");
        }
    }
}

/// Until routes have converged a flow goes on over a link that is down: everything is lost there, and retransmitted afterwards. A link that is
/// up again is not used before the same time has passed. With 300 us a frame sent at the last moment times out 50 us later.
#[test]
fn routes_follow_a_link_after_their_convergence() {
    let last = |convergence: u64| {
        let mut bench = planes();
        bench.transport = TransportParams {
            recovery: Recovery::SelectiveRepeat,
            timeout: Time::us(50),
            ..TransportParams::default()
        };
        bench.nic.link = LinkChoice::Index;
        bench.convergence = Time::us(convergence);
        bench.flow(0, 1, 4_000_000).link = Some(0);
        for start in [900, 1_200] {
            let again = bench.flow(0, 1, 4_000);
            (again.start, again.link) = (Time::us(start), Some(0));
        }
        let (a, b) = (bench.node("h0"), bench.node("p0"));
        bench.fault(Time::us(100), FaultKind::link_down(a, b));
        bench.fault(Time::us(800), FaultKind::link_up(a, b));
        let out = bench.run();
        assert!(out.rows.flows.iter().all(|row| row.state == State::Complete), "{convergence} us");
        assert_eq!(bench.run_sliced(100).fingerprint, out.fingerprint, "{convergence} us");
        (
            sent(&bench, &out, "p0", "h1").0,
            sent(&bench, &out, "h0", "p1").0,
            out.flow(0).fct_last_byte.expect("complete"),
        )
    };
    // p0 has 100 us less 1.32 us of arrivals in 0.32 us each, and one may be half way: the rest goes by p1.
    let (before, after, at_once) = last(0);
    // Two later flows use the link again.
    assert!((310..=311).contains(&before), "{before}");
    assert!(at_once < Time::us(100 + 50 + 692 * 640 / 1000 + 60), "{at_once}");
    let (same, by_other, later) = last(300);
    // Up at 800 us, it is used from 1,100 us on: by one of the two.
    assert_eq!(same + 1, before);
    assert!(
        by_other > after && later >= at_once + Time::us(250) && later <= at_once + Time::us(400),
        "{later} after {at_once}"
    );
}

/// Routes follow each of two failures after its own time, and a link that has changed again in between by its last change. Until then the
/// interface sends a frame every 320 ns over the dead link.
#[test]
fn each_failure_converges_by_itself() {
    let leaves_after = |second: u64, flaps: bool| {
        let mut bench = planes();
        bench.transport = TransportParams {
            recovery: Recovery::SelectiveRepeat,
            timeout: Time::us(50),
            ..TransportParams::default()
        };
        bench.nic.link = LinkChoice::Index;
        bench.convergence = Time::us(200);
        bench.flow(0, 1, 40_000_000).link = Some(0);
        let (from, first, other, to) = (bench.node("h0"), bench.node("p0"), bench.node("p1"), bench.node("h1"));
        bench.fault(Time::us(10), FaultKind::link_down(other, to));
        bench.fault(Time::us(20), FaultKind::link_up(other, to));
        bench.fault(Time::us(second), FaultKind::link_down(from, first));
        if flaps {
            bench.fault(Time::us(second + 100), FaultKind::link_up(from, first));
            bench.fault(Time::us(second + 110), FaultKind::link_down(from, first));
        }
        let out = bench.run();
        assert!(out.rows.flows.iter().all(|row| row.state == State::Complete), "{second} us");
        sent(&bench, &out, "h0", "p0").0 * 320 / 1000
    };
    for (second, flaps, expected) in [(1_000, false, 1_200), (205, false, 405), (1_000, true, 1_310)] {
        let left = leaves_after(second, flaps);
        assert!((expected - 1..=expected + 1).contains(&left), "{second} us, {flaps}: {left} us");
    }
}

/// One link of a bundle is slow, then down: its number is that in the order of links.
#[test]
fn a_fault_means_one_link_of_a_bundle() {
    let mut bench = Bench::new(network(
        2,
        &["s0", "s1"],
        &[
            ("h0", "s0", FAST, Time::us(1)),
            ("s0", "s1", FAST, Time::us(1)),
            ("s0", "s1", FAST, Time::us(1)),
            ("h1", "s1", FAST, Time::us(1)),
        ],
    ));
    let (a, b) = (bench.node("s0"), bench.node("s1"));
    let rates = |out: &Outcome| -> Vec<u64> {
        let trunk = out.rows.ports.iter().filter(|row| row.node == a && row.peer == b);
        trunk.map(|row| row.stats.tx_data_frames).collect()
    };
    for _ in 0..32 {
        bench.flow(0, 1, 400_000);
    }
    let both = bench.run();
    assert!(rates(&both).iter().all(|frames| *frames > 0), "{:?}", rates(&both));
    for number in [0usize, 1] {
        let mut one = bench.clone();
        one.fault(Time::ZERO, FaultKind::LinkDown(LinkEnds { a, b, number: Some(number as u32) }));
        let out = one.run();
        assert_eq!((rates(&out)[number], rates(&out)[1 - number]), (0, 3200));
        let mut slow = bench.clone();
        let rate = Rate::gbps(10);
        slow.fault(Time::ZERO, FaultKind::RateChange { from: a, to: b, number: Some(number as u32), rate });
        let out = slow.run();
        assert_eq!(rates(&out), rates(&both));
        let ends: Vec<u64> = out.rows.flows.iter().map(|row| row.fct_last_byte.expect("complete").0).collect();
        let fast: Vec<u64> = both.rows.flows.iter().map(|row| row.fct_last_byte.expect("complete").0).collect();
        assert!(ends.iter().max() > fast.iter().max().map(|last| last * 2).as_ref(), "{number}");
    }
}

/// A pinned path determines the links with which it begins and ends, and a flow on it stays.
#[test]
fn a_pinned_path_begins_with_its_own_link() {
    let mut bench = planes();
    let path: Vec<NodeId> = ["h0", "p1", "h1"].map(|name| bench.node(name)).to_vec();
    let back: Vec<NodeId> = ["h1", "p0", "h0"].map(|name| bench.node(name)).to_vec();
    let flow = bench.flow(0, 1, 40_000);
    (flow.path, flow.ack_path) = (Some(path.into()), Some(back.into()));
    let out = bench.run();
    assert_eq!(out.flow(0).fct_last_byte, Some(Time::ns(11 * 640) + Time::us(2)));
    assert_eq!((sent(&bench, &out, "h0", "p1"), sent(&bench, &out, "h1", "p0")), ((10, 10), (0, 10)));
}

/// Two links to one switch are a bundle: four flows of 100 frames at 100 Gb/s end after 200 frame times if each link has two of them.
#[test]
fn links_to_one_switch_are_a_bundle() {
    let link = |a, b| (a, b, FAST, Time::us(1));
    let mut bench =
        Bench::new(network(2, &["s"], &[link("h0", "s"), link("h0", "s"), link("h1", "s"), link("h1", "s")]));
    bench.packet.header = Bytes(0);
    bench.switch.latency = Time::ZERO;
    bench.ack.path = AckPath::Ecmp;
    bench.nic.link = LinkChoice::Index;
    for _ in 0..4 {
        bench.flow(0, 1, 400_000);
    }
    let out = bench.run();
    let of = |node: &str| {
        let node = bench.node(node);
        out.rows
            .ports
            .iter()
            .filter(move |row| row.node == node)
            .map(|row| row.stats.tx_data_frames)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("h0"), [200, 200]);
    assert_eq!(of("s").iter().sum::<u64>(), 400);
    // Two flows take turns on each link. The first one has sent twice when the second begins, so its last frame is the 198th.
    let first = out.rows.flows.iter().filter_map(|row| row.fct_last_byte).min();
    assert!(first >= Some(Time::ns(198 * 320 + 320) + Time::us(2)), "{first:?}");
}
