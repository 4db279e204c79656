//! Oracles from queueing theory: the M/D/1 queue, the saturation throughput of the four architectures, deficit round robin; and sources
//! with short queues.

use crate::own::Bench;
use backwater_engine::{Rng, Time, rng};
use backwater_net::bench::network::{Outcome, network};
use backwater_net::config::{Architecture, LatencyAt};
use backwater_net::packet::Class;
use backwater_net::record::FlowRow;
use backwater_net::spec::Stream;
use backwater_net::{Bytes, Rate};
use rand::RngExt;

/// Service time at the queue under test: 1000 B at 10 Gb/s.
const SERVICE: u64 = 800_000;

/// Packets of Poisson arrivals at `rho` from 32 hosts over links a hundred times as fast into one.
///
/// Two packets of one host rarely meet (its own link is loaded with rho/3200), so the switch sees Poisson arrivals except for spacings
/// below 8 ns of 800.
fn poisson(rho: f64, packets: usize) -> Bench {
    const HOSTS: u32 = 32;
    let names: Vec<String> = (0..=HOSTS).map(|h| format!("h{h}")).collect();
    let link = |h: u32| {
        let rate = if h == HOSTS { Rate::gbps(10) } else { Rate::gbps(1000) };
        (names[h as usize].as_str(), "s0", rate, Time::ns(100))
    };
    let mut bench = Bench::new(network(HOSTS + 1, &["s0"], &(0..=HOSTS).map(link).collect::<Vec<_>>()));
    bench.packet.payload = Bytes(1000);
    bench.packet.header = Bytes(0);
    bench.ack.enabled = false;
    let mut rng: Rng = rng::stream(7, "poisson packets", (rho * 100.0) as u64);
    let mut at = 0.0;
    for _ in 0..packets {
        at -= (1.0 - rng.random::<f64>()).ln() * SERVICE as f64 / rho;
        bench.flow(rng.random_range(0..HOSTS), HOSTS, 1000).start = Time(at as u64);
    }
    bench
}

/// Mean waits in service times are rho / (2 (1 - rho)) (Pollaczek and Khinchine).
///
/// The mean of correlated waits is judged by the means of 25 batches: within 3.5 of its standard errors (which a true mean leaves once in
/// 500 times; the seed is fixed). For the test to be able to fail, the error itself must stay below 7 % of the mean.
#[test]
fn poisson_packets_wait_as_in_m_d_1() {
    for (rho, packets) in [(0.5, 50_000), (0.8, 200_000), (0.9, 600_000)] {
        let out = poisson(rho, packets).run();
        out.at_rest();
        // 8 ns and 100 ns to the switch, 300 ns in it, 800 ns and 100 ns to the sink.
        let unloaded = 8_000 + 100_000 + 300_000 + SERVICE + 100_000;
        let waits: Vec<f64> = out
            .rows
            .flows
            .iter()
            .map(|f| (f.fct_last_byte.expect("complete").0 - unloaded) as f64 / SERVICE as f64)
            .collect();
        let batches: Vec<f64> =
            waits.chunks_exact(packets / 25).map(|b| b.iter().sum::<f64>() / b.len() as f64).collect();
        let mean = batches.iter().sum::<f64>() / 25.0;
        let error = (batches.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / (25.0 * 24.0)).sqrt();
        let theory = rho / (2.0 * (1.0 - rho));
        println!("rho {rho}: mean wait {mean:.4} +- {error:.4}, theory {theory:.4}");
        assert!(error < 0.07 * theory, "rho {rho}: too few packets");
        assert!((mean - theory).abs() < 3.5 * error, "rho {rho}: {mean} +- {error}, theory {theory}");
    }
}

/// Share of line rate that the outputs of an N x N switch carry when every input always has a frame, to outputs drawn anew
/// for each frame; measured over the second half of `slots` frame times.
fn saturated(architecture: Architecture, n: u32, slots: u64) -> f64 {
    let slot = 32_000; // 400 B at 100 Gb/s
    let mut bench = Bench::star(2 * n, Rate::gbps(100));
    bench.packet.payload = Bytes(400);
    bench.packet.header = Bytes(0);
    bench.ack.enabled = false;
    bench.switch.architecture = architecture;
    bench.switch.speedup = Some(1.0);
    bench.switch.latency_at = LatencyAt::Output;
    // Saturated means that no output runs dry for want of arrivals behind the crossing: room for one frame beside the one on the wire.
    bench.switch.staging = Bytes(400);
    bench.stop_at = Some(Time(slots * slot));
    let mut rng: Rng = rng::stream(3, "destinations", u64::from(n));
    for k in 0..slots {
        for src in 0..n {
            bench.flow(src, n + rng.random_range(0..n), 400).start = Time(k * slot);
        }
    }
    let out = bench.run();
    let half = Time(slots * slot / 2);
    let late = |f: &&backwater_net::record::FlowRow| f.fct_last_byte.is_some_and(|fct| f.start + fct > half);
    let delivered = out.rows.flows.iter().filter(late).count() as f64;
    delivered / (n as f64 * slots as f64 / 2.0)
}

/// Karol, Hluchyj and Morgan, IEEE Trans. Commun. 1987, table I: FIFO input queues carry 0.6184 of line rate at N = 8, and 0.601 at N = 16
/// (0.586 for N to infinity). The throughput of one slot varies by about 1/sqrt(N) of the mean with a memory of a few slots, so 4000 slots
/// give 3 sigma of about 0.006.
#[test]
fn input_queued_switch_saturates_at_karols_limit() {
    for (n, limit) in [(8, 0.6184), (16, 0.601)] {
        let got = saturated(Architecture::InputQueued, n, 8_000);
        println!("input-queued N = {n}: {got:.4}");
        assert!((got - limit).abs() < 0.006, "N = {n}: {got}, published {limit}");
    }
}

/// Virtual output queues with iSLIP lose nothing to head-of-line blocking under uniform traffic (McKeown 1999), and output
/// queues nothing at all. At a load of exactly 1 queues need time to build up, and until then outputs run dry: the missing
/// share falls as 1/sqrt(slots), for VOQ from 1.6 % over 8000 slots to 0.7 % over 32 000.
#[test]
fn virtual_output_queues_and_output_queues_do_not_saturate() {
    for (n, slots, least) in [(8, 32_000, 0.99), (16, 8_000, 0.98)] {
        let [voq, output, shared] =
            [Architecture::Voq, Architecture::OutputQueued, Architecture::SharedMemory].map(|a| saturated(a, n, slots));
        println!("N = {n}: VOQ {voq:.4}, output-queued {output:.4}, shared memory {shared:.4}");
        assert!(voq > least && voq <= output + 0.001, "VOQ {voq}");
        assert!(output > 0.995 && output <= 1.001, "output-queued {output}");
        assert!((output - shared).abs() < 1e-9, "without a limit the two are one");
    }
}

/// Payload received per class at host 8 from eight hosts that send one class each, in frames of `sizes`, until 100 us.
fn shares(architecture: Architecture, weights: [u32; 8], sizes: [u64; 8], classes: &[u8]) -> Vec<u64> {
    let mut bench = Bench::star(9, Rate::gbps(100));
    bench.switch.architecture = architecture;
    bench.switch.weights = Some(weights);
    bench.ack.enabled = false;
    bench.stop_at = Some(Time::us(100));
    for class in classes {
        let size = sizes[usize::from(*class)];
        // Flows of one frame each, so that the classes can have frames of different lengths.
        for _ in 0..1_300_000 / size {
            bench.flow(u32::from(*class), 8, size - 64).class = Class(*class);
        }
    }
    let out: Outcome = bench.run();
    let per_class = |class: &u8| {
        let of_class = out.rows.flows.iter().filter(|f| f.class == Class(*class) && f.fct_last_byte.is_some());
        of_class.map(|f| f.bytes + 64).sum()
    };
    classes.iter().map(per_class).collect()
}

/// Shreedhar and Varghese 1995, theorem: after any number of rounds two backlogged queues of weights w_i, w_j differ in
/// bytes/weight by at most a quantum and twice the longest frame. 100 us at 100 Gb/s are 1.25 MB.
#[test]
fn deficit_round_robin_shares_by_weight_whatever_the_frames_lengths() {
    for architecture in [Architecture::OutputQueued, Architecture::SharedMemory] {
        let sizes = [4064, 1000, 300, 4064, 64, 2000, 700, 1500];
        for (weights, classes) in
            [([1; 8], &[1u8, 3, 5][..]), ([1, 2, 4, 1, 1, 1, 1, 1], &[0, 1, 2]), ([1; 8], &[4, 7])]
        {
            let got = shares(architecture, weights, sizes, classes);
            let total: u64 = got.iter().sum();
            // The link is idle only until the first frame has arrived (at most 2 x 325 ns and 600 ns), and carries one at the end.
            assert!(total > 1_250_000 - 15_600 - 4_064, "{architecture:?} {classes:?}: {got:?}");
            let per_weight: Vec<u64> =
                got.iter().zip(classes).map(|(b, c)| b / u64::from(weights[usize::from(*c)])).collect();
            let (least, most) = (per_weight.iter().min(), per_weight.iter().max());
            let spread = most.zip(least).map_or(0, |(m, l)| m - l);
            assert!(spread <= 3 * 4064, "{architecture:?} {classes:?}: {got:?} of weights {weights:?}");
        }
    }
}

/// Weight 0 is served before all others, the highest number first.
#[test]
fn weight_zero_is_strict_priority() {
    let got = shares(Architecture::OutputQueued, [1, 1, 1, 1, 1, 1, 0, 1], [1000; 8], &[3, 6, 7]);
    // Class 6 offers 1.3 MB, more than the link carries in 100 us: frames of others leave only before its first.
    assert!(got[0] + got[2] <= 2 * 1000, "{got:?}");
}

/// Two streams of one host offer a frame in every slot of a frame's time. The wire takes one frame a slot, the source's queues of `n`
/// frames fill, and later arrivals are never sent: of 2 x 100 frames, 100 have begun on the wire and 2n wait.
#[test]
fn a_full_source_queue_refuses_packets() {
    for queue in [Some(1), Some(4), Some(50), None] {
        let mut bench = Bench::star(3, Rate::gbps(10));
        (bench.packet.payload, bench.packet.header, bench.ack.enabled) = (Bytes(1436), Bytes(64), false);
        for dst in [1, 2] {
            bench.stream(0, dst, Stream { queue, ..Stream::new(Time::ns(1200), 1.0, Time::us(120)) });
        }
        let out = bench.run();
        out.at_rest();
        let sum = |of: fn(&FlowRow) -> u64| out.rows.flows.iter().map(of).sum::<u64>() / 1436;
        let sent = (100 + 2 * queue.map_or(50, u64::from)).min(200);
        assert_eq!((sum(|f| f.received), sum(|f| f.bytes), sum(|f| f.blocked)), (sent, sent, 200 - sent), "{queue:?}");
    }
}
