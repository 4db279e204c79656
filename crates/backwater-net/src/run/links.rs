//! Links: what arrives at a port, and at which node.
//!
//! A frame occupies the sender for `8 (size + gap) / R`, and arrives when that and the propagation delay have passed. Switches and
//! NICs store a frame before they look at it.

use super::{Actors, Network, on_node};
use crate::model::packet::Body;
use crate::model::port::Belongs;
use crate::model::slab::Ix;

impl<A: Actors> Network<A> {
    #[inline(always)]
    pub(super) fn arrive(&mut self, port: u32, pkt: Ix) {
        if self.ports[port as usize].special {
            return self.arrive_specially(port, pkt);
        }
        self.arrived(port, pkt);
    }

    #[cold]
    #[inline(never)]
    fn arrive_specially(&mut self, port: u32, pkt: Ix) {
        if self.ports[port as usize].rest.replay.is_some() && !self.accepts(port, pkt) {
            return;
        }
        if !self.survives_faults(port, pkt) {
            return;
        }
        if self.ports[port as usize].rest.tells && !self.world.slab[pkt].pkt.is_mac() {
            on_node!(self, port, |at, local| at.notify_arrived(local, pkt));
        }
        let p = &self.ports[port as usize];
        match p.belongs {
            Belongs::Host(nic) if p.rest.shares_host && !self.world.slab[pkt].pkt.is_mac() => {
                let uid = self.world.slab[pkt].pkt.uid;
                self.ports[port as usize].arrivals.fold(self.world.now.0, uid);
                let nic = self.interface_for(nic, pkt);
                self.host_at(nic).arrive(pkt);
            }
            _ => self.arrived(port, pkt),
        }
    }

    #[inline(always)]
    fn arrived(&mut self, port: u32, pkt: Ix) {
        let (p, header) = (&mut self.ports[port as usize], &self.world.slab[pkt].pkt);
        p.arrivals.fold(self.world.now.0, header.uid);
        let (belongs, local) = (p.belongs, p.local);
        match (header.body, belongs) {
            (Body::Mac(mac), _) => self.arrived_mac(port, pkt, mac.content),
            (_, Belongs::Switch(s)) => self.switch_at(s).arrive(local, pkt),
            (_, Belongs::Host(h)) => self.host_at(h).arrive(pkt),
        }
    }

    #[cold]
    #[inline(never)]
    fn arrived_mac(&mut self, port: u32, pkt: Ix, content: u32) {
        let frame = self.world.slab.take_control(content);
        self.world.slab.remove(pkt);
        on_node!(self, port, |at, local| at.mac_control(local, &frame));
    }
}
