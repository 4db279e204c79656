//! `[[job]]`: the passes of all layers as steps.

use super::groups::Groups;
use super::workload::{Comm, CommKind, Layer, Policy, Workload};
use crate::error::ImportError;
use crate::family::Work;
use crate::scenario_writer::ScenarioWriter;
use crate::units::{size, time};

/// The names of the three passes.
const PASSES: [&str; 3] = ["forward", "input gradient", "weight gradient"];

/// Steps under construction.
struct Steps<'a> {
    writer: &'a mut ScenarioWriter,
    groups: &'a Groups,
    /// The step that the next step of the passes waits for.
    last: Option<String>,
    /// The last step that was written.
    before: Option<String>,
    written: usize,
    /// The first collective with fewer octets than ranks: its line, and its name.
    few: Option<(u64, String)>,
}

/// Writes the job.
pub fn write(
    workload: &Workload,
    groups: &Groups,
    work: &mut Work<'_>,
    writer: &mut ScenarioWriter,
) -> Result<(), ImportError> {
    let ranks = groups.ranks();
    writer.head("[[job]]").key("label", "workload").key("ranks", ranks);
    let file = workload.file.as_str();
    let comms = |layer: &Layer| layer.passes.iter().flat_map(|pass| pass.comm).collect::<Vec<_>>();
    if workload.layers.iter().any(|layer| !comms(layer).is_empty()) {
        let text = "collectives: all-reduce, all-gather and reduce-scatter by one ring, all-to-all directly; that program has several \
                    channels, trees and NVLS";
        work.notes.differs(file, None, text);
    }
    let mut steps = Steps { writer, groups, last: None, before: None, written: 0, few: None };
    let layers = || (0usize..).zip(&workload.layers);
    match workload.policy {
        Policy::Micro => {
            if workload.layers.len() > 1 {
                let text =
                    "that program does the first line of a MICRO file alone; here all are done, one after the other";
                work.notes.differs(file, workload.layers.get(1).map(|layer| layer.line), text);
            }
            for (number, layer) in layers() {
                steps.comm(number, layer, 2, true);
            }
        }
        policy => {
            for (number, layer) in layers() {
                steps.compute(number, layer, 0);
                if policy != Policy::Data {
                    steps.comm(number, layer, 0, true);
                }
            }
            if policy != Policy::Inference {
                for (number, layer) in layers().collect::<Vec<_>>().into_iter().rev() {
                    steps.backward(number, layer, policy);
                }
            }
        }
    }
    if let Some((line, what)) = steps.few {
        let error = ImportError::new(format!("{what}: each needs a part of at least 1 B")).file(file).line(line);
        return Err(error.hint("the size is that of the whole buffer of a rank"));
    }
    match steps.written {
        0 => Err(ImportError::new("no layer computes or communicates anything").file(file)),
        _ => Ok(()),
    }
}

impl Steps<'_> {
    fn backward(&mut self, number: usize, layer: &Layer, policy: Policy) {
        match policy {
            Policy::Transformer => {
                self.compute(number, layer, 1);
                self.comm(number, layer, 1, true);
                self.compute(number, layer, 2);
                self.weights(number, layer);
            }
            Policy::Model => {
                self.compute(number, layer, 1);
                let comm = if number > 0 { self.comm(number, layer, 1, false) } else { None };
                self.compute(number, layer, 2);
                self.weights(number, layer);
                // The layer before waits for both.
                if let Some(comm) = comm {
                    self.join(number, layer, comm);
                }
            }
            _ => {
                self.compute(number, layer, 2);
                self.weights(number, layer);
                if number > 0 {
                    self.compute(number, layer, 1);
                }
            }
        }
    }

    /// The collective of the weight gradient and the update after it; no step waits for them.
    fn weights(&mut self, number: usize, layer: &Layer) {
        let Some(comm) = self.comm(number, layer, 2, false) else { return };
        if layer.update_ns > 0 {
            let label = label(number, layer, "update");
            self.step(&label, Some(vec![comm]));
            self.writer.key("kind", "compute").key("time", time(layer.update_ns * 1000));
        }
    }

    /// A computation without time, which waits for a collective and for the last step.
    fn join(&mut self, number: usize, layer: &Layer, comm: String) {
        let label = label(number, layer, "gradients");
        let after = self.last.iter().cloned().chain([comm]).collect();
        self.step(&label, Some(after));
        self.writer.key("kind", "compute").key("time", "0 s");
        self.last = Some(label);
    }

    fn compute(&mut self, number: usize, layer: &Layer, pass: usize) {
        let nanoseconds = layer.passes[pass].compute_ns;
        if nanoseconds == 0 {
            return;
        }
        let label = label(number, layer, PASSES[pass]);
        self.step(&label, None);
        self.writer.key("kind", "compute").key("time", time(nanoseconds * 1000));
        self.last = Some(label);
    }

    /// A collective; the next step waits for one that blocks. Returns its label.
    fn comm(&mut self, number: usize, layer: &Layer, pass: usize, blocks: bool) -> Option<String> {
        let Comm { kind, group, bytes } = layer.passes[pass].comm?;
        let (ranks, stride) = self.groups.size_and_stride(group);
        // A rank alone has nothing to send.
        if ranks < 2 {
            return None;
        }
        if kind != CommKind::AllToAll && bytes < u64::from(ranks) {
            let what = format!("the {} of {} has {bytes} B for {ranks} ranks", PASSES[pass], layer.name);
            self.few.get_or_insert((layer.line, what));
        }
        let (name, payload) = match kind {
            CommKind::AllReduce => ("all-reduce", bytes),
            CommKind::AllGather => ("all-gather", bytes),
            CommKind::ReduceScatter => ("reduce-scatter", bytes),
            // A rank's buffer has a part for each rank.
            CommKind::AllToAll => ("all-to-all", bytes.div_ceil(ranks.into())),
        };
        let label = label(number, layer, &format!("{} {name}", PASSES[pass]));
        self.step(&label, None);
        self.writer.key("kind", name).key("size", size(payload));
        if ranks < self.groups.ranks() {
            self.writer.key("group_size", ranks);
            if stride > 1 {
                self.writer.key("group_stride", stride);
            }
        }
        if blocks {
            self.last = Some(label.clone());
        }
        Some(label)
    }

    /// The head of a step, and its waits unless that is the step before it.
    fn step(&mut self, label: &str, after: Option<Vec<String>>) {
        self.writer.head("[[job.step]]").key("label", label);
        let after = after.unwrap_or_else(|| self.last.iter().cloned().collect());
        if self.written > 0 && self.before.as_slice() != after.as_slice() {
            self.writer.key("after", after);
        }
        self.before = Some(label.to_owned());
        self.written += 1;
    }
}

fn label(number: usize, layer: &Layer, what: &str) -> String {
    format!("{number} {} {what}", layer.name)
}
