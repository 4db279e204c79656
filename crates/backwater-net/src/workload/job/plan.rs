//! One round of a job: its tasks, and their waits.

use super::error::{Flaw, JobError, MOST, MOST_AT_ONE_INSTANT};
use super::{Algorithm, Exchange, JobSpec, StepSpec, Work};
use crate::workload::Group;
use backwater_engine::Time;
use std::collections::{HashMap, VecDeque};

/// A step of one communicator.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub step: u32,
    /// The number of the communicator within the step.
    pub communicator: u32,
    /// The first of its transfers among those of the step.
    pub first: u64,
    /// The number of tasks of the same round that it waits for.
    pub needs: u32,
}

/// For each task, a list of others.
#[derive(Clone, Debug, Default)]
pub(super) struct Others {
    /// Per task: where its part of `all` begins; a last entry is the end.
    begin: Vec<u32>,
    all: Vec<u32>,
}

impl Others {
    /// Built from pairs of a task and another; each task's others are in the order of the pairs.
    fn of(pairs: &[(u32, u32)], tasks: usize) -> Others {
        let mut begin = vec![0u32; tasks + 1];
        pairs.iter().for_each(|(task, _)| begin[*task as usize + 1] += 1);
        (0..tasks).for_each(|task| begin[task + 1] += begin[task]);
        let (mut next, mut all) = (begin.clone(), vec![0; pairs.len()]);
        for (task, other) in pairs {
            all[next[*task as usize] as usize] = *other;
            next[*task as usize] += 1;
        }
        Others { begin, all }
    }

    /// The others of a task.
    pub fn at(&self, task: u32) -> &[u32] {
        &self.all[self.begin[task as usize] as usize..self.begin[task as usize + 1] as usize]
    }
}

/// The tasks of a round.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) tasks: Vec<Task>,
    /// Per step: most transfers of a round.
    pub(super) transfers: Vec<u64>,
    /// Tasks that wait for each in the same round; and in the next one, without itself.
    pub(super) then: Others,
    pub(super) then_next: Others,
    /// Tasks of the round before that each waits for, without itself.
    pub(super) previous: Others,
}

/// The ranks at which a communicator's work begins.
fn begins<'a>(step: &StepSpec, ranks: &'a [u32]) -> &'a [u32] {
    match step.work {
        Work::Exchange(Exchange::PointToPoint { .. }) => &ranks[..1],
        _ => ranks,
    }
}

/// The ranks at which it arrives.
fn arrives<'a>(step: &StepSpec, ranks: &'a [u32]) -> &'a [u32] {
    match step.work {
        Work::Exchange(Exchange::PointToPoint { .. }) => &ranks[1..],
        _ => ranks,
    }
}

/// Which communicators of one step wait for which of another. Steps with the same communicators are compared once.
struct Waits<'a> {
    job: &'a JobSpec,
    /// Per step: the first step with the same communicators.
    like: Vec<usize>,
    /// By pair of such steps, the waiting one and the other: pairs of communicators, by ascending numbers.
    found: HashMap<(usize, usize), Vec<(u32, u32)>>,
}

impl<'a> Waits<'a> {
    fn new(job: &'a JobSpec) -> Waits<'a> {
        let mut first: HashMap<(bool, &[Vec<u32>]), usize> = HashMap::new();
        let like = |(number, step): (usize, &'a StepSpec)| {
            let one_way = matches!(step.work, Work::Exchange(Exchange::PointToPoint { .. }));
            *first.entry((one_way, &step.communicators)).or_insert(number)
        };
        Waits { job, like: job.steps.iter().enumerate().map(like).collect(), found: HashMap::new() }
    }

    fn between(&mut self, step: usize, other: usize) -> &[(u32, u32)] {
        let (step, other) = (self.like[step], self.like[other]);
        let job = self.job;
        self.found.entry((step, other)).or_insert_with(|| {
            let (step, other) = (&job.steps[step], &job.steps[other]);
            let arriving: Vec<(u32, u32)> = (0u32..)
                .zip(&other.communicators)
                .flat_map(|(number, ranks)| arrives(other, ranks).iter().map(move |rank| (*rank, number)))
                .collect();
            let arriving = Others::of(&arriving, job.ranks as usize);
            // Per communicator: the last one of the step that was found to wait for it.
            let mut seen = vec![u32::MAX; other.communicators.len()];
            let mut pairs = Vec::new();
            for (number, ranks) in (0u32..).zip(&step.communicators) {
                let first = pairs.len();
                for communicator in begins(step, ranks).iter().flat_map(|rank| arriving.at(*rank)) {
                    if std::mem::replace(&mut seen[*communicator as usize], number) != number {
                        pairs.push((number, *communicator));
                    }
                }
                pairs[first..].sort_unstable();
            }
            pairs
        })
    }
}

impl Plan {
    /// The plan of a job's rounds.
    pub fn new(job: &JobSpec) -> Result<Plan, JobError> {
        let (mut tasks, mut transfers) = (Vec::new(), Vec::new());
        let rounds = job.rounds.saturating_mul(job.instances());
        // Per step: the number of its first task.
        let mut firsts = Vec::with_capacity(job.steps.len());
        for (number, step) in job.steps.iter().enumerate() {
            firsts.push(tasks.len() as u32);
            let (mut first, mut at_once) = (0u64, 0u64);
            for communicator in 0..step.communicators.len() as u32 {
                valid(job, number, communicator as usize)?;
                tasks.push(Task { step: number as u32, communicator, first, needs: 0 });
                if let Work::Exchange(exchange) = &step.work {
                    let members = step.members(communicator as usize).len() as u64;
                    first = first.saturating_add(exchange.most(members));
                    at_once = at_once.saturating_add(exchange.at_once(members));
                }
            }
            if first.checked_mul(rounds).is_none_or(|all| all > Group::MOST_FLOWS) {
                return Err(JobError::TooMany { step: number });
            }
            let at_once = at_once.saturating_mul(job.instances());
            if at_once > MOST {
                return Err(JobError::AtOnce { step: number, transfers: at_once });
            }
            transfers.push(first);
        }
        bounded(job, tasks.len() as u64)?;
        let (then, then_next, previous) = waits(job, &mut tasks, &firsts)?;
        let plan = Plan { tasks, transfers, then, then_next, previous };
        plan.has_no_cycle(job)?;
        Ok(plan)
    }

    fn has_no_cycle(&self, job: &JobSpec) -> Result<(), JobError> {
        let mut needs: Vec<u32> = self.tasks.iter().map(|task| task.needs).collect();
        let mut free: VecDeque<u32> = (0..needs.len() as u32).filter(|t| needs[*t as usize] == 0).collect();
        while let Some(task) = free.pop_front() {
            for &then in self.then.at(task) {
                needs[then as usize] -= 1;
                if needs[then as usize] == 0 {
                    free.push_back(then);
                }
            }
        }
        let Some(mut at) = needs.iter().position(|n| *n > 0).map(|t| t as u32) else { return Ok(()) };
        // Each of the remaining tasks waits for another of them, stored here: enough steps back lead into a cycle.
        let mut waits_for: Vec<u32> = (0..needs.len() as u32).collect();
        for task in (0..needs.len() as u32).rev().filter(|t| needs[*t as usize] > 0) {
            self.then.at(task).iter().for_each(|then| waits_for[*then as usize] = task);
        }
        for _ in 0..needs.len() {
            at = waits_for[at as usize];
        }
        let first = at;
        let mut steps = vec![self.tasks[at as usize].step as usize];
        loop {
            at = waits_for[at as usize];
            let step = self.tasks[at as usize].step as usize;
            if at == first || steps.contains(&step) {
                break;
            }
            steps.push(step);
        }
        let first = &self.tasks[first as usize];
        let ranks = &job.steps[first.step as usize].communicators[first.communicator as usize];
        Err(JobError::Cycle { steps, rank: ranks.first().copied().unwrap_or_default() })
    }
}

/// Checks whether the rounds that are open at once fit into memory, and whether rounds without duration fit into an instant.
fn bounded(job: &JobSpec, tasks: u64) -> Result<(), JobError> {
    let open = job.in_flight.max(1).min(job.rounds);
    let at_once = tasks.saturating_mul(open).saturating_mul(job.instances());
    if at_once > MOST {
        return Err(JobError::Tasks { tasks: at_once });
    }
    let all = tasks.saturating_mul(job.rounds).saturating_mul(job.instances());
    if all > MOST_AT_ONE_INSTANT && !job.steps.iter().any(|step| takes_time(job, step)) {
        return Err(JobError::NoTime { tasks: all });
    }
    Ok(())
}

/// Returns whether a step may take time: it computes, or sends between servers.
fn takes_time(job: &JobSpec, step: &StepSpec) -> bool {
    match &step.work {
        Work::Compute(time) => *time > Time::ZERO,
        Work::Exchange(Exchange::Sizes(sizes)) => {
            let crosses = |ranks: &Vec<u32>| {
                let pairs = ranks.iter().flat_map(|from| ranks.iter().map(move |to| (from, to)));
                pairs.zip(&**sizes).any(|((from, to), size)| *size > 0 && job.server(*from) != job.server(*to))
            };
            step.communicators.iter().any(crosses)
        }
        Work::Exchange(_) => {
            let crosses = |ranks: &Vec<u32>| ranks.windows(2).any(|pair| job.server(pair[0]) != job.server(pair[1]));
            step.communicators.iter().any(crosses)
        }
    }
}

/// Returns the waits: tasks that wait within a round, in the next round, and the tasks of the round before that each waits for.
fn waits(job: &JobSpec, tasks: &mut [Task], firsts: &[u32]) -> Result<(Others, Others, Others), JobError> {
    let mut waits = Waits::new(job);
    let named = |after: &[usize]| {
        let mut after = after.to_vec();
        after.sort_unstable();
        after.dedup();
        after
    };
    let mut count = 0;
    for (number, step) in job.steps.iter().enumerate() {
        for after in named(&step.after).into_iter().chain(named(&step.after_previous)) {
            match waits.between(number, after).len() as u64 {
                // A step that waits for nothing in a named step is a mistake.
                0 => return Err(JobError::Nowhere { step: number, after }),
                pairs => count += pairs,
            }
        }
        if count > MOST {
            return Err(JobError::Waits { step: number, waits: count });
        }
    }
    let mut all = |after: fn(&StepSpec) -> &[usize]| {
        let mut pairs = Vec::new();
        for (number, step) in job.steps.iter().enumerate() {
            for after in named(after(step)) {
                let between = waits.between(number, after).iter();
                pairs.extend(between.map(|(task, other)| (firsts[after] + other, firsts[number] + task)));
            }
        }
        pairs
    };
    let (same, mut before) = (all(|step| &step.after), all(|step| &step.after_previous));
    before.retain(|(other, task)| other != task);
    same.iter().for_each(|(_, task)| tasks[*task as usize].needs += 1);
    let (then, then_next) = (Others::of(&same, tasks.len()), Others::of(&before, tasks.len()));
    before.iter_mut().for_each(|(other, task)| std::mem::swap(other, task));
    Ok((then, then_next, Others::of(&before, tasks.len())))
}

fn valid(job: &JobSpec, step: usize, communicator: usize) -> Result<(), JobError> {
    let (ranks, members) = (&job.steps[step].communicators[communicator], job.steps[step].members(communicator));
    if let Some(rank) = ranks.iter().chain(members).find(|rank| **rank >= job.ranks) {
        return Err(JobError::NoRank { step, rank: *rank });
    }
    let fail = |flaw: Flaw| Err(JobError::Flaw { step, flaw });
    let mut seen: Vec<u32> = ranks.clone();
    seen.sort_unstable();
    if let Some(twice) = seen.windows(2).find(|w| w[0] == w[1]) {
        return fail(Flaw::Twice { rank: twice[0] });
    }
    let (all, ranks, members) = (ranks, ranks.len(), members.len());
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
        Exchange::Phased { algorithm: Algorithm::Hierarchical { per_server }, .. }
            if !whole_servers(job, all, *per_server) =>
        {
            fail(Flaw::WholeServers { ranks, per_server: *per_server })
        }
        Exchange::Tree { bytes, chunks } if u64::from(*chunks) > *bytes || *chunks == 0 => {
            fail(Flaw::NoByte { bytes: *bytes, ranks: *chunks as usize })
        }
        Exchange::Phased { bytes, .. } if *bytes < members as u64 => {
            fail(Flaw::NoByte { bytes: *bytes, ranks: members })
        }
        Exchange::Sizes(sizes) if sizes.len() != ranks * ranks => fail(Flaw::Sizes { sizes: sizes.len(), ranks }),
        Exchange::Routed { routing, .. } => match routing.flaw(ranks, fewest_of_a_server(job, all)) {
            Some(flaw) => fail(flaw),
            None => Ok(()),
        },
        Exchange::Drawn { fan_out, with_self, .. } => match ranks - usize::from(!with_self) {
            of if *fan_out == 0 || *fan_out as usize > of => fail(Flaw::FanOut { fan_out: *fan_out, of }),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Returns whether these ranks are exactly those of two or more whole servers, one after the other.
fn whole_servers(job: &JobSpec, ranks: &[u32], per_server: u32) -> bool {
    let servers: Vec<Vec<u32>> = ranks.chunks(per_server.max(1) as usize).map(<[u32]>::to_vec).collect();
    let whole = |one: &Vec<u32>| {
        one.len() as u32 == per_server && one.iter().all(|rank| job.server(*rank) == job.server(one[0]))
    };
    servers.len() > 1 && servers.iter().all(whole)
}

/// The least number of these ranks in any server that has some of them.
fn fewest_of_a_server(job: &JobSpec, ranks: &[u32]) -> u32 {
    let mut servers: Vec<u32> = ranks.iter().map(|rank| job.server(*rank)).collect();
    servers.sort_unstable();
    servers.chunk_by(|a, b| a == b).map(|one| one.len() as u32).min().unwrap_or(0)
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
        assert_eq!(plan.then.at(4), [2]);
        assert_eq!(plan.transfers, [0, 2]);
        // Back to the first stage in the same round: it never begins.
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

    /// The steps of a round wait for each other as before, however many of them have the same ranks; excesses are refused.
    #[test]
    fn what_is_too_much() {
        let all: Vec<u32> = (0..100).collect();
        let everything = |n: usize| step(compute(1), vec![all.clone()], &(0..n).collect::<Vec<_>>());
        let plan = Plan::new(&job(100, (0..400).map(everything).collect())).unwrap();
        assert!(plan.tasks.iter().zip(0..).all(|(task, n)| task.needs == n));
        // For each rank alone 100 tasks wait for as many of each step before: 100 x 700 x 699 / 2 waits.
        let alone = |n: usize| StepSpec { communicators: (0..100).map(|r| vec![r]).collect(), ..everything(n) };
        let error = Plan::new(&job(100, (0..700).map(alone).collect())).unwrap_err();
        assert_eq!(error, JobError::Waits { step: 632, waits: 100 * 632 * 633 / 2 });
        // 30,000 ranks: all at once are refused; in phases only one transfer of each begins at once.
        let ranks = 30_000;
        let all_to_all = |pairwise| {
            let work = Work::Exchange(Exchange::AllToAll { bytes: 1, pairwise });
            job(ranks, vec![step(work, vec![(0..ranks).collect()], &[])])
        };
        let transfers = u64::from(ranks) * u64::from(ranks - 1);
        assert_eq!(Plan::new(&all_to_all(false)).unwrap_err(), JobError::AtOnce { step: 0, transfers });
        assert_eq!(Plan::new(&all_to_all(true)).unwrap().tasks.len(), 1);
        let mut deep = job(4, vec![step(compute(1), (0..4).map(|r| vec![r]).collect(), &[])]);
        (deep.rounds, deep.in_flight) = (1 << 30, 1 << 23);
        assert_eq!(Plan::new(&deep).unwrap_err(), JobError::Tasks { tasks: 4 << 23 });
    }

    /// Rounds without duration would all be done at one instant.
    #[test]
    fn rounds_that_take_no_time() {
        let pair = vec![vec![0, 1]];
        let of = |work: Work, per_server: u32| {
            let job = job(2, vec![step(compute(0), pair.clone(), &[]), step(work, pair.clone(), &[0])]);
            Plan::new(&JobSpec { rounds: 100_000_000_000, ranks_per_server: per_server, ..job }).err()
        };
        let endless = Some(JobError::NoTime { tasks: 200_000_000_000 });
        assert_eq!(of(compute(0), 1), endless);
        assert_eq!(of(Work::Compute(Time(1)), 1), None);
        let sizes = |sizes: [u64; 4]| Work::Exchange(Exchange::Sizes(sizes.into()));
        for (work, sends) in [(sizes([0, 0, 7, 0]), true), (sizes([7, 0, 0, 7]), false)] {
            assert_eq!(of(work.clone(), 1), endless.clone().filter(|_| !sends));
            assert_eq!(of(work, 2), endless, "within a server");
        }
    }
}
