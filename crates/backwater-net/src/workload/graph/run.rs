//! A graph in progress.

use super::{GraphError, GraphSpec, MOST, Operations, Task};
use crate::model::packet::{Class, HostId};
use crate::record::{Computed, InstanceRow, Release, RoundRow, Rows, TransferRow};
use crate::workload::Group;
use crate::workload::flow_spec::FlowSpec;
use crate::workload::{Dependent, Due, Moment, Rounds};
use backwater_engine::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// An operation of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
struct At {
    instance: u32,
    operation: u32,
}

/// A stream of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
struct StreamOf {
    instance: u32,
    stream: u32,
}

/// An instance.
#[derive(serde::Serialize, serde::Deserialize)]
struct Instance {
    /// Per operation: how many waits are left. 0: it may begin, or has begun.
    left: Vec<u32>,
    /// Operations that are not complete.
    open: u32,
    /// When its first operation began.
    start: Option<Time>,
}

/// A graph in progress.
#[derive(backwater_derive::State)]
pub struct Graph {
    #[state(fixed)]
    spec: GraphSpec,
    #[state(fixed)]
    operations: Arc<Operations>,
    /// Group of the flows of the first label; those of the others follow.
    #[state(fixed)]
    group: u32,
    /// From the number of an operation's flow in one instance to that in the next.
    #[state(fixed)]
    stride: u64,
    instances: Vec<Instance>,
    begun: bool,
    /// Operations that may begin, with the last condition of each.
    ready: BTreeMap<At, Release>,
    /// Computations by their ends, and operations by their earliest start (false).
    later: BTreeMap<(Time, At, bool), Release>,
    /// Streams that compute.
    busy: BTreeSet<StreamOf>,
    /// Computations that wait for their stream, by when they became ready.
    queued: BTreeMap<(StreamOf, Time, u32), Release>,
    /// Streams that may begin a computation at this instant.
    free: BTreeSet<StreamOf>,
    /// Sends that have reached a moment at this instant.
    done: Vec<(At, Moment)>,
    /// Sends in the network: when they began, and their last condition.
    in_progress: BTreeMap<At, (Time, Release)>,
}

impl Graph {
    /// A graph whose flows belong to `group` and those after it, one for each label.
    ///
    /// # Errors
    /// Missing ranks, or too many operations or flows.
    pub fn new(spec: GraphSpec, operations: Arc<Operations>, group: u32) -> Result<Graph, GraphError> {
        if let Some((id, peer, rank)) = operations.beyond(spec.ranks) {
            return Err(GraphError::NoRank { id, peer, rank });
        }
        let instances = spec.hosts.len() as u64 / u64::from(spec.ranks.max(1));
        let all = operations.len() as u64 * instances;
        if all > MOST as u64 {
            return Err(GraphError::TooMany { operations: all });
        }
        let (stride, greatest) = (operations.greatest() + 1, operations.greatest());
        if stride * instances > Group::MOST_FLOWS {
            return Err(GraphError::Ids { greatest, instances });
        }
        let instance = || Instance { left: operations.needs().to_vec(), open: operations.len() as u32, start: None };
        Ok(Graph {
            instances: (0..instances).map(|_| instance()).collect(),
            spec,
            operations,
            group,
            stride,
            begun: false,
            ready: BTreeMap::new(),
            later: BTreeMap::new(),
            busy: BTreeSet::new(),
            queued: BTreeMap::new(),
            free: BTreeSet::new(),
            done: Vec::new(),
            in_progress: BTreeMap::new(),
        })
    }

    /// Number of flows in all.
    pub fn total(&self) -> u64 {
        let crosses = |rank: u32, peer: u32| !self.within_server(rank, peer);
        let sends = self.operations.all().iter().filter(|one| match one.task() {
            Task::Send { peer, .. } => crosses(one.rank, peer),
            Task::Compute(_) => false,
        });
        sends.count() as u64 * self.instances.len() as u64
    }

    fn within_server(&self, rank: u32, peer: u32) -> bool {
        let server = |rank: u32| rank / self.spec.ranks_per_server.max(1);
        server(rank) == server(peer)
    }

    fn host(&self, instance: u32, rank: u32) -> HostId {
        self.spec.hosts[instance as usize * self.spec.ranks as usize + rank as usize]
    }

    /// The group of an operation's flow, and the flow's identity.
    fn flow(&self, at: At) -> (u32, u64) {
        let group = self.group + u32::from(self.operations.get(at.operation).label);
        let number = u64::from(at.instance) * self.stride + self.operations.id(at.operation);
        (group, u64::from(group) << 40 | number)
    }

    /// The operation of a flow.
    fn of_flow(&self, flow: u64) -> Option<At> {
        let number = flow & (Group::MOST_FLOWS - 1);
        let operation = self.operations.at(number % self.stride)?;
        Some(At { instance: u32::try_from(number / self.stride).ok()?, operation })
    }

    /// An operation may begin.
    fn begin(&mut self, at: At, release: Release, now: Time, due: &mut Due) {
        let one = *self.operations.get(at.operation);
        if one.timed {
            let earliest = self.spec.start.after(self.operations.start(at.operation));
            if now < earliest {
                self.later.insert((earliest, at, false), release);
                return;
            }
        }
        match one.task() {
            Task::Send { peer, bytes } => {
                self.started(at, now);
                if self.within_server(one.rank, peer) {
                    self.let_go_on(at, Moment::LastByte, &release);
                    self.let_go_on(at, Moment::LastAck, &release);
                    return self.complete(at, &release, now, due);
                }
                let (group, id) = self.flow(at);
                due.flows.push(FlowSpec {
                    id,
                    group,
                    src: self.host(at.instance, one.rank),
                    dst: self.host(at.instance, peer),
                    bytes,
                    start: now,
                    class: one.class().map_or(self.spec.class, Class),
                    ect: self.spec.ect,
                    path: None,
                    ack_path: None,
                    link: None,
                    stream: None,
                });
                self.in_progress.insert(at, (now, release));
            }
            Task::Compute(time) => match one.stream() {
                None => self.compute(at, time, release, now, due),
                Some(stream) => {
                    let of = StreamOf { instance: at.instance, stream };
                    self.queued.insert((of, now, at.operation), release);
                    if !self.busy.contains(&of) {
                        self.free.insert(of);
                    }
                }
            },
        }
    }

    fn started(&mut self, at: At, now: Time) {
        self.instances[at.instance as usize].start.get_or_insert(now);
    }

    fn compute(&mut self, at: At, time: Time, release: Release, now: Time, due: &mut Due) {
        self.started(at, now);
        if time == Time::ZERO {
            self.let_go_on(at, Moment::LastByte, &release);
            return self.complete(at, &release, now, due);
        }
        let label = self.operations.label(self.operations.get(at.operation).label);
        let computed = match release.computed {
            None => Computed::new(Arc::clone(label)),
            Some(before) => before.then(label),
        };
        self.later.insert((now.after(time), at, true), Release { computed: Some(computed), ..release });
    }

    /// A stream begins the first computation that waits for it.
    fn compute_next(&mut self, of: StreamOf, now: Time, due: &mut Due) {
        let first = (of, Time::ZERO, 0);
        let Some((&key, _)) = self.queued.range(first..).next().filter(|((stream, ..), _)| *stream == of) else {
            return;
        };
        let Some(release) = self.queued.remove(&key) else { return };
        let at = At { instance: of.instance, operation: key.2 };
        let Task::Compute(time) = self.operations.get(at.operation).task() else { return };
        match time {
            Time::ZERO => self.leave(of, &release, now),
            _ => {
                self.busy.insert(of);
            }
        }
        self.compute(at, time, release, now, due);
    }

    /// A stream has finished a computation. A computation that has waited for the stream begins because of that.
    fn leave(&mut self, of: StreamOf, release: &Release, now: Time) {
        self.busy.remove(&of);
        self.free.insert(of);
        let first = (of, Time::ZERO, 0);
        if let Some(((stream, since, _), waited)) = self.queued.range_mut(first..).next()
            && *stream == of
            && *since < now
        {
            *waited = release.clone();
        }
    }

    /// A computation has ended.
    fn computed(&mut self, at: At, release: &Release, now: Time, due: &mut Due) {
        if let Some(stream) = self.operations.get(at.operation).stream() {
            self.leave(StreamOf { instance: at.instance, stream }, release, now);
        }
        self.let_go_on(at, Moment::LastByte, release);
        self.complete(at, release, now, due);
    }

    /// Operations that wait for a moment of an operation have one wait less.
    fn let_go_on(&mut self, at: At, moment: Moment, release: &Release) {
        let left = &mut self.instances[at.instance as usize].left;
        for (then, for_ack) in self.operations.waiting(at.operation) {
            let left = &mut left[then as usize];
            if for_ack == (moment == Moment::LastAck) && *left > 0 {
                *left -= 1;
                if *left == 0 {
                    self.ready.insert(At { operation: then, ..at }, release.clone());
                }
            }
        }
    }

    /// An operation is complete, after the steps in `release`.
    fn complete(&mut self, at: At, release: &Release, now: Time, due: &mut Due) {
        let instance = &mut self.instances[at.instance as usize];
        instance.open -= 1;
        if instance.open == 0 {
            let (start, end) = (instance.start.unwrap_or(now), Some(now));
            due.rows.rounds.push(self.round_row(at.instance, start, end, release.clone()));
            due.rows.instances.push(self.instance_row(at.instance, end));
        }
    }

    fn round_row(&self, instance: u32, start: Time, end: Option<Time>, release: Release) -> RoundRow {
        RoundRow { job: Arc::clone(&self.spec.label), instance, round: 0, start, end, release }
    }

    fn instance_row(&self, instance: u32, end: Option<Time>) -> InstanceRow {
        InstanceRow {
            job: Arc::clone(&self.spec.label),
            instance,
            ranks: self.spec.ranks,
            rounds: 1,
            complete: u64::from(end.is_some()),
            start: self.spec.start,
            end,
        }
    }

    fn transfer_row(&self, at: At, start: Time, end: Option<Time>, release: Release) -> Option<TransferRow> {
        let one = self.operations.get(at.operation);
        let Task::Send { peer, bytes } = one.task() else { return None };
        Some(TransferRow {
            flow: self.flow(at).1,
            job: Arc::clone(&self.spec.label),
            step: Arc::clone(self.operations.label(one.label)),
            instance: at.instance,
            round: 0,
            communicator: 0,
            phase: 0,
            src_rank: one.rank,
            dst_rank: peer,
            src: self.host(at.instance, one.rank),
            dst: self.host(at.instance, peer),
            bytes,
            start,
            end,
            release,
        })
    }

    /// Moments that sends have reached at this instant release others.
    fn settle(&mut self, now: Time, due: &mut Due) {
        let mut done = std::mem::take(&mut self.done);
        done.sort_unstable();
        for (at, moment) in done {
            let after = Release { flow: Some(self.flow(at).1), computed: None };
            self.let_go_on(at, moment, &after);
            if moment == Moment::LastByte
                && let Some((start, release)) = self.in_progress.remove(&at)
            {
                due.rows.transfers.extend(self.transfer_row(at, start, Some(now), release));
                self.complete(at, &after, now, due);
            }
        }
    }
}

impl Dependent for Graph {
    fn groups(&self) -> Range<u32> {
        self.group..self.group + self.operations.labels().len() as u32
    }

    fn labels(&self, group: u32) -> (Arc<str>, Arc<str>) {
        (Arc::clone(&self.spec.label), Arc::clone(&self.operations.labels()[(group - self.group) as usize]))
    }

    fn awaits(&self, flow: u64, moment: Moment) -> bool {
        let waits_for_ack = |at: At| self.operations.waiting(at.operation).any(|(_, for_ack)| for_ack);
        match moment {
            Moment::LastByte => true,
            Moment::LastAck => self.of_flow(flow).is_some_and(waits_for_ack),
            Moment::Sent | Moment::Failed => false,
        }
    }

    fn begins(&self) -> Time {
        self.spec.start
    }

    fn start_latency(&self) -> Time {
        self.spec.start_latency
    }

    fn completed(&mut self, flow: u64, _: u32, moment: Moment) {
        self.done.extend(self.of_flow(flow).map(|at| (at, moment)));
    }

    fn due(&mut self, now: Time, due: &mut Due) -> Option<Time> {
        let flows = due.flows.len();
        if !std::mem::replace(&mut self.begun, true) {
            let operations = Arc::clone(&self.operations);
            for instance in 0..self.instances.len() as u32 {
                let free = (0u32..).zip(operations.needs()).filter(|(_, needs)| **needs == 0);
                free.for_each(|(operation, _)| self.begin(At { instance, operation }, Release::default(), now, due));
            }
        }
        self.settle(now, due);
        loop {
            while let Some(over) = self.later.first_entry().filter(|entry| entry.key().0 <= now) {
                let ((_, at, computes), release) = over.remove_entry();
                match computes {
                    true => self.computed(at, &release, now, due),
                    false => {
                        self.ready.insert(at, release);
                    }
                }
            }
            // All that become ready at this instant do so before a stream takes one of them.
            if let Some((at, release)) = self.ready.pop_first() {
                self.begin(at, release, now, due);
            } else if let Some(stream) = self.free.pop_first() {
                self.compute_next(stream, now, due);
            } else {
                break;
            }
        }
        due.flows[flows..].sort_unstable_by_key(|flow| flow.id);
        self.later.first_key_value().map(|((time, ..), _)| *time)
    }

    fn unfinished(&self) -> Rows {
        let mut rows = Rows::default();
        for (number, instance) in (0u32..).zip(&self.instances).filter(|(_, instance)| instance.open > 0) {
            let open = instance.start.map(|start| self.round_row(number, start, None, Release::default()));
            rows.rounds.extend(open);
            rows.instances.push(self.instance_row(number, None));
        }
        let in_progress = self.in_progress.iter();
        rows.transfers.extend(
            in_progress.filter_map(|(at, (start, release))| self.transfer_row(*at, *start, None, release.clone())),
        );
        rows.transfers.sort_unstable_by_key(|row| row.flow);
        rows
    }

    fn rounds(&self) -> Rounds {
        let complete = self.instances.iter().filter(|instance| instance.open == 0).count() as u64;
        Rounds { job: Arc::clone(&self.spec.label), complete, all: self.instances.len() as u64 }
    }
}
