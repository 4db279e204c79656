//! NSCC, Network Signaled Congestion Control — UEC 1.0, section 3.6.13, as `htsim_uec` has it (ultraethernet/uet-htsim, commit 40ccb052).
//!
//! The sender's window follows two signals, marks and delay. Late without a mark, it grows fairly; with neither, in
//! proportion to the difference from the target. With both, it shrinks by the mean delay; marked packets that are not
//! late are left to load balancing. A trimmed packet reduces the window by its size. Where much is lost, the window
//! becomes the bytes that arrived meanwhile (quick adapt). [`window`] has the law with its symbols; this file feeds it
//! with the events of a run.
//!
//! ```text
//! send a packet of s bytes if  cwnd >= in_flight + s                      bytes of frames, headers included
//! ACK       n = bytes that the receiver counted since the previous ACK;  d = rtt - base_rtt of the acknowledged packet;  e = mark of that packet
//! trim      n = bytes of the packet;  d = network_rtt;  e = 1
//! timeout   cwnd -= the packet
//! ```
//!
//! Where switches do not trim, `sleek` infers losses from later packets that have arrived ([`sleek`]). Retransmissions of a recovery do not
//! wait for the window. If acknowledgements stop, the sender sends a probe of 64 B ahead of its waiting data. In switches the probe waits
//! in the same queues as data. The receiver acknowledges it at once:
//!
//! ```text
//! ACK of a probe    last probe: d = max(rtt - base_rtt, 0);  earlier probe: d = mean delay;  base_rtt does not change
//! ```
//!
//! **Frames:** a probe is a control packet of UET, of type 6, with its number as the probe's opaque value; the receiver
//! returns an ACK_CC with the flag P.
//!
//! # Not modelled
//! - the receiver's window penalty (`Rcv_Cwnd_Pen`), which the public program never sets
//! - with `sleek`: entropy values and ECN marks of probes; probes take the flow's own path
//! - a window for each destination that several connections share
//!
//! # Differences
//! - Each flow is a connection, so that windows are not shared between messages.
//! - Where the program and UEC 1.0.3 differ, `variant` chooses whose rule applies ([list](docs/modelling/nscc.md#where-program-and-specification-differ)).

mod config;
pub mod sleek;
pub mod window;
mod wire;

pub use config::Params;

use self::sleek::{Seen, Sleek};
use self::window::{Acked, Setting, Timed, Trimmed, Window};
use self::wire::{PROBE, Word};
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::address::pdc_ids;
use backwater_net::hooks::{
    Ack, Activity, Carrier, CheckCx, Claims, Count, Counted, Cut, Fate, Finding, FlowCx, FlowShape, FlowSide, Loss,
    Margin, Mechanism, Needs, NicCx, NicShape, NicSide, Preset, Profile, Unit, WireCx,
};
use backwater_net::packet::{Control, Port};
use backwater_wire::{Emit, uet};
use std::any::TypeId;

/// The sender of one flow.
#[derive(backwater_derive::State)]
pub struct Sender {
    window: Window,
    sleek: Option<Box<Sleek>>,
    /// When the set timer expires; never: no timer is set.
    alarm: Time,
    #[state(fixed)]
    lowers_base: bool,
    /// T
    #[state(fixed)]
    target: Time,
    /// number of times that the window was narrowed
    cuts: u64,
    /// greatest delay
    greatest: Time,
}

// The specification.
#[backwater_derive::hooks]
impl FlowSide for Sender {
    #[inline(always)]
    fn window(&self) -> Option<Bytes> {
        Some(Bytes(self.window.cwnd()))
    }

    fn retransmission_window(&self) -> Option<Bytes> {
        // htsim_uec, SLEEK: retransmissions in recovery do not wait for the window.
        if self.recovers() { None } else { self.window() }
    }

    #[inline(always)]
    fn may_send(&self, in_flight: Bytes, next: Bytes, retransmission: bool) -> bool {
        // UEC 1.0 3.6.13, as htsim_uec has it: the next packet must fit as well.
        self.window.cwnd() >= in_flight.0 + next.0 || retransmission && self.recovers()
    }

    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        let Some(counted) = ack.counted else { return };
        let before = self.window.cwnd();
        let (of, rtt) = match (counted.probe, &self.sleek) {
            (Some(probe), Some(sleek)) => (Timed::Probe, sleek.rtt_of(probe, cx.now())),
            _ => (Timed::Data, counted.timed.then_some(ack.rtt)),
        };
        let (base_rtt, avg_delay) = (self.window.base_rtt(), self.window.avg_delay());
        self.greatest = self.greatest.max(rtt.map_or(Time::ZERO, |rtt| rtt.since(base_rtt)));
        // UEC 1.0 3.6.13: bytes by the receiver's count, delay and mark of the packet that is answered.
        self.window.on_ack(
            cx.now(),
            &Acked { rtt, of, marked: ack.marked, bytes: counted.bytes, in_flight: counted.in_flight },
        );
        self.count_decrease(before);
        if self.sleek.is_some() {
            let delay = rtt.map_or(avg_delay, |rtt| rtt.since(base_rtt));
            // htsim_uec, SLEEK: a probe without delay begins a recovery.
            let prompt = of == Timed::Probe && delay < self.target;
            self.recover(cx, counted, prompt);
        }
    }

    fn timeout_is_loss(&mut self, number: u64, retransmission: bool, since: Time) -> bool {
        self.sleek.as_mut().is_none_or(|sleek| sleek.timeout_is_loss(number, retransmission, since))
    }

    fn on_timer(&mut self, cx: &mut FlowCx<'_>, _: u16) {
        // The timer has been set again since, for an earlier time.
        if cx.now() != self.alarm {
            return;
        }
        self.alarm = Time::NEVER;
        let Some(sleek) = &mut self.sleek else { return };
        if let Some(number) = sleek.on_timer(cx.now(), self.window.base_rtt()) {
            let &FlowShape { src, dst, class, .. } = cx.shape();
            let frame = Control::carrying(PROBE, Control::MIN_FRAME, number, &Word { number, src });
            cx.send(dst, class, Control { flow: cx.flow(), ..frame });
        }
        self.set_alarm(cx);
    }

    #[cold]
    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
        let before = self.window.cwnd();
        match loss {
            Loss::Trimmed(Cut { bytes, rtt, in_flight, last_hop, returned, .. }) => {
                // UEC 1.0 3.6.13: a trimmed packet. htsim_uec lowers the base RTT by its round trip.
                let lowers_base = self.lowers_base && !returned;
                self.window.on_trim(cx.now(), &Trimmed { rtt, lowers_base, bytes, in_flight, last_hop });
            }
            // UEC 1.0 3.6.13: a loss that is inferred.
            Loss::Timeout { bytes } => self.window.on_timeout(bytes),
            Loss::Gap => {}
        }
        self.count_decrease(before);
    }

    fn activity(&self) -> Activity {
        let (peak, threshold) = (self.greatest.0, self.target.0);
        let margin = Margin { of: "greatest delay of a packet", unit: Unit::Time, peak, threshold };
        Activity { acts: self.cuts, margin: Some(margin) }
    }
}

impl Sender {
    fn count_decrease(&mut self, before: u64) {
        self.cuts += u64::from(self.window.cwnd() < before);
    }

    fn recovers(&self) -> bool {
        self.sleek.as_ref().is_some_and(|sleek| sleek.recovers())
    }

    #[cold]
    fn recover(&mut self, cx: &mut FlowCx<'_>, counted: &Counted, prompt: bool) {
        let Some(sleek) = &mut self.sleek else { return };
        let seen = Seen {
            cumulative: counted.cumulative,
            beyond: counted.beyond,
            next: counted.next,
            has_retransmissions: counted.has_retransmissions,
            unsent: counted.unsent,
            prompt,
            cwnd: self.window.cwnd(),
            maxwnd: self.window.maxwnd(),
            base_rtt: self.window.base_rtt(),
        };
        let lost = sleek.on_ack(cx.now(), &seen, |number| cx.is_in_flight(number));
        lost.into_iter().for_each(|number| cx.give_up(number));
        self.set_alarm(cx);
    }

    /// Timers are never cancelled: one that expires too early is set again.
    fn set_alarm(&mut self, cx: &mut FlowCx<'_>) {
        let due = self.sleek.as_ref().map_or(Time::NEVER, |sleek| sleek.due());
        if due < self.alarm {
            self.alarm = due;
            cx.arm(due, 0);
        }
    }
}

/// An interface that answers probes.
#[derive(backwater_derive::State)]
pub struct Receiver {
    probes: u64,
}

#[backwater_derive::hooks]
impl NicSide for Receiver {
    fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
        let Some((word, flow)) = frame.message::<Word>().zip(frame.flow) else { return Fate::Passed };
        self.probes += u64::from(!cx.is_over());
        // htsim_uec, SLEEK: probes are acknowledged at once.
        cx.acknowledge(word.src, flow, word.number);
        Fate::Consumed
    }

    fn counts(&self, _: Time) -> Vec<Count> {
        Vec::from_iter((self.probes > 0).then_some((Port(0), "probes", self.probes)))
    }
}

/// NSCC.
pub enum Nscc {}

#[backwater_derive::mechanism]
impl Mechanism for Nscc {
    const NAME: &'static str = "nscc";
    const DEFINED_BY: &'static str = "UEC 1.0, section 3.6.13";
    const SUMMARY: &'static str = "adapts each flow's window by marks, delay and trimmed packets";
    const INACTIVE: &'static str = "never narrowed a window";
    const PRESETS: &'static [Preset] = &[
        Preset { name: "uet-htsim", source: "ultraethernet/uet-htsim 40ccb052, default topology", toml: "" },
        Preset {
            name: "uec-1.0.3",
            source: "UEC 1.0.3, as a public implementation reads it",
            toml: "variant = \"uec103\"\n",
        },
    ];
    const FRAMES: &'static [&'static str] = &[PROBE];
    const MESSAGE: TypeId = TypeId::of::<Word>();
    const VALUE: &'static str = "of probe its number, counted by its sender from 1";
    const COUNTERS: &'static str = "probes (received for flows in progress)";
    type Nic = Receiver;
    type Flow = Sender;

    fn profile(params: &Params) -> Profile {
        Profile {
            claims: Claims { flow_rate: true, ..Claims::NONE },
            needs: Needs { acks: true, window: true, recovery: true, counts: true, ..Needs::default() },
            longest_message: Bytes(if params.sleek { u64::from(Control::MIN_FRAME) } else { 0 }),
            ..Profile::default()
        }
    }

    fn octets(frame: &Control, _: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        let word = frame.message::<Word>()?;
        let (source, destination) = frame.flow.map_or((0, 0), pdc_ids);
        let (kind, probe) = (uet::Control::PROBE, word.number as u16);
        uet::Control { kind, probe, source, destination, ..uet::Control::default() }.append(octets).ok()?;
        Some(Carrier::Udp(uet::PORT))
    }

    fn nic(params: &Params, _: &NicShape) -> Option<Receiver> {
        params.sleek.then_some(Receiver { probes: 0 })
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        let mut findings = params.round_trip_findings(cx);
        if let Some(name) = cx.cut_by.filter(|_| params.sleek) {
            let reason = format!(
                "`sleek` finds losses where switches drop, and `{name}` cuts: senders are told of each packet that finds no memory, and packets \
                 that overtake others are taken for the sign of a loss"
            );
            findings.push(Finding::warning("sleek", reason, format!("sleek = false, or {name} = false")));
        }
        findings
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<Sender> {
        let Time(rtt) = params.network_rtt;
        // htsim_uec: 0.75 of the round trip where switches trim, all of it otherwise.
        let share = if params.sleek { rtt } else { rtt / 4 * 3 + rtt % 4 * 3 / 4 };
        let target = params.target.unwrap_or(Time(share));
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
            sleek: params.sleek.then(|| Box::new(Sleek::new(sleek::Setting { mss: setting.mss, target }))),
            alarm: Time::NEVER,
            lowers_base: params.base_rtt_from_trims,
            target,
            cuts: 0,
            greatest: Time::ZERO,
        })
    }
}
