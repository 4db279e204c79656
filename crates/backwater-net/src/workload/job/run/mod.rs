//! A job in progress.

mod transfers;

use super::JobError;
use super::exchange::Exchange;
use super::plan::Plan;
use super::spec::{JobSpec, Links, Work};
use crate::record::{Computed, InstanceRow, Release, RoundRow, Rows};
use crate::workload::dependent::{Dependent, Due, Moment, Rounds};
use backwater_engine::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use transfers::{Active, InProgress, Message};

/// A task of a round of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
struct At {
    instance: u32,
    round: u64,
    task: u32,
}

#[derive(serde::Serialize, serde::Deserialize)]
enum State {
    /// Waits for so many tasks.
    Waits(u32),
    /// Its computation, or its earliest start, is still to come; with its last condition.
    Later(Release),
    Active(Box<Active>),
    Complete,
}

/// An open round.
#[derive(serde::Serialize, serde::Deserialize)]
struct Round {
    tasks: Vec<State>,
    left: usize,
    /// When its first task began.
    start: Option<Time>,
}

/// The open rounds of an instance, in order.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Instance {
    rounds: VecDeque<Round>,
    /// The number of the first of them.
    first: u64,
}

/// A job in progress.
#[derive(backwater_derive::State)]
pub struct Job {
    #[state(fixed)]
    spec: JobSpec,
    #[state(fixed)]
    plan: Plan,
    #[state(fixed)]
    links: Links,
    #[state(fixed)]
    seed: u64,
    /// Group of the first step's flows; the others follow.
    #[state(fixed)]
    group: u32,
    instances: Vec<Instance>,
    begun: bool,
    /// Tasks that may begin, with the last condition of each.
    ready: BTreeMap<At, Release>,
    /// Computations in progress, tasks that may not begin yet, and exchanges whose first messages are still to come.
    later: BinaryHeap<Reverse<(Time, At, bool)>>,
    /// Messages that software holds, by the time at which they enter the network.
    held: BTreeMap<(Time, u64), Message>,
    /// Transfers completed at this instant: the task, its rank and its phase.
    done: Vec<(At, u32, u32)>,
    /// Transfers in the network, by their flows; empty if nobody reads their rows.
    #[state(sorted)]
    in_progress: HashMap<u64, InProgress>,
    #[state(fixed)]
    has_rows: bool,
}

impl JobSpec {
    /// Number of instances.
    pub fn instances(&self) -> u64 {
        self.hosts.len() as u64 / u64::from(self.ranks.max(1))
    }

    /// The server of a rank, among those of its instance.
    pub(super) fn server(&self, rank: u32) -> u32 {
        rank / self.ranks_per_server.max(1)
    }
}

impl Job {
    /// A job whose steps' flows belong to `group` and those after it, of the run with `seed`.
    pub fn new(spec: JobSpec, group: u32, seed: u64, links: Links) -> Result<Job, JobError> {
        let plan = Plan::new(&spec)?;
        let instances = (0..spec.instances()).map(|_| Instance::default()).collect();
        let (ready, later, done) = (BTreeMap::new(), BinaryHeap::new(), Vec::new());
        let (begun, in_progress) = (false, HashMap::new());
        let (held, has_rows) = (BTreeMap::new(), true);
        Ok(Job { spec, plan, links, seed, group, instances, begun, ready, later, held, done, in_progress, has_rows })
    }

    /// Number of flows in all, if known beforehand: random draws may stay within a server.
    pub fn total(&self) -> Option<u64> {
        let mut round = 0u64;
        for task in &self.plan.tasks {
            let step = &self.spec.steps[task.step as usize];
            let members = step.members(task.communicator as usize);
            let n = members.len() as u32;
            let Work::Exchange(exchange) = &step.work else { continue };
            round += match exchange {
                Exchange::Drawn { with_self: false, fan_out, .. } if self.spec.ranks_per_server == 1 => {
                    u64::from(n) * u64::from(*fan_out)
                }
                Exchange::Drawn { .. } | Exchange::Routed { .. } => return None,
                _ => exchange.between(&members.iter().map(|rank| self.spec.server(*rank)).collect::<Vec<_>>()),
            };
        }
        round.checked_mul(self.spec.rounds)?.checked_mul(self.spec.instances())
    }

    /// Rounds that are in memory.
    #[cfg(test)]
    pub(super) fn open(&self) -> usize {
        self.instances.iter().map(|instance| instance.rounds.len()).sum()
    }

    /// The members of a task's communicator, between which messages go.
    fn members(&self, at: At) -> &[u32] {
        let task = &self.plan.tasks[at.task as usize];
        self.spec.steps[task.step as usize].members(task.communicator as usize)
    }

    fn work(&self, at: At) -> &Work {
        &self.spec.steps[self.plan.tasks[at.task as usize].step as usize].work
    }

    fn state(&mut self, at: At) -> Option<&mut State> {
        let instance = self.instances.get_mut(at.instance as usize)?;
        let round = at.round.checked_sub(instance.first)?;
        instance.rounds.get_mut(round as usize)?.tasks.get_mut(at.task as usize)
    }

    /// Number of a round among those of all instances.
    fn turn(&self, at: At) -> u64 {
        u64::from(at.instance) * self.spec.rounds + at.round
    }

    /// The number of a transfer of a task among the flows of its step's group: it follows from the transfer's content, not from its time.
    fn flow_number(&self, at: At, index: u64) -> u64 {
        let task = &self.plan.tasks[at.task as usize];
        self.turn(at) * self.plan.transfers[task.step as usize] + task.first + index
    }

    /// The identity of the flow of a transfer of a task.
    fn flow_id(&self, at: At, index: u64) -> u64 {
        u64::from(self.group_of(at)) << 40 | self.flow_number(at, index)
    }

    /// The group of a task's flows.
    fn group_of(&self, at: At) -> u32 {
        self.group + self.plan.tasks[at.task as usize].step
    }

    /// The task of a flow, and its transfer's number in it.
    fn task_of(&self, group: u32, number: u64) -> (At, u64) {
        let step = group - self.group;
        let each = self.plan.transfers[step as usize];
        let (turn, within) = (number / each, number % each);
        let from = self.plan.tasks.partition_point(|t| t.step < step);
        let to = self.plan.tasks.partition_point(|t| t.step <= step);
        let task = from + self.plan.tasks[from..to].partition_point(|t| t.first <= within) - 1;
        let at = At { instance: (turn / self.spec.rounds) as u32, round: turn % self.spec.rounds, task: task as u32 };
        (at, within - self.plan.tasks[task].first)
    }

    /// Opens an instance's next rounds, as many as may be open, after the steps in `release`.
    fn open_rounds(&mut self, number: u32, release: &Release) {
        let (tasks, rounds, in_flight) = (&self.plan.tasks, self.spec.rounds, self.spec.in_flight.max(1));
        let instance = &mut self.instances[number as usize];
        while (instance.rounds.len() as u64) < in_flight {
            let round = instance.first + instance.rounds.len() as u64;
            if round >= rounds {
                return;
            }
            let before = instance.rounds.back();
            // The incomplete tasks of the round before; none if the round is gone.
            let open = |task: &u32| before.is_some_and(|b| !matches!(b.tasks[*task as usize], State::Complete));
            let waits = |(own, task): (u32, &super::plan::Task)| {
                let previous = self.plan.previous.at(own).iter().chain([&own]).filter(|t| open(t)).count() as u32;
                State::Waits(task.needs + previous)
            };
            let states: Vec<State> = (0u32..).zip(tasks).map(waits).collect();
            let free = (0u32..).zip(&states).filter(|(_, s)| matches!(s, State::Waits(0)));
            self.ready.extend(free.map(|(task, _)| (At { instance: number, round, task }, release.clone())));
            instance.rounds.push_back(Round { left: states.len(), tasks: states, start: None });
        }
    }

    /// A task may begin.
    fn begin(&mut self, at: At, release: Release, now: Time, due: &mut Due) {
        let step = &self.spec.steps[self.plan.tasks[at.task as usize].step as usize];
        let (earliest, work) = (self.spec.start.after(step.start), step.work.clone());
        if now < earliest {
            return self.wait_until(at, release, earliest, false);
        }
        let instance = &mut self.instances[at.instance as usize];
        instance.rounds[(at.round - instance.first) as usize].start.get_or_insert(now);
        match work {
            Work::Compute(Time::ZERO) => self.complete(at, &release, now, due),
            Work::Compute(time) => {
                let release = self.computed(at, release);
                self.wait_until(at, release, now.after(time), true);
            }
            Work::Exchange(exchange) => self.begin_exchange(at, &exchange, &release, now, due),
        }
    }

    /// `release`, followed by the computation of a task.
    fn computed(&self, at: At, release: Release) -> Release {
        let label = &self.spec.steps[self.plan.tasks[at.task as usize].step as usize].label;
        let computed = match release.computed {
            None => Computed::new(Arc::clone(label)),
            Some(before) => before.then(label),
        };
        Release { computed: Some(computed), ..release }
    }

    fn wait_until(&mut self, at: At, release: Release, until: Time, over: bool) {
        if let Some(state) = self.state(at) {
            *state = State::Later(release);
        }
        self.later.push(Reverse((until, at, over)));
    }

    /// Returns the last condition of a task that has waited for a time.
    fn released(&mut self, at: At) -> Release {
        match self.state(at) {
            Some(State::Later(release)) => std::mem::take(release),
            _ => Release::default(),
        }
    }

    /// A task is complete, after the steps in `release`: tasks that wait for it may begin.
    fn complete(&mut self, at: At, release: &Release, now: Time, due: &mut Due) {
        let Some(state) = self.state(at) else { return };
        *state = State::Complete;
        let next = self.plan.then_next.at(at.task).iter().chain([&at.task]);
        let next = next.map(|task| At { task: *task, round: at.round + 1, ..at });
        let waiting: Vec<At> =
            self.plan.then.at(at.task).iter().map(|task| At { task: *task, ..at }).chain(next).collect();
        for at in waiting {
            if let Some(State::Waits(left)) = self.state(at) {
                *left -= 1;
                if *left == 0 {
                    self.ready.insert(at, release.clone());
                }
            }
        }
        let instance = &mut self.instances[at.instance as usize];
        let round = &mut instance.rounds[(at.round - instance.first) as usize];
        round.left -= 1;
        if let (0, Some(start)) = (round.left, round.start) {
            due.rows.rounds.push(RoundRow {
                job: Arc::clone(&self.spec.label),
                instance: at.instance,
                round: at.round,
                start,
                end: Some(now),
                release: release.clone(),
            });
        }
        while instance.rounds.front().is_some_and(|round| round.left == 0) {
            instance.rounds.pop_front();
            instance.first += 1;
        }
        if instance.first == self.spec.rounds {
            let row = self.instance_row(at.instance, Some(now));
            due.rows.instances.push(row);
        }
        self.open_rounds(at.instance, release);
    }

    fn instance_row(&self, number: u32, end: Option<Time>) -> InstanceRow {
        let instance = &self.instances[number as usize];
        let later = instance.rounds.iter().filter(|round| round.left == 0).count() as u64;
        InstanceRow {
            job: Arc::clone(&self.spec.label),
            instance: number,
            ranks: self.spec.ranks,
            rounds: self.spec.rounds,
            complete: instance.first + later,
            start: self.spec.start,
            end,
        }
    }
}

impl Dependent for Job {
    fn groups(&self) -> std::ops::Range<u32> {
        self.group..self.group + self.spec.steps.len() as u32
    }

    fn labels(&self, group: u32) -> (Arc<str>, Arc<str>) {
        let step = &self.spec.steps[(group - self.group) as usize];
        (Arc::clone(&self.spec.label), Arc::clone(&step.label))
    }

    fn awaits(&self, _: u64, moment: Moment) -> bool {
        moment == self.spec.moment
    }

    fn begins(&self) -> Time {
        self.spec.start
    }

    fn start_latency(&self) -> Time {
        self.spec.start_latency
    }

    fn completed(&mut self, flow: u64, group: u32, _: Moment) {
        let (at, index) = self.task_of(group, flow & (crate::workload::Group::MOST_FLOWS - 1));
        let n = self.members(at).len() as u64;
        self.done.push((at, (index % n) as u32, (index / n) as u32));
    }

    fn due(&mut self, now: Time, due: &mut Due) -> Option<Time> {
        if !std::mem::replace(&mut self.begun, true) {
            (0..self.instances.len() as u32).for_each(|instance| self.open_rounds(instance, &Release::default()));
        }
        let (flows, rows) = (due.flows.len(), due.rows.collectives.len());
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= now) {
            let (id, message) = (entry.key().1, entry.remove());
            let flow = self.flow(id, message);
            due.flows.push(flow);
        }
        self.settle(now, due);
        loop {
            while let Some(Reverse((_, at, over))) = self.later.peek().filter(|Reverse((t, ..))| *t <= now).copied() {
                self.later.pop();
                if let Some(release) = self.prepared(at) {
                    self.send_first(at, &release, now, due);
                    continue;
                }
                let release = self.released(at);
                if over {
                    self.complete(at, &release, now, due);
                } else {
                    self.ready.insert(at, release);
                }
            }
            let Some((at, release)) = self.ready.pop_first() else { break };
            self.begin(at, release, now, due);
        }
        due.flows[flows..].sort_unstable_by_key(|flow| flow.id);
        due.rows.collectives[rows..].sort_unstable_by_key(|row| (row.group, row.instance, row.round, row.communicator));
        due.flows[flows..].iter_mut().for_each(|flow| flow.start = now);
        let next = self.later.peek().map(|Reverse((time, ..))| *time);
        next.into_iter().chain(self.held.first_key_value().map(|((time, _), _)| *time)).min()
    }

    fn omit_rows(&mut self) {
        self.has_rows = false;
    }

    fn unfinished(&self) -> Rows {
        let mut rows = Rows::default();
        for (number, instance) in (0u32..).zip(&self.instances) {
            for (round, open) in (instance.first..).zip(&instance.rounds) {
                for (task, state) in (0u32..).zip(&open.tasks) {
                    if let State::Active(active) = state {
                        rows.collectives.push(self.row(At { instance: number, round, task }, active, None));
                    }
                }
                if let (true, Some(start)) = (open.left > 0, open.start) {
                    let (job, end, release) = (Arc::clone(&self.spec.label), None, Release::default());
                    rows.rounds.push(RoundRow { job, instance: number, round, start, end, release });
                }
            }
            if instance.first < self.spec.rounds {
                rows.instances.push(self.instance_row(number, None));
            }
        }
        rows.transfers.extend(self.in_progress.iter().map(|(flow, transfer)| self.transfer_row(*flow, transfer, None)));
        rows.transfers.sort_unstable_by_key(|row| row.flow);
        rows
    }
    fn rounds(&self) -> Rounds {
        let complete = self.instances.iter().map(|instance| instance.first).sum();
        Rounds { job: self.spec.label.clone(), complete, all: self.spec.rounds.saturating_mul(self.spec.instances()) }
    }
}
