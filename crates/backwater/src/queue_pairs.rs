//! `queue_pairs`, `segment` and `keep_queue_pairs` of groups and jobs, for the stage.

use crate::error::{ScenarioError, Warning};
use crate::file::Arrivals;
use crate::resolved::Resolved;
use backwater_net::Bytes;
use backwater_net::spec::QueuePairs;

/// The queue pairs of a group or a job with these keys; `None`: each message is a flow of its own.
pub(crate) fn of(number: u32, segment: Option<Bytes>, kept: bool) -> Option<QueuePairs> {
    (number > 1 || kept).then_some(QueuePairs { number, segment, kept })
}

/// Checks whether they are possible: segments are whole packets, since a queue pair's only short packet is its last; and a stream is no
/// message.
pub(crate) fn check(resolved: &Resolved) -> Result<Vec<Warning>, ScenarioError> {
    let file = &resolved.file;
    let flows = (0..).zip(&file.flow).map(|(i, group)| (format!("flow.{i}"), group.queue_pairs, group.segment));
    let jobs = (0..).zip(&file.job).map(|(i, job)| (format!("job.{i}"), job.queue_pairs, job.segment));
    let mut warnings = Vec::new();
    for (key, number, segment) in flows.chain(jobs) {
        let Some(segment) = segment else { continue };
        let (key, payload) = (format!("{key}.segment"), file.packet.payload.0);
        if segment.0 == 0 || !segment.0.is_multiple_of(payload) {
            let nearest = Bytes((segment.0.saturating_add(payload / 2) / payload).max(1).saturating_mul(payload));
            let reason = format!("{segment} is no multiple of packet.payload, {}", file.packet.payload);
            return Err(resolved.error(&key, reason).hint(format!("segments are whole packets, as in {nearest}")));
        }
        if number == 1 {
            warnings.push(Warning {
                key,
                value: segment.to_string(),
                reason: "without effect: all segments go to the one queue pair, one after the other".into(),
                hint: "give `queue_pairs`, or leave `segment` out".into(),
            });
        }
    }
    let kept = (0..).zip(&file.flow).map(|(i, group)| (format!("flow.{i}"), group.keep_queue_pairs));
    let kept = kept.chain((0..).zip(&file.job).map(|(i, job)| (format!("job.{i}"), job.keep_queue_pairs)));
    if let Some((key, _)) = kept.into_iter().find(|(_, kept)| *kept) {
        let reason = match (file.transport.retransmits(), file.ack.enabled) {
            (false, _) => "packets have no numbers without `transport.recovery`",
            (_, false) => "no message ends that nobody acknowledges",
            _ => "",
        };
        if !reason.is_empty() {
            let error = resolved.error(&format!("{key}.keep_queue_pairs"), reason);
            return Err(
                error.hint("transport.recovery = \"go-back-n\", as RoCEv2 interfaces have it, and ack.enabled = true")
            );
        }
    }
    let streams = file.flow.iter().position(|group| group.arrivals == Arrivals::Bernoulli && group.keep_queue_pairs);
    if let Some(i) = streams {
        let error =
            resolved.error(&format!("flow.{i}.keep_queue_pairs"), "packets of a bernoulli stream are no message");
        return Err(error.hint("leave it out: a stream keeps its queue pair anyway"));
    }
    let streams =
        (0..).zip(&file.flow).find(|(_, group)| group.arrivals == Arrivals::Bernoulli && group.queue_pairs > 1);
    match streams {
        None => Ok(warnings),
        Some((i, _)) => {
            let error =
                resolved.error(&format!("flow.{i}.queue_pairs"), "packets of a bernoulli stream are no message");
            Err(error.hint("leave it out, or let messages arrive: `poisson`, `periodic` or `once`"))
        }
    }
}
