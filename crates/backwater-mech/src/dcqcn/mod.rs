//! DCQCN — Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015.
//!
//! The switch marks packets (congestion point, CP: see [`crate::ecn`]). The receiver's NIC returns CNPs for marked
//! packets (notification point, NP). The sender's NIC keeps a current rate Rc, a target rate Rt and an estimate of
//! congestion alpha for each queue pair (reaction point, RP).
//!
//! ```text
//! N, K, T: cnp_interval, alpha_timer, rate_timer.  B: byte_counter.  F: f.  Rai, Rhai: rai, rhai.
//! t, b: stages by time and by bytes since the last CNP (the paper writes T and BC)
//!
//! NP: marked packet, and no CNP for its flow in the last N:  send a CNP
//! RP: CNP arrives         Rt = Rc; Rc = Rc (1 - alpha/2); alpha = (1-g) alpha + g; t = b = 0; restart timers, byte counter
//!     no CNP for K        alpha = (1-g) alpha; the same after every further K
//!     T has passed        t = t + 1; increase
//!     B bytes were sent   b = b + 1; increase
//!     increase:   max(t, b) < F   fast recovery      Rc = (Rt + Rc)/2
//!                 min(t, b) > F   hyper increase     Rt = Rt + i Rhai with i = min(t, b) - F;  Rc = (Rt + Rc)/2
//!                 otherwise       additive increase  Rt = Rt + Rai;                            Rc = (Rt + Rc)/2
//! ```
//!
//! The parameter `law` selects one of two reaction points. [`paper::ReactionPoint`] is the one above.
//! [`ns3::ReactionPoint`] is that of the public ns-3 code: every marked acknowledgement counts, and a timer decides on
//! decreases.
//!
//! # Not modelled
//! - loss recovery (the [transport](docs/modelling/connections.md) does that)
//! - CNPs that several flows share
//!
//! # Differences
//! - The byte counter counts payload. When it reaches B, it restarts at zero: bytes beyond B do not count for the next
//!   stage.
//! - With `law = "paper"` the target rate may exceed the line rate. With `law = "ns3"` it cannot.
//! - The paper names no minimum rate. The default of `min_rate` is 100 Mb/s, as in the configuration of ns3-rdma.
//! - The preset `htsim-aidc-2025` is not DCQCN as published. It has the algorithm of the simulator behind the SFC-AIDC
//!   study of 2025: all flows of the run share one alpha, and every sending flow decays this alpha. Fast recovery
//!   includes stage F.

mod config;
pub mod ns3;
pub mod paper;
mod shared_alpha;
mod wire;

use backwater_engine::Time;
use backwater_net::hooks::{
    Ack, Activity, Carrier, Fate, Finding, FlowCx, FlowShape, FlowSide, Mechanism, NicCx, NicShape, NicSide, Preset,
    Profile, SwitchShape, Token, WireCx,
};
use backwater_net::packet::{Class, Control, Ecn, FlowRef, HostId, Packet};
use backwater_net::{Rate, address};
use backwater_wire::roce::{Bth, Cnp};
pub use config::{Law, Params};
pub use shared_alpha::SharedAlpha;
use std::any::TypeId;
use std::collections::BTreeMap;
pub use wire::CNP;

/// When a flow last caused a CNP, and whether another one is due at the end of the interval.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
struct LastCnp {
    at: Time,
    src: HostId,
    class: Class,
    owed: bool,
}

/// NP: the receiver's NIC.
#[derive(backwater_derive::State)]
pub struct NotificationPoint {
    /// N
    #[state(fixed)]
    interval: Time,
    #[state(fixed)]
    trailing: bool,
    #[state(fixed)]
    class: Option<Class>,
    /// \[bytes\]
    #[state(fixed)]
    size: u32,
    /// marked flows of the last interval
    flows: BTreeMap<FlowRef, LastCnp>,
    /// CNPs sent
    sent: u64,
}

// The specification.
#[backwater_derive::hooks]
impl NicSide for NotificationPoint {
    /// NP (SIGCOMM 2015, 3.1): a marked packet.
    #[inline]
    fn on_receive(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
        if pkt.ecn() == Ecn::Ce {
            self.on_marked(cx, pkt);
        }
    }

    fn on_timer(&mut self, cx: &mut NicCx<'_>, _: Token) {
        let (now, interval) = (cx.now(), self.interval);
        let due = |last: &LastCnp| last.at + interval <= now;
        let owed: Vec<(FlowRef, LastCnp)> =
            self.flows.iter().filter(|(_, l)| l.owed && due(l)).map(|(f, l)| (*f, *l)).collect();
        self.flows.retain(|_, l| l.owed || !due(l));
        for (flow, last) in owed {
            self.send(cx, flow, last.src, last.class);
        }
    }

    fn activity(&self) -> Activity {
        Activity { acts: self.sent, margin: None }
    }
}

impl NotificationPoint {
    #[cold]
    fn on_marked(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
        match self.flows.get_mut(&pkt.flow) {
            // SIGCOMM 2015, figure 6: none within N of the last. A CNP at its end (`trailing`) is htsim's.
            Some(last) if cx.now() < last.at + self.interval => last.owed |= self.trailing,
            _ => {
                // SIGCOMM 2015, figure 6: otherwise at once.
                if let Some(data) = pkt.data() {
                    self.send(cx, pkt.flow, data.src, pkt.class);
                }
            }
        }
    }

    fn send(&mut self, cx: &mut NicCx<'_>, flow: FlowRef, src: HostId, class: Class) {
        let cnp = Cnp { destination: address::queue_pair(flow), p_key: Bth::DEFAULT_PARTITION };
        let frame = Control { flow: Some(flow), ..Control::carrying(CNP, self.size, 0, &cnp) };
        self.sent += 1;
        cx.reply(src, self.class.unwrap_or(class), frame);
        self.flows.insert(flow, LastCnp { at: cx.now(), src, class, owed: false });
        cx.arm(cx.now() + self.interval, 0);
    }
}

/// RP: the sender's NIC, one per queue pair.
#[derive(backwater_derive::State)]
pub enum ReactionPoint {
    /// As published.
    Paper(#[state(within)] paper::ReactionPoint),
    /// As in the public ns-3 code.
    Ns3(#[state(within)] ns3::ReactionPoint),
}

#[backwater_derive::hooks]
impl FlowSide for ReactionPoint {
    #[inline(always)]
    fn rate(&self) -> Option<Rate> {
        Some(match self {
            ReactionPoint::Paper(rp) => rp.current(),
            ReactionPoint::Ns3(rp) => rp.current(),
        })
    }

    #[inline(always)]
    fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {
        if let ReactionPoint::Paper(rp) = self {
            // SIGCOMM 2015, figure 7: the byte counter.
            rp.on_send(cx, pkt);
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        // HPCC ns-3 code: acknowledgements echo the mark, and no CNP is sent.
        if let (ReactionPoint::Ns3(rp), true) = (self, ack.marked) {
            rp.on_mark(cx);
        }
    }

    fn on_control(&mut self, cx: &mut FlowCx<'_>, frame: &Control) -> Fate {
        if frame.message::<Cnp>().is_none() {
            return Fate::Passed;
        }
        match self {
            // SIGCOMM 2015, figure 7: a CNP cuts the rate.
            ReactionPoint::Paper(rp) => rp.on_cnp(cx),
            ReactionPoint::Ns3(rp) => rp.on_mark(cx),
        }
        Fate::Consumed
    }

    fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {
        match self {
            // SIGCOMM 2015, figure 7: the timers of alpha and of the rate.
            ReactionPoint::Paper(rp) => rp.on_timer(cx, token),
            ReactionPoint::Ns3(rp) => rp.on_timer(cx, token),
        }
    }

    fn activity(&self) -> Activity {
        let acts = match self {
            // Not only receivers send CNPs.
            ReactionPoint::Paper(rp) => rp.has_been_notified().into(),
            ReactionPoint::Ns3(rp) => rp.has_seen_a_mark().into(),
        };
        Activity { acts, margin: None }
    }
}

/// DCQCN.
pub enum Dcqcn {}

#[backwater_derive::mechanism]
impl Mechanism for Dcqcn {
    const NAME: &'static str = "dcqcn";
    const DEFINED_BY: &'static str = "Zhu et al., SIGCOMM 2015";
    const SUMMARY: &'static str = "adapts each flow's rate to congestion notifications caused by ECN marks";
    const INACTIVE: &'static str = "never lowered a rate, since no mark or CNP reached it";
    const FRAMES: &'static [&'static str] = &[CNP];
    const MESSAGE: TypeId = TypeId::of::<Cnp>();
    type Shared = SharedAlpha;
    type Nic = NotificationPoint;
    type Flow = ReactionPoint;

    const PRESETS: &'static [Preset] = config::PRESETS;

    fn octets(frame: &Control, _: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, octets)
    }

    fn profile(params: &Params) -> Profile {
        config::profile(params)
    }

    fn check_defaults(params: &Params, shape: &SwitchShape) -> Vec<Finding> {
        config::check_defaults(params, shape)
    }

    fn nic(params: &Params, _: &NicShape) -> Option<NotificationPoint> {
        (params.law == Law::Paper).then(|| NotificationPoint {
            interval: params.cnp_interval,
            trailing: params.cnp_trailing,
            class: params.cnp_class.map(Class),
            size: params.cnp_size.0 as u32,
            flows: BTreeMap::new(),
            sent: 0,
        })
    }

    fn flow(params: &Params, shape: &FlowShape, shared: &SharedAlpha) -> Option<ReactionPoint> {
        Some(match params.law {
            Law::Paper => ReactionPoint::Paper(paper::ReactionPoint::new(params, shape, shared)),
            Law::Ns3 => ReactionPoint::Ns3(ns3::ReactionPoint::new(params, shape)),
        })
    }
}

#[cfg(test)]
mod tests;
