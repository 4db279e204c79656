//! Credit-based flow control — UEC 1.0, section 5.2, as SAI describes it ("Credit Based Flow Control", opencomputeproject/SAI, 2026-01, in
//! review).
//!
//! The sender of a link counts the bytes that may still be in its receiver's buffer, and sends no more than fits.
//! Nobody is paused, and no memory is reserved for frames that arrive after a pause. Each virtual channel (VC) of each
//! direction has its own counters; here a class is a VC.
//!
//! ```text
//! c(p) = ceil((size(p) + overhead) / credit_size)
//!
//! sender    p on VC i, where CU_i + c(p) <= CL_i and CU_p + c(p) <= CL_p:    CC_i += c(p)        CU = CC - CF in use; CU_p of all VCs
//!           CF_Update(CF_rx):                                                CF_i += (CF_rx - CF_i) mod 2^20
//!           every CC_MESSAGE_TIMER:                                          CC_Update(CC of all VCs)
//! receiver  p comes:                                                         CC_i += c(p)
//!           p leaves the ingress buffer:                                     CF_i += c(p)
//!           CF_i has grown, CF_MIN_SPACING since the last CF_Update:         CF_Update(CF_i)
//!           CF_MAX_SPACING since the last CF_Update of the VC:               CF_Update(CF_i)
//!           CC_Update(CC_rx):                                                m = (CC_rx - CC_i) mod 2^20;  CC_i += m;  CF_i += m
//! ```
//!
//! Spacings are octets of the line: a time of 8 octets / R. The next CC_Update restores the credits of a lost packet,
//! and the next CF_Update those of a lost CF_Update. A CF_Update is a control ordered set of 8 octets, a CC_Update a
//! frame of 64; both go between frames, before all that waits. A switch frees the credits of a packet that it drops,
//! trims or consumes at once.
//!
//! # Not modelled
//! - shared credits of pools at the sender, and their static and dynamic thresholds
//! - more virtual channels than classes; best-effort channels that are counted
//! - the exchange when a link comes up; credits that a receiver sets
//! - packet overheads below zero
//! - the pause between any two ordered sets (CTLOS_MIN_SPACING) where another mechanism sends some
//! - deadlocks of credits: the detector of [deadlocks](docs/modelling/deadlocks.md) examines only pauses. Where ports
//!   wait for credits in a cycle, the run ends as stalled.
//!
//! # Differences
//! - CC_Updates end when no credits are in use, and after 4,096 in a row without effect. CF_Updates are repeated once,
//!   after CF_MAX_SPACING, and after each CC_Update. The standard repeats them without end; a run must end.
//! - An ordered set takes the gap of a frame (`packet.gap`) besides its 8 octets. A CF_Update names one class.
//! - Spacings use the rate that a link has at the start, even after a fault changes it.
//! - An ordered set is no frame. Captures show both messages as frames of EtherType 0x88B6: the kind's name, the class
//!   (255: all), and 32 bits for each count. This is our choice.

mod advice;
mod config;
mod link;
mod wire;

use self::link::{Act, Link};
use self::wire::{CONSUMED, FREED, Word};
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::attachment::Attachment;
use backwater_net::hooks::{
    Activity, Advice, AdviceError, AdviceForm, Carrier, CheckCx, Count, Departure, Fate, Finding, LinkCx, LinkSide,
    Margin, Mechanism, NicCx, NicShape, NicSide, Place, Profile, Question, SwitchCx, SwitchShape, SwitchSide, Token,
    WireCx,
};
use backwater_net::packet::{CLASSES, Class, Control, Packet, Port, Queue};
pub use config::Params;
use std::any::TypeId;

/// The purpose of a timer, in the lowest bits of its token; the port is above.
const LOOK: Token = 0;
const SYNC: Token = 1;
const LATE: Token = 2;

/// Both ends of the links of one node.
#[derive(backwater_derive::State)]
pub struct Ends {
    #[state(within)]
    links: Vec<Link>,
    /// A CC_Update concerns frames that may not have been seen yet: they are delayed by this time in a switch, and not at all in a host.
    #[state(fixed)]
    latency: Time,
    /// CC_Updates to be acted on: when, port, CC.
    late: Vec<(Time, u16, [u32; CLASSES])>,
}

// The specification is in `link`; this file connects it to a run.
#[backwater_derive::hooks]
impl LinkSide for Ends {
    fn may_transmit(&self, port: Port, _: Queue, pkt: &Packet) -> bool {
        self.links.get(usize::from(port.0)).is_none_or(|link| link.may_send(pkt.class, pkt.size))
    }

    fn on_start(&mut self, cx: &mut LinkCx<'_>, from: &Departure, pkt: &Packet, _: Option<&mut Attachment>) {
        self.at(cx, from.port, |link, now| link.sent(pkt.class, pkt.size, now));
    }

    fn on_arrive(&mut self, cx: &mut LinkCx<'_>, from: Port, pkt: &Packet) {
        self.at(cx, from, |link, now| link.came(pkt.class, pkt.size, now));
        if let LinkCx::Nic(_) = cx {
            self.stored(from, pkt.class, pkt.size);
        }
    }

    fn on_mac_control(&mut self, cx: &mut LinkCx<'_>, from: Port, frame: &Control) -> Fate {
        let Some(word) = frame.message::<Word>() else { return Fate::Passed };
        if word.of != Word::ALL {
            self.at(cx, from, |link, _| link.freed(word.of as usize, word.counts[0]));
            cx.open(from, None);
        } else if self.latency == Time::ZERO {
            self.at(cx, from, |link, now| link.consumed(word.counts, now));
        } else {
            // UEC 1.0 5.2 (SAI): CC_Update, once all frames that left before it have been seen.
            let due = cx.now() + self.latency;
            self.late.push((due, from.0, word.counts));
            cx.arm(due, Token::from(from.0) << 2 | LATE);
        }
        Fate::Consumed
    }

    fn on_link_timer(&mut self, cx: &mut LinkCx<'_>, token: Token) {
        let port = Port((token >> 2) as u16);
        match token & 3 {
            LOOK => self.at(cx, port, Link::look),
            // UEC 1.0 5.2 (SAI): CC_MESSAGE_TIMER.
            SYNC => self.at(cx, port, Link::synchronise),
            _ => {
                while let Some(i) = self.late.iter().position(|(due, at, _)| *due <= cx.now() && *at == port.0) {
                    let (_, _, counts) = self.late.remove(i);
                    self.at(cx, port, |link, now| link.consumed(counts, now));
                }
            }
        }
    }

    fn on_link(&mut self, cx: &mut LinkCx<'_>, port: Port, up: bool) {
        self.at(cx, port, |link, now| link.is_up(up, now));
        cx.open(port, None);
    }

    fn link_counts(&self, _: Time) -> Vec<Count> {
        (0u16..).zip(&self.links).flat_map(|(port, link)| link.counts(Port(port))).collect()
    }

    fn link_activity(&self) -> Activity {
        let mut all = Activity::default();
        self.links.iter().for_each(|link| {
            let (acts, used, limit) = link.nearest();
            let margin = Margin::bytes("most credits of a class in use", Bytes(used), Bytes(limit));
            all.join(Activity { acts, margin: Some(margin) });
        });
        all
    }
}

#[backwater_derive::hooks(link)]
impl SwitchSide for Ends {
    #[inline(always)]
    fn on_admit(&mut self, _: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
        self.stored(at.ingress, at.class, pkt.size);
    }

    #[inline(always)]
    fn on_release(&mut self, cx: &mut SwitchCx<'_>, at: &Place, size: u32) {
        self.at(&mut cx.links(), at.ingress, |link, now| link.left(at.class, size, now));
    }
}

#[backwater_derive::hooks(link)]
impl NicSide for Ends {
    fn on_consumed(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
        self.at(&mut cx.links(), Port(0), |link, now| link.left(pkt.class, pkt.size, now));
    }
}

impl Ends {
    #[inline(always)]
    fn stored(&mut self, port: Port, class: Class, size: u32) {
        if let Some(link) = self.links.get_mut(usize::from(port.0)) {
            link.stored(class, size);
        }
    }

    #[inline(always)]
    fn at(&mut self, cx: &mut LinkCx<'_>, port: Port, f: impl FnOnce(&mut Link, Time) -> [Act; 2]) {
        let Some(link) = self.links.get_mut(usize::from(port.0)) else { return };
        for act in f(link, cx.now()) {
            match act {
                Act::Nothing => {}
                Act::Say(frame) => cx.signal(port, frame),
                Act::Look(at) => cx.arm(at, Token::from(port.0) << 2 | LOOK),
                Act::Synchronise(at) => cx.arm(at, Token::from(port.0) << 2 | SYNC),
            }
        }
    }
}

/// Credit-based flow control.
pub enum Cbfc {}

#[backwater_derive::mechanism]
impl Mechanism for Cbfc {
    const NAME: &'static str = "cbfc";
    const DEFINED_BY: &'static str = "UEC 1.0, section 5.2; SAI, Credit Based Flow Control";
    const SUMMARY: &'static str = "sends over a link no more than the receiver's buffer has credits for, by class";
    const INACTIVE: &'static str = "never ran out of credits";
    const FRAMES: &'static [&'static str] = &[FREED, CONSUMED];
    const MESSAGE: TypeId = TypeId::of::<Word>();
    const VALUE: &'static str =
        "of cf-update the CF of its class, of cc-update the sum of the CCs of all classes, modulo 2^20 each";
    const COUNTERS: &'static str = "cf_updates and cc_updates (sent by the port), credits_used_max (most credits of one class in use at the port), \
         credits_repaired (credits of packets lost before it, freed again)";
    const ADVICE: Option<AdviceForm> = Some(advice::FORM);
    type Switch = Ends;
    type Nic = Ends;

    fn profile(params: &Params) -> Profile {
        config::profile(params)
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn advise(question: &Question) -> Result<Advice, AdviceError> {
        advice::answer(question)
    }

    fn octets(frame: &Control, _: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, octets)
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<Ends> {
        let links = shape.ports.iter().map(|port| params.link(port.rate)).collect();
        Some(Ends { links, latency: shape.latency, late: Vec::new() })
    }

    fn nic(params: &Params, shape: &NicShape) -> Option<Ends> {
        Some(Ends { links: vec![params.link(shape.rate)], latency: Time::ZERO, late: Vec::new() })
    }
}

#[cfg(test)]
mod tests;
