//! Several identical servers, and the network between them.
//!
//! ```text
//! GPU ── NVLink switch, one for each server      rate = number of links x what one carries
//!  ├── GPUs to which NVLinks or xGMI links lead
//!  │
//!  └── port of a NIC ── leaf, one for each port of a server ── spines, as many as servers
//! ```

use super::nearest::Path;
use super::pci::Class;
use super::system::System;
use crate::error::ImportError;
use crate::graph::nvlink::NVLINK;
use crate::graph::{Graph, Link};
use crate::note::Notes;
use crate::units::rate;
use std::collections::{BTreeMap, BTreeSet};

/// Most hosts, and most links: a larger fabric is never written out.
const MOST_HOSTS: u64 = 65_535;
const MOST_LINKS: u64 = 1_000_000;

/// Most ports of a server.
const MOST_PORTS: usize = 4096;

/// Delays of links, from SimAI's generator of topologies.
pub const NVLINK_PS: u64 = 25_000;
pub const NETWORK_PS: u64 = 500_000;

/// Returns the rate of an NVLink in each direction, in b/s, by generation (NVIDIA/nccl, commit 5067397, `src/graph/topo.h`: 18, 20, 12,
/// 20.6 and 40.1 GB/s). Its raw rate is higher: 20 GB/s for the first, 25 up to the fourth, 50 for the fifth.
pub fn nvlink_bps(sm: u32) -> u64 {
    match sm {
        100.. => 320_800_000_000,
        90.. => 164_800_000_000,
        86 => 96_000_000_000,
        60..70 => 144_000_000_000,
        _ => 160_000_000_000,
    }
}

/// Returns the rate of an xGMI link in each direction, in b/s, by architecture (ROCm/rccl, commit 08814b0, `ncclTopoXGMISpeed` of
/// `src/graph/topo.h`: 24, 36 and 48 GB/s).
fn xgmi_bps(gcn: &str) -> u64 {
    match gcn {
        "gfx90a" => 288_000_000_000,
        _ if gcn.starts_with("gfx94") || gcn.starts_with("gfx95") => 384_000_000_000,
        _ => 192_000_000_000,
    }
}

/// A GPU's share of a NIC: a port to a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The GPU, by its place in the list of the system.
    pub gpu: usize,
    /// The NIC.
    pub nic: usize,
    /// The number of GPUs that share it.
    pub sharing: u64,
    /// Its part of the NIC's rate, in b/s.
    pub bps: u64,
}

/// The ports of a server. GPUs that share a NIC get a part of its rate each.
pub fn ports(system: &System, used: &[(Vec<usize>, Path)]) -> Vec<Port> {
    let mut users = vec![0u64; system.nics.len()];
    used.iter().flat_map(|(nics, _)| nics).for_each(|nic| users[*nic] += 1);
    (0..)
        .zip(used)
        .flat_map(|(gpu, (nics, _))| nics.iter().map(move |nic| (gpu, *nic)))
        .map(|(gpu, nic)| Port { gpu, nic, sharing: users[nic], bps: system.nics[nic].bps / users[nic] })
        .collect()
}

/// NVLinks of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NvLinks {
    /// For each GPU the rate to the NVLink switch in b/s, 0 without one.
    pub to_switch: Vec<u64>,
    /// Pairs of directly connected GPUs, with the rate.
    pub pairs: Vec<(usize, usize, u64)>,
    /// The assumed rate of each kind of link, as text for a note.
    pub carry: BTreeSet<String>,
}

/// The NVLinks of a server. Both ends of a pair must agree.
pub fn nvlinks(system: &System, file: &str, notes: &mut Notes) -> Result<NvLinks, ImportError> {
    let mut found = NvLinks { to_switch: vec![0; system.gpus.len()], ..NvLinks::default() };
    let mut between: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (own, gpu) in system.gpus.iter().enumerate() {
        for link in &gpu.nvlinks {
            let missing = |what: &str, hint: &str| {
                ImportError::new(format!("<gpu> has {what}")).file(file).line(gpu.line).hint(hint)
            };
            let (each, of) = if link.xgmi {
                let hint = "as gcn=\"gfx942\": it says what an xGMI link carries";
                let gcn = gpu.gcn.as_deref().ok_or_else(|| missing("xGMI links and no gcn", hint))?;
                (xgmi_bps(gcn), gcn.to_owned())
            } else {
                let hint = "as sm=\"90\": it says what an NVLink carries";
                let sm = gpu.sm.ok_or_else(|| missing("NVLinks and no sm", hint))?;
                (nvlink_bps(sm), format!("sm {sm}"))
            };
            let bps = u64::from(link.count) * each;
            let name = if link.xgmi { "xGMI links" } else { "NVLinks" };
            let mut left_out = |what: &str| {
                notes.ignored(file, Some(link.line), format!("{name} {what}, whatever their target and count"))
            };
            match link.kind {
                Class::Cpu => {
                    left_out("to a CPU");
                    continue;
                }
                Class::Gpu => match system.gpus.iter().position(|other| Some(other.id) == link.target) {
                    None => {
                        left_out("to a GPU that is not there");
                        continue;
                    }
                    Some(other) if other == own => {
                        left_out("of a GPU to itself");
                        continue;
                    }
                    Some(other) => *between.entry((own, other)).or_default() += bps,
                },
                _ => found.to_switch[own] += bps,
            }
            found.carry.insert(format!("{} each of the {name} of {of}", rate(each)));
        }
    }
    for ((one, other), there) in &between {
        let back = between.get(&(*other, *one)).copied().unwrap_or(0);
        if *there != back {
            let [a, b] = [*one, *other].map(|gpu| &system.gpus[gpu]);
            let reason =
                format!("links of {} to GPU {}, which has links of {} back", rate(*there), b.busid, rate(back));
            return Err(ImportError::new(reason).file(file).line(a.line).value(&a.busid));
        }
        if one < other {
            found.pairs.push((*one, *other, *there));
        }
    }
    Ok(found)
}

/// The graph of so many servers: hosts server by server, then NVLink switches, leaves and spines.
pub fn graph(servers: u32, gpus: u32, ports: &[Port], nvlinks: &NvLinks, lines: &[u64]) -> Result<Graph, ImportError> {
    if ports.len() > MOST_PORTS {
        let reason = format!("GPUs use {} ports of NICs: each of them is as near to as many", ports.len());
        return Err(ImportError::new(reason).hint(format!("{MOST_PORTS} ports of a server at most")));
    }
    let by_switch = nvlinks.to_switch.iter().any(|bps| *bps > 0);
    let leaves = ports.len() as u32;
    let spines = if leaves > 1 { servers } else { 0 };
    let own = u64::from(gpus) * 2 + nvlinks.pairs.len() as u64 + ports.len() as u64;
    let hosts = u64::from(servers) * u64::from(gpus);
    let links = u64::from(servers) * own + u64::from(leaves) * u64::from(spines);
    if hosts > MOST_HOSTS || links > MOST_LINKS {
        let reason = format!("{servers} servers of {gpus} GPUs have {hosts} hosts and up to {links} links");
        let hint = format!("fewer servers: {MOST_HOSTS} hosts and {MOST_LINKS} links at most");
        return Err(ImportError::new(reason).hint(hint));
    }
    let hosts = hosts as u32;
    let mut graph = Graph::new(hosts);
    let mut tier = |count: u32, name| {
        let first = graph.nodes();
        (0..count).for_each(|_| graph.add_switch(name));
        first
    };
    let switches = tier(if by_switch { servers } else { 0 }, NVLINK);
    let first_leaf = tier(leaves, "leaf");
    let first_spine = tier(spines, "spine");
    let mut join = |line: u64, a, b, bps, delay_ps| graph.links.push(Link { line, a, b, bps, delay_ps, loss: 0.0 });
    for server in 0..servers {
        let host = |gpu: usize| server * gpus + gpu as u32;
        for (gpu, bps) in nvlinks.to_switch.iter().enumerate().filter(|(_, bps)| **bps > 0) {
            join(lines[gpu], host(gpu), switches + server, *bps, NVLINK_PS);
        }
        for (one, other, bps) in &nvlinks.pairs {
            join(lines[*one], host(*one), host(*other), *bps, NVLINK_PS);
        }
        for (leaf, port) in (first_leaf..).zip(ports) {
            join(lines[port.gpu], host(port.gpu), leaf, port.bps, NETWORK_PS);
        }
    }
    for (leaf, port) in (first_leaf..).zip(ports) {
        for spine in 0..spines {
            join(lines[port.gpu], leaf, first_spine + spine, port.bps, NETWORK_PS);
        }
    }
    Ok(graph)
}
