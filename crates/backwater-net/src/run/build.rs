//! Builds an idle network from a spec.

use super::jobs::Jobs;
use super::messages::Messages;
use super::{Actors, Awaited, Network};
use crate::config::SwitchParams;
use crate::model::confinement::Confinement;
use crate::model::event::Event;
use crate::model::hooks::{Home, MechanismId, NicShape, SwitchShape};
use crate::model::host::{Controllers, Flows, Host, Tables};
use crate::model::packet::HostId;
use crate::model::port::Port;
use crate::model::port::in_order::InOrder;
use crate::model::probe::waits::Waits;
use crate::model::probe::watch::Watch;
use crate::model::probe::{FlowIndex, Loads, Probes};
use crate::model::switch::Switch;
use crate::model::world::{Fabric, Rules, World};
use crate::spec::Spec;
use crate::topology::routing::EcmpPaths;
use backwater_engine::Time;

impl<A: Actors> Network<A> {
    /// Builds it. Errors name what is impossible in the spec.
    pub fn new(spec: Spec<A>) -> Result<Network<A>, String> {
        const { assert!(A::OWNERS <= MechanismId::MOST, "a bit and an order for each mechanism, the last are the stage's") };
        let kept = spec.queue_pairs.iter().flatten().any(|pairs| pairs.kept);
        if kept && (!spec.transport.retransmits() || !spec.ack.enabled) {
            return Err("queue pairs that outlive a message need acknowledgements and a recovery".into());
        }
        let (mut fabric, mut ports) = Fabric::new(spec.graph, spec.seed, spec.packet.clock)?;
        if spec.faults.is_empty() && !spec.actors.chooses() {
            fabric.ecmp_paths = EcmpPaths::new(fabric.neighbours.iter().map(Vec::len).max().unwrap_or(0));
        }
        let max_frame = spec.packet.payload + spec.packet.header;
        let mut switches = Vec::new();
        for (s, node) in fabric.graph.switches().enumerate() {
            let params: &SwitchParams = spec.switches.get(s).ok_or("every switch needs its parameters")?;
            let (name, tier) = (&fabric.graph.nodes[node.0 as usize].name, &fabric.graph.nodes[node.0 as usize].tier);
            let first_port = fabric.first_port[node.0 as usize];
            let of_switch = fabric.port_shapes(node, &ports[first_port as usize..]);
            let shape = SwitchShape {
                node,
                name: name.clone(),
                tier: tier.clone(),
                port_buffer: params.port_buffer(of_switch.iter().map(|port| port.rate)),
                ports: of_switch,
                max_frame,
                latency: params.latency,
            };
            let lossless = spec.actors.lossless_classes(name, tier);
            let stack = spec.actors.switch(&shape);
            let home = Home::new(shape, A::OWNERS, spec.seed);
            let mut switch = Switch::new(s as u32, first_port, home, params, lossless, stack);
            let recorded = spec.series.as_ref().is_some_and(|series| series.backlogs && series.records(node));
            let follows = spec.causes.waits.contains(&true);
            switch.watch = (recorded || follows || spec.causes.pauses)
                .then(|| Box::new(Watch::new(switch.ports as usize, recorded, follows)));
            switch.set_up_ports(params, &mut ports);
            switches.push(switch);
        }
        if let Some(steering) = spec.actors.steering() {
            for switch in &switches {
                let n = switch.home.shape.ports.len();
                let apart = if switch.crossbar.is_some() { n } else { 1 };
                for port in &mut ports[switch.first_port as usize..][..n] {
                    port.keep_in_order(InOrder::new(steering.queues, steering.order, apart));
                }
            }
            for node in fabric.host_node.iter().filter(|_| steering.hosts) {
                let first = fabric.first_port[*node as usize] as usize;
                for port in &mut ports[first..][..fabric.neighbours[*node as usize].len()] {
                    port.keep_in_order(InOrder::new(steering.queues, steering.order, 1));
                }
            }
        }
        let mut hosts: Vec<Host<A::Nic>> = Vec::with_capacity(fabric.host_node.len());
        for (host, node) in (0u32..).map(HostId).zip(&fabric.host_node) {
            let first = fabric.first_port[*node as usize];
            for (port, number) in (first..).zip(fabric.nics(host)) {
                let p = &mut ports[port as usize];
                p.set_queues(spec.queues);
                let shape = NicShape { host, rate: p.serialiser.rate(), queues: spec.queues };
                let peer = p.peer;
                ports[peer as usize].rest.peer_queues = spec.queues;
                let stack = spec.actors.nic(&shape);
                hosts.push(Host::new(number, port, shape, stack, &spec.nic));
            }
        }
        for (host, times) in &spec.nics_at {
            if host.0 as usize >= fabric.host_node.len() {
                return Err(format!("there is no host {}", host.0));
            }
            fabric.nics(*host).for_each(|nic| hosts[nic as usize].set_times(times));
        }
        let shared = spec.actors.shared();
        let stall = spec.stall.unwrap_or_else(|| super::stall::patience(spec.transport.timeout));
        // The waits of a connection belong to no single message.
        let kept = |group: usize| spec.queue_pairs.get(group).copied().flatten().is_some_and(|pairs| pairs.kept);
        let waits = spec.causes.waits.iter().enumerate().map(|(group, recorded)| *recorded && !kept(group)).collect();
        let waits = Waits::new(waits, ports.len());
        let jobs = Jobs::new(spec.jobs, spec.groups.len());
        let probes = Probes {
            pauses: spec.causes.pauses.then(Box::default),
            loads: Loads::new(jobs.of_jobs(), ports.len()),
            waits,
            flow_index: FlowIndex::default(),
        };
        if probes.waits.is_some() {
            ports.iter_mut().for_each(Port::watch);
        }
        if spec.actors.hooks().port_events() {
            ports.iter_mut().for_each(Port::report_events);
        }
        if spec.actors.hooks().retains() {
            ports.iter_mut().for_each(Port::retain_sent);
        }
        let rules = Rules {
            lossless: spec.lossless,
            chooses: spec.actors.chooses(),
            hooks: spec.actors.hooks(),
            confinement: match spec.actors.confines() {
                true => Confinement::new(
                    &spec.groups,
                    |class, label| spec.actors.leaves(class, label),
                    |of| spec.actors.overhead(of),
                )?,
                false => Confinement::default(),
            },
            ..Rules::new(spec.seed, &spec.packet, spec.ack, spec.transport, spec.nic)?
        };
        let world = World { probes, ..World::new(rules, fabric) };
        let mut network = Network {
            world,
            actors: spec.actors,
            shared,
            labels: spec.groups.clone(),
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
            drawn: vec![0; spec.sources.len()],
            sources: spec.sources,
            jobs,
            messages: Messages::new(spec.queue_pairs),
            faults: spec.faults,
            series: spec.series,
            deadlock_ends: spec.deadlock_ends,
            stall,
        };
        for i in 0..network.faults.len() {
            let (at, event) = (network.faults[i].at, Event::Fault { fault: i as u32 });
            if at == Time::ZERO {
                // Faults from the start also apply to the first flows.
                network.apply_fault(i);
            } else {
                network.world.queue.push(at, event.order(), event);
            }
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
