//! Jobs: they are told what has been completed, and asked at the end of the same instant what that lets begin.
//!
//! Nothing of this is paid for by a packet: a flow is looked at when its last byte has come and when it ends.

use super::{Actors, Network};
use crate::event::Event;
use crate::packet::{NodeId, Port};
use crate::probe::Load;
use crate::record::{JobRows, LoadRow, Sink};
use crate::spec::FlowSpec;
use crate::workload::job::{Dependent, Due, Moment, Rounds};
use backwater_engine::Time;
use backwater_engine::state::{Loader, Saver, Unfit, load_same};
use std::collections::{BTreeSet, VecDeque};

/// The jobs of a run.
#[derive(Default)]
pub(super) struct Jobs {
    list: Vec<Entry>,
    /// Per group of flows: the number of its job, or `NONE`. Empty without jobs.
    of_group: Vec<u32>,
    /// Flows of this instant that are still to be started.
    starting: VecDeque<FlowSpec>,
}

struct Entry {
    job: Box<dyn Dependent>,
    moment: Moment,
    /// When it will be asked.
    asked: BTreeSet<Time>,
}

const NONE: u32 = u32::MAX;

impl Jobs {
    pub fn new(jobs: Vec<Box<dyn Dependent>>, groups: usize) -> Jobs {
        if jobs.is_empty() {
            return Jobs::default();
        }
        let mut of_group = vec![NONE; groups];
        for (number, job) in (0u32..).zip(&jobs) {
            job.groups().for_each(|group| of_group[group as usize] = number);
        }
        let entry = |job: Box<dyn Dependent>| Entry { moment: job.moment(), job, asked: BTreeSet::new() };
        Jobs { list: jobs.into_iter().map(entry).collect(), of_group, starting: VecDeque::new() }
    }

    /// Whether one will begin something without anything else happening.
    pub fn wait(&self) -> bool {
        !self.starting.is_empty() || self.list.iter().any(|entry| !entry.asked.is_empty())
    }

    /// Per group of flows: whether it is of a job. Empty without jobs.
    pub fn of_jobs(&self) -> Vec<bool> {
        self.of_group.iter().map(|job| *job != NONE).collect()
    }

    /// Saves how far they are. Nothing of this instant is still to be started.
    pub fn save(&self, to: &mut Saver) {
        to.put(&self.list.len());
        for entry in &self.list {
            entry.job.save(to);
            to.put(&entry.asked);
        }
    }

    /// Takes it over.
    pub fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        load_same(&self.list.len(), from)?;
        for entry in &mut self.list {
            entry.job.load(from)?;
            entry.asked = from.take()?;
        }
        Ok(())
    }

    /// What is under way at the end of a run.
    pub fn unfinished(&self) -> JobRows {
        let mut rows = JobRows::default();
        self.list.iter().for_each(|entry| rows.append(&mut entry.job.unfinished()));
        rows
    }

    pub fn rounds(&self) -> impl Iterator<Item = Rounds> + '_ {
        self.list.iter().map(|entry| entry.job.rounds())
    }
}

impl<A: Actors> Network<A> {
    /// Whether some of what jobs have begun at this instant is still to be started.
    #[inline]
    pub(super) fn jobs_are_starting(&self) -> bool {
        !self.jobs.starting.is_empty()
    }

    pub(super) fn begin_jobs(&mut self) {
        for job in 0..self.jobs.list.len() as u32 {
            let begins = self.jobs.list[job as usize].job.begins();
            self.ask_job_at(job, begins);
        }
    }

    fn ask_job_at(&mut self, job: u32, at: Time) {
        if self.jobs.list[job as usize].asked.insert(at) {
            self.world.push(at, Event::Job { job });
        }
    }

    /// A flow has come to a moment that its job may wait for.
    #[inline]
    pub(super) fn tell_job(&mut self, at: usize, moment: Moment) {
        if let Some(&job) = self.jobs.of_group.get(self.tables.flows.send[at].group as usize)
            && job != NONE
        {
            self.completed_for_job(job, at, moment);
        }
    }

    #[cold]
    fn completed_for_job(&mut self, job: u32, at: usize, moment: Moment) {
        let (flow, entry) = (&self.tables.flows.send[at], &mut self.jobs.list[job as usize]);
        if entry.moment == moment {
            entry.job.completed(flow.id, flow.group);
            self.ask_job_at(job, self.world.now);
        }
    }

    pub(super) fn ask_job(&mut self, job: u32) {
        let mut due = Due::default();
        let entry = &mut self.jobs.list[job as usize];
        entry.asked.remove(&self.world.now);
        let again = entry.job.due(self.world.now, &mut due);
        self.jobs.starting.extend(due.flows);
        self.world.rows.jobs.append(&mut due.rows);
        if let Some(at) = again {
            self.ask_job_at(job, at);
        }
        self.start_jobs_flows();
    }

    /// Starts what jobs have begun, and leaves the rest for the next slice where finding its routes takes long. Returns whether all has
    /// started.
    #[cold]
    pub(super) fn start_jobs_flows(&mut self) -> bool {
        while !self.enough_routes() {
            let Some(flow) = self.jobs.starting.pop_front() else { return true };
            self.start_flow(&flow);
        }
        self.jobs.starting.is_empty()
    }

    pub(super) fn hand_out_loads(&self, sink: &mut dyn Sink) {
        if !self.world.probes.loads.count() {
            return;
        }
        for (node, first) in self.world.fabric.first_port.iter().enumerate() {
            for (local, (peer, _)) in self.world.fabric.neighbours[node].iter().enumerate() {
                let loads = (0u32..).zip(self.world.probes.loads.at(*first as usize + local));
                for (group, &Load { frames, bytes, payload }) in loads.filter(|(_, load)| load.frames > 0) {
                    let (node, port, peer) = (NodeId(node as u32), Port(local as u16), NodeId(*peer));
                    let (job, step) = self.jobs.list[self.jobs.of_group[group as usize] as usize].job.labels(group);
                    sink.load(&LoadRow { job, step, node, port, peer, frames, bytes, payload });
                }
            }
        }
    }
}
