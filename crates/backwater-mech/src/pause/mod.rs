//! Global PAUSE — IEEE 802.3 annex 31B (802.3x-1997).
//!
//! A station whose memory fills asks its link partner to stop sending anything but MAC control for a number of quanta
//! (512 bit times each); zero quanta resume. The standard leaves the condition to the implementer. The model has two
//! counters:
//!
//! ```text
//! counter = "ingress":  bytes that came in through the port   > xoff  ->  PAUSE that port
//! counter = "egress":   bytes that wait for any egress port   > xoff  ->  PAUSE every other port
//!                       below xon (of every counter that asked)       ->  resume
//! ```
//!
//! With `ingress` a port is also paused while a frame from it is in headroom (`switch.headroom`): the shared memory is
//! then full, whatever `xoff` is. It resumes when its headroom is empty, and `xoff - xon` of the pool are free again.
//!
//! # Not modelled
//! - negotiation of the capability
//! - asymmetric pause
//!
//! # Differences
//! - `signal = "ideal"` is not in the standard. Published simulators use it.

mod config;

use crate::mac_control::{Congested, Counter, LINK, Receiver};
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::{
    Account, Activity, Awaits, CheckCx, Fate, Finding, Full, Ineffective, Levels, LinkCx, LinkSide, Margin, Mechanism,
    MechanismId, NicShape, PauseStyle, Place, Profile, SwitchCx, SwitchShape, SwitchSide, Token,
};
use backwater_net::occupancy::Occupancy;
use backwater_net::packet::{CLASSES, Class, Control, Packet, Port, Queue};
pub use config::Params;
use config::Thresholds;
use std::cmp::Reverse;

/// Both roles at a switch.
#[derive(backwater_derive::State)]
pub struct Switch {
    /// by port
    #[state(fixed)]
    thresholds: Vec<Thresholds>,
    #[state(same)]
    style: PauseStyle,
    /// ports whose counter has passed `xoff` and not yet fallen below `xon`
    #[state(within)]
    congested: Congested,
    #[state(within)]
    receiver: Receiver,
    /// number of pauses requested
    pauses: u64,
}

// The specification.
#[backwater_derive::hooks(link)]
impl SwitchSide for Switch {
    /// PAUSE above xoff. Below xon of the whole port it resumes, whichever class leaves.
    fn levels(&self, _: &Occupancy, of: Account) -> Levels {
        let pause_at = |port| if self.congested.is(port) { Levels::NONE } else { Levels::above(self.at(port).xoff) };
        match (self.congested.counter(), of) {
            (Counter::Ingress, Account::IngressPort(port)) | (Counter::Egress, Account::EgressPort(port)) => {
                pause_at(port)
            }
            (Counter::Ingress, Account::Ingress(port, _)) | (Counter::Egress, Account::Egress(port, _))
                if self.congested.is(port) =>
            {
                Levels::below(Bytes::MAX)
            }
            _ => Levels::NONE,
        }
    }

    /// A frame without room in the headroom has passed every threshold. A port without bytes would never resume, so it is not paused.
    fn on_full(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, _: &mut Packet) -> Full {
        let holds = cx.seen().has_headroom() && cx.seen().ingress_port(at.ingress) > Bytes::ZERO;
        if self.congested.counter() == Counter::Ingress && !at.own && holds {
            self.filled(cx, at.ingress, true);
        }
        Full::Drop
    }

    fn on_admit(&mut self, cx: &mut SwitchCx<'_>, at: &Place, _: &Packet) {
        if self.congested.counter() == Counter::Ingress {
            let over = cx.seen().ingress_port(at.ingress) > self.at(at.ingress).xoff;
            self.filled(cx, at.ingress, over || cx.seen().in_headroom(at.ingress, at.class) > Bytes::ZERO);
        }
    }

    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, _: &mut Packet) {
        if self.congested.counter() == Counter::Egress {
            let over = cx.seen().egress_port(at.egress) > self.at(at.egress).xoff;
            self.filled(cx, at.egress, over);
        }
    }

    fn on_release(&mut self, cx: &mut SwitchCx<'_>, at: &Place, _: u32) {
        if self.congested.counter() == Counter::Ingress && self.congested.is(at.ingress) {
            let Thresholds { xoff, xon } = *self.at(at.ingress);
            let rests = cx.seen().headroom_rests(at.ingress, None, xoff.saturating_sub(xon));
            self.drained(cx, at.ingress, cx.seen().ingress_port(at.ingress), rests);
        }
    }

    fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
        if self.congested.counter() == Counter::Egress && self.congested.is(at.egress) {
            self.drained(cx, at.egress, cx.seen().egress_port(at.egress), true);
        }
    }

    fn awaits(&self, _: MechanismId, port: Port, class: Option<Class>) -> Awaits {
        if class.is_none() { self.congested.awaits(port, None) } else { Awaits::Unknown }
    }

    fn activity(&self, seen: &Occupancy) -> Activity {
        let (of, most): (_, fn(&Occupancy, Port) -> Bytes) = match self.congested.counter() {
            Counter::Ingress => ("most bytes from one port", Occupancy::most_ingress_port),
            Counter::Egress | Counter::Queue => ("most bytes for one port", Occupancy::most_egress_port),
        };
        // Among ports with equal bytes, the one nearest to its threshold.
        let held = (0..).map(Port).zip(&self.thresholds).map(|(port, at)| (most(seen, port), Reverse(at.xoff)));
        let margin = held.max().map(|(most, Reverse(xoff))| Margin::bytes(of, most, xoff));
        Activity { acts: self.pauses, margin }
    }
}

#[backwater_derive::hooks]
impl LinkSide for Switch {
    fn on_mac_control(&mut self, cx: &mut LinkCx<'_>, from: Port, frame: &Control) -> Fate {
        self.receiver.on_mac_control(cx, from, frame)
    }

    fn on_link_timer(&mut self, cx: &mut LinkCx<'_>, slot: Token) {
        self.receiver.on_link_timer(cx, slot);
    }
}

impl Switch {
    #[inline(always)]
    fn at(&self, port: Port) -> &Thresholds {
        &self.thresholds[usize::from(port.0)]
    }

    fn filled(&mut self, cx: &mut SwitchCx<'_>, port: Port, over: bool) {
        if over && !self.congested.is(port) {
            self.set(cx, port, true);
        }
    }

    fn drained(&mut self, cx: &mut SwitchCx<'_>, port: Port, bytes: Bytes, rests: bool) {
        if bytes < self.at(port).xon && rests || bytes == Bytes::ZERO {
            self.set(cx, port, false);
        }
    }

    fn set(&mut self, cx: &mut SwitchCx<'_>, port: Port, over: bool) {
        for (port, pause) in self.congested.set(port, over) {
            if pause {
                self.pauses += 1;
                cx.pause_peer(port, None, Time::NEVER, self.style);
            } else {
                cx.resume_peer(port, None);
            }
        }
        let ingress = self.congested.counter() == Counter::Ingress;
        cx.watch(if ingress { Account::IngressPort(port) } else { Account::EgressPort(port) });
        for class in 0..CLASSES as u8 {
            cx.watch(if ingress { Account::Ingress(port, Class(class)) } else { Account::Egress(port, Queue(class)) });
        }
    }
}

/// Global PAUSE.
pub enum Pause {}

#[backwater_derive::mechanism]
impl Mechanism for Pause {
    const NAME: &'static str = "pause";
    const DEFINED_BY: &'static str = "IEEE 802.3 annex 31B";
    const SUMMARY: &'static str = "stops the whole link when a counter passes a threshold";
    const INACTIVE: &'static str = "never paused a neighbour";
    type Switch = Switch;
    type Nic = Receiver;

    fn profile(params: &Params) -> Profile {
        config::profile(params)
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn ineffective(params: &Params) -> Vec<Ineffective> {
        params.signal.ineffective()
    }

    fn pause_style(params: &Params) -> Option<PauseStyle> {
        Some(params.signal.style(params.quanta))
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<Switch> {
        let ports = shape.ports.len();
        Some(Switch {
            thresholds: shape.ports.iter().map(|port| params.thresholds(port.rate)).collect(),
            style: params.signal.style(params.quanta),
            congested: Congested::new(params.counter, ports),
            receiver: Receiver::new(LINK, ports, params.response),
            pauses: 0,
        })
    }

    fn nic(params: &Params, _: &NicShape) -> Option<Receiver> {
        Some(Receiver::new(LINK, 1, params.response))
    }
}

#[cfg(test)]
mod tests;
