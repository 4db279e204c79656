//! The congestion point of IEEE 802.1Q clause 32: one per egress queue.

use super::config::{Params, cnm_size};
use super::wire::{CNM, Message};
use backwater_net::hooks::{Activity, Margin, Place, SwitchCx, SwitchShape, SwitchSide};
use backwater_net::occupancy::Occupancy;
use backwater_net::packet::{CLASSES, Class, Control, Packet, class_bits};
use backwater_net::{Bytes, address};
use rand::RngExt;

/// Sampling intervals by `qntz >> 3`, in 1/300 of cpSampleBase: 150, 75, 50, 37.5, 30, 25, 21.5 and 18.5 KB of 150 KB.
const INTERVALS: [u64; 8] = [300, 150, 100, 75, 60, 50, 43, 37];

/// The feedback: whole numbers throughout, so that its steps lie where the formula has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    /// cpQsp, w and 1, each times 2^s, so that w = 2^cpW is a whole number
    qsp: i128,
    w: i128,
    one: i128,
}

/// One egress queue.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Point {
    /// \[bytes\] cpEnqued
    enqued: i64,
    /// \[bytes\] cpQLenOld
    qlen_old: u64,
}

/// The egress queues of one switch.
#[derive(backwater_derive::State)]
pub struct CongestionPoint {
    /// by port and queue
    points: Vec<Point>,
    /// classes whose queues are congestion points, a bit each
    #[state(fixed)]
    classes: u8,
    #[state(fixed)]
    feedback: Feedback,
    #[state(fixed)]
    qsp: Bytes,
    #[state(fixed)]
    base: Bytes,
    #[state(fixed)]
    jitter: f64,
    /// of CNMs
    #[state(fixed)]
    priority: Class,
    /// \[bytes\] of CNMs
    #[state(fixed)]
    size: u32,
    /// CNMs sent
    sent: u64,
    /// \[bytes\] the longest queue that was sampled
    peak: u64,
}

impl CongestionPoint {
    pub(super) fn new(params: &Params, shape: &SwitchShape) -> CongestionPoint {
        let fresh = Point { enqued: i64::try_from(params.cp_sample_base.0).unwrap_or(i64::MAX), qlen_old: 0 };
        CongestionPoint {
            points: vec![fresh; shape.ports.len() * CLASSES],
            classes: class_bits(&params.classes),
            feedback: Feedback::new(params),
            qsp: params.cp_qsp,
            base: params.cp_sample_base,
            jitter: params.cp_jitter,
            priority: Class(params.cnm_transmit_priority),
            size: cnm_size(params).0 as u32,
            sent: 0,
            peak: 0,
        }
    }
}

// The specification.
#[backwater_derive::hooks]
impl SwitchSide for CongestionPoint {
    /// 802.1Q 32: cpEnqued -= length(f); a sample is due when cpEnqued <= 0.
    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if self.classes & (1 << at.class.0) != 0 {
            let number = usize::from(at.egress.0) * CLASSES + usize::from(at.queue.0);
            self.points[number].enqued -= i64::from(pkt.size);
            if self.points[number].enqued <= 0 {
                self.sample(cx, at, pkt, number);
            }
        }
    }

    fn activity(&self, _: &Occupancy) -> Activity {
        let margin = Margin::bytes("longest queue sampled", Bytes(self.peak), self.qsp);
        Activity { acts: self.sent, margin: Some(margin) }
    }
}

impl CongestionPoint {
    #[cold]
    fn sample(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet, number: usize) {
        let (qlen, old) = (cx.seen().egress(at.egress, at.queue).0, self.points[number].qlen_old);
        self.peak = self.peak.max(qlen);
        let qntz = self.feedback.quantised(qlen, old);
        // 802.1Q 32: no message without congestion.
        if qntz > 0
            && let Some(data) = pkt.data()
        {
            let message = Message {
                feedback: qntz as u8,
                cpid: address::cpid(cx.shape().node, at.egress, at.queue.0),
                q_offset: self.qsp.0.wrapping_sub(qlen) as i64,
                q_delta: qlen.wrapping_sub(old) as i64,
                priority: at.class,
            };
            self.sent += 1;
            let (flow, about) = (Some(pkt.flow), Some((pkt.dst, pkt.class)));
            let frame = Control { flow, about, ..Control::carrying(CNM, self.size, qntz, &message) };
            cx.route(data.src, self.priority, frame);
        }
        // 802.1Q 32: cpEnqued = interval(qntz) x uniform(0.85, 1.15); cpQLenOld = cpQLen.
        let mut next = interval(self.base, qntz) as f64;
        if self.jitter > 0.0 {
            next *= 1.0 + self.jitter * (2.0 * cx.rng().random::<f64>() - 1.0);
        }
        self.points[number] = Point { enqued: next as i64, qlen_old: qlen };
    }
}

impl Feedback {
    pub(super) fn new(params: &Params) -> Feedback {
        let cp_w = params.cp_w.clamp(-10, 10);
        let (w, one) = (1 << cp_w.max(0), 1 << (-cp_w).max(0));
        Feedback { qsp: i128::from(params.cp_qsp.0), w, one }
    }

    /// qntz = floor(-cpFb 63 / (cpQsp (2w + 1))), of cpFb = cpQsp - cpQLen - w (cpQLen - cpQLenOld) within its bounds (802.1Q 32).
    pub(super) fn quantised(&self, qlen: u64, qlen_old: u64) -> u64 {
        let (qlen, old) = (i128::from(qlen), i128::from(qlen_old));
        let most = (self.qsp * (2 * self.w + self.one)).max(1);
        let congestion = (qlen - self.qsp) * self.one + self.w * (qlen - old);
        (congestion.clamp(0, most) * 63 / most) as u64
    }
}

/// Bytes until the next sample, without jitter.
pub(super) fn interval(base: Bytes, qntz: u64) -> u64 {
    (u128::from(base.0) * u128::from(INTERVALS[(qntz >> 3) as usize & 7]) / 300) as u64
}
