//! Parking lot: a chain of switches with hosts on each; usually all send to the last host, so every trunk carries the traffic of one more
//! switch.
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
use backwater_derive::parameters;
use backwater_engine::Time;

/// A chain of switches `s0`, `s1`, … with the same number of hosts at each, numbered switch by switch: the last host is at the end of the
/// chain.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct ParkingLot {
    /// Number of switches.
    #[param(bounds = 2..=10_000, source = "Backwater's own")]
    pub switches: u32,
    /// Number of hosts at each switch.
    #[param(default = 1, bounds = 1..=65_533, source = "Backwater's own; 1: choice")]
    pub hosts_per_switch: u32,
    /// Rate of each host's link.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub rate: Rate,
    /// Rate of the links between switches. Absent: `rate`.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub trunk_rate: Option<Rate>,
    /// Propagation delay of each host's link.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub link_delay: Time,
    /// Propagation delay of the links between switches. Absent: `link_delay`.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub trunk_delay: Option<Time>,
}

impl Default for ParkingLot {
    fn default() -> Self {
        let (rate, link_delay) = (Rate::gbps(200), Time::ns(150));
        ParkingLot { switches: 3, hosts_per_switch: 1, rate, link_delay, trunk_rate: None, trunk_delay: None }
    }
}

impl ParkingLot {
    /// Returns the number of hosts.
    pub(super) fn hosts(&self) -> u64 {
        u64::from(self.switches) * u64::from(self.hosts_per_switch) + 1
    }

    /// The host at the end of the chain: the one of the highest number.
    pub fn receiver(&self) -> HostId {
        HostId(self.switches.saturating_mul(self.hosts_per_switch).saturating_sub(1))
    }

    /// The graph: hosts, then switches. A switch's ports: its hosts, the switch before, the one after.
    pub fn build(&self) -> Result<Graph, GraphError> {
        count("switches", self.switches.into(), MOST)?;
        count("hosts per switch", self.hosts_per_switch.into(), MOST)?;
        count("hosts", u64::from(self.switches) * u64::from(self.hosts_per_switch), MOST)?;
        let (trunk_rate, trunk_delay) =
            (self.trunk_rate.unwrap_or(self.rate), self.trunk_delay.unwrap_or(self.link_delay));
        let mut graph = Graph::default();
        let hosts = self.switches * self.hosts_per_switch;
        let hosts: Vec<_> = (0..hosts).map(|h| graph.add(format!("h{h}"), "host", NodeKind::Host)).collect();
        let switches: Vec<_> =
            (0..self.switches).map(|s| graph.add(format!("s{s}"), "switch", NodeKind::Switch)).collect();
        for (h, &host) in hosts.iter().enumerate() {
            graph.link(host, switches[h / self.hosts_per_switch as usize], self.rate, self.link_delay);
        }
        for pair in switches.windows(2) {
            graph.link(pair[0], pair[1], trunk_rate, trunk_delay);
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
