//! The frames that mechanisms look at, by the levels of the switch's accounts ([`Levels`](crate::model::hooks::Levels)): those for which an
//! account is beyond a level.

use super::{Switch, cx};
use crate::model::hooks::place::Place;
use crate::model::hooks::{Account, SwitchSide};
use crate::model::node::NodeCx;
use crate::model::packet::{CLASSES, Class, Port as PortNo, Queue};
use crate::model::slab::Ix;
use crate::units::Bytes;

impl<S: SwitchSide> Switch<S> {
    /// Calls `levels` for all accounts.
    pub fn ask_all_levels(&mut self) {
        for port in (0..self.ports as u16).map(PortNo) {
            self.ask_levels(Account::IngressPort(port));
            self.ask_levels(Account::EgressPort(port));
            for class in 0..CLASSES as u8 {
                self.ask_levels(Account::Ingress(port, Class(class)));
                self.ask_levels(Account::Egress(port, Queue(class)));
            }
        }
    }

    fn ask_levels(&mut self, of: Account) {
        let levels = self.stack.levels(&self.occupancy, of);
        self.occupancy.set_levels(of, levels);
    }

    /// Returns whether a mechanism looks at a frame that an account has just counted, or that has just left it.
    fn looks_at(&self, of: Account, leaves: bool) -> bool {
        self.occupancy.passes(of, self.stack.levels(&self.occupancy, of), leaves)
    }

    pub fn looks_at_admitted(&self, at: &Place) -> bool {
        self.looks_at(Account::Ingress(at.ingress, at.class), false)
            || self.looks_at(Account::IngressPort(at.ingress), false)
    }

    pub fn looks_at_joined(&self, at: &Place) -> bool {
        self.looks_at(Account::Egress(at.egress, at.queue), false)
            || self.looks_at(Account::EgressPort(at.egress), false)
    }

    pub fn looks_at_leaving(&self, at: &Place, size: u32) -> bool {
        let of = Account::Egress(at.egress, at.queue);
        let behind = self.occupancy.egress(at.egress, at.queue).saturating_sub(Bytes(size.into()));
        behind >= self.stack.levels(&self.occupancy, of).left
    }

    pub fn looks_at_released(&self, at: &Place) -> bool {
        self.looks_at(Account::Ingress(at.ingress, at.class), true)
    }

    pub fn looks_at_gone(&self, at: &Place, charged: bool) -> bool {
        charged && self.looks_at_released(at) || self.looks_at(Account::Egress(at.egress, at.queue), true)
    }
}

impl<S: SwitchSide> NodeCx<'_, &mut Switch<S>> {
    /// Calls `levels` again for the accounts that mechanisms watch anew.
    #[inline(always)]
    pub(super) fn ask_watched(&mut self) {
        if !self.node.home.watched.is_empty() {
            self.ask_watched_levels();
        }
    }

    #[cold]
    fn ask_watched_levels(&mut self) {
        while let Some(of) = self.node.home.watched.pop() {
            self.node.ask_levels(of);
        }
    }

    /// A frame has been counted at its ingress, above a level.
    pub(super) fn show_admitted(&mut self, pkt: Ix) {
        let (s, slot) = (&mut *self.node, &mut self.world.slab[pkt]);
        let place = slot.place;
        s.stack.on_admit(&mut cx!(self, s), &place, &slot.pkt);
        s.occupancy.admitted(place.ingress);
        self.ask_watched();
    }

    /// A frame has been counted in its egress queue, above a level.
    #[inline(always)]
    pub(super) fn show_joined(&mut self, pkt: Ix) {
        let (s, slot) = (&mut *self.node, &mut self.world.slab[pkt]);
        let place = slot.place;
        s.stack.on_enqueue(&mut cx!(self, s), &place, &mut slot.pkt);
        s.occupancy.joined(place.egress);
        self.ports[usize::from(place.egress.0)].marked_frames += u64::from(slot.newly_marked());
        self.ask_watched();
    }

    /// A frame leaves an egress queue, and at least as much as a level remains.
    #[inline(never)]
    pub(super) fn show_leaving(&mut self, pkt: Ix) {
        let (s, slot) = (&mut *self.node, &mut self.world.slab[pkt]);
        let place = slot.place;
        s.stack.on_dequeue(&mut cx!(self, s), &place, &mut slot.pkt);
        self.ports[usize::from(place.egress.0)].marked_frames += u64::from(slot.newly_marked());
        self.ask_watched();
    }

    /// A frame of so many bytes has left its egress queue and, where it was `charged`, its ingress, below a level.
    #[inline(never)]
    pub(super) fn show_gone(&mut self, place: &Place, queued: u32, charged: bool) {
        let s = &mut *self.node;
        let mut cx = cx!(self, s);
        if charged {
            s.stack.on_release(&mut cx, place, queued);
        }
        s.stack.on_depart(&mut cx, place);
        self.ask_watched();
    }
}
