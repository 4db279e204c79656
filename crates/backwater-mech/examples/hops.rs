//! What a packet-hop costs: one frame put on one link, acknowledgements and control frames included.
//!
//! `hops` measures all cases in one process, alternately, several times each, and takes the fastest of each.
//! `hops CASE LENGTH` runs one case once, for a profiler: two lengths and a subtraction leave the cost of a hop.

use backwater_engine::Time;
use backwater_mech::{ecn, mac_control::Counter, mac_control::Signal, pfc, registry::Config, sfc, stack::Scoped};
use backwater_net::config::{
    AckParams, AckPath, Architecture, BufferPer, LatencyAt, NicParams, PacketParams, SwitchParams, TransportParams,
};
use backwater_net::network::Network;
use backwater_net::packet::{Class, HostId};
use backwater_net::record::{ControlRow, FlowRow, PortRow, Progress, SeriesRow, Sink};
use backwater_net::spec::{FlowSpec, Spec};
use backwater_net::topology::Graph;
use backwater_net::topology::leaf_spine::LeafSpine;
use backwater_net::workload::FlowSource;
use backwater_net::{Bytes, Rate};
use std::fs;
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: usize = 7;

/// A case, how long its runs are, and what the length counts.
struct Case {
    name: &'static str,
    length: u64,
    build: fn(u64) -> Spec<Config>,
}

const CASES: [Case; 4] = [
    // Packets per flow. Of equal numbers of hops, so that the two compare.
    Case { name: "permutation-128", length: 4000, build: |packets| permutation(16, 8, packets) },
    Case { name: "permutation-2048", length: 250, build: |packets| permutation(128, 16, packets) },
    // Per cent of the study's flow lengths.
    Case { name: "study-case-2-pfc", length: 100, build: |percent| study_case_2(percent, false) },
    Case { name: "study-case-2-pfc+sfc", length: 100, build: |percent| study_case_2(percent, true) },
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [] => measure_all(),
        [name, length] => {
            let case = CASES.iter().find(|case| case.name == *name).expect("a case of the table");
            let (progress, _) = run((case.build)(length.parse().expect("a length")));
            println!("{} {} {}", progress.hops, progress.data_hops, peak_memory());
        }
        _ => panic!("usage: hops [CASE LENGTH]"),
    }
}

fn measure_all() {
    let mut best = [f64::INFINITY; CASES.len()];
    let mut progress = [Progress::default(); CASES.len()];
    for _ in 0..ROUNDS {
        for (i, case) in CASES.iter().enumerate() {
            let (end, seconds) = run((case.build)(case.length));
            (progress[i], best[i]) = (end, best[i].min(seconds));
        }
    }
    println!("| case | frames on links | of them data | million hops/s | data hops/s | ns per hop |");
    println!("|---|---|---|---|---|---|");
    let per_hop = |i: usize| best[i] * 1e9 / progress[i].hops as f64;
    for (i, case) in CASES.iter().enumerate() {
        let (hops, data) = (progress[i].hops, progress[i].data_hops);
        let rate = |n: u64| n as f64 / best[i] / 1e6;
        println!("| {} | {hops} | {data} | {:.2} | {:.2} | {:.1} |", case.name, rate(hops), rate(data), per_hop(i));
    }
    println!("\ntime per hop, 2048 hosts to 128 hosts: {:.2}", per_hop(1) / per_hop(0));
}

/// Runs to the end. Building the network does not count.
fn run(spec: Spec<Config>) -> (Progress, f64) {
    let mut network = Network::new(spec).expect("a network that can be");
    let start = Instant::now();
    loop {
        let progress = network.run(1 << 20, &mut Nobody).expect("a run that keeps its promises");
        if progress.done {
            return (progress, start.elapsed().as_secs_f64());
        }
    }
}

/// kB of the most memory that this process has had, where the system tells.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Every host sends to the host in its own place under the next leaf, each through a spine of its own: no link is shared.
/// Real frame lengths, PFC and ECN on and never needed.
fn permutation(leaves: u32, spines: u32, packets: u64) -> Spec<Config> {
    let graph = leaf_spine(leaves, spines);
    let host = |leaf: u32, i: u32| (leaf % leaves) * spines + i;
    let flows = (0..leaves * spines).map(|h| {
        let (leaf, i) = (h / spines, h % spines);
        let start = Time(u64::from(h) * 79 % 160_000);
        flow(&graph, spines, u64::from(h), [host(leaf, i), i, host(leaf + 1, i)], 4096 * packets, start)
    });
    let mut flows: Vec<FlowSpec> = flows.collect();
    flows.sort_by_key(|flow| flow.start);
    let ecn = ecn::Params { kmin: Bytes(100_000), kmax: Bytes(400_000), ..ecn::Params::default() };
    let actors = Config {
        pfc: Some(Scoped::everywhere(pfc(Signal::Timed))),
        ecn: Some(Scoped::everywhere(ecn)),
        ..Config::default()
    };
    let packet = PacketParams { payload: Bytes(4096), header: Bytes(62), gap: Bytes(20), ..PacketParams::default() };
    let ack = AckParams { path: AckPath::Reverse, ..AckParams::default() };
    spec(graph, flows, actors, packet, ack, LatencyAt::Output)
}

/// Case 2 of the study sfc-aidc-2025: three flows into h0 through three spines, and a victim that shares a spine with one.
fn study_case_2(percent: u64, with_sfc: bool) -> Spec<Config> {
    let graph = leaf_spine(16, 8);
    let incast = (0..3u32).map(|i| flow(&graph, 8, u64::from(i), [8 + 8 * i, i, 0], 200_000 * percent, Time::ZERO));
    let victim = flow(&graph, 8, 3, [9, 0, 1], 500_000 * percent, Time::ZERO);
    let flows = incast.chain([victim]).collect();
    let sfc = sfc::Params {
        threshold: Bytes(200_000),
        pause: Some(Time::us(6)),
        min_interval: None,
        target: None,
        resume: false,
        granularity: sfc::Granularity::Class,
        at_source: sfc::AtSource::Host,
        signal: Signal::Timed,
        quanta: u16::MAX,
        points: sfc::Points::ToHosts,
        classes: vec![3],
        message_class: 7,
        message_size: Bytes(64),
    };
    let actors = Config {
        pfc: Some(Scoped::everywhere(pfc(Signal::Ideal))),
        sfc: with_sfc.then(|| Scoped::everywhere(sfc)),
        ..Config::default()
    };
    let packet = PacketParams { payload: Bytes(4000), header: Bytes(64), gap: Bytes(0), ..PacketParams::default() };
    let ack = AckParams { size: Bytes(64), path: AckPath::Reverse, ..AckParams::default() };
    spec(graph, flows, actors, packet, ack, LatencyAt::Fabric)
}

fn leaf_spine(leaves: u32, spines: u32) -> Graph {
    let (rate, delay) = (Rate::gbps(200), Time::ns(150));
    let shape = LeafSpine {
        leaves,
        spines,
        hosts_per_leaf: spines,
        rate,
        delay,
        fabric_rate: rate,
        fabric_delay: delay,
        links_per_pair: 1,
    };
    shape.build().expect("a leaf-spine network")
}

/// A flow pinned to its way from host `src` of a leaf with `per_leaf` hosts over `spine` to host `dst`.
fn flow(graph: &Graph, per_leaf: u32, id: u64, [src, spine, dst]: [u32; 3], bytes: u64, start: Time) -> FlowSpec {
    let names = [
        format!("h{src}"),
        format!("leaf{}", src / per_leaf),
        format!("spine{spine}"),
        format!("leaf{}", dst / per_leaf),
        format!("h{dst}"),
    ];
    let path = names.map(|name| graph.node(&name).expect("a node of the network"));
    FlowSpec {
        id,
        group: 0,
        src: HostId(src),
        dst: HostId(dst),
        bytes,
        start,
        class: Class(3),
        ect: true,
        path: Some(Arc::from(path)),
        stream: None,
    }
}

fn pfc(signal: Signal) -> pfc::Params {
    pfc::Params {
        classes: vec![3],
        threshold: pfc::Threshold::Static,
        xoff: Some(Bytes(380_000)),
        xon: Some(Bytes(240_000)),
        alpha: 0.125,
        xon_offset: Bytes(3_000),
        counter: Counter::Ingress,
        signal,
        quanta: u16::MAX,
        response: Time::ZERO,
    }
}

fn spec(
    graph: Graph,
    flows: Vec<FlowSpec>,
    actors: Config,
    packet: PacketParams,
    ack: AckParams,
    latency_at: LatencyAt,
) -> Spec<Config> {
    let switch = SwitchParams {
        architecture: Architecture::OutputQueued,
        latency: Time::ns(300),
        latency_at,
        buffer: Bytes(400_000),
        buffer_per: BufferPer::Ingress,
        ..SwitchParams::default()
    };
    Spec {
        seed: 1,
        switches: vec![switch; graph.switches().count()],
        graph,
        packet,
        ack,
        transport: TransportParams::default(),
        nic: NicParams { tx_queue: 1, ..NicParams::default() },
        control_delays: Vec::new(),
        actors,
        groups: vec!["flows".into()],
        sources: vec![Box::new(List(flows.into_iter()))],
        flows_total: None,
        faults: Vec::new(),
        stop_at: None,
        lossless: true,
        series: None,
    }
}

struct List(std::vec::IntoIter<FlowSpec>);

impl FlowSource for List {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        self.0.next()
    }
}

/// Probes off: nobody listens.
struct Nobody;

impl Sink for Nobody {
    fn flow(&mut self, _: &FlowRow) {}
    fn control(&mut self, _: &ControlRow) {}
    fn series(&mut self, _: &SeriesRow) {}
    fn port(&mut self, _: &PortRow) {}
}
