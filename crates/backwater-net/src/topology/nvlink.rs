//! NVLink domains: servers whose GPUs meet in a switch of their own, beside the network.
//!
//! ```text
//!   leaf0  leaf1  leaf2  leaf3      the network, of any shape; here rail-optimised
//!     │      │      │      │
//!     h0     h1     h2     h3       GPUs: link 0 to the network, the last link to the NVLink switch
//!      ╲     ╲      ╱     ╱
//!            nvlink0
//! ```

use super::limits::{MOST, count};
use super::{Graph, GraphError, NodeKind};
use crate::model::packet::NodeId;
use crate::units::Rate;
use backwater_derive::parameters;
use backwater_engine::Time;

/// Tier of the NVLink switches.
pub const TIER: &str = "nvlink";

/// Servers of GPUs. Each GPU is a host; hosts are numbered server by server.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct NvLink {
    /// Number of GPUs in a server; divides the number of hosts. They share a switch: `nvlink0`, `nvlink1`, …, one per server.
    #[param(bounds = 1..=65_535, source = "Backwater's own")]
    pub gpus: u32,
    /// Rate of each GPU's link to the switch of its server, which is the GPU's last link.
    #[param(bounds = Rate(1).., source = "NVIDIA H100: 900 GB/s in both directions together are 3.6 Tb/s")]
    pub rate: Rate,
    /// Propagation delay of the links to these switches.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub delay: Time,
}

impl NvLink {
    /// Adds NVLink domains to a network, if there are any.
    pub(super) fn join_all(of: Option<&NvLink>, graph: &mut Graph) -> Result<(), GraphError> {
        of.map_or(Ok(()), |domains| domains.join(graph)).map_err(|error| GraphError::NvLink(error.into()))
    }

    /// Adds the switches to a network, after all its nodes, and a link of each host to one of them, after all its links.
    ///
    /// # Errors
    /// Hosts that are not whole servers; too many nodes or links.
    pub fn join(&self, graph: &mut Graph) -> Result<(), GraphError> {
        count("GPUs of a server", self.gpus.into(), MOST)?;
        let hosts: Vec<NodeId> = graph.hosts().collect();
        if !hosts.len().is_multiple_of(self.gpus as usize) {
            let (what, among) = ("hosts".into(), "GPUs of a server".into());
            return Err(GraphError::Uneven { what, got: hosts.len() as u64, among, by: self.gpus.into() });
        }
        for (server, gpus) in hosts.chunks(self.gpus as usize).enumerate() {
            let switch = graph.add(format!("{TIER}{server}"), TIER, NodeKind::Switch);
            gpus.iter().for_each(|gpu| graph.link(*gpu, switch, self.rate, self.delay));
        }
        graph.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{LeafSpine, Star};

    fn nvlink(gpus: u32) -> NvLink {
        NvLink { gpus, rate: Rate::gbps(3_600), delay: Time::ns(100) }
    }

    /// Two servers of four GPUs on four rails: the GPUs of a server meet only in their own switch.
    #[test]
    fn gpus_of_a_server_meet_in_a_switch_of_their_own() {
        let shape = LeafSpine { leaves: 4, spines: 2, hosts_per_leaf: 2, rails: 4, ..LeafSpine::default() };
        let network = shape.build().unwrap();
        let mut graph = network.clone();
        nvlink(4).join(&mut graph).unwrap();
        assert_eq!((graph.nodes.len(), graph.links.len()), (network.nodes.len() + 2, network.links.len() + 8));
        assert_eq!(graph.nodes[..network.nodes.len()], network.nodes);
        let ports = graph.ports().unwrap();
        let peers = |node: &str| {
            let list = &ports[graph.node(node).unwrap().0 as usize];
            list.iter().map(|port| graph.nodes[port.peer.0 as usize].name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(peers("nvlink1"), ["h4", "h5", "h6", "h7"]);
        assert_eq!(peers("h6"), ["leaf2", "nvlink1"]);
        let own = graph.links.last().unwrap();
        assert_eq!((own.rates, own.delay), ([Rate::gbps(3_600); 2], Time::ns(100)));
    }

    #[test]
    fn sizes_that_cannot_be() {
        let star = || Star { hosts: 8, ..Star::default() }.build().unwrap();
        let uneven = nvlink(3).join(&mut star()).unwrap_err();
        assert_eq!(uneven.to_string(), "8 hosts cannot be shared out evenly among 3 GPUs of a server");
        assert!(matches!(nvlink(0).join(&mut star()), Err(GraphError::None { .. })));
        let still = NvLink { rate: Rate(0), ..nvlink(8) }.join(&mut star());
        assert_eq!(still, Err(GraphError::NoRate { link: 8 }));
    }
}
