//! `[topology]` as a graph.

use crate::error::ScenarioError;
use crate::file::{CoreWiring, ExplicitLink, NodeRole, Topology};
use crate::links;
use crate::resolved::Resolved;
use backwater_net::topology::{
    CoreWiring as Wiring, Dragonfly, DragonflyPlus, Dumbbell, Explicit, ExplicitLink as Wire, ExplicitNode as Vertex,
    FatTree, Graph, GraphError, LeafSpine, NodeKind, NvLink as Domains, ParkingLot, Star,
};

/// Most hosts.
const MOST_HOSTS: u64 = 1_000_000;

/// Nodes and links of the scenario.
pub(crate) fn build(resolved: &Resolved) -> Result<Graph, ScenarioError> {
    let hosts = match &resolved.file.topology {
        Topology::Star { hosts, .. } => u64::from(*hosts),
        Topology::Dumbbell { left_hosts, right_hosts, .. } => u64::from(*left_hosts) + u64::from(*right_hosts),
        Topology::ParkingLot { switches, hosts_per_switch, .. } => {
            u64::from(*switches) * u64::from(*hosts_per_switch) + 1
        }
        Topology::LeafSpine { leaves, hosts_per_leaf, leaves_per_host, .. } => {
            u64::from(*leaves) * u64::from(*hosts_per_leaf) / u64::from((*leaves_per_host).max(1))
        }
        Topology::Dragonfly { groups, routers_per_group, hosts_per_router, .. } => {
            (u64::from(*groups) * u64::from(*routers_per_group)).saturating_mul(u64::from(*hosts_per_router))
        }
        Topology::DragonflyPlus { groups, leaves_per_group, hosts_per_leaf, .. } => {
            (u64::from(*groups) * u64::from(*leaves_per_group)).saturating_mul(u64::from(*hosts_per_leaf))
        }
        Topology::FatTree { pods, tors_per_pod, hosts_per_tor, .. } => {
            (u64::from(*pods) * u64::from(*tors_per_pod)).saturating_mul(u64::from(*hosts_per_tor))
        }
        Topology::Explicit { node, .. } => node.iter().filter(|n| n.kind == NodeRole::Host).count() as u64,
    };
    if hosts > MOST_HOSTS {
        let reason = format!("{hosts} hosts are too many, {MOST_HOSTS} are possible");
        return Err(resolved.error("topology", reason).hint("make the network smaller"));
    }
    let graph = match &resolved.file.topology {
        &Topology::Star { hosts, rate, link_delay } => Star { hosts, rate, delay: link_delay }.build(),
        &Topology::Dumbbell { left_hosts, right_hosts, rate, trunk_rate, link_delay, trunk_delay, trunk_links } => {
            Dumbbell {
                left_hosts,
                right_hosts,
                rate,
                delay: link_delay,
                trunk_rate: trunk_rate.unwrap_or(rate),
                trunk_delay: trunk_delay.unwrap_or(link_delay),
                trunk_links,
            }
            .build()
        }
        &Topology::ParkingLot { switches, hosts_per_switch, rate, trunk_rate, link_delay, trunk_delay } => ParkingLot {
            switches,
            hosts_per_switch,
            rate,
            delay: link_delay,
            trunk_rate: trunk_rate.unwrap_or(rate),
            trunk_delay: trunk_delay.unwrap_or(link_delay),
        }
        .build(),
        &Topology::LeafSpine {
            leaves,
            spines,
            hosts_per_leaf,
            leaves_per_host,
            rails,
            planes,
            rate,
            fabric_rate,
            link_delay,
            fabric_delay,
            links_per_pair,
            nvlink: _,
        } => LeafSpine {
            leaves,
            spines,
            hosts_per_leaf,
            leaves_per_host,
            rails,
            planes,
            rate,
            delay: link_delay,
            fabric_rate: fabric_rate.unwrap_or(rate),
            fabric_delay: fabric_delay.unwrap_or(link_delay),
            links_per_pair,
        }
        .build(),
        &Topology::FatTree {
            pods,
            tors_per_pod,
            aggs_per_pod,
            cores,
            hosts_per_tor,
            core_wiring,
            rate,
            fabric_rate,
            core_rate,
            link_delay,
            fabric_delay,
            core_delay,
            links_per_pair,
            core_links_per_pair,
            nvlink: _,
        } => {
            let (fabric_rate, fabric_delay) = (fabric_rate.unwrap_or(rate), fabric_delay.unwrap_or(link_delay));
            let core_wiring = match core_wiring {
                CoreWiring::Groups => Wiring::Groups,
                CoreWiring::All => Wiring::All,
            };
            FatTree {
                pods,
                tors_per_pod,
                aggs_per_pod,
                cores,
                hosts_per_tor,
                core_wiring,
                rate,
                fabric_rate,
                core_rate: core_rate.unwrap_or(fabric_rate),
                delay: link_delay,
                fabric_delay,
                core_delay: core_delay.unwrap_or(fabric_delay),
                links_per_pair,
                core_links_per_pair,
            }
            .build()
        }
        &Topology::Dragonfly {
            groups,
            routers_per_group,
            hosts_per_router,
            global_links_per_router,
            rate,
            fabric_rate,
            global_rate,
            link_delay,
            fabric_delay,
            global_delay,
            nvlink: _,
        } => {
            let (fabric_rate, fabric_delay) = (fabric_rate.unwrap_or(rate), fabric_delay.unwrap_or(link_delay));
            Dragonfly {
                groups,
                routers_per_group,
                hosts_per_router,
                global_links_per_router,
                rate,
                delay: link_delay,
                fabric_rate,
                fabric_delay,
                global_rate: global_rate.unwrap_or(fabric_rate),
                global_delay: global_delay.unwrap_or(fabric_delay),
            }
            .build()
        }
        &Topology::DragonflyPlus {
            groups,
            leaves_per_group,
            spines_per_group,
            hosts_per_leaf,
            global_links_per_spine,
            rate,
            fabric_rate,
            global_rate,
            link_delay,
            fabric_delay,
            global_delay,
            links_per_pair,
            nvlink: _,
        } => {
            let (fabric_rate, fabric_delay) = (fabric_rate.unwrap_or(rate), fabric_delay.unwrap_or(link_delay));
            DragonflyPlus {
                groups,
                leaves_per_group,
                spines_per_group,
                hosts_per_leaf,
                global_links_per_spine,
                rate,
                delay: link_delay,
                fabric_rate,
                fabric_delay,
                links_per_pair,
                global_rate: global_rate.unwrap_or(fabric_rate),
                global_delay: global_delay.unwrap_or(fabric_delay),
            }
            .build()
        }
        Topology::Explicit { node, link } => {
            let role = |role| match role {
                NodeRole::Host => NodeKind::Host,
                NodeRole::Switch => NodeKind::Switch,
            };
            for (i, node) in node.iter().enumerate() {
                if node.name.is_empty() || node.name.contains([':', ' ', ',']) {
                    let error = resolved
                        .error(&format!("topology.node.{i}.name"), format!("`{}` is no name of a node", node.name));
                    return Err(error.hint("a name has no blanks, commas and colons"));
                }
            }
            let nodes = node.iter().map(|n| Vertex { name: n.name.clone(), kind: role(n.kind), tier: n.tier.clone() });
            let links = link.iter().enumerate().map(|(i, link)| wire(resolved, i, link));
            Explicit { nodes: nodes.collect(), links: links.collect::<Result<_, _>>()? }.build()
        }
    };
    let mut graph = graph.map_err(|error| explained(resolved, &error))?;
    if let Some(nvlink) = resolved.file.topology.nvlink() {
        let (gpus, rate, delay) = (nvlink.gpus, nvlink.rate, nvlink.delay);
        let joined = Domains { gpus, rate, delay }.join(&mut graph);
        joined.map_err(|error| resolved.error("topology.nvlink", error.to_string()).hint(error.hint()))?;
    }
    links::differ(resolved, &mut graph)?;
    Ok(graph)
}

fn wire(resolved: &Resolved, number: usize, link: &ExplicitLink) -> Result<Wire, ScenarioError> {
    let key = |name: &str| format!("topology.link.{number}.{name}");
    let end = |name: &str, text: &str| match text.split_once(':') {
        None => Ok((text.trim().to_owned(), None)),
        Some((node, port)) => match port.trim().parse::<u16>() {
            Ok(port) => Ok((node.trim().to_owned(), Some(port))),
            Err(_) => {
                let error = resolved.error(&key(name), format!("`{}` is no port number", port.trim()));
                Err(error.hint("a port is written node:number, as in \"leaf0:3\""))
            }
        },
    };
    let rates = link.rate.each();
    let [delay, back] = link.delay.each();
    if delay != back {
        let reason = "the delay differs between the two directions of the link, and a link here has one delay";
        return Err(resolved.error(&key("delay"), reason).hint("give one value"));
    }
    let ((a, a_port), (b, b_port)) = (end("a", &link.a)?, end("b", &link.b)?);
    Ok(Wire { a, b, rates, delay, a_port, b_port })
}

fn explained(resolved: &Resolved, error: &GraphError) -> ScenarioError {
    let key = match (&resolved.file.topology, error) {
        (Topology::Explicit { node, .. }, GraphError::NameTwice { name } | GraphError::HostLinks { name, .. }) => {
            let at = node.iter().rposition(|n| n.name == *name);
            at.map_or("topology".to_owned(), |i| format!("topology.node.{i}.name"))
        }
        (Topology::Explicit { link, .. }, error) => match error.link() {
            None => "topology".to_owned(),
            Some(i) => {
                // Of the two ends the one that the error names.
                let names = |text: &str, name: &str| text.split(':').next().map(str::trim) == Some(name);
                let end = match error {
                    GraphError::UnknownNode { name, .. }
                    | GraphError::PortTwice { node: name, .. }
                    | GraphError::PortBeyond { node: name, .. } => {
                        link.get(i).map_or("", |l| if names(&l.a, name) { ".a" } else { ".b" })
                    }
                    GraphError::NoRate { .. } => ".rate",
                    _ => "",
                };
                format!("topology.link.{i}{end}")
            }
        },
        (Topology::FatTree { .. }, GraphError::Uneven { .. }) => "topology.cores".to_owned(),
        (Topology::LeafSpine { leaves, rails, .. }, GraphError::Uneven { .. }) => {
            let key = if leaves.is_multiple_of(*rails) { "leaves_per_host" } else { "rails" };
            format!("topology.{key}")
        }
        (Topology::Dragonfly { .. } | Topology::DragonflyPlus { .. }, GraphError::Uneven { .. }) => {
            "topology.groups".to_owned()
        }
        _ => "topology".to_owned(),
    };
    resolved.error(&key, error.to_string()).hint(error.hint())
}
