//! From `[job.pipeline]` to operations: the passes of every stage in their order, and the transfers between stages.

use crate::error::ScenarioError;
use crate::file::{PipelineEntry, ScheduleName};
use crate::jobs::Reader;
use backwater_engine::Time;
use backwater_net::workload::graph::{Flaw, Operations, Reader as Table, Row, Task};
use backwater_net::workload::pipeline::{Pass, Pipeline, Schedule};
use std::collections::HashMap;

/// The labels of transfers between stages in results: forward, and backward.
pub(crate) const SENDS: [&str; 2] = ["activations", "gradients"];
/// The labels of passes.
const PASSES: [&str; 2] = ["forward", "backward"];

/// The operations of a job's pipeline, or the error in it.
pub(crate) fn operations(reader: &Reader<'_>, entry: &PipelineEntry) -> Result<Operations, ScenarioError> {
    let pipeline = read(reader, entry)?;
    let isolation_queues = reader.job.ranks / pipeline.stages;
    let orders: Vec<Vec<Pass>> = (0..pipeline.stages).map(|stage| pipeline.order(stage)).collect();
    // The position of each pass in its stage's order, and the stage that waits for it.
    let (mut places, mut receivers) = (HashMap::new(), HashMap::new());
    for (stage, order) in (0u32..).zip(&orders) {
        for (place, pass) in (0u64..).zip(order) {
            places.insert((stage, *pass), place);
            if let Some(sender) = pipeline.waits_for(stage, *pass) {
                receivers.insert(sender, stage);
            }
        }
    }
    let passes = orders.first().map_or(0, Vec::len) as u64;
    // A pass and its transfer have consecutive numbers.
    let id = |stage: u32, isolation_queue: u32, place: u64| {
        2 * (u64::from(stage * isolation_queues + isolation_queue) * passes + place)
    };
    let too_many = |flaw: Flaw| reader.error("pipeline", flaw.reason).hint("fewer ranks, micro-batches or chunks");
    let (mut table, mut after) = (Table::default(), Vec::new());
    for (stage, order) in (0u32..).zip(&orders) {
        for (isolation_queue, (place, pass)) in
            (0..isolation_queues).flat_map(|isolation_queue| (0u64..).zip(order).map(move |one| (isolation_queue, one)))
        {
            let (rank, own) = (stage * isolation_queues + isolation_queue, id(stage, isolation_queue, place));
            after.clear();
            after.extend((place > 0).then(|| id(stage, isolation_queue, place - 1)));
            let other = pipeline.waits_for(stage, *pass);
            after.extend(other.map(|(there, what)| id(there, isolation_queue, places[&(there, what)]) + 1));
            let time = if pass.back { entry.backward.unwrap_or(entry.forward * 2) } else { entry.forward };
            let which = usize::from(pass.back);
            let compute = Row {
                id: own,
                rank,
                task: Task::Compute(time),
                after: &after,
                after_ack: &[],
                needs: None,
                start: Time::ZERO,
                class: None,
                label: PASSES[which],
                stream: None,
            };
            table.add(&compute).map_err(too_many)?;
            if let Some(there) = receivers.get(&(stage, *pass)) {
                let task = Task::Send { peer: there * isolation_queues + isolation_queue, bytes: entry.size.0 };
                table
                    .add(&Row { id: own + 1, task, after: &[own], label: SENDS[which], ..compute })
                    .map_err(too_many)?;
            }
        }
    }
    table.finish().map_err(too_many)
}

fn read(reader: &Reader<'_>, entry: &PipelineEntry) -> Result<Pipeline, ScenarioError> {
    let fail = |name: &str, reason: String, hint: &str| reader.fail(&format!("pipeline.{name}"), reason, hint);
    if entry.stages < 2 || !reader.job.ranks.is_multiple_of(entry.stages) {
        let reason = format!("{} ranks do not make {} stages alike", reader.job.ranks, entry.stages);
        return fail("stages", reason, "at least 2; `ranks` is a multiple of it");
    }
    if entry.size.0 == 0 {
        return fail("size", "0 B cannot be sent".into(), "what a micro-batch sends from stage to stage");
    }
    let interleaved = entry.schedule == ScheduleName::Interleaved;
    if interleaved && !entry.micro_batches.is_multiple_of(entry.stages) {
        let reason = format!("{} micro-batches are no multiple of {} stages", entry.micro_batches, entry.stages);
        return fail("micro_batches", reason, "the interleaved schedule needs that; \"1f1b\" does not");
    }
    if !interleaved && entry.chunks != 1 {
        return fail("chunks", "is for another schedule".into(), "schedule = \"interleaved\"");
    }
    let schedule = match entry.schedule {
        ScheduleName::Gpipe => Schedule::GPipe,
        ScheduleName::OneForwardOneBackward => Schedule::OneForwardOneBackward,
        ScheduleName::Interleaved => Schedule::Interleaved,
    };
    Ok(Pipeline { schedule, stages: entry.stages, micro_batches: entry.micro_batches, chunks: entry.chunks })
}
