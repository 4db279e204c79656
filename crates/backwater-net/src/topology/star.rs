//! Star: all hosts on one switch.
//!
//! ```text
//!  h0 ─┐
//!  h1 ─ s0        port i of s0 leads to host i
//!  h2 ─┘
//! ```

use super::limits::{MOST, count};
use super::{Graph, GraphError, NodeKind};
use crate::units::Rate;
use backwater_derive::parameters;
use backwater_engine::Time;

/// Hosts around one switch, `s0`.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct Star {
    /// Number of hosts: `h0`, `h1`, …
    #[param(bounds = 1..=65_535, source = "Backwater's own")]
    pub hosts: u32,
    /// Rate of each link.
    #[param(bounds = Rate(1).., source = "Backwater's own")]
    pub rate: Rate,
    /// Propagation delay of each link.
    #[param(range_text = "0 s and more", source = "Backwater's own")]
    pub link_delay: Time,
}

impl Default for Star {
    fn default() -> Self {
        Star { hosts: 8, rate: Rate::gbps(200), link_delay: Time::ns(150) }
    }
}

impl Star {
    /// Returns the number of hosts.
    pub(super) fn hosts(&self) -> u64 {
        u64::from(self.hosts)
    }

    /// The graph: hosts `h0`…, then the switch.
    pub fn build(&self) -> Result<Graph, GraphError> {
        count("hosts", self.hosts.into(), MOST)?;
        let mut graph = Graph::default();
        let hosts: Vec<_> = (0..self.hosts).map(|h| graph.add(format!("h{h}"), "host", NodeKind::Host)).collect();
        let switch = graph.add("s0", "switch", NodeKind::Switch);
        for host in hosts {
            graph.link(host, switch, self.rate, self.link_delay);
        }
        graph.validate()?;
        Ok(graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_hosts() {
        let graph = Star { hosts: 3, ..Star::default() }.build().unwrap();
        let ports = graph.ports().unwrap();
        let switch = graph.node("s0").unwrap();
        let peers: Vec<_> = ports[switch.0 as usize].iter().map(|p| graph.host_of(p.peer).unwrap().0).collect();
        assert_eq!(peers, [0, 1, 2]);
    }

    #[test]
    fn sizes_that_cannot_be() {
        assert_eq!(Star { hosts: 0, ..Star::default() }.build(), Err(GraphError::None { what: "hosts".into() }));
        let many = Star { hosts: 70_000, ..Star::default() }.build();
        assert!(matches!(many, Err(GraphError::TooMany { most: 65_535, .. })), "{many:?}");
        assert!(matches!(Star { hosts: u32::MAX, ..Star::default() }.build(), Err(GraphError::TooMany { .. })));
        assert_eq!(Star { rate: Rate(0), ..Star::default() }.build(), Err(GraphError::NoRate { link: 0 }));
    }
}
