//! Frames that a port keeps and replays ([`crate::model::hooks::LinkSide::retains`]), and their arrival over the link.
//!
//! Such a frame arrives with its last bit, before the latency of the node there: whether the node accepts it is known before that latency
//! begins. A fault never destroys it; it arrives damaged, and the receiver can tell.

use super::{CAPTURED, LOST, Node, NodeCx, REPLAYED, RETAINED, WATCHED};
use crate::model::event::{Event, NO_PORT, order};
use crate::model::hooks::LinkSide;
use crate::model::packet::{Control, Port};
use crate::model::port::{Numbered, Sent};
use crate::model::slab::Ix;

impl<N> NodeCx<'_, N>
where
    Self: Node,
{
    /// A frame begins to leave: keeps it if a mechanism retains it. Ordered sets are not frames. Returns flags for the frame on the wire.
    #[cold]
    pub(super) fn retain_sent(&mut self, port: u16, pkt: Ix, damaged: bool) -> u8 {
        let up = self.ports[usize::from(port)].up;
        let fate = if up && !damaged { 0 } else { LOST };
        let header = self.world.slab[pkt].pkt;
        if header.is_mac() && header.size < Control::MIN_FRAME {
            return fate;
        }
        let Some(number) = self.port(port).rest.replay.as_ref().map(|replay| replay.next()) else { return fate };
        if !self.at_links(|side, cx, _| side.retains(cx, Port(port), number, header.size)) {
            return fate;
        }
        let sent = Sent {
            packet: header,
            control: header.control_header().map(|of| self.world.slab.control(of.content)),
            carried: self.world.attachments.get(pkt, header.uid),
            report: self.world.reports.get(pkt, header.uid),
            waited: self.world.probes.waits.as_ref().and_then(|waits| waits.between(pkt)),
        };
        self.port(port).change_kept(|replay| replay.keep(sent));
        if !up {
            return LOST | RETAINED;
        }
        self.start_replay(port, pkt, Numbered { number, damaged });
        RETAINED
    }

    /// Mechanisms have changed the header of the frame on the wire since it was kept.
    #[cold]
    pub(super) fn renew_retained(&mut self, port: u16, pkt: Ix) {
        let header = self.world.slab[pkt].pkt;
        self.port(port).change_kept(|replay| replay.renew(&header));
    }

    fn start_replay(&mut self, port: u16, pkt: Ix, how: Numbered) {
        let (header, p) = (self.world.slab[pkt].pkt, &self.ports[usize::from(port)]);
        let arrival = self.world.now + p.serialiser.time(header.size + self.world.rules.gap) + p.delay;
        self.world.numbers.put(pkt, header.uid, how);
        self.world.queue.push(arrival, order(2, header.uid), Event::Arrive { port: p.peer, pkt, egress: NO_PORT });
    }

    /// Puts the next frame to be replayed on the wire of an idle port. It left all accounts earlier.
    #[cold]
    pub(super) fn transmit_replay(&mut self, port: u16) {
        let (now, global) = (self.world.now, self.global(port));
        let next = self.port(port).change_kept(|replay| {
            replay.next_to_replay().map(|(number, sent)| {
                if let Some((account, since)) = &mut sent.waited {
                    account.add(global, crate::model::probe::account::Cause::Again, now - *since);
                    *since = now;
                }
                (number, sent.clone())
            })
        });
        let Some((number, sent)) = next.flatten() else { return };
        let pkt = self.restore_frame(&sent);
        let header = sent.packet;
        let p = self.port(port);
        (p.busy, p.current) = (true, pkt);
        p.tx_frames += 1;
        p.tx_bytes += u64::from(header.size);
        p.tx_data_frames += u64::from(header.is_data() && !header.is_cut());
        p.rest.stats.tx_cut_frames += u64::from(header.is_cut());
        let (captured, watched, up) = (p.rest.captured, p.rest.watched, p.up);
        if !header.is_mac() {
            self.world.totals.last_frame = now;
        }
        if watched {
            self.wire_begins_again(port, pkt, sent.waited);
        }
        let damaged = self.is_lost(port, pkt);
        let flags = [(CAPTURED, captured), (WATCHED, watched), (LOST, !up), (REPLAYED, true)];
        let gap = self.world.rules.gap;
        let p = self.port(port);
        p.wire = flags.into_iter().filter(|(_, is)| *is).fold(0, |all, (flag, _)| all | flag);
        let left = now + p.serialiser.time(header.size + gap);
        self.world.push(left, Event::Sent { port: global });
        if up {
            self.start_replay(port, pkt, Numbered { number, damaged });
        }
    }

    /// A copy of a sent frame, with the data beside it.
    fn restore_frame(&mut self, sent: &Sent) -> Ix {
        let mut packet = sent.packet;
        if let Some(frame) = sent.control {
            packet.set_content(self.world.slab.insert_control(frame));
        }
        let pkt = self.world.slab.insert(packet);
        if let Some(carried) = sent.carried {
            self.world.attachments.put(pkt, packet.uid, carried);
        }
        if let Some(report) = sent.report {
            self.world.reports.put(pkt, packet.uid, report);
        }
        pkt
    }

    /// Mechanisms discard the frames that the port keeps before this number.
    pub fn discard_before(&mut self, port: u16, before: u64) {
        self.port(port).change_kept(|replay| replay.discard_before(before));
    }

    /// Mechanisms request a replay from this number on.
    pub fn replay_from(&mut self, port: u16, from: u64) {
        self.port(port).change_kept(|replay| replay.replay_from(from));
        self.kick(port);
    }
}
