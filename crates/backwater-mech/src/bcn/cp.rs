//! The congestion point: one per egress queue.

use super::wire::{Kind, Message};
use super::{Params, Sampling, SignRule};
use backwater_net::Bytes;
use backwater_net::hooks::{Activity, Margin, Place, SwitchCx, SwitchShape, SwitchSide};
use backwater_net::occupancy::Occupancy;
use backwater_net::packet::{CLASSES, Class, Control, NodeId, Packet, class_bits};
use rand::RngExt;

/// One egress queue.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Point {
    /// \[bytes\] accepted since the last sample, and the length of the interval
    accepted: u64,
    interval: u64,
    /// \[bytes\] its length at the last sample
    qold: u64,
}

/// The egress queues of one switch.
#[derive(backwater_derive::State)]
pub struct CongestionPoint {
    /// by port and queue
    points: Vec<Point>,
    /// classes whose queues are congestion points, a bit each
    #[state(fixed)]
    classes: u8,
    /// \[bytes\]
    #[state(fixed)]
    qeq: i64,
    #[state(fixed)]
    qsc: Bytes,
    #[state(fixed)]
    params: Params,
    /// messages sent
    sent: u64,
    /// \[bytes\] the longest queue that was sampled
    peak: u64,
}

impl CongestionPoint {
    pub(super) fn new(params: &Params, shape: &SwitchShape, qeq: Bytes, qsc: Bytes) -> CongestionPoint {
        // A frame that is sampled by itself has no interval.
        let interval = if params.sampling == Sampling::Bernoulli { 0 } else { params.sample.0 };
        CongestionPoint {
            points: vec![Point { accepted: 0, interval, qold: 0 }; shape.ports.len() * CLASSES],
            classes: class_bits(&params.classes),
            qeq: qeq.0 as i64,
            qsc,
            params: params.clone(),
            sent: 0,
            peak: 0,
        }
    }
}

/// The name of a queue; never 0, which is the tag of a frame that no reaction point limits.
pub(super) fn cpid(node: NodeId, number: usize) -> u64 {
    u64::from(node.0) << 32 | (number as u64 + 1)
}

// The specification.
#[backwater_derive::hooks]
impl SwitchSide for CongestionPoint {
    // Called only for frames with memory, so dropped bytes bring no sample nearer.
    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if self.classes & (1 << at.class.0) != 0 {
            let number = usize::from(at.egress.0) * CLASSES + usize::from(at.queue.0);
            let point = &mut self.points[number];
            point.accepted += u64::from(pkt.size);
            if point.accepted * u64::from(self.params.oversampling) >= point.interval {
                self.perhaps(cx, at, pkt, number);
            }
        }
    }

    fn activity(&self, _: &Occupancy) -> Activity {
        let margin = Margin::bytes("longest queue sampled", Bytes(self.peak), Bytes(self.qeq as u64));
        Activity { acts: self.sent, margin: Some(margin) }
    }
}

impl CongestionPoint {
    /// A sample is due, or would be due in severe congestion, or is decided by chance.
    #[cold]
    fn perhaps(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet, number: usize) {
        let q = cx.seen().egress(at.egress, at.queue);
        let severe = q > self.qsc;
        let often = if severe { u64::from(self.params.oversampling) } else { 1 };
        let due = match self.params.sampling {
            Sampling::Bernoulli => {
                cx.rng().random::<f64>() * (self.params.sample.0 as f64) < (u64::from(pkt.size) * often) as f64
            }
            Sampling::Uniform | Sampling::BelowNominal => {
                self.points[number].accepted * often >= self.points[number].interval
            }
        };
        if due {
            self.sample(cx, pkt, number, q.0 as i64, severe);
        }
    }

    fn sample(&mut self, cx: &mut SwitchCx<'_>, pkt: &Packet, number: usize, q: i64, severe: bool) {
        self.peak = self.peak.max(q as u64);
        let (qoff, qdelta) = self.offsets(q, self.points[number].qold as i64);
        self.points[number] = Point { accepted: 0, interval: self.interval(cx), qold: q as u64 };
        let Some(data) = pkt.data() else { return };
        let name = cpid(cx.shape().node, number);
        let qeq = self.qeq as u64;
        let message = |kind, qoff, qdelta| Message { kind, cpid: name, qoff, qdelta, qeq, severe, random: 0 };
        // q > Qsc: BCN(0,0), or BCN(MAX).
        let message = if severe && self.params.bcn_00 {
            Message { random: cx.rng().random(), ..message(Kind::Stop, 0, 0) }
        } else if severe && self.params.bcn_max {
            message(Kind::Max, -self.qeq, 2 * self.qeq)
        } else {
            let mild = message(Kind::Negative, qoff, qdelta);
            let fb = mild.fb(self.params.w);
            // Fb < 0: to source(f); Fb > 0: the same, if f carries the tag of this queue.
            let wanted = match self.params.sign_rule {
                SignRule::Fb => fb < 0.0 || (fb > 0.0 && pkt.tag == name),
                // Two zeros would be a STOP.
                SignRule::Q => (q > self.qeq || pkt.tag == name) && (qoff, qdelta) != (0, 0),
            };
            if !wanted {
                return;
            }
            Message { kind: if fb < 0.0 { Kind::Negative } else { Kind::Positive }, ..mild }
        };
        let (flow, about) = (Some(pkt.flow), Some((pkt.dst, pkt.class)));
        let frame = Control { flow, about, ..message.frame(self.params.message_size, self.params.w) };
        self.sent += 1;
        cx.route(data.src, Class(self.params.message_class), frame);
    }

    /// Qoff = clamp(Qeq - q, -Qeq, Qeq), and Qdelta = clamp(q - q at the last sample, -2 Qeq, 2 Qeq).
    fn offsets(&self, q: i64, qold: i64) -> (i64, i64) {
        let within = |clamp: bool, x: i64, most: i64| if clamp { x.clamp(-most, most) } else { x };
        let qoff = within(self.params.clamp_qoff, self.qeq - q, self.qeq);
        (qoff, within(self.params.clamp_qdelta, q - qold, 2 * self.qeq))
    }

    /// Accepted bytes until the next sample.
    fn interval(&self, cx: &mut SwitchCx<'_>) -> u64 {
        let (nominal, jitter) = (self.params.sample.0, self.params.jitter.0);
        let (least, most) = match self.params.sampling {
            Sampling::Uniform => (nominal - jitter, nominal + jitter),
            Sampling::BelowNominal => (nominal - jitter, nominal),
            Sampling::Bernoulli => return 0,
        };
        cx.rng().random_range(least..=most)
    }
}
