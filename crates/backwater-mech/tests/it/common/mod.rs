//! A bench for whole networks: says in a few words what a test runs, runs it, and keeps every row.
//!
//! Frames are the SFC study's (4000 B and 64 B of header, no gap, 64 B acknowledgements along the data's path backwards)
//! unless a test says otherwise. Memory has no limit, so that a limit in a test is there on purpose.

use backwater_engine::Time;
use backwater_mech::mac_control::{Counter, Signal};
use backwater_mech::registry::Config;
use backwater_mech::stack::{At, Scoped, Select};
use backwater_mech::{ci, dcqcn, ecn, pause, pfc, sfc};
use backwater_net::config::{
    AckParams, AckPath, BufferPer, LatencyAt, NicParams, PacketParams, SwitchParams, TransportParams,
};
use backwater_net::packet::{Class, HostId, NodeId};
use backwater_net::record::{
    Broken, ControlRow, CounterRow, Deadlock, FlowRow, PortRow, Progress, SeriesRow, Sink, SwitchRow, WaitRow,
};
use backwater_net::spec::{CausesSpec, Fault, FaultKind, FlowSpec, SeriesSpec, Spec, Stream};
use backwater_net::topology::{Graph, LeafSpine, NodeKind, Star};
use backwater_net::workload::FlowSource;
use backwater_net::{Actors, Network};
use backwater_net::{Bytes, HostQueues, Rate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a test runs.
#[derive(Clone)]
pub struct Bench {
    pub seed: u64,
    pub graph: Graph,
    pub packet: PacketParams,
    pub ack: AckParams,
    pub transport: TransportParams,
    /// All switches alike; `at` changes single ones.
    pub switch: SwitchParams,
    pub at: Vec<(String, SwitchParams)>,
    pub nic: NicParams,
    pub queues: HostQueues,
    pub control_delays: Vec<(HostId, Time)>,
    pub mechanisms: Config,
    pub flows: Vec<FlowSpec>,
    pub faults: Vec<Fault>,
    pub stop_at: Option<Time>,
    pub deadlock_ends: bool,
    pub stall: Option<Time>,
    pub awaited: Vec<u32>,
    pub lossless: bool,
    pub series: Option<SeriesSpec>,
    pub causes: CausesSpec,
}

impl Bench {
    pub fn new(graph: Graph) -> Bench {
        Bench {
            seed: 1,
            graph,
            packet: PacketParams { payload: Bytes(4000), header: Bytes(64), gap: Bytes(0), ..PacketParams::default() },
            ack: AckParams { size: Bytes(64), path: AckPath::Reverse, ..AckParams::default() },
            transport: TransportParams::default(),
            switch: SwitchParams { buffer_per: BufferPer::None, ..SwitchParams::default() },
            at: Vec::new(),
            nic: NicParams::default(),
            queues: HostQueues::default(),
            control_delays: Vec::new(),
            mechanisms: Config::default(),
            flows: Vec::new(),
            faults: Vec::new(),
            stop_at: None,
            deadlock_ends: true,
            stall: None,
            awaited: Vec::new(),
            lossless: false,
            series: None,
            causes: CausesSpec::default(),
        }
    }

    pub fn star(hosts: u32, rate: Rate) -> Bench {
        Bench::new(Star { hosts, rate, delay: Time::ns(150) }.build().expect("a valid star"))
    }

    /// The study's network or a part of it: 200 Gb/s, 150 ns, 300 ns.
    pub fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32) -> Bench {
        let shape = LeafSpine { leaves, spines, hosts_per_leaf, ..LeafSpine::default() };
        Bench::new(shape.build().expect("a valid leaf-spine"))
    }

    /// Adds a flow of class 3 that starts at once, and returns it for changes.
    pub fn flow(&mut self, src: u32, dst: u32, bytes: u64) -> &mut FlowSpec {
        let id = self.flows.len() as u64;
        self.flows.push(FlowSpec {
            id,
            group: 0,
            src: HostId(src),
            dst: HostId(dst),
            bytes,
            start: Time::ZERO,
            class: Class(3),
            ect: true,
            path: None,
            ack_path: None,
            stream: None,
        });
        self.flows.last_mut().expect("just added")
    }

    /// Adds a Bernoulli source.
    pub fn stream(&mut self, src: u32, dst: u32, stream: Stream) -> &mut FlowSpec {
        let flow = self.flow(src, dst, 0);
        flow.stream = Some(stream);
        flow
    }

    pub fn fault(&mut self, at: Time, kind: FaultKind) {
        self.faults.push(Fault { at, kind });
    }

    pub fn node(&self, name: &str) -> NodeId {
        self.graph.node(name).unwrap_or_else(|| panic!("the network has no {name}"))
    }

    /// A path by the names of its nodes.
    pub fn path(&self, names: &[&str]) -> Option<Arc<[NodeId]>> {
        Some(names.iter().map(|n| self.node(n)).collect())
    }

    /// The path between two hosts of a leaf-spine with 8 hosts per leaf, over a spine.
    pub fn over_spine(&self, src: u32, spine: u32, dst: u32) -> Option<Arc<[NodeId]>> {
        let (from, to) = (format!("leaf{}", src / 8), format!("leaf{}", dst / 8));
        self.path(&[&format!("h{src}"), &from, &format!("spine{spine}"), &to, &format!("h{dst}")])
    }

    pub fn spec<A>(&self, actors: A) -> Spec<A> {
        let params = |node: NodeId| {
            let name = &self.graph.nodes[node.0 as usize].name;
            self.at.iter().rev().find(|(n, _)| n == name).map_or(&self.switch, |(_, p)| p).clone()
        };
        let mut flows = self.flows.clone();
        flows.sort_by_key(|f| f.start);
        Spec {
            seed: self.seed,
            graph: self.graph.clone(),
            packet: self.packet.clone(),
            ack: self.ack.clone(),
            transport: self.transport.clone(),
            switches: self.graph.switches().map(params).collect(),
            nic: self.nic.clone(),
            queues: self.queues,
            control_delays: self.control_delays.clone(),
            actors,
            awaited: self.awaited.clone(),
            groups: vec!["all".into(), "others".into()],
            flows_total: Some(flows.len() as u64),
            sources: sources(flows),
            jobs: Vec::new(),
            faults: self.faults.clone(),
            stop_at: self.stop_at,
            deadlock_ends: self.deadlock_ends,
            stall: self.stall,
            lossless: self.lossless,
            series: self.series.clone(),
            causes: self.causes.clone(),
        }
    }

    pub fn run(&self) -> Outcome {
        self.run_sliced(1 << 20)
    }

    pub fn run_sliced(&self, budget: u64) -> Outcome {
        run(self.spec(self.mechanisms.clone()), budget)
    }

    /// With actors of the test's own.
    pub fn run_with<A: Actors>(&self, actors: A) -> Outcome {
        run(self.spec(actors), 1 << 20)
    }
}

/// The network of contribution "BCN with Pause" (2006) under global PAUSE: EP0 and EP1 share an edge switch, EP2 to EP4 hang on the core, as do the
/// receivers EP5 and EP6. 10 Gb/s, 0.5 us, 150 KB per egress port; until `end` 49 % of Bernoulli load each to EP5, EP1 50 % to EP6, from
/// sources that hold `queue` frames.
pub fn document_of_2006(seed: u64, queue: Option<u32>, end: Time) -> Bench {
    let (rate, delay) = (Rate::gbps(10), Time::ns(500));
    let links = [
        ("h0", "es"),
        ("h1", "es"),
        ("es", "cs"),
        ("h2", "cs"),
        ("h3", "cs"),
        ("h4", "cs"),
        ("h5", "cs"),
        ("h6", "cs"),
    ];
    let mut bench = Bench::new(network(7, &["es", "cs"], &links.map(|(a, b)| (a, b, rate, delay))));
    bench.seed = seed;
    bench.packet = PacketParams { payload: Bytes(1500), header: Bytes(0), gap: Bytes(0), ..PacketParams::default() };
    bench.ack.enabled = false;
    bench.switch.latency = Time::us(1);
    // Before the counters, the latency would let 12 KB more into the 10 KB above XOFF.
    bench.switch.latency_at = LatencyAt::Output;
    (bench.switch.buffer, bench.switch.buffer_per) = (Bytes(150_000), BufferPer::Egress);
    bench.lossless = true;
    let at_edge = pause(130_000, 110_000, Counter::Egress, Signal::Timed);
    let at_core = pause(140_000, 130_000, Counter::Egress, Signal::Timed);
    let edge = At { select: Select { tier: None, node: Some("es".into()) }, params: at_edge };
    bench.mechanisms.pause = Some(Scoped { base: at_core, at: vec![edge] });
    for (src, dst, probability) in [(0, 5, 0.49), (1, 6, 0.5), (2, 5, 0.49), (3, 5, 0.49), (4, 5, 0.49)] {
        bench.stream(src, dst, Stream { slot: Time::ns(1200), probability, until: end, queue, own_phase: false });
    }
    bench.stop_at = Some(end);
    bench
}

/// A network of named switches and of hosts `h0`…, with links of its own.
pub fn network(hosts: u32, switches: &[&str], links: &[(&str, &str, Rate, Time)]) -> Graph {
    let mut graph = Graph::default();
    for h in 0..hosts {
        graph.add(format!("h{h}"), "host", NodeKind::Host);
    }
    for switch in switches {
        graph.add(*switch, "switch", NodeKind::Switch);
    }
    for (a, b, rate, delay) in links {
        let [a, b] = [a, b].map(|name| graph.node(name).unwrap_or_else(|| panic!("no node {name}")));
        graph.link(a, b, *rate, *delay);
    }
    graph.validate().expect("a valid network");
    graph
}

/// Three switches in a ring, two hosts at each, all links alike: every host sends `bytes` to one two switches on, all one way round.
pub fn ring(rate: Rate, bytes: u64) -> Bench {
    let delay = Time::ns(500);
    let hosts = [("h0", "s0"), ("h1", "s0"), ("h2", "s1"), ("h3", "s1"), ("h4", "s2"), ("h5", "s2")];
    let trunks = [("s0", "s1"), ("s1", "s2"), ("s2", "s0")];
    let links: Vec<_> = hosts.into_iter().chain(trunks).map(|(a, b)| (a, b, rate, delay)).collect();
    let mut bench = Bench::new(network(6, &["s0", "s1", "s2"], &links));
    for src in 0..6u32 {
        let dst = (src + 4) % 6;
        let switch = |on: u32| format!("s{}", (src / 2 + on) % 3);
        let nodes = [format!("h{src}"), switch(0), switch(1), switch(2), format!("h{dst}")];
        let path: Vec<NodeId> = nodes.iter().map(|node| bench.node(node)).collect();
        bench.flow(src, dst, bytes).path = Some(path.into());
    }
    bench
}

/// A source for each group.
fn sources(flows: Vec<FlowSpec>) -> Vec<Box<dyn FlowSource>> {
    let mut groups: BTreeMap<u32, Vec<FlowSpec>> = BTreeMap::new();
    flows.into_iter().for_each(|flow| groups.entry(flow.group).or_default().push(flow));
    let listed = |flows: Vec<FlowSpec>| Box::new(Listed(flows.into_iter())) as Box<dyn FlowSource>;
    groups.into_values().map(listed).collect()
}

/// Flows known beforehand, by ascending start.
struct Listed(std::vec::IntoIter<FlowSpec>);

impl FlowSource for Listed {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        self.0.next()
    }
}

/// Everything that a run handed out.
#[derive(Default)]
pub struct Rows {
    pub flows: Vec<FlowRow>,
    pub control: Vec<ControlRow>,
    pub series: Vec<SeriesRow>,
    pub ports: Vec<PortRow>,
    pub switches: Vec<SwitchRow>,
    pub counters: Vec<CounterRow>,
    pub waits: Vec<WaitRow>,
}

impl Sink for Rows {
    fn flow(&mut self, row: &FlowRow) {
        self.flows.push(row.clone());
    }
    fn control(&mut self, row: &ControlRow) {
        self.control.push(row.clone());
    }
    fn series(&mut self, row: &SeriesRow) {
        self.series.push(row.clone());
    }
    fn port(&mut self, row: &PortRow) {
        self.ports.push(row.clone());
    }
    fn switch(&mut self, row: &SwitchRow) {
        self.switches.push(row.clone());
    }
    fn counter(&mut self, row: &CounterRow) {
        self.counters.push(row.clone());
    }
    fn wait(&mut self, row: &WaitRow) {
        self.waits.push(row.clone());
    }
}

/// What came of it.
pub struct Outcome {
    pub rows: Rows,
    pub progress: Progress,
    pub unrest: Vec<String>,
    pub fingerprint: u64,
    pub broken: Option<Broken>,
    pub deadlock: Option<Deadlock>,
}

fn run<A: Actors>(spec: Spec<A>, budget: u64) -> Outcome {
    let mut network = Network::new(spec).expect("a valid run");
    let mut rows = Rows::default();
    let broken = loop {
        match network.run(budget, &mut rows) {
            Ok(progress) if progress.done => break None,
            Ok(_) => {}
            Err(broken) => break Some(broken),
        }
    };
    let (progress, unrest, fingerprint) = (network.progress(), network.unrest(), network.fingerprint());
    let deadlock = network.deadlock().cloned();
    network.finish(&mut rows);
    rows.flows.sort_by_key(|f| f.id);
    Outcome { rows, progress, unrest, fingerprint, broken, deadlock }
}

impl Outcome {
    /// The flow of an identity.
    pub fn flow(&self, id: u64) -> &FlowRow {
        self.rows.flows.iter().find(|f| f.id == id).unwrap_or_else(|| panic!("no row of flow {id}"))
    }

    /// Completion at the last acknowledgement in us.
    pub fn fct_us(&self, id: u64) -> f64 {
        let fct = self.flow(id).fct_last_ack.unwrap_or_else(|| panic!("flow {id} is not complete"));
        fct.0 as f64 / 1e6
    }

    /// Sum of a counter over all ports.
    pub fn sum(&self, counter: impl Fn(&PortRow) -> u64) -> u64 {
        self.rows.ports.iter().map(counter).sum()
    }

    /// A counter of a mechanism, over all ports of `node` or of all nodes.
    pub fn counted(&self, node: Option<NodeId>, counter: &str) -> u64 {
        let rows = self.rows.counters.iter().filter(|row| row.counter == counter);
        rows.filter(|row| node.is_none_or(|node| row.node == node)).map(|row| row.value).sum()
    }

    /// The port of `node` towards `peer`.
    pub fn port(&self, node: NodeId, peer: NodeId) -> &PortRow {
        let mut ports = self.rows.ports.iter();
        ports.find(|p| p.node == node && p.peer == peer).unwrap_or_else(|| panic!("no port {node:?} to {peer:?}"))
    }

    /// Fails unless every flow is complete and the network at rest.
    pub fn at_rest(&self) -> &Outcome {
        assert_eq!(self.broken, None);
        assert_eq!(self.unrest, Vec::<String>::new());
        assert_eq!(self.progress.flows_active, 0, "flows have not ended");
        self
    }
}

/// PFC on class 3 with a static threshold.
pub fn pfc(xoff: u64, xon: u64, signal: Signal) -> pfc::Params {
    pfc::Params {
        classes: vec![3],
        threshold: pfc::Threshold::Static,
        reference_rate: None,
        xoff: Some(Bytes(xoff)),
        xon: Some(Bytes(xon)),
        alpha: 0.125,
        xon_offset: Bytes(3_000),
        counter: Counter::Ingress,
        signal,
        quanta: u16::MAX,
        response: Time::ZERO,
        watchdog: None,
        watchdog_restore: None,
        watchdog_action: pfc::Action::Drop,
    }
}

/// Global PAUSE.
pub fn pause(xoff: u64, xon: u64, counter: Counter, signal: Signal) -> pause::Params {
    let (xoff, xon) = (Bytes(xoff), Some(Bytes(xon)));
    pause::Params { xoff, xon, reference_rate: None, counter, signal, quanta: u16::MAX, response: Time::ZERO }
}

/// SFC of the study: fixed pause time, last hops only.
pub fn sfc(threshold: u64, pause: Time) -> sfc::Params {
    sfc::Params {
        threshold: Bytes(threshold),
        pause: Some(pause),
        min_interval: None,
        target: None,
        resume: false,
        granularity: sfc::Granularity::Class,
        at_source: sfc::AtSource::Host,
        isolation_threshold: Bytes(200_000),
        isolation_per: sfc::IsolationPer::Port,
        isolation_rate: None,
        cache: false,
        signal: Signal::Timed,
        quanta: u16::MAX,
        points: sfc::Points::ToHosts,
        classes: vec![3],
        message_class: 7,
        message_size: Bytes(64),
    }
}

/// ECN with a step at `k`.
pub fn step(k: u64) -> ecn::Params {
    ecn::Params { kmin: Bytes(k), kmax: Bytes(k), pmax: 1.0, ..ecn::Params::default() }
}

/// Turns mechanisms on everywhere.
pub trait On {
    fn pfc(self, params: pfc::Params) -> Self;
    fn pause(self, params: pause::Params) -> Self;
    fn sfc(self, params: sfc::Params) -> Self;
    fn ci(self, params: ci::Params) -> Self;
    fn ecn(self, params: ecn::Params) -> Self;
    fn dcqcn(self, params: dcqcn::Params) -> Self;
}

impl On for Config {
    fn pfc(self, params: pfc::Params) -> Config {
        Config { pfc: Some(Scoped::everywhere(params)), ..self }
    }
    fn pause(self, params: pause::Params) -> Config {
        Config { pause: Some(Scoped::everywhere(params)), ..self }
    }
    fn sfc(self, params: sfc::Params) -> Config {
        Config { sfc: Some(Scoped::everywhere(params)), ..self }
    }
    fn ci(self, params: ci::Params) -> Config {
        Config { ci: Some(Scoped::everywhere(params)), ..self }
    }
    fn ecn(self, params: ecn::Params) -> Config {
        Config { ecn: Some(Scoped::everywhere(params)), ..self }
    }
    fn dcqcn(self, params: dcqcn::Params) -> Config {
        Config { dcqcn: Some(Scoped::everywhere(params)), ..self }
    }
}
