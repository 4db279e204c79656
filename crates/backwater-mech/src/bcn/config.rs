//! The parameters of BCN, its presets, and their checks.

use crate::confined::disagreement;
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::config::BufferPer;
use backwater_net::hooks::{CheckCx, Claims, Finding, Ineffective, Preset, Profile, SwitchShape};
use backwater_net::packet::class_bits;
use backwater_net::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How frames are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Intervals uniform between `sample - jitter` and `sample + jitter`.
    Uniform,
    /// Intervals uniform between `sample - jitter` and `sample`: shorter than the nominal on average.
    BelowNominal,
    /// Each frame independently, with probability size / `sample`.
    Bernoulli,
}

/// What determines whether a message is positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SignRule {
    /// Fb: negative to any source, positive to tagged frames of this queue, no message if Fb is 0.
    Fb,
    /// The queue: above Qeq a message for each sample, otherwise only for tagged frames of this queue.
    Q,
}

/// Parameters of Backward Congestion Notification.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Classes whose queues are congestion points, each 0 to 7. An empty list in a `[[bcn.at]]` switches the congestion points of its
    /// switches off.
    #[param(default = vec![3], each = 0..=7, source = "choice: RoCEv2 deployments commonly use 3", why = "there is no such class")]
    pub classes: Vec<u8>,
    /// CP: queue length to maintain. Absent: a quarter of the memory of its port, where `switch.buffer_per` is `egress` or `queue`.
    #[param(
        symbol = "Qeq", range = Bytes(1).., up_to = "below the buffer", source = "document of 2007: B/4; of 2006: 24 KB",
        why = "a queue of nothing cannot be held"
    )]
    pub qeq: Option<Bytes>,
    /// CP and RP: weight of the queue's change relative to its length.
    #[param(symbol = "W", default = 2.0, range = 0.0..=1000.0, source = "documents of 2006 and 2007")]
    pub w: f64,
    /// CP: accepted bytes between two samples, the nominal value.
    #[param(
        symbol = "S_mean", default = Bytes(150_000), range = Bytes(1).., source = "document of 2006; of 2007: 75 KB",
        why = "every frame would be a sample"
    )]
    pub sample: Bytes,
    /// CP: largest random deviation of the sampling interval from `sample`.
    #[param(default = Bytes(20_000), range = Bytes::ZERO..sample, source = "document of 2006", why = "an interval would be empty")]
    pub jitter: Bytes,
    /// CP: sampling intervals: `uniform` (sample ± jitter), `below-nominal` (sample - jitter to sample), or `bernoulli` (each frame with
    /// probability size / sample).
    #[param(default = Sampling::Uniform, source = "documents: 'on average'; below-nominal: calibrated on their results")]
    pub sampling: Sampling,
    /// CP: whether Qoff is limited to ± Qeq.
    #[param(default = true, source = "choice: the formulas of the gains imply it")]
    pub clamp_qoff: bool,
    /// CP: whether Qdelta is limited to ± 2 Qeq.
    #[param(default = true, source = "choice: the formulas of the gains imply it")]
    pub clamp_qdelta: bool,
    /// CP: what determines the sign of a message: `fb`, or the comparison of the queue's length `q` with Qeq.
    #[param(default = SignRule::Fb, source = "choice; q: the first contributions")]
    pub sign_rule: SignRule,
    /// CP: queue length above which congestion is severe. Absent: three quarters of the memory of its port, where `switch.buffer_per` is
    /// `egress` or `queue`.
    #[param(
        symbol = "Qsc", range = qeq.., up_to = "the buffer", source = "choice: calibrated on the document of 2007",
        why = "severe congestion begins above the equilibrium"
    )]
    pub qsc: Option<Bytes>,
    /// CP: whether severe congestion sends BCN(0,0), which stops a source. It takes precedence over `bcn_max`.
    #[param(default = false, source = "off in both documents")]
    pub bcn_00: bool,
    /// CP: whether severe congestion sends BCN(MAX), the strongest decrease.
    #[param(default = false, source = "off in the document of 2006, on in that of 2007")]
    pub bcn_max: bool,
    /// CP: factor by which severe congestion increases the sampling rate. 1: oversampling is off.
    #[param(
        default = 1, range = 1..=1000, source = "off in both documents; 2007 shows it without a number",
        why = "there would be no samples"
    )]
    pub oversampling: u32,
    /// CP: class of messages, 0 to 7.
    #[param(default = 6, range = 0..=7, source = "choice: as QCN's", why = "there is no such class")]
    pub message_class: u8,
    /// CP: frame length of a message.
    #[param(
        default = Bytes(64), range = Bytes(64)..=Bytes(1 << 20), source = "choice: the layout is not published",
        why = "such a message is no Ethernet frame"
    )]
    pub message_size: Bytes,
    /// RP: time from the arrival of a message until it takes effect.
    #[param(default = Time::ZERO, range = Time::ZERO.., source = "document of 2006: 1 us")]
    pub response_time: Time,
    /// RP: unit of an increase, if `gi` is given.
    #[param(symbol = "Ru", default = Rate(1_000_000), range = Rate(0).., source = "documents of 2006 and 2007")]
    pub ru: Rate,
    /// RP: increase in units of `ru` for each `gain_unit` of Fb. Absent: by formula, a tenth of the line rate for the strongest message.
    #[param(symbol = "Gi", range = 0.0.., source = "document of 2006 prints 12.42 for a frame of 1500 B")]
    pub gi: Option<f64>,
    /// RP: relative decrease for each `gain_unit` of Fb. Absent: by formula, one half for the strongest message.
    #[param(symbol = "Gd", range = 0.0.., source = "document of 2006 prints 0.00609 for a frame of 1500 B")]
    pub gd: Option<f64>,
    /// RP: number of bytes of Fb to which the gains `gi` and `gd` apply.
    #[param(default = Bytes(1_500), range = Bytes(1).., source = "documents of 2006 and 2007: frames of 1500 B", why = "gains for nothing")]
    pub gain_unit: Bytes,
    /// RP: least rate of a flow.
    #[param(
        symbol = "Rmin", default = Rate(1_000_000), range = Rate(1).., up_to = "the line rate", source = "choice: Ru",
        why = "a flow at rate zero never sends again"
    )]
    pub min_rate: Rate,
    /// RP: rate that the first message decreases. Absent: the line rate.
    #[param(range = min_rate.., up_to = "the line rate", source = "choice: calibrated on the document of 2007")]
    pub initial_rate: Option<Rate>,
    /// RP: longest duration of a first STOP.
    #[param(symbol = "Tmax", default = Time::us(100), range = Time::ZERO.., source = "choice: no document gives it")]
    pub stop_time: Time,
    /// RP: longest duration of any STOP, however often repeated.
    #[param(default = Time::ms(10), range = stop_time.., source = "choice: no document gives it")]
    pub stop_time_max: Time,
    /// RP: divisor of the line rate that gives the rate after a first STOP.
    #[param(symbol = "K", default = 10, range = 1..=1_000_000, source = "choice: no document gives it", why = "that divides by nothing")]
    pub restart_divisor: u32,
    /// RP: increase of the rate after each `self_increase_interval` without a message. 0 b/s: self-increase is off.
    #[param(default = Rate(0), range = Rate(0).., source = "off in both documents")]
    pub self_increase: Rate,
    /// RP: time between two self-increases.
    #[param(default = Time::ms(1), range = Time(1).., source = "choice", why = "a timer of zero never ends")]
    pub self_increase_interval: Time,
    /// RP: time without a message after which a reaction point ends. Absent: it never ends.
    #[param(range = Time(1).., source = "choice: off", why = "a reaction point would never begin")]
    pub ageing: Option<Time>,
}

impl Params {
    /// Qeq at a port with this memory.
    pub(super) fn qeq(&self, port_buffer: Option<Bytes>) -> Option<Bytes> {
        self.qeq.or(port_buffer.map(|b| Bytes(b.0 / 4)))
    }

    /// Qsc at a port with this memory. If it only affects what messages report about congestion: the given value, else more than any queue.
    pub(super) fn qsc(&self, port_buffer: Option<Bytes>) -> Option<Bytes> {
        if !self.bcn_00 && !self.bcn_max && self.oversampling <= 1 {
            return Some(self.qsc.unwrap_or(Bytes::MAX));
        }
        self.qsc.or(port_buffer.map(|b| Bytes(b.0 / 4 * 3)))
    }
}

fn fatal(key: &'static str, reason: String, hint: &str) -> Finding {
    Finding { fatal: true, key, reason, hint: hint.into() }
}

/// Checks that Qeq and Qsc are known and in order.
pub(super) fn thresholds(params: &Params, shape: &SwitchShape, buffer: Option<Bytes>) -> Option<Finding> {
    let unknown = |key, share| {
        let reason = format!("is missing, and {} does not limit what waits for one port", shape.name);
        fatal(key, reason, &format!("give it, or set switch.buffer_per = \"egress\": then it is {share} of the buffer"))
    };
    let Some(qeq) = params.qeq(shape.port_buffer) else { return Some(unknown("qeq", "a quarter")) };
    let Some(qsc) = params.qsc(shape.port_buffer) else { return Some(unknown("qsc", "three quarters")) };
    if let Some(buffer) = buffer.filter(|buffer| qeq >= *buffer) {
        let reason = format!("qeq ({qeq}) is not below the buffer of {} ({buffer})", shape.name);
        return Some(fatal("qeq", reason, "loss or PAUSE comes before any message; is it KB or KiB?"));
    }
    let reason = || format!("qsc ({qsc}) is below qeq ({qeq})");
    (qsc < qeq).then(|| fatal("qsc", reason(), "severe congestion begins above the equilibrium"))
}

/// Settings by name.
pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "pause-2006",
        source: "BCN + Pause Simulation Results, October 2006",
        toml: "qeq = \"24 KB\"\nsample = \"150 KB\"\njitter = \"20 KB\"\nresponse_time = \"1 us\"\n",
    },
    Preset {
        name: "delay-2007",
        source: "Kwan and Ding, Effects of Delay, February 2007; jitter as in 2006, Qeq a quarter of the port's memory",
        toml: "sample = \"75 KB\"\njitter = \"20 KB\"\nbcn_max = true\n",
    },
];

/// Returns its effects on others and its needs.
pub(super) fn profile(params: &Params) -> Profile {
    Profile {
        claims: Claims { flow_rate: true, packet_tag: true, ..Claims::NONE },
        classes: class_bits(&[params.message_class]),
        longest_message: params.message_size,
        ..Profile::default()
    }
}

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    let mut findings = Vec::from_iter(disagreement(&params.classes, cx));
    if !params.classes.is_empty() {
        for (shape, switch) in cx.switches.iter().zip(cx.switch_params) {
            let buffer = (switch.buffer_per != BufferPer::None).then(|| switch.buffer_of(class_bits(&params.classes)));
            findings.extend(thresholds(params, shape, buffer));
        }
    }
    findings
}

/// Parameters that these settings leave without effect.
pub(super) fn ineffective(params: &Params) -> Vec<Ineffective> {
    match params.self_increase {
        Rate(0) => Ineffective::all(&["self_increase_interval"], "self_increase", "self_increase above 0"),
        _ => Vec::new(),
    }
}
