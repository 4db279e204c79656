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
    /// Round-trip time of a full packet and its acknowledgement over the longest path of the idle network. It is the initial base RTT, and
    /// scales all constants.
    #[param(
        symbol = "network_rtt", default = Time(14_022_720), range = Time(1_000)..,
        source = "uet-htsim: 2 x latency + links x (full packet + acknowledgement); value: three tiers, 100 Gb/s, 1 us a link",
        why = "no packet takes no time"
    )]
    pub network_rtt: Time,
    /// Target queueing delay. Absent: `network_rtt` with `sleek`, else three quarters of it.
    #[param(
        symbol = "target_Qdelay", range = Time(1)..,
        source = "uet-htsim: 0.75 network_rtt with trimming, network_rtt without", why = "no queue is that short"
    )]
    pub target: Option<Time>,
    /// Window of a new flow, in bytes of frames. Absent: the widest window, 1.5 x rate x `network_rtt`.
    #[param(symbol = "cwnd at first", range = Bytes(1).., source = "uet-htsim: -cwnd", why = "nothing would be sent")]
    pub window: Option<Bytes>,
    /// Whether the NACK for a trimmed packet may lower the base RTT: it arrives earlier than other acknowledgements, because a trimmed
    /// packet carries headers only.
    #[param(default = true, source = "uet-htsim; off: -disable_base_rtt_update_on_nack")]
    pub base_rtt_from_trims: bool,
    /// Rules to follow: `htsim` (those of the public program) or `uec103` (UEC 1.0.3, as far as they are known).
    #[param(default = Variant::Htsim, source = "choice: the published runs are the program's")]
    pub variant: Variant,
    /// Width of the sum of window increments: `exact`, or 32 bits that wrap (`wrapping32`). The public program's sum wraps at 800 Gb/s. Use
    /// `wrapping32` only to reproduce its results.
    #[param(default = Accumulator::Exact, source = "uet-htsim: 32 bits")]
    pub accumulator: Accumulator,
    /// Whether receivers control the last hop by credit (RCCC). Packets trimmed there then do not reduce the window.
    #[param(default = false, source = "UEC 1.0: where RCCC is on too")]
    pub receiver_credit: bool,
    /// Whether senders infer losses from later packets that have arrived, and send probes when no acknowledgement arrives. Use it if
    /// switches do not trim.
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
