//! The congestion point of Source Flow Control: an egress queue that asks the sources of its packets to stop, and to continue.

use super::config::{Granularity, Params};
use super::wire::{Message, PointId};
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::{Account, Activity, Levels, Margin, Place, SwitchCx, SwitchShape};
use backwater_net::packet::{Class, Dscp, FlowRef, HostId, Packet, Port, Queue};
use std::collections::BTreeMap;

/// A source that a queue has paused.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
struct Paused {
    /// when the message was sent, and the earliest time of the next one
    next: Time,
    /// when the pause ends at the source, without the message's propagation
    until: Time,
    flow: FlowRef,
    to: HostId,
    class: Class,
}

/// The unit of a pause: the source's queue, and the flow in flow mode.
type Key = (Port, Queue, HostId, Dscp, Option<FlowRef>);

/// The egress queues of one switch.
#[derive(backwater_derive::State)]
pub(super) struct CongestionPoint {
    #[state(fixed)]
    params: Params,
    /// per port: whether its queues are congestion points
    #[state(fixed)]
    points: Vec<bool>,
    /// classes that may cause a message, a bit each
    #[state(fixed)]
    classes: u8,
    last: BTreeMap<Key, Paused>,
    /// number of pauses requested
    pauses: u64,
    /// \[bytes\] the longest of its queues
    peak: Bytes,
}

impl CongestionPoint {
    pub(super) fn new(params: &Params, shape: &SwitchShape) -> CongestionPoint {
        let points = shape.ports.iter().map(|port| params.points.include(port)).collect();
        let (last, pauses, peak) = (BTreeMap::new(), 0, Bytes::ZERO);
        CongestionPoint { params: params.clone(), points, classes: params.class_bits(), last, pauses, peak }
    }

    pub(super) fn params(&self) -> &Params {
        &self.params
    }

    /// Congested above Th, and relieved below the target if it has paused a source.
    pub(super) fn levels(&self, port: Port, queue: Queue) -> Levels {
        if !self.points[usize::from(port.0)] {
            return Levels::NONE;
        }
        let congested = Levels::above(self.params.threshold.min(self.peak));
        let paused = self.params.resume && self.paused(port, queue).next().is_some();
        if paused { congested.or(Levels::below(self.params.target())) } else { congested }
    }

    /// Returns the sources that a queue has paused.
    fn paused(&self, port: Port, queue: Queue) -> impl Iterator<Item = (&Key, &Paused)> {
        let first = (port, queue, HostId(0), Dscp::of(Class(0)), None);
        self.last.range(first..).take_while(move |(key, _)| (key.0, key.1) == (port, queue))
    }

    #[inline(always)]
    pub(super) fn is_congested(&mut self, cx: &mut SwitchCx<'_>, at: &Place) -> bool {
        self.points[usize::from(at.egress.0)] && self.classes & (1 << at.class.0) != 0 && {
            let queue = cx.seen().egress(at.egress, at.queue);
            // SFC-AIDC 2025: q(e) > Th.
            let congested = queue > self.params.threshold;
            if !congested || queue > self.peak {
                self.peak = self.peak.max(queue);
                cx.watch(Account::Egress(at.egress, at.queue));
            }
            congested
        }
    }

    pub(super) fn activity(&self) -> Activity {
        let margin = Margin::bytes("longest queue of a congestion point", self.peak, self.params.threshold);
        Activity { acts: self.pauses, margin: Some(margin) }
    }

    #[inline(always)]
    pub(super) fn is_relieved(&self, cx: &SwitchCx<'_>, at: &Place) -> bool {
        // SFC proxy contribution 2025: q(e) < target. An empty queue is relieved whatever the target.
        let least = self.params.target().max(Bytes(1));
        self.params.resume && !self.last.is_empty() && cx.seen().egress(at.egress, at.queue) < least
    }

    /// The pause for the source of a packet that saw a congested queue, unless it has been notified lately.
    pub(super) fn pause(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet, src: HostId) -> Option<Message> {
        let flow_mode = self.params.granularity == Granularity::Flow;
        let dscp = pkt.ds.dscp();
        let key = (at.egress, at.queue, src, dscp, flow_mode.then_some(pkt.flow));
        let now = cx.now();
        // SFC-AIDC 2025, suppression: now - last[source(p), e] >= min_interval.
        if self.last.get(&key).is_some_and(|paused| now < paused.next) {
            return None;
        }
        let pause = self.params.pause.unwrap_or_else(|| {
            // SFC proxy contribution 2025: P = (q - target) x 8 / C.
            let excess = cx.seen().egress(at.egress, at.queue).saturating_sub(self.params.target());
            cx.shape().ports[usize::from(at.egress.0)].rate.time_for(excess)
        });
        if !self.params.resume {
            // These are not looked up any more.
            self.last.retain(|_, paused| paused.next > now);
        }
        let next = now.after(self.params.min_interval.unwrap_or(pause));
        self.pauses += 1;
        cx.watch(Account::Egress(at.egress, at.queue));
        self.last.insert(key, Paused { next, until: now.after(pause), flow: pkt.flow, to: pkt.dst, class: at.class });
        Some(Message { pause, class: at.class, dscp, flow_mode, point: point_id(cx, at), to: pkt.dst })
    }

    /// Returns the pauses that a relieved queue lifts.
    pub(super) fn resumes(&mut self, cx: &mut SwitchCx<'_>, at: &Place) -> Vec<(HostId, FlowRef, Message)> {
        let flow_mode = self.params.granularity == Granularity::Flow;
        let (now, point) = (cx.now(), point_id(cx, at));
        let here = |key: &Key| key.0 == at.egress && key.1 == at.queue;
        // SFCM{0} to every source that e has paused.
        let lasting = self.paused(at.egress, at.queue).filter(|(_, paused)| paused.until > now);
        let resume = |(key, paused): (&Key, &Paused)| {
            let (class, dscp) = (paused.class, key.3);
            let message = Message { pause: Time::ZERO, class, dscp, flow_mode, point, to: paused.to };
            (key.2, paused.flow, message)
        };
        let resumes = lasting.map(resume).collect();
        self.last.retain(|key, _| !here(key));
        cx.watch(Account::Egress(at.egress, at.queue));
        resumes
    }
}

fn point_id(cx: &SwitchCx<'_>, at: &Place) -> PointId {
    PointId(cx.shape().node, at.egress, at.queue)
}
