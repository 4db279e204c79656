//! BBR on whole networks: the rate of a bottleneck, the queue before it, and how two flows share it.
//!
//! Frames have 4,096 bytes, all wires 5 us. The bottleneck has 40 Gb/s. Through the idle network a frame and its acknowledgement take 20 us of
//! wires, two latencies of 300 ns and the frame's 327,680 ps and 819,200 ps: 21.75 us, or 27 frames at the bottleneck.

use backwater::{Scenario, build};
use backwater_net::Network;
use backwater_net::record::Rows;
use std::path::Path;

const FRAME: u64 = 4096;
/// \[bytes\] The product of bandwidth and round trip.
const BDP: u64 = 108_800;

fn scenario(bbr: &str, flows: &str) -> String {
    format!(
        "[topology]\nkind = \"star\"\nhosts = 3\nrate = \"100 Gb/s\"\nlink_delay = \"5 us\"\n\
         [packet]\npayload = \"4032 B\"\nheader = \"64 B\"\ngap = \"0 B\"\n\
         [switch]\nlatency = \"300 ns\"\nbuffer = \"20 MB\"\nbuffer_per = \"ingress\"\n\
         [bbr]\n{bbr}\n\
         [[fault]]\nkind = \"rate-change\"\nat = \"0 ps\"\nfrom = \"s0\"\nto = \"h2\"\nrate = \"40 Gb/s\"\n{flows}"
    )
}

fn flow(from: &str, size: &str, start: &str) -> String {
    format!("[[flow]]\nfrom = \"{from}\"\nto = \"h2\"\nsize = \"{size}\"\nstart = \"{start}\"\n")
}

fn run(text: &str, seed: u64) -> Rows {
    let scenario = Scenario::from_text(text, "net.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"));
    let mut network = Network::new(build(&scenario.check().unwrap_or_else(|e| panic!("{e}")), seed).unwrap()).unwrap();
    let mut rows = Rows::default();
    while !network.run(1 << 16, &mut rows).unwrap_or_else(|broken| panic!("{}", broken.reason)).done {}
    network.finish(&mut rows);
    rows
}

/// \[us\] Time of `bytes` of payload at the bottleneck.
fn wire(bytes: f64) -> f64 {
    bytes * FRAME as f64 / 4032.0 / 5e9 * 1e6
}

fn fct(rows: &Rows, flow: usize) -> f64 {
    rows.flows[flow].fct_last_byte.expect("it has ended").0 as f64 * 1e-6
}

/// One flow has the whole bottleneck except in its first rounds. Startup's window bounds the queue: its gain, 2/ln 2, of the product and
/// three packets, less one product in flight.
#[test]
fn one_flow_has_its_bottleneck() {
    for seed in 1..=3 {
        let rows = run(&scenario("", &flow("h0", "20 MB", "0 s")), seed);
        let took = fct(&rows, 0);
        assert!(took > wire(20e6) && took < 1.06 * wire(20e6), "{took} us for {}", wire(20e6));
        let queue = rows.ports.iter().map(|row| row.stats.max_egress_bytes).max().unwrap_or(0);
        let bound = (2.0 / std::f64::consts::LN_2 - 1.0) * BDP as f64 + 5.0 * FRAME as f64;
        assert!((queue as f64) < bound, "{queue} B, {bound}");
        assert_eq!(rows.flows[0].retransmitted, 0);
    }
}

/// Two flows that begin together share the bottleneck: when the first ends, each has had half of it, within a quarter, which a phase of the
/// gain cycle takes from the other.
#[test]
fn two_flows_share() {
    for seed in 1..=4 {
        let rows = run(&scenario("", &(flow("h0", "40 MB", "0 s") + &flow("h1", "40 MB", "0 s"))), seed);
        let first = fct(&rows, 0).min(fct(&rows, 1));
        let share = wire(40e6) / first;
        assert!((0.375..=0.625).contains(&share), "seed {seed}: {share}");
        let last = fct(&rows, 0).max(fct(&rows, 1));
        assert!(last < 1.05 * wire(80e6), "seed {seed}: {last}");
    }
}

/// A flow that begins later takes the first one's queue for the length of its path. When both measure anew, in ProbeRTT, they share: in the
/// second half each has its half within a quarter.
#[test]
fn a_late_flow_gets_its_share_by_probe_rtt() {
    for seed in 1..=3 {
        let probe = "rtprop_window = \"2 ms\"\nprobe_rtt_duration = \"40 us\"";
        let rows = run(&scenario(probe, &(flow("h0", "60 MB", "0 s") + &flow("h1", "40 MB", "2 ms"))), seed);
        // The bytes of the second while the first was there, of all bytes.
        let late =
            rows.flows.iter().find(|row| row.src.0 == 1).and_then(|row| row.fct_last_byte).expect("it has ended");
        let share = wire(40e6) / (late.0 as f64 * 1e-6);
        assert!((0.375..=0.75).contains(&share), "seed {seed}: {share}");
    }
}
