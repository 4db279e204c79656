//! Marks of a whole run, packet by packet: the rule of `htsim_uec`'s queues by the parameters of `ecn`.
//!
//! > When the last bit of a data packet has left, by the bytes q of data left in its queue: above `high` it is marked, between `low` and
//! > `high` with probability (q - low) / (high - low), up to `low` never.

use crate::common::{Bench, On, network};
use backwater_engine::Time;
use backwater_mech::ecn;
use backwater_mech::registry::Config;
use backwater_net::config::{Architecture, BufferPer, ReleaseAt, SwitchParams};
use backwater_net::{Bytes, Rate};

const PACKETS: u64 = 100;
const FRAME: u64 = 4064;

/// Packets left in the queue when the last bit of each packet has gone, in their order. They arrive at 100 Gb/s, 325.12 ns each, and leave
/// at 10 Gb/s, 3251.2 ns each: the first leaves the switch 300 ns after it came (its latency), so packet k is gone 300 + 3251.2 k ns after
/// packet 1 came, when 10 k + 1 have come, or all.
fn left() -> impl Iterator<Item = u64> {
    (1..=PACKETS).map(|k| (10 * k + 1).min(PACKETS) - k)
}

/// Returns how many of the packets of one flow over such a bottleneck are marked.
fn marked(seed: u64, release_at: ReleaseAt, params: ecn::Params) -> u64 {
    marked_in(SwitchParams { release_at, buffer_per: BufferPer::None, ..SwitchParams::default() }, seed, params)
}

/// The same at a switch with other parameters.
fn marked_in(switch: SwitchParams, seed: u64, params: ecn::Params) -> u64 {
    let links = [("h0", "s0", Rate::gbps(100), Time::ns(150)), ("s0", "h1", Rate::gbps(10), Time::ns(150))];
    let mut bench = Bench::new(network(2, &["s0"], &links));
    (bench.seed, bench.switch) = (seed, switch);
    bench.mechanisms = Config::default().ecn(params);
    bench.flow(0, 1, PACKETS * 4000);
    bench.run().at_rest().flow(0).marked
}

fn curve(low: u64, high: u64) -> ecn::Params {
    ecn::Params { kmin: Bytes(low * FRAME), kmax: Bytes(high * FRAME), pmax: 1.0, ..ecn::Params::default() }
}

#[test]
fn above_high_all_are_marked_and_up_to_low_none() {
    for threshold in [0, 1, 10, 11, 50, 81, 82, 89, 90, 99] {
        let above = left().filter(|left| *left > threshold).count() as u64;
        assert_eq!(marked(1, ReleaseAt::End, curve(threshold, threshold)), above, "{threshold} packets");
    }
    // With the departing packet as part of the queue there is one more, and the queue at its first bit has others.
    let whole = ecn::Params { count_departing: true, ..curve(50, 50) };
    assert_eq!(marked(1, ReleaseAt::End, whole), left().filter(|left| left + 1 > 50).count() as u64);
    assert_ne!(marked(1, ReleaseAt::Start, curve(50, 50)), marked(1, ReleaseAt::End, curve(50, 50)));
}

/// Twenty runs with a curve from 10 to 80 packets: within four standard deviations of the sum of all probabilities.
#[test]
fn between_low_and_high_the_probability_rises_in_proportion() {
    let (low, high) = (10, 80);
    let p = |left: u64| (left.saturating_sub(low) as f64 / (high - low) as f64).min(1.0);
    let mean: f64 = left().map(p).sum();
    let variance: f64 = left().map(|left| p(left) * (1.0 - p(left))).sum();
    let runs: Vec<u64> = (1..=20).map(|seed| marked(seed, ReleaseAt::End, curve(low, high))).collect();
    let sum = runs.iter().sum::<u64>() as f64;
    assert!((sum - 20.0 * mean).abs() < 4.0 * (20.0 * variance).sqrt(), "{sum} of {}", 20.0 * mean);
    assert!(runs.iter().any(|run| *run != runs[0]), "they are drawn");
}

/// No packet that passes a host's port is marked if only ports to switches mark.
#[test]
fn a_receiver_s_port_may_be_left_to_its_credit() {
    let own = ecn::Params { host_ports: false, ..curve(0, 0) };
    assert_eq!(marked(1, ReleaseAt::End, own), 0);
}

/// In a memory of 200 packets a queue may hold what is free. A packet that leaves l behind is still there, so 199 - l packets are free. The
/// threshold is 99.5 packets lower, and more than it is left if 2 l + 1 > 100.5: fifty packets and more.
#[test]
fn a_dynamic_threshold_follows_the_memory_packet_by_packet() {
    let memory = SwitchParams {
        architecture: Architecture::SharedMemory,
        buffer: Bytes(200 * FRAME),
        release_at: ReleaseAt::End,
        ..SwitchParams::default()
    };
    let threshold = ecn::MarkingThreshold::Dynamic;
    let below = ecn::Params { threshold, offset: Some(Bytes(199 * FRAME / 2)), ..ecn::Params::default() };
    let above = left().filter(|left| 2 * left + 1 > 100).count() as u64;
    assert_eq!(marked_in(memory.clone(), 1, below.clone()), above);
    // A floor of 60 packets leaves those marked that leave more than 60, as long as the limit is higher: up to 99 of them.
    let floored = ecn::Params { floor: Bytes(60 * FRAME), ..below };
    let above = left().filter(|left| *left > 60).count() as u64;
    assert_eq!(marked_in(memory, 1, floored), above);
}
