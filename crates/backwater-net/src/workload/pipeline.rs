//! Pipeline schedules of training: the order in which a stage computes the passes of its micro-batches, and the waits of each pass.
//!
//! ```text
//! p stages, m micro-batches, v chunks of the model on each stage; a pass is F or B of a micro-batch in a chunk
//! gpipe         F of all micro-batches, then B of all
//! 1f1b          min(p - s - 1, m) F on stage s, then one F and one B in turns, then the B that are left
//! interleaved   1f1b of chunks: of p micro-batches F in chunk 0, then in chunk 1, …; min(2 (p - s - 1) + (v - 1) p, m v) F first
//! F(c, i)       waits for F(c, i) on the stage before; of the first stage for F(c - 1, i) on the last one
//! B(c, i)       waits for B(c, i) on the stage behind; of the last stage for B(c + 1, i) on the first one
//! ```
//!
//! Without time between stages a round takes (m v + p - 1)(f + b) for passes of f and b in one chunk: the bubble is (p - 1)(f + b).
//!
//! Sources: Huang et al., "GPipe", NeurIPS 2019, section 2.3; Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training"
//! (PipeDream-Flush, 1F1B), ICML 2021; Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
//! Megatron-LM", SC 2021, section 2.2 (interleaved schedule and bubbles).

/// The kind of schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// All forward passes first.
    GPipe,
    /// One forward, one backward.
    OneForwardOneBackward,
    /// The same, of several chunks on each stage.
    Interleaved,
}

/// A pipeline of stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// The kind of schedule.
    pub schedule: Schedule,
    /// Stages, p.
    pub stages: u32,
    /// Micro-batches of a round, m; interleaved a multiple of p.
    pub micro_batches: u32,
    /// Chunks of the model on each stage, v; 1 unless interleaved.
    pub chunks: u32,
}

/// A pass of a micro-batch through a chunk of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pass {
    /// Backward, not forward.
    pub back: bool,
    /// The chunk of the stage.
    pub chunk: u32,
    /// The micro-batch.
    pub micro_batch: u32,
}

impl Pipeline {
    /// The passes of a stage in the order in which it computes them.
    pub fn order(&self, stage: u32) -> Vec<Pass> {
        let all = self.micro_batches * self.chunks;
        let behind = self.stages - stage - 1;
        let first = match self.schedule {
            Schedule::GPipe => all,
            Schedule::OneForwardOneBackward => behind.min(all),
            Schedule::Interleaved => (2 * behind + (self.chunks - 1) * self.stages).min(all),
        };
        let forward = (0..all).map(|turn| self.pass(false, turn));
        let mut passes: Vec<Pass> = forward.take(first as usize).collect();
        for turn in first..all {
            passes.extend([self.pass(false, turn), self.pass(true, turn - first)]);
        }
        passes.extend((all - first..all).map(|turn| self.pass(true, turn)));
        passes
    }

    /// The forward or backward pass with this number: p micro-batches in one chunk, then the same in the next.
    fn pass(&self, back: bool, turn: u32) -> Pass {
        let (round, within) = (turn / (self.stages * self.chunks), turn % (self.stages * self.chunks));
        let chunk = within / self.stages;
        match self.schedule {
            Schedule::Interleaved => Pass {
                back,
                chunk: if back { self.chunks - 1 - chunk } else { chunk },
                micro_batch: round * self.stages + within % self.stages,
            },
            _ => Pass { back, chunk: 0, micro_batch: turn },
        }
    }

    /// The pass of another stage whose result this pass of a stage waits for, and that stage. `None`: it begins with the input data, or
    /// with results of its own stage.
    pub fn waits_for(&self, stage: u32, pass: Pass) -> Option<(u32, Pass)> {
        let (last, end) = (self.stages - 1, self.chunks - 1);
        let (there, chunk) = match (pass.back, stage) {
            (false, 0) => (last, pass.chunk.checked_sub(1)?),
            (false, _) => (stage - 1, pass.chunk),
            (true, _) if stage < last => (stage + 1, pass.chunk),
            (true, _) if pass.chunk < end => (0, pass.chunk + 1),
            (true, _) => return None,
        };
        (there != stage).then_some((there, Pass { chunk, ..pass }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Returns when the last pass ends, if passes take f and b and transfers between stages take no time: each stage does its passes in its
    /// order, each as soon as possible.
    fn duration(pipeline: &Pipeline, f: u64, b: u64) -> u64 {
        let orders: Vec<Vec<Pass>> = (0..pipeline.stages).map(|stage| pipeline.order(stage)).collect();
        let (mut ends, mut next, mut free) = (HashMap::new(), vec![0; orders.len()], vec![0u64; orders.len()]);
        let total: usize = orders.iter().map(Vec::len).sum();
        while ends.len() < total {
            let before = ends.len();
            for (stage, order) in orders.iter().enumerate() {
                while let Some(pass) = order.get(next[stage]) {
                    let come = match pipeline.waits_for(stage as u32, *pass) {
                        Some(other) => ends.get(&other).copied(),
                        // A backward pass of the last stage follows its own forward pass.
                        None if pass.back => ends.get(&(stage as u32, Pass { back: false, ..*pass })).copied(),
                        None => Some(0),
                    };
                    let Some(come) = come else { break };
                    free[stage] = free[stage].max(come) + if pass.back { b } else { f };
                    ends.insert((stage as u32, *pass), free[stage]);
                    next[stage] += 1;
                }
            }
            assert!(ends.len() > before, "the stages wait for each other: {pipeline:?}");
        }
        free.into_iter().max().unwrap()
    }

    #[test]
    fn bubbles_are_those_of_the_papers() {
        for (p, m) in [(1u32, 1u32), (2, 1), (4, 8), (8, 8), (4, 3), (3, 12)] {
            for schedule in [Schedule::GPipe, Schedule::OneForwardOneBackward] {
                let pipeline = Pipeline { schedule, stages: p, micro_batches: m, chunks: 1 };
                assert_eq!(duration(&pipeline, 3, 5), u64::from(m + p - 1) * 8, "{pipeline:?}");
            }
        }
        for (p, m, v) in [(2u32, 4u32, 2u32), (4, 8, 2), (4, 4, 3), (8, 32, 4)] {
            let pipeline = Pipeline { schedule: Schedule::Interleaved, stages: p, micro_batches: m, chunks: v };
            assert_eq!(duration(&pipeline, 3, 5), u64::from(m * v + p - 1) * 8, "{pipeline:?}");
        }
    }

    /// The second schedule bounds the micro-batches that a stage holds between their forward and backward passes.
    #[test]
    fn a_stage_holds_no_more_than_the_stages_behind_it() {
        let in_flight = |schedule, stage| {
            let order = Pipeline { schedule, stages: 4, micro_batches: 16, chunks: 1 }.order(stage);
            let changes = order.iter().scan(0i32, |in_flight, pass| {
                *in_flight += if pass.back { -1 } else { 1 };
                Some(*in_flight)
            });
            changes.max().unwrap()
        };
        assert_eq!(
            (0..4).map(|stage| in_flight(Schedule::OneForwardOneBackward, stage)).collect::<Vec<_>>(),
            [4, 3, 2, 1]
        );
        assert_eq!(in_flight(Schedule::GPipe, 0), 16);
    }
}
