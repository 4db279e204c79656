//! HPCC — Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019.
//!
//! Every switch writes the state of its egress port into a data packet (in-band network telemetry, INT), and the
//! acknowledgement returns it. From this the sender computes the load of each link of the path, and sets its window so
//! that the load of the busiest link is eta.
//!
//! ```text
//! switch, as a data packet begins to leave: appends ts, txBytes (before this packet), qLen (without it), B
//! per acknowledgement with the hops L, those of the acknowledgement before being Lp                    MeasureInflight, section 3.3
//!   per hop:  tau = ts - Lp.ts;   u' = min(qLen, Lp.qLen) / (B T) + (txBytes - Lp.txBytes) / (tau B)
//!   u' and tau of the hop with the largest u';   tau = min(tau, T);   U = (1 - tau/T) U + (tau/T) u'
//! ComputeWind:  U >= eta or incStage >= maxStage:  W = Wc eta / U + W_AI;  incStage' = 0
//!               otherwise:                         W = Wc + W_AI;          incStage' = incStage + 1
//! once per round trip (ack.seq > lastUpdateSeq):   Wc = W;  incStage = incStage';  lastUpdateSeq = snd_nxt
//! always                                           R = W / T, by which packets are paced; min_rate <= R <= line rate
//! ```
//!
//! The first acknowledgement only stores its hops. U begins at 1, W with a T at line rate. W = R T, so the rule is kept in rates: R_AI = W_AI / T.
//!
//! In the multiplicative branch n equal flows settle at n R = C U and R = R eta / U + R_AI, so U = eta + n R_AI / C. Below 1 there is next to
//! no queue. Above, rates swing about that point.
//!
//! Every data packet and acknowledgement has 42 octets for five hops of 8 octets and their number, used or not, as in
//! the HPCC ns-3 code.
//!
//! With `telemetry = "pint"`, switches compute the load U, and packets carry it, rounded at random, in an octet or two:
//! [`pint`]. ComputeWind is the same.
//!
//! # Not modelled
//! - the widths of INT's fields, and its units unless `int_multi` is set: values are exact, and rates are in kb/s
//! - PINT in some packets only (`PINT_PROB`); the tables from which switches take logarithms, and queues in units of
//!   256 B
//! - a separate rate for each hop (`MULTI_RATE`)
//! - more than five switches on a path with INT: switches after the fifth write nothing. `check` warns of these paths,
//!   and of packets of one flow on several paths. `telemetry = "pint"` has neither limit.
//!
//! # Differences
//! - Where one acknowledgement opens the window and cuts the rate, one packet leaves at the time set by the old rate.
//!   The ns-3 code moves it first. This is a [choice by outcome](docs/modelling/ns-3.md#what-is-still-different).
//! - If a packet took another path than the one before, its hops are stored and not compared. The ns-3 code compares
//!   them.
//! - PINT's load counts all bytes that a port has sent since the previous data packet. In the ns-3 code it counts time
//!   and bytes of the previous frame alone, which may be an acknowledgement. Earlier bytes are missing, and senders see
//!   a link that is less busy than it is. `pint_counts = "last"` reproduces that code ([its
//!   effect](docs/modelling/hpcc.md#pint)). No preset sets it.

mod config;
mod int;
pub mod pint;

use config::out_of_sight;
pub use config::{Params, Telemetry};
use int::{Hop, INT, Int, hops, in_units};

use crate::base_rtt;
use backwater_engine::Time;
use backwater_net::attachment::Attachment;
use backwater_net::hooks::{
    Ack, Activity, CheckCx, Claims, Departure, Finding, FlowCx, FlowShape, FlowSide, Ineffective, LinkCx, LinkSide,
    Mechanism, Needs, Overhead, Preset, Profile, SwitchShape, SwitchSide,
};
use backwater_net::packet::{DataHeader, Packet};
use backwater_net::{Bytes, Rate};

/// A switch that writes telemetry.
#[derive(backwater_derive::State)]
pub enum Writer {
    /// A record of each hop, in so many times the units of INT.
    Int(#[state(fixed)] u32),
    /// The load of the busiest.
    Pint(#[state(within)] Loads),
}

/// PINT's loads of all ports.
#[derive(backwater_derive::State)]
pub struct Loads {
    ports: Vec<pint::Load>,
    /// b
    #[state(fixed)]
    base: f64,
    #[state(fixed)]
    counts: pint::Counts,
    /// T
    #[state(fixed)]
    base_rtt: Time,
}

/// The sender of one flow.
#[derive(backwater_derive::State)]
pub struct Sender {
    /// R
    rate: Rate,
    /// Wc / T
    committed: Rate,
    #[state(fixed)]
    line: Rate,
    /// U
    u: f64,
    /// incStage
    stage: u32,
    /// \[bytes\] snd_nxt
    sent: u64,
    /// \[bytes\] lastUpdateSeq
    last_update: u64,
    /// L of the acknowledgement before
    previous: Option<Attachment>,
    /// round trips after which the rate was lower
    cuts: u64,
    #[state(fixed)]
    params: Box<Params>,
}

// The specification.
#[backwater_derive::hooks]
impl LinkSide for Writer {
    fn on_start(&mut self, cx: &mut LinkCx<'_>, from: &Departure, pkt: &Packet, carried: Option<&mut Attachment>) {
        let LinkCx::Switch(cx) = cx else { return };
        let (Some(Attachment(words)), true) = (carried, pkt.is_data()) else {
            if let Writer::Pint(Loads { ports, counts: pint::Counts::Last, .. }) = self {
                ports[usize::from(from.port.0)].pass(cx.now(), from.tx_bytes);
            }
            return;
        };
        let queued = cx.seen().egress_port(from.port).saturating_sub(cx.seen().counted(pkt));
        match self {
            Writer::Int(multi) => {
                // HPCC's INT: ts, txBytes, qLen and B of the egress port.
                let hop = Hop {
                    at: cx.now(),
                    tx_bytes: in_units(from.tx_bytes, 128, *multi),
                    queued: u32::try_from(in_units(queued.0, 80, *multi)).unwrap_or(u32::MAX),
                    rate: u32::try_from((from.rate.0 / 1000).max(1)).unwrap_or(u32::MAX),
                };
                Int(words).append(u64::from(cx.shape().node.0) << 16 | u64::from(from.port.0), hop);
            }
            Writer::Pint(Loads { ports, base, base_rtt, .. }) => {
                let port = &mut ports[usize::from(from.port.0)];
                let u = port.update(cx.now(), from.tx_bytes, queued.0, from.rate.0 as f64 * 1e-12, *base_rtt);
                // PINT, SIGCOMM 2020: the greatest load of the path, rounded randomly.
                words[0] = words[0].max(pint::encode(u, *base, cx.rng()));
            }
        }
    }
}

#[backwater_derive::hooks(link)]
impl SwitchSide for Writer {}

#[backwater_derive::hooks]
impl FlowSide for Sender {
    #[inline(always)]
    fn rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    #[inline(always)]
    fn window(&self) -> Option<Bytes> {
        Some(base_rtt::window(self.rate, self.params.base_rtt))
    }

    #[inline(always)]
    fn on_send(&mut self, _: &mut FlowCx<'_>, pkt: &mut Packet) {
        self.sent = self.sent.max(pkt.data().map_or(0, DataHeader::end));
    }

    #[inline(always)]
    fn attach(&mut self, _: &Packet) -> Option<Attachment> {
        Some(Attachment::default())
    }

    fn on_ack(&mut self, _: &mut FlowCx<'_>, ack: &Ack<'_>) {
        let Some(carried) = ack.carried else { return };
        let Some(previous) = self.previous.replace(*carried) else {
            // HPCC ns-3 code: the first acknowledgement only stores L.
            self.last_update = self.sent;
            return;
        };
        let measured = match self.params.telemetry {
            Telemetry::Int => {
                let same_way = previous.0[Int::LAST] == carried.0[Int::LAST];
                same_way && self.measure_inflight(&previous, carried)
            }
            Telemetry::Pint => {
                self.u = pint::decode(carried.0[0], self.params.pint_base);
                true
            }
        };
        if measured {
            // HPCC, algorithm 1, lines 22 to 26: W_c follows once a round trip.
            self.compute_rate(ack.received > self.last_update);
        }
    }

    fn activity(&self) -> Activity {
        Activity { acts: self.cuts, margin: None }
    }
}

impl Sender {
    /// MeasureInflight. Returns whether there was something to measure: packets that have overtaken each other have no time between them.
    fn measure_inflight(&mut self, previous: &Attachment, carried: &Attachment) -> bool {
        let t = self.params.base_rtt.0 as f64;
        let mut largest = (0.0, None);
        for (old, new) in hops(previous).zip(hops(carried)) {
            let Some(tau) = new.at.0.checked_sub(old.at.0).filter(|tau| *tau > 0) else { continue };
            // B of new.rate kb/s: bits a picosecond.
            let (b, tau) = (f64::from(new.rate) * 1e-9, tau as f64);
            // HPCC, algorithm 1, line 4.
            let tx_rate = new.tx_bytes.saturating_sub(old.tx_bytes) as f64 * 8.0 / tau;
            // HPCC, algorithm 1, line 5.
            let u = f64::from(new.queued.min(old.queued)) * 8.0 / (b * t) + tx_rate / b;
            // HPCC, algorithm 1, lines 6 and 7.
            if u > largest.0 || largest.1.is_none() {
                largest = (u, Some(tau));
            }
        }
        let (u, Some(tau)) = largest else { return false };
        // HPCC, algorithm 1, lines 8 and 9.
        let tau = tau.min(t);
        self.u = (self.u * (t - tau) + u * tau) / t;
        true
    }

    /// ComputeWind, in rates; `full`: a round trip has passed since the last time.
    fn compute_rate(&mut self, full: bool) {
        let Params { eta, max_stage, r_ai, min_rate, .. } = *self.params;
        let c = self.u / eta;
        // HPCC, algorithm 1, line 12.
        let multiplicative = c >= 1.0 || self.stage >= max_stage;
        // HPCC, algorithm 1, lines 13 and 17, divided by T.
        let base = if multiplicative { (self.committed.0 as f64 / c) as u64 } else { self.committed.0 };
        let rate = Rate(base.saturating_add(r_ai.0)).min(self.line).max(min_rate.min(self.line));
        self.rate = rate;
        if full {
            self.cuts += u64::from(rate < self.committed);
            // HPCC, algorithm 1, lines 15, 19 and 24.
            self.committed = rate;
            self.stage = if multiplicative { 0 } else { self.stage + 1 };
            self.last_update = self.sent;
        }
    }
}

/// HPCC.
pub enum Hpcc {}

#[backwater_derive::mechanism]
impl Mechanism for Hpcc {
    const NAME: &'static str = "hpcc";
    const DEFINED_BY: &'static str = "Li et al., SIGCOMM 2019";
    const SUMMARY: &'static str = "sets each flow's window by the load that switches write into its packets";
    const INACTIVE: &'static str = "never lowered a rate";
    const PRESETS: &'static [Preset] = &[
        Preset { name: "paper", source: "Li et al., SIGCOMM 2019", toml: "" },
        Preset {
            name: "ns3-hpcc",
            source: "HPCC ns-3 code, config for 100 Gb/s",
            toml: "max_stage = 0\nr_ai = \"40 Mb/s\"\nmin_rate = \"1 Gb/s\"\n",
        },
        Preset {
            name: "ns3-pint",
            source: "HPCC ns-3 code, config for 100 Gb/s with PINT",
            toml: "telemetry = \"pint\"\nmax_stage = 0\nr_ai = \"40 Mb/s\"\nmin_rate = \"1 Gb/s\"\npint_base = 1.01\n",
        },
    ];
    type Switch = Writer;
    type Flow = Sender;

    fn profile(params: &Params) -> Profile {
        let octets = match params.telemetry {
            Telemetry::Int => INT,
            Telemetry::Pint => pint::octets(params.pint_base),
        };
        Profile {
            claims: Claims { flow_rate: true, ..Claims::NONE },
            needs: Needs { acks: true, window: true, ..Needs::default() },
            overhead: Overhead { data: octets, ack: octets },
            ..Profile::default()
        }
    }

    fn ineffective(params: &Params) -> Vec<Ineffective> {
        match params.telemetry {
            Telemetry::Int => Ineffective::all(&["pint_base", "pint_counts"], "telemetry", "telemetry = \"pint\""),
            Telemetry::Pint => Ineffective::all(&["int_multi"], "telemetry", "telemetry = \"int\""),
        }
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        let mut findings = base_rtt::check(params.base_rtt, cx);
        if params.telemetry == Telemetry::Int {
            findings.extend(out_of_sight(cx));
        }
        findings
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<Writer> {
        Some(match params.telemetry {
            Telemetry::Int => Writer::Int(params.int_multi),
            Telemetry::Pint => Writer::Pint(Loads {
                ports: vec![pint::Load::default(); shape.ports.len()],
                base: params.pint_base,
                counts: params.pint_counts,
                base_rtt: params.base_rtt,
            }),
        })
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<Sender> {
        Some(Sender {
            rate: shape.line,
            committed: shape.line,
            line: shape.line,
            u: 1.0,
            stage: 0,
            sent: 0,
            last_update: 0,
            previous: None,
            cuts: 0,
            params: Box::new(params.clone()),
        })
    }
}

#[cfg(test)]
mod tests;
