//! From a `[[job]]` with a table of operations to a graph of them on hosts.

use crate::error::ScenarioError;
use crate::file::CompleteAt;
use crate::inputs::{is_parquet, place_of};
use crate::jobs::Reader;
use crate::layout::Layout;
use crate::operations;
use crate::pipeline;
use backwater_net::packet::Class;
use backwater_net::workload::graph::{Graph, GraphError, GraphSpec, MOST, Operations};
use std::sync::Arc;

/// A job with a table, in a run with `seed`.
pub(crate) fn read(layout: &Layout, number: usize, seed: u64) -> Result<GraphSpec, ScenarioError> {
    let reader = Reader::of(layout, number);
    let job = reader.job;
    // A key given with its default value is ignored.
    let others = [
        ("step", !job.step.is_empty(), "what it has is all that the job does: leave out one of both"),
        ("rounds", job.rounds != 1, "its operations are done once"),
        ("rounds_in_flight", job.rounds_in_flight != 1, "its operations are done once"),
        (
            "complete_at",
            job.complete_at != CompleteAt::LastByte,
            "the column `after_ack` says what waits for an acknowledgement",
        ),
    ];
    let what = if job.operations.is_some() { "operations" } else { "pipeline" };
    if let Some((name, _, hint)) = others.into_iter().find(|(_, given, _)| *given) {
        return reader.fail(name, format!("is not for a job with `{what}`"), hint);
    }
    if let Some(entry) = &job.pipeline {
        if job.operations.is_some() {
            return reader.fail("pipeline", "the job has a table of `operations`, too", "leave one of them out");
        }
        drop(pipeline::operations(&reader, entry)?);
    }
    let hosts = reader.placed(seed)?;
    reader.reach(&hosts, || {
        let operations = operations(layout, number)?;
        let known = |rank: &u32| *rank < job.ranks;
        // A row that names further ranks is refused later.
        Ok(operations.pairs().filter(|(from, to)| known(from) && known(to)).collect())
    })?;
    Ok(GraphSpec {
        label: job.label.as_str().into(),
        ranks: job.ranks,
        hosts,
        ranks_per_server: job.ranks_per_server,
        start: job.start,
        start_latency: job.start_latency,
        class: Class(job.class),
        ect: job.ect,
    })
}

/// The operations of a job's table or pipeline.
pub(crate) fn operations(layout: &Layout, number: usize) -> Result<Arc<Operations>, ScenarioError> {
    let reader = Reader::of(layout, number);
    let file = match (&reader.job.operations, &reader.job.pipeline) {
        (Some(file), _) => file.as_str(),
        (None, Some(entry)) => return pipeline::operations(&reader, entry).map(Arc::new),
        (None, None) => return reader.fail("operations", "is missing", "a table of operations"),
    };
    if is_parquet(file) {
        let path = place_of(&layout.resolved.base_dir, file);
        let given = layout.resolved.operations.iter().find(|(of, _)| *of == path);
        return match given {
            Some((_, operations)) => Ok(Arc::clone(operations)),
            None => {
                reader.fail("operations", format!("`{file}` has not been read"), "give its rows with `with_operations`")
            }
        };
    }
    let path = layout.resolved.base_dir.join(file);
    if let Some(wrong) = crate::inputs::wrong(&path) {
        let hint = "a table of operations is a .csv or .parquet file; its name is relative to the scenario's";
        return reader.fail("operations", wrong, hint);
    }
    operations::from_csv_file(&path, reader.job.ranks).map(Arc::new)
}

/// A graph whose flows begin with `group`.
pub(crate) fn build(
    layout: &Layout,
    number: usize,
    spec: GraphSpec,
    operations: Arc<Operations>,
    group: u32,
) -> Result<Graph, ScenarioError> {
    let reader = Reader::of(layout, number);
    Graph::new(spec, operations, group).map_err(|error| {
        let hint = match error {
            GraphError::NoRank { .. } => format!("ranks of the job are 0 to {}", reader.job.ranks - 1),
            GraphError::Ids { .. } => "number operations 0, 1, 2, …".to_owned(),
            GraphError::TooMany { .. } => format!("fewer instances: {MOST} operations in all"),
        };
        layout.resolved.error(&format!("job.{number}.operations"), error.to_string()).hint(hint)
    })
}
