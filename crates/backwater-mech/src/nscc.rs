//! NSCC, Network Signaled Congestion Control — UEC 1.0, section 3.6.13, as `htsim_uec` has it (ultraethernet/uet-htsim, commit 40ccb052).
//!
//! The sender's window follows two signals, marks and delay: without a mark and late it grows fairly, without either in proportion to
//! what is left to the target, with both it shrinks by the mean delay; marked packets that are not late are left to load balancing. A
//! packet that was cut takes itself off the window, and where much is lost the window becomes what has arrived meanwhile (quick adapt).
//! [`crate::uet::nscc`] has the law with its symbols; this file says what of a run goes into it.
//!
//! ```text
//! send a packet of s bytes if  cwnd >= in_flight + s                      bytes of frames, headers included
//! ACK       n = what the receiver has counted since;  d = rtt - base_rtt of the packet that it answers;  e = its mark
//! cut       n = the packet;  d = network_rtt, e = 1
//! timeout   cwnd -= the packet
//! ```
//!
//! **Not modelled:** the receiver's window penalty (`Rcv_Cwnd_Pen`), which the public program never sets.
//! **Where we differ:** each flow is a connection, so that windows are not shared between messages.
//! **Where the program and UEC 1.0.3 differ**, `variant` says whose rule is meant.

use crate::uet::nscc::{Accumulator, Acked, Setting, Trimmed, Variant, Window};
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::{
    Absent, Ack, CheckCx, Claims, Cut, Extra, Finding, FlowCx, FlowShape, FlowSide, Loss, Margin, Mechanism, Needs,
    Preset, Profile, Reach, RoundTrip, Unit,
};

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
    /// Delay that is aimed at. Absent: three quarters of `network_rtt`, for switches that trim.
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
}

/// NSCC.
pub enum Nscc {}

impl Mechanism for Nscc {
    const NAME: &'static str = "nscc";
    const DEFINED_BY: &'static str = "UEC 1.0, section 3.6.13";
    const SUMMARY: &'static str = "adapts each flow's window by marks, delay and trimmed packets";
    const IDLE: &'static str = "never narrowed a window";
    const PRESETS: &'static [Preset] = &[
        Preset { name: "uet-htsim", source: "ultraethernet/uet-htsim 40ccb052, default topology", toml: "" },
        Preset {
            name: "uec-1.0.3",
            source: "UEC 1.0.3, as a public implementation reads it",
            toml: "variant = \"uec103\"\n",
        },
    ];
    const EXTRA: Extra = Extra { permits: true, ..Extra::NONE };
    type Params = Params;
    type Shared = ();
    type Switch = Absent;
    type Nic = Absent;
    type Flow = Sender;

    fn profile(_: &Params) -> Profile {
        Profile {
            claims: Claims { flow_rate: true, ..Claims::NONE },
            needs: Needs { acks: true, window: true, recovery: true, counts: true, ..Needs::default() },
            ..Profile::default()
        }
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        let Some(RoundTrip { time, between: (from, to) }) = cx.round_trip else { return Vec::new() };
        if time <= params.network_rtt {
            return Vec::from_iter(crate::uet::checks::too_long(params.network_rtt, cx));
        }
        let reason = format!(
            "{} is shorter than the round trip of the idle network, {time} from {from} to {to} and back: the base RTT stays below every \
             round trip, and a flow alone there is never without delay",
            params.network_rtt
        );
        let hint = format!("that of the longest way, such as \"{time}\"");
        vec![Finding::warning("network_rtt", reason, hint)]
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<Sender> {
        let target = params.target.unwrap_or(Time(params.network_rtt.0 / 4 * 3 + params.network_rtt.0 % 4 * 3 / 4));
        let setting = Setting {
            rate: shape.line,
            mtu: shape.frame.0,
            mss: shape.payload.0,
            network_rtt: params.network_rtt,
            target,
            receiver_credit: params.receiver_credit,
            accumulator: params.accumulator,
            variant: params.variant,
        };
        Some(Sender {
            window: Window::new(setting, params.window),
            lowers_base: params.base_rtt_from_trims,
            target,
            cuts: 0,
            greatest: Time::ZERO,
        })
    }
}

/// The sender of one flow.
#[derive(backwater_derive::State)]
pub struct Sender {
    window: Window,
    #[state(fixed)]
    lowers_base: bool,
    /// T
    #[state(fixed)]
    target: Time,
    /// times that the window was narrowed
    cuts: u64,
    /// greatest delay
    greatest: Time,
}

// The specification.
impl FlowSide for Sender {
    #[inline(always)]
    fn window(&self) -> Option<Bytes> {
        Some(Bytes(self.window.cwnd()))
    }

    #[inline(always)]
    fn permits(&self, in_flight: Bytes, next: Bytes) -> bool {
        self.window.cwnd() >= in_flight.0 + next.0
    }

    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        let Some(counted) = ack.counted else { return };
        let before = self.window.cwnd();
        let rtt = counted.timed.then_some(ack.rtt);
        self.greatest = self.greatest.max(rtt.map_or(Time::ZERO, |rtt| rtt.since(self.window.base_rtt())));
        self.window.on_ack(
            cx.now(),
            &Acked { rtt, lowers_base: true, marked: ack.marked, bytes: counted.bytes, in_flight: counted.in_flight },
        );
        self.note(before);
    }

    #[cold]
    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
        let before = self.window.cwnd();
        match loss {
            Loss::Trimmed(Cut { bytes, rtt, in_flight, last_hop, returned, .. }) => {
                let lowers_base = self.lowers_base && !returned;
                self.window.on_trim(cx.now(), &Trimmed { rtt, lowers_base, bytes, in_flight, last_hop });
            }
            Loss::Timeout { bytes } => self.window.on_timeout(bytes),
            Loss::Gap => {}
        }
        self.note(before);
    }

    fn reach(&self) -> Reach {
        let (peak, threshold) = (self.greatest.0, self.target.0);
        let margin = Margin { of: "greatest delay of a packet", unit: Unit::Time, peak, threshold };
        Reach { acts: self.cuts, margin: Some(margin) }
    }
}

impl Sender {
    fn note(&mut self, before: u64) {
        self.cuts += u64::from(self.window.cwnd() < before);
    }
}
