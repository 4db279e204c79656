//! The runs that cannot be split, with the reasons.

use super::super::{Actors, Network};
use crate::config::AckPath;
use crate::model::hooks::{FlowShape, RateKey};
use crate::model::packet::{CLASSES, Class, HostId};
use crate::spec::Spec;
use crate::topology::{Graph, Link};
use crate::units::{Bytes, Rate};
use crate::workload::flow_spec::FlowSpec;
use backwater_engine::Time;

/// A pinned path shows for packets in flight whether their flow has ended.
const PINNED: &str = "a path is pinned, and taken out everywhere at the instant at which its flow ends";

/// Returns why a run stays on one thread, if its spec requires it.
pub(super) fn one_thread<A: Actors>(spec: &Spec<A>, graph: &Graph) -> Option<String> {
    if let Some((mechanism, why)) = spec.actors.couples() {
        return Some(format!("{mechanism} {why}"));
    }
    let causes = spec.causes.pauses || spec.causes.waits.contains(&true);
    let pins = spec.ack.path == AckPath::Reverse && (spec.transport.retransmits() || spec.actors.sends_messages());
    let reasons = [
        (!spec.ack.enabled, "without acknowledgements a sender knows at once what has arrived"),
        (spec.jobs.iter().any(|job| job.place().is_some()), "its caller sends messages, which is not split yet"),
        (
            spec.jobs.iter().any(|job| job.start_latency() == Time::ZERO),
            "job.start_latency is 0: a job starts a flow at the instant at which another one ends elsewhere",
        ),
        (!spec.awaited.is_empty(), "stop.when ends it at the instant at which the last flow of some groups ends"),
        (
            spec.queue_pairs.iter().any(Option::is_some),
            "messages over several queue pairs, or queue pairs that outlive a message, are not split yet",
        ),
        (!spec.faults.is_empty(), "faults are not split yet"),
        (graph.links.iter().any(Link::loses), "links that lose frames are not split yet"),
        (graph.has_several_links(), "hosts with several links are not split yet"),
        (pins, PINNED),
        (causes, "records of causes are not split yet"),
        (
            keeps_controllers(&spec.actors),
            "flows share a rate limiter that is kept between them, which is not split yet",
        ),
    ];
    reasons.into_iter().find_map(|(is, why)| is.then(|| why.into()))
}

impl<A: Actors> Network<A> {
    /// Returns why a run with this flow stays on one thread.
    pub(in crate::run) fn why_not_split(&self, flow: &FlowSpec) -> Option<&'static str> {
        if flow.stream.is_some() {
            return Some("a Bernoulli source tells its receiver at once what there is to come");
        }
        let pinned = flow.path.is_some() || flow.ack_path.is_some();
        let lasts = self.world.rules.transport.retransmits() || self.actors.sends_messages();
        (pinned && lasts).then_some(PINNED)
    }

    /// The same for the first flow of each source: the flows of a source are alike.
    pub(super) fn why_not_split_at_first(&self) -> Option<String> {
        self.coming.iter().flatten().find_map(|flow| self.why_not_split(flow)).map(str::to_owned)
    }
}

/// Returns whether flows of any class share controllers.
fn keeps_controllers<A: Actors>(actors: &A) -> bool {
    (0..CLASSES as u8).any(|class| {
        let shape = FlowShape {
            src: HostId(0),
            dst: HostId(1),
            class: Class(class),
            line: Rate::gbps(100),
            payload: Bytes(1),
            frame: Bytes(1),
            hops: 1,
        };
        actors.rate_key(&shape, 0) != RateKey::Flow
    })
}
