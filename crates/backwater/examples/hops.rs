//! The cost of a packet-hop: one frame put on one link, acknowledgements and control frames included.
//!
//! `hops` measures all cases in one process, alternately, several times each, and takes the fastest of each. `hops CASE LENGTH` runs one
//! case once, for a profiler: two lengths and a subtraction leave the cost of a hop. With a third word it runs on so many threads, and
//! prints the duration.

// Its cases use a part of the tests' shared module.
#[allow(dead_code, unused_imports)]
#[path = "../../backwater-mech/tests/it/common/mod.rs"]
mod common;

use backwater::{Scenario, build};
use backwater_engine::Time;
use backwater_mech::ecn;
use backwater_mech::mac_control::Signal;
use backwater_mech::registry::Config;
use backwater_mech::stage;
use backwater_net::config::{AckParams, AckPath, BufferPer, LatencyAt, PacketParams};
use backwater_net::record::{Progress, Row, Sink};
use backwater_net::spec::{FlowSpec, Spec};
use backwater_net::topology::FatTree;
use backwater_net::{Bytes, Rate};
use common::{Bench, On, pfc, sfc};
use rand::RngExt;
use std::fs;
use std::path::Path;
use std::time::Instant;

// As in the binding: a large network lies in huge pages.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A case: the length of its runs, the unit of the length, and the number of measurements.
struct Case {
    name: &'static str,
    length: u64,
    unit: &'static str,
    rounds: usize,
    build: fn(u64) -> Spec<Config>,
}

impl Case {
    const fn new(
        name: &'static str,
        length: u64,
        unit: &'static str,
        rounds: usize,
        build: fn(u64) -> Spec<Config>,
    ) -> Case {
        Case { name, length, unit, rounds, build }
    }
}

/// The lengths of a small and a large network are such that both have as many hops.
const CASES: [Case; 13] = [
    Case::new("ecmp-128", 1280, "packets a flow", 3, |packets| ecmp(16, 8, packets)),
    Case::new("ecmp-2048", 80, "packets a flow", 3, |packets| ecmp(128, 16, packets)),
    Case::new("ecmp-16384", 10, "packets a flow", 3, |packets| ecmp(512, 32, packets)),
    Case::new("permutation-1024", 2000, "KB a flow", 3, permutation_1024),
    Case::new("permutation-128", 4000, "packets a flow", 7, |packets| permutation(16, 8, packets)),
    Case::new("permutation-2048", 250, "packets a flow", 7, |packets| permutation(128, 16, packets)),
    Case::new("study-case-2-pfc", 100, "% of the study's flow sizes", 7, |percent| study_case_2(percent, false)),
    Case::new("study-case-2-pfc+sfc", 100, "% of the study's flow sizes", 7, |percent| study_case_2(percent, true)),
    Case::new("fat-tree-320", 300, "us of arrivals", 3, fat_tree_320),
    Case::new("prefill-2048", 1800, "KB a flow", 1, prefill_2048),
    Case::new("dispatch-8192", 20, "tokens a GPU", 1, |tokens| dispatch(4, tokens)),
    // Long ones run when they are named.
    Case::new("dispatch-100k", 470, "tokens a GPU", 0, |tokens| dispatch(49, tokens)),
    Case::new("alltoall-8192", 8192, "GPUs that take part, from the first host on", 0, alltoall_8192),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [] => measure_all(),
        [name, length] => {
            let (progress, _) = run(spec(name, length));
            println!("{} {} {}", progress.hops, progress.data_hops, peak_memory());
        }
        [name, length, threads] => {
            let mut make = || Ok(spec(name, length));
            let mut network =
                stage::build_parallel(threads.parse().unwrap_or_else(|_| usage("THREADS is a number")), &mut make)
                    .expect("a network");
            let start = Instant::now();
            while !stage::run_parallel(&mut network, 1 << 24, &mut Nobody).expect("a promise that is kept").done {}
            let (seconds, why) = (start.elapsed().as_secs_f64(), network.why_one_thread().unwrap_or("all"));
            println!(
                "{} threads ({why}): {seconds:.3} s, {:016x}, {} kB",
                network.threads(),
                network.fingerprint(),
                peak_memory()
            );
        }
        _ => {
            usage("hops measures all cases, hops CASE LENGTH runs one, hops CASE LENGTH THREADS says how long it takes")
        }
    }
}

/// Says what the words may be, and ends.
fn usage(problem: &str) -> ! {
    eprintln!("{problem}");
    for Case { name, length, unit, .. } in CASES {
        eprintln!("    {name:22} LENGTH in {unit}, as published: {length}");
    }
    std::process::exit(2);
}

/// A case with a run of this length.
fn spec(name: &str, length: &str) -> Spec<Config> {
    let case =
        CASES.iter().find(|case| case.name == name).unwrap_or_else(|| usage(&format!("there is no case {name}")));
    (case.build)(length.parse().unwrap_or_else(|_| usage(&format!("{length} is no length"))))
}

fn measure_all() {
    let mut best = [f64::INFINITY; CASES.len()];
    let mut progress = [Progress::default(); CASES.len()];
    for round in 0..CASES.iter().map(|case| case.rounds).max().unwrap_or(0) {
        for (i, case) in CASES.iter().enumerate().filter(|(_, case)| round < case.rounds) {
            let (end, seconds) = run((case.build)(case.length));
            (progress[i], best[i]) = (end, best[i].min(seconds));
        }
    }
    println!("| case | frames on links | of them data | million hops/s | data hops/s | ns per hop | s |");
    println!("|---|---|---|---|---|---|---|");
    let per_hop = |i: usize| best[i] * 1e9 / progress[i].hops as f64;
    for (i, case) in CASES.iter().enumerate().filter(|(_, case)| case.rounds > 0) {
        let (hops, data) = (progress[i].hops, progress[i].data_hops);
        let rate = |n: u64| n as f64 / best[i] / 1e6;
        let (name, seconds) = (case.name, best[i]);
        println!(
            "| {name} | {hops} | {data} | {:.2} | {:.2} | {:.1} | {seconds:.2} |",
            rate(hops),
            rate(data),
            per_hop(i)
        );
    }
    let growth = |large: &str, small: &str| {
        let at = |name: &str| CASES.iter().position(|case| case.name == name).expect("a case of the table");
        println!("time per hop, {large} to {small}: {:.2}", per_hop(at(large)) / per_hop(at(small)));
    };
    println!();
    growth("ecmp-2048", "ecmp-128");
    growth("ecmp-16384", "ecmp-128");
    growth("permutation-2048", "permutation-128");
}

/// Runs to the end. Building the network does not count.
fn run(spec: Spec<Config>) -> (Progress, f64) {
    let mut network = stage::build(spec).expect("a network that can be");
    let start = Instant::now();
    loop {
        let progress = stage::run(&mut network, 1 << 20, &mut Nobody).expect("a run that keeps its promises");
        if progress.done {
            return (progress, start.elapsed().as_secs_f64());
        }
    }
}

/// kB of peak memory of this process, if the system reports it.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Every host sends to the host in its own place under the next leaf, each through a spine of its own: no link is shared. Real frame
/// lengths, PFC and ECN on but never active.
fn permutation(leaves: u32, spines: u32, packets: u64) -> Spec<Config> {
    let mut bench = network(leaves, spines);
    bench.packet = PacketParams::default();
    bench.ack = AckParams { path: AckPath::Reverse, ..AckParams::default() };
    let host = |leaf: u32, i: u32| (leaf % leaves) * spines + i;
    for h in 0..leaves * spines {
        let (leaf, i) = (h / spines, h % spines);
        let flow = add_flow(&mut bench, spines, [host(leaf, i), i, host(leaf + 1, i)], 4096 * packets);
        flow.start = Time(u64::from(h) * 79 % 160_000);
    }
    let ecn = ecn::Params { kmin: Bytes(100_000), kmax: Bytes(400_000), ..ecn::Params::default() };
    bench.mechanisms = Config::default().pfc(pfc(380_000, 240_000, Signal::Timed)).ecn(ecn);
    bench.spec(bench.mechanisms.clone())
}

/// Every host sends to another one, drawn at random, on the path that ECMP gives each flow: some links are shared, others idle. Real frame
/// lengths, PFC and ECN on.
fn ecmp(leaves: u32, spines: u32, packets: u64) -> Spec<Config> {
    let mut bench = network(leaves, spines);
    bench.packet = PacketParams::default();
    bench.ack = AckParams { path: AckPath::Ecmp, ..AckParams::default() };
    randomly(&mut bench, leaves * spines, 4096 * packets);
    let ecn = ecn::Params { kmin: Bytes(100_000), kmax: Bytes(400_000), ..ecn::Params::default() };
    bench.mechanisms = Config::default().pfc(pfc(380_000, 240_000, Signal::Timed)).ecn(ecn);
    bench.spec(bench.mechanisms.clone())
}

/// The permutation that htsim runs: 1024 hosts on a fat tree of 100 Gb/s with links of 1 us, ECMP, queues that hold everything, PFC that
/// never has to act.
fn permutation_1024(kilobytes: u64) -> Spec<Config> {
    let (pods, tors_per_pod, aggs_per_pod, cores, hosts_per_tor) = (16, 8, 8, 64, 8);
    let tree = FatTree {
        pods,
        tors_per_pod,
        aggs_per_pod,
        cores,
        hosts_per_tor,
        rate: Rate::gbps(100),
        fabric_rate: None,
        ..FatTree::default()
    };
    let mut bench = Bench::new(tree.build().expect("a valid fat tree"));
    bench.packet = PacketParams::default();
    bench.ack = AckParams { path: AckPath::Ecmp, ..AckParams::default() };
    randomly(&mut bench, 1024, 1000 * kilobytes);
    bench.mechanisms = Config::default().pfc(pfc(100_000_000, 90_000_000, Signal::Timed));
    bench.spec(bench.mechanisms.clone())
}

/// A permutation without a host that sends to itself (Sattolo 1986), from hosts that begin within 160 ns.
fn randomly(bench: &mut Bench, hosts: u32, bytes: u64) {
    let mut to: Vec<u32> = (0..hosts).collect();
    let mut rng = backwater_engine::rng::stream(1, "bench permutation", u64::from(hosts));
    for last in (1..to.len()).rev() {
        to.swap(last, rng.random_range(0..last));
    }
    for (src, dst) in (0..).zip(to) {
        bench.flow(src, dst, bytes).start = Time(u64::from(src) * 79 % 160_000);
    }
}

/// Case 2 of the study sfc-aidc-2025: three flows into h0 through three spines, and a victim that shares a spine with one.
fn study_case_2(percent: u64, with_sfc: bool) -> Spec<Config> {
    let mut bench = network(16, 8);
    bench.switch.latency_at = LatencyAt::Fabric;
    for i in 0..3 {
        add_flow(&mut bench, 8, [8 + 8 * i, i, 0], 200_000 * percent);
    }
    add_flow(&mut bench, 8, [9, 0, 1], 500_000 * percent);
    bench.mechanisms = Config::default().pfc(pfc(380_000, 240_000, Signal::Ideal));
    if with_sfc {
        bench.mechanisms = bench.mechanisms.clone().sfc(sfc(200_000, Time::us(6)));
    }
    bench.spec(bench.mechanisms.clone())
}

/// A file of this repository with other values of some keys.
fn scenario(file: &str, values: &[(&str, &str)]) -> Spec<Config> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let set = |scenario: Scenario, (key, value): &(&str, &str)| scenario.with_set(key, value);
    let scenario = Scenario::load(&file).and_then(|scenario| values.iter().try_fold(scenario, set));
    let resolved = scenario.and_then(|s| s.check()).unwrap_or_else(|e| panic!("{e}"));
    build(&resolved, 1).unwrap_or_else(|e| panic!("{e}"))
}

/// Open-loop arrivals of flows.
fn fat_tree_320(microseconds: u64) -> Spec<Config> {
    let until = format!("{microseconds} us");
    scenario("benches/fat-tree-320.toml", &[("flow.background.until", &until), ("flow.incast.until", &until)])
}

/// A round of the study sfc-aidc-2025-prefill under PFC: 64 instances of 32 hosts, each of which sends to eight others.
fn prefill_2048(kilobytes: u64) -> Spec<Config> {
    let size = format!("{kilobytes} KB");
    scenario(
        "studies/sfc-aidc-2025-prefill/scenario.toml",
        &[
            ("job.prefill.rounds", "1"),
            ("job.prefill.step.experts.size", &size),
            // So that it can be split. No transfer waits for another: all start that much later.
            ("job.prefill.start_latency", "1 us"),
        ],
    )
}

/// A dispatch of a mixture of experts in groups of 64, on so many pods of 2,048 GPUs.
fn dispatch(pods: u32, tokens: u64) -> Spec<Config> {
    let [pods, instances, tokens] = [u64::from(pods), u64::from(32 * pods), tokens].map(|number| number.to_string());
    scenario(
        "benches/dispatch-100k.toml",
        &[("topology.pods", &pods), ("job.moe.instances", &instances), ("job.moe.step.dispatch.tokens", &tokens)],
    )
}

/// An all-to-all of so many ranks in phases.
fn alltoall_8192(ranks: u64) -> Spec<Config> {
    scenario("benches/alltoall-8192.toml", &[("job.all.ranks", &ranks.to_string())])
}

/// The study's switches, with as many hosts under a leaf as there are spines.
fn network(leaves: u32, spines: u32) -> Bench {
    let mut bench = Bench::leaf_spine(leaves, spines, spines);
    (bench.switch.buffer, bench.switch.buffer_per) = (Bytes(400_000), BufferPer::Ingress);
    bench.lossless = true;
    bench
}

/// A flow pinned to its path from host `src` of a leaf with `per_leaf` hosts over `spine` to host `dst`.
fn add_flow(bench: &mut Bench, per_leaf: u32, [src, spine, dst]: [u32; 3], bytes: u64) -> &mut FlowSpec {
    let (from, to) = (format!("leaf{}", src / per_leaf), format!("leaf{}", dst / per_leaf));
    let path = bench.path(&[&format!("h{src}"), &from, &format!("spine{spine}"), &to, &format!("h{dst}")]);
    let flow = bench.flow(src, dst, bytes);
    flow.path = path;
    flow
}

/// Discards rows.
struct Nobody;

impl Sink for Nobody {
    fn row(&mut self, _: Row<'_>) {}
}
