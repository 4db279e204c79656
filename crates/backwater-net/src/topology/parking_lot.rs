//! Parking lot: a chain of switches with hosts on each, and one host at the end that all others send to.
//!
//! ```text
//!  h0    h1    h2          with switches = 3, hosts_per_switch = 1
//!  │     │     │
//!  s0 ── s1 ── s2 ── h3    the receiver
//! ```

use super::{Graph, GraphError, MOST, NodeKind, count};
use crate::packet::HostId;
use crate::units::Rate;
use backwater_engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A chain of switches `s0`… of tier `switch`, hosts on each, and one more host at the end of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ParkingLot {
    /// Number of switches.
    #[schemars(range(min = 1))]
    pub switches: u32,
    /// Hosts on each switch; host h is on switch h / hosts_per_switch.
    #[schemars(range(min = 1, max = 65533))]
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
        HostId(self.switches.saturating_mul(self.hosts_per_switch))
    }

    /// The graph: hosts, the receiver last, then switches. A switch's ports: its hosts, the receiver, the switch before, the one after.
    pub fn build(&self) -> Result<Graph, GraphError> {
        count("switches", self.switches.into(), MOST)?;
        count("hosts per switch", self.hosts_per_switch.into(), MOST)?;
        count("hosts", u64::from(self.switches) * u64::from(self.hosts_per_switch), MOST)?;
        let mut graph = Graph::default();
        let receiver = self.receiver();
        let hosts: Vec<_> = (0..=receiver.0).map(|h| graph.add(format!("h{h}"), "host", NodeKind::Host)).collect();
        let switches: Vec<_> =
            (0..self.switches).map(|s| graph.add(format!("s{s}"), "switch", NodeKind::Switch)).collect();
        for (h, &host) in hosts.iter().enumerate() {
            let at = (h as u32 / self.hosts_per_switch).min(self.switches - 1);
            graph.link(host, switches[at as usize], self.rate, self.delay);
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
        let graph = ParkingLot::default().build().unwrap();
        let ports = graph.ports().unwrap();
        let names = |node: &str| {
            let list = &ports[graph.node(node).unwrap().0 as usize];
            list.iter().map(|p| graph.nodes[p.peer.0 as usize].name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(names("s0"), ["h0", "s1"]);
        assert_eq!(names("s1"), ["h1", "s0", "s2"]);
        assert_eq!(names("s2"), ["h2", "h3", "s1"]);
        assert_eq!(graph.hosts().count(), 4);
    }

    #[test]
    fn one_switch_is_a_star() {
        let graph = ParkingLot { switches: 1, hosts_per_switch: 4, ..ParkingLot::default() }.build().unwrap();
        assert_eq!((graph.nodes.len(), graph.links.len()), (6, 5));
        assert!(ParkingLot { switches: u32::MAX, ..ParkingLot::default() }.build().is_err());
    }
}
