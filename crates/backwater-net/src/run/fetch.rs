//! Fetching ahead: in a network that is too large for the processor's cache, each event would wait for its port, then for
//! its packet. Here the next events' data are read before the first of them is handled, so that the memory has all these
//! requests at once. Nothing changes but the time that a run takes.

use super::{Actors, Network};
use crate::config::LatencyAt;
use crate::event::Event;
use crate::packet::Port as PortNo;
use crate::port::{Belongs, Port};
use crate::routing::{KNOWN, NO_PATH};
use crate::slab::Ix;
use crate::switch::Switch;

/// Ports from which on it pays: with what is in flight between them they take about 2 MB.
pub(super) const WIDE: usize = 2_048;

impl<A: Actors> Network<A> {
    /// Touches what the next events will need: what their own words name, and what that leads to.
    #[inline(never)]
    pub(super) fn fetch_ahead(&self) {
        let touched = self.world.queue.at_hand().fold(0, |touched, event| {
            touched
                ^ match *event {
                    Event::Sent { port } | Event::Wake { port } => self.touch_for_sent(&self.ports[port as usize]),
                    Event::Arrive { port, pkt } => self.touch_for_arrival(&self.ports[port as usize], pkt),
                    Event::Enqueue { switch, pkt } => self.touch_for_enqueue(&self.switches[switch as usize], pkt),
                    _ => 0,
                }
        });
        std::hint::black_box(touched);
    }

    #[inline(always)]
    fn touch_for_sent(&self, p: &Port) -> u64 {
        let head = p.head().map(|head| self.world.slab.touch(head));
        let below = match p.belongs {
            Belongs::Switch(_) => self.world.slab.touch(p.current) ^ head.unwrap_or(0),
            Belongs::Host(host) => head
                .or_else(|| self.hosts[host as usize].next_up().map(|slot| self.tables.flows.touch(slot)))
                .unwrap_or(0),
        };
        p.tx_frames ^ below
    }

    #[inline(always)]
    fn touch_for_arrival(&self, p: &Port, pkt: Ix) -> u64 {
        let header = &self.world.slab[pkt].pkt;
        match p.belongs {
            Belongs::Switch(switch) if header.path != NO_PATH => {
                let switch = &self.switches[switch as usize];
                if switch.latency_at == LatencyAt::Fabric {
                    return 0; // it will join its queue by an event of its own
                }
                let egress = match header.path {
                    KNOWN => self.world.fabric.ways.port(header.entropy, header.hop),
                    path => self.world.fabric.paths.port(path, header.hop),
                };
                self.touch_queue(switch, egress, usize::from(header.class.0))
            }
            Belongs::Switch(switch) if header.is_of_flow() => {
                let routes = &self.world.fabric.routes;
                let egress = routes.pick(switch, routes.candidates(switch, header.dst), header.entropy);
                let switch = &self.switches[switch as usize];
                egress.map_or(0, |egress| self.touch_queue(switch, egress, usize::from(header.class.0)))
            }
            Belongs::Switch(_) => 0,
            Belongs::Host(_) => self.tables.flows.touch(header.flow.slot),
        }
    }

    #[inline(always)]
    fn touch_for_enqueue(&self, switch: &Switch<A::Switch>, pkt: Ix) -> u64 {
        let place = &self.world.slab[pkt].place;
        self.touch_queue(switch, place.egress.0, usize::from(place.queue.0))
    }

    /// An egress port, and the packet behind which the next one of this queue will wait.
    #[inline(always)]
    fn touch_queue(&self, switch: &Switch<A::Switch>, egress: u16, queue: usize) -> u64 {
        // The way of a flow that is over may lead anywhere.
        let Some(out) = self.ports.get((switch.first_port + u32::from(egress)) as usize) else { return 0 };
        out.touch()
            ^ out.tail(queue).map_or(0, |tail| self.world.slab.touch_link(tail))
            ^ switch.occupancy.touch(PortNo(egress))
    }
}
