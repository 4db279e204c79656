//! Builds an idle network from a spec.

use super::jobs::Jobs;
use super::messages::Messages;
use super::{Actors, Awaited, Network};
use crate::config::SwitchParams;
use crate::model::confinement::Confinement;
use crate::model::event::Event;
use crate::model::hooks::{Home, MechanismId, NicShape, SwitchShape};
use crate::model::host::{Controllers, Flows, Host, Tables};
use crate::model::own::Own;
use crate::model::packet::{HostId, NodeId};
use crate::model::part::Part;
use crate::model::port::in_order::InOrder;
use crate::model::port::{Belongs, Port};
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
    pub fn new(mut spec: Spec<A>) -> Result<Network<A>, String> {
        let fabric = Network::fabric(&mut spec)?;
        Network::build(spec, fabric, None)
    }

    /// Takes the graph out of a spec, and builds what connects its nodes.
    pub(super) fn fabric(spec: &mut Spec<A>) -> Result<Fabric, String> {
        let mut fabric = Fabric::new(std::mem::take(&mut spec.graph), spec.seed)?;
        if spec.faults.is_empty() && !spec.actors.chooses() {
            fabric.ecmp_paths = EcmpPaths::new(fabric.neighbours.iter().map(Vec::len).max().unwrap_or(0));
        }
        Ok(fabric)
    }

    /// Builds the nodes of a part, or all nodes, of what connects them.
    pub(super) fn build(spec: Spec<A>, fabric: Fabric, part: Option<Part>) -> Result<Network<A>, String> {
        const { assert!(A::OWNERS <= MechanismId::MOST, "a bit and an order for each mechanism, the last are the stage's") };
        let kept = spec.queue_pairs.iter().flatten().any(|pairs| pairs.kept);
        if kept && (!spec.transport.retransmits() || !spec.ack.enabled) {
            return Err("queue pairs that outlive a message need acknowledgements and a recovery".into());
        }
        let is_here = |node: u32| part.as_ref().is_none_or(|part| part.has_node(node));
        let all_ports = fabric.neighbours.iter().map(Vec::len).sum();
        let mut ports = own_of(part.is_some(), fabric.ports(spec.seed, spec.packet.clock, is_here), all_ports);
        let max_frame = spec.packet.payload + spec.packet.header;
        let mut switches = Vec::new();
        for (s, node) in (0u32..).zip(fabric.switch_node.iter().map(|node| NodeId(*node))) {
            let params: &SwitchParams = spec.switches.get(s as usize).ok_or("every switch needs its parameters")?;
            if !is_here(node.0) {
                continue;
            }
            let (name, tier) = (&fabric.graph.nodes[node.0 as usize].name, &fabric.graph.nodes[node.0 as usize].tier);
            let first_port = fabric.first_port[node.0 as usize];
            let numbers = first_port..first_port + fabric.neighbours[node.0 as usize].len() as u32;
            let of_switch = fabric.port_shapes(node, ports.at_node(numbers.clone()));
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
            let mut switch = Switch::new(s, first_port, home, params, lossless, stack);
            let recorded = spec.series.as_ref().is_some_and(|series| series.backlogs && series.records(node));
            let follows = spec.causes.waits.contains(&true);
            switch.watch = (recorded || follows || spec.causes.pauses)
                .then(|| Box::new(Watch::new(switch.ports as usize, recorded, follows)));
            switch.set_up_ports(params, ports.of_node(numbers));
            switches.push((s, switch));
        }
        let wide = ports.iter().len() >= super::fetch::WIDE;
        for port in ports.iter_mut() {
            let peer = fabric.node_at(port.peer);
            match fabric.switch_of[peer as usize] {
                u32::MAX => port.rest.peer_queues = spec.queues,
                switch => {
                    port.peer_latency = spec.switches[switch as usize].latency_before_counters();
                    if wide {
                        port.peer_first = fabric.first_port[peer as usize];
                    }
                }
            }
        }
        if let Some(steering) = spec.actors.steering() {
            for (_, switch) in &switches {
                let apart = if switch.crossbar.is_some() { switch.ports as usize } else { 1 };
                for port in ports.of_node(switch.first_port..switch.first_port + switch.ports) {
                    port.keep_in_order(InOrder::new(steering.queues, steering.order, apart));
                }
            }
            for port in ports.iter_mut().filter(|port| steering.hosts && matches!(port.belongs, Belongs::Host(_))) {
                port.keep_in_order(InOrder::new(steering.queues, steering.order, 1));
            }
        }
        let mut hosts: Vec<(u32, Host<A::Nic>)> = Vec::new();
        let all_hosts = (0u32..).map(HostId).zip(fabric.host_node.iter());
        for (host, node) in all_hosts.filter(|(_, node)| is_here(**node)) {
            let first = fabric.first_port[*node as usize];
            for (port, number) in (first..).zip(fabric.nics(host)) {
                let p = &mut ports[port as usize];
                p.set_queues(spec.queues);
                let shape = NicShape { host, rate: p.serialiser.rate(), queues: spec.queues };
                let stack = spec.actors.nic(&shape);
                hosts.push((number, Host::new(number, port, shape, stack, &spec.nic)));
            }
        }
        let mut hosts = own_of(part.is_some(), hosts, fabric.first_nic.last().map_or(0, |all| *all as usize));
        let switches = own_of(part.is_some(), switches, fabric.switch_node.len());
        for (host, times) in &spec.nics_at {
            if host.0 as usize >= fabric.host_node.len() {
                return Err(format!("there is no host {}", host.0));
            }
            if is_here(fabric.host_node[host.0 as usize]) {
                fabric.nics(*host).for_each(|nic| hosts[nic as usize].set_times(times));
            }
        }
        let shared = spec.actors.shared();
        let stall = spec.stall.unwrap_or_else(|| super::stall::patience(spec.transport.timeout));
        // The waits of a connection belong to no single message.
        let kept = |group: usize| spec.queue_pairs.get(group).copied().flatten().is_some_and(|pairs| pairs.kept);
        let waits = spec.causes.waits.iter().enumerate().map(|(group, recorded)| *recorded && !kept(group)).collect();
        let waits = Waits::new(waits, all_ports);
        let tells_sent = spec.jobs.iter().any(|job| job.awaits_sent());
        let jobs = Jobs::new(spec.jobs, spec.groups.len());
        let probes = Probes {
            pauses: spec.causes.pauses.then(Box::default),
            loads: Loads::new(&jobs.of_jobs(), all_ports, spec.transport.retransmits()),
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
            tells_sent,
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
        let is_part = part.is_some();
        // The first part has those of all.
        let has_samples = part.as_ref().is_none_or(|part| part.me == 0 && spec.series.is_some());
        let world = World { probes, part: part.map(Box::new), ..World::new(rules, fabric) };
        let mut network = Network {
            world,
            actors: spec.actors,
            shared,
            labels: spec.groups.clone(),
            sampled_bytes: vec![0; if has_samples { all_ports } else { 0 }],
            wide,
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
            last_fault: spec.faults.iter().map(|fault| fault.settles(spec.convergence)).max().unwrap_or(Time::ZERO),
            faults: spec.faults,
            convergence: spec.convergence,
            series: spec.series,
            deadlock_ends: spec.deadlock_ends,
            stall,
        };
        if is_part {
            network.become_part();
        }
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
        if let (false, Some(series)) = (is_part, &network.series) {
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

/// The entries of a part, or of a network that has all of them.
fn own_of<T>(is_part: bool, list: Vec<(u32, T)>, all: usize) -> Own<T> {
    if is_part { Own::some(list, all) } else { Own::all(list.into_iter().map(|(_, entry)| entry).collect()) }
}
