//! Special treatment of a frame on the wire: mechanisms and probes are notified, a fault destroys it, it goes to another part of the
//! network, or the port keeps it for a replay.

use super::{CAPTURED, LOST, REPLAYED, RETAINED, TO_OTHER_PART, WATCHED};
use crate::model::event::NO_PORT;
use crate::model::hooks::{Departure, LinkSide};
use crate::model::node::{Node, NodeCx};
use crate::model::packet::{Body, Port as PortNo};
use crate::model::part::{Beside, Crossing, Mail};
use crate::model::slab::Ix;
use crate::model::world::RunEffect;
use crate::spec::FrameKind;
use backwater_engine::Time;
use rand::RngExt;

impl<N> NodeCx<'_, N>
where
    Self: Node,
{
    /// Returns the flags of a frame that is put on the link out of a special port.
    #[cold]
    pub(crate) fn wire_flags(&mut self, port: u16, pkt: Ix) -> u8 {
        let captured = if self.ports[usize::from(port)].rest.captured { CAPTURED } else { 0 };
        let watched = if self.ports[usize::from(port)].rest.watched { WATCHED } else { 0 };
        if watched != 0 {
            self.wire_begins(port, pkt);
        }
        let lost = self.is_lost(port, pkt);
        if self.ports[usize::from(port)].rest.tells && !self.world.slab[pkt].pkt.is_mac() {
            let from = self.departure(port, pkt);
            let header = self.world.slab[pkt].pkt;
            self.at_links(|side, cx, carried| side.on_start(cx, &from, &header, carried.get_mut(pkt, header.uid)));
        }
        let away = if self.ports[usize::from(port)].leads_away { TO_OTHER_PART } else { 0 };
        let lost = match self.ports[usize::from(port)].rest.replay {
            Some(_) => self.retain_sent(port, pkt, lost),
            None if lost => LOST,
            None => 0,
        };
        captured | watched | lost | away
    }

    /// Returns whether a fault of the link out of `port` destroys this frame on the wire.
    pub(super) fn is_lost(&mut self, port: u16, pkt: Ix) -> bool {
        if !self.ports[usize::from(port)].up {
            return true;
        }
        let header = &self.world.slab[pkt].pkt;
        let control = header.control_header().map(|header| self.world.slab.control(header.content).kind);
        let now = self.world.now;
        let Some(faults) = self.ports[usize::from(port)].rest.faults.as_mut() else { return false };
        faults.begins(now);
        let counts = |what: &FrameKind| match what {
            FrameKind::Data => header.is_data(),
            FrameKind::Ack => matches!(header.body, Body::Ack(ack) if !ack.is_nack()),
            FrameKind::Control(name) => control == Some(name.as_str()),
        };
        let mut lost = false;
        for (what, share) in &faults.loss {
            if what.as_ref().is_none_or(counts) && *share > 0.0 {
                lost |= faults.rng.random::<f64>() < *share;
            }
        }
        for (what, left) in &mut faults.drop_nth {
            if counts(what) && *left > 0 {
                *left -= 1;
                lost |= *left == 0;
            }
        }
        lost
    }

    /// A frame with flags has left. The port looks for work, or the run starts it afterwards.
    #[cold]
    pub(super) fn sent_specially(&mut self, port: u16, pkt: Ix, wire: u8, at_end: bool) {
        if at_end && wire & REPLAYED == 0 && !self.world.slab[pkt].pkt.is_mac() {
            self.depart(port, pkt);
            if wire & RETAINED != 0 {
                self.renew_retained(port, pkt);
            }
        }
        let wire = wire & !(RETAINED | REPLAYED);
        if wire == TO_OTHER_PART {
            let p = &self.ports[usize::from(port)];
            let latency = if self.world.slab[pkt].pkt.is_mac() { Time::ZERO } else { p.peer_latency };
            let at = self.world.now + p.delay + latency;
            self.send_away(port, pkt, at, NO_PORT);
            return self.kick(port);
        }
        if wire == 0 {
            return self.kick(port);
        }
        let port = self.global(port);
        self.world.effects.push(RunEffect::Sent { port, pkt, wire });
    }

    /// A frame goes to another part of the network, where it arrives at this time. Nothing here will change it any more.
    pub(super) fn send_away(&mut self, port: u16, pkt: Ix, at: Time, egress: u32) {
        let header = self.world.slab[pkt].pkt;
        let control = header.control_header().map(|header| self.world.slab.take_control(header.content));
        let carried = self.world.attachments.get(pkt, header.uid);
        let report = self.world.reports.get(pkt, header.uid);
        let beside = (control.is_some() || carried.is_some() || report.is_some())
            .then(|| Box::new(Beside { control, carried, report }));
        let (by, peer) = ((self.world.now, self.world.order), self.ports[usize::from(port)].peer);
        let crossing = Crossing { at, by, port: peer, egress, packet: header, beside };
        self.world.slab.remove(pkt);
        if let Some(part) = &mut self.world.part {
            part.post(part.owners.of_port(crossing.port), Mail::Frame(crossing));
        }
    }

    /// The departure of this frame, which was counted last.
    fn departure(&self, port: u16, pkt: Ix) -> Departure {
        let (p, size) = (&self.ports[usize::from(port)], self.world.slab[pkt].pkt.size);
        let (tx_frames, tx_bytes) = (p.tx_frames - 1, p.tx_bytes - u64::from(size));
        Departure { port: PortNo(port), queue: self.queue_of(pkt), rate: p.serialiser.rate(), tx_frames, tx_bytes }
    }
}
