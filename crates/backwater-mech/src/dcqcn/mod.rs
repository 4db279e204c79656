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
//! Two reaction points exist: [`paper::ReactionPoint`], the law above, and [`ns3::ReactionPoint`], the timer-driven form of the
//! public ns-3 code, in which every marked acknowledgement counts and decreases happen on a timer.
//!
//! **Not modelled:** loss recovery; CNPs that several flows share.
//! **Where we differ:** the byte counter counts payload and starts at zero at each stage; Rt may pass the line rate (`ns3` clamps it);
//! a least rate `min_rate` exists (100 Mb/s, from ns3-rdma), of which the paper says nothing. Preset `htsim-aidc-2025` has one alpha for all flows of the run, decays it for every sending flow, and
//! counts stages up to and including F as recovery. That is what the simulator behind the SFC-AIDC study of 2025 does, not DCQCN.

pub mod ns3;
pub mod paper;

use backwater_derive::parameters;
use backwater_engine::state::{Loader, Saver, Unfit};
use backwater_engine::{State, Time};
use backwater_net::hooks::{
    Absent, Ack, Carrier, Claims, Fate, Finding, FlowCx, FlowShape, FlowSide, Mechanism, Needs, NicCx, NicShape,
    NicSide, Preset, Profile, Reach, SwitchShape, Token, WireCx,
};
use backwater_net::packet::{Class, Control, Ecn, FlowRef, HostId, Packet, class_bits};
use backwater_net::{Bytes, Rate, address};
use backwater_wire::Emit;
use backwater_wire::roce::{Bth, Cnp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// `paper` (as published) or `ns3` (decreases on a timer, marks echoed in acknowledgements).
    #[param(default = Law::Paper, source = "choice")]
    pub law: Law,
    /// NP: least time between two CNPs of one flow.
    #[param(symbol = "N", default = Time::us(50), range = Time::ZERO.., source = "SIGCOMM 2015 section 3.1")]
    pub cnp_interval: Time,
    /// NP: whether marks seen within the interval cause one CNP at its end.
    #[param(default = false, source = "choice; htsim: true")]
    pub cnp_trailing: bool,
    /// NP: class of CNPs, 0 to 7; absent: the class of the marked packet.
    #[param(default = Some(6), range = 0..=7, source = "choice: mlx5 default 6", why = "there is no such class")]
    pub cnp_class: Option<u8>,
    /// NP: frame length of a CNP.
    #[param(
        default = Bytes(78), range = Bytes(64)..=Bytes(1 << 20), source = "RoCEv2, InfiniBand annex A17: 74 B and FCS",
        why = "such a CNP is no Ethernet frame"
    )]
    pub cnp_size: Bytes,
    /// Gain of alpha.
    #[param(
        symbol = "g", default = 1.0 / 256.0, range = >0.0..=1.0, source = "SIGCOMM 2015 section 5",
        why = "such a gain does nothing or overshoots"
    )]
    pub g: f64,
    /// Time without CNP after which alpha decays.
    #[param(
        symbol = "K", default = Time::us(55), range = Time(1).., source = "SIGCOMM 2015 section 3.1",
        why = "a timer of zero never ends"
    )]
    pub alpha_timer: Time,
    /// Time per rate-increase stage.
    #[param(
        symbol = "T", default = Time::us(55), range = Time(1).., alias = "rpg-time-reset", source = "SIGCOMM 2015 section 5",
        why = "a timer of zero never ends"
    )]
    pub rate_timer: Time,
    /// Bytes sent per rate-increase stage.
    #[param(symbol = "B", default = Bytes(10_000_000), range = Bytes(1).., alias = "rpg-byte-reset", source = "SIGCOMM 2015 section 5")]
    pub byte_counter: Bytes,
    /// Stages of fast recovery.
    #[param(symbol = "F", default = 5, range = 0.., alias = "rpg-threshold", source = "SIGCOMM 2015 section 3.1")]
    pub f: u32,
    /// Additive increase of the target rate.
    #[param(symbol = "Rai", default = Rate(40_000_000), range = Rate(0).., alias = "rpg-ai-rate", source = "SIGCOMM 2015 section 5")]
    pub rai: Rate,
    /// Hyper increase of the target rate.
    #[param(symbol = "Rhai", default = Rate(400_000_000), range = Rate(0).., alias = "rpg-hai-rate", source = "choice: 10 x Rai")]
    pub rhai: Rate,
    /// Least rate.
    #[param(
        default = Rate(100_000_000), range = Rate(1).., up_to = "the line rate", alias = "rpg-min-rate",
        source = "ns3-rdma config: 100 Mb/s", why = "a flow at rate zero never sends again"
    )]
    pub min_rate: Rate,
    /// Whether a CNP sets Rt = Rc always, or (`ns3` only) not before the first increase since the last cut.
    #[param(default = true, source = "SIGCOMM 2015; HPCC ns-3 config: false")]
    pub clamp_target: bool,
    /// `ns3`: time between looks at whether a mark has come, at each of which the rate is cut at most once.
    #[param(default = Time::us(4), range = Time(1).., source = "HPCC ns-3 config: 4 us", why = "a timer of zero never ends")]
    pub decrease_interval: Time,
    /// `paper`: whether stage F still counts as fast recovery (`max <= F` instead of `max < F`).
    #[param(default = false, source = "SIGCOMM 2015: false; htsim: true")]
    pub recover_through_f: bool,
    /// `paper`: whether timers run, and alpha decays, before a flow's first CNP.
    #[param(default = false, source = "choice; htsim: true")]
    pub timers_from_start: bool,
    /// `paper`: one alpha for all flows of the run instead of one per queue pair. Only to reproduce results that were made so.
    #[param(default = false, source = "SIGCOMM 2015: false; htsim: true")]
    pub shared_alpha: bool,
    /// `paper`: whether the alpha timer starts anew when it has run out. If not, alpha decays with every packet from then on until the next CNP; a slip of a public simulator, for experiments on results that it produced.
    #[param(default = true, source = "SIGCOMM 2015: true; public UEC htsim: false")]
    pub alpha_timer_restarts: bool,
}

/// Rate of the links for which the default of `rai` was published.
const PUBLISHED_FOR: Rate = Rate::gbps(40);

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

impl State for SharedAlpha {
    fn save(&self, to: &mut Saver) {
        to.put(&self.0.load(Ordering::Relaxed));
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        // In place: all flows have it.
        self.0.store(from.take()?, Ordering::Relaxed);
        Ok(())
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
    const MESSAGE: TypeId = TypeId::of::<Cnp>();
    type Params = Params;
    type Shared = SharedAlpha;
    type Switch = Absent;
    type Nic = NotificationPoint;
    type Flow = ReactionPoint;

    const PRESETS: &'static [Preset] = &[
        // What depends on the rate is said, so that whoever names the preset is not told of a default.
        Preset { name: "paper", source: "Zhu et al., SIGCOMM 2015", toml: "rai = \"40 Mb/s\"\n" },
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

    fn octets(frame: &Control, _: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        frame.message::<Cnp>()?.append(octets).ok()?;
        Some(Carrier::Roce)
    }

    fn profile(params: &Params) -> Profile {
        Profile {
            claims: Claims { flow_rate: true, ..Claims::NONE },
            needs: Needs { marks: true, acks: params.law == Law::Ns3, ..Needs::default() },
            classes: class_bits(&params.cnp_class),
            couples: params.law == Law::Paper && params.shared_alpha,
            ..Profile::default()
        }
    }

    fn check_defaults(params: &Params, shape: &SwitchShape) -> Vec<Finding> {
        let hosts = shape.ports.iter().filter(|port| port.host.is_some()).map(|port| port.rate);
        let Some(rate) = hosts.max().filter(|rate| *rate > PUBLISHED_FOR) else { return Vec::new() };
        let times = rate.0 as f64 / PUBLISHED_FOR.0 as f64;
        let reason = format!(
            "a default that was published for links of {PUBLISHED_FOR} (Zhu et al., SIGCOMM 2015); hosts at {} have {rate}, and additive \
             increase takes {times} times as long to regain the same share of it",
            shape.name
        );
        let hint = format!(
            "in proportion to the rate it would be {}; preset = \"ns3-hpcc\" has the values of the HPCC ns-3 code for 100 Gb/s",
            Rate((params.rai.0 as f64 * times) as u64)
        );
        vec![Finding::warning("rai", reason, hint)]
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
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
struct LastCnp {
    at: Time,
    src: HostId,
    class: Class,
    owed: bool,
}

/// NP: the receiver's NIC.
#[derive(backwater_derive::State)]
pub struct NotificationPoint {
    /// N
    #[state(fixed)]
    interval: Time,
    #[state(fixed)]
    trailing: bool,
    #[state(fixed)]
    class: Option<Class>,
    /// \[bytes\]
    #[state(fixed)]
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
            _ => {
                if let Some(data) = pkt.data() {
                    self.send(cx, pkt.flow, data.src, pkt.class);
                }
            }
        }
    }

    fn send(&mut self, cx: &mut NicCx<'_>, flow: FlowRef, src: HostId, class: Class) {
        let cnp = Cnp { destination: address::queue_pair(flow), p_key: Bth::DEFAULT_PARTITION };
        let frame = Control { flow: Some(flow), ..Control::carrying(CNP, self.size, 0, &cnp) };
        self.sent += 1;
        cx.reply(src, self.class.unwrap_or(class), frame);
        self.flows.insert(flow, LastCnp { at: cx.now(), src, class, owed: false });
        cx.arm(cx.now() + self.interval, 0);
    }
}

/// RP: the sender's NIC, one per queue pair.
#[derive(backwater_derive::State)]
pub enum ReactionPoint {
    /// As published.
    Paper(#[state(within)] paper::ReactionPoint),
    /// As in the public ns-3 code.
    Ns3(#[state(within)] ns3::ReactionPoint),
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
    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        if let (ReactionPoint::Ns3(rp), true) = (self, ack.marked) {
            rp.on_mark(cx);
        }
    }

    fn on_control(&mut self, cx: &mut FlowCx<'_>, frame: &Control) -> Fate {
        if frame.message::<Cnp>().is_none() {
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
