//! Parking lot: a chain of switches with hosts on each; usually all send to the last host, so that every trunk joins one
//! more switch's traffic to that of all switches before.
//!
//! ```text
//!  h0 h1  h2 h3  h4 h5    with switches = 3, hosts_per_switch = 2
//!  │  │   │  │   │  │
//!   s0 ─── s1 ─── s2
//! ```

use super::limits::{MOST, count};
use super::{Graph, GraphError, NodeKind};
use crate::model::packet::HostId;
use crate::units::Rate;
use backwater_engine::Time;

/// A chain of switches `s0`… of tier `switch` with as many hosts on each.
#[derive(Clone, Debug, PartialEq)]
pub struct ParkingLot {
    /// Number of switches.
    pub switches: u32,
    /// Hosts on each switch; host h is on switch h / hosts_per_switch.
    pub hosts_per_switch: u32,
    /// Rate of the hosts' links.
    pub rate: Rate,
    /// Propagation delay of the hosts' links.
    pub delay: Time,
    /// Rate of the links between switches.
    pub trunk_rate: Rate,
    /// Propagation delay of the links between switches.
    pub trunk_delay: Time,
}

impl Default for ParkingLot {
    fn default() -> Self {
        let (rate, delay) = (Rate::gbps(200), Time::ns(150));
        ParkingLot { switches: 3, hosts_per_switch: 1, rate, delay, trunk_rate: rate, trunk_delay: delay }
    }
}

impl ParkingLot {
    /// The host at the end of the chain: the one of the highest number.
    pub fn receiver(&self) -> HostId {
        HostId(self.switches.saturating_mul(self.hosts_per_switch).saturating_sub(1))
    }

    /// The graph: hosts, then switches. A switch's ports: its hosts, the switch before, the one after.
    pub fn build(&self) -> Result<Graph, GraphError> {
        count("switches", self.switches.into(), MOST)?;
        count("hosts per switch", self.hosts_per_switch.into(), MOST)?;
        count("hosts", u64::from(self.switches) * u64::from(self.hosts_per_switch), MOST)?;
        let mut graph = Graph::default();
        let hosts = self.switches * self.hosts_per_switch;
        let hosts: Vec<_> = (0..hosts).map(|h| graph.add(format!("h{h}"), "host", NodeKind::Host)).collect();
        let switches: Vec<_> =
            (0..self.switches).map(|s| graph.add(format!("s{s}"), "switch", NodeKind::Switch)).collect();
        for (h, &host) in hosts.iter().enumerate() {
            graph.link(host, switches[h / self.hosts_per_switch as usize], self.rate, self.delay);
        }
        for pair in switches.windows(2) {
            graph.link(pair[0], pair[1], self.trunk_rate, self.trunk_delay);
        }
        graph.validate()?;
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_of_the_figure() {
        let shape = ParkingLot { hosts_per_switch: 2, ..ParkingLot::default() };
        let graph = shape.build().unwrap();
        let ports = graph.ports().unwrap();
        let names = |node: &str| {
            let list = &ports[graph.node(node).unwrap().0 as usize];
            list.iter().map(|p| graph.nodes[p.peer.0 as usize].name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(names("s0"), ["h0", "h1", "s1"]);
        assert_eq!(names("s1"), ["h2", "h3", "s0", "s2"]);
        assert_eq!(names("s2"), ["h4", "h5", "s1"]);
        assert_eq!(graph.nodes[shape.receiver().0 as usize].name, "h5");
    }

    #[test]
    fn one_switch_is_a_star() {
        let graph = ParkingLot { switches: 1, hosts_per_switch: 4, ..ParkingLot::default() }.build().unwrap();
        assert_eq!((graph.nodes.len(), graph.links.len()), (5, 4));
        assert!(ParkingLot { switches: u32::MAX, ..ParkingLot::default() }.build().is_err());
    }
}
