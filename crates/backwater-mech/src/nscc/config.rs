//! Parameters of NSCC, the scenario's table `nscc`.

use super::window::{Accumulator, Variant};
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::{CheckCx, Finding, RoundTrip};

/// Parameters of NSCC.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Round trip of a full packet and its acknowledgement through the idle network, for the longest way: the base RTT at first, and what all constants are scaled by.
    #[param(
        symbol = "network_rtt", default = Time(14_022_720), range = Time(1_000)..,
        source = "uet-htsim: 2 x latency + links x (full packet + acknowledgement); value: three tiers, 100 Gb/s, 1 us a link",
        why = "no packet takes no time"
    )]
    pub network_rtt: Time,
    /// Delay that is aimed at. Absent: three quarters of `network_rtt`, for switches that trim, and `network_rtt` with `sleek`.
    #[param(
        symbol = "target_Qdelay", range = Time(1)..,
        source = "uet-htsim: 0.75 network_rtt with trimming, network_rtt without", why = "no queue is that short"
    )]
    pub target: Option<Time>,
    /// Window of a new flow in bytes of frames. Absent: as wide as it may be, 1.5 x rate x `network_rtt`.
    #[param(symbol = "cwnd at first", range = Bytes(1).., source = "uet-htsim: -cwnd", why = "nothing would be sent")]
    pub window: Option<Bytes>,
    /// Whether the answer to a packet that was cut may lower the base RTT: it comes sooner than any other, since a header crosses the rest of the way.
    #[param(default = true, source = "uet-htsim; off: -disable_base_rtt_update_on_nack")]
    pub base_rtt_from_trims: bool,
    /// Whose rules: `htsim` (the public program's) or `uec103` (UEC 1.0.3, as far as they are known).
    #[param(default = Variant::Htsim, source = "choice: the published runs are the program's")]
    pub variant: Variant,
    /// Width of the sum of increments: `exact`, or `wrapping32` as in the public program, which wraps at 800 Gb/s. Only to reproduce its results.
    #[param(default = Accumulator::Exact, source = "uet-htsim: 32 bits")]
    pub accumulator: Accumulator,
    /// Whether receivers own the last hop, by credit, so that what is cut there leaves the window alone.
    #[param(default = false, source = "UEC 1.0: where RCCC is on too")]
    pub receiver_credit: bool,
    /// Whether senders find losses by what has come beyond them, and ask by probes where nothing comes: for switches that do not trim.
    #[param(default = false, source = "uet-htsim: -sleek")]
    pub sleek: bool,
}

impl Params {
    pub(super) fn round_trip_findings(&self, cx: &CheckCx<'_>) -> Vec<Finding> {
        let Some(RoundTrip { time, between: (from, to) }) = cx.round_trip else { return Vec::new() };
        if time <= self.network_rtt {
            return Vec::from_iter(crate::uec_checks::too_long(self.network_rtt, cx));
        }
        let reason = format!(
            "{} is shorter than the round trip of the idle network, {time} from {from} to {to} and back: the base RTT stays below every \
             round trip, and a flow alone there is never without delay",
            self.network_rtt
        );
        let hint = format!("that of the longest way, such as \"{time}\"");
        vec![Finding::warning("network_rtt", reason, hint)]
    }
}
