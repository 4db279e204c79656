//! Links: which frame a port puts on its wire, when it has been sent, and when it has arrived.
//!
//! A frame occupies the sender for `8 (size + gap) / R`, and arrives when that and the propagation delay have passed. Switches and
//! NICs store a frame before they look at it.

use super::event::{Event, order};
use super::{Actors, Network, faults};
use crate::packet::{Control, HostId, Kind, Packet};
use crate::port::{Belongs, Next};
use crate::slab::{Ix, NIL};
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;

impl<A: Actors> Network<A> {
    /// Starts the next transmission of an idle port, if there is one.
    #[inline(always)]
    pub(super) fn kick(&mut self, port: u32) {
        let p = &mut self.ports[port as usize];
        if p.busy {
            return;
        }
        if p.mac_waits {
            return self.kick_mac(port);
        }
        if let Belongs::Host(host) = p.belongs {
            return self.kick_host(host, port);
        }
        if !p.has_work() {
            return;
        }
        match p.next(&self.world.slab, self.world.now) {
            Next::Packet(pkt) => self.transmit(port, pkt),
            Next::Wait(until) => self.wake(port, until),
            Next::Nothing => {}
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn kick_mac(&mut self, port: u32) {
        if let Some(frame) = self.ports[port as usize].pop_mac() {
            let pkt = self.mac_packet(port, frame);
            self.transmit(port, pkt);
        }
    }

    #[inline(always)]
    pub(super) fn wake(&mut self, port: u32, at: Time) {
        let p = &mut self.ports[port as usize];
        if p.wake_at > at || p.wake_at <= self.world.now {
            p.wake_at = at;
            self.world.push(at, Event::Wake { port });
        }
    }

    /// The identity of a control frame: the port that sends it, or the first of its node, and a number of that port's own.
    pub(super) fn control_uid(&mut self, port: u32) -> u64 {
        let rest = &mut self.ports[port as usize].rest;
        rest.control_frames += 1;
        mix(mix(u64::from(port)) ^ rest.control_frames)
    }

    pub(super) fn mac_packet(&mut self, port: u32, frame: Control) -> Ix {
        let uid = self.control_uid(port);
        let mut pkt = Packet::control(&frame, HostId(u32::MAX), HostId(u32::MAX), crate::packet::Class(7), uid);
        pkt.kind = Kind::Mac;
        let node = self.node_of(&self.ports[port as usize]);
        pkt.seq = u64::from(node) << 32 | self.world.slab.insert_control(frame);
        self.world.slab.insert(pkt)
    }

    /// Puts a packet on the wire of an idle port.
    #[inline(always)]
    pub(super) fn transmit(&mut self, port: u32, pkt: Ix) {
        let (p, header) = (&mut self.ports[port as usize], &self.world.slab[pkt].pkt);
        let (size, kind, uid) = (header.size, header.kind, header.uid);
        let sent = self.world.now + p.serialiser.time(size + self.world.rules.gap);
        p.busy = true;
        p.current = pkt;
        p.tx_frames += 1;
        p.tx_bytes += u64::from(size);
        p.tx_data_frames += u64::from(kind == Kind::Data);
        let mut arrival = sent + p.delay;
        if kind != Kind::Mac {
            arrival += p.peer_latency;
            self.world.totals.last_frame = self.world.now;
        }
        let (peer, at_end, belongs) = (p.peer, p.release_at_end, p.belongs);
        let fate = if p.special { self.fate(port, pkt) } else { 0 };
        if kind == Kind::Data && self.jobs.count_loads() {
            self.count_load(port, pkt);
        }
        if !at_end && kind != Kind::Mac {
            self.depart_at_start(belongs, port, pkt);
        }
        self.world.push(sent, Event::Sent { port });
        if fate != 0 {
            self.ports[port as usize].fate = fate;
        }
        if fate & faults::LOST == 0 {
            self.world.queue.push(arrival, order(2, uid), Event::Arrive { port: peer, pkt });
        }
    }

    /// A frame that was not ready when the port last looked may be now.
    #[inline(always)]
    pub(super) fn woken(&mut self, port: u32) {
        let p = &mut self.ports[port as usize];
        if p.wake_at == self.world.now {
            p.wake_at = Time::NEVER;
            self.kick(port);
        }
    }

    #[inline(always)]
    pub(super) fn sent(&mut self, port: u32) {
        let p = &mut self.ports[port as usize];
        p.busy = false;
        let (pkt, at_end, belongs) = (std::mem::replace(&mut p.current, NIL), p.release_at_end, p.belongs);
        let fate = std::mem::take(&mut p.fate);
        if at_end {
            self.depart(belongs, port, pkt);
        }
        if fate != 0 {
            self.meet(port, pkt, fate);
        }
        self.kick(port);
    }

    #[inline(always)]
    pub(super) fn arrive(&mut self, port: u32, pkt: Ix) {
        if self.ports[port as usize].special {
            return self.arrive_specially(port, pkt);
        }
        self.arrived(port, pkt);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn arrive_specially(&mut self, port: u32, pkt: Ix) {
        if self.comes_through(port, pkt) {
            self.arrived(port, pkt);
        }
    }

    #[inline(always)]
    pub(super) fn arrived(&mut self, port: u32, pkt: Ix) {
        let (p, header) = (&mut self.ports[port as usize], &self.world.slab[pkt].pkt);
        p.lane.fold(self.world.now.0, header.uid);
        let (belongs, local, kind, seq) = (p.belongs, p.local, header.kind, header.seq);
        match (kind, belongs) {
            (Kind::Mac, _) => {
                let frame = self.world.slab.take_control(seq);
                self.world.slab.remove(pkt);
                self.mac_control(port, &frame);
            }
            (_, Belongs::Switch(s)) => self.arrive_at_switch(s, local, pkt),
            (_, Belongs::Host(h)) => self.arrive_at_host(h, pkt),
        }
    }
}
