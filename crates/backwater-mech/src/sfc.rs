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
//! at the source:              stop the class (or the flow) until now + P; a newer message replaces the time; 0 resumes
//! ```
//!
//! With N senders at line rate C into one port, and the loop T_loop from the queue passing Th to fewer bytes arriving
//! (contribution dw-chen-sfc-computation-simulation; see [`crate::advise`]):
//!
//! ```text
//! H = (N-1) C T_loop      Th + H <= PFC threshold      H/C < P < (Th+H)/C
//! ```
//!
//! | symbol | field | unit | default | source |
//! |---|---|---|---|---|
//! | Th | `threshold` | bytes | none | the study |
//! | P | `pause` | time | computed | the study |
//! | – | `min_interval` | time | `pause` | SFC-AIDC 2025 (contribution on P802.1Qdw): equal to the pause time |
//! | target | `target` | bytes | half of `threshold` | SFC proxy contribution (2025) names it; value: choice |
//!
//! **Not modelled:** the proxy at the source ToR; caching of destinations.
//! **Where we differ:** clause 52.5 (variables, procedure, encoding) is not published; message size and class are choices. The
//! trigger is the occupancy of the egress queue over all ingresses, so that a victim that shares only an ingress is not paused.

use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::config::BufferPer;
use backwater_net::hooks::{
    Absent, CheckCx, Fate, Finding, Gate, Mechanism, NicCx, NicShape, NicSide, Place, SwitchCx, SwitchShape,
    SwitchSide, Token,
};
use backwater_net::packet::{Class, Control, FlowRef, HostId, Kind, Packet, Port, Queue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// Parameters of Source Flow Control.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Length of an egress queue above which sources are paused.
    #[schemars(extend("x-source" = "the study; see `backwater advise sfc`", "x-range" = "1 B to below the buffer; PFC threshold less headroom at most"))]
    pub threshold: Bytes,
    /// Pause time. Absent: computed from the queue, (q - target) / C.
    #[serde(default)]
    #[schemars(extend("x-source" = "the study; see `backwater advise sfc`", "x-range" = "headroom / C to (threshold + headroom) / C"))]
    pub pause: Option<Time>,
    /// Least time between two messages for one (source, queue). Absent: the pause time of the last message.
    #[serde(default)]
    #[schemars(extend("x-source" = "SFC-AIDC 2025 (contribution on IEEE P802.1Qdw): the pause time", "x-range" = "0 s and more"))]
    pub min_interval: Option<Time>,
    /// Queue length that a computed pause time aims at and below which sources resume. Absent: half of `threshold`.
    #[serde(default)]
    #[schemars(extend("x-source" = "SFC proxy contribution 2025 names it; half: choice", "x-range" = "0 B to threshold"))]
    pub target: Option<Bytes>,
    /// Whether a queue that has fallen below `target` lifts its pauses by a message.
    #[serde(default)]
    #[schemars(extend("x-source" = "SFC proxy contribution 2025; default: choice"))]
    pub resume: bool,
    /// What a source stops: the packet's `class` or its `flow`.
    #[serde(default = "default_granularity")]
    #[schemars(extend("x-source" = "SFC-AIDC 2025 (contribution on IEEE P802.1Qdw): class"))]
    pub granularity: Granularity,
    /// Which egress queues are congestion points: those `to-hosts`, or `all`.
    #[serde(default = "default_points")]
    #[schemars(extend("x-source" = "choice: incast is seen at the last hop"))]
    pub points: Points,
    /// Classes of packets that may cause a message, each 0 to 7.
    #[serde(default = "default_classes")]
    #[schemars(inner(range(min = 0, max = 7)))]
    #[schemars(extend("x-source" = "choice: RoCEv2 deployments commonly use 3"))]
    pub classes: Vec<u8>,
    /// Class of the messages, 0 to 7.
    #[serde(default = "default_message_class")]
    #[schemars(range(min = 0, max = 7))]
    #[schemars(extend("x-source" = "choice: served first"))]
    pub message_class: u8,
    /// Frame length of a message.
    #[serde(default = "default_message_size")]
    #[schemars(extend("x-source" = "choice: the encoding is not published; Ethernet, IPv4, UDP, 22 B and 48 B of the packet", "x-range" = "64 B and more"))]
    pub message_size: Bytes,
}

fn default_granularity() -> Granularity {
    Granularity::Class
}

fn default_points() -> Points {
    Points::ToHosts
}

fn default_classes() -> Vec<u8> {
    vec![3]
}

fn default_message_class() -> u8 {
    7
}

fn default_message_size() -> Bytes {
    // Ethernet 14, IPv4 20, UDP 8, message 22, original packet 48, FCS 4: this project's encoding.
    Bytes(116)
}

impl Params {
    fn target(&self) -> Bytes {
        self.target.unwrap_or(Bytes(self.threshold.0 / 2))
    }
}

/// Source Flow Control.
pub enum Sfc {}

impl Mechanism for Sfc {
    const NAME: &'static str = "sfc";
    const DEFINED_BY: &'static str = "IEEE P802.1Qdw (draft), contributions of 2025";
    const SUMMARY: &'static str = "a congested queue pauses the sources of its packets for a time";
    type Params = Params;
    type Shared = ();
    type Switch = CongestionPoint;
    type Nic = Source;
    type Flow = Absent;

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        let fatal = |key, reason: String, hint: &str| Finding { fatal: true, key, reason, hint: hint.into() };
        let mut findings = Vec::new();
        if params.target() > params.threshold {
            let reason = format!("target ({}) is above threshold ({})", params.target(), params.threshold);
            findings.push(fatal("target", reason, "a pause ends when the queue has fallen to the target"));
        }
        if params.message_class > 7 {
            let reason = format!("there is no class {}", params.message_class);
            findings.push(fatal("message_class", reason, "classes are 0 to 7, 7 is served first"));
        }
        if let Some(class) = params.classes.iter().find(|c| **c > 7) {
            findings.push(fatal("classes", format!("there is no class {class}"), "classes are 0 to 7"));
        }
        if !(64..=1 << 20).contains(&params.message_size.0) {
            let reason = format!("a message of {} is no Ethernet frame", params.message_size);
            findings.push(fatal("message_size", reason, "64 B to 1 MB"));
        }
        if params.pause == Some(Time::ZERO) {
            findings.push(fatal(
                "pause",
                "a pause time of zero is a resume".into(),
                "the SFC-AIDC study of 2025 has 6 us",
            ));
        }
        for (shape, switch) in cx.switches.iter().zip(cx.switch_params) {
            let what = match switch.buffer_per {
                BufferPer::None => continue,
                // What came in through one port alone could never reach it.
                BufferPer::Ingress => "the buffer of one ingress",
                BufferPer::Switch | BufferPer::Egress | BufferPer::Queue => "the buffer",
            };
            if params.threshold >= switch.buffer {
                let reason = format!(
                    "threshold ({}) is not below {what} of {} ({}): PFC or loss comes before any message",
                    params.threshold, shape.name, switch.buffer
                );
                findings.push(fatal("threshold", reason, "lower it; is it KB or KiB?"));
                break;
            }
        }
        findings
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<CongestionPoint> {
        let points = shape.ports.iter().map(|p| params.points == Points::All || p.host.is_some()).collect();
        let classes = params.classes.iter().filter(|c| **c < 8).fold(0, |bits, c| bits | 1 << c);
        Some(CongestionPoint { params: params.clone(), points, classes, last: BTreeMap::new() })
    }

    fn nic(_: &Params, _: &NicShape) -> Option<Source> {
        Some(Source { paused: Vec::new() })
    }
}

/// What an SFCM says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Message {
    pause: Time,
    class: Class,
    flow_mode: bool,
}

impl Message {
    fn frame(self, flow: FlowRef, size: u32) -> Control {
        let kind = if self.pause == Time::ZERO { RESUME } else { PAUSE };
        let words = [self.pause.0, u64::from(self.class.0), u64::from(self.flow_mode), 0, 0, 0];
        Control { kind, size, flow: Some(flow), words }
    }

    fn read(frame: &Control) -> Option<Message> {
        (frame.kind == PAUSE || frame.kind == RESUME).then(|| Message {
            pause: Time(frame.words[0]),
            class: Class(frame.words[1] as u8),
            flow_mode: frame.words[2] != 0,
        })
    }
}

/// A source that a queue has paused.
#[derive(Clone, Copy)]
struct Paused {
    /// when the message was sent, and the earliest time of the next one
    next: Time,
    /// when the pause ends at the source, apart from the message's way
    until: Time,
    flow: FlowRef,
    class: Class,
}

/// Who is paused apart from whom: the source, and the flow in flow mode.
type Key = (Port, Queue, HostId, Option<FlowRef>);

/// The egress queues of one switch.
pub struct CongestionPoint {
    params: Params,
    /// per port: whether its queues are congestion points
    points: Vec<bool>,
    /// classes that may cause a message, a bit each
    classes: u8,
    last: BTreeMap<Key, Paused>,
}

// The specification.
impl SwitchSide for CongestionPoint {
    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if self.points[usize::from(at.egress.0)]
            && self.classes & (1 << at.class.0) != 0
            && cx.seen().egress(at.egress, at.queue) > self.params.threshold
        {
            self.congested(cx, at, pkt);
        }
    }

    #[inline(always)]
    fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
        if self.params.resume && !self.last.is_empty() && cx.seen().egress(at.egress, at.queue) < self.params.target() {
            self.relieved(cx, at);
        }
    }
}

impl CongestionPoint {
    #[cold]
    fn congested(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
        if pkt.kind != Kind::Data {
            return;
        }
        let flow_mode = self.params.granularity == Granularity::Flow;
        let key = (at.egress, at.queue, pkt.src, flow_mode.then_some(pkt.flow));
        let now = cx.now();
        if self.last.get(&key).is_some_and(|paused| now < paused.next) {
            return;
        }
        let pause = self.params.pause.unwrap_or_else(|| {
            let excess = cx.seen().egress(at.egress, at.queue).saturating_sub(self.params.target());
            cx.shape().ports[usize::from(at.egress.0)].rate.time_for(excess)
        });
        if !self.params.resume {
            // Nobody will ask for these any more.
            self.last.retain(|_, paused| paused.next > now);
        }
        let next = now.after(self.params.min_interval.unwrap_or(pause));
        self.last.insert(key, Paused { next, until: now.after(pause), flow: pkt.flow, class: at.class });
        let message = Message { pause, class: at.class, flow_mode };
        cx.route(pkt.src, Class(self.params.message_class), message.frame(pkt.flow, self.params.message_size.0 as u32));
    }

    #[cold]
    fn relieved(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
        let here = |key: &Key| key.0 == at.egress && key.1 == at.queue;
        let flow_mode = self.params.granularity == Granularity::Flow;
        let now = cx.now();
        for (key, paused) in self.last.iter().filter(|(key, paused)| here(key) && paused.until > now) {
            let message = Message { pause: Time::ZERO, class: paused.class, flow_mode };
            let frame = message.frame(paused.flow, self.params.message_size.0 as u32);
            cx.route(key.2, Class(self.params.message_class), frame);
        }
        self.last.retain(|key, _| !here(key));
    }
}

/// A source that obeys.
pub struct Source {
    /// gates that are shut, and until when
    paused: Vec<(Gate, Time)>,
}

impl NicSide for Source {
    fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
        let Some(message) = Message::read(frame) else { return Fate::Passed };
        let gate = match (message.flow_mode, frame.flow) {
            (true, Some(flow)) => Gate::Flow(flow),
            _ => Gate::Class(message.class),
        };
        let until = cx.now().after(message.pause);
        let known = self.paused.iter().position(|(g, _)| *g == gate);
        match (known, message.pause) {
            (Some(i), Time::ZERO) => {
                self.paused.swap_remove(i);
                cx.open(gate);
            }
            (None, Time::ZERO) => {}
            (Some(i), _) => self.paused[i].1 = until,
            (None, _) => {
                self.paused.push((gate, until));
                cx.shut(gate);
            }
        }
        if message.pause != Time::ZERO {
            cx.arm(until, 0);
        }
        Fate::Consumed
    }

    fn on_timer(&mut self, cx: &mut NicCx<'_>, _: Token) {
        let now = cx.now();
        self.paused.retain(|(gate, until)| {
            if *until <= now {
                cx.open(*gate);
            }
            *until > now
        });
    }
}

#[cfg(test)]
mod tests;
