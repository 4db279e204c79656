//! Source Flow Control — IEEE P802.1Qdw (draft), as the contributions of 2025 describe it.
//!
//! A congested egress queue asks the *source* of the packet that saw it to stop for a time. No hop in between is stopped, so
//! congestion neither spreads nor deadlocks; PFC stays as the last resort behind it.
//!
//! ```text
//! on enqueue of p to queue e:
//!     if q(e) > Th and now - last[source(p), e] >= min_interval:
//!         P = pause, or (q - target) x 8 / C where none is given
//!         send SFCM{P} to source(p); last[source(p), e] = now
//! on departure, with resume:  if q(e) < target: send SFCM{0} to every source that e has paused
//! at the source:              end[e] = now + P  (P = 0: none); stop the class (or the flow) until the latest end of all queues
//! or at its ToR (proxy):      take the message; pause the class of the source's link by PFC until the last such time
//! or there (isolation):       take the message; let the congested flow wait there until then, and pass the rest
//! a source with k queues:     SFCM echoes the DSCP of p; what is stopped is the queue of that DSCP, and not the class
//! ```
//!
//! With N senders at line rate C into one port, and the loop T_loop from the queue passing Th to fewer bytes arriving
//! (contribution dw-chen-sfc-computation-simulation; see `sfc/formula.rs`):
//!
//! ```text
//! H = (N-1) C T_loop      Th + H <= PFC threshold      H/C < P < (Th+H)/C
//! ```
//!
//! With `resume` and without `min_interval` at most one pause of a (source, queue) is outstanding, the contribution's
//! suppression by "pause/resume messages": the next one can only come when the last has ended or been lifted.
//!
//! The congestion point stands in `sfc/point.rs`, the source in `source.rs`; what happens at the source's ToR in `edge.rs`, `proxy.rs`, `isolation.rs`
//! and `cache.rs`. What it advises on stands in `advice.rs`, `formula.rs` (the document's numbers), `bound.rs` (this project's) and `told.rs`; `incasts.rs` holds
//! a scenario's settings against the former.
//!
//! **Where we differ:** clause 52.5 (variables, procedure, encoding) is not published; message size and class are choices. The
//! trigger is the occupancy of the egress queue over all ingresses, so that a victim that shares only an ingress is not paused.

mod advice;
mod bound;
mod cache;
mod edge;
mod ends;
mod formula;
mod incasts;
mod isolation;
mod point;
mod proxy;
mod question;
mod source;
mod told;
mod wire;

use crate::headroom::refresh_finding;
use crate::mac_control::Signal;
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::config::BufferPer;
use backwater_net::hooks::{
    Absent, Advice, AdviceError, AdviceForm, Carrier, CheckCx, Claims, Fate, Finding, HoldStyle, Incasts, Lane,
    Mechanism, NicShape, Place, Profile, Question, Reach, Situation, SwitchCx, SwitchShape, SwitchSide, Token, Unread,
    WireCx,
};
use backwater_net::packet::{Class, Control, Dscp, FlowRef, HostId, NodeId, Packet, Port, Queue, class_bits};
use backwater_net::{Bytes, Rate};
use edge::Edge;
use point::CongestionPoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
pub use source::EndStation;
use std::any::TypeId;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// A message that pauses.
pub const PAUSE: &str = "sfc-pause";
/// A message that resumes.
pub const RESUME: &str = "sfc-resume";

/// What a message stops at the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Granularity {
    /// The packet's class.
    Class,
    /// The packet's flow.
    Flow,
}

/// Which egress queues are congestion points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Points {
    /// Those that lead to a host: the last hop.
    ToHosts,
    /// All.
    All,
}

/// Who acts on a message at the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtSource {
    /// The host's NIC stops the class or the flow.
    Host,
    /// The source's ToR takes the message and pauses the class of the host's link by PFC; the host knows nothing of SFC.
    Proxy,
    /// The source's ToR takes the message and lets the packets that it names wait in a lane of their own; the host knows nothing of it.
    Isolation,
}

/// What `isolation_threshold` bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationPer {
    /// The lanes of each port and class by themselves.
    Port,
    /// All lanes of the switch together: its congestion queue.
    Switch,
}

/// Parameters of Source Flow Control.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Length of an egress queue above which sources are paused.
    #[param(
        symbol = "Th", range = Bytes(1).., up_to = "below the buffer; PFC threshold less headroom at most",
        source = "the study; see `backwater advise sfc`"
    )]
    pub threshold: Bytes,
    /// Pause time. Absent: computed from the queue, (q - target) / C.
    #[param(
        symbol = "P", range = Time(1)..,
        told = "headroom / C (the document's, 4.8 us for three senders at 200 Gb/s; by our bound 5.9 or 6.6 us: studies/sfc-buffer) to (threshold + headroom) / C",
        source = "the study; see `backwater advise sfc`", why = "a pause time of zero is a resume"
    )]
    pub pause: Option<Time>,
    /// Least time between two messages for one (source, queue). Absent: the pause time of the last message.
    #[param(range = Time::ZERO.., source = "SFC-AIDC 2025 (contribution on IEEE P802.1Qdw): the pause time")]
    pub min_interval: Option<Time>,
    /// Queue length that a computed pause time aims at and below which sources resume. Absent: half of `threshold`.
    #[param(
        symbol = "target", range = Bytes::ZERO..=threshold, source = "SFC proxy contribution 2025 names it; half: choice",
        why = "a pause ends when the queue has fallen to the target"
    )]
    pub target: Option<Bytes>,
    /// Whether a queue that has fallen below `target` lifts its pauses by a message.
    #[param(default = false, source = "SFC proxy contribution 2025; default: choice")]
    pub resume: bool,
    /// What a source stops: the packet's `class` or its `flow`.
    #[param(default = Granularity::Class, source = "SFC-AIDC 2025 (contribution on IEEE P802.1Qdw): class")]
    pub granularity: Granularity,
    /// Who acts on a message: the source `host` itself, or the switch that it is attached to: as its `proxy`, by PFC towards the host, or by `isolation` of what is congested in a lane of the switch.
    #[param(default = AtSource::Host, source = "SFC proxy contribution 2025 (IEEE P802.1Qdw); host: SFC-AIDC 2025")]
    pub at_source: AtSource,
    /// With isolation: what may wait in lanes before a host's class is paused by PFC when more of it comes to wait. It resumes two frames below.
    #[param(
        symbol = "Tf", default = Bytes(200_000), range = Bytes::ZERO.., up_to = "below the PFC threshold, where PFC is on",
        source = "choice; SFC proxy contribution 2025 says that a congestion queue need not be large"
    )]
    pub isolation_threshold: Bytes,
    /// What waits up to `isolation_threshold`: in the lanes of one `port` and class, or of the whole `switch`.
    #[param(default = IsolationPer::Port, source = "choice; SFC proxy contribution 2025 has one congestion queue at the source's ToR")]
    pub isolation_per: IsolationPer,
    /// With isolation: rate at which each lane lets go what a pause has held back. Absent: as fast as the egress queue takes it.
    #[param(symbol = "R", range = Rate(1_000_000).., source = "choice; SFC proxy contribution 2025 does not say how the congestion queue is served")]
    pub isolation_rate: Option<Rate>,
    /// Whether the ToR of a paused source remembers the destination, and treats what its other hosts send there until the pause ends as if they had been told too.
    #[param(
        default = false,
        source = "SFC (Le et al., arXiv 2305.00538): caching near the source; off: choice, the study has none"
    )]
    pub cache: bool,
    /// How a proxy's pause is signalled to the host: as `pfc.signal`, and the same where PFC is on.
    #[param(default = Signal::Timed, source = "IEEE 802.3 annex 31D: timed")]
    pub signal: Signal,
    /// Pause time in each frame of a proxy, in quanta of 512 bit times; what lasts longer is refreshed at half of it.
    #[param(unit = "512 bit times", default = u16::MAX, range = 1..=65535, source = "IEEE 802.3 annex 31D", why = "such a pause is none")]
    pub quanta: u16,
    /// Which egress queues are congestion points: those `to-hosts`, or `all`.
    #[param(default = Points::ToHosts, source = "choice: incast is seen at the last hop")]
    pub points: Points,
    /// Classes of packets that may cause a message, each 0 to 7.
    #[param(default = vec![3], each = 0..=7, source = "choice: RoCEv2 deployments commonly use 3", why = "there is no such class")]
    pub classes: Vec<u8>,
    /// Class of the messages, 0 to 7.
    #[param(default = 7, range = 0..=7, source = "choice: served first", why = "there is no such class, and 7 is served first")]
    pub message_class: u8,
    /// Frame length of a message.
    #[param(
        default = Bytes(116), range = Bytes(64)..=Bytes(1 << 20),
        source = "choice: the encoding is not published; Ethernet, IPv4, UDP, 22 B and 48 B of the packet",
        why = "such a message is no Ethernet frame"
    )]
    pub message_size: Bytes,
}

impl Params {
    fn target(&self) -> Bytes {
        self.target.unwrap_or(Bytes(self.threshold.0 / 2))
    }

    /// Classes that may be paused, a bit each.
    fn class_bits(&self) -> u8 {
        class_bits(&self.classes)
    }
}

/// A port merges the pauses of all mechanisms into one, and signals that in one way.
fn signal_finding(params: &Params, cx: &CheckCx<'_>) -> Option<Finding> {
    let kind = |style: HoldStyle| (style.quanta.is_some(), style.framed);
    let own = kind(params.signal.style(params.quanta));
    let (other, _) = cx.styles.iter().find(|(_, style)| kind(*style) != own)?;
    let name = &cx.switches.first()?.name;
    Some(Finding {
        fatal: true,
        key: "signal",
        reason: format!("the proxy at {name} and [{other}] would signal pauses of one port differently"),
        hint: format!("give both one value, as in {other}.signal"),
    })
}

/// Source Flow Control.
pub enum Sfc {}

impl Mechanism for Sfc {
    const NAME: &'static str = "sfc";
    const DEFINED_BY: &'static str = "IEEE P802.1Qdw (draft), contributions of 2025";
    const SUMMARY: &'static str = "a congested queue pauses the sources of its packets for a time";
    const IDLE: &'static str = "never paused a source";
    const FRAMES: &'static [&'static str] = &[PAUSE, RESUME];
    const MESSAGE: TypeId = TypeId::of::<Message>();
    const VALUE: &'static str = "of SFC the pause time in ps";
    const ADVICE: Option<AdviceForm> = Some(advice::FORM);
    type Params = Params;
    type Shared = ();
    type Switch = Bridge;
    type Nic = EndStation;
    type Flow = Absent;

    fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, cx, octets)
    }

    fn profile(params: &Params) -> Profile {
        let (own, at_tor) = (params.class_bits(), params.at_source != AtSource::Host);
        Profile {
            // In a lane a packet waits elsewhere than in its queue, and two queues of one flow would be served each by itself.
            claims: Claims { steering: params.at_source == AtSource::Isolation, ..Claims::NONE },
            pauses: if at_tor { params.signal.by_frame(own.into()) } else { 0 },
            classes: own | class_bits(&[params.message_class]),
            longest_message: params.message_size,
            one_link: at_tor || params.cache,
            ..Profile::default()
        }
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        let fatal = |key, reason: String, hint: &str| Finding { fatal: true, key, reason, hint: hint.into() };
        let mut findings = Vec::new();
        if params.at_source != AtSource::Host {
            // It keeps nothing from being dropped: no promise is broken.
            findings.extend(refresh_finding(params.signal, params.quanta, cx).map(|f| Finding { fatal: false, ..f }));
            findings.extend(signal_finding(params, cx));
        }
        if params.isolation_rate.is_some() && params.at_source != AtSource::Isolation {
            let reason = "lanes that could empty at a rate are only where at_source = \"isolation\"";
            findings.push(Finding::warning("isolation_rate", reason, "leave it out"));
        }
        if params.at_source == AtSource::Proxy && params.granularity == Granularity::Flow {
            let reason = "a proxy pauses by PFC, which stops a class and not a flow".into();
            findings.push(fatal(
                "granularity",
                reason,
                "granularity = \"class\", or at_source = \"host\" or \"isolation\"",
            ));
        }
        for (shape, switch) in cx.switches.iter().zip(cx.switch_params) {
            let what = match switch.buffer_per {
                BufferPer::None => continue,
                // What came in through one port alone could never reach it.
                BufferPer::Ingress => "the buffer of one ingress",
                BufferPer::Switch | BufferPer::Egress | BufferPer::Queue => "the buffer",
            };
            let buffer = switch.buffer_of(params.class_bits());
            if params.at_source == AtSource::Isolation
                && shape.ports.iter().any(|port| port.host.is_some())
                && params.isolation_threshold >= buffer
                && params.class_bits() & !cx.kept != 0
            {
                let reason = format!(
                    "{} is not below the buffer of {} ({buffer}), and no PFC pauses the class there: what waits is dropped before its host is \
                     paused",
                    params.isolation_threshold, shape.name
                );
                let hint = "lower it; or [pfc] for the classes of [sfc]".into();
                findings.push(Finding { fatal: false, key: "isolation_threshold", reason, hint });
            }
            if params.threshold >= buffer {
                let reason = format!(
                    "threshold ({}) is not below {what} of {} ({buffer}): PFC or loss comes before any message",
                    params.threshold, shape.name
                );
                findings.push(fatal("threshold", reason, "lower it; is it KB or KiB?"));
                break;
            }
        }
        findings
    }

    fn hold_style(params: &Params) -> Option<HoldStyle> {
        (params.at_source != AtSource::Host).then(|| params.signal.style(params.quanta))
    }

    fn check_incasts(params: &Params, incasts: &dyn Incasts) -> Vec<Finding> {
        incasts::findings(params, incasts)
    }

    fn facts(params: Option<&Params>, situation: &Situation) -> Map<String, Value> {
        advice::facts(params, situation)
    }

    fn advise(question: &Question) -> Result<Advice, AdviceError> {
        advice::answer(question)
    }

    fn unread(params: &Params) -> Vec<Unread> {
        let of_isolation = ["isolation_threshold", "isolation_per", "isolation_rate"];
        let mut unread = match params.at_source {
            AtSource::Host => Unread::all(&["signal", "quanta"], "at_source", "at_source = \"proxy\" or \"isolation\""),
            AtSource::Proxy | AtSource::Isolation => params.signal.unread(),
        };
        if params.at_source != AtSource::Isolation {
            unread.extend(Unread::all(&of_isolation, "at_source", "at_source = \"isolation\""));
        }
        if params.pause.is_some() && !params.resume {
            unread.extend(Unread::all(&["target"], "pause", "resume = true, or without pause"));
        }
        unread
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<Bridge> {
        Some(Bridge { point: CongestionPoint::new(params, shape), edge: Edge::new(params, shape) })
    }

    fn nic(params: &Params, shape: &NicShape) -> Option<EndStation> {
        Some(EndStation::new(params, shape))
    }
}

/// What an SFCM says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
struct Message {
    pause: Time,
    class: Class,
    /// of the packet that saw congestion: which queue of its host it came from
    dscp: Dscp,
    flow_mode: bool,
    /// the queue that sends it
    point: PointId,
    /// whereto the packet was on its way
    to: HostId,
}

/// The queue that sends a message (CPID).
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    serde::Serialize,
    serde::Deserialize,
)]
#[repr(C, packed)]
struct PointId(NodeId, Port, Queue);

impl Message {
    fn frame(self, flow: Option<FlowRef>, size: u32) -> Control {
        let pause = self.pause;
        let kind = if pause == Time::ZERO { RESUME } else { PAUSE };
        Control { flow, ..Control::carrying(kind, size, pause.0, &self) }
    }
}

/// What a bridge does: its own queues are congestion points, and it may stand in for its hosts.
#[derive(backwater_derive::State)]
pub struct Bridge {
    #[state(within)]
    point: CongestionPoint,
    #[state(within)]
    edge: Edge,
}

// The specification.
impl SwitchSide for Bridge {
    #[inline(always)]
    fn hold(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) -> Option<Lane> {
        if self.edge.watches() { self.edge.hold(cx, at, pkt) } else { None }
    }

    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if self.point.is_congested(cx, at) {
            self.congested(cx, at, pkt);
        }
        if self.edge.follows() {
            self.edge.joined(cx, at, pkt);
        }
    }

    #[inline(always)]
    fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
        if self.point.is_relieved(cx, at) {
            self.relieved(cx, at);
        }
    }

    fn on_control(&mut self, cx: &mut SwitchCx<'_>, _: Port, to: Option<HostId>, frame: &Control) -> Fate {
        match (to, frame.message()) {
            (Some(host), Some(message)) => self.edge.take(cx, host, frame.flow, message),
            _ => Fate::Passed,
        }
    }

    fn on_timer(&mut self, cx: &mut SwitchCx<'_>, token: Token) {
        self.edge.on_timer(cx, token);
    }

    fn reach(&self) -> Reach {
        self.point.reach()
    }
}

impl Bridge {
    #[cold]
    fn congested(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
        let Some(data) = pkt.data() else { return };
        if let Some(message) = self.point.pause(cx, at, pkt, data.src) {
            self.tell(cx, data.src, Some(pkt.flow), message);
        }
    }

    #[cold]
    fn relieved(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
        for (source, flow, message) in self.point.resumes(cx, at) {
            self.tell(cx, source, Some(flow), message);
        }
    }

    /// Sends a message, unless the source is attached here and this switch acts for it.
    fn tell(&mut self, cx: &mut SwitchCx<'_>, source: HostId, flow: Option<FlowRef>, message: Message) {
        if self.edge.take(cx, source, flow, message) == Fate::Passed {
            let params = self.point.params();
            cx.route(source, Class(params.message_class), message.frame(flow, params.message_size.0 as u32));
        }
    }
}

#[cfg(test)]
mod edge_tests;
#[cfg(test)]
mod proxy_tests;
#[cfg(test)]
mod queues_tests;
#[cfg(test)]
mod tests;
