//! Prefetching: in a network that is too large for the processor's cache, each event would wait for its port, then for its packet. This
//! module requests the data of the next events before the first of them is handled, so that the memory serves these requests together. It
//! changes only the duration of a run.
//!
//! Data that leads to other places is requested first; after a pass over all events it has arrived, and can be followed.

use super::{Actors, Network};
use crate::config::LatencyAt;
use crate::model::event::{Event, NO_PORT};
use crate::model::packet::{Body, PathRef, Port as PortNo, Queue};
use crate::model::port::{Belongs, Port};
use crate::model::slab::Ix;
use crate::model::switch::Switch;

/// Number of ports from which on prefetching pays: with the packets in flight between them they take about 2 MB.
pub(super) const WIDE: usize = 2_048;

impl<A: Actors> Network<A> {
    /// Prefetches the data of the next events.
    #[inline(never)]
    pub(super) fn fetch_ahead(&self) {
        self.world.queue.at_hand().for_each(|event| self.fetch_named(event));
        self.world.queue.at_hand().for_each(|event| self.fetch_behind(event));
        self.world.queue.at_hand().for_each(|event| self.fetch_last(event));
    }

    /// The data that the event names directly.
    #[inline(always)]
    fn fetch_named(&self, event: &Event) {
        match *event {
            Event::Sent { port } | Event::Wake { port } => self.ports[port as usize].fetch(),
            Event::Arrive { port, pkt, egress } => {
                self.ports[port as usize].fetch_arrival();
                self.world.slab.fetch(pkt);
                if let Some(out) = self.ports.get(egress as usize) {
                    out.fetch();
                }
            }
            Event::Enqueue { pkt, .. } => self.world.slab.fetch(pkt),
            _ => {}
        }
    }

    /// The data that this leads to.
    #[inline(always)]
    fn fetch_behind(&self, event: &Event) {
        match *event {
            Event::Sent { port } | Event::Wake { port } => self.fetch_next(&self.ports[port as usize]),
            Event::Arrive { port, pkt, egress } => {
                let p = &self.ports[port as usize];
                match p.belongs {
                    Belongs::Switch(number) => {
                        let switch = &self.switches[number as usize];
                        let class = self.world.slab[pkt].pkt.class;
                        switch.occupancy.fetch_ingress(PortNo(p.local), class);
                        if egress == NO_PORT {
                            return self.fetch_unknown(switch, pkt);
                        }
                        switch.occupancy.fetch_egress(PortNo((egress - switch.first_port) as u16), Queue(class.0));
                        self.fetch_tail(egress, Queue(class.0));
                    }
                    Belongs::Host(nic) => {
                        self.world.slab.fetch_whole(pkt);
                        p.fetch();
                        p.fetch_express();
                        self.hosts[nic as usize].fetch();
                    }
                }
            }
            Event::Enqueue { switch, pkt } => {
                let place = &self.world.slab[pkt].place;
                self.fetch_egress(&self.switches[switch as usize], place.egress, place.queue);
            }
            _ => {}
        }
    }

    /// The data that this leads to in turn: the accounts of a leaving packet, the flow of a packet that has reached its host, and the packet
    /// behind which another will wait in a queue.
    #[inline(always)]
    fn fetch_last(&self, event: &Event) {
        match *event {
            Event::Arrive { port, pkt, egress: NO_PORT } => {
                if matches!(self.ports[port as usize].belongs, Belongs::Host(_)) {
                    self.fetch_flow(pkt);
                }
            }
            Event::Sent { port } | Event::Wake { port } => self.fetch_leaving(port),
            Event::Enqueue { switch, pkt } => {
                let place = &self.world.slab[pkt].place;
                let egress = self.switches[switch as usize].first_port + u32::from(place.egress.0);
                self.fetch_tail(egress, place.queue);
            }
            _ => {}
        }
    }

    /// The packet behind which another will wait in a queue.
    #[inline(always)]
    fn fetch_tail(&self, egress: u32, queue: Queue) {
        let out = self.ports.get(egress as usize);
        if let Some(tail) = out.and_then(|out| out.tail(usize::from(queue.0))) {
            self.world.slab.fetch_link(tail);
        }
    }

    /// The data for a packet whose egress its event does not name.
    #[inline(never)]
    fn fetch_unknown(&self, switch: &Switch<A::Switch>, pkt: Ix) {
        if let Some(egress) = self.egress(switch.number, pkt) {
            self.fetch_egress(switch, PortNo(egress), Queue(self.world.slab[pkt].pkt.class.0));
        }
    }

    /// The halves of the flow of a packet that has reached its host.
    #[inline(always)]
    fn fetch_flow(&self, pkt: Ix) {
        let header = &self.world.slab[pkt].pkt;
        match header.body {
            Body::Data(_) => self.tables.flows.fetch_received(header.flow.slot),
            Body::Ack(_) => self.tables.flows.fetch_sending(header.flow.slot),
            _ => {}
        }
    }

    /// The accounts of the packet that leaves a switch by this port, or the flow that has the turn at a host.
    #[inline(always)]
    fn fetch_leaving(&self, port: u32) {
        let p = &self.ports[port as usize];
        let number = match p.belongs {
            Belongs::Switch(number) => number,
            Belongs::Host(nic) => {
                return self.hosts[nic as usize]
                    .next_ready()
                    .into_iter()
                    .for_each(|slot| self.tables.flows.fetch_sending(slot));
            }
        };
        let leaving = if p.release_at_end { Some(p.current) } else { p.head() };
        let Some(slot) = leaving.and_then(|leaving| self.world.slab.get(leaving)) else { return };
        let occupancy = &self.switches[number as usize].occupancy;
        occupancy.fetch_ingress(slot.place.ingress, slot.place.class);
        occupancy.fetch_egress(slot.place.egress, slot.place.queue);
        if self.world.probes.loads.count() {
            self.world.probes.loads.fetch(port as usize);
        }
        if self.world.probes.needs_owner() {
            self.world.probes.flow_index.fetch(slot.pkt.flow);
        }
    }

    /// The packet that leaves, and the next one.
    #[inline(always)]
    fn fetch_next(&self, p: &Port) {
        match p.belongs {
            Belongs::Switch(_) if p.release_at_end => self.world.slab.fetch(p.current),
            Belongs::Switch(_) => {}
            Belongs::Host(nic) => {
                self.hosts[nic as usize].fetch();
                p.fetch_express();
            }
        }
        if let Some(head) = p.head() {
            self.world.slab.fetch(head);
            self.world.slab.fetch_link(head);
            if self.world.probes.needs_owner() {
                self.world.slab.fetch_whole(head);
            }
        }
    }

    /// Returns the port by which an arriving packet will leave the switch, unless it joins its queue by a separate event.
    #[inline(always)]
    fn egress(&self, switch: u32, pkt: Ix) -> Option<u16> {
        let header = &self.world.slab[pkt].pkt;
        if header.path == PathRef::NONE {
            let routes = &self.world.fabric.routes;
            let known = header.is_of_flow().then(|| routes.candidates(switch, header.dst))?;
            return routes.pick(switch, known, header.entropy);
        }
        if self.switches[switch as usize].latency_at == LatencyAt::Fabric {
            return None;
        }
        Some(match header.path {
            PathRef::KNOWN => self.world.fabric.ecmp_paths.port(header.entropy, header.hop),
            path => self.world.fabric.paths.port(path, header.hop),
        })
    }

    #[inline(always)]
    fn fetch_egress(&self, switch: &Switch<A::Switch>, egress: PortNo, queue: Queue) {
        // The path of an ended flow may lead anywhere.
        let Some(out) = self.ports.get((switch.first_port + u32::from(egress.0)) as usize) else { return };
        out.fetch();
        switch.occupancy.fetch_egress(egress, queue);
    }
}
