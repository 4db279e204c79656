//! The parameters of DCQCN, its presets, and their checks.

use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::hooks::{Claims, Finding, Needs, Preset, Profile, SwitchShape};
use backwater_net::packet::class_bits;
use backwater_net::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reaction point to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// As in the paper.
    Paper,
    /// Timer-driven, as in the public ns-3 code.
    Ns3,
}

/// Parameters of DCQCN.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Algorithm of the reaction point: `paper`, or `ns3` (acknowledgements echo the marks, and a timer decides on decreases).
    #[param(default = Law::Paper, source = "choice")]
    pub law: Law,
    /// NP: minimum time between two CNPs for one flow.
    #[param(symbol = "N", default = Time::us(50), range = Time::ZERO.., source = "SIGCOMM 2015 section 3.1")]
    pub cnp_interval: Time,
    /// NP: whether marks within `cnp_interval` after a CNP cause one CNP at the end of that interval.
    #[param(default = false, source = "choice; htsim: true")]
    pub cnp_trailing: bool,
    /// NP: class of CNPs, 0 to 7.
    #[param(default = Some(6), range = 0..=7, source = "choice: mlx5 default 6", why = "there is no such class")]
    pub cnp_class: Option<u8>,
    /// NP: frame length of a CNP.
    #[param(
        default = Bytes(78), range = Bytes(64)..=Bytes(1 << 20), source = "RoCEv2, InfiniBand annex A17: 74 B and FCS",
        why = "such a CNP is no Ethernet frame"
    )]
    pub cnp_size: Bytes,
    /// Gain of alpha, the estimate of congestion.
    #[param(
        symbol = "g", default = 1.0 / 256.0, range = >0.0..=1.0, source = "SIGCOMM 2015 section 5",
        why = "such a gain does nothing or overshoots"
    )]
    pub g: f64,
    /// Time without a CNP after which alpha decays.
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
    /// Number of the stage at which fast recovery ends.
    #[param(symbol = "F", default = 5, range = 0.., alias = "rpg-threshold", source = "SIGCOMM 2015 section 3.1")]
    pub f: u32,
    /// Additive increase of the target rate.
    #[param(symbol = "Rai", default = Rate(40_000_000), range = Rate(0).., alias = "rpg-ai-rate", source = "SIGCOMM 2015 section 5")]
    pub rai: Rate,
    /// Hyper increase of the target rate.
    #[param(symbol = "Rhai", default = Rate(400_000_000), range = Rate(0).., alias = "rpg-hai-rate", source = "choice: 10 x Rai")]
    pub rhai: Rate,
    /// Minimum rate of a flow.
    #[param(
        default = Rate(100_000_000), range = Rate(1).., up_to = "the line rate", alias = "rpg-min-rate",
        source = "ns3-rdma config: 100 Mb/s", why = "a flow at rate zero never sends again"
    )]
    pub min_rate: Rate,
    /// Whether every rate decrease sets Rt = Rc. `false` (`ns3` only): a decrease sets it only if the rate has increased since the previous
    /// decrease.
    #[param(default = true, source = "SIGCOMM 2015; HPCC ns-3 config: false")]
    pub clamp_target: bool,
    /// `ns3`: time between two checks for marks. A check decreases the rate once if a mark has arrived since the previous check.
    #[param(default = Time::us(4), range = Time(1).., source = "HPCC ns-3 config: 4 us", why = "a timer of zero never ends")]
    pub decrease_interval: Time,
    /// `paper`: whether fast recovery includes the stage with the number `f`. As published, it ends before that stage.
    #[param(default = false, source = "SIGCOMM 2015: false; htsim: true")]
    pub recover_through_f: bool,
    /// `paper`: whether timers run and alpha decays before a flow's first CNP.
    #[param(default = false, source = "choice; htsim: true")]
    pub timers_from_start: bool,
    /// `paper`: one alpha for all flows of the run instead of one per queue pair. Use it only to reproduce results of
    /// simulators that share alpha.
    #[param(default = false, source = "SIGCOMM 2015: false; htsim: true")]
    pub shared_alpha: bool,
    /// `paper`: whether the alpha timer restarts when it expires. With `false`, alpha then decays with each packet sent until the
    /// next CNP. A public simulator has this error; use `false` only to examine its results.
    #[param(default = true, source = "SIGCOMM 2015: true; public UEC htsim: false")]
    pub alpha_timer_restarts: bool,
}

/// Rate of the links for which the default of `rai` was published.
const PUBLISHED_FOR: Rate = Rate::gbps(40);

/// Settings by name.
pub(super) const PRESETS: &[Preset] = &[
    // Values that depend on the rate are given, so that users of the preset get no warning about a default.
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

/// Returns its effects on others and its needs.
pub(super) fn profile(params: &Params) -> Profile {
    Profile {
        claims: Claims { flow_rate: true, ..Claims::NONE },
        needs: Needs { notified: true, acks: params.law == Law::Ns3, ..Needs::default() },
        heeds: true,
        classes: class_bits(&params.cnp_class),
        couples: (params.law == Law::Paper && params.shared_alpha).then_some("has state that all nodes share at once"),
        ..Profile::default()
    }
}

/// Returns warnings about defaults that do not fit.
pub(super) fn check_defaults(params: &Params, shape: &SwitchShape) -> Vec<Finding> {
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
