//! The parameters of Source Flow Control, and their checks.

use crate::headroom::refresh_finding;
use crate::mac_control::{Signal, differing_signal};
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::config::BufferPer;
use backwater_net::hooks::{CheckCx, Claims, Finding, Ineffective, PauseStyle, PortShape, Profile};
use backwater_net::packet::{Class, class_bits};
use backwater_net::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Traffic that a message stops at the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Granularity {
    /// The class of the packet that caused the message.
    Class,
    /// The flow of the packet that caused the message.
    Flow,
}

/// Egress queues that are congestion points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Points {
    /// Queues of ports to hosts: the last hop.
    ToHosts,
    /// Queues of all ports.
    All,
}

impl Points {
    /// Returns whether the queues of a port are congestion points.
    pub(crate) fn include(self, port: &PortShape) -> bool {
        self == Points::All || port.host.is_some()
    }
}

/// The node that acts on a message at the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtSource {
    /// The host: its NIC stops the class or the flow.
    Host,
    /// The source's ToR: it consumes the message and pauses the class of the host's link by PFC; the host does not use SFC.
    Proxy,
    /// The source's ToR: it consumes the message and puts the packets that it names into an isolation queue; the host does not use SFC.
    Isolation,
}

/// The isolation queues of a ToR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationQueues {
    /// One for each flow, or each (source, destination, class).
    Each,
    /// One for each class, which is paused as a whole.
    One,
}

/// Isolation queues whose bytes `isolation_threshold` limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationPer {
    /// The isolation queues of one port and class.
    Port,
    /// All isolation queues of the switch together: its congestion queue.
    Switch,
}

/// Parameters of Source Flow Control.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Length of an egress queue above which sources are paused.
    #[param(
        symbol = "Th", range = Bytes(1).., up_to = "below the buffer; PFC threshold less headroom at most",
        source = "SFC-AIDC 2025 (contribution on IEEE P802.1Qdw); see `backwater advise sfc`"
    )]
    pub threshold: Bytes,
    /// Pause time in a message. Absent: computed from the queue, (q - target) / C.
    #[param(
        symbol = "P", range = Time(1)..,
        range_text = "headroom / C to (threshold + headroom) / C; for three senders at 200 Gb/s headroom / C is 4.8 us by the formula of dw-chen-sfc-computation-simulation, and by our bound 5.9 us (switch.latency_at: output) or 6.6 us (fabric): studies/sfc-buffer",
        source = "SFC-AIDC 2025 (contribution on IEEE P802.1Qdw); see `backwater advise sfc`",
        why = "a pause time of zero is a resume"
    )]
    pub pause: Option<Time>,
    /// Least time between two messages for one (source, queue). Absent: the pause time of the last message.
    #[param(range = Time::ZERO.., source = "SFC-AIDC 2025 (contribution on IEEE P802.1Qdw): the pause time")]
    pub min_interval: Option<Time>,
    /// Queue length for which a computed pause time aims. With `resume`, sources resume below it. Absent: half of `threshold`.
    #[param(
        symbol = "target", range = Bytes::ZERO..=threshold, source = "SFC proxy contribution 2025 names it; half: choice",
        why = "a pause ends when the queue has fallen to the target"
    )]
    pub target: Option<Bytes>,
    /// Whether a message ends the pauses when the queue has fallen below `target`.
    #[param(default = false, source = "SFC proxy contribution 2025; default: choice")]
    pub resume: bool,
    /// Traffic that a source stops: the packet's `class` or its `flow`.
    #[param(default = Granularity::Class, source = "SFC-AIDC 2025 (contribution on IEEE P802.1Qdw): class")]
    pub granularity: Granularity,
    /// Node that acts on a message: the source `host` itself, or its ToR. As a `proxy` the ToR pauses the host by PFC; with `isolation` it
    /// puts packets for the congested queue into an isolation queue.
    #[param(default = AtSource::Host, source = "SFC proxy contribution 2025 (IEEE P802.1Qdw); host: SFC-AIDC 2025")]
    pub at_source: AtSource,
    /// With isolation: bytes in isolation queues above which the ToR pauses a host's class by PFC when a further packet joins them. The class
    /// resumes two frames below.
    #[param(
        symbol = "Tf", default = Bytes(200_000), range = Bytes::ZERO.., up_to = "below the PFC threshold, where PFC is on",
        source = "choice; SFC proxy contribution 2025 says that a congestion queue need not be large"
    )]
    pub isolation_threshold: Bytes,
    /// Isolation queues that `isolation_threshold` counts: those of one `port` and class, or of the whole `switch`.
    #[param(default = IsolationPer::Port, source = "choice; SFC proxy contribution 2025 has one congestion queue at the source's ToR")]
    pub isolation_per: IsolationPer,
    /// Isolation queues of a ToR: `each` flow, or (source, destination, class), has one; or all isolated traffic of a class shares `one`,
    /// which is paused as a whole.
    #[param(default = IsolationQueues::Each, source = "choice; SFC proxy contribution 2025 has one congestion queue at the source's ToR")]
    pub isolation_queues: IsolationQueues,
    /// With isolation: rate at which each isolation queue releases its packets after a pause. Absent: as fast as the egress queue accepts
    /// them.
    #[param(symbol = "R", range = Rate(1_000_000).., source = "choice; SFC proxy contribution 2025 does not say how the congestion queue is served")]
    pub isolation_rate: Option<Rate>,
    /// Whether the ToR of a paused source also applies the message to its other hosts that send to the same destination, until the pause
    /// ends.
    #[param(
        default = false,
        source = "SFC (Le et al., arXiv 2305.00538): caching near the source; off: choice, SFC-AIDC 2025 has none"
    )]
    pub cache: bool,
    /// Priority that a proxy pauses for the DSCP in a message: one for each of the DSCPs 0, 8, 16, 24, 32, 40, 48 and 56. Hosts send class k
    /// with DSCP 8 k, so another table pauses other traffic.
    #[param(
        default = vec![0, 1, 2, 3, 4, 5, 6, 7], each = 0..=7, range_text = "8 of 0 to 7", source = "RFC 2474: class selectors; document 004 maps DSCP to priority",
        why = "there is no such priority"
    )]
    pub dscp_priority: Vec<u8>,
    /// How a proxy signals pauses to the host: values as in `pfc.signal`; must equal it where PFC is on.
    #[param(default = Signal::Timed, source = "IEEE 802.3 annex 31D: timed")]
    pub signal: Signal,
    /// Pause time in each frame of a proxy, in quanta of 512 bit times; a longer pause is refreshed at half of it.
    #[param(unit = "512 bit times", default = u16::MAX, range = 1..=65535, source = "IEEE 802.3 annex 31D", why = "such a pause is none")]
    pub quanta: u16,
    /// Which egress queues are congestion points: those `to-hosts`, or `all`.
    #[param(default = Points::ToHosts, source = "choice: incast is seen at the last hop")]
    pub points: Points,
    /// Classes whose packets may cause a message, each 0 to 7.
    #[param(default = vec![3], each = 0..=7, source = "choice: RoCEv2 deployments commonly use 3", why = "there is no such class")]
    pub classes: Vec<u8>,
    /// Class of SFC messages, 0 to 7.
    #[param(default = 7, range = 0..=7, source = "choice: served first", why = "there is no such class, and 7 is served first")]
    pub message_class: u8,
    /// Frame length of an SFC message.
    #[param(
        default = Bytes(116), range = Bytes(64)..=Bytes(1 << 20),
        source = "choice: the encoding is not published; Ethernet, IPv4, UDP, 22 B and 48 B of the packet",
        why = "such a message is no Ethernet frame"
    )]
    pub message_size: Bytes,
}

impl Params {
    pub(super) fn target(&self) -> Bytes {
        self.target.unwrap_or(Bytes(self.threshold.0 / 2))
    }

    /// The default classes.
    pub(super) fn usual_classes() -> Vec<u8> {
        Params::default_classes()
    }

    /// The priority of each class selector.
    pub(super) fn priorities(&self) -> [Class; 8] {
        std::array::from_fn(|selector| {
            Class(self.dscp_priority.get(selector).map_or(selector as u8, |priority| *priority))
        })
    }

    /// Classes of a host that its ToR may pause, a bit each.
    pub(super) fn paused_bits(&self) -> u8 {
        if self.at_source != AtSource::Proxy {
            return self.class_bits();
        }
        let mapped = self.classes.iter().map(|class| self.priorities()[usize::from(*class & 7)].0);
        class_bits(&mapped.collect::<Vec<u8>>())
    }

    /// Classes whose packets may cause a message, a bit each.
    pub(super) fn class_bits(&self) -> u8 {
        class_bits(&self.classes)
    }
}

/// Returns its effects on others and its needs.
pub(super) fn profile(params: &Params) -> Profile {
    let (own, at_tor) = (params.class_bits(), params.at_source != AtSource::Host);
    let paused = params.paused_bits();
    Profile {
        // In an isolation queue a packet waits outside of its queue, and two queues of one flow would be served independently.
        claims: Claims { steering: params.at_source == AtSource::Isolation, ..Claims::NONE },
        pauses: if at_tor { params.signal.by_frame(paused.into()) } else { 0 },
        classes: own | class_bits(&[params.message_class]),
        longest_message: params.message_size,
        one_link: at_tor || params.cache,
        ..Profile::default()
    }
}

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    let fatal = |key, reason: String, hint: &str| Finding { fatal: true, key, reason, hint: hint.into() };
    let mut findings = Vec::new();
    if params.at_source != AtSource::Host {
        // It keeps nothing from being dropped, so no promise is broken.
        findings.extend(refresh_finding(params.signal, params.quanta, cx).map(|f| Finding { fatal: false, ..f }));
        findings.extend(signal_finding(params, cx));
    }
    if params.isolation_rate.is_some() && params.at_source != AtSource::Isolation {
        let reason = "isolation queues that could empty at a rate are only where at_source = \"isolation\"";
        findings.push(Finding::warning("isolation_rate", reason, "leave it out"));
    }
    if params.dscp_priority.len() != 8 {
        let reason = format!("{:?} is not one priority for each of 8 DSCPs", params.dscp_priority);
        findings.push(fatal("dscp_priority", reason, "the default is [0, 1, 2, 3, 4, 5, 6, 7]"));
    } else if params.at_source == AtSource::Proxy {
        let priorities = params.priorities();
        let astray = params.classes.iter().filter(|class| priorities[usize::from(**class)].0 != **class);
        findings.extend(astray.map(|class| {
            let (dscp, priority) = (class << 3, priorities[usize::from(*class)].0);
            let reason = format!(
                "a message with DSCP {dscp} pauses priority {priority}: the host goes on sending class {class}, and stops class {priority}"
            );
            Finding::warning("dscp_priority", reason, format!("entry {class} is the priority of DSCP {dscp}"))
        }));
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
            // Arrivals by one port alone could never reach it.
            BufferPer::Ingress => "the buffer of one ingress",
            BufferPer::Switch | BufferPer::Egress | BufferPer::Queue => "the buffer",
        };
        let buffer = switch.buffer_of(params.class_bits());
        let isolating = match params.isolation_per {
            IsolationPer::Port => switch.memory_of(params.class_bits()),
            IsolationPer::Switch => buffer,
        };
        if params.at_source == AtSource::Isolation
            && shape.ports.iter().any(|port| port.host.is_some())
            && params.isolation_threshold >= isolating
            && params.class_bits() & !cx.kept != 0
        {
            let reason = format!(
                "{} is not below the buffer of {} ({isolating}), and no PFC pauses the class there: what waits is dropped before its host is \
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

/// A port signals the pauses of all mechanisms in one way.
fn signal_finding(params: &Params, cx: &CheckCx<'_>) -> Option<Finding> {
    let (other, name) = differing_signal(params.signal.style(params.quanta), cx)?;
    Some(Finding {
        fatal: true,
        key: "signal",
        reason: format!("the proxy at {name} and [{other}] would signal pauses of one port differently"),
        hint: format!("give both one value, as in {other}.signal"),
    })
}

/// Returns how the ToR signals its pauses.
pub(super) fn pause_style(params: &Params) -> Option<PauseStyle> {
    (params.at_source != AtSource::Host).then(|| params.signal.style(params.quanta))
}

/// Parameters that these settings leave without effect.
pub(super) fn ineffective(params: &Params) -> Vec<Ineffective> {
    let of_isolation = ["isolation_threshold", "isolation_per", "isolation_queues", "isolation_rate"];
    let mut ineffective = match params.at_source {
        AtSource::Host => {
            Ineffective::all(&["signal", "quanta"], "at_source", "at_source = \"proxy\" or \"isolation\"")
        }
        AtSource::Proxy | AtSource::Isolation => params.signal.ineffective(),
    };
    if params.at_source != AtSource::Isolation {
        ineffective.extend(Ineffective::all(&of_isolation, "at_source", "at_source = \"isolation\""));
    }
    if params.at_source != AtSource::Proxy {
        ineffective.extend(Ineffective::all(&["dscp_priority"], "at_source", "at_source = \"proxy\""));
    }
    if params.pause.is_some() && !params.resume {
        ineffective.extend(Ineffective::all(&["target"], "pause", "resume = true, or without pause"));
    }
    ineffective
}
