//! Packet spraying — Dixit, Prakash, Hu and Kompella, "On the Impact of Packet Spraying in Data Center Networks", INFOCOM 2013.
//!
//! A switch spreads the packets of a flow over all equal-cost paths, so that two large flows cannot collide on one:
//!
//! ```text
//! random       out = one of the next hops, drawn for each packet                (RPS, section III)
//! round-robin  out = next hop number (n mod N); n = n + 1                       (per-packet ECMP of routers, section II)
//! ```
//!
//! n counts per switch and set of next hops. Packets of a flow overtake each other where paths are not equally loaded,
//! so receivers must take them in any order. Without recovery they do, since they only count bytes. With recovery,
//! `transport.in_order = false` and selective repeat let a receiver place packets as they arrive. Losses are then left
//! to the timeout (and to trimmed packets), as in transports made for spraying.
//!
//! Acknowledgements and control frames are not sprayed: those of a flow take one path, by `ack.path`. A path that the
//! scenario pins stays pinned.
//!
//! # Not modelled
//! - spraying by the source (changing UDP ports)
//! - weights after failures
//! - coalescing at the receiver
//!
//! # Differences
//! - The paper keeps TCP, whose duplicate acknowledgements treat reordering as loss. Flows here have RoCEv2's
//!   transport.

use backwater_derive::parameters;
use backwater_net::hooks::{Activity, Claims, Mechanism, Profile, SwitchCx, SwitchShape, SwitchSide};
use backwater_net::occupancy::Occupancy;
use backwater_net::packet::{Packet, Port};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Path of the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// A random one for each packet.
    Random,
    /// The one after that of the previous packet.
    RoundRobin,
}

/// Parameters of packet spraying.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Path of each packet: a `random` one of the equal-cost paths, or the next one (`round-robin`).
    #[param(default = Order::Random, source = "Dixit et al., INFOCOM 2013: random")]
    pub order: Order,
    /// Classes whose packets are sprayed, each 0 to 7; other classes use ECMP. Absent: all.
    #[param(each = 0..=7, source = "choice", why = "there is no such class")]
    pub classes: Option<Vec<u8>>,
}

/// Packet spraying.
pub enum Spray {}

#[backwater_derive::mechanism]
impl Mechanism for Spray {
    const NAME: &'static str = "spray";
    const DEFINED_BY: &'static str = "Dixit et al., INFOCOM 2013";
    const SUMMARY: &'static str = "sends each packet over another of the equal-cost paths";
    const INACTIVE: &'static str = "never chose a path, since no packet of its classes had two";
    type Switch = Sprayer;

    fn profile(_: &Params) -> Profile {
        Profile { claims: Claims { path: true, ..Claims::NONE }, reorders: true, ..Profile::default() }
    }

    fn switch(params: &Params, _: &SwitchShape) -> Option<Sprayer> {
        Some(Sprayer {
            order: params.order,
            classes: crate::class_bits_or_all(params.classes.as_deref()),
            turns: Vec::new(),
            chosen: 0,
        })
    }
}

/// A switch that sprays.
#[derive(backwater_derive::State)]
pub struct Sprayer {
    #[state(fixed)]
    order: Order,
    /// classes that are sprayed, a bit each
    #[state(fixed)]
    classes: u8,
    /// n of each set of next hops
    turns: Vec<(Vec<Port>, usize)>,
    /// number of packets whose next hop it chose
    chosen: u64,
}

// The specification.
#[backwater_derive::hooks]
impl SwitchSide for Sprayer {
    fn choose(&mut self, cx: &mut SwitchCx<'_>, next_hops: &[Port], pkt: &Packet) -> Option<Port> {
        if !pkt.is_data() || self.classes & (1 << pkt.class.0) == 0 {
            return None;
        }
        self.chosen += 1;
        match self.order {
            Order::Random => Some(next_hops[cx.rng().random_range(0..next_hops.len() as u32) as usize]),
            Order::RoundRobin => {
                let n = self.turn(next_hops);
                let out = next_hops[*n % next_hops.len()];
                *n = (*n + 1) % next_hops.len();
                Some(out)
            }
        }
    }

    fn activity(&self, _: &Occupancy) -> Activity {
        Activity { acts: self.chosen, margin: None }
    }
}

impl Sprayer {
    fn turn(&mut self, next_hops: &[Port]) -> &mut usize {
        let at = self.turns.iter().position(|(ports, _)| ports == next_hops).unwrap_or_else(|| {
            self.turns.push((next_hops.to_vec(), 0));
            self.turns.len() - 1
        });
        &mut self.turns[at].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_net::Rate;
    use backwater_net::bench::{SwitchBench, ack, data};
    use backwater_net::config::SwitchParams;
    use backwater_net::packet::{Class, HostId};

    fn choices(params: Params, packets: u32, class: Class) -> Vec<Option<u16>> {
        let mut bench = SwitchBench::new(&SwitchParams::default(), 8, Rate::gbps(100), 0);
        let mut side = Spray::switch(&params, bench.shape()).unwrap();
        let next_hops = [4u16, 5, 6, 7].map(Port);
        let packet = |n: u32| data(HostId(0), HostId(9), n % 3, class, 1000);
        (0..packets).map(|n| side.choose(&mut bench.cx(), &next_hops, &packet(n)).map(|port| port.0)).collect()
    }

    #[test]
    fn one_after_the_other_whatever_the_flow() {
        let params = Params { order: Order::RoundRobin, ..Params::default() };
        let turns = choices(params.clone(), 8, Class(3)).into_iter().map(Option::unwrap);
        assert_eq!(turns.collect::<Vec<_>>(), [4, 5, 6, 7, 4, 5, 6, 7]);
        let mut bench = SwitchBench::new(&SwitchParams::default(), 8, Rate::gbps(100), 0);
        let mut side = Spray::switch(&params, bench.shape()).unwrap();
        let packet = data(HostId(0), HostId(9), 0, Class(3), 1000);
        let (all, some) = ([4, 5, 6].map(Port), [6, 7].map(Port));
        let mut out = |set: &[Port]| side.choose(&mut bench.cx(), set, &packet).unwrap().0;
        assert_eq!([out(&all), out(&some), out(&all), out(&some), out(&all), out(&some)], [4, 6, 5, 7, 6, 6]);
    }

    #[test]
    fn every_next_hop_is_equally_likely() {
        let mut seen = [0f64; 8];
        for out in choices(Params::default(), 4000, Class(3)) {
            seen[usize::from(out.unwrap())] += 1.0;
        }
        // 1000 each, standard deviation 27.4.
        assert!(seen[4..].iter().all(|n| (n - 1000.0).abs() < 4.0 * 27.4), "{seen:?}");
    }

    #[test]
    fn other_classes_and_acknowledgements_keep_to_ecmp() {
        let params = Params { classes: Some(vec![3]), ..Params::default() };
        assert!(choices(params.clone(), 4, Class(5)).iter().all(Option::is_none));
        let mut bench = SwitchBench::new(&SwitchParams::default(), 4, Rate::gbps(100), 0);
        let mut side = Spray::switch(&params, bench.shape()).unwrap();
        let ack = ack(data(HostId(0), HostId(1), 0, Class(3), 0));
        assert_eq!(side.choose(&mut bench.cx(), &[Port(1), Port(2)], &ack), None);
    }
}
