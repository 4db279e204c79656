//! One round of a job: its tasks, and what each waits for.

use super::{Algorithm, Exchange, JobSpec, StepSpec, Work};
use crate::workload::Group;
use std::collections::{BTreeSet, VecDeque};
use std::fmt;

/// A step of one communicator.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub step: u32,
    /// The number of the communicator within the step.
    pub communicator: u32,
    /// The first of its transfers among those of the step.
    pub first: u64,
    /// Tasks of the same round that it waits for, their number; of the round before, beside itself, their numbers.
    pub needs: u32,
    pub previous: Vec<u32>,
    /// Tasks that wait for it in the same round and in the next, itself included.
    pub then: Vec<u32>,
    pub then_next: Vec<u32>,
}

/// The tasks of a round.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) tasks: Vec<Task>,
    /// Per step: transfers of a round, at most.
    pub(super) transfers: Vec<u64>,
}

/// Why ranks cannot do a step together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// One of them is named twice.
    Twice {
        /// The rank.
        rank: u32,
    },
    /// They are too few, or too many for a pair.
    Number {
        /// How many they are.
        ranks: usize,
    },
    /// The algorithm needs a power of two.
    PowerOfTwo {
        /// How many they are.
        ranks: usize,
    },
    /// Some would have nothing to send.
    NoByte {
        /// The buffer that is shared out.
        bytes: u64,
        /// How many they are.
        ranks: usize,
    },
    /// A matrix of sizes for another number.
    Sizes {
        /// Sizes that there are.
        sizes: usize,
        /// How many they are.
        ranks: usize,
    },
    /// More receivers, or fewer than one, than a rank can draw.
    FanOut {
        /// Receivers of each.
        fan_out: u32,
        /// Those that there are to draw from.
        of: usize,
    },
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Twice { rank } => write!(f, "rank {rank} would act with itself"),
            Flaw::Number { ranks } => write!(f, "{ranks} ranks cannot do this together"),
            Flaw::PowerOfTwo { ranks } => write!(f, "halving-doubling does not work among {ranks} ranks"),
            Flaw::NoByte { bytes, ranks } => write!(f, "{bytes} B do not give each of {ranks} ranks a byte"),
            Flaw::Sizes { sizes, ranks } => write!(f, "{sizes} sizes are not those from each of {ranks} ranks to each"),
            Flaw::FanOut { fan_out, of } => write!(f, "a rank cannot draw {fan_out} receivers out of {of}"),
        }
    }
}

/// Why a job cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobError {
    /// A rank beyond those of the job.
    NoRank {
        /// The step.
        step: usize,
        /// The rank.
        rank: u32,
    },
    /// A communicator that cannot do its work.
    Flaw {
        /// The step.
        step: usize,
        /// What is wrong.
        flaw: Flaw,
    },
    /// What a step waits for arrives at none of its ranks.
    Nowhere {
        /// The step.
        step: usize,
        /// What it waits for.
        after: usize,
    },
    /// Steps that wait for each other: each for the next, and the last for the first.
    Cycle {
        /// The steps.
        steps: Vec<usize>,
        /// A rank at which they do.
        rank: u32,
    },
    /// More flows than can be told apart.
    TooMany {
        /// The step.
        step: usize,
    },
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobError::NoRank { step, rank } => write!(f, "step {step}: there is no rank {rank}"),
            JobError::Flaw { step, flaw } => write!(f, "step {step}: {flaw}"),
            JobError::Nowhere { step, after } => write!(f, "nothing of step {after} arrives at a rank of step {step}"),
            JobError::Cycle { steps, rank } => write!(f, "steps {steps:?} wait for each other at rank {rank}"),
            JobError::TooMany { step } => write!(f, "step {step} has more than {} transfers", Group::MOST_FLOWS),
        }
    }
}

impl std::error::Error for JobError {}

/// The ranks at which a communicator's work begins.
fn begins(step: &StepSpec, ranks: &[u32]) -> Vec<u32> {
    match step.work {
        Work::Exchange(Exchange::PointToPoint { .. }) => ranks[..1].to_vec(),
        _ => ranks.to_vec(),
    }
}

/// The ranks at which it arrives.
fn arrives(step: &StepSpec, ranks: &[u32]) -> Vec<u32> {
    match step.work {
        Work::Exchange(Exchange::PointToPoint { .. }) => ranks[1..].to_vec(),
        _ => ranks.to_vec(),
    }
}

impl Plan {
    /// The plan of a job's rounds.
    pub fn new(job: &JobSpec) -> Result<Plan, JobError> {
        let mut plan = Plan { tasks: Vec::new(), transfers: Vec::new() };
        // Per step, per rank: the tasks that arrive there.
        let mut arriving: Vec<Vec<Vec<u32>>> = Vec::new();
        for (number, step) in job.steps.iter().enumerate() {
            let (mut at, mut first) = (vec![Vec::new(); job.ranks as usize], 0u64);
            for (communicator, ranks) in step.communicators.iter().enumerate() {
                valid(job, number, ranks)?;
                let task = plan.tasks.len() as u32;
                arrives(step, ranks).iter().for_each(|rank| at[*rank as usize].push(task));
                let (step_number, communicator) = (number as u32, communicator as u32);
                let (needs, previous, then, then_next) = (0, Vec::new(), Vec::new(), vec![task]);
                plan.tasks.push(Task { step: step_number, communicator, first, needs, previous, then, then_next });
                if let Work::Exchange(exchange) = &step.work {
                    first = first.saturating_add(exchange.most(ranks.len() as u64));
                }
            }
            let rounds = job.rounds.saturating_mul(job.instances());
            if first.checked_mul(rounds).is_none_or(|all| all > Group::MOST_FLOWS) {
                return Err(JobError::TooMany { step: number });
            }
            plan.transfers.push(first);
            arriving.push(at);
        }
        for task in 0..plan.tasks.len() as u32 {
            plan.wait(job, task, &arriving);
        }
        plan.all_waits_are_met(job, &arriving)?;
        plan.has_no_cycle(job)?;
        Ok(plan)
    }

    /// Finds what a task waits for.
    fn wait(&mut self, job: &JobSpec, task: u32, arriving: &[Vec<Vec<u32>>]) {
        let (step, ranks) = self.ranks(job, task);
        let own = begins(step, ranks);
        let found = |steps: &[usize]| {
            let at = steps.iter().flat_map(|after| own.iter().flat_map(|rank| &arriving[*after][*rank as usize]));
            at.copied().collect::<BTreeSet<u32>>()
        };
        let (same, mut before) = (found(&step.after), found(&step.after_previous));
        before.remove(&task);
        same.iter().for_each(|other| self.tasks[*other as usize].then.push(task));
        before.iter().for_each(|other| self.tasks[*other as usize].then_next.push(task));
        let task = &mut self.tasks[task as usize];
        task.needs = same.len() as u32;
        task.previous = before.into_iter().collect();
    }

    fn ranks<'a>(&self, job: &'a JobSpec, task: u32) -> (&'a StepSpec, &'a [u32]) {
        let task = &self.tasks[task as usize];
        let step = &job.steps[task.step as usize];
        (step, &step.communicators[task.communicator as usize])
    }

    /// A step that waits for nothing of what it names was meant otherwise.
    fn all_waits_are_met(&self, job: &JobSpec, arriving: &[Vec<Vec<u32>>]) -> Result<(), JobError> {
        for (number, step) in job.steps.iter().enumerate() {
            for &after in step.after.iter().chain(&step.after_previous) {
                let met =
                    |ranks: &Vec<u32>| begins(step, ranks).iter().any(|r| !arriving[after][*r as usize].is_empty());
                if !step.communicators.iter().any(met) {
                    return Err(JobError::Nowhere { step: number, after });
                }
            }
        }
        Ok(())
    }

    fn has_no_cycle(&self, job: &JobSpec) -> Result<(), JobError> {
        let mut needs: Vec<u32> = self.tasks.iter().map(|task| task.needs).collect();
        let mut free: VecDeque<u32> = (0..needs.len() as u32).filter(|t| needs[*t as usize] == 0).collect();
        while let Some(task) = free.pop_front() {
            for &then in &self.tasks[task as usize].then {
                needs[then as usize] -= 1;
                if needs[then as usize] == 0 {
                    free.push_back(then);
                }
            }
        }
        let Some(mut at) = needs.iter().position(|n| *n > 0).map(|t| t as u32) else { return Ok(()) };
        // Each of those that are left waits for another of them: going back often enough leads into a cycle.
        let waits_for = |task: u32| {
            let held = |t: &u32| needs[*t as usize] > 0 && self.tasks[*t as usize].then.contains(&task);
            (0..needs.len() as u32).find(held).unwrap_or(task)
        };
        for _ in 0..needs.len().min(10_000) {
            at = waits_for(at);
        }
        let first = at;
        let mut steps = vec![self.tasks[at as usize].step as usize];
        loop {
            at = waits_for(at);
            let step = self.tasks[at as usize].step as usize;
            if at == first || steps.contains(&step) {
                break;
            }
            steps.push(step);
        }
        let rank = self.ranks(job, first).1.first().copied().unwrap_or_default();
        Err(JobError::Cycle { steps, rank })
    }
}

fn valid(job: &JobSpec, step: usize, ranks: &[u32]) -> Result<(), JobError> {
    if let Some(rank) = ranks.iter().find(|rank| **rank >= job.ranks) {
        return Err(JobError::NoRank { step, rank: *rank });
    }
    let fail = |flaw: Flaw| Err(JobError::Flaw { step, flaw });
    let mut seen: Vec<u32> = ranks.to_vec();
    seen.sort_unstable();
    if let Some(twice) = seen.windows(2).find(|w| w[0] == w[1]) {
        return fail(Flaw::Twice { rank: twice[0] });
    }
    let ranks = ranks.len();
    let exchange = match &job.steps[step].work {
        Work::Compute(_) if ranks == 0 => return fail(Flaw::Number { ranks }),
        Work::Compute(_) => return Ok(()),
        Work::Exchange(exchange) => exchange,
    };
    match exchange {
        _ if ranks < 2 => fail(Flaw::Number { ranks }),
        Exchange::PointToPoint { .. } if ranks > 2 => fail(Flaw::Number { ranks }),
        Exchange::Phased { algorithm: Algorithm::HalvingDoubling, .. } if !ranks.is_power_of_two() => {
            fail(Flaw::PowerOfTwo { ranks })
        }
        Exchange::Phased { bytes, .. } if *bytes < ranks as u64 => fail(Flaw::NoByte { bytes: *bytes, ranks }),
        Exchange::Sizes(sizes) if sizes.len() != ranks * ranks => fail(Flaw::Sizes { sizes: sizes.len(), ranks }),
        Exchange::Drawn { fan_out, with_self, .. } => match ranks - usize::from(!with_self) {
            of if *fan_out == 0 || *fan_out as usize > of => fail(Flaw::FanOut { fan_out: *fan_out, of }),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{compute, job, send, step};
    use super::*;

    #[test]
    fn a_pipeline_waits_at_receivers_only() {
        // Two stages of two ranks: compute, then to the same rank of the next stage, which computes what it has received.
        let compute = step(compute(5), vec![vec![0], vec![1], vec![2], vec![3]], &[1]);
        let mut send = step(send(100), vec![vec![0, 2], vec![1, 3]], &[0]);
        let plan = Plan::new(&job(4, vec![compute.clone(), send.clone()])).unwrap();
        assert_eq!(plan.tasks.iter().map(|t| t.needs).collect::<Vec<_>>(), [0, 0, 1, 1, 1, 1]);
        assert_eq!(plan.tasks[4].then, [2]);
        assert_eq!(plan.transfers, [0, 2]);
        // Back to the first stage in the same round, it never begins.
        send.communicators.push(vec![2, 0]);
        let cycle = Plan::new(&job(4, vec![compute, send])).unwrap_err();
        assert!(matches!(&cycle, JobError::Cycle { steps, .. } if steps.len() == 2), "{cycle}");
    }

    #[test]
    fn what_cannot_be() {
        let one = |work, communicators| Plan::new(&job(4, vec![step(work, communicators, &[])])).unwrap_err();
        assert_eq!(one(send(1), vec![vec![0, 4]]), JobError::NoRank { step: 0, rank: 4 });
        for (work, ranks) in [
            (send(1), vec![0, 0]),
            (send(1), vec![0]),
            (send(1), vec![0, 1, 2]),
            (compute(1), vec![]),
            (Work::Exchange(Exchange::Sizes(vec![1; 4].into())), vec![0, 1, 2]),
        ] {
            assert!(matches!(one(work.clone(), vec![ranks]), JobError::Flaw { .. }), "{work:?}");
        }
        let itself = step(compute(1), vec![vec![0]], &[0]);
        let cycle = Plan::new(&job(1, vec![itself])).unwrap_err();
        assert_eq!(cycle, JobError::Cycle { steps: vec![0], rank: 0 });
        let (left, right) = (step(compute(1), vec![vec![0]], &[]), step(compute(1), vec![vec![1]], &[0]));
        assert_eq!(Plan::new(&job(2, vec![left, right])).unwrap_err(), JobError::Nowhere { step: 1, after: 0 });
        let mut endless = job(2, vec![step(send(1), vec![vec![0, 1]], &[])]);
        endless.rounds = 1 << 41;
        assert_eq!(Plan::new(&endless).unwrap_err(), JobError::TooMany { step: 0 });
    }
}
