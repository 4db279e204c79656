//! The completion time of a flow in an idle network: the reference for its slowdown, exact to the picosecond.
//!
//! With `n` full packets and a last one, on links j = 1 … m that store and forward, let E(j) be the time at which the last packet has left
//! link j:
//!
//! ```text
//! D(j) = sum(F(i), i <= j) + (n - 1) max(F(i), i <= j)        when the last full packet has left link j, delays aside
//! E(j) = max(E(j - 1), D(j)) + L(j)                           the last packet follows it, and itself
//! ideal = E(m) + sum of delays and latencies + what its interface takes to issue it, and to fetch its first frame
//! ```
//!
//! F and L are the times of a full and of the last packet on a link. This is the recursion of a chain of queues in series, solved for equal
//! packets followed by a shorter one.

use super::{Actors, Network};
use crate::model::packet::PathRef;
use crate::model::port::Belongs;
use crate::topology::routing::NO_PATH;
use backwater_engine::Time;

impl<A: Actors> Network<A> {
    /// Ports along a flow's path, the host's first: its pinned path, or the one that ECMP gives it.
    pub(super) fn path_of(&self, slot: u32) -> Option<Vec<u32>> {
        let flow = &self.tables.flows.send[slot as usize];
        // The longest path of a fat tree, without another allocation.
        let mut ports = Vec::with_capacity(8);
        ports.push(self.hosts[flow.nic as usize].port);
        let last = self.world.fabric.host_node[flow.dst.0 as usize];
        let mut hop = 0;
        loop {
            let peer = self.facts(self.facts(*ports.last()?).peer).belongs;
            let Belongs::Switch(switch) = peer else {
                return (self.world.fabric.node_of(peer) == last).then_some(ports);
            };
            let egress = if flow.ecmp_path != NO_PATH {
                self.world.fabric.ecmp_paths.port(flow.ecmp_path, hop)
            } else if flow.path == PathRef::NONE {
                self.world.fabric.routes.pick(
                    switch,
                    self.world.fabric.routes.candidates(switch, flow.dst),
                    flow.hash,
                )?
            } else if hop < self.world.fabric.paths.len(flow.path) {
                self.world.fabric.paths.port(flow.path, hop)
            } else {
                return None;
            };
            hop += 1;
            ports.push(self.world.fabric.first_port_of(switch) + u32::from(egress));
        }
    }

    /// Delays of the links and latencies of the switches along these ports.
    fn fixed_delays(&self, ports: &[u32]) -> Time {
        ports.iter().fold(Time::ZERO, |sum, port| {
            let port = self.facts(*port);
            let latency = match port.belongs {
                Belongs::Switch(switch) => self.latency_of(switch),
                Belongs::Host(_) => Time::ZERO,
            };
            sum.after(port.delay).after(latency)
        })
    }

    fn time_on(&self, port: u32, frame: u64) -> Time {
        self.facts(port).serialiser.time(frame as u32 + self.world.rules.gap)
    }

    /// Time from the start until the last of `bytes` payload bytes arrives along these ports in an idle network; `left` is the flow's.
    /// `None`: more than the longest time in results, 2^63 ps or 106 days.
    pub(super) fn ideal(&self, ports: &[u32], bytes: u64, left: u8) -> Option<Time> {
        let (payload, header) = (u64::from(self.world.rules.payload), u64::from(self.world.rules.header(left)));
        let full = bytes.saturating_sub(1) / payload;
        let last = bytes - full * payload;
        let (mut sum, mut slowest, mut end) = (Time::ZERO, Time::ZERO, Time::ZERO);
        for port in ports {
            if full > 0 {
                let time = self.time_on(*port, payload + header);
                sum = sum.after(time);
                slowest = slowest.max(time);
                end = end.max(sum.after(Time(slowest.0.saturating_mul(full - 1))));
            }
            end = end.after(self.time_on(*port, last + header));
        }
        let posted = match self.facts(ports[0]).belongs {
            Belongs::Host(nic) => self.post_time(nic, bytes, left),
            Belongs::Switch(_) => Time::ZERO,
        };
        let all = posted.after(end).after(self.fixed_delays(ports));
        (all.0 <= i64::MAX as u64).then_some(all)
    }

    /// \[bytes\] Line rate times the time from a full packet's first bit to the last bit of its acknowledgement, in an idle network.
    pub(super) fn bandwidth_delay(&self, ports: &[u32], left: u8) -> u64 {
        let rules = &self.world.rules;
        let (frame, ack) = (u64::from(rules.payload + rules.header(left)), u64::from(rules.ack_size(left)));
        let one_way = self.fixed_delays(ports);
        let each = ports.iter().map(|port| self.time_on(*port, frame) + self.time_on(*port, ack));
        let round_trip = each.fold(one_way + one_way, |sum, time| sum + time);
        let rate = self.facts(ports[0]).serialiser.rate();
        let bytes = u128::from(rate.0) * u128::from(round_trip.0) / 8 / 1_000_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX).max(self.world.rules.least_window())
    }
}
