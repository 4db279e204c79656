//! ECN marking — RFC 3168 in the IP header; the RED curve as data-centre switches and the DCQCN paper use it.
//!
//! ```text
//! q <= Kmin          : P = 0
//! Kmin < q < Kmax    : P = Pmax (q - Kmin) / (Kmax - Kmin)
//! q >= Kmax          : P = 1, or Pmax (`above_kmax`)          (Kmin = Kmax: a step, above it where q > K)
//! dynamic            : Kmin = Kmax = min(limit, max(limit - offset, floor)),
//!                      limit = alpha_egress x free shared memory + queue_reserve, at most queue_limit
//! ```
//!
//! `q` is the length of the egress queue as it is, or with `weight` its average over arrivals (`average.rs`), as in
//! RED. With a reference rate C0, a port of rate C has the thresholds Kmin C / C0 and Kmax C / C0: the same queueing
//! time at all rates.
//!
//! A dynamic threshold (D-ECN) follows the limit of the queue in a shared memory. No standard has it. Arista published
//! on 2024-12-24 that an offset and a floor of each queue shape a threshold that changes with the queue's limit. The
//! formula above is second-hand, from a report on that product. We have not read the product's own text.
//!
//! Trimmed packets are not marked (UEC 1.0, section 4.1: they should not be); they keep an earlier mark. With
//! `host_ports = false` ports to hosts mark nothing. `htsim_uec` does so where receivers grant credit, which controls
//! the last hop. Its rule for the other ports is that of `mark_at = "dequeue"`, `pmax = 1` and
//! `switch.release_at = "end"`: by the data left in the queue when a packet has left.
//!
//! # Not modelled
//! - drops of packets that are not ECN-capable
//! - a static and a dynamic threshold of one queue at once; OcNOS 7.0 marks where either would
//! - hysteresis of a dynamic threshold; OcNOS 7.0 calls its floor an offset below which marking stops
//! - the even spacing of RED's marks
//!
//! # Differences
//! - A frame departs when the counters fall. With `switch.release_at = "end"` (the default, and htsim's way) the mark
//!   depends on the queue that remains when the frame's last bit has left. Hardware must decide at the first bit, as
//!   `"start"` does.
//! - The limit of a dynamic threshold is that of admission, with `queue_reserve` in it. It is that of lossy frames also
//!   in queues of lossless classes, which admission does not limit. With `switch.slices` it is that of the slice by
//!   which the frame came, while `q` counts the frames of all slices, as in admission.
//! - OcNOS 7.0 prints another formula for the same chip (Tomahawk 5): the limit less floor less offset.

mod advice;
mod config;
mod dynamic;

use self::dynamic::DynamicThreshold;
use crate::average::Averages;
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::{
    Account, Activity, Advice, AdviceError, AdviceForm, CheckCx, Finding, Ineffective, Levels, Margin, Mechanism,
    Place, Profile, Question, Situation, SwitchCx, SwitchShape, SwitchSide,
};
use backwater_net::occupancy::Occupancy;
use backwater_net::packet::{Ecn, Packet};
pub use config::{At, MarkingThreshold, Params};
use rand::RngExt;
use serde_json::{Map, Value};

/// The times of averaging and marking.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Marked when it joins, by the current length.
    Enqueue,
    /// Marked when it leaves, by the current length.
    Dequeue,
    /// Averaged when it joins, marked then or later.
    Averaged,
}

/// A switch that marks.
#[derive(backwater_derive::State)]
pub struct CongestionPoint {
    #[state(fixed)]
    params: Params,
    #[state(fixed)]
    mode: Mode,
    /// Kmin and Kmax of each port; `None` if it does not mark
    #[state(fixed)]
    thresholds: Vec<Option<(Bytes, Bytes)>>,
    /// where it follows the memory
    #[state(within)]
    dynamic: Option<DynamicThreshold>,
    /// the least Kmin: up to it nothing is marked at any port
    #[state(fixed)]
    least: Bytes,
    /// most bytes that a leaving packet adds to the remaining queue
    #[state(fixed)]
    own: Bytes,
    /// classes that are marked, a bit each
    #[state(fixed)]
    classes: u8,
    #[state(within)]
    averages: Option<Averages>,
    marks: u64,
    /// \[bytes\] by port, the longest queue that could have caused a mark
    peaks: Vec<Bytes>,
}

// The specification.
#[backwater_derive::hooks]
impl SwitchSide for CongestionPoint {
    /// q <= Kmin: P = 0. An average moves with every packet.
    fn levels(&self, seen: &Occupancy, of: Account) -> Levels {
        let Account::Egress(port, _) = of else { return Levels::NONE };
        let (longest, kmin) =
            (self.peaks[usize::from(port.0)], self.thresholds[usize::from(port.0)].map(|(kmin, _)| kmin));
        let most = kmin.unwrap_or(longest).min(longest);
        match self.mode {
            Mode::Averaged => Levels::ALL,
            Mode::Enqueue => Levels::above(most),
            Mode::Dequeue => Levels::left((most + Bytes(1)).saturating_sub(seen.in_whole_cells(self.own))),
        }
    }

    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if self.mode == Mode::Dequeue {
            return;
        }
        let mut q = cx.seen().egress(at.egress, at.queue);
        if self.mode == Mode::Averaged {
            q = self.joined(at, q.saturating_sub(cx.seen().counted(pkt)), cx.now());
        }
        self.mark(cx, at, q, pkt);
    }

    #[inline(always)]
    fn on_dequeue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if self.mode == Mode::Enqueue {
            return;
        }
        let own = if self.params.count_departing { Bytes::ZERO } else { cx.seen().counted(pkt) };
        let mut q = cx.seen().egress(at.egress, at.queue).saturating_sub(own);
        if self.mode == Mode::Averaged {
            let last = cx.seen().egress(at.egress, at.queue) <= cx.seen().counted(pkt);
            q = self.left(at, last, cx.now());
        }
        self.mark(cx, at, q, pkt);
    }

    fn activity(&self, _: &Occupancy) -> Activity {
        let mut activity = Activity { acts: self.marks, margin: None };
        let of = "longest queue of packets that can be marked";
        if let Some(dynamic) = &self.dynamic {
            let marks = self.thresholds.iter().any(Option::is_some);
            return Activity { margin: marks.then(|| dynamic.margin(of)), ..activity };
        }
        for (peak, thresholds) in self.peaks.iter().zip(&self.thresholds) {
            let margin = thresholds.map(|(kmin, _)| Margin::bytes(of, *peak, kmin));
            activity.join(Activity { acts: 0, margin });
        }
        activity
    }
}

impl CongestionPoint {
    /// A packet has joined a queue with `q` bytes before it. Returns the length for its mark now; nothing if it is marked later.
    #[cold]
    fn joined(&mut self, at: &Place, q: Bytes, now: Time) -> Bytes {
        let average = self.averages.as_mut().map_or(q, |averages| averages.arrival(at.egress, at.queue, q, now));
        if self.params.mark_at == At::Enqueue { average } else { Bytes::ZERO }
    }

    /// A packet leaves, perhaps the `last` of its queue. Returns the length for its mark now; nothing if it was marked before.
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
        if q > longest || q > self.least {
            if pkt.ecn() == Ecn::Ect && self.classes & (1 << at.class.0) != 0 {
                self.mark_above(cx, at, q, pkt);
            }
        } else {
            cx.watch(Account::Egress(at.egress, at.queue));
        }
    }

    /// A trimmed packet carries no mark (UEC 1.0, 4.1).
    #[cold]
    fn mark_above(&mut self, cx: &mut SwitchCx<'_>, at: &Place, q: Bytes, pkt: &mut Packet) {
        if pkt.is_cut() {
            return;
        }
        let longest = &mut self.peaks[usize::from(at.egress.0)];
        if q > *longest {
            *longest = q;
            cx.watch(Account::Egress(at.egress, at.queue));
        }
        if q > self.least {
            self.mark_by_curve(cx, at, q, pkt);
        }
    }

    /// Kmin and Kmax of a queue of `q` bytes now, if its port marks.
    fn thresholds_at(&mut self, cx: &SwitchCx<'_>, at: &Place, q: Bytes) -> Option<(Bytes, Bytes)> {
        let thresholds = self.thresholds[usize::from(at.egress.0)]?;
        let Some(dynamic) = &mut self.dynamic else { return Some(thresholds) };
        let threshold = dynamic.of(cx.seen().queue_limit(at)?, q);
        Some((threshold, threshold))
    }

    fn mark_by_curve(&mut self, cx: &mut SwitchCx<'_>, at: &Place, q: Bytes, pkt: &mut Packet) {
        let Some((kmin, kmax)) = self.thresholds_at(cx, at, q).filter(|(kmin, _)| q > *kmin) else {
            return;
        };
        let Params { pmax, above_kmax, .. } = self.params;
        // Zhu et al., SIGCOMM 2015: P = 1 from Kmax on, and Pmax (q - Kmin) / (Kmax - Kmin) below.
        let p = if q >= kmax {
            above_kmax.probability(pmax)
        } else {
            pmax * (q.0 - kmin.0) as f64 / (kmax.0 - kmin.0) as f64
        };
        // No random number is drawn if all are marked.
        if p >= 1.0 || cx.rng().random::<f64>() < p {
            self.marks += 1;
            pkt.mark();
        }
    }
}

/// The marker.
pub enum Marker {}

#[backwater_derive::mechanism]
impl Mechanism for Marker {
    const NAME: &'static str = "ecn";
    const DEFINED_BY: &'static str = "RFC 3168; RED curve of Zhu et al., SIGCOMM 2015";
    const SUMMARY: &'static str = "marks packets by the length of the egress queue";
    const INACTIVE: &'static str = "never marked a packet";
    const ADVICE: Option<AdviceForm> = Some(advice::FORM);
    type Switch = CongestionPoint;

    fn profile(_: &Params) -> Profile {
        Profile { marks: true, ..Profile::default() }
    }

    fn facts(params: Option<&Params>, situation: &Situation) -> Map<String, Value> {
        advice::facts(params, situation)
    }

    fn advise(question: &Question) -> Result<Advice, AdviceError> {
        advice::answer(question)
    }

    fn ineffective(params: &Params) -> Vec<Ineffective> {
        config::ineffective(params)
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn check_defaults(params: &Params, shape: &SwitchShape) -> Vec<Finding> {
        config::check_defaults(params, shape)
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
        let own = if params.count_departing { shape.max_frame } else { Bytes::ZERO };
        let (marks, peaks) = (0, vec![Bytes::ZERO; thresholds.len()]);
        let (params, dynamic) = (params.clone(), DynamicThreshold::new(params));
        Some(CongestionPoint { params, mode, thresholds, dynamic, least, own, classes, averages, marks, peaks })
    }
}

#[cfg(test)]
mod tests;
