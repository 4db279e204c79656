//! MRC in a network: when the value of a dead path is retired, what the others carry then, and when probes bring it back.
//!
//! h0 sends to h1 over two leaves and four spines, with a value for each spine. The links of hosts have half the rate of the others, so
//! nothing waits beyond h0. With the frame time T of h0's link, packet i begins at i T, until something is retransmitted or probed.

use crate::common::{Bench, Outcome, network};
use backwater_engine::Time;
use backwater_mech::mrc::{ANSWER, PROBE, Params};
use backwater_mech::registry::Config;
use backwater_mech::stack::Scoped;
use backwater_net::config::{AckPath, Recovery};
use backwater_net::packet::Port;
use backwater_net::record::{FrameRow, Rows};
use backwater_net::spec::FaultKind;
use backwater_net::{Bytes, Network, Rate};

/// 4064 B at 200 and 400 Gb/s.
const T: u64 = 162_560;
const FAST: u64 = T / 2;
/// Delay of a link, latency of a switch.
const D: u64 = 150_000;
const L: u64 = 300_000;
const TIMEOUT: Time = Time::us(30);
const PROBES: Time = Time::us(40);
/// The link fails, and works again.
const DOWN: Time = Time::us(50);
const UP: Time = Time::us(210);

fn bench(fields: bool, packets: u64) -> Bench {
    let (slow, fast) = (Rate::gbps(200), Rate::gbps(400));
    let spines = ["spine0", "spine1", "spine2", "spine3"];
    let delay = Time(D);
    let mut links = vec![("h0", "leaf0", slow, delay), ("h1", "leaf1", slow, delay)];
    links.extend(["leaf0", "leaf1"].iter().flat_map(|leaf| spines.map(|spine| (*leaf, spine, fast, delay))));
    let switches: Vec<&str> = ["leaf0", "leaf1"].into_iter().chain(spines).collect();
    let mut bench = Bench::new(network(2, &switches, &links));
    bench.switch.latency = Time(L);
    (bench.transport.recovery, bench.transport.timeout) = (Recovery::Rud, TIMEOUT);
    (bench.ack.bytes, bench.ack.path) = (Bytes(1), AckPath::Ecmp);
    let values = if fields { 4 } else { 16 };
    let params = Params { values, fields: fields.then(|| vec![4]), probe_interval: PROBES, probes: 1 };
    bench.mechanisms = Config { mrc: Some(Scoped::everywhere(params)), ..Config::default() };
    // Static routes.
    bench.convergence = Time::ms(20);
    bench.flow(0, 1, 4000 * packets);
    let [a, b] = ["leaf0", "spine2"].map(|name| bench.node(name));
    bench.fault(DOWN, FaultKind::link_down(a, b));
    bench
}

fn mends(mut bench: Bench) -> Bench {
    let [a, b] = ["leaf0", "spine2"].map(|name| bench.node(name));
    bench.fault(UP, FaultKind::link_up(a, b));
    bench
}

/// Data frames over each spine.
fn shares(bench: &Bench, out: &Outcome) -> [u64; 4] {
    let spine = |n| bench.node(&format!("spine{n}"));
    [0, 1, 2, 3].map(|n| out.port(bench.node("leaf0"), spine(n)).stats.tx_data_frames)
}

fn sent(out: &Outcome, kind: &str) -> Vec<Time> {
    out.rows.control.iter().filter(|row| row.kind == kind).map(|row| row.time).collect()
}

/// The number of the first packet over spine2 from some number on: its place in the order of turns, by a run without a failure.
fn place(bench: &Bench) -> u64 {
    let frames = frames(&Bench { faults: Vec::new(), ..bench.clone() }, "leaf0", "spine2");
    let first = frames.iter().find(|row| row.outbound).expect("a frame").packet;
    first.data().expect("data").offset / 4000
}

/// The frames of a port in the order of time.
fn frames(bench: &Bench, node: &str, peer: &str) -> Vec<FrameRow> {
    let mut network = Network::new(bench.spec(bench.mechanisms.clone())).expect("a valid run");
    let port = bench.graph.ports().expect("few ports")[bench.node(node).0 as usize]
        .iter()
        .position(|end| end.peer == bench.node(peer))
        .expect("a link");
    assert!(network.capture_at(bench.node(node), Port(port as u16)));
    let mut rows = Rows::default();
    while !network.run(1 << 20, &mut rows).expect("nothing is promised").done {}
    rows.frames
}

/// The first packet that is lost is the first that ends on the dead link after its failure: packet i is completely at spine2 at
/// (i + 1) T + T/2 + 2 D + L. Its value is retired when its timer expires, `TIMEOUT` after its begin, and not used again.
#[test]
fn a_dead_paths_value_is_retired_one_timeout_after_the_first_lost_packet() {
    let bench = bench(true, 2000);
    let (first, out) = (place(&bench), bench.run());
    let arrives = |i: u64| (i + 1) * T + FAST + 2 * D + L;
    let lost = (0..).map(|turn| first + 4 * turn).find(|i| arrives(*i) > DOWN.0).expect("one is lost");
    let retired = Time(lost * T) + TIMEOUT;
    let probes = sent(&out, PROBE);
    assert_eq!(probes[..3], [1, 2, 3].map(|nth| retired + Time(nth * PROBES.0)));
    // Before that every fourth packet takes the path, and afterwards none.
    let before = (0..).map(|turn| first + 4 * turn).take_while(|i| i * T < retired.0).count() as u64;
    let [a, b, gone, c] = shares(&bench, &out);
    assert_eq!(gone, before);
    let losses = (lost..).step_by(4).take_while(|i| i * T < retired.0).count() as u64;
    assert_eq!(a + b + c + gone, 2000 + losses);
    // The others have a third each of what follows, as they had a quarter each before.
    let most = [a, b, c].into_iter().max().expect("three");
    assert!([a, b, c].iter().all(|share| most - share <= 1), "{a} {b} {c}");
    // Probes take the path of their value, so none arrives.
    assert_eq!(out.counted(None, "ev_probes"), 0);
    assert_eq!(sent(&out, ANSWER), []);
    out.at_rest();
}

/// The first probe after the repair is answered. With h0's link free after the frame on it, the probe takes four links and three switches,
/// and so does its answer. No frame waits elsewhere for longer than another one takes there. The value has the next turn, or one of the
/// three after it.
#[test]
fn the_first_probe_after_the_repair_brings_the_value_back() {
    let bench = mends(bench(true, 4000));
    let out = bench.run();
    let probes = sent(&out, PROBE);
    let works = *probes.iter().find(|at| **at > UP).expect("a probe");
    assert_eq!((probes.last(), out.counted(None, "ev_probes")), (Some(&works), 1));
    let answers = sent(&out, ANSWER);
    let short = |gbps: u64| 64 * 8_000 / gbps;
    let way = 2 * short(200) + 2 * short(400) + 4 * D + 3 * L;
    assert_eq!(answers.len(), 1);
    let took = (answers[0] - works).0;
    assert!((way..=way + T + 2 * FAST + T).contains(&took), "{took} for {way}");
    let mut back = frames(&bench, "leaf0", "spine2").into_iter().filter(|row| row.outbound && row.packet.is_data());
    let first = back.find(|row| row.time > UP).expect("the path is used again");
    // Four packets leave h0 until the value has its turn, and the first of them may wait for the frame on the wire.
    let least = (answers[0].0 + way).saturating_add(D + L);
    let last = answers[0].0 + way + 2 * T + 5 * T + T + FAST + D + L;
    assert!((least..=last).contains(&first.time.0), "{} in {least} to {last}", first.time.0);
    out.at_rest();
}

/// Hashed values, of which some take the dead path: probes take it as well, and so none is answered. After the repair all return.
#[test]
fn probes_of_hashed_values_take_the_path_of_their_data() {
    let (dead, mended) = (bench(false, 2000), mends(bench(false, 4000)));
    let out = dead.run();
    let [.., gone, _] = shares(&dead, &out);
    assert!(gone > 0 && !sent(&out, PROBE).is_empty());
    assert_eq!(out.counted(None, "ev_probes"), 0);
    let out = mended.run();
    let last = sent(&out, PROBE).into_iter().max().expect("a probe");
    assert!(out.counted(None, "ev_probes") > 0 && last < UP + PROBES, "{last}");
    out.at_rest();
}
