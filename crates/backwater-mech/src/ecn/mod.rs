//! ECN marking — RFC 3168 in the IP header; the RED curve as data-centre switches and the DCQCN paper use it.
//!
//! ```text
//! q <= Kmin          : P = 0
//! Kmin < q < Kmax    : P = Pmax (q - Kmin) / (Kmax - Kmin)
//! q >= Kmax          : P = 1, or Pmax (`above_kmax`)          (Kmin = Kmax: a step, above it where q > K)
//! ```
//!
//! `q` is the length of the egress queue as it is, or with `weight` its average over arrivals ([`crate::average`]), as in RED. With C0 a port of rate C has the thresholds Kmin C / C0 and
//! Kmax C / C0, which are one time for all rates.
//!
//! What a switch has cut is not marked (UEC 1.0, section 4.1: it should not be); a mark that it had stays. With `host_ports = false` ports to
//! hosts mark nothing. `htsim_uec` does so where receivers give credit, which owns the last hop. Its rule for the other ports is that of
//! `mark_at = "dequeue"`, `pmax = 1` and `switch.release_at = "end"`: by what data is left in the queue when a packet has left.
//!
//! **Not modelled:** dropping of packets that are not ECN-capable; the even spacing of RED's marks.
//! **Where we differ:** a frame departs when counters fall: with `switch.release_at = "end"` (the default, and htsim's way) it is marked
//! by the queue that it leaves behind when its last bit goes, where hardware must decide at the first; `"start"` does that.

mod advice;

use crate::average::Averages;
use crate::red::AboveMaximum;
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::hooks::{
    Absent, Advice, AdviceError, AdviceForm, Finding, Margin, Mechanism, Place, PortShape, Profile, Question, Reach,
    Situation, SwitchCx, SwitchShape, SwitchSide, Unread,
};
use backwater_net::packet::{Ecn, Packet};
use backwater_net::{Bytes, Rate};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// When the queue is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// When the packet joins it.
    Enqueue,
    /// When the packet leaves it.
    Dequeue,
}

/// Parameters of ECN marking.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Queue length up to which nothing is marked.
    #[param(symbol = "Kmin", default = Bytes(5_000), range = Bytes::ZERO..=kmax, source = "Zhu et al., SIGCOMM 2015")]
    pub kmin: Bytes,
    /// Queue length from which everything is marked, or what `above_kmax` says. Equal to `kmin`: a step, marked above it.
    #[param(symbol = "Kmax", default = Bytes(200_000), range = kmin.., source = "Zhu et al., SIGCOMM 2015")]
    pub kmax: Bytes,
    /// Rate of the ports for which `kmin` and `kmax` are meant; at other rates both are in proportion. Absent: the same at all ports.
    #[param(
        symbol = "C0", range = Rate(1).., source = "HPCC ns-3 configuration: 4 KB and 16 KB for each Gb/s",
        why = "no port has a rate of zero"
    )]
    pub reference_rate: Option<Rate>,
    /// Marking probability just below `kmax`.
    #[param(symbol = "Pmax", default = 0.01, range = 0.0..=1.0, source = "Zhu et al., SIGCOMM 2015", why = "that is not a probability")]
    pub pmax: f64,
    /// What is marked from `kmax` on: `all`, or with the probability `pmax`, which is then never exceeded.
    #[param(
        default = AboveMaximum::All,
        source = "Zhu et al., SIGCOMM 2015: all; simulations of P802.1Qcz, 2018, name a Max Probability only"
    )]
    pub above_kmax: AboveMaximum,
    /// Weight of one arrival in the average queue length that is compared with `kmin` and `kmax`. Absent: the length as it is.
    #[param(
        symbol = "w", range = >0.0..=1.0,
        source = "choice: DCTCP and DCQCN mark by the length as it is; Floyd and Jacobson 1993 (RED): 0.002",
        why = "that is no weight of an average"
    )]
    pub weight: Option<f64>,
    /// `enqueue` or `dequeue`.
    #[param(default = At::Dequeue, source = "choice: HPCC ns-3 switch and htsim mark on departure")]
    pub mark_at: At,
    /// At dequeue: whether the departing packet counts as part of the queue (htsim: yes; htsim_uec and ns-3: no).
    #[param(default = false, source = "htsim's ECN queue: true; htsim_uec's composite queue and ns-3: false")]
    pub count_departing: bool,
    /// Whether ports to hosts mark, too. `false`: only ports to switches do.
    #[param(
        default = true,
        source = "choice: all ports; htsim_uec (ultraethernet/uet-htsim 40ccb052): false where receivers give credit"
    )]
    pub host_ports: bool,
    /// Classes that are marked, each 0 to 7. Absent: all.
    #[param(each = 0..=7, source = "choice", why = "there is no such class")]
    pub classes: Option<Vec<u8>>,
}

impl Params {
    /// Whether this port marks.
    fn marks_at(&self, port: &PortShape) -> bool {
        self.host_ports || port.host.is_none()
    }

    /// Kmin and Kmax of a port, if it marks.
    fn thresholds(&self, port: &PortShape) -> Option<(Bytes, Bytes)> {
        let at_rate = |length: Bytes| length.at_rate(port.rate, self.reference_rate);
        self.marks_at(port).then(|| (at_rate(self.kmin), at_rate(self.kmax)))
    }
}

/// Rate of the ports for which the defaults of `kmin` and `kmax` were published.
const PUBLISHED_FOR: Rate = Rate::gbps(40);

/// The marker.
pub enum Marker {}

impl Mechanism for Marker {
    const NAME: &'static str = "ecn";
    const DEFINED_BY: &'static str = "RFC 3168; RED curve of Zhu et al., SIGCOMM 2015";
    const SUMMARY: &'static str = "marks packets by the length of the egress queue";
    const IDLE: &'static str = "never marked a packet";
    const ADVICE: Option<AdviceForm> = Some(advice::FORM);
    type Params = Params;
    type Shared = ();
    type Switch = CongestionPoint;
    type Nic = Absent;
    type Flow = Absent;

    fn profile(_: &Params) -> Profile {
        Profile { marks: true, ..Profile::default() }
    }

    fn facts(params: Option<&Params>, situation: &Situation) -> Map<String, Value> {
        advice::facts(params, situation)
    }

    fn advise(question: &Question) -> Result<Advice, AdviceError> {
        advice::answer(question)
    }

    fn unread(params: &Params) -> Vec<Unread> {
        match params.mark_at {
            At::Enqueue => Unread::all(&["count_departing"], "mark_at", "mark_at = \"dequeue\""),
            At::Dequeue => Vec::new(),
        }
    }

    fn check_defaults(params: &Params, shape: &SwitchShape) -> Vec<Finding> {
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

    fn switch(params: &Params, shape: &SwitchShape) -> Option<CongestionPoint> {
        let thresholds: Vec<_> = shape.ports.iter().map(|port| params.thresholds(port)).collect();
        let least = thresholds.iter().flatten().map(|(kmin, _)| *kmin).min().unwrap_or(Bytes(u64::MAX));
        let classes = crate::class_bits_or_all(params.classes.as_deref());
        let averages = params.weight.map(|weight| Averages::new(weight, shape));
        let mode = match (&averages, params.mark_at) {
            (Some(_), _) => Mode::Averaged,
            (None, At::Enqueue) => Mode::Enqueue,
            (None, At::Dequeue) => Mode::Dequeue,
        };
        let (marks, peaks) = (0, vec![Bytes::ZERO; thresholds.len()]);
        Some(CongestionPoint { params: params.clone(), mode, thresholds, least, classes, averages, marks, peaks })
    }
}

/// What is done when.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Marked when it joins, by the length as it is.
    Enqueue,
    /// Marked when it leaves, by the length as it is.
    Dequeue,
    /// Averaged when it joins, marked then or later.
    Averaged,
}

/// One switch that marks.
#[derive(backwater_derive::State)]
pub struct CongestionPoint {
    #[state(fixed)]
    params: Params,
    #[state(fixed)]
    mode: Mode,
    /// Kmin and Kmax of each port; of one that does not mark, none
    #[state(fixed)]
    thresholds: Vec<Option<(Bytes, Bytes)>>,
    /// the least Kmin: up to it nothing is marked at any port
    #[state(fixed)]
    least: Bytes,
    /// classes that are marked, a bit each
    #[state(fixed)]
    classes: u8,
    #[state(within)]
    averages: Option<Averages>,
    marks: u64,
    /// \[bytes\] by port, the longest queue by which a packet could have been marked
    peaks: Vec<Bytes>,
}

// The specification.
impl SwitchSide for CongestionPoint {
    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if self.mode == Mode::Dequeue {
            return;
        }
        let mut q = cx.seen().egress(at.egress, at.queue);
        if self.mode == Mode::Averaged {
            q = self.joined(at, q.saturating_sub(pkt.bytes()), cx.now());
        }
        self.mark(cx, at, q, pkt);
    }

    #[inline(always)]
    fn on_dequeue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if self.mode == Mode::Enqueue {
            return;
        }
        let own = if self.params.count_departing { Bytes::ZERO } else { pkt.bytes() };
        let mut q = cx.seen().egress(at.egress, at.queue).saturating_sub(own);
        if self.mode == Mode::Averaged {
            let last = cx.seen().egress(at.egress, at.queue) <= pkt.bytes();
            q = self.left(at, last, cx.now());
        }
        self.mark(cx, at, q, pkt);
    }

    fn reach(&self) -> Reach {
        let mut reach = Reach { acts: self.marks, margin: None };
        for (peak, thresholds) in self.peaks.iter().zip(&self.thresholds) {
            let of = "longest queue of packets that can be marked";
            let margin = thresholds.map(|(kmin, _)| Margin::bytes(of, *peak, kmin));
            reach.join(Reach { acts: 0, margin });
        }
        reach
    }
}

impl CongestionPoint {
    /// A packet has joined a queue of `q` without it. Returns by what it is marked now; nothing if that comes later.
    #[cold]
    fn joined(&mut self, at: &Place, q: Bytes, now: Time) -> Bytes {
        let average = self.averages.as_mut().map_or(q, |averages| averages.arrival(at.egress, at.queue, q, now));
        if self.params.mark_at == At::Enqueue { average } else { Bytes::ZERO }
    }

    /// A packet leaves, the `last` of its queue perhaps. Returns by what it is marked now; nothing if it has been.
    #[cold]
    fn left(&mut self, at: &Place, last: bool, now: Time) -> Bytes {
        let Some(averages) = &mut self.averages else { return Bytes::ZERO };
        if last {
            averages.emptied(at.egress, at.queue, now);
        }
        if self.params.mark_at == At::Dequeue { averages.of(at.egress, at.queue) } else { Bytes::ZERO }
    }

    #[inline(always)]
    fn mark(&mut self, cx: &mut SwitchCx<'_>, at: &Place, q: Bytes, pkt: &mut Packet) {
        let longest = self.peaks[usize::from(at.egress.0)];
        if (q > longest || q > self.least) && pkt.ecn() == Ecn::Ect && self.classes & (1 << at.class.0) != 0 {
            self.mark_above(cx, at, q, pkt);
        }
    }

    /// What is left of a packet that was cut carries no mark.
    #[cold]
    fn mark_above(&mut self, cx: &mut SwitchCx<'_>, at: &Place, q: Bytes, pkt: &mut Packet) {
        if pkt.is_cut() {
            return;
        }
        let longest = &mut self.peaks[usize::from(at.egress.0)];
        *longest = (*longest).max(q);
        if q > self.least {
            self.mark_by_curve(cx, at, q, pkt);
        }
    }

    fn mark_by_curve(&mut self, cx: &mut SwitchCx<'_>, at: &Place, q: Bytes, pkt: &mut Packet) {
        let Some((kmin, kmax)) = self.thresholds[usize::from(at.egress.0)].filter(|(kmin, _)| q > *kmin) else {
            return;
        };
        let Params { pmax, above_kmax, .. } = self.params;
        let p = if q >= kmax {
            above_kmax.probability(pmax)
        } else {
            pmax * (q.0 - kmin.0) as f64 / (kmax.0 - kmin.0) as f64
        };
        // No number is drawn where all are marked.
        if p >= 1.0 || cx.rng().random::<f64>() < p {
            self.marks += 1;
            pkt.mark();
        }
    }
}

#[cfg(test)]
mod tests;
