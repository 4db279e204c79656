//! The parameters of ECN marking, and their checks.

use crate::red::AboveMaximum;
use backwater_derive::parameters;
use backwater_net::config::{Architecture, BufferPer, SwitchParams};
use backwater_net::hooks::{CheckCx, Finding, Ineffective, PortShape, SwitchShape};
use backwater_net::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the length of the queue determines whether a packet is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// When the packet joins it.
    Enqueue,
    /// When the packet leaves it.
    Dequeue,
}

/// What determines the length above which a queue marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkingThreshold {
    /// Fixed lengths: `kmin` and `kmax`.
    Static,
    /// The limit that the free memory leaves the queue, `offset` and `floor`.
    Dynamic,
}

/// Parameters of ECN marking.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Form of the threshold: `static` (the curve from `kmin` to `kmax`) or `dynamic` (D-ECN: a step that follows the limit of the queue).
    #[param(default = MarkingThreshold::Static, source = "choice: as the DCQCN paper; Arista, D-ECN, 2024: dynamic")]
    pub threshold: MarkingThreshold,
    /// Dynamic threshold: bytes by which it lies below the limit of the queue. Absent: must be given where `threshold` is `dynamic`.
    #[param(symbol = "offset", range = Bytes::ZERO.., source = "as Arista, D-ECN, 2024; the value is the operator's")]
    pub offset: Option<Bytes>,
    /// Dynamic threshold: its least value, as long as the limit of the queue is not lower still.
    #[param(symbol = "floor", default = Bytes::ZERO, range = Bytes::ZERO.., source = "as Arista, D-ECN, 2024; 0 B: choice")]
    pub floor: Bytes,
    /// Queue length up to which no packet is marked.
    #[param(symbol = "Kmin", default = Bytes(5_000), range = Bytes::ZERO..=kmax, source = "Zhu et al., SIGCOMM 2015")]
    pub kmin: Bytes,
    /// Queue length from which each packet is marked, or as `above_kmax` specifies. Equal to `kmin`: a step, marked above it.
    #[param(symbol = "Kmax", default = Bytes(200_000), range = kmin.., source = "Zhu et al., SIGCOMM 2015")]
    pub kmax: Bytes,
    /// Port rate for which `kmin` and `kmax` are given; both scale in proportion at ports of other rates. Absent: the same values at all
    /// ports.
    #[param(
        symbol = "C0", range = Rate(1).., source = "HPCC ns-3 configuration: 4 KB and 16 KB for each Gb/s",
        why = "no port has a rate of zero"
    )]
    pub reference_rate: Option<Rate>,
    /// Marking probability just below `kmax`.
    #[param(symbol = "Pmax", default = 0.01, range = 0.0..=1.0, source = "Zhu et al., SIGCOMM 2015", why = "that is not a probability")]
    pub pmax: f64,
    /// Marking from `kmax` on: `all` packets, or with the probability `pmax`, which is then never exceeded.
    #[param(
        default = AboveMaximum::All,
        source = "Zhu et al., SIGCOMM 2015: all; simulations of P802.1Qcz, 2018, name a Max Probability only"
    )]
    pub above_kmax: AboveMaximum,
    /// Weight of one arrival in the average queue length that is compared with `kmin` and `kmax`. Absent: no average, the current length.
    #[param(
        symbol = "w", range = >0.0..=1.0,
        source = "choice: DCTCP and DCQCN mark by the current length; Floyd and Jacobson 1993 (RED): 0.002",
        why = "that is no weight of an average"
    )]
    pub weight: Option<f64>,
    /// When a packet is marked: as it joins the queue (`enqueue`) or leaves it (`dequeue`).
    #[param(default = At::Dequeue, source = "choice: HPCC ns-3 switch and htsim mark on departure")]
    pub mark_at: At,
    /// At dequeue: whether the departing packet counts as part of the queue (htsim: yes; htsim_uec and ns-3: no).
    #[param(default = false, source = "htsim's ECN queue: true; htsim_uec's composite queue and ns-3: false")]
    pub count_departing: bool,
    /// Whether ports to hosts mark packets, too. `false`: only ports to switches mark.
    #[param(
        default = true,
        source = "choice: all ports; htsim_uec (ultraethernet/uet-htsim 40ccb052): false where receivers give credit"
    )]
    pub host_ports: bool,
    /// Classes whose packets are marked, each 0 to 7. Absent: all.
    #[param(each = 0..=7, source = "choice", why = "there is no such class")]
    pub classes: Option<Vec<u8>>,
}

impl Params {
    /// Returns whether this port marks.
    fn marks_at(&self, port: &PortShape) -> bool {
        self.host_ports || port.host.is_none()
    }

    /// Kmin and Kmax of a port, if it marks. A dynamic threshold may fall to zero.
    pub(super) fn thresholds(&self, port: &PortShape) -> Option<(Bytes, Bytes)> {
        let at_rate = |length: Bytes| length.at_rate(port.rate, self.reference_rate);
        let levels = match self.threshold {
            MarkingThreshold::Static => (at_rate(self.kmin), at_rate(self.kmax)),
            MarkingThreshold::Dynamic => (Bytes::ZERO, Bytes::ZERO),
        };
        self.marks_at(port).then_some(levels)
    }
}

/// Rate of the ports for which the defaults of `kmin` and `kmax` were published.
const PUBLISHED_FOR: Rate = Rate::gbps(40);

/// Parameters that these settings leave without effect.
pub(super) fn ineffective(params: &Params) -> Vec<Ineffective> {
    let mut ineffective = match params.threshold {
        MarkingThreshold::Static => Ineffective::all(&["offset", "floor"], "threshold", "threshold = \"dynamic\""),
        MarkingThreshold::Dynamic => {
            Ineffective::all(&["kmin", "kmax", "reference_rate"], "threshold", "threshold = \"static\"")
        }
    };
    if params.threshold == MarkingThreshold::Dynamic && params.above_kmax == AboveMaximum::All {
        ineffective.extend(Ineffective::all(&["pmax"], "above_kmax", "above_kmax = \"pmax\""));
    }
    if params.mark_at == At::Enqueue {
        ineffective.extend(Ineffective::all(&["count_departing"], "mark_at", "mark_at = \"dequeue\""));
    }
    ineffective
}

/// A dynamic threshold needs its offset, and switches whose queues have a limit to follow.
pub(super) fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    if params.threshold == MarkingThreshold::Static {
        return Vec::new();
    }
    let fatal = |key, reason: String, hint: &str| Finding { fatal: true, key, reason, hint: hint.into() };
    let mut findings = Vec::new();
    if params.offset.is_none() {
        let hint = "give offset, as with --set ecn.offset=\"500 KB\", or threshold = \"static\"";
        findings.push(fatal("offset", "a dynamic threshold needs offset".into(), hint));
    }
    let follows = |switch: &SwitchParams| {
        switch.architecture == Architecture::SharedMemory && switch.buffer_per != BufferPer::None
    };
    if let Some((shape, _)) = cx.switches.iter().zip(cx.switch_params).find(|(_, switch)| !follows(switch)) {
        let reason = format!(
            "a dynamic threshold follows the limit that the free memory leaves a queue, and queues of {} have none",
            shape.name
        );
        let hint = "switch.architecture = \"shared-memory\" with a limited buffer, where switch.alpha_egress sets the limit; or \
                    threshold = \"static\"";
        findings.push(fatal("threshold", reason, hint));
    }
    // The limit that a queue could have if all memory were free.
    let largest = |switch: &SwitchParams| {
        let of_free = switch.memory_of(cx.kept).times(switch.alpha_egress) + switch.queue_reserve;
        of_free.min(switch.queue_limit.unwrap_or(Bytes::MAX))
    };
    let most = cx.memories().filter(|(.., switch)| follows(switch)).map(|(.., switch)| largest(switch)).max();
    for (key, value, effect) in [
        ("offset", params.offset.unwrap_or_default(), "the threshold is always the floor"),
        ("floor", params.floor, "the threshold is always the limit itself"),
    ] {
        if let Some(limit) = most.filter(|limit| value >= *limit) {
            let reason = format!("{value} is not below the largest limit of a queue ({limit}): {effect}");
            findings.push(Finding::warning(key, reason, "lower it; is it KB or KiB?"));
        }
    }
    findings
}

/// Returns warnings about defaults that do not fit.
pub(super) fn check_defaults(params: &Params, shape: &SwitchShape) -> Vec<Finding> {
    if params.threshold == MarkingThreshold::Dynamic {
        return Vec::new();
    }
    let fastest = shape.ports.iter().filter(|port| params.marks_at(port)).map(|port| port.rate).max();
    let Some(rate) = fastest.filter(|rate| *rate > PUBLISHED_FOR && params.reference_rate.is_none()) else {
        return Vec::new();
    };
    let finding = |(key, length): (&'static str, Bytes)| {
        let reason = format!(
            "a default that was published for ports of {PUBLISHED_FOR} (Zhu et al., SIGCOMM 2015); {} has ports of {rate}, at which \
             {length} are {} instead of {}",
            shape.name,
            rate.time_for(length),
            PUBLISHED_FOR.time_for(length)
        );
        let hint = format!(
            "reference_rate = \"{PUBLISHED_FOR}\" raises kmin and kmax in proportion to the rate, as HPCC's ns-3 configuration has \
             them (4 KB and 16 KB for each Gb/s)"
        );
        Finding::warning(key, reason, hint)
    };
    [("kmax", params.kmax), ("kmin", params.kmin)].map(finding).into()
}
