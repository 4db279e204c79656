//! Credit-based flow control — UEC 1.0, section 5.2, as SAI describes it ("Credit Based Flow Control", opencomputeproject/SAI, 2026-01, in
//! review).
//!
//! The sender of a link counts what may still be in its receiver's buffer, and sends no more than fits. Nobody is paused, and nothing has
//! to be held free for what comes after a pause. Each virtual channel (VC) of each direction has counters of its own; here a class is a VC.
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
//! Spacings are octets of the line: a time of 8 octets / R. What a lost packet took is given back by the next CC_Update, what a lost
//! CF_Update gave by the next CF_Update. A CF_Update is a control ordered set of 8 octets, a CC_Update a frame of 64; both go between
//! frames, before all that waits. A switch frees what it drops, cuts or consumes at once.
//!
//! **Not modelled:** shared credits of pools at the sender, and their dynamic thresholds; more VCs than classes, and best-effort VCs with counters;
//! the exchange at link up; negative overheads; the pause between any two ordered sets (CTLOS_MIN_SPACING) where another mechanism sends some.
//! **Where we differ:** CC_Updates are sent while credits are in use, and stop after [`link::PATIENCE`] in vain; a VC is told again once
//! after CF_MAX_SPACING, and after each CC_Update, not for ever: a run ends. A CF_Update names one VC. An ordered set takes the gap of a
//! frame besides its octets. Spacings keep the rate that the link has at the start.

use self::link::{Act, Link, Rates};
use self::word::{CONSUMED, FREED, Word};
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::attachment::Attachment;
use backwater_net::config::BufferPer;
use backwater_net::hooks::{
    Absent, Advice, AdviceError, AdviceForm, Carrier, CheckCx, Count, Departure, Extra, Fate, Finding, Gate, Margin,
    Mechanism, NicCx, NicGate, NicShape, NicSide, Place, PortShape, Profile, Question, Reach, SwitchCx, SwitchShape,
    SwitchSide, Token, WireCx,
};
use backwater_net::packet::{CLASSES, Control, HostId, Packet, Port, Queue};
use backwater_net::{Bytes, Rate};
use std::any::TypeId;

mod advice;
mod link;
mod word;

/// EtherType of captures: local experimental 2 (IEEE 802 clause 9.2.4).
const LOCAL_EXPERIMENTAL: u16 = 0x88b6;

/// Parameters of credit-based flow control.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Credits of each class at each sender of a link: what of it may be in the receiver's buffer and on the way.
    #[param(symbol = "CL", range = 1..=1_048_575, source = "SAI: credit limit; the receiver's buffer", why = "counters have 20 bits")]
    pub credits: u32,
    /// Rate of the links for which `credits` and `port_credits` are meant; at other rates they are in proportion. Absent: the same on all links.
    #[param(symbol = "C0", range = Rate(1).., source = "as `pfc.reference_rate`", why = "no link has a rate of zero")]
    pub reference_rate: Option<Rate>,
    /// Credits of all classes of a link together. Absent: no limit of its own.
    #[param(symbol = "CL_p", range = 1..=1_048_575, source = "SAI: port credit limit", why = "counters have 20 bits")]
    pub port_credits: Option<u32>,
    /// Bytes of one credit.
    #[param(default = Bytes(128), range = Bytes(1)..=Bytes(65_536), source = "SAI: credit size", why = "packets are counted in credits")]
    pub credit_size: Bytes,
    /// Bytes that are added to each packet before it is counted in credits.
    #[param(default = Bytes::ZERO, range = Bytes::ZERO..=Bytes(127), source = "SAI: packet overhead, -16 to 127")]
    pub overhead: Bytes,
    /// Classes under credit, each 0 to 7. Absent: all.
    #[param(each = 0..=7, source = "SAI: lossless virtual channels", why = "there is no such class")]
    pub classes: Option<Vec<u8>>,
    /// Least bytes of the line between two CF_Updates.
    #[param(symbol = "CF_MIN_SPACING", default = Bytes(6_400), range = Bytes(800).., source = "SAI: CF update minimum spacing", why = "SAI: at least 800 B")]
    pub cf_min_spacing: Bytes,
    /// Bytes of the line after which a CF_Update is repeated.
    #[param(
        symbol = "CF_MAX_SPACING", default = Bytes(262_144), range = Bytes(16_384)..=Bytes(1_048_576), source = "SAI: CF update maximum spacing", why = "SAI: 16 KiB to 1 MiB"
    )]
    pub cf_max_spacing: Bytes,
    /// Time between two CC_Updates.
    #[param(
        symbol = "CC_MESSAGE_TIMER", default = Time::us(256), range = Time::us(1)..=Time::ms(250), source = "SAI: CC message timer", why = "SAI: 1 us to 250 ms"
    )]
    pub cc_timer: Time,
}

impl Params {
    fn class_bits(&self) -> u8 {
        crate::class_bits_or_all(self.classes.as_deref())
    }

    /// Of a packet.
    fn cost(&self, size: Bytes) -> u64 {
        (size + self.overhead).0.div_ceil(self.credit_size.0.max(1))
    }

    /// On a link of `rate`.
    fn limit(&self, credits: u32, rate: Rate) -> u64 {
        Bytes(credits.into()).at_rate(rate, self.reference_rate).0.min((1 << 20) - 1)
    }

    /// \[bytes\] that may come over a link of `rate` before anything leaves.
    fn buffer(&self, rate: Rate) -> Bytes {
        let all = self.limit(self.credits, rate) * u64::from(self.class_bits().count_ones());
        let port = self.port_credits.map_or(all, |credits| self.limit(credits, rate));
        self.credit_size * all.min(port)
    }

    fn link(&self, rate: Rate) -> Link {
        Link::new(Rates {
            classes: self.class_bits(),
            limit: self.limit(self.credits, rate),
            port_limit: self.port_credits.map_or(u64::MAX, |credits| self.limit(credits, rate)),
            credit: self.credit_size.0.max(1),
            overhead: self.overhead.0,
            least: rate.time_for(self.cf_min_spacing),
            most: rate.time_for(self.cf_max_spacing),
            timer: self.cc_timer,
        })
    }
}

/// Credit-based flow control.
pub enum Cbfc {}

impl Mechanism for Cbfc {
    const NAME: &'static str = "cbfc";
    const DEFINED_BY: &'static str = "UEC 1.0, section 5.2; SAI, Credit Based Flow Control";
    const SUMMARY: &'static str = "sends over a link no more than the receiver's buffer has credits for, by class";
    const IDLE: &'static str = "never ran out of credits";
    const FRAMES: &'static [&'static str] = &[FREED, CONSUMED];
    const MESSAGE: TypeId = TypeId::of::<Word>();
    const VALUE: &'static str =
        "of cf-update the CF of its class, of cc-update the sum of the CCs of all classes, modulo 2^20 each";
    const COUNTERS: &'static str = "cf_updates and cc_updates (sent by the port), credits_used_max (most credits of one class in use at it), \
         credits_repaired (taken for lost on the way to it, and freed)";
    const EXTRA: Extra = Extra { port_events: true, may_start: true, ..Extra::NONE };
    const ADVICE: Option<AdviceForm> = Some(advice::FORM);
    type Params = Params;
    type Shared = ();
    type Switch = Switch;
    type Nic = Nic;
    type Flow = Absent;

    fn profile(params: &Params) -> Profile {
        Profile { lossless_classes: params.class_bits(), classes: params.class_bits(), ..Profile::default() }
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (shape, switch) in cx.switches.iter().zip(cx.switch_params) {
            let least = params.cost(shape.max_frame);
            let limits = |port: &PortShape| {
                let port_limit = params.port_credits.map_or(u64::MAX, |credits| params.limit(credits, port.rate));
                params.limit(params.credits, port.rate).min(port_limit)
            };
            if let Some(short) = shape.ports.iter().map(limits).min().filter(|limit| *limit < least) {
                findings.push(Finding {
                    fatal: true,
                    key: "credits",
                    reason: format!(
                        "a frame of {} takes {least} credits, and a link of {} has {short}: it would never start",
                        shape.max_frame, shape.name
                    ),
                    hint: format!("{least} credits at least on every link; several for each loop time"),
                });
                return findings;
            }
            let ports = shape.ports.iter().map(|port| params.buffer(port.rate));
            let (shared, need) = match switch.buffer_per {
                BufferPer::None => continue,
                BufferPer::Ingress => (true, ports.max().unwrap_or(Bytes::ZERO)),
                BufferPer::Switch | BufferPer::Egress => (true, ports.sum()),
                BufferPer::Queue => (false, ports.sum()),
            };
            let set_aside = |port: &PortShape| {
                switch.reserve * CLASSES as u64 + switch.headroom_at(port.rate) * u64::from(cx.kept.count_ones())
            };
            let aside: Bytes = shape.ports.iter().map(set_aside).sum();
            let have = switch.buffer_of(cx.kept).saturating_sub(aside);
            if have < need {
                findings.push(Finding {
                    fatal: cx.lossless,
                    key: "credits",
                    reason: format!("{} has a memory of {have} for what credits of {need} may bring", shape.name),
                    hint: format!("fewer credits, or enlarge {}", switch.buffer_key()),
                });
            } else if shared && params.class_bits() != u8::MAX && switch.buffer_per == BufferPer::Switch {
                findings.push(Finding {
                    fatal: cx.lossless,
                    key: "classes",
                    reason: format!("other classes may fill the memory of {} that credits count on", shape.name),
                    hint: "all classes under credit, or switch.buffer_per = \"queue\"".into(),
                });
            }
        }
        findings
    }

    fn advise(question: &Question) -> Result<Advice, AdviceError> {
        advice::answer(question)
    }

    fn octets(frame: &Control, _: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        let word = frame.message::<Word>()?;
        // Our choice: an ordered set is no frame, and no layout of a CC_Update is public. The kind's name, the VC (255: all), the counts.
        octets.extend(frame.kind.as_bytes());
        octets.push(word.of.to_be_bytes()[3]);
        let counts = if word.of == Word::ALL { &word.counts[..] } else { &word.counts[..1] };
        octets.extend(counts.iter().flat_map(|count| count.to_be_bytes()));
        Some(Carrier::Link(LOCAL_EXPERIMENTAL))
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<Switch> {
        let links = shape.ports.iter().map(|port| params.link(port.rate)).collect();
        Some(Switch { links, latency: shape.latency, late: Vec::new() })
    }

    fn nic(params: &Params, shape: &NicShape) -> Option<Nic> {
        Some(Nic { link: params.link(shape.rate) })
    }
}

/// What a timer is for, in the lowest bits of its token; the port is above.
const LOOK: Token = 0;
const SYNC: Token = 1;
const LATE: Token = 2;

/// Both ends of the links of one switch.
#[derive(backwater_derive::State)]
pub struct Switch {
    #[state(within)]
    links: Vec<Link>,
    /// A CC_Update speaks of frames that may not have been seen yet: they are as long in the switch.
    #[state(fixed)]
    latency: Time,
    /// CC_Updates that are to be acted on: when, port, CC.
    late: Vec<(Time, u16, [u32; CLASSES])>,
}

// The specification is in `link`; this file says what of a run goes into it.
impl SwitchSide for Switch {
    fn may_start(&self, port: Port, _: Queue, pkt: &Packet) -> bool {
        self.links.get(usize::from(port.0)).is_none_or(|link| link.may_send(pkt.class, pkt.size))
    }

    fn on_start(&mut self, cx: &mut SwitchCx<'_>, from: &Departure, pkt: &Packet, _: Option<&mut Attachment>) {
        self.at(cx, from.port, |link, now| link.sent(pkt.class, pkt.size, now));
    }

    fn on_arrive(&mut self, cx: &mut SwitchCx<'_>, from: Port, pkt: &Packet) {
        self.at(cx, from, |link, now| link.came(pkt.class, pkt.size, now));
    }

    #[inline(always)]
    fn on_admit(&mut self, _: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
        if let Some(link) = self.links.get_mut(usize::from(at.ingress.0)) {
            link.stored(at.class, pkt.size);
        }
    }

    #[inline(always)]
    fn on_release(&mut self, cx: &mut SwitchCx<'_>, at: &Place, size: u32) {
        self.at(cx, at.ingress, |link, now| link.left(at.class, size, now));
    }

    fn on_control(&mut self, cx: &mut SwitchCx<'_>, from: Port, _: Option<HostId>, frame: &Control) -> Fate {
        let Some(word) = frame.message::<Word>() else { return Fate::Passed };
        if word.of != Word::ALL {
            self.at(cx, from, |link, _| link.freed(word.of as usize, word.counts[0]));
            cx.open(Gate::Port(from));
        } else if self.latency == Time::ZERO {
            self.at(cx, from, |link, now| link.consumed(word.counts, now));
        } else {
            let due = cx.now() + self.latency;
            self.late.push((due, from.0, word.counts));
            cx.arm(due, Token::from(from.0) << 2 | LATE);
        }
        Fate::Consumed
    }

    fn on_timer(&mut self, cx: &mut SwitchCx<'_>, token: Token) {
        let port = Port((token >> 2) as u16);
        match token & 3 {
            LOOK => self.at(cx, port, Link::look),
            SYNC => self.at(cx, port, Link::synchronise),
            _ => {
                while let Some(i) = self.late.iter().position(|(due, at, _)| *due <= cx.now() && *at == port.0) {
                    let (_, _, counts) = self.late.remove(i);
                    self.at(cx, port, |link, now| link.consumed(counts, now));
                }
            }
        }
    }

    fn on_link(&mut self, cx: &mut SwitchCx<'_>, port: Port, up: bool) {
        self.at(cx, port, |link, now| link.is_up(up, now));
        cx.open(Gate::Port(port));
    }

    fn counts(&self, _: Time) -> Vec<Count> {
        (0u16..).zip(&self.links).flat_map(|(port, link)| link.counts(Port(port))).collect()
    }

    fn reach(&self) -> Reach {
        let mut all = Reach::default();
        self.links.iter().for_each(|link| {
            all.join(reach(link));
        });
        all
    }
}

fn reach(link: &Link) -> Reach {
    let (waits, used, limit) = link.nearest();
    Reach { acts: waits, margin: Some(Margin::bytes("most credits of a class in use", Bytes(used), Bytes(limit))) }
}

impl Switch {
    #[inline(always)]
    fn at(&mut self, cx: &mut SwitchCx<'_>, port: Port, f: impl FnOnce(&mut Link, Time) -> [Act; 2]) {
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

/// Both ends of a host's link.
#[derive(backwater_derive::State)]
pub struct Nic {
    #[state(within)]
    link: Link,
}

impl NicSide for Nic {
    fn may_start(&self, _: Port, _: Queue, pkt: &Packet) -> bool {
        self.link.may_send(pkt.class, pkt.size)
    }

    fn on_start(&mut self, cx: &mut NicCx<'_>, _: &Departure, pkt: &Packet, _: Option<&mut Attachment>) {
        self.act(cx, |link, now| link.sent(pkt.class, pkt.size, now));
    }

    fn on_arrive(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
        self.act(cx, |link, now| link.came(pkt.class, pkt.size, now));
        self.link.stored(pkt.class, pkt.size);
    }

    fn on_taken(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
        self.act(cx, |link, now| link.left(pkt.class, pkt.size, now));
    }

    fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
        let Some(word) = frame.message::<Word>() else { return Fate::Passed };
        if word.of == Word::ALL {
            self.act(cx, |link, now| link.consumed(word.counts, now));
        } else {
            self.act(cx, |link, _| link.freed(word.of as usize, word.counts[0]));
            cx.open(NicGate::Link);
        }
        Fate::Consumed
    }

    fn on_timer(&mut self, cx: &mut NicCx<'_>, token: Token) {
        self.act(cx, if token == LOOK { Link::look } else { Link::synchronise });
    }

    fn on_link(&mut self, cx: &mut NicCx<'_>, up: bool) {
        self.act(cx, |link, now| link.is_up(up, now));
        cx.open(NicGate::Link);
    }

    fn counts(&self, _: Time) -> Vec<Count> {
        self.link.counts(Port(0))
    }

    fn reach(&self) -> Reach {
        reach(&self.link)
    }
}

impl Nic {
    fn act(&mut self, cx: &mut NicCx<'_>, f: impl FnOnce(&mut Link, Time) -> [Act; 2]) {
        for act in f(&mut self.link, cx.now()) {
            match act {
                Act::Nothing => {}
                Act::Say(frame) => cx.signal(frame),
                Act::Look(at) => cx.arm(at, LOOK),
                Act::Synchronise(at) => cx.arm(at, SYNC),
            }
        }
    }
}

#[cfg(test)]
mod tests;
