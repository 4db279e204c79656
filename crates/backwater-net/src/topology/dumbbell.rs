//! Dumbbell: two switches, hosts on both, one trunk between them.
//!
//! ```text
//!  h0 ─┐                ┌─ h2
//!      left ═ trunk ═ right
//!  h1 ─┘                └─ h3
//! ```

use super::limits::{MOST, count};
use super::{Graph, GraphError, NodeKind};
use crate::units::Rate;
use backwater_derive::parameters;
use backwater_engine::Time;

/// Two switches, `left` and `right`, joined by a trunk, with hosts on both sides: hosts on the left are numbered first.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// Number of hosts on the left.
    #[param(bounds = 1..=65_534, source = "Backwater's own")]
    pub left_hosts: u32,
    /// Number of hosts on the right.
    #[param(bounds = 1..=65_534, source = "Backwater's own")]
    pub right_hosts: u32,
    /// Rate of each host's link.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub rate: Rate,
    /// Rate of each link between the switches. Absent: `rate`.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub trunk_rate: Option<Rate>,
    /// Propagation delay of each host's link.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub link_delay: Time,
    /// Propagation delay of the links between the switches. Absent: `link_delay`.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub trunk_delay: Option<Time>,
    /// Number of parallel links between the switches.
    #[param(default = 1, bounds = 1..=1_024, source = "Backwater's own; 1: choice")]
    pub trunk_links: u32,
}

impl Default for Dumbbell {
    fn default() -> Self {
        let (rate, link_delay) = (Rate::gbps(200), Time::ns(150));
        Dumbbell {
            left_hosts: 4,
            right_hosts: 4,
            rate,
            link_delay,
            trunk_rate: None,
            trunk_delay: None,
            trunk_links: 1,
        }
    }
}

impl Dumbbell {
    /// Returns the number of hosts.
    pub(super) fn hosts(&self) -> u64 {
        u64::from(self.left_hosts) + u64::from(self.right_hosts)
    }

    /// The graph: hosts, `left`, `right`. On both switches the ports to hosts come before those to the other switch.
    pub fn build(&self) -> Result<Graph, GraphError> {
        count("hosts on the left", self.left_hosts.into(), MOST)?;
        count("hosts on the right", self.right_hosts.into(), MOST)?;
        count("links between the switches", self.trunk_links.into(), MOST)?;
        let (trunk_rate, trunk_delay) =
            (self.trunk_rate.unwrap_or(self.rate), self.trunk_delay.unwrap_or(self.link_delay));
        let mut graph = Graph::default();
        let hosts = self.left_hosts + self.right_hosts;
        let hosts: Vec<_> = (0..hosts).map(|h| graph.add(format!("h{h}"), "host", NodeKind::Host)).collect();
        let left = graph.add("left", "switch", NodeKind::Switch);
        let right = graph.add("right", "switch", NodeKind::Switch);
        for (h, &host) in hosts.iter().enumerate() {
            let switch = if h < self.left_hosts as usize { left } else { right };
            graph.link(host, switch, self.rate, self.link_delay);
        }
        for _ in 0..self.trunk_links {
            graph.link(left, right, trunk_rate, trunk_delay);
        }
        graph.validate()?;
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_then_trunks() {
        let shape = Dumbbell {
            left_hosts: 2,
            right_hosts: 3,
            trunk_links: 2,
            trunk_rate: Some(Rate::gbps(50)),
            ..Dumbbell::default()
        };
        let graph = shape.build().unwrap();
        let ports = graph.ports().unwrap();
        let names = |node: &str| {
            let list = &ports[graph.node(node).unwrap().0 as usize];
            list.iter().map(|p| graph.nodes[p.peer.0 as usize].name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(names("left"), ["h0", "h1", "right", "right"]);
        assert_eq!(names("right"), ["h2", "h3", "h4", "left", "left"]);
        assert_eq!(graph.links.last().map(|l| l.rates), Some([Rate::gbps(50); 2]));
        assert!(Dumbbell { trunk_links: 0, ..shape }.build().is_err());
    }
}
