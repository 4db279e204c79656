//! From a spec to a network at rest.

use super::jobs::Jobs;
use super::{Actors, Awaited, Network};
use crate::config::{Architecture, LatencyAt, ReleaseAt, SwitchParams};
use crate::event::Event;
use crate::hooks::{Home, NicShape, Owner, PortShape, SwitchShape};
use crate::host::flow::{Controllers, Flows};
use crate::host::{Host, Tables};
use crate::occupancy::Occupancy;
use crate::packet::{HostId, NodeId};
use crate::port::lineup::Lineup;
use crate::port::{Belongs, Port};
use crate::probe::waits::Waits;
use crate::probe::watch::Watch;
use crate::probe::{Loads, Probes, Who};
use crate::routing::{Neighbours, Paths, Routes};
use crate::slab::Slab;
use crate::spec::Spec;
use crate::switch::{Crossbar, Switch};
use crate::topology::{Graph, NodeKind};
use crate::units::{Bytes, Rate};
use crate::world::{Fabric, Rows, Rules, Totals, World};
use backwater_engine::{EventQueue, Time};
use std::collections::HashMap;

impl<A: Actors> Network<A> {
    /// Builds it. Errors say what about the spec cannot be.
    pub fn new(spec: Spec<A>) -> Result<Network<A>, String> {
        const {
            assert!(
                A::OWNERS <= Owner::STAGE.0 as usize,
                "a bit and an order for each mechanism, the last are the stage's"
            )
        };
        let graph = spec.graph;
        let Numbers { first_port, switch_of, host_node, belongs } = Numbers::of(&graph)?;
        if let Some(link) = graph.links.iter().find(|link| link.a == link.b) {
            return Err(format!("a link joins {} with itself", graph.nodes[link.a.0 as usize].name));
        }
        let mut ports: Vec<Port> = Vec::with_capacity(graph.links.len() * 2);
        let mut neighbours: Neighbours = vec![Vec::new(); graph.nodes.len()];
        for (node, ends) in graph.ports().map_err(|e| e.to_string())?.iter().enumerate() {
            for (local, end) in ends.iter().enumerate() {
                let link = &graph.links[end.link as usize];
                let peer = first_port[end.peer.0 as usize] + u32::from(end.peer_port.0);
                ports.push(Port::new(belongs[node], local as u16, peer, link.rate, link.delay, spec.packet.clock));
                neighbours[node].push((end.peer.0, true));
            }
        }
        let max_frame = spec.packet.payload + spec.packet.header;
        let host_of: HashMap<u32, u32> = host_node.iter().enumerate().map(|(h, n)| (*n, h as u32)).collect();
        let shape_of = |node: usize| {
            let each = neighbours[node].iter().enumerate().map(|(i, (peer, _))| {
                let port = &ports[first_port[node] as usize + i];
                let host = host_of.get(peer).map(|h| HostId(*h));
                PortShape { rate: port.serialiser.rate(), delay: port.delay, peer: NodeId(*peer), host }
            });
            each.collect::<Vec<_>>()
        };
        let mut switches = Vec::new();
        for (s, node) in graph.switches().enumerate() {
            let params: &SwitchParams = spec.switches.get(s).ok_or("every switch needs its parameters")?;
            let (name, tier) = (&graph.nodes[node.0 as usize].name, &graph.nodes[node.0 as usize].tier);
            let shape = SwitchShape {
                node,
                name: name.clone(),
                tier: tier.clone(),
                ports: shape_of(node.0 as usize),
                max_frame,
                latency: params.latency,
                port_buffer: params.buffer_per.of_egress(params.buffer),
            };
            let lossless = spec.actors.lossless_classes(name, tier);
            let n = shape.ports.len();
            let rates: Vec<Rate> = shape.ports.iter().map(|port| port.rate).collect();
            let crossbar = match params.architecture {
                Architecture::OutputQueued | Architecture::SharedMemory => None,
                Architecture::InputQueued | Architecture::Voq => Some(Box::new(Crossbar::new(params, n))),
            };
            let recorded = spec.series.as_ref().is_some_and(|series| series.backlogs && series.records(node));
            let follows = spec.causes.waits.contains(&true);
            let stack = spec.actors.switch(&shape);
            switches.push(Switch {
                number: s as u32,
                first_port: first_port[node.0 as usize],
                ports: n as u32,
                latency: params.latency,
                latency_at: params.latency_at,
                occupancy: Occupancy::new(params, &rates, lossless),
                stack,
                crossbar,
                watch: (recorded || follows || spec.causes.pauses).then(|| Box::new(Watch::new(n, recorded, follows))),
                lanes: None,
                home: Home { shape, rngs: vec![None; A::OWNERS], seed: spec.seed },
            });
        }
        for (s, switch) in switches.iter().enumerate() {
            for p in 0..switch.home.shape.ports.len() {
                let at = switch.first_port as usize + p;
                let params = &spec.switches[s];
                ports[at].release_at_end = params.release_at == ReleaseAt::End;
                if let Some(weights) = params.weights {
                    ports[at].set_weights(weights, max_frame.0);
                }
                if params.latency_at == LatencyAt::Input {
                    let peer = ports[at].peer as usize;
                    ports[peer].peer_latency = params.latency;
                }
            }
        }
        if let Some(steering) = spec.actors.steering() {
            for switch in &switches {
                let n = switch.home.shape.ports.len();
                let apart = if switch.crossbar.is_some() { n } else { 1 };
                for port in &mut ports[switch.first_port as usize..][..n] {
                    port.keep_in_order(Lineup::new(steering.queues, steering.order, apart));
                }
            }
            for node in host_node.iter().filter(|_| steering.hosts) {
                let lineup = Lineup::new(steering.queues, steering.order, 1);
                ports[first_port[*node as usize] as usize].keep_in_order(lineup);
            }
        }
        let mut hosts: Vec<Host<A::Nic>> = host_node
            .iter()
            .enumerate()
            .map(|(h, node)| {
                let port = first_port[*node as usize];
                let (host, p) = (HostId(h as u32), &mut ports[port as usize]);
                p.set_queues(spec.queues);
                let shape = NicShape { host, rate: p.serialiser.rate(), queues: spec.queues };
                let peer = p.peer;
                ports[peer as usize].rest.peer_queues = spec.queues;
                let stack = spec.actors.nic(&shape);
                Host::new(port, shape, stack, spec.nic.control_delay)
            })
            .collect();
        for (host, delay) in &spec.control_delays {
            hosts.get_mut(host.0 as usize).ok_or_else(|| format!("there is no host {}", host.0))?.control_delay =
                *delay;
        }
        let routes = Routes::new(&graph, &neighbours, &switch_of, spec.seed);
        let shared = spec.actors.shared();
        let stall = spec.stall.unwrap_or_else(|| super::stall::patience(spec.transport.timeout));
        let sizes = |b: Bytes| u32::try_from(b.0).map_err(|_| format!("a packet of {b} is too long"));
        let waits = Waits::new(spec.causes.waits, ports.len());
        let jobs = Jobs::new(spec.jobs, spec.groups.len());
        let probes = Probes {
            pauses: spec.causes.pauses.then(Box::default),
            loads: Loads::new(jobs.of_jobs(), ports.len()),
            waits,
            who: Who::default(),
        };
        if probes.waits.is_some() {
            ports.iter_mut().for_each(crate::port::Port::watch);
        }
        let rules = Rules {
            seed: spec.seed,
            payload: sizes(spec.packet.payload)?.max(1),
            header: sizes(spec.packet.header)?,
            gap: sizes(spec.packet.gap)?,
            clock: spec.packet.clock,
            ack: spec.ack,
            transport: spec.transport,
            nic: spec.nic,
            lossless: spec.lossless,
            chooses: spec.actors.chooses(),
        };
        let fabric = Fabric { graph, first_port, switch_of, host_node, neighbours, routes, paths: Paths::default() };
        let world = World {
            now: Time::ZERO,
            queue: EventQueue::new(),
            slab: Slab::default(),
            notes: crate::hooks::Notes::default(),
            totals: Totals::default(),
            rows: Rows::default(),
            rules,
            outcomes: Vec::new(),
            fabric,
            probes,
        };
        let mut network = Network {
            world,
            actors: spec.actors,
            shared,
            sampled_bytes: vec![0; ports.len()],
            wide: ports.len() >= super::fetch::WIDE,
            ports,
            switches,
            hosts,
            tables: Tables { flows: Flows::default(), controllers: Controllers::new(A::OWNERS) },
            awaited: Awaited {
                groups: match spec.awaited.is_empty() {
                    true => Vec::new(),
                    false => (0..spec.groups.len() as u32).map(|group| spec.awaited.contains(&group)).collect(),
                },
                active: 0,
            },
            coming: spec.sources.iter().map(|_| None).collect(),
            sources: spec.sources,
            jobs,
            faults: spec.faults,
            series: spec.series,
            deadlock_ends: spec.deadlock_ends,
            stall,
        };
        for (i, fault) in network.faults.iter().enumerate() {
            let event = Event::Fault { fault: i as u32 };
            network.world.queue.push(fault.at, event.order(), event);
        }
        for source in 0..network.sources.len() {
            network.draw(source);
        }
        network.begin_jobs();
        if let Some(series) = &network.series {
            let first = series.interval;
            network.world.push(first, Event::Sample);
        }
        if !spec.awaited.is_empty() && network.awaits_nothing() {
            network.world.queue.push(Time::ZERO, Event::Stop.order(), Event::Stop);
        }
        if let Some(at) = spec.stop_at {
            network.world.queue.push(at, Event::Stop.order(), Event::Stop);
        }
        Ok(network)
    }
}

/// Where nodes have their state.
struct Numbers {
    /// Per node: the global number of its first port.
    first_port: Vec<u32>,
    /// Per node: its number among switches, or `u32::MAX`.
    switch_of: Vec<u32>,
    /// Per host: its node.
    host_node: Vec<u32>,
    /// Per node: whose its ports are.
    belongs: Vec<Belongs>,
}

impl Numbers {
    fn of(graph: &Graph) -> Result<Numbers, String> {
        let nodes = graph.nodes.len();
        let mut degree = vec![0u32; nodes];
        for link in &graph.links {
            degree[link.a.0 as usize] += 1;
            degree[link.b.0 as usize] += 1;
        }
        let mut numbers = Numbers {
            first_port: Vec::with_capacity(nodes),
            switch_of: vec![u32::MAX; nodes],
            host_node: Vec::new(),
            belongs: Vec::with_capacity(nodes),
        };
        let (mut ports, mut switches) = (0, 0);
        for (i, node) in graph.nodes.iter().enumerate() {
            numbers.first_port.push(ports);
            ports += degree[i];
            match node.kind {
                NodeKind::Host if degree[i] != 1 => {
                    return Err(format!("host {} has {} links; a host has exactly one", node.name, degree[i]));
                }
                NodeKind::Host => {
                    numbers.belongs.push(Belongs::Host(numbers.host_node.len() as u32));
                    numbers.host_node.push(i as u32);
                }
                NodeKind::Switch => {
                    numbers.belongs.push(Belongs::Switch(switches));
                    numbers.switch_of[i] = switches;
                    switches += 1;
                }
            }
        }
        Ok(numbers)
    }
}
