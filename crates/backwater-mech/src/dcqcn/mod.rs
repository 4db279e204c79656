//! DCQCN — Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015.
//!
//! The switch marks (CP, see [`crate::ecn`]); the receiver's NIC answers marked packets with CNPs (NP); the sender's NIC keeps a
//! current rate Rc, a target rate Rt and an estimate of congestion alpha for each queue pair (RP).
//!
//! ```text
//! NP: a marked packet, and no CNP for this flow in the last N            -> CNP
//! RP: CNP               Rt = Rc; Rc = Rc (1 - alpha/2); alpha = (1-g) alpha + g; stages = 0; timers restart
//!     no CNP for K      alpha = (1-g) alpha, again every K
//!     every T, every B  T or BC stage + 1, then
//!         max(T, BC) <  F   fast recovery    Rc = (Rt + Rc)/2
//!         min(T, BC) >  F   hyper increase   Rt = Rt + i Rhai, i = min(T, BC) - F;  Rc = (Rt + Rc)/2
//!         otherwise         additive         Rt = Rt + Rai;                         Rc = (Rt + Rc)/2
//! ```
//!
//! | symbol | field | unit | default | source |
//! |---|---|---|---|---|
//! | N | `cnp_interval` | time | 50 us | section 3.1 |
//! | g | `g` | – | 1/256 | section 5 |
//! | K | `alpha_timer` | time | 55 us | section 3.1 |
//! | T | `rate_timer` | time | 55 us | section 5 |
//! | B | `byte_counter` | bytes | 10 MB | section 5 |
//! | F | `f` | stages | 5 | section 3.1 |
//! | Rai, Rhai | `rai`, `rhai` | rate | 40 Mb/s, 400 Mb/s | section 5; Rhai: choice |
//!
//! Two reaction points exist: [`paper::ReactionPoint`], the law above, and [`ns3::ReactionPoint`], the timer-driven form of the
//! public ns-3 code, in which every marked acknowledgement counts and decreases happen on a timer.
//!
//! **Not modelled:** loss recovery; CNPs that several flows share.
//! **Where we differ:** the byte counter counts payload and starts at zero at each stage; Rt may pass the line rate (`ns3` clamps it);
//! a least rate `min_rate` exists (100 Mb/s, from ns3-rdma), of which the paper says nothing. Preset `htsim-aidc-2025` has one alpha for all flows of the run, decays it for every sending flow, and
//! counts stages up to and including F as recovery. That is what the simulator behind the SFC-AIDC study of 2025 does, not DCQCN.

pub mod ns3;
pub mod paper;
mod wire;

use backwater_engine::Time;
use backwater_net::hooks::{
    Absent, Ack, Carrier, CheckCx, Claims, Fate, Finding, FlowCx, FlowShape, FlowSide, Mechanism, Needs, NicCx,
    NicShape, NicSide, Preset, Reach, Token, WireCx,
};
use backwater_net::packet::{Class, Control, Ecn, FlowRef, HostId, Packet, class_bits};
use backwater_net::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// \[bytes\] Longest control frame that a scenario may ask for.
const MOST: u64 = 1 << 20;

/// Kind of the congestion notification packet.
pub const CNP: &str = "cnp";

/// Which reaction point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// As the paper writes it.
    Paper,
    /// Timer-driven, as the public ns-3 code has it.
    Ns3,
}

/// Parameters of DCQCN.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// `paper` (as published) or `ns3` (decreases on a timer, marks echoed in acknowledgements).
    #[schemars(extend("x-source" = "choice"))]
    pub law: Law,
    /// NP: least time between two CNPs of one flow.
    #[schemars(extend("x-source" = "SIGCOMM 2015 section 3.1", "x-range" = "0 s and more"))]
    pub cnp_interval: Time,
    /// NP: whether marks seen within the interval cause one CNP at its end.
    #[schemars(extend("x-source" = "choice; htsim: true"))]
    pub cnp_trailing: bool,
    /// NP: class of CNPs, 0 to 7; absent: the class of the marked packet.
    #[schemars(range(min = 0, max = 7))]
    #[schemars(extend("x-source" = "choice: mlx5 default 6"))]
    pub cnp_class: Option<u8>,
    /// NP: frame length of a CNP.
    #[schemars(extend("x-source" = "RoCEv2, InfiniBand annex A17: 74 B and FCS", "x-range" = "64 B and more"))]
    pub cnp_size: Bytes,
    /// Gain of alpha.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-source" = "SIGCOMM 2015 section 5"))]
    pub g: f64,
    /// Time without CNP after which alpha decays.
    #[schemars(extend("x-source" = "SIGCOMM 2015 section 3.1", "x-range" = "1 ps and more"))]
    pub alpha_timer: Time,
    /// Time per rate-increase stage.
    #[serde(alias = "rpg-time-reset")]
    #[schemars(extend("x-source" = "SIGCOMM 2015 section 5", "x-range" = "1 ps and more", "x-alias" = "rpg-time-reset"))]
    pub rate_timer: Time,
    /// Bytes sent per rate-increase stage.
    #[serde(alias = "rpg-byte-reset")]
    #[schemars(extend("x-source" = "SIGCOMM 2015 section 5", "x-range" = "1 B and more", "x-alias" = "rpg-byte-reset"))]
    pub byte_counter: Bytes,
    /// Stages of fast recovery.
    #[serde(alias = "rpg-threshold")]
    #[schemars(extend("x-source" = "SIGCOMM 2015 section 3.1", "x-range" = "0 and more", "x-alias" = "rpg-threshold"))]
    pub f: u32,
    /// Additive increase of the target rate.
    #[serde(alias = "rpg-ai-rate")]
    #[schemars(extend("x-source" = "SIGCOMM 2015 section 5", "x-range" = "0 b/s and more", "x-alias" = "rpg-ai-rate"))]
    pub rai: Rate,
    /// Hyper increase of the target rate.
    #[serde(alias = "rpg-hai-rate")]
    #[schemars(extend("x-source" = "choice: 10 x Rai", "x-range" = "0 b/s and more", "x-alias" = "rpg-hai-rate"))]
    pub rhai: Rate,
    /// Least rate.
    #[serde(alias = "rpg-min-rate")]
    #[schemars(extend("x-source" = "ns3-rdma config: 100 Mb/s", "x-range" = "1 b/s to the line rate", "x-alias" = "rpg-min-rate"))]
    pub min_rate: Rate,
    /// Whether a CNP sets Rt = Rc always, or (`ns3` only) not before the first increase since the last cut.
    #[schemars(extend("x-source" = "SIGCOMM 2015; HPCC ns-3 config: false"))]
    pub clamp_target: bool,
    /// `ns3`: time between looks at whether a mark has come, at each of which the rate is cut at most once.
    #[schemars(extend("x-source" = "HPCC ns-3 config: 4 us", "x-range" = "1 ps and more"))]
    pub decrease_interval: Time,
    /// `paper`: whether stage F still counts as fast recovery (`max <= F` instead of `max < F`).
    #[schemars(extend("x-source" = "SIGCOMM 2015: false; htsim: true"))]
    pub recover_through_f: bool,
    /// `paper`: whether timers run, and alpha decays, before a flow's first CNP.
    #[schemars(extend("x-source" = "choice; htsim: true"))]
    pub timers_from_start: bool,
    /// `paper`: one alpha for all flows of the run instead of one per queue pair. Only to reproduce results that were made so.
    #[schemars(extend("x-source" = "SIGCOMM 2015: false; htsim: true"))]
    pub shared_alpha: bool,
    /// `paper`: whether the alpha timer starts anew when it has run out. If not, alpha decays with every packet from then on until the next CNP; a slip of a public simulator, for experiments on results that it produced.
    #[schemars(extend("x-source" = "SIGCOMM 2015: true; public UEC htsim: false"))]
    pub alpha_timer_restarts: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            law: Law::Paper,
            cnp_interval: Time::us(50),
            cnp_trailing: false,
            cnp_class: Some(6),
            cnp_size: Bytes(78),
            g: 1.0 / 256.0,
            alpha_timer: Time::us(55),
            rate_timer: Time::us(55),
            byte_counter: Bytes(10_000_000),
            f: 5,
            rai: Rate(40_000_000),
            rhai: Rate(400_000_000),
            min_rate: Rate(100_000_000),
            clamp_target: true,
            decrease_interval: Time::us(4),
            recover_through_f: false,
            timers_from_start: false,
            shared_alpha: false,
            alpha_timer_restarts: true,
        }
    }
}

/// DCQCN.
pub enum Dcqcn {}

/// Alpha where all flows share one, as the bits of a float.
#[derive(Clone)]
pub struct SharedAlpha(Arc<AtomicU64>);

impl Default for SharedAlpha {
    fn default() -> Self {
        SharedAlpha(Arc::new(AtomicU64::new(1f64.to_bits())))
    }
}

impl SharedAlpha {
    pub(crate) fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, alpha: f64) {
        self.0.store(alpha.to_bits(), Ordering::Relaxed);
    }
}

impl Mechanism for Dcqcn {
    const NAME: &'static str = "dcqcn";
    const DEFINED_BY: &'static str = "Zhu et al., SIGCOMM 2015";
    const SUMMARY: &'static str = "adapts each flow's rate to congestion notifications caused by ECN marks";
    const IDLE: &'static str = "never lowered a rate, since no mark reached it";
    const FRAMES: &'static [&'static str] = &[CNP];
    type Params = Params;
    type Shared = SharedAlpha;
    type Switch = Absent;
    type Nic = NotificationPoint;
    type Flow = ReactionPoint;

    const PRESETS: &'static [Preset] = &[
        Preset { name: "paper", source: "Zhu et al., SIGCOMM 2015", toml: "" },
        Preset {
            name: "ns3-hpcc",
            source: "HPCC ns-3 code, config for 100 Gb/s",
            toml: r#"
law = "ns3"
alpha_timer = "1 us"
rate_timer = "300 us"
f = 1
rai = "20 Mb/s"
rhai = "200 Mb/s"
min_rate = "1 Gb/s"
clamp_target = false
decrease_interval = "4 us"
"#,
        },
        Preset {
            name: "htsim-aidc-2025",
            source: "the simulator behind the SFC-AIDC study of 2025 (public UEC htsim), its alpha timer reset",
            toml: r#"
cnp_trailing = true
cnp_size = "64 B"
rai = "10 Gb/s"
rhai = "20 Gb/s"
min_rate = "1 b/s"
recover_through_f = true
timers_from_start = true
shared_alpha = true
"#,
        },
    ];

    fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, cx, octets)
    }

    fn claims(_: &Params) -> Claims {
        Claims { flow_rate: true, ..Claims::NONE }
    }

    fn needs(params: &Params) -> Needs {
        Needs { marks: true, acks: params.law == Law::Ns3, window: false }
    }

    fn classes(params: &Params) -> u8 {
        class_bits(&params.cnp_class)
    }

    fn check(params: &Params, _: &CheckCx<'_>) -> Vec<Finding> {
        let fatal = |key, reason: String, hint: &str| Finding { fatal: true, key, reason, hint: hint.into() };
        let mut findings = Vec::new();
        if !(params.g > 0.0 && params.g <= 1.0) {
            findings.push(fatal("g", format!("a gain of {} does nothing or overshoots", params.g), "0 < g <= 1"));
        }
        for (key, time) in [("alpha_timer", params.alpha_timer), ("rate_timer", params.rate_timer)] {
            if time == Time::ZERO {
                findings.push(fatal(key, "a timer of zero never ends".into(), "the paper has 55 us"));
            }
        }
        if !(64..=MOST).contains(&params.cnp_size.0) {
            let reason = format!("a CNP of {} is no Ethernet frame", params.cnp_size);
            findings.push(fatal("cnp_size", reason, "64 B to 1 MB; the standard's is 78 B"));
        }
        if params.min_rate == Rate(0) {
            findings.push(fatal("min_rate", "a flow at rate zero never sends again".into(), "1 b/s and more"));
        }
        if params.decrease_interval == Time::ZERO {
            findings.push(fatal("decrease_interval", "a timer of zero never ends".into(), "the ns-3 code has 4 us"));
        }
        findings
    }

    fn nic(params: &Params, _: &NicShape) -> Option<NotificationPoint> {
        (params.law == Law::Paper).then(|| NotificationPoint {
            interval: params.cnp_interval,
            trailing: params.cnp_trailing,
            class: params.cnp_class.map(Class),
            size: params.cnp_size.0 as u32,
            flows: BTreeMap::new(),
            sent: 0,
        })
    }

    fn flow(params: &Params, shape: &FlowShape, shared: &SharedAlpha) -> Option<ReactionPoint> {
        Some(match params.law {
            Law::Paper => ReactionPoint::Paper(paper::ReactionPoint::new(params, shape, shared)),
            Law::Ns3 => ReactionPoint::Ns3(ns3::ReactionPoint::new(params, shape)),
        })
    }
}

/// When a flow last caused a CNP, and whether it owes one.
#[derive(Clone, Copy)]
struct LastCnp {
    at: Time,
    src: HostId,
    class: Class,
    owed: bool,
}

/// NP: the receiver's NIC.
pub struct NotificationPoint {
    /// N
    interval: Time,
    trailing: bool,
    class: Option<Class>,
    /// \[bytes\]
    size: u32,
    /// marked flows of the last interval
    flows: BTreeMap<FlowRef, LastCnp>,
    /// CNPs sent
    sent: u64,
}

// The specification.
impl NicSide for NotificationPoint {
    #[inline]
    fn on_receive(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
        if pkt.ecn() == Ecn::Ce {
            self.on_marked(cx, pkt);
        }
    }

    fn on_timer(&mut self, cx: &mut NicCx<'_>, _: Token) {
        let (now, interval) = (cx.now(), self.interval);
        let due = |last: &LastCnp| last.at + interval <= now;
        let owed: Vec<(FlowRef, LastCnp)> =
            self.flows.iter().filter(|(_, l)| l.owed && due(l)).map(|(f, l)| (*f, *l)).collect();
        self.flows.retain(|_, l| l.owed || !due(l));
        for (flow, last) in owed {
            self.send(cx, flow, last.src, last.class);
        }
    }

    fn reach(&self) -> Reach {
        Reach { acts: self.sent, margin: None }
    }
}

impl NotificationPoint {
    #[cold]
    fn on_marked(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
        match self.flows.get_mut(&pkt.flow) {
            Some(last) if cx.now() < last.at + self.interval => last.owed |= self.trailing,
            _ => self.send(cx, pkt.flow, pkt.src, pkt.class),
        }
    }

    fn send(&mut self, cx: &mut NicCx<'_>, flow: FlowRef, src: HostId, class: Class) {
        let frame = Control { kind: CNP, size: self.size, flow: Some(flow), about: None, words: [0; 6] };
        self.sent += 1;
        cx.reply(src, self.class.unwrap_or(class), frame);
        self.flows.insert(flow, LastCnp { at: cx.now(), src, class, owed: false });
        cx.arm(cx.now() + self.interval, 0);
    }
}

/// RP: the sender's NIC, one per queue pair.
pub enum ReactionPoint {
    /// As published.
    Paper(paper::ReactionPoint),
    /// As in the public ns-3 code.
    Ns3(ns3::ReactionPoint),
}

impl FlowSide for ReactionPoint {
    #[inline(always)]
    fn rate(&self) -> Option<Rate> {
        Some(match self {
            ReactionPoint::Paper(rp) => rp.current(),
            ReactionPoint::Ns3(rp) => rp.current(),
        })
    }

    #[inline(always)]
    fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {
        if let ReactionPoint::Paper(rp) = self {
            rp.on_send(cx, pkt);
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack) {
        if let (ReactionPoint::Ns3(rp), true) = (self, ack.marked) {
            rp.on_mark(cx);
        }
    }

    fn on_control(&mut self, cx: &mut FlowCx<'_>, frame: &Control) -> Fate {
        if frame.kind != CNP {
            return Fate::Passed;
        }
        match self {
            ReactionPoint::Paper(rp) => rp.on_cnp(cx),
            ReactionPoint::Ns3(rp) => rp.on_mark(cx),
        }
        Fate::Consumed
    }

    fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {
        match self {
            ReactionPoint::Paper(rp) => rp.on_timer(cx, token),
            ReactionPoint::Ns3(rp) => rp.on_timer(cx, token),
        }
    }

    fn reach(&self) -> Reach {
        let acts = match self {
            // Its receiver's interface counts the messages that it acts on.
            ReactionPoint::Paper(_) => 0,
            ReactionPoint::Ns3(rp) => rp.has_seen_a_mark().into(),
        };
        Reach { acts, margin: None }
    }
}

#[cfg(test)]
mod tests;
