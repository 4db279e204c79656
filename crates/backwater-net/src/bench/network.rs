//! For tests of whole networks: a short description of a run, which runs it and keeps every row.
//!
//! Frames are the SFC study's (4000 B and 64 B of header, no gap, 64 B acknowledgements along the data's path backwards) unless a test says
//! otherwise. Memory is unlimited unless a test limits it.

use crate::config::{AckParams, AckPath, BufferPer, NicParams, NicTimes, PacketParams, SwitchParams, TransportParams};
use crate::model::packet::{Class, HostId, NodeId};
use crate::model::port::queues::HostQueues;
use crate::record::{Broken, Deadlock, FlowRow, PortRow, Progress, Rows};
use crate::run::{Actors, Network};
use crate::spec::{CausesSpec, Fault, FaultKind, FlowSpec, QueuePairs, SeriesSpec, Spec, Stream};
use crate::topology::{Graph, LeafSpine, NodeKind, Star};
use crate::units::{Bytes, Rate};
use crate::workload::FlowSource;
use backwater_engine::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The description of a test's run.
#[derive(Clone)]
pub struct Bench<A> {
    /// Seed of all random streams.
    pub seed: u64,
    /// Nodes and links.
    pub graph: Graph,
    /// Frames.
    pub packet: PacketParams,
    /// Acknowledgements.
    pub ack: AckParams,
    /// Connections.
    pub transport: TransportParams,
    /// All switches.
    pub switch: SwitchParams,
    /// Switches by name with other parameters; the last entry counts.
    pub at: Vec<(String, SwitchParams)>,
    /// All NICs.
    pub nic: NicParams,
    /// Classes that have several queues at each host.
    pub queues: HostQueues,
    /// Hosts whose interfaces have other times.
    pub nics_at: Vec<(HostId, NicTimes)>,
    /// Per group: the queue pairs of its messages.
    pub queue_pairs: Vec<Option<QueuePairs>>,
    /// The mechanisms.
    pub mechanisms: A,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// The faults.
    pub faults: Vec<Fault>,
    /// Time from a change of a link's state until routes follow.
    pub convergence: Time,
    /// End of the run; `None`: with the last flow.
    pub stop_at: Option<Time>,
    /// True if a deadlock ends it.
    pub deadlock_ends: bool,
    /// Time without progress after which it ends.
    pub stall: Option<Time>,
    /// Groups that it waits for; empty: all.
    pub awaited: Vec<u32>,
    /// True if a drop ends it.
    pub lossless: bool,
    /// Time series, if any.
    pub series: Option<SeriesSpec>,
    /// The recording of causes.
    pub causes: CausesSpec,
}

impl<A: Actors + Clone + Default> Bench<A> {
    /// A run on this network.
    pub fn new(graph: Graph) -> Bench<A> {
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
            nics_at: Vec::new(),
            queue_pairs: Vec::new(),
            mechanisms: A::default(),
            flows: Vec::new(),
            faults: Vec::new(),
            convergence: Time::ZERO,
            stop_at: None,
            deadlock_ends: true,
            stall: None,
            awaited: Vec::new(),
            lossless: false,
            series: None,
            causes: CausesSpec::default(),
        }
    }

    /// A star, with links of 150 ns.
    pub fn star(hosts: u32, rate: Rate) -> Bench<A> {
        Bench::new(Star { hosts, rate, link_delay: Time::ns(150) }.build().expect("a valid star"))
    }

    /// The study's network or a part of it: 200 Gb/s, 150 ns, 300 ns.
    pub fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32) -> Bench<A> {
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
            link: None,
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

    /// Adds a fault.
    pub fn fault(&mut self, at: Time, kind: FaultKind) {
        self.faults.push(Fault { at, kind });
    }

    /// A node by its name.
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

    /// The spec of the run, with these mechanisms.
    pub fn spec(&self, actors: A) -> Spec<A> {
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
            nics_at: self.nics_at.clone(),
            actors,
            awaited: self.awaited.clone(),
            groups: vec!["all".into(), "others".into()],
            queue_pairs: self.queue_pairs.clone(),
            flows_total: Some(flows.len() as u64),
            sources: sources(flows),
            jobs: Vec::new(),
            faults: self.faults.clone(),
            convergence: self.convergence,
            stop_at: self.stop_at,
            deadlock_ends: self.deadlock_ends,
            stall: self.stall,
            lossless: self.lossless,
            series: self.series.clone(),
            causes: self.causes.clone(),
        }
    }

    /// Runs it.
    pub fn run(&self) -> Outcome {
        self.run_sliced(1 << 20)
    }

    /// Runs it, so many events at a time.
    pub fn run_sliced(&self, budget: u64) -> Outcome {
        run(self.spec(self.mechanisms.clone()), budget)
    }

    /// Runs it under these mechanisms.
    pub fn run_with(&self, actors: A) -> Outcome {
        run(self.spec(actors), 1 << 20)
    }
}

/// A network of named switches and of hosts `h0`…, with the given links.
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

/// The outcome of a run.
pub struct Outcome {
    /// All rows.
    pub rows: Rows,
    /// Its progress.
    pub progress: Progress,
    /// Everything that is not at rest at the end; empty after a complete run.
    pub unrest: Vec<String>,
    /// The fingerprint of all arrivals.
    pub fingerprint: u64,
    /// The broken promise.
    pub broken: Option<Broken>,
    /// The deadlock that was found.
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
