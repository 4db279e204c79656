//! A node at work: the node itself, its own ports, and the data that all nodes share. Other nodes' ports, flows and counters are out of
//! reach.
//!
//! This module has the port functions that both kinds of nodes share: the choice of the next frame and its arrival time ([`wire`]: special
//! treatment of the frame on the wire), MAC control and its pauses ([`mac`]), and the table of control messages.

mod mac;
mod observe;
mod replay;
mod wire;

use crate::model::event::{Event, NO_PORT, order};
use crate::model::hooks::attachment::{Attachment, Carried};
use crate::model::hooks::{LinkCx, LinkSide, MechanismId};
use crate::model::packet::{
    Body, CLASSES, Class, Control, ControlHeader, HostId, NodeId, Packet, PathRef, Port as PortNo, Queue,
};
use crate::model::port::{Port, express};
use crate::model::slab::{Ix, NIL};
use crate::model::world::World;
use crate::record::ControlRow;
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;

/// The frame on the wire is destroyed.
pub(crate) const LOST: u8 = 1;
/// The frame on the wire is captured.
pub(crate) const CAPTURED: u8 = 2;
/// Recorded flows may wait for the frame on the wire.
pub(crate) const WATCHED: u8 = 4;
/// The frame on the wire goes to another part of the network.
const TO_OTHER_PART: u8 = 16;
/// The port keeps the frame on the wire, and has already scheduled its arrival.
const RETAINED: u8 = 32;
/// The frame on the wire is replayed: no account includes it.
const REPLAYED: u8 = 64;

/// A node at work. Ports are by their numbers within the node.
pub(crate) struct NodeCx<'a, N> {
    pub node: N,
    pub ports: &'a mut [Port],
    pub world: &'a mut World,
}

/// The functions that differ between kinds of nodes.
pub(crate) trait Node {
    /// The mechanisms' side at its links.
    type Side: LinkSide;
    fn id(&self) -> NodeId;
    /// Number of its first port among those of all nodes.
    fn first(&self) -> u32;
    fn side(&self) -> &Self::Side;
    /// Its side at links, the context of its hooks, and the packets' attachments: for [`NodeCx::at_links`].
    fn links(&mut self) -> (&mut Self::Side, LinkCx<'_>, &mut Carried<Attachment>);
    /// Carries out the actions that mechanisms requested.
    fn act(&mut self);
    /// Notifies mechanisms that a frame has left the receive buffer that it has just entered, if it can leave that at once.
    fn notify_consumed(&mut self, _: &Packet) {}
    /// Starts the next transmission of an idle port that has no MAC control to send, if any.
    fn serve(&mut self, port: u16);
    /// Returns whether something would be sent once the wire is free, if the gates allow it; without MAC control.
    fn waits(&self, port: u16) -> bool;
    /// A frame other than MAC control leaves the node's counters.
    fn depart(&mut self, port: u16, pkt: Ix);
    /// The queue in which a frame other than MAC control waited.
    fn queue_of(&self, pkt: Ix) -> Queue;
    /// Adds the time since the last call to the wait accounts of all recorded flows at this port ([`crate::model::probe::waits`]).
    fn account_waits(&mut self, port: u16);
    /// Notifies probes of frames that have joined queues.
    fn observe_joins(&mut self);
    /// Records a new pause request ([`crate::model::probe::pauses`]).
    fn record_pause_request(&mut self, port: u16, owner: MechanismId, classes: u16);
}

impl<N> NodeCx<'_, N>
where
    Self: Node,
{
    #[inline(always)]
    pub fn port(&mut self, port: u16) -> &mut Port {
        &mut self.ports[usize::from(port)]
    }

    /// Calls a hook of links, and carries out the requested actions.
    pub fn at_links<R>(
        &mut self,
        call: impl FnOnce(&mut <Self as Node>::Side, &mut LinkCx<'_>, &mut Carried<Attachment>) -> R,
    ) -> R {
        let (side, mut cx, carried) = self.links();
        let answer = call(side, &mut cx, carried);
        self.act();
        answer
    }

    /// A frame other than MAC control has arrived: notifies mechanisms.
    pub fn notify_arrived(&mut self, port: u16, pkt: Ix) {
        let header = self.world.slab[pkt].pkt;
        let (side, mut cx, _) = self.links();
        side.on_arrive(&mut cx, PortNo(port), &header);
        self.notify_consumed(&header);
        self.act();
    }

    /// Number of a port among those of all nodes.
    #[inline(always)]
    pub fn global(&self, port: u16) -> u32 {
        self.first() + u32::from(port)
    }

    /// Starts the next transmission of an idle port, if any.
    #[inline(always)]
    pub fn kick(&mut self, port: u16) {
        let p = &self.ports[usize::from(port)];
        let mac_waits = p.mac_waits;
        if p.busy || p.free_at >= self.world.now && self.is_taken(port) {
            return;
        }
        if mac_waits {
            return self.kick_mac(port);
        }
        self.serve(port);
    }

    /// Queues whose first packets a mechanism refuses to start, a bit each.
    #[cold]
    pub fn refused(&mut self, port: u16) -> u32 {
        let p = &self.ports[usize::from(port)];
        let refused = (0..CLASSES).fold(0, |refused, queue| {
            let may_transmit =
                |pkt: Ix| self.side().may_transmit(PortNo(port), Queue(queue as u8), &self.world.slab[pkt].pkt);
            if p.first_of(queue).is_none_or(may_transmit) {
                refused
            } else {
                refused | 1 << queue | 1 << express(queue)
            }
        });
        self.count_refused(port, refused);
        refused
    }

    /// Returns whether a frame is on the wire whose end has no event. If something now waits for that end, an event is added. At the
    /// instant of the end the event's order decides, as if it had been pushed at the start.
    #[inline(never)]
    fn is_taken(&mut self, port: u16) -> bool {
        let event = Event::Sent { port: self.global(port) };
        let p = &self.ports[usize::from(port)];
        if p.free_at == self.world.now && event.order() <= self.world.order {
            return false;
        }
        if p.mac_waits || self.waits(port) {
            let p = self.port(port);
            p.busy = true;
            let at = p.free_at;
            self.world.push(at, event);
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn kick_mac(&mut self, port: u16) {
        if self.ports[usize::from(port)].resends() {
            match self.port(port).pop_ordered_set() {
                Some(set) => {
                    let pkt = self.mac_packet(port, set);
                    self.transmit(port, pkt);
                }
                None => self.transmit_replay(port),
            }
            return;
        }
        if let Some(frame) = self.port(port).pop_mac() {
            let pkt = self.mac_packet(port, frame);
            self.transmit(port, pkt);
        }
    }

    #[inline(always)]
    pub fn wake(&mut self, port: u16, at: Time) {
        let (now, global) = (self.world.now, self.global(port));
        let p = self.port(port);
        if p.wake_at > at || p.wake_at <= now {
            p.wake_at = at;
            self.world.push(at, Event::Wake { port: global });
        }
    }

    /// The identity of a control frame: the port that sends it, or the first port of its node, and a number that the port counts.
    pub fn control_uid(&mut self, port: u16) -> u64 {
        let global = self.global(port);
        let rest = &mut self.port(port).rest;
        rest.control_frames += 1;
        mix(mix(u64::from(global)) ^ rest.control_frames)
    }

    fn mac_packet(&mut self, port: u16, frame: Control) -> Ix {
        let uid = self.control_uid(port);
        let header = ControlHeader { from: self.id(), to: None, content: self.world.slab.insert_control(frame), ev: 0 };
        let pkt = Packet { body: Body::Mac(header), ..Packet::control(&frame, header, Class(7), uid) };
        self.world.slab.insert(pkt)
    }

    /// Puts a packet on the wire of an idle port.
    #[inline(always)]
    pub fn transmit(&mut self, port: u16, pkt: Ix) {
        let (p, header) = (&mut self.ports[usize::from(port)], &self.world.slab[pkt].pkt);
        let (size, uid, is_data, is_mac) = (header.size, header.uid, header.is_data(), header.is_mac());
        let is_cut = header.is_cut();
        let sent = self.world.now + p.serialiser.time(size + self.world.rules.gap);
        (p.busy, p.current) = (true, pkt);
        p.tx_frames += 1;
        p.tx_bytes += u64::from(size);
        if is_cut {
            p.rest.stats.tx_cut_frames += 1;
        } else {
            p.tx_data_frames += u64::from(is_data);
        }
        let mut arrival = sent + p.delay;
        if !is_mac {
            arrival += p.peer_latency;
            self.world.totals.last_frame = self.world.now;
        }
        let (peer, at_end, leads_away) = (p.peer, p.release_at_end, p.leads_away);
        let known = p.peer_first != NO_PORT && header.path == PathRef::KNOWN;
        let egress = match known {
            true => p.peer_first + u32::from(self.world.fabric.ecmp_paths.port(header.entropy, header.hop)),
            false => NO_PORT,
        };
        let wire = match (p.special, leads_away && at_end) {
            (true, _) => self.wire_flags(port, pkt),
            // At its end nothing here will change it any more.
            (false, true) => TO_OTHER_PART,
            (false, false) => 0,
        };
        if is_data && self.world.probes.loads.count() {
            self.count_load(port, pkt);
        }
        if !at_end && !is_mac {
            self.depart_at_start(port, pkt);
        }
        if at_end || self.is_awaited(port) {
            let global = self.global(port);
            self.world.push(sent, Event::Sent { port: global });
            if wire != 0 {
                self.port(port).wire = wire;
                if wire & RETAINED != 0 {
                    self.renew_retained(port, pkt);
                }
            }
        } else {
            let p = self.port(port);
            (p.busy, p.current, p.free_at) = (false, NIL, sent);
        }
        if wire & (LOST | TO_OTHER_PART | RETAINED) != 0 {
            return;
        }
        if leads_away {
            // Something may wait for its end, which no longer finds it.
            self.port(port).current = NIL;
            self.send_away(port, pkt, arrival, egress);
        } else {
            self.world.queue.push(arrival, order(2, uid), Event::Arrive { port: peer, pkt, egress });
        }
    }

    /// Returns whether the end of the frame on the wire of this port has a consequence, or something waits for it.
    #[inline(always)]
    fn is_awaited(&self, port: u16) -> bool {
        let p = &self.ports[usize::from(port)];
        p.special || p.ordered || p.mac_waits || self.waits(port)
    }

    #[inline(never)]
    fn depart_at_start(&mut self, port: u16, pkt: Ix) {
        self.depart(port, pkt);
    }

    /// A frame that was not ready when the port last looked may be ready now.
    #[inline(always)]
    pub fn recheck(&mut self, port: u16) {
        let now = self.world.now;
        let p = self.port(port);
        if p.wake_at == now {
            p.wake_at = Time::NEVER;
            self.kick(port);
        }
    }

    #[inline(always)]
    pub fn sent(&mut self, port: u16) {
        let p = self.port(port);
        p.busy = false;
        let (pkt, at_end) = (std::mem::replace(&mut p.current, NIL), p.release_at_end);
        let wire = std::mem::take(&mut p.wire);
        if wire != 0 {
            return self.sent_specially(port, pkt, wire, at_end);
        }
        if at_end && !self.world.slab[pkt].pkt.is_mac() {
            self.depart(port, pkt);
        }
        self.kick(port);
    }

    /// Adds a row to the table of control messages.
    pub fn log(&mut self, port: Option<u16>, class: Option<Class>, to: Option<HostId>, kind: &'static str, value: u64) {
        let number = port.map(|port| PortNo(self.ports[usize::from(port)].local));
        let (time, node, port) = (self.world.now, self.id(), number);
        self.world.rows.control.push(ControlRow { time, kind, node, port, class, to, value });
    }

    /// The packet that carries a control frame of this node to a host or, with `None`, to the neighbour.
    pub fn carry(&mut self, to: Option<HostId>, class: Class, frame: &Control, path: PathRef, hop: u8) -> Packet {
        let uid = self.control_uid(0);
        let header =
            ControlHeader { from: self.id(), to, content: self.world.slab.insert_control(*frame), ev: frame.ev };
        Packet { path, hop, sent: self.world.now, ..Packet::control(frame, header, class, uid) }
    }

    /// Forgets a packet and the control frame in it.
    pub fn discard(&mut self, pkt: Ix) {
        let header = self.world.slab[pkt].pkt;
        self.forget_in_probes(&header, pkt);
        self.world.forget(pkt);
    }

    /// Tells probes that this packet is gone.
    pub fn forget_in_probes(&mut self, header: &Packet, pkt: Ix) {
        if self.world.probes.waits.is_some() {
            self.observe_joins();
            self.world.probes.lose_waits(header, pkt);
        }
    }
}
