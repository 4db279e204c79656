//! Levels of a switch's accounts in a whole network: a mechanism is called beyond its levels, and as soon as other levels apply.

use crate::own::{Bench, Makes, own};
use backwater_net::hooks::{Account, Levels, Place, SwitchCx, SwitchSide};
use backwater_net::occupancy::Occupancy;
use backwater_net::packet::{Class, Packet, Port, Queue};
use backwater_net::{Bytes, Rate};
use std::cell::RefCell;
use std::rc::Rc;

/// Values of its account that a hook has seen \[bytes\].
type Seen = Rc<RefCell<Vec<(&'static str, u64)>>>;

/// A threshold and a lower one, for an ingress port or an egress port; once the first has been passed, the mechanism waits for the second.
#[derive(Clone)]
struct Threshold {
    of: Account,
    full: bool,
    every: bool,
    seen: Seen,
}

const XOFF: Bytes = Bytes(50_000);
const XON: Bytes = Bytes(20_000);

impl Makes for Threshold {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(self.clone())
    }
}

impl Threshold {
    fn above(&mut self, cx: &mut SwitchCx<'_>, hook: &'static str, bytes: Bytes) {
        if bytes > XOFF && !self.full {
            self.full = true;
            self.seen.borrow_mut().push((hook, bytes.0));
            cx.watch(self.of);
        }
    }

    fn below(&mut self, cx: &mut SwitchCx<'_>, hook: &'static str, bytes: Bytes) {
        if bytes < XON && self.full {
            self.full = false;
            self.seen.borrow_mut().push((hook, bytes.0));
            cx.watch(self.of);
        }
    }
}

#[backwater_derive::hooks]
impl SwitchSide for Threshold {
    fn levels(&self, _: &Occupancy, of: Account) -> Levels {
        match of {
            _ if self.every => Levels::ALL,
            of if of != self.of => Levels::NONE,
            _ if self.full => Levels::below(XON),
            _ => Levels::above(XOFF),
        }
    }
    fn on_admit(&mut self, cx: &mut SwitchCx<'_>, at: &Place, _: &Packet) {
        if let Account::Ingress(port, class) = self.of
            && (port, class) == (at.ingress, at.class)
        {
            self.above(cx, "on_admit", cx.seen().ingress(port, class));
        }
    }
    fn on_release(&mut self, cx: &mut SwitchCx<'_>, at: &Place, _: u32) {
        if let Account::Ingress(port, class) = self.of
            && (port, class) == (at.ingress, at.class)
        {
            self.below(cx, "on_release", cx.seen().ingress(port, class));
        }
    }
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, _: &mut Packet) {
        if let Account::Egress(port, queue) = self.of
            && (port, queue) == (at.egress, at.queue)
        {
            self.above(cx, "on_enqueue", cx.seen().egress(port, queue));
        }
    }
    fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
        if let Account::Egress(port, queue) = self.of
            && (port, queue) == (at.egress, at.queue)
        {
            self.below(cx, "on_depart", cx.seen().egress(port, queue));
        }
    }
}

/// An incast of three, in which a queue of the switch and an ingress port pass both levels once. With levels a mechanism sees what it sees
/// if it is called for every frame.
#[test]
fn levels_leave_out_nothing() {
    for of in [Account::Egress(Port(3), Queue(3)), Account::Ingress(Port(0), Class(3))] {
        let run = |every| {
            let mut bench = Bench::star(4, Rate::gbps(100));
            for from in 0..3 {
                bench.flow(from, 3, 400_000);
            }
            let seen = Seen::default();
            let out = bench.run_with(own(Threshold { of, full: false, every, seen: seen.clone() }));
            (out.fingerprint, seen.take())
        };
        let (by_levels, by_frame) = (run(false), run(true));
        assert_eq!(by_levels, by_frame, "{of:?}");
        let (_, seen) = by_levels;
        let hooks: Vec<_> = seen.iter().map(|(hook, _)| *hook).collect();
        assert!(hooks == ["on_enqueue", "on_depart"] || hooks == ["on_admit", "on_release"], "{seen:?}");
        // A frame of 4064 B beyond the level at most.
        assert!((50_001..=54_064).contains(&seen[0].1) && (15_936..20_000).contains(&seen[1].1), "{seen:?}");
    }
}
