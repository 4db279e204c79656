//! Records pauses, each with what stood behind it, and the first drop: what spread, and from where.
//!
//! When a node asks its neighbour to pause, the frames whose departure that pause awaits (`SwitchSide::awaits`) are looked up once;
//! the egress queue with most of them is what the pause is *behind*. Where that queue is paused itself, or has been since
//! something last began to wait there, the pause behind it is the cause of this one; else this queue is a root.

use crate::hooks::{Awaits, Owner, Place, SwitchSide};
use crate::node::{At, Node};
use crate::packet::{CLASSES, Class, Port as PortNo, Queue};
use crate::record::{Behind, FirstDrop, PauseRow};
use crate::slab::Ix;
use crate::switch::Switch;
use crate::switch::standing::each_standing;
use backwater_engine::Time;
use std::collections::BTreeMap;

/// A paused port, and the class, or `CLASSES` for the link.
type Paused = (u32, u8);

/// Pauses asked for, and those in force.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Pauses {
    asked: BTreeMap<Paused, PauseRow>,
    /// With their ends, as far as these are known.
    obeyed: BTreeMap<Paused, (PauseRow, Time)>,
}

fn number(class: Option<Class>) -> u8 {
    class.map_or(CLASSES as u8, |class| class.0)
}

impl<N> At<'_, N>
where
    Self: Node,
{
    /// A port has asked its neighbour to pause these classes, bits as in [`crate::hold::bit`], which it had not been told to. `stands`
    /// gives the bytes behind it at its ingress, and the queue in which most of what it awaits stands.
    #[cold]
    pub(crate) fn note_asked_here(
        &mut self,
        port: u16,
        classes: u16,
        stands: impl Fn(&Self, Option<Class>) -> (u64, Option<Behind>),
    ) {
        for index in (0..=CLASSES as u8).filter(|index| classes & (1 << index) != 0) {
            let class = (usize::from(index) != CLASSES).then_some(Class(index));
            let (ingress_bytes, behind) = stands(self, class);
            let now = self.world.now;
            let (local, far) = (self.ports[usize::from(port)].local, self.ports[usize::from(port)].peer);
            let peer = self.world.fabric.peer(self.id(), local);
            let peer_port = PortNo((far - self.world.fabric.first_port[peer.0 as usize]) as u16);
            let row = PauseRow {
                asked: now,
                start: now,
                end: None,
                node: self.id(),
                port: PortNo(local),
                peer,
                peer_port,
                class,
                ingress_bytes,
                behind,
            };
            let paused = (far, index);
            self.world.probes.pauses.as_mut().and_then(|pauses| pauses.asked.insert(paused, row));
        }
    }

    /// A pause has reached a port that obeys it and lasts until `until` (`ZERO`: it is lifted).
    #[cold]
    pub(crate) fn note_obeyed(&mut self, port: u16, class: Option<Class>, until: Time) {
        let (now, paused) = (self.world.now, (self.global(port), number(class)));
        let Some(pauses) = &mut self.world.probes.pauses else { return };
        if let Some((row, end)) = pauses.obeyed.get_mut(&paused) {
            if *end > now && until != Time::ZERO {
                *end = until;
                pauses.asked.remove(&paused);
                return;
            }
            let end = Some((*end).min(now));
            self.world.rows.pauses.push(PauseRow { end, ..row.clone() });
            pauses.obeyed.remove(&paused);
        }
        if until != Time::ZERO
            && let Some(row) = pauses.asked.remove(&paused)
        {
            pauses.obeyed.insert(paused, (PauseRow { start: now, ..row }, until));
        }
    }
}

impl<S: SwitchSide> At<'_, &mut Switch<S>> {
    /// The egress queue with most of what a pause of a neighbour awaits.
    pub(crate) fn behind(&self, owner: Owner, local: PortNo, class: Option<Class>) -> Option<Behind> {
        let s = &*self.node;
        let awaits = s.stack.awaits(owner, local, class);
        let counts = |place: &Place| match &awaits {
            Awaits::Egress(queues) => queues
                .iter()
                .any(|(port, queue)| *port == place.egress && queue.is_none_or(|queue| queue == place.queue)),
            Awaits::Ingress | Awaits::Unknown => {
                !place.own && place.ingress == local && class.is_none_or(|class| class == place.class)
            }
        };
        let mut standing: BTreeMap<(u16, u8), u64> = BTreeMap::new();
        each_standing(s, self.ports, &self.world.slab, |ix: Ix, queue: (u16, u8)| {
            let slot = &self.world.slab[ix];
            if counts(&slot.place) {
                *standing.entry(queue).or_default() += u64::from(slot.queued);
            }
        });
        // Of equals the first, so that nothing depends on the order of frames.
        let (held, bytes) = standing.into_iter().min_by_key(|(_, bytes)| std::cmp::Reverse(*bytes))?;
        let p = &self.ports[usize::from(held.0)];
        Some(Behind {
            port: PortNo(p.local),
            queue: Queue(held.1),
            to: self.world.fabric.peer(self.id(), held.0),
            bytes,
            since: s.watch.as_ref().and_then(|watch| watch.busy_since(PortNo(p.local))).unwrap_or(self.world.now),
            paused: p.held_now(self.world.now) & (1 << held.1 | 1 << CLASSES) != 0,
        })
    }

    /// A frame is dropped for want of memory; `place` is where there was none for it.
    pub(crate) fn note_drop(&mut self, pkt: Ix, place: &Place) {
        if self.world.totals.first_drop.is_some() {
            return;
        }
        let (s, slot) = (&*self.node, &self.world.slab[pkt]);
        let (port, class) = (place.ingress, place.class);
        let holds = &self.ports[usize::from(port.0)].rest.holds;
        self.world.totals.first_drop_order = self.world.order;
        self.world.totals.first_drop = Some(FirstDrop {
            time: self.world.now,
            node: s.home.shape.node,
            port,
            class,
            egress: place.egress,
            queue: place.queue,
            to: self.world.fabric.peer(self.id(), place.egress.0),
            memory: s.occupancy.memory(),
            size: u64::from(slot.pkt.size),
            ingress: s.occupancy.ingress_port(port).0,
            waiting: s.occupancy.waiting(place.egress, place.queue).0,
            total: s.occupancy.total().0,
            asked: holds.is_signalled(Some(class), self.world.now) || holds.is_signalled(None, self.world.now),
        });
    }
}

impl Pauses {
    /// The run is over: gives the pauses in force.
    pub(crate) fn close(&mut self, now: Time) -> impl Iterator<Item = PauseRow> {
        let obeyed = std::mem::take(&mut self.obeyed);
        obeyed.into_values().map(move |(row, end)| PauseRow { end: (end <= now).then_some(end), ..row })
    }
}
